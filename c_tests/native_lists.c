/* Forces on groups of sinks, each with its own sources, and on batches of small systems: the forms
   of lists, where their arrays may lie, what counts, and on what the bits of a force depend. */
#include "native_check.h"

enum { N = 900, GROUPS = 7, SINKS = 420 };
static const double softening2 = 1e-3;
static struct particle p[N];

/* A group without sources, one without sinks, one of a single sink, one of more sinks and one of
   more sources than are computed together, and one that knows nothing but itself. */
static const int32_t sink_offsets[GROUPS + 1] = {0, 3, 3, 4, 41, 358, 374, SINKS};
static const int32_t first_addresses[GROUPS] = {17, 0, 500, 20, 256, 370, 0};
static const int32_t source_counts[GROUPS] = {0, 100, 1, 300, 9, 1, N};

/* The ranges as lists of their addresses. */
static int64_t source_offsets[GROUPS + 1];
static int32_t addresses[GROUPS * N];

static kyoho_const_integers integers(const int32_t *data) {
    kyoho_const_integers array = {data, 0};
    return array;
}

static kyoho_const_long_integers long_integers(const int64_t *data) {
    kyoho_const_long_integers array = {data, 0};
    return array;
}

static kyoho_lists groups_of(int32_t groups, const int32_t *first_sinks) {
    kyoho_lists lists = KYOHO_LISTS_INIT;
    lists.group_count = groups;
    lists.sink_offsets = integers(first_sinks);
    return lists;
}

static kyoho_lists ranges(void) {
    kyoho_lists lists = groups_of(GROUPS, sink_offsets);
    lists.first_addresses = integers(first_addresses);
    lists.source_counts = integers(source_counts);
    return lists;
}

static kyoho_lists listed(void) {
    kyoho_lists lists = groups_of(GROUPS, sink_offsets);
    lists.source_offsets = long_integers(source_offsets);
    lists.addresses = integers(addresses);
    return lists;
}

/* The particles of all lists, one after another. */
static kyoho_sources copies(struct particle *all) {
    for (int i = 0; i < source_offsets[GROUPS]; i++) all[i] = p[addresses[i]];
    return sources_of(all, (int)source_offsets[GROUPS]);
}

static kyoho_lists own(const kyoho_sources *sources) {
    kyoho_lists lists = groups_of(GROUPS, sink_offsets);
    lists.source_offsets = long_integers(source_offsets);
    lists.sources = sources;
    return lists;
}

static kyoho_system *filled(int order, int precision) {
    kyoho_system *system = create(order, precision);
    kyoho_sources sources = sources_of(p, N);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    return system;
}

/* Computes the slow sum over the sources of a list. */
static void sum_list(const int32_t *list, int64_t n, double squared_softening, struct particle *on) {
    struct particle *sources = malloc((n + 1) * sizeof *sources);
    if (!sources) abort();
    for (int64_t i = 0; i < n; i++) sources[i] = p[list[i]];
    sum_force(sources, (int)n, squared_softening, on);
    free(sources);
}

static void check_one(const struct particle *found, const struct particle *expected, int order, double part) {
    CHECK(close_to(found->acc, expected->acc, part));
    CHECK(order == 2 || close_to(found->jerk, expected->jerk, 10 * part));
    CHECK(fabs(found->pot - expected->pot) <= part * fabs(expected->pot));
}

/* Checks the forces of all groups. */
static void check_groups(const struct particle *sinks, int order, double part) {
    for (int g = 0; g < GROUPS; g++)
        for (int i = sink_offsets[g]; i < sink_offsets[g + 1]; i++) {
            struct particle expected = sinks[i];
            const int32_t *list = addresses + source_offsets[g];
            sum_list(list, source_offsets[g + 1] - source_offsets[g], softening2, &expected);
            check_one(&sinks[i], &expected, order, part);
        }
}

static int same_forces(const struct particle *a, const struct particle *b, int n) {
    int same = 1;
    for (int i = 0; i < n; i++)
        same &= memcmp(a[i].acc, b[i].acc, sizeof a->acc) == 0 &&
                memcmp(a[i].jerk, b[i].jerk, sizeof a->jerk) == 0 && a[i].pot == b[i].pot;
    return same;
}

