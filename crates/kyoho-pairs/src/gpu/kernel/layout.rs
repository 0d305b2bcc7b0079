//! Where the numbers of a program lie on a device, and how its loops are written.

use kyoho_core::memory::{self, collected};
use kyoho_core::{CHUNK, Error, Result};
use kyoho_language::PairProgram;
use kyoho_language::kernels::MOST_VALUES;
use kyoho_language::limbs::{Component, LimbProgram};
use kyoho_language::list::{Id, Stage};
use kyoho_language::types::Scalar;

/// The most bytes of the shared memory of a block.
const SHARED: usize = 32 << 10;
/// The operations up to which pairs of single precision are written out several times in a loop; half
/// as many where doubles occur.
const WRITTEN_OUT: usize = 1 << 10;

/// The operations after which sums of a block of sources end. Longer blocks take less to join, and
/// shorter ones let more threads work for few sinks.
const OPERATIONS_OF_BLOCK: usize = 1 << 13;
/// The fewest sources of a block.
const LEAST_BLOCK: usize = 32;

/// A number in a row of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// The operation whose value it is.
    pub id: Id,
    /// The type.
    pub scalar: Scalar,
    /// Its first byte.
    pub byte: usize,
}

/// Where the numbers of a program lie on the device, and how its loops are written.
#[derive(Debug)]
pub struct Layout {
    /// The numbers that depend on a source alone and that pairs need.
    pub record: Vec<Cell>,
    /// The bytes of a record, a multiple of 16.
    pub record_bytes: usize,
    /// The numbers that depend on parameters alone and that others need.
    pub values: Vec<Cell>,
    /// The bytes of them, a multiple of 8.
    pub value_bytes: usize,
    /// The place of each variable of a slice among those of its size.
    pub variables: Vec<usize>,
    /// How many of them have 8 and how many 4 bytes.
    pub counts: [usize; 2],
    /// The bytes that a body has in the columns before each one of its side.
    pub columns: [Vec<usize>; 2],
    /// How many columns of each side have 8 and how many 4 bytes.
    pub column_counts: [[usize; 2]; 2],
    /// The first byte of each table.
    pub tables: Vec<usize>,
    /// The bytes of all tables.
    pub table_bytes: usize,
    /// The sources that are read into shared memory together.
    pub tile: usize,
    /// The sources whose terms are added one after another, before their sum goes to the slice's.
    pub block: usize,
    /// The sinks of a thread.
    pub sinks: usize,
    /// How often a pair is written out in a loop.
    pub times: usize,
}

/// What there is no memory for if a layout cannot be made.
const LAYOUT: &str = "the layout of a pair interaction on a GPU";

/// Returns places for numbers, the larger ones first, and the bytes of them.
fn placed(ids: Vec<(Id, Scalar)>) -> Result<(Vec<Cell>, usize)> {
    let mut byte = 0;
    let mut cells = Vec::new();
    for size in [8, 4] {
        // A number of 4 bytes is never in 16 bytes with one of 8, so that they can be read together.
        byte = usize::next_multiple_of(byte, 16);
        for (id, scalar) in ids.iter().copied().filter(|(_, scalar)| scalar.size() == size) {
            memory::push(&mut cells, Cell { id, scalar, byte }, LAYOUT)?;
            byte += size;
        }
    }
    Ok((cells, byte))
}

/// Returns the place of each number among those of its size, and how many have 8 and 4 bytes.
fn by_size(scalars: impl Iterator<Item = Scalar>) -> Result<(Vec<usize>, [usize; 2])> {
    let mut counts = [0; 2];
    let places = scalars.map(|scalar| {
        let count = &mut counts[usize::from(scalar.size() == 4)];
        *count += 1;
        *count - 1
    });
    Ok((collected(places, LAYOUT)?, counts))
}

