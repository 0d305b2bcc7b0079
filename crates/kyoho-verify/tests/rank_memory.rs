//! If memory runs out on a rank in a block by a tree, the block fails on all ranks with an error that
//! says so, and works when it is made again with memory.
//!
//! There are two ranks. The thread of this test is one, which is refused memory, each time at another
//! allocation.

#[path = "../../../tests/common/mod.rs"]
mod common;
mod refusing;

use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use refusing::{IN_CALL, call, is_alone, refuse_this_thread_alone, stride, try_each};

use kyoho::{Setup, System};
use kyoho_core::sinks::FromFn;
use kyoho_core::{NeighbourCriterion, Order, Precision, Result, ResultCode, Sink, Source, TreeAccuracy};
use kyoho_ranks::threads::ThreadRank;
use kyoho_ranks::{Asked, Communicator, RankedSystem};
use kyoho_verify::models::{plummer, sinks_of};

const BODIES: usize = 900;

/// A rank whose communicator is never refused memory: it is not the library's.
struct Granted(ThreadRank);

impl Granted {
    fn exchange(&mut self, exchange: impl FnOnce(&mut ThreadRank) -> Result<()>) -> Result<()> {
        let is_refused = IN_CALL.swap(false, SeqCst);
        let outcome = exchange(&mut self.0);
        IN_CALL.store(is_refused, SeqCst);
        outcome
    }
}

impl Communicator for Granted {
    fn rank(&self) -> usize {
        self.0.rank()
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn all_gather(&mut self, sent: &[u8], received: &mut [u8], counts: &[usize]) -> Result<()> {
        self.exchange(|rank| rank.all_gather(sent, received, counts))
    }

    fn all_to_all(&mut self, sent: &[u8], of_sent: &[usize], received: &mut [u8], counts: &[usize]) -> Result<()> {
        self.exchange(|rank| rank.all_to_all(sent, of_sent, received, counts))
    }

    fn abort(&self) {
        self.0.abort();
    }
}

fn system_of(communicator: Box<dyn Communicator>, sources: &[Source]) -> RankedSystem {
    let made = System::new(&Setup { threads: 1, ..Setup::on_cpu(Order::Second, Precision::Mixed) });
    let mut system = RankedSystem::over(communicator, made).unwrap();
    system.own().set_tree_crossover(Some(0));
    system.set_tree(Some(TreeAccuracy::Error(1e-3))).unwrap();
    sources.iter().enumerate().for_each(|(address, source)| system.own().set_source(address, source).unwrap());
    system
}

/// Makes a block, and leaves the bits of its forces, for which there is room.
fn force(system: &mut RankedSystem, nj: usize, sinks: &[Sink], bits: &mut Vec<u64>) -> Result<()> {
    bits.clear();
    system.start(|system, into| {
        system.copy_sinks(into, sinks.len(), &FromFn(|number: usize| sinks[number]))?;
        Ok(Asked { nj, skip_own_index: true, neighbour_criterion: NeighbourCriterion::default(), radius: false })
    })?;
    system.wait(Ok(()), |forces| bits.extend(forces.values.iter().map(|value| value.to_bits())))
}

/// The forces of two blocks by a tree, the second of which has the memory of the first, on sinks that
/// are partly sources of the other rank.
fn blocks() -> Vec<u64> {
    let sources = plummer(BODIES);
    let (of_first, of_second) = sources.split_at(BODIES / 3);
    let [first, second] = <[ThreadRank; 2]>::try_from(ThreadRank::all(2)).unwrap_or_else(|_| panic!("two ranks"));
    let mut all = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || {
            let (mut system, mut bits) = (system_of(Box::new(second), of_second), Vec::new());
            let sinks = sinks_of(of_second, 1e-3);
            for _ in 0..2 {
                let mut attempt = || force(&mut system, of_second.len(), &sinks, &mut bits);
                attempt().or_else(|_| attempt()).unwrap();
            }
        });
        let (mut system, mut bits) = (system_of(Box::new(Granted(first)), of_first), Vec::with_capacity(4 * BODIES));
        let sinks = sinks_of(&sources[100..BODIES / 3 + 100], 1e-3);
        for _ in 0..2 {
            let mut attempt = || force(&mut system, of_first.len(), &sinks, &mut bits);
            if let Err(error) = call(&mut attempt) {
                assert_eq!(error.code(), ResultCode::OutOfMemory, "{error}");
                assert!(error.to_string().starts_with("rank 0: "), "{error}");
                attempt().unwrap_or_else(|error| panic!("with memory: {error}"));
            }
            all.extend(&bits);
        }
    });
    all
}

#[test]
fn a_block_by_a_tree_that_lacks_memory_on_a_rank_fails_on_all_and_works_again() {
    if is_alone("a_block_by_a_tree_that_lacks_memory_on_a_rank_fails_on_all_and_works_again") {
        refuse_this_thread_alone();
        try_each("a tree over ranks", stride(7), blocks);
    }
}
