//! The bodies around a subsystem during a step of its centre of mass, and what they do to its members.
//!
//! A body far away acts by its tide: a tensor, which depends on the time alone, so that a step of the
//! inner motion costs the same with any number of them. A near one acts by itself. Most bodies are so
//! far that where they were seen last is exact enough: of those one tensor for the whole step is left.

use kyoho_core::{Precision, Result, memory};
use kyoho_few_body::Perturbation;
use kyoho_few_body::averaged::{Tensor, applied};
use kyoho_laws::simd::in_longest_vectors;

use super::RESOLVED;
use super::lanes::{LANES, Lanes, Number};
use super::moved::{Together, moved};
use super::partners::Members;
use super::seen::Seen;
use crate::body::{Body, Vector, length, vector};
use crate::hermite::scheme::{MOST, Scheme};

/// A body acts by itself within this many times the extent of the subsystem.
pub const NEAR: f64 = 60.0;

/// Tides below this part of the inner pull count for nothing.
const NEGLIGIBLE: f64 = 1e-12;
/// Those below this part are as if the body stayed where it was seen last, unless it moves far meanwhile.
const SLIGHT: f64 = 1e-9;
/// The same part where forces have errors of single precision.
const SLIGHT_OF_SINGLE: f64 = 1e-8;

/// A near body: its mass times the gravitational constant, and its motion from the centre of mass as a
/// polynomial of the part of the step.
#[derive(Debug)]
struct Near {
    mass: f64,
    motion: [Vector; 6],
}

/// A body around a subsystem, alone or a centre of mass.
pub struct Other<'a> {
    /// Its mass times the gravitational constant.
    pub mass: f64,
    /// Its last step.
    pub body: &'a Body,
    /// The time from its last step to the start of the subsystem's step.
    pub since: f64,
    /// The members whose centre of mass it is, if they may be felt.
    pub members: Option<&'a Members>,
}

/// What acts on a subsystem during a step.
#[derive(Debug)]
pub struct Surroundings {
    /// The length of the step.
    step: f64,
    near: Vec<Near>,
    /// The tide of the far bodies, and that of all, as cubic polynomials of the part of the step.
    far: [Tensor; 4],
    all: [Tensor; 4],
    /// The distance of the nearest body.
    nearest: f64,
}

/// Returns the coefficients of the cubic polynomial of the part of a step that has these values and
/// rates at its two ends.
fn cubic<const N: usize>(
    [start, end]: [[f64; N]; 2],
    [start_rate, end_rate]: [[f64; N]; 2],
    step: f64,
) -> [[f64; N]; 4] {
    let of = |make: fn(f64, f64, f64, f64) -> f64| {
        std::array::from_fn(|k| make(start[k], end[k], step * start_rate[k], step * end_rate[k]))
    };
    [
        start,
        of(|_, _, rate, _| rate),
        of(|start, end, rate, end_rate| 3.0 * (end - start) - 2.0 * rate - end_rate),
        of(|start, end, rate, end_rate| 2.0 * (start - end) + rate + end_rate),
    ]
}

/// Returns the coefficients of the polynomial of degree 5 of the part of a step that has these positions,
/// velocities and accelerations at its two ends.
fn quintic([start, end]: [[Vector; 3]; 2], step: f64) -> [Vector; 6] {
    let coefficients: [[f64; 6]; 3] = std::array::from_fn(|k| {
        let [x0, v0, a0] = [start[0][k], step * start[1][k], 0.5 * step * step * start[2][k]];
        // The rest of the ends beyond the first three terms.
        let x = end[0][k] - (x0 + v0 + a0);
        let v = step * end[1][k] - (v0 + 2.0 * a0);
        let a = step * step * end[2][k] - 2.0 * a0;
        [x0, v0, a0, 10.0 * x - 4.0 * v + 0.5 * a, -15.0 * x + 7.0 * v - a, 6.0 * x - 3.0 * v + 0.5 * a]
    });
    std::array::from_fn(|term| std::array::from_fn(|k| coefficients[k][term]))
}

