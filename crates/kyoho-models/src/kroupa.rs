//! The initial mass function of Kroupa (2001, MNRAS 322, 231).

use kyoho_core::Result;
use kyoho_core::error::shown;
use kyoho_integrators::unit_systems::UnitSystem;

use crate::random::Random;
use crate::text::Word;

/// The lower ends of the segments in solar masses, and the negative exponents of the numbers of stars
/// per mass there.
const SEGMENTS: [(f64, f64); 4] = [(0.01, 0.3), (0.08, 1.3), (0.5, 2.3), (1.0, 2.3)];

/// The largest mass that a limit may be.
const MOST: f64 = 1000.0;

/// The limits of masses in solar masses where nothing else is said.
pub const USUAL: [f64; 2] = [0.08, 100.0];

/// The mass function between two limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Kroupa {
    least: f64,
    most: f64,
    /// The share of stars below the lower end of each segment.
    below: [f64; SEGMENTS.len()],
    /// The share of stars of each segment.
    share: [f64; SEGMENTS.len()],
}

impl Kroupa {
    /// Returns the mass function of a word with the limits `least` and `most` in solar masses, which may
    /// have other units.
    pub(crate) fn parse(word: &Word) -> Result<Kroupa> {
        let solar = UnitSystem::parse("pc Msun Myr")?;
        let mass = Some(kyoho_integrators::unit_systems::Kind::Mass);
        let [least, most] = word.numbers([("least", mass), ("most", mass)], Some(&solar))?;
        let [least, most] = [least.unwrap_or(USUAL[0]), most.unwrap_or(USUAL[1])];
        let range = format!("{} to {} solar masses", SEGMENTS[0].0, MOST);
        if !(SEGMENTS[0].0..=MOST).contains(&least) {
            return Err(word.wrong("least", shown(least), range));
        }
        if !(least < most && most <= MOST) {
            return Err(word.wrong("most", shown(most), format!("above least, which is {}, to {MOST}", shown(least))));
        }
        Ok(Kroupa::new(least, most))
    }

    /// Returns the mass function between two limits in solar masses, of which the first is the smaller.
    pub fn new(least: f64, most: f64) -> Kroupa {
        let mut share = [0.0; SEGMENTS.len()];
        let mut factor = 1.0;
        for (place, (start, exponent)) in SEGMENTS.into_iter().enumerate() {
            if place > 0 {
                // The function is continuous.
                factor *= start.powf(exponent - SEGMENTS[place - 1].1);
            }
            let (low, high) = (start.max(least), end(place).min(most));
            if low < high {
                let power = 1.0 - exponent;
                share[place] = factor * (high.powf(power) - low.powf(power)) / power;
            }
        }
        let all: f64 = share.iter().sum();
        let mut below = [0.0; SEGMENTS.len()];
        for place in 0..share.len() {
            share[place] /= all;
            below[place] = share[..place].iter().sum();
        }
        Kroupa { least, most, below, share }
    }

    /// Draws a mass in solar masses.
    pub fn draw(&self, random: &mut Random) -> f64 {
        self.mass(random.uniform())
    }

    /// Returns the mass in solar masses below which a part of the stars is.
    pub fn mass(&self, part: f64) -> f64 {
        let segments = 0..SEGMENTS.len();
        let has = |place: &usize| self.share[*place] > 0.0 && self.below[*place] <= part;
        // Between limits as near as rounding there is no share to draw from.
        let Some(place) = segments.rev().find(has) else { return self.least };
        let (start, exponent) = SEGMENTS[place];
        let (low, high, power) = (start.max(self.least), end(place).min(self.most), 1.0 - exponent);
        let within = (part - self.below[place]) / self.share[place];
        let ends = [low.powf(power), high.powf(power)];
        (ends[0] + within * (ends[1] - ends[0])).powf(1.0 / power).clamp(low, high)
    }
}

/// Returns the upper end of a segment.
fn end(place: usize) -> f64 {
    SEGMENTS.get(place + 1).map_or(f64::INFINITY, |next| next.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of stars between masses give the exponents: in each segment the logarithm of the number
    /// per mass falls by the exponent.
    #[test]
    fn counts_have_the_slopes_of_the_segments() {
        let n = 200_000;
        let mut random = Random(3);
        let kroupa = Kroupa::new(0.01, 100.0);
        let masses: Vec<f64> = (0..n).map(|_| kroupa.draw(&mut random)).collect();
        assert!(masses.iter().all(|mass| (0.01..=100.0).contains(mass)));
        let count = |low: f64, high: f64| {
            let count = masses.iter().filter(|mass| (low..high).contains(*mass)).count() as f64;
            (count / (high - low), 1.0 / count)
        };
        for (ends, exponent) in
            [([0.01, 0.08], 0.3), ([0.08, 0.5], 1.3), ([0.5, 1.0], 2.3), ([1.0, 4.0], 2.3), ([2.0, 32.0], 2.3)]
        {
            let [low, high]: [f64; 2] = ends;
            let middle = (low * high).sqrt();
            let ((first, one), (second, other)) = (count(low, middle), count(middle, high));
            // For equal logarithmic widths the ratio of densities is that of the middles.
            let found = -(second / first).ln() / (middle / low).ln();
            let deviation = 4.0 * (one + other).sqrt() / (middle / low).ln();
            assert!((found - exponent).abs() < deviation, "{ends:?}: {found} in place of {exponent}, {deviation}");
        }
        // The function is continuous where segments meet.
        for end in [0.08, 0.5, 1.0] {
            let ((below, one), (above, other)) = (count(0.9 * end, end), count(end, 1.1 * end));
            assert!((above / below - 0.87).abs() < 0.13 + 4.0 * (one + other).sqrt(), "{end}: {below} {above}");
        }
    }

    #[test]
    fn masses_are_the_inverse_of_the_integral() {
        for (least, most) in [(0.08, 100.0), (0.01, 0.05), (0.3, 0.7), (0.5, 1.0), (2.0, 8.0), (0.02, 1000.0)] {
            let kroupa = Kroupa::new(least, most);
            assert!((kroupa.mass(0.0) / least - 1.0).abs() < 1e-12 && (kroupa.mass(1.0) / most - 1.0).abs() < 1e-9);
            // The derivative of the part by the mass is the density, which has the slopes.
            for part in [0.1, 0.4, 0.8, 0.95] {
                let density = |part: f64| 2e-6 / (kroupa.mass(part + 1e-6) - kroupa.mass(part - 1e-6));
                let (one, other) = (part, part + 2e-3);
                let (low, high) = (kroupa.mass(one), kroupa.mass(other));
                let place = SEGMENTS.iter().rposition(|(start, _)| *start <= low).unwrap();
                if high < end(place) {
                    let slope = (density(other) / density(one)).ln() / (high / low).ln();
                    assert!((slope + SEGMENTS[place].1).abs() < 0.02, "{least} {most} {part}: {slope}");
                }
            }
        }
        // Limits may be next to one another.
        for least in [0.01, 0.08, 0.3, 0.5, 1.0, 999.0f64] {
            let most = least.next_up();
            assert!((least..=most).contains(&Kroupa::new(least, most).mass(0.5)), "{least}");
        }
        let half = Kroupa::new(0.08, 100.0).mass(0.5);
        assert!((0.15..0.25).contains(&half), "{half}");
    }
}
