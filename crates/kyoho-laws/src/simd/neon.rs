//! Vectors of NEON, which every CPU of aarch64 has: four lanes of 32 bits, two of 64. The compiler
//! makes single numbers of the arrays of `portable.rs`. Roots are those of the CPU, exact to the
//! last bit; an estimate with steps of Newton may be faster. Emulators tested this, and for want of
//! such a CPU nobody measured it.

use std::arch::aarch64::*;
use std::ops::{Add, Mul, Sub};

use crate::lanes::{Lanes, Wide};

use super::vector::vector;

macro_rules! multiply_adds {
    ($raw:ty, $mul_add:ident: $add_product:ident, $neg_mul_add:ident: $sub_product:ident) => {
        #[inline(always)]
        unsafe fn $mul_add(a: $raw, b: $raw, term: $raw) -> $raw {
            // SAFETY: every CPU of this target has it.
            unsafe { $add_product(term, a, b) }
        }
        #[inline(always)]
        unsafe fn $neg_mul_add(a: $raw, b: $raw, term: $raw) -> $raw {
            // SAFETY: every CPU of this target has it.
            unsafe { $sub_product(term, a, b) }
        }
    };
}

multiply_adds!(float32x4_t, mul_add_32: vfmaq_f32, neg_mul_add_32: vfmsq_f32);
multiply_adds!(float64x2_t, mul_add_64: vfmaq_f64, neg_mul_add_64: vfmsq_f64);

vector! {
    /// Four lanes of 32 bits.
    F32(float32x4_t): 4 lanes of f32, mask uint32x4_t, index int32x4_t, in blocks false;
    vaddq_f32, vsubq_f32, vmulq_f32, mul_add_32, neg_mul_add_32, vdupq_n_f32, vld1q_f32, vst1q_f32;

    #[inline(always)]
    unsafe fn load_columns(rows: *const *const f32) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (vld1q_f32(*rows), vld1q_f32(*rows.add(1)));
            let (c, d) = (vld1q_f32(*rows.add(2)), vld1q_f32(*rows.add(3)));
            let (ab_even, cd_even) = (vtrn1q_f32(a, b), vtrn1q_f32(c, d));
            let (ab_odd, cd_odd) = (vtrn2q_f32(a, b), vtrn2q_f32(c, d));
            [
                F32(vcombine_f32(vget_low_f32(ab_even), vget_low_f32(cd_even))),
                F32(vcombine_f32(vget_low_f32(ab_odd), vget_low_f32(cd_odd))),
                F32(vcombine_f32(vget_high_f32(ab_even), vget_high_f32(cd_even))),
                F32(vcombine_f32(vget_high_f32(ab_odd), vget_high_f32(cd_odd))),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            let (low, high) = (vcvt_f64_f32(vget_low_f32(self.0)), vcvt_high_f64_f32(self.0));
            vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), low));
            vst1q_f64(sums.add(2), vaddq_f64(vld1q_f64(sums.add(2)), high));
        }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(vdivq_f32(vdupq_n_f32(1.0), vsqrtq_f32(self.0))) }
    }
    #[inline(always)]
    fn positive(self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vcgeq_f32(self.0, vdupq_n_f32(f32::MIN_POSITIVE)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vcltq_f32(self.0, other.0) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.less(other), self, other)
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vandq_u32(a, b) }
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        let bits: [u32; 4] = [1, 2, 4, 8];
        // SAFETY: see `Lanes`; there are as many bits as lanes.
        unsafe { vaddvq_u32(vandq_u32(mask, vld1q_u32(bits.as_ptr()))) }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(vbslq_f32(mask, yes.0, no.0)) }
    }
    #[inline(always)]
    fn keep(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(self.0), mask))) }
    }
    #[inline(always)]
    fn index_splat(index: i32) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { vdupq_n_s32(index) }
    }
    #[inline(always)]
    unsafe fn index_load(from: *const i32) -> Self::Index {
        // SAFETY: the caller's promise.
        unsafe { vld1q_s32(from) }
    }
    #[inline(always)]
    unsafe fn index_store(index: Self::Index, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_s32(to, index) }
    }
    #[inline(always)]
    fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { vbslq_s32(mask, yes, no) }
    }
    #[inline(always)]
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vmvnq_u32(vceqq_s32(a, b)) }
    }
}

vector! {
    /// Two lanes of 64 bits; an index is as wide as a number, so that masks fit.
    F64(float64x2_t): 2 lanes of f64, mask uint64x2_t, index int64x2_t, in blocks false;
    vaddq_f64, vsubq_f64, vmulq_f64, mul_add_64, neg_mul_add_64, vdupq_n_f64, vld1q_f64, vst1q_f64;

    #[inline(always)]
    unsafe fn load_columns(rows: *const *const f64) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (*rows, *rows.add(1));
            let (a_low, a_high) = (vld1q_f64(a), vld1q_f64(a.add(2)));
            let (b_low, b_high) = (vld1q_f64(b), vld1q_f64(b.add(2)));
            [
                F64(vzip1q_f64(a_low, b_low)),
                F64(vzip2q_f64(a_low, b_low)),
                F64(vzip1q_f64(a_high, b_high)),
                F64(vzip2q_f64(a_high, b_high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), self.0)) }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(vdivq_f64(vdupq_n_f64(1.0), vsqrtq_f64(self.0))) }
    }
    #[inline(always)]
    fn positive(self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vcgeq_f64(self.0, vdupq_n_f64(f64::MIN_POSITIVE)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vcltq_f64(self.0, other.0) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.less(other), self, other)
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { vandq_u64(a, b) }
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        // SAFETY: see `Lanes`.
        unsafe { (vgetq_lane_u64::<0>(mask) & 1 | vgetq_lane_u64::<1>(mask) & 2) as u32 }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(vbslq_f64(mask, yes.0, no.0)) }
    }
    #[inline(always)]
    fn keep(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(self.0), mask))) }
    }
    #[inline(always)]
    fn index_splat(index: i32) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { vdupq_n_s64(i64::from(index)) }
    }
    #[inline(always)]
    unsafe fn index_load(from: *const i32) -> Self::Index {
        // SAFETY: the caller's promise.
        unsafe { vmovl_s32(vld1_s32(from)) }
    }
    #[inline(always)]
    unsafe fn index_store(index: Self::Index, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { vst1_s32(to, vmovn_s64(index)) }
    }
    #[inline(always)]
    fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { vbslq_s64(mask, yes, no) }
    }
    #[inline(always)]
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { veorq_u64(vceqq_s64(a, b), vdupq_n_u64(u64::MAX)) }
    }
}

impl Wide for F64 {
    #[inline(always)]
    unsafe fn store_32(self, to: *mut f32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let nearest = vcvt_f32_f64(self.0);
            vst1_f32(to, nearest);
            F64(vsubq_f64(self.0, vcvt_f64_f32(nearest)))
        }
    }
}
