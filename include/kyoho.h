// Kyoho: gravitational forces for direct N-body codes.
//
//     kyoho_options options = KYOHO_OPTIONS_INIT;
//     kyoho_sources sources = KYOHO_SOURCES_INIT;
//     ...
//     kyoho_system_create(&options, &system);
//     kyoho_system_set_sources(system, &sources);
//     for each block step:   kyoho_system_set_time(system, time);
//                            kyoho_system_force(system, nj, &sinks, &forces);
//                            kyoho_system_set_sources(system, &those_that_moved);
//     kyoho_system_free(system);
//
// Every function that returns a kyoho_result gives KYOHO_OK (0) on success; on anything else
// kyoho_last_error says what was wrong. Units are the caller's own, with G = 1. Link with -lkyoho.
//
// Each structure begins with its own size, which KYOHO_..._INIT sets; fields may be added at its
// end. A program works with a library of another version as long as that knows all fields that are
// not 0; else the call is an error.

#ifndef KYOHO_H
#define KYOHO_H

#include <stdint.h>

// The version of this header; `kyoho_version` has that of the library.
#define KYOHO_VERSION_MAJOR 0
#define KYOHO_VERSION_MINOR 2
#define KYOHO_VERSION_PATCH 0
// As one number, which grows.
#define KYOHO_VERSION_NUMBER 200

// A crossover with which the CPU computes no block in the place of another backend.
#define KYOHO_CROSSOVER_OFF (-1)

// The outcome of a call. The numbers never move, new ones fill the gaps.
typedef int32_t kyoho_result;
enum {
    // Success.
    KYOHO_OK = 0,
    // An argument that must point somewhere is null.
    KYOHO_NULL_ARGUMENT = 10,
    // The handle is null, was freed, or never was one.
    KYOHO_BAD_HANDLE = 11,
    // A count is negative or larger than the data it speaks of.
    KYOHO_BAD_COUNT = 12,
    // An address is negative or above 2147483647.
    KYOHO_BAD_ADDRESS = 13,
    // A number is NaN or infinite.
    KYOHO_NOT_FINITE = 14,
    // A finite number is too large for the precision, or a sum overflowed.
    KYOHO_OUT_OF_RANGE = 15,
    // Calls came in an order that has no meaning, such as wait without start.
    KYOHO_CALL_ORDER = 16,
    // An option, an environment variable or a configuration file has a value that is not allowed.
    KYOHO_BAD_OPTION = 17,
    // The caller's buffer is too small; it holds as much as fits.
    KYOHO_BUFFER_TOO_SMALL = 18,
    // The text of a pair interaction is wrong.
    KYOHO_BAD_TEXT = 19,
    // The backend is not there (not built in, no driver, no device).
    KYOHO_NO_BACKEND = 30,
    // The backend does not compute this order in this precision and scope.
    KYOHO_UNSUPPORTED = 31,
    // Memory could not be had.
    KYOHO_OUT_OF_MEMORY = 40,
    // A device failed while it worked.
    KYOHO_DEVICE_FAILED = 41,
    // The communicator of a system over ranks failed.
    KYOHO_COMMUNICATOR_FAILED = 42,
    // A defect of the library. If it ended a call on a system, the system can only be freed.
    KYOHO_INTERNAL = 90,
    // A defect of the library ended an earlier call on the system, integrator, pair interaction or
    // board, which can only be freed or closed.
    KYOHO_POISONED = 91,
};

// How exactly pairs are computed and summed.
typedef int32_t kyoho_precision;
enum {
    // All of a pair in 32 bits.
    KYOHO_PRECISION_SINGLE = 1,
    // Differences of positions to 48 bits, the rest of a pair in 32 bits, sums in 64.
    KYOHO_PRECISION_MIXED = 2,
    // Everything in 64 bits.
    KYOHO_PRECISION_DOUBLE = 3,
    // Everything in numbers of two doubles, about 32 digits, which callers may give and get too.
    KYOHO_PRECISION_QUAD = 4,
};

// The sources that a force is of.
typedef int32_t kyoho_scope;
enum {
    // All of them.
    KYOHO_SCOPE_FULL = 1,
    // Those that are no neighbours of the sink: the regular force of Ahmad & Cohen (1973, Journal
    // of Computational Physics 12, 389). A neighbour criterion decides.
    KYOHO_SCOPE_REGULAR = 2,
};

// The kinds of machine that compute forces.
typedef int32_t kyoho_backend;
enum {
    // SIMD and threads.
    KYOHO_BACKEND_CPU = 1,
    // NVIDIA GPUs.
    KYOHO_BACKEND_CUDA = 2,
    // OpenCL devices.
    KYOHO_BACKEND_OPENCL = 3,
};

// The criterion of the length of steps in orders 6 and 8. Other orders have one criterion.
typedef int32_t kyoho_step_criterion;
enum {
    // The average in order 6 if forces are less precise than double, because their highest
    // derivatives are noise, and otherwise that of the order.
    KYOHO_STEP_CRITERION_USUAL = 0,
    // That of the order (Nitadori & Makino 2008, New Astronomy 13, 498).
    KYOHO_STEP_CRITERION_ORDER = 1,
    // The average of that of the order and that of order 4 (Aarseth 1985, in Multiple Time Scales,
    // Academic Press, 377), of the derivatives that order 4 would find.
    KYOHO_STEP_CRITERION_AVERAGE = 2,
};

// The reason why two bodies have an encounter.
typedef int32_t kyoho_encounter_kind;
enum {
    // They are nearer than the distance of approaches.
    KYOHO_ENCOUNTER_APPROACH = 1,
    // They are nearer than the sum of their radii.
    KYOHO_ENCOUNTER_COLLISION = 2,
    // They have reached the innermost stable orbit around one another, and are one body.
    KYOHO_ENCOUNTER_MERGER = 3,
};

// The reason why an evolution ended.
typedef int32_t kyoho_evolution_end;
enum {
    // The bodies have reached the time.
    KYOHO_EVOLUTION_END_TIME = 0,
    // Some bodies encounter each other, and this ends an evolution.
    KYOHO_EVOLUTION_END_ENCOUNTER = 1,
    // As many block steps were made as were allowed.
    KYOHO_EVOLUTION_END_BLOCK_STEPS = 2,
    // The caller refused to go on.
    KYOHO_EVOLUTION_END_CALLER = 3,
};

// The sources that a sink leaves out.
typedef int32_t kyoho_exclusion;
enum {
    // Sources with the index of the sink: a body does not feel itself.
    KYOHO_EXCLUDE_BY_INDEX = 0,
    // No source: every one counts, also one at the place of the sink, which adds `m /
    // sqrt(softening2)` to the depth of the potential.
    KYOHO_EXCLUDE_NOTHING = 1,
};

// Why a system of few bodies ended.
typedef int32_t kyoho_few_body_end;
enum {
    // Its time has passed.
    KYOHO_FEW_BODY_END_TIME = 0,
    // A part has left, and there is no new binary.
    KYOHO_FEW_BODY_END_ESCAPE = 1,
    // A part has left, and there is a binary of other bodies than at the start.
    KYOHO_FEW_BODY_END_EXCHANGE = 2,
    // Two bodies touch.
    KYOHO_FEW_BODY_END_COLLISION = 3,
    // The steps that are allowed were made.
    KYOHO_FEW_BODY_END_STEPS = 4,
    // Two bodies came so near that no step could be made.
    KYOHO_FEW_BODY_END_NO_STEP = 5,
    // Two bodies are at the innermost stable orbit, where relativistic terms lose their meaning.
    KYOHO_FEW_BODY_END_MERGER = 6,
};

// What a function of a field is asked for.
typedef int32_t kyoho_field_value;
enum {
    // The potential at each position: a number.
    KYOHO_FIELD_VALUE_POTENTIAL = 0,
    // The acceleration of each body: three numbers.
    KYOHO_FIELD_VALUE_ACCELERATION = 1,
    // The derivative by time of the acceleration that the field gives each body, along the way of
    // the body: three numbers.
    KYOHO_FIELD_VALUE_JERK = 2,
};

// How much a log tells; each level includes those before it.
typedef int32_t kyoho_log_level;
enum {
    // Nothing.
    KYOHO_LOG_OFF = 0,
    // Failures.
    KYOHO_LOG_ERROR = 1,
    // Also deviations from what was asked for, such as going on without a device that failed.
    KYOHO_LOG_WARN = 2,
    // Also the systems that are made and freed, with their devices and the reason for these.
    KYOHO_LOG_INFO = 3,
    // Also details of the work, for the search for a fault.
    KYOHO_LOG_DEBUG = 4,
};

// The memory in which the arrays of a structure lie.
typedef int32_t kyoho_memory;
enum {
    // Memory of the host.
    KYOHO_MEMORY_HOST = 0,
    // Memory of a CUDA device, or memory that CUDA moves between it and the host. The system is of
    // backend CUDA and on this device, with a tree as the first of its devices. Without one several
    // devices get the arrays through the host. Numbers are aligned to their size. The work on the
    // arrays begins after all that was begun before in the stream that `cuda` names.
    KYOHO_MEMORY_CUDA = 1,
};

// The rule by which a source is a neighbour of a sink in a system of regular forces. With `r` and
// `v` the differences of positions and velocities, source minus sink, it compares the smaller of
// `|r|^2` and `|r + step v|^2`.
typedef int32_t kyoho_neighbour_criterion;
enum {
    // It is below `radii2` times the mass of the source: heavy sources are neighbours from further
    // off.
    KYOHO_NEIGHBOUR_CRITERION_BY_MASS = 1,
    // It is below `radii2`, whatever the source.
    KYOHO_NEIGHBOUR_CRITERION_PLAIN = 2,
};

// The type of the numbers of an array of a pair interaction.
typedef int32_t kyoho_number_type;
enum {
    // Real numbers of 32 bits.
    KYOHO_NUMBER_TYPE_F32 = 1,
    // Real numbers of 64 bits.
    KYOHO_NUMBER_TYPE_F64 = 2,
    // Unevaluated sums of two real numbers of 32 bits, the higher one first.
    KYOHO_NUMBER_TYPE_FF = 3,
    // Unevaluated sums of two real numbers of 64 bits, the higher one first.
    KYOHO_NUMBER_TYPE_DD = 4,
    // Integers of 32 bits.
    KYOHO_NUMBER_TYPE_I32 = 5,
    // Integers of 32 bits that are never negative.
    KYOHO_NUMBER_TYPE_U32 = 6,
};

// What becomes of bodies that collide.
typedef int32_t kyoho_on_collision;
enum {
    // They end the evolution, and stay as they are.
    KYOHO_ON_COLLISION_END = 0,
    // They become one body, and the evolution goes on.
    KYOHO_ON_COLLISION_MERGE = 1,
};

// Bodies at one time, and the integrator that advances them: by a Hermite scheme of order 4, 6 or
// 8 with block time steps, or by a leapfrog with a shared step, of order 2. As with systems, a
// pointer to it is a handle that the library looks up, and it points to nothing.
//
// Several threads may use several of them at once; calls on one wait for one another.
typedef struct kyoho_integrator kyoho_integrator;

// A pair interaction that was compiled from a text, with its arrays and results. As with systems,
// a pointer to it is a handle that the library looks up, and it points to nothing.
//
// Several threads may use several of them at once; calls on one wait for one another.
typedef struct kyoho_pair kyoho_pair;

// A system of sources and the devices that sum their forces. A pointer to it is a handle that the
// library looks up: it points to nothing, and one that was freed or never was a system is an
// error, not a danger.
//
// Several threads may use several systems at once; calls on one system wait for one another.
typedef struct kyoho_system kyoho_system;

// Gives all ranks the bytes of each, in the order of ranks, as MPI_Allgatherv does: `sent` has
// `count` bytes, and `received` room for `counts[rank]` bytes of each rank from byte
// `offsets[rank]` on. It returns 0, or another number where it failed.
typedef int32_t (*kyoho_all_gather_callback)(void *context,
                                             const void *sent,
                                             int32_t count,
                                             void *received,
                                             const int32_t *counts,
                                             const int32_t *offsets);

