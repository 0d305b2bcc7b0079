/* The GRAPE-5 interface: accelerations and potentials, softening, addresses. */
#include <g5.h>

#include "old_check.h"

enum { N = 900 };

static double acc[N + 1][3], pot[N + 1];

/* Returns the worst error of the forces on all bodies. The sources are the first n bodies, and
   eps2 is the squared softening of each sink. */
static double worst(const struct bodies *b, int n, const double *eps2)
{
    struct bodies sources = *b;
    double worst = 0, still[3] = {0, 0, 0};
    int k;
    sources.n = n;
    for (k = 0; k < b->n; k++) {
        struct force f = reference(&sources, -1, b->x[k], still, eps2[k]);
        worst = fmax(worst, fmax(difference(acc[k], f.acc), fabs(pot[k] / -f.pot - 1)));
    }
    return worst;
}

static void softening(struct bodies *b)
{
    static double common[N], own[N], own2[N];
    int k;
    for (k = 0; k < N; k++) {
        common[k] = 0.04;
        own[k] = 0.1 + 0.3 * uniform();
        own2[k] = own[k] * own[k];
    }
    g5_set_eps_to_all(0.2);
    g5_set_n(N);
    g5_set_xmj(0, N, b->x, b->mass);
    PROMISE("a force calculation returns 0", g5_calculate_force_on_x(b->x, acc, pot, N) == 0);
    PROMISE("a = sum m r / s^3 and p = +sum m / s, the body itself included", worst(b, N, common) < tolerance());
    g5_set_eps_to_all(5.0);
    g5_set_eps2_to_all(0.04);
    g5_calculate_force_on_x(b->x, acc, pot, N);
    PROMISE("g5_set_eps2_to_all takes the squared length", worst(b, N, common) < tolerance());
    g5_calculate_force_on_xe(b->x, own2, acc, pot, N);
    PROMISE("g5_calculate_force_on_xe takes squared lengths, one for each sink", worst(b, N, own2) < tolerance());
    g5_set_xei(N, b->x, own2);
    g5_run();
    g5_get_force(N, acc, pot);
    PROMISE("g5_set_xei too", worst(b, N, own2) < tolerance());
    g5_set_xi(N, b->x);
    g5_set_eps(N, own);
    g5_run();
    g5_get_force(N, acc, pot);
    PROMISE("g5_set_eps takes lengths that are not squared", worst(b, N, own2) < tolerance());
    g5_set_eps(1, &own[1]);
    own2[0] = own2[1];
    g5_run();
    g5_get_force(N, acc, pot);
    PROMISE("sinks whose lengths are not set keep theirs", worst(b, N, own2) < tolerance());
    g5_set_xi(N, b->x);
    g5_run();
    g5_get_force(N, acc, pot);
    PROMISE("the next sinks have the common one again", worst(b, N, common) < tolerance());
    g5_close();
}

static void addresses(struct bodies *b)
{
    static double common[N], once[N][3], once_pot[N];
    int k, c, untouched = 1;
    for (k = 0; k < N; k++) common[k] = 0.04;
    g5_open();
    g5_set_eps_to_all(0.2);
    g5_set_xmj(0, N, b->x, b->mass);
    g5_set_n(N / 3);
    g5_calculate_force_on_x(b->x, acc, pot, N);
    PROMISE("only the addresses below n act, whether n is set after the sources",
            worst(b, N / 3, common) < tolerance());
    g5_set_n(N + 7000);
    g5_calculate_force_on_x(b->x, once, once_pot, N);
    memcpy(acc, once, sizeof once);
    memcpy(pot, once_pot, sizeof once_pot);
    PROMISE("n may be larger than what was written", worst(b, N, common) < tolerance());
    g5_close();
    g5_set_n(N + 7000);
    g5_set_xmj(0, 5, b->x, b->mass);
    g5_set_xmj(5, N - 5, b->x, b->mass);
    g5_calculate_force_on_x(b->x, acc, pot, N);
    PROMISE("or before; sources may be written in pieces, from the rows of their addresses",
            memcmp(acc, once, sizeof once) == 0);
    g5_close();
    g5_open();
    g5_set_jp(5, N - 5, b->mass, b->x);
    g5_set_jp(0, 5, b->mass, b->x);
    g5_set_n(N + 7000);
    g5_calculate_force_on_x(b->x, acc, pot, N);
    PROMISE("g5_set_jp has the mass first", memcmp(acc, once, sizeof once) == 0);
    PROMISE("a closed interface forgot the sources but not the softening", memcmp(pot, once_pot, sizeof once_pot) == 0);
    for (c = 0; c < 3; c++) acc[10][c] = 777;
    pot[10] = 777;
    g5_set_xi(20, b->x);
    g5_run();
    g5_get_force(10, acc, pot);
    for (c = 0; c < 3; c++) untouched &= acc[10][c] == 777;
    PROMISE("only ni rows are written", untouched && pot[10] == 777);
    g5_get_force(20, acc, pot);
    PROMISE("results can be had again", difference(acc[15], once[15]) < tolerance());
    g5_set_n(0);
    g5_calculate_force_on_x(b->x, acc, pot, 3);
    PROMISE("without sources forces are 0", acc[2][0] == 0.0 && pot[2] == 0.0);
    PROMISE("no sinks, no force", g5_calculate_force_on_x(NULL, NULL, NULL, 0) == 0);
    g5_set_range(-1.0, 1.0, 1e-6);
    PROMISE("a scale of tables is taken", g5_set_eta(2.0) == 0);
    g5_close();
}

