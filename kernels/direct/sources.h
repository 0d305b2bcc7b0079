// Sources as they are predicted, and the neighbours of sinks.

// Predicts the chunks of this launch's slices; a block has one.
KERNEL(CHUNK, 1)
predict_sources(const Step step, GLOBAL const double *octets, GLOBAL const int *slots, GLOBAL VECTOR *predicted)
{
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const int chunk = step.first_slice + step.slice_step * BLOCK;
    const int slot = slot_of(&step, slots, chunk);
    if (slot < 0)
        return;
    double source[SOURCE_ROWS];
    VECTOR rows[ROWS];
    load_source(octets, slot, THREAD, source);
    predict(source, chunk * CHUNK + THREAD, step.target, rows);
    UNROLL
    for (int row = 0; row < ROWS; ++row)
        predicted[((long)slot * ROWS + row) * CHUNK + THREAD] = rows[row];
}

#if !REGULAR
// Appends the sources with |r|^2 < radius2, without softening, to the lists of sinks: all in 64 bits,
// in any order. Of the launch, `blocks` thread blocks serve each BATCH sinks. A list that is longer
// than its room is only counted to its end.
KERNEL(CHUNK, 1)
find_neighbours(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const double *sinks, GLOBAL uint *lengths, GLOBAL int *lists, int room)
{
    // The squared radius and the position of each sink.
    LOCAL double local_sinks[BATCH][4];
    LOCAL int local_indices[BATCH];
    const int first = BLOCK / step.blocks * BATCH;
    const int count = step.ni - first < BATCH ? step.ni - first : BATCH;
    for (int item = THREAD; item < 4 * count; item += CHUNK)
        local_sinks[item / 4][item % 4] = sinks[(long)(first + item / 4) * SINK_NUMBERS + 2 + item % 4];
    for (int sink = THREAD; sink < count; sink += CHUNK)
        local_indices[sink] = index_of_sink(sinks, first + sink);
    SYNC;
    for (int chunk = BLOCK % step.blocks; chunk < step.chunks; chunk += step.blocks) {
        const int slot = slot_of(&step, slots, chunk);
        if (slot < 0)
            continue;
        double source[SOURCE_ROWS], vectors[N_DERIVATIVES][3];
        load_source(octets, slot, THREAD, source);
        predict_vectors(source, chunk * CHUNK + THREAD, step.target, vectors);
        if (vectors[0][0] >= FAR_AWAY)
            continue;
        const int index = indices[(long)slot * CHUNK + THREAD];
        UNROLL_BY(4)
        for (int sink = 0; sink < count; ++sink) {
            const double x = vectors[0][0] - local_sinks[sink][1];
            const double y = vectors[0][1] - local_sinks[sink][2];
            const double z = vectors[0][2] - local_sinks[sink][3];
            const int is_other = !(step.skip_own_index && index == local_indices[sink]);
            if (fma(z, z, fma(y, y, x * x)) < local_sinks[sink][0] && is_other) {
                const uint place = ATOMIC_ADD(&lengths[first + sink], 1u);
                if (place < (uint)room)
                    lists[(long)(first + sink) * room + place] = index;
            }
        }
    }
}
#endif

// Sorts the lists that are not longer than their room and than SORTED, each in ascending order: a
// bitonic sort by one thread block, of a list that is made longer by the largest index.
KERNEL(CHUNK, 1)
sort_lists(GLOBAL const uint *lengths, GLOBAL int *lists, int room)
{
    LOCAL int list[SORTED];
    GLOBAL int *const own = lists + (long)BLOCK * room;
    const int length = lengths[BLOCK] <= (uint)(room < SORTED ? room : SORTED) ? (int)lengths[BLOCK] : 0;
    int padded = 1;
    while (padded < length)
        padded *= 2;
    for (int place = THREAD; place < padded; place += CHUNK)
        list[place] = place < length ? own[place] : LARGEST_INDEX;
    SYNC;
    for (int run = 2; run <= padded; run *= 2) {
        for (int apart = run / 2; apart > 0; apart /= 2) {
            for (int pair = THREAD; pair < padded / 2; pair += CHUNK) {
                const int low = pair / apart * 2 * apart + pair % apart, high = low + apart;
                const int is_rising = (low & run) == 0, left = list[low], right = list[high];
                if ((left > right) == is_rising) {
                    list[low] = right;
                    list[high] = left;
                }
            }
            SYNC;
        }
    }
    for (int place = THREAD; place < length; place += CHUNK)
        own[place] = list[place];
}
