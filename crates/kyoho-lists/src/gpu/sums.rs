//! The sums of interaction lists on a GPU, piece by piece: while the groups of one piece are
//! summed, those of the next come to the device.

use std::ops::Range;

use kyoho_core::memory;
use kyoho_core::{Block, Error, Interaction, InteractionLists, ListedSources, Nearest, Result, SinkGroup, Sums};
use kyoho_hal::gpu::{Address, DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_hal::threads::Threads;
use kyoho_methods::gpu::columns::PieceResults;
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::{Columns, ListItem, ListPart, Step};
use kyoho_methods::gpu::tuning;

use super::copies::{Copies, bring_all, columns, grow};
use super::groups::GroupsOnDevice;
use super::kernels::{Kernels, PieceAddresses};
use super::plan::{Counts, LIST_COUNTS, LISTED_ADDRESSES, LISTED_OWN, LISTED_RANGES, Plan};
use super::units::UnitsOfGroups;

/// Rows of results of a piece are a multiple of this many.
const STRIDE: usize = 16;

/// Memory for a piece, and how far it is.
struct Piece<G: Gpu> {
    /// The sinks, in the assignment.
    sinks: Range<usize>,
    /// The bytes of its results.
    results: Range<usize>,
    /// The places of the next items, part and row, at first.
    firsts: G::HostMemory,
    next: G::Memory,
    items: G::Memory,
    parts: G::Memory,
    groups: G::Memory,
    units: G::Memory,
    partial_sums: G::Memory,
    ended: Option<G::Event>,
}

impl<G: Gpu> Piece<G> {
    fn new(gpu: &G) -> Result<Piece<G>> {
        let memory = || gpu.allocate(0, "interaction lists");
        Ok(Piece {
            sinks: 0..0,
            results: 0..0,
            firsts: gpu.allocate_host(LIST_COUNTS * 4, "interaction lists")?,
            next: gpu.allocate(LIST_COUNTS * 4, "interaction lists")?,
            items: memory()?,
            parts: memory()?,
            groups: memory()?,
            units: memory()?,
            partial_sums: memory()?,
            ended: None,
        })
    }

    /// The sinks that there is room for in each part of its results.
    fn stride(&self) -> usize {
        self.sinks.len().next_multiple_of(STRIDE)
    }

    /// Makes room for the items and parts of a plan, and brings their first places.
    ///
    /// # Safety
    /// Nothing uses the piece, and it stays as it is until the queue has done the work.
    unsafe fn make_room_for(
        &mut self,
        plan: &Plan,
        on: (&G, &G::Queue),
        interaction: &Interaction,
        memory: &mut PieceAddresses<Address<G>>,
    ) -> Result<()> {
        let gpu = on.0;
        grow(gpu, &mut self.items, plan.items * size_of::<ListItem>())?;
        grow(gpu, &mut self.parts, plan.parts * size_of::<ListPart>())?;
        grow(gpu, &mut self.partial_sums, plan.rows * (interaction.n_outputs + 2) * 8)?;
        memory.items = self.items.address();
        (memory.parts, memory.partial_sums) = (self.parts.address(), self.partial_sums.address());
        // SAFETY: the caller's promise.
        unsafe {
            self.firsts.part_mut(0..LIST_COUNTS).copy_from_slice(&plan.firsts());
            bring_all(on, self.firsts.part::<i32>(0..LIST_COUNTS), &self.next)
        }
    }
}

/// The sums of interaction lists of a device.
pub struct ListSums<G: Gpu> {
    /// The kernels, once they were needed.
    kernels: Option<Kernels<G>>,
    pieces: Vec<Piece<G>>,
    /// The number of pieces that are under way.
    count: usize,
    /// Whether the sums under way go to arrays of the caller.
    to_caller: bool,
    /// The sinks of the assignment.
    assigned: Range<usize>,
    /// Whether results are on their way.
    is_fetching: bool,
    /// The end of the work that predicts the sources of the system, for which all queues wait.
    predicted: Option<G::Event>,
    copies: Copies<G>,
    results: G::Memory,
    /// Threads that count groups.
    threads: Threads,
}

impl<G: Gpu> ListSums<G> {
    /// Makes sums without room, whose groups at most this many threads divide.
    pub fn new(gpu: &G, threads: usize) -> Result<ListSums<G>> {
        Ok(ListSums {
            kernels: None,
            pieces: Vec::new(),
            count: 0,
            to_caller: false,
            assigned: 0..0,
            is_fetching: false,
            predicted: None,
            copies: Copies::new(gpu)?,
            results: gpu.allocate(0, "interaction lists")?,
            threads: Threads::for_copies(threads),
        })
    }

    /// Whether pieces are under way.
    pub fn is_busy(&self) -> bool {
        self.count > 0
    }

    /// Whether the sums under way go to arrays of the caller. The results are nowhere else then.
    pub fn writes_to_caller(&self) -> bool {
        self.to_caller
    }

    /// Forgets what is under way, after the queues have ended.
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.firsts.bytes()).sum()
    }

    /// Makes room for the groups of an assignment of at most this many pieces, after the work that
    /// predicts the sources of the system was begun in the first queue. No piece is under way.
    pub fn start(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        interaction: &Interaction,
        (lists, assigned): (&InteractionLists, Range<usize>),
    ) -> Result<()> {
        if self.kernels.is_none() {
            self.kernels = Some(Kernels::new(gpu, interaction)?);
        }
        self.copies.make_room(gpu, lists)?;
        // A piece has a group at least.
        let pieces = lists.groups.len().min(64);
        let results = (assigned.len() + pieces * STRIDE) * bytes_of_results(interaction);
        // Kernels count the places of results, in doubles, by 32 bits.
        if results / 8 > i32::MAX as usize {
            let most = i32::MAX as usize * 8 / bytes_of_results(interaction) - pieces * STRIDE;
            let (what, value) = ("the number of sinks of interaction lists on one GPU", assigned.len() as i64);
            return Err(Error::BadCount { what, value, allowed: format!("0 to {most}") });
        }
        grow(gpu, &mut self.results, results)?;
        (self.assigned, self.count, self.to_caller) = (assigned, 0, false);
        self.is_fetching = false;
        self.predicted = Some(gpu.record(queue)?);
        Ok(())
    }

    /// Begins the sums of some groups, which follow those of the last call; of all groups if the
    /// device has made them. Those go to their receiver, if there is one and no list is divided.
    ///
    /// # Safety
    /// The block, the store and groups of the device stay as they are until all was waited for.
    pub unsafe fn sum(
        &mut self,
        (gpu, queues): (&G, &[G::Queue]),
        interaction: &Interaction,
        (store, is_dense): (StoreAddresses<Address<G>>, bool),
        (block, lists, made): (&Block, &InteractionLists, Option<GroupsOnDevice<G>>),
        groups: Range<usize>,
    ) -> Result<()> {
        let number = self.count;
        let sinks = lists.sinks_of(&groups);
        self.place_piece(gpu, interaction, sinks.end)?;
        let queue = &queues[number % queues.len()];
        if let Some(predicted) = &self.predicted
            && (1..queues.len()).contains(&number)
        {
            gpu.wait_for(queue, predicted)?;
        }
        let piece = &mut self.pieces[number];
        let first_sink = self.assigned.start + piece.sinks.start;
        let step = Step { is_dense: i32::from(is_dense), ..step_of(block, lists, piece, first_sink) };
        let columns = [lists.sources.own().map_or(Columns::default(), columns), columns(&lists.sinks)];
        let members = if made.is_some() { &[] } else { &lists.groups[groups.clone()] };
        let units = made.as_ref().and_then(|made| made.units);
        let chooses_units = lists.sources.own().is_some() && units.is_none();
        // SAFETY: the caller's promise.
        unsafe { self.copies.bring((gpu, queue), lists, (&groups, &sinks))? };
        grow(gpu, &mut piece.groups, size_of_val(members))?;
        grow(gpu, &mut piece.units, if chooses_units { 12 * groups.len() } else { 0 })?;
        let [addresses, own, places_of_sinks] = self.copies.places(gpu, lists)?;
        let mut memory = PieceAddresses {
            store,
            items: piece.items.address(),
            parts: piece.parts.address(),
            groups: made.as_ref().map_or(&piece.groups, |made| made.groups).address(),
            units: units.unwrap_or(&piece.units).address(),
            next: piece.next.address(),
            addresses,
            own,
            sinks: places_of_sinks,
            partial_sums: piece.partial_sums.address(),
            results: self.results.address(),
        };
        let kernels = self.kernels.as_mut().expect("the kernels were loaded");
        let on = (gpu, queue);
        // SAFETY: the caller's promise; groups, the first places and results are not touched before
        // the piece has ended.
        unsafe {
            if !piece.sinks.is_empty() {
                bring_all(on, members, &piece.groups)?;
                if chooses_units {
                    let given = UnitsOfGroups {
                        groups: memory.groups,
                        count: groups.len(),
                        columns: &columns,
                        own: (memory.own, lists.sources_of(&groups).len()),
                        sinks: (memory.sinks, sinks.len()),
                        is_batch: lists.is_batch,
                        units: memory.units,
                    };
                    kernels.chooser.choose(on, interaction, &given, None)?;
                }
                let counted = made.as_ref().map(|made| made.counted);
                let plan = plan_of((gpu, interaction), members, counted, &self.threads)?;
                piece.make_room_for(&plan, on, interaction, &mut memory)?;
                kernels.divide(on, (&plan, groups.len()), &memory)?;
                let receiver = made.and_then(|made| made.receiver).filter(|_| plan.parts == 0);
                self.to_caller = receiver.is_some();
                kernels.sum(on, (&step, &columns), (plan.items, receiver.as_ref()), &memory)?;
                if plan.parts > 0 {
                    kernels.add(on, &step, plan.parts, &memory)?;
                }
            }
        }
        piece.ended = Some(gpu.record(queue)?);
        self.count += 1;
        Ok(())
    }

    /// Gives the next piece, which has the sinks up to this one, its places.
    fn place_piece(&mut self, gpu: &G, interaction: &Interaction, end: usize) -> Result<()> {
        if self.count == self.pieces.len() {
            memory::push(&mut self.pieces, Piece::new(gpu)?, "the table of pieces")?;
        }
        let before = self.pieces[..self.count].last();
        let (first, start) = before.map_or((0, 0), |piece| (piece.sinks.end, piece.results.end));
        let piece = &mut self.pieces[self.count];
        piece.sinks = first..end - self.assigned.start;
        piece.results = start..start + piece.stride() * bytes_of_results(interaction);
        Ok(())
    }

    /// Waits for all pieces, whose results lie on the device, and returns where.
    pub fn results(&mut self) -> Result<Vec<PieceResults<Address<G>>>> {
        let mut all = memory::room(self.count, "the table of pieces")?;
        for piece in &mut self.pieces[..self.count] {
            if let Some(ended) = &piece.ended {
                ended.wait()?;
            }
            all.push(PieceResults {
                results: self.results.address(),
                from: piece.results.start / 8,
                first_sink: self.assigned.start + piece.sinks.start,
                sinks: piece.sinks.len(),
                stride: piece.stride(),
            });
        }
        Ok(all)
    }

    /// Waits for the piece whose first sink in the assignment is `done`, whose sums are then among
    /// those of all, and returns the end of its sinks; `None` if there is no such piece.
    pub fn wait_more(
        &mut self,
        on: (&G, &G::Queue),
        interaction: &Interaction,
        into: &mut Sums,
        done: usize,
    ) -> Result<Option<usize>> {
        if !self.is_fetching {
            self.fetch(on, interaction, into)?;
        }
        let mut pieces = self.pieces[..self.count].iter();
        let Some(piece) = pieces.find(|piece| piece.sinks.start == done && !piece.sinks.is_empty()) else {
            return Ok(None);
        };
        if let Some(ended) = &piece.ended {
            ended.wait()?;
        }
        Ok(Some(piece.sinks.end))
    }

    /// Begins to bring the results of all pieces to their places among the sums, each when it has
    /// ended, in a queue of their own.
    fn fetch(&mut self, (gpu, queue): (&G, &G::Queue), interaction: &Interaction, into: &mut Sums) -> Result<()> {
        let Interaction { n_outputs, nearest, .. } = *interaction;
        self.is_fetching = true;
        for piece in &mut self.pieces[..self.count] {
            if let Some(ended) = &piece.ended {
                gpu.wait_for(queue, ended)?;
            }
            let sinks = self.assigned.start + piece.sinks.start..self.assigned.start + piece.sinks.end;
            let from = piece.results.start;
            let (values, bytes) = into.values.place(sinks.start * n_outputs..sinks.end * n_outputs);
            // SAFETY: the results are that long, and nobody reads or frees the sums before the
            // queue has done this.
            unsafe {
                gpu.copy(queue, Place::Device(&self.results, from), Place::Host(values), bytes)?;
                if nearest {
                    let (nearest, bytes) = into.nearest.place(sinks);
                    let from = from + piece.stride() * n_outputs * 8;
                    gpu.copy(queue, Place::Device(&self.results, from), Place::Host(nearest), bytes)?;
                }
            }
            piece.ended = Some(gpu.record(queue)?);
        }
        Ok(())
    }
}

