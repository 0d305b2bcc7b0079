//! A system under way as numbers and words: what a device is told of it, and tells back.

use kyoho_core::{Error, Result, memory};

use super::rules::{HEAD_NUMBERS, HEAD_WORDS};
use crate::links::Links;
use crate::motion::Clock;
use crate::run::Run;

/// Returns how many numbers and words the record of a system has that has so many bodies and rows in
/// its state.
pub fn lengths(bodies: usize, rows: usize) -> [usize; 2] {
    [HEAD_NUMBERS + 2 * bodies + 3 * rows, HEAD_WORDS + 2 * bodies]
}

impl Run<'_> {
    /// Writes where the system stands. The first word is the device's and the caller's.
    pub fn write(&self, radii: &[f64], numbers: &mut [f64], words: &mut [i32]) {
        let masses = &self.motion.masses;
        let [time, lost] = self.time;
        let head = [time, lost, self.step, self.usual, self.steps as f64, self.extrapolation.leapfrog_steps as f64];
        numbers[..HEAD_NUMBERS].copy_from_slice(&head);
        let (of_masses, rest) = numbers[HEAD_NUMBERS..].split_at_mut(masses.len());
        let (of_radii, of_state) = rest.split_at_mut(masses.len());
        of_masses.copy_from_slice(masses);
        of_radii.iter_mut().enumerate().for_each(|(body, to)| *to = radii.get(body).copied().unwrap_or(0.0));
        of_state.copy_from_slice(self.state.as_flattened());
        words[1] = self.clock as i32;
        words[2] = self.extrapolation.target as i32;
        let links = &self.motion.links;
        let places = links.order().iter().chain(links.parents());
        words[HEAD_WORDS..].iter_mut().zip(places).for_each(|(word, &place)| *word = place as i32);
    }

    /// Takes up the system where a record of it stands.
    pub fn read(&mut self, numbers: &[f64], words: &[i32]) -> Result<()> {
        let bodies = self.motion.masses.len();
        let &[time, lost, step, usual, steps, leapfrog_steps, ..] = numbers else { return Err(broken()) };
        self.time = [time, lost];
        self.motion.epoch = time;
        (self.step, self.usual, self.steps) = (step, usual, steps as u64);
        self.extrapolation.leapfrog_steps = leapfrog_steps as u64;
        self.state.as_flattened_mut().copy_from_slice(&numbers[HEAD_NUMBERS + 2 * bodies..]);
        self.clock = if words[1] == Clock::Time as i32 { Clock::Time } else { Clock::Regular };
        self.extrapolation.target = usize::try_from(words[2]).map_err(|_| broken())?;
        let mut places = memory::room(words.len() - HEAD_WORDS, "the links of a system")?;
        for &word in &words[HEAD_WORDS..HEAD_WORDS + 2 * bodies - 1] {
            places.push(usize::try_from(word).ok().filter(|&place| place < bodies).ok_or_else(broken)?);
        }
        let parents = places.split_off(bodies);
        if parents.iter().enumerate().any(|(link, &parent)| parent > link) {
            return Err(broken());
        }
        self.motion.join(Links::with(places, parents)?);
        Ok(())
    }
}

fn broken() -> Error {
    Error::Internal { what: "a device returned a system of few bodies whose links are none".into() }
}
