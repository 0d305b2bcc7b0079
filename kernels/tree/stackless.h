// The forces on sinks by a walk without a stack, in which cells are points.

// Adds the force of a point.
#define ADD_POINT(mass, is_left_out) \
    { \
        const float inverse = (is_left_out) ? 0.0f : INVERSE_SQRT_32(apart2 + softening2); \
        const float potential = (mass) * inverse, force = potential * (inverse * inverse); \
        sum[0] += potential; \
        sum[1] = fma(force, dx, sum[1]); \
        sum[2] = fma(force, dy, sum[2]); \
        sum[3] = fma(force, dz, sum[3]); \
        ++all; \
    }

// A thread has a sink, in the caller's order or in Morton order. A cell is a point at its centre of
// mass where its side is smaller than theta times its distance; of another the children follow, or
// its bodies are summed. `adds` says that other forces are there.
KERNEL(NEIGHBOUR_THREADS, 4)
add_points(const BodyLayout layout, GLOBAL const char *sinks, GLOBAL const uint *order, GLOBAL const Cell *cells,
    GLOBAL const CellPlace *cell_places, GLOBAL const uint *nexts, GLOBAL const float4 *highs, GLOBAL const float4 *lows,
    GLOBAL const uint *numbers, GLOBAL const double *frame, GLOBAL double *forces, GLOBAL uint *counts,
    double softening2_given, double mass_factor, float theta, uint count, int in_morton_order, int skips_own, int adds)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint place = BLOCK * NEIGHBOUR_THREADS + THREAD;
    if (place >= count)
        return;
    const uint number = in_morton_order ? order[place] : place;
    const double unit = frame[CUBE_TO_UNITS];
    const float softening2 = (float)(softening2_given * unit * unit);
    const float longest = (float)ldexp(unit / frame[CUBE_TO_KEYS], LEVELS) / theta;
    // As bodies are kept in the tree, so that a source is at no distance from itself.
    double at[3];
    UNROLL
    for (int k = 0; k < 3; ++k)
        at[k] = (position_of(sinks, &layout, number, k) - frame[CUBE_LOW + k]) * unit;
    const float4 high = FLOAT4((float)at[0], (float)at[1], (float)at[2], 0.0f);
    const float4 low = FLOAT4((float)(at[0] - high.x), (float)(at[1] - high.y), (float)(at[2] - high.z), 0.0f);
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    uint all = 0, cell = 0;
    while (cell != NO_CELL) {
        const Cell of = cells[cell];
        const CellPlace centre = cell_places[cell];
        const float dx = APART(centre.high, centre.low, high, low, x), dy = APART(centre.high, centre.low, high, low, y);
        const float dz = APART(centre.high, centre.low, high, low, z), apart2 = fma(dx, dx, fma(dy, dy, dz * dz));
        // Infinite where the sink is far away.
        const float halvings = (float)(1UL << of.depth);
        // Bodies outside the cube are farther from one another than octants are long.
        const float least = 0.25f * centre.high.w / theta;
        const int is_point = longest * longest < apart2 * (halvings * halvings) && least * least < apart2;
        if (is_point) {
            ADD_POINT(centre.low.w, 0)
        } else if (of.children == 0) {
            UNROLL_BY(1)
            for (uint body = of.first_body; body < of.first_body + of.bodies; ++body) {
                const float4 source = highs[body], rest = lows[body];
                const float dx = APART(source, rest, high, low, x), dy = APART(source, rest, high, low, y);
                const float dz = APART(source, rest, high, low, z), apart2 = fma(dx, dx, fma(dy, dy, dz * dz));
                ADD_POINT(source.w, apart2 == 0.0f && (softening2 == 0.0f || (skips_own && numbers[body] == number)))
            }
        }
        cell = is_point || of.children == 0 ? nexts[cell] : of.first_child;
    }
    const long to = 4 * (long)number;
    UNROLL
    for (int q = 0; q < 4; ++q) {
        const double force = sum[q] * ((q == 0 ? -unit : unit * unit) / mass_factor);
        forces[to + q] = adds ? forces[to + q] + force : force;
    }
    counts[number] = adds ? counts[number] + all : all;
}
