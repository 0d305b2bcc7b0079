//! Random calls of the native interface.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use kyoho::abi::native::block::*;
use kyoho::abi::native::integrators::*;
use kyoho::abi::native::lists::*;
use kyoho::abi::native::pairs::*;
use kyoho::abi::native::sources::*;
use kyoho::abi::native::structures::*;
use kyoho::abi::native::system::*;
use kyoho_core::ResultCode;
use kyoho_verify::models::Random;

use super::{ADDRESSES, Bodies, SINKS};

fn options(order: i32) -> kyoho_options {
    kyoho_options { order, precision: if order == 2 { 3 } else { 2 }, threads: 2, ..empty() }
}

fn ok(code: ResultCode) {
    assert_eq!(code, ResultCode::Ok, "a call that is right succeeds");
}

/// Lists of ranges of sources for some groups of sinks, often for fewer groups than there are devices.
struct Groups {
    offsets: Vec<i32>,
    first: Vec<i32>,
    counts: Vec<i32>,
}

impl Groups {
    /// Draws groups of sinks, with sources at addresses below an end.
    fn new(random: &mut Random, end: usize) -> Groups {
        let mut groups = Groups { offsets: vec![0], first: Vec::new(), counts: Vec::new() };
        let most = [1, 5][random.below(2)];
        for _ in 0..1 + random.below(most) {
            let first = random.below(end);
            groups.first.push(first as i32);
            groups.counts.push(random.below(1 + end - first) as i32);
            groups.offsets.push(groups.sinks() as i32 + random.below(SINKS / 5) as i32);
        }
        groups
    }

    fn sinks(&self) -> usize {
        self.offsets.last().copied().unwrap_or(0) as usize
    }

    fn lists(&self) -> kyoho_lists {
        let mut lists: kyoho_lists = empty();
        lists.group_count = self.first.len() as i32;
        lists.sink_offsets.data = self.offsets.as_ptr();
        (lists.first_addresses.data, lists.source_counts.data) = (self.first.as_ptr(), self.counts.as_ptr());
        lists
    }
}

/// What a system computes.
enum Asked {
    /// The forces on sinks.
    Block(usize),
    /// The forces on groups of sinks.
    Groups(Groups),
    /// The forces in systems of bodies that the call brings.
    Batch(Vec<i32>),
}

impl Asked {
    /// Draws it for a system that has sources at addresses below an end.
    fn new(random: &mut Random, end: usize) -> Asked {
        match random.below(4) {
            0 if end > 0 => Asked::Groups(Groups::new(random, end)),
            1 => {
                let mut offsets = vec![0];
                (0..1 + random.below(4)).for_each(|system| offsets.push(offsets[system] + random.below(30) as i32));
                Asked::Batch(offsets)
            }
            _ => Asked::Block(1 + random.below(SINKS)),
        }
    }

    fn sinks(&self) -> usize {
        match self {
            Asked::Block(sinks) => *sinks,
            Asked::Groups(groups) => groups.sinks(),
            Asked::Batch(offsets) => offsets.last().copied().unwrap_or(0) as usize,
        }
    }

    /// Begins it.
    ///
    /// # Safety
    /// The system and the bodies are there.
    unsafe fn start(&self, system: *mut kyoho_system, bodies: &Bodies, order: i32) {
        let (mut sinks, mut sources): (kyoho_sinks, kyoho_sources) = (empty(), empty());
        (sinks.count, sources.count) = (self.sinks() as i32, self.sinks() as i32);
        (sinks.indices.data, sinks.positions.data) = (bodies.index.as_ptr(), bodies.x.as_ptr().cast());
        (sources.masses.data, sources.positions.data) = (bodies.mass.as_ptr(), bodies.x.as_ptr().cast());
        if order == 4 {
            (sinks.velocities.data, sources.velocities.data) = (bodies.v.as_ptr().cast(), bodies.v.as_ptr().cast());
        }
        // SAFETY: the arrays have as many rows as the structures say.
        ok(unsafe {
            match self {
                Asked::Block(_) => {
                    if order == 4 {
                        sinks.radii2.data = bodies.radius2.as_ptr();
                    }
                    kyoho_system_start(system, ADDRESSES as i32, &raw const sinks)
                }
                Asked::Groups(groups) => {
                    let lists = groups.lists();
                    kyoho_system_start_lists(system, &raw const lists, &raw const sinks)
                }
                Asked::Batch(offsets) => {
                    let mut batch: kyoho_batch = empty();
                    (batch.system_count, batch.offsets.data) = (offsets.len() as i32 - 1, offsets.as_ptr());
                    batch.softening2 = 0.01;
                    kyoho_system_start_batch(system, &raw const batch, &raw const sources)
                }
            }
        });
    }
}

