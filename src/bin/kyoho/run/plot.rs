//! A picture of the energy error against time.

use std::path::Path;

use plotters::prelude::*;

use crate::failure::{Failure, Result};

/// The decade that is shown where no error is other than zero.
const EMPTY: (f64, f64) = (1e-17, 1e-16);

/// Whether a picture of this name can be drawn.
pub fn check(path: &Path) -> Result<()> {
    match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        true => Ok(()),
        false => Err(Failure::Argument {
            option: "--plot",
            value: path.display().to_string(),
            allowed: "names that end in .svg".into(),
        }),
    }
}

/// Draws points of time and relative energy error, whose magnitude goes on a logarithmic axis. An error of exactly
/// zero, as at the start, has no place there and is left out.
pub fn draw(path: &Path, title: &str, points: &[(f64, f64)]) -> Result<()> {
    draw_svg(path, title, points).map_err(|error| Failure::file(path, error))
}

fn draw_svg(path: &Path, title: &str, points: &[(f64, f64)]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let (first, last) = (points[0].0, points[points.len() - 1].0);
    let magnitudes: Vec<(f64, f64)> =
        points.iter().map(|(time, error)| (*time, error.abs())).filter(|(_, error)| error.is_normal()).collect();
    let (lowest, highest) = decades(&magnitudes);

    let area = SVGBackend::new(path, (800, 500)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(first..last, (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("time")
        .y_desc("|E - E0| / |E0|")
        .y_label_formatter(&|error| format!("{error:.0e}"))
        .light_line_style(TRANSPARENT)
        .draw()?;
    chart.draw_series(LineSeries::new(magnitudes.iter().copied(), &BLUE))?;
    chart.draw_series(magnitudes.iter().map(|point| Circle::new(*point, 2, BLUE.filled())))?;
    area.present()?;
    Ok(())
}

/// The whole decades, at least one, that hold all of these errors.
fn decades(magnitudes: &[(f64, f64)]) -> (f64, f64) {
    let errors = || magnitudes.iter().map(|(_, error)| *error);
    let (Some(lowest), Some(highest)) = (errors().reduce(f64::min), errors().reduce(f64::max)) else { return EMPTY };
    let lowest = lowest.log10().floor();
    (10f64.powf(lowest), 10f64.powf(highest.log10().ceil().max(lowest + 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_the_decades_of_the_errors() {
        assert_eq!(decades(&[(0.0, 3e-9), (1.0, 2e-12), (2.0, 4e-7)]), (1e-12, 1e-6));
        assert_eq!(decades(&[(0.0, 3e-9)]), (1e-9, 1e-8));
        assert_eq!(decades(&[]), EMPTY);
    }

    #[test]
    fn only_svg_is_drawn() {
        assert!(check(Path::new("energy.svg")).is_ok() && check(Path::new("energy.SVG")).is_ok());
        let error = check(Path::new("energy.png")).unwrap_err().to_string();
        assert!(error.contains("energy.png") && error.contains(".svg"), "{error}");
    }
}
