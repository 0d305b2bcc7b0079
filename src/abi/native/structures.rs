//! The structures, arrays and choices of the interface; the types carry their C names.
//!
//! `arrays`, `communicators`, `integrators` and `pairs` have those of their names. `versions` reads
//! and writes structures of programs that know other fields, and `checks` has what is the same for
//! the fields of many.

#![allow(non_camel_case_types)]

mod arrays;
mod checks;
mod communicators;
mod integrators;
mod pairs;
mod versions;

use std::os::raw::{c_char, c_void};

use super::few_body::{kyoho_few_body_options, kyoho_few_body_outcomes, kyoho_few_body_systems};
use super::{
    kyoho_backend, kyoho_exclusion, kyoho_log_level, kyoho_memory, kyoho_neighbour_criterion, kyoho_number_type,
    kyoho_precision, kyoho_scope,
};

pub use arrays::*;
pub use checks::{bad_field, is_in_limbs, place_of, require_host, require_type, require_unused};
pub use communicators::*;
pub use integrators::*;
pub use pairs::*;
use versions::structures;
pub use versions::{Structure, Structures, empty, read, write};

/// The memory in which the arrays of a structure lie.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Memory of the host.
    Host = 0,
    /// Memory of a CUDA device, or memory that CUDA moves between it and the host. The system is of
    /// backend CUDA and on this device, with a tree as the first of its devices. Without one several
    /// devices get the arrays through the host. Numbers are aligned to their size. The work on the
    /// arrays begins after all that was begun before in the stream that `cuda` names.
    Cuda = 1,
}

/// The sources that a sink leaves out.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclusion {
    /// Sources with the index of the sink: a body does not feel itself.
    ByIndex = 0,
    /// No source: every one counts, also one at the place of the sink, which adds `m /
    /// sqrt(softening2)` to the depth of the potential.
    Nothing = 1,
}

/// How much a log tells; each level includes those before it.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Nothing.
    Off = 0,
    /// Failures.
    Error = 1,
    /// Also deviations from what was asked for, such as going on without a device that failed.
    Warn = 2,
    /// Also the systems that are made and freed, with their devices and the reason for these.
    Info = 3,
    /// Also details of the work, for the search for a fault.
    Debug = 4,
}

/// The type of the numbers of an array of a pair interaction.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// Real numbers of 32 bits.
    F32 = 1,
    /// Real numbers of 64 bits.
    F64 = 2,
    /// Unevaluated sums of two real numbers of 32 bits, the higher one first.
    Ff = 3,
    /// Unevaluated sums of two real numbers of 64 bits, the higher one first.
    Dd = 4,
    /// Integers of 32 bits.
    I32 = 5,
    /// Integers of 32 bits that are never negative.
    U32 = 6,
}

/// A function that is told what is logged, see `kyoho_set_log`.
pub type kyoho_log_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, level: kyoho_log_level, text: *const c_char)>;

/// How a system is made. Begin with KYOHO_OPTIONS_INIT, which leaves everything open, and set what
/// you decide.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 2 for potentials and accelerations; 4 for jerks and nearest neighbours too; 6 for snaps too;
    /// 8 for crackles too. 0: 4.
    pub order: i32,
    /// The precision. 0: what KYOHO_PRECISION says, else KYOHO_PRECISION_DOUBLE. The interactions
    /// that `kyoho_interaction_describe` lists say which orders are computed in which precision.
    pub precision: kyoho_precision,
    /// The scope. 0: KYOHO_SCOPE_FULL.
    pub scope: kyoho_scope,
    /// The backend. 0: what KYOHO_BACKEND says, else the first that has a device; if nobody chose
    /// one and a device fails, then or later, the next backend goes on, and the log says so.
    pub backend: kyoho_backend,
    /// Threads of the CPU backend, of which up to twelve copy the sinks of large blocks for any
    /// backend, the caller's own included. 0: what the environment says (KYOHO_THREADS,
    /// OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, the affinity mask).
    pub threads: i32,
    /// The backend's devices to use: "all", a count such as "2", or a list such as "0,2" (of one:
    /// "3,"); one that is named twice takes twice the share. NULL: what the environment says
    /// (KYOHO_DEVICES, sapporo2.config, GPU_LIST, the launcher's local rank), else the first.
    pub devices: *const c_char,
    /// The crossover in pairs, see `kyoho_system_set_crossover`.
    pub crossover: i64,
    /// The error of accelerations by a tree, 1e-6 to 1e-2, in a system of order 2, relative to the
    /// acceleration, or to half of the sum of the sizes of all pulls where that is more: half of
    /// the sinks have at most this, and 99 of 100 at most five times as much. Blocks of few pairs
    /// are summed directly. All sinks of a block have to have the same softening, unless sources
    /// have softenings. 0: direct sums, or `theta`.
    pub accuracy: f64,
    /// The opening angle of a tree, 0.1 to 1.5, where `accuracy` is 0: a cell of side l whose
    /// centre is the distance s from its middle stands for its sources beyond l / theta + s. 0:
    /// direct sums.
    pub theta: f64,
    /// The ranks of the system, each of which makes its part of it in the same call: one system, in
    /// which each rank has sources and sinks of its own. It is copied. NULL: a system of this
    /// process alone.
    pub communicator: *const kyoho_communicator,
}

