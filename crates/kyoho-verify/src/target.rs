//! The targets of the suite.

use std::fmt;
use std::sync::Arc;

use crate::accuracy::Rounding;
use crate::models;
use kyoho_core::Level;
use kyoho_core::{Interaction, Order, Partition, Precision, Scope, Sink, Source};
use kyoho_engine::Setup;
use kyoho_hal::{Backend, DeviceDescription, alike};
use kyoho_laws::catalogue::{self, CATALOGUE};

/// An order, a precision and a scope on some devices, threads and instruction set.
#[derive(Debug, Clone)]
pub struct Target {
    /// The setup of the target's systems.
    pub setup: Setup,
}

impl Target {
    /// Returns the interaction that it computes. Every target is an entry of the catalogue.
    pub fn interaction(&self) -> Arc<Interaction> {
        let Setup { order, precision, scope, .. } = self.setup;
        catalogue::interaction_of(order, precision, scope).expect("targets are made from the catalogue")
    }

    /// Returns the target with other threads and devices.
    pub fn with(&self, threads: usize, devices: &[usize]) -> Target {
        Target { setup: Setup { threads, devices: devices.to_vec(), ..self.setup.clone() } }
    }

    /// Whether one thread and one device compute.
    pub fn is_of_one(&self) -> bool {
        self.setup.threads == 1 && self.setup.devices.len() == 1
    }

    /// Whether it sums forces by trees. Trees know no slices of sources: where sets of these share a
    /// block, the devices do what those with ranges alone do.
    pub(crate) fn has_trees(&self) -> bool {
        let interaction = self.interaction();
        let shares_slices = self.setup.partition.is_some_and(|partition| partition.sets > 1);
        interaction.order == Order::Second && !interaction.has_low_limbs() && !shares_slices
    }

    /// Whether it sums forces by trees in a way that no other target does. GPUs have the same kernels
    /// of trees in each precision, and a CPU takes the pairs of mixed precision in single too.
    pub(crate) fn has_trees_of_its_own(&self) -> bool {
        let is_other = match self.setup.backend {
            Backend::Cpu => self.setup.precision != Precision::Single,
            _ => self.setup.precision == Precision::Single,
        };
        self.has_trees() && is_other
    }

    /// Returns the bodies themselves as sinks. If neighbours are left out of forces, each has some
    /// in a Plummer model.
    pub fn sinks_of(&self, sources: &[Source], softening2: f64) -> Vec<Sink> {
        let mut sinks = models::sinks_of(sources, softening2);
        for (sink, source) in sinks.iter_mut().zip(sources).filter(|_| self.interaction().is_regular()) {
            (sink.radius2, sink.step) = (0.02 / source.mass, 0.0625);
        }
        sinks
    }

    /// Returns half a unit in the last place of the numbers in which pairs are computed.
    pub fn rounding(&self) -> f64 {
        Rounding::of(self.setup.precision).pair
    }

    /// Returns the relative error of a coordinate in a pair.
    pub fn coordinate_rounding(&self) -> f64 {
        Rounding::of(self.setup.precision).coordinate
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Setup { backend, devices, threads, level, shape, partition, .. } = &self.setup;
        write!(formatter, "{} {}", self.interaction().name(), backend.name())?;
        if *backend == Backend::Cpu {
            write!(formatter, " {} threads {threads}", level.name())?;
        }
        write!(formatter, " devices {devices:?}")?;
        if let Some(Partition { ranges, sets }) = partition {
            write!(formatter, " partitioned into {ranges} ranges of sinks, {sets} sets of slices")?;
        }
        shape.map_or(Ok(()), |shape| write!(formatter, " shape {}", shape.place))
    }
}

/// The targets that are wanted. A field that is not set allows everything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The backend.
    pub backend: Option<Backend>,
    /// The order.
    pub order: Option<Order>,
    /// The precision.
    pub precision: Option<Precision>,
    /// The scope.
    pub scope: Option<Scope>,
    /// The instruction set of the CPU.
    pub level: Option<Level>,
    /// The devices of the backend.
    pub devices: Option<Vec<usize>>,
}

fn wanted<T: PartialEq>(choice: Option<T>, value: T) -> bool {
    choice.is_none_or(|choice| choice == value)
}

/// Threads, devices and a partition with which the whole suite runs.
struct Way {
    threads: usize,
    devices: Vec<usize>,
    /// The partition of blocks among the devices.
    partition: Option<Partition>,
}

impl Way {
    fn of(threads: usize, devices: Vec<usize>) -> Way {
        Way { threads, devices, partition: None }
    }

    fn partitioned(ranges: usize, sets: usize) -> Way {
        Way { partition: Some(Partition { ranges, sets }), ..Way::of(1, vec![0; ranges * sets]) }
    }
}

/// Returns the ways for a backend with these devices. The first is the plain case. Blocks of numbers
/// of two doubles take longer and are divided by their sinks alone, so that they have fewer ways.
fn ways(
    backend: Backend,
    devices: &[DeviceDescription],
    wanted: &Option<Vec<usize>>,
    interaction: &Interaction,
) -> Vec<Way> {
    if let Some(devices) = wanted {
        return vec![Way::of(1, devices.clone())];
    }
    let mut ways = match backend {
        Backend::Cpu if interaction.has_low_limbs() => vec![Way::of(1, vec![0]), Way::of(2, vec![0; 3])],
        _ if interaction.has_low_limbs() => vec![Way::of(1, vec![0])],
        Backend::Cpu => {
            vec![Way::of(1, vec![0]), Way::of(2, vec![0]), Way::of(1, vec![0; 3]), Way::of(3, vec![0; 8])]
        }
        _ => vec![Way::of(1, vec![0]), Way::partitioned(3, 1), Way::partitioned(2, 2)],
    };
    let alike = alike(devices);
    if alike > 1 {
        ways.push(Way::of(1, (0..alike).collect()));
    }
    ways
}

/// Returns every entry of the catalogue, on every backend of this machine, at every instruction
/// set, on one and several threads and devices.
pub fn targets(selection: &Selection) -> Vec<Target> {
    let mut targets = Vec::new();
    for entry in CATALOGUE.iter() {
        let has_order = wanted(selection.order, entry.order) && wanted(selection.precision, entry.precision);
        if !has_order || !wanted(selection.scope, entry.scope) {
            continue;
        }
        for backend in Backend::ALL.into_iter().filter(|backend| wanted(selection.backend, *backend)) {
            let Ok(devices) = backend.devices() else { continue };
            let levels: Vec<Level> = match backend {
                Backend::Cpu => Level::available().filter(|level| wanted(selection.level, *level)).collect(),
                _ => vec![Level::Portable],
            };
            let ways = ways(backend, &devices, &selection.devices, entry);
            for level in levels {
                targets.extend(ways.iter().map(|Way { threads, devices, partition }| Target {
                    setup: Setup {
                        order: entry.order,
                        precision: entry.precision,
                        scope: entry.scope,
                        backend,
                        devices: devices.clone(),
                        threads: *threads,
                        level,
                        shape: None,
                        partition: *partition,
                        crossover: Some(0),
                        block_steps: None,
                        fall_back: false,
                    },
                }));
            }
        }
    }
    targets
}
