//! Pictures of the measurements: curves in a plane whose axes are both logarithmic.

use std::path::Path;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::failure::{Failure, Result};
use crate::picture::{self, decades};

/// Colours that colour-blind people can distinguish too (Okabe & Ito 2008). They repeat if there
/// are more curves.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// A place in the plane.
pub type Point = (f64, f64);

/// The content of a picture.
pub struct Picture {
    /// The title above it.
    pub title: String,
    /// The axes, from left to right and upwards.
    pub axes: [Axis; 2],
    /// The meaning of the dashed curves, if there are any.
    pub dashes: Option<&'static str>,
    /// At least one curve with at least one point.
    pub curves: Vec<Curve>,
}

/// A logarithmic axis.
pub struct Axis {
    /// The quantity that it shows.
    pub what: &'static str,
    /// The division of the axis.
    pub scale: &'static Scale,
}

/// The division of a logarithmic axis.
pub struct Scale {
    /// The number at whose powers the labels stand.
    base: f64,
    /// The number of lines up to the next power, which is included.
    lines: usize,
    /// Returns the ends of an axis that holds these numbers.
    ends: fn(&[f64]) -> Option<(f64, f64)>,
}

/// Powers of ten.
pub const DECADES: Scale = Scale { base: 10.0, lines: 10, ends: |numbers| decades(numbers.iter().copied()) };
/// Powers of two.
pub const OCTAVES: Scale = Scale { base: 2.0, lines: 1, ends: octaves };

/// Points that are joined by a line, and values in the same colour that they are compared with.
pub struct Curve {
    /// The meaning of the points.
    pub label: String,
    /// The points from left to right.
    pub points: Vec<Point>,
    /// The corners of a dashed curve, if there is one.
    pub dashes: Vec<Point>,
    /// The height of a dashed line across the picture, if there is one, and its label.
    pub level: Option<(f64, String)>,
}

/// Returns the path of the picture, or an error if no picture can be written there.
pub fn path<'a>(given: Option<&'a Path>, default: &'a str) -> Result<&'a Path> {
    let path = given.unwrap_or(Path::new(default));
    picture::try_path(path).map(|()| path)
}

/// Draws the picture.
pub fn draw(path: &Path, picture: &Picture) -> Result<()> {
    draw_panels(path, std::slice::from_ref(picture))
}

/// The width and the height of a picture, or of a panel of it.
pub const SIZE: (u32, u32) = (800, 560);

/// Draws pictures as panels of one, two in a row.
pub fn draw_panels(path: &Path, panels: &[Picture]) -> Result<()> {
    let draw_svg = || {
        let (columns, rows) = (panels.len().clamp(1, 2), panels.len().div_ceil(2).max(1));
        let size = (columns as u32 * SIZE.0, rows as u32 * SIZE.1);
        let area = SVGBackend::new(path, size).into_drawing_area();
        area.fill(&WHITE)?;
        for (area, panel) in area.split_evenly((rows, columns)).iter().zip(panels) {
            draw_panel(area, panel)?;
        }
        area.present()?;
        Ok(())
    };
    draw_svg().map_err(|error: Box<dyn std::error::Error>| Failure::file(path, error))
}

