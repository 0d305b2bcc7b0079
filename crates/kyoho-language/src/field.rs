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

use kyoho_core::error::shown;
use kyoho_core::{Error, Level, Result, memory};
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, Place, WHAT, listed};
use super::list::{Builder, Function, Id, Input, Node, Op, Output, PairProgram, Stage, Two};
use super::series::series;
use super::syntax::{Reduction, Side};
use super::types::{Scalar, Type};
use super::{Options, compile};

pub use built_in::{BUILT_IN, BuiltIn};
use evaluation::Columns;

pub use evaluation::{Constants, FieldWork};
pub use kernel::{KERNEL, Rows, THREADS, kernel};

/// The most derivatives of a velocity that a field gives: acceleration, jerk, snap, crackle.
pub const MOST: usize = 4;

/// The names of the sink's values that a field may have, which are vectors.
const VALUES: [&str; 2] = ["pos", "vel"];
const VECTOR: Type = Type { scalar: Scalar::F64, width: 3 };
const START: Place = Place { line: 1, column: 1 };

/// Where the value of a parameter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The time.
    Time,
    /// The gravitational constant.
    Gravity,
    /// The caller's numbers, from this one on.
    Number(usize),
}

/// The word with which callers give the centre of any field, which so is no parameter.
const CENTRE: &str = "centre";

/// The parameters that no caller gives.
const OF_INTEGRATOR: [(&str, Source); 2] = [("time", Source::Time), ("gravity", Source::Gravity)];

