//! Results have the same bits, independent of the threads, the devices and earlier calls.

use std::thread;
use std::time::Duration;

use super::prediction::moving;
use crate::models::{grid, plummer, sinks_of};
use crate::{Check, Needs, Target, Twin};
use kyoho_core::{Forces, Interaction, Order, Partition, Precision, Result, Sink, Source, chunks_below};
use kyoho_direct::gpu::reduction::plan;
use kyoho_engine::{Setup, System};
use kyoho_hal::{Backend, DeviceKind};
use kyoho_methods::gpu::shapes::{ForcedShape, SHAPES, Shape};

/// Returns every bit of some forces.
pub(super) fn bits(forces: Forces) -> Vec<u64> {
    let sink = |sink: usize| {
        let nearest = forces.nearest(sink).map_or([0, 0], |found| [found.distance2.to_bits(), found.index as u64]);
        let derivatives = [forces.acceleration(sink), forces.jerk(sink), forces.snap(sink), forces.crackle(sink)];
        let numbers = [forces.potential(sink)].into_iter().chain(derivatives.into_iter().flatten());
        numbers.map(f64::to_bits).chain(nearest).collect::<Vec<_>>()
    };
    (0..forces.len()).flat_map(sink).collect()
}

/// Whether the target's first device is a CPU, of whichever backend.
fn runs_on_cpu(target: &Target) -> Result<bool> {
    Ok(target.setup.backend.devices()?[target.setup.devices[0]].kind == DeviceKind::Cpu)
}

/// Whether the target's first device is a CPU that compiles kernels, which takes it seconds.
pub(super) fn compiles_on_cpu(target: &Target) -> Result<bool> {
    Ok(target.setup.backend != Backend::Cpu && runs_on_cpu(target)?)
}

pub(super) fn system(target: &Target, sources: &[Source]) -> Result<System> {
    let mut system = System::new(&target.setup)?;
    sources.iter().enumerate().try_for_each(|(address, source)| system.set_source(address, source))?;
    Ok(system)
}

/// Returns the forces on some sinks, and the lists of their neighbours if the forces leave these
/// out.
fn answer(system: &mut System, nj: usize, sinks: &[Sink]) -> Result<Vec<u64>> {
    let mut found = bits(system.force(nj, true, sinks.iter().copied())?);
    if system.interaction().is_regular() {
        for sink in 0..sinks.len() {
            let list = system.neighbours(sink)?;
            found.push(list.len() as u64);
            found.extend(list.iter().map(|index| *index as u64));
        }
    }
    Ok(found)
}

/// Returns blocks of one sink up to many, some large enough for several threads.
fn blocks(target: &Target, sources: &[Source]) -> Vec<(usize, Vec<Sink>)> {
    let sinks = target.sinks_of(&sources[..150], 1e-4);
    [(40_000, 1), (6500, 6), (6500, 40), (300, 150)].map(|(nj, ni)| (nj, sinks[..ni].to_vec())).to_vec()
}

fn answers(target: &Target, sources: &[Source]) -> Result<Vec<Vec<u64>>> {
    let mut system = system(target, sources)?;
    system.set_time(0.125)?;
    blocks(target, sources).into_iter().map(|(nj, sinks)| answer(&mut system, nj, &sinks)).collect()
}

pub const REPEATED: Check = Check {
    name: "repeated calls",
    promise: "a call gives the same bits again, whatever was computed in between",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = plummer(1500);
        let sinks = target.sinks_of(&sources[..40], 0.0);
        let mut system = system(target, &sources)?;
        for ni in [1, 5, 40] {
            system.set_time(0.25)?;
            let first = bits(system.force(1500, true, sinks[..ni].iter().copied())?);
            let again = bits(system.force(1500, true, sinks[..ni].iter().copied())?);
            findings.expect(first == again, || format!("{ni} sinks: expected the same bits at once, found others"));
            system.set_time(0.5)?;
            system.force(700, true, sinks.iter().copied())?;
            system.set_source(3, &sources[3])?;
            system.set_time(0.25)?;
            let later = bits(system.force(1500, true, sinks[..ni].iter().copied())?);
            findings.expect(first == later, || format!("{ni} sinks: expected the same bits later, found others"));
        }
        Ok(())
    },
};

