//! Fields that act on every body: texts without sources, with their gradients and the derivatives
//! by time that integrators need.
//!
//! A field is a text of the language whose section `i` has at most `pos` and `vel`, and which has
//! no section `j`. Its results are `potential: f64 sum`, `acceleration: vec3<f64> sum`, or both. A
//! parameter `time` gets the time. Without an acceleration it is minus the potential's gradient.

use kyoho_core::{Result, memory};
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, Place, WHAT, listed};
use super::list::{Builder, Function, Id, Input, Node, Op, Output, PairProgram, Two};
use super::number::{Number, compute};
use super::series::series;
use super::syntax::{Reduction, Side};
use super::types::{Scalar, Type};
use super::{Options, compile};

/// The most derivatives of a velocity that a field gives: acceleration, jerk, snap, crackle.
pub const MOST: usize = 4;

/// The names of the sink's values that a field may have, which are vectors.
const VALUES: [&str; 2] = ["pos", "vel"];
const VECTOR: Type = Type { scalar: Scalar::F64, width: 3 };
const START: Place = Place { line: 1, column: 1 };

/// A field.
#[derive(Debug, Clone)]
pub struct FieldProgram {
    /// The name.
    pub name: String,
    /// The names and widths of the parameters, `time` left out.
    pub parameters: Vec<(String, usize)>,
    nodes: Vec<Node>,
    /// The operations that each derivative needs beside those before it.
    levels: Vec<Vec<Id>>,
    /// The acceleration, and the further coefficients of its series.
    derivatives: Vec<[Id; 3]>,
    potential: Option<Id>,
    /// For each parameter of the text its first place among the caller's numbers; none for `time`.
    places: Vec<Option<usize>>,
}

impl FieldProgram {
    /// Returns the field of a text, with this many derivatives of the velocity, at most [`MOST`].
    pub fn new(text: &str, derivatives: usize) -> Checked<FieldProgram> {
        let program = compile(text, Options::default())?;
        check(&program)?;
        let (mut parameters, mut places, mut count) = (Vec::new(), Vec::new(), 0);
        for parameter in &program.parameters {
            let is_time = parameter.name == "time";
            memory::push(&mut places, (!is_time).then_some(count), WHAT)?;
            if !is_time {
                memory::push(&mut parameters, (parameter.name.clone(), parameter.of.width), WHAT)?;
                count += parameter.of.width;
            }
        }
        let mut list = Builder::new(false)?;
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
            Some(total(&mut list, all, &names))
        };
        let potential = result("potential", 0);
        let given = [0, 1, 2].map(|component| result("acceleration", component));
        let acceleration = match (given, potential) {
            ([Some(x), Some(y), Some(z)], _) => [x, y, z],
            (_, Some(potential)) => gradient(&mut list, potential)?,
            _ => return Err(Fault::new(START, "the field has no result", RESULTS)),
        };
        let time = program.parameters.iter().position(|parameter| parameter.name == "time");
        let coefficients = series(&mut list, &acceleration, derivatives.clamp(1, MOST) - 1, |list, input| {
            along_motion(list, input, time, derivatives)
        })?;
        let mut all: Vec<[Id; 3]> =
            (0..coefficients[0].len()).map(|k| [0, 1, 2].map(|component| coefficients[component][k])).collect();
        let mut potential = potential;
        let nodes = list.finish(all.iter_mut().flatten().chain(&mut potential))?;
        let levels = levels(&nodes, &all)?;
        Ok(FieldProgram { name: program.name, parameters, nodes, levels, derivatives: all, potential, places })
    }

    /// Returns the number of the parameters' numbers.
    pub fn count(&self) -> usize {
        self.parameters.iter().map(|(_, width)| width).sum()
    }

    /// Begins the evaluation for a body, with the numbers of all parameters in their order.
    pub fn begin<'a>(&'a self, parameters: &'a [f64], time: f64) -> Result<Evaluation<'a>> {
        let values = memory::filled(self.nodes.len(), Number::F64(0.0), WHAT)?;
        Ok(Evaluation { field: self, parameters, time, values, next: 0 })
    }

    /// Returns the potential at a place; 0 for a field that has none.
    pub fn potential(&self, parameters: &[f64], time: f64, motion: &[[f64; 3]]) -> Result<f64> {
        let Some(potential) = self.potential else { return Ok(0.0) };
        let mut evaluation = self.begin(parameters, time)?;
        (0..=potential).for_each(|id| evaluation.find(id, motion));
        Ok(evaluation.value(potential))
    }
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
    let is_allowed = |name: &str, of: Type| of.scalar == Scalar::F64 && (name != "time" || of.width == 1);
    if let Some(parameter) = program
        .parameters
        .iter()
        .find(|parameter| !parameter.extents.is_empty() || !is_allowed(&parameter.name, parameter.of))
    {
        let found = format!("the parameter '{}' of a field", parameter.name);
        return Err(Fault::new(START, found, "numbers and vectors of f64; time is one number"));
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

/// Returns the operations that each derivative needs beside those before it, in their order.
fn levels(nodes: &[Node], derivatives: &[[Id; 3]]) -> Result<Vec<Vec<Id>>> {
    let mut level = memory::filled(nodes.len(), usize::MAX, WHAT)?;
    for (number, roots) in derivatives.iter().enumerate() {
        roots.iter().for_each(|root| level[*root] = level[*root].min(number));
    }
    for id in (0..nodes.len()).rev() {
        nodes[id].op.operands().for_each(|operand| level[operand] = level[operand].min(level[id]));
    }
    (0..derivatives.len())
        .map(|number| memory::collected((0..nodes.len()).filter(|id| level[*id] == number), WHAT))
        .collect()
}

/// The evaluation of a field for one body, one derivative after another.
pub struct Evaluation<'a> {
    field: &'a FieldProgram,
    parameters: &'a [f64],
    time: f64,
    values: Vec<Number>,
    next: usize,
}