/// A field.
#[derive(Debug, Clone)]
pub struct FieldProgram {
    /// The name.
    pub name: String,
    /// The names and widths of the parameters that the caller gives.
    pub parameters: Vec<(String, usize)>,
    nodes: Vec<Node>,
    /// The operations that are equal for all bodies.
    uniform: Vec<Id>,
    /// The operations of a body that each derivative needs beside those before it.
    levels: Vec<Vec<Id>>,
    /// The acceleration, and the further coefficients of its series.
    derivatives: Vec<[Id; 3]>,
    /// The potential, and the operations of a body that it needs.
    potential: Option<(Id, Vec<Id>)>,
    /// For each parameter of the text where its value comes from.
    sources: Vec<Source>,
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
        let (mut parameters, mut sources, mut count) = (Vec::new(), Vec::new(), 0);
        for parameter in &program.parameters {
            let given = OF_INTEGRATOR.into_iter().find(|(name, _)| *name == parameter.name);
            memory::push(&mut sources, given.map_or(Source::Number(count), |(_, source)| source), WHAT)?;
            if given.is_none() {
                memory::push(&mut parameters, (parameter.name.clone(), parameter.of.width), WHAT)?;
                count += parameter.of.width;
            }
        }
        let mut list = Builder::new(false)?;
        let (mut potential, acceleration) = results(&program, &mut list)?;
        let time = program.parameters.iter().position(|parameter| parameter.name == "time");
        let coefficients = series(&mut list, &acceleration, derivatives.clamp(1, MOST) - 1, |list, input| {
            along_motion(list, input, time, derivatives)
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
            sources,
            columns,
            uniform_operands,
        })
    }

    /// Returns the number of the parameters' numbers.
    pub fn count(&self) -> usize {
        self.parameters.iter().map(|(_, width)| width).sum()
    }

    /// Whether it has a potential, and so bodies an energy in it.
    pub fn has_potential(&self) -> bool {
        self.potential.is_some()
    }

    /// Returns the numbers of all parameters in their order, from names with spaces between them and
    /// the numbers of all of these, one after another.
    pub fn listed_numbers(&self, names: &str, numbers: &[f64]) -> Result<Vec<f64>> {
        let mut rest = numbers;
        let mut given: Vec<(&str, &[f64])> = Vec::new();
        for name in names.split_whitespace() {
            let width = self.parameters.iter().find(|(known, _)| known == name).map_or(1, |(_, width)| *width);
            let (own, others) = rest.split_at(width.min(rest.len()));
            memory::push(&mut given, (name, own), WHAT)?;
            rest = others;
        }
        let found = self.numbers(&given)?;
        if rest.is_empty() { Ok(found) } else { Err(self.wrong_count(numbers.len())) }
    }

    fn wrong_count(&self, count: usize) -> Error {
        let what = format!("the count of the numbers of the field '{}'", self.name);
        Error::BadList { what, value: count as i64, allowed: self.count().to_string() }
    }

    /// Returns the numbers of all parameters in their order, from the caller's by their names.
    pub fn numbers(&self, given: &[(&str, &[f64])]) -> Result<Vec<f64>> {
        let wrong = |name: String, value: String, allowed: String| Error::BadOption { name, value, allowed };
        let known = || listed(self.parameters.iter().map(|(name, _)| name));
        for (place, (name, _)) in given.iter().enumerate() {
            let of = format!("a parameter of the field '{}'", self.name);
            if !self.parameters.iter().any(|(known, _)| known == name) {
                return Err(wrong(of, (*name).into(), known()));
            }
            if given[..place].iter().any(|(before, _)| before == name) {
                return Err(wrong(of, (*name).into(), "each parameter once".into()));
            }
        }
        let mut numbers = memory::room(self.count(), WHAT)?;
        for (name, width) in &self.parameters {
            let of = format!("the parameter '{name}' of the field '{}'", self.name);
            let allowed = if *width == 1 { "one number".into() } else { format!("{width} numbers") };
            let Some((_, given)) = given.iter().find(|(given, _)| given == name) else {
                return Err(wrong(of, "not given".into(), allowed));
            };
            if given.len() != *width {
                return Err(wrong(of, format!("{} numbers", given.len()), allowed));
            }
            if let Some(value) = given.iter().find(|value| !value.is_finite()) {
                return Err(wrong(of, shown(*value), "finite numbers".into()));
            }
            numbers.extend_from_slice(given);
        }
        Ok(numbers)
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

/// Adds the results of a text to a list: the potential, if there is one, and the acceleration.
fn results(program: &PairProgram, list: &mut Builder) -> Checked<(Option<Id>, [Id; 3])> {
    let mut names = Vec::new();
    for node in &program.nodes {
        let op = match node.op {
            Op::Input(Input::Field(side, field, component)) => {
                let is_velocity = program.fields[0][field].name == VALUES[1];
                Op::Input(Input::Field(side, usize::from(is_velocity), component))
            }
            op => op.renamed(|id: Id| names[id]),
        };
        memory::push(&mut names, list.add(op, node.scalar), WHAT)?;
    }
    let mut result = |name: &str, component: usize| {
        let number = program.results.iter().position(|result| result.name == name)?;
        let all = program.outputs.iter().filter(|output| (output.result, output.component) == (number, component));
        Some(total(list, all, &names))
    };
    let potential = result("potential", 0);
    let given = [0, 1, 2].map(|component| result("acceleration", component));
    let acceleration = match (given, potential) {
        ([Some(x), Some(y), Some(z)], _) => [x, y, z],
        (_, Some(potential)) => gradient(list, potential)?,
        _ => return Err(Fault::new(START, "the field has no result", RESULTS)),
    };
    Ok((potential, acceleration))
}

const RESULTS: &str = "potential: f64 sum, acceleration: vec3<f64> sum, or both";

/// Returns an error unless a program is one of a field.
fn check(program: &PairProgram) -> Checked<()> {
    if let Some(field) = program.fields[1].first() {
        let found = format!("'{}' is a value of the source", field.name);
        return Err(Fault::new(START, found, "no section j: a field has no sources"));
    }
    if let Some(field) =
        program.fields[0].iter().find(|field| !VALUES.contains(&field.name.as_str()) || field.of != VECTOR)
    {
        let found = format!("the value '{}: {}' of the sink", field.name, field.of);
        return Err(Fault::new(START, found, format!("{}, each a {VECTOR}", listed(VALUES))));
    }
    let is_allowed = |name: &str, of: Type| {
        name != CENTRE
            && of.scalar == Scalar::F64
            && (of.width == 1 || OF_INTEGRATOR.iter().all(|(given, _)| *given != name))
    };
    if let Some(parameter) = program
        .parameters
        .iter()
        .find(|parameter| !parameter.extents.is_empty() || !is_allowed(&parameter.name, parameter.of))
    {
        let found = format!("the parameter '{}' of a field", parameter.name);
        let allowed =
            "numbers and vectors of f64; time and gravity are one number each, and the centre is no parameter";
        return Err(Fault::new(START, found, allowed));
    }
    if let Some(result) = program.results.iter().find(|result| {
        let of = match result.name.as_str() {
            "potential" => Type::one(Scalar::F64),
            "acceleration" => VECTOR,
            _ => return true,
        };
        result.of != of || result.reduction != Reduction::Sum
    }) {
        let found = format!("the result '{}: {} {}'", result.name, result.of, result.reduction.name());
        return Err(Fault::new(START, found, RESULTS));
    }
    Ok(())
}

/// Adds the terms of a result.
fn total<'a>(list: &mut Builder, outputs: impl Iterator<Item = &'a Output>, names: &[Id]) -> Id {
    let zero = list.number(Scalar::F64, Double::ZERO);
    let sum = outputs.fold(None, |sum, output| {
        let mut term = names[output.term];
        if let Some(second) = output.second {
            term = list.add(Op::Two(Two::Mul, term, names[second]), Scalar::F64);
        }
        if output.negative {
            term = list.add(Op::One(Function::Negative, term), Scalar::F64);
        }
        if let Some(condition) = output.condition {
            term = list.add(Op::Select(names[condition], term, zero), Scalar::F64);
        }
        Some(sum.map_or(term, |sum| list.add(Op::Two(Two::Add, sum, term), Scalar::F64)))
    });
    sum.unwrap_or(zero)
}

/// Returns minus the gradient of a potential.
fn gradient(list: &mut Builder, potential: Id) -> Checked<[Id; 3]> {
    let mut all = [0; 3];
    for (axis, slope) in all.iter_mut().enumerate() {
        let found = series(list, &[potential], 1, |list, input| match input {
            Input::Field(_, 0, component) if component == axis => vec![list.number(Scalar::F64, Double::ONE)],
            _ => Vec::new(),
        })?;
        *slope = list.add(Op::One(Function::Negative, found[0][1]), Scalar::F64);
    }
    Ok(all)
}

/// Returns the further coefficients of an input along a body's motion. Vector `k` of a sink is the
/// `k`-th derivative of its position.
fn along_motion(list: &mut Builder, input: Input, time: Option<usize>, count: usize) -> Vec<Id> {
    match input {
        Input::Field(_, vector, component) => {
            let mut factor = 1.0;
            (1..count)
                .map(|k| {
                    factor /= k as f64;
                    let derivative = Op::Input(Input::Field(Side::I, vector + k, component));
                    let derivative = list.add(derivative, Scalar::F64);
                    let factor = list.number(Scalar::F64, Double::from_limb(factor));
                    list.add(Op::Two(Two::Mul, derivative, factor), Scalar::F64)
                })
                .collect()
        }
        Input::Parameter(number, _) if Some(number) == time => vec![list.number(Scalar::F64, Double::ONE)],
        _ => Vec::new(),
    }
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
