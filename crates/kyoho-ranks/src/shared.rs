//! The system of a team. Either all ranks know all sources and sinks, each sums its share of the sources
//! on all sinks, and the sums go to all ranks, so that all have the same bits; or each rank keeps some of
//! the bodies, as [`own_bodies`](crate::own_bodies) has them.

use std::sync::Arc;

use kyoho_core::forces::check_finite;
use kyoho_core::memory::Paged;
use kyoho_core::{CHUNK, Error, Forces, Interaction, NeighbourTable, Result, Sink, Source, Sums, TreeAccuracy, memory};
use kyoho_engine::{QuadSource, Setup, Statistics, System};
use kyoho_hal::threads::Threads;

use crate::agreement::{Call, digest};
use crate::block::{join, not_over_ranks, put, put_rows, require_kind, width_of};
use crate::own_bodies::{OwnBodies, numbered};
use crate::team::{State, Team};

/// The bytes of the sums of all ranks up to which all go to all. More are added by parts, each on a
/// rank of its own.
const FEW_BYTES: usize = 1 << 16;

/// A system of one process, or one that the ranks of a team share.
pub struct SharedSystem {
    system: System,
    share: Option<Share>,
    /// What this rank has beside its sources where each keeps bodies for itself.
    own_bodies: Option<OwnBodies>,
}

/// What a rank has of a shared system beside its own sources.
struct Share {
    team: Team,
    /// The block that was started: what all ranks have to agree on, and whether it was started here.
    block: Option<([u64; 4], Result<()>)>,
    rows: Paged<f64>,
    received: Paged<f64>,
    parts: Vec<usize>,
    own_parts: Vec<usize>,
    sums: Sums,
    has_sums: bool,
    interactions: u64,
    /// The addresses that [`SharedSystem::keep_sources_below`] kept last.
    kept: usize,
    /// A system of this rank alone with all sources, for what is not shared.
    whole: Option<System>,
    /// They copy and add sums.
    threads: Threads,
}

impl From<System> for SharedSystem {
    fn from(system: System) -> SharedSystem {
        SharedSystem { system, share: None, own_bodies: None }
    }
}

/// About so many of the sinks of a block are compared among ranks.
const MARKED: usize = 64;

/// Returns the address of a rank's own source of this number.
fn own_address(number: usize, rank: usize, size: usize) -> usize {
    (number / CHUNK * size + rank) * CHUNK + number % CHUNK
}

impl Share {
    fn is_own(&self, address: usize) -> bool {
        address / CHUNK % self.team.size() == self.team.rank()
    }

    /// Returns how many of the addresses below `count` are this rank's.
    fn own_below(&self, count: usize) -> usize {
        let (size, rank) = (self.team.size(), self.team.rank());
        let chunks = count / CHUNK;
        let rest = if chunks % size == rank { count % CHUNK } else { 0 };
        (chunks / size + usize::from(chunks % size > rank)) * CHUNK + rest
    }

    /// Returns the sinks of which a rank adds the sums, if each adds some.
    fn part(&self, sinks: usize, rank: usize) -> usize {
        let begin = |rank: usize| (sinks as u64 * rank as u64 / self.team.size() as u64) as usize;
        begin(rank + 1) - begin(rank)
    }

    /// Makes room for the sums on so many sinks.
    fn make_room(&mut self, sinks: usize, interaction: &Interaction, by_parts: bool) -> Result<()> {
        let (size, width) = (self.team.size(), width_of(interaction));
        memory::lengthen(&mut self.parts, size, "counts of ranks", || 0)?;
        memory::lengthen(&mut self.own_parts, size, "counts of ranks", || 0)?;
        let most = if by_parts { sinks.div_ceil(size) } else { sinks };
        self.rows.make_room(sinks.saturating_mul(width), "sums for other ranks")?;
        self.received.make_room(size.saturating_mul(most).saturating_mul(width), "sums of other ranks")?;
        self.sums.reserve(sinks, interaction.n_sums(), interaction.nearest)?;
        let mut state = self.team.state();
        let State { communicator, messages, .. } = &mut *state;
        messages.make_room(&**communicator, width * size_of::<f64>(), most)
    }

