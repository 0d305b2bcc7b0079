//! Work of GPUs that is late, for tests. Queues hold closures, which run when the host waits, and
//! not before. Which queue goes on next is drawn at random; work of one queue keeps its order, and
//! waits for the places in other queues that it has to wait for.
//!
//! What happens meanwhile to memory that such work uses is an error: that it is freed, unlocked by
//! one device while another uses it, or written by the host. Memory of the host that a copy will
//! write has other contents until then, so that who reads it too early reads nonsense.

mod gpu;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use kyoho_core::{Error, Result};

pub use gpu::{Late, MemoryOfCallers};

/// The bytes of memory of the host that a copy will write.
const NONSENSE: u8 = 0xa5;

/// A piece of work.
type Work = Box<dyn FnOnce() -> Result<()> + Send>;

/// The use that some work makes of memory, which is named by its addresses.
#[derive(Debug, Clone)]
pub enum Use {
    /// Of memory of a device, or of the host and a device.
    Of(Range<u64>),
    /// It reads memory of the host, which the host leaves as it is.
    Reads(Range<u64>),
    /// It writes memory of the host, which the host does not touch.
    Writes(Range<u64>),
}

impl Use {
    fn range(&self) -> &Range<u64> {
        let (Use::Of(range) | Use::Reads(range) | Use::Writes(range)) = self;
        range
    }

    /// Whether it is of memory of the host that the host must not write meanwhile.
    fn is_of_host(&self) -> bool {
        !matches!(self, Use::Of(_))
    }
}

/// A place in a queue: behind this many pieces of work of the queue with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    queue: usize,
    behind: u64,
}

/// Something in a queue.
struct Job {
    uses: Vec<Use>,
    /// For each use of memory of the host, a digest of what stood there when the work was begun, if
    /// no other work has written there since.
    seen: Vec<Option<[u8; 32]>>,
    /// The place in another queue that it waits for.
    after: Option<Spot>,
    work: Work,
}

/// A queue of a device.
struct Queue {
    device: usize,
    jobs: VecDeque<Job>,
    /// The pieces of work that were begun, and of those the ones that have ended. One that a thread
    /// does now is among neither `jobs` nor the ended.
    begun: u64,
    ended: u64,
}

impl Queue {
    fn end(&self, number: usize) -> Spot {
        Spot { queue: number, behind: self.begun }
    }

    fn has_ended(&self) -> bool {
        self.ended == self.begun
    }
}

#[derive(Default)]
struct State {
    /// Whether work waits. Otherwise it is done as it is begun.
    is_late: bool,
    random: u64,
    devices: usize,
    queues: Vec<Queue>,
    /// The errors of work of devices that nobody was told yet.
    errors: BTreeMap<usize, Error>,
    faults: Vec<String>,
    /// The first addresses of memory that is page-locked. Who locks it first is who unlocks it.
    locked: Vec<u64>,
    /// The waits until now for bytes that were still to come to the host.
    waits: u64,
    left_out: Option<u64>,
    /// The queue of the wait that was left out. Its work is done when no other queue has some, and not
    /// where memory goes: a driver's wait for that would hide the one that is missing.
    last_queue: Option<usize>,
}

/// The queues of all devices of a test.
#[derive(Clone, Default)]
pub struct Schedule {
    state: Arc<Mutex<State>>,
    /// Held by who does work, so that one piece follows another.
    at_work: Arc<Mutex<()>>,
}

impl Schedule {
    /// Returns queues whose work is late, in an order that follows from a number.
    pub fn late(seed: u64) -> Schedule {
        let schedule = Schedule::default();
        schedule.be_late(seed);
        schedule
    }

    /// Lets all further work be late.
    pub fn be_late(&self, seed: u64) {
        let mut state = self.state();
        (state.is_late, state.random) = (true, seed);
    }

    /// Whether work is late.
    pub fn is_late(&self) -> bool {
        self.state().is_late
    }

