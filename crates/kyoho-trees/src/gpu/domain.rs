//! A rank's part of a tree of several ranks, on a GPU.
//!
//! The trees lie in the cube of all ranks' bodies, so that all GPUs have the units that one with all
//! bodies would have. The host gets the cells, by which it chooses those for other ranks; what came
//! from these is `joined` to the tree of sources, of which the GPU walks through all.

use std::ops::Range;

use kyoho_core::{Error, Pooled, Result};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, Place};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_laws::simd::expansions::{CellRecord, Kind, Number};

use super::builder::{Given, Tree};
use super::constants::{BodyLayout, record};
use super::forces::{Asked, Forces, ForcesOn};
use super::joined::Units;
use super::own::Own;
use crate::cells::Cell;
use crate::cpu::on_device::{DeviceCells, DomainDevice, Host};
use crate::cpu::{Alike, Extent, Octree, Passes, Points, Settings, TreeUnits, Trees};
use crate::cube::Cube;

/// Fewer sources or sinks are left to the CPU.
pub const LEAST_BODIES: usize = 1 << 6;
/// The items that a thread makes at a time.
const PIECE: usize = 1 << 12;
/// The name of memory in errors.
const WHAT: &str = "a tree over ranks";

/// A GPU that does the work of a domain.
pub struct DomainOnGpu<G: Gpu> {
    sources: Tree<G>,
    sinks: Tree<G>,
    forces: Forces<G>,
    /// The sources and the sinks as they were sent. Once their trees are made, the latter's forces take
    /// their place.
    of_sources: GrowBuffer<G>,
    of_sinks: GrowBuffer<G>,
    /// The places of sources that sinks leave out, and of further ones with their indices.
    left_out: [GrowBuffer<G>; 3],
    call: Option<Call<G>>,
    queue: G::Queue,
    gpu: G,
    /// Dropped last, so that the driver may be called while the rest is given back.
    caller: Option<G::Caller>,
}

/// What is known of the call.
struct Call<G: Gpu> {
    cube: Cube,
    sources: Given<Address<G>>,
    /// Whether the sinks are not the sources.
    has_sinks: bool,
    asked: Option<(Asked, Units)>,
}

impl<G: Gpu> DomainOnGpu<G> {
    /// Loads the kernels.
    pub fn open(gpu: G) -> Result<DomainOnGpu<G>> {
        let _caller = gpu.enter()?;
        DomainOnGpu::new(gpu)
    }

    fn new(gpu: G) -> Result<DomainOnGpu<G>> {
        let room = || GrowBuffer::new(&gpu, WHAT);
        Ok(DomainOnGpu {
            sources: Tree::new(&gpu)?,
            sinks: Tree::new(&gpu)?,
            forces: Forces::new(&gpu)?,
            of_sources: room()?,
            of_sinks: room()?,
            left_out: [room()?, room()?, room()?],
            call: None,
            queue: gpu.queue()?,
            gpu,
            caller: None,
        })
    }

    /// Lets it sum the forces on so many sinks at a time.
    #[cfg(test)]
    pub(super) fn with_sinks_at_a_time(mut self, sinks: usize) -> DomainOnGpu<G> {
        self.forces.sinks_at_a_time = sinks;
        self
    }

    fn wait_for_all(&self) {
        if let Err(error) = self.gpu.synchronize(&self.queue) {
            log::debug!("a GPU that sums forces by a tree over ranks: {error}");
        }
    }

    fn call(&self) -> Result<&Call<G>> {
        self.call.as_ref().ok_or_else(out_of_order)
    }

