//! Block steps of 1, 2, 4, ... sinks, up to all sources.

use crate::bench::measure::{self, Bench};
use crate::bench::plot::{self, Axis, Curve, DECADES, Picture, Point};
use crate::bench::row::{Row, Work};
use crate::bench::table::print_json;
use crate::bench::{Arguments, doubled};
use crate::failure::Result;
use kyoho::Setup;

/// Measures, prints a table or JSON, and draws the picture.
pub fn run(arguments: &Arguments, setup: &Setup) -> Result<()> {
    let path = plot::path(arguments.plot.as_deref(), "kyoho-bench.svg")?;
    let mut curves: Vec<Vec<Row>> = Vec::new();
    for nj in arguments.n() {
        curves.push(curve(arguments, setup, nj, curves.is_empty())?);
    }
    if arguments.json {
        print_json(&curves.concat())?;
    }
    plot::draw(path, &picture(curves[0][0].title(), &curves))?;
    if arguments.json { Ok(()) } else { out!("plot: {}", path.display()) }
}

/// Measures the rows of one number of sources and prints each at once.
fn curve(arguments: &Arguments, setup: &Setup, nj: usize, is_first: bool) -> Result<Vec<Row>> {
    let mut bench = Bench::new(arguments.seconds, setup, &measure::bodies(nj)?)?;
    let mut rows: Vec<Row> = Vec::new();
    for ni in doubled(nj) {
        let call = rows.last().map_or(0.0, |row| row.seconds * ni as f64 / row.ni as f64);
        let foreseen = measure::least_seconds(call);
        if arguments.effort().is_left_out(foreseen, format_args!("{nj} sources with {ni} sinks and more"))? {
            break;
        }
        let row = bench.forces(Work::BlockStep, ni)?;
        if !arguments.json {
            if is_first && rows.is_empty() {
                out!("{}; block steps\n      nj       ni     microseconds    Gint/s    model's us", row.title())?;
            }
            print(&row)?;
        }
        rows.push(row);
    }
    if !arguments.json {
        out!("")?;
    }
    Ok(rows)
}

fn print(row: &Row) -> Result<()> {
    let Row { ni, nj, .. } = row;
    let speed = row.interactions_per_second.unwrap_or(0.0) / 1e9;
    let model = row.model_seconds.map_or("-".into(), |seconds| format!("{:.3}", seconds * 1e6));
    out!("{nj:>8}  {ni:>7}  {:>15.3}  {speed:>8.4}  {model:>12}", row.seconds * 1e6)
}

/// Returns the picture of the speed against the number of sinks, with a curve for each number of
/// sources, and the cost model if there is one.
fn picture(title: String, curves: &[Vec<Row>]) -> Picture {
    let curves: Vec<Curve> = curves
        .iter()
        .map(|rows| Curve {
            label: format!("nj = {}", rows[0].nj),
            points: rows.iter().map(|row| point(row, row.seconds)).collect(),
            dashes: rows.iter().filter_map(|row| Some(point(row, row.model_seconds?))).collect(),
            level: None,
        })
        .collect();
    Picture {
        title,
        axes: [("sinks (ni)", &DECADES), ("Gint/s of a block step", &DECADES)]
            .map(|(what, scale)| Axis { what, scale }),
        dashes: curves.iter().any(|curve| !curve.dashes.is_empty()).then_some("model"),
        curves,
    }
}

/// Returns the number of sinks and the speed in 10^9 pairs a second.
fn point(row: &Row, seconds: f64) -> Point {
    (row.ni as f64, row.ni as f64 * row.nj as f64 / seconds / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns rows of a device that takes a second for a pair, and whose model promises half of
    /// that.
    fn rows(nj: usize, has_model: bool) -> Vec<Row> {
        let row = |ni: usize| {
            let seconds = (ni * nj) as f64 * 1e-9;
            Row { ni, nj, seconds, model_seconds: has_model.then_some(seconds / 2.0), ..Row::example() }
        };
        doubled(nj).map(row).collect()
    }

    #[test]
    fn each_number_of_sources_has_a_curve_and_the_model_dashes() {
        let curves = [8, 16].map(|nj| rows(nj, true));
        let Picture { title, dashes, curves, .. } = picture("a title".into(), &curves);
        assert_eq!((title.as_str(), dashes), ("a title", Some("model")));
        assert_eq!(curves.iter().map(|curve| curve.label.as_str()).collect::<Vec<_>>(), ["nj = 8", "nj = 16"]);
        let places = |points: &[Point]| points.iter().map(|(ni, speed)| (*ni, speed.round())).collect::<Vec<_>>();
        assert_eq!(places(&curves[0].points), [(1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (8.0, 1.0)]);
        assert_eq!(places(&curves[0].dashes), [(1.0, 2.0), (2.0, 2.0), (4.0, 2.0), (8.0, 2.0)]);
        let without = picture("a title".into(), &[rows(8, false)]);
        assert!(without.dashes.is_none() && without.curves[0].dashes.is_empty());
    }
}