impl Evaluation<'_> {
    /// Returns the next derivative of the velocity, from the acceleration on. `motion` has the
    /// position, the velocity and as many derivatives of it as were returned before, of all forces.
    pub fn next(&mut self, motion: &[[f64; 3]]) -> [f64; 3] {
        let field = self.field;
        field.levels[self.next].iter().for_each(|id| self.find(*id, motion));
        let factorial = (1..=self.next).product::<usize>() as f64;
        let found = field.derivatives[self.next].map(|id| factorial * self.value(id));
        self.next += 1;
        found
    }

    fn value(&self, id: Id) -> f64 {
        self.values[id].widened().to_f64()
    }

    fn find(&mut self, id: Id, motion: &[[f64; 3]]) {
        let Node { op, scalar, .. } = self.field.nodes[id];
        self.values[id] = match op {
            Op::Constant(number) => number,
            Op::Input(Input::Field(_, vector, component)) => {
                Number::F64(motion.get(vector).map_or(0.0, |vector| vector[component]))
            }
            Op::Input(Input::Parameter(number, component)) => {
                let place = self.field.places[number];
                Number::F64(place.map_or(self.time, |place| self.parameters[place + component]))
            }
            op => compute(op, scalar, |operand| self.values[operand]),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLUMMER: &str = "pair plummer
i pos: vec3<f64>
param mass: f64, radius: f64
result potential: f64 sum
body
  potential -= mass * rsqrt(norm2(i.pos) + radius^2)
";
    const POSITION: [f64; 3] = [0.4, -0.7, 1.1];
    const VELOCITY: [f64; 3] = [0.3, 0.5, -0.2];

    fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
        (0..3).map(|k| a[k] * b[k]).sum()
    }

    fn assert_near(found: [f64; 3], expected: [f64; 3], error: f64) {
        for k in 0..3 {
            assert!((found[k] - expected[k]).abs() <= error, "{found:?} in place of {expected:?}");
        }
    }

    /// Returns the derivatives of the velocity of a body that no other force acts on.
    fn derivatives(
        field: &FieldProgram,
        parameters: &[f64],
        time: f64,
        position: [f64; 3],
        velocity: [f64; 3],
    ) -> Vec<[f64; 3]> {
        let mut evaluation = field.begin(parameters, time).unwrap();
        let mut motion = vec![position, velocity];
        for _ in 0..MOST {
            let next = evaluation.next(&motion);
            motion.push(next);
        }
        motion[2..].to_vec()
    }

    #[test]
    fn a_potential_gives_the_acceleration_and_the_jerk_of_the_textbook() {
        let field = FieldProgram::new(PLUMMER, MOST).unwrap();
        let (mass, radius) = (3.0, 0.5);
        let found = derivatives(&field, &[mass, radius], 0.0, POSITION, VELOCITY);
        let s2 = dot(POSITION, POSITION) + radius * radius;
        let f = mass * s2.powf(-1.5);
        assert_near(found[0], POSITION.map(|x| -f * x), 1e-15);
        let slope = 3.0 * dot(POSITION, VELOCITY) / s2;
        assert_near(found[1], [0, 1, 2].map(|k| -f * (VELOCITY[k] - slope * POSITION[k])), 1e-14);
        let potential = field.potential(&[mass, radius], 0.0, &[POSITION]).unwrap();
        assert!((potential + mass / s2.sqrt()).abs() < 1e-15);
        // The centre has no force, and every derivative is finite there.
        let centre = derivatives(&field, &[mass, radius], 0.0, [0.0; 3], VELOCITY);
        assert_near(centre[0], [0.0; 3], 0.0);
        assert_near(centre[1], VELOCITY.map(|v| -mass / radius.powi(3) * v), 1e-13);
    }

    /// Asserts that each derivative is the difference of the one before along the motion.
    fn assert_series(text: &str, parameters: &[f64]) {
        let field = FieldProgram::new(text, MOST).unwrap_or_else(|fault| panic!("{fault}"));
        let (time, step) = (0.3, 1e-3);
        let here = derivatives(&field, parameters, time, POSITION, VELOCITY);
        let along = |h: f64| {
            let [a, j, s, c] = [here[0], here[1], here[2], here[3]];
            let at =
                |k: usize| h * (VELOCITY[k] + h / 2.0 * (a[k] + h / 3.0 * (j[k] + h / 4.0 * (s[k] + h / 5.0 * c[k]))));
            let by = |k: usize| h * (a[k] + h / 2.0 * (j[k] + h / 3.0 * (s[k] + h / 4.0 * c[k])));
            let position = [0, 1, 2].map(|k| POSITION[k] + at(k));
            derivatives(&field, parameters, time + h, position, [0, 1, 2].map(|k| VELOCITY[k] + by(k)))
        };
        let (before, after) = (along(-step), along(step));
        for n in 0..MOST - 1 {
            let difference = [0, 1, 2].map(|k| (after[n][k] - before[n][k]) / (2.0 * step));
            assert_near(here[n + 1], difference, 1e-4);
        }
    }

    #[test]
    fn derivatives_are_differences_along_the_motion() {
        assert_series(PLUMMER, &[3.0, 0.5]);
        let friction = "pair friction
i vel: vec3<f64>, pos: vec3<f64>
param rate: f64, time: f64
result acceleration: vec3<f64> sum
body
  acceleration -= rate * exp(-time) * sqrt(norm2(i.vel)) * i.vel
  acceleration -= i.pos * sin(time) * norm2(i.pos)
";
        assert_series(friction, &[0.8]);
    }

    #[test]
    fn a_text_that_is_no_field_is_refused_with_what_is_allowed() {
        let refused = |text: &str| FieldProgram::new(text, 2).unwrap_err().to_string();
        let source = PLUMMER.replace("param", "j charge: f64\nparam");
        assert!(refused(&source).contains("'charge' is a value of the source; allowed: no section j"));
        assert!(refused(&PLUMMER.replace("i pos", "i pos: vec3<f64>, spin")).contains("'spin: vec3<f64>'"));
        assert!(refused(&PLUMMER.replace("radius^2", "scale^2")).contains("scale"));
        assert!(refused(&PLUMMER.replace("mass: f64", "mass: i32")).contains("f64"));
        assert!(refused(&PLUMMER.replace("potential", "energy")).contains("potential: f64 sum"));
    }
}
