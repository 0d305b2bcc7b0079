// What the threads of a block do together, and the differences of places.

// The difference of two places, each as what 32 bits hold of it and what they round off.
#define APART(highs, lows, from_high, from_low, k) \
    (((highs).k - (from_high).k) + ((lows).k - (from_low).k))

#if !CAN_VOTE
// Threads that run in step are not known.
#define SYNC_32 SYNC
#endif

#define LANES 32
#define LANE (THREAD % LANES)
#define WARP (THREAD / LANES)
#define BELOW ((1u << LANE) - 1u)

// The sum of the values of all threads before this one. `scanned` has a place for each of the
// threads, of which there are a multiple of 32.
FUNCTION uint sum_before(uint value, LOCAL_POINTER uint *scanned)
{
    SYNC;
    scanned[THREAD] = value;
    UNROLL
    for (int apart = 1; apart < LANES; apart *= 2) {
        SYNC_32;
        const uint before = LANE >= apart ? scanned[THREAD - apart] : 0;
        SYNC_32;
        scanned[THREAD] += before;
    }
    SYNC;
    uint sum = scanned[THREAD] - value;
    for (int warp = 0; warp < WARP; ++warp)
        sum += scanned[warp * LANES + LANES - 1];
    return sum;
}

// Replaces each number of a row by the sum of those before it in the row, and writes the sum of
// all. A thread block has a row.
KERNEL(SCAN_THREADS, 4)
scan_rows(GLOBAL uint *numbers, GLOBAL uint *totals, int count)
{
    LOCAL uint scanned[SCAN_THREADS];
    LOCAL uint of_round;
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    GLOBAL uint *const row = numbers + (long)BLOCK * count;
    uint total = 0;
    for (int first = 0; first < count; first += SCAN_THREADS * SCANNED) {
        const int place = first + THREAD * SCANNED;
        uint values[SCANNED], sum = 0;
        UNROLL
        for (int k = 0; k < SCANNED; ++k) {
            values[k] = place + k < count ? row[place + k] : 0;
            sum += values[k];
        }
        uint before = sum_before(sum, scanned);
        if (THREAD == SCAN_THREADS - 1)
            of_round = before + sum;
        UNROLL
        for (int k = 0; k < SCANNED; ++k) {
            if (place + k < count)
                row[place + k] = total + before;
            before += values[k];
        }
        SYNC;
        total += of_round;
    }
    if (THREAD == 0)
        totals[BLOCK] = total;
}
