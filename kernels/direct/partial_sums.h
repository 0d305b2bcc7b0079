// The end of a block: partial sums are added to slices, slices to the sums of a sink, and the
// nearest source is named.

#ifndef END_ROW
#define END_ROW END_SINKS
#endif
// The most sinks that a thread block ends at a time: more than END_SINKS where few slices have sums.
#ifndef MOST_END_SINKS
#define MOST_END_SINKS (SLICES * END_SINKS)
#endif
// Sums and distances have a row of sinks for each slice that has some.
typedef struct {
    double sums[SLICES * N_OUTPUTS * END_ROW];
#if NEAREST
    double distances[SLICES * END_ROW];
    // The segment that has the nearest source.
    int segments[SLICES * END_ROW];
    // Its accumulator, and its place in the chunk.
    uint accumulators[MOST_END_SINKS];
    int places[MOST_END_SINKS];
    // Its index.
    int indices[MOST_END_SINKS];
#endif
} End;

// The place of a sum of a sink in a slice, whose rows are this long.
#define PLACE_OF_SUM(row, slice, output, sink) (((slice) * N_OUTPUTS + (output)) * (row) + (sink))

// Columns of the partial sums of a sink: its sums, and its nearest source. A thread adds two; the
// nearest source is the second of a pair, whose first is a sum if there is one left.
#define COLUMN_PAIRS ((N_OUTPUTS + NEAREST + 1) / 2)
// Segments that are on their way at a time.
#define COLUMNS_AT_ONCE 8

// The number of sinks that a thread block ends at a time, from one on.
FUNCTION int sinks_to_end(const Step *step, int first_sink, int most)
{
    return step->ni - first_sink < most ? step->ni - first_sink : most;
}

// Adds the partial sums of each slice of `here` sinks from the first one on, by all threads, into rows
// of a length that all slices have.
FUNCTION void add_segments(const Step *step, int first_sink, int here, int row, int threads, GLOBAL const double *partial_sums,
    GLOBAL const double *partial_distances, LOCAL_POINTER End *end)
{
    SYNC;
    for (int item = THREAD; item < step->slices * COLUMN_PAIRS * here; item += threads) {
        const int slice = item / (COLUMN_PAIRS * here), output = item / here % COLUMN_PAIRS * 2, sink = item % here;
        const int number = first_sink + sink, has_first = output < N_OUTPUTS, has_second = output + 1 < N_OUTPUTS;
        double first_sum = 0.0, second_sum = 0.0;
#if NEAREST
        double distance2 = INFINITY_32;
        int nearest = 0;
#endif
        for (int piece = 0; piece < step->segments; piece += COLUMNS_AT_ONCE) {
            double first_column[COLUMNS_AT_ONCE], second_column[COLUMNS_AT_ONCE];
            UNROLL
            for (int turn = 0; turn < COLUMNS_AT_ONCE; ++turn) {
                const long segment = (long)slice * step->segments + piece + turn;
                const int there = piece + turn < step->segments;
                GLOBAL const double *column = partial_sums + (segment * N_OUTPUTS + output) * step->stride + number;
                first_column[turn] = there && has_first ? *column : 0.0;
                if (has_second)
                    column += step->stride;
#if NEAREST
                else
                    column = partial_distances + segment * step->stride + number;
#endif
                second_column[turn] = there ? *column : has_second ? 0.0 : (double)INFINITY_32;
            }
            // Added in their order; those that are not there change nothing.
            UNROLL
            for (int turn = 0; turn < COLUMNS_AT_ONCE; ++turn) {
                first_sum += first_column[turn];
                second_sum += second_column[turn];
#if NEAREST
                if (second_column[turn] < distance2) {
                    distance2 = second_column[turn];
                    nearest = slice * step->segments + piece + turn;
                }
#endif
            }
        }
        if (has_first)
            end->sums[PLACE_OF_SUM(row, slice, output, sink)] = first_sum;
        if (has_second)
            end->sums[PLACE_OF_SUM(row, slice, output + 1, sink)] = second_sum;
#if NEAREST
        if (!has_second) {
            end->distances[slice * row + sink] = distance2;
            end->segments[slice * row + sink] = nearest;
        }
#endif
    }
    SYNC;
}

