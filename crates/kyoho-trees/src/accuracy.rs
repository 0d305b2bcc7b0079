//! The method by which forces have an accuracy that was asked for: the order and the tolerance.

use kyoho_core::{SinkOrder, TreeAccuracy};

use super::criterion::Criterion;

/// The order of expansions, and the tolerance of the criterion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// The order.
    pub order: usize,
    /// The tolerance.
    pub tolerance: f64,
}

/// The order of expansions where an opening angle is asked for.
const ORDER_OF_THETA: usize = 4;

/// How the forces of a tree are summed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Expansions of cells of sources around cells of sinks.
    Cells {
        /// The order of expansions.
        order: usize,
        /// Their acceptance.
        criterion: Criterion,
    },
    /// A walk for each sink, in which cells are points.
    Stackless {
        /// The opening angle.
        theta: f64,
        /// The order in which threads take the sinks.
        sinks: SinkOrder,
    },
}

impl Method {
    /// Returns the method by which forces have an accuracy.
    pub fn of(accuracy: TreeAccuracy) -> Method {
        match accuracy {
            TreeAccuracy::Error(error) => {
                let Effort { order, tolerance } = Effort::of(error);
                Method::Cells { order, criterion: Criterion::Error { tolerance } }
            }
            TreeAccuracy::Theta(theta) => {
                Method::Cells { order: ORDER_OF_THETA, criterion: Criterion::Angle { theta } }
            }
            TreeAccuracy::Stackless { theta, sinks } => Method::Stackless { theta, sinks },
        }
    }
}

/// Accuracies, each with the order by which it is best had, and the tolerance.
///
/// Each is kept on Plummer's and Hernquist's models, a uniform sphere, a collapsed sphere of clumps
/// and a cosmological sphere, of 5000 to 1.3 10^5 bodies, with small and large softenings.
const EFFORTS: [(f64, Effort); 7] = [
    (1e-2, Effort { order: 3, tolerance: 4e-2 }),
    (3e-3, Effort { order: 4, tolerance: 1.5e-2 }),
    (1e-3, Effort { order: 4, tolerance: 4.2e-3 }),
    (3e-4, Effort { order: 5, tolerance: 1.2e-3 }),
    (1e-4, Effort { order: 5, tolerance: 3e-4 }),
    (1e-5, Effort { order: 6, tolerance: 3e-5 }),
    (1e-6, Effort { order: 6, tolerance: 1e-6 }),
];

impl Effort {
    /// Returns the effort for an accuracy: the bound of the median over all sinks of the error of the
    /// acceleration, relative to it or to half of the sum of the sizes of all pulls, whichever is
    /// more. 99 of 100 sinks have at most five times as much.
    ///
    /// Between two rows of the table the tolerance is interpolated, both in logarithms, and the
    /// order is the higher one.
    pub fn of(accuracy: f64) -> Effort {
        let [least, most] = TreeAccuracy::ERRORS;
        let accuracy = accuracy.clamp(least, most);
        let last = EFFORTS.len() - 2;
        let row = (0..last).find(|row| accuracy > EFFORTS[row + 1].0).unwrap_or(last);
        let ((upper, from), (lower, to)) = (EFFORTS[row], EFFORTS[row + 1]);
        let weight = (upper / accuracy).ln() / (upper / lower).ln();
        let tolerance = from.tolerance * (to.tolerance / from.tolerance).powf(weight);
        let order = if weight == 0.0 { from.order } else { from.order.max(to.order) };
        Effort { order, tolerance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_accuracy_takes_a_smaller_tolerance_or_a_higher_order() {
        let efforts: Vec<Effort> =
            (0..=80).map(|step| Effort::of(10.0_f64.powf(-2.0 - f64::from(step) / 20.0))).collect();
        assert_eq!(
            (efforts[0], efforts[80]),
            (EFFORTS[0].1, Effort { tolerance: efforts[80].tolerance, ..EFFORTS[6].1 })
        );
        for pair in efforts.windows(2) {
            assert!(pair[1].tolerance < pair[0].tolerance && pair[1].order >= pair[0].order, "{pair:?}");
        }
        assert_eq!(Effort::of(1.0), EFFORTS[0].1);
    }
}
