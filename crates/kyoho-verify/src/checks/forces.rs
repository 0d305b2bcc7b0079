//! Forces against the reference, for several models, block sizes and numbers of sources.

use std::sync::LazyLock;

use crate::models::{self, at, grid, sink_at, sinks_of, source};
use crate::{Check, Limits, Needs, Problem, Twin, plummer_problem};
use kyoho_core::Order;

static PLUMMER_1024: LazyLock<Problem> = LazyLock::new(|| plummer_problem(1024, 1));
/// The model for which the tolerances of the catalogue are meant, and the bodies that are checked.
static PLUMMER_16384: LazyLock<Problem> = LazyLock::new(|| plummer_problem(16384, 256));

pub const PLUMMER: Check = Check {
    name: "plummer",
    promise: "forces in a Plummer model of 1024 bodies, softened by 1/64, have the relative errors of the precision",
    needs: Needs::Nothing,
    run: |target, findings| {
        let errors = PLUMMER_1024.errors(target)?;
        let limits = Limits::of(target.setup.precision);
        findings.measure("acceleration, worst", errors.acceleration.worst, limits.acceleration);
        findings.measure("acceleration, mean", errors.acceleration.mean, limits.acceleration_mean);
        findings.measure("jerk, worst", errors.jerk.worst, limits.jerk);
        findings.measure("snap, worst", errors.snap.worst, limits.snap);
        findings.measure("crackle, worst", errors.crackle.worst, limits.crackle);
        findings.measure("potential, worst", errors.potential.worst, limits.potential);
        findings.measure("wrong nearest", errors.wrong_nearest as f64, 0.5);
        Ok(())
    },
};

pub const TOLERANCE: Check = Check {
    name: "tolerance",
    promise: "64 bodies spread over a Plummer model of 16384 have accelerations within the catalogue's tolerance",
    needs: Needs::Nothing,
    run: |target, findings| {
        let errors = PLUMMER_16384.errors(target)?;
        findings.measure("acceleration, worst", errors.acceleration.worst, target.interaction().tolerance);
        findings.measure("wrong nearest", errors.wrong_nearest as f64, 0.5);
        Ok(())
    },
};

pub const UNIFORM_SPHERE: Check = Check {
    name: "uniform sphere",
    promise: "forces in a uniform sphere without softening are right to the rounding of their terms",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = models::uniform_sphere(1000);
        let sinks = sinks_of(&sources[..40], 0.0);
        Twin::with(target, &sources)?.compare(findings, "1000 bodies", 1000, true, &sinks)
    },
};

/// Block sizes on both sides of the widths of vectors and thread blocks.
const SINKS: [usize; 16] = [1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 64, 65, 100];

pub const NUMBERS_OF_SINKS: Check = Check {
    name: "numbers of sinks",
    promise: "a block of any number of sinks gets its forces",
    needs: Needs::Nothing,
    run: |target, findings| {
        let mut twin = Twin::with(target, &grid(11, 300))?;
        let sinks = sinks_of(&grid(11, 300), 0.0);
        for ni in SINKS {
            // Blocks begin at different sinks, so that a lane does not always get the same one.
            twin.compare(findings, "sinks among 300 sources", 300, true, &sinks[ni..2 * ni])?;
        }
        Ok(())
    },
};

/// Numbers of sources on both sides of the widths of vectors, of chunks of 256, and of one round of
/// 24 slices.
const SOURCES: [usize; 22] =
    [1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1000, 6143, 6145, 12345];

pub const NUMBERS_OF_SOURCES: Check = Check {
    name: "numbers of sources",
    promise: "any number of sources acts, each once",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(12, 12345);
        let mut twin = Twin::with(target, &sources)?;
        let sinks = sinks_of(&sources[..16], 1.0 / 64.0);
        for nj in SOURCES {
            let ni = if nj > 1000 { 1 } else { 16 };
            twin.compare(findings, "sinks in 1 to 12345 sources", nj, true, &sinks[..1])?;
            twin.compare(findings, "sinks in 1 to 12345 sources", nj, true, &sinks[..ni])?;
        }
        Ok(())
    },
};

pub const CLOSE_PAIRS: Check = Check {
    name: "close pairs",
    promise: "the distance of a close pair far from the origin has the bits that the precision promises",
    needs: Needs::Nothing,
    run: |target, findings| {
        let centre = [1.0, -3.0, 0.7];
        for exponent in (4..=30).step_by(2) {
            let separation = 2f64.powi(-exponent) * 1.1;
            let partner = [centre[0] + separation, centre[1] - separation / 3.0, centre[2] + separation / 7.0];
            let mut twin = Twin::with(target, &[at(1, centre), at(2, partner)])?;
            let sinks = [sink_at(1, centre, 0.0), sink_at(2, partner, 0.0)];
            twin.compare(findings, "a close pair", 2, true, &sinks)?;
        }
        Ok(())
    },
};

pub const RANGE: Check = Check {
    name: "range",
    promise: "forces that are numbers of the precision are right at any distance whose square is one; from order 6 on, \
              below 1e-15 and above 1e15, where speeds are of the size of the distance",
    needs: Needs::Nothing,
    run: |target, findings| {
        let bounds = target.interaction().bounds;
        for distance in [1e-100_f64, 1e-17, 1e-12, 1e-6, 1e6, 1e12, 1e17, 1e100] {
            for mass in [1e-36_f64, 1.0, 1e36] {
                let is_in_range = |value: f64, bound: f64| (bound.recip()..=bound).contains(&value);
                // Beyond 1e18 even the force itself or its derivative may not be finite.
                let is_far = !is_in_range(distance, 1e18) && mass != 1.0;
                if !is_in_range(distance, bounds.position) || !is_in_range(mass, bounds.mass) || is_far {
                    continue;
                }
                // The snap or the crackle at the ends may not be finite either, unless speeds are
                // of the size of the distance.
                let is_end = !is_in_range(distance, 1e15) && target.setup.order > Order::Fourth;
                let speed = if is_end { distance } else { 1.0 };
                let velocity = [speed, 0.5 * speed, -0.25 * speed];
                let body = source(1, mass, [[distance, -distance / 3.0, 0.0], velocity]);
                let mut twin = Twin::with(target, &[body])?;
                let sinks = [sink_at(2, [0.0; 3], 0.0); 20];
                twin.compare(findings, &format!("a mass {mass:e} at {distance:e}"), 1, true, &sinks)?;
                twin.compare(findings, &format!("a mass {mass:e} at {distance:e}, one sink"), 1, true, &sinks[..1])?;
            }
        }
        Ok(())
    },
};
