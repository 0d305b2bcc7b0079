// The end of a block step: its bodies are advanced, written as sources, and put where they are due
// next.

// The longest power of two that is not above a number.
FUNCTION double power_of_two(double number)
{
    Bits bits;
    bits.number = number;
    bits.bits &= 0x7ff0000000000000ul;
    return bits.number;
}

// The next step as a fraction of the interval, from the one that was taken to the present time. It
// can at most double, and only at a multiple of the doubled step.
FUNCTION double next_step(const BlockRules *rules, ulong ticks, double taken, double wanted)
{
    const double longest = (double)(ticks & (0 - ticks)) / rules->all_ticks;
    return wanted >= 2.0 * taken && longest >= 2.0 * taken ? 2.0 * taken : fmin(power_of_two(wanted), taken);
}

// Twice the largest error that the rounding of positions makes in an acceleration.
FUNCTION double rounding_of(const double position[AXES], double potential, double distance2)
{
    double all[3];
    gather_axes(position, all);
    const double size = fmax(fmax(fmax(0.0, fabs(all[0])), fabs(all[1])), fabs(all[2]));
    return distance2 > 0.0 ? 8.0 * EPSILON_64 * size * fabs(potential) / distance2 : 0.0;
}

// Writes the moving numbers of a source: its time and its Taylor coefficients.
FUNCTION void put_source(int address, double time, const double motion[ORDER][AXES], GLOBAL double *octets,
    GLOBAL const int *slots, int is_dense)
{
    const int chunk = address / CHUNK, place = address % CHUNK, axis = first_axis();
    const int slot = is_dense ? chunk : slots[chunk];
    GLOBAL double *source = octets + ((long)slot * CHUNK + place / OCTET * OCTET) * SOURCE_ROWS + place % OCTET;
    if (writes_body())
        source[0] = time;
    UNROLL
    for (int n = 0; n < N_COEFFICIENTS; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k)
            source[(2 + 3 * n + axis + k) * OCTET] = over_factorial(motion[n][k], n);
    }
}

// The squared softening of a body and the source that is nearest to it.
FUNCTION double softening2_of_nearest(const Groups *groups, int body, int nearest)
{
    const int other = groups->with_sources > 1 ? group_of(groups, nearest) : 0;
    return softening2_of(groups, group_of(groups, body), other);
}

// Advances a body by a force; returns its next step as a fraction of the interval, and whether a
// shorter one was wanted than there may be.
FUNCTION double advance_body(const BlockRules *rules, ulong ticks, MovingBody *body, const double given[GIVEN][AXES],
    double potential, double distance2, double softening2, int *is_limited)
{
    double powers[10], before[2][AXES], ends[ORDER][AXES];
    powers_of(body->step, powers);
    UNROLL
    for (int k = 0; k < AXES; ++k) {
        before[0][k] = body->motion[2][k];
        before[1][k] = body->motion[3][k];
    }
    correct(body, given, powers, ends);
    UNROLL
    for (int n = 0; n < KEPT; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k)
            body->motion[2 + n][k] = ends[n][k];
    }
    const double rounding = rounding_of(body->motion[0], potential, distance2 + softening2);
    const double wanted = wanted_step(rules, before, ends, powers, rounding);
    *is_limited = wanted < rules->shortest;
    const double allowed = wanted < rules->shortest ? rules->shortest : wanted > rules->longest ? rules->longest : wanted;
    body->wanted = allowed;
    const double fraction = next_step(rules, ticks, body->step / rules->interval, allowed / rules->interval);
    body->step = fraction * rules->interval;
    return fraction;
}

// Writes a body that is of no other thread.
FUNCTION void put_row(const MovingBody *body, GLOBAL double *row)
{
    const int axis = first_axis();
    UNROLL
    for (int k = 0; k < AXES; ++k) {
        row[LOST + axis + k] = body->lost[0][k];
        row[LOST + 3 + axis + k] = body->lost[1][k];
        UNROLL
        for (int n = 0; n < ORDER; ++n)
            row[MOTION + 3 * n + axis + k] = body->motion[n][k];
    }
    if (writes_body()) {
        row[STEP] = body->step;
        row[WANTED] = body->wanted;
    }
}

