/* Common functions of the C tests of the native interface: checks that report failures, and
   particles to sum. */
#ifndef NATIVE_CHECK_H
#define NATIVE_CHECK_H

#include <kyoho.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                    \
    do {                                                                                                    \
        if (!(condition)) {                                                                                 \
            failures++;                                                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
        }                                                                                                   \
    } while (0)

/* Checks that a call gives this result. */
#define GIVES(result, call)                                                                                 \
    do {                                                                                                    \
        kyoho_result got = (call);                                                                          \
        if (got != (result)) {                                                                              \
            failures++;                                                                                     \
            fprintf(stderr, "%s:%d: %s gave %d (%s), not %s: %s\n", __FILE__, __LINE__, #call, (int)got,    \
                    kyoho_result_text(got), #result, kyoho_last_error());                               \
        }                                                                                                   \
    } while (0)

/* Checks that a call gives this result, and that the text of the error contains these words. */
#define SAYS(result, words, system, call)                                                                   \
    do {                                                                                                    \
        GIVES(result, call);                                                                                \
        if (!strstr(kyoho_system_last_error(system), words)) {                                                     \
            failures++;                                                                                     \
            fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", __FILE__, __LINE__,                          \
                    kyoho_system_last_error(system), words);                                                       \
        }                                                                                                   \
    } while (0)

struct particle {
    int32_t index;
    float colour; /* something of the caller's own */
    double mass;
    double x[3], v[3];
    double acc[3], jerk[3], pot;
};

/* Returns a number from -1 to 1. The series is the same on every machine. */
static inline double draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 4503599627370496.0 - 1.0;
}

static inline void make_particles(struct particle *p, int n, uint64_t seed) {
    for (int i = 0; i < n; i++) {
        memset(&p[i], 0, sizeof p[i]);
        p[i].index = 1000 + i;
        p[i].mass = (1.5 + draw(&seed)) / n;
        for (int k = 0; k < 3; k++) p[i].x[k] = draw(&seed);
        for (int k = 0; k < 3; k++) p[i].v[k] = draw(&seed);
    }
}

/* Returns the particles of this array as sources at addresses from 0 on. */
static inline kyoho_sources sources_of(const struct particle *p, int n) {
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    sources.count = n;
    sources.indices.data = &p->index, sources.indices.stride = sizeof *p;
    sources.masses.data = &p->mass, sources.masses.stride = sizeof *p;
    sources.positions.data = p->x, sources.positions.stride = sizeof *p;
    sources.velocities.data = p->v, sources.velocities.stride = sizeof *p;
    return sources;
}

/* Returns the particles as sinks. */
static inline kyoho_sinks sinks_of(const struct particle *p, int n, double softening2) {
    kyoho_sinks sinks = KYOHO_SINKS_INIT;
    sinks.count = n;
    sinks.softening2 = softening2;
    sinks.indices.data = &p->index, sinks.indices.stride = sizeof *p;
    sinks.positions.data = p->x, sinks.positions.stride = sizeof *p;
    sinks.velocities.data = p->v, sinks.velocities.stride = sizeof *p;
    return sinks;
}

static inline kyoho_forces forces_of(struct particle *p) {
    kyoho_forces forces = KYOHO_FORCES_INIT;
    forces.potentials.data = &p->pot, forces.potentials.stride = sizeof *p;
    forces.accelerations.data = p->acc, forces.accelerations.stride = sizeof *p;
    forces.jerks.data = p->jerk, forces.jerks.stride = sizeof *p;
    return forces;
}

/* Computes the slow and obvious sum: the force of n sources on a particle, which is left out
   itself by its index. */
static inline void sum_force(const struct particle *p, int n, double softening2, struct particle *on) {
    double pot = 0, acc[3] = {0}, jerk[3] = {0};
    for (int j = 0; j < n; j++) {
        double r[3], v[3], r2 = softening2, rv = 0;
        if (p[j].index == on->index) continue;
        for (int k = 0; k < 3; k++) {
            r[k] = p[j].x[k] - on->x[k];
            v[k] = p[j].v[k] - on->v[k];
            r2 += r[k] * r[k];
            rv += r[k] * v[k];
        }
        double w = p[j].mass / (r2 * sqrt(r2));
        pot -= w * r2;
        for (int k = 0; k < 3; k++) {
            acc[k] += w * r[k];
            jerk[k] += w * (v[k] - 3 * rv / r2 * r[k]);
        }
    }
    on->pot = pot;
    memcpy(on->acc, acc, sizeof acc);
    memcpy(on->jerk, jerk, sizeof jerk);
}

static inline double distance(const double a[3], const double b[3]) {
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

/* Whether the difference of two vectors is less than this fraction of their length. */
static inline int close_to(const double a[3], const double b[3], double part) {
    const double zero[3] = {0, 0, 0};
    return distance(a, b) <= part * distance(b, zero);
}

/* Makes options that set these fields and leave all others open. */
static inline kyoho_options options_of(int order, int precision, int backend, const char *devices, int threads) {
    kyoho_options options = KYOHO_OPTIONS_INIT;
    options.order = order;
    options.precision = precision;
    options.backend = backend;
    options.devices = devices;
    options.threads = threads;
    return options;
}

static inline kyoho_result create_on(int order, int precision, int backend, const char *devices, int threads,
                                     kyoho_system **system) {
    kyoho_options options = options_of(order, precision, backend, devices, threads);
    return kyoho_system_create(&options, system);
}

static inline kyoho_result move_to(kyoho_system *system, int backend, const char *devices, int threads) {
    kyoho_options options = options_of(0, 0, backend, devices, threads);
    return kyoho_system_move(system, &options);
}

static inline kyoho_system *create(int order, int precision) {
    kyoho_system *system = NULL;
    GIVES(KYOHO_OK, create_on(order, precision, 0, NULL, 0, &system));
    return system;
}

#endif
