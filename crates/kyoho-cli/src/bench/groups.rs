//! Forces on groups: interaction lists and batches of systems, from the arrays of a program to
//! arrays of it.

use std::rc::Rc;

use crate::bench::Arguments;
use crate::bench::arrays::{Bodies, Received, copier};
use crate::bench::device::DeviceMemory;
use crate::bench::measure::{self, Bench, Particle, SOFTENING};
use crate::bench::row::{Row, Work};
use crate::bench::table::print_json;
use crate::failure::{Failure, Result};
use crate::model::random::Random;
use kyoho::{Setup, System};
use kyoho_core::{DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DeviceSources, Interaction, memory};
use kyoho_engine::lists::{Division, GivenBodies, GivenLists, GivenSources, SourceDivision};
use kyoho_hal::Backend;

/// The groups of a row, which have the same numbers of sinks and of sources.
#[derive(Debug, Clone, Copy)]
struct Groups {
    work: Work,
    count: usize,
    sinks: usize,
    sources: usize,
}

/// The rows of interaction lists: groups as trees on GPUs make them, and small ones.
const LISTS: [Groups; 4] = [
    Groups { work: Work::ListsOfAddresses, count: 4096, sinks: 256, sources: 4000 },
    Groups { work: Work::ListsOfAddresses, count: 32768, sinks: 32, sources: 500 },
    Groups { work: Work::ListsOfOwnSources, count: 1000, sinks: 256, sources: 3000 },
    Groups { work: Work::ListsOfRanges, count: 4096, sinks: 256, sources: 4000 },
];

/// A CPU has so many times fewer groups.
const FEWER_ON_CPUS: usize = 16;
/// The numbers of bodies of a batch on GPUs and on CPUs.
const BODIES_OF_BATCH: [usize; 2] = [3_000_000, 1 << 16];
/// The most bodies of a batch.
const MOST_BODIES: usize = 1 << 28;

impl Groups {
    fn all_sinks(&self) -> usize {
        self.count * self.sinks
    }

    fn pairs(&self) -> f64 {
        self.all_sinks() as f64 * self.sources as f64
    }

    /// Returns the number of bodies among which there are as many pairs.
    fn n(&self) -> usize {
        self.pairs().sqrt().round() as usize
    }
}

/// Measures, and prints a table or JSON.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let groups = if arguments.batch { batches(arguments, setup)? } else { lists(arguments, setup) };
    let most = groups.iter().map(Groups::all_sinks).max().unwrap_or(0);
    let bodies = measure::bodies(groups.iter().map(|groups| groups.sources).max().unwrap_or(0).max(most))?;
    // The sources of a batch all come with the call.
    let resident = if arguments.batch { Rc::default() } else { bodies.clone() };
    let mut bench = Bench::new(arguments.seconds, setup, &resident)?;
    // Small systems are compared with the speed of large ones too.
    let largest = groups.iter().map(Groups::n).max().unwrap_or(0);
    let mut reference: Option<Bench> = None;
    let mut rows = Vec::new();
    for groups in groups {
        let n = if arguments.batch { largest } else { groups.n() };
        let n_times_n = match reference.take().filter(|reference| reference.nj() == n) {
            Some(same) => same,
            None => Bench::new(arguments.seconds, setup, &measure::bodies(n)?)?,
        };
        let n_times_n = reference.insert(n_times_n);
        let device = arguments.on_device.then_some(setup.devices[0]);
        let [row, n_times_n] = measure(arguments.seconds, (&groups, device), &bodies, &mut bench, n_times_n)?;
        if !arguments.json {
            if rows.is_empty() {
                print_header(&row)?;
            }
            print(&row, &n_times_n)?;
        }
        rows.extend([row, n_times_n]);
    }
    if arguments.json { print_json(&rows) } else { Ok(()) }
}

/// Returns the rows of interaction lists.
fn lists(arguments: &Arguments, setup: &Setup) -> Vec<Groups> {
    let fewer = if setup.backend == Backend::Cpu { FEWER_ON_CPUS } else { 1 };
    let count = |usual: usize| arguments.groups.map_or(usual / fewer, |groups| groups as usize);
    LISTS.map(|groups| Groups { count: count(groups.count), ..groups }).to_vec()
}

/// Returns the rows of batches.
fn batches(arguments: &Arguments, setup: &Setup) -> Result<Vec<Groups>> {
    let bodies = BODIES_OF_BATCH[usize::from(setup.backend == Backend::Cpu)];
    let groups = |n: usize| {
        let count = arguments.systems.map_or((bodies / n).max(1), |systems| systems as usize);
        if count.saturating_mul(n) > MOST_BODIES {
            return Err(Failure::Argument {
                option: "--systems",
                value: format!("{count}, of {n} bodies each"),
                allowed: format!("up to {MOST_BODIES} bodies in all"),
            });
        }
        Ok(Groups { work: Work::Batch, count, sinks: n, sources: n })
    };
    arguments.n().into_iter().map(groups).collect()
}

