//! The leapfrog with a shared step: kick, drift, kick.

use kyoho_core::{Error, Order, Result, Sink, memory};
use kyoho_engine::TreeErrors;
use kyoho_engine::moving::MovingBody;
use kyoho_hal::threads::Threads;
use kyoho_methods::device_arrays::Motion;
use kyoho_ranks::SharedSystem;

use super::body::{Body, Vector, add, sum, vector};
use super::encounters::{Encounter, EncounterKind, Encounters};
use super::fields::Fields;
use super::group_sums::GroupSums;
use super::groups::Groups;
use super::hermite::MOST;
use super::laws::{Acting, Felt, Laws, places_with_mass};
use super::numbering::Numbering;
use super::plan::{Plan, whole};
use super::subsystems::{Subsystem, SubsystemRules};
use super::sweeps::{Path, Spheres};
use super::{Approach, Counts, GoOn, Integrator};

/// The leapfrog integrator.
pub struct Leapfrog {
    system: SharedSystem,
    plan: Plan,
    bodies: Vec<Body>,
    /// The bodies that are sources, by the numbers that are their addresses.
    numbering: Numbering,
    /// The groups of bodies, if these differ.
    groups: Option<Groups>,
    group_sums: GroupSums,
    fields: Fields,
    laws: Laws,
    /// What rounding took off each position and velocity since the interval began.
    lost: Vec<[Vector; 2]>,
    threads: Threads,
    encounters: Option<Encounters>,
    /// The paths of the bodies in the step, and the bodies before it, where they may collide.
    spheres: Spheres,
    before: Vec<Body>,
    reached: f64,
    counts: Counts,
    /// The pairs that are no part of the run: those of measurements of errors, and of steps that
    /// were made again.
    left_out: u64,
    /// Whether the device was given the bodies as they are, to move them.
    is_kept: bool,
}

impl Leapfrog {
    /// Makes an integrator of these bodies, which are those of this rank where each keeps some. In
    /// fields, those with a step keep their accelerations: those at the ends of steps are of predicted
    /// velocities.
    pub fn new(system: impl Into<SharedSystem>, plan: Plan, (bodies, fields): (Vec<Body>, Fields)) -> Result<Leapfrog> {
        let system = system.into();
        let is_resumed = !fields.is_empty() && bodies.iter().all(|body| body.step > 0.0);
        let before = if is_resumed { memory::collected(bodies.iter().copied(), "bodies")? } else { Vec::new() };
        let threads = Threads::new(system.setup().threads);
        let (counts, encounters) = (Counts::default(), None);
        let (reached, left_out, is_kept) = (0.0, 0, false);
        let (numbering, lost) = (Numbering::default(), Vec::new());
        let laws = Laws::new(plan.gravity, system.setup());
        let mut leapfrog = Leapfrog {
            system,
            plan,
            bodies,
            numbering,
            groups: None,
            group_sums: GroupSums::default(),
            fields,
            laws,
            lost,
            threads,
            encounters,
            spheres: Spheres::default(),
            before: Vec::new(),
            reached,
            counts,
            left_out,
            is_kept,
        };
        leapfrog.start()?;
        leapfrog.bodies.iter_mut().zip(before).for_each(|(body, before)| *body = before);
        Ok(leapfrog)
    }

    /// Chooses the sources: bodies with mass alone where these are at most half of all. A tree hardly
    /// gains by that, and who looks for approaches finds bodies without mass too.
    fn choose_sources(&mut self) -> Result<()> {
        let approaches = self.encounters.as_ref().is_some_and(|encounters| encounters.approach() > 0.0);
        let numbering = Numbering::of(&self.bodies, self.plan.tree.is_some() || approaches)?;
        let is_worth_it = numbering.sources() <= self.bodies.len() / 2;
        self.numbering = if is_worth_it { numbering } else { Numbering::of(&self.bodies, true)? };
        Ok(())
    }

