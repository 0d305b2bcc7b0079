//! Device memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opencl3::memory::CL_MEM_READ_WRITE;
use opencl3::types::CL_TRUE;

use kyoho_core::Result;

use super::{Context, Handle, Kind, SUCCESS};

/// Device memory. Its contents are undefined at first.
pub struct Memory {
    context: Arc<Context>,
    address: Address,
    bytes: usize,
    what: &'static str,
}

/// The argument by which kernels get memory. It is valid as long as the memory exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub(super) handle: Handle,
    /// Tells it from all others, because the driver gives out a handle again.
    number: u64,
}

impl Address {
    fn new(handle: Handle) -> Address {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Address { handle, number: NUMBER.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Memory {
    /// Allocates memory for `what`.
    pub fn new(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Memory> {
        let table = context.table()?;
        let mut code = SUCCESS;
        // The driver refuses an allocation of zero bytes.
        let (room, none) = (bytes.max(1), std::ptr::null_mut());
        // SAFETY: the context exists; the pointer is to a local variable.
        let handle = unsafe { (table.clCreateBuffer)(context.handle.0, CL_MEM_READ_WRITE, room, none, &mut code) };
        context.check_memory(code, "clCreateBuffer", what, bytes)?;
        // From here on dropping frees it.
        let address = Address::new(Handle(handle));
        let memory = Memory { context: context.clone(), address, bytes, what };
        // Drivers of GPUs allocate the memory itself when it is first used. That is done here,
        // where an error can say what the memory is for. PoCL gives out more than the machine has,
        // used or not.
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
        // SAFETY: the queue and the memory, which has at least one byte, exist; the call returns
        // when the byte was read.
        let code = unsafe { call(queue, memory, CL_TRUE, last, 1, (&raw const zero).cast(), 0, none, none) };
        self.context.check_memory(code, "clEnqueueWriteBuffer", self.what, self.bytes)
    }

    /// Returns the argument by which kernels get it.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Returns its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns its purpose.
    pub(super) fn what(&self) -> &'static str {
        self.what
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let Ok(table) = self.context.table() else { return };
        // SAFETY: it was made by this value; the driver waits for work that uses it. A failure
        // means that it was lost before.
        unsafe { (table.clReleaseMemObject)(self.address.handle.0) };
    }
}
