//! Operators and functions of one value or two.

use kyoho_laws::double_double::DoubleDouble;

use super::Lowering;
use crate::fault::{Checked, Fault, Place};
use crate::list::{Builder, Comparison, Function, Id, Op, Two};
use crate::number::{Number, compute};
use crate::syntax::{Binary, Expression};
use crate::types::Scalar;
use crate::values::{self, Typed, Value, adopted};

/// The largest exponent of an integer power.
const MAX_EXPONENT: f64 = 64.0;

impl Lowering<'_> {
    /// Applies a function to each component.
    pub(crate) fn each(&mut self, value: &Value, function: Function, place: Place) -> Checked<Value> {
        match value {
            Value::Constant { numbers, width, is_integer } => {
                let mut new = *numbers;
                for number in &mut new {
                    let operand = *number;
                    let of = |_: usize| Number::Dd(operand);
                    *number = compute(Op::One(function, 0), Scalar::Dd, of).widened();
                }
                let keeps = matches!(function, Function::Negative | Function::Abs | Function::Floor);
                self.finite(Value::Constant { numbers: new, width: *width, is_integer: *is_integer && keeps }, place)
            }
            Value::Typed(typed) => {
                let scalar = typed.of.scalar;
                let ids: Vec<Id> =
                    typed.components().iter().map(|id| self.list.add(Op::One(function, *id), scalar)).collect();
                Ok(Value::Typed(Typed::new(scalar, &ids)))
            }
        }
    }

    /// Returns a constant if it is finite.
    pub(crate) fn finite(&self, value: Value, place: Place) -> Checked<Value> {
        match value {
            Value::Constant { numbers, width, .. } if numbers[..width].iter().any(|n| !n.to_f64().is_finite()) => {
                Err(Fault::new(place, "a constant that is infinite or no number", "constants that are finite"))
            }
            other => Ok(other),
        }
    }

    /// Applies an operator to two values.
    pub(crate) fn binary(&mut self, operator: Binary, a: &Value, b: &Value, place: Place) -> Checked<Value> {
        if let (
            Value::Constant { numbers: a_numbers, width: a_width, is_integer: a_integer },
            Value::Constant { numbers: b_numbers, width: b_width, is_integer: b_integer },
        ) = (a, b)
        {
            let (x, y) = (a_numbers[0], b_numbers[0]);
            let truth = |list: &mut Builder, holds: bool| Ok(Value::one(Scalar::Bool, list.truth(holds)));
            if *a_width > 1 || *b_width > 1 {
                let found = format!("{} of vectors without a type", operator.sign());
                return Err(Fault::new(place, found, "a conversion of a component, such as f64(1)"));
            }
            let is_integer = *a_integer && *b_integer;
            match operator {
                Binary::Add => return self.finite(Value::constant(x + y, is_integer), place),
                Binary::Sub => return self.finite(Value::constant(x - y, is_integer), place),
                Binary::Mul => return self.finite(Value::constant(x * y, is_integer), place),
                Binary::Div => return self.finite(Value::constant(x / y, false), place),
                Binary::Less => return truth(&mut self.list, x < y),
                Binary::LessEqual => return truth(&mut self.list, x <= y),
                Binary::Greater => return truth(&mut self.list, x > y),
                Binary::GreaterEqual => return truth(&mut self.list, x >= y),
                Binary::Equal => return truth(&mut self.list, x == y),
                Binary::NotEqual => return truth(&mut self.list, x != y),
                Binary::And | Binary::Or => (),
            }
        }
        match operator {
            Binary::Add => values::add(&mut self.list, a, b, false, place),
            Binary::Sub => values::add(&mut self.list, a, b, true, place),
            Binary::Mul => values::multiply(&mut self.list, a, b, place),
            Binary::Div => values::divide(&mut self.list, a, b, place),
            Binary::And | Binary::Or => {
                let [a, b] = [a, b].map(|value| adopted(&mut self.list, value, Scalar::Bool, place));
                let (a, b) = (a?.ids[0], b?.ids[0]);
                let op = if operator == Binary::And { Op::And(a, b) } else { Op::Or(a, b) };
                Ok(Value::one(Scalar::Bool, self.list.add(op, Scalar::Bool)))
            }
            _ => self.compared(operator, a, b, place),
        }
    }

    fn compared(&mut self, operator: Binary, a: &Value, b: &Value, place: Place) -> Checked<Value> {
        let (a, b) = values::unified(&mut self.list, "compare", a, b, place)?;
        if a.of.width > 1 || b.of.width > 1 || a.of.scalar == Scalar::Bool {
            let found = format!("cannot compare {} and {}", Value::Typed(a).shown(), Value::Typed(b).shown());
            return Err(Fault::new(
                place,
                found,
                "two numbers; components or norm2 of vectors; && and || of conditions",
            ));
        }
        let (a, b) = (a.ids[0], b.ids[0]);
        let (comparison, a, b) = match operator {
            Binary::Less => (Comparison::Less, a, b),
            Binary::LessEqual => (Comparison::LessEqual, a, b),
            Binary::Greater => (Comparison::Less, b, a),
            Binary::GreaterEqual => (Comparison::LessEqual, b, a),
            Binary::Equal => (Comparison::Equal, a, b),
            _ => (Comparison::NotEqual, a, b),
        };
        Ok(Value::one(Scalar::Bool, self.list.add(Op::Compare(comparison, a, b), Scalar::Bool)))
    }

    pub(super) fn power(&mut self, base: &Expression, exponent: &Expression, place: Place) -> Checked<Value> {
        let base = self.value(base)?;
        values::numeric(&base, place)?;
        let allowed = format!("constant integers from -{MAX_EXPONENT} to {MAX_EXPONENT}; pow(x, y) for others");
        let number = match self.value(exponent)? {
            Value::Constant { numbers, width: 1, is_integer: true } if numbers[0].high.abs() <= MAX_EXPONENT => {
                numbers[0].high as i32
            }
            other => {
                return Err(Fault::new(exponent.place, format!("{} as an exponent", other.shown()), allowed));
            }
        };
        if base.width() > 1 {
            let found = format!("a power of {}", base.shown());
            return Err(Fault::new(place, found, "powers of single numbers; norm2(v) is the square of a vector"));
        }
        let count = number.unsigned_abs();
        match &base {
            Value::Constant { numbers, is_integer, .. } => {
                let product = (0..count).fold(DoubleDouble::ONE, |product, _| product * numbers[0]);
                let (power, is_integer) =
                    if number < 0 { (DoubleDouble::ONE / product, false) } else { (product, *is_integer) };
                self.finite(Value::constant(power, is_integer), place)
            }
            Value::Typed(typed) => {
                let scalar = typed.of.scalar;
                let power = values::power(&mut self.list, scalar, typed.ids[0], count);
                if number >= 0 {
                    return Ok(Value::one(scalar, power));
                }
                values::real(&base, place)?;
                let one = self.list.number(scalar, DoubleDouble::ONE);
                Ok(Value::one(scalar, self.list.add(Op::Two(Two::Div, one, power), scalar)))
            }
        }
    }
}
