/* Integrators through the native interface: bodies by identifiers that come, go, change and evolve
   to any time; what ends an evolution; and whatever is wrong is an error that names it. */
#include "native_check.h"

enum { N = 64 };

struct body {
    int64_t identifier;
    float colour; /* something of the caller's own */
    double mass, x[3], v[3], radius;
};

static struct body b[N];

/* Checks that a call fails like this, and that the text of the integrator's error has these words. */
#define WRONG(result, words, integrator, call)                                                          \
    do {                                                                                                \
        GIVES(result, call);                                                                            \
        if (!strstr(kyoho_integrator_last_error(integrator), words)) {                                  \
            failures++;                                                                                 \
            fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", __FILE__, __LINE__,                      \
                    kyoho_integrator_last_error(integrator), words);                                    \
        }                                                                                               \
    } while (0)

/* All that bodies have, inside the caller's own structures. */
static kyoho_bodies bodies_of(const struct body *b, int n) {
    kyoho_bodies bodies = KYOHO_BODIES_INIT;
    const int64_t stride = sizeof *b;
    bodies.count = n;
    bodies.identifiers.data = &b->identifier, bodies.identifiers.stride = stride;
    bodies.masses.data = &b->mass, bodies.masses.stride = stride;
    bodies.positions.data = b->x, bodies.positions.stride = stride;
    bodies.velocities.data = b->v, bodies.velocities.stride = stride;
    bodies.radii.data = &b->radius, bodies.radii.stride = stride;
    return bodies;
}

static kyoho_body_states states_of(struct body *b, int n) {
    kyoho_body_states states = KYOHO_BODY_STATES_INIT;
    const int64_t stride = sizeof *b;
    states.count = n;
    states.masses.data = &b->mass, states.masses.stride = stride;
    states.positions.data = b->x, states.positions.stride = stride;
    states.velocities.data = b->v, states.velocities.stride = stride;
    states.radii.data = &b->radius, states.radii.stride = stride;
    return states;
}

static kyoho_integrator *made(int order, kyoho_integrator_options given, int threads) {
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_integrator *integrator = NULL;
    options.order = order, options.threads = threads;
    if (order == 2) given.dt_max = 1.0 / 1024;
    GIVES(KYOHO_OK, kyoho_integrator_create(&options, &given, &integrator));
    return integrator;
}

/* Two bodies on a circle of radius 1/2 with period 2 pi, and one far away without mass. */
static void make_circle(void) {
    const struct body circle[3] = {
        {7, 0, 0.5, {0.5, 0, 0}, {0, 0.5, 0}, 0},
        {-3, 0, 0.5, {-0.5, 0, 0}, {0, -0.5, 0}, 0},
        {1000, 0, 0, {500, 0, 0}, {0, 0, 0}, 0},
    };
    memcpy(b, circle, sizeof circle);
}

static double off_the_circle(const struct body *b, double time) {
    const double there[3] = {0.5 * cos(time), 0.5 * sin(time), 0};
    double r2 = 0;
    for (int k = 0; k < 3; k++) r2 += (b->x[k] - there[k]) * (b->x[k] - there[k]);
    return sqrt(r2);
}

struct seen {
    int calls;
    double time, until;
};

static int32_t until(void *context, double time, uint64_t block_steps) {
    struct seen *seen = context;
    CHECK(time > seen->time && block_steps == (uint64_t)++seen->calls);
    seen->time = time;
    return time >= seen->until;
}

static void bodies_reach_any_time(int order) {
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.time = 0.25, options.eta = 0.01;
    make_circle();
    kyoho_integrator *integrator = made(order, options, 1);
    const kyoho_bodies bodies = bodies_of(b, 3);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.25 + 0.37, NULL, NULL));
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 2.25, NULL, &evolution));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_TIME && evolution.time == 2.25 && evolution.block_steps > 0);
    struct body found[3];
    kyoho_body_states states = states_of(found, 3);
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(off_the_circle(&found[0], 2) < 1e-5 && found[0].mass == 0.5);
    if (order > 2) {
        CHECK(evolution.approach_first == 7 && evolution.approach_second == -3);
        CHECK(fabs(evolution.approach_distance - 1) < 1e-3);
        CHECK(evolution.approach_time > 0.62 && evolution.approach_time <= 2.25);
    } else {
        CHECK(isinf(evolution.approach_distance));
    }
    double kinetic, potential;
    GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &kinetic, &potential));
    CHECK(fabs(kinetic - 0.125) < 1e-5 && fabs(potential + 0.25) < 1e-5);

    /* Bodies by their identifiers. */
    const int64_t wanted[2] = {1000, 7};
    double acceleration[2][3], potential_at[2], distance[2];
    int64_t nearest[2];
    states.count = 2, states.identifiers.data = wanted;
    states.accelerations.data = acceleration[0], states.potentials.data = potential_at;
    states.nearest.data = nearest, states.nearest_distances.data = distance;
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(potential_at[1] + 0.5) < 1e-5 && fabs(potential_at[0] + 0.002) < 1e-6);
    CHECK(fabs(acceleration[1][0] + cos(2) / 2) < 1e-4 && fabs(acceleration[0][0] + 4e-6) < 1e-7);
    CHECK(nearest[1] == -3 && fabs(distance[1] - 1) < 1e-5 && fabs(distance[0] - 500) < 1);
    CHECK(fabs(found[0].x[0] - 500) < 1e-4 && found[0].mass == 0 && found[1].mass == 0.5);

    kyoho_integration integration = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &integration));
    CHECK(integration.body_count == 3 && integration.time == 2.25 && integration.limited_steps == 0);
    CHECK(integration.steps >= integration.block_steps && integration.block_steps > evolution.block_steps);
    CHECK(integration.interactions >= 2 * integration.steps);
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

