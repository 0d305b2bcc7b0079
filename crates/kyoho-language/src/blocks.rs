//! Blocks of numbers: a list of operations, each of which is done for all sources of a chunk before
//! the next one begins. The compiler makes vectors of the loops, for each instruction set.
//!
//! The order of addition and each operation are the same on every instruction set, so that results
//! are too.

use std::marker::PhantomData;

use crate::list::{Comparison, Function, Two};
use crate::number::Number;
use crate::real::{Convert, Real};
use crate::types::Scalar;
use kyoho_core::{Error, Result, join_in_pairs, memory};
use kyoho_laws::double_double::{Double, DoubleDouble, DoubleSingle, Limb};

#[cfg(target_arch = "x86_64")]
use super::machine_code::MachineCode;
use kyoho_core::Level;

/// The number of sources of a block.
pub const LANES: usize = kyoho_core::CHUNK;
/// The number of sums of a block that are made side by side.
pub(super) const SUMS: usize = 32;
/// The number of them that a loop makes at once.
const SIDE: usize = 16;

/// A number as memory holds it, whatever its type.
pub type Bits = [u64; 2];

/// The place of a column in a block's memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column(pub usize);

/// An operand of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A number for each source.
    Lanes(Column),
    /// One number for all sources: its place in the row of the sink.
    Uniform(usize),
}

/// An operation on blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// Writes one number to every lane.
    Broadcast(Scalar),
    /// The nearest number of another type.
    Convert(Scalar, Scalar),
    /// A function of one number.
    One(Function, Scalar),
    /// A function of two numbers.
    Two(Two, Scalar),
    /// A function of a number of two limbs and one of one limb.
    Limb(Two, Scalar),
    /// A multiply-add, with the product or the term negated.
    MulAdd(Scalar, [bool; 2]),
    /// A comparison.
    Compare(Comparison, Scalar),
    /// Both conditions.
    And,
    /// One of two conditions.
    Or,
    /// Not the condition.
    Not,
    /// One of two numbers, as a condition says.
    Select(Scalar),
    /// An element of a table.
    Element(Scalar, usize),
}

/// A step of a program. Operands that the action does not have repeat the first one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The operation.
    pub action: Action,
    /// The column that is written, which is none of the operands.
    pub to: Column,
    /// The operands.
    pub operands: [Operand; 3],
}

/// How the terms of a block are joined.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Joining {
    /// The sum of the terms, or of their products with the second column.
    Sum {
        /// A second factor.
        second: Option<Column>,
        /// Whether the sum is negated.
        negative: bool,
    },
    /// The least or the greatest term.
    Extreme {
        /// Whether it is the greatest.
        greatest: bool,
    },
    /// The number of sources for which the condition holds.
    Count,
}

/// What is made of a column of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join {
    /// The way.
    pub joining: Joining,
    /// The type of the terms; of counts, that of conditions.
    pub scalar: Scalar,
    /// The column.
    pub term: Column,
    /// The condition under which a source counts.
    pub condition: Option<Column>,
}

/// The bytes of a column.
pub fn column_bytes(scalar: Scalar) -> usize {
    LANES * scalar.size()
}

/// Returns the bits of a number.
pub fn bits(number: Number) -> Bits {
    match number {
        // A condition is a word of ones.
        Number::Bool(value) => [u64::from(mask(value)), 0],
        other => {
            let (_, high, low) = other.bits();
            [high, low]
        }
    }
}

/// Returns the number of a type with these bits.
pub fn number(scalar: Scalar, bits: Bits) -> Number {
    match scalar {
        Scalar::Bool => Number::Bool(bits[0] != 0),
        Scalar::I32 => Number::I32(i32::of(bits)),
        Scalar::U32 => Number::U32(u32::of(bits)),
        Scalar::F32 => Number::F32(f32::of(bits)),
        Scalar::Ff => Number::Ff(DoubleSingle::of(bits)),
        Scalar::F64 => Number::F64(f64::of(bits)),
        Scalar::Dd => Number::Dd(DoubleDouble::of(bits)),
    }
}

#[inline(always)]
fn mask(value: bool) -> u32 {
    0u32.wrapping_sub(u32::from(value))
}

/// A number that columns have.
trait Cell: Copy {
    /// The numbers of a block.
    type Lanes;
    fn get(lanes: &Self::Lanes, lane: usize) -> Self;
    fn set(lanes: &mut Self::Lanes, lane: usize, value: Self);
    fn of(bits: Bits) -> Self;
}

