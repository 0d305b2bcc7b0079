//! `kyoho bench`: measures forces N x N, in block steps and on one sink, the writing of sources,
//! the speed-up by several devices, interaction lists, batches and trees.

mod arrays;
mod compare;
mod device;
pub mod effort;
mod groups;
pub mod measure;
pub mod plot;
pub mod row;
pub mod speedup;
mod sweep;
mod table;
pub mod trees;

use std::path::PathBuf;
use std::sync::Arc;

use crate::bench::effort::Effort;
use crate::count::{count, number, order};
use crate::failure::{Failure, Result};
use crate::machine::Machine;
use crate::out::makes_files;
use crate::precision::precision;
use kyoho::Setup;
use kyoho::config::{DeviceChoice, Settings, Wanted};
use kyoho_core::{Interaction, Order, Precision, Scope};
use kyoho_hal::Backend;
use kyoho_laws::catalogue::{self, CATALOGUE};
use kyoho_methods::gpu::shapes::{ForcedShape, SHAPES};

/// The options of `kyoho bench`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Order of the forces: 2, 4, 6 or 8 [default: 4; with --lists and --tree 2]
    #[arg(long, value_parser = order)]
    order: Option<i32>,
    /// Precision of the forces: single, mixed, double, quad [default: KYOHO_PRECISION, else mixed,
    /// or double in order 8; with --lists and --tree single where the order has it, with --batch
    /// double]
    #[arg(long)]
    precision: Option<String>,
    /// Measure regular forces, of all sources but about 64 neighbours of each sink, with the lists
    /// of these; only order 4 in mixed and double
    #[arg(long)]
    regular: bool,
    /// Numbers of sources [default: 1024,16384; with --sweep 10000,100000,1000000; with --speedup
    /// 16384,65536,131072,262144,1048576; with --tree 131072,1048576,8388608 on GPUs,
    /// 16384,65536,262144 on CPUs]; with --batch of the bodies of each system [default:
    /// 3,32,256,4096]
    #[arg(long, value_delimiter = ',', value_parser = count::<u32>(1..=1 << 28))]
    n: Vec<u32>,
    /// Numbers of sinks of the block steps; numbers above that of the sources are left out
    /// [default: 1,16,64,256,1024; with --speedup 1,16,256,1024,16384]
    #[arg(long, value_delimiter = ',', value_parser = count::<u32>(1..))]
    ni: Vec<u32>,
    /// Measure every order, precision and scope, on the CPU with one thread and with all
    #[arg(long, conflicts_with_all = ["order", "precision", "regular", "drawn", "grouped"])]
    all: bool,
    /// Measure block steps of 1, 2, 4, ... sinks up to the number of sources, and show them as a
    /// table and a picture, beside the cost model of the device if it has one
    #[arg(long, conflicts_with = "ni", group = "drawn")]
    sweep: bool,
    /// Compare several devices with one: N x N, and block steps with the largest number of sources,
    /// on the first 1, 2, 4, ... devices up to all of them (without --devices: all visible ones);
    /// shown as a table and a picture
    #[arg(long, group = "drawn")]
    speedup: bool,
    /// Measure forces by a tree on all bodies, with their errors, beside direct sums; shown as a
    /// table and two pictures: the time against the number of bodies and against the error
    #[arg(long, groups = ["drawn", "placed"], conflicts_with_all = ["ni", "regular"])]
    tree: bool,
    /// The accuracies of --tree: errors of accelerations, relative to them or to half of the sum of
    /// the sizes of all pulls, whichever is more, 1e-6 to 1e-2 [default: 1e-2,1e-3,1e-4]
    #[arg(long, value_name = "ERROR", requires = "tree", value_delimiter = ',', value_parser = number)]
    accuracy: Vec<f64>,
    /// The opening angles of --tree in the place of accuracies, 0.1 to 1.5 [with --walk stackless:
    /// default 0.6]
    #[arg(long, value_name = "ANGLE", requires = "tree", conflicts_with = "accuracy", value_delimiter = ',', value_parser = number)]
    theta: Vec<f64>,
    /// How --tree sums forces: cells, by the library's expansions; stackless, by a plain walk for
    /// each sink with cells as points, or stackless-unsorted, by such a walk in the order of the
    /// bodies, both as a reference [default: cells]
    #[arg(long, value_name = "NAME", requires = "tree")]
    walk: Option<String>,
    /// With --tree, measure the phases of one more call, and the number of interactions of a sink
    #[arg(long, requires = "tree")]
    phases: bool,
    /// Measure interaction lists: groups of sinks, on which only the sources of their own lists
    /// act; of addresses, of sources that come with the call, and of ranges of addresses
    #[arg(long, groups = ["grouped", "placed"], conflicts_with_all = ["n", "ni", "regular", "drawn"])]
    lists: bool,
    /// Measure batches of many systems, of 3 to 4096 bodies each
    #[arg(long, groups = ["grouped", "placed"], conflicts_with_all = ["ni", "regular", "drawn"])]
    batch: bool,
    /// The number of groups of each row with --lists [default: 1000 to 32768 on GPUs, 62 to 2048 on
    /// CPUs]
    #[arg(long, requires = "lists", value_parser = count::<u32>(1..=1 << 20))]
    groups: Option<u32>,
    /// The number of systems of each row with --batch [default: such that they have about 3000000
    /// bodies on GPUs, 65536 on CPUs]
    #[arg(long, requires = "batch", value_parser = count::<u32>(1..=1 << 28))]
    systems: Option<u32>,
    /// With --lists, --batch or --tree, take the arrays from the memory of the CUDA device that
    /// computes, and leave the forces there
    #[arg(long, requires = "placed")]
    on_device: bool,
    /// The file of the picture; an older file of this name is replaced [default: kyoho-bench.svg;
    /// with --speedup kyoho-speedup.svg; with --tree
    /// kyoho-tree.svg, beside it kyoho-tree-error.svg]
    #[arg(long, value_name = "FILE.svg", requires = "drawn")]
    plot: Option<PathBuf>,
    /// The most seconds for a row, with --speedup on each number of devices; a row that would take
    /// longer, by the time of smaller blocks, is left out
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, requires = "drawn", value_parser = number)]
    limit: f64,
    /// Seconds for each row, with --speedup on each number of devices; at least three calls are
    /// timed however long they take
    #[arg(long, default_value_t = 0.3, value_parser = number)]
    seconds: f64,
    /// Print a JSON array instead of a table
    #[arg(long)]
    json: bool,
    /// The launch shape that a GPU uses for every block that it fits, by its place in `SHAPES`; for
    /// work on kernels
    #[arg(long, hide = true, value_parser = count::<u8>(..SHAPES.len() as u64))]
    shape: Option<u8>,
    #[command(flatten)]
    machine: Machine,
}

