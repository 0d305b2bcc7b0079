//! Gravitational forces for direct N-body codes, behind the GRAPE and Sapporo interfaces.
//!
//! Sources (j-particles) live in a [`System`] at addresses; at each block step the system predicts
//! all of them to one time and sums their forces on some sinks (i-particles). A block step takes
//! this way:
//!
//! ```text
//! abi -> engine (what was written, who does what) -> method (predict, sum) -> engine (add) -> abi
//! ```
//!
//! Each floor knows only those before it: [`data`] is plain data; [`law`] says what a pair adds;
//! [`simd`] has vectors and loops for CPUs; [`hal`] says what a machine can do; [`method`]
//! organises the sums; [`engine`] is a caller's system; [`config`] reads the environment;
//! [`integrator`] advances bodies in time; [`abi`] has the only `extern "C"`.

pub mod abi;
pub mod config;
pub mod data;
pub mod engine;
pub mod hal;
pub mod integrator;
pub mod law;
pub mod method;
pub mod simd;

pub use data::{Error, Forces, Nearest, NeighbourCriterion, Order, Precision, Result, ResultCode, Scope, Sink, Source};
pub use engine::{QuadForce, QuadSink, QuadSource, Setup, Statistics, System};
pub use hal::Backend;
pub use simd::Level;
