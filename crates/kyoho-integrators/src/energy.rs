//! Energies of synchronised bodies, in double precision whatever the precision of the run.

use kyoho_core::{Order, Precision, Result, TreeAccuracy, memory};
use kyoho_engine::{Setup, System};
use kyoho_ranks::{SharedSystem, Team};

use super::body::{Body, Vector, length, sum};
use super::group_sums::GroupSums;
use super::groups::Groups;
use super::subsystems::Subsystem;

/// The energies of all bodies at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// The kinetic energy.
    pub kinetic: f64,
    /// The potential energy, with every pair counted once and softening included.
    pub potential: f64,
    /// The potential energy in fields.
    pub field: f64,
}

impl Energy {
    /// Returns the sum of all.
    pub fn total(&self) -> f64 {
        self.kinetic + (self.potential + self.field)
    }
}

const FORCES: &str = "the forces on bodies";

/// Returns a setup whose devices sum potentials in double precision.
fn of_doubles(setup: &Setup) -> Setup {
    Setup { order: Order::Second, precision: Precision::Double, ..setup.clone() }
}

/// Finds the nearest of all bodies on the devices of a run, by sums over all pairs.
pub struct NearestBodies {
    system: SharedSystem,
}

impl NearestBodies {
    /// Makes a system for it on the devices of `setup`, whatever its order and precision, which ranks may
    /// share.
    pub fn new(setup: &Setup, team: Option<&Team>) -> Result<NearestBodies> {
        let setup = Setup { order: Order::Fourth, precision: Precision::Double, ..setup.clone() };
        Ok(NearestBodies { system: SharedSystem::new(&setup, team)? })
    }

    /// Returns the place of the body that is nearest to each of those at some places, and its distance;
    /// `None` where there is no other one.
    pub fn of(&mut self, bodies: &[Body], places: &[usize]) -> Result<Vec<Option<(usize, f64)>>> {
        let at_rest = |place: usize| Body::new(1.0, bodies[place].position, [0.0; 3]);
        let source = |place: usize| at_rest(place).source(Order::Fourth, place, 1.0, 0.0);
        self.system.set_sources(bodies.len(), source)?;
        self.system.keep_sources_below(bodies.len())?;
        let sink = |number: usize| at_rest(places[number]).sink(places[number], 0.0);
        self.system.start_from_fn(bodies.len(), true, places.len(), sink)?;
        let forces = self.system.wait()?;
        let nearest = |number: usize| {
            let nearest = forces.nearest(number)?;
            Some((nearest.index as usize, nearest.distance2.sqrt()))
        };
        memory::collected((0..places.len()).map(nearest), "the nearest bodies")
    }
}

/// Computes energies on the devices of a run.
pub struct Energies {
    system: SharedSystem,
    group_sums: GroupSums,
    gravity: f64,
    softening: f64,
}

impl Energies {
    /// Makes a system for energies on the devices of `setup`. Its order and precision do not
    /// matter.
    pub fn new(setup: &Setup, gravity: f64, softening: f64) -> Result<Energies> {
        Energies::over(None, setup, gravity, softening)
    }

    /// Makes one whose sums the ranks of a team share, if there is one. All call the same with the same
    /// bodies.
    pub fn over(team: Option<&Team>, setup: &Setup, gravity: f64, softening: f64) -> Result<Energies> {
        let system = SharedSystem::new(&of_doubles(setup), team)?;
        Ok(Energies { system, group_sums: GroupSums::default(), gravity, softening })
    }

    /// Makes one for ranks of a team that keep bodies for themselves, this one so many. All call the same,
    /// each with its own bodies, and get the energies of all.
    pub fn of_own_bodies(
        (team, count): (&Team, usize),
        setup: &Setup,
        gravity: f64,
        softening: f64,
    ) -> Result<Energies> {
        let system = SharedSystem::of_own_bodies(team, System::new(&of_doubles(setup))?, count)?;
        Ok(Energies { system, group_sums: GroupSums::default(), gravity, softening })
    }

    /// Takes potentials from a tree of this accuracy, where there are many bodies.
    pub fn by_tree(mut self, tree: Option<TreeAccuracy>) -> Result<Energies> {
        self.system.set_tree(tree)?;
        Ok(self)
    }

