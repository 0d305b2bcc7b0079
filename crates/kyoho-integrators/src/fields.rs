//! Fields that act on all bodies beside their own gravity.

mod centre;
mod function;
mod on_gpus;

use kyoho_core::{Error, Level, Order, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_language::FieldProgram;
use kyoho_language::blocks::LANES;
use kyoho_language::fault::listed;
use kyoho_language::field::{BUILT_IN, BuiltIn, Constants, FieldWork, MOST};

use super::body::{Body, Vector, sum, vector};

pub use centre::Centre;
pub use function::{FieldFunction, FieldQuestion, FieldValue};

use centre::Motion;
use function::{Function, Functions, NotFinite};
use on_gpus::OnGpus;

/// Up to this many bodies are evaluated one after another, which is faster than a block of lanes, most
/// of which they would leave empty.
const FEW: usize = 3;

/// The names of the derivatives that a field gives.
const NAMES: [&str; MOST] = ["acceleration", "jerk", "snap", "crackle"];

const WHAT: &str = "the bodies in a field";
const ENERGIES: &str = "energies in fields";
/// The name of a field that is a function, in errors.
const FUNCTION: &str = "function";

/// Names of parameters, each with its numbers.
pub type Parameters<'a> = [(&'a str, &'a [f64])];

/// A field with the numbers of its parameters.
#[derive(Debug, Clone)]
pub struct Field {
    given: String,
    program: FieldProgram,
    numbers: Vec<f64>,
    centre: Option<Centre>,
}

impl Field {
    /// Returns the field that has a built-in name, or that is a text, for bodies of an order.
    pub fn new(given: &str, parameters: &Parameters, order: Order, level: Level) -> Result<Field> {
        Field::made(given, order, level, |program| program.parameters.numbers(parameters))
    }

    /// Returns a field as [`Field::new`] does, from the names of parameters, with spaces between them,
    /// and the numbers of all of these, one after another.
    pub fn listed(given: &str, names: &str, numbers: &[f64], order: Order, level: Level) -> Result<Field> {
        Field::made(given, order, level, |program| program.parameters.listed_numbers(names, numbers))
    }

    /// Returns a field as [`Field::new`] does, with the numbers of all parameters in their order.
    pub fn with_numbers(given: &str, numbers: &[f64], order: Order, level: Level) -> Result<Field> {
        Field::made(given, order, level, |program| {
            program.parameters.listed_numbers(&program.parameters.names()?, numbers)
        })
    }

    /// Returns the field whose numbers a function finds.
    fn made(
        given: &str,
        order: Order,
        level: Level,
        numbers: impl Fn(&FieldProgram) -> Result<Vec<f64>>,
    ) -> Result<Field> {
        let compiled =
            |text: &str| FieldProgram::new(text, order as usize / 2, level).map_err(|fault| fault.into_error());
        let known = built_in(given)?;
        let mut program = compiled(known.map_or(given, |known| known.text))?;
        let numbers = numbers(&program)?;
        if let Some(made) = known.and_then(|known| known.made) {
            program = compiled(&made(&numbers)?)?;
        }
        let mut copy = String::new();
        memory::append(&mut copy, given, "the text of a field")?;
        Ok(Field { given: copy, program, numbers, centre: None })
    }

    /// Returns the field with a centre that moves: positions and velocities are relative to it.
    pub fn with_centre(self, centre: Option<Centre>) -> Field {
        Field { centre, ..self }
    }

    /// Returns the centre, if it moves.
    pub fn centre(&self) -> Option<&Centre> {
        self.centre.as_ref()
    }

    /// Fails if the centre is not known at a time.
    pub fn check_time(&self, time: f64) -> Result<()> {
        self.centre.iter().try_for_each(|centre| centre.check(time, self.name()))
    }

    /// Returns the built-in name or the text by which it was made.
    pub fn given(&self) -> &str {
        &self.given
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

    /// Whether bodies have an energy in it.
    pub fn has_potential(&self) -> bool {
        self.program.has_potential()
    }
}

/// Two fields are equal that were made of the same text with the same numbers and centre.
impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        (&self.given, &self.numbers, &self.centre) == (&other.given, &other.numbers, &other.centre)
    }
}

