// One launch shape of the sums over the sources: a kernel FORCE_NAME in which LANES threads share a sink and a thread
// has SINKS sinks, for chunks of STRANDS strands. With FUSED the sources are predicted here, else they were before.
// With ENDS, where the device lets groups see what others wrote (CAN_END), the last group of threads also adds the
// parts.
//
// The order of addition does not depend on the shape: the sources of a strand one after another, the strands of a
// chunk, both in the numbers of a pair; then, in 64 bits, the chunks of a part. Each sum begins at zero. With short
// strands, for few sinks, the strands of all chunks of a part are added in 64 bits each, and then the strands.

#define STRAND (CHUNK / STRANDS)
#define TEAMS (THREADS / LANES)
// Places of a chunk that a thread fills.
#define PLACES (CHUNK / THREADS)
#define GROUP_SINKS (TEAMS * SINKS)
// Strands lie one vector apart beyond their length, so that threads on different strands meet in no bank.
#define TILE (CHUNK + STRANDS)
#define TILE_PLACE(place) ((place) + (place) / STRAND)
#define LOAD_SOURCES(slot) \
    UNROLL \
    for (int turn = 0; turn < PLACES; ++turn) \
        load_source(octets, slot, turn * THREADS + THREAD, source[turn]);
// Where bodies are large, the sums of strands take the memory of the tile in turns.
#define TAKES_TURNS (LANES > 1 && !SPREAD && VECTORS > 2)
// Short strands: each thread of those that share a sink has one strand, and keeps its sum over the chunks.
#define SPREAD (STRANDS == SHORT)
// Few sources are in a short strand: the address of the nearest is kept at once, where else the strand is and the
// source is looked for at the end of the block.
#if NEAREST && SPREAD
#define KEEP_ADDRESS(i, place) \
    if (distance2[i] < best[i]) { \
        best[i] = distance2[i]; \
        best_strand[i] = (uint)(chunk * CHUNK + strand * STRAND + place); \
    }
#else
#define KEEP_ADDRESS(i, place)
#endif

KERNEL(THREADS, RESIDENT)
FORCE_NAME(const Step step, GLOBAL double *octets, GLOBAL int *indices, GLOBAL volatile int *ranges,
    GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks, GLOBAL double *parts,
    GLOBAL double *part_distances, GLOBAL uint *part_strands, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    LOCAL union {
        VECTOR tile[ROWS * TILE];
#if SPREAD
        double strand_sums[STRANDS * OUTPUTS * GROUP_SINKS];
#elif TAKES_TURNS
        REAL strand_sums[STRANDS * OUTPUTS * GROUP_SINKS];
#endif
#if ENDS
        End end;
#endif
    } shared;
    LOCAL_POINTER VECTOR *const tile = shared.tile;
    LOCAL int tile_indices[CHUNK];
#if SPREAD
    LOCAL_POINTER double *const strand_sums = shared.strand_sums;
#elif TAKES_TURNS
    LOCAL_POINTER REAL *const strand_sums = shared.strand_sums;
#elif LANES > 1
    LOCAL REAL strand_sums[STRANDS * OUTPUTS * GROUP_SINKS];
#endif
#if !SPREAD
    LOCAL double accumulated[OUTPUTS * GROUP_SINKS];
#endif
#if LANES > 1 && NEAREST
    LOCAL REAL lane_distances[LANES * GROUP_SINKS];
    LOCAL uint lane_strands[LANES * GROUP_SINKS];
#endif

    sinks += step.sinks_from;
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
    const int lane = THREAD % LANES, team = THREAD / LANES;
    const int part_number = GROUP / step.groups, first_sink = GROUP % step.groups * GROUP_SINKS;
    const Part part = part_of(&step, part_number);

    Body sink[SINKS];
    int sink_index[SINKS];
    REAL best[SINKS];
    uint best_strand[SINKS];
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        const int wanted = first_sink + i * TEAMS + team;
        const int number = wanted < step.ni ? wanted : step.ni - 1;
        VECTOR rows[SINK_ROWS];
        UNROLL
        for (int row = 0; row < SINK_ROWS; ++row)
            rows[row] = sinks[row * step.stride + number];
        sink[i] = sink_of_rows(rows);
        sink_index[i] = indices_of(sinks, &step)[number];
        best[i] = NO_DISTANCE2;
        best_strand[i] = 0;
    }
    // Every group that reads a source puts its record there itself; all write the same. The first group puts those that
    // none reads.
    if (step.records > 0) {
        GLOBAL const double *const records = records_of(sinks, &step);
        UNROLL_BY(4)
        for (int item = THREAD; item < step.records * RECORD_WORDS; item += THREADS) {
            const int record = item / RECORD_WORDS, word = item % RECORD_WORDS;
            const double value = records[item];
            const uint address = address_of(records, record);
            const int chunk = (int)(address / CHUNK), k = chunk / SLICES;
            const int is_read = chunk < step.chunks && (chunk % SLICES - step.first_slice) % step.slice_step == 0;
            if (is_read ? chunk % SLICES == part.slice && k >= part.first && k < part.last : GROUP == 0)
                put_word(value, word, octets, indices, ranges, step.is_dense ? chunk : slots[chunk], address);
        }
        SYNC;
    }

