//! What the device does with arrays of callers in its memory.

use std::ops::Range;

use crate::arrays::kernels::{On, PieceResults};
use crate::arrays::work::{self, ArrayWork};
use crate::arrays::{Check, DeviceArrays, MadeGroups, Motion, MovingPlaces, Taken};
use crate::lists::gpu::sums::GroupsOnDevice;
use kyoho_core::sinks::SinkScan;
use kyoho_core::{
    DeviceArray, DeviceBodies, DeviceForces, DevicePlace, Error, InteractionLists, Result, Sums, TakeChunk, memory,
};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, Place};

use super::device::GpuDevice;

/// Returns the device, its first queue, and the argument for memory of callers from address 0 on.
fn on<'a, G: Gpu>(gpu: &'a G, queues: &'a [G::Queue]) -> Result<On<'a, G>> {
    let none = || Error::Internal { what: "callers have no memory on this device".into() };
    Ok((gpu, &queues[0], gpu.address_of_caller(0).ok_or_else(none)?))
}

/// Returns what [`on`] returns for arrays at this place.
fn at<'a, G: Gpu>(gpu: &'a G, queues: &'a [G::Queue], arrays: &ArrayWork<G>, place: &DevicePlace) -> Result<On<'a, G>> {
    if *place == DevicePlace::STAGING { Ok((gpu, &queues[0], arrays.staging().address())) } else { on(gpu, queues) }
}

/// Returns the work on arrays, which is made when it is first needed.
fn ready<'a, G: Gpu>(arrays: &'a mut Option<ArrayWork<G>>, gpu: &G) -> Result<&'a mut ArrayWork<G>> {
    match arrays {
        Some(arrays) => Ok(arrays),
        none => Ok(none.insert(ArrayWork::new(gpu)?)),
    }
}

/// Returns the groups of lists that the device has made, if it has, and what receives their forces.
///
/// # Safety
/// The arrays of forces have a row for each sink, also until the work of the first queue has ended.
pub(super) unsafe fn made_groups<'a, G: Gpu>(
    (gpu, queues): (&G, &[G::Queue]),
    arrays: &'a Option<ArrayWork<G>>,
    lists: &InteractionLists,
) -> Result<Option<GroupsOnDevice<'a, G>>> {
    let Some(arrays) = arrays.as_ref().filter(|_| lists.groups.is_on_device()) else { return Ok(None) };
    let receiver = match &lists.forces {
        // SAFETY: the caller's promise.
        Some(forces) => Some(unsafe { arrays.receiver(on(gpu, queues)?, forces)? }),
        None => None,
    };
    Ok(Some(GroupsOnDevice { receiver, ..arrays.groups() }))
}

impl<G: Gpu> GpuDevice<G> {
    /// Waits for the results of all pieces of the block under way, and returns where they are.
    fn results(&mut self) -> Result<Vec<PieceResults<Address<G>>>> {
        if self.has_lists {
            return self.lists.results();
        }
        if let Some(trees) = self.trees.as_ref().filter(|_| self.has_tree) {
            return Ok(trees.results_on_device().into_iter().collect());
        }
        let mut all = memory::room(self.pieces.len(), "the table of pieces")?;
        for number in 0..self.pieces.len() {
            self.wait_for_piece(number)?;
            let piece = &self.pieces[number];
            let results = match &mut self.arrays {
                Some(arrays) if self.keeps_results => arrays.results(&self.gpu, piece.results.end)?.address(),
                _ => self.outbox.addresses(number)[0],
            };
            all.push(PieceResults {
                results,
                from: piece.results.start / 8,
                first_sink: piece.sinks.start,
                sinks: piece.sinks.len(),
                stride: piece.stride,
            });
        }
        Ok(all)
    }

    /// Does something with arrays. After an error all that was begun for it has ended, as nobody
    /// waits for it any more.
    fn on_arrays<T>(&mut self, act: impl FnOnce(&mut GpuDevice<G>) -> Result<T>) -> Result<T> {
        let _caller = self.gpu.enter()?;
        act(self).inspect_err(|_| self.wait_for_all())
    }
}

