//! The pair interaction for the CPU: what one source does to one sink, written once for every precision and every
//! instruction set.
//!
//! With `r = x_j - x_i`, `v = v_j - v_i`, `s2 = |r|^2 + eps2`, `w = m_j s2^(-3/2)`, `alpha = (r.v)/s2` a source adds to
//! a sink (Makino & Aarseth 1992, PASJ 44, 141):
//!
//! - potential `-m_j s2^(-1/2)`,
//! - acceleration `w r`,
//! - jerk `w (v - 3 alpha r)`.
//!
//! [`lanes`] is what a vector of numbers can do; `avx512`, `avx2` and [`portable`] do it. [`interaction`] is the
//! physics; [`tile`] the shape of the data; [`sum`] the loop over a tile; [`predict`] the Taylor series; [`kernel`]
//! binds an order, a precision and an instruction set into one object.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub mod interaction;
pub mod kernel;
pub mod lanes;
pub mod neighbours;
pub mod portable;
pub mod predict;
pub mod sum;
pub mod tile;
#[cfg(target_arch = "x86_64")]
mod vector;
