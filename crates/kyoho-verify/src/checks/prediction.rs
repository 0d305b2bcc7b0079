//! Every force call uses the sources as they are at the call. They are predicted to the time that
//! was set last, or taken as they were written.

use crate::models::{Random, grid, sinks_of};
use crate::{Check, Needs, Twin};
use kyoho_core::Source;

/// Returns sources whose series have every term, each from a time of its own. All numbers are on a
/// grid, so that doubles hold every predicted coordinate exactly.
pub(super) fn moving(seed: u64, bodies: usize) -> Vec<Source> {
    let mut random = Random::new(seed);
    let mut sources = grid(seed, bodies);
    for source in &mut sources {
        source.time = random.below(8) as f64 / 8.0;
        for coefficient in &mut source.coefficients[2..] {
            *coefficient = random.grid_vector(0.25);
        }
    }
    sources
}

pub const POLYNOMIAL: Check = Check {
    name: "predicted polynomial",
    promise: "predicted sources are x + v dt + (a/2) dt^2 + (j/6) dt^3 + ... and its derivatives, to the last bit",
    needs: Needs::Nothing,
    run: |target, findings| {
        let taylor = std::array::from_fn(|k| [(k + 1) as f64; 3]);
        let known = Source { index: 1, mass: 1.0, time: 1.0, coefficients: taylor };
        let mut twin = Twin::with(target, &moving(41, 300))?;
        twin.set_source(300, &known)?;
        for time in [1.5, 1.0, -0.5, 0.0] {
            twin.set_time(time)?;
            twin.compare_predicted(findings, 0..302)?;
        }
        twin.set_time(1.5)?;
        // Half a unit of time later, 1 + 2 / 2 + 3 / 4 + 4 / 8 + ... in doubles is exact.
        let term = |k: usize| (k + 1) as f64 / (1 << k) as f64;
        let expected: f64 = (0..target.interaction().n_coefficients).map(term).sum();
        let found = twin.system.predicted([300])?[0].map(|found| found[0]);
        findings.expect_equal("a known series", found, Some([expected; 3]));
        findings.expect_equal("an address never written", twin.system.predicted([301])?[0], None);
        Ok(())
    },
};

pub const TIMES: Check = Check {
    name: "times",
    promise: "forces are those of the sources at the time that was set, each from its own time, forwards and backwards",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = moving(42, 300);
        let mut twin = Twin::with(target, &sources)?;
        let sinks = sinks_of(&grid(43, 20), 1.0 / 64.0);
        twin.compare(findings, "no time set", 300, true, &sinks)?;
        for time in [1.0, 2.0, 2.0, 1.0, -1.0, 0.0] {
            twin.set_time(time)?;
            twin.compare(findings, "times up and down", 300, true, &sinks)?;
            twin.compare(findings, "times up and down, one sink", 300, true, &sinks[3..4])?;
        }
        Ok(())
    },
};

pub const ORDER_OF_CALLS: Check = Check {
    name: "writes around set_time",
    promise: "sources written after the time was set, and those that a larger nj brings in, are predicted too",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = moving(44, 600);
        let other = moving(45, 600);
        let mut twin = Twin::with(target, &sources)?;
        let sinks = sinks_of(&grid(46, 17), 1.0 / 64.0);
        for ni in [17, 1] {
            let sinks = &sinks[..ni];
            twin.set_time(1.25)?;
            twin.compare(findings, "before the write", 200, true, sinks)?;
            twin.set_source(7, &other[7])?;
            twin.compare(findings, "a write after the time was set", 200, true, sinks)?;
            twin.compare(findings, "a larger nj", 600, true, sinks)?;
            twin.start(600, true, sinks)?;
            twin.set_source(8, &other[8])?;
            twin.set_source(300, &other[300])?;
            twin.compare_predicted(findings, 290..310)?;
            twin.set_time(1.5)?;
            twin.finish(findings, "writes and a new time between start and wait")?;
            twin.set_source(8, &other[9])?;
            twin.compare(findings, "the block after them", 600, true, sinks)?;
            for (address, source) in sources.iter().enumerate() {
                twin.set_source(address, source)?;
            }
        }
        Ok(())
    },
};

pub const UNPREDICTED: Check = Check {
    name: "unpredicted",
    promise: "set_unpredicted takes sources as they were written, whatever was kept of the same time, until set_time",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = moving(47, 600);
        let other = moving(48, 600);
        let mut twin = Twin::with(target, &sources)?;
        let all = sinks_of(&grid(49, 70), 1.0 / 64.0);
        for ni in [1, 20, 70] {
            let sinks = &all[..ni];
            let mut see = |twin: &mut Twin, what: &str| {
                twin.compare(findings, what, 600, true, sinks)?;
                twin.compare_predicted(findings, 0..20)?;
                twin.compare_sources(findings, 0..20)?;
                Ok(())
            };
            // At this prediction target all sources have moved, so that kept predictions differ
            // from the written sources.
            twin.set_time(1.25)?;
            see(&mut twin, "predicted")?;
            twin.set_unpredicted();
            see(&mut twin, "then unpredicted")?;
            see(&mut twin, "unpredicted once more")?;
            twin.set_source(7, &other[7])?;
            see(&mut twin, "a write while unpredicted")?;
            twin.set_time(1.25)?;
            see(&mut twin, "and predicted to the same time")?;
            twin.start(600, true, sinks)?;
            twin.set_unpredicted();
            twin.finish(findings, "unpredicted between start and wait")?;
            twin.compare(findings, "the block after it", 600, true, sinks)?;
            twin.set_source(7, &sources[7])?;
        }
        Ok(())
    },
};

pub const UNPREDICTED_LISTS: Check = Check {
    name: "unpredicted lists",
    promise: "neighbour lists are of the sources that the block saw: predicted, or as they were written",
    needs: Needs::Lists,
    run: |target, findings| {
        let mut twin = Twin::with(target, &moving(50, 600))?;
        let mut sinks = sinks_of(&grid(51, 20), 1.0 / 64.0);
        sinks.iter_mut().for_each(|sink| sink.radius2 = 4.0);
        twin.set_time(1.25)?;
        twin.compare(findings, "predicted", 600, true, &sinks)?;
        twin.set_unpredicted();
        twin.compare_lists(findings, "lists of a block before set_unpredicted")?;
        twin.compare(findings, "unpredicted", 600, true, &sinks)?;
        twin.set_time(1.25)?;
        twin.compare_lists(findings, "lists of an unpredicted block, after set_time")?;
        twin.compare(findings, "predicted to the same time", 600, true, &sinks)?;
        twin.compare_lists(findings, "lists of a predicted block")
    },
};
