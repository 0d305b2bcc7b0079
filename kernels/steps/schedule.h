// The schedule: the bodies by the time when each is due, as crates/kyoho-integrators/src/hermite/
// schedule.rs has them. A set has a bit for each body; its number is that of the highest bit in
// which the time when they are due, in ticks, differs from the present one. `counts` has the number
// of bodies of each set.

// What becomes of blocks is told to the host in notes. The first part of a note, the block that is
// due, is there when its first number is that of the block; the rest, what became of the block
// before, when NOTE_DONE is.
#define NOTE_DUE 0
#define NOTE_SINKS 1
#define NOTE_SET 2
#define NOTE_IS_BAD 3
#define NOTE_LOOKS 4
#define NOTE_DONE 5
#define NOTE_LIMITED 6
#define NOTE_DISTANCE 8
#define NOTE_PAIR 9

#define BITS_OF_WORD 32
#define WORDS_OF_SET(bodies) (((bodies) + BITS_OF_WORD - 1) / BITS_OF_WORD)

// The numbers of the outcome of steps: whether some body is not as the host would take it, the last
// block after which the host has to look for encounters, and how many steps were limited so far. The
// first is there for even and for odd blocks, so that all thread blocks of a chain read the same
// before a block: what is found while it is taken counts before the next one.
#define IS_BAD 0
#define LOOKS 2
#define LIMITED 3

// The numbers of the nearest pair of some sinks: the distance, and the two bodies. Parts of a block
// follow one another as their sinks do.
#define NEAREST_NUMBERS 2

// Two numbers of bodies in 64 bits.
typedef union {
    double number;
    int bodies[2];
} BodyPair;

// The groups of bodies, of which the first ones have sources. The table has the squared softening of
// the bodies of each by the sources of each, and, if there are several groups, for each body its group
// and the address of its source, below 0 if it is none. A chunk has sources of one group.
#define SOFTENINGS (MOST_GROUPS * MOST_GROUPS)
typedef struct {
    GLOBAL const double *table;
    // That of the first group by itself.
    double softening2;
    int all;
    int with_sources;
} Groups;

FUNCTION Groups groups_of(const BlockRules *rules, GLOBAL const double *table)
{
    Groups groups;
    groups.table = table;
    groups.softening2 = table[0];
    groups.all = GROUPS_OF_KERNELS > 1 ? rules->groups : 1;
    groups.with_sources = GROUPS_OF_KERNELS > 1 ? rules->source_groups : 1;
    return groups;
}

FUNCTION double softening2_of(const Groups *groups, int own, int other)
{
    return groups->all > 1 ? groups->table[own * MOST_GROUPS + other] : groups->softening2;
}

FUNCTION GLOBAL const int *place_of(const Groups *groups, int body)
{
    return (GLOBAL const int *)(groups->table + SOFTENINGS) + 2 * (long)body;
}

FUNCTION int group_of(const Groups *groups, int body)
{
    return groups->all > 1 ? place_of(groups, body)[0] : 0;
}

FUNCTION int address_of_source(const BlockRules *rules, const Groups *groups, int body)
{
    return groups->all > 1 ? place_of(groups, body)[1] : body < rules->sources ? body : -1;
}

FUNCTION int is_finite(double value)
{
    return fabs(value) <= LARGEST_64;
}

// Notes that a body of a block is not as the host would take it.
FUNCTION void mark_bad(GLOBAL uint *outcome, uint block)
{
    outcome[IS_BAD + (block + 1) % 2] = 1;
}

// Puts a body into the set of the time when it is due, at a time and its ticks.
FUNCTION void put_body(const BlockRules *rules, double now, long ticks, uint block, int body, double due, GLOBAL uint *sets,
    LOCAL_POINTER uint *counts, GLOBAL uint *outcome)
{
    const int set = due > now && due <= 2.0 ? 63 - LEADING_ZEROS_64((ulong)(due * rules->all_ticks) ^ (ulong)ticks) : -1;
    if (set < 0 || set >= SETS) {
        mark_bad(outcome, block);
        return;
    }
    // The bit was not set.
    ATOMIC_ADD(&sets[(long)set * WORDS_OF_SET(rules->bodies) + body / BITS_OF_WORD], 1u << body % BITS_OF_WORD);
    ATOMIC_ADD(&counts[set], 1u);
}

