//! The walk over cells of sinks, each with the cells of sources that are still undecided for it.
//!
//! A cell of sinks tests its list: expansions that are accepted are added, cells that are larger
//! than itself are opened, and the rest is left to its children, or summed directly. A cell depends
//! on its own list alone, so that threads and tasks change no bit.

use std::ops::Range;
use std::sync::Mutex;

use crate::cells::Cell;
use crate::criterion::MOST_PARTS;
use kyoho_core::{Result, memory};
use kyoho_hal::threads::Threads;
use kyoho_laws::simd::expansions::{CellRecord, Expansions, Number, SinkCell, Sorted, Tests};

use super::cell_list::CellList;
use super::octree::Octree;

/// A cell with at most this many sinks is one thread's, with all cells below it.
const SINKS_OF_TASK: u32 = 2048;

/// A pass over the cells of sinks.
pub trait Pass: Sync {
    /// What a cell hands to each of its children.
    type State: Copy + Send + Sync;
    /// The result of a sink.
    type Out: Send;
    /// The memory that a thread works in.
    type Scratch: Default + Send;

    /// Returns what the root gets.
    fn first(&self) -> Self::State;
    /// Does the work of a cell, and hands down the list of cells that are left to its children.
    /// Returns whether there are children to go on with; then it has put what they get into the
    /// first of the states that are handed down. `out` are the results of its sinks, and empty
    /// where it has too many sinks for a task.
    fn visit(
        &self,
        cell: usize,
        state: &Self::State,
        list: &[u32],
        handed: &mut Handed<Self::State>,
        scratch: &mut Self::Scratch,
        out: &mut [Self::Out],
    ) -> Result<bool>;
}

/// A cell to be visited.
struct Visit<S> {
    cell: usize,
    state: S,
    /// The list of the parent, among those of its generation.
    list: usize,
}

/// A cell that is visited with all cells below it.
struct Task<'a, S, O> {
    visit: Visit<S>,
    out: &'a mut [O],
    outcome: Result<()>,
}

/// The list that a cell leaves to its children, and what they get.
pub type Handed<S> = (CellList, Vec<S>);
/// The memory of a thread: that of the pass, and what the cells of each depth below a task hand
/// down.
type Memory<P> = (<P as Pass>::Scratch, Vec<Handed<<P as Pass>::State>>);

/// Walks over all cells of sinks. The root has `first` for its list. Returns the memory that the
/// threads worked in.
pub fn walk<P: Pass>(
    pass: &P,
    tree: &Octree,
    first: &[u32],
    out: &mut [P::Out],
    threads: &Threads,
) -> Result<Vec<P::Scratch>> {
    if tree.cells.is_empty() {
        return Ok(Vec::new());
    }
    let scratch: Mutex<Vec<Memory<P>>> = Mutex::new(Vec::new());
    let new = || (P::Scratch::default(), Vec::new());
    let mut lists = vec![CellList::of(first)?];
    let mut large = Vec::new();
    let mut small = Vec::new();
    let sort = |visit: Visit<P::State>, large: &mut Vec<_>, small: &mut Vec<_>| {
        let cell = tree.cells[visit.cell];
        let is_large = cell.bodies > SINKS_OF_TASK && !cell.is_leaf();
        memory::push(if is_large { large } else { small }, visit, "cells of sinks")
    };
    // The lists of all generations stay, as small cells of any may need them.
    sort(Visit { cell: 0, state: pass.first(), list: 0 }, &mut large, &mut small)?;
    while !large.is_empty() {
        let base = lists.len();
        let mut visited = memory::room(large.len(), "cells of sinks")?;
        for visit in large.drain(..) {
            visited.push((visit, Handed::default(), Ok(false)));
        }
        let before = &lists;
        threads.run(visited.iter_mut(), &scratch, new, |(visit, handed, outcome), (scratch, _)| {
            *outcome = pass.visit(visit.cell, &visit.state, &before[visit.list], handed, scratch, &mut []);
        });
        for (number, (visit, (kept, states), outcome)) in visited.into_iter().enumerate() {
            memory::push(&mut lists, kept, "lists of cells")?;
            if outcome? {
                for (child, state) in tree.cells[visit.cell].child_range().zip(states) {
                    sort(Visit { cell: child, state, list: base + number }, &mut large, &mut small)?;
                }
            }
        }
    }
    small.sort_unstable_by_key(|visit| tree.cells[visit.cell].first_body);
    let mut tasks = memory::room(small.len(), "cells of sinks")?;
    let (mut rest, mut start) = (out, 0);
    for visit in small {
        let Range { start: first, end } = tree.cells[visit.cell].body_range();
        let (out, after) = std::mem::take(&mut rest)[first - start..].split_at_mut(end - first);
        tasks.push(Task { visit, out, outcome: Ok(()) });
        (rest, start) = (after, end);
    }
    threads.run(tasks.iter_mut(), &scratch, new, |task, (scratch, stack)| {
        let Visit { cell, state, list } = &task.visit;
        let first = tree.cells[*cell].first_body as usize;
        task.outcome = descend(pass, tree, (*cell, state), &lists[*list], (0, stack), scratch, (first, task.out));
    });
    tasks.into_iter().try_for_each(|task| task.outcome)?;
    let scratch = scratch.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    memory::collected(scratch.into_iter().map(|(scratch, _)| scratch), "lists of cells")
}

