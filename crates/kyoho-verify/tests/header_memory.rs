//! Every function of `kyoho.h` where memory runs out: it fails with an error that says so, and works
//! when it is called again with memory.

#[path = "../../../tests/common/mod.rs"]
mod common;
mod refusing;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;

use kyoho::abi::native::block::*;
use kyoho::abi::native::few_body::*;
use kyoho::abi::native::integrators::*;
use kyoho::abi::native::interactions::*;
use kyoho::abi::native::lists::*;
use kyoho::abi::native::log::*;
use kyoho::abi::native::models::*;
use kyoho::abi::native::pairs::*;
use kyoho::abi::native::sources::*;
use kyoho::abi::native::structures::*;
use kyoho::abi::native::system::*;
use kyoho::abi::native::trees::*;
use kyoho_core::ResultCode;
use kyoho_verify::models::plummer;

use common::root;
use refusing::{again_in_c, call, is_alone, refuse_this_thread_alone, stride, try_each};

/// A law whose pairs are softened.
const LAW: &CStr = c"pair pull\ni pos: vec3<f64>\nj pos: vec3<f64>, mass: f64\nparam eps: f64
result potential: f64 sum\nbody\n  potential -= 0.01 * j.mass * rsqrt(norm2(j.pos - i.pos) + eps^2)\n";

/// The functions that were called.
static SWEPT: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

fn code(result: ResultCode) -> c_int {
    result as c_int
}

/// Calls a function, which may be refused memory, and again with memory if it fails.
macro_rules! swept {
    ($name:ident($($argument:expr),*)) => {{
        SWEPT.lock().unwrap().insert(stringify!($name));
        // SAFETY: the arguments are what the function asks for, with room for what it writes.
        #[allow(unused_unsafe)]
        again_in_c(|| code(unsafe { $name($($argument),*) }), || require_words(stringify!($name)));
    }};
}

/// Calls a function that has no memory to ask for, or fails for another reason, and returns what it
/// does.
macro_rules! called {
    ($name:ident($($argument:expr),*)) => {{
        SWEPT.lock().unwrap().insert(stringify!($name));
        // SAFETY: as above.
        #[allow(unused_unsafe)]
        call(|| unsafe { $name($($argument),*) })
    }};
}

/// Checks that a failed call says that there was no memory.
fn require_words(name: &str) {
    // SAFETY: the string stays until the next call that fails.
    let words = unsafe { CStr::from_ptr(kyoho_last_error()) }.to_str().unwrap();
    assert!(words.contains("no memory for ") && words.contains(" bytes"), "{name}: {words}");
}

const BODIES: usize = 600;

/// Bodies as C programs have them.
struct Arrays {
    index: Vec<i32>,
    mass: Vec<f64>,
    position: Vec<[f64; 3]>,
    velocity: Vec<[f64; 3]>,
    radius2: Vec<f64>,
    potential: Vec<f64>,
    acceleration: Vec<[f64; 3]>,
}

impl Arrays {
    fn new(count: usize) -> Arrays {
        let bodies = plummer(count);
        Arrays {
            index: (0..count as i32).collect(),
            mass: bodies.iter().map(|body| body.mass).collect(),
            position: bodies.iter().map(|body| body.coefficients[0]).collect(),
            velocity: bodies.iter().map(|body| body.coefficients[1]).collect(),
            radius2: vec![0.04; count],
            potential: vec![0.0; count],
            acceleration: vec![[0.0; 3]; count],
        }
    }

    fn sources(&self) -> kyoho_sources {
        let mut sources: kyoho_sources = empty();
        sources.count = self.mass.len() as i32;
        (sources.masses.data, sources.positions.data) = (self.mass.as_ptr(), self.position.as_ptr().cast());
        sources
    }

    fn sinks(&self, count: usize) -> kyoho_sinks {
        let mut sinks: kyoho_sinks = empty();
        sinks.count = count as i32;
        (sinks.indices.data, sinks.positions.data) = (self.index.as_ptr(), self.position.as_ptr().cast());
        sinks
    }

