//! The pair interaction for the CPU: what one source does to one sink, written once for every precision and every
//! instruction set.
//!
//! With `r = x_j - x_i`, the same difference `v` of velocities, `a` of accelerations and `j` of jerks,
//! `s2 = |r|^2 + eps2` and `w = m_j s2^(-3/2)` a source adds to a sink (Makino & Aarseth 1992, PASJ 44, 141; from snap on
//! Nitadori & Makino 2008, New Astronomy 13, 498):
//!
//! - potential `-m_j s2^(-1/2)`,
//! - acceleration `A = w r`,
//! - jerk `J = w v - 3 alpha A` with `alpha = (r.v)/s2`,
//! - snap `S = w a - 6 alpha J - 3 beta A` with `beta = (|v|^2 + r.a)/s2 + alpha^2`,
//! - crackle `w j - 9 alpha S - 9 beta J - 3 gamma A` with `gamma = (3 v.a + r.j)/s2 + alpha (3 beta - 4 alpha^2)`.
//!
//! [`lanes`] is what a vector of numbers can do; `avx512`, `avx2` and [`portable`] do it. [`interaction`] is the
//! physics, [`regular`] which pairs it leaves out; [`tile`] the shape of the data; [`sum`] the loop over a tile; [`predict`] the Taylor series; [`kernel`]
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
pub mod regular;
pub mod sum;
pub mod tile;
#[cfg(target_arch = "x86_64")]
mod vector;
