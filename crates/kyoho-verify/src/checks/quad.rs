//! Systems in numbers of two doubles.

use kyoho::{QuadForce, QuadSink, QuadSource, System};
use kyoho_core::{MAX_COEFFICIENTS, MAX_DERIVATIVES, Order, Result, Source};

use crate::checks::prediction::moving;
use crate::models::plummer;
use crate::reference::{DoubleDouble, Force, Predicted, force, predict_all};
use crate::{Check, Findings, Needs};

const ERROR: f64 = 1e-28;

fn number(value: f64) -> DoubleDouble {
    DoubleDouble::from_limb(value)
}

/// Offsets that no force depends on. Numbers that have them added have two limbs each.
struct Offsets {
    vectors: [f64; MAX_DERIVATIVES],
    time: f64,
    /// All masses, and so all forces, are multiplied with this.
    mass: DoubleDouble,
}

impl Offsets {
    /// The offsets of positions, velocities, ... and of the time, each a third, so that the sums
    /// have bits down to the last.
    fn new() -> Offsets {
        let third = |value: f64| value / 3.0;
        Offsets {
            vectors: [third(8.0), third(-4.0), third(2.0), third(1.0)],
            time: third(32.0),
            mass: number(1.0) + number(2f64.powi(-70)),
        }
    }

    /// Returns some vectors in motion with the offsets, which is that of a constant jerk at `time`.
    fn moved<const N: usize>(
        &self,
        vectors: [[DoubleDouble; 3]; N],
        time: f64,
        order: Order,
    ) -> [[DoubleDouble; 3]; N] {
        let [x, v, a, j] = match order {
            Order::Second => [self.vectors[0], 0.0, 0.0, 0.0],
            Order::Fourth => [self.vectors[0], self.vectors[1], 0.0, 0.0],
            Order::Sixth => [self.vectors[0], self.vectors[1], self.vectors[2], 0.0],
            Order::Eighth => self.vectors,
        }
        .map(number);
        let [t, half, sixth] = [number(time), number(0.5), number(1.0) / number(6.0)];
        let series = [x + t * (v + t * (half * a + t * (sixth * j))), v + t * (a + t * (half * j)), a + t * j, j];
        let mut vectors = vectors;
        for (vector, offset) in vectors.iter_mut().zip(series) {
            *vector = vector.map(|component| component + offset);
        }
        vectors
    }

    fn source(&self, source: &Source, order: Order) -> QuadSource {
        let mut factorial = 1.0;
        let mut derivatives = [[DoubleDouble::ZERO; 3]; MAX_COEFFICIENTS];
        for (k, (derivative, coefficient)) in derivatives.iter_mut().zip(source.coefficients).enumerate() {
            factorial *= k.max(1) as f64;
            *derivative = coefficient.map(|component| number(component) * number(factorial));
        }
        QuadSource {
            index: source.index,
            mass: number(source.mass) * self.mass,
            time: number(source.time) + number(self.time),
            softening2: DoubleDouble::ZERO,
            derivatives: self.moved(derivatives, source.time, order),
        }
    }
}

/// Returns the largest error of a force, each quantity in the size of its terms.
fn error(found: &QuadForce, expected: &Force<DoubleDouble>, factor: DoubleDouble, vectors: usize) -> f64 {
    let Force { potential, acceleration, jerk, snap, crackle, scale, .. } = expected;
    let size = |quantity: usize| scale.terms[quantity] + scale.coordinates[quantity];
    let apart = |found: DoubleDouble, expected: DoubleDouble| (found - factor * expected).to_f64().abs();
    let of_potential = apart(found.potential, *potential) / size(0);
    let all = [acceleration, jerk, snap, crackle].into_iter().zip(&found.derivatives).take(vectors).enumerate();
    all.fold(of_potential, |worst, (k, (expected, found))| {
        (0..3).fold(worst, |worst: f64, c| worst.max(apart(found[c], expected[c]) / size(k + 1)))
    })
}

/// Compares the forces of a system on sinks with those of its sources at a time without offsets.
fn compare(
    (system, order): (&mut System, Order),
    (offsets, sources, time): (&Offsets, &[Source], f64),
    what: &str,
    findings: &mut Findings,
) -> Result<()> {
    let vectors = order as usize / 2;
    let softening2 = 1e-4;
    let bodies: Vec<Predicted<DoubleDouble>> = predict_all(order, sources, time);
    let some: Vec<_> = crate::models::sinks_of(&plummer(60), softening2).into_iter().skip(20).collect();
    let sinks = some.iter().map(|sink| QuadSink {
        index: sink.index,
        softening2: number(softening2),
        radius2: DoubleDouble::ZERO,
        derivatives: offsets.moved(sink.derivatives.map(|vector| vector.map(number)), time, order),
    });
    system.set_quad_time(number(time) + number(offsets.time))?;
    system.start_quad(sources.len(), true, sinks)?;
    let forces = system.wait()?;
    for (number, sink) in some.iter().enumerate() {
        let (found, expected) = (QuadForce::of(&forces, number), force(order, &bodies, true, sink));
        findings.measure(what, error(&found, &expected, offsets.mass, vectors), ERROR);
        let high = (found.potential.high, found.derivatives.map(|vector| vector.map(|component| component.high))[0]);
        let nearest_doubles = (forces.potential(number), forces.acceleration(number));
        findings.expect_equal("forces in doubles", nearest_doubles, high);
        if order > Order::Second {
            let nearest = found.nearest.map(|(_, index)| index);
            findings.expect_equal("the nearest source", nearest, expected.nearest.map(|(_, index)| index));
            let apart = found
                .nearest
                .zip(expected.nearest)
                .map(|(found, expected)| ((found.0 - expected.0) / expected.0).to_f64().abs());
            // The squared distance has twice the relative error of coordinates around 8 / 3.
            findings.measure("the distance of the nearest source", apart.unwrap_or(0.0), 1e-26);
        }
    }
    Ok(())
}

