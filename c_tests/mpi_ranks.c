/* Systems and integrators over the ranks of an MPI communicator, against those of one process. Every rank knows
   all particles and checks its own. */
#include <kyoho_mpi.h>

#include "native_check.h"

#ifdef UNDER_VALGRIND
#include <valgrind/memcheck.h>
#endif

#define N 600
#define SOFTENING2 1e-3

static int rank, size;

struct found {
    double pot, derivatives[4][3], distance2; /* accelerations, jerks, snaps, crackles */
    int32_t nearest;
};

/* The model, and the particles of this rank as sources and as sinks. */
static struct particle all[N], sources[N], sinks[N];
static int n_sources, n_sinks;
static double vectors[N][3], own_vectors[N][3], radii2[N], own_radii2[N];

#ifdef UNDER_VALGRIND
/* Checks what the library sends, before it leaves the process in which Valgrind knows what was written. */
static int32_t gather(void *context, const void *sent, int32_t count, void *received, const int32_t *counts,
                      const int32_t *offsets) {
    CHECK(!VALGRIND_CHECK_MEM_IS_DEFINED(sent, count));
    return kyoho_mpi_all_gather(context, sent, count, received, counts, offsets);
}

static int32_t exchange(void *context, const void *sent, const int32_t *sent_counts, const int32_t *sent_offsets,
                        void *received, const int32_t *counts, const int32_t *offsets) {
    for (int to = 0; to < size; to++) {
        CHECK(!VALGRIND_CHECK_MEM_IS_DEFINED((const char *)sent + sent_offsets[to], sent_counts[to]));
    }
    return kyoho_mpi_all_to_all(context, sent, sent_counts, sent_offsets, received, counts, offsets);
}
#endif

static kyoho_communicator all_ranks(void) {
    kyoho_communicator communicator;
    CHECK(kyoho_mpi_communicator(MPI_COMM_WORLD, &communicator) == MPI_SUCCESS);
#ifdef UNDER_VALGRIND
    communicator.all_gather = gather, communicator.all_to_all = exchange;
#endif
    return communicator;
}

static kyoho_result make_over(int order, int precision, const char *devices, double accuracy, kyoho_system **system) {
    kyoho_communicator communicator = all_ranks();
    kyoho_options options = options_of(order, precision, 0, devices, 1);
    options.accuracy = accuracy;
    options.communicator = &communicator;
    return kyoho_system_create(&options, system);
}

/* Returns a result array of `found`, where the order has it. */
static kyoho_reals vector_of(double *data, int there) {
    kyoho_reals array = {there ? data : NULL, sizeof(struct found)};
    return array;
}

static kyoho_forces forces_to(struct found *to, int order) {
    kyoho_forces forces = KYOHO_FORCES_INIT;
    memset(to, 0, N * sizeof *to);
    forces.potentials = vector_of(&to->pot, 1);
    forces.accelerations = vector_of(to->derivatives[0], 1);
    forces.jerks = vector_of(to->derivatives[1], order > 2);
    forces.snaps = vector_of(to->derivatives[2], order > 4);
    forces.crackles = vector_of(to->derivatives[3], order > 6);
    if (order > 2) {
        forces.nearest.data = &to->nearest, forces.nearest.stride = sizeof *to;
        forces.nearest_distance2 = vector_of(&to->distance2, 1);
    }
    return forces;
}

static kyoho_sinks sinks_with(const struct particle *p, int n, double (*higher)[3], double *radii) {
    kyoho_sinks these = sinks_of(p, n, SOFTENING2);
    these.accelerations.data = these.jerks.data = (double *)higher;
    these.radii2.data = radii;
    return these;
}

/* Whether a particle is this rank's, by one of several ways to share them out. */
static int is_own(int i, int way) {
    switch (way) {
    case 0: return i % size == rank;
    case 1: return rank == size - 1;             /* one rank has all */
    case 2: return i % size == rank && i % 7;    /* some have none */
    default: return size == 1 || (rank && i % (size - 1) == rank - 1); /* the first has none */
    }
}

