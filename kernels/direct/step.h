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
    // A slice has at most some 2^19 chunks, and less than 2^8 segments.
    segment.first = chunks * piece / step->segments;
    segment.last = chunks * (piece + 1) / step->segments;
    return segment;
}

// The slot of a chunk of a launch.
FUNCTION int slot_of(const Step *step, GLOBAL const int *slots, int chunk)
{
    const int number = step->first_chunk + chunk;
    return step->is_dense ? number : slots[number];
}

// 64 bits of a record or of a sink: a number, or an index and, in records, an address.
typedef union {
    double number;
    struct {
        int index;
        uint address;
    } place;
} Word;

// The index of a sink. Sinks stand as the host's copy of the block has them, in the caller's units:
// index, squared softening, squared radius, vectors and, for regular forces, the step.
FUNCTION int index_of_sink(GLOBAL const double *sinks, int number)
{
    Word value;
    value.number = sinks[(long)number * SINK_NUMBERS];
    return value.place.index;
}

// The position of a sink in the numbers and units of a pair.
FUNCTION void set_position(Sink *sink, const double position[3], const Step *step)
{
    UNROLL
    for (int k = 0; k < 3; ++k) {
        const double scaled = position[k] * step->target.position_factor;
        sink->position[k] = (REAL)scaled;
#if IS_MIXED
        sink->low[k] = (REAL)(scaled - (double)sink->position[k]);
#endif
    }
}

FUNCTION void load_position(GLOBAL const double *sinks, int number, const Step *step, Sink *sink)
{
    GLOBAL const double *numbers = sinks + (long)number * SINK_NUMBERS + 3;
    const double position[3] = {numbers[0], numbers[1], numbers[2]};
    set_position(sink, position, step);
}

// A sink of full forces in the numbers and units of a pair.
FUNCTION Sink sink_of(const double vectors[N_DERIVATIVES][3], double softening2, const Step *step)
{
    const double factors[4] = {step->target.position_factor, step->target.velocity_factor,
        step->target.acceleration_factor, step->target.jerk_factor};
    Sink sink;
    set_position(&sink, vectors[0], step);
    sink.weight = (REAL)(softening2 * step->distance2_factor);
    UNROLL
    for (int k = 0; k < 3; ++k) {
        UNROLL
        for (int q = 1; q < N_DERIVATIVES; ++q)
            sink.higher[q - 1][k] = (REAL)(vectors[q][k] * factors[q]);
    }
    return sink;
}

FUNCTION Sink load_sink(GLOBAL const double *sinks, int number, const Step *step)
{
    GLOBAL const double *numbers = sinks + (long)number * SINK_NUMBERS;
    double vectors[N_DERIVATIVES][3];
    UNROLL
    for (int q = 0; q < N_DERIVATIVES; ++q) {
        UNROLL
        for (int k = 0; k < 3; ++k)
            vectors[q][k] = numbers[3 + 3 * q + k];
    }
    Sink sink = sink_of(vectors, numbers[1], step);
#if REGULAR
    const double radius2 = numbers[2] > 0.0 ? numbers[2] : 0.0;
    sink.by_mass = (REAL)(radius2 * step->by_mass_factor);
    sink.plain = (REAL)(radius2 * step->plain_factor);
    sink.step = (REAL)(numbers[SINK_NUMBERS - 1] * step->time_factor);
#endif
    return sink;
}

// The records that the force kernel puts in their places itself stand behind the sinks.
FUNCTION GLOBAL const double *records_of(GLOBAL const double *sinks, const Step *step)
{
    return sinks + (long)step->ni * SINK_NUMBERS;
}

// Results are the sums sink by sink, and behind the room for `stride` of them the nearest source of
// each: the squared distance, and the index in the lower half of another 64 bits.
FUNCTION void put_nearest(GLOBAL double *results, const Step *step, int sink, double distance2, int index)
{
    GLOBAL double *nearest = results + (long)N_OUTPUTS * step->stride + 2 * (long)sink;
    Word value;
    value.place.index = index;
    value.place.address = 0;
    nearest[0] = distance2;
    nearest[1] = value.number;
}

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
