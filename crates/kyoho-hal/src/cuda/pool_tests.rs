//! What a context keeps for whoever comes next.

use std::collections::BTreeSet;
use std::sync::{Barrier, Mutex};

use crate::gpu::{Gpu as _, HostMemory as _, Mapped as _};

use super::fake::{self, fail, fail_once, shared, state};
use super::tests::{CUBIN, context, end, failed};
use super::*;

/// Returns how often a call was made.
fn count(name: &str) -> usize {
    state(|state| state.calls.iter().filter(|call| **call == name).count())
}

#[test]
fn memory_comes_from_a_pool_where_there_is_one() {
    let context = context(0);
    assert_eq!(state(|state| state.kept_in_pools), pools::KEPT_ON_DEVICE);
    state(|state| state.calls.clear());
    let memory = Memory::new(&context, 100, "the sources").unwrap();
    // It may be used in every stream afterwards.
    let calls = state(|state| state.calls.clone());
    assert_eq!(calls, ["cuCtxSetCurrent", "cuMemAllocFromPoolAsync", "cuStreamSynchronize"]);
    let address = memory.address();
    assert!(fake::has(address, 100));
    drop(memory);
    assert!(!fake::has(address, 1));
    assert_eq!(count("cuMemAlloc_v2"), 0);
    end(context);
}

#[test]
fn memory_is_allocated_alone_where_there_is_no_pool() {
    state(|state| state.has_pools = false);
    let context = context(0);
    assert!(state(|state| state.live.is_empty()));
    let memory = Memory::new(&context, 100, "the sources").unwrap();
    assert!(fake::has(memory.address(), 100));
    drop(memory);
    fail_once("cuMemAlloc_v2", 2);
    let error = Memory::new(&context, 12345, "the sources").err();
    assert_eq!(error, Some(Error::OutOfMemory { what: "the sources", bytes: 12345 }));
    fail_once("cuMemAlloc_v2", 700);
    assert!(failed(Memory::new(&context, 1, "the sources")).contains("cuMemAlloc: CUDA_ERROR_ILLEGAL_ADDRESS"));
    assert_eq!((count("cuMemPoolCreate"), count("cuMemAllocFromPoolAsync")), (0, 0));
    end(context);
}

/// Every call that opens a context fails in turn, and later every call that makes something on it.
#[test]
fn calls_that_fail_name_themselves_and_lose_nothing() {
    let driver = fake::driver();
    for call in ["cuMemPoolCreate", "cuMemPoolSetAttribute", "cuStreamCreateWithPriority"] {
        fail_once(call, 700);
        let error = failed(Context::of(driver, 0));
        assert!(error.contains(&format!("failed: {call}: CUDA_ERROR_ILLEGAL_ADDRESS")), "{error}");
        assert_eq!(state(|state| (state.live.len(), state.contexts)), (0, 0));
    }
    let context = context(0);
    let memory = || Memory::new(&context, 8, "the sources").map(drop);
    let [small, middle, large] =
        [1, 100 << 10, 5 << 20].map(|bytes| move |context| Pinned::new(context, bytes, "the sinks").map(drop));
    let makes: [(&str, &dyn Fn() -> Result<()>); 6] = [
        ("cuMemAllocFromPoolAsync", &memory),
        ("cuStreamSynchronize", &memory),
        ("cuMemHostAlloc", &|| small(&context)),
        ("cuMemHostGetDevicePointer", &|| small(&context)),
        ("cuMemHostGetDevicePointer", &|| middle(&context)),
        ("cuMemHostGetDevicePointer", &|| large(&context)),
    ];
    let kept = state(|state| state.live.len());
    for (call, make) in makes {
        fail_once(if call.ends_with("Pointer") { "cuMemHostGetDevicePointer_v2" } else { call }, 700);
        let waits = count("cuCtxSynchronize");
        let error = failed(make());
        assert!(error.contains(&format!("failed: {call}: CUDA_ERROR_ILLEGAL_ADDRESS")), "{error}");
        assert_eq!(state(|state| state.live.len()), kept, "{call}");
        // Whoever gives up drops memory that the device may still be using.
        assert_eq!(count("cuCtxSynchronize"), waits + 1, "{call}");
    }
    for (_, make) in makes {
        assert_eq!(make(), Ok(()));
    }
    end(context);
}

