//! Integrators: bodies that come, go, change and evolve.

use std::os::raw::{c_char, c_void};
use std::ptr;
use std::time::{Duration, Instant};

use crate::abi::arrays::{self, Input, Output};
use crate::abi::boundary::{self, protect, required};
use crate::abi::handles::Handles;
use crate::abi::opening;
use kyoho_core::{Error, Result, ResultCode, Scope, memory};
use kyoho_engine::System;
use kyoho_integrators::Counts;
use kyoho_integrators::body::Body;
use kyoho_integrators::cluster::{Change, Choices, Cluster, Progress};
use kyoho_integrators::fields::{Centre, FieldQuestion};
use kyoho_integrators::plan::StepCriterion;
use kyoho_integrators::unit_systems::gravitational_constant;

use super::rows::{Rows, put};
use super::structures::{
    self, bad_field, empty, kyoho_binaries, kyoho_bodies, kyoho_body_states, kyoho_encounters, kyoho_evolution,
    kyoho_evolve_options, kyoho_field_function, kyoho_integration, kyoho_integrator_options, kyoho_options, read,
};
use super::system::kyoho_last_error;
use super::{call, communicators, options};

/// Bodies at one time, and the integrator that advances them: by a Hermite scheme of order 4, 6 or
/// 8 with block time steps, or by a leapfrog with a shared step, of order 2. As with systems, a
/// pointer to it is a handle that the library looks up, and it points to nothing.
///
/// Several threads may use several of them at once; calls on one wait for one another.
#[allow(non_camel_case_types)]
pub struct kyoho_integrator;

static INTEGRATORS: Handles<Cluster> = Handles::new("the integrator");

/// Runs an entry point on an integrator. The text of its error stays with it.
fn call_on(integrator: *mut kyoho_integrator, body: impl FnOnce(&mut Cluster) -> Result<()>) -> ResultCode {
    call(|| INTEGRATORS.with(integrator.addr(), body).map_err(of_integrator))
}

/// Returns the error of a handle that is no integrator.
fn of_integrator(error: Error) -> Error {
    match error {
        Error::BadHandle { handle } => Error::BadIntegratorHandle { handle },
        other => other,
    }
}

