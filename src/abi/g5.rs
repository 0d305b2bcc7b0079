//! The GRAPE-5 interface (`g5_*`): forces of order 2 on boards that have their own sources.
//!
//! [`c`] has the C form of each function, [`fortran`] the forms with one underscore. Both are thin: they call
//! `calls`, never one another by symbol. `board` is one board.

mod board;
pub mod c;
mod calls;
pub mod fortran;
