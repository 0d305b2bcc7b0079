//! Companions: other devices that have the tree of the same sources, and sum the forces on a share
//! of them.
//!
//! The first device packs positions and masses, which the companions copy and sort as it does, so
//! that all have the same cells. A share is a range of the sorted bodies, rounded to the largest
//! cells of sinks. The forces on a cell of sinks follow from that cell and the sources alone, so
//! that no division into shares changes a bit, and shares may follow from the time that each device
//! took before.

use std::ops::Range;
use std::panic::resume_unwind;
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
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Gpu};
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
}

/// The companions of a device.
pub struct Companions<G: Gpu> {
    pub(super) all: Vec<Companion<G>>,
    /// The bodies of their trees, as long as the sources are those that they were built from.
    built: Option<Built>,
    kernels: ShareKernels<G>,
    packed: GrowBuffer<G>,
    /// The forces of the share of one of them.
    share: GrowBuffer<G>,
    shares: Shares,
}

impl<G: Gpu> Companion<G> {
    fn new(gpu: G) -> Result<Companion<G>> {
        let _caller = gpu.enter()?;
        let room = || GrowBuffer::new(&gpu, "trees");
        Ok(Companion {
            bodies: room()?,
            tree: Tree::new(&gpu)?,
            forces: Forces::new(&gpu)?,
            share: room()?,
            queue: gpu.queue()?,
            gpu,
        })
    }

