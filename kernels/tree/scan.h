// Sums of rows.

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
