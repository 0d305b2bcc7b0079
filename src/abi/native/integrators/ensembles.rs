//! Several integrators evolve at the same time.

use std::sync::{Mutex, PoisonError};

use crate::abi::arrays::{self, Input, Output};
use kyoho_core::{Error, Result, ResultCode, memory};
use kyoho_hal::threads::Threads;
use kyoho_integrators::cluster::{Cluster, ensembles};

use super::super::call;
use super::super::structures::{Structures, kyoho_evolution, kyoho_evolve_options};
use super::evolution::{Limits, evolve};
use super::{INTEGRATORS, kyoho_integrator, of_integrator};

const WHAT: &str = "integrators that evolve at the same time";

/// Evolves several integrators at the same time, each to its own of `times`, as
/// `kyoho_integrator_evolve` does one. On a GPU up to 128 at a time share its multiprocessors: an
/// ensemble of small clusters takes little longer than one of them. On CPUs so many evolve at a time
/// that each has the `threads` of its options, for which 1 is best here. No bits depend on how many
/// integrators there are. A GPU makes the steps of 16 bodies and more here, in
/// `kyoho_integrator_evolve` those of 512 and more: between these last digits differ.
///
/// `evolve_options`, which may be NULL, holds for each. Threads of the library call its `progress`,
/// one at a time, with the time and the number of block steps of some integrator; where it returns
/// anything but 0, all end. It must not call functions on any of these integrators.
///
/// `evolutions` and `results` may be NULL, or have an element for each integrator, and every
/// evolution begins with KYOHO_EVOLUTION_INIT. An error of one integrator leaves the others as they
/// are: `results` gets the code of each, and `kyoho_integrator_last_error` has its text. The call
/// returns the first error of all.
///
/// Errors, after which no bodies have moved: KYOHO_NULL_ARGUMENT, KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT,
/// KYOHO_BAD_OPTION (a field of `evolve_options`, or an integrator over ranks), KYOHO_OUT_OF_MEMORY;
/// and for each integrator those of `kyoho_integrator_evolve`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrators_evolve(
    integrator_count: i32,
    integrators: *const *mut kyoho_integrator,
    times: *const f64,
    evolve_options: *const kyoho_evolve_options,
    evolutions: *mut kyoho_evolution,
    results: *mut i32,
) -> ResultCode {
    call(|| {
        let count = arrays::count("integrator_count", integrator_count)?;
        // SAFETY: null, or arrays of so many; a handle is a number.
        let (handles, times, results) = unsafe {
            let handles: Input<usize> = Input::new("integrators", integrators.cast(), count)?;
            (handles, Input::new("times", times, count)?, Output::new("results", results, count))
        };
        // SAFETY: null, a structure, or so many.
        let (limits, evolutions) =
            unsafe { (Limits::read(evolve_options)?, Structures::new("evolutions", evolutions, count)?) };
        let at_once = at_once(&handles)?;
        let mut outcomes = Vec::new();
        memory::lengthen(&mut outcomes, count, WHAT, || Mutex::new(None))?;
        let ends = Mutex::new(false);
        Threads::new(at_once).each(0..count, |place| {
            let evolved =
                on(handles.get(place), |cluster| evolve(cluster, (at_once, times.get(place)), &limits, Some(&ends)));
            *outcomes[place].lock().unwrap_or_else(PoisonError::into_inner) = Some(evolved);
        });
        let mut first = Ok(());
        for (place, outcome) in outcomes.into_iter().enumerate() {
            let left_out = || Err(Error::Internal { what: "an integrator was left out".into() });
            let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(left_out);
            results.set(place, outcome.as_ref().map_or_else(Error::code, |_| ResultCode::Ok) as i32);
            // SAFETY: null, or so many structures.
            first = first.and(outcome.and_then(|evolution| unsafe { evolutions.write(place, evolution) }));
        }
        first
    })
}

/// Returns how many integrators of an ensemble evolve at a time.
fn at_once(handles: &Input<usize>) -> Result<usize> {
    let mut occupied = memory::room(handles.count(), WHAT)?;
    for (place, handle) in handles.items().enumerate() {
        let one = on(handle, |cluster| Ok(cluster.occupies()))?;
        if one.is_over_ranks {
            return Err(Error::BadOption {
                name: format!("integrators[{place}]"),
                value: "an integrator over ranks".into(),
                allowed: "integrators without a communicator".into(),
            });
        }
        memory::push(&mut occupied, one, WHAT)?;
    }
    let processors = std::thread::available_parallelism().map_or(1, |processors| processors.get());
    Ok(ensembles::at_once(processors, &occupied))
}

/// Does something with an integrator.
fn on<T>(handle: usize, act: impl FnOnce(&mut Cluster) -> Result<T>) -> Result<T> {
    INTEGRATORS.with(handle, act).map_err(of_integrator)
}
