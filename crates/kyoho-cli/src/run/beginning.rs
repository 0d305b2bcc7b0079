//! The integrator of a run.

use kyoho_integrators::Integrator;
use kyoho_integrators::fields::Fields;
use kyoho_integrators::groups::Groups;
use kyoho_integrators::laws::Law;
use kyoho_integrators::subsystems::{SubsystemRules, check_masses};
use kyoho_ranks::{SharedSystem, Team};

use crate::failure::Result;
use crate::run::options::{Arguments, wrong};
use crate::run::snapshot::Snapshot;
use crate::run::subsystems;

/// What a run has beside bodies and their gravity.
pub struct Beside<'a> {
    /// The fields.
    pub fields: Fields,
    /// The laws.
    pub laws: Vec<Law>,
    /// How subsystems form and move, if they do.
    pub rules: Option<SubsystemRules>,
    /// The groups of bodies, if these differ.
    pub groups: Option<&'a Groups>,
    /// The ranks, if each has a share of the bodies.
    pub sharing: Option<&'a Team>,
}

/// Fails for laws that do not go together with subsystems.
pub fn check(arguments: &Arguments, laws: &[Law], rules: Option<SubsystemRules>) -> Result<()> {
    if laws.is_empty() || rules.is_none() {
        return Ok(());
    }
    let value = if arguments.laws.is_empty() { "in the snapshot" } else { "given" };
    let allowed = "without subsystems, whose bodies pull one another by their gravity alone";
    Err(wrong("--law", format!("{value} with subsystems"), allowed.into()))
}

/// Makes the integrator of the bodies of a meeting, which it takes. Where subsystems of the meeting form
/// at another radius, all begin anew.
pub fn integrator(
    system: SharedSystem,
    meeting: &mut Snapshot,
    Beside { fields, laws, rules, groups, sharing }: Beside,
) -> Result<Box<dyn Integrator + Send>> {
    let bodies = std::mem::take(&mut meeting.bodies).into_owned();
    let before = meeting.subsystems.take();
    if laws.is_empty() && rules.is_none() && groups.is_none() {
        return Ok(kyoho_integrators::in_fields(system, &meeting.plan, bodies, fields)?);
    }
    let start = fields.start;
    let mut integrator = kyoho_integrators::in_fields(system, &meeting.plan, Vec::new(), fields)?;
    let laws = integrator.laws().made(laws)?;
    integrator.laws_mut().take(laws);
    integrator.laws_mut().start = start;
    if let Some(groups) = groups {
        integrator.set_groups(Some(groups.copied()?))?;
    }
    if rules.is_some() {
        let named = bodies.iter().enumerate().map(|(place, body)| (place as i64 + 1, body.mass));
        check_masses(meeting.plan.gravity, named)?;
    }
    integrator.set_subsystems(rules)?;
    let chosen = before.as_ref().filter(|before| before.is_chosen).map(|before| before.radius);
    let radius = rules.map(|rules| if rules.radius == 0.0 { chosen.unwrap_or(0.0) } else { rules.radius });
    let goes_on = radius.is_none() || before.as_ref().is_some_and(|before| Some(before.radius) == radius);
    let mut is_known = goes_on && bodies.iter().all(|body| body.step > 0.0);
    if let Some(team) = sharing {
        // A rank without bodies knows nothing of them.
        is_known = !team.is_on_any(!is_known)?;
    }
    integrator.resume(bodies, before.map_or_else(Vec::new, |before| before.all), radius.unwrap_or(0.0))?;
    if !is_known {
        integrator.start().map_err(subsystems::failure)?;
    }
    Ok(integrator)
}
