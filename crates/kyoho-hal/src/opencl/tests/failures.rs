//! Errors after failing calls, and that nothing is lost then.

use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use super::*;

/// A code that no header has.
const UNKNOWN: i32 = -9999;

/// Functions that do nothing and return [`UNKNOWN`].
macro_rules! fail {
    ($table:ident: $($name:ident($($kind:ty),*);)*) => {
        $({
            unsafe extern "C" fn fails($(_: $kind),*) -> i32 {
                UNKNOWN
            }
            $table.$name = fails;
        })*
    };
}

#[test]
fn a_failure_has_device_call_name_and_code() {
    let Some(context) = context() else { return };
    let name = context.properties().name.clone();
    assert_eq!(
        failed(context.check(-36, "clFinish")),
        format!("device 0 ({name}) failed: clFinish: CL_INVALID_COMMAND_QUEUE (-36)")
    );
    for code in [UNKNOWN, 1, i32::MIN] {
        let error = failed(context.check(code, "clFinish"));
        assert!(error.ends_with(&format!("failed: clFinish: error {code}, which OpenCL has no name for")), "{error}");
    }
    assert_eq!(context.check(0, "clFinish"), Ok(()));
}

#[test]
fn failing_calls_are_named() {
    let Some(context) = patched_context(|table| {
        type Events = *const Object;
        type Event = *mut Object;
        fail! { table:
            clFlush(Object);
            clFinish(Object);
            clEnqueueReadBuffer(Object, Object, u32, usize, usize, *mut c_void, u32, Events, Event);
            clEnqueueCopyBuffer(Object, Object, Object, usize, usize, usize, u32, Events, Event);
            clEnqueueFillBuffer(Object, Object, *const c_void, usize, usize, usize, u32, Events, Event);
            clEnqueueNDRangeKernel(Object, Object, u32, *const usize, *const usize, *const usize, u32, Events, Event);
            clEnqueueBarrierWithWaitList(Object, u32, Events, Event);
            clWaitForEvents(u32, Events);
            clGetEventInfo(Object, u32, usize, *mut c_void, *mut usize);
            clGetEventProfilingInfo(Object, u32, usize, *mut c_void, *mut usize);
        }
    }) else {
        return;
    };
    let queue = Queue::new(&context).unwrap();
    let memory = Memory::new(&context, 8, "the sources").unwrap();
    let mut kernel = adder(&context);
    let event = queue.mark().unwrap();
    let none = std::ptr::null_mut();
    // SAFETY: each fails before it touches anything.
    let results = unsafe {
        [
            ("clFlush", queue.flush()),
            ("clFinish", queue.synchronize()),
            ("clEnqueueReadBuffer", queue.read(&memory, 0, none, 8).map(|_| ())),
            ("clEnqueueCopyBuffer", queue.copy(&memory, &memory, 8)),
            ("clEnqueueFillBuffer", queue.zero(&memory, 8)),
            ("clEnqueueNDRangeKernel", queue.launch(&mut kernel, 2, 4)),
            ("clEnqueueNDRangeKernel", queue.launch_marked(&mut kernel, 2, 4).map(|_| ())),
            ("clEnqueueBarrierWithWaitList", queue.wait_for(&event)),
            ("clWaitForEvents", event.wait()),
            ("clGetEventInfo", event.is_done().map(|_| ())),
            ("clGetEventProfilingInfo", event.seconds().map(|_| ())),
        ]
    };
    for (call, result) in results {
        let error = failed(result);
        assert!(error.ends_with(&format!("{call}: error -9999, which OpenCL has no name for")), "{error}");
    }
}

#[test]
fn work_that_failed_says_why() {
    unsafe extern "C" fn failed_work(_: Object, _: u32, _: usize, value: *mut c_void, _: *mut usize) -> i32 {
        // SAFETY: the caller has room for the status of the work.
        unsafe { *value.cast::<i32>() = -5 };
        0
    }
    unsafe extern "C" fn failed_list(_: u32, _: *const Object) -> i32 {
        -14
    }
    let Some(context) = patched_context(|table| {
        table.clGetEventInfo = failed_work;
        table.clWaitForEvents = failed_list;
    }) else {
        return;
    };
    let event = Queue::new(&context).unwrap().mark().unwrap();
    for error in [failed(event.is_done()), failed(event.wait())] {
        assert!(error.ends_with("work in a queue: CL_OUT_OF_RESOURCES (-5)"), "{error}");
    }
}

