//! Two bound bodies that others pull much less than they pull one another: the elements of their orbit
//! change slowly, which takes far fewer looks at the others than the orbit itself.
//!
//! P. Kustaanheimo and E. Stiefel, Journal fuer die reine und angewandte Mathematik 218 (1965) 204, map
//! the separation `x` to a vector `u` of four components with `|u|^2 = |x|`, which oscillates as a
//! spring does: `u = alpha cos(theta) + beta sin(theta)`, where `theta` is half the eccentric anomaly.
//! `alpha`, `beta`, the frequency of the oscillation where the clock runs as `dt / |x|`, and the part of
//! the time that neither grows with `theta` nor oscillates vary with the pull of others alone (E. L.
//! Stiefel and G. Scheifele, Linear and Regular Celestial Mechanics, 1971, have such elements by the
//! eccentric anomaly).
//!
//! Over an arc the four are a polynomial through the nodes of Gauss and Kronrod. Its rates there are
//! found by iteration, which one turn ends where the pull is weak; Gauss's nodes alone tell the error.
//!
//! Units here are three quarters of the semi-major axis at the start, and a mass of 1: were the axis 1,
//! some numbers would lie near a power of 2, where rounding goes more often up than down.

use std::f64::consts::FRAC_PI_2;
use std::sync::LazyLock;

use crate::vector::{Vector, dot, norm, scaled};

/// The elements: `alpha`, `beta`, the frequency and the part of the time.
type Elements = [f64; 10];
const FREQUENCY: usize = 8;
const TIME: usize = 9;

/// A vector whose square is a separation.
type Root = [f64; 4];

/// The nodes of an arc.
const NODES: usize = 15;
/// Those of Kronrod from 0 to 1, in the order of the arc's second half; every second one is Gauss's.
const PLACES: [f64; 8] = [
    0.0,
    0.20778495500789848,
    0.4058451513773972,
    0.5860872354676911,
    0.7415311855993945,
    0.8648644233597691,
    0.9491079123427585,
    0.9914553711208126,
];
/// Their weights, and those of Gauss.
const WEIGHTS: [[f64; 2]; 8] = [
    [0.20948214108472782, 0.4179591836734694],
    [0.20443294007529889, 0.0],
    [0.19035057806478542, 0.3818300505051189],
    [0.1690047266392679, 0.0],
    [0.14065325971552592, 0.27970539148927664],
    [0.10479001032225019, 0.0],
    [0.06309209262997856, 0.1294849661688697],
    [0.022935322010529224, 0.0],
];

/// The longest arc, half an orbit, and the shortest one that is tried.
const LONGEST: f64 = FRAC_PI_2;
const SHORTEST: f64 = LONGEST / 8.0;
/// The most turns of the iteration.
const MOST_TURNS: usize = 8;
/// Elements that change by more in an arc are for other methods.
const LARGEST_CHANGE: f64 = 0.01;
/// The iteration ends where the next turn would change the elements by less than this part of the tolerance.
const UNFINISHED: f64 = 0.01;
/// A change of the elements changes their next turn by at most so many times its square.
const STEEPNESS: f64 = 16.0;
/// Turns of Newton's method and bisection for Kepler's equation.
const TURNS: usize = 100;

/// How polynomials through the nodes are integrated, from 0 to 1.
struct Quadrature {
    /// The nodes.
    places: [f64; NODES],
    /// The weights of Kronrod and of Gauss.
    weights: [[f64; 2]; NODES],
    /// The weights for the integral up to each node.
    up_to: [[f64; NODES]; NODES],
}

