//! Laws between bodies beside their gravity: texts that say what one body adds to another one.
//!
//! All that a law reads of bodies is predicted, as it is for gravity: the derivatives of a sink too,
//! where velocities are read. The error of that is of the order of a predicted velocity's.

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

use sums::{Constants, Kernels};

/// The groups of a law on all bodies by all.
pub const ALL_GROUPS: [u16; 2] = [u16::MAX; 2];

const WHAT: &str = "the bodies of a law";
/// The name of the potential in errors.
const POTENTIAL: &str = "potential";

/// A body as laws read it.
#[derive(Debug, Clone, Copy)]
pub struct Acting {
    /// Its place among all.
    pub place: usize,
    /// Its mass.
    pub mass: f64,
    /// Its position and the derivatives of it.
    pub motion: [Vector; 1 + MOST],
}

impl Acting {
    /// Returns a body where it is.
    pub fn of(body: &Body, place: usize) -> Acting {
        let motion = body.motion();
        Acting { place, mass: body.mass, motion: std::array::from_fn(|k| motion[k]) }
    }
}

/// A law with the numbers of its parameters, and the groups of bodies that it concerns.
#[derive(Debug, Clone)]
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
    bodies: Taken,
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
            bodies: Taken::default(),
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

    /// Returns the first `given` derivatives of the velocities of sinks, by laws and by other forces, of
    /// which `force` has those of the sink at a place; none if there is no law. Sources are all bodies, of
    /// which those with a mass act.
    pub fn derivatives(
        &mut self,
        since_start: f64,
        given: usize,
        (sinks, sources): (impl Iterator<Item = Acting>, impl Iterator<Item = Acting>),
        force: impl Fn(usize) -> [Vector; MOST],
    ) -> Result<&[[Vector; MOST]]> {
        self.found.clear();
        if self.is_empty() {
            return Ok(&[]);
        }
        self.bodies.take(sinks, sources)?;
        let count = self.bodies.sinks.len();
        memory::reserve(&mut self.found, count, WHAT)?;
        self.found.extend((0..count).map(force));
        let time = self.start + since_start;
        for (law, kernels) in self.all.iter().zip(&mut self.kernels) {
            self.bodies.choose(&self.of_bodies, law.groups)?;
            let constants = Constants { law, gravity: self.gravity, time };
            let Some(sums) = kernels.forces(&self.bodies, &constants)? else { continue };
            for (row, &place) in self.bodies.chosen_sinks.iter().enumerate() {
                for (number, found) in self.found[place].iter_mut().enumerate().take(given) {
                    let more = sums.vector(number, row);
                    if let Some(value) = more.into_iter().find(|value| !value.is_finite()) {
                        let (what, body) = (DERIVATIVES[number], self.bodies.sinks[place].place as i64);
                        return Err(Error::LawNotFinite { what, body, law: law.name().into(), value });
                    }
                    *found = vector(|k| found[k] + more[k]);
                }
            }
        }
        Ok(&self.found)
    }

    /// Hands over the numbers among `places` of bodies, with their potentials by the law with a number, on
    /// these groups and by these, at a time.
    fn potentials(
        &mut self,
        (law, groups, time): (usize, [u16; 2], f64),
        (bodies, places): (&[Body], &[usize]),
        mut take: impl FnMut(usize, f64),
    ) -> Result<()> {
        let body = |place: usize| Acting::of(&bodies[place], place);
        self.bodies.take(places.iter().map(|place| body(*place)), (0..bodies.len()).map(body))?;
        self.bodies.choose(&self.of_bodies, groups)?;
        let (law, kernels) = (&self.all[law], &mut self.kernels[law]);
        let constants = Constants { law, gravity: self.gravity, time };
        let Some(sums) = kernels.potentials(&self.bodies, &constants)? else { return Ok(()) };
        for (row, &sink) in self.bodies.chosen_sinks.iter().enumerate() {
            let value = sums.number(row);
            if !value.is_finite() {
                let (body, law) = (places[sink] as i64, law.name().into());
                return Err(Error::LawNotFinite { what: POTENTIAL, body, law, value });
            }
            take(sink, value);
        }
        Ok(())
    }

    /// Returns the potentials and accelerations of the bodies at some places by all laws at a time.
    pub fn forces(&mut self, bodies: &[Body], places: &[usize], time: f64) -> Result<Vec<(f64, Vector)>> {
        let mut all = memory::filled(places.len(), (0.0, [0.0; 3]), WHAT)?;
        for law in 0..self.all.len() {
            let groups = self.all[law].groups;
            self.potentials((law, groups, time), (bodies, places), |sink, more| all[sink].0 += more)?;
        }
        self.start = time;
        let body = |place: usize| Acting::of(&bodies[place], place);
        let (sinks, sources) = (places.iter().map(|place| body(*place)), (0..bodies.len()).map(body));
        let found = self.derivatives(0.0, 1, (sinks, sources), |_| Default::default())?;
        all.iter_mut().zip(found).for_each(|((_, acceleration), found)| *acceleration = found[0]);
        Ok(all)
    }

    /// Returns the energy of bodies by the laws at a time: each mass times the potential. Two bodies that
    /// act on one another count once, and so do two of which one acts on the other. Laws that have no
    /// potential give none.
    pub fn energy(&mut self, bodies: &[Body], time: f64) -> Result<f64> {
        let places = memory::collected(0..bodies.len(), WHAT)?;
        let mut terms = Vec::new();
        for law in 0..self.all.len() {
            let [on, by] = self.all[law].groups;
            let both = on & by;
            // Pairs that act on one another come twice, the others once.
            for (groups, part) in [([both, both], 0.5), ([both, by & !both], 1.0), ([on & !both, by], 1.0)] {
                if groups.contains(&0) {
                    continue;
                }
                memory::reserve(&mut terms, bodies.len(), WHAT)?;
                self.potentials((law, groups, time), (bodies, &places), |place, potential| {
                    terms.push(part * bodies[place].mass * potential);
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

/// The bodies of a sum.
#[derive(Default)]
struct Taken {
    sinks: Vec<Acting>,
    /// Those with a mass.
    sources: Vec<Acting>,
    /// The places among both of those that a law concerns.
    chosen_sinks: Vec<usize>,
    chosen_sources: Vec<usize>,
}

impl Taken {
    fn take(&mut self, sinks: impl Iterator<Item = Acting>, sources: impl Iterator<Item = Acting>) -> Result<()> {
        self.sinks.clear();
        self.sources.clear();
        for sink in sinks {
            memory::push(&mut self.sinks, sink, WHAT)?;
        }
        for source in sources.filter(|source| source.mass != 0.0) {
            memory::push(&mut self.sources, source, WHAT)?;
        }
        Ok(())
    }

    /// Chooses those on which a law acts, and those by which it is made.
    fn choose(&mut self, of_bodies: &[u8], [on, by]: [u16; 2]) -> Result<()> {
        let is_of = |body: &Acting, groups: u16| groups >> of_bodies.get(body.place).copied().unwrap_or(0) & 1 == 1;
        let sides = [(&self.sinks, &mut self.chosen_sinks, on), (&self.sources, &mut self.chosen_sources, by)];
        for (bodies, chosen, groups) in sides {
            chosen.clear();
            memory::reserve(chosen, bodies.len(), WHAT)?;
            chosen.extend((0..bodies.len()).filter(|number| is_of(&bodies[*number], groups)));
        }
        Ok(())
    }
}
