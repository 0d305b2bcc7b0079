//! Gravitational forces for direct N-body codes, behind the GRAPE and Sapporo interfaces.
//!
//! Sources (j-particles) live in a [`System`] at addresses; at each block step the system predicts all of them to one
//! time and sums their forces on some sinks (i-particles). The way of a block step:
//!
//! ```text
//! abi  ->  system (what was written, who does what)  ->  backend (predict, sum)  ->  system (add)  ->  abi
//! ```
//!
//! Where each room is: [`abi`] is the only `extern "C"`; [`system`] the engine, free of any backend; [`backend`] the
//! devices behind one trait; [`pair`] the physics of a pair for the CPU; [`catalogue`] what can be computed; [`config`]
//! the environment; [`mod@reference`] the slow and obvious sums that every test compares with; [`conformance`] what every
//! backend must do, as checks that run on any machine.

pub mod abi;
pub mod backend;
pub mod catalogue;
pub mod config;
pub mod conformance;
pub mod error;
pub mod memory;
pub mod pair;
pub mod reference;
pub mod system;
mod threads;

pub use backend::Backend;
pub use backend::cpu::Level;
pub use catalogue::{Order, Precision, Scope};
pub use error::{Error, Result, ResultCode};
pub use system::{Forces, Nearest, Reach, Setup, Sink, Source, Statistics, System};
