//! Forces by a tree of bodies in one point, nearly in one point, on lines and far outside, against
//! direct sums.

use crate::models::{Random, plummer, sink_at, source};
use crate::{Check, Findings, Needs, Target};
use kyoho_core::{Precision, Result, Sink, Source, TreeAccuracy};
use kyoho_engine::System;
use kyoho_hal::Backend;

/// The number of bodies of most sets.
const BODIES: usize = 900;
/// About so many sinks are compared with direct sums.
const SAMPLES: usize = 100;
/// The accuracy that is asked for.
const ACCURACY: f64 = 1e-3;
/// The largest error of an acceleration and of a potential beside the sum of the sizes of the pulls.
const LIMIT: f64 = 5.0 * ACCURACY;

/// A softening with which 48 bits of a position, as GPUs have them, are too few for many bodies that
/// differ by less.
const ROUNDED: f64 = 2e-6;

/// Bodies, the softening, and the distance beyond which forces on bodies are not compared.
struct Set {
    name: &'static str,
    positions: Vec<[f64; 3]>,
    softenings: &'static [f64],
    /// Forces on bodies farther out are below the range of single precision.
    farthest: f64,
}

/// Returns a Plummer model's positions, each `size` times as far from a point.
fn cluster(count: usize, size: f64, at: [f64; 3]) -> Vec<[f64; 3]> {
    let place = |source: &Source| std::array::from_fn(|k| at[k] + size * source.coefficients[0][k]);
    plummer(count).iter().map(place).collect()
}

/// Returns sets of bodies.
fn sets() -> Vec<Set> {
    let mut random = Random::new(52);
    let mut sets = Vec::new();
    let mut add = |name, positions: Vec<[f64; 3]>, softenings| {
        sets.push(Set { name, positions, softenings, farthest: f64::INFINITY });
    };
    let point = [0.3, -0.7, 1.1];
    let mut one_elsewhere = vec![point; BODIES];
    one_elsewhere[7] = [-0.4, 0.2, 0.1];
    add("all but one in a point", one_elsewhere, &[0.0, 1e-6, 1e-2]);
    add("all in a point", vec![point; 200], &[0.0, 1e-2]);
    add("two in a point", vec![point; 2], &[0.0, 1e-2]);
    add("one", vec![point], &[0.0, 1e-2]);
    let places = cluster(40, 1.0, [0.0; 3]);
    let heaps = (0..BODIES).map(|_| places[(random.unit() * random.unit() * 40.0) as usize]);
    let heaps = heaps.collect::<Vec<_>>();
    add("heaps at several places", heaps.clone(), &[0.0, 1e-6, 1e-2]);
    let mut among = cluster(BODIES / 2, 1.0, [0.0; 3]);
    among.extend(heaps[..BODIES / 2].iter());
    add("heaps among others", among, &[0.0, 1e-2]);
    let chain = (0..BODIES).map(|k| std::array::from_fn(|axis| point[axis] + 2.3e-16 * (k % 50) as f64));
    let mut chain: Vec<[f64; 3]> = chain.collect();
    chain.truncate(300);
    chain.extend(cluster(BODIES / 2, 1.0, [0.0; 3]));
    add("bodies that differ by rounding", chain, &[ROUNDED, 1e-2]);
    add("a tiny cluster in another", [cluster(400, 1.0, [0.0; 3]), cluster(400, 1e-11, point)].concat(), &[1e-4]);
    add("a line", (0..BODIES).map(|k| [1e-3 * k as f64, 0.0, 5.0]).collect(), &[0.0, 1e-2]);
    add("a grid", (0..1000).map(|k| [k / 100, k / 10 % 10, k % 10].map(|x| x as f64)).collect(), &[0.0, 1e-2]);
    for (name, far) in [("an escaper at 1e13", 1e13), ("an escaper at 1e14", 1e14), ("an escaper at 1e15", 1e15)] {
        for direction in [1.0, -1.0] {
            let mut bodies = cluster(BODIES, 1.0, [0.0; 3]);
            bodies[11] = [direction * far, 0.3 * far, -0.2 * direction * far];
            sets.push(Set { name, positions: bodies, softenings: &[0.0, 1e-2], farthest: 1e6 });
        }
    }
    sets
}

