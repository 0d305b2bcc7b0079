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

#if PRECISION == DOUBLE
#define REAL double
#define WHOLE long
#define VECTOR double2
#define SMALLEST 2.2250738585072014e-308
#define FAR_AWAY 4e150
#define FARTHEST2 2e301
#define NO_DISTANCE2 ((double)INFINITY_32)
#else
#define REAL float
#define WHOLE int
#define VECTOR float4
#define SMALLEST 1.17549435e-38f
#define FAR_AWAY 4e18
#define FARTHEST2 2e37f
#define NO_DISTANCE2 INFINITY_32
#endif

// WIDE are numbers of a pair, of the sinks that a thread has side by side, and LOGICAL what comparing them gives.
// SERIES are numbers of the sources that it predicts side by side, and SERIES_LOGICAL whole numbers beside these. Here
// that is one of each; the wide kernels, which have a WIDTH, have vectors of them (wide.h).
#ifndef WIDTH
#define WIDE REAL
#define LOGICAL int
#define SERIES double
#define SERIES_LOGICAL int
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
#define NEAREST 1
#endif

// Rows of an octet: time, mass, then component c of coefficient k in row 2 + 3 k + c.
#define SOURCE_ROWS (2 + 3 * TAYLOR)

// Rows of a body: a weight and a position, then what else a pair needs of it. The weight is the mass of a source and
// the squared softening of a sink.
#if PRECISION == DOUBLE
#define ROWS (2 * VECTORS)
#elif PRECISION == MIXED
#define ROWS (1 + VECTORS)
#else
#define ROWS VECTORS
#endif

// A body in the numbers of a pair; `low` holds what `position` rounds off, in MIXED.
#define BODY_OF(NUMBER) \
    struct { \
        NUMBER weight; \
        NUMBER position[3]; \
        NUMBER low[3]; \
        NUMBER velocity[3]; \
    }
typedef BODY_OF(REAL) Body;
#ifdef WIDTH
typedef BODY_OF(WIDE) Sink;
#else
typedef Body Sink;
#endif

FUNCTION Body body_of_rows(const VECTOR rows[ROWS])
{
    Body body;
#if PRECISION == DOUBLE
    body.position[0] = rows[0].x, body.position[1] = rows[0].y, body.position[2] = rows[1].x, body.weight = rows[1].y;
#if VECTORS > 1
    body.velocity[0] = rows[2].x, body.velocity[1] = rows[2].y, body.velocity[2] = rows[3].x;
#endif
#else
    body.position[0] = rows[0].x, body.position[1] = rows[0].y, body.position[2] = rows[0].z, body.weight = rows[0].w;
#if PRECISION == MIXED
    body.low[0] = rows[1].x, body.low[1] = rows[1].y, body.low[2] = rows[1].z;
#endif
#if VECTORS > 1
    const VECTOR velocity = rows[ROWS - 1];
    body.velocity[0] = velocity.x, body.velocity[1] = velocity.y, body.velocity[2] = velocity.z;
#endif
#endif
    return body;
}

// Where and how the sources are predicted, and which addresses take part.
typedef struct {
    double time;
    double mass_factor;
    int nj;
    int unused;
} Moment;

// The q-th derivative of the series of one component, after dt; q = 0, 1.
FUNCTION SERIES evaluate(int q, const SERIES coefficients[TAYLOR], SERIES dt)
{
    SERIES value = 0.0;
    UNROLL
    for (int k = TAYLOR - 1; k >= q; --k) {
        const SERIES term = q == 0 ? coefficients[k] : k * coefficients[k];
        value = k == TAYLOR - 1 ? term : fma(value, dt, term);
    }
    return value;
}

// Time, mass and coefficients of the source at a place, or of the octet that begins there.
FUNCTION void load_source(GLOBAL const double *octets, int slot, int place, SERIES rows[SOURCE_ROWS])
{
    GLOBAL const double *source = octets + ((long)slot * CHUNK + place / OCTET * OCTET) * SOURCE_ROWS + place % OCTET;
    UNROLL
    for (int row = 0; row < SOURCE_ROWS; ++row)
        rows[row] = *(GLOBAL const SERIES *)(source + row * OCTET);
}

// Predicted position and velocity of the source at an address, and its mass; far away where the address takes no part.
FUNCTION SERIES predict_vectors(const SERIES rows[SOURCE_ROWS], SERIES_LOGICAL address, Moment moment,
    SERIES vectors[VECTORS][3])
{
    const SERIES_LOGICAL takes_part = address < moment.nj;
    const SERIES dt = moment.time - rows[0];
    UNROLL
    for (int component = 0; component < 3; ++component) {
        SERIES coefficients[TAYLOR];
        UNROLL
        for (int k = 0; k < TAYLOR; ++k)
            coefficients[k] = rows[2 + 3 * k + component];
        UNROLL
        for (int q = 0; q < VECTORS; ++q)
            vectors[q][component] = takes_part ? evaluate(q, coefficients, dt) : q == 0 ? FAR_AWAY : 0.0;
    }
    return takes_part ? rows[1] * moment.mass_factor : 0.0;
}

#ifndef WIDTH
// Predicts a source into the rows of a body.
FUNCTION void predict(const double source[SOURCE_ROWS], int address, Moment moment, VECTOR rows[ROWS])
{
    double vectors[VECTORS][3];
    const double mass = predict_vectors(source, address, moment, vectors);
#if PRECISION == DOUBLE
    UNROLL
    for (int q = 0; q < VECTORS; ++q) {
        rows[2 * q] = DOUBLE2(vectors[q][0], vectors[q][1]);
        rows[2 * q + 1] = DOUBLE2(vectors[q][2], q == 0 ? mass : 0.0);
    }
#else
    const float x = (float)vectors[0][0], y = (float)vectors[0][1], z = (float)vectors[0][2];
    rows[0] = FLOAT4(x, y, z, (float)mass);
#if PRECISION == MIXED
    rows[1] = FLOAT4((float)(vectors[0][0] - x), (float)(vectors[0][1] - y), (float)(vectors[0][2] - z), 0.0f);
#endif
#if VECTORS > 1
    rows[ROWS - 1] = FLOAT4((float)vectors[1][0], (float)vectors[1][1], (float)vectors[1][2], 0.0f);
#endif
#endif
}
#endif