// Puts all bodies into the sets of the times when they are due next. The sets are empty.
KERNEL(STEP_THREADS, 1)
schedule_bodies(GLOBAL const BlockRules *given, double now, long ticks, GLOBAL const double *bodies, GLOBAL uint *sets,
    GLOBAL uint *counts, GLOBAL uint *outcome)
{
    LOCAL uint own_counts[SETS];
    const BlockRules rules = *given;
    for (int set = THREAD; set < SETS; set += STEP_THREADS)
        own_counts[set] = 0;
    SYNC;
    for (int body = BLOCK * STEP_THREADS + THREAD; body < rules.bodies; body += BLOCKS * STEP_THREADS) {
        const double fraction = bodies[(long)body * BODY_NUMBERS + STEP] / rules.interval;
        const double last = floor(now / fraction) * fraction;
        put_body(&rules, now, ticks, 0, body, last + fraction, sets, own_counts, outcome);
    }
    SYNC;
    for (int set = THREAD; set < SETS; set += STEP_THREADS) {
        if (own_counts[set] > 0)
            ATOMIC_ADD(&counts[set], own_counts[set]);
    }
}

// The place of a sink of the sources of a group, in doubles.
FUNCTION long place_of_sink(const BlockRules *rules, int group, int sink)
{
    return ((long)group * rules->bodies + sink) * SINK_NUMBERS;
}

// Writes a body of a block as a sink of the sources of each group at the end of its step.
FUNCTION void put_sink(const BlockRules *rules, const Groups *groups, uint block, int body, GLOBAL const double *bodies,
    int number, GLOBAL double *sinks, GLOBAL uint *outcome)
{
    const int axis = first_axis();
    const MovingBody moving = load_body(bodies + (long)body * BODY_NUMBERS);
    if (writes_body()) {
        BodyPair index;
        index.bodies[0] = body;
        index.bodies[1] = 0;
        const int own = group_of(groups, body);
        UNROLL_BY(1)
        for (int group = 0; group < groups->with_sources; ++group) {
            GLOBAL double *const sink = sinks + place_of_sink(rules, group, number);
            sink[0] = index.number;
            sink[1] = softening2_of(groups, own, group);
            sink[2] = 0.0;
        }
    }
    int is_good = 1;
    UNROLL
    for (int n = 0; n < GIVEN; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k) {
            const double value = series(moving.motion + n, ORDER - n, k, moving.step, 0);
            UNROLL_BY(1)
            for (int group = 0; group < groups->with_sources; ++group)
                sinks[place_of_sink(rules, group, number) + 3 + 3 * n + axis + k] = value;
            is_good &= n == 0 ? fabs(value) <= rules->largest_position : is_finite(value);
        }
    }
    if (!is_good)
        mark_bad(outcome, block);
}

// Adds the numbers of all threads of a block.
FUNCTION int sum_of_threads(int number, LOCAL_POINTER int *numbers)
{
    SYNC;
    numbers[THREAD] = number;
    for (int apart = STEP_THREADS / 2; apart > 0; apart /= 2) {
        SYNC;
        if (THREAD < apart)
            numbers[THREAD] += numbers[THREAD + apart];
    }
    SYNC;
    return numbers[0];
}

