//! The functions that programs call. Their documentation is in `include/g5.h`.

#![allow(clippy::missing_safety_doc, reason = "the documentation is the header's, for C")]
#![allow(non_snake_case, unused_variables, reason = "the names and arguments are those of the GRAPE-5 interface")]
#![allow(unused_unsafe, reason = "some calls take no arrays")]

use std::ffi::c_int;

use crate::abi::forms::functions;

use super::board::Place::Alone;
use super::calls::{self, ResultArrays, SinkArrays, one_of_many};

include!("table.rs");
