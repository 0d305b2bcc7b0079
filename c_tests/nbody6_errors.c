/* Wrong calls of NBODY6's interface give a code, one line on stderr, NaN in place of forces, and
 * lists that end the caller's search for radii, and nothing is lost. Right calls succeed,
 * however unusual. */
#include <nbody6.h>

#include "old_said.h"

enum { LMAX = 8, ROWS = 3 };

/* There are three sources on a line and two sinks. The first sink has the first source for a
   neighbour, the second has none. */
static double m[3] = {1, 2, 4}, x[3][3] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}}, v[3][3];
static double h2[2] = {1.5, 0}, dtr[2] = {0, 0}, xi[2][3] = {{0}, {0}}, vi[2][3];
static double acc[ROWS][3], jrk[ROWS][3], pot[ROWS];
static int list[ROWS][LMAX];

static int send(int nj)
{
    return gpunb_send_(&nj, m, x, v);
}

static void clear(void)
{
    int i, k;
    for (i = 0; i < ROWS; i++) {
        pot[i] = 123;
        for (k = 0; k < 3; k++) acc[i][k] = jrk[i][k] = 123;
        for (k = 0; k < LMAX; k++) list[i][k] = 123;
    }
}

static int force(int ni, int lmax, int nbmax)
{
    clear();
    return gpunb_regf_(&ni, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, list[0]);
}

static int near_to(double a, double b)
{
    return fabs(a - b) < 1e-5;
}

static int works(void)
{
    return force(2, LMAX, LMAX - 1) == 0 && list[0][0] == 1 && list[0][1] == 0 && list[1][0] == 0 &&
           near_to(pot[0], 2) && near_to(pot[1], 3) && pot[2] == 123 && !*said();
}

static int rows_are_nan(int ni)
{
    int i, k, nan = 1;
    for (i = 0; i < ni; i++) {
        for (k = 0; k < 3; k++) nan &= isnan(acc[i][k]) && isnan(jrk[i][k]);
        nan &= isnan(pot[i]);
    }
    return nan && pot[ni] == 123;
}

/* Whether a force fails, with a line that gives the reason, and with lists of this many sources. */
static int fails(const char *what, const char *value, int listed)
{
    int i, k, lists = force(2, LMAX, LMAX - 1) != 0;
    for (i = 0; i < 2; i++) {
        lists &= list[i][0] == listed && list[i][listed + 1] == 123;
        for (k = 0; k < listed; k++) lists &= list[i][k + 1] == k;
    }
    return one_line("gpunb_regf", what, value) && rows_are_nan(2) && lists;
}

static void sources(void)
{
    int three = 3;
    PROMISE("a force without sources is an error", fails("gpunb_send", "before", 0));
    PROMISE("which sources end", send(3) == 0 && works());
    PROMISE("a negative number of sources is refused", send(-1) != 0 && one_line("gpunb_send", "nj", "-1"));
    PROMISE("forces are NaN then", fails("gpunb_send", "refused", 0) && send(3) == 0 && works());
    x[1][2] = NAN;
    PROMISE("a position that is not a number is refused", send(3) != 0);
    PROMISE("and said", one_line("gpunb_send", "position of the source at address 1", "NaN"));
    PROMISE("lists are those that no caller answers by calling again", fails("gpunb_send", "refused", 2));
    PROMISE("where there are two sources", send(2) != 0 && *said() && fails("gpunb_send", "refused", 2));
    x[1][2] = 0;
    PROMISE("others may be sent", send(3) == 0 && works());
    v[2][0] = INFINITY;
    PROMISE("so with a velocity", send(3) != 0 && one_line("gpunb_send", "velocity", "inf"));
    v[2][0] = 0;
    m[0] = 1e308;
    PROMISE("and with a mass that is too large", send(3) != 0 && one_line("gpunb_send", "mass", "too large"));
    m[0] = 1;
    PROMISE("null is refused",
            gpunb_send_(&three, m, NULL, v) != 0 && one_line("gpunb_send", "x is null", "") &&
                gpunb_send_(NULL, m, x, v) != 0 && one_line("gpunb_send", "nj is null", ""));
    PROMISE("no sources are none", send(0) == 0 && force(2, LMAX, 7) == 0 && pot[0] == 0 && list[0][0] == 0);
    PROMISE("all is right after that", send(3) == 0 && works());
}

