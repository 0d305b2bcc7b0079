//! Vectors of numbers for each instruction set, and the loops over a tile of sources, for any law.
//!
//! `avx512`, `avx2`, `neon` and `portable` implement the numbers that laws are written in. [`tile`]
//! has the shape of the data, [`sum`] the loop over a tile, [`predict`] the Taylor series, and
//! [`neighbours`] the searches. [`kernel`] binds a law, a precision and an instruction set into one
//! object.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod expansions;
pub mod kernel;
pub mod neighbours;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(not(target_arch = "aarch64"))]
mod portable;
pub mod predict;
pub mod stream;
pub mod sum;
pub mod tile;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;

// The vectors that every CPU of the target has.
#[cfg(target_arch = "aarch64")]
use neon as baseline;
#[cfg(not(target_arch = "aarch64"))]
use portable as baseline;

/// Does work that is compiled for the longest vectors that the CPU has, if it is inlined all the way. Its
/// results are the same in all.
#[inline]
pub fn in_longest_vectors<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx2")]
        fn by_avx512<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        #[target_feature(enable = "avx2")]
        fn by_avx2<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the CPU has them.
            return unsafe { by_avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the CPU has it.
            return unsafe { by_avx2(work) };
        }
    }
    work()
}
