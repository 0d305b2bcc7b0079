//! `kyoho verify`: checks on this machine that the library does what it promises, and measures its
//! errors.

mod everything;
mod programs;

use std::path::PathBuf;

use indicatif::ProgressBar;
use serde_json::{Value, json};

use crate::count::{count, order};
use crate::failure::{Failure, Result};
use crate::machine::named;
use kyoho::Setup;
use kyoho::config::DeviceChoice;
use kyoho_core::Level;
use kyoho_core::{Order, Precision, Scope};
use kyoho_hal::Backend;
use kyoho_laws::catalogue;
use kyoho_verify::{CHECKS, Errors, Outcome, Selection, Target, pair_problem, plummer_problem};

/// The options of `kyoho verify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Only this backend: cpu, cuda, opencl
    #[arg(long)]
    backend: Option<String>,
    /// Only this order: 2, 4, 6, 8
    #[arg(long, value_parser = order)]
    order: Option<i32>,
    /// Only this precision: single, mixed, double, quad
    #[arg(long)]
    precision: Option<String>,
    /// Only forces of this scope: full, regular (of all sources but neighbours)
    #[arg(long)]
    scope: Option<String>,
    /// Only this instruction set of the CPU: portable, avx2, avx512
    #[arg(long)]
    level: Option<String>,
    /// Only these devices of the backend (if none is named, of the first of cuda, opencl, cpu that
    /// has devices): all, a count, or a list such as 0,2; also checks that fewer of them give the
    /// same bits
    #[arg(long)]
    devices: Option<String>,
    /// Bodies of the Plummer model of the table; the reference takes about a second for 2000
    /// bodies, and grows with the square of their number
    #[arg(long, default_value_t = 1024, value_parser = count::<u32>(2..=1 << 20))]
    bodies: u32,
    /// Only measure the errors of the table; run no checks
    #[arg(long)]
    table_only: bool,
    /// Only checks that have this in their names, such as trees
    #[arg(long, value_name = "WORDS", conflicts_with = "table_only")]
    check: Option<String>,
    /// Also build and run the C programs for GPUs, and compute-sanitizer on them where it is there,
    /// and print one page of what passed, what failed and what was not run
    #[arg(long, conflicts_with_all = ["bodies", "table_only", "json"])]
    everything: bool,
    /// The shared library that the C programs load; by default the one that was installed or built
    /// with this command
    #[arg(long, value_name = "FILE", requires = "everything")]
    library: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Separations of pairs at a distance of 1 from the origin.
const SEPARATIONS: [f64; 5] = [1e-2, 1e-4, 1e-6, 1e-8, 1e-10];

/// A line of the table: an order, a precision, a scope, a backend and a level, with every choice of
/// threads and devices.
struct Row {
    targets: Vec<Target>,
    errors: Errors,
    /// The errors of the accelerations in pairs with the separations of [`SEPARATIONS`].
    pairs: [f64; SEPARATIONS.len()],
    outcomes: Vec<(Target, Outcome)>,
}

impl Row {
    fn plain(&self) -> &Target {
        &self.targets[0]
    }

    fn failed(&self) -> impl Iterator<Item = &(Target, Outcome)> {
        self.outcomes.iter().filter(|(_, outcome)| !outcome.findings.passed())
    }
}

/// Runs the suite, and returns whether every promise holds.
pub fn run(arguments: &Arguments) -> Result<bool> {
    check_name(arguments.check.as_deref())?;
    if arguments.everything {
        return everything::run(arguments, &selection(arguments)?);
    }
    let rows = rows(&selection(arguments)?)?;
    let targets: usize = rows.iter().map(Vec::len).sum();
    let progress = ProgressBar::new(if arguments.table_only { rows.len() } else { targets } as u64);
    let problem = plummer_problem(arguments.bodies as usize, 1);
    let pair_problems = SEPARATIONS.map(pair_problem);
    let mut verified = Vec::new();
    for targets in rows {
        let errors = problem.errors(&targets[0])?;
        let mut pairs = [0.0; SEPARATIONS.len()];
        for (error, problem) in pairs.iter_mut().zip(&pair_problems) {
            *error = problem.errors(&targets[0])?.acceleration.worst;
        }
        let mut outcomes = Vec::new();
        for target in targets.iter().filter(|_| !arguments.table_only) {
            let wanted = arguments.check.as_deref().unwrap_or("");
            outcomes.extend(kyoho_verify::run(target, wanted).into_iter().map(|outcome| (target.clone(), outcome)));
            progress.inc(1);
        }
        verified.push(Row { targets, errors, pairs, outcomes });
    }
    progress.finish_and_clear();
    if arguments.json {
        out!("{:#}", to_json(arguments, &verified))?;
    } else {
        print(arguments, &verified)?;
    }
    Ok(verified.iter().all(|row| row.failed().next().is_none()))
}

