//! Streams of work and the events in them.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::sys::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig};

use kyoho_core::{Error, Result};

use super::{Context, Function, Handle, NOT_READY, SUCCESS};

/// Flag of `cuStreamCreateWithPriority`: neither this stream nor the default stream waits for the
/// other implicitly.
const NON_BLOCKING: u32 = 1;
/// The priority of streams that were given none.
pub const USUAL: i32 = 0;
/// The priority before all others: the driver takes the nearest that the device has.
const MOST_URGENT: i32 = i32::MIN;
/// Flag of `cuEventCreate`: the event records no time.
const DISABLE_TIMING: u32 = 2;

/// Codes of the driver for a stream of another device.
const INVALID_CONTEXT: i32 = 201;
/// See [`INVALID_CONTEXT`].
const INVALID_HANDLE: i32 = 400;

/// Work that a device does in the order in which it was begun. The context must be current on the
/// thread that uses it.
pub struct Stream {
    context: Arc<Context>,
    pub(super) handle: Handle,
    is_urgent: bool,
}

/// Makes a stream for the driver. The context must be current.
pub fn create(context: &Context, priority: i32) -> Result<Handle> {
    let mut handle = Handle::NONE;
    // SAFETY: the pointer is to a local variable.
    let code = unsafe { (context.driver.table.cuStreamCreateWithPriority)(&mut handle.0, NON_BLOCKING, priority) };
    context.check(code, "cuStreamCreateWithPriority").map(|()| handle)
}

impl Stream {
    /// Takes an empty stream that somebody had before, or else makes one.
    pub fn new(context: &Arc<Context>) -> Result<Stream> {
        Stream::of_priority(context, false)
    }

    /// Does so for a stream whose thread blocks begin before those of usual streams.
    pub fn urgent(context: &Arc<Context>) -> Result<Stream> {
        Stream::of_priority(context, true)
    }

    fn of_priority(context: &Arc<Context>, is_urgent: bool) -> Result<Stream> {
        context.bind()?;
        let handle = match context.pools.take_stream(is_urgent) {
            Some(handle) => handle,
            None => create(context, if is_urgent { MOST_URGENT } else { USUAL })?,
        };
        Ok(Stream { context: context.clone(), handle, is_urgent })
    }

    /// Waits for all its work.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream exists.
        let code = unsafe { (self.context.driver.table.cuStreamSynchronize)(self.handle.0) };
        self.context.check(code, "cuStreamSynchronize")
    }

    /// Whether all its work is done.
    #[inline]
    pub fn is_done(&self) -> Result<bool> {
        // SAFETY: the stream exists.
        let code = unsafe { (self.context.driver.table.cuStreamQuery)(self.handle.0) };
        done(&self.context, code, "cuStreamQuery")
    }

    /// Makes its further work wait for an event, which may be in another stream.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        // SAFETY: stream and event exist.
        let code = unsafe { (self.context.driver.table.cuStreamWaitEvent)(self.handle.0, event.handle.0, 0) };
        self.context.check(code, "cuStreamWaitEvent")
    }

    /// Begins a kernel. If it `overlaps` and the device allows it, the kernel may start before the
    /// work ahead of it has ended and must itself wait for that work (`griddepcontrol.wait`).
    ///
    /// # Safety
    /// The function's module is loaded. `parameters` has a pointer for each of its parameters, to a
    /// value of its type. The memory that these name exists until the kernel is done, and is not
    /// used meanwhile in a way that the kernel does not expect.
    #[inline]
    pub unsafe fn launch(
        &self,
        function: Function,
        grid: (u32, u32),
        threads: u32,
        shared: u32,
        overlaps: bool,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let context = &*self.context;
        let (table, none) = (&context.driver.table, std::ptr::null_mut());
        let parameters = parameters.as_mut_ptr();
        if overlaps && context.properties().compute.0 >= 9 {
            let mut attribute = CUlaunchAttribute {
                id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                pad: [0; 4],
                value: CUlaunchAttributeValue { pad: [0; 64] },
            };
            attribute.value.programmaticStreamSerializationAllowed = 1;
            let configuration = CUlaunchConfig {
                gridDimX: grid.0,
                gridDimY: grid.1,
                gridDimZ: 1,
                blockDimX: threads,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: shared,
                hStream: self.handle.0.cast(),
                attrs: &mut attribute,
                numAttrs: 1,
            };
            // SAFETY: the configuration lives through the call; the rest is the caller's promise.
            let code = unsafe { (table.cuLaunchKernelEx)(&configuration, function.handle.0, parameters, none) };
            return context.check(code, "cuLaunchKernelEx");
        }
        // SAFETY: the stream exists; the rest is the caller's promise.
        let code = unsafe {
            let (function, stream) = (function.handle.0, self.handle.0);
            (table.cuLaunchKernel)(function, grid.0, grid.1, 1, threads, 1, 1, shared, stream, parameters, none.cast())
        };
        context.check(code, "cuLaunchKernel")
    }

    /// Begins a kernel all of whose thread blocks are on the device at once.
    ///
    /// # Safety
    /// As for [`Stream::launch`].
    pub unsafe fn launch_together(
        &self,
        function: Function,
        blocks: u32,
        threads: u32,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let launch = self.context.driver.table.cuLaunchCooperativeKernel;
        let (function, stream) = (function.handle.0, self.handle.0);
        // SAFETY: the stream exists; the rest is the caller's promise.
        let code = unsafe { launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters.as_mut_ptr()) };
        self.context.check(code, "cuLaunchCooperativeKernel")
    }

    /// Begins a copy from the host's memory.
    ///
    /// # Safety
    /// `from` can be read and `to` be written for `bytes` until the copy is done, and `from` does
    /// not change meanwhile.
    #[inline]
    pub unsafe fn to_device(&self, from: *const u8, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.context.driver.table.cuMemcpyHtoDAsync_v2)(to, from.cast(), bytes, self.handle.0) };
        self.context.check(code, "cuMemcpyHtoDAsync")
    }

    /// Begins a copy to the host's memory.
    ///
    /// # Safety
    /// `from` can be read and `to` be written for `bytes` until the copy is done, and nothing else
    /// uses `to` meanwhile.
    #[inline]
    pub unsafe fn from_device(&self, from: u64, to: *mut u8, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.context.driver.table.cuMemcpyDtoHAsync_v2)(to.cast(), from, bytes, self.handle.0) };
        self.context.check(code, "cuMemcpyDtoHAsync")
    }

    /// Begins a copy inside the device.
    ///
    /// # Safety
    /// `from` can be read and `to` be written for `bytes` until the copy is done, and they do not
    /// overlap.
    #[inline]
    pub unsafe fn device_to_device(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.context.driver.table.cuMemcpyDtoDAsync_v2)(to, from, bytes, self.handle.0) };
        self.context.check(code, "cuMemcpyDtoDAsync")
    }

    /// Begins a copy from another device.
    ///
    /// # Safety
    /// `from` can be read and `to` be written for `bytes` until the copy is done.
    pub unsafe fn from_other_device(&self, (other, from): (&Context, u64), to: u64, bytes: usize) -> Result<()> {
        let (own, other) = (self.context.handle.0, other.handle.0);
        // SAFETY: both contexts are held; the rest is the caller's promise.
        let code = unsafe { (self.context.driver.table.cuMemcpyPeerAsync)(to, own, from, other, bytes, self.handle.0) };
        self.context.check(code, "cuMemcpyPeerAsync")
    }

    /// Begins to write zeros to device memory.
    ///
    /// # Safety
    /// `address` can be written for `bytes` until the zeros are written.
    #[inline]
    pub unsafe fn zero(&self, address: u64, bytes: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        let code = unsafe { (self.context.driver.table.cuMemsetD8Async)(address, 0, bytes, self.handle.0) };
        self.context.check(code, "cuMemsetD8Async")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.bind().is_err() {
            return;
        }
        let is_kept = self.is_done() == Ok(true) && self.context.pools.keep_stream(self.is_urgent, self.handle);
        if !is_kept {
            // SAFETY: the stream exists and is used no more; the driver lets its work end. A
            // failure means that it was lost before.
            unsafe { (self.context.driver.table.cuStreamDestroy_v2)(self.handle.0) };
        }
    }
}

