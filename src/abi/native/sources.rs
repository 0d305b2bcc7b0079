//! Writing sources, whole arrays a call, and predicting them.

use std::ops::Range;

use crate::abi::arrays;
use kyoho_core::{DevicePlace, Error, Interaction, MAX_COEFFICIENTS, MAX_DERIVATIVES, Result, ResultCode, Source};
use kyoho_engine::{QuadSource, System};
use kyoho_laws::double_double::DoubleDouble;

use super::host_copies::HostCopies;
use super::rows::{BodyRows, Real, Rows, bodies_on_device, element, filled, put, read_as, vector};
use super::structures::{
    self, Memory, bad_field, kyoho_predictions, kyoho_reals, kyoho_sources, place_of, read, require_host,
};
use super::system::kyoho_system;
use super::{call_on, call_on_ranks};

/// Writes sources at their addresses, replacing what was there; the next block is the first to see
/// them. Addresses may be written in any order and may leave gaps; an address never written has no
/// source. Order 2 keeps positions alone and does not read their derivatives; order 4 keeps and
/// reads those up to the jerk, order 6 up to the crackle, order 8 up to the seventh.
///
/// Everything is checked first: on an error in what you gave, nothing is written.
///
/// All sources have a softening (`softening2_each`) or none has. To change that write all anew, from
/// address 0 on, without `addresses`, and while no block is under way.
///
/// Sources in KYOHO_MEMORY_CUDA that replace all others, without `addresses` and from address 0 on,
/// stay on the device; other ones are copied to the host first.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS,
/// KYOHO_BAD_OPTION (a stride that lets rows overlap, or another field that is not allowed),
/// KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY (some sources may have been written);
/// with softenings also KYOHO_UNSUPPORTED, KYOHO_CALL_ORDER, KYOHO_DEVICE_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_set_sources(
    system: *mut kyoho_system,
    sources: *const kyoho_sources,
) -> ResultCode {
    call_on_ranks(system, |system| {
        let system = system.own();
        // SAFETY: null or a structure.
        let sources = unsafe { read("sources", sources) }?;
        if is_in_limbs(&sources, system.interaction())? {
            // SAFETY: the arrays have `count` elements, by the caller's promise.
            return unsafe { write_quad::<DoubleDouble>(system, &SourceRows::new(system, &sources)?) };
        }
        let rows = SourceRows::<f64>::new(system, &sources)?;
        if let Some(bodies) = bodies_on_device(rows.place, &rows.columns)? {
            let replaces_all = rows.addresses.is_none() && rows.first_address == 0;
            if replaces_all && system.set_sources_on_device(&bodies, rows.count)? {
                return Ok(());
            }
        }
        HostCopies::lend(system, |system, copies| {
            let rows = rows.on_host(system, copies)?;
            // SAFETY: the arrays have `count` elements, by the caller's promise.
            unsafe {
                match system.interaction().n_coefficients {
                    _ if system.interaction().has_low_limbs() => write_quad(system, &rows),
                    _ if rows.columns.softening2.is_some() => write_softened(system, &rows),
                    _ if system.has_softenings() => write_others(system, &rows),
                    1 => write::<1>(system, &rows),
                    4 => write::<4>(system, &rows),
                    6 => write::<6>(system, &rows),
                    _ => write::<MAX_COEFFICIENTS>(system, &rows),
                }
            }
        })
    })
}

/// Checks all sources and writes them with `N` derivatives each.
///
/// # Safety
/// Every array is null or has `count` elements.
unsafe fn write<const N: usize>(system: &mut System, rows: &SourceRows) -> Result<()> {
    if rows.addresses.is_none() && rows.first_address == 0 {
        // SAFETY: every row is below `count`, which is at most the largest address.
        return system.set_sources(rows.count, |row| unsafe { rows.source::<N>(row, row as i32) });
    }
    // SAFETY: every row is below `count`.
    let address_at = |row| unsafe { rows.address(row) };
    // No source has such an address, which is named below.
    let address_or_none = |row| address_at(row).map_or(usize::MAX, |address| address as usize);
    // SAFETY: as above.
    let source_at = |row| unsafe { rows.source::<N>(row, address_at(row).unwrap_or(0)) };
    if system.record_sources(rows.count, address_or_none, source_at)? {
        return Ok(());
    }
    let all = || (0..rows.count).map(|row| Ok((address_at(row)? as usize, source_at(row))));
    all().try_for_each(|source| source.and_then(|(address, source)| system.check_source(address, &source)))?;
    all().try_for_each(|source| source.and_then(|(address, source)| system.set_source(address, &source)))
}

