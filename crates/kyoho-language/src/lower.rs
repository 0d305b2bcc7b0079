//! From the tree to the list: names and types are checked, branches become selections, and loops
//! are unrolled.

mod arithmetic;
mod results;

use kyoho_core::memory;
use kyoho_laws::double_double::Double;

use super::fault::{Checked, Fault, Place, WHAT, listed};
use super::functions;
use super::list::{Builder, Function, Id, IndexCheck, Input, MAX_NODES, Op, Output, PairProgram, Two};
use super::syntax::{Binary, Expression, Kind, Parameter, Statement, Text, Update};
use super::types::{Scalar, Type};
use super::values::{self, Typed, Value, adopted};
use results::Term;
pub use results::extreme;

/// The most statements of a body whose loops are unrolled.
const MAX_STEPS: usize = 1 << 14;
/// The most names of a body.
const MAX_NAMES: usize = 1024;
/// Returns the list of a text. In a plain one equal operations are kept apart.
pub fn lower(text: &Text, plain: bool) -> Checked<PairProgram> {
    let mut lowering = Lowering {
        text,
        list: Builder::new(plain)?,
        names: Vec::new(),
        lost: Vec::new(),
        alive: None,
        branch: None,
        terms: memory::filled(text.results.len(), Vec::new(), WHAT)?,
        checks: Vec::new(),
        steps: 0,
    };
    for parameter in &text.parameters {
        if text.results.iter().any(|result| result.name == parameter.name) {
            let found = format!("'{}' is a parameter and a result", parameter.name);
            return Err(Fault::new(text.end, found, "a name of its own for each"));
        }
    }
    lowering.block(&text.body)?;
    let mut outputs = Vec::new();
    for (number, result) in text.results.iter().enumerate() {
        lowering.outputs(number, result, &mut outputs)?;
    }
    lowering.check_length(text.end)?;
    let Lowering { list, checks, .. } = lowering;
    let nodes = list.finish(outputs.iter_mut().flat_map(Output::needs))?;
    let [of_sinks, of_sources] = &text.fields;
    Ok(PairProgram {
        name: text.name.clone(),
        fields: [cloned(of_sinks)?, cloned(of_sources)?],
        parameters: cloned(&text.parameters)?,
        results: cloned(&text.results)?,
        nodes,
        outputs,
        checks,
    })
}

/// Returns a copy of some items.
fn cloned<T: Clone>(items: &[T]) -> Checked<Vec<T>> {
    Ok(memory::collected(items.iter().cloned(), WHAT)?)
}

/// The state of the work.
pub(super) struct Lowering<'a> {
    pub(super) text: &'a Text,
    pub(super) list: Builder,
    names: Vec<(String, Value)>,
    /// Names that are known in one branch alone.
    lost: Vec<String>,
    /// The condition under which the pair was not skipped.
    alive: Option<Id>,
    /// The condition of the branches around a statement.
    branch: Option<Id>,
    terms: Vec<Vec<Term>>,
    checks: Vec<IndexCheck>,
    steps: usize,
}

