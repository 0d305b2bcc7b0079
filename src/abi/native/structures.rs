//! The structures, arrays and choices of the interface; the types carry their C names.

#![allow(non_camel_case_types)]

use std::mem::{MaybeUninit, offset_of};
use std::os::raw::{c_char, c_void};
use std::ptr;

use kyoho_core::{DevicePlace, Error, Interaction, Result};

use super::few_body::{kyoho_few_body_options, kyoho_few_body_outcomes, kyoho_few_body_systems};
use super::rows::Real;
use super::{
    kyoho_backend, kyoho_evolution_end, kyoho_exclusion, kyoho_log_level, kyoho_memory, kyoho_neighbour_criterion,
    kyoho_number_type, kyoho_precision, kyoho_scope, kyoho_step_criterion,
};

/// The memory in which the arrays of a structure lie.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Memory of the host.
    Host = 0,
    /// Memory of a CUDA device, or memory that CUDA moves between it and the host. The system has
    /// to be on this device, of backend CUDA, and on no other but where it has a tree: then this is
    /// the first of its devices. Numbers are aligned to their size. The work on the arrays begins
    /// after all that was begun before in the stream that `cuda` names.
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

/// Real numbers that the library reads: elements, or rows of 3.
///
/// They may be part of your own structures and need no alignment.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_const_reals {
    /// The first one. NULL: there are none.
    pub data: *const f64,
    /// Bytes from one element or row to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Real numbers that the library writes: elements, or rows of 3. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_reals {
    /// The first one. NULL: they are not wanted.
    pub data: *mut f64,
    /// Bytes from one element or row to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers that the library reads. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_const_integers {
    /// The first one. NULL: there are none.
    pub data: *const i32,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers of 64 bits that the library reads. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_const_long_integers {
    /// The first one. NULL: there are none.
    pub data: *const i64,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// Integers that the library writes. Otherwise as `kyoho_const_reals`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_integers {
    /// The first one. NULL: they are not wanted.
    pub data: *mut i32,
    /// Bytes from one to the next; it may be negative. 0: they follow one another.
    pub stride: i64,
}

/// The CUDA device and the stream of arrays in KYOHO_MEMORY_CUDA.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_cuda {
    /// The number of the device, as the options of the system have it.
    pub device: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// Your stream on that device, a CUstream or cudaStream_t. NULL: its default stream.
    pub stream: *mut c_void,
}

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
    /// are summed directly. All sinks of a block have to have the same softening. 0: direct sums,
    /// or `theta`.
    pub accuracy: f64,
    /// The opening angle of a tree, 0.1 to 1.5, where `accuracy` is 0: a cell of side l whose
    /// centre is the distance s from its middle stands for its sources beyond l / theta + s. 0:
    /// direct sums.
    pub theta: f64,
}

/// How a pair interaction is compiled. Begin with KYOHO_PAIR_OPTIONS_INIT, which leaves everything
/// open, and set what you decide.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_pair_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 1: every `f64` of the text is read as `dd`, two doubles. 0: as it was written.
    pub f64_as_dd: i32,
    /// Threads that compute, the caller's own included. 0: what the environment says, as for
    /// systems.
    pub threads: i32,
    /// 1 (CPU), 2 (CUDA), 3 (OpenCL). 0: what the environment says, as for systems; the CPU then
    /// also computes what a GPU cannot.
    pub backend: i32,
    /// The numbers of the backend's devices, such as "0,1", or "all". NULL: what the environment
    /// says, as for systems.
    pub devices: *const c_char,
}

/// A field, a parameter or a result that the text of a pair interaction declares. Begin with
/// KYOHO_PAIR_VARIABLE_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_pair_variable {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The type of its numbers; of a result, the one in which it is handed over.
    pub number_type: kyoho_number_type,
    /// The numbers of a row: 1, or the components of a vector.
    pub width: i32,
    /// The numbers of a table in all; 0: it is none.
    pub table_size: i32,
    /// The name; it stays until the interaction is freed.
    pub name: *const c_char,
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
    /// The square of the softening length, one for each body, in place of `softening2`.
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