    /// Computes the accelerations at the bodies' present places, at a time since the interval began.
    /// Fields may depend on velocities, which have still to be kicked for a while. After an error the
    /// accelerations are as they were.
    fn accelerate(&mut self, time: f64, kick: f64) -> Result<()> {
        // What these forces need takes the place of bodies that the device was given.
        self.is_kept = false;
        if self.bodies.is_empty() && !self.system.keeps_own_bodies() {
            return Ok(());
        }
        let (bodies, gravity) = (&self.bodies, self.plan.gravity);
        let (first, _) = self.system.place_of_bodies(bodies.len());
        let body = |number: usize| {
            let Body { position, velocity, derivatives: [acceleration, ..], .. } = bodies[number];
            (first + number, [position, vector(|k| velocity[k] + kick * acceleration[k])])
        };
        let felt = |number: usize| {
            let mut felt = Felt::of(&bodies[number], number);
            felt.motion[1] = body(number).1[1];
            felt
        };
        if !self.laws.is_empty() {
            let places = places_with_mass(bodies)?;
            let kicked = places.iter().map(|&place| Body { velocity: body(place).1[1], ..bodies[place] });
            let kicked = memory::collected(kicked, "bodies that act by laws")?;
            let source = |row: usize| Acting { place: places[row], body: &kicked[row], time };
            self.laws.write(places.len(), 0..places.len(), source)?;
        }
        let of_laws = self.laws.derivatives(time, 1, (bodies.len(), felt), |_| Default::default())?;
        let by_laws = |number: usize| of_laws.get(number).copied().unwrap_or_default();
        let of_fields = self.fields.derivatives(time, (bodies.len(), 1), body, by_laws)?;
        let added = if of_fields.is_empty() { of_laws } else { of_fields };
        let step = self.plan.step;
        if let Some(groups) = &self.groups {
            let mut found = memory::filled(bodies.len(), [0.0; 3], "accelerations")?;
            let sinks = (bodies.len(), |body| body);
            self.group_sums.sum(&mut self.system, (groups, gravity), bodies, sinks, |body, _, of| {
                let (forces, row) = of;
                let (so_far, more) = (found[body], forces.acceleration(row));
                found[body] = vector(|k| so_far[k] + more[k]);
            })?;
            give(&self.threads, &mut self.bodies, step, (|number| found[number], added));
            return Ok(());
        }
        let (numbering, sources) = (&self.numbering, self.numbering.sources());
        let source = |address: usize| {
            let number = numbering.place(address);
            bodies[number].source(Order::Second, number, gravity, 0.0)
        };
        self.system.set_sources(sources, source)?;
        self.system.keep_sources_below(sources)?;
        let (count, softening) = (bodies.len(), self.plan.softening);
        self.system.start_from_fn(sources, true, count, |number| bodies[number].sink(number, softening))?;
        let forces = self.system.wait()?;
        give(&self.threads, &mut self.bodies, step, (|number| forces.acceleration(number), added));
        Ok(())
    }

    /// Kicks, drifts and kicks, up to a time since the interval began. After an error the bodies are
    /// where they were, up to rounding.
    fn step(&mut self, step: f64, end: f64) -> Result<()> {
        self.kick(0.5 * step);
        self.drift(step);
        if let Err(error) = self.accelerate(end, 0.5 * step) {
            self.drift(-step);
            self.kick(-0.5 * step);
            return Err(error);
        }
        self.kick(0.5 * step);
        Ok(())
    }

    /// Makes steps on the device, if it moves bodies. Returns false where it does not, or where a
    /// step fails: then the bodies are as they were.
    fn advance_on_device(&mut self, steps: u64, step: f64, go_on: &mut GoOn) -> Result<bool> {
        if self.system.team().is_some() {
            return Ok(false);
        }
        let (bodies, gravity) = (&self.bodies, self.plan.gravity);
        let body = |number: usize| {
            let Body { mass, position, velocity, derivatives: [acceleration, ..], .. } = bodies[number];
            MovingBody { mass: gravity * mass, position, velocity, acceleration }
        };
        if !self.is_kept && !self.system.alone(MOVING)?.keep_moving(bodies.len(), body)? {
            return Ok(false);
        }
        let (counts, interactions) = (self.counts, self.system.statistics().interactions);
        self.is_kept = self.steps_on_device(steps, step, go_on).unwrap_or_else(|error| {
            log::debug!("the host makes the steps again: {error}");
            false
        });
        if !self.is_kept {
            self.left_out += self.system.statistics().interactions - interactions;
            (self.counts, self.reached) = (counts, 0.0);
        }
        Ok(self.is_kept)
    }