pub const ON_ONE_ANOTHER: Check = Check {
    name: "sources on one another",
    promise: "the forces of all sources on one another are, to the bit, those on sinks at their predicted places",
    needs: Needs::Nothing,
    run: |target, findings| {
        const COUNT: usize = 300;
        let mut sources = moving(61, COUNT);
        // One has the index of another one.
        sources[5].index = sources[4].index;
        let mut system = system(target, &sources)?;
        let mut on_sinks = Vec::new();
        for (nj, time) in [(COUNT, 0.0), (200, 1.25), (COUNT, 1.25)] {
            system.set_time(time)?;
            let places = system.predicted(0..nj)?.into_iter().map(Option::unwrap_or_default);
            let sinks = places.zip(&sources).map(|(derivatives, source)| Sink {
                index: source.index,
                softening2: 1.0 / 64.0,
                radius2: 0.0,
                step: 0.0,
                derivatives,
            });
            on_sinks = bits(system.force(nj, true, sinks.collect::<Vec<_>>())?);
            system.start_all(nj, 1.0 / 64.0)?;
            findings.expect(bits(system.wait()?) == on_sinks, || format!("other bits of {nj} at time {time}"));
        }
        system.start_all(COUNT, 1.0 / 64.0)?;
        system.set_source(0, &sources[1])?;
        findings.expect(bits(system.wait()?) == on_sinks, || "a write during a block counts in it".into());
        system.start_all(COUNT, 1.0 / 64.0)?;
        findings.expect(bits(system.wait()?) != on_sinks, || "a write does not count in the next block".into());
        let refused = |outcome: Result<()>| outcome.err().map(|error| error.to_string()).unwrap_or_default();
        let error = refused(system.start_all(COUNT + 1, 0.0));
        findings.expect(error.contains("no source was written to address 300"), || format!("a gap: '{error}'"));
        let error = refused(system.start_all(COUNT, -1.0));
        findings.expect(error.contains("softening"), || format!("a negative softening: '{error}'"));
        system.start_all(0, 0.0)?;
        findings.expect_equal("sinks of no sources", system.wait()?.len(), 0);
        Ok(())
    },
};

pub const THREADS_AND_DEVICES: Check = Check {
    name: "threads and devices",
    promise: "any number of threads and devices gives the same bits",
    needs: Needs::Nothing,
    run: |target, findings| {
        // On a CPU that is programmed by OpenCL, fewer fill all slices too.
        let is_slow = compiles_on_cpu(target)?;
        let sources = plummer(if is_slow { 10_000 } else { 40_000 });
        let first = target.setup.devices[0];
        let plain = answers(&target.with(1, &[first]), &sources)?;
        findings.expect(answers(target, &sources)? == plain, || format!("expected the bits of one thread on {target}"));
        // The plain target tries every number of devices and every partition for all others.
        if target.is_of_one() {
            let most = if target.interaction().has_low_limbs() { 3 } else { 8 };
            for threads in 2..=most {
                let same = answers(&target.with(threads, &[first]), &sources)? == plain;
                findings.expect(same, || format!("{threads} threads: expected the bits of one"));
            }
            let alike = target.setup.backend.visible()?.alike;
            // Devices of another kind than the first are tried only alone.
            let alike = if first == 0 { alike } else { 1 };
            let real = (2..=alike).map(|count| (0..count).collect());
            let same = (2..=most.min(4)).map(|count| vec![first; count]);
            let ways = same.chain(real).map(|devices| (devices, None));
            for (devices, partition) in ways.chain(partitions(target).map(|partition| (vec![first; most], partition))) {
                let threads = devices.len() % 3 + 1;
                let target = Target { setup: Setup { partition, ..target.with(threads, &devices).setup } };
                let same = answers(&target, &sources)? == plain;
                findings.expect(same, || format!("{target}: expected the bits of one device"));
            }
        }
        // These are the devices that were asked for, from the first one to all.
        for count in 1..target.setup.devices.len() {
            let fewer = target.with(1, &target.setup.devices[..count]);
            findings.expect(answers(&fewer, &sources)? == plain, || format!("{fewer}: expected the bits of all"));
        }
        Ok(())
    },
};

/// Returns every partition among eight devices, and `None` for the choice of their cost models.
/// Blocks for CPUs are partitioned by slices alone, those of two doubles by sinks alone.
fn partitions(target: &Target) -> impl Iterator<Item = Option<Partition>> {
    let has_some = target.setup.backend != Backend::Cpu && !target.interaction().has_low_limbs();
    let all = Partition::among(8).filter(move |_| has_some);
    all.map(Some).chain([None])
}

