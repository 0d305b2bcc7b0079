//! Bodies with identifiers that come, go and change between the times to which they evolve.

mod forces;
mod over_ranks;
mod state;

use std::collections::HashMap;

use kyoho_core::error::shown;
use kyoho_core::{Error, Order, Result, TreeAccuracy, memory};
use kyoho_engine::{Setup, System};
use kyoho_few_body::Binary;
use kyoho_ranks::{SharedSystem, Team};

pub use over_ranks::Progress;

use super::body::{Body, Vector};
use super::encounters::{Encounter, Encounters};
use super::energy::{Energies, Energy, NearestBodies};
use super::fields::{Centre, Field, FieldFunction, Fields, Parameters};
use super::groups::Groups;
use super::plan::{ETA4, Plan, SHORTEST, SHORTEST_INTERVAL, StepCriterion, usual_eta};
use super::subsystems::Subsystem;
use super::{Approach, Counts, EnergyJump, Integrator};

/// The choices of an integration. Zeros leave them open.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Choices {
    /// The softening length.
    pub softening: f64,
    /// The gravitational constant; without it 1.
    pub gravity: f64,
    /// The criterion of the time steps.
    pub criterion: StepCriterion,
    /// The accuracy parameter of the time steps; without it the usual one of the order.
    pub eta: f64,
    /// The longest step; without it steps have no limit. Order 2 needs it: it is the shared step.
    pub dt_max: f64,
    /// The shortest step.
    pub dt_min: f64,
    /// The time at the start.
    pub time: f64,
    /// The distance within which two bodies have an approach that ends an evolution; without it
    /// none does.
    pub approach_distance: f64,
    /// The distance within which bodies form subsystems that move by regularised motion; infinity stands
    /// for one that is chosen when the cluster starts. Without it there are none.
    pub subsystem_radius: f64,
}

/// The numbers of a body that are given or changed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Change {
    /// The mass.
    pub mass: Option<f64>,
    /// The position.
    pub position: Option<Vector>,
    /// The velocity.
    pub velocity: Option<Vector>,
    /// The radius, for collisions.
    pub radius: Option<f64>,
    /// The group.
    pub group: Option<i32>,
    /// The softening length: the body goes to a group that has it, which feels all and all feel.
    pub softening: Option<f64>,
}

/// The reason why an evolution ended.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvolutionEnd {
    /// The bodies have reached the time.
    Time = 0,
    /// Some bodies encounter each other.
    Encounter = 1,
    /// As many block steps were made as were allowed.
    BlockSteps = 2,
    /// The caller refused to go on.
    Caller = 3,
}

/// An evolution that has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evolution {
    /// The reason.
    pub end: EvolutionEnd,
    /// The number of block steps.
    pub block_steps: u64,
    /// The closest approach of two bodies, by their places, with its time. Order 2 finds none.
    pub approach: Option<Approach>,
}

/// Bodies with identifiers, all at one time, and the integrator that advances them.
pub struct Cluster {
    /// The ranks that advance it together, if they do.
    team: Option<Team>,
    setup: Setup,
    choices: Choices,
    integrator: Box<dyn Integrator + Send>,
    energies: Option<Energies>,
    nearest_bodies: Option<NearestBodies>,
    tree: Option<TreeAccuracy>,
    time: f64,
    identifiers: Vec<i64>,
    radii: Vec<f64>,
    groups: Groups,
    /// Whether groups, or the bodies of these, have changed since the integrator was told.
    has_other_groups: bool,
    /// The place of each identifier.
    places: HashMap<i64, usize>,
    /// Whether bodies have changed since the integrator computed their forces.
    is_changed: bool,
    /// Whether radii have, or the bodies that have one.
    has_other_radii: bool,
    /// The encounters that ended the last evolution, if no bodies were given since.
    encounters: Vec<Encounter>,
    /// The last close passage that changed an energy, of bodies by their identifiers.
    energy_jump: Option<([i64; 2], EnergyJump)>,
}

const BODIES: &str = "bodies";

