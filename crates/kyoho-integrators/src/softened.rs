//! Gravity between bodies each of which has a softening: a text of the language of pairs, with the
//! softenings of sinks and of sources, summed in double precision.

use std::sync::Arc;

use kyoho_core::forces::check_finite;
use kyoho_core::{Forces, Interaction, Result, Sink, Source, Sums, memory};
use kyoho_engine::Setup;
use kyoho_language::Options;
use kyoho_language::blocks::Bits;
use kyoho_language::gravity::gravity_with_softenings;
use kyoho_language::number::Number;
use kyoho_language::syntax::Side;
use kyoho_pairs::{PairKernel, PairMachine, take_gravity};

use super::body::Body;

const WHAT: &str = "the sources of softened gravity";

/// A body that acts: its number among all, as it was at a time, and its softening.
#[derive(Debug, Clone, Copy)]
pub struct SoftenedBody<'a> {
    /// Its number.
    pub number: usize,
    /// The body.
    pub body: &'a Body,
    /// The time.
    pub time: f64,
    /// Its softening length.
    pub softening: f64,
}

/// Some sources with their softenings, and the sums of their forces.
pub struct SoftenedGravity {
    kernel: PairKernel,
    interaction: Arc<Interaction>,
    sources: usize,
    sums: Sums,
    interactions: u64,
}

/// Returns the machine of a system, for texts of pairs.
pub fn machine(setup: &Setup) -> PairMachine {
    let Setup { backend, threads, level, fall_back: falls_back, .. } = *setup;
    PairMachine { backend, devices: setup.devices.clone(), threads, level, falls_back }
}

impl SoftenedGravity {
    /// Makes what sums these forces, of an order and a precision, on the machine of a system.
    pub fn new(interaction: &Arc<Interaction>, setup: &Setup) -> Result<SoftenedGravity> {
        let options = Options { in_double_double: interaction.has_low_limbs(), plain: false };
        let kernel = PairKernel::new(&gravity_with_softenings(interaction)?, options, &machine(setup))?;
        let interaction = interaction.clone();
        Ok(SoftenedGravity { kernel, interaction, sources: 0, sums: Sums::default(), interactions: 0 })
    }

    /// Returns the pairs that were summed.
    pub fn interactions(&self) -> u64 {
        self.interactions
    }

    /// Writes sources, of which there are `count` in all, to rows that rise.
    pub fn write<'a>(
        &mut self,
        gravity: f64,
        count: usize,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
        source: impl Fn(usize) -> SoftenedBody<'a>,
    ) -> Result<()> {
        let Interaction { order, n_coefficients, .. } = *self.interaction;
        let with_low = self.interaction.has_low_limbs();
        for (row, place) in rows.clone().enumerate() {
            let SoftenedBody { number, body, time, softening } = source(row);
            let (high, low) = match with_low {
                true => body.quad_source(number, gravity, time).split(),
                false => (body.source(order, number, gravity, time), Source::default()),
            };
            for k in 0..n_coefficients {
                let columns = self.kernel.field_mut(Side::J, k, count)?;
                for component in 0..3 {
                    columns.set(
                        place,
                        component,
                        bits(high.coefficients[k][component], low.coefficients[k][component]),
                    );
                }
            }
            let mut set = |field: usize, of: Bits| -> Result<()> {
                self.kernel.field_mut(Side::J, n_coefficients + field, count)?.set(place, 0, of);
                Ok(())
            };
            set(0, bits(high.mass, low.mass))?;
            set(1, bits_of_index(high.index))?;
            set(2, bits(high.time, low.time))?;
            set(3, bits(half_square(softening), 0.0))?;
        }
        let is_all = rows.len() == count || self.sources != count;
        let changed = if is_all { None } else { Some(memory::collected(rows.map(|row| row as u32), WHAT)?) };
        self.kernel.note_changes(Side::J, changed);
        self.sources = count;
        Ok(())
    }

    /// Sums the forces at a time on so many sinks, each with its softening length.
    pub fn sum(&mut self, time: f64, sinks: usize, sink: impl Fn(usize) -> (Sink, f64)) -> Result<Forces<'_>> {
        let interaction = &*self.interaction;
        let (n_derivatives, n_sums) = (interaction.n_derivatives, interaction.n_sums());
        self.sums.reserve(sinks, n_sums, interaction.nearest)?;
        self.sums.reset(sinks, n_sums, interaction.nearest);
        if sinks > 0 && self.sources > 0 {
            for row in 0..sinks {
                let (Sink { index, derivatives, .. }, softening) = sink(row);
                for (k, vector) in derivatives.iter().enumerate().take(n_derivatives) {
                    let columns = self.kernel.field_mut(Side::I, k, sinks)?;
                    vector.iter().enumerate().for_each(|(component, number)| {
                        columns.set(row, component, bits(*number, 0.0));
                    });
                }
                self.kernel.field_mut(Side::I, n_derivatives, sinks)?.set(row, 0, bits_of_index(index));
                let softening2 = bits(half_square(softening), 0.0);
                self.kernel.field_mut(Side::I, n_derivatives + 1, sinks)?.set(row, 0, softening2);
            }
            self.kernel.note_changes(Side::I, None);
            self.kernel.set_parameter("now", &[Number::F64(time)])?;
            self.kernel.run(Some(sinks), Some(self.sources))?;
            self.kernel.fetch_results()?;
            take_gravity(&self.kernel, interaction, (&mut self.sums.values, &mut self.sums.nearest))?;
            self.interactions += (sinks * self.sources) as u64;
            check_finite(&self.sums, 0..sinks, interaction)?;
        }
        Ok(Forces::of(&self.sums, 0..sinks, interaction))
    }
}

/// Half of the square of a softening, of which a pair has those of both bodies.
fn half_square(softening: f64) -> f64 {
    0.5 * softening * softening
}

fn bits(high: f64, low: f64) -> Bits {
    [high.to_bits(), low.to_bits()]
}

fn bits_of_index(index: i32) -> Bits {
    [u64::from(index.cast_unsigned()), 0]
}
