// The forces on groups by direct sums over the cells of their lists, to which the sums over far
// cells are added. A block of 32 threads has a group. Bodies of it without a number are no sinks. A
// thread has up to four of its sinks, and the threads that have the same sinks share the sources in
// strands. A list of several segments is
// summed by several blocks, a segment each, and then their sums are.
//
// The order of addition: up to NEAR_PIECE sources of a segment are a piece, and those of a strand in
// it are added in single precision; then strands and pieces in double precision; then the segments
// in double precision, after their sums were rounded to single.
//
// Bodies of a leaf that are more than a leaf may have and in one point are one source of all their
// mass, so that many of them do not cost the square of their number.

// The place of a source that is all bodies in a point. No sink leaves it out.
#define OF_POINT 0xfffffffeu
#define NEAR_TILE (4 * LANES)
#define NEAR_PIECE (8 * NEAR_TILE)
#define MOST_SINKS 4
// Bodies of a group whose sinks are summed at a time.
#define MOST_OF_TURN (2 * LANES)
// From one number of the sinks of threads to the next.
#define STRAND_STRIDE (LANES + 1)
// Pairs that are nearer than this part of the radius of their group lose too many digits if both
// places are rounded relative to its centre. The distance is then found from the places themselves.
#define CLOSE 0.03125f

// Adds a source. Only guarded ones may be close to a sink, or the sink itself.
#define ADD_SOURCE(each, is_guarded, place) \
    UNROLL \
    for (int i = 0; i < each; ++i) { \
        float dx = source.x - x[i], dy = source.y - y[i], dz = source.z - z[i]; \
        float s2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening2))); \
        const int is_own = is_guarded && (place) == own[i * wide + lane]; \
        if (is_guarded && !is_own && s2 < close2) { \
            const uint from = tile_sources[j], to = i * wide + lane; \
            const uint sink = turn_sinks[to < of_turn ? to : of_turn - 1]; \
            const float4 high = highs[from], low = lows[from], at = sink_highs[sink], rest = sink_lows[sink]; \
            dx = APART(high, low, at, rest, x), dy = APART(high, low, at, rest, y), dz = APART(high, low, at, rest, z); \
            s2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening2))); \
        } \
        float inverse = INVERSE_SQRT_32(s2); \
        if (is_guarded) { \
            if (is_own) \
                seen[i * wide + lane] = 1; \
            inverse = is_own || s2 == 0.0f ? 0.0f : inverse; \
        } \
        const float potential = source.w * inverse, force = potential * (inverse * inverse); \
        sums[i][0] += potential; \
        sums[i][1] = fma(force, dx, sums[i][1]); \
        sums[i][2] = fma(force, dy, sums[i][2]); \
        sums[i][3] = fma(force, dz, sums[i][3]); \
    }

// Adds the sources of the tile that are of this thread's strand, up to an end.
#define ADD_RANGE(each, is_guarded, end) \
    for (; j < (end); j += strands) { \
        const float4 source = tile[j]; \
        const uint place = is_guarded ? tile_places[j] : 0; \
        ADD_SOURCE(each, is_guarded, place) \
    }
#define ADD_TILE(each) \
    { \
        uint j = strand; \
        ADD_RANGE(each, 0, guarded) \
        ADD_RANGE(each, 1, guarded_end) \
        ADD_RANGE(each, 0, filled) \
    }

// The number of sinks that a thread has where a turn has so many. It is the one for which a source
// takes the fewest instructions, over the strands that share the sources.
FUNCTION uint sinks_of_thread(uint of_turn)
{
    uint each = 1, least = 0, strands_of_least = 0;
    UNROLL
    for (uint some = 1; some <= MOST_SINKS; ++some) {
        const uint wide = (of_turn + some - 1) / some, strands = wide > LANES ? 0 : LANES / wide, cost = 6 + 12 * some;
        if (cost * strands_of_least < least * strands || strands_of_least == 0)
            each = some, least = cost, strands_of_least = strands;
    }
    return each;
}

// Whether a source is in a cell of a list whose bodies are summed one by one.
FUNCTION int is_listed(GLOBAL const Cell *cells, GLOBAL const CellPlace *places, GLOBAL const uint *lists, uint segment,
    uint source)
{
    int is = 0;
    for (; segment != NO_SEGMENT && !is; segment = lists[segment + 1]) {
        for (uint entry = 0; entry < lists[segment] && !is; ++entry) {
            const uint number = lists[segment + 2 + entry];
            const Cell cell = cells[number];
            const int is_point = cell.children == 0 && cell.bodies > LEAF && places[number].high.w == 0.0f;
            is = source - cell.first_body < cell.bodies && !is_point;
        }
    }
    return is;
}

