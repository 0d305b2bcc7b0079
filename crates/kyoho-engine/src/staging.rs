//! Bodies of the host that a device reads as they are: many sources that replace all others, and
//! the sinks of trees.
//!
//! Several threads copy them, a piece after the other, into memory that the device may page-lock,
//! and each piece is on its way while the next one is copied. The copies stay, so that the host can
//! go on where the device fails.

use std::ops::Range;
use std::sync::Mutex;

use kyoho_core::memory::{self, Pages};
use kyoho_core::sinks::{Limits, NumberedSinks, SinkScan, widened};
use kyoho_core::{
    Bodies, BodyColumns, DeviceBodies, DevicePlace, Error, Result, Sink, Source, TreeAccuracy, TreeBlock,
};
use kyoho_hal::threads::Threads;
use kyoho_methods::device_arrays::{DeviceArrays, MovingPlaces};

use super::checks::check_sink;
use super::device_arrays::arrays_of;
use super::devices::Devices;
use super::{SinkPlace, Stage, System};

/// The fewest bodies that a device reads as they are. Fewer go as records, without a wait.
const LEAST: usize = 1 << 12;
/// The bodies that are sent at a time.
const OF_PIECE: usize = 1 << 18;
/// The bodies that a thread copies at a time.
const OF_JOB: usize = 1 << 12;

/// Copies of bodies.
#[derive(Default)]
pub(super) struct Staged {
    bodies: Bodies,
    /// The places of what rounding takes off positions and velocities, in the staging area alone.
    lost: Option<[usize; 2]>,
    /// Whether they are the sources that the device has, or the bodies that it moves.
    pub is_current: bool,
}

/// The quantities that copies have beside positions and indices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// None.
    Sinks,
    /// Masses and times.
    Sources,
    /// Masses, velocities and accelerations.
    Moving,
}

/// Places for the quantities of consecutive bodies.
pub(super) struct Places<'a> {
    pub positions: &'a mut [[f64; 3]],
    pub indices: &'a mut [i32],
    pub masses: &'a mut [f64],
    pub times: &'a mut [f64],
    pub velocities: &'a mut [[f64; 3]],
    pub accelerations: &'a mut [[f64; 3]],
}

impl<'a> Places<'a> {
    /// Divides them into jobs, each with the number of its first body; that of all is `first`.
    fn jobs(mut self, first: usize) -> Result<Vec<(usize, Places<'a>)>> {
        let count = self.positions.len().div_ceil(OF_JOB);
        memory::collected((0..count).map(|job| (first + job * OF_JOB, self.take(OF_JOB))), "pieces of bodies")
    }

    /// Takes those of the first bodies away.
    fn take(&mut self, count: usize) -> Places<'a> {
        fn first<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
            let count = count.min(rest.len());
            rest.split_off_mut(..count).unwrap_or_default()
        }
        Places {
            positions: first(&mut self.positions, count),
            indices: first(&mut self.indices, count),
            masses: first(&mut self.masses, count),
            times: first(&mut self.times, count),
            velocities: first(&mut self.velocities, count),
            accelerations: first(&mut self.accelerations, count),
        }
    }
}

/// Copies some bodies, from a number on, to their places, and returns a summary. Each of these is
/// compiled for every kind of caller, and nothing that calls it is.
pub(super) type Copying<'a, S> = &'a (dyn Fn(usize, Places) -> S + Sync);
/// Returns the least and the largest squared softening of the sinks of some numbers if all are these
/// sources, their indices too if that is asked for.
type Comparing<'a> = &'a (dyn Fn(Range<usize>, &Bodies, bool) -> Option<[f64; 2]> + Sync);

impl Staged {
    /// Returns the bodies.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Copies a column of vectors back from the staging area.
    pub fn fetch(&mut self, arrays: &mut dyn DeviceArrays, k: usize) -> Result<()> {
        let Some(column) = self.bodies.columns.derivatives[k] else { return Ok(()) };
        arrays.fetch_staged(self.bodies.pages.as_mut_slice(), column..column + 24 * self.bodies.count)
    }

