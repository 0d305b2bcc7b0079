//! What texts that act on bodies have in common: their results, and the derivatives of these along
//! the motion of the bodies.

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, Place, WHAT};
use super::list::{Builder, Function, Id, Input, Op, Output, PairProgram, Two};
use super::series::series;
use super::syntax::{Reduction, Side};
use super::types::{Scalar, Type};

/// The most derivatives of a velocity that a text gives: acceleration, jerk, snap, crackle.
pub const MOST: usize = 4;

/// The values of a body that are vectors; their places here are those of [`Input`]s of `results`.
pub const VECTORS: [&str; 2] = ["pos", "vel"];
/// The type of a vector.
pub const VECTOR: Type = Type { scalar: Scalar::F64, width: 3 };
/// The mass of a body as an input of `results`, behind the position and its derivatives.
pub const MASS: usize = 2 + MOST;

/// The place in a text of what is wrong with all of it.
pub const START: Place = Place { line: 1, column: 1 };
const RESULTS: &str = "potential: f64 sum, acceleration: vec3<f64> sum, or both";

/// Returns an error unless the results of a program are a potential, an acceleration, or both.
pub fn check_results(program: &PairProgram) -> Checked<()> {
    let is_wrong = |name: &str, of: Type, reduction: Reduction| {
        let allowed = match name {
            "potential" => Type::one(Scalar::F64),
            "acceleration" => VECTOR,
            _ => return true,
        };
        of != allowed || reduction != Reduction::Sum
    };
    let mut results = program.results.iter();
    results.find(|result| is_wrong(&result.name, result.of, result.reduction)).map_or(Ok(()), |result| {
        let found = format!("the result '{}: {} {}'", result.name, result.of, result.reduction.name());
        Err(Fault::new(START, found, RESULTS))
    })
}

/// Adds the results of a text to a list: the potential, if there is one, and the acceleration. Inputs
/// are those of bodies: vector 0 is the position, 1 the velocity, and then comes [`MASS`].
pub fn results(program: &PairProgram, list: &mut Builder) -> Checked<(Option<Id>, [Id; 3])> {
    let mut names = Vec::new();
    for node in &program.nodes {
        let op = match node.op {
            Op::Input(Input::Field(side, field, component)) => {
                let name = &program.fields[side as usize][field].name;
                let value = VECTORS.iter().position(|vector| vector == name).unwrap_or(MASS);
                Op::Input(Input::Field(side, value, component))
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
        (_, Some(potential)) => downhill(list, potential)?,
        _ => return Err(Fault::new(START, "the text has no result", RESULTS)),
    };
    Ok((potential, acceleration))
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

/// Returns minus the gradient of a potential by the place of the body that feels it.
fn downhill(list: &mut Builder, potential: Id) -> Checked<[Id; 3]> {
    let mut all = [0; 3];
    for (axis, slope) in all.iter_mut().enumerate() {
        let found = series(list, &[potential], 1, |list, input| match input {
            Input::Field(Side::I, 0, component) if component == axis => {
                vec![list.number(Scalar::F64, Double::ONE)]
            }
            _ => Vec::new(),
        })?;
        *slope = list.add(Op::One(Function::Negative, found[0][1]), Scalar::F64);
    }
    Ok(all)
}

/// Returns the further coefficients of an input of `results` along the motion of its body, of which
/// vector `k` is the `k`-th derivative of the position. `time` is the parameter that has the time.
pub fn along(list: &mut Builder, input: Input, time: Option<usize>, count: usize) -> Vec<Id> {
    match input {
        Input::Field(side, vector, component) if vector < VECTORS.len() => {
            let mut factor = 1.0;
            (1..count)
                .map(|k| {
                    factor /= k as f64;
                    let derivative = Op::Input(Input::Field(side, vector + k, component));
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

/// Returns how many times larger a derivative with a number is than the coefficient of a series.
pub fn factorial(number: usize) -> f64 {
    (1..=number).product::<usize>() as f64
}
