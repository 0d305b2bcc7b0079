//! Bodies with softenings of their own in a run: their option, and their setting in snapshots.

use kyoho_core::error::shown;
use kyoho_files::names::SOFTENINGS;
use kyoho_integrators::groups::{Groups, MOST_GROUPS, Member};
use kyoho_integrators::plan::Plan;

use crate::failure::Result;
use crate::run::options::{Arguments, wrong};
use crate::run::snapshot::Value;
use crate::run::snapshot_header::Header;

/// The name of their column in texts and of their dataset in HDF5.
pub const NAME: &str = SOFTENINGS[0];

/// The setting of a snapshot that has them, which is how many different ones there are.
const COUNT: &str = "softenings";

/// Returns the different ones among these, in the order in which they come. Of more than there may be
/// groups, one too many is returned.
pub fn different(softenings: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    for softening in softenings {
        if !found.contains(softening) {
            found.push(*softening);
            if found.len() > MOST_GROUPS {
                break;
            }
        }
    }
    found
}

/// Returns all different ones among these, ascending.
fn sorted(softenings: &[f64]) -> Vec<f64> {
    let mut all = softenings.to_vec();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}

/// Returns how many different ones there are among these.
pub fn count(softenings: &[f64]) -> usize {
    sorted(softenings).len()
}

/// Returns the setting of a snapshot with so many different ones.
pub fn setting(different: usize) -> (&'static str, Value) {
    (COUNT, Value::Count(different as u64))
}

/// Returns the softenings of groups, or all different ones of bodies that have some of their own.
pub fn of_report(groups: &Groups, softenings: &[f64]) -> Vec<f64> {
    if groups.has_own_softenings() {
        return sorted(softenings);
    }
    (0..groups.count()).map(|group| groups.softening(group)).collect()
}

/// Reads the setting of a snapshot, whose softenings are still missing if it has some.
pub fn read(header: &Header) -> Result<Option<Vec<f64>>> {
    if !header.words.contains_key(COUNT) {
        return Ok(None);
    }
    let count = |word: &str| word.parse().ok().filter(|count: &usize| *count > 0);
    header.value(COUNT, count).map(|_| Some(Vec::new()))
}

/// Fails unless a finite number may be a softening length.
pub fn check(softening: f64) -> std::result::Result<(), String> {
    if softening >= 0.0 {
        return Ok(());
    }
    Err(format!("the softening is {}; allowed: zero and above", shown(softening)))
}

/// Returns the groups of bodies that have softenings of their own, still without the bodies: from the
/// different softenings. If all have the same one, it becomes that of the plan, and there are no groups.
pub fn groups(arguments: &Arguments, plan: &mut Plan, different: Option<&[f64]>) -> Result<Option<Groups>> {
    let Some(different) = different else { return Ok(None) };
    if let Some(eps) = arguments.eps {
        let allowed = "no --eps with bodies that have softenings of their own, in a column eps";
        return Err(wrong("--eps", shown(eps), allowed.into()));
    }
    if let [one] = different[..] {
        plan.softening = one;
        return Ok(None);
    }
    if arguments.report_error {
        let allowed = "with one softening of all bodies";
        return Err(wrong("--report-error", "given with several softenings".into(), allowed.into()));
    }
    if different.len() > MOST_GROUPS {
        // As in a cluster, which makes no groups of so many.
        return Ok(Some(Groups::one(plan.softening)));
    }
    // The order of groups is part of the bits, and a cluster begins with the softening of the plan.
    let first = if different.contains(&plan.softening) { plan.softening } else { different[0] };
    let mut groups = Groups::one(first);
    different.iter().filter(|softening| **softening != first).try_for_each(|other| groups.add(*other).map(drop))?;
    Ok(Some(groups))
}

/// Puts bodies with these softenings in their groups. One that has no group of its softening keeps this
/// in the first group.
pub fn assign(groups: &mut Groups, softenings: &[f64]) -> Result<()> {
    groups.reserve(softenings.len())?;
    for softening in softenings {
        let own = || Member { own_softening: Some(*softening), ..Member::of(0) };
        groups.push(groups.with_softening(*softening).map_or_else(own, Member::of));
    }
    Ok(())
}
