/* Sources with softenings: the squared softening of a pair is the mean of those of its source and
   its sink. */
#include "native_check.h"

enum { N = 300 };
static struct particle p[N];
static double softening2_each[N];

static void make(uint64_t seed) {
    make_particles(p, N, seed);
    for (int i = 0; i < N; i++) softening2_each[i] = i % 7 ? 0.05 * (1 + draw(&seed)) : 0;
    /* Two bodies in one place, softened, and two that are not. */
    memcpy(p[20].x, p[10].x, sizeof p[10].x);
    memcpy(p[14].x, p[7].x, sizeof p[7].x);
}

static kyoho_sources softened(int n) {
    kyoho_sources sources = sources_of(p, n);
    sources.softening2_each.data = softening2_each;
    return sources;
}

/* Computes the slow and obvious sum on a particle with a squared softening. */
static void sum_softened(double softening2, struct particle *on) {
    struct particle sum = *on;
    sum.pot = 0;
    memset(sum.acc, 0, sizeof sum.acc), memset(sum.jerk, 0, sizeof sum.jerk);
    for (int j = 0; j < N; j++) {
        struct particle part = *on;
        double mean = (softening2 + softening2_each[j]) / 2;
        if (mean == 0 && distance(p[j].x, on->x) == 0) continue;
        sum_force(&p[j], 1, mean, &part);
        sum.pot += part.pot;
        for (int k = 0; k < 3; k++) sum.acc[k] += part.acc[k], sum.jerk[k] += part.jerk[k];
    }
    *on = sum;
}

static void check(const struct particle *found, double softening2, double part) {
    struct particle expected = *found;
    sum_softened(softening2, &expected);
    CHECK(close_to(found->acc, expected.acc, part));
    CHECK(close_to(found->jerk, expected.jerk, part));
    CHECK(fabs(found->pot - expected.pot) <= part * fabs(expected.pot));
}