/// Fails if no check has these words in its name.
fn check_name(words: Option<&str>) -> Result<()> {
    let Some(words) = words.filter(|words| !CHECKS.iter().any(|check| check.name.contains(*words))) else {
        return Ok(());
    };
    let names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    let allowed = format!("words in the names of checks: {}", names.join(", "));
    Err(Failure::Argument { option: "--check", value: format!("'{words}'"), allowed })
}

fn selection(arguments: &Arguments) -> Result<Selection> {
    let order = |number: i32| {
        Order::from_number(number).ok_or_else(|| Failure::Argument {
            option: "--order",
            value: number.to_string(),
            allowed: Order::ALL.map(|order| (order as i32).to_string()).join(", "),
        })
    };
    let levels: Vec<Level> = Level::available().collect();
    let backend = arguments.backend.as_deref();
    let precision = arguments.precision.as_deref();
    let (scope, level) = (arguments.scope.as_deref(), arguments.level.as_deref());
    let mut selection = Selection {
        devices: None,
        scope: scope.map(|name| named("--scope", name, &Scope::ALL, Scope::name)).transpose()?,
        backend: backend.map(|name| named("--backend", name, &Backend::ALL, Backend::name)).transpose()?,
        order: arguments.order.map(order).transpose()?,
        precision: precision
            .map(|name| named("--precision", name, &catalogue::precisions(), Precision::name))
            .transpose()?,
        level: level.map(|name| named("--level", name, &levels, Level::name)).transpose()?,
    };
    if let Some(backend) = selection.backend {
        backend.devices()?;
    }
    if let Some(wanted) = &arguments.devices {
        let first = || Backend::ALL.into_iter().find(|backend| backend.is_auto_selectable());
        let backend = selection.backend.or_else(first).unwrap_or(Backend::Cpu);
        let choice = DeviceChoice::parse("--devices", wanted)?;
        selection.devices = Some(choice.resolve(backend, backend.visible()?)?);
        selection.backend = Some(backend);
    }
    Ok(selection)
}

/// Returns the targets, with those that differ only in threads and devices grouped together.
fn rows(selection: &Selection) -> Result<Vec<Vec<Target>>> {
    let mut rows: Vec<Vec<Target>> = Vec::new();
    let kind = |target: &Target| {
        let setup = &target.setup;
        (setup.order, setup.precision, setup.scope, setup.backend, setup.level)
    };
    for target in kyoho_verify::targets(selection) {
        match rows.last_mut() {
            Some(row) if kind(&row[0]) == kind(&target) => row.push(target),
            _ => rows.push(vec![target]),
        }
    }
    if rows.is_empty() {
        return Err(Failure::Argument {
            option: "--precision",
            value: format!("'{}', with the other options", selection.precision.map_or("any", Precision::name)),
            allowed: "what `kyoho info` lists".into(),
        });
    }
    Ok(rows)
}

fn level_name(target: &Target) -> &'static str {
    match target.setup.backend {
        Backend::Cpu => target.setup.level.name(),
        _ => "-",
    }
}

/// Prints a table: the names of its columns, and lines below the backend and the instruction set of
/// those that follow.
fn print_table(header: &str, rows: &[Row], line: impl Fn(&Row) -> Option<String>) -> Result<()> {
    out!("{:>5}  {:<9}  {:<7}{header}", "order", "precision", "scope")?;
    let mut place = None;
    for row in rows {
        let Setup { order, precision, scope, backend, .. } = row.plain().setup;
        let here = (backend.name(), level_name(row.plain()));
        let Some(line) = line(row) else { continue };
        if place.replace(here) != Some(here) {
            let level = if here.1 == "-" { String::new() } else { format!(", {}", here.1) };
            out!("{}{level}", here.0)?;
        }
        out!("{:>5}  {:<9}  {:<7}{line}", order as i32, precision.name(), scope.name())?;
    }
    out!()
}

