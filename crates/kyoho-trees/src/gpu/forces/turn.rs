//! The kernels of a turn, which sums the forces on some sinks.

use std::ops::Range;

use super::super::constants::{LANES, LEVELS_OF_SINKS, OWN_LISTED, SELECT_THREADS, SHIFT_THREADS, VALUE_THREADS};
use super::super::kernels::{Expansions, SinkKernels, launch, launch_after_copies, scan};
use super::arguments::Arguments;
use super::{ALL_LEVELS, Forces, REPORTED, Turn, WALKED, parts_of};
use crate::criterion::{CUT, Criterion, variation};
use kyoho_core::{Error, Result, TreePhase};
use kyoho_hal::gpu::{Address, Argument, DeviceMemory, Event, Gpu, HostMemory, Place};
use kyoho_laws::indices::components;

/// The most thread blocks for sinks whose number only the device knows.
const MOST_BLOCKS: usize = 1 << 15;
/// Thread blocks for sinks whose number is not known: one for so many bodies in each level, since
/// blocks without a sink take time, too, but no fewer than these.
const BODIES_OF_SINKS: [usize; LEVELS_OF_SINKS] = [256, 64, 8];
/// The fewest such thread blocks.
const LEAST_BLOCKS: usize = 1 << 10;
/// The most thread blocks that look for bodies alone among groups.
const MOST_LOOKING: usize = 1 << 13;
/// The most thread blocks that join the parts of groups.
const MOST_JOINING: usize = 1 << 11;

/// What the device has found.
pub(super) struct Report {
    /// The words of lists.
    words: usize,
    /// The sinks of each level.
    of_levels: [u32; ALL_LEVELS],
    /// The sorted bodies that these are.
    pub(super) sinks: Range<usize>,
}

impl Report {
    /// Returns the thread blocks for the sinks of a level.
    fn blocks(&self, level: usize) -> usize {
        (self.of_levels[level] as usize).clamp(1, MOST_BLOCKS)
    }
}

