/* Common functions of the programs that test the old interfaces: promises that are checked,
   bodies, and a slow and obvious force. */
#ifndef OLD_CHECK_H
#define OLD_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static FILE *report = NULL;

/* States a promise and prints it if it is not kept. */
#define PROMISE(text, kept) \
    do { \
        if (!(kept)) { \
            failures++; \
            fprintf(report ? report : stderr, "%s:%d: not kept: %s\n", __FILE__, __LINE__, text); \
        } \
    } while (0)

static int finish(void)
{
    if (failures) fprintf(report ? report : stderr, "%d promises were not kept\n", failures);
    return failures != 0;
}

/* Returns a number between 0 and 1. The series is the same in every run. */
static double uniform(void)
{
    static unsigned long long state = 88172645463325252ULL;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Bodies in a cube of side 2, with velocities of the same size. Body k has index first_index +
   k. */
struct bodies {
    int n;
    int *index;
    double *mass;
    double (*x)[3], (*v)[3];
};

static struct bodies make_bodies(int n, int first_index)
{
    struct bodies b;
    int k, c;
    b.n = n;
    b.index = (int *)malloc(sizeof(int) * (size_t)n);
    b.mass = (double *)malloc(sizeof(double) * (size_t)n);
    b.x = (double(*)[3])malloc(sizeof(double[3]) * (size_t)n);
    b.v = (double(*)[3])malloc(sizeof(double[3]) * (size_t)n);
    for (k = 0; k < n; k++) {
        b.index[k] = first_index + k;
        b.mass[k] = (0.5 + uniform()) / n;
        for (c = 0; c < 3; c++) {
            b.x[k][c] = 2.0 * uniform() - 1.0;
            b.v[k][c] = 2.0 * uniform() - 1.0;
        }
    }
    return b;
}

static void free_bodies(struct bodies *b)
{
    free(b->index);
    free(b->mass);
    free(b->x);
    free(b->v);
}

struct force {
    double acc[3], jerk[3], pot;
    int nearest;
    double nearest_r2;
};

/* Computes the force of all bodies with another index on a body at x, v. */
static struct force reference(const struct bodies *b, int index, const double *x, const double *v, double eps2)
{
    struct force f;
    int j, c;
    memset(&f, 0, sizeof f);
    f.nearest_r2 = INFINITY;
    for (j = 0; j < b->n; j++) {
        double r[3], u[3], r2 = 0, rv = 0, s2, w;
        if (b->index[j] == index) continue;
        for (c = 0; c < 3; c++) {
            r[c] = b->x[j][c] - x[c];
            u[c] = b->v[j][c] - v[c];
            r2 += r[c] * r[c];
            rv += r[c] * u[c];
        }
        if (r2 < f.nearest_r2) {
            f.nearest_r2 = r2;
            f.nearest = b->index[j];
        }
        s2 = r2 + eps2;
        if (s2 == 0) continue;
        w = b->mass[j] / (s2 * sqrt(s2));
        for (c = 0; c < 3; c++) {
            f.acc[c] += w * r[c];
            f.jerk[c] += w * (u[c] - 3 * rv / s2 * r[c]);
        }
        f.pot -= b->mass[j] / sqrt(s2);
    }
    return f;
}

/* Returns |a - b| / |b| of two vectors. */
static double difference(const double *a, const double *b)
{
    double d2 = 0, b2 = 0;
    int c;
    for (c = 0; c < 3; c++) {
        d2 += (a[c] - b[c]) * (a[c] - b[c]);
        b2 += b[c] * b[c];
    }
    return b2 > 0 ? sqrt(d2 / b2) : sqrt(d2);
}

/* Whether the environment asks for this precision. */
static int precision_is(const char *name)
{
    const char *precision = getenv("KYOHO_PRECISION");
    return precision && strcmp(precision, name) == 0;
}

/* Returns the relative error that the precision in use allows a force. */
static double tolerance(void)
{
    return precision_is("double") ? 1e-12 : 1e-5;
}

#endif
