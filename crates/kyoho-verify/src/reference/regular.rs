//! The regular neighbours of a sink, computed directly from their definition.

use crate::reference::forces::{Predicted, difference};
use crate::reference::real::{Real, dot};
use kyoho_core::{NeighbourCriterion, Sink};

/// Returns the smaller of two squared distances of a source from a sink: at the time of the block,
/// and a step of the sink later, when both have moved with their velocities.
pub fn least_distance2<R: Real>(source: &Predicted<R>, sink: &Sink) -> R {
    let r = difference(source.derivatives[0], sink.derivatives[0]);
    let v = difference(source.derivatives[1], sink.derivatives[1]);
    let later = std::array::from_fn(|k| r[k] + R::from_f64(sink.step) * v[k]);
    let [now2, later2] = [dot(r, r), dot(later, later)];
    if later2 < now2 { later2 } else { now2 }
}

/// Returns the squared distance below which a source is a neighbour of a sink.
pub fn reach2<R: Real>(source: &Predicted<R>, sink: &Sink, neighbour_criterion: NeighbourCriterion) -> R {
    match neighbour_criterion {
        NeighbourCriterion::ByMass => R::from_f64(sink.radius2) * R::from_f64(source.mass),
        NeighbourCriterion::Plain => R::from_f64(sink.radius2),
    }
}

/// Whether the regular force of a sink leaves a source out because it is a neighbour.
pub fn is_left_out<R: Real>(source: &Predicted<R>, sink: &Sink, neighbour_criterion: NeighbourCriterion) -> bool {
    least_distance2(source, sink) < reach2(source, sink, neighbour_criterion)
}
