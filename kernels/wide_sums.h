// The sums of a vector of sinks over one chunk.

// Strands of a chunk: sources that are summed one after another, as many as the numbers of a pair bear.
#if PRECISION == DOUBLE
#define STRANDS 1
#else
#define STRANDS 4
#endif
#define STRAND (CHUNK / STRANDS)
// Sources of a strand among which the nearest is looked for again at the end of the block.
#define RUN 32

// The nearest source so far of each sink: its squared distance, and the number of its run, which stands where groups of
// threads have that of a strand.
typedef struct {
    WIDE distance2;
    LOGICAL run;
} Nearest;

// A chunk of sources: its predicted bodies, their indices and what these lie between, and its number.
typedef struct {
    GLOBAL const REAL *tile;
    GLOBAL const int *indices;
    int number;
    int lowest;
    int highest;
} Chunk;

// A vector of sinks from `first` on, and their indices. Lanes beyond the last sink repeat it.
FUNCTION Sink load_sinks(GLOBAL const VECTOR *sinks, const Step *step, int first, LOGICAL *index)
{
    Sink wide;
    for (int lane = 0; lane < WIDTH; ++lane) {
        const int number = min(first + lane, step->ni - 1);
        VECTOR rows[SINK_ROWS];
        UNROLL
        for (int row = 0; row < SINK_ROWS; ++row)
            rows[row] = sinks[row * step->stride + number];
        const Body body = sink_of_rows(rows);
        LANE(wide.weight, REAL, lane) = body.weight;
        UNROLL
        for (int k = 0; k < 3; ++k) {
            LANE(wide.position[k], REAL, lane) = body.position[k];
#if PRECISION == MIXED
            LANE(wide.low[k], REAL, lane) = body.low[k];
#endif
            UNROLL
            for (int q = 1; q < VECTORS; ++q)
                LANE(wide.higher[q - 1][k], REAL, lane) = body.higher[q - 1][k];
        }
#if REGULAR
        LANE(wide.by_mass, REAL, lane) = body.by_mass;
        LANE(wide.plain, REAL, lane) = body.plain;
        LANE(wide.step, REAL, lane) = body.step;
#endif
        LANE(*index, WHOLE, lane) = indices_of(sinks, step)[number];
    }
    return wide;
}

// Adds the sources of a run.
FUNCTION void sum_run(const Chunk *sources, int run, const Sink *sink, LOGICAL sink_index, int guarded,
    int skip_own_index, WIDE sums[OUTPUTS], WIDE *distance2)
{
    UNROLL_BY(2)
    for (int place = run * RUN; place < (run + 1) * RUN; ++place) {
        const Body source = source_at(sources->tile, place);
        LOGICAL is_other = -1;
        if (guarded && skip_own_index)
            is_other = sources->indices[place] != sink_index;
        add_pair(&source, sink, guarded, is_other, sums, distance2);
    }
}

// Adds the sources of a chunk, from zero, and notes the run of one that is nearer.
FUNCTION void sum_chunk(const Chunk *sources, const Sink *sink, LOGICAL sink_index, int skip_own_index,
    WIDE totals[OUTPUTS], Nearest *nearest)
{
    int guarded = skip_own_index && ANY_LANE(sink_index >= sources->lowest && sink_index <= sources->highest);
    int again;
    do {
        Nearest found = *nearest;
        WIDE check = 0;
        for (int strand = 0; strand < STRANDS; ++strand) {
            WIDE sums[OUTPUTS];
            UNROLL
            for (int output = 0; output < OUTPUTS; ++output)
                sums[output] = 0;
            for (int run = strand * (STRAND / RUN); run < (strand + 1) * (STRAND / RUN); ++run) {
                WIDE distance2 = found.distance2;
                if (guarded)
                    sum_run(sources, run, sink, sink_index, 1, skip_own_index, sums, &distance2);
                else
                    sum_run(sources, run, sink, sink_index, 0, skip_own_index, sums, &distance2);
#if NEAREST
                found.run =
                    distance2 < found.distance2 ? (LOGICAL)(sources->number * (CHUNK / RUN) + run) : found.run;
                found.distance2 = distance2;
#endif
            }
            // A pair at no distance makes the potential or the acceleration infinite or no number.
            check += sums[0] + sums[1];
            UNROLL
            for (int output = 0; output < OUTPUTS; ++output)
                totals[output] = strand == 0 ? sums[output] : totals[output] + sums[output];
        }
        again = !guarded && ANY_LANE(!(fabs(check) < INFINITY_32));
        if (again)
            guarded = 1;
        else
            *nearest = found;
    } while (again);
}
