// Kyoho: gravitational forces for direct N-body codes.
//
//     kyoho_system_create(4, KYOHO_PRECISION_DOUBLE, 0, NULL, 0, &system);
//     kyoho_set_sources(system, &sources);
//     for each block step:   kyoho_set_time(system, time);
//                            kyoho_force(system, nj, &sinks, &forces);
//                            kyoho_set_sources(system, &those_that_moved);
//     kyoho_system_free(system);
//
// Every function that returns a kyoho_result gives KYOHO_OK (0) on success; on anything else kyoho_last_error says
// what was wrong. Units are the caller's own, with G = 1. Link with -lkyoho.

#ifndef KYOHO_H
#define KYOHO_H

#include <stdint.h>

// What a call came to; the numbers never move, new ones fill the gaps.
enum kyoho_result
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
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
    // The backend is not there (not built in, no driver, no device).
    KYOHO_NO_BACKEND = 30,
    // The backend does not compute this order in this precision.
    KYOHO_UNSUPPORTED = 31,
    // Memory could not be had.
    KYOHO_OUT_OF_MEMORY = 40,
    // A device failed while it worked.
    KYOHO_DEVICE_FAILED = 41,
    // A defect of the library; the system should be freed.
    KYOHO_INTERNAL = 90,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kyoho_result kyoho_result;
#else
typedef int32_t kyoho_result;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How exactly pairs are computed and summed; the descriptors say what each means.
enum kyoho_precision
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // All of a pair in 32 bits.
    KYOHO_PRECISION_SINGLE = 1,
    // Differences of positions to 48 bits, the rest of a pair in 32 bits, sums in 64.
    KYOHO_PRECISION_MIXED = 2,
    // Everything in 64 bits.
    KYOHO_PRECISION_DOUBLE = 3,
    // Everything in double-double.
    KYOHO_PRECISION_QUAD = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kyoho_precision kyoho_precision;
#else
typedef int32_t kyoho_precision;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The kinds of machine that compute forces.
enum kyoho_backend
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // SIMD and threads.
    KYOHO_BACKEND_CPU = 1,
    // NVIDIA GPUs.
    KYOHO_BACKEND_CUDA = 2,
    // OpenCL devices.
    KYOHO_BACKEND_OPENCL = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum kyoho_backend kyoho_backend;
#else
typedef int32_t kyoho_backend;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A system of sources and the devices that sum their forces. A pointer to it is a handle that the library looks up:
// it points to nothing, and one that was freed or never was a system is an error, not a danger.
//
// Several threads may use several systems at once; calls on one system wait for one another.
typedef struct kyoho_system kyoho_system;

// Counts since a system was made.
typedef struct kyoho_statistics {
    // Addresses that hold a source.
    uint64_t sources;
    // Sources written, each time counted.
    uint64_t writes;
    // Blocks whose forces were computed.
    uint64_t blocks;
    // Sinks of those blocks.
    uint64_t sinks;
    // Pairs of a sink and an address below nj.
    uint64_t interactions;
    // Bytes of host memory in use.
    uint64_t bytes;
} kyoho_statistics;

// Sources (j-particles) to write. A structure of zeros is a good start; set what you have.
//
// Each array has an element or a row for every source; `*_stride` is the distance in bytes from one to the next, 0
// where they follow one another. Arrays may be parts of your own structures and need no alignment.
typedef struct kyoho_sources {
    // The number of sources, 0 or more.
    int32_t count;
    // The address of the first source where `addresses` is NULL; the others follow it.
    int32_t first_address;
    // The address of each source, 0 or more; where one is named twice, the later one stays. NULL: from
    // `first_address` on.
    const int32_t *addresses;
    // Bytes from one to the next.
    int64_t addresses_stride;
    // Your name for each source: a sink with the same index does not feel it, and neighbours are told by it. NULL:
    // the address.
    const int32_t *indices;
    // Bytes from one to the next.
    int64_t indices_stride;
    // The masses.
    const double *masses;
    // Bytes from one to the next.
    int64_t masses_stride;
    // The time to which position, velocity, ... of each source belong. NULL: 0.
    const double *times;
    // Bytes from one to the next.
    int64_t times_stride;
    // The positions, 3 numbers a row.
    const double *positions;
    // Bytes from one row to the next.
    int64_t positions_stride;
    // The velocities, 3 numbers a row. NULL: 0. Orders 4, 6 and 8 read them.
    const double *velocities;
    // Bytes from one row to the next.
    int64_t velocities_stride;
    // The accelerations, 3 numbers a row, not divided by 2. NULL: 0. Orders 4, 6 and 8 read them.
    const double *accelerations;
    // Bytes from one row to the next.
    int64_t accelerations_stride;
    // The jerks (time derivatives of the accelerations), 3 numbers a row, not divided by 6. NULL: 0. Orders 4, 6 and 8
    // read them.
    const double *jerks;
    // Bytes from one row to the next.
    int64_t jerks_stride;
    // The snaps (time derivatives of the jerks), 3 numbers a row, not divided by 24. NULL: 0. Orders 6 and 8 read
    // them.
    const double *snaps;
    // Bytes from one row to the next.
    int64_t snaps_stride;
    // The crackles (time derivatives of the snaps), 3 numbers a row, not divided by 120. NULL: 0. Orders 6 and 8 read
    // them.
    const double *crackles;
    // Bytes from one row to the next.
    int64_t crackles_stride;
    // The sixth time derivatives of the positions, 3 numbers a row, not divided by 720. NULL: 0. Order 8 reads them.
    const double *sixth_derivatives;
    // Bytes from one row to the next.
    int64_t sixth_derivatives_stride;
    // The seventh time derivatives of the positions, 3 numbers a row, not divided by 5040. NULL: 0. Order 8 reads
    // them.
    const double *seventh_derivatives;
    // Bytes from one row to the next.
    int64_t seventh_derivatives_stride;
} kyoho_sources;