/// Returns the built-in field with a name. A word alone is a name, anything else a text.
fn built_in(given: &str) -> Result<Option<BuiltIn>> {
    if given.trim().contains(char::is_whitespace) {
        return Ok(None);
    }
    BuiltIn::from_name(given.trim()).map(Some).ok_or_else(|| Error::BadOption {
        name: "the field".into(),
        value: given.into(),
        allowed: format!("a text that begins with 'pair', or {}", listed(BUILT_IN.map(|field| field.name))),
    })
}

/// The fields of a run.
pub struct Fields {
    all: Vec<Field>,
    /// The time at the start of the interval.
    pub start: f64,
    gravity: f64,
    threads: Threads,
    work: Vec<Work>,
    found: Vec<[Vector; MOST]>,
    /// Where the centres of the fields are.
    centres: Vec<Motion>,
    functions: Functions,
    on_gpus: OnGpus,
}

/// What a thread needs.
struct Work {
    fields: Vec<FieldWork>,
    places: Vec<Vector>,
    velocities: Vec<Vector>,
    failure: Option<Failure>,
}

/// A derivative that is not finite.
#[derive(Clone, Copy)]
struct Failure {
    place: usize,
    field: usize,
    number: usize,
    value: f64,
}

impl Default for Fields {
    fn default() -> Fields {
        Fields::new(1.0, 1)
    }
}

impl Fields {
    /// Begins without a field, for this gravitational constant and number of threads.
    pub fn new(gravity: f64, threads: usize) -> Fields {
        let threads = Threads::new(threads);
        Fields {
            all: Vec::new(),
            start: 0.0,
            gravity,
            threads,
            work: Vec::new(),
            found: Vec::new(),
            centres: Vec::new(),
            functions: Functions::default(),
            on_gpus: OnGpus::default(),
        }
    }

    /// Adds a field to those that are there.
    pub fn add(&mut self, field: Field) -> Result<()> {
        self.have_changed();
        memory::push(&mut self.all, field, "fields")
    }

    /// Adds a field that a function gives. Its potential counts in energies if it has one.
    pub fn add_function(&mut self, function: FieldFunction, has_potential: bool) -> Result<()> {
        self.functions.add(Function::new(function, has_potential))
    }

    /// Takes these fields in place of those that are there, functions included.
    pub fn replace(&mut self, fields: Vec<Field>) {
        self.have_changed();
        self.functions.clear();
        self.all = fields;
    }

    /// Returns the fields that are no functions, in the order in which they are added.
    pub fn all(&self) -> &[Field] {
        &self.all
    }

    /// Whether some are functions.
    pub fn has_functions(&self) -> bool {
        !self.functions.is_empty()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.functions.is_empty()
    }

    /// Finds where the centres are at a time.
    fn move_centres(&mut self, time: f64) -> Result<()> {
        self.centres.clear();
        for field in &self.all {
            field.check_time(time)?;
            let motion = field.centre.as_ref().map_or([[0.0; 3]; 2 + MOST], |centre| centre.at(time));
            memory::push(&mut self.centres, motion, WHAT)?;
        }
        Ok(())
    }

    /// Sees to it that some threads have what they need.
    fn make_work(&mut self, threads: usize) -> Result<()> {
        while self.work.len() < threads {
            let mut fields = memory::room(self.all.len(), WHAT)?;
            for field in &self.all {
                fields.push(field.program.work()?);
            }
            let work = Work {
                fields,
                places: memory::room(LANES, WHAT)?,
                velocities: memory::room(LANES, WHAT)?,
                failure: None,
            };
            memory::push(&mut self.work, work, WHAT)?;
        }
        Ok(())
    }

    /// Returns the first `given` derivatives of the velocities of `count` bodies, by all forces; none if
    /// there is no field. `body` has the number, the position and the velocity of the body at a place,
    /// and `force` the derivatives that it has by the other forces.
    ///
    /// Each derivative follows from those before it, of all forces.
    pub fn derivatives(
        &mut self,
        since_start: f64,
        (count, given): (usize, usize),
        body: impl Fn(usize) -> (usize, [Vector; 2]) + Sync,
        force: impl Fn(usize) -> [Vector; MOST] + Sync,
    ) -> Result<&[[Vector; MOST]]> {
        if self.is_empty() || count == 0 {
            return Ok(&[]);
        }
        let time = self.start + since_start;
        self.move_centres(time)?;
        if self.functions.is_empty() {
            return self.of_texts(time, (count, given), body, force);
        }
        self.ask_functions(time, (count, given), &body, &force)?;
        let functions = std::mem::take(&mut self.functions);
        let sums = functions.sums();
        let outcome = self.of_texts(time, (count, given), body, |place| with(force(place), &sums[place])).map(drop);
        self.functions = functions;
        outcome.map(|()| &self.found[..count])
    }

