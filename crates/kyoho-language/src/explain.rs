//! The list in words, with what it costs.

use std::fmt::Write;

use kyoho_core::error::shown;
use kyoho_core::memory::Text;

use super::costs::{Costs, on_limbs};
use super::limbs::LimbProgram;
use super::list::{Comparison, Function, Id, Input, Op, PairProgram, Stage, Two};
use super::number::Number;
use super::syntax::Reduction;
use super::types::{Scalar, Type};

/// Returns the list of a program with its hoisted parts, and the costs of each stage, also on limbs
/// unless these are too many.
pub fn explain(program: &PairProgram, limbs: Option<&LimbProgram>) -> Text {
    let mut text = Text::new("the list of operations of a pair interaction");
    // Writing to a text never fails.
    let _ = write(program, limbs, &mut text);
    text
}

fn write(program: &PairProgram, limbs: Option<&LimbProgram>, text: &mut Text) -> std::fmt::Result {
    writeln!(text, "pair {}", program.name)?;
    let titles = [
        (Stage::Run, "once a run"),
        (Stage::Sink, "once a sink"),
        (Stage::Source, "once a source"),
        (Stage::Pair, "once a pair"),
    ];
    for (stage, title) in titles {
        let nodes = program.nodes.iter().enumerate().filter(|(_, node)| node.stage == stage);
        let mut nodes = nodes.filter(|(_, node)| !matches!(node.op, Op::Constant(_) | Op::Input(_))).peekable();
        if nodes.peek().is_none() && stage != Stage::Pair {
            continue;
        }
        writeln!(text, "\n{title}:")?;
        for (id, node) in nodes {
            writeln!(text, "  %{id} = {} : {}", operation(program, node.op, node.scalar), node.scalar.name())?;
        }
        if stage == Stage::Pair {
            (0..program.outputs.len()).try_for_each(|number| writeln!(text, "  {}", output(program, number)))?;
        }
    }
    writeln!(text, "\noperations     +, -    *   *+    /  root  function  other  arithmetic  on limbs")?;
    for (stage, title) in titles {
        let costs = Costs::of(program, stage);
        if costs == Costs::default() {
            continue;
        }
        writeln!(
            text,
            "{:<13} {:>5} {:>4} {:>4} {:>4} {:>5} {:>9} {:>6} {:>11} {:>9}",
            title.strip_prefix("once ").unwrap_or(title),
            costs.sums,
            costs.products,
            costs.multiply_adds,
            costs.quotients,
            costs.roots,
            costs.functions,
            costs.others,
            costs.arithmetic(),
            limbs.map_or("-".into(), |limbs| on_limbs(limbs, stage).to_string())
        )?;
    }
    Ok(())
}

const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

fn component(name: String, of: Type, number: usize) -> String {
    if of.width == 1 { name } else { format!("{name}.{}", COMPONENTS[number.min(3)]) }
}

/// Returns an operand: the name of an input, a constant, or its place in the list.
fn operand(program: &PairProgram, id: Id) -> String {
    match program.nodes[id].op {
        Op::Constant(Number::Bool(value)) => value.to_string(),
        Op::Constant(number) => {
            let exact = number.widened();
            if exact.low == 0.0 { shown(exact.high) } else { exact.to_string() }
        }
        Op::Input(Input::Field(side, field, number)) => {
            let field = &program.fields[side as usize][field];
            component(format!("{}.{}", side.name(), field.name), field.of, number)
        }
        Op::Input(Input::Parameter(parameter, number)) => {
            let parameter = &program.parameters[parameter];
            component(parameter.name.clone(), parameter.of, number)
        }
        _ => format!("%{id}"),
    }
}

fn operation(program: &PairProgram, op: Op, scalar: Scalar) -> String {
    let of = |id: Id| operand(program, id);
    match op {
        Op::Constant(_) | Op::Input(_) => String::new(),
        Op::Element(table, index) => format!("{}[{}]", program.parameters[table].name, of(index)),
        Op::Convert(a) => format!("{}({})", scalar.name(), of(a)),
        Op::One(Function::Negative, a) => format!("-{}", of(a)),
        Op::One(function, a) => format!("{}({})", function.name(), of(a)),
        Op::Two(two @ (Two::Min | Two::Max | Two::Pow), a, b) => format!("{}({}, {})", two.name(), of(a), of(b)),
        Op::Two(two, a, b) => format!("{} {} {}", of(a), two.name(), of(b)),
        Op::MulAdd { factors: [a, b], term, negated } => {
            let (minus, sign) = (if negated[0] { "-" } else { "" }, if negated[1] { "-" } else { "+" });
            format!("{minus}{} *+ {} {sign} {}", of(a), of(b), of(term))
        }
        Op::Compare(comparison, a, b) => {
            let sign = match comparison {
                Comparison::Less => "<",
                Comparison::LessEqual => "<=",
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
            };
            format!("{} {sign} {}", of(a), of(b))
        }
        Op::And(a, b) => format!("{} && {}", of(a), of(b)),
        Op::Or(a, b) => format!("{} || {}", of(a), of(b)),
        Op::Not(a) => format!("!{}", of(a)),
        Op::Select(condition, yes, no) => format!("select({}, {}, {})", of(condition), of(yes), of(no)),
    }
}

fn output(program: &PairProgram, number: usize) -> String {
    let output = program.outputs[number];
    let result = &program.results[output.result];
    let name = component(result.name.clone(), result.of, output.component);
    let term = operand(program, output.term);
    let second = output.second.map(|id| operand(program, id)).unwrap_or_default();
    let statement = match output.reduction {
        Reduction::Sum => {
            let sign = if output.negative { "-=" } else { "+=" };
            if second.is_empty() { format!("{name} {sign} {term}") } else { format!("{name} {sign} {term} * {second}") }
        }
        Reduction::ArgMin | Reduction::ArgMax => format!("{name} {}= {term}, {second}", output.reduction.name()),
        other => format!("{name} {}= {term}", other.name()),
    };
    match output.condition {
        Some(condition) => format!("{statement} if {}", operand(program, condition)),
        None => statement,
    }
}
