//! If memory runs out, a call fails with an error that says so, and works when it is made again
//! with memory.
//!
//! The allocator of this program refuses allocations when a test asks for it. In each scenario it
//! refuses first the first large allocation, then the second, and so on until there are no more:
//! once that one alone, and once also all that follow in the call.

#[path = "../../../tests/common/mod.rs"]
mod common;
mod refusing;

use std::ffi::{CStr, c_int};
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::pocl::by_opencl;
use refusing::{ASKED_FOR, again, again_in_c, call, is_alone, is_alone_in, refuse, stride, try_all, try_each};

use kyoho::abi::g5::functions::*;
use kyoho::abi::g6::functions::*;
use kyoho::abi::hermite6::yebisu::*;
use kyoho::abi::native::block::*;
use kyoho::abi::native::sources::*;
use kyoho::abi::native::structures::*;
use kyoho::abi::native::system::*;
use kyoho::abi::nbody6::gpu2::*;
use kyoho::abi::nbody6::nbody6pp::*;
use kyoho::{Setup, System};
use kyoho_core::Level;
use kyoho_core::{Forces, Interaction, Order, Precision, ResultCode, Sink, Source};
use kyoho_engine::lists::{Division, GivenBodies, GivenLists, GivenSources, SourceDivision};
use kyoho_hal::Backend;
use kyoho_laws::catalogue::{self, CATALOGUE};
use kyoho_verify::hand_over_sinks;
use kyoho_verify::models::{plummer, sinks_of};

/// The number of sources. They fill a few chunks, and their table and neighbour lists are longer
/// than a page.
const SOURCES: usize = 700;
/// The numbers of sinks of small blocks and of one that several tasks compute.
const BLOCKS: [usize; 3] = [3, 150, 3];
/// An address beyond all others, for which the table of chunks grows.
const FAR: usize = 300 * 256;

fn setup(interaction: &Interaction, backend: Backend, threads: usize) -> Setup {
    Setup {
        order: interaction.order,
        precision: interaction.precision,
        scope: interaction.scope,
        backend,
        devices: vec![0],
        threads,
        level: Level::best(),
        shape: None,
        partition: None,
        crossover: Some(0),
        block_steps: None,
        fall_back: false,
    }
}

fn note(bits: &mut Vec<u64>, numbers: impl IntoIterator<Item = f64>) {
    bits.extend(numbers.into_iter().map(f64::to_bits));
}

fn note_forces(bits: &mut Vec<u64>, forces: &Forces) {
    for sink in 0..forces.len() {
        note(bits, [forces.potential(sink)]);
        let vectors = [forces.acceleration(sink), forces.jerk(sink), forces.snap(sink), forces.crackle(sink)];
        note(bits, vectors.into_iter().flatten());
        bits.extend(forces.nearest(sink).map(|nearest| nearest.index as u64));
    }
}

/// Returns the squared radius of a sink's neighbours. The first two sinks have all sources as
/// neighbours, the next has few and the others none.
fn radius2(number: usize) -> f64 {
    *[1e9, 1e9, 0.1].get(number).unwrap_or(&0.0)
}

/// Returns sinks of which some have neighbours.
fn sinks(sources: &[Source], count: usize) -> Vec<Sink> {
    let mut sinks = sinks_of(&sources[..count], 0.01);
    for (number, sink) in sinks.iter_mut().enumerate() {
        (sink.radius2, sink.step) = (radius2(number), 0.01);
    }
    sinks
}

fn opened(setup: &Setup) -> System {
    again(|| System::new(setup))
}

