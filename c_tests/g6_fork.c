/* A program that forks before and after it opens the board. The board belongs to the process
 * that opened it. A child gets an error that says so, and may open a board of its own. With an
 * argument, the backend serves no child of a process that uses it, and the argument is the error
 * of the child. */
#include "forks.h"

#include "g6_board.h"

enum { N = 2000 };

static struct bodies b;
static double acc[N][3], jerk[N][3], pot[N], first[N][3];
static int nn[N];
static const char *backend_says;

static int forces(void)
{
    g6_set_ti(0, 0.125);
    return get_forces(N, N, b.index, b.x, b.v, 1e-4, NULL, acc, jerk, pot, nn);
}

static void same_forces(const char *who)
{
    PROMISE(who, forces() == 0);
    PROMISE("with the same bits", memcmp(acc, first, sizeof acc) == 0);
}

static void child_that_opens_the_first_board(void)
{
    PROMISE("a child opens a board where its parent had none", g6_open(0) == 0);
    set_bodies(&b);
    PROMISE("and gets forces", forces() == 0 && isfinite(acc[0][0]));
    PROMISE("and closes it", g6_close(0) == 0);
    PROMISE("without a word", said()[0] == 0);
}

/* Opens a board in a child of a process that has one. */
static void open_again(void)
{
    if (backend_says) {
        PROMISE("a child cannot open a board on this backend", g6_open(0) != 0);
        PROMISE("and is told why", one_line("g6_open", backend_says, ""));
        return;
    }
    PROMISE("a child may open a board of its own", g6_open(0) == 0);
    PROMISE("whose sources are not the parent's",
            get_forces(N, 1, b.index, b.x, b.v, 1e-4, NULL, acc, jerk, pot, nn) == 0);
    PROMISE("but none", acc[0][0] == 0 && pot[0] == 0);
    set_bodies(&b);
    same_forces("and it computes");
    PROMISE("and closes", g6_close(0) == 0);
    PROMISE("without a word", said()[0] == 0);
}

static void child_that_uses_the_parents_board(void)
{
    char parent[32];
    snprintf(parent, sizeof parent, "fork of process %d", (int)getppid());
    PROMISE("a source is refused", set_body(0, 0, 1.0, zero, zero) != 0);
    PROMISE("with the reason", one_line("g6_set_j_particle", parent, "open one in this process with g6_open"));
    PROMISE("a time is refused", g6_set_ti(0, 0.125) != 0 && one_line("g6_set_ti", parent, ""));
    PROMISE("forces fail", get_forces(N, N, b.index, b.x, b.v, 1e-4, NULL, acc, jerk, pot, nn) != 0);
    PROMISE("with the reason", one_line("g6calc_firsthalf", parent, ""));
    PROMISE("and are NaN", isnan(acc[0][0]) && isnan(jerk[N - 1][2]) && isnan(pot[0]));
    PROMISE("the block size can be asked for", g6_npipes() > 0);
    open_again();
}

static void child_that_closes_the_parents_board(void)
{
    PROMISE("a child can forget the board", g6_close(0) == 0 && said()[0] == 0);
    open_again();
}

/* Helpers of the parent may be about to sleep when a child begins. The child must not wait for
   them. */
static void child_that_closes_at_once(void)
{
    PROMISE("a child closes the board", g6_close(0) == 0);
}

static void child_within_a_force_calculation(void)
{
    PROMISE("a calculation that the parent began is not the child's",
            g6calc_lasthalf2(0, N, N, b.index, b.x, b.v, 1e-4, pot, acc, jerk, pot, nn) != 0);
    PROMISE("as is said", one_line("g6calc_lasthalf2", "fork of process", ""));
    PROMISE("and its forces are NaN", isnan(acc[0][0]) && isnan(pot[N - 1]));
}

int main(int argc, char **argv)
{
    static double none[N];
    int k;
    backend_says = argc > 1 ? argv[1] : NULL;
    b = make_bodies(N, 1);
    in_a_fork("a child before the first board", child_that_opens_the_first_board);
    g6_open(0);
    set_bodies(&b);
    PROMISE("forces before the fork", forces() == 0);
    memcpy(first, acc, sizeof acc);
    in_a_fork("a child that uses the board", child_that_uses_the_parents_board);
    in_a_fork("a child that closes the board", child_that_closes_the_parents_board);
    for (k = 0; k < 100; k++) {
        get_forces(N, 64, b.index, b.x, b.v, 1e-4, NULL, acc, jerk, pot, nn);
        in_a_fork("a child right after a force", child_that_closes_at_once);
    }
    same_forces("the parent goes on");
    g6calc_firsthalf(0, N, N, b.index, b.x, b.v, acc, jerk, pot, 1e-4, none);
    in_a_fork("a child within a force calculation", child_within_a_force_calculation);
    PROMISE("the parent ends it",
            g6calc_lasthalf2(0, N, N, b.index, b.x, b.v, 1e-4, none, acc, jerk, pot, nn) == 0);
    PROMISE("with the same bits", memcmp(acc, first, sizeof acc) == 0);
    g6_close(0);
    free_bodies(&b);
    return finish();
}
