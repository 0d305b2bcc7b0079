//! Forces by a tree, against the reference.

mod on_devices;

use crate::models::{self, Random, plummer, sink_at, sinks_of};
use crate::reference::{Force, Predicted, force, predict_all};
use crate::{Check, Findings, Needs, Target};
use kyoho_core::{Order, Partition, Result, Sink, SinkOrder, Source, TreeAccuracy, TreePhase, TreeProfile};
use kyoho_engine::moving::MovingBody;
use kyoho_engine::{Setup, System, percentile};
use kyoho_methods::device_arrays::Motion;

pub use on_devices::{AMONG_OTHERS, AT_ONCE, DEVICES, MOVING, PARTS};

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
            [50, 99].map(|part| percentile(&errors, part))
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
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
    run: |target, findings| {
        let sources = plummer(BODIES);
        let model = Model { target, sources: &sources, skip_own_index: true };
        let mut random = Random::new(42);
        let mut at = |size: f64| sink_at(-1, random.direction().map(|component| size * component), 1e-4);
        let points: Vec<Sink> = (0..1500).map(|number| at(0.001 * number as f64)).collect();
        model.compare(findings, "points among the sources", ACCURACY, &points, None)?;
        let far: Vec<Sink> = (0..1000).map(|number| at(10f64.powi(1 + number % 4))).collect();
        model.compare(findings, "points far away", ACCURACY, &far, None)?;
        let (accuracy, mut random) = (1e-4, Random::new(43));
        let wide: Vec<Sink> = (0..BODIES)
            .map(|_| (100.0 * random.unit().cbrt(), random.direction()))
            .map(|(size, direction)| sink_at(-1, direction.map(|component| size * component), 1e-4))
            .collect();
        let errors = model.errors(&model.forces(accuracy, &wide)?, &wide, None);
        measure(findings, "points spread widely", errors[0], [accuracy, 8.0 * accuracy]);
        let in_one_point: Vec<Source> =
            sources.iter().map(|source| Source { coefficients: sources[0].coefficients, ..*source }).collect();
        let around: Vec<Sink> = wide.iter().map(|sink| Sink { softening2: 0.0, ..*sink }).collect();
        let of_point = Model { target, sources: &in_one_point, skip_own_index: true };
        of_point.compare(findings, "points around one point", ACCURACY, &around, None)?;
        model.compare(findings, "a part of the sources", ACCURACY, &sinks_of(&sources[700..1500], 1e-4), None)
    },
};

pub const REPEATED_INDICES: Check = Check {
    name: "repeated indices in trees",
    promise: "a sink feels no source of its index in a tree, however many these are, wherever they and the sink lie, \
              and whatever numbers indices are",
    needs: Needs::OwnTrees,
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

pub const MASSLESS: Check = Check {
    name: "massless sources in trees",
    promise: "a source without mass adds nothing to forces by a tree and feels the others",
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
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
    needs: Needs::OwnTrees,
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

pub const NEIGHBOURS: Check = Check {
    name: "neighbours by trees",
    promise: "the sources that a tree finds within a radius are those of all pairs, up to the last bit of a distance",
    needs: Needs::OwnTrees,
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
