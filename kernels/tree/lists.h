// Lists of cells. A list is made of segments, each of which has the number of its entries, the
// place of the next segment, and the entries. Where a segment lies is chance, in which order the
// segments and entries of a list stand is not.

#define NO_SEGMENT 0xffffffffu

// The number of a body among sinks, if it is none.
#define NO_SINK 0xffffffffu

#if !IN_STEP
// The sum of the values of the threads before this one, and of all 32.
FUNCTION uint lanes_before(uint value, LOCAL_POINTER uint *scratch, uint *all)
{
    SYNC;
    const uint sum = sum_of_lanes(value, scratch);
    SYNC;
    *all = scratch[LANES - 1];
    return sum - value;
}
#endif

// The number of threads before this one for which a condition holds, and of all.
FUNCTION uint count_before(int condition, LOCAL_POINTER uint *scratch, uint *all)
{
#if IN_STEP
    uint votes;
    VOTES(votes, condition);
    *all = COUNT_BITS(votes);
    return COUNT_BITS(votes & BELOW);
#else
    return lanes_before(condition != 0, scratch, all);
#endif
}

// Puts the numbers of the threads for which a condition holds one after another; returns how many.
FUNCTION uint choose(int condition, uint number, LOCAL_POINTER uint *chosen, LOCAL_POINTER uint *scratch)
{
    uint all;
    const uint before = count_before(condition, scratch, &all);
    SYNC_32;
    if (condition)
        chosen[before] = number;
    SYNC_32;
    return all;
}

// The sum of the values, below 16, of the threads before this one, and of all.
FUNCTION uint small_sum_before(uint value, LOCAL_POINTER uint *scratch, uint *all)
{
#if IN_STEP
    uint before = 0;
    *all = 0;
    UNROLL
    for (int bit = 0; bit < 4; ++bit) {
        uint votes;
        VOTES(votes, value >> bit & 1);
        *all += COUNT_BITS(votes) << bit;
        before += COUNT_BITS(votes & BELOW) << bit;
    }
    return before;
#else
    return lanes_before(value, scratch, all);
#endif
}

// A list that is written by a block of 32 threads: the entries that wait in `buffer`, and the place
// of the last segment.
typedef struct {
    uint first, last, waiting;
} Writer;

// Writes what waits if it is more than `most`, with `spare` words behind it. `used` counts the words
// of all lists, for which there is `room`. It goes no further than MOST_WORDS and what the blocks at
// work add at once, so that it does not begin again.
FUNCTION void flush(Writer *writer, uint most, LOCAL_POINTER const uint *buffer, LOCAL_POINTER uint *place,
    GLOBAL uint *lists, GLOBAL uint *used, uint room, uint spare)
{
    const int is_due = writer->waiting > most;
    if (IN_STEP && !is_due)
        return;
    SYNC_32;
    if (is_due && THREAD == 0) {
        const uint words = writer->waiting + 2 + spare, before = ATOMIC_ADD(used, words);
        if (before > MOST_WORDS)
            ATOMIC_ADD(used, 0u - words);
        *place = before;
    }
    SYNC_32;
    const uint at = *place;
    if (is_due && at < room && room - at >= writer->waiting + 2 + spare) {
        if (THREAD == 0) {
            lists[at] = writer->waiting;
            lists[at + 1] = NO_SEGMENT;
            if (writer->last != NO_SEGMENT)
                lists[writer->last + 1] = at;
        }
        for (uint k = THREAD; k < writer->waiting; k += LANES)
            lists[at + 2 + k] = buffer[k];
        if (writer->first == NO_SEGMENT)
            writer->first = at;
        writer->last = at;
    }
    writer->waiting = is_due ? 0 : writer->waiting;
    SYNC_32;
}

// The cells that a sink has still to look at: a list that it reads, and a stack.
typedef struct {
    uint segment, entry, entries, top;
} Pending;