// Writes the force on a sink, the sums over far and near cells, to the number of the sink, or, with
// `is_sorted`, to its place behind the `done` sinks of earlier calls. `place` is that among the
// sinks of this call. `adds` says that other forces are there. Where sinks leave out sources that are
// not themselves, `seen` gets whether that of the sink was among those that were summed.
FUNCTION void write_sums(double sum[4], int is_seen, uint sink, GLOBAL const float4 *sink_highs, GLOBAL const uint *sink_numbers,
    GLOBAL const float4 *far_sums, GLOBAL double *forces, GLOBAL uint *seen, float softening2, double unit,
    double mass_factor, int adds, int own_kind, int is_sorted, uint done, uint place)
{
    // With a softening the source that is the sink itself may be part of an expansion.
    if (own_kind == OWN_ITSELF && !is_seen && softening2 > 0.0f)
        sum[0] -= sink_highs[sink].w * INVERSE_SQRT_32(softening2);
    if (own_kind >= OWN_LISTED)
        seen[sink] = is_seen;
    const double factor = 1.0 / mass_factor;
    const long to = 4 * (long)(is_sorted ? done + place : sink_numbers[sink]);
    const float4 far_sum = far_sums[place];
    const float of_far[4] = {far_sum.x, far_sum.y, far_sum.z, far_sum.w};
    UNROLL
    for (int q = 0; q < 4; ++q) {
        const double scale = (q == 0 ? -unit : unit * unit) * factor, force = of_far[q] * scale;
        forces[to + q] = (adds ? forces[to + q] + force : force) + sum[q] * scale;
    }
}

