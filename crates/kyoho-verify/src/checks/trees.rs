//! Forces by a tree, against the reference.

use super::repeat::bits;
use crate::models::{self, Random, plummer, sink_at, sinks_of};
use crate::reference::{Force, Predicted, force, predict_all};
use crate::{Check, Findings, Needs, Target};
use kyoho_core::{Order, Partition, Result, Sink, SinkOrder, Source, TreeAccuracy, TreePhase, TreeProfile};
use kyoho_engine::moving::MovingBody;
use kyoho_engine::{Setup, System};
use kyoho_methods::device_arrays::Motion;

/// The number of bodies of the models.
const BODIES: usize = 2000;
/// So many that devices read them as they are in the host's memory.
const MANY: usize = 9_000;
/// About so many sinks are compared with the reference.
const SAMPLES: usize = 200;
/// The accuracy that most checks ask for.
const ACCURACY: f64 = 1e-3;

/// The largest median and 99th percentile of errors for each unit of the accuracy.
const LIMITS: [f64; 2] = [1.0, 5.0];

/// Potential and acceleration of each sink.
type Forces = Vec<[f64; 4]>;

/// A model whose forces are summed by a tree however few its bodies are.
struct Model<'a> {
    target: &'a Target,
    sources: &'a [Source],
    skip_own_index: bool,
}

impl Model<'_> {
    /// Returns a system of the sources that sums forces by a tree.
    fn system(&self, accuracy: TreeAccuracy) -> Result<System> {
        let mut system = System::new(&self.target.setup)?;
        system.set_tree(Some(accuracy))?;
        system.set_tree_crossover(Some(0));
        for (address, source) in self.sources.iter().enumerate() {
            system.set_source(address, source)?;
        }
        Ok(system)
    }

    /// Returns the forces on all sinks by a tree.
    fn forces(&self, accuracy: f64, sinks: &[Sink]) -> Result<Forces> {
        forces_of(&mut self.system(TreeAccuracy::Error(accuracy))?, self.skip_own_index, sinks)
    }

    /// Returns the forces on some sinks by the reference.
    fn expected<'a>(&self, sinks: impl Iterator<Item = &'a Sink>) -> Forces {
        let sources: Vec<Predicted<f64>> = predict_all(Order::Second, self.sources, 0.0);
        let of_sink = |sink: &Sink| {
            let Force { potential, acceleration: [x, y, z], .. } =
                force(Order::Second, &sources, self.skip_own_index, sink);
            [potential, x, y, z]
        };
        sinks.map(of_sink).collect()
    }

    /// Returns the median and the 99th percentile of the errors of some forces: of accelerations,
    /// and of potentials. They are relative to the reference, or to that of another model: of the
    /// masses' sizes, where masses of both signs cancel one another.
    fn errors(&self, found: &Forces, sinks: &[Sink], relative_to: Option<&[Source]>) -> [[f64; 2]; 2] {
        let stride = sinks.len().div_ceil(SAMPLES);
        let sample = || sinks.iter().step_by(stride);
        let expected = self.expected(sample());
        let scale = match relative_to {
            Some(sources) => &Model { sources, ..*self }.expected(sample()),
            None => &expected,
        };
        let errors = |part: std::ops::Range<usize>| {
            let error = |((found, expected), scale): ((&[f64; 4], &[f64; 4]), &[f64; 4])| {
                let difference: f64 = part.clone().map(|k| (found[k] - expected[k]).powi(2)).sum();
                let size: f64 = part.clone().map(|k| scale[k].powi(2)).sum();
                if difference == 0.0 { 0.0 } else { (difference / size).sqrt() }
            };
            let mut errors: Vec<f64> = found.iter().step_by(stride).zip(&expected).zip(scale).map(error).collect();
            errors.sort_by(f64::total_cmp);
            [50, 99].map(|percent| errors[(errors.len() - 1) * percent / 100])
        };
        [errors(1..4), errors(0..1)]
    }

    /// Computes forces by a tree and notes their errors, relative to another model if one is given.
    fn compare(
        &self,
        findings: &mut Findings,
        what: &str,
        accuracy: f64,
        sinks: &[Sink],
        relative_to: Option<&[Source]>,
    ) -> Result<()> {
        let errors = self.errors(&self.forces(accuracy, sinks)?, sinks, relative_to);
        for (quantity, errors) in ["acceleration", "potential"].into_iter().zip(errors) {
            measure(findings, &format!("{what}: {quantity}"), errors, LIMITS.map(|limit| limit * accuracy));
        }
        Ok(())
    }
}

