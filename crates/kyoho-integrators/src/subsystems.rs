//! Close bodies that move together as one: a binary, a triple, two bodies that pass one another.
//!
//! A Hermite scheme sees the centre of mass alone; the motion around it is regularised. Positions and
//! velocities around the centre have digits of their own, which those of the bodies in the frame of all
//! would not have.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};
use kyoho_few_body::averaged::{self, Tensor};
use kyoho_few_body::{Binary, LARGEST, LEAST, System as FewBodies, kepler};

use super::body::{Body, Vector, length, vector};

/// What memory is for.
const WHAT: &str = "subsystems";

/// Bodies that move together, at the time of their centre of mass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subsystem {
    /// The bodies, ascending: their places among all, or their numbers while they are under way. The first
    /// is that under which the centre of mass moves.
    pub members: Vec<usize>,
    /// The centre of mass, with the mass of all, its step and its derivatives.
    pub centre: Body,
    /// The bodies around the centre of mass.
    pub inner: FewBodies,
    /// Whether other bodies are so near that they feel each member.
    pub is_close: bool,
    /// The mean over the orbit of two bodies that stay near one another, as far as it has been computed.
    pub(crate) mean: Option<MeanOrbit>,
    /// The time that they have reached since the start of the interval; 0 between intervals.
    pub time: f64,
}

/// How subsystems form, and how their bodies move.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SubsystemRules {
    /// The distance at which they form; 0 for one that is chosen at each start.
    pub radius: f64,
    /// The speed of light, if their bodies have relativistic terms.
    pub speed_of_light: Option<f64>,
}

/// What others see of two bodies that stay near one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeanOrbit {
    /// The mean products of the separation's components over the orbit.
    pub products: Tensor,
    /// The apocentre.
    pub extent: f64,
}

/// Fails if a mass, given with the name of its body, is so small or so large that a subsystem could
/// not have it.
pub fn check_masses(gravity: f64, masses: impl IntoIterator<Item = (i64, f64)>) -> Result<()> {
    for (name, mass) in masses {
        let product = gravity * mass;
        if mass > 0.0 && !(LEAST..=LARGEST).contains(&product) {
            return Err(Error::BadOption {
                name: format!("the gravitational constant times the mass of body {name}"),
                value: shown(product),
                allowed: format!("{LEAST:e} to {LARGEST:e}, or a mass of 0, where bodies form subsystems"),
            });
        }
    }
    Ok(())
}

impl Subsystem {
    /// Joins parts, of which each is some members, with their motion around a centre. Members ascend
    /// afterwards. The centre of mass has no step and no derivatives, and the time is 0.
    pub fn joined(parts: &[Subsystem]) -> Result<Subsystem> {
        let total: f64 = parts.iter().map(|part| part.centre.mass).sum();
        // From the first part's place, so that digits of small distances stay.
        let first = parts.first().map_or_else(Body::default, |part| part.centre);
        let mean = |of: fn(&Body) -> Vector| {
            parts.iter().fold([0.0; 3], |sum, part| {
                vector(|k| sum[k] + part.centre.mass / total * (of(&part.centre)[k] - of(&first)[k]))
            })
        };
        let from_first = [mean(|body| body.position), mean(|body| body.velocity)];
        let centre = Body::new(
            total,
            vector(|k| first.position[k] + from_first[0][k]),
            vector(|k| first.velocity[k] + from_first[1][k]),
        );
        let count = parts.iter().map(|part| part.members.len()).sum();
        let mut rows: Vec<(usize, f64, Vector, Vector)> = memory::room(count, WHAT)?;
        for part in parts {
            let place = vector(|k| (part.centre.position[k] - first.position[k]) - from_first[0][k]);
            let speed = vector(|k| (part.centre.velocity[k] - first.velocity[k]) - from_first[1][k]);
            for (row, &member) in part.members.iter().enumerate() {
                let (position, velocity) = (part.inner.positions[row], part.inner.velocities[row]);
                let position = vector(|k| place[k] + position[k]);
                let velocity = vector(|k| speed[k] + velocity[k]);
                rows.push((member, part.inner.masses[row], position, velocity));
            }
        }
        rows.sort_unstable_by_key(|row| row.0);
        Ok(Subsystem {
            members: memory::collected(rows.iter().map(|row| row.0), WHAT)?,
            centre,
            inner: FewBodies {
                masses: memory::collected(rows.iter().map(|row| row.1), WHAT)?,
                positions: memory::collected(rows.iter().map(|row| row.2), WHAT)?,
                velocities: memory::collected(rows.iter().map(|row| row.3), WHAT)?,
                radii: Vec::new(),
            },
            ..Subsystem::default()
        })
    }

