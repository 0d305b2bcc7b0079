/* Calls of g6, g5 and the native interface in programs that trap floating-point exceptions,
   round in another way or have no denormals. */
#include "environments.h"

#include <g5.h>
#include <kyoho.h>

#include "g6_board.h"

/* Enough pairs for several threads. */
enum { N = 1024, NI = 100, SYSTEMS = 5 };

static struct bodies b;
static int sinks[NI];
static double zero_radii[NI], softening2;

static struct {
    double acc[NI][3], jerk[NI][3], pot[NI], one_acc[3], one_jerk[3], one_pot;
    int nearest[NI], one_nearest, status;
} g6;

static struct {
    double acc[NI][3], pot[NI];
    int status;
} g5;

static struct {
    double acc[SYSTEMS][NI][3], pot[SYSTEMS][NI];
    int list[NI], count, status;
} native;

/* The interface opens, starts its threads and closes within the environment. */
static void use_g6(void)
{
    static double tiny_x[3] = {1, 0, 0};
    g6.status |= g6_open(0);
    set_bodies(&b);
    g6calc_firsthalf(0, N, NI, sinks, b.x, b.v, g6.acc, g6.jerk, g6.pot, softening2, zero_radii);
    g6.status |= g6calc_lasthalf2(0, N, NI, sinks, b.x, b.v, softening2, zero_radii, g6.acc, g6.jerk, g6.pot, g6.nearest);
    if (precision_is("double")) {
        /* This force is denormal. */
        g6.status |= set_body(0, 1, 1e-310, tiny_x, zero);
        g6calc_firsthalf(0, 1, 1, sinks, (double (*)[3])zero, (double (*)[3])zero, &g6.one_acc, &g6.one_jerk,
                         &g6.one_pot, softening2, zero_radii);
        g6.status |= g6calc_lasthalf2(0, 1, 1, sinks, (double (*)[3])zero, (double (*)[3])zero, softening2, zero_radii,
                                      &g6.one_acc, &g6.one_jerk, &g6.one_pot, &g6.one_nearest);
    }
    g6.status |= g6_close(0);
    PROMISE("nothing is said", !*said());
    PROMISE("a time that is no number is refused", g6_set_ti(0, NAN) != 0 && strstr(said(), "NaN"));
    g6.status |= g6_close(0);
}

static void use_g5(void)
{
    g5.status |= g5_open() | g5_set_n(N) | g5_set_xmj(0, N, b.x, b.mass) | g5_set_eps2_to_all(softening2);
    g5.status |= g5_calculate_force_on_x(b.x, g5.acc, g5.pot, NI);
    PROMISE("nothing is said", !*said());
    PROMISE("a softening whose square overflows is refused", g5_set_eps_to_all(1e200) != 0 && strstr(said(), "inf"));
    g5.status |= g5_set_eps2_to_all(softening2) | g5_close();
}

static void use_native(void)
{
    static const int order[SYSTEMS] = {2, 4, 6, 6, 8}, precision[SYSTEMS] = {0, 0, 2, 3, 3};
    static double nothing[N][3], radii2[NI] = {0.25};
    kyoho_options options = KYOHO_OPTIONS_INIT;
    kyoho_sources sources = KYOHO_SOURCES_INIT;
    kyoho_sinks on = KYOHO_SINKS_INIT;
    int k;
    sources.count = N;
    sources.indices.data = b.index;
    sources.masses.data = b.mass;
    sources.positions.data = b.x[0];
    sources.velocities.data = b.v[0];
    on.count = NI;
    on.softening2 = softening2;
    on.indices.data = sinks;
    on.positions.data = b.x[0];
    on.velocities.data = b.v[0];
    on.accelerations.data = on.jerks.data = nothing[0];
    on.radii2.data = radii2;
    for (k = 0; k < SYSTEMS; k++) {
        kyoho_system *system = NULL;
        kyoho_forces forces = KYOHO_FORCES_INIT;
        forces.accelerations.data = native.acc[k][0];
        forces.potentials.data = native.pot[k];
        options.order = order[k];
        options.precision = precision[k];
        native.status |= kyoho_system_create(&options, &system);
        native.status |= kyoho_system_set_sources(system, &sources);
        native.status |= kyoho_system_force(system, N, &on, &forces);
        if (order[k] == 4) native.status |= kyoho_system_neighbours(system, 0, NI, native.list, &native.count);
        PROMISE("a time that is no number is refused", kyoho_system_set_time(system, NAN) == KYOHO_NOT_FINITE);
        native.status |= kyoho_system_free(system);
    }
}

/* The forces are those of the other bodies: a sink that is a source is left out by its index or,
   without softening, by its place. */
static void forces_are_right(void)
{
    int k;
    for (k = 0; k < NI; k++) {
        struct force f = reference(&b, b.index[k], b.x[k], b.v[k], softening2);
        PROMISE("g6", difference(g6.acc[k], f.acc) < tolerance() && difference(g6.jerk[k], f.jerk) < 10 * tolerance());
        PROMISE("the nearest", sinks[k] != b.index[k] || g6.nearest[k] == f.nearest);
        PROMISE("g5", difference(g5.acc[k], f.acc) < tolerance());
        PROMISE("native", difference(native.acc[1][k], f.acc) < tolerance());
    }
    PROMISE("a denormal force", !precision_is("double") || softening2 > 0 || g6.one_acc[0] == 1e-310);
}

int main(void)
{
    int k;
    listen();
    b = make_bodies(N, 1);
    for (k = 0; k < 2; k++) {
        int sink;
        softening2 = k == 0 ? 0.0 : 1.0 / 64;
        /* Without softening, some sinks have the place of a source and another index. */
        for (sink = 0; sink < NI; sink++) sinks[sink] = b.index[sink] + (k == 0 && sink % 3 == 0 ? N : 0);
        in_each_environment(use_g6, &g6, sizeof g6);
        in_each_environment(use_g5, &g5, sizeof g5);
        in_each_environment(use_native, &native, sizeof native);
        PROMISE("every call is taken", g6.status == 0 && g5.status == 0 && native.status == 0);
        PROMISE("there are neighbours", native.count > 0);
        forces_are_right();
    }
    free_bodies(&b);
    return finish();
}
