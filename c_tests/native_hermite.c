/* Orders 6 and 8: forces to the snap and the crackle, of sources that are predicted from up to
 * seven derivatives. */
#include "native_check.h"

enum { N = 300, SINKS = 40, COEFFICIENTS = 8, VECTORS = 4 };

/* A structure of the caller that has every array as a member. */
struct body {
    double colour;
    double derivatives[COEFFICIENTS][3]; /* the position, the velocity, ... */
    double mass, time, softening2, pot;
    double force[VECTORS][3]; /* the acceleration, the jerk, ... */
    double predicted[VECTORS][3];
    int32_t index;
};

static const double now = 0.5;
static const double factorial[COEFFICIENTS] = {1, 1, 2, 6, 24, 120, 720, 5040};

static void make_bodies(struct body *b, int n, uint64_t seed) {
    memset(b, 0, n * sizeof *b);
    for (int i = 0; i < n; i++) {
        b[i].index = 1000 + i;
        b[i].mass = (1.5 + draw(&seed)) / n;
        b[i].time = now + draw(&seed) / 4;
        b[i].softening2 = 0.02 + draw(&seed) / 100;
        for (int d = 0; d < COEFFICIENTS; d++)
            for (int k = 0; k < 3; k++) b[i].derivatives[d][k] = draw(&seed);
    }
}

static kyoho_sources hermite_sources(const struct body *b, int n) {
    kyoho_sources s = KYOHO_SOURCES_INIT;
    s.count = n;
    s.indices.data = &b->index, s.indices.stride = sizeof *b;
    s.masses.data = &b->mass, s.masses.stride = sizeof *b;
    s.times.data = &b->time, s.times.stride = sizeof *b;
    s.positions.data = b->derivatives[0], s.positions.stride = sizeof *b;
    s.velocities.data = b->derivatives[1], s.velocities.stride = sizeof *b;
    s.accelerations.data = b->derivatives[2], s.accelerations.stride = sizeof *b;
    s.jerks.data = b->derivatives[3], s.jerks.stride = sizeof *b;
    s.snaps.data = b->derivatives[4], s.snaps.stride = sizeof *b;
    s.crackles.data = b->derivatives[5], s.crackles.stride = sizeof *b;
    s.sixth_derivatives.data = b->derivatives[6], s.sixth_derivatives.stride = sizeof *b;
    s.seventh_derivatives.data = b->derivatives[7], s.seventh_derivatives.stride = sizeof *b;
    return s;
}

static kyoho_sinks hermite_sinks(const struct body *b, int n) {
    kyoho_sinks s = KYOHO_SINKS_INIT;
    s.count = n;
    s.indices.data = &b->index, s.indices.stride = sizeof *b;
    s.positions.data = b->derivatives[0], s.positions.stride = sizeof *b;
    s.velocities.data = b->derivatives[1], s.velocities.stride = sizeof *b;
    s.accelerations.data = b->derivatives[2], s.accelerations.stride = sizeof *b;
    s.jerks.data = b->derivatives[3], s.jerks.stride = sizeof *b;
    s.softening2_each.data = &b->softening2, s.softening2_each.stride = sizeof *b;
    return s;
}

/* Returns the places of all results of an order. */
static kyoho_forces hermite_forces(int order, struct body *b) {
    kyoho_forces f = KYOHO_FORCES_INIT;
    f.potentials.data = &b->pot, f.potentials.stride = sizeof *b;
    f.accelerations.data = b->force[0], f.accelerations.stride = sizeof *b;
    f.jerks.data = b->force[1], f.jerks.stride = sizeof *b;
    f.snaps.data = b->force[2], f.snaps.stride = sizeof *b;
    if (order == 8) f.crackles.data = b->force[3], f.crackles.stride = sizeof *b;
    return f;
}

static kyoho_predictions hermite_predictions(int order, struct body *b) {
    kyoho_predictions p = KYOHO_PREDICTIONS_INIT;
    p.positions.data = b->predicted[0], p.positions.stride = sizeof *b;
    p.velocities.data = b->predicted[1], p.velocities.stride = sizeof *b;
    p.accelerations.data = b->predicted[2], p.accelerations.stride = sizeof *b;
    if (order == 8) p.jerks.data = b->predicted[3], p.jerks.stride = sizeof *b;
    return p;
}

