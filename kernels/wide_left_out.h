// The neighbours that the sums leave out.

#if REGULAR
// WIDTH sources of a tile from a place on, side by side, with masses and velocities.
FUNCTION Sink sources_at(GLOBAL const REAL *tile, int place)
{
    Sink sources;
    load_positions(tile, place, &sources);
    sources.weight = LOAD(WIDTH, tile + WEIGHT * CHUNK + place);
    UNROLL
    for (int k = 0; k < 3; ++k)
        sources.higher[0][k] = LOAD(WIDTH, tile + (HIGHER + k) * CHUNK + place);
    return sources;
}

// Appends the sources that the sums leave out to the lists of up to WINDOW sinks, in any order. The sources were
// predicted before; `sinks` has the rows of sinks, each of `ni`, and the indices behind the room for WINDOW. A list that
// is longer than its room is only counted to its end.
KERNEL(1, 1)
find_left_out(const Step step, GLOBAL const VECTOR *predicted, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *sinks, GLOBAL uint *lengths, GLOBAL int *lists, int room)
{
    GLOBAL const int *const sink_indices = (GLOBAL const int *)(sinks + SINK_ROWS * WINDOW);
    for (int chunk = GROUP; chunk < step.chunks; chunk += GROUPS) {
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (slot < 0)
            continue;
        GLOBAL const REAL *const tile = tile_of(predicted, slot);
        for (int number = 0; number < step.ni; ++number) {
            VECTOR rows[SINK_ROWS];
            UNROLL
            for (int row = 0; row < SINK_ROWS; ++row)
                rows[row] = sinks[row * step.ni + number];
            const Body body = sink_of_rows(rows);
            Sink sink;
            sink.by_mass = body.by_mass, sink.plain = body.plain, sink.step = body.step;
            for (int place = 0; place < CHUNK; place += WIDTH) {
                const Sink sources = sources_at(tile, place);
                // The other way round, which changes signs alone.
                WIDE r[3], v[3];
                position_difference(&body, &sources, r);
                higher_difference(&body, &sources, 1, v);
                const LOGICAL is_near =
                    is_neighbour(r, squared(r), v, sources.weight, &sink) && sources.position[0] < (REAL)FAR_FROM_SINKS;
                if (!ANY_LANE(is_near))
                    continue;
                for (int lane = 0; lane < WIDTH; ++lane) {
                    const int index = indices[(long)slot * CHUNK + place + lane];
                    if (!LANE(is_near, const WHOLE, lane) || (step.skip_own_index && index == sink_indices[number]))
                        continue;
                    const uint end = ATOMIC_ADD(&lengths[number], 1u);
                    if (end < (uint)room)
                        lists[(long)number * room + end] = index;
                }
            }
        }
    }
}
#endif
