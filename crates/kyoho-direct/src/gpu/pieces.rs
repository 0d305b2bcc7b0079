//! Pieces of a block: sinks that are computed together, and the memory for their partial sums.

use std::ops::Range;

use kyoho_core::{Assignment, CHUNK, Interaction, Nearest, Result, memory};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu};
use kyoho_methods::FIRST_PART;
use kyoho_methods::gpu::sources::QUEUES;

/// The most bytes that the partial sums of a piece may take.
const PARTIAL_SUMS_BYTES: usize = 128 << 20;
/// The least and the most sinks of a piece. Large blocks are computed in pieces, so that the host
/// hands over the sums of one while the device sums others.
const PIECE: [usize; 2] = [FIRST_PART, 2 * FIRST_PART];
/// The pairs of a piece, as far as the number of its sinks allows: enough that the device takes
/// longer than the host, which begins a piece in some 10 us.
const PAIRS_OF_PIECE: usize = 1 << 26;
/// The last pieces of a block have fewer sinks, down to one of so many parts of a piece.
const PARTS_OF_PIECE: usize = 4;
/// Rows of partial sums are a multiple of this many sinks apart.
pub const STRIDE: usize = 16;

/// The sinks of the assignment that are computed together.
#[derive(Clone)]
pub struct Piece {
    /// The sinks.
    pub sinks: Range<usize>,
    /// The sinks that each row of its results has room for.
    pub stride: usize,
    /// Its number.
    pub sequence: u32,
    /// The bytes of its results in the outbox.
    pub results: Range<usize>,
}

/// Returns the number of slices of an assignment that have some of this many chunks, at least one.
pub fn filled_slices(assignment: &Assignment, chunks: usize) -> usize {
    assignment.slices().filter(|slice| *slice < chunks).count().max(1)
}

/// Divides the sinks of an assignment into pieces, whose partial sums fit in the memory for them.
/// Without chunks of sources there are none. `sequence` is the number of the last piece. Where the host
/// does not hand over the sums (`stays`), pieces need not be small.
pub fn divide(
    pieces: &mut Vec<Piece>,
    sequence: &mut u32,
    interaction: &Interaction,
    (assignment, chunks, segments): (&Assignment, usize, usize),
    stays: bool,
) -> Result<()> {
    let ni = if chunks == 0 { 0 } else { assignment.sinks.len() };
    let bytes = segments * filled_slices(assignment, chunks) * (8 * interaction.n_outputs + 12);
    let largest = if stays { usize::MAX } else { PIECE[1] };
    let piece = (PAIRS_OF_PIECE / (CHUNK * chunks.max(1)) / 64 * 64).clamp(PIECE[0], largest);
    let most = (PARTIAL_SUMS_BYTES / bytes.max(1) / 64 * 64).clamp(64, piece);
    let length = if ni <= most + most / 2 && most == piece { ni } else { most };
    let Interaction { n_outputs, nearest, .. } = *interaction;
    pieces.clear();
    let (mut first, mut start) = (0, 0);
    while first < ni {
        let left = ni - first;
        // What the host does with the first piece and with the last ones nothing hides, so they
        // are smaller.
        let length = if first == 0 && length < ni && !stays { length.min(PIECE[0]) } else { length };
        let halves = first > 0 && !stays && left <= length && left > piece / PARTS_OF_PIECE;
        let length = if halves { (left / 2).next_multiple_of(64) } else { length };
        let sinks = first..ni.min(first + length);
        let stride = sinks.len().next_multiple_of(STRIDE);
        let results = start..start + stride * (8 * n_outputs + if nearest { size_of::<Nearest>() } else { 0 });
        start = results.end;
        *sequence = sequence.wrapping_add(1).max(1);
        let piece = Piece { sinks, stride, sequence: *sequence, results };
        memory::push(pieces, piece, "the table of pieces")?;
        first += length;
    }
    Ok(())
}

/// Memory for the partial sums of pieces on one queue, and the counter of thread blocks that have
/// ended.
pub struct PartialSumsMemory<G: Gpu> {
    sums: G::Memory,
    distances: G::Memory,
    accumulators: G::Memory,
    ticket: G::Memory,
}

impl<G: Gpu> PartialSumsMemory<G> {
    /// Makes memory without room, whose counter the queue begins to set to 0.
    pub fn new(gpu: &G, queue: &G::Queue) -> Result<PartialSumsMemory<G>> {
        let memory = |bytes, what| gpu.allocate(bytes, what);
        let ticket = memory(4, "tickets")?;
        // SAFETY: the memory is that long, and whoever makes it waits for the queue. Where memory is
        // refused before, drivers have ended the work or keep what it uses.
        unsafe { gpu.zero(queue, &ticket, 4)? };
        Ok(PartialSumsMemory {
            sums: memory(0, "partial sums")?,
            distances: memory(0, "partial sums")?,
            accumulators: memory(0, "partial sums")?,
            ticket,
        })
    }

    /// Returns the partial sums, their distances and their accumulators as arguments of kernels,
    /// and the counter.
    pub fn addresses(&self) -> ([Address<G>; 3], Address<G>) {
        let partial_sums = [&self.sums, &self.distances, &self.accumulators].map(DeviceMemory::address);
        (partial_sums, self.ticket.address())
    }
}

/// Makes room for the partial sums of pieces, with this many rows for each sink, on all queues that
/// they take.
pub fn make_room<G: Gpu>(
    all: &mut [PartialSumsMemory<G>],
    gpu: &G,
    pieces: &[Piece],
    (rows_of_sink, n_outputs): (usize, usize),
) -> Result<()> {
    let stride = pieces.iter().map(|piece| piece.stride).max().unwrap_or(0);
    let rows = rows_of_sink * stride;
    for memory in &mut all[..pieces.len().min(QUEUES)] {
        if memory.accumulators.bytes() < rows * 4 {
            let rows = rows + rows / 4;
            memory.sums = gpu.allocate(rows * n_outputs * 8, "partial sums")?;
            memory.distances = gpu.allocate(rows * 8, "partial sums")?;
            memory.accumulators = gpu.allocate(rows * 4, "partial sums")?;
        }
    }
    Ok(())
}
