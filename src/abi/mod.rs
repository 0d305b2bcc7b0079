//! The C interfaces: the only `extern "C"` of the library.
//!
//! [`boundary`] and [`floating_point`] guard every entry point. [`native`] is the library's own
//! interface, whose systems are found by [`handles`]. The old interfaces are [`g6`], [`g5`],
//! [`hermite6`] and [`nbody6`]. They share [`arrays`], [`diagnostics`], [`forms`],
//! [`opening`], [`process`] and [`refused`].

pub mod arrays;
pub mod boundary;
pub mod diagnostics;
pub mod floating_point;
pub mod forms;
pub mod g5;
pub mod g6;
pub mod handles;
pub mod hermite6;
pub mod native;
pub mod nbody6;
pub mod opening;
#[cfg(test)]
mod panicking;
pub mod process;
pub mod refused;
