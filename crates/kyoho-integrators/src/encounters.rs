//! Encounters of bodies, which end an interval.

use kyoho_core::{Nearest, NeighbourTable, Result, memory};

use super::body::{Body, length, vector};

/// The reason why two bodies have an encounter.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EncounterKind {
    /// They are nearer than the distance of approaches.
    Approach = 1,
    /// They are nearer than the sum of their radii.
    Collision = 2,
    /// They have reached the innermost stable orbit around one another, and are one body.
    Merger = 3,
}

/// An encounter of two bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encounter<Name = usize> {
    /// The reason.
    pub kind: EncounterKind,
    /// The places of the two bodies among all, from 0, the lower one first; or their identifiers in that
    /// order.
    pub bodies: [Name; 2],
    /// Their distance. That of a collision is the least one in the step at whose end it was noticed, that
    /// of an approach the one at that end, and that of a merger the one at which they merged.
    pub distance: f64,
    /// The time at which they had this distance, since the start of the interval.
    pub time: f64,
}

/// The distances at which bodies have an encounter.
#[derive(Debug, Clone, Default)]
pub struct Encounters {
    /// The distance of approaches; 0 if they do not count.
    approach: f64,
    /// The radius of each body.
    radii: Vec<f64>,
    has_radii: bool,
    found: Vec<Encounter>,
}

const WHAT: &str = "encounters";

impl Encounters {
    /// Returns the distances, or `None` if no bodies can have an encounter.
    pub fn new(approach: f64, radii: Vec<f64>) -> Option<Encounters> {
        let has_radii = radii.iter().any(|radius| *radius > 0.0);
        (approach > 0.0 || has_radii).then_some(Encounters { approach, radii, has_radii, found: Vec::new() })
    }

    /// Returns the radius of each body.
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Whether some bodies have a radius, so that there may be collisions.
    pub fn has_radii(&self) -> bool {
        self.has_radii
    }

    /// Returns the distance of approaches; 0 if they do not count.
    pub fn approach(&self) -> f64 {
        self.approach
    }

    /// Returns the encounters that were found last.
    pub fn found(&self) -> &[Encounter] {
        &self.found
    }

    /// Forgets those that were found.
    pub fn clear(&mut self) {
        self.found.clear();
    }

    /// Whether some were found. Each pair is kept once, with its least distance.
    pub fn is_met(&mut self) -> bool {
        self.found.sort_unstable_by(|one, other| {
            let by_pair = (one.bodies, one.kind).cmp(&(other.bodies, other.kind));
            by_pair.then(one.distance.total_cmp(&other.distance))
        });
        self.found.dedup_by_key(|encounter| (encounter.bodies, encounter.kind));
        !self.found.is_empty()
    }

    /// Looks for approaches of a block at a time, whose sink `k` is the body `members[k]` and has the
    /// nearest source `nearest[k]`.
    pub fn look(&mut self, members: &[usize], nearest: &[Nearest], time: f64) -> Result<()> {
        for (member, nearest) in members.iter().zip(nearest) {
            let distance = nearest.distance2.sqrt();
            if distance < self.approach {
                self.put(EncounterKind::Approach, [*member, nearest.index as usize], distance, time)?;
            }
        }
        Ok(())
    }

    /// Looks for approaches at a time among the bodies that are near each, as far as two of them
    /// `count`.
    pub fn look_among(
        &mut self,
        bodies: &[Body],
        near: &NeighbourTable,
        time: f64,
        count: impl Fn(usize, usize) -> bool,
    ) -> Result<()> {
        for body in 0..bodies.len() {
            for other in near.of(body).iter().map(|other| *other as usize).filter(|other| *other > body) {
                let (here, there) = (bodies[body].position, bodies[other].position);
                let distance = length(&vector(|k| here[k] - there[k]));
                if distance < self.approach && count(body, other) {
                    self.put(EncounterKind::Approach, [body, other], distance, time)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps an encounter of two bodies.
    pub fn put(&mut self, kind: EncounterKind, [one, other]: [usize; 2], distance: f64, time: f64) -> Result<()> {
        let bodies = [one.min(other), one.max(other)];
        memory::push(&mut self.found, Encounter { kind, bodies, distance, time }, WHAT)
    }
}
