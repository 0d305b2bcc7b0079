//! The GRAPE-6 interface (`g6_*`): forces of order 4, with nearest neighbours and neighbour lists.
//!
//! [`c`] has the C form of each function, [`fortran`] the form with one underscore and [`double_underscore`] that with
//! two. All are thin: they call `calls`, never one another by symbol, because a client may define functions of the
//! same names, which the dynamic linker would prefer. `board` is the one logical board of a process.

mod board;
pub mod c;
mod calls;
pub mod double_underscore;
pub mod fortran;