// Gives each rank some bytes of every other, as MPI_Alltoallv does: `sent` has
// `sent_counts[rank]` bytes for each rank from byte `sent_offsets[rank]` on, and `received` room
// for those of each. It returns 0, or another number where it failed.
typedef int32_t (*kyoho_all_to_all_callback)(void *context,
                                             const void *sent,
                                             const int32_t *sent_counts,
                                             const int32_t *sent_offsets,
                                             void *received,
                                             const int32_t *received_counts,
                                             const int32_t *received_offsets);

// Ends all ranks, as MPI_Abort does.
typedef void (*kyoho_abort_callback)(void *context);

// How the ranks of one system speak with one another; `kyoho_mpi.h` makes one of your MPI_Comm.
// Begin with KYOHO_COMMUNICATOR_INIT.
//
// The library calls these functions within its own, in the caller's thread, on all ranks in the
// same order, and at most 2^30 bytes at once.
typedef struct kyoho_communicator {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of this rank, from 0 on.
    int32_t rank;
    // The number of ranks, 1 or more.
    int32_t size;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // What the functions get as their first argument.
    void *context;
    // Gathers bytes of all ranks.
    kyoho_all_gather_callback all_gather;
    // Exchanges bytes among all ranks.
    kyoho_all_to_all_callback all_to_all;
    // Ends all ranks. The library calls it only where a defect of its own ended a call on this
    // rank, so that others would wait for ever. NULL: they wait.
    kyoho_abort_callback abort;
} kyoho_communicator;

// A kyoho_communicator with nothing set.
#define KYOHO_COMMUNICATOR_INIT \
    {(int32_t)sizeof(kyoho_communicator), \
     0, 0, 0, 0, 0, 0, 0}

// How a system is made. Begin with KYOHO_OPTIONS_INIT, which leaves everything open, and set what
// you decide.
typedef struct kyoho_options {
    // The size of this structure in bytes.
    int32_t structure_size;
    // 2 for potentials and accelerations; 4 for jerks and nearest neighbours too; 6 for snaps too;
    // 8 for crackles too. 0: 4.
    int32_t order;
    // The precision. 0: what KYOHO_PRECISION says, else KYOHO_PRECISION_DOUBLE. The interactions
    // that `kyoho_interaction_describe` lists say which orders are computed in which precision.
    kyoho_precision precision;
    // The scope. 0: KYOHO_SCOPE_FULL.
    kyoho_scope scope;
    // The backend. 0: what KYOHO_BACKEND says, else the first that has a device; if nobody chose
    // one and a device fails, then or later, the next backend goes on, and the log says so.
    kyoho_backend backend;
    // Threads of the CPU backend, of which up to twelve copy the sinks of large blocks for any
    // backend, the caller's own included. 0: what the environment says (KYOHO_THREADS,
    // OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, the affinity mask).
    int32_t threads;
    // The backend's devices to use: "all", a count such as "2", or a list such as "0,2" (of one:
    // "3,"); one that is named twice takes twice the share. NULL: what the environment says
    // (KYOHO_DEVICES, sapporo2.config, GPU_LIST, the launcher's local rank), else the first.
    const char *devices;
    // The crossover in pairs, see `kyoho_system_set_crossover`.
    int64_t crossover;
    // The error of accelerations by a tree, 1e-6 to 1e-2, in a system of order 2, relative to the
    // acceleration, or to half of the sum of the sizes of all pulls where that is more: half of
    // the sinks have at most this, and 99 of 100 at most five times as much. Blocks of few pairs
    // are summed directly. All sinks of a block have to have the same softening, unless sources
    // have softenings. 0: direct sums, or `theta`.
    double accuracy;
    // The opening angle of a tree, 0.1 to 1.5, where `accuracy` is 0: a cell of side l whose
    // centre is the distance s from its middle stands for its sources beyond l / theta + s. 0:
    // direct sums.
    double theta;
    // The ranks of the system, each of which makes its part of it in the same call: one system, in
    // which each rank has sources and sinks of its own. It is copied. NULL: a system of this
    // process alone.
    const struct kyoho_communicator *communicator;
} kyoho_options;

// A kyoho_options with nothing set.
#define KYOHO_OPTIONS_INIT \
    {(int32_t)sizeof(kyoho_options), \
     0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// An interaction that can be computed: one order in one precision and scope. Begin with
// KYOHO_INTERACTION_INIT.
typedef struct kyoho_interaction {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The order: 2, 4, 6 or 8.
    int32_t order;
    // The precision.
    kyoho_precision precision;
    // The scope.
    kyoho_scope scope;
    // Vectors that are kept of a source, to predict it with: position, velocity, acceleration, ...
    int32_t n_coefficients;
    // Vectors of a sink and of a predicted source that a pair needs: position, velocity,
    // acceleration, jerk. As many are summed: acceleration, jerk, snap, crackle.
    int32_t n_derivatives;
    // Numbers that are summed for a sink, the potential among them.
    int32_t n_outputs;
    // Whether the nearest source is found: 1 or 0.
    int32_t has_nearest;
    // Whether there are neighbour lists: 1 or 0.
    int32_t has_neighbours;
    // Floating-point operations that a pair counts for in TFLOPS, by the convention of the field.
    int32_t flops_per_pair;
    // The aim for the worst relative error of an acceleration in a Plummer model of 16384 bodies.
    double tolerance;
    // A description for people; it stays as long as the process.
    const char *description;
} kyoho_interaction;

// A kyoho_interaction with nothing set.
#define KYOHO_INTERACTION_INIT \
    {(int32_t)sizeof(kyoho_interaction), \
     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
     0}

// Counts since a system was made. Begin with KYOHO_STATISTICS_INIT.
typedef struct kyoho_statistics {
    // The size of this structure in bytes.
    int32_t structure_size;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // Addresses that hold a source.
    uint64_t sources;
    // Sources written, each time counted.
    uint64_t writes;
    // Blocks whose forces were computed; the sinks of interaction lists are one, and the bodies of
    // a batch.
    uint64_t blocks;
    // Sinks of those blocks.
    uint64_t sinks;
    // Pairs of a sink and an address below nj, an entry of its list, or a body of its system.
    uint64_t interactions;
    // Bytes of host memory in use.
    uint64_t bytes;
} kyoho_statistics;

// A kyoho_statistics with nothing set.
#define KYOHO_STATISTICS_INIT \
    {(int32_t)sizeof(kyoho_statistics), \
     0, 0, 0, 0, 0, 0, 0}

// Integers that the library reads. Otherwise as `kyoho_const_reals`.
typedef struct kyoho_const_integers {
    // The first one. NULL: there are none.
    const int32_t *data;
    // Bytes from one to the next; it may be negative. 0: they follow one another.
    int64_t stride;
} kyoho_const_integers;

// Real numbers that the library reads: elements, or rows of 3.
//
// They may be part of your own structures and need no alignment.
typedef struct kyoho_const_reals {
    // The first one. NULL: there are none.
    const double *data;
    // Bytes from one element or row to the next; it may be negative. 0: they follow one another.
    int64_t stride;
} kyoho_const_reals;

// The CUDA device and the stream of arrays in KYOHO_MEMORY_CUDA.
typedef struct kyoho_cuda {
    // The number of the device, as the options of the system have it.
    int32_t device;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // Your stream on that device, a CUstream or cudaStream_t. NULL: its default stream.
    void *stream;
} kyoho_cuda;

// Sources (j-particles) to write. Begin with KYOHO_SOURCES_INIT, and set what you have. Each array
// has an element, or a row of 3 numbers, for every source.
typedef struct kyoho_sources {
    // The size of this structure in bytes.
    int32_t structure_size;
    // KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    kyoho_memory memory;
    // The number of sources, 0 or more.
    int32_t count;
    // The address of the first source where there are no `addresses`; the others follow it.
    int32_t first_address;
    // The address of each source, 0 or more; where one is named twice, the later one stays.
    // Without them: from `first_address` on.
    struct kyoho_const_integers addresses;
    // Your name for each source: a sink with the same index does not feel it, and neighbours are
    // told by it. Without them: the address.
    struct kyoho_const_integers indices;
    // The masses, which are required.
    struct kyoho_const_reals masses;
    // The time to which position, velocity, ... of each source belong. Without them: 0.
    struct kyoho_const_reals times;
    // The positions, in rows; they are required.
    struct kyoho_const_reals positions;
    // The velocities, in rows; without them 0. Orders 4, 6 and 8 read them.
    struct kyoho_const_reals velocities;
    // The accelerations, in rows, not divided by 2; without them 0. Orders 4, 6 and 8 read them.
    struct kyoho_const_reals accelerations;
    // The jerks (time derivatives of the accelerations), in rows, not divided by 6; without them
    // 0. Orders 4, 6 and 8 read them.
    struct kyoho_const_reals jerks;
    // The snaps (time derivatives of the jerks), in rows, not divided by 24; without them 0.
    // Orders 6 and 8 read them.
    struct kyoho_const_reals snaps;
    // The crackles (time derivatives of the snaps), in rows, not divided by 120; without them 0.
    // Orders 6 and 8 read them.
    struct kyoho_const_reals crackles;
    // The sixth time derivatives of the positions, in rows, not divided by 720; without them 0.
    // Order 8 reads them.
    struct kyoho_const_reals sixth_derivatives;
    // The seventh time derivatives of the positions, in rows, not divided by 5040; without them 0.
    // Order 8 reads them.
    struct kyoho_const_reals seventh_derivatives;
    // The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    struct kyoho_cuda cuda;
    // The type of all real numbers: KYOHO_NUMBER_TYPE_F64 or 0; or, in a system of
    // KYOHO_PRECISION_QUAD, KYOHO_NUMBER_TYPE_DD: two doubles for each number, rows of 6 doubles.
    kyoho_number_type number_type;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // The square of the softening length, one for each source. The squared softening of a pair is
    // then the mean of those of its source and its sink. All sources of a system have one, or none
    // has; without them a pair has that of its sink. They are for full forces by direct sums, in a
    // system of one process also by trees, of blocks in KYOHO_MEMORY_HOST, and are summed in
    // double precision where the system is of less.
    struct kyoho_const_reals softening2_each;
} kyoho_sources;

// A kyoho_sources with nothing set.
#define KYOHO_SOURCES_INIT \
    {(int32_t)sizeof(kyoho_sources), \
     0, 0, 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, \
     {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0, 0}, 0, 0, {0, 0}}

// Real numbers that the library writes: elements, or rows of 3. Otherwise as `kyoho_const_reals`.
typedef struct kyoho_reals {
    // The first one. NULL: they are not wanted.
    double *data;
    // Bytes from one element or row to the next; it may be negative. 0: they follow one another.
    int64_t stride;
} kyoho_reals;

// The places where predicted sources are written to. Begin with KYOHO_PREDICTIONS_INIT, and set
// what you want. Each array has a row of 3 numbers for every address.
typedef struct kyoho_predictions {
    // The size of this structure in bytes.
    int32_t structure_size;
    // KYOHO_MEMORY_HOST.
    kyoho_memory memory;
    // The positions; in order 2 those that were written.
    struct kyoho_reals positions;
    // The velocities, of orders 4, 6 and 8.
    struct kyoho_reals velocities;
    // The accelerations, of orders 6 and 8.
    struct kyoho_reals accelerations;
    // The jerks, of order 8.
    struct kyoho_reals jerks;
    // The type of all real numbers, as in `kyoho_sources`.
    kyoho_number_type number_type;
    // 0; there is no meaning in it yet.
    int32_t reserved;
} kyoho_predictions;

// A kyoho_predictions with nothing set.
#define KYOHO_PREDICTIONS_INIT \
    {(int32_t)sizeof(kyoho_predictions), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, 0}

// Sinks (i-particles) that forces are wanted on. Begin with KYOHO_SINKS_INIT, and set what you
// have. Each array has an element, or a row of 3 numbers, for every sink.
typedef struct kyoho_sinks {
    // The size of this structure in bytes.
    int32_t structure_size;
    // KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    kyoho_memory memory;
    // The number of sinks, 0 or more.
    int32_t count;
    // KYOHO_EXCLUDE_BY_INDEX, for which `indices` are required, or KYOHO_EXCLUDE_NOTHING, with
    // which they are not read.
    kyoho_exclusion exclusion;
    // The index of each sink: sources with the same index exert no force on it and are no
    // neighbours of it.
    struct kyoho_const_integers indices;
    // The positions at the system's time, in rows; they are required.
    struct kyoho_const_reals positions;
    // The velocities at the system's time, in rows. Orders 4, 6 and 8 require them; order 2 does
    // not read them.
    struct kyoho_const_reals velocities;
    // The accelerations at the system's time, in rows. Orders 6 and 8 require them; the others do
    // not read them.
    struct kyoho_const_reals accelerations;
    // The jerks at the system's time, in rows. Order 8 requires them; the others do not read them.
    struct kyoho_const_reals jerks;
    // The square of the softening length, for every sink.
    double softening2;
    // The square of the softening length, one for each sink, in place of `softening2`.
    struct kyoho_const_reals softening2_each;
    // The square of the radius of each sink's neighbour list; without them 0, no lists. In a
    // system of regular forces they are what the neighbour criterion takes. Forces of interaction
    // lists take none.
    struct kyoho_const_reals radii2;
    // The step of each sink, over which a source that comes near is a neighbour; without them 0.
    // Only systems of regular forces read them.
    struct kyoho_const_reals steps;
    // The neighbour criterion in a system of regular forces, where 0 means
    // KYOHO_NEIGHBOUR_CRITERION_BY_MASS; 0 in others.
    kyoho_neighbour_criterion neighbour_criterion;
    // The type of all real numbers but `softening2`, as in `kyoho_sources`.
    kyoho_number_type number_type;
    // The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    struct kyoho_cuda cuda;
} kyoho_sinks;

// A kyoho_sinks with nothing set.
#define KYOHO_SINKS_INIT \
    {(int32_t)sizeof(kyoho_sinks), \
     0, 0, 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, {0, 0}, \
     {0, 0}, {0, 0}, 0, 0, {0, 0, 0}}

// Integers that the library writes. Otherwise as `kyoho_const_reals`.
typedef struct kyoho_integers {
    // The first one. NULL: they are not wanted.
    int32_t *data;
    // Bytes from one to the next; it may be negative. 0: they follow one another.
    int64_t stride;
} kyoho_integers;

// The places where forces are written to. Begin with KYOHO_FORCES_INIT, and set what you want.
// Each array has an element, or a row of 3 numbers, for every sink; no more is written.
typedef struct kyoho_forces {
    // The size of this structure in bytes.
    int32_t structure_size;
    // KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    kyoho_memory memory;
    // The potentials `-sum m / sqrt(|r|^2 + softening2)`, negative, with G = 1.
    struct kyoho_reals potentials;
    // The accelerations, in rows.
    struct kyoho_reals accelerations;
    // The jerks (time derivatives of the accelerations), in rows, of orders 4, 6 and 8.
    struct kyoho_reals jerks;
    // The snaps (time derivatives of the jerks), in rows, of orders 6 and 8.
    struct kyoho_reals snaps;
    // The crackles (time derivatives of the snaps), in rows, of order 8.
    struct kyoho_reals crackles;
    // The index of the nearest source, softening not included; -1 where there is no source. Order
    // 2 and regular forces have none.
    struct kyoho_integers nearest;
    // The square of the distance of the nearest source; infinite where there is no source. Order 2
    // and regular forces have none.
    struct kyoho_reals nearest_distance2;
    // The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    struct kyoho_cuda cuda;
    // The type of all real numbers, as in `kyoho_sources`.
    kyoho_number_type number_type;
    // 0; there is no meaning in it yet.
    int32_t reserved;
} kyoho_forces;

// A kyoho_forces with nothing set.
#define KYOHO_FORCES_INIT \
    {(int32_t)sizeof(kyoho_forces), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0, 0}, 0, \
     0}

