//! What the device does with arrays of callers in its memory.

use std::ops::Range;

use crate::arrays::work::{self, ArrayWork};
use kyoho_core::memory::Pages;
use kyoho_core::sinks::SinkScan;
use kyoho_core::{DeviceArray, DeviceBodies, DeviceForces, DevicePlace, Error, Result, Sums, TakeChunk};
use kyoho_hal::gpu::{DeviceMemory, Gpu, Place};
use kyoho_methods::device_arrays::{Check, DeviceArrays, MadeGroups, Motion, MovingPlaces, Taken};
use kyoho_methods::gpu::columns::{On, PieceResults};

use super::gpu::GpuDevice;

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

impl<G: Gpu> GpuDevice<G> {
    /// Does something with arrays. After an error all that was begun for it has ended, as nobody
    /// waits for it any more.
    fn on_arrays<T>(&mut self, act: impl FnOnce(&mut GpuDevice<G>) -> Result<T>) -> Result<T> {
        let _caller = self.on.gpu.enter()?;
        act(self).inspect_err(|_| self.wait_for_all())
    }
}

impl<G: Gpu> DeviceArrays for GpuDevice<G> {
    fn wait_for_caller(&mut self, place: &DevicePlace) -> Result<()> {
        self.on_arrays(|device| device.on.gpu.wait_for_caller(&device.on.queues[0], place.stream))
    }

    fn check(&mut self, array: &DeviceArray, rows: usize) -> Result<()> {
        let _caller = self.on.gpu.enter()?;
        let (lowest, bytes) = array.extent(rows);
        if rows == 0 { Ok(()) } else { self.on.gpu.check_memory_of_caller(array.name, lowest, bytes) }
    }

    fn room(&mut self, array: &DeviceArray) -> Result<usize> {
        let _caller = self.on.gpu.enter()?;
        Ok(self.on.gpu.room_of_caller(array.address) / array.width)
    }

    fn read(&mut self, array: &DeviceArray, row: usize, to: &mut [u8]) -> Result<()> {
        self.on_arrays(|device| {
            // SAFETY: the engine has checked the array, of which it reads as many rows as there are.
            unsafe { work::read(on(&device.on.gpu, &device.on.queues)?, array.row(row), to) }
        })
    }

    fn stage(&mut self, memory: &Pages, part: Range<usize>) -> Result<()> {
        self.on_arrays(|device| {
            device.on.lock_used(memory, memory.bytes());
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            // SAFETY: the engine keeps the memory, and does not write the part until it was taken.
            unsafe { arrays.stage((&device.on.gpu, &device.on.queues[0]), memory.as_slice(), part) }
        })
    }

    fn finish_staging(&mut self) -> Result<()> {
        let _caller = self.on.gpu.enter()?;
        self.on.gpu.synchronize(&self.on.queues[0])
    }

