/* A function of the caller receives the log as long as it is set. */
#define _POSIX_C_SOURCE 200809L
#include "native_check.h"

#include <pthread.h>

/* The lines that a listener has received. */
struct heard {
    int lines, opened, closed, failures, deepest;
    char last[200];
};

static struct heard first, second;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void listen_to(void *context, kyoho_log_level level, const char *text) {
    struct heard *heard = context;
    pthread_mutex_lock(&lock);
    heard->lines++;
    heard->opened += strstr(text, "kyoho_system_create opened") != NULL;
    heard->closed += strstr(text, "kyoho_system_free closed") != NULL;
    heard->failures += strstr(text, "the time is NaN") != NULL;
    if (level > heard->deepest) heard->deepest = level;
    snprintf(heard->last, sizeof heard->last, "%s", text);
    pthread_mutex_unlock(&lock);
}

static void work(void) {
    kyoho_system *system = create(4, KYOHO_PRECISION_DOUBLE);
    GIVES(KYOHO_NOT_FINITE, kyoho_system_set_time(system, NAN));
    GIVES(KYOHO_OK, kyoho_system_free(system));
}

static void one_listener_at_a_time(void) {
    work();
    CHECK(first.lines == 0);
    GIVES(KYOHO_OK, kyoho_set_log(listen_to, &first, KYOHO_LOG_DEBUG));
    work();
    CHECK(first.opened == 1 && first.closed == 1 && first.failures == 1 && first.deepest == KYOHO_LOG_DEBUG);
    CHECK(!strchr(first.last, '\n'));

    /* Another listener takes its place, with a level of its own. Failures of calls are details. */
    int lines = first.lines;
    GIVES(KYOHO_OK, kyoho_set_log(listen_to, &second, KYOHO_LOG_INFO));
    work();
    CHECK(first.lines == lines);
    CHECK(second.opened == 1 && second.closed == 1 && second.failures == 0 && second.deepest == KYOHO_LOG_INFO);

    lines = second.lines;
    GIVES(KYOHO_OK, kyoho_set_log(listen_to, &second, KYOHO_LOG_OFF));
    work();
    GIVES(KYOHO_OK, kyoho_set_log(listen_to, &second, KYOHO_LOG_WARN));
    GIVES(KYOHO_OK, kyoho_set_log(NULL, NULL, KYOHO_LOG_DEBUG));
    work();
    CHECK(second.lines == lines);

    GIVES(KYOHO_OK, kyoho_set_log(listen_to, &second, KYOHO_LOG_INFO));
    SAYS(KYOHO_BAD_OPTION, "level is '5'; allowed: 0 (off)", NULL, kyoho_set_log(NULL, NULL, 5));
    SAYS(KYOHO_BAD_OPTION, "level is '-1'", NULL, kyoho_set_log(listen_to, &first, -1));
    work();
    CHECK(second.opened == 2); /* the one that was set is still there */
    GIVES(KYOHO_OK, kyoho_set_log(NULL, NULL, KYOHO_LOG_OFF));
}

/* The listener receives the lines of all threads that work. After it was removed, it is not
   called any more. */
static int counted, is_there;

static void count(void *context, kyoho_log_level level, const char *text) {
    pthread_mutex_lock(&lock);
    if (is_there) counted += strstr(text, "opened by process") != NULL;
    else failures++;
    pthread_mutex_unlock(&lock);
    (void)context, (void)level;
}

static void *in_thread(void *argument) {
    for (int round = 0; round < 20; round++) work();
    return argument;
}

static void in_threads(pthread_t *threads, int start) {
    for (int t = 0; t < 4; t++) {
        if (start && pthread_create(&threads[t], NULL, in_thread, NULL)) abort();
        if (!start) pthread_join(threads[t], NULL);
    }
}

static void many_threads(void) {
    pthread_t threads[4];
    is_there = 1;
    GIVES(KYOHO_OK, kyoho_set_log(count, NULL, KYOHO_LOG_INFO));
    in_threads(threads, 1);
    in_threads(threads, 0);
    CHECK(counted == 80);
    in_threads(threads, 1);
    GIVES(KYOHO_OK, kyoho_set_log(NULL, NULL, KYOHO_LOG_OFF));
    pthread_mutex_lock(&lock);
    is_there = 0;
    pthread_mutex_unlock(&lock);
    in_threads(threads, 0);
}

/* A listener that calls the library receives no lines about that, and cannot remove itself. */
static kyoho_result inside = KYOHO_OK;

static void call_back(void *context, kyoho_log_level level, const char *text) {
    inside = kyoho_set_log(NULL, NULL, KYOHO_LOG_OFF);
    (void)context, (void)level, (void)text;
}

static void within_a_listener(void) {
    GIVES(KYOHO_OK, kyoho_set_log(call_back, NULL, KYOHO_LOG_DEBUG));
    work();
    CHECK(inside == KYOHO_CALL_ORDER);
    GIVES(KYOHO_OK, kyoho_set_log(NULL, NULL, KYOHO_LOG_OFF));
}

int main(void) {
    one_listener_at_a_time();
    many_threads();
    within_a_listener();
    return failures != 0;
}
