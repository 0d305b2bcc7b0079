//! Graphs: kernels that were recorded, to be begun as one.

use std::sync::Arc;

use kyoho_core::Result;

use super::{Context, Handle, SUCCESS, Stream};

/// Mode of `cuStreamBeginCapture`: calls of other threads that cannot be recorded are no errors.
const THREAD_LOCAL: i32 = 1;

/// Kernels in the order in which they were recorded.
pub struct Graph {
    context: Arc<Context>,
    handle: Handle,
}

impl Graph {
    /// Records what `begin` begins in a stream, which does not run now.
    pub fn of(context: &Arc<Context>, stream: &Stream, begin: &mut dyn FnMut() -> Result<()>) -> Result<Graph> {
        let table = &context.driver.table;
        // SAFETY: the stream exists.
        let code = unsafe { (table.cuStreamBeginCapture_v2)(stream.handle().0, THREAD_LOCAL) };
        context.check(code, "cuStreamBeginCapture")?;
        let begun = begin();
        let mut recorded = Handle::NONE;
        // SAFETY: the stream exists and is recorded; the pointer is to a local variable.
        let code = unsafe { (table.cuStreamEndCapture)(stream.handle().0, &mut recorded.0) };
        context.check(code, "cuStreamEndCapture")?;
        let mut handle = Handle::NONE;
        // SAFETY: what was recorded exists until it is destroyed here; the pointer is to a local
        // variable.
        let code = unsafe {
            let code = match begun {
                Ok(()) => (table.cuGraphInstantiateWithFlags)(&mut handle.0, recorded.0, 0),
                Err(_) => SUCCESS,
            };
            (table.cuGraphDestroy)(recorded.0);
            code
        };
        begun?;
        context.check(code, "cuGraphInstantiateWithFlags")?;
        Ok(Graph { context: context.clone(), handle })
    }

    /// Begins the kernels in a stream.
    ///
    /// # Safety
    /// What the kernels were recorded with is there until they are done, as for each launch.
    #[inline]
    pub unsafe fn launch(&self, stream: &Stream) -> Result<()> {
        // SAFETY: graph and stream exist; the rest is the caller's promise.
        let code = unsafe { (self.context.driver.table.cuGraphLaunch)(self.handle.0, stream.handle().0) };
        self.context.check(code, "cuGraphLaunch")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: the graph exists and is used no more; one that is at work stays until it is
            // done.
            unsafe { (self.context.driver.table.cuGraphExecDestroy)(self.handle.0) };
        }
    }
}
