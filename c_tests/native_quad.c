/* Systems in numbers of two doubles: sources, sinks, times and forces have 32 digits. */
#include "native_check.h"

#include <float.h>

enum { N = 40 };

/* A number of two doubles; its value is their sum. */
typedef double dd[2];

static dd mass[N], x[N][3], v[N][3], time_of[N];
static int32_t indices[N];

/* Two doubles hold the exact sum of two doubles, and their exact product. */
static void add(dd sum, double a, double b) {
    double high = a + b, of_b = high - a;
    sum[0] = high, sum[1] = (a - (high - of_b)) + (b - of_b);
}

static kyoho_sources sources(void) {
    kyoho_sources all = KYOHO_SOURCES_INIT;
    all.count = N;
    all.number_type = KYOHO_NUMBER_TYPE_DD;
    all.indices.data = indices;
    all.masses.data = &mass[0][0];
    all.times.data = &time_of[0][0];
    all.positions.data = &x[0][0][0];
    all.velocities.data = &v[0][0][0];
    return all;
}

static kyoho_sinks sinks(void) {
    kyoho_sinks all = KYOHO_SINKS_INIT;
    all.count = N;
    all.number_type = KYOHO_NUMBER_TYPE_DD;
    all.indices.data = indices;
    all.positions.data = &x[0][0][0];
    all.velocities.data = &v[0][0][0];
    return all;
}

static kyoho_system *create_quad(int order) {
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_system *system;
    options.order = order;
    options.precision = KYOHO_PRECISION_QUAD;
    GIVES(KYOHO_OK, kyoho_system_create(&options, &system));
    return system;
}

/* Two bodies at a distance of 1 + 2^-70 attract one another with 1 - 2 * 2^-70 and a little. */
static void a_distance_that_no_double_has(void) {
    const double tiny = ldexp(1, -70);
    kyoho_system *system = create_quad(2);
    kyoho_sources one = KYOHO_SOURCES_INIT;
    kyoho_sinks at = KYOHO_SINKS_INIT;
    kyoho_forces to = KYOHO_FORCES_INIT;
    dd unit = {1, 0}, origin[3] = {{0}}, there[3] = {{1, tiny}}, acc[3], pot;
    one.count = at.count = 1;
    one.number_type = at.number_type = to.number_type = KYOHO_NUMBER_TYPE_DD;
    one.masses.data = unit;
    one.positions.data = &there[0][0];
    at.exclusion = KYOHO_EXCLUDE_NOTHING;
    at.positions.data = &origin[0][0];
    to.accelerations.data = &acc[0][0];
    to.potentials.data = pot;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &one));
    GIVES(KYOHO_OK, kyoho_system_force(system, 1, &at, &to));
    CHECK(acc[0][0] == 1 && fabs(acc[0][1] + 2 * tiny) < 1e-30);
    CHECK(pot[0] == -1 && fabs(pot[1] - tiny) < 1e-30);
    CHECK(acc[1][0] == 0 && acc[2][1] == 0);

    /* Plain doubles do for the same system: they get the nearest ones. */
    double plain[3] = {0}, nearest[3];
    kyoho_sinks in_doubles = at;
    kyoho_forces of_doubles = KYOHO_FORCES_INIT;
    in_doubles.number_type = 0;
    in_doubles.positions.data = plain;
    of_doubles.accelerations.data = nearest;
    GIVES(KYOHO_OK, kyoho_system_force(system, 1, &in_doubles, &of_doubles));
    CHECK(nearest[0] == 1 && nearest[1] == 0 && nearest[2] == 0);

    /* A source of plain doubles has no rest, whatever was there before. */
    double mass_of_one = 1, place[3] = {1, 0, 0};
    one.number_type = KYOHO_NUMBER_TYPE_F64;
    one.masses.data = &mass_of_one;
    one.positions.data = place;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &one));
    GIVES(KYOHO_OK, kyoho_system_start(system, 1, &at));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &to));
    CHECK(acc[0][0] == 1 && acc[0][1] == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* In a frame that moves with a third of a unit forces are what they are at rest. */
static void a_frame_in_motion(void) {
    static dd acc[2][N][3], jerk[2][N][3], pot[2][N], distance2[2][N], predicted[N][3];
    static int32_t nearest[2][N];
    const double frame = 1.0 / 3, now = 1.0 / 7;
    uint64_t state = 5;
    double at_rest[N][3], speed[N][3];
    for (int i = 0; i < N; i++) {
        indices[i] = 100 + i, mass[i][0] = 1.0 / N;
        for (int k = 0; k < 3; k++) at_rest[i][k] = draw(&state), speed[i][k] = draw(&state);
    }
    for (int moves = 0; moves < 2; moves++) {
        kyoho_system *system = create_quad(4);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++) {
                add(x[i][k], at_rest[i][k], 0);
                add(v[i][k], speed[i][k], moves * frame);
            }
        kyoho_sources all = sources();
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &all));
        GIVES(KYOHO_OK, kyoho_system_set_time_dd(system, now, 1e-20));
        kyoho_predictions to = KYOHO_PREDICTIONS_INIT;
        to.number_type = KYOHO_NUMBER_TYPE_DD;
        to.positions.data = &predicted[0][0][0];
        GIVES(KYOHO_OK, kyoho_system_predict(system, 0, N, &to));
        /* A product has its rest too: x + v t, as the library computes it, is a sink's place. */
        memcpy(x, predicted, sizeof x);
        kyoho_sinks these = sinks();
        kyoho_forces forces = KYOHO_FORCES_INIT;
        forces.number_type = KYOHO_NUMBER_TYPE_DD;
        forces.potentials.data = &pot[moves][0][0];
        forces.accelerations.data = &acc[moves][0][0][0];
        forces.jerks.data = &jerk[moves][0][0][0];
        forces.nearest.data = nearest[moves];
        forces.nearest_distance2.data = &distance2[moves][0][0];
        GIVES(KYOHO_OK, kyoho_system_force(system, N, &these, &forces));
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
    double worst = 0, worst_jerk = 0;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) {
            worst = fmax(worst, fabs((acc[1][i][k][0] - acc[0][i][k][0]) + (acc[1][i][k][1] - acc[0][i][k][1])));
            worst_jerk = fmax(worst_jerk,
                              fabs((jerk[1][i][k][0] - jerk[0][i][k][0]) + (jerk[1][i][k][1] - jerk[0][i][k][1])));
        }
        CHECK(nearest[0][i] == nearest[1][i] && pot[0][i][0] == pot[1][i][0]);
        CHECK(fabs(distance2[0][i][1]) <= DBL_EPSILON * distance2[0][i][0]);
    }
    CHECK(worst < 1e-26 && worst_jerk < 1e-24);
}