/// Returns the source that is the sink of a number.
type SourceOf<'a> = &'a (dyn Fn(usize) -> usize + Sync);
/// Returns the sink of a number.
type SinkOf<'a> = &'a (dyn Fn(usize) -> Sink + Sync);

/// Notes a median and a 99th percentile of errors with their limits.
fn measure(findings: &mut Findings, what: &str, errors: [f64; 2], limits: [f64; 2]) {
    findings.measure(&format!("{what}, median"), errors[0], limits[0]);
    findings.measure(&format!("{what}, 99th percentile"), errors[1], limits[1]);
}

/// Returns the potential and the acceleration of each sink of a block.
fn numbers(forces: kyoho_core::Forces) -> Forces {
    let of_sink = |sink: usize| {
        let [x, y, z] = forces.acceleration(sink);
        [forces.potential(sink), x, y, z]
    };
    (0..forces.len()).map(of_sink).collect()
}

/// Returns the forces on all sinks by a system.
fn forces_of(system: &mut System, skip_own_index: bool, sinks: &[Sink]) -> Result<Forces> {
    Ok(numbers(system.force(BODIES, skip_own_index, sinks.iter().copied())?))
}

pub const ACCURACIES: Check = Check {
    name: "accuracy of trees",
    promise: "half of the accelerations by a tree have at most the error that was asked for, 99 of 100 five times it",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        for accuracy in [1e-3, 1e-4] {
            model.compare(findings, &format!("accuracy {accuracy:e}"), accuracy, &sinks_of(&sources, 1e-4), None)?;
        }
        Ok(())
    },
};

pub const ANGLES: Check = Check {
    name: "opening angles of trees",
    promise: "an opening angle may be asked for in the place of an accuracy, and a smaller one has smaller errors",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let sinks = sinks_of(&sources, 1e-4);
        for (theta, limits) in [(1.0, [5e-3, 0.1]), (0.6, [1e-3, 0.03]), (0.3, [1e-4, 3e-3])] {
            let found = forces_of(&mut model.system(TreeAccuracy::Theta(theta))?, true, &sinks)?;
            let [errors, _] = model.errors(&found, &sinks, None);
            measure(findings, &format!("theta {theta}: acceleration"), errors, limits);
        }
        Ok(())
    },
};

pub const STACKLESS: Check = Check {
    name: "stackless walks of trees",
    promise: "a walk for each sink, in which cells are points, has errors that a smaller theta makes small, and the same \
              bits in both orders of the sinks",
    needs: Needs::Trees,
    run: |target, findings| {
        let mut sources = plummer(BODIES);
        let sinks = sinks_of(&sources, 1e-4);
        for (theta, limits) in [(1.0, [0.03, 0.3]), (0.6, [6e-3, 0.06]), (0.3, [1e-3, 0.01])] {
            let model = Model { target, sources: &sources, skip_own_index: true };
            let by = |order: SinkOrder| -> Result<Forces> {
                let walk = TreeAccuracy::Stackless { theta, sinks: order };
                forces_of(&mut model.system(walk)?, true, &sinks)
            };
            let found = by(SinkOrder::Given)?;
            for (quantity, errors) in ["acceleration", "potential"].into_iter().zip(model.errors(&found, &sinks, None))
            {
                measure(findings, &format!("theta {theta}: {quantity}"), errors, limits);
            }
            let in_order = by(SinkOrder::Morton)?;
            findings.expect(found == in_order, || format!("theta {theta}: other bits in Morton order"));
        }
        // Points that are no sources, and masses of both signs.
        let sizes = sources.clone();
        sources.iter_mut().step_by(2).for_each(|source| source.mass = -source.mass);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let moved: Vec<Sink> = sinks.iter().map(|sink| Sink { index: -1, softening2: 0.0, ..*sink }).collect();
        for sinks in [&sinks, &moved, &sinks[300..700].to_vec()] {
            let walk = TreeAccuracy::Stackless { theta: 0.3, sinks: SinkOrder::Morton };
            let found = forces_of(&mut model.system(walk)?, true, sinks)?;
            let [errors, _] = model.errors(&found, sinks, Some(&sizes));
            measure(findings, &format!("masses of both signs, {} sinks", sinks.len()), errors, [2e-3, 0.02]);
        }
        Ok(())
    },
};

