// The kernels of the sort for tiles of SORT_TURNS keys a thread.

// Counts the digits of each tile: a row of tiles for each digit.
KERNEL(SORT_THREADS, 4)
COUNT_DIGITS(GLOBAL const ulong *keys, GLOBAL uint *counts, uint count, int shift)
{
    LOCAL uint totals[DIGITS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    totals[THREAD] = 0;
    SYNC;
    const uint first = BLOCK * (SORT_THREADS * SORT_TURNS) + THREAD;
    ulong own[SORT_TURNS];
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint place = first + turn * SORT_THREADS;
        own[turn] = place < count ? keys[place] : 0;
    }
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        if (first + turn * SORT_THREADS < count)
            ATOMIC_ADD(&totals[digit_of(own[turn], shift)], 1u);
    }
    SYNC;
    counts[(long)THREAD * BLOCKS + BLOCK] = totals[THREAD];
}

// Puts the keys of each tile, and their numbers, into their places. `counts` and `totals` are those
// of COUNT_DIGITS, added up. Without `numbers` a key's number is its place.
KERNEL(SORT_THREADS, 3)
PLACE_KEYS(GLOBAL const ulong *keys, GLOBAL const uint *numbers, GLOBAL ulong *sorted_keys,
    GLOBAL uint *sorted_numbers, GLOBAL const uint *counts, GLOBAL const uint *totals, uint count, int shift,
    int has_numbers)
{
    LOCAL ulong exchange[SORT_THREADS * SORT_TURNS];
    LOCAL uint counters[SORT_WARPS * DIGITS];
    // Where the keys of a digit begin in the tile, and how much farther among all keys.
    LOCAL uint starts[DIGITS], farther[DIGITS], scanned[SORT_THREADS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint tile = BLOCK * (SORT_THREADS * SORT_TURNS);
    const uint first = tile + WARP * (LANES * SORT_TURNS) + LANE;
    ulong own[SORT_TURNS];
    uint places[SORT_TURNS];
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint place = first + turn * LANES;
        own[turn] = place < count ? keys[place] : ~0UL;
    }
    UNROLL
    for (int warp = 0; warp < SORT_WARPS; ++warp)
        counters[warp * DIGITS + THREAD] = 0;
    SYNC;
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint digit = digit_of(own[turn], shift);
        LOCAL_POINTER uint *const counter = &counters[WARP * DIGITS + digit];
#if IN_STEP
        const uint same = same_digit(digit), before = *counter;
        places[turn] = before + COUNT_BITS(same & BELOW);
        SYNC_32;
        if ((same & BELOW) == 0)
            *counter = before + COUNT_BITS(same);
        SYNC_32;
#else
        scanned[THREAD] = digit;
        SYNC;
        if (LANE == 0) {
            for (int lane = 0; lane < LANES; ++lane)
                scanned[THREAD + lane] = counters[WARP * DIGITS + scanned[THREAD + lane]]++;
        }
        SYNC;
        places[turn] = scanned[THREAD];
#endif
    }
    SYNC;
    uint in_tile = 0;
    UNROLL
    for (int warp = 0; warp < SORT_WARPS; ++warp) {
        const uint of_warp = counters[warp * DIGITS + THREAD];
        counters[warp * DIGITS + THREAD] = in_tile;
        in_tile += of_warp;
    }
    const uint start = sum_before(in_tile, scanned);
    starts[THREAD] = start;
    farther[THREAD] = sum_before(totals[THREAD], scanned) + counts[(long)THREAD * BLOCKS + BLOCK] - start;
    SYNC;
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint digit = digit_of(own[turn], shift);
        places[turn] += starts[digit] + counters[WARP * DIGITS + digit];
        exchange[places[turn]] = own[turn];
    }
    SYNC;
    // Places beyond the last key hold the largest digit, and so stay behind all keys of the tile.
    const uint valid = count - tile;
    uint to[SORT_TURNS];
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint place = turn * SORT_THREADS + THREAD;
        const ulong key = exchange[place];
        to[turn] = farther[digit_of(key, shift)] + place;
        if (place < valid)
            sorted_keys[to[turn]] = key;
    }
    LOCAL_POINTER uint *const exchanged = (LOCAL_POINTER uint *)exchange;
    SYNC;
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint place = first + turn * LANES;
        exchanged[places[turn]] = has_numbers && place < count ? numbers[place] : place;
    }
    SYNC;
    UNROLL
    for (int turn = 0; turn < SORT_TURNS; ++turn) {
        const uint place = turn * SORT_THREADS + THREAD;
        if (place < valid)
            sorted_numbers[to[turn]] = exchanged[place];
    }
}