// Where predicted sources are written to. A structure of zeros is a good start; each array that is NULL is not
// written. Strides are as in `kyoho_sources`. Arrays have a row for each address.
typedef struct kyoho_predictions {
    // The positions, 3 numbers a row; in order 2 those that were written.
    double *positions;
    // Bytes from one row to the next.
    int64_t positions_stride;
    // The velocities, 3 numbers a row. Order 2 has none: leave it NULL.
    double *velocities;
    // Bytes from one row to the next.
    int64_t velocities_stride;
    // The accelerations, 3 numbers a row. Orders 2 and 4 have none: leave it NULL.
    double *accelerations;
    // Bytes from one row to the next.
    int64_t accelerations_stride;
    // The jerks, 3 numbers a row. Orders 2, 4 and 6 have none: leave it NULL.
    double *jerks;
    // Bytes from one row to the next.
    int64_t jerks_stride;
} kyoho_predictions;

// Sinks (i-particles) that forces are wanted on. A structure of zeros is a good start; set what you have. Strides are
// as in `kyoho_sources`.
typedef struct kyoho_sinks {
    // The number of sinks, 0 or more.
    int32_t count;
    // The index of each sink: sources with the same index exert no force on it and are no neighbours of it. NULL:
    // every source counts.
    const int32_t *indices;
    // Bytes from one to the next.
    int64_t indices_stride;
    // The positions at the system's time, 3 numbers a row.
    const double *positions;
    // Bytes from one row to the next.
    int64_t positions_stride;
    // The velocities at the system's time, 3 numbers a row. Orders 4, 6 and 8 need them; order 2 does not read them.
    const double *velocities;
    // Bytes from one row to the next.
    int64_t velocities_stride;
    // The accelerations at the system's time, 3 numbers a row. Orders 6 and 8 need them; the others do not read them.
    const double *accelerations;
    // Bytes from one row to the next.
    int64_t accelerations_stride;
    // The jerks at the system's time, 3 numbers a row. Order 8 needs them; the others do not read them.
    const double *jerks;
    // Bytes from one row to the next.
    int64_t jerks_stride;
    // The square of the softening length, for every sink.
    double softening2;
    // The square of the softening length, one for each sink, instead of `softening2`. May be NULL.
    const double *softening2_each;
    // Bytes from one to the next.
    int64_t softening2_each_stride;
    // The square of the radius of each sink's neighbour list. NULL: 0, no lists.
    const double *radii2;
    // Bytes from one to the next.
    int64_t radii2_stride;
} kyoho_sinks;

