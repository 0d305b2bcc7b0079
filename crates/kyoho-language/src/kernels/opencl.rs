//! Kernels in OpenCL C.

use std::fmt::Write;

use crate::list::{Comparison, Function, Op, Two};
use crate::number::Number;
use crate::types::Scalar;
use kyoho_core::Result;
use kyoho_core::memory::Text;

use super::{Header, Name, Operation, Place, Row, TEXT, Writer};

/// The differences between CUDA and OpenCL, for OpenCL.
const PRELUDE: &str = include_str!("../../../../kernels/prelude_opencl.h");

/// A text in OpenCL C.
pub struct OpenClText {
    text: Text,
    names: usize,
    depth: usize,
}

fn type_of(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool | Scalar::I32 => "int",
        Scalar::U32 => "uint",
        Scalar::F32 | Scalar::Ff => "float",
        Scalar::F64 | Scalar::Dd => "double",
    }
}

fn place_of(place: &Place) -> String {
    let terms = place.terms.iter().map(|(name, bytes)| format!("(ulong)({name}) * {bytes}u"));
    format!("{} + {}", place.memory, terms.collect::<Vec<_>>().join(" + "))
}

impl Default for OpenClText {
    fn default() -> OpenClText {
        let mut text = Text::new(TEXT);
        // Writing to a text never fails.
        let _ = write!(
            text,
            "{PRELUDE}\n\
             FUNCTION double inverse_sqrt_64(double value)\n\
             {{\n    double root;\n    INVERSE_SQRT_SEED_64(root, value);\n\
             \x20   const uint2 words = as_uint2(root);\n\
             \x20   root = as_double((uint2)(words.x, words.y == 0x7ff00000u ? words.y - 1u : words.y));\n\
             \x20   const double rest = fma(-(value * root), root, 1.0);\n\
             \x20   return fma(root * rest, fma(rest, 0.375, 0.5), root);\n}}\n"
        );
        OpenClText { text, names: 0, depth: 0 }
    }
}

impl OpenClText {
    fn line(&mut self, line: &str) {
        let indent = 4 * self.depth;
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    fn name(&mut self) -> Name {
        self.names += 1;
        format!("n{}", self.names)
    }

    fn named(&mut self, scalar: Scalar, value: &str) -> Name {
        let name = self.name();
        self.line(&format!("const {} {name} = {value};", type_of(scalar)));
        name
    }
}

/// Returns an operation as an expression.
fn expression(operation: &Operation) -> String {
    let [a, b, c] = operation.operands;
    let is_single = operation.scalar == Scalar::F32;
    match operation.op {
        Op::Constant(_) | Op::Input(_) | Op::Element(..) => a.clone(),
        Op::Convert(_) => match (operation.of, operation.scalar) {
            (from, to) if from == to => a.clone(),
            (_, Scalar::I32) => format!("convert_int_sat{}({a})", towards_zero(operation.of)),
            (_, Scalar::U32) => format!("convert_uint_sat{}({a})", towards_zero(operation.of)),
            (_, to) => format!("({})({a})", type_of(to)),
        },
        Op::One(function, _) => match function {
            Function::Negative => format!("-({a})"),
            Function::Abs if operation.scalar == Scalar::I32 => format!("(int)abs({a})"),
            Function::Abs if operation.scalar.is_real() => format!("fabs({a})"),
            Function::Abs => a.clone(),
            Function::Rsqrt if is_single => format!("INVERSE_SQRT_32({a})"),
            Function::Rsqrt => format!("inverse_sqrt_64({a})"),
            other => format!("{}({a})", other.name()),
        },
        Op::Two(two, ..) => match two {
            Two::Min | Two::Max | Two::Pow => format!("{}({a}, {b})", two.name()),
            other => format!("{a} {} {b}", other.name()),
        },
        Op::MulAdd { negated: [product, term], .. } => {
            let sign = |negated: bool| if negated { "-" } else { "" };
            format!("fma({}({a}), {b}, {}({c}))", sign(product), sign(term))
        }
        Op::Compare(comparison, ..) => {
            let sign = match comparison {
                Comparison::Less => "<",
                Comparison::LessEqual => "<=",
                Comparison::Equal => "==",
                Comparison::NotEqual => "!=",
            };
            format!("{a} {sign} {b}")
        }
        Op::And(..) => format!("{a} && {b}"),
        Op::Or(..) => format!("{a} || {b}"),
        Op::Not(_) => format!("!({a})"),
        Op::Select(..) => format!("{a} ? {b} : {c}"),
    }
}

/// The rounding of a conversion to an integer.
fn towards_zero(from: Scalar) -> &'static str {
    if from.is_real() { "_rtz" } else { "" }
}

