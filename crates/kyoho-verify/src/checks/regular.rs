//! The regular force: the force of all sources but the sink's regular neighbours, which are those
//! in its list.
//!
//! [`Twin::compare`] makes the lists of each block and compares them with the reference. Then it
//! compares the forces with those of all sources that are not listed. So it finds a source that is
//! in a list and in a sum, or in neither, if its force is not too small beside that of the others.

use crate::models::{Random, at, grid, plummer, sink_at, sinks_of, source};
use crate::{Check, Needs, Twin};
use kyoho_core::{NeighbourCriterion, Sink, Source};

/// Numbers of sinks on both sides of the widths of vectors.
const SINKS: [usize; 4] = [1, 3, 16, 21];

/// The number of sources around each sink that are on the border to the last bits.
const ON_BORDER: usize = 48;

pub const BORDER: Check = Check {
    name: "neighbours on the border",
    promise: "of sources at the radius to the last bits, exactly those that are in the list are not in the force",
    needs: Needs::Regular,
    run: |target, findings| {
        let mut random = Random::new(81);
        let rounding = target.rounding();
        let most = SINKS[SINKS.len() - 1];
        let mut sources = Vec::new();
        let mut sinks = Vec::new();
        for number in 0..most {
            // The sinks are far from each other, so that most of the force on a sink is that of its
            // own sources.
            let place: [f64; 3] = std::array::from_fn(|k| 40.0 * number as f64 + 3.0 * random.unit() + k as f64);
            let velocity = random.direction();
            let (radius2, step) = (0.5 + random.unit(), random.unit());
            let derivatives = kyoho_core::padded([place, velocity]);
            sinks.push(Sink { radius2, step, derivatives, ..sink_at(-1 - number as i32, place, 0.0) });
            for k in 0..ON_BORDER {
                let mass = 0.5 + random.unit();
                let off = 1.0 + 2.0 * rounding * (random.below(9) as f64 - 4.0);
                let [neighbour_criterion, direction] =
                    [(radius2 * mass).sqrt() * off, 1.0].map(|length| (length, random.direction()));
                let at_border = |from: [f64; 3]| {
                    std::array::from_fn(|c| from[c] + neighbour_criterion.0 * neighbour_criterion.1[c])
                };
                let (x, v): ([f64; 3], [f64; 3]) = match k % 2 {
                    // It is there at once, and leaves.
                    0 => (
                        at_border(place),
                        std::array::from_fn(|c| velocity[c] + neighbour_criterion.1[c] * random.unit()),
                    ),
                    // It arrives within a step.
                    _ => {
                        let later = at_border(std::array::from_fn(|c| place[c] + step * velocity[c]));
                        let speed: [f64; 3] =
                            std::array::from_fn(|c| velocity[c] - 2.0 * neighbour_criterion.1[c] + direction.1[c]);
                        (std::array::from_fn(|c| later[c] - step * speed[c]), speed)
                    }
                };
                sources.push(source((number * ON_BORDER + k) as i32, mass, [x, v]));
            }
        }
        let mut twin = Twin::with(target, &sources)?;
        let (mut listed, mut asked) = (0, 0);
        for ni in SINKS {
            twin.compare(findings, "sinks with 48 sources on the border", sources.len(), false, &sinks[..ni])?;
            for sink in 0..ni {
                listed += twin.system.neighbours(sink)?.len();
                asked += ON_BORDER;
            }
        }
        findings.expect((asked / 8..asked - asked / 8).contains(&listed), || {
            format!("expected sources on both sides of the border, found {listed} of {asked} within")
        });
        Ok(())
    },
};

pub const CLOSE: Check = Check {
    name: "close neighbours",
    promise: "a neighbour whose force would hide all others leaves no trace in the regular force",
    needs: Needs::Regular,
    run: |target, findings| {
        let mut sources = grid(82, 300);
        let mut sinks = sinks_of(&sources[..21], 0.0);
        for (number, sink) in sinks.iter_mut().enumerate() {
            (sink.radius2, sink.step) = (0.01, 0.125);
            let separation = 2f64.powi(-10 - number as i32);
            let x = sink.derivatives[0];
            sources.push(source(1000 + number as i32, 1e6, [[x[0] + separation, x[1], x[2] - separation]]));
        }
        let mut twin = Twin::with(target, &sources)?;
        for ni in SINKS {
            twin.compare(findings, "bodies that have a heavy one at 1e-3 to 1e-9", sources.len(), false, &sinks[..ni])?;
        }
        Ok(())
    },
};

