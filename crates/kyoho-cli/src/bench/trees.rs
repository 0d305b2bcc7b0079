//! Forces by a tree on all bodies, with their errors, beside direct sums.

use std::path::{Path, PathBuf};

use crate::bench::arrays::Received;
use crate::bench::measure::{self, Bench, Particle};
use crate::bench::plot::{self, Axis, Curve, DECADES, Picture};
use crate::bench::row::{Row, Work};
use crate::bench::table::print_json;
use crate::bench::{Arguments, given};
use crate::failure::{Failure, Result};
use kyoho::data::error::shown;
use kyoho::data::{Order, TreeAccuracy, memory};
use kyoho::hal::Backend;
use kyoho::{Setup, System};

/// The numbers of bodies on GPUs and on CPUs.
const BODIES: [[u32; 3]; 2] = [[1 << 17, 1 << 20, 1 << 23], [1 << 14, 1 << 16, 1 << 18]];
/// The accuracies.
const ACCURACIES: [f64; 3] = [1e-2, 1e-3, 1e-4];
/// The most pairs of the direct sums that are measured, on GPUs and on CPUs. Of more bodies only
/// some are sinks, and the time is in proportion.
const PAIRS: [usize; 2] = [1 << 36, 1 << 29];
/// The number of sinks by which errors are measured.
const SAMPLES: usize = 1000;

/// The measurements of one number of bodies and one accuracy.
struct Measured {
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

    fn accuracy(&self) -> f64 {
        self.whole.accuracy.unwrap_or(f64::NAN)
    }
}

/// Measures, prints a table or JSON, and draws the pictures.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let accuracies = accuracies(arguments)?;
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
        of_bodies(arguments, setup, (n, (PAIRS[place] / n).clamp(1, n)), &accuracies, &mut all)?;
    }
    if arguments.json {
        let rows = |row: &Measured| [row.whole.clone(), row.forces.clone(), row.direct.clone()];
        print_json(&all.iter().flat_map(rows).collect::<Vec<_>>())?;
    }
    let title = all[0].whole.title();
    plot::draw(path, &times(title.clone(), &accuracies, &all))?;
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

/// Returns the accuracies to measure, the largest errors first.
fn accuracies(arguments: &Arguments) -> Result<Vec<f64>> {
    let mut accuracies = if arguments.accuracy.is_empty() { ACCURACIES.to_vec() } else { arguments.accuracy.clone() };
    let [lowest, highest] = TreeAccuracy::ERRORS;
    if let Some(wrong) = accuracies.iter().find(|accuracy| !(lowest..=highest).contains(*accuracy)) {
        let allowed = format!("{} to {}", shown(lowest), shown(highest));
        return Err(Failure::Argument { option: "--accuracy", value: shown(*wrong), allowed });
    }
    accuracies.sort_by(|one, other| other.total_cmp(one));
    accuracies.dedup();
    Ok(accuracies)
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
    accuracies: &[f64],
    all: &mut Vec<Measured>,
) -> Result<()> {
    let bodies = measure::bodies(n)?;
    let mut bench = Bench::new(arguments.seconds, setup, &bodies)?;
    let mut direct = Bench::new(arguments.seconds, setup, &bodies)?;
    // Trees are measured where direct sums would be faster, too.
    bench.system().set_tree_crossover(Some(0));
    let caller = Caller { forces: Received::new(n, bench.system().interaction())?, bodies: &bodies };
    let sinks = memory::collected((0..n).map(|number| bodies[number].sink(number, 0.0)), "sinks")?;
    for accuracy in accuracies {
        bench.system().set_tree(Some(TreeAccuracy::Error(*accuracy)))?;
        let mut calls: [&mut dyn FnMut() -> Result<()>; 2] =
            [&mut || caller.write(bench.system()).and_then(|()| caller.force(bench.system())), &mut || {
                direct.call(Work::NTimesN, sinks_of_direct).map(|_| ())
            }];
        let medians = measure::in_turns(arguments.seconds, &mut calls)?;
        // By themselves, as a tree may be kept as long as no source is written.
        let forces = measure::in_turns(arguments.seconds, &mut [|| caller.force(bench.system())])?[0];
        let errors = bench.system().tree_errors(n, true, &sinks, SAMPLES)?;

        let direct = direct.row(Work::NTimesN, [sinks_of_direct, n], medians[1]);
        let seconds_of_direct = direct.seconds * n as f64 / sinks_of_direct as f64;
        let [whole, forces] = [(Work::Tree, medians[0]), (Work::TreeSourcesStay, forces)].map(|(work, median)| Row {
            accuracy: Some(*accuracy),
            error_median: Some(errors.median),
            error_percentile_99: Some(errors.percentile_99),
            of_direct: Some(seconds_of_direct / median.0),
            ..bench.row(work, [n, n], median)
        });
        let measured = Measured { whole, forces, direct };
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
struct Caller<'a> {
    bodies: &'a [Particle],
    forces: Received,
}

impl Caller<'_> {
    /// Writes all sources.
    fn write(&self, system: &mut System) -> Result<()> {
        let bodies: &[Particle] = self.bodies;
        Ok(system.set_sources(bodies.len(), |number| bodies[number].source(Order::Second, number, 0.0))?)
    }

    /// Computes the forces on all bodies, and receives them.
    fn force(&self, system: &mut System) -> Result<()> {
        let bodies = self.bodies;
        system.start_from_fn(bodies.len(), true, bodies.len(), |number| bodies[number].sink(number, 0.0))?;
        Ok(system.wait_each_on_threads(|first, forces| self.forces.write(first, &forces))?)
    }
}

