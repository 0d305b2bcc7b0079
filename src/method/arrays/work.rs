//! Work on arrays of callers, with the memory that it needs.

use std::ops::Range;

use crate::data::sinks::{self, SinkScan};
use crate::data::units::{Census, SIZES};
use crate::data::{DeviceArray, DeviceBodies, DeviceForces, Interaction, MAX_DERIVATIVES, Result, memory};
use crate::hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Place};
use crate::method::direct::gpu::launches::StoreAddresses;

use super::Motion;
use super::kernels::{ADDRESS_RUN, Kernels, MOST_BLOCKS, On, PieceResults, bounds};

/// The bytes of what a search finds: a number, and whether there is a radius.
const FLAGS: usize = 8;
/// The bytes of the largest components that thread blocks find.
const LARGEST: usize = MOST_BLOCKS * MAX_DERIVATIVES * 8;
/// The bytes of the counts of sizes.
const COUNTS: usize = SIZES * size_of::<[u32; 4]>();

/// The kernels for arrays of callers, and memory of the device.
pub struct ArrayWork<G: Gpu> {
    kernels: Kernels<G>,
    flags: G::Memory,
    largest: G::Memory,
    counts: G::Memory,
    /// What was found, on the host.
    found: G::HostMemory,
    /// Copies of arrays of the host.
    staging: G::Memory,
    /// The sinks of a block that were taken from arrays of the caller.
    sinks: G::Memory,
    /// Results that stay on the device.
    results: G::Memory,
}

impl<G: Gpu> ArrayWork<G> {
    /// Loads the kernels and makes room for what they find.
    pub fn new(gpu: &G) -> Result<ArrayWork<G>> {
        let memory = |bytes| gpu.allocate(bytes, "arrays of callers");
        Ok(ArrayWork {
            kernels: Kernels::new(gpu)?,
            flags: memory(FLAGS)?,
            largest: memory(LARGEST)?,
            counts: memory(COUNTS)?,
            found: gpu.allocate_host(FLAGS + LARGEST.max(COUNTS), "arrays of callers")?,
            staging: memory(0)?,
            sinks: memory(0)?,
            results: memory(0)?,
        })
    }

    /// Returns the bytes of host memory.
    pub fn bytes(&self) -> usize {
        self.found.bytes()
    }

    /// Returns the staging area.
    pub fn staging(&self) -> &G::Memory {
        &self.staging
    }

    /// Begins to copy a part of the host's memory to the same bytes of the staging area.
    ///
    /// # Safety
    /// The memory stays there, and the part is not written, until the queue has done the work.
    pub unsafe fn stage(&mut self, (gpu, queue): (&G, &G::Queue), memory: &[u8], part: Range<usize>) -> Result<()> {
        if self.staging.bytes() < memory.len() {
            gpu.synchronize(queue)?;
            self.staging = gpu.allocate(memory.len(), "the staging area")?;
        }
        let bytes = &memory[part.clone()];
        let from = Place::Host(bytes.as_ptr().cast_mut());
        // SAFETY: the caller's promise; the staging area is as long as the memory.
        unsafe { gpu.copy(queue, from, Place::Device(&self.staging, part.start), bytes.len()) }
    }

    /// Copies a part of the staging area to the same bytes of the host's memory, and waits.
    ///
    /// # Safety
    /// The staging area is as long as the memory.
    pub unsafe fn fetch_staged(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        memory: &mut [u8],
        part: Range<usize>,
    ) -> Result<()> {
        let bytes = &mut memory[part.clone()];
        let to = Place::Host(bytes.as_mut_ptr());
        // SAFETY: the caller's promise; the copy is waited for.
        unsafe { gpu.copy(queue, Place::Device(&self.staging, part.start), to, bytes.len())? };
        gpu.synchronize(queue)
    }

    /// Moves bodies in the staging area.
    ///
    /// # Safety
    /// The staging area has their components.
    pub unsafe fn move_bodies(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        bodies: ([usize; 3], usize),
        motion: &Motion,
    ) -> Result<()> {
        // SAFETY: the caller's promise; the staging area is only exchanged when nothing uses it.
        unsafe { self.kernels.move_bodies((gpu, queue, self.staging.address()), bodies, motion) }
    }

