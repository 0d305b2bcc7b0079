/*
 * A sixth-order Hermite integrator with block time steps, on the native interface of Kyoho.
 *
 *     cc -O2 hermite6.c -lkyoho -lm -o hermite6
 *     ./hermite6 plummer1024.txt 1.0
 *
 * The file has a line `mass x y z vx vy vz` for each body (G = 1; empty lines and lines that
 * begin with # are skipped); the second argument is the time to integrate to, a multiple of 1/8.
 * The energy is printed at both ends.
 *
 * The scheme is that of Nitadori & Makino (2008, New Astronomy 13, 498), with block time steps
 * as in hermite4.c. Forces have two derivatives, jerk and snap. Those at both ends of a step
 * make a polynomial of fifth degree for the acceleration: it corrects the body, chooses its next
 * step, and gives the crackle, with which it is predicted.
 */
#include <kyoho.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETA 0.2             /* accuracy of the steps */
#define ETA_START 0.005     /* of the first ones */
#define SOFTENING2 1e-4     /* the square of the softening length */
#define LONGEST 0.125       /* the longest step */
#define SHORTEST 9.094947017729282e-13 /* 2^-40 */

struct body {
    int32_t address;
    double mass, time, step;
    double x[3], v[3], acc[3], jerk[3], snap[3], crackle[3], pot;
};

static kyoho_system *kyoho;

static void check(kyoho_result result) {
    if (result != KYOHO_OK) {
        fprintf(stderr, "hermite6: %s\n", kyoho_last_error());
        exit(1);
    }
}

static struct body *read_bodies(const char *path, int *count) {
    struct body *bodies = NULL, b;
    char line[1024];
    FILE *file = fopen(path, "r");
    memset(&b, 0, sizeof b);
    for (int n = *count = 0; file && fgets(line, sizeof line, file);) {
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#') continue;
        if (sscanf(line, "%lf%lf%lf%lf%lf%lf%lf", &b.mass, &b.x[0], &b.x[1], &b.x[2], &b.v[0], &b.v[1], &b.v[2]) != 7) {
            fprintf(stderr, "hermite6: %s: no 'mass x y z vx vy vz': %s", path, line);
            exit(1);
        }
        b.address = n++;
        bodies = realloc(bodies, n * sizeof b);
        if (!bodies) abort();
        bodies[n - 1] = b;
        *count = n;
    }
    if (!bodies) {
        fprintf(stderr, "hermite6: %s: no bodies\n", path);
        exit(1);
    }
    fclose(file);
    return bodies;
}

/* Bodies become sources as they are, at their own addresses. */
static void send(const struct body *b, int count) {
    kyoho_sources s = KYOHO_SOURCES_INIT;
    s.count = count;
    s.addresses.data = &b->address, s.addresses.stride = sizeof *b;
    s.masses.data = &b->mass, s.masses.stride = sizeof *b;
    s.times.data = &b->time, s.times.stride = sizeof *b;
    s.positions.data = b->x, s.positions.stride = sizeof *b;
    s.velocities.data = b->v, s.velocities.stride = sizeof *b;
    s.accelerations.data = b->acc, s.accelerations.stride = sizeof *b;
    s.jerks.data = b->jerk, s.jerks.stride = sizeof *b;
    s.snaps.data = b->snap, s.snaps.stride = sizeof *b;
    s.crackles.data = b->crackle, s.crackles.stride = sizeof *b;
    check(kyoho_system_set_sources(kyoho, &s));
}

/* The force of all n bodies on some, whose index is their address. The accelerations of the sinks,
   which the snaps need, are read before those of the force take their place. */
static void force(int n, double time, struct body *b, int count) {
    kyoho_sinks s = KYOHO_SINKS_INIT;
    kyoho_forces f = KYOHO_FORCES_INIT;
    s.count = count;
    s.softening2 = SOFTENING2;
    s.indices.data = &b->address, s.indices.stride = sizeof *b;
    s.positions.data = b->x, s.positions.stride = sizeof *b;
    s.velocities.data = b->v, s.velocities.stride = sizeof *b;
    s.accelerations.data = b->acc, s.accelerations.stride = sizeof *b;
    f.accelerations.data = b->acc, f.accelerations.stride = sizeof *b;
    f.jerks.data = b->jerk, f.jerks.stride = sizeof *b;
    f.snaps.data = b->snap, f.snaps.stride = sizeof *b;
    f.potentials.data = &b->pot, f.potentials.stride = sizeof *b;
    check(kyoho_system_set_time(kyoho, time));
    check(kyoho_system_force(kyoho, n, &s, &f));
}

