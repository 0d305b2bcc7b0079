// The end of a block: parts are added to slices, slices to the sums of a sink, and the nearest source is named.

// The nearest source of each sink, over parts and slices.
typedef struct {
    WIDE_64 distance2;
    LOGICAL_64 run;
} Candidate;

FUNCTION Candidate nearer_of(Candidate first, Candidate second)
{
    const LOGICAL_64 is_nearer = second.distance2 < first.distance2;
    first.distance2 = is_nearer ? second.distance2 : first.distance2;
    first.run = is_nearer ? second.run : first.run;
    return first;
}

// The sums of a column of numbers over the parts of a slice.
FUNCTION WIDE_64 sum_of_slice(const Step *step, int slice, int output, int first_sink, GLOBAL const double *parts)
{
    WIDE_64 sum = 0.0;
    for (int part = slice * step->parts; part < (slice + 1) * step->parts; ++part)
        sum += LOAD(WIDTH, parts + ((long)part * OUTPUTS + output) * step->stride + first_sink);
    return sum;
}

#if NEAREST
FUNCTION Candidate nearest_of_slice(const Step *step, int slice, int first_sink, GLOBAL const double *part_distances,
    GLOBAL const uint *part_strands)
{
    Candidate nearest = {INFINITY_32, 0};
    for (int part = slice * step->parts; part < (slice + 1) * step->parts; ++part) {
        const long row = (long)part * step->stride + first_sink;
        const Candidate other = {
            LOAD(WIDTH, part_distances + row), CONVERTED(long, WIDTH, LOAD(WIDTH, part_strands + row))};
        nearest = nearer_of(nearest, other);
    }
    return nearest;
}

// The first place of a run whose source is at this squared distance of a sink; CHUNK if there is none.
FUNCTION int place_of(const Step *step, GLOBAL const REAL *tile, GLOBAL const int *indices, int run, const Body *sink,
    int sink_index, REAL distance2)
{
    LOGICAL first = CHUNK;
    for (int place = (run + 1) * RUN - WIDTH; place >= run * RUN; place -= WIDTH) {
        Sink sources;
        load_positions(tile, place, &sources);
        // The other way round, which changes signs alone.
        WIDE r[3];
        position_difference(sink, &sources, r);
        LOGICAL is_there = squared(r) == distance2;
        if (step->skip_own_index)
            is_there = is_there && CONVERTED(WHOLE, WIDTH, LOAD(WIDTH, indices + place)) != sink_index;
        first = is_there ? (LOGICAL)place : first;
    }
    int lowest = CHUNK;
    for (int lane = 0; lane < WIDTH; ++lane) {
        const int place = (int)LANE(first, const WHOLE, lane);
        lowest = place < CHUNK ? min(lowest, place + lane) : lowest;
    }
    return lowest;
}
#endif

#define END_SINKS WIDTH

KERNEL(1, 1)
end_block(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks, GLOBAL const double *parts,
    GLOBAL const double *part_distances, GLOBAL const uint *part_strands, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    sinks += step.sinks_from;
    results += step.results_from;
    const int first_sink = GROUP * END_SINKS, here = min(END_SINKS, step.ni - first_sink);
    const int sheaves = step.slices / SLICES_OF_SHEAF;
    for (int output = 0; output < OUTPUTS; ++output) {
        WIDE_64 sums[SHEAVES];
        for (int sheaf = 0; sheaf < sheaves; ++sheaf) {
            sums[sheaf] = 0.0;
            for (int slice = sheaf; slice < step.slices; slice += sheaves)
                sums[sheaf] += sum_of_slice(&step, slice, output, first_sink, parts);
        }
        for (int apart = sheaves / 2; apart > 0; apart /= 2) {
            for (int sheaf = 0; sheaf < apart; ++sheaf)
                sums[sheaf] += sums[sheaf + apart];
        }
        const WIDE_64 sum = sums[0] * unit_of_sum(&step, output);
        for (int sink = 0; sink < here; ++sink)
            results[(long)(first_sink + sink) * OUTPUTS + output] = LANE(sum, const double, sink);
    }
#if NEAREST
    // In the order of the sums, so that of sources at one distance any number of devices name the same.
    Candidate nearest[SHEAVES];
    for (int sheaf = 0; sheaf < sheaves; ++sheaf) {
        nearest[sheaf] = nearest_of_slice(&step, sheaf, first_sink, part_distances, part_strands);
        for (int slice = sheaf + sheaves; slice < step.slices; slice += sheaves)
            nearest[sheaf] =
                nearer_of(nearest[sheaf], nearest_of_slice(&step, slice, first_sink, part_distances, part_strands));
    }
    for (int apart = sheaves / 2; apart > 0; apart /= 2) {
        for (int sheaf = 0; sheaf < apart; ++sheaf)
            nearest[sheaf] = nearer_of(nearest[sheaf], nearest[sheaf + apart]);
    }
    for (int sink = 0; sink < here; ++sink) {
        const int number = first_sink + sink;
        const double distance2 = LANE(nearest[0].distance2, const double, sink);
        const int run = (int)LANE(nearest[0].run, const long, sink), chunk = run / (CHUNK / RUN);
        const int slot = step.is_dense ? chunk : slots[chunk];
        int place = CHUNK;
        if (distance2 < FARTHEST2) {
            VECTOR rows[ROWS];
            UNROLL
            for (int row = 0; row < ROWS; ++row)
                rows[row] = sinks[row * step.stride + number];
            const Body body = body_of_rows(rows);
            place = place_of(&step, tile_of(predicted, slot), indices + (long)slot * CHUNK, run % (CHUNK / RUN), &body,
                indices_of(sinks, &step)[number], (REAL)distance2);
        }
        const int there = place < CHUNK;
        distances_of(results, &step)[number] = there ? distance2 * step.distance2_unit : (double)INFINITY_32;
        nearest_of(results, &step)[number] = there ? indices[(long)slot * CHUNK + place] : 0;
    }
#endif
    FENCE_HOST;
    if (ATOMIC_ADD(tickets, 1u) == (uint)(GROUPS - 1)) {
        FENCE_HOST;
        *tickets = 0;
        *flag = step.sequence;
    }
}
