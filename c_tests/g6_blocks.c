/* Blocks of sinks of the GRAPE-6 interface: their number, their arrays, and the times at which
   these are read and written. */
#include "g6_board.h"

enum { N = 600, BLOCK = 40, CANARY = 77777 };

static double acc[N + 1][3], jerk[N + 1][3], pot[N + 1], h2[N + 1];
static int nn[N + 1];

static void fill(void)
{
    int k, c;
    for (k = 0; k <= N; k++) {
        for (c = 0; c < 3; c++) acc[k][c] = jerk[k][c] = CANARY;
        pot[k] = CANARY;
        nn[k] = CANARY;
    }
}

static int untouched(int row)
{
    int c, same = pot[row] == CANARY && nn[row] == CANARY;
    for (c = 0; c < 3; c++) same &= acc[row][c] == CANARY && jerk[row][c] == CANARY;
    return same;
}

static void numbers(struct bodies *b)
{
    static double all[N][3], all_pot[N];
    int k, same = 1, ni;
    fill();
    PROMISE("with ni = 0 nothing happens",
            get_forces(N, 0, b->index, b->x, b->v, 0.01, NULL, acc, jerk, pot, nn) == 0 && untouched(0));
    PROMISE("not even with null arrays",
            g6calc_firsthalf(0, N, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0.01, NULL) == 0);
    fill();
    PROMISE("without sources the force is 0",
            get_forces(0, 1, b->index, b->x, b->v, 0.01, NULL, acc, jerk, pot, nn) == 0);
    PROMISE("and nn is 0", acc[0][0] == 0.0 && jerk[0][2] == 0.0 && pot[0] == 0.0 && nn[0] == 0);
    get_forces(N, N, b->index, b->x, b->v, 0.01, NULL, all, jerk, all_pot, nn);
    for (ni = 1; ni <= BLOCK; ni++) {
        fill();
        get_forces(N, ni, b->index, b->x, b->v, 0.01, NULL, acc, jerk, pot, nn);
        PROMISE("only ni rows are written", untouched(ni));
        for (k = 0; k < ni; k++) same &= fabs(pot[k] / all_pot[k] - 1) < tolerance();
        for (k = 0; k < ni; k++) same &= difference(acc[k], all[k]) < tolerance();
    }
    PROMISE("blocks of every size give the same forces", same);
    PROMISE("also larger ones than g6_npipes", N > g6_npipes());
    fill();
    g6calc_firsthalf(0, N, BLOCK, b->index, b->x, b->v, acc, jerk, pot, 0.01, h2);
    PROMISE("fewer sinks may be asked for at the end",
            g6calc_lasthalf(0, N, 3, b->index, b->x, b->v, 0.01, h2, acc, jerk, pot) == 0);
    PROMISE("then the others are not written", difference(acc[2], all[2]) < tolerance() && untouched(3));
}

static void repetition(struct bodies *b)
{
    static double again[N][3], again_pot[N];
    get_forces(N, N, b->index, b->x, b->v, 0.01, NULL, acc, jerk, pot, nn);
    get_forces(N, N, b->index, b->x, b->v, 0.01, NULL, again, jerk, again_pot, nn);
    PROMISE("the same call gives the same bits",
            memcmp(acc, again, sizeof again) == 0 && memcmp(pot, again_pot, sizeof again_pot) == 0);
}

static void arrays(struct bodies *b)
{
    static double x[BLOCK][3], v[BLOCK][3], expected[BLOCK][3], expected_pot[BLOCK], other[BLOCK][3], r2[BLOCK];
    static int index[BLOCK];
    static double odd_storage[BLOCK * 3 + 1];
    double (*odd)[3] = (double (*)[3])((char *)odd_storage + 4);
    int k;
    get_forces(N, BLOCK, b->index, b->x, b->v, 0.01, NULL, expected, other, expected_pot, nn);

    memcpy(x, b->x, sizeof x);
    memcpy(v, b->v, sizeof v);
    memcpy(index, b->index, sizeof index);
    g6calc_firsthalf(0, N, BLOCK, index, x, v, other, other, expected_pot, 0.01, r2);
    memset(x, 0, sizeof x);
    memset(v, 0, sizeof v);
    memset(index, 0, sizeof index);
    g6calc_lasthalf(0, N, BLOCK, index, x, v, 0.01, r2, acc, jerk, pot);
    PROMISE("sinks are copied by g6calc_firsthalf", memcmp(acc, expected, sizeof expected) == 0);

    g6calc_firsthalf(0, N, BLOCK, b->index, b->x, b->v, NULL, NULL, NULL, 0.01, r2);
    g6calc_lasthalf(0, N, BLOCK, NULL, NULL, NULL, 0.01, NULL, acc, jerk, pot);
    PROMISE("old forces, and sinks at the end, are not needed", memcmp(acc, expected, sizeof expected) == 0);

    g6calc_firsthalf(0, N, BLOCK, b->index, b->x, b->v, acc, acc, pot, 0.01, r2);
    PROMISE("acc and jerk may be the same array",
            g6calc_lasthalf(0, N, BLOCK, b->index, b->x, b->v, 0.01, r2, acc, acc, pot) == 0);
    PROMISE("pot is right then", memcmp(pot, expected_pot, sizeof expected_pot) == 0);

    memcpy(x, b->x, sizeof x);
    g6calc_firsthalf(0, N, BLOCK, b->index, x, b->v, x, x, r2, 0.01, r2);
    g6calc_lasthalf(0, N, BLOCK, b->index, x, b->v, 0.01, r2, x, jerk, r2);
    PROMISE("results may replace the sinks",
            memcmp(x, expected, sizeof expected) == 0 && memcmp(r2, expected_pot, sizeof r2) == 0);

    memcpy((char *)odd, b->x, sizeof x);
    memset(r2, 0, sizeof r2);
    g6calc_firsthalf(0, N, BLOCK, b->index, odd, b->v, acc, jerk, pot, 0.01, r2);
    g6calc_lasthalf(0, N, BLOCK, b->index, odd, b->v, 0.01, r2, odd, jerk, pot);
    PROMISE("doubles may be aligned to 4 bytes, as in Fortran commons",
            memcmp((char *)odd, expected, sizeof expected) == 0);

    for (k = 0; k < 3; k++) g6calc_firsthalf(0, N, N, b->index, b->x, b->v, acc, jerk, pot, 0.01, h2);
    g6calc_firsthalf(0, N, BLOCK, b->index, b->x, b->v, acc, jerk, pot, 0.01, h2);
    g6calc_lasthalf(0, N, BLOCK, b->index, b->x, b->v, 0.01, h2, acc, jerk, pot);
    PROMISE("g6calc_firsthalf may be called again without an end", memcmp(acc, expected, sizeof expected) == 0);
}

int main(void)
{
    struct bodies b = make_bodies(N, 1);
    set_bodies(&b);
    numbers(&b);
    repetition(&b);
    arrays(&b);
    free_bodies(&b);
    g6_close(0);
    return finish();
}