FUNCTION Pending pending_of(GLOBAL const uint *lists, uint segment)
{
    Pending pending;
    pending.segment = segment;
    pending.entry = 0;
    pending.entries = segment == NO_SEGMENT ? 0 : lists[segment];
    pending.top = 0;
    return pending;
}

// Takes up to 32 cells, of which each thread gets one, and returns how many; 0 at the end. The
// stack has room for eight children of each, and for those below one cell that is opened at a time.
FUNCTION uint take(Pending *pending, GLOBAL const uint *lists, LOCAL_POINTER const uint *stack, uint *cell)
{
    uint some = pending->top + WALK_RESERVE < WALK_STACK ? (WALK_STACK - WALK_RESERVE - pending->top) / CHILDREN : 0;
    some = some < 1 ? 1 : some > LANES ? LANES : some;
    *cell = 0;
    if (pending->top < LANES && pending->entry < pending->entries) {
        const uint left = pending->entries - pending->entry;
        some = some < left ? some : left;
        if (THREAD < (int)some)
            *cell = lists[pending->segment + 2 + pending->entry + THREAD];
        pending->entry += some;
        if (pending->entry == pending->entries) {
            const uint next = lists[pending->segment + 1];
            const uint top = pending->top;
            *pending = pending_of(lists, next);
            pending->top = top;
        }
    } else {
        some = some < pending->top ? some : pending->top;
        if (THREAD < (int)some)
            *cell = stack[pending->top - 1 - THREAD];
        pending->top -= some;
    }
    SYNC_32;
    return some;
}

// Puts the children of cells that are opened on the stack.
FUNCTION void open(Pending *pending, LOCAL_POINTER uint *stack, int is_opened, uint first_child, uint children,
    LOCAL_POINTER uint *scratch)
{
    uint all;
    const uint before = small_sum_before(is_opened ? children : 0, scratch, &all);
    if (is_opened) {
        for (uint k = 0; k < children; ++k)
            stack[pending->top + before + k] = first_child + k;
    }
    pending->top += all;
    SYNC_32;
}

// The least of a number over 32 threads; all threads get it.
FUNCTION float least_of_32(float value, LOCAL_POINTER float *scratch)
{
    SYNC_32;
    scratch[LANE] = value;
    UNROLL
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        SYNC_32;
        if (LANE < apart)
            scratch[LANE] = fmin(scratch[LANE], scratch[LANE + apart]);
    }
    SYNC_32;
    return scratch[0];
}

// Whether a cell of sinks is one of a level: the largest cells of at most so many bodies, or
// leaves.
FUNCTION int is_sink(GLOBAL const Cell *cells, GLOBAL const uint *parents, uint cell, uint most)
{
    const Cell own = cells[cell];
    if (own.bodies > most && own.children > 0)
        return 0;
    const uint parent = parents[cell];
    return parent == NO_SEGMENT || cells[parent].bodies > most;
}

// Where the numbers of sinks of each level, and of groups, are followed by the first body of the
// share that is summed, and the end of it.
#define SHARE (LEVELS_OF_SINKS + 1)

FUNCTION uint most_of_level(int level)
{
    return level == 0 ? SINKS_0 : level == 1 ? SINKS_1 : SINKS_2;
}

// The level whose lists the sinks of a level go on with. Groups follow the last level but one.
FUNCTION int level_before(int level)
{
    return level == LEVELS_OF_SINKS ? LEVELS_OF_SINKS - 2 : level - 1;
}

// The centre and the radius of a sink. One body has no extent.
FUNCTION CellPlace place_of_sink(const Sink *sink, GLOBAL const CellPlace *places, GLOBAL const float4 *highs,
    GLOBAL const float4 *lows)
{
    CellPlace place;
    if (sink->bodies == 1) {
        place.high = highs[sink->first_body], place.low = lows[sink->first_body];
        place.high.w = place.low.w = 0.0f;
    } else {
        place = places[sink->cell];
    }
    return place;
}

// What the kernels of a walk share.
#define WALK_MEMORY \
    LOCAL uint stack[WALK_STACK]; \
    LOCAL uint scratch[LANES]; \
    LOCAL uint at;