// Integers of 64 bits that the library reads. Otherwise as `kyoho_const_reals`.
typedef struct kyoho_const_long_integers {
    // The first one. NULL: there are none.
    const int64_t *data;
    // Bytes from one to the next; it may be negative. 0: they follow one another.
    int64_t stride;
} kyoho_const_long_integers;

// Interaction lists: groups of sinks, each with the sources that act on it. Begin with
// KYOHO_LISTS_INIT. The sources of the groups are given in one of three forms, and the fields of
// the others stay NULL:
//
// - ranges of the system's sources: `first_addresses` and `source_counts`;
// - lists of the system's sources: `addresses`, divided by `source_offsets`;
// - sources of this call, which the system does not keep: `sources`, divided by `source_offsets`.
typedef struct kyoho_lists {
    // The size of this structure in bytes.
    int32_t structure_size;
    // KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    kyoho_memory memory;
    // The number of groups, 0 or more.
    int32_t group_count;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // The first sink of each group and, behind the last group, the number of sinks: `group_count +
    // 1` numbers that begin with 0 and do not decrease. The sinks of group g are those from
    // `sink_offsets[g]` to below `sink_offsets[g + 1]`.
    struct kyoho_const_integers sink_offsets;
    // The first place of each group among `addresses` or `sources` and, behind the last group, the
    // number of these: `group_count + 1` numbers that begin with 0 and do not decrease.
    struct kyoho_const_long_integers source_offsets;
    // The addresses of sources, list after list. One may be in many lists, and where it is twice
    // in one it acts twice.
    struct kyoho_const_integers addresses;
    // The first address of each group.
    struct kyoho_const_integers first_addresses;
    // The number of addresses of each group.
    struct kyoho_const_integers source_counts;
    // The sources of this call, group after group. Their `addresses` and `first_address` have no
    // meaning and stay NULL and 0; without `indices` their numbers, from 0 on, are their indices.
    const struct kyoho_sources *sources;
    // The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    struct kyoho_cuda cuda;
} kyoho_lists;

// A kyoho_lists with nothing set.
#define KYOHO_LISTS_INIT \
    {(int32_t)sizeof(kyoho_lists), \
     0, 0, 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, {0, 0, 0}}

// Many systems of a few bodies each, in which bodies feel those of their own system. Begin with
// KYOHO_BATCH_INIT.
typedef struct kyoho_batch {
    // The size of this structure in bytes.
    int32_t structure_size;
    // KYOHO_MEMORY_HOST, or KYOHO_MEMORY_CUDA: the memory that all arrays lie in.
    kyoho_memory memory;
    // The number of systems, 0 or more.
    int32_t system_count;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // The first body of each system and, behind the last system, the number of bodies:
    // `system_count + 1` numbers that begin with 0 and do not decrease.
    struct kyoho_const_integers offsets;
    // The square of the softening length, for every body.
    double softening2;
    // The square of the softening length, one for each body, in place of `softening2`. A pair has
    // that of the body that feels it.
    struct kyoho_const_reals softening2_each;
    // The device and the stream of arrays in KYOHO_MEMORY_CUDA.
    struct kyoho_cuda cuda;
} kyoho_batch;

// A kyoho_batch with nothing set.
#define KYOHO_BATCH_INIT \
    {(int32_t)sizeof(kyoho_batch), \
     0, 0, 0, {0, 0}, 0, {0, 0}, {0, 0, 0}}

// The errors of accelerations by a tree, relative to these. Begin with KYOHO_TREE_ERRORS_INIT.
typedef struct kyoho_tree_errors {
    // The size of this structure in bytes.
    int32_t structure_size;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // Half of the sinks have at most this.
    double median;
    // 90 of 100 sinks have at most this.
    double percentile_90;
    // 99 of 100 sinks have at most this.
    double percentile_99;
    // The largest.
    double worst;
} kyoho_tree_errors;

// A kyoho_tree_errors with nothing set.
#define KYOHO_TREE_ERRORS_INIT \
    {(int32_t)sizeof(kyoho_tree_errors), \
     0, 0, 0, 0, 0}

// How a pair interaction is compiled. Begin with KYOHO_PAIR_OPTIONS_INIT, which leaves everything
// open, and set what you decide.
typedef struct kyoho_pair_options {
    // The size of this structure in bytes.
    int32_t structure_size;
    // 1: every `f64` of the text is read as `dd`, two doubles. 0: as it was written.
    int32_t f64_as_dd;
    // Threads that compute, the caller's own included. 0: what the environment says, as for
    // systems.
    int32_t threads;
    // 1 (CPU), 2 (CUDA), 3 (OpenCL). 0: what the environment says, as for systems; the CPU then
    // also computes what a GPU cannot.
    int32_t backend;
    // The numbers of the backend's devices, such as "0,1", or "all". NULL: what the environment
    // says, as for systems.
    const char *devices;
} kyoho_pair_options;

// A kyoho_pair_options with nothing set.
#define KYOHO_PAIR_OPTIONS_INIT \
    {(int32_t)sizeof(kyoho_pair_options), \
     0, 0, 0, 0}

// A field, a parameter or a result that the text of a pair interaction declares. Begin with
// KYOHO_PAIR_VARIABLE_INIT.
typedef struct kyoho_pair_variable {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The type of its numbers; of a result, the one in which it is handed over.
    kyoho_number_type number_type;
    // The numbers of a row: 1, or the components of a vector.
    int32_t width;
    // The numbers of a table in all; 0: it is none.
    int32_t table_size;
    // The name; it stays until the interaction is freed.
    const char *name;
} kyoho_pair_variable;

// A kyoho_pair_variable with nothing set.
#define KYOHO_PAIR_VARIABLE_INIT \
    {(int32_t)sizeof(kyoho_pair_variable), \
     0, 0, 0, 0}

// How an integrator advances bodies. Begin with KYOHO_INTEGRATOR_OPTIONS_INIT, which leaves
// everything open, and set what you decide.
typedef struct kyoho_integrator_options {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The criterion of the time steps, of `kyoho_step_criterion`.
    kyoho_step_criterion criterion;
    // The softening length, that of group 0.
    double softening;
    // The gravitational constant in the units of the bodies. 0: 1.
    double gravity;
    // The accuracy parameter of the time steps. 0: 0.02 in order 4, whose criterion takes its
    // square root, 0.2 in order 6 and 0.3 where its criterion is averaged with that of order 4, 0.3
    // in order 8. Order 2 has none.
    double eta;
    // The longest step of a body; 0: no limit. Order 2 needs it: it is the step that all bodies
    // share, which is shortened where a time is no whole number of steps away.
    double dt_max;
    // The shortest step of a body, at least 2^-50 of the time to which bodies evolve in a call.
    double dt_min;
    // The time at the start.
    double time;
    // The distance below which two bodies have an approach, which ends an evolution; softening is
    // not included. 0: approaches end none.
    double approach_distance;
    // The distance below which bodies form subsystems: binaries, triples and close encounters move
    // by regularised motion, and all others see their centre of mass and what is beyond it.
    // INFINITY: one that is chosen from the `N` bodies with mass whenever bodies were changed,
    // `r / (2 N)` with the radius `r` of the inner half of them, or of all up to nine; of more than
    // 1024 it is 0.005 `r` over the cube root of `N`. 0: none form. Without softening, in orders 4,
    // 6 and 8.
    double subsystem_radius;
    // The speed of light, in the units of the bodies: those of a subsystem pull one another with
    // the post-Newtonian terms of the orders 1, 2 and 2.5. Two that come nearer than 6 G M / c^2
    // become one, which is an encounter: the heavier one, or that which was added earlier, has
    // their mass, momentum and volume, and the other one is removed. 0: without such terms, which
    // no other bodies have.
    double speed_of_light;
    // What becomes of bodies that collide, of `kyoho_on_collision`. With KYOHO_ON_COLLISION_MERGE
    // they become one in the same way, and evolutions go on after that and after mergers by
    // relativity.
    kyoho_on_collision on_collision;
    // 0; there is no meaning in it yet.
    int32_t reserved;
} kyoho_integrator_options;

