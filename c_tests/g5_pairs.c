/* With KYOHO_ACCURACY in the environment close pairs have that accuracy, whatever the precision of
   the interface is without it. */
#include "old_check.h"

#include <g5.h>

enum { N = 5000, STEP = 10, SAMPLES = N / STEP };

static double a[N][3], p[N], errors[SAMPLES];

static int ascending(const void *x, const void *y)
{
    const double one = *(const double *)x, other = *(const double *)y;
    return (one > other) - (one < other);
}

int main(void)
{
    const double accuracy = atof(getenv("KYOHO_ACCURACY")), none[3] = {0, 0, 0};
    struct bodies b = make_bodies(N, 0);
    double found = 0, right = 0;
    int k, c;
    /* Separations from 1e-5 to 1e-9 in a cube of side 2. */
    for (k = 1; k < N; k += 2) {
        for (c = 0; c < 3; c++) b.x[k][c] = b.x[k - 1][c] + pow(10, -5 - k / 2 % 5) * (uniform() - 0.5);
    }
    g5_open();
    g5_set_eps_to_all(0);
    g5_set_n(N);
    g5_set_xmj(0, N, b.x, b.mass);
    PROMISE("forces are computed", g5_calculate_force_on_x(b.x, a, p, N) == 0);
    for (k = 0; k < SAMPLES; k++) {
        /* Of a pair now the first body and now the second one. */
        const int body = k * STEP + k % 2;
        const struct force exact = reference(&b, body, b.x[body], none, 0);
        errors[k] = difference(a[body], exact.acc);
        found += b.mass[body] * fabs(p[body]), right += b.mass[body] * fabs(exact.pot);
    }
    qsort(errors, SAMPLES, sizeof *errors, ascending);
    PROMISE("half of the bodies have the accuracy", errors[SAMPLES / 2] <= accuracy);
    PROMISE("99 in 100 have five times it", errors[SAMPLES * 99 / 100] <= 5 * accuracy);
    PROMISE("so has the potential energy", fabs(found / right - 1) <= accuracy);
    g5_close();
    free_bodies(&b);
    return finish();
}
