// One launch shape of the sums over the sources: a kernel in which LANES threads share a sink and a
// thread has SINKS sinks, for chunks of ACCUMULATORS accumulators. With FUSED the sources are
// predicted here, else they were before. With ENDS, where the device lets blocks see what others
// wrote (CAN_END), the last thread block also adds the partial sums. With WAITS the kernel gets its
// steps, sinks and records by letters (`waiting.h`), and its thread blocks do, item after item,
// what those of a launch would do. With CHAINED it reads its step from memory, where a kernel before
// it has written how many sinks there are, and does nothing if another kernel is to sum them.
//
// The order of addition does not depend on the shape: the sources of an accumulator one after
// another, the accumulators of a chunk, both in the numbers of a pair; then, in 64 bits, the chunks
// of a segment. Each sum begins at zero. With short accumulators, for few sinks, those of all
// chunks of a segment are added in 64 bits each, and then to one another.

// Few sources are in a short accumulator: the address of the nearest is kept at once, where else
// the accumulator is kept and the source is looked for at the end of the block.
#define KEEP_ADDRESS(is_nearest, i, place) \
    if (is_nearest) { \
        best[i] = distance2[i]; \
        best_accumulator[i] = (uint)(chunk * CHUNK + accumulator * ACCUMULATOR_LENGTH + place); \
    }
// Other threads wait for those that have guarded pairs, where few threads are at work on a sink.
#if LANES == 1
#define GUARDED_UNROLLED 2
#else
#define GUARDED_UNROLLED 1
#endif
#if CHAINED
#define BLOCKS_OF_SEGMENT ((step.ni + BLOCK_SINKS - 1) / BLOCK_SINKS)
#else
#define BLOCKS_OF_SEGMENT step.blocks
#endif
#if WAITS || CHAINED
#define ITEMS (BLOCKS_OF_SEGMENT * step.segments * step.slices)
#else
#define ITEMS BLOCKS
#endif

