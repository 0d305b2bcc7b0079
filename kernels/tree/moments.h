// The upward pass: what the walk and the expansions need of each cell.
//
// A moment is the sum of m (-x)^a / a! over the bodies of a cell, with x from its centre, which is
// the centre weighted by |m|. Moments of degree 1 are zero where no mass is negative. Sums are made
// in the order of the bodies of a leaf, or of the children of a cell.

// Moves a place, of which `low` holds what `high` rounds off.
#define MOVE_ALONG(k, by) \
    { \
        const float sum = high->k + (by), part = sum - high->k; \
        const float rest = ((high->k - (sum - part)) + ((by) - part)) + low->k; \
        high->k = sum + rest; \
        low->k = rest - (high->k - sum); \
    }
FUNCTION void move_place(float4 *high, float4 *low, float x, float y, float z)
{
    MOVE_ALONG(x, x);
    MOVE_ALONG(y, y);
    MOVE_ALONG(z, z);
}

// What a cell has beside its moments. `second` and `power` are the sums of |m| |x|^2 and of |m|
// |x|^p, where p is the order.
typedef struct {
    float4 high, low;
    float radius, mass, second, power;
} Summary;

FUNCTION float integer_power(float base, int exponent)
{
    float power = 1.0f;
    UNROLL
    for (int k = 0; k < exponent; ++k)
        power *= base;
    return power;
}

// The distance from which on a cell is accepted by an opening angle: the side of its octant over
// the angle, and how far its centre is from the octant's middle.
FUNCTION float reach_of_angle(const Cell *of, const Summary *summary, float theta)
{
    const double side = ldexp(1.0, SIDE_EXPONENT - of->depth);
    double offset2 = 0.0;
    const double place[3] = {(double)summary->high.x + summary->low.x, (double)summary->high.y + summary->low.y,
        (double)summary->high.z + summary->low.z};
    UNROLL
    for (int k = 0; k < 3; ++k) {
        const double offset = place[k] - (floor(place[k] / side) + 0.5) * side;
        offset2 += offset * offset;
    }
    return of->bodies > 1 ? (float)(side / theta + sqrt(offset2)) : 0.0f;
}

// The terms of a record behind the first PLAIN_TERMS are the upper 16 bits of numbers, to the
// nearest, two in a word.
typedef union {
    float value;
    uint bits;
} Word;

FUNCTION uint upper_half(float value)
{
    Word word;
    word.value = value;
    return (word.bits + 0x7fffu + (word.bits >> 16 & 1u)) >> 16;
}

FUNCTION void pack_terms(const float terms[TERMS], float record[RECORD])
{
    UNROLL
    for (int k = 0; k < RECORD - 3; ++k) {
        const int low = PLAIN_TERMS + 2 * (k - PLAIN_TERMS), high = low + 1;
        Word word;
        if (k < PLAIN_TERMS)
            word.value = terms[k];
        else
            word.bits = (low < TERMS ? upper_half(terms[low]) : 0u) | (high < TERMS ? upper_half(terms[high]) << 16 : 0u);
        record[3 + k] = word.value;
    }
}

FUNCTION void unpack_terms(const float record[RECORD], float terms[TERMS])
{
    UNROLL
    for (int k = 0; k < TERMS; ++k) {
        const int halves = k - PLAIN_TERMS;
        Word word;
        word.value = record[3 + (halves < 0 ? k : PLAIN_TERMS + halves / 2)];
        if (halves >= 0)
            word.bits = halves % 2 == 0 ? word.bits << 16 : word.bits & 0xffff0000u;
        terms[k] = word.value;
    }
}

// Reads the record of a cell.
FUNCTION void read_record(GLOBAL const float4 *moments, uint cell, float record[RECORD])
{
    UNROLL
    for (int k = 0; k < RECORD / 4; ++k) {
        const float4 part = moments[(long)cell * (RECORD / 4) + k];
        record[4 * k] = part.x, record[4 * k + 1] = part.y, record[4 * k + 2] = part.z, record[4 * k + 3] = part.w;
    }
}

