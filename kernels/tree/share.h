// What devices that sum a share of the forces each send one another.

// Writes the positions and masses of bodies one after another.
KERNEL(KEY_THREADS, 4)
pack_bodies(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL double *packed, uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint body = BLOCK * KEY_THREADS + THREAD;
    if (body < count) {
        UNROLL
        for (int k = 0; k < 3; ++k)
            packed[4 * (long)body + k] = position_of(bodies, &layout, body, k);
        packed[4 * (long)body + 3] = mass_of(bodies, &layout, body);
    }
}

// Writes the forces of a share, whose sinks have these numbers, to the places of the sinks.
KERNEL(KEY_THREADS, 4)
take_share(GLOBAL const double *share, GLOBAL const uint *numbers, GLOBAL double *forces, uint first, uint count)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * KEY_THREADS + THREAD;
    if (place < count) {
        const long to = 4 * (long)numbers[first + place];
        UNROLL
        for (int k = 0; k < 4; ++k)
            forces[to + k] = share[4 * (long)place + k];
    }
}
