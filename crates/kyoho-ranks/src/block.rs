//! The blocks of all ranks: sinks go to all, and sums come back.

use std::ops::Range;

use kyoho_core::memory::Paged;
use kyoho_core::sinks;
use kyoho_core::{
    Error, Forces, Interaction, Nearest, NeighbourCriterion, Result, ResultCode, Sinks, Sums, joins_in_pairs, memory,
};
use kyoho_engine::System;
use kyoho_hal::threads::Threads;

use crate::agreement::Call;
use crate::exchange::Messages;
use crate::gathering::{Gathering, Incoming};
use crate::pieces::{Arrivals, Pieces};
use crate::{Asked, Communicator, Ranks, trees};

/// A block that was started on this rank.
pub struct RankBlock {
    /// The reason why it could not be started here.
    pub failed: Option<Error>,
    /// Whether some sink of some rank has a radius.
    pub radius: bool,
    pub kind: BlockKind,
}

/// How the forces of a block are summed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BlockKind {
    /// Directly. Ranks exchange a piece at a time.
    Direct(Pieces),
    /// By a tree. The sums are there when it has begun.
    Tree,
    /// By interaction lists.
    Lists,
}

/// What a rank tells of its sources when a block starts, and of its sinks.
#[derive(Debug, Clone, Copy)]
struct OwnSources {
    /// The number of those that take part.
    count: u64,
    /// Whether each has a softening of its own.
    have_softenings: bool,
    /// Whether some sink has a radius.
    radius: bool,
}

impl OwnSources {
    /// Returns it in one number.
    fn told(self) -> u64 {
        self.count << 2 | u64::from(self.have_softenings) << 1 | u64::from(self.radius)
    }

    /// Returns what another rank told.
    fn of_told(told: u64) -> OwnSources {
        OwnSources { count: told >> 2, have_softenings: told & 2 != 0, radius: told & 1 != 0 }
    }
}

/// Fails unless the sources of all ranks have softenings of their own, or none has.
fn require_softenings_on_all(sources: impl Iterator<Item = OwnSources>) -> Result<()> {
    let mut with_sources = sources.enumerate().filter(|(_, of_rank)| of_rank.count > 0);
    let Some((first_rank, first)) = with_sources.next() else { return Ok(()) };
    let Some((rank, other)) = with_sources.find(|(_, other)| other.have_softenings != first.have_softenings) else {
        return Ok(());
    };
    let [value, allowed] = [other, first].map(|of_rank| if of_rank.have_softenings { "given" } else { "not given" });
    let text = format!("the squared softening of sources is '{value}'; allowed: '{allowed}', as on rank {first_rank}");
    Err(Error::OfRank { rank, code: ResultCode::BadOption, text })
}

/// The rows that a thread takes at a time.
pub const PIECE: usize = 1 << 12;

/// Memory for the blocks of all ranks.
pub struct Buffers {
    /// They copy and add the rows of this rank.
    pub threads: Threads,
    /// The sinks of all ranks, piece after piece.
    gathered: Sinks,
    /// The number of sinks of each rank.
    pub counts: Vec<usize>,
    /// The number of sinks of this rank, once for each.
    pub own_counts: Vec<usize>,
    /// The number of sinks of each rank in a piece.
    counts_of_piece: Vec<usize>,
    /// Rows of sums on the sinks of all ranks, and those of all ranks on the sinks of this one.
    pub sent: Paged<f64>,
    pub received: Paged<f64>,
    /// The sums on the sinks of this rank.
    pub sums: Sums,
    pub messages: Messages,
    /// The sinks of all ranks and the most of one, for which all ranks have room.
    room: (usize, usize),
}

/// Returns the count of numbers in a row of sums.
pub fn width_of(interaction: &Interaction) -> usize {
    interaction.n_sums() + if interaction.nearest { 2 } else { 0 }
}

impl Buffers {
    /// Makes them for this many ranks, without room for sinks.
    pub fn new(size: usize) -> Result<Buffers> {
        let counts = || memory::filled(size, 0, "counts of ranks");
        Ok(Buffers {
            threads: Threads::alone(),
            gathered: Sinks::default(),
            counts: counts()?,
            own_counts: counts()?,
            counts_of_piece: counts()?,
            sent: Paged::default(),
            received: Paged::default(),
            sums: Sums::default(),
            messages: Messages::new(size)?,
            room: (0, 0),
        })
    }