/// Makes an integrator without bodies. `options` choose the order, the precision, the backend and
/// its devices as for systems, of full forces; in order 2 also the tree. Both may be NULL, which
/// leaves everything open: order 4 in double precision.
///
/// `integrator` receives the handle, NULL on an error. Give it back with `kyoho_integrator_free`.
///
/// With a communicator all ranks call this, with the same options, and the error of one is that of
/// all. Each rank then has all bodies: all add, set and remove the same ones, and they share the
/// sums of the forces, by direct sums alone. From then on `kyoho_integrator_evolve`,
/// `kyoho_integrator_energies`, and `kyoho_integrator_get_bodies` where forces or nearest bodies are
/// wanted, are calls of all ranks, and all others of one.
///
/// Errors: as `kyoho_system_create`, and KYOHO_BAD_OPTION also for a field of `integrator_options`
/// whose value is not allowed, and for the scope of regular forces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_create(
    options: *const kyoho_options,
    integrator_options: *const kyoho_integrator_options,
    integrator: *mut *mut kyoho_integrator,
) -> ResultCode {
    call(|| {
        // SAFETY: null or room for a pointer.
        unsafe { boundary::write(integrator, ptr::null_mut()) };
        // SAFETY: null or a structure.
        let communicator = unsafe { communicators::of_options(options) }?;
        // Whatever is wrong here, even a panic, the other ranks are told of it.
        let made = protect(|| {
            required("integrator", integrator)?;
            // SAFETY: null or structures.
            unsafe { open(options, integrator_options) }
        });
        let cluster = match communicator {
            None => made.and_then(|(system, choices)| Cluster::new(system, choices))?,
            Some(communicator) => Cluster::over(Box::new(communicator), made)?,
        };
        let handle = INTEGRATORS.insert(cluster)?;
        // SAFETY: room for a pointer. The handle is a number that no one follows as a pointer.
        unsafe { boundary::write(integrator, ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// Makes the system of an integrator, and reads its choices.
///
/// # Safety
/// The options are null or structures.
unsafe fn open(
    options: *const kyoho_options,
    integrator_options: *const kyoho_integrator_options,
) -> Result<(System, Choices)> {
    let given = if integrator_options.is_null() {
        empty()
    } else {
        // SAFETY: not null, hence a structure.
        unsafe { read("integrator_options", integrator_options) }?
    };
    let criterion = StepCriterion::from_number(given.criterion).ok_or_else(|| {
        let allowed = "0 (usual), 1 (order), 2 (average, in orders 6 and 8)";
        bad_field("kyoho_integrator_options.criterion", given.criterion, allowed)
    })?;
    // SAFETY: null or a structure.
    let (setup, because) = unsafe { options::setup(options, None) }?;
    // SAFETY: null or a structure.
    let tree = unsafe { options::tree(options) }?;
    if setup.scope != Scope::Full {
        return Err(bad_field("kyoho_options.scope", setup.scope as i32, "0 (full), 1 (full) for an integrator"));
    }
    let kyoho_integrator_options { softening, gravity, eta, dt_max, dt_min, .. } = given;
    let kyoho_integrator_options { time, approach_distance, subsystem_radius, .. } = given;
    let choices =
        Choices { softening, gravity, criterion, eta, dt_max, dt_min, time, approach_distance, subsystem_radius };
    choices.check(setup.order)?;
    let mut system = opening::system("kyoho_integrator_create", &setup, &because)?;
    system.set_tree(tree)?;
    Ok((system, choices))
}

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
/// group that there is not, more groups than 16, or a stride that is not allowed),
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
        let read = unsafe { places_of(cluster, &wanted) }.and_then(|places| Ok((places, ForceStates::new(&wanted)?)));
        let (places, states) = read.map_err(|error| if is_of_all { cluster.refuse(error) } else { error })?;
        let masses: Option<Rows<f64, 1>> = Rows::optional("kyoho_body_states.masses", wanted.masses)?;
        let positions: Option<Rows<f64, 3>> = Rows::optional("kyoho_body_states.positions", wanted.positions)?;
        let velocities: Option<Rows<f64, 3>> = Rows::optional("kyoho_body_states.velocities", wanted.velocities)?;
        let radii: Option<Rows<f64, 1>> = Rows::optional("kyoho_body_states.radii", wanted.radii)?;
        let groups: Option<Rows<i32, 1>> = Rows::optional("kyoho_body_states.groups", wanted.groups)?;
        let softenings: Option<Rows<f64, 1>> = Rows::optional("kyoho_body_states.softenings", wanted.softenings)?;
        states.write(cluster, &places)?;
        for (row, place) in places.into_iter().enumerate() {
            let Body { mass, position, velocity, .. } = cluster.bodies()[place];
            // SAFETY: the arrays have more than `row` rows.
            unsafe {
                put(masses, row, [mass]);
                put(positions, row, position);
                put(velocities, row, velocity);
                put(radii, row, [cluster.radii()[place]]);
                put(groups, row, [cluster.groups().of(place) as i32]);
                put(softenings, row, [cluster.groups().softening(cluster.groups().of(place))]);
            }
        }
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
        let forces = if has_forces { cluster.forces(places)? } else { Vec::new() };
        let has_nearest = nearest.is_some() || distances.is_some();
        let others = if has_nearest { cluster.nearest(places)? } else { Vec::new() };
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

/// Adds a group of bodies with this softening length. It feels all groups, itself too, and all feel
/// it, until `kyoho_integrator_set_feels`. `group` receives its number. Group 0, that of bodies for
/// which none is given, is always there and has the softening of the integrator's options. The
/// squared softening of a pair is the mean of those of both bodies.
///
/// Each group costs a sum of its own in every step, and block steps are the host's where bodies of
/// several groups have another softening or feel others. There are at most 16.
///
/// Errors, after which no group was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION
/// (a softening below 0 or not finite, more than 16 groups, or an integrator with subsystems).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_group(
    integrator: *mut kyoho_integrator,
    softening: f64,
    group: *mut i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let number = required("group", group)?;
        let added = cluster.add_group(softening)? as i32;
        // SAFETY: room for a number.
        unsafe { boundary::write(number, added) };
        Ok(())
    })
}

/// Lets the bodies of a group feel those of another one, or of the same, from now on, or not where
/// `feels` is 0. It need not be mutual, but without reaction the energy is not conserved. The next
/// evolution begins with new forces of all bodies.
///
/// A pair of which one body feels the other counts once in the potential energy. Bodies that do not
/// feel one another have no approach, but they collide.
///
/// Errors, after which nothing was changed: KYOHO_BAD_HANDLE, KYOHO_BAD_OPTION (a group that there
/// is not, `feels` that is neither 0 nor 1, or an integrator with subsystems).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_set_feels(
    integrator: *mut kyoho_integrator,
    group: i32,
    other: i32,
    feels: i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let feels = match feels {
            0 => false,
            1 => true,
            _ => return Err(bad_field("feels", feels, "0 (no), 1 (yes)")),
        };
        cluster.set_feels(group.into(), other.into(), feels)
    })
}

