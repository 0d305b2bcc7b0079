//! The arrays of a program that calls the library: those of its bodies, and those that receive
//! forces.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::bench::measure::{Particle, SOFTENING};
use crate::failure::Result;
use kyoho_core::{BodyColumns, Forces, Interaction, memory};
use kyoho_engine::lists::{Column, GivenBodies};

/// The name of the arrays in errors about memory.
const ARRAYS: &str = "the arrays of bodies";
/// The number of vectors of a body that has the most of them.
const VECTORS: usize = 4;

/// An array for each quantity of some bodies.
pub struct Bodies {
    pub masses: Vec<f64>,
    /// Position, velocity, acceleration, jerk; those that the interaction does not need are empty.
    pub derivatives: [Vec<f64>; VECTORS],
    pub indices: Vec<i32>,
}

impl Bodies {
    /// Copies the bodies of these numbers, which are their indices, with what an interaction needs.
    pub fn new(
        bodies: &[Particle],
        numbers: impl ExactSizeIterator<Item = usize> + Clone,
        interaction: &Interaction,
    ) -> Result<Bodies> {
        let mut derivatives = [const { Vec::new() }; VECTORS];
        for (k, column) in derivatives.iter_mut().enumerate().take(interaction.n_derivatives) {
            memory::reserve(column, 3 * numbers.len(), ARRAYS)?;
            column.extend(numbers.clone().flat_map(|number| bodies[number].motion[k]));
        }
        Ok(Bodies {
            masses: memory::collected(numbers.clone().map(|number| bodies[number].mass), ARRAYS)?,
            derivatives,
            indices: memory::collected(numbers.map(|number| number as i32), ARRAYS)?,
        })
    }

    /// Hands the first `count` bodies over.
    pub fn give<R>(&self, count: usize, take: impl FnOnce(GivenBodies) -> R) -> R {
        let (masses, indices) = (copier(&self.masses, 1), copier(&self.indices, 1));
        let vectors = self.derivatives.each_ref().map(|column| copier(column, 3));
        let given = |k: usize| {
            let is_given = self.derivatives.get(k).is_some_and(|column| !column.is_empty());
            is_given.then(|| &vectors[k] as Column<f64>)
        };
        let columns = BodyColumns {
            derivatives: std::array::from_fn(given),
            masses: Some(&masses as Column<f64>),
            indices: Some(&indices as Column<i32>),
            ..BodyColumns::NONE
        };
        take(GivenBodies { count, columns, softening2: SOFTENING * SOFTENING, on_device: None })
    }
}

/// Returns the function that copies rows of an array, `width` numbers each, from a row on.
pub fn copier<T: Copy + Sync>(array: &[T], width: usize) -> impl Fn(usize, &mut [T]) + Sync {
    move |first, to| to.copy_from_slice(&array[width * first..][..to.len()])
}

/// An array for each quantity of forces. Several threads write them, each at its own places. The
/// stores are atomic, which makes them no slower, because Rust knows nothing of these places.
pub struct Received {
    potentials: Vec<AtomicU64>,
    /// Acceleration, jerk, snap, crackle, as many as the interaction has.
    derivatives: Vec<Vec<AtomicU64>>,
}

impl Received {
    /// Makes the arrays for this many sinks.
    pub fn new(sinks: usize, interaction: &Interaction) -> Result<Received> {
        let array = |length: usize| memory::collected((0..length).map(|_| AtomicU64::new(0)), "the arrays of forces");
        let derivatives = (0..(interaction.n_outputs - 1) / 3).map(|_| array(3 * sinks));
        Ok(Received { potentials: array(sinks)?, derivatives: derivatives.collect::<kyoho::Result<_>>()? })
    }

    /// Writes the forces on the sinks from `first` on.
    pub fn write(&self, first: usize, forces: &Forces) {
        for number in 0..forces.len() {
            let sink = first + number;
            put(&self.potentials, sink, [forces.potential(number)]);
            let vectors =
                [forces.acceleration(number), forces.jerk(number), forces.snap(number), forces.crackle(number)];
            self.derivatives.iter().zip(vectors).for_each(|(array, vector)| put(array, sink, vector));
        }
    }

    /// Returns the potential and the acceleration of a sink.
    #[cfg(test)]
    pub fn of(&self, sink: usize) -> (f64, kyoho_integrators::body::Vector) {
        let number = |place: &AtomicU64| f64::from_bits(place.load(Ordering::Relaxed));
        let acceleration = kyoho_integrators::body::vector(|k| number(&self.derivatives[0][3 * sink + k]));
        (number(&self.potentials[sink]), acceleration)
    }
}

fn put<const N: usize>(array: &[AtomicU64], row: usize, numbers: [f64; N]) {
    let places = &array[N * row..][..N];
    places.iter().zip(numbers).for_each(|(place, number)| place.store(number.to_bits(), Ordering::Relaxed));
}
