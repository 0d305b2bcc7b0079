//! The sums of interaction lists on a GPU, piece by piece: while the groups of one piece are
//! summed, those of the next come to the device.

use std::ops::Range;

use kyoho_core::memory;
use kyoho_core::{Block, Bodies, Error, Interaction, InteractionLists, ListedSources, Nearest, Result, Sums};
use kyoho_hal::gpu::{Address, DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_hal::threads::Threads;
use kyoho_methods::gpu::columns::{PieceResults, columns as columns_on_device};
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::{Column, Columns, ListItem, ListPart, Step};
use kyoho_methods::gpu::tuning;

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
    sinks: G::Memory,
    addresses: G::Memory,
    own: G::Memory,
    results: G::Memory,
    /// Threads that count groups.
    threads: Threads,
}

impl<G: Gpu> ListSums<G> {
    /// Makes sums without room, whose groups at most this many threads divide.
    pub fn new(gpu: &G, threads: usize) -> Result<ListSums<G>> {
        let memory = || gpu.allocate(0, "interaction lists");
        Ok(ListSums {
            kernels: None,
            pieces: Vec::new(),
            count: 0,
            to_caller: false,
            assigned: 0..0,
            is_fetching: false,
            predicted: None,
            sinks: memory()?,
            addresses: memory()?,
            own: memory()?,
            results: memory()?,
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
        if lists.sinks.on_device().is_none() {
            grow(gpu, &mut self.sinks, lists.sinks.memory().len())?;
        }
        match &lists.sources {
            ListedSources::Addresses(table) if table.on_device().is_none() => {
                grow(gpu, &mut self.addresses, size_of_val(table.addresses()))?;
            }
            ListedSources::Own(own) if own.on_device().is_none() => grow(gpu, &mut self.own, own.memory().len())?,
            _ => (),
        }
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
        if number == self.pieces.len() {
            memory::push(&mut self.pieces, Piece::new(gpu)?, "the table of pieces")?;
        }
        let before = self.pieces[..number].last();
        let (first, start) = before.map_or((0, 0), |piece| (piece.sinks.end, piece.results.end));
        let piece = &mut self.pieces[number];
        let sinks = lists.sinks_of(&groups);
        piece.sinks = first..sinks.end - self.assigned.start;
        piece.results = start..start + piece.stride() * bytes_of_results(interaction);
        let queue = &queues[number % queues.len()];
        if let Some(predicted) = &self.predicted
            && (1..queues.len()).contains(&number)
        {
            gpu.wait_for(queue, predicted)?;
        }
        let members = if made.is_some() { &[] } else { &lists.groups[groups.clone()] };
        let is_own = matches!(lists.sources, ListedSources::Own(_));
        let step = Step {
            skip_own_index: i32::from(block.skip_own_index),
            is_dense: i32::from(is_dense),
            form: match lists.sources {
                ListedSources::Ranges => LISTED_RANGES,
                ListedSources::Addresses(_) => LISTED_ADDRESSES,
                ListedSources::Own(_) => LISTED_OWN,
            },
            is_batch: i32::from(lists.is_batch),
            first_sink: (self.assigned.start + piece.sinks.start) as i32,
            softening2: lists.sinks.common_softening2(),
            stride: piece.stride() as i32,
            results_from: (piece.results.start / 8) as i32,
            ..Step::of(block)
        };
        let of_sources = match &lists.sources {
            ListedSources::Own(own) => columns(own),
            _ => Columns::default(),
        };
        let columns = [of_sources, columns(&lists.sinks)];
        // SAFETY: the caller's promise; the memory was made as long as that of the lists.
        unsafe {
            bring_bodies((gpu, queue), &lists.sinks, &sinks, &self.sinks)?;
            match &lists.sources {
                ListedSources::Ranges => (),
                ListedSources::Addresses(table) if table.on_device().is_some() => (),
                ListedSources::Addresses(table) => {
                    let places = lists.sources_of(&groups);
                    let bytes = bytemuck::cast_slice(table.addresses());
                    bring((gpu, queue), bytes, 4 * places.start..4 * places.end, &self.addresses)?;
                }
                ListedSources::Own(own) => bring_bodies((gpu, queue), own, &lists.sources_of(&groups), &self.own)?,
            }
        }
        grow(gpu, &mut piece.groups, size_of_val(members))?;
        let units = made.as_ref().and_then(|made| made.units);
        grow(gpu, &mut piece.units, if is_own && units.is_none() { 12 * groups.len() } else { 0 })?;
        let tuning = tuning::of(interaction).list(interaction);
        let resident = gpu.properties().multiprocessors * tuning.resident;
        let of_caller = |address: u64| {
            let none = || Error::Internal { what: "lists have arrays on a device where callers have none".into() };
            gpu.address_of_caller(address).ok_or_else(none)
        };
        let of_bodies = |bodies: &Bodies, copied: &G::Memory| match bodies.on_device() {
            // Their places are counted from address 0.
            Some(_) => of_caller(0),
            None => Ok(copied.address()),
        };
        let mut memory = PieceAddresses {
            store,
            items: piece.items.address(),
            parts: piece.parts.address(),
            groups: made.as_ref().map_or(&piece.groups, |made| made.groups).address(),
            units: units.unwrap_or(&piece.units).address(),
            next: piece.next.address(),
            addresses: match &lists.sources {
                ListedSources::Addresses(table) => match table.on_device() {
                    Some(array) => of_caller(array.address)?,
                    None => self.addresses.address(),
                },
                _ => self.addresses.address(),
            },
            own: match &lists.sources {
                ListedSources::Own(own) => of_bodies(own, &self.own)?,
                _ => self.own.address(),
            },
            sinks: of_bodies(&lists.sinks, &self.sinks)?,
            partial_sums: piece.partial_sums.address(),
            results: self.results.address(),
        };
        let kernels = self.kernels.as_mut().expect("the kernels were loaded");
        let (on, with) = ((gpu, queue), (&step, &columns));
        // SAFETY: the caller's promise; groups, the first places and results are not touched before
        // the piece has ended.
        unsafe {
            if !piece.sinks.is_empty() {
                bring_all(on, members, &piece.groups)?;
                if is_own && units.is_none() {
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
                // The host counts while this goes on, if the device has not.
                let plan = Plan::new(resident, |divides| match &made {
                    Some(made) => Ok(made.counted[usize::from(divides)]),
                    None => Counts::of_all(members, tuning.sinks, divides, &self.threads),
                })?;
                piece.firsts.part_mut(0..LIST_COUNTS).copy_from_slice(&plan.firsts());
                grow(gpu, &mut piece.items, plan.items * size_of::<ListItem>())?;
                grow(gpu, &mut piece.parts, plan.parts * size_of::<ListPart>())?;
                grow(gpu, &mut piece.partial_sums, plan.rows * (interaction.n_outputs + 2) * 8)?;
                memory.items = piece.items.address();
                (memory.parts, memory.partial_sums) = (piece.parts.address(), piece.partial_sums.address());
                bring_all(on, piece.firsts.part::<i32>(0..LIST_COUNTS), &piece.next)?;
                kernels.divide(on, (&plan, groups.len()), &memory)?;
                let receiver = made.and_then(|made| made.receiver).filter(|_| plan.parts == 0);
                self.to_caller = receiver.is_some();
                kernels.sum(on, with, (plan.items, receiver.as_ref()), &memory)?;
                if plan.parts > 0 {
                    kernels.add(on, &step, plan.parts, &memory)?;
                }
            }
        }
        piece.ended = Some(gpu.record(queue)?);
        self.count += 1;
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

/// Allocates other memory where there is less than this. Its contents are lost.
fn grow<M: DeviceMemory, G: Gpu<Memory = M>>(gpu: &G, memory: &mut M, bytes: usize) -> Result<()> {
    if memory.bytes() < bytes {
        *memory = gpu.allocate(bytes + bytes / 4, "interaction lists")?;
    }
    Ok(())
}

/// Begins the copy of some bytes to the same places on the device.
///
/// # Safety
/// The memory is long enough, and the bytes stay as they are until the queue has done this.
unsafe fn bring<G: Gpu>((gpu, queue): (&G, &G::Queue), from: &[u8], bytes: Range<usize>, to: &G::Memory) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let place = Place::Host(from[bytes.clone()].as_ptr().cast_mut());
    // SAFETY: the caller's promise.
    unsafe { gpu.copy(queue, place, Place::Device(to, bytes.start), bytes.len()) }
}

/// Begins the copy of a table to the device.
///
/// # Safety
/// As for [`bring`].
unsafe fn bring_all<G: Gpu, T: bytemuck::NoUninit>(on: (&G, &G::Queue), table: &[T], to: &G::Memory) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { bring(on, bytemuck::cast_slice(table), 0..size_of_val(table), to) }
}

/// Begins the copy of some bodies to the same places on the device.
///
/// # Safety
/// As for [`bring`].
unsafe fn bring_bodies<G: Gpu>(
    on: (&G, &G::Queue),
    bodies: &Bodies,
    some: &Range<usize>,
    to: &G::Memory,
) -> Result<()> {
    bodies.columns().given().try_for_each(|(column, width)| {
        let bytes = column + width * some.start..column + width * some.end;
        // SAFETY: the caller's promise.
        unsafe { bring(on, bodies.memory(), bytes, to) }
    })
}

/// Returns the places of the quantities of bodies, as kernels have them.
fn columns(bodies: &Bodies) -> Columns {
    if let Some(arrays) = bodies.on_device() {
        return columns_on_device(arrays);
    }
    let given = bodies.columns();
    let column = |place: Option<usize>, stride: i64| match place {
        Some(place) => Column { offset: place as i64, stride },
        None => Column::default(),
    };
    let vector = |k: usize| column(given.derivatives[k], 24);
    Columns {
        masses: column(given.masses, 8),
        times: column(given.times, 8),
        indices: column(given.indices, 4),
        softening2: column(given.softening2, 8),
        positions: vector(0),
        velocities: vector(1),
        accelerations: vector(2),
        jerks: vector(3),
        snaps: vector(4),
        crackles: vector(5),
        sixth_derivatives: vector(6),
        seventh_derivatives: vector(7),
    }
}
