// Chains: one launch makes block steps one after another, whose sizes no host knows. All its thread
// blocks are on the device at once, and meet between the three parts of a step: the forces are
// summed, while the first thread block tells the host of the step before; the sums are added and
// the bodies advanced; the bodies that are due next are taken.

// What belongs to a block that was taken: there are two, in turns.
typedef struct {
    GLOBAL BlockState *state;
    GLOBAL int *members;
    GLOBAL double *sinks;
} Taken;

// The memory of a chain on the device; the plans and the steps of the forces are there for each group.
typedef struct {
    LOCAL_POINTER const PlannedSums *plans;
    LOCAL_POINTER Step *steps;
    Groups groups;
    GLOBAL double *octets;
    GLOBAL int *indices;
    GLOBAL volatile int *ranges;
    GLOBAL const int *slots;
    GLOBAL VECTOR *predicted;
    GLOBAL double *partial_sums;
    GLOBAL double *partial_distances;
    GLOBAL uint *partial_accumulators;
    GLOBAL double *results;
    GLOBAL double *bodies;
    GLOBAL uint *sets;
    GLOBAL uint *counts;
    GLOBAL uint *outcome;
    GLOBAL double *nearest;
    GLOBAL volatile double *notes;
} Chain;

// The sums of some sinks over the groups so far, and their nearest sources, in the units of pairs.
typedef struct {
    double sums[CHAIN_END_SINKS * N_OUTPUTS];
    double distances[CHAIN_END_SINKS];
    int indices[CHAIN_END_SINKS];
} Joined;

// The memory that the threads of a block share, in turns.
typedef union {
    PASTE(ItemMemory_, CHAINED_FEW) few;
    PASTE(ItemMemory_, CHAINED_MORE) more;
    PASTE(ItemMemory_, CHAINED_MANY) many;
    struct {
        End end;
        Joined joined;
        uint counts[SETS];
        double distances[STEP_THREADS];
        int places[STEP_THREADS];
        int limited;
    } advance;
    struct {
        double distances[STEP_THREADS];
        int numbers[STEP_THREADS];
        int lowest;
    } take;
} ChainMemory;

// All threads of all thread blocks meet here, with what they wrote. The number of thread blocks that
// have come in all meetings up to this one is returned, from that up to the last one.
FUNCTION ulong meet(GLOBAL ulong *have_come, ulong up_to_last)
{
    const ulong all = up_to_last + (ulong)BLOCKS;
    SYNC;
    if (THREAD == 0) {
        RELEASE_ADD(have_come, 1);
        ulong come;
        do {
            ACQUIRE(come, have_come);
        } while (come < all);
    }
    SYNC;
    return all;
}

// The first row of the partial sums by the sources of a group.
FUNCTION long first_row_of(const Chain *chain, int group)
{
    long row = 0;
    for (int before = 0; before < group; ++before)
        row += (long)chain->steps[before].segments * chain->steps[before].slices * chain->steps[before].stride;
    return row;
}

// The items of a launch shape, by all thread blocks but the first. They go on with those that follow
// the items of the groups before.
#define SUM_ITEMS(shape, own_memory) \
    if (step->accumulators == PASTE(ACCUMULATORS_, shape)) { \
        const int sinks_of_item = PASTE(THREADS_, shape) / PASTE(LANES_, shape) * PASTE(SINKS_, shape); \
        const int of_segment = (step->ni + sinks_of_item - 1) / sinks_of_item; \
        const int items = of_segment * step->segments * step->slices; \
        UNROLL_BY(1) \
        for (; item < items; item += BLOCKS - 1) { \
            SYNC; \
            PASTE(sum_item_, shape) \
            (step, item, of_segment, own_memory, chain->octets, chain->indices, chain->ranges, chain->slots, chain->predicted, \
                sinks_of_group, partial_sums, partial_distances, partial_accumulators); \
        } \
        item -= items; \
    }

