// Systems from where they are to their ends (crates/kyoho-few-body/src/evolve.rs).

// The part of the last step below which the rest of the interval is made in time itself.
#define SHORT_REST 1e-2

// Makes the end of the last attempt the state.
FUNCTION void take_step(System *system, double (*end)[3], double passed)
{
    const int rows = ROWS_OF(&system->motion);
    UNROLL_BY(1)
    for (int row = 0; row < rows; ++row)
        copy(system->state[row], end[row]);
    system->state[SCALARS(&system->motion)][0] = 0.0;
    const double added = passed + system->time[1];
    const double reached = system->time[0] + added;
    system->time[1] = added - (reached - system->time[0]);
    system->time[0] = reached;
    restore_energy(system);
    renew_links(system);
    restart_second(system);
    system->steps += 1.0;
}

// Makes a step, or tries it; returns what has ended the system, if anything has.
FUNCTION int advance_system(const FewBodyRules *rules, System *system, Extrapolation *step, GLOBAL const double *radii,
    long stride)
{
    const double rest = (rules->time - system->time[0]) - system->time[1];
    if (rest <= 0.0)
        return ENDED_BY_TIME;
    if (system->steps >= rules->max_steps)
        return ENDED_BY_STEPS;
    if (system->motion.clock == REGULAR_CLOCK && rest < SHORT_REST * system->usual) {
        system->motion.clock = TIME_CLOCK;
        system->step = rest;
    }
    if (system->motion.clock == TIME_CLOCK)
        system->step = fmin(system->step, rest);
    const int target = system->target;
    const double leapfrog_steps = system->leapfrog_steps;
    const int is_done = attempt_step(rules, system, step, system->step);
    const double passed = step->end[SCALARS(&system->motion)][0];
    const double next = is_done && !(passed > 0.0) ? 0.1 * system->step : step->next;
    if (!(next > 0.0 && is_finite(next)) || system->time[0] + 1e6 * fabs(passed) == system->time[0])
        return ENDED_WITHOUT_STEP;
    if (!is_done || passed <= 0.0) {
        system->step = next;
        return IS_UNDER_WAY;
    }
    if (passed > rest && system->motion.clock == REGULAR_CLOCK) {
        // A little less, so that the search ends.
        system->step = system->step * fmax(0.999 * rest / passed, 1e-3);
        return IS_UNDER_WAY;
    }
    if (rules->has_contacts && may_touch(rules, system, step->end, radii, stride)) {
        // The host makes this step, and looks for the moment.
        system->target = target;
        system->leapfrog_steps = leapfrog_steps;
        return MAY_TOUCH;
    }
    if (system->motion.clock == REGULAR_CLOCK)
        system->usual = passed;
    const int is_last = system->motion.clock == TIME_CLOCK && system->step == rest;
    take_step(system, step->end, is_last ? rest : passed);
    system->step = next;
    if (rules->escape_distance > 0.0 && has_escaper(system, rules->escape_distance))
        return ENDED_BY_ESCAPE;
    return IS_UNDER_WAY;
}

// The weight of light pairs, and whether there are any.
FUNCTION void find_light_pairs(Motion *motion, const double *masses)
{
    const int bodies = motion->bodies;
    double all = 0.0, number = 0.0;
    motion->total = 0.0;
    motion->heaviest = 0.0;
    UNROLL_BY(1)
    for (int body = 0; body < bodies; ++body) {
        motion->total += masses[body];
        motion->heaviest = fmax(motion->heaviest, masses[body]);
    }
    motion->inverse_total = 1.0 / (motion->total > 0.0 ? motion->total : (double)bodies);
    UNROLL_BY(1)
    for (int one = 0; one < bodies; ++one) {
        UNROLL_BY(1)
        for (int other = one + 1; other < bodies; ++other) {
            all += masses[one] * masses[other];
            number += 1.0;
        }
    }
    const double mean = motion->total / (double)bodies;
    motion->light_weight = all > 0.0 ? all / number : mean * mean;
    motion->any_light = 0;
    UNROLL_BY(1)
    for (int one = 0; one < bodies; ++one) {
        UNROLL_BY(1)
        for (int other = one + 1; other < bodies; ++other)
            motion->any_light |= masses[one] * masses[other] < LIGHT * motion->light_weight;
    }
}

