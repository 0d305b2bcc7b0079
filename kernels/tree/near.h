// The forces on groups: direct sums over the cells of their lists, and their local expansions. A
// thread block has a group. A thread has one, two or four of its sinks, and the threads that have
// the same sinks share the sources in strands.
//
// `adds` says that other forces are there. The order of addition: up to NEAR_PIECE sources, which
// come from up to NEAR_THREADS cells, are a piece, and those of a strand in it are added in single
// precision; then pieces and strands in double precision.

#define NEAR_TILE (2 * NEAR_THREADS)
#define NEAR_PIECE (16 * NEAR_TILE)
#define MOST_SINKS 4

// Adds the sources of the tile that are of this thread's strand.
#define ADD_NEAR(each, is_guarded) \
    for (uint j = strand; j < filled; j += strands) { \
        const float4 source = tile[j]; \
        UNROLL \
        for (int i = 0; i < each; ++i) { \
            const float dx = source.x - x[i], dy = source.y - y[i], dz = source.z - z[i]; \
            const float s2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening2))); \
            float inverse = INVERSE_SQRT_32(s2); \
            if (is_guarded && tile_places[j] == own[i]) \
                seen[i * wide + lane] = 1; \
            if (is_guarded && (tile_places[j] == own[i] || s2 == 0.0f)) \
                inverse = 0.0f; \
            const float potential = source.w * inverse, force = potential * (inverse * inverse); \
            sums[i][0] += potential; \
            sums[i][1] = fma(force, dx, sums[i][1]); \
            sums[i][2] = fma(force, dy, sums[i][2]); \
            sums[i][3] = fma(force, dz, sums[i][3]); \
        } \
    }

// The number of sinks that a thread has where a turn has so many. It is the one for which a source
// takes the fewest instructions, over the strands that share the sources.
FUNCTION int sinks_of_thread(uint of_turn)
{
    int each = 1;
    float least = INFINITY_32;
    UNROLL
    for (int some = 1; some <= MOST_SINKS; some *= 2) {
        const uint strands = NEAR_THREADS / ((of_turn + some - 1) / some);
        const float cost = (8.0f + 14.0f * some) / strands;
        if (cost < least)
            least = cost, each = some;
    }
    return each;
}