macro_rules! cell {
    ($type:ty, $of:expr) => {
        impl Cell for $type {
            type Lanes = [$type; LANES];
            #[inline(always)]
            fn get(lanes: &[$type; LANES], lane: usize) -> $type {
                lanes[lane]
            }
            #[inline(always)]
            fn set(lanes: &mut [$type; LANES], lane: usize, value: $type) {
                lanes[lane] = value;
            }
            #[inline(always)]
            fn of(bits: Bits) -> $type {
                $of(bits)
            }
        }
    };
    ($type:ty, two $limb:ty, $of:expr) => {
        impl Cell for $type {
            type Lanes = [[$limb; LANES]; 2];
            #[inline(always)]
            fn get([high, low]: &Self::Lanes, lane: usize) -> $type {
                Double { high: high[lane], low: low[lane] }
            }
            #[inline(always)]
            fn set([high, low]: &mut Self::Lanes, lane: usize, value: $type) {
                high[lane] = value.high;
                low[lane] = value.low;
            }
            #[inline(always)]
            fn of(bits: Bits) -> $type {
                $of(bits)
            }
        }
    };
}

cell!(u32, |bits: Bits| bits[0] as u32);
cell!(i32, |bits: Bits| bits[0] as u32 as i32);
cell!(f32, |bits: Bits| f32::from_bits(bits[0] as u32));
cell!(f64, |bits: Bits| f64::from_bits(bits[0]));
cell!(DoubleSingle, two f32, |bits: Bits| {
    let [high, low] = bits.map(|bits| f32::from_bits(bits as u32));
    Double { high, low }
});
cell!(DoubleDouble, two f64, |bits: Bits| {
    let [high, low] = bits.map(f64::from_bits);
    Double { high, low }
});

/// Memory of a block, a line of a cache at a time.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The columns of a block.
pub struct Block {
    lines: Vec<Line>,
}

impl Block {
    /// Makes a block with this many bytes.
    pub fn new(bytes: usize) -> Result<Block> {
        Ok(Block { lines: memory::filled(bytes.div_ceil(64), Line([0; 64]), "the columns of a block")? })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: lines are bytes without gaps.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 64) }
    }

    /// The bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 64) }
    }

    /// Writes a number to a lane of a column.
    pub fn set(&mut self, scalar: Scalar, column: Column, lane: usize, value: Bits) {
        let mut put = |place: usize, size: usize, bits: u64| {
            let from = column.0 + place;
            self.bytes_mut()[from..from + size].copy_from_slice(&bits.to_ne_bytes()[..size]);
        };
        match scalar {
            Scalar::Ff => (0..2).for_each(|limb| put((limb * LANES + lane) * 4, 4, value[limb])),
            Scalar::Dd => (0..2).for_each(|limb| put((limb * LANES + lane) * 8, 8, value[limb])),
            Scalar::F64 => put(lane * 8, 8, value[0]),
            _ => put(lane * 4, 4, value[0]),
        }
    }

    /// Reads a number from a lane of a column.
    pub fn get(&self, scalar: Scalar, column: Column, lane: usize) -> Bits {
        let take = |place: usize, size: usize| {
            let from = column.0 + place;
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(&self.bytes()[from..from + size]);
            u64::from_ne_bytes(bytes)
        };
        match scalar {
            Scalar::Ff => [0, 1].map(|limb| take((limb * LANES + lane) * 4, 4)),
            Scalar::Dd => [0, 1].map(|limb| take((limb * LANES + lane) * 8, 8)),
            Scalar::F64 => [take(lane * 8, 8), 0],
            _ => [take(lane * 4, 4), 0],
        }
    }
}

/// A list of steps that stay within a block, for one instruction set.
#[derive(Debug, Clone)]
pub struct Steps {
    steps: Vec<Step>,
    joins: Vec<Join>,
    level: Level,
    /// The steps as machine code, where they could be translated.
    #[cfg(target_arch = "x86_64")]
    machine_code: Option<MachineCode>,
    /// The bytes of the block, and the numbers of the row, that it needs.
    bytes: usize,
    row: usize,
}

