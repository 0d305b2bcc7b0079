// Sums of all numbers before and at each place: a program of another kind than direct sums, for the
// test of the HAL.

#define SCANNED 256

// Sums within each block of SCANNED numbers, and the total of each block.
KERNEL(SCANNED, 1)
scan_blocks(GLOBAL const uint *numbers, GLOBAL uint *sums, GLOBAL uint *totals, int count)
{
    LOCAL uint scanned[SCANNED];
    const int place = BLOCK * SCANNED + THREAD;
    scanned[THREAD] = place < count ? numbers[place] : 0;
    for (int apart = 1; apart < SCANNED; apart *= 2) {
        SYNC;
        const uint before = THREAD >= apart ? scanned[THREAD - apart] : 0;
        SYNC;
        scanned[THREAD] += before;
    }
    if (place < count)
        sums[place] = scanned[THREAD];
    if (THREAD == SCANNED - 1)
        totals[BLOCK] = scanned[THREAD];
}

// Adds the sums of totals, of which each block but the first takes that before it.
KERNEL(SCANNED, 1)
add_totals(GLOBAL uint *sums, GLOBAL const uint *totals, int count)
{
    const int place = BLOCK * SCANNED + THREAD;
    if (BLOCK > 0 && place < count)
        sums[place] += totals[BLOCK - 1];
}
