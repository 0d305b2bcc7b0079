//! Forces by a tree on all bodies, with their errors, beside direct sums.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::bench::arrays::{Bodies, Received};
use crate::bench::device::DeviceMemory;
use crate::bench::measure::{self, Bench, Particle, SOFTENING};
use crate::bench::plot::{self, Axis, Curve, DECADES, Picture};
use crate::bench::row::{Row, Work};
use crate::bench::table::print_json;
use crate::bench::{Arguments, given};
use crate::failure::{Failure, Result};
use crate::machine::named;
use kyoho::{Setup, System};
use kyoho_core::error::shown;
use kyoho_core::{DeviceBodies, DeviceForces, Order, SinkOrder, TreeAccuracy, TreePhase, memory};
use kyoho_engine::TreeErrors;
use kyoho_hal::Backend;

/// The numbers of bodies on GPUs and on CPUs.
const BODIES: [[u32; 3]; 2] = [[1 << 17, 1 << 20, 1 << 23], [1 << 14, 1 << 16, 1 << 18]];
/// The accuracies.
const ACCURACIES: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// The most pairs of the direct sums that are measured, on GPUs and on CPUs. Of more bodies only
/// some are sinks, and the time is in proportion.
const PAIRS: [usize; 2] = [1 << 36, 1 << 29];
/// The number of sinks by which errors are measured.
pub const SAMPLES: usize = 1000;

/// How forces are summed by a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// By expansions of cells, as the library does.
    Cells,
    /// By a walk for each sink in Morton order, in which cells are points.
    Stackless,
    /// By such a walk in the order of the bodies.
    StacklessUnsorted,
}

impl Walk {
    /// All.
    pub const ALL: [Walk; 3] = [Walk::Cells, Walk::Stackless, Walk::StacklessUnsorted];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Walk::Cells => "cells",
            Walk::Stackless => "stackless",
            Walk::StacklessUnsorted => "stackless-unsorted",
        }
    }

    /// Returns what it is asked for with an opening angle.
    pub fn with(self, theta: f64) -> TreeAccuracy {
        match self {
            Walk::Cells => TreeAccuracy::Theta(theta),
            Walk::Stackless => TreeAccuracy::Stackless { theta, sinks: SinkOrder::Morton },
            Walk::StacklessUnsorted => TreeAccuracy::Stackless { theta, sinks: SinkOrder::Given },
        }
    }
}

/// The name of what a call takes beside its phases.
const REST: &str = "rest";
/// The opening angle of walks without a stack.
const THETA: f64 = 0.6;

/// The measurements of one number of bodies and one accuracy.
struct Measured {
    /// What the tree was asked for.
    asked: TreeAccuracy,
    /// Writing all sources and computing their forces.
    whole: Row,
    /// The forces of sources that stay.
    forces: Row,
    /// Direct sums on all bodies or some.
    direct: Row,
}

impl Measured {
    /// Returns the time of direct sums on all bodies.
    fn direct_seconds(&self) -> f64 {
        self.direct.seconds * self.direct.nj as f64 / self.direct.ni as f64
    }
}

/// Returns the number of an accuracy, with its name.
fn number_of(asked: TreeAccuracy) -> (&'static str, f64) {
    match asked {
        TreeAccuracy::Error(error) => ("accuracy", error),
        TreeAccuracy::Theta(theta) | TreeAccuracy::Stackless { theta, .. } => ("theta", theta),
    }
}

