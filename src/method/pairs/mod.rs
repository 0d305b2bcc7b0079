//! Pair interactions that users wrote, summed over all pairs by the CPU.
//!
//! A [`PairKernel`] holds the sinks and sources that it was given, typed as its text declares. A
//! run computes what depends on a sink once for it, what depends on a source once for some sinks,
//! and the rest for blocks of 256 sources. Blocks are added in the order of the built-in direct
//! sums: by slices, each from its first chunk to its last, and slices by groups.

mod program;

use std::sync::Mutex;

use crate::data::{
    CHUNK, Error, Result, SLICE_GROUPS, SLICES, chunks_below, chunks_of_slice, error, join_in_pairs, memory,
};
use crate::hal::threads::Threads;
use crate::law::double_double::{Double, DoubleDouble};
use crate::law::language::list::{Id, Input, Node, Op, Stage};
use crate::law::language::number::{Number, compute};
use crate::law::language::syntax::{Field, Parameter, Reduction, Side};
use crate::law::language::types::{Scalar, Type};
use crate::law::language::{Fault, Options, PairProgram, compile, extreme};
use crate::simd::Level;
use crate::simd::blocks::{self, Bits, Block};

use self::program::{Kept, Program};

/// The sinks that are computed together before their sums are written.
const PIECE: usize = 2048;
/// The sinks for which a block of sources is read once.
const GROUP: usize = 32;
/// The most sinks or sources.
pub const MAX_BODIES: usize = i32::MAX as usize;

/// Numbers of a caller: rows of some components.
pub trait Rows {
    /// The type of the numbers.
    fn scalar(&self) -> Scalar;
    /// The number of rows.
    fn count(&self) -> usize;
    /// Returns a number.
    fn number(&self, row: usize, component: usize) -> Number;
}

/// Doubles that follow one another, as rows.
pub struct Packed<'a> {
    /// The numbers.
    pub numbers: &'a [f64],
    /// The components of a row.
    pub width: usize,
}

impl Rows for Packed<'_> {
    fn scalar(&self) -> Scalar {
        Scalar::F64
    }

    fn count(&self) -> usize {
        self.numbers.len() / self.width.max(1)
    }

    fn number(&self, row: usize, component: usize) -> Number {
        Number::F64(self.numbers[row * self.width + component])
    }
}

/// The numbers of a field: rows of as many as its type has.
#[derive(Debug, Default)]
struct Given {
    numbers: Option<Vec<Bits>>,
}

/// The numbers of a result.
#[derive(Debug)]
pub struct Found {
    /// The type of the numbers, and how many each sink has.
    pub of: Type,
    numbers: Vec<Bits>,
}

impl Found {
    /// Returns a number.
    pub fn number(&self, sink: usize, component: usize) -> Number {
        blocks::number(self.of.scalar, self.numbers[sink * self.of.width + component])
    }

    /// The number of sinks.
    pub fn count(&self) -> usize {
        self.numbers.len() / self.of.width
    }
}

/// A pair interaction with its data.
#[derive(Debug)]
pub struct PairKernel {
    pairs: PairProgram,
    program: Program,
    fields: [Vec<Given>; 2],
    parameters: Vec<Option<Vec<Number>>>,
    results: Vec<Option<Found>>,
    threads: usize,
}

/// What one slice of sources gives to one output of one sink.
#[derive(Debug, Clone, Copy)]
struct Partial {
    number: Bits,
    /// The value that `argmin` and `argmax` name, and the address of its source.
    named: Bits,
    address: usize,
}

impl PairKernel {
    /// Compiles a text. `threads` compute, the caller's included.
    pub fn new(text: &str, options: Options, threads: usize, level: Level) -> Result<PairKernel> {
        let pairs = compile(text, options).map_err(Fault::into_error)?;
        let program = Program::new(&pairs, level)?;
        let fields = [0, 1].map(|side: usize| pairs.fields[side].iter().map(|_| Given::default()).collect());
        let parameters = pairs.parameters.iter().map(|_| None).collect();
        let results = pairs.results.iter().map(|_| None).collect();
        Ok(PairKernel { pairs, program, fields, parameters, results, threads })
    }

