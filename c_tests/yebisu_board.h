/* Common functions of the programs that test Yebisu's interface. */
#ifndef YEBISU_BOARD_H
#define YEBISU_BOARD_H

#include <yebisu.h>

#include "sapporo6_check.h"

static int set_body(int addr, struct body *b)
{
    return set_jp_2(addr, b->d[0], b->d[1], b->d[2], b->d[3], b->d[4], b->d[5], b->mass, b->time, b->id, b->eps2);
}

static void set_bodies(struct body *b, int n)
{
    int k;
    for (k = 0; k < n; k++) set_body(k, b + k);
}

static predictor sink_of(const struct body *b)
{
    predictor p;
    memcpy(p.pos, b->d[0], sizeof p.pos);
    memcpy(p.vel, b->d[1], sizeof p.vel);
    memcpy(p.acc, b->d[2], sizeof p.acc);
    p.mass = NAN;
    p.id = b->id;
    p.eps2 = b->eps2;
    return p;
}

enum { MOST = 400 };

static Force force[MOST];

/* Computes the force on sinks, which are taken as they are. Before, the forces hold garbage, to
   which nothing may be added. */
static int forces_on(const struct body *sinks, int ni, int nj, enum softening softening)
{
    static predictor pred[MOST];
    int i;
    memset(force, 0x41, sizeof force);
    for (i = 0; i < ni; i++) pred[i] = sink_of(sinks + i);
    return softening == OF_SINK ? calc_force_on_predictors(ni, pred, force, nj)
                                : calc_force_on_predictors_epsj(ni, pred, force, nj);
}

/* Whether the last force on some sinks is the sum over some bodies. */
static int forces_are(const struct body *b, int n, const struct body *sinks, int ni, enum softening softening)
{
    double worst = 0;
    int i, others = 1;
    for (i = 0; i < ni; i++) {
        struct sixth f = sum(b, n, sinks + i, softening);
        worst = fmax(worst, difference(force[i].acc, f.acc));
        worst = fmax(worst, difference(force[i].jrk, f.jrk));
        worst = fmax(worst, difference(force[i].snp, f.snp));
        others &= near_to(force[i].phi, -f.phi) && force[i].nnb_id == f.nearest;
        others &= f.nearest < 0 ? isinf(force[i].nnb_r2) : fabs(force[i].nnb_r2 / f.nearest_r2 - 1) < 1e-4;
    }
    return worst < 10 * allowed() && others;
}

/* Whether a force has no number that could be taken for one. */
static int failed(const Force *f)
{
    int c, nan = isnan(f->phi) && isnan(f->nnb_r2) && f->nnb_id == -1;
    for (c = 0; c < 3; c++) nan &= isnan(f->acc[c]) && isnan(f->jrk[c]) && isnan(f->snp[c]);
    return nan;
}

#endif
