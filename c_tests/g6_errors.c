/* Wrong calls of the GRAPE-6 interface give a code, one line on stderr and NaN in the place of
   forces, and nothing is lost. */
#include "old_said.h"

#include "g6_board.h"

static double x[3] = {1, 0, 0}, acc[2][3], jerk[2][3], pot[2], h2[2];
static double sinks[2][3] = {{0, 0, 0}, {0, 1, 0}}, still[2][3];
static int index_[2] = {8, 9}, nn[2];

static int begin(int nj, int ni)
{
    return g6calc_firsthalf(0, nj, ni, index_, sinks, still, acc, jerk, pot, 0.0, h2);
}

static int end(int ni)
{
    return g6calc_lasthalf2(0, 1, ni, index_, sinks, still, 0.0, h2, acc, jerk, pot, nn);
}

static int failed_rows(int ni)
{
    int k, c, nan = 1;
    for (k = 0; k < ni; k++) {
        for (c = 0; c < 3; c++) nan &= isnan(acc[k][c]) && isnan(jerk[k][c]);
        nan &= isnan(pot[k]) && nn[k] == 0;
    }
    return nan;
}

/* Whether a force that begins wrong ends with NaN, and the next right one with a force. */
static int recovers(void)
{
    int ended = end(2) != 0 && failed_rows(2) && !*said();
    return ended && begin(1, 2) == 0 && end(2) == 0 && acc[0][0] == 1.0;
}

static void sources(void)
{
    double bad[3] = {0, NAN, 0};
    PROMISE("a negative address is refused", set_body(-1, 1, 1.0, x, zero) != 0);
    PROMISE("and said", one_line("g6_set_j_particle", "address", "-1"));
    PROMISE("the others are as they were", begin(1, 2) == 0 && end(2) == 0 && acc[0][0] == 1.0);

    PROMISE("a position that is not a number is refused", set_body(0, 1, 1.0, bad, zero) != 0);
    PROMISE("and said", one_line("g6_set_j_particle", "position", "NaN"));
    PROMISE("a force in which it takes part fails",
            begin(1, 2) != 0 && one_line("g6calc_firsthalf", "address 0", "refused"));
    PROMISE("with NaN in every row", end(2) != 0 && failed_rows(2) && !*said());
    PROMISE("a force in which it takes no part does not", begin(0, 2) == 0 && end(2) == 0 && acc[0][0] == 0.0);
    PROMISE("set again, it acts again",
            set_body(0, 1, 1.0, x, zero) == 0 && begin(1, 2) == 0 && end(2) == 0 && acc[0][0] == 1.0);

    PROMISE("so is an infinite mass",
            set_body(0, 1, INFINITY, x, zero) != 0 && one_line("g6_set_j_particle", "mass", "inf"));
    PROMISE("and a velocity", set_body(0, 1, 1.0, x, bad) != 0 && one_line("g6_set_j_particle", "velocity", "NaN"));
    PROMISE("and a null pointer",
            set_body(0, 1, 1.0, NULL, zero) != 0 && one_line("g6_set_j_particle", "x is null", ""));
    PROMISE("null in the Fortran form too",
            g6_set_j_particle_(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) != 0);
    PROMISE("and said", one_line("g6_set_j_particle", "address is null", ""));
    PROMISE("after such calls the force fails", begin(1, 2) != 0 && *said());
    set_body(0, 1, 1.0, x, zero);
    PROMISE("until all are set again", recovers());
}

static void times(void)
{
    PROMISE("a time that is not finite is refused", g6_set_ti(0, NAN) != 0 && one_line("g6_set_ti", "time", "NaN"));
    PROMISE("forces fail then", begin(1, 2) != 0 && one_line("g6calc_firsthalf", "time", "refused"));
    g6_set_ti(0, 0.0);
    PROMISE("until one is set", recovers());
}