impl Cluster {
    /// Makes a cluster without bodies on a system without sources, of full forces.
    pub fn new(system: System, choices: Choices) -> Result<Cluster> {
        Cluster::on(system.into(), choices)
    }

    fn on(system: SharedSystem, choices: Choices) -> Result<Cluster> {
        let (setup, tree) = (system.setup().clone(), system.tree());
        choices.check(setup.order)?;
        let plan = choices.plan(&setup, tree, (1.0, choices.softening))?;
        let fields = Fields::new(choices.gravity(), setup.threads);
        let mut integrator = super::in_fields(system, &plan, Vec::new(), fields)?;
        integrator.set_subsystems(choices.subsystems())?;
        Ok(Cluster {
            team: None,
            setup,
            choices,
            integrator,
            energies: None,
            nearest_bodies: None,
            tree,
            time: choices.time,
            identifiers: Vec::new(),
            radii: Vec::new(),
            groups: Groups::one(choices.softening),
            has_other_groups: false,
            places: HashMap::new(),
            is_changed: false,
            has_other_radii: true,
            encounters: Vec::new(),
            energy_jump: None,
        })
    }

    /// Returns the time of the bodies.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns the identifiers of the bodies, in the order in which they were added.
    pub fn identifiers(&self) -> &[i64] {
        &self.identifiers
    }

    /// Returns the bodies, in the order of the identifiers.
    pub fn bodies(&self) -> &[Body] {
        self.integrator.bodies()
    }

    /// Returns their radii.
    pub fn radii(&self) -> &[f64] {
        &self.radii
    }

    /// Returns the counts of the work so far.
    pub fn counts(&self) -> Counts {
        self.integrator.counts()
    }

    /// Returns the place of a body among all.
    pub fn place(&self, identifier: i64) -> Result<usize> {
        self.places.get(&identifier).copied().ok_or_else(|| Error::BadOption {
            name: "the identifier".into(),
            value: identifier.to_string(),
            allowed: "that of a body of the integrator".into(),
        })
    }

    /// Adds bodies, none of them if one is wrong. Masses and positions are required.
    pub fn add(&mut self, bodies: &[(i64, Change)]) -> Result<()> {
        let (before, more) = (self.identifiers.len(), bodies.len());
        if before + more > i32::MAX as usize {
            let allowed = format!("up to {}", i32::MAX);
            return Err(Error::BadCount { what: "the number of bodies", value: (before + more) as i64, allowed });
        }
        bodies.iter().try_for_each(|(identifier, change)| change.check(*identifier, &self.groups))?;
        self.places.try_reserve(more).map_err(|_| memory::none::<(i64, usize)>(before + more, BODIES))?;
        memory::reserve(&mut self.identifiers, more, BODIES)?;
        memory::reserve(&mut self.radii, more, BODIES)?;
        self.groups.reserve(more)?;
        let (table, groups) = self.groups_of(bodies)?;
        memory::reserve(self.integrator.bodies_mut(), more, BODIES)?;
        for (number, (identifier, _)) in bodies.iter().enumerate() {
            if self.places.contains_key(identifier) {
                for (added, _) in &bodies[..number] {
                    self.places.remove(added);
                }
                return Err(Error::BadOption {
                    name: format!("the identifier of body {number} to be added"),
                    value: identifier.to_string(),
                    allowed: "one that no other body has".into(),
                });
            }
            self.places.insert(*identifier, before + number);
        }
        self.groups.take(table);
        for ((identifier, Change { mass, position, velocity, radius, .. }), group) in bodies.iter().zip(groups) {
            let numbers = (mass.unwrap_or(0.0), position.unwrap_or_default(), velocity.unwrap_or_default());
            self.integrator.bodies_mut().push(Body::new(numbers.0, numbers.1, numbers.2));
            self.identifiers.push(*identifier);
            self.radii.push(radius.unwrap_or(0.0));
            self.groups.push(group.unwrap_or(0));
        }
        if more > 0 {
            (self.is_changed, self.has_other_radii, self.has_other_groups) = (true, true, true);
            self.encounters.clear();
        }
        Ok(())
    }

