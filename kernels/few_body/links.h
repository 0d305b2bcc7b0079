// The tree of shortest links (crates/kyoho-few-body/src/links.rs).

// A body counts as the only heavy one where all others have less than this part of the mass.
#define LITTLE 1e-3

// The path from a place to a later one is the link of the later one, that and another link, that less
// another link, or far: the difference of positions.
#define ONE_LINK 0
#define SUM_OF_LINKS 1
#define DIFFERENCE_OF_LINKS 2
#define FAR_PATH 3
#define PATH(kind, other) ((kind) | (other) << 2)
#define PAIR(first, second) ((second) * ((second) - 1) / 2 + (first))

// The vector between two places by a path, from the values of links and of places.
FUNCTION void between(double to[3], int path, int first, int second, double (*links)[3], double (*places)[3])
{
    const int kind = path & 3, other = path >> 2;
    UNROLL
    for (int axis = 0; axis < 3; ++axis) {
        const double own = links[second - 1][axis];
        const double value = second > 1 ? links[other][axis] : 0.0;
        to[axis] = kind == ONE_LINK ? own : kind == SUM_OF_LINKS ? value + own : own - value;
        if (kind == FAR_PATH)
            to[axis] = places[second][axis] - places[first][axis];
    }
}

FUNCTION void find_paths(Motion *motion)
{
    motion->any_far = 0;
    UNROLL_BY(1)
    for (int second = 1; second < motion->bodies; ++second) {
        const int above = motion->parents[second - 1];
        const int above_that = above > 0 ? motion->parents[above - 1] : -1;
        UNROLL_BY(1)
        for (int first = 0; first < second; ++first) {
            int path = PATH(FAR_PATH, 0);
            if (above == first)
                path = PATH(ONE_LINK, 0);
            else if (above_that == first)
                path = PATH(SUM_OF_LINKS, above - 1);
            else if (first > 0 && motion->parents[first - 1] == above)
                path = PATH(DIFFERENCE_OF_LINKS, first - 1);
            motion->any_far |= (path & 3) == FAR_PATH;
            motion->paths[PAIR(first, second)] = path;
        }
    }
}

// What a place counts in the mean: its mass, or 1 where nothing has a mass.
FUNCTION double weight_of(const Motion *motion, int place)
{
    return motion->total > 0.0 ? motion->masses[place] : 1.0;
}

// The place from which the mean is found: that of the only heavy body, if there is one, else the first.
FUNCTION void find_anchor(Motion *motion)
{
    int heaviest = 0;
    UNROLL_BY(1)
    for (int place = 1; place < motion->bodies; ++place) {
        if (motion->masses[place] > motion->masses[heaviest])
            heaviest = place;
    }
    motion->anchor = motion->total - motion->masses[heaviest] < LITTLE * motion->total ? heaviest : 0;
}

// The positions or velocities of places relative to their mean.
FUNCTION void find_places(Motion *motion, double (*links)[3], double (*places)[3])
{
    double mean[3];
    clear(places[0]);
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link) {
        UNROLL
        for (int axis = 0; axis < 3; ++axis)
            places[link + 1][axis] = places[motion->parents[link]][axis] + links[link][axis];
    }
    if (motion->anchor > 0) {
        double origin[3];
        copy(origin, places[motion->anchor]);
        UNROLL_BY(1)
        for (int place = 0; place < motion->bodies; ++place)
            subtract(places[place], places[place], origin);
    }
    clear(mean);
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        add_scaled(mean, weight_of(motion, place), places[place]);
    UNROLL
    for (int axis = 0; axis < 3; ++axis)
        mean[axis] = motion->inverse_total * mean[axis];
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place)
        subtract(places[place], places[place], mean);
}

FUNCTION double square_between(double (*positions)[3], int one, int other)
{
    double separation[3];
    subtract(separation, positions[one], positions[other]);
    return dot(separation, separation);
}

