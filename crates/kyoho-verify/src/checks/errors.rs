//! Wrong input is an error, and nothing is lost.

use crate::models::{at, grid, sink_at, sinks_of};
use crate::{Check, Findings, Needs, Twin};
use kyoho_core::{Error, Result, ResultCode, Sink, Source};

/// Notes a failure unless there is an error of this kind.
pub(super) fn expect_error<T>(findings: &mut Findings, what: &str, found: Result<T>, expected: ResultCode) {
    match found {
        Ok(_) => findings.fail(format!("{what}: expected the error {expected:?}, found none")),
        Err(error) => findings.expect(error.code() == expected, || {
            format!("{what}: expected the error {expected:?}, found {:?}: {error}", error.code())
        }),
    }
}

pub const OVERFLOW: Check = Check {
    name: "overflow",
    promise: "a sum that overflows is an error, and the system goes on after it",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(61, 280);
        let mut twin = Twin::with(target, &sources)?;
        let bounds = target.interaction().bounds;
        // The distance is so small that the weight overflows, but the square of the distance does
        // not underflow.
        let distance = if bounds.scales_lengths { 1e-16 } else { bounds.position.recip() };
        let heavy = Source { mass: bounds.mass, ..at(5, [distance, 0.0, 0.0]) };
        for ni in [1, 20] {
            let sinks = sinks_of(&sources[..ni], 0.0);
            let mut near = sinks.clone();
            near[ni / 2] = sink_at(-1, [0.0; 3], 0.0);
            twin.system.set_source(5, &heavy)?;
            let found = twin.system.force(280, true, near).map(|_| ());
            expect_error(findings, "the largest mass at a small distance", found, ResultCode::OutOfRange);
            expect_error(findings, "wait after it", twin.system.wait().map(|_| ()), ResultCode::CallOrder);
            twin.set_source(5, &sources[5])?;
            twin.compare(findings, "the block after it", 280, true, &sinks)?;
        }
        Ok(())
    },
};

pub const REJECTED_SOURCES: Check = Check {
    name: "rejected sources and times",
    promise: "a source or time that is NaN, infinite or too large is an error that changes nothing",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(62, 50);
        let mut twin = Twin::with(target, &sources)?;
        twin.set_time(0.5)?;
        let sinks = sinks_of(&sources[..20], 0.0);
        twin.compare(findings, "before", 50, true, &sinks)?;
        let largest = target.interaction().bounds;
        let (not_finite, out_of_range) = (ResultCode::NotFinite, ResultCode::OutOfRange);
        let good = sources[7];
        let moved = |order: usize, component: usize, value: f64| {
            let mut source = good;
            source.coefficients[order][component] = value;
            source
        };
        let mut bad = vec![
            ("a mass of NaN", Source { mass: f64::NAN, ..good }, not_finite),
            ("an infinite mass", Source { mass: f64::INFINITY, ..good }, not_finite),
            ("a mass too large", Source { mass: largest.mass * 2.0, ..good }, out_of_range),
            ("a time of NaN", Source { time: f64::NAN, ..good }, not_finite),
            ("an infinite time", Source { time: f64::NEG_INFINITY, ..good }, not_finite),
            ("a position too large", moved(0, 2, -largest.position * 2.0), out_of_range),
        ];
        for order in 0..target.interaction().n_coefficients {
            bad.push(("a coefficient of NaN", moved(order, order % 3, f64::NAN), not_finite));
            bad.push(("an infinite coefficient", moved(order, 2, f64::INFINITY), not_finite));
        }
        for (what, source, code) in &bad {
            for address in [7, 50] {
                expect_error(findings, what, twin.system.set_source(address, source), *code);
            }
        }
        let beyond = twin.system.set_source(1 << 31, &good);
        expect_error(findings, "an address of 2^31", beyond, ResultCode::BadAddress);
        for time in [f64::NAN, f64::INFINITY] {
            expect_error(findings, "the time", twin.system.set_time(time), not_finite);
        }
        findings.expect_equal("the time that was set before", twin.system.time(), 0.5);
        findings.expect_equal("sources", twin.system.statistics().sources, 50);
        findings.expect_equal("writes", twin.system.statistics().writes, 50);
        twin.compare(findings, "after", 51, true, &sinks)
    },
};

pub const REJECTED_SINKS: Check = Check {
    name: "rejected sinks",
    promise: "a sink that is NaN, infinite or too large is an error that names it and changes nothing",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(63, 50);
        let mut twin = Twin::with(target, &sources)?;
        let sinks = sinks_of(&sources[..20], 0.0);
        let largest = target.interaction().bounds.position;
        let good = sinks[11];
        let moved = |vector: usize, value: f64| {
            let mut sink = good;
            sink.derivatives[vector][1] = value;
            sink
        };
        let (not_finite, out_of_range) = (ResultCode::NotFinite, ResultCode::OutOfRange);
        let mut bad = vec![
            ("an infinite position", moved(0, f64::NEG_INFINITY), not_finite),
            ("a position too large", moved(0, largest * 2.0), out_of_range),
            ("a softening of NaN", Sink { softening2: f64::NAN, ..good }, not_finite),
            ("a negative softening", Sink { softening2: -1.0, ..good }, out_of_range),
            ("an infinite radius", Sink { radius2: f64::INFINITY, ..good }, not_finite),
        ];
        for vector in 0..target.interaction().n_derivatives {
            bad.push(("a vector of NaN", moved(vector, f64::NAN), not_finite));
        }
        for (what, sink, code) in bad {
            let mut block = sinks.clone();
            block[11] = sink;
            let found = twin.system.start(50, true, block);
            let named = found.as_ref().err().is_some_and(|error: &Error| error.to_string().contains("sink 11"));
            findings.expect(named, || format!("{what}: expected an error that names sink 11"));
            expect_error(findings, what, found, code);
            expect_error(findings, "wait after it", twin.system.wait().map(|_| ()), ResultCode::CallOrder);
            twin.compare(findings, "the block after it", 50, true, &sinks)?;
        }
        Ok(())
    },
};

pub const CALL_ORDER: Check = Check {
    name: "order of calls",
    promise: "calls that make no sense where they come are errors, and the block under way is not disturbed",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(64, 50);
        let sinks = sinks_of(&sources[..3], 0.0);
        let mut twin = Twin::with(target, &sources)?;
        let code = ResultCode::CallOrder;
        expect_error(findings, "wait before any start", twin.system.wait().map(|_| ()), code);
        let lists = twin.system.neighbours(0).map(|_| ());
        expect_error(findings, "neighbours before any block", lists, code);
        twin.start(50, true, &sinks)?;
        expect_error(findings, "start twice", twin.system.start(10, false, sinks[..1].iter().copied()), code);
        let lists = twin.system.neighbours(0).map(|_| ());
        expect_error(findings, "neighbours before wait", lists, code);
        twin.finish(findings, "the block that was started first")?;
        expect_error(findings, "wait twice", twin.system.wait().map(|_| ()), code);
        let (sink, code) =
            if target.interaction().has_lists() { (3, ResultCode::BadCount) } else { (0, ResultCode::CallOrder) };
        let lists = twin.system.neighbours(sink).map(|_| ());
        expect_error(findings, "neighbours in a system without lists", lists, code);
        twin.compare(findings, "after all this", 50, true, &sinks)
    },
};