    /// Returns the sinks that were taken.
    pub fn sinks(&self) -> &G::Memory {
        &self.sinks
    }

    /// Returns memory of the device for this many bytes of results.
    pub fn results(&mut self, gpu: &G, bytes: usize) -> Result<&G::Memory> {
        if self.results.bytes() < bytes {
            self.results = gpu.allocate(bytes + bytes / 4, "results")?;
        }
        Ok(&self.results)
    }

    /// Returns the first of some bodies that is not within the bounds of an interaction.
    ///
    /// # Safety
    /// The arrays have an element for each body. This holds for the other functions too.
    pub unsafe fn find_bad_body(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        (bodies, count): (&DeviceBodies, usize),
    ) -> Result<Option<usize>> {
        let found = self.flags.address();
        // SAFETY: the caller's promise; what is found is waited for.
        unsafe {
            on.0.zero(on.1, &self.flags, FLAGS)?;
            self.kernels.check_bodies(on, (bodies, count), &bounds(interaction), found)?;
            self.found_number((on.0, on.1))
        }
    }

    /// Returns the first place of an address that is not below `end`.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`].
    pub unsafe fn find_bad_address(
        &mut self,
        on: On<G>,
        (addresses, count): (&DeviceArray, usize),
        end: usize,
    ) -> Result<Option<usize>> {
        // SAFETY: the caller's promise.
        let Some(run) = (unsafe { self.find_bad_run(on, (addresses, count), end)? }) else { return Ok(None) };
        let first = run * ADDRESS_RUN;
        let mut some = [0i32; ADDRESS_RUN];
        let some = &mut some[..(count - first).min(ADDRESS_RUN)];
        // SAFETY: the caller's promise; the array is packed.
        unsafe { read(on, addresses.row(first), bytemuck::cast_slice_mut(some))? };
        Ok(some.iter().position(|address| address.cast_unsigned() as usize >= end).map(|place| first + place))
    }

    /// Returns the number of the first [`ADDRESS_RUN`] addresses with one that is not below `end`.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`].
    pub(super) unsafe fn find_bad_run(
        &mut self,
        on: On<G>,
        (addresses, count): (&DeviceArray, usize),
        end: usize,
    ) -> Result<Option<usize>> {
        let found = self.flags.address();
        // SAFETY: the caller's promise; what is found is waited for.
        unsafe {
            on.0.zero(on.1, &self.flags, FLAGS)?;
            self.kernels.check_addresses(on, (addresses, count), end, found)?;
            self.found_number((on.0, on.1))
        }
    }

    /// Takes sinks for a block, and returns their summary and the first that is wrong.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`].
    pub unsafe fn take_sinks(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        (given, count, softening2): (&DeviceBodies, usize, f64),
    ) -> Result<(SinkScan, Option<usize>)> {
        let width = sinks::width(interaction);
        if self.sinks.bytes() < count * width * 8 {
            self.sinks = on.0.allocate(count * width * 8 + count * width, "sinks")?;
        }
        let memory = [self.sinks.address(), self.flags.address(), self.largest.address()];
        let how = (interaction.n_derivatives, width, &bounds(interaction));
        // SAFETY: the caller's promise; what is found is waited for.
        let (blocks, bad) = unsafe {
            on.0.zero(on.1, &self.flags, FLAGS)?;
            let blocks = self.kernels.pack_sinks(on, (given, count, softening2), how, memory)?;
            let to = Place::Host(self.found.as_mut_ptr().wrapping_add(FLAGS));
            on.0.copy(on.1, Place::Device(&self.largest, 0), to, blocks * MAX_DERIVATIVES * 8)?;
            (blocks, self.found_number((on.0, on.1))?)
        };
        let mut scan = SinkScan {
            good: bad.is_none(),
            radius: self.found.as_slice::<i32>()[1] > 0,
            // The device does not look for them: they may be any.
            softening2: [f64::NEG_INFINITY, f64::INFINITY],
            ..SinkScan::NOTHING
        };
        if interaction.bounds.scales_lengths {
            let largest = &self.found.as_slice::<f64>()[FLAGS / 8..][..blocks * MAX_DERIVATIVES];
            for of_block in largest.as_chunks::<MAX_DERIVATIVES>().0 {
                scan.largest = std::array::from_fn(|k| scan.largest[k].max(of_block[k]));
            }
        }
        Ok((scan, bad))
    }