/// Checks all sources, which have softenings, and writes them.
///
/// # Safety
/// Every array is null or has `count` elements.
unsafe fn write_softened(system: &mut System, rows: &SourceRows) -> Result<()> {
    let read = |row: usize| {
        // SAFETY: every row is below `count`.
        unsafe {
            let address = rows.address(row)?;
            let source = rows.source::<MAX_COEFFICIENTS>(row, address);
            Ok((address as usize, source, element(rows.columns.softening2, row, 0.0)))
        }
    };
    let all = || (0..rows.count).map(read);
    all().try_for_each(|source| {
        source.and_then(|(address, source, softening2)| {
            system.check_source(address, &source)?;
            system.check_softening_of_source(address, softening2)
        })
    })?;
    system.prepare_softenings(true, rows.replaced())?;
    all().try_for_each(|source| {
        source.and_then(|(address, source, softening2)| system.set_softened_source(address, &source, softening2))
    })
}

/// Checks all sources, which have no softenings, and writes them in the place of all others, which
/// have some.
///
/// # Safety
/// Every array is null or has `count` elements.
unsafe fn write_others(system: &mut System, rows: &SourceRows) -> Result<()> {
    if rows.count == 0 {
        return Ok(());
    }
    // SAFETY: every row is below `count`.
    let source_at = |row: usize, address| unsafe { rows.source::<MAX_COEFFICIENTS>(row, address) };
    // SAFETY: as above.
    let address_at = |row: usize| unsafe { rows.address(row) };
    (0..rows.count).try_for_each(|row| {
        let address = address_at(row)?;
        system.check_source(address as usize, &source_at(row, address))
    })?;
    system.prepare_softenings(false, rows.replaced())?;
    // SAFETY: the caller's promise.
    unsafe { write::<MAX_COEFFICIENTS>(system, rows) }
}

/// Whether the real numbers of the arrays are two doubles each.
fn is_in_limbs(sources: &kyoho_sources, interaction: &Interaction) -> Result<bool> {
    structures::is_in_limbs("kyoho_sources", sources.number_type, sources.reserved, interaction)
}

/// Checks all sources and writes them to a system of numbers of two doubles, in which derivatives
/// are divided.
///
/// # Safety
/// Every array is null or has `count` elements.
unsafe fn write_quad<T: Real>(system: &mut System, rows: &SourceRows<T>) -> Result<()> {
    if rows.place.is_some() {
        return Err(bad_field("kyoho_sources.memory", Memory::Cuda as i32, "0 (KYOHO_MEMORY_HOST) for two doubles"));
    }
    // SAFETY: every row is below `count`.
    let all = || (0..rows.count).map(|row| unsafe { rows.read_quad(row) });
    all().try_for_each(|source| source.and_then(|(address, source)| system.check_quad_source(address, &source)))?;
    if rows.count > 0 || rows.columns.softening2.is_some() {
        system.prepare_softenings(rows.columns.softening2.is_some(), rows.replaced())?;
    }
    all().try_for_each(|source| source.and_then(|(address, source)| system.set_quad_source(address, &source)))
}

/// The arrays of `kyoho_sources`, each with `count` rows, of doubles or of two doubles each.
pub(super) struct SourceRows<T = f64> {
    /// Where the arrays lie, if it is on a device.
    pub place: Option<DevicePlace>,
    /// The number of sources.
    pub count: usize,
    first_address: i64,
    addresses: Option<Rows<i32, 1>>,
    /// What the sources have.
    pub columns: BodyRows<T>,
}

