//! Hooks in all functions of the driver. They record each call and make it fail if a test says so.
//! The record and the failures belong to the test's thread.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void};
use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use opencl3::device::{CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU};

use super::*;

/// Returns the driver with changed functions, for the lifetime of the process.
pub fn patched(patch: impl FnOnce(&mut Table)) -> Option<&'static Driver> {
    match driver().and_then(|driver| driver.devices().map(|_| driver)) {
        Ok(driver) => {
            let mut table = driver.table;
            patch(&mut table);
            Some(Box::leak(Box::new(Driver { table, process: driver.process })))
        }
        Err(error) => {
            eprintln!("skipped, since {error}");
            None
        }
    }
}

/// A context that belongs to one test.
pub struct Own {
    context: Arc<Context>,
    /// One test runs at a time, because PoCL must not run a kernel in two queues and contexts do
    /// not share one.
    _alone: MutexGuard<'static, ()>,
}

impl std::ops::Deref for Own {
    type Target = Arc<Context>;

    fn deref(&self) -> &Arc<Context> {
        &self.context
    }
}

/// Makes a context on the first device of the driver with changed functions.
pub fn patched_context(patch: impl FnOnce(&mut Table)) -> Option<Own> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    patched(patch).map(|driver| Own { context: Context::of(driver, 0).unwrap(), _alone: alone })
}

/// Returns the driver's own functions.
pub fn real() -> &'static Table {
    &driver().unwrap().table
}

type Events = *const Object;
type Event = *mut Object;

