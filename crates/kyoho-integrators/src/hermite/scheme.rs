//! The Hermite schemes of orders 4, 6 and 8 (Nitadori & Makino 2008, New Astronomy 13, 498), as
//! data.
//!
//! A force of order `p` gives `p / 2` derivatives of the velocity. Those of both ends of a step
//! define a polynomial of degree `p - 1` for the acceleration. It is integrated once for the
//! velocity and twice for the position, and its higher derivatives at the end of the step serve the
//! next step and its length.

use crate::body::{Body, Vector, add, sink, vector};
use kyoho_core::{Forces, Order, Sink};

/// The number of derivatives of the velocity that a force can give: acceleration, jerk, snap,
/// crackle.
pub const MOST: usize = 4;

/// Returns the derivatives of a sink's velocity that a force gives. Those that its order does not
/// have are zero.
pub fn given(forces: &Forces, sink: usize) -> [Vector; MOST] {
    [forces.acceleration(sink), forces.jerk(sink), forces.snap(sink), forces.crackle(sink)]
}

/// A scheme.
#[derive(Debug)]
pub struct Scheme {
    /// The order.
    order: usize,
}

/// The coefficients of a scheme for which a force gives this many derivatives: the interpolated
/// derivatives from the lowest on, each as terms in the given derivatives; see [`Term`].
type Interpolation<const GIVEN: usize> = [[Term; GIVEN]; GIVEN];

/// The term of an interpolated derivative, times a power of the step `h`, in the `i`-th given
/// derivative: `factor h^i (start f0 + end f1)`, where `f0` and `f1` are its values at the start
/// and the end.
#[derive(Debug)]
struct Term {
    factor: f64,
    start: f64,
    end: f64,
}

const fn term(factor: f64, start: f64, end: f64) -> Term {
    Term { factor, start, end }
}

/// The fourth-order scheme (Makino & Aarseth 1992, Publications of the Astronomical Society of
/// Japan 44, 141).
pub static FOURTH: Scheme = Scheme { order: 4 };

/// The sixth-order scheme.
pub static SIXTH: Scheme = Scheme { order: 6 };

/// The eighth-order scheme.
pub static EIGHTH: Scheme = Scheme { order: 8 };

const FOURTH_INTERPOLATION: Interpolation<2> =
    [[term(6.0, -1.0, 1.0), term(-2.0, 2.0, 1.0)], [term(-12.0, -1.0, 1.0), term(6.0, 1.0, 1.0)]];

const SIXTH_INTERPOLATION: Interpolation<3> = [
    [term(60.0, -1.0, 1.0), term(-12.0, 3.0, 2.0), term(3.0, -3.0, 1.0)],
    [term(-360.0, -1.0, 1.0), term(24.0, 8.0, 7.0), term(12.0, 3.0, -2.0)],
    [term(720.0, -1.0, 1.0), term(-360.0, 1.0, 1.0), term(60.0, -1.0, 1.0)],
];

const EIGHTH_INTERPOLATION: Interpolation<4> = [
    [term(840.0, -1.0, 1.0), term(-120.0, 4.0, 3.0), term(60.0, -2.0, 1.0), term(-4.0, 4.0, 1.0)],
    [term(-10080.0, -1.0, 1.0), term(360.0, 15.0, 13.0), term(120.0, 10.0, -7.0), term(60.0, 2.0, 1.0)],
    [term(50400.0, -1.0, 1.0), term(-1440.0, 18.0, 17.0), term(360.0, -15.0, 13.0), term(-120.0, 4.0, 3.0)],
    [term(-100800.0, -1.0, 1.0), term(50400.0, 1.0, 1.0), term(10080.0, 1.0, -1.0), term(840.0, 1.0, 1.0)],
];

/// A body at the end of a step.
#[derive(Debug, Clone, Copy)]
pub struct Corrected {
    /// The body. Its step is still the previous one.
    pub body: Body,
    /// The rounding errors of its position and velocity.
    pub lost: [Vector; 2],
    /// The derivatives of its velocity at the end of the step. There are as many as the order, and
    /// the others are zero.
    pub ends: [Vector; 2 * MOST],
}

