// The sources that have the index of a sink, which it leaves out.

// No source, or no further one.
#define NO_SOURCE 0xffffffffu

// The bits of a key of an index below those of the index: the place of the source.
#define BITS_OF_PLACE 31

FUNCTION ulong index_key(int index)
{
    return (ulong)((uint)index ^ 0x80000000u) << BITS_OF_PLACE;
}

// Whether some source has an index that is not its place: then `found[0]` is 1.
KERNEL(KEY_THREADS, 4)
look_for_indices(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const int *indices, GLOBAL uint *found,
    uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    int differs = 0;
    for (uint place = BLOCK * KEY_THREADS + THREAD; place < count; place += BLOCKS * KEY_THREADS)
        differs |= indices[place] != (int)place && is_there(position_of(bodies, &layout, place, 0));
    if (differs)
        found[0] = 1;
}

// Writes the index and the place of each source as a key. Places without a source come last.
KERNEL(KEY_THREADS, 4)
write_index_keys(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const int *indices, GLOBAL ulong *keys,
    uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < count)
        keys[place] = is_there(position_of(bodies, &layout, place, 0)) ? index_key(indices[place]) | place : ~0UL;
}

// Whether several sources have the same index: then `found[1]` is 1. The keys are sorted.
KERNEL(KEY_THREADS, 4)
look_for_repeats(GLOBAL const ulong *keys, GLOBAL uint *found, uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place + 1 < count && keys[place] >> BITS_OF_PLACE == keys[place + 1] >> BITS_OF_PLACE)
        found[1] = 1;
}

// Where the body of each place is in the tree, from 1 on; places without one have 0 already.
KERNEL(KEY_THREADS, 4)
invert_order(GLOBAL const uint *numbers, GLOBAL uint *ranks, uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint body = BLOCK * KEY_THREADS + THREAD;
    if (body < count)
        ranks[numbers[body]] = body + 1;
}

// The first of the sorted keys that is not below one.
FUNCTION uint first_key(GLOBAL const ulong *keys, uint count, ulong key)
{
    uint first = 0, end = count;
    while (first < end) {
        const uint middle = first + (end - first) / 2;
        if (keys[middle] < key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

// Where a key's source is in the tree.
FUNCTION uint source_of_key(GLOBAL const ulong *keys, GLOBAL const uint *ranks, uint place)
{
    return ranks[(uint)keys[place] & 0x7fffffffu] - 1;
}

// Of each source in the tree the first source with its index, and the next one.
KERNEL(KEY_THREADS, 4)
link_indices(GLOBAL const ulong *keys, GLOBAL const uint *ranks, GLOBAL uint *firsts, GLOBAL uint *nexts, uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < count) {
        const ulong index = keys[place] >> BITS_OF_PLACE;
        const uint source = source_of_key(keys, ranks, place);
        const int has_next = place + 1 < count && keys[place + 1] >> BITS_OF_PLACE == index;
        firsts[source] = source_of_key(keys, ranks, first_key(keys, count, index << BITS_OF_PLACE));
        nexts[source] = has_next ? source_of_key(keys, ranks, place + 1) : NO_SOURCE;
    }
}

// The first source with an index in the tree, and in `body` where it was given. Without keys, of which
// there are `keyed`, the index of a source is its place, of which there are `places`.
FUNCTION uint find_source(int index, GLOBAL const ulong *keys, GLOBAL const uint *ranks, uint keyed, uint places,
    uint *body)
{
    if (keyed == 0) {
        *body = (uint)index;
        return index >= 0 && (uint)index < places ? ranks[index] - 1 : NO_SOURCE;
    }
    const uint first = first_key(keys, keyed, index_key(index));
    if (first == keyed || keys[first] >> BITS_OF_PLACE != index_key(index) >> BITS_OF_PLACE)
        return NO_SOURCE;
    *body = (uint)keys[first] & 0x7fffffffu;
    return source_of_key(keys, ranks, first);
}

// Of each sink the first source with its index. The indices of sinks are `stride` bytes apart. The
// sinks are in an order, or in their own.
KERNEL(KEY_THREADS, 4)
find_own(GLOBAL const char *sinks, long stride, GLOBAL const uint *order, GLOBAL const ulong *keys,
    GLOBAL const uint *ranks, GLOBAL uint *owns, uint count, uint keyed, uint places, int is_ordered)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < count) {
        const uint sink = is_ordered ? order[place] : place;
        uint body = 0;
        const int index = *(GLOBAL const int *)(sinks + sink * stride);
        owns[place] = find_source(index, keys, ranks, keyed, places, &body);
    }
}

// Takes the pairs of sinks, in their own order, and the sources that they leave out from forces.
// `nexts` has the further sources of an index if it `is_repeated`.
KERNEL(KEY_THREADS, 4)
take_away_own(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const uint *numbers, const BodyLayout sink_layout,
    GLOBAL const char *sinks, GLOBAL const uint *owns, GLOBAL const uint *nexts, GLOBAL double *forces, double softening2,
    uint count, int is_repeated)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint sink = BLOCK * KEY_THREADS + THREAD;
    if (sink >= count)
        return;
    for (uint own = owns[sink]; own != NO_SOURCE; own = is_repeated ? nexts[own] : NO_SOURCE) {
        const uint body = numbers[own];
        double r[3], s2 = softening2;
        UNROLL
        for (int k = 0; k < 3; ++k) {
            r[k] = position_of(bodies, &layout, body, k) - position_of(sinks, &sink_layout, sink, k);
            s2 += r[k] * r[k];
        }
        if (s2 > 0.0) {
            const double depth = mass_of(bodies, &layout, body) / sqrt(s2);
            forces[4 * (long)sink] += depth;
            UNROLL
            for (int k = 0; k < 3; ++k)
                forces[4 * (long)sink + 1 + k] -= depth / s2 * r[k];
        }
    }
}