#[test]
fn host_memory_is_used_again_and_zero_each_time() {
    let context = context(0);
    for (bytes, room) in
        [(1, 4096), (4096, 4096), (4097, 8192), (65_536, 65_536), (65_537, 131_072), (4 << 20, 4 << 20)]
    {
        let mut addresses = BTreeSet::new();
        for _ in 0..3 {
            let mut pinned = Pinned::new(&context, bytes, "the sinks").unwrap();
            assert_eq!(pinned.bytes(), bytes);
            assert_eq!(pinned.device_address(0), Some(pinned.as_ptr() as u64));
            assert!(fake::has(pinned.as_ptr() as u64, room));
            // SAFETY: no work uses it.
            let contents = unsafe { pinned.part_mut::<u8>(0..bytes) };
            assert!(contents.iter().all(|byte| *byte == 0), "{bytes}");
            contents.fill(7);
            addresses.insert(pinned.as_ptr() as usize);
        }
        assert_eq!(addresses.len(), 1, "{bytes}");
    }
    // 4096 bytes have one size whether all are used or not.
    assert_eq!((count("cuMemHostAlloc"), count("cuMemFreeHost")), (5, 0));
    end(context);
}

#[test]
fn small_host_memory_is_made_for_several_and_large_one_goes_back() {
    let context = context(0);
    let take = |bytes| Pinned::new(&context, bytes, "the sinks").unwrap();
    let small: Vec<Pinned> = (0..33).map(|_| take(5000)).collect();
    assert_eq!(count("cuMemHostAlloc"), 3);
    drop(small);
    assert_eq!(count("cuMemFreeHost"), 0);
    // 32 MiB of larger memory are kept, and none that is larger than 4 MiB.
    let middle: Vec<Pinned> = (0..10).map(|_| take(3 << 20)).collect();
    drop(middle);
    assert_eq!((count("cuMemHostAlloc"), count("cuMemFreeHost")), (13, 2));
    let middle: Vec<Pinned> = (0..8).map(|_| take(4 << 20)).collect();
    assert_eq!(count("cuMemHostAlloc"), 13);
    drop(middle);
    drop(take((4 << 20) + 1));
    assert_eq!((count("cuMemHostAlloc"), count("cuMemFreeHost")), (14, 3));
    end(context);
}

#[test]
fn streams_are_used_again_by_priority_unless_they_are_busy() {
    let context = context(0);
    let made = |context| (Stream::new(context).unwrap(), Stream::urgent(context).unwrap());
    let before = count("cuStreamCreateWithPriority");
    drop(made(&context));
    let (usual, urgent) = made(&context);
    assert_eq!(count("cuStreamCreateWithPriority"), before + 2);
    // The kept one is urgent.
    drop(urgent);
    let second = Stream::new(&context).unwrap();
    assert_eq!(count("cuStreamCreateWithPriority"), before + 3);
    for (code, stream) in [(600, usual), (700, second)] {
        let destroyed = count("cuStreamDestroy_v2");
        fail_once("cuStreamQuery", code);
        drop(stream);
        assert_eq!(count("cuStreamDestroy_v2"), destroyed + 1, "{code}");
    }
    drop(Stream::urgent(&context).unwrap());
    assert_eq!(count("cuStreamCreateWithPriority"), before + 3);
    end(context);
}

#[test]
fn more_streams_than_are_kept_go_back() {
    let context = context(0);
    let streams: Vec<Stream> = (0..515).map(|_| Stream::new(&context).unwrap()).collect();
    drop(streams);
    assert_eq!(count("cuStreamDestroy_v2"), 3);
    end(context);
}

/// A second system finds what the first one had.
#[test]
fn a_second_system_asks_the_driver_for_memory_of_the_device_alone() {
    let context = context(0);
    let module = Module::new(&context, CUBIN).unwrap();
    let mut of_systems = [(); 2].map(|()| {
        state(|state| state.calls.clear());
        let streams: Vec<Stream> = (0..6).map(|_| Stream::new(&context).unwrap()).collect();
        let _urgent = Stream::urgent(&context).unwrap();
        let _pinned = [64 << 10, 4, 300_000].map(|bytes| Pinned::new(&context, bytes, "results").unwrap());
        let _memory = Memory::new(&context, 64 << 10, "sources").unwrap();
        let _kernels = ["kyoho_force", "kyoho_end"].map(|name| module.function(name).unwrap());
        drop(streams);
        state(|state| state.calls.clone())
    });
    let [first, second] = &mut of_systems;
    let asked = |calls: &Vec<&str>, name: &str| calls.iter().filter(|call| **call == name).count();
    assert_eq!((asked(first, "cuStreamCreateWithPriority"), asked(first, "cuModuleGetFunction")), (7, 2));
    second.retain(|call| !["cuCtxSetCurrent", "cuStreamQuery"].contains(call));
    assert_eq!(*second, ["cuMemAllocFromPoolAsync", "cuStreamSynchronize"]);
    drop(module);
    end(context);
}

