// The cube that holds all bodies, and the keys of bodies: their places in it, in Morton order.

// Component `component` of the position of a body.
FUNCTION double position_of(GLOBAL const char *bodies, const BodyLayout *layout, uint body, int component)
{
    const long offset = layout->position + (long)(body / 8) * layout->position_octet + (body % 8) * layout->position_body;
    return *(GLOBAL const double *)(bodies + offset + component * layout->position_component);
}

FUNCTION double mass_of(GLOBAL const char *bodies, const BodyLayout *layout, uint body)
{
    return *(GLOBAL const double *)(bodies + layout->mass + (long)(body / 8) * layout->mass_octet + (body % 8) * layout->mass_body);
}

// Places to which no body was written are farther out than any body.
FUNCTION int is_there(double x)
{
    return fabs(x) < 0.5 * FAR_AWAY;
}

// The least and the largest coordinates of the bodies of a thread block.
KERNEL(BOX_THREADS, 4)
find_box(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL double *boxes, uint count)
{
    LOCAL double shared[6 * BOX_THREADS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    double least[6];
    UNROLL
    for (int k = 0; k < 6; ++k)
        least[k] = FAR_AWAY;
    for (uint body = BLOCK * BOX_THREADS + THREAD; body < count; body += BLOCKS * BOX_THREADS) {
        double position[3];
        UNROLL
        for (int k = 0; k < 3; ++k)
            position[k] = position_of(bodies, &layout, body, k);
        if (is_there(position[0])) {
            UNROLL
            for (int k = 0; k < 3; ++k) {
                least[k] = fmin(least[k], position[k]);
                least[3 + k] = fmin(least[3 + k], -position[k]);
            }
        }
    }
    UNROLL
    for (int k = 0; k < 6; ++k)
        shared[k * BOX_THREADS + THREAD] = least[k];
    for (int apart = BOX_THREADS / 2; apart > 0; apart /= 2) {
        SYNC;
        if (THREAD < apart) {
            UNROLL
            for (int k = 0; k < 6; ++k)
                shared[k * BOX_THREADS + THREAD] = fmin(shared[k * BOX_THREADS + THREAD], shared[k * BOX_THREADS + THREAD + apart]);
        }
    }
    SYNC;
    if (THREAD < 6)
        boxes[BLOCK * 6 + THREAD] = shared[THREAD * BOX_THREADS];
}

// The binary exponent of a power of two above a number. That of zero is below LOWEST_EXPONENT.
FUNCTION int exponent_above(double number)
{
    return ((int)(BITS_OF_DOUBLE(number) >> 52) & 0x7ff) - 1022;
}

// Finds between which coordinates most bodies are, by SAMPLES of them: all but about an eighth at
// either end of each axis.
FUNCTION void find_bulk(const BodyLayout *layout, GLOBAL const char *bodies, uint places, LOCAL_POINTER double *samples,
    LOCAL_POINTER double *bulk)
{
    const uint body = places < SAMPLES ? (uint)THREAD : (uint)((ulong)THREAD * places / SAMPLES);
    const int is = THREAD < SAMPLES && body < places && is_there(position_of(bodies, layout, body, 0));
    if (THREAD < 6)
        bulk[THREAD] = 0.0;
    for (int k = 0; k < 3; ++k) {
        const double own = is ? position_of(bodies, layout, body, k) : FAR_AWAY;
        SYNC;
        if (THREAD < SAMPLES)
            samples[THREAD] = own;
        SYNC;
        int before = 0, all = 0;
        for (int other = 0; other < SAMPLES; ++other) {
            before += samples[other] < own || samples[other] == own && other < THREAD;
            all += samples[other] < FAR_AWAY;
        }
        const int outside = (all + 3) / 8;
        if (is && before == outside)
            bulk[k] = own;
        if (is && before == all - 1 - outside)
            bulk[3 + k] = own;
    }
    SYNC;
}

// Chooses the cube: its low corner is that of the box of all bodies, its side the smallest power of
// two that is larger than the box's longest side. Where the box is 2^ESCAPED times as large as that
// of most bodies, the cube is one around these, with room beside them, and the keys of bodies outside
// it are those of its border. It finds whether the box is too large for that, and clears what is found
// later. One thread block.
KERNEL(BOX_THREADS, 1)
choose_cube(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const double *boxes, GLOBAL double *cube,
    GLOBAL uint *found, uint places, int count, double softening2)
{
    LOCAL double least[6][BOX_THREADS], samples[SAMPLES], bulk[6];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    if (THREAD < FOUND)
        found[THREAD] = 0;
    UNROLL
    for (int k = 0; k < 6; ++k) {
        least[k][THREAD] = FAR_AWAY;
        for (int box = THREAD; box < count; box += BOX_THREADS)
            least[k][THREAD] = fmin(least[k][THREAD], boxes[6 * box + k]);
    }
    for (int apart = BOX_THREADS / 2; apart > 0; apart /= 2) {
        SYNC;
        if (THREAD < apart) {
            UNROLL
            for (int k = 0; k < 6; ++k)
                least[k][THREAD] = fmin(least[k][THREAD], least[k][THREAD + apart]);
        }
    }
    find_bulk(&layout, bodies, places, samples, bulk);
    if (THREAD == 0) {
        double longest = 0.0;
        UNROLL
        for (int k = 0; k < 3; ++k) {
            longest = fmax(longest, -least[3 + k][0] - least[k][0]);
            cube[CUBE_LOW + k] = least[k][0];
        }
        const int exponent = exponent_above(longest * (1.0 + 9.5367431640625e-7));
        int side = exponent > LOWEST_EXPONENT ? exponent : LOWEST_EXPONENT;
        double longest_of_bulk = 0.0;
        UNROLL
        for (int k = 0; k < 3; ++k)
            longest_of_bulk = fmax(longest_of_bulk, bulk[3 + k] - bulk[k]);
        const int of_bulk = exponent_above(longest_of_bulk);
        if (longest_of_bulk > 0.0 && of_bulk > LOWEST_EXPONENT && side > of_bulk + ESCAPED) {
            found[FOUND_WIDE] = side > of_bulk + WIDEST ? (uint)(side - of_bulk) : 0;
            side = of_bulk + BESIDE_BULK > side - MOST_ESCAPED ? of_bulk + BESIDE_BULK : side - MOST_ESCAPED;
            UNROLL
            for (int k = 0; k < 3; ++k)
                cube[CUBE_LOW + k] = 0.5 * (bulk[k] + bulk[3 + k]) - ldexp(0.5, side);
        }
        cube[CUBE_TO_KEYS] = ldexp(1.0, LEVELS - side);
        // The softening is in the range of 32 bits too.
        const int softening = softening2 > 0.0 ? (((int)(BITS_OF_DOUBLE(softening2) >> 52) & 0x7ff) - 1023) / 2 : -MOST_UNITS;
        const int units = side > softening - SOFTENING_EXPONENT + SIDE_EXPONENT ? SIDE_EXPONENT - side : SOFTENING_EXPONENT - softening;
        cube[CUBE_TO_UNITS] = ldexp(1.0, units < MOST_UNITS ? units : MOST_UNITS);
    }
}

// Every third bit from the lowest on is one of the 21 bits of a number.
FUNCTION ulong spread(ulong bits)
{
    bits = (bits | bits << 32) & 0x001f00000000ffffUL;
    bits = (bits | bits << 16) & 0x001f0000ff0000ffUL;
    bits = (bits | bits << 8) & 0x100f00f00f00f00fUL;
    bits = (bits | bits << 4) & 0x10c30c30c30c30c3UL;
    return (bits | bits << 2) & 0x1249249249249249UL;
}

// A word of the key of a body: word 0 has the first 21 levels, word 1 the next ones.
FUNCTION ulong key_of(const double position[3], GLOBAL const double *cube, int word)
{
    ulong key = 0;
    UNROLL
    for (int k = 0; k < 3; ++k) {
        const double place = fmax((position[k] - cube[CUBE_LOW + k]) * cube[CUBE_TO_KEYS], 0.0);
        const ulong whole = (ulong)fmin(place, 4398046511103.0);
        key = key << 1 | spread(word == 0 ? whole >> LEVELS_OF_WORD : whole & 0x1fffffUL);
    }
    return key;
}

// Writes a word of the keys of all bodies. Places without a body come last. `packs` says that the
// position and the mass of each go to `packed`, where they are side by side, in the order of places.
KERNEL(KEY_THREADS, 6)
write_keys(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const double *cube, GLOBAL ulong *keys,
    GLOBAL const uint *order, GLOBAL double2 *packed, uint count, int word, int is_ordered, int packs)
{
    LOCAL double2 halves[2 * KEY_THREADS];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint first = BLOCK * KEY_THREADS, place = first + THREAD;
    if (place < count) {
        const uint body = is_ordered ? order[place] : place;
        double position[3];
        UNROLL
        for (int k = 0; k < 3; ++k)
            position[k] = position_of(bodies, &layout, body, k);
        keys[place] = is_there(position[0]) ? key_of(position, cube, word) : ~0UL;
        if (packs) {
            halves[2 * THREAD] = DOUBLE2(position[0], position[1]);
            halves[2 * THREAD + 1] = DOUBLE2(position[2], mass_of(bodies, &layout, body));
        }
    }
    SYNC;
    // All of a piece of memory is written at once.
    if (packs) {
        UNROLL
        for (int number = THREAD; number < 2 * KEY_THREADS; number += KEY_THREADS) {
            if (first + number / 2 < count)
                packed[2 * (long)first + number] = halves[number];
        }
    }
}
