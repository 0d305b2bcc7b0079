//! Queues of work and the events in them.

use std::ffi::c_void;
use std::sync::{Arc, PoisonError};

use opencl3::command_queue::CL_QUEUE_PROFILING_ENABLE;
use opencl3::error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
use opencl3::event::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END, CL_PROFILING_COMMAND_START,
};
use opencl3::types::CL_FALSE;

use kyoho_core::Result;

use super::table::{Object, Tell};
use super::{Context, Handle, Kernel, Kind, Memory, SUCCESS};

/// No event, or no list of them.
const NONE: *mut Object = std::ptr::null_mut();

/// Work that a device does in the order in which it was begun.
///
/// On a CPU all queues of a context are one, because a kernel takes all cores anyway. PoCL 3.1
/// sometimes ends the process when a kernel runs in several queues at the same time with more
/// thread blocks than before.
///
/// The caller of an unsafe function promises that the memory in its arguments can be read and
/// written for `bytes` until the work is done, and is not used meanwhile in a way that the work
/// does not expect.
pub struct Queue {
    context: Arc<Context>,
    handle: Handle,
    /// Whether dropping this value gives the queue back.
    is_owner: bool,
}

impl Queue {
    /// Makes an empty queue.
    pub fn new(context: &Arc<Context>) -> Result<Queue> {
        Queue::with(context, 0)
    }

    /// Makes an empty queue whose events record how long their work took.
    pub fn timed(context: &Arc<Context>) -> Result<Queue> {
        Queue::with(context, CL_QUEUE_PROFILING_ENABLE)
    }

    fn with(context: &Arc<Context>, flags: u64) -> Result<Queue> {
        let (mut code, create) = (SUCCESS, context.table()?.clCreateCommandQueue);
        if context.properties().kind == Kind::Cpu {
            return Ok(Queue { context: context.clone(), handle: context.queue, is_owner: false });
        }
        // SAFETY: context and device exist; the pointer is to a local variable.
        let handle = unsafe { create(context.handle.0, context.device.0, flags, &mut code) };
        context.check(code, "clCreateCommandQueue")?;
        Ok(Queue { context: context.clone(), handle: Handle(handle), is_owner: true })
    }

    /// Begins a copy from the host to device memory, from byte `at` on.
    ///
    /// # Safety
    /// See [`Queue`].
    #[inline]
    pub unsafe fn write(&self, from: *const u8, to: &Memory, at: usize, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let call = self.context.table()?.clEnqueueWriteBuffer;
        let memory = to.address().handle.0;
        // SAFETY: queue and memory exist; the driver refuses a range beyond the memory; the rest is
        // the caller's promise.
        let code = unsafe { call(self.handle.0, memory, CL_FALSE, at, bytes, from.cast(), 0, NONE, NONE) };
        self.check_memory(code, "clEnqueueWriteBuffer", to)
    }

    /// Begins a copy from device memory, from byte `at` on, to the host.
    ///
    /// # Safety
    /// See [`Queue`].
    #[inline]
    pub unsafe fn read(&self, from: &Memory, at: usize, to: *mut u8, bytes: usize) -> Result<Event> {
        if bytes == 0 {
            return self.mark();
        }
        let call = self.context.table()?.clEnqueueReadBuffer;
        let memory = from.address().handle.0;
        self.with_event(|event| {
            // SAFETY: as in `write`.
            let code = unsafe { call(self.handle.0, memory, CL_FALSE, at, bytes, to.cast(), 0, NONE, event) };
            self.check_memory(code, "clEnqueueReadBuffer", from)
        })
    }

    /// Begins a copy from the start of one device memory to the start of another.
    ///
    /// # Safety
    /// See [`Queue`].
    #[inline]
    pub unsafe fn copy(&self, from: &Memory, to: &Memory, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let call = self.context.table()?.clEnqueueCopyBuffer;
        let (source, target) = (from.address().handle.0, to.address().handle.0);
        // SAFETY: as in `write`.
        let code = unsafe { call(self.handle.0, source, target, 0, 0, bytes, 0, NONE, NONE) };
        self.check_memory(code, "clEnqueueCopyBuffer", to)
    }

    /// Begins to write zeros from the start of a device memory.
    ///
    /// # Safety
    /// See [`Queue`].
    #[inline]
    pub unsafe fn zero(&self, memory: &Memory, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let call = self.context.table()?.clEnqueueFillBuffer;
        let pattern: *const c_void = [0u8].as_ptr().cast();
        // SAFETY: as in `write`; the pattern is one byte, which the driver has read when the call
        // returns.
        let code = unsafe { call(self.handle.0, memory.address().handle.0, pattern, 1, 0, bytes, 0, NONE, NONE) };
        self.check_memory(code, "clEnqueueFillBuffer", memory)
    }