/// Measures the forces on groups and, in turns with them, forces N x N.
fn measure(
    seconds: f64,
    (groups, device): (&Groups, Option<usize>),
    bodies: &[Particle],
    bench: &mut Bench,
    n_times_n: &mut Bench,
) -> Result<[Row; 2]> {
    let interaction = bench.system().interaction().clone();
    let mut caller = Caller::new(groups, bodies, &interaction)?;
    if let Some(number) = device {
        caller.move_to(number, &interaction)?;
    }
    let n = n_times_n.nj();
    let mut calls: [&mut dyn FnMut() -> Result<()>; 2] =
        [&mut || caller.call(bench.system()), &mut || n_times_n.call(Work::NTimesN, n).map(|_| ())];
    let medians = measure::in_turns(seconds, &mut calls)?;
    let n_times_n = n_times_n.row(Work::NTimesN, [n, n], medians[1]);
    let row = bench.row(groups.work, [groups.sinks, groups.sources], medians[0]);
    // A row has the pairs of one group.
    let of_all = |of_one: Option<f64>| of_one.map(|rate| rate * groups.count as f64);
    let interactions_per_second = of_all(row.interactions_per_second);
    let row = Row {
        interactions_per_second,
        flops_per_second: of_all(row.flops_per_second),
        groups: Some(groups.count),
        groups_per_second: Some(groups.count as f64 / row.seconds),
        on_device: Some(device.is_some()),
        of_n_times_n: interactions_per_second.zip(n_times_n.interactions_per_second).map(|(own, other)| own / other),
        ..row
    };
    Ok([row, n_times_n])
}

/// The arrays of a program that computes the forces on groups.
struct Caller {
    groups: usize,
    sink_offsets: Vec<i32>,
    sinks: Bodies,
    source_offsets: Vec<i64>,
    sources: Sources,
    forces: Received,
    on_device: Option<OnDevice>,
}

/// The arrays of such a program that lie on the device.
struct OnDevice {
    /// Where they are, which is freed with this.
    _memory: DeviceMemory,
    groups: DeviceGroups,
    sinks: DeviceBodies,
    own: Option<DeviceBodies>,
    addresses: Option<DeviceArray>,
    forces: DeviceForces,
}

/// The sources of the groups.
enum Sources {
    Addresses(Vec<i32>),
    Own(Bodies),
    /// The first address of each group and the number of addresses.
    Ranges(Vec<[i32; 2]>),
    /// The sinks of each group.
    Sinks,
}

/// The name of offsets and addresses in errors about memory.
const PLACES: &str = "the lists of groups";

impl Caller {
    /// Makes the arrays. Addresses are drawn at random, as are the first addresses of ranges.
    fn new(groups: &Groups, bodies: &[Particle], interaction: &Interaction) -> Result<Caller> {
        let Groups { count, sinks, sources, .. } = *groups;
        let all_sinks = groups.all_sinks();
        let mut random = Random(1);
        let mut below = |end: usize| (random.uniform() * end as f64) as i32;
        let mut addresses = || memory::collected((0..count * sources).map(|_| below(bodies.len())), PLACES);
        let sources_of_groups = match groups.work {
            Work::ListsOfAddresses => Sources::Addresses(addresses()?),
            Work::ListsOfOwnSources => {
                let addresses = addresses()?;
                Sources::Own(Bodies::new(bodies, addresses.iter().map(|address| *address as usize), interaction)?)
            }
            Work::ListsOfRanges => {
                let range = |_| [below(bodies.len() - sources + 1), sources as i32];
                Sources::Ranges(memory::collected((0..count).map(range), PLACES)?)
            }
            _ => Sources::Sinks,
        };
        Ok(Caller {
            groups: count,
            sink_offsets: memory::collected((0..=count).map(|group| (group * sinks) as i32), PLACES)?,
            sinks: Bodies::new(bodies, 0..all_sinks, interaction)?,
            source_offsets: memory::collected((0..=count).map(|group| (group * sources) as i64), PLACES)?,
            sources: sources_of_groups,
            forces: Received::new(all_sinks, interaction)?,
            on_device: None,
        })
    }

