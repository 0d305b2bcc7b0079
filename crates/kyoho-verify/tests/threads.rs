//! The threads with which a system computes beside those of its caller.

use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use rayon::prelude::*;

use kyoho::{Setup, System};
use kyoho_core::Level;
use kyoho_core::{Order, Precision, Scope};
use kyoho_hal::Backend;
use kyoho_verify::models::{plummer, sinks_of};

/// Makes a setup of order 4 on the CPU with some threads.
fn system(threads: usize) -> System {
    let setup = Setup {
        order: Order::Fourth,
        precision: Precision::Double,
        scope: Scope::Full,
        backend: Backend::Cpu,
        devices: vec![0],
        threads,
        level: Level::best(),
        shape: None,
        partition: None,
        crossover: None,
        block_steps: None,
        fall_back: false,
    };
    System::new(&setup).unwrap()
}

/// Runs work that must come to an end.
fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(100)).expect("it ends")
}

/// A system may be used by the jobs of a pool of the caller's own. While one of the pool's workers
/// waits for the helpers of a system, it takes up no other job of the caller's, which might wait
/// for something that the worker holds.
#[test]
fn a_worker_of_the_callers_pool_that_waits_for_forces_takes_up_no_other_job() {
    let sources = plummer(2048);
    let sinks = sinks_of(&sources[..256], 0.01);
    let (alone, together) = ends(move || {
        let mut systems = [1, 3].map(system);
        for system in &mut systems {
            sources.iter().enumerate().for_each(|(address, source)| system.set_source(address, source).unwrap());
        }
        let [mut one, three] = systems;
        let accelerations = |system: &mut System| -> Vec<[f64; 3]> {
            let forces = system.force(sources.len(), true, sinks.iter().copied()).unwrap();
            (0..sinks.len()).map(|sink| forces.acceleration(sink)).collect()
        };
        let three = Mutex::new(three);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let force = |_| accelerations(&mut three.lock().unwrap_or_else(PoisonError::into_inner));
        let all: Vec<Vec<[f64; 3]>> = pool.install(|| (0..100).into_par_iter().map(force).collect());
        (accelerations(&mut one), all)
    });
    assert!(together.iter().all(|forces| *forces == alone), "each has the bits of one thread");
}