pub const TURNS_OF_DEVICES: Check = Check {
    name: "devices that take turns",
    promise: "blocks of one device and blocks of several see the same sources",
    needs: Needs::Nothing,
    run: |target, findings| {
        // Blocks for CPUs are always partitioned by slices, and one device cannot take turns. Here cost
        // models partition blocks, so that a target with a partition into sets tells nothing new.
        let has_sets = target.setup.partition.is_some_and(|partition| partition.sets > 1);
        if target.setup.backend == Backend::Cpu || target.setup.devices.len() < 2 || has_sets {
            return Ok(());
        }
        // On GPUs the larger blocks have to be so large that the cost model chooses several
        // devices.
        let unit = if runs_on_cpu(target)? { 100 } else { 1000 };
        let sources = plummer(60 * unit);
        let sinks = target.sinks_of(&sources[..30 * unit], 1e-4);
        let play = |devices: &[usize]| -> Result<Vec<Vec<u64>>> {
            let mut system =
                system(&Target { setup: Setup { partition: None, ..target.with(1, devices).setup } }, &sources)?;
            let mut found = Vec::new();
            let many = sinks.len();
            for (step, ni) in [1, many, 1, 9, 2, many, many, 70, 1, many].into_iter().enumerate() {
                let nj = (50 + step % 3) * unit;
                system.set_time(step as f64 / 64.0)?;
                system.start(nj, true, sinks[..ni].iter().copied())?;
                let written = |k: usize| (31 * k + 7 * step) % (52 * unit);
                (0..40).try_for_each(|k| system.set_source(written(k), &sources[written(k) + step]))?;
                found.push(bits(system.wait()?));
                (0..30).try_for_each(|k| system.set_source(written(3 * k), &sources[written(k)]))?;
            }
            Ok(found)
        };
        let (one, several) = (play(&target.setup.devices[..1])?, play(&target.setup.devices)?);
        for (step, (one, several)) in one.iter().zip(&several).enumerate() {
            findings.expect(one == several, || format!("block {step}: expected the bits of one device"));
        }
        Ok(())
    },
};

/// Numbers of sources and of sinks such that every launch shape fits some of these blocks.
#[derive(Clone, Copy)]
struct Blocks {
    sources: &'static [usize],
    sinks: &'static [usize],
}

/// So many sinks make a block large.
const LARGE: usize = 1000;
const BLOCKS_FOR_GPUS: Blocks =
    Blocks { sources: &[700, 6500, 40_000], sinks: &[1, 6, 40, 150, 300, 1100, 2500, 5000] };
const BLOCKS_FOR_CPUS: Blocks = Blocks { sources: &[700, 6500], sinks: &[1, 40, 300, 2500] };

impl Blocks {
    fn most_sources(self) -> usize {
        self.sources[self.sources.len() - 1]
    }

    /// Returns the sources and sinks of each block.
    fn all(self) -> impl Iterator<Item = (usize, usize)> {
        self.sources.iter().flat_map(move |nj| self.sinks.iter().map(move |ni| (*nj, *ni)))
    }

    /// Whether a shape fits a block. A device that is told to use the shape uses it for the block.
    fn fits(shape: Shape, interaction: &Interaction, (nj, ni): (usize, usize)) -> bool {
        plan(interaction, ni, chunks_below(nj)).accumulators == shape.accumulators(interaction)
    }

    /// Returns how many of the blocks a shape fits.
    fn that_fit(self, shape: Shape, interaction: &Interaction) -> usize {
        self.all().filter(|block| Blocks::fits(shape, interaction, *block)).count()
    }

    /// Returns the results of each block with sources that have to be predicted, with predicted
    /// ones, and after writes of few and of many sources. There are none of a large block that the
    /// target's shape does not fit: it would be computed once more as without that shape.
    fn answers(self, target: &Target, sources: &[Source]) -> Result<Vec<Vec<Vec<u64>>>> {
        let mut system = system(target, sources)?;
        let sinks = target.sinks_of(&sources[..self.sinks[self.sinks.len() - 1]], 1e-4);
        let shape = target.setup.shape.map(|forced| SHAPES[forced.place]);
        let mut found = Vec::new();
        for (number, block @ (nj, ni)) in self.all().enumerate() {
            let mut of_block = Vec::new();
            let is_summed = ni < LARGE || shape.is_none_or(|shape| Blocks::fits(shape, &target.interaction(), block));
            let answers = if is_summed { 2 } else { 0 };
            system.set_time(number as f64 / 64.0)?;
            for _ in 0..answers {
                of_block.push(answer(&mut system, nj, &sinks[..ni])?);
            }
            for (place, source) in sources[..ni].iter().enumerate() {
                system.set_source(7 * place % nj, source)?;
            }
            if is_summed {
                of_block.push(bits(system.force(nj, true, sinks[..ni].iter().copied())?));
            }
            found.push(of_block);
        }
        Ok(found)
    }
}

