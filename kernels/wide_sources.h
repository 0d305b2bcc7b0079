// Predicted sources: of each chunk rows of CHUNK numbers, each row a component of the bodies.

#define WEIGHT 0
#define POSITION 1
#define LOW 4
#if PRECISION == MIXED
#define HIGHER 7
#else
#define HIGHER 4
#endif

// The tile of a slot.
FUNCTION GLOBAL const REAL *tile_of(GLOBAL const VECTOR *predicted, int slot)
{
    return (GLOBAL const REAL *)(predicted + (long)slot * ROWS * CHUNK);
}

// The source at a place of a tile.
FUNCTION Body source_at(GLOBAL const REAL *tile, int place)
{
    Body body;
    body.weight = tile[WEIGHT * CHUNK + place];
    UNROLL
    for (int k = 0; k < 3; ++k) {
        body.position[k] = tile[(POSITION + k) * CHUNK + place];
#if PRECISION == MIXED
        body.low[k] = tile[(LOW + k) * CHUNK + place];
#endif
        UNROLL
        for (int q = 1; q < VECTORS; ++q)
            body.higher[q - 1][k] = tile[(HIGHER + 3 * (q - 1) + k) * CHUNK + place];
    }
    return body;
}

// The positions of WIDTH sources of a tile from a place on, side by side.
FUNCTION void load_positions(GLOBAL const REAL *tile, int place, Sink *sources)
{
    UNROLL
    for (int k = 0; k < 3; ++k) {
        sources->position[k] = LOAD(WIDTH, tile + (POSITION + k) * CHUNK + place);
#if PRECISION == MIXED
        sources->low[k] = LOAD(WIDTH, tile + (LOW + k) * CHUNK + place);
#endif
    }
}

// Predicts the chunks of this launch's slices; a group has one.
KERNEL(1, 1)
predict_sources(const Step step, GLOBAL const double *octets, GLOBAL const int *slots, GLOBAL VECTOR *predicted)
{
    const int chunk = step.first_slice + step.slice_step * GROUP;
    const int slot = step.is_dense ? chunk : slots[chunk];
    if (slot < 0)
        return;
    GLOBAL REAL *const tile = (GLOBAL REAL *)tile_of(predicted, slot);
    for (int place = 0; place < CHUNK; place += OCTET) {
        SERIES source[SOURCE_ROWS], vectors[VECTORS][3];
        load_source(octets, slot, place, source);
        const SERIES mass =
            predict_for_pairs(source, chunk * CHUNK + place + PLACES_OF_OCTET, step.moment, vectors);
        STORE(OCTET, CONVERTED(REAL, OCTET, mass), tile + WEIGHT * CHUNK + place);
        UNROLL
        for (int k = 0; k < 3; ++k) {
            const VECTOR_OF(REAL, OCTET) position = CONVERTED(REAL, OCTET, vectors[0][k]);
            STORE(OCTET, position, tile + (POSITION + k) * CHUNK + place);
#if PRECISION == MIXED
            const SERIES low = vectors[0][k] - CONVERTED(double, OCTET, position);
            STORE(OCTET, CONVERTED(REAL, OCTET, low), tile + (LOW + k) * CHUNK + place);
#endif
            UNROLL
            for (int q = 1; q < VECTORS; ++q) {
                const VECTOR_OF(REAL, OCTET) number = CONVERTED(REAL, OCTET, vectors[q][k]);
                STORE(OCTET, number, tile + (HIGHER + 3 * (q - 1) + k) * CHUNK + place);
            }
        }
    }
}

#if !REGULAR
// Appends the sources with |r|^2 < radius2, without softening, to the lists of up to WINDOW sinks: all in 64 bits,
// in any order. `sinks` has rows of radius2, x, y, z, each of `ni`, and the indices behind the room for WINDOW. A list
// that is longer than its room is only counted to its end.
KERNEL(1, 1)
find_neighbours(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const double *sinks, GLOBAL uint *lengths, GLOBAL int *lists, int room)
{
    GLOBAL const int *const sink_indices = (GLOBAL const int *)(sinks + WINDOW_ROWS * WINDOW);
    for (int chunk = GROUP; chunk < step.chunks; chunk += GROUPS) {
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (slot < 0)
            continue;
        SERIES position[CHUNK / OCTET][3];
        for (int octet = 0; octet < CHUNK / OCTET; ++octet) {
            SERIES source[SOURCE_ROWS], vectors[VECTORS][3];
            load_source(octets, slot, octet * OCTET, source);
            predict_vectors(source, chunk * CHUNK + octet * OCTET + PLACES_OF_OCTET, step.moment, vectors);
            UNROLL
            for (int k = 0; k < 3; ++k)
                position[octet][k] = vectors[0][k];
        }
        for (int sink = 0; sink < step.ni; ++sink) {
            SERIES_LOGICAL near[CHUNK / OCTET], some = 0;
            for (int octet = 0; octet < CHUNK / OCTET; ++octet) {
                const SERIES x = position[octet][0] - sinks[step.ni + sink];
                const SERIES y = position[octet][1] - sinks[2 * step.ni + sink];
                const SERIES z = position[octet][2] - sinks[3 * step.ni + sink];
                near[octet] = fma(z, z, fma(y, y, x * x)) < sinks[sink] && position[octet][0] < FAR_AWAY;
                some |= near[octet];
            }
            if (!ANY_LANE(some))
                continue;
            for (int place = 0; place < CHUNK; ++place) {
                const int index = indices[(long)slot * CHUNK + place];
                if (!LANE(near[place / OCTET], const long, place % OCTET))
                    continue;
                if (step.skip_own_index && index == sink_indices[sink])
                    continue;
                const uint end = ATOMIC_ADD(&lengths[sink], 1u);
                if (end < (uint)room)
                    lists[(long)sink * room + end] = index;
            }
        }
    }
}
#endif