    fn forces(&mut self) -> kyoho_forces {
        let mut forces: kyoho_forces = empty();
        forces.potentials.data = self.potential.as_mut_ptr();
        forces.accelerations.data = self.acceleration.as_mut_ptr().cast();
        forces
    }

    fn bits(&self, bits: &mut Vec<u64>) {
        bits.extend(self.acceleration.iter().flatten().chain(&self.potential).map(|value| value.to_bits()));
    }
}

/// Makes a system of an order and a precision on one thread of the CPU, by a tree if an accuracy is
/// given.
fn create(order: i32, precision: i32, accuracy: f64) -> *mut kyoho_system {
    let options = kyoho_options { order, precision, backend: 1, threads: 1, accuracy, ..empty() };
    let mut system = ptr::null_mut();
    swept!(kyoho_system_create(&raw const options, &raw mut system));
    system
}

/// Every call on systems of direct sums, of which those in two doubles are compiled from a text.
fn systems(order: i32, precision: i32) -> Vec<u64> {
    let (mut bits, mut arrays) = (Vec::new(), Arrays::new(BODIES));
    let system = create(order, precision, 0.0);
    let mut sources = arrays.sources();
    sources.velocities.data = arrays.velocity.as_ptr().cast();
    swept!(kyoho_system_set_sources(system, &raw const sources));
    swept!(kyoho_system_set_time(system, 0.125));
    swept!(kyoho_system_set_crossover(system, -1));
    let mut sinks = arrays.sinks(100);
    sinks.velocities.data = arrays.velocity.as_ptr().cast();
    sinks.radii2.data = if precision == 4 { ptr::null() } else { arrays.radius2.as_ptr() };
    let forces = arrays.forces();
    swept!(kyoho_system_force(system, BODIES as i32, &raw const sinks, &raw const forces));
    arrays.bits(&mut bits);
    swept!(kyoho_system_start(system, BODIES as i32, &raw const sinks));
    // A failed wait ends the block.
    if called!(kyoho_system_wait(system, &raw const forces)) != ResultCode::Ok {
        swept!(kyoho_system_force(system, BODIES as i32, &raw const sinks, &raw const forces));
    }
    arrays.bits(&mut bits);
    swept!(kyoho_system_force_all(system, BODIES as i32, 0.01, &raw const forces));
    arrays.bits(&mut bits);
    if precision == 4 {
        swept!(kyoho_system_set_time_dd(system, 0.25, 1e-20));
    } else {
        let (mut list, mut length) = (vec![0; BODIES], 0);
        swept!(kyoho_system_neighbours(system, 3, BODIES as i32, list.as_mut_ptr(), &raw mut length));
        bits.extend(list[..length as usize].iter().map(|index| *index as u64));
        lists(system, &mut arrays, &mut bits);
        batches(system, &mut arrays, &mut bits);
    }
    let mut predictions: kyoho_predictions = empty();
    let mut predicted = vec![[0.0; 3]; BODIES];
    predictions.positions.data = predicted.as_mut_ptr().cast();
    swept!(kyoho_system_predict(system, 0, BODIES as i32, &raw const predictions));
    bits.extend(predicted.iter().flatten().map(|value: &f64| value.to_bits()));
    let (mut interaction, mut statistics): (kyoho_interaction, kyoho_statistics) = (empty(), empty());
    let (mut backend, mut count, mut name) = (0, 0, [0 as c_char; 100]);
    swept!(kyoho_system_describe(system, &raw mut interaction, (&raw mut backend).cast()));
    swept!(kyoho_system_device_count(system, &raw mut count));
    swept!(kyoho_system_device_name(system, 0, name.as_mut_ptr(), 100));
    swept!(kyoho_system_statistics(system, &raw mut statistics));
    bits.push(statistics.sources);
    if precision != 4 {
        let options = kyoho_options { backend: 1, threads: 1, ..empty() };
        swept!(kyoho_system_move(system, &raw const options));
        swept!(kyoho_system_force(system, BODIES as i32, &raw const sinks, &raw const forces));
        arrays.bits(&mut bits);
    }
    assert_eq!(called!(kyoho_system_free(system)), ResultCode::Ok);
    bits
}

