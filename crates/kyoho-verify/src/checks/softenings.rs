//! Sources with softenings: the squared softening of a pair is the mean of those of both.

use super::prediction::moving;
use super::repeat::bits;
use crate::models::{Random, plummer};
use crate::reference::{Force, Predicted, force, predict_one};
use crate::{Check, Findings, Needs, Target};
use kyoho_core::{Forces, MAX_DERIVATIVES, Result, Sink, Source, TreeAccuracy, padded};
use kyoho_engine::{System, percentile};

const COUNT: usize = 300;
/// More pairs than a GPU leaves to the CPU.
const SINKS: usize = 60;

/// Bodies in motion, of which some are in one place, and some have no softening or no mass.
fn bodies() -> (Vec<Source>, Vec<f64>) {
    let mut sources = moving(71, COUNT);
    let mut random = Random::new(72);
    let mut softenings: Vec<f64> = (0..COUNT).map(|_| 0.2 * random.unit()).collect();
    (0..COUNT).step_by(9).for_each(|place| softenings[place] = 0.0);
    // Without a softening, with that of one alone, and with those of both.
    for [one, other] in [[9, 18], [27, 28], [1, 2]] {
        (sources[other].time, sources[other].coefficients) = (sources[one].time, sources[one].coefficients);
    }
    sources[5].mass = 0.0;
    (sources, softenings)
}

fn write(system: &mut System, address: usize, source: &Source, softening2: f64) -> Result<()> {
    system.set_softened_source(address, source, softening2)
}

/// The sinks of the first bodies at a time, and some places that are no bodies.
fn sinks(target: &Target, sources: &[Source], softenings: &[f64], time: f64) -> Vec<Sink> {
    let order = target.setup.order;
    let sink = |place: usize| {
        let Predicted { index, derivatives, .. } = predict_one::<f64>(order, &sources[place], time);
        let index = if place % 7 == 3 { -1 } else { index };
        Sink { index, softening2: softenings[place], radius2: 0.0, step: 0.0, derivatives }
    };
    (0..SINKS).map(sink).collect()
}

/// Compares forces with sums of those of each source alone.
fn expect_sums(
    (target, findings): (&Target, &mut Findings),
    forces: &Forces,
    (sources, softenings): (&[Source], &[f64]),
    (sinks, time): (&[Sink], f64),
) {
    let order = target.setup.order;
    for (number, sink) in sinks.iter().enumerate() {
        let (mut sums, mut sizes) = ([[0.0; 3]; MAX_DERIVATIVES], [0.0f64; MAX_DERIVATIVES]);
        let (mut potential, mut nearest) = (0.0, None);
        for (source, softening) in sources.iter().zip(softenings) {
            let softening2 = 0.5 * (sink.softening2 + softening);
            let of = [predict_one::<f64>(order, source, time)];
            let alone: Force<f64> = force(order, &of, true, &Sink { softening2, ..*sink });
            potential += alone.potential;
            let vectors = [alone.acceleration, alone.jerk, alone.snap, alone.crackle];
            for (quantity, vector) in vectors.iter().enumerate() {
                (0..3).for_each(|k| sums[quantity][k] += vector[k]);
                sizes[quantity] += alone.scale.terms[1 + quantity] + alone.scale.coordinates[1 + quantity];
            }
            if alone.nearest.is_some_and(|(distance2, _)| nearest.is_none_or(|(least, _)| distance2 < least)) {
                nearest = alone.nearest;
            }
        }
        let found = [forces.acceleration(number), forces.jerk(number), forces.snap(number), forces.crackle(number)];
        let is_near = |found: f64, wanted: f64, size: f64| (found - wanted).abs() <= 1e-13 * size;
        findings.expect(is_near(forces.potential(number), potential, potential.abs()), || {
            format!("sink {number}: expected the potential {potential}, found {}", forces.potential(number))
        });
        for ((found, sum), size) in found.iter().zip(&sums).zip(&sizes).take(target.interaction().n_derivatives) {
            findings.expect((0..3).all(|k| is_near(found[k], sum[k], *size)), || {
                format!("sink {number}: expected {sum:?}, found {found:?}")
            });
        }
        let is_nearest = match (forces.nearest(number), nearest) {
            (Some(found), Some((distance2, _))) => is_near(found.distance2, distance2, distance2),
            _ => !target.interaction().nearest,
        };
        findings.expect(is_nearest, || format!("sink {number}: another nearest source than {nearest:?}"));
    }
}

pub const FORCES: Check = Check {
    name: "softenings of sources",
    promise: "the squared softening of a pair is the mean of those of its source and its sink, after any writes",
    needs: Needs::Softenings,
    run: |target, findings| {
        let (mut sources, mut softenings) = bodies();
        let mut system = System::new(&target.setup)?;
        // Sources without softenings are replaced.
        system.set_source(0, &sources[1])?;
        system.prepare_softenings(true, 1)?;
        for (address, (source, softening2)) in sources.iter().zip(&softenings).enumerate() {
            write(&mut system, address, source, *softening2)?;
        }
        for time in [0.0, 0.25] {
            system.set_time(time)?;
            let given = sinks(target, &sources, &softenings, time);
            let forces = system.force(COUNT, true, given.iter().copied())?;
            expect_sums((target, findings), &forces, (&sources, &softenings), (&given, time));
            // Some are written anew, one of them without mass, while the next block is under way.
            let before = bits(forces);
            system.start(COUNT, true, given.iter().copied())?;
            for place in [3, 100, 299] {
                (sources[place].mass, softenings[place]) = (0.5 * sources[place].mass, 0.1 - 0.1 * time);
                write(&mut system, place, &sources[place], softenings[place])?;
            }
            findings.expect(bits(system.wait()?) == before, || "what was written later changed a block".into());
            let forces = system.force(COUNT, true, given.iter().copied())?;
            expect_sums((target, findings), &forces, (&sources, &softenings), (&given, time));
        }
        Ok(())
    },
};

