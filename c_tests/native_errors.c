/* Bad input to the native interface gives a result code and a text that names the value, and
   nothing is lost. */
#include <stddef.h>

#include "native_check.h"

enum { N = 40 };
static struct particle p[N];

static kyoho_system *filled(int order) {
    kyoho_system *system = create(order, KYOHO_PRECISION_DOUBLE);
    kyoho_sources sources = sources_of(p, N);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    return system;
}

/* Checks that the system still computes the forces of the sources that it had. */
static void still_works(kyoho_system *system) {
    struct particle on = p[3];
    kyoho_sinks sinks = sinks_of(&on, 1, 0.01);
    kyoho_forces forces = forces_of(&on);
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    struct particle expected = on;
    sum_force(p, N, 0.01, &expected);
    CHECK(close_to(on.acc, expected.acc, 1e-13));
}

static void handles(void) {
    kyoho_system *system = filled(4), *other = filled(4);
    kyoho_system *never[] = {NULL, (kyoho_system *)1, (kyoho_system *)&system, (kyoho_system *)-1,
                             (kyoho_system *)((char *)system + 100000)};
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, 0.01);
    kyoho_forces forces = KYOHO_FORCES_INIT;
    kyoho_statistics statistics = KYOHO_STATISTICS_INIT;
    int32_t number, list[1];
    kyoho_predictions predictions = KYOHO_PREDICTIONS_INIT;
    char name[8];
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_set_sources(never[i], &sources));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_set_time(never[i], 1));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_force(never[i], N, &sinks, &forces));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_start(never[i], N, &sinks));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_wait(never[i], &forces));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_neighbours(never[i], 0, 1, list, &number));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_predict(never[i], 0, 1, &predictions));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_describe(never[i], NULL, &number));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_device_count(never[i], &number));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_device_name(never[i], 0, name, sizeof name));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_statistics(never[i], &statistics));
        GIVES(KYOHO_BAD_HANDLE, move_to(never[i], 0, NULL, 0));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_set_crossover(never[i], 0));
        SAYS(KYOHO_BAD_HANDLE, "not a system", never[i], kyoho_system_free(never[i]));
    }
    GIVES(KYOHO_OK, kyoho_system_free(system));
    GIVES(KYOHO_BAD_HANDLE, kyoho_system_free(system));
    GIVES(KYOHO_BAD_HANDLE, kyoho_system_set_time(system, 1));
    kyoho_system *next = filled(4); /* which may take the place of the one that was freed */
    GIVES(KYOHO_BAD_HANDLE, kyoho_system_set_time(system, 1));
    still_works(next);
    still_works(other);
    GIVES(KYOHO_OK, kyoho_system_free(next));
    GIVES(KYOHO_OK, kyoho_system_free(other));
}

static void options(void) {
    kyoho_system *system = (kyoho_system *)&system;
    SAYS(KYOHO_BAD_OPTION, "order is '3'; allowed: 2, 4, 6, 8", NULL, create_on(3, 0, 0, NULL, 0, &system));
    CHECK(system == NULL);
    kyoho_options regular = options_of(4, 0, 0, NULL, 0);
    regular.scope = 3;
    SAYS(KYOHO_BAD_OPTION, "kyoho_options.scope is '3'; allowed: 0 (full)", NULL, kyoho_system_create(&regular, &system));
    regular.scope = KYOHO_SCOPE_REGULAR, regular.order = 6;
    SAYS(KYOHO_UNSUPPORTED, "the regular force of order 6", NULL, kyoho_system_create(&regular, &system));
    regular.scope = 0, regular.crossover = -2;
    SAYS(KYOHO_BAD_COUNT, "the crossover is -2; allowed: -1 (KYOHO_CROSSOVER_OFF)", NULL,
         kyoho_system_create(&regular, &system));
    SAYS(KYOHO_BAD_OPTION, "3 (double)", NULL, create_on(4, 9, 0, NULL, 0, &system));
    SAYS(KYOHO_BAD_OPTION, "2 (cuda)", NULL, create_on(4, 0, 9, NULL, 0, &system));
    SAYS(KYOHO_BAD_OPTION, "threads is '-1'", NULL, create_on(4, 0, 0, NULL, -1, &system));
    SAYS(KYOHO_BAD_OPTION, "a list such as 0,2", NULL, create_on(4, 0, 0, "first", 0, &system));
    SAYS(KYOHO_BAD_OPTION, "devices 0 to 0", NULL, create_on(4, 0, 1, "0,1", 0, &system));
    SAYS(KYOHO_BAD_OPTION, "devices 0 to 0", NULL, create_on(4, 0, 1, "4000000000000000", 0, &system));
    SAYS(KYOHO_BAD_OPTION, "kyoho_options.precision is '5'", NULL,
         create_on(4, 5, KYOHO_BACKEND_CPU, NULL, 0, &system)); /* which no backend computes */
    SAYS(KYOHO_UNSUPPORTED, "order 8 in precision mixed; it computes: 2 single", NULL,
         create_on(8, KYOHO_PRECISION_MIXED, KYOHO_BACKEND_CPU, NULL, 0, &system));
    SAYS(KYOHO_NULL_ARGUMENT, "system is null", NULL, create_on(4, 0, 0, NULL, 0, NULL));

    int32_t devices = -1;
    GIVES(KYOHO_OK, kyoho_backend_available(KYOHO_BACKEND_CPU, &devices));
    CHECK(devices == 1);
    GIVES(KYOHO_OK, kyoho_backend_available(KYOHO_BACKEND_CPU, NULL));
    SAYS(KYOHO_BAD_OPTION, "1 (cpu)", NULL, kyoho_backend_available(0, &devices));
    CHECK(devices == 0);
}