impl<G: Gpu> DeviceArrays for GpuDevice<G> {
    fn wait_for_caller(&mut self, place: &DevicePlace) -> Result<()> {
        self.on_arrays(|device| device.gpu.wait_for_caller(&device.queues[0], place.stream))
    }

    fn check(&mut self, array: &DeviceArray, rows: usize) -> Result<()> {
        let _caller = self.gpu.enter()?;
        let (lowest, bytes) = array.extent(rows);
        if rows == 0 { Ok(()) } else { self.gpu.check_memory_of_caller(array.name, lowest, bytes) }
    }

    fn room(&mut self, array: &DeviceArray) -> Result<usize> {
        let _caller = self.gpu.enter()?;
        Ok(self.gpu.room_of_caller(array.address) / array.width)
    }

    fn read(&mut self, array: &DeviceArray, row: usize, to: &mut [u8]) -> Result<()> {
        self.on_arrays(|device| {
            // SAFETY: the engine has checked the array, of which it reads as many rows as there are.
            unsafe { work::read(on(&device.gpu, &device.queues)?, array.row(row), to) }
        })
    }

    fn stage(&mut self, memory: &[u8], part: Range<usize>) -> Result<()> {
        self.on_arrays(|device| {
            device.register_used(memory, memory.len());
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            // SAFETY: the engine keeps the memory, and does not write the part until it was taken.
            unsafe { arrays.stage((&device.gpu, &device.queues[0]), memory, part) }
        })
    }

    fn finish_staging(&mut self) -> Result<()> {
        let _caller = self.gpu.enter()?;
        self.gpu.synchronize(&self.queues[0])
    }

