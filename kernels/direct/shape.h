// The numbers of the launch shape SHAPE, which `force.h` is compiled for.

#define OF_SHAPE(name) PASTE(name, SHAPE)
#define PASTE(name, shape) PASTED(name, shape)
#define PASTED(name, shape) name##shape

#define FORCE_NAME OF_SHAPE(FORCE_NAME_)
#define SUM_ITEM OF_SHAPE(sum_item_)
#define ITEM_MEMORY OF_SHAPE(ItemMemory_)
#define LANES OF_SHAPE(LANES_)
#define THREADS OF_SHAPE(THREADS_)
#define FUSED (OF_SHAPE(FUSED_) && !CHAINED)
#define ENDS (OF_SHAPE(ENDS_) && CAN_END)
#define SINKS OF_SHAPE(SINKS_)
#define ACCUMULATORS OF_SHAPE(ACCUMULATORS_)
#define RESIDENT OF_SHAPE(RESIDENT_)
#define UNROLLED OF_SHAPE(UNROLLED_)
#define AHEAD (OF_SHAPE(AHEAD_) && !CHAINED)
#define ACCUMULATOR_LENGTH (CHUNK / ACCUMULATORS)
// The accumulators of a thread in a chunk, and a bit for each of them.
#define PASSES (ACCUMULATORS / LANES)
#define ALL_GUARDS ((1u << PASSES) - 1)
#define TEAMS (THREADS / LANES)
// Places of a chunk that a thread fills.
#define PLACES (CHUNK / THREADS)
#define BLOCK_SINKS (TEAMS * SINKS)
// Accumulators lie one vector apart beyond their length, so that threads on different accumulators
// meet in no bank.
#define TILE (CHUNK + ACCUMULATORS)
#define TILE_PLACE(place) ((place) + (place) / ACCUMULATOR_LENGTH)
#define LOAD_SOURCES(slot) \
    UNROLL \
    for (int turn = 0; turn < PLACES; ++turn) \
        load_source(octets, slot, turn * THREADS + THREAD, source[turn]);
// Where bodies are large, the sums of accumulators take the memory of the tile in turns.
#define TAKES_TURNS (LANES > 1 && !IS_SHORT && N_DERIVATIVES > 2)
// Short accumulators: each thread of those that share a sink has one accumulator, and keeps its sum
// over the chunks.
#define IS_SHORT (ACCUMULATORS == SHORT)
// Whether the kernel waits for the host's letters.
#define WAITS 0
// Whether the items are those of a chain: sources are predicted before, nothing has to be recorded,
// and pairs of few sinks are all guarded, which takes less time than to find out which have to be.
#define CHAINED 0