/* Each structure has its size: a program may know fewer fields than the library, or more, which
   it does not use. */
static void sizes_of_structures(void) {
    kyoho_system *system = filled(4);
    struct {
        kyoho_statistics known;
        int64_t to_come;
    } newer = {KYOHO_STATISTICS_INIT, 0};
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(p, N, 0.01);
    kyoho_forces forces = KYOHO_FORCES_INIT;
    kyoho_predictions predictions = KYOHO_PREDICTIONS_INIT;
    kyoho_interaction computed = KYOHO_INTERACTION_INIT;
    kyoho_system *none;
    options.structure_size = 0;
    SAYS(KYOHO_BAD_OPTION, "kyoho_options.structure_size is '0'; allowed: sizeof(kyoho_options)", NULL,
         kyoho_system_create(&options, &none));
    SAYS(KYOHO_BAD_OPTION, "kyoho_options.structure_size", system, kyoho_system_move(system, &options));
    /* Programs of 0.2.0 do not know where arrays may lie. */
    sources.structure_size = offsetof(kyoho_sources, cuda);
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    sources.structure_size -= 8;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.structure_size", system, kyoho_system_set_sources(system, &sources));
    forces.structure_size = -1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.structure_size is '-1'", system, kyoho_system_force(system, N, &sinks, &forces));
    forces = (kyoho_forces)KYOHO_FORCES_INIT, sinks.structure_size = 2147483647;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.structure_size", system, kyoho_system_force(system, N, &sinks, &forces));
    predictions.structure_size = 1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_predictions.structure_size", system, kyoho_system_predict(system, 0, 1, &predictions));
    computed.structure_size = 4;
    SAYS(KYOHO_BAD_OPTION, "kyoho_interaction.structure_size", system, kyoho_system_describe(system, &computed, NULL));
    SAYS(KYOHO_BAD_OPTION, "kyoho_interaction.structure_size", NULL, kyoho_interaction_describe(0, &computed));

    newer.known.structure_size = sizeof newer;
    GIVES(KYOHO_OK, kyoho_system_statistics(system, &newer.known));
    CHECK(newer.known.sources == N && newer.known.structure_size == sizeof newer && newer.to_come == 0);
    newer.to_come = 1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_statistics.structure_size is '64'; allowed: 56 in version", system,
         kyoho_system_statistics(system, &newer.known));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* The list of interactions has each order in each precision and scope in which a system can be
   made, and no other. */
