//! Sources, sinks and forces in numbers of two doubles, of systems in [`Precision::Quad`].
//!
//! The calls with plain doubles serve such systems too: they give numbers without a low limb, and
//! get the nearest doubles.
//!
//! [`Precision::Quad`]: kyoho_core::Precision::Quad

use kyoho_core::sources::padded;
use kyoho_core::{
    Error, Forces, MAX_COEFFICIENTS, MAX_DERIVATIVES, Nearest, Result, Sink, Sinks, Source, Supplement, memory,
};
use kyoho_laws::double_double::{Double, DoubleDouble, two_sum};
use kyoho_laws::simd::predict;

use super::{SinkPlace, System};

/// A source in numbers of two doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuadSource {
    /// The caller's name for it; sinks with the same index do not feel it.
    pub index: i32,
    /// The mass.
    pub mass: DoubleDouble,
    /// The time to which position, velocity, ... belong.
    pub time: DoubleDouble,
    /// The squared softening length, where sources have softenings.
    pub softening2: DoubleDouble,
    /// The position and its derivatives: velocity, acceleration, jerk, ..., none of them divided.
    pub derivatives: [[DoubleDouble; 3]; MAX_COEFFICIENTS],
}

/// A sink in numbers of two doubles. The fields are those of [`Sink`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuadSink {
    /// See [`Sink::index`].
    pub index: i32,
    /// See [`Sink::softening2`].
    pub softening2: DoubleDouble,
    /// See [`Sink::radius2`].
    pub radius2: DoubleDouble,
    /// See [`Sink::derivatives`].
    pub derivatives: [[DoubleDouble; 3]; MAX_DERIVATIVES],
}

/// The force on a sink in numbers of two doubles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuadForce {
    /// The potential.
    pub potential: DoubleDouble,
    /// Acceleration, jerk, snap and crackle; zero where the order has none.
    pub derivatives: [[DoubleDouble; 3]; MAX_DERIVATIVES],
    /// The squared distance of the nearest source and its index, if the order finds one.
    pub nearest: Option<(DoubleDouble, i32)>,
}

/// Returns the numbers of the same value whose high limb is the nearest double, by limbs.
fn by_limbs<const N: usize, const M: usize>(numbers: [[DoubleDouble; N]; M]) -> [[[f64; N]; M]; 2] {
    let split = numbers.map(|vector| vector.map(|DoubleDouble { high, low }| two_sum(high, low)));
    [split.map(|vector| vector.map(|number| number.high)), split.map(|vector| vector.map(|number| number.low))]
}

impl QuadSource {
    /// Makes a source without softening from plain doubles: its derivatives are not divided. Those
    /// that are not given are zero.
    pub fn from_derivatives<const N: usize>(
        index: i32,
        mass: DoubleDouble,
        time: f64,
        derivatives: [[f64; 3]; N],
    ) -> QuadSource {
        let derivatives: [[f64; 3]; MAX_COEFFICIENTS] = padded(derivatives);
        let derivatives = derivatives.map(|vector| vector.map(Double::from_limb));
        QuadSource { index, mass, time: Double::from_limb(time), softening2: Double::ZERO, derivatives }
    }

    /// Returns the high limbs of the numbers that a system keeps of it, and what it has beside them.
    pub fn split(&self) -> (Source, Supplement) {
        let mut factorial = 1.0;
        let mut coefficients = self.derivatives;
        for (k, coefficient) in coefficients.iter_mut().enumerate().skip(2) {
            factorial *= k as f64;
            *coefficient = coefficient.map(|component| component / Double::from_limb(factorial));
        }
        let [high, low] = by_limbs(coefficients);
        let [[[mass, time, softening2]], [[low_mass, low_time, low_softening2]]] =
            by_limbs([[self.mass, self.time, self.softening2]]);
        let of = |mass, time, coefficients| Source { index: self.index, mass, time, coefficients };
        let low = of(low_mass, low_time, low);
        (of(mass, time, high), Supplement { low, softening2: [softening2, low_softening2] })
    }
}

impl QuadSink {
    /// Returns the high and the low limbs of its numbers.
    fn split(&self) -> (Sink, Sink) {
        let [high, low] = by_limbs(self.derivatives);
        let [[[softening2, radius2]], [[low_softening2, low_radius2]]] = by_limbs([[self.softening2, self.radius2]]);
        let of =
            |softening2, radius2, derivatives| Sink { index: self.index, softening2, radius2, step: 0.0, derivatives };
        (of(softening2, radius2, high), of(low_softening2, low_radius2, low))
    }
}

impl System {
    /// Writes a source in numbers of two doubles as [`System::set_source`] does. The system has to
    /// be of precision `quad`.
    pub fn set_quad_source(&mut self, address: usize, source: &QuadSource) -> Result<()> {
        self.require_quad()?;
        let (source, supplement) = source.split();
        self.write_checked(address, &source, &supplement)
    }

