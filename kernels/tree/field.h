// The levels of sinks, and the first pass, which finds accelerations to about a tenth.

// Whether each body of a cell is a sink alone.
FUNCTION int are_alone(GLOBAL const uint *groups, uint cell, int level)
{
    return level == LEVELS_OF_SINKS && groups[cell] > 1;
}

// The sinks that a cell is: of levels 0 to 2, or of groups. Of bodies alone only those count that have
// a number among sinks.
FUNCTION uint sinks_of_cell(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *groups,
    GLOBAL const uint *sink_numbers, uint cell, int level)
{
    if (!are_alone(groups, cell, level))
        return level == LEVELS_OF_SINKS ? groups[cell] : (uint)is_sink(cells, parents, cell, most_of_level(level));
    uint some = 0;
    for (uint body = cells[cell].first_body, end = body + cells[cell].bodies; body < end; ++body)
        some += sink_numbers[body] != NO_SINK;
    return some;
}

// The first body at a place or behind it with which a sink of level 0 begins.
FUNCTION uint start_of_sink(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *leaves, uint place,
    uint bodies)
{
    if (place == 0 || place >= bodies)
        return place;
    uint cell = leaves[place];
    while (!is_sink(cells, parents, cell, most_of_level(0)))
        cell = parents[cell];
    const uint first = cells[cell].first_body;
    return first == place ? place : first + cells[cell].bodies;
}

// Whether a cell may be a sink: if the first body is in a share, from `bounds[0]` to before `bounds[1]`,
// and, where only some bodies are sinks, one of those is in it.
FUNCTION int may_be_sink(GLOBAL const Cell *cells, GLOBAL const uint *chosen_cells, int are_some, uint cell, uint count,
    LOCAL_POINTER const uint *bounds)
{
    return cell < count && cells[cell].first_body >= bounds[0] && cells[cell].first_body < bounds[1]
        && (!are_some || chosen_cells[cell]);
}

// Counts the sinks of a tile of cells: of levels 0 to 2, a row each, or of groups alone; only those
// in the cells of level 0 that begin in a share of the sorted bodies, from `begin` to before `end`.
KERNEL(SELECT_THREADS, 4)
count_sinks(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *leaves, GLOBAL const uint *groups,
    GLOBAL const uint *sink_numbers, GLOBAL const uint *chosen_cells, GLOBAL uint *counts, GLOBAL const uint *found,
    uint begin, uint end, uint bodies, int are_some, int of_groups)
{
    LOCAL uint totals[LEVELS_OF_SINKS], bounds[2];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    if (THREAD < LEVELS_OF_SINKS)
        totals[THREAD] = 0;
    if (THREAD < 2)
        bounds[THREAD] = start_of_sink(cells, parents, leaves, THREAD == 0 ? begin : end, bodies);
    SYNC;
    const uint cell = BLOCK * SELECT_THREADS + THREAD;
    const int first = of_groups ? LEVELS_OF_SINKS : 0, rows = of_groups ? 1 : LEVELS_OF_SINKS;
    if (may_be_sink(cells, chosen_cells, are_some, cell, found[FOUND_STARTS + GENERATIONS], bounds)) {
        for (int row = 0; row < rows; ++row) {
            const uint some = sinks_of_cell(cells, parents, groups, sink_numbers, cell, first + row);
            if (some > 0)
                ATOMIC_ADD(&totals[row], some);
        }
    }
    SYNC;
    if (THREAD < rows)
        counts[THREAD * BLOCKS + BLOCK] = totals[THREAD];
}