/* Shares sources out in one way and sinks, which keep their order, in another. */
static void share(int way) {
    n_sources = n_sinks = 0;
    for (int i = 0; i < N; i++) {
        int of_none = way == 2 && i % 7 == 0 && rank == 0;
        if (is_own(i, way) || of_none) sources[n_sources++] = all[i];
        if (way == 1 ? rank == 0 : i * size / N == rank) {
            memcpy(own_vectors[n_sinks], vectors[i], sizeof vectors[i]);
            own_radii2[n_sinks] = radii2[i];
            sinks[n_sinks++] = all[i];
        }
    }
}

static void check_found(const struct found *found, const struct found *expected, int order) {
    for (int i = 0; i < n_sinks; i++) {
        const struct found *one = &found[i], *other = &expected[sinks[i].index - 1000];
        CHECK(fabs(one->pot - other->pot) <= 1e-12 * fabs(other->pot));
        for (int k = 0; k < 4; k++) {
            double zero[3] = {0, 0, 0};
            CHECK(distance(one->derivatives[k], other->derivatives[k]) <=
                  1e-9 * (1 + distance(other->derivatives[k], zero)));
        }
        CHECK(one->distance2 == other->distance2);
        CHECK(order == 2 || one->nearest == other->nearest || other->distance2 == 0);
    }
}