    /// Makes steps on the device and copies the bodies from there after the last one. Returns false
    /// if the device cannot go on.
    fn steps_on_device(&mut self, steps: u64, step: f64, go_on: &mut GoOn) -> Result<bool> {
        let (half, softening2) = (0.5 * step, self.plan.softening.powi(2));
        for done in 1..=steps {
            // The last kick of the step before comes with the first one of this step.
            let last = if done == 1 { 0.0 } else { half };
            let motion = Motion { kicks: [last, half], drift: step, begins: done == 1 };
            if !self.system.alone(MOVING)?.move_bodies(&motion, Some(softening2))? {
                return Ok(false);
            }
            if !self.count_step(done, steps, go_on)? {
                break;
            }
        }
        let motion = Motion { kicks: [half, 0.0], drift: 0.0, begins: false };
        if !self.system.alone(MOVING)?.move_bodies(&motion, None)? {
            return Ok(false);
        }
        let (Some(moved), step) = (self.system.alone(MOVING)?.moved()?, self.plan.step) else { return Ok(false) };
        each_of(&self.threads, &mut self.bodies, |number, body| {
            let MovingBody { position, velocity, acceleration, .. } = moved(number);
            (body.position, body.velocity, body.derivatives[0]) = (position, velocity, acceleration);
            body.step = step;
        });
        Ok(true)
    }

    /// Counts a step of so many of the interval, and returns whether the caller wants to go on.
    fn count_step(&mut self, done: u64, steps: u64, go_on: &mut GoOn) -> Result<bool> {
        self.reached = done as f64 / steps as f64;
        self.counts.steps += self.system.place_of_bodies(self.bodies.len()).1 as u64;
        self.counts.block_steps += 1;
        go_on(self.reached, self.counts.block_steps)
    }

    /// Remembers the bodies before a step in which they may collide.
    fn remember(&mut self) -> Result<()> {
        self.before.clear();
        if self.encounters.as_ref().is_some_and(Encounters::has_radii) {
            memory::reserve(&mut self.before, self.bodies.len(), "bodies before a step")?;
            self.before.extend_from_slice(&self.bodies);
        }
        Ok(())
    }

    /// Whether bodies have approached each other where they are now, at a time since the interval began,
    /// or have collided in the step to it.
    fn meets_encounters(&mut self, step: f64, time: f64) -> Result<bool> {
        let Some(encounters) = &mut self.encounters else { return Ok(false) };
        if encounters.approach() > 0.0 {
            let radius2 = encounters.approach().powi(2);
            let sink = |(number, body): (usize, &Body)| Sink { radius2, ..body.sink(number, 0.0) };
            let sinks = self.bodies.iter().enumerate().map(sink);
            let (bodies, gravity) = (&self.bodies, self.plan.gravity);
            let source = |place: usize| bodies[place].source(Order::Second, place, gravity, 0.0);
            if self.groups.is_some() {
                // The system has the sources of one group.
                self.system.set_sources(bodies.len(), source)?;
                self.system.keep_sources_below(bodies.len())?;
            }
            let near = self.system.find_neighbours(bodies.len(), true, sinks, source)?;
            let feel = |one, other| self.groups.as_ref().is_none_or(|groups| groups.touch(one, other));
            encounters.look_among(&self.bodies, near, time, feel)?;
        }
        if encounters.has_radii() {
            let path = |number: usize| Path::of(&self.before[number], &self.bodies[number], step);
            let radii = memory::collected(encounters.radii().iter().copied(), "the radii of bodies")?;
            let sphere = |number: usize| (path(number).sphere(radii[number]), radii[number] > 0.0);
            self.spheres.begin((0..self.bodies.len()).map(sphere))?;
            // The one with a radius looks for the other one.
            for number in (0..radii.len()).filter(|number| radii[*number] > 0.0) {
                let own = path(number);
                self.spheres.each_near(self.spheres.of(number), true, |other| {
                    if radii[other] > 0.0 && other <= number {
                        return Ok(());
                    }
                    match own.against(&path(other)).nearest(radii[number] + radii[other]) {
                        Some((distance, part)) => {
                            let time = time - (1.0 - part) * step;
                            encounters.put(EncounterKind::Collision, [number, other], distance, time)
                        }
                        None => Ok(()),
                    }
                })?;
            }
        }
        Ok(encounters.is_met())
    }

