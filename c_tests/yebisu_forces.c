/* Forces of Yebisu's interface that are softened by the sinks: values, prediction, structures,
 * both forms of calls. */
#include <stddef.h>

#include "yebisu_board.h"

enum { N = 250 };

static struct body bodies[N], predicted[N], sinks[N];

static void structures(void)
{
    PROMISE("a predictor is twelve doubles", sizeof(predictor) == 96 && offsetof(predictor, mass) == 72);
    PROMISE("its id is the eleventh", offsetof(predictor, id) == 80 && offsetof(predictor, eps2) == 88);
    PROMISE("a force is ten doubles, an int and a float", sizeof(Force) == 88 && offsetof(Force, phi) == 72);
    PROMISE("in that order", offsetof(Force, nnb_id) == 80 && offsetof(Force, nnb_r2) == 84);
}

static void make_sinks(const struct body *b)
{
    int i;
    for (i = 0; i < N; i++) {
        sinks[i] = b[i];
        sinks[i].eps2 = 1e-3 * (1 + i % 4);
    }
}

static void values(void)
{
    int i;
    double t = 0.40625;
    PROMISE("initialize with any number", initialize(10) == 0 && initialize(0) == 0 && initialize(-1) == 0);
    make_moving(bodies, N, 5);
    for (i = 0; i < N; i++) bodies[i].eps2 = 100.0 + i;
    set_bodies(bodies, N);
    make_sinks(bodies);
    PROMISE("a force returns 0", no_predict_all(t, N) == 0 && forces_on(sinks, N, N, OF_SINK) == 0);
    PROMISE("sources are taken as they were written, softened by the sinks", forces_are(bodies, N, sinks, N, OF_SINK));
    PROMISE("phi is positive", force[0].phi > 0 && force[N - 1].phi > 0);
    for (i = 0; i < N; i++) predicted[i] = moved(bodies + i, t);
    make_sinks(predicted);
    PROMISE("or predicted, each from its own time", predict_all(t, N) == 0 && forces_on(sinks, N, N, OF_SINK) == 0);
    PROMISE("from all of their derivatives", forces_are(predicted, N, sinks, N, OF_SINK));
    PROMISE("nj is that of the force",
            forces_on(sinks, N, 100, OF_SINK) == 0 && forces_are(predicted, 100, sinks, N, OF_SINK));
    PROMISE("without sources forces are 0",
            forces_on(sinks, 2, 0, OF_SINK) == 0 && force[1].phi == 0 && force[1].snp[0] == 0 &&
                force[1].nnb_id == -1 && isinf(force[1].nnb_r2));
}

static void picked_up(void)
{
    predictor one, two;
    double t = 0.5;
    struct body at = moved(bodies + 7, t);
    predict_all(t, N);
    PROMISE("a source can be picked up", pick_up_predictor_2(7, &one) == 0 && pick_up_predictor(7, &two) == 0);
    PROMISE("by both names", memcmp(&one, &two, sizeof one) == 0);
    PROMISE("as it is predicted",
            difference(one.pos, at.d[0]) < 1e-14 && difference(one.vel, at.d[1]) < 1e-14 &&
                difference(one.acc, at.d[2]) < 1e-14);
    PROMISE("with its mass, id and softening", one.mass == at.mass && one.id == at.id && one.eps2 == at.eps2);
    one.eps2 = 0.01;
    PROMISE("and what was picked up is a sink, which does not feel itself",
            calc_force_on_predictors(1, &one, force, 8) == 0 && force[0].nnb_id != at.id && force[0].nnb_id != -1);
    no_predict_all(t, N);
    PROMISE("it can be picked up as it was written",
            pick_up_predictor_2(7, &one) == 0 && difference(one.vel, bodies[7].d[1]) < 1e-15);
}

static void forms(void)
{
    struct body *b = bodies + 3;
    predictor one, two;
    predict_all(0.75, N);
    pick_up_predictor_2(3, &one);
    PROMISE("set_jp has the mass after the address",
            set_jp(3, b->mass, b->d[0], b->d[1], b->d[2], b->d[3], b->d[4], b->d[5], b->time, b->id, b->eps2) == 0);
    pick_up_predictor_2(3, &two);
    PROMISE("and is else set_jp_2", memcmp(&one, &two, sizeof one) == 0);
}

static void ids(void)
{
    struct body one = {16777217, 1.0, 0, 0, {{0, 3, 0}}}, sink = {1, 0, 0, 16.0, {{0}}};
    predictor p = sink_of(&sink);
    no_predict_all(0, 1);
    set_body(0, &one);
    PROMISE("the nearest has r^2 without softening", forces_on(&sink, 1, 1, OF_SINK) == 0 && force[0].nnb_r2 == 9.0f);
    PROMISE("and its whole id", force[0].nnb_id == 16777217 && near_to(force[0].phi, 0.2));
    p.id = 16777217.5;
    PROMISE("the fraction of an id is cut off",
            calc_force_on_predictors(1, &p, force, 1) == 0 && force[0].phi == 0 && force[0].nnb_id == -1);
    p.id = -1;
    PROMISE("an id can be negative", calc_force_on_predictors(1, &p, force, 1) == 0 && near_to(force[0].phi, 0.2));
    PROMISE("special devices are no others on the CPU", initialize_special(-1, NULL) == 0);
}

int main(void)
{
    structures();
    values();
    picked_up();
    forms();
    ids();
    return finish();
}
