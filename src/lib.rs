//! Gravitational forces for direct N-body codes, behind the GRAPE and Sapporo interfaces.
//!
//! Sources (j-particles) live in a [`System`] at addresses; at each block step the system predicts all of them to one
//! time and sums their forces on some sinks (i-particles). The way of a block step:
//!
//! ```text
//! abi  ->  engine (what was written, who does what)  ->  method (predict, sum)  ->  engine (add)  ->  abi
//! ```
//!
//! The floors, each of which knows those before it alone: [`data`] is plain data; [`law`] what a pair adds; [`simd`] vectors
//! and loops for CPUs; [`hal`] what a machine can do; [`method`] how sums are organised; [`engine`] a caller's system;
//! [`config`] the environment; [`abi`] the only `extern "C"`.

pub mod abi;
pub mod config;
pub mod data;
pub mod engine;
pub mod hal;
pub mod law;
pub mod method;
pub mod simd;

pub use data::{Error, Forces, Nearest, NeighbourCriterion, Order, Precision, Result, ResultCode, Scope, Sink, Source};
pub use engine::{Setup, Statistics, System};
pub use hal::Backend;
pub use simd::Level;