    /// Changes bodies, none of them if one is wrong. Where masses or velocities were changed, the next
    /// evolution begins with new forces of all bodies; those whose forces are nearly as before keep
    /// their steps. A body at another place begins with a first step.
    pub fn change(&mut self, changes: &[(i64, Change)]) -> Result<()> {
        for (identifier, change) in changes {
            self.place(*identifier)?;
            change.check(*identifier, &self.groups)?;
        }
        let (table, groups) = self.groups_of(changes)?;
        self.groups.take(table);
        for ((identifier, Change { mass, position, velocity, radius, .. }), group) in changes.iter().zip(groups) {
            let place = self.places[identifier];
            if let Some(group) = group.filter(|group| *group != self.groups.of(place)) {
                self.groups.set(place, group);
                (self.is_changed, self.has_other_groups) = (true, true);
            }
            let body = &mut self.integrator.bodies_mut()[place];
            let before = *body;
            body.mass = mass.unwrap_or(body.mass);
            body.position = position.unwrap_or(body.position);
            body.velocity = velocity.unwrap_or(body.velocity);
            if body.position != before.position {
                // What it has of another place says nothing of its next step.
                *body = Body::new(body.mass, body.position, body.velocity);
            }
            self.is_changed |= *body != before;
            self.encounters.clear();
            if let Some(radius) = radius {
                self.radii[place] = *radius;
                self.has_other_radii = true;
            }
        }
        Ok(())
    }

    /// Removes bodies, none of them if one is not there.
    pub fn remove(&mut self, identifiers: &[i64]) -> Result<()> {
        identifiers.iter().try_for_each(|identifier| self.place(*identifier).map(drop))?;
        // Nothing is changed before there is the memory for it.
        let mut stay = memory::room(self.identifiers.len(), BODIES)?;
        for identifier in identifiers {
            self.places.remove(identifier);
        }
        if self.places.len() == self.identifiers.len() {
            return Ok(());
        }
        stay.extend(self.identifiers.iter().map(|identifier| self.places.contains_key(identifier)));
        keep(self.integrator.bodies_mut(), &stay);
        self.integrator.keep_subsystems(&stay);
        keep(&mut self.radii, &stay);
        keep(self.groups.of_bodies_mut(), &stay);
        keep(&mut self.identifiers, &stay);
        for (place, identifier) in self.identifiers.iter().enumerate() {
            self.places.insert(*identifier, place);
        }
        (self.is_changed, self.has_other_radii, self.has_other_groups) = (true, true, true);
        self.encounters.clear();
        Ok(())
    }

    /// Returns the groups and which one each body belongs to.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Adds a group of this softening length, which feels all groups and that all feel, and returns its
    /// number.
    pub fn add_group(&mut self, softening: f64) -> Result<usize> {
        let mut groups = self.groups.without_bodies();
        let group = groups.add(softening)?;
        self.require_plain_groups(&groups)?;
        self.groups.take(groups);
        self.has_other_groups = true;
        Ok(group)
    }

    /// Lets the bodies of a group feel those of another one, or of the same, or not. The next evolution
    /// begins with new forces of all bodies.
    pub fn set_feels(&mut self, group: i64, other: i64, feels: bool) -> Result<()> {
        let [group, other] = [self.groups.check("the group", group)?, self.groups.check("the other group", other)?];
        let mut groups = self.groups.without_bodies();
        groups.set_feels(group, other, feels);
        self.require_plain_groups(&groups)?;
        if groups.feels(group, other) != self.groups.feels(group, other) {
            self.groups.take(groups);
            (self.is_changed, self.has_other_groups) = (true, true);
        }
        Ok(())
    }

    /// Returns the groups as they are with those that changes make, and the group that each wants.
    fn groups_of(&self, changes: &[(i64, Change)]) -> Result<(Groups, Vec<Option<usize>>)> {
        let mut groups = self.groups.without_bodies();
        let mut wanted = memory::room(changes.len(), BODIES)?;
        for (_, Change { group, softening, .. }) in changes {
            wanted.push(match softening {
                Some(softening) => Some(match groups.with_softening(*softening) {
                    Some(group) => group,
                    None => groups.add(*softening)?,
                }),
                None => group.and_then(|group| usize::try_from(group).ok()),
            });
        }
        self.require_plain_groups(&groups)?;
        Ok((groups, wanted))
    }