FUNCTION void sum_forces(const Chain *chain, const BlockRules *rules, GLOBAL const double *sinks,
    LOCAL_POINTER ChainMemory *memory)
{
    int item = BLOCK - 1;
    UNROLL_BY(1)
    for (int group = 0; group < chain->groups.with_sources; ++group) {
        const Step *const step = &chain->steps[group];
        const long row = first_row_of(chain, group);
        GLOBAL double *const partial_sums = chain->partial_sums + row * N_OUTPUTS;
        GLOBAL double *const partial_distances = chain->partial_distances + row;
        GLOBAL uint *const partial_accumulators = chain->partial_accumulators + row;
        GLOBAL const double *const sinks_of_group = sinks + place_of_sink(rules, group, 0);
        SUM_ITEMS(CHAINED_FEW, &memory->few)
        else SUM_ITEMS(CHAINED_MORE, &memory->more)
        else SUM_ITEMS(CHAINED_MANY, &memory->many)
    }
}

// How many sinks of a block a thread block advances, and how many thread blocks have some.
FUNCTION int sinks_of_part(int sinks)
{
    return (sinks + BLOCKS - 1) / BLOCKS;
}

FUNCTION int parts_of(int sinks)
{
    const int of_part = sinks_of_part(sinks);
    return of_part > 0 ? (sinks + of_part - 1) / of_part : 0;
}

// The threads of a thread block that run in step.
#define TEAM (THREAD / 32)
#define TEAMS_OF_BLOCK (STEP_THREADS / 32)

// Names the nearest of the sources of a group for each of some sinks, by the threads from a team on.
FUNCTION void name_sources(const Chain *chain, const Step *step, GLOBAL const uint *partial_accumulators,
    GLOBAL const double *sinks, int first, int here, int first_team, LOCAL_POINTER End *end)
{
    UNROLL_BY(1)
    for (int sink = TEAM - first_team; sink < here; sink += TEAMS_OF_BLOCK - first_team) {
        if (THREAD % 32 == 0)
            find_accumulator(step, first, sink, partial_accumulators, end);
        SYNC_32;
        UNROLL_BY(1)
        for (int source = THREAD % 32; source < sources_of_accumulator(step); source += 32)
            look_for_nearest(step, first, sink, source, chain->octets, chain->indices, chain->slots, chain->predicted, sinks, end);
        SYNC_32;
        if (THREAD % 32 == 0)
            name_nearest(step, first, sink, chain->indices, chain->slots, end, chain->results);
    }
}

// Adds the sums of a group, in `end`, to those of the groups before it; behind the last one `end` has
// the sums of all, and the nearest of all sources.
FUNCTION void join_group(const Chain *chain, const BlockRules *rules, int group, int first, int here,
    LOCAL_POINTER ChainMemory *memory)
{
    const Step *const step = &chain->steps[0];
    LOCAL_POINTER End *const end = &memory->advance.end;
    LOCAL_POINTER Joined *const joined = &memory->advance.joined;
    const int is_last = group + 1 == chain->groups.with_sources;
    for (int item = THREAD; item < here * N_OUTPUTS; item += STEP_THREADS) {
        const int place = PLACE_OF_SUM(END_ROW, 0, item % N_OUTPUTS, item / N_OUTPUTS);
        const double sum = (group == 0 ? 0.0 : joined->sums[item]) + end->sums[place];
        joined->sums[item] = sum;
        if (is_last)
            end->sums[place] = sum;
    }
    for (int sink = THREAD; sink < here; sink += STEP_THREADS) {
        const double distance2 = end->distances[sink] < FARTHEST2 ? end->distances[sink] : (double)INFINITY_32;
        if (group == 0 || is_source_nearer(distance2, end->indices[sink], joined->distances[sink], joined->indices[sink])) {
            joined->distances[sink] = distance2;
            joined->indices[sink] = end->indices[sink];
        }
        if (is_last) {
            const double near2 = joined->distances[sink];
            end->distances[sink] = near2;
            end->indices[sink] = joined->indices[sink];
            put_nearest(chain->results, step, first + sink, near2 * step->distance2_unit, joined->indices[sink]);
        }
    }
    SYNC;
}

