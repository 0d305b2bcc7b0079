/* A program on the GRAPE-5 interface that forks with boards in use. They stay its own, and a
   child makes others. */
#include <g5.h>

#include "forks.h"

enum { N = 300 };

static struct bodies b;
static double acc[N][3], pot[N], first[N][3];

static int forces(void)
{
    g5_set_xmj(0, N, b.x, b.mass);
    g5_set_n(N);
    return g5_calculate_force_on_x(b.x, acc, pot, N);
}

static void child(void)
{
    PROMISE("sources are refused", g5_set_xmj(0, N, b.x, b.mass) != 0);
    PROMISE("with the reason", one_line("g5_set_xmj", "fork of process", "open one in this process with g5_open"));
    PROMISE("forces fail", g5_calculate_force_on_x(b.x, acc, pot, N) != 0);
    PROMISE("and are NaN", isnan(acc[0][0]) && isnan(pot[N - 1]));
    said();
    PROMISE("a child may open boards of its own", g5_open() == 0);
    PROMISE("and get forces", forces() == 0 && memcmp(acc, first, sizeof acc) == 0);
    PROMISE("and close them", g5_close() == 0);
    PROMISE("without a word", said()[0] == 0);
}

static void child_before_the_first_board(void)
{
    PROMISE("sources are refused", g5_set_xmj(0, N, b.x, b.mass) != 0);
    PROMISE("with the reason", one_line("g5_set_xmj", "fork of process", "open one in this process with g5_open"));
    PROMISE("a child may open", g5_open() == 0 && forces() == 0);
    PROMISE("without a word", said()[0] == 0);
}

int main(void)
{
    b = make_bodies(N, 0);
    g5_open();
    g5_set_eps_to_all(0.1);
    in_a_fork("a child of a process that has opened the interface and used no board", child_before_the_first_board);
    PROMISE("forces before the fork", forces() == 0);
    memcpy(first, acc, sizeof acc);
    in_a_fork("a child", child);
    PROMISE("the parent goes on", forces() == 0 && memcmp(acc, first, sizeof acc) == 0);
    g5_close();
    free_bodies(&b);
    return finish();
}
