/* Forces through the native interface: whole arrays, arrays inside the caller's structures, in
   one call or in two. */
#include "native_check.h"

enum { N = 700 };
static const double softening2 = 1e-4;

static void check_forces(const struct particle *sources, int nj, const struct particle *sinks, int ni, double part) {
    for (int i = 0; i < ni; i++) {
        struct particle expected = sinks[i];
        sum_force(sources, nj, softening2, &expected);
        CHECK(close_to(sinks[i].acc, expected.acc, part));
        CHECK(close_to(sinks[i].jerk, expected.jerk, 10 * part));
        CHECK(fabs(sinks[i].pot - expected.pot) <= part * fabs(expected.pot));
    }
}

/* The caller's structures are read and written in place. */
static void strided_arrays_stay_where_they_are(int precision, double part) {
    struct particle p[N];
    make_particles(p, N, 1);
    kyoho_system *system = create(4, precision);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, softening2);
    kyoho_forces forces = forces_of(p);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    check_forces(p, N, p, N, part);
    CHECK(p[3].colour == 0 && p[3].index == 1003);

    /* Only addresses below nj exert forces, and only this many sinks are written. */
    sinks.count = 5;
    memset(p[5].acc, 0, sizeof p[5].acc);
    GIVES(KYOHO_OK, kyoho_system_force(system, 100, &sinks, &forces));
    check_forces(p, 100, p, 5, part);
    CHECK(p[5].acc[0] == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* The sources are the sinks, in one call or in two. */
static void sources_act_on_one_another(int precision, double part) {
    struct particle p[N], few[N];
    make_particles(p, N, 1);
    kyoho_system *system = create(4, precision);
    kyoho_sources sources = sources_of(p, N);
    kyoho_forces forces = forces_of(p);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force_all(system, N, softening2, &forces));
    check_forces(p, N, p, N, part);

    memcpy(few, p, sizeof p);
    memset(few[100].acc, 0, sizeof few[100].acc);
    forces = forces_of(few);
    GIVES(KYOHO_OK, kyoho_system_start_all(system, 100, softening2));
    GIVES(KYOHO_CALL_ORDER, kyoho_system_start_all(system, 100, softening2));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
    check_forces(p, 100, few, 100, part);
    CHECK(few[100].acc[0] == 0);

    SAYS(KYOHO_BAD_COUNT, "0 to 700, as no source was written to address 700", system,
         kyoho_system_force_all(system, N + 1, softening2, &forces));
    SAYS(KYOHO_BAD_COUNT, "nj", system, kyoho_system_force_all(system, -1, softening2, &forces));
    SAYS(KYOHO_OUT_OF_RANGE, "softening", system, kyoho_system_force_all(system, N, -1, &forces));
    SAYS(KYOHO_NULL_ARGUMENT, "forces", system, kyoho_system_force_all(system, N, softening2, NULL));
    GIVES(KYOHO_OK, kyoho_system_force_all(system, 0, softening2, &forces));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* There are so many sinks that several threads read them. */
static void many_sinks_are_read_where_they_are(void) {
    enum { SINKS = 50000, SOURCES = 20 };
    static struct particle p[SINKS];
    make_particles(p, SINKS, 3);
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, SOURCES);
    kyoho_sinks sinks = sinks_of(p, SINKS, softening2);
    kyoho_forces forces = forces_of(p);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, SOURCES, &sinks, &forces));
    check_forces(p, SOURCES, p, SINKS, 1e-12);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void packed_arrays_need_no_strides(void) {
    static double mass[N], x[N][3], v[N][3], acc[N][3], jerk[N][3], pot[N];
    static int32_t index[N], address[N];
    struct particle p[N];
    make_particles(p, N, 2);
    for (int i = 0; i < N; i++) {
        int place = N - 1 - i; /* addresses in any order */
        address[place] = 2 * i; /* and with gaps */
        index[place] = p[i].index;
        mass[place] = p[i].mass;
        memcpy(x[place], p[i].x, sizeof x[place]);
        memcpy(v[place], p[i].v, sizeof v[place]);
    }
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    sources.count = N;
    sources.addresses.data = address;
    sources.indices.data = index;
    sources.masses.data = mass;
    sources.positions.data = x[0];
    sources.velocities.data = v[0];
    kyoho_sinks sinks = KYOHO_SINKS_INIT;
    sinks.count = N;
    sinks.indices.data = index;
    sinks.positions.data = x[0];
    sinks.velocities.data = v[0];
    sinks.softening2 = softening2;
    kyoho_forces forces = KYOHO_FORCES_INIT;
    forces.accelerations.data = acc[0];
    forces.jerks.data = jerk[0];
    forces.potentials.data = pot;
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, 2 * N, &sinks, &forces));
    for (int i = 0; i < N; i++) {
        memcpy(p[i].acc, acc[N - 1 - i], sizeof p[i].acc);
        memcpy(p[i].jerk, jerk[N - 1 - i], sizeof p[i].jerk);
        p[i].pot = pot[N - 1 - i];
    }
    check_forces(p, N, p, N, 1e-13);

    /* An array that is not wanted may be null. If two results go to the same place, the later
       one stays. */
    static double twice[N][3];
    kyoho_forces same = KYOHO_FORCES_INIT;
    same.accelerations.data = twice[0];
    same.jerks.data = twice[0];
    GIVES(KYOHO_OK, kyoho_system_force(system, 2 * N, &sinks, &same));
    CHECK(memcmp(twice, jerk, sizeof jerk) == 0);

    /* Rows may run backwards. */
    sinks.positions.data = x[N - 1], sinks.positions.stride = -(int64_t)sizeof x[0];
    sinks.velocities.data = v[N - 1], sinks.velocities.stride = -(int64_t)sizeof v[0];
    sinks.indices.data = &index[N - 1], sinks.indices.stride = -(int64_t)sizeof index[0];
    same.jerks.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_force(system, 2 * N, &sinks, &same));
    CHECK(close_to(twice[0], acc[N - 1], 1e-13) && close_to(twice[N - 1], acc[0], 1e-13));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Between start and wait the caller may change everything. The block uses the values of its
   start. */
