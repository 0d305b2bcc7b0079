//! Block steps of bodies that stay on a device, which has the sources too and moves them.

use std::sync::Arc;

use kyoho_core::{Error, MAX_DERIVATIVES, Result};
use kyoho_hal::Backend;
use kyoho_methods::block_steps::{AddedForces, BODY_HEAD, Beginning, BlockSteps, StepGroups, StepRules, body_numbers};

use super::{Stepper, System};

/// Fewer bodies are advanced sooner by the host.
const LEAST: usize = 512;
/// Fewer bodies are in an ensemble, whose integrators use the device at the same time.
const LEAST_SHARED: usize = 16;
/// Where there are several devices the first one makes the steps of bodies with up to this many sources
/// alone: the others would spare it less than the host takes to begin and to advance a block.
const MOST_SOURCES_OF_FIRST: usize = 1 << 17;

impl System {
    /// Whether a device makes the block steps of this many bodies, some of which are sources: not where
    /// there are CPUs, numbers of two doubles, few bodies, or several devices and many sources.
    pub fn makes_block_steps(&mut self, bodies: usize, sources: usize) -> bool {
        let setup = self.devices.setup();
        // Who chooses the blocks that the CPU computes gets them from the host. With OpenCL the host
        // is faster, as kernels do not reach its memory and each is begun by itself.
        let is_wanted = match setup.block_steps {
            Some(stepper) => stepper == Stepper::Device,
            None => {
                let leaves_small_blocks = setup.crossover.is_some_and(|pairs| pairs > 0);
                let least = if self.devices.sharers() > 0 { LEAST_SHARED } else { LEAST };
                let most = if setup.devices.len() > 1 { MOST_SOURCES_OF_FIRST } else { usize::MAX };
                let are_some = bodies >= least && sources <= most;
                setup.backend == Backend::Cuda && are_some && !leaves_small_blocks
            }
        };
        let is_for_device = is_wanted && bodies > 0 && setup.backend != Backend::Cpu;
        is_for_device && self.devices.block_steps().is_some()
    }

    /// Brings bodies in groups to the device, which steps by these rules from then on, with forces beside
    /// those of pairs if there are any; their sources were written before, each at its address. The units
    /// of pairs are chosen here.
    ///
    /// The host does not have what becomes of the sources: all have to be written anew after
    /// [`System::end_block_steps`].
    pub fn begin_block_steps(
        &mut self,
        rules: &StepRules,
        (groups, added): (&StepGroups, Option<&Arc<AddedForces>>),
        bodies: &[f64],
    ) -> Result<&mut dyn BlockSteps> {
        self.require_no_block("begin_block_steps")?;
        self.forget_block();
        self.forget_moving();
        self.fetch_sources()?;
        self.journal.flush_to_host()?;
        let given = self.interaction.n_derivatives;
        let mut largest = [0.0f64; MAX_DERIVATIVES];
        for body in bodies.chunks_exact(body_numbers(given)) {
            for (largest, vector) in largest.iter_mut().zip(body[BODY_HEAD..].chunks_exact(3)).take(given) {
                *largest = vector.iter().fold(*largest, |largest, value| largest.max(value.abs()));
            }
        }
        let sources = self.journal.sources();
        let units = sources.units(&largest, &self.interaction);
        let none = || Error::Internal { what: "the device makes no block steps".into() };
        let device = self.devices.block_steps().ok_or_else(none)?;
        device.begin(&Beginning { sources, rules, units, added, groups }, bodies)?;
        Ok(device)
    }

    /// Ends block steps, of which there were this many with so many sinks in all, and sources.
    pub fn end_block_steps(&mut self, blocks: u64, sinks: u64, sources: usize) {
        if let Some(device) = self.devices.block_steps() {
            device.end();
        }
        self.statistics.blocks += blocks;
        self.statistics.sinks += sinks;
        self.statistics.writes += sinks;
        self.statistics.interactions += sinks.saturating_mul(sources as u64);
    }
}