    /// Whether the sinks that were taken are the sources at their numbers, which the device has in
    /// chunks whose slots are their numbers; their indices too, if those are compared.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`]; the store has as many sources.
    pub unsafe fn sinks_are_sources(
        &mut self,
        (gpu, queue): (&G, &G::Queue),
        interaction: &Interaction,
        (count, with_indices): (usize, bool),
        store: &StoreAddresses<Address<G>>,
    ) -> Result<bool> {
        let sinks = (self.sinks.address(), sinks::width(interaction), count);
        let sources = (store, interaction.n_coefficients, with_indices);
        // SAFETY: the caller's promise; what is found is waited for.
        unsafe {
            gpu.zero(queue, &self.flags, FLAGS)?;
            self.kernels.compare_sinks((gpu, queue), sinks, sources, self.flags.address())?;
            Ok(self.found_number((gpu, queue))?.is_none())
        }
    }

    /// Puts sources where the device keeps them, and counts their sizes.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`]; the store has room for them.
    pub unsafe fn take_sources(
        &mut self,
        on: On<G>,
        n_coefficients: usize,
        (sources, count): (&DeviceBodies, usize),
        store: &StoreAddresses<Address<G>>,
    ) -> Result<Census> {
        // SAFETY: the caller's promise; the counts are waited for.
        unsafe {
            on.0.zero(on.1, &self.counts, COUNTS)?;
            if count > 0 {
                self.kernels.pack_sources(on, (sources, count), n_coefficients, store)?;
                self.kernels.count_sizes(on, (sources, count), n_coefficients, self.counts.address())?;
            }
            on.0.copy(on.1, Place::Device(&self.counts, 0), Place::Host(self.found.as_mut_ptr()), COUNTS)?;
        }
        on.0.synchronize(on.1)?;
        let counts = self.found.as_slice::<[u32; 4]>()[..SIZES].iter().copied();
        Ok(Census::of_counts(memory::collected(counts, "the sizes of sources")?))
    }

    /// Writes the forces of some pieces to arrays of the caller, and returns true; unless a sum is
    /// not finite.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`].
    pub unsafe fn write_forces(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        pieces: &[PieceResults<Address<G>>],
        forces: &DeviceForces,
    ) -> Result<bool> {
        let (n_outputs, found) = (interaction.n_outputs, self.flags.address());
        let filled = || pieces.iter().copied().filter(|piece| piece.sinks > 0);
        // SAFETY: the caller's promise; all is waited for.
        unsafe {
            on.0.zero(on.1, &self.flags, FLAGS)?;
            for piece in filled() {
                self.kernels.check_forces((on.0, on.1), piece, n_outputs, found)?;
            }
            // No wait between: it would take longer than the kernels.
            for piece in filled() {
                self.kernels.write_forces(on, piece, n_outputs, forces, found)?;
            }
            Ok(self.found_number((on.0, on.1))?.is_none())
        }
    }

    /// Waits for what kernels have found: the number of the first wrong item.
    ///
    /// # Safety
    /// See [`ArrayWork::find_bad_body`].
    unsafe fn found_number(&mut self, (gpu, queue): (&G, &G::Queue)) -> Result<Option<usize>> {
        // SAFETY: both memories are that long; the copy is waited for.
        unsafe { gpu.copy(queue, Place::Device(&self.flags, 0), Place::Host(self.found.as_mut_ptr()), FLAGS)? };
        gpu.synchronize(queue)?;
        let found = self.found.as_slice::<i32>()[0];
        Ok((found > 0).then(|| (i32::MAX - found) as usize))
    }
}

/// Copies bytes of the caller's memory, and waits for them.
///
/// # Safety
/// The memory has as many bytes from the address on.
pub unsafe fn read<G: Gpu>((gpu, queue, _): On<G>, address: u64, to: &mut [u8]) -> Result<()> {
    if !to.is_empty() {
        // SAFETY: the caller's promise; the copy is waited for.
        unsafe { gpu.copy(queue, Place::Caller(address), Place::Host(to.as_mut_ptr()), to.len())? };
    }
    gpu.synchronize(queue)
}