thread_local! {
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static FAILING: RefCell<Range<usize>> = const { RefCell::new(0..0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

/// The code that a failing call for memory returns. Any other call returns `FAILED`.
const NO_MEMORY: i32 = -4;
const FAILED: i32 = -9999;

/// Forgets the calls of this thread, and makes those of the following ones fail that have these
/// numbers.
pub fn fail(calls: Range<usize>) {
    CALLS.take();
    FAILING.replace(calls);
}

/// Returns the calls of this thread since [`fail`].
pub fn calls() -> Vec<&'static str> {
    CALLS.with_borrow(Clone::clone)
}

/// Returns how many objects this thread has made and not given back.
pub fn live() -> isize {
    LIVE.get()
}

/// Records a call and returns the code of its failure if it has to fail.
fn failure(name: &'static str) -> Option<i32> {
    let number = CALLS.with_borrow_mut(|calls| {
        calls.push(name);
        calls.len() - 1
    });
    let code = if name == "clCreateBuffer" { NO_MEMORY } else { FAILED };
    FAILING.with_borrow(|failing| failing.contains(&number)).then_some(code)
}

/// Whether a call gives something back.
pub fn gives_back(name: &str) -> bool {
    name.contains("Release")
}

/// Whether a call does its work even if it fails here, because the object that it ends must not go
/// on.
fn ends_something(name: &str) -> bool {
    gives_back(name) || ["clFinish", "clWaitForEvents"].contains(&name)
}

fn add_live(change: isize) {
    LIVE.set(LIVE.get() + change);
}

/// Hooks of calls that make an object, and of calls that return a code, with the change of the
/// number of objects.
macro_rules! hook {
    ($table:ident makes: $($name:ident($($argument:ident: $type:ty),*);)*) => {
        $({
            unsafe extern "C" fn hook($($argument: $type,)* code: *mut i32) -> Object {
                if let Some(failure) = failure(stringify!($name)) {
                    // SAFETY: the caller has room for the code.
                    unsafe { *code = failure };
                    return std::ptr::null_mut();
                }
                // SAFETY: the caller's arguments.
                let object = unsafe { (real().$name)($($argument,)* code) };
                add_live(isize::from(!object.is_null()));
                object
            }
            $table.$name = hook;
        })*
    };
    ($table:ident does: $($name:ident($($argument:ident: $type:ty),*) $change:expr;)*) => {
        $({
            unsafe extern "C" fn hook($($argument: $type),*) -> i32 {
                let failure = failure(stringify!($name));
                if let Some(failure) = failure
                    && !ends_something(stringify!($name))
                {
                    return failure;
                }
                // SAFETY: the caller's arguments.
                let code = unsafe { (real().$name)($($argument),*) };
                if code == SUCCESS {
                    add_live($change);
                }
                failure.unwrap_or(code)
            }
            $table.$name = hook;
        })*
    };
}

/// Makes a context all of whose calls can be made to fail.
pub fn hooked_context() -> Option<Own> {
    patched_context(hook_all)
}

/// Makes such a context on a device that claims to be a GPU. A fork does not have its host memory.
/// It has no queues that measure, because they take PoCL a minute.
pub fn hooked_gpu() -> Option<Own> {
    patched_context(|table| {
        hook_all(table);
        table.clGetDeviceInfo = device_info;
        table.clCreateCommandQueue = untimed;
        table.clEnqueueMapBuffer = map;
        table.clEnqueueUnmapMemObject = unmap;
    })
}

unsafe extern "C" fn device_info(device: Object, what: u32, room: usize, value: *mut c_void, bytes: *mut usize) -> i32 {
    // SAFETY: the caller's arguments.
    let code = unsafe { (real().clGetDeviceInfo)(device, what, room, value, bytes) };
    if what == CL_DEVICE_TYPE && room >= 8 && !value.is_null() {
        // SAFETY: there is room for a value of 8 bytes.
        unsafe { value.cast::<u64>().write_unaligned(CL_DEVICE_TYPE_GPU) };
    }
    code
}

unsafe extern "C" fn untimed(context: Object, device: Object, flags: u64, code: *mut i32) -> Object {
    match flags {
        // SAFETY: the caller's arguments.
        0 => unsafe { (real().clCreateCommandQueue)(context, device, flags, code) },
        _ => {
            // SAFETY: as above.
            unsafe { *code = FAILED };
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" {
    fn mmap(address: *mut c_void, bytes: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut c_void;
    fn madvise(address: *mut c_void, bytes: usize, advice: i32) -> i32;
}

/// Maps memory in pages of its own, as drivers page-lock it.
unsafe extern "C" fn map(
    _: Object,
    _: Object,
    _: u32,
    _: u64,
    _: usize,
    bytes: usize,
    _: u32,
    _: Events,
    _: Event,
    code: *mut i32,
) -> *mut c_void {
    const READ_AND_WRITE: i32 = 3;
    const PRIVATE_AND_ANONYMOUS: i32 = 0x22;
    const NOT_FOR_FORKS: i32 = 10;
    // SAFETY: the memory is nobody else's, and the caller has room for the code.
    unsafe {
        *code = SUCCESS;
        let memory = mmap(std::ptr::null_mut(), bytes, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0);
        assert_eq!(madvise(memory, bytes, NOT_FOR_FORKS), 0);
        memory
    }
}

/// Leaves the memory mapped. A test has little of it.
unsafe extern "C" fn unmap(_: Object, _: Object, _: *mut c_void, _: u32, _: Events, _: Event) -> i32 {
    SUCCESS
}

fn hook_all(table: &mut Table) {
    hook! { table makes:
        clCreateContext(a: *const isize, b: u32, c: Events, d: Option<unsafe extern "C" fn()>, e: *mut c_void);
        clCreateCommandQueue(a: Object, b: Object, c: u64);
        clCreateBuffer(a: Object, b: u64, c: usize, d: *mut c_void);
        clCreateProgramWithSource(a: Object, b: u32, c: *const *const c_char, d: *const usize);
        clCreateProgramWithBinary(
            a: Object, b: u32, c: Events, d: *const usize, e: *const *const u8, f: *mut i32
        );
        clCreateKernel(a: Object, b: *const c_char);
    }
    hook! { table does:
        clFlush(a: Object) 0;
        clFinish(a: Object) 0;
        clEnqueueWriteBuffer(
            a: Object, b: Object, c: u32, d: usize, e: usize, f: *const c_void, g: u32, h: Events, event: Event
        ) made(event);
        clEnqueueReadBuffer(
            a: Object, b: Object, c: u32, d: usize, e: usize, f: *mut c_void, g: u32, h: Events, event: Event
        ) made(event);
        clEnqueueCopyBuffer(
            a: Object, b: Object, c: Object, d: usize, e: usize, f: usize, g: u32, h: Events, event: Event
        ) made(event);
        clEnqueueFillBuffer(
            a: Object, b: Object, c: *const c_void, d: usize, e: usize, f: usize, g: u32, h: Events, event: Event
        ) made(event);
        clEnqueueNDRangeKernel(
            a: Object, b: Object, c: u32, d: *const usize, e: *const usize, f: *const usize, g: u32, h: Events,
            event: Event
        ) made(event);
        clEnqueueMarkerWithWaitList(a: Object, b: u32, c: Events, event: Event) made(event);
        clEnqueueBarrierWithWaitList(a: Object, b: u32, c: Events, event: Event) made(event);
        clWaitForEvents(a: u32, b: Events) 0;
        clBuildProgram(
            a: Object, b: u32, c: Events, d: *const c_char, e: Option<unsafe extern "C" fn()>, f: *mut c_void
        ) 0;
        clGetProgramInfo(a: Object, b: u32, c: usize, d: *mut c_void, e: *mut usize) 0;
        clSetKernelArg(a: Object, b: u32, c: usize, d: *const c_void) 0;
        clReleaseContext(a: Object) -1;
        clReleaseCommandQueue(a: Object) -1;
        clReleaseMemObject(a: Object) -1;
        clReleaseProgram(a: Object) -1;
        clReleaseKernel(a: Object) -1;
        clReleaseEvent(a: Object) -1;
    }
}

/// Returns how many events a call made.
fn made(event: Event) -> isize {
    isize::from(!event.is_null())
}