/// Runs blocks with writes between and during them, makes lists, and calls every other function of
/// a system.
fn life(mut system: System) -> Vec<u64> {
    let sources = plummer(SOURCES);
    let mut bits = Vec::new();
    for (address, source) in sources.iter().enumerate() {
        again(|| system.set_source(address, source));
    }
    let has_lists = system.interaction().has_lists();
    for (step, count) in BLOCKS.into_iter().enumerate() {
        let sinks = sinks(&sources, count);
        again(|| system.set_time(step as f64 / 16.0));
        match step % 2 {
            0 => again(|| system.start(FAR + 1, true, sinks.iter().copied())),
            _ => again(|| system.start_from_fn(FAR + 1, true, count, |number| sinks[number])),
        }
        // While the block is under way, and while its lists may still be made, writes have to wait.
        again(|| system.set_source(FAR - 100 * step, &sources[step]));
        if call(|| system.wait().map(|_| ())).is_err() {
            again(|| system.force(FAR + 1, true, sinks.iter().copied()).map(|_| ()));
        }
        note_forces(&mut bits, &system.forces().unwrap());
        for (address, source) in sources.iter().enumerate().take(if step == 1 { SOURCES } else { 10 }) {
            again(|| system.set_source(address, source));
        }
        for sink in 0..if has_lists { 3 } else { 0 } {
            again(|| system.neighbours(sink).map(|_| ()));
            bits.extend(system.neighbours(sink).unwrap().iter().map(|index| *index as u64));
        }
        let statistics = call(|| system.statistics());
        bits.extend([statistics.sources, statistics.writes]);
    }
    for source in again(|| system.sources(0..SOURCES)).into_iter().flatten() {
        note(&mut bits, source.coefficients.into_iter().flatten());
    }
    for source in again(|| system.predicted(0..SOURCES)).into_iter().flatten() {
        note(&mut bits, source.into_iter().flatten());
    }
    bits
}

#[test]
fn a_system_of_every_order_survives_every_failure() {
    if is_alone("a_system_of_every_order_survives_every_failure") {
        // Others are compiled from a text, which `header_memory.rs` does.
        for interaction in catalogue::with_kernels() {
            // All orders and precisions have the same allocations, of other sizes.
            let is_first = (interaction.order, interaction.precision) == (Order::Fourth, Precision::Double);
            try_each(&interaction.name(), if is_first { 1 } else { stride(7) }, || {
                life(opened(&setup(interaction, Backend::Cpu, 1)))
            });
        }
    }
}

#[test]
fn a_system_with_several_threads_or_devices_survives_every_failure() {
    if is_alone("a_system_with_several_threads_or_devices_survives_every_failure") {
        for interaction in CATALOGUE.iter().filter(|entry| entry.precision == Precision::Mixed) {
            let several = setup(interaction, Backend::Cpu, 3);
            let two_devices = Setup { devices: vec![0, 0], ..several.clone() };
            // Starting a thread takes memory of the system and the standard library that is not
            // under test. Systems share the threads of one that lives, so that they are started
            // here.
            let _threads = System::new(&two_devices).unwrap();
            try_each("3 threads", stride(7), || life(opened(&several)));
            try_each("2 devices", stride(7), || life(opened(&two_devices)));
        }
    }
}

/// Computes the forces on groups with lists in each form, and of a batch, with blocks in between.
fn life_with_lists(mut system: System) -> Vec<u64> {
    const SINKS: usize = 150;
    let sources = plummer(SOURCES);
    let sinks = sinks_of(&sources[..SINKS], 0.01);
    for (address, source) in sources.iter().enumerate() {
        again(|| system.set_source(address, source));
    }
    let copy = |from: &[f64], first: usize, to: &mut [f64]| to.copy_from_slice(&from[first..][..to.len()]);
    let masses: Vec<f64> = sources.iter().map(|source| source.mass).collect();
    let positions: Vec<f64> = sources.iter().flat_map(|source| source.coefficients[0]).collect();
    let masses = |first: usize, to: &mut [f64]| copy(&masses, first, to);
    let positions = |first: usize, to: &mut [f64]| copy(&positions, 3 * first, to);
    let mut own = GivenBodies { softening2: 0.01, ..GivenBodies::default() };
    own.columns.derivatives[0] = Some(&positions);
    own.columns.masses = Some(&masses);
    let own = |count| GivenBodies { count, ..own };
    let addresses = |first: usize, to: &mut [i32]| {
        (first..).zip(to).for_each(|(place, address)| *address = (place * 7 % SOURCES) as i32);
    };
    let (sink_offsets, source_offsets) = ([0, 3, 3, SINKS as i64], [0, 600, 650, SOURCES as i64]);
    let of_sinks = |number: usize| sink_offsets[number];
    let offsets = SourceDivision::Offsets(&|number| source_offsets[number]);
    let mut bits = Vec::new();
    for step in 0..6 {
        let start = |system: &mut System, sinks: &GivenBodies| {
            let by = |sources| Division::Host { sinks: &of_sinks, sources };
            let ranges = SourceDivision::Ranges(&|group| [100, [500, 0, 600][group]]);
            let (division, sources) = match step % 4 {
                0 => (by(ranges), GivenSources::Ranges),
                1 => (by(offsets), GivenSources::Addresses(&addresses)),
                2 => (by(offsets), GivenSources::Own(own(SOURCES))),
                _ => return system.start_batch(3, by(SourceDivision::Offsets(&of_sinks)), &own(SINKS)),
            };
            system.start_lists(true, sinks, &GivenLists { groups: 3, division, sources })
        };
        hand_over_sinks(&sinks, |sinks| {
            again(|| start(&mut system, sinks).and_then(|()| system.wait().map(|_| ())));
        });
        note_forces(&mut bits, &system.forces().unwrap());
        if step % 3 == 0 {
            again(|| system.force(SOURCES, true, sinks.iter().copied()).map(|_| ()));
        }
    }
    bits
}

