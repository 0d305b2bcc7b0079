//! Laws between bodies beside their gravity: texts that say what one body adds to another one.
//!
//! All that a law reads of bodies is predicted, as it is for gravity: the derivatives of a sink too,
//! where velocities are read. The error of that is of the order of a predicted velocity's. Sources are
//! written when they have moved, and the kernels predict them.

mod sums;

use kyoho_core::{Error, Order, Result, memory};
use kyoho_engine::Setup;
use kyoho_language::LawProgram;
use kyoho_language::law::DERIVATIVES;
use kyoho_language::motion::MOST;
use kyoho_pairs::PairMachine;

use super::body::{Body, Vector, sum, vector};
use super::fields::Parameters;
use super::groups::Groups;

#[cfg(test)]
use sums::Kernel;
use sums::{Constants, Kernels};

/// The groups of a law on all bodies by all.
pub const ALL_GROUPS: [u16; 2] = [u16::MAX; 2];

const WHAT: &str = "the bodies of a law";
/// The name of the potential in errors.
const POTENTIAL: &str = "potential";

/// A body on which laws act.
#[derive(Debug, Clone, Copy)]
pub struct Felt {
    /// Its place among all.
    pub place: usize,
    /// Its mass.
    pub mass: f64,
    /// Its position and the derivatives of it.
    pub motion: [Vector; 1 + MOST],
}

impl Felt {
    /// Returns a body where it is.
    pub fn of(body: &Body, place: usize) -> Felt {
        let motion = body.motion();
        Felt { place, mass: body.mass, motion: std::array::from_fn(|k| motion[k]) }
    }
}

/// A body that acts by laws: as it was at a time since the start.
#[derive(Debug, Clone, Copy)]
pub struct Acting<'a> {
    /// Its place among all.
    pub place: usize,
    /// The body.
    pub body: &'a Body,
    /// The time.
    pub time: f64,
}

/// A law with the numbers of its parameters, and the groups of bodies that it concerns.
#[derive(Debug)]
pub struct Law {
    text: String,
    program: LawProgram,
    numbers: Vec<f64>,
    groups: [u16; 2],
}

impl Law {
    /// Returns the law of a text for bodies of an order. It acts on bodies of some groups and is made by
    /// those of others, in `groups`, with a bit for each.
    pub fn new(text: &str, parameters: &Parameters, groups: [u16; 2], order: Order) -> Result<Law> {
        Law::made(text, groups, order, |of| of.numbers(parameters))
    }

    /// Returns a law as [`Law::new`] does, from the names of parameters, with spaces between them, and
    /// the numbers of all of these, one after another.
    pub fn listed(text: &str, names: &str, numbers: &[f64], groups: [u16; 2], order: Order) -> Result<Law> {
        Law::made(text, groups, order, |of| of.listed_numbers(names, numbers))
    }

    /// Returns a law as [`Law::new`] does, with the numbers of all parameters in their order.
    pub fn with_numbers(text: &str, numbers: &[f64], groups: [u16; 2], order: Order) -> Result<Law> {
        Law::made(text, groups, order, |of| of.listed_numbers(&of.names()?, numbers))
    }

    fn made(
        text: &str,
        groups: [u16; 2],
        order: Order,
        numbers: impl Fn(&kyoho_language::parameters::Parameters) -> Result<Vec<f64>>,
    ) -> Result<Law> {
        let program = LawProgram::new(text, order as usize / 2).map_err(|fault| fault.into_error())?;
        let numbers = numbers(&program.parameters)?;
        let mut copy = String::new();
        memory::append(&mut copy, text, "the text of a law")?;
        Ok(Law { text: copy, program, numbers, groups })
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Returns the parameters with their numbers.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.program.parameters.with(&self.numbers)
    }

    /// Returns the numbers of all parameters, in their order.
    pub fn numbers(&self) -> &[f64] {
        &self.numbers
    }

    /// Returns the groups on which it acts and those by which it is made, with a bit for each.
    pub fn groups(&self) -> [u16; 2] {
        self.groups
    }

    /// Whether pairs have an energy by it.
    pub fn has_potential(&self) -> bool {
        self.program.potential.is_some()
    }
}

/// Two laws are equal that were made of the same text with the same numbers and groups.
impl PartialEq for Law {
    fn eq(&self, other: &Law) -> bool {
        (&self.text, &self.numbers, self.groups) == (&other.text, &other.numbers, other.groups)
    }
}

/// The laws of a run.
pub struct Laws {
    all: Vec<Law>,
    kernels: Vec<Kernels>,
    machine: PairMachine,
    /// The time at the start of the interval.
    pub start: f64,
    gravity: f64,
    /// The group of each body, by its place; bodies beyond are of the first group.
    of_bodies: Vec<u8>,
    /// The bodies on which a law acts, and their places among all sinks.
    felt: Vec<Felt>,
    chosen: Vec<usize>,
    found: Vec<[Vector; MOST]>,
}