static void sinks(void)
{
    int two = 2, lmax = LMAX, nbmax = LMAX - 1;
    PROMISE("a negative number of sinks writes nothing",
            force(-2, LMAX, 7) != 0 && one_line("gpunb_regf", "ni", "-2") && pot[0] == 123 && list[0][0] == 123);
    PROMISE("nor does none", force(0, LMAX, 7) == 0 && pot[0] == 123 && !*said());
    xi[1][0] = NAN;
    PROMISE("a position that is not a number is an error", fails("position of sink 1", "NaN", 2));
    xi[1][0] = 0;
    h2[0] = NAN;
    PROMISE("so is a radius", fails("radius of sink 0", "NaN", 2));
    h2[0] = 1.5;
    dtr[1] = INFINITY;
    PROMISE("and a step", fails("step of sink 1", "inf", 2));
    dtr[1] = 0;
    PROMISE("and the next force is right", works());
    clear();
    PROMISE("null in the place of sinks is an error",
            gpunb_regf_(&two, h2, NULL, xi, vi, acc, jrk, pot, &lmax, &nbmax, list[0]) != 0 &&
                one_line("gpunb_regf", "dtr is null", "") && rows_are_nan(2));
    clear();
    PROMISE("and in the place of results",
            gpunb_regf_(&two, h2, dtr, xi, vi, acc, NULL, pot, &lmax, &nbmax, list[0]) != 0 &&
                one_line("gpunb_regf", "jrk is null", "") && isnan(acc[1][0]) && list[1][0] == 2);
    clear();
    PROMISE("and of lists",
            gpunb_regf_(&two, h2, dtr, xi, vi, acc, jrk, pot, &lmax, &nbmax, NULL) != 0 &&
                one_line("gpunb_regf", "list is null", "") && rows_are_nan(2));
    PROMISE("and the next force is right", works());
}

static void rooms(void)
{
    PROMISE("a row has one integer at least",
            force(2, 0, 7) != 0 && one_line("gpunb_regf", "lmax", "0") && rows_are_nan(2) && list[0][0] == 123);
    PROMISE("and no fewer", force(2, -8, 7) != 0 && one_line("gpunb_regf", "lmax", "-8") && rows_are_nan(2));
    PROMISE("a negative number of neighbours is an error, and no room for any",
            force(2, LMAX, -1) != 0 && one_line("gpunb_regf", "nbmax", "-1") && rows_are_nan(2) && list[1][0] == 0);
    h2[1] = NAN;
    PROMISE("a failure keeps to the room of lists",
            force(2, LMAX, 1) != 0 && list[0][0] == 1 && list[0][1] == 0 && list[0][2] == 123);
    PROMISE("and to that of rows",
            force(2, 1, 7) != 0 && list[0][0] == 0 && list[0][1] == 0 && list[0][2] == 123 && *said());
    h2[1] = 0;
    PROMISE("rows may have no room", force(2, 1, 7) == 0 && list[0][0] == -1 && list[0][1] == 0);
    PROMISE("and the next force is right", works());
}

static void overlaps(void)
{
    double positions[2][3] = {{0}, {0}}, velocities[2][3] = {{0}, {1, 0, 0}}, radii[2] = {1.5, 0};
    int two = 2, lmax = LMAX, nbmax = LMAX - 1;
    clear();
    PROMISE("results may take the place of sinks",
            gpunb_regf_(&two, radii, dtr, positions, velocities, positions, velocities, radii, &lmax, &nbmax,
                        list[0]) == 0 &&
                near_to(positions[0][0], 0.75) && near_to(positions[1][0], 1.75) && near_to(radii[0], 2));
    PROMISE("and are those of the sinks as they were", near_to(velocities[1][0], 2 * (1 + 0.25 + 0.0625)));
    clear();
    PROMISE("or of one another",
            gpunb_regf_(&two, h2, dtr, xi, vi, acc, acc, pot, &lmax, &nbmax, list[0]) == 0 && near_to(pot[0], 2));
}

static int potentials(int n)
{
    clear();
    return gpupot_(&n, m, x, pot);
}

static void of_all(void)
{
    int three = 3;
    PROMISE("potentials are positive", potentials(3) == 0 && near_to(pot[1], 3) && !*said());
    PROMISE("of no bodies there are none", potentials(0) == 0 && pot[0] == 123);
    PROMISE("nor of a negative number", potentials(-3) != 0 && one_line("gpupot", "n", "-3") && pot[0] == 123);
    m[2] = NAN;
    PROMISE("a mass that is not a number is an error",
            potentials(3) != 0 && one_line("gpupot", "mass", "NaN") && isnan(pot[0]) && isnan(pot[2]));
    m[2] = 4;
    PROMISE("null is one",
            gpupot_(&three, NULL, x, pot) != 0 && one_line("gpupot", "m is null", "") && isnan(pot[0]) &&
                gpupot_(&three, m, x, NULL) != 0 && one_line("gpupot", "pot is null", ""));
    PROMISE("the next are right", potentials(3) == 0 && near_to(pot[1], 3));
    PROMISE("and forces are of what was sent", works());
}

static void closing(void)
{
    int n = -5;
    PROMISE("an open board keeps its sources", gpunb_open_(&n) == 0 && gpunb_devinit_() == 0 && works());
    PROMISE("a closed one does not",
            gpunb_close_() == 0 && gpunb_close_() == 0 && fails("gpunb_send", "before", 0));
    PROMISE("and may be opened again", gpunb_open_(NULL) == 0 && send(3) == 0 && works());
    PROMISE("also by what needs it", gpunb_close_() == 0 && send(3) == 0 && works() && gpunb_close_() == 0);
}

int main(void)
{
    listen();
    sources();
    sinks();
    rooms();
    overlaps();
    of_all();
    closing();
    return finish();
}