/// Returns sources that rest on the x axis at 1, 2, ..., but every second one moves to the origin
/// within half a unit of time.
fn approaching(count: usize) -> Vec<Source> {
    let body = |number: usize| {
        let x = (number + 1) as f64;
        source(number as i32, 1.0, [[x, 0.0, 0.0], [if number % 2 == 1 { -2.0 * x } else { 0.0 }, 0.0, 0.0]])
    };
    (0..count).map(body).collect()
}

pub const STEPS: Check = Check {
    name: "neighbours of a step",
    promise: "a source that comes near within the sink's step is its neighbour, one that leaves is as long as it is near",
    needs: Needs::Regular,
    run: |target, findings| {
        let mut twin = Twin::with(target, &approaching(300))?;
        let sink = |step: f64| Sink { radius2: 2.5 * 2.5, step, ..sink_at(-1, [0.0; 3], 0.0) };
        let sinks = [0.0, 0.5, -0.5, 1e-3, 0.0].map(sink);
        twin.compare(findings, "300 sources of which half approach", 300, true, &sinks)?;
        let coming: Vec<i32> = [0].into_iter().chain((0..300).filter(|number| number % 2 == 1)).collect();
        for (sink, expected) in [&[0, 1][..], &coming, &[0, 1], &[0, 1], &[0, 1]].into_iter().enumerate() {
            findings.expect_equal("the list", twin.system.neighbours(sink)?, expected);
        }
        for step in [1.0, 10.0] {
            let moving = Sink { derivatives: kyoho_core::padded([[0.0; 3], [-1.0, 0.25, 0.0]]), ..sink(step) };
            twin.compare(findings, "a sink that moves", 300, true, &[moving])?;
        }
        // The sinks are bodies of a Plummer model, each with a step of its own.
        let sources = plummer(1000);
        let mut twin = Twin::with(target, &sources)?;
        let mut sinks = target.sinks_of(&sources[..40], 0.0);
        for (number, sink) in sinks.iter_mut().enumerate() {
            sink.step = [0.0, 0.01, 0.1, 1.0, 10.0][number % 5];
        }
        twin.compare(findings, "sinks with steps of their own", 1000, false, &sinks)
    },
};

pub const MASSES: Check = Check {
    name: "neighbour criterion by mass",
    promise: "the squared radius is for each unit of a source's mass, unless a plain one is set, from the next block on",
    needs: Needs::Regular,
    run: |target, findings| {
        let masses = [0.25, 4.0, 0.0, 1.0, 9.0];
        let body =
            |number: usize| Source { mass: masses[number], ..at(number as i32, [2.0 + number as f64, 0.0, 0.0]) };
        let mut twin = Twin::with(target, &(0..5).map(body).collect::<Vec<_>>())?;
        let sink = Sink { radius2: 4.5, ..sink_at(9, [0.0; 3], 0.0) };
        // The sources have distances from 2 to 6. The radii are 2.1 times the root of the mass, and
        // 2.1.
        for (neighbour_criterion, expected) in [
            (NeighbourCriterion::ByMass, &[1, 4][..]),
            (NeighbourCriterion::Plain, &[0]),
            (NeighbourCriterion::ByMass, &[1, 4]),
        ] {
            twin.set_neighbour_criterion(neighbour_criterion);
            twin.start(5, true, &[sink])?;
            twin.system.set_neighbour_criterion(NeighbourCriterion::Plain);
            twin.finish(findings, "five masses")?;
            findings.expect_equal(
                &format!("the list for {neighbour_criterion:?}"),
                twin.system.neighbours(0)?,
                expected,
            );
        }
        let mut random = Random::new(83);
        let mut sources = grid(84, 700);
        sources.iter_mut().for_each(|source| source.mass = 10f64.powf(-12.0 * random.unit()));
        let mut sinks = sinks_of(&sources[..40], 0.0);
        for neighbour_criterion in [NeighbourCriterion::ByMass, NeighbourCriterion::Plain] {
            let mut twin = Twin::with(target, &sources)?;
            twin.set_neighbour_criterion(neighbour_criterion);
            sinks.iter_mut().for_each(|sink| (sink.radius2, sink.step) = (9.0 * random.unit(), random.unit()));
            twin.compare(findings, "masses over twelve decades", 700, false, &sinks)?;
        }
        Ok(())
    },
};