// Advances a body of a block, a sink whose sums and squared distance of the nearest source are there,
// by the threads of this body. If it is not theirs, they write nothing. Returns the distance.
FUNCTION double advance_member(const BlockRules *rules, const Groups *groups, const BlockState *block, int member,
    int is_own, const MovingBody *before, const double sums[], double near2, double softening2, GLOBAL double *bodies,
    GLOBAL double *octets, GLOBAL const int *slots, GLOBAL uint *sets, LOCAL_POINTER uint *counts, LOCAL_POINTER int *limited,
    GLOBAL uint *outcome)
{
    MovingBody body = *before;
    double force[GIVEN][AXES];
    const double potential = sums[0];
    int is_good = is_finite(potential), is_limited;
    UNROLL
    for (int n = 0; n < GIVEN; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k) {
            force[n][k] = sums[1 + AXES * n + k];
            is_good &= is_finite(force[n][k]);
        }
    }
    const double distance2 = is_finite(near2) ? near2 : (double)INFINITY_32;
    const double distance = sqrt(distance2);
    const double fraction = advance_body(rules, (ulong)block->ticks, &body, force, potential, distance2, softening2, &is_limited);
    UNROLL
    for (int k = 0; k < AXES; ++k) {
        is_good &= fabs(body.motion[0][k]) <= rules->largest_position;
        UNROLL
        for (int n = 0; n < ORDER; ++n)
            is_good &= is_finite(body.motion[n][k]);
    }
    if (is_own && writes_axis()) {
        put_row(&body, bodies + (long)member * BODY_NUMBERS);
        const int address = address_of_source(rules, groups, member);
        if (address >= 0)
            put_source(address, block->now * rules->interval, body.motion, octets, slots, rules->is_dense);
        if (!is_good)
            mark_bad(outcome, block->sequence);
    }
    if (is_own && writes_body()) {
        if (distance < rules->approach)
            outcome[LOOKS] = block->sequence;
        if (is_limited)
            ATOMIC_ADD(limited, 1);
        // Its bit is set.
        ATOMIC_ADD(&sets[(long)block->set * WORDS_OF_SET(rules->bodies) + member / BITS_OF_WORD],
            0u - (1u << member % BITS_OF_WORD));
        ATOMIC_ADD(&counts[block->set], 0u - 1u);
        put_body(rules, block->now, block->ticks, block->sequence, member, block->now + fraction, sets, counts, outcome);
    }
    return distance;
}

// The sums of a sink that the threads of a body need: the potential, and their components.
FUNCTION void load_sums(GLOBAL const double *sums, double own[1 + AXES * GIVEN])
{
    const int axis = first_axis();
    own[0] = sums[0];
    UNROLL
    for (int n = 0; n < GIVEN; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k)
            own[1 + AXES * n + k] = sums[1 + 3 * n + axis + k];
    }
}

// Adds what the thread blocks have counted to the counts of all.
FUNCTION void add_counts(LOCAL_POINTER const uint *own_counts, int limited, GLOBAL uint *counts, GLOBAL uint *outcome)
{
    for (int set = THREAD; set < SETS; set += STEP_THREADS) {
        if (own_counts[set] != 0)
            ATOMIC_ADD(&counts[set], own_counts[set]);
    }
    if (THREAD == 0 && limited > 0)
        ATOMIC_ADD(&outcome[LIMITED], (uint)limited);
}

// The nearest pair of a part of a block.
FUNCTION void put_nearest_pair(GLOBAL double *nearest, int part, double distance, int member, double near)
{
    BodyPair pair;
    pair.number = near;
    pair.bodies[1] = pair.bodies[0];
    pair.bodies[0] = member;
    nearest[NEAREST_NUMBERS * part] = distance;
    nearest[NEAREST_NUMBERS * part + 1] = pair.number;
}

