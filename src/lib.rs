//! Gravitational forces for direct N-body codes, behind the GRAPE and Sapporo interfaces.
//!
//! Sources (j-particles) live in a [`System`] at addresses; at each block step the system predicts
//! all of them to one time and sums their forces on some sinks (i-particles). This package is the C
//! library: [`abi`] has the only `extern "C"`, and [`config`] reads the environment. What they call
//! stands in crates of its own, each of which knows only those before it:
//!
//! - `kyoho_core`: errors, memory, units, bodies: plain data;
//! - `kyoho_hal`: what a machine can do: GPUs by CUDA and OpenCL, threads;
//! - `kyoho_laws`: what a source adds to a sink, and the vectors in which CPUs compute it;
//! - `kyoho_language`: interactions that users write as text;
//! - `kyoho_methods`: how sums are organised: all pairs, lists, trees, neighbours, written pairs;
//! - `kyoho_engine`: a caller's system: what was written, which device sums what, failover;
//! - `kyoho_integrators`: what advances bodies in time;
//! - `kyoho_models`: star clusters to begin with.
//!
//! A block step takes this way:
//!
//! ```text
//! abi -> engine (what was written, who does what) -> methods (predict, sum) -> engine (add) -> abi
//! ```

pub mod abi;
pub mod config;

pub use kyoho_core::{
    Error, Forces, Level, Nearest, NeighbourCriterion, Order, Precision, Result, ResultCode, Scope, Sink, Source,
};
pub use kyoho_engine::{QuadForce, QuadSink, QuadSource, Setup, Statistics, System};
pub use kyoho_hal::Backend;