static void interactions(void) {
    int made = 0, count = kyoho_interaction_count();
    for (int order = -1; order <= 9; order++)
        for (int precision = 1; precision <= 5; precision++)
            for (int scope = KYOHO_SCOPE_FULL; scope <= KYOHO_SCOPE_REGULAR; scope++) {
                kyoho_options options = options_of(order, precision, KYOHO_BACKEND_CPU, NULL, 1);
                kyoho_system *system;
                options.scope = scope;
                if (order == 0 || kyoho_system_create(&options, &system) != KYOHO_OK) continue;
                kyoho_interaction of_system = KYOHO_INTERACTION_INIT;
                GIVES(KYOHO_OK, kyoho_system_describe(system, &of_system, NULL));
                CHECK(of_system.order == order && of_system.precision == precision && of_system.scope == scope);
                CHECK(of_system.n_derivatives == order / 2 && of_system.n_outputs == 1 + 3 * (order / 2));
                CHECK(of_system.n_coefficients == (order == 2 ? 1 : order) && of_system.flops_per_pair > 30);
                CHECK(of_system.has_nearest == (order > 2 && scope == KYOHO_SCOPE_FULL));
                CHECK(of_system.has_neighbours == (order > 2) && of_system.tolerance <= 1e-6);
                int listed = 0;
                for (int number = 0; number < count; number++) {
                    kyoho_interaction one = KYOHO_INTERACTION_INIT;
                    GIVES(KYOHO_OK, kyoho_interaction_describe(number, &one));
                    CHECK(strstr(one.description, "potential"));
                    listed += memcmp(&one, &of_system, sizeof one) == 0;
                }
                CHECK(listed == 1);
                made++;
                GIVES(KYOHO_OK, kyoho_system_free(system));
            }
    CHECK(made == count && count > 5);
    kyoho_interaction none = KYOHO_INTERACTION_INIT;
    SAYS(KYOHO_BAD_COUNT, "the number of the interaction is -1", NULL, kyoho_interaction_describe(-1, &none));
    GIVES(KYOHO_BAD_COUNT, kyoho_interaction_describe(count, &none));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_interaction_describe(0, NULL));
}