#if SPREAD
    double lane_sums[SINKS][OUTPUTS];
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        UNROLL
        for (int output = 0; output < OUTPUTS; ++output)
            lane_sums[i][output] = 0.0;
    }
#else
    for (int place = THREAD; place < OUTPUTS * GROUP_SINKS; place += THREADS)
        accumulated[place] = 0.0;
#endif
    const int has_sinks = first_sink + team < step.ni;

#if FUSED
    double source[PLACES][SOURCE_ROWS];
#endif
#if AHEAD
    int slot_ahead = NOWHERE;
    if (part.first < part.last) {
        slot_ahead = step.is_dense ? part.slice + SLICES * part.first : slots[part.slice + SLICES * part.first];
        if (slot_ahead >= 0) {
            LOAD_SOURCES(slot_ahead);
        }
    }
#endif
    for (int k = part.first; k < part.last; ++k) {
        const int chunk = part.slice + SLICES * k;
#if AHEAD
        const int slot = slot_ahead;
#else
        const int slot = step.is_dense ? chunk : slots[chunk];
        if (slot < 0)
            continue;
#endif
        SYNC;
        if (slot >= 0) {
            UNROLL
            for (int turn = 0; turn < PLACES; ++turn) {
                const int place = turn * THREADS + THREAD;
                VECTOR rows[ROWS];
#if FUSED
#if !AHEAD
                load_source(octets, slot, place, source[turn]);
#endif
                predict(source[turn], chunk * CHUNK + place, step.moment, rows);
#else
                UNROLL
                for (int row = 0; row < ROWS; ++row)
                    rows[row] = predicted[((long)slot * ROWS + row) * CHUNK + place];
#endif
                UNROLL
                for (int row = 0; row < ROWS; ++row)
                    tile[row * TILE + TILE_PLACE(place)] = rows[row];
                tile_indices[place] = indices[(long)slot * CHUNK + place];
            }
        }
#if AHEAD
        // The next sources are on their way while pairs of these are summed.
        slot_ahead = NOWHERE;
        if (k + 1 < part.last) {
            slot_ahead = step.is_dense ? chunk + SLICES : slots[chunk + SLICES];
            if (slot_ahead >= 0) {
                LOAD_SOURCES(slot_ahead);
            }
        }
        if (slot < 0)
            continue;
#endif
        int guarded = 0;
        if (step.skip_own_index) {
            const int lowest = ranges[2 * slot], highest = ranges[2 * slot + 1];
            UNROLL
            for (int i = 0; i < SINKS; ++i)
                guarded |= sink_index[i] >= lowest && sink_index[i] <= highest;
        }
        guarded = ANY(guarded);
        SYNC;

#if TAKES_TURNS
        REAL totals[SINKS][OUTPUTS];
#endif
        if (has_sinks) {
#if LANES == 1 || SPREAD
            REAL totals[SINKS][OUTPUTS];
#endif
            int again;
            do {
                again = 0;
                REAL check[SINKS];
                REAL best_before[SINKS];
                uint best_strand_before[SINKS];
                UNROLL
                for (int i = 0; i < SINKS; ++i) {
                    best_before[i] = best[i];
                    best_strand_before[i] = best_strand[i];
                }
                for (int strand = lane; strand < STRANDS; strand += LANES) {
                    REAL sums[SINKS][OUTPUTS];
                    REAL distance2[SINKS];
                    UNROLL
                    for (int i = 0; i < SINKS; ++i) {
                        distance2[i] = best[i];
                        UNROLL
                        for (int output = 0; output < OUTPUTS; ++output)
                            sums[i][output] = 0;
                    }
                    const LOCAL_POINTER VECTOR *source = tile + strand * (STRAND + 1);
                    if (!guarded) {
                        UNROLL_BY(STEPS)
                        for (int place = 0; place < STRAND; ++place) {
                            VECTOR rows[ROWS];
                            UNROLL
                            for (int row = 0; row < ROWS; ++row)
                                rows[row] = source[row * TILE + place];
                            const Body body = body_of_rows(rows);
                            UNROLL
                            for (int i = 0; i < SINKS; ++i) {
                                add_pair(&body, &sink[i], 0, 1, sums[i], &distance2[i]);
                                KEEP_ADDRESS(i, place);
                            }
                        }
                    } else {
                        UNROLL_BY(1)
                        for (int place = 0; place < STRAND; ++place) {
                            VECTOR rows[ROWS];
                            UNROLL
                            for (int row = 0; row < ROWS; ++row)
                                rows[row] = source[row * TILE + place];
                            const Body body = body_of_rows(rows);
                            const int index = tile_indices[strand * STRAND + place];
                            UNROLL
                            for (int i = 0; i < SINKS; ++i) {
                                add_pair(&body, &sink[i], 1, !step.skip_own_index || index != sink_index[i], sums[i],
                                    &distance2[i]);
                                KEEP_ADDRESS(i, place);
                            }
                        }
                    }
                    UNROLL
                    for (int i = 0; i < SINKS; ++i) {
#if NEAREST && !SPREAD
                        if (distance2[i] < best[i]) {
                            best[i] = distance2[i];
                            best_strand[i] = (uint)(chunk * STRANDS + strand);
                        }
#endif
                        const REAL looked_at = sums[i][0] + sums[i][1];
                        check[i] = strand == lane ? looked_at : check[i] + looked_at;
                        UNROLL
                        for (int output = 0; output < OUTPUTS; ++output) {
#if LANES == 1 || SPREAD || TAKES_TURNS
                            totals[i][output] = strand == lane ? sums[i][output] : totals[i][output] + sums[i][output];
#else
                            strand_sums[(strand * OUTPUTS + output) * GROUP_SINKS + i * TEAMS + team] = sums[i][output];
#endif
                        }
                    }
                }
                // A pair at no distance makes the potential or the acceleration infinite or no number.
                UNROLL
                for (int i = 0; i < SINKS; ++i)
                    again |= !guarded && !(fabs(check[i]) < INFINITY_32);
                if (again) {
                    guarded = 1;
                    UNROLL
                    for (int i = 0; i < SINKS; ++i) {
                        best[i] = best_before[i];
                        best_strand[i] = best_strand_before[i];
                    }
                }
            } while (again);
#if SPREAD
            UNROLL
            for (int i = 0; i < SINKS; ++i) {
                UNROLL
                for (int output = 0; output < OUTPUTS; ++output)
                    lane_sums[i][output] += (double)totals[i][output];
            }
#elif LANES == 1
            UNROLL
            for (int i = 0; i < SINKS; ++i) {
                UNROLL
                for (int output = 0; output < OUTPUTS; ++output)
                    accumulated[output * GROUP_SINKS + i * TEAMS + team] += (double)totals[i][output];
            }
#endif
        }
#if TAKES_TURNS
        SYNC;
        if (has_sinks) {
            UNROLL
            for (int i = 0; i < SINKS; ++i) {
                UNROLL
                for (int output = 0; output < OUTPUTS; ++output)
                    strand_sums[(lane * OUTPUTS + output) * GROUP_SINKS + i * TEAMS + team] = totals[i][output];
            }
        }
#endif
#if LANES > 1 && !SPREAD
        SYNC;
        // As many turns for every thread: compilers that run threads one after another got other loops here wrong.
        UNROLL
        for (int turn = 0; turn < (OUTPUTS * GROUP_SINKS + THREADS - 1) / THREADS; ++turn) {
            const int place = turn * THREADS + THREAD;
            if (place < OUTPUTS * GROUP_SINKS) {
                REAL total = strand_sums[place];
                UNROLL
                for (int strand = 1; strand < STRANDS; ++strand)
                    total += strand_sums[strand * OUTPUTS * GROUP_SINKS + place];
                accumulated[place] += (double)total;
            }
        }
#endif
    }
    LET_NEXT_KERNEL_START;