pub const PHASES: Check = Check {
    name: "phases of trees",
    promise: "a device that is asked for the phases of a tree measures them, counts interactions, and changes no force",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let sinks = sinks_of(&sources, 1e-4);
        let all = (BODIES * BODIES) as u64;
        let by_walk = TreeAccuracy::Stackless { theta: 0.6, sinks: SinkOrder::Morton };
        for (accuracy, summed) in [(TreeAccuracy::Error(ACCURACY), all), (by_walk, 0)] {
            let system = &mut model.system(accuracy)?;
            let once = forces_of(system, true, &sinks)?;
            system.profile_trees(true);
            let measured = forces_of(system, true, &sinks)?;
            let profile = system.profile_trees(false);
            findings.expect(once == measured, || format!("{accuracy:?}: other bits where phases are measured"));
            let TreeProfile { near, far, .. } = profile;
            let is_right = profile.seconds_of(TreePhase::Walk) > 0.0 && far > 0 && near <= summed && near + far < all;
            findings.expect(is_right, || format!("{accuracy:?}, {all} pairs: {profile:?}"));
        }
        Ok(())
    },
};

pub const SOFTENING: Check = Check {
    name: "softening of trees",
    promise: "forces by a tree are as accurate with any softening, and without it",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        for softening in [0.0, 0.05, 0.5] {
            let sinks = sinks_of(&sources, softening * softening);
            model.compare(findings, &format!("softening {softening}"), ACCURACY, &sinks, None)?;
        }
        Ok(())
    },
};

pub const OWN_INDEX: Check = Check {
    name: "own index in trees",
    promise: "a sink feels the source of its index in a tree only where own indices are not skipped",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let sinks = sinks_of(&sources, 0.01);
        // With its own mass a body's potential has a term of m / 0.1 more.
        let model = Model { target, sources: &sources, skip_own_index: false };
        model.compare(findings, "all sources", ACCURACY, &sinks, None)?;
        let (own, others) = (model.forces(ACCURACY, &sinks)?, Model { skip_own_index: true, ..model });
        let terms = own.iter().zip(others.forces(ACCURACY, &sinks)?).map(|(own, others)| others[0] - own[0]);
        let expected = 10.0 / BODIES as f64;
        let worst = terms.map(|term| (term / expected - 1.0).abs()).fold(0.0, f64::max);
        findings.measure("the term of a body itself in its potential", worst, 0.01);
        Ok(())
    },
};

pub const OTHER_SINKS: Check = Check {
    name: "sinks elsewhere in trees",
    promise: "forces by a tree are as accurate on points that are no sources, and on a part of the sources",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let mut random = Random::new(42);
        let mut at = |size: f64| sink_at(-1, random.direction().map(|component| size * component), 1e-4);
        let points: Vec<Sink> = (0..1500).map(|number| at(0.001 * number as f64)).collect();
        model.compare(findings, "points among the sources", ACCURACY, &points, None)?;
        let far: Vec<Sink> = (0..1000).map(|number| at(10f64.powi(1 + number % 4))).collect();
        model.compare(findings, "points far away", ACCURACY, &far, None)?;
        model.compare(findings, "a part of the sources", ACCURACY, &sinks_of(&sources[700..1500], 1e-4), None)
    },
};

