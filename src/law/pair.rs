//! The physics of a pair: its terms in the sums of a sink, for each order.

use crate::data::MAX_DERIVATIVES;

use super::lanes::{Element, Lanes};

/// The count of numbers that are summed for a sink at the highest order.
pub const MAX_OUTPUTS: usize = 13;

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

    /// Adds one pair. `differences` are source minus sink: `r`, `v`, ...; `inverse` is `s2^(-1/2)`,
    /// or zero for a pair that does not count.
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]);
}

/// Order 2: potential and acceleration.
pub struct Second;

impl PairLaw for Second {
    const N_DERIVATIVES: usize = 1;
    const N_COEFFICIENTS: usize = 1;
    const N_OUTPUTS: usize = 4;
    const NEAREST: bool = false;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        let [r, ..] = *differences;
        let potential = mass * inverse;
        let w = potential * (inverse * inverse);
        sums[0] = sums[0] - potential;
        for k in 0..3 {
            sums[1 + k] = w.mul_add(r[k], sums[1 + k]);
        }
    }
}

/// Order 4: potential, acceleration and jerk.
pub struct Fourth;

impl PairLaw for Fourth {
    const N_DERIVATIVES: usize = 2;
    const N_COEFFICIENTS: usize = 4;
    const N_OUTPUTS: usize = 7;
    const NEAREST: bool = true;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        let [r, v, ..] = *differences;
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        let w = potential * inverse2;
        // The factor that waits for the root comes last, since the length of this chain bounds the
        // loop.
        let alpha3 = (dot(r, v) * L::splat(L::Element::from_f64(3.0))) * inverse2;
        sums[0] = sums[0] - potential;
        for k in 0..3 {
            sums[1 + k] = w.mul_add(r[k], sums[1 + k]);
            sums[4 + k] = w.mul_add(alpha3.neg_mul_add(r[k], v[k]), sums[4 + k]);
        }
    }
}

/// The regular force of order 4, of sources that are no neighbours.
pub struct RegularFourth;

impl PairLaw for RegularFourth {
    const N_DERIVATIVES: usize = Fourth::N_DERIVATIVES;
    const N_COEFFICIENTS: usize = Fourth::N_COEFFICIENTS;
    const N_OUTPUTS: usize = Fourth::N_OUTPUTS;
    const NEAREST: bool = false;
    const REGULAR: bool = true;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        Fourth::add(differences, inverse, mass, sums);
    }
}

/// Order 6: potential, acceleration, jerk and snap.
pub struct Sixth;

impl PairLaw for Sixth {
    const N_DERIVATIVES: usize = 3;
    const N_COEFFICIENTS: usize = 6;
    const N_OUTPUTS: usize = 10;
    const NEAREST: bool = true;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        let number = |value: f64| L::splat(L::Element::from_f64(value));
        let [r, v, a, _] = *differences;
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        let w = potential * inverse2;
        let alpha = dot(r, v) * inverse2;
        let beta = alpha.mul_add(alpha, (dot(r, a) + dot(v, v)) * inverse2);
        let [alpha3, alpha6, beta3] = [alpha * number(3.0), alpha * number(6.0), beta * number(3.0)];
        sums[0] = sums[0] - potential;
        for k in 0..3 {
            // Jerk and snap over w.
            let jerk = alpha3.neg_mul_add(r[k], v[k]);
            let snap = alpha6.neg_mul_add(jerk, beta3.neg_mul_add(r[k], a[k]));
            sums[1 + k] = w.mul_add(r[k], sums[1 + k]);
            sums[4 + k] = w.mul_add(jerk, sums[4 + k]);
            sums[7 + k] = w.mul_add(snap, sums[7 + k]);
        }
    }
}

/// Order 8: potential, acceleration, jerk, snap and crackle.
pub struct Eighth;

impl PairLaw for Eighth {
    const N_DERIVATIVES: usize = 4;
    const N_COEFFICIENTS: usize = 8;
    const N_OUTPUTS: usize = 13;
    const NEAREST: bool = true;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_DERIVATIVES], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        let number = |value: f64| L::splat(L::Element::from_f64(value));
        let [r, v, a, j] = *differences;
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        let w = potential * inverse2;
        let alpha = dot(r, v) * inverse2;
        let alpha2 = alpha * alpha;
        let beta = (dot(r, a) + dot(v, v)).mul_add(inverse2, alpha2);
        let change = dot(v, a).mul_add(number(3.0), dot(r, j)) * inverse2;
        let gamma = alpha.mul_add(alpha2.neg_mul_add(number(4.0), beta * number(3.0)), change);
        let [alpha3, beta3, gamma3] = [alpha, beta, gamma].map(|factor| factor * number(3.0));
        let [alpha6, alpha9, beta9] = [alpha * number(6.0), alpha * number(9.0), beta * number(9.0)];
        sums[0] = sums[0] - potential;
        for k in 0..3 {
            // Jerk, snap and crackle over w.
            let jerk = alpha3.neg_mul_add(r[k], v[k]);
            let snap = alpha6.neg_mul_add(jerk, beta3.neg_mul_add(r[k], a[k]));
            let crackle = alpha9.neg_mul_add(snap, beta9.neg_mul_add(jerk, gamma3.neg_mul_add(r[k], j[k])));
            sums[1 + k] = w.mul_add(r[k], sums[1 + k]);
            sums[4 + k] = w.mul_add(jerk, sums[4 + k]);
            sums[7 + k] = w.mul_add(snap, sums[7 + k]);
            sums[10 + k] = w.mul_add(crackle, sums[10 + k]);
        }
    }
}

#[inline(always)]
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}
