//! Blocks whose forces are summed by a tree.

use crate::data::{Block, CHUNK, Error, Interaction, OCTET, Result, Sources, TAYLOR, TreeBlock, memory};
use crate::hal::gpu::{DeviceMemory, Gpu, HostMemory, Place};
use crate::hal::threads::Threads;
use crate::method::tree::accuracy::order_and_criterion;
use crate::method::tree::bodies::{Bodies, are_sources};

use super::builder::{Given, Tree};
use super::constants::BodyLayout;
use super::forces::{Asked, Forces};

/// The bytes of a row of an octet.
const ROW: i64 = 8 * OCTET as i64;
/// The number of sinks whose forces a thread copies at a time.
const SINKS_OF_JOB: usize = 1 << 13;
/// The numbers of the force on a sink: a potential and an acceleration.
const NUMBERS: usize = 4;

/// Trees of a device, and the forces that they gave.
pub struct TreeSums<G: Gpu> {
    sources: Tree<G>,
    /// The tree of sinks that are not the sources.
    sinks: Option<Tree<G>>,
    forces: Forces<G>,
    of_sinks: G::Memory,
    results: G::Memory,
    found: G::HostMemory,
    /// The number of sinks of the last block.
    count: usize,
    /// The places, bodies, softening and factor of masses of the tree of sources, as long as the
    /// sources are those that it was built from.
    built: Option<(usize, usize, f64, f64)>,
    threads: Threads,
}

/// Returns where the positions and masses of sources are in the octets of a device.
fn layout_of_octets(interaction: &Interaction) -> BodyLayout {
    let rows = (TAYLOR + 3 * interaction.n_coefficients) as i64;
    BodyLayout {
        position: TAYLOR as i64 * ROW,
        position_octet: rows * ROW,
        position_body: 8,
        position_component: ROW,
        mass: ROW,
        mass_octet: rows * ROW,
        mass_body: 8,
    }
}

impl<G: Gpu> TreeSums<G> {
    /// Loads the kernels. At most this many threads compare sinks and copy results.
    pub fn new(gpu: &G, threads: usize) -> Result<TreeSums<G>> {
        Ok(TreeSums {
            sources: Tree::new(gpu)?,
            sinks: None,
            forces: Forces::new(gpu)?,
            of_sinks: gpu.allocate(0, "sinks")?,
            results: gpu.allocate(0, "forces")?,
            found: gpu.allocate_host(0, "forces")?,
            count: 0,
            built: None,
            threads: Threads::for_copies(threads),
        })
    }

    /// Forgets the tree of sources that have changed.
    pub fn forget(&mut self) {
        self.built = None;
    }

    /// Hands in the forces of the last block.
    pub fn take(&self, into: &mut [f64]) {
        let from = &self.found.as_slice()[..NUMBERS * self.count];
        let jobs = into.chunks_mut(SINKS_OF_JOB * NUMBERS).zip(from.chunks(SINKS_OF_JOB * NUMBERS));
        self.threads.each(jobs, |(to, from)| to.copy_from_slice(from));
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.found.bytes()
    }

