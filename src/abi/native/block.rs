//! Writing sources and computing forces, whole arrays a call.

use super::call_on;
use super::rows::{Rows, element, put, vector};
use super::structures::{kyoho_forces, kyoho_sinks, kyoho_sources};
use super::system::kyoho_system;
use crate::abi::arrays::{self, scalar};
use crate::abi::boundary::{self, required};
use crate::error::{Error, Result, ResultCode};
use crate::system::{Forces, Sink, Source, System, padded};

/// Writes sources at their addresses, replacing what was there; the next block is the first to see them. Addresses may
/// be written in any order and may leave gaps; an address never written has no source. A system of order 2 keeps
/// positions only and does not read velocities and what follows.
///
/// Everything is checked first: on an error in what you gave, nothing is written.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS, KYOHO_BAD_OPTION (a stride that
/// lets rows overlap), KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY (some sources may have been written).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_set_sources(system: *mut kyoho_system, sources: *const kyoho_sources) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a structure.
        let rows = SourceRows::new(system, &unsafe { scalar("sources", sources) }?)?;
        // SAFETY: the arrays have `count` elements, by the caller's promise.
        let all = || (0..rows.count).map(|row| unsafe { rows.read(row) });
        all().try_for_each(|source| source.and_then(|(address, source)| system.check_source(address, &source)))?;
        all().try_for_each(|source| source.and_then(|(address, source)| system.set_source(address, &source)))
    })
}

/// The arrays of `kyoho_sources`, each with `count` rows.
struct SourceRows {
    count: usize,
    first_address: i64,
    addresses: Option<Rows<i32, 1>>,
    indices: Option<Rows<i32, 1>>,
    masses: Option<Rows<f64, 1>>,
    times: Option<Rows<f64, 1>>,
    derivatives: [Option<Rows<f64, 3>>; 4],
}

impl SourceRows {
    fn new(system: &System, from: &kyoho_sources) -> Result<SourceRows> {
        let count = arrays::count("kyoho_sources.count", from.count)?;
        let vector = |name, first, stride| Rows::optional(name, first, stride);
        let mut derivatives = [
            Rows::required("kyoho_sources.positions", from.positions, from.positions_stride, count)?,
            vector("kyoho_sources.velocities", from.velocities, from.velocities_stride)?,
            vector("kyoho_sources.accelerations", from.accelerations, from.accelerations_stride)?,
            vector("kyoho_sources.jerks", from.jerks, from.jerks_stride)?,
        ];
        derivatives[system.descriptor().taylor.min(4)..].fill(None);
        Ok(SourceRows {
            count,
            first_address: from.first_address.into(),
            addresses: Rows::optional("kyoho_sources.addresses", from.addresses, from.addresses_stride)?,
            indices: Rows::optional("kyoho_sources.indices", from.indices, from.indices_stride)?,
            masses: Rows::required("kyoho_sources.masses", from.masses, from.masses_stride, count)?,
            times: Rows::optional("kyoho_sources.times", from.times, from.times_stride)?,
            derivatives,
        })
    }

    /// The address and the source of a row.
    ///
    /// # Safety
    /// Every array has more than `row` rows.
    unsafe fn read(&self, row: usize) -> Result<(usize, Source)> {
        let following = self.first_address + row as i64;
        // SAFETY: the caller's promise.
        let address = self.addresses.map_or(following, |rows| unsafe { rows.read(row) }[0].into());
        let short = i32::try_from(address).ok().filter(|address| *address >= 0);
        let short = short.ok_or(Error::BadAddress { address })?;
        // SAFETY: the caller's promise.
        let source = unsafe {
            Source::from_derivatives(
                element(self.indices, row, short),
                element(self.masses, row, 0.0),
                element(self.times, row, 0.0),
                self.derivatives.map(|array| vector(array, row)),
            )
        };
        Ok((short as usize, source))
    }
}

/// Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_set_time(system: *mut kyoho_system, time: f64) -> ResultCode {
    call_on(system, |system| system.set_time(time))
}

/// Computes the forces of the sources at addresses below `nj`, predicted to the system's time, on some sinks.
///
/// Sources and a sink at no distance and without softening exert no force on one another. Addresses below `nj` that
/// were never written have no source. On an error no array is written.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a stride that lets rows overlap, or
/// an array that a system of order 2 cannot fill), KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE (also where a sum overflows),
/// KYOHO_CALL_ORDER (a block is under way), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_force(
    system: *mut kyoho_system,
    nj: i32,
    sinks: *const kyoho_sinks,
    forces: *const kyoho_forces,
) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a structure.
        let rows = ForceRows::new(system, &unsafe { scalar("forces", forces) }?)?;
        // SAFETY: null or a structure.
        let sinks = unsafe { scalar("sinks", sinks) }?;
        // SAFETY: the arrays have `count` elements, by the caller's promise.
        unsafe { start(system, nj, &sinks) }?;
        // SAFETY: the arrays have an element for each sink, by the caller's promise.
        system.wait_each(|first, forces| unsafe { rows.write(first, &forces) })?;
        Ok(())
    })
}

