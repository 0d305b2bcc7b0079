//! The copy of a block's sinks by several threads.

use std::ops::Range;
use std::sync::Mutex;

use kyoho_core::sinks::{self, Limits, NumberedSinks, SinkScan, fill};
use kyoho_core::{Interaction, Result, Sinks, memory};
use kyoho_hal::threads::Threads;

/// Fewer sinks are copied sooner than other threads are awake.
const MANY: usize = 1 << 12;

/// The number of sinks that a thread copies at a time.
const PIECE: usize = 1 << 9;

/// Makes this many sinks, each from its number, on some of the threads, and returns their summary.
pub fn make(
    sinks: &mut Sinks,
    count: usize,
    given: &impl NumberedSinks,
    interaction: &Interaction,
    threads: &Threads,
) -> Result<SinkScan> {
    sinks.make_room(count, interaction)?;
    make_some(sinks, 0..count, given, interaction, threads)
}

/// Makes some of the sinks, for which there is room, as [`make`] does.
pub fn make_some(
    all: &mut Sinks,
    numbers: Range<usize>,
    given: &impl NumberedSinks,
    interaction: &Interaction,
    threads: &Threads,
) -> Result<SinkScan> {
    let (first, width, limits) = (numbers.start, sinks::width(interaction), Limits::of(interaction));
    let places = &mut all.numbers_mut()[first * width..numbers.end * width];
    given.prepare(numbers.clone());
    if numbers.len() < MANY || threads.count() == 1 {
        return Ok(fill(places, first, given, limits));
    }
    let mut scans = Vec::new();
    memory::reserve(&mut scans, threads.count(), "summaries of sinks")?;
    let scans = Mutex::new(scans);
    let pieces = places.chunks_mut(PIECE * width).enumerate();
    let work = |(number, places): (usize, &mut [f64]), scan: &mut SinkScan| {
        *scan = scan.and(fill(places, first + number * PIECE, given, limits));
    };
    threads.run(pieces, &scans, || SinkScan::NOTHING, work);
    let scans = scans.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(scans.into_iter().fold(SinkScan::NOTHING, SinkScan::and))
}
