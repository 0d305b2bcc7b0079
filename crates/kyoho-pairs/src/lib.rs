//! Pair interactions that users wrote, summed over all pairs.
//!
//! A [`PairKernel`] holds the sinks and sources that it was given, typed as its text declares. Its
//! list of operations becomes steps on blocks for CPUs (`cpu`) and the text of kernels for GPUs
//! (`gpu`). Sums are made in the order of the built-in direct sums: by slices of sources, each from
//! its first chunk to its last, and slices by groups.

mod columns;
mod cpu;
mod gpu;
mod gravity;
mod lists;
mod on_device;

use std::fmt::Debug;

use kyoho_core::Level;
use kyoho_core::{Error, Result, error, memory};
use kyoho_hal::Backend;
use kyoho_language::blocks;
use kyoho_language::limbs::LimbProgram;
use kyoho_language::number::Number;
use kyoho_language::syntax::{Field, Parameter, ResultField, Side};
use kyoho_language::types::{Scalar, Type};
use kyoho_language::{Fault, Options, PairProgram, compile, explain};

pub use columns::Columns;
use cpu::CpuPairs;
pub use gravity::take_gravity;
pub use lists::{ListedPairs, PairLists};
pub use on_device::DeviceRows;

/// The most sinks or sources.
pub const MAX_BODIES: usize = i32::MAX as usize;

/// Numbers of a caller: rows of some components.
pub trait Rows {
    /// The type of the numbers.
    fn scalar(&self) -> Scalar;
    /// The number of rows.
    fn count(&self) -> usize;
    /// Returns a number.
    fn number(&self, row: usize, component: usize) -> Number;
}

/// Doubles that follow one another, as rows.
pub struct Packed<'a> {
    /// The numbers.
    pub numbers: &'a [f64],
    /// The components of a row.
    pub width: usize,
}

impl Rows for Packed<'_> {
    fn scalar(&self) -> Scalar {
        Scalar::F64
    }

    fn count(&self) -> usize {
        self.numbers.len() / self.width.max(1)
    }

    fn number(&self, row: usize, component: usize) -> Number {
        Number::F64(self.numbers[row * self.width + component])
    }
}

/// The changes of the fields of a side.
#[derive(Debug, Default)]
struct Changes {
    /// A number that grows by one with each change.
    version: u64,
    /// The rows that the last change wrote; none: all.
    rows: Option<Vec<u32>>,
}

/// The data of a pair interaction.
struct Given<'a> {
    pairs: &'a PairProgram,
    fields: &'a [Vec<Option<Columns>>; 2],
    /// The fields that lie on the device.
    on_device: &'a [Vec<Option<DeviceRows>>; 2],
    parameters: &'a [Option<Vec<Number>>],
    /// The changes of the fields of each side.
    changes: &'a [Changes; 2],
}

impl Given<'_> {
    /// Whether some numbers of a side lie on the device.
    fn is_on_device(&self, side: Side) -> bool {
        self.on_device[side as usize].iter().any(Option::is_some)
    }

    /// Returns a number of a parameter.
    fn parameter(&self, parameter: usize, place: usize) -> Number {
        let numbers = self.parameters[parameter].as_deref().unwrap_or(&[]);
        numbers.get(place).copied().unwrap_or(Number::Bool(false))
    }
}

/// A machine with a pair interaction that it sums.
trait PairSums: Debug + Send {
    /// Computes all pairs and writes the results.
    fn run(&mut self, given: &Given, sinks: usize, sources: usize, found: &mut [Columns]) -> Result<()>;

    /// Computes the pairs of lists, of which the addresses are below the number of sources, and
    /// writes the results.
    fn run_lists(&mut self, given: &Given, lists: &PairLists, sources: usize, found: &mut [Columns]) -> Result<()>;

    /// Copies the results of the last run to the host, if they were left on the device.
    fn fetch_results(&mut self, _found: &mut [Columns]) -> Result<()> {
        Ok(())
    }

    /// Fails unless rows of this type can be read and written where a caller has them.
    fn check_rows(&self, name: &str, rows: &DeviceRows, _of: Type) -> Result<()> {
        Err(Error::BadOption {
            name: format!("the memory of {name}"),
            value: format!("that of CUDA device {}", rows.device),
            allowed: "that of the host, for an interaction that no CUDA device computes".into(),
        })
    }

