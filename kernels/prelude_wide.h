// Vectors of OpenCL C for the wide kernels. WIDTH is 2, 4, 8 or 16: the numbers of a pair that a CPU has side by side.

#define JOINED_TEXT(first, second) first##second
#define JOINED(first, second) JOINED_TEXT(first, second)
#define VECTOR_OF(type, lanes) JOINED(type, lanes)

// `lanes` numbers from a pointer on, aligned as one number is.
#define LOAD(lanes, pointer) JOINED(vload, lanes)(0, pointer)
#define STORE(lanes, value, pointer) JOINED(vstore, lanes)(value, 0, pointer)
#define CONVERTED(type, lanes, value) JOINED(JOINED(convert_, type), lanes)(value)
#define LANE(vector, type, lane) (((type *)&(vector))[lane])
// Whether a condition holds for some lane.
#define ANY_LANE(condition) any(condition)

// An estimate of 1 / sqrt(value), good to 2^-14 and infinite at zero, where the instructions of the CPU have one.
#ifdef __AVX512F__
#if PRECISION == 3 && WIDTH == 8
#define INVERSE_SQRT_ESTIMATE(value) __builtin_ia32_rsqrt14pd512_mask(value, value, 0xff)
#elif PRECISION != 3 && WIDTH == 16
#define INVERSE_SQRT_ESTIMATE(value) __builtin_ia32_rsqrt14ps512_mask(value, value, 0xffff)
#endif
#endif
