//! The Taylor series of the sources: `x + v dt + (a/2) dt^2 + (j/6) dt^3 + ...` and its
//! derivatives.

use crate::double_double::DoubleDouble;
use crate::lanes::{Element, Lanes, Wide};
use kyoho_core::{CHUNK, Chunk, Interaction, MASS, MAX_COEFFICIENTS, MAX_DERIVATIVES, OCTET, Source, TAYLOR, TIME};

use super::tile::{PredictionTarget, Tile, VECTORS_ROW};

/// `FACTORS[q][k]`: the q-th derivative of `dt^k` is `FACTORS[q][k] dt^(k - q)`.
const FACTORS: [[f64; MAX_COEFFICIENTS]; MAX_DERIVATIVES] = [
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    [0.0, 0.0, 2.0, 6.0, 12.0, 20.0, 30.0, 42.0],
    [0.0, 0.0, 0.0, 6.0, 24.0, 60.0, 120.0, 210.0],
];

/// Numbers that a series can be evaluated in: one, or a vector of them.
trait Number: Copy {
    fn scaled(self, factor: f64) -> Self;
    fn times_plus(self, factor: Self, term: Self) -> Self;
}

impl Number for f64 {
    fn scaled(self, factor: f64) -> f64 {
        self * factor
    }
    fn times_plus(self, factor: f64, term: f64) -> f64 {
        self * factor + term
    }
}

impl Number for DoubleDouble {
    fn scaled(self, factor: f64) -> Self {
        self.mul_limb(factor)
    }
    fn times_plus(self, factor: Self, term: Self) -> Self {
        self * factor + term
    }
}

/// A vector as a number.
#[derive(Clone, Copy)]
struct Vector<L>(L);

impl<L: Lanes<Element = f64>> Number for Vector<L> {
    #[inline(always)]
    fn scaled(self, factor: f64) -> Self {
        Vector(self.0 * L::splat(factor))
    }
    #[inline(always)]
    fn times_plus(self, factor: Self, term: Self) -> Self {
        Vector(self.0.mul_add(factor.0, term.0))
    }
}

/// Returns the `derivative`-th derivative of a series with these coefficients, after `dt`, by
/// Horner's rule.
#[inline(always)]
fn evaluate<N: Number>(derivative: usize, n_coefficients: usize, dt: N, coefficient: impl Fn(usize) -> N) -> N {
    let term = |k: usize| match FACTORS[derivative][k] {
        1.0 => coefficient(k),
        factor => coefficient(k).scaled(factor),
    };
    (derivative..n_coefficients - 1).rev().fold(term(n_coefficients - 1), |value, k| value.times_plus(dt, term(k)))
}

/// Returns position, velocity, ... of one source after `dt`, in double precision.
pub fn derivatives(source: &Source, interaction: &Interaction, dt: f64) -> [[f64; 3]; MAX_DERIVATIVES] {
    let mut predicted = [[0.0; 3]; MAX_DERIVATIVES];
    for (derivative, vector) in predicted.iter_mut().enumerate().take(interaction.n_derivatives) {
        *vector = std::array::from_fn(|component| {
            evaluate(derivative, interaction.n_coefficients, dt, |k| source.coefficients[k][component])
        });
    }
    predicted
}

/// Returns position, velocity, ... of one source after `dt` as [`derivatives`] does, from numbers
/// with low limbs.
pub fn derivatives_in_limbs(
    source: &Source,
    low: &Source,
    interaction: &Interaction,
    dt: DoubleDouble,
) -> [[DoubleDouble; 3]; MAX_DERIVATIVES] {
    let mut predicted = [[DoubleDouble::ZERO; 3]; MAX_DERIVATIVES];
    for (derivative, vector) in predicted.iter_mut().enumerate().take(interaction.n_derivatives) {
        *vector = std::array::from_fn(|component| {
            evaluate(derivative, interaction.n_coefficients, dt, |k| DoubleDouble {
                high: source.coefficients[k][component],
                low: low.coefficients[k][component],
            })
        });
    }
    predicted
}

/// Predicts the sources of a chunk into a tile.
#[inline(always)]
pub fn chunk<L: Wide, E: Element>(
    chunk: &Chunk,
    n_coefficients: usize,
    n_derivatives: usize,
    limbs: usize,
    target: PredictionTarget,
    tile: &mut Tile<E>,
) {
    let rows = tile.rows_mut();
    assert!(rows.len() >= (VECTORS_ROW + 3 * (limbs - 1 + n_derivatives)) * CHUNK && OCTET.is_multiple_of(L::COUNT));
    debug_assert!(size_of::<E>() == 4 || target.units.length == 0 && target.units.speed == 0);
    let factors: [f64; MAX_DERIVATIVES] = std::array::from_fn(|derivative| target.units.derivative_factor(derivative));
    for (octet, source) in chunk.octets().enumerate().take(target.limit.div_ceil(OCTET)) {
        assert!(source.len() >= TAYLOR + 3 * n_coefficients);
        for lane in (0..OCTET).step_by(L::COUNT) {
            // SAFETY: a row of an octet has OCTET numbers, and the assertion above covers the rows.
            let load = |row: usize| unsafe { L::load(source[row].as_ptr().add(lane)) };
            let to = rows.as_mut_ptr().wrapping_add(octet * OCTET + lane);
            // SAFETY: a row of a tile has CHUNK numbers, an octet for each of the chunk's, and the
            // first assertion covers the rows.
            let store = |value: L, row: usize| unsafe { E::store_nearest(value, to.add(row * CHUNK)) };
            let dt = if target.predicts { L::splat(target.time) - load(TIME) } else { L::splat(0.0) };
            let dt = Vector(dt);
            store(load(MASS) * L::splat(target.units.mass_factor()), 0);
            for component in 0..3 {
                for (derivative, factor) in factors.into_iter().enumerate().take(n_derivatives) {
                    let coefficient = |k: usize| Vector(load(TAYLOR + 3 * k + component));
                    let mut value = evaluate(derivative, n_coefficients, dt, coefficient).0;
                    // In double precision lengths and times are the caller's.
                    if size_of::<E>() == 4 {
                        value = value * L::splat(factor);
                    }
                    let first = if derivative == 0 { 0 } else { limbs - 1 + derivative };
                    let rest = store(value, VECTORS_ROW + 3 * first + component);
                    if derivative == 0 && limbs == 2 {
                        store(rest, VECTORS_ROW + 3 + component);
                    }
                }
            }
        }
    }
    tile.indices_mut().copy_from_slice(chunk.indices());
    tile.range = chunk.index_range();
    tile.close(target.limit, |place| chunk.is_set(place), chunk.all_set(target.limit));
}
