//! What threads share, in which `make loom` puts its own kinds in place of the standard library's:
//! these try every order in which threads may go on.

#[cfg(not(loom))]
mod kinds {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence as fence_of_owner};
    pub use std::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use std::thread::yield_now;
}

#[cfg(loom)]
mod kinds {
    pub use loom::hint::spin_loop;
    // The order that `membarrier` gives is that of fences in both threads.
    pub use loom::sync::atomic::{AtomicBool, AtomicUsize, fence as fence_of_owner};
    pub use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub use loom::thread::yield_now;
}

pub use kinds::*;