/* Makes a system with these sources at this time. */
static kyoho_system *filled(int order, int precision, const struct body *b, int n, double time) {
    kyoho_system *system = create(order, precision);
    kyoho_sources sources = hermite_sources(b, n);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_set_time(system, time));
    return system;
}

/* Computes the first coefficients of a body's series around this time, from as many as the order
   keeps. */
static void series(int order, const struct body *b, double time, long double out[VECTORS][3]) {
    long double dt = (long double)time - b->time;
    for (int q = 0; q < VECTORS; q++)
        for (int k = 0; k < 3; k++) {
            long double sum = 0, power = 1;
            for (int d = q; d < order; d++, power *= dt / (d - q)) sum += b->derivatives[d][k] * power;
            out[q][k] = sum / factorial[q];
        }
}

/* Computes the derivatives of a force as the coefficients of its series. That of r (r^2 +
   softening2)^(-3/2) follows from the series of the power of a series. */
static void sum_series(int order, const struct body *b, int n, const struct body *on, struct body *expected) {
    int vectors = order / 2;
    long double pot = 0, force[VECTORS][3] = {{0}};
    for (int j = 0; j < n; j++) {
        long double r[VECTORS][3], q[VECTORS] = {0}, w[VECTORS];
        if (b[j].index == on->index) continue;
        series(order, &b[j], now, r);
        for (int d = 0; d < vectors; d++)
            for (int k = 0; k < 3; k++) r[d][k] -= on->derivatives[d][k] / factorial[d];
        for (int d = 0; d < vectors; d++)
            for (int e = 0; e <= d; e++)
                for (int k = 0; k < 3; k++) q[d] += r[e][k] * r[d - e][k];
        q[0] += on->softening2;
        w[0] = b[j].mass / (q[0] * sqrtl(q[0]));
        pot -= w[0] * q[0];
        for (int d = 0; d < vectors; d++) {
            if (d > 0) w[d] = 0;
            for (int e = 1; e <= d; e++) w[d] += (-1.5L * e - (d - e)) * q[e] * w[d - e] / (d * q[0]);
            for (int e = 0; e <= d; e++)
                for (int k = 0; k < 3; k++) force[d][k] += factorial[d] * w[d - e] * r[e][k];
        }
    }
    expected->pot = pot;
    for (int d = 0; d < VECTORS; d++)
        for (int k = 0; k < 3; k++) expected->force[d][k] = force[d][k];
}

