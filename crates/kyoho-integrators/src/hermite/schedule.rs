//! The schedule of the bodies' steps.

use crate::plan::{SHORTEST, power_of_two};
use kyoho_core::{Result, memory};

/// The bodies by the time when each is due.
///
/// Times are counted in ticks. Steps are powers of two, and a body's time is a multiple of its
/// step. So a body is due when the bits of the present time below some bit have become zero, and
/// that bit, which was zero, has become one. That bit tells all times apart at which bodies are
/// due, and it stays the same until then. So the next bodies are found, and a body is put among
/// those of its time, without a look at others.
#[derive(Debug)]
pub struct Schedule {
    /// The time for which bodies were taken last, in ticks.
    now: u64,
    /// A bit for each list of bodies that is not empty.
    waiting: u64,
    /// The bodies by the highest bit in which the time when they are due differs from `now`.
    due: [Bodies; TIMES],
}

/// The number of ticks of an interval, which is that of the shortest steps.
pub const TICKS: f64 = 1.0 / SHORTEST;

/// Returns a time in ticks.
#[inline(always)]
pub fn ticks(time: f64) -> u64 {
    (time * TICKS) as u64
}

/// Returns the time that is the next one after another in which this bit of the ticks is the highest
/// that differs, and in which those below are zero; and its ticks.
#[inline(always)]
pub fn time_of(bit: u32, ticks: u64) -> (f64, u64) {
    let next = (ticks >> bit | 1) << bit;
    (next as f64 * SHORTEST, next)
}

/// The number of bits of a time. A body at the end of an interval is put up to an interval later.
const TIMES: usize = ((2.0 * TICKS) as u64).ilog2() as usize + 1;

impl Default for Schedule {
    fn default() -> Schedule {
        Schedule { now: 0, waiting: 0, due: std::array::from_fn(|_| Bodies::default()) }
    }
}

impl Schedule {
    /// Forgets all bodies, and begins at a time.
    pub fn begin(&mut self, now: f64) {
        self.due.iter_mut().for_each(Bodies::clear);
        (self.now, self.waiting) = (ticks(now), 0);
    }

    /// Schedules a body for a time after that for which bodies were taken last.
    #[inline(always)]
    pub fn put(&mut self, body: usize, time: f64) -> Result<()> {
        let bit = (ticks(time) ^ self.now).ilog2();
        self.waiting |= 1 << bit;
        self.due[bit as usize].put(body)
    }

    /// Moves the bodies that are due next, ascending, into `members`, and returns their time. It is
    /// infinity if there are none.
    pub fn take(&mut self, members: &mut Vec<usize>) -> f64 {
        members.clear();
        if self.waiting == 0 {
            return f64::INFINITY;
        }
        let bit = self.waiting.trailing_zeros();
        self.waiting &= self.waiting - 1;
        self.due[bit as usize].take(members);
        let (time, now) = time_of(bit, self.now);
        self.now = now;
        time
    }
}

/// A set of bodies. They are found in ascending order without sorting.
#[derive(Debug, Default)]
struct Bodies {
    /// A bit for each body.
    words: Vec<u64>,
    /// A bit for each of the words that is not zero.
    groups: Vec<u64>,
}

impl Bodies {
    #[inline(always)]
    fn put(&mut self, body: usize) -> Result<()> {
        let word = body / 64;
        if word >= self.words.len() {
            self.make_room(word)?;
        }
        self.words[word] |= 1 << (body % 64);
        self.groups[word / 64] |= 1 << (word % 64);
        Ok(())
    }

    #[cold]
    fn make_room(&mut self, word: usize) -> Result<()> {
        memory::lengthen(&mut self.words, word + 1, "the bodies that are due at a time", || 0)?;
        memory::lengthen(&mut self.groups, word / 64 + 1, "the bodies that are due at a time", || 0)
    }

    /// Moves all bodies behind those in `members`.
    fn take(&mut self, members: &mut Vec<usize>) {
        for (first, group) in (0..).step_by(64).zip(&mut self.groups) {
            for word in bits(std::mem::take(group)).map(|bit| first + bit) {
                members.extend(bits(std::mem::take(&mut self.words[word])).map(|bit| 64 * word + bit));
            }
        }
    }

    fn clear(&mut self) {
        self.words.fill(0);
        self.groups.fill(0);
    }
}

/// Iterates over the bits of a word that are set, ascending.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        let is_set = word != 0;
        word &= word.wrapping_sub(1);
        is_set.then_some(bit)
    })
}

/// Returns the next step as a fraction of the interval. A step can become shorter at any time. It
/// can at most double, and only at a multiple of the doubled step, so that blocks stay few.
#[inline]
pub fn next_step(now: f64, taken: f64, wanted: f64) -> f64 {
    if wanted >= 2.0 * taken && longest_before(now) >= 2.0 * taken {
        2.0 * taken
    } else {
        power_of_two(wanted).min(taken)
    }
}

/// Returns the longest step that can end at a time: the largest power of two of which it is a
/// multiple.
#[inline]
pub fn longest_before(time: f64) -> f64 {
    let ticks = ticks(time);
    (ticks & ticks.wrapping_neg()) as f64 * SHORTEST
}

#[cfg(test)]
mod tests {
    use crate::tests::random;

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
        let mut random = random();
        let mut step = || power_of_two(random().powi(4)).max(1.0 / 4096.0);
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
            assert!(schedule.waiting.count_ones() <= 13);
        }
        assert!(blocks > 100 && members.len() == n);
        assert_eq!(schedule.take(&mut members), f64::INFINITY);
    }
}
