// The sources within a radius of sinks, by a walk without a stack: from a cell either to its first
// child, or to the cell that follows all that is below it.

#define NO_CELL 0xffffffffu

// The cell that follows all that is below each cell.
KERNEL(LINK_THREADS, 4)
link_next(GLOBAL const Cell *cells, GLOBAL const uint *parents, GLOBAL uint *nexts, GLOBAL const uint *found)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint count = found[FOUND_STARTS + GENERATIONS];
    for (uint cell = BLOCK * LINK_THREADS + THREAD; cell < count; cell += BLOCKS * LINK_THREADS) {
        uint at = cell, next = NO_CELL;
        while (at > 0 && next == NO_CELL) {
            const uint parent = parents[at];
            const Cell around = cells[parent];
            next = at + 1 < around.first_child + around.children ? at + 1 : NO_CELL;
            at = parent;
        }
        nexts[cell] = next;
    }
}

// Counts the sources with |r|^2 < radius2 of each sink and, with `fills`, writes their places from
// the sink's start on. A thread has a sink. Single precision decides where its errors cannot
// matter, double precision decides about the others, as on CPUs.
KERNEL(NEIGHBOUR_THREADS, 4)
find_neighbours(const BodyLayout layout, GLOBAL const char *bodies, GLOBAL const Cell *cells,
    GLOBAL const CellPlace *cell_places, GLOBAL const uint *nexts, GLOBAL const float4 *highs, GLOBAL const float4 *lows,
    GLOBAL const uint *numbers, const BodyLayout sink_layout, GLOBAL const char *sinks, GLOBAL const float4 *sink_highs,
    GLOBAL const float4 *sink_lows, GLOBAL const uint *sink_numbers, GLOBAL const double *radii2,
    GLOBAL const double *frame, GLOBAL const ulong *starts, GLOBAL uint *counts, GLOBAL uint *places, uint count, int fills)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint sink = BLOCK * NEIGHBOUR_THREADS + THREAD;
    if (sink >= count)
        return;
    const uint number = sink_numbers[sink];
    const double radius2 = radii2[number];
    const float4 high = sink_highs[sink], low = sink_lows[sink];
    const float radius = (float)(sqrt(radius2) * frame[CUBE_TO_UNITS]) * (1.0f + 1e-6f), least2 = radius * radius;
    // How far places are from those that 48 bits hold, of the sink and of sources.
    const float largest = fmax(fmax(fabs(high.x), fabs(high.y)), fabs(high.z));
    const float error = 2.8421709e-14f * (largest + (1 << SIDE_EXPONENT));
    const float margin = 1e-5f * least2 + 8.0f * (radius + error) * error;
    const ulong start = fills ? starts[number] : 0;
    uint all = 0, cell = radius2 > 0.0 ? 0 : NO_CELL;
    while (cell != NO_CELL) {
        const CellPlace place = cell_places[cell];
        const Cell of = cells[cell];
        const float x = APART(place.high, place.low, high, low, x), y = APART(place.high, place.low, high, low, y);
        const float z = APART(place.high, place.low, high, low, z);
        const float reach = (place.high.w + radius) * (1.0f + 1e-5f) + 4.0f * error;
        const int is_beyond = fma(x, x, fma(y, y, z * z)) > reach * reach * (1.0f + 1e-5f);
        if (!is_beyond && of.children == 0) {
            for (uint body = of.first_body; body < of.first_body + of.bodies; ++body) {
                const float4 at = highs[body], rest = lows[body];
                const float dx = APART(at, rest, high, low, x), dy = APART(at, rest, high, low, y);
                const float dz = APART(at, rest, high, low, z), apart2 = fma(dx, dx, fma(dy, dy, dz * dz));
                int is = apart2 < least2;
                // Also true where a number is not finite.
                if (!(fabs(apart2 - least2) > margin)) {
                    double exact = 0.0;
                    UNROLL
                    for (int k = 0; k < 3; ++k) {
                        const double distance = position_of(bodies, &layout, numbers[body], k)
                            - position_of(sinks, &sink_layout, number, k);
                        exact += distance * distance;
                    }
                    is = exact < radius2;
                }
                if (is) {
                    if (fills)
                        places[start + all] = numbers[body];
                    ++all;
                }
            }
        }
        cell = !is_beyond && of.children > 0 ? of.first_child : nexts[cell];
    }
    counts[number] = all;
}