    /// Returns the places of bodies that move.
    pub fn moving_places(&self) -> Option<MovingPlaces> {
        let [Some(positions), Some(velocities), Some(accelerations), ..] = self.bodies.columns.derivatives else {
            return None;
        };
        self.lost.map(|lost| MovingPlaces { positions, velocities, accelerations, lost })
    }

    /// Makes room for this many bodies of a kind.
    pub fn make_room(&mut self, count: usize, kind: Kind, devices: &mut Devices) -> Result<()> {
        self.is_current = false;
        // What was sent last may still be on its way, if nothing was made of it.
        arrays_of(devices)?.finish_staging()?;
        let moves = kind == Kind::Moving;
        let mut wanted = BodyColumns { indices: Some(()), ..BodyColumns::NONE };
        wanted.derivatives[..3].copy_from_slice(&[Some(()), moves.then_some(()), moves.then_some(())]);
        wanted.masses = (kind != Kind::Sinks).then_some(());
        wanted.times = (kind == Kind::Sources).then_some(());
        let (columns, mut bytes) = wanted.lay_out(count);
        self.lost = moves.then_some([bytes, bytes + 24 * count]);
        bytes += if moves { 48 * count } else { 0 };
        if self.bodies.pages.bytes() < bytes {
            self.bodies.pages = Pages::new(bytes + bytes / 4, "bodies on their way")?;
        }
        (self.bodies.count, self.bodies.columns) = (count, columns);
        Ok(())
    }

    /// Returns the places of all bodies.
    fn places(&mut self) -> Places<'_> {
        let Bodies { count, columns, .. } = self.bodies;
        let mut rest = self.bodies.pages.as_mut_slice::<u8>();
        let mut taken = 0;
        // In the order of `BodyColumns::lay_out`. No bytes would not be aligned to numbers.
        let mut next = |column: Option<usize>, width: usize| {
            let column = column?;
            let end = column + width * count;
            let bytes = rest.split_off_mut(..end - taken)?;
            let skipped = column - taken;
            taken = end;
            Some(&mut bytes[skipped..])
        };
        let (positions, velocities) = (next(columns.derivatives[0], 24), next(columns.derivatives[1], 24));
        let accelerations = next(columns.derivatives[2], 24);
        let (masses, times, indices) = (next(columns.masses, 8), next(columns.times, 8), next(columns.indices, 4));
        Places {
            positions: positions.map_or(&mut [], bytemuck::cast_slice_mut),
            indices: indices.map_or(&mut [], bytemuck::cast_slice_mut),
            masses: masses.map_or(&mut [], bytemuck::cast_slice_mut),
            times: times.map_or(&mut [], bytemuck::cast_slice_mut),
            velocities: velocities.map_or(&mut [], bytemuck::cast_slice_mut),
            accelerations: accelerations.map_or(&mut [], bytemuck::cast_slice_mut),
        }
    }

    /// Copies bodies by several threads and begins to send what they have but for indices and times.
    /// `copy` gets the number of the first of some bodies and their places, and returns a summary;
    /// the sum of all is returned, or the first that `is_good` rejects.
    pub fn fill<S: Copy + Send>(
        &mut self,
        threads: &Threads,
        arrays: &mut dyn DeviceArrays,
        (none, add): (S, fn(S, S) -> S),
        is_good: fn(&S) -> bool,
        copy: Copying<S>,
    ) -> Result<S> {
        let sum = Mutex::new(none);
        let locked = || sum.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let BodyColumns { masses, derivatives, .. } = self.bodies.columns;
        for first in (0..self.bodies.count).step_by(OF_PIECE) {
            let mut places = self.places();
            places.take(first);
            let piece = places.take(OF_PIECE);
            let length = piece.positions.len();
            threads.each(piece.jobs(first)?.into_iter(), |(first, places)| {
                let some = copy(first, places);
                let mut sum = locked();
                *sum = add(*sum, some);
            });
            if !is_good(&locked()) {
                break;
            }
            for (column, width) in derivatives.map(|column| (column, 24)).into_iter().chain([(masses, 8)]) {
                if let Some(column) = column {
                    arrays.stage(&self.bodies.pages, column + width * first..column + width * (first + length))?;
                }
            }
        }
        let sum = *locked();
        Ok(sum)
    }

    /// Sends a column of this width as a whole.
    pub fn send(&self, arrays: &mut dyn DeviceArrays, column: Option<usize>, width: usize) -> Result<()> {
        match column {
            Some(column) => arrays.stage(&self.bodies.pages, column..column + width * self.bodies.count),
            None => Ok(()),
        }
    }

    /// Returns the arrays in the staging area.
    pub fn on_device(&self) -> DeviceBodies {
        DeviceBodies { place: DevicePlace::STAGING, columns: self.bodies.arrays("a copy") }
    }
}

