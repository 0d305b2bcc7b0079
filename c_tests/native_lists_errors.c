/* Wrong interaction lists and batches give a result code and a text that names the value and the
   ones that are allowed. Then no array is written, and the last block is still there. */
#include "native_check.h"

enum { N = 40, SINKS = 6, GROUPS = 3 };
static struct particle p[N], q[SINKS];
static kyoho_system *kyoho;
static int32_t neighbours_of_last; /* of the second sink of the last block */
static kyoho_sinks sinks;
static kyoho_forces forces;

/* Lists of each form that are as they should be, and places for those that are not. */
static int32_t sink_offsets[GROUPS + 1], addresses[9], first_addresses[GROUPS], source_counts[GROUPS];
static int64_t source_offsets[GROUPS + 1];
static kyoho_sources own;
static kyoho_lists ranges, listed, owned;

/* A batch of these sources, with a softening length each. */
static int32_t offsets[GROUPS + 1];
static double each[9];
static kyoho_batch batch;

static void set_all(void) {
    memcpy(sink_offsets, (int32_t[]){0, 2, 2, SINKS}, sizeof sink_offsets);
    memcpy(source_offsets, (int64_t[]){0, 4, 5, 9}, sizeof source_offsets);
    memcpy(addresses, (int32_t[]){3, 1, 39, 3, 0, 7, 8, 9, 10}, sizeof addresses);
    memcpy(first_addresses, (int32_t[]){30, 0, 0}, sizeof first_addresses);
    memcpy(source_counts, (int32_t[]){10, 1, N}, sizeof source_counts);
    memcpy(offsets, (int32_t[]){0, 4, 4, 9}, sizeof offsets);
    for (int i = 0; i < 9; i++) each[i] = 0.01;
    make_particles(p, N, 12);
    make_particles(q, SINKS, 13);
    for (int i = 0; i < SINKS; i++) q[i].pot = q[i].acc[0] = q[i].jerk[0] = 7;
    sinks = sinks_of(q, SINKS, 0.01);
    forces = forces_of(q);
    own = sources_of(p, 9);
    kyoho_lists lists = KYOHO_LISTS_INIT;
    lists.group_count = GROUPS;
    lists.sink_offsets.data = sink_offsets;
    ranges = listed = lists;
    ranges.first_addresses.data = first_addresses;
    ranges.source_counts.data = source_counts;
    listed.source_offsets.data = source_offsets;
    owned = listed;
    listed.addresses.data = addresses;
    owned.sources = &own;
    batch = (kyoho_batch)KYOHO_BATCH_INIT;
    batch.system_count = GROUPS;
    batch.offsets.data = offsets;
    batch.softening2 = 0.01;
}

/* Checks that nothing was written, and that the last block is still there. */
static void nothing_happened(int line) {
    int32_t list[N], count = -1;
    int untouched = kyoho_system_neighbours(kyoho, 1, N, list, &count) == KYOHO_OK && count == neighbours_of_last;
    for (int i = 0; i < SINKS; i++) untouched &= q[i].pot == 7 && q[i].acc[0] == 7 && q[i].jerk[0] == 7;
    if (!untouched) failures++, fprintf(stderr, "line %d: something happened\n", line);
}

/* Checks that lists are refused by both calls with this result and these words, without any other
   effect; then all is as it should be again. */
#define REFUSED(result, words, lists)                                                                       \
    do {                                                                                                    \
        SAYS(result, words, kyoho, kyoho_system_force_lists(kyoho, lists, &sinks, &forces));                \
        SAYS(result, words, kyoho, kyoho_system_start_lists(kyoho, lists, &sinks));                         \
        nothing_happened(__LINE__);                                                                         \
        set_all();                                                                                          \
    } while (0)

/* Does as REFUSED does, for a batch. */
#define REFUSED_BATCH(result, words, batch)                                                                 \
    do {                                                                                                    \
        SAYS(result, words, kyoho, kyoho_system_force_batch(kyoho, batch, &own, &forces));                  \
        SAYS(result, words, kyoho, kyoho_system_start_batch(kyoho, batch, &own));                           \
        nothing_happened(__LINE__);                                                                         \
        set_all();                                                                                          \
    } while (0)

