/* A program on NBODY6's interface that forks with the board in use. The board stays its own, and
   a child opens another. */
#include <nbody6.h>

#include "forks.h"

enum { N = 200, ROW = 20 };

static struct bodies b;
static double h2[N], step[N], acc[N][3], jerk[N][3], pot[N], first[N][3];
static int list[N][ROW];

static int forces(void)
{
    int ni = N, lmax = ROW, nbmax = ROW - 1;
    return gpunb_regf_(&ni, h2, step, b.x, b.v, acc, jerk, pot, &lmax, &nbmax, list[0]);
}

static int send_bodies(void)
{
    int nj = N;
    return gpunb_send_(&nj, b.mass, b.x, b.v);
}

static void child(void)
{
    int n = N;
    PROMISE("sources are refused", send_bodies() != 0);
    PROMISE("with the reason", one_line("gpunb_send", "fork of process", "open one in this process with gpunb_open"));
    PROMISE("forces fail", forces() != 0);
    PROMISE("and are NaN", isnan(acc[0][0]) && isnan(jerk[N - 1][2]) && isnan(pot[0]));
    said();
    PROMISE("potentials, which bring their bodies with them, do not", gpupot_(&n, b.mass, b.x, pot) == 0 && pot[0] > 0);
    PROMISE("a child may open a board of its own", gpunb_open_(&n) == 0);
    PROMISE("and get forces", send_bodies() == 0 && forces() == 0 && memcmp(acc, first, sizeof acc) == 0);
    PROMISE("and close it", gpunb_close_() == 0);
    PROMISE("without a word", said()[0] == 0);
}

int main(void)
{
    int k, n = N;
    b = make_bodies(N, 1);
    for (k = 0; k < N; k++) h2[k] = 0.01 / b.mass[k];
    gpunb_open_(&n);
    PROMISE("forces before the fork", send_bodies() == 0 && forces() == 0 && gpupot_(&n, b.mass, b.x, pot) == 0);
    memcpy(first, acc, sizeof acc);
    in_a_fork("a child", child);
    PROMISE("the parent goes on", forces() == 0 && memcmp(acc, first, sizeof acc) == 0);
    gpunb_close_();
    free_bodies(&b);
    return finish();
}