/* The forces of interaction lists that have all sources are those of all sources, as a range or one by one. */
static void lists(kyoho_system *ranks, kyoho_sinks *on, const struct found *expected, int order) {
    static struct found found[N];
    int32_t first[N] = {0}, counts[N], sinks_before[N + 1], addresses[N * 2];
    int64_t before[N + 1];
    kyoho_lists given = KYOHO_LISTS_INIT;
    kyoho_forces to = forces_to(found, order);
    int groups = (n_sinks + 24) / 25, n_all = 0;
    double *radii = (double *)on->radii2.data;
    MPI_Allreduce(&n_sources, &n_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    on->radii2.data = NULL;
    for (int group = 0; group <= groups; group++) {
        sinks_before[group] = group < groups ? 25 * group : n_sinks;
        before[group] = group < 2 ? (int64_t)group * n_all : 2 * n_all;
    }
    for (int i = 0; i < N; i++) counts[i] = n_all;
    for (int i = 0; i < 2 * n_all; i++) addresses[i] = i % n_all;
    given.group_count = groups, given.sink_offsets.data = sinks_before;
    given.first_addresses.data = first, given.source_counts.data = counts;
    GIVES(KYOHO_OK, kyoho_system_force_lists(ranks, &given, on, &to));
    check_found(found, expected, order);
    /* On the last rank two groups have all addresses, others none. */
    if (rank == size - 1 && groups > 0) {
        memset(found, 0, sizeof found);
        given.first_addresses.data = given.source_counts.data = NULL;
        given.source_offsets.data = before, given.addresses.data = addresses;
    }
    GIVES(KYOHO_OK, kyoho_system_start_lists(ranks, &given, on));
    GIVES(KYOHO_OK, kyoho_system_wait(ranks, &to));
    if (rank == size - 1 && n_sinks > 50) {
        CHECK(found[50].pot == 0);
        n_sinks = 50;
    }
    check_found(found, expected, order);
    on->radii2.data = radii;
}

/* Makes a system of one process and one over ranks, whose sources have their masses as softenings or none. */
static void make_both(int order, int softened, kyoho_system **one, kyoho_system **ranks) {
    kyoho_sources everything = sources_of(all, N), own = sources_of(sources, n_sources);
    if (softened) everything.softening2_each = everything.masses, own.softening2_each = own.masses;
    GIVES(KYOHO_OK, create_on(order, KYOHO_PRECISION_DOUBLE, 0, NULL, 1, one));
    GIVES(KYOHO_OK, kyoho_system_set_sources(*one, &everything));
    GIVES(KYOHO_OK, make_over(order, KYOHO_PRECISION_DOUBLE, NULL, 0, ranks));
    GIVES(KYOHO_OK, kyoho_system_set_sources(*ranks, &own));
}

/* Compares the forces on the sources themselves, which a rank has as its own sinks then. */
static void on_sources(kyoho_system *one, kyoho_system *ranks, double softening2, int order) {
    static struct found found[N], expected[N];
    kyoho_forces to = forces_to(expected, order);
    GIVES(KYOHO_OK, kyoho_system_force_all(one, N, softening2, &to));
    to = forces_to(found, order);
    GIVES(KYOHO_OK, kyoho_system_force_all(ranks, n_sources, softening2, &to));
    n_sinks = n_sources;
    memcpy(sinks, sources, sizeof sinks);
    check_found(found, expected, order);
}

/* Compares the forces of a system over ranks with those of a system of one process. */
static void forces(int order, int way) {
    static struct found found[N], expected[N];
    kyoho_system *one = NULL, *ranks = NULL;
    kyoho_sinks all_sinks = sinks_with(all, N, vectors, radii2), own_sinks;
    kyoho_forces to;
    share(way);
    own_sinks = sinks_with(sinks, n_sinks, own_vectors, own_radii2);

    make_both(order, 0, &one, &ranks);
    to = forces_to(expected, order);
    GIVES(KYOHO_OK, kyoho_system_force(one, N, &all_sinks, &to));
    to = forces_to(found, order);
    GIVES(KYOHO_OK, kyoho_system_force(ranks, n_sources, &own_sinks, &to));
    check_found(found, expected, order);
    for (int i = 0; order > 2 && i < n_sinks; i++) {
        int32_t here[N], there[N], of_ranks = -1, of_one = -2;
        GIVES(KYOHO_OK, kyoho_system_neighbours(ranks, i, N, here, &of_ranks));
        GIVES(KYOHO_OK, kyoho_system_neighbours(one, sinks[i].index - 1000, N, there, &of_one));
        CHECK(of_ranks == of_one && !memcmp(here, there, of_one * sizeof *here));
    }
    to = forces_to(found, order);
    GIVES(KYOHO_OK, kyoho_system_start(ranks, n_sources, &own_sinks));
    GIVES(KYOHO_OK, kyoho_system_wait(ranks, &to));
    check_found(found, expected, order);
    lists(ranks, &own_sinks, expected, order);
    on_sources(one, ranks, SOFTENING2, order);
    GIVES(KYOHO_OK, kyoho_system_free(ranks));
    GIVES(KYOHO_OK, kyoho_system_free(one));
}

/* Sources have softenings of their own on all ranks, as sources and as sinks. */
static void softenings(int order, int way) {
    static struct found found[N], expected[N];
    kyoho_system *one = NULL, *ranks = NULL;
    kyoho_sinks all_sinks = sinks_with(all, N, vectors, NULL), own_sinks;
    kyoho_forces to;
    share(way);
    own_sinks = sinks_with(sinks, n_sinks, own_vectors, NULL);
    make_both(order, 1, &one, &ranks);
    to = forces_to(expected, order);
    GIVES(KYOHO_OK, kyoho_system_force(one, N, &all_sinks, &to));
    to = forces_to(found, order);
    GIVES(KYOHO_OK, kyoho_system_force(ranks, n_sources, &own_sinks, &to));
    check_found(found, expected, order);
    on_sources(one, ranks, 0, order);
    GIVES(KYOHO_OK, kyoho_system_free(ranks));
    GIVES(KYOHO_OK, kyoho_system_free(one));
}

enum { MANY_SINKS = 70000 };

/* The forces on so many sinks that ranks exchange some while others are summed, each particle many times. */
static void many_sinks(void) {
    static struct particle on[MANY_SINKS + 1], expected[N];
    kyoho_system *one = NULL, *ranks = NULL;
    kyoho_sources everything = sources_of(all, N), own;
    kyoho_sinks on_own;
    kyoho_forces to;
    int n_wrong = 0, n = MANY_SINKS / size + (rank == 0 ? MANY_SINKS % size : 0);
    share(0);
    memcpy(expected, all, sizeof expected);
    for (int i = 0; i < n; i++) on[i] = all[(i + rank) % N];
    GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_DOUBLE, 0, NULL, 1, &one));
    GIVES(KYOHO_OK, kyoho_system_set_sources(one, &everything));
    on_own = sinks_of(expected, N, SOFTENING2), to = forces_of(expected);
    GIVES(KYOHO_OK, kyoho_system_force(one, N, &on_own, &to));
    own = sources_of(sources, n_sources);
    GIVES(KYOHO_OK, make_over(4, KYOHO_PRECISION_DOUBLE, NULL, 0, &ranks));
    GIVES(KYOHO_OK, kyoho_system_set_sources(ranks, &own));
    on_own = sinks_of(on, n, SOFTENING2), to = forces_of(on);
    GIVES(KYOHO_OK, kyoho_system_force(ranks, n_sources, &on_own, &to));
    for (int i = 0; i < n; i++) {
        const struct particle *other = &expected[(i + rank) % N];
        n_wrong += !close_to(on[i].acc, other->acc, 1e-9) || !close_to(on[i].jerk, other->jerk, 1e-9) ||
                   fabs(on[i].pot - other->pot) > 1e-9 * fabs(other->pot);
    }
    CHECK(n_wrong == 0);
    GIVES(KYOHO_OK, kyoho_system_free(ranks));
    GIVES(KYOHO_OK, kyoho_system_free(one));
}

