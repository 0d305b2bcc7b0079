//! The GRAPE-5 interface (`g5_*`): forces of order 2 on boards that have their own sources.
//!
//! [`functions`] has the C form and the Fortran forms of each function, all from the rows of one
//! table. They are thin: the work is in `calls`. `board` is one board.

mod board;
mod calls;
pub mod functions;