// A kyoho_integrator_options with nothing set.
#define KYOHO_INTEGRATOR_OPTIONS_INIT \
    {(int32_t)sizeof(kyoho_integrator_options), \
     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
     0, 0}

// Bodies to add to an integrator, or to change there. Begin with KYOHO_BODIES_INIT, and set what
// you have. Each array has an element, or a row of 3 numbers, for every body.
typedef struct kyoho_bodies {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of bodies, 0 or more.
    int32_t count;
    // Your names for the bodies, each different; they are required.
    struct kyoho_const_long_integers identifiers;
    // The masses; required for bodies that are added.
    struct kyoho_const_reals masses;
    // The positions, in rows; required for bodies that are added.
    struct kyoho_const_reals positions;
    // The velocities, in rows; without them bodies that are added are at rest.
    struct kyoho_const_reals velocities;
    // The radii: two bodies that are nearer than the sum of theirs collide, at any time in a step,
    // which ends an evolution at the end of that block step, or makes them one there, see
    // `kyoho_on_collision`. Two without a radius never collide.
    // Without them those of bodies that are added are 0.
    struct kyoho_const_reals radii;
    // The groups, see `kyoho_integrator_add_group`; without them bodies that are added are of group
    // 0.
    struct kyoho_const_integers groups;
    // In place of groups, the softening lengths: each body goes to the first group that has its
    // own, feels all groups and is felt by all. If there is none, one is made. Where that would
    // make more than 16, none is made, and bodies have their softenings in the first such group.
    struct kyoho_const_reals softenings;
} kyoho_bodies;

// A kyoho_bodies with nothing set.
#define KYOHO_BODIES_INIT \
    {(int32_t)sizeof(kyoho_bodies), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}

// Integers of 64 bits that the library writes. Otherwise as `kyoho_const_reals`.
typedef struct kyoho_long_integers {
    // The first one. NULL: they are not wanted.
    int64_t *data;
    // Bytes from one to the next; it may be negative. 0: they follow one another.
    int64_t stride;
} kyoho_long_integers;

// The places where bodies of an integrator are written to. Begin with KYOHO_BODY_STATES_INIT, and
// set what you want. Each array has an element, or a row of 3 numbers, for every body.
typedef struct kyoho_body_states {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of bodies, 0 or more.
    int32_t count;
    // The identifiers of the bodies that are wanted. Without them: the first `count` bodies, in
    // the order of `kyoho_integrator_identifiers`.
    struct kyoho_const_long_integers identifiers;
    // The masses.
    struct kyoho_reals masses;
    // The positions, in rows.
    struct kyoho_reals positions;
    // The velocities, in rows.
    struct kyoho_reals velocities;
    // The radii.
    struct kyoho_reals radii;
    // The accelerations by all other bodies, laws and fields, in rows, in double precision; in
    // order 2 by the tree if there is one. A force on these bodies is computed for them.
    struct kyoho_reals accelerations;
    // The potentials, from the same force.
    struct kyoho_reals potentials;
    // The identifiers of the nearest of all other bodies, softening not included; that of the body
    // itself where there is no other. A sum over all pairs is made for them, also with a tree.
    struct kyoho_long_integers nearest;
    // The distances of these; infinite where there is no other body.
    struct kyoho_reals nearest_distances;
    // The groups.
    struct kyoho_integers groups;
    // The softening lengths: their own, or those of the groups.
    struct kyoho_reals softenings;
} kyoho_body_states;

// A kyoho_body_states with nothing set.
#define KYOHO_BODY_STATES_INIT \
    {(int32_t)sizeof(kyoho_body_states), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, \
     {0, 0}, {0, 0}}

// A function that gives a field, see `kyoho_integrator_add_field_function`. It writes to `values`
// what `value` (a `kyoho_field_value`) says, three numbers for each of `count` bodies, of
// potentials one, and returns 0; anything else ends the call with an error. Rows of three numbers
// have the positions, the velocities and, for jerks, the accelerations by all forces; else these
// are NULL.
typedef int32_t (*kyoho_field_function)(void *context,
                                        int32_t value,
                                        double time,
                                        int32_t count,
                                        const double *positions,
                                        const double *velocities,
                                        const double *accelerations,
                                        double *values);

// A function that is told how far an evolution has come, and that returns 0 to go on and anything
// else to end it, see `kyoho_evolve_options`.
typedef int32_t (*kyoho_progress_callback)(void *context, double time, uint64_t block_steps);

// The events that end an evolution before its time. Begin with KYOHO_EVOLVE_OPTIONS_INIT.
typedef struct kyoho_evolve_options {
    // The size of this structure in bytes.
    int32_t structure_size;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // The number of block steps after which it ends; one more may bring all bodies to one time. 0:
    // none.
    int64_t block_steps;
    // A function that is called after block steps with `context`, the time, and the number of
    // block steps of this call; anything but 0 ends the evolution. It must return, so that it may
    // neither throw an exception nor jump, and it must not call functions on this integrator.
    // NULL: none.
    kyoho_progress_callback progress;
    // The argument that `progress` gets.
    void *context;
    // The seconds that pass at least between two calls of `progress`. 0: it is called after every
    // block step.
    double progress_seconds;
} kyoho_evolve_options;

// A kyoho_evolve_options with nothing set.
#define KYOHO_EVOLVE_OPTIONS_INIT \
    {(int32_t)sizeof(kyoho_evolve_options), \
     0, 0, 0, 0, 0}

// An evolution that has ended. Begin with KYOHO_EVOLUTION_INIT.
typedef struct kyoho_evolution {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The reason, of `kyoho_evolution_end`.
    kyoho_evolution_end end;
    // The time of the bodies. With KYOHO_EVOLUTION_END_TIME it is that of the call.
    double time;
    // The number of block steps.
    uint64_t block_steps;
    // The number of encounters that ended it, or after which two bodies were one, see
    // `kyoho_integrator_encounters`.
    int32_t encounter_count;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // The identifier of one of the bodies of the closest approach.
    int64_t approach_first;
    // The identifier of the other one.
    int64_t approach_second;
    // The distance of the closest approach of two bodies, at the ends of block steps, softening
    // not included. Infinite if there was none, and in order 2, which finds none.
    double approach_distance;
    // The time of the closest approach.
    double approach_time;
} kyoho_evolution;

// A kyoho_evolution with nothing set.
#define KYOHO_EVOLUTION_INIT \
    {(int32_t)sizeof(kyoho_evolution), \
     0, 0, 0, 0, 0, 0, 0, 0, 0}

// The places where the binaries of an integrator's subsystems are written to. Begin with
// KYOHO_BINARIES_INIT, and set what you want. Each array has an element for every binary. The two
// parts of a binary are bodies, or binaries before it.
typedef struct kyoho_binaries {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of binaries for which there is room.
    int32_t capacity;
    // The identifier of the body of the first part, or of that of its bodies that was added first.
    struct kyoho_long_integers first;
    // See `first`, of the second part.
    struct kyoho_long_integers second;
    // The number of bodies of the first part.
    struct kyoho_integers first_counts;
    // The number of bodies of the second part.
    struct kyoho_integers second_counts;
    // The semi-major axes of the orbits of both parts around one another.
    struct kyoho_reals semi_major_axes;
    // Their eccentricities.
    struct kyoho_reals eccentricities;
    // Their periods.
    struct kyoho_reals periods;
} kyoho_binaries;

// A kyoho_binaries with nothing set.
#define KYOHO_BINARIES_INIT \
    {(int32_t)sizeof(kyoho_binaries), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}

// The places where the encounters of an evolution are written to. Begin with
// KYOHO_ENCOUNTERS_INIT, and set what you want. Each array has an element for every encounter.
typedef struct kyoho_encounters {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of encounters for which there is room.
    int32_t capacity;
    // The reason of each, of `kyoho_encounter_kind`.
    struct kyoho_integers kinds;
    // The identifier of one of the bodies, the one that was added earlier. Where they have become
    // one, one of the two identifiers has no body any more.
    struct kyoho_long_integers first;
    // The identifier of the other one.
    struct kyoho_long_integers second;
    // The distance of each. That of a collision is the least one in the step at whose end it was
    // noticed, that of an approach the one at that end, and that of a merger the one at which they
    // merged.
    struct kyoho_reals distances;
    // The time at which they had this distance.
    struct kyoho_reals times;
} kyoho_encounters;

// A kyoho_encounters with nothing set.
#define KYOHO_ENCOUNTERS_INIT \
    {(int32_t)sizeof(kyoho_encounters), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}

// The bodies of an integrator and its work since it was made. Begin with KYOHO_INTEGRATION_INIT.
typedef struct kyoho_integration {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of bodies.
    int32_t body_count;
    // The time of the bodies.
    double time;
    // Steps of single bodies.
    uint64_t steps;
    // Blocks of bodies that stepped together.
    uint64_t block_steps;
    // Steps that should have been shorter than the shortest.
    uint64_t limited_steps;
    // Pairs whose forces were computed.
    uint64_t interactions;
    // Close passages of two bodies after which their energy, that of their motion round each other,
    // was another one by more than a hundredth, or in which steps should have been shorter than
    // the shortest. The errors of the steps have changed it then: a smaller `eta`, a shorter
    // `dt_min` or softening helps. Order 2 looks for none.
    uint64_t energy_jumps;
    // The identifiers of the two bodies of the last one.
    int64_t jump_first;
    // See `jump_first`.
    int64_t jump_second;
    // The time at which they were nearest.
    double jump_time;
    // Their distance then, softening not included.
    double jump_distance;
    // The shortest step that one of them took.
    double jump_step;
    // The change of their energy.
    double jump_energy;
    // How many of their steps should have been shorter than the shortest.
    uint64_t jump_limited_steps;
    // The number of groups.
    int64_t group_count;
} kyoho_integration;

// A kyoho_integration with nothing set.
#define KYOHO_INTEGRATION_INIT \
    {(int32_t)sizeof(kyoho_integration), \
     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
     0, 0, 0, 0, 0}

// How systems of few bodies evolve, and what ends them. Begin with KYOHO_FEW_BODY_OPTIONS_INIT,
// and set what you decide.
typedef struct kyoho_few_body_options {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of threads. 0: from the environment.
    int32_t threads;
    // How long the systems evolve, 0 or more.
    double time;
    // The gravitational constant in the units of the bodies. 0: 1.
    double gravity;
    // The largest relative error of a step, 1e-14 to 1e-3. 0: 1e-14.
    double tolerance;
    // The most steps of a system. 0: 100000000.
    int64_t max_steps;
    // The speed of light in the units of the bodies, which gives pairs relativistic terms, and ends
    // systems by mergers. 0: none.
    double speed_of_light;
    // The sum of the relativistic terms: 1 for the first, 2 for the second, 4 for that of order
    // 2.5, 8 for that of order 3.5. 0: 7.
    int32_t terms;
    // 1: a system ends where two bodies are nearer than the sum of their radii, and do not move
    // apart from the start on. 0: it goes on.
    int32_t stops_at_collision;
    // A system ends where a part is unbound, moves away, and is farther from the rest than this
    // many times the extent of both, or where all parts fly apart and are farther from one another
    // than this many times G (m1 + m2) / v^2. 0: it goes on.
    double escape_distance;
    // The backend's devices to use, as in `kyoho_options`: systems of 2 to 16 bodies are evolved on
    // GPUs, with the bits of CPUs. NULL: what the environment says, else the first.
    const char *devices;
    // The backend. 0: what KYOHO_BACKEND says, else the first that has a device where 16384 systems
    // or more have one number of bodies, and the CPU goes on if a device fails.
    kyoho_backend backend;
    // 0; there is no meaning in it yet.
    int32_t reserved;
} kyoho_few_body_options;

// A kyoho_few_body_options with nothing set.
#define KYOHO_FEW_BODY_OPTIONS_INIT \
    {(int32_t)sizeof(kyoho_few_body_options), \
     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
     0, 0}

