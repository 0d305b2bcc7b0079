// Numbers, bodies as pairs see them, and the prediction of sources.

#define SINGLE 1
#define MIXED 2
#define DOUBLE 3

// Consecutive addresses that are stored, predicted and summed together; eight of them have each quantity side by side.
#define CHUNK 256
#define OCTET 8
#define SLICES 24
// Slices with the same number modulo SHEAVES; they are added first, and then sheaves in pairs.
#define SHEAVES 8
#define SLICES_OF_SHEAF (SLICES / SHEAVES)

// Where a source is that takes no part: as it is stored, and in the numbers and units of pairs.
#define FAR_AWAY 4e150
#if PRECISION == DOUBLE
#define REAL double
#define WHOLE long
#define VECTOR double2
#define SMALLEST 2.2250738585072014e-308
#define FAR_FROM_SINKS FAR_AWAY
#define FARTHEST2 2e301
#define NO_DISTANCE2 ((double)INFINITY_32)
#else
#define REAL float
#define WHOLE int
#define VECTOR float4
#define SMALLEST 1.17549435e-38f
#define FAR_FROM_SINKS 4e18
#define FARTHEST2 2e37f
#define NO_DISTANCE2 INFINITY_32
#endif

// Whether neighbours are left out of the sums: the regular force, in units that say so.
#ifndef REGULAR
#define REGULAR 0
#endif

// Coefficients of the Taylor series of a source, and vectors of a body that a pair needs.
#if ORDER == 2
#define TAYLOR 1
#define VECTORS 1
#define OUTPUTS 4
#define NEAREST 0
#elif ORDER == 4
#define TAYLOR 4
#define VECTORS 2
#define OUTPUTS 7
#define NEAREST (!REGULAR)
#elif ORDER == 6
#define TAYLOR 6
#define VECTORS 3
#define OUTPUTS 10
#define NEAREST 1
#elif ORDER == 8
#define TAYLOR 8
#define VECTORS 4
#define OUTPUTS 13
#define NEAREST 1
#endif

// Rows of an octet: time, mass, then component c of coefficient k in row 2 + 3 k + c.
#define SOURCE_ROWS (2 + 3 * TAYLOR)

// Rows of a body: a position and a weight, then what else a pair needs of it, in 64 bits number after number. The
// weight is the mass of a source and the squared softening of a sink.
#if PRECISION == DOUBLE
#define ROWS ((1 + 3 * VECTORS + 1) / 2)
#elif PRECISION == MIXED
#define ROWS (1 + VECTORS)
#else
#define ROWS VECTORS
#endif

// Rows of a sink: those of a body, and in 64 bits from the next number, else in a row more, what decides which sources
// are its neighbours, where these are left out.
#if !REGULAR
#define SINK_ROWS ROWS
#elif PRECISION == DOUBLE
#define SINK_ROWS ((1 + 3 * VECTORS + 3 + 1) / 2)
#else
#define SINK_ROWS (ROWS + 1)
#endif

// The numbers of a sink that decide it: its reach for each unit of a source's mass, its reach whatever the source, of
// which one is zero, and its step.
#if REGULAR
#define CRITERION_OF(NUMBER) NUMBER by_mass, plain, step;
#else
#define CRITERION_OF(NUMBER)
#endif

// A body in the numbers of a pair; `low` holds what `position` rounds off, in MIXED, and `higher` velocity,
// acceleration and jerk, as far as there are. Sources have no criterion.
#define BODY_OF(NUMBER) \
    struct { \
        NUMBER weight; \
        NUMBER position[3]; \
        NUMBER low[3]; \
        NUMBER higher[VECTORS][3]; \
        CRITERION_OF(NUMBER) \
    }
typedef BODY_OF(REAL) Body;
typedef Body Sink;

FUNCTION Body body_of_rows(const VECTOR rows[ROWS])
{
    Body body;
#if PRECISION == DOUBLE
    REAL numbers[2 * ROWS];
    UNROLL
    for (int row = 0; row < ROWS; ++row)
        numbers[2 * row] = rows[row].x, numbers[2 * row + 1] = rows[row].y;
    body.weight = numbers[3];
    UNROLL
    for (int k = 0; k < 3; ++k) {
        body.position[k] = numbers[k];
        UNROLL
        for (int q = 1; q < VECTORS; ++q)
            body.higher[q - 1][k] = numbers[1 + 3 * q + k];
    }
#else
    body.position[0] = rows[0].x, body.position[1] = rows[0].y, body.position[2] = rows[0].z, body.weight = rows[0].w;
#if PRECISION == MIXED
    body.low[0] = rows[1].x, body.low[1] = rows[1].y, body.low[2] = rows[1].z;
#endif
    UNROLL
    for (int q = 1; q < VECTORS; ++q) {
        const VECTOR row = rows[ROWS - VECTORS + q];
        body.higher[q - 1][0] = row.x, body.higher[q - 1][1] = row.y, body.higher[q - 1][2] = row.z;
    }
#endif
    return body;
}

