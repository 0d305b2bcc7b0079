//! The course of one cluster, alone or among others: what it is given, where it is, and its next interval.

use std::time::Instant;

use kyoho::config::Settings;
use kyoho::{Setup, System};
use kyoho_integrators::Integrator;
use kyoho_integrators::energy::{Energies, Energy};
use kyoho_integrators::fields::{Field, Fields};
use kyoho_integrators::groups::Groups;
use kyoho_integrators::laws::Law;
use kyoho_integrators::plan::Plan;
use kyoho_integrators::subsystems::SubsystemRules;
use kyoho_ranks::{SharedSystem, Team};

use crate::failure::Result;
use crate::machine::named;
use crate::model::plummer;
use crate::picture;
use crate::ranks::Ranks;
use crate::run::beginning::{self, Beside};
use crate::run::input::Input;
use crate::run::mergers::Told;
use crate::run::options::{self, Arguments};
use crate::run::output::Output;
use crate::run::report::{Report, Row};
use crate::run::shares::Shares;
use crate::run::snapshot::{Format, Origin, Snapshot};
use crate::run::subsystems::Subsystems;
use crate::run::text_setting::TextSetting;
use crate::run::{given, mergers, softenings, subsystems};

/// What one cluster of several has of the machine.
#[derive(Debug, Clone)]
pub struct Part {
    /// The CPU threads.
    pub threads: usize,
    /// The number of the group of clusters that have the same devices.
    pub group: usize,
    /// The devices.
    pub devices: Vec<usize>,
    /// How many clusters use these at a time, at most.
    pub sharers: usize,
}

/// A cluster, and what is wanted of it.
pub struct Course<'a> {
    arguments: &'a Arguments,
    ranks: Ranks<'a>,
    /// The ranks, if each has a share of the bodies.
    sharing: Option<&'a Team>,
    pub shares: Option<Shares<'a>>,
    plan: Plan,
    /// The number of intervals, and of those that are done.
    pub intervals: u64,
    pub done: u64,
    rules: Option<SubsystemRules>,
    groups: Option<Groups>,
    energies: Energies,
    format: Format,
    output: Output,
    /// The last meeting of all bodies, which the integrator has.
    pub meeting: Snapshot<'static>,
    /// The number of the first one.
    first: u64,
    /// The number of all bodies at the start.
    pub count: usize,
    /// The numbers that bodies had at the start, in which those that became others leave gaps.
    names: Vec<usize>,
    pub report: Report,
}

/// A cluster whose forces are still unknown.
pub struct Prepared<'a> {
    pub course: Course<'a>,
    system: System,
    threads: usize,
    fields: Vec<Field>,
    laws: Vec<Law>,
}

/// A cluster on its way.
pub struct Evolving<'a> {
    pub course: Course<'a>,
    pub integrator: Box<dyn Integrator + Send>,
}

impl<'a> Prepared<'a> {
    /// Reads what the arguments name, of which one file at most has bodies. The output is opened here, so
    /// that an error about files comes before the work.
    pub fn new(arguments: &'a Arguments, ranks: Ranks<'a>, part: Option<&Part>) -> Result<Prepared<'a>> {
        if let Some(path) = &arguments.plot {
            picture::check(path)?;
        }
        let format = format(arguments);
        let mut settings = arguments.machine.settings()?;
        settings.threads = part.map_or(settings.threads, |part| part.threads);
        let resumed = given::resumed(arguments, &settings, ranks)?;
        let (mut plan, intervals) = options::plan(arguments, &settings, resumed.as_ref())?;
        if ranks.team().is_some() {
            options::check_suits_ranks(arguments, &plan)?;
        }
        let sharing = given::sharing(ranks, &plan);
        let mut input = given::input(arguments, ranks, sharing)?;
        let units = input.as_mut().map_or(Ok(None), |input| options::units(arguments, input, &mut plan))?;
        let different = given::softenings(resumed.as_ref(), input.as_ref(), sharing)?;
        let mut groups = softenings::groups(arguments, &mut plan, different.as_deref())?;
        let rules = subsystems::rules(arguments, (&plan, groups.as_ref()), resumed.as_ref())?;
        settings.precision = Some(plan.precision);
        let mut setup = settings.setup(plan.order, plan.precision)?;
        part.iter().for_each(|part| setup.devices.clone_from(&part.devices));
        let (field_settings, fields) = options::fields(arguments, &setup, resumed.as_ref(), ranks)?;
        let (law_settings, laws) = options::laws(arguments, &setup, resumed.as_ref(), ranks)?;
        beginning::check(arguments, &laws, rules)?;
        sharing.map_or(Ok(()), |_| options::check_suits_shares(arguments, &laws))?;
        let from = resumed.as_ref().map_or(0.0, Snapshot::time);
        for time in [from, from + intervals as f64 * plan.interval] {
            fields.iter().try_for_each(|field| field.check_time(time))?;
        }

