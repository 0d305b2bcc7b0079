//! Fields that act on all bodies beside their own gravity.

use kyoho_core::{Error, Level, Order, Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_language::FieldProgram;
use kyoho_language::blocks::LANES;
use kyoho_language::fault::listed;
use kyoho_language::field::{BUILT_IN, BuiltIn, Constants, FieldWork, MOST};

use super::body::{Body, Vector, sum, vector};

/// Up to this many bodies are evaluated one after another, which is faster than a block of lanes, most
/// of which they would leave empty.
const FEW: usize = 3;

/// The names of the derivatives that a field gives.
const NAMES: [&str; MOST] = ["acceleration", "jerk", "snap", "crackle"];

const WHAT: &str = "the bodies in a field";

/// Names of parameters, each with its numbers.
pub type Parameters<'a> = [(&'a str, &'a [f64])];

/// A field with the numbers of its parameters.
#[derive(Debug, Clone)]
pub struct Field {
    given: String,
    program: FieldProgram,
    numbers: Vec<f64>,
}

impl Field {
    /// Returns the field that has a built-in name, or that is a text, for bodies of an order.
    pub fn new(given: &str, parameters: &Parameters, order: Order, level: Level) -> Result<Field> {
        let program = program(given, order, level)?;
        let numbers = program.numbers(parameters)?;
        Field { given: String::new(), program, numbers }.named(given)
    }

    /// Returns a field as [`Field::new`] does, from the names of parameters, with spaces between them,
    /// and the numbers of all of these, one after another.
    pub fn listed(given: &str, names: &str, numbers: &[f64], order: Order, level: Level) -> Result<Field> {
        let program = program(given, order, level)?;
        let numbers = program.listed_numbers(names, numbers)?;
        Field { given: String::new(), program, numbers }.named(given)
    }

    /// Returns a field as [`Field::new`] does, with the numbers of all parameters in their order.
    pub fn with_numbers(given: &str, numbers: &[f64], order: Order, level: Level) -> Result<Field> {
        let program = program(given, order, level)?;
        let mut names = String::new();
        for (name, _) in &program.parameters {
            memory::append(&mut names, name, WHAT)?;
            memory::append(&mut names, " ", WHAT)?;
        }
        let numbers = program.listed_numbers(&names, numbers)?;
        Field { given: String::new(), program, numbers }.named(given)
    }

    fn named(mut self, given: &str) -> Result<Field> {
        memory::append(&mut self.given, given, "the text of a field")?;
        Ok(self)
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
        self.program.parameters.iter().scan(0, |first, (name, width)| {
            *first += width;
            Some((name.as_str(), &self.numbers[*first - width..*first]))
        })
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

/// Two fields are equal that were made of the same text with the same numbers.
impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        (&self.given, &self.numbers) == (&other.given, &other.numbers)
    }
}

/// A word alone is a name, anything else a text.
fn program(given: &str, order: Order, level: Level) -> Result<FieldProgram> {
    let text = if given.trim().contains(char::is_whitespace) {
        given
    } else {
        BuiltIn::from_name(given.trim()).map(|field| field.text).ok_or_else(|| Error::BadOption {
            name: "the field".into(),
            value: given.into(),
            allowed: format!("a text that begins with 'pair', or {}", listed(BUILT_IN.map(|field| field.name))),
        })?
    };
    FieldProgram::new(text, order as usize / 2, level).map_err(|fault| fault.into_error())
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
        Fields { all: Vec::new(), start: 0.0, gravity, threads, work: Vec::new(), found: Vec::new() }
    }

    /// Adds a field to those that are there.
    pub fn add(&mut self, field: Field) -> Result<()> {
        self.work.clear();
        memory::push(&mut self.all, field, "fields")
    }

    /// Takes these fields in place of those that are there.
    pub fn replace(&mut self, fields: Vec<Field>) {
        self.work.clear();
        self.all = fields;
    }

    /// Returns the fields, in the order in which they are added.
    pub fn all(&self) -> &[Field] {
        &self.all
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
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
        if self.all.is_empty() || count == 0 {
            return Ok(&[]);
        }
        let blocks = count.div_ceil(LANES);
        let jobs = blocks.min(self.threads.count());
        self.make_work(jobs)?;
        memory::lengthen(&mut self.found, count, WHAT, || [[0.0; 3]; MOST])?;
        let (fields, time, gravity) = (&self.all[..], self.start + since_start, self.gravity);
        let of_job = blocks.div_ceil(jobs) * LANES;
        let parts = self.found[..count].chunks_mut(of_job).zip(&mut self.work).enumerate();
        self.threads.each(parts, |(job, (found, work))| {
            work.begin(fields, gravity, time);
            for (block, found) in found.chunks_mut(LANES).enumerate() {
                let first = job * of_job + block * LANES;
                let body = |place: usize| body(first + place).1;
                let force = |place: usize| force(first + place);
                let failure = if found.len() <= FEW {
                    work.one_by_one(fields, given, found, body, force)
                } else {
                    work.block(fields, given, found, body, force)
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
        if self.all.is_empty() {
            return Ok(0.0);
        }
        self.make_work(1)?;
        let (fields, work) = (&self.all, &mut self.work[0]);
        work.begin(fields, self.gravity, time);
        let mut terms = memory::room(bodies.len() * fields.len(), "energies in fields")?;
        for (number, body) in bodies.iter().enumerate() {
            for (field, work) in fields.iter().zip(&mut work.fields) {
                let value = field.program.potential(work, &[body.position, body.velocity]);
                if !value.is_finite() {
                    let (body, field) = (number as i64, field.program.name.clone());
                    return Err(Error::FieldNotFinite { what: "potential", body, field, value });
                }
                terms.push(body.mass * value);
            }
        }
        Ok(sum(terms))
    }
}

impl Work {
    fn begin(&mut self, fields: &[Field], gravity: f64, time: f64) {
        for (field, work) in fields.iter().zip(&mut self.fields) {
            field.program.begin(work, &Constants { parameters: &field.numbers, gravity, time });
        }
    }

    fn one_by_one(
        &mut self,
        fields: &[Field],
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
        fields: &[Field],
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
        for (field, work) in fields.iter().zip(&mut self.fields) {
            field.program.put(work, 0, &self.places);
            field.program.put(work, 1, &self.velocities);
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
            for (field, work) in fields.iter().zip(&mut self.fields) {
                field.program.put(work, 2 + number, &self.places);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
