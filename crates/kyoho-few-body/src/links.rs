//! Coordinates that keep close pairs exact: the bodies are joined by a spanning tree of shortest
//! links, and what is integrated are the links' vectors. Two bodies that at most two links join are
//! never a difference of two positions.
//!
//! A. Rantala, P. Pihajoki, M. Mannerkoski, P. H. Johansson, T. Naab, MNRAS 492 (2020) 4131, have such
//! trees in place of the chain of S. Mikkola and S. J. Aarseth, Celestial Mechanics 57 (1993) 439.

use kyoho_core::{Result, memory};

use crate::vector::{Vector, ZERO, add_scaled, difference, dot, sum};

/// What memory is for.
const WHAT: &str = "the links of a system";

/// How the separation of two bodies, from the first to the second, comes from the links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Path {
    /// One link, with its sign.
    One(usize, f64),
    /// The sum of two links, with their signs.
    Two([usize; 2], [f64; 2]),
    /// The difference of the bodies' positions.
    Far,
}

/// Two bodies, the first with the lower number, and the path between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub bodies: [usize; 2],
    pub path: Path,
}

/// A spanning tree of bodies and the paths of all pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    /// The bodies at the ends of each link. The first of a link is the root, or the second of an
    /// earlier one.
    ends: Vec<[usize; 2]>,
    pairs: Vec<Pair>,
    /// Whether the paths of some pairs are far, so that positions are needed.
    any_far: bool,
}

impl Links {
    /// Joins bodies by the shortest links: the two nearest first, then always the body nearest to those
    /// that are joined.
    pub fn of(positions: &[Vector]) -> Result<Links> {
        let ends = shortest(positions)?;
        let mut links = Links { ends, pairs: Vec::new(), any_far: false };
        links.pairs = links.paths(positions.len())?;
        links.any_far = links.pairs.iter().any(|pair| pair.path == Path::Far);
        Ok(links)
    }

    pub fn ends(&self) -> &[[usize; 2]] {
        &self.ends
    }

    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    pub fn any_far(&self) -> bool {
        self.any_far
    }

    /// Whether other links than these would be the shortest.
    pub fn are_other_than(&self, shortest: &[[usize; 2]]) -> bool {
        self.ends.iter().any(|&[from, to]| !shortest.iter().any(|&other| other == [from, to] || other == [to, from]))
    }

    /// Returns the separation of a pair, or its relative velocity. `bodies` are the positions or
    /// velocities; only the far paths need them.
    pub fn between(&self, pair: &Pair, links: &[Vector], bodies: &[Vector]) -> Vector {
        match pair.path {
            Path::One(link, sign) => links[link].map(|value| sign * value),
            Path::Two([one, other], [sign, other_sign]) => {
                std::array::from_fn(|axis| sign * links[one][axis] + other_sign * links[other][axis])
            }
            Path::Far => difference(bodies[pair.bodies[1]], bodies[pair.bodies[0]]),
        }
    }

    /// Writes the positions or velocities of bodies relative to their centre of mass.
    pub fn to_bodies(&self, masses: &[f64], total: f64, links: &[Vector], bodies: &mut [Vector]) {
        let Some(&[root, _]) = self.ends.first() else {
            bodies.fill(ZERO);
            return;
        };
        bodies[root] = ZERO;
        let mut mean = ZERO;
        for (&[from, to], &link) in self.ends.iter().zip(links) {
            bodies[to] = sum(bodies[from], link);
            add_scaled(&mut mean, masses[to], bodies[to]);
        }
        if total > 0.0 {
            let mean = mean.map(|value| value / total);
            bodies.iter_mut().for_each(|body| *body = difference(*body, mean));
        }
    }

    /// Writes the links' values of bodies.
    pub fn of_bodies(&self, bodies: &[Vector], links: &mut [Vector]) {
        for (&[from, to], link) in self.ends.iter().zip(links) {
            *link = difference(bodies[to], bodies[from]);
        }
    }

    /// Writes the values of these links from those of `old` links, whose bodies' values are given.
    pub fn carry_over(&self, old: &Links, old_links: &[Vector], bodies: &[Vector], links: &mut [Vector]) {
        for (&[from, to], link) in self.ends.iter().zip(links) {
            let (low, sign) = if from < to { ([from, to], 1.0) } else { ([to, from], -1.0) };
            *link = match old.pairs.iter().find(|pair| pair.bodies == low) {
                Some(pair) => old.between(pair, old_links, bodies).map(|value| sign * value),
                None => difference(bodies[to], bodies[from]),
            };
        }
    }

    /// Finds the paths of all pairs of this many bodies.
    fn paths(&self, count: usize) -> Result<Vec<Pair>> {
        let mut pairs = memory::room(count * count.saturating_sub(1) / 2, WHAT)?;
        for first in 0..count {
            for second in first + 1..count {
                pairs.push(Pair { bodies: [first, second], path: self.path(first, second) });
            }
        }
        Ok(pairs)
    }

    /// Finds the path from one body to another over at most two links.
    fn path(&self, from: usize, to: usize) -> Path {
        let at = |body: usize| {
            self.ends.iter().enumerate().filter_map(move |(link, &[first, second])| {
                if first == body {
                    Some((link, second, 1.0))
                } else if second == body {
                    Some((link, first, -1.0))
                } else {
                    None
                }
            })
        };
        for (link, middle, sign) in at(from) {
            if middle == to {
                return Path::One(link, sign);
            }
        }
        for (link, middle, sign) in at(from) {
            if let Some((next, _, next_sign)) = at(middle).find(|&(_, end, _)| end == to) {
                return Path::Two([link, next], [sign, next_sign]);
            }
        }
        Path::Far
    }
}

/// Returns the ends of the shortest links that join all bodies.
pub fn shortest(positions: &[Vector]) -> Result<Vec<[usize; 2]>> {
    let count = positions.len();
    let square = |one: usize, other: usize| {
        let separation = difference(positions[one], positions[other]);
        dot(separation, separation)
    };
    let mut nearest = [0, 0];
    let mut least = f64::INFINITY;
    for one in 0..count {
        for other in one + 1..count {
            if square(one, other) < least {
                (nearest, least) = ([one, other], square(one, other));
            }
        }
    }
    // For each body outside the tree, the body of the tree that it is nearest to.
    let root = nearest[0];
    let mut joined = memory::filled(count, false, WHAT)?;
    let mut links = memory::room(count.saturating_sub(1), WHAT)?;
    let mut partner = memory::filled(count, root, WHAT)?;
    if count > 0 {
        joined[root] = true;
    }
    for _ in 1..count {
        let outside = (0..count).filter(|&body| !joined[body]);
        let key = |body: usize| square(body, partner[body]);
        let Some(next) = outside.min_by(|&one, &other| key(one).total_cmp(&key(other))) else { break };
        joined[next] = true;
        links.push([partner[next], next]);
        for body in 0..count {
            if !joined[body] && square(body, next) < square(body, partner[body]) {
                partner[body] = next;
            }
        }
    }
    Ok(links)
}