    /// Returns what the sinks of the call are, with what they leave out.
    fn forces_on(has_sinks: bool, sinks: &Tree<G>, own: Own<Address<G>>) -> ForcesOn<'_, G> {
        if has_sinks { ForcesOn::SeparateSinks { tree: sinks, own } } else { ForcesOn::AllBut(own) }
    }

    /// Sends which sources sinks leave out.
    fn send_left_out<E: Number>(
        &mut self,
        passes: &Passes<E>,
        (places, alike): (&[i32], Option<&Alike>),
    ) -> Result<Own<Address<G>>> {
        if !passes.settings.skip_own_index {
            return Ok(Own::None);
        }
        let Some(Alike { firsts, nexts }) = alike else {
            // Sinks that are the sources, each of another index.
            if passes.is_one_tree() && (0..).zip(places).all(|(place, own)| place == *own) {
                return Ok(Own::Itself);
            }
            self.send_places([places, &[], &[]])?;
            return Ok(Own::Listed(self.left_out[0].0.address()));
        };
        self.send_places([places, firsts, nexts])?;
        let [owns, firsts, nexts] = self.left_out.each_ref().map(|memory| memory.0.address());
        Ok(Own::Repeated { owns, firsts, nexts })
    }

    fn send_places(&mut self, places: [&[i32]; 3]) -> Result<()> {
        for (memory, places) in self.left_out.iter_mut().zip(places) {
            memory.ensure_capacity(&self.gpu, 4 * places.len())?;
            send((&self.gpu, &self.queue), &memory.0, 0, places)?;
        }
        Ok(())
    }
}

impl<G: Gpu> Drop for DomainOnGpu<G> {
    fn drop(&mut self) {
        self.caller = self.gpu.enter().ok();
        self.wait_for_all();
    }
}

fn out_of_order() -> Error {
    Error::Internal { what: "steps of a tree over ranks on a GPU came in another order".into() }
}

/// Copies items of the host to a byte of memory of the device and the bytes behind it.
pub(super) fn send<G: Gpu, T: bytemuck::NoUninit>(
    (gpu, queue): (&G, &G::Queue),
    to: &G::Memory,
    byte: usize,
    items: &[T],
) -> Result<()> {
    assert!(byte + size_of_val(items) <= to.bytes());
    if items.is_empty() {
        return Ok(());
    }
    let from = Place::Host(items.as_ptr().cast_mut().cast());
    // SAFETY: both are that long, and the copy is waited for.
    unsafe { gpu.copy(queue, from, Place::Device(to, byte), size_of_val(items))? };
    gpu.synchronize(queue)
}

/// Copies items from the begin of memory of the device.
fn fetch<G: Gpu, T: bytemuck::Pod>((gpu, queue): (&G, &G::Queue), from: &G::Memory, into: &mut [T]) -> Result<()> {
    assert!(size_of_val(into) <= from.bytes());
    if into.is_empty() {
        return Ok(());
    }
    let to = Place::Host(into.as_mut_ptr().cast());
    // SAFETY: both are that long, and the copy is waited for.
    unsafe { gpu.copy(queue, Place::Device(from, 0), to, size_of_val(into))? };
    gpu.synchronize(queue)
}

/// Copies so many items from the begin of memory of the device.
fn fetched<G: Gpu, T: bytemuck::Pod + Send>(
    on: (&G, &G::Queue),
    host: Host,
    from: &GrowBuffer<G>,
    count: usize,
) -> Result<Pooled<T>> {
    let mut items = host.1.unwritten(count, T::zeroed(), WHAT)?;
    fetch(on, &from.0, &mut items[..])?;
    Ok(items)
}

/// Makes so many items by several threads.
pub(super) fn made<T: Copy + Send + 'static>(
    (threads, pool): Host,
    count: usize,
    empty: T,
    make: impl Fn(usize) -> T + Sync,
) -> Result<Pooled<T>> {
    let mut items = pool.unwritten(count, empty, WHAT)?;
    threads.each(items.chunks_mut(PIECE).enumerate(), |(piece, items)| {
        items.iter_mut().zip(piece * PIECE..).for_each(|(item, number)| *item = make(number));
    });
    Ok(items)
}

/// Makes the numbers of so many rows of a length by several threads.
pub(super) fn made_rows<T: Copy + Send + 'static>(
    (threads, pool): Host,
    (rows, length): (Range<usize>, usize),
    empty: T,
    make: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Pooled<T>> {
    let mut numbers = pool.unwritten(rows.len() * length, empty, WHAT)?;
    threads.each(numbers.chunks_mut(PIECE * length).enumerate(), |(piece, numbers)| {
        let of_piece = numbers.chunks_exact_mut(length).zip(rows.start + piece * PIECE..);
        of_piece.for_each(|(row, number)| make(number, row));
    });
    Ok(numbers)
}