    /// Writes the result with a number, of this type, from the last run to rows that were checked.
    fn write_result(&mut self, _result: usize, _of: Type, _rows: &DeviceRows) -> Result<()> {
        Err(Error::Internal { what: "a machine without memory of callers was given some".into() })
    }
}

/// The machine on which pairs are computed.
#[derive(Debug, Clone)]
pub struct PairMachine {
    /// The backend.
    pub backend: Backend,
    /// The numbers of its devices.
    pub devices: Vec<usize>,
    /// The threads of a CPU that compute, the caller's included.
    pub threads: usize,
    /// The instruction set of a CPU.
    pub level: Level,
    /// Whether the CPU computes what the backend cannot.
    pub falls_back: bool,
}

impl PairMachine {
    /// Threads of this CPU.
    pub fn cpu(threads: usize, level: Level) -> PairMachine {
        PairMachine { backend: Backend::Cpu, devices: vec![0], threads, level, falls_back: false }
    }

    /// Returns the machine's sums, and the CPU that takes over where its devices fail later.
    fn sums(&self, pairs: &PairProgram) -> Result<(Box<dyn PairSums>, Option<PairMachine>)> {
        let cpu = self.falls_back.then(|| PairMachine::cpu(self.threads, self.level));
        let opened: Result<Box<dyn PairSums>> = match self.backend {
            Backend::Cpu => {
                let sums = CpuPairs::new(pairs, self.threads, self.level)?;
                return Ok((kyoho_hal::boxed(sums, "a pair interaction")?, None));
            }
            backend => gpu::open(backend, &self.devices, pairs),
        };
        match (opened, cpu) {
            (Err(error), Some(cpu)) => cpu.take_over(pairs, &error),
            (opened, cpu) => Ok((opened?, cpu)),
        }
    }

    /// Returns the sums of this machine in the place of another's, which failed.
    fn take_over(&self, pairs: &PairProgram, error: &Error) -> Result<(Box<dyn PairSums>, Option<PairMachine>)> {
        log::warn!("the CPU computes the pair interaction {}: {error}", pairs.name);
        self.sums(pairs)
    }
}

/// A pair interaction with its data.
#[derive(Debug)]
pub struct PairKernel {
    pairs: PairProgram,
    sums: Box<dyn PairSums>,
    /// The machine that takes over where that of the sums fails.
    spare: Option<PairMachine>,
    fields: [Vec<Option<Columns>>; 2],
    /// The fields that lie on the device; then they are not among `fields`.
    on_device: [Vec<Option<DeviceRows>>; 2],
    parameters: Vec<Option<Vec<Number>>>,
    /// The results of the last run, and their memory for the next one.
    results: Vec<Columns>,
    has_results: bool,
    /// Whether the results are on the device alone.
    is_left: bool,
    changes: [Changes; 2],
}

impl PairKernel {
    /// Compiles a text for a machine.
    pub fn new(text: &str, options: Options, machine: &PairMachine) -> Result<PairKernel> {
        PairKernel::of_list(compile(text, options).map_err(Fault::into_error)?, machine)
    }

    /// Makes an interaction of a compiled list for a machine.
    pub fn of_list(pairs: PairProgram, machine: &PairMachine) -> Result<PairKernel> {
        let sums = machine.sums(&pairs)?;
        PairKernel::of(pairs, sums)
    }

    /// Makes an interaction of a compiled text and its sums, with a machine that may take over.
    fn of(pairs: PairProgram, (sums, spare): (Box<dyn PairSums>, Option<PairMachine>)) -> Result<PairKernel> {
        fn nothing<T, U>(of: &[U]) -> Result<Vec<Option<T>>> {
            memory::collected(of.iter().map(|_| None), "the fields of pairs")
        }
        let [of_sinks, of_sources] = &pairs.fields;
        let fields = [nothing(of_sinks)?, nothing(of_sources)?];
        let on_device = [nothing(of_sinks)?, nothing(of_sources)?];
        let parameters = nothing(&pairs.parameters)?;
        let (results, changes) = (Vec::new(), Default::default());
        Ok(PairKernel {
            pairs,
            sums,
            spare,
            fields,
            on_device,
            parameters,
            results,
            has_results: false,
            is_left: false,
            changes,
        })
    }

    /// The compiled list.
    pub fn list(&self) -> &PairProgram {
        &self.pairs
    }