/// Sources (j-particles) to write. Begin with KYOHO_SOURCES_INIT, and set what you have. Each array
/// has an element, or a row of 3 numbers, for every source.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_sources {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    pub memory: kyoho_memory,
    /// The number of sources, 0 or more.
    pub count: i32,
    /// The address of the first source where there are no `addresses`; the others follow it.
    pub first_address: i32,
    /// The address of each source, 0 or more; where one is named twice, the later one stays.
    /// Without them: from `first_address` on.
    pub addresses: kyoho_const_integers,
    /// Your name for each source: a sink with the same index does not feel it, and neighbours are
    /// told by it. Without them: the address.
    pub indices: kyoho_const_integers,
    /// The masses, which are required.
    pub masses: kyoho_const_reals,
    /// The time to which position, velocity, ... of each source belong. Without them: 0.
    pub times: kyoho_const_reals,
    /// The positions, in rows; they are required.
    pub positions: kyoho_const_reals,
    /// The velocities, in rows; without them 0. Orders 4, 6 and 8 read them.
    pub velocities: kyoho_const_reals,
    /// The accelerations, in rows, not divided by 2; without them 0. Orders 4, 6 and 8 read them.
    pub accelerations: kyoho_const_reals,
    /// The jerks (time derivatives of the accelerations), in rows, not divided by 6; without them
    /// 0. Orders 4, 6 and 8 read them.
    pub jerks: kyoho_const_reals,
    /// The snaps (time derivatives of the jerks), in rows, not divided by 24; without them 0.
    /// Orders 6 and 8 read them.
    pub snaps: kyoho_const_reals,
    /// The crackles (time derivatives of the snaps), in rows, not divided by 120; without them 0.
    /// Orders 6 and 8 read them.
    pub crackles: kyoho_const_reals,
    /// The sixth time derivatives of the positions, in rows, not divided by 720; without them 0.
    /// Order 8 reads them.
    pub sixth_derivatives: kyoho_const_reals,
    /// The seventh time derivatives of the positions, in rows, not divided by 5040; without them 0.
    /// Order 8 reads them.
    pub seventh_derivatives: kyoho_const_reals,
    /// The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    pub cuda: kyoho_cuda,
    /// The type of all real numbers: KYOHO_NUMBER_TYPE_F64 or 0; or, in a system of
    /// KYOHO_PRECISION_QUAD, KYOHO_NUMBER_TYPE_DD: two doubles for each number, rows of 6 doubles.
    pub number_type: kyoho_number_type,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The square of the softening length, one for each source. The squared softening of a pair is
    /// then the mean of those of its source and its sink. All sources of a system have one, or none
    /// has; without them a pair has that of its sink. They are for full forces by direct sums, in a
    /// system of one process also by trees, of blocks in KYOHO_MEMORY_HOST, and are summed in
    /// double precision where the system is of less.
    pub softening2_each: kyoho_const_reals,
}

