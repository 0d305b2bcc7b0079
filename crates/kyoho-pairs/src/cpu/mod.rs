//! Pair interactions on CPUs. What depends on a sink is computed once for it, what depends on a
//! source once for some sinks, and the rest for blocks of 256 sources.

mod program;

use std::ops::Range;
use std::sync::Mutex;

use kyoho_core::Level;
use kyoho_core::{
    CHUNK, Error, Result, SLICE_GROUPS, SLICES, SinkGroup, chunks_below, chunks_of_slice, join_in_pairs, memory,
};
use kyoho_hal::threads::Threads;
use kyoho_language::blocks::{self, Bits, Block};
use kyoho_language::limbs::unnamed;
use kyoho_language::list::{Id, Input, Node, Op, Stage, Two};
use kyoho_language::number::{Number, compute};
use kyoho_language::syntax::Reduction;
use kyoho_language::types::Scalar;
use kyoho_language::{MAX_DECLARED, PairProgram, extreme};
use kyoho_laws::double_double::{Double, DoubleDouble};

use super::{Columns, Given, PairLists, PairSums};
use program::{Kept, Program};

/// The sinks that are computed together before their sums are written.
const PIECE: usize = 2048;
/// The sinks for which a block of sources is read once.
const GROUP: usize = 32;

/// The sinks of lists that are computed together, as far as groups allow.
const PIECE_OF_LISTS: usize = 1 << 16;
/// The most numbers of results: four components of each.
const MOST_OUTPUTS: usize = 4 * MAX_DECLARED;
/// The pairs of a task of lists, counted in whole blocks.
const LANES_OF_TASK: usize = 1 << 14;

/// The sums of a pair interaction by threads of the CPU.
#[derive(Debug)]
pub struct CpuPairs {
    program: Program,
    threads: usize,
}

/// The part of one slice of sources in one output of one sink.
#[derive(Debug, Clone, Copy)]
struct Partial {
    number: Bits,
    /// The value that `argmin` and `argmax` name, and the address of its source.
    named: Bits,
    address: usize,
}

impl Partial {
    const EMPTY: Partial = Partial { number: [0; 2], named: [0; 2], address: usize::MAX };
}

impl CpuPairs {
    /// Makes the program of an interaction. `threads` compute, the caller's included.
    pub fn new(pairs: &PairProgram, threads: usize, level: Level) -> Result<CpuPairs> {
        Ok(CpuPairs { program: Program::new(pairs, level)?, threads })
    }
}

impl PairSums for CpuPairs {
    fn run(&mut self, given: &Given, sinks: usize, sources: usize, found: &mut [Columns]) -> Result<()> {
        let run = Run { program: &self.program, given };
        let tables = run.tables()?;
        let stored = run.stored(sources)?;
        let threads = Threads::new(self.threads.min(sinks.div_ceil(GROUP) * Program::slices(chunks_below(sources))));
        for first in (0..sinks).step_by(PIECE) {
            let count = PIECE.min(sinks - first);
            run.piece(first, count, sources, &stored, &tables, &threads, found)?;
        }
        Ok(())
    }

    fn run_lists(&mut self, given: &Given, lists: &PairLists, sources: usize, found: &mut [Columns]) -> Result<()> {
        let run = Run { program: &self.program, given };
        let tables = run.tables()?;
        let stored = run.stored(sources)?;
        let threads = Threads::new(self.threads);
        let mut groups = lists.groups();
        while let Some(first) = groups.first() {
            let is_within = |group: &SinkGroup| group.sink_range().end - first.first_sink as usize <= PIECE_OF_LISTS;
            let count = groups.iter().take_while(|group| is_within(group)).count().max(1);
            let (piece, rest) = groups.split_at(count);
            run.groups(piece, lists, &stored, &tables, &threads, found)?;
            groups = rest;
        }
        Ok(())
    }
}

/// A run over all pairs.
struct Run<'a> {
    program: &'a Program,
    given: &'a Given<'a>,
}

