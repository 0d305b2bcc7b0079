//! Sinks that are copied by several threads.

use std::sync::Mutex;

use crate::data::sinks::{Limits, Look, fill};
use crate::data::{Descriptor, Result, Sink, Sinks, memory};
use crate::hal::threads::Threads;

/// Fewer sinks are copied sooner than other threads are awake.
const MANY: usize = 1 << 15;

/// Sinks that a thread copies at a time.
const PIECE: usize = 1 << 11;

/// Makes so many sinks, each from its number, on some of the threads.
pub fn make(
    sinks: &mut Sinks,
    count: usize,
    sink: impl Fn(usize) -> Sink + Sync,
    descriptor: &Descriptor,
    threads: &Threads,
) -> Result<Look> {
    let (places, width) = sinks.places(count, descriptor)?;
    let limits = Limits::of(descriptor);
    if count < MANY || threads.count() == 1 {
        return Ok(fill(places, 0, &sink, limits));
    }
    let mut looks = Vec::new();
    memory::reserve(&mut looks, threads.count(), "what is seen of sinks")?;
    let looks = Mutex::new(looks);
    let pieces = places.chunks_mut(PIECE * width).enumerate();
    let work = |(number, places): (usize, &mut [f64]), look: &mut Look| {
        *look = look.and(fill(places, number * PIECE, &sink, limits));
    };
    threads.run(pieces, &looks, || Look::NOTHING, work);
    let looks = looks.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok(looks.into_iter().fold(Look::NOTHING, Look::and))
}