/// Describes a group: its softening length, and in `feels` whether it feels each group, 1 or 0, from
/// group 0 on. `feels` has room for `capacity` numbers, at least `kyoho_integration.group_count`.
/// Both pointers may be NULL.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (a negative capacity),
/// KYOHO_BAD_OPTION (a group that there is not), KYOHO_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_group(
    integrator: *mut kyoho_integrator,
    group: i32,
    softening: *mut f64,
    capacity: i32,
    feels: *mut i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let groups = cluster.groups();
        let (group, room) = (groups.check("the group", group.into())?, arrays::count("capacity", capacity)?);
        if !feels.is_null() && room < groups.count() {
            return Err(Error::BufferTooSmall { what: "the array of feels", needed: groups.count(), room });
        }
        // SAFETY: null or room for a number.
        unsafe { boundary::write(softening, groups.softening(group)) };
        if !feels.is_null() {
            // SAFETY: the array has room for `capacity`, by the caller's promise.
            let to = unsafe { Output::new("feels", feels, groups.count()) };
            to.set_from(0, (0..groups.count()).map(|other| i32::from(groups.feels(group, other))));
        }
        Ok(())
    })
}

/// Adds a field, which acts on all bodies beside their own gravity from now on; several add up.
/// `field` is a built-in name (docs/fields.md has them) or a text of the language of pairs without
/// sources, which ends with a zero. `names` has the names of its parameters with spaces between
/// them, and `numbers` the `count` numbers of all of these, one after another: three of a vector.
/// Both may be NULL for a field without parameters. The next evolution begins with new forces of
/// all bodies. Block steps with fields are the host's, also on GPUs.
///
/// Errors, after which no field was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT,
/// KYOHO_BAD_OPTION (an unknown name, a parameter that is missing or that the field has not, a
/// number that is not finite), KYOHO_BAD_COUNT, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_field(
    integrator: *mut kyoho_integrator,
    field: *const c_char,
    names: *const c_char,
    count: i32,
    numbers: *const f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: the caller's promise.
        unsafe { add_field(cluster, (field, names), (count, numbers), None) }
    })
}

/// Adds a field.
///
/// # Safety
/// The texts are null or end with a zero, and there are so many numbers.
unsafe fn add_field(
    cluster: &mut Cluster,
    (field, names): (*const c_char, *const c_char),
    (count, numbers): (i32, *const f64),
    centre: Option<Centre>,
) -> Result<()> {
    // SAFETY: null or a text.
    let field = unsafe { boundary::long_text(field, "the text of a field") }?;
    let field = field.ok_or(Error::NullArgument { argument: "field" })?;
    // SAFETY: null or a text.
    let names = unsafe { boundary::long_text(names, "the names of a field") }?.unwrap_or_default();
    let count = arrays::count("count", count)?;
    // SAFETY: an array of so many.
    let given = unsafe { Input::new("numbers", numbers, count) }?;
    let numbers = memory::collected(given.items(), "the numbers of a field")?;
    cluster.add_listed_field(&field, &names, &numbers, centre)
}