/// Makes a system, of which each block is another kind, and frees it, perhaps in mid-block.
pub fn native(random: &mut Random, _: usize) -> Vec<u64> {
    if random.below(8) == 0 {
        return integrator(random);
    }
    let (mut system, mut all, mut end) = (ptr::null_mut(), Vec::new(), 0);
    let options = options([2, 4][random.below(2)]);
    // SAFETY: the pointers are to structures, whose arrays have as many rows as they say.
    unsafe {
        ok(kyoho_system_create(&raw const options, &raw mut system));
        for _ in 0..1 + random.below(6) {
            let count = 1 + random.below(ADDRESSES);
            let sources = Bodies::new(random, count);
            let mut given: kyoho_sources = empty();
            given.count = count as i32;
            (given.masses.data, given.positions.data) = (sources.mass.as_ptr(), sources.x.as_ptr().cast());
            if options.order == 4 {
                given.velocities.data = sources.v.as_ptr().cast();
            }
            let asked = Asked::new(random, end);
            let mut bodies = Bodies::new(random, asked.sinks());
            let mut forces: kyoho_forces = empty();
            if options.order == 4 {
                forces.jerks.data = bodies.jerk.as_mut_ptr().cast();
            }
            forces.potentials.data = bodies.potential.as_mut_ptr();
            forces.accelerations.data = bodies.acceleration.as_mut_ptr().cast();
            asked.start(system, &bodies, options.order);
            ok(kyoho_system_set_sources(system, &raw const given));
            end = end.max(count);
            if random.below(8) > 0 {
                ok(kyoho_system_wait(system, &raw const forces));
                all.extend(bodies.take(asked.sinks()));
            } else {
                // It is freed under way.
                break;
            }
        }
    }
    ok(kyoho_system_free(system));
    all
}

/// Lets bodies come, evolve and go. Those that stay evolve as they do where no others ever were.
fn integrator(random: &mut Random) -> Vec<u64> {
    let count = 3 + random.below(20);
    let bodies = Bodies::new(random, count);
    let identifiers: Vec<i64> = (0..count as i64).collect();
    let (options, chosen) = (options(4), kyoho_integrator_options { softening: 0.1, ..empty() });
    let mut given: kyoho_bodies = empty();
    (given.identifiers.data, given.masses.data) = (identifiers.as_ptr(), bodies.mass.as_ptr());
    (given.positions.data, given.velocities.data) = (bodies.x.as_ptr().cast(), bodies.v.as_ptr().cast());
    let far = [1e30; 3];
    let (stranger, mass) = (999, 1e30);
    let mut other: kyoho_bodies = empty();
    other.count = 1;
    (other.identifiers.data, other.masses.data) = (&raw const stranger, &raw const mass);
    other.positions.data = far.as_ptr();
    let evolve = |has_stranger: bool| {
        let mut integrator = ptr::null_mut();
        let mut given = given;
        given.count = count as i32;
        let (mut kinetic, mut potential) = (0.0, 0.0);
        // SAFETY: the pointers are to structures, whose arrays have as many rows as they say.
        unsafe {
            let made = kyoho_integrator_create(&raw const options, &raw const chosen, &raw mut integrator);
            assert_eq!(made, ResultCode::Ok);
            assert_eq!(kyoho_integrator_add_bodies(integrator, &raw const given), ResultCode::Ok);
            if has_stranger {
                assert_eq!(kyoho_integrator_add_bodies(integrator, &raw const other), ResultCode::Ok);
                let _ = kyoho_integrator_energies(integrator, &raw mut kinetic, &raw mut potential);
                assert_eq!(kyoho_integrator_remove_bodies(integrator, 1, &raw const stranger), ResultCode::Ok);
            }
            let mut evolution: kyoho_evolution = empty();
            let ended = kyoho_integrator_evolve(integrator, 0.0625, ptr::null(), &raw mut evolution);
            assert_eq!(ended, ResultCode::Ok);
            let found = kyoho_integrator_energies(integrator, &raw mut kinetic, &raw mut potential);
            assert_eq!(found, ResultCode::Ok);
        }
        assert_eq!(kyoho_integrator_free(integrator), ResultCode::Ok);
        vec![kinetic.to_bits(), potential.to_bits()]
    };
    let alone = evolve(false);
    assert_eq!(evolve(true), alone, "a body that was removed acts no more");
    alone
}