/// Gives the only rank its own bytes.
unsafe extern "C" fn to_itself(
    _: *mut c_void,
    sent: *const c_void,
    count: i32,
    received: *mut c_void,
    _: *const i32,
    _: *const i32,
) -> i32 {
    // SAFETY: both have so many bytes.
    unsafe { ptr::copy_nonoverlapping(sent.cast::<u8>(), received.cast(), count as usize) };
    0
}

/// Does the same.
unsafe extern "C" fn all_to_itself(
    context: *mut c_void,
    sent: *const c_void,
    counts: *const i32,
    offsets: *const i32,
    received: *mut c_void,
    _: *const i32,
    _: *const i32,
) -> i32 {
    // SAFETY: there is a count for the rank, and both have so many bytes.
    unsafe { to_itself(context, sent, *counts, received, counts, offsets) }
}

/// The calls of all ranks, of which there is one.
fn over_ranks() -> Vec<u64> {
    let (mut bits, mut arrays) = (Vec::new(), Arrays::new(BODIES));
    let mut communicator: kyoho_communicator = empty();
    communicator.size = 1;
    communicator.all_gather = Some(to_itself);
    communicator.all_to_all = Some(all_to_itself);
    let communicator = &raw const communicator;
    let options = kyoho_options { order: 4, precision: 3, backend: 1, threads: 1, communicator, ..empty() };
    let mut system = ptr::null_mut();
    swept!(kyoho_system_create(&raw const options, &raw mut system));
    let (mut sources, mut sinks, forces) = (arrays.sources(), arrays.sinks(100), arrays.forces());
    sources.velocities.data = arrays.velocity.as_ptr().cast();
    (sinks.velocities.data, sinks.radii2.data) = (sources.velocities.data, arrays.radius2.as_ptr());
    swept!(kyoho_system_set_sources(system, &raw const sources));
    swept!(kyoho_system_force(system, BODIES as i32, &raw const sinks, &raw const forces));
    arrays.bits(&mut bits);
    let (mut list, mut length) = (vec![0; BODIES], 0);
    swept!(kyoho_system_neighbours(system, 3, BODIES as i32, list.as_mut_ptr(), &raw mut length));
    bits.extend(list[..length as usize].iter().map(|index| *index as u64));
    swept!(kyoho_system_start_all(system, BODIES as i32, 0.01));
    if called!(kyoho_system_wait(system, &raw const forces)) != ResultCode::Ok {
        swept!(kyoho_system_force_all(system, BODIES as i32, 0.01, &raw const forces));
    }
    arrays.bits(&mut bits);
    lists(system, &mut arrays, &mut bits);
    assert_eq!(called!(kyoho_system_free(system)), ResultCode::Ok);
    bits
}

/// Forces on groups with lists of their own.
fn lists(system: *mut kyoho_system, arrays: &mut Arrays, bits: &mut Vec<u64>) {
    let (mut sinks, forces, mut groups): (_, _, kyoho_lists) = (arrays.sinks(100), arrays.forces(), empty());
    sinks.velocities.data = arrays.velocity.as_ptr().cast();
    let (of_sinks, first, counts) = ([0, 40, 100], [0, 100], [500, 300]);
    (groups.group_count, groups.sink_offsets.data) = (2, of_sinks.as_ptr());
    (groups.first_addresses.data, groups.source_counts.data) = (first.as_ptr(), counts.as_ptr());
    swept!(kyoho_system_force_lists(system, &raw const groups, &raw const sinks, &raw const forces));
    arrays.bits(bits);
    swept!(kyoho_system_start_lists(system, &raw const groups, &raw const sinks));
    if called!(kyoho_system_wait(system, &raw const forces)) != ResultCode::Ok {
        swept!(kyoho_system_force_lists(system, &raw const groups, &raw const sinks, &raw const forces));
    }
    arrays.bits(bits);
}

