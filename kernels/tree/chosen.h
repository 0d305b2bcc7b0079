// Sinks that are some of the sources. Then the groups of the sources that have one of them are those
// of the forces of all sources, and in these only such bodies are sinks.

// Before sinks are chosen: no body is the sink of a number, no cell has a sink, and none is known to
// be no source.
KERNEL(KEY_THREADS, 4)
choose_none(GLOBAL uint *sink_numbers, GLOBAL uint *chosen_cells, GLOBAL uint *found, uint bodies, uint cells)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < bodies)
        sink_numbers[place] = NO_SINK;
    if (place < cells)
        chosen_cells[place] = 0;
    if (place == 0)
        found[2] = 0;
}

// Gives each source that is a sink, with the index and at the place of it, the least number of such a
// sink, and marks the cells around it. If some sink is no source, `found` says so. The indices of
// sinks are `stride` bytes apart; `keyed` and `places` are as in `find_source`.
KERNEL(KEY_THREADS, 4)
choose_sources(const BodyLayout layout, GLOBAL const char *bodies, const BodyLayout sink_layout,
    GLOBAL const char *sinks, GLOBAL const char *sink_indices, long stride, GLOBAL const ulong *keys,
    GLOBAL const uint *ranks, GLOBAL const uint *leaves, GLOBAL const uint *parents, GLOBAL uint *owns,
    GLOBAL uint *sink_numbers, GLOBAL uint *chosen_cells, GLOBAL uint *found, uint count, uint keyed, uint places)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint sink = BLOCK * KEY_THREADS + THREAD;
    if (sink >= count)
        return;
    uint body = 0;
    const int index = *(GLOBAL const int *)(sink_indices + sink * stride);
    const uint own = find_source(index, keys, ranks, keyed, places, &body);
    int is_source = own != NO_SOURCE;
    for (int k = 0; k < 3 && is_source; ++k)
        is_source = position_of(bodies, &layout, body, k) == position_of(sinks, &sink_layout, sink, k);
    if (!is_source) {
        found[2] = 1;
        return;
    }
    owns[sink] = own;
    ATOMIC_MIN(&sink_numbers[own], sink);
    // Whoever finds a mark knows that those above it are there, or come.
    for (uint cell = leaves[own]; cell != NO_SEGMENT && !chosen_cells[cell]; cell = parents[cell])
        chosen_cells[cell] = 1;
}

// Copies the forces on sources to the further sinks that these are.
KERNEL(KEY_THREADS, 4)
repeat_forces(GLOBAL const uint *owns, GLOBAL const uint *sink_numbers, GLOBAL double *forces, uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint sink = BLOCK * KEY_THREADS + THREAD;
    if (sink >= count)
        return;
    const uint first = sink_numbers[owns[sink]];
    UNROLL
    for (int k = 0; k < 4 && first != sink; ++k)
        forces[4 * (long)sink + k] = forces[4 * (long)first + k];
}