    /// Fails for groups that subsystems do not know.
    fn require_plain_groups(&self, groups: &Groups) -> Result<()> {
        if self.choices.subsystems().is_none() || (groups.count() == 1 && groups.feels(0, 0)) {
            return Ok(());
        }
        Err(Error::BadOption {
            name: "the number of groups with subsystems".into(),
            value: groups.count().to_string(),
            allowed: "1, which feels itself: bodies of subsystems pull one another, without softening".into(),
        })
    }

    /// Adds a field that acts on all bodies, from now on: one that has a built-in name, or that is a
    /// text. It needs the numbers of each of its parameters. The next evolution begins with new forces of
    /// all bodies. After an error there are the fields that there were.
    pub fn add_field(&mut self, field: &str, parameters: &Parameters) -> Result<()> {
        self.add_made_field(Field::new(field, parameters, self.setup.order, self.setup.level)?)
    }

    /// Adds a field as [`Cluster::add_field`] does, whose centre moves.
    pub fn add_moving_field(&mut self, field: &str, parameters: &Parameters, centre: Centre) -> Result<()> {
        let field = Field::new(field, parameters, self.setup.order, self.setup.level)?;
        self.add_made_field(field.with_centre(Some(centre)))
    }

    /// Adds a field as [`Cluster::add_field`] does, from the names of parameters, with spaces between
    /// them, and the numbers of all of these, one after another.
    pub fn add_listed_field(
        &mut self,
        field: &str,
        names: &str,
        numbers: &[f64],
        centre: Option<Centre>,
    ) -> Result<()> {
        let field = Field::listed(field, names, numbers, self.setup.order, self.setup.level)?;
        self.add_made_field(field.with_centre(centre))
    }

    /// Adds a field that a function gives, in order 2 its accelerations, in order 4 jerks too. A state
    /// cannot have it.
    pub fn add_field_function(&mut self, function: FieldFunction, has_potential: bool) -> Result<()> {
        let order = self.setup.order;
        if order > Order::Fourth {
            return Err(Error::BadOption {
                name: "the order of an integrator with a field that is a function".into(),
                value: (order as i32).to_string(),
                allowed: "2 and 4, which need no derivatives beyond the jerk".into(),
            });
        }
        self.integrator.fields_mut().add_function(function, has_potential)?;
        self.is_changed = true;
        Ok(())
    }

    fn add_made_field(&mut self, field: Field) -> Result<()> {
        self.integrator.fields_mut().add(field)?;
        self.is_changed = true;
        Ok(())
    }

    /// Returns the fields that are no functions, in the order in which they were added.
    pub fn fields(&self) -> &[Field] {
        self.integrator.fields().all()
    }

    /// Advances all bodies to a time, or until bodies encounter each other, `block_steps` block
    /// steps were made, or `go_on` refuses, which is given the time and the number of block steps.
    /// Whatever the reason, all bodies are at one time then. After an error they are where they
    /// were, or at the end of a shared step.
    pub fn evolve(
        &mut self,
        to: f64,
        block_steps: Option<u64>,
        go_on: &mut dyn FnMut(f64, u64) -> bool,
    ) -> Result<Evolution> {
        self.evolve_if(to, block_steps, Some(go_on))
    }

