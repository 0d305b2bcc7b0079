//! The units that pairs are computed in. They are powers of two of the caller's, so that masses,
//! distances and speeds lie in the middle of the range of single precision too, whatever the caller
//! measures them in. A power of two changes no digit.

use super::{Bounds, MAX_DERIVATIVES, Result, memory};

/// The binary exponents of the powers of two that numbers of pairs are multiplied with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Units {
    /// The exponent for masses.
    pub mass: i32,
    /// The exponent for lengths.
    pub length: i32,
    /// The exponent for speeds. That for times is the one for lengths less this.
    pub speed: i32,
}

impl Units {
    /// The caller's own units.
    pub const CALLERS: Units = Units { mass: 0, length: 0, speed: 0 };

    /// Returns the factor of masses.
    #[inline]
    pub fn mass_factor(self) -> f64 {
        power(self.mass)
    }

    /// Returns the factor of squared distances.
    #[inline]
    pub fn distance2_factor(self) -> f64 {
        power(2 * self.length)
    }

    /// Returns the factor of times.
    #[inline]
    pub fn time_factor(self) -> f64 {
        power(-self.rate())
    }

    /// Returns the factor of positions or of their first three derivatives: velocities,
    /// accelerations and jerks.
    #[inline]
    pub fn derivative_factor(self, derivative: usize) -> f64 {
        power(self.length + derivative as i32 * self.rate())
    }

    /// Returns the factor that brings a summed potential back to the caller's units.
    #[inline]
    pub fn potential_unit(self) -> f64 {
        power(self.length - self.mass)
    }

    /// Returns the factor that brings a summed acceleration, or one of its first three derivatives
    /// (jerk, snap and crackle), back to the caller's units.
    #[inline]
    pub fn acceleration_unit(self, derivative: usize) -> f64 {
        power(2 * self.length - self.mass - derivative as i32 * self.rate())
    }

    /// Returns the factor that brings a summed number back to the caller's units. The numbers are
    /// the potential, then the components of acceleration, jerk, ...
    #[inline]
    pub fn sum_unit(self, output: usize) -> f64 {
        match output {
            0 => self.potential_unit(),
            _ => self.acceleration_unit((output - 1) / 3),
        }
    }

    /// Returns the factor that brings a squared distance of a pair back to the caller's units.
    #[inline]
    pub fn distance2_unit(self) -> f64 {
        power(-2 * self.length)
    }

    #[inline]
    fn rate(self) -> i32 {
        self.speed - self.length
    }
}

/// Returns a power of two; exponents beyond the normal numbers are clamped.
#[inline]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// The number of binary exponents that count as one size. A census of sizes changes only where a
/// source leaves its size.
pub const WIDTH: i32 = 4;
/// The number of sizes that doubles have. The first is that of zero.
pub const SIZES: usize = (2048 / WIDTH) as usize;
/// Of this many sources one may be larger than those that units are chosen for, so that a body that
/// escapes, or that was lost, does not take digits from all others.
const OUTER: u32 = 8;
/// A sink that is at most this many binary exponents farther out than the sources has their units.
pub const REACH: i32 = 12;
/// Sinks farther out than that make the unit of length longer by this many binary exponents at
/// most. So a star that rounding has moved from the origin is felt by its planets, and beside a
/// sink that was lost most others keep their forces.
pub const MOST_RAISED: i32 = 44;
/// The largest magnitude of the exponents for lengths and rates; [`HEAVIEST`] is that for masses.
/// Within these all factors are normal numbers, so that sums are brought back exactly.
pub const LONGEST: i32 = 250;
/// See [`LONGEST`].
pub const HEAVIEST: i32 = 1000;

/// Returns the size of the largest of some numbers, from the bits of their magnitudes.
#[inline]
fn size_of_largest(numbers: &[f64]) -> u16 {
    let largest = numbers.iter().fold(0, |largest, number| largest.max(number.abs().to_bits()));
    (largest >> 52) as u16 / WIDTH as u16
}

/// Returns the lowest binary exponent of numbers of a size, if it is not that of zero.
#[inline]
fn exponent(size: u16) -> Option<i32> {
    (size > 0).then(|| i32::from(size) * WIDTH - 1023)
}

/// The sizes of a source: of its mass, its position, its velocity and its acceleration.
pub type Sizes = [u16; 1 + COUNTED];
/// The number of derivatives of a position that units depend on. No order with pairs in single
/// precision needs more.
const COUNTED: usize = 3;

