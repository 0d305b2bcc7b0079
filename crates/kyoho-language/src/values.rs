//! The values of expressions while a text is checked, and arithmetic on them.

use kyoho_laws::double_double::DoubleDouble;

use super::fault::{Checked, Fault, Place};
use super::list::{Builder, Function, Id, Op, Two};
use super::number::Number;
use super::types::{Scalar, Type};

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Constants, which take the type of what they meet.
    Constant { numbers: [DoubleDouble; 4], width: usize, is_integer: bool },
    /// Numbers of the list.
    Typed(Typed),
}

/// Numbers of the list with their type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Typed {
    /// The type.
    pub of: Type,
    /// The components.
    pub ids: [Id; 4],
    /// How the expression was made of products.
    pub form: Form,
}

/// The form of an expression, as far as sums can be fused with its products.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Form {
    /// Any other.
    Plain,
    /// A product, with the factors of each component.
    Product([[Id; 2]; 4]),
    /// A sum of so many products.
    SumOfProducts([[Id; 2]; 4], usize),
}

impl Form {
    /// The factors of a component of a product.
    pub fn factors(self, component: usize) -> Option<[Id; 2]> {
        match self {
            Form::Product(factors) => Some(factors[component]),
            _ => None,
        }
    }
}

impl Value {
    /// Returns a constant of one component.
    pub fn constant(number: DoubleDouble, is_integer: bool) -> Value {
        Value::Constant { numbers: [number; 4], width: 1, is_integer }
    }

    /// Returns one number of the list.
    pub fn one(scalar: Scalar, id: Id) -> Value {
        Value::Typed(Typed { of: Type::one(scalar), ids: [id; 4], form: Form::Plain })
    }

    /// The number of components.
    pub fn width(&self) -> usize {
        match self {
            Value::Constant { width, .. } => *width,
            Value::Typed(typed) => typed.of.width,
        }
    }

    /// Returns the type as messages show it.
    pub fn shown(&self) -> String {
        match self {
            Value::Constant { width: 1, numbers, .. } => format!("the number {}", numbers[0].to_f64()),
            Value::Constant { width, .. } => format!("a vec{width} of numbers without a type"),
            Value::Typed(typed) if typed.of.scalar == Scalar::Bool => "a condition".into(),
            Value::Typed(typed) => typed.of.to_string(),
        }
    }

    /// Returns the value without the knowledge that it is a product.
    pub fn named(self) -> Value {
        match self {
            Value::Typed(typed) => Value::Typed(Typed { form: Form::Plain, ..typed }),
            constant => constant,
        }
    }
}

impl Typed {
    /// Returns numbers of a type.
    pub fn new(scalar: Scalar, ids: &[Id]) -> Typed {
        let mut four = [ids[0]; 4];
        four[..ids.len()].copy_from_slice(ids);
        Typed { of: Type { scalar, width: ids.len() }, ids: four, form: Form::Plain }
    }

    /// Returns the components.
    pub fn components(&self) -> &[Id] {
        &self.ids[..self.of.width]
    }
}

