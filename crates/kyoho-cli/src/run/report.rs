//! The report of a run: text while it goes on, or one JSON object at its end.

use std::path::PathBuf;

use serde::Serialize;

use crate::failure::Result;
use crate::few_body::Bound;
use crate::ranks::Ranks;
use crate::run::subsystems::Subsystems;
use kyoho::config::Settings;
use kyoho::{Setup, System};
use kyoho_core::Order;
use kyoho_core::error::shown;
use kyoho_engine::TreeErrors;
use kyoho_integrators::encounters::Encounter;
use kyoho_integrators::energy::Energy;
use kyoho_integrators::plan::Plan;
use kyoho_integrators::{Approach, Counts, EnergyJump};
use kyoho_ranks::Team;

/// The energies at one time.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Row {
    time: f64,
    kinetic: f64,
    /// That in fields and by laws is part of it.
    potential: f64,
    total: f64,
    relative_error: f64,
    tree_error: Option<TreeError>,
}

/// The relative errors of the accelerations by a tree.
#[derive(Debug, Clone, Copy, Serialize)]
struct TreeError {
    median: f64,
    percentile_90: f64,
    percentile_99: f64,
    worst: f64,
}

impl Row {
    /// Returns the time.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns the time and the relative error of the energy.
    pub fn error(&self) -> (f64, f64) {
        (self.time, self.relative_error)
    }

    /// Returns the line of a table.
    pub fn text(&self) -> String {
        let errors = self.tree_error.map_or(String::new(), |errors| {
            let TreeError { median, percentile_90, percentile_99, worst } = errors;
            format!("  {median:>20.2e}  {percentile_90:>9.2e}  {percentile_99:>9.2e}  {worst:>9.2e}")
        });
        format!("{:>14}  {:>22.15e}  {:>14.3e}{errors}", rounded(self.time), self.total, self.relative_error)
    }

    /// Returns the energies and their error relative to those at the start, and the errors of a
    /// tree if they were measured.
    pub fn new(time: f64, energy: Energy, initial: f64, errors: Option<TreeErrors>) -> Row {
        // A system without energy has no relative error.
        let scale = if initial == 0.0 { 1.0 } else { initial.abs() };
        let total = energy.total();
        Row {
            time,
            kinetic: energy.kinetic,
            potential: energy.potential + energy.field,
            total,
            relative_error: (total - initial) / scale,
            tree_error: errors.map(|TreeErrors { median, percentile_90, percentile_99, worst }| TreeError {
                median,
                percentile_90,
                percentile_99,
                worst,
            }),
        }
    }
}

/// Formats a time without the last digits, which only show the rounding of the interval.
fn rounded(time: f64) -> String {
    shown(format!("{time:.9e}").parse().unwrap_or(time))
}

/// The closest approach of two bodies. Bodies count from 1, in the order of the input.
#[derive(Debug, Clone, Copy, Serialize)]
struct Closest {
    distance: f64,
    time: f64,
    bodies: [usize; 2],
}

/// Two bodies that became one, the first of them. Bodies count from 1, in the order of the input.
#[derive(Debug, Clone, Copy, Serialize)]
struct Merger {
    time: f64,
    bodies: [usize; 2],
    distance: f64,
}

/// The close passages that changed an energy, and the last of them.
#[derive(Debug, Clone, Serialize)]
struct Jump {
    energy: f64,
    distance: f64,
    step: f64,
    limited_steps: u64,
    time: f64,
    bodies: [usize; 2],
    #[serde(skip)]
    of_interval: EnergyJump,
}

