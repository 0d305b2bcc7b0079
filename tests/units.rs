//! The unit of length, mass and time is the caller's: powers of two of it give the same digits.

use kyoho::catalogue::CATALOGUE;
use kyoho::config::Settings;
use kyoho::{Level, Nearest, Setup, Sink, Source, System};

/// Bodies 1 to 300 in a ball, the same series in every call: position and velocity.
fn bodies() -> Vec<[[f64; 3]; 2]> {
    let mut state = 88172645463325252u64;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / 2f64.powi(52) - 1.0
    };
    (0..300).map(|_| std::array::from_fn(|_| std::array::from_fn(|_| uniform()))).collect()
}

type Row = (f64, [f64; 3], [f64; 3], Option<Nearest>);

/// Forces on all bodies, with lengths, masses and velocities multiplied by powers of two.
fn forces(setup: &Setup, length: i32, mass: i32, velocity: i32) -> Vec<Row> {
    let [length, mass, velocity] = [length, mass, velocity].map(|exponent| f64::from(exponent).exp2());
    let scaled = |[x, v]: [[f64; 3]; 2]| [x.map(|x| x * length), v.map(|v| v * velocity)];
    let mut system = System::new(setup).unwrap();
    for (number, body) in bodies().into_iter().enumerate() {
        let [x, v] = scaled(body);
        let source = Source::from_derivatives(number as i32, mass / 300.0, 0.0, [x, v, [0.0; 3], [0.0; 3]]);
        system.set_source(number, &source).unwrap();
    }
    let softening2 = length * length / 1024.0;
    let sink = |(number, body)| Sink { index: number as i32, softening2, radius2: 0.0, derivatives: scaled(body) };
    let forces = system.force(300, true, bodies().into_iter().enumerate().map(sink)).unwrap();
    (0..300).map(|k| (forces.potential(k), forces.acceleration(k), forces.jerk(k), forces.nearest(k))).collect()
}

#[test]
fn units_change_no_digit() {
    for entry in CATALOGUE {
        for level in Level::available() {
            let settings = Settings { level, ..Settings::from_environment().unwrap() };
            let setup = settings.setup(entry.order, entry.precision).unwrap();
            let plain = forces(&setup, 0, 0, 0);
            for (length, mass, velocity) in [(46, 0, 0), (46, -110, 20), (-40, 0, -10), (-40, 110, 3), (0, -120, 0)] {
                let power = |exponent: i32| f64::from(exponent).exp2();
                let expected = plain.iter().map(|(potential, acceleration, jerk, nearest)| {
                    (
                        potential * power(mass - length),
                        acceleration.map(|a| a * power(mass - 2 * length)),
                        jerk.map(|j| j * power(mass - 3 * length + velocity)),
                        nearest.map(|nearest| Nearest { distance2: nearest.distance2 * power(2 * length), ..nearest }),
                    )
                });
                let found = forces(&setup, length, mass, velocity);
                let what = (entry.order, entry.precision, level, length, mass, velocity);
                assert_eq!(found, expected.collect::<Vec<Row>>(), "{what:?}");
            }
        }
    }
}