/// Returns the launch shapes that fit no block with which the suite tries them, on GPUs or on CPUs.
pub fn shapes_without_a_block(interaction: &Interaction) -> Vec<&'static str> {
    let fits_none = |shape: &Shape| {
        [BLOCKS_FOR_GPUS, BLOCKS_FOR_CPUS].into_iter().any(|blocks| blocks.that_fit(*shape, interaction) == 0)
    };
    SHAPES.iter().filter(|shape| fits_none(shape)).map(|shape| shape.name).collect()
}

pub const LAUNCH_SHAPES: Check = Check {
    name: "launch shapes",
    promise: "any launch shape of a kind of device gives the same bits, on any number of devices",
    needs: Needs::Nothing,
    run: |target, findings| {
        // The CPU backend has no launch shapes, and targets of one device are tried for all.
        if target.setup.backend == Backend::Cpu || target.setup.devices.len() != 1 {
            return Ok(());
        }
        let is_cpu = runs_on_cpu(target)?;
        let Setup { order, precision, .. } = target.setup;
        // CPUs take long to compile every shape, and the laws have the text of shapes in common.
        let is_example =
            matches!((order, precision), (Order::Second, Precision::Single) | (Order::Fourth, Precision::Mixed))
                && !target.interaction().is_regular();
        if is_cpu && !is_example {
            return Ok(());
        }
        let blocks = if is_cpu { BLOCKS_FOR_CPUS } else { BLOCKS_FOR_GPUS };
        let sources = plummer(blocks.most_sources());
        let plain = blocks.answers(target, &sources)?;
        for (number, shape) in SHAPES.into_iter().enumerate() {
            let fits = blocks.that_fit(shape, &target.interaction()) > 0;
            findings.expect(fits, || format!("{}: no block that it fits", shape.name));
            for (ranges, sets) in [(1, 1), (1, 2), (3, 1)] {
                let partition = Partition { ranges, sets };
                let forced = ForcedShape { place: number, everywhere: false };
                let mut target = target.with(1, &vec![target.setup.devices[0]; partition.devices()]);
                (target.setup.shape, target.setup.partition) = (Some(forced), Some(partition));
                let found = blocks.answers(&target, &sources)?;
                let summed = found.iter().zip(&plain).filter(|(found, _)| !found.is_empty());
                let other = summed.filter(|(found, plain)| found != plain).count();
                findings.expect(other == 0, || {
                    let blocks = plain.len();
                    format!("{} on {target}: other bits in {other} of {blocks} blocks", shape.name)
                });
            }
        }
        Ok(())
    },
};

pub const SEVERAL_SYSTEMS: Check = Check {
    name: "several systems",
    promise: "systems in several threads at once do not disturb each other",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = plummer(2000);
        let sinks = target.sinks_of(&sources[..60], 0.0);
        // Where a block takes long, those of all systems overlap soon: in numbers of two doubles, and on
        // a CPU that is programmed by OpenCL.
        let (is_cpu, has_low_limbs) = (runs_on_cpu(target)?, target.interaction().has_low_limbs());
        let (steps, nj) = match target.setup.backend {
            _ if is_cpu && has_low_limbs => (50, 500),
            Backend::OpenCl if is_cpu => (50, 1500),
            _ if has_low_limbs => (100, 1500),
            _ => (300, 1500),
        };
        let work = &|part: usize| -> Result<Vec<u64>> {
            let mut system = system(target, &sources[100 * part..])?;
            let mut found = Vec::new();
            for step in 0..4 {
                system.set_time(f64::from(step) / 64.0)?;
                found = bits(system.force(nj, true, sinks[part..].iter().copied())?);
            }
            // Small blocks that follow one another closely, for which each system holds its device.
            for step in 0..steps {
                system.set_source(step, &sources[step + part])?;
                found.extend(bits(system.force(nj, true, sinks[part..][..1 + step % 3].iter().copied())?));
            }
            Ok(found)
        };
        let together: Vec<_> = thread::scope(|scope| {
            let running: Vec<_> = (0..4).map(|part| scope.spawn(move || work(part))).collect();
            running.into_iter().map(|thread| thread.join().expect("the work does not panic")).collect()
        });
        for (part, found) in together.into_iter().enumerate() {
            let same = found? == work(part)?;
            findings.expect(same, || format!("system {part} of four: expected the bits that it gives alone"));
        }
        Ok(())
    },
};

