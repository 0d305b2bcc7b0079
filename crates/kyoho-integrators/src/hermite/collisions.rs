//! Collisions on the way of bodies, between the ends of their steps.
//!
//! Two bodies are looked at in the shorter one of their steps, at the end of which the other one is
//! advanced too or its prediction is known. So all their time is looked at, piece by piece.
//!
//! Members of a subsystem meet one another in it ([`super::subsystems`]). Others meet them on the way of its
//! centre, beside which they stay where they are at the end of the step: whoever comes within 5 extents of
//! it becomes a member, so that only bodies meet so whose radii are larger than that.

use kyoho_core::{Result, memory};

use crate::body::{Body, Vector, vector};
use crate::encounters::Encounters;
use crate::numbering::Numbering;
use crate::subsystems::Subsystem;
use crate::sweeps::{Path, Sphere, Spheres};

use super::block::{Block, Moving};
use super::scheme::predicted;
use super::subsystems::Subsystems;

/// Spheres are larger than predicted paths by this part of their radius, for what the path of a whole
/// step and that of a part of it differ in.
const MARGIN: f64 = 0.01;

const WHAT: &str = "the members of a block";

/// The paths of the bodies in their steps.
#[derive(Debug, Default)]
pub struct Collisions {
    spheres: Spheres,
    /// The members of the block, before they were advanced.
    before: Vec<Body>,
    /// Their paths, and the spheres round these.
    paths: Vec<(Path, Sphere)>,
}

/// The bodies of a block and what is known of them.
#[derive(Clone, Copy)]
pub struct Bodies<'a> {
    pub moving: &'a [Moving],
    pub numbering: &'a Numbering,
    pub encounters: &'a Encounters,
    pub subsystems: Option<&'a Subsystems>,
}

/// A body alone, or a member of a subsystem.
struct Part {
    number: usize,
    /// Where it is from the centre of its subsystem.
    offset: Vector,
    radius: f64,
}

impl Bodies<'_> {
    fn radius(&self, number: usize) -> f64 {
        self.encounters.radii()[self.numbering.place(number)]
    }

    /// Returns the subsystem whose centre has a number.
    fn subsystem(&self, number: usize) -> Option<&Subsystem> {
        self.subsystems.and_then(|subsystems| subsystems.of_centre(number))
    }

    fn is_hidden(&self, number: usize) -> bool {
        self.subsystems.is_some_and(|subsystems| subsystems.is_hidden(number))
    }

    /// Returns how far bodies under a number reach from where it is, and whether some have a radius.
    fn reach(&self, number: usize) -> (f64, bool) {
        let Some((subsystem, subsystems)) = self.subsystem(number).zip(self.subsystems) else {
            let radius = if self.is_hidden(number) { 0.0 } else { self.radius(number) };
            return (radius, radius > 0.0);
        };
        let radius = subsystem.members.iter().map(|member| self.radius(*member)).fold(0.0, f64::max);
        (subsystem.extent(subsystems.leave()) + radius, radius > 0.0)
    }

    /// Passes on the bodies that stand under a number at a time: one alone, the members of a subsystem, or
    /// none, where a centre stands for a member. Members are where they are at that time, as their centre
    /// moves on.
    fn each_part(
        &self,
        (gravity, number): (f64, usize),
        time: f64,
        pass: &mut dyn FnMut(Part) -> Result<()>,
    ) -> Result<()> {
        let Some(subsystem) = self.subsystem(number) else {
            let alone = Part { number, offset: [0.0; 3], radius: self.radius(number) };
            return if self.is_hidden(number) { Ok(()) } else { pass(alone) };
        };
        let inner = subsystem.at(gravity, time)?;
        let parts = subsystem.members.iter().zip(inner.positions);
        parts.into_iter().try_for_each(|(&number, offset)| pass(Part { number, offset, radius: self.radius(number) }))
    }

    /// Returns a sphere round the path of a body in its next step.
    fn sphere(&self, number: usize) -> Sphere {
        let body = &self.moving[number].body;
        let sphere = Path::of(body, &predicted(body, body.step), body.step).sphere(0.0);
        Sphere { radius: (1.0 + MARGIN) * sphere.radius + self.reach(number).0, ..sphere }
    }
}

impl Collisions {
    /// Begins with the first steps of all bodies.
    pub fn begin(&mut self, bodies: Bodies) -> Result<()> {
        self.spheres.begin((0..bodies.moving.len()).map(|number| (bodies.sphere(number), bodies.reach(number).1)))
    }

    /// Remembers the members of a block before they are advanced.
    pub fn remember(&mut self, moving: &[Moving], members: &[usize]) -> Result<()> {
        self.before.clear();
        memory::reserve(&mut self.before, members.len(), WHAT)?;
        self.before.extend(members.iter().map(|number| moving[*number].body));
        Ok(())
    }

