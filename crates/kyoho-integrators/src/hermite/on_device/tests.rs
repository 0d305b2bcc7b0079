use kyoho_core::{Nearest, Order, Precision};
use kyoho_methods::block_steps::Beginning;

use super::*;
use crate::plan::StepCriterion;

/// A device that makes blocks of one sink, each a tick after the one before, and tells after one
/// of them that there may have been an encounter.
#[derive(Default)]
struct Told {
    /// The blocks that are known, begun by itself or by the host.
    blocks: usize,
    looks_after: usize,
    /// The numbers of the blocks with which the host has begun chains, and of those that it began.
    chains: Vec<usize>,
    advanced: Vec<usize>,
}

impl BlockSteps for Told {
    fn begin(&mut self, _: &Beginning, _: &[f64]) -> Result<()> {
        Ok(())
    }

    fn due(&mut self) -> Result<DueBlock> {
        self.blocks += 1;
        let looks = self.blocks == self.looks_after + 1;
        let bit = (self.blocks as u64).trailing_zeros();
        Ok(DueBlock { sinks: 1, bit, is_bad: false, looks, fits_chain: true })
    }

    fn advance(&mut self, _: &DueBlock, _: f64, _: &[u64]) -> Result<()> {
        self.advanced.push(self.blocks);
        Ok(())
    }

    fn chain(&mut self) -> Result<usize> {
        self.chains.push(self.blocks);
        Ok(32)
    }

    fn outcome(&mut self) -> Result<BlockOutcome<'_>> {
        Ok(BlockOutcome { limited: 0, nearest: None, pair: &[] })
    }

    fn last_block(&mut self) -> Result<AdvancedBlock> {
        Ok(AdvancedBlock { members: vec![0], nearest: vec![Nearest::NONE] })
    }

    fn bodies(&mut self, _: &mut [f64]) -> Result<()> {
        Ok(())
    }

    fn end(&mut self) {}
}

fn plan() -> Plan {
    Plan {
        order: Order::Fourth,
        precision: Precision::Mixed,
        gravity: 1.0,
        softening: 0.0,
        criterion: StepCriterion::Usual,
        eta: 0.02,
        eta4: 0.01,
        step: 0.0,
        longest: 1.0,
        shortest: 1e-9,
        interval: 1.0,
        tree: None,
    }
}

/// Lets the device make blocks until the caller ends the interval after this many, and returns what
/// is made.
fn run(device: &mut Told, blocks: u64) -> Made {
    let plan = plan();
    let mut run = Run {
        scheme: Scheme::of(plan.order).unwrap(),
        criterion: Criterion::new(&plan),
        plan: &plan,
        grouped: &Grouped::default(),
        fields: &mut Fields::default(),
        encounters: None,
        subsystems: None,
        near: Vec::new(),
        followed: Followed {
            approach: None,
            energy_jump: None,
            passages: Passages::default(),
            counts: Counts::default(),
            limited: 0,
        },
        first: Counts::default(),
        rows: vec![0.0; body_numbers(2)],
        moving: &[],
        chains: true,
        ahead: 0,
    };
    run.make(device, 0.0, &mut |_, made| Ok(made < blocks)).unwrap()
}

#[test]
fn the_host_has_longer_turns_the_more_often_a_device_has_few_blocks() {
    let mut turns = Turns::default();
    let mut pause_after = |blocks: Range<u64>| {
        turns.pass_to_host(blocks.clone());
        turns.of_host - blocks.end
    };
    assert_eq!([pause_after(0..3), pause_after(20..40), pause_after(80..90)], [PAUSE, 2 * PAUSE, 4 * PAUSE]);
    assert_eq!(pause_after(200..200 + WORTHWHILE), PAUSE);
    assert_eq!((0..20).map(|block| pause_after(block..block + 1)).last(), Some(MOST_BLOCKS));
}

#[test]
fn the_block_after_one_that_the_host_looked_at_is_begun_by_the_host() {
    let mut device = Told { looks_after: 20, ..Told::default() };
    assert!(matches!(run(&mut device, 30), Made::Further(30)));
    // The first blocks are begun one by one, then chains; the device halted before block 21.
    assert_eq!(device.advanced, [1, 2, 3, 4, 5, 6, 7, 8, 21]);
    assert_eq!(device.chains, [9, 22]);
}

#[test]
fn a_caller_who_ends_an_interval_soon_finds_no_body_further() {
    let mut device = Told { looks_after: usize::MAX - 1, ..Told::default() };
    assert!(matches!(run(&mut device, 5), Made::Reached(Reached { ends: true, .. })));
    assert!(device.chains.is_empty());
}