    /// Waits for the sums of this rank, tells all ranks what they are of, and adds those of all.
    fn wait(&mut self, system: &mut System) -> Result<()> {
        let (told, started) =
            self.block.take().unwrap_or(([0; 4], Err(Error::CallOrder { call: "wait", when: "without start" })));
        let interaction = system.interaction().clone();
        let sinks = told[0] as usize;
        let size = self.team.size();
        let by_parts = sinks * width_of(&interaction) * size_of::<f64>() * size > FEW_BYTES;
        let waited = started.and_then(|()| system.wait().map(drop)).and_then(|()| {
            self.make_room(sinks, &interaction, by_parts)?;
            let forces = system.forces()?;
            self.rows.set_length(sinks * width_of(&interaction));
            put_rows(&mut self.rows, &forces, &self.threads);
            Ok([told[0], told[1], told[2], told[3], 0])
        });
        let team = self.team.clone();
        let mut state = team.state();
        state.agree(Call::Forces, waited)?;
        for (place, name) in ["number of sinks", "number of sources", "time", "sinks"].into_iter().enumerate() {
            state.require_same(place, &format!("the {name} of a block that all ranks know"))?;
        }
        let exchanged = self.exchange(&mut state, sinks, &interaction, by_parts);
        state.note(exchanged)?;
        self.has_sums = true;
        self.interactions += told[0].saturating_mul(told[1]);
        check_finite(&self.sums, 0..sinks, &interaction)
    }

    /// Adds the rows of all ranks, in the order in which the sums of several devices are added.
    fn exchange(
        &mut self,
        state: &mut State,
        sinks: usize,
        interaction: &Arc<Interaction>,
        by_parts: bool,
    ) -> Result<()> {
        let (size, rank) = (self.team.size(), self.team.rank());
        let (width, n_sums) = (width_of(interaction), interaction.n_sums());
        let bytes = width * size_of::<f64>();
        let State { communicator, messages, .. } = state;
        let communicator = &mut **communicator;
        for of in 0..size {
            self.parts[of] = if by_parts { self.part(sinks, of) } else { sinks };
        }
        let own = self.parts[rank];
        let most = self.parts.iter().copied().max().unwrap_or(0);
        self.received.set_length(size * own * width);
        let sent = bytemuck::cast_slice(&self.rows);
        let received = bytemuck::cast_slice_mut(&mut self.received);
        if by_parts {
            self.own_parts.fill(own);
            messages.all_to_all(communicator, (sent, &self.parts), (received, &self.own_parts), bytes, most)?;
        } else {
            messages.all_gather(communicator, (sent, received), &self.parts, bytes)?;
        }
        join(&mut self.received, (size, own), (width, n_sums), &self.threads);
        if by_parts {
            let added = bytemuck::cast_slice(&self.received[..own * width]);
            messages.all_gather(communicator, (added, bytemuck::cast_slice_mut(&mut self.rows)), &self.parts, bytes)?;
        }
        let added = if by_parts { &self.rows } else { &self.received };
        self.sums.resize(sinks, n_sums, interaction.nearest);
        put(added, 0..sinks, &mut self.sums, interaction, &self.threads);
        Ok(())
    }
}

impl SharedSystem {
    /// Makes a system of this process, or one that the ranks of a team share.
    pub fn new(setup: &Setup, team: Option<&Team>) -> Result<SharedSystem> {
        let system = System::new(setup)?;
        match team {
            None => Ok(system.into()),
            Some(team) => SharedSystem::over(team, system),
        }
    }

