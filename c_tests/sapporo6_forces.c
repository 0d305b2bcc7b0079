/* Forces of Sapporo2's interface of order 6: values, prediction, softening, neighbours, blocks
 * of any size. */
#include "sapporo6_board.h"

enum { N = 300 };

static struct body bodies[N], predicted[N], sinks[N];

/* Makes sinks at the places of bodies, each with a softening of its own. */
static void make_sinks(const struct body *b)
{
    int i;
    for (i = 0; i < N; i++) {
        sinks[i] = b[i];
        sinks[i].eps2 = 1e-4 * (1 + i % 5);
    }
}

static void without_initialize(void)
{
    struct body one = {3, 2.0, 0.0, 0.0, {{1, 0, 0}}}, sink = {4, 0, 0, 0, {{0}}};
    PROMISE("a force works before initialize, and without a source it is 0",
            forces_on(&sink, 1, 5) == 0 && acc_[0][0] == 0 && phi_[0] == 0 && nnb_[0] == -1 && isinf(r2_[0]));
    PROMISE("a source can be set before initialize", set_body(0, &one) == 0);
    PROMISE("initialize keeps what is there, however often it is called",
            initialize() == 0 && initialize() == 0 && forces_on(&sink, 1, 1) == 0 && acc_[0][0] == 2.0);
    PROMISE("initialize_special does so too on the CPU, which has no list", initialize_special(0, NULL) == 0);
    PROMISE("and a count of devices, of which there is one",
            initialize_special(-1, NULL) == 0 && forces_on(&sink, 1, 1) == 0 && acc_[0][0] == 2.0);
}

static void values(void)
{
    int i;
    double t = 0.3125;
    set_bodies(bodies, N);
    make_sinks(bodies);
    PROMISE("a force returns 0", no_predict_all(0.0, N) == 0 && forces_on(sinks, N, N) == 0);
    PROMISE("no_predict_all takes the sources as they were written, with the sinks' own softenings",
            forces_are(bodies, N, sinks, N));
    for (i = 0; i < N; i++) predicted[i] = moved(bodies + i, t);
    make_sinks(predicted);
    PROMISE("predict_all predicts from all six of them", predict_all(t, N) == 0 && forces_on(sinks, N, N) == 0);
    PROMISE("each source from its own time", forces_are(predicted, N, sinks, N));
    PROMISE("potentials are negative", phi_[0] < 0 && phi_[N - 1] < 0);
    PROMISE("a number of sources in predict_all that is too small or too large does not matter",
            predict_all(t, 1) == 0 && forces_on(sinks, N, N) == 0 && forces_are(predicted, N, sinks, N) &&
                predict_all(t, 100 * N) == 0 && forces_on(sinks, N, N) == 0 && forces_are(predicted, N, sinks, N));
    PROMISE("nj is that of the force", forces_on(sinks, N, N / 3) == 0 && forces_are(predicted, N / 3, sinks, N));
    PROMISE("no_predict_all after predict_all takes them as they were written",
            no_predict_all(t, N) == 0 && forces_on(sinks, N, N) == 0 && forces_are(bodies, N, sinks, N));
    predict_all(t, N);
    for (i = 0; i < N / 2; i++) {
        bodies[i] = moved(bodies + i, t);
        bodies[i].time = t;
        set_body(i, bodies + i);
        predicted[i] = bodies[i];
    }
    PROMISE("a source that is written after predict_all acts as it is at that time",
            forces_on(sinks, N, N) == 0 && forces_are(predicted, N, sinks, N));
}

static void neighbours_and_ids(void)
{
    struct body pair[2] = {{5, 1.0, 0, 0, {{1, 0, 0}}}, {5, 1.0, 0, 0, {{0, 2, 0}}}};
    struct body sink = {5, 0, 0, 0.5, {{0}}};
    no_predict_all(0, 2);
    set_bodies(pair, 2);
    PROMISE("all sources with the sink's id are left out",
            forces_on(&sink, 1, 2) == 0 && acc_[0][0] == 0 && acc_[0][1] == 0 && nnb_[0] == -1 && isinf(r2_[0]));
    sink.id = -1;
    PROMISE("an id that no source has leaves none out",
            forces_on(&sink, 1, 2) == 0 && acc_[0][0] > 0 && acc_[0][1] > 0);
    PROMISE("nnb_r2 is r^2 + eps2", nnb_[0] == 5 && r2_[0] == 1.5);
    pair[1].id = 16777217;
    set_body(1, pair + 1);
    sink.id = 5;
    PROMISE("large ids are exact", forces_on(&sink, 1, 2) == 0 && nnb_[0] == 16777217 && r2_[0] == 4.5);
    sink.eps2 = 0;
    sink.d[0][1] = 2;
    PROMISE("a source at the sink's place without softening gives nothing",
            forces_on(&sink, 1, 2) == 0 && acc_[0][1] == 0 && phi_[0] == 0 && snp_[0][2] == 0);
}