/// The number of sources of each size, and the largest sizes.
#[derive(Default)]
pub struct Census {
    /// For each size, the numbers of sources whose mass, position, ... have it. Empty as long as
    /// there is no source.
    counts: Vec<[u32; 1 + COUNTED]>,
    /// The numbers of sources whose mass, position, ... is not zero.
    totals: [u32; 1 + COUNTED],
    largest: Sizes,
}

impl Census {
    /// Allocates the memory in which sources are counted.
    #[inline]
    pub fn make_room(&mut self) -> Result<()> {
        memory::lengthen(&mut self.counts, SIZES, "the sizes of sources", Default::default)
    }

    /// Makes the census of sources that a device has counted: for each size, how many masses,
    /// positions, velocities and accelerations have it.
    #[inline]
    pub fn of_counts(mut counts: Vec<[u32; 1 + COUNTED]>) -> Census {
        // Zeros are not counted.
        if let Some(zeros) = counts.first_mut() {
            *zeros = Default::default();
        }
        let mut census = Census { counts, ..Census::default() };
        for (size, counts) in census.counts.iter().enumerate().skip(1) {
            for quantity in (0..1 + COUNTED).filter(|quantity| counts[*quantity] > 0) {
                census.totals[quantity] += counts[quantity];
                census.largest[quantity] = size as u16;
            }
        }
        census
    }

    /// Returns the bytes in use.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<[u32; 1 + COUNTED]>()
    }

    /// Returns the sizes of a source with this mass and these Taylor coefficients.
    #[inline(always)]
    pub fn sizes_of(mass: f64, coefficients: &[[f64; 3]]) -> Sizes {
        let size = |vector: usize| coefficients.get(vector).map_or(0, |vector| size_of_largest(vector));
        let third = if coefficients.len() > 4 { size(2) } else { 0 };
        [size_of_largest(&[mass]), size(0), size(1), third]
    }

    /// Counts the sizes that a source has now in the place of those that it had. Room was made
    /// before.
    #[inline(always)]
    pub fn count(&mut self, sizes: &mut Sizes, now: Sizes) {
        if *sizes != now {
            self.replace(*sizes, now);
            *sizes = now;
        }
    }

    /// Counts sizes in the place of others. A place without a source has sizes of zero, which are
    /// not counted.
    #[cold]
    #[inline]
    fn replace(&mut self, before: Sizes, now: Sizes) {
        for quantity in 0..1 + COUNTED {
            let (counts, largest) = (&mut self.counts, &mut self.largest[quantity]);
            self.totals[quantity] += u32::from(now[quantity] > 0);
            self.totals[quantity] -= u32::from(before[quantity] > 0);
            if before[quantity] > 0 {
                counts[usize::from(before[quantity])][quantity] -= 1;
            }
            if now[quantity] > 0 {
                counts[usize::from(now[quantity])][quantity] += 1;
            }
            *largest = now[quantity].max(*largest);
            while *largest > 0 && counts[usize::from(*largest)][quantity] == 0 {
                *largest -= 1;
            }
        }
    }

    /// Returns the binary exponent of the size of a quantity that all but one in [`OUTER`] sources
    /// do not exceed, if some are not zero.
    #[inline]
    fn typical(&self, quantity: usize) -> Option<i32> {
        let mut larger = self.totals[quantity] / OUTER;
        let mut size = self.largest[quantity];
        while size > 0 && self.counts[usize::from(size)][quantity] <= larger {
            larger -= self.counts[usize::from(size)][quantity];
            size -= 1;
        }
        exponent(size)
    }

    /// Returns the least number of the size of the largest component of all positions.
    #[inline]
    pub fn size_of_positions(&self) -> f64 {
        exponent(self.largest[1]).map_or(0.0, power)
    }

    /// Returns the units for pairs of these sources and of sinks whose vectors have these largest
    /// components. They bring the coordinates of all sources but the outermost, or of sinks that
    /// are much farther out, to 1, the speeds too (if nothing moves, the accelerations), and the
    /// largest mass to where the catalogue wants it.
    #[inline]
    pub fn units(&self, sinks: &[f64; MAX_DERIVATIVES], bounds: &Bounds, n_derivatives: usize) -> Units {
        let of_sinks = |derivative: usize| exponent(size_of_largest(&[sinks[derivative]]));
        let raised = of_sinks(0).map(|exponent| exponent - REACH);
        let far = raised_by(self.typical(1), raised);
        let fast = |derivative: usize| self.typical(1 + derivative).or(of_sinks(derivative));
        Units::chosen(exponent(self.largest[0]), far, fast, bounds, n_derivatives)
    }
}

