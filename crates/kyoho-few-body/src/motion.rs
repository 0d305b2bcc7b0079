//! The regularised motion: a leapfrog in a time of its own, which runs slowly where bodies are near.
//!
//! Logarithmic Hamiltonian: S. Mikkola and K. Tanikawa, MNRAS 310 (1999) 745, and M. Preto and
//! S. Tremaine, AJ 118 (1999) 2532. The function for light pairs: S. Mikkola and S. Aarseth, Celestial
//! Mechanics 84 (2002) 343. Forces that depend on velocities: C. Hellstroem and S. Mikkola, Celestial
//! Mechanics 106 (2010) 143.
//!
//! All masses here are products with the gravitational constant, and so are energies.

use kyoho_core::{Result, memory};

use crate::hierarchy::Hierarchy;
use crate::links::{Frame, Links, Pair};
use crate::perturbation::Perturbation;
use crate::post_newtonian::Relativity;
use crate::vector::{Vector, ZERO, add_scaled, difference, dot, sum};

/// A pair counts as light where the product of its masses is below this part of the mean product.
const LIGHT: f64 = 1e-3;

/// The least part of the potential that the kinetic energy has where velocities are scaled.
const LEAST_KINETIC: f64 = 0.25;
/// Velocities that would change by a larger part are left as they are: that is no rounding.
const LARGEST_CORRECTION: f64 = 1e-3;

/// Where the parts of a state stand, in rows of three numbers: separations and velocities of links,
/// one row of scalars, and where they are needed the centre of mass and the second velocities.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    links: usize,
    centre: bool,
    second: bool,
}

impl Layout {
    pub fn rows(&self) -> usize {
        2 * self.links + 1 + 2 * usize::from(self.centre) + self.second_rows()
    }

    fn second_rows(&self) -> usize {
        if self.second { self.links + usize::from(self.centre) } else { 0 }
    }

    /// The row of the time since the start of the step, of the binding energy, and of the integral of the
    /// light pairs' function.
    pub fn scalars(&self) -> usize {
        2 * self.links
    }

    fn centre(&self) -> usize {
        2 * self.links + 1
    }

    fn second(&self) -> usize {
        2 * self.links + 1 + 2 * usize::from(self.centre)
    }
}

/// The independent variable of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The regularised one.
    Regular,
    /// Time itself, for a short rest.
    Time,
}

/// Returns the weight of light pairs, and how many pairs are light.
fn light_pairs(masses: &[f64], total: f64) -> [f64; 2] {
    let products = || {
        let with_later = |(place, mass): (usize, &f64)| {
            let mass = *mass;
            masses[place + 1..].iter().map(move |other| mass * other)
        };
        masses.iter().enumerate().flat_map(with_later)
    };
    let (mut all, mut number) = (0.0, 0.0);
    for product in products() {
        all += product;
        number += 1.0;
    }
    // One massive body among massless ones has no products at all.
    let usual = (total / masses.len().max(1) as f64).powi(2);
    let weight = if all > 0.0 { all / number } else { usual };
    [weight, products().filter(|&product| product < LIGHT * weight).count() as f64]
}

/// What moves: constants of the bodies and what acts on them.
pub struct Motion<'a> {
    /// The gravitational constant times the masses of bodies.
    pub masses: Vec<f64>,
    /// Those of places.
    placed: Vec<f64>,
    pub total: f64,
    /// That of the heaviest body.
    heaviest: f64,
    frame: Frame,
    /// The weight of light pairs.
    light_weight: f64,
    any_light: bool,
    relativity: Option<Relativity>,
    perturbation: Option<&'a dyn Perturbation>,
    /// The time at which the step began.
    pub epoch: f64,
    pub links: Links,
    pub layout: Layout,
    work: Work,
}

/// Room for one evaluation, by place.
#[derive(Debug, Default)]
struct Work {
    positions: Vec<Vector>,
    velocities: Vec<Vector>,
    /// Newton's accelerations.
    newton: Vec<Vector>,
    /// Accelerations by all else.
    other: Vec<Vector>,
    /// The negative gradient of the light pairs' function.
    gradient: Vec<Vector>,
    mean: Vec<Vector>,
    /// Positions and velocities of bodies, and accelerations from outside.
    of_bodies: [Vec<Vector>; 3],
}

impl Work {
    fn of(bodies: usize) -> Result<Work> {
        let mut work = Work::default();
        let Work { positions, velocities, newton, other, gradient, mean, of_bodies: [places, speeds, outer] } =
            &mut work;
        for rows in [positions, velocities, newton, other, gradient, mean, places, speeds, outer] {
            *rows = memory::filled(bodies, ZERO, "the bodies of a system")?;
        }
        Ok(work)
    }
}