// The parts, then the groups whose lists are no longer than parts end up with.
KERNEL(LANES, 28)
add_near(GLOBAL const Cell *cells, GLOBAL const CellPlace *places, GLOBAL const CellPlace *sink_places,
    GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows, GLOBAL const uint *sink_numbers,
    GLOBAL const float4 *highs, GLOBAL const float4 *lows, GLOBAL const Sink *sinks, GLOBAL const uint *sink_counts,
    GLOBAL const uint *near_heads, GLOBAL uint *lists, GLOBAL const uint *used, GLOBAL const uint *parts,
    GLOBAL const float4 *far_sums, GLOBAL double *forces, GLOBAL const double *frame, double softening2_given,
    double mass_factor, uint room, uint room_of_parts, int adds, int is_sorted, uint done,
    GLOBAL const uint *owns, GLOBAL const uint *own_firsts, GLOBAL uint *seen_sinks, int own_kind)
{
    // Between pieces the sums of the threads are there.
    LOCAL float4 tile[MOST_SINKS * STRAND_STRIDE > NEAR_TILE ? MOST_SINKS * STRAND_STRIDE : NEAR_TILE];
    LOCAL_POINTER float *const strand_sums = (LOCAL_POINTER float *)tile;
    LOCAL uint tile_places[NEAR_TILE], firsts[LANES], ends[LANES];
    // The mass of all bodies of a cell, if they are in one point and one source together, or else -1.
    LOCAL float point_masses[LANES];
    // Where the bodies of a cell begin among those that come to the tile, as bits.
    LOCAL uint begins[NEAR_TILE / LANES];
    // The sinks that are summed at a time.
    LOCAL uint turn_sinks[MOST_OF_TURN];
    // Whether the source that is a sink itself was among those that are summed directly.
    LOCAL unsigned char seen[MOST_OF_TURN + MOST_SINKS];
    // The first source that each sink leaves out.
    LOCAL uint own[MOST_OF_TURN + MOST_SINKS];
    // The sources of the tile themselves, whatever they count as.
    LOCAL uint tile_sources[NEAR_TILE];
    // Where the first source of the tile is that may be a sink itself or close to one, and where the
    // last ends.
    LOCAL uint guards[2];
    // From the first source that a sink of the turn leaves out to the end of the last.
    LOCAL uint own_range[2];
    LOCAL double totals[4 * MOST_OF_TURN];
    // The centre of the group. Sums leave too few registers for it.
    LOCAL CellPlace centre;
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const double unit = frame[CUBE_TO_UNITS];
    const float softening2 = (float)(softening2_given * unit * unit);
    const uint of_parts = used[1] < room_of_parts ? used[1] : room_of_parts;
    const uint count = of_parts + sink_counts[LEVELS_OF_SINKS];
    for (uint turn = BLOCK; turn < count; turn += BLOCKS) {
        const int is_part = turn < of_parts;
        const uint number = is_part ? parts[2 * turn] : turn - of_parts;
        const uint segment = is_part ? parts[2 * turn + 1] : near_heads[(long)LEVELS_OF_SINKS * room + number];
        const uint entries = segment == NO_SEGMENT ? 0 : lists[segment];
        if (!is_part && entries > MOST_OF_PART - LANES)
            continue;
        const Sink group = sinks[(long)LEVELS_OF_SINKS * room + number];
        SYNC_32;
        if (THREAD == 0)
            centre = place_of_sink(&group, sink_places, sink_highs, sink_lows);
        SYNC_32;
        // Where sinks are the sources, a body at the place of a sink is in its leaf, of which the sink
        // may be one body alone.
        const Cell own_cell = cells[own_kind == OWN_ITSELF ? group.cell : 0];
        const float radius = centre.high.w, close2 = CLOSE * CLOSE * (radius * radius);
        // A source that is close to a sink is hardly farther from the centre than one.
        const float reach2 = (1.0f + CLOSE) * (1.0f + CLOSE) * (radius * radius);
        const int guards_close = softening2 == 0.0f || softening2 < close2;
        for (uint begin = 0; begin < group.bodies; begin += MOST_OF_TURN) {
            const uint left = group.bodies - begin, bodies_of_turn = left < MOST_OF_TURN ? left : MOST_OF_TURN;
            uint of_turn = 0;
            for (uint place = 0; place < bodies_of_turn; place += LANES) {
                const uint body = group.first_body + begin + place + THREAD;
                const int is = place + THREAD < bodies_of_turn && sink_numbers[body] != NO_SINK;
                of_turn += choose(is, body, turn_sinks + of_turn, ends);
            }
            if (of_turn == 0)
                continue;
            const uint each = sinks_of_thread(of_turn), wide = (of_turn + each - 1) / each, strands = LANES / wide;
            const uint strand = THREAD / wide, lane = THREAD % wide;
            float x[MOST_SINKS], y[MOST_SINKS], z[MOST_SINKS], sums[MOST_SINKS][4];
            UNROLL
            for (uint i = 0; i < MOST_SINKS; ++i) {
                const uint wanted = i * wide + lane;
                const uint sink = turn_sinks[wanted < of_turn ? wanted : of_turn - 1];
                const float4 high = sink_highs[sink], low = sink_lows[sink];
                x[i] = APART(high, low, centre.high, centre.low, x);
                y[i] = APART(high, low, centre.high, centre.low, y);
                z[i] = APART(high, low, centre.high, centre.low, z);
                UNROLL
                for (int k = 0; k < 4; ++k)
                    sums[i][k] = 0.0f;
            }
            SYNC_32;
            for (uint place = THREAD; place < 4 * of_turn; place += LANES)
                totals[place] = 0.0;
            if (THREAD == 0) {
                guards[0] = NEAR_TILE, guards[1] = 0;
                const int is_itself = own_kind == OWN_ITSELF;
                own_range[0] = is_itself ? own_cell.first_body : NO_SOURCE;
                own_range[1] = is_itself ? own_cell.first_body + own_cell.bodies : 0;
            }
            SYNC_32;
            // Threads have places behind the last sink, too.
            for (uint place = THREAD; place < each * wide; place += LANES) {
                const uint sink = turn_sinks[place < of_turn ? place : of_turn - 1];
                const int has_own = own_kind >= OWN_LISTED && place < of_turn;
                const uint source = has_own ? owns[sink] : own_kind == OWN_ITSELF ? sink : NO_SOURCE;
                seen[place] = 0;
                own[place] = source;
                if (has_own && source != NO_SOURCE) {
                    ATOMIC_MIN(&own_range[0], source);
                    ATOMIC_MAX(&own_range[1], source + 1);
                }
            }
            SYNC_32;
            uint filled = 0, in_piece = 0;
            for (uint entry = 0; entry < entries; entry += LANES) {
                // The cells, and where the bodies of each begin among those of all.
                uint first = 0, bodies = 0;
                float point_mass = -1.0f;
                if (entry + THREAD < entries) {
                    const uint number = lists[segment + 2 + entry + THREAD];
                    const Cell cell = cells[number];
                    first = cell.first_body, bodies = cell.bodies;
                    if (cell.children == 0 && bodies > LEAF && places[number].high.w == 0.0f)
                        bodies = 1, point_mass = places[number].low.w;
                }
                point_masses[THREAD] = point_mass;
                const uint begin_of_cell = sum_before(bodies, ends);
                firsts[THREAD] = first - begin_of_cell;
                const uint all = ends[LANES - 1];
                uint begun = 0;
                for (uint start = 0; start < all;) {
                    const uint free = NEAR_TILE - filled, some = all - start < free ? all - start : free;
                    if (THREAD < NEAR_TILE / LANES)
                        begins[THREAD] = 0;
                    SYNC_32;
                    const uint from_start = begin_of_cell - start;
                    if (bodies > 0 && from_start < some)
                        ATOMIC_ADD(&begins[from_start / LANES], 1u << from_start % LANES);
                    SYNC_32;
                    UNROLL
                    for (uint place = 0; place < NEAR_TILE; place += LANES) {
                        const uint here = begins[place / LANES];
                        if (place + THREAD < some) {
                            const uint at = start + place + THREAD, to = filled + place + THREAD;
                            const uint cell = begun + COUNT_BITS(here & (BELOW << 1 | 1u)) - 1;
                            const uint source = firsts[cell] + at;
                            const float4 high = highs[source], low = lows[source];
                            const float of_point = point_masses[cell];
                            const int is_point = of_point >= 0.0f;
                            const float from_x = APART(high, low, centre.high, centre.low, x);
                            const float from_y = APART(high, low, centre.high, centre.low, y);
                            const float from_z = APART(high, low, centre.high, centre.low, z);
                            tile[to] = FLOAT4(from_x, from_y, from_z, is_point ? of_point : high.w);
                            tile_sources[to] = source;
                            const uint with_index = own_kind == OWN_REPEATED ? own_firsts[source] : source;
                            // A sink that is one of many in a point is taken from the sums afterwards.
                            tile_places[to] = is_point ? OF_POINT : with_index;
                            const int is_close = fma(from_x, from_x, fma(from_y, from_y, from_z * from_z)) <= reach2;
                            if (guards_close && is_close || with_index >= own_range[0] && with_index < own_range[1]) {
                                ATOMIC_MIN(&guards[0], to);
                                ATOMIC_MAX(&guards[1], to + 1);
                            }
                        }
                        begun += COUNT_BITS(here);
                    }
                    start += some;
                    filled += some;
                    const int is_end = start == all && entry + LANES >= entries;
                    if (filled < NEAR_TILE && !is_end)
                        continue;
                    SYNC_32;
                    const uint guarded = guards[0] < filled ? guards[0] : filled, guarded_end = guards[1];
                    if (strand < strands) {
                        if (each == 1) {
                            ADD_TILE(1)
                        } else if (each == 2) {
                            ADD_TILE(2)
                        } else if (each == 3) {
                            ADD_TILE(3)
                        } else {
                            ADD_TILE(MOST_SINKS)
                        }
                    }
                    in_piece += filled;
                    filled = 0;
                    SYNC_32;
                    if (THREAD == 0)
                        guards[0] = NEAR_TILE, guards[1] = 0;
                    if (in_piece < NEAR_PIECE && !is_end)
                        continue;
                    in_piece = 0;
                    UNROLL
                    for (int i = 0; i < MOST_SINKS; ++i) {
                        UNROLL
                        for (int k = 0; k < 4; ++k)
                            strand_sums[(4 * i + k) * STRAND_STRIDE + THREAD] = sums[i][k], sums[i][k] = 0.0f;
                    }
                    SYNC_32;
                    for (uint place = THREAD; place < 4 * of_turn; place += LANES) {
                        const uint sink = place / 4, row = 4 * (sink / wide) + place % 4, from = sink % wide;
                        double sum = 0.0;
                        for (uint k = 0; k < strands; ++k)
                            sum += strand_sums[row * STRAND_STRIDE + k * wide + from];
                        totals[place] += sum;
                    }
                    SYNC_32;
                }
                SYNC_32;
            }
            SYNC_32;
            for (uint place = THREAD; place < of_turn; place += LANES) {
                const uint sink = turn_sinks[place];
                if (is_part) {
                    GLOBAL float *const to =
                        (GLOBAL float *)&lists[segment + 2 + entries] + PART_SUMS * (sink - group.first_body);
                    UNROLL
                    for (int q = 0; q < 4; ++q)
                        to[q] = (float)totals[4 * place + q];
                    to[4] = (float)seen[place];
                } else {
                    double sum[4];
                    UNROLL
                    for (int q = 0; q < 4; ++q)
                        sum[q] = totals[4 * place + q];
                    write_sums(sum, seen[place] > 0, sink, sink_highs, sink_numbers, far_sums, forces, seen_sinks, softening2,
                        unit, mass_factor, adds, own_kind, is_sorted, done, sink - sink_counts[SHARE]);
                }
            }
            SYNC_32;
        }
    }
}