/* On the sinks of a group act the sources of its list alone, in whichever form it is given. */
static void a_group_feels_its_own_list(int order, int precision, double part) {
    static struct particle sinks[SINKS], all[GROUPS * N];
    kyoho_system *system = filled(order, precision);
    kyoho_sources sources = copies(all);
    const kyoho_lists forms[3] = {ranges(), listed(), own(&sources)};
    for (int form = 0; form < 3; form++) {
        memcpy(sinks, p, sizeof sinks);
        for (int i = 0; i < SINKS; i++) sinks[i].acc[0] = sinks[i].pot = 7;
        kyoho_sinks on = sinks_of(sinks, SINKS, softening2);
        kyoho_forces forces = forces_of(sinks);
        if (order == 2) on.velocities.data = NULL, forces.jerks.data = NULL;
        GIVES(KYOHO_OK, kyoho_system_force_lists(system, &forms[form], &on, &forces));
        check_groups(sinks, order, part);
        /* Without sources the forces are zero, also where the only source is the sink itself. */
        CHECK(sinks[0].acc[0] == 0 && sinks[0].pot == 0 && sinks[370].pot == 0 && sinks[371].pot != 0);
    }

    /* All pairs of the groups are counted, and no source of a call is kept. */
    kyoho_statistics statistics = KYOHO_STATISTICS_INIT;
    uint64_t pairs = 0;
    for (int g = 0; g < GROUPS; g++) pairs += (uint64_t)(sink_offsets[g + 1] - sink_offsets[g]) * source_counts[g];
    GIVES(KYOHO_OK, kyoho_system_statistics(system, &statistics));
    CHECK(statistics.blocks == 3 && statistics.sinks == 3 * SINKS && statistics.interactions == 3 * pairs);
    CHECK(statistics.sources == N && statistics.writes == N);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Lists in any order, of sources that other lists have too. One that is twice in a list acts
   twice, and one that was never written does not act. */
static void lists_have_any_addresses(void) {
    static const int32_t list[] = {4, 2 * (N - 1), 10, 4, 9, 11, 4, 10, 12};
    static const int32_t first_sinks[] = {0, 2, 3};
    static const int64_t first_places[] = {0, 5, 9};
    int32_t places[N];
    struct particle sinks[3], expected[3];
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, N);
    for (int i = 0; i < N; i++) places[i] = 2 * i;
    sources.addresses = integers(places);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    memcpy(sinks, p + 20, sizeof sinks);
    memcpy(expected, sinks, sizeof expected);
    kyoho_lists lists = groups_of(2, first_sinks);
    lists.source_offsets = long_integers(first_places);
    lists.addresses = integers(list);
    kyoho_sinks on = sinks_of(sinks, 3, softening2);
    kyoho_forces forces = forces_of(sinks);
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
    sum_list((int32_t[]){2, N - 1, 5, 2}, 4, softening2, &expected[0]);
    sum_list((int32_t[]){2, N - 1, 5, 2}, 4, softening2, &expected[1]);
    sum_list((int32_t[]){2, 5, 6}, 3, softening2, &expected[2]);
    for (int i = 0; i < 3; i++) check_one(&sinks[i], &expected[i], 4, 1e-13);

    /* Ranges have gaps too. */
    lists = groups_of(2, first_sinks);
    lists.first_addresses = integers((int32_t[]){9, 0});
    lists.source_counts = integers((int32_t[]){4, 1});
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
    sum_list((int32_t[]){5, 6}, 2, softening2, &expected[1]);
    sum_list((int32_t[]){0}, 1, softening2, &expected[2]);
    for (int i = 1; i < 3; i++) check_one(&sinks[i], &expected[i], 4, 1e-13);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Returns a copy of integers that are this many bytes apart and begin at an odd address; with a
   negative stride they run backwards. */
static const char *apart(char *to, const void *from, size_t size, int n, int64_t stride) {
    char *first = to + 1 + (stride < 0 ? -stride * (n - 1) : 0);
    for (int i = 0; i < n; i++) memcpy(first + stride * i, (const char *)from + size * i, size);
    return first;
}

static kyoho_const_integers integers_apart(char *to, const int32_t *from, int n, int64_t stride) {
    kyoho_const_integers array = {(const int32_t *)apart(to, from, sizeof *from, n, stride), stride};
    return array;
}

static kyoho_const_long_integers long_integers_apart(char *to, const int64_t *from, int n, int64_t stride) {
    kyoho_const_long_integers array = {(const int64_t *)apart(to, from, sizeof *from, n, stride), stride};
    return array;
}

/* All arrays may be parts of the caller's structures, at any alignment, and run backwards. */
static void arrays_may_lie_anywhere(void) {
    enum { ROOM = 16 * GROUPS * N };
    static struct particle sinks[SINKS], expected[SINKS], all[GROUPS * N];
    static char a[ROOM], b[ROOM], c[ROOM], d[ROOM];
    kyoho_system *system = filled(4, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = copies(all);
    memcpy(expected, p, sizeof expected);
    memcpy(sinks, p, sizeof sinks);
    kyoho_sinks on = sinks_of(sinks, SINKS, softening2);
    kyoho_forces forces = forces_of(expected);
    for (int form = 0; form < 3; form++) {
        kyoho_lists lists = form == 0 ? ranges() : form == 1 ? listed() : own(&sources);
        int count = (int)source_offsets[GROUPS];
        forces = forces_of(expected);
        GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
        forces = forces_of(sinks);
        for (int backwards = 0; backwards < 2; backwards++) {
            int sign = backwards ? -1 : 1;
            lists.sink_offsets = integers_apart(a, sink_offsets, GROUPS + 1, sign * 13);
            if (form == 0) {
                lists.first_addresses = integers_apart(b, first_addresses, GROUPS, sign * 7);
                lists.source_counts = integers_apart(c, source_counts, GROUPS, sign * 5);
            } else {
                lists.source_offsets = long_integers_apart(b, source_offsets, GROUPS + 1, sign * 11);
            }
            if (form == 1) lists.addresses = integers_apart(c, addresses, count, sign * 9);
            GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
            CHECK(same_forces(sinks, expected, SINKS));
        }
    }

    /* Sources of a call, backwards and not aligned; results in the place of what was given. */
    int count = (int)source_offsets[GROUPS];
    kyoho_lists lists = own(&sources);
    static double mass[GROUPS * N];
    for (int i = 0; i < count; i++) mass[i] = all[i].mass;
    apart(d, mass, sizeof *mass, count, 15);
    sources.masses.data = (const double *)(d + 1), sources.masses.stride = 15;
    struct particle *last = all + count - 1, swap;
    for (int i = 0; i < count / 2; i++) swap = all[i], all[i] = last[-i], last[-i] = swap;
    const int64_t back = -(int64_t)sizeof *all;
    sources.indices.data = &last->index, sources.indices.stride = back;
    sources.positions.data = last->x, sources.positions.stride = back;
    sources.velocities.data = last->v, sources.velocities.stride = back;
    forces.accelerations.data = sinks[0].x;
    forces.jerks.data = sinks[0].x;
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
    for (int i = 0; i < SINKS; i++) CHECK(memcmp(sinks[i].x, expected[i].jerk, sizeof sinks[i].x) == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Sinks leave out the sources with their index, or none; softening may be each sink's own. */
static void exclusion_and_softening_are_those_of_blocks(void) {
    struct particle sinks[8];
    double each[8];
    static const int32_t first_sinks[] = {0, 5, 8};
    kyoho_system *system = filled(4, KYOHO_PRECISION_DOUBLE);
    memcpy(sinks, p + 30, sizeof sinks);
    for (int i = 0; i < 8; i++) each[i] = 0.01 * (i + 1);
    kyoho_lists lists = groups_of(2, first_sinks);
    lists.first_addresses = integers((int32_t[]){0, 30});
    lists.source_counts = integers((int32_t[]){60, 10});
    kyoho_sinks on = sinks_of(sinks, 8, NAN);
    kyoho_forces forces = forces_of(sinks);
    on.softening2_each.data = each;
    for (int excludes = 0; excludes < 2; excludes++) {
        if (excludes) on.exclusion = KYOHO_EXCLUDE_BY_INDEX, on.indices.data = &sinks[0].index;
        else on.exclusion = KYOHO_EXCLUDE_NOTHING, on.indices.data = NULL;
        GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
        for (int i = 0; i < 8; i++) {
            struct particle expected = sinks[i];
            if (!excludes) expected.index = -1;
            sum_force(i < 5 ? p : p + 30, i < 5 ? 60 : 10, each[i], &expected);
            check_one(&sinks[i], &expected, 4, 1e-13);
        }
    }

    /* Without indices, sources of the call have their numbers for them. */
    kyoho_sources sources = sources_of(p + 30, 10);
    sources.indices.data = NULL;
    lists = groups_of(1, (int32_t[]){0, 2});
    lists.source_offsets = long_integers((int64_t[]){0, 10});
    lists.sources = &sources;
    on.count = 2;
    sinks[0].index = 0, sinks[1].index = 1;
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
    for (int i = 0; i < 2; i++) {
        struct particle expected = p[30 + i];
        sum_force(p + 30, 10, each[i], &expected);
        check_one(&sinks[i], &expected, 4, 1e-13);
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Sources move to the system's time, those of the system and those of a call. */
static void sources_are_predicted(void) {
    enum { BODIES = 40 };
    static const double now = 0.5;
    struct particle moved[BODIES], sinks[BODIES];
    double acc[BODIES][3], jerk[BODIES][3], times[BODIES];
    uint64_t seed = 5;
    for (int i = 0; i < BODIES; i++) {
        moved[i] = p[i];
        times[i] = now - 0.2 + 0.2 * draw(&seed);
        for (int k = 0; k < 3; k++) {
            double dt = now - times[i];
            acc[i][k] = draw(&seed), jerk[i][k] = draw(&seed);
            moved[i].x[k] += dt * (p[i].v[k] + dt / 2 * (acc[i][k] + dt / 3 * jerk[i][k]));
            moved[i].v[k] += dt * (acc[i][k] + dt / 2 * jerk[i][k]);
        }
    }
    kyoho_sources sources = sources_of(p, BODIES);
    sources.times.data = times;
    sources.accelerations.data = acc[0];
    sources.jerks.data = jerk[0];
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_set_time(system, now));
    kyoho_lists of_system = groups_of(2, (int32_t[]){0, 15, BODIES}), of_call = of_system;
    of_system.first_addresses = integers((int32_t[]){0, 15});
    of_system.source_counts = integers((int32_t[]){15, 25});
    of_call.source_offsets = long_integers((int64_t[]){0, 15, BODIES});
    of_call.sources = &sources;
    kyoho_batch batch = KYOHO_BATCH_INIT;
    batch.system_count = 2;
    batch.offsets = of_call.sink_offsets;
    batch.softening2 = softening2;
    for (int form = 0; form < 3; form++) {
        memcpy(sinks, moved, sizeof sinks);
        kyoho_sinks on = sinks_of(sinks, BODIES, softening2);
        kyoho_forces forces = forces_of(sinks);
        if (form == 2) GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &sources, &forces));
        else GIVES(KYOHO_OK, kyoho_system_force_lists(system, form ? &of_call : &of_system, &on, &forces));
        for (int i = 0; i < BODIES; i++) {
            struct particle expected = moved[i];
            sum_force(i < 15 ? moved : moved + 15, i < 15 ? 15 : 25, softening2, &expected);
            check_one(&sinks[i], &expected, 4, 1e-12);
        }
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Between start and wait the caller may change everything. The forces are those of the start. */
static void start_and_wait_give_what_force_gives(void) {
    static struct particle sinks[SINKS], expected[SINKS], all[GROUPS * N];
    static int32_t first[GROUPS], count[GROUPS], list[GROUPS * N], offsets[GROUPS + 1];
    static int64_t places[GROUPS + 1];
    kyoho_system *system = filled(4, KYOHO_PRECISION_DOUBLE);
    memcpy(expected, p, sizeof expected);
    for (int form = 0; form < 3; form++) {
        kyoho_sources sources = copies(all);
        kyoho_lists lists = form == 0 ? ranges() : form == 1 ? listed() : own(&sources);
        memcpy(sinks, p, sizeof sinks);
        kyoho_sinks on = sinks_of(sinks, SINKS, softening2);
        kyoho_forces forces = forces_of(expected);
        GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));

        memcpy(offsets, sink_offsets, sizeof offsets);
        memcpy(first, first_addresses, sizeof first);
        memcpy(count, source_counts, sizeof count);
        memcpy(places, source_offsets, sizeof places);
        memcpy(list, addresses, sizeof list);
        lists.sink_offsets = integers(offsets);
        if (form == 0) lists.first_addresses = integers(first), lists.source_counts = integers(count);
        else lists.source_offsets = long_integers(places);
        if (form == 1) lists.addresses = integers(list);
        GIVES(KYOHO_OK, kyoho_system_start_lists(system, &lists, &on));
        memset(offsets, 1, sizeof offsets);
        memset(first, 1, sizeof first);
        memset(count, 1, sizeof count);
        memset(places, 1, sizeof places);
        memset(list, 1, sizeof list);
        memset(all, 1, sizeof all);
        for (int i = 0; i < SINKS; i++) sinks[i].x[0] = 9;
        kyoho_sources moved = sources_of(sinks, SINKS);
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &moved));
        forces = forces_of(sinks);
        GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
        CHECK(same_forces(sinks, expected, SINKS));
        sources = sources_of(p, N);
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* One call after another: blocks, lists and batches wait by one function, and for one another. */
static void order_of_calls(void) {
    struct particle sinks[SINKS];
    int32_t list[N], found = 0;
    double radii2[SINKS];
    kyoho_system *system = filled(4, KYOHO_PRECISION_DOUBLE);
    const kyoho_lists lists = ranges();
    const kyoho_sources bodies = sources_of(p, 10);
    kyoho_batch batch = KYOHO_BATCH_INIT;
    batch.system_count = 1;
    batch.offsets = integers((int32_t[]){0, 10});
    batch.softening2 = softening2;
    memcpy(sinks, p, sizeof sinks);
    for (int i = 0; i < SINKS; i++) radii2[i] = 100;
    kyoho_sinks on = sinks_of(sinks, SINKS, softening2), with_lists = on;
    with_lists.radii2.data = radii2;
    kyoho_forces forces = forces_of(sinks), wrong = forces;
    wrong.jerks.stride = 16;
    SAYS(KYOHO_CALL_ORDER, "without start", system, kyoho_system_wait(system, &forces));
    for (int what = 0; what < 3; what++) {
        GIVES(KYOHO_OK, what == 0 ? kyoho_system_start_lists(system, &lists, &on)
              : what == 1 ? kyoho_system_start_batch(system, &batch, &bodies)
                          : kyoho_system_start(system, N, &on));
        SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_start_lists(system, &lists, &on));
        SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_force_lists(system, &lists, &on, &forces));
        SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_start_batch(system, &batch, &bodies));
        SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_force_batch(system, &batch, &bodies, &forces));
        SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_start(system, N, &on));
        GIVES(KYOHO_CALL_ORDER, kyoho_system_neighbours(system, 0, N, list, &found));
        /* After an error in what is given to wait, the forces are still under way. */
        GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_wait(system, NULL));
        GIVES(KYOHO_BAD_OPTION, kyoho_system_wait(system, &wrong));
        sinks[10].acc[0] = sinks[SINKS - 1].acc[0] = 7;
        GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
        /* A batch has a row for each of its bodies, and no more. */
        CHECK((sinks[10].acc[0] == 7) == (what == 1) && (sinks[SINKS - 1].acc[0] == 7) == (what == 1));
        GIVES(KYOHO_CALL_ORDER, kyoho_system_wait(system, &forces));
        if (what < 2)
            SAYS(KYOHO_CALL_ORDER, "after those of a block", system,
                 kyoho_system_neighbours(system, 0, N, list, &found));
    }

    /* Lists do not stay for the next block, and a block may have neighbours again. */
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &with_lists, &forces));
    struct particle expected = sinks[1];
    sum_force(p, N, softening2, &expected);
    check_one(&sinks[1], &expected, 4, 1e-13);
    GIVES(KYOHO_OK, kyoho_system_neighbours(system, 1, N, list, &found));
    CHECK(found == N - 1);

    /* A system may move, and be freed while forces are under way. */
    GIVES(KYOHO_OK, kyoho_system_start_lists(system, &lists, &on));
    SAYS(KYOHO_CALL_ORDER, "under way", system, move_to(system, 0, NULL, 0));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
    GIVES(KYOHO_OK, move_to(system, 0, NULL, 0));
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
    check_groups(sinks, 4, 1e-13);
    GIVES(KYOHO_OK, kyoho_system_start_batch(system, &batch, &bodies));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* The nearest source is that of the list. */
