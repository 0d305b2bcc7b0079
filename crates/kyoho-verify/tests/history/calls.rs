//! The calls of a sequence, and how they are drawn.

use kyoho::Setup;
use kyoho_core::{Level, Partition, Precision};
use kyoho_hal::Backend;
use kyoho_verify::{Selection, Target, targets};
use proptest::prelude::*;

use crate::late::MOST;

/// A change of what the next block sees.
#[derive(Debug, Clone)]
pub enum Change {
    /// Writes the source at an address.
    One { address: usize, seed: u64 },
    /// Writes several sources, at addresses with a step between them, together or one by one.
    Some { first: usize, step: usize, count: usize, together: bool, seed: u64 },
    /// Writes the sources at the addresses from 0 on.
    All { count: usize, seed: u64 },
    /// Replaces all sources by those in arrays of the caller on the device.
    OnDevice { count: usize, seed: u64 },
    /// Sets the time in ticks.
    Time(i32),
    /// Takes sources as they were written, until the next time.
    Unpredicted,
}

/// What is begun.
#[derive(Debug, Clone)]
pub enum Begun {
    /// The forces on sinks.
    Block { nj: usize, skip_own_index: bool, ni: usize, seed: u64 },
    /// The forces on sinks in arrays of the caller on the device, where some are left too.
    OnDevice { nj: usize, skip_own_index: bool, ni: usize, seed: u64 },
    /// The forces of sources on one another.
    All { nj: usize, softening2: f64 },
    /// The forces on groups of as many sinks with lists as long as this.
    Groups { form: Form, sizes: Vec<(usize, usize)>, skip_own_index: bool, seed: u64 },
    /// The forces in systems of as many bodies.
    Batch { sizes: Vec<usize>, seed: u64 },
}

/// The form of interaction lists.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    Ranges,
    Addresses,
    Own,
}

/// How a block ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Wait,
    Abandon,
    Forget,
    /// The system is closed, and another one goes on.
    Close,
}

#[derive(Debug, Clone)]
pub enum Call {
    Change(Change),
    /// Begins a block, makes changes while it is under way, and ends it.
    Forces {
        begun: Begun,
        changes: Vec<Change>,
        end: End,
    },
    /// Asks for the neighbours of a sink of the last block.
    Neighbours(usize),
    /// Asks for the sources within the radii of sinks.
    Find {
        nj: usize,
        ni: usize,
        skip_own_index: bool,
        seed: u64,
    },
    /// Reads sources from an address on, as they were written and predicted.
    Read(usize),
    /// Sums by a tree of this accuracy, or directly.
    Tree(Option<f64>),
    /// Moves the system to as many devices.
    Move(usize),
    /// Begins blocks that are refused.
    Wrong(u64),
}

fn address() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..20usize, 2 => 0..600usize, 1 => 0..9000usize]
}

/// Draws how many sources a call writes: some are enough for records by several threads or for a
/// device that reads them as they are, few for those that replace the host's copy.
fn written() -> impl Strategy<Value = usize> {
    prop_oneof![30 => 0..20usize, 20 => 0..600usize, 6 => 4096..5000usize, 1 => 65_536..66_000usize]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (address(), any::<u64>()).prop_map(|(address, seed)| Change::One { address, seed }),
        3 => (address(), 1..5usize, 0..700usize, any::<bool>(), any::<u64>()).prop_map(
            |(first, step, count, together, seed)| Change::Some { first, step, count, together, seed }
        ),
        4 => (written(), any::<u64>()).prop_map(|(count, seed)| Change::All { count, seed }),
        2 => (written(), any::<u64>())
            .prop_map(|(count, seed)| Change::OnDevice { count: count.min(MOST), seed }),
        2 => (-16..32i32).prop_map(Change::Time),
        1 => Just(Change::Unpredicted),
    ]
}

fn begun() -> impl Strategy<Value = Begun> {
    let form = prop::sample::select(vec![Form::Ranges, Form::Addresses, Form::Own]);
    let ni = prop_oneof![8 => 0..4usize, 8 => 0..40usize, 1 => 8192..8300usize];
    let of_block = ni.clone();
    prop_oneof![
        4 => (prop_oneof![address(), Just(70_000usize)], any::<bool>(), ni, any::<u64>()).prop_map(
            |(nj, skip_own_index, ni, seed)| Begun::Block { nj, skip_own_index, ni, seed }
        ),
        3 => (prop_oneof![address(), Just(70_000usize)], any::<bool>(), of_block, any::<u64>()).prop_map(
            |(nj, skip_own_index, ni, seed)| Begun::OnDevice { nj, skip_own_index, ni, seed }
        ),
        1 => (0..700usize, prop::sample::select(vec![0.0, 1.0]))
            .prop_map(|(nj, softening2)| Begun::All { nj, softening2 }),
        4 => (form, prop::collection::vec((0..9usize, 0..100usize), 0..6), any::<bool>(), any::<u64>()).prop_map(
            |(form, sizes, skip_own_index, seed)| Begun::Groups { form, sizes, skip_own_index, seed }
        ),
        1 => (prop::collection::vec(0..9usize, 0..6), any::<u64>())
            .prop_map(|(sizes, seed)| Begun::Batch { sizes, seed }),
    ]
}

pub fn call() -> impl Strategy<Value = Call> {
    let others = [End::Abandon, End::Forget, End::Close].map(Just);
    let end = prop_oneof![8 => Just(End::Wait), 3 => prop::strategy::Union::new(others)];
    prop_oneof![
        6 => change().prop_map(Call::Change),
        8 => (begun(), prop::collection::vec(change(), 0..3), end)
            .prop_map(|(begun, changes, end)| Call::Forces { begun, changes, end }),
        3 => (0..40usize).prop_map(Call::Neighbours),
        1 => (address(), 0..20usize, any::<bool>(), any::<u64>())
            .prop_map(|(nj, ni, skip_own_index, seed)| Call::Find { nj, ni, skip_own_index, seed }),
        1 => address().prop_map(Call::Read),
        1 => prop::sample::select(vec![None, Some(1e-3)]).prop_map(Call::Tree),
        1 => (1..=DEVICES).prop_map(Call::Move),
        1 => any::<u64>().prop_map(Call::Wrong),
    ]
}

/// The most devices.
pub const DEVICES: usize = 3;

/// Draws any order, precision and scope on a backend, at the best instruction set.
pub fn target(backend: Backend, with_limbs: bool) -> impl Strategy<Value = Target> {
    let selection = Selection { backend: Some(backend), ..Selection::default() };
    let is_wanted = |target: &Target| {
        let setup = &target.setup;
        target.is_of_one()
            && (backend != Backend::Cpu || setup.level == Level::best())
            && (with_limbs || setup.precision != Precision::Quad)
    };
    let all: Vec<Target> = targets(&selection).into_iter().filter(is_wanted).collect();
    let partition = prop::option::weighted(0.5, prop::sample::select(Partition::among(DEVICES).collect::<Vec<_>>()));
    (prop::sample::select(all), 1..3usize, 1..=DEVICES, partition).prop_map(|(target, threads, devices, partition)| {
        let target = target.with(threads, &vec![0; devices]);
        Target { setup: Setup { partition, ..target.setup } }
    })
}