impl Arguments {
    /// Returns how long is measured.
    fn effort(&self) -> Effort {
        Effort { seconds: self.seconds, limit: self.limit, json: self.json }
    }

    /// Returns the numbers of sources.
    fn n(&self) -> Vec<usize> {
        let default: &[u32] = if self.sweep {
            &[10_000, 100_000, 1_000_000]
        } else if self.speedup {
            &[1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 20]
        } else if self.batch {
            &[3, 32, 256, 4096]
        } else {
            &[1 << 10, 1 << 14]
        };
        given(&self.n, default)
    }

    /// Returns the numbers of sinks of block steps with `nj` sources.
    fn ni(&self, nj: usize) -> Vec<usize> {
        let default: &[u32] = if self.speedup { &[1, 16, 256, 1024, 16384] } else { &[1, 16, 64, 256, 1024] };
        given(&self.ni, default).into_iter().filter(|ni| *ni <= nj).collect()
    }

    /// Returns the setup to measure an order and a precision on. It uses its devices and no others,
    /// whatever fails and however small a block is.
    fn setup(&self, settings: &Settings, interaction: &Interaction) -> Result<Setup> {
        let setup = settings.setup(interaction.order, interaction.precision)?;
        self.check_place(&setup)?;
        let scope = interaction.scope;
        let shape = self.shape.map(|place| ForcedShape { place: place.into(), everywhere: false });
        Ok(Setup { scope, shape, crossover: Some(0), fall_back: false, ..setup })
    }