static void nearest_sources_are_those_of_the_list(void) {
    static struct particle sinks[SINKS], all[GROUPS * N];
    static int32_t nearest[SINKS];
    static double nearest2[SINKS];
    kyoho_system *system = filled(4, KYOHO_PRECISION_MIXED);
    kyoho_sources sources = copies(all);
    const kyoho_lists forms[3] = {ranges(), listed(), own(&sources)};
    memcpy(sinks, p, sizeof sinks);
    kyoho_sinks on = sinks_of(sinks, SINKS, softening2);
    kyoho_forces forces = KYOHO_FORCES_INIT;
    forces.nearest.data = nearest;
    forces.nearest_distance2.data = nearest2;
    for (int form = 0; form < 3; form++) {
        memset(nearest, 0, sizeof nearest);
        GIVES(KYOHO_OK, kyoho_system_force_lists(system, &forms[form], &on, &forces));
        for (int g = 0; g < GROUPS; g++)
            for (int i = sink_offsets[g]; i < sink_offsets[g + 1]; i++) {
                int32_t expected = -1;
                double expected2 = INFINITY;
                for (int64_t k = source_offsets[g]; k < source_offsets[g + 1]; k++) {
                    const struct particle *j = &p[addresses[k]];
                    double r = distance(sinks[i].x, j->x);
                    if (j->index != sinks[i].index && r * r < expected2) expected = j->index, expected2 = r * r;
                }
                CHECK(nearest[i] == expected);
                CHECK(expected < 0 ? nearest2[i] == INFINITY : fabs(nearest2[i] - expected2) < 1e-5 * expected2);
            }
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* The bits of a group's forces depend neither on the other groups of the call, nor on threads and
   devices, nor on a call before. */
static void a_group_alone_has_the_bits_that_it_has_in_company(int precision) {
    static struct particle together[SINKS], alone[SINKS], all[GROUPS * N];
    const char *devices[3] = {NULL, "0,0", "0,0,0"};
    const int threads[3] = {1, 2, 3};
    kyoho_sources sources = copies(all);
    memcpy(together, p, sizeof together);
    kyoho_sinks on = sinks_of(together, SINKS, softening2);
    kyoho_forces forces = forces_of(together);
    for (int form = 0; form < 3; form++)
        for (int way = 0; way < 3; way++) {
            kyoho_lists lists = form == 0 ? ranges() : form == 1 ? listed() : own(&sources);
            kyoho_system *system = NULL;
            kyoho_sources kept = sources_of(p, N);
            GIVES(KYOHO_OK, create_on(4, precision, KYOHO_BACKEND_CPU, devices[way], threads[way], &system));
            GIVES(KYOHO_OK, kyoho_system_set_sources(system, &kept));
            if (way == 0) GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &forces));
            memcpy(alone, p, sizeof alone);
            for (int g = GROUPS - 1; g >= 0; g--) {
                int32_t first_sinks[2] = {0, sink_offsets[g + 1] - sink_offsets[g]};
                int64_t places[2] = {0, source_counts[g]};
                kyoho_lists one = groups_of(1, first_sinks);
                kyoho_sources ones = sources_of(all + source_offsets[g], source_counts[g]);
                if (form == 0) {
                    one.first_addresses = integers(&first_addresses[g]);
                    one.source_counts = integers(&source_counts[g]);
                } else {
                    one.source_offsets = long_integers(places);
                }
                if (form == 1) one.addresses = integers(addresses + source_offsets[g]);
                if (form == 2) one.sources = &ones;
                kyoho_sinks ones_sinks = sinks_of(alone + sink_offsets[g], first_sinks[1], softening2);
                kyoho_forces ones_forces = forces_of(alone + sink_offsets[g]);
                GIVES(KYOHO_OK, kyoho_system_force_lists(system, &one, &ones_sinks, &ones_forces));
            }
            CHECK(same_forces(together, alone, SINKS));
            memset(alone, 0, sizeof alone);
            kyoho_forces again = forces_of(alone);
            GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &on, &again));
            CHECK(same_forces(together, alone, SINKS));
            GIVES(KYOHO_OK, kyoho_system_free(system));
        }
}

