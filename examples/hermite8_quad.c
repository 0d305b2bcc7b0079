/*
 * A Hermite integrator of eighth order in numbers of 32 digits, with forces by the built-in law as
 * a pair interaction: where the errors of doubles end, the order can still be seen.
 *
 *     cc -O2 hermite8_quad.c -lkyoho -lm -o hermite8_quad
 *     ./hermite8_quad 1024
 *
 * Three equal bodies follow one another along a figure of eight (Chenciner & Montgomery 2000,
 * Annals of Mathematics 152, 881) for one time unit, in 16, 32, ... steps. From 64 steps on the
 * program prints how far the bodies are from where half of the steps brought them, the order that
 * follows from this, and the relative error of the energy. The argument is the largest number
 * of steps.
 *
 * The scheme is that of Nitadori & Makino (2008, New Astronomy 13, 498), with the correction
 * repeated until it changes nothing. The bodies have the numbers of 128 bits of GCC and Clang; the
 * library takes each as the sum of two doubles, and reads the text's f64 as such sums.
 */
#include <kyoho.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define N 3
#define NUMBER KYOHO_NUMBER_TYPE_DD

__extension__ typedef __float128 quad;

/* A body, with its acceleration and the first three derivatives of that. */
struct body {
    quad x[3], v[3], a[4][3];
};

static const char *const derivatives[4] = {"acc", "jerk", "snap", "crackle"};
static kyoho_pair *pair;

static void check(kyoho_result result) {
    if (result != KYOHO_OK) {
        fprintf(stderr, "hermite8_quad: %s\n", pair ? kyoho_pair_last_error(pair) : kyoho_last_error());
        exit(1);
    }
}

static void split(quad number, double limbs[2]) {
    limbs[0] = (double)number;
    limbs[1] = (double)(number - limbs[0]);
}

/* Gives sinks and sources a vector of each body, which begins `offset` bytes behind its start. */
static void set(const char *sinks, const char *sources, const struct body *b, size_t offset) {
    double limbs[N][3][2];
    for (int n = 0; n < N; n++)
        for (int k = 0; k < 3; k++) split(((const quad *)((const char *)&b[n] + offset))[k], limbs[n][k]);
    check(kyoho_pair_set(pair, sinks, NUMBER, limbs, sizeof limbs[0], N));
    check(kyoho_pair_set(pair, sources, NUMBER, limbs, sizeof limbs[0], N));
}

/* The forces of all bodies on each other, which need the bodies' accelerations and jerks. */
static void force(struct body *b) {
    set("i.pos", "j.pos", b, offsetof(struct body, x));
    set("i.vel", "j.vel", b, offsetof(struct body, v));
    set("i.acc", "j.acc", b, offsetof(struct body, a[0]));
    set("i.jerk", "j.jerk", b, offsetof(struct body, a[1]));
    check(kyoho_pair_run(pair, -1, -1));
    for (int d = 0; d < 4; d++) {
        double limbs[N][3][2];
        check(kyoho_pair_result(pair, derivatives[d], NUMBER, limbs, sizeof limbs[0], N));
        for (int n = 0; n < N; n++)
            for (int k = 0; k < 3; k++) b[n].a[d][k] = (quad)limbs[n][k][0] + limbs[n][k][1];
    }
}

static quad energy(const struct body *b) {
    double limbs[N][2];
    quad sum = 0;
    check(kyoho_pair_result(pair, "pot", NUMBER, limbs, sizeof limbs[0], N));
    for (int n = 0; n < N; n++) {
        for (int k = 0; k < 3; k++) sum += b[n].v[k] * b[n].v[k] / 2;
        sum += ((quad)limbs[n][0] + limbs[n][1]) / 2;
    }
    return sum;
}

/* The values after a time h of a number and its derivatives. */
static quad series(const quad *derivative[], int count, int k, quad h) {
    quad sum = 0;
    for (int d = count - 1; d >= 0; d--) sum = derivative[d][k] + sum * h / (d + 1);
    return sum;
}

