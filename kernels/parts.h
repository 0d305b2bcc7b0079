// The end of a block: parts are added to slices, slices to the sums of a sink, and the nearest source is named.

// Sinks that a group of threads ends at a time.
#define END_SINKS 4

typedef struct {
    double sums[SLICES][OUTPUTS][END_SINKS];
#if NEAREST
    double distances[SLICES][END_SINKS];
    uint strands[SLICES][END_SINKS];
    int places[SLICES][END_SINKS];
#endif
} End;

// Columns of the parts of a sink: its sums, and its nearest source. A thread adds two; the nearest source is the second
// of a pair, whose first is a sum if there is one left.
#define COLUMN_PAIRS ((OUTPUTS + NEAREST + 1) / 2)
// Parts that are on their way at a time.
#define BATCH 8

FUNCTION void add_parts(const Step *step, int first_sink, int threads, GLOBAL const double *octets,
    GLOBAL const int *indices, GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks,
    GLOBAL const double *parts, GLOBAL const double *part_distances, GLOBAL const uint *part_strands,
    GLOBAL double *results, LOCAL_POINTER End *end)
{
    const int here = step->ni - first_sink < END_SINKS ? step->ni - first_sink : END_SINKS;
    SYNC;
    for (int item = THREAD; item < step->slices * COLUMN_PAIRS * here; item += threads) {
        const int slice = item / (COLUMN_PAIRS * here), output = item / here % COLUMN_PAIRS * 2, sink = item % here;
        const int number = first_sink + sink, has_first = output < OUTPUTS, has_second = output + 1 < OUTPUTS;
        double first_sum = 0.0, second_sum = 0.0;
#if NEAREST
        double distance2 = INFINITY_32;
        long nearest = 0;
#endif
        for (int piece = 0; piece < step->parts; piece += BATCH) {
            double first_column[BATCH], second_column[BATCH];
            UNROLL
            for (int turn = 0; turn < BATCH; ++turn) {
                const long part = (long)slice * step->parts + piece + turn;
                const int there = piece + turn < step->parts;
                GLOBAL const double *column = parts + (part * OUTPUTS + output) * step->stride + number;
                first_column[turn] = there && has_first ? *column : 0.0;
                if (has_second)
                    column += step->stride;
#if NEAREST
                else
                    column = part_distances + part * step->stride + number;
#endif
                second_column[turn] = there ? *column : has_second ? 0.0 : (double)INFINITY_32;
            }
            // Added in their order; those that are not there change nothing.
            UNROLL
            for (int turn = 0; turn < BATCH; ++turn) {
                first_sum += first_column[turn];
                second_sum += second_column[turn];
#if NEAREST
                if (second_column[turn] < distance2) {
                    distance2 = second_column[turn];
                    nearest = (long)slice * step->parts + piece + turn;
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
            end->strands[slice][sink] = part_strands[nearest * step->stride + number];
            end->places[slice][sink] = CHUNK;
        }
#endif
    }
    SYNC;

    const int sheaves = step->slices / SLICES_OF_SHEAF;
    for (int item = THREAD; item < here * OUTPUTS; item += threads) {
        const int sink = item / OUTPUTS, output = item % OUTPUTS;
        double sums[SHEAVES];
        UNROLL
        for (int sheaf = 0; sheaf < SHEAVES; ++sheaf) {
            sums[sheaf] = 0.0;
            UNROLL
            for (int turn = 0; turn < SLICES_OF_SHEAF; ++turn)
                sums[sheaf] += sheaf < sheaves ? end->sums[sheaf + turn * sheaves][output][sink] : 0.0;
        }
        UNROLL
        for (int apart = SHEAVES / 2; apart > 0; apart /= 2) {
            UNROLL
            for (int sheaf = 0; sheaf < apart; ++sheaf)
                sums[sheaf] += apart < sheaves ? sums[sheaf + apart] : 0.0;
        }
        results[(long)(first_sink + sink) * OUTPUTS + output] = sums[0] * unit_of_sum(step, output);
    }
#if NEAREST
    for (int sink = THREAD; sink < here; sink += threads) {
        double distances[SHEAVES];
        int nearest[SHEAVES];
        // In the order of the sums, so that of sources at one distance any number of devices name the same.
        UNROLL
        for (int sheaf = 0; sheaf < SHEAVES; ++sheaf) {
            distances[sheaf] = INFINITY_32;
            nearest[sheaf] = 0;
            UNROLL
            for (int turn = 0; turn < SLICES_OF_SHEAF; ++turn) {
                const int slice = sheaf < sheaves ? sheaf + turn * sheaves : 0;
                const double candidate = end->distances[slice][sink];
                if (sheaf < sheaves && candidate < distances[sheaf]) {
                    distances[sheaf] = candidate;
                    nearest[sheaf] = slice;
                }
            }
        }
        UNROLL
        for (int apart = SHEAVES / 2; apart > 0; apart /= 2) {
            UNROLL
            for (int sheaf = 0; sheaf < apart; ++sheaf) {
                if (apart < sheaves && distances[sheaf + apart] < distances[sheaf]) {
                    distances[sheaf] = distances[sheaf + apart];
                    nearest[sheaf] = nearest[sheaf + apart];
                }
            }
        }
        const uint strand = end->strands[nearest[0]][sink];
        end->distances[0][sink] = distances[0];
        end->strands[0][sink] = strand;
        // A short strand is its source's address.
        if (step->strands == SHORT && distances[0] < FARTHEST2)
            end->places[0][sink] = (int)(strand % CHUNK);
    }
    SYNC;
    const int is_address = step->strands == SHORT, length = is_address ? 0 : CHUNK / step->strands;
    const int strands = is_address ? CHUNK : step->strands;
    for (int item = THREAD; item < here * length; item += threads) {
        const int sink = item / length, number = first_sink + sink;
        const uint strand = end->strands[0][sink];
        const int chunk = (int)(strand / strands), place = (int)(strand % strands) * length + item % length;
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
            predict(source, chunk * CHUNK + place, step->moment, rows);
        }
        const Body source = body_of_rows(rows);
        UNROLL
        for (int row = 0; row < ROWS; ++row)
            rows[row] = sinks[row * step->stride + number];
        const Body body = body_of_rows(rows);
        REAL r[3];
        position_difference(&source, &body, r);
        const int own_index = indices_of(sinks, step)[number];
        const int is_other = !step->skip_own_index || indices[(long)slot * CHUNK + place] != own_index;
        if (is_other && (double)squared(r) == end->distances[0][sink])
            ATOMIC_MIN(&end->places[0][sink], place);
    }
    SYNC;
    for (int sink = THREAD; sink < here; sink += threads) {
        const int to = first_sink + sink;
        const int chunk = (int)(end->strands[0][sink] / strands), place = end->places[0][sink];
        const int there = place < CHUNK;
        distances_of(results, step)[to] = there ? end->distances[0][sink] * step->distance2_unit : (double)INFINITY_32;
        nearest_of(results, step)[to] =
            there ? indices[(long)(step->is_dense ? chunk : slots[chunk]) * CHUNK + place] : 0;
    }
#endif
}

// Threads that end some sinks: one for each item, or one for several where a group has not so many.
#define END_ITEMS (SLICES * COLUMN_PAIRS * END_SINKS)
#define END_THREADS (END_ITEMS / ((END_ITEMS + MOST_THREADS - 1) / MOST_THREADS))

// Groups of them on a multiprocessor.
#define END_RESIDENT (ORDER < 6 ? 3 : 2)

KERNEL(END_THREADS, END_RESIDENT)
end_block(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks, GLOBAL const double *parts,
    GLOBAL const double *part_distances, GLOBAL const uint *part_strands, GLOBAL uint *tickets, GLOBAL double *results,
    GLOBAL volatile uint *flag)
{
    LOCAL End end;
    sinks += step.sinks_from;
    results += step.results_from;
    AFTER_EARLIER_KERNELS;
    add_parts(&step, GROUP * END_SINKS, END_THREADS, octets, indices, slots, predicted, sinks, parts, part_distances,
        part_strands, results, &end);
    SYNC;
    if (THREAD == 0) {
        // One thread's fence holds for what its group wrote before; a fence of every thread takes longer than the
        // block.
        FENCE_HOST;
        if (ATOMIC_ADD(tickets, 1u) == (uint)(GROUPS - 1)) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
}
