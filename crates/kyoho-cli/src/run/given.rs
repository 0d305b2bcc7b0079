//! What a run is given: a snapshot or a file of bodies. Where each rank keeps a share of the bodies, the
//! first one alone reads them.

use std::borrow::Cow;
use std::path::Path;

use kyoho::config::Settings;
use kyoho_integrators::plan::Plan;
use kyoho_integrators::unit_systems::UnitSystem;
use kyoho_ranks::Team;

use crate::failure::{Failure, Result};
use crate::file;
use crate::ranks::Ranks;
use crate::run::input::Input;
use crate::run::options::{self, Arguments};
use crate::run::snapshot::{self, Snapshot};
use crate::run::softenings;

/// Returns the ranks, if each is to have a share of the bodies: several that sum by a tree.
pub fn sharing<'a>(ranks: Ranks<'a>, plan: &Plan) -> Option<&'a Team> {
    ranks.team().filter(|team| team.size() > 1 && plan.tree.is_some())
}

/// Returns the snapshot that the run goes on from. Where ranks are to have shares of its bodies, the first
/// one has all, and the others none.
pub fn resumed(arguments: &Arguments, settings: &Settings, ranks: Ranks) -> Result<Option<Snapshot<'static>>> {
    let Some(path) = arguments.resume.first() else { return Ok(None) };
    let Some(team) = ranks.team() else { return Snapshot::of(file::read(path)?.into(), path).map(Some) };
    let content = if ranks.is_first() { file::read(path)? } else { Vec::new() };
    let here = ranks.is_first().then(|| Snapshot::of(Cow::Borrowed(&content), path)).transpose()?;
    let plan = here.as_ref().map(|here| options::plan(arguments, settings, Some(here))).transpose()?;
    let is_shared = plan.is_some_and(|(plan, _)| sharing(ranks, &plan).is_some());
    if team.is_on_any(is_shared)? {
        let head = here.as_ref().map_or_else(String::new, |here| here.head(here.counts()));
        let head = file::text(team.of_first(head.into_bytes())?, path)?;
        return here.map_or_else(|| Snapshot::of_head(&head, path), Ok).map(Some);
    }
    let content = team.of_first(content)?;
    here.map_or_else(|| Snapshot::of(content.into(), path), Ok).map(Some)
}

/// Returns the bodies of the file that is given, all on the first rank where ranks are to have `shares`.
pub fn input(arguments: &Arguments, ranks: Ranks, shares: Option<&Team>) -> Result<Option<Input>> {
    let Some(path) = arguments.input.first() else { return Ok(None) };
    let Some(team) = shares else { return snapshot::bodies_of(ranks.read(path)?, path).map(Some) };
    let here = ranks.is_first().then(|| snapshot::bodies_of(file::read(path)?, path)).transpose()?;
    let units = here.as_ref().and_then(|here| here.units.as_ref()).map_or("", |(text, _)| text);
    let units = file::text(team.of_first(units.as_bytes().to_vec())?, path)?;
    match here {
        Some(here) => Ok(Some(here)),
        None => Ok(Some(Input { bodies: Vec::new(), softenings: None, units: units_of(units, path)? })),
    }
}

fn units_of(text: String, path: &Path) -> Result<Option<(String, UnitSystem)>> {
    if text.is_empty() {
        return Ok(None);
    }
    let system = UnitSystem::parse(&text).map_err(|error| Failure::file(path, error))?;
    Ok(Some((text, system)))
}

/// Returns the different softenings of bodies that have some of their own, on all ranks where the first
/// has these.
pub fn softenings(
    resumed: Option<&Snapshot>,
    input: Option<&Input>,
    shares: Option<&Team>,
) -> Result<Option<Vec<f64>>> {
    let own = resumed.map(|snapshot| &snapshot.softenings).or(input.map(|input| &input.softenings));
    let here = own.and_then(|softenings| softenings.as_deref()).map(softenings::different);
    let Some(team) = shares else { return Ok(here) };
    let bytes = here.iter().flatten().flat_map(|softening| softening.to_ne_bytes()).collect();
    let all = team.of_first(bytes)?;
    let all: Vec<f64> = all.as_chunks().0.iter().map(|number| f64::from_ne_bytes(*number)).collect();
    Ok(Some(all).filter(|all| !all.is_empty()))
}
