// The sums of interaction lists. A thread block has some sinks of one group, an item: `lanes`
// threads share a sink, and a thread has LIST_SINKS sinks. The sources of the group come in tiles.
//
// The order of addition depends on the number of sinks and sources of the group alone: source p of
// a tile is in strand p % strands; a lane adds its strands one after another, each of which begins
// at zero, then lanes are added, all in the numbers of a pair; then, in 64 bits, the tiles of a
// segment, and the segments of a list. In single precision there are LIST_STRANDS, so that sums do
// not run over many sources; in doubles a lane has one.

#define ITEM_SINKS (1 << ITEM_SINK_BITS)
#define LIST_PLACES (LIST_TILE / LIST_THREADS)
// Where the tile has the sources of a strand: STRAND_STEP places apart. In doubles those of a strand
// follow one another, and a place is free behind them, so that lanes read from different banks.
#if IS_DOUBLE
#define STRANDS lanes
#define STRAND_STEP 1
#define PLACE_IN_TILE(strand, turn) ((strand) * (LIST_TILE / STRANDS + 1) + (turn))
#define LIST_ROW_PLACES (LIST_TILE + LIST_STRANDS)
#else
#define STRANDS LIST_STRANDS
#define STRAND_STEP LIST_STRANDS
#define PLACE_IN_TILE(strand, turn) ((turn) * STRANDS + (strand))
#define LIST_ROW_PLACES LIST_TILE
#endif
// Numbers of a sink among partial sums: its sums, and the distance and the index of the nearest
// source.
#define PARTIAL_NUMBERS (N_OUTPUTS + 2 * NEAREST)

// Puts the rows of a source into the tile.
#define PUT_SOURCE(at) \
    UNROLL \
    for (int row = 0; row < ROWS; ++row) \
        shared.tile[row * LIST_ROW_PLACES + (at)] = rows[row];

// Takes a source away, in its rows.
#if IS_DOUBLE
#define FORGET_SOURCE (rows[0] = DOUBLE2(FAR_FROM_SINKS, FAR_FROM_SINKS), rows[1] = DOUBLE2(FAR_FROM_SINKS, 0.0))
#else
#define FORGET_SOURCE \
    (rows[0] = FLOAT4((float)FAR_FROM_SINKS, (float)FAR_FROM_SINKS, (float)FAR_FROM_SINKS, 0.0f))
#endif

// Adds a source of a strand to the sums of all sinks of a thread.
#define ADD_LISTED_SOURCE(guarded, is_other) \
    VECTOR rows[ROWS]; \
    UNROLL \
    for (int row = 0; row < ROWS; ++row) \
        rows[row] = source[row * LIST_ROW_PLACES + turn * STRAND_STEP]; \
    const Body body = body_of_rows(rows); \
    UNROLL \
    for (int i = 0; i < LIST_SINKS; ++i) { \
        const int is_nearest = add_pair(&body, &sink[i], guarded, is_other, 1, sums[i], &best[i]); \
        best_place[i] = is_nearest ? first + turn * STRANDS + strand : best_place[i]; \
    }

