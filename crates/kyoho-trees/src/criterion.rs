//! The criterion by which the expansion of a cell of sources is accepted for a cell of sinks.
//!
//! A cell of sources has a centre, the mean of its bodies' positions weighted by `|m|`, a cell of
//! sinks the middle of the box around them; the radius `r` of a sphere around it that holds its
//! bodies, `M = sum |m|`, and in a tree of sources `rho = (sum |m| |y|^p / M)^(1/p)`, where `y` is
//! the distance of a body from the centre and `p` the order. With `s^2 = d^2 + eps^2`, where `d` is
//! the distance of the centres of a cell A of sources and a cell B of sinks, A is accepted for B if
//!
//! ```text
//! r_A + r_B < 0.8 s    and
//! w 8 max(r_A, r_B) / (r_A + r_B) M / s^2 ((rho_A + r_B) / s)^p <= tolerance a_B
//! ```
//!
//! where `a_B` is the least acceleration of a sink of B, and `w` is 1 where A is at least as large
//! as B. Without `w` this is the criterion of Dehnen (2014, Computational Astrophysics and Cosmology
//! 1, 1), with `M (rho + r_B)^p` in the place of the sum over `k` of `C(p, k) P_k r_B^(p - k)`, which
//! it bounds from above, since `P_k = sum |m| |y|^k` is at most `M rho^k`.
//!
//! The softened distance may stand for the distance: along any line `f(x + t u) = (s^2 + 2 t x.u +
//! t^2)^(-1/2)` is the generating function of the Legendre polynomials of `-x.u / s`, which is at
//! most 1, so that a derivative of the order `n` is at most `n! s^(-n-1)`, as it is of `1 / d`
//! without softening.
//!
//! **Where each body has its own softening**, the squared softening of a pair is the sum of the halves
//! of the squares of both. `eps^2` is then the sum of the mean of the halves of A's bodies, weighted
//! by `|m|`, and the middle of those of B's. A body differs from that by `e`, of which `h_A` and `h_B`
//! are the largest sizes. With `u` for a difference of places, a pair is
//!
//! ```text
//! (s^2 + 2 t R.u + t^2 (|u|^2 + e))^(-1/2)    at t = 1,
//! ```
//!
//! so that `e` counts as a square of a length: expansions have the powers `n` of it whose `2 n`, with
//! the degrees in places, is at most the order. The roots of the polynomial in `t` are at least
//! `s / (|u| + sqrt|e|)` in size, which bounds the coefficient of `t^p` by `((|u| + sqrt|e|) / s)^p`.
//! So radii of cells count as `r + sqrt(h)`, and `rho_A` has `(sum |m| |e|^(p/2) / M)^(1/p)` more. The
//! errors of pulls by `e` have one sign for all cells around a sink, so that they have to be small
//! beside each pull too: A is accepted only where `h_A + h_B` is below [`most_spread`] times `s^2`.
//! Where the test is by an angle, that is half of the square of the largest sum of radii over `s`.
//!
//! The error of a cell smaller than B is that of B's own extent. Cells of its size beside one another
//! have little mass each, and would be accepted one by one, but their errors have one sign and add
//! up: a row of `r_B / r_A` of them is as long as B. So the error of each counts `w = r_B / r_A`
//! times, at most [`MOST_PARTS`] times.
//!
//! A cell that is not accepted is opened if it is as large as B. A smaller one is left to the
//! children of B, or to direct sums if B is a group of sinks, which is not divided any more. A group
//! in the outskirts of a galaxy would sum all of it in that way. So a cell of more than [`MOST_NEAR`]
//! bodies is opened for a group, however small it is (on a GPU, where direct sums cost more beside
//! expansions, one that has more than 1024 pairs with the group and is outside its extent), and the
//! acceleration over a group must vary little ([`variation`]). The test by an angle does not depend
//! on masses: there a group opens every cell that it does not accept.

/// The largest sum of the radii of two cells whose expansions are used, over their distance.
pub const CUT: f64 = 0.8;

/// The acceptance of expansions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// By the error beside the acceleration.
    Error {
        /// The tolerance.
        tolerance: f64,
    },
    /// By the angle under which a cell is seen: `d - r_B > l / theta + |c|`, with the side `l` of
    /// the cell of sources and the distance `c` of its centre from its middle; and `r_A + r_B < 0.8
    /// theta s`, or `0.8 s` if `theta` is above 1.
    Angle {
        /// The angle.
        theta: f64,
    },
}

