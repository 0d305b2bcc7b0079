//! A picture of energy errors against numbers of steps, both on logarithmic axes.

use std::path::Path;

use plotters::prelude::*;

use crate::picture::{Logarithmic, decades, label, title_size};

/// Colours that colour-blind people can distinguish too (Okabe & Ito 2008).
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0), RGBColor(0, 158, 115)];

/// The decade that is shown if no error differs from zero.
const EMPTY: (f64, f64) = (1e-17, 1e-16);

/// The errors of an order.
pub struct Curve {
    /// The order.
    pub order: i32,
    /// The number of steps in a time unit and the magnitude of the error, from the longest step on.
    pub points: Vec<(f64, f64)>,
}

/// Draws the points, and for each order a dashed line of its slope through the middle one of the
/// points that rounding does not dominate. An error of exactly zero has no place on the axis and is
/// not drawn.
pub fn draw(path: &Path, title: &str, curves: &[Curve]) -> Result<(), Box<dyn std::error::Error>> {
    let all = || curves.iter().flat_map(|curve| &curve.points).filter(|(_, error)| error.is_normal());
    let (lowest, highest) = decades(all().map(|(_, error)| *error)).unwrap_or(EMPTY);
    let steps = curves.iter().flat_map(|curve| &curve.points).map(|(steps, _)| *steps);
    let (fewest, most) = steps.fold((f64::INFINITY, 0f64), |(low, high), steps| (low.min(steps), high.max(steps)));

    let area = SVGBackend::new(path, (800, 560)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", title_size(title, 800)))
        .margin(15)
        .margin_right(35)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(
            Logarithmic { ends: (fewest / 1.2, most * 1.2), base: 2.0 },
            Logarithmic { ends: (lowest, highest), base: 10.0 },
        )?;
    chart
        .configure_mesh()
        .x_desc("steps in a time unit")
        .y_desc("|E - E0| / |E0|")
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.15))
        .draw()?;
    for (Curve { order, points }, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        let (order, colour) = (*order, *colour);
        let points: Vec<(f64, f64)> = points.iter().copied().filter(|(_, error)| error.is_normal()).collect();
        chart
            .draw_series(points.iter().map(|point| Circle::new(*point, 4, colour.filled())))?
            .label(format!("order {order}, and a line of slope {order}"))
            .legend(move |(x, y)| Circle::new((x + 10, y), 4, colour.filled()));
        let truncated = points.iter().filter(|(_, error)| *error > super::ROUNDING).count();
        if let Some((steps, error)) = points.get(truncated / 2) {
            let at = |error_there: f64| (steps * (error / error_there).powf(1.0 / f64::from(order)), error_there);
            let over = |steps_there: f64| (steps_there, error * (steps / steps_there).powi(order));
            // The line goes from the left or upper edge to the right or lower one.
            let first = if over(fewest).1 < highest { over(fewest) } else { at(highest) };
            let last = if over(most).1 > lowest { over(most) } else { at(lowest) };
            chart.draw_series(DashedLineSeries::new(vec![first, last], 6, 4, colour.stroke_width(1)))?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}
