//! Coordinates that keep close pairs exact: the bodies are joined by a spanning tree of shortest
//! links, and what is integrated are the links' vectors. Two bodies that at most two links join are
//! never a difference of two positions. Bodies have places in the order in which they were joined: the
//! first is the root, and each later one is linked to one before it.
//!
//! A. Rantala, P. Pihajoki, M. Mannerkoski, P. H. Johansson, T. Naab, MNRAS 492 (2020) 4131, have such
//! trees in place of the chain of S. Mikkola and S. J. Aarseth, Celestial Mechanics 57 (1993) 439.

use kyoho_core::{Result, memory};

use crate::vector::{Vector, ZERO, add_scaled, difference, dot, scaled, sum};

/// A body counts as the only heavy one where all others have less than this part of the weight.
const LITTLE: f64 = 1e-3;

/// What memory is for.
const WHAT: &str = "the links of a system";

/// How the separation of two places, from the earlier to the later, comes from the link of the later
/// one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Path {
    /// It is that link.
    One,
    /// It is that link and this one.
    Sum(usize),
    /// It is that link less this one.
    Difference(usize),
    /// The difference of the bodies' positions.
    Far,
}

/// Two bodies, of which the first has the earlier place, and the path between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    pub places: [usize; 2],
    pub bodies: [usize; 2],
    pub path: Path,
}

impl Pair {
    /// Returns their separation or relative velocity, from the values of links, and from the positions
    /// or velocities by place, which only far paths need.
    pub fn between(&self, links: &[Vector], bodies: &[Vector]) -> Vector {
        let [first, second] = self.places;
        match self.path {
            Path::One => links[second - 1],
            Path::Sum(other) => sum(links[other], links[second - 1]),
            Path::Difference(other) => difference(links[second - 1], links[other]),
            Path::Far => difference(bodies[second], bodies[first]),
        }
    }
}

/// The point that places are relative to: their mean by weights.
#[derive(Debug, Default)]
pub struct Frame {
    /// The weights of places: masses, or 1 each where nothing has a mass.
    pub weights: Vec<f64>,
    pub total: f64,
    inverse_total: f64,
    /// The place from which the mean is found. It is that of the only heavy body, if there is one: found
    /// from another place, its own distance from the mean would be rounding, whose energy may be more
    /// than all that light bodies have.
    anchor: usize,
}

impl Frame {
    /// Makes that of so many places, which are still without weights. `total` is the sum of the masses.
    pub fn new(places: usize, total: f64) -> Result<Frame> {
        let total = if total > 0.0 { total } else { places as f64 };
        let weights = memory::filled(places, 1.0, "masses")?;
        Ok(Frame { weights, total, inverse_total: 1.0 / total, anchor: 0 })
    }

    /// Takes the masses of places.
    pub fn weigh(&mut self, masses: &[f64]) {
        if masses.iter().all(|&mass| mass == 0.0) {
            return;
        }
        self.weights.copy_from_slice(masses);
        let largest = masses.iter().fold(0.0, |largest: f64, &mass| largest.max(mass));
        let heaviest = masses.iter().position(|&mass| mass == largest).unwrap_or(0);
        self.anchor = if self.total - largest < LITTLE * self.total { heaviest } else { 0 };
    }
}

/// A spanning tree of bodies and the paths of all pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    /// The body at each place.
    order: Vec<usize>,
    /// The place to which each link goes from the place behind it: link 0 is that of place 1.
    parents: Vec<usize>,
    pairs: Vec<Pair>,
    /// Whether the paths of some pairs are far, so that positions are needed.
    any_far: bool,
}

impl Links {
    /// Joins bodies by the shortest links: the two nearest first, then always the body nearest to those
    /// that are joined.
    pub fn of(positions: &[Vector]) -> Result<Links> {
        let (order, parents) = shortest(positions)?;
        Links::with(order, parents)
    }

    /// Joins bodies in this order, each by a link to the place of its parent.
    pub fn with(order: Vec<usize>, parents: Vec<usize>) -> Result<Links> {
        let bodies = order.len();
        let mut links = Links { order, parents, pairs: Vec::new(), any_far: false };
        links.pairs = memory::room(bodies * bodies.saturating_sub(1) / 2, WHAT)?;
        for second in 1..bodies {
            for first in 0..second {
                let bodies = [links.order[first], links.order[second]];
                links.pairs.push(Pair { places: [first, second], bodies, path: links.path(first, second) });
            }
        }
        links.any_far = links.pairs.iter().any(|pair| pair.path == Path::Far);
        Ok(links)
    }

    pub fn order(&self) -> &[usize] {
        &self.order
    }

    pub fn parents(&self) -> &[usize] {
        &self.parents
    }

    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    pub fn any_far(&self) -> bool {
        self.any_far
    }