static void start_and_wait_give_what_force_gives(void) {
    struct particle p[N], expected[N];
    make_particles(p, N, 3);
    memcpy(expected, p, sizeof p);
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, softening2);
    kyoho_forces forces = forces_of(expected);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));

    GIVES(KYOHO_OK, kyoho_system_start(system, N, &sinks));
    for (int i = 0; i < N; i++) p[i].x[0] = 9;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    forces = forces_of(p);
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
    for (int i = 0; i < N; i++) CHECK(memcmp(p[i].acc, expected[i].acc, sizeof p[i].acc) == 0);

    /* The next block uses the values that were written meanwhile. */
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    check_forces(p, N, p, N, 1e-13);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void each_sink_may_have_its_own_softening_and_none_an_index(void) {
    struct particle p[N];
    double softening2_each[2] = {0.01, 1.0};
    make_particles(p, N, 4);
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, N);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    struct particle probe[2] = {{.index = -1, .x = {0.1, 0.2, 0.3}}, {.index = 1003, .x = {0.1, 0.2, 0.3}}};
    kyoho_sinks sinks = sinks_of(probe, 2, 77);
    kyoho_forces forces = forces_of(probe);
    sinks.softening2_each.data = softening2_each;
    sinks.indices.data = NULL, sinks.exclusion = KYOHO_EXCLUDE_NOTHING; /* every source counts, also the one with the index 1003 */
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    for (int i = 0; i < 2; i++) {
        struct particle expected = probe[i];
        expected.index = -1;
        sum_force(p, N, softening2_each[i], &expected);
        CHECK(close_to(probe[i].acc, expected.acc, 1e-13));
    }

    /* If nothing is excluded, indices are not read. */
    struct particle again[2];
    memcpy(again, probe, sizeof again);
    sinks.indices.data = (const int32_t *)8, sinks.indices.stride = 3;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    CHECK(memcmp(again, probe, sizeof again) == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void order_2_gives_potentials_and_accelerations(void) {
    struct particle p[N];
    make_particles(p, N, 5);
    kyoho_system *system = create(2, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, softening2);
    kyoho_forces forces = forces_of(p);
    sinks.velocities.data = NULL;
    forces.jerks.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    for (int i = 0; i < N; i++) {
        struct particle expected = p[i];
        sum_force(p, N, softening2, &expected);
        CHECK(close_to(p[i].acc, expected.acc, 1e-13));
        CHECK(fabs(p[i].pot - expected.pot) <= 1e-13 * fabs(expected.pot));
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Without sinks nothing is written. Without sources the forces are zero. */
static void nothing_is_an_amount(void) {
    struct particle p[2];
    make_particles(p, 2, 6);
    kyoho_system *system = create(4, 0);
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    kyoho_sinks sinks = KYOHO_SINKS_INIT;
    kyoho_forces forces = KYOHO_FORCES_INIT;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, 0, &sinks, &forces));
    sinks = sinks_of(p, 2, 0);
    forces = forces_of(p);
    p[0].acc[0] = p[1].pot = 7;
    GIVES(KYOHO_OK, kyoho_system_force(system, 1000, &sinks, &forces));
    CHECK(p[0].acc[0] == 0 && p[0].jerk[2] == 0 && p[1].pot == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* A device that is named three times computes three sets of slices, and the sums have the same
   bits. */
static void a_share_of_the_sources_for_each_device_gives_the_same_bits(void) {
    struct particle p[N], q[N];
    make_particles(p, N, 7);
    memcpy(q, p, sizeof p);
    struct particle *all[2] = {p, q};
    const char *devices[2] = {"1", "0,0,0"};
    for (int which = 0; which < 2; which++) {
        kyoho_system *system = NULL;
        int32_t count = 0;
        kyoho_sources sources = sources_of(p, N);
        kyoho_sinks sinks = sinks_of(p, N, softening2);
        kyoho_forces forces = forces_of(all[which]);
        GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_MIXED, KYOHO_BACKEND_CPU, devices[which], 2, &system));
        GIVES(KYOHO_OK, kyoho_system_device_count(system, &count));
        CHECK(count == (which ? 3 : 1));
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
        GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
    CHECK(memcmp(p, q, sizeof p) == 0);
}

int main(void) {
    strided_arrays_stay_where_they_are(KYOHO_PRECISION_DOUBLE, 1e-13);
    strided_arrays_stay_where_they_are(KYOHO_PRECISION_MIXED, 1e-5);
    sources_act_on_one_another(KYOHO_PRECISION_DOUBLE, 1e-13);
    sources_act_on_one_another(KYOHO_PRECISION_MIXED, 1e-5);
    many_sinks_are_read_where_they_are();
    packed_arrays_need_no_strides();
    start_and_wait_give_what_force_gives();
    each_sink_may_have_its_own_softening_and_none_an_index();
    order_2_gives_potentials_and_accelerations();
    nothing_is_an_amount();
    a_share_of_the_sources_for_each_device_gives_the_same_bits();
    return failures != 0;
}
