// Whether bodies may touch during a step (crates/kyoho-few-body/src/evolve.rs).

// A passage is looked at closely where the orbit's pericentre is below this many times the distance at
// which the bodies touch.
#define NEAR 2.0
#define TAU 6.283185307179586

// Whether a step takes more than half the period of an orbit on which two bodies may touch, so that they
// might pass one another unseen.
FUNCTION int hides_passage(double mass, const double separation[3], const double velocity[3], double touch, double passed)
{
    double axis, eccentricity, pericentre;
    if (!(mass > 0.0))
        return 0;
    find_orbit(mass, separation, velocity, &axis, &eccentricity, &pericentre);
    return pericentre < NEAR * touch && axis > 0.0 && passed > 0.5 * (TAU * axis * sqrt(axis / mass));
}

FUNCTION int passes_near(double mass, const double separation[3], const double velocity[3], double touch)
{
    double axis, eccentricity, pericentre;
    if (mass == 0.0)
        return 1;
    find_orbit(mass, separation, velocity, &axis, &eccentricity, &pericentre);
    return pericentre < NEAR * touch;
}

// Whether a pair that touches at a distance may do so in a step between two separations and velocities.
FUNCTION int pair_may_touch(double mass, double touch, double passed, const double before[3], const double speed[3],
    const double after[3], const double speed_after[3])
{
    if (hides_passage(mass, before, speed, touch, passed) || hides_passage(mass, after, speed_after, touch, passed))
        return 1;
    // Bodies that overlap from the start may part, and touch where they turn round or come back.
    if (norm(before) < touch && dot(before, speed) > 0.0)
        return norm(after) < touch && dot(after, speed_after) <= 0.0;
    if (norm(after) < touch)
        return 1;
    return dot(before, speed) < 0.0 && dot(after, speed_after) >= 0.0
        && (passes_near(mass, before, speed, touch) || passes_near(mass, after, speed_after, touch));
}

// Whether a pair may touch during a step that was done. The radii of bodies have a stride.
FUNCTION int may_touch(const FewBodyRules *rules, System *system, double (*end)[3], GLOBAL const double *radii,
    long stride)
{
    Motion *motion = &system->motion;
    // The places at the end of the step, which far pairs need.
    double positions[MOST][3], velocities[MOST][3];
    if (motion->any_far) {
        find_places(motion, system->state, motion->positions);
        find_places(motion, system->state + LINKS(motion), motion->velocities);
        find_places(motion, end, positions);
        find_places(motion, end + LINKS(motion), velocities);
    }
    int found = 0;
    UNROLL_BY(1)
    for (int second = 1; second < motion->bodies; ++second) {
        UNROLL_BY(1)
        for (int first = 0; first < second; ++first) {
            const int path = motion->paths[PAIR(first, second)];
            const double mass = motion->masses[first] + motion->masses[second];
            const double touch = rules->stops_at_collision
                ? radii[system->order[first] * stride] + radii[system->order[second] * stride]
                : 0.0;
            const double innermost
                = rules->terms != 0 ? 6.0 * mass / (rules->speed_of_light * rules->speed_of_light) : 0.0;
            double before[3], speed[3], after[3], speed_after[3];
            between(before, path, first, second, system->state, motion->positions);
            between(speed, path, first, second, system->state + LINKS(motion), motion->velocities);
            between(after, path, first, second, end, positions);
            between(speed_after, path, first, second, end + LINKS(motion), velocities);
            found |= pair_may_touch(mass, fmax(touch, innermost), end[SCALARS(motion)][0], before, speed, after, speed_after);
        }
    }
    return found;
}
