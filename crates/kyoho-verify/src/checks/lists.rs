//! Interaction lists: forces on groups of sinks, each with sources of its own, and of many systems
//! at once.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use super::errors::expect_error;
use super::prediction::moving;
use super::repeat::{bits, system};
use super::units::{SYSTEMS, star_and_dust};
use crate::models::{Random, at, grid, plummer, sink_at, sinks_of, source};
use crate::reference::{DoubleDouble, Force, Predicted, force, predict_all};
use crate::{Check, Findings, Needs, PlainBatch, PlainLists, PlainSources, Target, Twin, measure};
use kyoho_core::{Order, Result, ResultCode, Sink, Source};
use kyoho_engine::System;
use kyoho_hal::threads::Threads;

/// Bodies at the addresses 0, 1, ... and groups of sinks with lists of these.
struct Groups {
    bodies: Vec<Source>,
    sinks: Vec<Sink>,
    /// The number of sinks, the first source and the number of sources of each group.
    groups: Vec<(usize, usize, usize)>,
}

impl Groups {
    /// Makes groups of as many sinks and as many sources as `sizes` says. The sinks are among the
    /// sources of their group, if it has so many.
    fn of(bodies: Vec<Source>, sizes: &[(usize, usize)]) -> Groups {
        let mut random = Random::new(81);
        let all = sinks_of(&bodies, 0.0);
        let (mut sinks, mut groups) = (Vec::new(), Vec::new());
        for (number, (ni, length)) in sizes.iter().copied().enumerate() {
            let first = random.below(bodies.len() - length.max(ni) + 1);
            let middle = first + length.saturating_sub(ni) / 2;
            let softening2 = [0.0, 1.0 / 64.0][number % 2];
            sinks.extend(all[middle..middle + ni].iter().map(|sink| Sink { softening2, ..*sink }));
            groups.push((ni, first, length));
        }
        Groups { bodies, sinks, groups }
    }

    /// Returns the lists in each form. Those of addresses are in another order.
    fn forms(&self) -> [(&'static str, PlainLists); 3] {
        let groups = || self.groups.iter().copied();
        let turned = |first: usize, length: usize| {
            let (left, right) = (first..first + length / 3, first + length / 3..first + length);
            right.chain(left.rev()).collect()
        };
        let range = |(ni, first, length)| (ni, first..first + length);
        [
            ("ranges", PlainLists::of_ranges(&groups().map(range).collect::<Vec<_>>())),
            (
                "addresses",
                PlainLists::of_addresses(
                    &groups().map(|(ni, first, length)| (ni, turned(first, length))).collect::<Vec<_>>(),
                ),
            ),
            (
                "own sources",
                PlainLists::of_sources(
                    &groups().map(range).map(|(ni, range)| (ni, self.bodies[range].to_vec())).collect::<Vec<_>>(),
                ),
            ),
        ]
    }

    /// Returns the groups of these numbers with their sinks.
    fn picked(&self, numbers: &[usize]) -> Groups {
        let first = |number: usize| self.groups[..number].iter().map(|(ni, ..)| ni).sum::<usize>();
        Groups {
            bodies: self.bodies.clone(),
            sinks: numbers.iter().flat_map(|number| &self.sinks[first(*number)..first(number + 1)]).copied().collect(),
            groups: numbers.iter().map(|number| self.groups[*number]).collect(),
        }
    }
}

/// The forces on some sinks of a call in double-double, up to the highest order.
struct Expected {
    sinks: Vec<Sink>,
    /// The sources of each group, at time 0.
    predicted: Vec<Vec<Predicted<DoubleDouble>>>,
    /// The number of each sink that is compared, that of its group, and the force.
    forces: Vec<(usize, usize, Force<DoubleDouble>)>,
}

impl Expected {
    /// Computes the forces on the sinks of these numbers, which come with the numbers of their
    /// groups.
    fn of(sources: Vec<Vec<Source>>, sinks: Vec<Sink>, compared: &[(usize, usize)]) -> Expected {
        let predict = |sources: &Vec<Source>| predict_all::<DoubleDouble>(Order::Eighth, sources, 0.0);
        let predicted: Vec<_> = sources.iter().map(predict).collect();
        let mut forces = vec![None; compared.len()];
        let threads = Threads::new(available_parallelism().map_or(1, |count| count.get()));
        threads.each(forces.iter_mut().zip(compared), |(expected, (sink, group))| {
            *expected = Some((*sink, *group, force(Order::Eighth, &predicted[*group], true, &sinks[*sink])));
        });
        Expected { sinks, predicted, forces: forces.into_iter().flatten().collect() }
    }

