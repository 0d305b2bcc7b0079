//! Fields on GPUs: a kernel that adds their derivatives to those that bodies have by other forces, in
//! the steps of arithmetic by which CPUs do it.

use kyoho_core::{Result, memory};

use super::{FieldProgram, FieldWork, MOST};
use crate::blocks::bits;
use crate::kernels::{Header, MOST_VALUES, Name, Names, Operation, Place, TEXT, Writer, operand, with_operation};
use crate::list::{Comparison, Function, Id, Input, Node, Op, Two};
use crate::motion::factorial;
use crate::number::Number;
use crate::syntax::Side;
use crate::types::Scalar;

/// The name of the kernel. A thread has one sink. The kernel gets the sinks and the results, the number
/// of sinks of the results, the number of the first one, the place of the results in numbers, and the
/// values of the fields ([`FieldProgram::put_values`]).
pub const KERNEL: &str = "add_fields";
/// The threads of a block.
pub const THREADS: usize = 128;

/// Where the numbers of bodies are, which are all doubles.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// The numbers of a sink, and the place of its position among them, which its velocity follows.
    pub sink: (usize, usize),
    /// The numbers of its results, and the place of its acceleration, which its derivatives follow.
    pub results: (usize, usize),
}

impl FieldProgram {
    /// Adds the numbers that the kernel reads of this field to those of others: what is equal for all
    /// bodies, and the motion of the field's centre as far as it counts.
    pub fn put_values(&self, work: &FieldWork, centre: &[[f64; 3]; 2 + MOST], to: &mut Vec<u64>) -> Result<()> {
        for id in &self.uniform_operands {
            memory::push(to, bits(work.value(*id))[0], TEXT)?;
        }
        for (_, vector, component) in self.inputs() {
            memory::push(to, centre[vector][component].to_bits(), TEXT)?;
        }
        Ok(())
    }

    /// The vectors of a body that it reads: the operation, the number of the vector and the component.
    fn inputs(&self) -> impl Iterator<Item = (Id, usize, usize)> {
        self.levels.iter().flatten().filter_map(|id| match self.nodes[*id].op {
            Op::Input(Input::Field(Side::I, vector, component)) => Some((*id, vector, component)),
            _ => None,
        })
    }

    /// Whether GPUs compute it with the numbers that CPUs have: of two limbs they have none.
    fn is_of_single_numbers(&self) -> bool {
        let is_single = |id: &Id| !matches!(self.nodes[*id].scalar, Scalar::Ff | Scalar::Dd);
        self.levels.iter().flatten().chain(&self.uniform_operands).all(is_single)
    }
}

/// Returns the text of the kernel of fields, which are added in their order, each derivative after those
/// before it. There is none for fields with numbers of two limbs, or with too many values.
pub fn kernel<W: Writer + Default>(fields: &[&FieldProgram], derivatives: usize, rows: Rows) -> Result<Option<String>> {
    let values: usize = fields.iter().map(|field| field.uniform_operands.len() + field.inputs().count()).sum();
    if 8 * values > MOST_VALUES || !fields.iter().all(|field| field.is_of_single_numbers()) {
        return Ok(None);
    }
    let mut writer = W::default();
    writer.begin_kernel(&Header {
        name: KERNEL,
        memories: &["sinks", "results"],
        counts: &["count", "first", "from"],
        values: 8 * values,
        shared: 0,
        threads: THREADS,
    });
    let (thread, block, threads) = (writer.thread(), writer.block(), writer.whole(THREADS as u32));
    let before = writer.of_whole(Two::Mul, &block, &threads);
    let sink = writer.of_whole(Two::Add, &before, &thread);
    let count = writer.count("count");
    let is_one = writer.operation(&Operation {
        op: Op::Compare(Comparison::Less, 0, 0),
        scalar: Scalar::Bool,
        of: Scalar::U32,
        operands: [&sink, &count, &count],
    });
    writer.begin_if(&is_one);
    let mut body = OfBody::new(writer, rows, sink);
    let mut all_names = Vec::new();
    let mut byte = 0;
    for field in fields {
        memory::push(&mut all_names, body.values_of(field, &mut byte)?, TEXT)?;
    }
    for number in 0..derivatives {
        let mut found = body.forces(number);
        for (field, names) in fields.iter().zip(&mut all_names) {
            body.add(field, number, names, &mut found)?;
        }
        body.end_derivative(number, found);
    }
    let mut writer = body.writer;
    writer.end_if();
    writer.end_kernel();
    writer.finish().map(Some)
}

/// The names of what a field knows of a body: its values, and of each input the centre's component.
struct OfField {
    names: Names,
    centre: Names,
}

/// The writing of what is done for one body.
struct OfBody<W> {
    writer: W,
    rows: Rows,
    sink: Name,
    /// The body's number among all sinks.
    body: Name,
    /// Its position, its velocity, and the derivatives of the velocity by all forces, as far as they
    /// are known.
    motion: Vec<[Name; 3]>,
}

