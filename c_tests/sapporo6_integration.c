/* A small Hermite integrator of order 6 that calls the library as mi6 does: initialize, set all,
 * no_predict_all and the first force; then for each block step predict_all, the force on the
 * active bodies, and set_j_particle for these. */
#include "sapporo6_board.h"

enum { BODIES = 8 };

static struct body b[BODIES];
static int block_steps;

/* Corrects a body over a step of length 2 h with plain derivatives of the acceleration, by the
 * polynomial of degree 5 through acceleration, jerk and snap at both ends. Afterwards the body
 * has the derivatives at the end. */
static void correct(struct body *p, const double *acc, const double *jrk, const double *snp, double h)
{
    int c;
    for (c = 0; c < 3; c++) {
        double a0 = p->d[2][c], j0 = h * p->d[3][c], s0 = h * h * p->d[4][c];
        double a1 = acc[c], j1 = h * jrk[c], s1 = h * h * snp[c], v0 = p->d[1][c];
        double odd = (j1 + j0 - (a1 - a0)) / 4, c5 = ((s1 - s0) / 2 - 6 * odd) / 8, c3 = odd - 2 * c5;
        double c4 = (s1 + s0 - (j1 - j0)) / 16;
        p->d[1][c] += h * (a0 + a1) - 2 * h / 5 * (j1 - j0) + h / 15 * (s1 + s0);
        p->d[0][c] += h * (v0 + p->d[1][c]) - 2 * h * h / 5 * (a1 - a0) + h * h / 15 * (j1 + j0);
        p->d[2][c] = a1;
        p->d[3][c] = jrk[c];
        p->d[4][c] = snp[c];
        p->d[5][c] = (6 * c3 + 24 * c4 + 60 * c5) / (h * h * h);
    }
}

static double energy(void)
{
    double sum = 0;
    int k;
    no_predict_all(0, BODIES);
    forces_on(b, BODIES, BODIES);
    for (k = 0; k < BODIES; k++) {
        double *v = b[k].d[1];
        sum += b[k].mass * ((v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2 + phi_[k] / 2);
    }
    return sum;
}

static void begin(void)
{
    unsigned long long state = 4711;
    int k, c, pass;
    for (k = 0; k < BODIES; k++) {
        memset(b + k, 0, sizeof b[k]);
        b[k].id = k;
        b[k].mass = 1.0 / BODIES;
        b[k].eps2 = 0.04;
        for (c = 0; c < 3; c++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            b[k].d[0][c] = (double)(state >> 40) / 8388608.0 - 1;
            b[k].d[1][c] = 0.3 * b[k].d[0][(c + 1) % 3];
        }
    }
    /* The snap needs the accelerations of all bodies, so it is right in the second pass. */
    for (pass = 0; pass < 2; pass++) {
        set_bodies(b, BODIES);
        no_predict_all(0, BODIES);
        forces_on(b, BODIES, BODIES);
        for (k = 0; k < BODIES; k++) {
            memcpy(b[k].d[2], acc_[k], sizeof acc_[k]);
            memcpy(b[k].d[3], jrk_[k], sizeof jrk_[k]);
            memcpy(b[k].d[4], snp_[k], sizeof snp_[k]);
        }
    }
    set_bodies(b, BODIES);
}

/* Makes one block step: with the first bodies of half the step, and every second time with all
   bodies. */
static void step(double dt, long number)
{
    int active = number % 2 ? BODIES / 2 : BODIES, pass, k;
    double t = number * dt / 2;
    struct body sinks[BODIES], before[BODIES];
    memcpy(before, b, sizeof b);
    predict_all(t, BODIES);
    for (k = 0; k < active; k++) {
        sinks[k] = b[k];
        pick_up_predictor_2(k, NULL, NULL, NULL, sinks[k].d[0], sinks[k].d[1], sinks[k].d[2]);
    }
    /* The second pass uses the corrected state as the sink, so that an error of the prediction
       has no effect on the step. */
    for (pass = 0; pass < 2; pass++) {
        forces_on(sinks, active, BODIES);
        for (k = 0; k < active; k++) {
            b[k] = before[k];
            correct(b + k, acc_[k], jrk_[k], snp_[k], (t - before[k].time) / 2);
            b[k].time = t;
            sinks[k] = b[k];
        }
    }
    for (k = 0; k < active; k++) set_body(k, b + k);
    block_steps++;
}

/* Returns the relative error of the energy after one unit of time. */
static double drift(double dt)
{
    double before;
    long number;
    begin();
    before = energy();
    for (number = 1; number * dt / 2 <= 1.0; number++) step(dt, number);
    return fabs(energy() / before - 1);
}

int main(void)
{
    double coarse, fine;
    PROMISE("it opens", initialize() == 0);
    coarse = drift(1.0 / 16);
    fine = drift(1.0 / 32);
    PROMISE("energy is kept", coarse < 1e-4 && fine < 1e-6);
    PROMISE("with an error that falls as the sixth power of the step", coarse > 40 * fine);
    PROMISE("in as many block steps as were asked for", block_steps == 32 + 64);
    return finish();
}