    fn evolve_here(
        &mut self,
        to: f64,
        block_steps: Option<u64>,
        go_on: &mut dyn FnMut(f64, u64) -> bool,
    ) -> Result<Evolution> {
        if !to.is_finite() {
            return Err(Error::NotFinite { what: "the time to evolve to".into(), value: to });
        }
        let (start, interval) = (self.time, to - self.time);
        self.encounters.clear();
        if interval < 0.0 || interval > 0.0 && interval < SHORTEST_INTERVAL {
            return Err(Error::BadOption {
                name: "the time to evolve to".into(),
                value: shown(to),
                allowed: format!("from {} on, the time of the bodies", shown(start)),
            });
        }
        if interval == 0.0 || self.identifiers.is_empty() {
            self.time = to;
            return Ok(Evolution { end: EvolutionEnd::Time, block_steps: 0, approach: None });
        }
        for time in [start, to] {
            self.fields().iter().try_for_each(|field| field.check_time(time))?;
        }
        self.integrator.fields_mut().start = start;
        let softening = self.groups.as_one();
        let of_plan = softening.unwrap_or(self.choices.softening);
        self.integrator.set_plan(self.choices.plan(&self.setup, self.tree, (interval, of_plan))?);
        if self.has_other_groups {
            self.integrator.set_groups(if softening.is_some() { None } else { Some(self.groups.copied()?) })?;
            self.has_other_groups = false;
        }
        if self.has_other_radii {
            let radii = memory::collected(self.radii.iter().copied(), BODIES)?;
            self.integrator.watch(Encounters::new(self.choices.approach_distance, radii));
            self.has_other_radii = false;
        }
        if self.is_changed {
            self.integrator.start().map_err(|error| self.named(error))?;
            self.is_changed = false;
        }
        let Counts { block_steps: before, energy_jumps, .. } = self.integrator.counts();
        let mut end = EvolutionEnd::Time;
        let mut goes_on = |fraction: f64, all: u64| {
            let made = all - before;
            let refuses = !go_on(start + fraction * interval, made);
            if refuses && fraction < 1.0 {
                end = EvolutionEnd::Caller;
            } else if block_steps.is_some_and(|most| made >= most) && fraction < 1.0 {
                end = EvolutionEnd::BlockSteps;
            }
            end == EvolutionEnd::Time
        };
        let outcome = self.integrator.advance(&mut goes_on);
        let reached = self.integrator.reached();
        self.time = if reached == 1.0 { to } else { start + reached * interval };
        self.note_energy_jump(start, energy_jumps);
        let approach = outcome
            .map_err(|error| self.named(error))?
            .map(|approach| Approach { time: start + approach.time, ..approach });
        let met = self.integrator.encounters().iter();
        let met = met.map(|encounter| Encounter { time: start + encounter.time, ..*encounter });
        self.encounters = memory::collected(met, "encounters")?;
        if !self.encounters.is_empty() {
            end = EvolutionEnd::Encounter;
        }
        Ok(Evolution { end, block_steps: self.integrator.counts().block_steps - before, approach })
    }

    /// Keeps the last energy jump of an evolution that began at a time, and says so in the log: after
    /// the first one and whenever their number has doubled.
    fn note_energy_jump(&mut self, start: f64, before: u64) {
        let all = self.integrator.counts().energy_jumps;
        let Some(jump) = self.integrator.energy_jump().filter(|_| all > before) else { return };
        let jump = EnergyJump { time: start + jump.time, ..jump };
        let identifiers = jump.bodies.map(|place| self.identifiers[place]);
        self.energy_jump = Some((identifiers, jump));
        if all.ilog2() > before.checked_ilog2().unwrap_or(0) || before == 0 {
            log::warn!("{}", jump.text(all, identifiers));
        }
    }

    /// Returns the last close passage of two bodies that changed an energy, with the identifiers that
    /// they had then. [`Counts::energy_jumps`] counts them.
    pub fn energy_jump(&self) -> Option<([i64; 2], EnergyJump)> {
        self.energy_jump
    }

    /// Returns the encounters that ended the last evolution, of bodies by their places. There are
    /// none any more once bodies were added, changed or removed.
    pub fn encounters(&self) -> &[Encounter] {
        &self.encounters
    }

    /// Returns the energies of the bodies.
    pub fn energies(&mut self) -> Result<Energy> {
        self.together([], |cluster| {
            let subsystems = cluster.subsystems_now()?;
            let Self { energies, integrator, groups, team, .. } = cluster;
            let energies = made(energies, (&cluster.setup, team.as_ref()), &cluster.choices, cluster.tree)?;
            let energy = match groups.as_one() {
                Some(softening) => {
                    energies.set_softening(softening);
                    energies.with_subsystems(integrator.bodies(), &subsystems)?
                }
                None => energies.of_groups(integrator.bodies(), groups)?,
            };
            Ok(Energy { field: cluster.field_energy()?, ..energy })
        })
    }

