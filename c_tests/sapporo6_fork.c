/* A program of order 6 that forks with the board in use. The board stays its own, and a child
   opens another. */
#include "forks.h"

#include "sapporo6_board.h"

enum { N = 100 };

static struct body bodies[N];

static void child(void)
{
    PROMISE("forces fail", forces_on(bodies, N, N) != 0);
    PROMISE("with the reason",
            one_line("calc_force_on_predictors", "fork of process", "open one in this process with initialize"));
    PROMISE("and are NaN", isnan(acc_[0][0]) && isnan(snp_[N - 1][2]));
    PROMISE("a child may open a board of its own", initialize() == 0);
    set_bodies(bodies, N);
    no_predict_all(0.0, N);
    PROMISE("and get forces", forces_on(bodies, N, N) == 0 && forces_are(bodies, N, bodies, N));
    PROMISE("without a word", said()[0] == 0);
}

int main(void)
{
    make_moving(bodies, N, 1);
    initialize();
    set_bodies(bodies, N);
    no_predict_all(0.0, N);
    PROMISE("forces before the fork", forces_on(bodies, N, N) == 0 && forces_are(bodies, N, bodies, N));
    in_a_fork("a child", child);
    PROMISE("the parent goes on", forces_on(bodies, N, N) == 0 && forces_are(bodies, N, bodies, N));
    return finish();
}
