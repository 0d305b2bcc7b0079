/* As many boards of the GRAPE-5 interface as there are ids, each used by a thread of its own. */
#include <limits.h>
#include <pthread.h>

#include <g5.h>

#include "old_check.h"

enum { BOARDS = 300, N = 40, ROUNDS = 5 };

struct work {
    int board, n, same;
    double acc[N][3], pot[N];
};

static struct bodies bodies;
static struct work works[BOARDS];
static pthread_barrier_t all_there;

/* Returns the number of a board. One of every three is far from the others. */
static int number_of(int k)
{
    return k == 1 ? INT_MAX : k % 3 == 1 ? INT_MAX / BOARDS * k : k;
}

/* Sets the first bodies as sources and all as sinks. A board with other bodies gives another
   force. */
static void set(const struct work *w)
{
    g5_set_xmjMC(w->board, 0, w->n, bodies.x, bodies.mass);
    g5_set_nMC(w->board, w->n);
}

static void compare(struct work *w)
{
    double acc[N][3], pot[N];
    w->same &= g5_calculate_force_on_xMC(w->board, bodies.x, acc, pot, N) == 0;
    w->same &= memcmp(acc, w->acc, sizeof acc) == 0 && memcmp(pot, w->pot, sizeof pot) == 0;
}

static void *rounds(void *argument)
{
    struct work *w = argument;
    int round;
    set(w);
    pthread_barrier_wait(&all_there);
    for (round = 0; round < ROUNDS; round++) compare(w);
    return NULL;
}

int main(void)
{
    static pthread_t threads[BOARDS];
    pthread_attr_t small;
    int k, round, started = 1, same = 1;
    bodies = make_bodies(N, 0);
    g5_open();
    g5_set_eps_to_all(0.1);
    for (k = 0; k < BOARDS; k++) {
        works[k].board = number_of(k);
        works[k].n = 1 + k % N;
        works[k].same = 1;
        g5_set_xmj(0, works[k].n, bodies.x, bodies.mass);
        g5_set_n(works[k].n);
        g5_calculate_force_on_x(bodies.x, works[k].acc, works[k].pot, N);
    }
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 19);
    pthread_barrier_init(&all_there, NULL, BOARDS);
    for (k = 0; k < BOARDS; k++) started &= pthread_create(&threads[k], &small, rounds, &works[k]) == 0;
    PROMISE("the threads are there", started);
    for (k = 0; started && k < BOARDS; k++) {
        pthread_join(threads[k], NULL);
        same &= works[k].same;
    }
    PROMISE("each of 300 threads has a board of its own, whatever its number", same);
    for (round = 0; round < 2; round++) {
        for (k = 0; k < BOARDS; k++) compare(&works[k]);
    }
    for (k = 0; k < BOARDS; k++) same &= works[k].same;
    PROMISE("one thread may use them in turn", same);
    PROMISE("board 0 is that of the functions without a number",
            g5_set_n(3) == 0 && g5_set_nMC(0, works[0].n) == 0 &&
                g5_calculate_force_on_x(bodies.x, works[1].acc, works[1].pot, N) == 0 &&
                memcmp(works[0].acc, works[1].acc, sizeof works[0].acc) == 0);
    g5_close();
    set(&works[BOARDS - 1]);
    compare(&works[BOARDS - 1]);
    PROMISE("and they can be used again after g5_close", works[BOARDS - 1].same);
    g5_close();
    free_bodies(&bodies);
    return finish();
}
