//! The criterion of the length of steps.

use crate::body::{Body, Vector, length, vector};
use crate::plan::Plan;
use kyoho_methods::block_steps::ROOT_TURNS;

use super::scheme::{Corrected, FOURTH, Scheme, fourth_order_ends};

/// The criterion of the length of steps.
#[derive(Debug, Clone, Copy)]
pub struct Criterion {
    eta: f64,
    /// The accuracy parameter of the fourth-order criterion if it is averaged with that of the
    /// scheme's order.
    average: Option<f64>,
}

/// If the criterion of a higher order wants steps shorter than this fraction of its accuracy
/// parameter times the time scale of the fourth order, it measures rounding. Shorter steps would
/// raise the rounding and want still shorter steps.
const NOISE: f64 = 0.25;

/// The accuracy parameter that limits the first steps of higher orders, which lack the highest
/// derivatives.
const FIRST: f64 = 0.02;

/// The part of the time in which the second derivative would change the acceleration that a first step of
/// these orders may take.
const SHORT: f64 = 0.1;

impl Criterion {
    /// Returns the criterion of a plan. The average with Aarseth's criterion is that of HiGPUs
    /// (Capuzzo-Dolcetta & Spera 2013, Computer Physics Communications 184, 2528).
    pub fn new(plan: &Plan) -> Criterion {
        Criterion { eta: plan.eta, average: plan.averages().then_some(plan.eta4) }
    }

    /// Returns the accuracy parameter of the criterion of order 4 beside that of a higher order.
    #[inline(always)]
    pub fn eta_of_fourth(&self) -> f64 {
        self.average.unwrap_or(self.eta * self.eta)
    }

    /// Returns the step that a body wants after one that it has taken. It is infinite if no force
    /// changes. `rounding` is the error that the rounding of positions may have made in an
    /// acceleration.
    ///
    /// An interpolated derivative is a difference over a power of the step, in which that rounding
    /// grows as steps get shorter. So derivatives that may be rounding alone are left out: then
    /// the criterion is that of the derivatives below. Where none is left that order 4 needs, a
    /// step shorter than the last one would be chosen by rounding too.
    #[inline(always)]
    pub fn wanted(&self, scheme: &Scheme, before: &Body, step: f64, corrected: &Corrected, rounding: f64) -> f64 {
        let (order, ends) = (scheme.order(), &corrected.ends);
        let is_known = |s: usize| length(&ends[s + 1]) >= rounding * scheme.growth_of_rounding(s + 1, step);
        let highest = (LOWEST..order - 1).rev().find(|s| is_known(*s));
        let own = generalised(highest.unwrap_or(LOWEST), ends, self.eta, order);
        let own = if highest.is_some() { own } else { own.max(step) };
        if order == FOURTH.order() {
            return own;
        }
        let ends = fourth_order_ends(&before.derivatives[..FOURTH.given()], &corrected.ends[..FOURTH.given()], step);
        match self.average {
            Some(_) => 0.5 * (generalised(LOWEST, &ends, self.eta_of_fourth(), FOURTH.order()) + own),
            None => own.max(NOISE * generalised(LOWEST, &ends, self.eta_of_fourth(), FOURTH.order())),
        }
    }

    /// Returns the first step, for which no higher derivatives are known. It is `eta / 2` of the
    /// time in which the acceleration changes, or of the time of free fall over the softened
    /// distance to the nearest body, which also serves for bodies at rest. Higher orders use the second
    /// derivative, which a hard binary dominates however far it is.
    pub fn first(&self, scheme: &Scheme, body: &Body, distance: f64) -> f64 {
        let [a, j, second, _] = [0, 1, 2, 3].map(|term| length(&body.derivatives[term]));
        let change = if j > 0.0 { a / j } else { f64::INFINITY };
        let fall = if a > 0.0 { (distance / a).sqrt() } else { f64::INFINITY };
        let longest = if scheme.given() > 2 && second > 0.0 { SHORT * (a / second).sqrt() } else { f64::INFINITY };
        self.first_of(scheme, change.min(fall)).min(longest)
    }

    /// Returns the first step of a body whose acceleration changes in a time.
    fn first_of(&self, scheme: &Scheme, change: f64) -> f64 {
        let eta = if scheme.order() == FOURTH.order() { self.eta } else { self.eta.min(FIRST) };
        0.5 * eta * change
    }

    /// Returns the first step of a body whose acceleration was looked at a time later too, where the body
    /// would be then; `None` if it is not yet to be known. It is the step that it has, unless this is much
    /// longer than the change of the acceleration allows.
    pub fn tried(&self, scheme: &Scheme, body: &Body, (time, later): (f64, Vector)) -> Option<f64> {
        let [a, j, ..] = body.derivatives;
        let beyond = length(&vector(|k| later[k] - (a[k] + time * j[k]))) / length(&a);
        // The second derivative of the acceleration is 2 |a| / time^2 times that.
        let step = self.first_of(scheme, time / (2.0 * beyond).sqrt());
        (beyond <= SLIGHTLY).then_some(if body.step > MUCH * step { step } else { body.step })
    }
}

