//! The facade on a driver that works and fails as a test says.

use crate::gpu::{Gpu as _, HostMemory as _, Mapped as _};
use kyoho_core::ResultCode;

use super::fake::{self, fail, fail_once, state};
use super::*;

pub fn context(number: usize) -> std::sync::Arc<Context> {
    Context::of(fake::driver(), number).unwrap()
}

/// Returns the message of an error that must be the lack of a backend.
fn no_backend<T>(result: Result<T>) -> String {
    let error = result.err().expect("an error");
    assert_eq!(error.code(), ResultCode::NoBackend, "{error}");
    error.to_string()
}

/// Returns the message of an error that must be a device's failure.
pub fn failed<T>(result: Result<T>) -> String {
    let error = result.err().expect("an error");
    assert_eq!(error.code(), ResultCode::DeviceFailed, "{error}");
    error.to_string()
}

/// Ends the last use of a context, after which the driver has everything back.
pub fn end(context: std::sync::Arc<Context>) {
    drop(context);
    assert!(state(|state| state.live.is_empty()));
    assert_eq!(state(|state| state.contexts), 0);
}

pub const CUBIN: &[u8] = b"\x7fELF and so on";

// The driver is found or not.

#[test]
fn a_driver_that_is_too_old_says_what_it_supports() {
    state(|state| state.version = 11080);
    // Its library also lacks functions, and the error names the version as the reason.
    state(|state| state.without = Some("cuLaunchKernelEx"));
    let error = no_backend(fake::initialised());
    assert!(error.contains("CUDA 11.8") && error.contains("needed: 12.0"), "{error}");
    assert!(!state(|state| state.calls.contains(&"cuInit")));
}

#[test]
fn a_function_that_the_library_has_not_is_named() {
    for name in ["cuDriverGetVersion", "cuInit", "cuMemAlloc_v2", "cuLaunchKernelEx"] {
        state(|state| state.without = Some(name));
        let error = no_backend(fake::initialised());
        assert!(error.contains("too old") && error.contains(name), "{error}");
    }
}

#[test]
fn a_driver_that_does_not_start_says_why_and_is_tried_again() {
    fail_once("cuInit", 34);
    let error = no_backend(fake::initialised());
    assert!(error.contains("cuInit: CUDA_ERROR_STUB_LIBRARY (34): CUDA driver is a stub library"), "{error}");
    assert!(fake::initialised().is_ok());
    fail_once("cuDriverGetVersion", 12345);
    assert!(no_backend(fake::initialised()).contains("cuDriverGetVersion: error 12345"));
}

#[test]
fn no_device_is_no_backend() {
    fail_once("cuInit", 100);
    assert!(no_backend(fake::initialised()).contains("finds no device"));
    let driver = fake::initialised().unwrap();
    state(|state| state.devices = 0);
    assert!(no_backend(driver.devices()).contains("finds no device"));
    fail_once("cuDeviceGetCount", 100);
    assert!(no_backend(driver.devices()).contains("finds no device"));
    fail_once("cuDeviceGetCount", 12345);
    assert!(no_backend(driver.devices()).contains("cuDeviceGetCount: error 12345"));
}

#[test]
fn devices_are_told_without_a_context() {
    let devices = fake::initialised().unwrap().devices().unwrap();
    assert_eq!(devices.len(), 2);
    let first = Properties {
        name: "Fake 0".into(),
        compute: (9, 0),
        multiprocessors: 132,
        memory: 139 << 30,
        clock_khz: 1_980_000,
        l2: 60 << 20,
        has_pools: true,
        bus: "0000:0A:00.0".into(),
    };
    assert_eq!(devices[0], first);
    assert_eq!((devices[1].name.as_str(), devices[1].compute), ("Fake 1", (8, 0)));
    assert!(!state(|state| state.calls.iter().any(|call| call.contains("Ctx"))));
    let description = super::description(&first);
    assert_eq!(description.name, "Fake 0");
    assert_eq!(description.details, "132 multiprocessors, 139 GiB, compute 9.0, bus 0000:0A:00.0");
}

#[test]
fn a_device_that_is_not_there_fails_by_its_number() {
    let error = failed(Context::of(fake::driver(), 7));
    assert!(error.contains("device 7 failed: cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101)"), "{error}");
}

// Errors.

