//! Bodies that meet become one.

use kyoho_core::{Result, memory};

use crate::body::{Body, Vector, vector};
use crate::encounters::{Encounter, EncounterKind};

use super::{Cluster, OnCollision};

const WHAT: &str = "bodies that merge";

/// Returns the radius of a sphere with the volume of spheres of these radii.
pub(super) fn radius_of_all(radii: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = radii.clone().fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    (largest * radii.map(|radius| (radius / largest).powi(3)).sum::<f64>().cbrt()).min(f64::MAX)
}

impl Cluster {
    /// Keeps encounters that were found, of bodies by their places, and makes those bodies one that merge.
    /// Returns whether the evolution goes on after them.
    pub(super) fn meet(&mut self, found: &[Encounter]) -> Result<bool> {
        if found.is_empty() {
            return Ok(true);
        }
        let merges = self.choices.on_collision == OnCollision::Merge;
        let is_merger = |encounter: &&Encounter| match encounter.kind {
            EncounterKind::Approach => false,
            EncounterKind::Collision => merges,
            EncounterKind::Merger => true,
        };
        // What is kept is no longer there once bodies are removed.
        let mut encounters = std::mem::take(&mut self.encounters);
        memory::reserve(&mut encounters, found.len(), "encounters")?;
        encounters.extend(found.iter().map(|&Encounter { kind, bodies, distance, time }| {
            let bodies = bodies.map(|place| self.identifiers[place]);
            Encounter { kind, bodies, distance, time }
        }));
        let pairs = memory::collected(found.iter().filter(is_merger).map(|encounter| encounter.bodies), WHAT)?;
        self.merge(&pairs)?;
        self.encounters = encounters;
        Ok(merges && pairs.len() == found.len())
    }

    /// Makes one body of each set of bodies that pairs join, with their mass, momentum and volume. It is the
    /// heaviest of them, and of equal ones that which was added first; the others are removed.
    fn merge(&mut self, pairs: &[[usize; 2]]) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let mut places = memory::collected(pairs.as_flattened().iter().copied(), WHAT)?;
        places.sort_unstable();
        places.dedup();
        // The first one of the set of each.
        let mut sets = memory::collected(0..places.len(), WHAT)?;
        for pair in pairs {
            let [one, other] = pair.map(|place| sets[places.binary_search(&place).unwrap_or_default()]);
            sets.iter_mut().filter(|set| **set == one.max(other)).for_each(|set| *set = one.min(other));
        }
        let (mut lost, mut made) = (memory::room(places.len(), WHAT)?, memory::room(places.len(), WHAT)?);
        for set in (0..places.len()).filter(|&item| sets[item] == item) {
            let members = || (0..places.len()).filter(|&item| sets[item] == set).map(|item| places[item]);
            let heaviest = self.heaviest(members());
            let radius = radius_of_all(members().map(|place| self.radii[place]));
            made.push((self.identifiers[heaviest], self.one_of(heaviest, members), radius));
            lost.extend(members().filter(|place| *place != heaviest).map(|place| self.identifiers[place]));
        }
        self.remove(&lost)?;
        for (identifier, body, radius) in made {
            let place = self.place(identifier)?;
            self.integrator.bodies_mut()[place] = body;
            self.radii[place] = radius;
        }
        Ok(())
    }

    fn heaviest(&self, places: impl Iterator<Item = usize>) -> usize {
        let bodies = self.bodies();
        let heavier =
            |so_far: usize, place: usize| if bodies[place].mass > bodies[so_far].mass { place } else { so_far };
        places.reduce(heavier).unwrap_or_default()
    }

    /// Returns the body that some bodies are together, of which one is the heaviest.
    fn one_of<Places: Iterator<Item = usize>>(&self, heaviest: usize, places: impl Fn() -> Places) -> Body {
        let (bodies, count) = (self.bodies(), places().count() as f64);
        let total: f64 = places().map(|place| bodies[place].mass).sum();
        let part = |place: usize| if total > 0.0 { bodies[place].mass / total } else { 1.0 / count };
        // From the heaviest one, so that digits of small distances stay.
        let mean = |of: fn(&Body) -> Vector| {
            let here = of(&bodies[heaviest]);
            let apart = |place: usize, k: usize| part(place) * (of(&bodies[place])[k] - here[k]);
            vector(|k| here[k] + places().map(|place| apart(place, k)).sum::<f64>())
        };
        Body::new(total, mean(|body| body.position), mean(|body| body.velocity))
    }
}
