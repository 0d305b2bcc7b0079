//! Pictures of the measurements: curves in a plane whose axes are both logarithmic.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::failure::{Failure, Result};
use crate::picture::{self, Logarithmic, decades, label, title_size};

/// Colours that colour-blind people can distinguish too (Okabe & Ito 2008). If there are more
/// curves, they have other points.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
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
    /// Returns the ends of an axis that holds these numbers.
    ends: fn(&[f64]) -> Option<(f64, f64)>,
}

/// Powers of ten.
pub const DECADES: Scale = Scale { base: 10.0, ends: |numbers| decades(numbers.iter().copied()) };
/// Powers of two.
pub const OCTAVES: Scale = Scale { base: 2.0, ends: octaves };

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
    let scaled = |axis: &Axis, numbers: &[f64]| {
        let ends = (axis.scale.ends)(numbers).expect("a picture has at least a point");
        Logarithmic { ends, base: axis.scale.base }
    };
    let (across, upwards) = (scaled(x, &across), scaled(y, &upwards));
    let (first, last) = across.ends;
    let position = free_corner(picture, [&across, &upwards]);

    let mut chart = ChartBuilder::on(area)
        .caption(&picture.title, ("sans-serif", title_size(&picture.title, SIZE.0)))
        .margin(15)
        .margin_right(35)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(across, upwards)?;
    chart
        .configure_mesh()
        .x_desc(x.what)
        .y_desc(y.what)
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .light_line_style(BLACK.mix(0.05))
        .bold_line_style(BLACK.mix(0.2))
        .draw()?;
    for (number, curve) in picture.curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        chart.draw_series(LineSeries::new(curve.points.iter().copied(), colour))?;
        draw_points(&mut chart, number, curve)?;
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
        .position(position)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// The chart of a panel.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Logarithmic, Logarithmic>>;

/// Draws the points of the curve of this number, and one beside its name. The same colour comes
/// again with another shape.
fn draw_points(chart: &mut Chart, number: usize, curve: &Curve) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let (points, filled) = (curve.points.iter().copied(), COLOURS[number % COLOURS.len()].filled());
    let series = match number / COLOURS.len() % 3 {
        0 => chart
            .draw_series(points.map(|point| Circle::new(point, 3, filled)))?
            .legend(move |(x, y)| Circle::new((x + 10, y), 3, filled)),
        1 => chart
            .draw_series(points.map(|point| TriangleMarker::new(point, 5, filled)))?
            .legend(move |(x, y)| TriangleMarker::new((x + 10, y), 5, filled)),
        _ => chart
            .draw_series(points.map(|point| Cross::new(point, 4, filled)))?
            .legend(move |(x, y)| Cross::new((x + 10, y), 4, filled)),
    };
    series.label(&curve.label);
    Ok(())
}

/// Returns the corner for the names of curves in which the least of the curves is hidden.
fn free_corner(picture: &Picture, axes: [&Logarithmic; 2]) -> SeriesLabelPosition {
    const STEPS: i32 = 1000;
    let part = |axis: usize, number: f64| f64::from(axes[axis].map(&number, (0, STEPS))) / f64::from(STEPS);
    let place = |point: &Point| [part(0, point.0), part(1, point.1)];
    let longest = picture.curves.iter().map(|curve| curve.label.chars().count()).max().unwrap_or(0);
    let size = [0.1 + 0.011 * longest as f64, 0.05 + 0.035 * picture.curves.len() as f64];
    let between =
        |[from, to]: [[f64; 2]; 2], step: u8| [0, 1].map(|k| from[k] + (to[k] - from[k]) * f64::from(step) / 8.0);
    let segments = picture.curves.iter().flat_map(|curve| curve.points.windows(2).chain(curve.dashes.windows(2)));
    let of_segments = segments.flat_map(|ends| (0..=8).map(|step| between([place(&ends[0]), place(&ends[1])], step)));
    let single = picture.curves.iter().filter(|curve| curve.points.len() == 1).map(|curve| place(&curve.points[0]));
    let all: Vec<[f64; 2]> = of_segments.chain(single).collect();
    let corners = [
        (SeriesLabelPosition::LowerRight, [true, false]),
        (SeriesLabelPosition::UpperLeft, [false, true]),
        (SeriesLabelPosition::UpperRight, [true, true]),
        (SeriesLabelPosition::LowerLeft, [false, false]),
    ];
    let hidden = |far: &[bool; 2]| {
        let is_in = |place: &&[f64; 2]| (0..2).all(|k| if far[k] { 1.0 - place[k] } else { place[k] } < size[k]);
        all.iter().filter(is_in).count()
    };
    let best = corners.into_iter().min_by_key(|(_, far)| hidden(far));
    best.map_or(SeriesLabelPosition::LowerRight, |(position, _)| position)
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
    fn curves_beyond_the_colours_have_points_of_another_shape() {
        let curves = (0..9).map(|number| curve(&format!("curve {number}"), 2)).collect();
        let svg = drawn("many", None, curves);
        let colours = ["#0072B2", "#D55E00", "#009E73"];
        assert_eq!(colours.map(|colour| count(&svg, "<circle", colour)), [3, 3, 3]);
        assert_eq!(colours.map(|colour| count(&svg, "<polygon", colour)), [3, 3, 0]);
    }

    #[test]
    fn names_stand_where_they_hide_no_curve() {
        let corner = |points: &[Point]| {
            let curves = vec![Curve { points: points.to_vec(), ..curve("a name", 0) }];
            let axes = [Axis { what: "x", scale: &DECADES }, Axis { what: "y", scale: &DECADES }];
            let axis = || Logarithmic { ends: (1.0, 1e3), base: 10.0 };
            let picture = Picture { title: String::new(), axes, dashes: None, curves };
            format!("{:?}", free_corner(&picture, [&axis(), &axis()]))
        };
        assert_eq!(corner(&[(1.0, 1.0), (1e3, 1e3)]), "LowerRight");
        assert_eq!(corner(&[(1.0, 1e3), (1e3, 1.0)]), "UpperRight");
        assert_eq!(corner(&[(1.0, 1.0), (1e3, 1.0)]), "UpperLeft");
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