    /// Writes a source with what it has beside its record, if it is good.
    pub(super) fn write_checked(&mut self, address: usize, source: &Source, supplement: &Supplement) -> Result<()> {
        self.check_source(address, source)?;
        self.check_softening_of_source(address, supplement.softening2[0])?;
        if supplement.softening2[0] != 0.0 && !self.has_softenings() {
            let when = "with a softening in a system that is not prepared for such";
            return Err(Error::CallOrder { call: "the write of a source", when });
        }
        self.write(address, source, supplement)?;
        self.end = self.end.max(address + 1);
        self.statistics.writes += 1;
        Ok(())
    }

    /// Writes the sources at some addresses of another system of this interaction as that one has
    /// them, with all their digits. Addresses without a source are left out.
    pub fn take_sources_of(&mut self, other: &mut System, addresses: &[usize]) -> Result<()> {
        other.fetch_sources()?;
        let sources = other.journal.each(addresses.iter().copied(), |source, supplement| (source, supplement))?;
        for (address, source) in addresses.iter().zip(sources) {
            match source {
                Some((source, supplement)) if self.interaction.has_low_limbs() => {
                    self.write_checked(*address, &source, &supplement)?;
                }
                Some((source, _)) => self.set_source(*address, &source)?,
                None => (),
            }
        }
        Ok(())
    }

    /// Fails unless [`System::set_quad_source`] would take a source at an address.
    pub fn check_quad_source(&self, address: usize, source: &QuadSource) -> Result<()> {
        self.require_quad()?;
        let (source, supplement) = source.split();
        self.check_source(address, &source)?;
        self.check_softening_of_source(address, supplement.softening2[0])
    }

    /// Sets the time as [`System::set_time`] does, in two doubles.
    pub fn set_quad_time(&mut self, time: DoubleDouble) -> Result<()> {
        self.require_quad()?;
        let Double { high, low } = two_sum(time.high, time.low);
        self.set_time(high)?;
        self.low_time = low;
        Ok(())
    }

    /// Begins the forces on sinks in numbers of two doubles as [`System::start`] does.
    pub fn start_quad(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        sinks: impl IntoIterator<Item = QuadSink>,
    ) -> Result<()> {
        self.require_quad()?;
        self.require_no_block("start")?;
        let mut lows = Sinks::default();
        let mut all = Vec::new();
        for sink in sinks {
            memory::push(&mut all, sink.split(), "sinks")?;
        }
        lows.collect(all.iter().map(|(_, low)| *low), &self.interaction)?;
        let scan = self.candidates.collect(all.iter().map(|(high, _)| *high), &self.interaction)?;
        self.low_candidates = lows;
        let begun = self.start_candidates(nj, skip_own_index, scan, SinkPlace::Host);
        self.low_candidates = Sinks::default();
        begun
    }

    /// Returns the derivatives of sources as [`System::predicted`] does, in numbers of two doubles.
    pub fn quad_predicted(
        &mut self,
        addresses: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Option<[[DoubleDouble; 3]; MAX_DERIVATIVES]>>> {
        self.require_quad()?;
        let (interaction, predicts) = (self.interaction.clone(), self.predicts);
        let time = Double { high: self.time, low: self.low_time };
        self.journal.each(addresses, |source, Supplement { low, .. }| {
            let written = Double { high: source.time, low: low.time };
            let dt = if predicts { time - written } else { Double::ZERO };
            predict::derivatives_in_limbs(&source, &low, &interaction, dt)
        })
    }

    fn require_quad(&self) -> Result<()> {
        if self.interaction.has_low_limbs() {
            return Ok(());
        }
        Err(Error::Unsupported {
            backend: self.setup().backend.name(),
            forces: format!("numbers of two doubles in {}", self.interaction.name()),
            allowed: "precision quad".into(),
        })
    }
}

impl QuadForce {
    /// Returns the force on a sink of a block of precision `quad` in numbers of two doubles; in
    /// other precisions low limbs are zero.
    #[inline]
    pub fn of(forces: &Forces, sink: usize) -> QuadForce {
        let n_outputs = forces.interaction.n_outputs;
        let low = |place: usize| forces.low_row(sink).get(place).copied().unwrap_or(0.0);
        let high = [forces.acceleration(sink), forces.jerk(sink), forces.snap(sink), forces.crackle(sink)];
        let limb = |k: usize, c: usize| if 1 + 3 * k < n_outputs { low(1 + 3 * k + c) } else { 0.0 };
        let number = |k: usize, c: usize| Double { high: high[k][c], low: limb(k, c) };
        QuadForce {
            potential: Double { high: forces.potential(sink), low: low(0) },
            derivatives: std::array::from_fn(|k| std::array::from_fn(|c| number(k, c))),
            nearest: forces
                .nearest(sink)
                .map(|Nearest { distance2, index, .. }| (Double { high: distance2, low: low(n_outputs) }, index)),
        }
    }
}
