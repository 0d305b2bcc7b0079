//! An allocator that refuses memory when a test asks for it.

#![allow(dead_code, reason = "each test uses some of it")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_int;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};

use kyoho_core::{Error, Result};

use crate::common::programs::alone;

/// The smallest size that can be refused. `docs/interfaces/devices.md` says that the process ends if
/// it cannot have less.
const LARGE: usize = 512;

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Whether the program is in a call of the library, which may be refused memory.
pub static IN_CALL: AtomicBool = AtomicBool::new(false);
/// Whether the first thread of the process makes the calls. Otherwise it runs the test program
/// itself.
static IN_FIRST_THREAD: AtomicBool = AtomicBool::new(false);
/// The number of large allocations in such calls.
pub static ASKED_FOR: AtomicUsize = AtomicUsize::new(0);
/// The number of the first allocation that is refused, from 0 on.
static FIRST_REFUSED: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Whether all that follow are refused, too.
static REFUSES_ALL: AtomicBool = AtomicBool::new(false);

/// The number of the one thread that is refused memory; 0: all are.
static ONLY_THREAD: AtomicI32 = AtomicI32::new(0);

/// Says that this thread alone is refused memory: others take theirs at times that nobody knows.
pub fn refuse_this_thread_alone() {
    // SAFETY: it returns a number.
    ONLY_THREAD.store(unsafe { libc::gettid() }, SeqCst);
}

fn is_first_thread() -> bool {
    // SAFETY: both calls return a number and do nothing else.
    unsafe { libc::gettid() == libc::getpid() }
}

impl Allocator {
    fn refuses(bytes: usize) -> bool {
        if bytes < LARGE || !IN_CALL.load(SeqCst) || is_first_thread() && !IN_FIRST_THREAD.load(SeqCst) {
            return false;
        }
        let only = ONLY_THREAD.load(SeqCst);
        // SAFETY: it returns a number.
        if only != 0 && only != unsafe { libc::gettid() } {
            return false;
        }
        let (number, first) = (ASKED_FOR.fetch_add(1, SeqCst), FIRST_REFUSED.load(SeqCst));
        number == first || number > first && REFUSES_ALL.load(SeqCst)
    }
}

// SAFETY: everything is left to the system's allocator, except that some requests are refused.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Allocator::refuses(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise, as for those that follow.
        unsafe { std::alloc::System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Allocator::refuses(layout.size()) {
            return ptr::null_mut();
        }
        // SAFETY: see above.
        unsafe { std::alloc::System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if Allocator::refuses(bytes) {
            return ptr::null_mut();
        }
        // SAFETY: see above.
        unsafe { std::alloc::System.realloc(memory, layout, bytes) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { std::alloc::System.dealloc(memory, layout) }
    }
}

/// Makes a call of the library, which may be refused memory. The test's own allocations are
/// granted.
pub fn call<T>(call: impl FnOnce() -> T) -> T {
    IN_CALL.store(true, SeqCst);
    let outcome = call();
    IN_CALL.store(false, SeqCst);
    outcome
}

/// Makes a call, and makes it again with memory if it fails for want of memory.
pub fn again<T>(mut attempt: impl FnMut() -> Result<T>) -> T {
    call(&mut attempt).unwrap_or_else(|error| {
        assert!(matches!(error, Error::OutOfMemory { bytes: 1.., .. }), "{error}");
        attempt().unwrap_or_else(|error| panic!("with memory: {error}"))
    })
}

/// Makes a call that returns a number, 0 for success, and makes it again with memory if it fails.
pub fn again_in_c(mut attempt: impl FnMut() -> c_int, mut check_failure: impl FnMut()) {
    if call(&mut attempt) != 0 {
        check_failure();
        assert_eq!(attempt(), 0, "with memory");
    }
}

/// Refuses the allocation with this number, and perhaps all that follow.
pub fn refuse(first: usize, and_all: bool) {
    FIRST_REFUSED.store(first, SeqCst);
    REFUSES_ALL.store(and_all, SeqCst);
    ASKED_FOR.store(0, SeqCst);
}

/// Runs a scenario with each of its large allocations refused. It has to give the same numbers
/// every time.
pub fn try_all(what: &str, scenario: impl Fn() -> Vec<u64>) {
    try_each(what, 1, scenario);
}

/// Returns the stride of a scenario in which all failures take long. `KYOHO_TEST_SWEEP=1` refuses
/// each allocation.
pub fn stride(usual: usize) -> usize {
    std::env::var("KYOHO_TEST_SWEEP").map_or(usual, |stride| stride.parse().unwrap())
}

/// Runs a scenario as [`try_all`] does, with each `stride`-th of its large allocations refused.
pub fn try_each(what: &str, stride: usize, scenario: impl Fn() -> Vec<u64>) {
    let run = |first: usize, and_all: bool| {
        refuse(first, and_all);
        (scenario(), ASKED_FOR.load(SeqCst))
    };
    let (undisturbed, asked_for) = run(usize::MAX, false);
    assert!(asked_for > 0, "{what}: nothing is allocated");
    for and_all in [false, true] {
        let mut number = 0;
        loop {
            println!("{what}: refused is allocation {number}, and all that follow: {and_all}");
            let (found, asked_for) = run(number, and_all);
            assert!(found == undisturbed, "{what}: other numbers than without a failure");
            if asked_for <= number {
                break;
            }
            number += stride;
        }
    }
}

/// Whether this is the process of one test alone. If not, starts such a process and fails if it
/// does not succeed.
pub fn is_alone(test: &str) -> bool {
    is_alone_in(test, alone(Command::new(std::env::current_exe().unwrap())))
}

pub fn is_alone_in(test: &str, mut command: Command) -> bool {
    const ALONE: &str = "KYOHO_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        IN_FIRST_THREAD.store(is_first_thread(), SeqCst);
        return true;
    }
    command.env("KYOHO_THREADS", "1");
    let output = command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(ALONE, "1").output().unwrap();
    let last = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().rev().take(12).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
    };
    let (stdout, stderr) = (last(&output.stdout), last(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    assert!(stdout.contains("1 passed"), "{stdout}");
    false
}
