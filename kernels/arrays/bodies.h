// Sources and sinks in arrays of callers: checked, and brought to where blocks have them.

FUNCTION int is_good_vector(GLOBAL const char *origin, const Column column, long body, double largest)
{
    return is_within(real_of(origin, column, body, 0), largest) & is_within(real_of(origin, column, body, 1), largest)
        & is_within(real_of(origin, column, body, 2), largest);
}

// Whether the numbers of a body are finite and within the bounds of the precision. Those that most
// callers give are read at once.
FUNCTION int is_good_body(GLOBAL const char *origin, const Columns *columns, const BodyBounds *bounds, long body)
{
    const double softening2 = real_of(origin, columns->softening2, body, 0);
    int good = is_within(real_of(origin, columns->masses, body, 0), bounds->mass)
        & is_within(real_of(origin, columns->times, body, 0), LARGEST_DOUBLE)
        & (softening2 >= 0.0) & (softening2 <= bounds->softening2)
        & is_good_vector(origin, columns->positions, body, bounds->position)
        & is_good_vector(origin, columns->velocities, body, LARGEST_DOUBLE);
    UNROLL
    for (int k = 2; k < 8; ++k) {
        if ((&columns->positions)[k].stride != 0)
            good &= is_good_vector(origin, (&columns->positions)[k], body, LARGEST_DOUBLE);
    }
    return good;
}

// Each check has a place for what it finds.
#define FOUND_BY(check) (found + FLAGS * (check))

// The first body that is not good: LARGEST_INDEX less its number; 0 where all are.
KERNEL(ARRAY_THREADS, 2)
check_bodies(const Columns columns, GLOBAL const char *origin, const int count, const BodyBounds bounds, const int check,
    GLOBAL int *found)
{
    int bad = 0;
    for (long body = BLOCK * ARRAY_THREADS + THREAD; body < count && bad == 0; body += BLOCKS * ARRAY_THREADS)
        bad = is_good_body(origin, &columns, &bounds, body) ? 0 : LARGEST_INDEX - (int)body;
    if (bad > 0)
        ATOMIC_MAX(FOUND_BY(check), bad);
}

// The first run of ADDRESS_RUN addresses with one beyond the sources: LARGEST_INDEX less its
// number; 0 where there is none. A thread block has a run at a time. How many addresses there are is
// the last of the places of groups; if that is more than there is room for, none is read.
KERNEL(ARRAY_THREADS, 2)
check_addresses(GLOBAL const char *origin, const Column column, const Column places, const int groups, const long room,
    const int end, const int check, GLOBAL int *found)
{
    const long all = *(GLOBAL const long *)(origin + places.offset + groups * places.stride), count = all <= room ? all : 0;
    for (long run = BLOCK; run * ADDRESS_RUN < count; run += BLOCKS) {
        int good = 1;
        UNROLL
        for (int turn = 0; turn < ADDRESS_RUN / ARRAY_THREADS; ++turn) {
            const long place = run * ADDRESS_RUN + turn * ARRAY_THREADS + THREAD;
            if (place < count) {
                const int address = *(GLOBAL const int *)(origin + column.offset + place * column.stride);
                good = good && address >= 0 && address < end;
            }
        }
        if (!good)
            ATOMIC_MAX(FOUND_BY(check), LARGEST_INDEX - (int)run);
    }
}

// Sinks that were given no indices have the index 0.
FUNCTION int given_index(GLOBAL const char *bodies, const Columns *columns, long sink)
{
    return columns->indices.stride == 0 ? 0 : index_of(bodies, columns, sink);
}

// Puts sinks where a block has them: the index in the lower half of 64 bits, the squared softening
// and the squared radius, the vectors and, where steps are wanted, the step. It finds the first
// that is not good (as check_bodies does), whether one has a radius, and the largest component of
// each vector, of each thread block.
KERNEL(ARRAY_THREADS, 2)
pack_sinks(const Columns columns, const Column radii2, const Column steps, const double softening2, GLOBAL const char *origin,
    const int count, const int vectors, const int width, const BodyBounds bounds, GLOBAL double *sinks, GLOBAL int *found,
    GLOBAL double *largest)
{
    LOCAL double of_threads[ARRAY_THREADS];
    double own_largest[4];
    UNROLL
    for (int k = 0; k < 4; ++k)
        own_largest[k] = 0.0;
    int bad = 0, has_radius = 0;
    for (long sink = BLOCK * ARRAY_THREADS + THREAD; sink < count; sink += BLOCKS * ARRAY_THREADS) {
        GLOBAL double *row = sinks + sink * width;
        const double radius2 = real_of(origin, radii2, sink, 0), step = real_of(origin, steps, sink, 0);
        if (bad == 0
            && !(is_good_body(origin, &columns, &bounds, sink) && is_within(radius2, LARGEST_DOUBLE)
                && is_within(step, LARGEST_DOUBLE)))
            bad = LARGEST_INDEX - (int)sink;
        has_radius |= radius2 > 0.0;
        ((GLOBAL int *)row)[0] = given_index(origin, &columns, sink);
        ((GLOBAL int *)row)[1] = 0;
        row[1] = columns.softening2.stride == 0 ? softening2 : real_of(origin, columns.softening2, sink, 0);
        row[2] = radius2;
        UNROLL
        for (int k = 0; k < 4; ++k) {
            if (k < vectors) {
                UNROLL
                for (int component = 0; component < 3; ++component) {
                    const double value = real_of(origin, (&columns.positions)[k], sink, component);
                    const double magnitude = value < 0.0 ? -value : value;
                    row[3 + 3 * k + component] = value;
                    own_largest[k] = magnitude > own_largest[k] ? magnitude : own_largest[k];
                }
            }
        }
        if (width > 3 + 3 * vectors)
            row[width - 1] = step;
    }
    if (bad > 0)
        ATOMIC_MAX(&found[0], bad);
    if (has_radius)
        ATOMIC_MAX(&found[1], 1);
    UNROLL
    for (int k = 0; k < 4; ++k) {
        SYNC;
        of_threads[THREAD] = own_largest[k];
        for (int apart = ARRAY_THREADS / 2; apart > 0; apart /= 2) {
            SYNC;
            if (THREAD < apart && of_threads[THREAD + apart] > of_threads[THREAD])
                of_threads[THREAD] = of_threads[THREAD + apart];
        }
        if (THREAD == 0)
            largest[BLOCK * 4 + k] = of_threads[0];
    }
}