    /// Makes room for blocks of this many sinks, and of this many of one rank.
    fn make_room(
        &mut self,
        communicator: &dyn Communicator,
        ((total, most), width, size): ((usize, usize), usize, usize),
        interaction: &Interaction,
    ) -> Result<()> {
        self.gathered.make_room(total, interaction)?;
        self.sent.make_room(total.saturating_mul(width), "sums for other ranks")?;
        self.received.make_room(size.saturating_mul(most).saturating_mul(width), "sums of other ranks")?;
        self.sums.reserve(most, interaction.n_sums(), interaction.nearest)?;
        let bytes = size_of::<f64>();
        self.messages.make_room(communicator, sinks::width(interaction) * bytes, most)?;
        self.messages.make_room(communicator, width * bytes, most)
    }

    /// Returns the number of sinks of all ranks.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns the most sinks of a rank.
    pub fn most(&self) -> usize {
        self.counts.iter().copied().max().unwrap_or(0)
    }
}

/// Fails unless ranks can sum the forces of a system together.
pub fn require_kind(system: &System) -> Result<()> {
    match system.interaction().has_low_limbs() {
        false => Ok(()),
        true => Err(not_over_ranks(system, &system.interaction().name())),
    }
}

/// Returns the error that some work of a system cannot be shared by ranks.
pub fn not_over_ranks(system: &System, work: &str) -> Error {
    Error::Unsupported {
        backend: system.setup().backend.name(),
        forces: format!("{work} over ranks"),
        allowed: "direct sums of blocks of sinks in memory of the host, in single, mixed, double; or a system without \
                  communicator on each rank"
            .into(),
    }
}

impl Ranks {
    /// Fails if a block is under way.
    pub fn require_no_block(&self) -> Result<()> {
        let when = "while a block is under way; wait for it first";
        if self.block.is_some() { Err(Error::CallOrder { call: "start", when }) } else { Ok(()) }
    }

    /// Begins a block of the sinks of all ranks, as [`RankedSystem::start`](crate::RankedSystem)
    /// says.
    pub fn start(
        &mut self,
        system: &mut System,
        own: impl FnOnce(&mut System, &mut Sinks) -> Result<Asked>,
    ) -> Result<()> {
        let free = self.require_no_block().and_then(|()| self.require_tree_of_ranks(system));
        let asked = free.and_then(|()| own(system, &mut self.own));
        let tree = trees::told(self.tree);
        let told = asked.as_ref().map(|asked| {
            let criterion = asked.neighbour_criterion as u64;
            let flags = u64::from(asked.skip_own_index) | criterion << 1;
            // Zeros of both signs are one time.
            let time = system.time() + 0.0;
            let sources = OwnSources {
                count: system.statistics().sources.min(asked.nj as u64),
                have_softenings: system.has_softenings(),
                radius: asked.radius,
            };
            [self.own.len() as u64, flags, time.to_bits(), sources.told(), tree]
        });
        self.agree(Call::Start, told.map_err(Clone::clone))?;
        let asked = asked?;
        self.agreement.require_same(1, "the exclusion and the neighbour criterion", |flags| {
            let exclusion =
                if flags & 1 == 1 { "sources with a sink's index are left out" } else { "none is left out" };
            let plain = flags >> 1 == NeighbourCriterion::Plain as u64;
            format!("{exclusion}, {}", if plain { "plain" } else { "by mass" })
        })?;
        self.agreement.require_same(2, "the time", |bits| f64::from_bits(bits).to_string())?;
        let counts = self.agreement.told().map(|told| told[0] as usize);
        self.buffers.counts.iter_mut().zip(counts).for_each(|(count, told)| *count = told);
        let sources = || self.agreement.told().map(|told| OwnSources::of_told(told[3]));
        require_softenings_on_all(sources())?;
        let radius = sources().any(|of_rank| of_rank.radius);
        let count: u64 = sources().map(|of_rank| of_rank.count).sum();
        self.pairs = count.saturating_mul(self.buffers.total() as u64);
        self.require_same_tree()?;
        if let Some(asked_of_tree) = self.tree_of_block(system)? {
            self.sum_by_tree(system, &asked, asked_of_tree)?;
            self.lists.forget();
            self.block = Some(RankBlock { failed: None, radius, kind: BlockKind::Tree });
            return Ok(());
        }
        self.make_room(system.interaction())?;
        // Lists are those of the sinks in the order of ranks.
        let has_lists = radius && system.interaction().has_lists();
        let counts = &self.buffers.counts;
        let pieces = if has_lists { Pieces::one(self.buffers.most()) } else { Pieces::of(counts) };
        self.lists.forget();
        system.set_neighbour_criterion(asked.neighbour_criterion);
        let (started, gathered) = self.start_gathering(system, &asked, pieces)?;
        if gathered.is_err() {
            system.forget_block();
        }
        self.note(gathered)?;
        self.block = Some(RankBlock { failed: started.err(), radius, kind: BlockKind::Direct(pieces) });
        Ok(())
    }

