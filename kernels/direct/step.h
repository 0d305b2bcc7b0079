// A launch of a block step: where its sinks, segments and results are.

// The factor that brings a sum of a sink to the caller's units.
FUNCTION double unit_of_sum(const Step *step, int output)
{
    return output == 0 ? step->potential_unit
        : output < 4 ? step->acceleration_unit
        : output < 7 ? step->jerk_unit
        : output < 10 ? step->snap_unit
                      : step->crackle_unit;
}

// The chunks of one segment of a slice: those with numbers slice + SLICES * k for k from `first` to
// below `last`.
typedef struct {
    int slice;
    int first;
    int last;
} Segment;

FUNCTION Segment segment_of(const Step *step, int number)
{
    Segment segment;
    const int place = number / step->segments, piece = number % step->segments;
    segment.slice = step->first_slice + place * step->slice_step;
    const int chunks = (step->chunks - segment.slice + SLICES - 1) / SLICES;
    segment.first = (int)((long)chunks * piece / step->segments);
    segment.last = (int)((long)chunks * (piece + 1) / step->segments);
    return segment;
}

// Where the indices of sinks stand, behind their rows, and behind these the records that the force
// kernel puts in their places itself.
FUNCTION GLOBAL const int *indices_of(GLOBAL const VECTOR *sinks, const Step *step)
{
    return (GLOBAL const int *)(sinks + SINK_ROWS * step->stride);
}

FUNCTION GLOBAL const double *records_of(GLOBAL const VECTOR *sinks, const Step *step)
{
    return (GLOBAL const double *)(indices_of(sinks, step) + step->stride);
}

// Results are the sums sink by sink, and behind the room for `stride` of them their nearest
// distances, then the indices of the nearest sources.
FUNCTION GLOBAL double *distances_of(GLOBAL double *results, const Step *step)
{
    return results + (long)N_OUTPUTS * step->stride;
}

FUNCTION GLOBAL int *nearest_of(GLOBAL double *results, const Step *step)
{
    return (GLOBAL int *)(distances_of(results, step) + step->stride);
}

// A word of a record: time, mass, Taylor coefficients and, in the last but one, index and address.
typedef union {
    double number;
    struct {
        int index;
        uint address;
    } place;
} Word;

// Puts word `word` of a record of the source at an address, whose chunk has this slot, in its
// place.
FUNCTION void put_word(double word_of_record, int word, GLOBAL double *octets, GLOBAL int *indices,
    GLOBAL volatile int *ranges, int slot, uint address)
{
    const int place = address % CHUNK;
    if (word < SOURCE_ROWS) {
        octets[((long)slot * CHUNK + place / OCTET * OCTET) * SOURCE_ROWS + word * OCTET + place % OCTET] =
            word_of_record;
    }
    if (word == INDEX_WORD) {
        Word value;
        value.number = word_of_record;
        indices[(long)slot * CHUNK + place] = value.place.index;
        ATOMIC_MIN((GLOBAL int *)&ranges[2 * slot], value.place.index);
        ATOMIC_MAX((GLOBAL int *)&ranges[2 * slot + 1], value.place.index);
    }
}

FUNCTION uint address_of(GLOBAL const double *records, int number)
{
    Word value;
    value.number = records[(long)number * RECORD_WORDS + INDEX_WORD];
    return value.place.address;
}
