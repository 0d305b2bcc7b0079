//! Arrays of bodies and forces as kernels have them, and where the results of a block are.

use kyoho_core::{BodyColumns, DeviceArray, DeviceForces, Interaction};
use kyoho_hal::gpu::{Address, Gpu};

use super::step::{BodyBounds, Column, Columns, ForceColumns};

/// Results of a piece of a block.
#[derive(Debug, Clone, Copy)]
pub struct PieceResults<A> {
    /// The sums, those of a sink together, and behind them the nearest sources.
    pub results: A,
    /// The place where they begin, in doubles.
    pub from: usize,
    /// The number of the first sink.
    pub first_sink: usize,
    /// The number of sinks.
    pub sinks: usize,
    /// The number of sinks that there is room for.
    pub stride: usize,
}

/// Returns the bounds of bodies in an interaction.
pub fn bounds(interaction: &Interaction) -> BodyBounds {
    let bounds = interaction.bounds;
    BodyBounds { position: bounds.position, mass: bounds.mass, softening2: bounds.position * bounds.position }
}

/// Returns an array as kernels have it, counted from address 0; without one its stride is 0.
pub fn column(array: Option<DeviceArray>) -> Column {
    array.map_or(Column::default(), |array| Column { offset: array.address.cast_signed(), stride: array.stride })
}

/// Returns the quantities of bodies as kernels have them, counted from address 0.
pub fn columns(bodies: &BodyColumns<DeviceArray>) -> Columns {
    let vector = |k: usize| column(bodies.derivatives[k]);
    Columns {
        masses: column(bodies.masses),
        times: column(bodies.times),
        indices: column(bodies.indices),
        softening2: column(bodies.softening2),
        positions: vector(0),
        velocities: vector(1),
        accelerations: vector(2),
        jerks: vector(3),
        snaps: vector(4),
        crackles: vector(5),
        sixth_derivatives: vector(6),
        seventh_derivatives: vector(7),
    }
}

/// Returns the arrays of forces as kernels have them, counted from address 0.
pub fn columns_of_forces(forces: &DeviceForces) -> ForceColumns {
    let [accelerations, jerks, snaps, crackles] = forces.derivatives.map(column);
    ForceColumns {
        potentials: column(forces.potentials),
        accelerations,
        jerks,
        snaps,
        crackles,
        nearest: column(forces.nearest),
        nearest_distance2: column(forces.nearest_distance2),
    }
}

/// A device and its queue, and the argument by which kernels get memory of callers from address 0
/// on.
pub type On<'a, G> = (&'a G, &'a <G as Gpu>::Queue, Address<G>);
