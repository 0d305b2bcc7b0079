/* Common functions of the programs that test Sapporo2's interface of order 6. */
#ifndef SAPPORO6_BOARD_H
#define SAPPORO6_BOARD_H

#include <sapporo6.h>

#include "sapporo6_check.h"

static int set_body(int addr, struct body *b)
{
    return set_j_particle(addr, b->d[0], b->d[1], b->d[2], b->d[3], b->d[4], b->d[5], b->mass, b->time, b->id, b->eps2);
}

static void set_bodies(struct body *b, int n)
{
    int k;
    for (k = 0; k < n; k++) set_body(k, b + k);
}

enum { MOST = 400 };

/* The results of the last force, one row for each sink. */
static double acc_[MOST][3], jrk_[MOST][3], snp_[MOST][3], crk_[MOST][3], phi_[MOST], r2_[MOST];
static int nnb_[MOST];

/* Computes the force on sinks, which are taken as they are. Before, the rows hold garbage, to
   which nothing may be added. */
static int forces_on(const struct body *sinks, int ni, int nj)
{
    static double pos[MOST][3], vel[MOST][3], acc[MOST][3], mass[MOST], eps2[MOST];
    static int ids[MOST];
    int i, c;
    for (i = 0; i < MOST; i++) {
        phi_[i] = r2_[i] = 123;
        nnb_[i] = 123;
        for (c = 0; c < 3; c++) acc_[i][c] = jrk_[i][c] = snp_[i][c] = crk_[i][c] = 123;
    }
    for (i = 0; i < ni; i++) {
        ids[i] = sinks[i].id;
        mass[i] = NAN;
        eps2[i] = sinks[i].eps2;
        memcpy(pos[i], sinks[i].d[0], sizeof pos[i]);
        memcpy(vel[i], sinks[i].d[1], sizeof vel[i]);
        memcpy(acc[i], sinks[i].d[2], sizeof acc[i]);
    }
    return calc_force_on_predictors(ni, nj, ids, pos, vel, acc, mass, eps2, acc_, jrk_, snp_, crk_, phi_, nnb_, r2_);
}

/* Whether the last force on some sinks is the sum over some bodies. */
static int forces_are(const struct body *b, int n, const struct body *sinks, int ni)
{
    double worst = 0;
    int i, others = 1;
    for (i = 0; i < ni; i++) {
        struct sixth f = sum(b, n, sinks + i, OF_SINK);
        worst = fmax(worst, difference(acc_[i], f.acc));
        worst = fmax(worst, difference(jrk_[i], f.jrk));
        worst = fmax(worst, difference(snp_[i], f.snp));
        others &= near_to(phi_[i], f.phi) && nnb_[i] == f.nearest;
        others &= f.nearest < 0 ? isinf(r2_[i]) : near_to(r2_[i], f.nearest_r2 + sinks[i].eps2);
        others &= crk_[i][0] == 0 && crk_[i][1] == 0 && crk_[i][2] == 0;
    }
    return worst < 10 * allowed() && others;
}

#endif
