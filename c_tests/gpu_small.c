/* A few small blocks of each kind in every order and precision, compared with a plain sum. They
 * are small enough for a checker of the device's memory. They are computed on one device and on
 * one that is named three times, with the same bits. It prints one line for each order and
 * precision; see gpu_library.h.
 *
 *     compute-sanitizer --tool memcheck ./gpu_small path/to/libkyoho.so [cuda, opencl or cpu] [order] [precision]
 *
 * With `few` as a further argument there are fewer sources and only small blocks, for which
 * racecheck takes a minute.
 */
#define _POSIX_C_SOURCE 200809L

#include <float.h>

#include "gpu_library.h"

/* The most sources at successive addresses, the most at addresses far from one another, and the
   most sinks. */
enum { DENSE = 6000, SPARSE = 40, MOST_SOURCES = DENSE + SPARSE, MOST = 1100 };

/* The number of sources at successive addresses, and of all. */
static int dense = DENSE, all = MOST_SOURCES;

struct source {
    int32_t address, index;
    int written;
    double mass, time;
    double x[8][3]; /* position and derivatives */
};

struct sink {
    int32_t index;
    double x[4][3], radius2;
};

struct answer {
    double pot, force[4][3], distance2; /* acceleration, jerk, snap, crackle */
    int32_t nearest;
};

static struct source sources[MOST_SOURCES];
static struct sink sinks[MOST];
static struct answer answers[2][MOST];
static int order, precision;
static double pair_rounding, coordinate_rounding, now;
static uint64_t seed;
/* One device, and one named three times. */
static kyoho_system *systems[2];

static void draw_vector(double to[3], double scale) {
    for (int k = 0; k < 3; k++) to[k] = scale * draw(&seed);
}

static void make_sources(void) {
    seed = 11;
    for (int s = 0; s < all; s++) {
        struct source *source = &sources[s];
        memset(source, 0, sizeof *source);
        source->address = s < dense ? s : dense + 1000 + 7001 * (s - dense);
        source->index = 3 * s - 500;
        source->mass = (1.5 + draw(&seed)) / all;
        for (int q = 0; q < 8; q++) draw_vector(source->x[q], q ? 0.5 : 1);
    }
}

/* Makes sinks of which every second is a source. Without softening each of these is at the place
   of another source, too. */
static void make_sinks(void) {
    for (int i = 0; i < MOST; i++) {
        const struct source *source = &sources[5 * i % dense];
        for (int q = 0; q < 4; q++) draw_vector(sinks[i].x[q], q ? 0.5 : 1);
        sinks[i].index = i % 2 ? source->index : -1000 - i;
        if (i % 2) memcpy(sinks[i].x, source->x, sizeof sinks[i].x);
        sinks[i].radius2 = i % 3 ? 0.001 * (i % 50) : 0;
    }
}

/* Writes `count` sources, `step` apart among those below `end`. */
static void write_sources(int first, int count, int step, int end) {
    static int32_t addresses[MOST_SOURCES], indices[MOST_SOURCES];
    static double masses[MOST_SOURCES], times[MOST_SOURCES], x[MOST_SOURCES][8][3];
    for (int n = 0; n < count; n++) {
        struct source *source = &sources[(first + n * step) % end];
        if (source->written) {
            /* The source has moved since. */
            source->time = now;
            draw_vector(source->x[0], 1);
            draw_vector(source->x[1], 0.5);
        }
        source->written = 1;
        addresses[n] = source->address, indices[n] = source->index;
        masses[n] = source->mass, times[n] = source->time;
        memcpy(x[n], source->x, sizeof x[n]);
    }
    kyoho_sources given = KYOHO_SOURCES_INIT;
    given.count = count;
    given.addresses.data = addresses, given.indices.data = indices, given.masses.data = masses, given.times.data = times;
    given.positions.data = x[0][0], given.velocities.data = x[0][1], given.accelerations.data = x[0][2], given.jerks.data = x[0][3];
    given.snaps.data = x[0][4], given.crackles.data = x[0][5];
    given.sixth_derivatives.data = x[0][6], given.seventh_derivatives.data = x[0][7];
    given.positions.stride = given.velocities.stride = given.accelerations.stride = given.jerks.stride = sizeof *x;
    given.snaps.stride = given.crackles.stride = sizeof *x;
    given.sixth_derivatives.stride = given.seventh_derivatives.stride = sizeof *x;
    for (int s = 0; s < 2; s++) GIVES(KYOHO_OK, kyoho_system_set_sources(systems[s], &given));
}

