//! Prediction, forces and neighbours, as the definitions say them.

use crate::catalogue::Order;
use crate::system::{MAX_VECTORS, Sink, Source};

use super::real::{Real, dot, norm};

/// A source at the time of a block.
#[derive(Debug, Clone, Copy)]
pub struct Predicted<R> {
    /// The caller's index.
    pub index: i32,
    /// The mass.
    pub mass: f64,
    /// Position and velocity.
    pub derivatives: [[R; 3]; MAX_VECTORS],
}

/// What all sources do to one sink.
#[derive(Debug, Clone, Copy)]
pub struct Force<R> {
    /// `-sum m s2^(-1/2)`.
    pub potential: R,
    /// `sum w r`.
    pub acceleration: [R; 3],
    /// `sum w (v - 3 alpha r)`; zero for order 2.
    pub jerk: [R; 3],
    /// The squared distance, without softening, and the index of the nearest source that counts.
    pub nearest: Option<(R, i32)>,
    /// How large the errors of a sum in rounded numbers may be.
    pub scale: Scale,
}

/// Sums of absolute values: an error of one unit of rounding in each step of a pair changes a result by a small
/// multiple of these.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scale {
    /// Of the terms themselves: potential, acceleration, jerk (where velocities are rounded too).
    pub terms: [f64; 3],
    /// Of what the terms change by if each coordinate changes by its own size.
    pub coordinates: [f64; 3],
}

/// Derivatives of a source's position at a time: `x + v dt + (a/2) dt^2 + (j/6) dt^3` and its own derivative for order 4;
/// order 2 has positions that do not move.
pub fn predict<R: Real>(order: Order, source: &Source, time: f64) -> [[R; 3]; MAX_VECTORS] {
    let dt = R::from_f64(time) - R::from_f64(source.time);
    let number = R::from_f64;
    let component = |k: usize| -> [R; MAX_VECTORS] {
        let [x, v, a2, j6] = source.taylor.map(|coefficient| number(coefficient[k]));
        match order {
            Order::Second => [x, number(0.0)],
            Order::Fourth => {
                [x + v * dt + a2 * dt * dt + j6 * dt * dt * dt, v + number(2.0) * a2 * dt + number(3.0) * j6 * dt * dt]
            }
        }
    };
    let [x, y, z] = [component(0), component(1), component(2)];
    std::array::from_fn(|derivative| [x[derivative], y[derivative], z[derivative]])
}

/// The sources at a time, in the same order.
pub fn predict_all<'a, R: Real>(
    order: Order,
    sources: impl IntoIterator<Item = &'a Source>,
    time: f64,
) -> Vec<Predicted<R>> {
    let predicted = |source: &Source| Predicted {
        index: source.index,
        mass: source.mass,
        derivatives: predict(order, source, time),
    };
    sources.into_iter().map(predicted).collect()
}

fn difference<R: Real>(source: [R; 3], sink: [f64; 3]) -> [R; 3] {
    std::array::from_fn(|k| source[k] - R::from_f64(sink[k]))
}

/// The force of some sources on a sink.
///
/// With `skip_own_index`, sources with the sink's index do not count. Pairs without softening at no distance add nothing
/// to the sums.
pub fn force<R: Real>(order: Order, sources: &[Predicted<R>], skip_own_index: bool, sink: &Sink) -> Force<R> {
    let number = R::from_f64;
    let zero = number(0.0);
    let mut sum =
        Force { potential: zero, acceleration: [zero; 3], jerk: [zero; 3], nearest: None, scale: Scale::default() };
    for source in sources.iter().filter(|source| !(skip_own_index && source.index == sink.index)) {
        let r = difference(source.derivatives[0], sink.derivatives[0]);
        let r2 = dot(r, r);
        if sum.nearest.is_none_or(|(distance2, _)| r2 < distance2) {
            sum.nearest = Some((r2, source.index));
        }
        let s2 = r2 + number(sink.softening2);
        if s2 == zero {
            continue;
        }
        let potential = number(source.mass) / s2.sqrt();
        let w = potential / s2;
        sum.potential = sum.potential - potential;
        sum.acceleration = std::array::from_fn(|k| sum.acceleration[k] + w * r[k]);
        let mut speeds = [0.0; 2];
        if order == Order::Fourth {
            let v = difference(source.derivatives[1], sink.derivatives[1]);
            let alpha = dot(r, v) / s2;
            for k in 0..3 {
                sum.jerk[k] = sum.jerk[k] + w * (v[k] - number(3.0) * alpha * r[k]);
            }
            speeds = [norm(v), norm(source.derivatives[1]) + norm(sink.derivatives[1])];
        }
        let [w, s] = [w.to_f64().abs(), s2.to_f64().sqrt()];
        let size = norm(source.derivatives[0]) + norm(sink.derivatives[0]);
        let terms = [w * s * s, w * norm(r), 4.0 * w * speeds[1]];
        let coordinates = [w * s * size, 4.0 * w * size, 18.0 * w * speeds[0] * size / s];
        for quantity in 0..3 {
            sum.scale.terms[quantity] += terms[quantity];
            sum.scale.coordinates[quantity] += coordinates[quantity];
        }
    }
    sum
}

