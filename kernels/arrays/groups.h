// Groups of interaction lists, from offsets in arrays of callers.

FUNCTION long integer_at(GLOBAL const char *origin, const Column column, long row)
{
    return *(GLOBAL const int *)(origin + column.offset + row * column.stride);
}

FUNCTION long long_integer_at(GLOBAL const char *origin, const Column column, long row)
{
    return *(GLOBAL const long *)(origin + column.offset + row * column.stride);
}

// Makes groups, and counts what there is of them, where long lists are not divided and where they
// are. Behind the counts each thread block puts its sums: the pairs, the sources, and the items and
// the rows where long lists are divided. It finds the first group of which a number is wrong: LARGEST_INDEX less its
// number; 0 where none is. If there is one, nothing else counts.
KERNEL(ARRAY_THREADS, 2)
groups_of_offsets(const GroupOffsets given, GLOBAL const char *origin, const int sinks_of_thread, GLOBAL ListGroup *groups,
    const int check, GLOBAL int *found)
{
    GLOBAL int *counts = found + GROUP_COUNTS;
    GLOBAL long *sums = (GLOBAL long *)(found + GROUP_SUMS);
    LOCAL int own[2 * LIST_COUNTS];
    LOCAL long of_threads[ARRAY_THREADS];
    if (THREAD < 2 * LIST_COUNTS)
        own[THREAD] = 0;
    SYNC;
    long own_sums[4] = {0, 0, 0, 0};
    int bad = 0;
    for (long number = BLOCK * ARRAY_THREADS + THREAD; number < given.count; number += BLOCKS * ARRAY_THREADS) {
        const int is_first = number == 0, is_last = number == given.count - 1;
        const long sink = integer_at(origin, given.sinks, number), next_sink = integer_at(origin, given.sinks, number + 1);
        int good = sink >= 0 && next_sink >= sink && next_sink <= given.sink_count && (!is_first || sink == 0)
            && (!is_last || next_sink == given.sink_count);
        long source = sink, sources = next_sink - sink;
        if (given.form == LISTED_RANGES) {
            source = integer_at(origin, given.first_addresses, number);
            sources = integer_at(origin, given.source_counts, number);
            good = good && sources >= 0 && (sources == 0 || (source >= 0 && source + sources <= given.end));
        } else if (!given.is_batch) {
            source = long_integer_at(origin, given.sources, number);
            const long next = long_integer_at(origin, given.sources, number + 1);
            sources = next - source;
            good = good && source >= 0 && next >= source && sources <= LARGEST_INDEX && (!is_first || source == 0)
                && (given.form != LISTED_OWN || (next <= given.source_count && (!is_last || next == given.source_count)));
        }
        bad = good || bad > 0 ? bad : LARGEST_INDEX - (int)number;
        ListGroup group;
        group.first_source = source;
        group.sources = good ? (int)sources : 0;
        group.first_sink = (int)sink;
        group.sinks = good ? (int)(next_sink - sink) : 0;
        group.reserved = 0;
        groups[number] = group;
        const int blocks = blocks_of(group.sinks, lane_bits_of(group.sinks, sinks_of_thread), sinks_of_thread);
        count_group(own, group.sinks, group.sources, blocks, 0);
        count_group(own + LIST_COUNTS, group.sinks, group.sources, blocks, 1);
        const long segments = group.sources > 0 ? ((long)group.sources - 1) / LIST_SEGMENT + 1 : 1;
        own_sums[0] += (long)group.sinks * group.sources;
        own_sums[1] += group.sources;
        own_sums[2] += blocks * segments;
        own_sums[3] += segments > 1 ? group.sinks * segments : 0;
    }
    if (bad > 0)
        ATOMIC_MAX(FOUND_BY(check), bad);
    SYNC;
    if (THREAD < 2 * LIST_COUNTS && own[THREAD] > 0)
        ATOMIC_ADD(&counts[THREAD], own[THREAD]);
    UNROLL_BY(1)
    for (int k = 0; k < 4; ++k) {
        SYNC;
        of_threads[THREAD] = own_sums[k];
        for (int apart = ARRAY_THREADS / 2; apart > 0; apart /= 2) {
            SYNC;
            if (THREAD < apart)
                of_threads[THREAD] += of_threads[THREAD + apart];
        }
        if (THREAD == 0)
            sums[BLOCK * 4 + k] = of_threads[0];
    }
}
