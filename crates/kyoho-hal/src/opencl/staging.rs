//! Host memory that copies begin or end in.

use std::sync::Arc;

use bytemuck::Zeroable;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE};
use opencl3::types::CL_TRUE;

use crate::gpu;
use kyoho_core::{Error, Result};

use super::{Context, Handle, Kind, SUCCESS};

/// Host memory that copies begin or end in, page-locked unless the device is the host itself. It is
/// filled with zeros at first.
pub struct Staging {
    place: Place,
    bytes: usize,
}

/// The kind of the memory.
enum Place {
    /// Ordinary memory.
    Plain(Box<[Page]>),
    /// Memory that the driver made, mapped for its whole life.
    Mapped(Mapped),
}

/// A unit of memory with the alignment that suits copies.
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
    /// Allocates memory for `what`.
    pub fn new(context: &Arc<Context>, bytes: usize, what: &'static str) -> Result<Staging> {
        match context.properties().kind {
            // On a CPU the driver copies with the host's own instructions.
            Kind::Cpu => Staging::plain(bytes, what),
            Kind::Gpu | Kind::Accelerator => Staging::mapped(context, bytes, what),
        }
    }

    /// Allocates ordinary memory.
    pub(super) fn plain(bytes: usize, what: &'static str) -> Result<Staging> {
        let pages = bytemuck::try_zeroed_slice_box(bytes.div_ceil(size_of::<Page>()))
            .map_err(|()| Error::OutOfMemory { what, bytes })?;
        Ok(Staging { place: Place::Plain(pages), bytes })
    }

    /// Allocates memory that the driver makes and page-locks.
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
        // SAFETY: queue and buffer exist; the call returns when the memory is mapped; the pointer
        // is to a local variable.
        mapped.pointer.0 = unsafe {
            let map = table.clEnqueueMapBuffer;
            map(context.queue.0, buffer.0, CL_TRUE, flags, 0, room, 0, none.cast(), none.cast(), &mut code)
        };
        context.check_memory(code, "clEnqueueMapBuffer", what, bytes)?;
        // SAFETY: the memory exists and nothing else uses it yet.
        unsafe { std::ptr::write_bytes(mapped.pointer.0.cast::<u8>(), 0, bytes) };
        Ok(Staging { place: Place::Mapped(mapped), bytes })
    }
}

// SAFETY: plain memory begins with a page, and mapped memory at an address where a value of any
// type of OpenCL may be. It keeps its place and was filled with zeros.
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
        // SAFETY: buffer and queue exist, and nothing uses the mapped memory any more. A failure
        // means that it was lost before.
        unsafe {
            if !self.pointer.0.is_null() {
                (table.clEnqueueUnmapMemObject)(queue, self.buffer.0, self.pointer.0, 0, none, none);
                (table.clFinish)(queue);
            }
            (table.clReleaseMemObject)(self.buffer.0);
        }
    }
}