/// Where the sources of a system are, as they were written last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SourcesAt {
    /// In the host's copy and its journal.
    Host,
    /// On the device alone: at this many addresses from 0 on.
    Device(usize),
    /// There, and in the copies of the host that were sent.
    DeviceAndCopies(usize),
}

/// Where the host has the sinks of the last block, if only the device has them packed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum KeptSinks {
    /// Nowhere.
    Nowhere,
    /// In a copy of their own.
    Own,
    /// They are the sources, with this squared softening.
    Sources(f64),
}

/// Whether sinks are good and have the same softening.
fn is_uniform(scan: &SinkScan) -> bool {
    scan.good && scan.softening2[0] >= scan.softening2[1]
}

/// A summary of sources.
#[derive(Clone, Copy)]
struct SourceScan {
    good: bool,
    /// Whether some have an index that is not their address.
    indices: bool,
    /// Whether some have a time that is not 0.
    times: bool,
}

impl SourceScan {
    /// The summary of no sources.
    const NOTHING: SourceScan = SourceScan { good: true, indices: false, times: false };

    fn and(self, other: SourceScan) -> SourceScan {
        SourceScan {
            good: self.good & other.good,
            indices: self.indices | other.indices,
            times: self.times | other.times,
        }
    }
}

impl System {
    /// Returns where the sources are.
    pub(super) fn sources_at(&self) -> SourcesAt {
        match (self.journal.sources().on_device(), self.staged_sources.is_current) {
            (0, _) => SourcesAt::Host,
            (count, false) => SourcesAt::Device(count),
            (count, true) => SourcesAt::DeviceAndCopies(count),
        }
    }

    /// Whether the first device of the system reads many bodies as they are: it does where they have
    /// positions alone, and no other device needs them.
    pub(super) fn can_stage(&mut self, count: usize) -> bool {
        let of_first = self.first_has_all() && self.interaction.n_coefficients == 1;
        count >= LEAST && of_first && self.devices.arrays(0).is_some()
    }

    /// Writes many sources to the addresses from 0 on in the place of all others, by the device.
    /// Returns false, and changes nothing, where it cannot or one of them is not good.
    pub(super) fn stage_sources(
        &mut self,
        count: usize,
        source_at: &(impl Fn(usize) -> Source + Sync),
    ) -> Result<bool> {
        self.forget_moving();
        if !self.can_stage(count) {
            return Ok(false);
        }
        let bounds = self.interaction.bounds;
        let positions = |first: usize, places: Places| {
            let mut scan = SourceScan::NOTHING;
            for (address, (position, mass)) in (first..).zip(places.positions.iter_mut().zip(places.masses)) {
                let source = source_at(address);
                let [x, y, z] = source.coefficients[0];
                let near = |value: f64| value.abs() <= bounds.position;
                scan.good &= near(x) & near(y) & near(z);
                scan.good &= (source.mass.abs() <= bounds.mass) & (source.time.abs() <= f64::MAX);
                scan.indices |= source.index != address as i32;
                scan.times |= source.time != 0.0;
                (*position, *mass) = ([x, y, z], source.mass);
            }
            scan
        };
        let rest = |first: usize, places: Places| {
            for (address, (index, time)) in (first..).zip(places.indices.iter_mut().zip(places.times)) {
                let source = source_at(address);
                (*index, *time) = (source.index, source.time);
            }
        };
        self.take_staged_sources(count, &positions, &rest)
    }