/* Systems of 1 to 640 bodies in one call; each feels itself alone. */
enum { SYSTEMS = 8, BODIES = 800 };
static const int32_t of_batch[SYSTEMS + 1] = {0, 1, 3, 3, 6, 56, 150, 790, BODIES};

static kyoho_batch batch_of(double common) {
    kyoho_batch batch = KYOHO_BATCH_INIT;
    batch.system_count = SYSTEMS;
    batch.offsets = integers(of_batch);
    batch.softening2 = common;
    return batch;
}

static void bodies_of_a_batch_feel_their_own_system(int order, int precision, double part) {
    static struct particle bodies[BODIES], alone[BODIES];
    static double each[BODIES];
    static int32_t nearest[BODIES];
    kyoho_system *system = create(order, precision);
    memcpy(bodies, p, sizeof bodies);
    /* Indices name a body within its system. */
    for (int s = 0; s < SYSTEMS; s++)
        for (int i = of_batch[s]; i < of_batch[s + 1]; i++) bodies[i].index = i - of_batch[s];
    kyoho_batch batch = batch_of(softening2);
    kyoho_sources given = sources_of(bodies, BODIES);
    kyoho_forces forces = forces_of(bodies);
    if (order == 2) forces.jerks.data = NULL;
    else forces.nearest.data = nearest;
    for (int softened_each = 0; softened_each < 2; softened_each++) {
        for (int i = 0; i < BODIES; i++) each[i] = softened_each ? softening2 * (1 + i % 5) : softening2;
        if (softened_each) batch.softening2 = NAN, batch.softening2_each.data = each;
        GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &given, &forces));
        for (int s = 0; s < SYSTEMS; s++)
            for (int i = of_batch[s]; i < of_batch[s + 1]; i++) {
                struct particle expected = bodies[i];
                sum_force(bodies + of_batch[s], of_batch[s + 1] - of_batch[s], each[i], &expected);
                check_one(&bodies[i], &expected, order, part);
            }
    }
    CHECK(bodies[0].pot == 0 && bodies[0].acc[0] == 0);
    if (order > 2) CHECK(nearest[0] == -1 && nearest[1] == 1 && nearest[2] == 0);

    /* A system has the bits that it has alone, and start and wait give those too. */
    memcpy(alone, bodies, sizeof alone);
    for (int s = 0; s < SYSTEMS; s++) {
        int32_t offsets[2] = {0, of_batch[s + 1] - of_batch[s]};
        kyoho_batch one = KYOHO_BATCH_INIT;
        one.system_count = 1;
        one.offsets = integers(offsets);
        one.softening2_each.data = each + of_batch[s];
        kyoho_sources ones = sources_of(bodies + of_batch[s], offsets[1]);
        kyoho_forces to = forces_of(alone + of_batch[s]);
        if (order == 2) to.jerks.data = NULL;
        GIVES(KYOHO_OK, kyoho_system_start_batch(system, &one, &ones));
        GIVES(KYOHO_OK, kyoho_system_wait(system, &to));
    }
    CHECK(same_forces(bodies, alone, BODIES));

    /* Bodies without indices are their own all the same, and none of them is kept. */
    kyoho_statistics statistics = KYOHO_STATISTICS_INIT;
    given.indices.data = NULL;
    forces = forces_of(alone);
    if (order == 2) forces.jerks.data = NULL;
    memset(alone, 0, sizeof alone);
    GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &given, &forces));
    CHECK(same_forces(bodies, alone, BODIES));
    GIVES(KYOHO_OK, kyoho_system_statistics(system, &statistics));
    CHECK(statistics.sources == 0 && statistics.blocks == 3 + SYSTEMS && statistics.sinks == 4 * BODIES);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* There are so many bodies that several threads read them and write their forces. */
