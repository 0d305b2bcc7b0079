//! Where the values of a list lie while blocks of numbers are computed: which are uniform, and in
//! which column each of the others is.

use kyoho_core::{Result, memory};

use super::blocks::{Action, Column, Operand, Step, column_bytes};
use super::fault::WHAT;
use super::list::{Id, Node, Op};
use super::types::Scalar;

/// The places of the values of a list while steps are made of it.
pub struct Places<'a> {
    nodes: &'a [Node],
    of: Vec<Option<Operand>>,
    row: Vec<Id>,
    end: usize,
    free: Vec<(usize, Column)>,
}

impl Places<'_> {
    /// Begins with no value in any place.
    pub fn new(nodes: &[Node]) -> Result<Places<'_>> {
        let of = memory::filled(nodes.len(), None, WHAT)?;
        Ok(Places { nodes, of, row: Vec::new(), end: 0, free: Vec::new() })
    }

    /// The bytes of all columns.
    pub fn bytes(&self) -> usize {
        self.end
    }

    /// Returns the values that are uniform, in the order of their row.
    pub fn into_row(self) -> Vec<Id> {
        self.row
    }

    /// Whether a value has a place.
    pub fn is_known(&self, id: Id) -> bool {
        self.of[id].is_some()
    }

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

    /// Gives a value a column of its own.
    pub fn give_column(&mut self, id: Id) -> Column {
        let column = self.column(self.nodes[id].scalar);
        self.of[id] = Some(Operand::Lanes(column));
        column
    }

    /// Returns where a value is found; a uniform one gets a place in the row.
    pub fn operand(&mut self, id: Id) -> Result<Operand> {
        if let Some(place) = self.of[id] {
            return Ok(place);
        }
        memory::push(&mut self.row, id, WHAT)?;
        let place = Operand::Uniform(self.row.len() - 1);
        self.of[id] = Some(place);
        Ok(place)
    }

    /// Returns the column of a value, which steps fill if it is uniform.
    pub fn lanes(&mut self, id: Id, steps: &mut Vec<Step>) -> Result<Column> {
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

    /// Returns the step that computes a value, whose column it gives.
    pub fn step(&mut self, id: Id) -> Result<Step> {
        let node = &self.nodes[id];
        let mut operands = [Operand::Uniform(0); 3];
        for (k, operand) in node.op.operands().enumerate() {
            let place = self.operand(operand)?;
            // Steps of fewer operands have the first one in the place of the others.
            let first = if k == 0 { place } else { operands[0] };
            operands[k..].fill(first);
            operands[k] = place;
        }
        Ok(Step { action: action(node, self.nodes), to: self.give_column(id), operands })
    }

    /// Lets other values have the column of this one.
    pub fn release(&mut self, id: Id) -> Result<()> {
        let Some(Operand::Lanes(column)) = self.of[id] else { return Ok(()) };
        let free = (column_bytes(self.nodes[id].scalar), column);
        if self.free.contains(&free) { Ok(()) } else { memory::push(&mut self.free, free, WHAT) }
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