/// The indices of the sources with `|r|^2 < radius2`, without softening, ascending, each once.
pub fn neighbours<R: Real>(sources: &[Predicted<R>], skip_own_index: bool, sink: &Sink) -> Vec<i32> {
    let mut found: Vec<i32> = sources
        .iter()
        .filter(|source| !(skip_own_index && source.index == sink.index))
        .filter(|source| {
            let r = difference(source.derivatives[0], sink.derivatives[0]);
            dot(r, r) < R::from_f64(sink.radius2)
        })
        .map(|source| source.index)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::DoubleDouble;

    fn source(index: i32, mass: f64, derivatives: [[f64; 3]; 4]) -> Source {
        Source::from_derivatives(index, mass, 0.0, derivatives)
    }

    fn sink(index: i32, position: [f64; 3]) -> Sink {
        Sink { index, softening2: 0.0, radius2: 0.0, derivatives: [position, [0.0; 3]] }
    }

    #[test]
    fn one_source_acts_as_newton_says() {
        let moving = source(1, 8.0, [[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0; 3], [0.0; 3]]);
        let sources = predict_all::<f64>(Order::Fourth, [&moving], 0.0);
        let force = force(Order::Fourth, &sources, true, &sink(2, [0.0; 3]));
        assert_eq!(force.potential, -4.0);
        assert_eq!(force.acceleration, [2.0, 0.0, 0.0]);
        // w = 1, alpha = 1/2: v - 3/2 r.
        assert_eq!(force.jerk, [-2.0, 3.0, 0.0]);
        assert_eq!(force.nearest, Some((4.0, 1)));
    }

    #[test]
    fn the_jerk_is_the_derivative_of_the_acceleration() {
        let moving = source(1, 1.0, [[1.0, 0.5, -0.25], [0.3, -0.2, 0.1], [0.0; 3], [0.0; 3]]);
        let number = DoubleDouble::from_f64;
        let mut observer = sink(2, [0.0; 3]);
        observer.softening2 = 0.25;
        let at = |time: f64| {
            let sources = predict_all::<DoubleDouble>(Order::Fourth, [&moving], time);
            force(Order::Fourth, &sources, true, &observer)
        };
        let step = 2f64.powi(-20);
        let (before, now, after) = (at(-step), at(0.0), at(step));
        for k in 0..3 {
            let slope = (after.acceleration[k] - before.acceleration[k]) / number(2.0 * step);
            assert!((slope - now.jerk[k]).to_f64().abs() < 1e-11);
        }
    }

    #[test]
    fn the_series_is_that_of_the_derivatives() {
        let falling = source(1, 1.0, [[1.0; 3], [2.0; 3], [6.0; 3], [24.0; 3]]);
        let [position, velocity] = predict::<f64>(Order::Fourth, &falling, 0.5);
        assert_eq!(position, [1.0 + 1.0 + 0.75 + 0.5; 3]);
        assert_eq!(velocity, [2.0 + 3.0 + 3.0; 3]);
        assert_eq!(predict::<f64>(Order::Second, &falling, 0.5)[0], [1.0; 3]);
    }

    #[test]
    fn equal_indices_and_pairs_at_no_distance_add_nothing() {
        let here = source(1, 1.0, [[0.0; 3]; 4]);
        let sources = predict_all::<f64>(Order::Fourth, [&here], 0.0);
        let skipped = force(Order::Fourth, &sources, true, &sink(1, [1.0; 3]));
        assert_eq!((skipped.potential, skipped.nearest), (0.0, None));
        let met = force(Order::Fourth, &sources, true, &sink(2, [0.0; 3]));
        assert_eq!((met.potential, met.acceleration, met.nearest), (0.0, [0.0; 3], Some((0.0, 1))));
    }

    #[test]
    fn the_boundary_is_no_neighbour() {
        let around = [(7, 1.0), (3, 2.0), (7, 0.5), (4, 0.0)]
            .map(|(index, x)| source(index, 1.0, [[x, 0.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]]));
        let sources = predict_all::<f64>(Order::Fourth, &around, 0.0);
        let mut observer = sink(4, [0.0; 3]);
        observer.radius2 = 4.0;
        assert_eq!(neighbours(&sources, true, &observer), [7]);
        assert_eq!(neighbours(&sources, false, &observer), [4, 7]);
    }
}