/// Adds a field as `kyoho_integrator_add_field` does, whose centre moves: the field acts on
/// positions and velocities relative to it. `times` has the rising times of `nodes` nodes, two or
/// more, and `positions` a row of three numbers for each. Between them the centre moves on a cubic
/// spline: with the velocities at the nodes that `velocities` has in rows, or, if that is NULL, a
/// natural one, whose acceleration is continuous and zero at both ends.
///
/// An evolution that begins before the first time or goes on beyond the last one is
/// KYOHO_BAD_OPTION.
///
/// Errors, after which no field was added: as `kyoho_integrator_add_field`, and KYOHO_BAD_OPTION
/// also for fewer than two nodes and for times that do not rise, KYOHO_NOT_FINITE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_moving_field(
    integrator: *mut kyoho_integrator,
    field: *const c_char,
    names: *const c_char,
    count: i32,
    numbers: *const f64,
    nodes: i32,
    times: *const f64,
    positions: *const f64,
    velocities: *const f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let nodes = arrays::count("nodes", nodes)?;
        // SAFETY: arrays of so many rows.
        let centre = unsafe {
            let times = memory::collected(Input::new("times", times, nodes)?.items(), NODES)?;
            let positions = vectors("positions", positions, nodes)?;
            let velocities = if velocities.is_null() { None } else { Some(vectors("velocities", velocities, nodes)?) };
            Centre::new(&times, &positions, velocities.as_deref())?
        };
        // SAFETY: the caller's promise.
        unsafe { add_field(cluster, (field, names), (count, numbers), Some(centre)) }
    })
}

const NODES: &str = "the nodes of a field's centre";

/// Reads rows of three numbers.
///
/// # Safety
/// The array has so many rows.
unsafe fn vectors(name: &'static str, rows: *const f64, count: usize) -> Result<Vec<[f64; 3]>> {
    // SAFETY: the caller's promise.
    let given = unsafe { Input::new(name, rows.cast::<[f64; 3]>(), count) }?;
    memory::collected(given.items(), NODES)
}

/// Adds a field that a function of the caller gives, from now on: beside others, on all bodies. The
/// library calls it in evolutions, once for all bodies of a block step, with `context`, and where
/// it computes energies if `has_potential` is not 0; from the thread that called the library. It
/// must return, so that it may neither throw an exception nor jump, and it must not call functions
/// on this integrator.
///
/// Order 2 asks for accelerations, order 4 for jerks too: the derivative by time of the
/// acceleration that the field gives a body, along its way, which may depend on its acceleration by
/// all forces. Orders 6 and 8 need derivatives that no function gives. `kyoho_integrator_state`
/// cannot write such a field.
///
/// Errors, after which no field was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION
/// (order 6 or 8), KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_field_function(
    integrator: *mut kyoho_integrator,
    function: kyoho_field_function,
    context: *mut c_void,
    has_potential: i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let function = function.ok_or(Error::NullArgument { argument: "function" })?;
        let context = Context(context);
        let called = move |question: &FieldQuestion, values: &mut [f64]| {
            let Context(context) = { &context };
            let FieldQuestion { value, time, positions, velocities, accelerations } = *question;
            let count = positions.len() as i32;
            let accelerations = if accelerations.is_empty() { ptr::null() } else { accelerations.as_ptr() };
            let rows = [positions.as_ptr(), velocities.as_ptr(), accelerations].map(<*const [f64; 3]>::cast::<f64>);
            // SAFETY: a function of the caller for these arguments, by its promise.
            unsafe { function(*context, value as i32, time, count, rows[0], rows[1], rows[2], values.as_mut_ptr()) }
        };
        cluster.add_field_function(kyoho_hal::boxed(called, "the function of a field")?, has_potential != 0)
    })
}