    /// Returns the energies of bodies some of which move in subsystems. The motion in these, and distances
    /// in them, have more digits than the places of bodies.
    pub fn with_subsystems(&mut self, bodies: &[Body], subsystems: &[Subsystem]) -> Result<Energy> {
        if subsystems.is_empty() {
            return self.of(bodies);
        }
        // Members of a subsystem have one number, beyond those of bodies alone.
        let mut numbers = memory::collected(0..bodies.len(), "the bodies of subsystems")?;
        for (number, subsystem) in subsystems.iter().enumerate() {
            subsystem.members.iter().for_each(|&member| numbers[member] = bodies.len() + number);
        }
        let potential = self.potential(bodies, |body| numbers[body])?;
        let alone = bodies.iter().zip(&numbers).filter(|(_, number)| **number < bodies.len()).map(|(body, _)| body);
        let centres = subsystems.iter().map(|subsystem| &subsystem.centre);
        let inner = memory::collected(subsystems.iter().map(|one| one.inner_energy(self.gravity)), "inner energies")?;
        let kinetic = sum(alone.chain(centres).map(kinetic_of).chain(inner.iter().map(|[kinetic, _]| *kinetic)));
        let potential = sum([potential].into_iter().chain(inner.iter().map(|[_, potential]| *potential)));
        Ok(Energy { kinetic, potential, field: 0.0 })
    }

    /// Returns the potentials and accelerations of the bodies at some places among all, by the others.
    pub fn forces(&mut self, bodies: &[Body], places: &[usize]) -> Result<Vec<(f64, Vector)>> {
        let with_mass = |place: &usize| bodies[*place].mass != 0.0;
        let sources = memory::collected((0..bodies.len()).filter(with_mass), "the bodies with mass")?;
        if sources.is_empty() || places.is_empty() {
            return memory::collected(places.iter().map(|_| (0.0, [0.0; 3])), FORCES);
        }
        let (gravity, softening) = (self.gravity, self.softening);
        let source = |number: usize| bodies[sources[number]].source(Order::Second, sources[number], gravity, 0.0);
        self.system.set_sources(sources.len(), source)?;
        self.system.keep_sources_below(sources.len())?;
        let sink = |number: usize| bodies[places[number]].sink(places[number], softening);
        self.system.start_from_fn(sources.len(), true, places.len(), sink)?;
        let forces = self.system.wait()?;
        let found = (0..places.len()).map(|number| (forces.potential(number), forces.acceleration(number)));
        memory::collected(found, FORCES)
    }

    /// Takes this softening length from now on.
    pub fn set_softening(&mut self, softening: f64) {
        self.softening = softening;
    }

    /// Returns the potentials and accelerations as [`Energies::forces`] does, of bodies that feel some
    /// groups alone.
    pub fn forces_of_groups(
        &mut self,
        bodies: &[Body],
        places: &[usize],
        groups: &Groups,
    ) -> Result<Vec<(f64, Vector)>> {
        let mut found = memory::filled(places.len(), (0.0, [0.0; 3]), FORCES)?;
        let sinks = (places.len(), |sink: usize| places[sink]);
        self.group_sums.sum(&mut self.system, (groups, self.gravity), bodies, sinks, |sink, _, (forces, row)| {
            let (potential, acceleration) = &mut found[sink];
            *potential += forces.potential(row);
            let more = forces.acceleration(row);
            acceleration.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        })?;
        Ok(found)
    }

    /// Returns the energies of bodies that feel some groups alone. Two bodies that feel one another
    /// count once, and so do two of which one feels the other.
    pub fn of_groups(&mut self, bodies: &[Body], groups: &Groups) -> Result<Energy> {
        let mut terms = memory::filled(bodies.len(), 0.0, FORCES)?;
        let sinks = (bodies.len(), |body: usize| body);
        self.group_sums.sum(
            &mut self.system,
            (groups, self.gravity),
            bodies,
            sinks,
            |body, group, (forces, row)| {
                let part = if groups.feels(group, groups.of(body)) { 0.5 } else { 1.0 };
                terms[body] += part * bodies[body].mass * forces.potential(row);
            },
        )?;
        let kinetic = sum(bodies.iter().map(|body| body.mass * length(&body.velocity).powi(2)));
        let [kinetic, potential] = self.of_all([kinetic, sum(terms)])?;
        Ok(Energy { kinetic: 0.5 * kinetic, potential, field: 0.0 })
    }

    /// Returns the energies of these bodies, which must belong to one time; they have none in fields.
    pub fn of(&mut self, bodies: &[Body]) -> Result<Energy> {
        let potential = self.potential(bodies, |body| body)?;
        let [kinetic, potential] = self.of_all([sum(bodies.iter().map(kinetic_of)), potential])?;
        Ok(Energy { kinetic, potential, field: 0.0 })
    }