// Takes up a system where its record stands. Number k of it stands at k strides, and so do words.
FUNCTION void read_system(const FewBodyRules *rules, System *system, GLOBAL const double *numbers,
    GLOBAL const int *words, long stride)
{
    Motion *motion = &system->motion;
    motion->bodies = rules->bodies;
    motion->has_second = rules->terms != 0;
    motion->clock = words[stride];
    system->target = words[2 * stride];
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        system->order[place] = words[(HEAD_WORDS + place) * stride];
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link)
        motion->parents[link] = words[(HEAD_WORDS + motion->bodies + link) * stride];
    system->time[0] = numbers[0];
    system->time[1] = numbers[stride];
    system->step = numbers[2 * stride];
    system->usual = numbers[3 * stride];
    system->steps = numbers[4 * stride];
    system->leapfrog_steps = numbers[5 * stride];
    double masses[MOST];
    UNROLL_BY(1)
    for (int body = 0; body < motion->bodies; ++body)
        masses[body] = numbers[(HEAD_NUMBERS + body) * stride];
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        motion->masses[place] = masses[system->order[place]];
    const int rows = ROWS_OF(motion), before = HEAD_NUMBERS + 2 * motion->bodies;
    UNROLL_BY(1)
    for (int row = 0; row < rows; ++row) {
        UNROLL
        for (int axis = 0; axis < 3; ++axis)
            system->state[row][axis] = numbers[(before + 3 * row + axis) * stride];
    }
    find_light_pairs(motion, masses);
    find_anchor(motion);
    find_paths(motion);
}

// Writes the record of a system, and what has ended it.
FUNCTION void write_system(const System *system, int end, GLOBAL double *numbers, GLOBAL int *words, long stride)
{
    const Motion *motion = &system->motion;
    words[0] = end;
    words[stride] = motion->clock;
    words[2 * stride] = system->target;
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        words[(HEAD_WORDS + place) * stride] = system->order[place];
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link)
        words[(HEAD_WORDS + motion->bodies + link) * stride] = motion->parents[link];
    numbers[0] = system->time[0];
    numbers[stride] = system->time[1];
    numbers[2 * stride] = system->step;
    numbers[3 * stride] = system->usual;
    numbers[4 * stride] = system->steps;
    numbers[5 * stride] = system->leapfrog_steps;
    const int rows = ROWS_OF(motion), before = HEAD_NUMBERS + 2 * motion->bodies;
    UNROLL_BY(1)
    for (int row = 0; row < rows; ++row) {
        UNROLL
        for (int axis = 0; axis < 3; ++axis)
            numbers[(before + 3 * row + axis) * stride] = system->state[row][axis];
    }
}

// Advances each of some systems that have one number of bodies by at most so many attempts at a step.
KERNEL(FEW_BODY_THREADS, 1)
advance_systems(const FewBodyRules rules, GLOBAL double *numbers, GLOBAL int *words)
{
    const int slot = BLOCK * FEW_BODY_THREADS + THREAD;
    const long stride = rules.slots;
    if (slot < rules.systems && words[slot] == IS_UNDER_WAY) {
        System system;
        Extrapolation step;
        int end = IS_UNDER_WAY;
        read_system(&rules, &system, numbers + slot, words + slot, stride);
        GLOBAL const double *radii = numbers + slot + (HEAD_NUMBERS + rules.bodies) * stride;
        UNROLL_BY(1)
        for (int attempt = 0; attempt < rules.attempts && end == IS_UNDER_WAY; ++attempt)
            end = advance_system(&rules, &system, &step, radii, stride);
        write_system(&system, end, numbers + slot, words + slot, stride);
    }
}