    fn kick(&mut self, time: f64) {
        self.each_moving(|body, [_, lost]| {
            add(&mut body.velocity, lost, body.derivatives[0].map(|acceleration| time * acceleration));
        });
    }

    fn drift(&mut self, time: f64) {
        self.each_moving(|body, [lost, _]| {
            add(&mut body.position, lost, body.velocity.map(|velocity| time * velocity));
        });
    }

    /// Calls a function for each body, with what rounding took off it, on several threads where they
    /// are many.
    fn each_moving(&mut self, change: impl Fn(&mut Body, &mut [Vector; 2]) + Sync) {
        let jobs = self.bodies.chunks_mut(BODIES_OF_JOB).zip(self.lost.chunks_mut(BODIES_OF_JOB));
        self.threads.each(jobs, |(bodies, lost)| {
            bodies.iter_mut().zip(lost).for_each(|(body, lost)| change(body, lost));
        });
    }

    /// Begins to keep what rounding takes off. Snapshots do not have it, and a resumed run has to give
    /// the same bits, so that each interval begins anew.
    fn forget_lost(&mut self) -> Result<()> {
        self.lost.clear();
        memory::lengthen(&mut self.lost, self.bodies.len(), "bodies between meetings", || [[0.0; 3]; 2])
    }
}

/// What a device does with bodies.
const MOVING: &str = "bodies that a device moves";

/// The number of bodies that a thread takes at a time.
const BODIES_OF_JOB: usize = 1 << 12;

/// Calls a function for each body, with its number, on several threads where they are many.
fn each_of(threads: &Threads, bodies: &mut [Body], change: impl Fn(usize, &mut Body) + Sync) {
    threads.each(bodies.chunks_mut(BODIES_OF_JOB).enumerate(), |(job, bodies)| {
        let numbered = (job * BODIES_OF_JOB..).zip(bodies);
        numbered.for_each(|(number, body)| change(number, body));
    });
}

/// Gives bodies their accelerations, by gravity and by what is added to it if there is something, and
/// their step.
fn give(
    threads: &Threads,
    bodies: &mut [Body],
    step: f64,
    (acceleration, added): (impl Fn(usize) -> Vector + Sync, &[[Vector; MOST]]),
) {
    each_of(threads, bodies, |number, body| {
        let acceleration = acceleration(number);
        let [more, ..] = added.get(number).copied().unwrap_or_default();
        body.derivatives[0] = vector(|k| acceleration[k] + more[k]);
        body.step = step;
    });
}

/// Returns all bodies as sinks.
fn sinks(bodies: &[Body], softening: f64) -> impl ExactSizeIterator<Item = Sink> {
    bodies.iter().enumerate().map(move |(number, body)| body.sink(number, softening))
}

impl Integrator for Leapfrog {
    fn share_devices(&mut self, sharers: usize) {
        self.system.share_devices(sharers);
    }

    fn set_subsystems(&mut self, rules: Option<SubsystemRules>) -> Result<()> {
        match rules {
            None => Ok(()),
            Some(_) => Err(Error::BadOption {
                name: "subsystems".into(),
                value: "in order 2".into(),
                allowed: "in orders 4, 6 and 8".into(),
            }),
        }
    }

