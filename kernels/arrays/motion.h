// Bodies that stay on the device while they move.

// Kicks bodies, once or twice, and lets them drift, in the steps of arithmetic of the host's
// leapfrog. A time of 0 leaves out what it is for. The numbers are components, which lie at bytes
// of `origin`, those of a quantity together. `begins` forgets what rounding took off before.
KERNEL(ARRAY_THREADS, 2)
move_bodies(GLOBAL char *origin, const long positions, const long velocities, const long accelerations,
    const long lost_positions, const long lost_velocities, const long count, const int begins, const double first_kick,
    const double second_kick, const double drift)
{
    for (long number = BLOCK * ARRAY_THREADS + THREAD; number < count; number += BLOCKS * ARRAY_THREADS) {
        const double acceleration = ((GLOBAL const double *)(origin + accelerations))[number];
        GLOBAL double *velocity = (GLOBAL double *)(origin + velocities) + number;
        GLOBAL double *position = (GLOBAL double *)(origin + positions) + number;
        GLOBAL double *lost_velocity = (GLOBAL double *)(origin + lost_velocities) + number;
        GLOBAL double *lost_position = (GLOBAL double *)(origin + lost_positions) + number;
        double moved = *velocity;
        double lost = begins != 0 ? 0.0 : *lost_velocity;
        if (first_kick != 0.0)
            add_term(&moved, &lost, first_kick * acceleration);
        if (second_kick != 0.0)
            add_term(&moved, &lost, second_kick * acceleration);
        *velocity = moved;
        *lost_velocity = lost;
        double place = *position;
        lost = begins != 0 ? 0.0 : *lost_position;
        if (drift != 0.0)
            add_term(&place, &lost, drift * moved);
        *position = place;
        *lost_position = lost;
    }
}