/// What a function of the caller gets.
struct Context(*mut c_void);

// SAFETY: the library does not follow the pointer, and calls on an integrator wait for one another.
unsafe impl Send for Context {}

/// Advances all bodies to a time, which may not lie before theirs, or until something ends it
/// earlier: an approach, which is looked for at the ends of block steps, a collision in a step that
/// ends then, or `evolve_options`. Whatever the reason, all bodies are at one time then, from which
/// a further call goes on. `evolve_options` and `evolution`, which is told the reason, may be NULL.
///
/// All bodies meet at the end of each call, so steps are no longer than the time to it, and the
/// bits of bodies depend on the times of calls. They do not depend on the number of threads.
///
/// Over ranks all call this with the same bodies and arguments, but `progress` may be any, or NULL:
/// where it returns anything but 0 on one, the evolution ends on all after the same block step. An
/// error on one is that of all.
///
/// Errors, after which bodies are where they were, or in order 2 at the end of a step:
/// KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a time before that of the bodies, or a field
/// of `evolve_options`), KYOHO_NOT_FINITE (also for bodies at one position without softening),
/// KYOHO_OUT_OF_RANGE, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY. The text of KYOHO_NOT_FINITE names
/// the body and the field that gives it such a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_evolve(
    integrator: *mut kyoho_integrator,
    time: f64,
    evolve_options: *const kyoho_evolve_options,
    evolution: *mut kyoho_evolution,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        let (given, most, pause) = unsafe { limits(evolve_options) }.map_err(|error| cluster.refuse(error))?;
        let mut told = Instant::now();
        let mut go_on = given.progress.map(|progress| {
            move |time: f64, block_steps: u64| {
                if !pause.is_zero() {
                    if told.elapsed() < pause {
                        return true;
                    }
                    told = Instant::now();
                }
                // SAFETY: a function of the caller for these arguments, by its promise.
                unsafe { progress(given.context, time, block_steps) == 0 }
            }
        });
        let go_on = go_on.as_mut().map(|go_on| go_on as &mut Progress);
        let ended = cluster.evolve_if(time, Some(most).filter(|most| *most > 0), go_on)?;
        if evolution.is_null() {
            return Ok(());
        }
        let mut outcome = kyoho_evolution {
            end: ended.end as i32,
            time: cluster.time(),
            block_steps: ended.block_steps,
            encounter_count: cluster.encounters().len() as i32,
            approach_distance: f64::INFINITY,
            ..empty()
        };
        if let Some(approach) = ended.approach {
            let [first, second] = approach.bodies.map(|place| cluster.identifiers()[place]);
            (outcome.approach_first, outcome.approach_second) = (first, second);
            (outcome.approach_distance, outcome.approach_time) = (approach.distance, approach.time);
        }
        // SAFETY: not null, hence a structure.
        unsafe { structures::write("evolution", evolution, outcome) }
    })
}

/// Reads what ends an evolution: the options, the number of block steps, and the time between two calls
/// of the function.
///
/// # Safety
/// The options are null or a structure.
unsafe fn limits(options: *const kyoho_evolve_options) -> Result<(kyoho_evolve_options, u64, Duration)> {
    let given = if options.is_null() {
        empty()
    } else {
        // SAFETY: not null, hence a structure.
        unsafe { read("evolve_options", options) }?
    };
    if given.reserved != 0 {
        return Err(bad_field("kyoho_evolve_options.reserved", given.reserved, "0"));
    }
    let most = u64::try_from(given.block_steps).map_err(|_| Error::BadCount {
        what: "kyoho_evolve_options.block_steps",
        value: given.block_steps,
        allowed: "0 (no limit), 1 or more".into(),
    })?;
    let pause = Duration::try_from_secs_f64(given.progress_seconds).map_err(|_| {
        bad_field("kyoho_evolve_options.progress_seconds", given.progress_seconds, "finite numbers from 0")
    })?;
    Ok((given, most, pause))
}