    /// Returns the list in words, with what it costs and the speed that a GPU allows.
    pub fn explain(&self) -> Result<String> {
        let limbs = match LimbProgram::new(&self.pairs) {
            Err(error @ Error::OutOfMemory { .. }) => return Err(error),
            limbs => limbs,
        };
        let predicted = limbs.as_ref().map_or_else(Error::to_string, |limbs| gpu::Bound::of(limbs).to_string());
        let mut text = explain(&self.pairs, limbs.as_ref().ok());
        text.push(&format!("\npredicted: {predicted}\n"));
        text.take()
    }

    /// Returns the bytes of the numbers that are kept.
    pub fn bytes(&self) -> usize {
        self.fields.iter().flatten().flatten().chain(&self.results).map(Columns::bytes).sum()
    }

    /// Returns the text of the kernels that a backend gets: PTX for CUDA, OpenCL C for OpenCL. The
    /// CPU takes steps on blocks and has none.
    pub fn source(&self, backend: Backend) -> Result<String> {
        match backend {
            Backend::Cpu => Err(Error::BadOption {
                name: "the backend of the text of kernels".into(),
                value: backend.name().into(),
                allowed: "cuda, opencl; the CPU takes the list of operations as it is".into(),
            }),
            backend => gpu::source(backend, &self.pairs),
        }
    }

    /// Returns the side, the number and the declaration of a field such as `j.mass`.
    pub fn field(&self, name: &str) -> Result<(Side, usize, &Field)> {
        let found = [Side::I, Side::J].into_iter().find_map(|side| {
            let field = name.strip_prefix(side.name())?.strip_prefix('.')?;
            let fields = &self.pairs.fields[side as usize];
            let number = fields.iter().position(|known| known.name == field)?;
            Some((side, number, &fields[number]))
        });
        found.ok_or_else(|| {
            let fields = [Side::I, Side::J].into_iter().flat_map(|side| {
                self.pairs.fields[side as usize].iter().map(move |field| format!("{}.{}", side.name(), field.name))
            });
            not_declared("the field", name, fields)
        })
    }

    /// Returns the number and the declaration of a parameter.
    pub fn parameter(&self, name: &str) -> Result<(usize, &Parameter)> {
        let parameters = &self.pairs.parameters;
        match parameters.iter().position(|parameter| parameter.name == name) {
            Some(number) => Ok((number, &parameters[number])),
            None => {
                let names = parameters.iter().map(|parameter| parameter.name.clone());
                Err(not_declared("the parameter", name, names))
            }
        }
    }

    /// Gives the numbers of a field, which are converted to its type. Results of an earlier run are
    /// dropped.
    pub fn set(&mut self, name: &str, rows: &dyn Rows) -> Result<()> {
        let (side, number, field) = self.field(name)?;
        let of = field.of;
        if rows.count() > MAX_BODIES {
            let allowed = format!("0 to {MAX_BODIES}");
            return Err(Error::BadList { what: format!("the length of {name}"), value: rows.count() as i64, allowed });
        }
        let mut numbers = Columns::new(of, rows.count())?;
        for row in 0..rows.count() {
            for component in 0..of.width {
                let given = rows.number(row, component);
                let what = || place_of(name, row, of, component);
                numbers.set(row, component, blocks::bits(converted(given, of.scalar, what)?));
            }
        }
        self.fields[side as usize][number] = Some(numbers);
        self.on_device[side as usize][number] = None;
        self.note_changes(side, None);
        Ok(())
    }

    /// Returns the numbers of the field with a number among those of a side, in rows of this count,
    /// to be written before [`PairKernel::note_changes`]: those that were given, if they are as many,
    /// else zeros.
    pub fn field_mut(&mut self, side: Side, number: usize, count: usize) -> Result<&mut Columns> {
        let field = &mut self.fields[side as usize][number];
        if field.as_ref().is_none_or(|numbers| numbers.count() != count) {
            *field = None;
        }
        match field {
            Some(numbers) => Ok(numbers),
            none => Ok(none.insert(Columns::new(self.pairs.fields[side as usize][number].of, count)?)),
        }
    }

    /// Notes that fields of a side were written: in some rows, each named once, or in all.
    pub fn note_changes(&mut self, side: Side, rows: Option<Vec<u32>>) {
        let changes = &mut self.changes[side as usize];
        (changes.version, changes.rows) = (changes.version + 1, rows);
        self.has_results = false;
    }