// Writes a cell; with an opening angle above 0 its distance stands in the place of `rho`. A cell so
// large that its moments may be out of range has an infinite radius, and they are never used.
FUNCTION void write_cell(GLOBAL CellPlace *places, GLOBAL CellReach *reaches, GLOBAL float4 *moments, uint cell,
    const Cell *of, const Summary *summary, const float terms[TERMS], float theta)
{
    CellPlace place;
    const float radius = summary->radius <= MOST_RADIUS ? summary->radius : INFINITY_32;
    place.high = FLOAT4(summary->high.x, summary->high.y, summary->high.z, radius);
    place.low = FLOAT4(summary->low.x, summary->low.y, summary->low.z, summary->mass);
    places[cell] = place;
    CellReach reach;
    reach.second = summary->second;
    reach.first_child = of->first_child;
    reach.children = of->children;
    reach.bodies = of->bodies < MOST_COUNTED ? of->bodies : MOST_COUNTED;
    if (theta > 0.0f)
        reach.rho = reach_of_angle(of, summary, theta);
    else
        reach.rho = summary->mass > 0.0f ? pow(summary->power / summary->mass, 1.0f / ORDER) : 0.0f;
    reaches[cell] = reach;
    float record[RECORD];
    record[0] = summary->high.x, record[1] = summary->high.y, record[2] = summary->high.z;
    pack_terms(terms, record);
    UNROLL
    for (int k = 0; k < RECORD / 4; ++k)
        moments[(long)cell * (RECORD / 4) + k] = FLOAT4(record[4 * k], record[4 * k + 1], record[4 * k + 2], record[4 * k + 3]);
}

// Leaves: a thread has one.
KERNEL(LEAF_THREADS, 4)
sum_leaves(GLOBAL const Cell *cells, GLOBAL const float4 *highs, GLOBAL const float4 *lows, GLOBAL CellPlace *places,
    GLOBAL CellReach *reaches, GLOBAL float4 *moments, GLOBAL const uint *found, float theta)
{
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint count = found[FOUND_STARTS + GENERATIONS];
    for (uint number = BLOCK * LEAF_THREADS + THREAD; number < count; number += BLOCKS * LEAF_THREADS) {
        const Cell cell = cells[number];
        if (cell.children > 0)
            continue;
        const uint end = cell.first_body + cell.bodies;
        float4 high = highs[cell.first_body], low = lows[cell.first_body];
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, plain[3] = {0.0f, 0.0f, 0.0f};
        for (uint body = cell.first_body; body < end; ++body) {
            const float4 at = highs[body], rest = lows[body];
            const float weight = fabs(at.w);
            const float x = APART(at, rest, high, low, x), y = APART(at, rest, high, low, y), z = APART(at, rest, high, low, z);
            sum[0] = fma(weight, x, sum[0]), sum[1] = fma(weight, y, sum[1]), sum[2] = fma(weight, z, sum[2]);
            plain[0] += x, plain[1] += y, plain[2] += z;
            sum[3] += weight;
        }
        if (cell.bodies > LEAF) {
            // So many that single precision would lose some of their mass.
            double mass = 0.0;
            for (uint body = cell.first_body; body < end; ++body)
                mass += fabs(highs[body].w);
            sum[3] = (float)mass;
        }
        const int has_mass = sum[3] > 0.0f;
        const float inverse = 1.0f / (has_mass ? sum[3] : (float)cell.bodies);
        const float x_of_centre = (has_mass ? sum[0] : plain[0]) * inverse;
        const float y_of_centre = (has_mass ? sum[1] : plain[1]) * inverse;
        const float z_of_centre = (has_mass ? sum[2] : plain[2]) * inverse;
        move_place(&high, &low, x_of_centre, y_of_centre, z_of_centre);
        float terms[TERMS], farthest2 = 0.0f;
        UNROLL
        for (int k = 0; k < TERMS; ++k)
            terms[k] = 0.0f;
        Summary summary;
        summary.high = high, summary.low = low;
        summary.mass = sum[3];
        summary.second = summary.power = 0.0f;
        for (uint body = cell.first_body; body < end; ++body) {
            const float4 at = highs[body], rest = lows[body];
            const float x = APART(at, rest, high, low, x), y = APART(at, rest, high, low, y), z = APART(at, rest, high, low, z);
            const float distance2 = fma(x, x, fma(y, y, z * z)), weighted = fabs(at.w) * distance2;
            farthest2 = fmax(farthest2, distance2);
            summary.second += weighted;
            summary.power = fma(weighted, integer_power(sqrt(distance2), ORDER - 2), summary.power);
            add_body(-x, -y, -z, at.w, terms);
        }
        summary.radius = sqrt(farthest2);
        terms[0] = sum[3];
        write_cell(places, reaches, moments, number, &cell, &summary, terms, theta);
    }
}

