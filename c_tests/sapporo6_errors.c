/* Wrong calls of Sapporo2's interface of order 6 give a code, one line on stderr and NaN in
   place of forces, and nothing is lost. */
#include "old_said.h"

#include "sapporo6_board.h"

static struct body good = {1, 1.0, 0, 0, {{1, 0, 0}}}, sinks[2] = {{8, 0, 0, 0, {{0}}}, {9, 0, 0, 0, {{0, 1, 0}}}};

static int failed_rows(int ni)
{
    int i, c, nan = 1;
    for (i = 0; i < ni; i++) {
        for (c = 0; c < 3; c++) nan &= isnan(acc_[i][c]) && isnan(jrk_[i][c]) && isnan(snp_[i][c]) && isnan(crk_[i][c]);
        nan &= isnan(phi_[i]) && isnan(r2_[i]) && nnb_[i] == -1;
    }
    return nan;
}

static int works(void)
{
    return forces_on(sinks, 2, 1) == 0 && acc_[0][0] == 1.0 && !*said();
}

static int fails(const char *what, const char *value)
{
    return forces_on(sinks, 2, 1) != 0 && one_line("calc_force_on_predictors", what, value) && failed_rows(2);
}

static void sources(void)
{
    struct body bad = good;
    double three[3] = {0};
    int id;
    double mass;
    PROMISE("a negative address is refused", set_body(-1, &good) != 0 && one_line("set_j_particle", "address", "-1"));
    PROMISE("and forces go on", works());
    bad.d[5][1] = NAN;
    PROMISE("a crackle that is not a number is refused", set_body(0, &bad) != 0);
    PROMISE("and said", one_line("set_j_particle", "crackle", "NaN"));
    PROMISE("a force in which it takes part is NaN", fails("address 0", "refused"));
    PROMISE("it cannot be picked up",
            pick_up_predictor_2(0, &id, &mass, NULL, NULL, NULL, NULL) != 0 && id == -1 && isnan(mass));
    PROMISE("which is said", one_line("pick_up_predictor_2", "address 0", "refused"));
    PROMISE("a force in which it takes no part is none", forces_on(sinks, 2, 0) == 0 && acc_[0][0] == 0);
    PROMISE("written again, it acts again", set_body(0, &good) == 0 && works());
    PROMISE("so is a null pointer",
            set_j_particle(0, three, three, three, three, NULL, three, 1, 0, 1, 0) != 0 &&
                one_line("set_j_particle", "snp is null", ""));
    set_body(0, &good);
    PROMISE("an address that was never written cannot be picked up",
            pick_up_predictor_2(5, &id, &mass, NULL, NULL, NULL, NULL) != 0 && id == -1 &&
                one_line("pick_up_predictor_2", "addr", "5"));
    PROMISE("nor a negative one",
            pick_up_predictor_2(-5, &id, &mass, NULL, NULL, NULL, NULL) != 0 &&
                one_line("pick_up_predictor_2", "address", "-5"));
    PROMISE("the next force is right", works());
}

static void times(void)
{
    PROMISE("a time that is not finite is refused",
            predict_all(INFINITY, 1) != 0 && one_line("predict_all", "time", "inf"));
    PROMISE("forces are NaN then", fails("time", "refused"));
    PROMISE("until there is another", predict_all(0.0, 1) == 0 && works());
    PROMISE("a negative number of sources is refused",
            predict_all(0.0, -3) != 0 && one_line("predict_all", "nj", "-3"));
    PROMISE("with the same end", fails("time", "refused") && no_predict_all(NAN, 1) == 0 && works());
    PROMISE("in no_predict_all too", no_predict_all(0.0, -1) != 0 && one_line("no_predict_all", "nj", "-1"));
    PROMISE("and its time is not read", no_predict_all(NAN, 0) == 0 && works());
}

static void blocks(void)
{
    double pos[1][3] = {{0}}, row[1][3], one[1] = {0};
    int id[1] = {1};
    PROMISE("a negative nj is an error",
            forces_on(sinks, 2, -4) != 0 && one_line("calc_force", "nj", "-4") && failed_rows(2) && works());
    PROMISE("so is a negative ni, which writes nothing",
            forces_on(sinks, -2, 1) != 0 && one_line("calc_force", "ni", "-2") && phi_[0] == 123 && works());
    sinks[1].d[2][0] = NAN;
    PROMISE("a sink whose acceleration is not a number is one", fails("acceleration of sink 1", "NaN"));
    sinks[1].d[2][0] = 0;
    sinks[1].eps2 = -0.5;
    PROMISE("a negative softening too", fails("softening of sink 1", "-0.5"));
    sinks[1].eps2 = 0;
    PROMISE("and the next force is right", works());
    PROMISE("null in the place of sinks is an error",
            calc_force_on_predictors(1, 1, NULL, pos, pos, pos, one, one, row, row, row, row, one, id, one) != 0 &&
                one_line("calc_force", "ids is null", "") && isnan(row[0][0]) && isnan(one[0]) && id[0] == -1);
    PROMISE("and in the place of results",
            calc_force_on_predictors(1, 1, id, pos, pos, pos, one, one, row, NULL, row, row, one, id, one) != 0 &&
                one_line("calc_force", "jrkNew is null", "") && isnan(row[0][0]) && works());
}

static void devices(void)
{
    int list[1] = {-1};
    PROMISE("devices have numbers from 0 on",
            initialize_special(1, list) != 0 && one_line("initialize_special", "-1", "0 or more"));
    PROMISE("a count of them needs a list",
            initialize_special(1, NULL) != 0 && one_line("initialize_special", "list", "null") && works());
}

int main(void)
{
    listen();
    set_body(0, &good);
    sources();
    times();
    blocks();
    devices();
    return finish();
}