/// Sinks (i-particles) that forces are wanted on. Begin with KYOHO_SINKS_INIT, and set what you
/// have. Each array has an element, or a row of 3 numbers, for every sink.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_sinks {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    pub memory: kyoho_memory,
    /// The number of sinks, 0 or more.
    pub count: i32,
    /// KYOHO_EXCLUDE_BY_INDEX, for which `indices` are required, or KYOHO_EXCLUDE_NOTHING, with
    /// which they are not read.
    pub exclusion: kyoho_exclusion,
    /// The index of each sink: sources with the same index exert no force on it and are no
    /// neighbours of it.
    pub indices: kyoho_const_integers,
    /// The positions at the system's time, in rows; they are required.
    pub positions: kyoho_const_reals,
    /// The velocities at the system's time, in rows. Orders 4, 6 and 8 require them; order 2 does
    /// not read them.
    pub velocities: kyoho_const_reals,
    /// The accelerations at the system's time, in rows. Orders 6 and 8 require them; the others do
    /// not read them.
    pub accelerations: kyoho_const_reals,
    /// The jerks at the system's time, in rows. Order 8 requires them; the others do not read them.
    pub jerks: kyoho_const_reals,
    /// The square of the softening length, for every sink.
    pub softening2: f64,
    /// The square of the softening length, one for each sink, in place of `softening2`.
    pub softening2_each: kyoho_const_reals,
    /// The square of the radius of each sink's neighbour list; without them 0, no lists. In a
    /// system of regular forces they are what the neighbour criterion takes. Forces of interaction
    /// lists take none.
    pub radii2: kyoho_const_reals,
    /// The step of each sink, over which a source that comes near is a neighbour; without them 0.
    /// Only systems of regular forces read them.
    pub steps: kyoho_const_reals,
    /// The neighbour criterion in a system of regular forces, where 0 means
    /// KYOHO_NEIGHBOUR_CRITERION_BY_MASS; 0 in others.
    pub neighbour_criterion: kyoho_neighbour_criterion,
    /// The type of all real numbers but `softening2`, as in `kyoho_sources`.
    pub number_type: kyoho_number_type,
    /// The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    pub cuda: kyoho_cuda,
}

/// Interaction lists: groups of sinks, each with the sources that act on it. Begin with
/// KYOHO_LISTS_INIT. The sources of the groups are given in one of three forms, and the fields of
/// the others stay NULL:
///
/// - ranges of the system's sources: `first_addresses` and `source_counts`;
/// - lists of the system's sources: `addresses`, divided by `source_offsets`;
/// - sources of this call, which the system does not keep: `sources`, divided by `source_offsets`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_lists {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    pub memory: kyoho_memory,
    /// The number of groups, 0 or more.
    pub group_count: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The first sink of each group and, behind the last group, the number of sinks: `group_count +
    /// 1` numbers that begin with 0 and do not decrease. The sinks of group g are those from
    /// `sink_offsets[g]` to below `sink_offsets[g + 1]`.
    pub sink_offsets: kyoho_const_integers,
    /// The first place of each group among `addresses` or `sources` and, behind the last group, the
    /// number of these: `group_count + 1` numbers that begin with 0 and do not decrease.
    pub source_offsets: kyoho_const_long_integers,
    /// The addresses of sources, list after list. One may be in many lists, and where it is twice
    /// in one it acts twice.
    pub addresses: kyoho_const_integers,
    /// The first address of each group.
    pub first_addresses: kyoho_const_integers,
    /// The number of addresses of each group.
    pub source_counts: kyoho_const_integers,
    /// The sources of this call, group after group. Their `addresses` and `first_address` have no
    /// meaning and stay NULL and 0; without `indices` their numbers, from 0 on, are their indices.
    pub sources: *const kyoho_sources,
    /// The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    pub cuda: kyoho_cuda,
}

/// Many systems of a few bodies each, in which bodies feel those of their own system. Begin with
/// KYOHO_BATCH_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_batch {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    pub memory: kyoho_memory,
    /// The number of systems, 0 or more.
    pub system_count: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The first body of each system and, behind the last system, the number of bodies:
    /// `system_count + 1` numbers that begin with 0 and do not decrease.
    pub offsets: kyoho_const_integers,
    /// The square of the softening length, for every body.
    pub softening2: f64,
    /// The square of the softening length, one for each body, in place of `softening2`. A pair has
    /// that of the body that feels it.
    pub softening2_each: kyoho_const_reals,
    /// The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    pub cuda: kyoho_cuda,
}

/// The places where forces are written to. Begin with KYOHO_FORCES_INIT, and set what you want.
/// Each array has an element, or a row of 3 numbers, for every sink; no more is written.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_forces {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    pub memory: kyoho_memory,
    /// The potentials `-sum m / sqrt(|r|^2 + softening2)`, negative, with G = 1.
    pub potentials: kyoho_reals,
    /// The accelerations, in rows.
    pub accelerations: kyoho_reals,
    /// The jerks (time derivatives of the accelerations), in rows, of orders 4, 6 and 8.
    pub jerks: kyoho_reals,
    /// The snaps (time derivatives of the jerks), in rows, of orders 6 and 8.
    pub snaps: kyoho_reals,
    /// The crackles (time derivatives of the snaps), in rows, of order 8.
    pub crackles: kyoho_reals,
    /// The index of the nearest source, softening not included; -1 where there is no source. Order
    /// 2 and regular forces have none.
    pub nearest: kyoho_integers,
    /// The square of the distance of the nearest source; infinite where there is no source. Order 2
    /// and regular forces have none.
    pub nearest_distance2: kyoho_reals,
    /// The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    pub cuda: kyoho_cuda,
    /// The type of all real numbers, as in `kyoho_sources`.
    pub number_type: kyoho_number_type,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
}

