//! Ensembles of systems of few bodies.

use kyoho_few_body::{End, Machine, Options, Outcome, System, Terms, evolve_all};
use kyoho_hal::threads::Threads;

use crate::models::Random;
use crate::{Check, Needs};

/// Systems of each kind.
const SYSTEMS: usize = 48;

fn vector(random: &mut Random, size: f64) -> [f64; 3] {
    [0; 3].map(|_| size * (2.0 * random.unit() - 1.0))
}

/// Bodies of many masses that fall together; some have a massless one.
fn system(random: &mut Random, bodies: usize) -> System {
    let mut masses: Vec<f64> = (0..bodies).map(|_| 10f64.powf(-3.0 * random.unit()) / bodies as f64).collect();
    if bodies > 0 && random.unit() < 0.2 {
        masses[0] = 0.0;
    }
    System {
        masses,
        positions: (0..bodies).map(|_| vector(random, 1.0)).collect(),
        velocities: (0..bodies).map(|_| vector(random, 0.3)).collect(),
        radii: (0..bodies).map(|_| 0.02 * random.unit()).collect(),
    }
}

/// Leaves one body alone heavy in some systems, and none in others.
fn lighten(system: &mut System, place: usize) {
    let masses = &mut system.masses;
    let all = masses.len();
    match place % 14 {
        3 => masses.iter_mut().take(all.saturating_sub(1)).for_each(|mass| *mass = 0.0),
        6 => masses.iter_mut().take(all.saturating_sub(1)).for_each(|mass| *mass *= 1e-20),
        13 => masses.fill(0.0),
        _ => (),
    }
}

/// Kinds of systems: their options, and the numbers of bodies that they have in turns.
fn kinds() -> Vec<(Options, Vec<usize>)> {
    let usual = Options { time: 2.0, tolerance: 1e-9, ..Options::default() };
    let escapes = Options { stop_at_escape: Some(5.0), time: 300.0, tolerance: 1e-6, ..usual.clone() };
    let terms = Terms { decay_correction: true, ..Terms::USUAL };
    vec![
        (usual.clone(), vec![2, 3, 4, 6, 0, 3, 1, 11]),
        (escapes, vec![3, 4, 5, 2]),
        (Options { stop_at_collision: true, ..usual.clone() }, vec![3, 2, 3, 5]),
        (Options { speed_of_light: Some((30.0, terms)), ..usual.clone() }, vec![3, 4, 2]),
        (Options { max_steps: 3, ..usual.clone() }, vec![3, 5]),
        (Options { time: 0.0, ..usual }, vec![3, 4]),
    ]
}

pub const SAME_BITS: Check = Check {
    name: "ensembles of few bodies",
    promise: "systems of few bodies end alike, to the last bit, on CPUs and any number of devices, whatever ends them",
    needs: Needs::OwnPrecisions,
    run: |target, findings| {
        let setup = &target.setup;
        let random = &mut Random::new(5);
        let mut ends = Vec::new();
        for (kind, (options, bodies)) in kinds().into_iter().enumerate() {
            let mut systems: Vec<System> =
                (0..SYSTEMS).map(|place| system(random, bodies[place % bodies.len()])).collect();
            systems.iter_mut().enumerate().for_each(|(place, system)| lighten(system, place));
            let evolved = |machine: &Machine| {
                let mut systems = systems.clone();
                let outcomes = evolve_all(&mut systems, &options, machine)?;
                Ok::<(Vec<System>, Vec<Outcome>), _>((systems, outcomes))
            };
            let machine = Machine {
                threads: Threads::new(setup.threads),
                backend: setup.backend,
                devices: setup.devices.clone(),
                is_automatic: false,
            };
            let expected = evolved(&Machine::cpu(Threads::alone()))?;
            let found = evolved(&machine)?;
            for (place, (expected, found)) in expected.1.iter().zip(&found.1).enumerate() {
                let other = || format!("system {place} of kind {kind}: {found:?} in place of {expected:?}");
                findings.expect(found == expected, other);
            }
            findings.expect(found.0 == expected.0, || format!("bodies of kind {kind} are elsewhere"));
            ends.extend(expected.1.into_iter().map(|outcome| outcome.end));
        }
        let all = [
            ("time", ends.contains(&End::Time)),
            ("steps", ends.contains(&End::Steps)),
            ("escape", ends.contains(&End::Escape)),
            ("exchange", ends.contains(&End::Exchange)),
            ("collision", ends.iter().any(|end| matches!(end, End::Collision(_)))),
            ("merger", ends.iter().any(|end| matches!(end, End::Merger(_)))),
        ];
        for (end, is_there) in all {
            findings.expect(is_there, || format!("no system ended by {end}"));
        }
        Ok(())
    },
};