/// The codes that the next allocation and the next write return, and how often memory was given
/// back.
static CODES: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];
static RELEASED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn memory_that_is_not_there_is_out_of_memory_and_later_there() {
    unsafe extern "C" fn create(
        context: Object,
        flags: u64,
        bytes: usize,
        host: *mut c_void,
        code: *mut i32,
    ) -> Object {
        match CODES[0].swap(0, Ordering::Relaxed) {
            // SAFETY: the caller's arguments.
            0 => unsafe { (real().clCreateBuffer)(context, flags, bytes, host, code) },
            other => {
                // SAFETY: as above.
                unsafe { *code = other };
                std::ptr::null_mut()
            }
        }
    }
    unsafe extern "C" fn write(
        queue: Object,
        memory: Object,
        blocking: u32,
        at: usize,
        bytes: usize,
        from: *const c_void,
        count: u32,
        events: *const Object,
        event: *mut Object,
    ) -> i32 {
        match CODES[1].swap(0, Ordering::Relaxed) {
            // SAFETY: the caller's arguments.
            0 => unsafe {
                (real().clEnqueueWriteBuffer)(queue, memory, blocking, at, bytes, from, count, events, event)
            },
            code => code,
        }
    }
    unsafe extern "C" fn release(memory: Object) -> i32 {
        RELEASED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's argument.
        unsafe { (real().clReleaseMemObject)(memory) }
    }
    let Some(context) = patched_context(|table| {
        table.clCreateBuffer = create;
        table.clEnqueueWriteBuffer = write;
        table.clReleaseMemObject = release;
    }) else {
        return;
    };
    for lacks in [-4, -5, -6, -61] {
        // The driver may lack memory when it is asked for it, and when it is first used.
        for (call, code) in CODES.iter().enumerate() {
            code.store(lacks, Ordering::Relaxed);
            let error = Memory::new(&context, 12345, "the sources").and_then(|memory| memory.touch()).err();
            assert_eq!(error, Some(Error::OutOfMemory { what: "the sources", bytes: 12345 }));
            assert_eq!(RELEASED.swap(0, Ordering::Relaxed), call, "what was made before is given back");
        }
        CODES[0].store(lacks, Ordering::Relaxed);
        let error = Staging::mapped(&context, 77, "the sinks").err();
        assert_eq!(error, Some(Error::OutOfMemory { what: "the sinks", bytes: 77 }));
    }
    let memory = Memory::new(&context, 12345, "the sources").unwrap();
    assert_eq!(memory.touch(), Ok(()));
    let queue = Queue::new(&context).unwrap();
    CODES[1].store(-4, Ordering::Relaxed);
    // SAFETY: it fails before it touches anything.
    let error = unsafe { queue.write(std::ptr::null(), &memory, 0, 8) }.err();
    assert_eq!(error, Some(Error::OutOfMemory { what: "the sources", bytes: 12345 }));
    CODES[0].store(UNKNOWN, Ordering::Relaxed);
    assert!(failed(Memory::new(&context, 1, "the sources")).contains("clCreateBuffer: error -9999"));
    // No device has this much memory.
    let error = Memory::new(&context, usize::MAX / 4, "the sources").err();
    assert_eq!(error, Some(Error::OutOfMemory { what: "the sources", bytes: usize::MAX / 4 }));
    // `black_box` stands here because the compiler may remove an allocation that nothing reads.
    let error = std::hint::black_box(Staging::plain(usize::MAX / 4, "the sinks")).err();
    assert_eq!(error, Some(Error::OutOfMemory { what: "the sinks", bytes: usize::MAX / 4 }));
}

#[test]
fn a_fork_is_told_so_and_calls_nothing() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    /// Functions that call the driver's own, and end a fork that calls them.
    macro_rules! watch {
        ($table:ident: $($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
            $({
                unsafe extern "C" fn watched($($argument: $kind),*) -> $result {
                    if real_process() != std::process::id() {
                        // SAFETY: the child ends here.
                        unsafe { _exit(2) };
                    }
                    // SAFETY: the caller's arguments.
                    unsafe { (real().$name)($($argument),*) }
                }
                $table.$name = watched;
            })*
        };
    }
    fn real_process() -> u32 {
        driver().map_or(0, |driver| driver.process)
    }
    let Some(context) = patched_context(|table| {
        watch! { table:
            clCreateBuffer(a: Object, b: u64, c: usize, d: *mut c_void, e: *mut i32) -> Object;
            clCreateCommandQueue(a: Object, b: Object, c: u64, d: *mut i32) -> Object;
            clFinish(a: Object) -> i32;
            clReleaseMemObject(a: Object) -> i32;
            clReleaseKernel(a: Object) -> i32;
            clReleaseCommandQueue(a: Object) -> i32;
            clReleaseEvent(a: Object) -> i32;
            clReleaseContext(a: Object) -> i32;
        }
    }) else {
        return;
    };
    let memory = Memory::new(&context, 8, "the sources").unwrap();
    let staging = Staging::mapped(&context, 8, "the sinks").unwrap();
    let queue = Queue::new(&context).unwrap();
    let (event, kernel) = (queue.mark().unwrap(), adder(&context));
    // SAFETY: the child calls nothing that needs the threads it has lost, and leaves by `_exit`.
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let told = match queue.synchronize() {
            Err(error @ Error::DeviceFailed { .. }) => error.to_string().contains("forked from one that uses OpenCL"),
            _ => false,
        };
        let told = told && Memory::new(&context, 8, "the sources").is_err() && Queue::new(&context).is_err();
        let told = told && event.is_done().is_err() && devices().is_err() && Context::new(0).is_err();
        drop((memory, staging, queue, event, kernel, context));
        // SAFETY: the child ends here.
        unsafe { _exit(if told { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child found other than it should");
    assert_eq!(queue.synchronize(), Ok(()));
}