/// Returns a value in a type, if that type has all its numbers.
pub fn adopted(list: &mut Builder, value: &Value, scalar: Scalar, place: Place) -> Checked<Typed> {
    match value {
        Value::Typed(typed) if typed.of.scalar == scalar => Ok(*typed),
        Value::Typed(typed) if typed.of.scalar.fits(scalar) && scalar != Scalar::Bool => {
            let ids = typed.ids.map(|id| list.add(Op::Convert(id), scalar));
            Ok(Typed { of: Type { scalar, ..typed.of }, ids, form: Form::Plain })
        }
        Value::Constant { numbers, width, is_integer } => {
            let is_in_range = |number: &DoubleDouble| match scalar {
                Scalar::I32 => *is_integer && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number.high),
                Scalar::U32 => *is_integer && (0.0..=f64::from(u32::MAX)).contains(&number.high),
                Scalar::F32 | Scalar::Ff => number.high.abs() <= f64::from(f32::MAX),
                Scalar::Bool => false,
                Scalar::F64 | Scalar::Dd => true,
            };
            if let Some(number) = numbers[..*width].iter().find(|number| !is_in_range(number)) {
                let found = format!("the number {} where {} is needed", number.to_f64(), Value::one(scalar, 0).shown());
                let allowed = match scalar {
                    Scalar::Bool => "a comparison, true or false".into(),
                    Scalar::I32 | Scalar::U32 => format!("an integer that is an {}, or a conversion", scalar.name()),
                    _ => format!("numbers up to {:e}", f32::MAX),
                };
                return Err(Fault::new(place, found, allowed));
            }
            let ids = numbers.map(|number| list.number(scalar, number));
            Ok(Typed { of: Type { scalar, width: *width }, ids, form: Form::Plain })
        }
        Value::Typed(typed) => {
            let found = format!("{} where {} is needed", value.shown(), Value::one(scalar, 0).shown());
            let allowed = if scalar == Scalar::Bool {
                "a comparison, true or false".into()
            } else if typed.of.scalar == Scalar::Bool {
                format!("a value of {}, such as select(condition, a, b)", scalar.name())
            } else {
                format!("{}(...), which rounds", scalar.name())
            };
            Err(Fault::new(place, found, allowed))
        }
    }
}

/// Returns two values in the type that has the numbers of both. `action` names what is done with
/// them.
pub fn unified(list: &mut Builder, action: &str, a: &Value, b: &Value, place: Place) -> Checked<(Typed, Typed)> {
    let scalar = common(action, a, b, place)?;
    Ok((adopted(list, a, scalar, place)?, adopted(list, b, scalar, place)?))
}

/// Returns the type that has the numbers of two values.
fn common(action: &str, a: &Value, b: &Value, place: Place) -> Checked<Scalar> {
    let scalar = match (a, b) {
        (Value::Constant { .. }, Value::Constant { .. }) => {
            let found = format!("cannot {action} two numbers without a type");
            return Err(Fault::new(place, found, "a conversion of one of them, such as f64(1)"));
        }
        (Value::Typed(typed), Value::Constant { .. }) | (Value::Constant { .. }, Value::Typed(typed)) => {
            Some(typed.of.scalar)
        }
        (Value::Typed(a), Value::Typed(b)) => a.of.scalar.joined(b.of.scalar),
    };
    scalar.ok_or_else(|| {
        let found = format!("cannot {action} {} and {}", a.shown(), b.shown());
        let allowed = match (a, b) {
            (Value::Typed(a), Value::Typed(b)) if a.of.scalar == Scalar::Bool || b.of.scalar == Scalar::Bool => {
                "numbers on both sides".into()
            }
            (Value::Typed(a), _) => format!("two values of one type, such as {}(...)", a.of.scalar.name()),
            _ => String::from("two values of one type"),
        };
        Fault::new(place, found, allowed)
    })
}

/// Adds or subtracts numbers of one type. A product of the same expression is fused with the sum,
/// unless it can be computed less often than the sum.
fn sum_of(
    list: &mut Builder,
    scalar: Scalar,
    (a, a_factors): (Id, Option<[Id; 2]>),
    (b, b_factors): (Id, Option<[Id; 2]>),
    subtract: bool,
) -> Id {
    if matches!(scalar, Scalar::F32 | Scalar::F64) {
        let stage = list.node(a).stage.joined(list.node(b).stage);
        if let Some(factors) = b_factors.filter(|_| list.node(b).stage == stage) {
            return list.add(Op::MulAdd { factors, term: a, negated: [subtract, false] }, scalar);
        }
        if let Some(factors) = a_factors.filter(|_| list.node(a).stage == stage) {
            return list.add(Op::MulAdd { factors, term: b, negated: [false, subtract] }, scalar);
        }
    }
    list.add(Op::Two(if subtract { Two::Sub } else { Two::Add }, a, b), scalar)
}