impl Run<'_> {
    /// Returns the numbers of tables, an empty one for each parameter that is none.
    fn tables(&self) -> Result<Vec<Vec<Bits>>> {
        let mut tables = memory::room(self.given.pairs.parameters.len(), "the tables")?;
        for (parameter, given) in self.given.pairs.parameters.iter().zip(self.given.parameters) {
            let numbers = given.iter().flatten().filter(|_| !parameter.extents.is_empty());
            tables.push(memory::collected(numbers.map(|number| blocks::bits(*number)), "the numbers of a table")?);
        }
        Ok(tables)
    }

    /// Returns the sources by chunks, in the columns that blocks have.
    fn stored(&self, sources: usize) -> Result<Block> {
        let chunk_bytes = self.program.source_bytes;
        let mut stored = Block::new(chunks_below(sources) * chunk_bytes)?;
        for column in &self.program.columns {
            let Some(numbers) = &self.given.fields[1][column.field] else { continue };
            for address in 0..numbers.count() {
                let place = blocks::Column(address / CHUNK * chunk_bytes + column.column.0);
                stored.set(column.scalar, place, address % CHUNK, numbers.bits(address, column.component));
            }
        }
        Ok(stored)
    }

    /// Returns the uniform numbers of a sink, or those of the run for no sink.
    fn row(&self, sink: usize, values: &mut [Number], stage: Stage) {
        let nodes = &self.given.pairs.nodes;
        for (id, node) in nodes.iter().enumerate() {
            let is_wanted = match stage {
                Stage::Sink => node.stage == Stage::Sink,
                _ => node.stage <= Stage::Run,
            };
            if is_wanted {
                values[id] = self.uniform(node, sink, values);
            }
        }
    }

    fn uniform(&self, node: &Node, sink: usize, values: &[Number]) -> Number {
        match node.op {
            Op::Input(Input::Field(_, field, component)) => {
                let numbers = self.given.fields[0][field].as_ref();
                numbers.map_or(Number::Bool(false), |numbers| numbers.number(sink, component))
            }
            Op::Input(Input::Parameter(parameter, component)) => self.given.parameter(parameter, component),
            Op::Element(table, index) => self.given.parameter(table, values[index].widened().high as usize),
            op => compute(op, node.scalar, |id: Id| values[id]),
        }
    }

    /// Returns the uniform numbers of some sinks.
    fn rows(&self, sinks: Range<usize>) -> Result<Vec<Bits>> {
        let row = &self.program.row;
        let mut rows = memory::room(sinks.len() * row.len(), "the numbers of sinks")?;
        let mut values = memory::filled(self.given.pairs.nodes.len(), Number::Bool(false), "the numbers of a sink")?;
        self.row(0, &mut values, Stage::Run);
        for sink in sinks {
            self.row(sink, &mut values, Stage::Sink);
            rows.extend(row.iter().map(|id| blocks::bits(values[*id])));
        }
        Ok(rows)
    }

    /// Computes the results of some sinks.
    #[expect(clippy::too_many_arguments)]
    fn piece(
        &self,
        first: usize,
        count: usize,
        sources: usize,
        stored: &Block,
        tables: &[Vec<Bits>],
        threads: &Threads,
        found: &mut [Columns],
    ) -> Result<()> {
        let Program { row, kept, .. } = &self.program;
        let width = row.len();
        let rows = self.rows(first..first + count)?;
        let slices = Program::slices(chunks_below(sources));
        let start = memory::collected(kept.iter().map(start), "the sums of a slice")?;
        let per_group = GROUP * kept.len();
        let groups = count.div_ceil(GROUP);
        let mut partials = memory::filled(groups * slices * per_group, Partial::EMPTY, "the sums of slices")?;
        self.shared(threads, partials.chunks_mut(per_group.max(1)).enumerate(), |(task, partials), block| {
            let (group, slice) = (task / slices, task % slices);
            let sinks = group * GROUP..count.min((group + 1) * GROUP);
            let rows = &rows[sinks.start * width..sinks.end * width];
            self.slice(slice, sources, stored, tables, rows, sinks.len(), &start, block, partials);
        })?;
        for sink in 0..count {
            let (group, place) = (sink / GROUP, sink % GROUP);
            for (number, kept_output) in kept.iter().enumerate() {
                let of_slice =
                    |slice: usize| partials[(group * slices + slice) * per_group + place * kept.len() + number];
                let sum = in_order(slices, start[number], of_slice, |a, b| join(kept_output, a, b));
                let found = &mut found[kept_output.output.result];
                let number = finished(kept_output, sum, found.of().scalar);
                found.set(first + sink, kept_output.output.component, number);
            }
        }
        Ok(())
    }

    /// Sums the sources of a slice for a group of sinks.
    #[expect(clippy::too_many_arguments)]
    fn slice(
        &self,
        slice: usize,
        sources: usize,
        stored: &Block,
        tables: &[Vec<Bits>],
        rows: &[Bits],
        sinks: usize,
        start: &[Partial],
        block: &mut Block,
        partials: &mut [Partial],
    ) {
        let Program { source_bytes, kept, .. } = &self.program;
        partials.chunks_exact_mut(kept.len()).for_each(|partials| partials.copy_from_slice(start));
        for chunk in chunks_of_slice(slice, chunks_below(sources)) {
            let first = chunk * CHUNK;
            block.bytes_mut()[..*source_bytes]
                .copy_from_slice(&stored.bytes()[chunk * source_bytes..(chunk + 1) * source_bytes]);
            self.chunk(block, CHUNK.min(sources - first), |lane| first + lane, tables, rows, sinks, partials);
        }
    }

    /// Adds the sources of a block, of which the columns are filled, to the sums of some sinks.
    #[expect(clippy::too_many_arguments)]
    fn chunk(
        &self,
        block: &mut Block,
        count: usize,
        address: impl Fn(usize) -> usize,
        tables: &[Vec<Bits>],
        rows: &[Bits],
        sinks: usize,
        partials: &mut [Partial],
    ) {
        if sinks == 0 {
            return;
        }
        let Program { of_sources, of_pairs, kept, row, .. } = &self.program;
        let mut joined = [[0; 2]; MOST_OUTPUTS];
        let joined = &mut joined[..kept.len()];
        of_sources.run(block, rows, tables, CHUNK, &mut []);
        for (sink, partials) in partials.chunks_exact_mut(kept.len()).take(sinks).enumerate() {
            let row = &rows[sink * row.len()..(sink + 1) * row.len()];
            of_pairs.run(block, row, tables, count, joined);
            for ((kept, joined), partial) in kept.iter().zip(&*joined).zip(partials) {
                let term = widened(kept, *joined);
                let Some((key, value, scalar)) = kept.named else {
                    partial.number = join_numbers(kept, partial.number, term);
                    continue;
                };
                // The source is looked for only if it is the best so far, or the first.
                let is_first = partial.address == usize::MAX;
                if (is_first || is_better(kept, term, partial.number))
                    && let Some(lane) = block.find(kept.scalar, key, count, *joined, kept.condition)
                {
                    let named = block.get(scalar, value, lane);
                    *partial = Partial { number: term, named, address: address(lane) };
                }
            }
        }
    }

    /// Shares tasks among threads, each with a block of its own.
    fn shared<T: Send>(
        &self,
        threads: &Threads,
        tasks: impl ExactSizeIterator<Item = T> + Send,
        work: impl Fn(T, &mut Block) + Sync,
    ) -> Result<()> {
        let scratch: Mutex<Vec<Result<Block>>> = Mutex::new(Vec::new());
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let new_block = || Block::new(self.program.block_bytes);
        threads.run(tasks, &scratch, new_block, |task, block| match block {
            Ok(block) => work(task, block),
            Err(error) => *failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error.clone()),
        });
        failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).map_or(Ok(()), Err)
    }

    /// Computes the results of the sinks of some groups of lists.
    fn groups(
        &self,
        groups: &[SinkGroup],
        lists: &PairLists,
        stored: &Block,
        tables: &[Vec<Bits>],
        threads: &Threads,
        found: &mut [Columns],
    ) -> Result<()> {
        let Program { row, kept, .. } = &self.program;
        let first = groups.first().map_or(0, |group| group.first_sink as usize);
        let end = groups.last().map_or(0, |group| group.sink_range().end);
        let (rows, width) = (self.rows(first..end)?, row.len());
        let start = memory::collected(kept.iter().map(start), "the sums of lists")?;
        let mut partials = memory::room((end - first) * kept.len(), "the sums of lists")?;
        (first..end).for_each(|_| partials.extend_from_slice(&start));
        // Groups that follow one another are a task, as far as there is little to do in each.
        let mut tasks = Vec::new();
        let (mut rest, mut begin, mut lanes) = (&mut partials[..], 0, 0);
        for (number, group) in groups.iter().enumerate() {
            lanes += (group.sources as usize).next_multiple_of(CHUNK) * group.sinks as usize;
            if lanes >= LANES_OF_TASK || number + 1 == groups.len() {
                let task = &groups[begin..=number];
                let sinks = group.sink_range().end - task[0].first_sink as usize;
                let (of_task, others) = std::mem::take(&mut rest).split_at_mut(sinks * kept.len());
                tasks.push((task, of_task));
                (rest, begin, lanes) = (others, number + 1, 0);
            }
        }
        self.shared(threads, tasks.into_iter(), |(groups, mut partials), block| {
            for group in groups {
                let (of_group, others) = std::mem::take(&mut partials).split_at_mut(group.sinks as usize * kept.len());
                partials = others;
                let sinks = group.sink_range().start - first..group.sink_range().end - first;
                let rows = &rows[sinks.start * width..sinks.end * width];
                for place in group.source_range().step_by(CHUNK) {
                    let count = CHUNK.min(group.source_range().end - place);
                    let address = |lane: usize| lists.address(place + lane);
                    self.gather(stored, block, count, address);
                    self.chunk(block, count, address, tables, rows, sinks.len(), of_group);
                }
            }
        })?;
        for (place, partials) in partials.chunks_exact(kept.len().max(1)).enumerate() {
            for (kept, partial) in kept.iter().zip(partials) {
                let found = &mut found[kept.output.result];
                let number = finished(kept, *partial, found.of().scalar);
                found.set(first + place, kept.output.component, number);
            }
        }
        Ok(())
    }

    /// Copies sources to the lanes of a block.
    fn gather(&self, stored: &Block, block: &mut Block, count: usize, address: impl Fn(usize) -> usize) {
        for column in &self.program.columns {
            for lane in 0..count {
                let address = address(lane);
                let from = blocks::Column(address / CHUNK * self.program.source_bytes + column.column.0);
                block.set(column.scalar, column.column, lane, stored.get(column.scalar, from, address % CHUNK));
            }
        }
    }
}