    /// Returns the subsystems, of bodies by their places, and the distance at which they form.
    pub fn subsystems(&self) -> (&[Subsystem], f64) {
        self.integrator.subsystems()
    }

    /// Returns the subsystems of which no body was moved by a change, with the masses of now.
    fn subsystems_now(&self) -> Result<Vec<Subsystem>> {
        const WHAT: &str = "the subsystems of a cluster";
        let (all, bodies) = (self.integrator.subsystems().0, self.integrator.bodies());
        let mut now = memory::room(all.len(), WHAT)?;
        for subsystem in all {
            let has_mass = subsystem.members.iter().any(|place| bodies[*place].mass > 0.0);
            if has_mass && subsystem.is_of(&subsystem.members, |place| bodies[place]) {
                memory::push(&mut now, subsystem.with_masses(|place| bodies[place].mass)?, WHAT)?;
            }
        }
        Ok(now)
    }

    /// Returns the bound pairs of the subsystems, and pairs of pairs, innermost first, of bodies by their
    /// places.
    pub fn binaries(&self) -> Result<Vec<Binary>> {
        let mut all = Vec::new();
        for subsystem in self.subsystems_now()? {
            for mut binary in subsystem.binaries(self.choices.gravity())? {
                binary.members.iter_mut().flatten().for_each(|row| *row = subsystem.members[*row]);
                memory::push(&mut all, binary, "the binaries of a cluster")?;
            }
        }
        Ok(all)
    }

    /// Returns the potential energy of the bodies in the fields.
    pub fn field_energy(&mut self) -> Result<f64> {
        self.integrator.field_energy(self.time).map_err(|error| self.named(error))
    }

    /// Returns an error that names bodies by their identifiers.
    fn named(&self, error: Error) -> Error {
        match error {
            Error::SamePlace { bodies } => {
                Error::SamePlace { bodies: bodies.map(|place| self.identifiers[place as usize]) }
            }
            Error::FieldNotFinite { what, body, field, value } => {
                Error::FieldNotFinite { what, body: self.identifiers[body as usize], field, value }
            }
            other => other,
        }
    }
}

/// Returns what computes energies and forces, which is made at the first call.
fn made<'a>(
    energies: &'a mut Option<Energies>,
    (setup, team): (&Setup, Option<&Team>),
    choices: &Choices,
    tree: Option<TreeAccuracy>,
) -> Result<&'a mut Energies> {
    if energies.is_none() {
        *energies = Some(Energies::new(setup, choices.gravity(), choices.softening)?.over(team)?.by_tree(tree)?);
    }
    energies.as_mut().ok_or_else(|| Error::Internal { what: "energies were not made".into() })
}

/// Keeps the items that stay.
fn keep<T>(items: &mut Vec<T>, stay: &[bool]) {
    let mut stay = stay.iter();
    items.retain(|_| stay.next().is_none_or(|stays| *stays));
}

impl Choices {
    /// Returns the distance at which subsystems form, 0 for one that is chosen, or nothing.
    fn subsystems(&self) -> Option<f64> {
        let radius = self.subsystem_radius;
        (radius > 0.0).then_some(if radius.is_infinite() { 0.0 } else { radius })
    }

    fn gravity(&self) -> f64 {
        if self.gravity == 0.0 { 1.0 } else { self.gravity }
    }