static void many_systems_are_read_and_written_where_they_are(void) {
    enum { MANY = 18000 };
    static struct particle bodies[MANY], expected[MANY];
    static double both[MANY][3];
    static int32_t offsets[MANY / 3 + 1];
    make_particles(bodies, MANY, 8);
    for (int s = 0; s <= MANY / 3; s++) offsets[s] = 3 * s;
    memcpy(expected, bodies, sizeof expected);
    for (int i = 0; i < MANY; i++) sum_force(bodies + i / 3 * 3, 3, softening2, &expected[i]);
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    kyoho_batch batch = KYOHO_BATCH_INIT;
    kyoho_sources given = sources_of(bodies, MANY);
    kyoho_forces forces = forces_of(bodies);
    batch.system_count = MANY / 3;
    batch.offsets = integers(offsets);
    batch.softening2 = softening2;
    GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &given, &forces));
    for (int i = 0; i < MANY; i++) check_one(&bodies[i], &expected[i], 4, 1e-12);
    for (int i = 0; i < MANY; i++) CHECK(bodies[i].index == 1000 + i && bodies[i].colour == 0);

    /* If two results go to the same place, the later one stays. */
    forces = (kyoho_forces)KYOHO_FORCES_INIT;
    forces.accelerations.data = both[0];
    forces.jerks.data = both[0];
    GIVES(KYOHO_OK, kyoho_system_start_batch(system, &batch, &given));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
    for (int i = 0; i < MANY; i++) CHECK(memcmp(both[i], bodies[i].jerk, sizeof both[i]) == 0);
    /* A body that is not in order is found among all of them. */
    bodies[17001].v[1] = NAN;
    both[0][0] = 7;
    SAYS(KYOHO_NOT_FINITE, "the velocity of body 17001 is NaN", system,
         kyoho_system_force_batch(system, &batch, &given, &forces));
    CHECK(both[0][0] == 7);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Without softening, bodies at one place exert no force on one another, as in blocks. */