/// Forces of a batch.
fn batches(system: *mut kyoho_system, arrays: &mut Arrays, bits: &mut Vec<u64>) {
    let (mut sources, forces, mut batch): (_, _, kyoho_batch) = (arrays.sources(), arrays.forces(), empty());
    sources.velocities.data = arrays.velocity.as_ptr().cast();
    let all = [0, 250, BODIES as i32];
    (batch.system_count, batch.offsets.data, batch.softening2) = (2, all.as_ptr(), 0.01);
    swept!(kyoho_system_force_batch(system, &raw const batch, &raw const sources, &raw const forces));
    arrays.bits(bits);
    swept!(kyoho_system_start_batch(system, &raw const batch, &raw const sources));
    if called!(kyoho_system_wait(system, &raw const forces)) != ResultCode::Ok {
        swept!(kyoho_system_force_batch(system, &raw const batch, &raw const sources, &raw const forces));
    }
    arrays.bits(bits);
}

/// Forces by a tree, its errors, and neighbours.
fn trees() -> Vec<u64> {
    const COUNT: usize = 3000;
    let (mut bits, mut arrays) = (Vec::new(), Arrays::new(COUNT));
    let system = create(2, 3, 1e-2);
    let (sources, mut sinks, forces) = (arrays.sources(), arrays.sinks(COUNT), arrays.forces());
    swept!(kyoho_system_set_sources(system, &raw const sources));
    swept!(kyoho_system_force_all(system, COUNT as i32, 0.01, &raw const forces));
    arrays.bits(&mut bits);
    swept!(kyoho_system_start_all(system, COUNT as i32, 0.01));
    if called!(kyoho_system_wait(system, &raw const forces)) != ResultCode::Ok {
        swept!(kyoho_system_force_all(system, COUNT as i32, 0.01, &raw const forces));
    }
    arrays.bits(&mut bits);
    sinks.count = COUNT as i32 - 1;
    swept!(kyoho_system_force(system, COUNT as i32, &raw const sinks, &raw const forces));
    arrays.bits(&mut bits);
    let mut errors: kyoho_tree_errors = empty();
    swept!(kyoho_system_tree_error(system, COUNT as i32, &raw const sinks, 50, &raw mut errors));
    bits.extend([errors.median, errors.worst].map(f64::to_bits));
    sinks.radii2.data = arrays.radius2.as_ptr();
    let mut offsets = vec![0; COUNT];
    swept!(kyoho_system_find_neighbours(system, COUNT as i32, &raw const sinks, offsets.as_mut_ptr()));
    let found = offsets[COUNT - 1];
    let mut addresses = vec![0; found as usize];
    swept!(kyoho_system_copy_found_neighbours(system, found, addresses.as_mut_ptr()));
    bits.extend(addresses.iter().map(|address| *address as u64));
    assert_eq!(called!(kyoho_system_free(system)), ResultCode::Ok);
    bits
}

