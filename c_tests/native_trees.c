/* Forces by a tree through the native interface: as accurate as was asked for, with the same bits
   for any number of threads, on the sources and on other points. */
#include "native_check.h"

enum { N = 9000, POINTS = 3000 };

static struct particle p[N], points[POINTS];

/* Puts the particles into a Plummer model. */
static void make_model(void) {
    uint64_t seed = 3;
    make_particles(p, N, 7);
    for (int i = 0; i < N; i++) {
        double radius = 1 / sqrt(pow(0.999 * fabs(draw(&seed)) + 1e-9, -2.0 / 3) - 1), r2 = 0;
        for (int k = 0; k < 3; k++) r2 += p[i].x[k] * p[i].x[k];
        for (int k = 0; k < 3; k++) p[i].x[k] *= radius / sqrt(r2);
        p[i].mass = 1.0 / N;
    }
    make_particles(points, POINTS, 11);
    for (int i = 0; i < POINTS; i++) points[i].index = -1 - i;
}

static kyoho_system *with_tree(double accuracy, double theta, int precision, int threads) {
    kyoho_options options = options_of(2, precision, KYOHO_BACKEND_CPU, NULL, threads);
    kyoho_system *system = NULL;
    kyoho_sources sources = sources_of(p, N);
    options.accuracy = accuracy, options.theta = theta;
    GIVES(KYOHO_OK, kyoho_system_create(&options, &system));
    sources.velocities.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    return system;
}

