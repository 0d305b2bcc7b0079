// The end of a block: partial sums are added to slices, slices to the sums of a sink, and the
// nearest source is named.

typedef struct {
    double sums[SLICES][N_OUTPUTS][END_SINKS];
#if NEAREST
    double distances[SLICES][END_SINKS];
    uint accumulators[SLICES][END_SINKS];
    int places[SLICES][END_SINKS];
#endif
} End;

// Columns of the partial sums of a sink: its sums, and its nearest source. A thread adds two; the
// nearest source is the second of a pair, whose first is a sum if there is one left.
#define COLUMN_PAIRS ((N_OUTPUTS + NEAREST + 1) / 2)
// Segments that are on their way at a time.
#define COLUMNS_AT_ONCE 8

FUNCTION void add_partial_sums(const Step *step, int first_sink, int threads, GLOBAL const double *octets,
    GLOBAL const int *indices, GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const double *sinks,
    GLOBAL const double *partial_sums, GLOBAL const double *partial_distances, GLOBAL const uint *partial_accumulators,
    GLOBAL double *results, LOCAL_POINTER End *end)
{
    const int here = step->ni - first_sink < END_SINKS ? step->ni - first_sink : END_SINKS;
    SYNC;
    for (int item = THREAD; item < step->slices * COLUMN_PAIRS * here; item += threads) {
        const int slice = item / (COLUMN_PAIRS * here), output = item / here % COLUMN_PAIRS * 2, sink = item % here;
        const int number = first_sink + sink, has_first = output < N_OUTPUTS, has_second = output + 1 < N_OUTPUTS;
        double first_sum = 0.0, second_sum = 0.0;
#if NEAREST
        double distance2 = INFINITY_32;
        long nearest = 0;
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
                    nearest = (long)slice * step->segments + piece + turn;
                }
#endif
            }
        }
        if (has_first)
            end->sums[slice][output][sink] = first_sum;
        if (has_second)
            end->sums[slice][output + 1][sink] = second_sum;
#if NEAREST
        if (!has_second) {
            end->distances[slice][sink] = distance2;
            end->accumulators[slice][sink] = partial_accumulators[nearest * step->stride + number];
            end->places[slice][sink] = CHUNK;
        }
#endif
    }
    SYNC;

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
                sums[slice_group] += slice_group < slice_groups && slice < step->slices ? end->sums[slice][output][sink] : 0.0;
            }
        }
        UNROLL
        for (int apart = SLICE_GROUPS / 2; apart > 0; apart /= 2) {
            UNROLL
            for (int slice_group = 0; slice_group < apart; ++slice_group)
                sums[slice_group] += apart < slice_groups ? sums[slice_group + apart] : 0.0;
        }
        results[(long)(first_sink + sink) * N_OUTPUTS + output] = sums[0] * unit_of_sum(step, output);
    }
#if NEAREST
    for (int sink = THREAD; sink < here; sink += threads) {
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
                const double candidate = end->distances[there ? slice : 0][sink];
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
        const uint accumulator = end->accumulators[nearest[0]][sink];
        end->distances[0][sink] = distances[0];
        end->accumulators[0][sink] = accumulator;
        // A short accumulator is its source's address.
        if (step->accumulators == SHORT && distances[0] < FARTHEST2)
            end->places[0][sink] = (int)(accumulator % CHUNK);
    }
    SYNC;
    const int is_address = step->accumulators == SHORT, length = is_address ? 0 : CHUNK / step->accumulators;
    const int accumulators = is_address ? CHUNK : step->accumulators;
    for (int item = THREAD; item < here * length; item += threads) {
        const int sink = item / length, number = first_sink + sink;
        const uint accumulator = end->accumulators[0][sink];
        const int chunk = (int)(accumulator / accumulators), place = (int)(accumulator % accumulators) * length + item % length;
        const int slot = step->is_dense ? chunk : slots[chunk];
        if (!(end->distances[0][sink] < FARTHEST2))
            continue;
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
        if (is_other && (double)squared(r) == end->distances[0][sink])
            ATOMIC_MIN(&end->places[0][sink], place);
    }
    SYNC;
    for (int sink = THREAD; sink < here; sink += threads) {
        const int to = first_sink + sink;
        const int chunk = (int)(end->accumulators[0][sink] / accumulators), place = end->places[0][sink];
        const int there = place < CHUNK;
        if (there)
            put_nearest(results, step, to, end->distances[0][sink] * step->distance2_unit,
                indices[(long)(step->is_dense ? chunk : slots[chunk]) * CHUNK + place]);
        else
            put_nearest(results, step, to, (double)INFINITY_32, 0);
    }
#endif
}

// Threads that end some sinks: one for each item, or one for several where a block has not so many.
#define END_ITEMS (SLICES * COLUMN_PAIRS * END_SINKS)
#define END_THREADS (END_ITEMS / ((END_ITEMS + MOST_THREADS - 1) / MOST_THREADS))

KERNEL(END_THREADS, END_RESIDENT)
end_block(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const double *sinks, GLOBAL const double *partial_sums,
    GLOBAL const double *partial_distances, GLOBAL const uint *partial_accumulators, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    LOCAL End end;
    sinks += step.sinks_from;
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
    add_partial_sums(&step, BLOCK * END_SINKS, END_THREADS, octets, indices, slots, predicted, sinks, partial_sums, partial_distances,
        partial_accumulators, results, &end);
    SYNC;
    if (THREAD == 0) {
        // One thread's fence holds for what its block wrote before; a fence of every thread takes
        // longer than the block.
        FENCE_HOST;
        if (ATOMIC_ADD(tickets, 1u) == (uint)(BLOCKS - 1)) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
}