    fn advance(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>> {
        self.reached = 0.0;
        self.encounters.iter_mut().for_each(Encounters::clear);
        let (interval, wanted) = (self.plan.interval, self.plan.step);
        let steps = whole(interval, wanted).unwrap_or_else(|| (interval / wanted).ceil() as u64);
        // The given step may miss the interval by a rounding error, or be longer than what is left
        // of it, so it is computed from the number of steps.
        let step = interval / steps as f64;
        self.choose_sources()?;
        // Encounters are looked for by the host, which knows fields, laws and groups too.
        let differ = self.groups.is_some() || self.numbering.leaves_out();
        let differ = differ || !self.fields.is_empty() || !self.laws.is_empty();
        let is_of_host = self.encounters.is_some() || differ;
        if !is_of_host && self.advance_on_device(steps, step, go_on)? {
            return Ok(None);
        }
        self.forget_lost()?;
        for done in 1..=steps {
            let end = done as f64 / steps as f64 * interval;
            self.remember()?;
            self.step(step, end)?;
            let goes_on = self.count_step(done, steps, go_on)?;
            if self.meets_encounters(step, end)? || !goes_on {
                break;
            }
        }
        Ok(None)
    }

    fn reached(&self) -> f64 {
        self.reached
    }

    fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    fn bodies_mut(&mut self) -> &mut Vec<Body> {
        self.is_kept = false;
        &mut self.bodies
    }

    fn start(&mut self) -> Result<()> {
        self.choose_sources()?;
        self.accelerate(0.0, 0.0)
    }

    fn resume(&mut self, bodies: Vec<Body>, _subsystems: Vec<Subsystem>, _radius: f64) -> Result<()> {
        *self.bodies_mut() = bodies;
        Ok(())
    }

    fn set_groups(&mut self, groups: Option<Groups>) -> Result<()> {
        self.is_kept = false;
        self.groups = groups;
        Ok(())
    }

    fn set_plan(&mut self, plan: Plan) {
        // Masses on the device have the factor of gravity.
        self.is_kept = false;
        self.plan = plan;
    }

    fn watch(&mut self, encounters: Option<Encounters>) {
        self.encounters = encounters;
    }

    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    fn field_energy(&mut self, time: f64) -> Result<f64> {
        let (first, _) = self.system.place_of_bodies(self.bodies.len());
        let own = self.fields.energy(&self.bodies, time);
        let own = own.map_err(|error| error.with_bodies(|place| first as i64 + place))?;
        Ok(sum(self.system.of_ranks([own])?.into_iter().map(|[of_rank]| of_rank)))
    }

    fn laws(&self) -> &Laws {
        &self.laws
    }

    fn laws_mut(&mut self) -> &mut Laws {
        &mut self.laws
    }

    fn law_energy(&mut self, time: f64) -> Result<f64> {
        self.laws.energy(&self.bodies, time)
    }

    fn law_forces(&mut self, places: &[usize], time: f64) -> Result<Vec<(f64, Vector)>> {
        self.laws.forces(&self.bodies, places, time)
    }

    fn encounters(&self) -> &[Encounter] {
        self.encounters.as_ref().map_or(&[], Encounters::found)
    }

    fn tree_errors(&mut self, samples: usize) -> Result<Option<TreeErrors>> {
        if self.plan.tree.is_none() || self.groups.is_some() {
            return Ok(None);
        }
        let before = self.system.statistics().interactions;
        let all = memory::collected(sinks(&self.bodies, self.plan.softening), "sinks")?;
        // The sources are where the last accelerations were computed, as the bodies are.
        let errors = self.system.alone("a tree")?.tree_errors(self.bodies.len(), true, &all, samples)?;
        self.left_out += self.system.statistics().interactions - before;
        Ok(Some(errors))
    }

    fn counts(&self) -> Counts {
        let all = self.system.statistics().interactions + self.group_sums.interactions();
        Counts { interactions: all - self.left_out, ..self.counts }
    }
}

#[cfg(test)]
mod rank_tests;

#[cfg(test)]
mod tests {
    use crate::body::length;
    use crate::plan::StepCriterion;
    use kyoho_core::{Order, Precision};
    use kyoho_engine::{Setup, System};

    use super::*;