// Sums go to `results`, or to arrays of the caller if it `gives` them there. Then it finds the first
// sink with a sum that is not finite: LARGEST_INDEX less its number; 0 where all are.
KERNEL(LIST_THREADS, LIST_RESIDENT)
sum_lists(const Step step, const Columns columns, const Columns sink_columns, GLOBAL const ListItem *items,
    GLOBAL const int *units, GLOBAL const int *addresses, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const char *own, GLOBAL const char *sinks, GLOBAL double *partial_sums,
    GLOBAL double *results, const int gives, const ForceColumns forces, GLOBAL char *origin, GLOBAL int *found)
{
    LOCAL union {
        VECTOR tile[ROWS * LIST_ROW_PLACES];
        REAL lane_totals[N_OUTPUTS * ITEM_SINKS];
#if NEAREST
        struct {
            REAL distances[ITEM_SINKS];
            int places[ITEM_SINKS];
        } nearest;
#endif
    } shared;
    LOCAL int tile_indices[LIST_ROW_PLACES];
    LOCAL double accumulated[N_OUTPUTS * ITEM_SINKS];
    LOCAL int lowest, highest, guards[2];

    results += step.results_from;
    AFTER_EARLIER_KERNELS;
    const ListItem item = items[BLOCK];
    const int is_own = step.form == LISTED_OWN, lanes = 1 << item.lane_bits;
    const int lane = THREAD & (lanes - 1), team = THREAD >> item.lane_bits, teams = LIST_THREADS >> item.lane_bits;
    const int sink_bits = ITEM_SINK_BITS - item.lane_bits, block_sinks = 1 << sink_bits;
    const int has_sinks = team < item.sinks;
    Step own_step = step;
    if (is_own)
        set_units(&own_step, units + 3 * item.group);

    Sink sink[LIST_SINKS];
    int sink_index[LIST_SINKS];
    REAL best[LIST_SINKS];
    int best_place[LIST_SINKS];
    if (THREAD == 0)
        lowest = LARGEST_INDEX, highest = -LARGEST_INDEX - 1, guards[0] = 0;
    SYNC;
    UNROLL
    for (int i = 0; i < LIST_SINKS; ++i) {
        const int wanted = i * teams + team;
        const int number = item.first_sink + (wanted < item.sinks ? wanted : item.sinks - 1);
        double vectors[N_DERIVATIVES][3];
        const double softening2 = load_vectors(&own_step, &columns, own, &sink_columns, sinks, number, vectors);
        sink[i] = sink_of(vectors, softening2, &own_step);
        sink_index[i] = step.is_batch ? index_of(own, &columns, number) : index_of(sinks, &sink_columns, number);
        best[i] = NO_DISTANCE2;
        best_place[i] = 0;
        // Bodies of a batch that were given no indices have their numbers.
        if (step.skip_own_index && !(step.is_batch && columns.indices.stride == 0)) {
            ATOMIC_MIN(&lowest, sink_index[i]);
            ATOMIC_MAX(&highest, sink_index[i]);
        } else if (THREAD == 0 && i == 0) {
            lowest = item.first_sink;
            highest = item.first_sink + item.sinks - 1;
        }
    }
    SYNC;
    const int lowest_index = lowest, highest_index = highest;
    int parity = 0;

    for (int segment = 0; segment == 0 || segment < item.sources; segment += LIST_SEGMENT) {
        const int segment_end = item.sources - segment < LIST_SEGMENT ? item.sources : segment + LIST_SEGMENT;
        SYNC;
        UNROLL
        for (int turn = 0; turn < N_OUTPUTS * LIST_SINKS; ++turn)
            accumulated[turn * LIST_THREADS + THREAD] = 0.0;
        for (int first = segment; first < segment_end; first += LIST_TILE) {
            const int count = segment_end - first < LIST_TILE ? segment_end - first : LIST_TILE;
            const int steps = (count + STRANDS - 1) / STRANDS;
            SYNC;
            int is_guarded = 0;
            if (is_own) {
                UNROLL_BY(1)
                for (int place = THREAD; place < STRANDS * steps; place += LIST_THREADS) {
                    const long source = item.first_source + first + (place < count ? place : count - 1);
                    double numbers[SOURCE_ROWS];
                    load_own(own, &columns, source, numbers);
                    VECTOR rows[ROWS];
                    PredictionTarget target = own_step.target;
                    target.nj = place < count;
                    predict(numbers, 0, target, rows);
                    const int at = PLACE_IN_TILE(place % STRANDS, place / STRANDS);
                    PUT_SOURCE(at);
                    if (step.skip_own_index) {
                        const int index = index_of(own, &columns, source);
                        tile_indices[at] = index;
                        is_guarded |= index >= lowest_index && index <= highest_index;
                    }
                }
            } else {
                int addresses_of[LIST_PLACES];
                UNROLL
                for (int turn = 0; turn < LIST_PLACES; ++turn) {
                    const int place = turn * LIST_THREADS + THREAD;
                    const long at = item.first_source + first + (place < count ? place : count - 1);
                    addresses_of[turn] = step.form == LISTED_ADDRESSES ? addresses[at] : (int)at;
                }
                UNROLL
                for (int turn = 0; turn < LIST_PLACES; ++turn) {
                    const int place = turn * LIST_THREADS + THREAD;
                    const int chunk = addresses_of[turn] / CHUNK;
                    const int slot = step.is_dense ? chunk : slots[chunk], there = place < count && slot >= 0;
                    const long from = slot >= 0 ? slot : 0;
                    VECTOR rows[ROWS];
                    UNROLL
                    for (int row = 0; row < ROWS; ++row)
                        rows[row] = predicted[(from * ROWS + row) * CHUNK + addresses_of[turn] % CHUNK];
                    if (!there)
                        FORGET_SOURCE;
                    const int at = PLACE_IN_TILE(place % STRANDS, place / STRANDS);
                    PUT_SOURCE(at);
                    if (step.skip_own_index) {
                        const int index = indices[from * CHUNK + addresses_of[turn] % CHUNK];
                        tile_indices[at] = index;
                        is_guarded |= there && index >= lowest_index && index <= highest_index;
                    }
                }
            }
            if (is_guarded)
                guards[parity] = 1;
            SYNC;
            int guarded = guards[parity];
            parity = 1 - parity;
            if (THREAD == 0)
                guards[parity] = 0;

            REAL totals[LIST_SINKS][N_OUTPUTS];
            if (has_sinks) {
                int again;
                do {
                    again = 0;
                    REAL check[LIST_SINKS];
                    REAL best_before[LIST_SINKS];
                    int best_place_before[LIST_SINKS];
                    UNROLL
                    for (int i = 0; i < LIST_SINKS; ++i) {
                        best_before[i] = best[i];
                        best_place_before[i] = best_place[i];
                    }
                    for (int strand = lane; strand < STRANDS; strand += lanes) {
                        REAL sums[LIST_SINKS][N_OUTPUTS];
                        UNROLL
                        for (int i = 0; i < LIST_SINKS; ++i) {
                            UNROLL
                            for (int output = 0; output < N_OUTPUTS; ++output)
                                sums[i][output] = 0;
                        }
                        const int from = PLACE_IN_TILE(strand, 0);
                        const LOCAL_POINTER VECTOR *source = shared.tile + from;
                        if (!guarded) {
                            UNROLL_BY(LIST_UNROLLED)
                            for (int turn = 0; turn < steps; ++turn) {
                                ADD_LISTED_SOURCE(0, 1);
                            }
                        } else {
                            UNROLL_BY(2)
                            for (int turn = 0; turn < steps; ++turn) {
                                const int index = tile_indices[from + turn * STRAND_STEP];
                                ADD_LISTED_SOURCE(1, !step.skip_own_index || index != sink_index[i]);
                            }
                        }
                        UNROLL
                        for (int i = 0; i < LIST_SINKS; ++i) {
                            const REAL looked_at = sums[i][0] + sums[i][1];
                            check[i] = strand == lane ? looked_at : check[i] + looked_at;
                            UNROLL
                            for (int output = 0; output < N_OUTPUTS; ++output)
                                totals[i][output] = strand == lane ? sums[i][output] : totals[i][output] + sums[i][output];
                        }
                    }
                    // A pair at no distance makes the potential or the acceleration infinite or no
                    // number.
                    UNROLL
                    for (int i = 0; i < LIST_SINKS; ++i)
                        again |= !guarded && !(fabs(check[i]) < INFINITY_32);
                    if (again) {
                        guarded = 1;
                        UNROLL
                        for (int i = 0; i < LIST_SINKS; ++i) {
                            best[i] = best_before[i];
                            best_place[i] = best_place_before[i];
                        }
                    }
                } while (again);
                if (lanes == 1) {
                    UNROLL
                    for (int i = 0; i < LIST_SINKS; ++i) {
                        UNROLL
                        for (int output = 0; output < N_OUTPUTS; ++output)
                            accumulated[output * ITEM_SINKS + i * LIST_THREADS + THREAD] += (double)totals[i][output];
                    }
                }
            }
            if (!IN_STEP || lanes > 1) {
                SYNC;
                if (has_sinks && lanes > 1) {
                    UNROLL
                    for (int i = 0; i < LIST_SINKS; ++i) {
                        UNROLL
                        for (int output = 0; output < N_OUTPUTS; ++output)
                            shared.lane_totals[(lane * N_OUTPUTS + output) * block_sinks + i * teams + team] = totals[i][output];
                    }
                }
                SYNC;
                // As many turns for every thread, as in direct sums.
                UNROLL_BY(1)
                for (int turn = 0; lanes > 1 && turn * LIST_THREADS < N_OUTPUTS * block_sinks; ++turn) {
                    const int place = turn * LIST_THREADS + THREAD;
                    if (place < N_OUTPUTS * block_sinks) {
                        REAL total = shared.lane_totals[place];
                        for (int other = 1; other < lanes; ++other)
                            total += shared.lane_totals[other * N_OUTPUTS * block_sinks + place];
                        accumulated[place] += (double)total;
                    }
                }
            }
        }
        SYNC;
        // A thread has all sums of a sink, whose places it then finds once.
        UNROLL_BY(1)
        for (int number = THREAD; number < item.sinks; number += LIST_THREADS) {
            double sums[N_OUTPUTS];
            UNROLL
            for (int output = 0; output < N_OUTPUTS; ++output)
                sums[output] = accumulated[(output << sink_bits) + number] * unit_of_sum(&own_step, output);
            GLOBAL double *row = item.partial >= 0 ? partial_sums + ((long)item.partial + number) * PARTIAL_NUMBERS
                                                   : results + ((long)(item.first_sink - step.first_sink) + number) * N_OUTPUTS;
            if (segment > 0) {
                UNROLL
                for (int output = 0; output < N_OUTPUTS; ++output)
                    sums[output] = row[output] + sums[output];
            }
            if (gives && segment + LIST_SEGMENT >= item.sources) {
                int is_finite = 1;
                UNROLL
                for (int output = 0; output < N_OUTPUTS; ++output) {
                    give_force(&forces, origin, item.first_sink + number, output, sums[output]);
                    is_finite &= exponent_of(sums[output]) < INFINITE_EXPONENT;
                }
                if (!is_finite)
                    ATOMIC_MAX(found, LARGEST_INDEX - item.first_sink - number);
            } else {
                UNROLL
                for (int output = 0; output < N_OUTPUTS; ++output)
                    row[output] = sums[output];
            }
        }
    }

#if NEAREST
    SYNC;
    UNROLL
    for (int i = 0; i < LIST_SINKS; ++i) {
        shared.nearest.distances[lane * block_sinks + i * teams + team] = best[i];
        shared.nearest.places[lane * block_sinks + i * teams + team] = best_place[i];
    }
    SYNC;
    UNROLL
    for (int turn = 0; turn < LIST_SINKS; ++turn) {
        const int number = turn * LIST_THREADS + THREAD;
        if (number < block_sinks && number < item.sinks) {
            REAL distance2 = shared.nearest.distances[number];
            int place = shared.nearest.places[number];
            for (int other = 1; other < lanes; ++other) {
                const REAL candidate = shared.nearest.distances[other * block_sinks + number];
                const int candidate_place = shared.nearest.places[other * block_sinks + number];
                if (candidate < distance2 || (candidate == distance2 && candidate_place < place)) {
                    distance2 = candidate;
                    place = candidate_place;
                }
            }
            const int is_there = distance2 < FARTHEST2;
            int index = 0;
            if (is_there) {
                const long at = item.first_source + place;
                const int source = step.form == LISTED_ADDRESSES ? addresses[at] : (int)at;
                const int chunk = source / CHUNK;
                index = is_own ? index_of(own, &columns, source)
                    : indices[(long)(step.is_dense ? chunk : slots[chunk]) * CHUNK + source % CHUNK];
            }
            const double distance = is_there ? distance2 * own_step.distance2_unit : (double)INFINITY_32;
            if (item.partial >= 0) {
                GLOBAL double *row = partial_sums + ((long)item.partial + number) * PARTIAL_NUMBERS + N_OUTPUTS;
                Word value;
                value.place.index = index;
                value.place.address = 0;
                row[0] = distance;
                row[1] = value.number;
            } else if (gives) {
                give_nearest(&forces, origin, item.first_sink + number, distance, index);
            } else {
                put_nearest(results, &step, item.first_sink - step.first_sink + number, distance, index);
            }
        }
    }
#endif
}

