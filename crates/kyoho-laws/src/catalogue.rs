//! The built-in interactions: one for each order, precision and scope.

use std::sync::{Arc, LazyLock};

use kyoho_core::{Bounds, Error, Interaction, Order, Precision, Scope};

/// Makes the interaction of a full force. The first argument has what all precisions of an order
/// have in common: the order, the derivatives of the position that a pair needs (the position
/// itself among them), and the operations of a pair.
fn entry(
    (order, derivatives, flops_per_pair): (Order, usize, u32),
    precision: Precision,
    documentation: &'static str,
) -> Interaction {
    let (bounds, tolerance) = match precision {
        Precision::Single => (Bounds::SINGLE, 1e-6),
        Precision::Mixed if derivatives > 2 => (Bounds::SINGLE_TO_SNAP, 3e-7),
        Precision::Mixed => (Bounds::SINGLE, 3e-7),
        Precision::Double => (Bounds::DOUBLE, 5e-15),
        Precision::Quad => (Bounds::QUAD, 1e-28),
    };
    Interaction {
        order,
        precision,
        scope: Scope::Full,
        flops_per_pair,
        // GRAPE-5 predicts nothing. A force of k derivatives leaves, from both ends of a step, k
        // more.
        n_coefficients: if derivatives == 1 { 1 } else { 2 * derivatives },
        n_derivatives: derivatives,
        n_outputs: 1 + 3 * derivatives,
        nearest: derivatives > 1,
        bounds,
        tolerance,
        documentation: documentation.into(),
    }
}

/// Makes the interaction of a regular force. Neighbours are found by a rule that names no nearest
/// one.
fn regular(order: (Order, usize, u32), precision: Precision, documentation: &'static str) -> Interaction {
    Interaction { scope: Scope::Regular, nearest: false, ..entry(order, precision, documentation) }
}

const SECOND: (Order, usize, u32) = (Order::Second, 1, 38);
const FOURTH: (Order, usize, u32) = (Order::Fourth, 2, 60);
const SIXTH: (Order, usize, u32) = (Order::Sixth, 3, 97);
const EIGHTH: (Order, usize, u32) = (Order::Eighth, 4, 144);

/// Every order, precision and scope that some backend computes.
pub static CATALOGUE: LazyLock<Vec<Arc<Interaction>>> = LazyLock::new(|| built_in().collect());

/// Makes them one by one, because a small allocation of each does not fail where memory runs out.
fn built_in() -> impl Iterator<Item = Arc<Interaction>> {
    [
        entry(
            SECOND,
            Precision::Single,
            "potential and acceleration; pairs in 32 bits, tiles of sources summed in 32 bits, tiles added in 64",
        ),
        entry(
            SECOND,
            Precision::Mixed,
            "potential and acceleration; differences of positions to 48 bits, pairs in 32, tiles added in 64",
        ),
        entry(SECOND, Precision::Double, "potential and acceleration; all in 64 bits"),
        entry(
            FOURTH,
            Precision::Single,
            "potential, acceleration, jerk, nearest neighbour; pairs in 32 bits, tiles added in 64",
        ),
        entry(
            FOURTH,
            Precision::Mixed,
            "potential, acceleration, jerk, nearest neighbour; differences of positions to 48 bits, pairs in 32, tiles added in 64",
        ),
        entry(FOURTH, Precision::Double, "potential, acceleration, jerk, nearest neighbour; all in 64 bits"),
        entry(
            SIXTH,
            Precision::Mixed,
            "potential, acceleration to snap, nearest neighbour; differences of positions to 48 bits, pairs in 32, tiles added in 64",
        ),
        entry(SIXTH, Precision::Double, "potential, acceleration to snap, nearest neighbour; all in 64 bits"),
        entry(EIGHTH, Precision::Double, "potential, acceleration to crackle, nearest neighbour; all in 64 bits"),
        regular(
            FOURTH,
            Precision::Mixed,
            "potential, acceleration, jerk of all but neighbours; differences of positions to 48 bits, pairs in 32, tiles added in 64",
        ),
        regular(FOURTH, Precision::Double, "potential, acceleration, jerk of all but neighbours; all in 64 bits"),
        entry(SECOND, Precision::Quad, "potential and acceleration; all in numbers of two doubles"),
        entry(FOURTH, Precision::Quad, "potential, acceleration, jerk, nearest neighbour; all in numbers of two doubles"),
        entry(SIXTH, Precision::Quad, "potential, acceleration to snap, nearest neighbour; all in numbers of two doubles"),
        entry(
            EIGHTH,
            Precision::Quad,
            "potential, acceleration to crackle, nearest neighbour; all in numbers of two doubles",
        ),
    ]
    .into_iter()
    .map(Arc::new)
}

/// Returns the interactions with kernels of their own, which are those of all precisions but
/// [`Precision::Quad`].
pub fn with_kernels() -> impl Iterator<Item = &'static Arc<Interaction>> {
    CATALOGUE.iter().filter(|entry| !entry.has_low_limbs())
}

/// Returns the precisions that some backend computes in some order.
pub fn precisions() -> Vec<Precision> {
    let computed = |precision: &Precision| CATALOGUE.iter().any(|entry| entry.precision == *precision);
    Precision::ALL.into_iter().filter(computed).collect()
}

/// Returns the precisions that some backend computes an order in.
pub fn precisions_of(order: Order) -> Vec<Precision> {
    Precision::ALL.into_iter().filter(|precision| interaction(order, *precision).is_some()).collect()
}

/// Returns the error of a backend that does not compute an order in a precision and a scope.
pub fn unsupported(backend: &'static str, (order, precision, scope): (Order, Precision, Scope)) -> Error {
    let kind = if scope == Scope::Regular { "the regular force of " } else { "" };
    let computed = CATALOGUE.iter().filter(|entry| entry.scope == scope);
    let allowed: Vec<String> =
        computed.map(|entry| format!("{} {}", entry.order as i32, entry.precision.name())).collect();
    Error::Unsupported {
        backend,
        forces: format!("{kind}order {} in precision {}", order as i32, precision.name()),
        allowed: allowed.join(", "),
    }
}

/// Returns the interaction of the full force of an order in a precision, where some backend
/// computes it.
pub fn interaction(order: Order, precision: Precision) -> Option<Arc<Interaction>> {
    interaction_of(order, precision, Scope::Full)
}

/// Returns the interaction of an order in a precision and a scope, where some backend computes it.
pub fn interaction_of(order: Order, precision: Precision, scope: Scope) -> Option<Arc<Interaction>> {
    CATALOGUE.iter().find(|entry| (entry.order, entry.precision, entry.scope) == (order, precision, scope)).cloned()
}