static void force(kyoho_system *system, struct particle *on, int n, double softening2) {
    kyoho_sinks sinks = sinks_of(on, n, softening2);
    kyoho_forces forces = forces_of(on);
    sinks.velocities.data = NULL, forces.jerks.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The error of the accelerations that a part of the sinks does not exceed. */
static double error_of(const struct particle *by_tree, const struct particle *direct, int n, double part) {
    static double errors[N];
    const double zero[3] = {0, 0, 0};
    for (int i = 0; i < n; i++) errors[i] = distance(by_tree[i].acc, direct[i].acc) / distance(direct[i].acc, zero);
    qsort(errors, (size_t)n, sizeof *errors, ascending);
    return errors[(int)((n - 1) * part)];
}

static struct particle direct[N], by_tree[N], again[N];

static void accuracies(void) {
    const int precisions[] = {KYOHO_PRECISION_SINGLE, KYOHO_PRECISION_MIXED, KYOHO_PRECISION_DOUBLE};
    kyoho_system *exact = with_tree(0, 0, KYOHO_PRECISION_DOUBLE, 0);
    for (int softened = 0; softened < 2; softened++) {
        const double softening2 = softened ? 0.0025 : 0;
        memcpy(direct, p, sizeof p);
        force(exact, direct, N, softening2);
        for (int k = 0; k < 3; k++) {
            const double accuracy = k == 2 ? 1e-5 : 1e-3;
            kyoho_system *system = with_tree(accuracy, 0, precisions[k], 2);
            memcpy(by_tree, p, sizeof p);
            force(system, by_tree, N, softening2);
            CHECK(error_of(by_tree, direct, N, 0.5) <= accuracy);
            CHECK(error_of(by_tree, direct, N, 0.99) <= 5 * accuracy);
            CHECK(error_of(by_tree, direct, N, 0.5) > 1e-9); /* it was a tree */
            for (int i = 0; i < N; i++) CHECK(fabs(by_tree[i].pot / direct[i].pot - 1) < 10 * accuracy);

            kyoho_tree_errors errors = KYOHO_TREE_ERRORS_INIT;
            kyoho_sinks sinks = sinks_of(p, N, softening2);
            sinks.velocities.data = NULL;
            GIVES(KYOHO_OK, kyoho_system_tree_error(system, N, &sinks, 500, &errors));
            CHECK(errors.median > 0 && errors.median <= accuracy && errors.percentile_90 >= errors.median);
            CHECK(errors.percentile_99 >= errors.percentile_90 && errors.percentile_99 <= 5 * accuracy);
            CHECK(errors.worst >= errors.percentile_99);
            GIVES(KYOHO_OK, kyoho_system_free(system));

            system = with_tree(accuracy, 0, precisions[k], 1);
            memcpy(again, p, sizeof p);
            force(system, again, N, softening2);
            CHECK(!memcmp(again, by_tree, sizeof again)); /* the same bits with one thread */
            /* Points that are no sources, and some of the sources. */
            struct particle *some = again, *exactly = direct + N / 2;
            memcpy(some, points, sizeof points), memcpy(exactly, points, sizeof points);
            force(system, some, POINTS, softening2), force(exact, exactly, POINTS, softening2);
            CHECK(error_of(some, exactly, POINTS, 0.5) <= accuracy);
            memcpy(some, p, POINTS * sizeof *p), memcpy(exactly, p, POINTS * sizeof *p);
            force(system, some, POINTS, softening2), force(exact, exactly, POINTS, softening2);
            CHECK(error_of(some, exactly, POINTS, 0.5) <= accuracy);
            for (int i = 0; i < POINTS; i++) CHECK(fabs(some[i].pot / exactly[i].pot - 1) < 10 * accuracy);
            memcpy(direct, p, sizeof p);
            force(exact, direct, N, softening2);
            GIVES(KYOHO_OK, kyoho_system_free(system));
        }
    }
    kyoho_system *opened = with_tree(0, 0.5, KYOHO_PRECISION_DOUBLE, 0);
    memcpy(direct, p, sizeof p), memcpy(by_tree, p, sizeof p);
    force(exact, direct, N, 0), force(opened, by_tree, N, 0);
    CHECK(error_of(by_tree, direct, N, 0.5) < 1e-3 && error_of(by_tree, direct, N, 0.5) > 1e-9);
    GIVES(KYOHO_OK, kyoho_system_free(opened));
    GIVES(KYOHO_OK, kyoho_system_free(exact));
}

/* Sources and sinks with softenings of their own: a pair has the mean of the squares of both. */
static void softenings(void) {
    static double softening2_each[N];
    uint64_t seed = 17;
    for (int i = 0; i < N; i++) softening2_each[i] = 0.04 * pow(fabs(draw(&seed)), 4);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, 0);
    sources.velocities.data = sinks.velocities.data = NULL;
    sources.softening2_each.data = sinks.softening2_each.data = softening2_each;
    kyoho_system *exact = with_tree(0, 0, KYOHO_PRECISION_DOUBLE, 0);
    GIVES(KYOHO_OK, kyoho_system_set_sources(exact, &sources));
    memcpy(direct, p, sizeof p);
    kyoho_forces forces = forces_of(direct);
    forces.jerks.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_force(exact, N, &sinks, &forces));
    for (int threads = 1; threads < 3; threads++) {
        kyoho_system *system = with_tree(1e-3, 0, KYOHO_PRECISION_MIXED, threads);
        struct particle *found = threads == 1 ? by_tree : again;
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
        memcpy(found, p, sizeof p);
        forces = forces_of(found), forces.jerks.data = NULL;
        GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
        CHECK(error_of(found, direct, N, 0.5) <= 1e-3 && error_of(found, direct, N, 0.5) > 1e-9);
        CHECK(error_of(found, direct, N, 0.99) <= 5e-3);
        kyoho_tree_errors errors = KYOHO_TREE_ERRORS_INIT;
        GIVES(KYOHO_OK, kyoho_system_tree_error(system, N, &sinks, 500, &errors));
        CHECK(errors.median > 0 && errors.median <= 1e-3);
        GIVES(KYOHO_OK, kyoho_system_force_all(system, N, 0, &forces));
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
    CHECK(!memcmp(again, by_tree, sizeof again)); /* the same bits with two threads */
    GIVES(KYOHO_OK, kyoho_system_free(exact));
}