static void blocks(void)
{
    PROMISE("a negative nj is an error", begin(-1, 2) != 0 && one_line("g6calc_firsthalf", "nj", "-1") && recovers());
    PROMISE("a negative ni is an error", begin(1, -2) != 0 && one_line("g6calc_firsthalf", "ni", "-2") && recovers());
    PROMISE("at the end too", begin(1, 2) == 0 && end(-2) != 0 && one_line("g6calc_lasthalf2", "ni", "-2"));
    PROMISE("the force under way is still there", end(2) == 0 && acc[0][0] == 1.0);
    PROMISE("the end without a beginning is an error",
            end(2) != 0 && one_line("g6calc_lasthalf2", "without", "g6calc_firsthalf") && failed_rows(2));
    PROMISE("g6_reset forgets the beginning", begin(1, 2) == 0 && g6_reset(0) == 0 && end(2) != 0 && *said());
    PROMISE("more sinks at the end than at the beginning are an error", begin(1, 1) == 0 && end(2) != 0);
    PROMISE("of which all rows are NaN", one_line("g6calc_lasthalf2", "ni is 2", "0 to 1") && failed_rows(2));
    sinks[1][2] = NAN;
    PROMISE("a sink that is nowhere is an error",
            begin(1, 2) != 0 && one_line("g6calc_firsthalf", "position of sink 1", "NaN"));
    sinks[1][2] = 0;
    PROMISE("and the next force is right", recovers());
    h2[0] = NAN;
    PROMISE("so is a radius that is not a number", begin(1, 2) != 0 && one_line("g6calc_firsthalf", "radius", "NaN"));
    h2[0] = 0;
    PROMISE("and the next force is right", recovers());
    g6calc_firsthalf(0, 1, 2, index_, sinks, still, acc, jerk, pot, -1.0, h2);
    PROMISE("a negative squared softening is an error", one_line("g6calc_firsthalf", "softening", "-1") && recovers());
    g6calc_firsthalf(0, 1, 2, NULL, sinks, still, acc, jerk, pot, 0.0, h2);
    PROMISE("a null array is an error", one_line("g6calc_firsthalf", "index is null", "") && recovers());
    begin(1, 2);
    PROMISE("a null result too", g6calc_lasthalf(0, 1, 2, index_, sinks, still, 0.0, h2, NULL, jerk, pot) != 0);
    PROMISE("of which the other arrays are NaN", one_line("g6calc_lasthalf", "acc is null", "") && isnan(pot[1]));
    PROMISE("null in the place of ni writes nothing",
            g6calc_lasthalf_(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) != 0);
    PROMISE("and is said", one_line("g6calc_lasthalf", "ni is null", ""));
    begin(1, 2);
    end(2);
}

/* Tests a program that has arrays of a fixed length, and was given more pipes than they have
   room for. */
static void short_arrays(void)
{
    static struct { int index[4]; double x[4][3], v[4][3], h2[4]; } room;
    static double long_acc[5][3], long_jerk[5][3], long_pot[5];
    PROMISE("arrays have room for a block",
            g6calc_firsthalf(0, 1, 4, room.index, room.x, room.v, NULL, NULL, NULL, 0.0, room.h2) == 0);
    PROMISE("one that runs into another is an error",
            g6calc_firsthalf(0, 1, 5, room.index, room.x, room.v, NULL, NULL, NULL, 0.0, room.h2) != 0 &&
                one_line("g6calc_firsthalf", "ni is 5; allowed: 0 to 4", "KYOHO_NPIPES=4"));
    PROMISE("and makes forces NaN",
            g6calc_lasthalf(0, 1, 5, room.index, room.x, room.v, 0.0, room.h2, long_acc, long_jerk, long_pot) != 0 &&
                isnan(long_acc[0][0]) && isnan(long_pot[4]));
    PROMISE("in any order of the arrays",
            g6calc_firsthalf(0, 1, 5, (int *)room.h2, room.v, room.x, NULL, NULL, NULL, 0.0, (double *)room.index) != 0 &&
                one_line("g6calc_firsthalf", "ni is 5", "KYOHO_NPIPES"));
    PROMISE("one array may stand for two",
            g6calc_firsthalf(0, 1, 4, room.index, room.x, room.x, NULL, NULL, NULL, 0.0, room.h2) == 0 && !*said());
    PROMISE("and the next force is right", begin(1, 2) == 0 && end(2) == 0 && acc[0][0] == 1.0);
}

static void lists(void)
{
    int length = 5, list[2];
    PROMISE("a sink beyond the last has no list", g6_get_neighbour_list(0, 2, 2, &length, list) == -1 && length == 0);
    PROMISE("and that is said", one_line("g6_get_neighbour_list", "2", "0 to 1"));
    length = 5;
    PROMISE("nor has a negative one", g6_get_neighbour_list(0, -1, 2, &length, list) == -1 && length == 0 && *said());
    PROMISE("a negative room is an error", g6_get_neighbour_list(0, 0, -1, &length, list) == -1 && *said());
    PROMISE("so is no place for the length", g6_get_neighbour_list(0, 0, 2, NULL, list) == -1 && *said());
    begin(1, 2);
    PROMISE("before the end of a force there are no lists", g6_read_neighbour_list(0) < 0 && *said());
    g6_close(0);
    PROMISE("nor after closing",
            g6_read_neighbour_list(0) < 0 && g6_get_neighbour_list(0, 0, 2, &length, list) < 0 && *said());
}

static void devices(void)
{
    int list[1] = {-1};
    PROMISE("devices have numbers from 0 on", g6_open_special(1, list) != 0 && one_line("g6_open_special", "-1", "0 or more"));
    PROMISE("a count of them needs a list", g6_open_special(1, NULL) != 0 && one_line("g6_open_special", "list", "null"));
    PROMISE("the board can be opened then", g6_open(0) == 0 && !*said());
}

static void repetition(void)
{
    int k;
    const char *text;
    for (k = 0; k < 1000; k++) set_body(-1, 1, 1.0, x, zero);
    text = said();
    PROMISE("a failure that is repeated does not fill the disk", lines(text) > 1 && lines(text) <= 101);
    PROMISE("and it is said that more lines are left out", strstr(text, "more are not"));
}

int main(void)
{
    listen();
    set_body(0, 1, 1.0, x, zero);
    sources();
    times();
    blocks();
    short_arrays();
    lists();
    devices();
    repetition();
    return finish();
}