/// A pair interaction from its text to its results.
fn pairs() -> Vec<u64> {
    let (mut bits, arrays) = (Vec::new(), Arrays::new(BODIES));
    let text = called!(kyoho_pair_gravity(4));
    let options = kyoho_pair_options { backend: 1, threads: 1, ..empty() };
    let mut pair = ptr::null_mut();
    swept!(kyoho_pair_compile(text, &raw const options, &raw mut pair));
    let count = BODIES as i64;
    for side in ["i", "j"] {
        let fields: [(&str, i32, *const c_void); 4] = [
            ("pos", 2, arrays.position.as_ptr().cast()),
            ("vel", 2, arrays.velocity.as_ptr().cast()),
            ("id", 5, arrays.index.as_ptr().cast()),
            ("mass", 2, arrays.mass.as_ptr().cast()),
        ];
        for (name, number_type, data) in &fields[..if side == "i" { 3 } else { 4 }] {
            let name = std::ffi::CString::new(format!("{side}.{name}")).unwrap();
            swept!(kyoho_pair_set(pair, name.as_ptr(), *number_type as _, *data, 0, count));
        }
    }
    let softening2 = 0.01;
    swept!(kyoho_pair_set_parameter(pair, c"eps2".as_ptr(), 2 as _, (&raw const softening2).cast(), 1));
    let mut results = |pair| {
        let mut found = vec![[0.0; 3]; BODIES];
        swept!(kyoho_pair_result(pair, c"acc".as_ptr(), 2 as _, found.as_mut_ptr().cast(), 0, count));
        bits.extend(found.iter().flatten().map(|value: &f64| value.to_bits()));
    };
    swept!(kyoho_pair_run(pair, count, count));
    results(pair);
    swept!(kyoho_pair_start(pair, count, count));
    swept!(kyoho_pair_wait(pair));
    results(pair);
    let (of_sinks, first, counts) = ([0, 40, BODIES as i32], [0, 100], [500, 300]);
    let mut groups: kyoho_lists = empty();
    (groups.group_count, groups.sink_offsets.data) = (2, of_sinks.as_ptr());
    (groups.first_addresses.data, groups.source_counts.data) = (first.as_ptr(), counts.as_ptr());
    swept!(kyoho_pair_run_lists(pair, &raw const groups, count));
    results(pair);
    swept!(kyoho_pair_start_lists(pair, &raw const groups, count));
    swept!(kyoho_pair_wait(pair));
    results(pair);
    let (mut text, mut needed) = (vec![0u8; 1 << 20], 0);
    let (to, room) = (text.as_mut_ptr().cast(), text.len() as i64);
    let mut take_text = |needed: i64| bits.extend(text[..needed as usize].iter().map(|byte| u64::from(*byte)));
    swept!(kyoho_pair_explain(pair, to, room, &raw mut needed));
    take_text(needed);
    for backend in [2, 3] {
        swept!(kyoho_pair_source(pair, backend as _, to, room, &raw mut needed));
        take_text(needed);
    }
    let mut variable: kyoho_pair_variable = empty();
    swept!(kyoho_pair_describe(pair, 1, 0, &raw mut variable));
    // There is no device whose memory could be given.
    let (memory, cuda) = (ptr::dangling_mut::<c_void>(), groups.cuda);
    let name = c"j.mass".as_ptr();
    let refused = called!(kyoho_pair_set_on_device(pair, name, 2 as _, memory, 0, 1, &raw const cuda));
    assert_ne!(refused, ResultCode::Ok);
    let name = c"acc".as_ptr();
    let refused = called!(kyoho_pair_result_on_device(pair, name, 2 as _, memory, 0, 1, &raw const cuda));
    assert_ne!(refused, ResultCode::Ok);
    assert!(!called!(kyoho_pair_last_error(pair)).is_null());
    assert_eq!(called!(kyoho_pair_free(pair)), ResultCode::Ok);
    bits
}

/// Bodies that an integrator of an order moves, by a tree if an accuracy is given.
/// A field that pulls nothing.
unsafe extern "C" fn no_force(
    _context: *mut c_void,
    value: i32,
    _time: f64,
    count: i32,
    _positions: *const f64,
    _velocities: *const f64,
    _accelerations: *const f64,
    values: *mut f64,
) -> i32 {
    // The potential is value 0.
    let each = if value == 0 { 1 } else { 3 };
    // SAFETY: there is room for a number, or a row of three, for each body.
    unsafe { values.write_bytes(0, each * count as usize) };
    0
}

