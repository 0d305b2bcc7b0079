/* A program that forks with the library in use, as interpreters do: parent and child go on with their own copies. */
#include <sys/wait.h>
#include <unistd.h>

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

int main(void)
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
        same_forces("the child computes with the sources that it inherited");
        g6_close(0);
        g6_open(0);
        set_bodies(&b);
        same_forces("and with a board that it opens itself");
        g6_close(0);
        _exit(finish());
    }
    same_forces("the parent goes on");
    PROMISE("the child ends", waitpid(child, &status, 0) == child);
    PROMISE("the child kept its promises", WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g6_close(0);
    free_bodies(&b);
    return finish();
}