/// Writes how many binaries the subsystems of an integrator have: bound pairs of bodies, and of
/// pairs.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_binary_count(
    integrator: *mut kyoho_integrator,
    count: *mut i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let count = required("count", count)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(count, 0) };
        let binaries = cluster.binaries()?.len() as i32;
        // SAFETY: as above.
        unsafe { boundary::write(count, binaries) };
        Ok(())
    })
}

/// Writes the binaries of the subsystems, innermost first in each.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (a stride that is not allowed), KYOHO_BUFFER_TOO_SMALL, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_binaries(
    integrator: *mut kyoho_integrator,
    binaries: *const kyoho_binaries,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        let wanted = unsafe { read("binaries", binaries) }?;
        let room = arrays::count("kyoho_binaries.capacity", wanted.capacity)?;
        let found = cluster.binaries()?;
        if room < found.len() {
            return Err(Error::BufferTooSmall { what: "the arrays of binaries", needed: found.len(), room });
        }
        let first: Option<Rows<i64, 1>> = Rows::optional("kyoho_binaries.first", wanted.first)?;
        let second: Option<Rows<i64, 1>> = Rows::optional("kyoho_binaries.second", wanted.second)?;
        let first_counts: Option<Rows<i32, 1>> = Rows::optional("kyoho_binaries.first_counts", wanted.first_counts)?;
        let second_counts: Option<Rows<i32, 1>> = Rows::optional("kyoho_binaries.second_counts", wanted.second_counts)?;
        let semi_major_axes: Option<Rows<f64, 1>> =
            Rows::optional("kyoho_binaries.semi_major_axes", wanted.semi_major_axes)?;
        let eccentricities: Option<Rows<f64, 1>> =
            Rows::optional("kyoho_binaries.eccentricities", wanted.eccentricities)?;
        let periods: Option<Rows<f64, 1>> = Rows::optional("kyoho_binaries.periods", wanted.periods)?;
        for (row, binary) in found.iter().enumerate() {
            let [one, other] = binary.members.each_ref();
            // SAFETY: the arrays have more than `row` elements.
            unsafe {
                put(first, row, [cluster.identifiers()[one[0]]]);
                put(second, row, [cluster.identifiers()[other[0]]]);
                put(first_counts, row, [one.len() as i32]);
                put(second_counts, row, [other.len() as i32]);
                put(semi_major_axes, row, [binary.orbit.semi_major_axis]);
                put(eccentricities, row, [binary.orbit.eccentricity]);
                put(periods, row, [binary.orbit.period]);
            }
        }
        Ok(())
    })
}

/// Writes the encounters that ended the last evolution, until bodies are added, changed or removed.
///
/// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (a stride that is not allowed), KYOHO_BUFFER_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_encounters(
    integrator: *mut kyoho_integrator,
    encounters: *const kyoho_encounters,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure.
        let wanted = unsafe { read("encounters", encounters) }?;
        let room = arrays::count("kyoho_encounters.capacity", wanted.capacity)?;
        let found = cluster.encounters();
        if room < found.len() {
            return Err(Error::BufferTooSmall { what: "the arrays of encounters", needed: found.len(), room });
        }
        let kinds: Option<Rows<i32, 1>> = Rows::optional("kyoho_encounters.kinds", wanted.kinds)?;
        let first: Option<Rows<i64, 1>> = Rows::optional("kyoho_encounters.first", wanted.first)?;
        let second: Option<Rows<i64, 1>> = Rows::optional("kyoho_encounters.second", wanted.second)?;
        let distances: Option<Rows<f64, 1>> = Rows::optional("kyoho_encounters.distances", wanted.distances)?;
        let times: Option<Rows<f64, 1>> = Rows::optional("kyoho_encounters.times", wanted.times)?;
        for (row, encounter) in found.iter().enumerate() {
            let [one, other] = encounter.bodies.map(|place| cluster.identifiers()[place]);
            // SAFETY: the arrays have more than `row` elements.
            unsafe {
                put(kinds, row, [encounter.kind as i32]);
                put(first, row, [one]);
                put(second, row, [other]);
                put(distances, row, [encounter.distance]);
                put(times, row, [encounter.time]);
            }
        }
        Ok(())
    })
}