// Brings the least of the distances of all threads to the front, with its place; of equal ones the
// first place.
FUNCTION void find_nearest(LOCAL_POINTER double *distances, LOCAL_POINTER int *places)
{
    for (int apart = STEP_THREADS / 2; apart > 0; apart /= 2) {
        SYNC;
        if (THREAD < apart) {
            const double other = distances[THREAD + apart];
            const int at = places[THREAD + apart];
            if (other < distances[THREAD] || (other == distances[THREAD] && at < places[THREAD])) {
                distances[THREAD] = other;
                places[THREAD] = at;
            }
        }
    }
    SYNC;
}

// Brings the least distance of the nearest pairs of these parts to the front, with the number of the
// part.
FUNCTION void find_pair(int parts, GLOBAL const double *nearest, LOCAL_POINTER double *distances, LOCAL_POINTER int *places)
{
    double distance = INFINITY_32;
    int place = 0;
    for (int part = THREAD; part < parts; part += STEP_THREADS) {
        const double here = nearest[NEAREST_NUMBERS * part];
        if (here < distance) {
            distance = here;
            place = part;
        }
    }
    distances[THREAD] = distance;
    places[THREAD] = place;
    find_nearest(distances, places);
}

// The block that is due after the last one, of which this is the set.
FUNCTION BlockState block_due(const BlockRules *rules, const BlockState *last, int set, uint sinks, int is_bad, int looks)
{
    BlockState due;
    due.ticks = (long)(((ulong)last->ticks >> set | 1) << set);
    due.now = (double)due.ticks / rules->all_ticks;
    due.sinks = (int)sinks;
    due.set = set;
    due.sequence = last->sequence + 1;
    due.halts = is_bad || looks || last->now == 1.0 || due.sinks > rules->most_chained;
    return due;
}

// Whether the host has to look for encounters after a block.
FUNCTION int has_to_look(GLOBAL const uint *outcome, const BlockState *block)
{
    return block->sinks > 0 && outcome[LOOKS] == block->sequence;
}

// Finds the lowest set that has bodies.
FUNCTION int find_set(GLOBAL const uint *counts, LOCAL_POINTER int *lowest)
{
    if (THREAD == 0)
        *lowest = SETS - 1;
    SYNC;
    for (int set = THREAD; set < SETS; set += STEP_THREADS) {
        if (counts[set] > 0)
            ATOMIC_MIN(lowest, set);
    }
    SYNC;
    return *lowest;
}

// Takes the bodies of some words of a set, ascending, and predicts them as sinks of a block.
FUNCTION void take_words(const BlockRules *rules, const Groups *groups, GLOBAL const uint *set, int first, int end,
    uint block, GLOBAL const double *bodies, GLOBAL int *members, GLOBAL double *sinks, GLOBAL uint *outcome,
    LOCAL_POINTER int *numbers)
{
    int earlier = 0;
    for (int word = THREAD; word < first; word += STEP_THREADS)
        earlier += COUNT_BITS(set[word]);
    earlier = sum_of_threads(earlier, numbers);
    // A thread has a bit of every fourth word.
    const int bit = THREAD % BITS_OF_WORD;
    int place = earlier;
    UNROLL_BY(4)
    for (int word = first; word < end; ++word) {
        const uint bits = set[word];
        const int is_own = (word - first) % (STEP_THREADS / BITS_OF_WORD) == THREAD / BITS_OF_WORD;
        if (is_own && (bits >> bit & 1))
            members[place + COUNT_BITS(bits & ((1u << bit) - 1))] = word * BITS_OF_WORD + bit;
        place += COUNT_BITS(bits);
    }
    SYNC;
    for (int sink = earlier + body_of_thread(); sink < place; sink += STEP_THREADS / THREADS_OF_BODY)
        put_sink(rules, groups, block, members[sink], bodies, sink, sinks, outcome);
}

FUNCTION GLOBAL volatile double *note_of(GLOBAL volatile double *notes, uint block)
{
    return notes + block % NOTES * NOTE_NUMBERS;
}