    /// Shares a system without sources among the ranks of a team, each of which has one of the same kind. A
    /// rank alone has all of it.
    pub fn over(team: &Team, system: System) -> Result<SharedSystem> {
        require_kind(&system)?;
        if team.size() == 1 {
            return Ok(system.into());
        }
        if system.tree().is_some() {
            return Err(not_over_ranks(&system, "integration by a tree"));
        }
        let share = Share {
            team: team.clone(),
            block: None,
            rows: Paged::default(),
            received: Paged::default(),
            parts: Vec::new(),
            own_parts: Vec::new(),
            sums: Sums::default(),
            has_sums: false,
            interactions: 0,
            kept: 0,
            whole: None,
            threads: Threads::for_copies(system.setup().threads),
        };
        Ok(SharedSystem { system, share: Some(share), own_bodies: None })
    }

    /// Makes the system of ranks each of which keeps some bodies, this one so many: its sources and sinks
    /// are those of its own bodies, which come and go on no rank. All ranks call the same functions. A
    /// rank alone has all bodies.
    pub fn of_own_bodies(team: &Team, system: System, count: usize) -> Result<SharedSystem> {
        if team.size() == 1 {
            return Ok(system.into());
        }
        let (system, own_bodies) = OwnBodies::over(team, system, count)?;
        Ok(SharedSystem { system, share: None, own_bodies: Some(own_bodies) })
    }

    /// Whether each rank keeps bodies that no other one has. Then it has to start blocks without sinks
    /// too, as others have some.
    pub fn keeps_own_bodies(&self) -> bool {
        self.own_bodies.is_some()
    }

    /// Returns the number of this rank's first body, and how many all ranks have, of which this one has
    /// `own`.
    pub fn place_of_bodies(&self, own: usize) -> (usize, usize) {
        self.own_bodies.as_ref().map_or((0, own), |bodies| (bodies.first(), bodies.all()))
    }

    /// Returns what each rank has of sums over bodies, in the order of ranks, if each keeps some; else
    /// what this one has, which are sums over all.
    pub fn of_ranks<const N: usize>(&self, own: [f64; N]) -> Result<Vec<[f64; N]>> {
        let Some(bodies) = &self.own_bodies else { return memory::collected([own], "sums of ranks") };
        let told = bodies.team().numbers(own.map(f64::to_bits))?;
        memory::collected(told.iter().map(|told| told.map(f64::from_bits)), "sums of ranks")
    }

    /// Returns the ranks that share it, if they do.
    pub fn team(&self) -> Option<&Team> {
        self.share.as_ref().map(|share| &share.team).or(self.own_bodies.as_ref().map(OwnBodies::team))
    }

    /// Returns the system, which ranks must not share, for work that is of one process alone.
    pub fn alone(&mut self, work: &str) -> Result<&mut System> {
        if self.team().is_none() { Ok(&mut self.system) } else { Err(not_over_ranks(&self.system, work)) }
    }

    /// Returns [`System::sharers`].
    pub fn sharers(&self) -> usize {
        self.system.sharers()
    }

    /// Does what [`System::share_devices`] does.
    pub fn share_devices(&mut self, sharers: usize) {
        self.system.share_devices(sharers);
    }

    /// Returns [`System::setup`].
    pub fn setup(&self) -> &Setup {
        self.system.setup()
    }

    /// Returns [`System::interaction`].
    pub fn interaction(&self) -> &Arc<Interaction> {
        self.system.interaction()
    }

    /// Returns [`System::tree`].
    pub fn tree(&self) -> Option<TreeAccuracy> {
        self.own_bodies.as_ref().map_or(self.system.tree(), OwnBodies::tree)
    }

    /// Returns [`System::tree_as_set`] of this process.
    pub fn tree_as_set(&self) -> (Option<TreeAccuracy>, Option<u64>) {
        self.system.tree_as_set()
    }

