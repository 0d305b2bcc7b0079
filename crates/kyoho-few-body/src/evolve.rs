//! One system from its beginning to its end.

use kyoho_core::{Error, Result};

use crate::hierarchy::{Binary, Hierarchy};
use crate::kepler;
use crate::options::Options;
use crate::perturbation::Perturbation;
use crate::run::Run;
use crate::system::System;
use crate::vector::{Vector, ZERO, add_scaled, difference, scaled, sum};

/// Why a system ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The whole time has passed.
    Time,
    /// A part has left, and there is no new binary.
    Escape,
    /// A part has left, and there is a binary of other bodies than at the start.
    Exchange,
    /// These two bodies are as near as the sum of their radii.
    Collision([usize; 2]),
    /// These two bodies are as near as the innermost stable orbit, within which the relativistic terms
    /// have no meaning.
    Merger([usize; 2]),
    /// The steps allowed were made.
    Steps,
    /// Two bodies came so near that no step could be made.
    NoStep,
}

/// How a system ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why.
    pub end: End,
    /// The time that has passed.
    pub time: f64,
    /// Extrapolated steps.
    pub steps: u64,
    /// Steps of the leapfrogs that were extrapolated, one evaluation of all pairs each.
    pub leapfrog_steps: u64,
    /// The bound pairs, and pairs of pairs, innermost first.
    pub binaries: Vec<Binary>,
}

/// Evolves one system, which has the state at its end afterwards; on an error it is as before.
pub fn evolve(system: &mut System, options: &Options, perturbation: Option<&dyn Perturbation>) -> Result<Outcome> {
    options.check()?;
    system.check(options, 0)?;
    let is_alone = perturbation.is_none() && is_kepler_problem(system, options);
    if is_alone && let Some(outcome) = evolve_two(system, &system.masses_by(options.gravity)?, options.time)? {
        return Ok(outcome);
    }
    let mut run = Run::new(system, options, perturbation)?;
    let end = match run.begin() {
        Some(end) => end,
        None => run.advance_to_end()?,
    };
    run.give_back(system, end)
}

/// Whether two bodies move as Kepler says, and nothing can end them before their time.
pub fn is_kepler_problem(system: &System, options: &Options) -> bool {
    system.masses.len() == 2
        && options.speed_of_light.is_none()
        && !options.stop_at_collision
        && options.stop_at_escape.is_none()
}

/// Returns the place and the velocity of the centre of mass.
pub fn centre(masses: &[f64], system: &System) -> [Vector; 2] {
    let total: f64 = masses.iter().sum();
    let (mut position, mut velocity) = (ZERO, ZERO);
    for (body, &mass) in masses.iter().enumerate() {
        let part = if total > 0.0 { mass / total } else { 1.0 / masses.len() as f64 };
        add_scaled(&mut position, part, system.positions[body]);
        add_scaled(&mut velocity, part, system.velocities[body]);
    }
    [position, velocity]
}

/// Moves two bodies alone, if their problem has a solution in numbers.
fn evolve_two(system: &mut System, masses: &[f64], time: f64) -> Result<Option<Outcome>> {
    let separation = difference(system.positions[1], system.positions[0]);
    let velocity = difference(system.velocities[1], system.velocities[0]);
    let total = masses[0] + masses[1];
    let Some((separation, velocity)) = kepler::advance(total, separation, velocity, time) else { return Ok(None) };
    let part = |mass: f64| if total > 0.0 { mass / total } else { 0.5 };
    let parts = [-part(masses[1]), part(masses[0])];
    let positions = parts.map(|part| scaled(part, separation));
    let velocities = parts.map(|part| scaled(part, velocity));
    let binaries = Hierarchy::of(masses, &positions, &velocities)?.binaries;
    let [place, speed] = centre(masses, system);
    put(system, [sum(place, scaled(time, speed)), speed], [&positions, &velocities])?;
    Ok(Some(Outcome { end: End::Time, time, steps: 0, leapfrog_steps: 0, binaries }))
}

/// Gives a system positions and velocities relative to its centre of mass, if they are finite.
pub fn put(system: &mut System, centre: [Vector; 2], relative: [&[Vector]; 2]) -> Result<()> {
    for ((name, rows), centre) in ["position", "velocity"].into_iter().zip(relative).zip(centre) {
        for (body, &row) in rows.iter().enumerate() {
            if let Some(&value) = sum(centre, row).iter().find(|value| !value.is_finite()) {
                return Err(Error::NotFinite { what: format!("the {name} of body {body} at the end"), value });
            }
        }
    }
    for (rows, (centre, relative)) in
        [&mut system.positions, &mut system.velocities].into_iter().zip(centre.into_iter().zip(relative))
    {
        rows.iter_mut().zip(relative).for_each(|(row, &relative)| *row = sum(centre, relative));
    }
    Ok(())
}
