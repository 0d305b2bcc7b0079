/* Wrong calls of Yebisu's interface give a code, one line on stderr and NaN in the place of
   forces, and nothing is lost. */
#include "old_said.h"

#include "yebisu_board.h"

static struct body good = {1, 1.0, 0, 0, {{1, 0, 0}}}, sinks[2] = {{8, 0, 0, 0, {{0}}}, {9, 0, 0, 0, {{0, 1, 0}}}};

static int works(void)
{
    return forces_on(sinks, 2, 1, OF_SINK) == 0 && force[0].acc[0] == 1.0 && forces_on(sinks, 2, 1, OF_SOURCE) == 0 &&
           force[0].acc[0] == 1.0 && !*said();
}

static int fails(const char *what, const char *value)
{
    int both = forces_on(sinks, 2, 1, OF_SINK) != 0 && one_line("calc_force_on_predictors:", what, value) &&
               failed(force) && failed(force + 1);
    return both && forces_on(sinks, 2, 1, OF_SOURCE) != 0 && one_line("calc_force_on_predictors_epsj:", what, value) &&
           failed(force) && failed(force + 1);
}

static void sources(void)
{
    struct body bad = good;
    predictor p;
    PROMISE("a negative address is refused",
            set_body(-1, &good) != 0 && one_line("set_jp_2", "address", "-1") && works());
    bad.d[4][2] = INFINITY;
    PROMISE("so is a snap that is infinite", set_body(0, &bad) != 0 && one_line("set_jp_2", "snap", "inf"));
    PROMISE("and then the force", fails("address 0", "refused"));
    PROMISE("it cannot be picked up",
            pick_up_predictor(0, &p) != 0 && one_line("pick_up_predictor", "address 0", "refused"));
    PROMISE("what is there is no number", isnan(p.pos[0]) && isnan(p.acc[2]) && isnan(p.mass) && p.id == -1);
    PROMISE("so is a null pointer",
            set_jp(0, 1.0, NULL, good.d[1], good.d[1], good.d[1], good.d[1], good.d[1], 0, 1, 0) != 0 &&
                one_line("set_jp", "pos is null", ""));
    PROMISE("written again, it acts again", set_body(0, &good) == 0 && works());
    PROMISE("nothing can be picked up where nothing was written",
            pick_up_predictor_2(3, &p) != 0 && one_line("pick_up_predictor_2", "addr", "3") && isnan(p.mass));
    PROMISE("nor to nowhere", pick_up_predictor_2(0, NULL) != 0 && one_line("pick_up_predictor_2", "pred is null", ""));
}

static void blocks(void)
{
    predictor p = sink_of(sinks);
    PROMISE("a time that is not finite is refused", predict_all(NAN, 1) != 0 && one_line("predict_all", "time", "NaN"));
    PROMISE("and then the force", fails("time", "refused"));
    PROMISE("until there is another", predict_all(0, 1) == 0 && works());
    sinks[1].d[1][0] = NAN;
    PROMISE("a sink's velocity must be a number", fails("velocity of sink 1", "NaN"));
    sinks[1].d[1][0] = 0;
    p.id = 3e9;
    PROMISE("and its id one that a source can have",
            calc_force_on_predictors(1, &p, force, 1) != 0 && one_line("calc_force", "id of sink 0", "3000000000"));
    p.id = NAN;
    PROMISE("which NaN is not", calc_force_on_predictors(1, &p, force, 1) != 0 && one_line("calc_force", "id", "NaN"));
    p.id = 1;
    PROMISE("a negative ni is an error",
            calc_force_on_predictors(-1, &p, force, 1) != 0 && one_line("calc_force", "ni", "-1"));
    PROMISE("so is a negative nj",
            calc_force_on_predictors(1, &p, force, -1) != 0 && one_line("calc_force", "nj", "-1") && failed(force));
    PROMISE("and null for the sinks",
            calc_force_on_predictors_epsj(1, NULL, force, 1) != 0 && one_line("calc_force", "pred is null", "") &&
                failed(force));
    PROMISE("or for the forces",
            calc_force_on_predictors(1, &p, NULL, 1) != 0 && one_line("calc_force", "force is null", ""));
    PROMISE("with no sinks nothing is needed", calc_force_on_predictors(0, NULL, NULL, 1) == 0 && works());
}

/* Unusable softenings are an error if pairs are softened by their source, and have no effect
   otherwise. */
static void softenings_that_soften_nothing(void)
{
    static const double bad[] = {-1, NAN, INFINITY, 1e300};
    static const char *const names[] = {"-1", "NaN", "inf", "1"};
    struct body b = good;
    predictor p;
    int k;
    for (k = 0; k < 4; k++) {
        b.eps2 = bad[k];
        PROMISE("a softening of a source may be any number", set_body(0, &b) == 0 && set_body(1, &good) == 0);
        PROMISE("which is handed back",
                pick_up_predictor_2(0, &p) == 0 && (p.eps2 == bad[k] || (isnan(bad[k]) && isnan(p.eps2))));
        PROMISE("forces that are softened by the sinks do not see it",
                forces_on(sinks, 2, 1, OF_SINK) == 0 && force[0].acc[0] == 1.0 && !*said());
        PROMISE("others fail",
                forces_on(sinks, 2, 2, OF_SOURCE) != 0 &&
                    one_line("_epsj", "eps2 of the source at address 0", names[k]) && failed(force) &&
                    failed(force + 1));
        PROMISE("if the source takes part",
                forces_on(sinks, 2, 0, OF_SOURCE) == 0 && force[0].acc[0] == 0.0 && !*said());
        PROMISE("until it is written with another", set_body(0, &good) == 0 && works());
    }
    b.eps2 = -1;
    set_body(2, &b);
    b.eps2 = 3;
    set_body(1, &b);
    PROMISE("as it may at an address from nj on, beside sources of several softenings",
            forces_on(sinks, 1, 2, OF_SOURCE) == 0 && fabs(force[0].acc[0] - 1.125) < 1e-5 && !*said());
    set_body(1, &good);
    set_body(2, &good);
}

static void softenings(void)
{
    struct body b = good;
    int k;
    for (k = 0; k < 17; k++) {
        b.eps2 = k;
        set_body(k, &b);
    }
    PROMISE("seventeen softenings are too many",
            forces_on(sinks, 2, 17, OF_SOURCE) != 0 && one_line("_epsj", "eps2 of sources is 17", "16") &&
                failed(force));
    PROMISE("but not where sinks soften", forces_on(sinks, 2, 1, OF_SINK) == 0 && force[0].acc[0] == 1.0);
    b.eps2 = 0;
    set_body(16, &b);
    PROMISE("sixteen are not", forces_on(sinks, 2, 1, OF_SOURCE) == 0 && force[0].acc[0] == 1.0 && !*said());
}

int main(void)
{
    listen();
    set_body(0, &good);
    sources();
    blocks();
    softenings_that_soften_nothing();
    softenings();
    return finish();
}
