// The criterion of the length of steps, as crates/kyoho-integrators/src/hermite/criterion.rs has it,
// in the same steps of arithmetic.

// The number of the slowness of order 4.
#define LOWEST 2
// See NOISE there.
#define NOISE 0.25

typedef union {
    double number;
    ulong bits;
} Bits;

FUNCTION void lengths_of(const double vectors[][AXES], int count, double lengths[])
{
    UNROLL
    for (int n = 0; n < count; ++n) {
        double all[3];
        gather_axes(vectors[n], all);
        lengths[n] = sqrt(all[0] * all[0] + all[1] * all[1] + all[2] * all[2]);
    }
}

// An odd root of a number that is not negative, by Newton's method from a guess by the exponent.
FUNCTION double odd_root(double value, int degree)
{
    if (!(value > 0.0 && value <= LARGEST_64))
        return value;
    const ulong one = 1023ul << 52;
    Bits guess;
    guess.number = value;
    guess.bits = guess.bits / (ulong)degree + (one - one / (ulong)degree);
    double root = guess.number;
    UNROLL
    for (int turn = 0; turn < ROOT_TURNS; ++turn) {
        const double square = root * root;
        const double power = degree == 3 ? square : square * square;
        root = ((double)(degree - 1) * root + value / power) / (double)degree;
    }
    return root;
}

// The root of degree 2 (slowest - 1).
FUNCTION double root_of(double value, int slowest)
{
    const double root = sqrt(value);
    return slowest == 2 ? root
        : slowest == 3 ? sqrt(root)
        : slowest == 4 ? odd_root(root, 3)
        : slowest == 5 ? sqrt(sqrt(root))
                       : odd_root(root, 5);
}

FUNCTION double size2_of(const double lengths[], int s)
{
    return lengths[s - 1] * lengths[s + 1] + lengths[s] * lengths[s];
}

FUNCTION double criterion_of_fourth(const double lengths[], double slowness, double eta)
{
    return slowness == 0.0 ? (double)INFINITY_32 : sqrt(eta * size2_of(lengths, 1) / slowness);
}

// The step that a body wants after one that it has taken, from these derivatives to those.
FUNCTION double wanted_step(const BlockRules *rules, const double before[][AXES], const double ends[ORDER][AXES],
    const double powers[10], double rounding)
{
    double lengths[ORDER];
    lengths_of(ends, ORDER, lengths);
    int highest = 0;
    double slowness = 0.0;
    UNROLL
    for (int s = LOWEST; s <= ORDER - 2; ++s) {
        const double growth = s + 1 < GIVEN ? 0.0 : fabs(first_factor(s + 1 - GIVEN)) / powers[s + 1];
        if (lengths[s + 1] >= rounding * growth) {
            highest = s;
            slowness = size2_of(lengths, s);
        }
    }
    if (highest == 0)
        slowness = size2_of(lengths, LOWEST);
#if ORDER == 4
    const double own = criterion_of_fourth(lengths, slowness, rules->eta);
    return highest > 0 ? own : fmax(own, powers[1]);
#else
    const int slowest = highest > 0 ? highest : LOWEST;
    double own = slowness == 0.0 ? (double)INFINITY_32 : rules->eta * root_of(size2_of(lengths, 1) / slowness, slowest);
    own = highest > 0 ? own : fmax(own, powers[1]);
    double higher[2][AXES], fourth[4][AXES], lengths_of_fourth[4];
    interpolate_fourth(before, ends, powers, higher);
    derivatives_at_end(higher, 2, ends, powers[1], fourth);
    lengths_of(fourth, 4, lengths_of_fourth);
    const double of_fourth =
        criterion_of_fourth(lengths_of_fourth, size2_of(lengths_of_fourth, LOWEST), rules->eta_of_fourth);
    return rules->averages ? 0.5 * (of_fourth + own) : fmax(own, NOISE * of_fourth);
#endif
}
