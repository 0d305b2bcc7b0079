//! `kyoho picture`: the projected density of bodies as a picture.

mod frame;
mod region;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::count::{count, number};
use crate::failure::{Failure, Result};
use crate::file;
use crate::machine::named;
use crate::out::makes_files;
use crate::run::snapshot;
use kyoho_core::error::shown;
use kyoho_core::memory::filled;
use kyoho_integrators::body::{Body, Vector, sum};
pub use region::Region;

/// The options of `kyoho picture`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Files with bodies: models, inputs and snapshots of `run`, as text or in HDF5; - is the
    /// standard input, and needs --output
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The picture, whose name ends in .png; with several files the folder of the pictures
    /// [default: beside each file, with its name and .png]
    #[arg(long, value_name = "FILE.png")]
    output: Option<PathBuf>,
    /// The side of the square that is drawn, in the units of the file [default: as large as holds
    /// 95 per cent of the mass and of the bodies, and a margin]
    #[arg(long, value_parser = number)]
    width: Option<f64>,
    /// The centre of the square [default: the centre of mass, or the median place of the mass where
    /// few bodies far away pull that out of the others]
    #[arg(long, value_name = "X,Y,Z", value_delimiter = ',', allow_hyphen_values = true, value_parser = number)]
    centre: Option<Vec<f64>>,
    /// The axes to the right and upward: xy, xz, yz
    #[arg(long, default_value = "xy")]
    axes: String,
    /// Pixels a side
    #[arg(long, default_value_t = 1024, value_parser = count::<u16>(1..=16384))]
    pixels: u16,
    /// The diameter of the disk by which a body is drawn, in pixels [default: 1 where bodies are
    /// many, more where they are few]
    #[arg(long, value_name = "PIXELS", value_parser = count::<u16>(1..=256))]
    point: Option<u16>,
    /// Draw a frame round the square, with coordinates in the units of the file
    #[arg(long)]
    frame: bool,
    /// The column densities of the darkest and the brightest colour; below the first it is black
    /// [default: those of the least and the most filled pixel that is not empty]
    #[arg(long, value_name = "LOW,HIGH", value_delimiter = ',', allow_hyphen_values = true, value_parser = number)]
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
    makes_files(true);
    for (path, picture) in arguments.files.iter().zip(pictures) {
        let bodies = snapshot::bodies(path)?.bodies;
        let region = Region::new(&bodies, centre, width, axes, arguments.pixels.into());
        let point = arguments.point.map_or(usual_point(bodies.len(), region.pixels), usize::from);
        let density = Density::of(&bodies, region, point)?;
        let Some((low, high)) = range.or(density.range().map(widened)) else {
            let reason = format!("none of its mass lies in the square of width {}", density.region.words());
            return Err(Failure::file(path, reason));
        };
        density.write(&picture, (low, high), arguments.frame)?;
        report(arguments, &picture, &bodies, &density, (low, high))?;
    }
    Ok(())
}

/// Prints a line about a picture, and one about bodies that are not in it.
fn report(
    arguments: &Arguments,
    picture: &Path,
    bodies: &[Body],
    density: &Density,
    (low, high): (f64, f64),
) -> Result<()> {
    let region = &density.region;
    out!(
        "{}: {} pixels a side, axes {}, width {}; {} of {} bodies, mass {:.6e} of {:.6e}; column densities from \
         {low:.3e} (dark) to {high:.3e} (bright), even in the logarithm",
        picture.display(),
        arguments.pixels,
        arguments.axes,
        region.words(),
        density.bodies,
        bodies.len(),
        density.mass,
        sum(bodies.iter().map(|body| body.mass)),
    )?;
    let outside = bodies.len() - density.bodies;
    if outside == 0 || arguments.width.is_some() {
        return Ok(());
    }
    let all = shown(region.width_of_all(bodies));
    out!("{}: {outside} bodies farther out are not drawn; --width {all} holds all", picture.display())
}

/// The part of the picture that the points of all bodies would cover side by side.
const COVERED: f64 = 0.05;

/// Returns the diameter of points, in pixels, with which this many bodies can be seen: an odd
/// number, so that a body is in the middle.
fn usual_point(bodies: usize, pixels: usize) -> usize {
    let diameter = (COVERED / bodies.max(1) as f64).sqrt() * pixels as f64;
    (diameter as usize).min(pixels / 100).saturating_sub(1) / 2 * 2 + 1
}

/// The least ratio of the brightest column density to the darkest. Where the range is smaller, the
/// least filled pixels are not the darkest.
const LEAST_RANGE: f64 = 100.0;

