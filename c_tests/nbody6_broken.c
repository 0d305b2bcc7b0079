/* The environment asks for something missing. It is reported once, the line names the wrong
   value, and forces are NaN. */
#include <nbody6.h>

#include "old_said.h"

int main(int count, char **arguments)
{
    double m[2] = {1, 1}, x[2][3] = {{0}, {1, 0, 0}}, v[2][3] = {{0}}, one[1] = {1}, acc[1][3], jrk[1][3], pot[2];
    int n = 2, ni = 1, lmax = 4, nbmax = 3, list[4];
    (void)count;
    listen();
    PROMISE("it does not open", gpunb_open_(&n) != 0 && one_line("gpunb_open", arguments[1], ""));
    PROMISE("nothing more is said of it", gpunb_send_(&n, m, x, v) != 0 && !*said());
    PROMISE("forces fail", gpunb_regf_(&ni, one, one, x, v, acc, jrk, pot, &lmax, &nbmax, list) != 0 && !*said());
    PROMISE("they are NaN", isnan(acc[0][0]) && isnan(jrk[0][2]) && isnan(pot[0]));
    PROMISE("and the caller goes on", list[0] == 2 && list[1] == 0 && list[2] == 1);
    PROMISE("opened again, it says so again", gpunb_open_(&n) != 0 && one_line("gpunb_open", arguments[1], ""));
    return finish();
}