    /// Does as [`System::stage_sources`] does, of sources of which one function copies positions and
    /// masses and the other one the rest.
    fn take_staged_sources(&mut self, count: usize, positions: Copying<SourceScan>, rest: Copying<()>) -> Result<bool> {
        let mut staged = std::mem::take(&mut self.spare_sources);
        let outcome = self.send_sources(&mut staged, count, positions, rest);
        self.spare_sources = staged;
        match outcome {
            Ok(true) => (),
            Ok(false) => return Ok(false),
            Err(error) => return self.log_and_use_host_path(error),
        }
        let sources = self.spare_sources.on_device();
        match self.take_sources((&sources, count), false) {
            Ok(_) => {
                std::mem::swap(&mut self.staged_sources, &mut self.spare_sources);
                self.staged_sources.is_current = true;
                Ok(true)
            }
            Err(error) => self.log_and_use_host_path(error),
        }
    }

    /// Copies and sends sources. Returns false if one of them is not good.
    fn send_sources(
        &mut self,
        staged: &mut Staged,
        count: usize,
        positions: Copying<SourceScan>,
        rest: Copying<()>,
    ) -> Result<bool> {
        staged.make_room(count, Kind::Sources, &mut self.devices)?;
        let arrays = arrays_of(&mut self.devices)?;
        let sum = (SourceScan::NOTHING, SourceScan::and as fn(SourceScan, SourceScan) -> SourceScan);
        let scan = staged.fill(&self.threads, arrays, sum, |scan| scan.good, positions)?;
        if !scan.good {
            return Ok(false);
        }
        // Few callers give either.
        if scan.indices || scan.times {
            self.threads.each(staged.places().jobs(0)?.into_iter(), |(first, places)| rest(first, places));
        }
        let BodyColumns { indices, times, .. } = &mut staged.bodies.columns;
        *indices = indices.filter(|_| scan.indices);
        *times = times.filter(|_| scan.times);
        let BodyColumns { indices, times, .. } = staged.bodies.columns;
        staged.send(arrays, indices, 4)?;
        staged.send(arrays, times, 8)?;
        Ok(true)
    }

    /// Begins the forces by a tree on many sinks, which the device reads as they are. Returns
    /// false, and changes nothing, where it cannot, where they are none for it, or where one of
    /// them is not good.
    pub(super) fn start_staged(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        count: usize,
        given: &impl NumberedSinks,
    ) -> Result<bool> {
        let pairs = (count as u64).saturating_mul(nj as u64);
        let Some(accuracy) = self.tree_of_pairs(pairs) else { return Ok(false) };
        given.prepare(0..count);
        let limits = Limits::of(&self.interaction);
        let copy = |first: usize, places: Places| {
            let mut scan = SinkScan::NOTHING;
            for (number, (position, index)) in (first..).zip(places.positions.iter_mut().zip(places.indices)) {
                let sink = given.sink(number);
                scan.take(&sink, limits);
                (*position, *index) = (sink.derivatives[0], sink.index);
            }
            scan
        };
        let compare = |numbers: Range<usize>, sources: &Bodies, with_indices: bool| {
            let (mut softening2, mut are) = (SinkScan::NOTHING.softening2, true);
            for number in numbers {
                let sink = given.sink(number);
                softening2 = widened(softening2, sink.softening2);
                are &= (sink.derivatives[0] == sources.vector(0, number)) & (sink.softening2 >= 0.0);
                are &= !with_indices | (sink.index == sources.index(number));
            }
            are.then_some(softening2)
        };
        self.start_staged_by((nj, skip_own_index, count), accuracy, &copy, &compare)
    }

