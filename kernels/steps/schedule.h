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
// block after which the host has to look for encounters, and how many steps were limited so far.
#define IS_BAD 0
#define LOOKS 1
#define LIMITED 2

// The numbers of the nearest pair of some sinks: the distance, and the two bodies. Parts of a block
// follow one another as their sinks do.
#define NEAREST_NUMBERS 2

// Two numbers of bodies in 64 bits.
typedef union {
    double number;
    int bodies[2];
} BodyPair;

FUNCTION int is_finite(double value)
{
    return fabs(value) <= LARGEST_64;
}

// Puts a body into the set of the time when it is due, at a time and its ticks.
FUNCTION void put_body(const BlockRules *rules, double now, long ticks, int body, double due, GLOBAL uint *sets,
    LOCAL_POINTER uint *counts, GLOBAL uint *outcome)
{
    const int set = due > now && due <= 2.0 ? 63 - LEADING_ZEROS_64((ulong)(due * rules->all_ticks) ^ (ulong)ticks) : -1;
    if (set < 0 || set >= SETS) {
        outcome[IS_BAD] = 1;
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
        put_body(&rules, now, ticks, body, last + fraction, sets, own_counts, outcome);
    }
    SYNC;
    for (int set = THREAD; set < SETS; set += STEP_THREADS) {
        if (own_counts[set] > 0)
            ATOMIC_ADD(&counts[set], own_counts[set]);
    }
}

