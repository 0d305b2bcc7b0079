//! Forces on the bodies of a cluster where they are now.

use kyoho_core::{Error, Result, memory};

use crate::body::{Vector, vector};
use crate::energy::NearestBodies;

use super::{Cluster, made};

const WHAT: &str = "forces on bodies";

/// The potential of a body and its acceleration.
type Pull = (f64, Vector);
/// The place of the body that is nearest to one, and its distance.
type Neighbour = Option<(usize, f64)>;

impl Cluster {
    /// Returns the potentials and accelerations of the bodies at some places, by all bodies, laws and fields,
    /// in double precision; in order 2 by the tree if there is one.
    pub fn forces(&mut self, places: &[usize]) -> Result<Vec<Pull>> {
        Ok(self.forces_and_nearest(places, [true, false])?.0)
    }

    /// Returns the place of the body that is nearest to each of those at some places, softening not
    /// included, with its distance; `None` where there is no other one. All pairs are looked at.
    pub fn nearest(&mut self, places: &[usize]) -> Result<Vec<Neighbour>> {
        Ok(self.forces_and_nearest(places, [false, true])?.1)
    }

    /// Returns what [`Cluster::forces`] and [`Cluster::nearest`] do, or nothing in place of one that is not
    /// wanted.
    pub fn forces_and_nearest(&mut self, places: &[usize], wanted: [bool; 2]) -> Result<(Vec<Pull>, Vec<Neighbour>)> {
        let arguments = wanted.into_iter().map(u64::from).chain(places.iter().map(|place| *place as u64));
        self.together(arguments, |cluster| {
            let [forces, nearest] = wanted;
            let forces = if forces { cluster.forces_here(places)? } else { Vec::new() };
            Ok((forces, if nearest { cluster.nearest_here(places)? } else { Vec::new() }))
        })
    }

    fn forces_here(&mut self, places: &[usize]) -> Result<Vec<Pull>> {
        let (energies, integrator, time) = (&mut self.energies, &mut self.integrator, self.time);
        let energies = made(energies, (&self.setup, self.team.as_ref()), &self.choices, self.tree)?;
        let mut found = match self.groups.as_one() {
            Some(softening) => {
                energies.set_softening(softening);
                energies.forces(integrator.bodies(), places)?
            }
            None => energies.forces_of_groups(integrator.bodies(), places, &self.groups)?,
        };
        if !integrator.laws().is_empty() {
            integrator.laws_mut().group(&self.groups, self.identifiers.len())?;
            let by_laws = integrator.law_forces(places, time).map_err(|error| self.named(error))?;
            for ((potential, acceleration), more) in found.iter_mut().zip(by_laws) {
                *potential += more.0;
                *acceleration = vector(|k| acceleration[k] + more.1[k]);
            }
        }
        if !self.integrator.fields().is_empty() {
            let added = self.add_fields(places, &mut found);
            added.map_err(|error| error.with_bodies(|row| self.identifiers[places[row as usize]]))?;
        }
        Ok(found)
    }

    /// Adds what fields do to the bodies at some places. Errors name bodies by the rows of these.
    fn add_fields(&mut self, places: &[usize], found: &mut [Pull]) -> Result<()> {
        let bodies = self.integrator.bodies();
        let bodies = memory::collected(places.iter().map(|place| bodies[*place]), WHAT)?;
        let fields = self.integrator.fields_mut();
        fields.potentials(&bodies, self.time, |row, potential| {
            found[row].0 += potential;
            Ok(())
        })?;
        fields.start = self.time;
        let motion = |row: usize| (row, [bodies[row].position, bodies[row].velocity]);
        let by_fields = fields.derivatives(0.0, (bodies.len(), 1), motion, |_| Default::default())?;
        for ((_, acceleration), more) in found.iter_mut().zip(by_fields) {
            *acceleration = vector(|k| acceleration[k] + more[0][k]);
        }
        Ok(())
    }

    fn nearest_here(&mut self, places: &[usize]) -> Result<Vec<Neighbour>> {
        if self.nearest_bodies.is_none() {
            self.nearest_bodies = Some(NearestBodies::new(&self.setup, self.team.as_ref())?);
        }
        let nearest = self.nearest_bodies.as_mut();
        let nearest = nearest.ok_or_else(|| Error::Internal { what: "nearest bodies were not made".into() })?;
        nearest.of(self.integrator.bodies(), places)
    }
}
