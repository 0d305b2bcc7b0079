//! Steps of high order: leapfrogs over the same interval with more and more steps, extrapolated to
//! steps of no length, with the order and the interval that cost least.
//!
//! E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), section II.9.

use kyoho_core::{Result, memory};

use crate::motion::{Clock, Motion};
use crate::vector::{Vector, ZERO, difference, sum};

/// The columns of the table; its last leapfrog has twice as many steps.
const COLUMNS: usize = 8;
/// The least column at which a step may end.
const FEWEST: usize = 2;
/// The column at which the first step is meant to end.
const FIRST: usize = 6;

/// What rounding takes off a step, relative to the numbers that are added.
const ROUNDING: f64 = 4e-15;

/// By how much a step may become shorter and longer.
const FACTORS: [f64; 2] = [0.02, 4.0];

/// The number of leapfrog steps of each row.
const fn leapfrogs(row: usize) -> usize {
    2 * (row + 1)
}

/// The leapfrog steps of all rows up to this one.
const fn work(row: usize) -> usize {
    (row + 1) * (row + 2)
}

/// Returns how much longer the next step may be after one with this ratio of its error to the
/// tolerance, which falls with this power of its length.
fn step_factor(ratio: f64, power: i64) -> f64 {
    let [least, largest] = FACTORS;
    if ratio.is_nan() || ratio >= 1e40 {
        least
    } else if ratio < 1e-40 {
        largest
    } else {
        (0.94 * rough_root(0.65 / ratio, power)).clamp(least, largest)
    }
}

/// Returns the root of a number above 0, to about 1e-3. It is made of sums and products alone, so that
/// each machine gives the same bits.
fn rough_root(number: f64, degree: i64) -> f64 {
    // A guess by the exponent, which Newton's steps improve.
    let one = 1.0f64.to_bits() as i64;
    let mut root = f64::from_bits((one + (number.to_bits() as i64 - one) / degree) as u64);
    for _ in 0..3 {
        let power = (1..degree).fold(1.0, |power, _| power * root);
        root += (number / power - root) / degree as f64;
    }
    root
}

/// The extrapolation and the step that it will try.
pub struct Extrapolation {
    tolerance: f64,
    /// The column at which the step is meant to end.
    pub target: usize,
    /// The table's last row: the changes of the state, extrapolated from ever more rows.
    table: Vec<Vec<Vector>>,
    trial: Vec<Vector>,
    /// The state at the end of the step.
    pub end: Vec<Vector>,
    /// Steps of leapfrogs so far.
    pub leapfrog_steps: u64,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Attempt {
    /// It holds the tolerance; so long should the next be.
    Done { next: f64 },
    /// It has to be done again with this length.
    Again { shorter: f64 },
}

impl Extrapolation {
    /// Takes the room for states of so many rows.
    pub fn new(tolerance: f64, rows: usize) -> Result<Extrapolation> {
        let row = || memory::filled(rows, ZERO, "an extrapolation");
        let mut table = memory::room(COLUMNS, "an extrapolation")?;
        for _ in 0..COLUMNS {
            table.push(row()?);
        }
        Ok(Extrapolation { tolerance, target: FIRST, table, trial: row()?, end: row()?, leapfrog_steps: 0 })
    }

    /// Tries a step of `interval` from `state`. Where it is done, `end` has the new state.
    pub fn attempt(&mut self, motion: &mut Motion, clock: Clock, state: &[Vector], interval: f64) -> Attempt {
        let kinetic = motion.kinetic(state);
        // Where bodies are fast and far apart, the clock's rate is a small difference of large numbers.
        let rounding = ROUNDING * kinetic / motion.rate(clock, state);
        let tolerance = if clock == Clock::Regular { self.tolerance.max(rounding) } else { self.tolerance };
        let mut lengths = [0.0; COLUMNS];
        let last = (self.target + 1).min(COLUMNS - 1);
        for row in 0..=last {
            self.trial.copy_from_slice(state);
            motion.leapfrog(clock, &mut self.trial, interval, leapfrogs(row));
            self.leapfrog_steps += leapfrogs(row) as u64;
            let error = self.extrapolate(motion, state, row, kinetic);
            if row < FEWEST {
                continue;
            }
            let ratio = error / tolerance;
            let order = 2 * row as i64 + 1;
            lengths[row] = interval * step_factor(ratio, order);
            if ratio <= 1.0 && row + 1 >= self.target {
                return Attempt::Done { next: self.choose(row, &lengths, interval) };
            }
            // Not even the rows that are left could bring so large an error below the tolerance.
            let hopeless = (row + 1..=last).map(|next| leapfrogs(next) as f64 / 2.0).product::<f64>().powi(2);
            if row + 1 >= self.target && ratio > hopeless {
                self.target = row.min(self.target).max(FEWEST + 1);
                return Attempt::Again { shorter: lengths[row].min(0.7 * interval) };
            }
        }
        Attempt::Again { shorter: lengths[self.target.min(last)].min(0.5 * interval) }
    }

    /// Makes a step again, or a part of it, with all columns that the last one could have. It is for
    /// moments within a step that was done, so that its error needs no look.
    pub fn repeat(&mut self, motion: &mut Motion, clock: Clock, state: &[Vector], interval: f64) {
        let target = self.target;
        self.target = COLUMNS - 1;
        self.attempt(motion, clock, state, interval);
        self.target = target;
    }

    /// Adds a row to the table: `trial` is the end of its leapfrog. Returns the error of its last column.
    fn extrapolate(&mut self, motion: &Motion, state: &[Vector], row: usize, kinetic: f64) -> f64 {
        let mut squares = [0.0; COLUMNS];
        for (column, square) in squares.iter_mut().enumerate().take(row).map(|(at, square)| (at + 1, square)) {
            let ratio = leapfrogs(row) as f64 / leapfrogs(row - column) as f64;
            *square = 1.0 / (ratio * ratio - 1.0);
        }
        for (place, start) in state.iter().enumerate() {
            for (axis, start) in start.iter().enumerate() {
                let mut value = self.trial[place][axis] - start;
                // The table's column `column` holds the value of the row before until it is replaced.
                for (column, square) in squares[..row].iter().enumerate() {
                    let before = std::mem::replace(&mut self.table[column][place][axis], value);
                    value += (value - before) * square;
                }
                self.table[row][place][axis] = value;
            }
        }
        if row == 0 {
            return f64::INFINITY;
        }
        for (place, start) in state.iter().enumerate() {
            let [best, before] = [self.table[row][place], self.table[row - 1][place]];
            self.trial[place] = difference(best, before);
            self.end[place] = sum(*start, best);
        }
        motion.relative_error(state, &self.end, &self.trial, kinetic)
    }

    /// Chooses the column and the length of the next step after one that ended at this column.
    fn choose(&mut self, column: usize, lengths: &[f64; COLUMNS], interval: f64) -> f64 {
        let cost = |column: usize| work(column) as f64 / lengths[column];
        let mut best = column;
        if column <= FEWEST {
            best = FEWEST + 1;
        } else if cost(column - 1) < 0.8 * cost(column) {
            best = column - 1;
        } else if column + 2 < COLUMNS && cost(column) < 0.9 * cost(column - 1) {
            best = column + 1;
        }
        self.target = best.max(FEWEST + 1);
        if best > column {
            lengths[column] * work(best) as f64 / work(column) as f64
        } else {
            lengths[best].max(0.1 * interval)
        }
    }
}
