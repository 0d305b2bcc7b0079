// Local expansions: from the moments of cells, and from those of the sinks around.
//
// With R from the centre of sources to that of sinks, the local expansion is L_b = sum M_a D_(a+b)
// of the softened inverse distance at R, and the potential at x from the centre -sum L_b x^b / b!.

#define LOCAL_STRIDE ((COMPONENTS + 3) / 4 * 4)

// The place of the local expansion of a sink: those of groups follow those of two levels.
FUNCTION long local_place(GLOBAL const uint *sink_counts, int level, uint number)
{
    const uint before = level == 0 ? 0 : level == 1 ? sink_counts[0] : sink_counts[0] + sink_counts[1];
    return ((long)before + number) * LOCAL_STRIDE;
}

// The local expansions of all sinks by their lists: a block of 32 threads has a sink, each thread
// some of its cells.
KERNEL(LANES, ORDER < 5 ? 20 : 12)
add_far(GLOBAL const CellPlace *sink_places, GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows,
    GLOBAL const CellPlace *places, GLOBAL const float4 *moments,
    GLOBAL const Sink *sinks, GLOBAL const uint *sink_counts, GLOBAL const uint *far_heads, GLOBAL const uint *lists,
    GLOBAL float *locals, GLOBAL const double *frame, double softening2_given, uint room)
{
    LOCAL float sums[COMPONENTS * SUMMED_STRIDE];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const float softening2 = (float)(softening2_given * frame[CUBE_TO_UNITS] * frame[CUBE_TO_UNITS]);
    const uint first = sink_counts[0], second = first + sink_counts[1], count = second + sink_counts[LEVELS_OF_SINKS];
    for (uint turn = BLOCK; turn < count; turn += BLOCKS) {
        const int level = turn < first ? 0 : turn < second ? 1 : LEVELS_OF_SINKS;
        const long number = (long)level * room + (turn < first ? turn : turn < second ? turn - first : turn - second);
        const Sink sink = sinks[number];
        const CellPlace centre = place_of_sink(&sink, sink_places, sink_highs, sink_lows);
        float expansion[COMPONENTS];
        UNROLL
        for (int k = 0; k < COMPONENTS; ++k)
            expansion[k] = 0.0f;
        for (uint segment = far_heads[number]; segment != NO_SEGMENT; segment = lists[segment + 1]) {
            const uint end = segment + 2 + lists[segment];
            uint entry = segment + 2 + THREAD, source = entry < end ? lists[entry] : 0;
            for (; entry < end; entry += LANES) {
                const uint next = entry + LANES < end ? lists[entry + LANES] : 0;
                const float4 low = places[source].low;
                float record[RECORD], terms[TERMS];
                read_record(moments, source, record);
                unpack_terms(record, terms);
                const float x = (centre.high.x - record[0]) + (centre.low.x - low.x);
                const float y = (centre.high.y - record[1]) + (centre.low.y - low.y);
                const float z = (centre.high.z - record[2]) + (centre.low.z - low.z);
                const float inverse = INVERSE_SQRT_32(fma(x, x, fma(y, y, fma(z, z, softening2))));
                add_products(x, y, z, inverse, terms, expansion);
                source = next;
            }
        }
        SYNC_32;
        UNROLL
        for (int k = 0; k < COMPONENTS; ++k)
            sums[k * SUMMED_STRIDE + THREAD] = expansion[k];
        SYNC_32;
        for (int k = THREAD; k < COMPONENTS; k += LANES) {
            float sum = 0.0f;
            UNROLL
            for (int lane = 0; lane < LANES; ++lane)
                sum += sums[k * SUMMED_STRIDE + lane];
            locals[(long)turn * LOCAL_STRIDE + k] = sum;
        }
        SYNC_32;
    }
}

