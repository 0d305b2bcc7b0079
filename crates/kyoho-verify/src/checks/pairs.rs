//! The pairs that count, and the terms that each adds.

use crate::models::{at, grid, sink_at, sinks_of, source};
use crate::{Check, Needs, Twin};

pub const SELF_EXCLUSION: Check = Check {
    name: "self exclusion",
    promise: "a body does not feel itself at zero softening, whatever its address",
    needs: Needs::Nothing,
    run: |target, findings| {
        let mut sources = grid(21, 300);
        let sinks = sinks_of(&sources, 0.0);
        Twin::with(target, &sources)?.compare(findings, "index = address", 300, true, &sinks[..50])?;
        sources.reverse();
        Twin::with(target, &sources)?.compare(findings, "index = 299 - address", 300, true, &sinks[..50])
    },
};

pub const EQUAL_INDICES: Check = Check {
    name: "equal indices",
    promise: "every source with the sink's index is skipped, and two sinks may have one index",
    needs: Needs::Nothing,
    run: |target, findings| {
        let mut sources = grid(22, 600);
        sources.iter_mut().for_each(|source| source.index %= 5);
        let mut sinks = sinks_of(&sources[..20], 0.0);
        Twin::with(target, &sources)?.compare(findings, "five indices of 120 sources each", 600, true, &sinks)?;
        sinks.iter_mut().for_each(|sink| sink.index = 3);
        Twin::with(target, &sources)?.compare(findings, "twenty sinks with one index", 600, true, &sinks)?;
        sources.iter_mut().for_each(|source| source.index = 3);
        Twin::with(target, &sources)?.compare(findings, "one index for all", 600, true, &sinks)
    },
};

pub const EXTREME_INDICES: Check = Check {
    name: "extreme indices",
    promise: "indices are compared exactly: beyond 2^24, negative, and the largest",
    needs: Needs::Nothing,
    run: |target, findings| {
        let large = 1 << 24;
        let indices = [large, large + 1, large + 2, -1, -5, 0, i32::MAX, i32::MAX - 1, i32::MIN, i32::MIN + 1];
        let mut sources = grid(23, 40);
        for (place, source) in sources.iter_mut().enumerate() {
            source.index = indices[place % indices.len()];
        }
        let sinks = sinks_of(&sources, 0.0);
        let mut twin = Twin::with(target, &sources)?;
        twin.compare(findings, "40 sources", 40, true, &sinks)?;
        for (place, index) in indices.iter().enumerate() {
            // The named source is the nearest one, neither the sink itself nor one with a similar
            // index.
            let x = 100.0 + 10.0 * place as f64;
            twin.set_source(40 + 2 * place, &at(*index, [x, 0.0, 0.0]))?;
            twin.set_source(41 + 2 * place, &at(index ^ 1, [x + 1.0, 0.0, 0.0]))?;
            twin.compare(findings, "a pair", 60, true, &[sink_at(*index, [x, 0.0, 0.0], 0.0)])?;
        }
        Ok(())
    },
};

pub const OWN_INDEX_COUNTS: Check = Check {
    name: "own index counts if asked",
    promise: "without skipping, a body feels itself: -m/eps if softened, nothing if not",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(24, 280);
        let mut twin = Twin::with(target, &sources)?;
        for softening2 in [0.0, 0.25] {
            twin.compare(findings, "280 bodies", 280, false, &sinks_of(&sources[..33], softening2))?;
        }
        twin.start(1, false, &sinks_of(&sources[..1], 0.25))?;
        let force = twin.system.wait()?;
        let potential = force.potential(0);
        findings.measure("-m/eps of a body alone", (potential / (-2.0 * sources[0].mass) - 1.0).abs(), 1e-6);
        findings.expect_equal("the acceleration of a body alone", force.acceleration(0), [0.0; 3]);
        Ok(())
    },
};

pub const SINKS_THAT_ARE_NO_SOURCES: Check = Check {
    name: "sinks that are no sources",
    promise: "the field at any point is that of all sources, also where a source is",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(25, 300);
        let mut twin = Twin::with(target, &sources)?;
        let mut points = sinks_of(&grid(26, 21), 0.0);
        points.extend(sinks_of(&sources[..5], 0.0));
        for (number, point) in points.iter_mut().enumerate() {
            point.index = if number % 2 == 0 { -1 } else { 3000 + number as i32 };
        }
        twin.compare(findings, "unsoftened points", 300, true, &points)?;
        points.iter_mut().for_each(|point| point.softening2 = 1.0 / 16.0);
        twin.compare(findings, "softened points", 300, true, &points)
    },
};

pub const COINCIDENT: Check = Check {
    name: "coincident bodies",
    promise: "bodies at one place add nothing to each other's force at zero softening, and -m/eps to the potential else",
    needs: Needs::Nothing,
    run: |target, findings| {
        for place in [[0.0; 3], [0.1, -0.7, 1.3], [1e5, 3.3e-4, -77.7]] {
            let heap: Vec<_> = (0..20).map(|index| source(index, 1.0, [place, [f64::from(index); 3]])).collect();
            let mut twin = Twin::with(target, &heap)?;
            for softening2 in [0.0, 0.25] {
                twin.compare(findings, "twenty bodies", 20, true, &sinks_of(&heap, softening2))?;
                twin.compare(findings, "twenty bodies, one sink", 20, true, &sinks_of(&heap[..1], softening2))?;
            }
            twin.set_source(20, &at(20, [place[0] + 1.0, place[1], place[2]]))?;
            twin.compare(findings, "and one beside", 21, true, &sinks_of(&heap, 0.0))?;
        }
        Ok(())
    },
};

pub const MASSLESS: Check = Check {
    name: "massless bodies",
    promise: "sources without mass exert no force but are neighbours like others",
    needs: Needs::Nothing,
    run: |target, findings| {
        let mut sources = grid(27, 270);
        sources.iter_mut().step_by(2).for_each(|source| source.mass = 0.0);
        let sinks = sinks_of(&sources[..40], 0.0);
        Twin::with(target, &sources)?.compare(findings, "half of 270", 270, true, &sinks)?;
        sources.iter_mut().for_each(|source| source.mass = 0.0);
        Twin::with(target, &sources)?.compare(findings, "all of 270", 270, true, &sinks)
    },
};

pub const SOFTENING: Check = Check {
    name: "softening of each sink",
    promise: "each sink has its own softening",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(28, 300);
        let mut sinks = sinks_of(&sources[..45], 0.0);
        for (number, sink) in sinks.iter_mut().enumerate() {
            sink.softening2 = [0.0, 1e-30, 1e-4, 1.0, 1e4][number % 5];
        }
        let mut twin = Twin::with(target, &sources)?;
        twin.compare(findings, "45 sinks", 300, true, &sinks)?;
        twin.compare(findings, "3 sinks", 300, true, &sinks[..3])
    },
};
