//! Bodies at random places in a sphere, at rest.

use crate::count::count;
use crate::failure::Result;
use crate::model::random::Random;
use crate::model::{Course, Destination, Masses, Model, Star};
use kyoho_core::memory::room;

/// The options of `kyoho model random`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of bodies
    #[arg(default_value_t = BODIES, value_parser = count::<u32>(2..=1 << 30))]
    n: u32,
    /// The seed of the random numbers
    #[arg(long, default_value_t = 1, value_parser = count::<u64>(..))]
    seed: u64,
    #[command(flatten)]
    destination: Destination,
}

/// The number of bodies of Fujiwara & Nakasato.
const BODIES: u32 = 100_000;

/// Their step and softening, over the 100 steps that they timed. The sphere falls together at time
/// 1.11.
pub const COURSE: Course = Course { step: 0.01, softening: 0.01, end: 1.0, interval: 0.25 };

/// Makes a model.
pub fn run(arguments: &Arguments) -> Result<()> {
    let format = arguments.destination.checked()?;
    let model = model(arguments.n as usize, arguments.seed, &arguments.destination.name())?;
    arguments.destination.write(&model, format)
}

/// Makes a model of `n` bodies.
pub fn model(n: usize, seed: u64, file: &str) -> Result<Model> {
    let mut stars = room(n, "the bodies of the random model")?;
    let mut random = Random(seed);
    stars.extend((0..n).map(|_| Star { position: random.in_ball(1.0), velocity: [0.0; 3] }));
    let description = vec![
        format!("{n} bodies at random places, seed {seed}, made by `kyoho model random`."),
        "G = 1. A sphere of radius 1 and mass 1, at rest.".into(),
        COURSE.line(file),
    ];
    Ok(Model { description, units: None, masses: Masses::Equal(1.0 / n as f64), stars })
}
