// One launch shape of the sums over the sources: a kernel FORCE_NAME in which a thread has SINKS vectors of sinks. The
// sources were predicted before.
//
// The order of addition depends neither on WIDTH nor on the shape: the sources of a strand one after another, the
// strands of a chunk, both in the numbers of a pair; then, in 64 bits, the chunks of a part. Each sum begins at zero.

KERNEL(1, 1)
FORCE_NAME(const Step step, GLOBAL double *octets, GLOBAL int *indices, GLOBAL volatile int *ranges,
    GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks, GLOBAL double *parts,
    GLOBAL double *part_distances, GLOBAL uint *part_strands, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    sinks += step.sinks_from;
    const int part_number = GROUP / step.groups, first_sink = GROUP % step.groups * (SINKS * WIDTH);
    const Part part = part_of(&step, part_number);
    // A group has at least one sink.
    const int vectors = SINKS == 1 ? 1 : min(SINKS, (step.ni - first_sink + WIDTH - 1) / WIDTH);

    Sink sink[SINKS];
    LOGICAL sink_index[SINKS];
    Nearest nearest[SINKS];
    WIDE_64 accumulated[SINKS][OUTPUTS];
    for (int i = 0; i < vectors; ++i) {
        sink[i] = load_sinks(sinks, &step, first_sink + i * WIDTH, &sink_index[i]);
        nearest[i].distance2 = NO_DISTANCE2;
        nearest[i].run = 0;
        UNROLL
        for (int output = 0; output < OUTPUTS; ++output)
            accumulated[i][output] = 0.0;
    }
    for (int k = part.first; k < part.last; ++k) {
        const int chunk = part.slice + SLICES * k;
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (slot < 0)
            continue;
        const Chunk sources = {
            tile_of(predicted, slot), indices + (long)slot * CHUNK, chunk, ranges[2 * slot], ranges[2 * slot + 1]};
        for (int i = 0; i < vectors; ++i) {
            WIDE sums[OUTPUTS];
            sum_chunk(&sources, &sink[i], sink_index[i], step.skip_own_index, sums, &nearest[i]);
            UNROLL
            for (int output = 0; output < OUTPUTS; ++output)
                accumulated[i][output] += CONVERTED(double, WIDTH, sums[output]);
        }
    }
    for (int i = 0; i < vectors; ++i) {
        const int number = first_sink + i * WIDTH;
        UNROLL
        for (int output = 0; output < OUTPUTS; ++output)
            STORE(WIDTH, accumulated[i][output], parts + ((long)part_number * OUTPUTS + output) * step.stride + number);
#if NEAREST
        const long row = (long)part_number * step.stride + number;
        STORE(WIDTH, CONVERTED(double, WIDTH, nearest[i].distance2), part_distances + row);
        STORE(WIDTH, CONVERTED(uint, WIDTH, nearest[i].run), part_strands + row);
#endif
    }
}

#undef FORCE_NAME
#undef SINKS
