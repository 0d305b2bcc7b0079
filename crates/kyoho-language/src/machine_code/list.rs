//! Steps and joins as a list of values, each of which is written once.

use std::collections::HashMap;

use super::assembler::{Address, RAX, RDX};
use super::registers::{Home, Value};
use crate::blocks::{self, Action, Column, Join, Joining, Operand as Place, Step};
use crate::types::Scalar;
use kyoho_core::{Result, memory};

/// The purpose of the memory. Without it the steps are interpreted.
pub const WHAT: &str = "the machine code of pairs";

/// What is written at a place of the list.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    Step(Action),
    /// Writes a column that is read afterwards.
    Keep(Column),
    /// Adds to a sum, under a condition, which is the last operand, or always.
    Join {
        number: usize,
        is_conditional: bool,
    },
}

#[derive(Debug)]
pub struct Item {
    pub work: Work,
    pub operands: Vec<usize>,
    pub result: Option<usize>,
}

/// The steps as a list of values, each of which is written once.
pub struct List {
    pub values: Vec<Value>,
    pub items: Vec<Item>,
    /// The value that a column has.
    columns: HashMap<usize, usize>,
    /// The values of the row, by their places.
    pub rows: HashMap<usize, usize>,
    /// Whether vectors have four lanes.
    has_doubles: bool,
}

impl List {
    fn value(&mut self, scalar: Scalar, home: Option<Home>) -> Result<usize> {
        memory::push(&mut self.values, Value { scalar, home, register: None, uses: Vec::new() }, WHAT)?;
        Ok(self.values.len() - 1)
    }

    fn column(&mut self, scalar: Scalar, column: Column) -> Result<usize> {
        if let Some(value) = self.columns.get(&column.0) {
            return Ok(*value);
        }
        let address = Address::behind(column.0, RAX, scalar == Scalar::F64);
        let is_narrow = self.has_doubles && scalar == Scalar::Bool;
        let value = self.value(scalar, Some(if is_narrow { Home::Narrow(address) } else { Home::Alike(address) }))?;
        memory::reserve_entry(&mut self.columns, WHAT)?;
        self.columns.insert(column.0, value);
        Ok(value)
    }

    fn item(&mut self, work: Work, operands: Vec<usize>, result: Option<Scalar>) -> Result<Option<usize>> {
        let result = result.map(|scalar| self.value(scalar, None)).transpose()?;
        memory::push(&mut self.items, Item { work, operands, result }, WHAT)?;
        Ok(result)
    }

    /// Lists steps, what is written of the columns `kept`, and joins: of all lanes, or of those that
    /// count.
    pub fn new(
        steps: &[Step],
        joins: &[Join],
        kept: &[(Scalar, Column)],
        is_whole: bool,
        has_doubles: bool,
    ) -> Result<List> {
        let mut list =
            List { values: Vec::new(), items: Vec::new(), columns: HashMap::new(), rows: HashMap::new(), has_doubles };
        list.take(steps)?;
        list.keep(kept)?;
        list.join(joins, is_whole)?;
        for (place, item) in list.items.iter().enumerate().rev() {
            for operand in &item.operands {
                let uses = &mut list.values[*operand].uses;
                if uses.last() != Some(&place) {
                    memory::push(uses, place, WHAT)?;
                }
            }
        }
        Ok(list)
    }

    fn take(&mut self, steps: &[Step]) -> Result<()> {
        for step in steps {
            let (to, scalars) = blocks::types(step.action);
            let mut operands = Vec::new();
            for (place, scalar) in
                step.operands.iter().zip(scalars).filter_map(|(place, scalar)| Some((place, scalar?)))
            {
                operands.push(match place {
                    Place::Lanes(column) => self.column(scalar, *column)?,
                    Place::Uniform(place) => match self.rows.get(place) {
                        Some(value) => *value,
                        None => {
                            let value = self.value(scalar, None)?;
                            memory::reserve_entry(&mut self.rows, WHAT)?;
                            self.rows.insert(*place, value);
                            value
                        }
                    },
                });
            }
            let value = match step.action {
                Action::Broadcast(_) => Some(operands[0]),
                action => self.item(Work::Step(action), operands, Some(to))?,
            };
            memory::reserve_entry(&mut self.columns, WHAT)?;
            self.columns.extend(value.map(|value| (step.to.0, value)));
        }
        Ok(())
    }

    fn keep(&mut self, kept: &[(Scalar, Column)]) -> Result<()> {
        for (scalar, column) in kept {
            let value = self.column(*scalar, *column)?;
            if !matches!(self.values[value].home, Some(Home::Narrow(_) | Home::Alike(Address { index: Some(_), .. }))) {
                self.item(Work::Keep(*column), vec![value], None)?;
            }
        }
        Ok(())
    }

    fn join(&mut self, joins: &[Join], is_whole: bool) -> Result<()> {
        let has_doubles = self.has_doubles;
        // The lanes that count, and those that do and for which a condition holds.
        let address = Address { base: RDX, index: Some((RAX, u8::from(has_doubles))), displacement: 0 };
        let live = match is_whole {
            true => None,
            false => Some(self.value(Scalar::Bool, Some(Home::Alike(address)))?),
        };
        let mut both: HashMap<(usize, usize), usize> = HashMap::new();
        let mut and = |list: &mut List, a: usize, b: Option<usize>| -> Result<usize> {
            let Some(b) = b else { return Ok(a) };
            if let Some(known) = both.get(&(a, b)) {
                return Ok(*known);
            }
            let and = list.item(Work::Step(Action::And), vec![a, b], Some(Scalar::Bool))?.unwrap_or(a);
            memory::reserve_entry(&mut both, WHAT)?;
            both.insert((a, b), and);
            Ok(and)
        };
        for (number, join) in joins.iter().enumerate() {
            let term = self.column(join.scalar, join.term)?;
            let condition = match join.condition {
                Some(column) => {
                    let condition = self.column(Scalar::Bool, column)?;
                    Some(and(self, condition, live)?)
                }
                None => live,
            };
            let mut operands = vec![term];
            let mut is_conditional = false;
            match join.joining {
                Joining::Count => operands[0] = and(self, term, condition)?,
                Joining::Sum { second: Some(second), .. } => {
                    operands.push(self.column(join.scalar, second)?);
                    is_conditional = condition.is_some();
                }
                _ => is_conditional = condition.is_some(),
            }
            operands.extend(condition.filter(|_| is_conditional));
            self.item(Work::Join { number, is_conditional }, operands, None)?;
        }
        Ok(())
    }
}
