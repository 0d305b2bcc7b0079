//! Work on arrays of callers, with the memory that it needs.

use std::ops::Range;

use bytemuck::cast_slice;

use kyoho_core::sinks::{self, SinkScan};
use kyoho_core::units::{Census, SIZES};
use kyoho_core::{
    BodyColumns, DeviceArray, DeviceBodies, DeviceForces, Error, Interaction, MAX_DERIVATIVES, Result, memory,
};
use kyoho_hal::fetched::Fetched;
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, Place};
use kyoho_lists::gpu::groups::{Groups, SUMS_OF_GROUPS};
use kyoho_lists::gpu::plan::LIST_COUNTS;
use kyoho_lists::gpu::units::UnitsOfGroups;
use kyoho_methods::device_arrays::{Check, MOST_CHECKS, Motion, MovingPlaces, Taken};
use kyoho_methods::gpu::columns::{On, PieceResults, bounds, columns};
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::ListGroup;
use kyoho_methods::gpu::tuning;

use super::kernels::{ADDRESS_RUN, Kernels, MOST_BLOCKS};

/// The integers that a search finds: a number, and whether there is a radius.
pub const FLAGS: usize = 2;
/// The place, among the integers that kernels find, of the counts of groups, behind what each check
/// finds.
pub const GROUP_COUNTS: usize = (MOST_CHECKS * FLAGS).next_multiple_of(4);
/// The place of the sums of each thread block that makes groups.
pub const GROUP_SUMS: usize = GROUP_COUNTS + (2 * LIST_COUNTS).next_multiple_of(4);
/// The bytes of what all checks find.
const ALL_FOUND: usize = GROUP_SUMS * 4 + MOST_BLOCKS * SUMS_OF_GROUPS * 8;
/// The bytes of what checks find but of groups, in front of what else kernels find.
const FLAGS_FOUND: usize = GROUP_COUNTS * 4;
/// The bytes of the largest components that thread blocks find.
const LARGEST: usize = MOST_BLOCKS * MAX_DERIVATIVES * 8;
/// The bytes of the counts of sizes.
const COUNTS: usize = SIZES * size_of::<[u32; 4]>();
/// The kernels for arrays of callers, and memory of the device.
pub struct ArrayWork<G: Gpu> {
    kernels: Kernels<G>,
    /// The findings of the checks under way. Kernels that are waited for at once use the place of the
    /// first.
    flags: G::Memory,
    /// The checks under way.
    checks: Vec<Check>,
    largest: G::Memory,
    counts: G::Memory,
    /// What was found, on the host.
    found: Fetched<G>,
    /// Copies of arrays of the host.
    staging: G::Memory,
}

