// Numbers, bodies as pairs see them, and the prediction of sources.

#define SLICES_OF_GROUP (SLICES / SLICE_GROUPS)

#if IS_DOUBLE
#define REAL double
#define WHOLE long
#define VECTOR double2
#define SMALLEST_HIGH_WORD 0x00100000u
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

// The numbers of a sink that decide which sources are its neighbours: its reach for each unit of a
// source's mass, its reach whatever the source, of which one is zero, and its step.
#if REGULAR
#define CRITERION_OF(NUMBER) NUMBER by_mass, plain, step;
#else
#define CRITERION_OF(NUMBER)
#endif

// A body in the numbers of a pair; `low` holds what `position` rounds off, in MIXED, and `higher`
// velocity, acceleration and jerk, as far as there are. Sources have no criterion.
#define BODY_OF(NUMBER) \
    struct { \
        NUMBER weight; \
        NUMBER position[3]; \
        NUMBER low[3]; \
        NUMBER higher[N_DERIVATIVES][3]; \
        CRITERION_OF(NUMBER) \
    }
typedef BODY_OF(REAL) Body;
typedef Body Sink;

FUNCTION Body body_of_rows(const VECTOR rows[ROWS])
{
    Body body;
#if IS_DOUBLE
    REAL numbers[2 * ROWS];
    UNROLL
    for (int row = 0; row < ROWS; ++row)
        numbers[2 * row] = rows[row].x, numbers[2 * row + 1] = rows[row].y;
    body.weight = numbers[3];
    UNROLL
    for (int k = 0; k < 3; ++k) {
        body.position[k] = numbers[k];
        UNROLL
        for (int q = 1; q < N_DERIVATIVES; ++q)
            body.higher[q - 1][k] = numbers[1 + 3 * q + k];
    }
#else
    body.position[0] = rows[0].x, body.position[1] = rows[0].y, body.position[2] = rows[0].z, body.weight = rows[0].w;
#if IS_MIXED
    body.low[0] = rows[1].x, body.low[1] = rows[1].y, body.low[2] = rows[1].z;
#endif
    UNROLL
    for (int q = 1; q < N_DERIVATIVES; ++q) {
        const VECTOR row = rows[ROWS - N_DERIVATIVES + q];
        body.higher[q - 1][0] = row.x, body.higher[q - 1][1] = row.y, body.higher[q - 1][2] = row.z;
    }
#endif
    return body;
}

// The q-th derivative of the series of one component, after dt: that of dt^k is k (k - 1) ... (k -
// q + 1) dt^(k - q).
FUNCTION double evaluate(int q, const double coefficients[N_COEFFICIENTS], double dt)
{
    double value = 0.0;
    UNROLL
    for (int k = N_COEFFICIENTS - 1; k >= q; --k) {
        int factor = 1;
        UNROLL
        for (int less = 0; less < q; ++less)
            factor *= k - less;
        const double term = factor == 1 ? coefficients[k] : factor * coefficients[k];
        value = k == N_COEFFICIENTS - 1 ? term : fma(value, dt, term);
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

// Predicted position, velocity, ... of the source at an address, and its mass, in the caller's
// units; far away where the address takes no part.
FUNCTION double predict_vectors(const double rows[SOURCE_ROWS], int address, PredictionTarget target,
    double vectors[N_DERIVATIVES][3])
{
    const int takes_part = address < target.nj;
    const double dt = target.predicts ? target.time - rows[0] : 0.0;
    UNROLL
    for (int component = 0; component < 3; ++component) {
        double coefficients[N_COEFFICIENTS];
        UNROLL
        for (int k = 0; k < N_COEFFICIENTS; ++k)
            coefficients[k] = rows[2 + 3 * k + component];
        UNROLL
        for (int q = 0; q < N_DERIVATIVES; ++q)
            vectors[q][component] = takes_part ? evaluate(q, coefficients, dt) : q == 0 ? FAR_AWAY : 0.0;
    }
    return takes_part ? rows[1] : 0.0;
}

// As predict_vectors, in the units of pairs. In doubles, lengths and times keep the caller's units.
FUNCTION double predict_for_pairs(const double rows[SOURCE_ROWS], int address, PredictionTarget target,
    double vectors[N_DERIVATIVES][3])
{
    const double mass = predict_vectors(rows, address, target, vectors);
#if !IS_DOUBLE
    const int takes_part = vectors[0][0] < FAR_AWAY;
    const double factors[4] = {
        target.position_factor, target.velocity_factor, target.acceleration_factor, target.jerk_factor};
    UNROLL
    for (int component = 0; component < 3; ++component) {
        UNROLL
        for (int q = 0; q < N_DERIVATIVES; ++q) {
            const double scaled = vectors[q][component] * factors[q];
            vectors[q][component] = q > 0 ? scaled : takes_part ? scaled : FAR_FROM_SINKS;
        }
    }
#endif
    return mass * target.mass_factor;
}

// Predicts a source into the rows of a body.
FUNCTION void predict(const double source[SOURCE_ROWS], int address, PredictionTarget target, VECTOR rows[ROWS])
{
    double vectors[N_DERIVATIVES][3];
    const double mass = predict_for_pairs(source, address, target, vectors);
#if IS_DOUBLE
    double numbers[2 * ROWS];
    numbers[2 * ROWS - 1] = 0.0;
    numbers[3] = mass;
    UNROLL
    for (int k = 0; k < 3; ++k) {
        numbers[k] = vectors[0][k];
        UNROLL
        for (int q = 1; q < N_DERIVATIVES; ++q)
            numbers[1 + 3 * q + k] = vectors[q][k];
    }
    UNROLL
    for (int row = 0; row < ROWS; ++row)
        rows[row] = DOUBLE2(numbers[2 * row], numbers[2 * row + 1]);
#else
    const float x = (float)vectors[0][0], y = (float)vectors[0][1], z = (float)vectors[0][2];
    rows[0] = FLOAT4(x, y, z, (float)mass);
#if IS_MIXED
    rows[1] = FLOAT4((float)(vectors[0][0] - x), (float)(vectors[0][1] - y), (float)(vectors[0][2] - z), 0.0f);
#endif
    UNROLL
    for (int q = 1; q < N_DERIVATIVES; ++q)
        rows[ROWS - N_DERIVATIVES + q] = FLOAT4((float)vectors[q][0], (float)vectors[q][1], (float)vectors[q][2], 0.0f);
#endif
}
