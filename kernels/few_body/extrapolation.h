// Steps of high order (crates/kyoho-few-body/src/extrapolation.rs): leapfrogs over the same interval
// with more and more steps, extrapolated to steps of no length.

// The columns of the table; its last leapfrog has twice as many steps.
#define COLUMNS 8
// The least column at which a step may end.
#define FEWEST 2
// What rounding takes off a step, relative to the numbers that are added.
#define ROUNDING 4e-15

// By how much a step may become shorter and longer.
#define LEAST_FACTOR 0.02
#define LARGEST_FACTOR 4.0

#define STEP_AGAIN 0
#define STEP_DONE 1

typedef struct {
    // The table's last row: the changes of the state, extrapolated from ever more rows.
    double table[COLUMNS][MOST_ROWS][3];
    double trial[MOST_ROWS][3];
    // The state at the end of the step.
    double end[MOST_ROWS][3];
    // How long the next step should be, or this one when it is tried again.
    double next;
} Extrapolation;

typedef union {
    double number;
    long bits;
} Bits;

// The root of a number above 0, to about 1e-3: Newton's steps from a guess by the exponent.
FUNCTION double rough_root(double number, int degree)
{
    Bits guess, one;
    one.number = 1.0;
    guess.number = number;
    guess.bits = one.bits + (guess.bits - one.bits) / degree;
    double root = guess.number;
    UNROLL_BY(1)
    for (int turn = 0; turn < 3; ++turn) {
        double power = 1.0;
        UNROLL_BY(1)
        for (int factor = 1; factor < degree; ++factor)
            power = power * root;
        root += (number / power - root) / (double)degree;
    }
    return root;
}

// How much longer the next step may be after one with this ratio of its error to the tolerance, which
// falls with this power of its length.
FUNCTION double step_factor(double ratio, int power)
{
    // NaN gives the least.
    if (!(ratio < 1e40))
        return LEAST_FACTOR;
    if (ratio < 1e-40)
        return LARGEST_FACTOR;
    return fmin(fmax(0.94 * rough_root(0.65 / ratio, power), LEAST_FACTOR), LARGEST_FACTOR);
}

// Takes an error into the largest relative to its scale, both squared.
FUNCTION double larger_error(double worst, double error, double scale)
{
    const double ratio = error == 0.0 ? 0.0 : error / scale;
    return fmax(worst, ratio != ratio ? INFINITY_64 : ratio);
}

// The largest error of the end of a step relative to the scale of each of its parts, and to what the
// step changed. The errors are in `trial`.
FUNCTION double relative_error(const System *system, const Extrapolation *step, double kinetic)
{
    const int scalars = SCALARS(&system->motion);
    double worst = 0.0;
    UNROLL_BY(1)
    for (int row = 0; row < scalars; ++row) {
        double change[3];
        subtract(change, step->end[row], system->state[row]);
        const double scale = fmax(fmax(dot(system->state[row], system->state[row]), dot(step->end[row], step->end[row])),
            dot(change, change));
        worst = larger_error(worst, dot(step->trial[row], step->trial[row]), scale);
    }
    const double time = step->trial[scalars][0], binding = step->trial[scalars][1], light = step->trial[scalars][2];
    const double *end = step->end[scalars];
    worst = larger_error(worst, time * time, end[0] * end[0]);
    const double energy = fmax(kinetic, fabs(end[1]));
    worst = larger_error(worst, binding * binding, energy * energy);
    if (system->motion.any_light)
        worst = larger_error(worst, light * light, end[2] * end[2]);
    return sqrt(worst);
}