/// How an integrator advances bodies. Begin with KYOHO_INTEGRATOR_OPTIONS_INIT, which leaves
/// everything open, and set what you decide.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_integrator_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The criterion of the time steps, of `kyoho_step_criterion`.
    pub criterion: kyoho_step_criterion,
    /// The softening length.
    pub softening: f64,
    /// The gravitational constant in the units of the bodies. 0: 1.
    pub gravity: f64,
    /// The accuracy parameter of the time steps. 0: 0.02 in order 4, whose criterion takes its
    /// square root, 0.2 in order 6 and 0.3 where its criterion is averaged with that of order 4, 0.3
    /// in order 8. Order 2 has none.
    pub eta: f64,
    /// The longest step of a body; 0: no limit. Order 2 needs it: it is the step that all bodies
    /// share, which is shortened where a time is no whole number of steps away.
    pub dt_max: f64,
    /// The shortest step of a body, at least 2^-50 of the time to which bodies evolve in a call.
    pub dt_min: f64,
    /// The time at the start.
    pub time: f64,
    /// The distance below which two bodies have an approach, which ends an evolution; softening is
    /// not included. 0: approaches end none.
    pub approach_distance: f64,
}

/// Bodies to add to an integrator, or to change there. Begin with KYOHO_BODIES_INIT, and set what
/// you have. Each array has an element, or a row of 3 numbers, for every body.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_bodies {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of bodies, 0 or more.
    pub count: i32,
    /// Your names for the bodies, each different; they are required.
    pub identifiers: kyoho_const_integers,
    /// The masses; required for bodies that are added.
    pub masses: kyoho_const_reals,
    /// The positions, in rows; required for bodies that are added.
    pub positions: kyoho_const_reals,
    /// The velocities, in rows; without them bodies that are added are at rest.
    pub velocities: kyoho_const_reals,
    /// The radii: two bodies that are nearer than the sum of theirs collide, which ends an
    /// evolution. Without them those of bodies that are added are 0.
    pub radii: kyoho_const_reals,
}

/// The places where bodies of an integrator are written to. Begin with KYOHO_BODY_STATES_INIT, and
/// set what you want. Each array has an element, or a row of 3 numbers, for every body.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_body_states {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of bodies, 0 or more.
    pub count: i32,
    /// The identifiers of the bodies that are wanted. Without them: the first `count` bodies, in
    /// the order of `kyoho_integrator_identifiers`.
    pub identifiers: kyoho_const_integers,
    /// The masses.
    pub masses: kyoho_reals,
    /// The positions, in rows.
    pub positions: kyoho_reals,
    /// The velocities, in rows.
    pub velocities: kyoho_reals,
    /// The radii.
    pub radii: kyoho_reals,
}

/// A function that is told how far an evolution has come, and that returns 0 to go on and anything
/// else to end it, see `kyoho_evolve_options`.
pub type kyoho_progress_callback =
    Option<unsafe extern "C" fn(context: *mut c_void, time: f64, block_steps: u64) -> i32>;

/// The events that end an evolution before its time. Begin with KYOHO_EVOLVE_OPTIONS_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_evolve_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The number of block steps after which it ends. 0: none.
    pub block_steps: i64,
    /// A function that is called after block steps with `context`, the time, and the number of
    /// block steps of this call; anything but 0 ends the evolution. It must return, so that it may
    /// neither throw an exception nor jump, and it must not call functions on this integrator.
    /// NULL: none.
    pub progress: kyoho_progress_callback,
    /// The argument that `progress` gets.
    pub context: *mut c_void,
    /// The seconds that pass at least between two calls of `progress`. 0: it is called after every
    /// block step.
    pub progress_seconds: f64,
}

/// An evolution that has ended. Begin with KYOHO_EVOLUTION_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_evolution {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The reason, of `kyoho_evolution_end`.
    pub end: kyoho_evolution_end,
    /// The time of the bodies. With KYOHO_EVOLUTION_END_TIME it is that of the call.
    pub time: f64,
    /// The number of block steps.
    pub block_steps: u64,
    /// The number of encounters that ended it, see `kyoho_integrator_encounters`.
    pub encounter_count: i32,
    /// The identifier of one of the bodies of the closest approach.
    pub approach_first: i32,
    /// The identifier of the other one.
    pub approach_second: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// The distance of the closest approach of two bodies, at the ends of block steps, softening
    /// not included. Infinite if there was none, and in order 2, which finds none.
    pub approach_distance: f64,
    /// The time of the closest approach.
    pub approach_time: f64,
}

/// The places where the encounters that ended an evolution are written to. Begin with
/// KYOHO_ENCOUNTERS_INIT, and set what you want. Each array has an element for every encounter.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_encounters {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of encounters for which there is room.
    pub capacity: i32,
    /// The reason of each, of `kyoho_encounter_kind`.
    pub kinds: kyoho_integers,
    /// The identifier of one of the bodies, the one that was added earlier.
    pub first: kyoho_integers,
    /// The identifier of the other one.
    pub second: kyoho_integers,
    /// The distance when the encounter was noticed, at the end of a block step.
    pub distances: kyoho_reals,
}