// Writes the sinks of each level, one level of `room` sinks after another, and the number of each
// cell among those of its level. Groups come behind the levels, as many as there is room for. The
// bodies of the share go to the end of `sink_counts`.
KERNEL(SELECT_THREADS, 4)
place_sinks(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *leaves, GLOBAL const uint *groups,
    GLOBAL const uint *sink_numbers, GLOBAL const uint *chosen_cells, GLOBAL const uint *counts,
    GLOBAL const uint *totals, GLOBAL Sink *sinks, GLOBAL uint *numbers, GLOBAL uint *sink_counts,
    GLOBAL const uint *found, uint begin, uint end, uint bodies, uint room, uint room_of_groups, int are_some,
    int of_groups)
{
    LOCAL uint scanned[SELECT_THREADS], bounds[2];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    if (THREAD < 2) {
        bounds[THREAD] = start_of_sink(cells, parents, leaves, THREAD == 0 ? begin : end, bodies);
        if (BLOCK == 0)
            sink_counts[SHARE + THREAD] = bounds[THREAD];
    }
    SYNC;
    const uint cell = BLOCK * SELECT_THREADS + THREAD;
    const int may_be = may_be_sink(cells, chosen_cells, are_some, cell, found[FOUND_STARTS + GENERATIONS], bounds);
    const int first = of_groups ? LEVELS_OF_SINKS : 0, rows = of_groups ? 1 : LEVELS_OF_SINKS;
    for (int row = 0; row < rows; ++row) {
        const int level = first + row;
        const uint some = may_be ? sinks_of_cell(cells, parents, groups, sink_numbers, cell, level) : 0;
        const uint number = sum_before(some, scanned) + counts[row * BLOCKS + BLOCK];
        if (some > 0) {
            const Cell of = cells[cell];
            Sink sink;
            sink.cell = sink.around = cell;
            while (level > 0 && !is_sink(cells, parents, sink.around, most_of_level(level_before(level))))
                sink.around = parents[sink.around];
            const int each = are_alone(groups, cell, level);
            sink.bodies = each ? 1 : of.bodies;
            sink.first_body = of.first_body;
            for (uint k = 0; k < some && (!of_groups || number + k < room_of_groups); ++k, ++sink.first_body) {
                while (each && sink_numbers[sink.first_body] == NO_SINK)
                    ++sink.first_body;
                sinks[(long)level * room + number + k] = sink;
            }
            if (!of_groups)
                numbers[(long)level * room + cell] = number;
        }
        if (BLOCK == 0 && THREAD == 0)
            sink_counts[level] = totals[row];
    }
}

// The field at the centre of a sink by cells that are far, as points: the acceleration and its
// derivatives (xx, xy, xz, yy, yz, zz).
#define FIELD_NUMBERS 9

FUNCTION void add_point(float x, float y, float z, float s2, float mass, float mass_in_tide, float field[FIELD_NUMBERS])
{
    const float inverse = s2 > 0.0f ? INVERSE_SQRT_32(s2) : 0.0f, inverse2 = inverse * inverse;
    const float weight = mass * (inverse * inverse2), in_tide = mass_in_tide * (inverse * inverse2);
    const float weight3 = 3.0f * (in_tide * inverse2);
    field[0] = fma(weight, x, field[0]), field[1] = fma(weight, y, field[1]), field[2] = fma(weight, z, field[2]);
    field[3] += fma(weight3 * x, x, -in_tide), field[4] = fma(weight3 * x, y, field[4]);
    field[5] = fma(weight3 * x, z, field[5]), field[6] += fma(weight3 * y, y, -in_tide);
    field[7] = fma(weight3 * y, z, field[7]), field[8] += fma(weight3 * z, z, -in_tide);
}

// Moves a field by a distance.
FUNCTION void move_field(float x, float y, float z, float field[FIELD_NUMBERS])
{
    field[0] += fma(field[3], x, fma(field[4], y, field[5] * z));
    field[1] += fma(field[4], x, fma(field[6], y, field[7] * z));
    field[2] += fma(field[5], x, fma(field[7], y, field[8] * z));
}

