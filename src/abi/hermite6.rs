//! The interfaces of order 6, Sapporo2's and Yebisu's: forces, jerks and snaps, with sources that
//! are predicted on demand.
//!
//! Their plain names (`initialize`, `predict_all`, ...) mean different things in each, and programs
//! give them to functions of their own. The functions exported here have a prefix therefore, and
//! two small libraries made from `forwards/` give the plain names to the programs that link them.
//! [`sapporo6`] and [`yebisu`] have the functions of each. They are thin: the work is in `calls`.
//! `board` is the one board behind both, `softenings` has the softening of each source, which a
//! system does not keep, and `groups` has the systems for forces that are softened by the sources.

mod board;
mod calls;
mod groups;
pub mod sapporo6;
mod softenings;
pub mod yebisu;
