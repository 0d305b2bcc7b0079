// How many thread blocks a group of sinks has, and what there is of groups: items by their sizes,
// parts, and rows of partial sums. The library counts by the same rules.

// The binary logarithm of the number of threads that share a sink of a group of so many.
FUNCTION int lane_bits_of(int sinks, int sinks_of_thread)
{
    const double costs[] = LIST_COSTS;
    double least = 0.0;
    int best = -1;
    UNROLL
    for (int bits = 0; bits < LIST_LANE_CHOICES; ++bits) {
        const uint block_sinks = (LIST_THREADS >> bits) * sinks_of_thread, blocks = ((uint)sinks + block_sinks - 1) / block_sinks;
        const double cost = (double)blocks / (1 << bits) * costs[bits];
        if (best < 0 || cost < least)
            least = cost, best = bits;
    }
    return best;
}

// The number of thread blocks of a group whose sinks so many threads share.
FUNCTION int blocks_of(int sinks, int lane_bits, int sinks_of_thread)
{
    const uint block_sinks = (LIST_THREADS >> lane_bits) * sinks_of_thread;
    return (int)(((uint)sinks + block_sinks - 1) / block_sinks);
}

// The size of an item with so many sources.
FUNCTION int size_of_item(int sources)
{
    return 63 - LEADING_ZEROS_64(sources > 1 ? sources : 1);
}

// Counts what there is of a group whose list is divided into segments or not.
FUNCTION void count_group(LOCAL_POINTER int *counts, int sinks, int sources, int blocks, int divides)
{
    if (divides && sources > LIST_SEGMENT) {
        const int whole = sources / LIST_SEGMENT, rest = sources % LIST_SEGMENT;
        ATOMIC_ADD(&counts[size_of_item(LIST_SEGMENT)], blocks * whole);
        if (rest > 0)
            ATOMIC_ADD(&counts[size_of_item(rest)], blocks);
        ATOMIC_ADD(&counts[LIST_PART], blocks);
        ATOMIC_ADD(&counts[LIST_ROW], sinks * (whole + (rest > 0)));
    } else {
        ATOMIC_ADD(&counts[size_of_item(sources)], blocks);
    }
}
