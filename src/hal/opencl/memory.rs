//! Memory of the device.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opencl3::memory::CL_MEM_READ_WRITE;
use opencl3::types::CL_TRUE;

use crate::data::Result;

use super::{Context, Handle, Kind, SUCCESS};

/// Memory of the device; what it holds at first is not defined.
pub struct Memory {
    context: Arc<Context>,
    address: Address,
    bytes: usize,
    what: &'static str,
}

/// What kernels are told of memory; of use as long as the memory is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub(super) handle: Handle,
    /// Tells it from others for ever, while the driver gives out handles again.
    number: u64,
}

impl Address {
    fn new(handle: Handle) -> Address {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Address { handle, number: NUMBER.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Memory {
    /// Memory for `what`.
    pub fn new(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Memory> {
        let table = context.table()?;
        let mut code = SUCCESS;
        // The driver refuses to give out nothing.
        let (room, none) = (bytes.max(1), std::ptr::null_mut());
        // SAFETY: the context exists; the pointer is to a local variable.
        let handle = unsafe { (table.clCreateBuffer)(context.handle.0, CL_MEM_READ_WRITE, room, none, &mut code) };
        context.check_memory(code, "clCreateBuffer", what, bytes)?;
        // From here on dropping frees it.
        let address = Address::new(Handle(handle));
        let memory = Memory { context: context.clone(), address, bytes, what };
        // GPUs' drivers look for the memory itself when it is first used: better now, where the lack of it can be told.
        // PoCL gives out more than the machine has, used or not.
        if context.properties().kind != Kind::Cpu {
            memory.touch()?;
        }
        Ok(memory)
    }

    /// Writes its last byte.
    pub(super) fn touch(&self) -> Result<()> {
        let call = self.context.table()?.clEnqueueWriteBuffer;
        let (zero, none, last) = (0u8, std::ptr::null_mut(), self.bytes.saturating_sub(1));
        let (queue, memory) = (self.context.queue.0, self.address.handle.0);
        // SAFETY: queue and memory, which has at least a byte, exist, and the call returns when the byte was read.
        let code = unsafe { call(queue, memory, CL_TRUE, last, 1, (&raw const zero).cast(), 0, none, none) };
        self.context.check_memory(code, "clEnqueueWriteBuffer", self.what, self.bytes)
    }

    /// What kernels are told of it.
    pub fn address(&self) -> Address {
        self.address
    }

    /// How much it is.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it is for.
    pub(super) fn what(&self) -> &'static str {
        self.what
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Ok(table) = self.context.table() else { return };
        // SAFETY: it was made by this value; the driver waits for work that uses it. What fails was lost before.
        unsafe { (table.clReleaseMemObject)(self.address.handle.0) };
    }
}