static void set_times(double time) {
    now = time;
    for (int s = 0; s < 2; s++) GIVES(KYOHO_OK, kyoho_system_set_time(systems[s], time));
}

/* The sources as they were when the block began. */
static struct source at_start[MOST_SOURCES];

/* Returns the number of vectors that a pair needs. The series has twice as many terms, except
   for one term in order 2. */
static int vectors(void) {
    return order / 2;
}

static void predict(const struct source *source, double x[4][3]) {
    double dt = now - source->time;
    int terms = order == 2 ? 1 : order;
    memset(x, 0, 12 * sizeof(double));
    for (int q = 0; q < vectors(); q++) {
        double factor = 1;
        for (int n = q; n < terms; n++) {
            for (int k = 0; k < 3; k++) x[q][k] += factor * source->x[n][k];
            factor *= dt / (n - q + 1);
        }
    }
}

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double length(const double r[3]) {
    return sqrt(dot(r, r));
}

static int wrong(const char *what, int sink, double found, double right, double bound) {
    if (fabs(found - right) <= bound) return 0;
    if (failures++ < 20)
        fprintf(stderr, "sink %d: %s is %.17g, not %.17g (to %.2g)\n", sink, what, found, right, bound);
    return 1;
}

/* Compares a result with the plain sum, up to the rounding of coordinates and of pairs. */
static void check_sink(int number, int nj, double softening2, const struct answer *answer) {
    const struct sink *sink = &sinks[number];
    static const char *const names[] = {"the acceleration", "the jerk", "the snap", "the crackle"};
    long double pot = 0, sums[4][3] = {{0}};
    double bound_pot = 0, bounds[4] = {0}, nearest = INFINITY, reported = INFINITY;
    for (int s = 0; s < all; s++) {
        const struct source *source = &at_start[s];
        double x[4][3], r[4][3] = {{0}}, size[4] = {0};
        if (!source->written || source->address >= nj || source->index == sink->index) continue;
        predict(source, x);
        for (int q = 0; q < vectors(); q++) {
            for (int k = 0; k < 3; k++) r[q][k] = x[q][k] - sink->x[q][k];
            size[q] = length(x[q]) + length(sink->x[q]);
        }
        double d = length(r[0]), s2 = d * d + softening2;
        nearest = fmin(nearest, d);
        if (source->index == answer->nearest) reported = fmin(reported, d);
        if (s2 == 0) continue;
        double distance = sqrt(s2), w = source->mass / (s2 * distance);
        double part = 32 * pair_rounding + 16 * coordinate_rounding * size[0] / distance;
        double alpha = dot(r[0], r[1]) / s2, beta = (dot(r[1], r[1]) + dot(r[0], r[2])) / s2 + alpha * alpha;
        double gamma = (3 * dot(r[1], r[2]) + dot(r[0], r[3])) / s2 + alpha * (3 * beta - 4 * alpha * alpha);
        pot -= (long double)w * s2;
        for (int k = 0; k < 3; k++) {
            long double acc = (long double)w * r[0][k], jerk = w * r[1][k] - 3 * alpha * acc;
            long double snap = w * r[2][k] - 6 * alpha * jerk - 3 * beta * acc;
            sums[0][k] += acc, sums[1][k] += jerk, sums[2][k] += snap;
            sums[3][k] += w * r[3][k] - 9 * alpha * snap - 9 * beta * jerk - 3 * gamma * acc;
        }
        double slow = size[1] / distance;
        bound_pot += w * s2 * part;
        bounds[0] += w * distance * part;
        bounds[1] += 5 * w * size[1] * part;
        bounds[2] += w * (8 * size[2] + 70 * size[1] * slow) * part;
        bounds[3] += w * (8 * size[3] + 200 * size[2] * slow + 1200 * size[1] * slow * slow) * part;
    }
    int bad = wrong("the potential", number, answer->pot, (double)pot, bound_pot);
    for (int q = 0; q < vectors(); q++)
        for (int k = 0; k < 3; k++) bad += wrong(names[q], number, answer->force[q][k], (double)sums[q][k], bounds[q]);
    if (order > 2) {
        double near = 16 * coordinate_rounding;
        if (nearest == INFINITY) {
            CHECK(answer->nearest == -1 && answer->distance2 == INFINITY);
        } else {
            near += 16 * pair_rounding * nearest;
            bad += wrong("the distance of the nearest", number, sqrt(answer->distance2), nearest, near);
            bad += wrong("the distance of what is called the nearest", number, reported, nearest, 2 * near);
        }
    }
    if (bad && failures < 20)
        fprintf(stderr, "in a block of order %d precision %d, nj %d, softening2 %g\n", order, precision, nj, softening2);
}