#[test]
fn nothing_is_handed_out_twice_at_a_time() {
    const THREADS: usize = 8;
    let context = context(0);
    let (driver, begin, in_use) = (shared(), Barrier::new(THREADS), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (context, driver, begin, in_use) = (&context, driver.clone(), &begin, &in_use);
            scope.spawn(move || {
                fake::share(driver);
                begin.wait();
                for turn in 0..50 {
                    let sizes = [100, 5000, 4096, 70_000];
                    let mut pinned = sizes.map(|bytes| Pinned::new(context, bytes, "the sinks").unwrap());
                    let stream = Stream::new(context).unwrap();
                    for pinned in &mut pinned {
                        let bytes = pinned.bytes();
                        // SAFETY: no work uses it.
                        let contents = unsafe { pinned.part_mut::<u8>(0..bytes) };
                        assert!(contents.iter().all(|byte| *byte == 0), "somebody else has it");
                        contents.fill(thread as u8 + 1);
                    }
                    let key = stream.handle.0 as usize;
                    assert!(in_use.lock().unwrap().insert(key), "somebody else has the stream");
                    std::thread::yield_now();
                    for pinned in &pinned {
                        // SAFETY: as above.
                        let contents = unsafe { pinned.part::<u8>(0..pinned.bytes()) };
                        assert!(contents.iter().all(|byte| *byte == thread as u8 + 1), "turn {turn}");
                    }
                    in_use.lock().unwrap().remove(&key);
                }
            });
        }
    });
    // At most one for each thread, and that in which memory of the pool is made.
    assert!(count("cuStreamCreateWithPriority") <= THREADS + 1);
    // Together for each of two sizes, whose pieces suffice, and alone for each thread.
    assert!(count("cuMemHostAlloc") <= 2 + THREADS);
    end(context);
}

#[test]
fn devices_that_reach_each_other_reach_the_pools() {
    let devices = [0, 1].map(|number| Cuda::on(context(number)));
    let [from, to] = [0, 1].map(|device| devices[device].allocate(32, "a copy").unwrap());
    let stream = devices[1].queue().unwrap();
    let copy = || {
        // SAFETY: both memories are there, and copies are done at once.
        unsafe { devices[1].copy_from_other(&stream, (&devices[0], &from), &to, 32) }.unwrap();
    };
    // The driver may refuse it, as it may refuse access to the context.
    fail_once("cuMemPoolSetAccess", 217);
    copy();
    copy();
    assert_eq!((count("cuMemPoolSetAccess"), count("cuCtxEnablePeerAccess")), (1, 1));
    drop((stream, from, to));
    // Another context of the first device has another pool.
    let again = Cuda::on(context(0));
    let from = again.allocate(32, "a copy").unwrap();
    let (to, stream) = (devices[1].allocate(32, "a copy").unwrap(), devices[1].queue().unwrap());
    // SAFETY: as above.
    unsafe { devices[1].copy_from_other(&stream, (&again, &from), &to, 32) }.unwrap();
    let readers = state(|state| state.readers.clone());
    assert_eq!(readers.len(), 1);
    assert_eq!(readers[0].1, 1);
    assert!(fake::has(readers[0].0 as u64, 1));
    drop((stream, from, to, again, devices));
    assert!(state(|state| state.live.is_empty()));
}

#[test]
fn a_context_gives_back_before_it_is_released_and_leaves_the_callers_current() {
    const OF_CALLER: usize = 77;
    let context = context(0);
    drop((Stream::new(&context).unwrap(), Pinned::new(&context, 1, "one").unwrap()));
    drop(Pinned::new(&context, 100_000, "another").unwrap());
    state(|state| {
        state.current = OF_CALLER;
        state.calls.clear();
    });
    end(context);
    assert_eq!(state(|state| state.current), OF_CALLER);
    let calls = state(|state| state.calls.clone());
    let expected = [
        "cuCtxGetCurrent",
        "cuCtxSetCurrent",
        "cuStreamDestroy_v2",
        "cuMemFreeHost",
        "cuMemFreeHost",
        "cuStreamDestroy_v2",
        "cuMemPoolDestroy",
        "cuCtxSetCurrent",
        "cuDevicePrimaryCtxRelease_v2",
    ];
    assert_eq!(calls, expected);
}

/// What a failed context keeps goes with it, whatever the driver says to that.
#[test]
fn another_context_uses_nothing_of_one_that_failed() {
    let failing = context(0);
    drop((Stream::new(&failing).unwrap(), Pinned::new(&failing, 1, "one").unwrap()));
    failed(failing.check(700, "cuLaunchKernel"));
    let (streams, memories) = (count("cuStreamCreateWithPriority"), count("cuMemHostAlloc"));
    let next = context(0);
    drop((Stream::new(&next).unwrap(), Pinned::new(&next, 1, "one").unwrap()));
    assert_eq!(count("cuStreamCreateWithPriority"), streams + 2);
    assert_eq!(count("cuMemHostAlloc"), memories + 1);
    let dead = ["cuStreamDestroy_v2", "cuMemFreeHost", "cuMemPoolDestroy"];
    dead.iter().for_each(|call| fail(call, 700));
    drop(failing);
    assert_eq!(state(|state| state.contexts), 1);
    dead.iter().for_each(|call| fail(call, 0));
    drop(next);
    assert_eq!(state(|state| state.contexts), 0);
}