// Adds the partial sums of some sinks, by all threads, and advances their bodies.
FUNCTION void advance_part(const Chain *chain, const BlockRules *rules, const BlockState *due, const Taken *taken,
    LOCAL_POINTER ChainMemory *memory)
{
    const Step *const step = &chain->steps[0];
    const int of_part = sinks_of_part(step->ni), first = BLOCK * of_part;
    const int end = first + of_part < step->ni ? first + of_part : step->ni;
    if (first >= end)
        return;
    LOCAL_POINTER End *const sums = &memory->advance.end;
    for (int set = THREAD; set < SETS; set += STEP_THREADS)
        memory->advance.counts[set] = 0;
    if (THREAD == 0)
        memory->advance.limited = 0;
    double least = INFINITY_32;
    int place = first;
    BodyPair pair;
    pair.number = 0.0;
    UNROLL_BY(1)
    for (int from = first; from < end; from += END_SINKS) {
        const int here = end - from < END_SINKS ? end - from : END_SINKS;
        const int own = body_of_thread() < here ? body_of_thread() : here - 1, is_own = own == body_of_thread();
        const int member = taken->members[from + own];
        MovingBody body;
        UNROLL_BY(1)
        for (int group = 0; group < chain->groups.with_sources; ++group) {
            const Step *const of_group = &chain->steps[group];
            const long row = first_row_of(chain, group);
            add_segments(of_group, from, here, END_ROW, STEP_THREADS, chain->partial_sums + row * N_OUTPUTS,
                chain->partial_distances + row, sums);
            // It is on its way while slices are added.
            body = load_body(chain->bodies + (long)member * BODY_NUMBERS);
            add_slices(of_group, here, END_ROW, STEP_THREADS, sums);
            if (chain->groups.with_sources > 1) {
                name_sources(chain, of_group, chain->partial_accumulators + row, taken->sinks, from, here, 0, sums);
                SYNC;
                join_group(chain, rules, group, from, here, memory);
            }
        }
        const int advancing_teams = (here * THREADS_OF_BODY + 31) / 32;
        double distance = INFINITY_32;
        if (TEAM < advancing_teams) {
            double force[1 + AXES * GIVEN];
            const int axis = first_axis();
            force[0] = sums->sums[PLACE_OF_SUM(END_ROW, 0, 0, own)];
            UNROLL
            for (int n = 0; n < GIVEN; ++n)
                force[1 + n] = sums->sums[PLACE_OF_SUM(END_ROW, 0, 1 + 3 * n + axis, own)];
            const double near2 = sums->distances[own];
            // The nearest of several groups has its name already.
            const int nearest = chain->groups.with_sources > 1 ? sums->indices[own] : 0;
            distance = advance_member(rules, &chain->groups, due, member, is_own, &body, force,
                near2 < FARTHEST2 ? near2 * step->distance2_unit : (double)INFINITY_32,
                softening2_of_nearest(&chain->groups, member, nearest), chain->bodies, chain->octets, chain->slots,
                chain->sets, memory->advance.counts, &memory->advance.limited, chain->outcome);
        } else if (chain->groups.with_sources == 1)
            name_sources(chain, step, chain->partial_accumulators, taken->sinks, from, here, advancing_teams, sums);
        SYNC;
        if (is_own && distance < least) {
            least = distance;
            place = from + own;
            pair.bodies[0] = member;
            pair.bodies[1] = sums->indices[own];
        }
    }
    memory->advance.distances[THREAD] = least;
    memory->advance.places[THREAD] = place;
    // The first thread of a single sink has all that there is.
    if (of_part > 1)
        find_nearest(memory->advance.distances, memory->advance.places);
    else
        SYNC;
    // The first thread of the nearest sink knows both bodies.
    if (least == memory->advance.distances[0] && place == memory->advance.places[0] && writes_body()) {
        chain->nearest[NEAREST_NUMBERS * BLOCK] = least;
        chain->nearest[NEAREST_NUMBERS * BLOCK + 1] = pair.number;
    }
    add_counts(memory->advance.counts, memory->advance.limited, chain->counts, chain->outcome);
}

