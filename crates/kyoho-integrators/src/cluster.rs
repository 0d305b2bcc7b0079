//! Bodies with identifiers that come, go and change between the times to which they evolve.

mod changes;
mod choices;
pub mod ensembles;
mod evolution;
mod fields;
mod forces;
mod groups;
mod laws;
mod mergers;
mod over_ranks;
mod state;

use std::collections::HashMap;

use kyoho_core::{Error, Result, TreeAccuracy, memory};
use kyoho_engine::{Setup, System};
use kyoho_few_body::Binary;
use kyoho_ranks::{SharedSystem, Team};

pub use changes::Change;
pub use choices::{Choices, OnCollision};
pub use evolution::{Evolution, EvolutionEnd};
pub use over_ranks::Progress;

use super::body::Body;
use super::encounters::Encounter;
use super::energy::{Energies, Energy, NearestBodies};
use super::fields::Fields;
use super::groups::Groups;
use super::subsystems::Subsystem;
use super::{Counts, EnergyJump, Integrator};

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
    /// The encounters of the last evolution, of bodies by their identifiers, if no bodies were given since.
    encounters: Vec<Encounter<i64>>,
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
        // An evolution makes another one for the time that it takes.
        let interval = if choices.dt_max > 0.0 { choices.dt_max } else { 1.0 };
        let plan = choices.plan(&setup, tree, (interval, choices.softening))?;
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
            let potential = energy.potential + cluster.law_energy()?;
            Ok(Energy { potential, field: cluster.field_energy()?, ..energy })
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
        error.with_bodies(|place| self.identifiers[place as usize])
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
        *energies = Some(Energies::over(team, setup, choices.gravity(), choices.softening)?.by_tree(tree)?);
    }
    energies.as_mut().ok_or_else(|| Error::Internal { what: "energies were not made".into() })
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
mod merger_tests;
#[cfg(test)]
mod rank_tests;
#[cfg(test)]
mod softening_tests;
#[cfg(test)]
mod subsystem_tests;
#[cfg(test)]
mod tests;