impl<'a> Motion<'a> {
    /// Takes the masses, 0 or above, and what acts beside Newton's forces.
    pub fn new(
        masses: Vec<f64>,
        relativity: Option<Relativity>,
        perturbation: Option<&'a dyn Perturbation>,
    ) -> Result<Self> {
        let count = masses.len();
        let total: f64 = masses.iter().sum();
        let heaviest = masses.iter().fold(0.0f64, |heaviest, &mass| heaviest.max(mass));
        let [light_weight, any_light] = light_pairs(&masses, total);
        let second = relativity.is_some() || perturbation.is_some_and(|outer| outer.needs_velocities());
        let layout = Layout { links: count.saturating_sub(1), centre: perturbation.is_some(), second };
        let any_light = any_light > 0.0;
        let work = Work::of(count)?;
        let links = Links::default();
        let placed = memory::filled(count, 0.0, "masses")?;
        let frame = Frame::new(count, total)?;
        Ok(Motion {
            masses,
            placed,
            total,
            heaviest,
            frame,
            light_weight,
            any_light,
            relativity,
            perturbation,
            epoch: 0.0,
            links,
            layout,
            work,
        })
    }

    /// Returns the state of bodies, relative to their centre of mass, which is at this place with this
    /// velocity. Joins the bodies by new links.
    pub fn state(&mut self, positions: &[Vector], velocities: &[Vector], centre: [Vector; 2]) -> Result<Vec<Vector>> {
        self.join(Links::of(positions)?);
        let layout = self.layout;
        let links = layout.links;
        let mut state = memory::filled(layout.rows(), ZERO, "the state of a system")?;
        let (separations, rest) = state.split_at_mut(links);
        self.links.of_bodies(positions, separations);
        self.links.of_bodies(velocities, &mut rest[..links]);
        if layout.centre {
            [state[layout.centre()], state[layout.centre() + 1]] = centre;
        }
        let [potential, light] = self.newton(&state[..links]);
        let kinetic = self.kinetic(&state);
        state[layout.scalars()] = [0.0, potential - kinetic, light];
        self.restart_second(&mut state);
        Ok(state)
    }

    /// Joins the bodies by these links.
    pub fn join(&mut self, links: Links) {
        self.placed.iter_mut().zip(links.order()).for_each(|(mass, &body)| *mass = self.masses[body]);
        self.frame.weigh(&self.placed);
        self.links = links;
    }

    /// Sets the second velocities to the velocities.
    pub fn restart_second(&self, state: &mut [Vector]) {
        let layout = self.layout;
        if layout.second {
            let (links, second) = (layout.links, layout.second());
            state.copy_within(links..2 * links, second);
            if layout.centre {
                state[second + links] = state[layout.centre() + 1];
            }
        }
    }

    /// Scales the velocities so that the energy is what the binding energy says, which nothing but
    /// forces from outside and by velocities changes: errors of single steps at close passages, where
    /// the energy is a small difference, do not add up. Light bodies, which have hardly any of the energy,
    /// keep theirs: beside a fast one the heavy bodies' rounding would be much.
    pub fn restore_energy(&mut self, state: &mut [Vector]) {
        let links = self.layout.links;
        let [potential, _] = self.newton(&state[..links]);
        let kinetic = self.kinetic(state);
        let wanted = potential - state[self.layout.scalars()][1];
        // Slow bodies far apart would take over the rounding of their potential.
        if kinetic < LEAST_KINETIC * potential {
            return;
        }
        let change = (wanted / kinetic).sqrt() - 1.0;
        if change.abs() < LARGEST_CORRECTION {
            // Those by place are of `kinetic`.
            let velocities = &self.work.velocities;
            let part = |place: usize| if self.is_light(place) { ZERO } else { velocities[place] };
            for (link, (&parent, velocity)) in self.links.parents().iter().zip(&mut state[links..2 * links]).enumerate()
            {
                add_scaled(velocity, change, difference(part(link + 1), part(parent)));
            }
        }
    }

    /// Whether the body at a place makes a light pair with the heaviest one.
    fn is_light(&self, place: usize) -> bool {
        self.placed[place] * self.heaviest < LIGHT * self.light_weight
    }

