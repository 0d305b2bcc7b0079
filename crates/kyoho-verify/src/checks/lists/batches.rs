//! Batches: many systems in a call.

use std::sync::LazyLock;

use super::super::prediction::moving;
use super::super::units::{SYSTEMS, star_and_dust};
use super::Expected;
use crate::models::{grid, plummer, sinks_of};
use crate::{Check, Needs, PlainBatch, PlainLists, Twin};
use kyoho_core::Order;
use kyoho_engine::System;

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
