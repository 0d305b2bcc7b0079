//! Forces on the bodies of a cluster where they are now.

use kyoho_core::{Error, Result};

use crate::body::{Body, Vector, vector};
use crate::energy::NearestBodies;

use super::{Cluster, made};

impl Cluster {
    /// Returns the potentials and accelerations of the bodies at some places, by all bodies, laws and fields,
    /// in double precision; in order 2 by the tree if there is one.
    pub fn forces(&mut self, places: &[usize]) -> Result<Vec<(f64, Vector)>> {
        self.together(places.iter().map(|place| *place as u64), |cluster| cluster.forces_here(places))
    }

    fn forces_here(&mut self, places: &[usize]) -> Result<Vec<(f64, Vector)>> {
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
        let integrator = &mut self.integrator;
        if integrator.fields().is_empty() {
            return Ok(found);
        }
        for (place, (potential, acceleration)) in places.iter().zip(&mut found) {
            let Body { position, velocity, .. } = integrator.bodies()[*place];
            let named = |error: Error| match error {
                Error::FieldNotFinite { what, field, value, .. } => {
                    Error::FieldNotFinite { what, body: self.identifiers[*place], field, value }
                }
                other => other,
            };
            let fields = integrator.fields_mut();
            *potential += fields.energy(&[Body::new(1.0, position, velocity)], time).map_err(named)?;
            fields.start = time;
            let own = |_| Default::default();
            let more = fields.derivatives(0.0, (1, 1), |_| (*place, [position, velocity]), own).map_err(named)?;
            *acceleration = vector(|k| acceleration[k] + more[0][0][k]);
        }
        Ok(found)
    }

    /// Returns the place of the body that is nearest to each of those at some places, softening not
    /// included, with its distance; `None` where there is no other one. All pairs are looked at.
    pub fn nearest(&mut self, places: &[usize]) -> Result<Vec<Option<(usize, f64)>>> {
        self.together(places.iter().map(|place| *place as u64), |cluster| {
            if cluster.nearest_bodies.is_none() {
                cluster.nearest_bodies = Some(NearestBodies::new(&cluster.setup, cluster.team.as_ref())?);
            }
            let nearest = cluster.nearest_bodies.as_mut();
            let nearest = nearest.ok_or_else(|| Error::Internal { what: "nearest bodies were not made".into() })?;
            nearest.of(cluster.integrator.bodies(), places)
        })
    }
}