static void handles_and_null(void) {
    kyoho_system *never[] = {NULL, (kyoho_system *)1, (kyoho_system *)&kyoho, (kyoho_system *)-1};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_force_lists(never[i], &listed, &sinks, &forces));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_start_lists(never[i], &listed, &sinks));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_force_batch(never[i], &batch, &own, &forces));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_start_batch(never[i], &batch, &own));
    }
    REFUSED(KYOHO_NULL_ARGUMENT, "lists is null", NULL);
    REFUSED_BATCH(KYOHO_NULL_ARGUMENT, "batch is null", NULL);
    SAYS(KYOHO_NULL_ARGUMENT, "sinks is null", kyoho, kyoho_system_force_lists(kyoho, &listed, NULL, &forces));
    SAYS(KYOHO_NULL_ARGUMENT, "sinks is null", kyoho, kyoho_system_start_lists(kyoho, &listed, NULL));
    SAYS(KYOHO_NULL_ARGUMENT, "forces is null", kyoho, kyoho_system_force_lists(kyoho, &listed, &sinks, NULL));
    SAYS(KYOHO_NULL_ARGUMENT, "bodies is null", kyoho, kyoho_system_force_batch(kyoho, &batch, NULL, &forces));
    SAYS(KYOHO_NULL_ARGUMENT, "bodies is null", kyoho, kyoho_system_start_batch(kyoho, &batch, NULL));
    SAYS(KYOHO_NULL_ARGUMENT, "forces is null", kyoho, kyoho_system_force_batch(kyoho, &batch, &own, NULL));
    nothing_happened(__LINE__);
}

static void structures(void) {
    struct {
        kyoho_lists known;
        int64_t to_come;
    } newer = {listed, 0};
    listed.structure_size = 0;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.structure_size is '0'; allowed: sizeof(kyoho_lists), 120", &listed);
    listed.structure_size -= 8;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.structure_size is '112'", &listed);
    own.structure_size = 3;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_sources.structure_size is '3'", &owned);
    batch.structure_size = 1 << 30;
    REFUSED_BATCH(KYOHO_BAD_OPTION, "kyoho_batch.structure_size is '1073741824'; allowed: sizeof(kyoho_batch), 72", &batch);
    newer.known.structure_size = sizeof newer, newer.to_come = 1;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.structure_size is '128'; allowed: 120 in version", &newer.known);
    listed.memory = 1;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.memory is '1 (KYOHO_MEMORY_CUDA), device 0'; allowed: 0 (KYOHO_MEMORY_HOST) in a system of", &listed);
    own.memory = -1;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_sources.memory is '-1'", &owned);
    batch.memory = 7;
    REFUSED_BATCH(KYOHO_BAD_OPTION, "kyoho_batch.memory is '7'; allowed: 0 (KYOHO_MEMORY_HOST)", &batch);
    listed.reserved = -3;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.reserved is '-3'; allowed: 0", &listed);
    batch.reserved = 1;
    REFUSED_BATCH(KYOHO_BAD_OPTION, "kyoho_batch.reserved is '1'; allowed: 0", &batch);
    listed.group_count = -1;
    REFUSED(KYOHO_BAD_COUNT, "kyoho_lists.group_count is -1; allowed: 0 to 2147483647", &listed);
    batch.system_count = -2147483647;
    REFUSED_BATCH(KYOHO_BAD_COUNT, "kyoho_batch.system_count is -2147483647", &batch);
}

/* Each stride is in bytes. */
static void strides(void) {
    listed.sink_offsets.stride = 1;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.sink_offsets.stride is '1'; allowed: 0 for packed", &listed);
    listed.source_offsets.stride = -4;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.source_offsets.stride is '-4'", &listed);
    listed.addresses.stride = 3;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.addresses.stride is '3'", &listed);
    ranges.first_addresses.stride = 2;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.first_addresses.stride is '2'", &ranges);
    ranges.source_counts.stride = -1;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists.source_counts.stride is '-1'", &ranges);
    own.positions.stride = 3;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_sources.positions.stride is '3'", &owned);
    batch.offsets.stride = 1;
    REFUSED_BATCH(KYOHO_BAD_OPTION, "kyoho_batch.offsets.stride is '1'", &batch);
    batch.softening2_each.data = each, batch.softening2_each.stride = 1;
    REFUSED_BATCH(KYOHO_BAD_OPTION, "kyoho_batch.softening2_each.stride is '1'", &batch);
}

