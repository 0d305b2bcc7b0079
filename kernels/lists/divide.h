// The division of groups among thread blocks: items, which have some sinks of a group and its
// sources or a segment of them. A list that is divided has items for its segments, whose sums are
// rows that a part adds up.

// A thread has a group. `next` has the places of the next item of each size, of the next part and
// of the next row; where items are not sorted all of them follow the first place.
KERNEL(GROUP_THREADS, 4)
divide_groups(GLOBAL const ListGroup *groups, const int count, const int sinks_of_thread, const int divides, const int sorts,
    GLOBAL int *next, GLOBAL ListItem *items, GLOBAL ListPart *parts)
{
    LOCAL int places[LIST_COUNTS];
    AFTER_EARLIER_KERNELS;
    if (THREAD < LIST_COUNTS)
        places[THREAD] = 0;
    SYNC;
    const int number = BLOCK * GROUP_THREADS + THREAD;
    ListGroup group;
    int lane_bits = 0, blocks = 0;
    if (number < count) {
        group = groups[number];
        lane_bits = lane_bits_of(group.sinks, sinks_of_thread);
        blocks = blocks_of(group.sinks, lane_bits, sinks_of_thread);
        count_group(places, group.sinks, group.sources, blocks, divides);
    }
    SYNC;
    if (!sorts && THREAD == 0) {
        for (int size = 1; size < LIST_PART; ++size)
            places[0] += places[size];
    }
    SYNC;
    if (THREAD < LIST_COUNTS && places[THREAD] > 0 && (sorts || THREAD == 0 || THREAD >= LIST_PART))
        places[THREAD] = ATOMIC_ADD(&next[THREAD], places[THREAD]);
    SYNC;
    if (blocks == 0)
        return;
    const int is_divided = divides && group.sources > LIST_SEGMENT;
    const int segments = is_divided ? (group.sources - 1) / LIST_SEGMENT + 1 : 1;
    const int last = group.sources - (segments - 1) * LIST_SEGMENT;
    // The items of a group follow one another, so that its sources are read by thread blocks that run
    // at the same time.
    int next_whole = 0;
    if (segments > 1)
        next_whole = ATOMIC_ADD(&places[sorts ? size_of_item(LIST_SEGMENT) : 0], blocks * (segments - 1));
    int next_last = ATOMIC_ADD(&places[sorts ? size_of_item(last) : 0], blocks);
    int done = 0;
    for (int block = 1; block <= blocks; ++block) {
        const int block_end = (int)((long)group.sinks * block / blocks);
        ListItem item;
        item.first_sink = group.first_sink + done;
        item.sinks = block_end - done;
        item.lane_bits = lane_bits;
        item.group = number;
        done = block_end;
        int row = -1;
        if (is_divided) {
            row = ATOMIC_ADD(&places[LIST_ROW], segments * item.sinks);
            ListPart part;
            part.first_sink = item.first_sink;
            part.sinks = item.sinks;
            part.partial = row;
            part.segments = segments;
            parts[ATOMIC_ADD(&places[LIST_PART], 1)] = part;
        }
        for (int segment = 0; segment < segments; ++segment) {
            const int is_last = segment == segments - 1;
            item.first_source = group.first_source + segment * LIST_SEGMENT;
            item.sources = is_last ? last : LIST_SEGMENT;
            item.partial = is_divided ? row + segment * item.sinks : -1;
            items[is_last ? next_last++ : next_whole++] = item;
        }
    }
}