/// Adds or subtracts numbers of one type of which one is a sum of products in the same expression:
/// its products are added to the other number one after another.
fn sum_with_products(
    list: &mut Builder,
    scalar: Scalar,
    (a, a_form): (Id, Form),
    (b, b_form): (Id, Form),
    subtract: bool,
) -> Option<Id> {
    let (id, products, count, rest, negated) = match (a_form, b_form) {
        (_, Form::SumOfProducts(products, count)) => (b, products, count, a, [subtract, false]),
        (Form::SumOfProducts(products, count), _) => (a, products, count, b, [false, subtract]),
        _ => return None,
    };
    let stage = list.node(id).stage;
    let is_fused = matches!(scalar, Scalar::F32 | Scalar::F64) && list.node(rest).stage.joined(stage) == stage;
    let first = |place: usize| [negated[0], negated[1] && place == 0];
    let chain = products[..count].iter().enumerate();
    is_fused.then(|| {
        chain.fold(rest, |term, (place, factors)| {
            list.add(Op::MulAdd { factors: *factors, term, negated: first(place) }, scalar)
        })
    })
}

/// Returns a number of one limb in the place of one of two, if the value is one.
fn limb_of(list: &mut Builder, id: Id, scalar: Scalar) -> Option<Id> {
    let limb = scalar.limb()?;
    match list.node(id).op {
        Op::Convert(from) if list.node(from).scalar == limb => Some(from),
        Op::Constant(Number::Dd(number)) if number.low == 0.0 => Some(list.number(limb, number)),
        Op::Constant(Number::Ff(number)) if number.low == 0.0 => Some(list.number(limb, Number::Ff(number).widened())),
        _ => None,
    }
}

/// Adds or subtracts two values.
pub fn add(list: &mut Builder, a: &Value, b: &Value, subtract: bool, place: Place) -> Checked<Value> {
    let action = if subtract { "subtract" } else { "add" };
    let (a, b) = unified(list, action, a, b, place)?;
    numeric(&Value::Typed(a), place)?;
    if a.of.width != b.of.width {
        let found = format!("cannot {action} {} and {}", a.of, b.of);
        return Err(Fault::new(place, found, "two values with as many components"));
    }
    let scalar = a.of.scalar;
    let ids: Vec<Id> = (0..a.of.width)
        .map(|k| {
            let (left, right) = (a.ids[k], b.ids[k]);
            if let Some(limb) = limb_of(list, right, scalar) {
                return list.add(Op::Two(if subtract { Two::Sub } else { Two::Add }, left, limb), scalar);
            }
            if let Some(limb) = limb_of(list, left, scalar) {
                let right = if subtract { list.add(Op::One(Function::Negative, right), scalar) } else { right };
                return list.add(Op::Two(Two::Add, right, limb), scalar);
            }
            if let Some(sum) = sum_with_products(list, scalar, (left, a.form), (right, b.form), subtract) {
                return sum;
            }
            sum_of(list, scalar, (left, a.form.factors(k)), (right, b.form.factors(k)), subtract)
        })
        .collect();
    Ok(Value::Typed(Typed::new(scalar, &ids)))
}

/// Multiplies two numbers of one type.
pub fn product(list: &mut Builder, scalar: Scalar, a: Id, b: Id) -> Id {
    if let Some(limb) = limb_of(list, b, scalar) {
        return list.add(Op::Two(Two::Mul, a, limb), scalar);
    }
    if let Some(limb) = limb_of(list, a, scalar) {
        return list.add(Op::Two(Two::Mul, b, limb), scalar);
    }
    list.add(Op::Two(Two::Mul, a, b), scalar)
}

