//! Prediction, forces and neighbours, computed directly from their definitions.

use crate::reference::real::{Real, dot, norm};
use kyoho_core::{MAX_COEFFICIENTS, MAX_DERIVATIVES, Order, Sink, Source};

/// A source at the time of a block.
#[derive(Debug, Clone, Copy)]
pub struct Predicted<R> {
    /// The caller's index.
    pub index: i32,
    /// The mass.
    pub mass: f64,
    /// Position, velocity, acceleration and jerk.
    pub derivatives: [[R; 3]; MAX_DERIVATIVES],
}

/// The force of all sources on one sink. Quantities that the order does not have are zero.
#[derive(Debug, Clone, Copy)]
pub struct Force<R> {
    /// `-sum m s2^(-1/2)`.
    pub potential: R,
    /// `sum A`, with `A = w r`.
    pub acceleration: [R; 3],
    /// `sum J`, with `J = w v - 3 alpha A`.
    pub jerk: [R; 3],
    /// `sum S`, with `S = w a - 6 alpha J - 3 beta A`.
    pub snap: [R; 3],
    /// `sum w j - 9 alpha S - 9 beta J - 3 gamma A`.
    pub crackle: [R; 3],
    /// The squared distance, without softening, and the index of the nearest source that counts.
    pub nearest: Option<(R, i32)>,
    /// The possible errors of a sum in rounded numbers.
    pub scale: Scale,
}

/// Sums of absolute values. An error of one unit of rounding in each step of a pair changes a
/// result by a small multiple of these.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scale {
    /// The sums of the terms themselves: potential, acceleration, jerk, snap, crackle. They count
    /// the rounding of velocities, accelerations and jerks too.
    pub terms: [f64; 5],
    /// The sums of the changes of the terms if each coordinate changes by its own size.
    pub coordinates: [f64; 5],
}

/// Returns the derivatives of a source's position at a time: the Taylor series, up to the terms
/// that the order has, and its derivatives. In order 2 sources do not move.
pub fn predict<R: Real>(order: Order, source: &Source, time: f64) -> [[R; 3]; MAX_DERIVATIVES] {
    let dt = R::from_f64(time) - R::from_f64(source.time);
    let number = R::from_f64;
    let (terms, vectors) = match order {
        Order::Second => (1, 1),
        Order::Fourth => (4, 2),
        Order::Sixth => (6, 3),
        Order::Eighth => (8, 4),
    };
    let mut powers = [number(1.0); MAX_COEFFICIENTS];
    (1..terms).for_each(|n| powers[n] = powers[n - 1] * dt);
    let mut derivatives = [[number(0.0); 3]; MAX_DERIVATIVES];
    for (q, vector) in derivatives.iter_mut().enumerate().take(vectors) {
        for (k, component) in vector.iter_mut().enumerate() {
            // The q-th derivative of dt^n is n (n - 1) ... (n - q + 1) dt^(n - q).
            for n in q..terms {
                let factor = ((n - q + 1)..=n).fold(1.0, |product, factor| product * factor as f64);
                *component = *component + number(factor) * number(source.coefficients[n][k]) * powers[n - q];
            }
        }
    }
    derivatives
}

/// Returns a source at a time.
pub fn predict_one<R: Real>(order: Order, source: &Source, time: f64) -> Predicted<R> {
    Predicted { index: source.index, mass: source.mass, derivatives: predict(order, source, time) }
}

/// Returns the sources at a time, in the same order.
pub fn predict_all<'a, R: Real>(
    order: Order,
    sources: impl IntoIterator<Item = &'a Source>,
    time: f64,
) -> Vec<Predicted<R>> {
    sources.into_iter().map(|source| predict_one(order, source, time)).collect()
}

pub(super) fn difference<R: Real>(source: [R; 3], sink: [f64; 3]) -> [R; 3] {
    std::array::from_fn(|k| source[k] - R::from_f64(sink[k]))
}