    /// Returns what was done to memory that work still used, and forgets it.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.state().faults)
    }

    /// Whether all work has ended and nothing was done to memory that it used.
    pub fn is_clean(&self) -> bool {
        let state = self.state();
        state.faults.is_empty() && state.queues.iter().all(Queue::has_ended)
    }

    /// Leaves out the wait of a number, as a library would do that lacks it.
    pub fn leave_out(&self, wait: u64) {
        self.state().left_out = Some(wait);
    }

    /// Returns the number of waits until now for bytes that were still to come to the host.
    pub fn waits(&self) -> u64 {
        self.state().waits
    }

    /// Returns the number of a further device.
    pub fn add_device(&self) -> usize {
        let mut state = self.state();
        state.devices += 1;
        state.devices - 1
    }

    /// Returns the number of a further queue of a device.
    pub fn add_queue(&self, device: usize) -> usize {
        let mut state = self.state();
        state.queues.push(Queue { device, jobs: VecDeque::new(), begun: 0, ended: 0 });
        state.queues.len() - 1
    }

    /// Puts work into a queue. Nobody who waits holds a lock that the work needs.
    pub fn begin(
        &self,
        queue: usize,
        uses: Vec<Use>,
        work: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        if !self.is_late() {
            return work();
        }
        for place in uses.iter().filter(|place| matches!(place, Use::Writes(_))) {
            fill(place.range());
        }
        let seen = uses.iter().map(|place| place.is_of_host().then(|| digest(place.range()))).collect();
        self.push(queue, Job { uses, seen, after: None, work: Box::new(work) });
        Ok(())
    }

    /// Lets the further work of a queue wait for a place in another one.
    pub fn wait_for(&self, queue: usize, place: Spot) {
        if self.is_late() && self.state().waits_for(place) {
            self.push(queue, Job { uses: Vec::new(), seen: Vec::new(), after: Some(place), work: Box::new(|| Ok(())) });
        }
    }

    /// Returns the place behind all work of a queue.
    pub fn end(&self, queue: usize) -> Spot {
        self.state().queues[queue].end(queue)
    }

    /// Waits for a place, and fails if work of its device failed.
    pub fn run_to(&self, place: Spot) -> Result<()> {
        if !self.state().waits_for(place) {
            return Ok(());
        }
        while self.state().queues[place.queue].ended < place.behind {
            self.step();
        }
        let mut state = self.state();
        let device = state.queues[place.queue].device;
        state.errors.remove(&device).map_or(Ok(()), Err)
    }

    /// Lets some work go on, if there is any, and returns whether a queue has none left.
    pub fn has_ended(&self, queue: usize) -> bool {
        if !self.state().queues[queue].has_ended() {
            self.step();
        }
        self.state().queues[queue].has_ended()
    }

    /// Waits for all work of a device.
    pub fn run_device(&self, device: usize) {
        let queues = self.state().queues.len();
        for number in 0..queues {
            let end = {
                let state = self.state();
                let queue = &state.queues[number];
                (queue.device == device && state.last_queue != Some(number)).then(|| queue.end(number))
            };
            if let Some(end) = end {
                while self.state().queues[end.queue].ended < end.behind {
                    self.step();
                }
            }
        }
    }

    /// Notes that memory goes, and forgets the work that uses it.
    fn gone(&self, what: &str, memory: &Range<u64>) {
        let mut state = self.state();
        let State { queues, faults, .. } = &mut *state;
        for queue in queues {
            for job in &mut queue.jobs {
                if job.uses.iter().any(|place| overlap(place.range(), memory)) {
                    faults.push(format!("{what} that work of device {} uses", queue.device));
                    (job.uses, job.seen, job.work) = (Vec::new(), Vec::new(), Box::new(|| Ok(())));
                }
            }
        }
    }

    /// Page-locks memory of the host, and returns whether nobody had done that before.
    pub fn lock(&self, memory: &Range<u64>) -> bool {
        let mut state = self.state();
        let is_first = !state.locked.contains(&memory.start);
        if is_first {
            state.locked.push(memory.start);
        }
        is_first
    }

    /// Unlocks memory of the host that nobody had locked before, when all work of a device has ended.
    pub fn unlock(&self, device: usize, memory: &Range<u64>, was_first: bool) {
        self.run_device(device);
        if was_first {
            self.gone("memory was unlocked", memory);
            self.state().locked.retain(|first| *first != memory.start);
        }
    }

    /// Frees memory, when all work of its device has ended, as drivers do.
    pub fn free(&self, device: usize, memory: &Range<u64>) {
        self.run_device(device);
        self.gone("memory was freed", memory);
    }

    /// Notes a fault.
    pub fn fault(&self, what: String) {
        self.state().faults.push(what);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, queue: usize, job: Job) {
        let mut state = self.state();
        let queue = &mut state.queues[queue];
        queue.begun += 1;
        queue.jobs.push_back(job);
    }

    /// Does a piece of work that can be done, of a queue that is drawn, if there is any.
    fn step(&self) {
        let _at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((number, job)) = self.state().draw() else { return };
        for (place, seen) in job.uses.iter().zip(&job.seen) {
            if seen.is_some_and(|seen| seen != digest(place.range())) {
                let bytes = place.range().end - place.range().start;
                let before = if matches!(place, Use::Reads(_)) { "were copied" } else { "came by a copy" };
                self.fault(format!("the host changed {bytes} bytes before they {before}"));
            }
        }
        let outcome = (job.work)();
        let mut state = self.state();
        for place in job.uses.iter().filter(|place| matches!(place, Use::Writes(_))) {
            state.written(place.range());
        }
        state.queues[number].ended += 1;
        let device = state.queues[number].device;
        if let Err(error) = outcome {
            state.errors.entry(device).or_insert(error);
        }
    }
}

