//! Kernels in PTX, which NVIDIA's driver compiles. Each operation says how it rounds, so that none
//! is fused with another.

use std::fmt::Write;

use crate::list::{Comparison, Function, Op, Two};
use crate::number::Number;
use crate::types::Scalar;
use kyoho_core::Result;
use kyoho_core::memory::Text;

use super::{Header, Name, Operation, Place, Row, TEXT, Writer};

/// The oldest version of the language that has all that is written here, and the oldest GPUs.
const HEAD: &str = ".version 6.0\n.target sm_50\n.address_size 64\n";
/// The functions that kernels may call, behind a head of their own.
const FUNCTIONS: &str = include_str!("../../../../kernels/generated/pair_functions.ptx");

/// A text in PTX.
pub struct PtxText {
    text: Text,
    /// The instructions of the kernel, which follow the declarations of its registers.
    body: Text,
    /// The number of registers of each class.
    registers: [usize; CLASSES.len()],
    labels: usize,
    /// The loops and conditions that are open.
    open: Vec<Open>,
    name: String,
    /// Whether it calls functions.
    calls: bool,
}

/// The classes of registers: their types, and the letters of their names.
const CLASSES: [(&str, &str); 5] = [("pred", "p"), ("b32", "r"), ("f32", "f"), ("f64", "d"), ("b64", "l")];
/// The class of addresses.
const ADDRESS: usize = 4;

fn class(scalar: Scalar) -> usize {
    match scalar {
        Scalar::Bool => 0,
        Scalar::I32 | Scalar::U32 => 1,
        Scalar::F32 | Scalar::Ff => 2,
        Scalar::F64 | Scalar::Dd => 3,
    }
}

/// The class of a number in memory, where conditions are integers.
fn stored(scalar: Scalar) -> usize {
    class(scalar).max(1)
}

/// A loop or a condition that is open.
enum Open {
    Loop { label: usize, counter: Name, to: Name, step: u32 },
    If { label: usize },
}

/// The suffix of instructions on a type.
fn suffix(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "pred",
        Scalar::I32 => "s32",
        Scalar::U32 => "u32",
        Scalar::F32 | Scalar::Ff => "f32",
        Scalar::F64 | Scalar::Dd => "f64",
    }
}

impl Default for PtxText {
    fn default() -> PtxText {
        PtxText {
            text: Text::new(TEXT),
            body: Text::new(TEXT),
            registers: [0; CLASSES.len()],
            labels: 0,
            open: Vec::new(),
            name: String::new(),
            calls: false,
        }
    }
}

impl PtxText {
    fn line(&mut self, line: &str) {
        // Writing to a text never fails.
        let _ = writeln!(self.body, "\t{line}");
    }

