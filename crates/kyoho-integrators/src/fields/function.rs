//! Fields that a function of the caller gives, which the host calls for many bodies at a time.

use kyoho_core::{Error, Result, memory};

use crate::body::{Vector, vector};

const WHAT: &str = "bodies for the function of a field";

/// What a function of a field is asked for.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue {
    /// The potential at each position: a number.
    Potential = 0,
    /// The acceleration of each body: three numbers.
    Acceleration = 1,
    /// The derivative by time of the acceleration that the field gives each body, along the way of
    /// the body: three numbers.
    Jerk = 2,
}

/// The bodies for which a function is asked.
#[derive(Debug, Clone, Copy)]
pub struct FieldQuestion<'a> {
    /// What it is asked for.
    pub value: FieldValue,
    /// The time of the bodies.
    pub time: f64,
    /// Where they are.
    pub positions: &'a [Vector],
    /// How fast they are.
    pub velocities: &'a [Vector],
    /// Their accelerations by all forces, for jerks; otherwise there are none.
    pub accelerations: &'a [Vector],
}

/// A function that writes the values of bodies, and returns 0, or another number if it has none.
pub type FieldFunction = Box<dyn FnMut(&FieldQuestion, &mut [f64]) -> i32 + Send>;

/// A function, and what it knows.
pub struct Function {
    function: FieldFunction,
    has_potential: bool,
}

impl Function {
    pub fn new(function: FieldFunction, has_potential: bool) -> Function {
        Function { function, has_potential }
    }

    fn ask(&mut self, question: &FieldQuestion, values: &mut [f64]) -> Result<()> {
        match (self.function)(question, values) {
            0 => Ok(()),
            refused => Err(Error::BadOption {
                name: "the result of a field's function".into(),
                value: refused.to_string(),
                allowed: "0, with the values that were wanted".into(),
            }),
        }
    }
}

/// The functions of a run, and memory for what they are asked.
#[derive(Default)]
pub struct Functions {
    all: Vec<Function>,
    positions: Vec<Vector>,
    velocities: Vec<Vector>,
    accelerations: Vec<Vector>,
    values: Vec<Vector>,
    sums: Vec<[Vector; 2]>,
}

/// A value that is not finite, of the body at a place.
pub struct NotFinite {
    pub place: usize,
    pub value: f64,
}

impl Functions {
    pub fn add(&mut self, function: Function) -> Result<()> {
        memory::push(&mut self.all, function, "fields")
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns what the functions gave the body at a place so far: the acceleration and the jerk.
    pub fn sums(&self) -> &[[Vector; 2]] {
        &self.sums
    }

    /// Takes bodies, of which the functions are asked next.
    pub fn take(&mut self, count: usize, body: impl Fn(usize) -> [Vector; 2]) -> Result<()> {
        for all in [&mut self.positions, &mut self.velocities, &mut self.accelerations, &mut self.values] {
            memory::lengthen(all, count, WHAT, || [0.0; 3])?;
            all.truncate(count);
        }
        self.sums.clear();
        memory::lengthen(&mut self.sums, count, WHAT, || [[0.0; 3]; 2])?;
        for place in 0..count {
            [self.positions[place], self.velocities[place]] = body(place);
        }
        Ok(())
    }

    /// Asks for accelerations, or for jerks of bodies with accelerations by all forces, and adds up what
    /// the functions give.
    pub fn find(&mut self, time: f64, all_forces: Option<&dyn Fn(usize) -> Vector>) -> Result<Option<NotFinite>> {
        let value = if all_forces.is_some() { FieldValue::Jerk } else { FieldValue::Acceleration };
        for (place, acceleration) in self.accelerations.iter_mut().enumerate() {
            *acceleration = all_forces.map_or([0.0; 3], |forces| forces(place));
        }
        let (positions, velocities) = (&self.positions[..], &self.velocities[..]);
        let accelerations = if all_forces.is_some() { &self.accelerations[..] } else { &[] };
        let question = FieldQuestion { value, time, positions, velocities, accelerations };
        let number = usize::from(all_forces.is_some());
        for function in &mut self.all {
            self.values.fill([f64::NAN; 3]);
            function.ask(&question, self.values.as_flattened_mut())?;
            for (place, (more, sums)) in self.values.iter().zip(&mut self.sums).enumerate() {
                if let Some(value) = more.iter().copied().find(|value| !value.is_finite()) {
                    return Ok(Some(NotFinite { place, value }));
                }
                sums[number] = vector(|k| sums[number][k] + more[k]);
            }
        }
        Ok(None)
    }

    /// Calls a function with each potential of the body at a place.
    pub fn potentials(&mut self, time: f64, mut each: impl FnMut(usize, f64) -> Result<()>) -> Result<()> {
        let (positions, velocities) = (&self.positions[..], &self.velocities[..]);
        let value = FieldValue::Potential;
        let question = FieldQuestion { value, time, positions, velocities, accelerations: &[] };
        for function in self.all.iter_mut().filter(|function| function.has_potential) {
            let values = &mut self.values.as_flattened_mut()[..positions.len()];
            values.fill(f64::NAN);
            function.ask(&question, values)?;
            values.iter().enumerate().try_for_each(|(place, value)| each(place, *value))?;
        }
        Ok(())
    }
}