/// Returns the binary exponent of the unit of length for sources at a distance, raised by sinks
/// that are much farther out.
#[inline]
fn raised_by(sources: Option<i32>, sinks: Option<i32>) -> i32 {
    match sources {
        Some(far) => sinks.map_or(far, |raised| raised.clamp(far, far + MOST_RAISED)),
        None => sinks.unwrap_or(0),
    }
}

impl Units {
    /// Returns the units for pairs of some sources, whose masses and vectors have these largest
    /// magnitudes, and of some sinks, whose vectors have those.
    #[inline]
    pub fn of_group(
        mass: f64,
        sources: &[f64; MAX_DERIVATIVES],
        sinks: &[f64; MAX_DERIVATIVES],
        bounds: &Bounds,
        n_derivatives: usize,
    ) -> Units {
        let size = |value: f64| exponent(size_of_largest(&[value]));
        let far = raised_by(size(sources[0]), size(sinks[0]).map(|exponent| exponent - REACH));
        let fast = |derivative: usize| size(sources[derivative]).or(size(sinks[derivative]));
        Units::chosen(size(mass), far, fast, bounds, n_derivatives)
    }

    /// Returns the units in which a coordinate with the binary exponent `far` is about 1, and so
    /// are the first derivatives that are not zero, whose exponents `fast` returns.
    #[inline]
    fn chosen(
        heaviest: Option<i32>,
        far: i32,
        fast: impl Fn(usize) -> Option<i32>,
        bounds: &Bounds,
        n_derivatives: usize,
    ) -> Units {
        let mut units = Units::CALLERS;
        if bounds.scales_lengths {
            units.length = (-far).clamp(-LONGEST, LONGEST);
            units.speed = units.length;
            for derivative in 1..n_derivatives.min(COUNTED) {
                if let Some(fast) = fast(derivative) {
                    let rate = (-fast - units.length).div_euclid(derivative as i32);
                    units.speed = units.length + rate.clamp(-LONGEST, LONGEST);
                    break;
                }
            }
        }
        if let Some(heaviest) = heaviest {
            let weight = heaviest - 3 * (far + units.length);
            let wanted = weight.clamp(bounds.weights.0, bounds.weights.1) - weight;
            let kept = wanted.clamp(bounds.masses.0 - heaviest, bounds.masses.1 - heaviest);
            units.mass = kept.clamp(-HEAVIEST, HEAVIEST);
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn source(mass: f64, x: f64, speed: f64) -> Source {
        Source::from_derivatives(1, mass, 0.0, [[x, 0.0, 0.0], [0.0, -speed, 0.0]])
    }

    /// Returns the census of sources that are written one after another to some places.
    fn census(written: &[(usize, Source)]) -> Census {
        let mut census = Census::default();
        census.make_room().unwrap();
        let mut sizes = [Sizes::default(); 8];
        for (place, source) in written {
            let now = Census::sizes_of(source.mass, &source.coefficients[..4]);
            census.count(&mut sizes[*place], now);
        }
        census
    }

    #[test]
    fn the_largest_mass_coordinate_and_speed_are_brought_to_where_the_catalogue_wants_them() {
        let bounds = &Bounds::SINGLE;
        for [mass, x, speed] in [[1.0, 1.0, 1.0], [2e30, 1.5e11, 3e4], [1e-60, 1e70, 1e9], [1e70, 1e-60, 1e-30]] {
            let small = source(mass * 1e-12, x * 1e-3, speed * 1e-3);
            let units = census(&[(0, source(-mass, -x, speed)), (1, small)]).units(&[0.0; 4], bounds, 2);
            let in_one_size = |value: f64, lowest: i32| (1.0..16.0).contains(&(value * f64::from(-lowest).exp2()));
            assert!(in_one_size(mass * units.mass_factor(), bounds.weights.0), "{mass}: {units:?}");
            assert!(in_one_size(x * units.derivative_factor(0), 0), "{x}: {units:?}");
            assert!(in_one_size(speed * units.derivative_factor(1), 0), "{speed}: {units:?}");
            // The factors of derived quantities follow from these.
            let [length, time] = [units.derivative_factor(0), units.time_factor()];
            assert_eq!(units.derivative_factor(1), length / time);
            assert_eq!(units.potential_unit(), length / units.mass_factor());
            assert_eq!(units.acceleration_unit(0), length * length / units.mass_factor());
            assert_eq!(units.acceleration_unit(1), length * length / units.mass_factor() * time);
            assert_eq!((units.distance2_factor(), units.distance2_unit()), (length * length, 1.0 / (length * length)));
        }
    }

    #[test]
    fn units_are_those_of_the_sources_that_are_there() {
        let bounds = &Bounds::SINGLE;
        let plain = source(1.0, 1.0, 1.0);
        let mut all = [plain; 8];
        let mut written: Vec<(usize, Source)> = (0..8).map(|place| (place, plain)).collect();
        let changes =
            [source(1e30, 1.0, 1.0), source(1.0, 1e20, 1.0), source(1.0, 1.0, 0.0), source(0.0, 0.0, 1e9), plain];
        for (place, change) in changes.iter().cycle().take(20).enumerate() {
            all[place % 3] = *change;
            written.push((place % 3, *change));
            let anew: Vec<(usize, Source)> = all.iter().copied().enumerate().collect();
            let units = census(&written).units(&[0.0; 4], bounds, 2);
            assert_eq!(units, census(&anew).units(&[0.0; 4], bounds, 2), "after {change:?} at {place}");
        }
    }

    #[test]
    fn sinks_count_where_they_are_far_out_or_alone_move() {
        let bounds = &Bounds::SINGLE;
        let units =
            |sources: &[(usize, Source)], x: f64, speed: f64| census(sources).units(&[x, speed, 0.0, 0.0], bounds, 2);
        let model = [(0, source(1.0, 1.0, 1.0))];
        assert_eq!(units(&model, 1000.0, 1.0), units(&model, 0.0, 0.0));
        assert!(units(&model, 1e9, 1.0).length < 0);
        let resting = [(0, source(1.0, 0.0, 0.0))];
        let far = units(&resting, 1e11, 3e4);
        assert!((1.0..=65536.0).contains(&(1e11 * far.derivative_factor(0))), "{far:?}");
        assert!((1.0..16.0).contains(&(3e4 * far.derivative_factor(1))), "{far:?}");
        assert_eq!(units(&[], 0.0, 0.0), Units::CALLERS);
    }

    #[test]
    fn sums_are_brought_back_by_what_was_multiplied_with_however_small_or_large_that_was() {
        for [mass, x, speed] in [[1e-300, 1e150, 1.0], [1e300, 1e-150, 1.0], [1.0, 1e75, 1e-290], [1.0, 1e-75, 1e290]] {
            let census = census(&[(0, source(mass, x, speed))]);
            let units = census.units(&[0.0; 4], &Bounds::DOUBLE, 3);
            assert_eq!(units.potential_unit() * units.mass_factor(), 1.0, "{mass}, {x}: {units:?}");
            let units = census.units(&[0.0; 4], &Bounds::SINGLE_TO_SNAP, 3);
            let [length, time] = [units.derivative_factor(0), units.time_factor()];
            assert_eq!(units.derivative_factor(2) * time * time, length, "{x}, {speed}: {units:?}");
        }
    }

    #[test]
    fn one_body_in_eight_may_be_far_out_or_fast() {
        let bounds = &Bounds::SINGLE;
        let model: Vec<(usize, Source)> = (0..8).map(|place| (place, source(1.0, 1.0, 1.0))).collect();
        let mut lost = model.clone();
        lost[3].1 = source(1.0, 1e30, 1e30);
        let units = |sources: &[(usize, Source)]| census(sources).units(&[0.0; 4], bounds, 2);
        assert_eq!(units(&lost), units(&model));
        lost[5].1 = source(1.0, 1e30, 1e30);
        assert!(units(&lost).length < units(&model).length);
    }

    #[test]
    fn in_double_precision_masses_alone_are_scaled_and_only_where_they_have_to_be() {
        let bounds = &Bounds::DOUBLE;
        let units = |mass: f64, x: f64| census(&[(0, source(mass, x, 1e5))]).units(&[1e40, 1e9, 0.0, 0.0], bounds, 2);
        assert_eq!(units(1e30, 1e12), Units::CALLERS);
        let heavy = units(1e200, 1e-10);
        assert!((heavy.length, heavy.speed) == (0, 0) && heavy.mass < 0, "{heavy:?}");
    }
}