/// Begins what `kyoho_force` does, and returns while devices may be at work. The sinks are copied. Sources that are
/// written before `kyoho_wait` do not change this block.
///
/// Errors: as `kyoho_force`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_start(system: *mut kyoho_system, nj: i32, sinks: *const kyoho_sinks) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a structure.
        let sinks = unsafe { scalar("sinks", sinks) }?;
        // SAFETY: the arrays have `count` elements, by the caller's promise.
        unsafe { start(system, nj, &sinks) }
    })
}

/// Waits for the block that `kyoho_start` began and writes its forces.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (no block is under way), KYOHO_OUT_OF_RANGE (a sum overflows),
/// KYOHO_DEVICE_FAILED; and KYOHO_NULL_ARGUMENT or KYOHO_BAD_OPTION, after which the block is still under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_wait(system: *mut kyoho_system, forces: *const kyoho_forces) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a structure.
        let rows = ForceRows::new(system, &unsafe { scalar("forces", forces) }?)?;
        // SAFETY: the arrays have an element for each sink of the block, by the caller's promise.
        system.wait_each(|first, forces| unsafe { rows.write(first, &forces) })?;
        Ok(())
    })
}

/// Begins a block.
///
/// # Safety
/// Every array of the sinks is null or has `count` elements.
unsafe fn start(system: &mut System, nj: i32, sinks: &kyoho_sinks) -> Result<()> {
    let nj = arrays::count("nj", nj)?;
    let count = arrays::count("kyoho_sinks.count", sinks.count)?;
    let indices = Rows::optional("kyoho_sinks.indices", sinks.indices, sinks.indices_stride)?;
    let positions = Rows::required("kyoho_sinks.positions", sinks.positions, sinks.positions_stride, count)?;
    let velocities = match system.descriptor().vectors {
        1 => None,
        _ => Rows::required("kyoho_sinks.velocities", sinks.velocities, sinks.velocities_stride, count)?,
    };
    let each = Rows::optional("kyoho_sinks.softening2_each", sinks.softening2_each, sinks.softening2_each_stride)?;
    let radii2 = Rows::optional("kyoho_sinks.radii2", sinks.radii2, sinks.radii2_stride)?;
    let common = sinks.softening2;
    // SAFETY: every row is below `count`, and the caller leaves the arrays alone while its call lasts.
    let sink = |row| unsafe {
        Sink {
            index: element(indices, row, 0),
            softening2: element(each, row, common),
            radius2: element(radii2, row, 0.0),
            derivatives: padded([vector(positions, row), vector(velocities, row)]),
        }
    };
    system.start_from_fn(nj, indices.is_some(), count, sink)
}

/// The arrays of `kyoho_forces`, each with a row for every sink of the block.
struct ForceRows {
    potentials: Option<Rows<f64, 1>>,
    accelerations: Option<Rows<f64, 3>>,
    jerks: Option<Rows<f64, 3>>,
    nearest: Option<Rows<i32, 1>>,
    nearest_distance2: Option<Rows<f64, 1>>,
}

impl ForceRows {
    fn new(system: &System, to: &kyoho_forces) -> Result<ForceRows> {
        let descriptor = system.descriptor();
        let absent = [
            ("kyoho_forces.jerks", !to.jerks.is_null() && descriptor.vectors < 2),
            ("kyoho_forces.nearest", !to.nearest.is_null() && !descriptor.nearest),
            ("kyoho_forces.nearest_distance2", !to.nearest_distance2.is_null() && !descriptor.nearest),
        ];
        if let Some((name, _)) = absent.into_iter().find(|(_, absent)| *absent) {
            return Err(not_computed(name));
        }
        Ok(ForceRows {
            potentials: Rows::optional("kyoho_forces.potentials", to.potentials, to.potentials_stride)?,
            accelerations: Rows::optional("kyoho_forces.accelerations", to.accelerations, to.accelerations_stride)?,
            jerks: Rows::optional("kyoho_forces.jerks", to.jerks, to.jerks_stride)?,
            nearest: Rows::optional("kyoho_forces.nearest", to.nearest, to.nearest_stride)?,
            nearest_distance2: Rows::optional(
                "kyoho_forces.nearest_distance2",
                to.nearest_distance2,
                to.nearest_distance2_stride,
            )?,
        })
    }