    /// Names the members anew, and puts them in ascending order.
    pub(crate) fn rename(&mut self, name: impl Fn(usize) -> usize) {
        let Subsystem { members, inner, .. } = self;
        members.iter_mut().for_each(|member| *member = name(*member));
        for end in 1..members.len() {
            let mut row = end;
            while row > 0 && members[row] < members[row - 1] {
                members.swap(row, row - 1);
                inner.masses.swap(row, row - 1);
                inner.positions.swap(row, row - 1);
                inner.velocities.swap(row, row - 1);
                row -= 1;
            }
        }
        // They are of the order before.
        inner.radii.clear();
    }

    /// Fails if two members are in one place, which it names.
    pub(crate) fn require_apart(&self) -> Result<()> {
        let places = &self.inner.positions;
        for one in 0..places.len() {
            let is_here = |other: &usize| length(&vector(|k| places[one][k] - places[*other][k])) < LEAST;
            if let Some(other) = (0..one).find(is_here) {
                return Err(Error::SamePlace { bodies: [other, one].map(|row| self.members[row] as i64) });
            }
        }
        Ok(())
    }

    /// Returns one body as a part of its own.
    pub fn alone(member: usize, body: &Body) -> Result<Subsystem> {
        let one = |value: Vector| memory::collected([value], WHAT);
        Ok(Subsystem {
            members: memory::collected([member], WHAT)?,
            centre: *body,
            inner: FewBodies {
                masses: memory::collected([body.mass], WHAT)?,
                positions: one([0.0; 3])?,
                velocities: one([0.0; 3])?,
                radii: Vec::new(),
            },
            ..Subsystem::default()
        })
    }

    /// Returns a copy.
    pub fn copied(&self) -> Result<Subsystem> {
        let inner = &self.inner;
        let rows = |rows: &[Vector]| memory::collected(rows.iter().copied(), WHAT);
        Ok(Subsystem {
            members: memory::collected(self.members.iter().copied(), WHAT)?,
            centre: self.centre,
            inner: FewBodies {
                masses: memory::collected(inner.masses.iter().copied(), WHAT)?,
                positions: rows(&inner.positions)?,
                velocities: rows(&inner.velocities)?,
                radii: Vec::new(),
            },
            is_close: self.is_close,
            mean: self.mean,
            time: self.time,
        })
    }

    /// Returns the part of these of the bodies, around their own centre of mass.
    pub fn part(&self, rows: &[usize]) -> Result<Subsystem> {
        let mut parts = memory::room(rows.len(), WHAT)?;
        for &row in rows {
            parts.push(Subsystem::alone(self.members[row], &self.body(row))?);
        }
        let mut part = Subsystem::joined(&parts)?;
        // Distances from the digits that the motion around the centre has.
        let mass: f64 = part.inner.masses.iter().sum();
        for (rows_of, into) in
            [(&self.inner.positions, &mut part.inner.positions), (&self.inner.velocities, &mut part.inner.velocities)]
        {
            let mut mean = [0.0; 3];
            for &row in rows {
                let share = if mass > 0.0 { self.inner.masses[row] / mass } else { 1.0 / rows.len() as f64 };
                mean = vector(|k| mean[k] + share * rows_of[row][k]);
            }
            into.iter_mut().zip(rows).for_each(|(into, &row)| *into = vector(|k| rows_of[row][k] - mean[k]));
        }
        Ok(part)
    }

    /// Returns a body in the frame of all, with the step and the derivatives of the centre.
    pub fn body(&self, row: usize) -> Body {
        let (position, velocity) = (self.inner.positions[row], self.inner.velocities[row]);
        Body {
            mass: self.inner.masses[row],
            position: vector(|k| self.centre.position[k] + position[k]),
            velocity: vector(|k| self.centre.velocity[k] + velocity[k]),
            ..self.centre
        }
    }

    /// Returns separation and relative velocity of the second body from the first.
    pub fn pair(&self) -> (Vector, Vector) {
        let of = |rows: &[Vector]| vector(|k| rows[1][k] - rows[0][k]);
        (of(&self.inner.positions), of(&self.inner.velocities))
    }

    /// Gives two bodies a separation and a relative velocity.
    pub(crate) fn set_pair(&mut self, (separation, velocity): (Vector, Vector)) {
        let (positions, velocities) = (self.around_centre(separation), self.around_centre(velocity));
        self.inner.positions.copy_from_slice(&positions);
        self.inner.velocities.copy_from_slice(&velocities);
    }

    /// Returns where two bodies with a separation are around their centre. The lighter one is where the
    /// heavier one is, and the separation: then [`Self::pair`] returns it, where one by each mass would
    /// have errors of one direction, which add up.
    pub(crate) fn around_centre(&self, separation: Vector) -> [Vector; 2] {
        let [one, other] = [self.inner.masses[0], self.inner.masses[1]];
        let part = |mass: f64| mass / self.centre.mass;
        if one > other {
            let first = separation.map(|x| -part(other) * x);
            [first, vector(|k| first[k] + separation[k])]
        } else {
            let second = separation.map(|x| part(one) * x);
            [vector(|k| second[k] - separation[k]), second]
        }
    }