/// Visits a cell and all below it.
fn descend<P: Pass>(
    pass: &P,
    tree: &Octree,
    (cell, state): (usize, &P::State),
    list: &[u32],
    (depth, stack): (usize, &mut Vec<Handed<P::State>>),
    scratch: &mut P::Scratch,
    (first, out): (usize, &mut [P::Out]),
) -> Result<()> {
    memory::lengthen(stack, depth + 1, "lists of cells", Handed::default)?;
    let mut handed = std::mem::take(&mut stack[depth]);
    let bodies = tree.cells[cell].body_range();
    let of_cell = &mut out[bodies.start - first..bodies.end - first];
    let goes_on = pass.visit(cell, state, list, &mut handed, scratch, of_cell);
    let (goes_on, mut outcome) = match goes_on {
        Ok(goes_on) => (goes_on, Ok(())),
        Err(error) => (false, Err(error)),
    };
    if goes_on {
        for (child, state) in tree.cells[cell].child_range().zip(&handed.1) {
            outcome = descend(pass, tree, (child, state), &handed.0, (depth + 1, stack), scratch, (first, out));
            if outcome.is_err() {
                break;
            }
        }
    }
    stack[depth] = handed;
    outcome
}

/// The lists that a cell of sinks sorts cells of sources into.
#[derive(Default)]
pub struct Sorting {
    /// The cells to be tested.
    work: Vec<u32>,
    opened: CellList,
    /// The cells whose expansions are accepted.
    pub accepted: CellList,
}

impl Sorting {
    /// Tests a list of cells, opens those that are to be opened, and leaves the rest in `kept`, in
    /// which no cell with children has more than `most` bodies. `test` sorts out a list, and returns
    /// how many cells it has accepted, opened and kept.
    pub fn sort(
        &mut self,
        cells: &[Cell],
        (list, most): (&[u32], u32),
        kept: &mut CellList,
        mut test: impl FnMut(&[u32], Sorted) -> [usize; 3],
    ) -> Result<()> {
        let Sorting { work, opened, accepted } = self;
        accepted.clear();
        kept.clear();
        let mut first = true;
        loop {
            let list = if first { list } else { &work[..] };
            if list.is_empty() {
                return Ok(());
            }
            first = false;
            let room = list.len() + kyoho_laws::lanes::MAX_LANES;
            opened.clear();
            let had_kept = kept.len();
            let sorted = Sorted { accepted: accepted.room(room)?, opened: opened.room(room)?, kept: kept.room(room)? };
            let [more, open, keep] = test(list, sorted);
            accepted.take(more);
            opened.take(open);
            kept.take(keep);
            work.clear();
            let mut open_cell = |cell: &Cell| -> Result<()> {
                let children = cell.child_range();
                memory::reserve(work, children.len(), "lists of cells")?;
                work.extend(children.start as u32..children.end as u32);
                Ok(())
            };
            opened.iter().try_for_each(|cell| open_cell(&cells[*cell as usize]))?;
            if most < u32::MAX {
                kept.retain_from(had_kept, |number| {
                    let cell = &cells[number as usize];
                    let is_large = cell.bodies > most && !cell.is_leaf();
                    if is_large {
                        open_cell(cell)?;
                    }
                    Ok(!is_large)
                })?;
            }
        }
    }
}

/// Returns a cell of sinks as a test reads it, with half of a squared softening and the largest
/// difference from that.
pub fn sink_cell<E: Number>(
    (center, radius): ([f64; 3], f64),
    [softening2, spread]: [f64; 2],
    bound: f64,
    is_last: bool,
) -> SinkCell<E> {
    let radius = radius + spread.sqrt();
    let high = center.map(E::from_f64);
    SinkCell {
        center: high,
        center_low: std::array::from_fn(|k| E::from_f64(center[k] - high[k].to_f64())),
        radius: E::from_f64(radius),
        least_part: E::from_f64(radius / MOST_PARTS),
        bound: E::from_f64(bound),
        opens: E::from_f64(if is_last { 0.0 } else { radius }),
        softening2: E::from_f64(softening2),
        spread: E::from_f64(spread),
    }
}

/// Tests by the criterion.
pub fn test<'a, E: Number>(
    expansions: &'a dyn Expansions<E>,
    records: &'a [CellRecord<E>],
    tests: &'a Tests<E>,
    sink: &'a SinkCell<E>,
) -> impl FnMut(&[u32], Sorted) -> [usize; 3] + 'a {
    |list, sorted| expansions.test(records, list, sink, tests, sorted)
}
