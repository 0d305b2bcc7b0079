//! The regular neighbours of the slow and obvious sums are those of their definition.

use kyoho_core::{NeighbourCriterion, Sink, padded};
use kyoho_verify::reference::{Predicted, is_left_out, least_distance2};

fn source(mass: f64, x: f64, velocity: f64) -> Predicted<f64> {
    Predicted { index: 1, mass, derivatives: padded([[x, 0.0, 0.0], [velocity, 0.0, 0.0]]) }
}

fn sink(radius2: f64, step: f64) -> Sink {
    let derivatives = padded([[0.0; 3], [0.5, 0.0, 0.0]]);
    Sink { index: 2, softening2: 0.0, radius2, step, derivatives }
}

#[test]
fn the_boundary_is_not_left_out() {
    let of_radius2 = |radius2| is_left_out(&source(1.0, 2.0, 0.5), &sink(radius2, 1.0), NeighbourCriterion::Plain);
    assert_eq!([4.0, 4.0 + 1e-9].map(of_radius2), [false, true]);
}

#[test]
fn a_source_that_comes_near_within_the_step_is_left_out() {
    // Relative to the sink it moves from 4 to 4 - 3 = 1 in a step of 2.
    let coming = source(1.0, 4.0, -1.0);
    assert_eq!(least_distance2(&coming, &sink(0.0, 2.0)), 1.0);
    assert_eq!([2.0, 0.0].map(|step| is_left_out(&coming, &sink(4.0, step), NeighbourCriterion::Plain)), [true, false]);
    // The smaller distance of a source that leaves is the present one.
    assert_eq!(least_distance2(&source(1.0, 1.0, 9.0), &sink(0.0, 2.0)), 1.0);
}

#[test]
fn heavy_sources_are_left_out_from_further_off() {
    let of_mass = |mass| is_left_out(&source(mass, 3.0, 0.5), &sink(4.0, 0.0), NeighbourCriterion::ByMass);
    assert_eq!([1.0, 2.25, 2.5].map(of_mass), [false, false, true]);
    assert!(!is_left_out(&source(2.5, 3.0, 0.5), &sink(4.0, 0.0), NeighbourCriterion::Plain));
}
