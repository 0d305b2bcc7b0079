// Forces, brought to arrays of callers.

// The first sink with a sum that is not finite: LARGEST_INDEX less its number; 0 where all are.
KERNEL(ARRAY_THREADS, 2)
check_forces(GLOBAL const double *results, const long results_from, const int count, const int n_outputs, const int first_sink, GLOBAL int *found)
{
    int bad = 0;
    results += results_from;
    for (long sink = BLOCK * ARRAY_THREADS + THREAD; sink < count && bad == 0; sink += BLOCKS * ARRAY_THREADS) {
        int good = 1;
        for (int output = 0; output < n_outputs; ++output)
            good = good && is_within(results[sink * n_outputs + output], LARGEST_DOUBLE);
        bad = good ? 0 : LARGEST_INDEX - first_sink - (int)sink;
    }
    if (bad > 0)
        ATOMIC_MAX(found, bad);
}

FUNCTION void put_vector(GLOBAL char *origin, const Column column, long sink, GLOBAL const double *from)
{
    if (column.stride != 0) {
        GLOBAL double *to = (GLOBAL double *)(origin + column.offset + sink * column.stride);
        UNROLL
        for (int component = 0; component < 3; ++component)
            to[component] = from[component];
    }
}

// Writes the forces on the sinks of a piece, from the sink `first_sink` on. The sums of a sink
// follow one another; behind those of `stride` sinks come the nearest sources, a distance and an
// index each.
KERNEL(ARRAY_THREADS, 2)
write_forces(GLOBAL const double *results, const long results_from, const int count, const int stride,
    const int n_outputs, const int first_sink, const ForceColumns columns, GLOBAL char *origin)
{
    results += results_from;
    for (long place = BLOCK * ARRAY_THREADS + THREAD; place < count; place += BLOCKS * ARRAY_THREADS) {
        GLOBAL const double *sums = results + place * n_outputs;
        GLOBAL const double *nearest = results + (long)stride * n_outputs + 2L * place;
        const long sink = (long)first_sink + place;
        if (columns.potentials.stride != 0)
            *(GLOBAL double *)(origin + columns.potentials.offset + sink * columns.potentials.stride) = sums[0];
        put_vector(origin, columns.accelerations, sink, sums + 1);
        put_vector(origin, columns.jerks, sink, sums + 4);
        put_vector(origin, columns.snaps, sink, sums + 7);
        put_vector(origin, columns.crackles, sink, sums + 10);
        if (columns.nearest.stride != 0) {
            const int there = nearest[0] <= LARGEST_DOUBLE;
            *(GLOBAL int *)(origin + columns.nearest.offset + sink * columns.nearest.stride) =
                there ? *(GLOBAL const int *)(nearest + 1) : -1;
        }
        if (columns.nearest_distance2.stride != 0)
            *(GLOBAL double *)(origin + columns.nearest_distance2.offset + sink * columns.nearest_distance2.stride) = nearest[0];
    }
}
