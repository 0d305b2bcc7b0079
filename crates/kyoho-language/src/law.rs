//! Laws between bodies: texts with sinks and sources, with their gradients and the derivatives by
//! time that integrators need, as lists that sum all of these over the sources.
//!
//! A law is a text of the language whose sections `i` and `j` have at most `pos`, `vel` and `mass`.
//! Its results are those of a field: `potential: f64 sum`, `acceleration: vec3<f64> sum`, or both.
//! A body does not act on itself: the lists leave out pairs of one index. They predict sources from
//! the times when these were written, so that a block step writes those alone that it moves.

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, WHAT, listed};
use super::list::{Builder, Comparison, Id, Input, Node, Op, Output, PairProgram, Two};
use super::motion::{self, MASS, MOST, START, VECTOR, VECTORS};
use super::parameters::{self, Parameters};
use super::series::series;
use super::syntax::{Field, Parameter, Reduction, ResultField, Side};
use super::types::{Scalar, Type};
use super::{Options, compile};

/// The names of values of bodies that are numbers.
const NUMBERS: [&str; 1] = ["mass"];
/// The further numbers of bodies as inputs; see [`Value`].
const INDEX: usize = MASS + 1;
const ACTS: usize = INDEX + 1;
const TIME: usize = ACTS + 1;
/// The derivatives of positions that sources are predicted from stand behind all others.
const WRITTEN: usize = TIME + 1;

/// The parameter behind those of the text, which has the time to which sources are predicted. No text has
/// such a name.
pub const NOW: &str = "_now";

/// The words with which callers give the groups that a law concerns, which so are no parameters.
pub const GROUPS: [&str; 2] = ["on", "by"];

/// The names of the derivatives that the list of forces has as results.
pub const DERIVATIVES: [&str; MOST] = ["acceleration", "jerk", "snap", "crackle"];

/// A value of a body that a list of a law reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The derivative of the position with this number.
    Vector(usize),
    /// The mass.
    Mass,
    /// A number that no other body has, an `i32`.
    Index,
    /// Whether a source acts, an `i32`: 1 or 0.
    Acts,
    /// The time when a source had the vectors that it is predicted from.
    Time,
}

impl Value {
    /// Returns the value of an input, and the name and the type of its field.
    fn of(input: usize) -> (Value, String, Type) {
        let one = Type::one(Scalar::F64);
        let vector = |value: usize| (Value::Vector(value), format!("vector_{value}"), VECTOR);
        match input {
            MASS => (Value::Mass, NUMBERS[0].into(), one),
            INDEX => (Value::Index, "index".into(), Type::one(Scalar::I32)),
            ACTS => (Value::Acts, "acts".into(), Type::one(Scalar::I32)),
            TIME => (Value::Time, "time".into(), one),
            WRITTEN.. => vector(input - WRITTEN),
            _ => vector(input),
        }
    }
}

/// A list that sums results of a law, and the values that it reads of sinks and of sources, in the
/// order of its fields.
#[derive(Debug)]
pub struct LawList {
    /// The list.
    pub pairs: PairProgram,
    /// The values of sinks and of sources.
    pub values: [Vec<Value>; 2],
}

/// A law between bodies.
#[derive(Debug)]
pub struct LawProgram {
    /// The name.
    pub name: String,
    /// Its parameters.
    pub parameters: Parameters,
    /// The derivatives of the velocity, from the acceleration on.
    pub forces: LawList,
    /// The potential, if the text has one.
    pub potential: Option<LawList>,
    /// Whether the derivatives depend on velocities beyond the part that any motion has in them.
    pub reads_velocities: bool,
}

impl LawProgram {
    /// Returns the law of a text, with this many derivatives of the velocity, at most [`MOST`].
    pub fn new(text: &str, derivatives: usize) -> Checked<LawProgram> {
        let program = compile(text, Options::default())?;
        check(&program)?;
        let parameters = Parameters::of(&program, "law")?;
        let derivatives = derivatives.clamp(1, MOST);
        let mut list = Builder::new(false)?;
        let (_, acceleration) = motion::results(&program, &mut list)?;
        let time = program.parameters.iter().position(|parameter| parameter.name == "time");
        let coefficients = series(&mut list, &acceleration, derivatives - 1, |list, input| {
            motion::along(list, input, time, derivatives)
        })?;
        let mut terms = Vec::new();
        for (number, name) in DERIVATIVES.into_iter().enumerate().take(derivatives) {
            let factorial = list.number(Scalar::F64, Double::from_limb(motion::factorial(number)));
            let derivative = [0, 1, 2].map(|component| {
                let product = Op::Two(Two::Mul, factorial, coefficients[component][number]);
                if number < 2 { coefficients[component][number] } else { list.add(product, Scalar::F64) }
            });
            memory::push(&mut terms, (name, memory::collected(derivative, WHAT)?), WHAT)?;
        }
        let forces = summed(list, &program, terms, 2 * derivatives)?;
        let mut list = Builder::new(false)?;
        let potential = match motion::results(&program, &mut list)?.0 {
            None => None,
            Some(potential) => {
                let term = memory::collected([potential], WHAT)?;
                let terms = memory::collected([("potential", term)], WHAT)?;
                Some(summed(list, &program, terms, 1)?)
            }
        };
        let reads_velocities = program.fields.iter().flatten().any(|field| field.name == VECTORS[1]);
        Ok(LawProgram { name: program.name, parameters, forces, potential, reads_velocities })
    }
}

