//! The C interfaces: the only `extern "C"` of the library.
//!
//! [`boundary`] is what every entry point stands behind. The old interfaces are [`g6`] and [`g5`]; what they share is
//! in [`arrays`], [`opening`], [`refused`] and [`speech`].

pub mod arrays;
pub mod boundary;
pub mod g5;
pub mod g6;
pub mod opening;
pub mod refused;
pub mod speech;