thread_local! {
    /// The pair interaction of this thread's calls, and the number of its sources.
    static PAIR: Cell<(*mut kyoho_pair, usize)> = const { Cell::new((ptr::null_mut(), 0)) };
}

/// Computes the built-in law of order 4 from its text, and frees it now and then in mid-run.
pub fn pairs(random: &mut Random, round: usize) -> Vec<u64> {
    let (mut pair, mut sources) = PAIR.get();
    let softening2 = 0.01;
    // SAFETY: the pointers are to structures, whose arrays have as many rows as they say, and to texts.
    unsafe {
        if round == 0 || random.below(60) == 0 {
            if round > 0 {
                if random.below(2) == 0 {
                    set_fields(random, pair, "i", SINKS);
                    ok(kyoho_pair_start(pair, -1, -1));
                }
                ok(kyoho_pair_free(pair));
            }
            let options = kyoho_pair_options { threads: 2, ..empty() };
            ok(kyoho_pair_compile(kyoho_pair_gravity(4), &raw const options, &raw mut pair));
            ok(kyoho_pair_set_parameter(pair, c"eps2".as_ptr(), 2, (&raw const softening2).cast(), 1));
            sources = 0;
        }
        if sources == 0 || random.below(3) == 0 {
            sources = 1 + random.below(ADDRESSES);
            set_fields(random, pair, "j", sources);
        }
        PAIR.set((pair, sources));
        let ni = match random.below(2) {
            0 => {
                let groups = Groups::new(random, sources);
                set_fields(random, pair, "i", groups.sinks());
                let lists = groups.lists();
                match random.below(2) {
                    0 => ok(kyoho_pair_run_lists(pair, &raw const lists, -1)),
                    _ => {
                        ok(kyoho_pair_start_lists(pair, &raw const lists, -1));
                        ok(kyoho_pair_wait(pair));
                    }
                }
                groups.sinks()
            }
            _ => {
                let ni = 1 + random.below(SINKS);
                set_fields(random, pair, "i", ni);
                match random.below(2) {
                    0 => ok(kyoho_pair_run(pair, -1, -1)),
                    _ => {
                        ok(kyoho_pair_start(pair, -1, -1));
                        ok(kyoho_pair_wait(pair));
                    }
                }
                ni
            }
        };
        let mut found = Bodies::new(random, ni);
        let [acceleration, jerk] = [&mut found.acceleration, &mut found.jerk].map(|rows| rows.as_mut_ptr().cast());
        ok(kyoho_pair_result(pair, c"acc".as_ptr(), 2, acceleration, 0, ni as i64));
        ok(kyoho_pair_result(pair, c"jerk".as_ptr(), 2, jerk, 0, ni as i64));
        found.take(ni)
    }
}

/// Sets the fields of a side for as many bodies.
///
/// # Safety
/// The pair interaction is there.
unsafe fn set_fields(random: &mut Random, pair: *mut kyoho_pair, side: &str, count: usize) {
    let bodies = Bodies::new(random, count);
    let fields: [(&str, i32, *const c_void); 4] = [
        ("pos", 2, bodies.x.as_ptr().cast()),
        ("vel", 2, bodies.v.as_ptr().cast()),
        ("id", 5, bodies.index.as_ptr().cast()),
        ("mass", 2, bodies.mass.as_ptr().cast()),
    ];
    for (name, number_type, data) in &fields[..if side == "i" { 3 } else { 4 }] {
        let name = std::ffi::CString::new(format!("{side}.{name}")).unwrap();
        // SAFETY: the arrays have as many rows.
        ok(unsafe { kyoho_pair_set(pair, name.as_ptr(), *number_type, *data, 0, count as i64) });
    }
}
