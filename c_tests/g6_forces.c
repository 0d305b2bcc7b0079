/* Forces of the GRAPE-6 interface: values, prediction, addresses, indices. */
#include "g6_board.h"

static double near(double a, double b)
{
    return fabs(a - b) <= 10 * tolerance() * fabs(b);
}

static void values(void)
{
    enum { N = 700 };
    struct bodies b = make_bodies(N, 1);
    static double acc[N][3], jerk[N][3], pot[N];
    static int nn[N];
    double eps2 = 1e-4, worst_acc = 0, worst_jerk = 0, worst_pot = 0;
    int i, all_bound = 1, all_nearest = 1;
    set_bodies(&b);
    PROMISE("a force calculation returns 0", get_forces(N, N, b.index, b.x, b.v, eps2, NULL, acc, jerk, pot, nn) == 0);
    for (i = 0; i < N; i++) {
        struct force f = reference(&b, b.index[i], b.x[i], b.v[i], eps2);
        worst_acc = fmax(worst_acc, difference(acc[i], f.acc));
        worst_jerk = fmax(worst_jerk, difference(jerk[i], f.jerk));
        worst_pot = fmax(worst_pot, fabs(pot[i] / f.pot - 1));
        all_bound &= pot[i] < 0;
        all_nearest &= nn[i] == f.nearest;
    }
    PROMISE("acc = sum m r / s^3 to the precision in use", worst_acc < tolerance());
    PROMISE("jerk is the whole derivative of acc, undivided", worst_jerk < 10 * tolerance());
    PROMISE("pot = -sum m / s to the precision in use", worst_pot < tolerance());
    PROMISE("potentials are negative", all_bound);
    PROMISE("nn has the index of the nearest source", all_nearest);
    free_bodies(&b);
}

/* A source on the path x + v t + a2 t^2 + j6 t^3 must exert its force from there, and with the
   velocity of the path. */
static void taylor_factors(void)
{
    double x[3] = {1, 2, -1}, v[3] = {0.3, -0.2, 0.5}, acc[3] = {0.7, 0.1, -0.4}, jerk[3] = {-1.2, 0.9, 0.6};
    double a2[3], j6[3], k18[3] = {1e6, -1e6, 1e6}, at_x[3], at_v[3], sink[3] = {0.1, 0.2, 0.3};
    double tj = 4.0, ti = 4.25, dt = ti - tj;
    struct bodies moved;
    struct force expected, found, with_k18;
    int c, index = 5;
    double mass = 2.0;
    for (c = 0; c < 3; c++) {
        a2[c] = acc[c] / 2;
        j6[c] = jerk[c] / 6;
        at_x[c] = x[c] + v[c] * dt + acc[c] * dt * dt / 2 + jerk[c] * dt * dt * dt / 6;
        at_v[c] = v[c] + acc[c] * dt + jerk[c] * dt * dt / 2;
    }
    moved.n = 1;
    moved.index = &index;
    moved.mass = &mass;
    moved.x = &at_x;
    moved.v = &at_v;
    expected = reference(&moved, 9, sink, zero, 0.01);
    g6_set_ti(0, ti);
    g6_set_j_particle(0, 0, index, tj, 0.125, mass, zero, j6, a2, v, x);
    found = force_on(1, 9, sink, zero, 0.01);
    PROMISE("a2 is acceleration / 2 and j6 is jerk / 6", difference(found.acc, expected.acc) < tolerance());
    PROMISE("the source's velocity is predicted too", difference(found.jerk, expected.jerk) < 10 * tolerance());
    g6_set_j_particle(0, 0, index, tj, -3e300, mass, k18, j6, a2, v, x);
    with_k18 = force_on(1, 9, sink, zero, 0.01);
    PROMISE("k18 and dtj change nothing", memcmp(&with_k18, &found, sizeof found) == 0);
    g6_set_j_particle(0, 0, index, tj, 0.0, mass, NULL, j6, a2, v, x);
    with_k18 = force_on(1, 9, sink, zero, 0.01);
    PROMISE("k18 may be null", memcmp(&with_k18, &found, sizeof found) == 0);
    g6_close(0);
}

/* Every calculation uses the addresses below its nj as they are at the call, at the time that
   was set last. */
static void when_sources_are_predicted(void)
{
    double origin[3] = {0, 0, 0}, x[3] = {1, 0, 0}, v[3] = {1, 0, 0}, back[3] = {-1, 0, 0};
    struct force f;
    int index = 9;
    double h2 = 0, acc[3], jerk[3], pot;
    set_body(0, 1, 1.0, x, v);
    f = force_on(1, 9, origin, zero, 0.0);
    PROMISE("the time is 0 until it is set", near(f.acc[0], 1.0));
    g6_set_ti(0, 1.0);
    f = force_on(1, 9, origin, zero, 0.0);
    PROMISE("sources are predicted to the time that was set", near(f.acc[0], 0.25));
    set_body(0, 1, 8.0, x, v);
    f = force_on(1, 9, origin, zero, 0.0);
    PROMISE("a source set after the time is predicted to it", near(f.acc[0], 2.0));
    f = force_on(1, 9, origin, zero, 0.0);
    set_body(1, 2, 1.0, back, back);
    f = force_on(2, 9, origin, zero, 0.0);
    PROMISE("with a larger nj, the further sources are predicted to the same time", near(f.acc[0], 1.75));
    g6calc_firsthalf(0, 2, 1, &index, &origin, &zero, &acc, &jerk, &pot, 0.0, &h2);
    set_body(0, 1, 1.0, x, v);
    g6calc_lasthalf(0, 2, 1, &index, &origin, &zero, 0.0, &h2, &acc, &jerk, &pot);
    PROMISE("a calculation under way sees sources as they were when it began", near(acc[0], 1.75));
    f = force_on(2, 9, origin, zero, 0.0);
    PROMISE("a source set during a calculation is in the next one, predicted", f.acc[0] == 0.0 && near(f.pot, -1.0));
    g6_set_ti(0, 3.0);
    f = force_on(1, 9, origin, zero, 0.0);
    PROMISE("a new time holds from the next calculation on", near(f.acc[0], 0.0625));
    g6_close(0);
}