    /// Gives the numbers of a parameter: one, as many as the vector has, or those of the table.
    pub fn set_parameter(&mut self, name: &str, given: &[Number]) -> Result<()> {
        let (number, parameter) = self.parameter(name)?;
        let (of, wanted) = (parameter.of, parameter.count());
        if given.len() != wanted {
            let what = format!("the count of numbers of {name}");
            return Err(Error::BadList { what, value: given.len() as i64, allowed: wanted.to_string() });
        }
        let mut numbers = memory::room(wanted, "the numbers of a parameter")?;
        for (place, given) in given.iter().enumerate() {
            let what = || if wanted == 1 { name.to_string() } else { format!("{name}[{place}]") };
            let value = given.widened().to_f64();
            if !value.is_finite() {
                return Err(Error::NotFinite { what: what(), value });
            }
            numbers.push(converted(*given, of.scalar, what)?);
        }
        self.parameters[number] = Some(numbers);
        self.has_results = false;
        Ok(())
    }

    /// Returns the number of a result that the last run made.
    fn result_number(&self, name: &str) -> Result<usize> {
        let Some(number) = self.pairs.results.iter().position(|result| result.name == name) else {
            return Err(not_declared("the result", name, self.pairs.results.iter().map(|result| result.name.clone())));
        };
        if !self.has_results {
            let how = "a run makes it, and what is set afterwards drops it";
            return Err(Error::NotGiven { what: format!("the result '{name}'"), how });
        }
        Ok(number)
    }

    /// Copies the results of the last run to the host, if they were left on the device as the
    /// numbers of its sinks lie there.
    pub fn fetch_results(&mut self) -> Result<()> {
        if self.has_results && self.is_left {
            self.sums.fetch_results(&mut self.results)?;
            self.is_left = false;
        }
        Ok(())
    }

    /// Returns the type of a result of the last run.
    pub fn result_type(&self, name: &str) -> Result<Type> {
        Ok(self.results[self.result_number(name)?].of())
    }

    /// Returns the numbers of a result of the last run. Those that were left on the device have to be
    /// fetched before.
    pub fn result(&self, name: &str) -> Result<&Columns> {
        let number = self.result_number(name)?;
        if self.is_left {
            let how = "it was left on the device, and has to be fetched first";
            return Err(Error::NotGiven { what: format!("the result '{name}' on the host"), how });
        }
        Ok(&self.results[number])
    }

    /// Returns the number of sinks or sources that the fields of a side have.
    fn count(&self, side: Side, wanted: Option<usize>) -> Result<usize> {
        let fields = &self.pairs.fields[side as usize];
        let name = |field: &Field| format!("{}.{}", side.name(), field.name);
        let mut count = wanted;
        let given = self.fields[side as usize].iter().zip(&self.on_device[side as usize]);
        let lengths = given
            .map(|(host, device)| host.as_ref().map(Columns::count).or_else(|| device.as_ref().map(|rows| rows.count)));
        for (field, length) in fields.iter().zip(lengths) {
            let Some(length) = length else {
                let how = "every field that the text declares is set before a run";
                return Err(Error::NotGiven { what: format!("the array {}", name(field)), how });
            };
            match count {
                Some(count) if count != length => {
                    let what = format!("the length of {}", name(field));
                    let whose = if wanted.is_some() { "the run wants" } else { "the arrays before it have" };
                    let allowed = format!("{count}, as {whose}");
                    return Err(Error::BadList { what, value: length as i64, allowed });
                }
                _ => count = Some(length),
            }
        }
        count.ok_or_else(|| Error::NotGiven {
            what: format!("the number of {}", if side == Side::I { "sinks" } else { "sources" }),
            how: "it is given with the run, as the text declares no field for them",
        })
    }

    /// Checks that the indices of tables are below their extents.
    fn check_indices(&self) -> Result<()> {
        for check in &self.pairs.checks {
            let field = &self.pairs.fields[check.side as usize][check.field];
            let Some(numbers) = &self.fields[check.side as usize][check.field] else { continue };
            let indices = (0..numbers.count()).map(|row| numbers.number(row, 0).widened().high);
            let is_bad = |index: &f64| !(0.0..f64::from(check.extent)).contains(index);
            if let Some((row, index)) = indices.enumerate().find(|(_, index)| is_bad(index)) {
                let table = &self.pairs.parameters[check.table].name;
                return Err(Error::BadList {
                    what: format!("{}.{}[{row}], an index of the table {table},", check.side.name(), field.name),
                    value: index as i64,
                    allowed: format!("0 to {}", check.extent - 1),
                });
            }
        }
        Ok(())
    }

