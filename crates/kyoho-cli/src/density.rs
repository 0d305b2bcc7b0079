//! `kyoho picture`: the projected density of bodies as a picture.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::file;
use crate::machine::named;
use crate::run::snapshot;
use kyoho::data::error::shown;
use kyoho::data::memory::filled;
use kyoho::integrator::body::{Body, Vector, sum, vector};

/// The options of `kyoho picture`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Files with bodies: models, inputs and snapshots of `run`, as text or in HDF5
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The picture, whose name ends in .png; with several files the folder of the pictures
    /// [default: beside each file, with its name and .png]
    #[arg(long, value_name = "FILE.png")]
    output: Option<PathBuf>,
    /// The side of the square that is drawn, in the units of the file [default: as small as holds
    /// all bodies]
    #[arg(long)]
    width: Option<f64>,
    /// The centre of the square [default: the centre of mass]
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', allow_hyphen_values = true)]
    centre: Option<Vec<f64>>,
    /// The axes to the right and upward: xy, xz, yz
    #[arg(long, default_value = "xy")]
    axes: String,
    /// Pixels a side
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..=16384))]
    pixels: u16,
    /// The column densities of the darkest and the brightest colour; below the first it is black
    /// [default: those of the least and the most filled pixel that is not empty]
    #[arg(long, value_name = "LOW,HIGH", value_delimiter = ',', allow_hyphen_values = true)]
    range: Option<Vec<f64>>,
}

/// The axes by their names, to the right and upward.
const AXES: [(&str, [usize; 2]); 3] = [("xy", [0, 1]), ("xz", [0, 2]), ("yz", [1, 2])];

/// Draws a picture of each file and prints a line about it.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (_, axes) = named("--axes", &arguments.axes, &AXES, |(name, _)| name)?;
    let width = arguments.width.map(checked_width).transpose()?;
    let centre = arguments.centre.as_deref().map(checked_centre).transpose()?;
    let range = arguments.range.as_deref().map(checked_range).transpose()?;
    let pictures = pictures(arguments)?;
    for (path, picture) in arguments.files.iter().zip(pictures) {
        let bodies = snapshot::bodies(path)?;
        let region = Region::new(&bodies, centre, width, axes, arguments.pixels.into());
        let density = Density::of(&bodies, region)?;
        let Some((low, high)) = range.or(density.range()) else {
            let reason = format!("none of its mass lies in the square of width {}", density.region.words());
            return Err(Failure::file(path, reason));
        };
        density.write(&picture, low, high)?;
        out!(
            "{}: {} pixels a side, axes {}, width {}; {} of {} bodies, mass {:.6e} of {:.6e}; column densities from \
             {low:.3e} (dark) to {high:.3e} (bright), even in the logarithm",
            picture.display(),
            arguments.pixels,
            arguments.axes,
            density.region.words(),
            density.bodies,
            bodies.len(),
            sum(density.masses.iter().copied()),
            sum(bodies.iter().map(|body| body.mass)),
        )?;
    }
    Ok(())
}

/// Returns the names of the pictures, which can all be written.
fn pictures(arguments: &Arguments) -> Result<Vec<PathBuf>> {
    let pictures: Vec<PathBuf> = match (&arguments.output, &arguments.files[..]) {
        (None, files) => files.iter().map(|path| path.with_extension("png")).collect(),
        (Some(picture), [_]) => vec![picture.clone()],
        (Some(folder), files) => {
            file::try_folder(folder).map_err(|error| Failure::file(folder, error))?;
            files.iter().map(|path| folder.join(path.file_name().unwrap_or_default()).with_extension("png")).collect()
        }
    };
    let mut names = HashSet::new();
    for picture in &pictures {
        let value = picture.display().to_string();
        let wrong = |allowed: &str| Failure::Argument { option: "--output", value, allowed: allowed.into() };
        if !picture.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png")) {
            return Err(wrong("names that end in .png"));
        }
        if !names.insert(picture) {
            return Err(wrong("a picture of its own for each file, so files whose names differ before the last dot"));
        }
        file::try_writing(picture).map_err(|error| Failure::file(picture, error))?;
    }
    Ok(pictures)
}