    /// The compiled list.
    pub fn list(&self) -> &PairProgram {
        &self.pairs
    }

    /// Returns the side, the number and the declaration of a field such as `j.mass`.
    pub fn field(&self, name: &str) -> Result<(Side, usize, &Field)> {
        let found = [Side::I, Side::J].into_iter().find_map(|side| {
            let field = name.strip_prefix(side.name())?.strip_prefix('.')?;
            let fields = &self.pairs.fields[side as usize];
            let number = fields.iter().position(|known| known.name == field)?;
            Some((side, number, &fields[number]))
        });
        found.ok_or_else(|| {
            let fields = [Side::I, Side::J].into_iter().flat_map(|side| {
                self.pairs.fields[side as usize].iter().map(move |field| format!("{}.{}", side.name(), field.name))
            });
            not_declared("the field", name, fields)
        })
    }

    /// Returns the number and the declaration of a parameter.
    pub fn parameter(&self, name: &str) -> Result<(usize, &Parameter)> {
        let parameters = &self.pairs.parameters;
        match parameters.iter().position(|parameter| parameter.name == name) {
            Some(number) => Ok((number, &parameters[number])),
            None => {
                let names = parameters.iter().map(|parameter| parameter.name.clone());
                Err(not_declared("the parameter", name, names))
            }
        }
    }

    /// Gives the numbers of a field, which are converted to its type. Results of an earlier run are
    /// dropped.
    pub fn set(&mut self, name: &str, rows: &dyn Rows) -> Result<()> {
        let (side, number, field) = self.field(name)?;
        let of = field.of;
        if rows.count() > MAX_BODIES {
            let allowed = format!("0 to {MAX_BODIES}");
            return Err(Error::BadList { what: format!("the length of {name}"), value: rows.count() as i64, allowed });
        }
        let mut numbers = memory::room(rows.count() * of.width, "the numbers of a field")?;
        for row in 0..rows.count() {
            for component in 0..of.width {
                let given = rows.number(row, component);
                let what = || place_of(name, row, of, component);
                numbers.push(blocks::bits(converted(given, of.scalar, what)?));
            }
        }
        self.fields[side as usize][number].numbers = Some(numbers);
        self.results.iter_mut().for_each(|result| *result = None);
        Ok(())
    }

    /// Gives the numbers of a parameter: one, as many as the vector has, or those of the table.
    pub fn set_parameter(&mut self, name: &str, given: &[Number]) -> Result<()> {
        let (number, parameter) = self.parameter(name)?;
        let (of, wanted) = (parameter.of, parameter.count());
        if given.len() != wanted {
            let what = format!("the count of numbers of {name}");
            return Err(Error::BadList { what, value: given.len() as i64, allowed: wanted.to_string() });
        }
        let mut numbers = memory::room(wanted, "the numbers of a parameter")?;
        for (place, given) in given.iter().enumerate() {
            let what = || if wanted == 1 { name.to_string() } else { format!("{name}[{place}]") };
            let value = given.widened().to_f64();
            if !value.is_finite() {
                return Err(Error::NotFinite { what: what(), value });
            }
            numbers.push(converted(*given, of.scalar, what)?);
        }
        self.parameters[number] = Some(numbers);
        self.results.iter_mut().for_each(|result| *result = None);
        Ok(())
    }

    /// Returns the numbers of a result of the last run.
    pub fn result(&self, name: &str) -> Result<&Found> {
        let Some(number) = self.pairs.results.iter().position(|result| result.name == name) else {
            return Err(not_declared("the result", name, self.pairs.results.iter().map(|result| result.name.clone())));
        };
        self.results[number].as_ref().ok_or_else(|| Error::NotGiven {
            what: format!("the result '{name}'"),
            how: "a run makes it, and what is set afterwards drops it",
        })
    }