    /// Does [`System::set_tree`]. Ranks that all have all bodies cannot share forces by a tree.
    pub fn set_tree(&mut self, tree: Option<TreeAccuracy>) -> Result<()> {
        if self.share.is_some() && tree.is_some() {
            return Err(not_over_ranks(&self.system, "integration by a tree"));
        }
        if let Some(bodies) = &mut self.own_bodies {
            return bodies.set_tree(&self.system, tree);
        }
        self.system.set_tree(tree)
    }

    /// Returns [`System::statistics`], with the pairs of all ranks.
    pub fn statistics(&self) -> Statistics {
        let own = self.system.statistics();
        let of_bodies = self.own_bodies.as_ref().map_or(own.interactions, OwnBodies::interactions);
        let interactions = self.share.as_ref().map_or(of_bodies, |share| share.interactions);
        Statistics { interactions, ..own }
    }

    /// Does [`System::set_time`].
    pub fn set_time(&mut self, time: f64) -> Result<()> {
        self.system.set_time(time)
    }

    /// Does [`System::keep_sources_below`].
    pub fn keep_sources_below(&mut self, count: usize) -> Result<()> {
        let Some(share) = &mut self.share else { return self.system.keep_sources_below(count) };
        let before = share.kept;
        share.kept = before.max(count);
        let own = (count..before).filter(|address| share.is_own(*address));
        own.into_iter().try_for_each(|address| self.system.set_source(address, &Source::default()))?;
        share.kept = count;
        Ok(())
    }

    /// Does [`System::set_quad_source`].
    pub fn set_quad_source(&mut self, address: usize, source: &QuadSource) -> Result<()> {
        self.system.set_quad_source(address, source)
    }

    /// Writes sources to the addresses from 0 on as [`System::set_sources`] does.
    pub fn set_sources(&mut self, count: usize, source_at: impl Fn(usize) -> Source + Sync) -> Result<()> {
        if let Some(bodies) = &self.own_bodies {
            let first = bodies.first();
            return self.system.set_sources(count, |number| numbered(source_at(number), first));
        }
        let Some(share) = &self.share else { return self.system.set_sources(count, source_at) };
        let (rank, size, own) = (share.team.rank(), share.team.size(), share.own_below(count));
        let address = |number: usize| own_address(number, rank, size);
        write(&mut self.system, own, address, |number| source_at(address(number)))
    }

    /// Writes sources, each to its address, as [`System::set_source`] does. `address_at` and
    /// `source_at` return those at a place.
    pub fn write(
        &mut self,
        count: usize,
        address_at: impl Fn(usize) -> usize,
        source_at: impl Fn(usize) -> Source + Sync,
    ) -> Result<()> {
        if let Some(bodies) = &self.own_bodies {
            let first = bodies.first();
            return write(&mut self.system, count, address_at, |place| numbered(source_at(place), first));
        }
        let Some(share) = &self.share else { return write(&mut self.system, count, address_at, source_at) };
        let own = memory::collected((0..count).filter(|place| share.is_own(address_at(*place))), "own sources")?;
        write(&mut self.system, own.len(), |number| address_at(own[number]), |number| source_at(own[number]))
    }

    /// Begins the forces on sinks as [`System::start_from_fn`] does. All ranks have the same sinks, or
    /// those of their own bodies.
    /// [`SharedSystem::wait`] tells of errors on other ranks.
    pub fn start_from_fn(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<()> {
        // What follows is compiled once for the closures of all callers.
        let sink: &(dyn Fn(usize) -> Sink + Sync) = &sink;
        if let Some(bodies) = &mut self.own_bodies {
            return bodies.start(&mut self.system, (nj, skip_own_index), count, sink);
        }
        let Some(share) = &mut self.share else {
            return self.system.start_from_fn(nj, skip_own_index, count, sink);
        };
        // Sinks cost as much again to predict; what differs elsewhere is found when the next call begins.
        let some = (0..count).step_by(count.div_ceil(MARKED).max(1));
        let mark = digest(some.flat_map(|number| {
            let Sink { derivatives: [position, velocity, ..], .. } = sink(number);
            [position, velocity].into_iter().flatten().map(f64::to_bits)
        }));
        let told = [count as u64, nj as u64, (self.system.time() + 0.0).to_bits(), mark];
        share.has_sums = false;
        share.block = Some((told, self.system.start_from_fn(nj, skip_own_index, count, sink)));
        Ok(())
    }

    /// Starts a block and waits for its forces.
    pub fn force(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        sink: impl Fn(usize) -> Sink + Sync,
    ) -> Result<Forces<'_>> {
        self.start_from_fn(nj, skip_own_index, count, sink)?;
        self.wait()
    }