#[test]
fn interaction_lists_survive_every_failure() {
    if is_alone("interaction_lists_survive_every_failure") {
        let one = setup(&catalogue::interaction(Order::Fourth, Precision::Double).unwrap(), Backend::Cpu, 1);
        try_all("one device", || life_with_lists(opened(&one)));
        let several = Setup { devices: vec![0; 3], ..one };
        // Systems share the threads of one that lives, so that none is started under test.
        let _threads = System::new(&several).unwrap();
        try_each("several devices", stride(7), || life_with_lists(opened(&several)));
    }
}

#[test]
fn a_system_on_opencl_survives_every_failure() {
    let test = "a_system_on_opencl_survives_every_failure";
    if is_alone_in(test, by_opencl(Command::new(std::env::current_exe().unwrap()), &[])) {
        let interactions = CATALOGUE.iter().filter(|entry| entry.order == Order::Fourth);
        for interaction in interactions.filter(|entry| entry.precision == Precision::Double) {
            // Opening a device takes the memory of its driver and its programs, which does not grow
            // with the sources, so it is not under test.
            try_all(&interaction.name(), || life(System::new(&setup(interaction, Backend::OpenCl, 1)).unwrap()));
        }
    }
}

/// Arrays as C programs have them.
struct Arrays {
    index: Vec<c_int>,
    mass: Vec<f64>,
    position: Vec<[f64; 3]>,
    velocity: Vec<[f64; 3]>,
    zeros: Vec<[f64; 3]>,
    radius2: Vec<f64>,
    acceleration: Vec<[f64; 3]>,
    jerk: Vec<[f64; 3]>,
    potential: Vec<f64>,
    list: Vec<c_int>,
}

impl Arrays {
    fn new() -> Arrays {
        let sources = plummer(SOURCES);
        Arrays {
            index: (0..SOURCES as c_int).collect(),
            mass: sources.iter().map(|source| source.mass).collect(),
            position: sources.iter().map(|source| source.coefficients[0]).collect(),
            velocity: sources.iter().map(|source| source.coefficients[1]).collect(),
            zeros: vec![[0.0; 3]; SOURCES],
            radius2: (0..SOURCES).map(radius2).collect(),
            acceleration: vec![[0.0; 3]; SOURCES],
            jerk: vec![[0.0; 3]; SOURCES],
            potential: vec![0.0; SOURCES],
            list: vec![0; 40 * (SOURCES + 1)],
        }
    }

    /// Notes the forces on the first `ni` sinks.
    fn note(&self, bits: &mut Vec<u64>, ni: usize) {
        note(bits, self.acceleration[..ni].iter().chain(&self.jerk[..ni]).copied().flatten());
        note(bits, self.potential[..ni].iter().copied());
    }

    /// Checks after a failed call that no number is left that could be taken for a force.
    fn require_nan(&self, ni: usize) {
        assert!(self.acceleration[..ni].iter().flatten().all(|value| value.is_nan()));
        assert!(self.potential[..ni].iter().all(|value| value.is_nan()));
    }
}

fn code(result: ResultCode) -> c_int {
    result as c_int
}

/// Makes a system of order 4 in double on the CPU.
fn create(system: &mut *mut kyoho_system) -> c_int {
    let options = kyoho_options { order: 4, precision: 3, backend: 1, threads: 1, ..empty() };
    // SAFETY: the pointers are to a structure and to room for a handle.
    code(unsafe { kyoho_system_create(&raw const options, system) })
}

/// Checks that a failed call of the C interface gives the reason.
fn require_words(system: *mut kyoho_system) {
    // SAFETY: the string stays until the next call that fails.
    let words = unsafe { CStr::from_ptr(kyoho_system_last_error(system)) }.to_str().unwrap();
    assert!(words.contains("no memory for ") && words.contains(" bytes"), "{words}");
}