static void an_evolution_is_ended(int order) {
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.eta = 0.01;
    make_circle();
    kyoho_integrator *integrator = made(order, options, 1);
    const kyoho_bodies bodies = bodies_of(b, 3);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    kyoho_evolve_options ends = KYOHO_EVOLVE_OPTIONS_INIT;
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    struct seen seen = {0, 0, 0.5};
    ends.progress = until, ends.context = &seen;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 2, &ends, &evolution));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_CALLER && evolution.time == seen.time && seen.time >= 0.5);
    struct body found[3];
    kyoho_body_states states = states_of(found, 3);
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(off_the_circle(&found[0], seen.time) < 1e-5);

    /* It is not told again within a day. */
    seen = (struct seen){0, 0, 0};
    ends.progress_seconds = 86400, ends.block_steps = 5;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 2, &ends, &evolution));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_BLOCK_STEPS && evolution.block_steps >= 5 && seen.calls == 0);
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 2, NULL, &evolution));
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_TIME && off_the_circle(&found[0], 2) < 1e-5);
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

/* A hard binary beside a third body is a subsystem, with a name and an orbit. */
static void a_binary_is_a_subsystem(int order) {
    const double separation = 1e-6, speed = sqrt(1 / separation);
    const struct body three[3] = {
        {7, 0, 0.5, {0.5 * separation, 0, 0}, {0, 0.5 * speed, 0}, 0},
        {1000, 0, 1, {1, 0, 0}, {0, 1, 0}, 0},
        {-3, 0, 0.5, {-0.5 * separation, 0, 0}, {0, -0.5 * speed, 0}, 0},
    };
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.subsystem_radius = 1e-3;
    kyoho_integrator *integrator = made(order, options, 1);
    const kyoho_bodies bodies = bodies_of(three, 3);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    int32_t count = -1;
    GIVES(KYOHO_OK, kyoho_integrator_binary_count(integrator, &count));
    CHECK(count == 0);
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 1, NULL, &evolution));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_TIME && evolution.block_steps < 1000);
    GIVES(KYOHO_OK, kyoho_integrator_binary_count(integrator, &count));
    CHECK(count == 1);
    int64_t first = 0, second = 0;
    int32_t counts[2] = {0, 0};
    double axis = 0, eccentricity = -1, period = 0;
    kyoho_binaries binaries = KYOHO_BINARIES_INIT;
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_integrator_binaries(integrator, &binaries));
    binaries.capacity = 1;
    binaries.first.data = &first, binaries.second.data = &second;
    binaries.first_counts.data = &counts[0], binaries.second_counts.data = &counts[1];
    binaries.semi_major_axes.data = &axis, binaries.eccentricities.data = &eccentricity;
    binaries.periods.data = &period;
    GIVES(KYOHO_OK, kyoho_integrator_binaries(integrator, &binaries));
    CHECK(first == 7 && second == -3 && counts[0] == 1 && counts[1] == 1);
    CHECK(fabs(axis / separation - 1) < 1e-9 && eccentricity < 1e-6);
    CHECK(fabs(period / (6.283185307179586 * separation * sqrt(separation)) - 1) < 1e-9);
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_binary_count(integrator, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

/* Two bodies merge by relativity beside a third one, and the evolution goes on if it is to. */
static void a_binary_merges(int order, int32_t on_collision) {
    const double speed = 110;
    const struct body three[3] = {
        {7, 0, 0.5, {4e-5, 0, 0}, {0, 0.5 * speed, 0}, 0},
        {1000, 0, 1e-3, {1, 0, 0}, {0, 1, 0}, 0},
        {-3, 0, 0.5, {-4e-5, 0, 0}, {0, -0.5 * speed, 0}, 0},
    };
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.subsystem_radius = 1e-3;
    options.speed_of_light = 1000;
    options.on_collision = on_collision;
    kyoho_integrator *integrator = made(order, options, 1);
    const kyoho_bodies bodies = bodies_of(three, 3);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.03125, NULL, &evolution));
    const int merges = on_collision == KYOHO_ON_COLLISION_MERGE;
    CHECK(evolution.end == (merges ? KYOHO_EVOLUTION_END_TIME : KYOHO_EVOLUTION_END_ENCOUNTER));
    CHECK(evolution.encounter_count == 1 && (evolution.time == 0.03125 || !merges));
    int64_t first = 0, second = 0, identifiers[2] = {0, 0};
    int32_t kind = 0;
    kyoho_encounters encounters = KYOHO_ENCOUNTERS_INIT;
    encounters.capacity = 1;
    encounters.kinds.data = &kind, encounters.first.data = &first, encounters.second.data = &second;
    GIVES(KYOHO_OK, kyoho_integrator_encounters(integrator, &encounters));
    CHECK(kind == KYOHO_ENCOUNTER_MERGER && first == 7 && second == -3);
    GIVES(KYOHO_OK, kyoho_integrator_identifiers(integrator, 2, identifiers));
    CHECK(identifiers[0] == 7 && identifiers[1] == 1000);
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
    options.subsystem_radius = 0;
    kyoho_options system = KYOHO_OPTIONS_INIT;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_create(&system, &options, &integrator));
    options.speed_of_light = 0, options.on_collision = 2;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_create(&system, &options, &integrator));
}

