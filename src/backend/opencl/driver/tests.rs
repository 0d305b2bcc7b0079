//! The facade on the first OpenCL device of this machine, which PoCL makes any CPU.

use super::*;
use crate::backend::opencl::cache::Folder;
use std::sync::Arc;

/// A context on the first device, or none, which is said.
fn context() -> Option<Arc<Context>> {
    match driver().and_then(|driver| Context::of(driver, 0)) {
        Ok(context) => Some(context),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

const TEXT: &str = "__attribute__((reqd_work_group_size(4, 1, 1))) __kernel void add(__global int *a, int b) \
    { a[get_global_id(0)] += b; }";

#[test]
fn smoke() {
    let Some(context) = context() else { return };
    println!("{:?}", context.properties());
    let queue = Queue::timed(&context).unwrap();
    let program = Program::kept_in(&Folder::from(&|_| None), &context, "add", TEXT, "-cl-std=CL1.2").unwrap();
    let mut kernel = program.kernel("add").unwrap();
    let memory = Memory::new(&context, 32, "the sources").unwrap();
    let numbers = [1i32, 2, 3, 4, 5, 6, 7, 8];
    let mut back = [0i32; 8];
    unsafe {
        queue.write(numbers.as_ptr().cast(), &memory, 0, 32).unwrap();
        kernel.set(0, Argument::Memory(memory.address())).unwrap();
        kernel.set(1, Argument::Bytes(&10i32.to_ne_bytes())).unwrap();
        let event = queue.launch_marked(&mut kernel, 2, 4).unwrap();
        queue.read(&memory, 0, back.as_mut_ptr().cast(), 32).unwrap().wait().unwrap();
        println!("{back:?} {}", event.seconds().unwrap());
    }
    println!("{:?}", Program::kept_in(&Folder::from(&|_| None), &context, "add", "nonsense", "-cl-std=CL1.2").err());
}