/* Derivatives in plain doubles are the same numbers as those in two doubles without a rest: their
 * coefficients (a jerk over 6, ...) have all digits. The time's low limb counts for plain doubles. */
static void plain_derivatives(void) {
    static double plain[8][N][3], doubles[2][N][3], limbs[2][N][3][2];
    static dd of_limbs[8][N][3];
    kyoho_system *systems[2];
    uint64_t state = 11;
    for (int order = 4; order <= 8; order += 2) {
        for (int in_limbs = 0; in_limbs < 2; in_limbs++) {
            kyoho_sources all = KYOHO_SOURCES_INIT;
            kyoho_const_reals *vectors[8] = {&all.positions, &all.velocities, &all.accelerations, &all.jerks,
                                             &all.snaps,     &all.crackles,   &all.sixth_derivatives,
                                             &all.seventh_derivatives};
            for (int n = 0; n < 8; n++) {
                for (int i = 0; !in_limbs && i < N; i++)
                    for (int k = 0; k < 3; k++) {
                        plain[n][i][k] = n == 3 && i == 0 ? 0.1 : draw(&state);
                        of_limbs[n][i][k][0] = plain[n][i][k];
                    }
                vectors[n]->data = in_limbs ? &of_limbs[n][0][0][0] : &plain[n][0][0];
            }
            all.count = N;
            all.number_type = in_limbs ? KYOHO_NUMBER_TYPE_DD : 0;
            for (int i = 0; i < N; i++) mass[i][0] = 1.0 / N, mass[i][1] = 0;
            all.masses.data = &mass[0][0], all.masses.stride = sizeof mass[0];
            kyoho_system *system = systems[in_limbs] = create_quad(order);
            GIVES(KYOHO_OK, kyoho_system_set_sources(system, &all));
            GIVES(KYOHO_OK, kyoho_system_set_time_dd(system, 1.0 / 3, 1.0 / 3 * DBL_EPSILON / 4));
            kyoho_predictions to = KYOHO_PREDICTIONS_INIT;
            to.number_type = KYOHO_NUMBER_TYPE_DD;
            to.positions.data = &limbs[in_limbs][0][0][0];
            GIVES(KYOHO_OK, kyoho_system_predict(system, 0, N, &to));
            to.number_type = KYOHO_NUMBER_TYPE_F64;
            to.positions.data = &doubles[in_limbs][0][0];
            GIVES(KYOHO_OK, kyoho_system_predict(system, 0, N, &to));
        }
        CHECK(memcmp(limbs[0], limbs[1], sizeof limbs[0]) == 0);
        for (int i = 0; i < N; i++)
            for (int k = 0; k < 3; k++)
                CHECK(doubles[0][i][k] == limbs[0][i][k][0] && doubles[1][i][k] == limbs[1][i][k][0]);
        /* A source that is at the origin a moment after time 1, a moment that a double cannot have. */
        kyoho_sources one = KYOHO_SOURCES_INIT;
        double start[3] = {-1, 0, 0}, unit[3] = {1, 0, 0}, there[3];
        one.count = 1;
        one.masses.data = unit, one.positions.data = start, one.velocities.data = unit;
        GIVES(KYOHO_OK, kyoho_system_set_sources(systems[0], &one));
        GIVES(KYOHO_OK, kyoho_system_set_time_dd(systems[0], 1, ldexp(1, -60)));
        kyoho_predictions at = KYOHO_PREDICTIONS_INIT;
        at.positions.data = there;
        GIVES(KYOHO_OK, kyoho_system_predict(systems[0], 0, 1, &at));
        CHECK(there[0] == ldexp(1, -60));
        GIVES(KYOHO_OK, kyoho_system_free(systems[0]));
        GIVES(KYOHO_OK, kyoho_system_free(systems[1]));
    }
}

