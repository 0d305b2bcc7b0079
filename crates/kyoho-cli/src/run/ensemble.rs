//! Runs of several files, which evolve at the same time.
//!
//! Threads take the cluster that is farthest behind, each time for one interval, so that no cluster waits
//! for others at the end of its own and all come on alike. Rows are printed in the order of times and of
//! files, whoever is ready first.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::Instant;

use indicatif::ProgressBar;
use kyoho::Setup;
use kyoho_core::{Order, Precision};
use kyoho_hal::Backend;
use kyoho_integrators::cluster::ensembles::{Occupied, at_once};
use serde::Serialize;

use super::PROGRESS;
use super::course::{Evolving, Part, Prepared};
use super::options::{self, Arguments, wrong};
use super::output::name_among_others;
use super::report::{Report, Row, Speed, outcome_header};
use crate::failure::{Failure, Result};
use crate::progress;
use crate::ranks::Ranks;

/// Runs the files of the arguments at the same time. What is wrong with arguments, folders or devices ends
/// all before anything runs, what is wrong with the bodies of a file ends this one.
pub fn run(arguments: &Arguments, ranks: Ranks) -> Result<()> {
    check(arguments, ranks)?;
    let (_, files) = arguments.files();
    let each = of_each(arguments)?;
    let settings = arguments.machine.settings()?;
    if arguments.resume.is_empty() {
        // What is wrong for all has no file.
        options::plan(arguments, &settings, None)?;
    }
    // Any order and precision have these devices.
    let Setup { backend, devices, .. } = settings.setup(Order::Fourth, Precision::Double)?;
    let machine = Machine::divided(backend, &devices, settings.threads, files.len());
    let mut failures = Vec::new();
    let (mut ready, mut groups) = (Vec::new(), Vec::new());
    for (place, (file, own)) in files.iter().zip(&each).enumerate() {
        let part = machine.part(place);
        match Prepared::new(own, ranks, Some(&part)) {
            Ok(mut prepared) => {
                prepared.course.report.file = Some(file.clone());
                ready.push(prepared);
                groups.push(part.group);
            }
            Err(failure) if failure.is_about(file) => failures.push(told(file, failure)),
            Err(failure) => return Err(failure.of_file(file)),
        }
    }
    if !ready.is_empty() && !arguments.json {
        begin(&ready, &machine)?;
    }
    let bar = progress::bar(ready.iter().map(|ready| ready.course.intervals * PROGRESS as u64).sum());
    let began = Instant::now();
    let (reports, others) = Ensemble::new(ready, groups, &bar, arguments.json).evolve(&machine)?;
    bar.finish_and_clear();
    failures.extend(others);
    end(arguments, &reports, &failures, began.elapsed().as_secs_f64())?;
    match failures.len() {
        0 => Ok(()),
        failed => Err(Failure::Files { failed, all: files.len() }),
    }
}

/// Fails for arguments that have no meaning for several files.
fn check(arguments: &Arguments, ranks: Ranks) -> Result<()> {
    let (option, files) = arguments.files();
    let count = files.len();
    if ranks.team().is_some() {
        return Err(wrong(option, format!("{count} files over ranks"), "one file, or several by kyoho run".into()));
    }
    if files.iter().any(|file| crate::file::is_standard_input(file)) {
        let allowed = "files that have names, or - alone";
        return Err(wrong(option, format!("'-' among {count} files"), allowed.into()));
    }
    let of_one = [("--plot", arguments.plot.is_some()), ("--watch", arguments.watch.is_some())];
    match of_one.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(wrong(option, format!("given with {count} files"), "with one file".into())),
        None => Ok(()),
    }
}

/// Returns the arguments of each file, which has a folder of its own for snapshots.
fn of_each(arguments: &Arguments) -> Result<Vec<Arguments>> {
    let mut files_of_names = HashMap::new();
    let mut each = Vec::new();
    let is_resumed = !arguments.resume.is_empty();
    let without = Arguments { input: Vec::new(), resume: Vec::new(), ..arguments.clone() };
    for file in arguments.files().1 {
        let mut own = without.clone();
        if is_resumed { &mut own.resume } else { &mut own.input }.push(file.clone());
        if let Some(output) = &arguments.output {
            let name = name_among_others(file);
            if let Some(other) = files_of_names.insert(name.clone(), file) {
                let value = format!("{} for two files", output.join(&name).display());
                let (other, file) = (other.display(), file.display());
                let allowed =
                    format!("files whose names without endings differ, as those of {other} and {file} do not");
                return Err(wrong("--output", value, allowed));
            }
            own.output = Some(output.join(name));
        }
        each.push(own);
    }
    Ok(each)
}