/// An acceleration has changed so slightly, beyond its jerk, that its second derivative is what changed it.
const SLIGHTLY: f64 = 0.1;

/// A first step is too long if it is so much longer than the second derivative allows.
const MUCH: f64 = 4.0;

/// The number of the slowness of order 4.
const LOWEST: usize = FOURTH.order() - 2;

/// Computes the step of the criterion of an order `p` (Nitadori & Makino 2008): `eta (A(1) / A(p -
/// 2))^(1 / (p - 3))`, where `A(s)^2` is `|a(s - 1)| |a(s + 1)| + |a(s)|^2` and `a(s)` the `s`-th
/// derivative of the acceleration. `slowest` is `p - 2`, or a lower number where higher derivatives
/// are not known. Aarseth's criterion is that of order 4 with the square root of eta.
#[inline(always)]
fn generalised(slowest: usize, ends: &[Vector], eta: f64, order: usize) -> f64 {
    let size2 = |s: usize| {
        let [below, own, above] = [s - 1, s, s + 1].map(|s| length(&ends[s]));
        below * above + own * own
    };
    let (change, slowness) = (size2(1), size2(slowest));
    if slowness == 0.0 {
        f64::INFINITY
    } else if order == FOURTH.order() {
        (eta * change / slowness).sqrt()
    } else {
        eta * root(change / slowness, slowest)
    }
}

/// Returns the root of degree `2 (slowest - 1)`. It is made of steps of arithmetic that round in one
/// way everywhere, so that devices choose the steps that the host does.
#[inline(always)]
fn root(value: f64, slowest: usize) -> f64 {
    let root = value.sqrt();
    match slowest {
        2 => root,
        3 => root.sqrt(),
        4 => odd_root::<3>(root),
        5 => root.sqrt().sqrt(),
        _ => odd_root::<5>(root),
    }
}

/// Returns an odd root of a number that is not negative, by Newton's method from a guess by the
/// exponent.
#[inline(always)]
fn odd_root<const DEGREE: u64>(value: f64) -> f64 {
    if !(value > 0.0 && value <= f64::MAX) {
        return value;
    }
    const ONE: u64 = 1023 << 52;
    let mut root = f64::from_bits(value.to_bits() / DEGREE + (ONE - ONE / DEGREE));
    for _ in 0..ROOT_TURNS {
        let square = root * root;
        let power = if DEGREE == 3 { square } else { square * square };
        root = ((DEGREE - 1) as f64 * root + value / power) / DEGREE as f64;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_as_good_as_those_of_the_library() {
        let values = (-200..200).map(|n| 1.7f64.powi(n) * (1.0 + 0.3 * f64::from(n).sin()));
        for value in values.chain([0.0, 1.0, f64::INFINITY, 1e-300, 1e300]) {
            for slowest in 2..=6 {
                let (found, expected) = (root(value, slowest), value.powf(0.5 / (slowest - 1) as f64));
                let error = if found == expected { 0.0 } else { (found / expected - 1.0).abs() };
                // The exponent, a sixth or a tenth, is rounded, which small and large values feel.
                assert!(error < 2e-14, "{value:e} {slowest}: {found:e} {expected:e}");
            }
        }
    }

    /// Returns the derivatives of an acceleration that turns round a circle with an angular speed.
    fn circling(speed: f64) -> [Vector; 8] {
        std::array::from_fn(|n| [speed.powi(n as i32), 0.0, 0.0])
    }

    #[test]
    fn the_step_of_a_circle_is_the_same_part_of_its_period_at_any_speed() {
        for speed in [1e-7, 1.0, 30.0] {
            // Aarseth's eta is the square of that of the other orders.
            assert!((generalised(2, &circling(speed), 0.04, 4) * speed - 0.2).abs() < 1e-12, "{speed}");
            for order in [6, 8] {
                assert!(
                    (generalised(order - 2, &circling(speed), 0.2, order) * speed - 0.2).abs() < 1e-12,
                    "{speed} {order}"
                );
            }
        }
        assert_eq!(generalised(4, &[[0.0; 3]; 8], 0.1, 6), f64::INFINITY);
    }

    #[test]
    fn derivatives_between_the_ends_of_the_criterion_do_not_count() {
        for (order, within) in [(6, 2..3), (8, 3..5)] {
            let (mut ends, expected) = (circling(2.0), generalised(order - 2, &circling(2.0), 0.1, order));
            ends[within].fill([1e6; 3]);
            assert_eq!(generalised(order - 2, &ends, 0.1, order) == expected, order == 8, "{order}");
        }
    }
}
