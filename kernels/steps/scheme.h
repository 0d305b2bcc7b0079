// The Hermite scheme: crates/kyoho-integrators/src/hermite/scheme.rs says what it is. Every product,
// sum and quotient here is one of the host's, in its order, so that bodies get the same bits.

// The derivatives of a velocity that a force gives, and those that a body keeps.
#define GIVEN N_DERIVATIVES
#define ORDER (2 * GIVEN)
#define KEPT (ORDER - 2)

// The row of a body: what rounding took off its position and velocity, its step, the step that it may
// make next, whatever the times of others, and position, velocity and the derivatives of the velocity.
#define LOST 0
#define STEP 6
#define WANTED 7
#define MOTION 8
#define BODY_NUMBERS (MOTION + 3 * ORDER)

// The largest double, and the distance of the next one from 1.
#define LARGEST_64 1.7976931348623157e308
#define EPSILON_64 2.220446049250313e-16
// Remainders of larger numbers are exact.
#define SMALL_64 1e-250

// A body, of whose vectors a thread has some components.
typedef struct {
    double lost[2][AXES];
    double step, wanted;
    // Position, velocity, and the derivatives of the velocity.
    double motion[ORDER][AXES];
} MovingBody;

FUNCTION MovingBody load_body(GLOBAL const double *row)
{
    const int axis = first_axis();
    MovingBody body;
    UNROLL
    for (int n = 0; n < 2; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k)
            body.lost[n][k] = row[LOST + 3 * n + axis + k];
    }
    body.step = row[STEP];
    UNROLL
    for (int n = 0; n < ORDER; ++n) {
        UNROLL
        for (int k = 0; k < AXES; ++k)
            body.motion[n][k] = row[MOTION + 3 * n + axis + k];
    }
    return body;
}

// The quotient of a number by another one whose inverse is known, rounded to the nearest double: the
// remainder corrects it (Markstein 1990, IBM Journal of Research and Development 34, 111). Division
// itself takes several times as long.
FUNCTION double divided(double number, double by, double inverse)
{
    if (!(fabs(number) > SMALL_64))
        return number / by;
    double quotient = number * inverse;
    quotient = fma(fma(-by, quotient, number), inverse, quotient);
    return fma(fma(-by, quotient, number), inverse, quotient);
}

// A number over the factorial of a number up to 9, which is known when this is compiled.
FUNCTION double over_factorial(double number, int of)
{
    double factorial = 1.0;
    UNROLL
    for (int factor = 2; factor <= 9; ++factor)
        factorial = factor <= of ? factorial * factor : factorial;
    return of < 3 ? number / factorial : divided(number, factorial, 1.0 / factorial);
}

// The sum of derivatives[n] step^n / (n + shift)!, of one component of `terms` vectors.
FUNCTION double series(const double derivatives[][AXES], int terms, int component, double step, int shift)
{
    double sum = 0.0;
    UNROLL
    for (int n = terms - 1; n >= 0; --n)
        sum = over_factorial(derivatives[n][component], n + shift) + step * sum;
    return sum;
}

// The powers of a step from 0 on.
FUNCTION void powers_of(double step, double powers[10])
{
    powers[0] = 1.0;
    powers[1] = step;
    powers[2] = powers[1] * powers[1];
    powers[3] = powers[1] * powers[2];
    powers[4] = powers[2] * powers[2];
    powers[5] = powers[1] * powers[4];
    powers[6] = powers[2] * powers[4];
    powers[7] = powers[3] * powers[4];
    powers[8] = powers[4] * powers[4];
    powers[9] = powers[1] * powers[8];
}

// A quotient by a power of a step, whose inverse may be out of range.
FUNCTION double quotient_by_power(double number, double power, double inverse)
{
    const int is_small = power > SMALL_64 && power < 1.0 / SMALL_64 && fabs(number) < 1.0 / SMALL_64;
    return is_small ? divided(number, power, inverse) : number / power;
}

// The derivatives that follow `given` ones at the start of a step, from these at both ends. A term
// is a factor, and what multiplies the value at the start and at the end.
FUNCTION void interpolate(const double terms[][3], int given, const double start[][AXES], const double end[][AXES],
    const double powers[10], double higher[][AXES])
{
    UNROLL
    for (int place = 0; place < given; ++place) {
        double sum[AXES];
        UNROLL
        for (int k = 0; k < AXES; ++k)
            sum[k] = 0.0;
        UNROLL
        for (int power = 0; power < given; ++power) {
            const double *const term = terms[place * given + power];
            const double factor = term[0] * powers[power];
            UNROLL
            for (int k = 0; k < AXES; ++k)
                sum[k] = sum[k] + factor * (term[1] * start[power][k] + term[2] * end[power][k]);
        }
        const double inverse = 1.0 / powers[given + place];
        UNROLL
        for (int k = 0; k < AXES; ++k)
            higher[place][k] = quotient_by_power(sum[k], powers[given + place], inverse);
    }
}

