//! Work that the device does.

use crate::gpu::Argument;
use crate::gpu::HostMemory as _;

use super::*;

#[test]
fn devices_are_told_without_a_context() {
    unsafe extern "C" fn never(
        _: *const isize,
        _: u32,
        _: *const Object,
        _: Option<unsafe extern "C" fn()>,
        _: *mut std::ffi::c_void,
        code: *mut i32,
    ) -> Object {
        // SAFETY: the caller passes a place for the code.
        unsafe { *code = -6 };
        std::ptr::null_mut()
    }
    let Some(driver) = patched(|table| table.clCreateContext = never) else { return };
    let found = driver.devices().unwrap();
    let first = &found.usable[0];
    assert!(!first.name.is_empty() && !first.vendor.is_empty() && !first.platform.is_empty());
    assert!(!first.driver_version.is_empty() && first.platform_version.starts_with("OpenCL "));
    assert!(first.version >= (1, 2) && first.address_bits == 64);
    assert!(first.compute_units > 0 && first.max_threads > 0);
    assert!(first.memory >= first.max_allocation && first.max_allocation > 0 && first.local_memory > 0);
    assert!(found.usable.is_sorted_by_key(|device| device.kind));
    assert!(failed(Context::of(driver, 0)).contains("clCreateContext: CL_OUT_OF_HOST_MEMORY (-6)"));
}

#[test]
fn bytes_go_where_they_are_sent() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let one = eight(&context, &queue);
    let two = Memory::new(&context, 32, "two").unwrap();
    assert_eq!(one.bytes(), 32);
    let number = 50i32;
    // SAFETY: all of it is there until the queue was waited for.
    unsafe {
        queue.copy(&one, &two, 32).unwrap();
        queue.zero(&two, 8).unwrap();
        queue.write((&raw const number).cast(), &two, 28, 4).unwrap();
    }
    assert_eq!(integers(&queue, &two), [0, 0, 3, 4, 5, 6, 7, 50]);
    assert_eq!(integers(&queue, &one), [1, 2, 3, 4, 5, 6, 7, 8]);
    let mut last = 0i32;
    // SAFETY: as above.
    unsafe { queue.read(&two, 28, (&raw mut last).cast(), 4) }.unwrap();
    queue.synchronize().unwrap();
    assert_eq!(last, 50);
}

#[test]
fn nothing_at_all_can_be_had_and_moved() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let nothing = Memory::new(&context, 0, "nothing").unwrap();
    assert_eq!(nothing.bytes(), 0);
    let none = std::ptr::null_mut();
    // SAFETY: no byte is touched.
    unsafe {
        queue.write(none, &nothing, 0, 0).unwrap();
        queue.copy(&nothing, &nothing, 0).unwrap();
        queue.zero(&nothing, 0).unwrap();
        queue.read(&nothing, 0, none, 0).unwrap().wait().unwrap();
    }
    for staging in [Staging::plain(0, "nothing").unwrap(), Staging::mapped(&context, 0, "nothing").unwrap()] {
        assert!(staging.bytes() == 0);
    }
}

#[test]
fn host_memory_begins_with_zeros_and_takes_whole_values() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let memory = eight(&context, &queue);
    let page_locked = Staging::mapped(&context, 34, "the results").unwrap();
    for mut staging in [Staging::new(&context, 34, "the results").unwrap(), page_locked] {
        // SAFETY: nothing uses it yet.
        assert_eq!((staging.bytes(), unsafe { staging.part::<u32>(0..8) }), (34, &[0; 8][..]));
        assert_eq!(staging.as_ptr() as usize % 16, 0);
        // SAFETY: all of it is there until the queue was waited for.
        unsafe {
            queue.read(&memory, 0, staging.as_mut_ptr(), 32).unwrap().wait().unwrap();
            assert_eq!(staging.part::<u32>(0..8), [1, 2, 3, 4, 5, 6, 7, 8]);
            staging.part_mut::<u32>(7..8)[0] = 9;
            assert_eq!(staging.part::<u64>(3..4), [7 | 9 << 32]);
            queue.write(staging.as_ptr(), &memory, 0, 32).unwrap();
        }
        assert_eq!(integers(&queue, &memory), [1, 2, 3, 4, 5, 6, 7, 9]);
        // SAFETY: as above; `integers` has waited.
        unsafe {
            staging.part_mut::<u32>(7..8)[0] = 8;
            queue.write(staging.as_ptr(), &memory, 0, 32).unwrap();
        }
        queue.synchronize().unwrap();
    }
}

