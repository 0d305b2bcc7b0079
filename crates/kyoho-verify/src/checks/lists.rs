//! Interaction lists: forces on groups of sinks, each with sources of its own, and of many systems
//! at once.

mod batches;
mod rejected;

use std::sync::LazyLock;
use std::thread::available_parallelism;

use super::errors::expect_error;
use super::prediction::moving;
use super::repeat::{bits, system};
use crate::models::{Random, at, grid, plummer, sinks_of, source};
use crate::reference::{DoubleDouble, Force, Predicted, force, predict_all};
use crate::{Check, Findings, Needs, PlainBatch, PlainLists, PlainSources, Target, Twin, measure};
use kyoho_core::{Order, Result, ResultCode, Sink, Source};
use kyoho_engine::System;
use kyoho_hal::threads::Threads;

pub use batches::{BATCH, LARGE_BATCH, UNITS_OF_SYSTEMS};
pub use rejected::{CALL_ORDER, OVERFLOW, REGULAR, REJECTED, REJECTED_BATCHES};

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
