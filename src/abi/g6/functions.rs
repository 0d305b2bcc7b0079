//! The functions that programs call. Their documentation is in `include/g6.h`.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(clippy::too_many_arguments, unused_variables, reason = "the arguments are those of the GRAPE-6 interface")]
#![allow(unused_unsafe, reason = "some calls take no arrays")]

use std::ffi::{c_int, c_void};

use crate::abi::forms::{Argument, functions};
use kyoho_core::padded;

use super::calls::{self, ResultArrays, SinkArrays, vector};

/// A unit that the library does not need. Fortran programs pass integers and doubles.
#[repr(transparent)]
pub struct Unit(pub f64);

impl Argument for Unit {
    type ByFortran = *mut c_void;
}

include!("table.rs");
