// The end of a block step in a chain, whose size no host knows: the partial sums are added, and the
// bodies advanced.

KERNEL(CHAIN_THREADS, 1)
end_chained(GLOBAL const BlockRules *given, GLOBAL const BlockState *due, GLOBAL const Step *forces, GLOBAL const int *members,
    GLOBAL const double *sinks, GLOBAL double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const double *partial_sums, GLOBAL const double *partial_distances,
    GLOBAL const uint *partial_accumulators, GLOBAL double *results, GLOBAL double *bodies, GLOBAL uint *sets,
    GLOBAL uint *counts, GLOBAL uint *outcome, GLOBAL double *nearest)
{
    LOCAL End end;
    LOCAL uint own_counts[SETS];
    LOCAL double distances[CHAIN_THREADS];
    LOCAL int places[CHAIN_THREADS];
    LOCAL int limited;
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const BlockState block = *due;
    if (block.halts)
        return;
    const BlockRules rules = *given;
    const Step step = *forces;
    for (int set = THREAD; set < SETS; set += CHAIN_THREADS)
        own_counts[set] = 0;
    if (THREAD == 0)
        limited = 0;
    // The sinks of this thread block: first their sums, by all threads, then their bodies.
    const int groups = (step.ni + END_SINKS - 1) / END_SINKS, of_block = (groups + BLOCKS - 1) / BLOCKS * END_SINKS;
    const int first = BLOCK * of_block, end_of_block = first + of_block < step.ni ? first + of_block : step.ni;
    for (int sink = first; sink < end_of_block; sink += END_SINKS)
        add_partial_sums(&step, sink, CHAIN_THREADS, octets, indices, slots, predicted, sinks, partial_sums, partial_distances,
            partial_accumulators, results, &end);
    SYNC;
    GLOBAL const double *const near = results + (long)N_OUTPUTS * step.stride;
    double least = INFINITY_32;
    int place = 0;
    for (int sink = first + THREAD; sink < end_of_block; sink += CHAIN_THREADS) {
        const double distance = advance_member(&rules, &block, members[sink], results + (long)sink * N_OUTPUTS,
            near + 2 * (long)sink, bodies, octets, slots, sets, own_counts, &limited, outcome);
        if (distance < least) {
            least = distance;
            place = sink;
        }
    }
    distances[THREAD] = least;
    places[THREAD] = place;
    SYNC;
    add_counts(own_counts, limited, counts, outcome, CHAIN_THREADS);
    if (THREAD == 0) {
        for (int other = 1; other < CHAIN_THREADS && first + other < end_of_block; ++other) {
            const int is_earlier = places[other] < place;
            if (distances[other] < least || (distances[other] == least && is_earlier)) {
                least = distances[other];
                place = places[other];
            }
        }
        const int has_pair = least < INFINITY_32;
        put_nearest_pair(nearest, BLOCK, least, has_pair ? members[place] : 0, has_pair ? near[2 * (long)place + 1] : 0.0);
    }
}
