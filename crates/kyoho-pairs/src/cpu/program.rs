//! From the list of a pair interaction to steps on blocks: which numbers are uniform, which columns
//! come from the sources, and where temporaries lie.

use kyoho_core::Level;
use kyoho_core::{Result, SLICES, memory};
use kyoho_language::PairProgram;
use kyoho_language::blocks::{Column, Join, Joining, Step, Steps};
use kyoho_language::fault::WHAT;
use kyoho_language::list::{Id, Input, Node, Op, Output, Stage};
use kyoho_language::places::Places;
use kyoho_language::syntax::{Reduction, Side};
use kyoho_language::types::Scalar;

/// A column of the sources' data: a component of a field.
#[derive(Debug, Clone, Copy)]
pub struct SourceColumn {
    /// The field.
    pub field: usize,
    /// The component.
    pub component: usize,
    /// The type.
    pub scalar: Scalar,
    /// Its place in a block.
    pub column: Column,
}

/// What is kept of an output while the sources of a slice are summed.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// The output.
    pub output: Output,
    /// The type of the number that a block gives.
    pub scalar: Scalar,
    /// The type in which blocks are joined.
    pub accumulated: Scalar,
    /// The column of the key of `argmin` and `argmax`, and of the value that they name.
    pub named: Option<(Column, Column, Scalar)>,
    /// The column of the condition.
    pub condition: Option<Column>,
}

/// A program for blocks.
#[derive(Debug)]
pub struct Program {
    /// The columns that come from the sources. They stand at the beginning of a block.
    pub columns: Vec<SourceColumn>,
    /// The bytes of these columns.
    pub source_bytes: usize,
    /// The bytes of a block.
    pub block_bytes: usize,
    /// The values that are uniform, in the order of the rows.
    pub row: Vec<Id>,
    /// The steps that depend on sources alone.
    pub of_sources: Steps,
    /// The steps of a sink.
    pub of_pairs: Steps,
    /// What is made of the outputs, in their order.
    pub kept: Vec<Kept>,
}

/// Gives each component of a field of sources its column.
fn source_columns(nodes: &[Node], places: &mut Places) -> Result<Vec<SourceColumn>> {
    let mut columns = Vec::new();
    for (id, node) in nodes.iter().enumerate() {
        if let Op::Input(Input::Field(Side::J, field, component)) = node.op {
            let column = places.give_column(id);
            memory::push(&mut columns, SourceColumn { field, component, scalar: node.scalar, column }, WHAT)?;
        }
    }
    Ok(columns)
}

/// The values of a stage.
fn of_stage(nodes: &[Node], stage: Stage) -> impl Iterator<Item = Id> {
    nodes.iter().enumerate().filter(move |(_, node)| node.stage == stage).map(|(id, _)| id)
}

/// Returns the last step of a pair that reads each value. What outputs read stays: no step is the
/// last.
fn last_readers(pairs: &PairProgram) -> Result<Vec<Id>> {
    let nodes = &pairs.nodes[..];
    let mut last = memory::filled(nodes.len(), 0, WHAT)?;
    for id in of_stage(nodes, Stage::Pair) {
        nodes[id].op.operands().for_each(|operand| last[operand] = id);
    }
    for output in &pairs.outputs {
        let read = [Some(output.term), output.second, output.condition];
        read.into_iter().flatten().for_each(|id| last[id] = nodes.len());
    }
    Ok(last)
}

/// Returns what is made of the columns of a block for each output, and what is kept of it.
fn joins_of(pairs: &PairProgram, places: &mut Places, steps: &mut Vec<Step>) -> Result<(Vec<Join>, Vec<Kept>)> {
    let nodes = &pairs.nodes[..];
    let (mut joins, mut all) = (Vec::new(), Vec::new());
    for output in &pairs.outputs {
        let term = places.lanes(output.term, steps)?;
        let second = output.second.map(|id| places.lanes(id, steps)).transpose()?;
        let condition = output.condition.map(|id| places.lanes(id, steps)).transpose()?;
        let mut scalar = nodes[output.term].scalar;
        let accumulated = match output.reduction {
            Reduction::Sum => pairs.results[output.result].accumulated,
            Reduction::Count | Reduction::Any => Scalar::U32,
            _ => scalar,
        };
        let joining = match output.reduction {
            Reduction::Sum => Joining::Sum { second, negative: output.negative },
            Reduction::Count | Reduction::Any if scalar == Scalar::Bool => Joining::Count,
            Reduction::Count => Joining::Sum { second: None, negative: false },
            Reduction::Min | Reduction::ArgMin => Joining::Extreme { greatest: false },
            Reduction::Max | Reduction::ArgMax | Reduction::Any => Joining::Extreme { greatest: true },
        };
        memory::push(&mut joins, Join { joining, scalar, term, condition }, WHAT)?;
        if joining == Joining::Count {
            scalar = Scalar::U32;
        }
        let is_named = matches!(output.reduction, Reduction::ArgMin | Reduction::ArgMax);
        let named = output.second.zip(second).filter(|_| is_named);
        let named = named.map(|(id, column)| (term, column, nodes[id].scalar));
        memory::push(&mut all, Kept { output: *output, scalar, accumulated, named, condition }, WHAT)?;
    }
    Ok((joins, all))
}

/// Returns the columns in which the address that `argmin` and `argmax` name is looked for
/// afterwards.
fn read_after_joins(kept: &[Kept]) -> Result<Vec<(Scalar, Column)>> {
    let mut read: Vec<(Scalar, Column)> = Vec::new();
    for Kept { scalar, named, condition, .. } in kept {
        if let Some((key, value, of)) = named {
            memory::reserve(&mut read, 3, WHAT)?;
            read.extend([(*scalar, *key), (*of, *value)]);
            read.extend(condition.map(|condition| (Scalar::Bool, condition)));
        }
    }
    Ok(read)
}

impl Program {
    /// Makes the program of an interaction for an instruction set.
    pub fn new(pairs: &PairProgram, level: Level) -> Result<Program> {
        let nodes = &pairs.nodes[..];
        let mut places = Places::new(nodes)?;
        let columns = source_columns(nodes, &mut places)?;
        let source_bytes = places.bytes();
        let last = last_readers(pairs)?;
        let mut of_sources = Vec::new();
        for id in of_stage(nodes, Stage::Source) {
            if !places.is_known(id) {
                memory::push(&mut of_sources, places.step(id)?, WHAT)?;
            }
        }
        let mut of_pairs = Vec::new();
        for id in of_stage(nodes, Stage::Pair) {
            memory::push(&mut of_pairs, places.step(id)?, WHAT)?;
            // Columns of temporaries that no later step reads are free.
            for operand in nodes[id].op.operands().filter(|operand| last[*operand] == id) {
                if nodes[operand].stage == Stage::Pair {
                    places.release(operand)?;
                }
            }
        }
        let (joins, kept) = joins_of(pairs, &mut places, &mut of_pairs)?;
        let of_sources = Steps::new(of_sources, Vec::new(), &[], level)?;
        let of_pairs = Steps::new(of_pairs, joins, &read_after_joins(&kept)?, level)?;
        Ok(Program {
            columns,
            source_bytes,
            block_bytes: places.bytes().max(of_pairs.bytes()),
            row: places.into_row(),
            of_sources,
            of_pairs,
            kept,
        })
    }

    /// The number of slices that have sources.
    pub fn slices(chunks: usize) -> usize {
        chunks.min(SLICES)
    }
}
