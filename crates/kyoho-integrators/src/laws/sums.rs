//! The sums of a law over bodies, by the lists of its text.

use kyoho_core::{Error, Result};
use kyoho_language::LawProgram;
use kyoho_language::law::{LawList, Value};
use kyoho_language::number::Number;
use kyoho_language::parameters::Origin;
use kyoho_language::syntax::Side;
use kyoho_pairs::{Columns, PairKernel, PairMachine};

use super::super::body::Vector;
use super::{Acting, Law, Taken};

/// What is equal for all bodies.
#[derive(Clone, Copy)]
pub struct Constants<'a> {
    pub law: &'a Law,
    pub gravity: f64,
    pub time: f64,
}

/// The kernels of a law.
pub struct Kernels {
    forces: PairKernel,
    potential: Option<PairKernel>,
}

/// The sums of a run.
pub struct Sums<'a> {
    results: Vec<&'a Columns>,
}

impl Sums<'_> {
    /// Returns the vector that is a result of a sink.
    pub fn vector(&self, result: usize, sink: usize) -> Vector {
        std::array::from_fn(|component| f64::from_bits(self.results[result].bits(sink, component)[0]))
    }

    /// Returns the number that is the first result of a sink.
    pub fn number(&self, sink: usize) -> f64 {
        f64::from_bits(self.results[0].bits(sink, 0)[0])
    }
}

impl Kernels {
    /// Makes the kernels of a law for a machine.
    pub fn new(program: &LawProgram, machine: &PairMachine) -> Result<Kernels> {
        let made = |list: &LawList| PairKernel::of_list(list.pairs.clone(), machine);
        let potential = program.potential.as_ref().map(made).transpose()?;
        Ok(Kernels { forces: made(&program.forces)?, potential })
    }

    /// Sums the derivatives of velocities; nothing without sinks or sources.
    pub fn forces(&mut self, bodies: &Taken, constants: &Constants) -> Result<Option<Sums<'_>>> {
        run(&mut self.forces, &constants.law.program.forces, bodies, constants)
    }

    /// Sums potentials; nothing without sinks or sources, or if the law has none.
    pub fn potentials(&mut self, bodies: &Taken, constants: &Constants) -> Result<Option<Sums<'_>>> {
        match (&mut self.potential, &constants.law.program.potential) {
            (Some(kernel), Some(list)) => run(kernel, list, bodies, constants),
            _ => Ok(None),
        }
    }
}

fn run<'a>(
    kernel: &'a mut PairKernel,
    list: &LawList,
    bodies: &Taken,
    constants: &Constants,
) -> Result<Option<Sums<'a>>> {
    let (sinks, sources) = (bodies.chosen_sinks.len(), bodies.chosen_sources.len());
    if sinks == 0 || sources == 0 {
        return Ok(None);
    }
    write(kernel, list, Side::I, (&bodies.sinks, &bodies.chosen_sinks))?;
    write(kernel, list, Side::J, (&bodies.sources, &bodies.chosen_sources))?;
    let Constants { law, gravity, time } = *constants;
    for (parameter, origin) in list.pairs.parameters.iter().zip(law.program.parameters.origins()) {
        match *origin {
            Origin::Time => kernel.set_parameter(&parameter.name, &[Number::F64(time)])?,
            Origin::Gravity => kernel.set_parameter(&parameter.name, &[Number::F64(gravity)])?,
            Origin::Number(first) => {
                // A vector has four numbers at most.
                let mut numbers = [Number::F64(0.0); 4];
                let given = &law.numbers[first..][..parameter.of.width];
                numbers.iter_mut().zip(given).for_each(|(to, number)| *to = Number::F64(*number));
                kernel.set_parameter(&parameter.name, &numbers[..given.len()])?;
            }
        }
    }
    kernel.run(Some(sinks), Some(sources))?;
    kernel.fetch_results()?;
    let kernel = &*kernel;
    let mut results = kyoho_core::memory::room(list.pairs.results.len(), "the results of a law")?;
    for result in &list.pairs.results {
        results.push(kernel.result(&result.name)?);
    }
    Ok(Some(Sums { results }))
}

/// Writes what a list reads of the bodies of a side that were chosen.
fn write(kernel: &mut PairKernel, list: &LawList, side: Side, (bodies, chosen): (&[Acting], &[usize])) -> Result<()> {
    for (field, value) in list.values[side as usize].iter().enumerate() {
        let columns = kernel.field_mut(side, field, chosen.len())?;
        for (row, body) in chosen.iter().enumerate() {
            let Acting { place, mass, motion } = &bodies[*body];
            match *value {
                Value::Vector(number) => {
                    let vector = motion.get(number).ok_or_else(|| Error::Internal { what: NO_VECTOR.into() })?;
                    let numbered = vector.iter().enumerate();
                    numbered.for_each(|(component, number)| columns.set(row, component, [number.to_bits(), 0]));
                }
                Value::Mass => columns.set(row, 0, [mass.to_bits(), 0]),
                Value::Index => columns.set(row, 0, [*place as u64, 0]),
            }
        }
    }
    kernel.note_changes(side, None);
    Ok(())
}

const NO_VECTOR: &str = "a law reads more derivatives of a body than there are";