    /// Returns the number of sinks or sources that the fields of a side have.
    fn count(&self, side: Side, wanted: Option<usize>) -> Result<usize> {
        let fields = &self.pairs.fields[side as usize];
        let name = |field: &Field| format!("{}.{}", side.name(), field.name);
        let mut count = wanted;
        for (field, given) in fields.iter().zip(&self.fields[side as usize]) {
            let Some(numbers) = &given.numbers else {
                let how = "every field that the text declares is set before a run";
                return Err(Error::NotGiven { what: format!("the array {}", name(field)), how });
            };
            let length = numbers.len() / field.of.width;
            match count {
                Some(count) if count != length => {
                    let what = format!("the length of {}", name(field));
                    let whose = if wanted.is_some() { "the run wants" } else { "the arrays before it have" };
                    let allowed = format!("{count}, as {whose}");
                    return Err(Error::BadList { what, value: length as i64, allowed });
                }
                _ => count = Some(length),
            }
        }
        count.ok_or_else(|| Error::NotGiven {
            what: format!("the number of {}", if side == Side::I { "sinks" } else { "sources" }),
            how: "it is given with the run, as the text declares no field for them",
        })
    }

    /// Checks that the indices of tables are below their extents.
    fn check_indices(&self) -> Result<()> {
        for check in &self.pairs.checks {
            let field = &self.pairs.fields[check.side as usize][check.field];
            let numbers = self.fields[check.side as usize][check.field].numbers.as_deref().unwrap_or(&[]);
            let index = |bits: &Bits| blocks::number(field.of.scalar, *bits).widened().high;
            let is_bad = |bits: &&Bits| !(0.0..f64::from(check.extent)).contains(&index(bits));
            if let Some((row, bits)) = numbers.iter().enumerate().find(|(_, bits)| is_bad(bits)) {
                let table = &self.pairs.parameters[check.table].name;
                return Err(Error::BadList {
                    what: format!("{}.{}[{row}], an index of the table {table},", check.side.name(), field.name),
                    value: index(bits) as i64,
                    allowed: format!("0 to {}", check.extent - 1),
                });
            }
        }
        Ok(())
    }

    /// Computes all pairs of sinks and sources. Their numbers are those of the arrays; they have to
    /// be given for a side without a field, and are compared where they are given.
    pub fn run(&mut self, sinks: Option<usize>, sources: Option<usize>) -> Result<()> {
        self.results.iter_mut().for_each(|result| *result = None);
        let sinks = self.count(Side::I, sinks)?;
        let sources = self.count(Side::J, sources)?;
        for (parameter, given) in self.pairs.parameters.iter().zip(&self.parameters) {
            if given.is_none() {
                let how = "every parameter that the text declares is set before a run";
                return Err(Error::NotGiven { what: format!("the parameter {}", parameter.name), how });
            }
        }
        self.check_indices()?;
        let tables = self.tables()?;
        let stored = self.stored(sources)?;
        let mut found = Vec::new();
        for result in &self.pairs.results {
            let of = Type { scalar: result.accumulated, width: result.of.width };
            let numbers = memory::filled(sinks * of.width, [0; 2], "the results of pairs")?;
            found.push(Found { of, numbers });
        }
        let threads = Threads::new(self.threads.min(sinks.div_ceil(GROUP) * Program::slices(chunks_below(sources))));
        for first in (0..sinks).step_by(PIECE) {
            let count = PIECE.min(sinks - first);
            self.piece(first, count, sources, &stored, &tables, &threads, &mut found)?;
        }
        self.results.iter_mut().zip(found).for_each(|(result, found)| *result = Some(found));
        Ok(())
    }