/* The sources below nj, whatever their order and gaps, exert forces, and no others. */
static void addresses(void)
{
    enum { N = 300, FAR = 300000 };
    struct bodies b = make_bodies(N, 0);
    struct force first, f;
    double x[3] = {0.1, 0.2, 0.3};
    int k, step;
    set_bodies(&b);
    first = force_on(N, -1, x, zero, 0.01);
    g6_close(0);
    for (k = N - 1; k >= 0; k--) set_body(k, b.index[k], b.mass[k], b.x[k], b.v[k]);
    f = force_on(N, -1, x, zero, 0.01);
    PROMISE("addresses may be written in reverse", memcmp(&f, &first, sizeof f) == 0);
    for (k = 0, step = 0; k < N; k++, step = (step + 7) % N)
        set_body(step, b.index[step], b.mass[step], b.x[step], b.v[step]);
    f = force_on(N, -1, x, zero, 0.01);
    PROMISE("addresses may be written again, in any order", memcmp(&f, &first, sizeof f) == 0);
    f = force_on(N / 2, -1, x, zero, 0.01);
    b.n = N / 2;
    first = reference(&b, -1, x, zero, 0.01);
    PROMISE("addresses from nj on do not act", difference(f.acc, first.acc) < tolerance());
    b.n = N;
    first = reference(&b, -1, x, zero, 0.01);
    f = force_on(N, -1, x, zero, 0.01);
    PROMISE("they act again when nj grows", difference(f.acc, first.acc) < tolerance());
    f = force_on(N + 5000, -1, x, zero, 0.01);
    PROMISE("addresses below nj that were never set do not act", difference(f.acc, first.acc) < tolerance());
    PROMISE("and are nobody's neighbours", f.nearest == first.nearest);
    g6_close(0);
    set_body(0, 1, 1.0, b.x[0], zero);
    set_body(5, 2, 1.0, b.x[1], zero);
    set_body(FAR, 3, 1.0, b.x[2], zero);
    b.n = 3;
    b.mass[0] = b.mass[1] = b.mass[2] = 1.0;
    first = reference(&b, -1, x, zero, 0.01);
    f = force_on(FAR + 1, -1, x, zero, 0.01);
    PROMISE("addresses may have gaps and lie beyond 2^18", difference(f.acc, first.acc) < tolerance());
    b.n = N;
    free_bodies(&b);
    g6_close(0);
}

/* A sink does not feel the sources that have its index. Nothing else is left out. */
static void indices(void)
{
    static const int odd[] = {-1, -5, 2147483647, (-2147483647 - 1), 16777216, 16777217, 0};
    double x[3] = {1, 0, 0}, y[3] = {0, 2, 0}, origin[3] = {0, 0, 0};
    struct force f;
    unsigned k, m;
    int two[2] = {7, 7}, nn[2];
    double xs[2][3] = {{0, 0, 0}, {0, 0, 1}}, vs[2][3] = {{0, 0, 0}, {0, 0, 0}}, acc[2][3], jerk[2][3], pot[2];
    set_body(0, 1, 1.0, x, zero);
    set_body(1, 0, 1.0, y, zero);
    f = force_on(2, 0, origin, zero, 0.0);
    PROMISE("the index decides, not the address", near(f.acc[0], 1.0) && f.acc[1] == 0.0);
    set_body(1, 1, 1.0, y, zero);
    f = force_on(2, 1, origin, zero, 0.0);
    PROMISE("all sources with the sink's index are left out", f.acc[0] == 0.0 && f.acc[1] == 0.0 && f.pot == 0.0);
    set_body(1, 7, 1.0, y, zero);
    get_forces(2, 2, two, xs, vs, 0.0, NULL, acc, jerk, pot, nn);
    PROMISE("two sinks may have the same index",
            near(acc[0][0], 1.0) && near(pot[1], -sqrt(0.5)) && nn[0] == 1 && nn[1] == 1);
    for (k = 0; k < sizeof odd / sizeof *odd; k++) {
        for (m = 0; m < sizeof odd / sizeof *odd; m++) {
            set_body(0, odd[k], 1.0, x, zero);
            f = force_on(1, odd[m], origin, zero, 0.0);
            PROMISE("indices are compared as 32-bit integers, negative and large ones too", (f.pot == 0.0) == (k == m));
            PROMISE("a sink of index -1 feels every source of another index", k == m || f.nearest == odd[k]);
        }
    }
    set_body(0, 1, 2.0, x, zero);
    f = force_on(1, 3000, x, zero, 0.25);
    PROMISE("a source at the sink's place gives no acceleration but -m / eps",
            f.acc[0] == 0.0 && f.jerk[0] == 0.0 && near(f.pot, -4.0));
    f = force_on(1, 3000, x, y, 0.0);
    PROMISE("without softening it gives nothing, and no NaN", f.acc[0] == 0.0 && f.jerk[0] == 0.0 && f.pot == 0.0);
    g6_close(0);
}

int main(void)
{
    values();
    taylor_factors();
    when_sources_are_predicted();
    addresses();
    indices();
    return finish();
}
