//! The seconds of the phases of forces by a tree, where somebody wants to know them.

use std::time::Instant;

use kyoho_core::{Result, TreePhase, TreeProfile};
use kyoho_hal::gpu::Gpu;

/// A clock of phases, which measures nothing at first. While it is wanted, the work of each phase is
/// waited for.
#[derive(Default)]
pub struct Clock {
    began: Option<Instant>,
    /// What was measured.
    pub profile: TreeProfile,
}

impl Clock {
    /// Measures from now on, or no longer.
    pub fn set(&mut self, is_wanted: bool) {
        self.began = is_wanted.then(Instant::now);
    }

    /// Whether it measures.
    pub fn is_wanted(&self) -> bool {
        self.began.is_some()
    }

    /// Begins a phase.
    pub fn begin<G: Gpu>(&mut self, on: (&G, &G::Queue)) -> Result<()> {
        if self.is_wanted() { self.wait(on, None) } else { Ok(()) }
    }

    /// Ends a phase, and begins the next.
    pub fn end<G: Gpu>(&mut self, on: (&G, &G::Queue), phase: TreePhase) -> Result<()> {
        if self.is_wanted() { self.wait(on, Some(phase)) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn wait<G: Gpu>(&mut self, (gpu, queue): (&G, &G::Queue), ended: Option<TreePhase>) -> Result<()> {
        gpu.synchronize(queue)?;
        let now = Instant::now();
        if let (Some(phase), Some(began)) = (ended, self.began) {
            self.profile.seconds[phase as usize] += (now - began).as_secs_f64();
        }
        self.began = Some(now);
        Ok(())
    }
}
