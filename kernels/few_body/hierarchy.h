// Who is bound to whom, and whether a part has left (crates/kyoho-few-body/src/hierarchy.rs).

typedef struct {
    double mass;
    double position[3];
    double velocity[3];
    // The largest separation of its two parts, 0 for one body.
    double size;
} Part;

// The energy of the relative motion for a reduced mass of 1.
FUNCTION double orbital_energy(double mass, const double separation[3], const double velocity[3])
{
    return 0.5 * dot(velocity, velocity) - mass / norm(separation);
}

// The semi-major axis and the eccentricity of an orbit, and its pericentre.
FUNCTION void find_orbit(double mass, const double separation[3], const double velocity[3], double *semi_major_axis,
    double *eccentricity, double *pericentre)
{
    double momentum[3], along[3];
    const double distance = norm(separation);
    const double energy = orbital_energy(mass, separation, velocity);
    cross(momentum, separation, velocity);
    cross(along, velocity, momentum);
    UNROLL
    for (int axis = 0; axis < 3; ++axis)
        along[axis] = 1.0 / mass * along[axis] - 1.0 / distance * separation[axis];
    *eccentricity = norm(along);
    *semi_major_axis = energy == 0.0 ? INFINITY_64 : -0.5 * mass / energy;
    *pericentre = dot(momentum, momentum) / (mass * (1.0 + *eccentricity));
}

// Joins the two parts with the smallest orbit around one another; returns whether there are such.
FUNCTION int join_tightest(Part *parts, int *count)
{
    int first = -1, second = -1;
    double smallest = 0.0, extent = 0.0;
    UNROLL_BY(1)
    for (int one = 0; one < *count; ++one) {
        UNROLL_BY(1)
        for (int other = one + 1; other < *count; ++other) {
            const double mass = parts[one].mass + parts[other].mass;
            double separation[3], velocity[3], axis, eccentricity, pericentre;
            subtract(separation, parts[other].position, parts[one].position);
            subtract(velocity, parts[other].velocity, parts[one].velocity);
            if (mass == 0.0 || orbital_energy(mass, separation, velocity) >= 0.0)
                continue;
            find_orbit(mass, separation, velocity, &axis, &eccentricity, &pericentre);
            if (first < 0 || axis < smallest) {
                first = one;
                second = other;
                smallest = axis;
                extent = axis * (1.0 + eccentricity);
            }
        }
    }
    if (first < 0)
        return 0;
    const Part low = parts[first], high = parts[second];
    Part joined;
    joined.mass = low.mass + high.mass;
    joined.size = extent;
    UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        joined.position[axis] = (low.mass * low.position[axis] + high.mass * high.position[axis]) / joined.mass;
        joined.velocity[axis] = (low.mass * low.velocity[axis] + high.mass * high.velocity[axis]) / joined.mass;
    }
    // The last part takes the place of one that goes, the later one first.
    *count -= 1;
    parts[second] = parts[*count];
    *count -= 1;
    parts[first] = parts[*count];
    parts[*count] = joined;
    *count += 1;
    return 1;
}

FUNCTION double part_distance(const Part *one, const Part *other)
{
    double separation[3];
    subtract(separation, other->position, one->position);
    return norm(separation);
}

// Whether a part moves away from each other.
FUNCTION int recedes(const Part *parts, int count, int one)
{
    int is_so = 1;
    UNROLL_BY(1)
    for (int other = 0; other < count; ++other) {
        double separation[3], velocity[3];
        subtract(separation, parts[other].position, parts[one].position);
        subtract(velocity, parts[other].velocity, parts[one].velocity);
        if (other != one && !(dot(separation, velocity) > 0.0))
            is_so = 0;
    }
    return is_so;
}

