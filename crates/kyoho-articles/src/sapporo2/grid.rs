//! Figure 7: which machine is the fastest for so many sinks and sources.

use serde::Serialize;

use crate::{Figures, is_on_cpu, on_one, powers, settings};
use kyoho::Setup;
use kyoho::config::Settings;
use kyoho_cli::bench::effort::Effort;
use kyoho_cli::bench::measure::{self, Bench};
use kyoho_cli::bench::row::{Row, Work};
use kyoho_cli::failure::Result;
use kyoho_cli::out;
use kyoho_cli::progress;
use kyoho_core::{Order, Precision};
use kyoho_hal::Backend;

use super::Arguments;
use super::map::{self, Map};

/// The name of a machine that is not the CPU backend.
const DEVICE: &str = "device";

/// A machine that is compared.
struct Machine {
    name: &'static str,
    setup: Setup,
}

/// A cell of the grid.
#[derive(Debug, Clone, Serialize)]
struct Cell {
    ni: usize,
    nj: usize,
    /// The row of each machine; a row that would have taken too long is not there.
    rows: Vec<Option<Row>>,
    /// The name of the machine that took the least time.
    fastest: Option<&'static str>,
}

/// Measures, prints the table and draws the maps.
pub fn run(arguments: &Arguments, precision: Precision, figures: &mut Figures) -> Result<()> {
    let settings = settings(&arguments.common, false)?;
    let effort = figures.effort([0.05, 20.0]);
    let chosen = on_one(&settings, Order::Fourth, precision)?;
    let is_on_cpu = is_on_cpu(&chosen)?;
    let lines = arguments.n(is_on_cpu, [&powers(1, 1 << 17), &powers(1, 1 << 14)]);
    let machines = machines(&settings, chosen);
    let names: Vec<&str> = machines.iter().map(|machine| machine.name).collect();
    figures.begin(
        "figure 7",
        format!("time of block steps of order 4, {}, on {}", precision.name(), names.join(", ")),
        "1 to 131072 sinks and sources; the GPU is the fastest above some 100 sinks or sources",
    )?;
    let cells = measure_all(&effort, &lines, &machines)?;
    if names[0] == DEVICE {
        effort.note(&summary(&cells, &lines))?;
    }
    figures.keep(&cells);
    let maps: Vec<Map> = names.iter().enumerate().map(|(place, name)| map_of(&cells, place, name)).collect();
    let winners = |cell: &Cell| names.iter().position(|name| Some(*name) == cell.fastest);
    let winners: Vec<(usize, usize, usize)> =
        cells.iter().filter_map(|cell| Some((cell.ni, cell.nj, winners(cell)?))).collect();
    figures.draw_by("sapporo2-7", |path| map::draw(path, &lines, &maps, (&names, &winners)))
}

/// Returns the machines: the device that was chosen, if it is no backend of the CPU, one thread of
/// the CPU, and all.
fn machines(settings: &Settings, chosen: Setup) -> Vec<Machine> {
    let (order, precision) = (chosen.order, chosen.precision);
    let cpu = Setup { crossover: Some(0), ..settings.setup_on(order, precision, Backend::Cpu, vec![0]) };
    let device = (chosen.backend != Backend::Cpu).then_some(Machine { name: DEVICE, setup: chosen });
    let one = Machine { name: "one core", setup: Setup { threads: 1, ..cpu.clone() } };
    let all = (cpu.threads > 1).then_some(Machine { name: "all cores", setup: cpu });
    device.into_iter().chain([one]).chain(all).collect()
}