fn print_header(measured: &Measured) -> Result<()> {
    out!("{}; forces on all of N bodies by a tree, beside direct sums", measured.whole.title())?;
    let times = format!("{:>15}  {:>15}  {:>15}  {:>8}", "milliseconds", "sources stay", "direct sums", "ratio");
    out!("{:>9}  {:>8}  {:>12}  {:>10}  {times}", "N", "accuracy", "median error", "99 % error")
}

fn print(measured: &Measured) -> Result<()> {
    let Row { nj, seconds, .. } = &measured.whole;
    let number = |number: Option<f64>| number.unwrap_or(f64::NAN);
    let errors = [measured.whole.error_median, measured.whole.error_percentile_99].map(number);
    let [whole, forces, direct] =
        [*seconds, measured.forces.seconds, measured.direct_seconds()].map(|seconds| seconds * 1e3);
    let times = format!("{whole:>15.3}  {forces:>15.3}  {direct:>15.3}  {:>8.3}", number(measured.whole.of_direct));
    out!("{nj:>9}  {:>8e}  {:>12.2e}  {:>10.2e}  {times}", measured.accuracy(), errors[0], errors[1])
}

/// Returns the picture of the time against the number of bodies, with a curve for each accuracy and
/// one of direct sums.
fn times(title: String, accuracies: &[f64], all: &[Measured]) -> Picture {
    let curve = |label: String, accuracy: f64, seconds: &dyn Fn(&Measured) -> f64| Curve {
        label,
        points: (all.iter().filter(|row| row.accuracy() == accuracy))
            .map(|row| (row.whole.nj as f64, seconds(row)))
            .collect(),
        dashes: Vec::new(),
        level: None,
    };
    let of_tree = |accuracy: &f64| curve(format!("tree, accuracy {accuracy:e}"), *accuracy, &|row| row.whole.seconds);
    let direct = curve("direct sums".into(), accuracies[0], &Measured::direct_seconds);
    Picture {
        title,
        axes: [("N", &DECADES), ("seconds", &DECADES)].map(|(what, scale)| Axis { what, scale }),
        dashes: None,
        curves: accuracies.iter().map(of_tree).chain([direct]).collect(),
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
        let [accuracy, error_median] = [accuracy, 0.5 * accuracy].map(Some);
        let whole = Row { work: Work::Tree, ni: n, nj: n, seconds, accuracy, error_median, ..Row::example() };
        let forces = Row { work: Work::TreeSourcesStay, seconds: 0.5 * seconds, ..whole.clone() };
        let direct =
            Row { work: Work::NTimesN, ni: n / 2, nj: n, seconds: 1e-9 * (n * n / 2) as f64, ..Row::example() };
        Measured { whole, forces, direct }
    }

    #[test]
    fn each_accuracy_and_direct_sums_have_a_curve_of_times() {
        let all = [(1000, 1e-2), (1000, 1e-3), (8000, 1e-2), (8000, 1e-3)].map(|(n, accuracy)| measured(n, accuracy));
        let Picture { curves, .. } = times("a title".into(), &[1e-2, 1e-3], &all);
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
