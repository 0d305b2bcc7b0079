//! Writing sources, whole arrays a call, and predicting them.

use crate::abi::arrays;
use crate::data::{Error, MAX_COEFFICIENTS, MAX_DERIVATIVES, Result, ResultCode, Source};
use crate::engine::System;

use super::call_on;
use super::rows::{Rows, element, filled, put, vector};
use super::structures::{kyoho_predictions, kyoho_sources, read, require_host};
use super::system::kyoho_system;

/// Writes sources at their addresses, replacing what was there; the next block is the first to see
/// them. Addresses may be written in any order and may leave gaps; an address never written has no
/// source. Order 2 keeps positions alone and does not read their derivatives; order 4 keeps and
/// reads those up to the jerk, order 6 up to the crackle, order 8 up to the seventh.
///
/// Everything is checked first: on an error in what you gave, nothing is written.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_ADDRESS,
/// KYOHO_BAD_OPTION (a stride that lets rows overlap, or another field that is not allowed),
/// KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY (some sources may have been written).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_set_sources(
    system: *mut kyoho_system,
    sources: *const kyoho_sources,
) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a structure.
        let rows = SourceRows::new(system, &unsafe { read("sources", sources) }?)?;
        // SAFETY: the arrays have `count` elements, by the caller's promise.
        unsafe {
            match system.interaction().n_coefficients {
                1 => write::<1>(system, &rows),
                4 => write::<4>(system, &rows),
                6 => write::<6>(system, &rows),
                _ => write::<MAX_COEFFICIENTS>(system, &rows),
            }
        }
    })
}

/// Checks all sources and writes them with `N` derivatives each.
///
/// # Safety
/// Every array is null or has `count` elements.
unsafe fn write<const N: usize>(system: &mut System, rows: &SourceRows) -> Result<()> {
    // SAFETY: every row is below `count`.
    let all = || (0..rows.count).map(|row| unsafe { rows.read::<N>(row) });
    all().try_for_each(|source| source.and_then(|(address, source)| system.check_source(address, &source)))?;
    all().try_for_each(|source| source.and_then(|(address, source)| system.set_source(address, &source)))
}

/// The arrays of `kyoho_sources`, each with `count` rows.
pub(super) struct SourceRows {
    /// The number of sources.
    pub count: usize,
    first_address: i64,
    addresses: Option<Rows<i32, 1>>,
    /// The indices.
    pub indices: Option<Rows<i32, 1>>,
    /// The masses.
    pub masses: Option<Rows<f64, 1>>,
    /// The times.
    pub times: Option<Rows<f64, 1>>,
    /// The positions, velocities, ....
    pub derivatives: [Option<Rows<f64, 3>>; MAX_COEFFICIENTS],
}

impl SourceRows {
    /// Takes the arrays that the system keeps.
    pub fn new(system: &System, from: &kyoho_sources) -> Result<SourceRows> {
        require_host("kyoho_sources.memory", from.memory)?;
        let count = arrays::count("kyoho_sources.count", from.count)?;
        let following = [
            ("kyoho_sources.velocities", from.velocities),
            ("kyoho_sources.accelerations", from.accelerations),
            ("kyoho_sources.jerks", from.jerks),
            ("kyoho_sources.snaps", from.snaps),
            ("kyoho_sources.crackles", from.crackles),
            ("kyoho_sources.sixth_derivatives", from.sixth_derivatives),
            ("kyoho_sources.seventh_derivatives", from.seventh_derivatives),
        ];
        let mut derivatives = [None; MAX_COEFFICIENTS];
        derivatives[0] = Rows::required("kyoho_sources.positions", from.positions, count)?;
        for (rows, (name, array)) in derivatives[1..system.interaction().n_coefficients].iter_mut().zip(following) {
            *rows = Rows::optional(name, array)?;
        }
        Ok(SourceRows {
            count,
            first_address: from.first_address.into(),
            addresses: Rows::optional("kyoho_sources.addresses", from.addresses)?,
            indices: Rows::optional("kyoho_sources.indices", from.indices)?,
            masses: Rows::required("kyoho_sources.masses", from.masses, count)?,
            times: Rows::optional("kyoho_sources.times", from.times)?,
            derivatives,
        })
    }

    /// Returns the address and the source of a row, with its first `N` derivatives.
    ///
    /// # Safety
    /// Every array has more than `row` rows.
    unsafe fn read<const N: usize>(&self, row: usize) -> Result<(usize, Source)> {
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
                std::array::from_fn::<_, N, _>(|k| vector(self.derivatives[k], row)),
            )
        };
        Ok((short as usize, source))
    }
}

/// Sets the time to which the sources of the next blocks are predicted; it is 0 until then.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NOT_FINITE.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_set_time(system: *mut kyoho_system, time: f64) -> ResultCode {
    call_on(system, |system| system.set_time(time))
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
        let derivatives = filled(system.interaction(), arrays)?;
        let count = arrays::count("count", count)?;
        let first = usize::try_from(first_address).map_err(|_| Error::BadAddress { address: first_address.into() })?;
        if first + count > i32::MAX as usize + 1 {
            return Err(Error::BadAddress { address: (first + count - 1) as i64 });
        }
        for begin in (0..count).step_by(PREDICTED) {
            let end = count.min(begin + PREDICTED);
            for (row, source) in (begin..end).zip(system.predicted(first + begin..first + end)?) {
                let vectors = source.unwrap_or([[f64::NAN; 3]; MAX_DERIVATIVES]);
                for (array, vector) in derivatives.into_iter().zip(vectors) {
                    // SAFETY: the arrays have `count` rows.
                    unsafe { put(array, row, vector) };
                }
            }
        }
        Ok(())
    })
}