/// Measures, prints a table or JSON, and draws the pictures.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let (walk, asked) = asked(arguments)?;
    let path = plot::path(arguments.plot.as_deref(), "kyoho-tree.svg")?;
    let path_of_errors = beside(path);
    plot::path(Some(&path_of_errors), "")?;
    let place = usize::from(setup.backend == Backend::Cpu);
    let mut numbers = given(&arguments.n, &BODIES[place]);
    numbers.sort_unstable();
    numbers.dedup();

    let mut all: Vec<Measured> = Vec::new();
    for n in numbers {
        let longest = all.iter().map(|row| row.whole.seconds / row.whole.nj as f64).fold(0.0, f64::max);
        let foreseen = measure::least_seconds(longest * n as f64);
        if arguments.effort().is_left_out(foreseen, format_args!("{n} bodies and more"))? {
            break;
        }
        of_bodies(arguments, setup, (n, (PAIRS[place] / n).clamp(1, n)), (walk, &asked), &mut all)?;
    }
    if arguments.json {
        let rows = |row: &Measured| [row.whole.clone(), row.forces.clone(), row.direct.clone()];
        print_json(&all.iter().flat_map(rows).collect::<Vec<_>>())?;
    }
    let title = all[0].whole.title();
    plot::draw(path, &times(title.clone(), &asked, &all))?;
    let drawn = match times_by_errors(title, &all) {
        Some(picture) => {
            plot::draw(&path_of_errors, &picture)?;
            format!("plots: {}, {}", path.display(), path_of_errors.display())
        }
        None => {
            arguments.effort().note("no plot against errors: all errors are zero")?;
            format!("plot: {}", path.display())
        }
    };
    if arguments.json { Ok(()) } else { out!("{drawn}") }
}

/// Returns the walk, and what to ask for, the largest errors first.
fn asked(arguments: &Arguments) -> Result<(Walk, Vec<TreeAccuracy>)> {
    let walk = arguments.walk.as_deref().map(|name| named("--walk", name, &Walk::ALL, Walk::name));
    let walk = walk.transpose()?.unwrap_or(Walk::Cells);
    if walk != Walk::Cells && !arguments.accuracy.is_empty() {
        let allowed = format!("--theta with --walk {}", walk.name());
        return Err(Failure::Argument { option: "--accuracy", value: "given".into(), allowed });
    }
    let by_angle = walk != Walk::Cells || !arguments.theta.is_empty();
    let (option, given, default, [lowest, highest]) = if by_angle {
        ("--theta", &arguments.theta, &[THETA][..], TreeAccuracy::THETAS)
    } else {
        ("--accuracy", &arguments.accuracy, &ACCURACIES[..], TreeAccuracy::ERRORS)
    };
    let mut numbers = if given.is_empty() { default.to_vec() } else { given.clone() };
    if let Some(wrong) = numbers.iter().find(|number| !(lowest..=highest).contains(*number)) {
        let allowed = format!("{} to {}", shown(lowest), shown(highest));
        return Err(Failure::Argument { option, value: shown(*wrong), allowed });
    }
    numbers.sort_by(|one, other| other.total_cmp(one));
    numbers.dedup();
    let asked = |number: f64| if by_angle { walk.with(number) } else { TreeAccuracy::Error(number) };
    Ok((walk, numbers.into_iter().map(asked).collect()))
}

/// Returns the path of the second picture: that of the first with `-error` at the end of the name.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}-error.svg"))
}

/// Measures the rows of one number of bodies, with direct sums on some of them, and prints each at
/// once.
fn of_bodies(
    arguments: &Arguments,
    setup: &Setup,
    (n, sinks_of_direct): (usize, usize),
    (walk, all_asked): (Walk, &[TreeAccuracy]),
    all: &mut Vec<Measured>,
) -> Result<()> {
    let bodies = measure::bodies(n)?;
    let mut bench = Bench::new(arguments.seconds, setup, &bodies)?;
    let mut direct = Bench::new(arguments.seconds, setup, &bodies)?;
    // Trees are measured where direct sums would be faster, too.
    bench.system().set_tree_crossover(Some(0));
    let mut caller = Caller::new(&bodies, bench.system())?;
    if arguments.on_device {
        caller.move_to(setup.devices[0], bench.system())?;
    }
    for asked in all_asked {
        bench.system().set_tree(Some(*asked))?;
        let mut calls: [&mut dyn FnMut() -> Result<()>; 2] =
            [&mut || caller.call(bench.system()), &mut || direct.call(Work::NTimesN, sinks_of_direct).map(|_| ())];
        let medians = measure::in_turns(arguments.seconds, &mut calls)?;
        // By themselves, as a tree may be kept as long as no source is written.
        let forces = measure::in_turns(arguments.seconds, &mut [|| caller.force(bench.system())])?[0];
        let errors = caller.errors(bench.system())?;
        let profile = if arguments.phases { Some(caller.profile(bench.system())?) } else { None };

        let direct = direct.row(Work::NTimesN, [sinks_of_direct, n], medians[1]);
        let seconds_of_direct = direct.seconds * n as f64 / sinks_of_direct as f64;
        let [whole, forces] = [(Work::Tree, medians[0]), (Work::TreeSourcesStay, forces)].map(|(work, median)| Row {
            accuracy: if let TreeAccuracy::Error(error) = *asked { Some(error) } else { None },
            theta: if let TreeAccuracy::Error(_) = *asked { None } else { Some(number_of(*asked).1) },
            walk: Some(walk.name()),
            phase_seconds: profile.as_ref().map(|profile| profile.seconds.clone()),
            interactions_per_sink: profile.as_ref().map(|profile| profile.interactions_per_sink),
            error_median: Some(errors.median),
            error_percentile_99: Some(errors.percentile_99),
            of_direct: Some(seconds_of_direct / median.0),
            on_device: Some(arguments.on_device),
            ..bench.row(work, [n, n], median)
        });
        let measured = Measured { asked: *asked, whole, forces, direct };
        if !arguments.json {
            if all.is_empty() {
                print_header(&measured)?;
            }
            print(&measured)?;
        }
        all.push(measured);
    }
    Ok(())
}