impl Steps {
    /// Takes steps and what is made of their columns, once it is known that they are sound. Only the
    /// columns `kept` are read after the joins.
    pub fn new(steps: Vec<Step>, joins: Vec<Join>, kept: &[(Scalar, Column)], level: Level) -> Result<Steps> {
        let defect = || Error::Internal { what: "a step of a pair program is not sound".into() };
        if !level.is_available() {
            return Err(Error::Internal { what: format!("this CPU has no {}", level.name()) });
        }
        let (mut bytes, mut row) = (0, 0);
        for step in &steps {
            let (to, operands) = types(step.action);
            if !step.to.0.is_multiple_of(64) {
                return Err(defect());
            }
            let end = step.to.0 + column_bytes(to);
            bytes = bytes.max(end);
            for (operand, scalar) in step.operands.iter().zip(operands) {
                match (operand, scalar) {
                    (_, None) => (),
                    (Operand::Uniform(place), _) => row = row.max(place + 1),
                    (Operand::Lanes(from), Some(scalar)) => {
                        let last = from.0 + column_bytes(scalar);
                        if !from.0.is_multiple_of(64) || (from.0 < end && step.to.0 < last) {
                            return Err(defect());
                        }
                        bytes = bytes.max(last);
                    }
                }
            }
        }
        for join in &joins {
            let second = match join.joining {
                Joining::Sum { second, .. } => second,
                _ => None,
            };
            let columns = [(Some(join.term), join.scalar), (second, join.scalar), (join.condition, Scalar::Bool)];
            for (column, scalar) in columns.into_iter().filter_map(|(column, scalar)| Some((column?, scalar))) {
                if !column.0.is_multiple_of(64) {
                    return Err(defect());
                }
                bytes = bytes.max(column.0 + column_bytes(scalar));
            }
        }
        for (scalar, column) in kept {
            bytes = bytes.max(column.0 + column_bytes(*scalar));
        }
        let mut all = Steps {
            steps,
            joins,
            level,
            #[cfg(target_arch = "x86_64")]
            machine_code: None,
            bytes,
            row,
        };
        #[cfg(target_arch = "x86_64")]
        if level >= Level::Avx2 && !all.joins.is_empty() {
            all.machine_code = MachineCode::new(&all.steps, &all.joins, kept, bytes);
            all.bytes = all.machine_code.as_ref().map_or(bytes, MachineCode::bytes);
        }
        Ok(all)
    }

    /// The bytes of a block that they need.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the steps for a block with a row of uniform numbers, and joins the first `count` terms.
    /// `joined` gets a number for each join.
    pub fn run(&self, block: &mut Block, row: &[Bits], tables: &[Vec<Bits>], count: usize, joined: &mut [Bits]) {
        assert!(block.lines.len() * 64 >= self.bytes && row.len() >= self.row && joined.len() >= self.joins.len());
        let memory = Memory { base: block.lines.as_mut_ptr().cast(), _block: PhantomData };
        let count = count.min(LANES);
        #[cfg(target_arch = "x86_64")]
        if let Some(code) = &self.machine_code {
            // SAFETY: `new` has seen that the CPU has the instructions, and the block and the row are
            // large enough.
            unsafe { code.run(memory.base, row, tables, count) };
            for (number, (join, joined)) in self.joins.iter().zip(joined).enumerate() {
                *joined = joined_number(block, join, code.joined(number));
            }
            return;
        }
        match self.level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has seen that the CPU has the instructions.
            Level::Avx512 => unsafe { avx512::run(self, memory, row, tables, count, joined) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `new` has seen that the CPU has the instructions.
            Level::Avx2 => unsafe { avx2::run(self, memory, row, tables, count, joined) },
            _ => portable::run(self, memory, row, tables, count, joined),
        }
    }
}

/// Returns the number of a join that machine code left at a place.
#[cfg(target_arch = "x86_64")]
fn joined_number(block: &Block, join: &Join, place: usize) -> Bits {
    let word = u64::from_le_bytes(std::array::from_fn(|byte| block.bytes()[place + byte]));
    let is_negative = matches!(join.joining, Joining::Sum { negative: true, .. });
    match join.scalar {
        Scalar::F64 if is_negative => [word ^ 1 << 63, 0],
        Scalar::F64 => [word, 0],
        Scalar::F32 if is_negative => [u64::from(word as u32 ^ 1 << 31), 0],
        _ if is_negative => [u64::from((word as u32).wrapping_neg()), 0],
        _ => [u64::from(word as u32), 0],
    }
}