/// Writes the gravitational constant in a system of units, which `kyoho_integrator_options.gravity`
/// takes. `units` is "SI", or has a length, a mass and a time or a speed with spaces between them,
/// such as "pc Msun Myr" or "kpc 1e10Msun km/s"; docs/units.md has all.
///
/// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a unit that is not known).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_gravitational_constant(units: *const c_char, gravity: *mut f64) -> ResultCode {
    call(|| {
        // SAFETY: null or a text.
        let units = unsafe { boundary::long_text(units, "the names of units") }?;
        let units = units.ok_or(Error::NullArgument { argument: "units" })?;
        let gravity = required("gravity", gravity)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(gravity, gravitational_constant(&units)?) };
        Ok(())
    })
}

/// Computes the kinetic energy of the bodies and their potential energy, in which each pair counts
/// once and softening is included; in double precision, and in order 2 by the tree if there is one.
/// The potential energy in fields is part of it: `kyoho_integrator_field_energy` has that alone. The
/// sum is conserved in fields that do not depend on time or velocities. Both pointers may be NULL.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE (in a field), KYOHO_OUT_OF_RANGE, KYOHO_NO_BACKEND,
/// KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_energies(
    integrator: *mut kyoho_integrator,
    kinetic: *mut f64,
    potential: *mut f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let energy = cluster.energies()?;
        // SAFETY: null or room for a number.
        unsafe {
            boundary::write(kinetic, energy.kinetic);
            boundary::write(potential, energy.potential + energy.field);
        }
        Ok(())
    })
}

/// Computes the potential energy of the bodies in fields: the sum of each mass times the potential
/// there. Fields whose text has an acceleration alone have none.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_field_energy(
    integrator: *mut kyoho_integrator,
    energy: *mut f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let energy = required("energy", energy)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(energy, cluster.field_energy()?) };
        Ok(())
    })
}

/// Writes the state of an integrator: its bodies with their identifiers, radii and time, the steps
/// and derivatives with which the next evolution goes on, its fields, and its groups. `state` has
/// room for `room` bytes, and may be NULL if there is none; `needed`, which may be NULL, receives
/// the bytes of the state.
///
/// An integrator of the same order that is given these bytes by `kyoho_integrator_set_state` goes on
/// with the same bits, if it was made with the same options, on the same kind of device, by the
/// same version of the library. Choices and counts are no part of a state.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (a negative room),
/// KYOHO_BAD_OPTION (a field that is a function), KYOHO_BUFFER_TOO_SMALL, after which nothing was
/// written but `needed`, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_state(
    integrator: *mut kyoho_integrator,
    state: *mut c_void,
    room: i64,
    needed: *mut i64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let size = cluster.state_size();
        // SAFETY: null or room for a number.
        unsafe { boundary::write(needed, size as i64) };
        let bad = |_| Error::BadCount { what: "room", value: room, allowed: "0 or more".into() };
        let room = usize::try_from(room).map_err(bad)?;
        if room < size {
            return Err(Error::BufferTooSmall { what: "the room for the state", needed: size, room });
        }
        let (to, bytes) = (required("state", state)?, cluster.state()?);
        // SAFETY: the caller's room, which no memory of the library overlaps.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
        Ok(())
    })
}

/// Goes on from a state of `size` bytes, which `kyoho_integrator_state` gave, in place of the bodies
/// and fields that the integrator has. What was made with it stays: its options and its counts.
///
/// Errors, after which nothing was changed: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT
/// (a negative size), KYOHO_BAD_OPTION (bytes that are no state, or that of another order),
/// KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_set_state(
    integrator: *mut kyoho_integrator,
    state: *const c_void,
    size: i64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let bad = |_| Error::BadCount { what: "size", value: size, allowed: "0 or more".into() };
        let size = usize::try_from(size).map_err(bad)?;
        let state = required("state", state.cast_mut())?;
        // SAFETY: the caller's promise of so many bytes.
        cluster.set_state(unsafe { std::slice::from_raw_parts(state.cast(), size) })
    })
}