/// Returns the value of a polynomial.
fn value<const N: usize, const TERMS: usize>(coefficients: &[[f64; N]; TERMS], part: f64) -> [f64; N] {
    coefficients.iter().rev().fold([0.0; N], |sum, term| std::array::from_fn(|k| term[k] + part * sum[k]))
}

/// Returns the square of a length.
pub fn square(vector: &Vector) -> f64 {
    vector.iter().map(|x| x * x).sum()
}

/// Returns the tide of a mass, and how fast it changes.
#[inline(always)]
fn tide<T: Number>(mass: T, at: [T; 3], velocity: [T; 3]) -> [[T; 6]; 2] {
    let number = |value: f64| T::of(value);
    let inverse = (at[0] * at[0] + at[1] * at[1] + at[2] * at[2]).inverse();
    let along = (at[0] * velocity[0] + at[1] * velocity[1] + at[2] * velocity[2]) * inverse;
    let factor = mass * inverse * inverse.root();
    let three = number(3.0) * inverse;
    let mut tides = [[number(0.0); 6]; 2];
    for (place, [one, other]) in [[0, 0], [1, 1], [2, 2], [0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
        let diagonal = number(if one == other { 1.0 } else { 0.0 });
        let product = three * at[one] * at[other];
        let turned = three * (velocity[one] * at[other] + at[one] * velocity[other]);
        tides[0][place] = factor * (product - diagonal);
        tides[1][place] = factor * (turned + along * (number(3.0) * diagonal - number(5.0) * product));
    }
    tides
}

/// The tides of bodies at both ends of a step, with their rates, several sums of each.
type Tides = [[[Lanes; 6]; 2]; 2];

#[inline(always)]
fn add(sums: &mut [[Lanes; 6]; 2], masses: Lanes, tides: &[[Lanes; 6]; 2]) {
    for (sum, tide) in sums.as_flattened_mut().iter_mut().zip(tides.as_flattened()) {
        *sum = *sum + masses * *tide;
    }
}

/// Returns positions, velocities and their derivatives of bodies from a centre at both ends of a step, at
/// which the centre is there.
fn around(scheme: &Scheme, bodies: &Together, ends: &[[Vector; MOST]; 2], step: f64) -> [[[Lanes; 3]; MOST]; 2] {
    let mut from = [0.0, step].map(|time| bodies.after(scheme, time));
    for (from, centre) in from.iter_mut().zip(ends) {
        for (from, centre) in from.as_flattened_mut().iter_mut().zip(centre.as_flattened()) {
            *from = *from - Lanes::of(*centre);
        }
    }
    from
}

/// Returns a function that is 0 or more for a body whose tide on a subsystem of some mass and extent is this
/// part of the inner pull and more, by its squared distance and its mass.
fn is_tide_of(part: f64, mass: f64, extent: f64) -> impl Fn(f64, f64) -> f64 {
    // As of a mass at a distance, whose cube and root are not taken.
    let least = part * mass / (extent * extent * extent);
    let square = least * least;
    move |distance2, other| other * other - square * distance2 * distance2 * distance2
}

/// The bodies that act on a subsystem during a step, by where they were seen last.
pub struct Others<'a> {
    /// The numbers of those that move during the step.
    pub moving: &'a [usize],
    /// The tide of all others, over the gravitational constant.
    pub resting: Tensor,
}

impl<'a> Others<'a> {
    /// Finds those around a centre, with its number and its place in the middle of the step, beside forces
    /// of a precision. Bodies near it count also without mass.
    pub fn find(
        bodies: &Seen,
        (number, centre, middle): (usize, &Body, &Vector),
        (extent, precision): (f64, Precision),
        numbers: &'a mut Vec<usize>,
    ) -> Result<Others<'a>> {
        numbers.clear();
        let slight = if precision < Precision::Double { SLIGHT_OF_SINGLE } else { SLIGHT };
        // Whoever is near feels each member, whatever its own tide. Bodies move while they are looked at
        // where they were.
        let near2 = (2.0 * RESOLVED * extent).powi(2);
        let is_part = |part: f64| {
            let tide = is_tide_of(part, centre.mass, extent);
            move |distance2: f64, mass: f64| if distance2 <= near2 { 0.0 } else { tide(distance2, mass) }
        };
        let resting = bodies.tides(middle, number, numbers, [is_part(slight), is_part(NEGLIGIBLE)])?;
        Ok(Others { moving: numbers, resting })
    }
}