/// Multiplies two values, of which one may be a vector.
pub fn multiply(list: &mut Builder, a: &Value, b: &Value, place: Place) -> Checked<Value> {
    let (a, b) = unified(list, "multiply", a, b, place)?;
    numeric(&Value::Typed(a), place)?;
    if a.of.width > 1 && b.of.width > 1 {
        let found = format!("cannot multiply {} and {}", a.of, b.of);
        return Err(Fault::new(place, found, "a vector and a number; or dot(a, b), cross(a, b)"));
    }
    let scalar = a.of.scalar;
    let width = a.of.width.max(b.of.width);
    let mut factors = [[0; 2]; 4];
    let mut ids = [0; 4];
    for k in 0..4 {
        factors[k] = [a.ids[k], b.ids[k]];
        ids[k] = if k < width { product(list, scalar, a.ids[k], b.ids[k]) } else { ids[0] };
    }
    Ok(Value::Typed(Typed { of: Type { scalar, width }, ids, form: Form::Product(factors) }))
}

/// Divides a value by a number.
pub fn divide(list: &mut Builder, a: &Value, b: &Value, place: Place) -> Checked<Value> {
    let (a, b) = unified(list, "divide", a, b, place)?;
    real(&Value::Typed(a), place)?;
    if b.of.width > 1 {
        let found = format!("cannot divide {} by {}", a.of, b.of);
        return Err(Fault::new(place, found, "a number as the divisor"));
    }
    let scalar = a.of.scalar;
    let ids: Vec<Id> = a.components().iter().map(|id| list.add(Op::Two(Two::Div, *id, b.ids[0]), scalar)).collect();
    Ok(Value::Typed(Typed::new(scalar, &ids)))
}

/// Returns the scalar product of two vectors of one type.
pub fn dot(list: &mut Builder, a: &Typed, b: &Typed) -> Value {
    let scalar = a.of.scalar;
    let first = product(list, scalar, a.ids[0], b.ids[0]);
    let mut factors = [[a.ids[0], b.ids[0]]; 4];
    let sum = (1..a.of.width).fold(first, |sum, k| {
        factors[k] = [a.ids[k], b.ids[k]];
        let next = product(list, scalar, a.ids[k], b.ids[k]);
        sum_of(list, scalar, (sum, None), (next, Some(factors[k])), false)
    });
    Value::Typed(Typed { form: Form::SumOfProducts(factors, a.of.width), ..Typed::new(scalar, &[sum]) })
}

/// Returns the vector product of two vectors of one type.
pub fn cross(list: &mut Builder, a: &Typed, b: &Typed) -> Typed {
    let scalar = a.of.scalar;
    let ids = [0, 1, 2].map(|k| {
        let (next, last) = ((k + 1) % 3, (k + 2) % 3);
        let left = product(list, scalar, a.ids[next], b.ids[last]);
        let right = product(list, scalar, a.ids[last], b.ids[next]);
        sum_of(list, scalar, (left, None), (right, Some([a.ids[last], b.ids[next]])), true)
    });
    Typed::new(scalar, &ids)
}

/// Returns an integer power by multiplication.
pub fn power(list: &mut Builder, scalar: Scalar, base: Id, exponent: u32) -> Id {
    match exponent {
        0 => list.number(scalar, DoubleDouble::ONE),
        1 => base,
        even if even % 2 == 0 => {
            let half = power(list, scalar, base, even / 2);
            list.add(Op::Two(Two::Mul, half, half), scalar)
        }
        odd => {
            let rest = power(list, scalar, base, odd - 1);
            list.add(Op::Two(Two::Mul, rest, base), scalar)
        }
    }
}

/// Returns an error unless a value is of numbers.
pub fn numeric(value: &Value, place: Place) -> Checked<()> {
    match value {
        Value::Typed(typed) if typed.of.scalar == Scalar::Bool => {
            Err(Fault::new(place, "a condition where a number is needed", "a number, such as select(condition, a, b)"))
        }
        _ => Ok(()),
    }
}

/// Returns an error unless a value is of real numbers.
pub fn real(value: &Value, place: Place) -> Checked<()> {
    match value {
        Value::Typed(typed) if !typed.of.scalar.is_real() => {
            let found = format!("{} where a real number is needed", value.shown());
            Err(Fault::new(place, found, "f32, f64, ff or dd; a conversion such as f64(...)"))
        }
        _ => Ok(()),
    }
}