#[test]
fn the_native_calls_survive_every_failure() {
    if !is_alone("the_native_calls_survive_every_failure") {
        return;
    }
    try_all("native", || {
        let (mut bits, mut arrays) = (Vec::new(), Arrays::new());
        let mut system = ptr::null_mut();
        again_in_c(|| create(&mut system), || require_words(ptr::null_mut()));
        let (mut sources, mut sinks): (kyoho_sources, kyoho_sinks) = (empty(), empty());
        let (mut forces, mut predictions): (kyoho_forces, kyoho_predictions) = (empty(), empty());
        sources.count = SOURCES as i32;
        (sources.masses.data, sources.positions.data) = (arrays.mass.as_ptr(), arrays.position.as_ptr().cast());
        sources.velocities.data = arrays.velocity.as_ptr().cast();
        sinks.count = 100;
        (sinks.indices.data, sinks.positions.data) = (arrays.index.as_ptr(), arrays.position.as_ptr().cast());
        (sinks.velocities.data, sinks.radii2.data) = (arrays.velocity.as_ptr().cast(), arrays.radius2.as_ptr());
        forces.potentials.data = arrays.potential.as_mut_ptr();
        forces.accelerations.data = arrays.acceleration.as_mut_ptr().cast();
        forces.jerks.data = arrays.jerk.as_mut_ptr().cast();
        predictions.positions.data = arrays.zeros.as_mut_ptr().cast();
        let words = || require_words(system);
        // SAFETY: the arrays have this many rows.
        unsafe {
            again_in_c(|| code(kyoho_system_set_sources(system, &raw const sources)), words);
            again_in_c(|| code(kyoho_system_set_time(system, 0.125)), words);
            again_in_c(|| code(kyoho_system_force(system, SOURCES as i32, &raw const sinks, &raw const forces)), words);
            for sink in 0..4 {
                let mut length = 0;
                let list = arrays.list.as_mut_ptr();
                again_in_c(
                    || code(kyoho_system_neighbours(system, sink, SOURCES as i32, list, &raw mut length)),
                    words,
                );
                bits.extend(arrays.list[..length as usize].iter().map(|index| *index as u64));
            }
            again_in_c(|| code(kyoho_system_predict(system, 0, SOURCES as i32, &raw const predictions)), words);
        }
        arrays.note(&mut bits, 100);
        note(&mut bits, arrays.zeros.iter().copied().flatten());
        assert_eq!(call(|| kyoho_system_free(system)), ResultCode::Ok);
        bits
    });
}

#[test]
fn handles_survive_every_failure() {
    if !is_alone("handles_survive_every_failure") {
        return;
    }
    // The scenario makes the first system, and the first for which the first handles have no room.
    for others in [0, 63] {
        (0..others).for_each(|_| assert_eq!(create(&mut ptr::null_mut()), 0));
        let mut system = ptr::null_mut();
        for number in 0.. {
            refuse(number, false);
            match call(|| create(&mut system)) {
                0 => break,
                failure => assert_eq!((failure, system), (code(ResultCode::OutOfMemory), ptr::null_mut())),
            }
            require_words(system);
        }
        assert!(ASKED_FOR.load(SeqCst) > 0, "handles are allocated");
        assert_eq!(kyoho_system_set_time(system, 1.0), ResultCode::Ok);
    }
}