fn integrators(order: i32, accuracy: f64, subsystem_radius: f64) -> Vec<u64> {
    let (mut bits, mut arrays) = (Vec::new(), Arrays::new(BODIES));
    let options = kyoho_options { order, backend: 1, threads: 1, accuracy, ..empty() };
    // One step at a time: what rounding takes off is forgotten where an evolution ends, so that one
    // that fails between two steps has other last digits.
    let dt_max = if order == 2 { 1.0 / 32.0 } else { 0.0 };
    let softening = if subsystem_radius > 0.0 { 0.0 } else { 0.1 };
    let given = kyoho_integrator_options { softening, dt_max, subsystem_radius, ..empty() };
    if subsystem_radius > 0.0 {
        // Two bodies on an ellipse.
        (arrays.position[1], arrays.velocity[1]) = (arrays.position[0], arrays.velocity[0]);
        arrays.position[1][0] += 1e-4;
        arrays.velocity[1][1] += 4.0;
    }
    let mut integrator = ptr::null_mut();
    swept!(kyoho_integrator_create(&raw const options, &raw const given, &raw mut integrator));
    let mut bodies: kyoho_bodies = empty();
    let known: Vec<i64> = arrays.index.iter().map(|index| i64::from(*index)).collect();
    (bodies.count, bodies.identifiers.data) = (BODIES as i32, known.as_ptr());
    (bodies.masses.data, bodies.positions.data) = (arrays.mass.as_ptr(), arrays.position.as_ptr().cast());
    bodies.velocities.data = arrays.velocity.as_ptr().cast();
    bodies.radii.data = if subsystem_radius > 0.0 { ptr::null() } else { arrays.mass.as_ptr() };
    swept!(kyoho_integrator_add_bodies(integrator, &raw const bodies));
    let mut evolution: kyoho_evolution = empty();
    swept!(kyoho_integrator_evolve(integrator, 1.0 / 32.0, ptr::null(), &raw mut evolution));
    let (field, names, numbers) = (c"plummer", c"radius mass", [0.5, 0.1]);
    swept!(kyoho_integrator_add_field(integrator, field.as_ptr(), names.as_ptr(), 2, numbers.as_ptr()));
    let (times, places) = ([0.0, 0.5, 1.0], [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.2, 0.0]);
    swept!(kyoho_integrator_add_moving_field(
        integrator,
        field.as_ptr(),
        names.as_ptr(),
        2,
        numbers.as_ptr(),
        3,
        times.as_ptr(),
        places.as_ptr(),
        ptr::null()
    ));
    bodies.count = 10;
    let (mut group, mut feels, mut own) = (0, [0; 2], 0.0);
    let of_group = [1; 10];
    if subsystem_radius == 0.0 {
        swept!(kyoho_integrator_add_group(integrator, 0.05, &raw mut group));
        swept!(kyoho_integrator_set_feels(integrator, 0, group, 0));
        swept!(kyoho_integrator_group(integrator, 0, &raw mut own, 2, feels.as_mut_ptr()));
        assert_eq!((group, feels, own), (1, [1, 0], softening));
        bodies.groups.data = of_group.as_ptr();
    }
    swept!(kyoho_integrator_set_bodies(integrator, &raw const bodies));
    swept!(kyoho_integrator_remove_bodies(integrator, 5, known[100..].as_ptr()));
    swept!(kyoho_integrator_evolve(integrator, 1.0 / 16.0, ptr::null(), &raw mut evolution));
    let (ensemble, until, mut code) = ([integrator], 5.0 / 64.0, -1);
    let all = (ensemble.as_ptr(), &raw const until, ptr::null(), &raw mut evolution, &raw mut code);
    swept!(kyoho_integrators_evolve(1, all.0, all.1, all.2, all.3, all.4));
    let (mut kinetic, mut potential) = (0.0, 0.0);
    swept!(kyoho_integrator_energies(integrator, &raw mut kinetic, &raw mut potential));
    bits.extend([kinetic, potential].map(f64::to_bits));
    swept!(kyoho_integrator_field_energy(integrator, &raw mut potential));
    bits.push(potential.to_bits());
    let mut identifiers = vec![0; BODIES];
    swept!(kyoho_integrator_identifiers(integrator, BODIES as i32, identifiers.as_mut_ptr()));
    let mut states: kyoho_body_states = empty();
    (states.count, states.identifiers.data) = (BODIES as i32 - 5, identifiers.as_ptr());
    (states.masses.data, states.positions.data) =
        (arrays.potential.as_mut_ptr(), arrays.acceleration.as_mut_ptr().cast());
    let (mut nearest, mut potentials) = (vec![0; BODIES], vec![0.0; BODIES]);
    (states.nearest.data, states.potentials.data) = (nearest.as_mut_ptr(), potentials.as_mut_ptr());
    swept!(kyoho_integrator_get_bodies(integrator, &raw const states));
    bits.extend(nearest.into_iter().map(i64::cast_unsigned).chain(potentials.into_iter().map(f64::to_bits)));
    arrays.bits(&mut bits);
    let mut encounters: kyoho_encounters = empty();
    let mut kinds = vec![0; BODIES];
    (encounters.capacity, encounters.kinds.data) = (BODIES as i32, kinds.as_mut_ptr());
    swept!(kyoho_integrator_encounters(integrator, &raw const encounters));
    let mut count = 0;
    swept!(kyoho_integrator_binary_count(integrator, &raw mut count));
    let mut binaries: kyoho_binaries = empty();
    let mut axes = vec![0.0; BODIES];
    (binaries.capacity, binaries.semi_major_axes.data) = (BODIES as i32, axes.as_mut_ptr());
    swept!(kyoho_integrator_binaries(integrator, &raw const binaries));
    assert_eq!(count > 0, subsystem_radius > 0.0);
    bits.extend(axes.into_iter().map(f64::to_bits));
    let (mut state, mut needed) = (vec![0u8; 1 << 18], 0);
    swept!(kyoho_integrator_state(integrator, state.as_mut_ptr().cast(), state.len() as i64, &raw mut needed));
    swept!(kyoho_integrator_set_state(integrator, state.as_ptr().cast(), needed));
    if order <= 4 {
        swept!(kyoho_integrator_add_field_function(integrator, Some(no_force), ptr::null_mut(), 1));
        swept!(kyoho_integrator_evolve(integrator, 3.0 / 32.0, ptr::null(), &raw mut evolution));
    }
    let mut integration: kyoho_integration = empty();
    swept!(kyoho_integrator_describe(integrator, &raw mut integration));
    bits.push(integration.body_count as u64);
    assert!(!called!(kyoho_integrator_last_error(integrator)).is_null());
    assert_eq!(called!(kyoho_integrator_free(integrator)), ResultCode::Ok);
    bits
}

