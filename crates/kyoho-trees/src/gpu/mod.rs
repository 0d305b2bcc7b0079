//! Trees on GPUs, and on devices that are programmed like them: written once against
//! [`kyoho_hal::gpu::Gpu`].
//!
//! `builder` sorts the bodies and makes the cells, and sums their moments. Whatever the device, the
//! cells are those of [`super::cells`]. `forces`, `neighbours` and `stackless` walk through them;
//! `method` is what a device calls, and `block` what it does for a block, alone or with `companions`,
//! of which each sums one of `shares`; `own` finds the sources that sinks leave out, and sinks among
//! them; a `domain` is a rank's part of a tree of several, to which cells of others are `joined`, by
//! `transfers` with the host; `clock` measures phases, and `kernels` has the kernels by name.

pub mod block;
pub mod builder;
pub mod clock;
pub mod companions;
pub mod constants;
pub mod domain;
#[cfg(test)]
mod domain_tests;
#[cfg(test)]
mod expansions;
pub mod forces;
mod joined;
mod kernels;
pub mod method;
pub mod neighbours;
#[cfg(test)]
mod opencl_tests;
pub mod own;
pub mod shares;
pub mod stackless;
mod transfers;