/// Draws bodies with a scale of their own, and each pixel of the square as a square of as many
/// pixels a side as `enlarged` says, so that few bodies can be seen.
pub fn draw(path: &Path, bodies: &[Body], region: Region, enlarged: usize) -> Result<()> {
    let density = Density::of(bodies, region)?.enlarged(enlarged)?;
    // Where nothing is in the square, all is black.
    let (low, high) = density.range().unwrap_or((1.0, 1.0));
    density.write(path, low, high)
}

fn checked_width(width: f64) -> Result<f64> {
    let is_allowed = width.is_finite() && width > 0.0;
    let wrong = || Failure::Argument { option: "--width", value: shown(width), allowed: "above zero".into() };
    if is_allowed { Ok(width) } else { Err(wrong()) }
}

fn checked_centre(numbers: &[f64]) -> Result<Vector> {
    let finite = numbers.try_into().ok().filter(|centre: &Vector| centre.iter().all(|number| number.is_finite()));
    finite.ok_or_else(|| wrong_list("--centre", numbers, "three finite numbers, X,Y,Z"))
}

fn checked_range(numbers: &[f64]) -> Result<(f64, f64)> {
    match *numbers {
        [low, high] if low > 0.0 && high > low && high.is_finite() => Ok((low, high)),
        _ => Err(wrong_list("--range", numbers, "two numbers above zero, LOW,HIGH, of which the second is larger")),
    }
}

fn wrong_list(option: &'static str, numbers: &[f64], allowed: &str) -> Failure {
    let value = numbers.iter().copied().map(shown).collect::<Vec<_>>().join(",");
    Failure::Argument { option, value, allowed: allowed.into() }
}

/// A square, through which lines of sight go along the third axis.
pub struct Region {
    /// The centre.
    pub centre: Vector,
    /// The side.
    pub width: f64,
    /// The axes to the right and upward.
    pub axes: [usize; 2],
    /// Pixels a side.
    pub pixels: usize,
}

impl Region {
    /// Makes a square, where nothing else is said round the centre of mass and as small as holds
    /// all bodies.
    fn new(bodies: &[Body], centre: Option<Vector>, width: Option<f64>, axes: [usize; 2], pixels: usize) -> Region {
        let centre = centre.unwrap_or_else(|| {
            let mass = sum(bodies.iter().map(|body| body.mass));
            let weight = |body: &Body| if mass > 0.0 { body.mass / mass } else { 1.0 / bodies.len() as f64 };
            vector(|k| sum(bodies.iter().map(|body| weight(body) * body.position[k])))
        });
        let width = width.unwrap_or_else(|| {
            let distances = bodies.iter().flat_map(|body| axes.map(|k| (body.position[k] - centre[k]).abs()));
            let farthest = distances.fold(0.0, f64::max);
            if farthest > 0.0 { 2.0 * farthest } else { 1.0 }
        });
        Region { centre, width, axes, pixels }
    }

    /// Returns the number of the pixel in which a place lies, by rows from the top.
    fn pixel(&self, position: &Vector) -> Option<usize> {
        let [right, up] = self.axes.map(|k| (position[k] - self.centre[k]) / self.width + 0.5);
        let is_inside = [right, up].iter().all(|part| (0.0..=1.0).contains(part));
        // The last pixel has its outer border too.
        let number = |part: f64| ((part * self.pixels as f64) as usize).min(self.pixels - 1);
        is_inside.then(|| (self.pixels - 1 - number(up)) * self.pixels + number(right))
    }

