//! The interfaces of NBODY6 and NBODY6++GPU to a GPU: regular forces with neighbour lists (`gpunb_*`), and potentials
//! (`gpupot_`).
//!
//! Both codes give the same names to functions with other arguments. So what is exported here has a prefix, and two
//! small libraries made from `forwards/` give the plain names to the programs that link them. [`gpu2`], as NBODY6 calls
//! its part for GPUs, and [`nbody6pp`] have the functions of each, all thin: they call `calls`. `board` is the one
//! board behind both.

mod board;
mod calls;
pub mod gpu2;
pub mod nbody6pp;