    /// Sums the forces on its share, after it has built the tree of packed bodies, if there are any.
    /// Returns which of the sorted bodies have these forces.
    ///
    /// # Safety
    /// The memory of the other device has as many bodies as are given, and is not written to until
    /// this returns.
    unsafe fn sum(
        &mut self,
        packed: Option<(&G, &G::Memory)>,
        given: &Given<Address<G>>,
        asked: &Asked,
    ) -> Result<(Range<usize>, Times)> {
        let begun = Instant::now();
        let _caller = self.gpu.enter()?;
        let (on, bytes) = ((&self.gpu, &self.queue), PACKED_BYTES * given.bodies);
        self.bodies.ensure_capacity(&self.gpu, bytes)?;
        self.share.ensure_capacity(&self.gpu, bytes)?;
        let given = Given { memory: self.bodies.0.address(), ..*given };
        // SAFETY: the caller's promise; there is room for all bodies, and all work is waited for.
        let mut sum = || unsafe {
            if let Some(packed) = packed {
                self.gpu.copy_from_other(&self.queue, packed, &self.bodies.0, bytes)?;
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
        let (sinks, ready) = sum.and_then(|sum| ended.map(|()| sum))?;
        Ok((sinks, Times { ready, seconds: begun.elapsed().as_secs_f64() - ready }))
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
        let all = others.into_iter().map(Companion::new).collect::<Result<Vec<_>>>()?;
        Ok(Some(Companions {
            shares: Shares::new(1 + all.len()),
            all,
            built: None,
            kernels: ShareKernels::new(first)?,
            packed: GrowBuffer::new(first, "trees")?,
            share: GrowBuffer::new(first, "trees")?,
        }))
    }

    /// Forgets the trees of sources that have changed.
    pub fn forget(&mut self) {
        self.built = None;
    }

    /// Sums the forces of bodies on themselves, together with the first device: `first` gets the
    /// packed bodies, sees to its tree and sums the forces on its share, and returns the numbers of
    /// the sorted bodies. Returns false where a companion failed; then some forces are missing.
    ///
    /// # Safety
    /// As for [`Forces::sum`] and [`Tree::build`]; the bodies have no gaps.
    pub unsafe fn sum(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        (given, asked): (&Given<Address<G>>, &Asked),
        to: Address<G>,
        first: impl FnOnce(&Given<Address<G>>, &Asked) -> Result<(Address<G>, Times)>,
    ) -> Result<bool> {
        let is_new = self.built.take() != Some(given.built());
        if is_new {
            // SAFETY: the caller's promise.
            unsafe { self.pack((gpu, queue), given)? };
        }
        let memory = self.packed.0.address();
        let given = &Given { memory, layout: BodyLayout::PACKED, places: given.bodies, to_pack: None, ..*given };
        let asked_of = |device: usize| {
            let [begin, end] = self.shares.borders(device, given.bodies);
            Asked { share: Some(Share { begin, end, is_sorted: device > 0 }), ..*asked }
        };
        let asked: Vec<Asked> = (0..=self.all.len()).map(asked_of).collect();
        let packed = is_new.then_some((gpu, &self.packed.0));
        let (of_first, of_others) = scope(|scope| {
            let begin = |(companion, asked)| {
                let companion: &mut Companion<G> = companion;
                // SAFETY: the bodies are packed, and stay so until all have ended.
                let work = move || unsafe { companion.sum(packed, given, asked) };
                Builder::new().name("kyoho-companion".into()).spawn_scoped(scope, work)
            };
            let threads: Vec<_> = self.all.iter_mut().zip(&asked[1..]).map(begin).collect();
            let of_first = first(given, &asked[0]);
            let end = |thread: std::io::Result<ScopedJoinHandle<_>>| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(error) => Err(Error::Internal { what: format!("a thread could not be started: {error}") }),
            };
            (of_first, threads.into_iter().map(end).collect::<Vec<_>>())
        });
        let (numbers, times_of_first) = of_first?;
        let mut times = vec![times_of_first];
        for (companion, outcome) in self.all.iter().zip(of_others) {
            let begun = Instant::now();
            // SAFETY: the companion has ended, and has these forces; there is room for them.
            let taken = outcome.and_then(|(sinks, times)| unsafe {
                self.share.ensure_capacity(gpu, PACKED_BYTES * sinks.len())?;
                let from = (&companion.gpu, &companion.share.0);
                gpu.copy_from_other(queue, from, &self.share.0, PACKED_BYTES * sinks.len())?;
                take_share((gpu, queue), &mut self.kernels, (&self.share, sinks), numbers, to)?;
                Ok(times)
            });
            match taken {
                Ok(Times { ready, seconds }) => {
                    times.push(Times { ready, seconds: seconds + begun.elapsed().as_secs_f64() });
                }
                Err(error) => {
                    // The companion's memory is read no more.
                    gpu.synchronize(queue)?;
                    log::warn!("forces by a tree are left to the first device of a system: {error}");
                    return Ok(false);
                }
            }
        }
        self.shares.balance(&times);
        // The forces of negative masses need other masses in the trees.
        self.built = Some(given.built()).filter(|_| !self.all.iter().any(|companion| companion.tree.has_negative()));
        Ok(true)
    }

    /// Packs bodies on the first device.
    ///
    /// # Safety
    /// As for [`Tree::build`].
    unsafe fn pack(&mut self, (gpu, queue): (&G, &G::Queue), given: &Given<Address<G>>) -> Result<()> {
        let count = given.bodies as u32;
        self.packed.ensure_capacity(gpu, PACKED_BYTES * given.bodies)?;
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            self.packed.at(),
            Argument::Bytes(bytes_of(&count)),
        ];
        let shape = (given.bodies.div_ceil(KEY_THREADS), KEY_THREADS);
        // SAFETY: the caller's promise; there is room for the bodies.
        unsafe { launch_after_copies((gpu, queue), &mut self.kernels.pack_bodies, shape, &arguments)? };
        gpu.synchronize(queue)
    }
}

/// Writes the forces on some of the sorted bodies to the places of their numbers.
///
/// # Safety
/// The memories have so many forces and numbers, and a place for each number.
unsafe fn take_share<G: Gpu>(
    on: (&G, &G::Queue),
    kernels: &mut ShareKernels<G>,
    (share, sinks): (&GrowBuffer<G>, Range<usize>),
    numbers: Address<G>,
    to: Address<G>,
) -> Result<()> {
    if sinks.is_empty() {
        return Ok(());
    }
    let [first, count] = [sinks.start, sinks.len()].map(|number| number as u32);
    let arguments = [
        share.at(),
        Argument::Memory(numbers),
        Argument::Memory(to),
        Argument::Bytes(bytes_of(&first)),
        Argument::Bytes(bytes_of(&count)),
    ];
    let shape = (sinks.len().div_ceil(KEY_THREADS), KEY_THREADS);
    // SAFETY: the caller's promise; the work is waited for.
    unsafe { launch_after_copies(on, &mut kernels.take_share, shape, &arguments)? };
    on.0.synchronize(on.1)
}