static void bodies_may_be_at_one_place(int precision) {
    struct particle q[40];
    make_particles(q, 40, 3);
    for (int i = 1; i < 40; i++) memcpy(q[i].x, q[0].x, sizeof q[i].x);
    q[39].x[2] += 0.5;
    kyoho_system *system = create(4, precision);
    kyoho_sources bodies = sources_of(q, 40);
    kyoho_batch batch = KYOHO_BATCH_INIT;
    kyoho_forces forces = forces_of(q);
    batch.system_count = 2;
    batch.offsets = integers((int32_t[]){0, 3, 40});
    GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &bodies, &forces));
    for (int i = 0; i < 3; i++) CHECK(q[i].acc[2] == 0 && q[i].jerk[0] == 0 && q[i].pot == 0);
    for (int i = 3; i < 39; i++) CHECK(fabs(q[i].acc[2] - 4 * q[39].mass) < 1e-6 && q[i].acc[0] == 0);

    kyoho_lists lists = groups_of(1, (int32_t[]){0, 40});
    lists.source_offsets = long_integers((int64_t[]){0, 40});
    lists.sources = &bodies;
    kyoho_sinks sinks = sinks_of(q, 40, 0);
    sinks.exclusion = KYOHO_EXCLUDE_NOTHING;
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &sinks, &forces));
    for (int i = 0; i < 39; i++) CHECK(fabs(q[i].acc[2] - 4 * q[39].mass) < 1e-6 && q[i].acc[0] == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* In orders 6 and 8 a batch has the forces that each system has as the sources of a block. */
static void a_batch_of_order_6_or_8_is_many_blocks(int order) {
    enum { ROWS = 8 };
    static double d[ROWS][BODIES][3], mass[BODIES], pot[2][BODIES], f[2][4][BODIES][3];
    uint64_t seed = order;
    for (int i = 0; i < BODIES; i++) mass[i] = 1.5 + draw(&seed);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < BODIES; i++)
            for (int k = 0; k < 3; k++) d[row][i][k] = draw(&seed);
    kyoho_sources bodies = KYOHO_SOURCES_INIT;
    kyoho_sinks on = KYOHO_SINKS_INIT;
    on.softening2 = softening2;
    for (int s = -1; s < SYSTEMS; s++) {
        int first = s < 0 ? 0 : of_batch[s], way = s < 0 ? 0 : 1;
        kyoho_forces forces = KYOHO_FORCES_INIT;
        bodies.count = s < 0 ? BODIES : of_batch[s + 1] - first;
        bodies.masses.data = mass + first;
        bodies.positions.data = d[0][first];
        bodies.velocities.data = d[1][first];
        bodies.accelerations.data = d[2][first];
        bodies.jerks.data = d[3][first];
        bodies.snaps.data = d[4][first];
        bodies.crackles.data = d[5][first];
        bodies.sixth_derivatives.data = d[6][first];
        bodies.seventh_derivatives.data = d[7][first];
        forces.potentials.data = pot[way] + first;
        forces.accelerations.data = f[way][0][first];
        forces.jerks.data = f[way][1][first];
        forces.snaps.data = f[way][2][first];
        if (order == 8) forces.crackles.data = f[way][3][first];
        kyoho_system *system = create(order, KYOHO_PRECISION_DOUBLE);
        if (s < 0) {
            kyoho_batch batch = batch_of(softening2);
            GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &bodies, &forces));
        } else {
            int32_t indices[BODIES];
            for (int i = 0; i < BODIES; i++) indices[i] = i;
            on.count = bodies.count;
            on.indices = integers(indices);
            on.positions = bodies.positions, on.velocities = bodies.velocities;
            on.accelerations = bodies.accelerations, on.jerks = bodies.jerks;
            GIVES(KYOHO_OK, kyoho_system_set_sources(system, &bodies));
            GIVES(KYOHO_OK, kyoho_system_force(system, bodies.count, &on, &forces));
        }
        GIVES(KYOHO_OK, kyoho_system_free(system));
    }
    for (int i = 0; i < BODIES; i++) {
        CHECK(fabs(pot[0][i] - pot[1][i]) <= 1e-13 * fabs(pot[1][i]));
        for (int k = 0; k < order / 2; k++) CHECK(close_to(f[0][k][i], f[1][k][i], 1e-11));
    }
}

