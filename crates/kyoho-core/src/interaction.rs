//! An interaction: an order, a precision and a scope, with the counts and bounds that belong to
//! them.

use std::borrow::Cow;

/// The order of the integrator that the forces are for: which derivatives are summed.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Potential and acceleration (leapfrog, GRAPE-5).
    Second = 2,
    /// And jerk, nearest neighbour, neighbour lists (Hermite 4, GRAPE-6).
    Fourth = 4,
    /// And snap (Hermite 6, Sapporo2's sixth order).
    Sixth = 6,
    /// And crackle (Hermite 8).
    Eighth = 8,
}

impl Order {
    /// Every order.
    pub const ALL: [Order; 4] = [Order::Second, Order::Fourth, Order::Sixth, Order::Eighth];

    /// Returns the order with this number, if there is one.
    pub fn from_number(number: i32) -> Option<Order> {
        Order::ALL.into_iter().find(|order| *order as i32 == number)
    }
}

/// How exactly pairs are computed and summed.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// All of a pair in 32 bits.
    Single = 1,
    /// Differences of positions to 48 bits, the rest of a pair in 32 bits, sums in 64.
    Mixed = 2,
    /// Everything in 64 bits.
    Double = 3,
    /// Everything in numbers of two doubles, about 32 digits, which callers may give and get too.
    Quad = 4,
}

impl Precision {
    /// Every precision.
    pub const ALL: [Precision; 4] = [Precision::Single, Precision::Mixed, Precision::Double, Precision::Quad];

    /// The name, the same in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Precision::Single => "single",
            Precision::Mixed => "mixed",
            Precision::Double => "double",
            Precision::Quad => "quad",
        }
    }

    /// Returns the precision of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// Returns the precision with this number, if there is one.
    pub fn from_number(number: i32) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| *precision as i32 == number)
    }
}

/// The sources that a force is of.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// All of them.
    Full = 1,
    /// Those that are no neighbours of the sink: the regular force of Ahmad & Cohen (1973, Journal
    /// of Computational Physics 12, 389). A neighbour criterion decides.
    Regular = 2,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Scope; 2] = [Scope::Full, Scope::Regular];

    /// The name, the same in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Full => "full",
            Scope::Regular => "regular",
        }
    }

    /// Returns the scope with this number, if there is one.
    pub fn from_number(number: i32) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| *scope as i32 == number)
    }

    /// Returns the scope of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// An interaction: what a pair of one order, precision and scope needs, and what it adds to the
/// sums.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The order.
    pub order: Order,
    /// The precision.
    pub precision: Precision,
    /// The sources that the forces are of.
    pub scope: Scope,
    /// Floating-point operations that a pair counts for in TFLOPS (the field's convention, not what
    /// a chip executes). The test whether a source is a neighbour is not counted; it takes about 16
    /// operations more.
    pub flops_per_pair: u32,
    /// The number of Taylor coefficients of a source: position, velocity, acceleration / 2, jerk /
    /// 6, ...
    pub n_coefficients: usize,
    /// The number of vectors of a sink and of a predicted source that a pair needs: position,
    /// velocity, acceleration, jerk.
    pub n_derivatives: usize,
    /// The count of numbers that are summed for a sink: potential, acceleration, jerk, snap,
    /// crackle (1 + 3 + 3 + ...).
    pub n_outputs: usize,
    /// Whether nearest neighbours are found along with the sums.
    pub nearest: bool,
    /// The bounds of the arithmetic of a pair.
    pub bounds: Bounds,
    /// The aim for the worst relative error of an acceleration in a Plummer model of 16384 bodies.
    pub tolerance: f64,
    /// A description in one sentence.
    pub documentation: Cow<'static, str>,
}

/// The bounds of the arithmetic of a pair, within which squares and products stay in the range of
/// its numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The largest magnitude of a coordinate.
    pub position: f64,
    /// The largest magnitude of a mass.
    pub mass: f64,
    /// Whether lengths and speeds are multiplied with powers of two too, so that those of most
    /// sources are at most about 1. Doubles have room for the caller's.
    pub scales_lengths: bool,
    /// The lowest and the highest binary exponent of the largest mass over the cube of the model's
    /// size at which `m s^(-3)`, and in single precision all that is computed from it, has most
    /// room for small distances and masses. Masses are multiplied with a power of two that brings
    /// the exponent there.
    pub weights: (i32, i32),
    /// The lowest and the highest binary exponent of the largest mass; scaling keeps it there.
    pub masses: (i32, i32),
}

impl Bounds {
    /// The bounds of single precision, whose numbers go from 2^-126 to 2^127. With a largest mass
    /// of 2^-18 and coordinates and speeds of 1 to 16, the term of a jerk has all its bits for a
    /// mass of 2^-40 and a speed of 2^-20 of these at 2^12 times the distance, and does not
    /// overflow down to a distance of 2^-45.
    pub const SINGLE: Bounds =
        Bounds { position: 1e75, mass: 1e75, scales_lengths: true, weights: (-18, -18), masses: (-100, 100) };
    /// The bounds of single precision where snaps are summed. A snap is a mass and a squared speed
    /// over the fourth power of a distance: it has its bits to 2^10 times the distance, and does
    /// not overflow down to 2^-34.
    pub const SINGLE_TO_SNAP: Bounds = Bounds { weights: (-22, -22), ..Bounds::SINGLE };
    /// The bounds of doubles, which have room for the units of every caller.
    pub const DOUBLE: Bounds =
        Bounds { position: 1e150, mass: 1e300, scales_lengths: false, weights: (-900, 300), masses: (-900, 900) };
    /// The bounds of numbers of two doubles, of which the lower has to stay in the range of doubles
    /// too. Masses are not scaled.
    pub const QUAD: Bounds =
        Bounds { position: 1e75, mass: 1e300, scales_lengths: false, weights: (-900, 900), masses: (-900, 900) };
}

impl Interaction {
    /// Whether it has neighbour lists.
    pub fn has_lists(&self) -> bool {
        self.nearest || self.is_regular()
    }

    /// Whether its numbers are sums of two doubles.
    pub fn has_low_limbs(&self) -> bool {
        self.precision == Precision::Quad
    }

    /// Returns the count of numbers that a device hands in for a sink: `n_outputs`, and where
    /// numbers have low limbs, those of the same ones and that of the squared distance of the
    /// nearest source.
    pub fn n_sums(&self) -> usize {
        if self.has_low_limbs() { 2 * self.n_outputs + 1 } else { self.n_outputs }
    }

    /// Whether the force is the regular one, whose sums leave out neighbours.
    pub fn is_regular(&self) -> bool {
        self.scope == Scope::Regular
    }

    /// Returns its name: order, scope and precision.
    pub fn name(&self) -> String {
        name_of(self.order, self.precision, self.scope)
    }
}

/// Returns the name of an order, a precision and a scope; the scope is named where it is not the
/// full force.
pub fn name_of(order: Order, precision: Precision, scope: Scope) -> String {
    let scope = if scope == Scope::Regular { "regular " } else { "" };
    format!("order {} {scope}{}", order as i32, precision.name())
}
