//! Vectors of numbers for each instruction set, and the loops over a tile of sources, for any law.
//!
//! `avx512`, `avx2` and [`portable`] implement the numbers that laws are written in. [`tile`] has
//! the shape of the data, [`sum`] the loop over a tile, [`predict`] the Taylor series, and
//! [`neighbours`] the searches. [`kernel`] binds a law, a precision and an instruction set into one
//! object.

#[cfg(target_arch = "x86_64")]
#[cfg_attr(test, allow(dead_code, reason = "unit tests have the portable kernels alone"))]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(test, allow(dead_code, reason = "unit tests have the portable kernels alone"))]
mod avx512;
pub mod expansions;
pub mod kernel;
pub mod neighbours;
pub mod portable;
pub mod predict;
pub mod stream;
pub mod sum;
pub mod tile;
#[cfg(target_arch = "x86_64")]
mod vector;