/// Returns an error unless a program is one of a law.
fn check(program: &PairProgram) -> Checked<()> {
    for (side, whose) in [(Side::I, "sink"), (Side::J, "source")] {
        let is_allowed = |field: &Field| {
            let name = field.name.as_str();
            (VECTORS.contains(&name) && field.of == VECTOR)
                || (NUMBERS.contains(&name) && field.of == Type::one(Scalar::F64))
        };
        if let Some(field) = program.fields[side as usize].iter().find(|field| !is_allowed(field)) {
            let found = format!("the value '{}: {}' of the {whose}", field.name, field.of);
            let number = Type::one(Scalar::F64);
            let allowed = format!("{}, each a {VECTOR}, and {}: {number}", listed(VECTORS), NUMBERS[0]);
            return Err(Fault::new(START, found, allowed));
        }
    }
    if program.fields[Side::J as usize].is_empty() {
        return Err(Fault::new(START, "no section j", "a section j: without sources the text is a field"));
    }
    parameters::check(program, "law", &GROUPS)?;
    motion::check_results(program)
}

/// Returns the list that sums terms, each with the name of its result and as many components as this
/// has, over the sources that act but the sink itself. Sources are predicted from the first `written`
/// vectors of their motion.
fn summed(list: Builder, program: &PairProgram, terms: Vec<(&str, Vec<Id>)>, written: usize) -> Checked<LawList> {
    let (mut results, mut outputs) = (Vec::new(), Vec::new());
    for (result, (name, components)) in terms.into_iter().enumerate() {
        let of = Type { scalar: Scalar::F64, width: components.len() };
        let (name, reduction) = (name.to_string(), Reduction::Sum);
        memory::push(&mut results, ResultField { name, of, reduction, accumulated: Scalar::F64 }, WHAT)?;
        for (component, term) in components.into_iter().enumerate() {
            let (condition, second) = (None, None);
            let output = Output { result, component, reduction, condition, term, second, negative: false };
            memory::push(&mut outputs, output, WHAT)?;
        }
    }
    let at_time = list.finish(outputs.iter_mut().map(|output| &mut output.term))?;
    let now = program.parameters.len();
    let mut list = Builder::new(false)?;
    let mut names = memory::room(at_time.len(), WHAT)?;
    for node in &at_time {
        names.push(match node.op {
            Op::Input(Input::Field(Side::J, vector, component)) if vector < MASS => {
                predicted(&mut list, (vector, component), written, now)
            }
            op => list.add(op.renamed(|id: Id| names[id]), node.scalar),
        });
    }
    let integer =
        |list: &mut Builder, side: Side, value: usize| list.add(Op::Input(Input::Field(side, value, 0)), Scalar::I32);
    let [sink, source] = [Side::I, Side::J].map(|side| integer(&mut list, side, INDEX));
    let differ = list.add(Op::Compare(Comparison::NotEqual, sink, source), Scalar::Bool);
    let (acts, zero) = (integer(&mut list, Side::J, ACTS), list.number(Scalar::I32, Double::ZERO));
    let acts = list.add(Op::Compare(Comparison::NotEqual, acts, zero), Scalar::Bool);
    let counts = list.add(Op::And(differ, acts), Scalar::Bool);
    for output in &mut outputs {
        (output.term, output.condition) = (names[output.term], Some(counts));
    }
    let mut nodes = list.finish(outputs.iter_mut().flat_map(Output::needs))?;
    let (fields, values) = name_fields(&mut nodes, WRITTEN + written.max(VECTORS.len()))?;
    let mut parameters = memory::collected(program.parameters.iter().cloned(), WHAT)?;
    let of = Type::one(Scalar::F64);
    memory::push(&mut parameters, Parameter { name: NOW.into(), of, extents: Vec::new() }, WHAT)?;
    let name = program.name.clone();
    Ok(LawList { pairs: PairProgram { name, fields, parameters, results, nodes, outputs, checks: Vec::new() }, values })
}