    fn register(&mut self, class: usize) -> Name {
        self.registers[class] += 1;
        format!("%{}{}", CLASSES[class].1, self.registers[class])
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    /// Returns what was read from memory, where conditions are integers.
    fn read(&mut self, scalar: Scalar, name: Name) -> Name {
        if scalar != Scalar::Bool {
            return name;
        }
        let condition = self.register(0);
        self.line(&format!("setp.ne.u32 {condition}, {name}, 0;"));
        condition
    }

    /// Returns the register of the address of a place.
    fn address(&mut self, place: &Place) -> Name {
        let mut address = self.register(ADDRESS);
        self.line(&format!("mov.b64 {address}, %{};", place.memory));
        for (name, bytes) in place.terms {
            let next = self.register(ADDRESS);
            self.line(&format!("mad.wide.u32 {next}, {name}, {bytes}, {address};"));
            address = next;
        }
        address
    }

    /// Writes the instructions of an operation that give a register its value, the last one under a
    /// condition.
    fn write(&mut self, to: &Name, operation: &Operation, condition: Option<&Name>) {
        let [a, b, c] = operation.operands;
        let (scalar, of) = (operation.scalar, operation.of);
        let guard = condition.map(|condition| format!("@{condition} ")).unwrap_or_default();
        let kind = suffix(scalar);
        // Rounding and, in single precision, zero for what is below the normal numbers.
        let exact = match scalar {
            Scalar::F32 => ".rn.ftz",
            Scalar::F64 => ".rn",
            _ => "",
        };
        let flush = if scalar == Scalar::F32 { ".ftz" } else { "" };
        let line = match operation.op {
            Op::Constant(_) | Op::Input(_) | Op::Element(..) => format!("mov.{} {to}, {a};", moved(scalar)),
            Op::Convert(_) => convert(to, a, of, scalar),
            Op::One(function, _) => match function {
                Function::Negative if scalar == Scalar::U32 => format!("neg.s32 {to}, {a};"),
                Function::Negative => format!("neg{flush}.{kind} {to}, {a};"),
                Function::Abs if scalar == Scalar::U32 => format!("mov.b32 {to}, {a};"),
                Function::Abs => format!("abs{flush}.{kind} {to}, {a};"),
                Function::Floor => format!("cvt.rmi{flush}.{kind}.{kind} {to}, {a};"),
                Function::Sqrt => format!("sqrt{exact}.{kind} {to}, {a};"),
                Function::Rsqrt if scalar == Scalar::F64 => return self.inverse_root(to, a, &guard),
                Function::Rsqrt => format!("rsqrt.approx.ftz.f32 {to}, {a};"),
                other => return self.call(to, other.name(), &[a], scalar, &guard),
            },
            Op::Two(two, ..) => match (two, scalar) {
                (Two::Pow, _) => return self.call(to, "pow", &[a, b], scalar, &guard),
                (Two::Mul, Scalar::I32 | Scalar::U32) => format!("mul.lo.{kind} {to}, {a}, {b};"),
                (Two::Div, Scalar::F32 | Scalar::F64) if *a == self.constant(one(scalar)) => {
                    format!("rcp{exact}.{kind} {to}, {b};")
                }
                (Two::Div, _) => format!("div{exact}.{kind} {to}, {a}, {b};"),
                (Two::Min, _) => format!("min.{kind} {to}, {a}, {b};"),
                (Two::Max, _) => format!("max.{kind} {to}, {a}, {b};"),
                (Two::Add, _) => format!("add{exact}.{kind} {to}, {a}, {b};"),
                (Two::Sub, _) => format!("sub{exact}.{kind} {to}, {a}, {b};"),
                (Two::Mul, _) => format!("mul{exact}.{kind} {to}, {a}, {b};"),
            },
            Op::MulAdd { negated, .. } => {
                let mut signed = |name: &Name, negated: bool| {
                    if !negated {
                        return name.clone();
                    }
                    let other = self.register(class(scalar));
                    self.line(&format!("neg{flush}.{kind} {other}, {name};"));
                    other
                };
                let (a, c) = (signed(a, negated[0]), signed(c, negated[1]));
                format!("fma{exact}.{kind} {to}, {a}, {b}, {c};")
            }
            Op::Compare(comparison, ..) => {
                let flush = if of == Scalar::F32 { ".ftz" } else { "" };
                let comparison = match comparison {
                    Comparison::Less => "lt",
                    Comparison::LessEqual => "le",
                    Comparison::Equal => "eq",
                    // Of two numbers of which one is none, too.
                    Comparison::NotEqual if of.is_real() => "neu",
                    Comparison::NotEqual => "ne",
                };
                format!("setp.{comparison}{flush}.{} {to}, {a}, {b};", suffix(of))
            }
            Op::And(..) => format!("and.pred {to}, {a}, {b};"),
            Op::Or(..) => format!("or.pred {to}, {a}, {b};"),
            Op::Not(_) => format!("not.pred {to}, {a};"),
            Op::Select(..) if scalar == Scalar::Bool => {
                // Predicates cannot be selected.
                let [yes, no, other] = [(); 3].map(|()| self.register(0));
                self.line(&format!("and.pred {yes}, {a}, {b};"));
                self.line(&format!("not.pred {other}, {a};"));
                self.line(&format!("and.pred {no}, {other}, {c};"));
                format!("or.pred {to}, {yes}, {no};")
            }
            Op::Select(..) => format!("selp.{} {to}, {b}, {c}, {a};", moved(scalar)),
        };
        self.line(&format!("{guard}{line}"));
    }

    /// Writes one over the square root of a double: the machine's first digits, and a step of third
    /// order, which is infinite again for a zero. For infinity there is no number.
    fn inverse_root(&mut self, to: &Name, value: &Name, guard: &str) {
        let [root, product, minus, rest, factor, more] = [(); 6].map(|()| self.register(3));
        let ([low, high], is_infinite) = ([(); 2].map(|()| self.register(1)), self.register(0));
        let [one, half, third] = [1.0, 0.5, 0.375].map(|number| self.constant(Number::F64(number)));
        self.line(&format!("rsqrt.approx.ftz.f64 {root}, {value};"));
        // An infinite root becomes the largest number, by the units of integers, which are idle.
        self.line(&format!("mov.b64 {{{low}, {high}}}, {root};"));
        self.line(&format!("setp.eq.u32 {is_infinite}, {high}, 0x7ff00000;"));
        self.line(&format!("@{is_infinite} sub.u32 {high}, {high}, 1;"));
        self.line(&format!("mov.b64 {root}, {{{low}, {high}}};"));
        self.line(&format!("mul.rn.f64 {product}, {value}, {root};"));
        self.line(&format!("neg.f64 {minus}, {product};"));
        self.line(&format!("fma.rn.f64 {rest}, {minus}, {root}, {one};"));
        self.line(&format!("fma.rn.f64 {factor}, {rest}, {third}, {half};"));
        self.line(&format!("mul.rn.f64 {more}, {root}, {rest};"));
        self.line(&format!("{guard}fma.rn.f64 {to}, {more}, {factor}, {root};"));
    }

    /// Writes a call of a function of the library of such functions.
    fn call(&mut self, to: &Name, function: &str, operands: &[&Name], scalar: Scalar, guard: &str) {
        self.calls = true;
        let (kind, result) = (suffix(scalar), self.register(class(scalar)));
        let parameters: Vec<String> = (0..operands.len()).map(|number| format!("operand{number}")).collect();
        self.line("{");
        self.line(&format!(".param .{kind} found;"));
        for (parameter, operand) in parameters.iter().zip(operands) {
            self.line(&format!(".param .{kind} {parameter};"));
            self.line(&format!("st.param.{kind} [{parameter}], {operand};"));
        }
        self.line(&format!("call.uni (found), pair_{function}_{kind}, ({});", parameters.join(", ")));
        self.line(&format!("ld.param.{kind} {result}, [found];"));
        self.line("}");
        self.line(&format!("{guard}mov.{kind} {to}, {result};"));
    }
}

/// The type with which registers are moved.
fn moved(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "pred",
        Scalar::I32 | Scalar::U32 => "b32",
        other => suffix(other),
    }
}

