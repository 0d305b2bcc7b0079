/* The letters of the kernel that waits for blocks (kernels/direct/waiting.h), with threads of this
 * machine for the thread blocks of a GPU: each item of each letter is done once, with its own step,
 * whenever thread blocks begin, the host pauses, or the kernel ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define GLOBAL
#define LOCAL_POINTER
#define FUNCTION static
#define UNROLL
#define THREAD 0
#define BLOCK block_of_thread
#define SYNC pause_after_taking()
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define FENCE_HOST FENCE
#define ATOMIC_ADD(pointer, value) (wait_for_turn(pointer), __atomic_fetch_add(pointer, value, __ATOMIC_SEQ_CST))
#define READ_NANOSECONDS(now) ((now) = nanoseconds())

static __thread int block_of_thread;

static ulong nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ul + now.tv_nsec;
}

static __thread int is_late;

/* Some thread blocks take an item when their turn has ended: one of the next turn, or, after all of
 * those are taken, one that is nobody's. */
static void wait_for_turn(const ulong *taken)
{
    static __thread uint calls;
    if (block_of_thread % 3 != 1 || ++calls % 2 == 0)
        return;
    const ulong until = nanoseconds() + 1000000, turn = __atomic_load_n(taken, __ATOMIC_SEQ_CST) >> 32;
    while (__atomic_load_n(taken, __ATOMIC_SEQ_CST) >> 32 == turn && nanoseconds() < until)
        sched_yield();
    if (calls % 4 == 3)
        usleep(100);
    is_late = 1;
}

/* And some hear of that turn when yet another has begun. */
static void pause_after_taking(void)
{
    if (is_late)
        usleep(200);
    is_late = 0;
}

#include "generated/constants.h"
#include "direct/waiting.h"

/* Thread blocks of the kernel; no more than ROOM of them are on the device at a time. */
enum { THREAD_BLOCKS = 9, ROOM = 4, LETTERS = 600, MOST_ITEMS = 30, EXTRA_WORDS = 40 };

static double letter[LETTER_HEAD + sizeof(Step) / 8 + EXTRA_WORDS], copy[LETTER_HEAD + sizeof(Step) / 8 + EXTRA_WORDS];
static uint tickets, flag, done[LETTERS + 1][MOST_ITEMS];
static int items_of[LETTERS + 1];
static int next_block, wrong;

/* One thread block after another, as long as there are some. */
static void *run_blocks(void *turn)
{
    const ulong last = nanoseconds() + LIFETIME;
    while ((block_of_thread = __atomic_fetch_add(&next_block, 1, __ATOMIC_SEQ_CST)) < THREAD_BLOCKS) {
        Mail mail = {.bell = *(uint *)turn - 1, .is_done = 1};
        Step step;
        int item;
        if (block_of_thread % 3 == 2)
            usleep(50 * block_of_thread);
        while ((item = next_item(letter, copy, last, 1, &mail, &step)) >= 0) {
            const double extra = copy[LETTER_HEAD + sizeof(Step) / 8 + item];
            if (step.sequence > LETTERS || extra != step.sequence + 0.5 * item || item >= step.blocks)
                __atomic_fetch_add(&wrong, 1, __ATOMIC_SEQ_CST);
            else
                __atomic_fetch_add(&done[step.sequence][item], 1, __ATOMIC_SEQ_CST);
            if (item % 3 == 1)
                usleep(10);
            if (__atomic_fetch_add(&tickets, 1, __ATOMIC_SEQ_CST) == (uint)step.blocks - 1) {
                tickets = 0;
                __atomic_store_n(&flag, step.sequence, __ATOMIC_SEQ_CST);
            }
        }
    }
    return NULL;
}

static pthread_t threads[ROOM];
static int has_run;
static uint turn, first_turn;

static void end_of_queue(void)
{
    for (int thread = 0; has_run && thread < ROOM; ++thread)
        pthread_join(threads[thread], NULL);
    has_run = 0;
}

static void launch(void)
{
    end_of_queue();
    next_block = 0;
    first_turn = turn;
    for (int thread = 0; thread < ROOM; ++thread)
        pthread_create(&threads[thread], NULL, run_blocks, &first_turn);
    has_run = 1;
}

static void ring(ulong words, ulong items)
{
    ++turn;
    __atomic_store_n((ulong *)letter, turn | words << 32 | items << 48, __ATOMIC_SEQ_CST);
}

int main(void)
{
    int is_running = 0, ended = 0;
    /* Whoever waits for ever is stopped. */
    alarm(120);
    srand(1);
    for (uint number = 1; number <= LETTERS; ++number) {
        const Step step = {.sequence = number, .blocks = 1 + rand() % MOST_ITEMS};
        items_of[number] = step.blocks;
        memcpy(letter + LETTER_HEAD, &step, sizeof step);
        for (int item = 0; item < step.blocks; ++item)
            letter[LETTER_HEAD + sizeof step / 8 + item] = number + 0.5 * item;
        ring(sizeof step / 8 + step.blocks, step.blocks);
        if (!is_running)
            launch();
        is_running = 1;
        while (__atomic_load_n(&flag, __ATOMIC_SEQ_CST) != number) {
            if (*(volatile uint *)(letter + 1) == turn) {
                ++ended;
                ring(sizeof step / 8 + step.blocks, step.blocks);
                launch();
            }
            sched_yield();
        }
        if (rand() % 20 == 0)
            usleep(rand() % 500);
        if (rand() % 50 == 0) {
            ring(0, 0);
            end_of_queue();
            is_running = 0;
        }
    }
    ring(0, 0);
    end_of_queue();
    if (wrong > 0)
        fprintf(stderr, "%d items had another letter's step or sinks\n", wrong);
    for (uint number = 1; number <= LETTERS; ++number) {
        for (int item = 0; item < MOST_ITEMS; ++item) {
            if (done[number][item] != (item < items_of[number]))
                fprintf(stderr, "letter %u: item %d was done %u times\n", number, item, done[number][item]);
        }
    }
    if (ended == 0)
        fprintf(stderr, "no kernel ended by itself before its letter came\n");
    return 0;
}
