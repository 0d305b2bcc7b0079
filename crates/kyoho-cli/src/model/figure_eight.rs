//! Small galaxies on a closed path that all of them follow, one after another: a choreography of
//! three or four bodies of equal masses.

use crate::count::count;
use crate::failure::{Failure, Result};
use crate::model::isolated::centre;
use crate::model::plummer;
use crate::model::random::Random;
use crate::model::{Course, Destination, Masses, Model, Star};
use kyoho_core::error::shown;
use kyoho_core::memory::room;

/// The options of `kyoho model figure-eight`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of bodies, a multiple of that of the galaxies [default: 2500 a galaxy]
    #[arg(value_parser = count::<u32>(6..=1 << 30))]
    n: Option<u32>,
    /// The number of galaxies: 3 on the figure-eight, or 4 on the super-eight
    #[arg(long, default_value_t = 3, value_parser = count::<u8>(3..=4))]
    galaxies: u8,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    #[command(flatten)]
    destination: Destination,
}

/// A choreography of bodies of mass 1, with `G = 1`, in the plane.
#[derive(Debug)]
pub struct Choreography {
    /// The name of the path.
    pub name: &'static str,
    /// The places and velocities of the bodies.
    pub bodies: &'static [[[f64; 2]; 2]],
    /// The period.
    pub period: f64,
    /// The run that galaxies on it are made for.
    pub course: Course,
}

/// The figure-eight (Chenciner & Montgomery 2000, Annals of Mathematics 152, 881), from the initial
/// conditions by Simo that they give.
pub const EIGHT: Choreography = Choreography {
    name: "figure-eight",
    bodies: &[
        [[0.97000436, -0.24308753], [0.466203685, 0.432365730]],
        [[-0.97000436, 0.24308753], [0.466203685, 0.432365730]],
        [[0.0, 0.0], [-0.93240737, -0.86473146]],
    ],
    period: 6.32591398,
    course: COURSE,
};

/// The super-eight of Gerver, from the initial conditions of Simo (2001, Progress in Mathematics
/// 201, 101; 1.382857, 0.157030, 0.584873, 1.871935), which Newton's method took from six digits to
/// those of double.
pub const SUPER_EIGHT: Choreography = Choreography {
    name: "super-eight",
    bodies: &[
        [[1.382_856_843_622_68, 0.0], [0.0, 0.584_872_630_792_12]],
        [[0.0, 0.157_029_922_309_27], [1.871_935_245_786_13, 0.0]],
        [[-1.382_856_843_622_68, 0.0], [0.0, -0.584_872_630_792_12]],
        [[0.0, -0.157_029_922_309_27], [-1.871_935_245_786_13, 0.0]],
    ],
    period: std::f64::consts::TAU,
    course: HALF,
};

/// The unit of length of a choreography. Galaxies are small beside the least distance of two of
/// them, which is 0.31 of it on the super-eight, so that tides leave them whole.
const LENGTH: f64 = 12.0;

/// The period. It gives galaxies their mass.
const PERIOD: f64 = 64.0;

/// The Plummer radius of a galaxy, and the largest radius of its bodies in Plummer radii. With the
/// softening of a quarter of the radius such a galaxy is in balance: the ratio of twice the kinetic
/// energy to the virial is 1.02.
const RADIUS: f64 = 0.4;
const FARTHEST: f64 = 4.0;

/// Fujiwara & Nakasato's step and softening, over a period.
const COURSE: Course = Course { step: 1.0 / 64.0, softening: 0.1, end: PERIOD, interval: PERIOD / 16.0 };

/// On the super-eight over half a period, because then galaxies leave it: small errors grow some
/// thousandfold in a period, and tides are not so small.
const HALF: Course = Course { end: PERIOD / 2.0, ..COURSE };

/// The number of bodies of a galaxy in that article.
const BODIES: u32 = 2500;

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let format = arguments.destination.checked()?;
    let choreography = if arguments.galaxies == 3 { &EIGHT } else { &SUPER_EIGHT };
    let galaxies = choreography.bodies.len();
    let n = arguments.n.unwrap_or(BODIES * u32::from(arguments.galaxies)) as usize;
    if !n.is_multiple_of(galaxies) {
        let allowed = format!("multiples of the {galaxies} galaxies");
        return Err(Failure::Argument { option: "N", value: n.to_string(), allowed });
    }
    let model = choreography.model(n, arguments.seed, &arguments.destination.name())?;
    arguments.destination.write(&model, format)
}

