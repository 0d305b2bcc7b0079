//! Forces by a tree: an octree of the sources, expansions of its cells, and a test that accepts an
//! expansion where its error is small beside the acceleration of the sinks.
//!
//! The files beside this one hold for every machine: the [`cube`] and the keys of bodies, what
//! [`cells`] there are, the [`criterion`] of acceptance, and by which order and tolerance an
//! [`accuracy`] is kept. Trees that machines build from the same bodies have the same cells.
//!
//! With the sources of a cell at `z + y` and sinks at `w + x`, `R = w - z` and `f(r) = (|r|^2 +
//! eps^2)^(-1/2)`, the potential is `-sum_b L_b x^b / b!` with `L_b = sum_a M_a D_(a+b) f(R)` and
//! `M_a = sum m (-y)^a / a!`, where `a` and `b` are multi-indices and `|a| + |b|` is at most the
//! order. The derivatives are those of the softened potential, so that nothing is lost where the
//! softening is as large as the distances of bodies. On CPUs each body may have its own softening,
//! which is expanded as its place is ([`kyoho_laws::softened_expansion`]).

pub mod accuracy;
pub mod bodies;
pub mod cells;
pub mod cpu;
pub mod criterion;
pub mod cube;
pub mod gpu;
pub mod neighbours;

/// A leaf has at most this many bodies, unless they are in one point or, on GPUs, have the same key.
pub const LEAF: usize = 32;
/// Sinks that share their lists of near sources are at most this many, unless a leaf has more.
pub const GROUP: usize = 64;