FUNCTION Body sink_of_rows(const VECTOR rows[SINK_ROWS])
{
    Body sink = body_of_rows(rows);
#if REGULAR && PRECISION == DOUBLE
    REAL numbers[2 * SINK_ROWS];
    UNROLL
    for (int row = 0; row < SINK_ROWS; ++row)
        numbers[2 * row] = rows[row].x, numbers[2 * row + 1] = rows[row].y;
    const int first = 1 + 3 * VECTORS;
    sink.by_mass = numbers[first], sink.plain = numbers[first + 1], sink.step = numbers[first + 2];
#elif REGULAR
    sink.by_mass = rows[ROWS].x, sink.plain = rows[ROWS].y, sink.step = rows[ROWS].z;
#endif
    return sink;
}

// Where and how the sources are predicted, and which addresses take part. The factors are powers of two, which bring
// the caller's units to those of pairs.
typedef struct {
    double time;
    double mass_factor;
    double position_factor;
    double velocity_factor;
    double acceleration_factor;
    double jerk_factor;
    int nj;
    int predicts;
} Moment;

// The q-th derivative of the series of one component, after dt: that of dt^k is k (k - 1) ... (k - q + 1) dt^(k - q).
FUNCTION double evaluate(int q, const double coefficients[TAYLOR], double dt)
{
    double value = 0.0;
    UNROLL
    for (int k = TAYLOR - 1; k >= q; --k) {
        int factor = 1;
        UNROLL
        for (int less = 0; less < q; ++less)
            factor *= k - less;
        const double term = factor == 1 ? coefficients[k] : factor * coefficients[k];
        value = k == TAYLOR - 1 ? term : fma(value, dt, term);
    }
    return value;
}

// Time, mass and coefficients of the source at a place, or of the octet that begins there.
FUNCTION void load_source(GLOBAL const double *octets, int slot, int place, double rows[SOURCE_ROWS])
{
    GLOBAL const double *source = octets + ((long)slot * CHUNK + place / OCTET * OCTET) * SOURCE_ROWS + place % OCTET;
    UNROLL
    for (int row = 0; row < SOURCE_ROWS; ++row)
        rows[row] = *(GLOBAL const double *)(source + row * OCTET);
}

// Predicted position, velocity, ... of the source at an address, and its mass, in the caller's units; far away where
// the address takes no part.
FUNCTION double predict_vectors(const double rows[SOURCE_ROWS], int address, Moment moment,
    double vectors[VECTORS][3])
{
    const int takes_part = address < moment.nj;
    const double dt = moment.predicts ? moment.time - rows[0] : 0.0;
    UNROLL
    for (int component = 0; component < 3; ++component) {
        double coefficients[TAYLOR];
        UNROLL
        for (int k = 0; k < TAYLOR; ++k)
            coefficients[k] = rows[2 + 3 * k + component];
        UNROLL
        for (int q = 0; q < VECTORS; ++q)
            vectors[q][component] = takes_part ? evaluate(q, coefficients, dt) : q == 0 ? FAR_AWAY : 0.0;
    }
    return takes_part ? rows[1] : 0.0;
}

// The same in the units of pairs. In 64 bits those of lengths and times are the caller's.
FUNCTION double predict_for_pairs(const double rows[SOURCE_ROWS], int address, Moment moment,
    double vectors[VECTORS][3])
{
    const double mass = predict_vectors(rows, address, moment, vectors);
#if PRECISION != DOUBLE
    const int takes_part = vectors[0][0] < FAR_AWAY;
    const double factors[4] = {
        moment.position_factor, moment.velocity_factor, moment.acceleration_factor, moment.jerk_factor};
    UNROLL
    for (int component = 0; component < 3; ++component) {
        UNROLL
        for (int q = 0; q < VECTORS; ++q) {
            const double scaled = vectors[q][component] * factors[q];
            vectors[q][component] = q > 0 ? scaled : takes_part ? scaled : FAR_FROM_SINKS;
        }
    }
#endif
    return mass * moment.mass_factor;
}

// Predicts a source into the rows of a body.
FUNCTION void predict(const double source[SOURCE_ROWS], int address, Moment moment, VECTOR rows[ROWS])
{
    double vectors[VECTORS][3];
    const double mass = predict_for_pairs(source, address, moment, vectors);
#if PRECISION == DOUBLE
    double numbers[2 * ROWS];
    numbers[2 * ROWS - 1] = 0.0;
    numbers[3] = mass;
    UNROLL
    for (int k = 0; k < 3; ++k) {
        numbers[k] = vectors[0][k];
        UNROLL
        for (int q = 1; q < VECTORS; ++q)
            numbers[1 + 3 * q + k] = vectors[q][k];
    }
    UNROLL
    for (int row = 0; row < ROWS; ++row)
        rows[row] = DOUBLE2(numbers[2 * row], numbers[2 * row + 1]);
#else
    const float x = (float)vectors[0][0], y = (float)vectors[0][1], z = (float)vectors[0][2];
    rows[0] = FLOAT4(x, y, z, (float)mass);
#if PRECISION == MIXED
    rows[1] = FLOAT4((float)(vectors[0][0] - x), (float)(vectors[0][1] - y), (float)(vectors[0][2] - z), 0.0f);
#endif
    UNROLL
    for (int q = 1; q < VECTORS; ++q)
        rows[ROWS - VECTORS + q] = FLOAT4((float)vectors[q][0], (float)vectors[q][1], (float)vectors[q][2], 0.0f);
#endif
}
