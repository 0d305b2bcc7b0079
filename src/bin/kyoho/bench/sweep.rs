//! Block steps of one sink and of twice as many each time, up to all sources.

use std::path::Path;

use kyoho::Setup;

use crate::failure::Result;
use crate::picture;

use super::measure::Bench;
use super::row::Row;
use super::{Arguments, plot, print_json};

/// Measures, prints a table or JSON, and draws.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let path = arguments.plot.as_deref().unwrap_or(Path::new("kyoho-bench.svg"));
    picture::check(path)?;
    let mut curves: Vec<Vec<Row>> = Vec::new();
    for nj in arguments.n() {
        curves.push(curve(arguments, setup, nj, curves.is_empty())?);
    }
    if arguments.json {
        print_json(&curves.concat())?;
    }
    plot::draw(path, &title(&curves[0][0]), &curves)?;
    match arguments.json {
        true => Ok(()),
        false => out!("plot: {}", path.display()),
    }
}

/// The rows of one number of sources, printed as they are measured.
fn curve(arguments: &Arguments, setup: &Setup, nj: usize, is_first: bool) -> Result<Vec<Row>> {
    let mut bench = Bench::new(arguments.seconds, setup, nj)?;
    let mut rows: Vec<Row> = Vec::new();
    for ni in sinks(nj) {
        let foreseen = rows.last().map_or(0.0, |row| bench.foreseen(ni, row));
        if foreseen > arguments.limit {
            let limit = arguments.limit;
            let left = format!(
                "left out: {nj} sources with {ni} sinks and more; a row would take {foreseen:.2e} s, the --limit is {limit} s"
            );
            match arguments.json {
                true => eprintln!("kyoho: {left}"),
                false => out!("{left}")?,
            }
            break;
        }
        let row = bench.block_step(ni)?;
        if !arguments.json {
            if is_first && rows.is_empty() {
                out!("{}; block steps\n      nj       ni     microseconds    Gint/s    model's us", title(&row))?;
            }
            print(&row)?;
        }
        rows.push(row);
    }
    match arguments.json {
        true => Ok(rows),
        false => out!("").map(|()| rows),
    }
}

/// The powers of two below a number, and the number.
fn sinks(nj: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |ni| Some(2 * ni));
    doubled.take_while(|ni| *ni < nj).chain([nj]).collect()
}

fn print(row: &Row) -> Result<()> {
    let Row { ni, nj, .. } = row;
    let speed = row.interactions_per_second.unwrap_or(0.0) / 1e9;
    let model = row.model_seconds.map_or("-".into(), |seconds| format!("{:.3}", seconds * 1e6));
    out!("{nj:>8}  {ni:>7}  {:>15.3}  {speed:>8.4}  {model:>12}", row.seconds * 1e6)
}

/// What was measured, in words.
fn title(row: &Row) -> String {
    let Row { device, order, precision, .. } = row;
    let threads = row.threads.map_or(String::new(), |threads| match threads {
        1 => ", 1 thread".into(),
        _ => format!(", {threads} threads"),
    });
    let level = row.level.map_or(String::new(), |level| format!(", {level}"));
    format!("{device}{level}{threads}: order {order}, {precision}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sinks_double_up_to_the_sources() {
        assert_eq!(sinks(1), [1]);
        assert_eq!(sinks(2), [1, 2]);
        assert_eq!(sinks(8), [1, 2, 4, 8]);
        assert_eq!(sinks(11), [1, 2, 4, 8, 11]);
    }
}