// The sum of numbers of 32 threads, those of `some` of them, in their order; `sums` has a row of
// SUMMED_STRIDE places for each number, and gets the sums at the begin of the rows.
#define SUMMED_STRIDE (LANES + 1)
FUNCTION void sum_rows(LOCAL_POINTER float *sums, int rows, uint some)
{
    SYNC_32;
    for (int row = THREAD; row < rows; row += LANES) {
        float sum = 0.0f;
        for (uint lane = 0; lane < some; ++lane)
            sum += sums[row * SUMMED_STRIDE + lane];
        sums[row * SUMMED_STRIDE] = sum;
    }
    SYNC_32;
}

// Inner cells of at most DIRECT_MOMENTS bodies, from these. A block of 32 threads looks for such
// cells among CELLS_OF_BLOCK, and sums them one after another.
#define ROWS (TERMS + 2 > 7 ? TERMS + 2 : 7)
KERNEL(LANES, 16)
sum_bodies(GLOBAL const Cell *cells, GLOBAL const float4 *highs, GLOBAL const float4 *lows, GLOBAL CellPlace *places,
    GLOBAL CellReach *reaches, GLOBAL float4 *moments, GLOBAL const uint *found, float theta)
{
    LOCAL float sums[ROWS * SUMMED_STRIDE], farthest[LANES];
    LOCAL uint chosen[LANES], scratch[LANES];
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const uint count = found[FOUND_STARTS + GENERATIONS], place = BLOCK * CELLS_OF_BLOCK + THREAD;
    const int is_there = THREAD < CELLS_OF_BLOCK && place < count;
    const Cell looked_at = cells[is_there ? place : 0];
    const int is_summed = is_there && looked_at.children > 0 && looked_at.bodies <= DIRECT_MOMENTS;
    const uint all = choose(is_summed, place, chosen, scratch);
    for (uint turn = 0; turn < all; ++turn) {
        const uint number = chosen[turn];
        const Cell cell = cells[number];
        const uint some = cell.bodies < LANES ? cell.bodies : LANES, end_of_bodies = cell.first_body + cell.bodies;
        float4 high = highs[cell.first_body], low = lows[cell.first_body];
        float sum[7] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        for (uint body = cell.first_body + THREAD; body < end_of_bodies; body += LANES) {
            const float4 at = highs[body], rest = lows[body];
            const float weight = fabs(at.w);
            const float x = APART(at, rest, high, low, x), y = APART(at, rest, high, low, y), z = APART(at, rest, high, low, z);
            sum[0] = fma(weight, x, sum[0]), sum[1] = fma(weight, y, sum[1]), sum[2] = fma(weight, z, sum[2]);
            sum[3] += weight;
            sum[4] += x, sum[5] += y, sum[6] += z;
        }
        UNROLL
        for (int k = 0; k < 7; ++k)
            sums[k * SUMMED_STRIDE + THREAD] = sum[k];
        sum_rows(sums, 7, some);
        const float mass = sums[3 * SUMMED_STRIDE];
        const int of_centre = mass > 0.0f ? 0 : 4;
        const float inverse = 1.0f / (mass > 0.0f ? mass : (float)cell.bodies);
        move_place(&high, &low, sums[of_centre * SUMMED_STRIDE] * inverse, sums[(of_centre + 1) * SUMMED_STRIDE] * inverse,
            sums[(of_centre + 2) * SUMMED_STRIDE] * inverse);
        float terms[TERMS], farthest2 = 0.0f, second = 0.0f, power = 0.0f;
        UNROLL
        for (int k = 0; k < TERMS; ++k)
            terms[k] = 0.0f;
        for (uint body = cell.first_body + THREAD; body < end_of_bodies; body += LANES) {
            const float4 at = highs[body], rest = lows[body];
            const float x = APART(at, rest, high, low, x), y = APART(at, rest, high, low, y), z = APART(at, rest, high, low, z);
            const float distance2 = fma(x, x, fma(y, y, z * z)), weighted = fabs(at.w) * distance2;
            farthest2 = fmax(farthest2, distance2);
            second += weighted;
            power = fma(weighted, integer_power(sqrt(distance2), ORDER - 2), power);
            add_body(-x, -y, -z, at.w, terms);
        }
        SYNC_32;
        UNROLL
        for (int k = 0; k < TERMS; ++k)
            sums[k * SUMMED_STRIDE + THREAD] = terms[k];
        sums[TERMS * SUMMED_STRIDE + THREAD] = second;
        sums[(TERMS + 1) * SUMMED_STRIDE + THREAD] = power;
        farthest[THREAD] = farthest2;
        sum_rows(sums, TERMS + 2, some);
        if (THREAD == 0) {
            UNROLL
            for (int lane = 1; lane < LANES; ++lane)
                farthest2 = fmax(farthest2, farthest[lane]);
            Summary summary;
            summary.high = high, summary.low = low;
            summary.radius = sqrt(farthest2), summary.mass = mass;
            summary.second = sums[TERMS * SUMMED_STRIDE], summary.power = sums[(TERMS + 1) * SUMMED_STRIDE];
            UNROLL
            for (int k = 0; k < TERMS; ++k)
                terms[k] = sums[k * SUMMED_STRIDE];
            write_cell(places, reaches, moments, number, &cell, &summary, terms, theta);
        }
        SYNC_32;
    }
}

