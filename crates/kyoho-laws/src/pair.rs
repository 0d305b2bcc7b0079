//! The physics of a pair: its terms in the sums of a sink, for each order.

use kyoho_core::MAX_DERIVATIVES;

use super::lanes::{Element, Lanes};

/// The count of numbers that are summed for a sink at the highest order.
pub const MAX_OUTPUTS: usize = 13;

/// The number of factors of a pair at the highest order.
pub const MAX_FACTORS: usize = 8;

/// The pair interaction of one order; see the formulas in [`super`].
pub trait PairLaw: Send + Sync + 'static {
    /// The number of vectors of a sink and of a predicted source: position, velocity, ...
    const N_DERIVATIVES: usize;
    /// The number of Taylor coefficients of a source.
    const N_COEFFICIENTS: usize;
    /// The count of numbers that are summed for a sink.
    const N_OUTPUTS: usize;
    /// Whether the nearest source is found along with the sums.
    const NEAREST: bool;
    /// Whether neighbours are left out; see [`super::regular`].
    const REGULAR: bool = false;
    /// Whether sources have a squared softening, which is added to that of the sink.
    const SOFTENED: bool = false;

    /// The number of factors of a pair.
    const N_FACTORS: usize;

    /// Returns the factors of a pair: the potential, `w`, and those of the higher derivatives.
    /// `differences` are source minus sink: `r`, `v`, ...; `inverse` is `s2^(-1/2)`, or zero for a
    /// pair that does not count.
    fn factors<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS];

    /// Adds one component of a pair's acceleration, jerk, ... to `sums`. `difference` has that
    /// component of `r`, `v`, ...
    fn add<L: Lanes>(difference: [L; MAX_DERIVATIVES], factors: [L; MAX_FACTORS], sums: &mut [L; MAX_DERIVATIVES]);
}

/// Order 2: potential and acceleration.
pub struct Second;

impl PairLaw for Second {
    const N_DERIVATIVES: usize = 1;
    const N_COEFFICIENTS: usize = 1;
    const N_OUTPUTS: usize = 4;
    const N_FACTORS: usize = 2;
    const NEAREST: bool = false;

    #[inline(always)]
    fn factors<L: Lanes>(_: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS] {
        let potential = mass * inverse;
        padded([potential, potential * (inverse * inverse)])
    }

    #[inline(always)]
    fn add<L: Lanes>([r, ..]: [L; MAX_DERIVATIVES], [_, w, ..]: [L; MAX_FACTORS], sums: &mut [L; MAX_DERIVATIVES]) {
        sums[0] = w.mul_add(r, sums[0]);
    }
}

/// Order 2 where each source has a squared softening, in the last row of a tile.
pub struct SoftenedSecond;

impl PairLaw for SoftenedSecond {
    const N_DERIVATIVES: usize = Second::N_DERIVATIVES;
    const N_COEFFICIENTS: usize = Second::N_COEFFICIENTS;
    const N_OUTPUTS: usize = Second::N_OUTPUTS;
    const N_FACTORS: usize = Second::N_FACTORS;
    const NEAREST: bool = Second::NEAREST;
    const SOFTENED: bool = true;

    #[inline(always)]
    fn factors<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS] {
        Second::factors(differences, inverse, mass)
    }

    #[inline(always)]
    fn add<L: Lanes>(difference: [L; MAX_DERIVATIVES], factors: [L; MAX_FACTORS], sums: &mut [L; MAX_DERIVATIVES]) {
        Second::add(difference, factors, sums);
    }
}

/// Order 4: potential, acceleration and jerk.
pub struct Fourth;

impl PairLaw for Fourth {
    const N_DERIVATIVES: usize = 2;
    const N_COEFFICIENTS: usize = 4;
    const N_OUTPUTS: usize = 7;
    const N_FACTORS: usize = 3;
    const NEAREST: bool = true;

    #[inline(always)]
    fn factors<L: Lanes>([r, v, ..]: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS] {
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        // The factor that waits for the root comes last, since the length of this chain bounds the
        // loop.
        let alpha3 = (dot(*r, *v) * number(3.0)) * inverse2;
        padded([potential, potential * inverse2, alpha3])
    }

    #[inline(always)]
    fn add<L: Lanes>(
        [r, v, ..]: [L; MAX_DERIVATIVES],
        [_, w, alpha3, ..]: [L; MAX_FACTORS],
        sums: &mut [L; MAX_DERIVATIVES],
    ) {
        sums[0] = w.mul_add(r, sums[0]);
        sums[1] = w.mul_add(alpha3.neg_mul_add(r, v), sums[1]);
    }
}

/// The regular force of order 4, of sources that are no neighbours.
pub struct RegularFourth;

