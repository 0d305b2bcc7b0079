//! The sums of a law over bodies, by the lists of its text.

use kyoho_core::{Error, Result, memory};
use kyoho_language::LawProgram;
use kyoho_language::blocks::Bits;
use kyoho_language::law::{LawList, NOW, Value};
use kyoho_language::number::Number;
use kyoho_language::parameters::Origin;
use kyoho_language::syntax::Side;
use kyoho_pairs::{Columns, PairKernel, PairMachine};

use super::super::body::Vector;
use super::{Acting, Felt, Law, WHAT};

/// What is equal for all bodies.
#[derive(Clone, Copy)]
pub struct Constants<'a> {
    pub law: &'a Law,
    pub gravity: f64,
    /// The time at the start, and the one since then.
    pub times: [f64; 2],
}

/// The kernels of a law.
pub struct Kernels {
    pub forces: Kernel,
    pub potential: Option<Kernel>,
}

impl Kernels {
    /// Makes the kernels of a law for a machine.
    pub fn new(program: &LawProgram, machine: &PairMachine) -> Result<Kernels> {
        let made = |list: &LawList| -> Result<Kernel> {
            Ok(Kernel { pairs: PairKernel::of_list(list.pairs.copied()?, machine)?, sources: 0 })
        };
        let potential = program.potential.as_ref().map(made).transpose()?;
        Ok(Kernels { forces: made(&program.forces)?, potential })
    }
}

/// The kernel of a list, with the number of its sources.
pub struct Kernel {
    pairs: PairKernel,
    sources: usize,
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

impl Kernel {
    /// Writes sources, of which there are `count` in all, to rows that rise; `acts` says whether one acts.
    pub fn write<'a>(
        &mut self,
        list: &LawList,
        count: usize,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
        (source, acts): (impl Fn(usize) -> Acting<'a>, impl Fn(&Acting) -> bool),
    ) -> Result<()> {
        for (field, value) in list.values[Side::J as usize].iter().enumerate() {
            let columns = self.pairs.field_mut(Side::J, field, count)?;
            for row in rows.clone() {
                let source = source(row);
                let Acting { place, body, time } = source;
                match *value {
                    Value::Vector(number) => set(columns, row, &body.motion()[number]),
                    Value::Mass => columns.set(row, 0, bits(body.mass)),
                    Value::Index => columns.set(row, 0, [place as u64, 0]),
                    Value::Acts => columns.set(row, 0, [acts(&source).into(), 0]),
                    Value::Time => columns.set(row, 0, bits(time)),
                }
            }
        }
        let is_all = rows.len() == count || self.sources != count;
        let changed = if is_all { None } else { Some(memory::collected(rows.map(|row| row as u32), WHAT)?) };
        self.pairs.note_changes(Side::J, changed);
        self.sources = count;
        Ok(())
    }

    #[cfg(test)]
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// Returns the sums on sinks; nothing without sinks or sources.
    pub fn run(&mut self, list: &LawList, sinks: &[Felt], constants: &Constants) -> Result<Option<Sums<'_>>> {
        if sinks.is_empty() || self.sources == 0 {
            return Ok(None);
        }
        for (field, value) in list.values[Side::I as usize].iter().enumerate() {
            let columns = self.pairs.field_mut(Side::I, field, sinks.len())?;
            for (row, Felt { place, mass, motion }) in sinks.iter().enumerate() {
                match *value {
                    Value::Vector(number) => set(columns, row, &motion[number]),
                    Value::Mass => columns.set(row, 0, bits(*mass)),
                    Value::Index => columns.set(row, 0, [*place as u64, 0]),
                    Value::Acts | Value::Time => return Err(Error::Internal { what: OF_SOURCES.into() }),
                }
            }
        }
        self.pairs.note_changes(Side::I, None);
        self.set_parameters(list, constants)?;
        self.pairs.run(Some(sinks.len()), Some(self.sources))?;
        self.pairs.fetch_results()?;
        let mut results = memory::room(list.pairs.results.len(), "the results of a law")?;
        for result in &list.pairs.results {
            results.push(self.pairs.result(&result.name)?);
        }
        Ok(Some(Sums { results }))
    }

    fn set_parameters(&mut self, list: &LawList, constants: &Constants) -> Result<()> {
        let Constants { law, gravity, times: [start, since] } = *constants;
        for (parameter, origin) in list.pairs.parameters.iter().zip(law.program.parameters.origins()) {
            match *origin {
                Origin::Time => self.pairs.set_parameter(&parameter.name, &[Number::F64(start + since)])?,
                Origin::Gravity => self.pairs.set_parameter(&parameter.name, &[Number::F64(gravity)])?,
                Origin::Number(first) => {
                    // A vector has four numbers at most.
                    let mut numbers = [Number::F64(0.0); 4];
                    let given = &law.numbers[first..][..parameter.of.width];
                    numbers.iter_mut().zip(given).for_each(|(to, number)| *to = Number::F64(*number));
                    self.pairs.set_parameter(&parameter.name, &numbers[..given.len()])?;
                }
            }
        }
        self.pairs.set_parameter(NOW, &[Number::F64(since)])
    }
}

fn bits(number: f64) -> Bits {
    [number.to_bits(), 0]
}

fn set(columns: &mut Columns, row: usize, vector: &Vector) {
    vector.iter().enumerate().for_each(|(component, number)| columns.set(row, component, bits(*number)));
}

const OF_SOURCES: &str = "a law reads of sinks what sources alone have";
