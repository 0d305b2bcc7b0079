//! Vectors of AVX-512: sixteen lanes of 32 bits, eight of 64.

use std::arch::x86_64::*;
use std::ops::{Add, Mul, Sub};

use crate::lanes::{Lanes, Wide};

use super::vector::vector;

vector! {
    /// Sixteen lanes of 32 bits.
    F32(__m512): 16 lanes of f32, mask __mmask16, index __m512i, in blocks false;
    _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_fmadd_ps, _mm512_fnmadd_ps,
    _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps;

    #[inline(always)]
    unsafe fn load_columns(rows: *const *const f32) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            // Four rows in a vector, so that the four columns of each quarter are made within it.
            macro_rules! four {
                ($row:literal) => {{
                    let first = _mm512_castps128_ps512(_mm_loadu_ps(*rows.add($row)));
                    let two = _mm512_insertf32x4::<1>(first, _mm_loadu_ps(*rows.add($row + 4)));
                    let three = _mm512_insertf32x4::<2>(two, _mm_loadu_ps(*rows.add($row + 8)));
                    _mm512_insertf32x4::<3>(three, _mm_loadu_ps(*rows.add($row + 12)))
                }};
            }
            let (a, b, c, d) = (four!(0), four!(1), four!(2), four!(3));
            let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
            let (ab_high, cd_high) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
            [
                F32(_mm512_shuffle_ps::<0x44>(ab, cd)),
                F32(_mm512_shuffle_ps::<0xee>(ab, cd)),
                F32(_mm512_shuffle_ps::<0x44>(ab_high, cd_high)),
                F32(_mm512_shuffle_ps::<0xee>(ab_high, cd_high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe {
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(self.0));
            let high = _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(self.0));
            _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low));
            _mm512_storeu_pd(sums.add(8), _mm512_add_pd(_mm512_loadu_pd(sums.add(8)), high));
        }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // The estimate y is good to 2^-14; with e = 1 - s y^2, y (1 + e / 2) is off by 3/8 e^2 <
        // 6e-9.
        // SAFETY: see `Lanes`.
        unsafe {
            let y = F32(_mm512_rsqrt14_ps(self.0));
            let e = (self * y).neg_mul_add(y, F32::splat(1.0));
            (y * F32::splat(0.5)).mul_add(e, y)
        }
    }
    #[inline(always)]
    fn positive(self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GE_OQ>(self.0, _mm512_set1_ps(f32::MIN_POSITIVE)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(_mm512_min_ps(self.0, other.0)) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a & b
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(_mm512_mask_blend_ps(mask, no.0, yes.0)) }
    }
    #[inline(always)]
    fn keep(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F32(_mm512_maskz_mov_ps(mask, self.0)) }
    }
    #[inline(always)]
    fn index_splat(index: i32) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_set1_epi32(index) }
    }
    #[inline(always)]
    unsafe fn index_load(from: *const i32) -> Self::Index {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn index_store(index: Self::Index, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(to.cast(), index) }
    }
    #[inline(always)]
    fn index_select(mask: Self::Mask, yes: Self::Index, no: Self::Index) -> Self::Index {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_mask_blend_epi32(mask, no, yes) }
    }
    #[inline(always)]
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmpneq_epi32_mask(a, b) }
    }
}

vector! {
    /// Eight lanes of 64 bits.
    F64(__m512d): 8 lanes of f64, mask __mmask8, index __m256i, in blocks false;
    _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd,
    _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd;

    #[inline(always)]
    unsafe fn load_columns(rows: *const *const f64) -> [Self; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            // Rows stand in the vectors so that the last step leaves them in order.
            macro_rules! two {
                ($row:literal) => {
                    _mm512_insertf64x4::<1>(
                        _mm512_castpd256_pd512(_mm256_loadu_pd(*rows.add($row))),
                        _mm256_loadu_pd(*rows.add($row + 2)),
                    )
                };
            }
            let (a, b, c, d) = (two!(0), two!(1), two!(4), two!(5));
            let (ab, cd) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
            let (ab_high, cd_high) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
            [
                F64(_mm512_shuffle_f64x2::<0x88>(ab, cd)),
                F64(_mm512_shuffle_f64x2::<0x88>(ab_high, cd_high)),
                F64(_mm512_shuffle_f64x2::<0xdd>(ab, cd)),
                F64(_mm512_shuffle_f64x2::<0xdd>(ab_high, cd_high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn add_to(self, sums: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), self.0)) }
    }
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        // The estimate y is good to 2^-14; with e = 1 - s y^2, the series y (1 + e/2 + 3/8 e^2 +
        // 5/16 e^3) is off by 35/128 e^4 < 1e-16.
        // SAFETY: see `Lanes`.
        unsafe {
            let y = F64(_mm512_rsqrt14_pd(self.0));
            let e = (self * y).neg_mul_add(y, F64::splat(1.0));
            let series = F64::splat(0.3125).mul_add(e, F64::splat(0.375)).mul_add(e, F64::splat(0.5));
            (y * e).mul_add(series, y)
        }
    }
    #[inline(always)]
    fn positive(self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmp_pd_mask::<_CMP_GE_OQ>(self.0, _mm512_set1_pd(f64::MIN_POSITIVE)) }
    }
    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm512_min_pd(self.0, other.0)) }
    }
    #[inline(always)]
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask {
        a & b
    }
    #[inline(always)]
    fn bits(mask: Self::Mask) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm512_mask_blend_pd(mask, no.0, yes.0)) }
    }
    #[inline(always)]
    fn keep(self, mask: Self::Mask) -> Self {
        // SAFETY: see `Lanes`.
        unsafe { F64(_mm512_maskz_mov_pd(mask, self.0)) }
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
        unsafe { _mm256_mask_blend_epi32(mask, no, yes) }
    }
    #[inline(always)]
    fn differ(a: Self::Index, b: Self::Index) -> Self::Mask {
        // SAFETY: see `Lanes`.
        unsafe { _mm256_cmpneq_epi32_mask(a, b) }
    }
}

impl Wide for F64 {
    #[inline(always)]
    unsafe fn store_32(self, to: *mut f32) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let nearest = _mm512_cvtpd_ps(self.0);
            _mm256_storeu_ps(to, nearest);
            F64(_mm512_sub_pd(self.0, _mm512_cvtps_pd(nearest)))
        }
    }
}