/// Measures every cell and prints it.
fn measure_all(effort: &Effort, lines: &[usize], machines: &[Machine]) -> Result<Vec<Cell>> {
    let bodies = measure::bodies(lines.last().copied().unwrap_or(1).max(2))?;
    let bar = progress::bar((lines.len() * lines.len() * machines.len()) as u64);
    let mut cells = Vec::new();
    for nj in lines {
        let benches = machines.iter().map(|machine| Bench::of_first(*nj, effort.seconds, &machine.setup, &bodies));
        let mut benches = benches.collect::<Result<Vec<Bench>>>()?;
        if cells.is_empty() {
            bar.suspend(|| print_header(effort, &mut benches, machines))?;
        }
        // The seconds for a sink, as the last block took them.
        let mut sink = vec![0.0; machines.len()];
        for ni in lines {
            let mut rows = Vec::new();
            for (bench, sink) in benches.iter_mut().zip(&mut sink) {
                bar.inc(1);
                if measure::least_seconds(*sink * *ni as f64) > effort.limit {
                    rows.push(None);
                    continue;
                }
                let row = bench.forces(Work::BlockStep, *ni)?;
                *sink = row.seconds / *ni as f64;
                rows.push(Some(row));
            }
            let measured = rows.iter().zip(machines).filter_map(|(row, machine)| Some((row.as_ref()?, machine.name)));
            let fastest = measured.min_by(|one, other| one.0.seconds.total_cmp(&other.0.seconds));
            let fastest = fastest.map(|(_, name)| name);
            let cell = Cell { ni: *ni, nj: *nj, rows, fastest };
            bar.suspend(|| print(effort, &cell))?;
            cells.push(cell);
        }
    }
    bar.finish_and_clear();
    if cells.iter().any(|cell| cell.rows.iter().any(Option::is_none)) {
        effort.note(&format!("-: left out; a row would take longer than the --limit, {} s", effort.limit))?;
    }
    Ok(cells)
}

fn print_header(effort: &Effort, benches: &mut [Bench], machines: &[Machine]) -> Result<()> {
    if effort.json {
        return Ok(());
    }
    for (bench, machine) in benches.iter_mut().zip(machines) {
        out!("{}: {}", machine.name, bench.row(Work::BlockStep, [1, 1], (1.0, 1)).title())?;
    }
    let columns: String = machines.iter().map(|machine| format!("  {:>13}", machine.name)).collect();
    out!("{:>7}  {:>7}{columns}  fastest (microseconds)", "ni", "nj")
}

fn print(effort: &Effort, cell: &Cell) -> Result<()> {
    if effort.json {
        return Ok(());
    }
    let column = |row: &Option<Row>| row.as_ref().map_or("-".into(), |row| format!("{:.3}", row.seconds * 1e6));
    let columns: String = cell.rows.iter().map(|row| format!("  {:>13}", column(row))).collect();
    out!("{:>7}  {:>7}{columns}  {}", cell.ni, cell.nj, cell.fastest.unwrap_or("-"))
}

/// Says in how many cells the device is the fastest, and beyond which line in all.
fn summary(cells: &[Cell], lines: &[usize]) -> String {
    let wins = |cell: &&Cell| cell.fastest == Some(DEVICE);
    let always = |line: &&usize| cells.iter().filter(|cell| cell.ni.max(cell.nj) >= **line).all(|cell| wins(&cell));
    let won = format!("the device is the fastest in {} of {} cells", cells.iter().filter(wins).count(), cells.len());
    match lines.iter().find(always) {
        Some(line) => format!("{won}, in all of {line} or more sinks or sources"),
        None => won,
    }
}

/// Returns the map of the microseconds of a machine.
fn map_of(cells: &[Cell], place: usize, name: &str) -> Map {
    let time = |cell: &Cell| Some((cell.ni, cell.nj, cell.rows[place].as_ref()?.seconds * 1e6));
    Map { title: format!("{name}: microseconds"), cells: cells.iter().filter_map(time).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_has_the_smallest_line_beyond_which_the_device_wins() {
        let lines = [1, 16, 256];
        let cells = |wins: fn(usize, usize) -> bool| -> Vec<Cell> {
            let pairs = lines.iter().flat_map(|nj| lines.iter().map(|ni| (*ni, *nj)));
            let fastest = |ni, nj| Some(if wins(ni, nj) { DEVICE } else { "one core" });
            pairs.map(|(ni, nj)| Cell { ni, nj, rows: Vec::new(), fastest: fastest(ni, nj) }).collect()
        };
        let told = |wins| summary(&cells(wins), &lines);
        assert_eq!(
            told(|ni, nj| ni.max(nj) >= 100),
            "the device is the fastest in 5 of 9 cells, in all of 256 or more sinks or sources"
        );
        assert_eq!(
            told(|ni, nj| ni * nj >= 256),
            "the device is the fastest in 6 of 9 cells, in all of 256 or more sinks or sources"
        );
        assert_eq!(told(|ni, _| ni >= 256), "the device is the fastest in 3 of 9 cells");
    }
}
