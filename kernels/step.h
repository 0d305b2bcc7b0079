// A block step as kernels see it.

typedef struct {
    Moment moment;
    // Powers of two, which bring sums to the caller's units.
    double potential_unit;
    double acceleration_unit;
    double jerk_unit;
    double snap_unit;
    double crackle_unit;
    double distance2_unit;
    // Sinks of this launch, and the distance between rows of sinks and of parts of sums.
    int ni;
    int stride;
    // Chunks that hold addresses below nj.
    int chunks;
    // The slices of this launch: `slices` of them from `first_slice` on, `slice_step` apart.
    int first_slice;
    int slice_step;
    int slices;
    // Parts into which each slice is cut.
    int parts;
    // Groups of threads for each part.
    int groups;
    int skip_own_index;
    // Whether the slot of a chunk is its number; else `slots` says it, negative where the device has none.
    int is_dense;
    // Whether `predicted` holds the sources at this moment.
    int is_predicted;
    // Strands of a chunk: sources that are summed one after another, from zero.
    int strands;
    // Records that the force kernel puts in their places itself.
    int records;
    // What the host waits for.
    uint sequence;
    // Where the rows of sinks begin, in vectors, and the results, in doubles.
    int sinks_from;
    int results_from;
} Step;

// The slot of a chunk that the device does not have.
#define NOWHERE (-1)
// Strands of a chunk for few sinks, of which the nearest source is kept by address.
#define SHORT 32

// Sinks whose neighbours are found together, and numbers of each: the squared radius and the position.
#define WINDOW 256
#define WINDOW_ROWS 4

// What brings a sum of a sink to the caller's units.
FUNCTION double unit_of_sum(const Step *step, int output)
{
    return output == 0 ? step->potential_unit
        : output < 4 ? step->acceleration_unit
        : output < 7 ? step->jerk_unit
        : output < 10 ? step->snap_unit
                      : step->crackle_unit;
}

// The chunks of one part of a slice: those with numbers slice + SLICES * k for k from `first` to below `last`.
typedef struct {
    int slice;
    int first;
    int last;
} Part;

FUNCTION Part part_of(const Step *step, int number)
{
    Part part;
    const int place = number / step->parts, piece = number % step->parts;
    part.slice = step->first_slice + place * step->slice_step;
    const int chunks = (step->chunks - part.slice + SLICES - 1) / SLICES;
    part.first = (int)((long)chunks * piece / step->parts);
    part.last = (int)((long)chunks * (piece + 1) / step->parts);
    return part;
}

// Where the indices of sinks stand, behind their rows, and behind these the records that the force kernel puts in their
// places itself.
FUNCTION GLOBAL const int *indices_of(GLOBAL const VECTOR *sinks, const Step *step)
{
    return (GLOBAL const int *)(sinks + SINK_ROWS * step->stride);
}

FUNCTION GLOBAL const double *records_of(GLOBAL const VECTOR *sinks, const Step *step)
{
    return (GLOBAL const double *)(indices_of(sinks, step) + step->stride);
}

// Results are the sums sink by sink, and behind the room for `stride` of them their nearest distances, then the indices
// of the nearest sources.
FUNCTION GLOBAL double *distances_of(GLOBAL double *results, const Step *step)
{
    return results + (long)OUTPUTS * step->stride;
}

FUNCTION GLOBAL int *nearest_of(GLOBAL double *results, const Step *step)
{
    return (GLOBAL int *)(distances_of(results, step) + step->stride);
}

// Records are 128 or 256 bytes: time, mass, Taylor coefficients and, in the last but one word of 8 bytes, index and
// address.
#define RECORD_WORDS ((SOURCE_ROWS + 2 + 15) / 16 * 16)
#define INDEX_WORD (RECORD_WORDS - 2)

typedef union {
    double number;
    struct {
        int index;
        uint address;
    } place;
} Word;

// Puts word `word` of a record of the source at an address, whose chunk has this slot, in its place.
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
