//! The neighbour criterion, which decides which sources are neighbours of a sink, and so left out
//! of its regular force (Ahmad & Cohen 1973, Journal of Computational Physics 12, 389).
//!
//! The sums and the lists call one function with the numbers of a pair, as the loop over a tile has
//! them. So a source is in a list if and only if it is in no sum. At a level every operation rounds
//! in one way, whether the lanes are sinks or sources.

use super::lanes::Lanes;

/// The neighbour criterion of the sinks in the lanes, or of one sink in all lanes.
#[derive(Clone, Copy)]
pub struct Criterion<L> {
    /// The squared distance within which a source is a neighbour, for each unit of its mass.
    pub by_mass: L,
    /// The squared distance within which any source is a neighbour.
    pub plain: L,
    /// The regular time step.
    pub step: L,
}

/// Returns `|r|^2`.
#[inline(always)]
pub fn squared<L: Lanes>([x, y, z]: [L; 3]) -> L {
    z.mul_add(z, y.mul_add(y, x * x))
}

impl<L: Lanes> Criterion<L> {
    /// Returns a mask that is true where sources with these differences from the sinks are
    /// neighbours: the smaller of the squared distances now, `r2` as [`squared`] gives it, and a
    /// step later is below `by_mass` times the mass plus `plain`.
    #[inline(always)]
    pub fn is_neighbour(&self, r: [L; 3], r2: L, v: [L; 3], mass: L) -> L::Mask {
        let later =
            squared([self.step.mul_add(v[0], r[0]), self.step.mul_add(v[1], r[1]), self.step.mul_add(v[2], r[2])]);
        let least = L::select(later.less(r2), later, r2);
        least.less(self.by_mass.mul_add(mass, self.plain))
    }
}