// Whether a part has the energy to leave all others together.
FUNCTION int is_unbound_from_rest(const Part *parts, int count, int one)
{
    double mass = 0.0, position[3], velocity[3];
    clear(position);
    clear(velocity);
    UNROLL_BY(1)
    for (int other = 0; other < count; ++other) {
        if (other == one)
            continue;
        mass += parts[other].mass;
        add_scaled(position, parts[other].mass, parts[other].position);
        add_scaled(velocity, parts[other].mass, parts[other].velocity);
    }
    if (mass == 0.0)
        return 1;
    UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        position[axis] = position[axis] / mass - parts[one].position[axis];
        velocity[axis] = velocity[axis] / mass - parts[one].velocity[axis];
    }
    return orbital_energy(mass + parts[one].mass, position, velocity) > 0.0;
}

// Whether all others are farther from a part than this many times its size and, of each, than this many
// times G M / v^2.
FUNCTION int is_clear(const Part *parts, int count, int one, double distance)
{
    int is_so = 1;
    UNROLL_BY(1)
    for (int other = 0; other < count; ++other) {
        double velocity[3];
        subtract(velocity, parts[other].velocity, parts[one].velocity);
        const double far = part_distance(&parts[one], &parts[other]);
        const int is_other_clear = far > distance * parts[one].size
            && far * dot(velocity, velocity) > distance * (parts[one].mass + parts[other].mass);
        if (other != one && !is_other_clear)
            is_so = 0;
    }
    return is_so;
}

// Whether a part is farther from the others than this many times the extents of both.
FUNCTION int is_far(const Part *parts, int count, int one, double distance)
{
    double nearest = INFINITY_64, extent = parts[one].size;
    UNROLL_BY(1)
    for (int first = 0; first < count; ++first) {
        if (first == one)
            continue;
        nearest = fmin(nearest, part_distance(&parts[one], &parts[first]));
        UNROLL_BY(1)
        for (int second = 0; second < count; ++second) {
            if (second != one)
                extent = fmax(extent,
                    part_distance(&parts[second], &parts[first]) + fmax(parts[first].size, parts[second].size));
        }
    }
    return nearest > distance * extent;
}

// The energy of the parts' motion around one another, in the frame of their centre of mass.
FUNCTION double energy_of_parts(const Part *parts, int count)
{
    double total = 0.0, energy = 0.0;
    UNROLL_BY(1)
    for (int one = 0; one < count; ++one)
        total += parts[one].mass;
    UNROLL_BY(1)
    for (int one = 0; one < count; ++one) {
        UNROLL_BY(1)
        for (int second = 0; second < one; ++second) {
            double velocity[3];
            subtract(velocity, parts[one].velocity, parts[second].velocity);
            const double potential = total / part_distance(&parts[second], &parts[one]);
            energy += parts[one].mass * parts[second].mass * (0.5 * dot(velocity, velocity) - potential);
        }
    }
    return energy;
}

// Whether a part has left.
FUNCTION int has_escaper(System *system, double distance)
{
    Part parts[MOST];
    Motion *motion = &system->motion;
    int count = motion->bodies;
    find_places(motion, system->state, motion->positions);
    find_places(motion, system->state + LINKS(motion), motion->velocities);
    UNROLL_BY(1)
    for (int place = 0; place < count; ++place) {
        Part *part = &parts[system->order[place]];
        part->mass = motion->masses[place];
        copy(part->position, motion->positions[place]);
        copy(part->velocity, motion->velocities[place]);
        part->size = 0.0;
    }
    while (join_tightest(parts, &count)) {
    }
    if (count < 2)
        return 0;
    int all_leave = 1, one_is_far = 0;
    UNROLL_BY(1)
    for (int one = 0; one < count; ++one) {
        const int leaves = recedes(parts, count, one) && is_unbound_from_rest(parts, count, one);
        all_leave &= leaves && is_clear(parts, count, one, distance);
        one_is_far |= leaves && is_far(parts, count, one, distance);
    }
    return one_is_far || (all_leave && energy_of_parts(parts, count) > 0.0);
}