    /// Joins the bodies anew where other links have become the shortest.
    pub fn renew_links(&mut self, state: &mut [Vector]) -> Result<()> {
        let links = self.layout.links;
        if links < 2 {
            return Ok(());
        }
        let Work { positions, velocities, .. } = &mut self.work;
        self.links.to_places(&self.frame, &state[..links], positions);
        let Some((order, parents)) = self.links.renewed(positions)? else { return Ok(()) };
        self.links.to_places(&self.frame, &state[links..2 * links], velocities);
        let before = memory::collected(state[..2 * links].iter().copied(), "the state of a system")?;
        let (separations, rest) = state.split_at_mut(links);
        let new = (&order[..], &parents[..]);
        self.links.carry_over(new, (&before[..links], positions), separations);
        self.links.carry_over(new, (&before[links..], velocities), &mut rest[..links]);
        let bodies = memory::collected(order.iter().map(|&place| self.links.order()[place]), "links")?;
        self.join(Links::with(bodies, parents)?);
        self.restart_second(state);
        Ok(())
    }

    /// Returns the kinetic energy in the frame of the centre of mass.
    pub fn kinetic(&mut self, state: &[Vector]) -> f64 {
        let velocities = &state[self.layout.links..2 * self.layout.links];
        self.links.to_places(&self.frame, velocities, &mut self.work.velocities);
        let moving = self.placed.iter().zip(&self.work.velocities);
        0.5 * moving.map(|(&mass, &velocity)| mass * dot(velocity, velocity)).sum::<f64>()
    }

    fn find_positions(&mut self, separations: &[Vector]) {
        if self.links.any_far() || self.perturbation.is_some() {
            self.links.to_places(&self.frame, separations, &mut self.work.positions);
        }
    }

    /// Returns how much of the clock passes in a unit of time, at a state's velocities.
    pub fn rate(&mut self, clock: Clock, state: &[Vector]) -> f64 {
        match clock {
            Clock::Time => 1.0,
            // Nothing pulls: time itself will do.
            Clock::Regular if self.total == 0.0 => 1.0,
            Clock::Regular => {
                let [_, binding, light] = state[self.layout.scalars()];
                let light = if self.any_light { light } else { 0.0 };
                self.kinetic(state) + binding + light
            }
        }
    }

    fn drift(&mut self, clock: Clock, state: &mut [Vector], step: f64) {
        let time = step / self.rate(clock, state);
        let Layout { links, centre, .. } = self.layout;
        let (separations, rest) = state.split_at_mut(links);
        for (separation, &velocity) in separations.iter_mut().zip(&rest[..links]) {
            add_scaled(separation, time, velocity);
        }
        if centre {
            let place = self.layout.centre();
            let velocity = state[place + 1];
            add_scaled(&mut state[place], time, velocity);
        }
        state[self.layout.scalars()][0] += time;
    }

    fn kick(&mut self, clock: Clock, state: &mut [Vector], step: f64) {
        let links = self.layout.links;
        let [potential, light] = self.newton(&state[..links]);
        let rate = match clock {
            Clock::Time => 1.0,
            Clock::Regular if self.total == 0.0 => 1.0,
            Clock::Regular => potential + light,
        };
        let time = step / rate;
        if !self.layout.second && self.perturbation.is_none() && !self.any_light {
            let velocities = &mut state[links..2 * links];
            let newton = &self.work.newton;
            for (link, (&parent, velocity)) in self.links.parents().iter().zip(velocities).enumerate() {
                add_scaled(velocity, time, difference(newton[link + 1], newton[parent]));
            }
            return;
        }
        self.kick_with_others(state, time);
    }

    /// Kicks where more acts than Newton's forces between equals: from outside, by velocities, or by the
    /// function of light pairs, which has to follow.
    fn kick_with_others(&mut self, state: &mut [Vector], time: f64) {
        let layout = self.layout;
        let links = layout.links;
        let mut mean = std::mem::take(&mut self.work.mean);
        if layout.second {
            let second = layout.second();
            self.find_others(state, links);
            self.add_velocities(state, second, 0.5 * time);
            self.find_others(state, second);
            mean[..links].copy_from_slice(&state[second..second + links]);
            self.add_velocities(state, links, time);
            self.follow(state, &mean[..links], time);
            self.find_others(state, links);
            self.add_velocities(state, second, 0.5 * time);
        } else {
            mean[..links].copy_from_slice(&state[links..2 * links]);
            self.find_others(state, links);
            self.add_velocities(state, links, time);
            for (mean, &new) in mean.iter_mut().zip(&state[links..2 * links]) {
                *mean = sum(*mean, new).map(|value| 0.5 * value);
            }
            self.follow(state, &mean[..links], time);
        }
        self.work.mean = mean;
    }