impl State {
    /// Takes the first work of a queue that is drawn among those whose first work can be done.
    fn draw(&mut self) -> Option<(usize, Job)> {
        let is_ready = |queue: &Queue| {
            let after = queue.jobs.front().map(|job| job.after);
            after.is_some_and(|after| after.is_none_or(|spot| self.queues[spot.queue].ended >= spot.behind))
        };
        let mut ready: Vec<usize> = (0..self.queues.len()).filter(|number| is_ready(&self.queues[*number])).collect();
        if ready.len() > 1 {
            ready.retain(|number| self.last_queue != Some(*number));
        }
        let number = *ready.get(self.drawn() as usize % ready.len().max(1))?;
        self.queues[number].jobs.pop_front().map(|job| (number, job))
    }

    /// Counts a wait for a place before which bytes come to the host, and returns whether the wait is
    /// not to be left out.
    fn waits_for(&mut self, place: Spot) -> bool {
        let queue = &self.queues[place.queue];
        let first = queue.begun - queue.jobs.len() as u64;
        let mut before = queue.jobs.iter().take(place.behind.saturating_sub(first) as usize);
        if !before.any(|job| job.uses.iter().any(|place| matches!(place, Use::Writes(_)))) {
            return true;
        }
        self.waits += 1;
        let is_left_out = self.left_out == Some(self.waits - 1);
        if is_left_out {
            self.last_queue = Some(place.queue);
        }
        !is_left_out
    }