/// An event: a place in a stream.
pub struct Event {
    context: Arc<Context>,
    handle: Handle,
}

impl Event {
    /// Makes an event that counts as done until it is recorded.
    pub fn new(context: &Arc<Context>, timing: bool) -> Result<Event> {
        context.bind()?;
        let mut handle = Handle::NONE;
        let flags = if timing { 0 } else { DISABLE_TIMING };
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (context.driver.table.cuEventCreate)(&mut handle.0, flags) };
        context.check(code, "cuEventCreate")?;
        Ok(Event { context: context.clone(), handle })
    }

    /// Records it after all work that was begun in the stream.
    #[inline]
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: event and stream exist.
        let code = unsafe { (self.context.driver.table.cuEventRecord)(self.handle.0, stream.handle.0) };
        self.context.check(code, "cuEventRecord")
    }

    /// Records it after all work that was begun in a stream of the caller; 0 is the default stream.
    /// The driver refuses a stream of another device.
    pub fn record_in_callers(&self, stream: u64) -> Result<()> {
        let handle = std::ptr::without_provenance_mut(stream as usize);
        // SAFETY: the event exists; the caller of the library promises that the stream does.
        let code = unsafe { (self.context.driver.table.cuEventRecord)(self.handle.0, handle) };
        match code {
            INVALID_CONTEXT | INVALID_HANDLE => Err(Error::BadOption {
                name: "the CUDA stream".into(),
                value: format!("{stream:#x}"),
                allowed: format!("0, the default stream, or a stream of CUDA device {}", self.context.number),
            }),
            code => self.context.check(code, "cuEventRecord"),
        }
    }

    /// Waits for the work before it.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the event exists.
        let code = unsafe { (self.context.driver.table.cuEventSynchronize)(self.handle.0) };
        self.context.check(code, "cuEventSynchronize")
    }

    /// Returns the milliseconds from an earlier event to this one. Both were made with timing and
    /// are done.
    pub fn milliseconds_since(&self, earlier: &Event) -> Result<f32> {
        let mut milliseconds = 0.0;
        // SAFETY: the pointer is to a local variable, the events exist.
        let code = unsafe {
            (self.context.driver.table.cuEventElapsedTime)(&mut milliseconds, earlier.handle.0, self.handle.0)
        };
        self.context.check(code, "cuEventElapsedTime")?;
        Ok(milliseconds)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the event exists and is used no more. A failure means that it was lost
            // before.
            unsafe { (self.context.driver.table.cuEventDestroy_v2)(self.handle.0) };
        }
    }
}

/// Converts the result of a query: whether the work is done.
#[inline]
fn done(context: &Context, code: i32, call: &'static str) -> Result<bool> {
    match code {
        SUCCESS => Ok(true),
        NOT_READY => Ok(false),
        code => context.check(code, call).map(|()| true),
    }
}
