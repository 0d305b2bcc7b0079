//! What the suite runs on.

use std::fmt;

use crate::backend::{Backend, cpu::Level};
use crate::catalogue::{self, CATALOGUE, Descriptor, Order, Precision};
use crate::system::Setup;

/// An order and a precision on some devices, threads and instruction set.
#[derive(Debug, Clone)]
pub struct Target {
    /// What systems are made of.
    pub setup: Setup,
}

impl Target {
    /// What it computes; every target is an entry of the catalogue.
    pub fn descriptor(&self) -> &'static Descriptor {
        catalogue::descriptor(self.setup.order, self.setup.precision).expect("targets are made from the catalogue")
    }

    /// The same on other threads and devices.
    pub fn with(&self, threads: usize, devices: &[usize]) -> Target {
        Target { setup: Setup { threads, devices: devices.to_vec(), ..self.setup.clone() } }
    }

    /// Half a unit in the last place of the numbers that pairs are computed in.
    pub fn rounding(&self) -> f64 {
        match self.setup.precision {
            Precision::Single | Precision::Mixed => f64::from(f32::EPSILON) / 2.0,
            Precision::Double => f64::EPSILON / 2.0,
            Precision::Quad => (f64::EPSILON / 2.0).powi(2),
        }
    }

    /// The relative error of a coordinate as pairs see it.
    pub fn coordinate_rounding(&self) -> f64 {
        match self.setup.precision {
            Precision::Mixed => 2f64.powi(-48),
            _ => self.rounding(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Setup { order, precision, backend, devices, threads, level, shape, .. } = &self.setup;
        write!(formatter, "order {} {} {}", *order as i32, precision.name(), backend.name())?;
        if *backend == Backend::Cpu {
            write!(formatter, " {} threads {threads}", level.name())?;
        }
        write!(formatter, " devices {devices:?}")?;
        shape.map_or(Ok(()), |shape| write!(formatter, " shape {shape}"))
    }
}

/// Which targets are wanted; everything where nothing is said.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Of this backend.
    pub backend: Option<Backend>,
    /// Of this order.
    pub order: Option<Order>,
    /// Of this precision.
    pub precision: Option<Precision>,
    /// At this instruction set of the CPU.
    pub level: Option<Level>,
}

fn wanted<T: PartialEq>(choice: Option<T>, value: T) -> bool {
    choice.is_none_or(|choice| choice == value)
}

/// Threads and shares of devices that the whole suite runs with; the first of each is the plain case.
const CPU_WAYS: [(usize, &[usize]); 4] = [(1, &[0]), (2, &[0]), (1, &[0, 0, 0]), (3, &[0; 8])];
const DEVICE_WAYS: [(usize, &[usize]); 2] = [(1, &[0]), (1, &[0, 0, 0])];

/// Every entry of the catalogue, on every backend of this machine, at every instruction set, on one and several threads
/// and devices.
pub fn targets(selection: &Selection) -> Vec<Target> {
    let mut targets = Vec::new();
    for entry in CATALOGUE {
        if !wanted(selection.order, entry.order) || !wanted(selection.precision, entry.precision) {
            continue;
        }
        for backend in Backend::ALL.into_iter().filter(|backend| wanted(selection.backend, *backend)) {
            let Ok(devices) = backend.devices() else { continue };
            let levels: Vec<Level> = match backend {
                Backend::Cpu => Level::available().filter(|level| wanted(selection.level, *level)).collect(),
                _ => vec![Level::Portable],
            };
            let mut ways = match backend {
                Backend::Cpu => CPU_WAYS.map(|(threads, devices)| (threads, devices.to_vec())).to_vec(),
                _ => DEVICE_WAYS.map(|(threads, devices)| (threads, devices.to_vec())).to_vec(),
            };
            if devices.len() > 1 {
                ways.push((1, (0..devices.len()).collect()));
            }
            for level in levels {
                targets.extend(ways.iter().map(|(threads, devices)| Target {
                    setup: Setup {
                        order: entry.order,
                        precision: entry.precision,
                        backend,
                        devices: devices.clone(),
                        threads: *threads,
                        level,
                        shape: None,
                        crossover: Some(0),
                        fall_back: false,
                    },
                }));
            }
        }
    }
    targets
}
