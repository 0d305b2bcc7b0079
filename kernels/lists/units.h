// The units of groups whose sources came with the call, as `Units::of_group` of the library chooses
// them.

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

// The largest exponents of the components of the first vectors of a body.
FUNCTION void take_exponents(GLOBAL const char *bodies, const Columns *columns, long body, int vectors, int largest[3])
{
    UNROLL
    for (int q = 0; q < 3; ++q) {
        UNROLL
        for (int component = 0; component < 3; ++component) {
            const int exponent = q < vectors ? exponent_of(real_of(bodies, (&columns->positions)[q], body, component)) : 0;
            largest[q] = exponent > largest[q] ? exponent : largest[q];
        }
    }
}

// `lanes` threads have a group, a power of two. If it `checks`, it finds the first source that is not
// good too, as check_bodies does.
#define MANY_BODIES_OF_LANE 16
// One more than the threads, so that the exponents of a thread are in different banks.
#define UNIT_ROW (UNIT_THREADS + 1)
KERNEL(UNIT_THREADS, 10)
choose_units(const Columns columns, const Columns sink_columns, GLOBAL const ListGroup *groups, const int count,
    const int lanes, const int is_batch, const UnitBounds rules, const int checks, const BodyBounds bounds, const int check,
    GLOBAL const char *own, GLOBAL const char *sinks, GLOBAL int *units, GLOBAL int *found)
{
    // The largest exponents of each thread: of masses, of the vectors of sources, of those of sinks.
    LOCAL int of_threads[7 * UNIT_ROW];
    LOCAL int largest[7 * UNIT_THREADS];
    LOCAL int some_are_large;
    AFTER_EARLIER_KERNELS;
    const int lane = THREAD % lanes, team = THREAD / lanes, teams = UNIT_THREADS / lanes, number = BLOCK * teams + team;
    UNROLL
    for (int k = 0; k < 7; ++k)
        largest[k * UNIT_THREADS + THREAD] = 0;
    if (THREAD == 0)
        some_are_large = 0;
    SYNC;
    int bad = 0;
    // First the groups of few bodies, each of which has its threads; then all threads have one of the
    // others after the other.
    UNROLL_BY(1)
    for (int turn = 0; turn == 0 || (some_are_large && turn <= teams); ++turn) {
        const int place = turn == 0 ? team : turn - 1, at = BLOCK * teams + place;
        const int first = turn == 0 ? lane : THREAD, threads = turn == 0 ? lanes : UNIT_THREADS;
        ListGroup group;
        group.sources = 0;
        group.sinks = 0;
        if (at < count)
            group = groups[at];
        const int bodies = is_batch || group.sources > group.sinks ? group.sources : group.sinks;
        const int is_large = lanes < UNIT_THREADS && bodies > MANY_BODIES_OF_LANE * lanes;
        if (is_large && turn == 0)
            some_are_large = 1;
        int own_largest[7];
        UNROLL
        for (int k = 0; k < 7; ++k)
            own_largest[k] = 0;
        if (is_large == (turn > 0)) {
            for (int source = first; source < group.sources; source += threads) {
                const long from = group.first_source + source;
                const int mass = exponent_of(real_of(own, columns.masses, from, 0));
                own_largest[0] = mass > own_largest[0] ? mass : own_largest[0];
                take_exponents(own, &columns, from, rules.vectors, own_largest + 1);
                if (checks && !is_good_body(own, &columns, &bounds, from))
                    bad = bad > LARGEST_INDEX - (int)from ? bad : LARGEST_INDEX - (int)from;
            }
            for (int sink = first; !is_batch && sink < group.sinks; sink += threads)
                take_exponents(sinks, &sink_columns, (long)group.first_sink + sink, rules.vectors, own_largest + 4);
        }
        UNROLL
        for (int k = 0; k < 7; ++k) {
            if (turn == 0)
                of_threads[k * UNIT_ROW + THREAD] = own_largest[k];
            else if (is_large)
                ATOMIC_MAX(&of_threads[k * UNIT_ROW + place * lanes], own_largest[k]);
        }
        SYNC;
    }
    // A task has a part of the threads of a group.
    const int parts = lanes < 16 ? 1 : 4, of_part = lanes / parts;
    for (int task = THREAD; task < 7 * teams * parts; task += UNIT_THREADS) {
        const int k = task / (teams * parts), place = task / parts % teams;
        const int from = k * UNIT_ROW + task % (teams * parts) * of_part;
        int all = 0;
        for (int other = 0; other < of_part; ++other)
            all = of_threads[from + other] > all ? of_threads[from + other] : all;
        ATOMIC_MAX(&largest[7 * place + k], all);
    }
    SYNC;
    if (bad > 0)
        ATOMIC_MAX(FOUND_BY(check), bad);
    if (lane == 0 && number < count) {
        int sizes[7];
        UNROLL
        for (int k = 0; k < 7; ++k)
            sizes[k] = size_of(largest[7 * team + (is_batch && k > 3 ? k - 3 : k)]);
        const int raised = sizes[4] == NO_SIZE ? NO_SIZE : sizes[4] - SINK_REACH;
        int far = sizes[1];
        if (far == NO_SIZE)
            far = raised == NO_SIZE ? 0 : raised;
        else if (raised != NO_SIZE)
            far = clamped(raised, far, far + MOST_RAISED);
        int mass = 0, length = 0, speed = 0;
        if (rules.scales_lengths) {
            length = clamped(-far, -LONGEST_UNIT, LONGEST_UNIT);
            speed = length;
            int found_speed = 0;
            UNROLL
            for (int q = 1; q < 3; ++q) {
                const int fast = sizes[1 + q] != NO_SIZE ? sizes[1 + q] : sizes[4 + q];
                if (q < rules.vectors && !found_speed && fast != NO_SIZE) {
                    speed = length + clamped(floor_of_quotient(-fast - length, q), -LONGEST_UNIT, LONGEST_UNIT);
                    found_speed = 1;
                }
            }
        }
        if (sizes[0] != NO_SIZE) {
            const int weight = sizes[0] - 3 * (far + length);
            const int wanted = clamped(weight, rules.lowest_weight, rules.highest_weight) - weight;
            const int kept = clamped(wanted, rules.lowest_mass - sizes[0], rules.highest_mass - sizes[0]);
            mass = clamped(kept, -HEAVIEST_UNIT, HEAVIEST_UNIT);
        }
        units[3 * number] = mass;
        units[3 * number + 1] = length;
        units[3 * number + 2] = speed;
    }
}