impl Surroundings {
    /// Returns what acts on a subsystem with this extent during a step from a time on. `centre` is its
    /// centre of mass with the time that has passed since its last step, `others` has the bodies that move
    /// meanwhile, see [`Others`], and `resting` is the tide of those that do not.
    pub fn new<'a>(
        scheme: &Scheme,
        (centre, since): (&Body, f64),
        extent: f64,
        (time, step): (f64, f64),
        (mut others, resting): (impl Iterator<Item = Other<'a>>, &Tensor),
    ) -> Result<Surroundings> {
        let ends = [moved(scheme, centre, since), moved(scheme, centre, since + step)];
        let near2 = (NEAR * extent) * (NEAR * extent);
        let (mut near, mut nearest2) = (Vec::new(), f64::INFINITY);
        let [mut far, mut all]: [Tides; 2] = [[[[Lanes::ZERO; 6]; 2]; 2]; 2];
        loop {
            let together: [Option<Other>; LANES] = std::array::from_fn(|_| others.next());
            if together[0].is_none() {
                break;
            }
            let bodies = together.iter().flatten().map(|other| (other.body, other.since));
            let mut from = around(scheme, &Together::of(bodies), &ends, step);
            let (mut masses, mut of_far) = (Lanes::ZERO, Lanes::ZERO);
            for (lane, other) in together.iter().enumerate() {
                let Some(Other { mass, members, .. }) = other else { continue };
                let from_lane = from.map(|end| end.map(|row| row.map(|lanes| lanes.0[lane])));
                let here2 = square(&from_lane[0][0]).min(square(&from_lane[1][0]));
                nearest2 = nearest2.min(here2);
                if *mass == 0.0 {
                    continue;
                }
                masses.0[lane] = *mass;
                let members = members.filter(|members| members.are_felt(here2, step));
                let mut push = |mass: f64, from: [[Vector; 3]; 2]| {
                    let motion = quintic(from, step);
                    memory::push(&mut near, Near { mass, motion }, "the bodies near a subsystem")
                };
                if let Some(members) = members {
                    for ((mass, start), (_, end)) in members.at(time).zip(members.at(time + step)) {
                        let beside = [start, end];
                        let of = |end: usize, term: usize| vector(|k| from_lane[end][term][k] + beside[end][term][k]);
                        push(mass, [0, 1].map(|end| [0, 1, 2].map(|term| of(end, term))))?;
                    }
                } else if here2 < near2 {
                    push(*mass, from_lane.map(|[place, speed, rate, _]| [place, speed, rate]))?;
                } else {
                    of_far.0[lane] = *mass;
                }
            }
            // Bodies without mass may be at the centre.
            for (lane, mass) in masses.0.iter().enumerate() {
                if *mass == 0.0 {
                    from.iter_mut().for_each(|end| end[0].iter_mut().for_each(|lanes| lanes.0[lane] = 1.0));
                }
            }
            in_longest_vectors(
                #[inline(always)]
                || {
                    for (end, [at, velocity, ..]) in from.iter().enumerate() {
                        let tides = tide(Lanes::of(1.0), *at, *velocity);
                        add(&mut all[end], masses, &tides);
                        add(&mut far[end], of_far, &tides);
                    }
                },
            );
        }
        let sums = |tides: Tides| {
            tides.map(|end| {
                let [tide, rate] = end.map(|row| row.map(|lanes| lanes.sum()));
                [std::array::from_fn(|k| resting[k] + tide[k]), rate]
            })
        };
        let (far, all) = (sums(far), sums(all));
        let polynomial = |tides: [[Tensor; 2]; 2]| cubic([tides[0][0], tides[1][0]], [tides[0][1], tides[1][1]], step);
        Ok(Surroundings { step, near, far: polynomial(far), all: polynomial(all), nearest: nearest2.sqrt() })
    }

    /// Returns the distance of the nearest body, at either end of the step.
    pub fn nearest(&self) -> f64 {
        self.nearest
    }