    /// Asks the functions for the accelerations of bodies, and then for jerks if these are wanted, which
    /// may depend on the accelerations by all forces.
    fn ask_functions(
        &mut self,
        time: f64,
        (count, given): (usize, usize),
        body: &(impl Fn(usize) -> (usize, [Vector; 2]) + Sync),
        force: &(impl Fn(usize) -> [Vector; MOST] + Sync),
    ) -> Result<()> {
        let not_finite = |number: usize, found: Option<NotFinite>| match found {
            Some(NotFinite { place, value }) => Err(Error::FieldNotFinite {
                what: NAMES[number],
                body: body(place).0 as i64,
                field: FUNCTION.into(),
                value,
            }),
            None => Ok(()),
        };
        self.functions.take(count, |place| body(place).1)?;
        not_finite(0, self.functions.find(time, None)?)?;
        if given == 1 {
            return Ok(());
        }
        let mut functions = std::mem::take(&mut self.functions);
        let sums = functions.sums();
        let outcome = self.of_texts(time, (count, 1), body, |place| with(force(place), &sums[place])).map(drop);
        let jerks = outcome.and_then(|()| functions.find(time, Some(&|place| self.found[place][0])));
        self.functions = functions;
        not_finite(1, jerks?)
    }

    /// Returns derivatives by other forces and by all fields that are no functions.
    fn of_texts(
        &mut self,
        time: f64,
        (count, given): (usize, usize),
        body: impl Fn(usize) -> (usize, [Vector; 2]) + Sync,
        force: impl Fn(usize) -> [Vector; MOST] + Sync,
    ) -> Result<&[[Vector; MOST]]> {
        let blocks = count.div_ceil(LANES);
        let jobs = blocks.min(self.threads.count());
        self.make_work(jobs)?;
        memory::lengthen(&mut self.found, count, WHAT, || [[0.0; 3]; MOST])?;
        let (fields, centres, gravity) = (&self.all[..], &self.centres[..], self.gravity);
        let of_job = blocks.div_ceil(jobs) * LANES;
        let parts = self.found[..count].chunks_mut(of_job).zip(&mut self.work).enumerate();
        self.threads.each(parts, |(job, (found, work))| {
            work.begin(fields, gravity, time);
            for (block, found) in found.chunks_mut(LANES).enumerate() {
                let first = job * of_job + block * LANES;
                let body = |place: usize| body(first + place).1;
                let force = |place: usize| force(first + place);
                let failure = if found.len() <= FEW {
                    work.one_by_one((fields, centres), given, found, body, force)
                } else {
                    work.block((fields, centres), given, found, body, force)
                };
                if let Some(failure) = failure {
                    work.failure = Some(Failure { place: first + failure.place, ..failure });
                    break;
                }
            }
        });
        match self.work.iter_mut().filter_map(|work| work.failure.take()).min_by_key(|failure| failure.place) {
            Some(Failure { place, field, number, value }) => Err(Error::FieldNotFinite {
                what: NAMES[number],
                body: body(place).0 as i64,
                field: self.all[field].program.name.clone(),
                value,
            }),
            None => Ok(&self.found[..count]),
        }
    }

    /// Returns the energy of bodies in the fields at a time: the sum of each mass times the potential.
    /// Fields that have no potential give none.
    pub fn energy(&mut self, bodies: &[Body], time: f64) -> Result<f64> {
        let mut terms = memory::room(bodies.len() * self.all.len(), ENERGIES)?;
        self.potentials(bodies, time, |place, value| memory::push(&mut terms, bodies[place].mass * value, ENERGIES))?;
        Ok(sum(terms))
    }