/// Returns the sums of no source.
fn start(kept: &Kept) -> Partial {
    let number = match kept.output.reduction {
        Reduction::Min | Reduction::ArgMin => extreme(kept.accumulated, true),
        Reduction::Max | Reduction::ArgMax => extreme(kept.accumulated, false),
        _ => Number::of(kept.accumulated, Double::ZERO),
    };
    let named = kept.named.map_or(Number::U32(0), |(_, _, scalar)| unnamed(scalar));
    Partial { number: blocks::bits(number), named: blocks::bits(named), address: usize::MAX }
}

/// Returns the sum of a block in the type in which blocks are joined.
fn widened(kept: &Kept, joined: Bits) -> Bits {
    if kept.scalar == kept.accumulated {
        return joined;
    }
    let number: DoubleDouble = blocks::number(kept.scalar, joined).widened();
    blocks::bits(Number::of(kept.accumulated, number))
}

fn is_equal(scalar: Scalar, a: Bits, b: Bits) -> bool {
    blocks::number(scalar, a).widened() == blocks::number(scalar, b).widened()
}

/// Whether the first key is better than the second one.
fn is_better(kept: &Kept, a: Bits, b: Bits) -> bool {
    let [a, b] = [a, b].map(|bits| blocks::number(kept.accumulated, bits).widened());
    if kept.output.reduction == Reduction::ArgMax { a > b } else { a < b }
}