/* The sources are given in one form, with all arrays of that form and none of the others. */
static void forms(void) {
    const char *allowed = "allowed: first_addresses and source_counts, source_offsets and addresses, or "
                          "source_offsets and sources";
    listed.first_addresses.data = first_addresses;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists is 'first_addresses, source_offsets, addresses'; allowed: ", &listed);
    listed.source_counts.data = source_counts;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists is 'source_counts, source_offsets, addresses'; allowed: ", &listed);
    listed.sources = &own;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists is 'source_offsets, addresses, sources'; allowed: ", &listed);
    ranges.source_offsets.data = source_offsets;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists is 'first_addresses, source_counts, source_offsets'; allowed: ", &ranges);
    ranges.sources = &own;
    REFUSED(KYOHO_BAD_OPTION, allowed, &ranges);
    listed.addresses.data = NULL;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists is 'source_offsets'; allowed: ", &listed);
    listed.addresses.data = NULL, listed.source_offsets.data = NULL;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_lists is 'no sources'; allowed: ", &listed);

    ranges.sink_offsets.data = NULL;
    REFUSED(KYOHO_NULL_ARGUMENT, "kyoho_lists.sink_offsets is null", &ranges);
    ranges.first_addresses.data = NULL;
    REFUSED(KYOHO_NULL_ARGUMENT, "kyoho_lists.first_addresses is null", &ranges);
    ranges.source_counts.data = NULL;
    REFUSED(KYOHO_NULL_ARGUMENT, "kyoho_lists.source_counts is null", &ranges);
    listed.source_offsets.data = NULL;
    REFUSED(KYOHO_NULL_ARGUMENT, "kyoho_lists.source_offsets is null", &listed);
    owned.source_offsets.data = NULL;
    REFUSED(KYOHO_NULL_ARGUMENT, "kyoho_lists.source_offsets is null", &owned);
    batch.offsets.data = NULL;
    REFUSED_BATCH(KYOHO_NULL_ARGUMENT, "kyoho_batch.offsets is null", &batch);
}

static void offsets_of_sinks(void) {
    kyoho_lists *all[] = {&ranges, &listed, &owned};
    for (int form = 0; form < 3; form++) {
        sink_offsets[0] = 1;
        REFUSED(KYOHO_BAD_COUNT, "the sink offset 0 is 1; allowed: 0", all[form]);
        sink_offsets[2] = 1;
        REFUSED(KYOHO_BAD_COUNT, "the sink offset 2 is 1; allowed: 2 (the offset before it) to 6 (the number of sinks)",
                all[form]);
        sink_offsets[1] = -2147483647 - 1;
        REFUSED(KYOHO_BAD_COUNT, "the sink offset 1 is -2147483648; allowed: 0 (the offset before it)", all[form]);
        sink_offsets[2] = 2147483647;
        REFUSED(KYOHO_BAD_COUNT, "the sink offset 2 is 2147483647", all[form]);
        sink_offsets[3] = 5;
        REFUSED(KYOHO_BAD_COUNT, "the sink offset 3, the last, is 5; allowed: 6, the number of sinks", all[form]);
        all[form]->group_count = 0;
        REFUSED(KYOHO_BAD_COUNT, "the sink offset 0, the last, is 0; allowed: 6, the number of sinks", all[form]);
    }
}

static void offsets_of_sources(void) {
    kyoho_lists *all[] = {&listed, &owned};
    for (int form = 0; form < 2; form++) {
        source_offsets[0] = INT64_MIN;
        REFUSED(KYOHO_BAD_COUNT, "the source offset 0 is -9223372036854775808; allowed: 0", all[form]);
        source_offsets[1] = -1;
        REFUSED(KYOHO_BAD_COUNT, "the source offset 1 is -1; allowed: 0 (the offset before it) to 2147483647", all[form]);
        source_offsets[2] = 3;
        REFUSED(KYOHO_BAD_COUNT, "the source offset 2 is 3; allowed: 4 (the offset before it)", all[form]);
        source_offsets[3] = INT64_MAX;
        REFUSED(KYOHO_BAD_COUNT, "the source offset 3 is 9223372036854775807; allowed: 5 (the offset before it) to "
                                 "2147483652", all[form]);
    }
    source_offsets[3] = 8;
    REFUSED(KYOHO_BAD_COUNT, "the source offset 3, the last, is 8; allowed: 9, the number of sources", &owned);
    source_offsets[3] = 10;
    REFUSED(KYOHO_BAD_COUNT, "the source offset 3, the last, is 10; allowed: 9, the number of sources", &owned);
}

