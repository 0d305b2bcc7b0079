//! The check that a block has the same results, to the bit, on any number of devices.

use crate::bench::measure::Bench;
use crate::bench::row::Work;
use crate::failure::{Failure, Result};
use kyoho_core::{Forces, memory};

/// The quantities that may be computed for a sink.
const QUANTITIES: [&str; 9] = [
    "the potential",
    "x of the acceleration",
    "y of the acceleration",
    "z of the acceleration",
    "x of the jerk",
    "y of the jerk",
    "z of the jerk",
    "the squared distance of the nearest source",
    "the index of the nearest source",
];

/// The numbers for one sink, with some constant for a quantity that was not computed.
type Outcome = [f64; QUANTITIES.len()];

/// The first place where two results of one block differ.
#[derive(Debug, PartialEq)]
struct Difference {
    sink: usize,
    quantity: &'static str,
    expected: f64,
    found: f64,
}

/// Fails if a call on systems in the same state gives other bits on one of them than on the first.
pub fn compare(benches: &mut [Bench], work: Work, ni: usize) -> Result<()> {
    let mut expected: Option<Vec<Outcome>> = None;
    for bench in benches {
        let found = outcomes(&bench.call(work, ni)?)?;
        let Some(expected) = &expected else {
            expected = Some(found);
            continue;
        };
        if let Some(Difference { sink, quantity, expected, found }) = difference(expected, &found) {
            return Err(Failure::OtherBits {
                devices: bench.devices(),
                block: format!("{} of ni = {ni}, nj = {}", work.name(), bench.nj()),
                sink,
                quantity,
                found,
                expected,
            });
        }
    }
    Ok(())
}

fn outcomes(forces: &Forces) -> Result<Vec<Outcome>> {
    let outcome = |sink: usize| {
        let ([ax, ay, az], [jx, jy, jz]) = (forces.acceleration(sink), forces.jerk(sink));
        let nearest = forces.nearest(sink).map_or([f64::INFINITY, -1.0], |n| [n.distance2, n.index.into()]);
        [forces.potential(sink), ax, ay, az, jx, jy, jz, nearest[0], nearest[1]]
    };
    Ok(memory::collected((0..forces.len()).map(outcome), "forces to be compared")?)
}

fn difference(expected: &[Outcome], found: &[Outcome]) -> Option<Difference> {
    let places = expected.iter().zip(found).enumerate().flat_map(|(sink, (expected, found))| {
        let numbers = expected.iter().copied().zip(found.iter().copied()).zip(QUANTITIES);
        numbers.map(move |((expected, found), quantity)| Difference { sink, quantity, expected, found })
    });
    places.into_iter().find(|place| place.expected.to_bits() != place.found.to_bits())
}

#[cfg(test)]
mod tests {
    use crate::bench::measure::{Particle, bodies};
    use kyoho::Setup;
    use kyoho::config::{DeviceChoice, Settings, Wanted};
    use kyoho_core::{Order, Precision};
    use kyoho_hal::Backend;

    use super::*;

    fn on(devices: usize, bodies: &[Particle]) -> Bench {
        let choice = DeviceChoice { wanted: Wanted::List(vec![0; devices]), because: "a test".into(), of_gpus: false };
        let settings = Settings::from(&|_| None, None).unwrap();
        let settings = Settings { backend: Some(Backend::Cpu), devices: choice, ..settings };
        let setup: Setup = settings.setup(Order::Second, Precision::Double).unwrap();
        Bench::new(1.0, &setup, &bodies.to_vec().into()).unwrap()
    }

    #[test]
    fn the_number_of_devices_that_has_other_bits_is_told() {
        // The force on a body without mass is the only result that shows the body's place.
        let mut bodies = bodies(600).unwrap().to_vec();
        bodies[17].mass = 0.0;
        let mut benches = [1, 2, 3].map(|devices| on(devices, &bodies));
        for work in [Work::NTimesN, Work::BlockStep] {
            compare(&mut benches, work, 600).unwrap();
        }
        bodies[17].motion[0][0] += 1.0;
        benches[2] = on(3, &bodies);
        let error = compare(&mut benches, Work::NTimesN, 600).unwrap_err().to_string();
        let told = "N x N of ni = 600, nj = 600: on 3 devices, the potential of sink 17 is -";
        assert!(error.starts_with(told) && error.ends_with("the bits that it has on one"), "{error}");
    }

    #[test]
    fn the_first_sink_of_which_a_bit_differs_is_found() {
        let outcome: Outcome = [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let expected = vec![outcome; 4];
        assert_eq!(difference(&expected, &expected), None);
        let mut found = expected.clone();
        (found[3][0], found[2][7]) = (0.0, 6f64.next_up());
        let nearest = "the squared distance of the nearest source";
        let place = Difference { sink: 2, quantity: nearest, expected: 6.0, found: 6f64.next_up() };
        assert_eq!(difference(&expected, &found), Some(place));
        found[0][1] = -0.0;
        let place = difference(&expected, &found).unwrap();
        assert_eq!((place.sink, place.quantity), (0, "x of the acceleration"));
    }
}
