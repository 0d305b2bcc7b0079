//! The interfaces of order 6, Sapporo2's and Yebisu's: forces, jerks and snaps, with sources that are predicted on
//! demand.
//!
//! Their plain names (`initialize`, `predict_all`, ...) mean different things in each and are names that programs give
//! to functions of their own. So what is exported here has a prefix, and two small libraries made from `forwards/` give
//! the plain names to the programs that link them. [`sapporo6`] and [`yebisu`] have the functions of each, all thin:
//! they call `calls`. `board` is the one board behind both, `softenings` what it keeps of each source beside the
//! system, and `groups` the systems for forces that are softened by the sources.

mod board;
mod calls;
mod groups;
pub mod sapporo6;
mod softenings;
pub mod yebisu;