    /// Sums the forces of a block by a tree of the sources that a device has in octets, those at
    /// addresses from 0 on in as many chunks if they are `dense`.
    pub fn sum(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        interaction: &Interaction,
        (sources, octets, (chunks, is_dense)): (&Sources, &G::Memory, (usize, bool)),
        (block, TreeBlock { accuracy, softening2 }): (&Block, TreeBlock),
    ) -> Result<()> {
        let on = (gpu, queue);
        let count = block.sinks.len();
        let bytes = 8 * NUMBERS * count;
        self.count = count;
        if self.results.bytes() < bytes {
            self.results = gpu.allocate(bytes + bytes / 4, "forces")?;
        }
        if self.found.bytes() < bytes {
            self.found = gpu.allocate_host(bytes.next_power_of_two(), "forces")?;
        }
        let places = if is_dense { block.nj.min(chunks * CHUNK) } else { chunks * CHUNK };
        let are_sources = is_dense && places == block.nj && are_sources(sources, block, &self.threads);
        let others = if are_sources {
            None
        } else {
            Some((Bodies::sources(sources, block.nj)?, Bodies::sinks(block.sinks.all())?))
        };
        let bodies = others.as_ref().map_or(places, |(bodies, _)| bodies.positions.len());
        if bodies == 0 || count == 0 {
            self.found.as_mut_slice::<f64>()[..NUMBERS * count].fill(0.0);
            return Ok(());
        }
        if !is_dense && bodies < sources.count() {
            return Err(Error::Unsupported {
                backend: gpu.properties().description.backend.name(),
                forces: format!("trees of the sources at addresses below {} of scattered ones", block.nj),
                allowed: "trees of all sources, or of addresses without large gaps".into(),
            });
        }
        let (order, criterion) = order_and_criterion(accuracy);
        let mass_factor = block.units.mass_factor();
        let given = Given {
            memory: octets.address(),
            layout: layout_of_octets(interaction),
            places,
            bodies,
            mass_factor,
            softening2,
            frame: None,
        };
        let asked = Asked {
            order,
            criterion,
            softening2,
            mass_factor,
            skip_own: are_sources && block.skip_own_index,
            adds: false,
        };
        // SAFETY: the octets have as many chunks, sinks and results have room for all, and all work
        // is waited for.
        unsafe {
            let wanted = (places, bodies, softening2, mass_factor);
            if self.built != Some(wanted) {
                self.built = None;
                self.sources.build(on, &given)?;
            }
            let sinks = match &others {
                Some((_, sinks)) => {
                    self.build_sinks(on, sinks, softening2)?;
                    self.sinks.as_mut()
                }
                None => None,
            };
            let sinks = match sinks {
                Some(tree) => {
                    tree.sum_moments(on, order, criterion)?;
                    Some(&*tree)
                }
                None => None,
            };
            self.sources.sum_moments(on, order, criterion)?;
            self.forces.sum(on, &mut self.sources, sinks, &asked, self.results.address())?;
            if self.sources.has_negative() {
                self.sources.turn_masses(on, &Given { mass_factor: -mass_factor, ..given })?;
                self.sources.sum_moments(on, order, criterion)?;
                // The tree has other masses now.
                self.built = None;
                let asked = Asked { mass_factor: -mass_factor, adds: true, ..asked };
                self.forces.sum(on, &mut self.sources, sinks, &asked, self.results.address())?;
            }
            if !self.sources.has_negative() {
                self.built = Some(wanted);
            }
            gpu.copy(queue, Place::Device(&self.results, 0), Place::Host(self.found.as_mut_ptr()), bytes)?;
        }
        gpu.synchronize(queue)?;
        if let Some((bodies, sinks)) = others.filter(|_| block.skip_own_index) {
            let forces = &mut self.found.as_mut_slice()[..NUMBERS * count];
            bodies.leave_out_own(&sinks, softening2, forces)?;
        }
        Ok(())
    }

    /// Builds the tree of sinks in the units of that of sources.
    ///
    /// # Safety
    /// No work is under way.
    unsafe fn build_sinks(&mut self, on: (&G, &G::Queue), sinks: &Bodies, softening2: f64) -> Result<()> {
        let (gpu, queue) = on;
        let positions: &[u8] = bytemuck::cast_slice(&sinks.positions);
        let count = sinks.positions.len();
        let bytes = positions.len() + 8 * count;
        if self.of_sinks.bytes() < bytes {
            self.of_sinks = gpu.allocate(bytes + bytes / 4, "sinks")?;
        }
        let layout = BodyLayout::columns(0, positions.len() as i64);
        let masses = memory::filled(count, 0.0f64, "sinks")?;
        // SAFETY: the memory has room for both, and the copies are waited for.
        unsafe {
            let from = Place::Host(positions.as_ptr().cast_mut());
            gpu.copy(queue, from, Place::Device(&self.of_sinks, 0), positions.len())?;
            let from = Place::Host(masses.as_ptr().cast_mut().cast());
            gpu.copy(queue, from, Place::Device(&self.of_sinks, positions.len()), 8 * count)?;
        }
        gpu.synchronize(queue)?;
        let tree = match &mut self.sinks {
            Some(tree) => tree,
            none => none.insert(Tree::new(gpu)?),
        };
        let frame = Some(self.sources.frame());
        let memory = self.of_sinks.address();
        let given = Given { memory, layout, places: count, bodies: count, mass_factor: 1.0, softening2, frame };
        // SAFETY: the caller's promise.
        unsafe { tree.build(on, &given) }
    }
}