impl<G: Gpu> Forces<G> {
    /// Finds the sinks of a turn, how large their accelerations are, and which are groups: the first
    /// pass. It is repeated where there is too little room.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    pub(super) unsafe fn first_pass(&mut self, turn: &Turn<G>, kernels: &mut SinkKernels<G>) -> Result<Report> {
        let (on, cells) = (turn.on, turn.of_sinks.cells());
        self.clock.begin(on)?;
        loop {
            let sinks = LEVELS_OF_SINKS * cells + self.room_of_groups;
            for (room, bytes) in [(&mut self.sinks, 16), (&mut self.far_heads, 4), (&mut self.near_heads, 4)] {
                room.ensure_capacity(on.0, bytes * sinks)?;
            }
            let mut given = self.arguments(turn);
            // SAFETY: the caller's promise; there is room for so many cells and groups.
            unsafe { self.find_sinks(turn, kernels, &mut given, true)? };
            let report = self.report(on)?;
            let groups = report.of_levels[LEVELS_OF_SINKS] as usize;
            if groups > self.room_of_groups {
                self.room_of_groups = groups + groups / 4;
            } else if !self.has_room(on.0, report.words)? {
                continue;
            } else {
                given.level = LEVELS_OF_SINKS as i32;
                let shape = (report.blocks(LEVELS_OF_SINKS).min(MOST_LOOKING), LANES);
                // SAFETY: as above.
                unsafe { launch(on, &mut kernels.find_fields, shape, &given.find_fields())? };
                self.clock.end(on, TreePhase::FirstPass)?;
                return Ok(report);
            }
        }
    }

    /// Selects the sinks of a turn once more, after the first passes of others.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    pub(super) unsafe fn select_again(&mut self, turn: &Turn<G>, kernels: &mut SinkKernels<G>) -> Result<Report> {
        let mut given = self.arguments(turn);
        // SAFETY: the caller's promise; the first pass of the turn has made room.
        unsafe { self.find_sinks(turn, kernels, &mut given, false)? };
        self.report(turn.on)
    }

    /// Sums the forces of a turn after its first pass: the second one. It is repeated where there is too
    /// little room.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    pub(super) unsafe fn second_pass(
        &mut self,
        turn: &Turn<G>,
        (sink_kernels, kernels): (&mut SinkKernels<G>, &mut Expansions<G>),
        report: &Report,
    ) -> Result<()> {
        let on = turn.on;
        loop {
            self.parts.ensure_capacity(on.0, 8 * parts_of(self.room))?;
            let mut given = self.arguments(turn);
            // SAFETY: the caller's promise; there is room for what a turn needs but words.
            unsafe { self.walk(turn, kernels, &mut given, report)? };
            // Forces are added once, by lists that are complete.
            if turn.asked.adds {
                let Report { words, .. } = self.report(on)?;
                if !self.has_room(on.0, words)? {
                    continue;
                }
            }
            self.clock.end(on, TreePhase::Walk)?;
            // SAFETY: as above.
            unsafe {
                self.sum_expansions(on, kernels, &mut given, report)?;
                self.clock.end(on, TreePhase::Expansions)?;
                sum_near(on, sink_kernels, &given, report)?;
            }
            let Report { words, .. } = self.report(on)?;
            self.clock.end(on, TreePhase::NearSums)?;
            if !self.has_room(on.0, words)? {
                continue;
            }
            if self.clock.is_wanted() {
                let room = turn.of_sinks.cells();
                self.count(on, (turn.tree, turn.chosen), (words, room, &report.of_levels))?;
            }
            return Ok(());
        }
    }

    /// Whether there is room for so many words of lists. If not, it is made, and what they had is lost.
    fn has_room(&mut self, gpu: &G, words: usize) -> Result<bool> {
        let most = self.most_words;
        if words > most {
            let what = "the number of words of a tree's lists on one GPU";
            let allowed = format!("0 to {most}: call for fewer sinks at a time, or less accuracy");
            return Err(Error::BadCount { what, value: words as i64, allowed });
        }
        if words > self.room {
            self.make_room_for_words(gpu, (words + words / 4).min(most))?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns what kernels get in a turn. The memories for local expansions and the sums by them may
    /// become others in it.
    fn arguments(&self, turn: &Turn<G>) -> Arguments<Address<G>> {
        let Turn { tree, of_sinks, own, chosen, asked, order, share, done, to, .. } = *turn;
        let ([owns, own_firsts, own_nexts], own_kind) = own.arguments(self.used.0.address());
        let (sink_numbers, chosen_cells) = match chosen {
            Some(chosen) => (chosen.numbers.at(), chosen.cells.at()),
            None => (Argument::Memory(of_sinks.sorted_numbers()), self.used.at()),
        };
        let (tolerance, cut, varies) = match asked.criterion {
            Criterion::Error { tolerance } => (tolerance, CUT, variation(tolerance, order)),
            Criterion::Angle { theta } => (0.0, CUT * theta.min(1.0), theta / 2.0),
        };
        Arguments {
            cells: tree.cells.at(),
            highs: tree.high.at(),
            lows: tree.low.at(),
            places: tree.places.at(),
            reaches: tree.reaches.at(),
            moments: tree.moments.at(),
            frame: tree.cube.at(),
            sink_cells: of_sinks.cells.at(),
            sink_highs: of_sinks.high.at(),
            sink_lows: of_sinks.low.at(),
            sink_places: of_sinks.places.at(),
            sink_numbers,
            parents: of_sinks.parents.at(),
            leaves: of_sinks.leaves.at(),
            found: of_sinks.found.at(),
            chosen_cells,
            counts: self.counts.at(),
            totals: self.totals.at(),
            sinks: self.sinks.at(),
            numbers: self.numbers.at(),
            sink_counts: self.sink_counts.at(),
            fields: self.fields.at(),
            field_heads: self.field_heads.at(),
            far_heads: self.far_heads.at(),
            near_heads: self.near_heads.at(),
            lists: self.lists.at(),
            used: self.used.at(),
            parts: self.parts.at(),
            accelerations: self.accelerations.at(),
            ratios: self.ratios.at(),
            alike: self.alike.at(),
            groups: self.groups.at(),
            locals: self.locals.at(),
            far_sums: self.far_sums.at(),
            forces: Argument::Memory(to),
            owns: Argument::Memory(owns),
            own_firsts: Argument::Memory(own_firsts),
            own_nexts: Argument::Memory(own_nexts),
            // Groups need the ratios no more when forces are summed.
            seen_sinks: self.ratios.at(),
            own_kind,
            begin: share.begin as u32,
            end: share.end as u32,
            bodies: of_sinks.bodies as u32,
            done: done as u32,
            are_some: i32::from(chosen.is_some()),
            of_groups: 0,
            level: 0,
            by_angle: i32::from(matches!(asked.criterion, Criterion::Angle { .. })),
            adds: i32::from(asked.adds),
            is_sorted: i32::from(share.is_sorted),
            root: tree.root,
            room: of_sinks.cells() as u32,
            room_of_groups: self.room_of_groups as u32,
            room_of_parts: parts_of(self.room) as u32,
            list_room: self.room as u32,
            tolerance: tolerance as f32,
            cut2: (cut * cut) as f32,
            variation: varies as f32,
            softening2: asked.softening2,
            mass_factor: asked.mass_factor,
        }
    }

    /// Begins to find the sinks of all levels and the groups among them; their fields, and which cells are
    /// groups, in the first pass alone.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    unsafe fn find_sinks(
        &mut self,
        turn: &Turn<G>,
        kernels: &mut SinkKernels<G>,
        given: &mut Arguments<Address<G>>,
        is_first: bool,
    ) -> Result<()> {
        let (on, cells) = (turn.on, turn.of_sinks.cells());
        let tiles = cells.div_ceil(SELECT_THREADS);
        let shape = (tiles, SELECT_THREADS);
        // No level has more cells with a sink than there are sinks.
        let most = turn.chosen.map_or(cells, |chosen| chosen.most.min(cells));
        let bodies_of_share = turn.share.end - turn.share.begin;
        // SAFETY: the caller's promise.
        unsafe {
            on.0.zero(on.1, &self.used.0, 8)?;
            select(on, kernels, given, (LEVELS_OF_SINKS, tiles))?;
            if is_first {
                for (level, bodies) in BODIES_OF_SINKS.into_iter().enumerate() {
                    let blocks = (bodies_of_share / bodies).clamp(LEAST_BLOCKS.min(most), MOST_BLOCKS.min(most));
                    given.level = level as i32;
                    launch(on, &mut kernels.find_fields, (blocks, LANES), &given.find_fields())?;
                }
                launch(on, &mut kernels.find_groups, shape, &given.find_groups())?;
                launch(on, &mut kernels.choose_groups, shape, &given.choose_groups())?;
            }
            given.of_groups = 1;
            select(on, kernels, given, (1, tiles))
        }
    }

    /// Begins to find the interactions of all sinks.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    unsafe fn walk(
        &mut self,
        turn: &Turn<G>,
        kernels: &mut Expansions<G>,
        given: &mut Arguments<Address<G>>,
        report: &Report,
    ) -> Result<()> {
        let on = turn.on;
        let sinks: usize = WALKED.iter().map(|level| report.of_levels[*level] as usize).sum();
        // SAFETY: the caller's promise.
        unsafe {
            on.0.zero(on.1, &self.used.0, 8)?;
            self.locals.ensure_capacity(on.0, sinks * 4 * components(turn.order).next_multiple_of(4))?;
            given.locals = self.locals.at();
            for level in WALKED {
                given.level = level as i32;
                let shape = (report.blocks(level), LANES);
                launch_after_copies(on, &mut kernels.find_interactions, shape, &given.find_interactions())?;
            }
        }
        Ok(())
    }

    /// Begins to sum what is far from sinks, by expansions.
    ///
    /// # Safety
    /// As for [`Forces::sum`].
    unsafe fn sum_expansions(
        &mut self,
        on: (&G, &G::Queue),
        kernels: &mut Expansions<G>,
        given: &mut Arguments<Address<G>>,
        report: &Report,
    ) -> Result<()> {
        let all = WALKED.iter().map(|level| report.blocks(*level)).sum();
        // SAFETY: the caller's promise.
        unsafe {
            launch(on, &mut kernels.add_far, (all, LANES), &given.add_far())?;
            for level in &WALKED[1..] {
                given.level = *level as i32;
                let shape = (report.blocks(*level).div_ceil(SHIFT_THREADS), SHIFT_THREADS);
                launch(on, &mut kernels.shift_locals, shape, &given.shift_locals())?;
            }
            self.far_sums.ensure_capacity(on.0, 16 * report.sinks.len())?;
            given.far_sums = self.far_sums.at();
            let shape = (report.blocks(LEVELS_OF_SINKS).div_ceil(VALUE_THREADS / LANES), VALUE_THREADS);
            launch(on, &mut kernels.find_forces, shape, &given.find_forces())
        }
    }

    /// Waits for what the device has found.
    fn report(&mut self, (gpu, queue): (&G, &G::Queue)) -> Result<Report> {
        let to = self.report.as_mut_ptr();
        // SAFETY: the memories are that long, and the copies are waited for.
        unsafe {
            gpu.copy(queue, Place::Device(&self.used.0, 0), Place::Host(to), 4)?;
            let to = Place::Host(to.wrapping_add(4));
            gpu.copy(queue, Place::Device(&self.sink_counts.0, 0), to, 4 * (REPORTED - 1))?;
        }
        gpu.record(queue)?.wait()?;
        // SAFETY: the copies have ended.
        let found = unsafe { self.report.part::<u32>(0..REPORTED) };
        let [begin, end] = [1, 2].map(|k| found[ALL_LEVELS + k] as usize);
        let of_levels = std::array::from_fn(|level| found[1 + level]);
        Ok(Report { words: found[0] as usize, of_levels, sinks: begin..end })
    }
}

