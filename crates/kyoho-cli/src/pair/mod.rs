//! `kyoho pair`: pair interactions that users write, printed, run and timed.

mod bench;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use kyoho::Backend;
use kyoho_core::Order;
use kyoho_files::rows;
use kyoho_language::number::Number;
use kyoho_language::syntax::{Field, Side};
use kyoho_language::types::Scalar;
use kyoho_language::{Options, PairProgram, gravity};
use kyoho_laws::double_double::DoubleDouble;
use kyoho_pairs::{Packed, PairKernel, PairMachine, Rows};

use crate::count::count;
use crate::failure::{Failure, Result};
use crate::file;
use crate::machine::Machine;
use crate::run::snapshot_hdf5;

/// The options of `kyoho pair`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Print the compiled list of operations, what is computed once a sink or a source, and costs
    Explain(Explain),
    /// Compute all pairs of the sinks and sources of two files of columns, as text or in HDF5
    Run(Run),
    /// Time all pairs of sinks and sources with random numbers
    Bench(bench::Arguments),
    /// Print the text of the built-in law of an order
    Gravity(Gravity),
}

#[derive(Debug, clap::Args)]
struct Gravity {
    /// The order: 2, 4, 6 or 8
    order: i32,
}

#[derive(Debug, clap::Args)]
struct Text {
    /// The text of the interaction, see docs/pairs.md; - is the standard input
    file: PathBuf,
    /// Read every f64 of the text as dd, two doubles
    #[arg(long)]
    dd: bool,
}

#[derive(Debug, clap::Args)]
struct Explain {
    #[command(flatten)]
    text: Text,
    /// Print the text of the kernels instead: PTX for cuda, OpenCL C for opencl
    #[arg(long, value_name = "BACKEND", value_parser = ["cuda", "opencl"])]
    source: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Run {
    #[command(flatten)]
    text: Text,
    /// The fields of the sinks: a column for each number, in the order of their declarations, or in
    /// HDF5 a dataset for each field, with its name
    #[arg(long, value_name = "FILE")]
    i: Option<PathBuf>,
    /// The fields of the sources, in the same form
    #[arg(long, value_name = "FILE")]
    j: Option<PathBuf>,
    /// A parameter: one number, or those of a vector or a table with commas between them
    #[arg(long = "param", value_name = "NAME=NUMBERS")]
    parameters: Vec<String>,
    /// The number of sinks, where the text declares no field of i
    #[arg(long, value_name = "COUNT", value_parser = count::<usize>(..=1 << 30))]
    sinks: Option<usize>,
    /// The number of sources, where the text declares no field of j
    #[arg(long, value_name = "COUNT", value_parser = count::<usize>(..=1 << 30))]
    sources: Option<usize>,
    #[command(flatten)]
    machine: Machine,
}

/// Prints the list or the results.
pub fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.action {
        Action::Explain(Explain { text, source }) => {
            let kernel = text.compile(&PairMachine::cpu(1, kyoho::Level::Portable))?;
            match source.as_deref().and_then(Backend::from_name) {
                Some(backend) => out!("{}", kernel.source(backend)?.trim_end()),
                None => out!("{}", kernel.explain()?.trim_end()),
            }
        }
        Action::Run(run) => run.run(),
        Action::Bench(arguments) => bench::run(arguments),
        Action::Gravity(Gravity { order }) => match Order::from_number(*order) {
            Some(order) => out!("{}", gravity(order).to_string_lossy().trim_end()),
            None => {
                let (value, allowed) = (order.to_string(), "2, 4, 6, 8".into());
                Err(Failure::Argument { option: "ORDER", value, allowed })
            }
        },
    }
}

impl Text {
    fn compile(&self, machine: &PairMachine) -> Result<PairKernel> {
        let text = file::text(file::read(&self.file)?, &self.file)?;
        let options = Options { in_double_double: self.dd, plain: false };
        PairKernel::new(&text, options, machine).map_err(|error| Failure::in_text(&self.file, error))
    }
}

impl Run {
    /// Fails if the standard input is to be more than one of the files.
    fn check_input(&self) -> Result<()> {
        let files = [Some(&self.text.file), self.i.as_ref(), self.j.as_ref()];
        if files.iter().flatten().filter(|path| file::is_standard_input(path)).count() < 2 {
            return Ok(());
        }
        let value = "- more than once".into();
        Err(Failure::Argument { option: "FILE", value, allowed: "the standard input for one of the files".into() })
    }