/// The bodies of an integrator and its work since it was made. Begin with KYOHO_INTEGRATION_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_integration {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of bodies.
    pub body_count: i32,
    /// The time of the bodies.
    pub time: f64,
    /// Steps of single bodies.
    pub steps: u64,
    /// Blocks of bodies that stepped together.
    pub block_steps: u64,
    /// Steps that should have been shorter than the shortest.
    pub limited_steps: u64,
    /// Pairs whose forces were computed.
    pub interactions: u64,
    /// Close passages of two bodies after which their energy, that of their motion round each other,
    /// was another one by more than a hundredth, or in which steps should have been shorter than
    /// the shortest. The errors of the steps have changed it then: a smaller `eta`, a shorter
    /// `dt_min` or softening helps. Order 2 looks for none.
    pub energy_jumps: u64,
    /// The identifiers of the two bodies of the last one.
    pub jump_first: i32,
    /// See `jump_first`.
    pub jump_second: i32,
    /// The time at which they were nearest.
    pub jump_time: f64,
    /// Their distance then, softening not included.
    pub jump_distance: f64,
    /// The shortest step that one of them took.
    pub jump_step: f64,
    /// The change of their energy.
    pub jump_energy: f64,
    /// How many of their steps should have been shorter than the shortest.
    pub jump_limited_steps: u64,
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

/// A structure of the interface. It begins with its own size, so that fields can be added at its
/// end.
///
/// # Safety
/// It is `repr(C)`, an `i32` comes first, there is no padding, and any bytes are a valid value.
pub unsafe trait Structure: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// Its size in the first version. No program has a smaller one.
    const FIRST_SIZE: usize;
}

macro_rules! structures {
    ($($structure:ident, $last_of_first:ident: $last:ty;)*) => {$(
        // SAFETY: numbers, pointers and structures of them, all aligned to 8 bytes but pairs of
        // `i32`.
        unsafe impl Structure for $structure {
            const NAME: &'static str = stringify!($structure);
            const FIRST_SIZE: usize = offset_of!($structure, $last_of_first) + size_of::<$last>();
        }
    )*};
}

// Each structure is listed with the last field that it had in the first version that has it.
structures! {
    kyoho_options, crossover: i64;
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
    kyoho_integration, interactions: u64;
    kyoho_few_body_options, escape_distance: f64;
    kyoho_few_body_systems, radii: kyoho_const_reals;
    kyoho_few_body_outcomes, eccentricities: kyoho_reals;
}

/// Returns a structure with nothing set, as KYOHO_..._INIT makes it.
pub fn empty<S: Structure>() -> S {
    let mut structure = MaybeUninit::<S>::zeroed();
    // SAFETY: the size comes first, and any bytes are a value.
    unsafe {
        structure.as_mut_ptr().cast::<i32>().write(size_of::<S>() as i32);
        structure.assume_init()
    }
}

/// A larger size means an uninitialised structure.
const LARGEST: usize = 4096;

/// Returns the size that a structure of the caller has.
///
/// # Safety
/// The pointer points to the size, and to as many bytes as it says.
unsafe fn size_of_callers<S: Structure>(pointer: *const S) -> Result<usize> {
    let known = size_of::<S>();
    let bad = |size: i32, allowed: String| bad_field(&format!("{}.structure_size", S::NAME), size, allowed);
    // SAFETY: a structure begins with its size.
    let given = unsafe { pointer.cast::<i32>().read_unaligned() };
    let size =
        usize::try_from(given).ok().filter(|size| (S::FIRST_SIZE..=LARGEST).contains(size)).ok_or_else(|| {
            let init = S::NAME.to_uppercase();
            bad(given, format!("sizeof({}), {known} here, as {init}_INIT has it", S::NAME))
        })?;
    // SAFETY: the structure has so many bytes.
    let mut unknown = (known..size).map(|byte| unsafe { pointer.cast::<u8>().add(byte).read() });
    if unknown.any(|byte| byte != 0) {
        let version = env!("CARGO_PKG_VERSION");
        return Err(bad(
            given,
            format!("{known} in version {version}, or zeros in all fields of newer versions, which it does not know"),
        ));
    }
    Ok(size)
}

