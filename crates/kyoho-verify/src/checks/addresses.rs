//! Sources at any address, in any order, with any number of them below nj.

use crate::models::{Random, at, grid, sink_at, sinks_of};
use crate::{Check, Needs, Twin};

pub const SPARSE: Check = Check {
    name: "sparse addresses",
    promise: "sources at addresses far apart act like others",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(31, 4);
        let mut twin = Twin::new(target)?;
        for (address, source) in [200_000, 5, 0, 70_001].into_iter().zip(&sources) {
            twin.set_source(address, source)?;
        }
        let sinks = sinks_of(&sources, 0.0);
        for nj in [200_001, 200_000, 70_002, 6, 5, 1] {
            twin.compare(findings, "addresses 0, 5, 70001, 200000", nj, true, &sinks)?;
        }
        Ok(())
    },
};

pub const REWRITTEN: Check = Check {
    name: "rewritten addresses",
    promise: "addresses are written in any order, and the last write of each counts",
    needs: Needs::Nothing,
    run: |target, findings| {
        let mut random = Random::new(32);
        let mut twin = Twin::new(target)?;
        let sources = grid(32, 1000);
        let sinks = sinks_of(&sources[..10], 1.0 / 64.0);
        for round in 0..5 {
            for source in &sources[200 * round..200 * (round + 1)] {
                twin.set_source(random.below(320) * 3, source)?;
            }
            twin.compare(findings, "1000 writes to 320 addresses", 960, true, &sinks)?;
            twin.compare(findings, "1000 writes to 320 addresses, one sink", 960, true, &sinks[..1])?;
        }
        Ok(())
    },
};

pub const UNSET: Check = Check {
    name: "addresses never written",
    promise: "addresses below nj that were never written exert no force and are no neighbours",
    needs: Needs::Nothing,
    run: |target, findings| {
        // If the empty addresses had sources at the origin with index 0, the forces on these sinks
        // would show it.
        let sinks = [sink_at(1, [0.0; 3], 0.0), sink_at(0, [1e-3; 3], 0.25)];
        let mut twin = Twin::new(target)?;
        twin.compare(findings, "no source at all", 1000, true, &sinks)?;
        for address in [300, 299, 777] {
            twin.set_source(address, &at(address as i32, [address as f64, 0.0, 0.0]))?;
            twin.compare(findings, "few sources below nj", 1000, true, &sinks)?;
        }
        twin.compare(findings, "nj beyond every source", i32::MAX as usize, true, &sinks)
    },
};

pub const NONE_AT_ALL: Check = Check {
    name: "no sources, no sinks",
    promise: "nj = 0 gives zeros and no neighbours; no sinks are no error",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(34, 100);
        let mut twin = Twin::with(target, &sources)?;
        let mut sinks = sinks_of(&sources[..17], 0.0);
        sinks.iter_mut().for_each(|sink| sink.radius2 = 100.0);
        twin.compare(findings, "nj = 0", 0, true, &sinks)?;
        if target.interaction().has_lists() {
            twin.compare_lists(findings, "nj = 0")?;
        }
        for nj in [100, 0] {
            twin.compare(findings, "ni = 0", nj, true, &[])?;
        }
        twin.compare(findings, "after ni = 0", 100, true, &sinks)
    },
};

pub const SHRINKING_AND_GROWING: Check = Check {
    name: "shrinking and growing nj",
    promise: "only the sources below the nj of each call act",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(35, 600);
        let mut twin = Twin::with(target, &sources)?;
        let sinks = sinks_of(&sources[..18], 0.0);
        for nj in [600, 10, 257, 2000, 1, 256, 511, 600] {
            twin.compare(findings, "nj up and down", nj, true, &sinks)?;
            twin.compare(findings, "nj up and down, two sinks", nj, true, &sinks[..2])?;
        }
        Ok(())
    },
};

pub const GROWTH: Check = Check {
    name: "growth",
    promise: "the number of sources grows beyond 2^18",
    needs: Needs::Nothing,
    run: |target, findings| {
        let mut twin = Twin::new(target)?;
        let mut written = 0;
        for total in [10, 20_000, (1 << 18) + 1000] {
            for address in written..total {
                twin.system.set_source(address, &at(address as i32, [2.0, 0.0, 0.0]))?;
            }
            written = total;
            let forces = twin.system.force(total, true, [sink_at(-1, [0.0; 3], 0.0)])?;
            let expected = -(total as f64) / 2.0;
            findings.measure("so many bodies at one place", (forces.potential(0) / expected - 1.0).abs(), 1e-6);
        }
        Ok(())
    },
};
