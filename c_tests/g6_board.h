/* Short forms of the GRAPE-6 calls, as clients write them for themselves. */
#ifndef G6_BOARD_H
#define G6_BOARD_H

#include <g6.h>

#include "old_check.h"

static double zero[3] = {0, 0, 0};

/* Writes a body at rest, or in uniform motion, at time 0. */
static int set_body(int address, int index, double mass, double *x, double *v)
{
    return g6_set_j_particle(0, address, index, 0.0, 0.0, mass, zero, zero, zero, v, x);
}

/* Writes all bodies at the addresses 0, 1, ... */
static void set_bodies(struct bodies *b)
{
    int k;
    for (k = 0; k < b->n; k++) set_body(k, b->index[k], b->mass[k], b->x[k], b->v[k]);
}

/* Computes the forces of the first nj addresses on ni sinks. h2 may be null for no neighbour
   lists. */
static int get_forces(int nj, int ni, int *index, double (*x)[3], double (*v)[3], double eps2, double *h2,
                      double (*acc)[3], double (*jerk)[3], double *pot, int *nn)
{
    double *none = calloc((size_t)ni + 1, sizeof(double));
    int status;
    g6calc_firsthalf(0, nj, ni, index, x, v, acc, jerk, pot, eps2, h2 ? h2 : none);
    status = g6calc_lasthalf2(0, nj, ni, index, x, v, eps2, h2 ? h2 : none, acc, jerk, pot, nn);
    free(none);
    return status;
}

/* Returns the force on one sink. */
static struct force force_on(int nj, int index, double *x, double *v, double eps2)
{
    struct force f;
    memset(&f, 0, sizeof f);
    get_forces(nj, 1, &index, (double (*)[3])x, (double (*)[3])v, eps2, NULL, &f.acc, &f.jerk, &f.pot, &f.nearest);
    return f;
}

#endif
