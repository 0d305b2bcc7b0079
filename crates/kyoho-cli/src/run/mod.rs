//! `kyoho run`: integrates an N-body system.

mod beginning;
mod given;
pub mod input;
mod mergers;
mod options;
mod output;
mod plot;
mod report;
mod shares;
pub mod snapshot;
pub mod snapshot_hdf5;
mod snapshot_header;
mod softenings;
mod subsystems;
mod text_setting;
mod watch;

use std::time::Instant;

use indicatif::ProgressBar;

use beginning::Beside;
use input::Input;
use output::Output;
use report::{Report, Row};
use shares::Shares;
use snapshot::{Format, Origin, Snapshot};
use text_setting::TextSetting;
use watch::Watch;

use crate::failure::Result;
use crate::machine::named;
use crate::model::plummer;
use crate::ranks::Ranks;
use crate::{picture, progress};
use kyoho::{Setup, System};
use kyoho_integrators::Integrator;
use kyoho_integrators::body::Body;
use kyoho_integrators::energy::{Energies, Energy};
use kyoho_integrators::fields::Fields;
use kyoho_integrators::plan::Plan;
use kyoho_ranks::SharedSystem;

pub use options::Arguments;

/// Integrates and prints a report. Ranks do it together.
pub fn run(arguments: &Arguments, ranks: Ranks) -> Result<()> {
    if let Some(path) = &arguments.plot {
        picture::check(path)?;
    }
    let format = arguments.format.as_deref().map(|name| named("--format", name, &Format::ALL, Format::name));
    let mut settings = arguments.machine.settings()?;
    let resumed = given::resumed(arguments, &settings, ranks)?;
    let (mut plan, intervals) = options::plan(arguments, &settings, resumed.as_ref())?;
    if ranks.team().is_some() {
        options::check_suits_ranks(arguments, &plan)?;
    }
    let sharing = given::sharing(ranks, &plan);
    let mut input = given::input(arguments, ranks, sharing)?;
    let units = input.as_mut().map_or(Ok(None), |input| options::units(arguments, input, &mut plan))?;
    let own = resumed.as_ref().map(|snapshot| &snapshot.softenings).or(input.as_ref().map(|input| &input.softenings));
    let different = given::softenings(own.and_then(|softenings| softenings.as_deref()), sharing)?;
    let mut groups = softenings::groups(arguments, &mut plan, different.as_deref())?;
    let rules = subsystems::rules(arguments, (&plan, groups.as_ref()), resumed.as_ref())?;
    settings.precision = Some(plan.precision);
    let setup = settings.setup(plan.order, plan.precision)?;
    let (field_settings, fields) = options::fields(arguments, &setup, resumed.as_ref(), ranks)?;
    let (law_settings, laws) = options::laws(arguments, &setup, resumed.as_ref(), ranks)?;
    beginning::check(arguments, &laws, rules)?;
    sharing.map_or(Ok(()), |_| options::check_suits_shares(arguments, &laws))?;
    let from = resumed.as_ref().map_or(0.0, Snapshot::time);
    let until = from + intervals as f64 * plan.interval;
    for time in [from, until] {
        fields.iter().try_for_each(|field| field.check_time(time))?;
    }

    // The output is opened before the work begins, so that an error about files comes first.
    let before = arguments.resume.as_deref().zip(resumed.as_ref().map(|snapshot| snapshot.number));
    let format = format.transpose()?.unwrap_or(Format::Text);
    let mut output =
        Output::new(arguments.output.as_deref().filter(|_| ranks.is_first()), format, arguments.overwrite, before)?;
    let plot = arguments.plot.as_ref().filter(|_| ranks.is_first());
    if let Some(path) = plot {
        picture::try_path(path)?;
    }
    // Ranks that are to have a share know that there are softenings.
    let softened = input.as_mut().filter(|input| different.is_some() && input.softenings.is_none());
    softened.into_iter().for_each(|input| input.softenings = Some(Vec::new()));
    let mut start = match resumed {
        Some(snapshot) => going_on(&plan, snapshot, [&field_settings, &law_settings]),
        None => fresh(&plan, input.map_or_else(|| modelled(arguments, &setup, ranks), Ok)?),
    };
    let shares = sharing.map(|team| Shares::deal(team, &mut start, different.as_ref().map(Vec::len))).transpose()?;
    if let (Some(groups), Some(softenings)) = (&mut groups, &start.softenings) {
        softenings::assign(groups, softenings)?;
    }
    let own = start.bodies.len();
    let energies = Energies::new(&setup, plan.gravity, plan.softening)?;
    let energies = match sharing {
        None => energies.over(ranks.team())?,
        Some(team) => energies.of_own_bodies(team, own)?,
    };
    let mut energies = energies.by_tree(plan.tree)?;
    let mut system = System::new(&setup)?;
    system.set_tree(plan.tree)?;
    let names = fields.iter().map(|field| field.name().to_string()).collect();
    let count = shares.as_ref().map_or(own, Shares::all);
    let mut report = Report::new(&plan, &settings, &setup, &system, count);
    report.shows_errors = arguments.report_error;
    report.fields = names;
    report.laws = laws.iter().map(|law| law.name().to_string()).collect();
    report.units = units;
    if let (Some(groups), Some(softenings)) = (&groups, &start.softenings) {
        report.with_softenings(softenings::of_report(groups, softenings));
    }
    report.with_mergers(rules.and_then(|rules| rules.speed_of_light));
    report.over(ranks);
    let watch = arguments.watch.filter(|_| ranks.is_first());
    let watch = watch.map(|port| Watch::new(port, report.title(), [from, until])).transpose()?;
    report.begin(arguments.json)?;

    ranks.team().map_or(Ok(()), |team| team.require_kind(&system))?;
    let system = match (ranks.team(), sharing) {
        (None, _) => system.into(),
        (Some(team), None) => SharedSystem::over(team, system)?,
        (Some(_), Some(team)) => SharedSystem::of_own_bodies(team, system, own)?,
    };
    let mut meeting = start;
    (meeting.fields, meeting.laws) = (field_settings, law_settings);
    let first = meeting.number;
    let mut acting = Fields::new(plan.gravity, setup.threads);
    acting.start = meeting.time();
    acting.replace(fields);
    let described = format!("{plan:?} {rules:?} {intervals} {format:?} {:?} {:?}", arguments.output, arguments.watch);
    ranks.require_same(&described, if sharing.is_some() { &[] } else { &meeting.bodies })?;
    let beside = Beside { fields: acting, laws, rules, groups: groups.as_ref(), sharing };
    let mut integrator = beginning::integrator(system, &mut meeting, beside)?;
    let mut energy_of = |integrator: &mut dyn Integrator, time: f64| -> Result<Energy> {
        let energy = match &groups {
            Some(groups) => energies.of_groups(integrator.bodies(), groups)?,
            None => energies.with_subsystems(integrator.bodies(), integrator.subsystems().0)?,
        };
        let potential = energy.potential + integrator.law_energy(time)?;
        Ok(Energy { potential, field: integrator.field_energy(time)?, ..energy })
    };
    let measured = |integrator: &mut dyn Integrator| {
        if arguments.report_error { integrator.tree_errors(SAMPLES) } else { Ok(None) }
    };
    let energy = energy_of(&mut *integrator, meeting.time())?;
    if meeting.initial_energy.is_nan() {
        meeting.initial_energy = energy.total();
    }
    report.initial_energy = meeting.initial_energy;
    let errors = measured(&mut *integrator)?;
    let row = Row::new(meeting.time(), energy, meeting.initial_energy, errors);
    report.row(row, arguments.json)?;
    let show = |row: Row, integrator: &dyn Integrator, meeting: &Snapshot| -> Result<()> {
        let all = shares.as_ref().filter(|_| arguments.watch.is_some());
        let all = all.map(|shares| shares.shown(meeting, integrator.bodies())).transpose()?;
        if let Some(watch) = &watch {
            let bodies = all.as_deref().unwrap_or(integrator.bodies());
            // Of those that merge one is there no more.
            let count = if shares.is_some() { count } else { bodies.len() };
            watch.show(row.error(), integrator.counts(), (count, bodies));
        }
        Ok(())
    };
    show(row, &*integrator, &meeting)?;
    meeting.subsystems = subsystems::Subsystems::of(&*integrator, rules);
    let mut write = |meeting: &Snapshot<'static>, bodies: &[Body]| match &shares {
        None => output.write(meeting, bodies),
        Some(_) if arguments.output.is_none() => Ok(()),
        Some(shares) => shares.write(&mut output, format, meeting, bodies),
    };
    write(&meeting, integrator.bodies())?;

    let bar = if ranks.is_first() { progress::bar(intervals * PROGRESS as u64) } else { ProgressBar::hidden() };
    // Bodies that became others leave gaps in the numbers that bodies had at the start.
    let mut names: Vec<usize> = (0..own).collect();
    for done in 0..intervals {
        let began = Instant::now();
        let told = mergers::Told { report: &mut report, names: &mut names };
        mergers::advance(&mut *integrator, &plan, &mut meeting, told, &mut |fraction, blocks, time| {
            // Showing progress for each of a million blocks would cost more than the blocks.
            if blocks % 256 == 0 {
                watch.iter().for_each(|watch| watch.pass(time));
                bar.set_position(((done as f64 + fraction) * PROGRESS) as u64);
            }
        })?;
        report.seconds += began.elapsed().as_secs_f64();
        meeting.number = first + done + 1;
        let energy = energy_of(&mut *integrator, meeting.time())?;
        let errors = measured(&mut *integrator)?;
        let row = Row::new(meeting.time(), energy, meeting.initial_energy, errors);
        bar.suspend(|| report.row(row, arguments.json))?;
        show(row, &*integrator, &meeting)?;
        bar.set_position(((done + 1) as f64 * PROGRESS) as u64);
        meeting.subsystems = subsystems::Subsystems::of(&*integrator, rules);
        write(&meeting, integrator.bodies())?;
    }
    bar.finish_and_clear();
    report.subsystems(meeting.subsystems.as_ref(), (plan.gravity, &names))?;
    report.end(integrator.counts(), output.end()?, arguments.json)?;
    if let Some(path) = plot {
        plot::draw(path, &report.title(), &report.errors())?;
    }
    Ok(())
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
        bodies.for_each(|body| *body = Body::new(body.mass, body.position, body.velocity));
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
    let mut unsoftened = Energies::new(setup, 1.0, 0.0)?.over(ranks.team())?;
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

/// The number of ticks of the progress bar in an interval.
const PROGRESS: f64 = 1000.0;
