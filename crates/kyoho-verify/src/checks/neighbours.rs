//! Neighbour lists and nearest neighbours.

use crate::models::{Random, at, grid, sink_at, sinks_of};
use crate::{Check, Needs, Twin};
use kyoho_core::Sink;

fn within(sink: Sink, radius2: f64) -> Sink {
    Sink { radius2, ..sink }
}

/// List lengths on both sides of those at which fixed buffers would end.
const LIST_LENGTHS: [usize; 9] = [0, 1, 2, 255, 256, 257, 1000, 5000, 6000];

pub const LENGTHS: Check = Check {
    name: "lists of any length",
    promise: "a list holds every source with |r|^2 < radius2, the boundary excluded, ascending; each sink has its radius",
    needs: Needs::Lists,
    run: |target, findings| {
        // The source at x = n has an index that decreases with n. A radius of n excludes it.
        let mut twin = Twin::new(target)?;
        for n in 1..=6000 {
            twin.system.set_source(n - 1, &at(9000 - 3 * n as i32, [n as f64, 0.0, 0.0]))?;
        }
        let sinks = LIST_LENGTHS.map(|length| {
            let radius = (length + 1) as f64;
            within(sink_at(-1, [0.0; 3], 1e4), radius * radius)
        });
        twin.system.force(6000, true, sinks)?;
        for (number, length) in LIST_LENGTHS.into_iter().enumerate() {
            let expected: Vec<i32> = (1..=length as i32).rev().map(|n| 9000 - 3 * n).collect();
            for reading in ["first", "second"] {
                let found = twin.system.neighbours(number)?;
                findings.expect(found == expected, || {
                    format!("the {reading} reading: expected {length} neighbours, found {}", found.len())
                });
            }
        }
        twin.system.force(100, true, sinks)?;
        findings.expect_equal("neighbours below nj = 100", twin.system.neighbours(8)?.len(), 100);
        Ok(())
    },
};

pub const RADII: Check = Check {
    name: "radii",
    promise: "the lists of blocks of any size are those of the reference, and empty where the radius is zero",
    needs: Needs::Lists,
    run: |target, findings| {
        let sources = grid(51, 120);
        let mut twin = Twin::with(target, &sources)?;
        let mut random = Random::new(52);
        let mut sinks = sinks_of(&grid(51, 270), 0.0);
        sinks.iter_mut().for_each(|sink| sink.radius2 = [0.0, random.unit(), 4.0, 25.0][random.below(4)]);
        for ni in [1, 17, 270] {
            twin.compare(findings, "120 sources", 120, true, &sinks[..ni])?;
            twin.compare_lists(findings, "120 sources")?;
        }
        twin.compare(findings, "a later block", 100, false, &sinks[..9])?;
        twin.compare_lists(findings, "a later block")
    },
};

pub const LATER_WRITES: Check = Check {
    name: "lists after later writes",
    promise: "lists are those of the last block, whatever was written and whichever time was set since",
    needs: Needs::Lists,
    run: |target, findings| {
        let sources = grid(53, 300);
        let mut twin = Twin::with(target, &sources)?;
        let mut sinks = sinks_of(&sources[..20], 0.0);
        sinks.iter_mut().for_each(|sink| sink.radius2 = 4.0);
        twin.start(300, true, &sinks)?;
        twin.set_source(0, &at(4000, sources[5].coefficients[0]))?;
        twin.finish(findings, "300 sources")?;
        twin.set_source(1, &at(4001, sources[5].coefficients[0]))?;
        twin.set_source(301, &at(4002, sources[5].coefficients[0]))?;
        twin.set_time(3.0)?;
        twin.compare_lists(findings, "after writes and a new time")?;
        twin.set_source(2, &at(4003, sources[5].coefficients[0]))?;
        twin.compare_lists(findings, "and after more writes")?;
        twin.compare(findings, "the next block", 302, true, &sinks)?;
        twin.compare_lists(findings, "the next block")?;
        let rejected = twin.system.start(300, true, [sink_at(1, [f64::NAN, 0.0, 0.0], 0.0)]);
        findings.expect(rejected.is_err(), || "a sink at NaN: expected an error".into());
        twin.compare_lists(findings, "after a start that was rejected")
    },
};