/* Two bodies that fall into each other without softening get an energy from rounding, and are named. */
static void a_passage_changes_an_energy(int order) {
    make_circle();
    for (int i = 0; i < 2; i++) b[i].v[1] = 0;
    kyoho_integrator *integrator = made(order, (kyoho_integrator_options)KYOHO_INTEGRATOR_OPTIONS_INIT, 1);
    const kyoho_bodies bodies = bodies_of(b, 2);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 1, NULL, NULL));
    kyoho_integration found = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &found));
    CHECK(found.energy_jumps == 0 && found.jump_first == 0 && found.jump_distance == 0);
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 2, NULL, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &found));
    CHECK(found.energy_jumps >= 1 && found.jump_first == 7 && found.jump_second == -3);
    CHECK(fabs(found.jump_energy) > 10);
    CHECK(fabs(found.jump_time - 1.11) < 0.01 && found.jump_distance < 1e-3 && found.jump_step < 1e-3);
    CHECK(found.jump_limited_steps <= found.limited_steps);
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

static void bodies_collide_and_merge(int order) {
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.eta = 0.01;
    kyoho_integrator *integrator = made(order, options, 1);
    make_circle();
    for (int i = 0; i < 2; i++) b[i].v[1] = 0, b[i].radius = 0.1;
    kyoho_bodies bodies = bodies_of(b, 3);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 10, NULL, &evolution));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_ENCOUNTER && evolution.encounter_count == 1);
    int32_t kind = 0;
    int64_t first = 0, second = 0;
    double distance = 0, when = 0;
    kyoho_encounters encounters = KYOHO_ENCOUNTERS_INIT;
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_integrator_encounters(integrator, &encounters));
    encounters.capacity = 1;
    encounters.kinds.data = &kind, encounters.first.data = &first, encounters.second.data = &second;
    encounters.distances.data = &distance, encounters.times.data = &when;
    GIVES(KYOHO_OK, kyoho_integrator_encounters(integrator, &encounters));
    CHECK(kind == KYOHO_ENCOUNTER_COLLISION && first == 7 && second == -3 && distance < 0.2 && distance > 0.1);
    CHECK(when <= evolution.time && when > evolution.time - 0.1);

    /* The two become one. */
    const struct body one = {1LL << 40, 0, 1, {0, 0, 0}, {0, 0, 0}, 0.15};
    const int64_t merged[2] = {-3, 7};
    bodies = bodies_of(&one, 1);
    GIVES(KYOHO_OK, kyoho_integrator_remove_bodies(integrator, 2, merged));
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    int64_t left[2];
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_integrator_identifiers(integrator, 1, left));
    GIVES(KYOHO_OK, kyoho_integrator_identifiers(integrator, 2, left));
    CHECK(left[0] == 1000 && left[1] == 1LL << 40);
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, evolution.time + 1, NULL, &evolution));
    CHECK(evolution.end == KYOHO_EVOLUTION_END_TIME && evolution.encounter_count == 0);

    /* A velocity alone is changed. */
    kyoho_bodies change = KYOHO_BODIES_INIT;
    const double velocity[3] = {0, 3, 0};
    change.count = 1, change.identifiers.data = left + 1, change.velocities.data = velocity;
    GIVES(KYOHO_OK, kyoho_integrator_set_bodies(integrator, &change));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, evolution.time + 2, NULL, &evolution));
    struct body found[2];
    kyoho_body_states states = states_of(found, 2);
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(found[1].x[1] - 6) < 1e-9 && found[1].radius == 0.15);
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