impl Scheme {
    /// Returns the scheme of an order. Order 2, the leapfrog's, has none.
    pub fn of(order: Order) -> Option<&'static Scheme> {
        match order {
            Order::Second => None,
            Order::Fourth => Some(&FOURTH),
            Order::Sixth => Some(&SIXTH),
            Order::Eighth => Some(&EIGHTH),
        }
    }

    /// Returns the order.
    pub const fn order(&self) -> usize {
        self.order
    }

    /// Returns how many derivatives of the velocity a force gives.
    pub const fn given(&self) -> usize {
        self.order / 2
    }

    /// Returns how many times larger the error of an acceleration at an end of a step is in a
    /// derivative that is interpolated from it; 0 in those that a force gives.
    #[inline(always)]
    pub fn growth_of_rounding(&self, derivative: usize, step: f64) -> f64 {
        let Some(place) = derivative.checked_sub(self.given()) else { return 0.0 };
        let factor = match self.order {
            4 => FOURTH_INTERPOLATION[place][0].factor,
            6 => SIXTH_INTERPOLATION[place][0].factor,
            _ => EIGHTH_INTERPOLATION[place][0].factor,
        };
        factor.abs() / powers(step)[derivative]
    }

    /// Returns how many derivatives of the velocity a body keeps between steps.
    pub fn kept(&self) -> usize {
        self.order - 2
    }

    /// Returns the body as a sink, predicted from all derivatives that a body of this order keeps.
    #[inline(always)]
    pub fn predict(&self, body: &Body, number: usize, step: f64, softening: f64) -> Sink {
        // A pair of order p needs p / 2 vectors. Further ones are not read.
        let vectors = match self.order {
            4 => predict::<2>(body, step),
            6 => predict::<3>(body, step),
            _ => predict::<4>(body, step),
        };
        sink(number, softening, vectors)
    }

    /// Writes those derivatives of a body after a time that it keeps and no force gives, as they
    /// follow from the known ones.
    pub fn carry(&self, body: &Body, time: f64, derivatives: &mut [Vector]) {
        for (number, derivative) in (self.given()..).zip(&mut derivatives[self.given()..self.kept()]) {
            *derivative = series(&body.derivatives[number..self.kept()], time, 0);
        }
    }

    /// Advances a body by a step at whose end the force is known. `lost` are the rounding errors of
    /// position and velocity, which the next step adds again. In a close encounter they would be
    /// the largest error.
    #[inline(always)]
    pub fn correct(&self, body: &Body, lost: &[Vector; 2], step: f64, force: &[Vector; MOST]) -> Corrected {
        match self.order {
            4 => correct(&FOURTH_INTERPOLATION, body, lost, step, force),
            6 => correct(&SIXTH_INTERPOLATION, body, lost, step, force),
            _ => correct(&EIGHTH_INTERPOLATION, body, lost, step, force),
        }
    }
}

/// Returns a body after a time, with its acceleration, from all derivatives that it keeps.
pub fn predicted(body: &Body, time: f64) -> Body {
    let mut predicted = *body;
    [predicted.position, predicted.velocity, predicted.derivatives[0], ..] = motion_after(body, time);
    predicted
}

/// Returns the position of a body after a time and the derivatives of it that a force of order 8 gives,
/// from all that it keeps.
#[inline]
pub fn motion_after(body: &Body, time: f64) -> [Vector; 1 + MOST] {
    let motion = body.motion();
    std::array::from_fn(|first| series(&motion[first..], time, 0))
}

// These functions are compiled for each order, so that no loop is left whose length depends on it.

/// Returns the vectors of a sink, the first `GIVEN` of which are predicted.
#[inline(always)]
fn predict<const GIVEN: usize>(body: &Body, step: f64) -> [Vector; 4] {
    let motion = body.motion();
    let vector = |first: usize| if first < GIVEN { series(&motion[first..2 * GIVEN], step, 0) } else { [0.0; 3] };
    [vector(0), vector(1), vector(2), vector(3)]
}

