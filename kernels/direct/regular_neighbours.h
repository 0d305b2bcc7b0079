// The neighbours that the sums leave out.

#if REGULAR
// Appends the sources that the sums leave out to the lists of sinks, in any order. The sources were
// predicted before. Of the launch, `blocks` thread blocks serve each BATCH sinks. A list that is
// longer than its room is only counted to its end.
KERNEL(CHUNK, 1)
find_regular_neighbours(const Step step, GLOBAL const VECTOR *predicted, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const double *sinks, GLOBAL uint *lengths, GLOBAL int *lists, int room)
{
    LOCAL Sink local_sinks[BATCH];
    LOCAL int local_indices[BATCH];
    const int first = BLOCK / step.blocks * BATCH;
    const int count = step.ni - first < BATCH ? step.ni - first : BATCH;
    for (int sink = THREAD; sink < count; sink += CHUNK) {
        local_sinks[sink] = load_sink(sinks, first + sink, &step);
        local_indices[sink] = index_of_sink(sinks, first + sink);
    }
    SYNC;
    for (int chunk = BLOCK % step.blocks; chunk < step.chunks; chunk += step.blocks) {
        const int slot = slot_of(&step, slots, chunk);
        if (slot < 0)
            continue;
        VECTOR rows[ROWS];
        UNROLL
        for (int row = 0; row < ROWS; ++row)
            rows[row] = predicted[((long)slot * ROWS + row) * CHUNK + THREAD];
        const Body source = body_of_rows(rows);
        if (source.position[0] >= (REAL)FAR_FROM_SINKS)
            continue;
        const int index = indices[(long)slot * CHUNK + THREAD];
        for (int number = 0; number < count; ++number) {
            const Sink sink = local_sinks[number];
            const int is_other = !(step.skip_own_index && index == local_indices[number]);
            REAL r[3], v[3];
            position_difference(&source, &sink, r);
            higher_difference(&source, &sink, 1, v);
            if (is_neighbour(r, squared(r), v, source.weight, &sink) && is_other) {
                const uint place = ATOMIC_ADD(&lengths[first + number], 1u);
                if (place < (uint)room)
                    lists[(long)(first + number) * room + place] = index;
            }
        }
    }
}
#endif
