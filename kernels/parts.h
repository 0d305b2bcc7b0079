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

// Columns of the parts of a sink: its sums, and its nearest source. A thread adds two.
#define COLUMNS (OUTPUTS + NEAREST)
#define COLUMN_PAIRS (COLUMNS / 2)
// Parts that are on their way at a time.
#define BATCH 8

FUNCTION void add_parts(const Step *step, int first_sink, int threads, GLOBAL const double *octets,
    GLOBAL const int *indices, GLOBAL const int *slots, GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks,
    GLOBAL const int *sink_indices, GLOBAL const double *parts, GLOBAL const double *part_distances,
    GLOBAL const uint *part_strands, GLOBAL double *results, GLOBAL double *result_distances,
    GLOBAL int *result_indices, LOCAL_POINTER End *end)
{
    const int here = step->ni - first_sink < END_SINKS ? step->ni - first_sink : END_SINKS;
    SYNC;
    for (int item = THREAD; item < step->slices * COLUMN_PAIRS * here; item += threads) {
        const int slice = item / (COLUMN_PAIRS * here), output = item / here % COLUMN_PAIRS * 2, sink = item % here;
        const int number = first_sink + sink, has_second = output + 1 < OUTPUTS;
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
                first_column[turn] = there ? *column : 0.0;
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

    const int sets = step->adds_slices ? 1 : step->slices, added = step->adds_slices ? step->slices : 1;
    for (int item = THREAD; item < sets * here * OUTPUTS; item += threads) {
        const int set = item / (here * OUTPUTS), sink = item / OUTPUTS % here, output = item % OUTPUTS;
        double sum = 0.0;
        UNROLL
        for (int slice = 0; slice < SLICES; ++slice)
            sum += slice < added ? end->sums[(set + slice) % SLICES][output][sink] : 0.0;
        results[((long)set * step->stride + first_sink + sink) * OUTPUTS + output] = sum / step->moment.mass_factor;
    }
#if NEAREST
    for (int item = THREAD; item < sets * here; item += threads) {
        const int set = item / here, sink = item % here;
        double distance2 = end->distances[set][sink];
        int nearest = set;
        if (added > 1) {
            UNROLL
            for (int slice = 1; slice < SLICES; ++slice) {
                const double candidate = end->distances[slice][sink];
                if (slice < added && candidate < distance2) {
                    distance2 = candidate;
                    nearest = slice;
                }
            }
        }
        const uint strand = end->strands[nearest][sink];
        end->distances[set][sink] = distance2;
        end->strands[set][sink] = strand;
        // A short strand is its source's address.
        if (step->strands == SHORT && distance2 < FARTHEST2)
            end->places[set][sink] = (int)(strand % CHUNK);
    }
    SYNC;
    const int is_address = step->strands == SHORT, length = is_address ? 0 : CHUNK / step->strands;
    const int strands = is_address ? CHUNK : step->strands;
    for (int item = THREAD; item < sets * here * length; item += threads) {
        const int set = item / (here * length), sink = item / length % here, number = first_sink + sink;
        const uint strand = end->strands[set][sink];
        const int chunk = (int)(strand / strands), place = (int)(strand % strands) * length + item % length;
        const int slot = step->is_dense ? chunk : slots[chunk];
        if (!(end->distances[set][sink] < FARTHEST2))
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
        const int is_other = !step->skip_own_index || indices[(long)slot * CHUNK + place] != sink_indices[number];
        if (is_other && (double)squared(r) == end->distances[set][sink])
            ATOMIC_MIN(&end->places[set][sink], place);
    }
    SYNC;
    for (int item = THREAD; item < sets * here; item += threads) {
        const int set = item / here, sink = item % here;
        const long to = (long)set * step->stride + first_sink + sink;
        const int chunk = (int)(end->strands[set][sink] / strands), place = end->places[set][sink];
        const int there = place < CHUNK;
        result_distances[to] = there ? end->distances[set][sink] : (double)INFINITY_32;
        result_indices[to] = there ? indices[(long)(step->is_dense ? chunk : slots[chunk]) * CHUNK + place] : 0;
    }
#endif
}

#define END_THREADS (SLICES * COLUMN_PAIRS * END_SINKS)

KERNEL(END_THREADS, 3)
end_block(const Step step, GLOBAL const double *octets, GLOBAL const int *indices, GLOBAL const int *slots,
    GLOBAL const VECTOR *predicted, GLOBAL const VECTOR *sinks, GLOBAL const int *sink_indices,
    GLOBAL const double *parts, GLOBAL const double *part_distances, GLOBAL const uint *part_strands,
    GLOBAL uint *tickets, GLOBAL double *results, GLOBAL double *result_distances, GLOBAL int *result_indices,
    GLOBAL volatile uint *flag)
{
    LOCAL End end;
    AFTER_EARLIER_KERNELS;
    add_parts(&step, GROUP * END_SINKS, END_THREADS, octets, indices, slots, predicted, sinks, sink_indices, parts,
        part_distances, part_strands, results, result_distances, result_indices, &end);
    SYNC;
    if (THREAD == 0) {
        // One thread's fence holds for what its group wrote before; a fence of every thread takes longer than the block.
        FENCE_HOST;
        if (ATOMIC_ADD(tickets, 1u) == (uint)(GROUPS - 1)) {
            FENCE_HOST;
            *tickets = 0;
            *flag = step.sequence;
        }
    }
}
