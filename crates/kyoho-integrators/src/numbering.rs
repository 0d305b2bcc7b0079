//! The numbers of bodies: those that act on others come first, so that bodies without mass are no
//! sources, and forces cost nothing for them.

use crate::body::Body;
use kyoho_core::{Error, Result, memory};

/// The order of bodies.
#[derive(Debug, Default, PartialEq)]
pub struct Numbering {
    /// The place of the body of each number; empty where these are the same.
    places: Vec<usize>,
    /// How many bodies are sources, which have the first numbers.
    sources: usize,
}

impl Numbering {
    /// Numbers bodies. Where `all` are sources, or have a mass, their places are their numbers.
    pub fn of(bodies: &[Body], all: bool) -> Result<Numbering> {
        let acts = |place: &usize| bodies[*place].mass != 0.0;
        let sources = if all { bodies.len() } else { (0..bodies.len()).filter(acts).count() };
        if sources == bodies.len() {
            return Ok(Numbering { places: Vec::new(), sources: bodies.len() });
        }
        let without = (0..bodies.len()).filter(|place| !acts(place));
        let mut places = memory::room(bodies.len(), "the order of bodies")?;
        places.extend((0..bodies.len()).filter(acts).chain(without));
        Ok(Numbering { places, sources })
    }

    /// Whether some bodies are no sources.
    pub fn leaves_out(&self) -> bool {
        !self.places.is_empty()
    }

    /// Returns how many bodies are sources.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// Returns the place of a body.
    pub fn place(&self, number: usize) -> usize {
        if self.leaves_out() { self.places[number] } else { number }
    }

    /// Returns the number of the body at a place.
    pub fn number(&self, place: usize) -> usize {
        if !self.leaves_out() {
            return place;
        }
        let (acting, without) = self.places.split_at(self.sources);
        acting
            .binary_search(&place)
            .or_else(|_| without.binary_search(&place).map(|number| self.sources + number))
            .unwrap_or(place)
    }

    /// Returns an error with the places of bodies that it has by their numbers.
    pub fn named(&self, error: Error) -> Error {
        error.with_bodies(|number| self.place(number as usize) as i64)
    }

    /// Returns the places of two bodies, the lower one first.
    pub fn pair(&self, numbers: [usize; 2]) -> [usize; 2] {
        let mut places = numbers.map(|number| self.place(number));
        places.sort_unstable();
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_without_mass_come_last_and_keep_their_order() {
        let body = |mass: f64| Body::new(mass, [0.0; 3], [0.0; 3]);
        let bodies = [0.0, 2.0, 0.0, -1.0, 3.0].map(body);
        let numbering = Numbering::of(&bodies, false).unwrap();
        assert_eq!(numbering.sources(), 3);
        assert_eq!([0, 1, 2, 3, 4].map(|number| numbering.place(number)), [1, 3, 4, 0, 2]);
        assert_eq!([0, 1, 2, 3, 4].map(|place| numbering.number(place)), [3, 0, 4, 1, 2]);
        assert_eq!(numbering.pair([1, 3]), [0, 3]);
        for (bodies, all) in [(&bodies[..], true), (&bodies[1..2], false), (&[], false)] {
            let numbering = Numbering::of(bodies, all).unwrap();
            assert_eq!(numbering.sources(), bodies.len());
            (0..bodies.len()).for_each(|number| assert_eq!(numbering.place(number), number));
        }
        assert_eq!(Numbering::of(&bodies[..1], false).unwrap().sources(), 0);
    }
}
