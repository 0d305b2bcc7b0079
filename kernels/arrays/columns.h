// Quantities of bodies, wherever they lie.

// A number of a quantity of the bodies that came with the call; a quantity that was not given has
// no stride.
FUNCTION double real_of(GLOBAL const char *bodies, const Column column, long body, int component)
{
    return column.stride == 0 ? 0.0 : *(GLOBAL const double *)(bodies + column.offset + body * column.stride + 8 * component);
}

FUNCTION int index_of(GLOBAL const char *bodies, const Columns *columns, long body)
{
    const Column column = columns->indices;
    return column.stride == 0 ? (int)body : *(GLOBAL const int *)(bodies + column.offset + body * column.stride);
}

// The exponent of a number as its bits have it, and that of infinity and of no number.
#define INFINITE_EXPONENT 0x7ff
FUNCTION int exponent_of(double number)
{
    return (int)(BITS_OF_DOUBLE(number) >> 52) & INFINITE_EXPONENT;
}

#define LARGEST_DOUBLE 1.7976931348623157e308

FUNCTION int is_within(double value, double largest)
{
    // False for NaN.
    return (value >= -largest) & (value <= largest);
}

// Writes a sum of a sink to the array that it belongs to, if there is one.
FUNCTION void give_force(const ForceColumns *columns, GLOBAL char *origin, long sink, int output, double value)
{
    Column to = columns->potentials;
    to = output > 0 ? columns->accelerations : to;
    to = output > 3 ? columns->jerks : to;
    to = output > 6 ? columns->snaps : to;
    to = output > 9 ? columns->crackles : to;
    const int component = output > 0 ? (output - 1) % 3 : 0;
    if (to.stride != 0)
        *(GLOBAL double *)(origin + to.offset + sink * to.stride + 8 * component) = value;
}

// Writes the squared distance of the nearest source of a sink, infinite if there is none, and its
// index.
FUNCTION void give_nearest(const ForceColumns *columns, GLOBAL char *origin, long sink, double distance2, int index)
{
    if (columns->nearest.stride != 0)
        *(GLOBAL int *)(origin + columns->nearest.offset + sink * columns->nearest.stride) = distance2 <= LARGEST_DOUBLE ? index : -1;
    if (columns->nearest_distance2.stride != 0)
        *(GLOBAL double *)(origin + columns->nearest_distance2.offset + sink * columns->nearest_distance2.stride) = distance2;
}
