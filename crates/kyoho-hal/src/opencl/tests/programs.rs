//! Programs are built, kept, loaded and refused.

use crate::gpu::Argument;
use std::cell::Cell;
use std::ffi::c_char;

use super::*;

thread_local! {
    /// How often this thread made programs from source and from kept binaries, and set arguments.
    static CALLS: Cell<[usize; 3]> = const { Cell::new([0; 3]) };
}

fn count(which: usize) {
    let mut calls = CALLS.get();
    calls[which] += 1;
    CALLS.set(calls);
}

unsafe extern "C" fn of_source(
    context: Object,
    count_of_texts: u32,
    texts: *const *const c_char,
    lengths: *const usize,
    code: *mut i32,
) -> Object {
    count(0);
    // SAFETY: the caller's arguments.
    unsafe { (real().clCreateProgramWithSource)(context, count_of_texts, texts, lengths, code) }
}

unsafe extern "C" fn of_binary(
    context: Object,
    devices: u32,
    list: *const Object,
    lengths: *const usize,
    binaries: *const *const u8,
    status: *mut i32,
    code: *mut i32,
) -> Object {
    count(1);
    // SAFETY: the caller's arguments.
    unsafe { (real().clCreateProgramWithBinary)(context, devices, list, lengths, binaries, status, code) }
}

unsafe extern "C" fn set_argument(kernel: Object, place: u32, bytes: usize, value: *const std::ffi::c_void) -> i32 {
    count(2);
    // SAFETY: the caller's arguments.
    unsafe { (real().clSetKernelArg)(kernel, place, bytes, value) }
}

/// Makes a context whose calls are counted.
fn counted() -> Option<Own> {
    CALLS.set([0; 3]);
    patched_context(|table| {
        table.clCreateProgramWithSource = of_source;
        table.clCreateProgramWithBinary = of_binary;
        table.clSetKernelArg = set_argument;
    })
}

/// Makes a program's kernel add 10.
fn add_ten(context: &Arc<Context>, program: &Program) -> [i32; 8] {
    let queue = Queue::new(context).unwrap();
    let memory = eight(context, &queue);
    let mut kernel = program.kernel("add").unwrap();
    kernel.set(0, Argument::Memory(memory.address())).unwrap();
    kernel.set(1, Argument::Bytes(&10i32.to_ne_bytes())).unwrap();
    // SAFETY: the arguments are set and the memory stays.
    unsafe { queue.launch(&mut kernel, 2, 4) }.unwrap();
    integers(&queue, &memory)
}

const SUMS: [i32; 8] = [11, 12, 13, 14, 15, 16, 17, 18];

#[test]
fn a_program_that_was_kept_is_not_built_again() {
    let Some(context) = counted() else { return };
    let scratch = Scratch::new("kept");
    let folder = scratch.folder();
    let first = Program::kept_in(&folder, &context, "adder", ADD, OPTIONS).unwrap();
    assert_eq!(add_ten(&context, &first), SUMS);
    assert_eq!((CALLS.get()[..2].to_vec(), scratch.files().len()), (vec![1, 0], 1));

    let second = Program::kept_in(&folder, &context, "adder", ADD, OPTIONS).unwrap();
    drop(first);
    assert_eq!(add_ten(&context, &second), SUMS);
    assert_eq!(CALLS.get()[..2], [1, 1]);
    // Other options make another program, and so does another source.
    Program::kept_in(&folder, &context, "adder", ADD, "-cl-std=CL1.2 -DOTHER").unwrap();
    Program::kept_in(&folder, &context, "adder", &format!("{ADD} "), OPTIONS).unwrap();
    assert_eq!(CALLS.get()[..2], [3, 1]);
}

