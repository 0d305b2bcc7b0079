//! Bodies come, change and go, and the caller reads them.

use crate::abi::arrays::{self, Input, Output};
use kyoho_core::{Error, Result, ResultCode, memory};
use kyoho_integrators::body::Body;
use kyoho_integrators::cluster::{Change, Cluster};

use super::super::rows::{Rows, put};
use super::super::structures::{kyoho_bodies, kyoho_body_states, read};
use super::{call_on, kyoho_integrator};

/// Reads the caller's bodies. Those that are added need masses and positions.
///
/// # Safety
/// The pointer is null or points to a structure whose arrays have as many elements as it says.
unsafe fn changes(bodies: *const kyoho_bodies, are_added: bool) -> Result<Vec<(i64, Change)>> {
    // SAFETY: the caller's promise.
    let given = unsafe { read("bodies", bodies) }?;
    let count = arrays::count("kyoho_bodies.count", given.count)?;
    let identifiers: Option<Rows<i64, 1>> = Rows::required("kyoho_bodies.identifiers", given.identifiers, count)?;
    let needed = if are_added { count } else { 0 };
    let masses: Option<Rows<f64, 1>> = Rows::required("kyoho_bodies.masses", given.masses, needed)?;
    let positions: Option<Rows<f64, 3>> = Rows::required("kyoho_bodies.positions", given.positions, needed)?;
    let velocities: Option<Rows<f64, 3>> = Rows::optional("kyoho_bodies.velocities", given.velocities)?;
    let radii: Option<Rows<f64, 1>> = Rows::optional("kyoho_bodies.radii", given.radii)?;
    let groups: Option<Rows<i32, 1>> = Rows::optional("kyoho_bodies.groups", given.groups)?;
    let softenings: Option<Rows<f64, 1>> = Rows::optional("kyoho_bodies.softenings", given.softenings)?;
    let change = |row: usize| {
        // SAFETY: the arrays have more than `row` rows.
        unsafe {
            let change = Change {
                mass: masses.map(|masses| masses.read(row)[0]),
                position: positions.map(|positions| positions.read(row)),
                velocity: velocities.map(|velocities| velocities.read(row)),
                radius: radii.map(|radii| radii.read(row)[0]),
                group: groups.map(|groups| groups.read(row)[0]),
                softening: softenings.map(|softenings| softenings.read(row)[0]),
            };
            (identifiers.map_or(0, |identifiers| identifiers.read(row)[0]), change)
        }
    };
    memory::collected((0..count).map(change), "bodies")
}

/// Adds bodies at the time of the integrator.
///
/// Errors, after which no body was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (an identifier that another body has, a mass, radius or softening below 0, a
/// group that there is not, softenings that need more groups than 16 with subsystems, or a
/// stride that is not allowed),
/// KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_bodies(
    integrator: *mut kyoho_integrator,
    bodies: *const kyoho_bodies,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        cluster.add(&unsafe { changes(bodies, true) }?)
    })
}

/// Changes bodies at the time of the integrator; arrays that are NULL leave what bodies have. After
/// other changes than of radii, the next evolution begins with new forces of all bodies. Those whose
/// forces are nearly as before keep their steps, and others, or at other places, have first steps.
///
/// Errors, after which no body was changed: as `kyoho_integrator_add_bodies`, and KYOHO_BAD_OPTION
/// also for an identifier that no body has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_set_bodies(
    integrator: *mut kyoho_integrator,
    bodies: *const kyoho_bodies,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        cluster.change(&unsafe { changes(bodies, false) }?)
    })
}

/// Writes bodies at the time of the integrator, and on request the forces on them and their nearest
/// bodies.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT
/// (negative, or without identifiers more than there are bodies), KYOHO_BAD_OPTION (an identifier
/// that no body has, or a stride that is not allowed), KYOHO_OUT_OF_MEMORY. Where forces or nearest
/// bodies are wanted also those of `kyoho_integrator_energies`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_get_bodies(
    integrator: *mut kyoho_integrator,
    states: *const kyoho_body_states,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        let wanted = unsafe { read("states", states) }?;
        let forces = [wanted.accelerations, wanted.potentials, wanted.nearest_distances];
        let is_of_all = forces.iter().any(|reals| !reals.data.is_null()) || !wanted.nearest.data.is_null();
        // SAFETY: arrays of so many rows.
        let read = unsafe { places_of(cluster, &wanted) }
            .and_then(|places| Ok((places, ForceStates::new(&wanted)?, OwnStates::new(&wanted)?)));
        let (places, states, own) = read.map_err(|error| if is_of_all { cluster.refuse(error) } else { error })?;
        states.write(cluster, &places)?;
        own.write(cluster, &places);
        Ok(())
    })
}

/// Returns the places of the bodies that are wanted, all before the first body is written.
///
/// # Safety
/// The arrays have as many rows as the structure says.
unsafe fn places_of(cluster: &Cluster, wanted: &kyoho_body_states) -> Result<Vec<usize>> {
    let count = arrays::count("kyoho_body_states.count", wanted.count)?;
    let identifiers: Option<Rows<i64, 1>> = Rows::optional("kyoho_body_states.identifiers", wanted.identifiers)?;
    let all = cluster.bodies().len();
    if identifiers.is_none() && count > all {
        let allowed = format!("0 to {all}, the number of bodies");
        return Err(Error::BadCount { what: "kyoho_body_states.count", value: wanted.count.into(), allowed });
    }
    let mut places = memory::room(count, "the places of bodies")?;
    for row in 0..count {
        places.push(match identifiers {
            // SAFETY: the array has more than `row` elements.
            Some(identifiers) => cluster.place(unsafe { identifiers.read(row) }[0])?,
            None => row,
        });
    }
    Ok(places)
}