/// Returns sources in some places, of masses that may be zero and, if they are signed, negative.
fn sources_of(positions: &[[f64; 3]], has_signs: bool) -> Vec<Source> {
    let mut random = Random::new(4);
    let mass = |number: usize, random: &mut Random| {
        let mass = (0.5 + random.unit()) / positions.len() as f64;
        match number % 7 {
            3 if positions.len() > 2 => 0.0,
            5 if has_signs => -mass,
            _ => mass,
        }
    };
    let body = |(number, at): (usize, &[f64; 3])| source(number as i32, mass(number, &mut random), [*at]);
    positions.iter().enumerate().map(body).collect()
}

/// The errors of an acceleration and of a potential beside the sums of the sizes of the pulls.
fn errors(sources: &[Source], skips: bool, sink: &Sink, found: [f64; 4], rounding: f64) -> [f64; 2] {
    let (mut sums, mut sizes, mut own) = ([0.0; 4], [0.0; 2], 0.0);
    for source in sources {
        let r: [f64; 3] = std::array::from_fn(|k| source.coefficients[0][k] - sink.derivatives[0][k]);
        let s2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + sink.softening2;
        if s2 > 0.0 && !(skips && source.index == sink.index) {
            let depth = source.mass / s2.sqrt();
            sums[0] -= depth;
            (0..3).for_each(|k| sums[1 + k] += depth / s2 * r[k]);
            sizes[0] += depth.abs() * (s2 - sink.softening2).sqrt() / s2;
            sizes[1] += depth.abs();
        } else if s2 > 0.0 {
            own += (source.mass / s2.sqrt()).abs();
        }
    }
    // A source that is left out may have been in an expansion, and pulls that are zero are the
    // rounding of their terms.
    let softening = sink.softening2.sqrt();
    sizes[0] += if softening > 0.0 { rounding * (sizes[1] + own) / softening } else { 0.0 };
    sizes[1] += 1e-4 * own;
    let off = |k: usize| found[k] - sums[k];
    let apart = [(1..4).map(|k| off(k) * off(k)).sum::<f64>().sqrt(), off(0).abs()];
    std::array::from_fn(|k| if apart[k] == 0.0 { 0.0 } else { apart[k] / sizes[k] })
}

/// Compares the forces on some sinks with direct sums.
fn compare(
    findings: &mut Findings,
    what: &str,
    system: &mut System,
    sources: &[Source],
    sinks: &[Sink],
    skips: bool,
    (farthest, rounding): (f64, f64),
) -> Result<()> {
    let forces = system.force(sources.len(), skips, sinks.iter().copied())?;
    let mut worst = [0.0_f64; 2];
    for number in (0..sinks.len()).step_by(sinks.len().div_ceil(SAMPLES)) {
        if sinks[number].derivatives[0].iter().any(|x| x.abs() > farthest) {
            continue;
        }
        let [x, y, z] = forces.acceleration(number);
        let errors = errors(sources, skips, &sinks[number], [forces.potential(number), x, y, z], rounding);
        // Of a number that is none the maximum would be the other one.
        worst = std::array::from_fn(|k| if errors[k] <= worst[k] { worst[k] } else { errors[k] });
    }
    for (quantity, worst) in ["acceleration", "potential"].into_iter().zip(worst) {
        findings.measure(&format!("{what}: {quantity}"), worst, LIMIT);
    }
    Ok(())
}