impl<T: Real> SourceRows<T> {
    /// Takes the arrays that the system keeps. The structure says that its numbers are of this type.
    pub fn new(system: &System, from: &kyoho_sources) -> Result<SourceRows<T>> {
        structures::require_type::<T>("kyoho_sources", from.number_type, from.reserved, system.interaction())?;
        let place = place_of("kyoho_sources", from.memory, &from.cuda)?;
        let count = arrays::count("kyoho_sources.count", from.count)?;
        let softening2_each = Rows::optional("kyoho_sources.softening2_each", read_as(from.softening2_each))?;
        if place.is_some() && softening2_each.is_some() {
            let allowed = "0 (KYOHO_MEMORY_HOST) with kyoho_sources.softening2_each";
            return Err(bad_field("kyoho_sources.memory", from.memory, allowed));
        }
        let following = [
            ("kyoho_sources.velocities", from.velocities),
            ("kyoho_sources.accelerations", from.accelerations),
            ("kyoho_sources.jerks", from.jerks),
            ("kyoho_sources.snaps", from.snaps),
            ("kyoho_sources.crackles", from.crackles),
            ("kyoho_sources.sixth_derivatives", from.sixth_derivatives),
            ("kyoho_sources.seventh_derivatives", from.seventh_derivatives),
        ];
        let mut columns = BodyRows::<T>::NONE;
        columns.derivatives[0] = Rows::required("kyoho_sources.positions", read_as(from.positions), count)?;
        for (rows, (name, array)) in
            columns.derivatives[1..system.interaction().n_coefficients].iter_mut().zip(following)
        {
            *rows = Rows::optional(name, read_as(array))?;
        }
        columns.indices = Rows::optional("kyoho_sources.indices", from.indices)?;
        columns.masses = Rows::required("kyoho_sources.masses", read_as(from.masses), count)?;
        columns.times = Rows::optional("kyoho_sources.times", read_as(from.times))?;
        columns.softening2 = softening2_each;
        let addresses = Rows::optional("kyoho_sources.addresses", from.addresses)?;
        Ok(SourceRows { place, count, first_address: from.first_address.into(), addresses, columns })
    }

    /// Returns the number of addresses, from 0 on, whose sources are replaced in their order.
    fn replaced(&self) -> usize {
        if self.addresses.is_none() && self.first_address == 0 { self.count } else { 0 }
    }

    /// Returns the address of a row.
    ///
    /// # Safety
    /// Every array has more than `row` rows.
    unsafe fn address(&self, row: usize) -> Result<i32> {
        let following = self.first_address + row as i64;
        // SAFETY: the caller's promise.
        let address = self.addresses.map_or(following, |rows| unsafe { rows.read(row) }[0].into());
        i32::try_from(address).ok().filter(|address| *address >= 0).ok_or(Error::BadAddress { address })
    }

    /// Returns the address and the source of a row, in numbers of two doubles.
    ///
    /// # Safety
    /// Every array has more than `row` rows.
    unsafe fn read_quad(&self, row: usize) -> Result<(usize, QuadSource)> {
        // SAFETY: the caller's promise.
        unsafe {
            let address = self.address(row)?;
            let source = QuadSource {
                index: element(self.columns.indices, row, address),
                mass: element(self.columns.masses, row, T::default()).in_limbs(),
                time: element(self.columns.times, row, T::default()).in_limbs(),
                softening2: element(self.columns.softening2, row, T::default()).in_limbs(),
                derivatives: self.columns.derivatives.map(|rows| vector(rows, row).map(T::in_limbs)),
            };
            Ok((address as usize, source))
        }
    }
}

impl SourceRows {
    /// Returns the sources in arrays of the host.
    fn on_host(self, system: &mut System, copies: &mut HostCopies) -> Result<SourceRows> {
        let Some(place) = self.place else { return Ok(self) };
        let addresses = copies.optional(system, Some(place), self.addresses, self.count)?;
        let columns = copies.bodies(system, &place, &self.columns, self.count)?;
        Ok(SourceRows { place: None, addresses, columns, ..self })
    }