static void pairs_have_the_mean_of_both(int precision) {
    make(5);
    kyoho_system *system = create(4, precision);
    kyoho_sources sources = softened(N);
    kyoho_sinks sinks = sinks_of(p, N, 77);
    kyoho_forces forces = forces_of(p);
    sinks.softening2_each.data = softening2_each;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    for (int i = 0; i < N; i++) check(&p[i], softening2_each[i], 1e-12);
    struct particle all[N];
    memcpy(all, p, sizeof all);
    for (int i = 0; i < N; i++) p[i].pot = 7;
    GIVES(KYOHO_OK, kyoho_system_force_all(system, N, 0, &forces));
    CHECK(memcmp(all, p, sizeof all) == 0);
    SAYS(KYOHO_BAD_OPTION, "allowed: 0, as each has its own", system, kyoho_system_force_all(system, N, 0.1, &forces));

    /* Some move on, and one loses its mass. */
    int32_t moved[3] = {3, 200, 77};
    double of_moved[3] = {0.3, 0, 0.02};
    struct particle now[3];
    for (int i = 0; i < 3; i++) {
        now[i] = p[moved[i]];
        now[i].x[0] += 0.25;
        now[i].mass *= i < 2;
        p[moved[i]] = now[i];
        softening2_each[moved[i]] = of_moved[i];
    }
    kyoho_sources some = sources_of(now, 3);
    some.addresses.data = moved;
    SAYS(KYOHO_BAD_OPTION, "allowed: one for each source", system, kyoho_system_set_sources(system, &some));
    some.softening2_each.data = of_moved;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &some));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    for (int i = 0; i < N; i++) check(&p[i], softening2_each[i], 1e-12);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void devices_and_threads_change_no_bit(void) {
    struct particle one[N];
    kyoho_backend backend = 0;
    for (int shares = 1; shares <= 3; shares++) {
        const char *devices[] = {"0,", "0,0", "0,0,0"};
        kyoho_system *system = NULL;
        make(6);
        kyoho_sources sources = softened(N);
        kyoho_forces forces = forces_of(p);
        GIVES(KYOHO_OK, create_on(4, 0, backend, devices[shares - 1], shares, &system));
        GIVES(KYOHO_OK, kyoho_system_describe(system, NULL, &backend));
        GIVES(KYOHO_OK, kyoho_system_set_crossover(system, -1));
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
        GIVES(KYOHO_OK, kyoho_system_force_all(system, N, 0, &forces));
        if (shares == 1) memcpy(one, p, sizeof one);
        CHECK(memcmp(one, p, sizeof one) == 0);
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
}

static void numbers_of_two_doubles(void) {
    double mass[2][2] = {{1, 0}, {1, 0}}, x[2][3][2] = {{{0}}, {{3, 0}}}, softening2[2][2] = {{4, 1e-20}, {10, -3e-20}};
    double acceleration[2][3][2];
    kyoho_system *system = create(2, KYOHO_PRECISION_QUAD);
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    kyoho_forces forces = KYOHO_FORCES_INIT;
    sources.number_type = forces.number_type = KYOHO_NUMBER_TYPE_DD;
    sources.count = 2;
    sources.masses.data = mass[0], sources.positions.data = x[0][0];
    sources.softening2_each.data = softening2[0];
    forces.accelerations.data = acceleration[0][0];
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force_all(system, 2, 0, &forces));
    /* The mean is 7 - 1e-20, so the force is 3 / 64 (1 + 1.5e-20 / 16). */
    double pull = acceleration[0][0][0] - 3 / 64. + acceleration[0][0][1], wanted = 3 / 64. * 1.5e-20 / 16;
    CHECK(fabs(pull - wanted) < 1e-6 * wanted);
    CHECK(acceleration[1][0][0] == -acceleration[0][0][0] && acceleration[1][0][1] == -acceleration[0][0][1]);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void what_is_wrong(void) {
    make(7);
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE), *plain = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = softened(N), others = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, 0.01);
    kyoho_forces forces = forces_of(p);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_set_sources(plain, &others));

    softening2_each[4] = -1;
    SAYS(KYOHO_OUT_OF_RANGE, "the squared softening of the source at address 4 is -1", system,
         kyoho_system_set_sources(system, &sources));
    softening2_each[4] = NAN;
    SAYS(KYOHO_NOT_FINITE, "at address 4", plain, kyoho_system_set_sources(plain, &sources));
    softening2_each[4] = 0.5;
    sources.memory = KYOHO_MEMORY_CUDA;
    SAYS(KYOHO_BAD_OPTION, "0 (KYOHO_MEMORY_HOST) with kyoho_sources.softening2_each", system,
         kyoho_system_set_sources(system, &sources));
    sources.memory = KYOHO_MEMORY_HOST;
    sources.count = 10;
    SAYS(KYOHO_BAD_OPTION, "given, and other sources have none", plain, kyoho_system_set_sources(plain, &sources));

    int32_t offsets[2] = {0, N}, first = 0, count = N;
    kyoho_lists lists = KYOHO_LISTS_INIT;
    lists.group_count = 1;
    lists.sink_offsets.data = offsets;
    lists.first_addresses.data = &first, lists.source_counts.data = &count;
    SAYS(KYOHO_UNSUPPORTED, "interaction lists and batches with softenings of sources", system,
         kyoho_system_force_lists(system, &lists, &sinks, &forces));
    kyoho_batch batch = KYOHO_BATCH_INIT;
    batch.system_count = 1, batch.offsets.data = offsets;
    sources.count = N;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.softening2_each is 'an array'; allowed: NULL", plain,
         kyoho_system_force_batch(plain, &batch, &sources, &forces));

    /* The sources are those of before; then others take the place of all. */
    softening2_each[4] = 0;
    make(7);
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    check(&p[50], 0.01, 1e-12);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &others));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    struct particle expected = p[50];
    sum_force(p, N, 0.01, &expected);
    CHECK(close_to(p[50].acc, expected.acc, 1e-13));
    GIVES(KYOHO_OK, kyoho_system_free(system));
    GIVES(KYOHO_OK, kyoho_system_free(plain));
}

int main(void) {
    pairs_have_the_mean_of_both(KYOHO_PRECISION_DOUBLE);
    pairs_have_the_mean_of_both(KYOHO_PRECISION_MIXED);
    pairs_have_the_mean_of_both(KYOHO_PRECISION_SINGLE);
    pairs_have_the_mean_of_both(KYOHO_PRECISION_QUAD);
    devices_and_threads_change_no_bit();
    numbers_of_two_doubles();
    what_is_wrong();
    return failures != 0;
}