/* A cluster in a box evolves with the same bits on any number of threads. */
static void threads_change_no_bit(int order) {
    static struct body first[N], second[N];
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.softening = 0.05, options.approach_distance = 1e-9;
    uint64_t seed = 5;
    for (int i = 0; i < N; i++) {
        b[i].identifier = 3 * i, b[i].mass = 1.0 / N, b[i].radius = 0;
        for (int k = 0; k < 3; k++) b[i].x[k] = draw(&seed), b[i].v[k] = 0.3 * draw(&seed);
    }
    const kyoho_bodies bodies = bodies_of(b, N);
    for (int threads = 1; threads <= 3; threads += 2) {
        kyoho_integrator *integrator = made(order, options, threads);
        const kyoho_body_states states = states_of(threads == 1 ? first : second, N);
        double before[2], after[2];
        GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
        GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &before[0], &before[1]));
        GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.5, NULL, NULL));
        GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &after[0], &after[1]));
        CHECK(fabs(after[0] + after[1] - before[0] - before[1]) < 1e-5 && fabs(after[0] - before[0]) > 1e-3);
        GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
        GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
    }
    CHECK(memcmp(first, second, sizeof first) == 0);
}

/* A body without mass in the field of a point and in one that the text describes. */
static void fields_act_on_bodies(int order) {
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.gravity = 4;
    const struct body round = {.identifier = 6, .mass = 2, .x = {1, 0, 0}, .v = {0, 2, 0}};
    const kyoho_bodies bodies = bodies_of(&round, 1);
    kyoho_integrator *integrator = made(order, options, 1);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    const double mass = 1, strength[3] = {0, 0, 3};
    GIVES(KYOHO_OK, kyoho_integrator_add_field(integrator, "point_mass", "mass", 1, &mass));
    double energy, kinetic, potential;
    GIVES(KYOHO_OK, kyoho_integrator_field_energy(integrator, &energy));
    GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &kinetic, &potential));
    CHECK(energy == -8 && kinetic == 4 && potential == -8);
    /* A quarter of a circle. */
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.78539816339744831, NULL, NULL));
    struct body found;
    const kyoho_body_states states = states_of(&found, 1);
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(found.x[0]) < 1e-4 && fabs(found.x[1] - 1) < 1e-4 && found.x[2] == 0);
    const char *push = "pair push\nparam strength: vec3<f64>\nresult acceleration: vec3<f64> sum\n"
                       "body\n  acceleration += strength\n";
    GIVES(KYOHO_OK, kyoho_integrator_add_field(integrator, push, "strength", 3, strength));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.8, NULL, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(found.x[2] / (1.5 * 0.0146018 * 0.0146018) - 1) < 1e-3);

    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_add_field(integrator, NULL, NULL, 0, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_add_field(integrator, "point_mass", "mass", 1, NULL));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_field(integrator, "point_mas", "mass", 1, &mass));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_field(integrator, "point_mass", NULL, 0, NULL));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_field(integrator, "point_mass", "mas", 1, &mass));
    GIVES(KYOHO_BAD_COUNT, kyoho_integrator_add_field(integrator, "point_mass", "mass", -1, &mass));
    GIVES(KYOHO_BAD_COUNT, kyoho_integrator_add_field(integrator, "point_mass", "mass", 3, strength));
    GIVES(KYOHO_BAD_TEXT, kyoho_integrator_add_field(integrator, "pair p\n", NULL, 0, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_field_energy(integrator, NULL));
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrator_add_field(NULL, "point_mass", "mass", 1, &mass));
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrator_field_energy(NULL, &energy));
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

/* Two bodies on a circle that a law alone holds, and one that it does not concern. */
static void laws_act_between_bodies_of_groups(int order) {
    const char *law = "pair spring\ni pos: vec3<f64>\nj pos: vec3<f64>, mass: f64\nparam stiffness: f64\n"
                      "result potential: f64 sum\nbody\n"
                      "  potential += 0.5 * stiffness * j.mass * norm2(j.pos - i.pos)\n";
    const struct body given[3] = {{.identifier = 1, .mass = 1, .x = {1, 0, 0}, .v = {0, 2, 0}},
                                  {.identifier = 2, .mass = 1, .x = {-1, 0, 0}, .v = {0, -2, 0}},
                                  {.identifier = 3, .mass = 1, .x = {0, 9, 0}, .v = {0, 0, 0}}};
    const int32_t groups[3] = {0, 0, 1};
    kyoho_bodies bodies = bodies_of(given, 3);
    bodies.groups.data = groups;
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.gravity = 1e-9;
    kyoho_integrator *integrator = made(order, options, 1);
    int32_t group;
    GIVES(KYOHO_OK, kyoho_integrator_add_group(integrator, 0, &group));
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    const double stiffness = 2;
    GIVES(KYOHO_OK, kyoho_integrator_add_law(integrator, law, "stiffness", 1, &stiffness, 1, 1));
    double energy, kinetic, potential;
    GIVES(KYOHO_OK, kyoho_integrator_law_energy(integrator, &energy));
    CHECK(energy == 4);
    GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &kinetic, &potential));
    CHECK(kinetic == 4 && fabs(potential - 4) < 1e-8);
    /* Half of a circle, of which the angular velocity is 2. */
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 1.57079632679489662, NULL, NULL));
    struct body found[3];
    const kyoho_body_states states = states_of(found, 3);
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(found[0].x[0] + 1) < 1e-3 && fabs(found[1].x[0] - 1) < 1e-3 && fabs(found[2].x[1] - 9) < 1e-6);

    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_add_law(integrator, NULL, NULL, 0, NULL, 0, 0));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_add_law(integrator, law, "stiffness", 1, NULL, 0, 0));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_law(integrator, law, NULL, 0, NULL, 0, 0));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_law(integrator, law, "stiffness", 1, &stiffness, 4, 0));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_law(integrator, law, "stiffness", 1, &stiffness, 0, -1));
    GIVES(KYOHO_BAD_COUNT, kyoho_integrator_add_law(integrator, law, "stiffness", -1, &stiffness, 0, 0));
    GIVES(KYOHO_BAD_TEXT, kyoho_integrator_add_law(integrator, "plummer", NULL, 0, NULL, 0, 0));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_law_energy(integrator, NULL));
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrator_add_law(NULL, law, "stiffness", 1, &stiffness, 0, 0));
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrator_law_energy(NULL, &energy));
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

