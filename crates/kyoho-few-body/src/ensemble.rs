//! Many systems at once, each on one thread; results do not depend on how many threads there are.

use std::sync::Mutex;

use kyoho_core::{Error, Result, memory};
use kyoho_hal::threads::Threads;

use crate::evolve::{Outcome, evolve};
use crate::options::Options;
use crate::system::System;

/// Evolves systems, each of which has the state at its end afterwards. A system that ends early, or
/// makes all its steps, does not end the others.
///
/// # Errors
/// Options or numbers of a system that are not allowed; then no system has moved.
pub fn evolve_all(systems: &mut [System], options: &Options, threads: &Threads) -> Result<Vec<Outcome>> {
    options.check()?;
    for (place, system) in systems.iter().enumerate() {
        system.check(options, 0).map_err(|error| in_system(place, error))?;
    }
    let mut outcomes: Vec<Option<Result<Outcome>>> = memory::room(systems.len(), "the outcomes of systems")?;
    outcomes.resize_with(systems.len(), || None);
    threads.run(
        systems.iter_mut().zip(&mut outcomes),
        &Mutex::new(Vec::new()),
        || (),
        |(system, outcome), ()| *outcome = Some(evolve(system, options, None)),
    );
    let mut made = memory::room(systems.len(), "the outcomes of systems")?;
    for (place, outcome) in outcomes.into_iter().enumerate() {
        let outcome = outcome.unwrap_or_else(|| Err(Error::Internal { what: "a system was left out".into() }));
        made.push(outcome.map_err(|error| in_system(place, error))?);
    }
    Ok(made)
}

/// Names the system of an error.
fn in_system(place: usize, error: Error) -> Error {
    match error {
        Error::NotFinite { what, value } => Error::NotFinite { what: format!("{what} of system {place}"), value },
        Error::BadOption { name, value, allowed } => {
            Error::BadOption { name: format!("{name} of system {place}"), value, allowed }
        }
        other => other,
    }
}
