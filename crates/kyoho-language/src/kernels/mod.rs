//! The texts of kernels: what a language for GPUs has to offer ([`Writer`]), in PTX for NVIDIA's
//! driver ([`PtxText`]) and in OpenCL C ([`OpenClText`]).

mod opencl;
mod ptx;

use std::collections::HashMap;

use kyoho_core::Result;

use crate::list::{Id, Node, Op, Two};
use crate::number::Number;
use crate::types::Scalar;

pub use opencl::OpenClText;
pub use ptx::PtxText;

/// What there is no memory for if a text cannot be written.
pub const TEXT: &str = "the text of the kernels of an interaction";

/// The bytes of the structure of parameters that a kernel may have.
pub const MOST_VALUES: usize = 3072;

/// A register, or a number as the language writes it.
pub type Name = String;

/// The parameters of a kernel.
pub struct Header<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of memories that it gets.
    pub memories: &'a [&'static str],
    /// The names of numbers that it gets, of type `u32`.
    pub counts: &'a [&'static str],
    /// The bytes of the structure of parameters that comes last; 0: there is none.
    pub values: usize,
    /// The bytes of the memory that a thread block shares.
    pub shared: usize,
    /// The threads of a block.
    pub threads: usize,
}

/// A place in a memory of the device.
pub struct Place<'a> {
    /// The name of the memory.
    pub memory: &'static str,
    /// Numbers with the bytes by which each is multiplied.
    pub terms: &'a [(&'a Name, u32)],
}

/// Where a row of numbers begins.
pub enum Row<'a> {
    /// At this byte of the shared memory.
    Shared(&'a Name),
    /// In memory of the device.
    Device(Place<'a>),
}

/// An operation of a list with the names of its operands.
pub struct Operation<'a> {
    /// The operation, whose own operands mean nothing.
    pub op: Op,
    /// The type of the result.
    pub scalar: Scalar,
    /// The type of the operands; of a selection, that of the result.
    pub of: Scalar,
    /// The operands.
    pub operands: [&'a Name; 3],
}

/// A text that grows.
pub trait Writer {
    /// Begins a kernel.
    fn begin_kernel(&mut self, header: &Header);
    /// Ends the kernel.
    fn end_kernel(&mut self);
    /// Returns the whole text.
    fn finish(self) -> Result<String>;

    /// The number of this thread in its block.
    fn thread(&mut self) -> Name;
    /// The number of this block.
    fn block(&mut self) -> Name;
    /// A number that the kernel gets.
    fn count(&mut self, name: &'static str) -> Name;
    /// A number at a byte of the structure of parameters.
    fn value(&mut self, scalar: Scalar, byte: usize) -> Name;
    /// A number that is known.
    fn constant(&mut self, number: Number) -> Name;

    /// Computes an operation.
    fn operation(&mut self, operation: &Operation) -> Name;
    /// Makes a number that may change.
    fn variable(&mut self, scalar: Scalar, start: &Name) -> Name;
    /// Gives it another value, under a condition.
    fn assign(&mut self, variable: &Name, scalar: Scalar, value: &Name, condition: Option<&Name>);
    /// Gives it the result of an operation, under a condition.
    fn assign_operation(&mut self, variable: &Name, operation: &Operation, condition: Option<&Name>);

    /// Reads a number from memory of the device.
    fn load(&mut self, scalar: Scalar, place: &Place) -> Name;
    /// Writes a number to memory of the device.
    fn store(&mut self, scalar: Scalar, place: &Place, value: &Name);
    /// Copies 16 bytes from memory of the device to a byte of the memory that the block shares.
    fn share(&mut self, place: &Place, to: &Name);
    /// Reads numbers, of 16 bytes at most and of one size, from the bytes behind a place.
    fn load_row(&mut self, scalars: &[Scalar], place: &Row, byte: u32) -> Vec<Name>;
    /// Waits for all threads of the block.
    fn barrier(&mut self);

    /// Repeats what follows, for a counter that is returned.
    fn begin_loop(&mut self, from: &Name, to: &Name, step: u32) -> Name;
    /// Ends the innermost loop.
    fn end_loop(&mut self);
    /// Does what follows only if a condition holds.
    fn begin_if(&mut self, condition: &Name);
    /// Ends the innermost condition.
    fn end_if(&mut self);

    /// Returns a number of type `u32`.
    fn whole(&mut self, number: u32) -> Name {
        self.constant(Number::U32(number))
    }

    /// Computes with numbers of type `u32`.
    fn of_whole(&mut self, two: Two, a: &Name, b: &Name) -> Name {
        self.operation(&Operation { op: Op::Two(two, 0, 0), scalar: Scalar::U32, of: Scalar::U32, operands: [a, b, b] })
    }
}

/// The names of the values of a list.
pub type Names = HashMap<Id, Name>;

/// Returns the name of an operand. Lists have operands before what needs them.
pub fn operand<W: Writer>(writer: &mut W, nodes: &[Node], id: Id, names: &Names) -> Name {
    match (names.get(&id), nodes[id].op) {
        (Some(name), _) => name.clone(),
        (None, Op::Constant(number)) => writer.constant(number),
        (None, _) => {
            debug_assert!(false, "operand {id} has no name");
            // No compiler takes this for an operand.
            "?".into()
        }
    }
}

/// Writes an operation of a list with the names of its operands.
pub fn with_operation<W: Writer, R>(
    writer: &mut W,
    nodes: &[Node],
    id: Id,
    names: &Names,
    write: impl FnOnce(&mut W, &Operation) -> R,
) -> R {
    let Node { op, scalar, .. } = nodes[id];
    let mut operands = [const { Name::new() }; 3];
    let mut of = scalar;
    for (place, id) in op.operands().enumerate() {
        operands[place] = operand(writer, nodes, id, names);
        if place == 0 && !matches!(op, Op::Select(..)) {
            of = nodes[id].scalar;
        }
    }
    write(writer, &Operation { op, scalar, of, operands: operands.each_ref() })
}