/* Groups, sinks, sources and systems may all be none, and then their arrays may be NULL. */
static void nothing_is_an_amount(void) {
    struct particle q[2];
    kyoho_system *system = create(4, 0);
    kyoho_sinks no_sinks = KYOHO_SINKS_INIT;
    kyoho_sources no_sources = KYOHO_SOURCES_INIT;
    kyoho_forces forces = forces_of(q);
    kyoho_lists lists = KYOHO_LISTS_INIT;
    kyoho_batch batch = KYOHO_BATCH_INIT;
    const int32_t no_addresses[3] = {-5, 0, 2000000000}, zero[4] = {0};
    const int64_t long_zero[4] = {0};
    make_particles(q, 2, 6);
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &no_sinks, &forces));
    lists.sources = &no_sources;
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &lists, &no_sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_force_batch(system, &batch, &no_sources, &forces));
    batch.system_count = 3;
    batch.offsets = integers(zero);
    GIVES(KYOHO_OK, kyoho_system_start_batch(system, &batch, &no_sources));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));

    /* Three groups with two sinks and without sources, of which none was ever written. */
    kyoho_sinks sinks = sinks_of(q, 2, 0);
    lists = groups_of(3, (int32_t[]){0, 0, 2, 2});
    kyoho_lists forms[4] = {lists, lists, lists, lists};
    forms[0].first_addresses = integers(no_addresses); /* which no group begins with */
    forms[0].source_counts = integers(zero);
    forms[1].source_offsets = long_integers(long_zero);
    forms[2] = forms[1];
    forms[2].addresses = integers(no_addresses);
    forms[3] = forms[1];
    forms[3].sources = &no_sources;
    for (int form = 0; form < 4; form++) {
        q[0].acc[0] = q[1].pot = 7;
        GIVES(KYOHO_OK, kyoho_system_force_lists(system, &forms[form], &sinks, &forces));
        CHECK(q[0].acc[0] == 0 && q[0].jerk[2] == 0 && q[1].pot == 0);
    }
    /* Results that are not wanted may be NULL, also all of them. */
    kyoho_forces none = KYOHO_FORCES_INIT;
    GIVES(KYOHO_OK, kyoho_system_force_lists(system, &forms[0], &sinks, &none));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