/* The potential and the acceleration of a spring, and its jerk; what is asked is counted. */
static int32_t spring(void *context, int32_t value, double time, int32_t count, const double *positions,
                      const double *velocities, const double *accelerations, double *values) {
    ++((int *)context)[value];
    CHECK(time >= 0 && (accelerations != NULL) == (value == KYOHO_FIELD_VALUE_JERK));
    for (int32_t i = 0; i < count; i++) {
        const double *x = positions + 3 * i, *v = velocities + 3 * i;
        if (value == KYOHO_FIELD_VALUE_POTENTIAL) values[i] = (x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) / 2;
        for (int k = 0; k < 3 && value != KYOHO_FIELD_VALUE_POTENTIAL; k++)
            values[3 * i + k] = value == KYOHO_FIELD_VALUE_JERK ? -v[k] : -x[k];
    }
    return 0;
}

/* A body in a field whose centre moves with it, and one at the spring of a function. */
static void fields_move_and_may_be_functions(int order) {
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    const struct body rests = {.identifier = 6, .mass = 2, .x = {1, 0, 0}, .v = {0, 0.25, 0}};
    const kyoho_bodies bodies = bodies_of(&rests, 1);
    kyoho_integrator *integrator = made(order, options, 1);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    const double mass = 5, times[2] = {0, 2}, falling[2] = {1, 1}, path[6] = {1, 0, 0, 1, 0.5, 0};
    const double velocities[6] = {0, 0.25, 0, 0, 0.25, 0}, numbers[2] = {5, 1};
    GIVES(KYOHO_OK, kyoho_integrator_add_moving_field(integrator, "plummer", "mass radius", 2, numbers, 2, times,
                                                      path, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_add_moving_field(integrator, "plummer", "mass radius", 2, numbers, 2, times,
                                                      path, velocities));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 1, NULL, NULL));
    struct body found;
    const kyoho_body_states states = states_of(&found, 1);
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(found.x[0] - 1) < 1e-14 && fabs(found.x[1] - 0.25) < 1e-14);
    WRONG(KYOHO_BAD_OPTION, "'plummer' is '3'; allowed: 0 to 2", integrator,
          kyoho_integrator_evolve(integrator, 3, NULL, NULL));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_moving_field(integrator, "point_mass", "mass", 1, &mass, 2,
                                                              falling, path, NULL));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_moving_field(integrator, "point_mass", "mass", 1, &mass, 1, times,
                                                              path, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_add_moving_field(integrator, "point_mass", "mass", 1, &mass, 2,
                                                                 times, NULL, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));

    int asked[3] = {0, 0, 0};
    double energy;
    int64_t needed;
    integrator = made(order, options, 1);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_add_field_function(integrator, NULL, NULL, 1));
    if (order > 4) {
        GIVES(KYOHO_BAD_OPTION, kyoho_integrator_add_field_function(integrator, spring, asked, 1));
    } else {
        GIVES(KYOHO_OK, kyoho_integrator_add_field_function(integrator, spring, asked, 1));
        GIVES(KYOHO_OK, kyoho_integrator_field_energy(integrator, &energy));
        CHECK(energy == 1);
        /* Half of a period. */
        GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 3.14159265358979324, NULL, NULL));
        GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
        CHECK(fabs(found.x[0] + 1) < 1e-3 && fabs(found.x[1]) < 1e-3);
        CHECK(asked[0] == 1 && asked[1] > 10 && (asked[2] > 10) == (order == 4));
        char state[4096];
        GIVES(KYOHO_BAD_OPTION, kyoho_integrator_state(integrator, state, sizeof state, &needed));
    }
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

