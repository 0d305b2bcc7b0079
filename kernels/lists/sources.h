// The sources of groups: predicted sources of the system, or sources that came with the call.

// A power of two; its exponent is that of a normal number.
FUNCTION double power(int exponent)
{
    Word value;
    value.place.index = 0;
    value.place.address = (uint)(exponent + 1023) << 20;
    return value.number;
}

// Brings a step to the units of a group: the binary exponents of its masses, lengths and speeds.
FUNCTION void set_units(Step *step, GLOBAL const int *units)
{
    const int mass = units[0], length = units[1], rate = units[2] - units[1];
    step->target.mass_factor = power(mass);
    step->target.position_factor = power(length);
    step->target.velocity_factor = power(length + rate);
    step->target.acceleration_factor = power(length + 2 * rate);
    step->target.jerk_factor = power(length + 3 * rate);
    step->distance2_factor = power(2 * length);
    step->distance2_unit = power(-2 * length);
    step->potential_unit = power(length - mass);
    step->acceleration_unit = power(2 * length - mass);
    step->jerk_unit = power(2 * length - mass - rate);
    step->snap_unit = power(2 * length - mass - 2 * rate);
    step->crackle_unit = power(2 * length - mass - 3 * rate);
}

// The numbers of a source that came with the call, as those of the system's sources are kept.
FUNCTION void load_own(GLOBAL const char *own, const Columns *columns, long source, double numbers[SOURCE_ROWS])
{
    const double factorials[8] = {1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0};
    const Column *const derivatives = &columns->positions;
    numbers[0] = real_of(own, columns->times, source, 0);
    numbers[1] = real_of(own, columns->masses, source, 0);
    UNROLL
    for (int k = 0; k < N_COEFFICIENTS; ++k) {
        UNROLL
        for (int component = 0; component < 3; ++component)
            numbers[2 + 3 * k + component] = 0.0;
        if (derivatives[k].stride != 0) {
            GLOBAL const double *const vector = (GLOBAL const double *)(own + derivatives[k].offset + source * derivatives[k].stride);
            UNROLL
            for (int component = 0; component < 3; ++component)
                numbers[2 + 3 * k + component] = k < 2 ? vector[component] : vector[component] / factorials[k];
        }
    }
}

// The vectors of a sink, and its squared softening.
FUNCTION double load_vectors(const Step *step, const Columns *columns, GLOBAL const char *own,
    const Columns *sink_columns, GLOBAL const char *sinks, long number, double vectors[N_DERIVATIVES][3])
{
    if (step->is_batch) {
        double numbers[SOURCE_ROWS];
        load_own(own, columns, number, numbers);
        PredictionTarget target = step->target;
        target.nj = 1;
        predict_vectors(numbers, 0, target, vectors);
    } else {
        UNROLL
        for (int q = 0; q < N_DERIVATIVES; ++q) {
            UNROLL
            for (int component = 0; component < 3; ++component)
                vectors[q][component] = real_of(sinks, (&sink_columns->positions)[q], number, component);
        }
    }
    const Column each = sink_columns->softening2;
    return each.stride == 0 ? step->softening2 : real_of(sinks, each, number, 0);
}

// The binary exponent of the size of a number, as the library counts sizes; NO_SIZE of zero. It
// begins at a multiple of SIZE_WIDTH.
#define NO_SIZE (-100000)
FUNCTION int size_of(int exponent)
{
    const int size = exponent / SIZE_WIDTH;
    return size > 0 ? size * SIZE_WIDTH - 1023 : NO_SIZE;
}

FUNCTION int clamped(int number, int lowest, int highest)
{
    return number < lowest ? lowest : number > highest ? highest : number;
}

FUNCTION int floor_of_quotient(int number, int divisor)
{
    return number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor);
}

