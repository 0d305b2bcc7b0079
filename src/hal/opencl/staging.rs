//! Memory of the host that copies begin or end in.

use std::sync::Arc;

use bytemuck::Zeroable;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};
use opencl3::types::CL_TRUE;

use crate::data::{Error, Result};
use crate::hal::gpu;

use super::{Context, Handle, Kind, SUCCESS};

/// Memory of the host that copies begin or end in, page-locked where the device is not the host itself; zeros at first.
pub struct Staging {
    place: Place,
    bytes: usize,
}

/// Where it is.
enum Place {
    /// Memory as any other.
    Plain(Box<[Page]>),
    /// Memory that the driver made, mapped as long as it lives.
    Mapped(Mapped),
}

/// What copies like to begin at.
#[repr(C, align(4096))]
#[derive(Clone, Copy, Zeroable)]
struct Page([u8; 4096]);

/// A buffer in the host's memory.
struct Mapped {
    context: Arc<Context>,
    buffer: Handle,
    pointer: Handle,
}

impl Staging {
    /// Memory for `what`.
    pub fn new(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Staging> {
        match context.properties().kind {
            // The driver copies with the host's own instructions.
            Kind::Cpu => Staging::plain(bytes, what),
            Kind::Gpu | Kind::Accelerator => Staging::mapped(context, bytes, what),
        }
    }

    /// Memory as any other.
    pub(super) fn plain(bytes: usize, what: &'static str) -> Result<Staging> {
        let pages = bytemuck::try_zeroed_slice_box(bytes.div_ceil(size_of::<Page>()))
            .map_err(|()| Error::OutOfMemory { what, bytes })?;
        Ok(Staging { place: Place::Plain(pages), bytes })
    }

    /// Memory that the driver makes, which it page-locks.
    pub(super) fn mapped(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Staging> {
        let table = context.table()?;
        let (mut code, none) = (SUCCESS, std::ptr::null_mut());
        let (flags, room) = (CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes.max(1));
        // SAFETY: the context exists; the pointer is to a local variable.
        let buffer = unsafe { (table.clCreateBuffer)(context.handle.0, flags, room, none, &mut code) };
        context.check_memory(code, "clCreateBuffer", what, bytes)?;
        // From here on dropping frees it.
        let (buffer, pointer) = (Handle(buffer), Handle(none));
        let mut mapped = Mapped { context: context.clone(), buffer, pointer };
        let flags = CL_MAP_READ | CL_MAP_WRITE;
        // SAFETY: queue and buffer exist; the call returns when the memory is there; the pointer is to a local
        // variable.
        mapped.pointer.0 = unsafe {
            let map = table.clEnqueueMapBuffer;
            map(context.queue.0, buffer.0, CL_TRUE, flags, 0, room, 0, none.cast(), none.cast(), &mut code)
        };
        context.check_memory(code, "clEnqueueMapBuffer", what, bytes)?;
        // SAFETY: the memory is there and nobody has it yet.
        unsafe { std::ptr::write_bytes(mapped.pointer.0.cast::<u8>(), 0, bytes) };
        Ok(Staging { place: Place::Mapped(mapped), bytes })
    }
}

// SAFETY: plain memory begins with a page, and mapped memory where any number of OpenCL may stand; it stays where it is,
// and was filled with zeros.
unsafe impl gpu::HostMemory for Staging {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn as_ptr(&self) -> *const u8 {
        match &self.place {
            Place::Plain(pages) => pages.as_ptr().cast(),
            Place::Mapped(mapped) => mapped.pointer.0.cast_const().cast(),
        }
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        match &mut self.place {
            Place::Plain(pages) => pages.as_mut_ptr().cast(),
            Place::Mapped(mapped) => mapped.pointer.0.cast(),
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let Ok(table) = self.context.table() else { return };
        let (queue, none) = (self.context.queue.0, std::ptr::null_mut());
        // SAFETY: buffer and queue exist, and nobody has the mapped memory any more. What fails was lost before.
        unsafe {
            if !self.pointer.0.is_null() {
                (table.clEnqueueUnmapMemObject)(queue, self.buffer.0, self.pointer.0, 0, none, none);
                (table.clFinish)(queue);
            }
            (table.clReleaseMemObject)(self.buffer.0);
        }
    }
}