    /// Returns the source of a row, with its first `N` derivatives; its index is `address` if none
    /// was given.
    ///
    /// # Safety
    /// Every array has more than `row` rows.
    unsafe fn source<const N: usize>(&self, row: usize, address: i32) -> Source {
        // SAFETY: the caller's promise.
        unsafe {
            Source::from_derivatives(
                element(self.columns.indices, row, address),
                element(self.columns.masses, row, 0.0),
                element(self.columns.times, row, 0.0),
                std::array::from_fn::<_, N, _>(|k| vector(self.columns.derivatives[k], row)),
            )
        }
    }
}

/// Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_set_time(system: *mut kyoho_system, time: f64) -> ResultCode {
    call_on(system, |system| system.set_time(time))
}

/// Sets the time as `kyoho_system_set_time` does, in two doubles, whose sum it is, of a system of
/// KYOHO_PRECISION_QUAD.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE, KYOHO_UNSUPPORTED (another precision).
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_set_time_dd(system: *mut kyoho_system, high: f64, low: f64) -> ResultCode {
    call_on(system, |system| system.set_quad_time(DoubleDouble { high, low }))
}

/// The number of sources that are predicted at a time, so that the memory for them stays small for
/// any count.
const PREDICTED: usize = 1 << 16;

/// The sources at `count` addresses from `first_address` on, predicted to the system's time: their
/// positions and the derivatives that forces of the system's order need. Rows of addresses that
/// were never written are NaN.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS,
/// KYOHO_BAD_OPTION (a stride that lets rows overlap, an array that the order has nothing for, or
/// another field that is not allowed), KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_predict(
    system: *mut kyoho_system,
    first_address: i32,
    count: i32,
    predictions: *const kyoho_predictions,
) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a structure.
        let to = unsafe { read("predictions", predictions) }?;
        require_host("kyoho_predictions.memory", to.memory)?;
        let arrays = [
            ("kyoho_predictions.positions", to.positions),
            ("kyoho_predictions.velocities", to.velocities),
            ("kyoho_predictions.accelerations", to.accelerations),
            ("kyoho_predictions.jerks", to.jerks),
        ];
        let in_limbs = structures::is_in_limbs("kyoho_predictions", to.number_type, to.reserved, system.interaction())?;
        let count = arrays::count("count", count)?;
        let first = usize::try_from(first_address).map_err(|_| Error::BadAddress { address: first_address.into() })?;
        if first + count > i32::MAX as usize + 1 {
            return Err(Error::BadAddress { address: (first + count - 1) as i64 });
        }
        // SAFETY: the arrays have `count` rows.
        unsafe {
            if in_limbs {
                let missing = DoubleDouble::from_limb(f64::NAN);
                predict(system, (first, count), arrays, missing, System::quad_predicted)
            } else {
                predict(system, (first, count), arrays, f64::NAN, System::predicted)
            }
        }
    })
}

/// Predicts the sources at some addresses, from the first on, and writes them.
///
/// # Safety
/// The arrays have so many rows.
unsafe fn predict<T: Real>(
    system: &mut System,
    (first, count): (usize, usize),
    arrays: [(&'static str, kyoho_reals); MAX_DERIVATIVES],
    missing: T,
    predicted: impl Fn(&mut System, Range<usize>) -> Result<Vec<Option<[[T; 3]; MAX_DERIVATIVES]>>>,
) -> Result<()> {
    let derivatives = filled(system.interaction(), arrays)?;
    for begin in (0..count).step_by(PREDICTED) {
        let end = count.min(begin + PREDICTED);
        for (row, source) in (begin..end).zip(predicted(system, first + begin..first + end)?) {
            let vectors = source.unwrap_or([[missing; 3]; MAX_DERIVATIVES]);
            for (array, vector) in derivatives.into_iter().zip(vectors) {
                // SAFETY: the caller's promise.
                unsafe { put(array, row, vector) };
            }
        }
    }
    Ok(())
}