    /// Lets the binding energy and the light pairs' function follow for a time of motion at these
    /// velocities of links.
    fn follow(&mut self, state: &mut [Vector], velocities: &[Vector], time: f64) {
        let Work { velocities: places, other, gradient, .. } = &mut self.work;
        self.links.to_places(&self.frame, velocities, places);
        let (mut power, mut change) = (0.0, 0.0);
        for (place, &velocity) in places.iter().enumerate() {
            power += self.placed[place] * dot(velocity, other[place]);
            change += dot(velocity, gradient[place]);
        }
        let scalars = &mut state[self.layout.scalars()];
        scalars[1] -= time * power;
        scalars[2] += time * change;
    }

    /// Adds all accelerations for a time to the velocities of links that begin at this row.
    fn add_velocities(&mut self, state: &mut [Vector], row: usize, time: f64) {
        let layout = self.layout;
        let Work { newton, other, .. } = &self.work;
        let velocities = &mut state[row..row + layout.links];
        for (link, (&parent, velocity)) in self.links.parents().iter().zip(velocities).enumerate() {
            let inner = difference(newton[link + 1], newton[parent]);
            add_scaled(velocity, time, sum(inner, difference(other[link + 1], other[parent])));
        }
        if layout.centre {
            let mut mean = ZERO;
            for (&weight, &acceleration) in self.frame.weights.iter().zip(other.iter()) {
                add_scaled(&mut mean, weight / self.frame.total, acceleration);
            }
            let place = if row == layout.links { layout.centre() + 1 } else { layout.second() + layout.links };
            add_scaled(&mut state[place], time, mean);
        }
    }

    /// Computes Newton's accelerations of bodies; returns the two functions of the clock.
    fn newton(&mut self, separations: &[Vector]) -> [f64; 2] {
        self.find_positions(separations);
        let Work { positions, newton, gradient, .. } = &mut self.work;
        newton.fill(ZERO);
        gradient.fill(ZERO);
        let (mut potential, mut light) = (0.0, 0.0);
        for pair in self.links.pairs() {
            let separation = pair.between(separations, positions);
            let [one, other] = pair.places;
            let [mass, other_mass] = [self.placed[one], self.placed[other]];
            let inverse = 1.0 / dot(separation, separation).sqrt();
            let cube = inverse * inverse * inverse;
            add_scaled(&mut newton[one], other_mass * cube, separation);
            add_scaled(&mut newton[other], -mass * cube, separation);
            let product = mass * other_mass;
            potential += product * inverse;
            if product < LIGHT * self.light_weight {
                light += self.light_weight * inverse;
                add_scaled(&mut gradient[one], self.light_weight * cube, separation);
                add_scaled(&mut gradient[other], -self.light_weight * cube, separation);
            }
        }
        [potential, light]
    }

    /// Computes the accelerations by all but Newton's forces, with the velocities that begin at this
    /// row.
    fn find_others(&mut self, state: &[Vector], row: usize) {
        let layout = self.layout;
        let links = layout.links;
        let (separations, velocities) = (&state[..links], &state[row..row + links]);
        let Work {
            positions, velocities: speeds, other, of_bodies: [places_of_bodies, speeds_of_bodies, outer], ..
        } = &mut self.work;
        other.fill(ZERO);
        if self.links.any_far() || self.perturbation.is_some() {
            self.links.to_places(&self.frame, velocities, speeds);
        }
        if let Some(relativity) = self.relativity {
            for pair in self.links.pairs() {
                let [one, second] = pair.places;
                let masses = &self.placed;
                let mass = masses[one] + masses[second];
                if mass == 0.0 {
                    continue;
                }
                let eta = masses[one] * masses[second] / (mass * mass);
                let separation = pair.between(separations, positions);
                let velocity = pair.between(velocities, speeds);
                let [along, across] = relativity.factors(mass, eta, separation, velocity);
                for axis in 0..3 {
                    let relative = along * separation[axis] + across * velocity[axis];
                    other[one][axis] -= masses[second] / mass * relative;
                    other[second][axis] += masses[one] / mass * relative;
                }
            }
        }
        if let Some(perturbation) = self.perturbation {
            let centre = layout.centre();
            let speed = if row == links { state[centre + 1] } else { state[layout.second() + links] };
            for (place, &body) in self.links.order().iter().enumerate() {
                places_of_bodies[body] = sum(positions[place], state[centre]);
                speeds_of_bodies[body] = sum(speeds[place], speed);
            }
            let time = self.epoch + state[layout.scalars()][0];
            outer.fill(ZERO);
            perturbation.add(time, places_of_bodies, speeds_of_bodies, outer);
            for (other, &body) in other.iter_mut().zip(self.links.order()) {
                *other = sum(*other, outer[body]);
            }
        }
    }

