//! How a subsystem acts on others beyond the mass at its centre, at the time of a block: by its quadrupole,
//! or by each member.

use kyoho_core::Result;
use kyoho_few_body::averaged::Tensor;

use super::RESOLVED;
use super::lanes::{LANES, Lanes, Number};
use super::levels::{Level, levels};
use super::reaction::{Derivatives, Quadrupoles, inner_motion, pull};
use super::surroundings::square;
use crate::body::{Vector, length, vector};
use crate::hermite::scheme::MOST;
use crate::subsystems::Subsystem;

fn add(sums: &mut [Vector; MOST], factor: f64, terms: &[Vector; MOST]) {
    sums.as_flattened_mut().iter_mut().zip(terms.as_flattened()).for_each(|(sum, term)| *sum += factor * term);
}

/// Adds the accelerations and jerks that others give members beyond what they give the centre. `others`
/// have masses times the gravitational constant, with positions and velocities of the centre from them.
pub fn add_tides(members: &mut [(f64, [Vector; MOST])], others: impl Iterator<Item = (f64, [Vector; 2])>) {
    let total: f64 = members.iter().map(|(mass, _)| mass).sum();
    for (mass, from) in others {
        let on = |motion: &[Vector; MOST]| {
            let [place, speed] = [0, 1].map(|term| vector(|k| from[term][k] + motion[term][k]));
            pull(2, mass, &[place, speed, [0.0; 3], [0.0; 3]])
        };
        let mut mean = [[0.0; 3]; MOST];
        members.iter().for_each(|(mass, motion)| add(&mut mean, mass / total, &on(motion)));
        for (_, motion) in members.iter_mut() {
            let own = on(motion);
            for term in 0..2 {
                motion[2 + term] = vector(|k| motion[2 + term][k] + (own[term][k] - mean[term][k]));
            }
        }
    }
}

/// A body on which subsystems act.
pub struct Sink<'a> {
    /// The terms of forces, and the body's step.
    terms: usize,
    step: f64,
    /// The size of its acceleration by all else, and the derivatives of its velocity.
    acceleration: f64,
    sums: [Vector; MOST],
    quadrupoles: &'a mut Quadrupoles,
}

impl Sink<'_> {
    /// Takes one with derivatives of its velocity, of which so many are wanted.
    pub fn new((terms, step): (usize, f64), sums: [Vector; MOST], quadrupoles: &mut Quadrupoles) -> Sink<'_> {
        quadrupoles.begin(terms);
        Sink { terms, step, acceleration: length(&sums[0]), sums, quadrupoles }
    }

    /// Returns the size of its acceleration by all else.
    pub fn acceleration(&self) -> f64 {
        self.acceleration
    }

    /// Returns the derivatives with what subsystems add.
    pub fn sums(mut self) -> [Vector; MOST] {
        if let Some(found) = self.quadrupoles.sum() {
            add(&mut self.sums, 1.0, &found);
        }
        self.sums
    }
}

/// A subsystem at the time of a block, as it acts on others beyond the mass at its centre.
#[derive(Debug)]
pub struct Acting {
    at: [Vector; MOST],
    /// Its mass times the gravitational constant and the square of its extent.
    strength: f64,
    /// The part of an acceleration that counts.
    least_part: f64,
    /// How it acts beyond a distance, whose square is the last number: by the mean products of the
    /// separation's components, and its reduced mass times the gravitational constant.
    quadrupole: Option<(Tensor, f64, f64)>,
    /// How it acts on nearer bodies: by each member, of a mass times the gravitational constant, with its
    /// motion around the centre. Without members the quadrupole acts on these too.
    pub members: Vec<(f64, [Vector; MOST])>,
    /// How the members move for others that do not follow them in their steps.
    levels: Vec<Level>,
}

impl Acting {
    /// Finds out how a subsystem of some extent acts at a time, at which its centre is there, where this part
    /// of an acceleration counts.
    pub fn new(
        subsystem: &Subsystem,
        (gravity, extent): (f64, f64),
        (time, least_part): (f64, f64),
        at: [Vector; MOST],
    ) -> Result<Acting> {
        let mass = subsystem.centre.mass;
        let quadrupole = subsystem.mean.map(|mean| {
            let [one, other] = [0, 1].map(|row| subsystem.inner.masses[row]);
            (mean.products, gravity * one * (other / mass), (RESOLVED * extent).powi(2))
        });
        let mut members = Vec::new();
        if quadrupole.is_none() || subsystem.is_close && subsystem.time == time {
            members = inner_motion(gravity, &subsystem.at(gravity, time)?)?;
        }
        let strength = gravity * mass * extent * extent;
        Ok(Acting { at, strength, least_part, quadrupole, members, levels: Vec::new() })
    }

