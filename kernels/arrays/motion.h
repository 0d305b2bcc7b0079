// Bodies that stay on the device while they move.

// Kicks bodies, once or twice, and lets them drift, in the steps of arithmetic of the host's
// leapfrog. A time of 0 leaves out what it is for. The numbers are components, which lie at bytes
// of `origin`, those of a quantity together.
KERNEL(ARRAY_THREADS, 2)
move_bodies(GLOBAL char *origin, const long positions, const long velocities, const long accelerations, const long count,
    const double first_kick, const double second_kick, const double drift)
{
    for (long number = BLOCK * ARRAY_THREADS + THREAD; number < count; number += BLOCKS * ARRAY_THREADS) {
        const double acceleration = ((GLOBAL const double *)(origin + accelerations))[number];
        GLOBAL double *velocity = (GLOBAL double *)(origin + velocities) + number;
        GLOBAL double *position = (GLOBAL double *)(origin + positions) + number;
        double moved = *velocity;
        if (first_kick != 0.0)
            moved = moved + first_kick * acceleration;
        if (second_kick != 0.0)
            moved = moved + second_kick * acceleration;
        *velocity = moved;
        if (drift != 0.0)
            *position = *position + drift * moved;
    }
}
