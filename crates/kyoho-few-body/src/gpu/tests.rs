//! Devices that fail; `kyoho verify` compares results with those of the host.

use kyoho_hal::fake::{Fake, Shared};

use super::*;
use crate::{Outcome, System};

/// Bodies that fall together.
fn system(number: usize) -> System {
    let at = |place: f64| [place.sin(), (1.7 * place).cos(), (0.3 * place).sin()];
    System {
        masses: vec![1.0; 3],
        positions: (0..3).map(|body| at((3 * number + body) as f64)).collect(),
        velocities: vec![[0.0; 3]; 3],
        radii: Vec::new(),
    }
}

/// Lets systems evolve on devices whose calls fail from one on; the kernels do nothing.
fn evolved(script: &Shared, systems: &mut [System], outcomes: &mut [Option<Result<Outcome>>]) -> Result<()> {
    let mut devices = Gpus::open(&[0, 0], |_| Ok(Fake::new(script, false)))?;
    let jobs = systems.iter_mut().zip(outcomes).map(|(system, outcome)| Job { system, outcome }).collect();
    devices.evolve(jobs, &Options { time: 1.0, ..Options::default() }, &Threads::alone())
}

#[test]
fn whichever_call_fails_systems_are_as_before_and_nothing_is_lost() {
    for failing in 0..60 {
        let script = Shared::default();
        script.get().failing = Some(failing..usize::MAX);
        let start: Vec<System> = (0..40).map(system).collect();
        let mut systems = start.clone();
        let mut outcomes: Vec<Option<Result<Outcome>>> = (0..40).map(|_| None).collect();
        let error = evolved(&script, &mut systems, &mut outcomes).unwrap_err();
        assert!(error.is_of_device() || matches!(error, kyoho_core::Error::OutOfMemory { .. }), "{failing}: {error}");
        assert!(systems == start && outcomes.iter().all(Option::is_none), "call {failing}");
        assert!(script.get().is_clean(), "call {failing}");
    }
}
