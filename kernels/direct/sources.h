// Sources as they are predicted, and the neighbours of sinks.

// Predicts the chunks of this launch's slices; a block has one.
KERNEL(CHUNK, 1)
predict_sources(const Step step, GLOBAL const double *octets, GLOBAL const int *slots, GLOBAL VECTOR *predicted)
{
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const int chunk = step.first_slice + step.slice_step * BLOCK;
    const int slot = step.is_dense ? chunk : slots[chunk];
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
// Appends the sources with |r|^2 < radius2, without softening, to the lists of up to BATCH sinks:
// all in 64 bits, in any order. `sinks` has rows of radius2, x, y, z and, behind the room for
// BATCH, the indices. A list that is longer than its room is only counted to its end.
KERNEL(CHUNK, 1)
find_neighbours(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const double *sinks, GLOBAL uint *lengths, GLOBAL int *lists, int room)
{
    LOCAL double local_sinks[BATCH_ROWS * BATCH];
    LOCAL int local_indices[BATCH];
    for (int item = THREAD; item < BATCH_ROWS * step.ni; item += CHUNK)
        local_sinks[item / step.ni * BATCH + item % step.ni] = sinks[item];
    for (int sink = THREAD; sink < step.ni; sink += CHUNK)
        local_indices[sink] = ((GLOBAL const int *)(sinks + BATCH_ROWS * BATCH))[sink];
    SYNC;
    for (int chunk = BLOCK; chunk < step.chunks; chunk += BLOCKS) {
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (slot < 0)
            continue;
        double source[SOURCE_ROWS], vectors[N_DERIVATIVES][3];
        load_source(octets, slot, THREAD, source);
        predict_vectors(source, chunk * CHUNK + THREAD, step.target, vectors);
        if (vectors[0][0] >= FAR_AWAY)
            continue;
        const int index = indices[(long)slot * CHUNK + THREAD];
        for (int sink = 0; sink < step.ni; ++sink) {
            const double x = vectors[0][0] - local_sinks[BATCH + sink];
            const double y = vectors[0][1] - local_sinks[2 * BATCH + sink];
            const double z = vectors[0][2] - local_sinks[3 * BATCH + sink];
            const int is_other = !(step.skip_own_index && index == local_indices[sink]);
            if (fma(z, z, fma(y, y, x * x)) < local_sinks[sink] && is_other) {
                const uint place = ATOMIC_ADD(&lengths[sink], 1u);
                if (place < (uint)room)
                    lists[(long)sink * room + place] = index;
            }
        }
    }
}
#endif