    /// Begins a kernel with this many thread blocks of this many threads.
    ///
    /// # Safety
    /// See [`Queue`]. All arguments of the kernel are set, each to its kind, and the memory that
    /// they name exists.
    #[inline]
    pub unsafe fn launch(&self, kernel: &mut Kernel, groups: usize, threads: usize) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.begin(kernel, groups, threads, NONE) }
    }

    /// Begins a kernel as [`Queue::launch`] does, and returns an event for its end.
    ///
    /// # Safety
    /// See [`Queue::launch`].
    pub unsafe fn launch_marked(&self, kernel: &mut Kernel, groups: usize, threads: usize) -> Result<Event> {
        // SAFETY: the caller's promise.
        self.with_event(|event| unsafe { self.begin(kernel, groups, threads, event) })
    }

    /// # Safety
    /// See [`Queue::launch`]; the event is null or can be written.
    unsafe fn begin(&self, kernel: &mut Kernel, groups: usize, threads: usize, event: *mut Object) -> Result<()> {
        let call = self.context.table()?.clEnqueueNDRangeKernel;
        let all = groups.saturating_mul(threads);
        let _launching = self.context.launches.read().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: queue and kernel exist; the driver has read the sizes when the call returns; the
        // rest is the caller's promise.
        let code =
            unsafe { call(self.handle.0, kernel.handle().0, 1, std::ptr::null(), &all, &threads, 0, NONE, event) };
        self.context.check(code, "clEnqueueNDRangeKernel")
    }

    /// Lets the device begin the work that was put in, without waiting for it.
    #[inline]
    pub fn flush(&self) -> Result<()> {
        // SAFETY: the queue exists.
        let code = unsafe { (self.context.table()?.clFlush)(self.handle.0) };
        self.context.check(code, "clFlush")
    }

    /// Waits for all its work.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the queue exists.
        let code = unsafe { (self.context.table()?.clFinish)(self.handle.0) };
        self.context.check(code, "clFinish")
    }

    /// Returns an event for the end of all work that was begun so far.
    pub fn mark(&self) -> Result<Event> {
        let call = self.context.table()?.clEnqueueMarkerWithWaitList;
        self.with_event(|event| {
            // SAFETY: the queue exists and the event can be written.
            let code = unsafe { call(self.handle.0, 0, NONE, event) };
            self.context.check(code, "clEnqueueMarkerWithWaitList")
        })
    }

    /// Makes its further work wait for an event, which may be in another queue. That queue must
    /// have been flushed.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        let call = self.context.table()?.clEnqueueBarrierWithWaitList;
        // SAFETY: queue and event exist.
        let code = unsafe { call(self.handle.0, 1, &event.handle.0, NONE) };
        self.context.check(code, "clEnqueueBarrierWithWaitList")
    }

    /// Returns the event that a call makes.
    fn with_event(&self, call: impl FnOnce(*mut Object) -> Result<()>) -> Result<Event> {
        let mut event = std::ptr::null_mut();
        call(&mut event)?;
        Ok(Event { context: self.context.clone(), handle: Handle(event) })
    }

    fn check_memory(&self, code: i32, call: &'static str, memory: &Memory) -> Result<()> {
        self.context.check_memory(code, call, memory.what(), memory.bytes())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.is_owner
            && let Ok(table) = self.context.table()
        {
            // SAFETY: the queue exists and is used no more; the driver lets its work end. A failure
            // means that it was lost before.
            unsafe { (table.clReleaseCommandQueue)(self.handle.0) };
        }
    }
}

/// An event: the end of some work in a queue.
pub struct Event {
    context: Arc<Context>,
    handle: Handle,
}

impl Event {
    /// Whether the work is done.
    #[inline]
    pub fn is_done(&self) -> Result<bool> {
        let call = self.context.table()?.clGetEventInfo;
        let status: i32 = self.ask(call, CL_EVENT_COMMAND_EXECUTION_STATUS, "clGetEventInfo")?;
        if status < 0 {
            self.context.check(status, "work in a queue")?;
        }
        Ok(status == CL_COMPLETE)
    }

    /// Waits for the work, which begins at the latest now.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the event exists.
        match unsafe { (self.context.table()?.clWaitForEvents)(1, &self.handle.0) } {
            // The event itself has the reason.
            code @ CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => {
                self.is_done()?;
                self.context.check(code, "clWaitForEvents")
            }
            code => self.context.check(code, "clWaitForEvents"),
        }
    }

    /// Returns how long the work took. The work is done, and its queue is timed.
    pub fn seconds(&self) -> Result<f64> {
        let call = self.context.table()?.clGetEventProfilingInfo;
        let [start, end] = [CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END]
            .map(|what| self.ask::<u64>(call, what, "clGetEventProfilingInfo"));
        Ok(end?.saturating_sub(start?) as f64 * 1e-9)
    }

    /// Asks a function for a number about the event.
    fn ask<T: bytemuck::Pod>(&self, call: Tell, what: u32, name: &'static str) -> Result<T> {
        let mut value = T::zeroed();
        // SAFETY: the event exists, and there is room for this many bytes, which may have any
        // value.
        let code = unsafe { call(self.handle.0, what, size_of::<T>(), (&raw mut value).cast(), std::ptr::null_mut()) };
        self.context.check(code, name)?;
        Ok(value)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(table) = self.context.table() {
            // SAFETY: the event exists and is used no more. A failure means that it was lost
            // before.
            unsafe { (table.clReleaseEvent)(self.handle.0) };
        }
    }
}
