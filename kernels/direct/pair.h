// The terms that a pair adds to the sums of a sink. With r = x_j - x_i and the same differences v,
// a, j of velocities, accelerations and jerks, s2 = |r|^2 + eps2, w = m_j s2^(-3/2): potential -m_j
// s2^(-1/2), acceleration A = w r, jerk J = w v - 3 alpha A, snap S = w a - 6 alpha J - 3 beta A,
// crackle w j - 9 alpha S - 9 beta J - 3 gamma A, where alpha = (r.v) / s2, beta = (|v|^2 + r.a) /
// s2 + alpha^2, gamma = (3 v.a + r.j) / s2 + alpha (3 beta - 4 alpha^2).

// Comparisons of numbers that are not negative. Those of doubles are not made by the units for
// doubles, which have enough to do.

FUNCTION int is_nearer(REAL a, REAL b)
{
#if IS_DOUBLE
    return BITS_OF_DOUBLE(a) < BITS_OF_DOUBLE(b);
#else
    return a < b;
#endif
}

FUNCTION REAL nearer(REAL a, REAL b)
{
#if IS_DOUBLE
    return is_nearer(a, b) ? a : b;
#else
    return fmin(a, b);
#endif
}

// Whether a number is zero or not normal.
FUNCTION int vanishes(REAL value)
{
#if IS_DOUBLE
    return (uint)(BITS_OF_DOUBLE(value) >> 32) < SMALLEST_HIGH_WORD;
#else
    return !(value >= SMALLEST);
#endif
}

// The inverse of the root of a number, or 0 where the pair does not count.
FUNCTION REAL inverse_sqrt(REAL value, int counts)
{
#if IS_DOUBLE
    // One step of third order: h is what the seed misses, 1 / sqrt(1 - h) = 1 + h / 2 + 3 h^2 / 8 +
    // ... A seed of 0 stays 0.
    double seed;
    INVERSE_SQRT_SEED_64(seed, value);
    seed = counts ? seed : 0.0;
    const double h = fma(-(value * seed), seed, 1.0);
    return fma(seed * h, fma(0.375, h, 0.5), seed);
#else
    const float root = INVERSE_SQRT_32(value);
    return counts ? root : 0.0f;
#endif
}

FUNCTION void position_difference(const Body *source, const Sink *sink, REAL r[3])
{
    UNROLL
    for (int k = 0; k < 3; ++k) {
        r[k] = source->position[k] - sink->position[k];
#if IS_MIXED
        r[k] += source->low[k] - sink->low[k];
#endif
    }
}

FUNCTION REAL squared(const REAL r[3])
{
    return fma(r[2], r[2], fma(r[1], r[1], r[0] * r[0]));
}

// The product of two vectors, added to a number.
FUNCTION REAL add_product(const REAL a[3], const REAL b[3], REAL sum)
{
    return fma(a[2], b[2], fma(a[1], b[1], fma(a[0], b[0], sum)));
}

#if N_DERIVATIVES > 1
// The difference of the q-th derivatives: velocities, accelerations, jerks.
FUNCTION void higher_difference(const Body *source, const Sink *sink, int q, REAL difference[3])
{
    UNROLL
    for (int k = 0; k < 3; ++k)
        difference[k] = source->higher[q - 1][k] - sink->higher[q - 1][k];
}
#endif

#if REGULAR
// Whether a source with these differences from a sink is its neighbour: the smaller of the squared
// distances now, r2, and a step later is below the reach. Sums and lists ask this alone, with the
// same numbers, and every step of it rounds in one way: so a source is in a list if and only if it
// is in no sum. Where all signs of r and v change, it says the same.
FUNCTION int is_neighbour(const REAL r[3], REAL r2, const REAL v[3], REAL mass, const Sink *sink)
{
    REAL later[3];
    UNROLL
    for (int k = 0; k < 3; ++k)
        later[k] = fma(sink->step, v[k], r[k]);
    return nearer(r2, squared(later)) < fma(sink->by_mass, mass, sink->plain);
}
#endif