int main(void) {
    make_particles(p, N, 21);
    for (int g = 0; g < GROUPS; g++) {
        source_offsets[g + 1] = source_offsets[g] + source_counts[g];
        for (int i = 0; i < source_counts[g]; i++) addresses[source_offsets[g] + i] = first_addresses[g] + i;
    }
    a_group_feels_its_own_list(2, KYOHO_PRECISION_SINGLE, 1e-4);
    a_group_feels_its_own_list(2, KYOHO_PRECISION_DOUBLE, 1e-13);
    a_group_feels_its_own_list(4, KYOHO_PRECISION_SINGLE, 1e-4);
    a_group_feels_its_own_list(4, KYOHO_PRECISION_MIXED, 1e-5);
    a_group_feels_its_own_list(4, KYOHO_PRECISION_DOUBLE, 1e-13);
    lists_have_any_addresses();
    arrays_may_lie_anywhere();
    exclusion_and_softening_are_those_of_blocks();
    sources_are_predicted();
    start_and_wait_give_what_force_gives();
    order_of_calls();
    nearest_sources_are_those_of_the_list();
    a_group_alone_has_the_bits_that_it_has_in_company(KYOHO_PRECISION_SINGLE);
    a_group_alone_has_the_bits_that_it_has_in_company(KYOHO_PRECISION_MIXED);
    a_group_alone_has_the_bits_that_it_has_in_company(KYOHO_PRECISION_DOUBLE);
    bodies_of_a_batch_feel_their_own_system(2, KYOHO_PRECISION_SINGLE, 1e-4);
    bodies_of_a_batch_feel_their_own_system(4, KYOHO_PRECISION_MIXED, 1e-5);
    bodies_of_a_batch_feel_their_own_system(4, KYOHO_PRECISION_DOUBLE, 1e-13);
    many_systems_are_read_and_written_where_they_are();
    bodies_may_be_at_one_place(KYOHO_PRECISION_MIXED);
    bodies_may_be_at_one_place(KYOHO_PRECISION_DOUBLE);
    a_batch_of_order_6_or_8_is_many_blocks(6);
    a_batch_of_order_6_or_8_is_many_blocks(8);
    nothing_is_an_amount();
    return failures != 0;
}
