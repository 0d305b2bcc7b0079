//! The law of a pair: what a source adds to a sink, written once for every precision and every
//! instruction set.
//!
//! With `r = x_j - x_i`, the differences `v` of velocities, `a` of accelerations and `j` of jerks,
//! `s2 = |r|^2 + eps2` and `w = m_j s2^(-3/2)` a source adds to a sink (Makino & Aarseth 1992, PASJ
//! 44, 141; from snap on Nitadori & Makino 2008, New Astronomy 13, 498):
//!
//! - potential `-m_j s2^(-1/2)`,
//! - acceleration `A = w r`,
//! - jerk `J = w v - 3 alpha A` with `alpha = (r.v)/s2`,
//! - snap `S = w a - 6 alpha J - 3 beta A` with `beta = (|v|^2 + r.a)/s2 + alpha^2`,
//! - crackle `w j - 9 alpha S - 9 beta J - 3 gamma A` with `gamma = (3 v.a + r.j)/s2 + alpha (3
//!   beta - 4 alpha^2)`.
//!
//! [`catalogue`] lists the built-in interactions as data. [`pair`] has the physics, and [`regular`]
//! decides which pairs a regular force leaves out. Both are written in the numbers of [`lanes`],
//! which [`simd`] implements.

pub mod catalogue;
pub mod double_double;
pub mod expansion;
pub mod indices;
pub mod lanes;
pub mod pair;
pub mod regular;
pub mod simd;
pub mod softened_expansion;
