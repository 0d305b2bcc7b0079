//! From the list of a pair interaction to steps on blocks: which numbers are uniform, which columns
//! come from the sources, and where temporaries lie.

use kyoho_core::Level;
use kyoho_core::{Result, SLICES, memory};
use kyoho_language::PairProgram;
use kyoho_language::blocks::{Action, Column, Join, Joining, Operand, Step, Steps, column_bytes};
use kyoho_language::fault::WHAT;
use kyoho_language::list::{Id, Input, Node, Op, Output, Stage};
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

/// The places of values while steps are made.
struct Places<'a> {
    nodes: &'a [Node],
    of: Vec<Option<Operand>>,
    row: Vec<Id>,
    end: usize,
    free: Vec<(usize, Column)>,
}

impl Places<'_> {
    fn column(&mut self, scalar: Scalar) -> Column {
        let bytes = column_bytes(scalar);
        match self.free.iter().position(|(size, _)| *size == bytes) {
            Some(place) => self.free.swap_remove(place).1,
            None => {
                self.end += bytes;
                Column(self.end - bytes)
            }
        }
    }

    /// Returns where a value is found; a uniform one gets a place in the row.
    fn operand(&mut self, id: Id) -> Result<Operand> {
        if let Some(place) = self.of[id] {
            return Ok(place);
        }
        memory::push(&mut self.row, id, WHAT)?;
        let place = Operand::Uniform(self.row.len() - 1);
        self.of[id] = Some(place);
        Ok(place)
    }

    /// Returns the column of a value, which steps fill if it is uniform.
    fn lanes(&mut self, id: Id, steps: &mut Vec<Step>) -> Result<Column> {
        match self.operand(id)? {
            Operand::Lanes(column) => Ok(column),
            uniform => {
                let scalar = self.nodes[id].scalar;
                let to = self.column(scalar);
                memory::push(steps, Step { action: Action::Broadcast(scalar), to, operands: [uniform; 3] }, WHAT)?;
                Ok(to)
            }
        }
    }

    /// Gives each component of a field of sources its column.
    fn source_columns(&mut self) -> Result<Vec<SourceColumn>> {
        let mut columns = Vec::new();
        for (id, node) in self.nodes.iter().enumerate() {
            if let Op::Input(Input::Field(Side::J, field, component)) = node.op {
                let column = self.column(node.scalar);
                self.of[id] = Some(Operand::Lanes(column));
                memory::push(&mut columns, SourceColumn { field, component, scalar: node.scalar, column }, WHAT)?;
            }
        }
        Ok(columns)
    }

    /// Makes the step of a value, unless it has a place already, and returns whether it did.
    fn step(&mut self, id: Id, steps: &mut Vec<Step>) -> Result<bool> {
        if self.of[id].is_some() {
            return Ok(false);
        }
        let node = &self.nodes[id];
        let mut operands = [Operand::Uniform(0); 3];
        for (k, operand) in node.op.operands().enumerate() {
            let place = self.operand(operand)?;
            // Steps of fewer operands have the first one in the place of the others.
            let first = if k == 0 { place } else { operands[0] };
            operands[k..].fill(first);
            operands[k] = place;
        }
        let to = self.column(node.scalar);
        self.of[id] = Some(Operand::Lanes(to));
        memory::push(steps, Step { action: action(node, self.nodes), to, operands }, WHAT)?;
        Ok(true)
    }

    /// Frees the columns of temporaries that no step after that of a value reads.
    fn free_operands(&mut self, id: Id, last: &[Id]) -> Result<()> {
        let nodes = self.nodes;
        for operand in nodes[id].op.operands().filter(|operand| last[*operand] == id) {
            let is_temporary = nodes[operand].stage == Stage::Pair;
            if let (true, Some(Operand::Lanes(column))) = (is_temporary, self.of[operand]) {
                let free = (column_bytes(nodes[operand].scalar), column);
                if !self.free.contains(&free) {
                    memory::push(&mut self.free, free, WHAT)?;
                }
            }
        }
        Ok(())
    }
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
    let (mut joins, mut all) = (Vec::new(), Vec::new());
    for output in &pairs.outputs {
        let term = places.lanes(output.term, steps)?;
        let second = output.second.map(|id| places.lanes(id, steps)).transpose()?;
        let condition = output.condition.map(|id| places.lanes(id, steps)).transpose()?;
        let mut scalar = places.nodes[output.term].scalar;
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
        let named = named.map(|(id, column)| (term, column, places.nodes[id].scalar));
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

fn action(node: &Node, nodes: &[Node]) -> Action {
    let of = |id: Id| nodes[id].scalar;
    match node.op {
        Op::Constant(_) | Op::Input(_) => Action::Broadcast(node.scalar),
        Op::Element(table, _) => Action::Element(node.scalar, table),
        Op::Convert(a) => Action::Convert(of(a), node.scalar),
        Op::One(function, _) => Action::One(function, node.scalar),
        Op::Two(two, a, b) if of(a) != of(b) => Action::Limb(two, node.scalar),
        Op::Two(two, ..) => Action::Two(two, node.scalar),
        Op::MulAdd { negated, .. } => Action::MulAdd(node.scalar, negated),
        Op::Compare(comparison, a, _) => Action::Compare(comparison, of(a)),
        Op::And(..) => Action::And,
        Op::Or(..) => Action::Or,
        Op::Not(_) => Action::Not,
        Op::Select(..) => Action::Select(node.scalar),
    }
}

impl Program {
    /// Makes the program of an interaction for an instruction set.
    pub fn new(pairs: &PairProgram, level: Level) -> Result<Program> {
        let nodes = &pairs.nodes[..];
        let of = memory::filled(nodes.len(), None, WHAT)?;
        let mut places = Places { nodes, of, row: Vec::new(), end: 0, free: Vec::new() };
        let columns = places.source_columns()?;
        let source_bytes = places.end;
        let last = last_readers(pairs)?;
        let mut of_sources = Vec::new();
        for id in of_stage(nodes, Stage::Source) {
            places.step(id, &mut of_sources)?;
        }
        let mut of_pairs = Vec::new();
        for id in of_stage(nodes, Stage::Pair) {
            if places.step(id, &mut of_pairs)? {
                places.free_operands(id, &last)?;
            }
        }
        let (joins, kept) = joins_of(pairs, &mut places, &mut of_pairs)?;
        let of_sources = Steps::new(of_sources, Vec::new(), &[], level)?;
        let of_pairs = Steps::new(of_pairs, joins, &read_after_joins(&kept)?, level)?;
        Ok(Program {
            columns,
            source_bytes,
            block_bytes: places.end.max(of_pairs.bytes()),
            row: places.row,
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