static void addresses_of_sources(void) {
    addresses[7] = -1;
    REFUSED(KYOHO_BAD_ADDRESS, "address 2 of group 2 is -1; allowed: 0 to 39 (the highest that was written)", &listed);
    addresses[4] = N, addresses[8] = -5; /* the first is named */
    REFUSED(KYOHO_BAD_ADDRESS, "address 0 of group 1 is 40; allowed: 0 to 39", &listed);
    /* Also where there is nothing to do for a second device. */
    listed.group_count = 1, sink_offsets[1] = SINKS, source_offsets[1] = 1, addresses[0] = N;
    REFUSED(KYOHO_BAD_ADDRESS, "address 0 of group 0 is 40; allowed: 0 to 39", &listed);
    first_addresses[0] = 31;
    REFUSED(KYOHO_BAD_ADDRESS, "the last address of group 0 is 40; allowed: 0 to 39", &ranges);
    first_addresses[2] = -1;
    REFUSED(KYOHO_BAD_ADDRESS, "the first address of group 2 is -1; allowed: 0 to 39", &ranges);
    first_addresses[1] = source_counts[1] = 2147483647;
    REFUSED(KYOHO_BAD_ADDRESS, "the last address of group 1 is 4294967293", &ranges);
    source_counts[1] = -1;
    REFUSED(KYOHO_BAD_COUNT, "the source count of group 1 is -1; allowed: 0 to 2147483647", &ranges);

    kyoho_system *empty = create(4, KYOHO_PRECISION_DOUBLE);
    SAYS(KYOHO_BAD_ADDRESS, "address 0 of group 0 is 3; allowed: none, as no source was written", empty,
         kyoho_system_start_lists(empty, &listed, &sinks));
    GIVES(KYOHO_OK, kyoho_system_free(empty));
}

/* Errors in sinks are those of blocks. */
static void sinks_of_lists(void) {
    double radii2[SINKS] = {0};
    sinks.count = -1;
    REFUSED(KYOHO_BAD_COUNT, "kyoho_sinks.count is -1", &listed);
    sinks.count = 5;
    REFUSED(KYOHO_BAD_COUNT, "the sink offset 3 is 6; allowed: 2 (the offset before it) to 5 (the number of sinks)",
            &listed);
    sinks.indices.data = NULL;
    REFUSED(KYOHO_BAD_OPTION, "without kyoho_sinks.indices", &listed);
    sinks.velocities.data = NULL;
    REFUSED(KYOHO_NULL_ARGUMENT, "kyoho_sinks.velocities is null", &listed);
    sinks.radii2.data = radii2;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_sinks.radii2 is 'an array'; allowed: NULL with interaction lists", &listed);
    sinks.neighbour_criterion = KYOHO_NEIGHBOUR_CRITERION_PLAIN;
    REFUSED(KYOHO_BAD_OPTION, "kyoho_sinks.neighbour_criterion is '2'; allowed: 0", &listed);
    sinks.softening2 = -1;
    REFUSED(KYOHO_OUT_OF_RANGE, "the squared softening of sink 0 is -1", &listed);
    q[4].x[1] = NAN;
    REFUSED(KYOHO_NOT_FINITE, "the position of sink 4 is NaN", &listed);
    forces.potentials.stride = 1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.potentials.stride is '1'", kyoho,
         kyoho_system_force_lists(kyoho, &listed, &sinks, &forces));
    set_all();
    forces.snaps.data = q[0].x;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.snaps is 'an array'; allowed: NULL in a system of order 4", kyoho,
         kyoho_system_force_batch(kyoho, &batch, &own, &forces));
    set_all();
    nothing_happened(__LINE__);
}