static void units_have_a_gravitational_constant(void) {
    double gravity = 0;
    GIVES(KYOHO_OK, kyoho_gravitational_constant("kpc 1e10Msun km/s", &gravity));
    CHECK(fabs(gravity / 43009.1727 - 1) < 1e-9);
    GIVES(KYOHO_BAD_OPTION, kyoho_gravitational_constant("kpc Msun", &gravity));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_gravitational_constant(NULL, &gravity));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_gravitational_constant("SI", NULL));
}

static void whatever_is_wrong_is_an_error(void) {
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_integrator_options given = KYOHO_INTEGRATOR_OPTIONS_INIT;
    kyoho_integrator *integrator = (kyoho_integrator *)&options;
    options.order = 2;
    WRONG(KYOHO_BAD_OPTION, "dt_max is '0'; allowed: above 0 in order 2", integrator,
          kyoho_integrator_create(&options, &given, &integrator));
    CHECK(!integrator);
    options.order = 4, options.accuracy = 1e-3;
    GIVES(KYOHO_UNSUPPORTED, kyoho_integrator_create(&options, &given, &integrator));
    options.accuracy = 0, options.scope = KYOHO_SCOPE_REGULAR;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_create(&options, &given, &integrator));
    options.scope = 0, given.softening = -1;
    WRONG(KYOHO_BAD_OPTION, "softening is '-1'", integrator,
          kyoho_integrator_create(&options, &given, &integrator));
    given.softening = 0, given.criterion = 3;
    WRONG(KYOHO_BAD_OPTION, "kyoho_integrator_options.criterion is '3'", integrator,
          kyoho_integrator_create(&options, &given, &integrator));
    given.criterion = KYOHO_STEP_CRITERION_AVERAGE;
    WRONG(KYOHO_BAD_OPTION, "criterion is 'average'; allowed: average in orders 6 and 8", integrator,
          kyoho_integrator_create(&options, &given, &integrator));
    given.criterion = KYOHO_STEP_CRITERION_USUAL;
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_create(&options, &given, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_create(NULL, NULL, &integrator));

    make_circle();
    kyoho_bodies bodies = bodies_of(b, 3);
    b[2].identifier = 7;
    WRONG(KYOHO_BAD_OPTION, "the identifier of body 2 to be added is '7'", integrator,
          kyoho_integrator_add_bodies(integrator, &bodies));
    b[2].identifier = 8, b[1].mass = -1;
    WRONG(KYOHO_BAD_OPTION, "the mass of body -3 is '-1'", integrator,
          kyoho_integrator_add_bodies(integrator, &bodies));
    b[1].mass = 0.5, b[1].x[2] = NAN;
    WRONG(KYOHO_NOT_FINITE, "the position of body -3 is NaN", integrator,
          kyoho_integrator_add_bodies(integrator, &bodies));
    b[1].x[2] = 0, bodies.masses.data = NULL;
    WRONG(KYOHO_NULL_ARGUMENT, "kyoho_bodies.masses", integrator,
          kyoho_integrator_add_bodies(integrator, &bodies));
    kyoho_integration integration = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &integration));
    CHECK(integration.body_count == 0);
    bodies.masses.data = &b->mass;
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));

    const int64_t unknown = 5;
    WRONG(KYOHO_BAD_OPTION, "the identifier is '5'", integrator,
          kyoho_integrator_remove_bodies(integrator, 1, &unknown));
    struct body found[4];
    kyoho_body_states states = states_of(found, 4);
    WRONG(KYOHO_BAD_COUNT, "kyoho_body_states.count is 4; allowed: 0 to 3", integrator,
          kyoho_integrator_get_bodies(integrator, &states));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_get_bodies(integrator, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.125, NULL, NULL));
    WRONG(KYOHO_BAD_OPTION, "the time to evolve to is '0.1'; allowed: from 0.125 on", integrator,
          kyoho_integrator_evolve(integrator, 0.1, NULL, NULL));
    kyoho_evolve_options ends = KYOHO_EVOLVE_OPTIONS_INIT;
    ends.block_steps = -1;
    GIVES(KYOHO_BAD_COUNT, kyoho_integrator_evolve(integrator, 1, &ends, NULL));
    ends.block_steps = 0, ends.progress_seconds = -1;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrator_evolve(integrator, 1, &ends, NULL));
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    evolution.structure_size = 3;
    WRONG(KYOHO_BAD_OPTION, "kyoho_evolution.structure_size is '3'", integrator,
          kyoho_integrator_evolve(integrator, 1, NULL, &evolution));
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &integration));
    CHECK(integration.time == 0.125);
    b[0].radius = INFINITY;
    WRONG(KYOHO_NOT_FINITE, "the radius of body 7 is inf", integrator,
          kyoho_integrator_set_bodies(integrator, &bodies));
    b[0].radius = 0;

    /* Bodies at one place, and then apart again. */
    states.count = 3;
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    bodies.count = 1, bodies.positions.data = found[1].x;
    GIVES(KYOHO_OK, kyoho_integrator_set_bodies(integrator, &bodies));
    WRONG(KYOHO_NOT_FINITE, "bodies 7 and -3 have the same position", integrator,
          kyoho_integrator_evolve(integrator, 1, NULL, NULL));
    bodies.positions.data = found[0].x;
    GIVES(KYOHO_OK, kyoho_integrator_set_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 1, NULL, NULL));

    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrator_free(integrator));
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrator_evolve(NULL, 1, NULL, NULL));
    CHECK(strstr(kyoho_last_error(), "is not an integrator"));
}

