// Bodies in the order of their keys. The sort compares the highest bits alone; here a body counts
// the bodies beside it that agree in these, which are few, to find its place among them. `frame` is
// the cube in whose units, and from whose corner, positions are written. Of masses, those that are
// positive are written; `turn_masses` puts the negative ones in their place, whose forces are
// subtracted, so that moments of degree 1 are always zero.

KERNEL(KEY_THREADS, 6)
order_bodies(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const double *frame,
    GLOBAL const ulong *keys, GLOBAL const uint *numbers, GLOBAL ulong *ordered_keys, GLOBAL uint *ordered_numbers,
    GLOBAL float4 *high, GLOBAL float4 *low, GLOBAL uint *found, uint count, int shift, double mass_factor)
{
    LOCAL uint crowded[2];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    if (THREAD < 2)
        crowded[THREAD] = 0;
    SYNC;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < count) {
        const ulong key = keys[place];
        uint to = place;
        if (shift > 0) {
            const ulong prefix = key >> shift;
            uint before = 0, after = 0;
            for (; before < place && before < MOST_ALIKE; ++before) {
                const ulong other = keys[place - before - 1];
                if (other >> shift != prefix)
                    break;
                to -= other > key;
            }
            for (; place + after + 1 < count && after < MOST_ALIKE; ++after) {
                const ulong other = keys[place + after + 1];
                if (other >> shift != prefix)
                    break;
                to += other < key;
            }
            if (before == MOST_ALIKE || after == MOST_ALIKE)
                found[FOUND_UNSORTED] = 1;
            if (before + after >= CROWD)
                ATOMIC_ADD(&crowded[0], 1u);
        }
        if (place + CROWD < count && (keys[place + CROWD] ^ key) >> shift < 1 << DIGIT_BITS)
            ATOMIC_ADD(&crowded[1], 1u);
        const uint body = numbers[place];
        double units[4];
        UNROLL
        for (int k = 0; k < 3; ++k)
            units[k] = (position_of(bodies, &layout, body, k) - frame[CUBE_LOW + k]) * frame[CUBE_TO_UNITS];
        units[3] = mass_of(bodies, &layout, body) * mass_factor;
        if (units[3] < 0.0)
            found[FOUND_NEGATIVE] = 1;
        units[3] = fmax(units[3], 0.0);
        const float4 upper = FLOAT4((float)units[0], (float)units[1], (float)units[2], (float)units[3]);
        ordered_keys[to] = key;
        ordered_numbers[to] = body;
        high[to] = upper;
        low[to] = FLOAT4((float)(units[0] - upper.x), (float)(units[1] - upper.y), (float)(units[2] - upper.z), 0.0f);
    }
    SYNC;
    if (THREAD < 2 && crowded[THREAD] > 0)
        ATOMIC_ADD(&found[FOUND_CROWDED + THREAD], crowded[THREAD]);
}

KERNEL(KEY_THREADS, 6)
turn_masses(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const uint *ordered_numbers,
    GLOBAL float4 *high, uint count, double mass_factor)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < count)
        high[place].w = (float)fmax(mass_of(bodies, &layout, ordered_numbers[place]) * mass_factor, 0.0);
}