static void forces_are_those_of_predicted_sources_and_their_derivatives(int order, int precision, double part) {
    static struct body b[N], sinks[SINKS];
    make_bodies(b, N, 1);
    make_bodies(sinks, SINKS, 2); /* which have the indices of the first sources */
    for (int i = 0; i < SINKS; i++) sinks[i].force[VECTORS - 1][0] = -77;
    kyoho_system *system = filled(order, precision, b, N, now);
    kyoho_sinks s = hermite_sinks(sinks, SINKS);
    kyoho_forces f = hermite_forces(order, sinks);
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &s, &f));
    for (int i = 0; i < SINKS; i++) {
        struct body expected;
        sum_series(order, b, N, &sinks[i], &expected);
        CHECK(fabs(sinks[i].pot - expected.pot) <= part * fabs(expected.pot));
        for (int d = 0; d < order / 2; d++) CHECK(close_to(sinks[i].force[d], expected.force[d], part));
        CHECK(order == 8 || sinks[i].force[VECTORS - 1][0] == -77);
        CHECK(sinks[i].colour == 0 && sinks[i].index == 1000 + i);
    }

    /* The force is computed in two calls, with one softening for all and only some results. */
    s.softening2_each.data = NULL, s.softening2 = 0.5;
    f = (kyoho_forces)KYOHO_FORCES_INIT;
    f.snaps.data = sinks->force[0], f.snaps.stride = sizeof *sinks;
    GIVES(KYOHO_OK, kyoho_system_start(system, N, &s));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &f));
    for (int i = 0; i < SINKS; i++) {
        struct body expected;
        sinks[i].softening2 = 0.5;
        sum_series(order, b, N, &sinks[i], &expected);
        CHECK(close_to(sinks[i].force[0], expected.force[2], part));
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void sources_are_predicted_with_all_derivatives_that_a_force_needs(int order) {
    static struct body b[N + 1];
    make_bodies(b, N, 3);
    kyoho_system *system = filled(order, KYOHO_PRECISION_DOUBLE, b, N, now);
    kyoho_predictions p = hermite_predictions(order, b);
    GIVES(KYOHO_OK, kyoho_system_predict(system, 0, N + 1, &p));
    for (int i = 0; i < N; i++) {
        long double expected[VECTORS][3];
        series(order, &b[i], now, expected);
        for (int q = 0; q < order / 2; q++)
            for (int k = 0; k < 3; k++) CHECK(fabsl(b[i].predicted[q][k] - expected[q][k] * factorial[q]) < 1e-14L);
        CHECK(order == 8 || b[i].predicted[VECTORS - 1][0] == 0);
    }
    for (int q = 0; q < order / 2; q++) CHECK(isnan(b[N].predicted[q][2])); /* no source */

    /* Arrays are packed here, and each may be null. */
    double accelerations[2][3];
    kyoho_predictions packed = KYOHO_PREDICTIONS_INIT;
    packed.accelerations.data = accelerations[0];
    GIVES(KYOHO_OK, kyoho_system_predict(system, 7, 2, &packed));
    CHECK(memcmp(accelerations[1], b[8].predicted[2], sizeof accelerations[1]) == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void nearest_sources_and_lists(int order) {
    static struct body b[N];
    int32_t nearest, list[N], count, expected = 0, nearest_expected = -1;
    double nearest2, nearest2_expected = INFINITY, radius2 = 0.5;
    make_bodies(b, N, 4);
    kyoho_system *system = filled(order, KYOHO_PRECISION_DOUBLE, b, N, now);
    kyoho_predictions p = hermite_predictions(order, b);
    kyoho_sinks s = hermite_sinks(b, 1);
    kyoho_forces f = KYOHO_FORCES_INIT;
    s.radii2.data = &radius2;
    f.nearest.data = &nearest, f.nearest_distance2.data = &nearest2;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &s, &f));
    GIVES(KYOHO_OK, kyoho_system_neighbours(system, 0, N, list, &count));
    GIVES(KYOHO_OK, kyoho_system_predict(system, 0, N, &p));
    for (int j = 1; j < N; j++) {
        double r = distance(b[0].derivatives[0], b[j].predicted[0]);
        if (r * r < nearest2_expected) nearest2_expected = r * r, nearest_expected = b[j].index;
        if (r * r < radius2 && expected < count) CHECK(list[expected] == b[j].index);
        expected += r * r < radius2;
    }
    CHECK(count == expected && count > 5 && nearest == nearest_expected);
    CHECK(fabs(nearest2 - nearest2_expected) < 1e-13);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Powers of two of the units change no digit. */
static void units(int order, int precision) {
    static struct body plain[N], scaled[N];
    const double length = ldexp(1, 30), mass = ldexp(1, -60), time = ldexp(1, 12);
    make_bodies(plain, N, 5);
    memcpy(scaled, plain, sizeof plain);
    for (int i = 0; i < N; i++) {
        double unit = length;
        scaled[i].mass *= mass, scaled[i].time *= time, scaled[i].softening2 *= length * length;
        for (int d = 0; d < COEFFICIENTS; d++, unit /= time)
            for (int k = 0; k < 3; k++) scaled[i].derivatives[d][k] *= unit;
    }
    struct body *all[2] = {plain, scaled};
    for (int which = 0; which < 2; which++) {
        kyoho_system *system = filled(order, precision, all[which], N, which ? now * time : now);
        kyoho_sinks s = hermite_sinks(all[which], N);
        kyoho_forces f = hermite_forces(order, all[which]);
        GIVES(KYOHO_OK, kyoho_system_force(system, N, &s, &f));
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
    for (int i = 0; i < N; i++) {
        double unit = mass / (length * length);
        CHECK(scaled[i].pot == plain[i].pot * mass / length);
        for (int d = 0; d < order / 2; d++, unit /= time)
            for (int k = 0; k < 3; k++) CHECK(scaled[i].force[d][k] == plain[i].force[d][k] * unit);
    }
}

/* Arrays that an order does not need may contain anything. */
static void what_an_order_does_not_need_is_not_read(void) {
    static struct body b[N];
    const double *nowhere = (const double *)8;
    make_bodies(b, N, 6);
    for (int order = 2; order <= 6; order += 2) {
        kyoho_system *system = create(order, KYOHO_PRECISION_DOUBLE);
        kyoho_sources sources = hermite_sources(b, N);
        kyoho_sinks sinks = hermite_sinks(b, N);
        kyoho_forces forces = KYOHO_FORCES_INIT;
        forces.potentials.data = &b->pot, forces.potentials.stride = sizeof *b;
        sources.sixth_derivatives.data = sources.seventh_derivatives.data = sinks.jerks.data = nowhere;
        sources.seventh_derivatives.stride = sinks.jerks.stride = 3;
        if (order < 6) sources.snaps.data = sources.crackles.data = sinks.accelerations.data = nowhere;
        if (order < 4) sources.velocities.data = sources.accelerations.data = sources.jerks.data = sinks.velocities.data = nowhere;
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
        GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
}

/* An error names what is missing, superfluous or not finite, and nothing is lost. */
static void errors(int order) {
    static struct body b[N], on[2];
    make_bodies(b, N, 7);
    make_bodies(on, 2, 8);
    kyoho_system *system = filled(order, KYOHO_PRECISION_DOUBLE, b, N, now);
    const kyoho_sinks good = hermite_sinks(on, 2);
    const kyoho_forces forces = hermite_forces(order, on);
    kyoho_sources sources = hermite_sources(b, N);
    kyoho_sinks s = good;
    s.accelerations.data = NULL;
    SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sinks.accelerations is null", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.accelerations.stride = 3;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.accelerations.stride is '3'", system, kyoho_system_force(system, N, &s, &forces));
    sources.crackles.stride = 8;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.crackles.stride is '8'", system, kyoho_system_set_sources(system, &sources));
    sources = hermite_sources(b, N);
    b[5].derivatives[4][1] = NAN;
    SAYS(KYOHO_NOT_FINITE, "the snap of the source at address 5", system, kyoho_system_set_sources(system, &sources));
    b[5].derivatives[4][1] = 0;
    on[1].derivatives[2][2] = INFINITY;
    SAYS(KYOHO_NOT_FINITE, "the acceleration of sink 1", system, kyoho_system_force(system, N, &good, &forces));
    on[1].derivatives[2][2] = 0;
    if (order == 8) {
        s = good, s.jerks.data = NULL;
        SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sinks.jerks is null", system, kyoho_system_start(system, N, &s));
        sources.seventh_derivatives.stride = 16;
        SAYS(KYOHO_BAD_OPTION, "kyoho_sources.seventh_derivatives.stride is '16'", system,
             kyoho_system_set_sources(system, &sources));
        sources = hermite_sources(b, N);
        b[6].derivatives[7][0] = -INFINITY;
        SAYS(KYOHO_NOT_FINITE, "the seventh derivative of the source at address 6", system,
             kyoho_system_set_sources(system, &sources));
    } else {
        kyoho_forces more = hermite_forces(8, on);
        kyoho_predictions jerks = hermite_predictions(8, b);
        SAYS(KYOHO_BAD_OPTION, "kyoho_forces.crackles is 'an array'; allowed: NULL in a system of order 6", system,
             kyoho_system_force(system, N, &good, &more));
        SAYS(KYOHO_BAD_OPTION, "kyoho_predictions.jerks is 'an array'; allowed: NULL in a system of order 6", system,
             kyoho_system_predict(system, 0, 1, &jerks));
    }
    CHECK(on[0].pot == 0 && b[0].predicted[0][0] == 0); /* no result was written */
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &good, &forces));
    make_bodies(b, N, 7);
    for (int i = 0; i < 2; i++) {
        struct body expected;
        sum_series(order, b, N, &on[i], &expected);
        CHECK(close_to(on[i].force[2], expected.force[2], 1e-12));
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

int main(void) {
    forces_are_those_of_predicted_sources_and_their_derivatives(6, KYOHO_PRECISION_MIXED, 1e-5);
    forces_are_those_of_predicted_sources_and_their_derivatives(6, KYOHO_PRECISION_DOUBLE, 1e-13);
    forces_are_those_of_predicted_sources_and_their_derivatives(8, KYOHO_PRECISION_DOUBLE, 1e-13);
    units(6, KYOHO_PRECISION_MIXED);
    for (int order = 6; order <= 8; order += 2) {
        sources_are_predicted_with_all_derivatives_that_a_force_needs(order);
        nearest_sources_and_lists(order);
        units(order, KYOHO_PRECISION_DOUBLE);
        errors(order);
    }
    what_an_order_does_not_need_is_not_read();
    return failures != 0;
}