static int ascending(const void *one, const void *other) {
    int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a > b) - (a < b);
}

static void check_list(int number, int nj) {
    static int32_t right[MOST_SOURCES], found[MOST_SOURCES];
    int32_t expected = 0, count = -1;
    for (int s = 0; s < all; s++) {
        double x[4][3], r2 = 0;
        if (!at_start[s].written || at_start[s].address >= nj || at_start[s].index == sinks[number].index) continue;
        predict(&at_start[s], x);
        for (int k = 0; k < 3; k++) r2 += (x[0][k] - sinks[number].x[0][k]) * (x[0][k] - sinks[number].x[0][k]);
        if (r2 < sinks[number].radius2) right[expected++] = at_start[s].index;
    }
    qsort(right, expected, sizeof *right, ascending);
    for (int s = 0; s < 2; s++) {
        GIVES(KYOHO_OK, kyoho_system_neighbours(systems[s], number, all, found, &count));
        CHECK(count == expected && memcmp(found, right, expected * sizeof *right) == 0);
    }
}

/* Computes a block on both systems. While it is under way, `later` sources are written, and its
   lists are read after that. */
static void block(int ni, int nj, double softening2, int lists, int later) {
    kyoho_sinks given = KYOHO_SINKS_INIT;
    given.count = ni;
    given.softening2 = softening2;
    given.indices.data = &sinks->index, given.indices.stride = sizeof *sinks;
    given.positions.data = sinks->x[0], given.positions.stride = sizeof *sinks;
    given.velocities.data = sinks->x[1], given.velocities.stride = sizeof *sinks;
    given.accelerations.data = sinks->x[2], given.accelerations.stride = sizeof *sinks;
    given.jerks.data = sinks->x[3], given.jerks.stride = sizeof *sinks;
    if (lists) given.radii2.data = &sinks->radius2, given.radii2.stride = sizeof *sinks;
    memcpy(at_start, sources, sizeof sources);
    for (int s = 0; s < 2; s++) GIVES(KYOHO_OK, kyoho_system_start(systems[s], nj, &given));
    if (later) write_sources(later, later, 17, dense);
    for (int s = 0; s < 2; s++) {
        struct answer *to = answers[s];
        kyoho_forces forces = KYOHO_FORCES_INIT;
        memset(to, 0x7f, sizeof answers[s]);
        forces.potentials.data = &to->pot, forces.potentials.stride = sizeof *to;
        forces.accelerations.data = to->force[0], forces.accelerations.stride = sizeof *to;
        if (order > 4) forces.snaps.data = to->force[2], forces.snaps.stride = sizeof *to;
        if (order > 6) forces.crackles.data = to->force[3], forces.crackles.stride = sizeof *to;
        if (order > 2) {
            forces.jerks.data = to->force[1], forces.jerks.stride = sizeof *to;
            forces.nearest.data = &to->nearest, forces.nearest.stride = sizeof *to;
            forces.nearest_distance2.data = &to->distance2, forces.nearest_distance2.stride = sizeof *to;
        }
        GIVES(KYOHO_OK, kyoho_system_wait(systems[s], &forces));
    }
    CHECK(memcmp(answers[0], answers[1], sizeof answers[0]) == 0); /* beyond ni too: nothing is written there */
    for (int i = 0; i < ni; i += 1 + ni / 128) check_sink(i, nj, softening2, &answers[0][i]);
    if (lists && order > 2)
        for (int i = 0; i < ni; i += 1 + ni / 60) check_list(i, nj);
}

static const int sizes[] = {1, 5, 40, 300, 1100};
static int size_count = sizeof sizes / sizeof *sizes;

static void blocks(int nj, double softening2) {
    for (int n = 0; n < size_count; n++) block(sizes[n], nj, softening2, 0, 0);
}

