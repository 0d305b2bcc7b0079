//! The structures that say where a caller's arrays lie; the types carry their C names.

#![allow(non_camel_case_types)]

/// Sources (j-particles) to write. A structure of zeros is a good start; set what you have.
///
/// Each array has an element or a row for every source; `*_stride` is the distance in bytes from one to the next, 0
/// where they follow one another. Arrays may be parts of your own structures and need no alignment.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_sources {
    /// The number of sources, 0 or more.
    pub count: i32,
    /// The address of the first source where `addresses` is NULL; the others follow it.
    pub first_address: i32,
    /// The address of each source, 0 or more; where one is named twice, the later one stays. NULL: from
    /// `first_address` on.
    pub addresses: *const i32,
    /// Bytes from one to the next.
    pub addresses_stride: i64,
    /// Your name for each source: a sink with the same index does not feel it, and neighbours are told by it. NULL:
    /// the address.
    pub indices: *const i32,
    /// Bytes from one to the next.
    pub indices_stride: i64,
    /// The masses.
    pub masses: *const f64,
    /// Bytes from one to the next.
    pub masses_stride: i64,
    /// The time to which position, velocity, ... of each source belong. NULL: 0.
    pub times: *const f64,
    /// Bytes from one to the next.
    pub times_stride: i64,
    /// The positions, 3 numbers a row.
    pub positions: *const f64,
    /// Bytes from one row to the next.
    pub positions_stride: i64,
    /// The velocities, 3 numbers a row. NULL: 0. Orders 4, 6 and 8 read them.
    pub velocities: *const f64,
    /// Bytes from one row to the next.
    pub velocities_stride: i64,
    /// The accelerations, 3 numbers a row, not divided by 2. NULL: 0. Orders 4, 6 and 8 read them.
    pub accelerations: *const f64,
    /// Bytes from one row to the next.
    pub accelerations_stride: i64,
    /// The jerks (time derivatives of the accelerations), 3 numbers a row, not divided by 6. NULL: 0. Orders 4, 6 and 8
    /// read them.
    pub jerks: *const f64,
    /// Bytes from one row to the next.
    pub jerks_stride: i64,
    /// The snaps (time derivatives of the jerks), 3 numbers a row, not divided by 24. NULL: 0. Orders 6 and 8 read
    /// them.
    pub snaps: *const f64,
    /// Bytes from one row to the next.
    pub snaps_stride: i64,
    /// The crackles (time derivatives of the snaps), 3 numbers a row, not divided by 120. NULL: 0. Orders 6 and 8 read
    /// them.
    pub crackles: *const f64,
    /// Bytes from one row to the next.
    pub crackles_stride: i64,
    /// The sixth time derivatives of the positions, 3 numbers a row, not divided by 720. NULL: 0. Order 8 reads them.
    pub sixth_derivatives: *const f64,
    /// Bytes from one row to the next.
    pub sixth_derivatives_stride: i64,
    /// The seventh time derivatives of the positions, 3 numbers a row, not divided by 5040. NULL: 0. Order 8 reads
    /// them.
    pub seventh_derivatives: *const f64,
    /// Bytes from one row to the next.
    pub seventh_derivatives_stride: i64,
}

/// Sinks (i-particles) that forces are wanted on. A structure of zeros is a good start; set what you have. Strides are
/// as in `kyoho_sources`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_sinks {
    /// The number of sinks, 0 or more.
    pub count: i32,
    /// The index of each sink: sources with the same index exert no force on it and are no neighbours of it. NULL:
    /// every source counts.
    pub indices: *const i32,
    /// Bytes from one to the next.
    pub indices_stride: i64,
    /// The positions at the system's time, 3 numbers a row.
    pub positions: *const f64,
    /// Bytes from one row to the next.
    pub positions_stride: i64,
    /// The velocities at the system's time, 3 numbers a row. Orders 4, 6 and 8 need them; order 2 does not read them.
    pub velocities: *const f64,
    /// Bytes from one row to the next.
    pub velocities_stride: i64,
    /// The accelerations at the system's time, 3 numbers a row. Orders 6 and 8 need them; the others do not read them.
    pub accelerations: *const f64,
    /// Bytes from one row to the next.
    pub accelerations_stride: i64,
    /// The jerks at the system's time, 3 numbers a row. Order 8 needs them; the others do not read them.
    pub jerks: *const f64,
    /// Bytes from one row to the next.
    pub jerks_stride: i64,
    /// The square of the softening length, for every sink.
    pub softening2: f64,
    /// The square of the softening length, one for each sink, instead of `softening2`. May be NULL.
    pub softening2_each: *const f64,
    /// Bytes from one to the next.
    pub softening2_each_stride: i64,
    /// The square of the radius of each sink's neighbour list. NULL: 0, no lists.
    pub radii2: *const f64,
    /// Bytes from one to the next.
    pub radii2_stride: i64,
}

/// Where forces are written to. A structure of zeros is a good start; each array that is NULL is not written. Strides
/// are as in `kyoho_sources`. Arrays have a row for each sink; no more is written.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_forces {
    /// The potentials `-sum m / sqrt(|r|^2 + softening2)`, negative, with G = 1.
    pub potentials: *mut f64,
    /// Bytes from one to the next.
    pub potentials_stride: i64,
    /// The accelerations, 3 numbers a row.
    pub accelerations: *mut f64,
    /// Bytes from one row to the next.
    pub accelerations_stride: i64,
    /// The jerks (time derivatives of the accelerations), 3 numbers a row. Order 2 has none: leave it NULL.
    pub jerks: *mut f64,
    /// Bytes from one row to the next.
    pub jerks_stride: i64,
    /// The snaps (time derivatives of the jerks), 3 numbers a row. Orders 2 and 4 have none: leave it NULL.
    pub snaps: *mut f64,
    /// Bytes from one row to the next.
    pub snaps_stride: i64,
    /// The crackles (time derivatives of the snaps), 3 numbers a row. Orders 2, 4 and 6 have none: leave it NULL.
    pub crackles: *mut f64,
    /// Bytes from one row to the next.
    pub crackles_stride: i64,
    /// The index of the nearest source, softening not included; -1 where there is no source. Order 2 finds none: leave
    /// it NULL.
    pub nearest: *mut i32,
    /// Bytes from one to the next.
    pub nearest_stride: i64,
    /// The square of the distance of the nearest source; infinite where there is no source. Order 2 finds none: leave
    /// it NULL.
    pub nearest_distance2: *mut f64,
    /// Bytes from one to the next.
    pub nearest_distance2_stride: i64,
}

/// Where predicted sources are written to. A structure of zeros is a good start; each array that is NULL is not
/// written. Strides are as in `kyoho_sources`. Arrays have a row for each address.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_predictions {
    /// The positions, 3 numbers a row; in order 2 those that were written.
    pub positions: *mut f64,
    /// Bytes from one row to the next.
    pub positions_stride: i64,
    /// The velocities, 3 numbers a row. Order 2 has none: leave it NULL.
    pub velocities: *mut f64,
    /// Bytes from one row to the next.
    pub velocities_stride: i64,
    /// The accelerations, 3 numbers a row. Orders 2 and 4 have none: leave it NULL.
    pub accelerations: *mut f64,
    /// Bytes from one row to the next.
    pub accelerations_stride: i64,
    /// The jerks, 3 numbers a row. Orders 2, 4 and 6 have none: leave it NULL.
    pub jerks: *mut f64,
    /// Bytes from one row to the next.
    pub jerks_stride: i64,
}