pub const DEVICES: Check = Check {
    name: "softenings of sources on devices",
    promise: "with softenings of sources too, bits do not depend on the number of threads and devices",
    needs: Needs::Softenings,
    run: |target, findings| {
        let (sources, softenings) = bodies();
        let mut found = Vec::new();
        for way in [target.clone(), target.with(1, &target.setup.devices[..1]), target.with(3, &[0; 3])] {
            let mut system = System::new(&way.setup)?;
            system.prepare_softenings(true, 0)?;
            for (address, (source, softening2)) in sources.iter().zip(&softenings).enumerate() {
                write(&mut system, address, source, *softening2)?;
            }
            system.start_all(COUNT, 0.0)?;
            found.push(bits(system.wait()?));
        }
        let is_same = found.iter().all(|bits| *bits == found[0]);
        findings.expect(is_same, || "expected the same bits on other threads and devices, found others".into());
        Ok(())
    },
};

/// The bodies of a tree.
const OF_TREE: usize = 2000;
/// The accuracy that is asked of it.
const ACCURACY: f64 = 1e-3;

/// Bodies with softenings that differ by factors of up to 100, and none for some.
fn bodies_of_tree() -> (Vec<Source>, Vec<f64>) {
    let mut random = Random::new(73);
    let sources = plummer(OF_TREE);
    let softening = |place: usize| if place.is_multiple_of(9) { 0.0 } else { 0.2 * 100.0_f64.powf(-random.unit()) };
    let softenings2 = (0..OF_TREE).map(softening).map(|length| length * length).collect();
    (sources, softenings2)
}

/// The error of a force, relative to the acceleration or to half of the sum of the sizes of all pulls.
fn error_by_tree(sink: &Sink, found: [f64; 3], sources: &[Source], softenings2: &[f64]) -> f64 {
    let (mut sum, mut sizes) = ([0.0; 3], 0.0);
    for (source, softening2) in sources.iter().zip(softenings2).filter(|(source, _)| source.index != sink.index) {
        let r: [f64; 3] = std::array::from_fn(|k| source.coefficients[0][k] - sink.derivatives[0][k]);
        let r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        let s2 = r2 + 0.5 * (sink.softening2 + softening2);
        let pull = if s2 > 0.0 { source.mass / (s2 * s2.sqrt()) } else { 0.0 };
        (0..3).for_each(|k| sum[k] += pull * r[k]);
        sizes += pull.abs() * r2.sqrt();
    }
    let length = |vector: [f64; 3]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    length(std::array::from_fn(|k| found[k] - sum[k])) / length(sum).max(0.5 * sizes)
}

pub const TREES: Check = Check {
    name: "trees with softenings of sources",
    promise: "with softenings of sources too a tree has its accuracy, and bits do not depend on threads and devices",
    needs: Needs::Trees,
    run: |target, findings| {
        let (sources, softenings2) = bodies_of_tree();
        let sink = |place: usize| Sink {
            index: if place % 7 == 3 { -1 } else { place as i32 },
            softening2: softenings2[(place + 5) % OF_TREE],
            derivatives: padded([sources[place].coefficients[0]]),
            ..Sink::NOTHING
        };
        let given: Vec<Sink> = (0..OF_TREE / 2).map(|place| sink(2 * place)).collect();
        let mut found = Vec::new();
        for way in [target.clone(), target.with(1, &target.setup.devices[..1]), target.with(3, &[0; 3])] {
            let mut system = System::new(&way.setup)?;
            system.set_tree(Some(TreeAccuracy::Error(ACCURACY)))?;
            system.set_tree_crossover(Some(0));
            system.prepare_softenings(true, 0)?;
            for (address, (source, softening2)) in sources.iter().zip(&softenings2).enumerate() {
                write(&mut system, address, source, *softening2)?;
            }
            let forces = system.force(OF_TREE, true, given.iter().copied())?;
            let error =
                |number: usize| error_by_tree(&given[number], forces.acceleration(number), &sources, &softenings2);
            let mut errors: Vec<f64> = (0..given.len()).step_by(5).map(error).collect();
            errors.sort_by(f64::total_cmp);
            let [median, rare] = [50, 99].map(|part| percentile(&errors, part));
            findings.expect(median <= ACCURACY && rare <= 5.0 * ACCURACY, || {
                format!(
                    "expected {ACCURACY:e} for half of the sinks and 5 times for 99 in 100, found {median:e}, {rare:e}"
                )
            });
            let of_others = bits(forces);
            system.start_all(OF_TREE, 0.0)?;
            found.push((of_others, bits(system.wait()?)));
        }
        let is_same = found.iter().all(|bits| *bits == found[0]);
        findings.expect(is_same, || "expected the same bits on other threads and devices, found others".into());
        Ok(())
    },
};
