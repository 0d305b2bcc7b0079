/* Nearest sources, neighbour lists of any length, and predicted sources. */
#include "native_check.h"

enum { N = 1500 };
static struct particle p[N];

/* Finds the indices within a radius of a particle, ascending, and the nearest one. */
static int find(int i, double radius2, int32_t *list, int32_t *nearest, double *nearest2) {
    int count = 0;
    *nearest2 = INFINITY;
    for (int j = 0; j < N; j++) {
        double r = distance(p[i].x, p[j].x), r2 = r * r;
        if (p[j].index == p[i].index) continue;
        if (r2 < *nearest2) *nearest2 = r2, *nearest = p[j].index;
        if (r2 < radius2) list[count++] = p[j].index;
    }
    return count;
}

static void nearest_sources_and_lists(int precision) {
    static int32_t nearest[N], list[N], expected[N];
    static double nearest2[N], radii2[N];
    kyoho_system *system = create(4, precision);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, 1e-2);
    kyoho_forces forces = KYOHO_FORCES_INIT;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    for (int i = 0; i < N; i++) radii2[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 0.05 : 100;
    sinks.radii2.data = radii2;
    forces.nearest.data = nearest;
    forces.nearest_distance2.data = nearest2;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));

    /* Sources that are written now do not change the lists of the last block. */
    struct particle far = p[0];
    far.x[0] = 1e3;
    kyoho_sources moved = sources_of(&far, 1);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &moved));

    for (int i = 0; i < N; i += 7) {
        int32_t count, nearest_expected = -1;
        double nearest2_expected;
        int count_expected = find(i, radii2[i], expected, &nearest_expected, &nearest2_expected);
        GIVES(KYOHO_OK, kyoho_system_neighbours(system, i, N, list, &count));
        CHECK(count == count_expected);
        CHECK(memcmp(list, expected, count * sizeof *list) == 0);
        CHECK(nearest[i] == nearest_expected);
        CHECK(fabs(nearest2[i] - nearest2_expected) < 1e-5 * nearest2_expected);
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* A list that is too small is filled up to its end, and the call returns the full number. */
static void a_list_that_is_too_small(void) {
    int32_t list[11], count = -1;
    double radius2 = 100;
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, 1, 1e-2);
    kyoho_forces forces = KYOHO_FORCES_INIT;
    sinks.radii2.data = &radius2;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    list[10] = -77;
    SAYS(KYOHO_BUFFER_TOO_SMALL, "1499", system, kyoho_system_neighbours(system, 0, 10, list, &count));
    CHECK(count == N - 1 && list[0] == 1001 && list[9] == 1010 && list[10] == -77);
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_system_neighbours(system, 0, 0, NULL, &count));
    CHECK(count == N - 1);

    /* A list of just sufficient size is enough, and one for no neighbours may be NULL. */
    GIVES(KYOHO_OK, kyoho_system_force(system, 11, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_neighbours(system, 0, 10, list, &count));
    CHECK(count == 10 && list[9] == 1010 && list[10] == -77);
    GIVES(KYOHO_OK, kyoho_system_force(system, 1, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_neighbours(system, 0, 0, NULL, &count));
    CHECK(count == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void no_source_but_oneself_is_no_nearest_source(void) {
    int32_t nearest = 5;
    double nearest2 = 5;
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, 1);
    kyoho_sinks sinks = sinks_of(p, 1, 1e-2);
    kyoho_forces forces = KYOHO_FORCES_INIT;
    forces.nearest.data = &nearest;
    forces.nearest_distance2.data = &nearest2;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, 1, &sinks, &forces));
    CHECK(nearest == -1 && nearest2 == INFINITY);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Sources follow their Taylor series, whose derivatives are not divided by any factor. */
static void sources_are_predicted_to_the_time_of_the_system(void) {
    double x[3] = {1, 2, 3}, v[3] = {-1, 0.5, 0}, a[3] = {0.25, -1, 2}, j[3] = {6, -3, 0.5};
    double mass = 2, time = 0.5, predicted_x[3][3], predicted_v[3][3];
    int32_t address = 8, nearest;
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    sources.count = 1;
    sources.addresses.data = &address;
    sources.masses.data = &mass;
    sources.times.data = &time;
    sources.positions.data = x;
    sources.velocities.data = v;
    sources.accelerations.data = a;
    sources.jerks.data = j;
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_set_time(system, 0.75));
    kyoho_predictions predictions = KYOHO_PREDICTIONS_INIT;
    predictions.positions.data = predicted_x[0];
    predictions.velocities.data = predicted_v[0];
    GIVES(KYOHO_OK, kyoho_system_predict(system, 7, 3, &predictions));
    double dt = 0.25;
    for (int k = 0; k < 3; k++) {
        double expected_x = x[k] + dt * (v[k] + dt * (a[k] / 2 + dt * j[k] / 6));
        double expected_v = v[k] + dt * (a[k] + dt * j[k] / 2);
        CHECK(fabs(predicted_x[1][k] - expected_x) < 1e-15 && fabs(predicted_v[1][k] - expected_v) < 1e-15);
        CHECK(isnan(predicted_x[0][k]) && isnan(predicted_x[2][k]) && isnan(predicted_v[0][k])); /* no source */
    }

    /* The force is that of the predicted source. Without indices its index is its address. */
    double at[3] = {0, 0, 0}, acc[3], expected[3];
    kyoho_sinks sinks = KYOHO_SINKS_INIT;
    kyoho_forces forces = KYOHO_FORCES_INIT;
    sinks.count = 1;
    sinks.exclusion = KYOHO_EXCLUDE_NOTHING;
    sinks.positions.data = sinks.velocities.data = at;
    forces.accelerations.data = acc;
    forces.nearest.data = &nearest;
    GIVES(KYOHO_OK, kyoho_system_force(system, 9, &sinks, &forces));
    double r = distance(predicted_x[1], at);
    for (int k = 0; k < 3; k++) expected[k] = mass * predicted_x[1][k] / (r * r * r);
    CHECK(close_to(acc, expected, 1e-14));
    CHECK(nearest == 8);

    /* Each array may be null, and may be part of the caller's structures. */
    struct particle own[2];
    memset(own, 0, sizeof own);
    predictions.velocities.data = NULL;
    predictions.positions.data = own[0].x, predictions.positions.stride = sizeof own[0];
    GIVES(KYOHO_OK, kyoho_system_predict(system, 7, 2, &predictions));
    CHECK(memcmp(own[1].x, predicted_x[1], sizeof x) == 0 && own[1].v[0] == 0);
    GIVES(KYOHO_OK, kyoho_system_predict(system, 2147483647, 1, &predictions));
    CHECK(isnan(own[0].x[0]));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

int main(void) {
    make_particles(p, N, 11);
    nearest_sources_and_lists(KYOHO_PRECISION_DOUBLE);
    nearest_sources_and_lists(KYOHO_PRECISION_MIXED);
    a_list_that_is_too_small();
    no_source_but_oneself_is_no_nearest_source();
    sources_are_predicted_to_the_time_of_the_system();
    return failures != 0;
}