    /// Returns the collisions of the members of a block, which have been advanced: the numbers of two
    /// bodies, their least distance, and its time. Where these `go_on`, others are further on their
    /// way, and otherwise at the time of the block.
    pub fn look(
        &mut self,
        block: &Block,
        bodies: Bodies,
        members: &[usize],
        go_on: bool,
    ) -> Result<Vec<([usize; 2], f64, f64)>> {
        let mut found = Vec::new();
        let interval = block.plan.interval;
        self.paths.clear();
        memory::reserve(&mut self.paths, members.len(), WHAT)?;
        // Corrections may lead members out of their spheres.
        let mut slack = 0.0f64;
        for (number, before) in members.iter().zip(&self.before) {
            let path = Path::of(before, &bodies.moving[*number].body, before.step);
            let sphere = path.sphere(bodies.reach(*number).0);
            slack = slack.max(sphere.beyond(self.spheres.of(*number)));
            self.paths.push((path, sphere));
        }
        let (gravity, time) = (block.plan.gravity, block.now * interval);
        for (place, number) in members.iter().enumerate().filter(|(_, number)| !bodies.is_hidden(**number)) {
            let step = self.before[place].step;
            let (path, sphere) = &self.paths[place];
            let asked = Sphere { radius: sphere.radius + slack, ..*sphere };
            self.spheres.each_near(&asked, bodies.reach(*number).1, |other| {
                let there = match members.binary_search(&other) {
                    Ok(member) => {
                        let before = &self.before[member];
                        if other == *number || (before.step, other) < (step, *number) {
                            return Ok(());
                        }
                        let start = if before.step == step { *before } else { predicted(before, before.step - step) };
                        Path::of(&start, &bodies.moving[other].body, step)
                    }
                    Err(_) if go_on => {
                        let (body, since) =
                            (&bodies.moving[other].body, block.since_last_step(&bodies.moving[other].body));
                        Path::of(&predicted(body, since - step), &predicted(body, since), step)
                    }
                    Err(_) => return Ok(()),
                };
                let between = path.against(&there);
                bodies.each_part((gravity, *number), time, &mut |one| {
                    bodies.each_part((gravity, other), time, &mut |another| {
                        let between = between.beside(&vector(|k| one.offset[k] - another.offset[k]));
                        let Some((distance, part)) = between.nearest(one.radius + another.radius) else {
                            return Ok(());
                        };
                        let met = ([one.number, another.number], distance, time - (1.0 - part) * step);
                        memory::push(&mut found, met, "encounters")
                    })
                })
            })?;
        }
        if go_on {
            members.iter().try_for_each(|number| self.spheres.change(*number, bodies.sphere(*number)))?;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use crate::Integrator;
    use crate::fields::Fields;
    use crate::hermite::{Hermite, Scheme};
    use crate::plan::{Plan, StepCriterion};
    use crate::subsystems::SubsystemRules;
    use kyoho_core::{Order, Precision};
    use kyoho_engine::{Setup, System};

    use super::*;

    #[test]
    fn bodies_collide_beside_those_that_move_in_a_subsystem() {
        for order in [Order::Fourth, Order::Sixth, Order::Eighth] {
            let plan = Plan {
                order,
                precision: Precision::Double,
                gravity: 1.0,
                softening: 0.0,
                eta: 0.1,
                criterion: StepCriterion::Usual,
                eta4: 0.01,
                step: 0.0,
                longest: 1.0,
                shortest: 1e-12,
                interval: 1.0,
                tree: None,
            };
            let pair = |side: f64| Body::new(0.5, [side * 5e-5, 0.0, 0.0], [0.0, side * 50.0, 0.0]);
            let small = |side: f64| Body::new(0.0, [side * 0.4, 3.0, 0.0], [-side, 0.0, 0.0]);
            let bodies =
                vec![pair(1.0), pair(-1.0), small(1.0), small(-1.0), Body::new(0.5, [0.0, -9.0, 0.0], [0.0; 3])];
            let system = System::new(&Setup::on_cpu(order, plan.precision)).unwrap();
            let scheme = Scheme::of(order).unwrap();
            let mut hermite = Hermite::new(system, plan, scheme, (bodies, Fields::default())).unwrap();
            hermite.set_subsystems(Some(SubsystemRules { radius: 1e-3, speed_of_light: None })).unwrap();
            hermite.watch(Encounters::new(0.0, vec![1e-6; 5]));
            hermite.start().unwrap();
            hermite.advance(&mut |_, _| Ok(true)).unwrap();
            assert_eq!(hermite.subsystems().0.len(), 1, "{order:?}");
            let [found] = hermite.encounters() else { panic!("{order:?}: {:?}", hermite.encounters()) };
            assert!(found.bodies == [2, 3] && (found.time - 0.4).abs() < 0.01, "{order:?}: {found:?}");
        }
    }
}
