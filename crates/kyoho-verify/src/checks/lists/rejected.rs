//! Lists and batches that are refused.

use super::super::errors::expect_error;
use super::super::repeat::bits;
use super::Groups;
use crate::models::{at, grid, plummer, sink_at, sinks_of};
use crate::{Check, Findings, Needs, PlainBatch, PlainLists, PlainSources, Target, Twin};
use kyoho_core::{Result, ResultCode, Source};
use kyoho_engine::System;

/// Notes failures unless a call is rejected with words that name the error, and leaves the last
/// forces as they were.
fn expect_rejected(
    findings: &mut Findings,
    what: &str,
    system: &mut System,
    (code, words): (ResultCode, &str),
    start: impl FnOnce(&mut System) -> Result<()>,
) -> Result<()> {
    let before = bits(system.forces()?);
    let found = start(system);
    let named = found.as_ref().err().is_some_and(|error| error.to_string().contains(words));
    findings.expect(named, || format!("{what}: expected an error with the words '{words}', found {found:?}"));
    expect_error(findings, what, found, code);
    expect_error(findings, "wait after it", system.wait().map(|_| ()), ResultCode::CallOrder);
    let stay = bits(system.forces()?) == before;
    findings.expect(stay, || format!("{what}: expected the last forces to stay"));
    Ok(())
}

/// Returns numbers of which one is another.
fn changed<T: Clone>(numbers: &[T], place: usize, value: T) -> Vec<T> {
    let mut changed = numbers.to_vec();
    changed[place] = value;
    changed
}

/// A number that 32 bits do not hold.
const LARGE: i64 = 1 << 31;

pub const REJECTED: Check = Check {
    name: "rejected interaction lists",
    promise: "wrong offsets, counts and addresses are errors that name them, before anything is computed",
    needs: Needs::Full,
    run: |target, findings| {
        use ResultCode::{BadAddress, BadCount};
        let groups = Groups::of(grid(88, 60), &[(2, 20), (0, 5), (7, 31), (3, 0)]);
        let sinks = &groups.sinks[..];
        let mut twin = Twin::with(target, &groups.bodies)?;
        for (form, lists) in groups.forms() {
            twin.start_lists(&lists, true, sinks)?;
            twin.finish(findings, form)?;
            let mut reject = |what: String, expected: (ResultCode, &str), lists: PlainLists| {
                let start = |system: &mut System| lists.start(system, true, sinks);
                expect_rejected(findings, &format!("{form}, {what}"), &mut twin.system, expected, start)
            };
            // The groups begin with the sinks 0, 2, 2 and 9 of 12.
            let wrong = [(0, 1), (0, -1), (0, i64::MIN), (1, -1), (1, 3), (1, LARGE), (2, 1), (2, i64::MAX), (3, 13)];
            for (number, value) in wrong.into_iter().chain([(4, 11), (4, 13), (4, i64::MIN)]) {
                let wrong = PlainLists { sink_offsets: changed(&lists.sink_offsets, number, value), ..lists.clone() };
                reject(format!("sink offset {number} is {value}"), (BadCount, &value.to_string()), wrong)?;
            }
            // Their sources begin at the places 0, 20, 25 and 56 of 56.
            let wrong = [(0, 1), (0, -1), (1, -1), (1, 26), (2, 19), (1, LARGE + 20), (2, i64::MAX), (3, i64::MIN)];
            for (number, value) in wrong.into_iter().chain([(4, 55), (4, i64::MIN)]) {
                if !lists.source_offsets.is_empty() {
                    let source_offsets = changed(&lists.source_offsets, number, value);
                    let wrong = PlainLists { source_offsets, ..lists.clone() };
                    reject(format!("source offset {number} is {value}"), (BadCount, &value.to_string()), wrong)?;
                }
            }
            match &lists.sources {
                PlainSources::Ranges(ranges) => {
                    for (range, code, words) in [
                        ([5, -1], BadCount, "source count of group 2 is -1"),
                        ([0, i32::MIN], BadCount, "source count of group 2 is -2147483648"),
                        ([-1, 5], BadAddress, "first address of group 2 is -1"),
                        ([i32::MIN, i32::MAX], BadAddress, "first address of group 2 is -2147483648"),
                        ([59, 2], BadAddress, "last address of group 2 is 60"),
                        ([0, i32::MAX], BadAddress, "last address of group 2 is 2147483646"),
                        ([i32::MAX, i32::MAX], BadAddress, "last address of group 2 is 4294967293"),
                    ] {
                        let sources = PlainSources::Ranges(changed(ranges, 2, range));
                        reject(format!("the range {range:?}"), (code, words), PlainLists { sources, ..lists.clone() })?;
                    }
                }
                PlainSources::Addresses(addresses) => {
                    for address in [-1, 60, i32::MIN, i32::MAX] {
                        // Of two wrong addresses the first is named.
                        let wrong = changed(&changed(addresses, 55, -7), 27, address);
                        let words = format!("address 2 of group 2 is {address}");
                        let sources = PlainSources::Addresses(wrong);
                        reject(
                            format!("the address {address}"),
                            (BadAddress, &words),
                            PlainLists { sources, ..lists.clone() },
                        )?;
                    }
                }
                PlainSources::Own(sources) => {
                    for (what, code, source) in bad_sources(target, sources[27]) {
                        let sources = PlainSources::Own(changed(&changed(sources, 55, source), 27, source));
                        reject(what.into(), (code, "source 27 "), PlainLists { sources, ..lists.clone() })?;
                    }
                    let offset = changed(&lists.source_offsets, 4, 57);
                    reject(
                        "a source too few".into(),
                        (BadCount, "57"),
                        PlainLists { source_offsets: offset, ..lists.clone() },
                    )?;
                }
            }
            for (what, sink, code) in [
                ("a position of NaN", sink_at(1, [f64::NAN; 3], 0.0), ResultCode::NotFinite),
                ("a negative softening", sink_at(1, [0.0; 3], -1.0), ResultCode::OutOfRange),
            ] {
                let start = |system: &mut System| lists.start(system, true, &changed(sinks, 8, sink));
                expect_rejected(findings, what, &mut twin.system, (code, "sink 8"), start)?;
            }
            twin.start_lists(&lists, true, sinks)?;
            twin.finish(findings, &format!("{form} after all this"))?;
        }
        Ok(())
    },
};

