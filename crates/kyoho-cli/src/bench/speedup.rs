//! The speed-up by several devices of a host: forces N x N and block steps on the first 1, 2, 4,
//! ... of them.

use crate::bench::compare::compare;
use crate::bench::effort::Effort;
use crate::bench::measure::{self, Bench};
use crate::bench::plot::{self, Axis, Curve, OCTAVES, Picture};
use crate::bench::row::{Row, Work};
use crate::bench::table::print_json;
use crate::bench::{Arguments, doubled};
use crate::failure::{Failure, Result};
use crate::machine::Machine;
use kyoho::Setup;

/// The number of sinks of the block from whose time the time of a row is foreseen. It is large
/// enough that a pair takes not much longer than in a larger block, and it is done soon.
const TRIAL: usize = 1024;

/// A line of the table: a row of one kind of work for each number of devices.
pub type Line = Vec<Row>;

/// Measures, prints a table or JSON, and draws the picture.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    check_devices(arguments, setup)?;
    let path = plot::path(arguments.plot.as_deref(), "kyoho-speedup.svg")?;
    let lines = measure(&arguments.effort(), setup, arguments.n(), &|nj| arguments.ni(nj))?;
    if arguments.json {
        print_json(&lines.concat())?;
    }
    let Some(picture) = picture(&lines) else {
        return arguments.effort().note(NO_PLOT);
    };
    plot::draw(path, &picture)?;
    if arguments.json { Ok(()) } else { out!("plot: {}", path.display()) }
}

/// The remark where there is nothing to draw.
pub const NO_PLOT: &str = "no plot: it shows the rows N x N, and none was measured";

/// Measures forces N x N of these numbers of bodies, and block steps of some numbers of sinks with
/// the most of them. Prints a table unless JSON is wanted.
pub fn measure(
    effort: &Effort,
    setup: &Setup,
    mut numbers: Vec<usize>,
    blocks: &dyn Fn(usize) -> Vec<usize>,
) -> Result<Vec<Line>> {
    numbers.sort_unstable();
    numbers.dedup();
    let mut lines: Vec<Line> = Vec::new();
    for nj in &numbers {
        let blocks = if Some(nj) == numbers.last() { blocks(*nj) } else { Vec::new() };
        let works = [(Work::NTimesN, *nj)].into_iter().chain(blocks.into_iter().map(|ni| (Work::BlockStep, ni)));
        of_sources(effort, setup, *nj, &works.collect::<Vec<_>>(), &mut lines)?;
    }
    if !effort.json && !lines.is_empty() {
        out_wrapped!(
            2,
            "compared before they were measured: the forces of every row have the same bits on {}",
            on(setup)
        )?;
    }
    Ok(lines)
}

fn check_devices(arguments: &Arguments, setup: &Setup) -> Result<()> {
    if setup.devices.len() > 1 { Ok(()) } else { Err(too_few_devices(&arguments.machine, setup, "--speedup")) }
}

/// Returns the failure of a comparison that an option asks for where there is one device.
pub fn too_few_devices(machine: &Machine, setup: &Setup, option: &str) -> Failure {
    let backend = setup.backend.name();
    Failure::Argument {
        option: "--devices",
        value: match &machine.place.devices {
            Some(given) => format!("{given}, one device of backend {backend}"),
            None => format!("not given, and backend {backend} has one device"),
        },
        allowed: format!("two or more, as {option} compares them with one; a device may be named twice, as in 0,0"),
    }
}

