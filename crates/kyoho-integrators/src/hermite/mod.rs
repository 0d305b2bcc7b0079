//! The Hermite schemes with block time steps (Makino & Aarseth 1992, PASJ 44, 141; Nitadori &
//! Makino 2008).
//!
//! Times are fractions of the interval at whose end all bodies meet, and steps are powers of two of
//! it. So sums of them are exact, no step crosses a meeting, and the times that the library sees
//! begin at zero in each interval.

mod advance;
mod block;
mod collisions;
mod criterion;
mod grouped;
mod kept;
mod on_device;
mod passages;
mod schedule;
mod scheme;
mod sources;
mod start;
mod subsystems;

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_ranks::SharedSystem;

use super::body::{Body, Vector};
use super::encounters::{Encounter, Encounters};
use super::fields::Fields;
use super::groups::Groups;
use super::laws::Laws;
use super::numbering::Numbering;
use super::plan::Plan;
use super::subsystems::{Subsystem, SubsystemRules};
use super::{Approach, Counts, EnergyJump, GoOn, Integrator};

use block::{FAR, Moving, OF_JOB};
use collisions::Collisions;
use criterion::Criterion;
use grouped::{GroupSystems, Grouped};
use passages::Passages;
use schedule::Schedule;
use subsystems::Subsystems;

pub use scheme::{MOST, Scheme};

const WHAT: &str = "the bodies of a block";

/// The Hermite integrator.
pub struct Hermite {
    system: SharedSystem,
    plan: Plan,
    scheme: &'static Scheme,
    criterion: Criterion,
    /// The bodies at the last meeting.
    bodies: Vec<Body>,
    /// The bodies between meetings, by their numbers.
    moving: Vec<Moving>,
    numbering: Numbering,
    /// The groups of bodies, and their systems in place of the one of all.
    grouped: Grouped,
    group_systems: GroupSystems,
    schedule: Schedule,
    /// The bodies of the block, ascending.
    members: Vec<usize>,
    /// The times when they are due next.
    due: Vec<f64>,
    /// The steps that they may make next, whatever the times of others.
    wanted: Vec<f64>,
    /// Threads that advance them.
    threads: Threads,
    /// The bodies as a device has them, while it makes steps.
    rows: Vec<f64>,
    approach: Option<Approach>,
    passages: Passages,
    energy_jump: Option<EnergyJump>,
    encounters: Option<Encounters>,
    collisions: Collisions,
    fields: Fields,
    laws: Laws,
    /// Close bodies that move together, if they do.
    subsystems: Option<Subsystems>,
    reached: f64,
    counts: Counts,
    /// The block steps that a device made.
    of_device: u64,
}

impl Hermite {
    /// Makes an integrator of these bodies. Those without a step get their first forces and steps.
    pub fn new(
        system: impl Into<SharedSystem>,
        plan: Plan,
        scheme: &'static Scheme,
        (bodies, fields): (Vec<Body>, Fields),
    ) -> Result<Hermite> {
        let system = system.into();
        let mut hermite = Hermite {
            threads: Threads::alone(),
            rows: Vec::new(),
            criterion: Criterion::new(&plan),
            laws: Laws::new(plan.gravity, system.setup()),
            system,
            plan,
            scheme,
            bodies,
            moving: Vec::new(),
            numbering: Numbering::default(),
            grouped: Grouped::default(),
            group_systems: GroupSystems::default(),
            schedule: Schedule::default(),
            members: Vec::new(),
            due: Vec::new(),
            wanted: Vec::new(),
            approach: None,
            passages: Passages::default(),
            energy_jump: None,
            encounters: None,
            collisions: Collisions::default(),
            fields,
            subsystems: None,
            reached: 0.0,
            counts: Counts::default(),
            of_device: 0,
        };
        hermite.make_room()?;
        if hermite.bodies.iter().any(|body| body.step <= 0.0) {
            hermite.start()?;
        }
        Ok(hermite)
    }

    /// Makes room for all bodies between meetings.
    fn make_room(&mut self) -> Result<()> {
        let n = self.bodies.len();
        self.threads = if n < FAR { Threads::alone() } else { Threads::for_copies(self.system.setup().threads) };
        self.moving.clear();
        self.members.clear();
        // Other bodies may be at their places.
        self.passages.clear();
        memory::reserve(&mut self.moving, n, "bodies between meetings")?;
        memory::reserve(&mut self.members, n, WHAT)
    }

    /// Numbers the bodies anew. Who looks for approaches finds bodies without mass too.
    fn number(&mut self) -> Result<()> {
        let new = Numbering::of(
            &self.bodies,
            self.encounters.as_ref().is_some_and(|encounters| encounters.approach() > 0.0),
        )?;
        if new != self.numbering {
            self.passages.clear();
            self.numbering = new;
        }
        self.grouped.number(&self.numbering, self.bodies.len())
    }

    /// Puts all bodies, where they are, between meetings. Steps are those of the bodies, or 0.
    fn set_out(&mut self) {
        let (bodies, numbering) = (&self.bodies, &self.numbering);
        self.moving.resize(bodies.len(), Moving::default());
        self.threads.each(self.moving.chunks_mut(OF_JOB).enumerate(), |(job, moving)| {
            for (number, moving) in (job * OF_JOB..).zip(moving) {
                *moving = Moving { lost: [[0.0; 3]; 2], body: bodies[numbering.place(number)] };
            }
        });
        let Some(subsystems) = &self.subsystems else { return };
        for subsystem in subsystems.all().0 {
            for &member in &subsystem.members {
                self.moving[member].body = Body { mass: 0.0, ..subsystem.centre };
            }
            self.moving[subsystem.members[0]].body = subsystem.centre;
        }
    }