/// The whole report of a run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The file of the bodies, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    bodies: usize,
    order: i32,
    precision: &'static str,
    #[serde(rename = "G")]
    gravity: f64,
    /// The units of the bodies, if they have some.
    pub units: Option<String>,
    /// The softening length, if all bodies have one.
    eps: Option<f64>,
    /// Those of the bodies otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    softenings: Vec<f64>,
    eta: f64,
    eta4: Option<f64>,
    /// The accuracy or the opening angle of the tree, if there is one.
    accuracy: Option<f64>,
    theta: Option<f64>,
    /// Whether the bodies are so many that the tree sums their forces.
    sums_by_tree: bool,
    interval: f64,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The names of the laws.
    pub laws: Vec<String>,
    backend: &'static str,
    devices: Vec<String>,
    threads: usize,
    level: &'static str,
    energies: Vec<Row>,
    /// The initial energy. A resumed run has that of the run which it goes on from.
    pub initial_energy: f64,
    final_energy: f64,
    relative_error: f64,
    largest_relative_error: f64,
    steps: u64,
    block_steps: u64,
    /// The average number of bodies of a block.
    average_block: f64,
    limited_steps: u64,
    interactions: u64,
    /// The wall time of the integration without energies and snapshots.
    pub seconds: f64,
    seconds_per_block_step: f64,
    interactions_per_second: f64,
    steps_per_second: f64,
    closest_approach: Option<Closest>,
    energy_jumps: u64,
    last_energy_jump: Option<Jump>,
    /// The distance at which close bodies form subsystems, the number of the binaries in these, and the
    /// tightest, if bodies may form some.
    subsystem_radius: Option<f64>,
    binaries: Option<usize>,
    tightest_binary: Option<Bound>,
    /// The speed of light, and the bodies that became one by relativity, if they may.
    speed_of_light: Option<f64>,
    mergers: Option<Vec<Merger>>,
    snapshots: Vec<PathBuf>,
    /// The number of ranks, if there are others.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<usize>,
    /// Whether it is printed, as the first rank does.
    #[serde(skip)]
    prints: bool,
    #[serde(skip)]
    tree_name: Option<String>,
    /// The number of pairs from which on a tree sums them.
    #[serde(skip)]
    tree_crossover: u64,
    /// Whether the errors of the tree are measured.
    #[serde(skip)]
    pub shows_errors: bool,
}

/// The header of the columns of a tree's errors.
const TREE_ERROR_HEADER: &str = "  error of tree: median       90 %       99 %      worst";

impl Report {
    /// Makes the report of a run that has not begun, of so many bodies, whose forces a tree sums from so
    /// many pairs on.
    pub fn new(
        plan: &Plan,
        settings: &Settings,
        setup: &Setup,
        system: &System,
        (bodies, tree_crossover): (usize, u64),
    ) -> Report {
        let [accuracy, theta] = plan.tree_options().map(|option| Some(option).filter(|option| *option != 0.0));
        let pairs = (bodies as u64).saturating_mul(bodies as u64);
        Report {
            file: None,
            bodies,
            order: plan.order as i32,
            precision: plan.precision.name(),
            gravity: plan.gravity,
            units: None,
            eps: Some(plan.softening),
            softenings: Vec::new(),
            eta: plan.eta,
            eta4: plan.averages().then_some(plan.eta4),
            accuracy,
            theta,
            sums_by_tree: plan.tree.is_some() && pairs >= tree_crossover,
            interval: plan.interval,
            fields: Vec::new(),
            laws: Vec::new(),
            backend: setup.backend.name(),
            devices: system.devices().into_iter().map(|device| device.name).collect(),
            threads: settings.threads,
            level: settings.level.name(),
            energies: Vec::new(),
            initial_energy: f64::NAN,
            final_energy: f64::NAN,
            relative_error: f64::NAN,
            largest_relative_error: 0.0,
            steps: 0,
            block_steps: 0,
            average_block: 0.0,
            limited_steps: 0,
            interactions: 0,
            seconds: 0.0,
            seconds_per_block_step: 0.0,
            interactions_per_second: 0.0,
            steps_per_second: 0.0,
            closest_approach: None,
            energy_jumps: 0,
            last_energy_jump: None,
            subsystem_radius: None,
            binaries: None,
            tightest_binary: None,
            speed_of_light: None,
            mergers: None,
            snapshots: Vec::new(),
            ranks: None,
            prints: true,
            tree_name: plan.tree_name(),
            tree_crossover,
            shows_errors: false,
        }
    }