/* Whatever is wrong on the last rank, all say so, and the next call works. */
static void faults(void) {
    static struct found found[N];
    kyoho_system *ranks = NULL;
    kyoho_sources own;
    kyoho_sinks own_sinks;
    kyoho_forces to = forces_to(found, 4);
    kyoho_lists lists = KYOHO_LISTS_INIT, none = KYOHO_LISTS_INIT;
    kyoho_batch batch = KYOHO_BATCH_INIT;
    kyoho_sinks no_sinks = sinks_of(sinks, 0, SOFTENING2);
    int is_last = rank == size - 1;
    char name[32];
    snprintf(name, sizeof name, "rank %d: ", size - 1);
    share(0);
    own = sources_of(sources, n_sources);
    own_sinks = sinks_with(sinks, n_sinks, own_vectors, own_radii2);

    GIVES(KYOHO_BAD_OPTION, make_over(4, KYOHO_PRECISION_DOUBLE, is_last ? "no device" : NULL, 0, &ranks));
    CHECK(strstr(kyoho_last_error(), name) && !ranks);
    GIVES(KYOHO_NULL_ARGUMENT, make_over(4, KYOHO_PRECISION_DOUBLE, NULL, 0, is_last ? NULL : &ranks));
    CHECK(strstr(kyoho_last_error(), name) && !ranks);
    if (size > 1) {
        GIVES(KYOHO_BAD_OPTION, make_over(is_last ? 6 : 4, KYOHO_PRECISION_DOUBLE, NULL, 0, &ranks));
        CHECK(strstr(kyoho_last_error(), "the order of the system is '6'; allowed: '4'"));
    }
    GIVES(KYOHO_OK, make_over(4, KYOHO_PRECISION_DOUBLE, NULL, 0, &ranks));
    GIVES(KYOHO_OK, kyoho_system_set_sources(ranks, &own));
    if (size > 1) {
        if (is_last) own.softening2_each = own.masses;
        GIVES(KYOHO_OK, kyoho_system_set_sources(ranks, &own));
        SAYS(KYOHO_BAD_OPTION, "the squared softening of sources is 'given'; allowed: 'not given', as on rank 0", ranks,
             kyoho_system_force(ranks, n_sources, &own_sinks, &to));
        own.softening2_each.data = NULL;
        GIVES(KYOHO_OK, kyoho_system_set_sources(ranks, &own));
    }
    if (is_last) own_sinks.softening2 = -1;
    SAYS(KYOHO_OUT_OF_RANGE, name, ranks, kyoho_system_force(ranks, n_sources, &own_sinks, &to));
    own_sinks.softening2 = SOFTENING2;
    SAYS(KYOHO_NULL_ARGUMENT, name, ranks, kyoho_system_force(ranks, n_sources, is_last ? NULL : &own_sinks, &to));
    SAYS(KYOHO_NULL_ARGUMENT, name, ranks, kyoho_system_force(ranks, n_sources, &own_sinks, is_last ? NULL : &to));
    SAYS(KYOHO_BAD_COUNT, name, ranks, kyoho_system_force_all(ranks, is_last ? -1 : 0, SOFTENING2, &to));
    GIVES(KYOHO_OK, kyoho_system_start(ranks, n_sources, &own_sinks));
    SAYS(KYOHO_NULL_ARGUMENT, name, ranks, kyoho_system_wait(ranks, is_last ? NULL : &to));
    SAYS(KYOHO_CALL_ORDER, "rank 0: ", ranks, kyoho_system_wait(ranks, &to));
    for (int i = 0; i < n_sinks; i++) CHECK(found[i].pot == 0);
    lists.reserved = is_last;
    SAYS(KYOHO_BAD_OPTION, name, ranks, kyoho_system_force_lists(ranks, &lists, &no_sinks, &to));
    lists.reserved = 0, lists.group_count = is_last;
    lists.sources = is_last ? &own : NULL;
    SAYS(KYOHO_BAD_OPTION, "kyoho_lists.sources", ranks, kyoho_system_start_lists(ranks, &lists, &no_sinks));
    SAYS(KYOHO_NULL_ARGUMENT, name, ranks, kyoho_system_force_lists(ranks, is_last ? NULL : &none, &no_sinks, &to));
    SAYS(KYOHO_UNSUPPORTED, "batches over ranks", ranks, kyoho_system_force_batch(ranks, &batch, &own, &to));
    if (size > 1) {
        GIVES(KYOHO_OK, kyoho_system_set_time(ranks, is_last ? 0.5 : 0.25));
        SAYS(KYOHO_BAD_OPTION, "the time is '0.5'; allowed: '0.25', as on rank 0", ranks,
             kyoho_system_force(ranks, n_sources, &own_sinks, &to));
    }
    GIVES(KYOHO_OK, kyoho_system_set_time(ranks, 0));
    GIVES(KYOHO_OK, kyoho_system_force(ranks, n_sources, &own_sinks, &to));
    GIVES(KYOHO_OK, kyoho_system_free(ranks));
}

