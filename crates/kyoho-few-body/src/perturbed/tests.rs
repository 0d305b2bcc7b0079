//! Two bodies in the pull of others, against the regularised leapfrog.

use super::*;
use crate::averaged::{Tensor, applied};
use crate::vector::{difference, sum};
use crate::{Options, Perturbation, System, evolve};

/// A tide that changes with the time, and a body at rest.
struct Others {
    tide: Tensor,
    body: (f64, Vector),
}

impl Others {
    fn pull(&self, time: f64, place: Vector) -> Vector {
        let (mass, at) = self.body;
        let from = difference(at, place);
        let by_body = scaled(mass / norm(from).powi(3), from);
        sum(scaled(1.0 + 0.3 * time, applied(&self.tide, place)), by_body)
    }
}

impl Perturbation for Others {
    fn add(&self, time: f64, positions: &[Vector], _: &[Vector], accelerations: &mut [Vector]) {
        let [one, other] = [0, 1].map(|body| self.pull(time, positions[body]));
        let mean = sum(scaled(MASSES[0], one), scaled(MASSES[1], other));
        for (pull, acceleration) in [one, other].into_iter().zip(accelerations) {
            *acceleration = sum(*acceleration, difference(pull, mean));
        }
    }
}

const MASSES: [f64; 2] = [0.3, 0.7];

/// Returns separation and velocity of two bodies of mass 1 in all at an eccentric anomaly.
fn start(e: f64, anomaly: f64) -> (Vector, Vector) {
    let (sine, cosine) = anomaly.sin_cos();
    let (b, rate) = ((1.0 - e * e).sqrt(), 1.0 / (1.0 - e * cosine));
    let [place, speed] = [[cosine - e, b * sine], [-rate * sine, rate * b * cosine]];
    // In a plane of any direction.
    let turn = |[x, y]: [f64; 2]| [0.6 * x - 0.48 * y, 0.8 * x + 0.36 * y, 0.8 * y];
    (turn(place), turn(speed))
}

impl Others {
    fn of(strength: f64) -> Others {
        let tide = [1.0, -0.4, 0.2, 0.3, -0.6, 0.5].map(|x| strength * x);
        Others { tide, body: (300.0 * strength, [5.0, -6.0, 3.0]) }
    }

    /// Moves two bodies of mass 1 in all with a tolerance; see [`advance`].
    fn advance(&self, pair: (Vector, Vector), time: f64, (tolerance, closest): (f64, f64)) -> ((Vector, Vector), f64) {
        let pull = |time, separation| {
            let [one, other] = places(separation).map(|place| self.pull(time, place));
            difference(other, one)
        };
        advance(1.0, pair, time, (tolerance, closest), pull)
    }

    /// Moves them by the regularised leapfrog.
    fn leapfrog(&self, pair: (Vector, Vector), time: f64) -> (Vector, Vector) {
        let [positions, velocities] = [pair.0, pair.1].map(|vector| places(vector).to_vec());
        let mut system = System { masses: MASSES.to_vec(), positions, velocities, radii: Vec::new() };
        evolve(&mut system, &Options { time, tolerance: 1e-14, ..Options::default() }, Some(self)).unwrap();
        let between = |rows: &[Vector]| difference(rows[1], rows[0]);
        (between(&system.positions), between(&system.velocities))
    }
}

/// Returns where the two bodies are around their centre.
fn places(separation: Vector) -> [Vector; 2] {
    [-MASSES[1], MASSES[0]].map(|part| scaled(part, separation))
}

fn distance(one: (Vector, Vector), other: (Vector, Vector)) -> f64 {
    norm(difference(one.0, other.0)).max(norm(difference(one.1, other.1)) / norm(one.1).max(1.0))
}

#[test]
fn a_pair_moves_as_the_leapfrog_says() {
    for strength in [0.0, 1e-9, 1e-7, 1e-5, 1e-3] {
        let others = Others::of(strength);
        for (e, exact) in [(0.0, 2e-12), (0.4, 4e-12), (0.9, 4e-11), (0.999, 4e-9)] {
            for (anomaly, time) in [(0.3, 0.01), (2.0, 0.9), (-3.0, 5.5), (4.0, 40.0)] {
                let pair = start(e, anomaly);
                let (moved, passed) = others.advance(pair, time, (1e-13, 0.0));
                let error = distance(moved, others.leapfrog(pair, passed));
                assert!(error < exact * (0.01 + time / 40.0), "{strength:e} {e} {time}: {error:e}");
                let is_whole = passed == time;
                assert!(is_whole || strength == 1e-3, "{strength:e} {e} {time}: {passed}");
                let (again, of_again) = others.advance(pair, time, (1e-15, 0.0));
                let error = distance(moved, again);
                assert!(passed != of_again || error < 1e-13 * (1.0 + time), "{strength:e} {e} {time}: {error:e}");
            }
        }
    }
}

