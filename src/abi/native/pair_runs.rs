//! Runs of pair interactions that go on while the caller does something else.

use std::process;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

use crate::abi::boundary::protect;
use crate::data::{Error, Result};
use crate::method::pairs::PairKernel;

/// A pair interaction, which a thread has while it runs.
pub struct Runner {
    kernel: Option<PairKernel>,
    away: Option<Away>,
}

/// A thread with a pair interaction.
struct Away {
    thread: JoinHandle<(PairKernel, Result<()>)>,
    /// The process that has the thread.
    process: u32,
}

impl Away {
    /// Waits for the end of the run. A fork has no such thread to wait for.
    fn end(self) -> Option<(PairKernel, Result<()>)> {
        if self.process == process::id() { self.thread.join().ok() } else { None }
    }
}

impl Runner {
    /// Holds a pair interaction that does not run.
    pub fn new(kernel: PairKernel) -> Runner {
        Runner { kernel: Some(kernel), away: None }
    }

    /// Returns the pair interaction, unless it runs.
    pub fn kernel(&mut self) -> Result<&mut PairKernel> {
        let when = match self.away {
            Some(_) => "while a run was under way; kyoho_pair_wait ends it",
            None => "after its run was lost in a fork of the process",
        };
        self.kernel.as_mut().ok_or(Error::CallOrder { call: "a function of a pair interaction", when })
    }

    /// Begins a run in a thread of its own.
    pub fn start(&mut self, run: impl FnOnce(&mut PairKernel) -> Result<()> + Send + 'static) -> Result<()> {
        self.kernel()?;
        // The thread gets the kernel once it is there: a refused thread takes nothing along.
        let (give, take) = mpsc::channel::<PairKernel>();
        let body = move || {
            let mut kernel = take.recv().expect("the kernel follows at once");
            let outcome = protect(|| run(&mut kernel));
            (kernel, outcome)
        };
        let thread = Builder::new().name("kyoho-pair".into()).spawn(body);
        let thread =
            thread.map_err(|error| Error::Internal { what: format!("no thread could be started: {error}") })?;
        self.away = Some(Away { thread, process: process::id() });
        if let Some(kernel) = self.kernel.take() {
            // It is received, as the thread waits for it.
            let _ = give.send(kernel);
        }
        Ok(())
    }

    /// Waits for the end of a run that was begun, and returns what came of it.
    pub fn wait(&mut self) -> Result<()> {
        let wrong = |when| Error::CallOrder { call: "kyoho_pair_wait", when };
        let away = self.away.take().ok_or(wrong("without a run under way"))?;
        let (kernel, outcome) = away.end().ok_or(wrong("in a fork of the process that began the run"))?;
        self.kernel = Some(kernel);
        outcome
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(away) = self.away.take() {
            away.end();
        }
    }
}
