/* g5_set_theta: forces by a tree, for all boards, until it is turned off. With KYOHO_THETA in the
   environment all forces are by a tree until the program names an angle. */
#include "old_check.h"

#include <g5.h>

enum { N = 5000, FEW = 100 };

static double direct[N][3], on_few[FEW][3], a[N][3], p[N], direct_p[N];

static struct bodies b;

static void compute(int board, int ni)
{
    memset(a, 0, sizeof a);
    if (board == 0) {
        PROMISE("forces are computed", g5_calculate_force_on_x(b.x, a, p, ni) == 0);
    } else {
        PROMISE("a board of many computes", g5_calculate_force_on_xMC(board, b.x, a, p, ni) == 0);
    }
}

/* Whether they are others, with a mean error of the accelerations that a tree has. */
static int are_by_tree(int board, double least, double most)
{
    double sum = 0, worst = 0;
    int k;
    compute(board, N);
    for (k = 0; k < N; k++) {
        const double of_potential = fabs(p[k] / direct_p[k] - 1);
        sum += difference(a[k], direct[k]);
        if (of_potential > worst) worst = of_potential;
    }
    return least < sum / N && sum / N < most && worst < most;
}

int main(void)
{
    double theta = 0.5;
    int board, from_environment = getenv("KYOHO_THETA") != NULL;
    static double first[N][3];
    b = make_bodies(N, 0);
    g5_open();
    g5_set_eps_to_all(0.01);
    for (board = 0; board < 2; board++) {
        g5_set_nMC(board, N);
        g5_set_xmjMC(board, 0, N, b.x, b.mass);
    }
    compute(0, N);
    memcpy(first, a, sizeof a);
    PROMISE("0 is no tree", g5_set_theta(0) == 0);
    compute(0, N);
    memcpy(direct, a, sizeof a);
    memcpy(direct_p, p, sizeof p);
    compute(0, FEW);
    memcpy(on_few, a, sizeof on_few);
    PROMISE("the environment decides before", (memcmp(first, direct, sizeof a) != 0) == from_environment);
    PROMISE("a body feels itself in both", direct_p[0] > b.mass[0] / 0.01);
    PROMISE("an angle is taken", g5_set_theta(0.7) == 0 && are_by_tree(0, 1e-5, 2e-2));
    if (from_environment) {
        PROMISE("it is the one of the environment", memcmp(first, a, sizeof a) == 0);
    }
    PROMISE("it is that of all boards", are_by_tree(1, 1e-5, 2e-2));
    compute(0, FEW);
    PROMISE("few sinks are summed directly", memcmp(on_few, a, sizeof on_few) == 0);
    compute(0, N);
    memcpy(first, a, sizeof a);
    compute(0, N);
    PROMISE("the same call gives the same bits", memcmp(first, a, sizeof a) == 0);
    PROMISE("Fortran sets one too", g5_set_theta_(&theta) == 0 && are_by_tree(0, 1e-6, 5e-3));
    PROMISE("other angles give other forces", memcmp(first, a, sizeof a) != 0);
    g5_close();
    g5_set_n(N);
    g5_set_xmj(0, N, b.x, b.mass);
    PROMISE("it stays when boards are closed", are_by_tree(0, 1e-6, 5e-3));
    PROMISE("0 is taken again", g5_set_theta(0) == 0);
    compute(0, N);
    PROMISE("and turns it off", memcmp(direct, a, sizeof a) == 0);
    g5_close();
    free_bodies(&b);
    return finish();
}
