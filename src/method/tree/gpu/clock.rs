//! The seconds of the phases of forces by a tree, where somebody wants to know them.

use std::time::Instant;

use crate::data::{Result, TreePhase, TreeProfile};
use crate::hal::gpu::Gpu;

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
    pub fn begin<G: Gpu>(&mut self, (gpu, queue): (&G, &G::Queue)) -> Result<()> {
        if let Some(began) = &mut self.began {
            gpu.synchronize(queue)?;
            *began = Instant::now();
        }
        Ok(())
    }

    /// Ends a phase, and begins the next.
    pub fn end<G: Gpu>(&mut self, (gpu, queue): (&G, &G::Queue), phase: TreePhase) -> Result<()> {
        if let Some(began) = &mut self.began {
            gpu.synchronize(queue)?;
            self.profile.seconds[phase as usize] += began.elapsed().as_secs_f64();
            *began = Instant::now();
        }
        Ok(())
    }
}