// Adds one pair. `guarded` is false where no pair needs a look, `is_other` for a source that is the
// sink itself; both are constants where the caller need not look. `distance2` becomes the smaller
// squared distance; if `keeps_place`, it returns whether that is the source's and was not before.
FUNCTION int add_pair(const Body *source, const Sink *sink, int guarded, int is_other, int keeps_place,
    REAL sums[N_OUTPUTS], REAL *distance2)
{
    REAL r[3];
    position_difference(source, sink, r);
#if NEAREST || REGULAR
    const REAL r2 = squared(r);
    const REAL s2 = r2 + sink->weight;
#else
    const REAL s2 = fma(r[2], r[2], fma(r[1], r[1], fma(r[0], r[0], sink->weight)));
#endif
    REAL inverse = inverse_sqrt(s2, !guarded | (is_other & !vanishes(s2)));
    int is_nearest = 0;
#if NEAREST
    is_nearest = keeps_place & (!guarded | is_other) & is_nearer(r2, *distance2);
    if (keeps_place && IS_DOUBLE)
        *distance2 = is_nearest ? r2 : *distance2;
    else
        *distance2 = nearer(*distance2, guarded && !is_other ? NO_DISTANCE2 : r2);
#endif
#if REGULAR
    // Also of one at no distance, whose root is no number.
    REAL velocity[3];
    higher_difference(source, sink, 1, velocity);
    inverse = is_neighbour(r, r2, velocity, source->weight, sink) ? (REAL)0 : inverse;
#endif
    const REAL inverse2 = inverse * inverse;
    const REAL potential = source->weight * inverse;
    const REAL w = potential * inverse2;
    sums[0] -= potential;
#if N_DERIVATIVES > 1
    REAL higher[N_DERIVATIVES - 1][3];
    UNROLL
    for (int q = 1; q < N_DERIVATIVES; ++q)
        higher_difference(source, sink, q, higher[q - 1]);
    const REAL *const v = higher[0];
    const REAL rv = fma(r[2], v[2], fma(r[1], v[1], r[0] * v[0]));
    const REAL minus3_inverse2 = (REAL)-3 * inverse2;
    const REAL minus3_alpha = rv * minus3_inverse2;
#endif
#if N_DERIVATIVES > 2
    const REAL *const a = higher[1];
    const REAL alpha = rv * inverse2;
    const REAL minus6_alpha = minus3_alpha + minus3_alpha;
    const REAL change = add_product(v, v, fma(r[2], a[2], fma(r[1], a[1], r[0] * a[0])));
    const REAL minus3_beta = fma(minus3_alpha, alpha, change * minus3_inverse2);
#endif
#if N_DERIVATIVES > 3
    const REAL *const j = higher[2];
    const REAL minus9_alpha = minus6_alpha + minus3_alpha;
    const REAL minus9_beta = (REAL)3 * minus3_beta;
    const REAL va = fma(v[2], a[2], fma(v[1], a[1], v[0] * a[0]));
    const REAL bend = fma((REAL)-4 * alpha, minus3_alpha, minus9_beta);
    const REAL minus3_gamma = fma(alpha, bend, add_product(r, j, (REAL)3 * va) * minus3_inverse2);
#endif
    UNROLL
    for (int k = 0; k < 3; ++k) {
        sums[1 + k] = fma(w, r[k], sums[1 + k]);
#if N_DERIVATIVES > 1
        // Jerk, snap and crackle over w.
        const REAL jerk = fma(minus3_alpha, r[k], v[k]);
        sums[4 + k] = fma(w, jerk, sums[4 + k]);
#endif
#if N_DERIVATIVES > 2
        const REAL snap = fma(minus6_alpha, jerk, fma(minus3_beta, r[k], a[k]));
        sums[7 + k] = fma(w, snap, sums[7 + k]);
#endif
#if N_DERIVATIVES > 3
        const REAL crackle = fma(minus9_alpha, snap, fma(minus9_beta, jerk, fma(minus3_gamma, r[k], j[k])));
        sums[10 + k] = fma(w, crackle, sums[10 + k]);
#endif
    }
    return is_nearest;
}