pub const REACHES: Check = Check {
    name: "neighbours from none to all",
    promise: "without a radius the regular force is the full force, within a radius of everything it is zero",
    needs: Needs::Regular,
    run: |target, findings| {
        let sources = grid(85, 300);
        let mut twin = Twin::with(target, &sources)?;
        let mut sinks = sinks_of(&sources[..9], 0.0);
        sinks.extend(sinks_of(&grid(86, 12), 0.0));
        for neighbour_criterion in [NeighbourCriterion::ByMass, NeighbourCriterion::Plain] {
            twin.set_neighbour_criterion(neighbour_criterion);
            for radius2 in [-1.0, 0.0, 1e-300, 1e4, 1e30] {
                sinks.iter_mut().for_each(|sink| sink.radius2 = radius2);
                let what = format!("a squared radius of {radius2:e}");
                twin.compare(findings, &what, 300, false, &sinks)?;
                let all = if radius2 > 1.0 { 300 } else { 0 };
                // If single precision may take a radius for zero, a sink may be its own neighbour
                // or not.
                let lengths = (0..21).map(|sink| twin.system.neighbours(sink).map(<[i32]>::len));
                for length in lengths.collect::<Result<Vec<_>, _>>()? {
                    let close = radius2 == 1e-300 && length == 1;
                    findings.expect(length == all || close, || format!("{what}: found {length} neighbours"));
                }
            }
            twin.compare(findings, "addresses that were never written", 5000, false, &sinks)?;
        }
        Ok(())
    },
};

pub const SELF: Check = Check {
    name: "own index in lists",
    promise: "a sink that meets itself is its own neighbour, unless its own index is skipped or it has no radius",
    needs: Needs::Regular,
    run: |target, findings| {
        let bodies = [[1.0, 0.0, 0.0], [1.5, 0.0, 0.0], [9.0, 0.0, 0.0]];
        let sources: Vec<Source> = (0..3).map(|number| at(number as i32, bodies[number])).collect();
        let mut twin = Twin::with(target, &sources)?;
        let body = Sink { radius2: 1.0, ..sink_at(0, bodies[0], 0.0) };
        let stranger = Sink { index: 77, ..body };
        for (sink, skip_own_index, expected) in
            [(body, false, &[0, 1][..]), (body, true, &[1]), (stranger, true, &[0, 1]), (stranger, false, &[0, 1])]
        {
            twin.compare(findings, "three bodies", 3, skip_own_index, &[sink])?;
            findings.expect_equal("the list", twin.system.neighbours(0)?, expected);
        }
        twin.compare(findings, "three bodies, no radius", 3, false, &[Sink { radius2: 0.0, ..body }])?;
        findings.expect_equal("the list without a radius", twin.system.neighbours(0)?, &[][..]);
        Ok(())
    },
};

pub const UNITS: Check = Check {
    name: "neighbours in any units",
    promise: "units of mass, length and time by powers of two change no list",
    needs: Needs::Regular,
    run: |target, findings| {
        let sources = plummer(500);
        let mut lists = Vec::new();
        for (length, mass) in [(1.0, 1.0), (2f64.powi(40), 1.0), (2f64.powi(-40), 1.0), (1.0, 2f64.powi(-110))] {
            let scaled = |vector: [f64; 3]| vector.map(|component| component * length);
            let sources: Vec<Source> = (sources.iter())
                .map(|body| Source { mass: body.mass * mass, coefficients: body.coefficients.map(scaled), ..*body })
                .collect();
            for neighbour_criterion in [NeighbourCriterion::ByMass, NeighbourCriterion::Plain] {
                let mut twin = Twin::with(target, &sources)?;
                twin.set_neighbour_criterion(neighbour_criterion);
                let mut sinks = sinks_of(&sources[..40], 0.0);
                let of_mass = if neighbour_criterion == NeighbourCriterion::ByMass { mass / 500.0 } else { 1.0 };
                sinks.iter_mut().for_each(|sink| sink.radius2 = 0.04 * length * length / of_mass);
                sinks.iter_mut().for_each(|sink| sink.step = 0.125);
                let what = format!("lengths times {length:e}, masses times {mass:e}, {neighbour_criterion:?}");
                twin.compare(findings, &what, 500, false, &sinks)?;
                let found = (0..40).map(|sink| twin.system.neighbours(sink).map(<[i32]>::to_vec));
                lists.push((what, found.collect::<Result<Vec<_>, _>>()?));
            }
        }
        for (what, found) in &lists {
            findings.expect(found.iter().all(|list| !list.is_empty() && list.len() < 400), || {
                format!("{what}: expected some neighbours of each sink, and not all")
            });
        }
        // The radii of the two neighbour criteria differ in their rounding. Those of one criterion
        // are the same in all units.
        for kind in [0, 1] {
            for (what, found) in lists.iter().skip(kind).step_by(2) {
                findings.expect(*found == lists[kind].1, || format!("{what}: expected the lists of other units"));
            }
        }
        Ok(())
    },
};