// Where forces are written to. A structure of zeros is a good start; each array that is NULL is not written. Strides
// are as in `kyoho_sources`. Arrays have a row for each sink; no more is written.
typedef struct kyoho_forces {
    // The potentials `-sum m / sqrt(|r|^2 + softening2)`, negative, with G = 1.
    double *potentials;
    // Bytes from one to the next.
    int64_t potentials_stride;
    // The accelerations, 3 numbers a row.
    double *accelerations;
    // Bytes from one row to the next.
    int64_t accelerations_stride;
    // The jerks (time derivatives of the accelerations), 3 numbers a row. Order 2 has none: leave it NULL.
    double *jerks;
    // Bytes from one row to the next.
    int64_t jerks_stride;
    // The snaps (time derivatives of the jerks), 3 numbers a row. Orders 2 and 4 have none: leave it NULL.
    double *snaps;
    // Bytes from one row to the next.
    int64_t snaps_stride;
    // The crackles (time derivatives of the snaps), 3 numbers a row. Orders 2, 4 and 6 have none: leave it NULL.
    double *crackles;
    // Bytes from one row to the next.
    int64_t crackles_stride;
    // The index of the nearest source, softening not included; -1 where there is no source. Order 2 finds none: leave
    // it NULL.
    int32_t *nearest;
    // Bytes from one to the next.
    int64_t nearest_stride;
    // The square of the distance of the nearest source; infinite where there is no source. Order 2 finds none: leave
    // it NULL.
    double *nearest_distance2;
    // Bytes from one to the next.
    int64_t nearest_distance2_stride;
} kyoho_forces;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The library's version, such as "0.1.0".
const char *kyoho_version(void);

// What a result means, in a few words and whatever the number. `kyoho_last_error` says more.
const char *kyoho_result_text(int32_t result);

// Whether a backend can be used here: KYOHO_OK if it can, KYOHO_NO_BACKEND if not, and `kyoho_last_error(NULL)`
// says why.
//
// `backend` is a `kyoho_backend` other than 0. `devices`, which may be NULL, receives the number of its devices, 0
// where it cannot be used.
kyoho_result kyoho_backend_available(int32_t backend, int32_t *devices);

// Makes a system without sources, at time 0.
//
// - `order`: what is computed: 2 for potentials and accelerations, 4 for jerks and nearest neighbours too, 6 for snaps
//   too, 8 for crackles too.
// - `precision`: a `kyoho_precision`; 0 for what KYOHO_PRECISION says, else KYOHO_PRECISION_DOUBLE. Orders 2 and 4 are
//   computed in single, mixed and double, order 6 in mixed and double, order 8 in double.
// - `backend`: a `kyoho_backend`; 0 for what KYOHO_BACKEND says, else the first that has a device. If nobody chose one
//   and a device fails, then or later, the next backend goes on; the log says so.
// - `devices`: the backend's devices to use: "all", a count such as "2", or a list such as "0,2" (of one: "3,"); one that
//   is named twice takes twice the share. NULL for what the environment says (KYOHO_DEVICES, sapporo2.config, GPU_LIST,
//   the launcher's local rank), else the first.
// - `threads`: threads of the CPU backend, of which up to eight copy the sinks of large blocks for any backend, the
//   caller's own included; 0 for what the environment says (KYOHO_THREADS, OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, the
//   affinity mask).
// - `system`: receives the handle, NULL on an error. Give it back with `kyoho_system_free`.
//
// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (an argument or an environment variable has a value that is not
// allowed, or the process can open no more files), KYOHO_BAD_COUNT (too many devices), KYOHO_NO_BACKEND,
// KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY; `kyoho_last_error(NULL)` has the text.
kyoho_result kyoho_system_create(int32_t order,
                                 int32_t precision,
                                 int32_t backend,
                                 const char *devices,
                                 int32_t threads,
                                 struct kyoho_system **system);

// Goes on with other devices, or with the same ones opened anew, as after KYOHO_DEVICE_FAILED. Sources, time and counts
// are kept; the last block is forgotten. The bits of forces are those of the new devices.
//
// `backend`, `devices` and `threads` are as in `kyoho_system_create`; the system's order and precision stay. If the
// devices cannot be had, the system keeps those that it had.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (a block is under way), KYOHO_BAD_OPTION, KYOHO_BAD_COUNT (too many devices),
// KYOHO_NO_BACKEND, KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_system_move(struct kyoho_system *system,
                               int32_t backend,
                               const char *devices,
                               int32_t threads);

// Sets below how many pairs (sinks times `nj`) the CPU computes a block though the system's backend is another, as small
// blocks are faster there; 0 for never. Until then it is what KYOHO_CROSSOVER says, else a constant of the device's model.
//
// The bits of a force are those of the device that computed it, so they change where blocks change sides. `pairs` has no
// effect on a system whose backend is the CPU.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (a negative number).
kyoho_result kyoho_set_crossover(struct kyoho_system *system,
                                 int64_t pairs);

// Frees a system; its handle is no system from then on. A call that is under way on it is waited for.
//
// Errors: KYOHO_BAD_HANDLE, also for NULL and for a system that was freed before.
kyoho_result kyoho_system_free(struct kyoho_system *system);

