//! The table of the sources within the radii of sinks, whoever finds them.

use std::ops::Range;

use kyoho_core::{NeighbourTable, Result, memory};
use kyoho_hal::threads::Threads;

/// The number of sinks that a thread takes at a time.
const PIECE: usize = 1 << 10;
/// The name of the table in errors about memory.
pub const WHAT: &str = "lists of neighbours";

/// The addresses for some sinks, one after another, and how many each has.
type Piece = Result<(Vec<u32>, Vec<i32>)>;

/// Makes the table of this many sinks. `list` appends the addresses for a sink, in any order.
pub fn table(
    sinks: usize,
    threads: &Threads,
    list: impl Fn(usize, &mut Vec<i32>) -> Result<()> + Sync,
) -> Result<NeighbourTable> {
    let mut pieces: Vec<Piece> = memory::collected((0..sinks.div_ceil(PIECE)).map(|_| Ok(Default::default())), WHAT)?;
    threads.each(pieces.iter_mut().enumerate(), |(number, piece)| {
        *piece = lists(number * PIECE..sinks.min((number + 1) * PIECE), &list);
    });
    let mut table = NeighbourTable { offsets: memory::room(sinks + 1, WHAT)?, addresses: Vec::new() };
    table.offsets.push(0);
    let mut all = 0;
    for piece in &pieces {
        let (counts, _) = piece.as_ref().map_err(Clone::clone)?;
        table.offsets.extend(counts.iter().map(|count| {
            all += i64::from(*count);
            all
        }));
    }
    memory::reserve(&mut table.addresses, all as usize, WHAT)?;
    pieces.iter().flatten().for_each(|(_, addresses)| table.addresses.extend_from_slice(addresses));
    Ok(table)
}

/// Makes the lists of some sinks.
fn lists(sinks: Range<usize>, list: &impl Fn(usize, &mut Vec<i32>) -> Result<()>) -> Piece {
    let (mut counts, mut addresses) = (memory::room(sinks.len(), WHAT)?, Vec::new());
    for sink in sinks {
        let before = addresses.len();
        list(sink, &mut addresses)?;
        addresses[before..].sort_unstable();
        counts.push((addresses.len() - before) as u32);
    }
    Ok((counts, addresses))
}