    /// Makes it the report of ranks, which the first one prints.
    pub fn over(&mut self, ranks: Ranks) {
        (self.ranks, self.prints) = (ranks.team().map(Team::size), ranks.is_first());
    }

    /// Makes it the report of bodies in groups with these softenings.
    pub fn with_softenings(&mut self, softenings: Vec<f64>) {
        (self.eps, self.softenings) = (None, softenings);
    }

    /// Prints the settings of the run.
    pub fn begin(&self, json: bool) -> Result<()> {
        if json || !self.prints {
            return Ok(());
        }
        for line in self.settings() {
            out!("{line}")?;
        }
        out!("{}", self.machine())?;
        if let Some(reason) = self.sums_directly() {
            out!("{reason}")?;
        }
        out!("{}", self.header())
    }

    /// Describes the run in lines, of which the first is the title.
    pub fn settings(&self) -> Vec<String> {
        let units = self.units.as_ref().map(|units| format!("in units of {units}, G {}", shown(self.gravity)));
        let named = |what: &str, names: &[String]| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
        let others = [units, named("in the fields", &self.fields), named("with the laws", &self.laws)];
        std::iter::once(self.title()).chain(others.into_iter().flatten()).collect()
    }

    /// Says where the run is computed.
    pub fn machine(&self) -> String {
        let ranks = self.ranks.map_or(String::new(), |ranks| format!("{ranks} ranks, each "));
        let devices = self.devices.join(", ");
        format!("on {ranks}{} ({devices}), {} threads, {}", self.backend, self.threads, self.level)
    }

    /// Says why forces are direct sums, where a tree is asked for.
    pub fn sums_directly(&self) -> Option<String> {
        let (n, least) = (self.bodies, self.tree_crossover);
        let reason = || {
            format!("forces are direct sums: {n} x {n} pairs are fewer than {least}, from which on a tree is faster")
        };
        (self.tree_name.is_some() && !self.sums_by_tree).then(reason)
    }

    /// Returns the names of the columns of rows.
    pub fn header(&self) -> String {
        let errors = if self.shows_errors { TREE_ERROR_HEADER } else { "" };
        format!("{:>14}  {:>22}  {:>14}{errors}", "time", "energy", "relative error")
    }

    /// Describes the run in a line.
    pub fn title(&self) -> String {
        let Report { bodies, order, precision, .. } = self;
        let (eta, least_and_most) = (shown(self.eta), |so_far: [f64; 2], softening: &f64| {
            [so_far[0].min(*softening), so_far[1].max(*softening)]
        });
        let [least, most] = self.softenings.iter().fold([f64::INFINITY, 0.0], least_and_most).map(shown);
        let eps = self.eps.map_or_else(|| format!("{least} to {most}"), shown);
        if *order == Order::Second as i32 {
            let tree = self.tree_name.as_ref().map_or(String::new(), |tree| format!(", {tree}"));
            return format!("{bodies} bodies, leapfrog, precision {precision}, eps {eps}{tree}");
        }
        let average = self.eta4.map_or(String::new(), |eta4| format!(", eta4 {}", shown(eta4)));
        format!("{bodies} bodies, Hermite {order}, precision {precision}, eps {eps}, eta {eta}{average}")
    }

    /// Adds and prints the energies at one time.
    pub fn row(&mut self, row: Row, json: bool) -> Result<()> {
        self.add(row);
        if json || !self.prints {
            return Ok(());
        }
        out!("{}", row.text())
    }

    /// Adds the energies at one time.
    pub fn add(&mut self, row: Row) {
        self.energies.push(row);
        self.largest_relative_error = self.largest_relative_error.max(row.relative_error.abs());
    }

    /// Adds the closest approach of an interval that began at a time.
    pub fn approach(&mut self, approach: Option<Approach>, start: f64) {
        let Some(Approach { distance, time, bodies }) = approach else { return };
        if self.closest_approach.is_none_or(|closest| distance < closest.distance) {
            self.closest_approach = Some(Closest { distance, time: start + time, bodies: bodies.map(|body| body + 1) });
        }
    }