// Adds a row to the table: `trial` is the end of its leapfrog. Returns the error of its last column.
FUNCTION double extrapolate(const System *system, Extrapolation *step, int row, double kinetic)
{
    double squares[COLUMNS];
    const int rows = ROWS_OF(&system->motion);
    UNROLL_BY(1)
    for (int column = 0; column < row; ++column) {
        const double ratio = (double)(row + 1) / (double)(row - column);
        squares[column] = 1.0 / (ratio * ratio - 1.0);
    }
    UNROLL_BY(1)
    for (int place = 0; place < rows; ++place) {
        UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            double value = step->trial[place][axis] - system->state[place][axis];
            double last = 0.0;
            UNROLL_BY(1)
            for (int column = 0; column < row; ++column) {
                const double before = step->table[column][place][axis];
                step->table[column][place][axis] = value;
                last = value;
                value += (value - before) * squares[column];
            }
            step->table[row][place][axis] = value;
            step->trial[place][axis] = value - last;
            step->end[place][axis] = system->state[place][axis] + value;
        }
    }
    return row == 0 ? INFINITY_64 : relative_error(system, step, kinetic);
}

FUNCTION double work_of(int row)
{
    return (double)((row + 1) * (row + 2));
}

// Chooses the column of the next step after one that ended at this column; returns its length.
FUNCTION double choose_next(System *system, int column, const double lengths[COLUMNS], double interval)
{
    int best = column;
    if (column <= FEWEST)
        best = FEWEST + 1;
    else if (work_of(column - 1) / lengths[column - 1] < 0.8 * (work_of(column) / lengths[column]))
        best = column - 1;
    else if (column + 2 < COLUMNS
        && work_of(column) / lengths[column] < 0.9 * (work_of(column - 1) / lengths[column - 1]))
        best = column + 1;
    system->target = best > FEWEST + 1 ? best : FEWEST + 1;
    if (best > column)
        return lengths[column] * work_of(best) / work_of(column);
    return fmax(lengths[best], 0.1 * interval);
}

// Tries a step of `interval`. Returns whether it holds the tolerance; its end is in `step` then.
FUNCTION int attempt_step(const FewBodyRules *rules, System *system, Extrapolation *step, double interval)
{
    const double kinetic = kinetic_energy(&system->motion, system->state);
    const double rounding = ROUNDING * kinetic / rate_of(&system->motion, system->state);
    const double tolerance = system->motion.clock == REGULAR_CLOCK ? fmax(rules->tolerance, rounding) : rules->tolerance;
    const int last = system->target + 1 < COLUMNS - 1 ? system->target + 1 : COLUMNS - 1;
    double lengths[COLUMNS];
    UNROLL_BY(1)
    for (int row = 0; row < COLUMNS; ++row)
        lengths[row] = 0.0;
    const int rows = ROWS_OF(&system->motion);
    UNROLL_BY(1)
    for (int row = 0; row <= last; ++row) {
        const int steps = 2 * (row + 1);
        UNROLL_BY(1)
        for (int place = 0; place < rows; ++place)
            copy(step->trial[place], system->state[place]);
        leapfrog(rules, system, step->trial, interval, steps);
        system->leapfrog_steps += (double)steps;
        const double error = extrapolate(system, step, row, kinetic);
        if (row < FEWEST)
            continue;
        const double ratio = error / tolerance;
        lengths[row] = interval * step_factor(ratio, 2 * row + 1);
        if (ratio <= 1.0 && row + 1 >= system->target) {
            step->next = choose_next(system, row, lengths, interval);
            return STEP_DONE;
        }
        // Not even the rows that are left could bring so large an error below the tolerance.
        double product = 1.0;
        UNROLL_BY(1)
        for (int next = row + 1; next <= last; ++next)
            product = product * (double)(next + 1);
        if (row + 1 >= system->target && ratio > product * product) {
            const int target = row < system->target ? row : system->target;
            system->target = target > FEWEST + 1 ? target : FEWEST + 1;
            step->next = fmin(lengths[row], 0.7 * interval);
            return STEP_AGAIN;
        }
    }
    step->next = fmin(lengths[system->target < last ? system->target : last], 0.5 * interval);
    return STEP_AGAIN;
}
