//! Fields that act on every body: texts without sources, with their gradients and the derivatives
//! by time that integrators need.
//!
//! A field is a text of the language whose section `i` has at most `pos` and `vel`, and which has
//! no section `j`. Its results are `potential: f64 sum`, `acceleration: vec3<f64> sum`, or both. A
//! parameter `time` gets the time, and `gravity` the gravitational constant. Without an acceleration
//! it is minus the potential's gradient.

mod built_in;
mod evaluation;
mod kernel;
pub mod king;
mod power_law_cutoff;

use kyoho_core::{Level, Result, memory};

use super::fault::{Checked, Fault, WHAT, listed};
use super::list::{Builder, Id, Node, PairProgram, Stage};
use super::motion::{self, START, VECTOR, VECTORS};
use super::parameters::{self, Parameters};
use super::series::series;
use super::{Options, compile};

pub use built_in::{BUILT_IN, BuiltIn};
use evaluation::Columns;

pub use super::motion::MOST;
pub use evaluation::{Constants, FieldWork};
pub use kernel::{KERNEL, Rows, THREADS, kernel};

/// The word with which callers give the centre of any field, which so is no parameter.
const CENTRE: &str = "centre";

/// A field.
#[derive(Debug, Clone)]
pub struct FieldProgram {
    /// The name.
    pub name: String,
    /// Its parameters.
    pub parameters: Parameters,
    nodes: Vec<Node>,
    /// The operations that are equal for all bodies.
    uniform: Vec<Id>,
    /// The operations of a body that each derivative needs beside those before it.
    levels: Vec<Vec<Id>>,
    /// The acceleration, and the further coefficients of its series.
    derivatives: Vec<[Id; 3]>,
    /// The potential, and the operations of a body that it needs.
    potential: Option<(Id, Vec<Id>)>,
    columns: Columns,
    /// What the operations of a body read that is equal for all bodies, and not known before.
    uniform_operands: Vec<Id>,
}

impl FieldProgram {
    /// Returns the field of a text, with this many derivatives of the velocity, at most [`MOST`], for
    /// an instruction set.
    pub fn new(text: &str, derivatives: usize, level: Level) -> Checked<FieldProgram> {
        let program = compile(text, Options::default())?;
        check(&program)?;
        let parameters = Parameters::of(&program, "field")?;
        let mut list = Builder::new(false)?;
        let (mut potential, acceleration) = motion::results(&program, &mut list)?;
        let time = program.parameters.iter().position(|parameter| parameter.name == "time");
        let coefficients = series(&mut list, &acceleration, derivatives.clamp(1, MOST) - 1, |list, input| {
            motion::along(list, input, time, derivatives)
        })?;
        let mut all: Vec<[Id; 3]> =
            (0..coefficients[0].len()).map(|k| [0, 1, 2].map(|component| coefficients[component][k])).collect();
        let nodes = list.finish(all.iter_mut().flatten().chain(&mut potential))?;
        let levels = levels(&nodes, &all)?;
        let uniform = memory::collected((0..nodes.len()).filter(|id| is_uniform(&nodes[*id])), WHAT)?;
        let potential = match potential {
            Some(id) => Some((id, needed(&nodes, id)?)),
            None => None,
        };
        let columns = Columns::new(&nodes, &levels, &all, level)?;
        let uniform_operands = uniform_operands(&nodes, &levels, &all)?;
        let name = program.name;
        Ok(FieldProgram {
            name,
            parameters,
            nodes,
            uniform,
            levels,
            derivatives: all,
            potential,
            columns,
            uniform_operands,
        })
    }

    /// Whether it has a potential, and so bodies an energy in it.
    pub fn has_potential(&self) -> bool {
        self.potential.is_some()
    }
}

fn is_uniform(node: &Node) -> bool {
    node.stage <= Stage::Run
}

/// Returns the operations of a body that one of them needs, in their order.
fn needed(nodes: &[Node], root: Id) -> Result<Vec<Id>> {
    let mut needed = memory::filled(nodes.len(), false, WHAT)?;
    needed[root] = true;
    for id in (0..nodes.len()).rev().filter(|id| *id <= root) {
        if needed[id] {
            nodes[id].op.operands().for_each(|operand| needed[operand] = true);
        }
    }
    memory::collected((0..nodes.len()).filter(|id| needed[*id] && !is_uniform(&nodes[*id])), WHAT)
}

/// Returns an error unless a program is one of a field.
fn check(program: &PairProgram) -> Checked<()> {
    if let Some(field) = program.fields[1].first() {
        let found = format!("'{}' is a value of the source", field.name);
        return Err(Fault::new(START, found, "no section j: a field has no sources"));
    }
    if let Some(field) =
        program.fields[0].iter().find(|field| !VECTORS.contains(&field.name.as_str()) || field.of != VECTOR)
    {
        let found = format!("the value '{}: {}' of the sink", field.name, field.of);
        return Err(Fault::new(START, found, format!("{}, each a {VECTOR}", listed(VECTORS))));
    }
    parameters::check(program, "field", &[CENTRE])?;
    motion::check_results(program)
}

/// Returns the operations of a body that each derivative needs beside those before it, in their
/// order.
fn levels(nodes: &[Node], derivatives: &[[Id; 3]]) -> Result<Vec<Vec<Id>>> {
    let mut level = memory::filled(nodes.len(), usize::MAX, WHAT)?;
    for (number, roots) in derivatives.iter().enumerate() {
        roots.iter().for_each(|root| level[*root] = level[*root].min(number));
    }
    for id in (0..nodes.len()).rev() {
        nodes[id].op.operands().for_each(|operand| level[operand] = level[operand].min(level[id]));
    }
    let of_body = |id: &Id, number: usize| level[*id] == number && !is_uniform(&nodes[*id]);
    (0..derivatives.len())
        .map(|number| memory::collected((0..nodes.len()).filter(|id| of_body(id, number)), WHAT))
        .collect()
}

/// Returns what the operations of a body and the results read that depends on parameters alone.
fn uniform_operands(nodes: &[Node], levels: &[Vec<Id>], derivatives: &[[Id; 3]]) -> Result<Vec<Id>> {
    let mut is_read = memory::filled(nodes.len(), false, WHAT)?;
    levels.iter().flatten().flat_map(|id| nodes[*id].op.operands()).for_each(|id| is_read[id] = true);
    derivatives.iter().flatten().for_each(|id| is_read[*id] = true);
    memory::collected((0..nodes.len()).filter(|id| is_read[*id] && nodes[*id].stage == Stage::Run), WHAT)
}

#[cfg(test)]
mod tests;
