/* Boards of the GRAPE-5 interface, each used by a thread of its own at the same time. */
#include <pthread.h>

#include <g5.h>

#include "old_check.h"

enum { THREADS = 16, N = 400, ROUNDS = 20 };

struct work {
    int board, same;
    struct bodies bodies;
    double acc[N][3], pot[N];
};

static void compute(struct work *w, double (*acc)[3], double *pot)
{
    int n = N - w->board;
    g5_set_xmjMC(w->board, 0, n, w->bodies.x, w->bodies.mass);
    g5_set_nMC(w->board, n);
    g5_set_xiMC(w->board, N, w->bodies.x);
    g5_runMC(w->board);
    g5_get_forceMC(w->board, N, acc, pot);
}

static void *rounds(void *argument)
{
    struct work *w = argument;
    double acc[N][3], pot[N];
    int round;
    for (round = 0; round < ROUNDS; round++) {
        compute(w, acc, pot);
        w->same &= memcmp(acc, w->acc, sizeof acc) == 0 && memcmp(pot, w->pot, sizeof pot) == 0;
        g5_calculate_force_on_xMC(w->board, w->bodies.x, acc, pot, N);
        w->same &= memcmp(acc, w->acc, sizeof acc) == 0;
    }
    return NULL;
}

int main(void)
{
    static struct work works[THREADS];
    pthread_t threads[THREADS];
    int k;
    g5_open();
    g5_set_eps_to_all(0.1);
    for (k = 0; k < THREADS; k++) {
        works[k].board = k == THREADS - 1 ? 127 : k;
        works[k].same = 1;
        works[k].bodies = make_bodies(N, 0);
        compute(&works[k], works[k].acc, works[k].pot);
    }
    PROMISE("boards have different sources", memcmp(works[0].acc, works[1].acc, sizeof works[0].acc) != 0);
    for (k = 0; k < THREADS; k++) pthread_create(&threads[k], NULL, rounds, &works[k]);
    for (k = 0; k < THREADS; k++) {
        pthread_join(threads[k], NULL);
        PROMISE("threads with a board each get what one thread gets", works[k].same);
        free_bodies(&works[k].bodies);
    }
    g5_close();
    return finish();
}
