//! Clusters over ranks, each of which has all bodies and advances them as the others do.

use kyoho_core::{Error, Result};
use kyoho_engine::System;
use kyoho_ranks::{Communicator, SharedSystem, Team, digest};

use crate::body::{Body, mark_of_text};
use crate::fields::Centre;

use super::{Choices, Cluster, Evolution};

/// How far an evolution has come, and whether it goes on: from the time and the number of block steps.
pub type Progress<'a> = dyn FnMut(f64, u64) -> bool + 'a;

impl Cluster {
    /// Makes a cluster that ranks advance together, from what each made for it: a system without sources,
    /// of full forces, and the same choices. Each rank gets all bodies, and they share the sums of the
    /// forces. All ranks make it, evolve it and ask for energies, forces and nearest bodies together.
    ///
    /// An error on one rank is that of all.
    pub fn over(communicator: Box<dyn Communicator>, made: Result<(System, Choices)>) -> Result<Cluster> {
        let team = Team::new(communicator)?;
        team.together(|| {
            let (system, choices) = made?;
            team.require_kind(&system)?;
            team.require_same(&[("the mark of the integrator's options", mark_of_text(&format!("{choices:?}")))])?;
            let mut cluster = Cluster::on(SharedSystem::over(&team, system)?, choices)?;
            cluster.team = Some(team.clone());
            Ok(cluster)
        })
    }

    /// Tells all ranks why this one cannot make a call that all make, and returns the error of all.
    pub fn refuse(&self, error: Error) -> Error {
        let Some(team) = &self.team else { return error };
        let refused: Result<()> = team.together(|| Err(error.clone()));
        refused.err().unwrap_or(error)
    }

    /// Does what all ranks do with the same bodies and arguments; `arguments` is a mark of these.
    pub(super) fn together<T>(
        &mut self,
        arguments: impl IntoIterator<Item = u64>,
        work: impl FnOnce(&mut Cluster) -> Result<T>,
    ) -> Result<T> {
        let Some(team) = self.team.clone() else { return work(self) };
        team.together(|| {
            let marks = [("the mark of the bodies", self.mark()), ("the mark of the arguments", digest(arguments))];
            team.require_same(&marks)?;
            // After an error on one rank, or a change that it has taken back, ranks know other derivatives of
            // the motion.
            let known = team.numbers([self.mark_of_forces()])?;
            if known.iter().any(|of_rank| *of_rank != known[0]) {
                self.is_changed = true;
                self.integrator.bodies_mut().iter_mut().for_each(|body| *body = body.without_forces());
            }
            work(self)
        })
    }

    /// Advances all bodies as [`Cluster::evolve`] does. Without a function it goes on. Over ranks all end
    /// with the block step after which one refuses.
    pub fn evolve_if(&mut self, to: f64, block_steps: Option<u64>, go_on: Option<&mut Progress>) -> Result<Evolution> {
        let mut go_on = go_on;
        let team = self.team.clone();
        self.together([to.to_bits(), block_steps.unwrap_or(0)], |cluster| {
            let asking = match team {
                Some(team) if team.is_on_any(go_on.is_some())? => Some(team),
                _ => None,
            };
            cluster.evolve_here(to, block_steps, &mut |time, made| {
                let goes_on = go_on.as_mut().is_none_or(|go_on| go_on(time, made));
                let stops = asking.as_ref().map(|team| team.is_on_any(!goes_on)).transpose()?;
                Ok(stops.map_or(goes_on, |stops| !stops))
            })
        })
    }

    /// Returns a number that hardly any other steps and derivatives of the bodies have.
    fn mark_of_forces(&self) -> u64 {
        let numbers = self.bodies().iter().flat_map(|Body { step, derivatives, .. }| {
            [*step].into_iter().chain(derivatives.iter().copied().flatten()).map(f64::to_bits)
        });
        digest([u64::from(self.is_changed)].into_iter().chain(numbers))
    }

    /// Returns a number that hardly any other bodies have, whatever forces were computed.
    fn mark(&self) -> u64 {
        let fields = self.fields().iter().flat_map(|field| {
            let numbers = field.numbers().iter().copied().chain(field.centre().into_iter().flat_map(Centre::numbers));
            [mark_of_text(field.given())].into_iter().chain(numbers.map(f64::to_bits))
        });
        let laws = self.laws().iter().flat_map(|law| {
            let numbers = law.numbers().iter().map(|number| number.to_bits());
            [mark_of_text(law.text())].into_iter().chain(numbers).chain(law.groups().map(u64::from))
        });
        let identifiers = self.identifiers.iter().map(|identifier| identifier.cast_unsigned());
        let radii = self.radii.iter().map(|radius| radius.to_bits());
        let motion = self.bodies().iter().flat_map(|Body { mass, position, velocity, .. }| {
            [*mass].into_iter().chain(*position).chain(*velocity).map(f64::to_bits)
        });
        let groups = &self.groups;
        let of_bodies = (0..self.identifiers.len()).flat_map(|place| {
            let member = groups.member(place);
            [member.group.into(), groups.softening_of(member).to_bits()]
        });
        let rows = (0..groups.count()).flat_map(|group| {
            let felt = (0..groups.count()).map(move |other| u64::from(groups.feels(group, other)));
            [groups.softening(group).to_bits()].into_iter().chain(felt)
        });
        digest(
            [self.time.to_bits()]
                .into_iter()
                .chain(motion)
                .chain(identifiers)
                .chain(radii)
                .chain(fields)
                .chain(laws)
                .chain(of_bodies)
                .chain(rows),
        )
    }
}