pub const REPEATED_INDICES: Check = Check {
    name: "repeated indices in trees",
    promise: "a sink feels no source of its index in a tree, however many these are, wherever they and the sink lie, \
              and whatever numbers indices are",
    needs: Needs::Trees,
    run: |target, findings| {
        let bodies = plummer(BODIES);
        // Pairs, many of one index, and each another one in no order; the least ones and the largest.
        type Kind = (&'static str, f64, fn(usize) -> i32);
        let kinds: [Kind; 3] = [
            ("pairs", 0.0, |number| (number / 2) as i32),
            ("a hundred of one index", 0.25, |number| if number < 100 { -7 } else { i32::MIN + number as i32 }),
            ("in no order", 0.01, |number| i32::MAX - ((number * 1193) % BODIES) as i32),
        ];
        for (kind, softening2, index_of) in kinds {
            let indexed = |(number, source): (usize, Source)| Source { index: index_of(number), ..source };
            let mut sources: Vec<Source> = bodies.iter().copied().enumerate().map(indexed).collect();
            // One that is close, and has most of the force on the other one.
            let [x, y, z] = sources[10].coefficients[0];
            (sources[11].coefficients[0], sources[11].index) = ([x + 1e-3, y, z], sources[10].index);
            let model = Model { target, sources: &sources, skip_own_index: true };
            let mut sinks = sinks_of(&sources, softening2);
            model.compare(findings, &format!("{kind}: all"), ACCURACY, &sinks, None)?;
            // Some in another order, some moved, and some with the index of another body or of none.
            sinks.reverse();
            sinks.truncate(BODIES * 2 / 3);
            for (number, sink) in sinks.iter_mut().enumerate() {
                match number % 5 {
                    0 => sink.derivatives[0][0] += 0.01,
                    1 => sink.index = index_of((number * 7) % BODIES),
                    2 => sink.index = 5_000_000,
                    _ => (),
                }
            }
            model.compare(findings, &format!("{kind}: some"), ACCURACY, &sinks, None)?;
        }
        Ok(())
    },
};

pub const PARTS: Check = Check {
    name: "parts of the sources in trees",
    promise: "sinks that are some of the sources have forces of the accuracy that was asked for, in any order and with \
              own indices or without, the same bits whatever was computed before, and bodies that a device has stay there",
    needs: Needs::TreesOfGpu,
    run: |target, findings| {
        let mut sources = plummer(MANY);
        let system = |sources: &[Source], at_once: bool| -> Result<System> {
            let mut system = System::new(&target.setup)?;
            system.set_tree(Some(TreeAccuracy::Error(ACCURACY)))?;
            system.set_tree_crossover(Some(1 << 20));
            if at_once {
                system.set_sources(sources.len(), |address| sources[address])?;
            } else {
                (0..sources.len()).try_for_each(|address| system.set_source(address, &sources[address]))?;
            }
            Ok(system)
        };
        // Indices are addresses, then they are none and come twice.
        for index_of in [|number: usize| number as i32, |number: usize| 7 - (number % 4500) as i32] {
            (0..).zip(&mut sources).for_each(|(number, source)| source.index = index_of(number));
            let all = sinks_of(&sources, 1e-6);
            // In no order.
            let some = |count: usize| (0..count).map(|number| all[number * 4241 % MANY]).collect::<Vec<Sink>>();
            let mut kept = system(&sources, true)?;
            for skips in [true, false] {
                let counts: &[usize] = if skips { &[MANY - 1, 5000, 500] } else { &[5000] };
                for &count in counts {
                    let sinks = some(count);
                    kept.start_from_fn(MANY, skips, count, |number| sinks[number])?;
                    let found = bits(kept.wait()?);
                    let forces = kept.forces()?;
                    let forces = numbers(forces);
                    let model = Model { target, sources: &sources, skip_own_index: skips };
                    let what = format!("{count} sinks, own index skipped: {skips}, indices from {}", sources[0].index);
                    let [errors, _] = model.errors(&forces, &sinks, None);
                    measure(findings, &what, errors, LIMITS.map(|limit| limit * ACCURACY));
                    let ways: &[bool] = if skips { &[true, false] } else { &[] };
                    for &at_once in ways {
                        let mut fresh = system(&sources, at_once)?;
                        let other = bits(fresh.force(MANY, skips, sinks.iter().copied())?);
                        let is_same = found == other;
                        findings.expect(is_same, || format!("{what}, sources at once: {at_once}: other bits anew"));
                    }
                }
            }
            let before = kept.statistics().bytes;
            kept.sources([0])?;
            let copied = kept.statistics().bytes.saturating_sub(before);
            findings.expect(copied > 100_000, || "the host had a copy of sources that the device took".into());
        }
        Ok(())
    },
};

pub const AMONG_OTHERS: Check = Check {
    name: "sources as sinks of trees",
    promise: "forces by a tree on some of the sources have the bits of those on all where no other sink near them is \
              missing, in any order, and the accuracy that was asked for elsewhere",
    needs: Needs::TreesOfGpu,
    run: |target, findings| {
        let mut sources = plummer(MANY);
        // Indices are addresses; then they are none, many bodies are in one point, and masses have both signs.
        for index_of in [|number: usize| number as i32, |number: usize| 7 - number as i32] {
            (0..).zip(&mut sources).for_each(|(number, source)| source.index = index_of(number));
            let sinks = sinks_of(&sources, 1e-6);
            let mut system = System::new(&target.setup)?;
            system.set_tree(Some(TreeAccuracy::Error(ACCURACY)))?;
            system.set_tree_crossover(Some(0));
            system.set_sources(MANY, |address| sources[address])?;
            system.start_all(MANY, sinks[0].softening2)?;
            let all = numbers(system.wait()?);
            // The sinks, and how many of them have the bits of the forces on all at least.
            let cases: [(&str, [usize; 2], SourceOf); 5] = [
                ("all in another order", [MANY, MANY], &|sink| sink * 4241 % MANY),
                ("all but one", [MANY - 1, MANY / 4], &|sink| sink * 4241 % MANY),
                ("a half", [MANY / 2, 0], &|sink| MANY - 1 - 2 * sink),
                ("few", [60, 0], &|sink| sink * 139),
                ("several times each", [5000, 0], &|sink| sink % 700 * 12),
            ];
            for (what, [count, least], source_of) in cases {
                system.start_from_fn(MANY, true, count, |sink| sinks[source_of(sink)])?;
                let found = numbers(system.wait()?);
                let what = format!("{what}, indices from {}", index_of(0));
                let same = (0..count).filter(|sink| found[*sink] == all[source_of(*sink)]).count();
                findings.expect(same >= least, || format!("{what}: {same} of {least} forces have the bits of all"));
                let twice = (0..count.saturating_sub(700)).filter(|sink| source_of(*sink) == source_of(*sink + 700));
                let differing = { twice }.find(|sink| found[*sink] != found[*sink + 700]);
                let is_same = differing.is_none();
                findings.expect(is_same, || format!("{what}: sink {differing:?} comes again with other bits"));
                let those: Vec<Sink> = (0..count).map(|sink| sinks[source_of(sink)]).collect();
                let model = Model { target, sources: &sources, skip_own_index: true };
                let [errors, _] = model.errors(&found, &those, None);
                measure(findings, &what, errors, LIMITS.map(|limit| limit * ACCURACY));
            }
            let point = sources[0];
            sources[..100].fill(point);
            sources.iter_mut().step_by(5).for_each(|source| source.mass = -source.mass);
        }
        Ok(())
    },
};

pub const MASSLESS: Check = Check {
    name: "massless sources in trees",
    promise: "a source without mass adds nothing to forces by a tree and feels the others",
    needs: Needs::Trees,
    run: |target, findings| {
        let mut sources = plummer(BODIES);
        sources.iter_mut().step_by(3).for_each(|source| source.mass = 0.0);
        let model = Model { target, sources: &sources, skip_own_index: true };
        model.compare(findings, "a third without mass", ACCURACY, &sinks_of(&sources, 1e-4), None)?;
        sources.iter_mut().for_each(|source| source.mass = 0.0);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let found = model.forces(ACCURACY, &sinks_of(&sources, 1e-4))?;
        let strange = found.iter().flatten().find(|number| **number != 0.0);
        findings.expect_equal("numbers in forces of no mass that are not zero", strange, None);
        Ok(())
    },
};

pub const NEGATIVE: Check = Check {
    name: "negative masses in trees",
    promise: "masses of both signs have forces by a tree whose errors are small beside those of the masses' sizes",
    needs: Needs::Trees,
    run: |target, findings| {
        let sizes = plummer(BODIES);
        let mut sources = sizes.clone();
        sources.iter_mut().step_by(2).for_each(|source| source.mass = -source.mass);
        let model = Model { target, sources: &sources, skip_own_index: true };
        model.compare(findings, "half of the masses", ACCURACY, &sinks_of(&sources, 1e-4), Some(&sizes))
    },
};

pub const REPEATED: Check = Check {
    name: "bits of trees",
    promise: "a force by a tree has the same bits when it is repeated, after other forces, and on more threads",
    needs: Needs::Trees,
    run: |target, findings| {
        let sources = models::uniform_sphere(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let sinks = sinks_of(&sources, 1e-4);
        let system = &mut model.system(TreeAccuracy::Error(ACCURACY))?;
        let once = forces_of(system, true, &sinks)?;
        forces_of(system, true, &sinks[..100])?;
        let again = forces_of(system, true, &sinks)?;
        system.set_tree(None)?;
        let direct = forces_of(system, true, &sinks)?;
        let threads = target.with(target.setup.threads + 2, &target.setup.devices);
        let by_threads = Model { target: &threads, ..model }.forces(ACCURACY, &sinks)?;
        findings.expect(once == again, || "expected the same bits in two calls; found others".into());
        findings.expect(once == by_threads, || "expected the same bits with more threads; found others".into());
        findings.expect(once != direct, || "expected other bits than those of direct sums; found the same".into());
        Ok(())
    },
};

pub const AT_ONCE: Check = Check {
    name: "many bodies at once in trees",
    promise: "sources and sinks that come all at once have the forces, to the bit, of those that come one by one",
    needs: Needs::TreesOfGpu,
    run: |target, findings| {
        let mut sources = plummer(MANY);
        let mut systems = [System::new(&target.setup)?, System::new(&target.setup)?];
        for system in &mut systems {
            system.set_tree(Some(TreeAccuracy::Error(1e-2)))?;
            system.set_tree_crossover(Some(1 << 20));
            // What was there before is replaced, also where the host has it.
            (0..10).try_for_each(|address| system.set_source(address, &sources[0]))?;
        }
        // Once the indices are the addresses and the times zero, once neither.
        for shift in [0, 7] {
            for source in &mut sources {
                (source.index, source.time) = (source.index + shift, f64::from(shift));
            }
            let sinks = sinks_of(&sources, 1e-6);
            let [at_once, one_by_one] = &mut systems;
            at_once.set_sources(MANY, |address| sources[address])?;
            for (address, source) in sources.iter().enumerate() {
                one_by_one.set_source(address, source)?;
            }
            let moved = |number: usize| {
                let [x, y, z] = sinks[number].derivatives[0];
                sink_at(-1, [x, 1.5 * y, z], 1e-6)
            };
            let a_few = |number: usize| sinks[100 * number];
            let all: [(&str, bool, usize, SinkOf); 4] = [
                ("the sources", true, MANY, &|number| sinks[number]),
                ("the sources, with themselves", false, MANY, &|number| sinks[number]),
                ("others", false, MANY, &moved),
                ("a few, by all pairs", true, 5, &a_few),
            ];
            let kinds = if shift == 0 { &all[..1] } else { &all[1..] };
            for &(what, skips, count, sink) in kinds {
                let mut forces = Vec::new();
                at_once.start_from_fn(MANY, skips, count, sink)?;
                let found = at_once.wait()?;
                forces.extend((0..count).map(|number| (found.potential(number), found.acceleration(number))));
                let expected = one_by_one.force(MANY, skips, (0..count).map(sink))?;
                let differs =
                    |number: &usize| forces[*number] != (expected.potential(*number), expected.acceleration(*number));
                let first = (0..count).find(differs);
                findings.expect_equal(
                    &format!("indices from {shift}: the first of {what} with other bits"),
                    first,
                    None,
                );
            }
            at_once.start_all(MANY, sinks[0].softening2)?;
            let found = at_once.wait()?;
            let expected = one_by_one.force(MANY, true, sinks.iter().copied())?;
            let differs = |number: &usize| found.acceleration(*number) != expected.acceleration(*number);
            let first = (0..MANY).find(differs);
            findings.expect_equal(
                &format!("indices from {shift}: the first on one another with other bits"),
                first,
                None,
            );
        }
        let [at_once, _] = &mut systems;
        let wrong = |address: usize| match address {
            8_700.. => Source { mass: f64::NAN, ..sources[address] },
            _ => sources[0],
        };
        let message = at_once.set_sources(MANY, wrong).err().map(|error| error.to_string()).unwrap_or_default();
        findings.expect(message.contains("the mass of the source at address 8700"), || format!("the error: {message}"));
        // The order keeps no derivatives.
        let essence = |source: &Source| (source.index, source.mass, source.time, source.coefficients[0]);
        let kept = at_once.sources([5, MANY - 1])?.iter().flatten().map(essence).collect::<Vec<_>>();
        let expected = [5, MANY - 1].map(|address| essence(&sources[address]));
        findings.expect_equal("sources that an error left as they were", kept, expected.to_vec());
        Ok(())
    },
};

pub const DEVICES: Check = Check {
    name: "trees of several devices",
    promise: "forces by a tree have the bits of one device on several, whatever was computed before",
    needs: Needs::TreesOfGpu,
    run: |target, findings| {
        if target.setup.threads > 1 || target.setup.devices.len() > 1 {
            return Ok(());
        }
        let sources = plummer(MANY);
        let forces = |devices: &[usize], partition: Option<Partition>| -> Result<Vec<Vec<u64>>> {
            let setup = Setup { partition, ..target.with(1, devices).setup };
            let mut system = System::new(&setup)?;
            system.set_tree(Some(TreeAccuracy::Error(1e-2)))?;
            system.set_tree_crossover(Some(1 << 20));
            system.set_sources(MANY, |address| sources[address])?;
            let sinks = sinks_of(&sources, 1e-6);
            let mut found = Vec::new();
            let mut all = |system: &mut System, sinks: &[Sink]| -> Result<()> {
                found.push(bits(system.force(MANY, true, sinks.iter().copied())?));
                Ok(())
            };
            all(&mut system, &sinks)?;
            // The tree is kept, then it is another one.
            all(&mut system, &sinks)?;
            system.set_source(7, &sources[8])?;
            all(&mut system, &sinks)?;
            // Few sinks by direct sums, others by a tree of their own, and no tree any more.
            system.set_sources(MANY, |address| sources[address])?;
            all(&mut system, &sinks[..9])?;
            all(&mut system, &sinks[..5000])?;
            system.tree_errors(MANY, true, &sinks, 10)?;
            system.set_tree(None)?;
            all(&mut system, &sinks[..300])?;
            Ok(found)
        };
        let expected = forces(&target.setup.devices, None)?;
        let first = target.setup.devices[0];
        let alike = if first == 0 { target.setup.backend.visible()?.alike } else { 1 };
        for devices in [vec![first; 2], vec![first; 3]].into_iter().chain((2..=alike).map(|count| (0..count).collect()))
        {
            // With a partition few bodies are shared too.
            let found = forces(&devices, Some(Partition { ranges: devices.len(), sets: 1 }))?;
            let other = expected.iter().zip(&found).position(|(one, several)| one != several);
            findings.expect_equal(&format!("devices {devices:?}: the first call with other bits"), other, None);
        }
        Ok(())
    },
};

pub const MOVING: Check = Check {
    name: "bodies that a device moves",
    promise: "bodies that stay on a device while they move have the bits of those that the host moves",
    needs: Needs::TreesOfGpu,
    run: |target, findings| {
        let sources = plummer(MANY);
        let system = || -> Result<System> {
            let mut system = System::new(&target.setup)?;
            system.set_tree(Some(TreeAccuracy::Error(1e-2)))?;
            system.set_tree_crossover(Some(1 << 20));
            Ok(system)
        };
        let (mut by_device, mut by_host) = (system()?, system()?);
        let body = |number: usize| MovingBody {
            mass: sources[number].mass,
            position: sources[number].coefficients[0],
            velocity: sources[number].coefficients[1],
            acceleration: [0.1, -0.2, 0.3],
        };
        let is_moved = by_device.keep_moving(MANY, body)?;
        if !is_moved {
            findings.fail("the device does not move bodies".into());
            return Ok(());
        }
        let mut bodies: Vec<MovingBody> = (0..MANY).map(body).collect();
        let mut lost = vec![[[0.0; 3]; 2]; MANY];
        // What rounding takes off a number comes back with the next term, until a new motion begins.
        let add = |sum: &mut f64, lost: &mut f64, term: f64| {
            let whole = *lost + term;
            let before = *sum;
            *sum = before + whole;
            *lost = whole - (*sum - before);
        };
        for (kicks, begins) in [([0.0, 0.01], true), ([0.01, 0.01], false), ([0.01, 0.03], false), ([0.03, 0.01], true)]
        {
            let motion = Motion { kicks, drift: 0.02, begins };
            if begins {
                lost.fill([[0.0; 3]; 2]);
            }
            let is_moved = by_device.move_bodies(&motion, Some(1e-4))?;
            findings.expect(is_moved, || "the device did not move the bodies".into());
            for (body, [of_position, of_velocity]) in bodies.iter_mut().zip(&mut lost) {
                for k in 0..3 {
                    for kick in kicks.into_iter().filter(|kick| *kick != 0.0) {
                        add(&mut body.velocity[k], &mut of_velocity[k], kick * body.acceleration[k]);
                    }
                    add(&mut body.position[k], &mut of_position[k], motion.drift * body.velocity[k]);
                }
            }
            by_host.set_sources(MANY, |number| {
                models::source(number as i32, bodies[number].mass, [bodies[number].position])
            })?;
            by_host.start_from_fn(MANY, true, MANY, |number| sink_at(number as i32, bodies[number].position, 1e-4))?;
            let forces = by_host.wait()?;
            bodies.iter_mut().enumerate().for_each(|(number, body)| body.acceleration = forces.acceleration(number));
        }
        let Some(moved) = by_device.moved()? else {
            findings.fail("the device has lost the bodies".into());
            return Ok(());
        };
        let first = (0..MANY).find(|number| moved(*number) != bodies[*number]);
        findings.expect_equal("the first body with other bits", first, None);
        Ok(())
    },
};

pub const NEIGHBOURS: Check = Check {
    name: "neighbours by trees",
    promise: "the sources that a tree finds within a radius are those of all pairs, up to the last bit of a distance",
    needs: Needs::Trees,
    run: |target, findings| {
        let mut sources = plummer(BODIES);
        // Some coincide, and some lie in a clump that is far smaller than its distance from others.
        let middle = sources[5].coefficients[0];
        for (number, source) in sources.iter_mut().enumerate().skip(100).take(90) {
            let beside = if number % 3 == 0 { 0.0 } else { 1e-12 * (number as f64).sin() };
            source.coefficients[0] = middle.map(|coordinate| coordinate + beside);
        }
        let distance2 = |one: &Source, other: &[f64; 3]| -> f64 {
            let [x, y, z] = std::array::from_fn(|k| one.coefficients[0][k] - other[k]);
            x * x + y * y + z * z
        };
        let mut sinks = sinks_of(&sources, 0.0);
        for (number, sink) in sinks.iter_mut().enumerate() {
            // Some radii end at a source, which is outside then.
            let border = distance2(&sources[(number * 7 + 3) % BODIES], &sink.derivatives[0]);
            sink.radius2 = [0.0, 0.01, border.min(0.3), 1e-25, border.min(0.3).next_up()][number % 5];
        }
        let model = Model { target, sources: &sources, skip_own_index: true };
        let mut system = model.system(TreeAccuracy::Error(ACCURACY))?;
        for skips in [true, false] {
            let table = system.find_neighbours(BODIES, skips, sinks.iter().copied())?;
            let wrong = sinks.iter().enumerate().find(|(number, sink)| {
                let is = |address: &usize| {
                    let source = &sources[*address];
                    distance2(source, &sink.derivatives[0]) < sink.radius2 && !(skips && source.index == sink.index)
                };
                let expected = (0..BODIES).filter(is).map(|address| address as i32);
                !expected.eq(table.of(*number).iter().copied())
            });
            let wrong = wrong.map(|(number, sink)| format!("sink {number}, squared radius {:e}", sink.radius2));
            findings.expect_equal("sinks with other neighbours than those of all pairs", wrong, None);
        }
        Ok(())
    },
};