static QUADRATURE: LazyLock<Quadrature> = LazyLock::new(|| {
    let node = |at: usize| at.abs_diff(NODES / 2);
    let places = std::array::from_fn(|at| {
        let place = PLACES[node(at)];
        0.5 + 0.5 * if at < NODES / 2 { -place } else { place }
    });
    let weights: [[f64; 2]; NODES] = std::array::from_fn(|at| WEIGHTS[node(at)].map(|weight| 0.5 * weight));
    // Lagrange's polynomials, whose integrals the nodes themselves give exactly.
    let basis = |of: usize, place: f64| {
        let others = (0..NODES).filter(|other| *other != of);
        others.map(|other| (place - places[other]) / (places[of] - places[other])).product::<f64>()
    };
    let up_to = std::array::from_fn(|end| {
        std::array::from_fn(|of| {
            let values = (0..NODES).map(|at| weights[at][0] * basis(of, places[end] * places[at]));
            places[end] * values.sum::<f64>()
        })
    });
    Quadrature { places, weights, up_to }
});

fn dot4(a: &Root, b: &Root) -> f64 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])
}

/// Returns the vector of three components that the matrix of `u` makes of another one.
fn image(u: &Root, a: &Root) -> Vector {
    [
        u[0] * a[0] - u[1] * a[1] - u[2] * a[2] + u[3] * a[3],
        u[1] * a[0] + u[0] * a[1] - u[3] * a[2] - u[2] * a[3],
        u[2] * a[0] + u[3] * a[1] + u[0] * a[2] + u[1] * a[3],
    ]
}

/// Returns what the transposed matrix of `u` makes of a vector.
fn transposed(u: &Root, [x, y, z]: Vector) -> Root {
    [
        u[0] * x + u[1] * y + u[2] * z,
        -u[1] * x + u[0] * y + u[3] * z,
        -u[2] * x - u[3] * y + u[0] * z,
        u[3] * x - u[2] * y + u[1] * z,
    ]
}

/// Returns one of the vectors whose square is a separation.
fn root([x, y, z]: Vector) -> Root {
    let distance = norm([x, y, z]);
    let large = (0.5 * (distance + x.abs())).sqrt();
    let [second, third] = [y, z].map(|value| 0.5 * value / large);
    if x >= 0.0 { [large, second, third, 0.0] } else { [second, large, 0.0, third] }
}

/// The bodies at an angle of an arc.
struct Place {
    /// The root of the separation, and its derivative by the angle.
    root: Root,
    rate: Root,
    distance: f64,
    time: f64,
}

impl Place {
    fn of(elements: &Elements, angle: f64) -> Place {
        let (sine, cosine) = angle.sin_cos();
        let root: Root = std::array::from_fn(|k| cosine * elements[k] + sine * elements[4 + k]);
        let rate: Root = std::array::from_fn(|k| cosine * elements[4 + k] - sine * elements[k]);
        let time = elements[TIME] + angle * pace(elements) - 0.5 * dot4(&root, &rate) / elements[FREQUENCY];
        Place { root, rate, distance: dot4(&root, &root), time }
    }

    /// Returns the elements of an arc that begins here.
    fn elements(&self, frequency: f64) -> Elements {
        let mut elements = [0.0; 10];
        elements[..4].copy_from_slice(&self.root);
        elements[4..8].copy_from_slice(&self.rate);
        elements[FREQUENCY] = frequency;
        elements[TIME] = self.time + 0.5 * dot4(&self.root, &self.rate) / frequency;
        elements
    }
}

/// Returns the elements of a separation and a velocity at time 0.
fn elements_of(separation: Vector, velocity: Vector) -> Elements {
    let (root, distance) = (root(separation), norm(separation));
    let frequency = (0.5 / distance - 0.25 * dot(velocity, velocity)).sqrt();
    let rate = transposed(&root, velocity).map(|x| 0.5 * x / frequency);
    Place { root, rate, distance, time: 0.0 }.elements(frequency)
}

/// Returns how fast the time grows with the angle, but for its oscillation.
fn pace(elements: &Elements) -> f64 {
    0.25 / elements[FREQUENCY].powi(3)
}

