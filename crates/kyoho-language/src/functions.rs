//! The functions of the language.

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, Place, WHAT, listed};
use super::list::{Function, Id, Op, Two};
use super::lower::Lowering;
use super::number::{Number, compute};
use super::syntax::Expression;
use super::types::{Scalar, Type};
use super::values::{self, Typed, Value};

/// The functions of one real number.
const OF_ONE: [Function; 7] =
    [Function::Sqrt, Function::Rsqrt, Function::Exp, Function::Log, Function::Sin, Function::Cos, Function::Erf];

/// The names of all functions, with the arguments that they take.
const ALL: [(&str, &str); 26] = [
    ("sqrt", "x"),
    ("rsqrt", "x"),
    ("exp", "x"),
    ("log", "x"),
    ("sin", "x"),
    ("cos", "x"),
    ("erf", "x"),
    ("abs", "x"),
    ("floor", "x"),
    ("min", "a, b"),
    ("max", "a, b"),
    ("pow", "x, y"),
    ("dot", "a, b"),
    ("cross", "a, b"),
    ("norm2", "v"),
    ("nearest_image", "d, box"),
    ("select", "condition, a, b"),
    ("vec2", "x, y"),
    ("vec3", "x, y, z"),
    ("vec4", "x, y, z, w"),
    ("f32", "x"),
    ("f64", "x"),
    ("ff", "x"),
    ("dd", "x"),
    ("i32", "x"),
    ("u32", "x"),
];

/// Returns the value of a call.
pub(super) fn call(lowering: &mut Lowering, name: &str, arguments: &[Expression], place: Place) -> Checked<Value> {
    let Some((_, takes)) = ALL.into_iter().find(|(known, _)| *known == name) else {
        let found = format!("there is no function '{name}'");
        return Err(Fault::new(place, found, listed(ALL.map(|(name, _)| name))));
    };
    if arguments.len() != takes.split(", ").count() {
        let found = format!("{} arguments of '{name}'", arguments.len());
        return Err(Fault::new(place, found, format!("{name}({takes})")));
    }
    if name == "select" {
        let condition = lowering.condition(&arguments[0])?;
        let yes = lowering.value(&arguments[1])?;
        let no = lowering.value(&arguments[2])?;
        return lowering.selected(condition, &yes, &no, None, place);
    }
    let mut given = Vec::new();
    for argument in arguments {
        let value = lowering.value(argument)?;
        values::numeric(&value, argument.place)?;
        memory::push(&mut given, value, WHAT)?;
    }
    let (first, last) = (given[0], given[given.len() - 1]);
    if let Some(function) = OF_ONE.into_iter().find(|function| function.name() == name) {
        return of_one(lowering, function, &first, place);
    }
    if let Some(scalar) = Scalar::from_name(name) {
        return converted(lowering, &first, scalar, place);
    }
    match name {
        "abs" => lowering.each(&first, Function::Abs, place),
        "floor" => {
            values::real(&first, place)?;
            lowering.each(&first, Function::Floor, place)
        }
        "min" => of_two(lowering, Two::Min, &first, &last, place),
        "max" => of_two(lowering, Two::Max, &first, &last, place),
        "pow" => {
            values::real(&first, place)?;
            values::real(&last, place)?;
            of_two(lowering, Two::Pow, &first, &last, place)
        }
        "dot" | "cross" | "norm2" => {
            let (a, b) = values::unified(&mut lowering.list, "multiply", &first, &last, place)?;
            let is_right = if name == "cross" { a.of.width == 3 } else { a.of.width > 1 };
            if !is_right || a.of.width != b.of.width {
                let found = format!("{name} of {} and {}", first.shown(), last.shown());
                return Err(Fault::new(place, found, "vectors with as many components; of cross, three"));
            }
            if name == "cross" {
                return Ok(Value::Typed(values::cross(&mut lowering.list, &a, &b)));
            }
            Ok(values::dot(&mut lowering.list, &a, &b))
        }
        "nearest_image" => nearest_image(lowering, &first, &last, place),
        _ => vector(lowering, name, &given, place),
    }
}

fn of_one(lowering: &mut Lowering, function: Function, value: &Value, place: Place) -> Checked<Value> {
    values::real(value, place)?;
    if value.width() > 1 {
        let found = format!("{} of {}", function.name(), value.shown());
        return Err(Fault::new(place, found, "one number; components or norm2 of vectors"));
    }
    lowering.each(value, function, place)
}

fn of_two(lowering: &mut Lowering, two: Two, a: &Value, b: &Value, place: Place) -> Checked<Value> {
    if let (
        Value::Constant { numbers: x, width: 1, is_integer: a },
        Value::Constant { numbers: y, width: 1, is_integer: b },
    ) = (a, b)
    {
        let operands = [x[0], y[0]];
        let number = compute(Op::Two(two, 0, 1), Scalar::Dd, |operand| Number::Dd(operands[operand])).widened();
        return lowering.finite(Value::constant(number, *a && *b && two != Two::Pow), place);
    }
    let (a, b) = values::unified(&mut lowering.list, &format!("take {} of", two.name()), a, b, place)?;
    if a.of.width != b.of.width || (two == Two::Pow && a.of.width > 1) {
        let found = format!("{} of {} and {}", two.name(), a.of, b.of);
        return Err(Fault::new(place, found, "two values with as many components; of pow, one"));
    }
    let scalar = a.of.scalar;
    let ids: Vec<Id> = (0..a.of.width).map(|k| lowering.list.add(Op::Two(two, a.ids[k], b.ids[k]), scalar)).collect();
    Ok(Value::Typed(Typed::new(scalar, &ids)))
}

