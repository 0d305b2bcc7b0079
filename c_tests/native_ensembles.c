/* Integrators that evolve at the same time, each to a time of its own: none changes the bits of another,
   and an error of one is no other's. */
#include "native_check.h"

enum { COUNT = 11, MOST = 600 };

struct body {
    int64_t identifier;
    double mass, x[3], v[3];
};

static const int orders[COUNT] = {4, 6, 4, 8, 2, 4, 4, 6, 4, 8, 2};
static const int counts[COUNT] = {70, 65, 1, 33, 40, 0, MOST, 300, 2, 20, 1};

/* Makes an integrator of n bodies, which are the same for the same seed. */
static kyoho_integrator *made(int order, int n, uint64_t seed) {
    static struct body b[MOST];
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_integrator_options given = KYOHO_INTEGRATOR_OPTIONS_INIT;
    kyoho_integrator *integrator = NULL;
    options.order = order, options.threads = 1;
    given.softening = 0.05, given.dt_max = order == 2 ? 1.0 / 64 : 0;
    GIVES(KYOHO_OK, kyoho_integrator_create(&options, &given, &integrator));
    for (int i = 0; i < n; i++) {
        b[i].identifier = 100 + i, b[i].mass = 1.0 / n;
        for (int k = 0; k < 3; k++) b[i].x[k] = draw(&seed), b[i].v[k] = 0.3 * draw(&seed);
    }
    kyoho_bodies bodies = KYOHO_BODIES_INIT;
    bodies.count = n;
    bodies.identifiers.data = &b->identifier, bodies.identifiers.stride = sizeof *b;
    bodies.masses.data = &b->mass, bodies.masses.stride = sizeof *b;
    bodies.positions.data = b->x, bodies.positions.stride = sizeof *b;
    bodies.velocities.data = b->v, bodies.velocities.stride = sizeof *b;
    GIVES(KYOHO_OK, kyoho_integrator_add_bodies(integrator, &bodies));
    return integrator;
}

static void make_all(kyoho_integrator *all[COUNT]) {
    for (int k = 0; k < COUNT; k++) all[k] = made(orders[k], counts[k], 7 + (uint64_t)k);
}

static void free_all(kyoho_integrator *all[COUNT]) {
    for (int k = 0; k < COUNT; k++) GIVES(KYOHO_OK, kyoho_integrator_free(all[k]));
}

/* Whether all bodies of two integrators have the same bits. */
static int are_alike(kyoho_integrator *one, kyoho_integrator *other, int n) {
    static struct body read[2][MOST];
    memset(read, 0, sizeof read);
    for (int k = 0; k < 2; k++) {
        kyoho_body_states states = KYOHO_BODY_STATES_INIT;
        states.count = n;
        states.positions.data = read[k]->x, states.positions.stride = sizeof **read;
        states.velocities.data = read[k]->v, states.velocities.stride = sizeof **read;
        GIVES(KYOHO_OK, kyoho_integrator_get_bodies(k ? other : one, &states));
    }
    return !memcmp(read[0], read[1], sizeof read[0]);
}

/* Evolves an integrator by itself. On a GPU few bodies have the forces of the CPU then, so that it is an
   ensemble of one there. */
static kyoho_result evolve_alone(kyoho_integrator *one, double time, const kyoho_evolve_options *options,
                                 kyoho_evolution *evolution) {
    const char *backend = getenv("KYOHO_BACKEND");
    if (!backend || !strcmp(backend, "cpu")) return kyoho_integrator_evolve(one, time, options, evolution);
    return kyoho_integrators_evolve(1, &one, &time, options, evolution, NULL);
}

static void each_has_the_bits_that_it_has_alone(void) {
    kyoho_integrator *together[COUNT], *alone[COUNT];
    make_all(together), make_all(alone);
    double times[COUNT];
    kyoho_evolution evolutions[COUNT];
    int32_t results[COUNT];
    for (int part = 1; part <= 3; part++) {
        for (int k = 0; k < COUNT; k++) {
            times[k] = part * (0.05 + 0.01 * k), results[k] = -1;
            evolutions[k] = (kyoho_evolution)KYOHO_EVOLUTION_INIT;
        }
        GIVES(KYOHO_OK, kyoho_integrators_evolve(COUNT, together, times, NULL, evolutions, results));
        for (int k = 0; k < COUNT; k++) {
            kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
            GIVES(KYOHO_OK, evolve_alone(alone[k], times[k], NULL, &evolution));
            CHECK(results[k] == KYOHO_OK && !memcmp(&evolution, &evolutions[k], sizeof evolution));
            CHECK(evolutions[k].time == times[k] && are_alike(together[k], alone[k], counts[k]));
        }
    }
    /* What is told may be left out. */
    for (int k = 0; k < COUNT; k++) times[k] += 0.01;
    GIVES(KYOHO_OK, kyoho_integrators_evolve(COUNT, together, times, NULL, NULL, NULL));
    GIVES(KYOHO_OK, evolve_alone(alone[0], times[0], NULL, NULL));
    CHECK(are_alike(together[0], alone[0], counts[0]));
    GIVES(KYOHO_OK, kyoho_integrators_evolve(0, NULL, NULL, NULL, NULL, NULL));
    free_all(together), free_all(alone);
}