    /// Whether a number is that of a body that the centre of its subsystem stands for.
    fn is_hidden(&self, number: usize) -> bool {
        hidden(self.subsystems.as_ref(), number)
    }

    /// Brings bodies back from between meetings, at one time.
    fn come_back(&mut self) {
        let (moving, numbering) = (&self.moving, &self.numbering);
        self.threads.each(self.bodies.chunks_mut(OF_JOB).enumerate(), |(job, bodies)| {
            for (place, body) in (job * OF_JOB..).zip(bodies) {
                *body = moving[numbering.number(place)].body;
            }
        });
        let Some(subsystems) = &mut self.subsystems else { return };
        subsystems.follow_all(&self.moving);
        for subsystem in subsystems.all().0 {
            for (row, &member) in subsystem.members.iter().enumerate() {
                self.bodies[self.numbering.place(member)] = subsystem.body(row);
            }
        }
        self.name_members(|numbering, number| numbering.place(number));
    }

    /// Does something after whose failure subsystems are as before, with the digits of their motion.
    fn or_subsystems_as_before<T>(&mut self, act: impl FnOnce(&mut Hermite) -> Result<T>) -> Result<T> {
        let Some(subsystems) = &self.subsystems else { return act(self) };
        let (before, radius) = (subsystems.copied()?, subsystems.all().1);
        let outcome = act(self);
        if let (Err(_), Some(subsystems)) = (&outcome, &mut self.subsystems) {
            subsystems.set(before, radius);
        }
        outcome
    }

    /// Gives members of subsystems their numbers in place of places, or the other way.
    fn name_members(&mut self, name: impl Fn(&Numbering, usize) -> usize) {
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.rename(|member| name(&self.numbering, member));
        }
    }
}

/// Whether a number is that of a body that the centre of its subsystem stands for.
fn hidden(subsystems: Option<&Subsystems>, number: usize) -> bool {
    subsystems.is_some_and(|subsystems| subsystems.is_hidden(number))
}

impl Integrator for Hermite {
    fn advance(&mut self, go_on: &mut GoOn) -> Result<Option<Approach>> {
        self.reached = 0.0;
        self.or_subsystems_as_before(|hermite| hermite.advance_all(go_on))
    }

    fn reached(&self) -> f64 {
        self.reached
    }

    fn bodies(&self) -> &[Body] {
        &self.bodies
    }

    fn bodies_mut(&mut self) -> &mut Vec<Body> {
        &mut self.bodies
    }

    fn start(&mut self) -> Result<()> {
        self.or_subsystems_as_before(Hermite::start_all)
    }

    fn set_subsystems(&mut self, rules: Option<SubsystemRules>) -> Result<()> {
        if rules.is_some() && self.plan.softening > 0.0 {
            return Err(Error::BadOption {
                name: "softening".into(),
                value: shown(self.plan.softening),
                allowed: "0 with subsystems, whose bodies pull one another without".into(),
            });
        }
        self.subsystems = rules.map(Subsystems::new);
        Ok(())
    }

    fn has_subsystems(&self) -> bool {
        self.subsystems.is_some()
    }

    fn subsystems(&self) -> (&[Subsystem], f64) {
        self.subsystems.as_ref().map_or((&[], 0.0), Subsystems::all)
    }

    fn keep_subsystems(&mut self, places: &[Option<usize>]) {
        if let Some(subsystems) = &mut self.subsystems {
            subsystems.keep(places);
        }
    }

    fn resume(&mut self, bodies: Vec<Body>, subsystems: Vec<Subsystem>, radius: f64) -> Result<()> {
        let before = std::mem::replace(&mut self.bodies, bodies);
        self.make_room().inspect_err(|_| self.bodies = before)?;
        if let Some(own) = &mut self.subsystems {
            own.set(subsystems, radius);
        }
        Ok(())
    }

    fn set_groups(&mut self, groups: Option<Groups>) -> Result<()> {
        if let Some(groups) = &groups {
            self.group_systems.make(groups, &self.system)?;
        }
        self.grouped.set(groups);
        self.passages.clear();
        Ok(())
    }

    fn set_plan(&mut self, plan: Plan) {
        self.criterion = Criterion::new(&plan);
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
        self.fields.energy(&self.bodies, time)
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

    fn energy_jump(&self) -> Option<EnergyJump> {
        self.energy_jump.map(|jump| EnergyJump { bodies: self.numbering.pair(jump.bodies), ..jump })
    }

    fn share_devices(&mut self, sharers: usize) {
        self.system.share_devices(sharers);
        self.group_systems.share_devices(sharers);
    }

    fn block_steps_of_device(&self) -> u64 {
        self.of_device
    }

    fn counts(&self) -> Counts {
        let interactions = self.system.statistics().interactions + self.group_systems.interactions();
        Counts { interactions, ..self.counts }
    }
}

#[cfg(test)]
mod tests;
