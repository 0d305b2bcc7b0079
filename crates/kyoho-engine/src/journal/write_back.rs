//! Records, written to the host's copy.

use std::sync::atomic::{AtomicUsize, Ordering};

use kyoho_core::{CHUNK, Records, Result, Sources};
use kyoho_hal::threads::Threads;

/// The fewest records that are worth another thread, which takes some time to wake.
const OF_THREAD: usize = 1 << 8;

/// A near cache holds fewer sources than these.
const FAR: usize = 1 << 12;

/// Whether the sources lie in a near cache, where one thread writes a block's sooner than others
/// are awake.
pub fn are_near(sources: &Sources) -> bool {
    sources.chunks_below(usize::MAX) * CHUNK < FAR
}

/// Writes the records of these addresses to the host's copy but for those that need not be, by
/// several threads if they are many. No address is named twice, and the host's copy has the chunks
/// of all.
pub fn write_back(
    sources: &mut Sources,
    records: Records,
    addresses: &[u32],
    is_needless: impl Fn(usize) -> bool + Sync,
    threads: &Threads,
) -> Result<()> {
    let all = addresses.iter().map(|address| *address as usize).enumerate();
    let parts = (addresses.len() / OF_THREAD).min(threads.count());
    if parts < 2 || are_near(sources) {
        let mut wanted = all.filter(|(_, address)| !is_needless(*address));
        return wanted.try_for_each(|(place, address)| sources.write_back(address, &records.get(place).source()));
    }
    let count = AtomicUsize::new(0);
    let (chunks, stamp) = sources.chunks_to_write_back();
    let of_part = chunks.len().div_ceil(parts);
    // Each thread looks at all addresses, which takes less time than to divide them.
    threads.each(chunks.chunks_mut(of_part).enumerate(), |(part, chunks)| {
        let own = part * of_part * CHUNK..(part * of_part + chunks.len()) * CHUNK;
        let wanted = all.clone().filter(|(_, address)| own.contains(address) && !is_needless(*address));
        let mut new = 0;
        for (place, address) in wanted {
            let chunk = chunks[(address - own.start) / CHUNK].as_mut();
            let chunk = chunk.expect("a record is taken where there is a chunk");
            new += usize::from(!chunk.is_set(address % CHUNK));
            chunk.write(address % CHUNK, &records.get(place).source(), stamp);
        }
        count.fetch_add(new, Ordering::Relaxed);
    });
    sources.count_written_back(count.into_inner());
    Ok(())
}