/// Returns sources like a good one, each with one wrong number.
fn bad_sources(target: &Target, good: Source) -> Vec<(&'static str, ResultCode, Source)> {
    let (interaction, mut bad) = (target.interaction(), Vec::new());
    let (not_finite, out_of_range) = (ResultCode::NotFinite, ResultCode::OutOfRange);
    bad.push(("a mass of NaN", not_finite, Source { mass: f64::NAN, ..good }));
    bad.push(("a mass too large", out_of_range, Source { mass: -2.0 * interaction.bounds.mass, ..good }));
    bad.push(("an infinite time", not_finite, Source { time: f64::NEG_INFINITY, ..good }));
    let mut moved = good;
    moved.coefficients[0][2] = 2.0 * interaction.bounds.position;
    bad.push(("a position too large", out_of_range, moved));
    for k in 0..interaction.n_coefficients {
        let mut moved = good;
        moved.coefficients[k][k % 3] = [f64::NAN, f64::INFINITY][k % 2];
        bad.push(("a derivative that is not finite", not_finite, moved));
    }
    bad
}

pub const REJECTED_BATCHES: Check = Check {
    name: "rejected batches",
    promise: "wrong offsets and bodies of a batch are errors that name them, before anything is computed",
    needs: Needs::Full,
    run: |target, findings| {
        let bodies = grid(89, 30);
        let mut twin = Twin::with(target, &bodies)?;
        let batch = PlainBatch::of(&[&bodies[..5], &[], &bodies[5..12], &bodies[12..]].map(<[Source]>::to_vec), 0.25);
        twin.start_batch(&batch)?;
        twin.finish(findings, "a batch")?;
        let mut reject = |what: &str, expected: (ResultCode, &str), batch: PlainBatch| {
            expect_rejected(findings, what, &mut twin.system, expected, |system| batch.start(system))
        };
        let wrong = [(0, 1), (0, -1), (1, -1), (1, 6), (2, 4), (3, 31), (4, 29), (4, 31), (2, LARGE), (1, i64::MIN)];
        for (number, value) in wrong {
            let wrong = PlainBatch { offsets: changed(&batch.offsets, number, value), ..batch.clone() };
            reject(&format!("offset {number} is {value}"), (ResultCode::BadCount, &value.to_string()), wrong)?;
        }
        for (what, code, body) in bad_sources(target, bodies[8]) {
            let wrong = changed(&changed(&bodies, 20, body), 8, body);
            reject(what, (code, "of body 8"), PlainBatch { bodies: wrong, ..batch.clone() })?;
        }
        for (softening2, code) in [(-1.0, ResultCode::OutOfRange), (f64::NAN, ResultCode::NotFinite)] {
            let softening2 = changed(&batch.softening2, 13, softening2);
            reject("a softening", (code, "softening of body 13"), PlainBatch { softening2, ..batch.clone() })?;
        }
        twin.start_batch(&batch)?;
        twin.finish(findings, "a batch after all this")
    },
};

