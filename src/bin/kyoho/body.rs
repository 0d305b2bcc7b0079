//! A body and the arithmetic of its vectors.

use kyoho::system::padded;
use kyoho::{Sink, Source};

/// Three components.
pub type Vector = [f64; 3];

/// A body at the time that it was last advanced to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Body {
    /// The mass, not multiplied by the gravitational constant.
    pub mass: f64,
    /// The position.
    pub position: Vector,
    /// The velocity.
    pub velocity: Vector,
    /// The acceleration that was computed last.
    pub acceleration: Vector,
    /// The jerk that was computed last; zero in a leapfrog.
    pub jerk: Vector,
    /// The time step that it takes next; zero before the forces of the start.
    pub step: f64,
}

impl Body {
    /// A body that no force was computed for.
    pub fn new(mass: f64, position: Vector, velocity: Vector) -> Body {
        Body { mass, position, velocity, ..Body::default() }
    }

    /// The body as a source whose mass is multiplied by `gravity`, so that accelerations come out in the body's units.
    pub fn source(&self, number: usize, gravity: f64, time: f64) -> Source {
        let derivatives = [self.position, self.velocity, self.acceleration, self.jerk];
        Source::from_derivatives(number as i32, gravity * self.mass, time, derivatives)
    }

    /// The body as a sink at its own time.
    pub fn sink(&self, number: usize, softening: f64) -> Sink {
        sink(number, softening, [self.position, self.velocity])
    }
}

/// A sink without neighbour list.
pub fn sink<const N: usize>(number: usize, softening: f64, derivatives: [Vector; N]) -> Sink {
    Sink { index: number as i32, softening2: softening * softening, radius2: 0.0, derivatives: padded(derivatives) }
}

/// The length of a vector.
pub fn length(vector: &Vector) -> f64 {
    vector.iter().map(|component| component * component).sum::<f64>().sqrt()
}

/// A vector from its components' places.
pub fn vector(component: impl FnMut(usize) -> f64) -> Vector {
    std::array::from_fn(component)
}

/// A sum whose error does not grow with the number of terms (Neumaier 1974, ZAMM 54, 39).
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
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
        let body = Body { acceleration: [2.0, 0.0, 0.0], jerk: [6.0, 0.0, 0.0], ..Body::new(3.0, [1.0; 3], [2.0; 3]) };
        let source = body.source(7, 2.0, 0.5);
        assert_eq!((source.index, source.mass, source.time), (7, 6.0, 0.5));
        assert_eq!(source.taylor[..4], [[1.0; 3], [2.0; 3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]);
    }
}