// The order in which the shortest links join places, and the parents of all but the first.
FUNCTION void find_shortest(int bodies, double (*positions)[3], int *order, int *parents)
{
    int root = 0, joined, nearest[MOST];
    double least = INFINITY_64;
    UNROLL_BY(1)
    for (int one = 0; one < bodies; ++one) {
        UNROLL_BY(1)
        for (int other = one + 1; other < bodies; ++other) {
            const double square = square_between(positions, one, other);
            if (square < least) {
                root = one;
                least = square;
            }
        }
    }
    joined = 1 << root;
    order[0] = root;
    UNROLL_BY(1)
    for (int body = 0; body < bodies; ++body)
        nearest[body] = 0;
    UNROLL_BY(1)
    for (int link = 0; link + 1 < bodies; ++link) {
        int next = -1;
        double shortest = 0.0;
        UNROLL_BY(1)
        for (int body = 0; body < bodies; ++body) {
            if (joined >> body & 1)
                continue;
            const double square = square_between(positions, body, order[nearest[body]]);
            if (next < 0 || square < shortest) {
                next = body;
                shortest = square;
            }
        }
        joined |= 1 << next;
        parents[link] = nearest[next];
        order[link + 1] = next;
        UNROLL_BY(1)
        for (int body = 0; body < bodies; ++body) {
            if (!(joined >> body & 1)
                && square_between(positions, body, next) < square_between(positions, body, order[nearest[body]]))
                nearest[body] = link + 1;
        }
    }
}

// Writes the values of new links from those of links and places in the old order, in place.
FUNCTION void carry_over(Motion *motion, int *order, int *parents, double (*links)[3], double (*places)[3])
{
    double old[MOST_LINKS][3];
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link)
        copy(old[link], links[link]);
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link) {
        const int from = order[parents[link]], to = order[link + 1];
        const int first = from < to ? from : to, second = from < to ? to : from;
        const int path = motion->paths[PAIR(first, second)], kind = path & 3, other = path >> 2;
        UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            const double own = old[second - 1][axis];
            double value = own;
            if (kind == SUM_OF_LINKS)
                value = old[other][axis] + own;
            else if (kind == DIFFERENCE_OF_LINKS)
                value = own - old[other][axis];
            else if (kind == FAR_PATH)
                value = places[second][axis] - places[first][axis];
            links[link][axis] = from < to ? value : -value;
        }
    }
}

// Joins the bodies anew where other links have become the shortest.
FUNCTION void renew_links(System *system)
{
    Motion *motion = &system->motion;
    if (LINKS(motion) < 2)
        return;
    int order[MOST], parents[MOST_LINKS], are_other = 0;
    find_places(motion, system->state, motion->positions);
    find_shortest(motion->bodies, motion->positions, order, parents);
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link) {
        int is_there = 0;
        const int from = motion->parents[link], to = link + 1;
        UNROLL_BY(1)
        for (int other = 0; other < LINKS(motion); ++other) {
            const int start = order[parents[other]], end = order[other + 1];
            is_there |= (start == from && end == to) || (start == to && end == from);
        }
        are_other |= !is_there;
    }
    if (!are_other)
        return;
    find_places(motion, system->state + LINKS(motion), motion->velocities);
    carry_over(motion, order, parents, system->state, motion->positions);
    carry_over(motion, order, parents, system->state + LINKS(motion), motion->velocities);
    double masses[MOST];
    int bodies[MOST];
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place) {
        masses[place] = motion->masses[order[place]];
        bodies[place] = system->order[order[place]];
    }
    UNROLL_BY(1)
    for (int place = 0; place < motion->bodies; ++place) {
        motion->masses[place] = masses[place];
        system->order[place] = bodies[place];
    }
    UNROLL_BY(1)
    for (int link = 0; link < LINKS(motion); ++link)
        motion->parents[link] = parents[link];
    find_anchor(motion);
    find_paths(motion);
}