    /// Computes all pairs of sinks and sources. Their numbers are those of the arrays; they have to
    /// be given for a side without a field, and are compared where they are given.
    pub fn run(&mut self, sinks: Option<usize>, sources: Option<usize>) -> Result<()> {
        self.run_with(sinks, sources, |sums, given, sinks, sources, found| sums.run(given, sinks, sources, found))
    }

    /// Computes the pairs of groups of sinks with the sources of their lists. The number of sources
    /// is as in [`PairKernel::run`].
    pub fn run_lists(&mut self, lists: &PairLists, sources: Option<usize>) -> Result<()> {
        self.run_with(Some(lists.sinks()), sources, |sums, given, _, sources, found| {
            lists.check(sources)?;
            sums.run_lists(given, lists, sources, found)
        })
    }

    /// Checks what is given, and keeps the results of a run.
    fn run_with(
        &mut self,
        sinks: Option<usize>,
        sources: Option<usize>,
        run: impl Fn(&mut dyn PairSums, &Given, usize, usize, &mut [Columns]) -> Result<()>,
    ) -> Result<()> {
        self.has_results = false;
        let sinks = self.count(Side::I, sinks)?;
        let sources = self.count(Side::J, sources)?;
        for (parameter, given) in self.pairs.parameters.iter().zip(&self.parameters) {
            if given.is_none() {
                let how = "every parameter that the text declares is set before a run";
                return Err(Error::NotGiven { what: format!("the parameter {}", parameter.name), how });
            }
        }
        self.check_indices()?;
        // Memory that is written for the first time takes longer than short sums.
        if self.results.first().is_none_or(|result| result.count() != sinks) {
            self.results.clear();
            let of = |result: &ResultField| Type { scalar: result.accumulated, width: result.of.width };
            let made = self.pairs.results.iter().map(|result| Columns::new(of(result), sinks));
            self.results = made.collect::<Result<_>>()?;
        }
        let PairKernel { pairs, sums, spare, fields, on_device, parameters, results, changes, .. } = self;
        let given = Given { pairs, fields, on_device, parameters, changes };
        let mut outcome = run(&mut **sums, &given, sinks, sources, results);
        // No other machine can read what lies on the device.
        let is_on_host = ![Side::I, Side::J].into_iter().any(|side| given.is_on_device(side));
        if let Some(error) = outcome.as_ref().err().filter(|error| is_on_host && error.is_of_device())
            && let Some(machine) = spare.take()
        {
            (*sums, _) = machine.take_over(pairs, error)?;
            outcome = run(&mut **sums, &given, sinks, sources, results);
        }
        outcome?;
        self.is_left = given.is_on_device(Side::I);
        self.has_results = true;
        Ok(())
    }
}

fn not_declared(what: &str, name: &str, known: impl Iterator<Item = String>) -> Error {
    let known: Vec<String> = known.collect();
    let allowed = if known.is_empty() { "none, as the text declares none".into() } else { known.join(", ") };
    Error::BadOption { name: what.into(), value: name.into(), allowed }
}

fn place_of(name: &str, row: usize, of: Type, component: usize) -> String {
    if of.width == 1 { format!("{name}[{row}]") } else { format!("{name}[{row}][{component}]") }
}

/// Returns the nearest number of a type. Integers have to be exact.
fn converted(given: Number, scalar: Scalar, what: impl Fn() -> String) -> Result<Number> {
    let exact = given.widened();
    let number = Number::of(scalar, exact);
    if scalar.is_real() {
        let too_large = exact.high.is_finite() && !number.widened().high.is_finite();
        if too_large {
            let allowed = format!("numbers up to {:e}", f32::MAX);
            return Err(Error::OutOfRange { what: what(), value: exact.high, precision: scalar.name(), allowed });
        }
    } else if number.widened() != exact {
        let allowed = format!("integers of {}", scalar.name());
        return Err(Error::BadOption { name: what(), value: error::shown(exact.to_f64()), allowed });
    }
    Ok(number)
}
