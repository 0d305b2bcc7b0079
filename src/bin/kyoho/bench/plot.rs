//! A picture of a sweep: the speed against the number of sinks, with a curve for each number of sources.

use std::path::Path;

use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::failure::{Failure, Result};
use crate::picture::decades;

use super::row::Row;

/// Colours that colour-blind people tell apart too (Okabe & Ito 2008); they repeat after so many curves.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Sinks, and 10^9 pairs a second.
type Point = (f64, f64);

/// Draws what was measured as points that a line joins, and the model, where there is one, as a dashed line.
pub fn draw(path: &Path, title: &str, curves: &[Vec<Row>]) -> Result<()> {
    draw_svg(path, title, curves).map_err(|error| Failure::file(path, error))
}

fn draw_svg(path: &Path, title: &str, curves: &[Vec<Row>]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let points = || curves.iter().flat_map(|rows| measured(rows).into_iter().chain(modelled(rows)));
    let axis = |of: fn(Point) -> f64| decades(points().map(of)).expect("a sweep has at least a row");
    let ((fewest, most), (lowest, highest)) = (axis(|point| point.0), axis(|point| point.1));

    let area = SVGBackend::new(path, (800, 560)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18))
        .margin(15)
        .margin_right(35)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d((fewest..most).log_scale(), (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("sinks (ni)")
        .y_desc("Gint/s of a block step")
        .x_label_formatter(&|ni| format!("{ni:.0}"))
        // Powers of ten are not exact; 32 bits have fewer digits than their error.
        .y_label_formatter(&|speed| (*speed as f32).to_string())
        .light_line_style(BLACK.mix(0.05))
        .bold_line_style(BLACK.mix(0.2))
        .draw()?;
    for (rows, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let colour = *colour;
        let label = format!("nj = {}", rows[0].nj);
        chart
            .draw_series(LineSeries::new(measured(rows), colour))?
            .label(label)
            .legend(move |(x, y)| Circle::new((x + 10, y), 3, colour.filled()));
        chart.draw_series(measured(rows).into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
        chart.draw_series(DashedLineSeries::new(modelled(rows), 6, 4, colour.stroke_width(1)))?;
    }
    if curves.iter().any(|rows| !modelled(rows).is_empty()) {
        chart
            .draw_series(std::iter::empty::<Circle<Point, i32>>())?
            .label("model")
            .legend(|(x, y)| DashedPathElement::new([(x, y), (x + 20, y)], 6, 4, BLACK.stroke_width(1)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}

fn measured(rows: &[Row]) -> Vec<Point> {
    rows.iter().map(|row| point(row, row.seconds)).collect()
}

fn modelled(rows: &[Row]) -> Vec<Point> {
    rows.iter().filter_map(|row| Some(point(row, row.model_seconds?))).collect()
}

fn point(row: &Row, seconds: f64) -> Point {
    (row.ni as f64, row.ni as f64 * row.nj as f64 / seconds / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Work;

    /// A device of 700 Gint/s that needs 20 us for a block of one sink, and a model that promises a little more.
    fn curve(nj: usize, has_model: bool) -> Vec<Row> {
        let row = |ni: usize| {
            let seconds = 20e-6 + (ni * nj) as f64 / 700e9;
            Row {
                work: Work::BlockStep,
                backend: "cuda",
                device: "some GPU".into(),
                order: 4,
                precision: "mixed",
                threads: None,
                level: None,
                ni,
                nj,
                seconds,
                calls: 3,
                model_seconds: has_model.then_some(0.9 * seconds),
                interactions_per_second: None,
                flops_per_second: None,
                prediction_seconds_per_source: None,
            }
        };
        (0..=nj.ilog2()).map(|doubled| row(1 << doubled)).collect()
    }

    fn picture(name: &str, curves: &[Vec<Row>]) -> String {
        let path = std::env::temp_dir().join(format!("kyoho-{name}-{}.svg", std::process::id()));
        draw(&path, "a title", curves).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        svg
    }

    fn count(svg: &str, element: &str, colour: &str) -> usize {
        svg.lines().filter(|line| line.starts_with(element) && line.contains(colour)).count()
    }

    #[test]
    fn each_number_of_sources_has_points_a_line_and_the_model_dashes() {
        let [with, without] = [true, false].map(|has_model| {
            let curves = [1 << 13, 1 << 16, 1 << 20].map(|nj| curve(nj, has_model));
            picture(if has_model { "with" } else { "without" }, &curves)
        });
        for (colour, points) in [("#0072B2", 14), ("#D55E00", 17), ("#009E73", 21)] {
            // One more in the legend.
            assert_eq!([&with, &without].map(|svg| count(svg, "<circle", colour)), [points + 1; 2]);
            assert_eq!(count(&without, "<polyline", colour), 1);
            assert!(count(&with, "<polyline", colour) > 1 + 10, "{colour}");
        }
        for text in ["a title", "nj = 8192", "nj = 65536", "nj = 1048576", "model"] {
            assert!(with.contains(text), "{text}");
        }
        assert!(!without.contains("model"));
    }
}
