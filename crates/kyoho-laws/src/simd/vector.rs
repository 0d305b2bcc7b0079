//! The common part of the vectors of all instruction sets, given the names of the intrinsics.

/// Defines a vector: its operators, and those functions of [`crate::lanes::Lanes`] that are
/// one intrinsic each; `rest` has the others.
macro_rules! vector {
    (
        $(#[$documentation:meta])*
        $name:ident($raw:ty): $count:literal lanes of $element:ty, mask $mask:ty, index $index:ty, in blocks $in_blocks:literal;
        $add:ident, $sub:ident, $mul:ident, $mul_add:ident, $neg_mul_add:ident, $splat:ident, $load:ident, $store:ident;
        $($rest:tt)*
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Copy)]
        pub struct $name($raw);

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: see `Lanes`.
                unsafe { $name($add(self.0, other.0)) }
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: see `Lanes`.
                unsafe { $name($sub(self.0, other.0)) }
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: see `Lanes`.
                unsafe { $name($mul(self.0, other.0)) }
            }
        }

        impl Lanes for $name {
            type Element = $element;
            type Mask = $mask;
            type Index = $index;
            const COUNT: usize = $count;
            const IN_BLOCKS: bool = $in_blocks;
            const UNROLLS: bool = true;

            #[inline(always)]
            fn splat(value: $element) -> Self {
                // SAFETY: see `Lanes`.
                unsafe { $name($splat(value)) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $name($load(from)) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the caller's promise.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: see `Lanes`.
                unsafe { $name($mul_add(self.0, factor.0, term.0)) }
            }
            #[inline(always)]
            fn neg_mul_add(self, factor: Self, term: Self) -> Self {
                // SAFETY: see `Lanes`.
                unsafe { $name($neg_mul_add(self.0, factor.0, term.0)) }
            }
            $($rest)*
        }
    };
}
pub(super) use vector;