impl Writer for OpenClText {
    fn begin_kernel(&mut self, header: &Header) {
        let memories = header.memories.iter().map(|name| format!("GLOBAL char *{name}"));
        let counts = header.counts.iter().map(|name| format!("uint {name}"));
        let values = (header.values > 0).then(|| {
            let count = header.values / 8;
            self.line(&format!("typedef struct {{ ulong words[{count}]; }} Values_{};", header.name));
            format!("Values_{} values", header.name)
        });
        let parameters: Vec<String> = memories.chain(counts).chain(values).collect();
        self.line(&format!("KERNEL({}, 1)", header.threads));
        self.line(&format!("{}(", header.name));
        for (number, parameter) in parameters.iter().enumerate() {
            self.line(&format!("    {parameter}{}", if number + 1 < parameters.len() { "," } else { ")" }));
        }
        self.line("{");
        self.depth += 1;
        if header.shared > 0 {
            self.line(&format!("LOCAL uint4 shared_units[{}];", header.shared / 16));
            self.line("LOCAL char *const shared = (LOCAL char *)shared_units;");
        }
    }

    fn end_kernel(&mut self) {
        self.end_if();
    }

    fn finish(mut self) -> Result<String> {
        self.text.take()
    }

    fn thread(&mut self) -> Name {
        self.named(Scalar::U32, "THREAD")
    }

    fn block(&mut self) -> Name {
        self.named(Scalar::U32, "BLOCK")
    }

    fn count(&mut self, name: &'static str) -> Name {
        name.into()
    }

    fn value(&mut self, scalar: Scalar, byte: usize) -> Name {
        let word = format!("values.words[{}]", byte / 8);
        let value = match scalar {
            Scalar::F64 => format!("as_double({word})"),
            other => format!("as_{}((uint)({word} >> {}))", type_of(other), byte % 8 * 8),
        };
        self.named(scalar, &value)
    }

    fn constant(&mut self, number: Number) -> Name {
        match number {
            Number::Bool(value) => u32::from(value).to_string(),
            Number::I32(value) => format!("(int){:#x}", value as u32),
            Number::U32(value) => format!("{value}u"),
            Number::F32(value) => format!("as_float({:#x}u)", value.to_bits()),
            Number::F64(value) => format!("as_double({:#x}ul)", value.to_bits()),
            // Lists of limbs have none.
            Number::Ff(_) | Number::Dd(_) => String::new(),
        }
    }

    fn operation(&mut self, operation: &Operation) -> Name {
        self.named(operation.scalar, &expression(operation))
    }

    fn variable(&mut self, scalar: Scalar, start: &Name) -> Name {
        let name = self.name();
        self.line(&format!("{} {name} = {start};", type_of(scalar)));
        name
    }

    fn assign(&mut self, variable: &Name, _: Scalar, value: &Name, condition: Option<&Name>) {
        match condition {
            Some(condition) => self.line(&format!("{variable} = {condition} ? {value} : {variable};")),
            None => self.line(&format!("{variable} = {value};")),
        }
    }

    fn assign_operation(&mut self, variable: &Name, operation: &Operation, condition: Option<&Name>) {
        self.assign(variable, operation.scalar, &format!("({})", expression(operation)), condition);
    }

    fn load(&mut self, scalar: Scalar, place: &Place) -> Name {
        self.named(scalar, &format!("*(GLOBAL const {} *)({})", type_of(scalar), place_of(place)))
    }

    fn store(&mut self, scalar: Scalar, place: &Place, value: &Name) {
        self.line(&format!("*(GLOBAL {} *)({}) = {value};", type_of(scalar), place_of(place)));
    }

    fn share(&mut self, place: &Place, to: &Name) {
        self.line(&format!("*(LOCAL uint4 *)(shared + {to}) = *(GLOBAL const uint4 *)({});", place_of(place)));
    }

    fn load_row(&mut self, scalars: &[Scalar], place: &Row, byte: u32) -> Vec<Name> {
        let (space, from) = match place {
            Row::Shared(place) => ("LOCAL", format!("shared + {place}")),
            Row::Device(place) => ("GLOBAL", place_of(place)),
        };
        let mut byte = byte;
        let mut names = Vec::new();
        for scalar in scalars {
            let value = format!("*({space} const {} *)({from} + {byte}u)", type_of(*scalar));
            names.push(self.named(*scalar, &value));
            byte += scalar.size() as u32;
        }
        names
    }

    fn barrier(&mut self) {
        self.line("SYNC;");
    }

    fn begin_loop(&mut self, from: &Name, to: &Name, step: u32) -> Name {
        let name = self.name();
        self.line(&format!("for (uint {name} = {from}; {name} < {to}; {name} += {step}u) {{"));
        self.depth += 1;
        name
    }

    fn end_loop(&mut self) {
        self.end_if();
    }

    fn begin_if(&mut self, condition: &Name) {
        self.line(&format!("if ({condition}) {{"));
        self.depth += 1;
    }

    fn end_if(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
}