// Whether a source is nearer than another one; of two at the same distance the one with the lower index
// is.
FUNCTION int is_source_nearer(double distance2, int index, double other_distance2, int other_index)
{
    return distance2 < other_distance2 || (distance2 == other_distance2 && index < other_index);
}

#if GROUPS_OF_KERNELS > 1
// Adds the forces on a piece of a block by the sources of a group to those by the groups before it, a
// thread those on a sink.
KERNEL(STEP_THREADS, 1)
add_group(const BlockPiece piece, int is_first, int stride, GLOBAL const double *results, GLOBAL double *all)
{
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    const int sink = BLOCK * STEP_THREADS + THREAD;
    if (sink >= piece.sinks)
        return;
    GLOBAL const double *const sums = results + piece.results_from + (long)sink * N_OUTPUTS;
    GLOBAL const double *const near = results + piece.results_from + (long)N_OUTPUTS * piece.stride + 2 * (long)sink;
    GLOBAL double *const all_sums = all + ((long)piece.first + sink) * N_OUTPUTS;
    GLOBAL double *const nearest = all + (long)N_OUTPUTS * stride + 2 * ((long)piece.first + sink);
    for (int output = 0; output < N_OUTPUTS; ++output)
        all_sums[output] = (is_first ? 0.0 : all_sums[output]) + sums[output];
    BodyPair index, other;
    index.number = near[1];
    other.number = nearest[1];
    if (is_first || is_source_nearer(near[0], index.bodies[0], nearest[0], other.bodies[0])) {
        nearest[0] = near[0];
        nearest[1] = near[1];
    }
}
#endif

// Advances the bodies of a piece of a block.
KERNEL(STEP_THREADS, 1)
advance_block(GLOBAL const BlockRules *given, GLOBAL const double *table, const BlockPiece piece, GLOBAL const BlockState *due,
    GLOBAL const int *members, GLOBAL const double *results, GLOBAL double *bodies, GLOBAL double *octets,
    GLOBAL const int *slots, GLOBAL uint *sets, GLOBAL uint *counts, GLOBAL uint *outcome, GLOBAL double *nearest)
{
    LOCAL uint own_counts[SETS];
    LOCAL double distances[STEP_THREADS];
    LOCAL int places[STEP_THREADS];
    LOCAL int limited;
    LET_NEXT_KERNEL_START;
    AFTER_EARLIER_KERNELS;
    for (int set = THREAD; set < SETS; set += STEP_THREADS)
        own_counts[set] = 0;
    if (THREAD == 0)
        limited = 0;
    SYNC;
    const BlockState block = *due;
    const BlockRules rules = *given;
    const int own = body_of_thread(), sink = BLOCK * BODIES_OF_BLOCK + own;
    const int is_own = own < BODIES_OF_BLOCK && sink < piece.sinks, last = piece.sinks - 1;
    const int there = is_own ? sink : last;
    GLOBAL const double *const results_of_piece = results + piece.results_from;
    GLOBAL const double *const near = results_of_piece + (long)N_OUTPUTS * piece.stride;
    double sums[1 + AXES * GIVEN];
    load_sums(results_of_piece + (long)there * N_OUTPUTS, sums);
    const int member = members[piece.first + there];
    const MovingBody body = load_body(bodies + (long)member * BODY_NUMBERS);
    const Groups groups = groups_of(&rules, table);
    BodyPair nearest_source;
    nearest_source.number = near[2 * (long)there + 1];
    const double softening2 = softening2_of_nearest(&groups, member, nearest_source.bodies[0]);
    const double distance = advance_member(&rules, &groups, &block, member, is_own, &body, sums, near[2 * (long)there],
        softening2, bodies, octets, slots, sets, own_counts, &limited, outcome);
    distances[THREAD] = is_own && writes_body() ? distance : (double)INFINITY_32;
    places[THREAD] = there;
    find_nearest(distances, places);
    add_counts(own_counts, limited, counts, outcome);
    if (THREAD == 0)
        put_nearest_pair(nearest, piece.first_part + BLOCK, distances[0], members[piece.first + places[0]],
            near[2 * (long)places[0] + 1]);
}