/// One, in a type.
fn one(scalar: Scalar) -> Number {
    if scalar == Scalar::F32 { Number::F32(1.0) } else { Number::F64(1.0) }
}

/// Returns the instruction of a conversion.
fn convert(to: &Name, from: &Name, of: Scalar, scalar: Scalar) -> String {
    let kinds = format!("{}.{}", suffix(scalar), suffix(of));
    match (of, scalar) {
        (of, scalar) if of == scalar => format!("mov.{} {to}, {from};", moved(scalar)),
        (Scalar::F32, Scalar::F64) => format!("cvt.ftz.{kinds} {to}, {from};"),
        (Scalar::F64, Scalar::F32) => format!("cvt.rn.ftz.{kinds} {to}, {from};"),
        (_, Scalar::F32 | Scalar::F64) => format!("cvt.rn.{kinds} {to}, {from};"),
        (Scalar::F32, _) => format!("cvt.rzi.ftz.{kinds} {to}, {from};"),
        (Scalar::F64, _) => format!("cvt.rzi.{kinds} {to}, {from};"),
        _ => format!("cvt.sat.{kinds} {to}, {from};"),
    }
}

impl Writer for PtxText {
    fn begin_kernel(&mut self, header: &Header) {
        let memories = header.memories.iter().map(|name| format!("\t.param .u64 memory_{name}"));
        let counts = header.counts.iter().map(|name| format!("\t.param .u32 count_{name}"));
        let values = (header.values > 0).then(|| format!("\t.param .align 8 .b8 values[{}]", header.values));
        let parameters: Vec<String> = memories.chain(counts).chain(values).collect();
        let _ = write!(self.text, "\n.visible .entry {}(\n{})", header.name, parameters.join(",\n"));
        let _ = write!(self.text, "\n.maxntid {}, 1, 1\n{{\n", header.threads);
        if header.shared > 0 {
            let _ = writeln!(self.text, "\t.shared .align 16 .b8 shared[{}];", header.shared);
        }
        self.name = header.name.into();
        for name in header.memories {
            let _ = writeln!(self.text, "\t.reg .b64 %{name};");
            self.line(&format!("ld.param.u64 %{name}, [memory_{name}];"));
            self.line(&format!("cvta.to.global.u64 %{name}, %{name};"));
        }
        for name in header.counts {
            let _ = writeln!(self.text, "\t.reg .b32 %{name};");
            self.line(&format!("ld.param.u32 %{name}, [count_{name}];"));
        }
        if header.shared > 0 {
            self.text.push("\t.reg .b32 %shared;\n");
            self.line("mov.u32 %shared, shared;");
        }
    }