    /// Returns where its centre is.
    pub fn at(&self) -> &Vector {
        &self.at[0]
    }

    /// Finds out how the members, whose motion is known now, move for others.
    pub fn level(&mut self) -> Result<()> {
        self.levels = levels(&self.members)?;
        Ok(())
    }

    /// Returns masses of the members times the gravitational constant and their motions around the centre as
    /// they are for a body of a step, or of none yet, at a distance, whose square is given.
    pub fn members_for(&self, step: f64, distance2: f64) -> impl Iterator<Item = (f64, &[Vector; MOST])> {
        let level = self.levels.iter().rfind(|level| level.is_for(step, distance2));
        let members = self.members.iter().enumerate();
        members.map(move |(row, (mass, own))| (*mass, level.map_or(own, |level| &level.motions[row])))
    }

    /// Whether a part of what it does to a body changes the acceleration of one by the part that counts.
    fn counts(&self, sink: &Sink, factor: f64, distance2: f64) -> bool {
        (factor * self.strength).abs() >= self.least_part * distance2 * distance2 * sink.acceleration
    }

    /// Returns its quadrupole, if it acts by that on a body at a distance, whose square is given.
    fn far(&self, distance2: f64) -> Option<(Tensor, f64)> {
        let (products, reduced, within2) = self.quadrupole?;
        (self.members.is_empty() || distance2 > within2).then_some((products, reduced))
    }

    /// Adds what the subsystem gives a body there, times a factor, to what a body gets. What changes its
    /// acceleration by less than the part that counts is left out.
    pub fn add(&self, sink: &mut Sink, factor: f64, there: &[Vector; MOST]) {
        let from: [Vector; MOST] = std::array::from_fn(|term| vector(|k| there[term][k] - self.at[term][k]));
        let distance2 = square(&from[0]);
        if !self.counts(sink, factor, distance2) {
            return;
        }
        if let Some((products, reduced)) = self.far(distance2) {
            return sink.quadrupoles.push(&products, factor * reduced, &from);
        }
        for (mass, motion) in self.members_for(sink.step, distance2) {
            let apart = std::array::from_fn(|term| vector(|k| from[term][k] - motion[term][k]));
            add(&mut sink.sums, factor, &pull(sink.terms, mass, &apart));
        }
        add(&mut sink.sums, -factor, &pull(sink.terms, self.mass(), &from));
    }

    /// Adds what the subsystem gives bodies there, times a factor of each, to what a body gets, as
    /// [`Acting::add`] does for one after another. Those whose factor is 0 count for nothing.
    pub fn add_all(&self, sink: &mut Sink, factors: Lanes, there: &Derivatives<Lanes>) {
        let mut from = *there;
        for (from, at) in from.as_flattened_mut().iter_mut().zip(self.at.as_flattened()) {
            *from = *from - Lanes::of(*at);
        }
        let [x, y, z] = from[0];
        let distances2 = x * x + y * y + z * z;
        let mut far = Lanes::ZERO;
        for lane in 0..LANES {
            let (factor, distance2) = (factors.0[lane], distances2.0[lane]);
            let counts = || self.counts(sink, factor, distance2);
            if let Some((_, reduced)) = self.far(distance2).filter(|_| factor != 0.0 && counts()) {
                far.0[lane] = factor * reduced;
                continue;
            }
            if factor != 0.0 {
                self.add(sink, factor, &there.map(|row| row.map(|lanes| lanes.0[lane])));
            }
            from[0].iter_mut().for_each(|lanes| lanes.0[lane] = 1.0);
        }
        if let Some((products, ..)) = self.quadrupole.filter(|_| far.0.iter().any(|factor| *factor != 0.0)) {
            sink.quadrupoles.act_from(&products, far, &from);
        }
    }

    /// Returns the mass of its members times the gravitational constant.
    pub fn mass(&self) -> f64 {
        self.members.iter().map(|(mass, _)| mass).sum()
    }
}