static void any_size(void)
{
    static double same[MOST][3], phi[MOST], mass[MOST], eps2[MOST];
    static int ids[MOST];
    struct body b[MOST];
    int i;
    make_moving(b, MOST, 1);
    set_bodies(b, 10);
    no_predict_all(0, 10);
    for (i = 0; i < MOST; i++) b[i].eps2 = 0.01;
    PROMISE("there can be more sinks than sources", forces_on(b, MOST, 10) == 0 && forces_are(b, 10, b, MOST));
    PROMISE("without sinks nothing is written", forces_on(b, 0, 10) == 0 && phi_[0] == 123 && acc_[0][0] == 123);
    PROMISE("only the rows of the sinks are", forces_on(b, 3, 10) == 0 && phi_[2] != 123 && phi_[3] == 123);
    PROMISE("without sources forces are 0",
            forces_on(b, 2, 0) == 0 && acc_[1][0] == 0 && phi_[1] == 0 && nnb_[1] == -1 && isinf(r2_[1]));
    forces_on(b, MOST, 10);
    for (i = 0; i < MOST; i++) {
        ids[i] = b[i].id;
        eps2[i] = b[i].eps2;
        memcpy(same[i], b[i].d[0], sizeof same[i]);
    }
    {
        static double vel[MOST][3], acc[MOST][3], jrk[MOST][3], snp[MOST][3];
        for (i = 0; i < MOST; i++) {
            memcpy(vel[i], b[i].d[1], sizeof vel[i]);
            memcpy(acc[i], b[i].d[2], sizeof acc[i]);
        }
        PROMISE("results can replace inputs, and crkNew, nnb and nnb_r2 may be null",
                calc_force_on_predictors(MOST, 10, ids, same, vel, acc, mass, eps2, acc, jrk, snp, NULL, eps2, NULL,
                                         NULL) == 0 &&
                    memcmp(acc, acc_, sizeof acc) == 0 && memcmp(eps2, phi_, sizeof phi) == 0 &&
                    memcmp(snp, snp_, sizeof snp) == 0);
    }
}

static void picked_up(void)
{
    struct body b[1], at;
    double mass, eps2, pos[3], vel[3], acc[3], t = 0.75;
    int id;
    make_moving(b, 1, 77);
    b[0].eps2 = 0.125;
    set_body(1000000, b);
    at = moved(b, t);
    predict_all(t, 1);
    PROMISE("a source can be picked up from any address",
            pick_up_predictor_2(1000000, &id, &mass, &eps2, pos, vel, acc) == 0 && id == 77 && mass == b[0].mass &&
                eps2 == 0.125);
    PROMISE("with its predicted position, velocity and acceleration",
            difference(pos, at.d[0]) < 1e-14 && difference(vel, at.d[1]) < 1e-14 && difference(acc, at.d[2]) < 1e-14);
    no_predict_all(t, 1);
    PROMISE("or as it was written",
            pick_up_predictor_2(1000000, &id, &mass, &eps2, pos, vel, acc) == 0 &&
                difference(pos, b[0].d[0]) < 1e-15 && difference(vel, b[0].d[1]) < 1e-15 &&
                difference(acc, b[0].d[2]) < 1e-15);
    b[0].eps2 = -1;
    PROMISE("its softening may be any number, and is handed back",
            set_body(1000000, b) == 0 &&
                pick_up_predictor_2(1000000, &id, &mass, &eps2, pos, vel, acc) == 0 && eps2 == -1);
    b[0].eps2 = NAN;
    PROMISE("or none",
            set_body(1000000, b) == 0 &&
                pick_up_predictor_2(1000000, &id, &mass, &eps2, pos, vel, acc) == 0 && isnan(eps2) && id == 77);
    b[0].eps2 = 0.01;
    PROMISE("and forces do not depend on it", forces_on(b, 1, 1000001) == 0 && !isnan(phi_[0]));
    PROMISE("any of the pointers may be null",
            pick_up_predictor_2(1000000, NULL, NULL, NULL, NULL, NULL, acc) == 0);
}

int main(void)
{
    without_initialize();
    make_moving(bodies, N, 11);
    values();
    neighbours_and_ids();
    any_size();
    picked_up();
    return finish();
}