/// Advances a body; see [`Scheme::correct`].
#[inline(always)]
fn correct<const GIVEN: usize>(
    interpolation: &Interpolation<GIVEN>,
    body: &Body,
    lost: &[Vector; 2],
    step: f64,
    force: &[Vector; MOST],
) -> Corrected {
    let powers = powers(step);
    let (start, end) = (&body.derivatives[..GIVEN], &force[..GIVEN]);
    let higher = interpolate(interpolation, start, end, step);
    let motion = body.motion();
    let known = |first: usize| series(&motion[first..2 + GIVEN], step, 1);
    // The correction by the `n`-th derivative of the velocity is proportional to step^n / n!
    // after one integration.
    let correction = |order: usize| {
        (GIVEN..).zip(&higher).fold([0.0; 3], |sum, (derivative, value)| {
            let power = derivative + order;
            vector(|k| sum[k] + powers[power] / FACTORIALS[power] * value[k])
        })
    };
    let (moved, position) = (correction(2), known(1));
    let (sped, velocity) = (correction(1), known(2));
    let mut corrected = Corrected { body: *body, lost: *lost, ends: ends(&higher, end, step) };
    let [lost_position, lost_velocity] = &mut corrected.lost;
    add(&mut corrected.body.position, lost_position, vector(|k| moved[k] + step * position[k]));
    add(&mut corrected.body.velocity, lost_velocity, vector(|k| sped[k] + step * velocity[k]));
    let kept = 2 * GIVEN - 2;
    corrected.body.derivatives[..kept].copy_from_slice(&corrected.ends[..kept]);
    corrected
}

/// Returns the derivatives at the end of a step that the fourth-order scheme finds from
/// acceleration and jerk alone. The others are zero.
#[inline(always)]
pub fn fourth_order_ends(start: &[Vector], end: &[Vector], step: f64) -> [Vector; 2 * MOST] {
    ends(&interpolate(&FOURTH_INTERPOLATION, start, end, step), end, step)
}

/// Returns the derivatives that follow the given ones at the start of a step, from the given ones
/// at both ends.
#[inline(always)]
fn interpolate<const GIVEN: usize>(
    interpolation: &Interpolation<GIVEN>,
    start: &[Vector],
    end: &[Vector],
    step: f64,
) -> [Vector; GIVEN] {
    let (mut higher, powers) = ([[0.0; 3]; GIVEN], powers(step));
    for place in 0..GIVEN {
        let mut sum = [0.0; 3];
        for power in 0..GIVEN {
            let Term { factor, start: before, end: after } = interpolation[place][power];
            let (factor, x, y) = (factor * powers[power], &start[power], &end[power]);
            sum = vector(|k| sum[k] + factor * (before * x[k] + after * y[k]));
        }
        let power = powers[GIVEN + place];
        higher[place] = sum.map(|component| component / power);
    }
    higher
}

/// Returns all derivatives at the end of a step: the given ones, and those that were interpolated
/// for its start. The others are zero.
#[inline(always)]
fn ends<const GIVEN: usize>(higher: &[Vector; GIVEN], end: &[Vector], step: f64) -> [Vector; 2 * MOST] {
    let end = |number: usize| match number {
        number if number < GIVEN => end[number],
        number if number < 2 * GIVEN => series(&higher[number - GIVEN..], step, 0),
        _ => [0.0; 3],
    };
    [end(0), end(1), end(2), end(3), end(4), end(5), end(6), end(7)]
}

/// The factorials of the numbers from 0 on.
const FACTORIALS: [f64; 10] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0, 40320.0, 362880.0];