fn join_numbers(kept: &Kept, a: Bits, b: Bits) -> Bits {
    // Sums of one limb, of which there is one for each block, are spared the way over all types.
    match (kept.output.reduction, kept.accumulated) {
        (Reduction::Sum, Scalar::F64) => return [(f64::from_bits(a[0]) + f64::from_bits(b[0])).to_bits(), 0],
        (Reduction::Sum, Scalar::F32) => {
            let [a, b] = [a, b].map(|bits| f32::from_bits(bits[0] as u32));
            return [u64::from((a + b).to_bits()), 0];
        }
        _ => (),
    }
    let two = match kept.output.reduction {
        Reduction::Sum | Reduction::Count => Two::Add,
        Reduction::Min | Reduction::ArgMin => Two::Min,
        Reduction::Max | Reduction::ArgMax | Reduction::Any => Two::Max,
    };
    let operands = [a, b].map(|bits| blocks::number(kept.accumulated, bits));
    blocks::bits(compute(Op::Two(two, 0, 1), kept.accumulated, |operand| operands[operand]))
}

fn join(kept: &Kept, a: Partial, b: Partial) -> Partial {
    if kept.named.is_none() {
        return Partial { number: join_numbers(kept, a.number, b.number), ..a };
    }
    let is_earlier = is_equal(kept.accumulated, a.number, b.number) && b.address < a.address;
    if is_better(kept, b.number, a.number) || is_earlier { b } else { a }
}

/// Returns the number of a result.
fn finished(kept: &Kept, sum: Partial, scalar: Scalar) -> Bits {
    match (kept.output.reduction, kept.named) {
        (_, Some((_, _, of))) => blocks::bits(Number::of(scalar, blocks::number(of, sum.named).widened())),
        (Reduction::Any, _) => [u64::from(sum.number[0] != 0), 0],
        _ => sum.number,
    }
}

/// Joins the sums of slices: those of a group one after another, then groups in halves.
fn in_order(
    slices: usize,
    start: Partial,
    of_slice: impl Fn(usize) -> Partial,
    join: impl Fn(Partial, Partial) -> Partial,
) -> Partial {
    let mut groups = [start; SLICE_GROUPS];
    for (group, sum) in groups.iter_mut().enumerate() {
        for slice in (group..SLICES.min(slices)).step_by(SLICE_GROUPS) {
            *sum = join(*sum, of_slice(slice));
        }
    }
    join_in_pairs(&mut groups, |sum, term| *sum = join(*sum, *term));
    groups[0]
}
