//! Coloured maps of sinks and sources.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;

use kyoho_cli::bench::plot::{Area, SIZE};
use kyoho_cli::failure::{Failure, Result};
use kyoho_cli::picture::{Logarithmic, decades, label};

/// A map of positive numbers, which are shown by colours that are even in the logarithm.
pub struct Map {
    /// The title above it.
    pub title: String,
    /// Sinks, sources and the number.
    pub cells: Vec<(usize, usize, f64)>,
}

/// Colours that colour-blind people can distinguish too (Okabe & Ito 2008).
const COLOURS: [RGBColor; 3] = [RGBColor(0, 114, 178), RGBColor(230, 159, 0), RGBColor(0, 158, 115)];

/// The width of the scale of colours beside a map.
const SCALE: u32 = 130;

/// Draws maps that have one scale of colours, and one of the machine that wins each cell, as panels.
/// `lines` are the numbers of sinks and of sources, ascending; names stand for the machines, which
/// the last map has by their places. Cells that are not there stay white.
pub fn draw(
    path: &Path,
    lines: &[usize],
    maps: &[Map],
    (names, winners): (&[&str], &[(usize, usize, usize)]),
) -> Result<()> {
    let draw_svg = || -> std::result::Result<(), Box<dyn Error>> {
        let panels = maps.len() + 1;
        let (columns, rows) = (panels.min(2), panels.div_ceil(2));
        let area = SVGBackend::new(path, (columns as u32 * SIZE.0, rows as u32 * SIZE.1)).into_drawing_area();
        area.fill(&WHITE)?;
        let areas = area.split_evenly((rows, columns));
        let numbers = maps.iter().flat_map(|map| &map.cells).map(|(_, _, number)| *number);
        let ends = decades(numbers).unwrap_or((1.0, 10.0));
        for (area, map) in areas.iter().zip(maps) {
            let (left, right) = area.split_horizontally((SIZE.0 - SCALE) as i32);
            let cells = map.cells.iter().map(|(ni, nj, number)| (*ni, *nj, colour(*number, ends)));
            draw_cells(&left, &map.title, lines, cells)?;
            draw_scale(&right, ends)?;
        }
        let (left, right) = areas[maps.len()].split_horizontally((SIZE.0 - SCALE) as i32);
        let of_winner = |place: usize| COLOURS[place % COLOURS.len()];
        draw_cells(&left, "the fastest", lines, winners.iter().map(|(ni, nj, place)| (*ni, *nj, of_winner(*place))))?;
        for (place, name) in names.iter().enumerate() {
            let y = 60 + 30 * place as i32;
            right.draw(&Rectangle::new([(5, y), (25, y + 20)], of_winner(place).filled()))?;
            right.draw(&Text::new(name.to_string(), (32, y + 3), ("sans-serif", 15).into_font()))?;
        }
        area.present()?;
        Ok(())
    };
    draw_svg().map_err(|error| Failure::file(path, error))
}

/// Returns the colour of a number, between the ends of the scale.
fn colour(number: f64, (lowest, highest): (f64, f64)) -> RGBColor {
    let place = (number / lowest).ln() / (highest / lowest).ln();
    let colorous::Color { r, g, b } = colorous::VIRIDIS.eval_continuous(place.clamp(0.0, 1.0));
    RGBColor(r, g, b)
}

/// Returns the label of a number of sinks or sources, which has to be short.
fn short(number: usize) -> String {
    if number > 0 && number.is_multiple_of(1024) { format!("{}k", number / 1024) } else { number.to_string() }
}

fn draw_cells(
    area: &Area,
    title: &str,
    lines: &[usize],
    cells: impl Iterator<Item = (usize, usize, RGBColor)>,
) -> std::result::Result<(), Box<dyn Error>> {
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(Cells(lines.len()), Cells(lines.len()))?;
    let label = |middle: &f64| lines.get(*middle as usize).map_or(String::new(), |line| short(*line));
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("sinks")
        .y_desc("sources")
        .x_label_formatter(&label)
        .y_label_formatter(&label)
        .draw()?;
    let place = |number: usize| lines.iter().position(|line| *line == number).unwrap_or(0) as f64;
    chart.draw_series(cells.map(|(ni, nj, colour)| {
        let (x, y) = (place(ni), place(nj));
        Rectangle::new([(x, y), (x + 1.0, y + 1.0)], colour.filled())
    }))?;
    Ok(())
}

/// An axis of this many cells, each of width one, with a label in its middle.
struct Cells(usize);

impl Ranged for Cells {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        first + (f64::from(last - first) * value / self.0 as f64).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        (0..self.0).map(|cell| cell as f64 + 0.5).collect()
    }

    fn range(&self) -> Range<f64> {
        0.0..self.0 as f64
    }
}

/// Draws the scale of colours.
fn draw_scale(area: &Area, ends: (f64, f64)) -> std::result::Result<(), Box<dyn Error>> {
    const STEPS: i32 = 64;
    let mut chart = ChartBuilder::on(area)
        .margin_top(50)
        .margin_bottom(60)
        .margin_right(20)
        .y_label_area_size(70)
        .build_cartesian_2d(0f64..1f64, Logarithmic { ends, base: 10.0 })?;
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_x_axis()
        .y_label_formatter(&label)
        .y_label_style(("sans-serif", 13))
        .draw()?;
    let at = |step: i32| ends.0 * (ends.1 / ends.0).powf(f64::from(step) / f64::from(STEPS));
    // Each step covers the upper part of the one before, so that no gaps are seen.
    chart.draw_series((0..STEPS).map(|step| {
        let colour = colour((at(step) * at(step + 1)).sqrt(), ends);
        Rectangle::new([(0.0, at(step)), (1.0, ends.1)], colour.filled())
    }))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_is_a_rectangle_in_the_colour_of_its_number_or_winner() {
        let path = std::env::temp_dir().join(format!("kyoho-map-{}.svg", std::process::id()));
        let map = Map { title: "a map".into(), cells: vec![(1, 1, 1.0), (2048, 1, 10.0), (1, 2048, 10.0)] };
        let winners = [(1, 1, 0), (2048, 2048, 1), (2048, 1, 1)];
        draw(&path, &[1, 2048], &[map], (&["one", "two"], &winners)).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let count = |colour: RGBColor| {
            let RGBColor(r, g, b) = colour;
            let name = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
            svg.lines().filter(|line| line.starts_with("<rect") && line.contains(&name)).count()
        };
        // The legend has one more of each machine.
        assert_eq!([COLOURS[0], COLOURS[1]].map(count), [1 + 1, 2 + 1]);
        assert_eq!([1.0, 10.0].map(|number| count(colour(number, (1.0, 10.0)))), [1, 2]);
        // Each map has the labels of its lines twice.
        assert_eq!(svg.lines().filter(|line| *line == "2k").count(), 2 * 2);
        for text in ["a map", "the fastest", "sinks", "sources", "one", "two"] {
            assert!(svg.contains(text), "{text}");
        }
    }
}