/// The places where bodies themselves are written to, as far as they are wanted.
struct OwnStates {
    masses: Option<Rows<f64, 1>>,
    positions: Option<Rows<f64, 3>>,
    velocities: Option<Rows<f64, 3>>,
    radii: Option<Rows<f64, 1>>,
    groups: Option<Rows<i32, 1>>,
    softenings: Option<Rows<f64, 1>>,
}

impl OwnStates {
    fn new(wanted: &kyoho_body_states) -> Result<OwnStates> {
        Ok(OwnStates {
            masses: Rows::optional("kyoho_body_states.masses", wanted.masses)?,
            positions: Rows::optional("kyoho_body_states.positions", wanted.positions)?,
            velocities: Rows::optional("kyoho_body_states.velocities", wanted.velocities)?,
            radii: Rows::optional("kyoho_body_states.radii", wanted.radii)?,
            groups: Rows::optional("kyoho_body_states.groups", wanted.groups)?,
            softenings: Rows::optional("kyoho_body_states.softenings", wanted.softenings)?,
        })
    }

    /// Writes the bodies at these places.
    fn write(self, cluster: &Cluster, places: &[usize]) {
        for (row, &place) in places.iter().enumerate() {
            let Body { mass, position, velocity, .. } = cluster.bodies()[place];
            let member = cluster.groups().member(place);
            // SAFETY: the arrays have more than `row` rows.
            unsafe {
                put(self.masses, row, [mass]);
                put(self.positions, row, position);
                put(self.velocities, row, velocity);
                put(self.radii, row, [cluster.radii()[place]]);
                put(self.groups, row, [member.group.into()]);
                put(self.softenings, row, [cluster.groups().softening_of(member)]);
            }
        }
    }
}

/// The places where forces on bodies and their nearest bodies are written to, as far as they are wanted.
struct ForceStates {
    accelerations: Option<Rows<f64, 3>>,
    potentials: Option<Rows<f64, 1>>,
    nearest: Option<Rows<i64, 1>>,
    distances: Option<Rows<f64, 1>>,
}

impl ForceStates {
    fn new(wanted: &kyoho_body_states) -> Result<ForceStates> {
        Ok(ForceStates {
            accelerations: Rows::optional("kyoho_body_states.accelerations", wanted.accelerations)?,
            potentials: Rows::optional("kyoho_body_states.potentials", wanted.potentials)?,
            nearest: Rows::optional("kyoho_body_states.nearest", wanted.nearest)?,
            distances: Rows::optional("kyoho_body_states.nearest_distances", wanted.nearest_distances)?,
        })
    }

    /// Writes those on bodies at these places.
    fn write(self, cluster: &mut Cluster, places: &[usize]) -> Result<()> {
        let ForceStates { accelerations, potentials, nearest, distances } = self;
        let has_forces = accelerations.is_some() || potentials.is_some();
        let has_nearest = nearest.is_some() || distances.is_some();
        if !(has_forces || has_nearest) {
            return Ok(());
        }
        let (forces, others) = cluster.forces_and_nearest(places, [has_forces, has_nearest])?;
        for (row, (potential, acceleration)) in forces.into_iter().enumerate() {
            // SAFETY: the arrays have more than `row` rows.
            unsafe {
                put(potentials, row, [potential]);
                put(accelerations, row, acceleration);
            }
        }
        for (row, (own, other)) in places.iter().zip(others).enumerate() {
            let (place, distance) = other.unwrap_or((*own, f64::INFINITY));
            // SAFETY: the arrays have more than `row` elements.
            unsafe {
                put(nearest, row, [cluster.identifiers()[place]]);
                put(distances, row, [distance]);
            }
        }
        Ok(())
    }
}

/// Removes the bodies with these `count` identifiers.
///
/// Errors, after which no body was removed: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (an identifier that no body has), KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_remove_bodies(
    integrator: *mut kyoho_integrator,
    count: i32,
    identifiers: *const i64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let count = arrays::count("count", count)?;
        // SAFETY: an array of so many.
        let given = unsafe { Input::new("identifiers", identifiers, count) }?;
        cluster.remove(&memory::collected(given.items(), "identifiers")?)
    })
}

/// Writes the identifiers of all bodies, in the order in which they were added. `identifiers` has
/// room for `capacity` of them, and may be NULL if there are no bodies.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BUFFER_TOO_SMALL, after
/// which nothing was written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_identifiers(
    integrator: *mut kyoho_integrator,
    capacity: i32,
    identifiers: *mut i64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let (all, room) = (cluster.identifiers(), arrays::count("capacity", capacity)?);
        if room < all.len() {
            return Err(Error::BufferTooSmall { what: "the array of identifiers", needed: all.len(), room });
        }
        // SAFETY: the array has room for `capacity`, by the caller's promise.
        let to = unsafe { Output::new("identifiers", identifiers, all.len()) };
        to.require()?;
        to.set_from(0, all.iter().copied());
        Ok(())
    })
}
