//! Bodies advance to a time, or until something ends that earlier.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kyoho_core::{Error, Result, ResultCode};
use kyoho_integrators::cluster::{Cluster, Progress};

use super::super::structures::{
    Structures, bad_field, empty, kyoho_evolution, kyoho_evolve_options, read, require_unused,
};
use super::{call_on, kyoho_integrator};

/// Advances all bodies to a time, which may not lie before theirs, or until something ends it
/// earlier: an approach, which is looked for at the ends of block steps, a collision or a merger in
/// a step that ends then, unless bodies become one and go on, or `evolve_options`. Whatever the
/// reason, all bodies are at one time then, from which a further call goes on. `evolve_options` and
/// `evolution`, which is told the reason, may be NULL.
///
/// All bodies meet at the end of each call, so steps are no longer than the time to it, and the
/// bits of bodies depend on the times of calls. They do not depend on the number of threads.
///
/// Over ranks all call this with the same bodies and arguments, but `progress` may be any, or NULL:
/// where it returns anything but 0 on one, the evolution ends on all after the same block step. An
/// error on one is that of all.
///
/// Errors, after which bodies are where they were, or where the last two became one, or in order 2
/// at the end of a step: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a time before that of
/// the bodies, or a field of `evolve_options` or `evolution`), KYOHO_NOT_FINITE (in orders 4 to
/// 8 also for bodies at one position without softening), KYOHO_OUT_OF_RANGE, KYOHO_DEVICE_FAILED,
/// KYOHO_OUT_OF_MEMORY. Where a field gives a body such a number, the text names both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_evolve(
    integrator: *mut kyoho_integrator,
    time: f64,
    evolve_options: *const kyoho_evolve_options,
    evolution: *mut kyoho_evolution,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: null or a structure each.
        let given = unsafe { Limits::read(evolve_options) }
            .and_then(|limits| Ok((limits, unsafe { Structures::new("evolution", evolution, 1) }?)));
        let (limits, to) = given.map_err(|error| cluster.refuse(error))?;
        let outcome = evolve(cluster, (0, time), &limits, None)?;
        // SAFETY: null or a structure.
        unsafe { to.write(0, outcome) }
    })
}

/// Evolves a cluster to a time, as one of so many of an ensemble, or with 0 alone. `ends` tells whether
/// one of all was told to end; only its holder calls the caller's function.
pub(super) fn evolve(
    cluster: &mut Cluster,
    (sharers, time): (usize, f64),
    &Limits { given, most, pause }: &Limits,
    ends: Option<&Mutex<bool>>,
) -> Result<kyoho_evolution> {
    let mut told = Instant::now();
    let mut go_on = given.progress.map(|progress| {
        move |time: f64, block_steps: u64| {
            if !pause.is_zero() {
                if told.elapsed() < pause {
                    return true;
                }
                told = Instant::now();
            }
            let mut ends = ends.map(|ends| ends.lock().unwrap_or_else(PoisonError::into_inner));
            if ends.as_ref().is_some_and(|ends| **ends) {
                return false;
            }
            // SAFETY: a function of the caller for these arguments, by its promise.
            let goes_on = unsafe { progress(given.context, time, block_steps) == 0 };
            if let Some(ends) = &mut ends {
                **ends = !goes_on;
            }
            goes_on
        }
    });
    let go_on = go_on.as_mut().map(|go_on| go_on as &mut Progress);
    let ended = cluster.evolve_beside(sharers, (time, Some(most).filter(|most| *most > 0)), go_on)?;
    let mut outcome = kyoho_evolution {
        end: ended.end as i32,
        time: cluster.time(),
        block_steps: ended.block_steps,
        encounter_count: cluster.encounters().len() as i32,
        approach_distance: f64::INFINITY,
        ..empty()
    };
    if let Some(approach) = ended.approach {
        [outcome.approach_first, outcome.approach_second] = approach.bodies;
        (outcome.approach_distance, outcome.approach_time) = (approach.distance, approach.time);
    }
    Ok(outcome)
}

/// What ends evolutions: the options, the number of block steps, and the time between two calls of the
/// function.
pub(super) struct Limits {
    given: kyoho_evolve_options,
    most: u64,
    pause: Duration,
}

// SAFETY: the function and its context are the caller's; one thread at a time calls it.
unsafe impl Sync for Limits {}

impl Limits {
    /// Reads them.
    ///
    /// # Safety
    /// The options are null or a structure, and the function may be called by any thread.
    pub(super) unsafe fn read(options: *const kyoho_evolve_options) -> Result<Limits> {
        let given = if options.is_null() {
            empty()
        } else {
            // SAFETY: not null, hence a structure.
            unsafe { read("evolve_options", options) }?
        };
        require_unused("kyoho_evolve_options", given.reserved)?;
        let most = u64::try_from(given.block_steps).map_err(|_| Error::BadCount {
            what: "kyoho_evolve_options.block_steps",
            value: given.block_steps,
            allowed: "0 (no limit), 1 or more".into(),
        })?;
        let pause = Duration::try_from_secs_f64(given.progress_seconds).map_err(|_| {
            bad_field("kyoho_evolve_options.progress_seconds", given.progress_seconds, "finite numbers from 0")
        })?;
        Ok(Limits { given, most, pause })
    }
}
