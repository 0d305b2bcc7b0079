// The regularised motion (crates/kyoho-few-body/src/motion.rs): a leapfrog in a time of its own, which
// runs slowly where bodies are near.

// A pair counts as light where the product of its masses is below this part of the mean product.
#define LIGHT 1e-3
// The least part of the potential that the kinetic energy has where velocities are scaled.
#define LEAST_KINETIC 0.25
// Velocities that would change by a larger part are left as they are.
#define LARGEST_CORRECTION 1e-3

#define REGULAR_CLOCK 0
#define TIME_CLOCK 1

// The kinetic energy in the frame of the centre of mass.
FUNCTION double kinetic_energy(Motion *motion, double (*state)[3])
{
    double sum = 0.0;
    find_places(motion, state + LINKS(motion), motion->velocities);
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        sum += motion->masses[place] * dot(motion->velocities[place], motion->velocities[place]);
    return 0.5 * sum;
}

// How much of the clock passes in a unit of time, at a state's velocities.
FUNCTION double rate_of(Motion *motion, double (*state)[3])
{
    if (motion->clock == TIME_CLOCK || motion->total == 0.0)
        return 1.0;
    const double light = motion->any_light ? state[SCALARS(motion)][2] : 0.0;
    return kinetic_energy(motion, state) + state[SCALARS(motion)][1] + light;
}

// Newton's accelerations, and the two functions of the clock.
FUNCTION void find_newton(Motion *motion, double (*separations)[3], double *potential, double *light)
{
    double potential_sum = 0.0, light_sum = 0.0;
    if (motion->any_far)
        find_places(motion, separations, motion->positions);
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place) {
        clear(motion->newton[place]);
        clear(motion->gradient[place]);
    }
    UNROLL_BY(1)
    for (int second = 1; second < motion->bodies; ++second) {
        UNROLL_BY(1)
        for (int first = 0; first < second; ++first) {
            double separation[3];
            between(separation, motion->paths[PAIR(first, second)], first, second, separations, motion->positions);
            const double mass = motion->masses[first], other_mass = motion->masses[second];
            const double inverse = 1.0 / sqrt(dot(separation, separation));
            const double cube = inverse * inverse * inverse;
            add_scaled(motion->newton[first], other_mass * cube, separation);
            add_scaled(motion->newton[second], -mass * cube, separation);
            const double product = mass * other_mass;
            potential_sum += product * inverse;
            if (product < LIGHT * motion->light_weight) {
                light_sum += motion->light_weight * inverse;
                add_scaled(motion->gradient[first], motion->light_weight * cube, separation);
                add_scaled(motion->gradient[second], -motion->light_weight * cube, separation);
            }
        }
    }
    *potential = potential_sum;
    *light = light_sum;
}

// The accelerations by all but Newton's forces, with these velocities of links.
FUNCTION void find_others(const FewBodyRules *rules, Motion *motion, double (*state)[3], double (*velocities)[3])
{
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        clear(motion->other[place]);
    if (rules->terms == 0)
        return;
    if (motion->any_far)
        find_places(motion, velocities, motion->velocities);
    UNROLL_BY(1)
    for (int second = 1; second < motion->bodies; ++second) {
        UNROLL_BY(1)
        for (int first = 0; first < second; ++first) {
            const int path = motion->paths[PAIR(first, second)];
            const double mass = motion->masses[first] + motion->masses[second];
            if (mass == 0.0)
                continue;
            const double eta = motion->masses[first] * motion->masses[second] / (mass * mass);
            double separation[3], velocity[3], factors[2];
            between(separation, path, first, second, state, motion->positions);
            between(velocity, path, first, second, velocities, motion->velocities);
            relativistic_factors(rules, mass, eta, separation, velocity, factors);
            UNROLL
            for (int axis = 0; axis < 3; ++axis) {
                const double relative = factors[0] * separation[axis] + factors[1] * velocity[axis];
                motion->other[first][axis] -= motion->masses[second] / mass * relative;
                motion->other[second][axis] += motion->masses[first] / mass * relative;
            }
        }
    }
}

// Adds all accelerations for a time to these velocities of links.
FUNCTION void add_velocities(Motion *motion, double (*velocities)[3], double time)
{
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link) {
        const int parent = motion->parents[link];
        UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            const double inner = motion->newton[link + 1][axis] - motion->newton[parent][axis];
            const double outer = motion->other[link + 1][axis] - motion->other[parent][axis];
            velocities[link][axis] += time * (inner + outer);
        }
    }
}