#[test]
fn the_calls_of_grape_6_survive_every_failure() {
    if !is_alone("the_calls_of_grape_6_survive_every_failure") {
        return;
    }
    try_all("GRAPE-6", || {
        let (mut bits, mut arrays) = (Vec::new(), Arrays::new());
        let nj = SOURCES as c_int;
        // SAFETY: the arrays have the rows that the calls read and write.
        unsafe {
            again_in_c(|| g6_open(0), || ());
            for k in 0..SOURCES {
                let Arrays { mass, position, velocity, zeros, .. } = &mut arrays;
                let [zero, v, x] = [&mut zeros[k], &mut velocity[k], &mut position[k]].map(|row| row.as_mut_ptr());
                let index = k as c_int;
                let set = || g6_set_j_particle(0, index, index, 0.0, 0.1, mass[k], zero, zero, zero, v, x);
                again_in_c(set, || ());
            }
            again_in_c(|| g6_set_ti(0, 0.0625), || ());
            for ni in [3, 150] {
                let force = |arrays: &mut Arrays| {
                    let Arrays { index, position, velocity, zeros, radius2, acceleration, jerk, potential, .. } =
                        arrays;
                    let (i, x, v, h2) =
                        (index.as_mut_ptr(), position.as_mut_ptr(), velocity.as_mut_ptr(), radius2.as_mut_ptr());
                    let (old, pot) = (zeros.as_mut_ptr(), potential.as_mut_ptr());
                    let first = g6calc_firsthalf(0, nj, ni, i, x, v, old, old, pot, 0.01, h2);
                    let (acc, jrk) = (acceleration.as_mut_ptr(), jerk.as_mut_ptr());
                    let last = g6calc_lasthalf(0, nj, ni, i, x, v, 0.01, h2, acc, jrk, pot);
                    assert!(first == 0 || last != 0, "what did not begin cannot end");
                    last
                };
                if call(|| force(&mut arrays)) != 0 {
                    arrays.require_nan(ni as usize);
                    assert_eq!(force(&mut arrays), 0, "with memory");
                }
                arrays.note(&mut bits, ni as usize);
                for sink in 0..3 {
                    let (mut length, list) = (0, arrays.list.as_mut_ptr());
                    let get = |length: &mut c_int| g6_get_neighbour_list(0, sink, nj, length, list);
                    if call(|| get(&mut length)) != 0 {
                        assert_eq!((length, get(&mut length)), (0, 0));
                    }
                    bits.extend(arrays.list[..length as usize].iter().map(|index| *index as u64));
                }
            }
            assert_eq!(call(|| g6_close(0)), 0);
        }
        bits
    });
}

#[test]
fn the_calls_of_grape_5_survive_every_failure() {
    if !is_alone("the_calls_of_grape_5_survive_every_failure") {
        return;
    }
    // A board that was made stays, so each run uses another one.
    static BOARDS: AtomicUsize = AtomicUsize::new(1);
    try_all("GRAPE-5", || {
        let (mut bits, mut arrays) = (Vec::new(), Arrays::new());
        let board = BOARDS.fetch_add(1, SeqCst) as c_int;
        let nj = SOURCES as c_int;
        // SAFETY: the arrays have the rows that the calls read and write.
        unsafe {
            again_in_c(|| g5_open(), || ());
            g5_set_eps2_to_all(0.01);
            again_in_c(|| g5_set_n(nj), || ());
            again_in_c(|| g5_set_nMC(board, nj), || ());
            let (mass, position) = (arrays.mass.as_mut_ptr(), arrays.position.as_mut_ptr());
            if call(|| g5_set_xmj(0, nj, position, mass)) != 0 {
                // A board that could not be made has to be opened again.
                assert_eq!(g5_open(), 0);
                assert_eq!(g5_set_xmj(0, nj, position, mass), 0, "with memory");
            }
            let softening2 = arrays.radius2.as_mut_ptr();
            again_in_c(|| g5_set_xei(nj, position, softening2), || ());
            again_in_c(|| g5_run(), || ());
            let (acceleration, potential) = (arrays.acceleration.as_mut_ptr(), arrays.potential.as_mut_ptr());
            if call(|| g5_get_force(nj, acceleration, potential)) != 0 {
                arrays.require_nan(SOURCES);
                assert_eq!((g5_run(), g5_get_force(nj, acceleration, potential)), (0, 0), "with memory");
            }
            arrays.note(&mut bits, SOURCES);
            assert_eq!(call(|| g5_close()), 0);
        }
        bits
    });
}

