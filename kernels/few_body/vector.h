// Vectors of three numbers.

FUNCTION double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

FUNCTION double norm(const double a[3])
{
    return sqrt(dot(a, a));
}

FUNCTION void clear(double a[3])
{
    UNROLL
    for (int axis = 0; axis < 3; ++axis)
        a[axis] = 0.0;
}

FUNCTION void copy(double a[3], const double b[3])
{
    UNROLL
    for (int axis = 0; axis < 3; ++axis)
        a[axis] = b[axis];
}

// a = b - c
FUNCTION void subtract(double a[3], const double b[3], const double c[3])
{
    UNROLL
    for (int axis = 0; axis < 3; ++axis)
        a[axis] = b[axis] - c[axis];
}

// a += factor b
FUNCTION void add_scaled(double a[3], double factor, const double b[3])
{
    UNROLL
    for (int axis = 0; axis < 3; ++axis)
        a[axis] += factor * b[axis];
}

FUNCTION void cross(double a[3], const double b[3], const double c[3])
{
    a[0] = b[1] * c[2] - b[2] * c[1];
    a[1] = b[2] * c[0] - b[0] * c[2];
    a[2] = b[0] * c[1] - b[1] * c[0];
}

#define INFINITY_64 ((double)INFINITY_32)

FUNCTION int is_finite(double value)
{
    return fabs(value) <= 1.7976931348623157e308;
}