// Lets the binding energy and the light pairs' function follow for a time of motion at these
// velocities of links.
FUNCTION void follow(Motion *motion, double (*state)[3], double (*velocities)[3], double time)
{
    double power = 0.0, change = 0.0;
    find_places(motion, velocities, motion->velocities);
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place) {
        power += motion->masses[place] * dot(motion->velocities[place], motion->other[place]);
        change += dot(motion->velocities[place], motion->gradient[place]);
    }
    state[SCALARS(motion)][1] -= time * power;
    state[SCALARS(motion)][2] += time * change;
}

// Kicks where more acts than Newton's forces between equals: by velocities, or by the function of
// light pairs, which has to follow.
FUNCTION void kick_with_others(const FewBodyRules *rules, Motion *motion, double (*state)[3], double time)
{
    double mean[MOST_LINKS][3], (*velocities)[3] = state + LINKS(motion), (*second)[3] = state + SECOND(motion);
    if (motion->has_second) {
        // The terms stand once in the code: they act on the second velocities for half of the time, on
        // the velocities, and on the second ones again.
        UNROLL_BY(1)
        for (int turn = 0; turn < 3; ++turn) {
            UNROLL_BY(1)
            for (int link = 0; link < LINKS(motion); ++link) {
                UNROLL
                for (int axis = 0; axis < 3; ++axis)
                    mean[link][axis] = turn == 1 ? second[link][axis] : velocities[link][axis];
            }
            find_others(rules, motion, state, mean);
            if (turn == 1) {
                add_velocities(motion, velocities, time);
                follow(motion, state, mean, time);
            } else {
                add_velocities(motion, second, 0.5 * time);
            }
        }
        return;
    }
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link)
        copy(mean[link], velocities[link]);
    find_others(rules, motion, state, velocities);
    add_velocities(motion, velocities, time);
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link) {
        UNROLL
        for (int axis = 0; axis < 3; ++axis)
            mean[link][axis] = 0.5 * (mean[link][axis] + velocities[link][axis]);
    }
    follow(motion, state, mean, time);
}

FUNCTION void drift(Motion *motion, double (*state)[3], double step)
{
    const double time = step / rate_of(motion, state);
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link)
        add_scaled(state[link], time, state[LINKS(motion) + link]);
    state[SCALARS(motion)][0] += time;
}

FUNCTION void kick(const FewBodyRules *rules, Motion *motion, double (*state)[3], double step)
{
    double potential, light;
    find_newton(motion, state, &potential, &light);
    const double rate = motion->clock == TIME_CLOCK || motion->total == 0.0 ? 1.0 : potential + light;
    const double time = step / rate;
    if (motion->has_second || motion->any_light) {
        kick_with_others(rules, motion, state, time);
        return;
    }
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link) {
        UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            const double parent = motion->newton[motion->parents[link]][axis];
            state[LINKS(motion) + link][axis] += time * (motion->newton[link + 1][axis] - parent);
        }
    }
}

// Advances a state by so many equal steps, `interval` of the clock in all. They begin and end with
// drifts.
FUNCTION void leapfrog(const FewBodyRules *rules, System *system, double (*state)[3], double interval, int steps)
{
    Motion *motion = &system->motion;
    const double step = interval / (double)steps;
    UNROLL_BY(1)
    for (int at = 0; at <= steps; ++at) {
        drift(motion, state, at == 0 || at == steps ? 0.5 * step : step);
        if (at < steps)
            kick(rules, motion, state, step);
    }
}

FUNCTION void restart_second(System *system)
{
    Motion *motion = &system->motion;
    if (motion->has_second) {
        UNROLL_BY(1)
        for (int link = 0; link < LINKS(motion); ++link)
            copy(system->state[SECOND(motion) + link], system->state[LINKS(motion) + link]);
    }
}

// Scales the velocities of all but light bodies so that the energy is what the binding energy says.
FUNCTION void restore_energy(System *system)
{
    Motion *motion = &system->motion;
    double potential, light;
    find_newton(motion, system->state, &potential, &light);
    // It finds the velocities of places.
    const double kinetic = kinetic_energy(motion, system->state);
    const double wanted = potential - system->state[SCALARS(motion)][1];
    if (kinetic < LEAST_KINETIC * potential)
        return;
    const double change = sqrt(wanted / kinetic) - 1.0;
    if (fabs(change) < LARGEST_CORRECTION) {
        UNROLL_BY(1)
        for (int place = 0; place < motion->bodies; ++place) {
            if (motion->masses[place] * motion->heaviest < LIGHT * motion->light_weight)
                clear(motion->velocities[place]);
        }
        UNROLL_BY(1)
        for (int link = 0; link < LINKS(motion); ++link) {
            double velocity[3];
            subtract(velocity, motion->velocities[link + 1], motion->velocities[motion->parents[link]]);
            add_scaled(system->state[LINKS(motion) + link], change, velocity);
        }
    }
}