#[test]
fn kernels_work_with_the_arguments_set_last() {
    let Some(context) = context() else { return };
    let queue = Queue::new(&context).unwrap();
    let (one, two) = (eight(&context, &queue), eight(&context, &queue));
    let mut kernel = adder(&context);
    for (memory, number) in [(&one, 10i32), (&one, 10), (&two, 10), (&two, 100)] {
        kernel.set(0, Argument::Memory(memory.address())).unwrap();
        kernel.set(1, Argument::Bytes(&number.to_ne_bytes())).unwrap();
        // SAFETY: the arguments are set and the memory stays.
        unsafe { queue.launch(&mut kernel, 2, 4) }.unwrap();
    }
    assert_eq!(integers(&queue, &one), [21, 22, 23, 24, 25, 26, 27, 28]);
    assert_eq!(integers(&queue, &two), [111, 112, 113, 114, 115, 116, 117, 118]);
}

#[test]
fn work_of_one_queue_waits_for_that_of_another() {
    let Some(context) = context() else { return };
    let (first, second) = (Queue::timed(&context).unwrap(), Queue::new(&context).unwrap());
    let (memory, copy) = (eight(&context, &first), Memory::new(&context, 32, "the copy").unwrap());
    let mut kernel = adder(&context);
    kernel.set(0, Argument::Memory(memory.address())).unwrap();
    for turn in 1..50 {
        kernel.set(1, Argument::Bytes(&1i32.to_ne_bytes())).unwrap();
        // SAFETY: the arguments are set, and all memory stays until both queues were waited for.
        let launched = unsafe { first.launch_marked(&mut kernel, 2, 4) }.unwrap();
        let mark = first.mark().unwrap();
        first.flush().unwrap();
        second.wait_for(&mark).unwrap();
        // SAFETY: as above.
        unsafe { second.copy(&memory, &copy, 32) }.unwrap();
        assert_eq!(integers::<2>(&second, &copy), [turn + 1, turn + 2]);
        launched.wait().unwrap();
        assert_eq!((launched.is_done(), mark.is_done()), (Ok(true), Ok(true)));
        let seconds = launched.seconds().unwrap();
        assert!((0.0..10.0).contains(&seconds), "{seconds}");
    }
}

#[test]
fn a_kernel_may_be_in_several_queues_while_its_program_is_kept() {
    const SLOW: &str =
        "__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void slow(__global volatile int *numbers)
        { for (int turn = 0; turn < 1000; ++turn) numbers[get_global_id(0)] += 1; }";
    let Some(context) = context() else { return };
    let scratch = Scratch::new("queues");
    let program = Program::kept_in(&scratch.folder(), &context, "slow", SLOW, OPTIONS).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (context, program, scratch) = (&*context, &program, &scratch);
            scope.spawn(move || {
                let (queue, mut kernel) = (Queue::new(context).unwrap(), program.kernel("slow").unwrap());
                let memory = Memory::new(context, 4 * 4 * 300, "the numbers").unwrap();
                kernel.set(0, Argument::Memory(memory.address())).unwrap();
                // SAFETY: the arguments are set and the memory stays.
                unsafe {
                    queue.zero(&memory, memory.bytes()).unwrap();
                    for turn in 0..300 {
                        queue.launch(&mut kernel, 1 + turn, 4).unwrap();
                        queue.flush().unwrap();
                        if turn == 150 && thread == 0 {
                            Program::kept_in(&scratch.folder(), context, "slow", SLOW, "-cl-std=CL1.2 -DOTHER")
                                .unwrap();
                        }
                    }
                }
                assert_eq!(integers(&queue, &memory), [300_000; 4]);
            });
        }
    });
    assert_eq!(scratch.files().len(), 2);
}

#[test]
fn a_context_is_kept_until_a_call_on_it_fails() {
    let Some(_alone) = context() else { return };
    let first = Context::new(0).unwrap();
    assert!(Arc::ptr_eq(&first, &Context::new(0).unwrap()));
    first.check(-36, "clSomething").unwrap_err();
    let second = Context::new(0).unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(Arc::ptr_eq(&second, &Context::new(0).unwrap()));
    assert!(Memory::new(&first, 8, "the sources").is_ok(), "who holds the old one can go on");
    assert!(failed(Context::new(1000)).contains("device 1000 failed: there are "));
}

#[test]
fn threads_that_open_a_device_at_a_time_get_one_context() {
    const THREADS: usize = 8;
    let Some(_alone) = context() else { return };
    for _ in 0..20 {
        // This makes the next caller make another context.
        Context::new(0).unwrap().check(-36, "clSomething").unwrap_err();
        let together = std::sync::Barrier::new(THREADS);
        let opened: Vec<Arc<Context>> = std::thread::scope(|scope| {
            let open = || {
                together.wait();
                Context::new(0).unwrap()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(opened.iter().all(|context| Arc::ptr_eq(context, &opened[0])));
        assert!(Arc::ptr_eq(&Context::new(0).unwrap(), &opened[0]));
    }
}

#[test]
fn everything_can_go_to_another_thread() {
    fn moves<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    moves::<(Memory, Staging, Queue, Event, Program, Kernel)>();
    is_shared::<(Arc<Context>, Address)>();
}