/// The types of the result and of the operands of an action.
pub(super) fn types(action: Action) -> (Scalar, [Option<Scalar>; 3]) {
    use Scalar::{Bool, U32};
    match action {
        Action::Broadcast(scalar) => (scalar, [Some(scalar), None, None]),
        Action::Convert(from, to) => (to, [Some(from), None, None]),
        Action::One(_, scalar) => (scalar, [Some(scalar), None, None]),
        Action::Two(_, scalar) => (scalar, [Some(scalar), Some(scalar), None]),
        Action::Limb(_, scalar) => (scalar, [Some(scalar), scalar.limb(), None]),
        Action::MulAdd(scalar, _) => (scalar, [Some(scalar); 3]),
        Action::Compare(_, scalar) => (Bool, [Some(scalar), Some(scalar), None]),
        Action::And | Action::Or => (Bool, [Some(Bool), Some(Bool), None]),
        Action::Not => (Bool, [Some(Bool), None, None]),
        Action::Select(scalar) => (scalar, [Some(Bool), Some(scalar), Some(scalar)]),
        Action::Element(scalar, _) => (scalar, [Some(U32), None, None]),
    }
}

/// The memory of a block, of which columns are borrowed.
#[derive(Clone, Copy)]
struct Memory<'a> {
    base: *mut u8,
    _block: PhantomData<&'a mut Block>,
}

impl<'a> Memory<'a> {
    /// # Safety
    /// The column lies in the block, and nobody writes it as long as it is borrowed.
    #[inline(always)]
    unsafe fn read<T: Cell>(self, column: Column) -> &'a T::Lanes {
        // SAFETY: the caller's promise; columns begin at lines.
        unsafe { &*self.base.add(column.0).cast() }
    }

    /// # Safety
    /// The column lies in the block, and nobody else borrows it.
    #[inline(always)]
    unsafe fn write<T: Cell>(self, column: Column) -> &'a mut T::Lanes {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.base.add(column.0).cast() }
    }
}

/// An operand as a loop reads it.
enum Read<'a, T: Cell> {
    Lanes(&'a T::Lanes),
    One(T),
}

/// The machine at a step.
#[derive(Clone, Copy)]
struct At<'a> {
    memory: Memory<'a>,
    row: &'a [Bits],
    step: &'a Step,
}

impl<'a> At<'a> {
    #[inline(always)]
    fn operand<T: Cell>(self, number: usize) -> Read<'a, T> {
        match self.step.operands[number] {
            // SAFETY: `Steps::new` has checked the place, and that it is not written.
            Operand::Lanes(column) => Read::Lanes(unsafe { self.memory.read::<T>(column) }),
            Operand::Uniform(place) => Read::One(T::of(self.row[place])),
        }
    }

    #[inline(always)]
    fn to<T: Cell>(self) -> &'a mut T::Lanes {
        // SAFETY: `Steps::new` has checked the place, and that no operand lies there.
        unsafe { self.memory.write::<T>(self.step.to) }
    }

    #[inline(always)]
    fn one<A: Cell, R: Cell>(self, f: impl Fn(A) -> R) {
        let to = self.to::<R>();
        match self.operand::<A>(0) {
            Read::Lanes(a) => map1::<A, R>(to, a, f),
            Read::One(a) => fill::<R>(to, f(a)),
        }
    }

    #[inline(always)]
    fn two<A: Cell, B: Cell, R: Cell>(self, f: impl Fn(A, B) -> R) {
        let to = self.to::<R>();
        match (self.operand::<A>(0), self.operand::<B>(1)) {
            (Read::Lanes(a), Read::Lanes(b)) => map2::<A, B, R>(to, a, b, f),
            (Read::Lanes(a), Read::One(b)) => map1::<A, R>(to, a, |a| f(a, b)),
            (Read::One(a), Read::Lanes(b)) => map1::<B, R>(to, b, |b| f(a, b)),
            (Read::One(a), Read::One(b)) => fill::<R>(to, f(a, b)),
        }
    }

    #[inline(always)]
    fn three<A: Cell, B: Cell, C: Cell, R: Cell>(self, f: impl Fn(A, B, C) -> R) {
        let to = self.to::<R>();
        match (self.operand::<A>(0), self.operand::<B>(1), self.operand::<C>(2)) {
            (Read::Lanes(a), Read::Lanes(b), Read::Lanes(c)) => map3::<A, B, C, R>(to, a, b, c, f),
            (Read::Lanes(a), Read::Lanes(b), Read::One(c)) => map2::<A, B, R>(to, a, b, |a, b| f(a, b, c)),
            (Read::Lanes(a), Read::One(b), Read::Lanes(c)) => map2::<A, C, R>(to, a, c, |a, c| f(a, b, c)),
            (Read::One(a), Read::Lanes(b), Read::Lanes(c)) => map2::<B, C, R>(to, b, c, |b, c| f(a, b, c)),
            (Read::Lanes(a), Read::One(b), Read::One(c)) => map1::<A, R>(to, a, |a| f(a, b, c)),
            (Read::One(a), Read::Lanes(b), Read::One(c)) => map1::<B, R>(to, b, |b| f(a, b, c)),
            (Read::One(a), Read::One(b), Read::Lanes(c)) => map1::<C, R>(to, c, |c| f(a, b, c)),
            (Read::One(a), Read::One(b), Read::One(c)) => fill::<R>(to, f(a, b, c)),
        }
    }
}