    /// Calls a function with the potential that each field has where each body is at a time.
    pub fn potentials(
        &mut self,
        bodies: &[Body],
        time: f64,
        mut each: impl FnMut(usize, f64) -> Result<()>,
    ) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.make_work(1)?;
        self.move_centres(time)?;
        let (fields, centres, work) = (&self.all, &self.centres, &mut self.work[0]);
        work.begin(fields, self.gravity, time);
        let mut give = |place: usize, value: f64, field: &str| {
            if value.is_finite() {
                return each(place, value);
            }
            let (body, field) = (place as i64, field.into());
            Err(Error::FieldNotFinite { what: "potential", body, field, value })
        };
        for (place, body) in bodies.iter().enumerate() {
            let motion = [body.position, body.velocity];
            for ((field, centre), work) in fields.iter().zip(centres).zip(&mut work.fields) {
                give(place, field.program.potential(work, &relative(&motion, centre)), field.name())?;
            }
        }
        if !self.functions.is_empty() {
            self.functions.take(bodies.len(), |place| [bodies[place].position, bodies[place].velocity])?;
            self.functions.potentials(time, |place, value| give(place, value, FUNCTION))?;
        }
        Ok(())
    }
}

/// Returns a motion as it is seen from a centre.
fn relative<const N: usize>(motion: &[Vector; N], centre: &Motion) -> [Vector; N] {
    std::array::from_fn(|number| vector(|k| motion[number][k] - centre[number][k]))
}

/// Returns derivatives with those of functions.
fn with(mut force: [Vector; MOST], more: &[Vector; 2]) -> [Vector; MOST] {
    for (force, more) in force.iter_mut().zip(more) {
        *force = vector(|k| force[k] + more[k]);
    }
    force
}

impl Work {
    fn begin(&mut self, fields: &[Field], gravity: f64, time: f64) {
        for (field, work) in fields.iter().zip(&mut self.fields) {
            field.program.begin(work, &Constants { parameters: &field.numbers, gravity, time });
        }
    }

    fn one_by_one(
        &mut self,
        (fields, centres): (&[Field], &[Motion]),
        given: usize,
        found: &mut [[Vector; MOST]],
        body: impl Fn(usize) -> [Vector; 2],
        force: impl Fn(usize) -> [Vector; MOST],
    ) -> Option<Failure> {
        for (place, found) in found.iter_mut().enumerate() {
            *found = force(place);
            let mut motion = [[0.0; 3]; 2 + MOST];
            motion[..2].copy_from_slice(&body(place));
            for number in 0..given {
                for (field, work) in self.fields.iter_mut().enumerate() {
                    let motion = relative(&motion, &centres[field]);
                    let more = fields[field].program.one(work, number, &motion[..2 + number]);
                    if let Some(value) = more.into_iter().find(|value| !value.is_finite()) {
                        return Some(Failure { place, field, number, value });
                    }
                    found[number] = vector(|k| found[number][k] + more[k]);
                }
                motion[2 + number] = found[number];
            }
        }
        None
    }

    fn block(
        &mut self,
        (fields, centres): (&[Field], &[Motion]),
        given: usize,
        found: &mut [[Vector; MOST]],
        body: impl Fn(usize) -> [Vector; 2],
        force: impl Fn(usize) -> [Vector; MOST],
    ) -> Option<Failure> {
        self.places.clear();
        self.velocities.clear();
        for (place, found) in found.iter_mut().enumerate() {
            let [position, velocity] = body(place);
            self.places.push(position);
            self.velocities.push(velocity);
            *found = force(place);
        }
        for ((field, work), centre) in fields.iter().zip(&mut self.fields).zip(centres) {
            field.program.put(work, 0, &self.places, &centre[0]);
            field.program.put(work, 1, &self.velocities, &centre[1]);
        }
        for number in 0..given {
            for (field, work) in self.fields.iter_mut().enumerate() {
                let mut failure = None;
                fields[field].program.many(work, number, found.len(), |place, more| {
                    if let Some(value) = more.into_iter().find(|value| !value.is_finite()) {
                        failure = failure.or(Some(Failure { place, field, number, value }));
                    }
                    let found = &mut found[place][number];
                    *found = vector(|k| found[k] + more[k]);
                });
                if failure.is_some() {
                    return failure;
                }
            }
            self.places.clear();
            self.places.extend(found.iter().map(|found| found[number]));
            for ((field, work), centre) in fields.iter().zip(&mut self.fields).zip(centres) {
                field.program.put(work, 2 + number, &self.places, &centre[2 + number]);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