        let format = format?;
        let output = output(arguments, ranks, format, resumed.as_ref())?;
        // Ranks that are to have a share know that there are softenings.
        let softened = input.as_mut().filter(|input| different.is_some() && input.softenings.is_none());
        softened.into_iter().for_each(|input| input.softenings = Some(Vec::new()));
        let mut start = match resumed {
            Some(snapshot) => going_on(&plan, snapshot, [&field_settings, &law_settings]),
            None => fresh(&plan, input.map_or_else(|| modelled(arguments, &setup, ranks), Ok)?),
        };
        let shares =
            sharing.map(|team| Shares::deal(team, &mut start, different.as_ref().map(Vec::len))).transpose()?;
        if let (Some(groups), Some(softenings)) = (&mut groups, &start.softenings) {
            softenings::assign(groups, softenings)?;
        }
        (start.fields, start.laws) = (field_settings, law_settings);
        let own = start.bodies.len();
        let energies = energies(&setup, &plan, (ranks, sharing), own)?;
        let mut system = System::new(&setup)?;
        system.set_tree(plan.tree)?;
        let count = shares.as_ref().map_or(own, Shares::all);
        let report = report((arguments, &plan, rules), (&settings, &setup, &system), (count, shares.is_some()));
        system.share_devices(part.map_or(0, |part| part.sharers));
        let course = Course {
            arguments,
            ranks,
            sharing,
            shares,
            plan,
            intervals,
            done: 0,
            rules,
            groups,
            energies,
            format,
            output,
            first: start.number,
            meeting: start,
            count,
            names: (0..own).collect(),
            report,
        };
        Ok(Prepared { course, system, threads: setup.threads, fields, laws }.described(units))
    }

    /// Completes the report.
    fn described(mut self, units: Option<String>) -> Prepared<'a> {
        let Course { report, groups, meeting, ranks, .. } = &mut self.course;
        report.units = units;
        report.fields = self.fields.iter().map(|field| field.name().to_string()).collect();
        report.laws = self.laws.iter().map(|law| law.name().to_string()).collect();
        if let (Some(groups), Some(softenings)) = (groups, &meeting.softenings) {
            report.with_softenings(softenings::of_report(groups, softenings));
        }
        report.over(*ranks);
        self
    }

    /// Returns the times of the start and of the end.
    pub fn times(&self) -> [f64; 2] {
        let Course { meeting, intervals, plan, .. } = &self.course;
        [meeting.time(), meeting.time() + *intervals as f64 * plan.interval]
    }

    /// Computes the first forces and energies.
    pub fn begin(self) -> Result<(Evolving<'a>, Row)> {
        let Prepared { mut course, system, threads, fields, laws } = self;
        let Course { arguments, ranks, sharing, ref plan, intervals, rules, format, .. } = course;
        ranks.team().map_or(Ok(()), |team| team.require_kind(&system))?;
        let system = match (ranks.team(), sharing) {
            (None, _) => system.into(),
            (Some(team), None) => SharedSystem::over(team, system)?,
            (Some(_), Some(team)) => SharedSystem::of_own_bodies(team, system, course.meeting.bodies.len())?,
        };
        let mut acting = Fields::new(plan.gravity, threads);
        acting.start = course.meeting.time();
        acting.replace(fields);
        let described =
            format!("{plan:?} {rules:?} {intervals} {format:?} {:?} {:?}", arguments.output, arguments.watch);
        ranks.require_same(&described, if sharing.is_some() { &[] } else { &course.meeting.bodies })?;
        let beside = Beside { fields: acting, laws, rules, groups: course.groups.as_ref(), sharing };
        let integrator = beginning::integrator(system, &mut course.meeting, beside)?;
        let mut evolving = Evolving { course, integrator };
        let energy = evolving.energy()?;
        let meeting = &mut evolving.course.meeting;
        if meeting.initial_energy.is_nan() {
            meeting.initial_energy = energy.total();
        }
        evolving.course.report.initial_energy = meeting.initial_energy;
        let row = evolving.row(energy)?;
        Ok((evolving, row))
    }
}

