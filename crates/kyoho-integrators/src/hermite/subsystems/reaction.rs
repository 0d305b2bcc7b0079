//! What a subsystem does to bodies around it beyond the mass at its centre, with the derivatives that
//! forces have: a hard binary by its quadrupole, averaged over the orbit, others by each member.
//!
//! The potential of two bodies at `-m2 x / m` and `m1 x / m` from their centre, of a reduced mass `u`, is
//! at a place `d` from it `-G u (3 (d.x)^2 / |d|^5 - x^2 / |d|^3) / 2` beyond that of their mass.

use kyoho_core::{Result, memory};
use kyoho_few_body::System as FewBodies;
use kyoho_few_body::averaged::Tensor;
use kyoho_laws::simd::in_longest_vectors;

use super::lanes::{LANES, Lanes, Number};
use crate::body::{Vector, vector};
use crate::hermite::scheme::MOST;

/// The derivatives of a number by the time, divided by their factorials.
#[derive(Debug, Clone, Copy)]
struct Series<T, const TERMS: usize>([T; TERMS]);

impl<T: Number, const TERMS: usize> Series<T, TERMS> {
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        let mut product = [T::of(0.0); TERMS];
        for one in 0..TERMS {
            for two in 0..TERMS - one {
                product[one + two] = product[one + two] + self.0[one] * other.0[two];
            }
        }
        Series(product)
    }

    #[inline(always)]
    fn plus(mut self, other: Self) -> Self {
        for term in 0..TERMS {
            self.0[term] = self.0[term] + other.0[term];
        }
        self
    }

    #[inline(always)]
    fn scaled(mut self, factor: T) -> Self {
        for term in 0..TERMS {
            self.0[term] = factor * self.0[term];
        }
        self
    }

    #[inline(always)]
    fn plus_number(mut self, number: T) -> Self {
        self.0[0] = self.0[0] + number;
        self
    }

    /// Returns a power of a number, whose own power and inverse are given.
    #[inline(always)]
    fn power(self, exponent: f64, (value, inverse): (T, T)) -> Self {
        let x = self.0;
        let mut power = [T::of(0.0); TERMS];
        power[0] = value;
        for term in 1..TERMS {
            // x y' = p x' y, term by term.
            let mut sum = T::of(0.0);
            for k in 1..=term {
                sum = sum + T::of((exponent * k as f64 - (term - k) as f64) / term as f64) * (x[k] * power[term - k]);
            }
            power[term] = sum * inverse;
        }
        Series(power)
    }
}

const FACTORIALS: [f64; MOST] = [1.0, 1.0, 2.0, 6.0];

/// A position or a velocity with its derivatives: numbers by derivative and component.
pub type Derivatives<T> = [[T; 3]; MOST];

/// The separation of two bodies.
struct Separation<T, const TERMS: usize>([Series<T, TERMS>; 3]);

impl<T: Number, const TERMS: usize> Separation<T, TERMS> {
    #[inline(always)]
    fn of(from: &Derivatives<T>) -> Self {
        let mut components = [Series([T::of(0.0); TERMS]); 3];
        for (k, component) in components.iter_mut().enumerate() {
            for term in 0..TERMS {
                component.0[term] = from[term][k] * T::of(1.0 / FACTORIALS[term]);
            }
        }
        Separation(components)
    }

    #[inline(always)]
    fn dot(&self, other: &Self) -> Series<T, TERMS> {
        let [[x, y, z], [u, v, w]] = [self.0, other.0];
        x.times(u).plus(y.times(v)).plus(z.times(w))
    }

    /// Returns its sum with three factors.
    #[inline(always)]
    fn weighted(&self, [x, y, z]: [T; 3]) -> Series<T, TERMS> {
        self.0[0].scaled(x).plus(self.0[1].scaled(y)).plus(self.0[2].scaled(z))
    }

    /// Returns the derivatives that these components stand for, and zeros behind them.
    #[inline(always)]
    fn derivatives(&self) -> Derivatives<T> {
        let mut derivatives = [[T::of(0.0); 3]; MOST];
        for (k, component) in self.0.iter().enumerate() {
            for term in 0..TERMS {
                derivatives[term][k] = T::of(FACTORIALS[term]) * component.0[term];
            }
        }
        derivatives
    }
}

/// The quadrupoles of binaries that act on one body, several at a time.
#[derive(Debug, Default)]
pub struct Quadrupoles {
    terms: usize,
    /// How many wait, with their strengths and the body's motion from them.
    waiting: usize,
    products: [Lanes; 6],
    from: Derivatives<Lanes>,
    /// The derivatives of the velocity that those before give the body, if there were some.
    sums: Option<Derivatives<Lanes>>,
}

impl Quadrupoles {
    /// Forgets all, for the first derivatives of so many terms of another body.
    pub fn begin(&mut self, terms: usize) {
        (self.terms, self.waiting, self.sums) = (terms, 0, None);
    }