    /// Returns the tide of all bodies at a part of the step.
    pub fn tide(&self, part: f64) -> Tensor {
        value(&self.all, part)
    }
}

impl Perturbation for Surroundings {
    fn add(&self, time: f64, positions: &[Vector], _velocities: &[Vector], accelerations: &mut [Vector]) {
        let part = time / self.step;
        let far = value(&self.far, part);
        for (position, acceleration) in positions.iter().zip(accelerations.iter_mut()) {
            let tide = applied(&far, *position);
            *acceleration = vector(|k| acceleration[k] + tide[k]);
        }
        for near in &self.near {
            let at = value(&near.motion, part);
            let far = length(&at);
            let on_centre = near.mass / (far * far * far);
            for (position, acceleration) in positions.iter().zip(accelerations.iter_mut()) {
                let from = vector(|k| at[k] - position[k]);
                let distance = length(&from);
                let on_body = near.mass / (distance * distance * distance);
                *acceleration = vector(|k| acceleration[k] + (on_body * from[k] - on_centre * at[k]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::Order;

    use super::*;
    use crate::tests::random;

    #[test]
    fn a_tide_changes_as_its_rate_says() {
        let (at, velocity, h) = ([0.7, -1.1, 0.4], [0.3, 0.2, -0.9], 1e-5);
        let [_, rate] = tide(2.0, at, velocity);
        let moved = |time: f64| tide(2.0, vector(|k| at[k] + time * velocity[k]), velocity)[0];
        let (before, after) = (moved(-h), moved(h));
        for k in 0..6 {
            assert!(((after[k] - before[k]) / (2.0 * h) - rate[k]).abs() < 1e-8);
        }
    }

    #[test]
    fn a_polynomial_of_degree_5_is_found_from_its_ends() {
        let terms =
            [[1.0, -2.0, 0.5], [0.3, 0.7, -1.0], [2.0, 0.1, 0.4], [-1.0, 3.0, 0.2], [0.5, -0.6, 1.5], [1.1, 0.9, -0.8]];
        let step: f64 = 0.4;
        let end = |part: f64| -> [Vector; 3] {
            let derivative = |order: usize| -> Vector {
                vector(|k| {
                    let of_term = |term: usize| {
                        let falling: f64 = (0..order).map(|n| term as f64 - n as f64).product();
                        if term < order { 0.0 } else { falling * terms[term][k] * part.powi((term - order) as i32) }
                    };
                    (0..6).map(of_term).sum::<f64>() / step.powi(order as i32)
                })
            };
            [derivative(0), derivative(1), derivative(2)]
        };
        let found = quintic([end(0.0), end(1.0)], step);
        for (found, expected) in found.iter().zip(&terms) {
            assert!(length(&vector(|k| found[k] - expected[k])) < 1e-12, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn bodies_that_rest_have_the_tide_of_others_and_each_counts_once() {
        let mut random = random();
        let (mut bodies, count, extent) = (Seen::default(), 3000, 2e-4);
        bodies.begin(count).unwrap();
        let mut place = || vector(|_| random() - 0.5);
        let places: Vec<Vector> = (0..count).map(|_| place()).collect();
        places.iter().enumerate().for_each(|(number, place)| bodies.put(number, place, [1e-3, 0.0]));
        let centre = Body::new(1e-3, places[7], [0.0; 3]);
        let part_from =
            |middle: &Vector, number: usize| (extent / length(&vector(|k| places[number][k] - middle[k]))).powi(3);
        let mut numbers = Vec::new();
        // Where it was, and so far from there that its own tide would be slight.
        for middle in [places[7], vector(|k| places[7][k] + 0.3)] {
            let others =
                Others::find(&bodies, (7, &centre, &middle), (extent, Precision::Double), &mut numbers).unwrap();
            assert!((10..count / 2).contains(&others.moving.len()), "{}", others.moving.len());
            let from = |number: usize| vector(|k| places[number][k] - middle[k]);
            let part = |number: usize| part_from(&middle, number);
            assert!(others.moving.iter().all(|number| *number != 7 && part(*number) >= SLIGHT * (1.0 - 1e-9)));
            let rest = (0..count).filter(|number| *number != 7 && !others.moving.contains(number));
            let mut expected = [0.0; 6];
            for number in rest {
                assert!(part(number) < SLIGHT * (1.0 + 1e-9));
                let tides = tide(1e-3, from(number), [0.0; 3]);
                expected = std::array::from_fn(|k| expected[k] + tides[0][k]);
            }
            for (found, expected) in others.resting.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-11 && expected.abs() > 1e-4, "{found:e} {expected:e}");
            }
        }
        // One that may be anywhere moves.
        let far = (8..count).find(|number| part_from(&places[7], *number) < SLIGHT).unwrap();
        bodies.put(far, &places[far], [1e-3, 9.0]);
        let others =
            Others::find(&bodies, (7, &centre, &places[7]), (extent, Precision::Double), &mut numbers).unwrap();
        assert!(others.moving.contains(&far));
    }

    #[test]
    fn far_bodies_act_by_their_tide_nearly_as_by_themselves() {
        let centre = Body::new(1.0, [1.0, 2.0, 3.0], [0.1, 0.0, -0.2]);
        let body = Body::new(0.5, [1.3, 2.5, 2.6], [0.0, 0.3, 0.1]);
        let acceleration = |extent: f64| {
            let others = [Other { mass: 0.5, body: &body, since: 0.0, members: None }].into_iter();
            let scheme = Scheme::of(Order::Sixth).unwrap();
            let others = (others, &[0.0; 6]);
            let surroundings = Surroundings::new(scheme, (&centre, 0.0), extent, (0.0, 0.01), others).unwrap();
            let mut found = [[0.0; 3]; 2];
            surroundings.add(0.004, &[[1e-3, 2e-3, 0.0], [0.0, 0.0, -1e-3]], &[[0.0; 3]; 2], &mut found);
            found
        };
        let (near, far) = (acceleration(0.1), acceleration(1e-3));
        for (near, far) in near.iter().zip(&far) {
            let size = length(near);
            assert!(size > 1e-4 && length(&vector(|k| near[k] - far[k])) < 0.01 * size, "{near:?} {far:?}");
        }
    }

    #[test]
    fn the_tide_is_that_of_all_bodies_at_each_part_of_a_step() {
        let mut random = random();
        let mut next = |size: f64| vector(|_| size * (random() - 0.5));
        let centre = Body::new(1.0, next(0.1), next(0.1));
        let mut bodies: Vec<Body> = (0..21).map(|_| Body::new(0.2, next(2.0), next(1.0))).collect();
        // A body without mass may be at the centre.
        bodies[3] = Body::new(0.0, centre.position, centre.velocity);
        let scheme = Scheme::of(Order::Sixth).unwrap();
        for count in [0, 1, 8, 21] {
            let others = bodies[..count].iter();
            let others = others.map(|body| Other { mass: 3.0 * body.mass, body, since: 0.01, members: None });
            let resting = [0.1, 0.2, -0.3, 0.4, 0.5, 0.6];
            let found = Surroundings::new(scheme, (&centre, 0.01), 1e-9, (0.0, 0.02), (others, &resting)).unwrap();
            for part in [0.0, 0.5, 1.0] {
                let mut expected = resting;
                let at = |body: &Body, k: usize| body.position[k] + (0.01 + 0.02 * part) * body.velocity[k];
                for body in bodies[..count].iter().filter(|body| body.mass > 0.0) {
                    let from = vector(|k| at(body, k) - at(&centre, k));
                    let [tides, _] = tide(3.0 * body.mass, from, [0.0; 3]);
                    expected = std::array::from_fn(|k| expected[k] + tides[k]);
                }
                let size = expected.iter().fold(0.0f64, |size, x| size.max(x.abs()));
                for (found, expected) in found.tide(part).iter().zip(&expected) {
                    let exact = if part == 0.5 { 1e-4 } else { 1e-12 };
                    assert!((found - expected).abs() < exact * size, "{count} {part}: {found} {expected}");
                }
            }
            assert_eq!(found.nearest().is_finite(), count > 0);
        }
    }
}