FUNCTION int is_bad_before(GLOBAL const uint *outcome, uint block)
{
    return outcome[IS_BAD + block % 2] != 0;
}

// Tells the host of the block that is due after the last one, and of this.
FUNCTION void tell_host(const Chain *chain, const BlockState *last, const BlockState *due, LOCAL_POINTER ChainMemory *memory)
{
    if (THREAD == 0)
        tell_due(chain->notes, due, is_bad_before(chain->outcome, due->sequence), has_to_look(chain->outcome, last));
    tell_done(1, chain->notes, last, parts_of(last->sinks), chain->nearest, chain->bodies, chain->outcome,
        memory->take.distances, memory->take.numbers);
}

// Copies structures by all threads.
FUNCTION void copy_words(LOCAL_POINTER void *to, GLOBAL const void *from, int bytes)
{
    UNROLL_BY(1)
    for (int word = THREAD; word < bytes / 4; word += STEP_THREADS)
        ((LOCAL_POINTER int *)to)[word] = ((GLOBAL const int *)from)[word];
}

// Writes the steps of the forces of a block. Each thread looks at some plans, of which one of each group
// is for so many sinks.
FUNCTION void begin_forces(const Chain *chain, const BlockRules *rules, const BlockState *due)
{
    UNROLL_BY(1)
    for (int group = 0; group < chain->groups.with_sources; ++group) {
        LOCAL_POINTER Step *const step = &chain->steps[group];
        LOCAL_POINTER const PlannedSums *const plans = chain->plans + group * rules->plans;
        if (THREAD == 0) {
            step->target.time = due->now * rules->interval;
            step->ni = due->sinks;
            step->stride = (due->sinks + STRIDE - 1) / STRIDE * STRIDE;
        }
        UNROLL_BY(1)
        for (int plan = THREAD; plan < rules->plans; plan += STEP_THREADS) {
            const int below = plan > 0 ? plans[plan - 1].sinks : 0;
            if (due->sinks > below && due->sinks <= plans[plan].sinks) {
                step->segments = plans[plan].segments;
                step->accumulators = plans[plan].accumulators;
            }
        }
    }
}

// Predicts all sources for a block: the last thread blocks do, as the first ones take bodies.
FUNCTION void predict_part(const Chain *chain, const BlockRules *rules, const BlockState *due)
{
    UNROLL_BY(1)
    for (int address = (BLOCKS - 1 - BLOCK) * STEP_THREADS + THREAD; address < rules->chunks * CHUNK;
         address += BLOCKS * STEP_THREADS) {
        int group = chain->groups.with_sources - 1;
        while (group > 0 && address / CHUNK < chain->steps[group].first_chunk)
            --group;
        const Step *const step = &chain->steps[group];
        const int chunk = address / CHUNK - step->first_chunk, place = address % CHUNK, slot = slot_of(step, chain->slots, chunk);
        if (slot < 0)
            continue;
        PredictionTarget target = step->target;
        target.time = due->now * rules->interval;
        double source[SOURCE_ROWS];
        VECTOR rows[ROWS];
        load_source(chain->octets, slot, place, source);
        predict(source, chunk * CHUNK + place, target, rows);
        UNROLL
        for (int row = 0; row < ROWS; ++row)
            chain->predicted[((long)slot * ROWS + row) * CHUNK + place] = rows[row];
    }
}

