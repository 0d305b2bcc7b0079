// What a pair needs of vectors, and strands.

// Strands of a chunk: sources that are summed one after another, as many as the numbers of a pair bear. And the bits of a
// number that, less half the bits of another, are about the bits of its root's inverse (Lomont 2003).
#if PRECISION == DOUBLE
#define STRANDS 1
#define ROOT_BITS 0x5fe6eb50c7b537a9
#else
#define STRANDS 4
#define ROOT_BITS 0x5f375a86
#endif
#define STRAND (CHUNK / STRANDS)

// The root, improved by a step of third order: h is what it misses, 1 / sqrt(1 - h) = 1 + h / 2 + 3 h^2 / 8 + ...
// Here |h| < 0.07, and with 0.50115 for 1/2 the step misses 2^-15 at most.
FUNCTION WIDE first_step(WIDE value, WIDE root)
{
    const WIDE h = fma(-(value * root), root, (WIDE)1);
    return fma(root * h, fma((WIDE)0.375, h, (WIDE)0.50115), root);
}

FUNCTION WIDE inverse_sqrt(WIDE value)
{
#ifdef INVERSE_SQRT_ESTIMATE
    const WIDE root = INVERSE_SQRT_ESTIMATE(value);
#else
    // Halving the bits halves the exponent. Finite at zero.
    const WIDE root = first_step(value, BITS_AS(REAL, WIDTH, ROOT_BITS - (BITS_AS(WHOLE, WIDTH, value) >> 1)));
#endif
    const WIDE h = fma(-(value * root), root, (WIDE)1);
#if PRECISION == DOUBLE
    return fma(root * h, fma(fma((WIDE)0.3125, h, (WIDE)0.375), h, (WIDE)0.5), root);
#else
    return fma(root * (REAL)0.5, h, root);
#endif
}

// The smaller of two squared distances; `a` is a number.
FUNCTION WIDE nearer(WIDE a, WIDE b)
{
    return b < a ? b : a;
}
