// A system as its thread has it. Bodies have places in the order in which links join them: the first
// is the root, and link k goes from place k + 1 to the place of its parent before it.

#define MOST_LINKS (MOST - 1)
#define MOST_PAIRS (MOST * (MOST - 1) / 2)
// Separations and velocities of links, a row of scalars, second velocities.
#define MOST_ROWS (3 * MOST_LINKS + 1)

#define LINKS(motion) ((motion)->bodies - 1)
// The row of the time since the start of the step, of the binding energy, and of the integral of the
// light pairs' function.
#define SCALARS(motion) (2 * LINKS(motion))
#define SECOND(motion) (2 * LINKS(motion) + 1)
#define ROWS_OF(motion) (2 * LINKS(motion) + 1 + ((motion)->has_second ? LINKS(motion) : 0))

// What one evaluation needs, by place.
typedef struct {
    int bodies;
    int clock;
    int any_light;
    int any_far;
    int has_second;
    // The place from which the mean of places is found.
    int anchor;
    int parents[MOST_LINKS];
    int paths[MOST_PAIRS];
    double masses[MOST];
    double total;
    double heaviest;
    // One over the sum of the weights.
    double inverse_total;
    double light_weight;
    double positions[MOST][3];
    double velocities[MOST][3];
    double newton[MOST][3];
    double gradient[MOST][3];
    double other[MOST][3];
} Motion;

typedef struct {
    Motion motion;
    // The body at each place.
    int order[MOST];
    double state[MOST_ROWS][3];
    double time[2];
    double step;
    double usual;
    double steps;
    double leapfrog_steps;
    int target;
} System;