/* How bodies lie that a tree sums. */
enum model { DENSE_WITHIN, CLUSTERS, POINT };

static void place(struct particle *body, enum model model) {
    double r2 = 0.01;
    for (int k = 0; k < 3; k++) r2 += body->x[k] * body->x[k];
    for (int k = 0; k < 3; k++) body->x[k] *= model == DENSE_WITHIN ? 1 / r2 : model != POINT;
    if (model == CLUSTERS && body->index % 2) body->x[0] += 1e4;
}

enum { MANY = 4200 };

/* Counts the bodies whose forces are not those expected, of which a rank has some, with indices from the first on. */
static int count_wrong(const struct particle *found, int n, const struct particle *expected, int n_expected) {
    int n_wrong = 0;
    for (int i = 0; i < n; i++) {
        int at = n_expected ? found[i].index - expected[0].index : -1;
        if (at < 0 || at >= n_expected) continue;
        n_wrong += !close_to(found[i].acc, expected[at].acc, 5e-3) ||
                   fabs(found[i].pot - expected[at].pot) > 5e-3 * fabs(expected[at].pot);
    }
    return n_wrong;
}

/* Whether the sources and sinks of this rank, the sinks of an own choice, get forces by a tree of all ranks' sources
   that are as accurate as was asked for. */
