// What a thread block does in one launch shape of the sums over the sources: LANES threads share a
// sink and a thread has SINKS sinks, for chunks of ACCUMULATORS accumulators. With FUSED the sources
// are predicted here, else they were before.
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
#define GUARDS_ALL (IS_SHORT && CHAINED)
// In a chain 32 lanes of a sink run in step, and find its nearest source among themselves.
#define LANES_SHUFFLE (LANES == 32 && CHAINED)
#if LANES == 1
#define GUARDED_UNROLLED 2
#elif GUARDS_ALL
#define GUARDED_UNROLLED 4
#else
#define GUARDED_UNROLLED 1
#endif

// The memory that the threads of a block share.
typedef struct {
    union {
        VECTOR tile[ROWS * TILE];
#if IS_SHORT
        double accumulator_sums[ACCUMULATORS * N_OUTPUTS * BLOCK_SINKS];
#elif TAKES_TURNS
        REAL accumulator_sums[ACCUMULATORS * N_OUTPUTS * BLOCK_SINKS];
#endif
#if ENDS
        End end;
#endif
    } turns;
    int tile_indices[CHUNK];
    // The last chunk of the segment in which indices do not count the places.
    int out_of_order;
#if LANES > 1 && !IS_SHORT && !TAKES_TURNS
    REAL accumulator_sums[ACCUMULATORS * N_OUTPUTS * BLOCK_SINKS];
#endif
#if !IS_SHORT
    double accumulated[N_OUTPUTS * BLOCK_SINKS];
#endif
#if LANES > 1 && NEAREST && !LANES_SHUFFLE
    REAL lane_distances[LANES * BLOCK_SINKS];
    uint lane_accumulators[LANES * BLOCK_SINKS];
#endif
} ITEM_MEMORY;

// Sums an item: the sources of a segment for the sinks of a thread block. There are
// `blocks_of_segment` items of each segment.
FUNCTION void SUM_ITEM(const Step *step, int block, int blocks_of_segment, LOCAL_POINTER ITEM_MEMORY *memory,
    GLOBAL double *octets, GLOBAL int *indices, GLOBAL volatile int *ranges, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const double *sinks, GLOBAL double *partial_sums,
    GLOBAL double *partial_distances, GLOBAL uint *partial_accumulators)
{
    LOCAL_POINTER VECTOR *const tile = memory->turns.tile;
#if IS_SHORT
    LOCAL_POINTER double *const accumulator_sums = memory->turns.accumulator_sums;
#elif TAKES_TURNS
    LOCAL_POINTER REAL *const accumulator_sums = memory->turns.accumulator_sums;
#elif LANES > 1
    LOCAL_POINTER REAL *const accumulator_sums = memory->accumulator_sums;
#endif
    const int lane = THREAD % LANES, team = THREAD / LANES;
    const int segment_number = block / blocks_of_segment, first_sink = block % blocks_of_segment * BLOCK_SINKS;
    const Segment segment = segment_of(step, segment_number);

    Sink sink[SINKS];
    int sink_index[SINKS];
    REAL best[SINKS];
    uint best_accumulator[SINKS];
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        const int wanted = first_sink + i * TEAMS + team;
        const int number = wanted < step->ni ? wanted : step->ni - 1;
        sink[i] = load_sink(sinks, number, step);
        sink_index[i] = index_of_sink(sinks, number);
        best[i] = NO_DISTANCE2;
        best_accumulator[i] = 0;
    }
#if !CHAINED
    // Every block that reads a source puts its record there itself; all write the same. The first
    // block puts those that none reads. Where threads do not run in step, each block meets every
    // barrier: compilers that run them one after another copy all that follows one in a branch.
    if (!IN_STEP || step->records > 0) {
        GLOBAL const double *const records = records_of(sinks, step);
        UNROLL_BY(4)
        for (int item = THREAD; item < step->records * RECORD_WORDS; item += THREADS) {
            const int record = item / RECORD_WORDS, word = item % RECORD_WORDS;
            const double value = records[item];
            const uint address = address_of(records, record);
            const int chunk = (int)(address / CHUNK), k = chunk / SLICES;
            const int is_read = chunk < step->chunks && (chunk % SLICES - step->first_slice) % step->slice_step == 0;
            if (is_read ? chunk % SLICES == segment.slice && k >= segment.first && k < segment.last : block == 0)
                put_word(value, word, octets, indices, ranges, step->is_dense ? chunk : slots[chunk], address);
        }
        SYNC;
    }
#endif

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
        memory->accumulated[place] = 0.0;
#endif
    if (THREAD == 0)
        memory->out_of_order = -1;
    const int has_sinks = first_sink + team < step->ni;

#if FUSED
    double source[PLACES][SOURCE_ROWS];