static void sources(void) {
    kyoho_system *system = filled(4);
    struct particle q[3];
    int32_t address[3] = {5, 6, 7};
    double times[3] = {0, 0, 0};
    make_particles(q, 3, 99);
    const kyoho_sources good = sources_of(q, 3);
    kyoho_sources s = good;
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_set_sources(system, NULL));
    s.count = -2;
    SAYS(KYOHO_BAD_COUNT, "kyoho_sources.count is -2", system, kyoho_system_set_sources(system, &s));
    s = good, s.masses.data = NULL;
    SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sources.masses", system, kyoho_system_set_sources(system, &s));
    s = good, s.positions.data = NULL;
    SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sources.positions", system, kyoho_system_set_sources(system, &s));
    s = good, s.velocities.stride = 3; /* elements, not bytes */
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.velocities.stride is '3'", system, kyoho_system_set_sources(system, &s));
    s = good, s.memory = 1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sources.memory is '1 (KYOHO_MEMORY_CUDA), device 0'; allowed: 0", system, kyoho_system_set_sources(system, &s));
    s = good, s.first_address = -1;
    SAYS(KYOHO_BAD_ADDRESS, "-1", system, kyoho_system_set_sources(system, &s));
    s = good, s.first_address = 2147483646;
    SAYS(KYOHO_BAD_ADDRESS, "2147483648", system, kyoho_system_set_sources(system, &s));
    s = good, s.addresses.data = address, address[2] = -7;
    SAYS(KYOHO_BAD_ADDRESS, "-7", system, kyoho_system_set_sources(system, &s));
    address[2] = 7;

    /* If one number among many is bad, its source is named, and none is written. */
    s = good, s.first_address = 10;
    q[2].mass = NAN;
    SAYS(KYOHO_NOT_FINITE, "the mass of the source at address 12", system, kyoho_system_set_sources(system, &s));
    q[2].mass = 1, q[1].x[2] = INFINITY;
    SAYS(KYOHO_NOT_FINITE, "the position of the source at address 11", system, kyoho_system_set_sources(system, &s));
    q[1].x[2] = 0, q[0].v[0] = -INFINITY;
    SAYS(KYOHO_NOT_FINITE, "the velocity", system, kyoho_system_set_sources(system, &s));
    q[0].v[0] = 0, q[2].x[1] = 1e200;
    SAYS(KYOHO_OUT_OF_RANGE, "1e150", system, kyoho_system_set_sources(system, &s));
    q[2].x[1] = 0, s.times.data = times, times[1] = NAN;
    SAYS(KYOHO_NOT_FINITE, "the time of the source at address 11", system, kyoho_system_set_sources(system, &s));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void sinks(void) {
    kyoho_system *system = filled(4);
    struct particle q[3];
    double radii2[3] = {0, NAN, 0}, each[3] = {0, 0, -1};
    make_particles(q, 3, 98);
    const kyoho_sinks good = sinks_of(q, 3, 0.01);
    const kyoho_forces forces = forces_of(q);
    kyoho_sinks s = good;
    SAYS(KYOHO_NULL_ARGUMENT, "sinks is null", system, kyoho_system_force(system, N, NULL, &forces));
    SAYS(KYOHO_NULL_ARGUMENT, "forces is null", system, kyoho_system_force(system, N, &s, NULL));
    SAYS(KYOHO_BAD_COUNT, "nj is -1", system, kyoho_system_force(system, -1, &s, &forces));
    s.count = -1;
    SAYS(KYOHO_BAD_COUNT, "kyoho_sinks.count is -1", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.memory = -1;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.memory is '-1'", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.indices.data = NULL; /* a body would feel itself */
    SAYS(KYOHO_BAD_OPTION, "without kyoho_sinks.indices'; allowed: an index for each sink", system,
         kyoho_system_force(system, N, &s, &forces));
    SAYS(KYOHO_BAD_OPTION, "or 1 (KYOHO_EXCLUDE_NOTHING)", system, kyoho_system_start(system, N, &s));
    s.exclusion = 2;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.exclusion is '2'", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.neighbour_criterion = KYOHO_NEIGHBOUR_CRITERION_PLAIN;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.neighbour_criterion is '2'; allowed: 0 in a system of full forces", system,
         kyoho_system_force(system, N, &s, &forces));
    s = good, s.number_type = 7;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.number_type is '7'", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.positions.data = NULL;
    SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sinks.positions", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.velocities.data = NULL;
    SAYS(KYOHO_NULL_ARGUMENT, "kyoho_sinks.velocities", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.softening2 = NAN;
    SAYS(KYOHO_NOT_FINITE, "the squared softening of sink 0", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.softening2_each.data = each;
    SAYS(KYOHO_OUT_OF_RANGE, "the squared softening of sink 2 is -1", system, kyoho_system_force(system, N, &s, &forces));
    s = good, s.radii2.data = radii2;
    SAYS(KYOHO_NOT_FINITE, "the squared radius of sink 1", system, kyoho_system_start(system, N, &s));
    q[1].v[1] = NAN;
    SAYS(KYOHO_NOT_FINITE, "the velocity of sink 1", system, kyoho_system_force(system, N, &good, &forces));
    CHECK(q[0].acc[0] == 0 && q[2].pot == 0); /* no result was written */
    kyoho_forces wrong = forces;
    wrong.jerks.stride = 16;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.jerks.stride is '16'", system, kyoho_system_force(system, N, &good, &wrong));
    wrong = forces, wrong.snaps.data = q[0].x;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.snaps is 'an array'; allowed: NULL in a system of order 4", system,
         kyoho_system_force(system, N, &good, &wrong));
    SAYS(KYOHO_NOT_FINITE, "the time is NaN", system, kyoho_system_set_time(system, NAN));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void order_of_calls(void) {
    kyoho_system *system = filled(4);
    struct particle q[3];
    int32_t list[N], count = 0;
    make_particles(q, 3, 97);
    const kyoho_sinks sinks = sinks_of(q, 3, 0.01);
    const kyoho_forces forces = forces_of(q);
    SAYS(KYOHO_CALL_ORDER, "without start", system, kyoho_system_wait(system, &forces));
    SAYS(KYOHO_CALL_ORDER, "before", system, kyoho_system_neighbours(system, 0, N, list, &count));
    GIVES(KYOHO_OK, kyoho_system_start(system, N, &sinks));
    SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_start(system, N, &sinks));
    SAYS(KYOHO_CALL_ORDER, "under way", system, kyoho_system_force(system, N, &sinks, &forces));
    GIVES(KYOHO_CALL_ORDER, kyoho_system_neighbours(system, 0, N, list, &count));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_wait(system, NULL)); /* and the block is still under way */
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));
    GIVES(KYOHO_CALL_ORDER, kyoho_system_wait(system, &forces));
    SAYS(KYOHO_BAD_COUNT, "0 to 2", system, kyoho_system_neighbours(system, 3, N, list, &count));
    GIVES(KYOHO_BAD_COUNT, kyoho_system_neighbours(system, -1, N, list, &count));
    GIVES(KYOHO_BAD_COUNT, kyoho_system_neighbours(system, 0, -1, list, &count));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_neighbours(system, 0, N, NULL, &count));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_neighbours(system, 0, N, list, NULL));
    still_works(system);

    /* A system may be freed while a block is under way. */
    GIVES(KYOHO_OK, kyoho_system_start(system, N, &sinks));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Results that order 2 does not compute cannot be asked for. */
