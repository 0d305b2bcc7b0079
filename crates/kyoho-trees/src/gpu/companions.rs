//! Companions: other devices that have the tree of the same sources, and sum the forces on a share
//! of them.
//!
//! The first device packs positions and masses, which the companions copy and sort as it does, so
//! that all have the same cells. A share is a range of the sorted bodies, rounded to the largest
//! cells of sinks. The forces on a cell of sinks follow from that cell and the sources alone, so
//! that no division into shares changes a bit, and shares may follow from the time that each device
//! took before. A companion brings its forces to the first device while that one still sums.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Instant;

use bytemuck::bytes_of;

use super::block::sum_by_cells;
use super::builder::{Built, Given, Tree};
use super::constants::{BodyLayout, KEY_THREADS, PACKED_BYTES};
use super::forces::{Asked, Forces, ForcesOn, Share};
use super::kernels::{ShareKernels, launch_after_copies};
use super::shares::{Shares, Times};
use kyoho_core::{Error, Result};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Event, Gpu};
use kyoho_hal::grow_buffer::GrowBuffer;

/// Another device.
pub(super) struct Companion<G: Gpu> {
    bodies: GrowBuffer<G>,
    tree: Tree<G>,
    pub(super) forces: Forces<G>,
    /// The forces of its share.
    share: GrowBuffer<G>,
    queue: G::Queue,
    gpu: G,
    on_first: OnFirst<G>,
}

/// The part of a companion that is on the first device.
struct OnFirst<G: Gpu> {
    kernels: ShareKernels<G>,
    /// The forces of its share.
    share: GrowBuffer<G>,
    queue: G::Queue,
}

/// Bodies that the first device packs for its companions.
struct Packed<'a, G: Gpu> {
    memory: &'a G::Memory,
    /// Its work on them.
    done: G::Event,
}

/// The companions of a device.
pub struct Companions<G: Gpu> {
    pub(super) all: Vec<Companion<G>>,
    /// The bodies of their trees, as long as the sources are those that they were built from.
    built: Option<Built>,
    kernels: ShareKernels<G>,
    packed: GrowBuffer<G>,
    shares: Shares,
}

impl<G: Gpu> Companion<G> {
    fn new(first: &G, gpu: G) -> Result<Companion<G>> {
        let on_first = OnFirst {
            kernels: ShareKernels::new(first)?,
            share: GrowBuffer::new(first, "trees")?,
            queue: first.queue()?,
        };
        let _caller = gpu.enter()?;
        let room = || GrowBuffer::new(&gpu, "trees");
        Ok(Companion {
            bodies: room()?,
            tree: Tree::new(&gpu)?,
            forces: Forces::new(&gpu)?,
            share: room()?,
            queue: gpu.queue()?,
            gpu,
            on_first,
        })
    }

    /// Sums the forces on its share, after it has built the tree of packed bodies, if there are any.
    /// The forces come to the places in `to` that the first device says, once its own tree is ready.
    ///
    /// # Safety
    /// The first device has as many bodies as are given, and room for their forces, and no other
    /// work on the places of this share, until this returns.
    unsafe fn sum(
        &mut self,
        (first, packed): (&G, Option<&Packed<G>>),
        (given, asked): (&Given<Address<G>>, &Asked),
        (to, numbers): (Address<G>, &Receiver<Address<G>>),
    ) -> Result<Times> {
        let begun = Instant::now();
        // SAFETY: the caller's promise.
        let (sinks, ready) = unsafe { self.sum_share((first, packed), given, asked)? };
        // Without them the first device has failed, whose error counts.
        if let (Ok(numbers), false) = (numbers.recv(), sinks.is_empty()) {
            // SAFETY: as above.
            unsafe { self.on_first.take(first, (&self.gpu, &self.share), sinks, (numbers, to))? };
        }
        Ok(Times { ready, seconds: begun.elapsed().as_secs_f64() - ready })
    }