// Larger cells of a generation, from their children: CHILDREN threads share one.
#define INNER_CELLS (INNER_THREADS / CHILDREN)
#define SUMS (TERMS > 6 ? TERMS : 6)

// The sums over the children of a cell, in their order.
FUNCTION float sum_of_children(LOCAL_POINTER const float *values)
{
    float sum = 0.0f;
    UNROLL
    for (int child = 0; child < CHILDREN; ++child)
        sum += values[child];
    return sum;
}

FUNCTION float most_of_children(LOCAL_POINTER const float *values)
{
    float most = 0.0f;
    UNROLL
    for (int child = 0; child < CHILDREN; ++child)
        most = fmax(most, values[child]);
    return most;
}

KERNEL(INNER_THREADS, 8)
sum_children(GLOBAL const Cell *cells, GLOBAL CellPlace *places, GLOBAL CellReach *reaches, GLOBAL float4 *moments,
    uint first, uint end, float theta)
{
    LOCAL float sums[SUMS][INNER_THREADS];
    LOCAL int is_needed;
    AFTER_EARLIER_KERNELS;
    LET_NEXT_KERNEL_START;
    const int child = THREAD % CHILDREN, base = THREAD - child;
    const uint number = first + BLOCK * INNER_CELLS + THREAD / CHILDREN;
    const Cell cell = cells[number < end ? number : first];
    const int children = number < end && cell.bodies > DIRECT_MOMENTS ? cell.children : 0;
    if (THREAD == 0)
        is_needed = 0;
    SYNC;
    if (children > 0)
        is_needed = 1;
    SYNC;
    if (!is_needed)
        return;
    const int is = child < children;
    const uint own = cell.first_child + child;

    float4 high = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f), low = high, of_first = high, rest_of_first = high;
    float terms[TERMS], second = 0.0f, weight_by_count = 0.0f;
    UNROLL
    for (int k = 0; k < TERMS; ++k)
        terms[k] = 0.0f;
    if (is) {
        const CellPlace place = places[own], beside = places[cell.first_child];
        high = place.high, low = place.low;
        of_first = beside.high, rest_of_first = beside.low;
        second = reaches[own].second;
        weight_by_count = (float)cells[own].bodies;
        float record[RECORD];
        read_record(moments, own, record);
        unpack_terms(record, terms);
    }

    // The centre, from the first child's.
    const float mass = low.w, radius = high.w;
    sums[0][THREAD] = mass;
    SYNC;
    const float total = sum_of_children(&sums[0][base]);
    const float weight = total > 0.0f ? mass : weight_by_count;
    sums[1][THREAD] = weight * APART(high, low, of_first, rest_of_first, x);
    sums[2][THREAD] = weight * APART(high, low, of_first, rest_of_first, y);
    sums[3][THREAD] = weight * APART(high, low, of_first, rest_of_first, z);
    SYNC;
    const float inverse = 1.0f / (total > 0.0f ? total : (float)cell.bodies);
    Summary summary;
    summary.high = of_first;
    summary.low = rest_of_first;
    const float to_centre[3] = {
        sum_of_children(&sums[1][base]) * inverse, sum_of_children(&sums[2][base]) * inverse, sum_of_children(&sums[3][base]) * inverse};
    move_place(&summary.high, &summary.low, to_centre[0], to_centre[1], to_centre[2]);
    summary.mass = total;
    SYNC;

    // How far the bodies are from it, at most.
    const float x = APART(high, low, summary.high, summary.low, x), y = APART(high, low, summary.high, summary.low, y);
    const float z = APART(high, low, summary.high, summary.low, z), distance2 = fma(x, x, fma(y, y, z * z));
    sums[0][THREAD] = is ? fma(mass, distance2, second) : 0.0f;
    sums[1][THREAD] = is ? radius + sqrt(distance2) : 0.0f;
    SYNC;
    summary.second = sum_of_children(&sums[0][base]);
    summary.radius = most_of_children(&sums[1][base]);
    SYNC;

    // Moments about the centre.
    float moved[TERMS];
    move_moments(-x, -y, -z, terms, moved);
    UNROLL
    for (int k = 0; k < TERMS; ++k)
        sums[k][THREAD] = is ? moved[k] : 0.0f;
    SYNC;
    float of_lane[(TERMS + CHILDREN - 1) / CHILDREN];
    UNROLL
    for (int k = 0; k < (TERMS + CHILDREN - 1) / CHILDREN; ++k) {
        const int term = k * CHILDREN + child;
        of_lane[k] = term < TERMS ? sum_of_children(&sums[term][base]) : 0.0f;
    }
    SYNC;
    UNROLL
    for (int k = 0; k < (TERMS + CHILDREN - 1) / CHILDREN; ++k) {
        const int term = k * CHILDREN + child;
        if (term < TERMS)
            sums[term][base] = of_lane[k];
    }
    SYNC;
    if (child == 0 && children > 0) {
        UNROLL
        for (int k = 0; k < TERMS; ++k)
            terms[k] = sums[k][base];
        summary.power = fmin(power_of_moments(terms, summary.second, summary.radius), summary.second * integer_power(summary.radius, ORDER - 2));
        write_cell(places, reaches, moments, number, &cell, &summary, terms, theta);
    }
}