fn scaled<R: Real>(factor: R, vector: [R; 3]) -> [R; 3] {
    vector.map(|component| factor * component)
}

fn add<R: Real>(sum: &mut [R; 3], term: [R; 3]) {
    *sum = std::array::from_fn(|k| sum[k] + term[k]);
}

/// Returns the force of some sources on a sink.
///
/// With `skip_own_index`, sources with the sink's index do not count. Pairs without softening at no
/// distance add nothing to the sums.
pub fn force<R: Real>(order: Order, sources: &[Predicted<R>], skip_own_index: bool, sink: &Sink) -> Force<R> {
    let number = R::from_f64;
    let zero = number(0.0);
    let mut sum = Force {
        potential: zero,
        acceleration: [zero; 3],
        jerk: [zero; 3],
        snap: [zero; 3],
        crackle: [zero; 3],
        nearest: None,
        scale: Scale::default(),
    };
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
        let acceleration = scaled(w, r);
        add(&mut sum.acceleration, acceleration);
        // Differences that the order does not have are zero, and so are the quantities that need
        // them.
        let higher = |q: usize, first: Order| {
            if order >= first { difference(source.derivatives[q], sink.derivatives[q]) } else { [zero; 3] }
        };
        let (v, a, j) = (higher(1, Order::Fourth), higher(2, Order::Sixth), higher(3, Order::Eighth));
        if order >= Order::Fourth {
            let alpha = dot(r, v) / s2;
            let jerk = std::array::from_fn(|k| w * v[k] - number(3.0) * alpha * acceleration[k]);
            add(&mut sum.jerk, jerk);
            if order >= Order::Sixth {
                let beta = (dot(v, v) + dot(r, a)) / s2 + alpha * alpha;
                let snap = std::array::from_fn(|k| {
                    w * a[k] - number(6.0) * alpha * jerk[k] - number(3.0) * beta * acceleration[k]
                });
                add(&mut sum.snap, snap);
                if order >= Order::Eighth {
                    let gamma = (number(3.0) * dot(v, a) + dot(r, j)) / s2
                        + alpha * (number(3.0) * beta - number(4.0) * alpha * alpha);
                    let crackle = std::array::from_fn(|k| {
                        w * j[k]
                            - number(9.0) * alpha * snap[k]
                            - number(9.0) * beta * jerk[k]
                            - number(3.0) * gamma * acceleration[k]
                    });
                    add(&mut sum.crackle, crackle);
                }
            }
        }
        // The bounds are |alpha| <= v/s, |beta| <= 2 (v/s)^2 + a/s and so on, each for the size of
        // a difference and for the sizes of its two terms.
        let size = |q: usize| norm(source.derivatives[q]) + norm(sink.derivatives[q]);
        let [w, s] = [w.to_f64().abs(), s2.to_f64().sqrt()];
        let [v, a, j] = [norm(v), norm(a), norm(j)];
        let [x, vs, accelerations, jerks] = [size(0), size(1), size(2), size(3)];
        let snap = [w * 4.0 * accelerations, w * 60.0 * v * vs / s];
        let crackle = [w * 4.0 * jerks, w * 90.0 * (vs * a + v * accelerations) / s, w * 1100.0 * v * v * vs / (s * s)];
        let terms = [w * s * s, w * norm(r), 4.0 * w * vs, snap.iter().sum(), crackle.iter().sum()];
        let coordinates = [
            w * s * x,
            4.0 * w * x,
            18.0 * w * v * x / s,
            w * (20.0 * a + 180.0 * v * v / s) * x / s,
            w * (24.0 * j + 640.0 * v * a / s + 2700.0 * v * v * v / (s * s)) * x / s,
        ];
        for quantity in 0..5 {
            sum.scale.terms[quantity] += terms[quantity];
            sum.scale.coordinates[quantity] += coordinates[quantity];
        }
    }
    sum
}

/// Returns the indices of the sources with `|r|^2 < radius2`, without softening, ascending, each
/// once.
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