impl Evolving<'_> {
    /// Advances all bodies by an interval. `pass` is told the fraction of it, the block steps and the time.
    pub fn advance(&mut self, pass: &mut dyn FnMut(f64, u64, f64)) -> Result<Row> {
        let Course { plan, meeting, report, names, done, first, .. } = &mut self.course;
        let began = Instant::now();
        mergers::advance(&mut *self.integrator, plan, meeting, Told { report, names }, pass)?;
        report.seconds += began.elapsed().as_secs_f64();
        *done += 1;
        meeting.number = *first + *done;
        let energy = self.energy()?;
        self.row(energy)
    }

    fn energy(&mut self) -> Result<Energy> {
        let Evolving { course: Course { energies, groups, meeting, .. }, integrator } = self;
        let energy = match groups {
            Some(groups) => energies.of_groups(integrator.bodies(), groups)?,
            None => energies.with_subsystems(integrator.bodies(), integrator.subsystems().0)?,
        };
        let potential = energy.potential + integrator.law_energy(meeting.time())?;
        Ok(Energy { potential, field: integrator.field_energy(meeting.time())?, ..energy })
    }

    fn row(&mut self, energy: Energy) -> Result<Row> {
        let Course { arguments, meeting, .. } = &self.course;
        let errors = if arguments.report_error { self.integrator.tree_errors(SAMPLES)? } else { None };
        Ok(Row::new(meeting.time(), energy, meeting.initial_energy, errors))
    }

    /// Writes a snapshot, if there is a folder for it.
    pub fn write(&mut self) -> Result<()> {
        let Evolving { course: Course { arguments, shares, rules, format, output, meeting, .. }, integrator } = self;
        meeting.subsystems = Subsystems::of(&**integrator, *rules);
        match shares {
            None => output.write(meeting, integrator.bodies()),
            Some(_) if arguments.output.is_none() => Ok(()),
            Some(shares) => shares.write(output, *format, meeting, integrator.bodies()),
        }
    }

    /// Ends the course, and returns its report.
    pub fn end(self) -> Result<Report> {
        let Evolving { course: Course { plan, output, meeting, names, mut report, .. }, integrator } = self;
        report.subsystems(meeting.subsystems.as_ref(), (plan.gravity, &names))?;
        report.end(integrator.counts(), output.end()?);
        Ok(report)
    }
}

/// Returns the format of snapshots: that which is asked for, or that of the one from which a run goes on.
fn format(arguments: &Arguments) -> Result<Format> {
    let Some(name) = arguments.format.as_deref() else {
        let extension = arguments.resume.first().and_then(|path| path.extension());
        let is_of = |format: &Format| extension.is_some_and(|found| found == format.extension());
        return Ok(Format::ALL.into_iter().find(is_of).unwrap_or(Format::Text));
    };
    named("--format", name, &Format::ALL, Format::name)
}