/// Returns the powers of a step from 0 on.
#[inline(always)]
fn powers(step: f64) -> [f64; FACTORIALS.len()] {
    let mut powers = [1.0, step, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    for n in 2..powers.len() {
        let part = 1 << (n - 1).ilog2();
        powers[n] = powers[n - part] * powers[part];
    }
    powers
}

/// Returns the sum of `derivatives[n] step^n / (n + shift)!`. With a shift of 0 it is a Taylor
/// series.
#[inline(always)]
fn series(derivatives: &[Vector], step: f64, shift: usize) -> Vector {
    derivatives
        .iter()
        .enumerate()
        .rev()
        .fold([0.0; 3], |sum, (n, value)| vector(|k| value[k] / FACTORIALS[n + shift] + step * sum[k]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [Order; 3] = [Order::Fourth, Order::Sixth, Order::Eighth];

    /// Returns the `derivative`-th derivative of `t^power`. A negative one is an integral.
    fn monomial(power: usize, derivative: i32, time: f64) -> f64 {
        let left = power as i32 - derivative;
        if left < 0 {
            return 0.0;
        }
        let factorial = |number: i32| (1..=number).map(f64::from).product::<f64>();
        factorial(power as i32) / factorial(left) * time.powi(left)
    }

    /// Returns the `derivative`-th derivatives of accelerations that are powers of the time, one
    /// for each component.
    fn powers(powers: [usize; 3], derivative: i32, time: f64) -> Vector {
        powers.map(|power| monomial(power, derivative, time))
    }

    /// Returns a body whose acceleration is powers of the time, with its derivatives at a time.
    fn body(scheme: &Scheme, exponents: [usize; 3], time: f64) -> Body {
        let mut body = Body::new(1.0, powers(exponents, -2, time), powers(exponents, -1, time));
        for n in 0..scheme.order() - 2 {
            body.derivatives[n] = powers(exponents, n as i32, time);
        }
        body
    }

    /// Asserts that two vectors agree up to rounding on a scale.
    fn assert_near(found: Vector, expected: Vector, scale: f64, what: &str) {
        for k in 0..3 {
            assert!((found[k] - expected[k]).abs() <= 1e-15 * scale, "{what}: {found:?} {expected:?}");
        }
    }

    #[test]
    fn the_corrector_is_exact_for_forces_that_are_polynomials_of_a_degree_below_the_order() {
        let (start, step): (f64, f64) = (0.5, 0.25);
        for order in ORDERS {
            let scheme = Scheme::of(order).unwrap();
            let degree = scheme.order() - 1;
            for exponents in [[0, 1, 2], [degree - 2, degree - 1, degree]] {
                let before = body(scheme, exponents, start);
                let force = std::array::from_fn(|n| powers(exponents, n as i32, start + step));
                let corrected = scheme.correct(&before, &[[0.0; 3]; 2], step, &force);
                let after = body(scheme, exponents, start + step);
                let what = format!("{order:?} {exponents:?}");
                assert_near(corrected.body.position, after.position, 1.0, &what);
                assert_near(corrected.body.velocity, after.velocity, 1.0, &what);
                for n in 0..scheme.order() {
                    // An interpolated derivative is a difference divided by a power of the step.
                    let scale = 4e5 / step.powi(n as i32);
                    assert_near(corrected.ends[n], powers(exponents, n as i32, start + step), scale, &what);
                }
            }
            // The next degree is not exact, so that the order is the promised one and no higher.
            let exponents = [degree + 1; 3];
            let force = std::array::from_fn(|n| powers(exponents, n as i32, start + step));
            let corrected = scheme.correct(&body(scheme, exponents, start), &[[0.0; 3]; 2], step, &force);
            let error = corrected.body.velocity[0] - monomial(degree + 1, -1, start + step);
            assert!(error.abs() > 1e-12, "{order:?}: {error}");
        }
    }

    #[test]
    fn a_sink_is_predicted_from_all_derivatives_that_its_body_keeps() {
        let (start, step): (f64, f64) = (0.5, 0.25);
        for order in ORDERS {
            let scheme = Scheme::of(order).unwrap();
            // The highest power of the position that the coefficients hold is one below the order.
            let exponents = [0, 1, scheme.order() - 3];
            let sink = scheme.predict(&body(scheme, exponents, start), 3, step, 0.1);
            assert_eq!((sink.index, sink.softening2), (3, 0.1 * 0.1));
            for (n, vector) in sink.derivatives.iter().enumerate() {
                let expected =
                    if n < scheme.given() { powers(exponents, n as i32 - 2, start + step) } else { [0.0; 3] };
                assert_near(*vector, expected, 10.0, &format!("{order:?} {n}"));
            }
        }
    }
}