/// Begins to select the sinks of so many rows of counts: those of all levels, or groups.
///
/// # Safety
/// As for [`Gpu::launch`].
unsafe fn select<G: Gpu>(
    on: (&G, &G::Queue),
    kernels: &mut SinkKernels<G>,
    given: &Arguments<Address<G>>,
    (rows, tiles): (usize, usize),
) -> Result<()> {
    let shape = (tiles, SELECT_THREADS);
    // SAFETY: the caller's promise.
    unsafe {
        launch_after_copies(on, &mut kernels.count_sinks, shape, &given.count_sinks())?;
        scan(on, &mut kernels.scan_rows, (given.counts, given.totals), rows, tiles)?;
        launch(on, &mut kernels.place_sinks, shape, &given.place_sinks())
    }
}

/// Begins to sum what is near groups, body by body, and writes the forces.
///
/// # Safety
/// As for [`Gpu::launch`].
unsafe fn sum_near<G: Gpu>(
    on: (&G, &G::Queue),
    kernels: &mut SinkKernels<G>,
    given: &Arguments<Address<G>>,
    report: &Report,
) -> Result<()> {
    let blocks = report.blocks(LEVELS_OF_SINKS);
    // SAFETY: the caller's promise.
    unsafe {
        // Its longest parts come first. Were they put into the gaps that the kernel before leaves, few
        // multiprocessors would have most of them.
        launch_after_copies(on, &mut kernels.add_near, (blocks, LANES), &given.add_near())?;
        launch(on, &mut kernels.join_parts, (blocks.min(MOST_JOINING), LANES), &given.join_parts())?;
        if given.own_kind >= OWN_LISTED {
            launch(on, &mut kernels.leave_out_far, (blocks, LANES), &given.leave_out_far())?;
        }
    }
    Ok(())
}