    /// Copies the arrays to a device, from which all calls take them from now on.
    fn move_to(&mut self, number: usize, interaction: &Interaction) -> Result<()> {
        let mut memory = DeviceMemory::new(number)?;
        let count = self.sink_offsets[self.groups] as usize;
        let (mut own, mut addresses) = (None, None);
        let offsets = |memory: &mut DeviceMemory| memory.array("source_offsets", &self.source_offsets, 1);
        let sources = match &self.sources {
            Sources::Addresses(all) => {
                addresses = Some(memory.array("addresses", all, 1)?);
                DeviceSources::Addresses(offsets(&mut memory)?)
            }
            Sources::Own(all) => {
                own = Some(memory.bodies(all, true, true)?);
                DeviceSources::Own(offsets(&mut memory)?, all.indices.len())
            }
            Sources::Sinks => {
                own = Some(memory.bodies(&self.sinks, true, false)?);
                DeviceSources::Sinks
            }
            Sources::Ranges(all) => {
                let first = memory.array("first_addresses", all.as_flattened(), 1)?;
                // A row has both numbers of a group.
                let first = DeviceArray { stride: 8, ..first };
                DeviceSources::Ranges(first, DeviceArray { name: "source_counts", address: first.address + 4, ..first })
            }
        };
        let sinks = memory.array("sink_offsets", &self.sink_offsets, 1)?;
        let place = memory.place("lists");
        let groups = DeviceGroups { place, count: self.groups, sinks, sink_count: count, sources };
        let sinks = memory.bodies(&self.sinks, false, true)?;
        let forces = memory.forces(count, interaction)?;
        self.on_device = Some(OnDevice { _memory: memory, groups, sinks, own, addresses, forces });
        Ok(())
    }

    /// Begins the forces from arrays on the device.
    fn start_on_device(&self, system: &mut System, arrays: &OnDevice) -> kyoho::Result<()> {
        let division = Division::Device(arrays.groups);
        let bodies = |count: usize, on_device: Option<DeviceBodies>| GivenBodies {
            count,
            softening2: SOFTENING * SOFTENING,
            on_device,
            ..GivenBodies::default()
        };
        let count = self.sink_offsets[self.groups] as usize;
        let start = |system: &mut System, sources: GivenSources| {
            let lists = GivenLists { groups: self.groups, division, sources };
            system.start_lists(true, &bodies(count, Some(arrays.sinks)), &lists)
        };
        match (&self.sources, arrays.addresses) {
            (Sources::Addresses(_), Some(addresses)) => start(system, GivenSources::AddressesOnDevice(addresses)),
            (Sources::Own(_), _) => {
                let sources = bodies(self.source_offsets[self.groups] as usize, arrays.own);
                start(system, GivenSources::Own(sources))
            }
            (Sources::Ranges(_), _) => start(system, GivenSources::Ranges),
            _ => system.start_batch(self.groups, division, &bodies(count, arrays.own)),
        }
    }

    /// Computes the forces once, and receives all of them.
    fn call(&self, system: &mut System) -> Result<()> {
        if let Some(arrays) = &self.on_device {
            return Ok(system.leave_in(&arrays.forces, |system| self.start_on_device(system, arrays))?);
        }
        self.start(system)?;
        Ok(system.wait_each_on_threads(|first, forces| self.forces.write(first, &forces))?)
    }

    fn start(&self, system: &mut System) -> kyoho::Result<()> {
        let sink_offsets = |number: usize| i64::from(self.sink_offsets[number]);
        let offsets = SourceDivision::Offsets(&|number: usize| self.source_offsets[number]);
        let count = self.sink_offsets[self.groups] as usize;
        let mut start = |of_sources: SourceDivision, sources: GivenSources| {
            let lists = GivenLists {
                groups: self.groups,
                division: Division::Host { sinks: &sink_offsets, sources: of_sources },
                sources,
            };
            self.sinks.give(count, |mut sinks| {
                sinks.columns.masses = None;
                system.start_lists(true, &sinks, &lists)
            })
        };
        match &self.sources {
            Sources::Addresses(addresses) => start(offsets, GivenSources::Addresses(&copier(addresses, 1))),
            Sources::Own(own) => {
                let count = self.source_offsets[self.groups] as usize;
                own.give(count, |sources| start(offsets, GivenSources::Own(sources)))
            }
            Sources::Ranges(ranges) => start(SourceDivision::Ranges(&|group| ranges[group]), GivenSources::Ranges),
            Sources::Sinks => self.sinks.give(count, |mut bodies| {
                bodies.columns.indices = None;
                let sources = SourceDivision::Offsets(&sink_offsets);
                system.start_batch(self.groups, Division::Host { sinks: &sink_offsets, sources }, &bodies)
            }),
        }
    }
}