/* The sources within a radius of each point, which are those of all pairs, as lists take them. */
static void neighbours(void) {
    kyoho_options options = options_of(2, KYOHO_PRECISION_MIXED, KYOHO_BACKEND_CPU, NULL, 2);
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(points, POINTS, 0);
    kyoho_system *system = NULL;
    static double radii2[POINTS];
    static int64_t offsets[POINTS + 1];
    sources.velocities.data = NULL, sinks.velocities.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_create(&options, &system));
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sinks.radii2", system, kyoho_system_find_neighbours(system, N, &sinks, offsets));
    for (int i = 0; i < POINTS; i++) radii2[i] = i % 5 * 0.01, points[i].index = p[i].index;
    sinks.radii2.data = radii2;
    SAYS(KYOHO_NULL_ARGUMENT, "offsets", system, kyoho_system_find_neighbours(system, N, &sinks, NULL));
    GIVES(KYOHO_OK, kyoho_system_find_neighbours(system, N, &sinks, offsets));
    const int64_t all = offsets[POINTS];
    int32_t *addresses = malloc((size_t)all * sizeof *addresses);
    SAYS(KYOHO_BUFFER_TOO_SMALL, "the array of addresses", system,
         kyoho_system_copy_found_neighbours(system, all - 1, addresses));
    SAYS(KYOHO_NULL_ARGUMENT, "addresses", system, kyoho_system_copy_found_neighbours(system, all, NULL));
    GIVES(KYOHO_OK, kyoho_system_copy_found_neighbours(system, all, addresses));
    CHECK(offsets[0] == 0 && all > POINTS);
    for (int i = 0; i < POINTS; i += 7) {
        int64_t at = offsets[i];
        for (int j = 0; j < N; j++) {
            double r2 = 0;
            for (int k = 0; k < 3; k++) r2 += (p[j].x[k] - points[i].x[k]) * (p[j].x[k] - points[i].x[k]);
            if (r2 < radii2[i] && p[j].index != points[i].index) CHECK(at < offsets[i + 1] && addresses[at++] == j);
        }
        CHECK(at == offsets[i + 1]);
    }
    sinks.count = 0;
    GIVES(KYOHO_OK, kyoho_system_find_neighbours(system, N, &sinks, offsets));
    GIVES(KYOHO_OK, kyoho_system_copy_found_neighbours(system, 0, NULL));
    GIVES(KYOHO_OK, kyoho_system_free(system));
    free(addresses);
}

static void refusals(void) {
    kyoho_options options = options_of(2, KYOHO_PRECISION_SINGLE, KYOHO_BACKEND_CPU, NULL, 1);
    kyoho_tree_errors errors = KYOHO_TREE_ERRORS_INIT;
    kyoho_system *system = NULL;
    options.accuracy = 1e-9;
    SAYS(KYOHO_BAD_OPTION, "kyoho_options.accuracy is '1e-9'; allowed: 0 for direct sums, or 1e-6 to 0.01", NULL,
         kyoho_system_create(&options, &system));
    options.accuracy = 0.0 / 0.0;
    SAYS(KYOHO_BAD_OPTION, "kyoho_options.accuracy is 'NaN'", NULL, kyoho_system_create(&options, &system));
    options.accuracy = 1e-3, options.theta = 0.5;
    SAYS(KYOHO_BAD_OPTION, "0 where kyoho_options.accuracy is given too", NULL, kyoho_system_create(&options, &system));
    options.theta = 0, options.order = 4;
    SAYS(KYOHO_UNSUPPORTED, "order 2", NULL, kyoho_system_create(&options, &system));

    system = with_tree(1e-3, 0, KYOHO_PRECISION_SINGLE, 1);
    kyoho_sinks sinks = sinks_of(p, N, 0);
    kyoho_forces forces = forces_of(by_tree);
    double each[N] = {0};
    each[77] = 1;
    sinks.softening2_each.data = each, forces.jerks.data = NULL;
    SAYS(KYOHO_BAD_OPTION, "the squared softening of sink 77 with a tree", system,
         kyoho_system_force(system, N, &sinks, &forces));
    sinks.softening2_each.data = NULL;
    SAYS(KYOHO_BAD_COUNT, "the number of samples", system, kyoho_system_tree_error(system, N, &sinks, 0, &errors));
    SAYS(KYOHO_NULL_ARGUMENT, "errors", system, kyoho_system_tree_error(system, N, &sinks, 5, NULL));
    force(system, by_tree, N, 0);
    /* Few pairs are summed directly, with any softening. */
    sinks.count = 100, sinks.softening2_each.data = each;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

int main(void) {
    make_model();
    accuracies();
    softenings();
    neighbours();
    refusals();
    return failures > 0;
}