// A body as a sink at the end of its step.
FUNCTION void put_sink(const BlockRules *rules, int body, GLOBAL const double *bodies, GLOBAL double *sink, GLOBAL uint *outcome)
{
    GLOBAL const double *row = bodies + (long)body * BODY_NUMBERS;
    double motion[ORDER][3];
    UNROLL
    for (int n = 0; n < ORDER; ++n) {
        UNROLL
        for (int k = 0; k < 3; ++k)
            motion[n][k] = row[MOTION + 3 * n + k];
    }
    const double time = row[STEP];
    BodyPair index;
    index.bodies[0] = body;
    index.bodies[1] = 0;
    sink[0] = index.number;
    sink[1] = rules->softening2;
    sink[2] = 0.0;
    int is_good = 1;
    UNROLL
    for (int n = 0; n < GIVEN; ++n) {
        UNROLL
        for (int k = 0; k < 3; ++k) {
            const double value = series(motion + n, ORDER - n, k, time, 0);
            sink[3 + 3 * n + k] = value;
            is_good &= n == 0 ? fabs(value) <= rules->largest_position : is_finite(value);
        }
    }
    if (!is_good)
        outcome[IS_BAD] = 1;
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

// Writes the step of the forces of a block, for kernels of a chain: no kernel takes one of no
// accumulators. Each thread looks at some plans, of which one is for so many sinks.
FUNCTION void put_forces(const BlockRules *rules, const BlockState *due, GLOBAL const PlannedSums *plans, GLOBAL Step *forces)
{
    if (THREAD == 0) {
        forces->target.time = due->now * rules->interval;
        forces->ni = due->sinks;
        forces->stride = (due->sinks + STRIDE - 1) / STRIDE * STRIDE;
        if (due->halts)
            forces->accumulators = 0;
    }
    for (int plan = THREAD; plan < rules->plans; plan += STEP_THREADS) {
        const int below = plan > 0 ? plans[plan - 1].sinks : 0;
        if (due->sinks > below && due->sinks <= plans[plan].sinks) {
            forces->segments = plans[plan].segments;
            if (!due->halts)
                forces->accumulators = plans[plan].accumulators;
        }
    }
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

// Takes the bodies that are due next, ascending, and predicts them as sinks. A thread block has the
// bodies of WORDS_OF_BLOCK words of the set; the first one writes notes. In a chain nothing is taken
// once the host has to do something first.
KERNEL(STEP_THREADS, 1)
take_block(GLOBAL const BlockRules *given, int is_chained, int parts, GLOBAL const BlockState *before, GLOBAL BlockState *taken,
    GLOBAL const PlannedSums *plans, GLOBAL Step *forces, GLOBAL const double *bodies, GLOBAL const uint *sets,
    GLOBAL const uint *counts, GLOBAL uint *outcome, GLOBAL const double *nearest, GLOBAL int *members, GLOBAL double *sinks,
    GLOBAL volatile double *notes)
{
    LOCAL int numbers[STEP_THREADS];
    LOCAL double distances[STEP_THREADS];
    LOCAL int lowest;
    if (THREAD == 0)
        lowest = SETS - 1;
    SYNC;
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const BlockState last = *before;
    const BlockRules rules = *given;
    for (int set = THREAD; set < SETS; set += STEP_THREADS) {
        if (counts[set] > 0)
            ATOMIC_MIN(&lowest, set);
    }
    if (is_chained && last.halts) {
        if (BLOCK == 0 && THREAD == 0) {
            *taken = last;
            forces->accumulators = 0;
        }
        return;
    }
    SYNC;
    const int set = lowest;
    // Every thread block meets every barrier. Only the first one writes the note; the others look for
    // a pair among no parts.
    const int is_first = BLOCK == 0;
    GLOBAL volatile double *const note = notes + (last.sequence + 1) % NOTES * NOTE_NUMBERS;
    GLOBAL volatile uint *const note_words = (GLOBAL volatile uint *)note;
    if (is_first) {
        const int is_bad = outcome[IS_BAD] != 0, looks = last.sinks > 0 && outcome[LOOKS] == last.sequence;
        const BlockState state = block_due(&rules, &last, set, counts[set], is_bad, looks);
        if (THREAD == 0) {
            *taken = state;
            note_words[NOTE_SINKS] = (uint)state.sinks;
            note_words[NOTE_SET] = (uint)set;
            note_words[NOTE_IS_BAD] = (uint)is_bad;
            note_words[NOTE_LOOKS] = (uint)looks;
            if (!is_chained) {
                FENCE_HOST;
                note_words[NOTE_DUE] = state.sequence;
            }
        }
        put_forces(&rules, &state, plans, forces);
    }
    find_pair(is_first ? parts : 0, nearest, distances, numbers);
    if (is_first) {
        BodyPair pair;
        pair.bodies[0] = pair.bodies[1] = 0;
        const int has_pair = distances[0] < INFINITY_32;
        if (has_pair)
            pair.number = nearest[NEAREST_NUMBERS * numbers[0] + 1];
        for (int item = THREAD; item < 2 * BODY_NUMBERS; item += STEP_THREADS) {
            if (has_pair && last.sinks <= WATCHED)
                note[NOTE_ROWS + item] = bodies[(long)pair.bodies[item / BODY_NUMBERS] * BODY_NUMBERS + item % BODY_NUMBERS];
        }
        if (THREAD == 0) {
            note[NOTE_DISTANCE] = distances[0];
            note[NOTE_PAIR] = pair.number;
            note_words[NOTE_LIMITED] = outcome[LIMITED];
        }
    }
    SYNC;
    if (is_first && THREAD == 0) {
        FENCE_HOST;
        note_words[NOTE_DUE] = last.sequence + 1;
        note_words[NOTE_DONE] = last.sequence + 1;
    }
    const int words = WORDS_OF_SET(rules.bodies), first = is_first ? 0 : (BLOCK - 1) * WORDS_OF_BLOCK;
    GLOBAL const uint *const due = sets + (long)set * words;
    // The words of this block, one for a thread: the bodies of those before it stand first.
    const int own_word = first + THREAD;
    const uint bits = !is_first && THREAD < WORDS_OF_BLOCK && own_word < words ? due[own_word] : 0;
    int earlier = 0;
    for (int word = THREAD; word < first; word += STEP_THREADS)
        earlier += COUNT_BITS(due[word]);
    earlier = sum_of_threads(earlier, numbers);
    SYNC;
    numbers[THREAD] = COUNT_BITS(bits);
    for (int apart = 1; apart < STEP_THREADS; apart *= 2) {
        SYNC;
        const int more = THREAD >= apart ? numbers[THREAD - apart] : 0;
        SYNC;
        numbers[THREAD] += more;
    }
    SYNC;
    const int own = numbers[STEP_THREADS - 1];
    int place = earlier + numbers[THREAD] - COUNT_BITS(bits);
    for (uint rest = bits; rest != 0; rest &= rest - 1)
        members[place++] = own_word * BITS_OF_WORD + COUNT_BITS((rest & (0u - rest)) - 1);
    SYNC;
    for (int sink = earlier + THREAD; sink < earlier + own; sink += STEP_THREADS)
        put_sink(&rules, members[sink], bodies, sinks + (long)sink * SINK_NUMBERS, outcome);
}