/// How clusters share the machine.
struct Machine {
    /// The CPU threads of each cluster.
    threads: usize,
    /// The devices of each group of clusters. No two groups have one in common.
    groups: Vec<Vec<usize>>,
    at_once: usize,
}

impl Machine {
    /// Divides devices of a backend and CPU threads among so many clusters.
    fn divided(backend: Backend, devices: &[usize], threads: usize, count: usize) -> Machine {
        let mut different = Vec::new();
        devices.iter().for_each(|device| {
            if !different.contains(device) {
                different.push(*device)
            }
        });
        let own_threads = (threads / count).max(1);
        let occupied = |is_cpu: bool| Occupied { threads: is_cpu.then_some(own_threads), is_over_ranks: false };
        let (groups, at_once) = if backend == Backend::Cpu {
            (vec![devices.to_vec()], at_once(threads, &vec![occupied(true); count]))
        } else {
            let groups: Vec<_> = different.chunks((different.len() / count).max(1)).map(<[usize]>::to_vec).collect();
            // Those of a group that evolve at a time.
            let of_group = at_once(threads, &vec![occupied(false); count.div_ceil(groups.len())]);
            let all = (of_group * groups.len()).min(count);
            (groups, all)
        };
        Machine { threads: own_threads, groups, at_once }
    }

    /// Returns what the cluster of a place has.
    fn part(&self, place: usize) -> Part {
        let group = place % self.groups.len();
        let sharers = self.at_once.div_ceil(self.groups.len());
        Part { threads: self.threads, group, devices: self.groups[group].clone(), sharers }
    }
}

/// Prints what will run, and the header of the rows.
fn begin(ready: &[Prepared], machine: &Machine) -> Result<()> {
    let reports = || ready.iter().map(|ready| &ready.course.report);
    let described =
        |report: &Report| -> Vec<String> { report.settings().into_iter().chain(report.sums_directly()).collect() };
    let first = described(&ready[0].course.report);
    if reports().all(|report| described(report) == first) {
        out!("{} files, each of {}", ready.len(), first.join("\n"))?;
    } else {
        for report in reports() {
            out!("{}: {}", name(report), described(report).join("\n    "))?;
        }
    }
    let at_once = machine.at_once.min(ready.len());
    out!("{at_once} files at a time, each {}", ready[0].course.report.machine())?;
    out!("{}  file", ready[0].course.report.header())
}

/// Returns the name of a file for the output.
fn name(report: &Report) -> String {
    report.file.as_ref().map_or_else(String::new, |file| file.display().to_string())
}

/// Prints the outcomes.
fn end(arguments: &Arguments, reports: &[Report], failures: &[Told], seconds: f64) -> Result<()> {
    let speed = Speed::of(reports, seconds);
    if arguments.json {
        let all = All { files: reports, failures, speed };
        return out!("{}", serde_json::to_string_pretty(&all).expect("reports have only strings as keys"));
    }
    if reports.is_empty() {
        return Ok(());
    }
    out!("{}  file", outcome_header())?;
    for report in reports {
        out!("{}  {}", report.outcome(), name(report))?;
        for note in report.notes() {
            out!("    {note}")?;
        }
    }
    out!("{}", speed.text())?;
    let snapshots = reports.iter().map(|report| report.snapshots().len()).sum::<usize>();
    match &arguments.output {
        Some(folder) => out!("snapshots       {snapshots} in {} folders of {}", reports.len(), folder.display()),
        None => Ok(()),
    }
}

/// The report of all files.
#[derive(Serialize)]
struct All<'a> {
    files: &'a [Report],
    failures: &'a [Told],
    #[serde(flatten)]
    speed: Speed,
}

/// A failure that was told.
#[derive(Serialize)]
struct Told {
    file: PathBuf,
    reason: String,
}