/* Sources of a call and bodies of a batch have no addresses. Their numbers are checked as those of
   the system's sources are. */
static void sources_of_a_call(void) {
    for (int batched = 0; batched < 2; batched++) {
#define REFUSED_HERE(result, of_lists, of_batch)                                                            \
    do {                                                                                                    \
        if (batched) REFUSED_BATCH(result, of_batch, &batch);                                               \
        else REFUSED(result, of_lists, &owned);                                                             \
    } while (0)
#define REFUSED_BOTH(result, words) REFUSED_HERE(result, words, words)
        own.addresses.data = addresses;
        REFUSED_BOTH(KYOHO_BAD_OPTION, "kyoho_sources.addresses is 'an array'; allowed: NULL where the system does not keep");
        own.first_address = 3;
        REFUSED_BOTH(KYOHO_BAD_OPTION, "kyoho_sources.first_address is '3'; allowed: 0 where the system does not keep");
        own.count = -9;
        REFUSED_BOTH(KYOHO_BAD_COUNT, "kyoho_sources.count is -9");
        own.masses.data = NULL;
        REFUSED_BOTH(KYOHO_NULL_ARGUMENT, "kyoho_sources.masses is null");
        own.positions.data = NULL;
        REFUSED_BOTH(KYOHO_NULL_ARGUMENT, "kyoho_sources.positions is null");
        p[5].mass = INFINITY;
        REFUSED_HERE(KYOHO_NOT_FINITE, "the mass of source 5 of the lists is inf", "the mass of body 5 is inf");
        p[8].x[2] = 1e200;
        REFUSED_HERE(KYOHO_OUT_OF_RANGE, "the position of source 8 of the lists is 1e200", "the position of body 8 is 1e200");
        p[0].v[0] = NAN;
        REFUSED_HERE(KYOHO_NOT_FINITE, "the velocity of source 0 of the lists is NaN", "the velocity of body 0 is NaN");
        each[6] = NAN, own.times.data = each;
        REFUSED_HERE(KYOHO_NOT_FINITE, "the time of source 6 of the lists is NaN", "the time of body 6 is NaN");
    }
}

static void batches(void) {
    offsets[0] = -1;
    REFUSED_BATCH(KYOHO_BAD_COUNT, "the offset 0 is -1; allowed: 0", &batch);
    offsets[2] = 3;
    REFUSED_BATCH(KYOHO_BAD_COUNT, "the offset 2 is 3; allowed: 4 (the offset before it) to 9 (the number of bodies)",
                  &batch);
    offsets[1] = 10;
    REFUSED_BATCH(KYOHO_BAD_COUNT, "the offset 1 is 10; allowed: 0 (the offset before it) to 9", &batch);
    offsets[3] = 8;
    REFUSED_BATCH(KYOHO_BAD_COUNT, "the offset 3, the last, is 8; allowed: 9, the number of bodies", &batch);
    batch.system_count = 0;
    REFUSED_BATCH(KYOHO_BAD_COUNT, "the offset 0, the last, is 0; allowed: 9, the number of bodies", &batch);
    batch.softening2 = NAN;
    REFUSED_BATCH(KYOHO_NOT_FINITE, "the squared softening of body 0 is NaN", &batch);
    batch.softening2_each.data = each, each[7] = -2;
    REFUSED_BATCH(KYOHO_OUT_OF_RANGE, "the squared softening of body 7 is -2", &batch);
}