/// Reads the caller's structure. Fields that its program does not know are zero.
///
/// # Safety
/// The pointer is null or points to the structure's size, and to as many bytes as it says.
#[inline]
pub unsafe fn read<S: Structure>(argument: &'static str, pointer: *const S) -> Result<S> {
    if pointer.is_null() {
        return Err(Error::NullArgument { argument });
    }
    // Nearly every program knows the same fields as the library. This path is fast for callers that
    // write each source alone.
    // SAFETY: the caller's promise; any bytes are a value.
    unsafe {
        if pointer.cast::<i32>().read_unaligned() == size_of::<S>() as i32 {
            return Ok(pointer.read_unaligned());
        }
        read_other(pointer)
    }
}

/// Reads the structure of a program that knows fewer fields, or more.
///
/// # Safety
/// As for [`read`], and the pointer is not null.
#[cold]
unsafe fn read_other<S: Structure>(pointer: *const S) -> Result<S> {
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_callers(pointer) }?;
    let mut structure = MaybeUninit::<S>::zeroed();
    // SAFETY: there are so many bytes at both ends, and any bytes are a value.
    unsafe {
        ptr::copy_nonoverlapping(pointer.cast::<u8>(), structure.as_mut_ptr().cast(), size.min(size_of::<S>()));
        Ok(structure.assume_init())
    }
}

/// Writes the fields that the caller's program knows. The size stays.
///
/// # Safety
/// As for [`read`], and the bytes can be written.
pub unsafe fn write<S: Structure>(argument: &'static str, pointer: *mut S, structure: S) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::NullArgument { argument });
    }
    const SIZE: usize = size_of::<i32>();
    // SAFETY: the caller's promise.
    let size = unsafe { size_of_callers(pointer) }?.min(size_of::<S>());
    let from = (&raw const structure).cast::<u8>();
    // SAFETY: there are so many bytes at both ends.
    unsafe { ptr::copy_nonoverlapping(from.add(SIZE), pointer.cast::<u8>().add(SIZE), size - SIZE) };
    Ok(())
}

/// Returns the error for a field whose value is not allowed.
pub fn bad_field(field: &str, value: impl ToString, allowed: impl Into<String>) -> Error {
    Error::BadOption { name: field.into(), value: value.to_string(), allowed: allowed.into() }
}

/// Returns an error unless the arrays of a structure lie in memory of the host. `field` is the name
/// of the field that says so.
pub fn require_host(field: &str, memory: i32) -> Result<()> {
    if memory == Memory::Host as i32 {
        return Ok(());
    }
    Err(bad_field(field, memory, "0 (KYOHO_MEMORY_HOST)"))
}

/// Whether the real numbers of a structure's arrays are two doubles each. `name` is the structure's,
/// `reserved` its last field.
pub fn is_in_limbs(name: &str, number_type: i32, reserved: i32, interaction: &Interaction) -> Result<bool> {
    const F64: i32 = NumberType::F64 as i32;
    const DD: i32 = NumberType::Dd as i32;
    if reserved != 0 {
        return Err(bad_field(&format!("{name}.reserved"), reserved, "0"));
    }
    match number_type {
        0 | F64 => Ok(false),
        DD if interaction.has_low_limbs() => Ok(true),
        other => {
            let more = if interaction.has_low_limbs() { ", 4 (DD)" } else { "; 4 (DD) in precision quad alone" };
            Err(bad_field(&format!("{name}.number_type"), other, format!("0, 2 (F64){more}")))
        }
    }
}

/// Fails unless the real numbers of a structure's arrays are of a type. See [`is_in_limbs`].
pub fn require_type<T: Real>(name: &str, number_type: i32, reserved: i32, interaction: &Interaction) -> Result<()> {
    if is_in_limbs(name, number_type, reserved, interaction)? == T::IN_LIMBS {
        return Ok(());
    }
    Err(bad_field(&format!("{name}.number_type"), number_type, "0, 2 (F64) in this call"))
}

/// Returns where the arrays of a structure of this name lie, if it is on a device.
pub fn place_of(name: &'static str, memory: i32, cuda: &kyoho_cuda) -> Result<Option<DevicePlace>> {
    const HOST: i32 = Memory::Host as i32;
    const CUDA: i32 = Memory::Cuda as i32;
    match memory {
        HOST => Ok(None),
        CUDA if cuda.reserved != 0 => Err(bad_field(&format!("{name}.cuda.reserved"), cuda.reserved, "0")),
        CUDA => Ok(Some(DevicePlace { name, device: cuda.device, stream: cuda.stream.addr() as u64 })),
        other => Err(bad_field(&format!("{name}.memory"), other, "0 (KYOHO_MEMORY_HOST), 1 (KYOHO_MEMORY_CUDA)")),
    }
}

#[cfg(test)]
mod tests;
