// What the threads of a block do together, and the differences of places.

// The difference of two places, each as what 32 bits hold of it and what they round off.
#define APART(highs, lows, from_high, from_low, k) \
    (((highs).k - (from_high).k) + ((lows).k - (from_low).k))

#if !IN_STEP
// Threads that run in step are not known.
#define SYNC_32 SYNC
#endif

#define LANES 32
#define LANE (THREAD % LANES)
#define WARP (THREAD / LANES)
#define BELOW ((1u << LANE) - 1u)

// The sum of the values of the threads up to this one, of 32. `scanned` has a place for each thread.
FUNCTION uint sum_of_lanes(uint value, LOCAL_POINTER uint *scanned)
{
#if IN_STEP
    UNROLL
    for (int apart = 1; apart < LANES; apart *= 2) {
        uint before;
        SHUFFLE(before, value, LANE - apart);
        value += LANE >= apart ? before : 0;
    }
    scanned[THREAD] = value;
#else
    scanned[THREAD] = value;
    for (int apart = 1; apart < LANES; apart *= 2) {
        SYNC;
        const uint before = LANE >= apart ? scanned[THREAD - apart] : 0;
        SYNC;
        value += before;
        scanned[THREAD] = value;
    }
#endif
    return value;
}

// The sum of the values of all threads before this one. `scanned` has a place for each of the
// threads, of which there are a multiple of 32, and gets the sums up to each of 32.
FUNCTION uint sum_before(uint value, LOCAL_POINTER uint *scanned)
{
    SYNC;
    uint sum = sum_of_lanes(value, scanned) - value;
    SYNC;
    for (int warp = 0; warp < WARP; ++warp)
        sum += scanned[warp * LANES + LANES - 1];
    return sum;
}