    fn words(&self) -> String {
        // A centre of mass in the origin comes out with a rounding error.
        let is_zero = |number: f64| number.abs() < 1e-12 * self.width;
        let [x, y, z] = self.centre.map(|number| if is_zero(number) { "0".into() } else { shown(number) });
        format!("{} round {x},{y},{z}", shown(self.width))
    }
}

/// The masses in the pixels of a square.
struct Density {
    region: Region,
    masses: Vec<f64>,
    /// The number of bodies in all pixels.
    bodies: usize,
}

impl Density {
    fn of(bodies: &[Body], region: Region) -> Result<Density> {
        let mut masses = filled(region.pixels * region.pixels, 0.0, "the pixels of a picture")?;
        let mut inside = 0;
        for body in bodies {
            if let Some(pixel) = region.pixel(&body.position) {
                masses[pixel] += body.mass;
                inside += 1;
            }
        }
        Ok(Density { region, masses, bodies: inside })
    }

    /// Returns the same column densities in `times` as many pixels a side.
    fn enlarged(self, times: usize) -> Result<Density> {
        let (before, pixels) = (self.region.pixels, times * self.region.pixels);
        let mut masses = filled(pixels * pixels, 0.0, "the pixels of a picture")?;
        for (place, mass) in masses.iter_mut().enumerate() {
            let (row, column) = (place / pixels / times, place % pixels / times);
            *mass = self.masses[row * before + column] / (times * times) as f64;
        }
        Ok(Density { region: Region { pixels, ..self.region }, masses, bodies: self.bodies })
    }

    /// Returns the column density of a mass in a pixel.
    fn column(&self, mass: f64) -> f64 {
        mass / (self.region.width / self.region.pixels as f64).powi(2)
    }

    /// Returns the least and the largest column density of pixels that are not empty.
    fn range(&self) -> Option<(f64, f64)> {
        let filled = self.masses.iter().copied().filter(|mass| *mass > 0.0);
        let range = filled.fold((f64::INFINITY, 0.0), |(low, high), mass| (mass.min(low), mass.max(high)));
        (range.1 > 0.0).then(|| (self.column(range.0), self.column(range.1)))
    }

    /// Writes a picture of the column densities between two limits.
    fn write(&self, path: &Path, low: f64, high: f64) -> Result<()> {
        let content = self.png(low, high).map_err(|error| Failure::file(path, error))?;
        file::replace(path, &content).map_err(|error| Failure::file(path, error))
    }

    /// Returns a picture whose colours are even in the logarithm of the column density between two
    /// limits. Below the lower one it is black.
    fn png(&self, low: f64, high: f64) -> std::result::Result<Vec<u8>, png::EncodingError> {
        let mut content = Vec::new();
        let side = self.region.pixels as u32;
        let mut encoder = png::Encoder::new(&mut content, side, side);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(palette());
        let numbers: Vec<u8> = self.masses.iter().map(|mass| colour(self.column(*mass), low, high)).collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&numbers)?;
        writer.finish()?;
        Ok(content)
    }
}

/// The number of the brightest colour. Those from 1 on are of the scale; 0 is black.
const BRIGHTEST: u8 = 255;

/// The part of `inferno` that is left out, because it cannot be told from black.
const TOO_DARK: f64 = 0.2;

/// Returns the colours: black, and those of `inferno`, whose steps look even (Smith & van der Walt
/// 2015).
fn palette() -> Vec<u8> {
    let scale = (0..BRIGHTEST).map(|number| {
        let part = f64::from(number) / f64::from(BRIGHTEST - 1);
        colorous::INFERNO.eval_continuous(TOO_DARK + (1.0 - TOO_DARK) * part).as_array()
    });
    std::iter::once([0; 3]).chain(scale).flatten().collect()
}