// Adds the slices of `here` sinks, by all threads: in `end`, the first slice gets the sums of all, the
// distance of the nearest source, and its segment.
FUNCTION void add_slices(const Step *step, int here, int row, int threads, LOCAL_POINTER End *end)
{
    // Slices without chunks are left out. Launches have all slices, or every second, fourth or eighth.
    const int slice_groups = SLICE_GROUPS >> COUNT_BITS((uint)step->slice_step - 1);
    for (int item = THREAD; item < here * N_OUTPUTS; item += threads) {
        const int sink = item / N_OUTPUTS, output = item % N_OUTPUTS;
        double sums[SLICE_GROUPS];
        UNROLL
        for (int slice_group = 0; slice_group < SLICE_GROUPS; ++slice_group) {
            sums[slice_group] = 0.0;
            UNROLL
            for (int turn = 0; turn < SLICES_OF_GROUP; ++turn) {
                const int slice = slice_group + turn * slice_groups;
                sums[slice_group] += slice_group < slice_groups && slice < step->slices ? end->sums[PLACE_OF_SUM(row, slice, output, sink)] : 0.0;
            }
        }
        UNROLL
        for (int apart = SLICE_GROUPS / 2; apart > 0; apart /= 2) {
            UNROLL
            for (int slice_group = 0; slice_group < apart; ++slice_group)
                sums[slice_group] += apart < slice_groups ? sums[slice_group + apart] : 0.0;
        }
        end->sums[PLACE_OF_SUM(row, 0, output, sink)] = sums[0] * unit_of_sum(step, output);
    }
#if NEAREST
    // Other threads than those of the first sums.
    for (int sink = (THREAD + threads / 2) % threads; sink < here; sink += threads) {
        double distances[SLICE_GROUPS];
        int nearest[SLICE_GROUPS];
        // In the order of the sums, so that of sources at one distance any number of devices name
        // the same.
        UNROLL
        for (int slice_group = 0; slice_group < SLICE_GROUPS; ++slice_group) {
            distances[slice_group] = INFINITY_32;
            nearest[slice_group] = 0;
            UNROLL
            for (int turn = 0; turn < SLICES_OF_GROUP; ++turn) {
                const int slice = slice_group + turn * slice_groups, there = slice_group < slice_groups && slice < step->slices;
                const double candidate = end->distances[(there ? slice : 0) * row + sink];
                if (there && candidate < distances[slice_group]) {
                    distances[slice_group] = candidate;
                    nearest[slice_group] = slice;
                }
            }
        }
        UNROLL
        for (int apart = SLICE_GROUPS / 2; apart > 0; apart /= 2) {
            UNROLL
            for (int slice_group = 0; slice_group < apart; ++slice_group) {
                if (apart < slice_groups && distances[slice_group + apart] < distances[slice_group]) {
                    distances[slice_group] = distances[slice_group + apart];
                    nearest[slice_group] = nearest[slice_group + apart];
                }
            }
        }
        const int segment = end->segments[nearest[0] * row + sink];
        end->distances[sink] = distances[0];
        end->segments[sink] = segment;
    }
#endif
    SYNC;
}

#if NEAREST
// The sources among which the nearest one of a sink is: the accumulator, or in short ones the source.
FUNCTION int sources_of_accumulator(const Step *step)
{
    return step->accumulators == SHORT ? 1 : CHUNK / step->accumulators;
}

FUNCTION int chunk_of_nearest(const Step *step, uint accumulator)
{
    return (int)(accumulator / (uint)(step->accumulators == SHORT ? CHUNK : step->accumulators));
}

