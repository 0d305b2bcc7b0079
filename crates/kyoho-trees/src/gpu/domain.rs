//! A rank's part of a tree of several ranks, on a GPU.
//!
//! The trees lie in the cube of all ranks' bodies, so that all GPUs have the units that one with all
//! bodies would have. The host gets the cells, by which it chooses those for other ranks; what came
//! from these is `joined` to the tree of sources, of which the GPU walks through all.

use kyoho_core::{Error, Result};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu};
use kyoho_hal::grow_buffer::GrowBuffer;
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::{CellRecord, Kind, Number};

use super::builder::{Given, Tree};
use super::constants::{BodyLayout, record};
use super::forces::{Asked, Forces, ForcesOn};
use super::joined::Units;
use super::own::Own;
use super::transfers::{Staging, Transfers, made, made_rows};
use crate::cells::Cell;
use crate::cpu::on_device::{DeviceCells, DomainDevice, Host};
use crate::cpu::{Alike, Extent, Joined, Octree, Passes, Points, Settings, TreeUnits, Trees};
use crate::cube::Cube;

/// Fewer sources or sinks are left to the CPU.
pub const LEAST_BODIES: usize = 1 << 6;
/// The cells and the places that a thread looks at at a time.
const PIECE: usize = 1 << 14;
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
    staging: Staging<G>,
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
        let mut sources = Tree::new(&gpu)?;
        sources.make_room_for_others();
        Ok(DomainOnGpu {
            sources,
            sinks: Tree::new(&gpu)?,
            forces: Forces::new(&gpu)?,
            of_sources: room()?,
            of_sinks: room()?,
            left_out: [room()?, room()?, room()?],
            call: None,
            staging: Staging::new(&gpu)?,
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
        host: Host,
        passes: &Passes<E>,
        (places, alike): (&[i32], Option<&Alike>),
    ) -> Result<Own<Address<G>>> {
        if !passes.settings.skip_own_index {
            return Ok(Own::None);
        }
        let Some(Alike { firsts, nexts }) = alike else {
            // Sinks that are the sources, each of another index.
            let are_own = |(piece, owns): (usize, &[i32])| {
                owns.iter().zip(piece * PIECE..).all(|(own, place)| *own == place as i32)
            };
            if passes.is_one_tree() && host.0.all(places.chunks(PIECE).enumerate(), are_own) {
                return Ok(Own::Itself);
            }
            self.send_places(host, [places, &[], &[]])?;
            return Ok(Own::Listed(self.left_out[0].0.address()));
        };
        self.send_places(host, [places, firsts, nexts])?;
        let [owns, firsts, nexts] = self.left_out.each_ref().map(|memory| memory.0.address());
        Ok(Own::Repeated { owns, firsts, nexts })
    }

    fn send_places(&mut self, host: Host, places: [&[i32]; 3]) -> Result<()> {
        let DomainOnGpu { gpu, queue, staging, left_out, .. } = self;
        let mut transfers = Transfers { gpu, queue, staging, host };
        for (memory, places) in left_out.iter_mut().zip(places) {
            memory.ensure_capacity(transfers.gpu, 4 * places.len())?;
            transfers.send(&memory.0, 0, places)?;
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

/// Brings bodies to the device and makes their tree there, of which it returns a copy.
fn built<G: Gpu>(
    transfers: &mut Transfers<G>,
    (tree, memory): (&mut Tree<G>, &mut GrowBuffer<G>),
    points: Points,
    (cube, softening2): (&Cube, f64),
) -> Result<(Octree, Given<Address<G>>)> {
    let Points { positions, masses, .. } = points;
    let bytes_of_positions = size_of_val(positions);
    memory.ensure_capacity(transfers.gpu, bytes_of_positions + 8 * positions.len())?;
    transfers.send(&memory.0, 0, positions)?;
    // Sinks have no masses, for which other numbers stand, times 0.
    let of_masses = if masses.is_empty() { 0 } else { bytes_of_positions };
    transfers.send(&memory.0, of_masses, masses)?;
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
    unsafe { tree.build_in(transfers.on(), &given, cube)? };
    let cells = transfers.fetched::<Cell>(&tree.cells, tree.cells())?;
    let order = transfers.fetched::<u32>(&tree.numbers[tree.sorted], positions.len())?;
    let of_generation = |ends: &[u32]| ends[0] as usize..ends[1] as usize;
    let generations = tree.starts.windows(2).map(of_generation).filter(|cells| !cells.is_empty());
    let generations = kyoho_core::memory::collected(generations, WHAT)?;
    Ok((Octree { cube: *cube, order, cells, generations }, given))
}

/// Whether some bodies have the same key, are more than a leaf may have, and are not in one point.
fn has_crowds(tree: &Octree, positions: &[[f64; 3]], threads: &Threads) -> bool {
    let is_crowded = |cell: &Cell| {
        let bodies = &tree.order[cell.body_range()];
        cell.is_divided_by_places(|body| positions[bodies[body] as usize])
    };
    !threads.all(tree.cells.chunks(PIECE), |cells| !cells.iter().any(is_crowded))
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
        let DomainOnGpu { gpu, queue, staging, .. } = self;
        let mut transfers = Transfers { gpu, queue, staging, host };
        let room = (&mut self.sources, &mut self.of_sources);
        let (of_sources, given) = built(&mut transfers, room, sources, (cube, softening2))?;
        let mut of_sinks = None;
        let mut is_for_cpu = has_crowds(&of_sources, sources.positions, host.0);
        if let Some(sinks) = sinks.filter(|_| !is_for_cpu) {
            let room = (&mut self.sinks, &mut self.of_sinks);
            let (tree, _) = built(&mut transfers, room, sinks, (cube, softening2))?;
            is_for_cpu = has_crowds(&tree, sinks.positions, host.0);
            of_sinks = Some(tree);
        }
        self.call = Some(Call { cube: *cube, sources: given, has_sinks: of_sinks.is_some(), asked: None });
        Ok((!is_for_cpu).then_some(Trees { of_sources, of_sinks }))
    }

    fn cells(&mut self, host: Host, units: &TreeUnits, settings: &Settings) -> Result<DeviceCells<E>> {
        let _caller = self.gpu.enter()?;
        let DomainOnGpu { gpu, queue, staging, .. } = self;
        let mut transfers = Transfers { gpu, queue, staging, host };
        let on = transfers.on();
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
        let places = transfers.fetched::<[f32; 8]>(&self.sources.places, count)?;
        let reaches = transfers.fetched::<[u32; 4]>(&self.sources.reaches, count)?;
        let of_device = transfers.fetched::<f32>(&self.sources.moments, count * record(order))?;
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
            let places = transfers.fetched::<[f32; 8]>(&self.sinks.places, self.sinks.cells())?;
            made(host, places.len(), Extent::default(), |cell| conversion.extent(&places[cell]))?
        } else {
            made(host, count, Extent::default(), |cell| conversion.extent(&places[cell]))?
        };
        call.asked = Some((asked, conversion));
        Ok(DeviceCells { records, moments, extents })
    }

    fn first(&mut self, host: Host, passes: &mut Passes<E>) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let DomainOnGpu { gpu, queue, staging, .. } = self;
        let mut transfers = Transfers { gpu, queue, staging, host };
        let on = transfers.on();
        let call = self.call.as_ref().ok_or_else(out_of_order)?;
        let (asked, units) = call.asked.as_ref().ok_or_else(out_of_order)?;
        self.sources.join(&mut transfers, units, passes, None)?;
        let sinks = Self::forces_on(call.has_sinks, &self.sinks, Own::None);
        // SAFETY: nobody else uses the memory of the device.
        unsafe { self.forces.first(on, &mut self.sources, &sinks, asked)? };
        let of_sinks = if call.has_sinks { &self.sinks } else { &self.sources };
        let (bodies, cells) = (of_sinks.bodies, of_sinks.cells());
        let accelerations = transfers.fetched::<f32>(self.forces.accelerations(), bodies)?;
        let groups = transfers.fetched::<u32>(self.forces.groups(), cells)?;
        let found = made(host, bodies, [0.0; 2], |sink| [units.acceleration(accelerations[sink]), 0.0])?;
        passes.take_first(host.0, found, &groups);
        Ok(())
    }

    fn second(
        &mut self,
        host: Host,
        passes: &Passes<E>,
        joined: &Joined,
        left_out: (&[i32], Option<&Alike>),
        forces: &mut [[f64; 4]],
    ) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let own = self.send_left_out(host, passes, left_out)?;
        let has_sinks = self.call()?.has_sinks;
        let DomainOnGpu { gpu, queue, staging, .. } = self;
        let mut transfers = Transfers { gpu, queue, staging, host };
        let on = transfers.on();
        let call = self.call.as_ref().ok_or_else(out_of_order)?;
        let (asked, units) = call.asked.as_ref().ok_or_else(out_of_order)?;
        self.sources.join(&mut transfers, units, passes, Some(joined))?;
        let results = if has_sinks { &mut self.of_sinks } else { &mut self.of_sources };
        results.ensure_capacity(on.0, size_of_val(forces))?;
        let (sinks, to) = (Self::forces_on(has_sinks, &self.sinks, own), results.0.address());
        // SAFETY: there is room for the force on each sink, and nobody else uses the memory.
        unsafe { self.forces.second(on, &mut self.sources, &sinks, asked, to)? };
        transfers.fetch(&results.0, forces)
    }

    fn wait(&self) {
        if let Ok(_caller) = self.gpu.enter() {
            self.wait_for_all();
        }
    }
}
