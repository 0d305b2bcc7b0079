// Forces, brought to arrays of callers. Threads have consecutive sums, so that they read memory in
// one stream.

// Writes the forces on the sinks of a piece, from the sink `first_sink` on. The sums of a sink
// follow one another; behind those of `stride` sinks come the nearest sources, a distance and an
// index each. It finds the first sink with a sum that is not finite: LARGEST_INDEX less its number;
// 0 where all are.
KERNEL(ARRAY_THREADS, 2)
write_forces(GLOBAL const double *results, const long results_from, const int count, const int stride,
    const int n_outputs, const int first_sink, const ForceColumns columns, GLOBAL char *origin, GLOBAL int *found)
{
    int bad = 0;
    results += results_from;
    for (long first = (long)BLOCK * ARRAY_THREADS; first < count; first += (long)BLOCKS * ARRAY_THREADS) {
        const int sinks = count - first < ARRAY_THREADS ? (int)(count - first) : ARRAY_THREADS;
        for (int sum = THREAD; sum < sinks * n_outputs; sum += ARRAY_THREADS) {
            const int number = sum / n_outputs, output = sum - number * n_outputs;
            Column to = columns.potentials;
            to = output > 0 ? columns.accelerations : to;
            to = output > 3 ? columns.jerks : to;
            to = output > 6 ? columns.snaps : to;
            to = output > 9 ? columns.crackles : to;
            const int component = output > 0 ? (output - 1) % 3 : 0;
            const double value = results[first * n_outputs + sum];
            if (bad == 0 && !is_within(value, LARGEST_DOUBLE))
                bad = LARGEST_INDEX - first_sink - (int)first - number;
            if (to.stride != 0)
                *(GLOBAL double *)(origin + to.offset + (first_sink + first + number) * to.stride + 8 * component) = value;
        }
        if (THREAD < sinks && (columns.nearest.stride != 0 || columns.nearest_distance2.stride != 0)) {
            GLOBAL const double *nearest = results + (long)stride * n_outputs + 2L * (first + THREAD);
            const long sink = first_sink + first + THREAD;
            if (columns.nearest.stride != 0) {
                const int there = nearest[0] <= LARGEST_DOUBLE;
                *(GLOBAL int *)(origin + columns.nearest.offset + sink * columns.nearest.stride) =
                    there ? *(GLOBAL const int *)(nearest + 1) : -1;
            }
            if (columns.nearest_distance2.stride != 0)
                *(GLOBAL double *)(origin + columns.nearest_distance2.offset + sink * columns.nearest_distance2.stride) = nearest[0];
        }
    }
    if (bad > 0)
        ATOMIC_MAX(found, bad);
}
