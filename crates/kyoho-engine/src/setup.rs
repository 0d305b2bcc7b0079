//! What a system is made from, and what it counts.

use kyoho_core::{Error, Interaction, Level, Order, Partition, Precision, Result, SLICE_GROUPS, Scope};
use kyoho_hal::Backend;
use kyoho_laws::catalogue;
use kyoho_methods::gpu::shapes::ForcedShape;

/// The most devices of a system, more than a host has.
const MAX_DEVICES: usize = 64;

/// The setup of a system; `config::Settings` makes one from the environment.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The order of the forces.
    pub order: Order,
    /// The precision of the forces.
    pub precision: Precision,
    /// The sources that the forces are of.
    pub scope: Scope,
    /// The backend that computes the forces.
    pub backend: Backend,
    /// The numbers, in the backend's list, of the devices among which blocks are partitioned; one
    /// may be named twice.
    pub devices: Vec<usize>,
    /// The number of threads of the CPU backend, of which some copy the sinks of large blocks for
    /// every backend.
    pub threads: usize,
    /// The instruction set of the CPU backend.
    pub level: Level,
    /// The launch shape that a GPU takes, for tests and measurements; otherwise the device's model
    /// chooses.
    pub shape: Option<ForcedShape>,
    /// The partition of each block among the devices if there are enough, for tests; otherwise
    /// their models choose.
    pub partition: Option<Partition>,
    /// The number of pairs (sinks times nj) below which the CPU computes a block though the backend
    /// is another: 0 for never, `None` for the number of the device's model.
    pub crossover: Option<u64>,
    /// Who makes the block steps of integrators; without a choice a GPU does where that is faster.
    pub block_steps: Option<Stepper>,
    /// Whether the next backend that works goes on when a device fails. Without it the failure is
    /// the caller's.
    pub fall_back: bool,
}

/// Who makes the block steps of integrators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepper {
    /// The host, which asks the devices for forces.
    Host,
    /// A GPU, however many the bodies are; of several GPUs the first one.
    Device,
}

impl Stepper {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Stepper::Host => "host",
            Stepper::Device => "device",
        }
    }
}

impl Setup {
    /// Returns the setup of a system for full forces on all processors of the host.
    pub fn on_cpu(order: Order, precision: Precision) -> Setup {
        Setup {
            order,
            precision,
            scope: Scope::Full,
            backend: Backend::Cpu,
            devices: vec![0],
            threads: std::thread::available_parallelism().map_or(1, |count| count.get()),
            level: Level::best(),
            shape: None,
            partition: None,
            crossover: None,
            block_steps: None,
            fall_back: false,
        }
    }
}

/// Counts since a system was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Addresses that hold a source.
    pub sources: u64,
    /// Sources written, each time counted.
    pub writes: u64,
    /// Blocks whose forces were computed.
    pub blocks: u64,
    /// Sinks of those blocks.
    pub sinks: u64,
    /// Pairs of a sink and an address below nj.
    pub interactions: u64,
    /// Bytes of host memory in use.
    pub bytes: u64,
}

/// Fails unless there is a law for an interaction and its counts are those of the law.
pub(super) fn check_interaction(interaction: &Interaction, backend: Backend) -> Result<()> {
    let Interaction { order, precision, scope, .. } = *interaction;
    let law = catalogue::interaction_of(order, precision, scope)
        .ok_or_else(|| catalogue::unsupported(backend.name(), (order, precision, scope)))?;
    let counts = |of: &Interaction| (of.n_coefficients, of.n_derivatives, of.n_outputs, of.nearest);
    if counts(interaction) == counts(&law) {
        return Ok(());
    }
    Err(Error::BadOption {
        name: format!("n_coefficients, n_derivatives, n_outputs, nearest of {}", law.name()),
        value: format!("{:?}", counts(interaction)),
        allowed: format!("{:?}", counts(&law)),
    })
}

pub(super) fn check_devices(setup: &Setup) -> Result<()> {
    if let Some(Partition { ranges, sets }) = setup.partition
        && !((1..=MAX_DEVICES).contains(&ranges) && sets <= SLICE_GROUPS && sets.is_power_of_two())
    {
        return Err(Error::BadOption {
            name: "the partition".into(),
            value: format!("{ranges} ranges of sinks, {sets} sets of slices"),
            allowed: format!("1 to {MAX_DEVICES} ranges; 1, 2, 4 or 8 sets"),
        });
    }
    match setup.devices.len() {
        1..=MAX_DEVICES => Ok(()),
        count => Err(Error::BadCount {
            what: "the number of devices",
            value: count as i64,
            allowed: format!("1 to {MAX_DEVICES}"),
        }),
    }
}