    /// Makes room for the sinks of all ranks and for their sums, where all ranks need more than
    /// before.
    fn make_room(&mut self, interaction: &Interaction) -> Result<()> {
        let Ranks { communicator, buffers, .. } = self;
        let room = (buffers.total().max(buffers.room.0), buffers.most().max(buffers.room.1));
        if room == buffers.room {
            return Ok(());
        }
        let (size, width) = (communicator.size(), width_of(interaction));
        let made = buffers.make_room(&**communicator, (room, width, size), interaction);
        self.agree(Call::Room, made.map(|()| [0; 5]))?;
        self.buffers.room = room;
        Ok(())
    }

    /// Starts the block here, while the sinks of all ranks come. Returns what became of both.
    fn start_gathering(
        &mut self,
        system: &mut System,
        asked: &Asked,
        pieces: Pieces,
    ) -> Result<(Result<()>, Result<()>)> {
        let interaction = system.interaction().clone();
        let total = self.buffers.total();
        let Ranks { communicator, buffers, own, .. } = self;
        let Buffers { gathered, counts, counts_of_piece, messages, .. } = buffers;
        gathered.make_room(total, &interaction)?;
        let (communicator, own) = (&mut **communicator, own.all());
        let rest = gathered.numbers_mut();
        let incoming = Incoming { own, communicator, messages, counts_of_piece, rest, came: 0, outcome: Ok(()) };
        let sinks = Gathering::new(pieces, counts, &interaction, incoming);
        let started = system.start_numbered(asked.nj, asked.skip_own_index, total, &sinks);
        Ok((started, sinks.finish()))
    }

    /// Ends the block of all ranks, as [`RankedSystem::wait`](crate::RankedSystem) says. `take` gets the sums
    /// on so many sinks, and threads.
    pub fn wait(
        &mut self,
        system: &mut System,
        ready: Result<()>,
        take: impl FnOnce(&Sums, usize, &Threads),
    ) -> Result<()> {
        let interaction = system.interaction().clone();
        let block = self.block.take();
        let (kind, radius) = block.as_ref().map_or((BlockKind::Tree, false), |block| (block.kind, block.radius));
        if let BlockKind::Direct(pieces) = kind
            && pieces.count > 1
        {
            // No rank exchanges pieces with one that makes another call.
            self.agree(Call::Wait, Ok([0; 5]))?;
        }
        let waited = match block {
            None => Err(Error::CallOrder { call: "wait", when: "without start" }),
            Some(RankBlock { failed, .. }) => match kind {
                BlockKind::Direct(pieces) => self.wait_here(system, pieces, failed),
                BlockKind::Tree => self.check_forces_of_tree(&interaction).map(|()| false),
                BlockKind::Lists => self.wait_for_lists(system, failed).map(|()| false),
            },
        };
        let told = waited.map(|again| [u64::from(again), 0, 0, 0, 0]);
        self.agree(Call::Wait, ready.and(told))?;
        let again = self.agreement.told().any(|told| told[0] != 0);
        let exchanged = match kind {
            BlockKind::Direct(pieces) => {
                let first = if again { 0 } else { pieces.count - 1 };
                (first..pieces.count).try_for_each(|piece| self.exchange_sums(&interaction, pieces, piece))
            }
            BlockKind::Tree => Ok(()),
            BlockKind::Lists => self.exchange_lists_sums(&interaction),
        };
        self.note(exchanged)?;
        if radius && interaction.has_lists() {
            self.make_lists(system)?;
        }
        let own = if kind == BlockKind::Lists { self.sinks_of_lists() } else { self.own.len() };
        if kind != BlockKind::Lists {
            self.lists.follow(own);
        }
        take(&self.buffers.sums, own, &self.buffers.threads);
        Ok(())
    }