pub const FORCES: Check = Check {
    name: "quad forces",
    promise: "all numbers of sources and sinks have two limbs, also in predictions: forces have errors below 1e-28",
    needs: Needs::Quad,
    run: |target, findings| {
        let (order, offsets) = (target.interaction().order, Offsets::new());
        let mut system = System::new(&target.setup)?;
        let sources = if order == Order::Second { plummer(700) } else { moving(61, 700) };
        for (address, source) in sources.iter().enumerate() {
            system.set_quad_source(address, &offsets.source(source, order))?;
        }
        let times: &[f64] = if order == Order::Second { &[0.0] } else { &[0.5, 1.0] };
        for time in times {
            compare((&mut system, order), (&offsets, &sources, *time), "forces", findings)?;
        }
        let expected = predict_all::<DoubleDouble>(order, &sources[..1], times[0]);
        system.set_quad_time(number(times[0]) + number(offsets.time))?;
        let found = system.quad_predicted([0])?[0].unwrap_or_default();
        let expected = offsets.moved(expected[0].derivatives, times[0], order);
        for (found, expected) in found.iter().zip(&expected).take(order as usize / 2) {
            for (found, expected) in found.iter().zip(expected) {
                findings.measure("predicted sources", (*found - *expected).to_f64().abs(), ERROR);
            }
        }
        Ok(())
    },
};

pub const WRITES: Check = Check {
    name: "quad writes",
    promise: "sources written during a block, as plain doubles or with two limbs, count from the next block on",
    needs: Needs::Quad,
    run: |target, findings| {
        let (order, offsets) = (target.interaction().order, Offsets::new());
        let mut system = System::new(&target.setup)?;
        let mut sources = plummer(300);
        let other = plummer(600);
        for (address, source) in sources.iter().enumerate() {
            system.set_quad_source(address, &offsets.source(source, order))?;
        }
        system.set_quad_time(number(offsets.time))?;
        let sink = |radius2: f64| QuadSink {
            index: 0,
            softening2: DoubleDouble::ZERO,
            radius2: number(radius2),
            derivatives: offsets.moved([[DoubleDouble::ZERO; 3]; MAX_DERIVATIVES], 0.0, order),
        };
        system.start_quad(300, true, [sink(1.0)])?;
        let before = QuadForce::of(&system.wait()?, 0);
        system.start_quad(300, true, [sink(1.0)])?;
        for address in [0, 7, 299] {
            sources[address] = Source { index: address as i32, ..other[address + 300] };
            system.set_quad_source(address, &offsets.source(&sources[address], order))?;
        }
        findings.expect_equal("a block that was begun before", QuadForce::of(&system.wait()?, 0), before);
        compare((&mut system, order), (&offsets, &sources, 0.0), "after writes during a block", findings)?;
        // A plain write has no low limbs, whatever was there before.
        let plain = Offsets { vectors: [0.0; MAX_DERIVATIVES], time: 0.0, mass: number(1.0) };
        for (address, source) in sources.iter().enumerate() {
            system.set_source(address, source)?;
        }
        compare((&mut system, order), (&plain, &sources, 0.0), "plain writes", findings)
    },
};

pub const NEIGHBOURS: Check = Check {
    name: "quad neighbours",
    promise: "a neighbour list has the sources within a radius to the last of two limbs",
    needs: Needs::QuadLists,
    run: |target, findings| {
        let mut system = System::new(&target.setup)?;
        let tiny = 2f64.powi(-80);
        for (address, low) in [-tiny, 0.0, tiny].into_iter().enumerate() {
            let mut derivatives = [[DoubleDouble::ZERO; 3]; MAX_COEFFICIENTS];
            derivatives[0][0] = number(1.0) + number(low);
            let (index, zero) = (10 + address as i32, DoubleDouble::ZERO);
            let source = QuadSource { index, mass: number(1.0), time: zero, softening2: zero, derivatives };
            system.set_quad_source(address, &source)?;
        }
        for (reach, expected) in [(0.0, vec![10]), (1.5, vec![10, 11]), (2.5, vec![10, 11, 12])] {
            let sink = QuadSink {
                index: 0,
                softening2: DoubleDouble::ZERO,
                radius2: number(1.0) + number(reach * tiny),
                derivatives: [[DoubleDouble::ZERO; 3]; MAX_DERIVATIVES],
            };
            system.start_quad(3, true, [sink])?;
            system.wait()?;
            findings.expect_equal("the neighbours", system.neighbours(0)?.to_vec(), expected);
        }
        Ok(())
    },
};
