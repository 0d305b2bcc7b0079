//! The place of this process among those that a launcher started on its host, from the variables
//! that launchers set.

use std::fmt;

use kyoho_core::{Error, Result};
use kyoho_hal::environment;

use super::Named;

/// The number of this process among the processes on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalRank {
    /// The number of this process, from 0.
    pub rank: usize,
    /// The number of processes on the host, if the launcher sets it.
    pub size: Option<usize>,
    /// The variable that has the local rank.
    pub variable: &'static str,
}

impl fmt::Display for LocalRank {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "local rank {}", self.rank)?;
        if let Some(size) = self.size {
            write!(formatter, " of {size}")?;
        }
        write!(formatter, " ({})", self.variable)
    }
}

/// The variables that a launcher sets for each process.
struct Launcher {
    /// The variable that has the local rank.
    rank: &'static str,
    /// The variable that has the number of processes on the host, or on each host, such as
    /// `4(x2),3`.
    size: Option<&'static str>,
    /// The variable that has the number of the host among these hosts.
    host: Option<&'static str>,
    /// The variable that has the rank among the processes of all hosts.
    world: Option<&'static str>,
}

/// The launchers. The first whose variable is set decides. A launcher passes on the variables of
/// the one that started it, so that MPI libraries come before resource managers. Slurm is the last,
/// because it gives local rank 0 to a batch script too, and all that the script starts inherits
/// that.
const LAUNCHERS: [Launcher; 10] = [
    // Open MPI, Spectrum MPI.
    Launcher {
        size: Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        world: Some("OMPI_COMM_WORLD_RANK"),
        ..launcher("OMPI_COMM_WORLD_LOCAL_RANK")
    },
    // Hydra, the launcher of MPICH and Intel MPI; Platform MPI.
    Launcher { size: Some("MPI_LOCALNRANKS"), world: Some("PMI_RANK"), ..launcher("MPI_LOCALRANKID") },
    // MVAPICH2.
    Launcher {
        size: Some("MV2_COMM_WORLD_LOCAL_SIZE"),
        world: Some("MV2_COMM_WORLD_RANK"),
        ..launcher("MV2_COMM_WORLD_LOCAL_RANK")
    },
    // MVAPICH 3 and newer.
    launcher("MVP_COMM_WORLD_LOCAL_RANK"),
    // HPE MPT.
    launcher("MPT_LRANK"),
    // Flux, which one of the launchers below may have started.
    Launcher { world: Some("FLUX_TASK_RANK"), ..launcher("FLUX_TASK_LOCAL_ID") },
    // IBM's jsrun.
    Launcher { world: Some("JSM_NAMESPACE_RANK"), ..launcher("JSM_NAMESPACE_LOCAL_RANK") },
    // HPE PALS.
    Launcher { world: Some("PALS_RANKID"), ..launcher("PALS_LOCAL_RANKID") },
    // Cray PMI.
    launcher("PMI_LOCAL_RANK"),
    // Slurm.
    Launcher {
        size: Some("SLURM_STEP_TASKS_PER_NODE"),
        host: Some("SLURM_NODEID"),
        world: Some("SLURM_PROCID"),
        ..launcher("SLURM_LOCALID")
    },
];

const fn launcher(rank: &'static str) -> Launcher {
    Launcher { rank, size: None, host: None, world: None }
}

/// Returns the rank of this process among those of all hosts in words for the log, such as
/// `rank 5 (PMI_RANK)`.
pub fn rank() -> String {
    rank_of(&|name| environment::text(name).filter(|value| !value.trim().is_empty()))
}

/// Does as [`rank`] does, from these variables.
pub(super) fn rank_of(named: &Named) -> String {
    let found = LAUNCHERS.iter().find(|launcher| named(launcher.rank).is_some());
    let Some(launcher) = found else { return "started by no launcher".into() };
    let (variable, what) = launcher.world.map_or((launcher.rank, "local rank"), |world| (world, "rank"));
    match named(variable) {
        Some(rank) => format!("{what} {} ({variable})", rank.trim()),
        None => format!("{what} unknown ({variable} is not set)"),
    }
}

/// Returns the local rank that the first launcher in the list has set, if any has.
pub fn local_rank(named: &Named) -> Result<Option<LocalRank>> {
    let Some((launcher, value)) = LAUNCHERS.iter().find_map(|launcher| Some((launcher, named(launcher.rank)?))) else {
        return Ok(None);
    };
    // If a wrong rank were taken for no rank, all processes of the launcher would use the first
    // device.
    let rank: u32 = value.trim().parse().map_err(|_| Error::BadOption {
        name: launcher.rank.into(),
        value,
        allowed: "the number of the process among those on its host, 0 or more".into(),
    })?;
    let rank = rank as usize;
    // The size is only for the log, so that an impossible one is dropped.
    let size = launcher.size(named).filter(|size| *size > rank);
    Ok(Some(LocalRank { rank, size, variable: launcher.rank }))
}

impl Launcher {
    /// Returns the number of processes on this host.
    fn size(&self, named: &Named) -> Option<usize> {
        let sizes = named(self.size?)?;
        let mut host: usize = match self.host {
            Some(variable) => named(variable)?.trim().parse().ok()?,
            None => 0,
        };
        for part in sizes.split(',') {
            let (size, repeats) = match part.trim().strip_suffix(')') {
                Some(part) => part.split_once("(x")?,
                None => (part.trim(), "1"),
            };
            let repeats: usize = repeats.parse().ok()?;
            if host < repeats {
                return size.parse().ok();
            }
            host -= repeats;
        }
        None
    }
}