impl<W: Writer> OfBody<W> {
    fn new(mut writer: W, rows: Rows, sink: Name) -> OfBody<W> {
        let first = writer.count("first");
        let body = writer.of_whole(Two::Add, &first, &sink);
        let mut of_body = OfBody { writer, rows, sink, body, motion: Vec::new() };
        let (_, position) = rows.sink;
        for vector in 0..2 {
            let loaded = [0, 1, 2].map(|k| of_body.with_sink(position + 3 * vector + k));
            of_body.motion.push(loaded);
        }
        of_body
    }

    fn with_sink(&mut self, number: usize) -> Name {
        let one = self.writer.whole(1);
        let terms = [(&self.body, 8 * self.rows.sink.0 as u32), (&one, 8 * number as u32)];
        self.writer.load(Scalar::F64, &Place { memory: "sinks", terms: &terms })
    }

    /// Does something at a derivative of a component of the results.
    fn with_result<R>(&mut self, number: usize, k: usize, act: impl FnOnce(&mut W, &Place) -> R) -> R {
        let (one, from) = (self.writer.whole(1), self.writer.count("from"));
        let (numbers, acceleration) = self.rows.results;
        let place = acceleration + 3 * number + k;
        let terms = [(&from, 8), (&self.sink, 8 * numbers as u32), (&one, 8 * place as u32)];
        act(&mut self.writer, &Place { memory: "results", terms: &terms })
    }

    /// Reads a derivative by the other forces.
    fn forces(&mut self, number: usize) -> [Name; 3] {
        [0, 1, 2].map(|k| self.with_result(number, k, |writer, place| writer.load(Scalar::F64, place)))
    }

    /// Writes a derivative by all forces, which those that follow may read.
    fn end_derivative(&mut self, number: usize, found: [Name; 3]) {
        for (k, value) in found.iter().enumerate() {
            self.with_result(number, k, |writer, place| writer.store(Scalar::F64, place, value));
        }
        self.motion.push(found);
    }

    /// Reads the values of a field, from a byte on.
    fn values_of(&mut self, field: &FieldProgram, byte: &mut usize) -> Result<OfField> {
        let mut read = |scalar: Scalar, id: Id, to: &mut Names| {
            let name = self.writer.value(scalar, *byte);
            *byte += 8;
            memory::insert(to, (id, name), TEXT)
        };
        let mut all = OfField { names: Names::new(), centre: Names::new() };
        for id in &field.uniform_operands {
            read(field.nodes[*id].scalar, *id, &mut all.names)?;
        }
        field.inputs().try_for_each(|(id, ..)| read(Scalar::F64, id, &mut all.centre))?;
        Ok(all)
    }

    fn of_doubles(&mut self, two: Two, a: &Name, b: &Name) -> Name {
        let (op, scalar) = (Op::Two(two, 0, 0), Scalar::F64);
        self.writer.operation(&Operation { op, scalar, of: scalar, operands: [a, b, b] })
    }

    /// Adds a derivative by a field.
    fn add(
        &mut self,
        field: &FieldProgram,
        number: usize,
        OfField { names, centre }: &mut OfField,
        found: &mut [Name; 3],
    ) -> Result<()> {
        for id in &field.levels[number] {
            let name = match field.nodes[*id].op {
                Op::Input(Input::Field(_, vector, component)) => {
                    let own = self.motion[vector][component].clone();
                    self.of_doubles(Two::Sub, &own, &centre[id])
                }
                Op::One(Function::Rsqrt, of) if field.nodes[*id].scalar == Scalar::F64 => {
                    self.inverse_root(&field.nodes, of, names)
                }
                _ => with_operation(&mut self.writer, &field.nodes, *id, names, |writer, operation| {
                    writer.operation(operation)
                }),
            };
            memory::insert(names, (*id, name), TEXT)?;
        }
        for (found, root) in found.iter_mut().zip(field.derivatives[number]) {
            let mut more = operand(&mut self.writer, &field.nodes, root, names);
            if factorial(number) > 1.0 {
                let times = self.writer.constant(Number::F64(factorial(number)));
                more = self.of_doubles(Two::Mul, &times, &more);
            }
            *found = self.of_doubles(Two::Add, found, &more);
        }
        Ok(())
    }

    /// One over a root, as CPUs compute it.
    fn inverse_root(&mut self, nodes: &[Node], of: Id, names: &Names) -> Name {
        let value = operand(&mut self.writer, nodes, of, names);
        let (op, scalar, one) = (Op::One(Function::Sqrt, 0), Scalar::F64, self.writer.constant(Number::F64(1.0)));
        let root = self.writer.operation(&Operation { op, scalar, of: scalar, operands: [&value; 3] });
        self.of_doubles(Two::Div, &one, &root)
    }
}
