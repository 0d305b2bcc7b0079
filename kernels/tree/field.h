// The levels of sinks, and the first pass, which finds accelerations to about a tenth.

// Counts the cells of a tile that are sinks: of levels 0 to 2, a row each, or groups alone.
KERNEL(SELECT_THREADS, 4)
count_sinks(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *groups, GLOBAL uint *counts,
    GLOBAL const uint *found, int of_groups)
{
    LOCAL uint totals[LEVELS_OF_SINKS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    if (THREAD < LEVELS_OF_SINKS)
        totals[THREAD] = 0;
    SYNC;
    const uint cell = BLOCK * SELECT_THREADS + THREAD;
    if (cell < found[FOUND_STARTS + GENERATIONS]) {
        if (of_groups) {
            if (groups[cell] != 0)
                ATOMIC_ADD(&totals[0], 1u);
        } else {
            UNROLL
            for (int level = 0; level < LEVELS_OF_SINKS; ++level) {
                if (is_sink(cells, parents, cell, most_of_level(level)))
                    ATOMIC_ADD(&totals[level], 1u);
            }
        }
    }
    SYNC;
    if (THREAD < (of_groups ? 1 : LEVELS_OF_SINKS))
        counts[THREAD * BLOCKS + BLOCK] = totals[THREAD];
}

// Writes the sinks of each level, one level of `room` sinks after another, and the number of each
// cell among those of its level. Groups come behind the levels.
KERNEL(SELECT_THREADS, 4)
place_sinks(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *groups,
    GLOBAL const uint *counts, GLOBAL const uint *totals, GLOBAL Sink *sinks, GLOBAL uint *numbers,
    GLOBAL uint *sink_counts, GLOBAL const uint *found, uint room, int of_groups)
{
    LOCAL uint scanned[SELECT_THREADS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint cell = BLOCK * SELECT_THREADS + THREAD;
    const int is_there = cell < found[FOUND_STARTS + GENERATIONS];
    const int first = of_groups ? LEVELS_OF_SINKS : 0, end = of_groups ? LEVELS_OF_SINKS + 1 : LEVELS_OF_SINKS;
    for (int level = first; level < end; ++level) {
        const int is = is_there && (of_groups ? groups[cell] != 0 : is_sink(cells, parents, cell, most_of_level(level)));
        const uint number = sum_before(is, scanned) + counts[(level - first) * BLOCKS + BLOCK];
        if (is) {
            Sink sink;
            sink.cell = sink.around = cell;
            sink.mean = 0.0f;
            sink.reserved = 0;
            while (level > 0 && !is_sink(cells, parents, sink.around, most_of_level(level_before(level))))
                sink.around = parents[sink.around];
            sinks[(long)level * room + number] = sink;
            numbers[(long)level * room + cell] = number;
        }
        if (BLOCK == 0 && THREAD == 0)
            sink_counts[level] = totals[level - first];
    }
}

// What the kernels of a walk share.
#define WALK_MEMORY \
    LOCAL uint stack[WALK_STACK]; \
    LOCAL uint scratch[LANES]; \
    LOCAL uint at; \
    LOCAL float float_scratch[LANES];

// The field at the centre of a sink by cells that are far, as points: the acceleration and its
// derivatives (xx, xy, xz, yy, yz, zz).
#define FIELD_NUMBERS 9

FUNCTION void add_point(float x, float y, float z, float s2, float mass, float field[FIELD_NUMBERS])
{
    const float inverse = s2 > 0.0f ? INVERSE_SQRT_32(s2) : 0.0f, inverse2 = inverse * inverse;
    const float weight = mass * (inverse * inverse2), weight3 = 3.0f * (weight * inverse2);
    field[0] = fma(weight, x, field[0]), field[1] = fma(weight, y, field[1]), field[2] = fma(weight, z, field[2]);
    field[3] += fma(weight3 * x, x, -weight), field[4] = fma(weight3 * x, y, field[4]);
    field[5] = fma(weight3 * x, z, field[5]), field[6] += fma(weight3 * y, y, -weight);
    field[7] = fma(weight3 * y, z, field[7]), field[8] += fma(weight3 * z, z, -weight);
}

// Moves a field by a distance.
FUNCTION void move_field(float x, float y, float z, float field[FIELD_NUMBERS])
{
    field[0] += fma(field[3], x, fma(field[4], y, field[5] * z));
    field[1] += fma(field[4], x, fma(field[6], y, field[7] * z));
    field[2] += fma(field[5], x, fma(field[7], y, field[8] * z));
}

// The first pass of a level: the fields of its sinks, the lists of what is left to those of the
// next level, and in the last level the accelerations of leaves, for each of their bodies.
KERNEL(LANES, 24)
find_fields(GLOBAL const Cell *cells, GLOBAL const uint *leaves,
    GLOBAL const CellPlace *sink_places, GLOBAL const CellPlace *places, GLOBAL const CellReach *reaches,
    GLOBAL const Sink *sinks, GLOBAL const uint *numbers, GLOBAL const uint *sink_counts, GLOBAL float *fields,
    GLOBAL uint *heads, GLOBAL uint *lists, GLOBAL uint *used, GLOBAL float *accelerations,
    GLOBAL const double *frame, double softening2_given, uint room, uint list_room, int level)
{
    WALK_MEMORY;
    LOCAL uint kept[WALK_BUFFER];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const float softening2 = (float)(softening2_given * frame[CUBE_TO_UNITS] * frame[CUBE_TO_UNITS]);
    const uint count = sink_counts[level];
    const int is_last = level == LEVELS_OF_SINKS - 1;
    for (uint number = BLOCK; number < count; number += BLOCKS) {
        const uint cell = sinks[(long)level * room + number].cell;
        const CellPlace centre = sink_places[cell];
        const float own_radius = centre.high.w, opens = is_last ? 0.0f : own_radius;
        float field[FIELD_NUMBERS];
        UNROLL
        for (int k = 0; k < FIELD_NUMBERS; ++k)
            field[k] = 0.0f;
        Pending pending = pending_of(lists, NO_SEGMENT);
        SYNC_32;
        const uint around = sinks[(long)level * room + number].around;
        uint parent = 0;
        if (level == 0) {
            if (THREAD == 0)
                stack[0] = 0;
            pending.top = 1;
        } else {
            parent = numbers[(long)(level - 1) * room + around];
            pending = pending_of(lists, heads[(long)(level - 1) * room + parent]);
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
                add_point(x, y, z, s2, place.low.w, field);
            uint all;
            const uint before = count_before(is_kept, scratch, &all);
            if (is_kept)
                kept[writer.waiting + before] = source;
            writer.waiting += all;
            open(&pending, stack, is_opened, reach.first_child, reach.children, scratch);
            if (writer.waiting > WALK_BUFFER - LANES)
                flush(&writer, kept, &at, lists, used, list_room);
        }
        UNROLL
        for (int k = 0; k < FIELD_NUMBERS; ++k)
            field[k] = sum_of_32(field[k], float_scratch);
        if (level > 0) {
            float of_parent[FIELD_NUMBERS];
            UNROLL
            for (int k = 0; k < FIELD_NUMBERS; ++k)
                of_parent[k] = fields[((long)(level - 1) * room + parent) * FIELD_NUMBERS + k];
            const CellPlace from = sink_places[around];
            move_field(APART(centre.high, centre.low, from.high, from.low, x), APART(centre.high, centre.low, from.high, from.low, y),
                APART(centre.high, centre.low, from.high, from.low, z), of_parent);
            UNROLL
            for (int k = 0; k < FIELD_NUMBERS; ++k)
                field[k] += of_parent[k];
        }
        if (!is_last) {
            flush(&writer, kept, &at, lists, used, list_room);
            if (THREAD == 0) {
                heads[(long)level * room + number] = writer.first;
                UNROLL
                for (int k = 0; k < FIELD_NUMBERS; ++k)
                    fields[((long)level * room + number) * FIELD_NUMBERS + k] = field[k];
            }
            continue;
        }
        // Leaves of sinks, each with the leaves of sources that are near.
        flush(&writer, kept, &at, lists, used, list_room);
        SYNC;
        const uint first = cells[cell].first_body, end = first + cells[cell].bodies;
        for (uint body = first; body < end;) {
            const uint leaf = leaves[body], bodies = cells[leaf].bodies;
            const CellPlace middle = sink_places[leaf];
            float near[FIELD_NUMBERS];
            UNROLL
            for (int k = 0; k < FIELD_NUMBERS; ++k)
                near[k] = 0.0f;
            for (uint segment = writer.first; segment != NO_SEGMENT; segment = lists[segment + 1]) {
                const uint entries = lists[segment];
                for (uint entry = THREAD; entry < entries; entry += LANES) {
                    const CellPlace place = places[lists[segment + 2 + entry]];
                    const float x = APART(place.high, place.low, middle.high, middle.low, x);
                    const float y = APART(place.high, place.low, middle.high, middle.low, y);
                    const float z = APART(place.high, place.low, middle.high, middle.low, z);
                    // A leaf that is near is as soft as it is large.
                    const float s2 = fma(x, x, fma(y, y, fma(z, z, fma(place.high.w, place.high.w, softening2))));
                    add_point(x, y, z, s2, place.low.w, near);
                }
            }
            float moved[FIELD_NUMBERS];
            UNROLL
            for (int k = 0; k < FIELD_NUMBERS; ++k)
                moved[k] = field[k];
            move_field(APART(middle.high, middle.low, centre.high, centre.low, x), APART(middle.high, middle.low, centre.high, centre.low, y),
                APART(middle.high, middle.low, centre.high, centre.low, z), moved);
            UNROLL
            for (int k = 0; k < 3; ++k)
                moved[k] += sum_of_32(near[k], float_scratch);
            const float acceleration = sqrt(fma(moved[0], moved[0], fma(moved[1], moved[1], moved[2] * moved[2])));
            for (uint other = body + THREAD; other < body + bodies; other += LANES)
                accelerations[other] = acceleration;
            body += bodies;
        }
    }
}

// Which cells of at most SINKS_2 bodies have accelerations that differ little enough for a group; a
// leaf always has.
KERNEL(SELECT_THREADS, 4)
find_groups(GLOBAL const Cell *cells, GLOBAL const float *accelerations, GLOBAL uint *alike, GLOBAL const uint *found)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint number = BLOCK * SELECT_THREADS + THREAD;
    if (number < found[FOUND_STARTS + GENERATIONS]) {
        const Cell cell = cells[number];
        int is_alike = cell.children == 0;
        if (!is_alike && cell.bodies <= SINKS_2) {
            float least = accelerations[cell.first_body], most = least;
            for (uint body = cell.first_body + 1; body < cell.first_body + cell.bodies; ++body) {
                least = fmin(least, accelerations[body]);
                most = fmax(most, accelerations[body]);
            }
            is_alike = most <= GROUP_SPREAD * least;
        }
        alike[number] = is_alike;
    }
}

// The groups: the largest of these cells.
KERNEL(SELECT_THREADS, 4)
choose_groups(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL const uint *alike, GLOBAL uint *groups,
    GLOBAL const uint *found)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint number = BLOCK * SELECT_THREADS + THREAD;
    if (number < found[FOUND_STARTS + GENERATIONS]) {
        int is_group = alike[number] != 0;
        for (uint above = parents[number]; is_group && above != NO_SEGMENT && cells[above].bodies <= SINKS_2; above = parents[above])
            is_group = alike[above] == 0;
        groups[number] = is_group;
    }
}
