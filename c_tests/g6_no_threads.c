/* A program that may start as many threads as its argument says, and then no more. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "old_said.h"

#include "g6_board.h"

/* Enough pairs for several threads. */
enum { N = 1000 };

static int allowed;

/* The library's calls arrive here. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (allowed == 0) return EAGAIN;
    allowed--;
    return create(thread, attributes, start, argument);
}

static double acc[N][3], jerk[N][3], pot[N], all_acc[N][3];
static int nearest[N];
static struct bodies b;

static int forces(void)
{
    int status = g6_open(0);
    set_bodies(&b);
    status |= get_forces(N, N, b.index, b.x, b.v, 1e-4, NULL, acc, jerk, pot, nearest);
    return status | g6_close(0);
}

int main(int argc, char **argv)
{
    b = make_bodies(N, 1);
    allowed = argc > 1 ? atoi(argv[1]) : 0;
    PROMISE("forces are computed", forces() == 0);
    memcpy(all_acc, acc, sizeof acc);
    allowed = 100;
    PROMISE("with all threads too", forces() == 0 && allowed < 100);
    PROMISE("which have the same bits", memcmp(acc, all_acc, sizeof acc) == 0);
    free_bodies(&b);
    return finish();
}