impl Choreography {
    /// Returns the mass of a galaxy.
    pub fn mass(&self) -> f64 {
        LENGTH.powi(3) * (self.period / PERIOD).powi(2)
    }

    /// Returns the places and velocities of the centres of the galaxies.
    pub fn centres(&self) -> impl Iterator<Item = Star> {
        let speed = LENGTH * self.period / PERIOD;
        let spatial = |[x, y]: [f64; 2], unit: f64| [unit * x, unit * y, 0.0];
        self.bodies.iter().map(move |[place, velocity]| Star {
            position: spatial(*place, LENGTH),
            velocity: spatial(*velocity, speed),
        })
    }

    /// Makes a model of `n` bodies, which are those of one galaxy after another.
    pub fn model(&self, n: usize, seed: u64, file: &str) -> Result<Model> {
        let galaxies = self.bodies.len();
        let mut stars = room(n, "the bodies of the galaxies")?;
        let mut random = Random(seed);
        for middle in self.centres() {
            let start = stars.len();
            stars.extend((0..n / galaxies).map(|_| plummer::drawn(&mut random, RADIUS, self.mass(), FARTHEST)));
            centre(&mut stars[start..], &[]);
            stars[start..].iter_mut().for_each(|star| star.shift(&middle));
        }
        let description = vec![
            format!(
                "{galaxies} galaxies of {} bodies each on the {}, seed {seed}, made by `kyoho model figure-eight`.",
                n / galaxies,
                self.name
            ),
            format!(
                "G = 1. A galaxy is a Plummer model of radius {RADIUS} and mass {}; the period of their path is {PERIOD}.",
                shown(self.mass())
            ),
            self.course.line(file),
        ];
        Ok(Model { description, units: None, masses: Masses::Equal(self.mass() / (n / galaxies) as f64), stars })
    }
}

#[cfg(test)]
mod tests {
    use kyoho::System;
    use kyoho::config::Settings;
    use kyoho_core::{Order, Precision};
    use kyoho_integrators::Integrator;
    use kyoho_integrators::body::{Body, length, vector};
    use kyoho_integrators::plan::{ETA4, Plan, SHORTEST, StepCriterion, whole};

    use super::*;

    /// Returns an integrator of the galaxies as points, whose intervals are parts of the period.
    fn points(choreography: &Choreography, parts: f64) -> Box<dyn Integrator + Send> {
        let (order, precision) = (Order::Eighth, Precision::Double);
        let setup = Settings::from_environment().unwrap().setup(order, precision).unwrap();
        let interval = PERIOD / parts;
        let plan = Plan {
            order,
            precision,
            gravity: 1.0,
            softening: 0.0,
            criterion: StepCriterion::Usual,
            eta: 0.1,
            eta4: ETA4,
            step: 0.0,
            longest: interval,
            shortest: interval * SHORTEST,
            interval,
            tree: None,
        };
        let body = |star: Star| Body::new(choreography.mass(), star.position, star.velocity);
        kyoho_integrators::of(System::new(&setup).unwrap(), &plan, choreography.centres().map(body).collect()).unwrap()
    }

    fn distance(body: &Body, star: &Star) -> f64 {
        length(&vector(|k| body.position[k] - star.position[k]))
    }

    /// In a third or a quarter of the period each body comes to the place of another.
    #[test]
    fn points_follow_each_other_and_are_back_after_a_period() {
        for choreography in [&EIGHT, &SUPER_EIGHT] {
            let starts: Vec<Star> = choreography.centres().collect();
            let count = starts.len();
            let mut integrator = points(choreography, count as f64);
            for part in 1..=count {
                integrator.advance(&mut |_, _| Ok(true)).unwrap();
                for (number, body) in integrator.bodies().iter().enumerate() {
                    let nearest = (0..count)
                        .min_by(|one, other| distance(body, &starts[*one]).total_cmp(&distance(body, &starts[*other])));
                    let nearest = nearest.unwrap();
                    assert!(distance(body, &starts[nearest]) < 1e-4, "{} {part}: {body:?}", choreography.name);
                    assert_eq!(nearest == number, part == count, "{} {part}", choreography.name);
                }
            }
        }
    }

    #[test]
    fn the_runs_are_whole_numbers_of_steps_and_intervals() {
        for course in [EIGHT.course, SUPER_EIGHT.course] {
            assert!(whole(course.end, course.interval).is_some() && whole(course.interval, course.step).is_some());
        }
    }
}