/// The places where predicted sources are written to. Begin with KYOHO_PREDICTIONS_INIT, and set
/// what you want. Each array has a row of 3 numbers for every address.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_predictions {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// KYOHO_MEMORY_HOST.
    pub memory: kyoho_memory,
    /// The positions; in order 2 those that were written.
    pub positions: kyoho_reals,
    /// The velocities, of orders 4, 6 and 8.
    pub velocities: kyoho_reals,
    /// The accelerations, of orders 6 and 8.
    pub accelerations: kyoho_reals,
    /// The jerks, of order 8.
    pub jerks: kyoho_reals,
    /// The type of all real numbers, as in `kyoho_sources`.
    pub number_type: kyoho_number_type,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
}

/// Counts since a system was made. Begin with KYOHO_STATISTICS_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_statistics {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// Addresses that hold a source.
    pub sources: u64,
    /// Sources written, each time counted.
    pub writes: u64,
    /// Blocks whose forces were computed; the sinks of interaction lists are one, and the bodies of
    /// a batch.
    pub blocks: u64,
    /// Sinks of those blocks.
    pub sinks: u64,
    /// Pairs of a sink and an address below nj, an entry of its list, or a body of its system.
    pub interactions: u64,
    /// Bytes of host memory in use.
    pub bytes: u64,
}

/// The errors of accelerations by a tree, relative to these. Begin with KYOHO_TREE_ERRORS_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_tree_errors {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// Half of the sinks have at most this.
    pub median: f64,
    /// 90 of 100 sinks have at most this.
    pub percentile_90: f64,
    /// 99 of 100 sinks have at most this.
    pub percentile_99: f64,
    /// The largest.
    pub worst: f64,
}

/// An interaction that can be computed: one order in one precision and scope. Begin with
/// KYOHO_INTERACTION_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_interaction {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The order: 2, 4, 6 or 8.
    pub order: i32,
    /// The precision.
    pub precision: kyoho_precision,
    /// The scope.
    pub scope: kyoho_scope,
    /// Vectors that are kept of a source, to predict it with: position, velocity, acceleration, ...
    pub n_coefficients: i32,
    /// Vectors of a sink and of a predicted source that a pair needs: position, velocity,
    /// acceleration, jerk. As many are summed: acceleration, jerk, snap, crackle.
    pub n_derivatives: i32,
    /// Numbers that are summed for a sink, the potential among them.
    pub n_outputs: i32,
    /// Whether the nearest source is found: 1 or 0.
    pub has_nearest: i32,
    /// Whether there are neighbour lists: 1 or 0.
    pub has_neighbours: i32,
    /// Floating-point operations that a pair counts for in TFLOPS, by the convention of the field.
    pub flops_per_pair: i32,
    /// The aim for the worst relative error of an acceleration in a Plummer model of 16384 bodies.
    pub tolerance: f64,
    /// A description for people; it stays as long as the process.
    pub description: *const c_char,
}

// Each structure is listed with the last field that it had in the first version that has it.
structures! {
    kyoho_options, crossover: i64;
    kyoho_communicator, abort: kyoho_abort_callback;
    kyoho_sources, seventh_derivatives: kyoho_const_reals;
    kyoho_sinks, number_type: i32;
    kyoho_forces, nearest_distance2: kyoho_reals;
    kyoho_predictions, jerks: kyoho_reals;
    kyoho_statistics, bytes: u64;
    kyoho_interaction, description: *const c_char;
    kyoho_tree_errors, worst: f64;
    kyoho_lists, cuda: kyoho_cuda;
    kyoho_batch, cuda: kyoho_cuda;
    kyoho_pair_options, backend: i32;
    kyoho_pair_variable, name: *const c_char;
    kyoho_integrator_options, approach_distance: f64;
    kyoho_bodies, radii: kyoho_const_reals;
    kyoho_body_states, radii: kyoho_reals;
    kyoho_evolve_options, progress_seconds: f64;
    kyoho_evolution, approach_time: f64;
    kyoho_encounters, distances: kyoho_reals;
    kyoho_binaries, periods: kyoho_reals;
    kyoho_integration, interactions: u64;
    kyoho_few_body_options, escape_distance: f64;
    kyoho_few_body_systems, radii: kyoho_const_reals;
    kyoho_few_body_outcomes, eccentricities: kyoho_reals;
}