// Finds the accumulator that has the nearest source of a sink; a short one is its source's address.
FUNCTION void find_accumulator(const Step *step, int first_sink, int sink, GLOBAL const uint *partial_accumulators,
    LOCAL_POINTER End *end)
{
    const uint accumulator = partial_accumulators[(long)end->segments[sink] * step->stride + first_sink + sink];
    const int is_known = step->accumulators == SHORT && end->distances[sink] < FARTHEST2;
    end->accumulators[sink] = accumulator;
    end->places[sink] = is_known ? (int)(accumulator % CHUNK) : CHUNK;
}

// Looks whether a source of the accumulator is the nearest one of a sink; of several it is the first.
FUNCTION void look_for_nearest(const Step *step, int first_sink, int sink, int source_number, GLOBAL const double *octets,
    GLOBAL const int *indices, GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const double *sinks,
    LOCAL_POINTER End *end)
{
    if (step->accumulators == SHORT || !(end->distances[sink] < FARTHEST2))
        return;
    const uint accumulator = end->accumulators[sink];
    const int number = first_sink + sink, chunk = chunk_of_nearest(step, accumulator);
    const int place = (int)(accumulator % (uint)step->accumulators) * sources_of_accumulator(step) + source_number;
    const int slot = slot_of(step, slots, chunk);
    VECTOR rows[ROWS];
    if (step->is_predicted) {
        UNROLL
        for (int row = 0; row < ROWS; ++row)
            rows[row] = predicted[((long)slot * ROWS + row) * CHUNK + place];
    } else {
        double source[SOURCE_ROWS];
        load_source(octets, slot, place, source);
        predict(source, chunk * CHUNK + place, step->target, rows);
    }
    const Body source = body_of_rows(rows);
    Sink body;
    load_position(sinks, number, step, &body);
    REAL r[3];
    position_difference(&source, &body, r);
    const int own_index = index_of_sink(sinks, number);
    const int is_other = !step->skip_own_index || indices[(long)slot * CHUNK + place] != own_index;
    if (is_other && (double)squared(r) == end->distances[sink])
        ATOMIC_MIN(&end->places[sink], place);
}

// Writes the nearest source of a sink.
FUNCTION void name_nearest(const Step *step, int first_sink, int sink, GLOBAL const int *indices, GLOBAL const int *slots,
    LOCAL_POINTER End *end, GLOBAL double *results)
{
    const int chunk = chunk_of_nearest(step, end->accumulators[sink]), place = end->places[sink], is_there = place < CHUNK;
    const int index = is_there ? indices[(long)slot_of(step, slots, chunk) * CHUNK + place] : 0;
    const double distance2 = is_there ? end->distances[sink] * step->distance2_unit : (double)INFINITY_32;
    end->indices[sink] = index;
    put_nearest(results, step, first_sink + sink, distance2, index);
}
#endif

// Ends `here` sinks from the first one on, by all threads, with rows of sums of this length.
FUNCTION void add_partial_sums(const Step *step, int first_sink, int here, int row, int threads, GLOBAL const double *octets,
    GLOBAL const int *indices, GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const double *sinks,
    GLOBAL const double *partial_sums, GLOBAL const double *partial_distances, GLOBAL const uint *partial_accumulators,
    GLOBAL double *results, LOCAL_POINTER End *end)
{
    add_segments(step, first_sink, here, row, threads, partial_sums, partial_distances, end);
    add_slices(step, here, row, threads, end);
    for (int item = THREAD; item < here * N_OUTPUTS; item += threads) {
        const int sink = item / N_OUTPUTS, output = item % N_OUTPUTS;
        results[(long)(first_sink + sink) * N_OUTPUTS + output] = end->sums[PLACE_OF_SUM(row, 0, output, sink)];
    }
#if NEAREST
    for (int sink = THREAD; sink < here; sink += threads)
        find_accumulator(step, first_sink, sink, partial_accumulators, end);
    SYNC;
    const int length = sources_of_accumulator(step);
    for (int item = THREAD; item < here * length; item += threads)
        look_for_nearest(step, first_sink, item / length, item % length, octets, indices, slots, predicted, sinks, end);
    SYNC;
    for (int sink = THREAD; sink < here; sink += threads)
        name_nearest(step, first_sink, sink, indices, slots, end, results);
#endif
}
