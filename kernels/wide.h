// Numbers of the wide kernels, which are for CPUs: a group is one thread, with WIDTH sinks in the lanes of vectors.
// Sources meet them one by one, and are predicted by octets.

#define WIDE VECTOR_OF(REAL, WIDTH)
#define LOGICAL VECTOR_OF(WHOLE, WIDTH)
#define WIDE_64 VECTOR_OF(double, WIDTH)
#define LOGICAL_64 VECTOR_OF(long, WIDTH)
#define SERIES VECTOR_OF(double, OCTET)
#define SERIES_LOGICAL VECTOR_OF(long, OCTET)
#define PLACES_OF_OCTET ((SERIES_LOGICAL)(0, 1, 2, 3, 4, 5, 6, 7))