/// Returns the bytes of the results of a sink.
fn bytes_of_results(interaction: &Interaction) -> usize {
    8 * interaction.n_outputs + if interaction.nearest { size_of::<Nearest>() } else { 0 }
}

/// Returns the step of a piece, whose first sink is one of the lists.
fn step_of<G: Gpu>(block: &Block, lists: &InteractionLists, piece: &Piece<G>, first_sink: usize) -> Step {
    Step {
        skip_own_index: i32::from(block.skip_own_index),
        form: match lists.sources {
            ListedSources::Ranges => LISTED_RANGES,
            ListedSources::Addresses(_) => LISTED_ADDRESSES,
            ListedSources::Own(_) => LISTED_OWN,
        },
        is_batch: i32::from(lists.is_batch),
        first_sink: first_sink as i32,
        softening2: lists.sinks.common_softening2(),
        stride: piece.stride() as i32,
        results_from: (piece.results.start / 8) as i32,
        ..Step::of(block)
    }
}

/// Returns the plan of some groups, which the host counts if the device has not.
fn plan_of<G: Gpu>(
    (gpu, interaction): (&G, &Interaction),
    members: &[SinkGroup],
    counted: Option<&[Counts; 2]>,
    threads: &Threads,
) -> Result<Plan> {
    let tuning = tuning::of(interaction).list(interaction);
    let resident = gpu.properties().multiprocessors * tuning.resident;
    Plan::new(resident, |divides| match counted {
        Some(counted) => Ok(counted[usize::from(divides)]),
        None => Counts::of_all(members, tuning.sinks, divides, threads),
    })
}
