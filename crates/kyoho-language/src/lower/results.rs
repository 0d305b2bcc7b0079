//! Statements for results, and the outputs that are made of them.

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::Lowering;
use crate::fault::{Checked, Fault, Place, WHAT};
use crate::list::{Comparison, Function, Id, Op, Output, Two};
use crate::number::Number;
use crate::syntax::{Expression, Reduction, ResultField, Update};
use crate::types::Scalar;
use crate::values::{Typed, Value, adopted};

/// What one statement adds to a result.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub place: Place,
    pub condition: Option<Id>,
    /// The term, or the condition, or the key and the value.
    pub values: Vec<Typed>,
    pub negative: bool,
}

impl Lowering<'_> {
    pub(super) fn update(&mut self, name: &str, sign: Update, expressions: &[Expression], place: Place) -> Checked<()> {
        let Some(result) = self.result(name) else {
            return self.change(name, sign, expressions, place);
        };
        let field = &self.text.results[result];
        let statement = match field.reduction {
            Reduction::Sum => format!("{name} += ... or {name} -= ..."),
            Reduction::ArgMin | Reduction::ArgMax => format!("{name} {}= key, value", field.reduction.name()),
            way => format!("{name} {}= ...", way.name()),
        };
        let fits = match sign {
            Update::Add | Update::Subtract => field.reduction == Reduction::Sum,
            Update::Multiply => false,
            Update::Reduce(way) => way == field.reduction,
        };
        if !fits {
            let found = format!("'{name}' is declared with {}", field.reduction.name());
            return Err(Fault::new(place, found, statement));
        }
        let is_named = matches!(field.reduction, Reduction::ArgMin | Reduction::ArgMax);
        if expressions.len() != 1 + usize::from(is_named) {
            return Err(Fault::new(place, format!("{} values for '{name}'", expressions.len()), statement));
        }
        let condition = self.both(self.alive, self.branch);
        let mut values = Vec::new();
        for (number, expression) in expressions.iter().enumerate() {
            let value = self.value(expression)?;
            let place = expression.place;
            let typed = match field.reduction {
                Reduction::Count | Reduction::Any => adopted(&mut self.list, &value, Scalar::Bool, place)?,
                Reduction::ArgMin | Reduction::ArgMax if number == 0 => self.key(&value, place)?,
                _ => self.term(&value, field, place)?,
            };
            memory::push(&mut values, typed, WHAT)?;
        }
        let term = Term { place, condition, values, negative: sign == Update::Subtract };
        Ok(memory::push(&mut self.terms[result], term, WHAT)?)
    }

    /// Returns a term in the type that its result has.
    fn term(&mut self, value: &Value, field: &ResultField, place: Place) -> Checked<Typed> {
        let fits = match value {
            Value::Constant { .. } => true,
            Value::Typed(typed) => typed.of.scalar.fits(field.of.scalar) && typed.of.scalar != Scalar::Bool,
        };
        if !fits || value.width() != field.of.width {
            let found = format!("'{}' is {}, and the term is {}", field.name, field.of, value.shown());
            let is_condition = matches!(value, Value::Typed(typed) if typed.of.scalar == Scalar::Bool);
            let allowed = if is_condition {
                format!("a term of {}; select(condition, a, b) makes one of a condition", field.of)
            } else if value.width() == field.of.width {
                format!("a term of {}; {}(...) rounds", field.of, field.of.scalar.name())
            } else {
                format!("a term of {}", field.of)
            };
            return Err(Fault::new(place, found, allowed));
        }
        adopted(&mut self.list, value, field.of.scalar, place)
    }

    fn key(&mut self, value: &Value, place: Place) -> Checked<Typed> {
        match value {
            Value::Typed(typed) if typed.of.width == 1 && typed.of.scalar != Scalar::Bool => Ok(*typed),
            other => {
                let found = format!("{} as a key", other.shown());
                Err(Fault::new(place, found, "one number that depends on the pair"))
            }
        }
    }

    /// Makes the outputs of a result from its terms.
    pub(super) fn outputs(&mut self, number: usize, field: &ResultField, outputs: &mut Vec<Output>) -> Checked<()> {
        let terms = std::mem::take(&mut self.terms[number]);
        let is_named = matches!(field.reduction, Reduction::ArgMin | Reduction::ArgMax);
        let Some(first) = terms.first() else {
            let found = format!("nothing is added to the result '{}'", field.name);
            return Err(Fault::new(self.text.end, found, "a statement for each result"));
        };
        if let Some(second) = terms.get(1).filter(|_| is_named) {
            let found = format!("a second statement for '{}'", field.name);
            return Err(Fault::new(second.place, found, "one statement for argmin and argmax; select(c, a, b) in it"));
        }
        for component in 0..field.of.width {
            let mut output = Output {
                result: number,
                component,
                reduction: field.reduction,
                condition: first.condition,
                term: first.values[0].ids[component],
                second: None,
                negative: first.negative,
            };
            if is_named {
                output.second = Some(first.values[1].ids[0]);
            } else if terms.len() > 1 {
                output = self.joined(&terms, field, component, output);
            } else if field.reduction == Reduction::Sum
                && matches!(field.of.scalar, Scalar::F32 | Scalar::F64)
                && let Some(factors) = first.values[0].form.factors(component)
                && self.list.constant(output.term).is_none()
            {
                let [term, second] = factors;
                (output.term, output.second) = (term, Some(second));
            }
            memory::push(outputs, output, WHAT)?;
        }
        Ok(())
    }

    /// Joins the terms of several statements.
    fn joined(&mut self, terms: &[Term], field: &ResultField, component: usize, output: Output) -> Output {
        let is_condition = matches!(field.reduction, Reduction::Count | Reduction::Any);
        let scalar = if is_condition { Scalar::U32 } else { field.of.scalar };
        let nothing = match field.reduction {
            Reduction::Min => self.list.add(Op::Constant(extreme(scalar, true)), scalar),
            Reduction::Max => self.list.add(Op::Constant(extreme(scalar, false)), scalar),
            _ => self.list.number(scalar, Double::ZERO),
        };
        let mut joined: Option<Id> = None;
        for term in terms {
            let mut value = term.values[0].ids[component];
            let mut condition = term.condition;
            if is_condition {
                condition = self.both(condition, Some(value));
                value = self.list.number(scalar, Double::ONE);
            }
            if term.negative {
                value = self.list.add(Op::One(Function::Negative, value), scalar);
            }
            if matches!(field.reduction, Reduction::Min | Reduction::Max) && scalar.is_real() {
                // What is not a number does not count.
                let is_number = self.list.add(Op::Compare(Comparison::Equal, value, value), Scalar::Bool);
                condition = self.both(condition, Some(is_number));
            }
            if let Some(condition) = condition {
                value = self.list.add(Op::Select(condition, value, nothing), scalar);
            }
            let two = match field.reduction {
                Reduction::Min => Two::Min,
                Reduction::Max | Reduction::Any => Two::Max,
                _ => Two::Add,
            };
            joined = Some(match joined {
                None => value,
                Some(before) => self.list.add(Op::Two(two, before, value), scalar),
            });
        }
        let reduction = match field.reduction {
            Reduction::Count => Reduction::Sum,
            Reduction::Any => Reduction::Max,
            other => other,
        };
        let term = joined.unwrap_or(nothing);
        Output { reduction, condition: None, term, second: None, negative: false, ..output }
    }
}

/// Returns the number with which a minimum or a maximum begins.
pub fn extreme(scalar: Scalar, of_minimum: bool) -> Number {
    let infinity = if of_minimum { f64::INFINITY } else { f64::NEG_INFINITY };
    match scalar {
        Scalar::Bool => Number::Bool(of_minimum),
        Scalar::I32 => Number::I32(if of_minimum { i32::MAX } else { i32::MIN }),
        Scalar::U32 => Number::U32(if of_minimum { u32::MAX } else { 0 }),
        Scalar::F32 => Number::F32(infinity as f32),
        Scalar::Ff => Number::Ff(Double::from_limb(infinity as f32)),
        Scalar::F64 => Number::F64(infinity),
        Scalar::Dd => Number::Dd(Double::from_limb(infinity)),
    }
}
