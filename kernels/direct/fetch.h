// Records and sinks on their way to where the sums are made.

// Puts records in their places and copies `count` numbers of sinks, from memory of the host or of
// the device.
KERNEL(FETCH_THREADS, 1)
fetch(GLOBAL const double *records, int record_count, GLOBAL double *octets, GLOBAL int *indices, GLOBAL int *ranges,
    GLOBAL const int *slots, int is_dense, GLOBAL const double *from, GLOBAL double *to, int count)
{
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const int thread = BLOCK * FETCH_THREADS + THREAD, threads = BLOCKS * FETCH_THREADS;
    for (int place = thread; place < count; place += threads)
        to[place] = from[place];
    for (int record = thread / RECORD_WORDS; record < record_count; record += threads / RECORD_WORDS) {
        const double value = records[(long)record * RECORD_WORDS + THREAD % RECORD_WORDS];
        const uint address = address_of(records, record);
        const int chunk = (int)(address / CHUNK);
        const int slot = is_dense ? chunk : slots[chunk];
        if (slot >= 0)
            put_word(value, THREAD % RECORD_WORDS, octets, indices, ranges, slot, address);
    }
}