/* Regular forces are of all sources. */
static void regular_forces(void) {
    kyoho_options options = options_of(4, KYOHO_PRECISION_DOUBLE, KYOHO_BACKEND_CPU, NULL, 1);
    kyoho_system *system;
    options.scope = KYOHO_SCOPE_REGULAR;
    GIVES(KYOHO_OK, kyoho_system_create(&options, &system));
    kyoho_sources sources = sources_of(p, N);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    SAYS(KYOHO_UNSUPPORTED, "does not compute interaction lists of order 4 regular double", system,
         kyoho_system_force_lists(system, &listed, &sinks, &forces));
    SAYS(KYOHO_UNSUPPORTED, "full forces", system, kyoho_system_start_batch(system, &batch, &own));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* A sum that overflows is an error, and what had been summed is not written. */
static void sums_that_overflow(void) {
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    struct particle far[3];
    make_particles(far, 3, 1);
    memset(far[0].x, 0, sizeof far[0].x);
    for (int i = 1; i < 3; i++) far[i] = far[0], far[i].index = i, far[i].mass = 1e149;
    far[1].x[0] = 1e-140, far[2].x[0] = 1;
    kyoho_sources sources = sources_of(far, 3);
    kyoho_batch all = KYOHO_BATCH_INIT;
    kyoho_forces to = forces_of(far);
    all.system_count = 2;
    all.offsets.data = (int32_t[]){0, 2, 3};
    far[0].acc[0] = far[2].acc[0] = 7;
    SAYS(KYOHO_OUT_OF_RANGE, "the force on sink 0 is inf", system, kyoho_system_force_batch(system, &all, &sources, &to));
    CHECK(far[0].acc[0] == 7 && far[2].acc[0] == 7);
    all.softening2 = 1;
    GIVES(KYOHO_OK, kyoho_system_force_batch(system, &all, &sources, &to));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* After all errors sources are written and lists are taken as before. */
static void all_is_well(void) {
    const kyoho_lists *all[] = {&ranges, &listed, &owned};
    for (int form = 0; form < 3; form++) {
        set_all();
        p[3].mass = 2 + form;
        kyoho_sources heavier = sources_of(p + 3, 1);
        heavier.first_address = 3;
        GIVES(KYOHO_OK, kyoho_system_set_sources(kyoho, &heavier));
        GIVES(KYOHO_OK, kyoho_system_force_lists(kyoho, all[form], &sinks, &forces));
        for (int i = 0; i < SINKS; i++) {
            struct particle listed_ones[9], expected = q[i];
            int first = i < 2 ? 0 : 5;
            for (int k = 0; k < 4; k++) listed_ones[k] = form == 1 ? p[addresses[first + k]] : p[first + k];
            if (form == 0) sum_force(i < 2 ? p + 30 : p, i < 2 ? 10 : N, 0.01, &expected);
            else sum_force(listed_ones, 4, 0.01, &expected);
            CHECK(close_to(q[i].acc, expected.acc, 1e-13));
        }
    }
    struct particle bodies[9];
    memcpy(bodies, p, sizeof bodies);
    forces = forces_of(bodies);
    GIVES(KYOHO_OK, kyoho_system_force_batch(kyoho, &batch, &own, &forces));
    for (int i = 0; i < 9; i++) {
        struct particle expected = bodies[i];
        sum_force(i < 4 ? p : p + 4, i < 4 ? 4 : 5, 0.01, &expected);
        CHECK(close_to(bodies[i].acc, expected.acc, 1e-13));
    }
}

/* Makes all errors after a block, with neighbour lists or without. */
static void all_errors(const char *devices, int has_neighbours) {
    double radii2[2] = {0, 100};
    set_all();
    GIVES(KYOHO_OK, create_on(4, KYOHO_PRECISION_DOUBLE, 0, devices, 2, &kyoho));
    kyoho_sources sources = sources_of(p, N);
    GIVES(KYOHO_OK, kyoho_system_set_sources(kyoho, &sources));
    kyoho_sinks block = sinks_of(q, 2, 0.01);
    block.exclusion = KYOHO_EXCLUDE_NOTHING;
    if (has_neighbours) block.radii2.data = radii2;
    neighbours_of_last = has_neighbours ? N : 0;
    kyoho_forces none = KYOHO_FORCES_INIT;
    GIVES(KYOHO_OK, kyoho_system_force(kyoho, N, &block, &none));
    handles_and_null();
    structures();
    strides();
    forms();
    offsets_of_sinks();
    offsets_of_sources();
    addresses_of_sources();
    sinks_of_lists();
    sources_of_a_call();
    batches();
    regular_forces();
    sums_that_overflow();
    all_is_well();
    GIVES(KYOHO_OK, kyoho_system_free(kyoho));
}

int main(void) {
    all_errors(NULL, 1);
    all_errors(NULL, 0);
    all_errors("0,0", 1);
    all_errors("0,0", 0);
    return failures != 0;
}
