//! Clusters that evolve at the same time, each to a time of its own.
//!
//! Each has a thread of the host meanwhile. On a GPU each takes its share of the multiprocessors, so
//! that many small clusters evolve in the time of one.

use kyoho_core::Result;
use kyoho_hal::Backend;

use super::{Cluster, Evolution, Progress};

/// The most clusters that evolve at a time where a GPU computes: it runs so many kernels at once.
const MOST_ON_GPU: usize = 128;

/// What a cluster occupies while it evolves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupied {
    /// The threads of the host, unless a GPU computes.
    pub threads: Option<usize>,
    /// Whether other processes take part.
    pub is_over_ranks: bool,
}

/// Returns how many of some clusters evolve at the same time: on CPUs so many that each has the threads
/// of its options.
pub fn at_once(processors: usize, clusters: &[Occupied]) -> usize {
    let threads = clusters.iter().map(|cluster| cluster.threads);
    let most = threads.map(|threads| threads.map_or(MOST_ON_GPU, |threads| processors / threads.max(1)));
    most.min().unwrap_or(1).clamp(1, clusters.len().max(1))
}

impl Cluster {
    /// Returns what the cluster occupies while it evolves.
    pub fn occupies(&self) -> Occupied {
        let threads = (self.setup.backend == Backend::Cpu).then_some(self.setup.threads);
        Occupied { threads, is_over_ranks: self.team.is_some() }
    }

    /// Advances all bodies as [`Cluster::evolve`] does, while so many clusters of an ensemble, this one
    /// counted, do so on the same device. No bits depend on their number. Without a function it goes on.
    pub fn evolve_beside(
        &mut self,
        sharers: usize,
        (to, block_steps): (f64, Option<u64>),
        go_on: Option<&mut Progress>,
    ) -> Result<Evolution> {
        self.integrator.share_devices(sharers);
        let evolution = self.evolve_if(to, block_steps, go_on);
        self.integrator.share_devices(0);
        evolution
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_evolve_at_once_as_there_are_processors_for() {
        let on_cpu = |threads| Occupied { threads: Some(threads), is_over_ranks: false };
        let on_gpu = Occupied { threads: None, is_over_ranks: false };
        assert_eq!(at_once(16, &[]), 1);
        assert_eq!(at_once(16, &[on_cpu(1); 3]), 3);
        assert_eq!(at_once(16, &[on_cpu(1); 40]), 16);
        assert_eq!(at_once(16, &[on_cpu(16); 40]), 1);
        assert_eq!(at_once(16, &[on_cpu(32); 40]), 1);
        assert_eq!(at_once(16, &[on_gpu; 40]), 40);
        assert_eq!(at_once(16, &[on_gpu; 4000]), MOST_ON_GPU);
        assert_eq!(at_once(16, &[on_gpu, on_cpu(4), on_gpu, on_gpu, on_gpu]), 4);
    }
}
