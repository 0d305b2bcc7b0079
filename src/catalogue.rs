//! What the library can compute: one constant descriptor for each order and precision.

/// The order of the integrator that the forces are for: which derivatives are summed.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// Potential and acceleration (leapfrog, GRAPE-5).
    Second = 2,
    /// And jerk, nearest neighbour, neighbour lists (Hermite 4, GRAPE-6).
    Fourth = 4,
}

impl Order {
    /// Every order.
    pub const ALL: [Order; 2] = [Order::Second, Order::Fourth];

    /// The order with this number.
    pub fn from_number(number: i32) -> Option<Order> {
        Order::ALL.into_iter().find(|order| *order as i32 == number)
    }
}

/// How exactly pairs are computed and summed; the descriptors say what each means.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Precision {
    /// All of a pair in 32 bits.
    Single = 1,
    /// Differences of positions to 48 bits, the rest of a pair in 32 bits, sums in 64.
    Mixed = 2,
    /// Everything in 64 bits.
    Double = 3,
    /// Everything in double-double.
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

    /// The precision of this name.
    pub fn from_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }

    /// The precision with this number.
    pub fn from_number(number: i32) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| *precision as i32 == number)
    }
}

/// What one order in one precision takes and gives.
#[derive(Debug)]
pub struct Descriptor {
    /// The order.
    pub order: Order,
    /// The precision.
    pub precision: Precision,
    /// Floating-point operations that a pair counts for in TFLOPS (the field's convention, not what a chip executes).
    pub flops_per_pair: u32,
    /// Taylor coefficients that a source has: position, velocity, acceleration / 2, jerk / 6, ...
    pub taylor: usize,
    /// Vectors of a sink and of a predicted source that a pair needs: position, velocity, ...
    pub vectors: usize,
    /// Numbers that are summed for a sink: potential, acceleration, jerk, ... (1 + 3 + 3 + ...).
    pub outputs: usize,
    /// Whether nearest neighbours are found on the way.
    pub nearest: bool,
    /// What the pair arithmetic can bear.
    pub bounds: Bounds,
    /// The aim for the worst relative error of an acceleration in a Plummer model of 16384 bodies.
    pub tolerance: f64,
    /// What it is, in a sentence.
    pub documentation: &'static str,
}

/// What a pair arithmetic can bear: squares and products stay in the range of its numbers.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The largest magnitude of a coordinate.
    pub position: f64,
    /// The largest magnitude of a mass.
    pub mass: f64,
    /// The lowest and the highest binary exponent of the largest mass over the cube of the largest coordinate, at which
    /// `m s^(-3)` has most room for small distances and masses; outside, masses are scaled by a power of two.
    pub weights: (i32, i32),
    /// The lowest and the highest binary exponent of the largest mass; scaling keeps it there.
    pub masses: (i32, i32),
}

const BOUNDS_32: Bounds = Bounds { position: 1e18, mass: 1e37, weights: (-90, 30), masses: (-100, 100) };
const BOUNDS_64: Bounds = Bounds { position: 1e150, mass: 1e300, weights: (-900, 300), masses: (-900, 900) };

const fn second(precision: Precision, bounds: Bounds, tolerance: f64, documentation: &'static str) -> Descriptor {
    Descriptor {
        order: Order::Second,
        precision,
        flops_per_pair: 38,
        taylor: 1,
        vectors: 1,
        outputs: 4,
        nearest: false,
        bounds,
        tolerance,
        documentation,
    }
}

const fn fourth(precision: Precision, bounds: Bounds, tolerance: f64, documentation: &'static str) -> Descriptor {
    Descriptor {
        order: Order::Fourth,
        precision,
        flops_per_pair: 60,
        taylor: 4,
        vectors: 2,
        outputs: 7,
        nearest: true,
        bounds,
        tolerance,
        documentation,
    }
}

/// Every order and precision that some backend computes.
pub const CATALOGUE: &[Descriptor] = &[
    second(
        Precision::Single,
        BOUNDS_32,
        1e-6,
        "potential and acceleration; pairs in 32 bits, tiles of sources summed in 32 bits, tiles added in 64",
    ),
    second(
        Precision::Mixed,
        BOUNDS_32,
        3e-7,
        "potential and acceleration; differences of positions to 48 bits, pairs in 32, tiles added in 64",
    ),
    second(Precision::Double, BOUNDS_64, 5e-15, "potential and acceleration; all in 64 bits"),
    fourth(
        Precision::Single,
        BOUNDS_32,
        1e-6,
        "potential, acceleration, jerk, nearest neighbour; pairs in 32 bits, tiles added in 64",
    ),
    fourth(
        Precision::Mixed,
        BOUNDS_32,
        3e-7,
        "potential, acceleration, jerk, nearest neighbour; differences of positions to 48 bits, pairs in 32, tiles added in 64",
    ),
    fourth(Precision::Double, BOUNDS_64, 5e-15, "potential, acceleration, jerk, nearest neighbour; all in 64 bits"),
];

/// The precisions that some backend computes in some order.
pub fn precisions() -> Vec<Precision> {
    let computed = |precision: &Precision| CATALOGUE.iter().any(|entry| entry.precision == *precision);
    Precision::ALL.into_iter().filter(computed).collect()
}

/// The descriptor of an order in a precision, where some backend computes it.
pub fn descriptor(order: Order, precision: Precision) -> Option<&'static Descriptor> {
    CATALOGUE.iter().find(|entry| entry.order == order && entry.precision == precision)
}