/// Returns a system of sources that sums forces by a tree.
fn system(target: &Target, sources: &[Source], accuracy: TreeAccuracy) -> Result<System> {
    let mut system = System::new(&target.setup)?;
    system.set_tree(Some(accuracy))?;
    system.set_tree_crossover(Some(0));
    system.set_sources(sources.len(), |address| sources[address])?;
    Ok(system)
}

pub const FORCES: Check = Check {
    name: "degenerate bodies in trees",
    promise: "bodies in one point or nearly so, lines, grids and escapers have forces by a tree whose errors are small \
              beside the sum of the sizes of the pulls",
    needs: Needs::OwnTrees,
    run: |target, findings| {
        let is_double = target.setup.precision == Precision::Double && target.setup.backend == Backend::Cpu;
        // Of a place, over the softening.
        let rounding = if is_double { 1e-14 } else { 1e-10 };
        for (number, Set { name, positions, softenings, farthest }) in sets().into_iter().enumerate() {
            // How threads and devices share a set does not depend on signs and softenings: one with all
            // of these tells for others, which take one of them in each set.
            let signs: &[bool] = if target.is_of_one() { &[false, true] } else { &[number % 2 == 1] };
            let most = if target.is_of_one() { softenings.len() } else { 1 };
            for &has_signs in signs {
                let sources = sources_of(&positions, has_signs);
                let mut system = system(target, &sources, TreeAccuracy::Error(ACCURACY))?;
                let is_exact = target.setup.backend == Backend::Cpu;
                for softening in softenings.iter().filter(|softening| is_exact || **softening != ROUNDED).take(most) {
                    let sink = |body: &Source| sink_at(body.index, body.coefficients[0], softening * softening);
                    let all: Vec<Sink> = sources.iter().map(sink).collect();
                    // Some of them, in another order, and others at the places of these.
                    let mut some: Vec<Sink> = all.iter().rev().step_by(3).copied().collect();
                    some.iter_mut().step_by(4).for_each(|sink| sink.index = -1);
                    for (kind, sinks, skips) in [("all", &all, true), ("all", &all, false), ("some", &some, true)] {
                        let signs = if has_signs { ", both signs" } else { "" };
                        let what =
                            format!("{name}{signs}, softening {softening:e}, {kind}, own index skipped: {skips}");
                        compare(findings, &what, &mut system, &sources, sinks, skips, (farthest, rounding))?;
                    }
                }
            }
        }
        Ok(())
    },
};

pub const PAIRS_OF_POINTS: Check = Check {
    name: "pairs of degenerate bodies in trees",
    promise: "a tree sums few pairs for each body also where most bodies are in one point, or one is far outside",
    needs: Needs::OwnTrees,
    run: |target, findings| {
        let count = 6000;
        let model = cluster(count, 1.0, [0.0; 3]);
        let (mut in_points, mut with_escaper) = (model.clone(), model.clone());
        in_points[..5000].iter_mut().enumerate().for_each(|(k, at)| *at = model[k % 2]);
        with_escaper[5] = [1e13, -1e15, 0.0];
        for softening2 in [0.0, 1e-4] {
            let pairs = |positions: &[[f64; 3]]| -> Result<u64> {
                let sources = sources_of(positions, false);
                let sink = |body: &Source| sink_at(body.index, body.coefficients[0], softening2);
                let sinks: Vec<Sink> = sources.iter().map(sink).collect();
                let mut system = system(target, &sources, TreeAccuracy::Error(1e-2))?;
                system.force(count, true, sinks[..1].iter().copied())?;
                system.profile_trees(true);
                system.force(count, true, sinks.iter().copied())?;
                Ok(system.profile_trees(false).near)
            };
            let of_model = pairs(&model)?;
            for (name, positions) in [("two points", &in_points), ("an escaper", &with_escaper)] {
                let found = pairs(positions)?;
                let is_few = found > 0 && 2 * found < 3 * of_model;
                findings.expect(is_few, || {
                    format!("{name}, squared softening {softening2}: {found} pairs, {of_model} without")
                });
            }
        }
        Ok(())
    },
};