#if SPREAD
    SYNC;
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        UNROLL
        for (int output = 0; output < OUTPUTS; ++output)
            strand_sums[(lane * OUTPUTS + output) * GROUP_SINKS + i * TEAMS + team] = lane_sums[i][output];
    }
#endif
    SYNC;
    for (int place = THREAD; place < OUTPUTS * GROUP_SINKS; place += THREADS) {
        const int output = place / GROUP_SINKS, number = first_sink + place % GROUP_SINKS;
#if SPREAD
        double sum = strand_sums[place];
        UNROLL
        for (int strand = 1; strand < STRANDS; ++strand)
            sum += strand_sums[strand * OUTPUTS * GROUP_SINKS + place];
#else
        const double sum = accumulated[place];
#endif
        if (number < step.ni)
            parts[((long)part_number * OUTPUTS + output) * step.stride + number] = sum;
    }
#if NEAREST
#if LANES > 1
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        lane_distances[lane * GROUP_SINKS + i * TEAMS + team] = best[i];
        lane_strands[lane * GROUP_SINKS + i * TEAMS + team] = best_strand[i];
    }
    SYNC;
    for (int place = THREAD; place < GROUP_SINKS; place += THREADS) {
        const int number = first_sink + place;
        REAL distance2 = lane_distances[place];
        uint strand = lane_strands[place];
        UNROLL
        for (int other = 1; other < LANES; ++other) {
            const REAL candidate = lane_distances[other * GROUP_SINKS + place];
            const uint candidate_strand = lane_strands[other * GROUP_SINKS + place];
            if (candidate < distance2 || (candidate == distance2 && candidate_strand < strand)) {
                distance2 = candidate;
                strand = candidate_strand;
            }
        }
        if (number < step.ni) {
            part_distances[(long)part_number * step.stride + number] = distance2;
            part_strands[(long)part_number * step.stride + number] = strand;
        }
    }
