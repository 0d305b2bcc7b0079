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
            const double value = results[first * n_outputs + sum];
            if (bad == 0 && !is_within(value, LARGEST_DOUBLE))
                bad = LARGEST_INDEX - first_sink - (int)first - number;
            give_force(&columns, origin, first_sink + first + number, output, value);
        }
        if (THREAD < sinks && (columns.nearest.stride != 0 || columns.nearest_distance2.stride != 0)) {
            GLOBAL const double *nearest = results + (long)stride * n_outputs + 2L * (first + THREAD);
            give_nearest(&columns, origin, first_sink + first + THREAD, nearest[0], *(GLOBAL const int *)(nearest + 1));
        }
    }
    if (bad > 0)
        ATOMIC_MAX(found, bad);
}