/// An area of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw_panel(area: &Area, picture: &Picture) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let [x, y] = &picture.axes;
    let (across, mut upwards): (Vec<f64>, Vec<f64>) =
        picture.curves.iter().flat_map(|curve| curve.points.iter().chain(&curve.dashes)).copied().unzip();
    upwards.extend(picture.curves.iter().filter_map(|curve| Some(curve.level.as_ref()?.0)));
    let ends = |axis: &Axis, numbers: &[f64]| (axis.scale.ends)(numbers).expect("a picture has at least a point");
    let ((first, last), (lowest, highest)) = (ends(x, &across), ends(y, &upwards));

    let mut chart = ChartBuilder::on(area)
        .caption(&picture.title, ("sans-serif", 18))
        .margin(15)
        .margin_right(35)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(
            (first..last).log_scale().base(x.scale.base),
            (lowest..highest).log_scale().base(y.scale.base),
        )?;
    chart
        .configure_mesh()
        .x_desc(x.what)
        .y_desc(y.what)
        .x_max_light_lines(x.scale.lines)
        .y_max_light_lines(y.scale.lines)
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .light_line_style(BLACK.mix(0.05))
        .bold_line_style(BLACK.mix(0.2))
        .draw()?;
    for (curve, colour) in picture.curves.iter().zip(COLOURS.iter().cycle()) {
        let (colour, points) = (*colour, || curve.points.iter().copied());
        chart
            .draw_series(LineSeries::new(points(), colour))?
            .label(&curve.label)
            .legend(move |(x, y)| Circle::new((x + 10, y), 3, colour.filled()));
        chart.draw_series(points().map(|point| Circle::new(point, 3, colour.filled())))?;
        let dashed = |corners: Vec<Point>| DashedLineSeries::new(corners, 6, 4, colour.stroke_width(1));
        chart.draw_series(dashed(curve.dashes.clone()))?;
        if let Some((height, text)) = &curve.level {
            let text = Text::new(text.clone(), (4, -16), ("sans-serif", 13).into_font().color(&colour));
            chart.draw_series(dashed(vec![(first, *height), (last, *height)]))?;
            chart.draw_series([EmptyElement::at((first, *height)) + text])?;
        }
    }
    if let Some(dashes) = picture.dashes {
        chart
            .draw_series(std::iter::empty::<Circle<Point, i32>>())?
            .label(dashes)
            .legend(|(x, y)| DashedPathElement::new([(x, y), (x + 20, y)], 6, 4, BLACK.stroke_width(1)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// Returns the label of a power. Powers of ten are not exact in double, and single has fewer digits
/// than their error.
pub fn label(number: &f64) -> String {
    let number = *number as f32;
    if number < 1e-3 { format!("{number:e}") } else { number.to_string() }
}

/// Returns the powers of two, at least three, that hold all of these positive numbers. They have a
/// margin, because rounding must not remove the outermost ones.
fn octaves(numbers: &[f64]) -> Option<(f64, f64)> {
    let lowest = numbers.iter().copied().reduce(f64::min)?.log2().floor();
    let highest = numbers.iter().copied().reduce(f64::max)?.log2().ceil().max(lowest + 2.0);
    Some((2f64.powf(lowest - 0.25), 2f64.powf(highest + 0.25)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(name: &str, dashes: Option<&'static str>, curves: Vec<Curve>) -> String {
        let axes = [("across", &OCTAVES), ("upwards", &DECADES)].map(|(what, scale)| Axis { what, scale });
        let path = std::env::temp_dir().join(format!("kyoho-{name}-{}.svg", std::process::id()));
        draw(&path, &Picture { title: "a title".into(), axes, dashes, curves }).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        svg
    }

    fn curve(label: &str, count: u32) -> Curve {
        let points: Vec<Point> = (0..count).map(|x| (2f64.powi(x as i32), 3.0 + f64::from(x))).collect();
        Curve { label: label.into(), points, dashes: Vec::new(), level: None }
    }

    fn count(svg: &str, element: &str, colour: &str) -> usize {
        svg.lines().filter(|line| line.starts_with(element) && line.contains(colour)).count()
    }

    #[test]
    fn each_curve_has_points_and_a_line_in_its_colour() {
        let svg = drawn("curves", None, [("one", 14), ("two", 17), ("three", 21)].map(|(a, b)| curve(a, b)).into());
        for (colour, points) in [("#0072B2", 14), ("#D55E00", 17), ("#009E73", 21)] {
            // The legend has one more.
            assert_eq!(count(&svg, "<circle", colour), points + 1);
            assert_eq!(count(&svg, "<polyline", colour), 1);
        }
        for text in ["a title", "across", "upwards", "one", "two", "three"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn dashes_have_the_colour_of_their_curve_and_are_named() {
        let plain = curve("one", 8);
        let modelled = Curve { dashes: plain.points.iter().map(|(x, y)| (*x, 0.9 * y)).collect(), ..curve("two", 8) };
        let level = Curve { level: Some((50.0, "the ideal".into())), ..curve("three", 1) };
        let svg = drawn("dashes", Some("the model"), vec![plain, modelled, level]);
        assert_eq!(count(&svg, "<polyline", "#0072B2"), 1);
        for colour in ["#D55E00", "#009E73"] {
            assert!(count(&svg, "<polyline", colour) > 1 + 10, "{colour}");
        }
        let texts: Vec<&str> = svg.lines().filter(|line| line.starts_with("the ")).collect();
        assert_eq!(texts, ["the ideal", "the model"]);
    }

    #[test]
    fn the_octaves_hold_the_numbers() {
        for numbers in [&[300.0][..], &[256.0], &[0.3, 7.9], &[16384.0, 1048576.0]] {
            let (lowest, highest) = octaves(numbers).unwrap();
            assert!(numbers.iter().all(|number| (lowest..highest).contains(number)), "{numbers:?}");
            let powers = (-10..=40).map(|power| 2f64.powi(power)).filter(|power| (lowest..highest).contains(power));
            assert!(powers.count() >= 3, "{numbers:?}");
        }
        assert_eq!(octaves(&[]), None);
    }
}