    fn integrator(step: f64) -> Leapfrog {
        let plan = Plan {
            order: Order::Second,
            precision: Precision::Double,
            gravity: 1.0,
            softening: 0.0,
            eta: 0.0,
            criterion: StepCriterion::Usual,
            eta4: 0.0,
            step,
            longest: step,
            shortest: step,
            interval: 1.0,
            tree: None,
        };
        let setup = Setup::on_cpu(plan.order, plan.precision);
        let body = |side: f64| Body::new(0.5, [0.5 * side, 0.0, 0.0], [0.0, 0.5 * side, 0.0]);
        let bodies = vec![body(1.0), body(-1.0)];
        Leapfrog::new(System::new(&setup).unwrap(), plan, (bodies, Fields::default())).unwrap()
    }

    #[test]
    fn half_the_step_has_a_quarter_of_the_error() {
        let error = |step: f64| {
            let mut leapfrog = integrator(step);
            leapfrog.advance(&mut |_, _| Ok(true)).unwrap();
            let position = leapfrog.bodies()[0].position;
            length(&[position[0] - 0.5 * 1f64.cos(), position[1] - 0.5 * 1f64.sin(), position[2]])
        };
        let ratio = error(1.0 / 64.0) / error(1.0 / 128.0);
        assert!((ratio - 4.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn bodies_move_by_less_than_their_last_digit_in_each_step() {
        let mut leapfrog = integrator(1.0);
        const STEPS: f64 = 16384.0;
        leapfrog.set_plan(Plan { interval: STEPS, ..leapfrog.plan.clone() });
        // Without masses nothing acts on them.
        let body = |side: f64| Body::new(0.0, [side * 1e9, side, 0.0], [1e-8, 0.0, 1e-8]);
        *leapfrog.bodies_mut() = vec![body(1.0), body(-1.0)];
        leapfrog.start().unwrap();
        // Half of the way, and the rest.
        leapfrog.advance(&mut |fraction, _| Ok(fraction < 0.5)).unwrap();
        assert_eq!(leapfrog.reached(), 0.5);
        leapfrog.set_plan(Plan { interval: STEPS / 2.0, ..leapfrog.plan.clone() });
        leapfrog.advance(&mut |_, _| Ok(true)).unwrap();
        let digit = 1e9f64.next_up() - 1e9;
        for (body, side) in leapfrog.bodies().iter().zip([1e9, -1e9]) {
            let moved = body.position[0] - side;
            assert!((moved - 1e-8 * STEPS).abs() <= 1.5 * digit, "{moved}");
            assert!((body.position[2] / (1e-8 * STEPS) - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn bodies_without_mass_are_no_sources_even_where_none_has_a_mass() {
        let pairs = |masses: [f64; 4]| {
            let mut leapfrog = integrator(0.25);
            let body = |(number, mass): (usize, f64)| Body::new(mass, [number as f64, 0.0, 0.0], [0.0, 1.0, 0.0]);
            *leapfrog.bodies_mut() = masses.into_iter().enumerate().map(body).collect();
            leapfrog.start().unwrap();
            let before = leapfrog.counts().interactions;
            leapfrog.advance(&mut |_, _| Ok(true)).unwrap();
            if masses == [0.0; 4] {
                assert!(leapfrog.bodies().iter().all(|body| body.position[1] == 1.0 && body.step > 0.0));
            }
            leapfrog.counts().interactions - before
        };
        // Where more than half have a mass, all are sources.
        assert_eq!(pairs([1.0, 1.0, 1.0, 0.0]), 4 * 16);
        assert_eq!(pairs([1.0, 0.0, 0.0, 1.0]), 4 * 8);
        assert_eq!(pairs([0.0, 0.0, 1.0, 0.0]), 4 * 4);
        assert_eq!(pairs([0.0; 4]), 0);
    }

    #[test]
    fn a_step_that_is_no_binary_fraction_still_ends_with_the_interval() {
        let mut leapfrog = integrator(0.1);
        leapfrog.advance(&mut |_, _| Ok(true)).unwrap();
        assert_eq!(leapfrog.counts().block_steps, 10);
        assert_eq!(leapfrog.counts().interactions, 11 * 4);
    }
}