// What was wrong in the last failing call on a system: whose value, which value, what is allowed. The text is empty
// if no call failed, and it stays until the next failing call on the system, or until the system is freed.
//
// With NULL, or with a handle that is no system: of the last failing call of the calling thread, whatever it was on;
// that text stays until the thread's next failing call.
const char *kyoho_last_error(struct kyoho_system *system);

// What a system computes: its order, `kyoho_precision` and `kyoho_backend`. The backend is the one in use now, 0 where
// devices were lost and no others could be had. Each of the three may be NULL.
//
// Errors: KYOHO_BAD_HANDLE.
kyoho_result kyoho_system_describe(struct kyoho_system *system, int32_t *order, int32_t *precision, int32_t *backend);

// The number of devices that a system computes on.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT.
kyoho_result kyoho_device_count(struct kyoho_system *system, int32_t *count);

// The name of one of the devices of a system, for people.
//
// `device` counts from 0. `buffer` has room for `size` bytes and receives the name, ended by a zero byte; a name that
// is too long is cut.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such device, or a negative size),
// KYOHO_BUFFER_TOO_SMALL (the name was cut).
kyoho_result kyoho_device_name(struct kyoho_system *system, int32_t device, char *buffer, int32_t size);

// Counts since a system was made.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT.
kyoho_result kyoho_system_statistics(struct kyoho_system *system, struct kyoho_statistics *statistics);

// Writes sources at their addresses, replacing what was there; the next block is the first to see them. Addresses may
// be written in any order and may leave gaps; an address never written has no source. Order 2 keeps positions alone and
// does not read their derivatives; order 4 keeps and reads those up to the jerk, order 6 up to the crackle, order 8 up
// to the seventh.
//
// Everything is checked first: on an error in what you gave, nothing is written.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS, KYOHO_BAD_OPTION (a stride that
// lets rows overlap), KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY (some sources may have been written).
kyoho_result kyoho_set_sources(struct kyoho_system *system, const struct kyoho_sources *sources);

// Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE.
kyoho_result kyoho_set_time(struct kyoho_system *system, double time);

// The sources at `count` addresses from `first_address` on, predicted to the system's time: their positions and the
// derivatives that forces of the system's order need. Rows of addresses that were never written are NaN.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS, KYOHO_BAD_OPTION (a stride that
// lets rows overlap, or an array that the order has nothing for), KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_predicted(struct kyoho_system *system,
                             int32_t first_address,
                             int32_t count,
                             const struct kyoho_predictions *predictions);

// Computes the forces of the sources at addresses below `nj`, predicted to the system's time, on some sinks.
//
// Sources and a sink at no distance and without softening exert no force on one another. Addresses below `nj` that
// were never written have no source. On an error no array is written.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a stride that lets rows overlap, or
// an array that the order has nothing for), KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE (also where a sum overflows),
// KYOHO_CALL_ORDER (a block is under way), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_force(struct kyoho_system *system,
                         int32_t nj,
                         const struct kyoho_sinks *sinks,
                         const struct kyoho_forces *forces);

// Begins what `kyoho_force` does, and returns while devices may be at work. The sinks are copied. Sources that are
// written before `kyoho_wait` do not change this block.
//
// Errors: as `kyoho_force`.
kyoho_result kyoho_start(struct kyoho_system *system, int32_t nj, const struct kyoho_sinks *sinks);

// Waits for the block that `kyoho_start` began and writes its forces.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (no block is under way), KYOHO_OUT_OF_RANGE (a sum overflows),
// KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY; and KYOHO_NULL_ARGUMENT or KYOHO_BAD_OPTION, after which the block is still
// under way.
kyoho_result kyoho_wait(struct kyoho_system *system, const struct kyoho_forces *forces);

// The neighbours of one sink of the last block: the indices of the sources with `|r|^2 < radii2[sink]`, softening not
// included, ascending, each once. Sources that were written since do not matter.
//
// `sink` counts from 0. `list` has room for `capacity` indices and may be NULL where that is 0. `count` receives the
// number of neighbours, also where it is more than `capacity`; then the first `capacity` of them are in the list.
//
// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such sink, a negative capacity),
// KYOHO_BUFFER_TOO_SMALL, KYOHO_CALL_ORDER (no block was waited for, or the system is of order 2), KYOHO_OUT_OF_MEMORY.
kyoho_result kyoho_neighbours(struct kyoho_system *system,
                              int32_t sink,
                              int32_t capacity,
                              int32_t *list,
                              int32_t *count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KYOHO_H */