// Whether sinks are not the sources at their numbers: then `found` is 1.
KERNEL(ARRAY_THREADS, 2)
compare_sinks(const Columns columns, GLOBAL const char *origin, const int count, GLOBAL const double *octets,
    GLOBAL const int *indices, const int n_coefficients, const int with_indices, GLOBAL int *found)
{
    const int rows = 2 + 3 * n_coefficients;
    int differs = 0;
    for (long sink = BLOCK * ARRAY_THREADS + THREAD; sink < count && !differs; sink += BLOCKS * ARRAY_THREADS) {
        GLOBAL const double *octet = octets + sink / OCTET * OCTET * rows + sink % OCTET;
        UNROLL
        for (int component = 0; component < 3; ++component)
            differs |= real_of(origin, columns.positions, sink, component) != octet[(2 + component) * OCTET];
        differs |= with_indices && given_index(origin, &columns, sink) != indices[sink];
    }
    if (differs)
        ATOMIC_MAX(found, 1);
}

// Puts sources where a device keeps them, as the host packs a chunk: octets of rows, indices, and
// the range of these. A thread block has a chunk; places behind the last source are far away. Where
// a check has found a wrong source, nothing is written.
KERNEL(CHUNK, 2)
pack_sources(const Columns columns, GLOBAL const char *origin, const int count, const int n_coefficients,
    GLOBAL const int *found, GLOBAL double *octets, GLOBAL int *indices, GLOBAL int *ranges)
{
    if (*found > 0)
        return;
    const double factorials[8] = {1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0};
    LOCAL int lowest, highest;
    if (THREAD == 0)
        lowest = LARGEST_INDEX, highest = -LARGEST_INDEX - 1;
    SYNC;
    const int rows = 2 + 3 * n_coefficients, address = BLOCK * CHUNK + THREAD, there = address < count;
    GLOBAL double *octet = octets + (long)BLOCK * CHUNK * rows + THREAD / OCTET * OCTET * rows + THREAD % OCTET;
    octet[0] = there ? real_of(origin, columns.times, address, 0) : 0.0;
    octet[OCTET] = there ? real_of(origin, columns.masses, address, 0) : 0.0;
    // Not unrolled: the compiler of PTX would put its many zeros in an order of chance.
    UNROLL_BY(1)
    for (int k = 0; k < n_coefficients; ++k) {
        const Column column = (&columns.positions)[k];
        UNROLL_BY(1)
        for (int component = 0; component < 3; ++component) {
            const double value = there ? real_of(origin, column, address, component) : k == 0 ? FAR_AWAY : 0.0;
            octet[(2 + 3 * k + component) * OCTET] = value / factorials[k];
        }
    }
    const int index = there ? index_of(origin, &columns, address) : 0;
    indices[address] = index;
    if (there) {
        ATOMIC_MIN(&lowest, index);
        ATOMIC_MAX(&highest, index);
    }
    SYNC;
    if (THREAD == 0) {
        ranges[2 * BLOCK] = lowest;
        ranges[2 * BLOCK + 1] = highest;
    }
}

FUNCTION int size_of_vector(GLOBAL const char *origin, const Column column, long body, double divisor)
{
    int largest = 0;
    UNROLL
    for (int component = 0; component < 3; ++component) {
        const int exponent = exponent_of(real_of(origin, column, body, component) / divisor);
        largest = exponent > largest ? exponent : largest;
    }
    return largest / SIZE_WIDTH;
}

// Counts the sizes of the masses, positions, velocities and accelerations of sources, as
// `Census::sizes_of` of the library has them.
KERNEL(ARRAY_THREADS, 2)
count_sizes(const Columns columns, GLOBAL const char *origin, const int count, const int n_coefficients, GLOBAL uint *counts)
{
    LOCAL uint own[4 * SIZES];
    for (int place = THREAD; place < 4 * SIZES; place += ARRAY_THREADS)
        own[place] = 0;
    SYNC;
    for (long body = BLOCK * ARRAY_THREADS + THREAD; body < count; body += BLOCKS * ARRAY_THREADS) {
        const int mass = exponent_of(real_of(origin, columns.masses, body, 0)) / SIZE_WIDTH;
        ATOMIC_ADD(&own[4 * mass], 1u);
        ATOMIC_ADD(&own[4 * size_of_vector(origin, columns.positions, body, 1.0) + 1], 1u);
        if (n_coefficients > 1)
            ATOMIC_ADD(&own[4 * size_of_vector(origin, columns.velocities, body, 1.0) + 2], 1u);
        if (n_coefficients > 4)
            ATOMIC_ADD(&own[4 * size_of_vector(origin, columns.accelerations, body, 2.0) + 3], 1u);
    }
    SYNC;
    for (int place = THREAD; place < 4 * SIZES; place += ARRAY_THREADS) {
        if (own[place] > 0)
            ATOMIC_ADD(&counts[place], own[place]);
    }
}
