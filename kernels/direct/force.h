// The kernel of a launch shape, each thread block of which does one item (`item.h`). With ENDS, where
// the device lets blocks see what others wrote (CAN_END), the last thread block also adds the
// partial sums. With WAITS the kernel gets its steps, sinks and records by letters (`waiting.h`), and
// its thread blocks do, item after item, what those of a launch would do.

#if !WAITS
#include "direct/item.h"
#endif

KERNEL(THREADS, RESIDENT)
#if WAITS
wait_for_blocks(GLOBAL volatile double *letter, GLOBAL double *copy, uint turn,
#else
FORCE_NAME(const Step step,
#endif
    GLOBAL double *octets, GLOBAL int *indices, GLOBAL volatile int *ranges, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const double *sinks, GLOBAL double *partial_sums,
    GLOBAL double *partial_distances, GLOBAL uint *partial_accumulators, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    LOCAL ITEM_MEMORY memory;
#if WAITS
    LOCAL Step step;
    LOCAL Mail mail;
    if (THREAD == 0) {
        mail.bell = turn - 1;
        mail.is_done = 1;
    }
    sinks = copy + LETTER_HEAD + STEP_WORDS;
    ulong begin;
    READ_NANOSECONDS(begin);
    for (;;) {
    const int block = next_item(letter, copy, begin + LIFETIME, THREADS, &mail, &step);
    if (block < 0)
        return;
#else
    const int block = BLOCK;
    sinks += step.sinks_from;
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
#endif
    SUM_ITEM(&step, block, step.blocks, &memory, octets, indices, ranges, slots, predicted, sinks, partial_sums,
        partial_distances, partial_accumulators);
#if ENDS
#if WAITS
    const int items = step.blocks * step.segments * step.slices;
#else
    const int items = BLOCKS;
#endif
    LOCAL uint ticket;
    SYNC;
    if (THREAD == 0) {
        FENCE;
        ticket = ATOMIC_ADD(tickets, 1u);
        FENCE;
    }
    SYNC;
    if (ticket == (uint)(items - 1)) {
        for (int first = 0; first < step.ni; first += END_SINKS)
            add_partial_sums(&step, first, sinks_to_end(&step, first, END_SINKS), END_SINKS, THREADS, octets, indices, slots, predicted, sinks,
                partial_sums, partial_distances, partial_accumulators, results, &memory.turns.end);
        SYNC;
        if (THREAD == 0) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
#endif
#if WAITS
    }
#endif
}
