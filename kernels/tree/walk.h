// The walk: which cells of sources have their expansions used for a cell of sinks, and which are
// left to the sinks in it, or, in groups, summed directly, all of their bodies.

// The squared distances between which the derivatives of the order are in the range of 32 bits.
#if ORDER == 2
#define LEAST_S2_OF_ORDER LEAST_S2
#define MOST_S2_OF_ORDER MOST_S2_OF_ORDER_2
#elif ORDER == 3
#define LEAST_S2_OF_ORDER LEAST_S2
#define MOST_S2_OF_ORDER MOST_S2_OF_ORDER_3
#elif ORDER == 4
#define LEAST_S2_OF_ORDER LEAST_S2_OF_ORDER_4
#define MOST_S2_OF_ORDER MOST_S2_OF_ORDER_4
#elif ORDER == 5
#define LEAST_S2_OF_ORDER LEAST_S2_OF_ORDER_5
#define MOST_S2_OF_ORDER MOST_S2_OF_ORDER_5
#else
#define LEAST_S2_OF_ORDER LEAST_S2_OF_ORDER_6
#define MOST_S2_OF_ORDER MOST_S2_OF_ORDER_6
#endif

// The least acceleration of the bodies of a sink, but for those that are no sinks.
FUNCTION float least_acceleration(GLOBAL const float *accelerations, GLOBAL const uint *sink_numbers, const Sink *sink,
    LOCAL_POINTER float *scratch)
{
    float least = INFINITY_32;
    for (uint body = sink->first_body + THREAD, end = sink->first_body + sink->bodies; body < end; body += LANES)
        least = sink_numbers[body] == NO_SINK ? least : fmin(least, accelerations[body]);
    return least_of_32(least, scratch);
}

// Makes the last segment of a group's list of near cells a part. `used` counts the words of all
// lists, then the parts.
FUNCTION void add_part(const Writer *writer, uint number, GLOBAL uint *used, GLOBAL uint *parts, uint room_of_parts)
{
    const uint part = ATOMIC_ADD(&used[1], 1u);
    if (part < room_of_parts)
        parts[2 * part] = number, parts[2 * part + 1] = writer->last;
}