/// Returns the angle after which a time is reached where nobody else pulls.
fn angle_to(elements: &Elements, time: f64) -> f64 {
    let pace = pace(elements);
    let [alpha, beta] = [&elements[..4], &elements[4..8]].map(|part| part.iter().map(|x| x * x).sum::<f64>());
    let reach = 0.25 * (alpha + beta) / elements[FREQUENCY];
    let middle = time - elements[TIME];
    let (mut low, mut high) = ((middle - reach) / pace, (middle + reach) / pace);
    let mut angle = middle / pace;
    for _ in 0..TURNS {
        let place = Place::of(elements, angle);
        let excess = place.time - time;
        if excess > 0.0 {
            high = angle
        } else {
            low = angle
        }
        let newton = angle - excess * elements[FREQUENCY] / place.distance;
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        if excess == 0.0 || (next - angle).abs() <= f64::EPSILON * angle.abs() {
            break;
        }
        angle = next;
    }
    angle
}

/// Returns the least distance on the orbit of some elements, to rounding of the semi-major axis.
fn pericentre(elements: &Elements) -> f64 {
    let [alpha, beta]: [Root; 2] = [0, 4].map(|from| std::array::from_fn(|k| elements[from + k]));
    let [square, other, product] = [dot4(&alpha, &alpha), dot4(&beta, &beta), dot4(&alpha, &beta)];
    0.5 * (square + other) - (0.5 * (square - other)).hypot(product)
}

/// Returns the largest of some numbers, of which none is below 0; infinite if one is no number.
fn largest(numbers: [f64; 10]) -> f64 {
    numbers.into_iter().fold(0.0, |largest: f64, x| if x >= 0.0 { largest.max(x) } else { f64::INFINITY })
}

/// How an arc ended.
enum Arc {
    /// At this angle with these elements.
    Done(Elements, f64),
    /// A shorter one may be exact.
    TooLong,
    /// The pull is too strong, or the bodies may come too near.
    Refused,
}

/// What moves two bodies.
struct Motion<Pull> {
    /// The relative acceleration by others at a time and a separation.
    pull: Pull,
    tolerance: f64,
    /// How near the bodies may come.
    closest: f64,
}

impl<Pull: Fn(f64, Vector) -> Vector> Motion<Pull> {
    /// Returns the derivatives of the elements by the angle.
    fn rates(&self, elements: &Elements, angle: f64) -> Elements {
        let (sine, cosine) = angle.sin_cos();
        let Place { root, rate, distance, time } = &Place::of(elements, angle);
        let separation = image(root, root);
        let pull = (self.pull)(*time, separation);
        let force = transposed(root, pull);
        let (power, frequency) = (dot4(rate, &force), elements[FREQUENCY]);
        let factor = 0.5 / (frequency * frequency);
        let mut rates = [0.0; 10];
        for k in 0..4 {
            let change = factor * (distance * force[k] + power * rate[k]);
            (rates[k], rates[4 + k]) = (-sine * change, cosine * change);
        }
        rates[FREQUENCY] = -0.5 * power / frequency;
        let pulled = distance * dot(separation, pull) + 2.0 * power * dot4(root, rate);
        rates[TIME] = pace(elements) * (pulled + 3.0 * angle * rates[FREQUENCY] / frequency);
        rates
    }

