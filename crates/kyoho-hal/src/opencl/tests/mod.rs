//! The facade on the first OpenCL device of this machine, which PoCL makes of any CPU. Some tests
//! make calls of the driver fail, or count them: they put functions of their own into its table.

mod failures;
mod programs;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use kyoho_core::ResultCode;

use super::cache::Folder;
use super::hooks::{Own, patched, patched_context, real};
use super::*;

/// Makes a context on the first device.
fn context() -> Option<Own> {
    patched_context(|_| {})
}

/// Returns the message of an error that must be a device's failure.
fn failed<T>(result: Result<T>) -> String {
    let error = result.err().expect("an error");
    assert_eq!(error.code(), ResultCode::DeviceFailed, "{error}");
    error.to_string()
}

/// Adds a number to each of the four integers of a thread block.
const ADD: &str = "__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
    void add(__global int *numbers, int number) { numbers[get_global_id(0)] += number; }";
const OPTIONS: &str = "-cl-std=CL1.2";

/// Returns the kernel that adds, of a program that is not kept.
fn adder(context: &Arc<Context>) -> Kernel {
    Program::kept_in(&Folder::from(&|_| None), context, "adder", ADD, OPTIONS).unwrap().kernel("add").unwrap()
}

/// Reads the first integers of a memory.
fn integers<const COUNT: usize>(queue: &Queue, memory: &Memory) -> [i32; COUNT] {
    let mut found = [0; COUNT];
    // SAFETY: there is room, and the copy is waited for.
    unsafe { queue.read(memory, 0, found.as_mut_ptr().cast(), 4 * COUNT) }.unwrap().wait().unwrap();
    found
}

/// Makes a memory of eight integers from 1 on, in a queue that has written them.
fn eight(context: &Arc<Context>, queue: &Queue) -> Memory {
    let memory = Memory::new(context, 32, "the numbers").unwrap();
    let numbers: [i32; 8] = std::array::from_fn(|place| place as i32 + 1);
    // SAFETY: the numbers stay until the copy was waited for.
    unsafe { queue.write(numbers.as_ptr().cast(), &memory, 0, 32) }.unwrap();
    queue.synchronize().unwrap();
    memory
}

/// A folder for programs that belongs to one test and is removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Returns a folder that does not exist yet.
    pub fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("kyoho-opencl-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    /// Returns it as a folder of programs.
    pub fn folder(&self) -> Folder {
        Folder::from(&|name| (name == "KYOHO_CACHE_DIR").then(|| self.0.clone().into()))
    }

    /// Returns the files of the folder.
    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_local_memory_that_is_asked_for_is_enough_for_each_kernel() {
    let resources = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/generated/resources.txt"));
    for line in resources.lines() {
        let (_, shared) = line.rsplit_once(" shared ").unwrap();
        assert!(shared.parse::<u64>().unwrap() <= devices::LOCAL, "{line}");
    }
}
