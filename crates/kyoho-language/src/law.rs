//! Laws between bodies: texts with sinks and sources, with their gradients and the derivatives by
//! time that integrators need, as lists that sum all of these over the sources.
//!
//! A law is a text of the language whose sections `i` and `j` have at most `pos`, `vel` and `mass`.
//! Its results are those of a field: `potential: f64 sum`, `acceleration: vec3<f64> sum`, or both.
//! A body does not act on itself: the lists leave out pairs of one index.

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, WHAT, listed};
use super::list::{Builder, Comparison, Id, Input, Node, Op, Output, PairProgram, Two};
use super::motion::{self, MASS, MOST, START, VECTOR, VECTORS};
use super::parameters::{self, Parameters};
use super::series::series;
use super::syntax::{Field, Reduction, ResultField, Side};
use super::types::{Scalar, Type};
use super::{Options, compile};

/// The names of values of bodies that are numbers.
const NUMBERS: [&str; 1] = ["mass"];
/// The index of a body as an input.
const INDEX: usize = MASS + 1;

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
}

/// A list that sums results of a law, and the values that it reads of sinks and of sources, in the
/// order of its fields.
#[derive(Debug, Clone)]
pub struct LawList {
    /// The list.
    pub pairs: PairProgram,
    /// The values of sinks and of sources.
    pub values: [Vec<Value>; 2],
}

/// A law between bodies.
#[derive(Debug, Clone)]
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
        let forces = summed(list, &program, terms)?;
        let mut list = Builder::new(false)?;
        let potential = match motion::results(&program, &mut list)?.0 {
            None => None,
            Some(potential) => {
                let term = memory::collected([potential], WHAT)?;
                let terms = memory::collected([("potential", term)], WHAT)?;
                Some(summed(list, &program, terms)?)
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
/// has, over all sources but the sink itself.
fn summed(mut list: Builder, program: &PairProgram, terms: Vec<(&str, Vec<Id>)>) -> Checked<LawList> {
    let [sink, source] = [Side::I, Side::J].map(|side| list.add(Op::Input(Input::Field(side, INDEX, 0)), Scalar::I32));
    let differ = list.add(Op::Compare(Comparison::NotEqual, sink, source), Scalar::Bool);
    let (mut results, mut outputs) = (Vec::new(), Vec::new());
    for (result, (name, components)) in terms.iter().enumerate() {
        let of = Type { scalar: Scalar::F64, width: components.len() };
        let (name, reduction) = ((*name).to_string(), Reduction::Sum);
        memory::push(&mut results, ResultField { name, of, reduction, accumulated: Scalar::F64 }, WHAT)?;
        for (component, &term) in components.iter().enumerate() {
            let condition = Some(differ);
            let output = Output { result, component, reduction, condition, term, second: None, negative: false };
            memory::push(&mut outputs, output, WHAT)?;
        }
    }
    let mut nodes = list.finish(outputs.iter_mut().flat_map(Output::needs))?;
    let (mut fields, mut values) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for value in 0..=INDEX {
        for side in [Side::I, Side::J] {
            let is_read =
                |node: &Node| matches!(node.op, Op::Input(Input::Field(of, read, _)) if (of, read) == (side, value));
            if !nodes.iter().any(is_read) {
                continue;
            }
            let (name, of, value) = match value {
                INDEX => ("index".to_string(), Type::one(Scalar::I32), Value::Index),
                MASS => (NUMBERS[0].to_string(), Type::one(Scalar::F64), Value::Mass),
                vector => (format!("vector_{vector}"), VECTOR, Value::Vector(vector)),
            };
            memory::push(&mut fields[side as usize], Field { name, of }, WHAT)?;
            memory::push(&mut values[side as usize], value, WHAT)?;
        }
    }
    for node in &mut nodes {
        if let Op::Input(Input::Field(side, value, component)) = node.op {
            let kept = match value {
                INDEX => Value::Index,
                MASS => Value::Mass,
                vector => Value::Vector(vector),
            };
            let place = values[side as usize].iter().position(|known| *known == kept).unwrap_or(0);
            node.op = Op::Input(Input::Field(side, place, component));
        }
    }
    let pairs = PairProgram {
        name: program.name.clone(),
        fields,
        parameters: memory::collected(program.parameters.iter().cloned(), WHAT)?,
        results,
        nodes,
        outputs,
        checks: Vec::new(),
    };
    Ok(LawList { pairs, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAVITY: &str = "pair gravity\ni pos: vec3<f64>\nj pos: vec3<f64>, mass: f64\nparam gravity: f64
result potential: f64 sum\nbody\n  potential -= gravity * j.mass * rsqrt(norm2(j.pos - i.pos))\n";

    #[test]
    fn lists_read_of_bodies_what_their_derivatives_need_and_no_more() {
        let law = LawProgram::new(GRAVITY, 3).unwrap();
        let vectors = [Value::Vector(0), Value::Vector(1), Value::Vector(2)];
        assert_eq!(law.forces.values[0], [&vectors[..], &[Value::Index]].concat());
        assert_eq!(law.forces.values[1], [&vectors[..], &[Value::Mass, Value::Index]].concat());
        let potential = law.potential.unwrap();
        assert_eq!(potential.values[0], [Value::Vector(0), Value::Index]);
        assert_eq!(potential.values[1], [Value::Vector(0), Value::Mass, Value::Index]);
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