    fn run(&self) -> Result<()> {
        self.check_input()?;
        let mut kernel = self.text.compile(&self.machine.settings()?.pair_machine()?)?;
        for (side, path) in [(Side::I, &self.i), (Side::J, &self.j)] {
            let fields = kernel.list().fields[side as usize].clone();
            let Some(path) = path else {
                check_no_fields(side, &fields)?;
                continue;
            };
            let name = |field: &Field| format!("{}.{}", side.name(), field.name);
            let content = file::read(path)?;
            if snapshot_hdf5::is_hdf5(&content) {
                let names = fields.iter().map(|field| (field.name.as_str(), field.of.width));
                let columns = snapshot_hdf5::columns(content, path, names)?;
                for (field, numbers) in fields.iter().zip(&columns) {
                    kernel.set(&name(field), &Packed { numbers, width: field.of.width })?;
                }
                continue;
            }
            let columns = fields.iter().map(|field| field.of.width).sum();
            let table = Columns { numbers: numbers(&file::text(content, path)?, path, columns)?, columns, first: 0 };
            fields.iter().try_fold(0, |first, field| {
                kernel.set(&name(field), &Columns { first, ..table.clone() }).map(|()| first + field.of.width)
            })?;
        }
        set_parameters(&mut kernel, &self.parameters)?;
        kernel.run(self.sinks, self.sources)?;
        print(&kernel)
    }
}

/// Fails if a side whose file is not given has fields.
fn check_no_fields(side: Side, fields: &[Field]) -> Result<()> {
    if fields.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let option = match side {
        Side::I => "--i",
        Side::J => "--j",
    };
    let allowed = format!("a file with the fields of {}: {}", side.name(), names.join(", "));
    Err(Failure::Argument { option, value: "not given".into(), allowed })
}

/// Gives parameters as the command line has them.
fn set_parameters(kernel: &mut PairKernel, parameters: &[String]) -> Result<()> {
    let mut named = HashSet::new();
    for parameter in parameters {
        let bad =
            |allowed: &str| Failure::Argument { option: "--param", value: parameter.clone(), allowed: allowed.into() };
        let (name, given) = parameter.split_once('=').ok_or_else(|| bad("NAME=NUMBERS, such as eps2=1e-4"))?;
        if !named.insert(name) {
            return Err(bad("each parameter once"));
        }
        let number = |word: &str| DoubleDouble::parse(word.trim()).map(Number::Dd);
        let given: Option<Vec<Number>> = given.split(',').map(number).collect();
        let given = given.ok_or_else(|| bad("decimal numbers with commas between them"))?;
        kernel.set_parameter(name, &given)?;
    }
    Ok(())
}

/// Prints the results: a line of names, and a row for each sink.
fn print(kernel: &PairKernel) -> Result<()> {
    let PairProgram { results, .. } = kernel.list();
    let found: kyoho::Result<Vec<_>> = results.iter().map(|result| kernel.result(&result.name)).collect();
    let found = found?;
    let mut names = String::from("#");
    for result in results {
        for component in &["x", "y", "z", "w"][..result.of.width] {
            names.push(' ');
            names.push_str(&result.name);
            if result.of.width > 1 {
                names.push('.');
                names.push_str(component);
            }
        }
    }
    out!("{names}")?;
    for sink in 0..found.first().map_or(0, |found| found.count()) {
        let numbers = found.iter().flat_map(|found| {
            (0..found.of().width).map(|component| match found.number(sink, component) {
                Number::Dd(number) => number.to_string(),
                Number::Ff(number) => Number::Ff(number).widened().to_f64().to_string(),
                Number::F32(number) => format!("{number:e}"),
                Number::F64(number) => format!("{number:e}"),
                other => other.widened().to_f64().to_string(),
            })
        });
        out!("{}", numbers.collect::<Vec<_>>().join(" "))?;
    }
    Ok(())
}

/// Some neighbouring columns of a table.
#[derive(Clone)]
struct Columns {
    numbers: std::rc::Rc<Vec<DoubleDouble>>,
    columns: usize,
    first: usize,
}

impl Rows for Columns {
    fn scalar(&self) -> Scalar {
        Scalar::Dd
    }

    fn count(&self) -> usize {
        self.numbers.len() / self.columns.max(1)
    }

    fn number(&self, row: usize, component: usize) -> Number {
        Number::Dd(self.numbers[row * self.columns + self.first + component])
    }
}

/// Returns an infinity or what is not a number, where a word says so.
fn no_number(word: &str) -> Option<DoubleDouble> {
    let has_digits = word.contains(|letter: char| letter.is_ascii_digit());
    word.parse().ok().filter(|_| !has_digits).map(DoubleDouble::from_limb)
}

/// Reads rows of as many numbers, written as in files of bodies.
fn numbers(text: &str, path: &Path, columns: usize) -> Result<std::rc::Rc<Vec<DoubleDouble>>> {
    let mut all = Vec::new();
    for (line, row) in rows::rows(text) {
        let wrong = |reason: String| Failure::Line { path: path.into(), line, reason };
        let words = rows::words(row);
        if words.len() != columns {
            let reason = format!("{} numbers; allowed: {columns}, as many as the text declares", words.len());
            return Err(wrong(reason));
        }
        for word in words {
            let number = DoubleDouble::parse(&word.replace(['d', 'D'], "e")).or_else(|| no_number(word));
            all.push(
                number.ok_or_else(|| wrong(format!("'{word}' is no number; allowed: decimal numbers, nan, inf")))?,
            );
        }
    }
    Ok(all.into())
}