// Columns are arguments of functions, so that the compiler knows that they do not overlap.

#[inline(always)]
fn fill<R: Cell>(to: &mut R::Lanes, value: R) {
    for lane in 0..LANES {
        R::set(to, lane, value);
    }
}

#[inline(always)]
fn map1<A: Cell, R: Cell>(to: &mut R::Lanes, a: &A::Lanes, f: impl Fn(A) -> R) {
    for lane in 0..LANES {
        R::set(to, lane, f(A::get(a, lane)));
    }
}

#[inline(always)]
fn map2<A: Cell, B: Cell, R: Cell>(to: &mut R::Lanes, a: &A::Lanes, b: &B::Lanes, f: impl Fn(A, B) -> R) {
    for lane in 0..LANES {
        R::set(to, lane, f(A::get(a, lane), B::get(b, lane)));
    }
}

#[inline(always)]
fn map3<A: Cell, B: Cell, C: Cell, R: Cell>(
    to: &mut R::Lanes,
    a: &A::Lanes,
    b: &B::Lanes,
    c: &C::Lanes,
    f: impl Fn(A, B, C) -> R,
) {
    for lane in 0..LANES {
        R::set(to, lane, f(A::get(a, lane), B::get(b, lane), C::get(c, lane)));
    }
}

/// Calls one function with the type of Rust of a type of integers, or another one with that of a
/// type of real numbers.
macro_rules! for_kind {
    ($scalar:expr, ($whole:ident $(, $of_whole:expr)*), ($real:ident $(, $of_real:expr)*)) => {
        match $scalar {
            Scalar::I32 => $whole::<i32>($($of_whole),*),
            Scalar::U32 | Scalar::Bool => $whole::<u32>($($of_whole),*),
            Scalar::F32 => $real::<f32>($($of_real),*),
            Scalar::Ff => $real::<DoubleSingle>($($of_real),*),
            Scalar::F64 => $real::<f64>($($of_real),*),
            Scalar::Dd => $real::<DoubleDouble>($($of_real),*),
        }
    };
}

/// Calls a function with the type of Rust of any type of numbers.
macro_rules! for_any {
    ($scalar:expr, $work:ident $(, $more:expr)*) => {
        for_kind!($scalar, ($work $(, $more)*), ($work $(, $more)*))
    };
}

