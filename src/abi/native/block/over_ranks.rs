//! Blocks of systems over ranks. Whatever is wrong with the arguments of one rank, it tells the
//! others, which would wait for it.

use crate::abi::arrays;
use kyoho_core::sinks::FromFn;
use kyoho_core::{Error, Forces, NeighbourCriterion, Result, Sinks};
use kyoho_engine::System;
use kyoho_engine::lists::{GivenBodies, GivenLists};
use kyoho_ranks::{Asked, RankedSystem};

use super::super::lists::give_lists;
use super::super::structures::{Memory, bad_field, kyoho_lists, kyoho_sinks, read};
use super::{AnyForceRows, ForceRows, SinkRows, criterion};

/// Copies the caller's sinks.
///
/// # Safety
/// The pointer is null or points to a structure whose arrays have as many elements as it says.
pub unsafe fn copy(system: &mut System, into: &mut Sinks, nj: i32, sinks: *const kyoho_sinks) -> Result<Asked> {
    // SAFETY: the caller's promise.
    let sinks = unsafe { read("sinks", sinks) }?;
    let nj = arrays::count("nj", nj)?;
    let rows = SinkRows::<f64>::new(system.interaction(), &sinks)?;
    let neighbour_criterion = criterion(system.interaction(), sinks.neighbour_criterion)?;
    if rows.place.is_some() {
        return Err(bad_field("kyoho_sinks.memory", Memory::Cuda as i32, "0 (KYOHO_MEMORY_HOST) over ranks"));
    }
    // SAFETY: every row is below `count`, and the caller leaves the arrays alone while its call lasts.
    let scan = system.copy_sinks(into, rows.count, &FromFn(|row| unsafe { rows.read(row) }))?;
    Ok(Asked { nj, skip_own_index: rows.skips_own_index, neighbour_criterion, radius: scan.radius })
}

/// Makes sinks of this rank's sources.
pub fn copy_all(system: &mut System, into: &mut Sinks, nj: i32, softening2: f64) -> Result<Asked> {
    let nj = arrays::count("nj", nj)?;
    system.sinks_of_all(into, nj, softening2)?;
    Ok(Asked { nj, skip_own_index: true, neighbour_criterion: NeighbourCriterion::default(), radius: false })
}

/// Computes the forces on the sinks that `copy` copies, and writes those of this rank.
///
/// # Safety
/// The arrays have a row for each sink of this rank.
pub unsafe fn force(
    system: &mut RankedSystem,
    rows: Result<AnyForceRows>,
    copy: impl FnOnce(&mut System, &mut Sinks) -> Result<Asked>,
) -> Result<()> {
    let rows = rows.and_then(on_host);
    let ready = rows.as_ref().map(|_| ()).map_err(Clone::clone);
    system.start(|system, into| ready.and_then(|()| copy(system, into)))?;
    // SAFETY: the caller's promise.
    unsafe { wait_for(system, rows) }
}

/// Computes the forces of interaction lists, and writes those of this rank.
///
/// # Safety
/// The pointers are null or point to structures whose arrays have as many elements as they should, those
/// of forces a row for each sink of this rank.
pub unsafe fn force_lists(
    system: &mut RankedSystem,
    rows: Result<AnyForceRows>,
    lists: *const kyoho_lists,
    sinks: *const kyoho_sinks,
) -> Result<()> {
    let rows = rows.and_then(on_host);
    let ready = rows.as_ref().map(|_| ()).map_err(Clone::clone);
    // SAFETY: the caller's promise.
    unsafe {
        start_lists(system, ready, lists, sinks)?;
        wait_for(system, rows)
    }
}

/// Begins the forces of interaction lists, if this rank is ready.
///
/// # Safety
/// The pointers are null or point to structures whose arrays have as many elements as they should.
pub unsafe fn start_lists(
    system: &mut RankedSystem,
    ready: Result<()>,
    lists: *const kyoho_lists,
    sinks: *const kyoho_sinks,
) -> Result<()> {
    system.start_lists(|system, end, into| {
        ready?;
        // SAFETY: null or structures.
        let (lists, sinks) = unsafe { (read("lists", lists)?, read("sinks", sinks)?) };
        for (field, memory) in [("kyoho_lists.memory", lists.memory), ("kyoho_sinks.memory", sinks.memory)] {
            if memory == Memory::Cuda as i32 {
                return Err(bad_field(field, memory, "0 (KYOHO_MEMORY_HOST) over ranks"));
            }
        }
        if !lists.sources.is_null() {
            return Err(bad_field("kyoho_lists.sources", "given", "NULL over ranks, and addresses or ranges"));
        }
        let mut skips_own_index = false;
        let copy = |system: &mut System, skips: bool, sinks: &GivenBodies, given: &GivenLists| {
            skips_own_index = skips;
            system.copy_lists(into, sinks, given, end)
        };
        // SAFETY: the arrays have as many elements as they should.
        unsafe { give_lists(system, &lists, &sinks, copy)? };
        Ok(skips_own_index)
    })
}

/// Waits for the forces of all ranks, and writes those of this one.
///
/// # Safety
/// As for [`force`].
pub unsafe fn wait(system: &mut RankedSystem, rows: Result<AnyForceRows>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { wait_for(system, rows.and_then(on_host)) }
}

/// # Safety
/// As for [`force`].
unsafe fn wait_for(system: &mut RankedSystem, rows: Result<ForceRows>) -> Result<()> {
    let ready = rows.as_ref().map(|_| ()).map_err(Clone::clone);
    let Ok(rows) = rows else { return system.wait(ready, |_| ()) };
    // SAFETY: the caller's promise.
    let write = |first: usize, forces: Forces| unsafe { rows.write(first, &forces) };
    system.wait_on_threads(ready, |sinks| rows.are_apart(sinks), write)
}

/// Returns the arrays, which have to lie in memory of the host.
fn on_host(rows: AnyForceRows) -> Result<ForceRows> {
    match rows {
        AnyForceRows::Doubles(rows) if rows.place.is_none() => Ok(rows),
        AnyForceRows::Doubles(_) => {
            Err(bad_field("kyoho_forces.memory", Memory::Cuda as i32, "0 (KYOHO_MEMORY_HOST) over ranks"))
        }
        AnyForceRows::Quad(_) => Err(Error::Internal { what: "forces of two doubles over ranks".into() }),
    }
}