    /// Takes the last close passage that changed an energy, of an interval that began at a time.
    pub fn energy_jump(&mut self, jump: Option<EnergyJump>, start: f64) {
        let Some(of_interval) = jump else { return };
        let EnergyJump { bodies, time, distance, step, limited_steps, energy } = of_interval;
        let (time, bodies) = (start + time, bodies.map(|body| body + 1));
        let of_interval = EnergyJump { time, ..of_interval };
        self.last_energy_jump = Some(Jump { energy, distance, step, limited_steps, time, bodies, of_interval });
    }

    /// Makes it the report of a run in which bodies may become one by relativity.
    pub fn with_mergers(&mut self, speed_of_light: Option<f64>) {
        (self.speed_of_light, self.mergers) = (speed_of_light, speed_of_light.map(|_| Vec::new()));
    }

    /// Adds two bodies that became one, the first of them, of an interval that began at a time.
    pub fn merger(&mut self, Encounter { bodies, distance, time, .. }: Encounter, start: f64) {
        let merger = Merger { time: start + time, bodies: bodies.map(|body| body + 1), distance };
        self.mergers.get_or_insert_default().push(merger);
    }

    /// Takes the subsystems at the end of the run, of bodies with names by their places.
    pub fn subsystems(&mut self, subsystems: Option<&Subsystems>, (gravity, names): (f64, &[usize])) -> Result<()> {
        let Some(subsystems) = subsystems else { return Ok(()) };
        let binaries = subsystems.binaries(gravity, names)?;
        (self.subsystem_radius, self.binaries) = (Some(subsystems.radius), Some(binaries.len()));
        self.tightest_binary = binaries.into_iter().min_by(|one, other| one.orbit()[0].total_cmp(&other.orbit()[0]));
        Ok(())
    }

    /// Takes what is known at the end of the run.
    pub fn end(&mut self, counts: Counts, snapshots: Vec<PathBuf>) {
        let last = self.energies[self.energies.len() - 1];
        self.final_energy = last.total;
        self.relative_error = last.relative_error;
        self.steps = counts.steps;
        self.block_steps = counts.block_steps;
        self.average_block = counts.steps as f64 / counts.block_steps as f64;
        self.seconds_per_block_step = self.seconds / counts.block_steps as f64;
        self.limited_steps = counts.limited_steps;
        self.interactions = counts.interactions;
        self.energy_jumps = counts.energy_jumps;
        self.interactions_per_second = counts.interactions as f64 / self.seconds;
        self.steps_per_second = counts.steps as f64 / self.seconds;
        self.snapshots = snapshots;
    }

    /// Prints the outcome.
    pub fn print_end(&self, json: bool) -> Result<()> {
        if !self.prints {
            return Ok(());
        }
        if json {
            return out!("{}", serde_json::to_string_pretty(self).expect("a report has only strings as keys"));
        }
        out!("initial energy  {:.15e}", self.initial_energy)?;
        out!("final energy    {:.15e}", self.final_energy)?;
        out!("relative error  {:.3e} (largest {:.3e})", self.relative_error, self.largest_relative_error)?;
        out!("steps           {} in {} block steps", self.steps, self.block_steps)?;
        out!(
            "block step      {:.1} bodies and {:.2} us on average",
            self.average_block,
            self.seconds_per_block_step * 1e6
        )?;
        if let Some(limited) = self.limited() {
            out!("{limited}")?;
        }
        if let Some(Closest { distance, time, bodies: [first, second] }) = self.closest_approach {
            out!("closest         {distance:.6e} between bodies {first} and {second} at time {}", rounded(time))?;
        }
        if let Some(warning) = self.warning() {
            out!("{warning}")?;
        }
        out!("{}", Speed::of(std::slice::from_ref(self), self.seconds).text())?;
        for line in self.pairs() {
            out!("{line}")?;
        }
        if let Some(path) = self.snapshots.last() {
            out!("snapshots       {}, the last {}", self.snapshots.len(), path.display())?;
        }
        Ok(())
    }

