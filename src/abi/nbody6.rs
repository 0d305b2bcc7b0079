//! The interfaces of NBODY6 and NBODY6++GPU to a GPU: regular forces with neighbour lists
//! (`gpunb_*`), and potentials (`gpupot_`).
//!
//! Both codes give the same names to functions with other arguments. The functions exported here
//! have a prefix therefore, and two small libraries made from `forwards/` give the plain names to
//! the programs that link them. [`gpu2`], which is NBODY6's name for its part on GPUs, and
//! [`nbody6pp`] have the functions of each code. They are thin: the work is in `calls`. `board` is
//! the one board behind both.

mod board;
mod calls;
pub mod gpu2;
pub mod nbody6pp;
