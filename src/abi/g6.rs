//! The GRAPE-6 interface (`g6_*`): forces of order 4, with nearest neighbours and neighbour lists.
//!
//! [`functions`] has the C form and the Fortran forms of each function, all from the rows of one
//! table. They are thin: the work is in `calls`. `board` is the one logical board of a process.

mod board;
mod calls;
pub mod functions;