fn converted(lowering: &mut Lowering, value: &Value, scalar: Scalar, place: Place) -> Checked<Value> {
    match value {
        Value::Constant { numbers, width, .. } if !scalar.is_real() => {
            let cut = numbers.map(|number| Number::of(scalar, number).widened());
            let cut = Value::Constant { numbers: cut, width: *width, is_integer: true };
            Ok(Value::Typed(values::adopted(&mut lowering.list, &cut, scalar, place)?))
        }
        Value::Constant { .. } => Ok(Value::Typed(values::adopted(&mut lowering.list, value, scalar, place)?)),
        Value::Typed(typed) if typed.of.scalar == scalar => Ok(value.named()),
        Value::Typed(typed) => {
            let ids = typed.ids.map(|id| lowering.list.add(Op::Convert(id), scalar));
            Ok(Value::Typed(Typed { of: Type { scalar, ..typed.of }, ids, form: values::Form::Plain }))
        }
    }
}

/// Brings a difference into the box around zero: `d - box floor(d / box + 1/2)`. A side of zero
/// leaves its direction open.
fn nearest_image(lowering: &mut Lowering, d: &Value, sides: &Value, place: Place) -> Checked<Value> {
    values::real(d, place)?;
    let list = &mut lowering.list;
    let (d, sides) = values::unified(list, "take the nearest image of", d, sides, place)?;
    if sides.of.width != d.of.width && sides.of.width != 1 {
        let found = format!("a box of {} for {}", sides.of, d.of);
        return Err(Fault::new(place, found, format!("a box of {}, or one number for all sides", d.of)));
    }
    let scalar = d.of.scalar;
    let [zero, one, half] = [0.0, 1.0, 0.5].map(|number| list.number(scalar, Double::from_limb(number)));
    let ids: Vec<Id> = (0..d.of.width)
        .map(|k| {
            let (d, side) = (d.ids[k], sides.ids[k]);
            let is_closed = list.add(Op::Compare(super::list::Comparison::Less, zero, side), Scalar::Bool);
            let inverse = list.add(Op::Two(Two::Div, one, side), scalar);
            let inverse = list.add(Op::Select(is_closed, inverse, zero), scalar);
            if matches!(scalar, Scalar::F32 | Scalar::F64) {
                let op = Op::MulAdd { factors: [d, inverse], term: half, negated: [false; 2] };
                let place = list.add(op, scalar);
                let boxes = list.add(Op::One(Function::Floor, place), scalar);
                return list.add(Op::MulAdd { factors: [boxes, side], term: d, negated: [true, false] }, scalar);
            }
            let place = values::product(list, scalar, d, inverse);
            let place = list.add(Op::Two(Two::Add, place, half), scalar);
            let boxes = list.add(Op::One(Function::Floor, place), scalar);
            let shift = values::product(list, scalar, boxes, side);
            list.add(Op::Two(Two::Sub, d, shift), scalar)
        })
        .collect();
    Ok(Value::Typed(Typed::new(scalar, &ids)))
}

/// Makes a vector of its components.
fn vector(lowering: &mut Lowering, name: &str, given: &[Value], place: Place) -> Checked<Value> {
    if let Some(value) = given.iter().find(|value| value.width() > 1) {
        let found = format!("{} in {name}", value.shown());
        return Err(Fault::new(place, found, "single numbers"));
    }
    let mut scalar: Option<Scalar> = None;
    for value in given {
        if let Value::Typed(typed) = value {
            scalar = Some(match scalar.map(|before| before.joined(typed.of.scalar)) {
                None => typed.of.scalar,
                Some(Some(joined)) => joined,
                Some(None) => {
                    let found = format!("{name} of numbers whose types have no common one");
                    return Err(Fault::new(place, found, "numbers of one type"));
                }
            });
        }
    }
    let Some(scalar) = scalar else {
        let mut numbers = [Double::ZERO; 4];
        let mut are_integers = true;
        for (to, value) in numbers.iter_mut().zip(given) {
            if let Value::Constant { numbers, is_integer, .. } = value {
                *to = numbers[0];
                are_integers &= is_integer;
            }
        }
        return Ok(Value::Constant { numbers, width: given.len(), is_integer: are_integers });
    };
    let mut ids = Vec::new();
    for value in given {
        ids.push(values::adopted(&mut lowering.list, value, scalar, place)?.ids[0]);
    }
    Ok(Value::Typed(Typed::new(scalar, &ids)))
}