pub const OVERFLOW: Check = Check {
    name: "overflow in lists",
    promise: "a sum of one group that overflows is an error that names the sink, and the system goes on after it",
    needs: Needs::Full,
    run: |target, findings| {
        let bodies = grid(90, 280);
        let mut twin = Twin::with(target, &bodies)?;
        let bounds = target.interaction().bounds;
        let distance = if bounds.scales_lengths { 1e-16 } else { bounds.position.recip() };
        let heavy = Source { mass: bounds.mass, ..at(5, [distance, 0.0, 0.0]) };
        let groups = Groups::of(bodies, &[(3, 40), (9, 30), (30, 200)]);
        for (form, lists) in groups.forms() {
            let near = changed(&groups.sinks, 7, sink_at(-1, [0.0; 3], 0.0));
            let wrong = match &lists.sources {
                PlainSources::Own(sources) => PlainSources::Own(changed(sources, 41, heavy)),
                PlainSources::Addresses(addresses) => PlainSources::Addresses(changed(addresses, 41, 280)),
                PlainSources::Ranges(ranges) => PlainSources::Ranges(changed(ranges, 1, [251, 30])),
            };
            // The heavy source is the last of all, so that the lists of the other groups lack it.
            twin.system.set_source(280, &heavy)?;
            let wrong = PlainLists { sources: wrong, ..lists.clone() };
            wrong.start(&mut twin.system, true, &near)?;
            let found = twin.system.wait().map(|_| ());
            let named = found.as_ref().err().is_some_and(|error| error.to_string().contains("sink 7 "));
            findings.expect(named, || format!("{form}: expected an error that names sink 7, found {found:?}"));
            expect_error(findings, form, found, ResultCode::OutOfRange);
            expect_error(findings, "wait after it", twin.system.wait().map(|_| ()), ResultCode::CallOrder);
            twin.set_source(280, &groups.bodies[5])?;
            twin.start_lists(&lists, true, &groups.sinks)?;
            twin.finish(findings, &format!("{form} after it"))?;
        }
        Ok(())
    },
};

pub const CALL_ORDER: Check = Check {
    name: "order of calls of lists",
    promise: "while a block is under way neither lists nor batches can be started, and forces on them have no neighbour \
              lists",
    needs: Needs::Full,
    run: |target, findings| {
        let groups = Groups::of(grid(91, 50), &[(3, 20), (2, 31)]);
        let mut sinks = sinks_of(&groups.bodies[..4], 0.0);
        sinks.iter_mut().for_each(|sink| sink.radius2 = 4.0);
        let batch = PlainBatch::of(&[groups.bodies[..7].to_vec()], 0.0);
        let code = ResultCode::CallOrder;
        let mut twin = Twin::with(target, &groups.bodies)?;
        for (form, lists) in groups.forms() {
            for step in 0..3 {
                match step {
                    0 => twin.start(50, true, &sinks)?,
                    1 => twin.start_lists(&lists, true, &groups.sinks)?,
                    _ => twin.start_batch(&batch)?,
                }
                let system = &mut twin.system;
                expect_error(findings, "start twice", system.start(10, false, sinks.iter().copied()), code);
                expect_error(findings, "lists twice", lists.start(system, false, &groups.sinks), code);
                expect_error(findings, "a batch twice", batch.start(system), code);
                twin.finish(findings, &format!("{form}: what was started first"))?;
                if step > 0 {
                    let found = twin.system.neighbours(0).map(|_| ());
                    expect_error(findings, "neighbours on interaction lists", found, code);
                } else if target.interaction().has_lists() {
                    // A call that is rejected does not take away the neighbours of the last block.
                    let wrong = PlainLists { sink_offsets: vec![0, 9], ..lists.clone() };
                    let found = wrong.start(&mut twin.system, true, &groups.sinks);
                    expect_error(findings, "wrong lists", found, ResultCode::BadCount);
                    twin.compare_lists(findings, "neighbours of the last block")?;
                }
            }
        }
        Ok(())
    },
};

pub const REGULAR: Check = Check {
    name: "regular forces have no lists",
    promise: "a system of regular forces refuses interaction lists and batches, and goes on",
    needs: Needs::Regular,
    run: |target, findings| {
        let groups = Groups::of(plummer(300), &[(3, 20), (2, 31)]);
        let mut twin = Twin::with(target, &groups.bodies)?;
        let sinks = target.sinks_of(&groups.bodies[..20], 0.0);
        twin.compare(findings, "a block", 300, true, &sinks)?;
        let code = ResultCode::Unsupported;
        for (form, lists) in groups.forms() {
            expect_error(findings, form, lists.start(&mut twin.system, true, &groups.sinks), code);
        }
        let batch = PlainBatch::of(std::slice::from_ref(&groups.bodies), 0.0);
        expect_error(findings, "a batch", batch.start(&mut twin.system), code);
        twin.compare_lists(findings, "the block after these")?;
        twin.compare(findings, "another block", 300, true, &sinks)
    },
};