fn widened((low, high): (f64, f64)) -> (f64, f64) {
    (low.min(high / LEAST_RANGE), high)
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
    if arguments.files.iter().any(|path| file::is_standard_input(path)) && arguments.output.is_none() {
        let allowed = "the name of the picture, where the bodies come from the standard input".into();
        return Err(Failure::Argument { option: "--output", value: "not given".into(), allowed });
    }
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
    let density = Density::of(bodies, region, 1)?.enlarged(enlarged)?;
    // Where nothing is in the square, all is black.
    density.write(path, density.range().unwrap_or((1.0, 1.0)), false)
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

/// The masses in the pixels of a square.
struct Density {
    region: Region,
    masses: Vec<f64>,
    /// The number of bodies in the square, and their mass.
    bodies: usize,
    mass: f64,
}

/// Returns the pixels of a disk of an odd or even diameter, from the one in its middle.
fn disk(diameter: usize) -> Vec<(isize, isize)> {
    let (radius, reach) = (diameter as f64 / 2.0, (diameter / 2) as isize);
    let all = (-reach..=reach).flat_map(|row| (-reach..=reach).map(move |column| (row, column)));
    all.filter(|(row, column)| (*row as f64).hypot(*column as f64) < radius).collect()
}

impl Density {
    /// Spreads the mass of each body evenly over a disk of pixels of this diameter round its own.
    fn of(bodies: &[Body], region: Region, diameter: usize) -> Result<Density> {
        let pixels = region.pixels;
        let mut masses = filled(pixels * pixels, 0.0, "the pixels of a picture")?;
        let disk = disk(diameter);
        let (mut inside, mut mass) = (0, 0.0);
        for body in bodies {
            let Some(pixel) = region.pixel(&body.position) else { continue };
            for (down, right) in &disk {
                let place = ((pixel / pixels) as isize + down, (pixel % pixels) as isize + right);
                let side = 0..pixels as isize;
                if side.contains(&place.0) && side.contains(&place.1) {
                    masses[place.0 as usize * pixels + place.1 as usize] += body.mass / disk.len() as f64;
                }
            }
            inside += 1;
            mass += body.mass;
        }
        Ok(Density { region, masses, bodies: inside, mass })
    }

    /// Returns the same column densities in `times` as many pixels a side.
    fn enlarged(self, times: usize) -> Result<Density> {
        let (before, pixels) = (self.region.pixels, times * self.region.pixels);
        let mut masses = filled(pixels * pixels, 0.0, "the pixels of a picture")?;
        for (place, mass) in masses.iter_mut().enumerate() {
            let (row, column) = (place / pixels / times, place % pixels / times);
            *mass = self.masses[row * before + column] / (times * times) as f64;
        }
        Ok(Density { region: Region { pixels, ..self.region }, masses, ..self })
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
    fn write(&self, path: &Path, range: (f64, f64), with_frame: bool) -> Result<()> {
        let content = self.png(range, with_frame).map_err(|error| Failure::file(path, error))?;
        file::replace(path, &content).map_err(|error| Failure::file(path, error))
    }

    /// Returns a picture whose colours are even in the logarithm of the column density between two
    /// limits. Below the lower one it is black.
    fn png(&self, (low, high): (f64, f64), with_frame: bool) -> std::result::Result<Vec<u8>, png::EncodingError> {
        let mut content = Vec::new();
        let mut numbers: Vec<u8> = self.masses.iter().map(|mass| colour(self.column(*mass), low, high)).collect();
        let mut side = self.region.pixels;
        if with_frame {
            (numbers, side) = frame::drawn(&numbers, &self.region);
        }
        let mut encoder = png::Encoder::new(&mut content, side as u32, side as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(palette());
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&numbers)?;
        writer.finish()?;
        Ok(content)
    }
}

/// The number of the brightest colour. Those from 1 on are of the scale; 0 is black.
const BRIGHTEST: u8 = 254;
/// The number of the colour of the frame, which is white.
const FRAME: u8 = 255;

/// The part of `inferno` that is left out, because it cannot be told from black.
const TOO_DARK: f64 = 0.2;

/// Returns the colours: black, and those of `inferno`, whose steps look even (Smith & van der Walt
/// 2015).
fn palette() -> Vec<u8> {
    let scale = (0..BRIGHTEST).map(|number| {
        let part = f64::from(number) / f64::from(BRIGHTEST - 1);
        colorous::INFERNO.eval_continuous(TOO_DARK + (1.0 - TOO_DARK) * part).as_array()
    });
    std::iter::once([0; 3]).chain(scale).chain([[255; 3]]).flatten().collect()
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
        Density::of(&bodies(), Region { centre, width, axes, pixels }, 1).unwrap()
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
    fn few_bodies_are_large_points_and_many_are_pixels() {
        let points = [1, 100, 1024, 16384, 1 << 20].map(|bodies| usual_point(bodies, 1024));
        assert_eq!(points, [9, 9, 7, 1, 1]);
        assert_eq!(usual_point(3, 50), 1);
        assert_eq!([1, 2, 3, 5].map(|diameter| disk(diameter).len()), [1, 1, 9, 21]);
    }

    #[test]
    fn a_point_has_the_mass_of_its_body() {
        let body = Body::new(3.0, [0.0; 3], [0.0; 3]);
        let region = || Region { centre: [0.0; 3], width: 1.0, axes: [0, 1], pixels: 9 };
        for diameter in [1, 3, 5, 9] {
            let density = Density::of(std::slice::from_ref(&body), region(), diameter).unwrap();
            assert!((density.masses.iter().sum::<f64>() - 3.0).abs() < 1e-14 && density.mass == 3.0);
            let filled = density.masses.iter().filter(|mass| **mass > 0.0).count();
            assert_eq!(filled, disk(diameter).len());
        }
        // Points at the border are cut.
        let corner = Body::new(9.0, [0.5, 0.5, 0.0], [0.0; 3]);
        let density = Density::of(&[corner], region(), 3).unwrap();
        assert_eq!((density.masses[8], density.masses.iter().sum::<f64>(), density.mass), (1.0, 4.0, 9.0));
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
        assert_eq!(colours, [0, 0, 1, 64, 128, 254, 254]);
        assert_eq!([0.0, 3.0].map(|density| colour(density, 3.0, 3.0)), [0, 254]);
    }
}
