//! The caller chooses the units of length, mass and time: powers of two of them give the same
//! digits.

use kyoho::config::Settings;
use kyoho::{Setup, System};
use kyoho_core::Level;
use kyoho_core::{Nearest, Sink, Source};
use kyoho_laws::catalogue::CATALOGUE;

/// Returns bodies 1 to 300 in a ball, the same in every call: position, velocity, acceleration,
/// jerk.
fn bodies() -> Vec<[[f64; 3]; 4]> {
    let mut state = 88172645463325252u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / 2f64.powi(52) - 1.0
    };
    (0..300).map(|_| std::array::from_fn(|_| std::array::from_fn(|_| uniform()))).collect()
}

/// The results for a sink: potential; acceleration, jerk, snap, crackle; nearest source.
type Row = (f64, [[f64; 3]; 4], Option<Nearest>);

/// Returns the forces on all bodies, with lengths, masses and velocities multiplied by powers of
/// two. Two thirds of the bodies have 2^-40 of the mass of the others.
fn forces(setup: &Setup, length: i32, mass: i32, velocity: i32) -> Vec<Row> {
    let [length, mass, velocity] = [length, mass, velocity].map(|exponent| f64::from(exponent).exp2());
    let time = length / velocity;
    let units = [length, velocity, velocity / time, velocity / (time * time)];
    let scaled = |body: [[f64; 3]; 4]| std::array::from_fn::<_, 4, _>(|q| body[q].map(|number| number * units[q]));
    let mut system = System::new(setup).unwrap();
    for (number, body) in bodies().into_iter().enumerate() {
        let mass = if number % 3 == 0 { mass } else { mass * f64::from(-40).exp2() };
        let source = Source::from_derivatives(number as i32, mass / 300.0, 0.0, scaled(body));
        system.set_source(number, &source).unwrap();
    }
    let softening2 = length * length / 1024.0;
    let sink =
        |(number, body)| Sink { index: number as i32, softening2, radius2: 0.0, step: 0.0, derivatives: scaled(body) };
    let forces = system.force(300, true, bodies().into_iter().enumerate().map(sink)).unwrap();
    let derivatives = |k| [forces.acceleration(k), forces.jerk(k), forces.snap(k), forces.crackle(k)];
    (0..300).map(|k| (forces.potential(k), derivatives(k), forces.nearest(k))).collect()
}

#[test]
fn units_change_no_digit() {
    for entry in CATALOGUE.iter() {
        for level in Level::available() {
            let settings = Settings { level, ..Settings::from_environment().unwrap() };
            let setup = Setup { scope: entry.scope, ..settings.setup(entry.order, entry.precision).unwrap() };
            let plain = forces(&setup, 0, 0, 0);
            let units = [(46, 0, 0), (46, -110, 20), (-40, 0, -10), (-40, 110, 3), (0, -120, 0)];
            // These are a parsec in metres and a galaxy in grams, which single precision could not
            // hold.
            let wide = [(55, 140, 15), (70, 160, 25), (-100, -200, -30), (150, 0, 60)];
            for (length, mass, velocity) in units.into_iter().chain(wide) {
                let power = |exponent: i32| f64::from(exponent).exp2();
                let expected = plain.iter().map(|(potential, derivatives, nearest)| {
                    let rate = velocity - length;
                    let unit = |q: usize| power(mass - 2 * length + q as i32 * rate);
                    (
                        potential * power(mass - length),
                        std::array::from_fn(|q| derivatives[q].map(|number| number * unit(q))),
                        nearest.map(|nearest| Nearest::new(nearest.distance2 * power(2 * length), nearest.index)),
                    )
                });
                let found = forces(&setup, length, mass, velocity);
                let what = (entry.order, entry.precision, level, length, mass, velocity);
                assert_eq!(found, expected.collect::<Vec<Row>>(), "{what:?}");
            }
        }
    }
}