static void order_2(void) {
    kyoho_system *system = filled(2);
    struct particle q[3];
    int32_t index, count;
    make_particles(q, 3, 96);
    const kyoho_sinks sinks = sinks_of(q, 3, 0.01);
    kyoho_forces forces = forces_of(q);
    kyoho_predictions predictions = KYOHO_PREDICTIONS_INIT;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.jerks is 'an array'; allowed: NULL in a system of order 2", system,
         kyoho_system_force(system, N, &sinks, &forces));
    forces.jerks.data = NULL, forces.nearest.data = &index;
    SAYS(KYOHO_BAD_OPTION, "kyoho_forces.nearest", system, kyoho_system_force(system, N, &sinks, &forces));
    forces.nearest.data = NULL;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    SAYS(KYOHO_CALL_ORDER, "order 2", system, kyoho_system_neighbours(system, 0, 1, &index, &count));
    predictions.velocities.data = q[0].v;
    SAYS(KYOHO_BAD_OPTION, "kyoho_predictions.velocities", system, kyoho_system_predict(system, 0, 1, &predictions));
    predictions.velocities.data = NULL, predictions.positions.data = q[0].x;
    GIVES(KYOHO_OK, kyoho_system_predict(system, 2, 1, &predictions));
    CHECK(memcmp(q[0].x, p[2].x, sizeof q[0].x) == 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void predicted(void) {
    kyoho_system *system = filled(4);
    double x[3];
    kyoho_predictions to = KYOHO_PREDICTIONS_INIT;
    to.positions.data = x;
    SAYS(KYOHO_NULL_ARGUMENT, "predictions is null", system, kyoho_system_predict(system, 0, 1, NULL));
    SAYS(KYOHO_BAD_ADDRESS, "-4", system, kyoho_system_predict(system, -4, 1, &to));
    SAYS(KYOHO_BAD_COUNT, "count is -4", system, kyoho_system_predict(system, 0, -4, &to));
    GIVES(KYOHO_BAD_ADDRESS, kyoho_system_predict(system, 2147483647, 2, &to));
    to.positions.stride = 8;
    SAYS(KYOHO_BAD_OPTION, "kyoho_predictions.positions.stride is '8'", system, kyoho_system_predict(system, 0, 1, &to));
    to.positions.stride = 0, to.accelerations.data = x;
    SAYS(KYOHO_BAD_OPTION, "kyoho_predictions.accelerations is 'an array'; allowed: NULL in a system of order 4",
         system, kyoho_system_predict(system, 0, 1, &to));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* A system whose options are all open has forces of order 4. */
static void no_options(void) {
    kyoho_interaction computed = KYOHO_INTERACTION_INIT;
    kyoho_system *system = NULL;
    GIVES(KYOHO_OK, kyoho_system_create(NULL, &system));
    GIVES(KYOHO_OK, kyoho_system_describe(system, &computed, NULL));
    CHECK(computed.order == 4 && computed.precision == KYOHO_PRECISION_DOUBLE && computed.scope == KYOHO_SCOPE_FULL);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void descriptions(void) {
    kyoho_system *system = create(4, KYOHO_PRECISION_MIXED);
    kyoho_interaction computed = KYOHO_INTERACTION_INIT;
    int32_t backend, devices;
    char name[200], cut[5] = "....";
    kyoho_statistics statistics = KYOHO_STATISTICS_INIT;
    struct particle on = p[0];
    kyoho_sources sources = sources_of(p, N);
    kyoho_sinks sinks = sinks_of(&on, 1, 0.01);
    kyoho_forces forces = forces_of(&on);
    GIVES(KYOHO_OK, kyoho_system_describe(system, &computed, &backend));
    CHECK(computed.order == 4 && computed.precision == KYOHO_PRECISION_MIXED && backend >= 1 && backend <= 3);
    GIVES(KYOHO_OK, kyoho_system_describe(system, NULL, NULL));
    GIVES(KYOHO_OK, kyoho_system_device_count(system, &devices));
    CHECK(devices == 1);
    GIVES(KYOHO_OK, kyoho_system_device_name(system, 0, name, sizeof name));
    CHECK(strlen(name) > 4);
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_system_device_name(system, 0, cut, 4));
    CHECK(strlen(cut) == 3 && strncmp(cut, name, 3) == 0 && cut[4] == 0);
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_system_device_name(system, 0, cut, 0));
    SAYS(KYOHO_BAD_COUNT, "0 to 0", system, kyoho_system_device_name(system, 1, name, sizeof name));
    GIVES(KYOHO_BAD_COUNT, kyoho_system_device_name(system, -1, name, sizeof name));
    GIVES(KYOHO_BAD_COUNT, kyoho_system_device_name(system, 0, name, -1));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_device_name(system, 0, NULL, 9));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_device_count(system, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_system_statistics(system, NULL));

    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_force(system, 10, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_statistics(system, &statistics));
    CHECK(statistics.sources == N && statistics.writes == 2 * N && statistics.blocks == 2 && statistics.sinks == 2);
    CHECK(statistics.interactions == N + 10 && statistics.bytes > N * 64);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* A moved system keeps its sources. If it cannot be moved, it stays where it is. */
static void moves(void) {
    kyoho_system *system = filled(4);
    struct particle on = p[5];
    kyoho_sinks sinks = sinks_of(&on, 1, 0.01);
    kyoho_forces forces = forces_of(&on);
    kyoho_statistics before = KYOHO_STATISTICS_INIT, after = KYOHO_STATISTICS_INIT;
    int32_t devices = 0, number;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_statistics(system, &before));
    GIVES(KYOHO_OK, move_to(system, KYOHO_BACKEND_CPU, NULL, 2));
    SAYS(KYOHO_CALL_ORDER, "neighbours", system, kyoho_system_neighbours(system, 0, 0, NULL, &number));
    GIVES(KYOHO_OK, kyoho_system_statistics(system, &after));
    CHECK(after.sources == before.sources && after.writes == before.writes && after.blocks == before.blocks);
    still_works(system);
    GIVES(KYOHO_OK, move_to(system, 0, "all", 0));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_device_count(system, &devices));
    SAYS(KYOHO_BAD_OPTION, "2 (cuda)", system, move_to(system, 9, NULL, 0));
    SAYS(KYOHO_BAD_OPTION, "devices 0 to 0", system, move_to(system, KYOHO_BACKEND_CPU, "0,1", 0));
    SAYS(KYOHO_BAD_OPTION, "threads is '-1'", system, move_to(system, 0, NULL, -1));
    kyoho_options other = options_of(6, 0, 0, NULL, 0);
    SAYS(KYOHO_BAD_OPTION, "order 6 double'; allowed: order 4 double", system, kyoho_system_move(system, &other));
    GIVES(KYOHO_OK, kyoho_system_move(system, NULL));
    GIVES(KYOHO_OK, kyoho_system_device_count(system, &number));
    CHECK(number == devices);
    still_works(system);

    GIVES(KYOHO_OK, kyoho_system_start(system, N, &sinks));
    SAYS(KYOHO_CALL_ORDER, "while a block is under way", system, move_to(system, 0, NULL, 0));
    GIVES(KYOHO_OK, kyoho_system_wait(system, &forces));

    SAYS(KYOHO_BAD_COUNT, "the crossover is -2", system, kyoho_system_set_crossover(system, -2));
    GIVES(KYOHO_OK, kyoho_system_set_crossover(system, INT64_MAX));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_set_crossover(system, KYOHO_CROSSOVER_OFF));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_set_crossover(system, 0));
    still_works(system);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Each system keeps the text of its own last error, and each thread that of its own. */