// Systems of few bodies. Begin with KYOHO_FEW_BODY_SYSTEMS_INIT.
typedef struct kyoho_few_body_systems {
    // The size of this structure in bytes.
    int32_t structure_size;
    // The number of systems, 0 or more.
    int32_t system_count;
    // The first body of each system and, behind the last system, the number of bodies:
    // `system_count + 1` numbers that begin with 0 and do not decrease. A system has at most 100
    // bodies.
    struct kyoho_const_integers offsets;
    // The masses of the bodies, 0 or more.
    struct kyoho_const_reals masses;
    // The positions, in rows: read at the start, and written at the end.
    struct kyoho_reals positions;
    // The velocities, in rows: read at the start, and written at the end.
    struct kyoho_reals velocities;
    // The radii, 0 or more. NULL: all are 0.
    struct kyoho_const_reals radii;
} kyoho_few_body_systems;

// A kyoho_few_body_systems with nothing set.
#define KYOHO_FEW_BODY_SYSTEMS_INIT \
    {(int32_t)sizeof(kyoho_few_body_systems), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}

// The places where the ends of systems are written to. Begin with KYOHO_FEW_BODY_OUTCOMES_INIT, and
// set what you want.
typedef struct kyoho_few_body_outcomes {
    // The size of this structure in bytes.
    int32_t structure_size;
    // 0; there is no meaning in it yet.
    int32_t reserved;
    // Why each system ended, of `kyoho_few_body_end`.
    struct kyoho_integers ends;
    // The time that passed in each system.
    struct kyoho_reals times;
    // The first of the two bodies of each system that touch, from 0 in its system; -1: none.
    struct kyoho_integers first_touching;
    // The second of the two bodies of each system that touch; -1: none.
    struct kyoho_integers second_touching;
    // For each body the one that it is in a binary with, from 0 in its system; -1: none.
    struct kyoho_integers companions;
    // For each body the semi-major axis of its binary; 0: none.
    struct kyoho_reals semi_major_axes;
    // For each body the eccentricity of its binary; 0: none.
    struct kyoho_reals eccentricities;
} kyoho_few_body_outcomes;

// A kyoho_few_body_outcomes with nothing set.
#define KYOHO_FEW_BODY_OUTCOMES_INIT \
    {(int32_t)sizeof(kyoho_few_body_outcomes), \
     0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}

// A function that is told what is logged, see `kyoho_set_log`.
typedef void (*kyoho_log_callback)(void *context, kyoho_log_level level, const char *text);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The library's version, such as "0.2.0".
const char *kyoho_version(void);

// The library's version as one number, which grows: 200 for 0.2.0, 10203 for 1.2.3. A program may
// compare it with KYOHO_VERSION_NUMBER, that of the header it was compiled with.
int32_t kyoho_library_version(void);

// The meaning of a result in a few words, whatever the number. `kyoho_last_error` says more.
const char *kyoho_result_text(int32_t result);

// Whether a backend can be used here: KYOHO_OK if it can, KYOHO_NO_BACKEND if not, and
// `kyoho_last_error` says why.
//
// `devices`, which may be NULL, receives the number of its devices, 0 where it cannot be used.
kyoho_result kyoho_backend_available(kyoho_backend backend, int32_t *devices);

// Makes a system without sources, at time 0. `options` may be NULL, which leaves everything open.
//
// `system` receives the handle, NULL on an error. Give it back with `kyoho_system_free`.
//
// With a communicator of several ranks all call this, and the error of one is that of all; its text
// names the rank. Order, precision, scope, `accuracy`, `theta` and the library's version have to be
// the same on all. From then on `kyoho_system_force`, `kyoho_system_force_all`,
// `kyoho_system_force_lists`, `kyoho_system_start`, `kyoho_system_start_all`,
// `kyoho_system_start_lists` and `kyoho_system_wait` are calls of all ranks, and all others of one.
// Such systems have no batches, KYOHO_PRECISION_QUAD, softenings of sources, nor sinks and forces
// in KYOHO_MEMORY_CUDA. A communicator of one rank is as none.
//
// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a field or an environment variable has a value
// that is not allowed, or the process can open no more files), KYOHO_BAD_COUNT (too many devices,
// or a negative crossover), KYOHO_NO_BACKEND, KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED,
// KYOHO_OUT_OF_MEMORY, KYOHO_COMMUNICATOR_FAILED; `kyoho_last_error` has the text.
kyoho_result kyoho_system_create(const struct kyoho_options *options, struct kyoho_system **system);

// Goes on with other devices, or with the same ones opened anew, as after KYOHO_DEVICE_FAILED.
// Sources, time and counts are kept; the last block is forgotten. The bits of forces are those of
// the new devices.
//
// `options` are as in `kyoho_system_create`, but the system's order, precision and scope stay, so
// that they may be 0 or must be what they are; a crossover of 0 leaves it as it is. If the devices
// cannot be had, the system keeps those that it had. A system over ranks stays one, whose other
// ranks are not asked: the options have no communicator.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (a block is under way), KYOHO_BAD_OPTION,
// KYOHO_BAD_COUNT (too many devices, or a negative crossover), KYOHO_NO_BACKEND,
// KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_move(struct kyoho_system *system, const struct kyoho_options *options);

// Sets the crossover: the number of pairs (sinks times `nj`) below which the CPU computes a block
// though the system's backend is another, as small blocks are faster there. KYOHO_CROSSOVER_OFF:
// it computes none. 0: what KYOHO_CROSSOVER says, else a constant of the device's model.
//
// For lists and batches, whose pairs are the sinks times the sources of each group, summed, the
// CPU takes over only below a crossover that was set, here or by KYOHO_CROSSOVER: otherwise the
// bits of a group would follow from the number of groups.
//
// The bits of a force are those of the device that computed it, so they change where blocks change
// sides. The crossover has no effect on a system whose backend is the CPU.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (another negative number).
kyoho_result kyoho_system_set_crossover(struct kyoho_system *system, int64_t pairs);

// Frees a system; its handle is not a system from then on. A call that is under way on it is
// waited for. Of a system over ranks each rank frees its own part.
//
// Errors: KYOHO_BAD_HANDLE, also for NULL and for a system that was freed before.
kyoho_result kyoho_system_free(struct kyoho_system *system);

// The text of the last failing call on a system, which says what was wrong: whose value, which
// value, what is allowed. The text is empty if no call failed, and it stays until the next failing
// call on the system, or until the system is freed.
//
// With NULL, or with a handle that is not a system, it is that of `kyoho_last_error`.
const char *kyoho_system_last_error(struct kyoho_system *system);

// The text of the last failing call of the calling thread, whatever it was on. It is empty if no
// call failed, and it stays until the thread's next failing call.
const char *kyoho_last_error(void);

// Describes what a system computes, and the backend that does: the one in use now, 0 where devices
// were lost and no others could be had. Both may be NULL.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_OPTION (a `structure_size` that is not allowed).
kyoho_result kyoho_system_describe(struct kyoho_system *system,
                                   struct kyoho_interaction *interaction,
                                   kyoho_backend *backend);

// The number of devices that a system computes on.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT.
kyoho_result kyoho_system_device_count(struct kyoho_system *system, int32_t *count);

// The name of one of the devices of a system, for people.
//
// `device` counts from 0. `buffer` has room for `size` bytes and receives the name, ended by a
// zero byte; a name that is too long is cut.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such device, or a negative
// size), KYOHO_BUFFER_TOO_SMALL (the name was cut).
kyoho_result kyoho_system_device_name(struct kyoho_system *system,
                                      int32_t device,
                                      char *buffer,
                                      int32_t size);

// Counts what a system has done since it was made.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a `structure_size` that is not
// allowed).
kyoho_result kyoho_system_statistics(struct kyoho_system *system,
                                     struct kyoho_statistics *statistics);

// The number of interactions that can be computed: orders, each in some precisions and scopes. All
// backends compute all of them.
int32_t kyoho_interaction_count(void);

// Describes one of the interactions that can be computed. `number` counts from 0.
//
// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (there are fewer), KYOHO_BAD_OPTION (a
// `structure_size` that is not allowed).
kyoho_result kyoho_interaction_describe(int32_t number, struct kyoho_interaction *interaction);

// Writes sources at their addresses, replacing what was there; the next block is the first to see
// them. Addresses may be written in any order and may leave gaps; an address never written has no
// source. Order 2 keeps positions alone and does not read their derivatives; order 4 keeps and
// reads those up to the jerk, order 6 up to the crackle, order 8 up to the seventh.
//
// Everything is checked first: on an error in what you gave, nothing is written.
//
// All sources have a softening (`softening2_each`) or none has. To change that write all anew, from
// address 0 on, without `addresses`, and while no block is under way.
//
// Sources in KYOHO_MEMORY_CUDA that replace all others, without `addresses` and from address 0 on,
// stay on the device; other ones are copied to the host first.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS,
// KYOHO_BAD_OPTION (a stride that lets rows overlap, or another field that is not allowed),
// KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY (some sources may have been written);
// with softenings also KYOHO_UNSUPPORTED, KYOHO_CALL_ORDER, KYOHO_DEVICE_FAILED.
kyoho_result kyoho_system_set_sources(struct kyoho_system *system,
                                      const struct kyoho_sources *sources);

// Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE.
kyoho_result kyoho_system_set_time(struct kyoho_system *system, double time);

// Sets the time as `kyoho_system_set_time` does, in two doubles, whose sum it is, of a system of
// KYOHO_PRECISION_QUAD.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE, KYOHO_UNSUPPORTED (another precision).
kyoho_result kyoho_system_set_time_dd(struct kyoho_system *system, double high, double low);

// The sources at `count` addresses from `first_address` on, predicted to the system's time: their
// positions and the derivatives that forces of the system's order need. Rows of addresses that
// were never written are NaN.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS,
// KYOHO_BAD_OPTION (a stride that lets rows overlap, an array that the order has nothing for, or
// another field that is not allowed), KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_predict(struct kyoho_system *system,
                                  int32_t first_address,
                                  int32_t count,
                                  const struct kyoho_predictions *predictions);

// Computes the forces of the sources at addresses below `nj`, predicted to the system's time, on
// some sinks.
//
// Sources and a sink at no distance and without softening exert no force on one another. Addresses
// below `nj` that were never written have no source. On an error in what you gave no array is
// written; where a sum overflows or a device fails, the forces on some sinks may have been.
//
// In a system of regular forces the neighbours of a sink exert no force on it;
// `kyoho_system_neighbours` lists them.
//
// In a system over ranks all ranks call this, each with its own sinks, any number, and `nj` of its
// own addresses; the sources of all ranks act. An error on one rank, whose number the text names,
// is that of all. The time, the exclusion and the neighbour criterion have to be the same on all.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (no indices and
// no KYOHO_EXCLUDE_NOTHING, a stride that lets rows overlap, an array that the system has nothing
// for, or another field that is not allowed), KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE (also where a
// sum overflows), KYOHO_CALL_ORDER (a block is under way), KYOHO_DEVICE_FAILED,
// KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_force(struct kyoho_system *system,
                                int32_t nj,
                                const struct kyoho_sinks *sinks,
                                const struct kyoho_forces *forces);

// Begins what `kyoho_system_force` does, and returns while devices may be at work. The sinks are
// copied. Sources that are written before `kyoho_system_wait` do not change this block.
//
// Errors: as `kyoho_system_force`.
kyoho_result kyoho_system_start(struct kyoho_system *system,
                                int32_t nj,
                                const struct kyoho_sinks *sinks);