    /// Adds one. `products` are the mean products of the components of the separation, `mass` the reduced
    /// mass times the gravitational constant, and `from` has position, velocity, acceleration and jerk of the
    /// body from the centre.
    pub fn push(&mut self, products: &Tensor, mass: f64, from: &[Vector; MOST]) {
        let lane = self.waiting;
        self.products.iter_mut().zip(products).for_each(|(lanes, product)| lanes.0[lane] = mass * product);
        let into = self.from.as_flattened_mut().iter_mut();
        into.zip(from.as_flattened()).for_each(|(lanes, value)| lanes.0[lane] = *value);
        self.waiting += 1;
        if self.waiting == LANES {
            self.act();
        }
    }

    /// Returns the derivatives of the velocity that all give the body, zeros behind the terms; `None` if
    /// there were none.
    pub fn sum(&mut self) -> Option<[Vector; MOST]> {
        if self.waiting > 0 {
            self.act();
        }
        self.sums.as_ref().map(|sums| sums.map(|row| row.map(|lanes| lanes.sum())))
    }

    /// Lets those that wait act on the body, and nothing in the lanes behind them.
    fn act(&mut self) {
        for lane in self.waiting..LANES {
            self.products.iter_mut().for_each(|lanes| lanes.0[lane] = 0.0);
            self.from[0].iter_mut().for_each(|lanes| lanes.0[lane] = 1.0);
        }
        self.waiting = 0;
        add_quadrupoles(self.terms, &mut self.sums, &self.products, &self.from);
    }

    /// Lets a quadrupole act on the body from as many places as there are lanes, with a factor for each. No
    /// place is the body's.
    pub fn act_from(&mut self, products: &Tensor, factors: Lanes, from: &Derivatives<Lanes>) {
        let products = products.map(|product| Lanes::of(product) * factors);
        add_quadrupoles(self.terms, &mut self.sums, &products, from);
    }
}

/// Adds what quadrupoles give a body.
#[inline(never)]
fn add_quadrupoles(
    terms: usize,
    sums: &mut Option<Derivatives<Lanes>>,
    products: &[Lanes; 6],
    from: &Derivatives<Lanes>,
) {
    let sums = sums.get_or_insert_default();
    in_longest_vectors(
        #[inline(always)]
        || {
            let found = match terms {
                2 => quadrupole::<_, 2>(products, from),
                3 => quadrupole::<_, 3>(products, from),
                _ => quadrupole::<_, 4>(products, from),
            };
            let sums = sums.as_flattened_mut().iter_mut();
            sums.zip(found.as_flattened()).for_each(|(sum, found)| *sum = *sum + *found);
        },
    );
}

/// Returns the derivatives of the velocity that a quadrupole gives a body: the first ones of so many terms.
/// `products` are the mean products of the components of the separation times the reduced mass.
#[inline(always)]
fn quadrupole<T: Number, const TERMS: usize>(products: &[T; 6], from: &Derivatives<T>) -> Derivatives<T> {
    let d = Separation::<T, TERMS>::of(from);
    let [xx, yy, zz, xy, xz, yz] = *products;
    let applied = Separation([d.weighted([xx, xy, xz]), d.weighted([xy, yy, yz]), d.weighted([xz, yz, zz])]);
    let square = d.dot(&d);
    let inverse = square.0[0].inverse();
    let fifth = square.power(-2.5, (inverse * inverse * inverse.root(), inverse)).scaled(T::of(0.5));
    let along = d.dot(&applied).times(square.power(-1.0, (inverse, inverse))).scaled(T::of(-15.0));
    let radial = along.plus_number(T::of(3.0) * (xx + yy + zz));
    let mut components = d.0;
    for (component, applied) in components.iter_mut().zip(applied.0) {
        *component = applied.scaled(T::of(6.0)).plus(radial.times(*component)).times(fifth);
    }
    Separation(components).derivatives()
}

/// Returns the derivatives of the velocity that a mass, times the gravitational constant, gives a body.
/// `from` has position, velocity, acceleration and jerk of the body from it.
pub fn pull(terms: usize, mass: f64, from: &[Vector; MOST]) -> [Vector; MOST] {
    match terms {
        2 => pull_of::<2>(mass, from),
        3 => pull_of::<3>(mass, from),
        _ => pull_of::<4>(mass, from),
    }
}

fn pull_of<const TERMS: usize>(mass: f64, from: &[Vector; MOST]) -> [Vector; MOST] {
    let d = Separation::<f64, TERMS>::of(from);
    let square = d.dot(&d);
    let inverse = 1.0 / square.0[0];
    let factor = square.power(-1.5, (inverse * inverse.sqrt(), inverse)).scaled(-mass);
    Separation(d.0.map(|component| component.times(factor))).derivatives()
}