/// An integrator of few bodies with a law between them.
fn laws() -> Vec<u64> {
    let options = kyoho_options { order: 4, backend: 1, threads: 1, ..empty() };
    let given: kyoho_integrator_options = empty();
    let mut integrator = ptr::null_mut();
    swept!(kyoho_integrator_create(&raw const options, &raw const given, &raw mut integrator));
    let (masses, positions, velocities) = ([0.5; 2], [0.5, 0.0, 0.0, -0.5, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0, -0.5, 0.0]);
    let (mut bodies, identifiers): (kyoho_bodies, [i64; 2]) = (empty(), [1, 2]);
    (bodies.count, bodies.identifiers.data, bodies.masses.data) = (2, identifiers.as_ptr(), masses.as_ptr());
    (bodies.positions.data, bodies.velocities.data) = (positions.as_ptr(), velocities.as_ptr());
    swept!(kyoho_integrator_add_bodies(integrator, &raw const bodies));
    let (eps, mut energy) = ([0.5], 0.0f64);
    swept!(kyoho_integrator_add_law(integrator, LAW.as_ptr(), c"eps".as_ptr(), 1, eps.as_ptr(), 0, 0));
    swept!(kyoho_integrator_law_energy(integrator, &raw mut energy));
    let mut evolution: kyoho_evolution = empty();
    // One step, as in the others.
    swept!(kyoho_integrator_evolve(integrator, 1.0 / 1024.0, ptr::null(), &raw mut evolution));
    let mut after = 0.0f64;
    swept!(kyoho_integrator_law_energy(integrator, &raw mut after));
    assert_eq!(called!(kyoho_integrator_free(integrator)), ResultCode::Ok);
    vec![energy.to_bits(), after.to_bits()]
}

