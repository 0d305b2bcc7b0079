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
        let mut columns = Vec::new();
        for (id, node) in nodes.iter().enumerate() {
            if let Op::Input(Input::Field(Side::J, field, component)) = node.op {
                let column = places.column(node.scalar);
                places.of[id] = Some(Operand::Lanes(column));
                memory::push(&mut columns, SourceColumn { field, component, scalar: node.scalar, column }, WHAT)?;
            }
        }
        let source_bytes = places.end;

        // The last step that reads each value; what outputs read stays.
        let mut last = memory::filled(nodes.len(), 0, WHAT)?;
        for (id, node) in nodes.iter().enumerate().filter(|(_, node)| node.stage == Stage::Pair) {
            node.op.operands().for_each(|operand| last[operand] = id);
        }
        for output in &pairs.outputs {
            let read = [Some(output.term), output.second, output.condition];
            read.into_iter().flatten().for_each(|id| last[id] = nodes.len());
        }
        let mut of_sources = Vec::new();
        let mut of_pairs = Vec::new();
        for stage in [Stage::Source, Stage::Pair] {
            for (id, node) in nodes.iter().enumerate().filter(|(_, node)| node.stage == stage) {
                if places.of[id].is_some() {
                    continue;
                }
                let mut operands = [Operand::Uniform(0); 3];
                for (k, operand) in node.op.operands().enumerate() {
                    let place = places.operand(operand)?;
                    // Steps of fewer operands have the first one in the place of the others.
                    let first = if k == 0 { place } else { operands[0] };
                    operands[k..].fill(first);
                    operands[k] = place;
                }
                let to = places.column(node.scalar);
                places.of[id] = Some(Operand::Lanes(to));
                let step = Step { action: action(node, nodes), to, operands };
                if stage == Stage::Source {
                    memory::push(&mut of_sources, step, WHAT)?;
                    continue;
                }
                memory::push(&mut of_pairs, step, WHAT)?;
                let mut done: Vec<Id> = node.op.operands().filter(|operand| last[*operand] == id).collect();
                done.dedup();
                for operand in done {
                    let is_temporary = nodes[operand].stage == Stage::Pair;
                    if let (true, Some(Operand::Lanes(column))) = (is_temporary, places.of[operand]) {
                        let free = (column_bytes(nodes[operand].scalar), column);
                        if !places.free.contains(&free) {
                            memory::push(&mut places.free, free, WHAT)?;
                        }
                    }
                }
            }
        }
        let mut joins = Vec::new();
        let mut kept = Vec::new();
        for output in &pairs.outputs {
            let term = places.lanes(output.term, &mut of_pairs)?;
            let second = output.second.map(|id| places.lanes(id, &mut of_pairs)).transpose()?;
            let condition = output.condition.map(|id| places.lanes(id, &mut of_pairs)).transpose()?;
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
            memory::push(&mut kept, Kept { output: *output, scalar, accumulated, named, condition }, WHAT)?;
        }
        // The address that `argmin` and `argmax` name is looked for afterwards.
        let mut read: Vec<(Scalar, Column)> = Vec::new();
        for Kept { scalar, named, condition, .. } in &kept {
            if let Some((key, value, of)) = named {
                memory::reserve(&mut read, 3, WHAT)?;
                read.extend([(*scalar, *key), (*of, *value)]);
                read.extend(condition.map(|condition| (Scalar::Bool, condition)));
            }
        }
        let of_sources = Steps::new(of_sources, Vec::new(), &[], level)?;
        let of_pairs = Steps::new(of_pairs, joins, &read, level)?;
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