#else
    UNROLL
    for (int i = 0; i < SINKS; ++i) {
        const int number = first_sink + i * TEAMS + team;
        if (number < step.ni) {
            part_distances[(long)part_number * step.stride + number] = best[i];
            part_strands[(long)part_number * step.stride + number] = best_strand[i];
        }
    }
#endif
#endif

#if ENDS
    LOCAL uint ticket;
    SYNC;
    if (THREAD == 0) {
        FENCE;
        ticket = ATOMIC_ADD(tickets, 1u);
        FENCE;
    }
    SYNC;
    if (ticket == (uint)(GROUPS - 1)) {
        for (int first = 0; first < step.ni; first += END_SINKS)
            add_parts(&step, first, THREADS, octets, indices, slots, predicted, sinks, parts, part_distances,
                part_strands, results, &shared.end);
        SYNC;
        if (THREAD == 0) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
#endif
}

#undef FORCE_NAME
#undef LANES
#undef SINKS
#undef STRANDS
#undef FUSED
#undef ENDS
#undef RESIDENT
#undef STEPS
#undef STRAND
#undef TEAMS
#undef PLACES
#undef LOAD_SOURCES
#undef AHEAD
#undef THREADS
#undef GROUP_SINKS
#undef TILE
#undef TILE_PLACE
#undef SPREAD
#undef TAKES_TURNS
#undef KEEP_ADDRESS