/// Brings bodies to the device and makes their tree there, of which it returns a copy.
fn built<G: Gpu>(
    on: (&G, &G::Queue),
    host: Host,
    (tree, memory): (&mut Tree<G>, &mut GrowBuffer<G>),
    points: Points,
    (cube, softening2): (&Cube, f64),
) -> Result<(Octree, Given<Address<G>>)> {
    let Points { positions, masses, .. } = points;
    let bytes_of_positions = size_of_val(positions);
    memory.ensure_capacity(on.0, bytes_of_positions + 8 * positions.len())?;
    send(on, &memory.0, 0, positions)?;
    // Sinks have no masses, for which other numbers stand, times 0.
    let of_masses = if masses.is_empty() { 0 } else { bytes_of_positions };
    send(on, &memory.0, of_masses, masses)?;
    let given = Given {
        memory: memory.0.address(),
        layout: BodyLayout::columns(0, of_masses as i64),
        places: positions.len(),
        bodies: positions.len(),
        mass_factor: if masses.is_empty() { 0.0 } else { 1.0 },
        softening2,
        frame: None,
        to_pack: None,
    };
    // SAFETY: the memory has the positions and the masses.
    unsafe { tree.build_in(on, &given, cube)? };
    let cells = fetched::<G, Cell>(on, host, &tree.cells, tree.cells())?;
    let order = fetched::<G, u32>(on, host, &tree.numbers[tree.sorted], positions.len())?;
    let of_generation = |ends: &[u32]| ends[0] as usize..ends[1] as usize;
    let generations = tree.starts.windows(2).map(of_generation).filter(|cells| !cells.is_empty());
    let generations = kyoho_core::memory::collected(generations, WHAT)?;
    Ok((Octree { cube: *cube, order, cells, generations }, given))
}

/// Whether some bodies have the same key, are more than a leaf may have, and are not in one point.
fn has_crowds(tree: &Octree, positions: &[[f64; 3]]) -> bool {
    tree.cells.iter().any(|cell| {
        let bodies = &tree.order[cell.body_range()];
        cell.is_divided_by_places(|body| positions[bodies[body] as usize])
    })
}

impl<G: Gpu, E: Number> DomainDevice<E> for DomainOnGpu<G> {
    fn trees(
        &mut self,
        host: Host,
        cube: &Cube,
        (sources, sinks): (Points, Option<Points>),
        softening2: f64,
    ) -> Result<Option<Trees>> {
        let _caller = self.gpu.enter()?;
        self.call = None;
        let least = sinks.map_or(usize::MAX, |sinks| sinks.positions.len()).min(sources.positions.len());
        if least < LEAST_BODIES {
            return Ok(None);
        }
        let on = (&self.gpu, &self.queue);
        let room = (&mut self.sources, &mut self.of_sources);
        let (of_sources, given) = built(on, host, room, sources, (cube, softening2))?;
        let mut of_sinks = None;
        let mut is_for_cpu = has_crowds(&of_sources, sources.positions);
        if let Some(sinks) = sinks.filter(|_| !is_for_cpu) {
            let room = (&mut self.sinks, &mut self.of_sinks);
            let (tree, _) = built(on, host, room, sinks, (cube, softening2))?;
            is_for_cpu = has_crowds(&tree, sinks.positions);
            of_sinks = Some(tree);
        }
        self.call = Some(Call { cube: *cube, sources: given, has_sinks: of_sinks.is_some(), asked: None });
        Ok((!is_for_cpu).then_some(Trees { of_sources, of_sinks }))
    }

