/*
 * Scattering experiments: thousands of triple systems at once, by a fourth-order Hermite scheme,
 * on the batches of Kyoho's native interface.
 *
 *     cc -O2 batch.c -lkyoho -lm -o batch
 *     ./batch 1000 40
 *
 * The first argument is the number of systems, the second the time to integrate to. In each
 * system a body of mass 1 comes with speed 1 from a distance of 10 towards a circular binary with
 * masses 1/2 and separation 1 (G = 1); the direction, the impact parameter up to 2 and the phase
 * are drawn. The energy errors of the systems are printed.
 *
 * Each system has a time and a time step of its own, by Aarseth's criterion (Makino & Aarseth
 * 1992, PASJ 44, 141). At every turn all systems that have not ended take a step, and one call
 * computes the forces in all of them. Bodies are predicted here, to the time of their system, so
 * that the library's own time stays 0.
 */
#include <kyoho.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODIES 3
#define ETA 0.003 /* accuracy of the steps */
#define TWO_PI 6.283185307179586

struct body {
    double mass, x[3], v[3], acc[3], jerk[3], pot;
};

struct triple {
    double time, step, energy;
    struct body body[BODIES];
};

static kyoho_system *kyoho;

static void check(kyoho_result result) {
    if (result != KYOHO_OK) {
        fprintf(stderr, "batch: %s\n", kyoho_last_error());
        exit(1);
    }
}

/* Computes the forces in the systems whose bodies these are, three by three. `offsets` has the
   first body of each system and, behind the last one, the number of all bodies. */
static void force(struct body *b, int systems, const int32_t *offsets) {
    kyoho_batch batch = KYOHO_BATCH_INIT;
    kyoho_sources s = KYOHO_SOURCES_INIT;
    kyoho_forces f = KYOHO_FORCES_INIT;
    batch.system_count = systems;
    batch.offsets.data = offsets;
    s.count = BODIES * systems;
    s.masses.data = &b->mass, s.masses.stride = sizeof *b;
    s.positions.data = b->x, s.positions.stride = sizeof *b;
    s.velocities.data = b->v, s.velocities.stride = sizeof *b;
    f.accelerations.data = b->acc, f.accelerations.stride = sizeof *b;
    f.jerks.data = b->jerk, f.jerks.stride = sizeof *b;
    f.potentials.data = &b->pot, f.potentials.stride = sizeof *b;
    check(kyoho_system_force_batch(kyoho, &batch, &s, &f));
}

