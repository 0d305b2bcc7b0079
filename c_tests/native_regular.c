/* Regular forces: the forces of all sources but the neighbours of a sink, which are listed. */
#include "native_check.h"

enum { N = 600, SINKS = 60 };
static struct particle p[N];
static const double softening2 = 1e-3;

/* Whether a source is a neighbour of a sink, by the criterion. */
static int is_neighbour(const struct particle *source, const struct particle *sink, double radius2, double step,
                        kyoho_neighbour_criterion criterion) {
    double now = 0, then = 0;
    for (int k = 0; k < 3; k++) {
        double r = source->x[k] - sink->x[k], moved = r + step * (source->v[k] - sink->v[k]);
        now += r * r;
        then += moved * moved;
    }
    return (now < then ? now : then) < radius2 * (criterion == KYOHO_NEIGHBOUR_CRITERION_PLAIN ? 1 : source->mass);
}

static kyoho_system *filled(int precision) {
    kyoho_options options = options_of(4, precision, 0, NULL, 0);
    kyoho_sources sources = sources_of(p, N);
    kyoho_system *system = NULL;
    options.scope = KYOHO_SCOPE_REGULAR;
    GIVES(KYOHO_OK, kyoho_system_create(&options, &system));
    GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
    return system;
}

static void neighbours_are_left_out_and_listed(int precision, kyoho_neighbour_criterion criterion, double part) {
    static struct particle on[SINKS], others[N];
    double radii2[SINKS], steps[SINKS];
    int total = 0;
    kyoho_system *system = filled(precision);
    memcpy(on, p, sizeof on);
    for (int i = 0; i < SINKS; i++) {
        radii2[i] = (i % 4) * (criterion == KYOHO_NEIGHBOUR_CRITERION_PLAIN ? 0.05 : 0.05 * N);
        steps[i] = (i % 5) * 0.1;
    }
    kyoho_sinks sinks = sinks_of(on, SINKS, softening2);
    kyoho_forces forces = forces_of(on);
    sinks.radii2.data = radii2;
    sinks.steps.data = steps;
    sinks.neighbour_criterion = criterion;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    for (int i = 0; i < SINKS; i++) {
        int32_t list[N], count;
        int left = 0, found = 0;
        GIVES(KYOHO_OK, kyoho_system_neighbours(system, i, N, list, &count));
        for (int j = 0; j < N; j++) {
            if (j == i) continue;
            if (is_neighbour(&p[j], &p[i], radii2[i], steps[i], criterion)) {
                CHECK(found < count && list[found] == p[j].index);
                found++;
            } else {
                others[left++] = p[j];
            }
        }
        struct particle expected = p[i];
        sum_force(others, left, softening2, &expected);
        CHECK(count == found && (radii2[i] > 0 || count == 0));
        CHECK(close_to(on[i].acc, expected.acc, part) && close_to(on[i].jerk, expected.jerk, 10 * part));
        CHECK(fabs(on[i].pot - expected.pot) <= part * fabs(expected.pot));
        total += count;
    }
    CHECK(total > SINKS);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

/* Without radii there are no neighbours, and the regular force is the full one. Without steps
   the neighbours are those at the time of the block. */
static void radii_and_steps_may_be_left_out(void) {
    struct particle on = p[5], expected = p[5];
    kyoho_system *system = filled(KYOHO_PRECISION_DOUBLE);
    kyoho_sinks sinks = sinks_of(&on, 1, softening2);
    kyoho_forces forces = forces_of(&on);
    double radius2 = 0.1 * N;
    int32_t list[N], count, found = 0;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    sum_force(p, N, softening2, &expected);
    CHECK(close_to(on.acc, expected.acc, 1e-13));
    sinks.radii2.data = &radius2;
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces)); /* by mass, unless it is said otherwise */
    GIVES(KYOHO_OK, kyoho_system_neighbours(system, 0, N, list, &count));
    for (int j = 0; j < N; j++) found += j != 5 && is_neighbour(&p[j], &p[5], radius2, 0, 0);
    CHECK(count == found && found > 0);
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void errors(void) {
    struct particle on = p[0];
    double distance2, step = NAN;
    kyoho_system *system = filled(KYOHO_PRECISION_DOUBLE);
    kyoho_sinks sinks = sinks_of(&on, 1, softening2);
    kyoho_forces forces = forces_of(&on);
    forces.nearest_distance2.data = &distance2;
    SAYS(KYOHO_BAD_OPTION, "allowed: NULL in a system of regular forces of order 4, which has none", system,
         kyoho_system_force(system, N, &sinks, &forces));
    forces.nearest_distance2.data = NULL, sinks.neighbour_criterion = 3;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.neighbour_criterion is '3'; allowed: 0 (by mass)", system,
         kyoho_system_force(system, N, &sinks, &forces));
    sinks.neighbour_criterion = 0, sinks.steps.data = &step;
    SAYS(KYOHO_NOT_FINITE, "the step of sink 0", system, kyoho_system_force(system, N, &sinks, &forces));
    sinks.steps.stride = 4;
    SAYS(KYOHO_BAD_OPTION, "kyoho_sinks.steps.stride is '4'", system, kyoho_system_force(system, N, &sinks, &forces));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

int main(void) {
    make_particles(p, N, 31);
    for (int criterion = KYOHO_NEIGHBOUR_CRITERION_BY_MASS; criterion <= KYOHO_NEIGHBOUR_CRITERION_PLAIN; criterion++) {
        neighbours_are_left_out_and_listed(KYOHO_PRECISION_DOUBLE, criterion, 1e-13);
        neighbours_are_left_out_and_listed(KYOHO_PRECISION_MIXED, criterion, 1e-5);
    }
    radii_and_steps_may_be_left_out();
    errors();
    return failures != 0;
}