// Reads a local expansion, and what stands behind it up to the next.
FUNCTION void read_local(GLOBAL const float4 *from, float expansion[LOCAL_STRIDE])
{
    UNROLL
    for (int k = 0; k < LOCAL_STRIDE / 4; ++k) {
        const float4 part = from[k];
        expansion[4 * k] = part.x, expansion[4 * k + 1] = part.y, expansion[4 * k + 2] = part.z, expansion[4 * k + 3] = part.w;
    }
}

// Adds the local expansions of the sinks around to those of a level. A thread has a sink.
KERNEL(SHIFT_THREADS, 2)
shift_locals(GLOBAL const CellPlace *sink_places, GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows,
    GLOBAL const Sink *sinks, GLOBAL const uint *numbers, GLOBAL const uint *sink_counts, GLOBAL float *locals, uint room,
    int level)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint count = sink_counts[level];
    const int before = level_before(level);
    for (uint number = BLOCK * SHIFT_THREADS + THREAD; number < count; number += BLOCKS * SHIFT_THREADS) {
        const Sink sink = sinks[(long)level * room + number];
        const uint parent = numbers[(long)before * room + sink.around];
        const CellPlace centre = place_of_sink(&sink, sink_places, sink_highs, sink_lows), from = sink_places[sink.around];
        // One that is too large for an expansion has none.
        if (!(from.high.w < INFINITY_32))
            continue;
        GLOBAL const float4 *const around = (GLOBAL const float4 *)(locals + local_place(sink_counts, before, parent));
        GLOBAL float4 *const own = (GLOBAL float4 *)(locals + local_place(sink_counts, level, number));
        float expansion[LOCAL_STRIDE];
        read_local(around, expansion);
        shift_local(APART(centre.high, centre.low, from.high, from.low, x), APART(centre.high, centre.low, from.high, from.low, y),
            APART(centre.high, centre.low, from.high, from.low, z), expansion);
        UNROLL
        for (int k = 0; k < LOCAL_STRIDE / 4; ++k) {
            const float4 part = own[k];
            own[k] = FLOAT4(part.x + expansion[4 * k], part.y + expansion[4 * k + 1], part.z + expansion[4 * k + 2],
                part.w + expansion[4 * k + 3]);
        }
    }
}

// The potentials, with their sign turned, and accelerations of the sinks of groups by their local
// expansions. Every 32 threads have a group. Bodies without a number are no sinks.
KERNEL(VALUE_THREADS, ORDER < 5 ? 8 : 4)
find_forces(GLOBAL const CellPlace *sink_places, GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows,
    GLOBAL const uint *sink_numbers, GLOBAL const Sink *sinks, GLOBAL const uint *sink_counts,
    GLOBAL const float *locals, GLOBAL float4 *far_sums, uint room)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint count = sink_counts[LEVELS_OF_SINKS], step = BLOCKS * (VALUE_THREADS / LANES);
    for (uint number = BLOCK * (VALUE_THREADS / LANES) + WARP; number < count; number += step) {
        const Sink group = sinks[(long)LEVELS_OF_SINKS * room + number];
        const CellPlace centre = place_of_sink(&group, sink_places, sink_highs, sink_lows);
        GLOBAL const float4 *const of_group = (GLOBAL const float4 *)(locals + local_place(sink_counts, LEVELS_OF_SINKS, number));
        for (uint place = LANE; place < group.bodies; place += LANES) {
            const uint sink = group.first_body + place;
            if (sink_numbers[sink] == NO_SINK)
                continue;
            const float4 high = sink_highs[sink], low = sink_lows[sink];
            float values[4], expansion[LOCAL_STRIDE];
            read_local(of_group, expansion);
            find_values(APART(high, low, centre.high, centre.low, x), APART(high, low, centre.high, centre.low, y),
                APART(high, low, centre.high, centre.low, z), expansion, values);
            far_sums[sink - sink_counts[SHARE]] = FLOAT4(values[0], values[1], values[2], values[3]);
        }
    }
}