// The forces go to the numbers of the sinks, or, where they are the share of another device, to
// their places in it.
KERNEL(NEAR_THREADS, 7)
add_near(GLOBAL const Cell *cells, GLOBAL const CellPlace *sink_places,
    GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows, GLOBAL const uint *sink_numbers,
    GLOBAL const float4 *highs, GLOBAL const float4 *lows, GLOBAL const Sink *sinks, GLOBAL const uint *sink_counts,
    GLOBAL const uint *near_heads, GLOBAL const uint *lists, GLOBAL const float *locals, GLOBAL double *forces,
    GLOBAL const double *frame, double softening2_given, double mass_factor, uint room, int are_sources, int adds,
    int is_share)
{
    LOCAL float4 tile[NEAR_TILE];
    LOCAL uint tile_places[NEAR_TILE], firsts[NEAR_THREADS], ends[NEAR_THREADS], scratch[NEAR_THREADS];
    // Whether the source that is a sink itself was among those that are summed directly.
    LOCAL uint seen[NEAR_THREADS];
    // Whether a tile may have such a source, or one at the place of a sink: of this tile and of the
    // next.
    LOCAL int guards[2];
    LOCAL double strand_sums[4 * MOST_SINKS][NEAR_THREADS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const double unit = frame[CUBE_TO_UNITS];
    const float softening2 = (float)(softening2_given * unit * unit);
    const uint count = sink_counts[LEVELS_OF_SINKS];
    int parity = 0;
    if (THREAD < 2)
        guards[THREAD] = 0;
    for (uint number = BLOCK; number < count; number += BLOCKS) {
        const Sink group = sinks[(long)LEVELS_OF_SINKS * room + number];
        const CellPlace centre = place_of_sink(&group, sink_places, sink_highs, sink_lows);
        // A body at the place of a sink is in its leaf, of which the sink may be one body alone.
        const Cell own_cell = cells[are_sources ? group.cell : 0];
        const uint own_end = own_cell.first_body + own_cell.bodies;
        for (uint begin = 0; begin < group.bodies; begin += NEAR_THREADS) {
            const uint left = group.bodies - begin, of_turn = left < NEAR_THREADS ? left : NEAR_THREADS;
            const int each = sinks_of_thread(of_turn);
            const uint wide = (of_turn + each - 1) / each, strands = NEAR_THREADS / wide;
            const uint strand = THREAD / wide, lane = THREAD % wide;
            SYNC;
            seen[THREAD] = 0;
            float x[MOST_SINKS], y[MOST_SINKS], z[MOST_SINKS];
            uint own[MOST_SINKS];
            UNROLL
            for (int i = 0; i < MOST_SINKS; ++i) {
                const uint wanted = i * wide + lane;
                const uint sink = group.first_body + begin + (wanted < of_turn ? wanted : of_turn - 1);
                const float4 high = sink_highs[sink], low = sink_lows[sink];
                x[i] = APART(high, low, centre.high, centre.low, x);
                y[i] = APART(high, low, centre.high, centre.low, y);
                z[i] = APART(high, low, centre.high, centre.low, z);
                own[i] = are_sources ? sink : NO_SEGMENT;
                UNROLL
                for (int k = 0; k < 4; ++k)
                    strand_sums[4 * i + k][THREAD] = 0.0;
            }
            for (uint segment = near_heads[(long)LEVELS_OF_SINKS * room + number]; segment != NO_SEGMENT; segment = lists[segment + 1]) {
                const uint entries = lists[segment];
                for (uint entry = 0; entry < entries; entry += NEAR_THREADS) {
                    // The cells, and where the bodies of each end among those of all.
                    uint first = 0, bodies = 0;
                    if (entry + THREAD < entries) {
                        const Cell cell = cells[lists[segment + 2 + entry + THREAD]];
                        first = cell.first_body, bodies = cell.bodies;
                    }
                    const uint before = sum_before(bodies, scratch);
                    firsts[THREAD] = first - before;
                    ends[THREAD] = before + bodies;
                    SYNC;
                    const uint all = ends[NEAR_THREADS - 1];
                    float sums[MOST_SINKS][4];
                    UNROLL
                    for (int i = 0; i < MOST_SINKS; ++i) {
                        UNROLL
                        for (int k = 0; k < 4; ++k)
                            sums[i][k] = 0.0f;
                    }
                    for (uint start = 0; start < all; start += NEAR_TILE) {
                        const uint filled = all - start < NEAR_TILE ? all - start : NEAR_TILE;
                        SYNC;
                        UNROLL
                        for (uint place = THREAD; place < NEAR_TILE; place += NEAR_THREADS) {
                            if (place < filled) {
                                uint cell = 0;
                                UNROLL
                                for (uint step = NEAR_THREADS / 2; step > 0; step /= 2)
                                    cell += ends[cell + step - 1] <= start + place ? step : 0;
                                const uint source = firsts[cell] + start + place;
                                const float4 high = highs[source], low = lows[source];
                                tile[place] = FLOAT4(APART(high, low, centre.high, centre.low, x),
                                    APART(high, low, centre.high, centre.low, y), APART(high, low, centre.high, centre.low, z), high.w);
                                tile_places[place] = source;
                                if (are_sources ? source >= own_cell.first_body && source < own_end : softening2 == 0.0f)
                                    guards[parity] = 1;
                            }
                        }
                        SYNC;
                        const int is_guarded = guards[parity];
                        parity ^= 1;
                        if (THREAD == 0)
                            guards[parity] = 0;
                        if (strand < strands) {
                            if (each == 1) {
                                if (is_guarded) {
                                    ADD_NEAR(1, 1)
                                } else {
                                    ADD_NEAR(1, 0)
                                }
                            } else if (each == 2) {
                                if (is_guarded) {
                                    ADD_NEAR(2, 1)
                                } else {
                                    ADD_NEAR(2, 0)
                                }
                            } else {
                                if (is_guarded) {
                                    ADD_NEAR(MOST_SINKS, 1)
                                } else {
                                    ADD_NEAR(MOST_SINKS, 0)
                                }
                            }
                        }
                        if ((start + NEAR_TILE) % NEAR_PIECE == 0 || start + NEAR_TILE >= all) {
                            UNROLL
                            for (int i = 0; i < MOST_SINKS; ++i) {
                                if (i < each) {
                                    UNROLL
                                    for (int k = 0; k < 4; ++k)
                                        strand_sums[4 * i + k][THREAD] += sums[i][k], sums[i][k] = 0.0f;
                                }
                            }
                        }
                    }
                    SYNC;
                }
            }
            SYNC;
            // The strands of a sink, each of its numbers by a thread.
            for (uint turn = THREAD; turn < 4 * of_turn; turn += NEAR_THREADS) {
                const uint sink = turn / 4, row = 4 * (sink / wide) + turn % 4, from = sink % wide;
                double sum = 0.0;
                for (uint k = 0; k < strands; ++k)
                    sum += strand_sums[row][k * wide + from];
                strand_sums[row][from] = sum;
            }
            SYNC;
            if (THREAD < of_turn) {
                const uint row = 4 * (THREAD / wide), from = THREAD % wide, sink = group.first_body + begin + THREAD;
                const float4 high = sink_highs[sink], low = sink_lows[sink];
                float values[4], expansion[COMPONENTS];
                GLOBAL const float *const of_group = locals + local_place(sink_counts, LEVELS_OF_SINKS, number);
                UNROLL
                for (int k = 0; k < COMPONENTS; ++k)
                    expansion[k] = of_group[k];
                find_values(APART(high, low, centre.high, centre.low, x), APART(high, low, centre.high, centre.low, y),
                    APART(high, low, centre.high, centre.low, z), expansion, values);
                double sum[4];
                UNROLL
                for (int q = 0; q < 4; ++q)
                    sum[q] = strand_sums[row + q][from];
                // With a softening it may be part of an expansion.
                if (are_sources && !seen[THREAD] && softening2 > 0.0f)
                    sum[0] -= high.w * INVERSE_SQRT_32(softening2);
                const long to = 4 * (long)(is_share ? sink - sink_counts[SHARE] : sink_numbers[sink]);
                UNROLL
                for (int q = 0; q < 4; ++q) {
                    const double force = (sum[q] + values[q]) * ((q == 0 ? -unit : unit * unit) / mass_factor);
                    forces[to + q] = adds ? forces[to + q] + force : force;
                }
            }
        }
    }
}