/* An integrator that gets the state of another goes on with the same bits. */
static void states_go_on_elsewhere(int order) {
    static char state[4096];
    struct body found[2][3];
    int64_t needed = 0;
    const kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    kyoho_integrator *one = made(order, options, 1), *other = made(order, options, 1);
    make_circle();
    const kyoho_bodies bodies = bodies_of(b, 3);
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(one, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_evolve(one, 0.5, NULL, NULL));
    GIVES(KYOHO_BUFFER_TOO_SMALL, kyoho_integrator_state(one, NULL, 0, &needed));
    CHECK(needed > 0 && needed <= (int64_t)sizeof state);
    GIVES(KYOHO_BAD_COUNT, kyoho_integrator_state(one, state, -1, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_state(one, NULL, needed, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_state(one, state, needed, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrator_set_state(other, NULL, needed));
    WRONG(KYOHO_BAD_OPTION, "the state is '8'; allowed: the bytes that kyoho_integrator_state gave", other,
          kyoho_integrator_set_state(other, state, 8));
    GIVES(KYOHO_OK, kyoho_integrator_set_state(other, state, needed));
    kyoho_integrator *both[] = {one, other};
    for (int k = 0; k < 2; k++) {
        kyoho_body_states states = states_of(found[k], 3);
        memset(found[k], 0, sizeof found[k]);
        GIVES(KYOHO_OK, kyoho_integrator_evolve(both[k], 1.25, NULL, NULL));
        kyoho_integration integration = KYOHO_INTEGRATION_INIT;
        GIVES(KYOHO_OK, kyoho_integrator_describe(both[k], &integration));
        states.count = integration.body_count;
        CHECK(integration.time == 1.25 && states.count == 3);
        GIVES(KYOHO_OK, kyoho_integrator_get_bodies(both[k], &states));
        GIVES(KYOHO_OK, kyoho_integrator_free(both[k]));
    }
    CHECK(memcmp(found[0], found[1], sizeof found[0]) == 0);
}

/* Two massive bodies on a circle, which do not feel a third one of a group with its own softening. */
static void groups_feel_one_another_or_not(int order) {
    make_circle();
    b[2].mass = 5, b[2].x[0] = 1, b[2].x[1] = 1, b[2].x[2] = 0;
    kyoho_integrator_options options = KYOHO_INTEGRATOR_OPTIONS_INIT;
    options.eta = 0.01;
    kyoho_integrator *integrator = made(order, options, 1);
    const int32_t groups[3] = {0, 0, 1};
    int32_t group = 9, feels[2] = {7, 7};
    double softening = 9, kinetic = 0, potential = 0;
    GIVES(KYOHO_OK, kyoho_integrator_add_group(integrator, 0.5, &group));
    CHECK(group == 1);
    GIVES(KYOHO_OK, kyoho_integrator_set_feels(integrator, 0, 1, 0));
    kyoho_bodies bodies = bodies_of(b, 3);
    bodies.groups.data = groups;
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &kinetic, &potential));
    /* Squares of softenings are halved in pairs, and each pair counts once. */
    const double expected = -0.25 - 2.5 / sqrt(0.25 + 1 + 0.125) - 2.5 / sqrt(2.25 + 1 + 0.125);
    CHECK(fabs(potential - expected) < 1e-14);
    kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 1.0, NULL, &evolution));
    struct body found[3] = {{0}};
    int32_t found_groups[3] = {9, 9, 9};
    double softenings[3] = {9, 9, 9};
    kyoho_body_states states = states_of(found, 3);
    states.groups.data = found_groups, states.softenings.data = softenings;
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(fabs(found[0].x[0] - 0.5 * cos(1)) < 1e-4 && fabs(found[1].x[1] + 0.5 * sin(1)) < 1e-4);
    CHECK(found[2].x[0] < 0.9);
    CHECK(found_groups[1] == 0 && found_groups[2] == 1 && softenings[0] == 0 && softenings[2] == 0.5);
    GIVES(KYOHO_OK, kyoho_integrator_group(integrator, 0, &softening, 2, feels));
    CHECK(softening == 0 && feels[0] == 1 && feels[1] == 0);
    GIVES(KYOHO_OK, kyoho_integrator_group(integrator, 1, NULL, 0, NULL));

    /* A softening of each body makes groups. */
    const double given[3] = {0.5, 0.25, 0.25};
    bodies = (kyoho_bodies)KYOHO_BODIES_INIT;
    bodies.count = 3, bodies.softenings.data = given;
    bodies.identifiers.data = &b[0].identifier, bodies.identifiers.stride = sizeof b[0];
    GIVES(KYOHO_OK, kyoho_integrator_set_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    CHECK(found_groups[0] == 2 && found_groups[1] == 3 && found_groups[2] == 3 && softenings[1] == 0.25);
    kyoho_integration integration = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &integration));
    CHECK(integration.group_count == 4);

    WRONG(KYOHO_BAD_OPTION, "the softening of a group is '-1'", integrator,
          kyoho_integrator_add_group(integrator, -1, &group));
    WRONG(KYOHO_NULL_ARGUMENT, "group", integrator, kyoho_integrator_add_group(integrator, 1, NULL));
    WRONG(KYOHO_BAD_OPTION, "the other group is '4'; allowed: 0 to 3", integrator,
          kyoho_integrator_set_feels(integrator, 0, 4, 1));
    WRONG(KYOHO_BAD_OPTION, "feels is '2'", integrator, kyoho_integrator_set_feels(integrator, 0, 0, 2));
    WRONG(KYOHO_BUFFER_TOO_SMALL, "the array of feels", integrator,
          kyoho_integrator_group(integrator, 0, NULL, 3, feels));
    WRONG(KYOHO_BAD_OPTION, "the group is '-1'", integrator,
          kyoho_integrator_group(integrator, -1, NULL, 0, NULL));
    bodies.groups.data = groups;
    WRONG(KYOHO_BAD_OPTION, "given beside a group", integrator, kyoho_integrator_set_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

/* Twenty bodies with twenty softenings, which are more than there are groups. */
static void each_body_has_a_softening(int order) {
    enum { COUNT = 20 };
    struct body all[COUNT] = {{0}}, found[COUNT] = {{0}};
    double given[COUNT], softenings[COUNT], kinetic = 0, potential = 0, expected = 0;
    for (int i = 0; i < COUNT; i++) {
        all[i].identifier = i, all[i].mass = 0.05, all[i].x[0] = sin(1.7 * i), all[i].x[1] = sin(2.9 * i);
        given[i] = 0.1 + 0.02 * i;
        for (int k = 0; k < i; k++) {
            const double x = all[i].x[0] - all[k].x[0], y = all[i].x[1] - all[k].x[1];
            const double softening2 = (given[i] * given[i] + given[k] * given[k]) / 2;
            expected -= all[i].mass * all[k].mass / sqrt(x * x + y * y + softening2);
        }
    }
    kyoho_integrator *integrator = made(order, (kyoho_integrator_options)KYOHO_INTEGRATOR_OPTIONS_INIT, 1);
    kyoho_bodies bodies = bodies_of(all, COUNT);
    bodies.softenings.data = given;
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &kinetic, &potential));
    CHECK(kinetic == 0 && fabs(potential / expected - 1) < 1e-13);
    kyoho_body_states states = states_of(found, COUNT);
    states.softenings.data = softenings;
    GIVES(KYOHO_OK, kyoho_integrator_get_bodies(integrator, &states));
    for (int i = 0; i < COUNT; i++) CHECK(softenings[i] == given[i]);
    GIVES(KYOHO_OK, kyoho_integrator_evolve(integrator, 0.25, NULL, NULL));
    GIVES(KYOHO_OK, kyoho_integrator_energies(integrator, &kinetic, &potential));
    CHECK(kinetic > 1e-3 && fabs((kinetic + potential) / expected - 1) < 1e-4);
    kyoho_integration integration = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(integrator, &integration));
    CHECK(integration.group_count == 1);
    given[7] = -1;
    WRONG(KYOHO_BAD_OPTION, "the softening of body 7 is '-1'", integrator,
          kyoho_integrator_set_bodies(integrator, &bodies));
    GIVES(KYOHO_OK, kyoho_integrator_free(integrator));
}

int main(void) {
    for (int order = 2; order <= 8; order += 2) {
        bodies_reach_any_time(order);
        an_evolution_is_ended(order);
        bodies_collide_and_merge(order);
        if (order > 2) a_passage_changes_an_energy(order);
        if (order > 2) a_binary_is_a_subsystem(order);
        if (order > 2) a_binary_merges(order, KYOHO_ON_COLLISION_END);
        if (order > 2) a_binary_merges(order, KYOHO_ON_COLLISION_MERGE);
        each_body_has_a_softening(order);
        threads_change_no_bit(order);
        states_go_on_elsewhere(order);
        groups_feel_one_another_or_not(order);
        fields_act_on_bodies(order);
        laws_act_between_bodies_of_groups(order);
        fields_move_and_may_be_functions(order);
    }
    units_have_a_gravitational_constant();
    whatever_is_wrong_is_an_error();
    return failures != 0;
}