// The units of groups whose sources came with the call, as `Units::of_group` of the library chooses
// them. `lanes` threads have a group.
#define COUNTED_VECTORS (N_DERIVATIVES < 3 ? N_DERIVATIVES : 3)
#define MANY_BODIES_OF_LANE 16
KERNEL(LIST_THREADS, 1)
choose_units(const Step step, const Columns columns, const Columns sink_columns, GLOBAL const ListGroup *groups,
    const int count, const int lanes, GLOBAL const char *own, GLOBAL const char *sinks, GLOBAL int *units)
{
    // The largest exponents: of masses, of the vectors of sources, of those of sinks.
    LOCAL int all_largest[7 * LIST_THREADS];
    AFTER_EARLIER_KERNELS;
    const int lane = THREAD % lanes, team = THREAD / lanes, teams = LIST_THREADS / lanes, number = BLOCK * teams + team;
    UNROLL
    for (int k = 0; k < 7; ++k)
        all_largest[k * LIST_THREADS + THREAD] = 0;
    SYNC;
    // First the groups of few bodies, each of which has its threads; then all threads have one of the
    // others after the other.
    UNROLL_BY(1)
    for (int turn = 0; turn == 0 || (lanes < LIST_THREADS && turn <= teams); ++turn) {
        const int place = turn == 0 ? team : turn - 1, at = BLOCK * teams + place;
        const int first = turn == 0 ? lane : THREAD, threads = turn == 0 ? lanes : LIST_THREADS;
        ListGroup group;
        group.sources = 0;
        group.sinks = 0;
        if (at < count)
            group = groups[at];
        const int bodies = step.is_batch || group.sources > group.sinks ? group.sources : group.sinks;
        const int is_large = lanes < LIST_THREADS && bodies > MANY_BODIES_OF_LANE * lanes;
        if (is_large != (turn > 0))
            continue;
        int own_largest[7];
        UNROLL
        for (int k = 0; k < 7; ++k)
            own_largest[k] = 0;
        for (int source = first; source < group.sources; source += threads) {
            const long from = group.first_source + source;
            const int mass = exponent_of(real_of(own, columns.masses, from, 0));
            own_largest[0] = mass > own_largest[0] ? mass : own_largest[0];
            UNROLL
            for (int q = 0; q < COUNTED_VECTORS; ++q) {
                UNROLL
                for (int component = 0; component < 3; ++component) {
                    const int size = exponent_of(real_of(own, (&columns.positions)[q], from, component));
                    own_largest[1 + q] = size > own_largest[1 + q] ? size : own_largest[1 + q];
                }
            }
        }
        if (!step.is_batch) {
            for (int sink = first; sink < group.sinks; sink += threads) {
                UNROLL
                for (int q = 0; q < COUNTED_VECTORS; ++q) {
                    UNROLL
                    for (int component = 0; component < 3; ++component) {
                        const int size = exponent_of(real_of(sinks, (&sink_columns.positions)[q], (long)group.first_sink + sink, component));
                        own_largest[4 + q] = size > own_largest[4 + q] ? size : own_largest[4 + q];
                    }
                }
            }
        }
        UNROLL
        for (int k = 0; k < 7; ++k)
            ATOMIC_MAX(&all_largest[7 * place + k], own_largest[k]);
    }
    SYNC;
    if (lane == 0 && number < count) {
        int sizes[7];
        UNROLL
        for (int k = 0; k < 7; ++k)
            sizes[k] = size_of(all_largest[7 * team + (step.is_batch && k > 3 ? k - 3 : k)]);
        const int raised = sizes[4] == NO_SIZE ? NO_SIZE : sizes[4] - SINK_REACH;
        int far = sizes[1];
        if (far == NO_SIZE)
            far = raised == NO_SIZE ? 0 : raised;
        else if (raised != NO_SIZE)
            far = clamped(raised, far, far + MOST_RAISED);
        int mass = 0, length = 0, speed = 0;
#if SCALES_LENGTHS
        length = clamped(-far, -LONGEST_UNIT, LONGEST_UNIT);
        speed = length;
        int found = 0;
        UNROLL
        for (int q = 1; q < COUNTED_VECTORS; ++q) {
            const int fast = sizes[1 + q] != NO_SIZE ? sizes[1 + q] : sizes[4 + q];
            if (!found && fast != NO_SIZE) {
                speed = length + clamped(floor_of_quotient(-fast - length, q), -LONGEST_UNIT, LONGEST_UNIT);
                found = 1;
            }
        }
#endif
        if (sizes[0] != NO_SIZE) {
            const int weight = sizes[0] - 3 * (far + length);
            const int wanted = clamped(weight, LOWEST_WEIGHT, HIGHEST_WEIGHT) - weight;
            const int kept = clamped(wanted, LOWEST_MASS - sizes[0], HIGHEST_MASS - sizes[0]);
            mass = clamped(kept, -HEAVIEST_UNIT, HEAVIEST_UNIT);
        }
        units[3 * number] = mass;
        units[3 * number + 1] = length;
        units[3 * number + 2] = speed;
    }
}