// Tells the host which block is due after the last one.
FUNCTION void tell_due(GLOBAL volatile double *notes, const BlockState *due, int is_bad, int looks)
{
    GLOBAL volatile uint *const words = (GLOBAL volatile uint *)note_of(notes, due->sequence);
    words[NOTE_SINKS] = (uint)due->sinks;
    words[NOTE_SET] = (uint)due->set;
    words[NOTE_IS_BAD] = (uint)is_bad;
    words[NOTE_LOOKS] = (uint)looks;
    FENCE_HOST;
    words[NOTE_DUE] = due->sequence;
}

// Tells the host, by all threads of the thread block that `tells`, what became of the last block, which
// had some parts.
FUNCTION void tell_done(int tells, GLOBAL volatile double *notes, const BlockState *last, int parts, GLOBAL const double *nearest,
    GLOBAL const double *bodies, GLOBAL const uint *outcome, LOCAL_POINTER double *distances, LOCAL_POINTER int *numbers)
{
    GLOBAL volatile double *const note = note_of(notes, last->sequence + 1);
    GLOBAL volatile uint *const words = (GLOBAL volatile uint *)note;
    find_pair(tells ? parts : 0, nearest, distances, numbers);
    BodyPair pair;
    pair.bodies[0] = pair.bodies[1] = 0;
    const int has_pair = distances[0] < INFINITY_32;
    if (has_pair)
        pair.number = nearest[NEAREST_NUMBERS * numbers[0] + 1];
    for (int item = THREAD; item < 2 * BODY_NUMBERS; item += STEP_THREADS) {
        if (has_pair && last->sinks <= WATCHED)
            note[NOTE_ROWS + item] = bodies[(long)pair.bodies[item / BODY_NUMBERS] * BODY_NUMBERS + item % BODY_NUMBERS];
    }
    if (tells && THREAD == 0) {
        note[NOTE_DISTANCE] = distances[0];
        note[NOTE_PAIR] = pair.number;
        words[NOTE_LIMITED] = outcome[LIMITED];
    }
    SYNC;
    if (tells && THREAD == 0) {
        FENCE_HOST;
        words[NOTE_DONE] = last->sequence + 1;
    }
}

// Takes the bodies that are due next. A thread block has the bodies of WORDS_OF_BLOCK words of the
// set; the first one tells the host.
KERNEL(STEP_THREADS, 1)
take_block(GLOBAL const BlockRules *given, GLOBAL const double *table, int parts, GLOBAL const BlockState *before,
    GLOBAL BlockState *taken, GLOBAL const double *bodies, GLOBAL const uint *sets, GLOBAL const uint *counts,
    GLOBAL uint *outcome, GLOBAL const double *nearest, GLOBAL int *members, GLOBAL double *sinks,
    GLOBAL volatile double *notes)
{
    LOCAL int numbers[STEP_THREADS];
    LOCAL double distances[STEP_THREADS];
    LOCAL int lowest;
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const BlockState last = *before;
    const BlockRules rules = *given;
    const int set = find_set(counts, &lowest);
    const int is_bad = outcome[IS_BAD] != 0 || outcome[IS_BAD + 1] != 0, looks = has_to_look(outcome, &last);
    const BlockState due = block_due(&rules, &last, set, counts[set], is_bad, looks);
    // Every thread block meets every barrier: the first one takes no words, the others tell nothing.
    const int is_first = BLOCK == 0;
    if (is_first && THREAD == 0) {
        *taken = due;
        tell_due(notes, &due, is_bad, looks);
    }
    tell_done(is_first, notes, &last, parts, nearest, bodies, outcome, distances, numbers);
    const int words = WORDS_OF_SET(rules.bodies), first = is_first ? 0 : (BLOCK - 1) * WORDS_OF_BLOCK;
    const int end = is_first ? 0 : first + WORDS_OF_BLOCK < words ? first + WORDS_OF_BLOCK : words;
    const Groups groups = groups_of(&rules, table);
    take_words(&rules, &groups, sets + (long)set * words, first, end, due.sequence, bodies, members, sinks, outcome, numbers);
}
