/* Many systems in many threads at once, and many threads on one system. */
#define _POSIX_C_SOURCE 200809L
#include "native_check.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 40, N = 300 };

static struct particle p[N];
static kyoho_system *shared, *contested;

static void check(kyoho_system *system, int i) {
    struct particle on = p[i];
    kyoho_sinks sinks = sinks_of(&on, 1, 0.01);
    kyoho_forces forces = forces_of(&on);
    GIVES(KYOHO_OK, kyoho_system_force(system, N, &sinks, &forces));
    struct particle expected = on;
    sum_force(p, N, 0.01, &expected);
    CHECK(close_to(on.acc, expected.acc, 1e-13));
}

/* Each thread makes, fills, uses and frees systems of its own, and has its own last error. */
static void *own_systems(void *argument) {
    int number = *(int *)argument;
    char text[40];
    snprintf(text, sizeof text, "order is '%d'", 100 + number);
    for (int round = 0; round < ROUNDS; round++) {
        kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE), *none;
        kyoho_sources sources = sources_of(p, N);
        GIVES(KYOHO_OK, kyoho_system_set_sources(system, &sources));
        check(system, (number + round) % N);
        SAYS(KYOHO_BAD_OPTION, text, NULL, create_on(100 + number, 0, 0, NULL, 0, &none));
        GIVES(KYOHO_OK, kyoho_system_free(system));
        GIVES(KYOHO_BAD_HANDLE, kyoho_system_free(system));
    }
    return NULL;
}

/* Blocking calls of many threads on one system take turns. */
static void *one_system(void *argument) {
    for (int round = 0; round < ROUNDS; round++) check(shared, (*(int *)argument * ROUNDS + round) % N);
    return NULL;
}

/* One of the threads frees it, and the others get an error from then on. */
static void *one_system_freed(void *argument) {
    kyoho_result result = KYOHO_OK;
    for (int round = 0; round < 200; round++) {
        kyoho_result next = kyoho_system_set_time(contested, round);
        CHECK(next == KYOHO_OK || next == KYOHO_BAD_HANDLE);
        CHECK(result == KYOHO_OK || next == KYOHO_BAD_HANDLE);
        result = next;
        if (*(int *)argument == 0 && round == 100) GIVES(KYOHO_OK, kyoho_system_free(contested));
    }
    return NULL;
}

static void in_threads(void *(*body)(void *)) {
    pthread_t thread[THREADS];
    int number[THREADS];
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        if (pthread_create(&thread[i], NULL, body, &number[i])) abort();
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

int main(void) {
    make_particles(p, N, 21);
    kyoho_sources sources = sources_of(p, N);
    in_threads(own_systems);
    shared = create(4, KYOHO_PRECISION_DOUBLE);
    GIVES(KYOHO_OK, kyoho_system_set_sources(shared, &sources));
    in_threads(one_system);
    GIVES(KYOHO_OK, kyoho_system_free(shared));
    contested = create(4, 0);
    in_threads(one_system_freed);
    GIVES(KYOHO_BAD_HANDLE, kyoho_system_free(contested));

    /* Thousands of systems exist at the same time, made and freed in any order. */
    static kyoho_system *many[3000];
    for (int i = 0; i < 3000; i++) many[i] = create(2 + 2 * (i % 2), 0);
    for (int i = 0; i < 3000; i += 3) GIVES(KYOHO_OK, kyoho_system_free(many[i]));
    for (int i = 0; i < 3000; i++) GIVES(i % 3 ? KYOHO_OK : KYOHO_BAD_HANDLE, kyoho_system_set_time(many[i], 1));
    for (int i = 0; i < 3000; i++) kyoho_system_free(many[i]);
    return failures != 0;
}