impl Layout {
    /// Makes the layout of a program.
    pub fn new(pairs: &PairProgram, program: &LimbProgram) -> Result<Layout> {
        let nodes = &program.pair.nodes;
        let needed = |stage: Stage| {
            let by_nodes = nodes.iter().filter(move |node| node.stage > stage).flat_map(|node| node.op.operands());
            let by_updates = program.pair.updates.iter().flat_map(|update| [Some(update.value), update.condition]);
            let ids = by_nodes.chain(by_updates.flatten()).filter(|id| nodes[*id].stage == stage);
            let mut ids: Vec<Id> = collected(ids, LAYOUT)?;
            ids.sort_unstable();
            ids.dedup();
            collected(ids.into_iter().map(|id| (id, nodes[id].scalar)), LAYOUT)
        };
        let (record, record_bytes) = placed(needed(Stage::Source)?)?;
        let (values, value_bytes) = placed(needed(Stage::Run)?)?;
        let record_bytes = record_bytes.next_multiple_of(16).max(16);
        let value_bytes = value_bytes.next_multiple_of(8);
        if value_bytes > MOST_VALUES || 16 * record_bytes > SHARED {
            let (what, bytes, most) = if value_bytes > MOST_VALUES {
                ("the parameters", value_bytes, MOST_VALUES)
            } else {
                ("each source", record_bytes, SHARED / 16)
            };
            return Err(Error::BadOption {
                name: format!("the number of bytes of {what} of the pair interaction {} on a GPU", pairs.name),
                value: bytes.to_string(),
                allowed: format!("up to {most}; the backend cpu takes more"),
            });
        }
        let (variables, counts) =
            by_size(program.variables[..program.of_slice].iter().map(|variable| variable.scalar))?;
        let of_side = |side: usize| by_size(program.columns[side].iter().map(|column| column.scalar));
        let by_side = [of_side(0)?, of_side(1)?];
        let column_counts = [by_side[0].1, by_side[1].1];
        let columns = |side: usize| {
            let (places, [eights, _]) = &by_side[side];
            // Columns of 4 bytes follow those of 8.
            let before = |(column, place): (&Component, usize)| match column.scalar.size() {
                8 => 8 * place,
                _ => 8 * eights + 4 * place,
            };
            collected(program.columns[side].iter().zip(places.iter().copied()).map(before), LAYOUT)
        };
        let columns = [columns(0)?, columns(1)?];
        let mut table_bytes = 0;
        let tables = pairs.parameters.iter().map(|parameter| {
            let first = table_bytes;
            if !parameter.extents.is_empty() {
                table_bytes += (parameter.count() * parameter.of.scalar.size()).next_multiple_of(8);
            }
            first
        });
        let tables = collected(tables, LAYOUT)?;
        let operations = nodes.iter().filter(|node| node.stage == Stage::Pair).count();
        let wide = nodes.iter().filter(|node| node.stage == Stage::Pair && node.scalar.size() == 8).count();
        // A source that is read once serves two sinks of short pairs of single precision. Doubles
        // gain nothing by it, as they are slower than what is read.
        let sinks = if wide == 0 && operations <= 64 { 2 } else { 1 };
        let (most, written_out) = if wide == 0 { (32, WRITTEN_OUT) } else { (8, WRITTEN_OUT / 2) };
        let is_fitting = |times: &usize| *times <= most && times * sinks * operations <= written_out;
        let times = [32, 16, 8, 4, 2].into_iter().find(is_fitting).unwrap_or(1);
        let fitting = SHARED / record_bytes;
        let tile = CHUNK.min(1 << fitting.ilog2());
        let sources = OPERATIONS_OF_BLOCK / operations.max(1);
        let block = (1 << sources.max(1).ilog2()).clamp(LEAST_BLOCK, CHUNK).min(tile);
        Ok(Layout {
            record,
            record_bytes,
            values,
            value_bytes,
            variables,
            counts,
            columns,
            column_counts,
            tables,
            table_bytes,
            tile,
            block,
            sinks,
            times: times.min(block),
        })
    }
}
