//! The schedule of the bodies' steps.

use std::collections::BTreeMap;

use crate::failure::Result;
use kyoho::data::memory;

/// The bodies by the time when each is due.
///
/// Steps are powers of two, and a body's time is a multiple of its step. Therefore all bodies of a
/// step are due at one time, and there are no more times than different steps. The next ones are
/// found without a look at the others.
#[derive(Debug, Default)]
pub struct Schedule {
    /// The bodies by the bits of the time. The bits have the order of the times, because these are
    /// positive.
    due: BTreeMap<u64, Vec<usize>>,
    /// Lists that are not in use, kept for their memory.
    spare: Vec<Vec<usize>>,
}

impl Schedule {
    /// Forgets all bodies.
    pub fn clear(&mut self) {
        self.due.clear();
    }

    /// Schedules a body for a time above zero.
    pub fn put(&mut self, body: usize, time: f64) -> Result<()> {
        let spare = &mut self.spare;
        let bodies = self.due.entry(time.to_bits()).or_insert_with(|| spare.pop().unwrap_or_default());
        Ok(memory::push(bodies, body, "the bodies that are due at a time")?)
    }

    /// Moves the bodies that are due next, ascending, into `members`, and returns their time. It is
    /// infinity if there are none.
    pub fn take(&mut self, members: &mut Vec<usize>) -> f64 {
        members.clear();
        let Some((bits, mut bodies)) = self.due.pop_first() else { return f64::INFINITY };
        // The list consists of a few ascending runs, one from each block that scheduled bodies
        // there, which the sort merges.
        bodies.sort();
        std::mem::swap(members, &mut bodies);
        self.spare.push(bodies);
        f64::from_bits(bits)
    }
}

/// Returns the next step as a fraction of the interval. A step can become shorter at any time. It
/// can at most double, and only at a multiple of the doubled step, so that blocks stay few.
pub fn next_step(now: f64, taken: f64, wanted: f64) -> f64 {
    if wanted >= 2.0 * taken && taken < 1.0 && now % (2.0 * taken) == 0.0 {
        2.0 * taken
    } else {
        power_of_two(wanted).min(taken)
    }
}

/// Returns the largest power of two that is not above a positive number.
pub fn power_of_two(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(number.to_bits() & EXPONENT)
}

#[cfg(test)]
mod tests {
    use crate::plummer::Random;

    use super::*;

    #[test]
    fn steps_are_powers_of_two_and_double_only_where_longer_ones_end() {
        assert_eq!([1.0, 0.99, 0.3, 1e-3].map(power_of_two), [1.0, 0.5, 0.25, 1.0 / 1024.0]);
        assert_eq!(next_step(0.25, 0.125, 0.9), 0.25);
        assert_eq!(next_step(0.375, 0.125, 0.9), 0.125);
        assert_eq!(next_step(0.375, 0.125, 0.03), 1.0 / 64.0);
        assert_eq!(next_step(1.0, 1.0, f64::INFINITY), 1.0);
    }

    #[test]
    fn blocks_are_those_that_a_look_at_all_bodies_finds() {
        let mut random = Random(7);
        let mut step = || power_of_two(random.uniform().powi(4)).max(1.0 / 4096.0);
        let n = 100;
        let (mut schedule, mut members) = (Schedule::default(), Vec::new());
        let mut last = vec![0.0; n];
        let mut next: Vec<f64> = (0..n).map(|_| step()).collect();
        next.iter().enumerate().for_each(|(body, time)| schedule.put(body, *time).unwrap());
        let mut blocks = 0;
        loop {
            let now = schedule.take(&mut members);
            let earliest = next.iter().copied().fold(f64::INFINITY, f64::min);
            let due: Vec<usize> = (0..n).filter(|body| next[*body] == earliest).collect();
            assert_eq!((now, &members), (earliest, &due));
            blocks += 1;
            if now == 1.0 {
                break;
            }
            for body in due {
                let fraction = next_step(now, now - last[body], step());
                (last[body], next[body]) = (now, now + fraction);
                schedule.put(body, next[body]).unwrap();
            }
            // There are at most as many times as different steps.
            assert!(schedule.due.len() <= 13);
        }
        assert!(blocks > 100 && members.len() == n);
        assert_eq!(schedule.take(&mut members), f64::INFINITY);
    }
}