    /// Waits for the sums of this rank's sources and puts them in rows. As they come, ranks exchange all
    /// pieces but the last one, and by the agreement before that each learns whether another rank failed.
    /// Returns whether sums came a second time, from other devices, after they were exchanged.
    fn wait_here(&mut self, system: &mut System, pieces: Pieces, failed: Option<Error>) -> Result<bool> {
        let interaction = system.interaction().clone();
        let (width, n_sums, total) = (width_of(&interaction), interaction.n_sums(), self.buffers.total());
        self.buffers.sent.set_length(total * width);
        self.buffers.sums.resize(self.own.len(), n_sums, interaction.nearest);
        let mut arrivals = Arrivals::new(pieces, &self.buffers.counts);
        let (mut exchanged, mut lost, mut again) = (0, Ok(()), false);
        let mut exchange = |ranks: &mut Ranks, arrivals: &Arrivals| {
            while exchanged + 1 < pieces.count && arrivals.has(exchanged) {
                if lost.is_ok() {
                    lost = ranks.exchange_sums(&interaction, pieces, exchanged);
                }
                exchanged += 1;
            }
            exchanged
        };
        let (mut too_large, mut done): (Option<(usize, f64)>, _) = (None, 0);
        let started = failed.map_or(Ok(()), Err);
        let waited = started.and_then(|()| {
            system.wait_each_unchecked(|first, forces| {
                if arrivals.note(first..first + forces.len()) {
                    again = done > 0;
                    too_large = None;
                }
                put_rows(&mut self.buffers.sent[first * width..], &forces, &self.buffers.threads);
                let found = self.too_large(forces.values).map(|place| (first + place / n_sums, forces.values[place]));
                too_large = [too_large, found].into_iter().flatten().min_by_key(|(place, _)| *place);
                done = exchange(self, &arrivals);
            })
        });
        // The others wait for the rows of a rank that failed, too.
        arrivals.note_all();
        exchange(self, &arrivals);
        self.note(lost)?;
        waited?;
        let Some((place, value)) = too_large else { return Ok(again) };
        let sink = pieces.number_of(&self.buffers.counts, place);
        Err(self.refuse_sum(format!("a sum on sink {sink} of all ranks"), value, &interaction))
    }

    /// Returns the largest magnitude of a sum of one rank: none may find later, alone, that a sum of all is
    /// infinite.
    fn largest_sum(&self) -> f64 {
        f64::MAX / self.communicator.size() as f64
    }

    /// Returns the place of the first sum that is no number or too large.
    pub fn too_large(&self, sums: &[f64]) -> Option<usize> {
        let largest = self.largest_sum();
        sums.iter().position(|value| value.is_nan() || value.abs() > largest)
    }

    /// Returns the error that a sum is too large.
    pub fn refuse_sum(&self, what: String, value: f64, interaction: &Interaction) -> Error {
        let allowed = format!("magnitudes up to {:e}", self.largest_sum());
        Error::OutOfRange { what, value, precision: interaction.precision.name(), allowed }
    }

