//! `kyoho verify --everything`: all that this machine can check, on one page.

use indicatif::ProgressBar;
use kyoho_core::{Order, Precision, Scope};
use kyoho_hal::Backend;
use kyoho_verify::{Selection, Target};

use super::programs::{self, Folder, Outcome};
use super::{Arguments, level_name, rows};
use crate::failure::Result;

/// A backend, and the instruction set if it is the CPU: a column of the page.
type Place = (Backend, &'static str);

/// The checks of an order, a precision and a scope in one place.
struct Checked {
    entry: (Order, Precision, Scope),
    place: Place,
    passed: usize,
    /// What failed, in sentences.
    failed: Vec<String>,
}

/// A program, below a tool if one is named.
struct Part {
    name: &'static str,
    tool: &'static str,
    arguments: Vec<String>,
    outcome: Outcome,
}

impl Part {
    fn title(&self) -> String {
        let below = if self.tool.is_empty() { String::new() } else { format!("{} ", self.tool) };
        format!("{below}{} {}", self.name, self.arguments.join(" ")).trim_end().into()
    }
}

/// Checks everything, prints the page, and returns whether nothing failed.
pub fn run(arguments: &Arguments, selection: &Selection) -> Result<bool> {
    let words = arguments.check.as_deref().unwrap_or("");
    let checked = suite(rows(selection)?, words);
    let parts = all_programs(arguments, selection)?;
    page(&checked, &parts)?;
    let has_passed = |part: &Part| !matches!(part.outcome, Outcome::Failed(_));
    Ok(checked.iter().all(|checked| checked.failed.is_empty()) && parts.iter().all(has_passed))
}

/// Runs the conformance suite.
fn suite(rows: Vec<Vec<Target>>, words: &str) -> Vec<Checked> {
    let progress = ProgressBar::new(rows.iter().map(Vec::len).sum::<usize>() as u64);
    let mut all = Vec::new();
    for targets in rows {
        let setup = &targets[0].setup;
        let (entry, place) = ((setup.order, setup.precision, setup.scope), (setup.backend, level_name(&targets[0])));
        let mut checked = Checked { entry, place, passed: 0, failed: Vec::new() };
        for target in &targets {
            for outcome in kyoho_verify::run(target, words) {
                if outcome.findings.passed() {
                    checked.passed += 1;
                    continue;
                }
                let found = outcome.findings.failures().join("; ");
                checked.failed.push(format!("{target}: {}: {}: {found}", outcome.check.name, outcome.check.promise));
            }
            progress.inc(1);
        }
        all.push(checked);
    }
    progress.finish_and_clear();
    all
}

/// Returns the programs with the arguments of each run, and the tool below which it runs, if any.
/// They follow the options of the command where they can.
fn runs(selection: &Selection) -> Vec<(&'static str, &'static str, Vec<String>)> {
    let order = selection.order.map(|order| (order as i32).to_string());
    let precision = selection.precision.map(|precision| (precision as i32).to_string());
    let chosen: Vec<String> = order.into_iter().chain(precision.filter(|_| selection.order.is_some())).collect();
    let with = |first: &str, rest: &[String]| [&[first.to_string()], rest].concat();
    let few = if chosen.len() == 2 { chosen.clone() } else { vec!["4".into(), "2".into()] };
    let few = [with("cuda", &few), vec!["few".into()]].concat();
    let mut runs: Vec<_> =
        Backend::ALL.into_iter().map(|backend| ("gpu_small", "", with(backend.name(), &chosen))).collect();
    runs.extend([
        ("gpu_arrays", "", chosen.clone()),
        ("gpu_pairs", "", Vec::new()),
        ("gpu_failure", "", Vec::new()),
        ("gpu_small", "memcheck", with("cuda", &chosen)),
        ("gpu_arrays", "memcheck", chosen),
        ("gpu_pairs", "memcheck", Vec::new()),
        ("gpu_small", "racecheck", few),
    ]);
    runs
}

/// Builds and runs the C programs, or says why not.
fn all_programs(arguments: &Arguments, selection: &Selection) -> Result<Vec<Part>> {
    let runs = runs(selection);
    let library = programs::library(arguments.library.as_deref());
    let folder = library.map(Folder::new);
    let progress = ProgressBar::new(runs.len() as u64);
    let mut parts: Vec<Part> = Vec::new();
    for (name, tool, words) in runs {
        let backend = Backend::ALL.into_iter().find(|backend| words.first().is_some_and(|word| word == backend.name()));
        let outcome = match &folder {
            Err(reason) => Outcome::NotRun(reason.clone()),
            Ok(Err(failure)) => Outcome::NotRun(failure.to_string()),
            Ok(Ok(folder)) => match why_not(selection, backend.unwrap_or(Backend::Cuda)) {
                Some(reason) => Outcome::NotRun(reason),
                None => one(folder, name, tool, &words),
            },
        };
        parts.push(Part { name, tool, arguments: words, outcome });
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(parts)
}

/// Returns why programs for a backend are not run, if so.
fn why_not(selection: &Selection, backend: Backend) -> Option<String> {
    if selection.backend.is_some_and(|chosen| chosen != backend) {
        return Some(format!("it is for backend {}", backend.name()));
    }
    if selection.precision == Some(Precision::Quad) {
        return Some("programs compute no quad".into());
    }
    backend.devices().err().map(|error| error.to_string())
}

/// Builds and runs a program.
fn one(folder: &Folder, name: &'static str, tool: &'static str, words: &[String]) -> Outcome {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let below = match tool {
        "" => Vec::new(),
        tool => match programs::sanitizer(tool) {
            Some(below) => below,
            None => return Outcome::NotRun("there is no compute-sanitizer".into()),
        },
    };
    match folder.build(name) {
        Ok(()) => folder.run(name, &words, &below),
        Err(outcome) => outcome,
    }
}

/// Prints the page: what was run, what passed, what failed and why, and what was not run and why.
fn page(checked: &[Checked], parts: &[Part]) -> Result<()> {
    out!("kyoho {}: all that this machine can check", env!("CARGO_PKG_VERSION"))?;
    for backend in Backend::ALL {
        match backend.devices() {
            Ok(devices) => {
                let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
                out_wrapped!(8, "{:<8}{}", backend.name(), names.join(", "))?;
            }
            Err(error) => out_wrapped!(8, "{:<8}none: {error}", backend.name())?,
        }
    }
    out!()?;
    out!("Checks of the conformance suite that passed")?;
    table(checked)?;
    out!()?;
    out!("Programs, with the lines that passed")?;
    for part in parts {
        out_wrapped!(37, "  {:<33}  {}", part.title(), part.outcome)?;
    }
    for sentence in checked.iter().flat_map(|checked| &checked.failed) {
        out!()?;
        out_wrapped!(7, "FAILED {sentence}")?;
    }
    for part in parts {
        if let Outcome::Failed(why) = &part.outcome {
            out!()?;
            out!("FAILED {}: {}", part.title(), why.trim_end())?;
        }
    }
    let count = |is: fn(&Outcome) -> bool| parts.iter().filter(|part| is(&part.outcome)).count();
    let checks: usize = checked.iter().map(|checked| checked.passed + checked.failed.len()).sum();
    let failed: usize = checked.iter().map(|checked| checked.failed.len()).sum();
    let (programs, not_run) = (parts.len(), count(|outcome| matches!(outcome, Outcome::NotRun(_))));
    let bad = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    out!()?;
    out_wrapped!(
        0,
        "{failed} of {checks} checks and {bad} of {} programs failed; {not_run} programs were not run.",
        programs - not_run
    )
}

/// Prints a row for each entry of the catalogue, with a column for each place.
fn table(checked: &[Checked]) -> Result<()> {
    let mut places: Vec<Place> = Vec::new();
    let mut entries = Vec::new();
    for Checked { entry, place, .. } in checked {
        if !places.contains(place) {
            places.push(*place);
        }
        if !entries.contains(entry) {
            entries.push(*entry);
        }
    }
    let name = |(backend, level): &Place| if *backend == Backend::Cpu { *level } else { backend.name() };
    let names: String = places.iter().map(|place| format!("{:>10}", name(place))).collect();
    out!("  order  precision  scope  {names}")?;
    for entry in entries {
        let cell = |place: &Place| {
            let found = checked.iter().find(|checked| checked.entry == entry && checked.place == *place);
            let text = match found {
                None => "-".into(),
                Some(checked) if checked.failed.is_empty() => checked.passed.to_string(),
                Some(checked) => format!("{} FAILED", checked.failed.len()),
            };
            format!("{text:>10}")
        };
        let (order, precision, scope) = entry;
        let cells: String = places.iter().map(cell).collect();
        out!("  {:>5}  {:<9}  {:<7}{cells}", order as i32, precision.name(), scope.name())?;
    }
    Ok(())
}