// Joins the sums over the parts of lists.
KERNEL(LANES, 16)
join_parts(GLOBAL const float4 *sink_highs, GLOBAL const uint *sink_numbers, GLOBAL const Sink *sinks,
    GLOBAL const uint *sink_counts, GLOBAL const uint *near_heads, GLOBAL const uint *lists, GLOBAL const uint *used,
    GLOBAL const uint *parts, GLOBAL const float4 *far_sums, GLOBAL double *forces, GLOBAL const double *frame,
    double softening2_given, double mass_factor, uint room, uint room_of_parts, int adds, int is_sorted, uint done,
    GLOBAL uint *seen_sinks, int own_kind)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const double unit = frame[CUBE_TO_UNITS];
    const float softening2 = (float)(softening2_given * unit * unit);
    const uint of_parts = used[1] < room_of_parts ? used[1] : room_of_parts;
    for (uint turn = BLOCK; turn < of_parts; turn += BLOCKS) {
        const uint number = parts[2 * turn], head = near_heads[(long)LEVELS_OF_SINKS * room + number];
        if (head != parts[2 * turn + 1])
            continue;
        const Sink group = sinks[(long)LEVELS_OF_SINKS * room + number];
        for (uint place = THREAD; place < group.bodies; place += LANES) {
            const uint sink = group.first_body + place;
            if (sink_numbers[sink] == NO_SINK)
                continue;
            double sum[4] = {0.0, 0.0, 0.0, 0.0};
            int is_seen = 0;
            for (uint segment = head; segment != NO_SEGMENT; segment = lists[segment + 1]) {
                GLOBAL const float *const from = (GLOBAL const float *)&lists[segment + 2 + lists[segment]] + PART_SUMS * place;
                UNROLL
                for (int q = 0; q < 4; ++q)
                    sum[q] += from[q];
                is_seen |= from[4] > 0.0f;
            }
            write_sums(sum, is_seen, sink, sink_highs, sink_numbers, far_sums, forces, seen_sinks, softening2, unit, mass_factor,
                adds, own_kind, is_sorted, done, sink - sink_counts[SHARE]);
        }
    }
}