    /// Returns lines about what is not in every run and matters: limited steps, changed energies, binaries and
    /// mergers.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        [self.limited(), self.warning()].into_iter().flatten().chain(self.pairs())
    }

    fn limited(&self) -> Option<String> {
        let limited = self.limited_steps;
        (limited > 0).then(|| format!("                {limited} of them wanted to be shorter than --dt-min"))
    }

    fn warning(&self) -> Option<String> {
        let Jump { of_interval, bodies, .. } = self.last_energy_jump.as_ref()?;
        Some(format!("warning         {}", of_interval.text(self.energy_jumps, *bodies)))
    }

    /// Returns the lines about binaries and mergers.
    fn pairs(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let (Some(radius), Some(binaries)) = (self.subsystem_radius, self.binaries) {
            lines.push(format!("binaries        {binaries} in subsystems, which form within {radius:.3e}"));
        }
        if let Some(bound) = &self.tightest_binary {
            let ([one, other], [axis, eccentricity, period]) = (bound.names(), bound.orbit());
            let orbit = format!("a = {axis:.6e}, e = {eccentricity:.6}, period {period:.6e}");
            lines.push(format!("tightest        {one} and {other}: {orbit}"));
        }
        if let Some(mergers) = &self.mergers {
            let last = mergers.last().map_or(String::new(), |Merger { time, bodies: [one, other], .. }| {
                format!(", the last of bodies {one} and {other} at time {}", rounded(*time))
            });
            lines.push(format!("mergers         {}{last}", mergers.len()));
        }
        lines
    }

    /// Returns the times and the relative energy errors.
    pub fn errors(&self) -> Vec<(f64, f64)> {
        self.energies.iter().map(|row| (row.time, row.relative_error)).collect()
    }

    /// Returns the outcome as a line of a table of files.
    pub fn outcome(&self) -> String {
        let Report { bodies, relative_error, largest_relative_error, block_steps, seconds, .. } = self;
        let time = self.energies.last().map_or(f64::NAN, |row| row.time);
        format!(
            "{bodies:>8}  {:>10}  {relative_error:>14.3e}  {largest_relative_error:>10.3e}  {block_steps:>11}  \
             {seconds:>9.3}",
            rounded(time)
        )
    }

    /// Returns the snapshots that were written.
    pub fn snapshots(&self) -> &[PathBuf] {
        &self.snapshots
    }
}

/// The names of the columns of [`Report::outcome`].
pub fn outcome_header() -> String {
    let names = ("bodies", "time", "relative error", "largest", "block steps", "seconds");
    format!("{:>8}  {:>10}  {:>14}  {:>10}  {:>11}  {:>9}", names.0, names.1, names.2, names.3, names.4, names.5)
}

/// What one or several runs have computed in some seconds.
#[derive(Debug, Serialize)]
pub struct Speed {
    steps: u64,
    block_steps: u64,
    interactions: u64,
    seconds: f64,
    interactions_per_second: f64,
    steps_per_second: f64,
    /// Whether a tree sums forces.
    #[serde(skip)]
    sums_by_tree: bool,
}

impl Speed {
    /// Returns that of some reports.
    pub fn of(reports: &[Report], seconds: f64) -> Speed {
        let sum = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
        let (steps, interactions) = (sum(|report| report.steps), sum(|report| report.interactions));
        Speed {
            steps,
            block_steps: sum(|report| report.block_steps),
            interactions,
            seconds,
            interactions_per_second: interactions as f64 / seconds,
            steps_per_second: steps as f64 / seconds,
            sums_by_tree: reports.iter().any(|report| report.sums_by_tree),
        }
    }

    /// Returns it as a line.
    pub fn text(&self) -> String {
        let Speed { steps, interactions, seconds, steps_per_second, .. } = self;
        if self.sums_by_tree {
            // The pairs of a tree are not summed one by one.
            return format!("speed           {steps_per_second:.3e} steps/s ({steps} steps in {seconds:.3} s)");
        }
        format!(
            "speed           {:.3} Gint/s, {steps_per_second:.3e} steps/s ({:.3e} interactions in {seconds:.3} s)",
            self.interactions_per_second / 1e9,
            *interactions as f64
        )
    }
}