/// Returns the number of the colour of a column density.
fn colour(density: f64, low: f64, high: f64) -> u8 {
    if density >= high {
        return BRIGHTEST;
    }
    if density < low {
        return 0;
    }
    1 + (f64::from(BRIGHTEST - 1) * (density / low).ln() / (high / low).ln()).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies() -> Vec<Body> {
        let body = |mass: f64, x: f64, y: f64, z: f64| Body::new(mass, [x, y, z], [0.0; 3]);
        vec![body(1.0, -1.0, -1.0, 0.0), body(2.0, 1.0, 1.0, 5.0), body(4.0, 0.9, 0.2, 0.0), body(8.0, 0.9, 1.3, 0.0)]
    }

    fn density(centre: Vector, width: f64, axes: [usize; 2], pixels: usize) -> Density {
        Density::of(&bodies(), Region { centre, width, axes, pixels }).unwrap()
    }

    #[test]
    fn rows_go_down_and_the_border_belongs_to_the_square() {
        let density = density([0.0; 3], 2.0, [0, 1], 2);
        assert_eq!(density.masses, [0.0, 6.0, 1.0, 0.0]);
        assert_eq!(density.bodies, 3);
        // The square of axes xz has other bodies.
        assert_eq!(self::density([0.0; 3], 2.0, [0, 2], 2).masses, [1.0, 12.0, 0.0, 0.0]);
        assert_eq!(self::density([0.0, 1.0, 5.0], 2.0, [1, 2], 1).masses, [2.0]);
    }

    #[test]
    fn column_densities_sum_to_the_mass_in_the_square() {
        for pixels in [1, 2, 3, 10, 64] {
            for (width, mass) in [(2.0, 7.0), (2.6, 15.0), (1.0, 0.0), (100.0, 15.0)] {
                let density = density([0.0; 3], width, [0, 1], pixels);
                let area = (width / pixels as f64).powi(2);
                let sum: f64 = density.masses.iter().map(|mass| density.column(*mass) * area).sum();
                assert!((sum - mass).abs() < 1e-13, "{pixels} {width}: {sum}");
            }
        }
    }

    #[test]
    fn the_square_holds_all_bodies_round_their_centre_of_mass() {
        let bodies = bodies();
        let region = Region::new(&bodies, None, None, [0, 1], 7);
        let expected = [(-1.0 + 2.0 + 3.6 + 7.2) / 15.0, (-1.0 + 2.0 + 0.8 + 10.4) / 15.0, 10.0 / 15.0];
        assert!(region.centre.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-15));
        assert!((region.width - 2.0 * (region.centre[1] + 1.0)).abs() < 1e-15, "{}", region.width);
        assert_eq!(Density::of(&bodies, region).unwrap().bodies, 4);
        assert_eq!(Region::new(&bodies[..1], None, None, [0, 1], 7).width, 1.0);
    }

    #[test]
    fn the_range_is_that_of_pixels_with_mass() {
        assert_eq!(density([0.0; 3], 2.0, [0, 1], 2).range(), Some((1.0, 6.0)));
        assert_eq!(density([50.0; 3], 2.0, [0, 1], 2).range(), None);
    }

    #[test]
    fn an_enlarged_picture_has_the_same_column_densities() {
        let density = density([0.0; 3], 2.0, [0, 1], 2);
        let range = density.range();
        let enlarged = density.enlarged(2).unwrap();
        assert_eq!(enlarged.range(), range);
        let rows: Vec<&[f64]> = enlarged.masses.chunks(4).collect();
        assert_eq!(rows[..2], [[0.0, 0.0, 1.5, 1.5]; 2]);
        assert_eq!(rows[2..], [[0.25, 0.25, 0.0, 0.0]; 2]);
    }

    #[test]
    fn colours_are_even_in_the_logarithm() {
        let colours = [0.0, 0.5, 1.0, 10.0, 100.0, 1e4, 1e5].map(|density| colour(density, 1.0, 1e4));
        assert_eq!(colours, [0, 0, 1, 65, 128, 255, 255]);
        assert_eq!([0.0, 3.0].map(|density| colour(density, 3.0, 3.0)), [0, 255]);
    }
}