impl PairLaw for RegularFourth {
    const N_DERIVATIVES: usize = Fourth::N_DERIVATIVES;
    const N_COEFFICIENTS: usize = Fourth::N_COEFFICIENTS;
    const N_OUTPUTS: usize = Fourth::N_OUTPUTS;
    const N_FACTORS: usize = Fourth::N_FACTORS;
    const NEAREST: bool = false;
    const REGULAR: bool = true;

    #[inline(always)]
    fn factors<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS] {
        Fourth::factors(differences, inverse, mass)
    }

    #[inline(always)]
    fn add<L: Lanes>(difference: [L; MAX_DERIVATIVES], factors: [L; MAX_FACTORS], sums: &mut [L; MAX_DERIVATIVES]) {
        Fourth::add(difference, factors, sums);
    }
}

/// Order 6: potential, acceleration, jerk and snap.
pub struct Sixth;

impl PairLaw for Sixth {
    const N_DERIVATIVES: usize = 3;
    const N_COEFFICIENTS: usize = 6;
    const N_OUTPUTS: usize = 10;
    const N_FACTORS: usize = 5;
    const NEAREST: bool = true;

    #[inline(always)]
    fn factors<L: Lanes>([r, v, a, _]: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS] {
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        let alpha = dot(*r, *v) * inverse2;
        let beta = alpha.mul_add(alpha, (dot(*r, *a) + dot(*v, *v)) * inverse2);
        padded([potential, potential * inverse2, alpha * number(3.0), alpha * number(6.0), beta * number(3.0)])
    }

    #[inline(always)]
    fn add<L: Lanes>(
        [r, v, a, _]: [L; MAX_DERIVATIVES],
        [_, w, alpha3, alpha6, beta3, ..]: [L; MAX_FACTORS],
        sums: &mut [L; MAX_DERIVATIVES],
    ) {
        // Jerk and snap over w.
        let jerk = alpha3.neg_mul_add(r, v);
        let snap = alpha6.neg_mul_add(jerk, beta3.neg_mul_add(r, a));
        sums[0] = w.mul_add(r, sums[0]);
        sums[1] = w.mul_add(jerk, sums[1]);
        sums[2] = w.mul_add(snap, sums[2]);
    }
}

/// Order 8: potential, acceleration, jerk, snap and crackle.
pub struct Eighth;

impl PairLaw for Eighth {
    const N_DERIVATIVES: usize = 4;
    const N_COEFFICIENTS: usize = 8;
    const N_OUTPUTS: usize = 13;
    const N_FACTORS: usize = 8;
    const NEAREST: bool = true;

    #[inline(always)]
    fn factors<L: Lanes>([r, v, a, j]: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L) -> [L; MAX_FACTORS] {
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        let alpha = dot(*r, *v) * inverse2;
        let alpha2 = alpha * alpha;
        let beta = (dot(*r, *a) + dot(*v, *v)).mul_add(inverse2, alpha2);
        let change = dot(*v, *a).mul_add(number(3.0), dot(*r, *j)) * inverse2;
        let gamma = alpha.mul_add(alpha2.neg_mul_add(number(4.0), beta * number(3.0)), change);
        let [alpha3, beta3, gamma3] = [alpha, beta, gamma].map(|factor| factor * number(3.0));
        let [alpha6, alpha9, beta9] = [alpha * number(6.0), alpha * number(9.0), beta * number(9.0)];
        [potential, potential * inverse2, alpha3, alpha6, alpha9, beta3, beta9, gamma3]
    }

    #[inline(always)]
    fn add<L: Lanes>(
        [r, v, a, j]: [L; MAX_DERIVATIVES],
        [_, w, alpha3, alpha6, alpha9, beta3, beta9, gamma3]: [L; MAX_FACTORS],
        sums: &mut [L; MAX_DERIVATIVES],
    ) {
        // Jerk, snap and crackle over w.
        let jerk = alpha3.neg_mul_add(r, v);
        let snap = alpha6.neg_mul_add(jerk, beta3.neg_mul_add(r, a));
        let crackle = alpha9.neg_mul_add(snap, beta9.neg_mul_add(jerk, gamma3.neg_mul_add(r, j)));
        sums[0] = w.mul_add(r, sums[0]);
        sums[1] = w.mul_add(jerk, sums[1]);
        sums[2] = w.mul_add(snap, sums[2]);
        sums[3] = w.mul_add(crackle, sums[3]);
    }
}

#[inline(always)]
fn number<L: Lanes>(value: f64) -> L {
    L::splat(L::Element::from_f64(value))
}

/// Returns the factors of an order, with zeros behind them.
#[inline(always)]
fn padded<L: Lanes, const N: usize>(factors: [L; N]) -> [L; MAX_FACTORS] {
    let mut padded = [number(0.0); MAX_FACTORS];
    padded[..N].copy_from_slice(&factors);
    padded
}

#[inline(always)]
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}
