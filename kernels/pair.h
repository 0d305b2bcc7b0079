// What a pair adds to the sums of a sink. With r = x_j - x_i, v = v_j - v_i, s2 = |r|^2 + eps2, w = m_j s2^(-3/2),
// alpha = (r.v) / s2: potential -m_j s2^(-1/2), acceleration w r, jerk w (v - 3 alpha r).

#ifndef WIDTH
FUNCTION REAL inverse_sqrt(REAL value)
{
#if PRECISION == DOUBLE
    // One step of third order: h is what the seed misses, 1 / sqrt(1 - h) = 1 + h / 2 + 3 h^2 / 8 + ...
    double seed;
    INVERSE_SQRT_SEED_64(seed, value);
    const double h = fma(-(value * seed), seed, 1.0);
    return fma(seed * h, fma(0.375, h, 0.5), seed);
#else
    return INVERSE_SQRT_32(value);
#endif
}

// The smaller of two squared distances; neither is negative.
FUNCTION REAL nearer(REAL a, REAL b)
{
#if PRECISION == DOUBLE
    return BITS_OF_DOUBLE(a) < BITS_OF_DOUBLE(b) ? a : b;
#else
    return fmin(a, b);
#endif
}
#endif

FUNCTION void position_difference(const Body *source, const Sink *sink, WIDE r[3])
{
    UNROLL
    for (int k = 0; k < 3; ++k) {
        r[k] = source->position[k] - sink->position[k];
#if PRECISION == MIXED
        r[k] += source->low[k] - sink->low[k];
#endif
    }
}

FUNCTION WIDE squared(const WIDE r[3])
{
    return fma(r[2], r[2], fma(r[1], r[1], r[0] * r[0]));
}

// Adds one pair. `guarded` is false where no pair needs a look, `is_other` for a source that is the sink itself; both
// are constants where the caller need not look.
FUNCTION void add_pair(const Body *source, const Sink *sink, int guarded, LOGICAL is_other, WIDE sums[OUTPUTS],
    WIDE *distance2)
{
    WIDE r[3];
    position_difference(source, sink, r);
#if NEAREST
    const WIDE r2 = squared(r);
    const WIDE s2 = r2 + sink->weight;
#else
    const WIDE s2 = fma(r[2], r[2], fma(r[1], r[1], fma(r[0], r[0], sink->weight)));
#endif
    WIDE inverse = inverse_sqrt(s2);
    if (guarded)
        inverse = is_other && s2 >= SMALLEST ? inverse : (REAL)0;
#if NEAREST
    *distance2 = nearer(*distance2, guarded && !is_other ? NO_DISTANCE2 : r2);
#endif
    const WIDE inverse2 = inverse * inverse;
    const WIDE potential = source->weight * inverse;
    const WIDE w = potential * inverse2;
    sums[0] -= potential;
#if ORDER == 4
    WIDE v[3];
    UNROLL
    for (int k = 0; k < 3; ++k)
        v[k] = source->velocity[k] - sink->velocity[k];
    const WIDE alpha = fma(r[2], v[2], fma(r[1], v[1], r[0] * v[0])) * ((REAL)-3 * inverse2);
#endif
    UNROLL
    for (int k = 0; k < 3; ++k) {
        sums[1 + k] = fma(w, r[k], sums[1 + k]);
#if ORDER == 4
        sums[4 + k] = fma(w, fma(alpha, r[k], v[k]), sums[4 + k]);
#endif
    }
}