static void alone(void)
{
    double x[1][3] = {{1, 2, 3}}, mass = 3.0, a[1][3], p;
    g5_set_xmj(0, 1, x, &mass);
    g5_set_n(1);
    g5_set_eps_to_all(0.5);
    g5_calculate_force_on_x(x, a, &p, 1);
    PROMISE("a body feels its own potential m / eps", a[0][0] == 0.0 && p == 6.0);
    g5_set_eps_to_all(0.0);
    g5_calculate_force_on_x(x, a, &p, 1);
    PROMISE("without softening nothing, and no NaN", a[0][0] == 0.0 && a[0][2] == 0.0 && p == 0.0);
    g5_close();
}

/* Tests both spellings of the Fortran names of the functions for one of many boards. */
static void fortran(struct bodies *b)
{
    static double expected[N][3], expected_pot[N];
    int board = 9, first = 0, n = N, few = 3;
    double eps = 0.25, eps2 = 0.0625, many2[3] = {0.0625, 0.0625, 0.0625}, many[3] = {0.25, 0.25, 0.25}, range = 1;
    g5_open_();
    g5_set_eps_to_all_(&eps);
    g5_set_n_(&n);
    g5_set_xmj_(&first, &n, b->x, b->mass);
    g5_calculate_force_on_x_(b->x, expected, expected_pot, &n);
    g5_set_nMC_(&board, &n);
    g5_set_xmjMC_(&board, &first, &n, b->x, b->mass);
    g5_set_eps2_to_all_(&eps2);
    g5_calculate_force_on_xMC_(&board, b->x, acc, pot, &n);
    PROMISE("names with MC as C writes them", memcmp(acc, expected, sizeof expected) == 0);
    board = 10;
    g5_set_nmc_(&board, &n);
    g5_set_xmjmc_(&board, &first, &n, b->x, b->mass);
    g5_calculate_force_on_xmc_(&board, b->x, acc, pot, &n);
    PROMISE("and in lower case as Fortran writes them", memcmp(acc, expected, sizeof expected) == 0);
    g5_set_jpmc_(&board, &first, &n, b->mass, b->x);
    g5_set_ximc_(&board, &few, b->x);
    g5_runmc_(&board);
    g5_get_forcemc_(&board, &few, acc, pot);
    PROMISE("step by step",
            difference(acc[2], expected[2]) < tolerance() && difference(pot, expected_pot) < tolerance());
    g5_set_xeimc_(&board, &few, b->x, many2);
    g5_set_epsmc_(&board, &few, many);
    g5_runmc_(&board);
    g5_get_forcemc_(&board, &few, acc, pot);
    PROMISE("with the sinks' own softening", difference(acc[2], expected[2]) < tolerance());
    g5_calculate_force_on_xemc_(&board, b->x, many2, acc, pot, &few);
    PROMISE("in one call", difference(acc[2], expected[2]) < tolerance());
    PROMISE("ranges need not be set", g5_set_range_(&range, &range, &range) == 0);
    PROMISE("nor a scale of tables", g5_set_eta_(&range) == 0);
    g5_close_();
}

int main(void)
{
    struct bodies b = make_bodies(N, 0);
    int list[1] = {0};
    PROMISE("clients can make arrays of g5_get_jmemsize", g5_get_jmemsize() >= 65536 && g5_get_jmemsize() <= 262144);
    PROMISE("and of the pipelines", g5_get_number_of_pipelines() >= 1 && g5_get_number_of_pipelines() <= 1024);
    PROMISE("which are all real", g5_get_number_of_real_pipelines() == g5_get_number_of_pipelines());
    PROMISE("there is no bus", g5_get_pcibus_freq() == 0);
    PROMISE("it can be opened on given devices",
            g5_open_special(1, list) == 0 && g5_open() == 0 && g5_close() == 0 && g5_close() == 0);
    softening(&b);
    addresses(&b);
    alone();
    fortran(&b);
    free_bodies(&b);
    return finish();
}