    /// Returns the potential energy of this process's bodies with all, except those of which `index` returns
    /// the same.
    fn potential(&mut self, bodies: &[Body], index: impl Fn(usize) -> usize + Sync) -> Result<f64> {
        let with_mass = (0..bodies.len()).filter(|body| bodies[*body].mass != 0.0);
        let all = memory::collected(with_mass, "the bodies with mass")?;
        if all.is_empty() && !self.system.keeps_own_bodies() {
            return Ok(0.0);
        }
        let (gravity, softening) = (self.gravity, self.softening);
        let source = |number: usize| bodies[all[number]].source(Order::Second, index(all[number]), gravity, 0.0);
        self.system.set_sources(all.len(), source)?;
        self.system.keep_sources_below(all.len())?;
        let sink = |number: usize| bodies[all[number]].sink(index(all[number]), softening);
        self.system.start_from_fn(all.len(), true, all.len(), sink)?;
        let forces = self.system.wait()?;
        Ok(0.5 * sum(all.iter().enumerate().map(|(number, body)| bodies[*body].mass * forces.potential(number))))
    }

    /// Adds what all ranks have, where each keeps bodies for itself.
    fn of_all(&self, own: [f64; 2]) -> Result<[f64; 2]> {
        let all = self.system.of_ranks(own)?;
        Ok([0, 1].map(|place| sum(all.iter().map(|of_rank| of_rank[place]))))
    }
}

fn kinetic_of(body: &Body) -> f64 {
    0.5 * body.mass * length(&body.velocity).powi(2)
}

#[cfg(test)]
mod tests {
    use kyoho_engine::Setup;

    use super::*;
    use crate::tests::random;

    #[test]
    fn two_bodies_have_the_energies_of_the_textbook() {
        let setup = Setup::on_cpu(Order::Fourth, Precision::Mixed);
        let bodies = [Body::new(2.0, [0.0; 3], [0.0, 3.0, 0.0]), Body::new(5.0, [4.0, 0.0, 0.0], [1.0, 0.0, 0.0])];
        let energy = Energies::new(&setup, 10.0, 3.0).unwrap().of(&bodies).unwrap();
        // The kinetic energy is 2 * 3^2 / 2 + 5 / 2, and the potential energy -G m1 m2 / sqrt(4^2 +
        // 3^2).
        assert_eq!(energy.kinetic, 11.5);
        assert!((energy.potential + 20.0).abs() < 1e-13);
    }

    #[test]
    fn members_of_subsystems_have_the_digits_of_their_motion() {
        let mut random = random();
        let mut body = |size: f64, mass: f64| {
            let mut vector = || std::array::from_fn(|_| size * (random() - 0.5));
            let (position, velocity) = (vector(), vector());
            Body::new(mass * (1.0 + random()), position, velocity)
        };
        // Pairs that are nearer than numbers around 1 tell apart, and a triple that is not.
        let (mut subsystems, mut bodies) = (Vec::new(), Vec::new());
        for (count, size, mass) in [(2, 1e-17, 1e-9), (3, 1e-2, 1.0), (2, 1e-20, 1e-11)] {
            let centre = Subsystem::alone(bodies.len(), &body(4.0, 1.0)).unwrap().centre;
            let parts = (0..count).map(|row| Subsystem::alone(bodies.len() + row, &body(size, mass)).unwrap());
            let mut subsystem = Subsystem::joined(&parts.collect::<Vec<_>>()).unwrap();
            subsystem.centre = Body { mass: subsystem.centre.mass, ..centre };
            bodies.extend((0..count).map(|row| subsystem.body(row)));
            subsystems.push(subsystem);
        }
        assert_eq!(bodies[0].position, bodies[1].position);
        bodies.extend((0..20).map(|_| body(4.0, 1.0)));
        let subsystem_of = |body: usize| subsystems.iter().position(|one: &Subsystem| one.members.contains(&body));
        let mut expected = [0.0; 2];
        for (one, first) in bodies.iter().enumerate() {
            for (other, second) in bodies.iter().enumerate().skip(one + 1) {
                let are_apart = subsystem_of(one).is_none() || subsystem_of(one) != subsystem_of(other);
                let distance = length(&std::array::from_fn(|k| first.position[k] - second.position[k]));
                expected[1] -= if are_apart { 3.0 * first.mass * second.mass / distance } else { 0.0 };
            }
            expected[0] += if subsystem_of(one).is_none() { kinetic_of(first) } else { 0.0 };
        }
        for subsystem in &subsystems {
            let [kinetic, potential] = subsystem.inner_energy(3.0);
            (expected[0], expected[1]) =
                (expected[0] + kinetic + kinetic_of(&subsystem.centre), expected[1] + potential);
        }
        for setup in [Setup::on_cpu(Order::Fourth, Precision::Mixed), Setup::on_cpu(Order::Sixth, Precision::Double)] {
            let energy = Energies::new(&setup, 3.0, 0.0).unwrap().with_subsystems(&bodies, &subsystems).unwrap();
            assert!((energy.kinetic / expected[0] - 1.0).abs() < 1e-14, "{energy:?} {expected:?}");
            assert!((energy.potential / expected[1] - 1.0).abs() < 1e-14, "{energy:?} {expected:?}");
        }
    }
}