// Takes the bodies that are due after the last block, each thread block those of some words of their
// set; the block that was due becomes the last one.
FUNCTION void take_part(const Chain *chain, const BlockRules *rules, LOCAL_POINTER BlockState *last, LOCAL_POINTER BlockState *due,
    const Taken *next, LOCAL_POINTER ChainMemory *memory)
{
    const int is_bad = is_bad_before(chain->outcome, due->sequence + 1), looks = has_to_look(chain->outcome, due);
    const int set = find_set(chain->counts, &memory->take.lowest);
    if (THREAD == 0) {
        *last = *due;
        *due = block_due(rules, last, set, chain->counts[set], is_bad, looks);
        if (BLOCK == 0)
            *next->state = *due;
    }
    SYNC;
    const int words = WORDS_OF_SET(rules->bodies), of_part = (2 * words + BLOCKS - 1) / BLOCKS;
    const int first = BLOCK * of_part, end = first + of_part < words ? first + of_part : words;
    if (first < end)
        take_words(rules, &chain->groups, chain->sets + (long)set * words, first, end, due->sequence, chain->bodies, next->members,
            next->sinks, chain->outcome, memory->take.numbers);
}

KERNEL(STEP_THREADS, CHAIN_RESIDENT)
run_chain(GLOBAL const BlockRules *given, GLOBAL const double *table, GLOBAL const Step *forces, int turn, int steps,
    GLOBAL const PlannedSums *given_plans, GLOBAL BlockState *state_0, GLOBAL int *members_0, GLOBAL double *sinks_0,
    GLOBAL BlockState *state_1, GLOBAL int *members_1, GLOBAL double *sinks_1, GLOBAL double *octets, GLOBAL int *indices,
    GLOBAL volatile int *ranges, GLOBAL const int *slots, GLOBAL VECTOR *predicted, GLOBAL double *partial_sums,
    GLOBAL double *partial_distances, GLOBAL uint *partial_accumulators, GLOBAL double *results, GLOBAL double *bodies,
    GLOBAL uint *sets, GLOBAL uint *counts, GLOBAL uint *outcome, GLOBAL double *nearest, GLOBAL volatile double *notes,
    GLOBAL ulong *have_come)
{
    LOCAL ChainMemory memory;
    LOCAL BlockRules rules;
    LOCAL PlannedSums plans[GROUPS_OF_KERNELS * MOST_PLANS];
    LOCAL Step steps_of_groups[GROUPS_OF_KERNELS];
    LOCAL BlockState last, due;
    const Groups groups = groups_of(given, table);
    const Chain chain = {plans, steps_of_groups, groups, octets, indices, ranges, slots, predicted, partial_sums,
        partial_distances, partial_accumulators, results, bodies, sets, counts, outcome, nearest, notes};
    const Taken even = {state_0, members_0, sinks_0}, odd = {state_1, members_1, sinks_1};
    // Some may have come to the next meeting already, but not all.
    ulong met = *(GLOBAL volatile ulong *)have_come / (ulong)BLOCKS * (ulong)BLOCKS;
    copy_words(&rules, given, sizeof(BlockRules));
    copy_words(&due, (turn ? odd : even).state, sizeof(BlockState));
    copy_words(steps_of_groups, forces, groups.with_sources * (int)sizeof(Step));
    copy_words(plans, given_plans, groups.with_sources * given->plans * (int)sizeof(PlannedSums));
    SYNC;
    if (!due.halts) {
        begin_forces(&chain, &rules, &due);
        predict_part(&chain, &rules, &due);
    }
    met = meet(have_come, met);
    int made = 0;
    UNROLL_BY(1)
    for (; made < steps && !due.halts; ++made, turn = !turn) {
        const Taken taken = turn ? odd : even, next = turn ? even : odd;
        if (BLOCK > 0)
            sum_forces(&chain, &rules, taken.sinks, &memory);
        else if (made > 0)
            tell_host(&chain, &last, &due, &memory);
        met = meet(have_come, met);
        advance_part(&chain, &rules, &due, &taken, &memory);
        met = meet(have_come, met);
        take_part(&chain, &rules, &last, &due, &next, &memory);
        begin_forces(&chain, &rules, &due);
        predict_part(&chain, &rules, &due);
        met = meet(have_come, met);
    }
    if (BLOCK == 0) {
        if (made > 0)
            tell_host(&chain, &last, &due, &memory);
        // Chains that follow find this block, whichever they begin with.
        if (THREAD == 0 && due.halts)
            *even.state = *odd.state = due;
    }
}