    /// Returns the numbers of tables, an empty one for each parameter that is none.
    fn tables(&self) -> Result<Vec<Vec<Bits>>> {
        let mut tables = memory::room(self.pairs.parameters.len(), "the tables")?;
        for (parameter, given) in self.pairs.parameters.iter().zip(&self.parameters) {
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
            let width = self.pairs.fields[1][column.field].of.width;
            let numbers = self.fields[1][column.field].numbers.as_deref().unwrap_or(&[]);
            for (address, row) in numbers.chunks_exact(width).enumerate() {
                let place = blocks::Column(address / CHUNK * chunk_bytes + column.column.0);
                stored.set(column.scalar, place, address % CHUNK, row[column.component]);
            }
        }
        Ok(stored)
    }

    /// Returns the uniform numbers of a sink, or those of the run for no sink.
    fn row(&self, sink: usize, values: &mut [Number], stage: Stage) {
        let nodes = &self.pairs.nodes;
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
                let width = self.pairs.fields[0][field].of.width;
                let numbers = self.fields[0][field].numbers.as_deref().unwrap_or(&[]);
                blocks::number(node.scalar, numbers[sink * width + component])
            }
            Op::Input(Input::Parameter(parameter, component)) => self.parameter_number(parameter, component),
            Op::Element(table, index) => self.parameter_number(table, values[index].widened().high as usize),
            op => compute(op, node.scalar, |id: Id| values[id]),
        }
    }

    fn parameter_number(&self, parameter: usize, place: usize) -> Number {
        let numbers = self.parameters[parameter].as_deref().unwrap_or(&[]);
        numbers.get(place).copied().unwrap_or(Number::Bool(false))
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
        found: &mut [Found],
    ) -> Result<()> {
        let Program { row, kept, .. } = &self.program;
        let width = row.len();
        let mut rows = memory::filled(count * width, [0; 2], "the numbers of sinks")?;
        let mut values = memory::filled(self.pairs.nodes.len(), Number::Bool(false), "the numbers of a sink")?;
        self.row(0, &mut values, Stage::Run);
        for sink in 0..count {
            self.row(first + sink, &mut values, Stage::Sink);
            let row_of_sink = &mut rows[sink * width..(sink + 1) * width];
            row_of_sink.iter_mut().zip(row).for_each(|(to, id)| *to = blocks::bits(values[*id]));
        }
        let slices = Program::slices(chunks_below(sources));
        let start = memory::collected(kept.iter().map(start), "the sums of a slice")?;
        let per_group = GROUP * kept.len();
        let groups = count.div_ceil(GROUP);
        let empty = Partial { number: [0; 2], named: [0; 2], address: usize::MAX };
        let mut partials = memory::filled(groups * slices * per_group, empty, "the sums of slices")?;
        let scratch: Mutex<Vec<Result<Block>>> = Mutex::new(Vec::new());
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let new_block = || Block::new(self.program.block_bytes);
        threads.run(
            partials.chunks_mut(per_group.max(1)).enumerate(),
            &scratch,
            new_block,
            |(task, partials), block| {
                let block = match block {
                    Ok(block) => block,
                    Err(error) => {
                        *failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error.clone());
                        return;
                    }
                };
                let (group, slice) = (task / slices, task % slices);
                let sinks = group * GROUP..count.min((group + 1) * GROUP);
                let rows = &rows[sinks.start * width..sinks.end * width];
                self.slice(slice, sources, stored, tables, rows, sinks.len(), &start, block, partials);
            },
        );
        if let Some(error) = failed.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
            return Err(error);
        }
        for sink in 0..count {
            let (group, place) = (sink / GROUP, sink % GROUP);
            for (number, kept_output) in kept.iter().enumerate() {
                let of_slice =
                    |slice: usize| partials[(group * slices + slice) * per_group + place * kept.len() + number];
                let sum = in_order(slices, start[number], of_slice, |a, b| join(kept_output, a, b));
                let found = &mut found[kept_output.output.result];
                let width = found.of.width;
                let to = &mut found.numbers[(first + sink) * width + kept_output.output.component];
                *to = finished(kept_output, sum, found.of.scalar);
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
        let Program { source_bytes, of_sources, of_pairs, kept, row, .. } = &self.program;
        partials.chunks_exact_mut(kept.len()).for_each(|partials| partials.copy_from_slice(start));
        let mut joined = vec![[0; 2]; kept.len()];
        for chunk in chunks_of_slice(slice, chunks_below(sources)) {
            let first = chunk * CHUNK;
            let count = CHUNK.min(sources - first);
            block.bytes_mut()[..*source_bytes]
                .copy_from_slice(&stored.bytes()[chunk * source_bytes..(chunk + 1) * source_bytes]);
            of_sources.run(block, rows, tables, CHUNK, &mut []);
            for (sink, partials) in partials.chunks_exact_mut(kept.len()).take(sinks).enumerate() {
                let row = &rows[sink * row.len()..(sink + 1) * row.len()];
                of_pairs.run(block, row, tables, count, &mut joined);
                for ((kept, joined), partial) in kept.iter().zip(&joined).zip(partials) {
                    let term = widened(kept, *joined);
                    let Some((key, value, scalar)) = kept.named else {
                        partial.number = join_numbers(kept, partial.number, term);
                        continue;
                    };
                    // The source is looked for only if it is the best so far.
                    if is_better(kept, term, partial.number) {
                        let is_live =
                            |lane| kept.condition.is_none_or(|column| block.get(Scalar::Bool, column, lane)[0] != 0);
                        let is_it = |lane: &usize| {
                            is_live(*lane) && is_equal(kept.scalar, block.get(kept.scalar, key, *lane), *joined)
                        };
                        if let Some(lane) = (0..count).find(is_it) {
                            *partial =
                                Partial { number: term, named: block.get(scalar, value, lane), address: first + lane };
                        }
                    }
                }
            }
        }
    }
}