// Adds the segments of lists that several thread blocks have, one after another. A thread block has
// the sinks of one part.
KERNEL(LIST_THREADS, 1)
add_segments(const Step step, GLOBAL const ListPart *parts, GLOBAL const double *partial_sums, GLOBAL double *results)
{
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
    const ListPart part = parts[BLOCK];
    for (int item = THREAD; item < part.sinks * N_OUTPUTS; item += LIST_THREADS) {
        const int sink = item / N_OUTPUTS, output = item % N_OUTPUTS;
        double sum = 0.0;
        for (int segment = 0; segment < part.segments; ++segment) {
            const double term = partial_sums[((long)part.partial + (long)segment * part.sinks + sink) * PARTIAL_NUMBERS + output];
            sum = segment == 0 ? term : sum + term;
        }
        results[((long)(part.first_sink - step.first_sink) + sink) * N_OUTPUTS + output] = sum;
    }
#if NEAREST
    for (int sink = THREAD; sink < part.sinks; sink += LIST_THREADS) {
        double distance2 = INFINITY_32;
        Word nearest;
        nearest.place.index = 0;
        nearest.place.address = 0;
        for (int segment = 0; segment < part.segments; ++segment) {
            GLOBAL const double *row =
                partial_sums + ((long)part.partial + (long)segment * part.sinks + sink) * PARTIAL_NUMBERS + N_OUTPUTS;
            if (row[0] < distance2) {
                distance2 = row[0];
                nearest.number = row[1];
            }
        }
        put_nearest(results, &step, part.first_sink - step.first_sink + sink, distance2, nearest.place.index);
    }
#endif
}