    /// Returns the next number of the generator SplitMix64 (Steele, Lea & Flood 2014).
    fn drawn(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Notes that work has written memory of the host.
    fn written(&mut self, memory: &Range<u64>) {
        for job in self.queues.iter_mut().flat_map(|queue| &mut queue.jobs) {
            for (place, seen) in job.uses.iter().zip(&mut job.seen) {
                if overlap(place.range(), memory) {
                    *seen = None;
                }
            }
        }
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns a digest of the bytes of the host at these addresses.
fn digest(memory: &Range<u64>) -> [u8; 32] {
    let bytes = (memory.end - memory.start) as usize;
    // SAFETY: whoever began work on them promised that they are there; if they went since, the work
    // was forgotten.
    Sha256::digest(unsafe { std::slice::from_raw_parts(memory.start as *const u8, bytes) }).into()
}

/// Writes nonsense to memory of the host.
fn fill(memory: &Range<u64>) {
    let bytes = (memory.end - memory.start) as usize;
    // SAFETY: whoever began the copy promised that its end is there and that nobody reads it.
    unsafe { std::ptr::write_bytes(memory.start as *mut u8, NONSENSE, bytes) };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn range(values: &[u64]) -> Range<u64> {
        let first = values.as_ptr().addr() as u64;
        first..first + size_of_val(values) as u64
    }

    /// Begins work in each of two queues that notes its number, after what `between` does.
    fn order(seed: u64, between: impl Fn(&Schedule, [usize; 2])) -> Vec<u32> {
        let (schedule, noted) = (Schedule::late(seed), Arc::new(Mutex::new(Vec::new())));
        let device = schedule.add_device();
        let queues = [0; 2].map(|_| schedule.add_queue(device));
        for number in 0..6 {
            if number == 3 {
                between(&schedule, queues);
            }
            let noted = noted.clone();
            let work = move || {
                noted.lock().unwrap().push(number);
                Ok(())
            };
            schedule.begin(queues[number as usize % 2], Vec::new(), work).unwrap();
        }
        assert!(noted.lock().unwrap().is_empty());
        queues.into_iter().for_each(|queue| schedule.run_to(schedule.end(queue)).unwrap());
        assert!(schedule.is_clean());
        noted.lock().unwrap().clone()
    }

    #[test]
    fn queues_keep_their_order_and_what_they_wait_for_and_nothing_else() {
        let place = |order: &[u32], number: u32| order.iter().position(|found| *found == number).unwrap();
        let free: Vec<Vec<u32>> = (0..40).map(|seed| order(seed, |_, _| ())).collect();
        let bound = (0..40).map(|seed| order(seed, |schedule, [even, odd]| schedule.wait_for(odd, schedule.end(even))));
        for order in free.iter().cloned().chain(bound.clone()) {
            assert!(order.iter().filter(|number| *number % 2 == 0).is_sorted(), "{order:?}");
            assert!(order.iter().filter(|number| *number % 2 == 1).is_sorted(), "{order:?}");
        }
        assert!(free.iter().any(|order| place(order, 3) < place(order, 2)));
        assert!(free.iter().any(|order| place(order, 4) < place(order, 1)));
        bound.for_each(|order| assert!(place(&order, 3) > place(&order, 2), "{order:?}"));
    }

    #[test]
    fn memory_that_the_host_touches_meanwhile_is_a_fault_and_what_work_writes_is_none() {
        let (schedule, mut from, mut to) = (Schedule::late(1), vec![1u64; 4], vec![2u64; 4]);
        let queue = schedule.add_queue(schedule.add_device());
        let copy = |from: &[u64], to: &mut [u64]| {
            let (first, uses) = (to.as_mut_ptr().addr(), vec![Use::Reads(range(from)), Use::Writes(range(to))]);
            let (from, to) = (from.as_ptr().addr(), first);
            // SAFETY: both have four numbers.
            let work = move || unsafe {
                std::ptr::copy(from as *const u64, to as *mut u64, 4);
                Ok(())
            };
            schedule.begin(queue, uses, work).unwrap();
        };
        // Two copies to the same place, one after the other.
        copy(&from, &mut to);
        copy(&from, &mut to);
        assert_eq!(to, [u64::from_ne_bytes([NONSENSE; 8]); 4]);
        schedule.run_to(schedule.end(queue)).unwrap();
        assert_eq!((to.clone(), schedule.take_faults()), (from.clone(), Vec::new()));
        copy(&from, &mut to);
        from[3] = 7;
        schedule.run_device(0);
        assert_eq!(schedule.take_faults(), ["the host changed 32 bytes before they were copied"]);
        copy(&from, &mut to);
        to[0] = 7;
        schedule.run_device(0);
        assert_eq!(schedule.take_faults(), ["the host changed 32 bytes before they came by a copy"]);
        copy(&from, &mut to);
        schedule.gone("memory was freed", &range(&from));
        assert_eq!(schedule.take_faults(), ["memory was freed that work of device 0 uses"]);
        schedule.run_device(0);
        assert!(schedule.is_clean());
    }

    #[test]
    fn work_that_a_thread_does_now_has_not_ended_for_others() {
        let schedule = Schedule::late(1);
        let queue = schedule.add_queue(schedule.add_device());
        let (says_begun, begun) = std::sync::mpsc::channel();
        let (says_end, end) = std::sync::mpsc::channel();
        let work = move || {
            says_begun.send(()).unwrap();
            end.recv().unwrap();
            Ok(())
        };
        schedule.begin(queue, Vec::new(), work).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| schedule.run_to(schedule.end(queue)).unwrap());
            begun.recv().unwrap();
            let place = schedule.end(queue);
            assert!(!schedule.is_clean() && place.behind == 1);
            says_end.send(()).unwrap();
            schedule.run_to(place).unwrap();
        });
        assert!(schedule.is_clean());
    }

    #[test]
    fn work_that_fails_is_told_to_who_waits_for_its_device() {
        let (schedule, ran) = (Schedule::late(1), Arc::new(AtomicU64::new(0)));
        let queues = [0; 2].map(|_| schedule.add_queue(schedule.add_device()));
        for queue in queues {
            let ran = ran.clone();
            let work = move || {
                ran.fetch_add(1, Ordering::Relaxed);
                if queue == 0 { Err(Error::Internal { what: "it fails".into() }) } else { Ok(()) }
            };
            schedule.begin(queue, Vec::new(), work).unwrap();
        }
        assert_eq!(queues.map(|queue| schedule.run_to(schedule.end(queue)).is_err()), [true, false]);
        assert!(ran.load(Ordering::Relaxed) == 2 && schedule.is_clean());
    }
}