#[test]
fn the_calls_of_order_6_survive_every_failure() {
    if !is_alone("the_calls_of_order_6_survive_every_failure") {
        return;
    }
    // No call closes the board, so it is open when the scenario begins.
    // SAFETY: the arrays have the rows that the calls read and write, as below.
    assert_eq!(unsafe { kyoho_yebisu_initialize(0) }, 0);
    // Each run writes one page of softenings more, and the chunks of a page.
    static PAGES: AtomicUsize = AtomicUsize::new(0);
    try_all("order 6", || {
        let (mut bits, mut arrays) = (Vec::new(), Arrays::new());
        let page = 4096 * PAGES.fetch_add(1, SeqCst);
        // SAFETY: see above.
        unsafe {
            for k in 0..300 {
                let Arrays { mass, position, velocity, zeros, .. } = &mut arrays;
                let [zero, v, x] = [&mut zeros[k], &mut velocity[k], &mut position[k]].map(|row| row.as_mut_ptr());
                let (softening2, index) = (if k % 2 == 0 { 0.01 } else { 0.02 }, k as c_int);
                let set = |address, mass| {
                    let set =
                        || kyoho_yebisu_set_jp_2(address, x, v, zero, zero, zero, zero, mass, 0.0, index, softening2);
                    again_in_c(set, || ());
                };
                set((page + k) as c_int, 0.0);
                set(k as c_int, mass[k]);
            }
            let predictor = |k: usize| Predictor {
                pos: arrays.position[k],
                vel: arrays.velocity[k],
                acc: [0.0; 3],
                mass: 0.0,
                id: k as f64,
                eps2: 0.01,
            };
            let mut sinks: Vec<Predictor> = (0..40).map(predictor).collect();
            let none = Force { acc: [0.0; 3], jrk: [0.0; 3], snp: [0.0; 3], phi: 0.0, nnb_id: 0, nnb_r2: 0.0 };
            let mut forces = vec![none; 40];
            let (pred, nj) = (sinks.as_mut_ptr(), (page + 300) as c_int);
            for of_sources in [false, true] {
                let force = |forces: *mut Force| {
                    if of_sources {
                        kyoho_yebisu_calc_force_on_predictors_epsj(40, pred, forces, nj)
                    } else {
                        kyoho_yebisu_calc_force_on_predictors(40, pred, forces, nj)
                    }
                };
                if call(|| force(forces.as_mut_ptr())) != 0 {
                    assert!(forces.iter().all(|force| force.phi.is_nan()));
                    assert_eq!(force(forces.as_mut_ptr()), 0, "with memory");
                }
                note(&mut bits, forces.iter().flat_map(|force| force.acc.into_iter().chain([force.phi])));
            }
            let mut found = sinks[0];
            again_in_c(|| kyoho_yebisu_pick_up_predictor_2(5, &raw mut found), || ());
            note(&mut bits, found.pos);
        }
        bits
    });
}

#[test]
fn the_calls_of_nbody6_survive_every_failure() {
    if !is_alone("the_calls_of_nbody6_survive_every_failure") {
        return;
    }
    try_all("NBODY6", || {
        let (mut bits, mut arrays) = (Vec::new(), Arrays::new());
        let (mut nj, mut ni, mut one, mut length) = (SOURCES as c_int, 40, 1, SOURCES as c_int + 1);
        let [nj, ni, one, length] = [&mut nj, &mut ni, &mut one, &mut length].map(ptr::from_mut);
        let (m, x, v) = (arrays.mass.as_mut_ptr(), arrays.position.as_mut_ptr(), arrays.velocity.as_mut_ptr());
        let (h2, step, list) = (arrays.radius2.as_mut_ptr(), arrays.mass.as_mut_ptr(), arrays.list.as_mut_ptr());
        let (acc, jrk) = (arrays.acceleration.as_mut_ptr(), arrays.jerk.as_mut_ptr());
        let pot = arrays.potential.as_mut_ptr();
        // SAFETY: the arrays have the rows that the calls read and write.
        unsafe {
            again_in_c(|| kyoho_nbody6_gpunb_open_(nj), || ());
            again_in_c(|| kyoho_nbody6_gpunb_send_(nj, m, x, v), || ());
            let force = || kyoho_nbody6_gpunb_regf_(ni, h2, step, x, v, acc, jrk, pot, length, length, list);
            if call(force) != 0 {
                arrays.require_nan(40);
                assert_eq!(force(), 0, "with memory");
            }
            arrays.note(&mut bits, 40);
            for row in arrays.list.chunks(SOURCES + 1).take(40) {
                bits.extend(row[..1 + row[0] as usize].iter().map(|number| *number as u64));
            }
            let potentials = || kyoho_nbody6pp_gpupot_(one, one, nj, nj, m, x, pot);
            if call(potentials) != 0 {
                assert!(arrays.potential.iter().all(|value| value.is_nan()));
                // The board of potentials may have failed to open.
                assert_eq!(kyoho_nbody6_gpunb_close_(), 0);
                assert_eq!(potentials(), 0, "with memory");
            }
            arrays.note(&mut bits, SOURCES);
            assert_eq!(call(|| kyoho_nbody6_gpunb_close_()), 0);
        }
        bits
    });
}
