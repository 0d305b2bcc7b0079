/* NBODY6's calls in programs that trap floating-point exceptions, round in another way or have
   no denormals. */
#include "environments.h"

#include <nbody6.h>

/* Enough pairs for several threads. */
enum { N = 1024, NI = 100, ROW = 200 };

static struct bodies b;
static double h2[NI], step[NI];

static struct {
    double acc[NI][3], jerk[NI][3], pot[NI], all_pot[N];
    int list[NI][ROW], status;
} results;

/* The interface opens, starts its threads and closes within the environment. */
static void work(void)
{
    int n = N, ni = NI, lmax = ROW, nbmax = ROW - 1;
    results.status |= gpunb_open_(&n) | gpunb_send_(&n, b.mass, b.x, b.v);
    results.status |= gpunb_regf_(&ni, h2, step, b.x, b.v, results.acc, results.jerk, results.pot, &lmax, &nbmax,
                                  results.list[0]);
    results.status |= gpupot_(&n, b.mass, b.x, results.all_pot);
    results.status |= gpunb_close_();
    PROMISE("nothing is said", !*said());
}

int main(void)
{
    int k;
    listen();
    b = make_bodies(N, 1);
    /* Every third sink has no neighbours, not even itself. */
    for (k = 0; k < NI; k++) h2[k] = k % 3 == 0 ? 0.0 : 0.05 / b.mass[k];
    in_each_environment(work, &results, sizeof results);
    PROMISE("every call is taken", results.status == 0);
    for (k = 0; k < NI; k++) {
        struct force f = reference(&b, b.index[k], b.x[k], b.v[k], 0.0);
        PROMISE("potentials", fabs(results.all_pot[k] + f.pot) < 1e-5 * fabs(f.pot));
        if (k % 3) continue;
        PROMISE("there is no neighbour", results.list[k][0] == 0);
        PROMISE("the force is that of all others", difference(results.acc[k], f.acc) < 1e-5);
    }
    free_bodies(&b);
    return finish();
}
