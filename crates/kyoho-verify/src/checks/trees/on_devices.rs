//! Trees of sources that devices have, for many sinks at once, on several devices, and of bodies
//! that move there.

use super::super::repeat::bits;
use super::*;

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

pub const AT_ONCE: Check = Check {
    name: "many bodies at once in trees",
    promise: "sources and sinks that come all at once have the forces, to the bit, of those that come one by one",
    needs: Needs::TreesOfGpu,
    run: |target, findings| {
        let mut sources = plummer(MANY);
        let mut systems = [System::new(&target.setup)?, System::new(&target.setup)?];
        for system in &mut systems {
            system.set_tree(Some(TreeAccuracy::Error(ACCURACY)))?;
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