/// Defines the interpreter of an instruction set. Each kind of action has a function of its own, for
/// each type: for one function that has all of them, compilers take minutes.
macro_rules! interpreter {
    ($level:ident $attributes:tt) => {
        mod $level {
            use super::*;

            interpreter! { $attributes
                fn broadcast<T: [Cell]>(at: At);
                fn convert_from<A: [Cell + Convert]>(at: At, to: Scalar);
                fn one_whole<T: [Cell + Whole]>(at: At, function: Function);
                fn one_real<T: [Cell + Real]>(at: At, function: Function);
                fn two_whole<T: [Cell + Whole]>(at: At, two: Two);
                fn two_real<T: [Cell + Real]>(at: At, two: Two);
                fn limb<T: [Cell + Limbs]>(at: At, two: Two);
                fn mul_add<T: [Cell + Real]>(at: At, negated: [bool; 2]);
                fn compare<T: [Cell + PartialOrd]>(at: At, comparison: Comparison);
                fn logic(at: At, action: Action);
                fn select<T: [Cell]>(at: At);
                fn element<T: [Cell]>(at: At, table: Option<&Vec<Bits>>);
                fn counted(memory: Memory, join: &Join, count: usize) -> Bits;
                fn whole_sum<T: [Cell + Whole + ToBits]>(memory: Memory, join: &Join, count: usize) -> Bits;
                fn real_sum<T: [Cell + Real + ToBits]>(memory: Memory, join: &Join, count: usize) -> Bits;
                fn extreme<T: [Cell + PartialOrd + ToBits]>(memory: Memory, join: &Join, count: usize) -> Bits;
            }
            interpreter! { @run $attributes }
        }
    };
    (
        $attributes:tt
        $(fn $name:ident $(<$type:ident: [$($bounds:tt)*]>)? ($($argument:ident: $of:ty),*) $(-> $result:ty)?;)*
    ) => {$(
        interpreter! { @one $attributes
            fn $name $(<$type: $($bounds)*>)? ($($argument: $of),*) $(-> $result)? {
                super::$name $(::<$type>)? ($($argument),*)
            }
        }
    )*};
    (@one { $($attribute:tt)* } $($function:tt)*) => {
        #[inline(never)]
        $($attribute)*
        $($function)*
    };
    (@run { $($attribute:tt)* }) => {
        $($attribute)*
        pub fn run(
            steps: &Steps, memory: Memory, row: &[Bits], tables: &[Vec<Bits>], count: usize, joined: &mut [Bits],
        ) {
            for step in &steps.steps {
                let at = At { memory, row, step };
                match step.action {
                    Action::Broadcast(scalar) => for_any!(scalar, broadcast, at),
                    Action::Convert(from, to) => for_any!(from, convert_from, at, to),
                    Action::One(function, scalar) => {
                        for_kind!(scalar, (one_whole, at, function), (one_real, at, function))
                    }
                    Action::Two(two, scalar) => for_kind!(scalar, (two_whole, at, two), (two_real, at, two)),
                    Action::Limb(two, Scalar::Ff) => limb::<DoubleSingle>(at, two),
                    Action::Limb(two, _) => limb::<DoubleDouble>(at, two),
                    Action::MulAdd(Scalar::F32, negated) => mul_add::<f32>(at, negated),
                    Action::MulAdd(_, negated) => mul_add::<f64>(at, negated),
                    Action::Compare(comparison, scalar) => for_any!(scalar, compare, at, comparison),
                    Action::And | Action::Or | Action::Not => logic(at, step.action),
                    Action::Select(scalar) => for_any!(scalar, select, at),
                    Action::Element(scalar, table) => for_any!(scalar, element, at, tables.get(table)),
                }
            }
            for (join, joined) in steps.joins.iter().zip(joined) {
                *joined = match join.joining {
                    Joining::Count => counted(memory, join, count),
                    Joining::Sum { .. } => {
                        for_kind!(join.scalar, (whole_sum, memory, join, count), (real_sum, memory, join, count))
                    }
                    Joining::Extreme { .. } => for_any!(join.scalar, extreme, memory, join, count),
                };
            }
        }
    };
}