    fn move_bodies(&mut self, places: MovingPlaces, components: usize, motion: &Motion) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            // SAFETY: the engine has staged the bodies.
            unsafe { arrays.move_bodies((&device.on.gpu, &device.on.queues[0]), (places, components), motion) }
        })
    }

    fn fetch_staged(&mut self, memory: &mut [u8], part: Range<usize>) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            // SAFETY: the engine has staged this memory.
            unsafe { arrays.fetch_staged((&device.on.gpu, &device.on.queues[0]), memory, part) }
        })
    }

    fn begin_check(&mut self, check: &Check) -> Result<()> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            let on = match check {
                Check::Bodies(bodies, _) => at(&device.on.gpu, &device.on.queues, arrays, &bodies.place)?,
                Check::Addresses(..) | Check::Groups(..) | Check::Sources(..) => on(&device.on.gpu, &device.on.queues)?,
            };
            // SAFETY: the engine has checked that the arrays are there. This holds for the other
            // functions too.
            unsafe { arrays.begin_check(on, &device.on.options.interaction, &mut device.lists.groups, check) }
        })
    }

    fn finish_checks(&mut self) -> Result<Vec<Option<usize>>> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            let checks = arrays.finish_checks((&device.on.gpu, &device.on.queues[0]), &mut device.lists.groups)?;
            let count = device.lists.groups.made.sources;
            let first = |(check, found): &(Check, Option<usize>)| match (*check, *found) {
                (Check::Addresses(listed), Some(run)) => {
                    let on = on(&device.on.gpu, &device.on.queues)?;
                    // SAFETY: see `begin_check`; there is room for as many addresses.
                    unsafe { work::bad_address(on, (&listed.addresses, count.min(listed.room)), run, listed.end) }
                }
                _ => Ok(*found),
            };
            checks.iter().map(first).collect()
        })
    }

    fn made_groups(&self) -> MadeGroups {
        self.lists.groups.made
    }

    fn take_sinks(&mut self, sinks: &DeviceBodies, count: usize, softening2: f64) -> Result<(SinkScan, Option<usize>)> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            let on = at(&device.on.gpu, &device.on.queues, arrays, &sinks.place)?;
            // SAFETY: see `begin_check`.
            unsafe {
                arrays.take_sinks(on, &device.on.options.interaction, (sinks, count, softening2), &mut device.on.taken)
            }
        })
    }

    fn sinks_are_sources(&mut self, sinks: &DeviceBodies, count: usize, with_indices: bool) -> Result<bool> {
        self.on_arrays(|device| {
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            let on = at(&device.on.gpu, &device.on.queues, arrays, &sinks.place)?;
            let compared = (sinks, count, with_indices);
            // SAFETY: see `begin_check`; it took as many sources.
            unsafe {
                arrays.sinks_are_sources(on, &device.on.options.interaction, compared, &device.on.store.addresses())
            }
        })
    }

    fn fetch_sinks(&mut self, to: &mut [f64]) -> Result<()> {
        self.on_arrays(|device| {
            let queue = &device.on.queues[0];
            let to: &mut [u8] = bytemuck::cast_slice_mut(to);
            // SAFETY: it took as many sinks; the copy is waited for.
            unsafe {
                device.on.gpu.copy(queue, Place::Device(&device.on.taken, 0), Place::Host(to.as_mut_ptr()), to.len())?
            };
            device.on.gpu.synchronize(queue)
        })
    }

    fn take_sources(&mut self, sources: &DeviceBodies, count: usize, checks: bool) -> Result<Taken> {
        // Places for other sources are made only when these are known to be good.
        let is_ready = self.on.store.has_places(count);
        if checks && !is_ready && count > 0 {
            self.begin_check(&Check::Bodies(*sources, count))?;
            if let [Some(number)] = self.finish_checks()?[..] {
                return Ok(Taken::None(number));
            }
        }
        self.on_arrays(|device| {
            device.on.have_changed();
            device.on.store.take_dense(&device.on.gpu, &device.on.queues[0], count)?;
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            let on = at(&device.on.gpu, &device.on.queues, arrays, &sources.place)?;
            let given = (sources, count, checks && is_ready);
            // SAFETY: see `begin_check`; the store has room.
            unsafe { arrays.take_sources(on, &device.on.options.interaction, given, &device.on.store.addresses()) }
        })
    }

    fn fetch_sources(&mut self, count: usize, take: TakeChunk) -> Result<()> {
        self.on_arrays(|device| device.on.store.fetch(&device.on.gpu, &device.on.queues[0], count, take))
    }

    fn write_forces(&mut self, forces: &DeviceForces) -> Result<bool> {
        self.on_arrays(|device| {
            let (method, on) = device.method();
            if let Some(are_finite) = method.finish_given(on)? {
                return Ok(are_finite);
            }
            let pieces = method.results(on)?;
            // The host may have begun to fetch those by a tree.
            let sinks: usize = pieces.iter().map(|piece| piece.sinks).sum();
            if sinks < device.assigned {
                return Ok(false);
            }
            let arrays = ready(&mut device.arrays, &device.on.gpu)?;
            let on = at(&device.on.gpu, &device.on.queues, arrays, &forces.place)?;
            // SAFETY: see `begin_check`; the pieces have ended.
            if !unsafe { arrays.write_forces(on, &device.on.options.interaction, &pieces, forces)? } {
                return Ok(false);
            }
            device.method().0.forget();
            Ok(true)
        })
    }

    fn write_forces_of_host(&mut self, sums: &Sums, forces: &DeviceForces) -> Result<()> {
        self.on_arrays(|device| {
            let interaction = device.on.options.interaction.clone();
            let (values, nearest) = (size_of_val(&sums.values[..]), size_of_val(&sums.nearest[..]));
            let address = device.on.kept(values + nearest)?.address();
            let (on, results) = (on(&device.on.gpu, &device.on.queues)?, device.on.kept_results());
            // SAFETY: the memory is that long, and nothing else uses it between blocks; the sums stay
            // until the work was waited for.
            unsafe {
                for (from, at, bytes) in
                    [(sums.values.as_ptr().cast::<u8>(), 0, values), (sums.nearest.as_ptr().cast(), values, nearest)]
                {
                    if bytes > 0 {
                        device.on.gpu.copy(on.1, Place::Host(from.cast_mut()), Place::Device(results, at), bytes)?;
                    }
                }
            }
            let sinks = sums.values.len() / interaction.n_outputs;
            let piece = PieceResults { results: address, from: 0, first_sink: 0, sinks, stride: sinks };
            // SAFETY: see `begin_check`.
            unsafe { ready(&mut device.arrays, on.0)?.write_forces(on, &interaction, &[piece], forces) }.map(drop)
        })
    }
}