static void predict(const struct body *b, quad h, struct body *p) {
    const quad *of[6] = {b->x, b->v, b->a[0], b->a[1], b->a[2], b->a[3]};
    for (int k = 0; k < 3; k++) {
        p->x[k] = series(of, 6, k, h);
        p->v[k] = series(of + 1, 5, k, h);
        p->a[0][k] = series(of + 2, 4, k, h);
        p->a[1][k] = series(of + 3, 3, k, h);
    }
}

/* The change of a number over a step, from its derivatives at both ends. */
static quad change(quad h, const quad *begin[4], const quad *end[4], int k) {
    const quad half = (begin[0][k] + end[0][k]) / 2, first = (end[1][k] - begin[1][k]) * 3 / 28;
    const quad second = (begin[2][k] + end[2][k]) / 84, third = (end[3][k] - begin[3][k]) / 1680;
    return h * (half - h * (first - h * (second - h * third)));
}

static void step(struct body *b, quad h) {
    struct body p[N];
    for (int n = 0; n < N; n++) predict(&b[n], h, &p[n]);
    for (int turn = 0, goes_on = 1; goes_on && turn < 20; turn++) {
        force(p);
        goes_on = 0;
        for (int n = 0; n < N; n++) {
            const quad *of_begin[5] = {b[n].v, b[n].a[0], b[n].a[1], b[n].a[2], b[n].a[3]};
            const quad *of_end[5] = {p[n].v, p[n].a[0], p[n].a[1], p[n].a[2], p[n].a[3]};
            for (int k = 0; k < 3; k++) {
                const quad v = b[n].v[k] + change(h, of_begin + 1, of_end + 1, k), apart = v - p[n].v[k];
                goes_on |= fabs((double)apart) > 1e-30;
                p[n].v[k] = v;
            }
            for (int k = 0; k < 3; k++) p[n].x[k] = b[n].x[k] + change(h, of_begin, of_end, k);
        }
    }
    for (int n = 0; n < N; n++) b[n] = p[n];
}

int main(int count, char **arguments) {
    const double x[2] = {0.97000436, -0.24308753}, v[2] = {-0.93240737, -0.86473146};
    const double mass = 1.0, softening2 = 0.0;
    const int32_t ids[N] = {0, 1, 2};
    double before = 0;
    struct body half[N];
    kyoho_pair_options options = KYOHO_PAIR_OPTIONS_INIT;
    if (count != 2) {
        fprintf(stderr, "usage: hermite8_quad STEPS\n");
        return 1;
    }
    options.f64_as_dd = 1;
    check(kyoho_pair_compile(kyoho_pair_gravity(8), &options, &pair));
    check(kyoho_pair_set(pair, "i.id", KYOHO_NUMBER_TYPE_I32, ids, 0, N));
    check(kyoho_pair_set(pair, "j.id", KYOHO_NUMBER_TYPE_I32, ids, 0, N));
    check(kyoho_pair_set_parameter(pair, "eps2", KYOHO_NUMBER_TYPE_F64, &softening2, 1));
    {
        const double masses[N] = {mass, mass, mass};
        check(kyoho_pair_set(pair, "j.mass", KYOHO_NUMBER_TYPE_F64, masses, 0, N));
    }
    printf("steps  distance  order  energy error\n");
    for (int steps = 16; steps <= atoi(arguments[1]); steps *= 2) {
        struct body b[N] = {{{0}, {0}, {{0}}}};
        quad start;
        double apart = 0;
        for (int k = 0; k < 2; k++) {
            b[0].x[k] = x[k], b[1].x[k] = -x[k];
            b[0].v[k] = b[1].v[k] = -v[k] / 2, b[2].v[k] = v[k];
        }
        /* Each call finds two derivatives more from those that are known. */
        force(b), force(b);
        start = energy(b);
        for (int n = 0; n < steps; n++) step(b, (quad)1 / steps);
        force(b);
        for (int n = 0; n < N; n++)
            for (int k = 0; k < 3; k++) apart = fmax(apart, fabs((double)(b[n].x[k] - half[n].x[k])));
        if (steps >= 64)
            printf("%5d  %8.2e  %5.2f  %8.1e\n", steps, apart, log2(before / apart), (double)(energy(b) / start - 1));
        for (int n = 0; n < N; n++) half[n] = b[n];
        before = apart;
    }
    check(kyoho_pair_free(pair));
    return 0;
}