fn print(arguments: &Arguments, rows: &[Row]) -> Result<()> {
    out_wrapped!(
        0,
        "Relative errors of every body of a Plummer model of {} bodies, softened by 1/64.",
        arguments.bodies
    )?;
    out!()?;
    let header = format!("{:>11}  {:>9}  {:>9}  {:>7}  checks", "acc worst", "acc mean", "pot worst", "nearest");
    print_table(&header, rows, |row| {
        let Errors { potential, acceleration, wrong_nearest, .. } = &row.errors;
        let nearest = if row.plain().interaction().nearest { wrong_nearest.to_string() } else { "-".into() };
        let checks = match row.failed().count() {
            _ if row.outcomes.is_empty() => "not run".into(),
            0 => format!("{} passed", row.outcomes.len()),
            failed => format!("{failed} FAILED"),
        };
        let [worst, mean, potential] = [acceleration.worst, acceleration.mean, potential.worst];
        Some(format!("{worst:>11.2e}  {mean:>9.2e}  {potential:>9.2e}  {nearest:>7}  {checks}"))
    })?;
    out_wrapped!(0, "nearest: how many bodies have a wrong nearest neighbour")?;
    out!()?;
    if rows.iter().any(|row| row.plain().setup.order >= Order::Fourth) {
        let header = format!("{:>12}  {:>9}  {:>10}  {:>13}", "jerk worst", "jerk mean", "snap worst", "crackle worst");
        print_table(&header, rows, |row| {
            let order = row.plain().setup.order;
            let Errors { jerk, snap, crackle, .. } = &row.errors;
            let from = |least: Order, error: f64| if order >= least { format!("{error:.2e}") } else { "-".into() };
            let (snap, crackle) = (from(Order::Sixth, snap.worst), from(Order::Eighth, crackle.worst));
            let line = format!("{:>12.2e}  {:>9.2e}  {snap:>10}  {crackle:>13}", jerk.worst, jerk.mean);
            (order >= Order::Fourth).then_some(line)
        })?;
    }
    out_wrapped!(0, "Worst relative error of the acceleration in a pair 1 from the origin, by its separation.")?;
    out!()?;
    let cells = |cells: [String; SEPARATIONS.len()]| cells.map(|cell| format!("  {cell:>8}")).concat();
    print_table(&cells(SEPARATIONS.map(|separation| format!("{separation:.0e}"))), rows, |row| {
        Some(cells(row.pairs.map(|error| format!("{error:.1e}"))))
    })?;
    for (target, outcome) in rows.iter().flat_map(Row::failed) {
        out_wrapped!(7, "FAILED {target}: {}: {}", outcome.check.name, outcome.check.promise)?;
        for failure in outcome.findings.failures() {
            out_wrapped!(7, "       {failure}")?;
        }
    }
    Ok(())
}

fn to_json(arguments: &Arguments, rows: &[Row]) -> Value {
    let failures = |row: &Row| -> Vec<Value> {
        row.failed()
            .map(|(target, outcome)| {
                json!({
                    "target": target.to_string(),
                    "check": outcome.check.name,
                    "promise": outcome.check.promise,
                    "failures": outcome.findings.failures(),
                })
            })
            .collect()
    };
    let row = |row: &Row| {
        let setup = &row.plain().setup;
        let pair = |(separation, error): (&f64, f64)| json!({ "separation": separation, "acceleration": error });
        let spread = |spread: kyoho_verify::Spread| json!({ "worst": spread.worst, "mean": spread.mean });
        json!({
            "order": setup.order as i32,
            "precision": setup.precision.name(),
            "scope": setup.scope.name(),
            "backend": setup.backend.name(),
            "level": level_name(row.plain()),
            "errors": {
                "acceleration": spread(row.errors.acceleration),
                "jerk": (setup.order >= Order::Fourth).then(|| spread(row.errors.jerk)),
                "snap": (setup.order >= Order::Sixth).then(|| spread(row.errors.snap)),
                "crackle": (setup.order >= Order::Eighth).then(|| spread(row.errors.crackle)),
                "potential": spread(row.errors.potential),
                "wrong_nearest": row.plain().interaction().nearest.then_some(row.errors.wrong_nearest),
            },
            "pairs": SEPARATIONS.iter().zip(row.pairs).map(pair).collect::<Vec<_>>(),
            "checks": row.outcomes.len(),
            "failed": failures(row),
        })
    };
    let passed = rows.iter().all(|row| row.failed().next().is_none());
    json!({
        "bodies": arguments.bodies,
        "passed": passed,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    })
}