interpreter!(portable {});
#[cfg(target_arch = "x86_64")]
interpreter!(avx2 { #[target_feature(enable = "avx2,fma")] });
#[cfg(target_arch = "x86_64")]
interpreter!(avx512 { #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")] });

#[inline(always)]
fn broadcast<T: Cell>(at: At) {
    at.one(|a: T| a);
}

#[inline(always)]
fn convert_from<A: Cell + Convert>(at: At, to: Scalar) {
    match to {
        Scalar::I32 => at.one(|a: A| i32::nearest(a.widened())),
        Scalar::U32 | Scalar::Bool => at.one(|a: A| u32::nearest(a.widened())),
        Scalar::F32 => at.one(|a: A| f32::nearest(a.widened())),
        Scalar::Ff => at.one(|a: A| DoubleSingle::nearest(a.widened())),
        Scalar::F64 => at.one(|a: A| f64::nearest(a.widened())),
        Scalar::Dd => at.one(|a: A| a.widened()),
    }
}

/// Integers, which begin again behind their ends.
trait Whole: Ord + Default {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
}

macro_rules! whole {
    ($type:ty, $abs:expr) => {
        impl Whole for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $abs(self)
            }
        }
    };
}

whole!(i32, i32::wrapping_abs);
whole!(u32, |number| number);

/// Integers have no other functions than these.
#[inline(always)]
fn one_whole<T: Cell + Whole>(at: At, function: Function) {
    match function {
        Function::Negative => at.one(T::neg),
        _ => at.one(T::abs),
    }
}

#[inline(always)]
fn two_whole<T: Cell + Whole>(at: At, two: Two) {
    match two {
        Two::Add => at.two(T::add),
        Two::Sub => at.two(T::sub),
        Two::Mul => at.two(T::mul),
        Two::Min => at.two(T::min),
        _ => at.two(T::max),
    }
}

/// Numbers of two limbs.
trait Limbs {
    type Limb: Cell + std::ops::Neg<Output = Self::Limb>;
    fn add_limb(self, other: Self::Limb) -> Self;
    fn mul_limb(self, other: Self::Limb) -> Self;
}

impl<T: Limb + Cell> Limbs for Double<T> {
    type Limb = T;
    #[inline(always)]
    fn add_limb(self, other: T) -> Self {
        Double::add_limb(self, other)
    }
    #[inline(always)]
    fn mul_limb(self, other: T) -> Self {
        Double::mul_limb(self, other)
    }
}

#[inline(always)]
fn limb<T: Cell + Limbs>(at: At, two: Two) {
    match two {
        Two::Add => at.two(|a: T, b: T::Limb| a.add_limb(b)),
        Two::Sub => at.two(|a: T, b: T::Limb| a.add_limb(-b)),
        _ => at.two(|a: T, b: T::Limb| a.mul_limb(b)),
    }
}

#[inline(always)]
fn logic(at: At, action: Action) {
    match action {
        Action::And => at.two(|a: u32, b: u32| a & b),
        Action::Or => at.two(|a: u32, b: u32| a | b),
        _ => at.one(|a: u32| !a),
    }
}

#[inline(always)]
fn one_real<T: Cell + Real>(at: At, function: Function) {
    match function {
        Function::Negative => at.one(T::neg),
        Function::Abs => at.one(T::abs),
        Function::Floor => at.one(T::floor),
        Function::Sqrt => at.one(T::sqrt),
        Function::Rsqrt => at.one(T::rsqrt),
        Function::Exp => at.one(T::exp),
        Function::Log => at.one(T::log),
        Function::Sin => at.one(T::sin),
        Function::Cos => at.one(T::cos),
        Function::Erf => at.one(T::erf),
    }
}

#[inline(always)]
fn two_real<T: Cell + Real>(at: At, two: Two) {
    match two {
        Two::Add => at.two(T::add),
        Two::Sub => at.two(T::sub),
        Two::Mul => at.two(T::mul),
        Two::Div => at.two(T::div),
        Two::Min => at.two(T::min),
        Two::Max => at.two(T::max),
        Two::Pow => at.two(T::pow),
    }
}

#[inline(always)]
fn mul_add<T: Cell + Real>(at: At, negated: [bool; 2]) {
    match negated {
        [false, false] => at.three(|a: T, b: T, c: T| a.mul_add(b, c)),
        [true, false] => at.three(|a: T, b: T, c: T| a.neg().mul_add(b, c)),
        [false, true] => at.three(|a: T, b: T, c: T| a.mul_add(b, c.neg())),
        [true, true] => at.three(|a: T, b: T, c: T| a.neg().mul_add(b, c.neg())),
    }
}

#[inline(always)]
fn compare<T: Cell + PartialOrd>(at: At, comparison: Comparison) {
    match comparison {
        Comparison::Less => at.two(|a: T, b: T| mask(a < b)),
        Comparison::LessEqual => at.two(|a: T, b: T| mask(a <= b)),
        Comparison::Equal => at.two(|a: T, b: T| mask(a == b)),
        Comparison::NotEqual => at.two(|a: T, b: T| mask(a != b)),
    }
}

#[inline(always)]
fn select<T: Cell>(at: At) {
    at.three(|condition: u32, yes: T, no: T| if condition != 0 { yes } else { no });
}

#[inline(always)]
fn element<T: Cell>(at: At, table: Option<&Vec<Bits>>) {
    // Indices were checked before; there is nothing behind the end of a table.
    at.one(|index: u32| T::of(table.and_then(|table| table.get(index as usize)).copied().unwrap_or([0; 2])));
}

/// A condition of a join as its loop reads it.
#[inline(always)]
fn live<'a>(memory: Memory<'a>, join: &Join) -> Option<&'a [u32; LANES]> {
    // SAFETY: `Steps::new` has checked the place; nothing is written any more.
    join.condition.map(|column| unsafe { memory.read::<u32>(column) })
}