/// Adds a component of a vector of a source, predicted from the first `written` vectors by their Taylor
/// series. `now` is the parameter that has the time.
fn predicted(list: &mut Builder, (vector, component): (usize, usize), written: usize, now: usize) -> Id {
    let input = |list: &mut Builder, value: usize| {
        list.add(Op::Input(Input::Field(Side::J, WRITTEN + value, component)), Scalar::F64)
    };
    let last = written.max(vector + 1) - 1;
    let mut value = input(list, last);
    if last == vector {
        return value;
    }
    let now = list.add(Op::Input(Input::Parameter(now, 0)), Scalar::F64);
    let time = list.add(Op::Input(Input::Field(Side::J, TIME, 0)), Scalar::F64);
    let since = list.add(Op::Two(Two::Sub, now, time), Scalar::F64);
    for next in (vector..last).rev() {
        let part = list.number(Scalar::F64, Double::from_limb(1.0 / (next + 1 - vector) as f64));
        let part = list.add(Op::Two(Two::Mul, since, part), Scalar::F64);
        let term = input(list, next);
        value = list.add(Op::MulAdd { factors: [part, value], term, negated: [false; 2] }, Scalar::F64);
    }
    value
}

/// The fields of sinks and of sources, and their values.
type Fields = ([Vec<Field>; 2], [Vec<Value>; 2]);

/// Gives the inputs of bodies that a list reads, all below `end`, the numbers of fields, which are
/// returned.
fn name_fields(nodes: &mut [Node], end: usize) -> Checked<Fields> {
    let (mut fields, mut values) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for side in [Side::I, Side::J] {
        let mut places = memory::filled(end, None, WHAT)?;
        for (value, place) in places.iter_mut().enumerate() {
            let is_read = |node: &Node| match node.op {
                Op::Input(Input::Field(of, read, _)) => (of, read) == (side, value),
                _ => false,
            };
            if nodes.iter().any(is_read) {
                let (of_body, name, of) = Value::of(value);
                *place = Some(fields[side as usize].len());
                memory::push(&mut fields[side as usize], Field { name, of }, WHAT)?;
                memory::push(&mut values[side as usize], of_body, WHAT)?;
            }
        }
        for node in nodes.iter_mut() {
            if let Op::Input(Input::Field(of, value, component)) = node.op
                && of == side
                && let Some(place) = places[value]
            {
                node.op = Op::Input(Input::Field(side, place, component));
            }
        }
    }
    Ok((fields, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAVITY: &str = "pair gravity\ni pos: vec3<f64>\nj pos: vec3<f64>, mass: f64\nparam gravity: f64
result potential: f64 sum\nbody\n  potential -= gravity * j.mass * rsqrt(norm2(j.pos - i.pos))\n";

    #[test]
    fn lists_read_of_bodies_what_their_derivatives_need_and_no_more() {
        let law = LawProgram::new(GRAVITY, 3).unwrap();
        let vectors: Vec<Value> = (0..6).map(Value::Vector).collect();
        let of_source = [Value::Mass, Value::Index, Value::Acts, Value::Time];
        assert_eq!(law.forces.values[0], [&vectors[..3], &[Value::Index]].concat());
        assert_eq!(law.forces.values[1], [&of_source[..], &vectors].concat());
        assert_eq!(law.forces.pairs.fields[1][4].name, "vector_0");
        let potential = law.potential.unwrap();
        assert_eq!(potential.values[0], [Value::Vector(0), Value::Index]);
        assert_eq!(potential.values[1], [&of_source[..3], &vectors[..1]].concat());
        assert!(!law.reads_velocities);
        let drag = "pair drag\ni vel: vec3<f64>\nj vel: vec3<f64>\nresult acceleration: vec3<f64> sum
body\n  acceleration += j.vel - i.vel\n";
        let drag = LawProgram::new(drag, 2).unwrap();
        assert!(drag.reads_velocities && drag.potential.is_none());
        assert_eq!(drag.forces.values[0], [Value::Vector(1), Value::Vector(2), Value::Index]);
    }

    #[test]
    fn texts_that_are_no_laws_say_why() {
        let fault = |from: &str, to: &str| {
            let text = GRAVITY.replace(from, to);
            assert_ne!(text, GRAVITY);
            LawProgram::new(&text, 2).unwrap_err().to_string()
        };
        for (from, to, words) in [
            ("j pos", "j charge: f64, pos", "the value 'charge: f64' of the source; allowed: pos, vel, each a vec3"),
            ("i pos: vec3<f64>", "i pos: vec3<f64>, mass: f32", "the value 'mass: f32' of the sink"),
            ("gravity: f64\n", "gravity: f64, by: f64\n", "the parameter 'by' of a law; allowed: numbers and vectors"),
        ] {
            let text = fault(from, to);
            assert!(text.contains(words), "{text}");
        }
        let field = "pair field\ni pos: vec3<f64>\nresult potential: f64 sum\nbody\n  potential += norm2(i.pos)\n";
        let text = LawProgram::new(field, 2).unwrap_err().to_string();
        assert!(text.contains("no section j") && text.contains("is a field"), "{text}");
    }
}