impl Lowering<'_> {
    fn check_length(&self, place: Place) -> Checked<()> {
        self.list.check_memory()?;
        if self.list.is_full() {
            let found = format!("the list of operations is longer than {MAX_NODES}");
            return Err(Fault::new(place, found, "shorter loops and bodies"));
        }
        Ok(())
    }

    fn block(&mut self, statements: &[Statement]) -> Checked<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn both(&mut self, a: Option<Id>, b: Option<Id>) -> Option<Id> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.list.add(Op::And(a, b), Scalar::Bool)),
            (one, None) | (None, one) => one,
        }
    }

    fn known(&self, name: &str) -> Option<&Value> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn result(&self, name: &str) -> Option<usize> {
        self.text.results.iter().position(|result| result.name == name)
    }

    fn parameter(&self, name: &str) -> Option<usize> {
        self.text.parameters.iter().position(|parameter| parameter.name == name)
    }

    fn statement(&mut self, statement: &Statement) -> Checked<()> {
        self.steps += 1;
        let place = match statement {
            Statement::Assign { place, .. } | Statement::Update { place, .. } | Statement::For { place, .. } => *place,
            Statement::Skip { condition } | Statement::If { condition, .. } => condition.place,
        };
        if self.steps > MAX_STEPS {
            let found = format!("more than {MAX_STEPS} statements once loops are unrolled");
            return Err(Fault::new(place, found, "shorter loops"));
        }
        self.check_length(place)?;
        match statement {
            Statement::Assign { name, value, .. } => {
                let value = self.value(value)?;
                self.new_name(name, value, place)
            }
            Statement::Update { name, sign, values, .. } => self.update(name, *sign, values, place),
            Statement::Skip { condition } => {
                let condition = self.condition(condition)?;
                let skipped = self.both(self.branch, Some(condition)).unwrap_or(condition);
                let kept = self.list.add(Op::Not(skipped), Scalar::Bool);
                self.alive = self.both(self.alive, Some(kept));
                Ok(())
            }
            Statement::If { condition, yes, no } => self.branches(condition, yes, no),
            Statement::For { name, from, to, body, .. } => self.count(name, from, to, body, place),
        }
    }

    fn new_name(&mut self, name: &str, value: Value, place: Place) -> Checked<()> {
        let taken = if self.known(name).is_some() {
            Some(format!("'{name}' has a value already"))
        } else if self.result(name).is_some() {
            Some(format!("'{name}' is a result"))
        } else {
            self.parameter(name).map(|_| format!("'{name}' is a parameter"))
        };
        if let Some(found) = taken {
            let allowed = "a new name, which is assigned once; or +=, -=, *= of a name; or what adds to a result";
            return Err(Fault::new(place, found, allowed));
        }
        if self.names.len() == MAX_NAMES {
            let found = format!("more than {MAX_NAMES} names");
            return Err(Fault::new(place, found, format!("at most {MAX_NAMES} names in a body")));
        }
        memory::push(&mut self.names, (name.into(), value.named()), WHAT)?;
        Ok(())
    }

    fn branches(&mut self, condition: &Expression, yes: &[Statement], no: &[Statement]) -> Checked<()> {
        let place = condition.place;
        let condition = self.condition(condition)?;
        let opposite = self.list.add(Op::Not(condition), Scalar::Bool);
        let (before, branch) = (cloned(&self.names)?, self.branch);
        let (alive, count) = (self.alive, before.len());

        self.branch = self.both(branch, Some(condition));
        self.block(yes)?;
        let of_yes = std::mem::replace(&mut self.names, before);
        self.branch = self.both(branch, Some(opposite));
        self.block(no)?;
        let of_no = std::mem::take(&mut self.names);
        self.branch = branch;
        // Pairs that one branch skips stay skipped behind it.
        debug_assert!(alive.is_none() || self.alive.is_some());

        for ((name, yes), (_, no)) in of_yes[..count].iter().zip(&of_no[..count]) {
            let value = self.selected(condition, yes, no, Some(name), place)?;
            memory::push(&mut self.names, (name.clone(), value), WHAT)?;
        }
        for (name, yes) in &of_yes[count..] {
            match of_no[count..].iter().find(|(other, _)| other == name) {
                Some((_, no)) => {
                    let value = self.selected(condition, yes, no, Some(name), place)?;
                    memory::push(&mut self.names, (name.clone(), value), WHAT)?;
                }
                None => memory::push(&mut self.lost, name.clone(), WHAT)?,
            }
        }
        let only_no = of_no[count..].iter().filter(|(name, _)| of_yes[count..].iter().all(|(other, _)| other != name));
        for (name, _) in only_no {
            memory::push(&mut self.lost, name.clone(), WHAT)?;
        }
        Ok(())
    }

    /// Returns one of two values, as a condition says.
    pub(super) fn selected(
        &mut self,
        condition: Id,
        yes: &Value,
        no: &Value,
        name: Option<&str>,
        place: Place,
    ) -> Checked<Value> {
        if yes == no {
            return Ok(*yes);
        }
        let action = match name {
            Some(name) => format!("give '{name}' one of"),
            None => "select from".into(),
        };
        if let (Value::Typed(a), Value::Typed(b)) = (yes, no)
            && a.of == b.of
        {
            let ids: Vec<Id> = (0..a.of.width)
                .map(|k| self.list.add(Op::Select(condition, a.ids[k], b.ids[k]), a.of.scalar))
                .collect();
            return Ok(Value::Typed(Typed::new(a.of.scalar, &ids)));
        }
        let (a, b) = values::unified(&mut self.list, &action, yes, no, place)?;
        if a.of.width != b.of.width {
            let found = format!("cannot {action} {} and {}", a.of, b.of);
            return Err(Fault::new(place, found, "two values with as many components"));
        }
        self.selected(condition, &Value::Typed(a), &Value::Typed(b), name, place)
    }

    fn count(
        &mut self,
        name: &str,
        from: &Expression,
        to: &Expression,
        body: &[Statement],
        place: Place,
    ) -> Checked<()> {
        let [from, to] = [self.integer(from)?, self.integer(to)?];
        if to - from > MAX_STEPS as i64 {
            let found = format!("a loop over {} numbers", to - from);
            return Err(Fault::new(place, found, format!("at most {MAX_STEPS}")));
        }
        // Nothing in the body is nothing in each turn.
        let end = if body.is_empty() { to.min(from + 1) } else { to };
        for number in from..end {
            let count = self.names.len();
            self.new_name(name, Value::constant(Double::from_limb(number as f64), true), place)?;
            self.block(body)?;
            memory::reserve(&mut self.lost, self.names.len() - count, WHAT)?;
            self.lost.extend(self.names.drain(count..).map(|(name, _)| name));
        }
        self.lost.sort_unstable();
        self.lost.dedup();
        Ok(())
    }

    /// Returns the value of an expression that has to be a known integer.
    fn integer(&mut self, expression: &Expression) -> Checked<i64> {
        match self.value(expression)? {
            Value::Constant { numbers, width: 1, is_integer: true } if numbers[0].high.abs() <= 2147483647.0 => {
                Ok(numbers[0].high as i64)
            }
            other => {
                let found = format!("{} where a constant integer is needed", other.shown());
                Err(Fault::new(expression.place, found, "integers such as 3, and names that loops count by"))
            }
        }
    }

    /// Returns a condition.
    pub(super) fn condition(&mut self, expression: &Expression) -> Checked<Id> {
        let value = self.value(expression)?;
        Ok(adopted(&mut self.list, &value, Scalar::Bool, expression.place)?.ids[0])
    }

    /// Changes a name that has a value.
    fn change(&mut self, name: &str, sign: Update, expressions: &[Expression], place: Place) -> Checked<()> {
        let Some(old) = self.known(name).copied() else { return Err(self.unknown(name, place)) };
        let [expression] = expressions else {
            let found = format!("{} values for '{name}'", expressions.len());
            return Err(Fault::new(place, found, "one value"));
        };
        let operator = match sign {
            Update::Add => Binary::Add,
            Update::Subtract => Binary::Sub,
            Update::Multiply => Binary::Mul,
            Update::Reduce(way) => {
                let found = format!("'{name}' is no result, and {}= is for results", way.name());
                return Err(Fault::new(place, found, "+=, -= or *="));
            }
        };
        let other = self.value(expression)?;
        let new = self.binary(operator, &old, &other, place)?;
        let (of, was) = match (&new, &old) {
            (Value::Typed(new), Value::Typed(old)) => (new.of, old.of),
            _ => (Type::one(Scalar::Bool), Type::one(Scalar::Bool)),
        };
        if of != was {
            let found = format!("'{name}' is {was}, and would become {of}");
            return Err(Fault::new(place, found, "a change that keeps the type"));
        }
        if let Some((_, value)) = self.names.iter_mut().rev().find(|(known, _)| known == name) {
            *value = new.named();
        }
        Ok(())
    }

    fn unknown(&self, name: &str, place: Place) -> Fault {
        let found = if self.lost.iter().any(|lost| lost == name) {
            format!("'{name}' has a value in one branch or in a loop alone")
        } else {
            format!("there is no '{name}'")
        };
        let names = self.names.iter().map(|(name, _)| name.as_str());
        let parameters = self.text.parameters.iter().map(|parameter| parameter.name.as_str());
        let known: Vec<&str> = names.chain(parameters).take(32).collect();
        Fault::new(place, found, format!("i.FIELD, j.FIELD, and these names: {}", listed(known)))
    }

    /// Returns the value of an expression.
    pub(super) fn value(&mut self, expression: &Expression) -> Checked<Value> {
        let place = expression.place;
        match &expression.kind {
            Kind::Number(number, is_integer) => Ok(Value::constant(*number, *is_integer)),
            Kind::Truth(truth) => Ok(Value::one(Scalar::Bool, self.list.truth(*truth))),
            Kind::Name(name) => self.name(name, place),
            Kind::Field(side, name) => {
                let fields = &self.text.fields[*side as usize];
                let Some(field) = fields.iter().position(|field| field.name == *name) else {
                    let found = format!("'{}.{name}' is not declared", side.name());
                    let allowed = listed(fields.iter().map(|field| format!("{}.{}", side.name(), field.name)));
                    return Err(Fault::new(place, found, allowed));
                };
                let of = fields[field].of;
                Ok(self.input(of, |component| Input::Field(*side, field, component)))
            }
            Kind::Component(value, name) => {
                let value = self.value(value)?;
                let component = ["x", "y", "z", "w"].iter().position(|known| known == name);
                self.component(&value, component, &format!(".{name}"), place)
            }
            Kind::Index(value, indices) => self.index(value, indices, place),
            Kind::Negative(value) => {
                let value = self.value(value)?;
                values::numeric(&value, place)?;
                if matches!(&value, Value::Typed(typed) if typed.of.scalar == Scalar::U32) {
                    return Err(Fault::new(place, "the negative number of u32", "-i32(...), or a real number"));
                }
                self.each(&value, Function::Negative, place)
            }
            Kind::Not(value) => {
                let condition = self.condition(value)?;
                Ok(Value::one(Scalar::Bool, self.list.add(Op::Not(condition), Scalar::Bool)))
            }
            Kind::Binary(operator, a, b) => {
                let a = self.value(a)?;
                let b = self.value(b)?;
                self.binary(*operator, &a, &b, place)
            }
            Kind::Power(base, exponent) => self.power(base, exponent, place),
            Kind::Call(name, arguments) => functions::call(self, name, arguments, place),
        }
    }

    fn name(&mut self, name: &str, place: Place) -> Checked<Value> {
        if let Some(value) = self.known(name) {
            return Ok(*value);
        }
        if let Some(number) = self.parameter(name) {
            let Parameter { of, extents, .. } = &self.text.parameters[number];
            if !extents.is_empty() {
                let found = format!("the table '{name}' without an index");
                return Err(Fault::new(place, found, format!("{name}[...] with {} indices", extents.len())));
            }
            return Ok(self.input(*of, |component| Input::Parameter(number, component)));
        }
        if self.result(name).is_some() {
            let found = format!("'{name}' is a result, which cannot be read");
            return Err(Fault::new(place, found, "names of the body, parameters and fields"));
        }
        Err(self.unknown(name, place))
    }

    fn input(&mut self, of: Type, input: impl Fn(usize) -> Input) -> Value {
        let ids: Vec<Id> = (0..of.width).map(|k| self.list.add(Op::Input(input(k)), of.scalar)).collect();
        Value::Typed(Typed::new(of.scalar, &ids))
    }

    fn component(&mut self, value: &Value, component: Option<usize>, shown: &str, place: Place) -> Checked<Value> {
        let width = value.width();
        match component.filter(|component| width > 1 && *component < width) {
            Some(component) => Ok(match value {
                Value::Constant { numbers, .. } => Value::constant(numbers[component], false),
                Value::Typed(typed) => Value::one(typed.of.scalar, typed.ids[component]),
            }),
            None => {
                let found = format!("{} has no component '{shown}'", value.shown());
                let names = [".x or [0]", ".y or [1]", ".z or [2]", ".w or [3]"];
                let allowed = if width > 1 { listed(&names[..width]) } else { "components of vectors".into() };
                Err(Fault::new(place, found, allowed))
            }
        }
    }

    fn index(&mut self, value: &Expression, indices: &[Expression], place: Place) -> Checked<Value> {
        if let Kind::Name(name) = &value.kind
            && self.known(name).is_none()
            && let Some(table) = self.parameter(name)
            && !self.text.parameters[table].extents.is_empty()
        {
            return self.element(table, indices, place);
        }
        let value = self.value(value)?;
        let [index] = indices else {
            return Err(Fault::new(place, format!("{} indices of {}", indices.len(), value.shown()), "one index"));
        };
        let index = self.integer(index)?;
        self.component(&value, usize::try_from(index).ok(), &format!("[{index}]"), place)
    }

    fn element(&mut self, table: usize, indices: &[Expression], place: Place) -> Checked<Value> {
        let Parameter { name, of, extents } = &self.text.parameters[table];
        if indices.len() != extents.len() {
            let found = format!("{} indices of the table '{name}'", indices.len());
            return Err(Fault::new(place, found, format!("{} of them", extents.len())));
        }
        let mut flat: Option<Id> = None;
        for (index, extent) in indices.iter().zip(extents) {
            let next = match &index.kind {
                Kind::Field(side, field_name) => {
                    let value = self.value(index)?;
                    let Value::Typed(typed) = value else { return Err(self.unknown(field_name, index.place)) };
                    if typed.of.width > 1 || typed.of.scalar.is_real() {
                        let found = format!("{} as the index of a table", value.shown());
                        return Err(Fault::new(index.place, found, "fields of i32 or u32, and constant integers"));
                    }
                    let fields = &self.text.fields[*side as usize];
                    let field = fields.iter().position(|field| field.name == *field_name).unwrap_or(0);
                    let check = IndexCheck { side: *side, field, table, extent: *extent };
                    if !self.checks.contains(&check) {
                        memory::push(&mut self.checks, check, WHAT)?;
                    }
                    match typed.of.scalar {
                        Scalar::U32 => typed.ids[0],
                        _ => self.list.add(Op::Convert(typed.ids[0]), Scalar::U32),
                    }
                }
                _ => {
                    let number = self.integer(index).map_err(|fault| Fault {
                        allowed: "i.FIELD or j.FIELD of type i32 or u32, or a constant integer".into(),
                        ..fault
                    })?;
                    if !(0..i64::from(*extent)).contains(&number) {
                        let found = format!("the index {number} of the table '{name}'");
                        return Err(Fault::new(index.place, found, format!("0 to {}", extent - 1)));
                    }
                    self.list.number(Scalar::U32, Double::from_limb(number as f64))
                }
            };
            flat = Some(match flat {
                None => next,
                Some(flat) => {
                    let extent = self.list.number(Scalar::U32, Double::from_limb(f64::from(*extent)));
                    let row = self.list.add(Op::Two(Two::Mul, flat, extent), Scalar::U32);
                    self.list.add(Op::Two(Two::Add, row, next), Scalar::U32)
                }
            });
        }
        let id = self.list.add(Op::Element(table, flat.unwrap_or(0)), of.scalar);
        Ok(Value::one(of.scalar, id))
    }
}