/// Returns the masses of members times the gravitational constant, and their motion around their centre:
/// their positions and velocities, and the accelerations and jerks that they give each other.
pub fn inner_motion(gravity: f64, inner: &FewBodies) -> Result<Vec<(f64, [Vector; MOST])>> {
    let count = inner.masses.len();
    let mut motion = memory::room(count, "the members of a subsystem")?;
    for one in 0..count {
        let mut all = [inner.positions[one], inner.velocities[one], [0.0; 3], [0.0; 3]];
        for other in (0..count).filter(|other| *other != one) {
            let from = |rows: &[Vector]| vector(|k| rows[one][k] - rows[other][k]);
            let between = [from(&inner.positions), from(&inner.velocities), [0.0; 3], [0.0; 3]];
            let pulls = pull(2, gravity * inner.masses[other], &between);
            for term in 0..2 {
                all[2 + term] = vector(|k| all[2 + term][k] + pulls[term][k]);
            }
        }
        motion.push((gravity * inner.masses[one], all));
    }
    Ok(motion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random;

    #[test]
    fn two_bodies_far_away_pull_as_their_mass_and_quadrupole() {
        let x = [0.02, -0.01, 0.03];
        let products = [x[0] * x[0], x[1] * x[1], x[2] * x[2], x[0] * x[1], x[0] * x[2], x[1] * x[2]];
        // Equal masses have no octupole.
        let (masses, parts) = ([0.5, 0.5], [-0.5, 0.5]);
        let path = |t: f64| [1.0 + 0.3 * t, -0.7 + 0.2 * t * t, 0.5 - 0.1 * t + 0.4 * t * t * t];
        let pull = |d: [f64; 3], mass: f64, at: f64| -> [f64; 3] {
            let from: [f64; 3] = std::array::from_fn(|k| at * x[k] - d[k]);
            let distance = from.iter().map(|v| v * v).sum::<f64>().sqrt();
            from.map(|v| mass * v / distance.powi(3))
        };
        let beyond = |t: f64| -> [f64; 3] {
            let d = path(t);
            let [one, other, all] = [pull(d, masses[0], parts[0]), pull(d, masses[1], parts[1]), pull(d, 1.0, 0.0)];
            std::array::from_fn(|k| one[k] + other[k] - all[k])
        };
        let from = [path(0.0), [0.3, 0.0, -0.1], [0.0, 0.4, 0.0], [0.0, 0.0, 2.4]];
        let mut quadrupoles = Quadrupoles::default();
        quadrupoles.begin(MOST);
        quadrupoles.push(&products, 0.25, &from);
        let found = quadrupoles.sum().unwrap();
        let h = 1e-2;
        for k in 0..3 {
            let [before, now, after] = [-h, 0.0, h].map(|t| beyond(t)[k]);
            let size = found[0].iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!((found[0][k] - now).abs() < 3e-3 * size, "{k}: {:?} {now:e}", found[0]);
            assert!((found[1][k] - (after - before) / (2.0 * h)).abs() < 1e-2 * size);
            assert!((found[2][k] - (after - 2.0 * now + before) / (h * h)).abs() < 3e-2 * size);
        }
    }

    #[test]
    fn any_number_of_quadrupoles_act_as_one_after_another() {
        let mut random = random();
        let mut next = || std::array::from_fn(|_| vector(|_| random() - 0.5));
        let all: Vec<([Vector; 2], [Vector; MOST])> = (0..19)
            .map(|_| {
                let (products, from): ([Vector; MOST], [Vector; MOST]) = (next(), next());
                ([products[0], products[1]], from)
            })
            .collect();
        let mut quadrupoles = Quadrupoles::default();
        for terms in 2..=MOST {
            for count in [19, 0, 1, 8, 19] {
                let mut expected = [[0.0; 3]; MOST];
                for (products, from) in &all[..count] {
                    let products = std::array::from_fn(|k| products.as_flattened()[k]);
                    quadrupoles.begin(terms);
                    quadrupoles.push(&products, 0.3, from);
                    let alone = quadrupoles.sum().unwrap();
                    expected = std::array::from_fn(|term| vector(|k| expected[term][k] + alone[term][k]));
                }
                quadrupoles.begin(terms);
                for (products, from) in &all[..count] {
                    quadrupoles.push(&std::array::from_fn(|k| products.as_flattened()[k]), 0.3, from);
                }
                let found = quadrupoles.sum();
                assert_eq!(found.is_some(), count > 0);
                let found = found.unwrap_or_default();
                for term in 0..MOST {
                    let size = crate::body::length(&expected[term]);
                    assert!((count > 0 && term < terms) == (size > 0.0), "{terms} {count} {term}");
                    for k in 0..3 {
                        assert!((found[term][k] - expected[term][k]).abs() <= 1e-11 * size, "{terms} {count} {term}");
                    }
                }
            }
        }
    }
}
