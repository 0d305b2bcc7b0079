//! Masses, lengths and speeds in the units that astronomers use.

use crate::models::{Random, sinks_of, source};
use crate::reference::real::norm;
use crate::{Check, Needs, Twin};
use kyoho_core::{Sink, Source};

/// A length, a mass and a speed of some system in some units.
pub(super) const SYSTEMS: [(&str, [f64; 3]); 9] = [
    ("a planetary system in AU, solar masses and years", [5.0, 1.0, 3.0]),
    ("a planetary system in SI units", [7.5e11, 2e30, 1.3e4]),
    ("a cluster in parsecs, solar masses and km/s", [3.0, 50.0, 10.0]),
    ("a cluster in SI units", [1e17, 1e32, 1e4]),
    ("a galaxy in SI units", [5e20, 2e41, 2e5]),
    ("a galaxy in CGS units", [5e22, 2e44, 2e7]),
    ("lengths of 1e10 and masses of 1", [1e10, 1.0, 1.0]),
    ("lengths of 1e-8 and masses of 1", [1e-8, 1.0, 1.0]),
    ("lengths of 1e-15 and masses of 1e-30", [1e-15, 1e-30, 1e-5]),
];

/// Returns a star of this mass at the last address, and light bodies around it at the addresses 0
/// to 199.
pub(super) fn star_and_dust([length, mass, speed]: [f64; 3], ratio: f64) -> Vec<Source> {
    let mut random = Random::new(1687);
    let rate = speed / length;
    let mut body = |index: usize| {
        let distance = length * (0.1 + 0.9 * random.unit());
        let position = random.direction().map(|component| component * distance);
        let velocity = random.direction().map(|component| component * speed);
        let acceleration = random.direction().map(|component| component * speed * rate);
        let jerk = random.direction().map(|component| component * speed * rate * rate);
        source(index as i32, mass * ratio, [position, velocity, acceleration, jerk])
    };
    let mut bodies: Vec<Source> = (0..200).map(&mut body).collect();
    bodies.push(Source { mass, ..source(200, mass, [[0.0; 3]; 4]) });
    bodies
}

pub const MASS_RATIOS: Check = Check {
    name: "mass ratios in any units",
    promise: "masses of 1e-12 of the largest pull with all their digits, in any units",
    needs: Needs::Nothing,
    run: |target, findings| {
        for (system, units) in SYSTEMS {
            for ratio in [1.0, 1e-10, 1e-12] {
                let sources = star_and_dust(units, ratio);
                let mut twin = Twin::with(target, &sources)?;
                let star = sinks_of(&sources[200..], 0.0);
                let what = format!("{system}: pulls of masses of {ratio:e} of the star's");
                twin.compare(findings, &format!("{what} on the star"), 201, true, &star)?;
                // The star itself is no sink, but its mass counts in the choice of units.
                let dust = sinks_of(&sources[..40], 0.0);
                twin.compare(findings, &format!("{what} on each other"), 200, true, &dust)?;
            }
        }
        Ok(())
    },
};

pub const DISTANCES: Check = Check {
    name: "distances in any units",
    promise: "sinks from 1e-3 to 1e3 of the model's size away feel each source, in any units",
    needs: Needs::Nothing,
    run: |target, findings| {
        for (system, units @ [length, ..]) in SYSTEMS {
            let sources = star_and_dust(units, 1e-12);
            let mut twin = Twin::with(target, &sources)?;
            let at = |number: usize, distance: f64| {
                let own = sinks_of(&sources[number..=number], 0.0)[0];
                let [mut position, ..] = own.derivatives;
                let from_centre = norm(position);
                position = position.map(|component| component * (distance * length / from_centre));
                let mut sink = Sink { index: -1, ..own };
                sink.derivatives[0] = position;
                sink
            };
            let far = [1.0, 30.0, 550.0, 1000.0];
            let sinks: Vec<Sink> = far.iter().enumerate().map(|(number, distance)| at(number, *distance)).collect();
            twin.compare(findings, &format!("{system}: far sinks without the star"), 200, true, &sinks)?;
            twin.compare(findings, &format!("{system}: far sinks"), 201, true, &sinks)?;
            // The bodies are so near to the star that 24 bits of a coordinate are enough.
            let near: Vec<Sink> = [1e-3, 1e-2].iter().map(|distance| at(7, *distance)).collect();
            twin.compare(findings, &format!("{system}: near sinks"), 201, true, &near)?;
        }
        Ok(())
    },
};

pub const ALONE: Check = Check {
    name: "a star at the origin",
    promise: "a source at the origin, or as good as there, gives sinks at any distance their forces",
    needs: Needs::Nothing,
    run: |target, findings| {
        for offset in [0.0, 1e-17, 1e-9] {
            for (system, [length, mass, speed]) in SYSTEMS {
                let star = source(0, mass, [[offset * length, 0.0, 0.0]]);
                let mut twin = Twin::with(target, &[star])?;
                let sinks: Vec<Sink> = (sinks_of(&star_and_dust([length, mass, speed], 1.0)[..40], 0.0).into_iter())
                    .map(|sink| Sink { index: -1, ..sink })
                    .collect();
                twin.compare(findings, &format!("{system}: a star {offset:e} from the origin"), 1, true, &sinks)?;
            }
        }
        Ok(())
    },
};