#endif
#if AHEAD
    int slot_ahead = NOWHERE;
    if (segment.first < segment.last) {
        slot_ahead = slot_of(step, slots, segment.slice + SLICES * segment.first);
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
        const int slot = slot_of(step, slots, chunk);
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
                predict(source[turn], chunk * CHUNK + place, step->target, rows);
#else
                UNROLL
                for (int row = 0; row < ROWS; ++row)
                    rows[row] = predicted[((long)slot * ROWS + row) * CHUNK + place];
#endif
                UNROLL
                for (int row = 0; row < ROWS; ++row)
                    tile[row * TILE + TILE_PLACE(place)] = rows[row];
                const int index = indices[(long)slot * CHUNK + place];
                memory->tile_indices[place] = index;
                if ((uint)index - (uint)lowest != (uint)place)
                    memory->out_of_order = k;
            }
        }
#if AHEAD
        // The next sources are on their way while pairs of these are summed.
        slot_ahead = NOWHERE;
        if (k + 1 < segment.last) {
            slot_ahead = slot_of(step, slots, chunk + SLICES);
            if (slot_ahead >= 0) {
                LOAD_SOURCES(slot_ahead);
            }
        }
        if (IN_STEP && slot < 0)
            continue;
#endif
#if GUARDS_ALL
        SYNC;
        uint guards = ALL_GUARDS;
#else
        int guarded = 0;
        if (step->skip_own_index && slot >= 0) {
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
                if (memory->out_of_order != k) {
                    UNROLL
                    for (int i = 0; i < SINKS; ++i)
                        meets |= ((uint)sink_index[i] - (uint)lowest) / ACCUMULATOR_LENGTH == (uint)accumulator;
                } else {
                    UNROLL_BY(4)
                    for (int place = 0; place < ACCUMULATOR_LENGTH; ++place) {
                        const int index = memory->tile_indices[accumulator * ACCUMULATOR_LENGTH + place];
                        UNROLL
                        for (int i = 0; i < SINKS; ++i)
                            meets |= index == sink_index[i];
                    }
                }
                guards |= (uint)(ANY(meets) != 0) << pass;
            }
        }
#endif

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
                    if (!GUARDS_ALL && !(guards >> pass & 1)) {
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
                            const int index = memory->tile_indices[accumulator * ACCUMULATOR_LENGTH + place];
                            UNROLL
                            for (int i = 0; i < SINKS; ++i) {
                                const int is_other = !step->skip_own_index || index != sink_index[i];
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
                    memory->accumulated[output * BLOCK_SINKS + i * TEAMS + team] += (double)totals[i][output];
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
                memory->accumulated[place] += (double)total;
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
        const double sum = memory->accumulated[place];
#endif
        if (number < step->ni)
            partial_sums[((long)segment_number * N_OUTPUTS + output) * step->stride + number] = sum;
    }
#if NEAREST
#if LANES > 1 && !LANES_SHUFFLE
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        memory->lane_distances[lane * BLOCK_SINKS + i * TEAMS + team] = best[i];
        memory->lane_accumulators[lane * BLOCK_SINKS + i * TEAMS + team] = best_accumulator[i];
    }
    SYNC;
    for (int place = THREAD; place < BLOCK_SINKS; place += THREADS) {
        const int number = first_sink + place;
        REAL distance2 = memory->lane_distances[place];
        uint accumulator = memory->lane_accumulators[place];
        UNROLL
        for (int other = 1; other < LANES; ++other) {
            const REAL candidate = memory->lane_distances[other * BLOCK_SINKS + place];
            const uint candidate_accumulator = memory->lane_accumulators[other * BLOCK_SINKS + place];
            if (candidate < distance2 || (candidate == distance2 && candidate_accumulator < accumulator)) {
                distance2 = candidate;
                accumulator = candidate_accumulator;
            }
        }
        if (number < step->ni) {
            partial_distances[(long)segment_number * step->stride + number] = distance2;
            partial_accumulators[(long)segment_number * step->stride + number] = accumulator;
        }
    }
#else
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
#if LANES_SHUFFLE
        UNROLL
        for (int apart = 16; apart > 0; apart /= 2) {
            REAL candidate;
            uint candidate_accumulator;
            SHUFFLE(candidate, best[i], lane ^ apart);
            SHUFFLE(candidate_accumulator, best_accumulator[i], lane ^ apart);
            if (candidate < best[i] || (candidate == best[i] && candidate_accumulator < best_accumulator[i])) {
                best[i] = candidate;
                best_accumulator[i] = candidate_accumulator;
            }
        }
#endif
        const int number = first_sink + i * TEAMS + team;
        if (lane == 0 && number < step->ni) {
            partial_distances[(long)segment_number * step->stride + number] = best[i];
            partial_accumulators[(long)segment_number * step->stride + number] = best_accumulator[i];
        }
    }
#endif
#endif
}

#undef KEEP_ADDRESS
#undef GUARDED_UNROLLED
#undef GUARDS_ALL
#undef LANES_SHUFFLE
