//! The C interfaces: the only `extern "C"` of the library.
//!
//! [`boundary`] is what every entry point stands behind.

pub mod boundary;
