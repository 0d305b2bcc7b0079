//! Checks of the sources and sinks that a caller gives.

use kyoho_core::forces::are_finite;
use kyoho_core::records::Numbers;
use kyoho_core::sinks::{NumberedSinks, SinkScan};
use kyoho_core::{Error, Interaction, MAX_COEFFICIENTS, Result, Sink, Sinks, Source};

use super::{System, sinks};

impl System {
    /// Whether a source of at most four coefficients is good, by the bits of its numbers.
    #[inline(always)]
    pub(super) fn are_good_numbers(&self, address: usize, numbers: Numbers) -> bool {
        const ONE: u64 = 1 << 52;
        let largest = self.interaction.bounds;
        let within = |bits: u64, largest: f64| bits << 1 <= largest.to_bits() << 1;
        let [_, mass, x, y, z, ..] = numbers;
        // The highest exponent carries into the sign's bit when one is added to it.
        let carried = numbers.into_iter().fold(0, |all, bits| all | ((bits & !(1 << 63)) + ONE));
        (self.interaction.n_coefficients <= 4)
            & (address <= i32::MAX as usize)
            & (carried >> 63 == 0)
            & within(x, largest.position)
            & within(y, largest.position)
            & within(z, largest.position)
            & within(mass, largest.mass)
    }

    /// Copies `count` sinks, each made from its number, and fails at the first that a block may not
    /// have.
    pub fn copy_sinks(&self, into: &mut Sinks, count: usize, given: &impl NumberedSinks) -> Result<SinkScan> {
        let scan = sinks::make(into, count, given, &self.interaction, &self.threads)?;
        if !scan.good {
            check_sinks(&self.interaction, into)?;
        }
        Ok(scan)
    }

    /// Fails unless [`System::set_source`] would take a source at an address: every number has to
    /// be finite and in the precision's range.
    pub fn check_source(&self, address: usize, source: &Source) -> Result<()> {
        if address > i32::MAX as usize {
            return Err(Error::BadAddress { address: address.min(i64::MAX as usize) as i64 });
        }
        check_numbers(&self.interaction, source, |what| format!("{what} of the source at address {address}"))
    }
}

/// Whether a source is good, by the bits of its numbers.
#[inline]
pub(super) fn is_good_source(interaction: &Interaction, source: &Source) -> bool {
    let largest = interaction.bounds;
    let within = |value: f64, largest: f64| value.to_bits() << 1 <= largest.to_bits() << 1;
    let [x, y, z] = source.coefficients[0];
    let coefficients = source.coefficients[..interaction.n_coefficients].as_flattened();
    within(x, largest.position)
        & within(y, largest.position)
        & within(z, largest.position)
        & within(source.mass, largest.mass)
        & are_finite(coefficients)
        & source.time.is_finite()
}

/// The names of the position and its derivatives.
const DERIVATIVES: [&str; MAX_COEFFICIENTS] = [
    "the position",
    "the velocity",
    "the acceleration",
    "the jerk",
    "the snap",
    "the crackle",
    "the sixth derivative",
    "the seventh derivative",
];

/// Fails unless every number of a source is finite and in the precision's range. `name` says
/// whose a quantity is.
pub(super) fn check_numbers(interaction: &Interaction, source: &Source, name: impl Fn(&str) -> String) -> Result<()> {
    let finite = |what: &str, value: f64| {
        if value.is_finite() { Ok(()) } else { Err(Error::NotFinite { what: name(what), value }) }
    };
    let within = |what: &str, value: f64, largest: f64| {
        if value.abs() <= largest { Ok(()) } else { Err(too_large(interaction, name(what), value, largest)) }
    };
    let coefficients = &source.coefficients[..interaction.n_coefficients];
    let largest = interaction.bounds;
    finite("the mass", source.mass)?;
    finite("the time", source.time)?;
    for (what, coefficient) in DERIVATIVES.iter().zip(coefficients) {
        coefficient.iter().try_for_each(|value| finite(what, *value))?;
    }
    source.coefficients[0].iter().try_for_each(|value| within("the position", *value, largest.position))?;
    within("the mass", source.mass, largest.mass)
}

/// Fails unless a call of interaction lists may have this source, or one of a batch this body.
pub(super) fn check_listed_source(
    interaction: &Interaction,
    (is_batch, number): (bool, usize),
    source: &Source,
) -> Result<()> {
    check_numbers(interaction, source, |what| {
        if is_batch { format!("{what} of body {number}") } else { format!("{what} of source {number} of the lists") }
    })
}

/// Fails unless a call of interaction lists may have this sink, or one of a batch this body.
pub(super) fn check_listed_sink(
    interaction: &Interaction,
    (is_batch, number): (bool, usize),
    sink: &Sink,
) -> Result<()> {
    check_sink(interaction, (if is_batch { "body" } else { "sink" }, number), sink)
}

/// Fails at the first sink that a block may not have.
pub(super) fn check_sinks(interaction: &Interaction, sinks: &Sinks) -> Result<()> {
    let mut all = sinks.all().iter().enumerate();
    all.try_for_each(|(number, sink)| check_sink(interaction, ("sink", number), &sink))
}

/// Fails unless a block may have this sink. `whose` says what sinks are to the caller.
pub(super) fn check_sink(interaction: &Interaction, (whose, number): (&str, usize), sink: &Sink) -> Result<()> {
    let name = |what: &str| format!("{what} of {whose} {number}");
    for (what, vector) in DERIVATIVES.iter().zip(&sink.derivatives[..interaction.n_derivatives]) {
        if let Some(value) = vector.iter().find(|value| !value.is_finite()) {
            return Err(Error::NotFinite { what: name(what), value: *value });
        }
    }
    if interaction.is_regular() && !sink.step.is_finite() {
        return Err(Error::NotFinite { what: name("the step"), value: sink.step });
    }
    let largest = interaction.bounds.position;
    if let Some(value) = sink.derivatives[0].iter().find(|value| value.abs() > largest) {
        return Err(too_large(interaction, name("the position"), *value, largest));
    }
    check_softening2(interaction, || name("the squared softening"), sink.softening2)?;
    if !sink.radius2.is_finite() {
        return Err(Error::NotFinite { what: name("the squared radius"), value: sink.radius2 });
    }
    Ok(())
}

/// Fails unless a body may have this squared softening, whose name is made where it is wrong.
pub(super) fn check_softening2(interaction: &Interaction, name: impl Fn() -> String, value: f64) -> Result<()> {
    let largest = interaction.bounds.position * interaction.bounds.position;
    if !value.is_finite() {
        return Err(Error::NotFinite { what: name(), value });
    }
    if (0.0..=largest).contains(&value) {
        return Ok(());
    }
    let (precision, allowed) = (interaction.precision.name(), format!("0 to {largest:e}"));
    Err(Error::OutOfRange { what: name(), value, precision, allowed })
}

fn too_large(interaction: &Interaction, what: String, value: f64, largest: f64) -> Error {
    Error::OutOfRange {
        what,
        value,
        precision: interaction.precision.name(),
        allowed: format!("magnitudes up to {largest:e}"),
    }
}
