//! A body and the arithmetic of its vectors.

use kyoho_core::{Order, Sink, Source};
use kyoho_engine::QuadSource;
use kyoho_laws::double_double::two_prod;

/// Three components.
pub type Vector = [f64; 3];

/// The number of derivatives of the velocity that a body can have, which are those of an integrator
/// of order 8.
pub const DERIVATIVES: usize = 6;

/// A body at the time to which it was last advanced.
///
/// The derivatives stand last, so that a low order reads the first of them with the rest.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Body {
    /// The next time step. It is zero before the forces of the start.
    pub step: f64,
    /// The mass, not multiplied by the gravitational constant.
    pub mass: f64,
    /// The position.
    pub position: Vector,
    /// The velocity.
    pub velocity: Vector,
    /// The derivatives of the velocity, from the acceleration on, that the integrator has. The
    /// others are zero.
    pub derivatives: [Vector; DERIVATIVES],
}

impl Body {
    /// Makes a body for which no force was computed yet.
    pub fn new(mass: f64, position: Vector, velocity: Vector) -> Body {
        Body { mass, position, velocity, ..Body::default() }
    }

    /// Returns the body as it moves, for which no force was computed yet.
    pub fn without_forces(&self) -> Body {
        Body::new(self.mass, self.position, self.velocity)
    }

    /// Returns the body as a source for forces of an order, with the derivatives from which that
    /// order predicts. Its mass is multiplied by `gravity`, so that accelerations are in the body's
    /// units.
    #[inline]
    pub fn source(&self, order: Order, number: usize, gravity: f64, time: f64) -> Source {
        let (index, mass) = (number as i32, gravity * self.mass);
        // A Hermite scheme of order p predicts from p derivatives, the position among them.
        match order {
            Order::Second | Order::Fourth => Source::from_derivatives::<4>(index, mass, time, self.first()),
            Order::Sixth => Source::from_derivatives::<6>(index, mass, time, self.first()),
            Order::Eighth => Source::from_derivatives(index, mass, time, self.motion()),
        }
    }

    /// Returns the body as [`Body::source`] does, for forces in numbers of two doubles.
    pub fn quad_source(&self, number: usize, gravity: f64, time: f64) -> QuadSource {
        QuadSource::from_derivatives(number as i32, two_prod(gravity, self.mass), time, self.motion())
    }

    /// Returns the body as a sink at its own time.
    pub fn sink(&self, number: usize, softening: f64) -> Sink {
        sink(number, softening, self.first())
    }

    /// Returns position, velocity, and the derivatives of the velocity.
    #[inline]
    pub fn motion(&self) -> [Vector; 2 + DERIVATIVES] {
        self.first()
    }

    /// Returns the first of the vectors of [`Body::motion`].
    #[inline]
    fn first<const N: usize>(&self) -> [Vector; N] {
        std::array::from_fn(|place| match place {
            0 => self.position,
            1 => self.velocity,
            _ => self.derivatives[place - 2],
        })
    }
}

/// Makes a sink without neighbour list from position, velocity, acceleration and jerk.
pub fn sink(number: usize, softening: f64, derivatives: [Vector; 4]) -> Sink {
    Sink { index: number as i32, softening2: softening * softening, radius2: 0.0, step: 0.0, derivatives }
}

/// Returns the length of a vector.
pub fn length(vector: &Vector) -> f64 {
    vector.iter().map(|component| component * component).sum::<f64>().sqrt()
}

/// Makes a vector from a function of the component.
pub fn vector(component: impl FnMut(usize) -> f64) -> Vector {
    std::array::from_fn(component)
}

/// Returns a sum whose error does not grow with the number of terms (Neumaier 1974, ZAMM 54, 39).
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}

/// Adds terms to sums, and keeps the rounding errors for the next time (Kahan 1965, Communications
/// of the ACM 8, 40).
#[inline(always)]
pub fn add(sums: &mut Vector, lost: &mut Vector, terms: Vector) {
    for ((sum, lost), term) in sums.iter_mut().zip(lost).zip(terms) {
        let term = term + *lost;
        let next = *sum + term;
        *lost = term - (next - *sum);
        *sum = next;
    }
}

/// Returns a number that hardly any other bodies have.
pub fn mark(bodies: &[Body]) -> u64 {
    kyoho_ranks::digest(bodies.iter().flat_map(|body| {
        let Body { step, mass, position, velocity, derivatives } = *body;
        let vectors = [position, velocity].into_iter().chain(derivatives).flatten();
        [step, mass].into_iter().chain(vectors).map(f64::to_bits)
    }))
}

/// Returns a number that hardly any other text has.
pub fn mark_of_text(text: &str) -> u64 {
    kyoho_ranks::digest(text.bytes().map(u64::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_keeps_what_small_terms_add() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum((0..10).map(|_| 0.1)), 1.0);
    }

    #[test]
    fn a_source_has_the_mass_times_gravity_and_divided_derivatives() {
        let derivatives = [2.0, 6.0, 24.0, 120.0, 720.0, 5040.0].map(|number| [number, 0.0, 0.0]);
        let body = Body { derivatives, ..Body::new(3.0, [1.0; 3], [2.0; 3]) };
        for (order, terms) in [(Order::Fourth, 4), (Order::Sixth, 6), (Order::Eighth, 8)] {
            let source = body.source(order, 7, 2.0, 0.5);
            assert_eq!((source.index, source.mass, source.time), (7, 6.0, 0.5));
            assert_eq!(source.coefficients[..2], [[1.0; 3], [2.0; 3]]);
            assert!(source.coefficients[2..terms].iter().all(|coefficient| *coefficient == [1.0, 0.0, 0.0]));
            assert!(source.coefficients[terms..].iter().all(|coefficient| *coefficient == [0.0; 3]));
        }
    }

    #[test]
    fn what_rounding_takes_from_a_sum_comes_back() {
        let (mut sum, mut lost) = ([1.0; 3], [0.0; 3]);
        for _ in 0..1 << 12 {
            add(&mut sum, &mut lost, [1e-17; 3]);
        }
        assert_eq!(sum, [1.0 + 4096.0 * 1e-17; 3]);
    }
}
