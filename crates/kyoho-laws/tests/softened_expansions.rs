//! Expansions of bodies that have softenings of their own, against plain sums.

use kyoho_core::Level;
use kyoho_laws::lanes::MAX_LANES;
use kyoho_laws::simd::expansions::{CellRecord, Expansions, Kind, Number, SinkCell};
use kyoho_laws::softened_expansion::MAX_TERMS;

/// A body: its place, half of its squared softening, its mass.
type Body = ([f64; 3], f64, f64);

/// Bodies around a centre, whose places and softenings differ from it by up to a size and its square.
fn bodies((center, softening2): ([f64; 3], f64), size: f64, seed: f64) -> Vec<Body> {
    let body = |number: usize| {
        let at = |k: usize| (seed + 2.7 * number as f64 + 1.3 * k as f64).sin();
        let place = std::array::from_fn(|k| center[k] + size * at(k));
        (place, softening2 + size * size * at(3), 1.0 + at(4))
    };
    (0..11).map(body).collect()
}

/// Returns bodies as rows of distances from a centre, filled with bodies of no mass.
fn rows(bodies: &[Body], (center, softening2): ([f64; 3], f64)) -> [Vec<f64>; 5] {
    let filled = |number: &dyn Fn(&Body) -> f64| {
        let mut row: Vec<f64> = bodies.iter().map(number).collect();
        row.resize(bodies.len().next_multiple_of(MAX_LANES), 0.0);
        row
    };
    let axis = |k: usize| filled(&|body| body.0[k] - center[k]);
    [axis(0), axis(1), axis(2), filled(&|body| body.1 - softening2), filled(&|body| body.2)]
}

/// Returns the shift from one centre to another, in the first lane.
fn shift(from: ([f64; 3], f64), to: ([f64; 3], f64)) -> [[f64; MAX_LANES]; 4] {
    let mut shifts = [[0.0; MAX_LANES]; 4];
    (0..3).for_each(|k| shifts[k][0] = to.0[k] - from.0[k]);
    shifts[3][0] = to.1 - from.1;
    shifts
}

/// The largest error of an acceleration by an expansion of cells of a size, relative to it.
fn error(expansions: &dyn Expansions<f64>, size: f64) -> f64 {
    let of_leaf = ([0.2 * size, 0.1 * size, -0.3 * size], 0.3 + 0.4 * size * size);
    let (of_sources, of_sinks) = (([0.0; 3], 0.3), ([1.0, 0.5, -0.7], 0.1));
    let of_group = ([1.0 + 0.2 * size, 0.5, -0.7 - 0.1 * size], 0.1 - 0.3 * size * size);
    let (sources, sinks) = (bodies(of_leaf, size, 0.4), bodies(of_group, size, 5.1));
    let stride = expansions.stride();
    let mut of_child = vec![0.0; stride];
    let [x, y, z, softenings2, masses] = rows(&sources, of_leaf);
    expansions.moments_of_bodies(&masses, [&x, &y, &z, &softenings2], &mut of_child);
    // The moments, and a row of zeros behind them.
    let mut moments = vec![0.0; 2 * stride];
    let mut to_parent = shift(of_leaf, of_sources);
    to_parent[3][0] = -to_parent[3][0];
    expansions.moments_of_children(&of_child, &to_parent, 1, &mut moments[..stride]);
    let record = CellRecord { softening2: of_sources.1, ..CellRecord::default() };
    let sink = SinkCell {
        center: of_sinks.0,
        center_low: [0.0; 3],
        radius: 0.0,
        least_part: 0.0,
        bound: 0.0,
        opens: 0.0,
        softening2: of_sinks.1,
        spread: 0.0,
    };
    let (mut local, mut of_group_local) = ([0.0; MAX_TERMS], [0.0; MAX_TERMS]);
    expansions.add_far(&[record], &moments, &[0], &sink, 0.0, &mut local);
    expansions.shift(&local, &shift(of_sinks, of_group), 1, &mut of_group_local);
    let [x, y, z, softenings2, _] = rows(&sinks, of_group);
    let mut found = [0; 4].map(|_| vec![0.0; x.len()]);
    let [a, b, c, d] = &mut found;
    expansions.values(&of_group_local, [&x, &y, &z, &softenings2], [a, b, c, d]);
    let of_sink = |(number, (place, softening2, _)): (usize, &Body)| {
        let mut sums = [0.0; 4];
        for (at, of_source, mass) in &sources {
            let r: [f64; 3] = std::array::from_fn(|k| at[k] - place[k]);
            let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + softening2 + of_source;
            sums[0] += mass / s2.sqrt();
            (0..3).for_each(|k| sums[1 + k] += mass / (s2 * s2.sqrt()) * r[k]);
        }
        let size = |of: &dyn Fn(usize) -> f64| (1..4).map(|k| of(k).powi(2)).sum::<f64>().sqrt();
        size(&|k| found[k][number] - sums[k]) / size(&|k| sums[k])
    };
    sinks.iter().enumerate().map(of_sink).fold(0.0, f64::max)
}

#[test]
fn errors_fall_as_the_power_of_the_size_that_is_the_order() {
    for level in [Level::Portable, Level::Avx2, Level::Avx512].into_iter().filter(|level| level.is_available()) {
        for order in 2..=6 {
            let expansions = f64::expansions(level, order, Kind::Softened);
            let [large, small] = [0.08, 0.04].map(|size| error(&*expansions, size));
            let power = (large / small).log2();
            assert!(large < 2.0 * 0.3_f64.powi(order as i32), "{level:?}, order {order}: {large:e}");
            assert!(power > order as f64 - 0.5, "{level:?}, order {order}: {large:e}, {small:e}, power {power}");
        }
    }
}