/// Describes an integrator: its bodies, their time, and counts of its work.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a `structure_size` that is not
/// allowed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_describe(
    integrator: *mut kyoho_integrator,
    integration: *mut kyoho_integration,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let Counts { steps, block_steps, limited_steps, interactions, energy_jumps } = cluster.counts();
        let mut found = kyoho_integration {
            body_count: cluster.identifiers().len() as i32,
            time: cluster.time(),
            steps,
            block_steps,
            limited_steps,
            interactions,
            energy_jumps,
            group_count: cluster.groups().count() as i64,
            ..empty()
        };
        if let Some(([first, second], jump)) = cluster.energy_jump() {
            (found.jump_first, found.jump_second) = (first, second);
            (found.jump_time, found.jump_distance, found.jump_step) = (jump.time, jump.distance, jump.step);
            (found.jump_energy, found.jump_limited_steps) = (jump.energy, jump.limited_steps);
        }
        // SAFETY: null or a structure.
        unsafe { structures::write("integration", integration, found) }
    })
}

/// The text of the last failing call on an integrator, as `kyoho_system_last_error` has it for
/// systems.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_integrator_last_error(integrator: *mut kyoho_integrator) -> *const c_char {
    INTEGRATORS.last_error(integrator.addr()).unwrap_or_else(|_| kyoho_last_error())
}

/// Frees an integrator; its handle is none from then on. A call that is under way on it is waited
/// for.
///
/// Errors: KYOHO_BAD_HANDLE, also for NULL and for one that was freed before.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_integrator_free(integrator: *mut kyoho_integrator) -> ResultCode {
    call(|| INTEGRATORS.remove(integrator.addr()).map(drop).map_err(of_integrator))
}

#[cfg(test)]
mod tests {
    use crate::abi::panicking::{At, Told};
    use kyoho_core::{Order, Precision};

    use super::*;

    #[test]
    fn an_integrator_on_which_a_call_panicked_can_only_be_freed() {
        let told = Told::default();
        let (_, system) = told.system(Order::Fourth, Precision::Double, Scope::Full);
        let choices = Choices { softening: 0.1, ..Choices::default() };
        let handle = INTEGRATORS.insert(Cluster::new(system, choices).unwrap()).unwrap();
        let integrator: *mut kyoho_integrator = ptr::without_provenance_mut(handle);
        let (identifiers, masses, positions) = ([3i64, 4], [1.0; 2], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        let mut bodies: kyoho_bodies = empty();
        (bodies.count, bodies.identifiers.data) = (2, identifiers.as_ptr());
        (bodies.masses.data, bodies.positions.data) = (masses.as_ptr(), positions.as_ptr());
        let mut evolution: kyoho_evolution = empty();
        // SAFETY: the structures have arrays of as many rows as they say.
        unsafe {
            assert_eq!(kyoho_integrator_add_bodies(integrator, &raw const bodies), ResultCode::Ok);
            told.panic_at(At::Wait);
            let mut evolve = || kyoho_integrator_evolve(integrator, 0.1, ptr::null(), &raw mut evolution);
            assert_eq!(evolve(), ResultCode::Internal);
            told.panic_at(At::Nowhere);
            for refused in [
                evolve(),
                kyoho_integrator_set_bodies(integrator, &raw const bodies),
                kyoho_integrator_remove_bodies(integrator, 1, identifiers.as_ptr()),
                kyoho_integrator_energies(integrator, ptr::null_mut(), ptr::null_mut()),
            ] {
                assert_eq!(refused, ResultCode::Poisoned);
            }
        }
        assert_eq!((told.open(), kyoho_integrator_free(integrator), told.open()), (1, ResultCode::Ok, 0));
        assert_eq!(kyoho_integrator_free(integrator), ResultCode::BadHandle);
    }
}