pub const MOVED: Check = Check {
    name: "moved systems",
    promise: "a system that is moved to other devices keeps its sources, time and counts, and gives the same bits",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = plummer(3000);
        let sinks = target.sinks_of(&sources[..70], 1e-4);
        let mut system = system(target, &sources[..2500])?;
        system.set_time(0.25)?;
        sources.iter().enumerate().skip(2500).try_for_each(|(address, source)| system.set_source(address, source))?;
        let first = bits(system.force(3000, true, sinks.iter().copied())?);
        let before = system.statistics();
        let device = target.setup.devices[0];
        for devices in [vec![device; 3], vec![device], target.setup.devices.clone()] {
            system.set_source(7, &sources[8])?;
            system.set_source(7, &sources[7])?;
            system.move_to(&target.with(2, &devices).setup)?;
            let same = bits(system.force(3000, true, sinks.iter().copied())?) == first;
            findings.expect(same, || format!("on devices {devices:?}: expected the same bits, found others"));
        }
        let after = system.statistics();
        findings.expect_equal("sources", after.sources, before.sources);
        findings.expect_equal("writes", after.writes, before.writes + 6);
        findings.expect_equal("blocks", after.blocks, before.blocks + 3);
        Ok(())
    },
};

pub const SMALL_BLOCKS: Check = Check {
    name: "small blocks on the CPU",
    promise: "blocks that the CPU takes over and blocks of the devices see the same sources",
    needs: Needs::Nothing,
    run: |target, findings| {
        let sources = grid(71, 900);
        let target = Target { setup: Setup { crossover: Some(800 * 10), ..target.setup.clone() } };
        let mut twin = Twin::with(&target, &sources[..800])?;
        let mut sinks = sinks_of(&sources[..40], 1.0 / 64.0);
        sinks.iter_mut().step_by(3).for_each(|sink| sink.radius2 = 4.0);
        for (step, ni) in [40, 1, 9, 10, 2, 2, 40, 3, 11].into_iter().enumerate() {
            let what = format!("block {step} of {ni} sinks");
            twin.set_time(step as f64 / 16.0)?;
            twin.start(800, true, &sinks[..ni])?;
            (0..12).try_for_each(|k| twin.set_source(3 * k + step, &sources[40 * k + step]))?;
            twin.finish(findings, &what)?;
            if target.interaction().has_lists() {
                twin.compare_lists(findings, &what)?;
            }
            (0..12).try_for_each(|k| twin.set_source(5 * k + step, &sources[30 * k + step]))?;
        }
        Ok(())
    },
};

pub const CLOSE_BLOCKS: Check = Check {
    name: "close blocks",
    promise: "small blocks that follow one another closely give the bits of blocks with pauses between them",
    needs: Needs::Nothing,
    run: |target, findings| {
        // On a CPU no pause changes how a block is computed.
        if target.setup.backend == Backend::Cpu {
            return Ok(());
        }
        let sources = plummer(9000);
        let sinks = target.sinks_of(&sources[..150], 1e-4);
        // On a CPU that is programmed by OpenCL blocks take long: they are fewer there, of fewer sources.
        let (steps, least) = if compiles_on_cpu(target)? { (50, 1000) } else { (200_usize, 6000) };
        let play = |pause: Duration| -> Result<Vec<Vec<u64>>> {
            let mut system = system(target, &sources[..least + 500])?;
            let mut found = Vec::new();
            for step in 0..steps {
                system.set_time(step as f64 / 1024.0)?;
                // Now and then a large block, a long pause, many writes, or more sources.
                let ni = if step % 50 == 40 { 150 } else { 1 + 5 * step % 7 };
                match step % 50 {
                    10 => thread::sleep(Duration::from_millis(1)),
                    20 => (0..300).try_for_each(|k| system.set_source(20 * k % least, &sources[k + step]))?,
                    30 => (least + 500 + 600 * (step / 50)..)
                        .take(600)
                        .zip(&sources[step..])
                        .try_for_each(|(address, source)| system.set_source(address, source))?,
                    _ => thread::sleep(pause),
                }
                let written = |k: usize| (31 * k + 7 * step) % (least + 500);
                (0..ni).try_for_each(|k| system.set_source(written(k), &sources[written(k) + 1]))?;
                let first = step % 100;
                let block = &sinks[first..sinks.len().min(first + ni)];
                found.push(if step % 50 == 35 {
                    answer(&mut system, least, block)?
                } else {
                    bits(system.force(least + 10 * step, true, block.iter().copied())?)
                });
            }
            Ok(found)
        };
        let (close, apart) = (play(Duration::ZERO)?, play(Duration::from_micros(300))?);
        for (step, (close, apart)) in close.iter().zip(&apart).enumerate() {
            findings.expect(close == apart, || format!("block {step}: expected the bits that it has after a pause"));
        }
        Ok(())
    },
};
