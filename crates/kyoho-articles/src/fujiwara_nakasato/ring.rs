//! The ring of the cartwheel: the surface density of its disk by the distance from the axis.

use std::f64::consts::PI;

use serde::Serialize;

use super::steps::Run;
use kyoho_cli::bench::plot::Point;
use kyoho_cli::failure::Result;
use kyoho_cli::model::cartwheel;
use kyoho_integrators::body::{Body, sum};

/// The side of the square in the picture of the disk.
pub const WIDTH: f64 = 8.0;

/// The width of an annulus, and their number.
const ANNULUS: f64 = 0.25;
const ANNULI: usize = 20;

/// The disk after the steps that are timed, when the intruder is still far, and at the end of the
/// run.
#[derive(Debug, Serialize)]
pub struct Ring {
    /// The number of bodies of the disk, which are the first.
    pub bodies: usize,
    /// The times of both.
    pub time_before: f64,
    pub time: f64,
    /// The radius at which the surface density grew most.
    radius: f64,
    /// The surface density there over that before.
    growth: f64,
    /// The radii in the middle of the annuli.
    radii: Vec<f64>,
    /// The surface densities before and at the end.
    pub density_before: Vec<f64>,
    pub density: Vec<f64>,
}

impl Ring {
    /// Follows a cartwheel to its end.
    pub fn follow(run: &mut Run) -> Result<Ring> {
        let bodies = cartwheel::disk(run.bodies().len());
        let time_before = run.time;
        let density_before = surface_density(&run.bodies()[..bodies]);
        run.finish()?;
        let density = surface_density(&run.bodies()[..bodies]);
        // Outside there are too few bodies to speak of a density.
        let growths = density.iter().zip(&density_before).take(ANNULI * 3 / 4).enumerate();
        let growths =
            growths.filter(|(_, (_, before))| **before > 0.0).map(|(place, (now, before))| (place, now / before));
        let (place, growth) = growths.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or_default();
        let radii: Vec<f64> = (0..ANNULI).map(|place| (place as f64 + 0.5) * ANNULUS).collect();
        Ok(Ring { bodies, time_before, time: run.time, radius: radii[place], growth, radii, density_before, density })
    }

    /// Returns surface densities as points of a curve.
    pub fn points(&self, densities: &[f64]) -> Vec<Point> {
        self.radii.iter().copied().zip(densities.iter().copied()).collect()
    }

    /// Describes the ring.
    pub fn words(&self) -> String {
        let Ring { bodies, time_before, time, radius, growth, .. } = self;
        format!(
            "ring at time {time}: radius {radius}, {growth:.1} times the density there at time {time_before}; {bodies} \
             bodies of the disk"
        )
    }
}

/// Returns the surface densities of a disk in annuli round the median place of its bodies.
fn surface_density(disk: &[Body]) -> Vec<f64> {
    let median = |k: usize| {
        let mut places: Vec<f64> = disk.iter().map(|body| body.position[k]).collect();
        places.sort_by(f64::total_cmp);
        places[places.len() / 2]
    };
    let centre = [0, 1].map(median);
    let mut masses = vec![Vec::new(); ANNULI];
    for body in disk {
        let radius = (body.position[0] - centre[0]).hypot(body.position[1] - centre[1]);
        if let Some(annulus) = masses.get_mut((radius / ANNULUS) as usize) {
            annulus.push(body.mass);
        }
    }
    let area = |place: usize| PI * ANNULUS * ANNULUS * (2 * place + 1) as f64;
    masses.into_iter().enumerate().map(|(place, masses)| sum(masses) / area(place)).collect()
}
