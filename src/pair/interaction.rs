//! What a pair adds to the sums of a sink, for each order.

use crate::system::MAX_VECTORS;

use super::lanes::{Element, Lanes};

/// Numbers that are summed for a sink at the highest order.
pub const MAX_OUTPUTS: usize = 7;

/// The pair interaction of one order; see the formulas in [`super`].
pub trait Interaction: Send + Sync + 'static {
    /// Vectors of a sink and of a predicted source: position, velocity, ...
    const VECTORS: usize;
    /// Taylor coefficients of a source.
    const TAYLOR: usize;
    /// Numbers summed for a sink.
    const OUTPUTS: usize;
    /// Whether the nearest source is found on the way.
    const NEAREST: bool;

    /// Adds one pair. `differences` are source minus sink: `r`, `v`, ...; `inverse` is `s2^(-1/2)`, or zero for a pair
    /// that does not count.
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_VECTORS], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]);
}

/// Order 2: potential and acceleration.
pub struct Second;

impl Interaction for Second {
    const VECTORS: usize = 1;
    const TAYLOR: usize = 1;
    const OUTPUTS: usize = 4;
    const NEAREST: bool = false;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_VECTORS], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        let [r, _] = *differences;
        let potential = mass * inverse;
        let w = potential * (inverse * inverse);
        sums[0] = sums[0] - potential;
        for k in 0..3 {
            sums[1 + k] = w.mul_add(r[k], sums[1 + k]);
        }
    }
}

/// Order 4: and jerk.
pub struct Fourth;

impl Interaction for Fourth {
    const VECTORS: usize = 2;
    const TAYLOR: usize = 4;
    const OUTPUTS: usize = 7;
    const NEAREST: bool = true;

    #[inline(always)]
    fn add<L: Lanes>(differences: &[[L; 3]; MAX_VECTORS], inverse: L, mass: L, sums: &mut [L; MAX_OUTPUTS]) {
        let [r, v] = *differences;
        let inverse2 = inverse * inverse;
        let potential = mass * inverse;
        let w = potential * inverse2;
        // What waits for the root comes last: the loop is bound by the length of this chain.
        let alpha3 = (dot(r, v) * L::splat(L::Element::from_f64(3.0))) * inverse2;
        sums[0] = sums[0] - potential;
        for k in 0..3 {
            sums[1 + k] = w.mul_add(r[k], sums[1 + k]);
            sums[4 + k] = w.mul_add(alpha3.neg_mul_add(r[k], v[k]), sums[4 + k]);
        }
    }
}

#[inline(always)]
fn dot<L: Lanes>(a: [L; 3], b: [L; 3]) -> L {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}