static void run(int backend) {
    for (int s = 0; s < 2; s++) {
        kyoho_result made = create_on(order, precision, backend, s == 0 ? NULL : "0,0,0", 1, &systems[s]);
        GIVES(KYOHO_OK, made);
        if (made != KYOHO_OK) return;
    }
    pair_rounding = precision == KYOHO_PRECISION_DOUBLE ? DBL_EPSILON : FLT_EPSILON;
    coordinate_rounding = precision == KYOHO_PRECISION_MIXED ? ldexp(1, -47) : pair_rounding;
    make_sources();
    make_sinks();
    set_times(0);
    block(5, 700, 1e-4, 1, 0); /* no source at all */
    write_sources(0, 700, 1, dense);
    blocks(700, 1e-4);
    /* As many particles move as there are in a block. The records are few, which go with the
       block, or many. */
    for (int n = 0; n < size_count; n++) {
        set_times((n + 1) / 256.0);
        block(sizes[n], 700, 1e-4, 0, 0);
        block(sizes[n], 500, 1e-4, 0, 0); /* at the same time: nothing is predicted again */
        write_sources(n, sizes[n] < 700 ? sizes[n] : 700, 7, 699);
    }
    write_sources(700, dense - 700, 1, dense);
    set_times(1 / 32.0);
    blocks(dense, 1e-4);
    for (int n = 0; n < size_count; n++) {
        write_sources(100 * n, sizes[n], 7, dense);
        block(sizes[n], dense, 1e-4, 0, sizes[size_count - 1 - n]);
        set_times(now + 1 / 512.0);
        block(sizes[n], dense, 1e-4, 1, sizes[n]);
    }
    /* Each slice has some of these far addresses. Addresses between them were never written. */
    write_sources(dense, SPARSE, 1, all);
    const int32_t end = sources[all - 1].address;
    for (int n = 0; n < size_count; n++) block(sizes[n], end + 1, 1e-4, n % 2, 0);
    block(40, end, 1e-4, 1, 0);
    block(5, 2147483647, 1e-4, 1, 0);
    block(5, 0, 1e-4, 1, 0);
    block(0, dense, 1e-4, 1, 0);
    /* Coincident pairs without softening are at coordinates that every precision has exactly,
       and at rest. */
    for (int s = 0; s < 1000; s++) {
        for (int k = 0; k < 3; k++) {
            sources[s].x[0][k] = s % 2 ? sources[s - 1].x[0][k] : round(64 * sources[s].x[0][k]) / 64;
            for (int q = 1; q < 8; q++) sources[s].x[q][k] = 0;
        }
        sources[s].written = 0; /* stays where it is now */
        sources[s].time = now;
    }
    write_sources(0, 1000, 1, 1000);
    for (int i = 0; i < MOST; i++) {
        const struct source *source = &sources[i < 1000 ? i : i - 1000];
        if (i % 4 == 0) continue;
        sinks[i].index = i % 4 == 1 ? source->index : -1000 - i;
        memcpy(sinks[i].x[0], source->x[0], sizeof source->x[0]);
    }
    blocks(1000, 0);
    for (int n = 0; n < size_count; n++) block(sizes[n], dense, 0, 1, 0);
    for (int s = 0; s < 2; s++) GIVES(KYOHO_OK, kyoho_system_free(systems[s]));
}

int main(int count, char **arguments) {
    static const char *const backends[] = {"", "cpu", "cuda", "opencl"};
    int backend = KYOHO_BACKEND_CUDA;
    load_library(count, arguments);
    forget_environment();
    setenv("KYOHO_CROSSOVER", "off", 1);
    for (int k = 1; k < 4; k++)
        if (count > 2 && strcmp(arguments[2], backends[k]) == 0) backend = k;
    if (kyoho_backend_available(backend, NULL) != KYOHO_OK) {
        printf("no GPU: %s\n", kyoho_last_error());
        return NO_GPU;
    }
    if (count > 5 && strcmp(arguments[5], "few") == 0) dense = 1600, all = dense + SPARSE, size_count = 3;
    for (order = 2; order <= 8; order += 2) {
        for (precision = KYOHO_PRECISION_SINGLE; precision <= KYOHO_PRECISION_DOUBLE; precision++) {
            int before = failures;
            if (order == 6 && precision == KYOHO_PRECISION_SINGLE) continue; /* what is not computed */
            if (order == 8 && precision != KYOHO_PRECISION_DOUBLE) continue;
            if (count > 3 && atoi(arguments[3]) != order) continue;
            if (count > 4 && atoi(arguments[4]) != precision) continue;
            run(backend);
            printf("%s order %d precision %d: %s\n", backends[backend], order, precision,
                   failures == before ? "ok" : "FAILED");
            fflush(stdout);
        }
    }
    return failures != 0;
}