static void texts(void) {
    kyoho_system *a = create(4, 0), *b = create(4, 0);
    CHECK(kyoho_system_last_error(a)[0] == 0);
    GIVES(KYOHO_NOT_FINITE, kyoho_system_set_time(a, NAN));
    GIVES(KYOHO_NOT_FINITE, kyoho_system_set_time(b, INFINITY));
    GIVES(KYOHO_OK, kyoho_system_set_time(a, 1));
    CHECK(strstr(kyoho_system_last_error(a), "the time is NaN"));
    CHECK(strstr(kyoho_system_last_error(b), "the time is inf"));
    CHECK(strstr(kyoho_last_error(), "the time is inf"));
    GIVES(KYOHO_OK, kyoho_system_free(a));
    GIVES(KYOHO_OK, kyoho_system_free(b));
    CHECK(strcmp(kyoho_result_text(KYOHO_OK), "success") == 0);
    CHECK(strcmp(kyoho_result_text(-5), "no result of kyoho") == 0);
    CHECK(strchr(kyoho_version(), '.') != NULL);
    CHECK(kyoho_library_version() == KYOHO_VERSION_NUMBER);
}

int main(void) {
    CHECK(kyoho_last_error()[0] == 0);
    make_particles(p, N, 12);
    handles();
    options();
    sizes_of_structures();
    interactions();
    sources();
    sinks();
    order_of_calls();
    order_2();
    predicted();
    no_options();
    descriptions();
    moves();
    texts();
    return failures != 0;
}
