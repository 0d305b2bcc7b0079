// The kernel that ends a block.

// Threads that end END_SINKS sinks of all slices, or more of fewer slices: one for each item, or one for
// several where a block has not so many.
#define END_ITEMS (SLICES * COLUMN_PAIRS * END_SINKS)
#define END_THREADS (END_ITEMS / ((END_ITEMS + MOST_THREADS - 1) / MOST_THREADS))

KERNEL(END_THREADS, END_RESIDENT)
end_block(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const double *sinks, GLOBAL const double *partial_sums,
    GLOBAL const double *partial_distances, GLOBAL const uint *partial_accumulators, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    LOCAL End end;
    sinks += step.sinks_from;
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
    const int row = step.end_sinks, first = BLOCK * row;
    add_partial_sums(&step, first, sinks_to_end(&step, first, row), row, END_THREADS, octets, indices, slots, predicted, sinks,
        partial_sums, partial_distances, partial_accumulators, results, &end);
    SYNC;
    if (THREAD == 0) {
        // One thread's fence holds for what its block wrote before; a fence of every thread takes
        // longer than the block.
        FENCE_HOST;
        if (ATOMIC_ADD(tickets, 1u) == (uint)(BLOCKS - 1)) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
}
