// What a pair needs of vectors of sinks.

FUNCTION WIDE inverse_sqrt(WIDE value)
{
#ifdef INVERSE_SQRT_ESTIMATE
    // One step: h is what the estimate misses, 1 / sqrt(1 - h) = 1 + h / 2 + 3 h^2 / 8 + 5 h^3 / 16 + ...
    const WIDE root = INVERSE_SQRT_ESTIMATE(value);
    const WIDE h = fma(-(value * root), root, (WIDE)1);
#if PRECISION == DOUBLE
    return fma(root * h, fma(fma((WIDE)0.3125, h, (WIDE)0.375), h, (WIDE)0.5), root);
#else
    return fma(root * (REAL)0.5, h, root);
#endif
#else
    // Division and root have a unit of their own, which works while others add and multiply.
    return rsqrt(value);
#endif
}

// The smaller of two squared distances; `a` is a number.
FUNCTION WIDE nearer(WIDE a, WIDE b)
{
    return b < a ? b : a;
}