    /// Sums the forces on its share. Returns which of the sorted bodies have these, and after how many
    /// seconds it had its tree.
    ///
    /// # Safety
    /// As for [`Companion::sum`].
    unsafe fn sum_share(
        &mut self,
        (first, packed): (&G, Option<&Packed<G>>),
        given: &Given<Address<G>>,
        asked: &Asked,
    ) -> Result<(Range<usize>, f64)> {
        let begun = Instant::now();
        let _caller = self.gpu.enter()?;
        let (on, bytes) = ((&self.gpu, &self.queue), PACKED_BYTES * given.bodies);
        self.bodies.ensure_capacity(&self.gpu, bytes)?;
        self.share.ensure_capacity(&self.gpu, bytes)?;
        let given = Given { memory: self.bodies.0.address(), ..*given };
        // SAFETY: the caller's promise; there is room for all bodies, and all work is waited for.
        let mut sum = || unsafe {
            if let Some(Packed { memory, done }) = packed {
                done.wait()?;
                self.gpu.copy_from_other(&self.queue, (first, memory), &self.bodies.0, bytes)?;
                self.tree.build(on, &given)?;
            }
            let ready = begun.elapsed().as_secs_f64();
            let to = self.share.0.address();
            let sinks = sum_by_cells(on, (&mut self.tree, &mut self.forces), &ForcesOn::All, (&given, asked), to)?;
            Ok((sinks, ready))
        };
        let sum = sum();
        // After an error too the other device's memory is read no more.
        let ended = self.gpu.synchronize(&self.queue);
        sum.and_then(|sum| ended.map(|()| sum))
    }
}

impl<G: Gpu> OnFirst<G> {
    /// Copies the forces on some of the sorted bodies from a companion, whose work has ended, and
    /// writes them to the places of their numbers.
    ///
    /// # Safety
    /// The memories have so many forces and numbers, and a place for each number.
    unsafe fn take(
        &mut self,
        first: &G,
        (companion, forces): (&G, &GrowBuffer<G>),
        sinks: Range<usize>,
        (numbers, to): (Address<G>, Address<G>),
    ) -> Result<()> {
        let _caller = first.enter()?;
        let bytes = PACKED_BYTES * sinks.len();
        if self.share.0.bytes() < bytes {
            // Shares differ a little from one call to the next.
            self.share.ensure_capacity(first, bytes + bytes / 8)?;
        }
        let [begin, count] = [sinks.start, sinks.len()].map(|number| number as u32);
        let arguments = [
            self.share.at(),
            Argument::Memory(numbers),
            Argument::Memory(to),
            Argument::Bytes(bytes_of(&begin)),
            Argument::Bytes(bytes_of(&count)),
        ];
        let shape = (sinks.len().div_ceil(KEY_THREADS), KEY_THREADS);
        // SAFETY: the caller's promise; all work is waited for.
        let begun = unsafe {
            first.copy_from_other(&self.queue, (companion, &forces.0), &self.share.0, bytes).and_then(|()| {
                launch_after_copies((first, &self.queue), &mut self.kernels.take_share, shape, &arguments)
            })
        };
        let ended = first.synchronize(&self.queue);
        begun.and(ended)
    }
}

impl<G: Gpu> Companions<G> {
    /// Opens the devices of these numbers. Returns none where there are none, or where copies
    /// between them and the first one would have to go by the host.
    pub fn open(first: &G, numbers: &[usize]) -> Result<Option<Companions<G>>> {
        let others = numbers.iter().map(|number| first.open_other(*number)).collect::<Result<Vec<G>>>()?;
        if others.is_empty() || !others.iter().all(|other| other.reaches(first) && first.reaches(other)) {
            return Ok(None);
        }
        log::debug!("devices {numbers:?} of the backend share the forces by a tree");
        let all = others.into_iter().map(|other| Companion::new(first, other)).collect::<Result<Vec<_>>>()?;
        Ok(Some(Companions {
            shares: Shares::new(1 + all.len()),
            all,
            built: None,
            kernels: ShareKernels::new(first)?,
            packed: GrowBuffer::new(first, "trees")?,
        }))
    }

    /// Forgets the trees of sources that have changed.
    pub fn forget(&mut self) {
        self.built = None;
    }