/// Tells of the failure with a file.
fn told(file: &Path, failure: Failure) -> Told {
    let reason = failure.of_file(file).to_string();
    eprintln!("kyoho: {reason}");
    Told { file: file.into(), reason }
}

/// A cluster that waits for its next interval.
enum Waiting<'a> {
    Prepared(Box<Prepared<'a>>),
    Evolving(Box<Evolving<'a>>),
}

/// What became of a cluster.
enum Reached<'a> {
    Meeting(Box<Evolving<'a>>),
    End(Box<Report>),
}

/// What threads know together of the files, each at its place.
struct State<'a> {
    /// The clusters that no thread has at the moment, and their times.
    waiting: Vec<(f64, usize, Waiting<'a>)>,
    /// The rows that are not printed yet.
    rows: Vec<VecDeque<Row>>,
    has_ended: Vec<bool>,
    reports: Vec<Option<Box<Report>>>,
    failures: Vec<Told>,
    /// The failure to print, which ends all.
    stops: Option<Failure>,
}

/// Clusters that evolve at the same time.
struct Ensemble<'a> {
    files: Vec<PathBuf>,
    /// The groups of the clusters.
    groups: Vec<usize>,
    state: Mutex<State<'a>>,
    bar: &'a ProgressBar,
    json: bool,
}