#[test]
fn any_units_give_the_motion() {
    let (others, pair, time) = (Others::of(1e-6), start(0.6, 2.0), 7.0);
    let (expected, _) = others.advance(pair, time, (1e-13, 0.0));
    for (length, mass) in [(1e-60, 1e-70), (1e70, 1e60), (3.0, 1e-9)] {
        let unit_of_time = length * f64::sqrt(length / mass);
        let pull = |time: f64, separation| {
            let [one, other] = places(scaled(1.0 / length, separation)).map(|x| others.pull(time / unit_of_time, x));
            scaled(mass / (length * length), difference(other, one))
        };
        let begin = (scaled(length, pair.0), scaled(length / unit_of_time, pair.1));
        let (end, passed) = advance(mass, begin, time * unit_of_time, (1e-13, 0.0), pull);
        let end = (scaled(1.0 / length, end.0), scaled(unit_of_time / length, end.1));
        assert!(passed == time * unit_of_time && distance(end, expected) < 1e-12, "{length:e} {end:?} {expected:?}");
    }
}

#[test]
fn a_strong_pull_and_a_near_body_are_for_others() {
    let pair = start(0.5, 1.0);
    assert_eq!(Others::of(0.1).advance(pair, 3.0, (1e-13, 0.0)), (pair, 0.0));
    // Weak, but one of the two passes it after some time.
    let later = crate::kepler::advance(1.0, pair.0, pair.1, 4.0).unwrap().0;
    let near = Others { tide: [0.0; 6], body: (1e-7, sum(places(later)[1], [0.02, 0.0, 0.0])) };
    let (end, passed) = near.advance(pair, 9.0, (1e-13, 0.0));
    assert!(passed < 9.0 && distance(end, near.leapfrog(pair, passed)) < 1e-11, "{passed}");
    // Numbers that are none.
    let none = Others { tide: [f64::NAN; 6], body: (0.0, [1.0; 3]) };
    assert_eq!(none.advance(pair, 3.0, (1e-13, 0.0)), (pair, 0.0));
    let free = (pair.0, scaled(2.0, pair.1));
    assert_eq!(Others::of(1e-9).advance(free, 3.0, (1e-13, 0.0)), (free, 0.0));
}

#[test]
fn bodies_that_may_come_nearer_than_they_should_are_for_others() {
    let (others, pair) = (Others::of(1e-7), start(0.5, 1.0));
    // The pericentre is at 0.5.
    assert_eq!(others.advance(pair, 3.0, (1e-13, 0.499)).1, 3.0);
    assert_eq!(others.advance(pair, 3.0, (1e-13, 0.501)), (pair, 0.0));
    // A tide makes an orbit narrow.
    let (others, pair) = (Others::of(1e-4), start(0.9, 3.0));
    let nearest =
        |time: f64| crate::kepler::orbit(1.0, others.leapfrog(pair, time).0, others.leapfrog(pair, time).1).pericentre;
    let limit = nearest(60.0);
    assert!(limit < 0.1);
    let passed = others.advance(pair, 100.0, (1e-13, limit)).1;
    assert!((30.0..60.0).contains(&passed), "{passed} {limit}");
}

#[test]
fn rounding_in_many_steps_does_not_add_up() {
    let (others, mut worst) = (Others::of(0.0), 0.0f64);
    for (e, unit, mass) in [(0.1, 1.0, 1.0), (0.7, 0.3, 1.7), (0.9, 7e-5, 3e-4), (0.4, 1.1e-3, 9.9)] {
        let unit_of_velocity = f64::sqrt(mass / unit);
        let (place, speed) = start(e, 2.0);
        let mut pair = (scaled(unit, place), scaled(unit_of_velocity, speed));
        for step in 0..40_000 {
            let time = (0.2 + 0.1 * f64::from(step % 7)) * unit / unit_of_velocity;
            let pull = |time, separation| others.pull(time, separation);
            pair = advance(mass, pair, time, (1e-13, 0.0), pull).0;
        }
        let orbit = crate::kepler::orbit(mass, pair.0, pair.1);
        let error = [orbit.semi_major_axis / unit - 1.0, orbit.eccentricity - e];
        worst = worst.max(error[0].abs()).max(error[1].abs());
    }
    assert!(worst < 5e-13, "{worst:e}");
}
