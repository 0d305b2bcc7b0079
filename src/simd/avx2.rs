//! Vectors of AVX2 with FMA: eight lanes of 32 bits, four of 64.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use crate::law::lanes::{Lanes, Wide};

use super::vector::vector;

vector! {
    /// Eight lanes of 32 bits.
    F32(__m256): 8 lanes of f32, mask __m256, index __m256i;
    _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps,
    _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps;

    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm256_cvtps_pd(_mm256_castps256_ps128(self.0));
            let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0));
            _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
            _mm256_storeu_pd(sums.add(4), _mm256_add_pd(_mm256_loadu_pd(sums.add(4)), high));
        }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // The estimate y is good to 1.5 * 2^-12; with e = 1 - s y^2, y (1 + e/2 + 3/8 e^2) is off
        // by 5/16 e^3 < 2e-10.
        // SAFETY: see `Lanes`.
        unsafe {
            let y = F32(_mm256_rsqrt_ps(self.0));
            let e = (self * y).neg_mul_add(y, F32::splat(1.0));
            let series = F32::splat(0.375).mul_add(e, F32::splat(0.5));
            (y * e).mul_add(series, y)
        }
    }
    #[inline(always)]
    fn positive(self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_cmp_ps::<_CMP_GE_OQ>(self.0, _mm256_set1_ps(f32::MIN_POSITIVE)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_movemask_ps(mask) as u32 }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(_mm256_blendv_ps(no.0, yes.0, mask)) }
    }
    #[inline(always)]
    fn keep(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(_mm256_and_ps(self.0, mask)) }
    }
    #[inline(always)]
    fn index_splat(index: i32) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_set1_epi32(index) }
    }
    #[inline(always)]
    unsafe fn index_load(from: *const i32) -> Self::Index {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn index_store(index: Self::Index, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(to.cast(), index) }
    }
    #[inline(always)]
    fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_blendv_epi8(no, yes, _mm256_castps_si256(mask)) }
    }
    #[inline(always)]
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe {
            let equal = _mm256_cmpeq_epi32(a, b);
            _mm256_castsi256_ps(_mm256_xor_si256(equal, _mm256_set1_epi32(-1)))
        }
    }
}

vector! {
    /// Four lanes of 64 bits; an index is as wide as a number, so that masks fit.
    F64(__m256d): 4 lanes of f64, mask __m256d, index __m256i;
    _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd,
    _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd;

    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), self.0)) }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // AVX2 has an estimate in single precision alone, with its range; the divider works beside
        // the multipliers.
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm256_div_pd(_mm256_set1_pd(1.0), _mm256_sqrt_pd(self.0))) }
    }
    #[inline(always)]
    fn positive(self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_cmp_pd::<_CMP_GE_OQ>(self.0, _mm256_set1_pd(f64::MIN_POSITIVE)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_and_pd(a, b) }
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_movemask_pd(mask) as u32 }
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm256_blendv_pd(no.0, yes.0, mask)) }
    }
    #[inline(always)]
    fn keep(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm256_and_pd(self.0, mask)) }
    }
    #[inline(always)]
    fn index_splat(index: i32) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_set1_epi64x(i64::from(index)) }
    }
    #[inline(always)]
    unsafe fn index_load(from: *const i32) -> Self::Index {
        // SAFETY: the caller's promise.
        unsafe { _mm256_cvtepi32_epi64(_mm_loadu_si128(from.cast())) }
    }
    #[inline(always)]
    unsafe fn index_store(index: Self::Index, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe {
            let lower_halves = _mm256_permutevar8x32_epi32(index, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
            _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(lower_halves));
        }
    }
    #[inline(always)]
    fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_blendv_epi8(no, yes, _mm256_castpd_si256(mask)) }
    }
    #[inline(always)]
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe {
            let equal = _mm256_cmpeq_epi64(a, b);
            _mm256_castsi256_pd(_mm256_xor_si256(equal, _mm256_set1_epi32(-1)))
        }
    }
}

impl Wide for F64 {
    #[inline(always)]
    unsafe fn store_32(self, to: *mut f32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let nearest = _mm256_cvtpd_ps(self.0);
            _mm_storeu_ps(to, nearest);
            F64(_mm256_sub_pd(self.0, _mm256_cvtps_pd(nearest)))
        }
    }
}