KERNEL(THREADS, RESIDENT)
#if WAITS
wait_for_blocks(GLOBAL volatile double *letter, GLOBAL double *copy, uint turn,
#elif CHAINED
CHAINED_NAME(GLOBAL const Step *steps,
#else
FORCE_NAME(const Step step,
#endif
    GLOBAL double *octets, GLOBAL int *indices, GLOBAL volatile int *ranges, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const double *sinks, GLOBAL double *partial_sums,
    GLOBAL double *partial_distances, GLOBAL uint *partial_accumulators, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    LOCAL union {
        VECTOR tile[ROWS * TILE];
#if IS_SHORT
        double accumulator_sums[ACCUMULATORS * N_OUTPUTS * BLOCK_SINKS];
#elif TAKES_TURNS
        REAL accumulator_sums[ACCUMULATORS * N_OUTPUTS * BLOCK_SINKS];
#endif
#if ENDS && !CHAINED
        End end;
#endif
    } shared;
    LOCAL_POINTER VECTOR *const tile = shared.tile;
    LOCAL int tile_indices[CHUNK];
    // The last chunk of the segment in which indices do not count the places.
    LOCAL int out_of_order;
#if IS_SHORT
    LOCAL_POINTER double *const accumulator_sums = shared.accumulator_sums;
#elif TAKES_TURNS
    LOCAL_POINTER REAL *const accumulator_sums = shared.accumulator_sums;
#elif LANES > 1
    LOCAL REAL accumulator_sums[ACCUMULATORS * N_OUTPUTS * BLOCK_SINKS];
#endif
#if !IS_SHORT
    LOCAL double accumulated[N_OUTPUTS * BLOCK_SINKS];
#endif
#if LANES > 1 && NEAREST
    LOCAL REAL lane_distances[LANES * BLOCK_SINKS];
    LOCAL uint lane_accumulators[LANES * BLOCK_SINKS];
#endif

    const int lane = THREAD % LANES, team = THREAD / LANES;
#if WAITS
    LOCAL Step step;
    LOCAL Mail mail;
    if (THREAD == 0) {
        mail.bell = turn - 1;
        mail.is_done = 1;
    }
    sinks = copy + LETTER_HEAD + STEP_WORDS;
    ulong begin;
    READ_NANOSECONDS(begin);
    for (;;) {
    const int block = next_item(letter, copy, begin + LIFETIME, THREADS, &mail, &step);
    if (block < 0)
        return;
#elif CHAINED
    AFTER_EARLIER_KERNELS;
    const Step step = *steps;
    if (step.accumulators != ACCUMULATORS)
        return;
    for (int block = BLOCK; block < ITEMS; block += BLOCKS) {
    SYNC;
#else
    const int block = BLOCK;
    sinks += step.sinks_from;
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
#endif
    const int segment_number = block / BLOCKS_OF_SEGMENT, first_sink = block % BLOCKS_OF_SEGMENT * BLOCK_SINKS;
    const Segment segment = segment_of(&step, segment_number);

    Sink sink[SINKS];
    int sink_index[SINKS];
    REAL best[SINKS];
    uint best_accumulator[SINKS];
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        const int wanted = first_sink + i * TEAMS + team;
        const int number = wanted < step.ni ? wanted : step.ni - 1;
        sink[i] = load_sink(sinks, number, &step);
        sink_index[i] = index_of_sink(sinks, number);
        best[i] = NO_DISTANCE2;
        best_accumulator[i] = 0;
    }
    // Every block that reads a source puts its record there itself; all write the same. The first
    // block puts those that none reads. Where threads do not run in step, each block meets every
    // barrier: compilers that run them one after another copy all that follows one in a branch.
    if (!IN_STEP || step.records > 0) {
        GLOBAL const double *const records = records_of(sinks, &step);
        UNROLL_BY(4)
        for (int item = THREAD; item < step.records * RECORD_WORDS; item += THREADS) {
            const int record = item / RECORD_WORDS, word = item % RECORD_WORDS;
            const double value = records[item];
            const uint address = address_of(records, record);
            const int chunk = (int)(address / CHUNK), k = chunk / SLICES;
            const int is_read = chunk < step.chunks && (chunk % SLICES - step.first_slice) % step.slice_step == 0;
            if (is_read ? chunk % SLICES == segment.slice && k >= segment.first && k < segment.last : block == 0)
                put_word(value, word, octets, indices, ranges, step.is_dense ? chunk : slots[chunk], address);
        }
        SYNC;
    }

#if IS_SHORT
    double lane_sums[SINKS][N_OUTPUTS];
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        UNROLL
        for (int output = 0; output < N_OUTPUTS; ++output)
            lane_sums[i][output] = 0.0;
    }
#else
    for (int place = THREAD; place < N_OUTPUTS * BLOCK_SINKS; place += THREADS)
        accumulated[place] = 0.0;
#endif
    if (THREAD == 0)
        out_of_order = -1;
    const int has_sinks = first_sink + team < step.ni;

#if FUSED
    double source[PLACES][SOURCE_ROWS];
#endif
#if AHEAD
    int slot_ahead = NOWHERE;
    if (segment.first < segment.last) {
        slot_ahead = step.is_dense ? segment.slice + SLICES * segment.first : slots[segment.slice + SLICES * segment.first];
        if (slot_ahead >= 0) {
            LOAD_SOURCES(slot_ahead);
        }
    }
#endif
    for (int k = segment.first; k < segment.last; ++k) {
        const int chunk = segment.slice + SLICES * k;
#if AHEAD
        const int slot = slot_ahead;
#else
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (IN_STEP && slot < 0)
            continue;
#endif
        SYNC;
        const int lowest = slot >= 0 ? ranges[2 * slot] : 0, highest = slot >= 0 ? ranges[2 * slot + 1] : 0;
        if (slot >= 0) {
            UNROLL
            for (int turn = 0; turn < PLACES; ++turn) {
                const int place = turn * THREADS + THREAD;
                VECTOR rows[ROWS];
#if FUSED
#if !AHEAD
                load_source(octets, slot, place, source[turn]);
#endif
                predict(source[turn], chunk * CHUNK + place, step.target, rows);
#else
                UNROLL
                for (int row = 0; row < ROWS; ++row)
                    rows[row] = predicted[((long)slot * ROWS + row) * CHUNK + place];
#endif
                UNROLL
                for (int row = 0; row < ROWS; ++row)
                    tile[row * TILE + TILE_PLACE(place)] = rows[row];
                const int index = indices[(long)slot * CHUNK + place];
                tile_indices[place] = index;
                if ((uint)index - (uint)lowest != (uint)place)
                    out_of_order = k;
            }
        }
#if AHEAD
        // The next sources are on their way while pairs of these are summed.
        slot_ahead = NOWHERE;
        if (k + 1 < segment.last) {
            slot_ahead = step.is_dense ? chunk + SLICES : slots[chunk + SLICES];
            if (slot_ahead >= 0) {
                LOAD_SOURCES(slot_ahead);
            }
        }
        if (IN_STEP && slot < 0)
            continue;
#endif
        int guarded = 0;
        if (step.skip_own_index && slot >= 0) {
            UNROLL
            for (int i = 0; i < SINKS; ++i)
                guarded |= sink_index[i] >= lowest && sink_index[i] <= highest;
        }
        guarded = ANY(guarded);
        SYNC;
        // Of a chunk that may have sinks' own sources, only the accumulators that do are guarded: the
        // other threads of a block wait for those that are. Indices that count the places need no
        // search.
        uint guards = 0;
        if (guarded) {
            UNROLL_BY(1)
            for (int pass = 0; pass < PASSES; ++pass) {
                const int accumulator = pass * LANES + lane;
                int meets = 0;
                if (out_of_order != k) {
                    UNROLL
                    for (int i = 0; i < SINKS; ++i)
                        meets |= ((uint)sink_index[i] - (uint)lowest) / ACCUMULATOR_LENGTH == (uint)accumulator;
                } else {
                    UNROLL_BY(4)
                    for (int place = 0; place < ACCUMULATOR_LENGTH; ++place) {
                        const int index = tile_indices[accumulator * ACCUMULATOR_LENGTH + place];
                        UNROLL
                        for (int i = 0; i < SINKS; ++i)
                            meets |= index == sink_index[i];
                    }
                }
                guards |= (uint)(ANY(meets) != 0) << pass;
            }
        }

#if TAKES_TURNS
        REAL totals[SINKS][N_OUTPUTS];
#endif
        if (has_sinks && slot >= 0) {
#if LANES == 1 || IS_SHORT
            REAL totals[SINKS][N_OUTPUTS];
#endif
            int again;
            do {
                again = 0;
                REAL check[SINKS];
                REAL best_before[SINKS];
                uint best_accumulator_before[SINKS];
                UNROLL
                for (int i = 0; i < SINKS; ++i) {
                    best_before[i] = best[i];
                    best_accumulator_before[i] = best_accumulator[i];
                }
                for (int pass = 0; pass < PASSES; ++pass) {
                    const int accumulator = pass * LANES + lane;
                    REAL sums[SINKS][N_OUTPUTS];
                    REAL distance2[SINKS];
                    UNROLL
                    for (int i = 0; i < SINKS; ++i) {
                        distance2[i] = best[i];
                        UNROLL
                        for (int output = 0; output < N_OUTPUTS; ++output)
                            sums[i][output] = 0;
                    }
                    const LOCAL_POINTER VECTOR *source = tile + accumulator * (ACCUMULATOR_LENGTH + 1);
                    if (!(guards >> pass & 1)) {
                        UNROLL_BY(UNROLLED)
                        for (int place = 0; place < ACCUMULATOR_LENGTH; ++place) {
                            VECTOR rows[ROWS];
                            UNROLL
                            for (int row = 0; row < ROWS; ++row)
                                rows[row] = source[row * TILE + place];
                            const Body body = body_of_rows(rows);
                            UNROLL
                            for (int i = 0; i < SINKS; ++i) {
                                const int is_nearest = add_pair(&body, &sink[i], 0, 1, IS_SHORT, sums[i], &distance2[i]);
                                KEEP_ADDRESS(is_nearest, i, place);
                            }
                        }
                    } else {
                        UNROLL_BY(GUARDED_UNROLLED)
                        for (int place = 0; place < ACCUMULATOR_LENGTH; ++place) {
                            VECTOR rows[ROWS];
                            UNROLL
                            for (int row = 0; row < ROWS; ++row)
                                rows[row] = source[row * TILE + place];
                            const Body body = body_of_rows(rows);
                            const int index = tile_indices[accumulator * ACCUMULATOR_LENGTH + place];
                            UNROLL
                            for (int i = 0; i < SINKS; ++i) {
                                const int is_other = !step.skip_own_index || index != sink_index[i];
                                const int is_nearest =
                                    add_pair(&body, &sink[i], 1, is_other, IS_SHORT, sums[i], &distance2[i]);
                                KEEP_ADDRESS(is_nearest, i, place);
                            }
                        }
                    }
                    UNROLL
                    for (int i = 0; i < SINKS; ++i) {
#if NEAREST && !IS_SHORT
                        if (distance2[i] < best[i]) {
                            best[i] = distance2[i];
                            best_accumulator[i] = (uint)(chunk * ACCUMULATORS + accumulator);
                        }
#endif
                        const REAL looked_at = sums[i][0] + sums[i][1];
                        check[i] = accumulator == lane ? looked_at : check[i] + looked_at;
                        UNROLL
                        for (int output = 0; output < N_OUTPUTS; ++output) {
#if LANES == 1 || IS_SHORT || TAKES_TURNS
                            totals[i][output] = accumulator == lane ? sums[i][output] : totals[i][output] + sums[i][output];
#else
                            accumulator_sums[(accumulator * N_OUTPUTS + output) * BLOCK_SINKS + i * TEAMS + team] = sums[i][output];
#endif
                        }
                    }
                }
                // A pair at no distance makes the potential or the acceleration infinite or no
                // number.
                UNROLL
                for (int i = 0; i < SINKS; ++i)
                    again |= guards != ALL_GUARDS && !(fabs(check[i]) < INFINITY_32);
                if (again) {
                    guards = ALL_GUARDS;
                    UNROLL
                    for (int i = 0; i < SINKS; ++i) {
                        best[i] = best_before[i];
                        best_accumulator[i] = best_accumulator_before[i];
                    }
                }
            } while (again);
#if IS_SHORT
            UNROLL
            for (int i = 0; i < SINKS; ++i) {
                UNROLL
                for (int output = 0; output < N_OUTPUTS; ++output)
                    lane_sums[i][output] += (double)totals[i][output];
            }
#elif LANES == 1
            UNROLL
            for (int i = 0; i < SINKS; ++i) {
                UNROLL
                for (int output = 0; output < N_OUTPUTS; ++output)
                    accumulated[output * BLOCK_SINKS + i * TEAMS + team] += (double)totals[i][output];
            }
#endif
        }
#if TAKES_TURNS
        SYNC;
        if (has_sinks && slot >= 0) {
            UNROLL
            for (int i = 0; i < SINKS; ++i) {
                UNROLL
                for (int output = 0; output < N_OUTPUTS; ++output)
                    accumulator_sums[(lane * N_OUTPUTS + output) * BLOCK_SINKS + i * TEAMS + team] = totals[i][output];
            }
        }
#endif
#if LANES > 1 && !IS_SHORT
        SYNC;
        // As many turns for every thread: compilers that run threads one after another got other
        // loops here wrong.
        UNROLL
        for (int turn = 0; turn < (N_OUTPUTS * BLOCK_SINKS + THREADS - 1) / THREADS; ++turn) {
            const int place = turn * THREADS + THREAD;
            if (slot >= 0 && place < N_OUTPUTS * BLOCK_SINKS) {
                REAL total = accumulator_sums[place];
                UNROLL
                for (int accumulator = 1; accumulator < ACCUMULATORS; ++accumulator)
                    total += accumulator_sums[accumulator * N_OUTPUTS * BLOCK_SINKS + place];
                accumulated[place] += (double)total;
            }
        }
#endif
    }
    LET_NEXT_KERNEL_START;

#if IS_SHORT
    SYNC;
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        UNROLL
        for (int output = 0; output < N_OUTPUTS; ++output)
            accumulator_sums[(lane * N_OUTPUTS + output) * BLOCK_SINKS + i * TEAMS + team] = lane_sums[i][output];
    }
#endif
    SYNC;
    for (int place = THREAD; place < N_OUTPUTS * BLOCK_SINKS; place += THREADS) {
        const int output = place / BLOCK_SINKS, number = first_sink + place % BLOCK_SINKS;
#if IS_SHORT
        double sum = accumulator_sums[place];
        UNROLL
        for (int accumulator = 1; accumulator < ACCUMULATORS; ++accumulator)
            sum += accumulator_sums[accumulator * N_OUTPUTS * BLOCK_SINKS + place];
#else
        const double sum = accumulated[place];
#endif
        if (number < step.ni)
            partial_sums[((long)segment_number * N_OUTPUTS + output) * step.stride + number] = sum;
    }
#if NEAREST
#if LANES > 1
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        lane_distances[lane * BLOCK_SINKS + i * TEAMS + team] = best[i];
        lane_accumulators[lane * BLOCK_SINKS + i * TEAMS + team] = best_accumulator[i];
    }
    SYNC;
    for (int place = THREAD; place < BLOCK_SINKS; place += THREADS) {
        const int number = first_sink + place;
        REAL distance2 = lane_distances[place];
        uint accumulator = lane_accumulators[place];
        UNROLL
        for (int other = 1; other < LANES; ++other) {
            const REAL candidate = lane_distances[other * BLOCK_SINKS + place];
            const uint candidate_accumulator = lane_accumulators[other * BLOCK_SINKS + place];
            if (candidate < distance2 || (candidate == distance2 && candidate_accumulator < accumulator)) {
                distance2 = candidate;
                accumulator = candidate_accumulator;
            }
        }
        if (number < step.ni) {
            partial_distances[(long)segment_number * step.stride + number] = distance2;
            partial_accumulators[(long)segment_number * step.stride + number] = accumulator;
        }
    }
#else
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        const int number = first_sink + i * TEAMS + team;
        if (number < step.ni) {
            partial_distances[(long)segment_number * step.stride + number] = best[i];
            partial_accumulators[(long)segment_number * step.stride + number] = best_accumulator[i];
        }
    }
#endif
#endif

#if ENDS && !CHAINED
    LOCAL uint ticket;
    SYNC;
    if (THREAD == 0) {
        FENCE;
        ticket = ATOMIC_ADD(tickets, 1u);
        FENCE;
    }
    SYNC;
    if (ticket == (uint)(ITEMS - 1)) {
        for (int first = 0; first < step.ni; first += END_SINKS)
            add_partial_sums(&step, first, THREADS, octets, indices, slots, predicted, sinks, partial_sums, partial_distances,
                partial_accumulators, results, &shared.end);
        SYNC;
        if (THREAD == 0) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
#endif
#if WAITS || CHAINED
    }
#endif
}

#undef KEEP_ADDRESS
#undef GUARDED_UNROLLED
#undef ITEMS
#undef BLOCKS_OF_SEGMENT