// `root` is the cell of sources with which the walk begins, and `by_angle` says that `rho` of a cell is
// the distance from which on it is accepted by an opening angle. Groups open cells of MOST_COUNTED
// bodies.
KERNEL(LANES, 32)
find_interactions(GLOBAL const CellPlace *sink_places, GLOBAL const float4 *sink_highs, GLOBAL const float4 *sink_lows,
    GLOBAL const uint *sink_numbers, GLOBAL const CellPlace *places, GLOBAL const CellReach *reaches,
    GLOBAL const Sink *sinks, GLOBAL const uint *numbers, GLOBAL const uint *sink_counts, GLOBAL uint *far_heads,
    GLOBAL uint *near_heads, GLOBAL uint *lists, GLOBAL uint *used, GLOBAL uint *parts,
    GLOBAL const float *accelerations, GLOBAL const double *frame, double softening2_given, float tolerance,
    float cut2, int by_angle, uint root, uint room, uint list_room, uint room_of_parts, int level)
{
    WALK_MEMORY;
    LOCAL uint kept[WALK_BUFFER], accepted[WALK_BUFFER];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const float softening2 = (float)(softening2_given * frame[CUBE_TO_UNITS] * frame[CUBE_TO_UNITS]);
    const uint count = sink_counts[level];
    const int is_last = level == LEVELS_OF_SINKS;
    for (uint number = BLOCK; number < count; number += BLOCKS) {
        const Sink sink = sinks[(long)level * room + number];
        const CellPlace centre = place_of_sink(&sink, sink_places, sink_highs, sink_lows);
        const float own_radius = centre.high.w;
        Pending pending = pending_of(lists, NO_SEGMENT);
        SYNC_32;
        if (level == 0) {
            if (THREAD == 0)
                stack[0] = root;
            pending.top = 1;
        } else {
            const long of_level = (long)level_before(level) * room;
            const uint parent = numbers[of_level + sink.around];
            pending = pending_of(lists, near_heads[of_level + parent]);
        }
        SYNC_32;
        const float least_of_sink =
            least_acceleration(accelerations, sink_numbers, &sink, (LOCAL_POINTER float *)scratch);
        const float bound = tolerance * least_of_sink;
        Writer far_writer, near_writer;
        far_writer.first = far_writer.last = near_writer.first = near_writer.last = NO_SEGMENT;
        far_writer.waiting = near_writer.waiting = 0;
        int is_end;
        do {
            uint source;
            const uint tested = take(&pending, lists, stack, &source);
            is_end = tested == 0;
            if (!is_end) {
                const int is = THREAD < (int)tested;
                const CellPlace place = places[source];
                const CellReach reach = reaches[source];
                const float x = APART(place.high, place.low, centre.high, centre.low, x);
                const float y = APART(place.high, place.low, centre.high, centre.low, y);
                const float z = APART(place.high, place.low, centre.high, centre.low, z);
                const float s2 = fma(x, x, fma(y, y, fma(z, z, softening2))), sum = place.high.w + own_radius;
                const float ratio = (reach.rho + own_radius) * INVERSE_SQRT_32(s2);
                // The error of a cell that is smaller than the sink counts `larger / part` times.
                const float larger = fmax(place.high.w, own_radius);
                const float part = fmax(place.high.w, own_radius / MOST_PARTS);
                const float error = 8.0f * larger * larger * (place.low.w * integer_power(ratio, ORDER));
                const float least = reach.rho + own_radius;
                // Not larger, so that cells without mass or without extent are accepted.
                const int is_small = by_angle ? least * least < s2 - softening2 : !(bound * (s2 * sum) * part < error);
                // Farther cells have to be so small that derivatives out of range do not count.
                const float sum2 = sum * sum;
                const int is_in_range = s2 > LEAST_S2_OF_ORDER && (s2 < MOST_S2_OF_ORDER || sum2 * sum2 < FAR_SUM4 * s2);
                const int is_far = is && sum2 < cut2 * s2 && is_in_range && is_small;
                const int is_outside = own_radius * own_radius < cut2 * s2 || reach.bodies == MOST_COUNTED;
                const int is_worth = reach.bodies * sink.bodies > MOST_PAIRS && is_outside;
                const int may_open = place.high.w >= own_radius || is_last && (by_angle || is_worth);
                const int is_opened = is && !is_far && reach.children > 0 && may_open;
                const int is_kept = is && !is_far && !is_opened;
                uint all;
                uint before = count_before(is_far, scratch, &all);
                if (is_far)
                    accepted[far_writer.waiting + before] = source;
                far_writer.waiting += all;
                before = count_before(is_kept, scratch, &all);
                if (is_kept)
                    kept[near_writer.waiting + before] = source;
                near_writer.waiting += all;
                open(&pending, stack, is_opened, reach.first_child, reach.children, scratch);
            }
            flush(&far_writer, is_end ? 0 : WALK_BUFFER - LANES, accepted, &at, lists, used, list_room, 0);
            // A list of a group that is longer than a part is summed in parts, a segment each, which
            // have room for the sums of the group behind their entries.
            const uint most = is_end ? 0 : is_last ? MOST_OF_PART - LANES : WALK_BUFFER - LANES, last = near_writer.last;
            const int is_part = is_last && (!is_end || last != NO_SEGMENT);
            flush(&near_writer, most, kept, &at, lists, used, list_room, is_part ? PART_SUMS * sink.bodies : 0);
            if (is_part && near_writer.last != last && THREAD == 0)
                add_part(&near_writer, number, used, parts, room_of_parts);
        } while (!is_end);
        if (THREAD == 0) {
            far_heads[(long)level * room + number] = far_writer.first;
            near_heads[(long)level * room + number] = near_writer.first;
        }
    }
}