impl Laws {
    /// Begins without a law, for this gravitational constant, on the machine of a system.
    pub fn new(gravity: f64, setup: &Setup) -> Laws {
        let Setup { backend, threads, level, fall_back: falls_back, .. } = *setup;
        let machine = PairMachine { backend, devices: setup.devices.clone(), threads, level, falls_back };
        Laws {
            all: Vec::new(),
            kernels: Vec::new(),
            machine,
            start: 0.0,
            gravity,
            of_bodies: Vec::new(),
            felt: Vec::new(),
            chosen: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Adds a law to those that are there.
    pub fn add(&mut self, law: Law) -> Result<()> {
        let kernels = Kernels::new(&law.program, &self.machine)?;
        memory::reserve(&mut self.kernels, 1, WHAT)?;
        memory::push(&mut self.all, law, WHAT)?;
        self.kernels.push(kernels);
        Ok(())
    }

    /// Makes laws that may take the place of those that are there.
    pub fn made(&self, laws: Vec<Law>) -> Result<Made> {
        let mut kernels = memory::room(laws.len(), WHAT)?;
        for law in &laws {
            kernels.push(Kernels::new(&law.program, &self.machine)?);
        }
        Ok(Made { laws, kernels })
    }

    /// Takes laws in place of those that are there.
    pub fn take(&mut self, made: Made) {
        (self.all, self.kernels) = (made.laws, made.kernels);
    }

    /// Returns the laws, in the order in which they are added.
    pub fn all(&self) -> &[Law] {
        &self.all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether one reads velocities, so that its derivatives need accelerations.
    pub fn read_velocities(&self) -> bool {
        self.all.iter().any(|law| law.program.reads_velocities)
    }

    /// Takes the groups of bodies, by their places.
    pub fn group(&mut self, groups: &Groups, bodies: usize) -> Result<()> {
        self.of_bodies.clear();
        if self.all.iter().all(|law| law.groups == ALL_GROUPS) {
            return Ok(());
        }
        memory::reserve(&mut self.of_bodies, bodies, WHAT)?;
        self.of_bodies.extend((0..bodies).map(|place| groups.of(place) as u8));
        Ok(())
    }

    /// Writes sources, of which there are `count` in all, to rows that rise.
    pub fn write<'a>(
        &mut self,
        count: usize,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
        source: impl Fn(usize) -> Acting<'a>,
    ) -> Result<()> {
        for (law, kernels) in self.all.iter().zip(&mut self.kernels) {
            let acts = acting(&self.of_bodies, law.groups[1]);
            kernels.forces.write(&law.program.forces, count, rows.clone(), (&source, acts))?;
        }
        Ok(())
    }

    /// Returns how many bodies may act by a law with a number: on velocities, and by potentials.
    #[cfg(test)]
    pub fn sources(&self, law: usize) -> [Option<usize>; 2] {
        let Kernels { forces, potential } = &self.kernels[law];
        [Some(forces.sources()), potential.as_ref().map(Kernel::sources)]
    }

    /// Returns the first `given` derivatives of the velocities of sinks at a time, by laws and by other
    /// forces, of which `force` has those of the sink at a place; none if there is no law. Sources were
    /// written before.
    pub fn derivatives(
        &mut self,
        since_start: f64,
        given: usize,
        (count, sink): (usize, impl Fn(usize) -> Felt),
        force: impl Fn(usize) -> [Vector; MOST],
    ) -> Result<&[[Vector; MOST]]> {
        self.found.clear();
        if self.is_empty() {
            return Ok(&[]);
        }
        memory::reserve(&mut self.found, count, WHAT)?;
        self.found.extend((0..count).map(force));
        for (law, kernels) in self.all.iter().zip(&mut self.kernels) {
            let chosen = (&mut self.felt, &mut self.chosen);
            choose(chosen, (count, &sink), &self.of_bodies, law.groups[0])?;
            let constants = Constants { law, gravity: self.gravity, times: [self.start, since_start] };
            let Some(sums) = kernels.forces.run(&law.program.forces, &self.felt, &constants)? else { continue };
            for (row, &place) in self.chosen.iter().enumerate() {
                for (number, found) in self.found[place].iter_mut().enumerate().take(given) {
                    let more = sums.vector(number, row);
                    if let Some(value) = more.into_iter().find(|value| !value.is_finite()) {
                        let (what, body) = (DERIVATIVES[number], self.felt[row].place as i64);
                        return Err(Error::LawNotFinite { what, body, law: law.name().into(), value });
                    }
                    *found = vector(|k| found[k] + more[k]);
                }
            }
        }
        Ok(&self.found)
    }

    /// Hands over the numbers among `places` of bodies, with their potentials by the law with a number, on
    /// these groups and by these, at a time. `with_mass` has the places of the bodies that act.
    fn potentials(
        &mut self,
        (law, [on, by], time): (usize, [u16; 2], f64),
        (bodies, places, with_mass): (&[Body], &[usize], &[usize]),
        mut take: impl FnMut(usize, f64),
    ) -> Result<()> {
        let (law, kernels) = (&self.all[law], &mut self.kernels[law]);
        let (Some(kernel), Some(list)) = (&mut kernels.potential, &law.program.potential) else { return Ok(()) };
        let acts = acting(&self.of_bodies, by);
        kernel.write(list, with_mass.len(), 0..with_mass.len(), (at_start(bodies, with_mass), acts))?;
        let sink = |number: usize| Felt::of(&bodies[places[number]], places[number]);
        choose((&mut self.felt, &mut self.chosen), (places.len(), sink), &self.of_bodies, on)?;
        let constants = Constants { law, gravity: self.gravity, times: [time, 0.0] };
        let Some(sums) = kernel.run(list, &self.felt, &constants)? else { return Ok(()) };
        for (row, &sink) in self.chosen.iter().enumerate() {
            let value = sums.number(row);
            if !value.is_finite() {
                let (body, law) = (places[sink] as i64, law.name().into());
                return Err(Error::LawNotFinite { what: POTENTIAL, body, law, value });
            }
            take(sink, value);
        }
        Ok(())
    }

    /// Returns the potentials and accelerations of the bodies at some places by all laws at a time. Sources
    /// have to be written again afterwards.
    pub fn forces(&mut self, bodies: &[Body], places: &[usize], time: f64) -> Result<Vec<(f64, Vector)>> {
        let mut all = memory::filled(places.len(), (0.0, [0.0; 3]), WHAT)?;
        let with_mass = places_with_mass(bodies)?;
        for law in 0..self.all.len() {
            let groups = self.all[law].groups;
            self.potentials((law, groups, time), (bodies, places, &with_mass), |sink, more| all[sink].0 += more)?;
        }
        self.start = time;
        self.write(with_mass.len(), 0..with_mass.len(), at_start(bodies, &with_mass))?;
        let sink = |number: usize| Felt::of(&bodies[places[number]], places[number]);
        let found = self.derivatives(0.0, 1, (places.len(), sink), |_| Default::default())?;
        all.iter_mut().zip(found).for_each(|((_, acceleration), found)| *acceleration = found[0]);
        Ok(all)
    }

    /// Returns the energy of bodies by the laws at a time: each mass times the potential. Two bodies that
    /// act on one another count once, and so do two of which one acts on the other. Laws that have no
    /// potential give none.
    pub fn energy(&mut self, bodies: &[Body], time: f64) -> Result<f64> {
        // Bodies without mass have no energy.
        let places = if self.is_empty() { Vec::new() } else { places_with_mass(bodies)? };
        let mut terms = Vec::new();
        for law in 0..self.all.len() {
            let [on, by] = self.all[law].groups;
            let both = on & by;
            // Pairs that act on one another come twice, the others once.
            for (groups, part) in [([both, both], 0.5), ([both, by & !both], 1.0), ([on & !both, by], 1.0)] {
                if groups.contains(&0) {
                    continue;
                }
                memory::reserve(&mut terms, places.len(), WHAT)?;
                self.potentials((law, groups, time), (bodies, &places, &places), |number, potential| {
                    terms.push(part * bodies[places[number]].mass * potential);
                })?;
            }
        }
        Ok(sum(terms))
    }
}

/// Laws with what sums them.
pub struct Made {
    laws: Vec<Law>,
    kernels: Vec<Kernels>,
}

/// Returns the places of the bodies that may act by laws: those with a mass.
pub fn places_with_mass(bodies: &[Body]) -> Result<Vec<usize>> {
    memory::collected((0..bodies.len()).filter(|place| bodies[*place].mass != 0.0), WHAT)
}

/// Returns what gives the bodies at some places, as they are at the start.
fn at_start<'a>(bodies: &'a [Body], places: &'a [usize]) -> impl Fn(usize) -> Acting<'a> {
    |row| Acting { place: places[row], body: &bodies[places[row]], time: 0.0 }
}

/// Returns what tells whether a body acts by a law that is made by some groups: those without mass do not.
fn acting(of_bodies: &[u8], by: u16) -> impl Fn(&Acting) -> bool {
    move |source| source.body.mass != 0.0 && is_of(of_bodies, source.place, by)
}

/// Whether the body at a place belongs to one of some groups.
fn is_of(of_bodies: &[u8], place: usize, groups: u16) -> bool {
    groups >> of_bodies.get(place).copied().unwrap_or(0) & 1 == 1
}

/// Chooses the sinks on which a law acts, which is on some groups.
fn choose(
    (felt, chosen): (&mut Vec<Felt>, &mut Vec<usize>),
    (count, sink): (usize, impl Fn(usize) -> Felt),
    of_bodies: &[u8],
    on: u16,
) -> Result<()> {
    felt.clear();
    chosen.clear();
    memory::reserve(felt, count, WHAT)?;
    memory::reserve(chosen, count, WHAT)?;
    for number in 0..count {
        let sink = sink(number);
        if is_of(of_bodies, sink.place, on) {
            felt.push(sink);
            chosen.push(number);
        }
    }
    Ok(())
}
