/* Wrong calls of NBODY6++GPU's interface that NBODY6's does not have. */
#include <nbody6pp.h>

#include "old_said.h"

static double m[4] = {1, 1, 1, 1}, x[4][3] = {{0}, {1, 0, 0}, {1, 0, 0}, {2, 0, 0}}, v[4][3], pot[4];

static int near_to(double a, double b)
{
    return fabs(a - b) < 1e-5;
}

static int potentials(int istart, int ni, int n)
{
    pot[0] = pot[1] = pot[2] = pot[3] = 123;
    return gpupot_(NULL, &istart, &ni, &n, m, x, pot);
}

static int fails(int istart, int ni, int n, const char *what, const char *value)
{
    return potentials(istart, ni, n) != 0 && one_line("gpupot", what, value) && isnan(pot[0]) && isnan(pot[1]) &&
           pot[2] == 123;
}

static void parts(void)
{
    PROMISE("potentials of a part",
            potentials(3, 2, 4) == 0 && near_to(pot[0], 2) && near_to(pot[1], 2.5) && pot[2] == 123);
    PROMISE("bodies count from 1", fails(0, 2, 4, "istart", "1 to 3"));
    PROMISE("and a part ends with the last", fails(4, 2, 4, "istart is 4", "1 to 3"));
    PROMISE("a part is no more than all", fails(1, 2, 1, "ni is 2", "0 to 1"));
    PROMISE("there is no negative number of bodies", fails(1, 2, -4, "n is -4", ""));
    PROMISE("nor of a part", potentials(1, -2, 4) != 0 && one_line("gpupot", "ni is -2", "") && pot[0] == 123);
    PROMISE("an empty part may begin anywhere", potentials(9, 0, 4) == 0 && pot[0] == 123 && !*said());
    PROMISE("all are a part", potentials(1, 4, 4) == 0 && near_to(pot[3], 2.5));
}

static int force(int *m_flag)
{
    static double h2[1] = {0.25}, dtr[1], acc[1][3], jrk[1][3];
    static int list[8];
    int ni = 1, lmax = 8, nbmax = 7, failed;
    failed = gpunb_regf_(&ni, h2, dtr, x + 1, v + 1, acc, jrk, pot, &lmax, &nbmax, list, m_flag);
    return failed ? -list[0] : list[0];
}

static void flags(void)
{
    int n = 4, plain = 0, by_mass = 1, any = -1;
    m[1] = m[2] = 0;
    PROMISE("sources are sent", gpunb_send_(&n, m, x, v) == 0);
    PROMISE("sources without mass are neighbours", force(&plain) == 2);
    PROMISE("unless mass counts", force(&by_mass) == 0 && force(&any) == 0 && !*said());
    PROMISE("the flag is needed", force(NULL) == -2 && one_line("gpunb_regf", "m_flag is null", "") && isnan(pot[0]));
    PROMISE("and then all is right", force(&plain) == 2 && near_to(pot[0], 2) && !*said());
}

int main(void)
{
    listen();
    PROMISE("what is not needed is not read",
            gpunb_devinit_(NULL) == 0 && gpunb_open_(NULL, NULL) == 0 && gpunb_profile_(NULL) == 0);
    parts();
    flags();
    PROMISE("it closes", gpunb_close_() == 0 && gpunb_profile_(NULL) == 0 && !*said());
    return finish();
}