    fn move_bodies(&mut self, places: MovingPlaces, components: usize, motion: &Motion) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            // SAFETY: the engine has staged the bodies.
            unsafe { arrays.move_bodies((&device.gpu, &device.queues[0]), (places, components), motion) }
        })
    }

    fn fetch_staged(&mut self, memory: &mut [u8], part: Range<usize>) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            // SAFETY: the engine has staged this memory.
            unsafe { arrays.fetch_staged((&device.gpu, &device.queues[0]), memory, part) }
        })
    }

    fn begin_check(&mut self, check: &Check) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            let on = match check {
                Check::Bodies(bodies, _) => at(&device.gpu, &device.queues, arrays, &bodies.place)?,
                Check::Addresses(..) | Check::Groups(..) | Check::Sources(..) => on(&device.gpu, &device.queues)?,
            };
            // SAFETY: the engine has checked that the arrays are there. This holds for the other
            // functions too.
            unsafe { arrays.begin_check(on, &device.options.interaction, check) }
        })
    }

    fn finish_checks(&mut self) -> Result<Vec<Option<usize>>> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            // SAFETY: see `begin_check`.
            let checks = unsafe { arrays.finish_checks((&device.gpu, &device.queues[0]))? };
            let count = arrays.made_groups().sources;
            let first = |(check, found): &(Check, Option<usize>)| match (*check, *found) {
                (Check::Addresses(listed), Some(run)) => {
                    let on = on(&device.gpu, &device.queues)?;
                    // SAFETY: see `begin_check`; there is room for as many addresses.
                    unsafe { work::bad_address(on, (&listed.addresses, count.min(listed.room)), run, listed.end) }
                }
                _ => Ok(*found),
            };
            checks.iter().map(first).collect()
        })
    }

    fn made_groups(&self) -> MadeGroups {
        self.arrays.as_ref().map(ArrayWork::made_groups).unwrap_or_default()
    }

    fn take_sinks(&mut self, sinks: &DeviceBodies, count: usize, softening2: f64) -> Result<(SinkScan, Option<usize>)> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            let on = at(&device.gpu, &device.queues, arrays, &sinks.place)?;
            // SAFETY: see `begin_check`.
            unsafe { arrays.take_sinks(on, &device.options.interaction, (sinks, count, softening2)) }
        })
    }

    fn sinks_are_sources(&mut self, sinks: &DeviceBodies, count: usize, with_indices: bool) -> Result<bool> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            let on = at(&device.gpu, &device.queues, arrays, &sinks.place)?;
            let compared = (sinks, count, with_indices);
            // SAFETY: see `begin_check`; it took as many sources.
            unsafe { arrays.sinks_are_sources(on, &device.options.interaction, compared, &device.store.addresses()) }
        })
    }

    fn fetch_sinks(&mut self, to: &mut [f64]) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            let queue = &device.queues[0];
            let to: &mut [u8] = bytemuck::cast_slice_mut(to);
            // SAFETY: it took as many sinks; the copy is waited for.
            unsafe {
                device.gpu.copy(queue, Place::Device(arrays.sinks(), 0), Place::Host(to.as_mut_ptr()), to.len())?
            };
            device.gpu.synchronize(queue)
        })
    }

    fn take_sources(&mut self, sources: &DeviceBodies, count: usize, checks: bool) -> Result<Taken> {
        // Places for other sources are made only when these are known to be good.
        let is_ready = self.store.has_places(count);
        if checks && !is_ready && count > 0 {
            self.begin_check(&Check::Bodies(*sources, count))?;
            if let [Some(number)] = self.finish_checks()?[..] {
                return Ok(Taken::None(number));
            }
        }
        self.on_arrays(|device| {
            device.sources_have_changed();
            device.store.take_dense(&device.gpu, &device.queues[0], count)?;
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            let on = at(&device.gpu, &device.queues, arrays, &sources.place)?;
            let given = (sources, count, checks && is_ready);
            // SAFETY: see `begin_check`; the store has room.
            unsafe { arrays.take_sources(on, &device.options.interaction, given, &device.store.addresses()) }
        })
    }

    fn fetch_sources(&mut self, count: usize, take: TakeChunk) -> Result<()> {
        self.on_arrays(|device| device.store.fetch(&device.gpu, &device.queues[0], count, take))
    }

    fn write_forces(&mut self, forces: &DeviceForces) -> Result<bool> {
        self.on_arrays(|device| {
            if device.has_lists && device.lists.gives() {
                device.lists.forget();
                // SAFETY: see `begin_check`.
                return unsafe {
                    ready(&mut device.arrays, &device.gpu)?.finish_receiver((&device.gpu, &device.queues[0]))
                };
            }
            let pieces = device.results()?;
            // The host may have begun to fetch those by a tree.
            let sinks: usize = pieces.iter().map(|piece| piece.sinks).sum();
            if sinks < device.assignment.sinks.len() {
                return Ok(false);
            }
            let arrays = ready(&mut device.arrays, &device.gpu)?;
            let on = at(&device.gpu, &device.queues, arrays, &forces.place)?;
            // SAFETY: see `begin_check`; the pieces have ended.
            if !unsafe { arrays.write_forces(on, &device.options.interaction, &pieces, forces)? } {
                return Ok(false);
            }
            device.pieces.clear();
            device.lists.forget();
            Ok(true)
        })
    }

    fn write_forces_of_host(&mut self, sums: &Sums, forces: &DeviceForces) -> Result<()> {
        self.on_arrays(|device| {
            let interaction = device.options.interaction.clone();
            let (on, arrays) = (on(&device.gpu, &device.queues)?, ready(&mut device.arrays, &device.gpu)?);
            let (values, nearest) = (size_of_val(&sums.values[..]), size_of_val(&sums.nearest[..]));
            let results = arrays.results(&device.gpu, values + nearest)?;
            // SAFETY: the memory is that long, and nothing else uses it between blocks; the sums stay
            // until the work was waited for.
            unsafe {
                for (from, at, bytes) in
                    [(sums.values.as_ptr().cast::<u8>(), 0, values), (sums.nearest.as_ptr().cast(), values, nearest)]
                {
                    if bytes > 0 {
                        device.gpu.copy(on.1, Place::Host(from.cast_mut()), Place::Device(results, at), bytes)?;
                    }
                }
            }
            let sinks = sums.values.len() / interaction.n_outputs;
            let piece = PieceResults { results: results.address(), from: 0, first_sink: 0, sinks, stride: sinks };
            // SAFETY: see `begin_check`.
            unsafe { arrays.write_forces(on, &interaction, &[piece], forces) }.map(drop)
        })
    }
}