    /// Fails where arrays on the device are asked for and cannot be measured.
    fn check_place(&self, setup: &Setup) -> Result<()> {
        let devices = setup.devices.len();
        if !self.on_device || setup.backend == Backend::Cuda && (devices == 1 || self.tree) {
            return Ok(());
        }
        Err(Failure::Argument {
            option: "--on-device",
            value: format!("with backend {} and {devices} devices", setup.backend.name()),
            allowed: "backend cuda and one device, or several with --tree".into(),
        })
    }
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> Result<()> {
    arguments.effort().check()?;
    makes_files(arguments.plot.is_some());
    let mut settings = arguments.machine.settings()?;
    if arguments.speedup && arguments.machine.place.devices.is_none() {
        settings.devices = DeviceChoice { wanted: Wanted::All, because: "--speedup".into(), of_gpus: false };
    }
    let interactions = interactions(arguments, &settings)?;
    let setup = || arguments.setup(&settings, &interactions[0]);
    if arguments.sweep {
        sweep::run(arguments, &setup()?)
    } else if arguments.speedup {
        speedup::run(arguments, &setup()?)
    } else if arguments.tree {
        trees::run(arguments, &setup()?)
    } else if arguments.lists || arguments.batch {
        groups::run(arguments, &setup()?)
    } else {
        table::run(arguments, &settings, &interactions)
    }
}

/// Returns the given numbers, or these defaults if there are none.
pub fn given(numbers: &[u32], default: &[u32]) -> Vec<usize> {
    let numbers = if numbers.is_empty() { default } else { numbers };
    numbers.iter().map(|number| *number as usize).collect()
}

/// Returns the powers of two below a number, and the number.
pub fn doubled(number: usize) -> impl Iterator<Item = usize> {
    let powers = std::iter::successors(Some(1), |power| Some(2 * power));
    powers.take_while(move |power| *power < number).chain([number])
}

/// Returns the orders and precisions to measure.
fn interactions(arguments: &Arguments, settings: &Settings) -> Result<Vec<Arc<Interaction>>> {
    if arguments.all {
        return Ok(CATALOGUE.to_vec());
    }
    let number = arguments.order.unwrap_or(if arguments.lists || arguments.tree { 2 } else { 4 });
    let order = Order::from_number(number).ok_or_else(|| Failure::Argument {
        option: "--order",
        value: number.to_string(),
        allowed: Order::ALL.map(|order| (order as i32).to_string()).join(", "),
    })?;
    if arguments.tree && order != Order::Second {
        return Err(Failure::Argument {
            option: "--order",
            value: number.to_string(),
            allowed: "2 with --tree".into(),
        });
    }
    let name = match (&arguments.precision, settings.precision_for(order)) {
        (None, Ok(None)) => usual_precision(arguments, order).map(Precision::name),
        (given, _) => given.as_deref(),
    };
    let precision = precision(order, name, None, settings)?;
    let scope = if arguments.regular { Scope::Regular } else { Scope::Full };
    let found = catalogue::interaction_of(order, precision, scope).ok_or_else(|| Failure::Argument {
        option: "--regular",
        value: format!("with --order {number}, {}", precision.name()),
        allowed: "order 4 in precision mixed or double".into(),
    })?;
    Ok(vec![found])
}

/// Returns the precision of interaction lists, trees and batches where nothing else chooses it:
/// trees need few digits, and small systems many.
fn usual_precision(arguments: &Arguments, order: Order) -> Option<Precision> {
    let has_single = catalogue::precisions_of(order).contains(&Precision::Single);
    match (arguments.lists || arguments.tree, arguments.batch) {
        (true, _) if has_single => Some(Precision::Single),
        (_, true) => Some(Precision::Double),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_double_up_to_the_last() {
        for (number, expected) in [(1, &[1][..]), (2, &[1, 2]), (8, &[1, 2, 4, 8]), (11, &[1, 2, 4, 8, 11])] {
            assert_eq!(doubled(number).collect::<Vec<_>>(), expected);
        }
    }
}