pub const MANY_LATER_WRITES: Check = Check {
    name: "lists after many later writes",
    promise: "lists are those of the last block also after every source was written again, several times",
    needs: Needs::Lists,
    run: |target, findings| {
        let sources = grid(54, 200);
        let mut twin = Twin::with(target, &sources)?;
        let mut sinks = sinks_of(&sources, 0.0);
        sinks.extend(sinks_of(&grid(55, 100), 0.0));
        sinks.iter_mut().for_each(|sink| sink.radius2 = 1.0);
        for asked_before in [false, true] {
            twin.compare(findings, "200 sources", 200, true, &sinks)?;
            if asked_before {
                twin.system.neighbours(299)?;
            }
            for round in 0..100 {
                for (address, source) in sources.iter().enumerate() {
                    twin.set_source((address + round) % 220, source)?;
                }
            }
            twin.compare_lists(findings, "after 20000 writes")?;
        }
        twin.compare(findings, "the next block", 220, true, &sinks[..40])
    },
};

pub const INDICES: Check = Check {
    name: "indices in lists",
    promise: "lists name indices, each once, without the sink's own unless it counts",
    needs: Needs::Lists,
    run: |target, findings| {
        let places = [(5, 1.0), (-7, 2.0), (5, 3.0), (i32::MAX, 1.5), (i32::MIN, 0.5), (1 << 24, 0.1), (9, 0.0)];
        let sources = places.map(|(index, x)| at(index, [x, 0.0, 0.0]));
        let mut twin = Twin::with(target, &sources)?;
        let sink = within(sink_at(9, [0.0; 3], 0.0), 100.0);
        let expected = [i32::MIN, -7, 5, 1 << 24, i32::MAX];
        twin.compare(findings, "seven sources", 7, true, &[sink])?;
        findings.expect_equal("the list", twin.system.neighbours(0)?, &expected[..]);
        twin.compare(findings, "with its own index", 7, false, &[sink])?;
        let with_own = [i32::MIN, -7, 5, 9, 1 << 24, i32::MAX];
        findings.expect_equal("the list with its own index", twin.system.neighbours(0)?, &with_own[..]);
        Ok(())
    },
};

pub const NEAREST_DISTANCES: Check = Check {
    name: "nearest at any distance",
    promise: "the nearest source is found at separations from 1e-8 to beyond 1e10",
    needs: Needs::Nearest,
    run: |target, findings| {
        for separation in [1e-8, 1e-3, 1.0, 1e7, 1e11, 3e15] {
            let mut twin = Twin::new(target)?;
            for n in 0..40 {
                let x = separation * f64::from(1 + (n * 7) % 40);
                twin.set_source(n as usize, &at(n, [0.0, x, 0.0]))?;
            }
            let sinks = [sink_at(0, [0.0; 3], 0.0), sink_at(-1, [0.0; 3], 0.0), sink_at(1, [0.0; 3], 1.0)];
            for block in [&sinks[..], &sinks[..1], &[sinks[0]; 20]] {
                twin.start(40, true, block)?;
                let errors = twin.wait()?;
                findings.expect(errors.wrong_nearest == 0, || {
                    format!(
                        "at {separation:e}: expected the nearest of 40 sources, found {} wrong",
                        errors.wrong_nearest
                    )
                });
            }
        }
        Ok(())
    },
};

pub const NO_NEAREST: Check = Check {
    name: "no nearest",
    promise: "a sink that no source counts for has no nearest source",
    needs: Needs::Nearest,
    run: |target, findings| {
        let mut twin = Twin::with(target, &[at(1, [1.0, 0.0, 0.0])])?;
        let sinks = [sink_at(1, [0.0; 3], 0.0), sink_at(2, [0.0; 3], 0.0)];
        let forces = twin.system.force(1, true, sinks)?;
        findings.expect_equal("the nearest of a body alone", forces.nearest(0), None);
        findings.expect_equal("the nearest of another", forces.nearest(1).map(|nearest| nearest.index), Some(1));
        Ok(())
    },
};