    /// Whether other links than those of an order of places would be the shortest.
    fn are_other_than(&self, (order, parents): (&[usize], &[usize])) -> bool {
        let is_there = |(place, &parent): (usize, &usize)| {
            let ends = [parent, place + 1];
            let new = parents.iter().enumerate().map(|(place, &parent)| [order[parent], order[place + 1]]);
            new.into_iter().any(|[from, to]| ends == [from, to] || ends == [to, from])
        };
        !self.parents.iter().enumerate().all(is_there)
    }

    /// Writes the positions or velocities of places in a frame.
    pub fn to_places(&self, frame: &Frame, links: &[Vector], places: &mut [Vector]) {
        places[..frame.weights.len().min(1)].fill(ZERO);
        for (link, (&parent, &value)) in self.parents.iter().zip(links).enumerate() {
            places[link + 1] = sum(places[parent], value);
        }
        if frame.anchor > 0 {
            let origin = places[frame.anchor];
            places.iter_mut().for_each(|place| *place = difference(*place, origin));
        }
        let mut mean = ZERO;
        for (&weight, &place) in frame.weights.iter().zip(places.iter()) {
            add_scaled(&mut mean, weight, place);
        }
        let mean = scaled(frame.inverse_total, mean);
        places.iter_mut().for_each(|place| *place = difference(*place, mean));
    }

    /// Writes the links' values of bodies.
    pub fn of_bodies(&self, bodies: &[Vector], links: &mut [Vector]) {
        for (place, (&parent, link)) in self.parents.iter().zip(links).enumerate() {
            *link = difference(bodies[self.order[place + 1]], bodies[self.order[parent]]);
        }
    }

    /// Returns the links that have become the shortest, if these are others: the order of their places
    /// among those of these links, and the parents.
    pub fn renewed(&self, positions: &[Vector]) -> Result<Option<(Vec<usize>, Vec<usize>)>> {
        let (order, parents) = shortest(positions)?;
        Ok(self.are_other_than((&order, &parents)).then_some((order, parents)))
    }

    /// Writes the values of new links, whose places are in this order among those of these links, from the
    /// values of these links and of their places.
    pub fn carry_over(
        &self,
        (order, parents): (&[usize], &[usize]),
        (links, places): (&[Vector], &[Vector]),
        new: &mut [Vector],
    ) {
        for (place, (&parent, value)) in parents.iter().zip(new).enumerate() {
            let (from, to) = (order[parent], order[place + 1]);
            let (first, second) = (from.min(to), from.max(to));
            let between = self.pairs[second * (second - 1) / 2 + first].between(links, places);
            *value = if from < to { between } else { between.map(|value| -value) };
        }
    }

    /// Finds the path from a place to a later one.
    fn path(&self, first: usize, second: usize) -> Path {
        let parent = |place: usize| (place > 0).then(|| self.parents[place - 1]);
        let Some(above) = parent(second) else { return Path::Far };
        if above == first {
            Path::One
        } else if parent(above) == Some(first) {
            Path::Sum(above - 1)
        } else if parent(first) == Some(above) {
            Path::Difference(first - 1)
        } else {
            Path::Far
        }
    }
}

/// Returns the order in which the shortest links join bodies, and the place of the parent of each but the
/// first.
fn shortest(positions: &[Vector]) -> Result<(Vec<usize>, Vec<usize>)> {
    let count = positions.len();
    let square = |one: usize, other: usize| {
        let separation = difference(positions[one], positions[other]);
        dot(separation, separation)
    };
    let mut root = 0;
    let mut least = f64::INFINITY;
    for one in 0..count {
        for other in one + 1..count {
            if square(one, other) < least {
                (root, least) = (one, square(one, other));
            }
        }
    }
    let mut order = memory::room(count, WHAT)?;
    let mut parents = memory::room(count.saturating_sub(1), WHAT)?;
    // For each body outside the tree, the place in the tree that it is nearest to.
    let mut nearest = memory::filled(count, 0, WHAT)?;
    let mut joined = memory::filled(count, false, WHAT)?;
    if count > 0 {
        joined[root] = true;
        order.push(root);
    }
    for _ in 1..count {
        let outside = (0..count).filter(|&body| !joined[body]);
        let key = |body: usize| square(body, order[nearest[body]]);
        let Some(next) = outside.min_by(|&one, &other| key(one).total_cmp(&key(other))) else { break };
        joined[next] = true;
        parents.push(nearest[next]);
        for body in 0..count {
            if !joined[body] && square(body, next) < square(body, order[nearest[body]]) {
                nearest[body] = order.len();
            }
        }
        order.push(next);
    }
    Ok((order, parents))
}
