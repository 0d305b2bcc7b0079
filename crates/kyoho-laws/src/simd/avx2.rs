//! Vectors of AVX2 with FMA: eight lanes of 32 bits, four of 64.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use crate::lanes::{Lanes, Wide};

use super::vector::vector;

vector! {
    /// Eight lanes of 32 bits.
    F32(__m256): 8 lanes of f32, mask __m256, index __m256i, in blocks true;
    _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_fmadd_ps, _mm256_fnmadd_ps,
    _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps;

    #[inline(always)]
    unsafe fn load_columns(rows: *const *const f32) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            // Two rows in a vector, so that the four columns of each half are made within it.
            macro_rules! two {
                ($row:literal) => {
                    _mm256_insertf128_ps::<1>(
                        _mm256_castps128_ps256(_mm_loadu_ps(*rows.add($row))),
                        _mm_loadu_ps(*rows.add($row + 4)),
                    )
                };
            }
            let (a, b, c, d) = (two!(0), two!(1), two!(2), two!(3));
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            [
                F32(_mm256_shuffle_ps::<0x44>(ab, cd)),
                F32(_mm256_shuffle_ps::<0xee>(ab, cd)),
                F32(_mm256_shuffle_ps::<0x44>(ab_high, cd_high)),
                F32(_mm256_shuffle_ps::<0xee>(ab_high, cd_high)),
            ]
        }
    }
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
    fn min(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(_mm256_min_ps(self.0, other.0)) }
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
    F64(__m256d): 4 lanes of f64, mask __m256d, index __m256i, in blocks true;
    _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_fmadd_pd, _mm256_fnmadd_pd,
    _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd;

    #[inline(always)]
    unsafe fn load_columns(rows: *const *const f64) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (_mm256_loadu_pd(*rows), _mm256_loadu_pd(*rows.add(1)));
            let (c, d) = (_mm256_loadu_pd(*rows.add(2)), _mm256_loadu_pd(*rows.add(3)));
            let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
            [
                F64(_mm256_permute2f128_pd::<0x20>(ab, cd)),
                F64(_mm256_permute2f128_pd::<0x20>(ab_high, cd_high)),
                F64(_mm256_permute2f128_pd::<0x31>(ab, cd)),
                F64(_mm256_permute2f128_pd::<0x31>(ab_high, cd_high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), self.0)) }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // AVX2 has an estimate in single precision alone, with its range. So s is split into m 4^k
        // with m from 1/2 to 2: m takes the lowest bit of the exponent and the upper 23 bits of the
        // fraction along, as a number of 32 bits in the lower half of its lane. The estimate y of
        // 1 / sqrt(m) is good to 1.5 * 2^-12, and gets 2^-k for its exponent. With e = 1 - s y^2,
        // the series y (1 + e/2 + 3/8 e^2 + 5/16 e^3 + 35/128 e^4) is off by 63/256 e^5 < 2^-53.
        // SAFETY: see `Lanes`.
        unsafe {
            let bits = _mm256_castpd_si256(self.0);
            let (exponent, exponent_bits) = (_mm256_set1_epi64x(0x3f << 24), _mm256_set1_epi64x(0xff << 24));
            let m = _mm256_blendv_epi8(_mm256_srli_epi64::<29>(bits), exponent, exponent_bits);
            let estimate = _mm256_castps_si256(_mm256_rsqrt_ps(_mm256_castsi256_ps(m)));
            let half_exponent = _mm256_and_si256(_mm256_srli_epi64::<1>(bits), _mm256_set1_epi64x(0x3ff << 52));
            let scale = _mm256_sub_epi64(_mm256_set1_epi64x((1023 - 127 + 511) << 52), half_exponent);
            let y = F64(_mm256_castsi256_pd(_mm256_add_epi64(_mm256_slli_epi64::<29>(estimate), scale)));
            let e = (self * y).neg_mul_add(y, F64::splat(1.0));
            let series = F64::splat(35.0 / 128.0).mul_add(e, F64::splat(5.0 / 16.0));
            let series = series.mul_add(e, F64::splat(0.375)).mul_add(e, F64::splat(0.5));
            (y * e).mul_add(series, y)
        }
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
    fn min(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm256_min_pd(self.0, other.0)) }
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
