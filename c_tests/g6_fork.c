/* A program that forks with the library in use, as interpreters do: parent and child go on with their own copies. With
 * an argument, the backend cannot go on in a child, which is told these words. */
#include <sys/wait.h>
#include <unistd.h>

#include "old_said.h"

#include "g6_board.h"

enum { N = 2000 };

static struct bodies b;
static double acc[N][3], jerk[N][3], pot[N], first[N][3];
static int nn[N];

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

static void the_child_goes_on(void)
{
    same_forces("the child computes with the sources that it inherited");
    g6_close(0);
    g6_open(0);
    set_bodies(&b);
    same_forces("and with a board that it opens itself");
    g6_close(0);
}

static void the_child_is_told(const char *words)
{
    listen();
    PROMISE("forces of the child fail", forces() != 0);
    PROMISE("with the reason", one_line("g6calc_firsthalf", words, ""));
    PROMISE("and are NaN", isnan(acc[0][0]) && isnan(jerk[N - 1][2]) && isnan(pot[0]));
    PROMISE("the child can close the board", g6_close(0) == 0);
    PROMISE("and open none", g6_open(0) != 0 && one_line("g6_open", words, ""));
}

int main(int argc, char **argv)
{
    int status = -1;
    pid_t child;
    b = make_bodies(N, 1);
    g6_open(0);
    set_bodies(&b);
    PROMISE("forces before the fork", forces() == 0);
    memcpy(first, acc, sizeof acc);
    child = fork();
    if (child == 0) {
        alarm(60);
        if (argc > 1) the_child_is_told(argv[1]);
        else the_child_goes_on();
        _exit(finish());
    }
    same_forces("the parent goes on");
    PROMISE("the child ends", waitpid(child, &status, 0) == child);
    PROMISE("the child kept its promises", WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g6_close(0);
    free_bodies(&b);
    return finish();
}
