//! Encounters of bodies, which end an interval.

use kyoho_core::{Nearest, NeighbourTable, Result, memory};

use super::body::{Body, Vector, length, vector};

/// The reason why two bodies have an encounter.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EncounterKind {
    /// They are nearer than the distance of approaches.
    Approach = 1,
    /// They are nearer than the sum of their radii.
    Collision = 2,
}

/// An encounter of two bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encounter {
    /// The reason.
    pub kind: EncounterKind,
    /// The places of the two bodies among all, from 0, the lower one first.
    pub bodies: [usize; 2],
    /// Their distance when it was noticed, at the end of a block step.
    pub distance: f64,
}

/// The distances at which bodies have an encounter.
#[derive(Debug, Clone)]
pub struct Encounters {
    /// The distance of approaches; 0 if they do not count.
    approach: f64,
    /// The radius of each body.
    radii: Vec<f64>,
    /// The bodies that have a radius, the largest first.
    largest: Vec<usize>,
    found: Vec<Encounter>,
}

const WHAT: &str = "encounters";

impl Encounters {
    /// Returns the distances, or `None` if no bodies can have an encounter.
    pub fn new(approach: f64, radii: Vec<f64>) -> Result<Option<Encounters>> {
        let with_radius = (0..radii.len()).filter(|body| radii[*body] > 0.0);
        let mut largest = memory::collected(with_radius, "the radii of bodies")?;
        if approach <= 0.0 && largest.is_empty() {
            return Ok(None);
        }
        largest.sort_unstable_by(|one, other| radii[*other].total_cmp(&radii[*one]).then(one.cmp(other)));
        Ok(Some(Encounters { approach, radii, largest, found: Vec::new() }))
    }

    /// Returns the radius of each body.
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Returns the distance of approaches and the largest radius, each 0 if there is none.
    pub fn distances(&self) -> [f64; 2] {
        [self.approach, self.largest.first().map_or(0.0, |body| self.radii[*body])]
    }

    /// Returns the encounters that were found last.
    pub fn found(&self) -> &[Encounter] {
        &self.found
    }

    /// Forgets those that were found.
    pub fn clear(&mut self) {
        self.found.clear();
    }

    /// Whether some were found. Each pair is kept once.
    pub fn is_met(&mut self) -> bool {
        self.found.sort_unstable_by_key(|encounter| (encounter.bodies, encounter.kind));
        self.found.dedup_by_key(|encounter| (encounter.bodies, encounter.kind));
        !self.found.is_empty()
    }

    /// Looks for encounters of a block, whose sink `k` is the body `members[k]` and has the nearest
    /// source `nearest[k]`. `position` is that
    /// of a body at the time of the block.
    pub fn look(&mut self, members: &[usize], nearest: &[Nearest], position: impl Fn(usize) -> Vector) -> Result<()> {
        let [_, reach] = self.distances();
        for (member, nearest) in members.iter().zip(nearest).filter(|(_, nearest)| nearest.distance2.is_finite()) {
            let (distance, own) = (nearest.distance2.sqrt(), self.radii[*member]);
            if distance < self.approach {
                self.put(EncounterKind::Approach, [*member, nearest.index as usize], distance)?;
            }
            if distance >= own + reach {
                continue;
            }
            // A body beyond the nearest one collides if it is large enough.
            let here = position(*member);
            let no_radius = [nearest.index as usize].into_iter().filter(|other| self.radii[*other] == 0.0);
            let others = memory::collected(
                self.largest.iter().copied().take_while(|other| distance < own + self.radii[*other]).chain(no_radius),
                WHAT,
            )?;
            for other in others.into_iter().filter(|other| other != member) {
                let there = position(other);
                self.collide([*member, other], length(&vector(|k| here[k] - there[k])))?;
            }
        }
        Ok(())
    }

    /// Returns the distance within which a body may encounter another one.
    pub fn reach(&self, body: usize) -> f64 {
        let [_, reach] = self.distances();
        let collision = if reach == 0.0 { 0.0 } else { self.radii[body] + reach };
        self.approach.max(collision)
    }

    /// Looks for encounters among the bodies that are within the reach of each.
    pub fn look_among(&mut self, bodies: &[Body], near: &NeighbourTable) -> Result<()> {
        for body in 0..bodies.len() {
            for other in near.of(body).iter().map(|other| *other as usize).filter(|other| *other > body) {
                let (here, there) = (bodies[body].position, bodies[other].position);
                let distance = length(&vector(|k| here[k] - there[k]));
                if distance < self.approach {
                    self.put(EncounterKind::Approach, [body, other], distance)?;
                }
                self.collide([body, other], distance)?;
            }
        }
        Ok(())
    }

    fn collide(&mut self, bodies: [usize; 2], distance: f64) -> Result<()> {
        if distance < self.radii[bodies[0]] + self.radii[bodies[1]] {
            self.put(EncounterKind::Collision, bodies, distance)?;
        }
        Ok(())
    }

    fn put(&mut self, kind: EncounterKind, [one, other]: [usize; 2], distance: f64) -> Result<()> {
        let bodies = [one.min(other), one.max(other)];
        memory::push(&mut self.found, Encounter { kind, bodies, distance }, WHAT)
    }
}