// Takes the sources that sinks leave out from the forces, as far as they are part of expansions, and
// not of the cells of lists, where they were left out. `own_nexts` has the further sources of an index
// where these are repeated. A block has a group.
KERNEL(LANES, 16)
leave_out_far(GLOBAL const Cell *cells, GLOBAL const CellPlace *places, GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows,
    GLOBAL const uint *sink_numbers, GLOBAL const float4 *highs, GLOBAL const float4 *lows, GLOBAL const Sink *sinks,
    GLOBAL const uint *sink_counts, GLOBAL const uint *near_heads, GLOBAL const uint *lists, GLOBAL double *forces,
    GLOBAL const double *frame, double softening2_given, double mass_factor, uint room, GLOBAL const uint *owns,
    GLOBAL const uint *own_nexts, GLOBAL const uint *seen_sinks, int own_kind)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const double unit = frame[CUBE_TO_UNITS], softening2 = softening2_given * unit * unit;
    const uint count = sink_counts[LEVELS_OF_SINKS];
    const int is_repeated = own_kind == OWN_REPEATED;
    for (uint number = BLOCK; number < count; number += BLOCKS) {
        const Sink group = sinks[(long)LEVELS_OF_SINKS * room + number];
        const uint head = near_heads[(long)LEVELS_OF_SINKS * room + number];
        for (uint place = THREAD; place < group.bodies; place += LANES) {
            const uint sink = group.first_body + place;
            const float4 high = sink_highs[sink], low = sink_lows[sink];
            uint source = !is_repeated && seen_sinks[sink] ? NO_SOURCE : owns[sink];
            for (; source != NO_SOURCE; source = is_repeated ? own_nexts[source] : NO_SOURCE) {
                const float4 from = highs[source], from_low = lows[source];
                const double x = (double)(from.x - high.x) + (from_low.x - low.x);
                const double y = (double)(from.y - high.y) + (from_low.y - low.y);
                const double z = (double)(from.z - high.z) + (from_low.z - low.z);
                const double s2 = x * x + y * y + z * z + softening2;
                if (s2 > 0.0 && !(is_repeated && is_listed(cells, places, lists, head, source))) {
                    const double potential = from.w / mass_factor / sqrt(s2) * unit, force = potential / s2 * unit;
                    const long to = 4 * (long)sink_numbers[sink];
                    forces[to] += potential;
                    forces[to + 1] -= force * x, forces[to + 2] -= force * y, forces[to + 3] -= force * z;
                }
            }
        }
    }
}