    fn end_kernel(&mut self) {
        self.line("ret;");
        for ((kind, letter), count) in CLASSES.into_iter().zip(&mut self.registers) {
            if *count > 0 {
                let _ = writeln!(self.text, "\t.reg .{kind} %{letter}<{}>;", *count + 1);
            }
            *count = 0;
        }
        self.text.join(&mut self.body);
        self.text.push("}\n");
    }

    fn finish(mut self) -> Result<String> {
        let mut all = Text::new(TEXT);
        all.push(if self.calls { FUNCTIONS } else { HEAD });
        all.join(&mut self.text);
        all.take()
    }

    fn thread(&mut self) -> Name {
        let name = self.register(1);
        self.line(&format!("mov.u32 {name}, %tid.x;"));
        name
    }

    fn block(&mut self) -> Name {
        let name = self.register(1);
        self.line(&format!("mov.u32 {name}, %ctaid.x;"));
        name
    }

    fn count(&mut self, name: &'static str) -> Name {
        format!("%{name}")
    }

    fn value(&mut self, scalar: Scalar, byte: usize) -> Name {
        let name = self.register(stored(scalar));
        self.line(&format!("ld.param.{} {name}, [values+{byte}];", CLASSES[stored(scalar)].0));
        self.read(scalar, name)
    }

    fn constant(&mut self, number: Number) -> Name {
        match number {
            Number::Bool(value) => {
                let name = self.register(0);
                self.line(&format!("setp.ne.u32 {name}, {}, 0;", u32::from(value)));
                name
            }
            Number::I32(value) => value.to_string(),
            Number::U32(value) => value.to_string(),
            Number::F32(value) => format!("0f{:08X}", value.to_bits()),
            Number::F64(value) => format!("0d{:016X}", value.to_bits()),
            // Lists of limbs have none.
            Number::Ff(_) | Number::Dd(_) => String::new(),
        }
    }

    fn operation(&mut self, operation: &Operation) -> Name {
        let to = self.register(class(operation.scalar));
        self.write(&to, operation, None);
        to
    }

    fn variable(&mut self, scalar: Scalar, start: &Name) -> Name {
        let name = self.register(class(scalar));
        self.line(&format!("mov.{} {name}, {start};", moved(scalar)));
        name
    }

    fn assign(&mut self, variable: &Name, scalar: Scalar, value: &Name, condition: Option<&Name>) {
        let guard = condition.map(|condition| format!("@{condition} ")).unwrap_or_default();
        self.line(&format!("{guard}mov.{} {variable}, {value};", moved(scalar)));
    }

    fn assign_operation(&mut self, variable: &Name, operation: &Operation, condition: Option<&Name>) {
        self.write(variable, operation, condition);
    }

