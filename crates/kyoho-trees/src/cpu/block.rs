//! Blocks whose forces are summed by a tree.

use crate::accuracy::Method;
use crate::bodies::{Bodies, are_sources};
use kyoho_core::Level;
use kyoho_core::{Block, BufferPool, Interaction, Result, Sources, Sums, TreeBlock, TreePhase, TreeProfile};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::Number;
use kyoho_laws::simd::kernel::Kernel;

use super::stackless::{self, Walk};
use super::sums::{Points, Settings, TreeSums};

/// Sums the forces of a block by a tree, in memory of the block before, and returns how long that
/// took.
pub fn sum<E: Number>(
    (kernel, interaction): (&dyn Kernel<E>, &Interaction),
    (threads, level): (&Threads, Level),
    (sources, block): (&Sources, &Block),
    TreeBlock { accuracy, softening2, .. }: TreeBlock,
    (into, pool): (&mut Sums, &BufferPool),
) -> Result<TreeProfile> {
    pool.begin();
    let of_sources = Bodies::sources(sources, block.nj, (threads, pool))?;
    // Sinks that were not made are the sources. A device that has failed since may have said of
    // others whether they are.
    let own_sinks = match block.sinks_on_device || are_sources(sources, block, threads) {
        true => None,
        false => Some(Bodies::sinks(block.sinks.all(), sources.has_softenings(), (threads, pool))?),
    };
    let of_sinks = own_sinks.as_ref().unwrap_or(&of_sources);
    let skip_own_index = block.skip_own_index;
    let count = block.sinks.len();
    into.reserve(count, interaction.n_outputs, false)?;
    into.resize(count, interaction.n_outputs, false);
    let (values, _) = into.values.as_chunks_mut();
    let mut profile = TreeProfile::default();
    match Method::of(accuracy) {
        Method::Cells { order, criterion } => {
            let settings = Settings { order, criterion, softening2, skip_own_index, level };
            let sums = TreeSums { kernel, interaction, threads, pool };
            let counts = sums.sum(points(&of_sources), points(of_sinks), &settings, values)?;
            let phases = [TreePhase::Sort, TreePhase::Moments, TreePhase::FirstPass, TreePhase::Walk];
            phases.iter().zip(counts.seconds).for_each(|(phase, seconds)| profile.seconds[*phase as usize] = seconds);
            (profile.near, profile.far) = (counts.near, counts.far);
        }
        Method::Stackless { theta, sinks } => {
            let walk = Walk { theta, sinks, softening2, skip_own_index };
            let (forces, found) = stackless::sum(&of_sources, of_sinks, &walk, threads)?;
            profile = found;
            values.copy_from_slice(&forces);
        }
    }
    Ok(profile)
}

/// Returns bodies as points.
pub fn points(bodies: &Bodies) -> Points<'_> {
    let Bodies { positions, masses, indices, softenings2, .. } = bodies;
    Points { positions, masses, indices, softenings2 }
}