static void trees(enum model model, int way) {
    static struct particle bodies[MANY], own[MANY], on[MANY], expected[MANY];
    kyoho_system *one = NULL, *ranks = NULL;
    kyoho_sources sources;
    kyoho_sinks on_all, on_own;
    kyoho_forces to;
    int n_own = 0, n_on = 0;
    make_particles(bodies, MANY, 9);
    for (int i = 0; i < MANY; i++) {
        place(&bodies[i], model);
        if (is_own(i, way)) own[n_own++] = bodies[i];
        if (i * size / MANY == size - 1 - rank) on[n_on++] = bodies[i];
    }
    GIVES(KYOHO_OK, create_on(2, KYOHO_PRECISION_DOUBLE, 0, NULL, 1, &one));
    sources = sources_of(bodies, MANY);
    sources.velocities.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_set_sources(one, &sources));
    memcpy(expected, on, sizeof on);
    on_all = sinks_of(expected, n_on, SOFTENING2);
    to = forces_of(expected), to.jerks.data = NULL, on_all.velocities.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_force(one, MANY, &on_all, &to));

    GIVES(KYOHO_OK, make_over(2, KYOHO_PRECISION_DOUBLE, NULL, 1e-3, &ranks));
    sources = sources_of(own, n_own);
    sources.velocities.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_set_sources(ranks, &sources));
    on_own = sinks_of(on, n_on, SOFTENING2);
    to = forces_of(on), to.jerks.data = NULL, on_own.velocities.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_force(ranks, n_own, &on_own, &to));
    CHECK(count_wrong(on, n_on, expected, n_on) <= n_on / 50);
    CHECK(model == POINT || memcmp(on, expected, sizeof on)); /* they are no direct sums */
    to = forces_of(own), to.jerks.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_start_all(ranks, n_own, SOFTENING2));
    own[0].mass = 7; /* these are copies */
    GIVES(KYOHO_OK, kyoho_system_set_sources(ranks, &sources));
    GIVES(KYOHO_OK, kyoho_system_wait(ranks, &to));
    CHECK(count_wrong(own, n_own, expected, n_on) <= n_on / 50);
    GIVES(KYOHO_OK, kyoho_system_free(ranks));
    GIVES(KYOHO_OK, kyoho_system_free(one));
}

/* All ranks have to ask for the same tree. Each model is shared out in a way of its own. Beside GPUs forces of so few
   bodies are direct sums. */
static void all_trees(void) {
    const char *backend = getenv("KYOHO_BACKEND");
    kyoho_system *ranks = NULL;
    if (size > 1) {
        GIVES(KYOHO_BAD_OPTION, make_over(2, KYOHO_PRECISION_DOUBLE, NULL, rank ? 1e-2 : 1e-3, &ranks));
        CHECK(strstr(kyoho_last_error(), "rank 1: the tree is 'accuracy 0.01'; allowed: 'accuracy 0.001'"));
    }
    if (backend && strcmp(backend, "cpu")) return;
    trees(DENSE_WITHIN, 0);
    trees(POINT, 1);
    trees(CLUSTERS, 3);
}

static kyoho_integrator *integrator_of(int order, int over) {
    kyoho_communicator communicator = all_ranks();
    kyoho_options options = options_of(order, KYOHO_PRECISION_DOUBLE, 0, NULL, 1);
    kyoho_integrator_options given = KYOHO_INTEGRATOR_OPTIONS_INIT;
    kyoho_bodies bodies = KYOHO_BODIES_INIT;
    kyoho_integrator *integrator = NULL;
    int64_t identifiers[N];
    options.communicator = over ? &communicator : NULL;
    given.softening = 0.1, given.dt_max = 1.0 / 64;
    GIVES(KYOHO_OK, kyoho_integrator_create(&options, &given, &integrator));
    for (int i = 0; i < N; i++) identifiers[i] = i;
    bodies.count = N, bodies.identifiers.data = identifiers;
    bodies.masses.data = &all[0].mass, bodies.positions.data = all[0].x, bodies.velocities.data = all[0].v;
    bodies.masses.stride = bodies.positions.stride = bodies.velocities.stride = sizeof all[0];
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    return integrator;
}