    /// Waits for the forces and notes where they differ.
    fn finish(&self, target: &Target, system: &mut System, findings: &mut Findings, what: &str) -> Result<()> {
        let (terms, coordinates) = (target.rounding(), target.coordinate_rounding());
        let computed = system.wait()?;
        findings.expect_equal(&format!("{what}: sinks"), computed.len(), self.sinks.len());
        let mut group_of = vec![0; self.sinks.len()];
        self.forces.iter().for_each(|(sink, group, _)| group_of[*sink] = *group);
        let expected = self.forces.iter().map(|(sink, _, force)| (*sink, force));
        let predicted = |sink: usize| &self.predicted[group_of[sink]][..];
        let errors = measure(target, computed, expected, predicted, &self.sinks, |force, quantity| {
            terms * force.scale.terms[quantity] + coordinates * force.scale.coordinates[quantity]
        });
        errors.note_in_units_of_rounding(findings, what);
        Ok(())
    }
}

/// Returns the bits of the forces on each group.
fn answer(system: &mut System, lists: &PlainLists, sinks: &[Sink]) -> Result<Vec<Vec<u64>>> {
    lists.start(system, true, sinks)?;
    let all = bits(system.wait()?);
    let numbers = all.len() / sinks.len().max(1);
    let of_group = |group: usize| {
        let sinks = lists.sinks_of(group);
        all[numbers * sinks.start..numbers * sinks.end].to_vec()
    };
    Ok((0..lists.groups()).map(of_group).collect())
}

/// Numbers of sinks and of sources on both sides of the widths of vectors, of thread blocks and of
/// chunks. The longest lists have few sinks. All of them are more than a thread copies at a time.
const SIZES: [(usize, usize); 33] = [
    (300, 127),
    (1, 5000),
    (33, 0),
    (4, 1023),
    (1, 1),
    (129, 2),
    (0, 100),
    (9, 128),
    (65, 1025),
    (31, 63),
    (2, 1025),
    (127, 65),
    (256, 63),
    (1, 0),
    (5, 257),
    (64, 129),
    (128, 64),
    (3, 1024),
    (16, 65),
    (6, 256),
    (32, 2),
    (17, 64),
    (7, 255),
    (63, 1),
    (8, 129),
    (2, 2),
    (15, 127),
    (0, 0),
    (1, 5999),
    (1, 5998),
    (1, 5997),
    (1, 5996),
    (1, 5995),
];

static LENGTHS_OF_LISTS: LazyLock<(Groups, Expected)> = LazyLock::new(|| {
    let groups = Groups::of(grid(82, 6000), &SIZES);
    let of_group = |(_, first, length): &(usize, usize, usize)| groups.bodies[*first..first + length].to_vec();
    let sources = groups.groups.iter().map(of_group).collect();
    let group_of = groups.groups.iter().enumerate().flat_map(|(number, (ni, ..))| vec![number; *ni]);
    let compared: Vec<_> = group_of.enumerate().collect();
    let expected = Expected::of(sources, groups.sinks.clone(), &compared);
    (groups, expected)
});

pub const LENGTHS: Check = Check {
    name: "interaction lists",
    promise: "a group of any number of sinks feels each source of its list once, however long the list and in any form",
    needs: Needs::Full,
    run: |target, findings| {
        let (groups, expected) = &*LENGTHS_OF_LISTS;
        let mut system = system(target, &groups.bodies)?;
        for (form, lists) in groups.forms() {
            lists.start(&mut system, true, &groups.sinks)?;
            expected.finish(target, &mut system, findings, form)?;
        }
        Ok(())
    },
};

pub const FORMS: Check = Check {
    name: "forms of interaction lists",
    promise: "a source acts as often as it is in a list, as it is at the time that was set; addresses never written \
              and empty lists exert no force; each sink has its own softening and leaves out its own index if asked",
    needs: Needs::Full,
    run: |target, findings| {
        let sources = moving(83, 700);
        let mut twin = Twin::new(target)?;
        // One address in six was never written, nor was a whole chunk.
        let address = |k: usize| k + k / 5 + if k < 200 { 0 } else { 300 };
        sources.iter().enumerate().try_for_each(|(k, source)| twin.set_source(address(k), source))?;
        let end = address(699) + 1;
        let softenings = [0.0, 1e-30, 1e-4, 1.0, 1e4];
        let mut sinks = sinks_of(&grid(84, 45), 0.0);
        sinks.iter_mut().zip(softenings.iter().cycle()).for_each(|(sink, softening2)| sink.softening2 = *softening2);
        let twice = |list: &[Source]| [list, &list[..list.len() / 2]].concat();
        let forms = [
            (
                "ranges",
                PlainLists::of_ranges(&[
                    (9, 0..300),
                    (5, 7..7),
                    (0, 10..40),
                    (3, 250..530),
                    (17, 500..700),
                    (2, end - 1..end),
                    (9, 140..240),
                ]),
            ),
            (
                "addresses",
                PlainLists::of_addresses(&[
                    (9, (0..end).step_by(3).collect()),
                    (5, vec![]),
                    (0, vec![1, 2, 3]),
                    (3, (250..530).step_by(7).collect()),
                    (17, vec![600, 7, end - 1, 0, 7, 7, 5, 600]),
                    (8, (400..600).rev().collect()),
                    (3, vec![2; 20]),
                ]),
            ),
            (
                "own sources",
                PlainLists::of_sources(&[
                    (9, sources[..150].to_vec()),
                    (5, vec![]),
                    (0, sources[..3].to_vec()),
                    (17, twice(&sources[100..270])),
                    (14, sources[699..].to_vec()),
                ]),
            ),
        ];
        for (form, lists) in forms {
            let mut compare = |twin: &mut Twin, what: &str, skip_own_index: bool| {
                twin.start_lists(&lists, skip_own_index, &sinks[..lists.sinks()])?;
                twin.finish(findings, &format!("{form}, {what}"))
            };
            twin.set_time(1.25)?;
            compare(&mut twin, "predicted", true)?;
            compare(&mut twin, "with sources of the sink's index", false)?;
            twin.set_unpredicted();
            compare(&mut twin, "unpredicted", true)?;
            twin.set_time(-0.5)?;
            compare(&mut twin, "predicted backwards", true)?;
        }
        Ok(())
    },
};

pub const COINCIDENT: Check = Check {
    name: "coincident bodies in lists",
    promise: "a sink that is in its own list feels nothing of itself without softening, and -m/eps only if softened and \
              its index counts; bodies at one place add nothing to each other's force",
    needs: Needs::Full,
    run: |target, findings| {
        for place in [[0.0; 3], [0.1, -0.7, 1.3], [1e5, 3.3e-4, -77.7]] {
            let heap: Vec<_> = (0..20).map(|index| source(index, 1.0, [place, [f64::from(index); 3]])).collect();
            let beside = at(20, [place[0] + 1.0, place[1], place[2]]);
            let bodies = [&heap[..], &[beside]].concat();
            let mut twin = Twin::with(target, &bodies)?;
            let groups = Groups { bodies, sinks: vec![], groups: vec![(20, 0, 20), (1, 0, 20), (20, 0, 21)] };
            for softening2 in [0.0, 0.25] {
                let sinks = sinks_of(&heap, softening2);
                let sinks = [&sinks[..], &sinks[..1], &sinks[..]].concat();
                for (form, lists) in groups.forms() {
                    for skip_own_index in [true, false] {
                        twin.start_lists(&lists, skip_own_index, &sinks)?;
                        twin.finish(findings, &format!("twenty bodies and one beside, {form}"))?;
                    }
                }
            }
        }
        Ok(())
    },
};

/// Groups of one sink up to many, some large enough for several threads.
const INDEPENDENT: [(usize, usize); 7] = [(3, 40), (17, 700), (64, 257), (0, 50), (300, 90), (1, 3000), (40, 0)];

pub const INDEPENDENCE: Check = Check {
    name: "independent groups",
    promise: "the forces of a group are the same in every bit alone and among others, in any order and wherever these are",
    needs: Needs::Full,
    run: |target, findings| {
        let groups = Groups::of(plummer(4000), &INDEPENDENT);
        let bounds = target.interaction().bounds;
        let mut system = system(target, &groups.bodies)?;
        system.set_time(0.125)?;
        let numbers: Vec<usize> = (0..INDEPENDENT.len()).collect();
        let mut alone: [Vec<Vec<u64>>; 3] = Default::default();
        for number in &numbers {
            let group = groups.picked(&[*number]);
            for ((_, lists), alone) in group.forms().iter().zip(&mut alone) {
                alone.extend(answer(&mut system, lists, &group.sinks)?);
            }
        }
        let backwards = numbers.iter().rev().copied().collect();
        let mut turned = numbers.clone();
        turned.rotate_left(2);
        for order in [numbers, turned, backwards] {
            let together = groups.picked(&order);
            for ((form, lists), alone) in together.forms().iter().zip(&alone) {
                let mut require = |what: &str, sinks: &[Sink], groups_near: usize| -> Result<()> {
                    let found = answer(&mut system, lists, sinks)?;
                    let mut near = order.iter().zip(&found).skip(order.len() - groups_near);
                    let same = near.all(|(number, found)| *found == alone[*number]);
                    findings
                        .expect(same, || format!("{form}, {order:?}, {what}: expected the bits of each group alone"));
                    Ok(())
                };
                require("together", &together.sinks, order.len())?;
                // Pairs with sources of the system are in units that suit all of these, where the
                // square of a distance has to be a number of the precision.
                let is_own = matches!(lists.sources, PlainSources::Own(_));
                let distance = if bounds.scales_lengths && !is_own { 1e10 } else { 1e30 };
                let mut sinks = together.sinks.clone();
                sinks[..lists.sinks_of(0).end].iter_mut().for_each(|sink| sink.derivatives[0] = [distance; 3]);
                require("the first far away", &sinks, order.len() - 1)?;
            }
        }
        Ok(())
    },
};

/// Returns the bits of all forces on groups, in each form, and of a batch.
fn answers(target: &Target, groups: &Groups, batch: &PlainBatch) -> Result<Vec<Vec<u64>>> {
    let mut system = system(target, &groups.bodies)?;
    system.set_time(0.125)?;
    let mut found = Vec::new();
    for (_, lists) in groups.forms() {
        lists.start(&mut system, true, &groups.sinks)?;
        found.push(bits(system.wait()?));
    }
    batch.start(&mut system)?;
    found.push(bits(system.wait()?));
    Ok(found)
}

pub const THREADS_AND_DEVICES: Check = Check {
    name: "lists on threads and devices",
    promise: "any number of threads and devices gives the same bits on interaction lists and batches",
    needs: Needs::Full,
    run: |target, findings| {
        let bodies = plummer(4000);
        let mut systems = [2, 400, 33, 3, 64, 1, 150].map(|count| bodies[..count].to_vec()).to_vec();
        // Some threads copy the bodies where they are many.
        systems.extend((0..240).map(|system| bodies[system..system + 32].to_vec()));
        let (groups, batch) = (Groups::of(bodies, &INDEPENDENT), PlainBatch::of(&systems, 1e-4));
        let first = target.setup.devices[0];
        let plain = answers(&target.with(1, &[first]), &groups, &batch)?;
        let mut require = |target: &Target| -> Result<()> {
            let same = answers(target, &groups, &batch)? == plain;
            findings.expect(same, || format!("{target}: expected the bits of one thread and device"));
            Ok(())
        };
        require(target)?;
        // The plain target tries other numbers for all others.
        if target.is_of_one() {
            let alike = if first == 0 { target.setup.backend.visible()?.alike } else { 1 };
            let real = (2..=alike).map(|count| (0..count).collect());
            for devices in [2, 3, 9].map(|count| vec![first; count]).into_iter().chain(real) {
                require(&target.with(devices.len() % 3 + 1, &devices))?;
            }
            (2..=4).try_for_each(|threads| require(&target.with(threads, &[first])))?;
        }
        Ok(())
    },
};

pub const REPEATED: Check = Check {
    name: "repeated lists",
    promise: "interaction lists give the same bits again, whatever was computed, written or rejected in between",
    needs: Needs::Full,
    run: |target, findings| {
        let groups = Groups::of(plummer(1500), &[(40, 300), (7, 1200), (0, 3), (90, 64)]);
        let batch = PlainBatch::of(&[groups.bodies[..40].to_vec(), groups.bodies[40..45].to_vec()], 0.01);
        let mut system = system(target, &groups.bodies)?;
        for (form, lists) in groups.forms() {
            system.set_time(0.25)?;
            let first = answer(&mut system, &lists, &groups.sinks)?;
            let again = answer(&mut system, &lists, &groups.sinks)?;
            findings.expect(first == again, || format!("{form}: expected the same bits at once, found others"));
            system.set_time(0.5)?;
            system.force(700, true, groups.sinks.iter().copied())?;
            batch.start(&mut system)?;
            system.wait()?;
            let wrong = PlainLists { sink_offsets: vec![0; 5], ..lists.clone() };
            expect_error(findings, form, wrong.start(&mut system, true, &groups.sinks), ResultCode::BadCount);
            system.set_source(3, &groups.bodies[3])?;
            system.set_time(0.25)?;
            let later = answer(&mut system, &lists, &groups.sinks)?;
            findings.expect(first == later, || format!("{form}: expected the same bits later, found others"));
        }
        Ok(())
    },
};

pub const LATER_WRITES: Check = Check {
    name: "writes while lists are computed",
    promise: "sources and times that are set between start and wait do not change the forces on interaction lists, and \
              count for the next",
    needs: Needs::Full,
    run: |target, findings| {
        let sources = moving(85, 600);
        let mut groups = Groups::of(sources[..500].to_vec(), &[(3, 40), (1, 490), (20, 150)]);
        groups.sinks.iter_mut().for_each(|sink| sink.softening2 = 1.0 / 64.0);
        let mut twin = Twin::with(target, &sources[..500])?;
        for (step, (form, lists)) in groups.forms().into_iter().enumerate() {
            for round in 0..2 {
                twin.set_time(1.25)?;
                twin.start_lists(&lists, true, &groups.sinks)?;
                (0..40).try_for_each(|k| twin.set_source(12 * k + step, &sources[k + 100 * round]))?;
                twin.set_source(1000 + step, &sources[599])?;
                twin.set_time(1.5)?;
                twin.finish(findings, form)?;
                twin.start_lists(
                    &PlainLists::of_ranges(&[(groups.sinks.len(), 480..1001 + step)]),
                    true,
                    &groups.sinks,
                )?;
                twin.finish(findings, "the lists after them")?;
                twin.compare(findings, "a block after them", 1003, true, &groups.sinks)?;
            }
        }
        Ok(())
    },
};

pub const BATCH: Check = Check {
    name: "batches",
    promise: "each body of a system feels the others of its system alone, at the time that was set, with its own softening",
    needs: Needs::Full,
    run: |target, findings| {
        let mut twin = Twin::with(target, &grid(86, 10))?;
        let bodies = moving(87, 254);
        let mut left = &bodies[..];
        let systems = [1, 2, 3, 0, 4, 5, 7, 8, 9, 16, 33, 65, 101].map(|count| {
            let (system, others) = left.split_at(count);
            left = others;
            system.to_vec()
        });
        // In the second batch each system has the indices from 0 on, and in the third all bodies
        // but those of another system have one index, so that they do not feel each other.
        let mut batches = [(); 3].map(|()| PlainBatch::of(&systems, 1.0 / 64.0));
        for system in 0..systems.len() {
            let range = batches[0].bodies_of(system);
            batches[1].bodies[range.clone()].iter_mut().zip(0..).for_each(|(body, number)| body.index = number);
            batches[2].bodies[range].iter_mut().for_each(|body| body.index = system as i32);
        }
        batches[1].softening2.iter_mut().step_by(3).for_each(|softening2| *softening2 = 0.0);
        for (number, batch) in batches.iter().enumerate() {
            let mut compare = |twin: &mut Twin, what: &str| {
                twin.start_batch(batch)?;
                twin.set_source(1, &bodies[number])?;
                twin.finish(findings, &format!("batch {number}, {what}"))
            };
            twin.set_time(1.25)?;
            compare(&mut twin, "predicted")?;
            twin.set_unpredicted();
            compare(&mut twin, "unpredicted")?;
        }
        twin.start_batch(&PlainBatch::of(&[], 0.0))?;
        twin.finish(findings, "a batch of no systems")?;
        twin.compare(findings, "a block after them", 10, true, &sinks_of(&grid(86, 10), 0.0))
    },
};

/// A batch of systems whose sizes differ by a thousand, and the forces on some of their bodies.
fn large_batch(largest: usize) -> (PlainBatch, Expected) {
    let bodies = plummer(largest);
    let mut systems = [2, 3, largest, 2, 1000, 17].map(|count| bodies[..count].to_vec()).to_vec();
    systems.extend((0..1000).map(|system| bodies[system..system + 3].to_vec()));
    let batch = PlainBatch::of(&systems, 1.0 / 4096.0);
    let some = |system: usize| {
        let bodies = batch.bodies_of(system);
        let step = (bodies.len() / 16).max(1);
        bodies.step_by(step).map(move |body| (body, system))
    };
    let compared: Vec<_> = (0..systems.len()).flat_map(some).collect();
    let expected = Expected::of(systems, sinks_of(&batch.bodies, 1.0 / 4096.0), &compared);
    (batch, expected)
}

static LARGE_BATCHES: [LazyLock<(PlainBatch, Expected)>; 2] =
    [LazyLock::new(|| large_batch(4096)), LazyLock::new(|| large_batch(2048))];

pub const LARGE_BATCH: Check = Check {
    name: "large systems in batches",
    promise: "a thousand systems of 2 to 4096 bodies have their forces in one call",
    needs: Needs::Full,
    run: |target, findings| {
        // One thread and device compute them for all.
        if target.setup.threads > 1 || target.setup.devices.len() > 1 {
            return Ok(());
        }
        // Pairs of the higher orders take several times as long.
        let (batch, expected) = &*LARGE_BATCHES[usize::from(target.setup.order > Order::Fourth)];
        let mut system = System::new(&target.setup)?;
        batch.start(&mut system)?;
        expected.finish(target, &mut system, findings, "systems of 2 to 4096 bodies")
    },
};

pub const UNITS_OF_SYSTEMS: Check = Check {
    name: "units of each system",
    promise: "systems of lengths from 1e-15 to 5e22 have their forces in one call, and so have groups with own sources",
    needs: Needs::Full,
    run: |target, findings| {
        let mut twin = Twin::new(target)?;
        for ratio in [1.0, 1e-12] {
            let systems = SYSTEMS.map(|(_, units)| {
                let bodies = star_and_dust(units, ratio);
                [&bodies[..20], &bodies[200..]].concat()
            });
            twin.start_batch(&PlainBatch::of(&systems, 0.0))?;
            twin.finish(findings, &format!("systems of a star and masses of {ratio:e} of it"))?;
            // The pulls of the light bodies on the star need digits of their own.
            let stars = systems.each_ref().map(|bodies| sinks_of(&bodies[20..], 0.0)[0]);
            let dust = systems.each_ref().map(|bodies| (1, bodies[..20].to_vec()));
            twin.start_lists(&PlainLists::of_sources(&dust), true, &stars)?;
            twin.finish(findings, &format!("pulls of masses of {ratio:e} on stars"))?;
        }
        Ok(())
    },
};

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