/// Opens the folder for snapshots, and tries the path of the plot.
fn output(arguments: &Arguments, ranks: Ranks, format: Format, resumed: Option<&Snapshot>) -> Result<Output> {
    let before = arguments.resume.first().map(|path| &**path).zip(resumed.map(|snapshot| snapshot.number));
    let folder = arguments.output.as_deref().filter(|_| ranks.is_first());
    let output = Output::new(folder, format, arguments.overwrite, before)?;
    if let Some(path) = arguments.plot.as_ref().filter(|_| ranks.is_first()) {
        picture::try_path(path)?;
    }
    Ok(output)
}

/// Makes what computes energies of so many own bodies.
fn energies(setup: &Setup, plan: &Plan, (ranks, sharing): (Ranks, Option<&Team>), own: usize) -> Result<Energies> {
    let energies = match sharing {
        None => Energies::over(ranks.team(), setup, plan.gravity, plan.softening),
        Some(team) => Energies::of_own_bodies((team, own), setup, plan.gravity, plan.softening),
    };
    Ok(energies?.by_tree(plan.tree)?)
}

fn report(
    (arguments, plan, rules): (&Arguments, &Plan, Option<SubsystemRules>),
    (settings, setup, system): (&Settings, &Setup, &System),
    (count, is_shared): (usize, bool),
) -> Report {
    let tree_crossover = if is_shared { system.tree_crossover_of_ranks() } else { system.tree_crossover() };
    let mut report = Report::new(plan, settings, setup, system, (count, tree_crossover));
    report.shows_errors = arguments.report_error;
    report.with_mergers(rules.and_then(|rules| rules.speed_of_light));
    report
}

/// Makes the start of a resumed run. With another order the integrator begins anew, because its
/// state belongs to the old order. With other forces, fields or laws the reference of the energy begins
/// anew too.
fn going_on(plan: &Plan, mut start: Snapshot<'static>, [fields, laws]: [&[TextSetting]; 2]) -> Snapshot<'static> {
    let time = start.time();
    let before = std::mem::replace(&mut start.plan, plan.clone());
    let others = fields != start.fields || laws != start.laws;
    let other_forces = (plan.gravity, plan.softening) != (before.gravity, before.softening) || others;
    if other_forces || plan.order != before.order {
        let centres = start.subsystems.iter_mut().flat_map(|subsystems| &mut subsystems.all);
        let bodies = start.bodies.to_mut().iter_mut().chain(centres.map(|subsystem| &mut subsystem.centre));
        bodies.for_each(|body| *body = body.without_forces());
    }
    if other_forces {
        start.initial_energy = f64::NAN;
    }
    if plan.interval != before.interval {
        start.origin = Origin { number: start.number, time };
    }
    start
}

/// Returns the bodies of the model of a command line.
fn modelled(arguments: &Arguments, setup: &Setup, ranks: Ranks) -> Result<Input> {
    let mut unsoftened = Energies::over(ranks.team(), setup, 1.0, 0.0)?;
    let bodies = plummer::standard(arguments.plummer.unwrap_or(2) as usize, arguments.seed, &mut unsoftened)?;
    Ok(Input { bodies, softenings: None, units: None })
}

/// Makes the start of a new run. Its initial energy is not known yet.
fn fresh(plan: &Plan, Input { bodies, softenings, .. }: Input) -> Snapshot<'static> {
    let origin = Origin { number: 0, time: 0.0 };
    Snapshot {
        plan: plan.clone(),
        number: 0,
        origin,
        initial_energy: f64::NAN,
        fields: Vec::new(),
        laws: Vec::new(),
        subsystems: None,
        softenings,
        bodies: bodies.into(),
    }
}

/// The number of bodies by which the errors of a tree are measured.
const SAMPLES: usize = 1000;