// Computes the forces of the sources at addresses below `nj` on one another, predicted to the
// system's time: the sinks are these sources, in the order of their addresses, each of which
// leaves out those with its index. All have the square `softening2` of the softening length, which
// is 0 where sources have softenings of their own. The arrays of `forces` have a row for each of
// the `nj` sources. On an error in what you gave no array is written; where a sum overflows or a
// device fails, some forces may have been.
//
// Forces have the bits that `kyoho_system_force` gives for such sinks. Of many sources by a tree
// it takes less time, as no sinks are copied and compared with the sources.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (a negative `nj`, or an address
// below it to which no source was written), KYOHO_NOT_FINITE and KYOHO_OUT_OF_RANGE (`softening2`,
// or a sum overflows), KYOHO_BAD_OPTION (an array of `forces` that the system has nothing for),
// KYOHO_CALL_ORDER (a block is under way), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_force_all(struct kyoho_system *system,
                                    int32_t nj,
                                    double softening2,
                                    const struct kyoho_forces *forces);

// Begins what `kyoho_system_force_all` does, and returns while devices may be at work. Sources
// that are written before `kyoho_system_wait` do not change this block.
//
// Errors: as `kyoho_system_force_all`.
kyoho_result kyoho_system_start_all(struct kyoho_system *system, int32_t nj, double softening2);

// Waits for the block that `kyoho_system_start` or `kyoho_system_start_all` began, or for what
// `kyoho_system_start_lists` or `kyoho_system_start_batch` began, and writes the forces.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (no block is under way), KYOHO_OUT_OF_RANGE (a sum
// overflows), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY; and KYOHO_NULL_ARGUMENT or
// KYOHO_BAD_OPTION, after which the block is still under way, but not of a system over ranks.
kyoho_result kyoho_system_wait(struct kyoho_system *system, const struct kyoho_forces *forces);

// The neighbours of one sink of the last block: the indices of the sources with `|r|^2 <
// radii2[sink]`, softening not included, ascending, each once. In a system of regular forces they
// are the sources that the force leaves out by the neighbour criterion. Sources that were written
// since do not matter. In a system over ranks they are those among the sources of all ranks; no
// other rank has to call this.
//
// `sink` counts from 0. `list` has room for `capacity` indices and may be NULL where that is 0.
// `count` receives the number of neighbours, also where it is more than `capacity`; then the first
// `capacity` of them are in the list.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such sink, a negative
// capacity), KYOHO_BUFFER_TOO_SMALL, KYOHO_CALL_ORDER (no block was waited for, the last forces
// were of interaction lists or of a batch, or the system is of order 2), KYOHO_DEVICE_FAILED,
// KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_neighbours(struct kyoho_system *system,
                                     int32_t sink,
                                     int32_t capacity,
                                     int32_t *list,
                                     int32_t *count);

// Computes the forces on groups of sinks, on each of which act the sources of its own list alone,
// predicted to the system's time. No bit of the forces on a group depends on the other groups of
// the call, unless a crossover was set: see `kyoho_system_set_crossover`.
//
// Sinks, exclusion by index and forces are as in `kyoho_system_force`, but there are no neighbour
// lists, and `radii2` stay NULL. Addresses in the lists that were never written have no source;
// those beyond the highest that was written are an error. After an error in what you gave the last
// block is still there, and no array is written; where a sum overflows or a device fails, the
// forces on some sinks may have been.
//
// In a system over ranks all ranks call this, each with its own lists and sinks, any number, in
// memory of the host and without `sources`. Addresses are those of all sources: the first rank's,
// up to the highest that was written, then the second's and so on. An error on one rank is that of
// all.
//
// Errors: as `kyoho_system_force`, and KYOHO_BAD_COUNT (offsets that decrease, do not begin with 0
// or end with another number than that of the sinks or sources; a negative count),
// KYOHO_BAD_ADDRESS (an address that is negative or beyond the sources), KYOHO_BAD_OPTION (arrays
// of more than one form, or of none), KYOHO_UNSUPPORTED (a system of regular forces).
kyoho_result kyoho_system_force_lists(struct kyoho_system *system,
                                      const struct kyoho_lists *lists,
                                      const struct kyoho_sinks *sinks,
                                      const struct kyoho_forces *forces);

// Begins what `kyoho_system_force_lists` does, and returns while devices may be at work;
// `kyoho_system_wait` waits for the forces. Lists and sinks are copied, and the sources of the
// call, but for arrays in KYOHO_MEMORY_CUDA, which are read until then. Sources of the system that
// are written before `kyoho_system_wait` do not change these forces.
//
// Errors: as `kyoho_system_force_lists`.
kyoho_result kyoho_system_start_lists(struct kyoho_system *system,
                                      const struct kyoho_lists *lists,
                                      const struct kyoho_sinks *sinks);

// Computes the forces on the bodies of many systems, predicted to the system's time. On each body
// act the others of its own system alone; those with its index are left out. `bodies` are not kept
// among the sources; they are given as those of `kyoho_lists`. Each array of `forces` has an
// element, or a row, for every body.
//
// After an error in what you gave the last block is still there, and no array is written; where a
// sum overflows or a device fails, the forces on some bodies may have been.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (offsets that decrease, do not
// begin with 0 or end with another number than that of the bodies; a negative count),
// KYOHO_BAD_OPTION, KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE (also where a sum overflows),
// KYOHO_CALL_ORDER (a block is under way), KYOHO_UNSUPPORTED (a system of regular forces),
// KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_force_batch(struct kyoho_system *system,
                                      const struct kyoho_batch *batch,
                                      const struct kyoho_sources *bodies,
                                      const struct kyoho_forces *forces);

// Begins what `kyoho_system_force_batch` does, and returns while devices may be at work;
// `kyoho_system_wait` waits for the forces. The bodies are copied, but for arrays in
// KYOHO_MEMORY_CUDA, which are read until then.
//
// Errors: as `kyoho_system_force_batch`.
kyoho_result kyoho_system_start_batch(struct kyoho_system *system,
                                      const struct kyoho_batch *batch,
                                      const struct kyoho_sources *bodies);

// Computes the forces on some sinks by the tree that the system's options ask for, and the errors
// of the accelerations of `samples` of them, evenly chosen, against direct sums in double precision
// by the CPU. The sinks are as in `kyoho_system_force`, in memory of the host.
//
// Where the block has so few pairs that it is summed directly anyhow, the errors are those of the
// system's precision.
//
// Errors: as `kyoho_system_force`, and KYOHO_BAD_COUNT (no sample, or no sink).
kyoho_result kyoho_system_tree_error(struct kyoho_system *system,
                                     int32_t nj,
                                     const struct kyoho_sinks *sinks,
                                     int32_t samples,
                                     struct kyoho_tree_errors *errors);

// Finds by a tree the sources at addresses below `nj` that are within the radius of each sink:
// `|r|^2 < radii2[sink]`, softening not included, and with KYOHO_EXCLUDE_BY_INDEX no source that
// has the sink's index. Positions are those that were written. The system is of order 2, with or
// without an `accuracy`; the sinks have `positions` and `radii2`, in memory of the host.
//
// `offsets` receives `count + 1` numbers: the addresses of sink `i` are those from `offsets[i]` to
// below `offsets[i + 1]` in the array that `kyoho_system_copy_found_neighbours` writes, and the
// last one is the number of all. They are offsets and addresses as `kyoho_lists` takes them, and
// the same on every machine: distances are compared in double precision.
//
// Errors: as `kyoho_system_force`, KYOHO_UNSUPPORTED (an order other than 2), and
// KYOHO_NULL_ARGUMENT (no `radii2`, no `offsets`).
kyoho_result kyoho_system_find_neighbours(struct kyoho_system *system,
                                          int32_t nj,
                                          const struct kyoho_sinks *sinks,
                                          int64_t *offsets);

// Writes the addresses that the last `kyoho_system_find_neighbours` found, those of a sink next to
// each other and ascending. `addresses` has room for `capacity` of them, at least as many as the
// last of the offsets says, and may be NULL where that is 0.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BUFFER_TOO_SMALL, after which nothing is
// written.
kyoho_result kyoho_system_copy_found_neighbours(struct kyoho_system *system,
                                                int64_t capacity,
                                                int32_t *addresses);

// Compiles a pair interaction from a text of the language of pairs, which ends with a zero.
// `options` may be NULL, which leaves everything open.
//
// `pair` receives the handle, NULL on an error. Give it back with `kyoho_pair_free`.
//
// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT (`kyoho_last_error` says line and column, what was
// found and what is allowed), KYOHO_BAD_OPTION (also for more numbers of a source, or more
// parameters, than a GPU takes), KYOHO_NO_BACKEND, KYOHO_UNSUPPORTED (`dd` or `ff` on a device
// whose products are not exact), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_pair_compile(const char *text,
                                const struct kyoho_pair_options *options,
                                struct kyoho_pair **pair);

// The text of the built-in law of an order, 2, 4, 6 or 8, for `kyoho_pair_compile`; NULL for any
// other number. With `f64_as_dd` its forces have about 30 digits.
//
// Its fields of i and j are pos, from order 4 on vel, from order 6 on acc, in order 8 jerk, and id;
// j has mass too. The parameter is eps2, the squared softening. The results are pot, acc, jerk,
// snap and crackle as far as the order has them, and from order 4 on nearest, the id of the nearest
// source (-1 if there is none), and distance2. A source with the id of the sink exerts no force on
// it.
const char *kyoho_pair_gravity(int32_t order);

// Gives the array of a field, such as "j.pos": `count` rows of as many numbers as the field has
// components, of a type that need not be the field's. They are copied, and rounded to the type
// of the field; integers have to be exact. Results of an earlier run are dropped.
//
// `stride` is the number of bytes from one row to the next; 0: they follow one another. A number
// of two limbs is the higher limb and then the lower one.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
// declare, a type or a stride that is not allowed, a number that is no integer of the field's
// type), KYOHO_BAD_COUNT, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_pair_set(struct kyoho_pair *pair,
                            const char *field,
                            kyoho_number_type number_type,
                            const void *data,
                            int64_t stride,
                            int64_t count);

// Gives the array of a field as `kyoho_pair_set` does, in memory of the CUDA device that computes
// the pair interaction, its only one; `cuda` says which, and your stream. The array is not copied:
// each run reads it, after what you began in your stream before. Its numbers have to be of the type
// of the field (KYOHO_NUMBER_TYPE_DD for `f64` that is read as `dd`), and their rows aligned to
// them. No table may be indexed by them.
//
// Where fields of sinks are given so, results stay on the device until they are asked for, by
// `kyoho_pair_result_on_device` or `kyoho_pair_result`.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
// declare, another type, a stride or memory that is not allowed), KYOHO_BAD_COUNT.
kyoho_result kyoho_pair_set_on_device(struct kyoho_pair *pair,
                                      const char *field,
                                      kyoho_number_type number_type,
                                      const void *data,
                                      int64_t stride,
                                      int64_t count,
                                      const struct kyoho_cuda *cuda);

// Gives the numbers of a parameter: one, those of a vector, or those of a table, whose last index
// runs fastest. Results of an earlier run are dropped.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
// declare, a type that is not allowed), KYOHO_BAD_COUNT (it has another number of numbers),
// KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE.
kyoho_result kyoho_pair_set_parameter(struct kyoho_pair *pair,
                                      const char *parameter,
                                      kyoho_number_type number_type,
                                      const void *data,
                                      int64_t count);

// Computes the results of all sinks from all sources. Their numbers are the lengths of the arrays,
// for which -1 stands; a side without fields needs its number.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (an array or a parameter was not set), KYOHO_BAD_COUNT
// (lengths that differ, or an index beyond its table), KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_pair_run(struct kyoho_pair *pair, int64_t n_sinks, int64_t n_sources);

// Begins what `kyoho_pair_run` does, in a thread of the library. Until `kyoho_pair_wait` nothing
// else can be done with the pair interaction but to free it, which waits too.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT, KYOHO_CALL_ORDER (a run is under way). Those of the
// run come from `kyoho_pair_wait`.
kyoho_result kyoho_pair_start(struct kyoho_pair *pair, int64_t n_sinks, int64_t n_sources);

// Waits for the end of a run that `kyoho_pair_start` or `kyoho_pair_start_lists` began.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (no run is under way), and those of `kyoho_pair_run`
// and `kyoho_pair_run_lists`.
kyoho_result kyoho_pair_wait(struct kyoho_pair *pair);