impl<'a> Ensemble<'a> {
    fn new(ready: Vec<Prepared<'a>>, groups: Vec<usize>, bar: &'a ProgressBar, json: bool) -> Ensemble<'a> {
        let count = ready.len();
        let files = ready.iter().map(|ready| ready.course.report.file.clone().unwrap_or_default()).collect();
        let waiting = ready.into_iter().enumerate();
        let waiting = waiting.map(|(place, one)| (f64::NEG_INFINITY, place, Waiting::Prepared(Box::new(one))));
        let state = State {
            waiting: waiting.collect(),
            rows: vec![VecDeque::new(); count],
            has_ended: vec![false; count],
            reports: (0..count).map(|_| None).collect(),
            failures: Vec::new(),
            stops: None,
        };
        Ensemble { files, groups, state: Mutex::new(state), bar, json }
    }

    /// Evolves them, and returns the reports of those that reached their ends, and the failures of the others.
    fn evolve(self, machine: &Machine) -> Result<(Vec<Report>, Vec<Told>)> {
        let groups = machine.groups.len();
        thread::scope(|scope| {
            let ensemble = &self;
            for number in 1..machine.at_once {
                let work = move || ensemble.work(number % groups);
                // What a thread leaves that cannot start is done below.
                let _ = Builder::new().name("kyoho-run".into()).spawn_scoped(scope, work);
            }
            ensemble.work(0);
        });
        (0..groups).for_each(|group| self.work(group));
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.stops {
            Some(failure) => Err(failure),
            None => Ok((state.reports.into_iter().flatten().map(|report| *report).collect(), state.failures)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes clusters of a group until none waits: then other threads have one each. No more of a group
    /// evolve at a time than they were told, as the block steps of all have to find room on a GPU.
    fn work(&self, group: usize) {
        while let Some((place, waiting)) = self.take(group) {
            let mut rows = Vec::new();
            let reached = self.go_on(waiting, &mut rows);
            self.put(place, rows, reached);
        }
    }

    fn take(&self, group: usize) -> Option<(usize, Waiting<'a>)> {
        let mut state = self.state();
        if state.stops.is_some() {
            return None;
        }
        let waiting = state.waiting.iter().enumerate().filter(|(_, (_, place, _))| self.groups[*place] == group);
        let (first, _) = waiting.min_by(|(_, one), (_, other)| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)))?;
        let (_, place, waiting) = state.waiting.swap_remove(first);
        Some((place, waiting))
    }

    /// Takes a cluster to its next meeting.
    fn go_on(&self, waiting: Waiting<'a>, rows: &mut Vec<Row>) -> Result<Reached<'a>> {
        let mut evolving = match waiting {
            Waiting::Prepared(prepared) => {
                let (evolving, row) = prepared.begin()?;
                rows.push(row);
                Box::new(evolving)
            }
            Waiting::Evolving(mut evolving) => {
                let mut shown = 0;
                let row = evolving.advance(&mut |fraction, blocks, _| {
                    if blocks % 256 == 0 {
                        let ticks = (fraction * PROGRESS) as u64;
                        self.bar.inc(ticks.saturating_sub(shown));
                        shown = shown.max(ticks);
                    }
                })?;
                self.bar.inc((PROGRESS as u64).saturating_sub(shown));
                rows.push(row);
                evolving
            }
        };
        rows.iter().for_each(|row| evolving.course.report.add(*row));
        evolving.write()?;
        if evolving.course.done < evolving.course.intervals {
            return Ok(Reached::Meeting(evolving));
        }
        evolving.end().map(|report| Reached::End(Box::new(report)))
    }

    /// Takes note of what became of a cluster, and prints the rows that are next.
    fn put(&self, place: usize, rows: Vec<Row>, reached: Result<Reached<'a>>) {
        let mut state = self.state();
        state.rows[place].extend(rows);
        state.has_ended[place] = !matches!(reached, Ok(Reached::Meeting(_)));
        match reached {
            Ok(Reached::Meeting(evolving)) => {
                let time = evolving.course.meeting.time();
                state.waiting.push((time, place, Waiting::Evolving(evolving)));
            }
            Ok(Reached::End(report)) => state.reports[place] = Some(report),
            Err(failure) => {
                let failure = self.bar.suspend(|| told(&self.files[place], failure));
                state.failures.push(failure);
            }
        }
        while let Some((row, place)) = state.next_row() {
            let printed = self.bar.suspend(|| match self.json {
                true => Ok(()),
                false => out!("{}  {}", row.text(), self.files[place].display()),
            });
            if let Err(failure) = printed {
                state.stops.get_or_insert(failure);
                return;
            }
        }
    }
}

impl State<'_> {
    /// Returns the row that is printed next, and its place, once it is known that none comes before it.
    fn next_row(&mut self) -> Option<(Row, usize)> {
        let mut next: Option<(f64, usize)> = None;
        for (place, rows) in self.rows.iter().enumerate() {
            match rows.front().map(Row::time) {
                Some(time) if next.is_none_or(|(least, _)| time < least) => next = Some((time, place)),
                Some(_) => (),
                None if self.has_ended[place] => (),
                None => return None,
            }
        }
        let (_, place) = next?;
        self.rows[place].pop_front().map(|row| (row, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_divide_threads_and_devices() {
        let divided = |backend, devices: &[usize], threads, count| {
            let Machine { threads, groups, at_once } = Machine::divided(backend, devices, threads, count);
            (threads, groups, at_once)
        };
        assert_eq!(divided(Backend::Cpu, &[0], 16, 5), (3, vec![vec![0]], 5));
        assert_eq!(divided(Backend::Cpu, &[0, 0], 16, 64), (1, vec![vec![0, 0]], 16));
        assert_eq!(divided(Backend::Cuda, &[0], 16, 64), (1, vec![vec![0]], 64));
        assert_eq!(divided(Backend::Cuda, &[1, 3], 16, 64), (1, vec![vec![1], vec![3]], 64));
        assert_eq!(divided(Backend::Cuda, &[0, 1, 2, 3], 16, 2), (8, vec![vec![0, 1], vec![2, 3]], 2));
        assert_eq!(divided(Backend::Cuda, &[0, 1, 2], 16, 2), (8, vec![vec![0], vec![1], vec![2]], 2));
        // One device is never that of two groups.
        assert_eq!(divided(Backend::Cuda, &[0, 0], 16, 1000), (1, vec![vec![0]], 128));
    }

    #[test]
    fn no_more_evolve_on_a_gpu_than_it_is_told() {
        let machine = Machine::divided(Backend::Cuda, &[0, 1], 16, 300);
        assert_eq!((machine.at_once, machine.part(0).sharers), (256, 128));
        let machine = Machine::divided(Backend::Cuda, &[0, 1], 16, 5);
        for group in 0..2 {
            let threads = (0..machine.at_once).filter(|number| number % 2 == group).count();
            let clusters = (0..5).filter(|place| machine.part(*place).group == group).count();
            assert!(threads <= machine.part(group).sharers && threads == clusters);
        }
    }
}