static void options_hold_for_each(void) {
    kyoho_integrator *all[COUNT], *alone[COUNT];
    make_all(all), make_all(alone);
    double times[COUNT];
    kyoho_evolution evolutions[COUNT];
    kyoho_evolve_options options = KYOHO_EVOLVE_OPTIONS_INIT;
    options.block_steps = 3;
    for (int k = 0; k < COUNT; k++) times[k] = 0.5, evolutions[k] = (kyoho_evolution)KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrators_evolve(COUNT, all, times, &options, evolutions, NULL));
    for (int k = 0; k < COUNT; k++) {
        kyoho_evolution evolution = KYOHO_EVOLUTION_INIT;
        GIVES(KYOHO_OK, evolve_alone(alone[k], times[k], &options, &evolution));
        CHECK(!memcmp(&evolution, &evolutions[k], sizeof evolution));
        CHECK(counts[k] < 2 || evolutions[k].end == KYOHO_EVOLUTION_END_BLOCK_STEPS);
    }
    free_all(all), free_all(alone);
}

struct told {
    int calls, most;
};

static int32_t refuses(void *context, double time, uint64_t block_steps) {
    struct told *told = context;
    CHECK(time > 0 && block_steps > 0);
    return ++told->calls >= told->most;
}

static void one_refusal_ends_all(void) {
    kyoho_integrator *all[COUNT];
    make_all(all);
    double times[COUNT];
    kyoho_evolution evolutions[COUNT];
    struct told told = {0, 5};
    kyoho_evolve_options options = KYOHO_EVOLVE_OPTIONS_INIT;
    options.progress = refuses, options.context = &told;
    for (int k = 0; k < COUNT; k++) times[k] = 50, evolutions[k] = (kyoho_evolution)KYOHO_EVOLUTION_INIT;
    GIVES(KYOHO_OK, kyoho_integrators_evolve(COUNT, all, times, &options, evolutions, NULL));
    CHECK(told.calls == told.most);
    for (int k = 0; k < COUNT; k++)
        CHECK(counts[k] < 2 || (evolutions[k].end == KYOHO_EVOLUTION_END_CALLER && evolutions[k].time < 50));
    free_all(all);
}

static void an_error_of_one_is_no_others(void) {
    kyoho_integrator *all[COUNT], *alone;
    make_all(all);
    alone = made(orders[7], counts[7], 7 + 7);
    double times[COUNT];
    int32_t results[COUNT];
    kyoho_evolution evolutions[COUNT];
    for (int k = 0; k < COUNT; k++) times[k] = 0.1, evolutions[k] = (kyoho_evolution)KYOHO_EVOLUTION_INIT;
    times[2] = -1, times[6] = NAN;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrators_evolve(COUNT, all, times, NULL, evolutions, results));
    CHECK(strstr(kyoho_last_error(), "the time to evolve to is '-1'"));
    CHECK(strstr(kyoho_integrator_last_error(all[6]), "NaN"));
    for (int k = 0; k < COUNT; k++) {
        CHECK(results[k] == (k == 2 ? KYOHO_BAD_OPTION : k == 6 ? KYOHO_NOT_FINITE : KYOHO_OK));
        CHECK(evolutions[k].time == (k == 2 || k == 6 ? 0 : 0.1));
    }
    GIVES(KYOHO_OK, evolve_alone(alone, 0.1, NULL, NULL));
    CHECK(are_alike(all[7], alone, counts[7]));
    GIVES(KYOHO_OK, kyoho_integrator_free(alone));
    free_all(all);
}

static void whatever_is_wrong_is_found_before_any_evolves(void) {
    kyoho_integrator *all[COUNT];
    make_all(all);
    double times[COUNT] = {0};
    kyoho_evolve_options options = KYOHO_EVOLVE_OPTIONS_INIT;
    times[0] = 0.1, options.reserved = 1;
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrators_evolve(COUNT, NULL, times, NULL, NULL, NULL));
    GIVES(KYOHO_NULL_ARGUMENT, kyoho_integrators_evolve(COUNT, all, NULL, NULL, NULL, NULL));
    GIVES(KYOHO_BAD_COUNT, kyoho_integrators_evolve(-1, all, times, NULL, NULL, NULL));
    GIVES(KYOHO_BAD_OPTION, kyoho_integrators_evolve(COUNT, all, times, &options, NULL, NULL));
    kyoho_integrator *const last = all[COUNT - 1];
    all[COUNT - 1] = NULL;
    GIVES(KYOHO_BAD_HANDLE, kyoho_integrators_evolve(COUNT, all, times, NULL, NULL, NULL));
    all[COUNT - 1] = last;
    kyoho_evolution evolutions[COUNT] = {KYOHO_EVOLUTION_INIT};
    GIVES(KYOHO_BAD_OPTION, kyoho_integrators_evolve(COUNT, all, times, NULL, evolutions, NULL));
    CHECK(strstr(kyoho_last_error(), "kyoho_evolution.structure_size is '0'"));
    evolutions[0].structure_size = 3;
    GIVES(KYOHO_BAD_OPTION, kyoho_integrators_evolve(COUNT, all, times, NULL, evolutions, NULL));
    kyoho_integration integration = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(all[0], &integration));
    CHECK(integration.time == 0);
    free_all(all);
}

static void one_that_is_named_twice_evolves_once(void) {
    kyoho_integrator *one = made(4, 50, 3), *twice[2] = {one, one};
    const double times[2] = {0.1, 0.1};
    GIVES(KYOHO_OK, kyoho_integrators_evolve(2, twice, times, NULL, NULL, NULL));
    kyoho_integration integration = KYOHO_INTEGRATION_INIT;
    GIVES(KYOHO_OK, kyoho_integrator_describe(one, &integration));
    CHECK(integration.time == 0.1);
    GIVES(KYOHO_OK, kyoho_integrator_free(one));
}

int main(void) {
    each_has_the_bits_that_it_has_alone();
    options_hold_for_each();
    one_refusal_ends_all();
    an_error_of_one_is_no_others();
    whatever_is_wrong_is_found_before_any_evolves();
    one_that_is_named_twice_evolves_once();
    return failures > 0;
}