static void what_is_wrong(void) {
    kyoho_system *quad = create_quad(4), *plain = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources all = sources();
    kyoho_sinks these = sinks();
    kyoho_forces forces = KYOHO_FORCES_INIT;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.number_type is '4'; allowed: 0, 2 (F64); 4 (DD) in precision quad", plain,
         kyoho_system_set_sources(plain, &all));
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.number_type is '4'", plain, kyoho_system_start(plain, 1, &these));
    SAYS(KYOHO_UNSUPPORTED, "it computes: precision quad", plain, kyoho_system_set_time_dd(plain, 1, 0));
    all.number_type = KYOHO_NUMBER_TYPE_F32;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.number_type is '1'; allowed: 0, 2 (F64), 4 (DD)", quad,
         kyoho_system_set_sources(quad, &all));
    all.number_type = KYOHO_NUMBER_TYPE_DD;
    all.reserved = 1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.reserved is '1'", quad, kyoho_system_set_sources(quad, &all));
    all.reserved = 0;
    all.memory = KYOHO_MEMORY_CUDA;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.memory is '1'", quad, kyoho_system_set_sources(quad, &all));
    all.memory = KYOHO_MEMORY_HOST;
    double before = x[7][2][1];
    x[7][2][1] = NAN;
    SAYS(KYOHO_NOT_FINITE, "the position of the source at address 7", quad, kyoho_system_set_sources(quad, &all));
    SAYS(KYOHO_NOT_FINITE, "the position of sink 7", quad, kyoho_system_start(quad, 1, &these));
    x[7][2][1] = before;
    GIVES(KYOHO_OK, kyoho_system_set_sources(quad, &all));

    /* The lists of systems of two doubles, and their trees, are not there. */
    int32_t offsets[2] = {0, N}, first = 0, count = N;
    kyoho_lists lists = KYOHO_LISTS_INIT;
    lists.group_count = 1;
    lists.sink_offsets.data = offsets;
    lists.first_addresses.data = &first;
    lists.source_counts.data = &count;
    these.number_type = 0;
    SAYS(KYOHO_UNSUPPORTED, "interaction lists of order 4 quad", quad,
         kyoho_system_force_lists(quad, &lists, &these, &forces));
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_system *tree;
    options.order = 2;
    options.precision = KYOHO_PRECISION_QUAD;
    options.accuracy = 1e-3;
    SAYS(KYOHO_UNSUPPORTED, "trees of order 2 quad", NULL, kyoho_system_create(&options, &tree));
    GIVES(KYOHO_OK, kyoho_system_free(quad));
    GIVES(KYOHO_OK, kyoho_system_free(plain));
}

int main(void) {
    a_distance_that_no_double_has();
    a_frame_in_motion();
    plain_derivatives();
    what_is_wrong();
    return failures != 0;
}