static double length2(const double a[3]) {
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

static double length(const double a[3]) {
    return sqrt(length2(a));
}

/* The longest power of two that is no longer than wanted. */
static double power_of_two(double wanted) {
    double step = LONGEST;
    while (step > wanted && step > SHORTEST) step /= 2;
    return step;
}

static void predict(const struct body *b, double time, struct body *p) {
    double dt = time - b->time;
    *p = *b;
    for (int k = 0; k < 3; k++) {
        double s = b->snap[k], c = b->crackle[k];
        p->x[k] += dt * (b->v[k] + dt / 2 * (b->acc[k] + dt / 3 * (b->jerk[k] + dt / 4 * (s + dt / 5 * c))));
        p->v[k] += dt * (b->acc[k] + dt / 2 * (b->jerk[k] + dt / 3 * (s + dt / 4 * c)));
        p->acc[k] += dt * (b->jerk[k] + dt / 2 * (s + dt / 3 * c));
    }
}

/* Corrects a predicted body p, with its new force, after the step from b, and chooses its next
   step. */
static void correct(const struct body *b, double time, struct body *p) {
    double dt = time - b->time, h = dt / 2, fourth[3], fifth[3];
    for (int k = 0; k < 3; k++) {
        double a = p->acc[k] - b->acc[k], j = h * (p->jerk[k] - b->jerk[k]), s = h * h * (p->snap[k] - b->snap[k]);
        double jj = h * (p->jerk[k] + b->jerk[k]), ss = h * h * (p->snap[k] + b->snap[k]);
        /* The acceleration is the sum of c[n] u^n, with u from -1 to 1 in the step. */
        double c3 = (5 * (jj - a) - s) / 8, c4 = (ss - j) / 16, c5 = (3 * (a - jj) + s) / 16;
        p->crackle[k] = (6 * c3 + 24 * c4 + 60 * c5) / (h * h * h);
        fourth[k] = (24 * c4 + 120 * c5) / (h * h * h * h);
        fifth[k] = 120 * c5 / (h * h * h * h * h);
        p->v[k] = b->v[k] + h * (p->acc[k] + b->acc[k] - 2 * j / 5 + ss / 15);
        p->x[k] = b->x[k] + h * (p->v[k] + b->v[k] - 2 * h * a / 5 + h * jj / 15);
    }
    double low = length(p->acc) * length(p->snap) + length2(p->jerk);
    double high = length(p->crackle) * length(fifth) + length2(fourth);
    double wanted = power_of_two(ETA * pow(low / high, 1.0 / 6));
    p->time = time;
    /* A step grows to twice its length at most, and only where the longer step would have begun. */
    if (wanted > b->step) wanted = fmod(time, 2 * b->step) == 0 ? 2 * b->step : b->step;
    p->step = wanted;
}

static double energy(const struct body *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += b[i].mass * (length2(b[i].v) + b[i].pot) / 2;
    return sum;
}

int main(int argc, char **argv) {
    int n;
    long body_steps = 0, block_steps = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: hermite6 FILE [TIME]\n");
        return 2;
    }
    struct body *bodies = read_bodies(argv[1], &n);
    double end = argc > 2 ? atof(argv[2]) : 1;
    if (!(end > 0) || fmod(end, LONGEST) != 0) {
        fprintf(stderr, "hermite6: the time is %s; allowed: multiples of 1/8\n", argv[2]);
        return 2;
    }
    struct body *block = malloc(n * sizeof *block);
    if (!block) abort();

    kyoho_options options = KYOHO_OPTIONS_INIT;
    options.order = 6;
    options.precision = KYOHO_PRECISION_DOUBLE;
    check(kyoho_system_create(&options, &kyoho));
    /* Snaps are right once the accelerations of both are known, and crackles after a step. */
    for (int twice = 0; twice < 2; twice++) {
        send(bodies, n);
        force(n, 0, bodies, n);
    }
    send(bodies, n);
    for (int i = 0; i < n; i++)
        bodies[i].step = power_of_two(ETA_START * sqrt(length2(bodies[i].acc) / length2(bodies[i].jerk)));
    double initial = energy(bodies, n);

    for (double time = 0; time < end; block_steps++) {
        int active = 0;
        time = end;
        for (int i = 0; i < n; i++) time = fmin(time, bodies[i].time + bodies[i].step);
        for (int i = 0; i < n; i++)
            if (bodies[i].time + bodies[i].step == time) predict(&bodies[i], time, &block[active++]);
        force(n, time, block, active);
        for (int i = 0; i < active; i++) {
            struct body *b = &bodies[block[i].address];
            correct(b, time, &block[i]);
            *b = block[i];
        }
        send(block, active);
        body_steps += active;
    }

    /* Every step ends at the end; the potentials are those of the corrected positions. */
    force(n, end, bodies, n);
    double final = energy(bodies, n);
    printf("bodies          %d\n", n);
    printf("block steps     %ld\n", block_steps);
    printf("body steps      %ld\n", body_steps);
    printf("initial energy  %.15e\n", initial);
    printf("final energy    %.15e\n", final);
    printf("relative error  %.3e\n", (final - initial) / initial);
    check(kyoho_system_free(kyoho));
    free(bodies);
    free(block);
    return 0;
}
