// The sources of groups: predicted sources of the system, or sources that came with the call.

// A power of two; its exponent is that of a normal number.
FUNCTION double power(int exponent)
{
    Word value;
    value.place.index = 0;
    value.place.address = (uint)(exponent + 1023) << 20;
    return value.number;
}

// Brings a step to the units of a group: the binary exponents of its masses, lengths and speeds.
FUNCTION void set_units(Step *step, GLOBAL const int *units)
{
    const int mass = units[0], length = units[1], rate = units[2] - units[1];
    step->target.mass_factor = power(mass);
    step->target.position_factor = power(length);
    step->target.velocity_factor = power(length + rate);
    step->target.acceleration_factor = power(length + 2 * rate);
    step->target.jerk_factor = power(length + 3 * rate);
    step->distance2_factor = power(2 * length);
    step->distance2_unit = power(-2 * length);
    step->potential_unit = power(length - mass);
    step->acceleration_unit = power(2 * length - mass);
    step->jerk_unit = power(2 * length - mass - rate);
    step->snap_unit = power(2 * length - mass - 2 * rate);
    step->crackle_unit = power(2 * length - mass - 3 * rate);
}

// The numbers of a source that came with the call, as those of the system's sources are kept.
FUNCTION void load_own(GLOBAL const char *own, const Columns *columns, long source, double numbers[SOURCE_ROWS])
{
    const double factorials[8] = {1.0, 1.0, 2.0, 6.0, 24.0, 120.0, 720.0, 5040.0};
    const Column *const derivatives = &columns->positions;
    numbers[0] = real_of(own, columns->times, source, 0);
    numbers[1] = real_of(own, columns->masses, source, 0);
    UNROLL
    for (int k = 0; k < N_COEFFICIENTS; ++k) {
        UNROLL
        for (int component = 0; component < 3; ++component)
            numbers[2 + 3 * k + component] = 0.0;
        if (derivatives[k].stride != 0) {
            GLOBAL const double *const vector = (GLOBAL const double *)(own + derivatives[k].offset + source * derivatives[k].stride);
            UNROLL
            for (int component = 0; component < 3; ++component)
                numbers[2 + 3 * k + component] = k < 2 ? vector[component] : vector[component] / factorials[k];
        }
    }
}

// The vectors of a sink, and its squared softening.
FUNCTION double load_vectors(const Step *step, const Columns *columns, GLOBAL const char *own,
    const Columns *sink_columns, GLOBAL const char *sinks, long number, double vectors[N_DERIVATIVES][3])
{
    if (step->is_batch) {
        double numbers[SOURCE_ROWS];
        load_own(own, columns, number, numbers);
        PredictionTarget target = step->target;
        target.nj = 1;
        predict_vectors(numbers, 0, target, vectors);
    } else {
        UNROLL
        for (int q = 0; q < N_DERIVATIVES; ++q) {
            UNROLL
            for (int component = 0; component < 3; ++component)
                vectors[q][component] = real_of(sinks, (&sink_columns->positions)[q], number, component);
        }
    }
    const Column each = sink_columns->softening2;
    return each.stride == 0 ? step->softening2 : real_of(sinks, each, number, 0);
}
