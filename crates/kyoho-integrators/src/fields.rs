//! Fields that act on all bodies beside their own gravity.

use kyoho_core::{Result, memory};
use kyoho_language::FieldProgram;

use super::body::{Body, Vector, sum, vector};

/// A field with the numbers of its parameters, in the order of its text.
#[derive(Debug, Clone)]
pub struct Field {
    /// The field.
    pub program: FieldProgram,
    /// The numbers, [`FieldProgram::count`] of them.
    pub parameters: Vec<f64>,
}

/// The fields of a run.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    /// The fields, in the order in which they are added.
    pub all: Vec<Field>,
    /// The time at the start of the interval.
    pub start: f64,
}

impl Fields {
    /// Adds the fields' parts to the first derivatives of a velocity, in which the other forces' are.
    /// Each derivative follows from those before it, of all forces.
    pub fn add(&self, since_start: f64, place: [Vector; 2], derivatives: &mut [Vector]) -> Result<()> {
        let time = self.start + since_start;
        let begun = self.all.iter().map(|field| field.program.begin(&field.parameters, time));
        let mut evaluations = begun.collect::<Result<Vec<_>>>()?;
        let mut motion =
            memory::collected(place.into_iter().chain(derivatives.iter().copied()), "the motion of a body")?;
        for (number, derivative) in derivatives.iter_mut().enumerate() {
            for evaluation in &mut evaluations {
                let more = evaluation.next(&motion[..2 + number]);
                *derivative = vector(|k| derivative[k] + more[k]);
            }
            motion[2 + number] = *derivative;
        }
        Ok(())
    }

    /// Returns the energy of bodies in the fields: the sum of each mass times the potential.
    pub fn energy(&self, bodies: &[Body], since_start: f64) -> Result<f64> {
        let mut terms = Vec::new();
        for (body, field) in bodies.iter().flat_map(|body| self.all.iter().map(move |field| (body, field))) {
            let motion = [body.position, body.velocity];
            let potential = field.program.potential(&field.parameters, self.start + since_start, &motion)?;
            memory::push(&mut terms, body.mass * potential, "energies in fields")?;
        }
        Ok(sum(terms))
    }
}