    /// Writes the forces on sinks from `first` on.
    ///
    /// # Safety
    /// Every array has a row for each of these sinks.
    unsafe fn write(&self, first: usize, forces: &Forces) {
        for number in 0..forces.len() {
            let (sink, nearest) = (first + number, forces.nearest(number));
            // SAFETY: the caller's promise.
            unsafe {
                put(self.potentials, sink, [forces.potential(number)]);
                put(self.accelerations, sink, forces.acceleration(number));
                put(self.jerks, sink, forces.jerk(number));
                put(self.nearest, sink, [nearest.map_or(-1, |nearest| nearest.index)]);
                put(self.nearest_distance2, sink, [nearest.map_or(f64::INFINITY, |nearest| nearest.distance2)]);
            }
        }
    }
}

fn not_computed(name: &str) -> Error {
    Error::BadOption {
        name: name.into(),
        value: "an array".into(),
        allowed: "NULL in a system of order 2, which does not compute it".into(),
    }
}

/// The neighbours of one sink of the last block: the indices of the sources with `|r|^2 < radii2[sink]`, softening not
/// included, ascending, each once. Sources that were written since do not matter.
///
/// `sink` counts from 0. `list` has room for `capacity` indices and may be NULL where that is 0. `count` receives the
/// number of neighbours, also where it is more than `capacity`; then the first `capacity` of them are in the list.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such sink, a negative capacity),
/// KYOHO_BUFFER_TOO_SMALL, KYOHO_CALL_ORDER (no block was waited for, or the system is of order 2), KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_neighbours(
    system: *mut kyoho_system,
    sink: i32,
    capacity: i32,
    list: *mut i32,
    count: *mut i32,
) -> ResultCode {
    call_on(system, |system| {
        let count = required("count", count)?;
        let room = arrays::count("capacity", capacity)?;
        let rows = Rows::<i32, 1>::required("list", list, 0, room)?;
        let sink = arrays::count("sink", sink)?;
        let found = system.neighbours(sink)?;
        for (row, index) in found.iter().take(room).enumerate() {
            // SAFETY: the list has room for `capacity` indices.
            unsafe { put(rows, row, [*index]) };
        }
        // SAFETY: room for a number.
        unsafe { boundary::write(count, found.len() as i32) };
        match found.len() <= room {
            true => Ok(()),
            false => Err(Error::BufferTooSmall { what: "the neighbour list", needed: found.len(), room }),
        }
    })
}

/// Sources predicted at a time: the memory for them stays small whatever the count.
const PREDICTED: usize = 1 << 16;

/// The positions and velocities of the sources at `count` addresses from `first_address` on, predicted to the system's
/// time. Rows of addresses that were never written are NaN.
///
/// Each of the two arrays has `count` rows of 3 numbers, `*_stride` bytes apart (0 where they follow one another), or
/// is NULL. A system of order 2 predicts nothing: it gives the positions as they were written and has no velocities.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS, KYOHO_BAD_OPTION (a stride that lets rows overlap, or
/// velocities of a system of order 2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_predicted(
    system: *mut kyoho_system,
    first_address: i32,
    count: i32,
    positions: *mut f64,
    positions_stride: i64,
    velocities: *mut f64,
    velocities_stride: i64,
) -> ResultCode {
    call_on(system, |system| {
        let count = arrays::count("count", count)?;
        let first = usize::try_from(first_address).map_err(|_| Error::BadAddress { address: first_address.into() })?;
        if first + count > i32::MAX as usize + 1 {
            return Err(Error::BadAddress { address: (first + count - 1) as i64 });
        }
        if !velocities.is_null() && system.descriptor().vectors < 2 {
            return Err(not_computed("velocities"));
        }
        let positions = Rows::optional("positions", positions, positions_stride)?;
        let velocities = Rows::optional("velocities", velocities, velocities_stride)?;
        for begin in (0..count).step_by(PREDICTED) {
            let end = count.min(begin + PREDICTED);
            for (row, source) in (begin..end).zip(system.predicted(first + begin..first + end)) {
                let [position, velocity, ..] = source.unwrap_or([[f64::NAN; 3]; 4]);
                // SAFETY: the arrays have `count` rows.
                unsafe {
                    put(positions, row, position);
                    put(velocities, row, velocity);
                }
            }
        }
        Ok(())
    })
}