// The sum of a field over 32 threads, in their order; all threads get it.
#define FIELD_STRIDE (LANES + 1)
FUNCTION void sum_field(float field[FIELD_NUMBERS], LOCAL_POINTER float *scratch)
{
    SYNC_32;
    UNROLL
    for (int k = 0; k < FIELD_NUMBERS; ++k)
        scratch[k * FIELD_STRIDE + LANE] = field[k];
    SYNC_32;
    float parts[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if (LANE < FIELD_NUMBERS) {
        UNROLL
        for (int lane = 0; lane < LANES; ++lane)
            parts[lane % 4] += scratch[LANE * FIELD_STRIDE + lane];
    }
    SYNC_32;
    if (LANE < FIELD_NUMBERS)
        scratch[LANE] = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    SYNC_32;
    UNROLL
    for (int k = 0; k < FIELD_NUMBERS; ++k)
        field[k] = scratch[k];
}

// Marks a cell of a list that has children, but is not opened.
#define IS_CLOSED 0x80000000u

// Leaves of sinks that 32 threads have at a time, and the threads that share one.
#define LEAVES_AT_A_TIME 4
#define SHARING (LANES / LEAVES_AT_A_TIME)

// The field at the middle of a leaf of sinks, by the field at the centre of the cell around it and
// the cells of sources of a list, which are near. These are as soft as they and the leaf are large;
// leaves of sources as large as the leaf would be noise in the tide.
FUNCTION void find_field(GLOBAL const uint *lists, uint segment, GLOBAL const CellPlace *places, const CellPlace *at,
    const CellPlace *centre, const float of_centre[FIELD_NUMBERS], float softening2, LOCAL_POINTER float *scratch,
    float field[FIELD_NUMBERS])
{
    UNROLL
    for (int k = 0; k < FIELD_NUMBERS; ++k)
        field[k] = 0.0f;
    const float radius = at->high.w, soft2 = fma(radius, radius, softening2);
    for (; segment != NO_SEGMENT; segment = lists[segment + 1]) {
        const uint entries = lists[segment];
        uint entry = THREAD % SHARING, next = entry < entries ? lists[segment + 2 + entry] : 0;
        for (; entry < entries; entry += SHARING) {
            const uint source = next;
            const CellPlace place = places[source & ~IS_CLOSED];
            next = entry + SHARING < entries ? lists[segment + 2 + entry + SHARING] : 0;
            const float x = APART(place.high, place.low, at->high, at->low, x);
            const float y = APART(place.high, place.low, at->high, at->low, y);
            const float z = APART(place.high, place.low, at->high, at->low, z);
            const float s2 = fma(x, x, fma(y, y, fma(z, z, fma(place.high.w, place.high.w, soft2))));
            const int is_in_tide = source >= IS_CLOSED || place.high.w < 0.5f * radius;
            add_point(x, y, z, s2, place.low.w, is_in_tide ? place.low.w : 0.0f, field);
        }
    }
    // The sums of the threads that share the leaf, in their order.
    SYNC_32;
    UNROLL
    for (int k = 0; k < FIELD_NUMBERS; ++k)
        scratch[k * FIELD_STRIDE + LANE] = field[k];
    SYNC_32;
    const int first = THREAD / SHARING * SHARING;
    for (int k = THREAD % SHARING; k < FIELD_NUMBERS; k += SHARING) {
        float sum = 0.0f;
        UNROLL
        for (int lane = 0; lane < SHARING; ++lane)
            sum += scratch[k * FIELD_STRIDE + first + lane];
        scratch[k * FIELD_STRIDE + first] = sum;
    }
    SYNC_32;
    float moved[FIELD_NUMBERS];
    UNROLL
    for (int k = 0; k < FIELD_NUMBERS; ++k)
        moved[k] = of_centre[k];
    move_field(APART(at->high, at->low, centre->high, centre->low, x), APART(at->high, at->low, centre->high, centre->low, y),
        APART(at->high, at->low, centre->high, centre->low, z), moved);
    UNROLL
    for (int k = 0; k < FIELD_NUMBERS; ++k)
        field[k] = scratch[k * FIELD_STRIDE + first] + moved[k];
}

FUNCTION float acceleration_of(const float field[FIELD_NUMBERS])
{
    return sqrt(fma(field[0], field[0], fma(field[1], field[1], field[2] * field[2])));
}

FUNCTION float tide_of(const float field[FIELD_NUMBERS])
{
    const float beside = fma(field[4], field[4], fma(field[5], field[5], field[7] * field[7]));
    return sqrt(fma(field[3], field[3], fma(field[6], field[6], fma(field[8], field[8], 2.0f * beside))));
}

// The largest ratio of a tide to an acceleration, above every limit.
#define MOST_RATIO 1e30f

// In the last level cells below this part of the radius of the smallest leaf of a sink, or of the
// radius of the sink, are not opened, but are as soft as they are large: otherwise a sink far
// outside has all leaves in its list, and one with a small leaf all those around it.
#define LEAST_OF_LEAF 0.5f
#define LEAST_OF_SINK 0.25f

// The first pass of a level: the fields of its sinks, the lists of what is left to those of the
// next level, and in the last level the accelerations of leaves, for each of their bodies, and
// `ratios`, the tide over the acceleration. For groups it finds the accelerations of those that are
// one body of a leaf.
KERNEL(LANES, 32)
find_fields(GLOBAL const Cell *cells, GLOBAL const uint *leaves, GLOBAL const float4 *highs, GLOBAL const float4 *lows,
    GLOBAL const CellPlace *sink_places, GLOBAL const CellPlace *places, GLOBAL const CellReach *reaches,
    GLOBAL const Sink *sinks, GLOBAL const uint *numbers, GLOBAL const uint *sink_counts, GLOBAL float *fields,
    GLOBAL uint *heads, GLOBAL uint *lists, GLOBAL uint *used, GLOBAL float *accelerations,
    GLOBAL float *ratios, GLOBAL const double *frame, double softening2_given, uint root, uint room, uint list_room, int level)
{
    WALK_MEMORY;
    LOCAL uint kept[WALK_BUFFER];
    LOCAL float field_scratch[FIELD_NUMBERS * FIELD_STRIDE];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const float softening2 = (float)(softening2_given * frame[CUBE_TO_UNITS] * frame[CUBE_TO_UNITS]);
    const uint count = sink_counts[level];
    const int is_last = level == LEVELS_OF_SINKS - 1, is_alone = level == LEVELS_OF_SINKS;
    for (uint number = BLOCK; number < count; number += BLOCKS) {
        const Sink sink = sinks[(long)level * room + number];
        if (is_alone && sink.bodies == cells[sink.cell].bodies)
            continue;
        const CellPlace centre = place_of_sink(&sink, sink_places, highs, lows);
        const float own_radius = centre.high.w;
        float opens = own_radius;
        if (is_last) {
            float smallest = own_radius;
            for (uint body = sink.first_body + THREAD; body < sink.first_body + sink.bodies; body += LANES) {
                const float radius = sink_places[leaves[body]].high.w;
                smallest = radius > 0.0f ? fmin(smallest, radius) : smallest;
            }
            opens = fmax(LEAST_OF_LEAF * least_of_32(smallest, field_scratch), LEAST_OF_SINK * own_radius);
        }
        float field[FIELD_NUMBERS];
        UNROLL
        for (int k = 0; k < FIELD_NUMBERS; ++k)
            field[k] = 0.0f;
        Pending pending = pending_of(lists, NO_SEGMENT);
        SYNC_32;
        const long of_level = (long)level_before(level) * room;
        uint parent = 0;
        if (level == 0) {
            if (THREAD == 0)
                stack[0] = root;
            pending.top = 1;
        } else {
            parent = numbers[of_level + sink.around];
            pending = pending_of(lists, heads[of_level + parent]);
        }
        SYNC_32;
        Writer writer;
        writer.first = writer.last = NO_SEGMENT;
        writer.waiting = 0;
        uint tested;
        uint source;
        while ((tested = take(&pending, lists, stack, &source)) > 0) {
            const int is = THREAD < (int)tested;
            const CellPlace place = places[source];
            const CellReach reach = reaches[source];
            const float x = APART(place.high, place.low, centre.high, centre.low, x);
            const float y = APART(place.high, place.low, centre.high, centre.low, y);
            const float z = APART(place.high, place.low, centre.high, centre.low, z);
            const float s2 = fma(x, x, fma(y, y, fma(z, z, softening2))), sum = place.high.w + own_radius;
            const int is_far = sum * sum < FIELD_CUT2 * s2 && s2 > LEAST_S2;
            const int is_opened = is && !is_far && reach.children > 0 && place.high.w >= opens;
            const int is_kept = is && !is_far && !is_opened;
            if (is && is_far)
                add_point(x, y, z, s2, place.low.w, place.low.w, field);
            if (is_alone && is_kept)
                add_point(x, y, z, fma(place.high.w, place.high.w, s2), place.low.w, 0.0f, field);
            uint all;
            const uint before = count_before(is_kept && !is_alone, scratch, &all);
            if (is_kept && !is_alone)
                kept[writer.waiting + before] = is_last && reach.children > 0 ? source | IS_CLOSED : source;
            writer.waiting += all;
            open(&pending, stack, is_opened, reach.first_child, reach.children, scratch);
            flush(&writer, WALK_BUFFER - LANES, kept, &at, lists, used, list_room, 0);
        }
        sum_field(field, field_scratch);
        if (level > 0) {
            float of_parent[FIELD_NUMBERS];
            UNROLL
            for (int k = 0; k < FIELD_NUMBERS; ++k)
                of_parent[k] = fields[(of_level + parent) * FIELD_NUMBERS + k];
            const CellPlace from = sink_places[sink.around];
            move_field(APART(centre.high, centre.low, from.high, from.low, x), APART(centre.high, centre.low, from.high, from.low, y),
                APART(centre.high, centre.low, from.high, from.low, z), of_parent);
            UNROLL
            for (int k = 0; k < FIELD_NUMBERS; ++k)
                field[k] += of_parent[k];
        }
        // Nothing waits for a body alone.
        flush(&writer, 0, kept, &at, lists, used, list_room, 0);
        if (is_alone) {
            if (THREAD == 0) {
                const uint body = sink.first_body;
                // That of the leaf is at least its floor.
                const float radius = sink_places[sink.cell].high.w;
                const float floor_of_leaf = radius < INFINITY_32 ? accelerations[body] * fmin(1.0f, FLOOR * ratios[body] * radius) : 0.0f;
                accelerations[body] = fmax(acceleration_of(field), floor_of_leaf);
            }
            continue;
        }
        if (!is_last) {
            if (THREAD == 0) {
                heads[(long)level * room + number] = writer.first;
                UNROLL
                for (int k = 0; k < FIELD_NUMBERS; ++k)
                    fields[((long)level * room + number) * FIELD_NUMBERS + k] = field[k];
            }
            continue;
        }
        // Leaves of sinks, each with the leaves of sources that are near.
        SYNC;
        const uint end = sink.first_body + sink.bodies;
        for (uint begin = sink.first_body; begin < end; begin += LANES) {
            const uint body = begin + THREAD, leaf_of_body = leaves[body < end ? body : begin];
            const int is_first = body < end && cells[leaf_of_body].first_body == body;
            const uint starting = choose(is_first, leaf_of_body, kept, scratch);
            for (uint turn = 0; turn < starting; turn += LEAVES_AT_A_TIME) {
                const uint place = turn + THREAD / SHARING, leaf = kept[place < starting ? place : turn];
                const CellPlace middle = sink_places[leaf];
                float own[FIELD_NUMBERS];
                find_field(lists, writer.first, places, &middle, &centre, field, softening2, field_scratch, own);
                const float acceleration = acceleration_of(own), tide = tide_of(own), radius = middle.high.w;
                const float ratio = fmin(tide > 0.0f ? tide / acceleration : 0.0f, MOST_RATIO);
                // For the centre of a symmetric system.
                const float floor_of_leaf = radius < INFINITY_32 ? FLOOR * tide * radius : 0.0f;
                const uint first = cells[leaf].first_body, end_of_leaf = place < starting ? first + cells[leaf].bodies : first;
                for (uint other = first + THREAD % SHARING; other < end_of_leaf; other += SHARING) {
                    accelerations[other] = fmax(acceleration, floor_of_leaf);
                    ratios[other] = ratio;
                }
            }
            SYNC_32;
        }
    }
}

// Which cells of at most SINKS_2 bodies have accelerations that vary little enough for a group. A
// leaf in which they do not is one by 2: of its bodies each is a sink alone.
KERNEL(SELECT_THREADS, 4)
find_groups(GLOBAL const Cell *cells, GLOBAL const CellPlace *sink_places, GLOBAL const float *ratios,
    GLOBAL uint *alike, GLOBAL const uint *found, float variation)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint number = BLOCK * SELECT_THREADS + THREAD;
    if (number < found[FOUND_STARTS + GENERATIONS]) {
        const Cell cell = cells[number];
        const int is_leaf = cell.children == 0;
        uint is_alike = 0;
        if (is_leaf || cell.bodies <= SINKS_2) {
            const uint end = cell.first_body + (is_leaf ? 1 : cell.bodies);
            float most = 0.0f;
            for (uint body = cell.first_body; body < end; ++body)
                most = fmax(most, ratios[body]);
            const int is_even = cell.bodies == 1 || most * sink_places[number].high.w <= variation;
            is_alike = is_even ? 1 : is_leaf ? 2 : 0;
        }
        alike[number] = is_alike;
    }
}

// The groups: the largest of these cells. Each counts for as many sinks as it is.
KERNEL(SELECT_THREADS, 4)
choose_groups(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *alike, GLOBAL uint *groups,
    GLOBAL const uint *found)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint number = BLOCK * SELECT_THREADS + THREAD;
    if (number < found[FOUND_STARTS + GENERATIONS]) {
        const uint own = alike[number];
        int is_group = own != 0;
        for (uint above = parents[number]; is_group && above != NO_SEGMENT && cells[above].bodies <= SINKS_2; above = parents[above])
            is_group = alike[above] == 0;
        groups[number] = !is_group ? 0 : own == 1 ? 1 : cells[number].bodies;
    }
}