    /// Sums the forces of bodies on themselves, together with the first device: `first` gets the
    /// packed bodies, sees to its tree, hands in the numbers of the sorted bodies, and sums the forces
    /// on its share. Returns false where a companion failed; then some forces are missing.
    ///
    /// # Safety
    /// As for [`Forces::sum`] and [`Tree::build`]; the bodies have no gaps.
    pub unsafe fn sum(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (given, asked): (&Given<Address<G>>, &Asked),
        to: Address<G>,
        first: impl FnOnce(&Given<Address<G>>, &Asked, &dyn Fn(Address<G>)) -> Result<Times>,
    ) -> Result<bool> {
        let built = given.built();
        let is_new = self.built.take() != Some(built);
        let packed = if is_new {
            self.packed.ensure_capacity(gpu, PACKED_BYTES * given.bodies)?;
            // SAFETY: the caller's promise; there is room for the bodies.
            let done = unsafe { pack((gpu, queue), &mut self.kernels, given, &self.packed)? };
            Some(Packed { memory: &self.packed.0, done })
        } else {
            None
        };
        let memory = self.packed.0.address();
        let given = &Given { memory, layout: BodyLayout::PACKED, places: given.bodies, to_pack: None, ..*given };
        let borders = self.shares.borders(given.bodies, is_new);
        let asked_of = |device: usize| {
            let [begin, end] = [borders[device], borders[device + 1]];
            Asked { share: Some(Share { begin, end, is_sorted: device > 0 }), ..*asked }
        };
        let asked: Vec<Asked> = (0..=self.all.len()).map(asked_of).collect();
        let packed = packed.as_ref();
        let (of_first, of_others) = scope(|scope| {
            let begin = |(companion, asked)| {
                let companion: &mut Companion<G> = companion;
                let (tell, numbers) = channel();
                // SAFETY: the bodies are packed, and stay so until all have ended.
                let work = move || unsafe { companion.sum((gpu, packed), (given, asked), (to, &numbers)) };
                (tell, Builder::new().name("kyoho-companion".into()).spawn_scoped(scope, work))
            };
            let (tell, threads): (Vec<_>, Vec<_>) = self.all.iter_mut().zip(&asked[1..]).map(begin).unzip();
            // A companion that has failed asks for no numbers.
            let of_first = first(given, &asked[0], &|numbers| tell.iter().for_each(|to| _ = to.send(numbers)));
            drop(tell);
            let end = |thread: std::io::Result<ScopedJoinHandle<_>>| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(error) => Err(Error::Internal { what: format!("a thread could not be started: {error}") }),
            };
            (of_first, threads.into_iter().map(end).collect::<Result<Vec<_>>>())
        });
        let times_of_first = of_first?;
        let times_of_others = match of_others {
            Ok(times) => times,
            Err(error) => {
                log::warn!("forces by a tree are left to the first device of a system: {error}");
                return Ok(false);
            }
        };
        let times: Vec<Times> = [times_of_first].into_iter().chain(times_of_others).collect();
        self.shares.balance(&times, &borders, is_new);
        // The forces of negative masses need other masses in the trees.
        self.built = Some(built).filter(|_| !self.all.iter().any(|companion| companion.tree.has_negative()));
        Ok(true)
    }
}

/// Begins to pack bodies on the first device, and returns where this ends.
///
/// # Safety
/// As for [`Tree::build`]; there is room for the bodies.
unsafe fn pack<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    kernels: &mut ShareKernels<G>,
    given: &Given<Address<G>>,
    packed: &GrowBuffer<G>,
) -> Result<G::Event> {
    let count = given.bodies as u32;
    let arguments = [
        Argument::Bytes(bytes_of(&given.layout)),
        Argument::Memory(given.memory),
        packed.at(),
        Argument::Bytes(bytes_of(&count)),
    ];
    let shape = (given.bodies.div_ceil(KEY_THREADS), KEY_THREADS);
    // SAFETY: the caller's promise.
    unsafe { launch_after_copies((gpu, queue), &mut kernels.pack_bodies, shape, &arguments)? };
    gpu.record(queue)
}