    /// Advances a state by so many equal steps of the leapfrog, `interval` of the clock in all. It
    /// begins and ends with drifts.
    pub fn leapfrog(&mut self, clock: Clock, state: &mut [Vector], interval: f64, steps: usize) {
        let step = interval / steps as f64;
        self.drift(clock, state, 0.5 * step);
        for at in 0..steps {
            self.kick(clock, state, step);
            self.drift(clock, state, if at + 1 < steps { step } else { 0.5 * step });
        }
    }

    /// Returns the positions and velocities of bodies relative to their centre of mass.
    pub fn bodies(&mut self, state: &[Vector]) -> [&[Vector]; 2] {
        self.find_places(state);
        let Work { positions, velocities, of_bodies: [places, speeds, _], .. } = &mut self.work;
        for (place, &body) in self.links.order().iter().enumerate() {
            (places[body], speeds[body]) = (positions[place], velocities[place]);
        }
        [places, speeds]
    }

    fn find_places(&mut self, state: &[Vector]) {
        let links = self.layout.links;
        let Work { positions, velocities, .. } = &mut self.work;
        self.links.to_places(&self.frame, &state[..links], positions);
        self.links.to_places(&self.frame, &state[links..2 * links], velocities);
    }

    /// Returns who is bound to whom.
    pub fn hierarchy(&mut self, state: &[Vector]) -> Result<Hierarchy> {
        self.bodies(state);
        let [positions, velocities, _] = &self.work.of_bodies;
        Hierarchy::of(&self.masses, positions, velocities)
    }

    /// Returns the sum of the masses of a pair.
    pub fn mass_of(&self, pair: &Pair) -> f64 {
        self.masses[pair.bodies[0]] + self.masses[pair.bodies[1]]
    }

    /// Returns the separation and the relative velocity of the pair of this number.
    pub fn pair(&mut self, state: &[Vector], number: usize) -> [Vector; 2] {
        self.find_places(state);
        self.found_pair(state, &self.links.pairs()[number])
    }

    /// Writes those of all pairs to a vector with room for them.
    pub fn find_pairs(&mut self, state: &[Vector], pairs: &mut Vec<[Vector; 2]>) {
        self.find_places(state);
        pairs.clear();
        pairs.extend(self.links.pairs().iter().map(|pair| self.found_pair(state, pair)));
    }

    fn found_pair(&self, state: &[Vector], pair: &Pair) -> [Vector; 2] {
        let links = self.layout.links;
        [
            pair.between(&state[..links], &self.work.positions),
            pair.between(&state[links..2 * links], &self.work.velocities),
        ]
    }

    /// Returns the place and the velocity of the centre of mass, if the state has them.
    pub fn centre(&self, state: &[Vector]) -> Option<[Vector; 2]> {
        self.layout.centre.then(|| [state[self.layout.centre()], state[self.layout.centre() + 1]])
    }

    /// Returns the largest error of a state relative to the scale of each of its parts, and to what the
    /// step changed.
    pub fn relative_error(&self, from: &[Vector], to: &[Vector], errors: &[Vector], kinetic: f64) -> f64 {
        let layout = self.layout;
        let links = layout.links;
        let norm2 = |row: Vector| dot(row, row);
        let (mut separations, mut velocities) = (0.0f64, 0.0f64);
        let mut worst = 0.0f64;
        let mut take = |error: f64, scale: f64| {
            // Also where one of them is beyond doubles.
            let ratio = if error == 0.0 { 0.0 } else { error / scale };
            worst = worst.max(if ratio.is_nan() { f64::INFINITY } else { ratio });
        };
        for row in 0..2 * links {
            let scale = norm2(from[row]).max(norm2(to[row])).max(norm2(difference(to[row], from[row])));
            take(norm2(errors[row]), scale);
            let largest = if row < links { &mut separations } else { &mut velocities };
            *largest = largest.max(scale);
        }
        let place = layout.scalars();
        let [time, binding, light] = errors[place];
        take(time * time, to[place][0].powi(2));
        take(binding * binding, kinetic.max(to[place][1].abs()).powi(2));
        if self.any_light {
            take(light * light, to[place][2].powi(2));
        }
        if layout.centre {
            let place = layout.centre();
            // One body has no links: the scale is its own place and velocity, whose digits the change lacks.
            if links == 0 {
                (separations, velocities) = (norm2(from[place]), norm2(from[place + 1]));
            }
            take(norm2(errors[place]), separations.max(norm2(difference(to[place], from[place]))));
            take(norm2(errors[place + 1]), velocities.max(norm2(to[place + 1])));
        }
        worst.sqrt()
    }
}
