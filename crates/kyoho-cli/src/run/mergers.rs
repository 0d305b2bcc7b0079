//! An interval of a run, in which bodies may become one by relativity.

use kyoho_integrators::encounters::Encounter;
use kyoho_integrators::plan::{Plan, SHORTEST, SHORTEST_INTERVAL};
use kyoho_integrators::{Approach, EnergyJump, Integrator};

use crate::failure::Result;
use crate::run::report::Report;
use crate::run::snapshot::Snapshot;
use crate::run::subsystems;

/// What is told of an interval.
pub struct Told<'a> {
    pub report: &'a mut Report,
    /// The places that bodies had at the start of the run, by those that they have now.
    pub names: &'a mut Vec<usize>,
}

/// Advances all bodies by an interval that begins at a meeting. Where two become one, all meet; the one
/// that has nothing is taken away, and the rest of the interval follows. `pass` is told the fraction of the
/// interval, the block steps and the time.
pub fn advance(
    integrator: &mut dyn Integrator,
    plan: &Plan,
    meeting: &mut Snapshot,
    Told { report, names }: Told,
    pass: &mut dyn FnMut(f64, u64, f64),
) -> Result<()> {
    let (start, mut done) = (meeting.time(), 0.0);
    while plan.interval - done >= SHORTEST_INTERVAL {
        let (rest, now) = (plan.interval - done, start + done);
        if done > 0.0 {
            integrator.set_plan(rest_of(plan, rest));
        }
        integrator.fields_mut().start = now;
        integrator.laws_mut().start = now;
        let mut go_on = |fraction: f64, blocks: u64| {
            let time = done + fraction * rest;
            pass(time / plan.interval, blocks, start + time);
            Ok(true)
        };
        let approach = integrator.advance(&mut go_on).map_err(subsystems::failure)?;
        let name = |bodies: [usize; 2]| bodies.map(|place| names[place]);
        report.approach(approach.map(|found| Approach { bodies: name(found.bodies), ..found }), now);
        let jump = integrator.energy_jump();
        report.energy_jump(jump.map(|found| EnergyJump { bodies: name(found.bodies), ..found }), now);
        let reached = integrator.reached();
        let mut stay = vec![true; names.len()];
        for found in integrator.encounters() {
            let masses = found.bodies.map(|place| integrator.bodies()[place].mass);
            let [one, other] = found.bodies;
            let bodies = if masses[1] > masses[0] { [other, one] } else { [one, other] };
            stay[bodies[1]] = false;
            report.merger(Encounter { bodies: name(bodies), ..*found }, now);
        }
        if stay.contains(&false) {
            keep(integrator, meeting, names, &stay);
            integrator.start().map_err(subsystems::failure)?;
        }
        done = if reached == 1.0 { plan.interval } else { done + reached * rest };
    }
    integrator.set_plan(plan.clone());
    Ok(())
}

/// Returns the plan of the rest of an interval.
fn rest_of(plan: &Plan, rest: f64) -> Plan {
    let longest = plan.longest.min(rest);
    Plan { interval: rest, longest, shortest: plan.shortest.min(longest).max(rest * SHORTEST), ..plan.clone() }
}

/// Takes bodies away that do not stay.
fn keep(integrator: &mut dyn Integrator, meeting: &mut Snapshot, names: &mut Vec<usize>, stay: &[bool]) {
    let mut next = 0..;
    let places: Vec<Option<usize>> = stay.iter().map(|stays| if *stays { next.next() } else { None }).collect();
    fn retain<T>(items: &mut Vec<T>, stay: &[bool]) {
        let mut stay = stay.iter();
        items.retain(|_| stay.next().is_none_or(|stays| *stays));
    }
    retain(integrator.bodies_mut(), stay);
    integrator.keep_subsystems(&places);
    meeting.softenings.iter_mut().for_each(|softenings| retain(softenings, stay));
    retain(names, stay);
}
