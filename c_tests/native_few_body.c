/* Systems of few bodies through the native interface: many in one call, what ends one, and whatever
   is wrong is an error that names it and moves nothing. */
#include "native_check.h"

enum { BODIES = 6, SYSTEMS = 3 };

/* Something of the caller's own beside the numbers. */
struct body {
    float colour;
    double mass, x[3], v[3], radius;
};

static struct body b[BODIES];
static const int32_t offsets[SYSTEMS + 1] = {0, 2, 2, 5};

/* Two bodies that fall together, no body, and Burrau's three. */
static void make(void) {
    static const double mass[BODIES] = {0.5, 0.5, 3, 4, 5, 0};
    static const double x[BODIES][2] = {{-1, 0}, {1, 0}, {1, 3}, {-2, -1}, {1, -1}};
    for (int k = 0; k < BODIES; k++) {
        b[k].mass = mass[k], b[k].radius = k < 2 ? 0.25 : 0;
        for (int axis = 0; axis < 3; axis++) b[k].x[axis] = axis < 2 ? x[k][axis] : 0, b[k].v[axis] = 0;
    }
}

static kyoho_few_body_systems systems_of(void) {
    kyoho_few_body_systems systems = KYOHO_FEW_BODY_SYSTEMS_INIT;
    const int64_t stride = sizeof b[0];
    systems.system_count = SYSTEMS;
    systems.offsets.data = offsets;
    systems.masses.data = &b[0].mass, systems.masses.stride = stride;
    systems.positions.data = b[0].x, systems.positions.stride = stride;
    systems.velocities.data = b[0].v, systems.velocities.stride = stride;
    systems.radii.data = &b[0].radius, systems.radii.stride = stride;
    return systems;
}

/* Checks that a call fails like this, with these words, and moves nothing. */
#define WRONG(result, words, call)                                                                      \
    do {                                                                                                \
        make();                                                                                         \
        struct body before[BODIES];                                                                     \
        memcpy(before, b, sizeof b);                                                                    \
        GIVES(result, call);                                                                            \
        if (!strstr(kyoho_last_error(), words) || memcmp(before, b, sizeof b)) {                        \
            failures++;                                                                                 \
            fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", __FILE__, __LINE__, kyoho_last_error(),  \
                    words);                                                                             \
        }                                                                                               \
    } while (0)

static void ends_and_binaries(int threads) {
    kyoho_few_body_options options = KYOHO_FEW_BODY_OPTIONS_INIT;
    kyoho_few_body_systems systems = systems_of();
    kyoho_few_body_outcomes outcomes = KYOHO_FEW_BODY_OUTCOMES_INIT;
    int32_t ends[SYSTEMS], first[SYSTEMS], second[SYSTEMS], companions[BODIES];
    double times[SYSTEMS], axes[BODIES], eccentricities[BODIES];
    make();
    options.time = 70, options.stops_at_collision = 1, options.threads = threads;
    outcomes.ends.data = ends, outcomes.times.data = times;
    outcomes.first_touching.data = first, outcomes.second_touching.data = second;
    outcomes.companions.data = companions;
    outcomes.semi_major_axes.data = axes, outcomes.eccentricities.data = eccentricities;
    GIVES(KYOHO_OK, kyoho_few_body_evolve(&options, &systems, &outcomes));
    CHECK(ends[0] == KYOHO_FEW_BODY_END_COLLISION && first[0] == 0 && second[0] == 1);
    CHECK(times[0] > 0 && times[0] < 3.2 && fabs(b[1].x[0] - b[0].x[0] - 0.5) < 1e-9);
    CHECK(ends[1] == KYOHO_FEW_BODY_END_TIME && times[1] == 70);
    CHECK(ends[2] == KYOHO_FEW_BODY_END_TIME && first[2] == -1 && second[2] == -1);
    CHECK(companions[2] == -1 && companions[3] == 2 && companions[4] == 1);
    CHECK(fabs(axes[3] - 0.5525) < 1e-3 && axes[3] == axes[4] && axes[2] == 0);
    CHECK(fabs(eccentricities[4] - 0.9887) < 1e-3);
    CHECK(b[5].x[0] == 0);
}

static void wrong_arguments(void) {
    kyoho_few_body_options options = KYOHO_FEW_BODY_OPTIONS_INIT, wrong = options;
    kyoho_few_body_systems systems = systems_of();
    const int32_t falling[SYSTEMS + 1] = {0, 2, 1, 5};
    options.time = 1;
    WRONG(KYOHO_NULL_ARGUMENT, "options", kyoho_few_body_evolve(NULL, &systems, NULL));
    WRONG(KYOHO_NULL_ARGUMENT, "systems", kyoho_few_body_evolve(&options, NULL, NULL));
    wrong = options, wrong.tolerance = 1;
    WRONG(KYOHO_BAD_OPTION, "tolerance", kyoho_few_body_evolve(&wrong, &systems, NULL));
    wrong = options, wrong.terms = 16;
    WRONG(KYOHO_BAD_OPTION, "kyoho_few_body_options.terms", kyoho_few_body_evolve(&wrong, &systems, NULL));
    wrong = options, wrong.reserved = 1;
    WRONG(KYOHO_BAD_OPTION, "kyoho_few_body_options.reserved", kyoho_few_body_evolve(&wrong, &systems, NULL));
    kyoho_few_body_outcomes outcomes = KYOHO_FEW_BODY_OUTCOMES_INIT;
    outcomes.reserved = 1;
    WRONG(KYOHO_BAD_OPTION, "kyoho_few_body_outcomes.reserved",
          kyoho_few_body_evolve(&options, &systems, &outcomes));
    wrong = options, wrong.max_steps = -1;
    WRONG(KYOHO_BAD_OPTION, "kyoho_few_body_options.max_steps", kyoho_few_body_evolve(&wrong, &systems, NULL));
    systems.offsets.data = falling;
    WRONG(KYOHO_BAD_COUNT, "offsets[2]", kyoho_few_body_evolve(&options, &systems, NULL));
    systems = systems_of(), systems.masses.data = NULL;
    WRONG(KYOHO_NULL_ARGUMENT, "kyoho_few_body_systems.masses", kyoho_few_body_evolve(&options, &systems, NULL));
    systems = systems_of(), systems.system_count = -1;
    WRONG(KYOHO_BAD_COUNT, "system_count", kyoho_few_body_evolve(&options, &systems, NULL));
    systems = systems_of(), make(), b[3].mass = -1;
    GIVES(KYOHO_BAD_OPTION, kyoho_few_body_evolve(&options, &systems, NULL));
    CHECK(strstr(kyoho_last_error(), "the mass of body 1 of system 2"));
    make(), b[1] = b[0];
    GIVES(KYOHO_BAD_OPTION, kyoho_few_body_evolve(&options, &systems, NULL));
    CHECK(strstr(kyoho_last_error(), "the distance of bodies 0 and 1 of system 0"));
    make(), b[4].v[2] = NAN;
    GIVES(KYOHO_NOT_FINITE, kyoho_few_body_evolve(&options, &systems, NULL));
    systems = systems_of(), systems.system_count = 0;
    GIVES(KYOHO_OK, kyoho_few_body_evolve(&options, &systems, NULL));
}

int main(void) {
    ends_and_binaries(1);
    struct body one[BODIES];
    memcpy(one, b, sizeof b);
    ends_and_binaries(3);
    CHECK(memcmp(one, b, sizeof b) == 0);
    wrong_arguments();
    return failures != 0;
}
