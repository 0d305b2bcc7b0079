//! Block steps of bodies that stay on a device: the interface of devices that make them.
//!
//! The device has the bodies, predicts those that are due, sums their forces, advances them and finds
//! those that are due next. The host learns how many these are, and begins the next block.

use std::sync::Arc;

use kyoho_core::{CHUNK, Nearest, Result, Sources, Units, memory};

/// The most sinks of a block of which the two bodies that are nearest to each other are watched. Close
/// pairs have short steps, with few others.
pub const WATCHED: usize = 1 << 6;

/// The turns of Newton's method for a root; the guess is good to a tenth, and each turn doubles the
/// digits.
pub const ROOT_TURNS: usize = 6;

/// The numbers of a body before its position: what rounding took off its position and its velocity,
/// its step, and the step that it may make next, whatever the times of others. Position, velocity and
/// the derivatives of the velocity follow.
pub const BODY_HEAD: usize = 8;
/// The place of its step among them.
pub const STEP: usize = 6;
/// The place of the step that it may make next.
pub const WANTED: usize = 7;

/// Returns the count of numbers of a body, of which a force gives this many derivatives of the
/// velocity.
pub const fn body_numbers(given: usize) -> usize {
    BODY_HEAD + 6 * given
}

/// The rules by which bodies step. Times are fractions of an interval, in which steps are powers of
/// two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepRules {
    /// The length of the interval.
    pub interval: f64,
    /// The time at which the steps begin, and its number of ticks.
    pub now: (f64, u64),
    /// The number of ticks of the interval.
    pub ticks: f64,
    /// The accuracy parameter of the criterion.
    pub eta: f64,
    /// That of the criterion of order 4 beside it, in orders above 4.
    pub eta_of_fourth: f64,
    /// Whether the two criteria are averaged; otherwise that of order 4 is a lower bound.
    pub averages: bool,
    /// The shortest and the longest step.
    pub limits: [f64; 2],
    /// The distance below which two bodies have an encounter; 0 if nobody asks for these.
    pub approach: f64,
}

/// The most groups of bodies that a device steps: it has the sinks of a block once for the sources of
/// each.
pub const MOST_GROUPS: usize = 4;

/// Groups of bodies, each with a softening and sources of its own. Those that have sources come first.
#[derive(Debug, Clone, PartialEq)]
pub struct StepGroups {
    /// The number of groups, up to [`MOST_GROUPS`].
    pub count: usize,
    /// The squared softenings of the bodies of each by the sources of each.
    pub softenings2: [[f64; MOST_GROUPS]; MOST_GROUPS],
    /// The number of sources of each group that has some.
    pub sources: Vec<usize>,
    /// The group of each body, and the address of its source, or -1 if it is none. There are none where
    /// there is one group: addresses are the numbers of bodies then.
    pub places: Vec<[i32; 2]>,
}

impl StepGroups {
    /// Returns the one group of all bodies, with so many sources.
    pub fn one(softening2: f64, sources: usize) -> Result<StepGroups> {
        let mut of_groups = memory::room(1, "the sources of groups")?;
        of_groups.push(sources);
        let softenings2 = [[softening2; MOST_GROUPS]; MOST_GROUPS];
        Ok(StepGroups { count: 1, softenings2, sources: of_groups, places: Vec::new() })
    }

    /// Returns the first address of the sources of each group, and of one behind them. Each begins a chunk.
    pub fn first_addresses(&self) -> impl Iterator<Item = usize> {
        let mut end = 0;
        self.sources.iter().chain(&[0]).map(move |sources| {
            let first = end;
            end = first + sources.next_multiple_of(CHUNK);
            first
        })
    }
}

/// A kernel that adds to the forces of a block's bodies before they are advanced: a text for each
/// kind of machine. A thread has one sink. Its arguments are the sinks and the results, three numbers
/// of type `u32` (the sinks of these results, the number of the first one, the place of the results in
/// doubles), and the values of the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedForces {
    /// The name of the kernel.
    pub name: &'static str,
    /// The threads of a thread block.
    pub threads: usize,
    /// In PTX.
    pub ptx: String,
    /// In OpenCL C.
    pub opencl: String,
}

/// The numbers of a sink before its position.
pub const SINK_HEAD: usize = 3;

/// The block that is due next, and what the host has to know of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueBlock {
    /// The number of its sinks.
    pub sinks: usize,
    /// The number of the highest bit in which its time, in ticks, differs from that of the block
    /// before.
    pub bit: u32,
    /// Whether some number of a body or of a force is not as it should be. Then none counts.
    pub is_bad: bool,
    /// Whether some bodies of the block before may have had an encounter.
    pub looks: bool,
    /// Whether it is small enough for a chain.
    pub fits_chain: bool,
}

/// What became of a block.
#[derive(Debug, Clone, Copy)]
pub struct BlockOutcome<'a> {
    /// How many steps should have been shorter than the shortest, of all blocks so far.
    pub limited: u32,
    /// The distance of its nearest pair, and the two bodies, the sink first.
    pub nearest: Option<(f64, [usize; 2])>,
    /// The two bodies, one after another, if there were at most [`WATCHED`] sinks.
    pub pair: &'a [f64],
}

/// The block that was advanced last, as the host looks at it.
#[derive(Debug, Default)]
pub struct AdvancedBlock {
    /// Its bodies.
    pub members: Vec<i32>,
    /// Their nearest sources.
    pub nearest: Vec<Nearest>,
}

/// What block steps begin with, beside the bodies.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// The sources.
    pub sources: &'a Sources,
    /// The rules.
    pub rules: &'a StepRules,
    /// The units of pairs.
    pub units: Units,
    /// The forces beside those of pairs, if there are any.
    pub added: Option<&'a Arc<AddedForces>>,
    /// The groups of bodies.
    pub groups: &'a StepGroups,
}

/// A device that makes block steps. After an error all has ended, and the host has to begin again.
pub trait BlockSteps {
    /// Brings sources and bodies, one after another with [`body_numbers`]. Pairs are computed in these
    /// units. If there are forces beside those of pairs, no chain is to be begun.
    fn begin(&mut self, begin: &Beginning, bodies: &[f64]) -> Result<()>;

    /// Waits until it is known which block is due next.
    fn due(&mut self) -> Result<DueBlock>;

    /// Begins to advance this block, which is due at a time, with the values of the added forces.
    fn advance(&mut self, due: &DueBlock, now: f64, values: &[u64]) -> Result<()>;

    /// Begins to advance this block and those that are due after it, so many in all, of which this
    /// returns the number. Such a chain halts after a block after which the host looks for encounters
    /// or in which something is bad, at the end of the interval, and before a block that does not fit.
    fn chain(&mut self) -> Result<usize>;

    /// Waits for what became of the block before that which was due last.
    fn outcome(&mut self) -> Result<BlockOutcome<'_>>;

    /// Copies what is known of the block before that which is due now.
    fn last_block(&mut self) -> Result<AdvancedBlock>;

    /// Copies all bodies.
    fn bodies(&mut self, to: &mut [f64]) -> Result<()>;

    /// Ends the steps. The device forgets its sources.
    fn end(&mut self);
}