#[test]
fn a_failure_has_device_call_name_code_and_text() {
    let stream = Stream::new(&context(1)).unwrap();
    fail_once("cuStreamSynchronize", 700);
    assert_eq!(
        failed(stream.synchronize()),
        "device 1 (Fake 1) failed: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): \
         an illegal memory access was encountered"
    );
    assert_eq!(stream.synchronize(), Ok(()));
}

#[test]
fn codes_that_the_driver_has_no_name_for_are_told_as_numbers() {
    let context = context(0);
    let stream = Stream::new(&context).unwrap();
    let module = Module::new(&context, CUBIN).unwrap();
    let function = module.function("kyoho_force").unwrap();
    for code in [12345, -1, i32::MAX] {
        assert!(failed(context.check(code, "cuSomething")).contains(&format!("cuSomething: error {code}, ")));
        fail_once("cuLaunchKernel", code);
        // SAFETY: the fake launches nothing.
        let result = unsafe { stream.launch(function, (1, 1), 32, 0, false, &mut []) };
        assert!(failed(result).contains(&format!("cuLaunchKernel: error {code}, ")));
        fail_once("cuStreamQuery", code);
        assert!(failed(stream.is_done()).contains(&format!("cuStreamQuery: error {code}, ")));
    }
}

#[test]
fn a_device_whose_name_fails_too_is_told_by_number() {
    let context = context(0);
    fail("cuDeviceGetName", 999);
    let error = failed(context.check(700, "cuX"));
    assert!(error.contains("device 0 failed: cuX: CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
}

#[test]
fn memory_that_is_not_there_is_out_of_memory_and_later_there() {
    let context = context(0);
    fail_once("cuMemAllocFromPoolAsync", 2);
    let error = Memory::new(&context, 12345, "the sources").err();
    assert_eq!(error, Some(Error::OutOfMemory { what: "the sources", bytes: 12345 }));
    fail_once("cuMemHostAlloc", 2);
    let error = Pinned::new(&context, 77, "the sinks").err();
    assert_eq!(error, Some(Error::OutOfMemory { what: "the sinks", bytes: 77 }));
    assert!(Memory::new(&context, 12345, "the sources").is_ok());
    fail_once("cuMemAllocFromPoolAsync", 700);
    let error = failed(Memory::new(&context, 1, "the sources"));
    assert!(error.contains("cuMemAllocFromPoolAsync: CUDA_ERROR_ILLEGAL_ADDRESS"), "{error}");
    // Only calls that ask for memory know its purpose.
    fail_once("cuStreamCreateWithPriority", 2);
    assert!(failed(Stream::new(&context)).contains("cuStreamCreateWithPriority: CUDA_ERROR_OUT_OF_MEMORY (2)"));
    end(context);
}

#[test]
fn nothing_is_lost_where_the_second_of_two_calls_fails() {
    let context = context(0);
    fail("cuMemHostGetDevicePointer_v2", 700);
    failed(Pinned::new(&context, 64, "the sinks"));
    let words = [0u64; 4];
    // SAFETY: the fake records only the address.
    failed(unsafe { Registered::new(&context, words.as_ptr().cast(), 32) });
    fail_once("cuStreamSynchronize", 700);
    failed(Memory::new(&context, 8, "the sources"));
    fail_once("cuCtxSetCurrent", 700);
    failed(Context::of(context.driver, 1));
    assert_eq!(state(|state| state.contexts), 1);
    end(context);
}

// Contexts, modules and memory are given back.

#[test]
fn everything_is_given_back_once() {
    let context = context(0);
    let words = [0u64; 4];
    {
        let _stream = Stream::new(&context).unwrap();
        let _event = Event::new(&context, true).unwrap();
        let _memory = Memory::new(&context, 8, "a number").unwrap();
        // The driver has no memory without a byte.
        let _nothing = Memory::new(&context, 0, "nothing").unwrap();
        let _pinned = Pinned::new(&context, 0, "nothing").unwrap();
        let _module = Module::new(&context, CUBIN).unwrap();
        // SAFETY: the words outlive it.
        let registered = unsafe { Registered::new(&context, words.as_ptr().cast(), 32) }.unwrap();
        assert_eq!(registered.device_address(), words.as_ptr() as u64);
        // With the pool and the stream in which it makes memory.
        assert_eq!(state(|state| (state.live.len(), state.flags)), (8, 3));
    }
    // These are left, a stream, and page-locked memory.
    assert_eq!(state(|state| (state.live.len(), state.contexts)), (4, 1));
    end(context);
}

/// A context is held as long as anything that was made on it.
#[test]
fn a_context_is_released_after_what_was_made_on_it() {
    let context = context(0);
    let memory = Memory::new(&context, 8, "the sources").unwrap();
    drop(context);
    assert_eq!(state(|state| state.contexts), 1);
    drop(memory);
    assert_eq!(
        given_back(),
        ["cuMemFree_v2", "cuStreamDestroy_v2", "cuMemPoolDestroy", "cuDevicePrimaryCtxRelease_v2"]
    );
}

/// Returns the calls that gave something back.
fn given_back() -> Vec<&'static str> {
    let gives_back = |call: &&str| ["Free", "Destroy", "Release"].iter().any(|word| call.contains(word));
    state(|state| state.calls.iter().copied().filter(gives_back).collect())
}

#[test]
fn a_dead_context_can_be_dropped() {
    let release = "cuDevicePrimaryCtxRelease_v2";
    let frees = ["cuMemFree_v2", "cuStreamDestroy_v2", "cuStreamDestroy_v2", "cuMemPoolDestroy", release];
    let dead = ["cuStreamQuery", "cuMemFree_v2", "cuStreamDestroy_v2", "cuMemPoolDestroy", release];
    for (dead, tried) in [(&dead[..], &frees[..]), (&["cuCtxSetCurrent"], &frees[4..])] {
        let context = context(0);
        let stream = Stream::new(&context).unwrap();
        let memory = Memory::new(&context, 8, "the sources").unwrap();
        state(|state| state.calls.clear());
        dead.iter().for_each(|call| fail(call, 700));
        drop((memory, stream, context));
        assert_eq!(given_back(), tried);
        dead.iter().for_each(|call| fail(call, 0));
    }
}

#[test]
fn a_fork_is_told_so_and_calls_nothing() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let context = context(0);
    let memory = Memory::new(&context, 8, "the sources").unwrap();
    let (stream, pinned) = (Stream::new(&context).unwrap(), Pinned::new(&context, 8, "the sinks").unwrap());
    let calls = state(|state| state.calls.len());
    // SAFETY: the child calls nothing that needs the threads it has lost, and leaves by `_exit`.
    let child = unsafe { fork() };
    assert!(child >= 0);
    if child == 0 {
        let told = match context.bind() {
            Err(error @ Error::DeviceFailed { .. }) => error.to_string().contains("device 0 (Fake 0)"),
            _ => false,
        };
        let told = told && Stream::new(&context).is_err() && Memory::new(&context, 8, "numbers").is_err();
        drop((memory, stream, pinned, context));
        let silent = state(|state| state.calls.len()) == calls;
        // SAFETY: the child ends here.
        unsafe { _exit(if told && silent { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a local variable.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child found other than it should");
    assert_eq!(context.bind(), Ok(()));
}

// Work.

#[test]
fn bytes_go_where_they_are_sent() {
    let context = context(0);
    let stream = Stream::new(&context).unwrap();
    assert_eq!(state(|state| state.flags), 1, "streams do not wait for the default stream");
    let (one, two) = (Memory::new(&context, 32, "one").unwrap(), Memory::new(&context, 32, "two").unwrap());
    assert_eq!(one.bytes(), 32);
    let sent: [u32; 8] = std::array::from_fn(|place| place as u32 + 1);
    let mut pinned = Pinned::new(&context, 34, "the results").unwrap();
    // SAFETY: nothing uses it yet.
    assert_eq!(unsafe { pinned.part::<u32>(0..8) }, [0; 8], "page-locked memory begins with zeros");
    assert_eq!((pinned.bytes(), pinned.device_address(1)), (34, Some(pinned.as_ptr() as u64 + 1)));
    // SAFETY: all of it is there and copies are done at once.
    unsafe {
        stream.to_device(sent.as_ptr().cast(), one.address(), 32).unwrap();
        stream.device_to_device(one.address(), two.address(), 32).unwrap();
        stream.zero(two.address(), 4).unwrap();
        stream.from_device(two.address(), pinned.as_mut_ptr(), 32).unwrap();
        assert_eq!(pinned.part::<u32>(0..8), [0, 2, 3, 4, 5, 6, 7, 8]);
        pinned.part_mut::<u32>(7..8)[0] = 9;
        assert_eq!(pinned.part::<u64>(3..4), [7 | 9 << 32]);
    }
}

#[test]
fn copies_go_from_one_device_to_another() {
    let devices = [1, 0].map(|number| Cuda::on(context(number)));
    let memories = [0, 1].map(|device| devices[device].allocate(32, "a copy").unwrap());
    let (sent, mut found) = ([5u8; 32], [0u8; 32]);
    assert!(devices[1].reaches(&devices[0]));
    let stream = devices[1].queue().unwrap();
    // SAFETY: all of it is there and copies are done at once.
    unsafe {
        stream.to_device(sent.as_ptr(), memories[0].address(), 32).unwrap();
        devices[1].copy_from_other(&stream, (&devices[0], &memories[0]), &memories[1], 32).unwrap();
        stream.from_device(memories[1].address(), found.as_mut_ptr(), 32).unwrap();
    }
    assert_eq!(found, sent);
    fail("cuMemcpyPeerAsync", 700);
    // SAFETY: it fails before it touches anything.
    let refused = unsafe { devices[1].copy_from_other(&stream, (&devices[0], &memories[0]), &memories[1], 32) };
    assert!(failed(refused).contains("failed: cuMemcpyPeerAsync: CUDA_ERROR_ILLEGAL_ADDRESS"));
}

#[test]
fn failing_copies_are_named() {
    let context = context(0);
    let stream = Stream::new(&context).unwrap();
    let names = ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemsetD8Async"];
    for name in ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async"] {
        fail(name, 700);
    }
    let none = std::ptr::null_mut();
    // SAFETY: each fails before it touches anything.
    let results = unsafe {
        [
            stream.to_device(none, 0, 1),
            stream.from_device(0, none, 1),
            stream.device_to_device(0, 0, 1),
            stream.zero(0, 1),
        ]
    };
    for (result, name) in results.into_iter().zip(names) {
        let error = failed(result);
        assert!(error.contains(&format!("failed: {name}: CUDA_ERROR_ILLEGAL_ADDRESS")), "{error}");
    }
}

#[test]
fn queries_tell_what_is_not_ready_from_what_failed() {
    let context = context(0);
    let stream = Stream::new(&context).unwrap();
    let (earlier, later) = (Event::new(&context, false).unwrap(), Event::new(&context, true).unwrap());
    assert_eq!(state(|state| state.flags), 0);
    earlier.record(&stream).unwrap();
    stream.wait_for(&earlier).unwrap();
    assert_eq!(stream.is_done(), Ok(true));
    fail_once("cuStreamQuery", 600);
    assert_eq!(stream.is_done(), Ok(false));
    fail_once("cuStreamQuery", 700);
    assert!(failed(stream.is_done()).contains("cuStreamQuery"));
    assert_eq!(later.milliseconds_since(&earlier), Ok(1.5));
    for (call, wait) in [
        ("cuStreamSynchronize", &(|| stream.synchronize()) as &dyn Fn() -> Result<()>),
        ("cuEventSynchronize", &|| later.synchronize()),
        ("cuEventRecord", &|| later.record(&stream)),
        ("cuStreamWaitEvent", &|| stream.wait_for(&later)),
    ] {
        assert_eq!(wait(), Ok(()));
        fail_once(call, 700);
        assert!(failed(wait()).contains(call));
    }
}

#[test]
fn kernels_overlap_where_asked_and_able() {
    for (number, overlaps, call) in [
        (0, true, "cuLaunchKernelEx"),
        (0, false, "cuLaunchKernel"),
        (1, true, "cuLaunchKernel"),
        (1, false, "cuLaunchKernel"),
    ] {
        let context = context(number);
        let stream = Stream::new(&context).unwrap();
        let module = Module::new(&context, CUBIN).unwrap();
        let function = module.function("kyoho_force").unwrap();
        // SAFETY: the fake launches nothing.
        unsafe { stream.launch(function, (3, 2), 256, 0, overlaps, &mut []) }.unwrap();
        assert!(state(|state| state.calls.contains(&call)), "device {number}, {overlaps}");
        state(|state| state.calls.clear());
        fail_once(call, 700);
        // SAFETY: as above.
        let result = unsafe { stream.launch(function, (3, 2), 256, 0, overlaps, &mut []) };
        assert!(failed(result).contains(&format!("{call}: ")));
    }
}

#[test]
fn thread_blocks_that_wait_for_one_another_are_begun_together() {
    let context = context(0);
    let stream = Stream::new(&context).unwrap();
    let module = Module::new(&context, CUBIN).unwrap();
    let function = module.function("kyoho_chain").unwrap();
    // SAFETY: the fake launches nothing.
    let launch = || unsafe { stream.launch_together(function, 3, 128, &mut []) };
    launch().unwrap();
    fail_once("cuLaunchCooperativeKernel", 720);
    assert!(failed(launch()).contains("cuLaunchCooperativeKernel: "));
}

#[test]
fn modules_are_cubins_or_text_with_an_end() {
    let context = context(0);
    let module = Module::new(&context, b".version 8.0\0").unwrap();
    let function = module.function("kyoho_force").unwrap();
    assert_eq!(function.occupancy(256, 0), Ok(8));
    let error = failed(module.function("other"));
    assert!(error.contains("CUDA_ERROR_NOT_FOUND") && error.contains("kernel other"), "{error}");
    assert_eq!(module.function("ky\0ho").err().unwrap().code(), ResultCode::Internal);
    for endless in [&b".version 8.0"[..], b""] {
        assert_eq!(Module::new(&context, endless).err().unwrap().code(), ResultCode::Internal);
    }
}

#[test]
fn a_kernel_is_looked_up_until_it_is_found() {
    let context = context(0);
    let module = Module::new(&context, CUBIN).unwrap();
    fail_once("cuModuleGetFunction", 700);
    assert!(failed(module.function("kyoho_force")).contains("(kernel kyoho_force)"));
    let found = ["kyoho_force", "kyoho_end", "kyoho_force"].map(|name| module.function(name).unwrap().handle.0);
    assert!(found[0] != found[1] && found[0] == found[2]);
    assert_eq!(state(|state| state.calls.iter().filter(|call| **call == "cuModuleGetFunction").count()), 3);
}

#[test]
fn what_the_compiler_says_is_told() {
    let context = context(0);
    state(|state| state.log = "ptxas fatal: unexpected end\n");
    let error = failed(Module::new(&context, b"nonsense\0"));
    assert!(error.contains("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): "), "{error}");
    assert!(error.ends_with("; ptxas fatal: unexpected end"), "{error}");
    end(context);
}

#[test]
fn without_a_compiler_of_the_driver_the_linker_is_asked() {
    let context = context(0);
    fail("cuModuleLoadDataEx", 221);
    let error = failed(Module::new(&context, b".version 8.0 nonsense\0"));
    assert!(error.contains("cuModuleLoadDataEx: error 221"), "{error}");
    // Whether it is there or not, its name stands in the error.
    assert!(error.contains("nvJitLink"), "{error}");
    fail("cuModuleLoadDataEx", 200);
    let error = failed(Module::new(&context, b".version 8.0\0"));
    assert!(!error.contains("nvJitLink"), "a failure of another kind: {error}");
    end(context);
}

#[test]
fn the_callers_context_is_current_after_each_use() {
    const OF_CALLER: usize = 77;
    let context = context(0);
    state(|state| state.current = OF_CALLER);
    let entered = context.enter().unwrap();
    assert_ne!(state(|state| state.current), OF_CALLER);
    drop(entered);
    assert_eq!(state(|state| state.current), OF_CALLER);
}

#[test]
fn memory_that_is_registered_twice_is_given_back_by_who_registered_it() {
    let context = context(0);
    let memory = [0u8; 256];
    // SAFETY: the memory outlasts both registrations.
    let [first, second] = [0, 1].map(|_| unsafe { Registered::new(&context, memory.as_ptr(), 256) }.unwrap());
    assert_eq!(first.device_address(), second.device_address());
    let given_back = || state(|state| state.calls.iter().filter(|call| **call == "cuMemHostUnregister").count());
    drop(second);
    assert_eq!(given_back(), 0);
    drop(first);
    assert_eq!(given_back(), 1);
}