    /// Gives each rank the sums on its sinks of a piece, and adds them as those of several devices are
    /// added.
    fn exchange_sums(&mut self, interaction: &Interaction, pieces: Pieces, piece: usize) -> Result<()> {
        let Ranks { communicator, buffers, own, .. } = self;
        let (width, n_sums, size) = (width_of(interaction), interaction.n_sums(), communicator.size());
        let Buffers { threads, counts, own_counts, counts_of_piece, sent, received, sums, messages, .. } = buffers;
        let (part, places) = (pieces.part(own.len(), piece), pieces.places(counts, piece));
        pieces.counts_of(counts, piece, counts_of_piece);
        own_counts.fill(part.len());
        received.set_length(size * part.len() * width);
        let sent = bytemuck::cast_slice(&sent[places.start * width..places.end * width]);
        let to = (bytemuck::cast_slice_mut(received), &own_counts[..]);
        let most = counts_of_piece.iter().copied().max().unwrap_or(0);
        let bytes = width * size_of::<f64>();
        messages.all_to_all(&mut **communicator, (sent, counts_of_piece), to, bytes, most)?;
        join(received, (size, part.len()), (width, n_sums), threads);
        put(received, part, sums, interaction, threads);
        Ok(())
    }
}

/// Adds the rows that each of several ranks has for some sinks, as those of several devices are added.
/// The first rows become the sums.
pub fn join(received: &mut [f64], (size, sinks): (usize, usize), (width, n_sums): (usize, usize), threads: &Threads) {
    let rows = sinks * width;
    for (sum, term) in joins_in_pairs(size) {
        let (left, right) = received.split_at_mut(term * rows);
        let terms = right[..rows].chunks(PIECE * width);
        let pieces = left[sum * rows..][..rows].chunks_mut(PIECE * width).zip(terms);
        threads.each(pieces, |(rows, terms)| {
            let terms = terms.chunks_exact(width);
            rows.chunks_exact_mut(width).zip(terms).for_each(|(row, term)| add_row(row, term, n_sums));
        });
    }
}

/// Puts the forces of some sinks in the first rows.
pub fn put_rows(rows: &mut [f64], forces: &Forces, threads: &Threads) {
    let interaction = forces.interaction;
    let (width, n_sums) = (width_of(interaction), interaction.n_sums());
    let pieces = rows.chunks_mut(PIECE * width).zip(forces.values.chunks(PIECE * n_sums)).enumerate();
    threads.each(pieces, |(piece, (rows, values))| {
        let nearest = forces.nearest.iter().skip(piece * PIECE);
        for (row, sums) in rows.chunks_exact_mut(width).zip(values.chunks_exact(n_sums)) {
            row[..n_sums].copy_from_slice(sums);
        }
        for (row, nearest) in rows.chunks_exact_mut(width).zip(nearest) {
            row[n_sums..].copy_from_slice(&[nearest.distance2, f64::from(nearest.index)]);
        }
    });
}

/// Puts the rows of some sinks in their sums.
pub fn put(rows: &[f64], sinks: Range<usize>, sums: &mut Sums, interaction: &Interaction, threads: &Threads) {
    let (width, n_sums) = (width_of(interaction), interaction.n_sums());
    let rows = || rows[..sinks.len() * width].chunks(PIECE * width);
    let values = &mut sums.values[sinks.start * n_sums..sinks.end * n_sums];
    threads.each(values.chunks_mut(PIECE * n_sums).zip(rows()), |(values, rows)| {
        for (sums, row) in values.chunks_exact_mut(n_sums).zip(rows.chunks_exact(width)) {
            sums.copy_from_slice(&row[..n_sums]);
        }
    });
    let nearest = if interaction.nearest { &mut sums.nearest[sinks.clone()] } else { &mut [] };
    threads.each(nearest.chunks_mut(PIECE).zip(rows()), |(nearest, rows)| {
        for (nearest, row) in nearest.iter_mut().zip(rows.chunks_exact(width)) {
            *nearest = Nearest::new(row[n_sums], row[n_sums + 1] as i32);
        }
    });
}

/// Adds the sums of another rank to a row, and keeps the nearer of the two sources; of equally near
/// ones that of the row.
fn add_row(row: &mut [f64], term: &[f64], n_sums: usize) {
    row[..n_sums].iter_mut().zip(term).for_each(|(sum, term)| *sum += term);
    if let ([distance2, index], [other, index_of_other]) = (&mut row[n_sums..], &term[n_sums..])
        && other < distance2
    {
        (*distance2, *index) = (*other, *index_of_other);
    }
}
