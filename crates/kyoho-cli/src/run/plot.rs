//! A picture of the energy error against time.

use std::path::Path;

use plotters::prelude::*;

use crate::failure::{Failure, Result};
use crate::picture::{Logarithmic, decades, label, title_size};

/// The decade that is shown if no error differs from zero.
const EMPTY: (f64, f64) = (1e-17, 1e-16);

/// Draws points of time and relative energy error, whose magnitude goes on a logarithmic axis. An
/// error of exactly zero, as at the start, has no place there and is not drawn.
pub fn draw(path: &Path, title: &str, points: &[(f64, f64)]) -> Result<()> {
    draw_svg(path, title, points).map_err(|error| Failure::file(path, error))
}

fn draw_svg(path: &Path, title: &str, points: &[(f64, f64)]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    let magnitudes: Vec<(f64, f64)> =
        points.iter().map(|(time, error)| (*time, error.abs())).filter(|(_, error)| error.is_normal()).collect();
    let ends = decades(magnitudes.iter().map(|(_, error)| *error)).unwrap_or(EMPTY);

    let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", title_size(title, 800)))
        .margin(15)
        .margin_right(35)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(first..last, Logarithmic { ends, base: 10.0 })?;
    chart
        .configure_mesh()
        .x_desc("time")
        .y_desc("|E - E0| / |E0|")
        .y_label_formatter(&label)
        .light_line_style(TRANSPARENT)
        .draw()?;
    chart.draw_series(LineSeries::new(magnitudes.iter().copied(), &BLUE))?;
    chart.draw_series(magnitudes.iter().map(|point| Circle::new(*point, 2, BLUE.filled())))?;
    area.present()?;
    Ok(())
}
