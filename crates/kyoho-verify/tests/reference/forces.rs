//! The slow and obvious sums are what they are written for: forces of few bodies by hand.

use kyoho_core::{Order, Sink, Source, padded};
use kyoho_verify::reference::{DoubleDouble, Force, Real, force, neighbours, predict, predict_all};

fn source<const N: usize>(index: i32, mass: f64, derivatives: [[f64; 3]; N]) -> Source {
    Source::from_derivatives(index, mass, 0.0, derivatives)
}

fn sink(index: i32, position: [f64; 3]) -> Sink {
    Sink { index, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: padded([position]) }
}

#[test]
fn one_source_acts_as_newton_says() {
    let moving = source(1, 8.0, [[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0; 3], [0.0; 3]]);
    let sources = predict_all::<f64>(Order::Fourth, [&moving], 0.0);
    let force = force(Order::Fourth, &sources, true, &sink(2, [0.0; 3]));
    assert_eq!(force.potential, -4.0);
    assert_eq!(force.acceleration, [2.0, 0.0, 0.0]);
    // Here w = 1 and alpha = 1/2, which gives v - 3/2 r.
    assert_eq!(force.jerk, [-2.0, 3.0, 0.0]);
    assert_eq!(force.nearest, Some((4.0, 1)));
}

#[test]
fn each_derivative_of_the_force_is_that_of_the_one_before() {
    let number = DoubleDouble::from_f64;
    let moving = source(
        1,
        1.0,
        [[1.0, 0.5, -0.25], [0.3, -0.2, 0.1], [-0.4, 0.25, 0.5], [0.2, 0.7, -0.6], [0.3, -0.1, 0.9], [0.5, 0.4, 0.3]],
    );
    let observer = source(2, 1.0, [[0.0; 3], [-0.1, 0.3, 0.2], [0.6, -0.3, 0.1], [-0.2, 0.1, 0.4], [0.1; 3]]);
    let at = |time: f64| {
        let sources = predict_all::<DoubleDouble>(Order::Eighth, [&moving], time);
        let derivatives = predict::<f64>(Order::Eighth, &observer, time);
        force(Order::Eighth, &sources, true, &Sink { index: 2, softening2: 0.25, radius2: 0.0, step: 0.0, derivatives })
    };
    let step = 2f64.powi(-16);
    let (before, now, after) = (at(-step), at(0.0), at(step));
    let quantities = |force: &Force<DoubleDouble>| [force.acceleration, force.jerk, force.snap, force.crackle];
    let [before, now, after] = [quantities(&before), quantities(&now), quantities(&after)];
    for q in 0..3 {
        for k in 0..3 {
            let slope = (after[q][k] - before[q][k]) / number(2.0 * step);
            let error = (slope - now[q + 1][k]).to_f64().abs();
            assert!(error < 1e-8 && now[q + 1][k].to_f64().abs() > 1e-3, "derivative {q}, component {k}: {error}");
        }
    }
}

#[test]
fn the_series_is_that_of_the_derivatives() {
    // The series is x = 1 + t + t^2 + ... + t^7.
    let mut factorial = 1.0;
    let derivatives: [[f64; 3]; 8] = std::array::from_fn(|k| {
        factorial *= (k as f64).max(1.0);
        [factorial; 3]
    });
    let series = source(1, 1.0, derivatives);
    let at_half = |order| predict::<f64>(order, &series, 0.5).map(|[x, ..]| x);
    assert_eq!(at_half(Order::Second), [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(at_half(Order::Fourth), [1.875, 1.0 + 1.0 + 0.75, 0.0, 0.0]);
    assert_eq!(at_half(Order::Sixth), [1.96875, 2.75 + 0.5 + 0.3125, 2.0 + 3.0 + 3.0 + 2.5, 0.0]);
    let velocity = 3.5625 + 6.0 / 32.0 + 7.0 / 64.0;
    let acceleration = 10.5 + 30.0 / 16.0 + 42.0 / 32.0;
    let jerk = 6.0 + 12.0 + 15.0 + 15.0 + 210.0 / 16.0;
    assert_eq!(at_half(Order::Eighth), [1.9921875, velocity, acceleration, jerk]);
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