/// The largest sum of two radii over the distance in the first pass.
pub const FIRST_CUT: f64 = 0.9;
/// Accelerations count as at least this part of their change over the radius of a leaf, so that the
/// centre of a symmetric system does not ask for accuracy without end.
pub const FLOOR: f64 = 0.2;
/// The most bodies of a cell that is summed directly for a group though it could be opened.
pub const MOST_NEAR: u32 = 512;
/// The most times that the error of a cell of sources counts that is smaller than the cell of sinks.
pub const MOST_PARTS: f64 = 16.0;
/// The squared distances, in the units of a tree, beyond which the derivatives of the orders 4 to 6
/// are in the range of 32 bits. The largest of them is `(2 order - 1)!! / s^(2 order + 1)`.
pub const LEAST_S2_OF_ORDERS: [f64; 3] = [1.5e-8, 9.6e-7, 7.7e-6];
/// The squared distances, in the units of a tree, up to which the derivatives of the orders 2 to 6 are
/// normal numbers of 32 bits, also times the smaller masses: at which the least of them,
/// `(2 order - 1)!! / s^(2 order + 1)`, is 2^-118.
pub const MOST_S2_OF_ORDERS: [f64; 5] = [2.5e14, 3.0e10, 2.2e8, 9.9e6, 1.2e6];
/// Farther cells are accepted where the fourth power of the sum of the radii is below so many squared
/// distances. Then the terms with derivatives that 32 bits do not hold are below the rounding: at
/// `s = 2^(126 / (2 n + 1))` terms of a higher degree than `n` are lost, and `(2 / sqrt(s))^(n + 1)` is
/// 2^-22 or less.
pub const FAR_SUM4: f64 = 16.0;
/// The least squared distance, in the units of a tree on a GPU, at which expansions are used.
pub const LEAST_S2: f64 = 9.313225746154785e-10;
/// The sum of the errors that have one sign is at most about this many tolerances.
const ADDED_ERRORS: f64 = 2.4;

/// Returns the largest spread `(h_A + h_B) / s^2` of softenings. An acceleration is a derivative of the
/// potential, so that an expansion has the powers `n` of the spread in it for which `1 + 2 n` is at
/// most the order. The first one that it leaves out has a factor of about 2.
pub fn most_spread(tolerance: f64, order: usize) -> f64 {
    tolerance.powf(1.0 / order.div_ceil(2) as f64)
}

/// Returns the largest variation of the acceleration over a group of sinks. Where a group is large
/// beside its distance from a cell of many sources, the errors of the parts of that cell have one
/// sign and add up, however small each is: as the power `order` of the radius over the distance.
pub fn variation(tolerance: f64, order: usize) -> f64 {
    2.0 * (ADDED_ERRORS * tolerance).powf(1.0 / order as f64)
}

/// Returns the least squared distance at which expansions of an order are used in numbers of 32
/// bits, if it is more than that of all orders.
pub fn least_s2(order: usize) -> f64 {
    order.checked_sub(4).map_or(0.0, |place| LEAST_S2_OF_ORDERS[place])
}

/// Returns the largest squared distance at which expansions of an order are used in numbers of 32 bits,
/// whatever the radii.
pub fn most_s2(order: usize) -> f64 {
    MOST_S2_OF_ORDERS[order.clamp(2, 6) - 2]
}

/// Whether the acceleration, with derivatives of the size `tide`, varies by no more than that over
/// a cell of this radius.
pub fn is_even(radius: f64, tide: f64, acceleration: f64, variation: f64) -> bool {
    tide * radius <= variation * acceleration
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Softenings are expanded to the powers that the limit says: what is left out of the acceleration
    /// by a source, `(1 + x)^(-3/2)` with its first terms, is at most about the tolerance.
    #[test]
    fn what_expansions_leave_out_of_softenings_is_small_at_the_limit() {
        for order in 2..=6_usize {
            for tolerance in [4e-2, 4e-3, 3e-4, 1e-6] {
                let spread = most_spread(tolerance, order);
                for x in [spread, -spread] {
                    let powers = order.div_ceil(2);
                    let (mut term, mut sum) = (1.0, 0.0);
                    for power in 0..powers {
                        sum += term;
                        term *= x * (-1.5 - power as f64) / (power + 1) as f64;
                    }
                    let left_out = ((1.0 + x).powf(-1.5) - sum).abs();
                    assert!(left_out < 4.0 * tolerance, "order {order}, tolerance {tolerance}: {left_out:e}");
                    assert!(left_out > 1.0 * tolerance, "order {order}, tolerance {tolerance}: {left_out:e}");
                }
            }
        }
    }
}