/// A program with arrays of its bodies and of their forces.
pub struct Caller<'a> {
    bodies: &'a [Particle],
    forces: Received,
    on_device: Option<OnDevice>,
}

/// The arrays of such a program that lie on the device.
struct OnDevice {
    _memory: DeviceMemory,
    sources: DeviceBodies,
    forces: DeviceForces,
}

/// The phases of a call.
pub struct Profile {
    /// The seconds of each, and of the rest of the call, which is mostly copies.
    pub seconds: BTreeMap<&'static str, f64>,
    /// The number of interactions of a sink.
    pub interactions_per_sink: f64,
}

impl Profile {
    /// Returns the seconds until the tree and the moments of its cells are made.
    pub fn construction(&self) -> f64 {
        [TreePhase::Sort, TreePhase::Cells, TreePhase::Moments].iter().map(|phase| self.seconds[phase.name()]).sum()
    }
}

impl<'a> Caller<'a> {
    /// Makes the arrays.
    pub fn new(bodies: &'a [Particle], system: &System) -> Result<Caller<'a>> {
        Ok(Caller { bodies, forces: Received::new(bodies.len(), system.interaction())?, on_device: None })
    }

    /// Copies the arrays to a device, from which all calls take them from now on.
    fn move_to(&mut self, number: usize, system: &System) -> Result<()> {
        let mut memory = DeviceMemory::new(number)?;
        let bodies = Bodies::new(self.bodies, 0..self.bodies.len(), system.interaction())?;
        let sources = memory.bodies(&bodies, true, true)?;
        let forces = memory.forces(self.bodies.len(), system.interaction())?;
        self.on_device = Some(OnDevice { _memory: memory, sources, forces });
        Ok(())
    }

    /// Writes all sources, computes the forces on all bodies, and receives them.
    pub fn call(&self, system: &mut System) -> Result<()> {
        self.write(system)?;
        self.force(system)
    }

    /// Returns the errors of the forces on some of the bodies.
    pub fn errors(&self, system: &mut System) -> Result<TreeErrors> {
        let count = self.bodies.len();
        let sinks = (0..count).map(|number| self.bodies[number].sink(number, 0.0));
        Ok(system.tree_errors(count, true, &memory::collected(sinks, "sinks")?, SAMPLES)?)
    }

    /// Measures the phases of a call, each of which is waited for. The whole is that of a call
    /// before, in which interactions are not counted, and which follows one of its kind.
    pub fn profile(&self, system: &mut System) -> Result<Profile> {
        self.call(system)?;
        let began = Instant::now();
        self.call(system)?;
        let whole = began.elapsed().as_secs_f64();
        system.profile_trees(true);
        self.call(system)?;
        let profile = system.profile_trees(false);
        let of_phase = |phase: TreePhase| (phase.name(), profile.seconds_of(phase));
        let mut seconds: BTreeMap<_, _> = TreePhase::ALL.into_iter().map(of_phase).collect();
        seconds.insert(REST, (whole - profile.seconds.iter().sum::<f64>()).max(0.0));
        let interactions_per_sink = (profile.near + profile.far) as f64 / self.bodies.len() as f64;
        Ok(Profile { seconds, interactions_per_sink })
    }

    /// Writes all sources.
    fn write(&self, system: &mut System) -> Result<()> {
        let bodies: &[Particle] = self.bodies;
        if let Some(arrays) = &self.on_device {
            let are_taken = system.set_sources_on_device(&arrays.sources, bodies.len())?;
            debug_assert!(are_taken, "no block is under way, and there were no more sources before");
            return Ok(());
        }
        Ok(system.set_sources(bodies.len(), |number| bodies[number].source(Order::Second, number, 0.0))?)
    }

    /// Computes the forces of all bodies on one another, and receives them.
    fn force(&self, system: &mut System) -> Result<()> {
        system.start_all(self.bodies.len(), SOFTENING * SOFTENING)?;
        if let Some(arrays) = &self.on_device {
            return Ok(system.wait_on_device(&arrays.forces)?);
        }
        Ok(system.wait_each_on_threads(|first, forces| self.forces.write(first, &forces))?)
    }
}

fn print_header(measured: &Measured) -> Result<()> {
    let arrays = if measured.whole.on_device == Some(true) { ", arrays on the device" } else { "" };
    let title = measured.whole.title();
    out_wrapped!(2, "{title}; forces on all of N bodies by a tree{arrays}, beside direct sums")?;
    out!("relative errors of accelerations; milliseconds, also where sources stay")?;
    let times = format!("{:>10}  {:>10}  {:>10}  {:>6}", "tree, ms", "stays, ms", "direct, ms", "ratio");
    let (asked, _) = number_of(measured.asked);
    out!("{:>8}  {asked:>8}  {:>7}  {:>7}  {times}", "N", "median", "99 %")
}

fn print(measured: &Measured) -> Result<()> {
    let Row { nj, seconds, .. } = &measured.whole;
    let number = |number: Option<f64>| number.unwrap_or(f64::NAN);
    let errors = [measured.whole.error_median, measured.whole.error_percentile_99].map(number);
    let [whole, forces, direct] =
        [*seconds, measured.forces.seconds, measured.direct_seconds()].map(|seconds| seconds * 1e3);
    let times = format!("{whole:>10.3}  {forces:>10.3}  {direct:>10.3}  {:>6.3}", number(measured.whole.of_direct));
    let asked = match measured.asked {
        TreeAccuracy::Error(error) => format!("{error:e}"),
        other => number_of(other).1.to_string(),
    };
    out!("{nj:>8}  {asked:>8}  {:>7.1e}  {:>7.1e}  {times}", errors[0], errors[1])?;
    let Some(seconds) = &measured.whole.phase_seconds else { return Ok(()) };
    let phases = TreePhase::ALL.map(TreePhase::name).into_iter().chain([REST]);
    let shown = phases.map(|phase| format!("{phase} {:.3}", seconds[phase] * 1e3));
    let each = number(measured.whole.interactions_per_sink);
    let shown = shown.collect::<Vec<_>>().join(", ");
    out_wrapped!(10, "{:>8}  milliseconds: {shown}; {each:.1} interactions a sink", "")
}

/// Returns the picture of the time against the number of bodies, with a curve for each accuracy and
/// one of direct sums.
fn times(title: String, asked: &[TreeAccuracy], all: &[Measured]) -> Picture {
    let curve = |label: String, asked: TreeAccuracy, seconds: &dyn Fn(&Measured) -> f64| Curve {
        label,
        points: (all.iter().filter(|row| row.asked == asked)).map(|row| (row.whole.nj as f64, seconds(row))).collect(),
        dashes: Vec::new(),
        level: None,
    };
    let of_tree = |asked: &TreeAccuracy| {
        let label = match *asked {
            TreeAccuracy::Error(error) => format!("tree, accuracy {error:e}"),
            TreeAccuracy::Theta(theta) => format!("tree, theta {theta}"),
            TreeAccuracy::Stackless { theta, .. } => format!("stackless walk, theta {theta}"),
        };
        curve(label, *asked, &|row| row.whole.seconds)
    };
    let direct = curve("direct sums".into(), asked[0], &Measured::direct_seconds);
    Picture {
        title,
        axes: [("N", &DECADES), ("seconds", &DECADES)].map(|(what, scale)| Axis { what, scale }),
        dashes: None,
        curves: asked.iter().map(of_tree).chain([direct]).collect(),
    }
}

/// Returns the picture of the time against the median error, with a curve for each number of
/// bodies, or `None` where all errors are zero, which a logarithmic axis has no place for.
fn times_by_errors(title: String, all: &[Measured]) -> Option<Picture> {
    let of_bodies = |rows: &[Measured]| {
        let point = |row: &Measured| Some((row.whole.error_median.filter(|error| *error > 0.0)?, row.whole.seconds));
        let mut points: Vec<plot::Point> = rows.iter().filter_map(point).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        Curve { label: format!("N = {}", rows[0].whole.nj), points, dashes: Vec::new(), level: None }
    };
    let curves: Vec<Curve> = all
        .chunk_by(|one, next| one.whole.nj == next.whole.nj)
        .map(of_bodies)
        .filter(|curve| !curve.points.is_empty())
        .collect();
    let axes = [("median relative error of accelerations", &DECADES), ("seconds", &DECADES)]
        .map(|(what, scale)| Axis { what, scale });
    (!curves.is_empty()).then_some(Picture { title, axes, dashes: None, curves })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a tree that takes a microsecond for each body and each digit of its accuracy, beside
    /// direct sums on half of the bodies.
    fn measured(n: usize, accuracy: f64) -> Measured {
        let seconds = -1e-6 * n as f64 * accuracy.log10();
        let asked = TreeAccuracy::Error(accuracy);
        let error_median = Some(0.5 * accuracy);
        let whole = Row { work: Work::Tree, ni: n, nj: n, seconds, error_median, ..Row::example() };
        let forces = Row { work: Work::TreeSourcesStay, seconds: 0.5 * seconds, ..whole.clone() };
        let direct =
            Row { work: Work::NTimesN, ni: n / 2, nj: n, seconds: 1e-9 * (n * n / 2) as f64, ..Row::example() };
        Measured { asked, whole, forces, direct }
    }

    #[test]
    fn each_accuracy_and_direct_sums_have_a_curve_of_times() {
        let all = [(1000, 1e-2), (1000, 1e-3), (8000, 1e-2), (8000, 1e-3)].map(|(n, accuracy)| measured(n, accuracy));
        let Picture { curves, .. } = times("a title".into(), &[1e-2, 1e-3].map(TreeAccuracy::Error), &all);
        let labels: Vec<&str> = curves.iter().map(|curve| curve.label.as_str()).collect();
        assert_eq!(labels, ["tree, accuracy 1e-2", "tree, accuracy 1e-3", "direct sums"]);
        let points = |points: &[plot::Point]| points.iter().map(|(n, s)| (*n, (s * 1e6).round())).collect::<Vec<_>>();
        assert_eq!(points(&curves[1].points), [(1000.0, 3000.0), (8000.0, 24000.0)]);
        assert_eq!(points(&curves[2].points), [(1000.0, 1000.0), (8000.0, 64000.0)]);
    }

    #[test]
    fn each_number_of_bodies_has_a_curve_of_times_by_errors_that_are_not_zero() {
        let mut all = [(1000, 1e-2), (1000, 1e-3), (8000, 1e-2)].map(|(n, accuracy)| measured(n, accuracy));
        let curves = times_by_errors("a title".into(), &all).unwrap().curves;
        assert_eq!(curves.iter().map(|curve| curve.label.as_str()).collect::<Vec<_>>(), ["N = 1000", "N = 8000"]);
        assert_eq!(curves[0].points.iter().map(|(error, _)| *error).collect::<Vec<_>>(), [5e-4, 5e-3]);
        all.iter_mut().for_each(|row| row.whole.error_median = Some(0.0));
        assert!(times_by_errors("a title".into(), &all).is_none());
    }

    #[test]
    fn the_second_picture_lies_beside_the_first() {
        assert_eq!(beside(Path::new("a/b.c.svg")), Path::new("a/b.c-error.svg"));
    }
}