fn print_header(row: &Row) -> Result<()> {
    let arrays = if row.on_device == Some(true) { ", arrays on the device" } else { "" };
    out_wrapped!(2, "{}{arrays}; beside it forces N x N in the same run", row.title())?;
    let groups = if row.work == Work::Batch {
        format!("{:>9}  {:>6}  {:>10}  {:>10}", "systems", "bodies", "ms", "systems/s")
    } else {
        let work = format!("{:<20}  {:>6}  {:>5}  {:>7}", "work", "groups", "sinks", "sources");
        format!("{work}  {:>8}", "ms")
    };
    out!("{groups}  {:>7}  {:>7}  {:>6}", "Gint/s", "N x N", "ratio")
}

fn print(row: &Row, n_times_n: &Row) -> Result<()> {
    let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let (count, speed) = (row.groups.unwrap_or(0), number(row.interactions_per_second) / 1e9);
    let (milliseconds, groups_per_second) = (row.seconds * 1e3, number(row.groups_per_second));
    let groups = if row.work == Work::Batch {
        format!("{count:>9}  {:>6}  {milliseconds:>10.3}  {groups_per_second:>10.3e}", row.ni)
    } else {
        let work = format!("{:<20}  {count:>6}  {:>5}  {:>7}", row.work.name(), row.ni, row.nj);
        format!("{work}  {milliseconds:>8.2}")
    };
    let of_n_times_n = number(n_times_n.interactions_per_second) / 1e9;
    out!("{groups}  {speed:>7.3}  {of_n_times_n:>7.3}  {:>6.3}", number(row.of_n_times_n))
}

#[cfg(test)]
mod tests {
    use crate::bench::measure::SOFTENING;
    use kyoho::config::Settings;
    use kyoho_core::{Order, Precision};
    use kyoho_integrators::body::{Vector, vector};

    use super::*;

    /// Returns the bodies whose forces act on the sinks of a group.
    fn sources(caller: &Caller, group: usize) -> Vec<usize> {
        let places = caller.source_offsets[group] as usize..caller.source_offsets[group + 1] as usize;
        let numbers = |numbers: &[i32]| numbers.iter().map(|number| *number as usize).collect();
        match &caller.sources {
            Sources::Addresses(addresses) => numbers(&addresses[places]),
            Sources::Own(own) => numbers(&own.indices[places]),
            Sources::Ranges(ranges) => (ranges[group][0] as usize..).take(ranges[group][1] as usize).collect(),
            Sources::Sinks => places.collect(),
        }
    }

    /// Returns the potential and the acceleration of a body by the plain sum.
    fn plain(bodies: &[Particle], sink: usize, sources: &[usize]) -> (f64, Vector) {
        let (mut potential, mut acceleration) = (0.0, [0.0; 3]);
        for source in sources.iter().filter(|source| **source != sink).map(|source| &bodies[*source]) {
            let r = vector(|k| source.motion[0][k] - bodies[sink].motion[0][k]);
            let s2 = r.iter().map(|x| x * x).sum::<f64>() + SOFTENING * SOFTENING;
            potential -= source.mass / s2.sqrt();
            acceleration = vector(|k| acceleration[k] + source.mass * r[k] / (s2 * s2.sqrt()));
        }
        (potential, acceleration)
    }

    #[test]
    fn the_forces_that_are_measured_are_those_of_the_lists() {
        let bodies = measure::bodies(40).unwrap();
        let settings = Settings::from(&|_| None, None).unwrap();
        let settings = Settings { backend: Some(Backend::Cpu), ..settings };
        let mut bench = Bench::new(1.0, &settings.setup(Order::Second, Precision::Double).unwrap(), &bodies).unwrap();
        for work in [Work::ListsOfAddresses, Work::ListsOfOwnSources, Work::ListsOfRanges, Work::Batch] {
            let groups = Groups { work, count: 3, sinks: 7, sources: 7 };
            let interaction = bench.system().interaction().clone();
            let caller = Caller::new(&groups, &bodies, &interaction).unwrap();
            caller.call(bench.system()).unwrap();
            for sink in 0..groups.all_sinks() {
                let (potential, acceleration) = plain(&bodies, sink, &sources(&caller, sink / groups.sinks));
                let found = caller.forces.of(sink);
                assert!((found.0 / potential - 1.0).abs() < 1e-12, "{work:?}, {sink}: {found:?}");
                let limit = 1e-12 * acceleration.iter().map(|x| x.abs()).fold(0.0, f64::max);
                assert!((0..3).all(|k| (found.1[k] - acceleration[k]).abs() <= limit), "{work:?}, {sink}: {found:?}");
            }
        }
    }
}