/* A number from 0 to 1. The series is the same on every machine. */
static double draw(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* A vector of this length in any direction. */
static void vector(double length, double v[3]) {
    double z = 2 * draw() - 1, angle = TWO_PI * draw(), across = sqrt(1 - z * z);
    v[0] = length * across * cos(angle), v[1] = length * across * sin(angle), v[2] = length * z;
}

/* Draws a binary and a body that comes near it. */
static void begin(struct triple *t) {
    double angle = TWO_PI * draw(), from[3], across[3], along = 0, length = 0;
    memset(t, 0, sizeof *t);
    for (int i = 0; i < 2; i++) {
        double side = i ? -0.5 : 0.5;
        struct body *b = &t->body[i];
        b->mass = 0.5;
        b->x[0] = side * cos(angle), b->x[1] = side * sin(angle);
        b->v[0] = -side * sin(angle), b->v[1] = side * cos(angle);
    }
    vector(1, from);
    vector(1, across);
    for (int k = 0; k < 3; k++) along += from[k] * across[k];
    for (int k = 0; k < 3; k++) across[k] -= along * from[k], length += across[k] * across[k];
    double impact = 2 * sqrt(draw() / length);
    t->body[2].mass = 1;
    for (int k = 0; k < 3; k++) {
        t->body[2].x[k] = 10 * from[k] + impact * across[k];
        t->body[2].v[k] = -from[k];
    }
}

static double length2(const double a[3]) {
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

static double energy(const struct triple *t) {
    double sum = 0;
    for (const struct body *b = t->body; b < t->body + BODIES; b++)
        sum += b->mass * (length2(b->v) + b->pot) / 2;
    return sum;
}

static void predict(const struct triple *t, struct body *p) {
    double dt = t->step;
    memcpy(p, t->body, sizeof t->body);
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 3; k++) {
            const struct body *b = &t->body[i];
            p[i].x[k] += dt * (b->v[k] + dt / 2 * (b->acc[k] + dt / 3 * b->jerk[k]));
            p[i].v[k] += dt * (b->acc[k] + dt / 2 * b->jerk[k]);
        }
}

/* Corrects predicted bodies, with their new forces, after a step, and chooses the next one. */
static void correct(struct triple *t, const struct body *predicted) {
    double dt = t->step, next = INFINITY;
    for (int i = 0; i < BODIES; i++) {
        struct body p = predicted[i], *b = &t->body[i];
        double snap[3], crackle[3];
        for (int k = 0; k < 3; k++) {
            double a = b->acc[k] - p.acc[k];
            double s = (-6 * a - dt * (4 * b->jerk[k] + 2 * p.jerk[k])) / (dt * dt);
            double c = (12 * a + 6 * dt * (b->jerk[k] + p.jerk[k])) / (dt * dt * dt);
            p.x[k] += dt * dt * dt * dt * (s / 24 + dt * c / 120);
            p.v[k] += dt * dt * dt * (s / 6 + dt * c / 24);
            snap[k] = s + dt * c;
            crackle[k] = c;
        }
        double a2 = length2(p.acc), j2 = length2(p.jerk), s2 = length2(snap), c2 = length2(crackle);
        next = fmin(next, sqrt(ETA * (sqrt(a2 * s2) + j2) / (sqrt(j2 * c2) + s2)));
        *b = p;
    }
    t->time += dt;
    t->step = next;
}

static int ascending(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
    int systems = argc > 1 ? atoi(argv[1]) : 1000;
    double end = argc > 2 ? atof(argv[2]) : 40;
    if (systems < 1 || systems > 100000000 || !(end > 0)) {
        fprintf(stderr, "usage: batch [SYSTEMS] [TIME]\n");
        return 2;
    }
    struct triple *all = malloc(systems * sizeof *all);
    struct body *bodies = malloc(BODIES * systems * sizeof *bodies);
    int32_t *offsets = malloc((systems + 1) * sizeof *offsets);
    double *errors = malloc(systems * sizeof *errors);
    if (!all || !bodies || !offsets || !errors) abort();
    for (int s = 0; s <= systems; s++) offsets[s] = BODIES * s;
    for (int s = 0; s < systems; s++) begin(&all[s]);

    kyoho_options options = KYOHO_OPTIONS_INIT;
    options.order = 4;
    options.precision = KYOHO_PRECISION_DOUBLE;
    check(kyoho_system_create(&options, &kyoho));
    for (int s = 0; s < systems; s++) memcpy(bodies + BODIES * s, all[s].body, sizeof all[s].body);
    force(bodies, systems, offsets);
    for (int s = 0; s < systems; s++) {
        struct triple *t = &all[s];
        memcpy(t->body, bodies + BODIES * s, sizeof t->body);
        t->energy = energy(t);
        t->step = INFINITY;
        for (int i = 0; i < BODIES; i++)
            t->step = fmin(t->step, ETA * sqrt(length2(t->body[i].acc) / length2(t->body[i].jerk)));
    }

    long calls = 0;
    double steps = 0;
    for (int active = systems; active > 0; calls++) {
        for (int s = 0; s < active; s++) {
            all[s].step = fmin(all[s].step, end - all[s].time);
            predict(&all[s], bodies + BODIES * s);
        }
        force(bodies, active, offsets);
        steps += active;
        for (int s = 0; s < active; s++) correct(&all[s], bodies + BODIES * s);
        /* Systems that have come to the end change places with the last ones that have not. */
        for (int s = 0; s < active;) {
            if (all[s].time < end) {
                s++;
                continue;
            }
            struct triple done = all[s];
            all[s] = all[--active];
            all[active] = done;
        }
    }

    /* The potentials are those of the corrected positions. */
    for (int s = 0; s < systems; s++) memcpy(bodies + BODIES * s, all[s].body, sizeof all[s].body);
    force(bodies, systems, offsets);
    for (int s = 0; s < systems; s++) {
        memcpy(all[s].body, bodies + BODIES * s, sizeof all[s].body);
        errors[s] = fabs((energy(&all[s]) - all[s].energy) / all[s].energy);
    }
    qsort(errors, systems, sizeof *errors, ascending);
    printf("systems       %d\n", systems);
    printf("calls         %ld\n", calls);
    printf("system steps  %.0f\n", steps);
    printf("median error  %.3e\n", errors[systems / 2]);
    printf("worst error   %.3e\n", errors[systems - 1]);
    check(kyoho_system_free(kyoho));
    free(all);
    free(bodies);
    free(offsets);
    free(errors);
    return 0;
}