/// Measures the lines of one number of sources and prints each at once. Each number of devices has
/// a system of its own.
fn of_sources(effort: &Effort, setup: &Setup, nj: usize, works: &[(Work, usize)], lines: &mut Vec<Line>) -> Result<()> {
    let bodies = measure::bodies(nj)?;
    let on_first = |count: usize| Setup { devices: setup.devices[..count].to_vec(), ..setup.clone() };
    let benches = doubled(setup.devices.len()).map(|count| Bench::new(effort.seconds, &on_first(count), &bodies));
    let mut benches = benches.collect::<Result<Vec<_>>>()?;

    let sinks = nj.min(TRIAL);
    let mut trials = benches.iter_mut().map(|bench| bench.trial(Work::NTimesN, sinks));
    let trial = trials.try_fold(0.0, |longest: f64, next| next.map(|next| longest.max(next)))?;
    let foreseen = |ni: usize| measure::least_seconds(trial * ni as f64 / sinks as f64);

    // They are compared first, because measuring takes different numbers of steps on the systems.
    for (work, ni) in works.iter().filter(|(_, ni)| foreseen(*ni) <= effort.limit) {
        compare(&mut benches, *work, *ni)?;
    }
    for (work, ni) in works {
        if effort.is_left_out(foreseen(*ni), format_args!("{} of ni = {ni}, nj = {nj}", work.name()))? {
            continue;
        }
        let mut line: Line = measure::forces(&mut benches, *work, *ni)?;
        let on_one = line[0].seconds;
        line.iter_mut().for_each(|row| row.speedup = Some(on_one / row.seconds));
        if !effort.json {
            if lines.is_empty() {
                print_header(&line)?;
            }
            print(&line)?;
        }
        lines.push(line);
    }
    Ok(())
}

/// Returns the numbers of devices in words.
fn on(setup: &Setup) -> String {
    let counts: Vec<String> = doubled(setup.devices.len()).map(|count| count.to_string()).collect();
    format!("{} devices", counts.join(", "))
}

/// Describes the largest number of devices.
fn title(line: &Line) -> String {
    line[line.len() - 1].title()
}

fn print_header(line: &Line) -> Result<()> {
    out_wrapped!(2, "{}; microseconds, and the speed-up over one device", title(line))?;
    out!("{:<10}  {:>7}  {:>8}  {:>7}  {:>15}  speed-up", "work", "ni", "nj", "devices", "microseconds")
}

/// Prints a row for each number of devices.
fn print(line: &Line) -> Result<()> {
    line.iter().try_for_each(|row| {
        let Row { work, ni, nj, devices, .. } = row;
        let (work, devices, speedup) = (work.name(), devices.len(), row.speedup.unwrap_or(f64::NAN));
        out!("{work:<10}  {ni:>7}  {nj:>8}  {devices:>7}  {:>15.3}  {speedup:>8.3}", row.seconds * 1e6)
    })
}

/// Returns the picture of the speed-up N x N against the number of bodies, with a curve for each
/// number of devices, or `None` where there is nothing to draw.
pub fn picture(lines: &[Line]) -> Option<Picture> {
    let lines: Vec<&Line> = lines.iter().filter(|line| line[0].work == Work::NTimesN).collect();
    let first = lines.first()?;
    let curve = |place: usize| {
        let count = first[place].devices.len();
        Curve {
            label: format!("{count} devices"),
            points: lines.iter().filter_map(|line| Some((line[place].nj as f64, line[place].speedup?))).collect(),
            dashes: Vec::new(),
            level: Some((count as f64, format!("ideal: {count}"))),
        }
    };
    Some(Picture {
        title: title(first),
        axes: [("N", &OCTAVES), ("speed-up over one device, N x N", &OCTAVES)]
            .map(|(what, scale)| Axis { what, scale }),
        dashes: None,
        curves: (1..first.len()).map(curve).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_devices_but_one_has_a_curve_and_its_ideal() {
        let line = |n: usize, speedups: [f64; 3]| -> Line {
            let row = |(count, speedup)| {
                let work = Work::NTimesN;
                Row { work, nj: n, devices: vec![0; count], speedup: Some(speedup), ..Row::example() }
            };
            [1, 2, 3].into_iter().zip(speedups).map(row).collect()
        };
        let lines = [line(300, [1.0, 0.5, 0.25]), line(1000, [1.0, 1.5, 2.0])];
        let curves = picture(&lines).unwrap().curves;
        let found: Vec<_> =
            curves.iter().map(|curve| (curve.label.as_str(), &curve.points[..], &curve.level)).collect();
        let level = |count: u32| Some((f64::from(count), format!("ideal: {count}")));
        assert_eq!(
            found,
            [
                ("2 devices", &[(300.0, 0.5), (1000.0, 1.5)][..], &level(2)),
                ("3 devices", &[(300.0, 0.25), (1000.0, 2.0)][..], &level(3)),
            ]
        );
    }
}
