//! The speed-up by several devices of a host: forces N x N and block steps on the first 1, 2, 4,
//! ... of them.

use crate::bench::compare::compare;
use crate::bench::measure::{self, Bench};
use crate::bench::plot::{self, Axis, Curve, OCTAVES, Picture};
use crate::bench::row::{Row, Work};
use crate::bench::table::{is_left_out, note, print_json};
use crate::bench::{Arguments, doubled};
use crate::failure::{Failure, Result};
use kyoho::Setup;

/// The number of sinks of the block from whose time the time of a row is foreseen. It is large
/// enough that a pair takes not much longer than in a larger block, and it is done soon.
const TRIAL: usize = 1024;

/// A line of the table: a row of one kind of work for each number of devices.
type Line = Vec<Row>;

/// Measures, prints a table or JSON, and draws the picture.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    check_devices(arguments, setup)?;
    let path = plot::path(arguments.plot.as_deref(), "kyoho-speedup.svg")?;
    let mut numbers = arguments.n();
    numbers.sort_unstable();
    numbers.dedup();
    let mut lines: Vec<Line> = Vec::new();
    for nj in &numbers {
        let blocks = if Some(nj) == numbers.last() { arguments.ni(*nj) } else { Vec::new() };
        let works = [(Work::NTimesN, *nj)].into_iter().chain(blocks.into_iter().map(|ni| (Work::BlockStep, ni)));
        of_sources(arguments, setup, *nj, &works.collect::<Vec<_>>(), &mut lines)?;
    }
    if arguments.json {
        print_json(&lines.concat())?;
    } else if !lines.is_empty() {
        out!("compared before they were measured: the forces of every row have the same bits on {}", on(setup))?;
    }
    lines.retain(|line| line[0].work == Work::NTimesN);
    if lines.is_empty() {
        return note(arguments, "no plot: it shows the rows N x N, and none was measured");
    }
    plot::draw(path, &picture(&title(&lines[0]), &lines))?;
    if arguments.json { Ok(()) } else { out!("plot: {}", path.display()) }
}

fn check_devices(arguments: &Arguments, setup: &Setup) -> Result<()> {
    if setup.devices.len() > 1 {
        return Ok(());
    }
    let backend = setup.backend.name();
    Err(Failure::Argument {
        option: "--devices",
        value: match &arguments.machine.devices {
            Some(given) => format!("{given}, one device of backend {backend}"),
            None => format!("not given, and backend {backend} has one device"),
        },
        allowed: "two or more, as --speedup compares them with one; a device may be named twice, as in 0,0".into(),
    })
}

/// Measures the lines of one number of sources and prints each at once. Each number of devices has
/// a system of its own.
fn of_sources(
    arguments: &Arguments,
    setup: &Setup,
    nj: usize,
    works: &[(Work, usize)],
    lines: &mut Vec<Line>,
) -> Result<()> {
    let bodies = measure::bodies(nj)?;
    let on_first = |count: usize| Setup { devices: setup.devices[..count].to_vec(), ..setup.clone() };
    let benches = doubled(setup.devices.len()).map(|count| Bench::new(arguments.seconds, &on_first(count), &bodies));
    let mut benches = benches.collect::<Result<Vec<_>>>()?;

    let sinks = nj.min(TRIAL);
    let mut trials = benches.iter_mut().map(|bench| bench.trial(Work::NTimesN, sinks));
    let trial = trials.try_fold(0.0, |longest: f64, next| next.map(|next| longest.max(next)))?;
    let foreseen = |ni: usize| measure::least_seconds(trial * ni as f64 / sinks as f64);

    // They are compared first, because measuring takes different numbers of steps on the systems.
    for (work, ni) in works.iter().filter(|(_, ni)| foreseen(*ni) <= arguments.limit) {
        compare(&mut benches, *work, *ni)?;
    }
    for (work, ni) in works {
        if is_left_out(arguments, foreseen(*ni), format_args!("{} of ni = {ni}, nj = {nj}", work.name()))? {
            continue;
        }
        let mut line: Line = measure::forces(&mut benches, *work, *ni)?;
        let on_one = line[0].seconds;
        line.iter_mut().for_each(|row| row.speedup = Some(on_one / row.seconds));
        if !arguments.json {
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
    let columns = line.iter().map(|row| match row.devices.len() {
        1 => format!("  {:>15}  speed-up", "1 device"),
        count => format!("  {:>15}  speed-up", format!("{count} devices")),
    });
    out!("{}; microseconds, and the speed-up over one device", title(line))?;
    out!("{:<10}  {:>7}  {:>8}{}", "work", "ni", "nj", columns.collect::<String>())
}

fn print(line: &Line) -> Result<()> {
    let Row { work, ni, nj, .. } = &line[0];
    let columns =
        line.iter().map(|row| format!("  {:>15.3}  {:>8.3}", row.seconds * 1e6, row.speedup.unwrap_or(f64::NAN)));
    out!("{:<10}  {ni:>7}  {nj:>8}{}", work.name(), columns.collect::<String>())
}

/// The speed-up against the number of bodies, with a curve for each number of devices.
fn picture<'a>(title: &'a str, lines: &[Line]) -> Picture<'a> {
    let curve = |place: usize| {
        let count = lines[0][place].devices.len();
        Curve {
            label: format!("{count} devices"),
            points: lines.iter().filter_map(|line| Some((line[place].nj as f64, line[place].speedup?))).collect(),
            dashes: Vec::new(),
            level: Some((count as f64, format!("ideal: {count}"))),
        }
    };
    Picture {
        title,
        axes: [("N", &OCTAVES), ("speed-up over one device, N x N", &OCTAVES)]
            .map(|(what, scale)| Axis { what, scale }),
        dashes: None,
        curves: (1..lines[0].len()).map(curve).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_devices_but_one_has_a_curve_and_its_ideal() {
        let line = |n: usize, speedups: [f64; 3]| -> Line {
            let row =
                |(count, speedup)| Row { nj: n, devices: vec![0; count], speedup: Some(speedup), ..Row::example() };
            [1, 2, 3].into_iter().zip(speedups).map(row).collect()
        };
        let lines = [line(300, [1.0, 0.5, 0.25]), line(1000, [1.0, 1.5, 2.0])];
        let curves = picture("a title", &lines).curves;
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