// Computes the results of groups of sinks, on each of which the sources of its own list act alone.
// `lists` is as for `kyoho_system_force_lists`: ranges or lists of addresses, which count the rows
// of the sources' arrays, in memory of the host. `n_sources` is as for `kyoho_pair_run`; the number
// of sinks is that of the groups.
//
// The sources of a list are added in its order, in blocks of 256. On GPUs a thread computes a sink.
//
// Errors: as `kyoho_pair_run`, and KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (arrays of more than one
// form, sources that come with the call, another memory), KYOHO_BAD_COUNT (also offsets that
// decrease, do not begin with 0 or end with another number than that of the sinks, and addresses
// that are negative or beyond the sources).
kyoho_result kyoho_pair_run_lists(struct kyoho_pair *pair,
                                  const struct kyoho_lists *lists,
                                  int64_t n_sources);

// Begins what `kyoho_pair_run_lists` does, as `kyoho_pair_start` does. The lists are copied.
//
// Errors: as `kyoho_pair_run_lists`, and KYOHO_CALL_ORDER (a run is under way). Those of the run
// come from `kyoho_pair_wait`.
kyoho_result kyoho_pair_start_lists(struct kyoho_pair *pair,
                                    const struct kyoho_lists *lists,
                                    int64_t n_sources);

// Copies a result of the last run into `count` rows, one for each sink. Numbers are rounded to
// `number_type`; a sum in `dd` is handed over in full as KYOHO_NUMBER_TYPE_DD. `stride` is as in
// `kyoho_pair_set`.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
// declare, a type or a stride that is not allowed), KYOHO_CALL_ORDER (there was no run since the
// last change), KYOHO_BAD_COUNT (there are not so many sinks).
kyoho_result kyoho_pair_result(struct kyoho_pair *pair,
                               const char *result,
                               kyoho_number_type number_type,
                               void *data,
                               int64_t stride,
                               int64_t count);

// Writes a result of the last run as `kyoho_pair_result` does, to an array in memory of the CUDA
// device that computed it, after what you began in your stream before; it is there when the call
// returns. The numbers are of the type that the result is added in.
//
// Errors: as `kyoho_pair_result`, and KYOHO_BAD_OPTION (another type, or memory that is not
// allowed), KYOHO_DEVICE_FAILED.
kyoho_result kyoho_pair_result_on_device(struct kyoho_pair *pair,
                                         const char *result,
                                         kyoho_number_type number_type,
                                         void *data,
                                         int64_t stride,
                                         int64_t count,
                                         const struct kyoho_cuda *cuda);

// Writes the compiled list of operations with its costs as a text with a zero at its end. `needed`,
// which may be NULL, receives its length with the zero; `text` may be NULL if `room` is 0.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_OUT_OF_MEMORY,
// KYOHO_BUFFER_TOO_SMALL (the text was cut).
kyoho_result kyoho_pair_explain(struct kyoho_pair *pair, char *text, int64_t room, int64_t *needed);

// Writes the text of the kernels that a backend gets, as `kyoho_pair_explain` writes the list: PTX
// for KYOHO_BACKEND_CUDA, OpenCL C for KYOHO_BACKEND_OPENCL. No device is needed.
//
// Errors: as `kyoho_pair_explain`, and KYOHO_BAD_OPTION (another backend, or an interaction that
// GPUs cannot compute).
kyoho_result kyoho_pair_source(struct kyoho_pair *pair,
                               kyoho_backend backend,
                               char *text,
                               int64_t room,
                               int64_t *needed);

// Describes what a text declares: the variable with a number, counted from 0, in a section (1: of
// the sinks, 2: of the sources, 3: parameters, 4: results).
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (there are fewer),
// KYOHO_BAD_OPTION (another section, or a `structure_size` that is not allowed).
kyoho_result kyoho_pair_describe(struct kyoho_pair *pair,
                                 int32_t section,
                                 int32_t number,
                                 struct kyoho_pair_variable *variable);

// The text of the last failing call on a pair interaction, as `kyoho_system_last_error` has it for
// systems.
const char *kyoho_pair_last_error(struct kyoho_pair *pair);

// Frees a pair interaction; its handle is none from then on.
//
// Errors: KYOHO_BAD_HANDLE, also for NULL and for one that was freed before.
kyoho_result kyoho_pair_free(struct kyoho_pair *pair);

// Makes an integrator without bodies. `options` choose the order, the precision, the backend and
// its devices as for systems, of full forces; in order 2 also the tree. Both may be NULL, which
// leaves everything open: order 4 in double precision.
//
// `integrator` receives the handle, NULL on an error. Give it back with `kyoho_integrator_free`.
//
// With a communicator all ranks call this, with the same options, and the error of one is that of
// all. Each rank then has all bodies: all add, set and remove the same ones, and they share the
// sums of the forces, by direct sums alone. From then on `kyoho_integrator_evolve`,
// `kyoho_integrator_energies`, and `kyoho_integrator_get_bodies` where forces or nearest bodies are
// wanted, are calls of all ranks, and all others of one.
//
// Errors: as `kyoho_system_create`, and KYOHO_BAD_OPTION also for a field of `integrator_options`
// whose value is not allowed, and for the scope of regular forces.
kyoho_result kyoho_integrator_create(const struct kyoho_options *options,
                                     const struct kyoho_integrator_options *integrator_options,
                                     struct kyoho_integrator **integrator);

// Adds bodies at the time of the integrator.
//
// Errors, after which no body was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
// KYOHO_BAD_OPTION (an identifier that another body has, a mass, radius or softening below 0, a
// group that there is not, softenings that need more groups than 16 with subsystems, or a
// stride that is not allowed),
// KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_add_bodies(struct kyoho_integrator *integrator,
                                         const struct kyoho_bodies *bodies);

// Changes bodies at the time of the integrator; arrays that are NULL leave what bodies have. After
// other changes than of radii, the next evolution begins with new forces of all bodies. Those whose
// forces are nearly as before keep their steps, and others, or at other places, have first steps.
//
// Errors, after which no body was changed: as `kyoho_integrator_add_bodies`, and KYOHO_BAD_OPTION
// also for an identifier that no body has.
kyoho_result kyoho_integrator_set_bodies(struct kyoho_integrator *integrator,
                                         const struct kyoho_bodies *bodies);

// Writes bodies at the time of the integrator, and on request the forces on them and their nearest
// bodies.
//
// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT
// (negative, or without identifiers more than there are bodies), KYOHO_BAD_OPTION (an identifier
// that no body has, or a stride that is not allowed), KYOHO_OUT_OF_MEMORY. Where forces or nearest
// bodies are wanted also those of `kyoho_integrator_energies`.
kyoho_result kyoho_integrator_get_bodies(struct kyoho_integrator *integrator,
                                         const struct kyoho_body_states *states);

// Removes the bodies with these `count` identifiers.
//
// Errors, after which no body was removed: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
// KYOHO_BAD_OPTION (an identifier that no body has), KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_remove_bodies(struct kyoho_integrator *integrator,
                                            int32_t count,
                                            const int64_t *identifiers);

// Writes the identifiers of all bodies, in the order in which they were added. `identifiers` has
// room for `capacity` of them, and may be NULL if there are no bodies.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BUFFER_TOO_SMALL, after
// which nothing was written.
kyoho_result kyoho_integrator_identifiers(struct kyoho_integrator *integrator,
                                          int32_t capacity,
                                          int64_t *identifiers);

// Adds a group of bodies with this softening length. It feels all groups, itself too, and all feel
// it, until `kyoho_integrator_set_feels`. `group` receives its number. Group 0, that of bodies for
// which none is given, is always there and has the softening of the integrator's options. The
// squared softening of a pair is the mean of those of both bodies.
//
// Each group costs a sum of its own in every step. A GPU makes the block steps of up to four groups
// with bodies that all feel all; those of others are the host's. There are at most 16.
//
// Errors, after which no group was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION
// (a softening below 0 or not finite, more than 16 groups, or an integrator with subsystems).
kyoho_result kyoho_integrator_add_group(struct kyoho_integrator *integrator,
                                        double softening,
                                        int32_t *group);

// Lets the bodies of a group feel those of another one, or of the same, from now on, or not where
// `feels` is 0. It need not be mutual, but without reaction the energy is not conserved. The next
// evolution begins with new forces of all bodies.
//
// A pair of which one body feels the other counts once in the potential energy. Bodies that do not
// feel one another have no approach, but they collide.
//
// Errors, after which nothing was changed: KYOHO_BAD_HANDLE, KYOHO_BAD_OPTION (a group that there
// is not, `feels` that is neither 0 nor 1, or an integrator with subsystems).
kyoho_result kyoho_integrator_set_feels(struct kyoho_integrator *integrator,
                                        int32_t group,
                                        int32_t other,
                                        int32_t feels);

// Describes a group: its softening length, and in `feels` whether it feels each group, 1 or 0, from
// group 0 on. `feels` has room for `capacity` numbers, at least `kyoho_integration.group_count`.
// Both pointers may be NULL.
//
// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (a negative capacity),
// KYOHO_BAD_OPTION (a group that there is not), KYOHO_BUFFER_TOO_SMALL.
kyoho_result kyoho_integrator_group(struct kyoho_integrator *integrator,
                                    int32_t group,
                                    double *softening,
                                    int32_t capacity,
                                    int32_t *feels);

// Adds a field, which acts on all bodies beside their own gravity from now on; several add up.
// `field` is a built-in name (docs/fields.md has them) or a text of the language of pairs without
// sources, which ends with a zero. `names` has the names of its parameters with spaces between
// them, and `numbers` the `count` numbers of all of these, one after another: three of a vector.
// Both may be NULL for a field without parameters. The next evolution begins with new forces of
// all bodies. A GPU that makes the block steps adds fields there (docs/fields.md).
//
// Errors, after which no field was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT,
// KYOHO_BAD_OPTION (an unknown name, a parameter that is missing or that the field has not, a
// number that is not finite), KYOHO_BAD_COUNT, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_add_field(struct kyoho_integrator *integrator,
                                        const char *field,
                                        const char *names,
                                        int32_t count,
                                        const double *numbers);

// Adds a field as `kyoho_integrator_add_field` does, whose centre moves: the field acts on
// positions and velocities relative to it. `times` has the rising times of `nodes` nodes, two or
// more, and `positions` a row of three numbers for each. Between them the centre moves on a cubic
// spline: with the velocities at the nodes that `velocities` has in rows, or, if that is NULL, a
// natural one, whose acceleration is continuous and zero at both ends.
//
// An evolution that begins before the first time or goes on beyond the last one is
// KYOHO_BAD_OPTION.
//
// Errors, after which no field was added: as `kyoho_integrator_add_field`, and KYOHO_BAD_OPTION
// also for fewer than two nodes and for times that do not rise, KYOHO_NOT_FINITE.
kyoho_result kyoho_integrator_add_moving_field(struct kyoho_integrator *integrator,
                                               const char *field,
                                               const char *names,
                                               int32_t count,
                                               const double *numbers,
                                               int32_t nodes,
                                               const double *times,
                                               const double *positions,
                                               const double *velocities);

// Adds a field that a function of the caller gives, from now on: beside others, on all bodies. The
// library calls it in evolutions, once for all bodies of a block step, with `context`, and where
// it computes energies if `has_potential` is not 0; from the thread that called the library, but
// in `kyoho_integrators_evolve` from threads of the library, those of several integrators at the
// same time. It must return, so that it may neither throw an exception nor jump, and it must not
// call functions on this integrator.
//
// Order 2 asks for accelerations, order 4 for jerks too: the derivative by time of the
// acceleration that the field gives a body, along its way, which may depend on its acceleration by
// all forces. Orders 6 and 8 need derivatives that no function gives. `kyoho_integrator_state`
// cannot write such a field.
//
// Errors, after which no field was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION
// (order 6 or 8), KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_add_field_function(struct kyoho_integrator *integrator,
                                                 kyoho_field_function function,
                                                 void *context,
                                                 int32_t has_potential);