impl<G: Gpu> ArrayWork<G> {
    /// Loads the kernels and makes room for what they find.
    pub fn new(gpu: &G) -> Result<ArrayWork<G>> {
        let memory = |bytes| gpu.allocate(bytes, "arrays of callers");
        Ok(ArrayWork {
            kernels: Kernels::new(gpu)?,
            flags: memory(ALL_FOUND)?,
            checks: Vec::new(),
            largest: memory(LARGEST)?,
            counts: memory(COUNTS)?,
            found: Fetched::new(gpu, ALL_FOUND.max(FLAGS_FOUND + LARGEST.max(COUNTS)), "arrays of callers")?,
            staging: memory(0)?,
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
        bodies: (MovingPlaces, usize),
        motion: &Motion,
    ) -> Result<()> {
        // SAFETY: the caller's promise; the staging area is only exchanged when nothing uses it.
        unsafe { self.kernels.move_bodies((gpu, queue, self.staging.address()), bodies, motion) }
    }

    /// Begins a check.
    ///
    /// # Safety
    /// The arrays have an element for each body or address, also until the work of the queue has
    /// ended. This holds for the other functions too.
    pub unsafe fn begin_check(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        groups: &mut Groups<G>,
        check: &Check,
    ) -> Result<()> {
        let number = self.checks.len();
        if number == MOST_CHECKS {
            return Err(Error::Internal { what: format!("{MOST_CHECKS} checks are under way") });
        }
        memory::reserve(&mut self.checks, 1, "checks of arrays")?;
        let found = (number, self.flags.address());
        // SAFETY: the caller's promise; what is found is waited for.
        unsafe {
            if number == 0 {
                on.0.zero(on.1, &self.flags, GROUP_SUMS * 4)?;
            }
            match *check {
                Check::Bodies(bodies, count) => {
                    self.kernels.check_bodies(on, (&bodies, count), &bounds(interaction), found)?;
                }
                Check::Addresses(listed) => self.kernels.check_addresses(on, &listed, found)?,
                Check::Groups(given, end) => {
                    let bytes = given.count * size_of::<ListGroup>();
                    if groups.table.bytes() < bytes {
                        groups.table = on.0.allocate(bytes + bytes / 4, "interaction lists")?;
                    }
                    let sinks_of_thread = tuning::of(interaction).list(interaction).sinks;
                    let given = (&given, end, sinks_of_thread);
                    groups.blocks = self.kernels.groups_of_offsets(on, given, groups.table.address(), found)?;
                    groups.has_units = false;
                }
                Check::Sources(bodies) => {
                    if groups.units.bytes() < 12 * bodies.groups {
                        groups.units = on.0.allocate(15 * bodies.groups, "interaction lists")?;
                    }
                    let (sources, own) = bodies.sources;
                    let (sinks, count) =
                        bodies.sinks.map_or((BodyColumns::NONE, 0), |(sinks, count)| (sinks.columns, count));
                    let given = UnitsOfGroups {
                        groups: groups.table.address(),
                        count: bodies.groups,
                        columns: &[columns(&sources.columns), columns(&sinks)],
                        own: (on.2, own),
                        sinks: (on.2, count),
                        is_batch: bodies.sinks.is_none(),
                        units: groups.units.address(),
                    };
                    self.kernels.chooser.choose((on.0, on.1), interaction, &given, Some(found))?;
                    groups.has_units = true;
                }
            }
        }
        self.checks.push(*check);
        Ok(())
    }

    /// Waits for the checks, and returns what each has found: the number of the first wrong body or
    /// group, or of the first [`ADDRESS_RUN`] addresses with a wrong one.
    pub fn finish_checks(
        &mut self,
        on: (&G, &G::Queue),
        groups: &mut Groups<G>,
    ) -> Result<Vec<(Check, Option<usize>)>> {
        let checks = std::mem::take(&mut self.checks);
        let makes_groups = checks.iter().any(|check| matches!(check, Check::Groups(..)));
        let sums = groups.blocks * SUMS_OF_GROUPS;
        let bytes = if makes_groups { GROUP_SUMS * 4 + sums * 8 } else { FLAGS_FOUND };
        let found = self.found.fetch(on, &[(&self.flags, 0..bytes)])?;
        if makes_groups {
            let (flags, sums) = found.split_at(GROUP_SUMS * 4);
            let counts = &cast_slice::<u8, i32>(flags)[GROUP_COUNTS..][..2 * LIST_COUNTS];
            groups.count(counts, cast_slice(sums));
        }
        let found: [Option<usize>; MOST_CHECKS] = std::array::from_fn(|number| found_by(found, number));
        memory::collected(checks.into_iter().zip(found), "checks of arrays")
    }

    /// Takes sinks for a block, and returns their summary and the first that is wrong.
    ///
    /// # Safety
    /// See [`ArrayWork::begin_check`].
    pub unsafe fn take_sinks(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        (given, count, softening2): (&DeviceBodies, usize, f64),
        to: &mut G::Memory,
    ) -> Result<(SinkScan, Option<usize>)> {
        let width = sinks::width(interaction);
        if to.bytes() < count * width * 8 {
            *to = on.0.allocate(count * width * 8 + count * width, "sinks")?;
        }
        let memory = [to.address(), self.flags.address(), self.largest.address()];
        let how = (interaction.n_derivatives, width, &bounds(interaction));
        // SAFETY: the caller's promise; what is found is waited for.
        let blocks = unsafe {
            on.0.zero(on.1, &self.flags, FLAGS * 4)?;
            self.kernels.pack_sinks(on, (given, count, softening2), how, memory)?
        };
        let from = [(&self.flags, 0..FLAGS * 4), (&self.largest, 0..blocks * MAX_DERIVATIVES * 8)];
        let (flags, largest) = self.found.fetch((on.0, on.1), &from)?.split_at(FLAGS * 4);
        let bad = found_by(flags, 0);
        let mut scan = SinkScan {
            good: bad.is_none(),
            radius: cast_slice::<u8, i32>(flags)[1] > 0,
            // The device does not look for them: they may be any.
            softening2: [f64::NEG_INFINITY, f64::INFINITY],
            ..SinkScan::NOTHING
        };
        if interaction.bounds.scales_lengths {
            for of_block in cast_slice::<u8, f64>(largest).as_chunks::<MAX_DERIVATIVES>().0 {
                scan.largest = std::array::from_fn(|k| scan.largest[k].max(of_block[k]));
            }
        }
        Ok((scan, bad))
    }

    /// Whether sinks are the sources at their numbers, which the device has in chunks whose slots are
    /// their numbers; their indices too, if those are compared.
    ///
    /// # Safety
    /// See [`ArrayWork::begin_check`]; the store has as many sources.
    pub unsafe fn sinks_are_sources(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        (sinks, count, with_indices): (&DeviceBodies, usize, bool),
        store: &StoreAddresses<Address<G>>,
    ) -> Result<bool> {
        let sources = (store, interaction.n_coefficients, with_indices);
        // SAFETY: the caller's promise; what is found is waited for.
        unsafe {
            on.0.zero(on.1, &self.flags, FLAGS * 4)?;
            self.kernels.compare_sinks(on, (sinks, count), sources, self.flags.address())?;
        }
        Ok(self.found_number((on.0, on.1))?.is_none())
    }

    /// Puts sources where the device keeps them, and counts their sizes. Where they are checked and
    /// one is wrong, it writes nothing.
    ///
    /// # Safety
    /// See [`ArrayWork::begin_check`]; the store has room for them.
    pub unsafe fn take_sources(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        (sources, count, checks): (&DeviceBodies, usize, bool),
        store: &StoreAddresses<Address<G>>,
    ) -> Result<Taken> {
        let (given, n_coefficients) = ((sources, count), interaction.n_coefficients);
        let flags = self.flags.address();
        // SAFETY: the caller's promise; what is found and the counts are waited for.
        unsafe {
            on.0.zero(on.1, &self.flags, FLAGS_FOUND)?;
            on.0.zero(on.1, &self.counts, COUNTS)?;
            if count > 0 {
                if checks {
                    self.kernels.check_bodies(on, given, &bounds(interaction), (0, flags))?;
                }
                self.kernels.pack_sources(on, given, n_coefficients, flags, store)?;
                self.kernels.count_sizes(on, given, n_coefficients, self.counts.address())?;
            }
        }
        let from = [(&self.flags, 0..FLAGS_FOUND), (&self.counts, 0..COUNTS)];
        let (flags, counts) = self.found.fetch((on.0, on.1), &from)?.split_at(FLAGS_FOUND);
        if let Some(number) = found_by(flags, 0) {
            return Ok(Taken::None(number));
        }
        let counts = cast_slice::<u8, [u32; 4]>(counts).iter().copied();
        Ok(Taken::All(Census::of_counts(memory::collected(counts, "the sizes of sources")?)))
    }

    /// Writes the forces of some pieces to arrays of the caller, and returns whether all sums are
    /// finite.
    ///
    /// # Safety
    /// See [`ArrayWork::begin_check`].
    pub unsafe fn write_forces(
        &mut self,
        on: On<G>,
        interaction: &Interaction,
        pieces: &[PieceResults<Address<G>>],
        forces: &DeviceForces,
    ) -> Result<bool> {
        let (n_outputs, found) = (interaction.n_outputs, self.flags.address());
        // SAFETY: the caller's promise; all is waited for.
        unsafe {
            on.0.zero(on.1, &self.flags, FLAGS * 4)?;
            for piece in pieces.iter().copied().filter(|piece| piece.sinks > 0) {
                self.kernels.write_forces(on, piece, n_outputs, forces, found)?;
            }
        }
        Ok(self.found_number((on.0, on.1))?.is_none())
    }

    /// Waits for what a kernel has found: the number of the first wrong item.
    fn found_number(&mut self, on: (&G, &G::Queue)) -> Result<Option<usize>> {
        Ok(found_by(self.found.fetch(on, &[(&self.flags, 0..FLAGS * 4)])?, 0))
    }
}

/// Returns the number of the first wrong item of a check, among what was fetched.
fn found_by(fetched: &[u8], check: usize) -> Option<usize> {
    match cast_slice::<u8, i32>(fetched)[FLAGS * check] {
        0 => None,
        found => Some((i32::MAX - found) as usize),
    }
}

/// Returns the first place of an address that is not below `end` in a run that has one.
///
/// # Safety
/// The array is packed and has as many elements.
pub unsafe fn bad_address<G: Gpu>(
    on: On<G>,
    (addresses, count): (&DeviceArray, usize),
    run: usize,
    end: usize,
) -> Result<Option<usize>> {
    let first = run * ADDRESS_RUN;
    let mut some = [0i32; ADDRESS_RUN];
    let some = &mut some[..(count - first).min(ADDRESS_RUN)];
    // SAFETY: the caller's promise.
    unsafe { read(on, addresses.row(first), bytemuck::cast_slice_mut(some))? };
    Ok(some.iter().position(|address| address.cast_unsigned() as usize >= end).map(|place| first + place))
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
