// The division of groups among thread blocks: items, which have some sinks of a group and its
// sources or a segment of them. The library counts them by the same rules and says where those of
// each job begin, which has some groups and is a thread block here. A list that is divided has
// items for its segments, whose sums are rows that a part adds up.

// The binary logarithm of the number of threads that share a sink of a group of so many.
FUNCTION int lane_bits_of(int sinks)
{
    const double costs[] = LIST_COSTS;
    double least = 0.0;
    int best = -1;
    UNROLL
    for (int bits = 0; bits < LIST_LANE_CHOICES; ++bits) {
        const uint block_sinks = (LIST_THREADS >> bits) * LIST_SINKS, blocks = ((uint)sinks + block_sinks - 1) / block_sinks;
        const double cost = (double)blocks / (1 << bits) * costs[bits];
        if (best < 0 || cost < least)
            least = cost, best = bits;
    }
    return best;
}

// The size of an item with so many sources.
FUNCTION int size_of_item(int sources)
{
    int size = 0;
    for (int rest = sources; rest > 1; rest /= 2)
        ++size;
    return size;
}

KERNEL(LIST_THREADS, 1)
divide_groups(GLOBAL const ListGroup *groups, const int count, const int groups_of_job, GLOBAL const int *firsts,
    const int divides, const int sorts, GLOBAL ListItem *items, GLOBAL ListPart *parts)
{
    // Where the next item of each size, the next part and the next row are.
    LOCAL int places[LIST_JOB];
    AFTER_EARLIER_KERNELS;
    for (int place = THREAD; place < LIST_JOB; place += LIST_THREADS)
        places[place] = firsts[BLOCK * LIST_JOB + place];
    SYNC;
    const int begin = BLOCK * groups_of_job, end = count - begin < groups_of_job ? count : begin + groups_of_job;
    for (int number = begin + THREAD; number < end; number += LIST_THREADS) {
        const ListGroup group = groups[number];
        const int lane_bits = lane_bits_of(group.sinks), block_sinks = (LIST_THREADS >> lane_bits) * LIST_SINKS;
        const int blocks = (int)(((uint)group.sinks + block_sinks - 1) / block_sinks);
        const int is_divided = divides && group.sources > LIST_SEGMENT;
        const int segments = is_divided ? (group.sources - 1) / LIST_SEGMENT + 1 : 1;
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
                const int first = segment * LIST_SEGMENT, left = group.sources - first;
                item.first_source = group.first_source + first;
                item.sources = is_divided && left > LIST_SEGMENT ? LIST_SEGMENT : left;
                item.partial = is_divided ? row + segment * item.sinks : -1;
                items[ATOMIC_ADD(&places[sorts ? size_of_item(item.sources) : 0], 1)] = item;
            }
        }
    }
}
