/* Wrong calls of the GRAPE-5 interface give a code, one line on stderr and NaN in the place of
   forces, and nothing is lost. */
#include <limits.h>

#include "old_said.h"

#include <g5.h>

static double x[2][3] = {{1, 0, 0}, {0, 0, 0}}, mass[2] = {1, 0}, a[2][3], p[2];

static int compute(void)
{
    return g5_calculate_force_on_x(x, a, p, 2);
}

static int is_nan(void)
{
    return isnan(a[0][0]) && isnan(a[1][2]) && isnan(p[0]) && isnan(p[1]);
}


static int nearly_right(void)
{
    return compute() == 0 && fabs(a[1][0] * sqrt(1.25) / 0.8 - 1) < tolerance() && !*said();
}

int main(void)
{
    listen();
    g5_set_eps_to_all(0.5);
    g5_set_xmj(0, 2, x, mass);
    PROMISE("the number of sources must be set",
            compute() != 0 && one_line("g5_calculate_force_on_x", "g5_set_n", "") && is_nan());
    PROMISE("it must not be negative", g5_set_n(-1) != 0 && one_line("g5_set_n", "n is -1", "0 to"));
    g5_set_n(2);
    PROMISE("then forces are right", nearly_right());
    PROMISE("g5_get_force needs g5_run",
            (g5_close(), g5_get_force(2, a, p)) != 0 && one_line("g5_get_force", "without", "g5_run") && is_nan());
    g5_set_n(2);
    g5_set_xmj(0, 2, x, mass);
    x[0][1] = NAN;
    PROMISE("a source that is nowhere is refused",
            g5_set_xmj(0, 1, x, mass) != 0 && one_line("g5_set_xmj", "address 0", "NaN"));
    x[0][1] = 0;
    PROMISE("and forces fail",
            compute() != 0 && one_line("g5_calculate_force_on_x", "address 0", "refused") && is_nan());
    g5_set_xmj(0, 1, x, mass);
    PROMISE("until it is set again", nearly_right());
    PROMISE("a null array is refused", g5_set_xmj(0, 2, NULL, mass) != 0 && one_line("g5_set_xmj", "xj is null", ""));
    PROMISE("and forces fail", compute() != 0 && *said() && is_nan());
    g5_set_xmj(0, 2, x, mass);
    PROMISE("until the sources are set again", nearly_right());
    PROMISE("a negative address is refused",
            g5_set_xmj(-1, 1, x, mass) != 0 && one_line("g5_set_xmj", "address", "-1"));
    PROMISE("a negative count too",
            g5_set_xmj(0, -1, x, mass) != 0 && one_line("g5_set_xmj", "nj", "-1") && nearly_right());
    PROMISE("a softening that is not a number is refused",
            g5_set_eps_to_all(NAN) != 0 && one_line("g5_set_eps_to_all", "softening", "NaN"));
    PROMISE("and forces fail", compute() != 0 && *said() && is_nan());
    g5_set_eps_to_all(0.5);
    PROMISE("until one is set", nearly_right());
    PROMISE("an opening angle that no tree takes is refused",
            g5_set_theta(2) != 0 && one_line("g5_set_theta", "theta is '2'", "0 for direct sums, or 0.1 to 1.5"));
    PROMISE("and forces fail",
            compute() != 0 && one_line("g5_calculate_force_on_x", "g5_set_theta", "refused") && is_nan());
    PROMISE("a null one too", g5_set_theta_(NULL) != 0 && one_line("g5_set_theta", "theta is null", ""));
    PROMISE("and forces fail", compute() != 0 && *said() && is_nan());
    PROMISE("until one is set", g5_set_theta(0) == 0 && nearly_right());
    PROMISE("there is a board of any number", g5_set_nMC(128, 1) == 0 && g5_set_nMC(INT_MAX, 1) == 0 && !*said());
    PROMISE("but of no negative one", g5_set_nMC(INT_MIN, 1) != 0 && one_line("g5_set_nMC", "-2147483648", "0 to"));
    PROMISE("whose forces fail",
            g5_calculate_force_on_xMC(-1, x, a, p, 2) != 0 &&
                one_line("g5_calculate_force_on_xMC", "-1", "0 to 2147483647") && is_nan());
    PROMISE("sinks must be somewhere",
            g5_calculate_force_on_x(NULL, a, p, 2) != 0 && one_line("g5_calculate_force_on_x", "x is null", "") &&
            is_nan());
    PROMISE("results too",
            g5_calculate_force_on_x(x, NULL, p, 2) != 0 && one_line("g5_calculate_force_on_x", "a is null", "") &&
            isnan(p[1]));
    PROMISE("more lengths than sinks are an error",
            g5_set_xi(1, x) == 0 && g5_set_eps(2, mass) != 0 && one_line("g5_set_eps", "ni is 2", "0 to 1"));
    PROMISE("and the force fails", g5_run() != 0 && *said() && g5_get_force(1, a, p) != 0 && isnan(a[0][0]));
    PROMISE("null lengths too", g5_set_xi(1, x) == 0 && g5_set_eps(1, NULL) != 0 && one_line("g5_set_eps", "eps", "null"));
    PROMISE("and the force fails", g5_run() != 0 && *said() && g5_get_force(1, a, p) != 0 && isnan(p[0]));
    PROMISE("until lengths are set that are allowed",
            g5_set_eps(1, mass) == 0 && g5_run() == 0 && g5_get_force(1, a, p) == 0 && !isnan(p[0]));
    PROMISE("more results than sinks too",
            g5_get_force(2, a, p) != 0 && one_line("g5_get_force", "ni is 2", "0 to 1") && is_nan());
    PROMISE("a negative number of sinks is an error",
            compute() == 0 && g5_get_force(-1, a, p) != 0 && one_line("g5_get_force", "ni is -1", "0 to"));
    PROMISE("null where a number is wanted is an error", g5_set_n_(NULL) != 0 && one_line("g5_set_n", "n is null", ""));
    PROMISE("after which the number must be set", compute() != 0 && *said());
    g5_set_n(2);
    PROMISE("and nothing is lost", nearly_right());
    g5_close();
    return finish();
}