#[inline(always)]
fn counted(memory: Memory, join: &Join, count: usize) -> Bits {
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<u32>(join.term) };
    let number: u32 = match live(memory, join) {
        None => (0..count).map(|lane| term[lane] & 1).sum(),
        Some(live) => (0..count).map(|lane| term[lane] & live[lane] & 1).sum(),
    };
    [u64::from(number), 0]
}

/// Joins the lanes of a block: 32 rows of every 32nd lane, and then rows with those half of them
/// behind.
#[inline(always)]
fn folded<T: Cell>(
    live: Option<&[u32; LANES]>,
    count: usize,
    start: T,
    add: impl Fn(T, usize) -> T,
    join: impl Fn(T, T) -> T,
) -> T {
    let mut sums = [start; SUMS];
    if count == LANES {
        // Some sums at a time stay in registers.
        for side in (0..SUMS).step_by(SIDE) {
            let mut some = [start; SIDE];
            for first in (side..LANES).step_by(SUMS) {
                for k in 0..SIDE {
                    let next = add(some[k], first + k);
                    some[k] = if live.is_none_or(|live| live[first + k] != 0) { next } else { some[k] };
                }
            }
            sums[side..side + SIDE].copy_from_slice(&some);
        }
    } else {
        for lane in (0..count).filter(|lane| live.is_none_or(|live| live[*lane] != 0)) {
            sums[lane % SUMS] = add(sums[lane % SUMS], lane);
        }
    }
    join_in_pairs(&mut sums, |sum, term| *sum = join(*sum, *term));
    sums[0]
}

/// Numbers as memory holds them.
trait ToBits {
    fn to_number(self) -> Number;
}

macro_rules! to_bits {
    ($($type:ty, $case:ident;)*) => {$(
        impl ToBits for $type {
            #[inline(always)]
            fn to_number(self) -> Number {
                Number::$case(self)
            }
        }
    )*};
}

to_bits! {
    i32, I32;
    u32, U32;
    f32, F32;
    f64, F64;
    DoubleSingle, Ff;
    DoubleDouble, Dd;
}

#[inline(always)]
fn whole_sum<T: Cell + Whole + ToBits>(memory: Memory, join: &Join, count: usize) -> Bits {
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<T>(join.term) };
    let sum = folded(live(memory, join), count, T::default(), |sum, lane| sum.add(T::get(term, lane)), T::add);
    let negative = matches!(join.joining, Joining::Sum { negative: true, .. });
    bits(if negative { sum.neg() } else { sum }.to_number())
}

#[inline(always)]
fn real_sum<T: Cell + Real + ToBits>(memory: Memory, join: &Join, count: usize) -> Bits {
    let (second, negative) = match join.joining {
        Joining::Sum { second, negative } => (second, negative),
        _ => (None, false),
    };
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<T>(join.term) };
    let live = live(memory, join);
    let sum = match second {
        None => folded(live, count, T::ZERO, |sum, lane| sum.add(T::get(term, lane)), T::add),
        Some(second) => {
            // SAFETY: as in `live`.
            let second = unsafe { memory.read::<T>(second) };
            let add = |sum: T, lane| T::get(term, lane).mul_add(T::get(second, lane), sum);
            folded(live, count, T::ZERO, add, T::add)
        }
    };
    // Rounding is the same for both signs.
    bits(if negative { sum.neg() } else { sum }.to_number())
}

#[inline(always)]
fn extreme<T: Cell + PartialOrd + ToBits>(memory: Memory, join: &Join, count: usize) -> Bits {
    let greatest = matches!(join.joining, Joining::Extreme { greatest: true });
    // SAFETY: as in `live`.
    let term = unsafe { memory.read::<T>(join.term) };
    let start = T::of(bits(crate::extreme(join.scalar, !greatest)));
    let live = live(memory, join);
    let found = if greatest {
        let join = |a: T, b: T| if b > a { b } else { a };
        folded(live, count, start, |a, lane| join(a, T::get(term, lane)), join)
    } else {
        let join = |a: T, b: T| if b < a { b } else { a };
        folded(live, count, start, |a, lane| join(a, T::get(term, lane)), join)
    };
    bits(found.to_number())
}