    /// Fails unless all have a meaning for an order.
    pub fn check(&self, order: Order) -> Result<()> {
        let Choices { softening, gravity, criterion, eta, dt_max, dt_min, time, approach_distance, subsystem_radius } =
            *self;
        let wrong = |name: &str, value: f64, allowed: &str| {
            Err(Error::BadOption { name: name.into(), value: shown(value), allowed: allowed.into() })
        };
        let numbers = [
            ("softening", softening),
            ("gravity", gravity),
            ("eta", eta),
            ("dt_max", dt_max),
            ("dt_min", dt_min),
            ("approach_distance", approach_distance),
        ];
        for (name, value) in numbers {
            if !(value >= 0.0 && value.is_finite()) {
                return wrong(name, value, "finite numbers from 0");
            }
        }
        if subsystem_radius.is_nan() || subsystem_radius < 0.0 {
            return wrong("subsystem_radius", subsystem_radius, "numbers from 0, and infinity for one that is chosen");
        }
        if !time.is_finite() {
            return wrong("time", time, "finite numbers");
        }
        if !criterion.suits(order) {
            return Err(Error::BadOption {
                name: "criterion".into(),
                value: criterion.name().into(),
                allowed: "average in orders 6 and 8; usual and order in all".into(),
            });
        }
        if order == Order::Second && dt_max == 0.0 {
            return wrong("dt_max", dt_max, "above 0 in order 2, of which it is the shared step");
        }
        if dt_max > 0.0 && dt_min > dt_max {
            return wrong("dt_min", dt_min, &format!("up to dt_max, which is {}", shown(dt_max)));
        }
        Ok(())
    }

    /// Returns the plan of an interval, of bodies with one softening.
    fn plan(&self, setup: &Setup, tree: Option<TreeAccuracy>, (interval, softening): (f64, f64)) -> Result<Plan> {
        let order = setup.order;
        let averages = self.criterion.averages(order, setup.precision);
        let floor = interval * SHORTEST;
        let longest = if self.dt_max == 0.0 { interval } else { self.dt_max.min(interval) };
        if floor > longest {
            return Err(Error::BadOption {
                name: "dt_max".into(),
                value: shown(self.dt_max),
                allowed: format!("from {} on, 2^-50 of the time to evolve", shown(floor)),
            });
        }
        Ok(Plan {
            order,
            precision: setup.precision,
            gravity: self.gravity(),
            softening,
            criterion: self.criterion,
            eta: if self.eta == 0.0 { usual_eta(order, averages) } else { self.eta },
            eta4: ETA4,
            step: if order == Order::Second { longest } else { 0.0 },
            longest,
            shortest: self.dt_min.min(longest).max(floor),
            interval,
            tree,
        })
    }
}

impl Change {
    /// Fails unless the numbers have a meaning. `identifier` is that of the body.
    fn check(&self, identifier: i64, groups: &Groups) -> Result<()> {
        if let Some(group) = self.group {
            groups.check(&format!("the group of body {identifier}"), group.into())?;
            if self.softening.is_some() {
                return Err(Error::BadOption {
                    name: format!("the softening of body {identifier}"),
                    value: "given beside a group".into(),
                    allowed: "one of both: the softening is that of the group".into(),
                });
            }
        }
        for (what, value) in [("mass", self.mass), ("radius", self.radius), ("softening", self.softening)] {
            let Some(value) = value else { continue };
            if value.is_nan() || value < 0.0 {
                return Err(Error::BadOption {
                    name: format!("the {what} of body {identifier}"),
                    value: shown(value),
                    allowed: "numbers from 0".into(),
                });
            }
        }
        let vectors = [("position", self.position), ("velocity", self.velocity)];
        let given = vectors.into_iter().filter_map(|(what, vector)| Some((what, vector?)));
        let numbers = given.flat_map(|(what, vector)| vector.map(|value| (what, value)));
        let numbers =
            numbers.chain([self.mass, self.radius].into_iter().flatten().map(|value| ("mass or radius", value)));
        let numbers = numbers.chain(self.softening.map(|value| ("softening", value)));
        for (what, value) in numbers {
            if !value.is_finite() {
                return Err(Error::NotFinite { what: format!("the {what} of body {identifier}"), value });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod change_tests;
#[cfg(test)]
mod collision_tests;
#[cfg(test)]
mod field_tests;
#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod rank_tests;
#[cfg(test)]
mod subsystem_tests;
#[cfg(test)]
mod tests;
