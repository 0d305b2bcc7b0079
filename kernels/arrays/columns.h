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

// The exponent of a number as its bits have it.
FUNCTION int exponent_of(double number)
{
    return (int)(BITS_OF_DOUBLE(number) >> 52) & 0x7ff;
}