static int32_t ends_on_last(void *context, double time, uint64_t block_steps) {
    (void)context, (void)time;
    return rank == size - 1 && block_steps == 2;
}

/* What all ranks find, which have to have the same bits, is what one process finds. */
static void integrators(int order) {
    static double found[2][3 * N], accelerations[2][3 * N], first[3 * N];
    double energies[2][2];
    kyoho_evolution evolutions[2] = {KYOHO_EVOLUTION_INIT, KYOHO_EVOLUTION_INIT};
    kyoho_evolve_options limits = KYOHO_EVOLVE_OPTIONS_INIT;
    kyoho_integrator *made[2] = {integrator_of(order, 1), integrator_of(order, 0)};
    char name[32];
    for (int one = 0; one < 2; one++) {
        kyoho_body_states states = KYOHO_BODY_STATES_INIT;
        states.count = N, states.positions.data = found[one], states.accelerations.data = accelerations[one];
        GIVES(KYOHO_OK, kyoho_integrator_evolve(made[one], 1.0 / 64, NULL, &evolutions[one]));
        GIVES(KYOHO_OK, kyoho_integrator_get_bodies(made[one], &states));
        GIVES(KYOHO_OK, kyoho_integrator_energies(made[one], &energies[one][0], &energies[one][1]));
    }
    if ((size & (size - 1)) == 0 && size <= 8) {
        CHECK(!memcmp(found[0], found[1], sizeof found[0]) && !memcmp(energies[0], energies[1], sizeof energies[0]));
        CHECK(!memcmp(accelerations[0], accelerations[1], sizeof accelerations[0]));
        CHECK(evolutions[0].block_steps == evolutions[1].block_steps);
    }
    memcpy(first, found[0], sizeof first);
    CHECK(MPI_Bcast(first, 3 * N, MPI_DOUBLE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(!memcmp(first, found[0], sizeof first));
    for (int i = 0; i < 3 * N; i++) CHECK(fabs(found[0][i] - found[1][i]) <= 1e-12);

    snprintf(name, sizeof name, "rank %d: ", size - 1);
    limits.reserved = rank == size - 1;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_evolve(made[0], 1, &limits, NULL));
    CHECK(size == 1 || strstr(kyoho_integrator_last_error(made[0]), name));
    limits.reserved = 0;
    limits.progress = rank == size - 1 ? ends_on_last : NULL;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(made[0], 1, &limits, &evolutions[0]));
    CHECK(evolutions[0].end == KYOHO_EVOLUTION_END_CALLER);
    for (int one = 0; one < 2; one++) GIVES(KYOHO_OK, kyoho_integrator_free(made[one]));
}

int main(int argc, char **argv) {
    uint64_t seed = 5;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) vectors[i][k] = draw(&seed);
        radii2[i] = i % 3 ? 0.02 : 0;
    }
    make_particles(all, N, 3);
    for (int order = 2; order <= 8; order += 2) forces(order, order / 2 - 1);
    for (int i = 0; i < N; i += 2) all[i].x[0] += 1e4; /* two clusters far apart */
    forces(4, 0);
    for (int i = 0; i < N; i++) memset(all[i].x, 0, sizeof all[i].x); /* all in one point */
    forces(4, 2);
    make_particles(all, N, 3);
    for (int way = 0; way < 4; way++) softenings(4, way);
#ifndef UNDER_VALGRIND
    many_sinks();
#endif
    if (size > 1) faults(); /* one rank is as without a communicator */
    all_trees();
    for (int order = 2; order <= 8; order += 2) integrators(order);
    MPI_Finalize();
    return failures != 0;
}
