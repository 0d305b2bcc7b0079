// A stable sort of keys with the numbers of bodies, by eight bits at a time, the lowest first: the
// digits of each tile are counted, the counts are added up (`scan_rows`), and each tile puts its
// keys into their places.

#define DIGITS (1 << DIGIT_BITS)
#define SORT_WARPS (SORT_THREADS / LANES)

FUNCTION uint digit_of(ulong key, int shift)
{
    return (uint)(key >> shift) & (DIGITS - 1);
}

#if IN_STEP
// The threads of 32 that have this thread's digit, as bits.
FUNCTION uint same_digit(uint digit)
{
    uint same = 0xffffffffu;
    UNROLL
    for (int bit = 0; bit < DIGIT_BITS; ++bit) {
        uint votes;
        VOTES(votes, digit >> bit & 1);
        same &= (digit >> bit & 1) != 0 ? votes : ~votes;
    }
    return same;
}
#endif

#define SORT_TURNS SMALL_TURNS
#define COUNT_DIGITS count_digits_small
#define PLACE_KEYS place_keys_small
#include "tree/sort_tile.h"
#undef SORT_TURNS
#undef COUNT_DIGITS
#undef PLACE_KEYS
#define SORT_TURNS LARGE_TURNS
#define COUNT_DIGITS count_digits_large
#define PLACE_KEYS place_keys_large
#include "tree/sort_tile.h"