    /// Moves elements through an arc of this angle, or of one near it that ends at a time.
    fn arc(&self, start: &Elements, mut angle: f64, until: Option<f64>) -> Arc {
        let Quadrature { places, weights, up_to } = &*QUADRATURE;
        // At first the elements are those of two bodies alone.
        let (mut nodes, mut rates) = ([*start; NODES], [[0.0; 10]; NODES]);
        let (mut size, mut before) = (0.0, 1.0 / STEEPNESS);
        for turn in 0..MOST_TURNS {
            let (mut changes, mut mean, mut of_gauss) = ([0.0; 10], [0.0; 10], [0.0; 10]);
            for at in 0..NODES {
                let (old, [weight, gauss]) = (rates[at], weights[at]);
                rates[at] = self.rates(&nodes[at], places[at] * angle);
                for k in 0..10 {
                    changes[k] += weight * (rates[at][k] - old[k]).abs();
                    mean[k] += weight * rates[at][k];
                    of_gauss[k] += gauss * rates[at][k];
                }
            }
            let mut change = angle * largest(changes);
            if turn == 0 {
                size = change;
                let root = pericentre(start).max(0.0).sqrt() - 2.0 * size;
                let is_apart = root > 0.0 && root * root > self.closest;
                if size > LARGEST_CHANGE || (self.closest > 0.0 && !is_apart) {
                    return Arc::Refused;
                }
            }
            let end: Elements = std::array::from_fn(|k| start[k] + angle * mean[k]);
            if let Some(time) = until {
                let place = Place::of(&end, angle);
                let more = (time - place.time) * end[FREQUENCY] / place.distance;
                angle += more;
                change = change.max(more.abs());
            }
            // Errors of Kronrod's nodes fall at least so much faster than those of Gauss's, and the
            // polynomial between them errs in what the elements change.
            let error = angle * largest(std::array::from_fn(|k| (mean[k] - of_gauss[k]).abs()));
            let part = if size > 0.0 { error / size } else { 0.0 };
            if error * (part.sqrt() + size) > self.tolerance {
                return Arc::TooLong;
            }
            if change * (change / before).min(1.0) <= UNFINISHED * self.tolerance {
                return Arc::Done(end, angle);
            }
            before = change;
            for (node, weights) in nodes.iter_mut().zip(up_to) {
                let mut sums = [0.0; 10];
                for (weight, rates) in weights.iter().zip(&rates) {
                    sums.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += weight * rate);
                }
                *node = std::array::from_fn(|k| start[k] + angle * sums[k]);
            }
        }
        Arc::TooLong
    }
}

/// Moves two bound bodies over a time, where others add the relative acceleration that `pull` returns at
/// a time and a separation. `mass` is the gravitational constant times the sum of the masses, and
/// `tolerance` the largest error of an arc, relative to the orbit. Returns separation and velocity, and
/// how much of the time has passed: less than all where the pull is strong or changes much within the
/// orbit, and where the bodies may come nearer than `closest`.
pub fn advance(
    mass: f64,
    (separation, velocity): (Vector, Vector),
    time: f64,
    (tolerance, closest): (f64, f64),
    pull: impl Fn(f64, Vector) -> Vector,
) -> ((Vector, Vector), f64) {
    let unit = -0.375 * mass / crate::kepler::energy(mass, separation, velocity);
    let unit_of_time = unit * (unit / mass).sqrt();
    if !(unit > 0.0 && unit_of_time.is_finite()) {
        return ((separation, velocity), 0.0);
    }
    let unit_of_pull = mass / (unit * unit);
    let motion = Motion {
        pull: |time, place| scaled(1.0 / unit_of_pull, pull(time * unit_of_time, scaled(unit, place))),
        tolerance,
        closest: closest / unit,
    };
    // Divided, as factors and their inverses would add up over many calls.
    let unit_of_velocity = unit / unit_of_time;
    let mut elements = elements_of(separation.map(|x| x / unit), velocity.map(|x| x / unit_of_velocity));
    let (whole, mut passed, mut longest) = (time / unit_of_time, 0.0, LONGEST);
    while passed < time && longest >= SHORTEST {
        let rest = angle_to(&elements, whole).max(0.0);
        let arcs = (rest / longest).ceil().max(1.0);
        let (angle, until) = (rest / arcs, (arcs == 1.0).then_some(whole));
        match motion.arc(&elements, angle, until) {
            Arc::Done(end, angle) => {
                let place = Place::of(&end, angle);
                elements = place.elements(end[FREQUENCY]);
                passed = if until.is_some() { time } else { (place.time * unit_of_time).min(time) };
            }
            Arc::TooLong => longest = 0.5 * angle,
            Arc::Refused => break,
        }
    }
    if passed == 0.0 {
        return ((separation, velocity), passed);
    }
    let Place { root, rate, distance, .. } = Place::of(&elements, 0.0);
    let speed = 2.0 * elements[FREQUENCY] / distance;
    let velocity = scaled(speed, image(&root, &rate));
    ((scaled(unit, image(&root, &root)), scaled(unit_of_velocity, velocity)), passed)
}

#[cfg(test)]
mod tests;