FUNCTION void interpolate_fourth(const double start[][AXES], const double end[][AXES], const double powers[10],
    double higher[][AXES])
{
    const double terms[4][3] = {{6.0, -1.0, 1.0}, {-2.0, 2.0, 1.0}, {-12.0, -1.0, 1.0}, {6.0, 1.0, 1.0}};
    interpolate(terms, 2, start, end, powers, higher);
}

// The factor of the first term of an interpolated derivative.
FUNCTION double first_factor(int place)
{
#if GIVEN == 2
    const double factors[GIVEN] = {6.0, -12.0};
#elif GIVEN == 3
    const double factors[GIVEN] = {60.0, -360.0, 720.0};
#else
    const double factors[GIVEN] = {840.0, -10080.0, 50400.0, -100800.0};
#endif
    return factors[place];
}

FUNCTION void interpolate_own(const double start[][AXES], const double end[][AXES], const double powers[10],
    double higher[][AXES])
{
#if GIVEN == 2
    interpolate_fourth(start, end, powers, higher);
#elif GIVEN == 3
    const double terms[9][3] = {{60.0, -1.0, 1.0}, {-12.0, 3.0, 2.0}, {3.0, -3.0, 1.0},
        {-360.0, -1.0, 1.0}, {24.0, 8.0, 7.0}, {12.0, 3.0, -2.0},
        {720.0, -1.0, 1.0}, {-360.0, 1.0, 1.0}, {60.0, -1.0, 1.0}};
    interpolate(terms, 3, start, end, powers, higher);
#else
    const double terms[16][3] = {{840.0, -1.0, 1.0}, {-120.0, 4.0, 3.0}, {60.0, -2.0, 1.0}, {-4.0, 4.0, 1.0},
        {-10080.0, -1.0, 1.0}, {360.0, 15.0, 13.0}, {120.0, 10.0, -7.0}, {60.0, 2.0, 1.0},
        {50400.0, -1.0, 1.0}, {-1440.0, 18.0, 17.0}, {360.0, -15.0, 13.0}, {-120.0, 4.0, 3.0},
        {-100800.0, -1.0, 1.0}, {50400.0, 1.0, 1.0}, {10080.0, 1.0, -1.0}, {840.0, 1.0, 1.0}};
    interpolate(terms, 4, start, end, powers, higher);
#endif
}

// All derivatives at the end of a step: the `given` ones, and those that were interpolated for its
// start.
FUNCTION void derivatives_at_end(const double higher[][AXES], int given, const double end[][AXES], double step,
    double ends[][AXES])
{
    UNROLL
    for (int number = 0; number < 2 * given; ++number) {
        UNROLL
        for (int k = 0; k < AXES; ++k)
            ends[number][k] = number < given ? end[number][k] : series(higher + number - given, 2 * given - number, k, step, 0);
    }
}

// Advances a body by its step, at whose end the force gives derivatives of the velocity; `ends` gets
// all derivatives there.
FUNCTION void correct(MovingBody *body, const double force[GIVEN][AXES], const double powers[10], double ends[ORDER][AXES])
{
    const double step = body->step;
    double higher[GIVEN][AXES];
    interpolate_own(body->motion + 2, force, powers, higher);
    double moved[AXES], sped[AXES], position[AXES], velocity[AXES];
    UNROLL
    for (int k = 0; k < AXES; ++k) {
        position[k] = series(body->motion + 1, 1 + GIVEN, k, step, 1);
        velocity[k] = series(body->motion + 2, GIVEN, k, step, 1);
        moved[k] = sped[k] = 0.0;
        UNROLL
        for (int n = 0; n < GIVEN; ++n) {
            const int derivative = GIVEN + n;
            moved[k] = moved[k] + over_factorial(powers[derivative + 2], derivative + 2) * higher[n][k];
            sped[k] = sped[k] + over_factorial(powers[derivative + 1], derivative + 1) * higher[n][k];
        }
    }
    derivatives_at_end(higher, GIVEN, force, step, ends);
    UNROLL
    for (int k = 0; k < AXES; ++k) {
        add_term(&body->motion[0][k], &body->lost[0][k], moved[k] + step * position[k]);
        add_term(&body->motion[1][k], &body->lost[1][k], sped[k] + step * velocity[k]);
    }
}
