//! Who is bound to whom.

use kyoho_core::{Result, memory};

use crate::kepler::{self, Orbit};
use crate::vector::{Vector, add_scaled, difference, dot, norm};

/// What memory is for.
const WHAT: &str = "the parts of a system";

/// Two parts of a system that are bound to one another: bodies, or binaries of a hierarchy.
#[derive(Debug, Clone, PartialEq)]
pub struct Binary {
    /// The bodies of both parts, each in ascending order; the part of the lowest body comes first.
    pub members: [Vec<usize>; 2],
    /// Their orbit around one another.
    pub orbit: Orbit,
}

/// Bodies that are bound together, or one alone.
struct Node {
    members: Vec<usize>,
    mass: f64,
    position: Vector,
    velocity: Vector,
    /// The largest separation of its two parts, 0 for one body.
    size: f64,
}

/// The bound parts of a system.
pub(crate) struct Hierarchy {
    nodes: Vec<Node>,
    /// The binaries, the innermost of each part first.
    pub binaries: Vec<Binary>,
}

impl Hierarchy {
    /// Joins bodies: always the two parts whose orbit around one another is the smallest, until none
    /// are bound. Masses have the gravitational constant in them.
    pub fn of(masses: &[f64], positions: &[Vector], velocities: &[Vector]) -> Result<Hierarchy> {
        let mut nodes = memory::room(masses.len(), WHAT)?;
        for (body, &mass) in masses.iter().enumerate() {
            let members = memory::collected([body], WHAT)?;
            nodes.push(Node { members, mass, position: positions[body], velocity: velocities[body], size: 0.0 });
        }
        let mut binaries = Vec::new();
        while let Some((one, other, orbit)) = tightest(&nodes) {
            let second = nodes.swap_remove(one.max(other));
            let first = nodes.swap_remove(one.min(other));
            let copy = |node: &Node| memory::collected(node.members.iter().copied(), WHAT);
            let mut members = [copy(&first)?, copy(&second)?];
            members.sort_unstable();
            memory::push(&mut binaries, Binary { members, orbit }, WHAT)?;
            nodes.push(joined(first, second, orbit)?);
        }
        Ok(Hierarchy { nodes, binaries })
    }

    /// Whether a part has left: it has the energy to leave all others together, moves away from each,
    /// and is farther from them than this many times their extent and its own. Where all parts fly
    /// apart from one another, all have left if each is farther from each than this many times its own
    /// extent and the distance in which their speed would bind them.
    pub fn has_escaper(&self, distance: f64) -> bool {
        if self.nodes.len() < 2 {
            return false;
        }
        let all = 0..self.nodes.len();
        let leaves = |one: usize| self.recedes(one) && self.is_unbound_from_rest(one);
        (self.energy() > 0.0 && all.clone().all(leaves) && all.clone().all(|one| self.is_clear(one, distance)))
            || all.clone().any(|one| leaves(one) && self.is_far(one, distance))
    }

    /// Whether a part moves away from each other.
    fn recedes(&self, one: usize) -> bool {
        let node = &self.nodes[one];
        self.nodes.iter().enumerate().filter(|&(other, _)| other != one).all(|(_, other)| {
            dot(difference(other.position, node.position), difference(other.velocity, node.velocity)) > 0.0
        })
    }

    /// Whether all others are farther from a part than this many times its size and, of each, than this
    /// many times G M / v^2, the masses over the square of the speed of one to the other. Nearer ones may
    /// still bind one another, with a third.
    fn is_clear(&self, one: usize, distance: f64) -> bool {
        let node = &self.nodes[one];
        self.nodes.iter().enumerate().filter(|&(other, _)| other != one).all(|(_, other)| {
            let far = norm(difference(other.position, node.position));
            let velocity = difference(other.velocity, node.velocity);
            far > distance * node.size && far * dot(velocity, velocity) > distance * (node.mass + other.mass)
        })
    }

    /// Whether a part is farther from the others than this many times the extents of both.
    fn is_far(&self, one: usize, distance: f64) -> bool {
        let node = &self.nodes[one];
        let others = || self.nodes.iter().enumerate().filter(move |&(other, _)| other != one).map(|(_, other)| other);
        let nearest =
            others().map(|other| norm(difference(other.position, node.position))).fold(f64::INFINITY, f64::min);
        let mut extent = node.size;
        for first in others() {
            for second in others() {
                extent = extent.max(norm(difference(first.position, second.position)) + first.size.max(second.size));
            }
        }
        nearest > distance * extent
    }

    /// The energy of the parts' motion around one another, in the frame of their centre of mass.
    fn energy(&self) -> f64 {
        let total: f64 = self.nodes.iter().map(|node| node.mass).sum();
        let mut energy = 0.0;
        for (one, first) in self.nodes.iter().enumerate() {
            for second in &self.nodes[..one] {
                let velocity = difference(first.velocity, second.velocity);
                let potential = total / norm(difference(first.position, second.position));
                energy += first.mass * second.mass * (0.5 * dot(velocity, velocity) - potential);
            }
        }
        energy
    }

    /// Whether a part has the energy to leave all others together.
    fn is_unbound_from_rest(&self, one: usize) -> bool {
        let node = &self.nodes[one];
        let mut mass = 0.0;
        let (mut position, mut velocity) = ([0.0; 3], [0.0; 3]);
        for (_, other) in self.nodes.iter().enumerate().filter(|&(other, _)| other != one) {
            mass += other.mass;
            add_scaled(&mut position, other.mass, other.position);
            add_scaled(&mut velocity, other.mass, other.velocity);
        }
        if mass == 0.0 {
            return true;
        }
        let separation = difference(position.map(|value| value / mass), node.position);
        let relative = difference(velocity.map(|value| value / mass), node.velocity);
        kepler::energy(mass + node.mass, separation, relative) > 0.0
    }
}

/// Finds the two parts with the smallest orbit around one another.
fn tightest(nodes: &[Node]) -> Option<(usize, usize, Orbit)> {
    let mut best: Option<(usize, usize, Orbit)> = None;
    for (one, first) in nodes.iter().enumerate() {
        for (other, second) in nodes.iter().enumerate().skip(one + 1) {
            let mass = first.mass + second.mass;
            let separation = difference(second.position, first.position);
            let velocity = difference(second.velocity, first.velocity);
            if mass == 0.0 || kepler::energy(mass, separation, velocity) >= 0.0 {
                continue;
            }
            let orbit = kepler::orbit(mass, separation, velocity);
            if best.is_none_or(|(_, _, smallest)| orbit.semi_major_axis < smallest.semi_major_axis) {
                best = Some((one, other, orbit));
            }
        }
    }
    best
}

fn joined(first: Node, second: Node, orbit: Orbit) -> Result<Node> {
    let mass = first.mass + second.mass;
    let mean = |one: Vector, other: Vector| {
        std::array::from_fn(|axis| (first.mass * one[axis] + second.mass * other[axis]) / mass)
    };
    let position = mean(first.position, second.position);
    let velocity = mean(first.velocity, second.velocity);
    let mut members = first.members;
    memory::reserve(&mut members, second.members.len(), WHAT)?;
    members.extend(second.members);
    members.sort_unstable();
    let size = orbit.apocentre();
    Ok(Node { members, mass, position, velocity, size })
}
