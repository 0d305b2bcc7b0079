//! The interpreter: an operation at a time, for all sources of a block, compiled for each
//! instruction set.

use std::marker::PhantomData;

use kyoho_laws::double_double::{DoubleDouble, DoubleSingle};

use super::joins::{counted, extreme, real_sum, whole_sum};
use super::numbers::{Cell, Limbs, ToBits, Whole, mask};
use super::{Action, Bits, Block, Column, Join, Joining, LANES, Operand, Step, Steps};
use crate::list::{Comparison, Function, Two};
use crate::real::{Convert, Real};
use crate::types::Scalar;

/// The memory of a block, of which columns are borrowed.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a> {
    base: *mut u8,
    _block: PhantomData<&'a mut Block>,
}

impl<'a> Memory<'a> {
    /// Borrows the columns of a block.
    pub fn of(block: &'a mut Block) -> Memory<'a> {
        Memory { base: block.lines.as_mut_ptr().cast(), _block: PhantomData }
    }

    /// Its first byte.
    pub fn base(self) -> *mut u8 {
        self.base
    }

    /// # Safety
    /// The column lies in the block, and nobody writes it as long as it is borrowed.
    #[inline(always)]
    pub unsafe fn read<T: Cell>(self, column: Column) -> &'a T::Lanes {
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
        pub mod $level {
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