    fn cells(&mut self, host: Host, units: &TreeUnits, settings: &Settings) -> Result<DeviceCells<E>> {
        let _caller = self.gpu.enter()?;
        let on = (&self.gpu, &self.queue);
        let call = self.call.as_mut().ok_or_else(out_of_order)?;
        let Settings { order, criterion, softening2, level, .. } = *settings;
        let stride = E::expansions(level, order, Kind::Plain).stride();
        let (mass_factor, conversion) = (units.mass, Units::new(&call.cube, softening2, units.length));
        let asked = Asked::new((order, criterion), (softening2, mass_factor), false);
        call.sources.mass_factor = mass_factor;
        // SAFETY: the bodies of the trees lie where they were sent.
        unsafe {
            self.sources.turn_masses(on, &call.sources)?;
            self.sources.sum_moments(on, order, criterion)?;
            if call.has_sinks {
                self.sinks.sum_moments(on, order, criterion)?;
            }
        }
        let count = self.sources.cells();
        let places = fetched::<G, [f32; 8]>(on, host, &self.sources.places, count)?;
        let reaches = fetched::<G, [u32; 4]>(on, host, &self.sources.reaches, count)?;
        let of_device = fetched::<G, f32>(on, host, &self.sources.moments, count * record(order))?;
        let records = made(host, count, CellRecord::default(), |cell| conversion.record(&places[cell], reaches[cell]))?;
        let row = |cell: usize| &of_device[cell * record(order)..][..record(order)];
        let zero = E::from_f64(0.0);
        let moments = made_rows(host, (0..count + 1, stride), zero, |cell, moments| {
            moments.fill(zero);
            if cell < count {
                conversion.moments(order, row(cell), moments);
            }
        })?;
        let extents = if call.has_sinks {
            let places = fetched::<G, [f32; 8]>(on, host, &self.sinks.places, self.sinks.cells())?;
            made(host, places.len(), Extent::default(), |cell| conversion.extent(&places[cell]))?
        } else {
            made(host, count, Extent::default(), |cell| conversion.extent(&places[cell]))?
        };
        call.asked = Some((asked, conversion));
        Ok(DeviceCells { records, moments, extents })
    }

    fn first(&mut self, host: Host, passes: &mut Passes<E>) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let on = (&self.gpu, &self.queue);
        let call = self.call.as_ref().ok_or_else(out_of_order)?;
        let (asked, units) = call.asked.as_ref().ok_or_else(out_of_order)?;
        self.sources.join(on, host, units, passes, false)?;
        let sinks = Self::forces_on(call.has_sinks, &self.sinks, Own::None);
        // SAFETY: nobody else uses the memory of the device.
        unsafe { self.forces.first(on, &mut self.sources, &sinks, asked)? };
        let of_sinks = if call.has_sinks { &self.sinks } else { &self.sources };
        let (bodies, cells) = (of_sinks.bodies, of_sinks.cells());
        let accelerations = fetched::<G, f32>(on, host, self.forces.accelerations(), bodies)?;
        let groups = fetched::<G, u32>(on, host, self.forces.groups(), cells)?;
        let found = made(host, bodies, [0.0; 2], |sink| [units.acceleration(accelerations[sink]), 0.0])?;
        passes.take_first(host.0, found, &groups);
        Ok(())
    }

    fn second(
        &mut self,
        host: Host,
        passes: &Passes<E>,
        left_out: (&[i32], Option<&Alike>),
        forces: &mut [[f64; 4]],
    ) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let own = self.send_left_out(passes, left_out)?;
        let has_sinks = self.call()?.has_sinks;
        let on = (&self.gpu, &self.queue);
        let call = self.call.as_ref().ok_or_else(out_of_order)?;
        let (asked, units) = call.asked.as_ref().ok_or_else(out_of_order)?;
        self.sources.join(on, host, units, passes, true)?;
        let results = if has_sinks { &mut self.of_sinks } else { &mut self.of_sources };
        results.ensure_capacity(on.0, size_of_val(forces))?;
        let (sinks, to) = (Self::forces_on(has_sinks, &self.sinks, own), results.0.address());
        // SAFETY: there is room for the force on each sink, and nobody else uses the memory.
        unsafe { self.forces.second(on, &mut self.sources, &sinks, asked, to)? };
        fetch(on, &results.0, forces)
    }

    fn wait(&self) {
        if let Ok(_caller) = self.gpu.enter() {
            self.wait_for_all();
        }
    }
}