    /// Does as [`System::start_staged`] does, of sinks that one function copies and the other one
    /// compares with sources.
    fn start_staged_by(
        &mut self,
        (nj, skip_own_index, count): (usize, bool, usize),
        accuracy: TreeAccuracy,
        copy: Copying<SinkScan>,
        compare: Comparing,
    ) -> Result<bool> {
        self.forget_moving();
        if !self.can_stage(count) {
            return Ok(false);
        }
        let sources_at = self.sources_at();
        let end = nj.min(match sources_at {
            SourcesAt::Host => self.journal.count(),
            SourcesAt::Device(all) | SourcesAt::DeviceAndCopies(all) => all,
        });
        // Where the host has the sources, it compares sinks with them.
        if end == 0 || sources_at == SourcesAt::Host && count == end {
            return Ok(false);
        }
        // The summary of sinks that are the sources is known of all sources alone.
        let may_be_sources = sources_at == SourcesAt::DeviceAndCopies(count) && count == end;
        let scan = if may_be_sources { self.scan_of_sources(skip_own_index, count, compare) } else { None };
        let (scan, are_sources, softening2) = match scan {
            Some(scan) => {
                let softening2 = scan.softening2[0];
                self.kept_sinks = KeptSinks::Sources(softening2);
                (scan, true, softening2)
            }
            None => {
                let mut staged = std::mem::take(&mut self.staged_sinks);
                let outcome = self.send_sinks(&mut staged, (count, end), skip_own_index, copy);
                self.staged_sinks = staged;
                let (scan, are_sources) = match outcome {
                    Ok(Some(taken)) => taken,
                    Ok(None) => return Ok(false),
                    Err(error) => return self.log_and_use_host_path(error),
                };
                self.kept_sinks = KeptSinks::Own;
                (scan, are_sources, self.staged_sinks.bodies.softening2)
            }
        };
        self.candidates.make_room(count, &self.interaction)?;
        let tree = TreeBlock { accuracy, softening2, are_sources: Some(are_sources) };
        self.start_candidates(nj, skip_own_index, scan, SinkPlace::Device(Some(tree)))?;
        Ok(true)
    }

    /// Returns the summary of sinks that are the staged sources at their numbers, their indices too
    /// if they are skipped; `None` if one of them is not, or has another softening.
    fn scan_of_sources(&self, skip_own_index: bool, count: usize, compare: Comparing) -> Option<SinkScan> {
        let sources = &self.staged_sources.bodies;
        let all = Mutex::new(Some(SinkScan::NOTHING.softening2));
        let locked = || all.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.threads.each(0..count.div_ceil(OF_JOB), |job| {
            if locked().is_none() {
                return;
            }
            let some = compare(job * OF_JOB..count.min((job + 1) * OF_JOB), sources, skip_own_index);
            let mut all = locked();
            *all = all.zip(some).map(|(all, some)| [all[0].min(some[0]), all[1].max(some[1])]);
        });
        let [least, largest] = (*locked())?;
        (least == largest).then(|| self.scan_of_all(largest)).filter(|scan| scan.good)
    }

    /// Returns the summary of sinks that are the sources on the device, with this squared softening.
    pub(super) fn scan_of_all(&self, softening2: f64) -> SinkScan {
        let mut scan = SinkScan { softening2: [softening2; 2], ..SinkScan::NOTHING };
        scan.largest[0] = self.journal.sources().size_of_positions();
        scan.good = check_sink(&self.interaction, ("sink", 0), &Sink { softening2, ..Sink::NOTHING }).is_ok();
        scan
    }

    /// Copies and sends sinks, and returns their summary and whether they are the sources; `None`
    /// if one of them is not good or has another softening.
    fn send_sinks(
        &mut self,
        staged: &mut Staged,
        (count, end): (usize, usize),
        skip_own_index: bool,
        copy: Copying<SinkScan>,
    ) -> Result<Option<(SinkScan, bool)>> {
        staged.make_room(count, Kind::Sinks, &mut self.devices)?;
        let arrays = arrays_of(&mut self.devices)?;
        let scan = staged.fill(&self.threads, arrays, (SinkScan::NOTHING, SinkScan::and), is_uniform, copy)?;
        if !is_uniform(&scan) {
            return Ok(None);
        }
        staged.bodies.softening2 = scan.softening2[0];
        // Indices count only where sinks leave out sources by them.
        let mut sinks = staged.on_device();
        sinks.columns.indices = sinks.columns.indices.filter(|_| skip_own_index);
        staged.send(arrays, staged.bodies.columns.indices.filter(|_| skip_own_index), 4)?;
        let are_sources = count == end && arrays.sinks_are_sources(&sinks, count, skip_own_index)?;
        if !are_sources {
            arrays.take_sinks(&sinks, count, staged.bodies.softening2)?;
        }
        Ok(Some((scan, are_sources)))
    }

    /// Returns that the host does what the device failed at before a block began, where the device
    /// may go on or another one takes its place.
    pub(super) fn log_and_use_host_path(&self, error: Error) -> Result<bool> {
        debug_assert!(self.stage != Stage::Started);
        log::debug!("bodies go by the host's copy: {error}");
        Ok(false)
    }
}
