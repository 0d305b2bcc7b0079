//! Runs of pair interactions that go on while the caller does something else.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder, JoinHandle};

use kyoho_core::{Error, Result};
use kyoho_pairs::PairKernel;

/// A pair interaction, which a thread has while it runs.
pub struct Runner {
    kernel: Option<Box<PairKernel>>,
    away: Option<Away>,
}

/// What came of a run, or its panic.
type Ended = thread::Result<Result<()>>;

/// A thread with a pair interaction.
struct Away {
    thread: JoinHandle<(Box<PairKernel>, Ended)>,
    /// The process that has the thread.
    process: u32,
}

impl Away {
    /// Waits for the end of the run. A fork has no such thread to wait for.
    fn end(self) -> Option<(Box<PairKernel>, Ended)> {
        if self.process == process::id() { self.thread.join().ok() } else { None }
    }
}

impl Runner {
    /// Holds a pair interaction that does not run.
    pub fn new(kernel: PairKernel) -> Result<Runner> {
        Ok(Runner { kernel: Some(kyoho_hal::boxed(kernel, "a pair interaction")?), away: None })
    }

    /// Returns the pair interaction, unless it runs.
    pub fn kernel(&mut self) -> Result<&mut PairKernel> {
        let when = match self.away {
            Some(_) => "while a run was under way; kyoho_pair_wait ends it",
            None => "after its run was lost in a fork of the process",
        };
        self.kernel.as_deref_mut().ok_or(Error::CallOrder { call: "a function of a pair interaction", when })
    }

    /// Begins a run in a thread of its own.
    pub fn start(&mut self, run: impl FnOnce(&mut PairKernel) -> Result<()> + Send + 'static) -> Result<()> {
        self.kernel()?;
        // The thread takes the kernel from here: a refused one takes nothing along.
        let place = Arc::new(Mutex::new(self.kernel.take()));
        let taken =
            |place: &Mutex<Option<Box<PairKernel>>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let of_thread = place.clone();
        let body = move || {
            let mut kernel = taken(&of_thread).expect("nobody else takes the kernel of a thread");
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut kernel)));
            (kernel, outcome)
        };
        let thread = Builder::new().name("kyoho-pair".into()).spawn(body);
        let thread = thread.map_err(|error| {
            self.kernel = taken(&place);
            Error::Internal { what: format!("no thread could be started: {error}") }
        })?;
        self.away = Some(Away { thread, process: process::id() });
        Ok(())
    }

    /// Waits for the end of a run that was begun, and returns what came of it. A panic of the run is
    /// one of this call.
    pub fn wait(&mut self) -> Result<()> {
        let wrong = |when| Error::CallOrder { call: "kyoho_pair_wait", when };
        let away = self.away.take().ok_or(wrong("without a run under way"))?;
        let (kernel, outcome) = away.end().ok_or(wrong("in a fork of the process that began the run"))?;
        self.kernel = Some(kernel);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(away) = self.away.take() {
            away.end();
        }
    }
}
