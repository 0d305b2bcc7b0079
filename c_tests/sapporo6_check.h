/* Common functions of the programs that test the interfaces of order 6: bodies with derivatives,
   and slow sums in long double. */
#ifndef SAPPORO6_CHECK_H
#define SAPPORO6_CHECK_H

#include "old_check.h"

/* A body: its position and the plain derivatives of it up to the fifth, at a time. */
struct body {
    int id;
    double mass, time, eps2, d[6][3];
};

/* Makes bodies in a cube of side 2 whose derivatives are of the size of the cube. Body k has id
   first_id + 7 k. */
static void make_moving(struct body *b, int n, int first_id)
{
    int k, q, c;
    for (k = 0; k < n; k++) {
        b[k].id = first_id + 7 * k;
        b[k].mass = (0.5 + uniform()) / n;
        b[k].time = 0.25 * uniform();
        b[k].eps2 = 0.0;
        for (q = 0; q < 6; q++)
            for (c = 0; c < 3; c++) b[k].d[q][c] = 2.0 * uniform() - 1.0;
    }
}

/* Returns the q-th derivative of a body's path at a time. */
static long double path(const struct body *b, int q, int c, double t)
{
    long double value = 0, dt = (long double)t - b->time;
    int k;
    for (k = 5; k >= q; k--) value = value * dt / (k - q + 1) + b->d[k][c];
    return value;
}

/* Returns the body at a time. Its own time stays. */
static struct body moved(const struct body *b, double t)
{
    struct body at = *b;
    int q, c;
    for (q = 0; q < 3; q++)
        for (c = 0; c < 3; c++) at.d[q][c] = (double)path(b, q, c, t);
    return at;
}

struct sixth {
    double acc[3], jrk[3], snp[3], phi, nearest_r2;
    int nearest;
};

/* The softening of the pairs of a sum. */
enum softening { OF_SINK, OF_SOURCE };

/* Computes the force of all bodies with another id on a sink. Bodies and sink are taken as they
   are. */
static struct sixth sum(const struct body *b, int n, const struct body *sink, enum softening softening)
{
    long double acc[3] = {0}, jrk[3] = {0}, snp[3] = {0}, phi = 0, least = INFINITY;
    struct sixth f;
    int j, c;
    f.nearest = -1;
    for (j = 0; j < n; j++) {
        long double r[3], v[3], a[3], r2 = 0, rv = 0, v2 = 0, ra = 0, s2, w, alpha, beta;
        if (b[j].id == sink->id) continue;
        for (c = 0; c < 3; c++) {
            r[c] = (long double)b[j].d[0][c] - sink->d[0][c];
            v[c] = (long double)b[j].d[1][c] - sink->d[1][c];
            a[c] = (long double)b[j].d[2][c] - sink->d[2][c];
            r2 += r[c] * r[c];
            rv += r[c] * v[c];
            v2 += v[c] * v[c];
            ra += r[c] * a[c];
        }
        if (r2 < least) {
            least = r2;
            f.nearest = b[j].id;
        }
        s2 = r2 + (softening == OF_SINK ? sink->eps2 : b[j].eps2);
        if (s2 == 0) continue;
        w = b[j].mass / (s2 * sqrtl(s2));
        /* With s2' = 2 rv and s2'' = 2 (v2 + ra), these are the derivatives of r s2^(-3/2). */
        alpha = -3 * rv / s2;
        beta = 15 * rv * rv / (s2 * s2) - 3 * (v2 + ra) / s2;
        for (c = 0; c < 3; c++) {
            acc[c] += w * r[c];
            jrk[c] += w * (v[c] + alpha * r[c]);
            snp[c] += w * (a[c] + 2 * alpha * v[c] + beta * r[c]);
        }
        phi -= b[j].mass / sqrtl(s2);
    }
    for (c = 0; c < 3; c++) {
        f.acc[c] = (double)acc[c];
        f.jrk[c] = (double)jrk[c];
        f.snp[c] = (double)snp[c];
    }
    f.phi = (double)phi;
    f.nearest_r2 = (double)least;
    return f;
}

/* Returns the allowed error. The precision is double unless the environment names another. */
static double allowed(void)
{
    return precision_is("mixed") ? 1e-5 : 1e-12;
}

static int near_to(double a, double b)
{
    return fabs(a - b) <= 10 * allowed() * fabs(b);
}

#endif