fn not_declared(what: &str, name: &str, known: impl Iterator<Item = String>) -> Error {
    let known: Vec<String> = known.collect();
    let allowed = if known.is_empty() { "none, as the text declares none".into() } else { known.join(", ") };
    Error::BadOption { name: what.into(), value: name.into(), allowed }
}

fn place_of(name: &str, row: usize, of: Type, component: usize) -> String {
    if of.width == 1 { format!("{name}[{row}]") } else { format!("{name}[{row}][{component}]") }
}

/// Returns the nearest number of a type. Integers have to be exact.
fn converted(given: Number, scalar: Scalar, what: impl Fn() -> String) -> Result<Number> {
    let exact = given.widened();
    let number = Number::of(scalar, exact);
    if scalar.is_real() {
        let too_large = exact.high.is_finite() && !number.widened().high.is_finite();
        if too_large {
            let allowed = format!("numbers up to {:e}", f32::MAX);
            return Err(Error::OutOfRange { what: what(), value: exact.high, precision: scalar.name(), allowed });
        }
    } else if number.widened() != exact {
        let allowed = format!("integers of {}", scalar.name());
        return Err(Error::BadOption { name: what(), value: error::shown(exact.to_f64()), allowed });
    }
    Ok(number)
}

/// Returns the sums of no source.
fn start(kept: &Kept) -> Partial {
    let number = match kept.output.reduction {
        Reduction::Min | Reduction::ArgMin => extreme(kept.accumulated, true),
        Reduction::Max | Reduction::ArgMax => extreme(kept.accumulated, false),
        _ => Number::of(kept.accumulated, Double::ZERO),
    };
    let named = match kept.named {
        // No source: no number, or the largest or the least integer.
        Some((_, _, Scalar::U32)) => Number::U32(u32::MAX),
        Some((_, _, Scalar::I32)) => Number::I32(-1),
        Some((_, _, scalar)) => Number::of(scalar, Double::from_limb(f64::NAN)),
        None => Number::U32(0),
    };
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
    use crate::law::language::list::Two;
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