    /// Waits for the forces of the block that was started. All ranks call this.
    pub fn wait(&mut self) -> Result<Forces<'_>> {
        match (&mut self.share, &mut self.own_bodies) {
            (Some(share), _) => share.wait(&mut self.system)?,
            (None, Some(bodies)) => bodies.wait(&mut self.system)?,
            (None, None) => return self.system.wait(),
        }
        self.forces()
    }

    /// Returns the forces of the last block once more, until another is started.
    pub fn forces(&self) -> Result<Forces<'_>> {
        if let Some(bodies) = &self.own_bodies {
            return bodies.forces(&self.system);
        }
        match &self.share {
            None => self.system.forces(),
            Some(share) if share.has_sums => {
                let sinks = share.sums.values.len() / self.system.interaction().n_sums();
                Ok(Forces::of(&share.sums, 0..sinks, self.system.interaction()))
            }
            Some(_) => Err(Error::CallOrder { call: "forces", when: "before those of a block were waited for" }),
        }
    }

    /// Finds neighbours as [`System::find_neighbours`] does. `source` returns the source at an address:
    /// where ranks share the system, each looks among all by itself.
    pub fn find_neighbours(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        sinks: impl IntoIterator<Item = Sink>,
        source: impl Fn(usize) -> Source + Sync,
    ) -> Result<&NeighbourTable> {
        if self.own_bodies.is_some() {
            return Err(not_over_ranks(&self.system, "neighbours of bodies that each rank has for itself"));
        }
        let Some(share) = &mut self.share else { return self.system.find_neighbours(nj, skip_own_index, sinks) };
        if share.whole.is_none() {
            share.whole = Some(System::new(self.system.setup())?);
        }
        let whole = share.whole.as_mut();
        let whole = whole.ok_or_else(|| Error::Internal { what: "a system of all sources was not made".into() })?;
        whole.set_sources(nj, source)?;
        whole.keep_sources_below(nj)?;
        whole.find_neighbours(nj, skip_own_index, sinks)
    }
}

/// Writes sources, many at once where devices take them so.
fn write(
    system: &mut System,
    count: usize,
    address_at: impl Fn(usize) -> usize,
    source_at: impl Fn(usize) -> Source + Sync,
) -> Result<()> {
    if system.record_sources(count, &address_at, &source_at)? {
        return Ok(());
    }
    (0..count).try_for_each(|place| system.set_source(address_at(place), &source_at(place)))
}

#[cfg(test)]
mod tests {
    use super::own_address;
    use kyoho_core::CHUNK;

    #[test]
    fn ranks_take_chunks_of_addresses_in_turn() {
        for (size, count) in [(1, 1000), (2, 1000), (3, 2500), (7, 100), (4, 4096)] {
            let mut owners = vec![usize::MAX; count];
            for rank in 0..size {
                let addresses = (0..).map(|number| own_address(number, rank, size)).take_while(|place| *place < count);
                for address in addresses {
                    assert_eq!(std::mem::replace(&mut owners[address], rank), usize::MAX);
                }
            }
            assert!(owners.iter().enumerate().all(|(address, rank)| *rank == address / CHUNK % size));
        }
    }
}