// Adds a law between bodies beside their gravity, from now on; several add up. `law` is a text of
// the language of pairs (docs/laws.md), which ends with a zero. `names` has the names of its
// parameters with spaces between them, and `numbers` the `count` numbers of all of these, one
// after another. Both may be NULL for a law without parameters.
//
// It acts on the bodies of the groups whose bits are set in `on` (1 for group 0, 2 for group 1, 4
// for group 2), by bodies of those in `by`; 0 stands for all groups. The next evolution begins
// with new forces of all bodies. The host makes the block steps then, and asks a GPU for the sums.
//
// Errors, after which no law was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT,
// KYOHO_BAD_OPTION (a parameter that is missing or that the law has not, a number that is not
// finite, a group that there is not, or an integrator with subsystems), KYOHO_BAD_COUNT,
// KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_add_law(struct kyoho_integrator *integrator,
                                      const char *law,
                                      const char *names,
                                      int32_t count,
                                      const double *numbers,
                                      int32_t on,
                                      int32_t by);

// Computes the energy of the bodies by laws: each mass times its potential, in which a pair counts
// once, whether both or one of the two act. It is part of the potential energy of
// `kyoho_integrator_energies`. Laws that are written as an acceleration alone give none.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_NOT_FINITE (by a law),
// KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_law_energy(struct kyoho_integrator *integrator, double *energy);

// Advances all bodies to a time, which may not lie before theirs, or until something ends it
// earlier: an approach, which is looked for at the ends of block steps, a collision or a merger in
// a step that ends then, unless bodies become one and go on, or `evolve_options`. Whatever the
// reason, all bodies are at one time then, from which a further call goes on. `evolve_options` and
// `evolution`, which is told the reason, may be NULL.
//
// All bodies meet at the end of each call, so steps are no longer than the time to it, and the
// bits of bodies depend on the times of calls. They do not depend on the number of threads.
//
// Over ranks all call this with the same bodies and arguments, but `progress` may be any, or NULL:
// where it returns anything but 0 on one, the evolution ends on all after the same block step. An
// error on one is that of all.
//
// Errors, after which bodies are where they were, or where the last two became one, or in order 2
// at the end of a step: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a time before that of
// the bodies, or a field of `evolve_options` or `evolution`), KYOHO_NOT_FINITE (in orders 4 to
// 8 also for bodies at one position without softening), KYOHO_OUT_OF_RANGE, KYOHO_DEVICE_FAILED,
// KYOHO_OUT_OF_MEMORY. Where a field gives a body such a number, the text names both.
kyoho_result kyoho_integrator_evolve(struct kyoho_integrator *integrator,
                                     double time,
                                     const struct kyoho_evolve_options *evolve_options,
                                     struct kyoho_evolution *evolution);

// Evolves several integrators at the same time, each to its own of `times`, as
// `kyoho_integrator_evolve` does one. On a GPU up to 128 at a time share its multiprocessors: an
// ensemble of small clusters takes little longer than one of them. On CPUs so many evolve at a time
// that each has the `threads` of its options, for which 1 is best here. No bits depend on how many
// integrators there are. A GPU makes the steps of 16 bodies and more here, in
// `kyoho_integrator_evolve` those of 512 and more: between these last digits differ.
//
// `evolve_options`, which may be NULL, holds for each. Threads of the library call its `progress`,
// one at a time, with the time and the number of block steps of some integrator; where it returns
// anything but 0, all end. It must not call functions on any of these integrators.
//
// `evolutions` and `results` may be NULL, or have an element for each integrator, and every
// evolution begins with KYOHO_EVOLUTION_INIT. An error of one integrator leaves the others as they
// are: `results` gets the code of each, and `kyoho_integrator_last_error` has its text. The call
// returns the first error of all.
//
// Errors, after which no bodies have moved: KYOHO_NULL_ARGUMENT, KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT,
// KYOHO_BAD_OPTION (a field of `evolve_options`, or an integrator over ranks), KYOHO_OUT_OF_MEMORY;
// and for each integrator those of `kyoho_integrator_evolve`.
kyoho_result kyoho_integrators_evolve(int32_t integrator_count,
                                      struct kyoho_integrator *const *integrators,
                                      const double *times,
                                      const struct kyoho_evolve_options *evolve_options,
                                      struct kyoho_evolution *evolutions,
                                      int32_t *results);

// Writes how many binaries the subsystems of an integrator have: bound pairs of bodies, and of
// pairs.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_binary_count(struct kyoho_integrator *integrator, int32_t *count);

// Writes the binaries of the subsystems, innermost first in each.
//
// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
// KYOHO_BAD_OPTION (a stride that is not allowed), KYOHO_BUFFER_TOO_SMALL, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_binaries(struct kyoho_integrator *integrator,
                                       const struct kyoho_binaries *binaries);

// Writes the encounters of the last evolution, until bodies are added, changed or removed: those
// that ended it, and those after which two bodies were one.
//
// Errors, after which nothing was written: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT,
// KYOHO_BAD_OPTION (a stride that is not allowed), KYOHO_BUFFER_TOO_SMALL.
kyoho_result kyoho_integrator_encounters(struct kyoho_integrator *integrator,
                                         const struct kyoho_encounters *encounters);

// Writes the gravitational constant in a system of units, which `kyoho_integrator_options.gravity`
// takes. `units` is "SI", or has a length, a mass and a time or a speed with spaces between them,
// such as "pc Msun Myr" or "kpc 1e10Msun km/s"; docs/units.md has all.
//
// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a unit that is not known).
kyoho_result kyoho_gravitational_constant(const char *units, double *gravity);

// Computes the kinetic energy of the bodies and their potential energy, in which each pair counts
// once and softening is included; in double precision, and in order 2 by the tree if there is one.
// The potential energies in fields and by laws are part of it: `kyoho_integrator_field_energy` and
// `kyoho_integrator_law_energy` have these alone. The sum is conserved where nothing depends on
// time or velocities and each body that acts is acted upon. Both pointers may be NULL.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE (in a field or by a law), KYOHO_OUT_OF_RANGE,
// KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_energies(struct kyoho_integrator *integrator,
                                       double *kinetic,
                                       double *potential);

// Computes the potential energy of the bodies in fields: the sum of each mass times the potential
// there. Fields whose text has an acceleration alone have none.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_field_energy(struct kyoho_integrator *integrator, double *energy);

// Writes the state of an integrator: its bodies with their identifiers, radii and time, the steps
// and derivatives with which the next evolution goes on, its fields, laws and groups. `state` has
// room for `room` bytes, and may be NULL if there is none; `needed`, which may be NULL, receives
// the bytes of the state.
//
// An integrator of the same order that is given these bytes by `kyoho_integrator_set_state` goes on
// with the same bits, if it was made with the same options, on the same kind of device, by the
// same version of the library. Choices and counts are no part of a state.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (a negative room),
// KYOHO_BAD_OPTION (a field that is a function), KYOHO_BUFFER_TOO_SMALL, after which nothing was
// written but `needed`, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_state(struct kyoho_integrator *integrator,
                                    void *state,
                                    int64_t room,
                                    int64_t *needed);

// Goes on from a state of `size` bytes, which `kyoho_integrator_state` gave, in place of the
// bodies, fields and laws that the integrator has. What was made with it stays: its options and
// its counts.
//
// Errors, after which nothing was changed: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT
// (a negative size), KYOHO_BAD_OPTION (bytes that are no state, or that of another order),
// KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_integrator_set_state(struct kyoho_integrator *integrator,
                                        const void *state,
                                        int64_t size);

// Describes an integrator: its bodies, their time, and counts of its work.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a `structure_size` that is not
// allowed).
kyoho_result kyoho_integrator_describe(struct kyoho_integrator *integrator,
                                       struct kyoho_integration *integration);

// The text of the last failing call on an integrator, as `kyoho_system_last_error` has it for
// systems.
const char *kyoho_integrator_last_error(struct kyoho_integrator *integrator);

// Frees an integrator; its handle is none from then on. A call that is under way on it is waited
// for.
//
// Errors: KYOHO_BAD_HANDLE, also for NULL and for one that was freed before.
kyoho_result kyoho_integrator_free(struct kyoho_integrator *integrator);

// Moves systems of few bodies by algorithmic regularisation, without softening: hard binaries and
// close encounters of any eccentricity. Two bodies alone, without radii that end them, move as
// Kepler's problem says. `outcomes` may be NULL.
//
// A system that ends early has the state of that moment, and does not end the others. The results
// depend neither on the number of threads nor on the devices.
//
// Errors, after which no body has moved: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (offsets that
// decrease or do not begin with 0), KYOHO_BAD_OPTION (a field whose value is not allowed, more than
// 100 bodies in a system, a mass or a radius below 0, numbers above 1e75, two bodies in one place),
// KYOHO_NOT_FINITE, KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED (of a backend that was chosen),
// KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_few_body_evolve(const struct kyoho_few_body_options *options,
                                   const struct kyoho_few_body_systems *systems,
                                   const struct kyoho_few_body_outcomes *outcomes);

// Makes a model of a star cluster. `model` is a text of words with spaces between them, first a
// profile: "plummer", "hernquist", "king,w0=6", "uniform_sphere" or "cold_collapse", with the mass
// of all bodies and the virial radius where they are not 1, as in "king,w0=7,mass=500,radius=2".
// Behind it may stand "kroupa,least=0.08,most=100", the masses of stars with limits in solar
// masses, and "binaries,fraction=0.3,least=1e-4,most=1e-2", the share of binaries among binaries
// and single stars and the limits of their semi-major axes.
//
// `units` are those of the model, as for `kyoho_gravitational_constant`; NULL: those in which the
// gravitational constant is 1. With units the mass and the radius have to be given, and may have
// units, as in "radius=2pc"; with "kroupa" the mass is the sum of the stars' masses.
//
// `count` is the number of bodies, 2 to 1073741824, both stars of a binary counted: these come
// first, one after the other. A seed means the same bodies on the same kind of device, as in
// `kyoho model` and in Python. `masses` has room for `count` numbers, `positions` and `velocities`
// for 3 times as many, the vectors one after the other.
//
// Errors, after which nothing was written: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION
// (a text or a number that is not allowed), KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED,
// KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_model_make(const char *model,
                              const char *units,
                              int32_t count,
                              uint64_t seed,
                              double *masses,
                              double *positions,
                              double *velocities);

// Puts two clusters on an orbit round each other, as that of two points with their masses, whose
// plane is that of x and y. The first `first_count` bodies are one cluster, and `second_count` that
// follow the other one. Their centre of mass comes to rest in the origin.
//
// `orbit` is a text: "separation=10,speed=0.5,impact=2", the distance at the start, the relative
// speed, and the distance at which the straight line of the second cluster passes the first (0); or
// "separation=10,eccentricity=1,pericentre=0.5", a parabola, an ellipse or a hyperbola on the way
// to its smallest distance. `units` are those of the bodies and the orbit, as in
// `kyoho_model_make`.
//
// Errors, after which no body has moved: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a
// text, a number or a mass that is not allowed), KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_model_two_clusters(const char *orbit,
                                      const char *units,
                                      int32_t first_count,
                                      int32_t second_count,
                                      const double *masses,
                                      double *positions,
                                      double *velocities);

// Sends the process's log to a function of yours, line by line; it takes the place of one that
// was set before. NULL: to none. What KYOHO_LOG and KYOHO_LOG_FILE ask for is written as well.
//
// `callback` receives `context`, the level of a line, and its text without a line end, which it
// may read until it returns. It receives lines up to `level`. It may be called by any thread and
// by several at a time, also within calls of yours. It must return, so that it may neither throw
// an exception nor jump, and it must not call the library. When this function has returned, the
// callback that was set before has returned too and is not called any more.
//
// Errors: KYOHO_BAD_OPTION (no such level), KYOHO_CALL_ORDER (the callback calls this, or the
// process is a Rust program with a logger of its own).
kyoho_result kyoho_set_log(kyoho_log_callback callback, void *context, kyoho_log_level level);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_H */