    /// Returns the bodies around the centre at a time, to which two bodies go on as if they were alone;
    /// more are where they were last.
    pub(crate) fn at(&self, gravity: f64, time: f64) -> Result<FewBodies> {
        let mut copy = self.copied()?;
        if time != self.time && self.members.len() == 2 {
            let (separation, velocity) = self.pair();
            let pair = kepler::advance(gravity * self.centre.mass, separation, velocity, time - self.time);
            pair.into_iter().for_each(|pair| copy.set_pair(pair));
        }
        Ok(copy.inner)
    }

    /// Returns the orbit of two bodies that stay within a distance of one another, `None` for others.
    pub fn orbit(&self, gravity: f64, within: f64) -> Option<kepler::Orbit> {
        if self.members.len() != 2 {
            return None;
        }
        let (separation, velocity) = self.pair();
        let mass = gravity * self.centre.mass;
        let is_bound = kepler::energy(mass, separation, velocity) < 0.0;
        let orbit = kepler::orbit(mass, separation, velocity);
        (is_bound && orbit.apocentre() < within).then_some(orbit)
    }

    /// Returns the bound pairs, and pairs of pairs, innermost first, with members by their rows.
    pub fn binaries(&self, gravity: f64) -> Result<Vec<Binary>> {
        self.inner.binaries(gravity)
    }

    /// Computes what the bodies do to others for some time, if they stay within a distance of one another.
    pub(crate) fn average(&mut self, gravity: f64, within: f64) {
        let (separation, velocity) = if self.members.len() == 2 { self.pair() } else { Default::default() };
        self.mean = self.orbit(gravity, within).map(|orbit| MeanOrbit {
            products: averaged::mean_products(gravity * self.centre.mass, separation, velocity),
            extent: orbit.apocentre(),
        });
    }

    /// Returns a copy with other masses of the members, around their centre of mass.
    pub(crate) fn with_masses(&self, mass: impl Fn(usize) -> f64) -> Result<Subsystem> {
        let mut copy = self.copied()?;
        copy.inner.masses.iter_mut().zip(&self.members).for_each(|(own, member)| *own = mass(*member));
        let rows = memory::collected(0..self.members.len(), WHAT)?;
        if copy.inner.masses == self.inner.masses { Ok(copy) } else { copy.part(&rows) }
    }

    /// Whether bodies are where the members are, whatever their masses.
    pub(crate) fn is_of(&self, members: &[usize], body: impl Fn(usize) -> Body) -> bool {
        let is_there = |(row, &member): (usize, &usize)| {
            let (own, given) = (self.body(row), body(member));
            (own.position, own.velocity) == (given.position, given.velocity)
        };
        self.members == members && members.iter().enumerate().all(is_there)
    }

    /// Returns how far the bodies come from one another: up to the apocentre of a binary whose mean was
    /// computed, and up to a distance where they are none.
    pub(crate) fn extent(&self, within: f64) -> f64 {
        self.mean.map_or(within, |mean| mean.extent)
    }

    /// Returns kinetic and potential energy around the centre.
    pub fn inner_energy(&self, gravity: f64) -> [f64; 2] {
        let FewBodies { masses, positions, velocities, .. } = &self.inner;
        let (mut kinetic, mut potential) = (0.0, 0.0);
        for one in 0..masses.len() {
            kinetic += 0.5 * masses[one] * length(&velocities[one]).powi(2);
            for other in 0..one {
                let distance = length(&vector(|k| positions[one][k] - positions[other][k]));
                potential -= gravity * masses[one] * masses[other] / distance;
            }
        }
        [kinetic, potential]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_keeps_separation_and_velocity() {
        let mut random = crate::tests::random();
        let mut off = [0.0; 6];
        for turn in 0..10_000 {
            let mass = 10f64.powf(-12.0 * random() * f64::from(turn % 3));
            let bodies = [1.0, mass].map(|mass| Body::new(mass, [0.0; 3], [0.0; 3]));
            let bodies = if turn % 2 == 0 { bodies } else { [bodies[1], bodies[0]] };
            let parts = [0, 1].map(|row| Subsystem::alone(row, &bodies[row]).unwrap());
            let mut pair = Subsystem::joined(&parts).unwrap();
            let mut given = || vector(|_| 2.0 * random() - 1.0);
            let (separation, velocity) = (given(), given());
            pair.set_pair((separation, velocity));
            let found = pair.pair();
            for k in 0..3 {
                for (at, [found, given]) in [(k, [found.0[k], separation[k]]), (3 + k, [found.1[k], velocity[k]])] {
                    assert!((found - given).abs() <= f64::EPSILON * given.abs());
                    off[at] += found / given - 1.0;
                }
                let momentum: f64 = (0..2).map(|row| bodies[row].mass * pair.inner.velocities[row][k]).sum();
                assert!(momentum.abs() < 8e-16 * mass * velocity[k].abs(), "{mass:e} {momentum:e}");
            }
        }
        assert!(off.iter().all(|off| off.abs() < 1e-14), "{off:?}");
    }
}
