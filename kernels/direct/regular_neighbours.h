// The neighbours that the sums leave out.

#if REGULAR
// Appends the sources that the sums leave out to the lists of up to BATCH sinks, in any order. The
// sources were predicted before; `sinks` has the rows of sinks, each of `ni`, and the indices
// behind the room for BATCH. A list that is longer than its room is only counted to its end.
KERNEL(CHUNK, 1)
find_regular_neighbours(const Step step, GLOBAL const VECTOR *predicted, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *sinks, GLOBAL uint *lengths, GLOBAL int *lists, int room)
{
    LOCAL VECTOR local_sinks[SINK_ROWS * BATCH];
    LOCAL int local_indices[BATCH];
    for (int item = THREAD; item < SINK_ROWS * step.ni; item += CHUNK)
        local_sinks[item / step.ni * BATCH + item % step.ni] = sinks[item];
    for (int sink = THREAD; sink < step.ni; sink += CHUNK)
        local_indices[sink] = ((GLOBAL const int *)(sinks + SINK_ROWS * BATCH))[sink];
    SYNC;
    for (int chunk = BLOCK; chunk < step.chunks; chunk += BLOCKS) {
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (slot < 0)
            continue;
        VECTOR rows[SINK_ROWS];
        UNROLL
        for (int row = 0; row < ROWS; ++row)
            rows[row] = predicted[((long)slot * ROWS + row) * CHUNK + THREAD];
        const Body source = body_of_rows(rows);
        if (source.position[0] >= (REAL)FAR_FROM_SINKS)
            continue;
        const int index = indices[(long)slot * CHUNK + THREAD];
        for (int number = 0; number < step.ni; ++number) {
            UNROLL
            for (int row = 0; row < SINK_ROWS; ++row)
                rows[row] = local_sinks[row * BATCH + number];
            const Body sink = sink_of_rows(rows);
            const int is_other = !(step.skip_own_index && index == local_indices[number]);
            REAL r[3], v[3];
            position_difference(&source, &sink, r);
            higher_difference(&source, &sink, 1, v);
            if (is_neighbour(r, squared(r), v, source.weight, &sink) && is_other) {
                const uint place = ATOMIC_ADD(&lengths[number], 1u);
                if (place < (uint)room)
                    lists[(long)number * room + place] = index;
            }
        }
    }
}
#endif