    fn load(&mut self, scalar: Scalar, place: &Place) -> Name {
        let address = self.address(place);
        let name = self.register(stored(scalar));
        self.line(&format!("ld.global.{} {name}, [{address}];", CLASSES[stored(scalar)].0));
        self.read(scalar, name)
    }

    fn store(&mut self, scalar: Scalar, place: &Place, value: &Name) {
        let address = self.address(place);
        let mut value = value.clone();
        if scalar == Scalar::Bool {
            let condition = std::mem::replace(&mut value, self.register(1));
            self.line(&format!("selp.b32 {value}, 1, 0, {condition};"));
        }
        self.line(&format!("st.global.{} [{address}], {value};", CLASSES[stored(scalar)].0));
    }

    fn share(&mut self, place: &Place, to: &Name) {
        let address = self.address(place);
        let [a, b, c, d, at] = [(); 5].map(|()| self.register(1));
        self.line(&format!("ld.global.v4.b32 {{{a}, {b}, {c}, {d}}}, [{address}];"));
        self.line(&format!("add.u32 {at}, %shared, {to};"));
        self.line(&format!("st.shared.v4.b32 [{at}], {{{a}, {b}, {c}, {d}}};"));
    }

    fn load_row(&mut self, scalars: &[Scalar], place: &Row, byte: u32) -> Vec<Name> {
        let names: Vec<Name> = scalars.iter().map(|scalar| self.register(stored(*scalar))).collect();
        let size = if scalars.iter().any(|scalar| scalar.size() == 8) { 8 } else { 4 };
        // What is read together has a power of two of numbers; the last ones may be of no use.
        let width = scalars.len().next_power_of_two();
        let mut all = names.clone();
        while all.len() < width {
            all.push(self.register(if size == 8 { ADDRESS } else { 1 }));
        }
        let (space, at) = match place {
            Row::Shared(place) => {
                let at = self.register(1);
                self.line(&format!("add.u32 {at}, %shared, {place};"));
                ("shared", at)
            }
            Row::Device(place) => ("global", self.address(place)),
        };
        let (vector, list) = match width {
            1 => (String::new(), all[0].clone()),
            width => (format!(".v{width}"), format!("{{{}}}", all.join(", "))),
        };
        self.line(&format!("ld.{space}{vector}.b{} {list}, [{at}+{byte}];", 8 * size));
        scalars.iter().zip(names).map(|(scalar, name)| self.read(*scalar, name)).collect()
    }

    fn barrier(&mut self) {
        self.line("bar.sync 0;");
    }

    fn begin_loop(&mut self, from: &Name, to: &Name, step: u32) -> Name {
        let (label, counter, is_over) = (self.label(), self.register(1), self.register(0));
        self.line(&format!("mov.u32 {counter}, {from};"));
        self.line(&format!("setp.ge.u32 {is_over}, {counter}, {to};"));
        self.line(&format!("@{is_over} bra $end{label}_{};", self.name));
        let _ = writeln!(self.body, "$begin{label}_{}:", self.name);
        self.open.push(Open::Loop { label, counter: counter.clone(), to: to.clone(), step });
        counter
    }

    fn end_loop(&mut self) {
        if let Some(Open::Loop { label, counter, to, step }) = self.open.pop() {
            let goes_on = self.register(0);
            self.line(&format!("add.u32 {counter}, {counter}, {step};"));
            self.line(&format!("setp.lt.u32 {goes_on}, {counter}, {to};"));
            self.line(&format!("@{goes_on} bra $begin{label}_{};", self.name));
            let _ = writeln!(self.body, "$end{label}_{}:", self.name);
        }
    }

    fn begin_if(&mut self, condition: &Name) {
        let label = self.label();
        self.line(&format!("@!{condition} bra $else{label}_{};", self.name));
        self.open.push(Open::If { label });
    }

    fn end_if(&mut self) {
        if let Some(Open::If { label }) = self.open.pop() {
            let _ = writeln!(self.body, "$else{label}_{}:", self.name);
        }
    }
}