/// Systems of few bodies and one of many, on this thread.
fn few_bodies() -> Vec<u64> {
    let mut arrays = Arrays::new(100);
    // On circles of their own, so that a short time takes few steps.
    for (place, (position, velocity)) in arrays.position.iter_mut().zip(&mut arrays.velocity).enumerate() {
        (*position, *velocity) = ([place as f64, (place % 7) as f64, 0.0], [0.0; 3]);
    }
    let options = kyoho_few_body_options { time: 1e-3, threads: 1, tolerance: 1e-6, ..empty() };
    let (offsets, mut ends) = ([0, 3, 3, 100], [-1; 3]);
    let mut systems: kyoho_few_body_systems = empty();
    (systems.system_count, systems.offsets.data) = (3, offsets.as_ptr());
    systems.masses.data = arrays.mass.as_ptr();
    systems.positions.data = arrays.position.as_mut_ptr().cast();
    systems.velocities.data = arrays.velocity.as_mut_ptr().cast();
    let mut outcomes: kyoho_few_body_outcomes = empty();
    outcomes.ends.data = ends.as_mut_ptr();
    swept!(kyoho_few_body_evolve(&raw const options, &raw const systems, &raw const outcomes));
    assert_eq!(ends, [0; 3]);
    arrays.position.iter().flatten().map(|value| value.to_bits()).collect()
}

/// The functions that need neither a system nor bodies.
fn others() {
    assert!(called!(kyoho_library_version()) > 0 && !called!(kyoho_version()).is_null());
    assert!(!called!(kyoho_result_text(0)).is_null() && !called!(kyoho_last_error()).is_null());
    assert!(!called!(kyoho_system_last_error(ptr::null_mut())).is_null());
    assert!(called!(kyoho_interaction_count()) > 0);
    let (mut interaction, mut devices): (kyoho_interaction, i32) = (empty(), 0);
    swept!(kyoho_interaction_describe(0, &raw mut interaction));
    swept!(kyoho_backend_available(1 as _, &raw mut devices));
    swept!(kyoho_set_log(None, ptr::null_mut(), 0 as _));
    let mut gravity = 0.0;
    swept!(kyoho_gravitational_constant(c"pc Msun Myr".as_ptr(), &raw mut gravity));
    models();
}

fn models() {
    let model = c"king,w0=3,radius=1 kroupa binaries,fraction=0.3,least=1AU,most=100AU".as_ptr();
    let (orbit, units) = (c"separation=5,eccentricity=1,pericentre=1".as_ptr(), c"pc Msun Myr".as_ptr());
    let (mut masses, mut positions, mut velocities) = ([0.0; 40], [0.0; 120], [0.0; 120]);
    let places = (positions.as_mut_ptr(), velocities.as_mut_ptr());
    swept!(kyoho_model_make(model, units, 40, 1, masses.as_mut_ptr(), places.0, places.1));
    swept!(kyoho_model_two_clusters(orbit, units, 20, 20, masses.as_ptr(), places.0, places.1));
}

/// Returns the functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(root().join("include/kyoho.h")).unwrap();
    let code: String = header.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('));
    let calls = words.filter_map(|word| word.split_once('(').map(|(name, _)| name.trim_start_matches('*')));
    calls.filter(|name| name.starts_with("kyoho_")).map(String::from).collect()
}

#[test]
fn every_function_of_the_header_survives_every_failure() {
    if !is_alone("every_function_of_the_header_survives_every_failure") {
        return;
    }
    refuse_this_thread_alone();
    others();
    try_each("quad", stride(23), || systems(4, 4));
    try_each("double", stride(23), || systems(4, 3));
    try_each("over ranks", stride(3), over_ranks);
    try_each("trees", stride(47), trees);
    try_each("pairs", stride(83), pairs);
    try_each("laws", stride(83), laws);
    try_each("few bodies", 1, few_bodies);
    try_each("order 4", stride(47), || integrators(4, 0.0, 0.0));
    try_each("order 2 by trees", stride(23), || integrators(2, 1e-2, 0.0));
    try_each("subsystems of order 6", stride(1301), || integrators(6, 0.0, 0.02));
    let swept: BTreeSet<String> = SWEPT.lock().unwrap().iter().map(|name| name.to_string()).collect();
    assert_eq!(swept, declared());
}