#[test]
fn what_the_driver_refuses_is_built_anew() {
    let Some(context) = counted() else { return };
    let scratch = Scratch::new("refused");
    let folder = scratch.folder();
    Program::kept_in(&folder, &context, "adder", ADD, OPTIONS).unwrap();
    let path = scratch.files().remove(0);
    let whole = std::fs::read(&path).unwrap();
    // This is a whole file of the right name without a program in it. It stands for one that an
    // update of the driver made useless.
    let key = Program::key(&context, ADD, OPTIONS);
    folder.store(&key, b"no program at all");
    let program = Program::kept_in(&folder, &context, "adder", ADD, OPTIONS).unwrap();
    assert_eq!(add_ten(&context, &program), SUMS);
    assert_eq!(CALLS.get()[..2], [2, 1]);
    assert!(std::fs::read(&path).unwrap().len() > whole.len() / 2);
    Program::kept_in(&folder, &context, "adder", ADD, OPTIONS).unwrap();
    assert_eq!(CALLS.get()[..2], [2, 2]);
}

#[test]
fn a_program_that_is_distrusted_is_built_anew() {
    let Some(context) = counted() else { return };
    let scratch = Scratch::new("distrusted");
    let folder = scratch.folder();
    let made = || Program::kept_in(&folder, &context, "adder", ADD, OPTIONS).unwrap();
    let first = made();
    first.distrust();
    assert!(!first.is_loaded() && scratch.files().len() == 1, "what was built here stays");
    let second = made();
    second.distrust();
    assert!(second.is_loaded() && scratch.files().is_empty());
    let third = made();
    assert!(!third.is_loaded() && scratch.files().len() == 1);
    assert_eq!(CALLS.get()[..2], [2, 1]);
}

#[test]
fn what_the_compiler_says_is_told() {
    let Some(context) = context() else { return };
    let scratch = Scratch::new("wrong");
    let error = failed(Program::kept_in(&scratch.folder(), &context, "order9", "int wrong(", OPTIONS));
    assert!(error.contains("clBuildProgram: CL_BUILD_PROGRAM_FAILURE (-11) of order9; "), "{error}");
    assert!(error.contains("error: ") && !error.contains('\n'), "{error}");
    assert!(scratch.files().is_empty());
    let error = Program::kept_in(&scratch.folder(), &context, "order9", ADD, "-D\0").err().unwrap();
    assert_eq!(error.code(), ResultCode::Internal);
    let program = Program::kept_in(&scratch.folder(), &context, "adder", ADD, OPTIONS).unwrap();
    let error = failed(program.kernel("other"));
    assert!(error.contains("clCreateKernel: CL_INVALID_KERNEL_NAME (-46) (kernel other of adder)"), "{error}");
    assert_eq!(program.kernel("a\0dd").err().unwrap().code(), ResultCode::Internal);
}

#[test]
fn arguments_are_set_where_they_change_alone() {
    let Some(context) = counted() else { return };
    let mut kernel = adder(&context);
    let memory = Memory::new(&context, 32, "the numbers").unwrap();
    let number = 5i32.to_ne_bytes();
    for (argument, place, calls) in [
        (Argument::Memory(memory.address()), 0, 1),
        (Argument::Memory(memory.address()), 0, 1),
        (Argument::Bytes(&number), 1, 2),
        (Argument::Bytes(&number), 1, 2),
        (Argument::Bytes(&[0; 4]), 1, 3),
    ] {
        kernel.set(place, argument).unwrap();
        assert_eq!(CALLS.get()[2], calls);
    }
    // The driver may give the same handle to other memory.
    drop(memory);
    let memory = Memory::new(&context, 32, "the numbers").unwrap();
    kernel.set(0, Argument::Memory(memory.address())).unwrap();
    assert_eq!(CALLS.get()[2], 4);
    let error = failed(kernel.set(2, Argument::Bytes(&number)));
    assert!(error.contains("clSetKernelArg: CL_INVALID_ARG_INDEX (-49) (argument 2)"), "{error}");
    // A failed call is tried again.
    failed(kernel.set(2, Argument::Bytes(&number)));
    assert_eq!(CALLS.get()[2], 6);
}
