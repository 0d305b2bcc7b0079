//! Arrays of callers in the memory of the system's devices: sources, sinks and forces.

mod body;
mod list_checks;

use kyoho_core::sinks::SinkScan;
use kyoho_core::units::Census;
use kyoho_core::{CHUNK, DeviceArray, DeviceBodies, DeviceForces, DevicePlace, Error, Result, Sink, TreeBlock, memory};
use kyoho_hal::Backend;
use kyoho_methods::device_arrays::{DeviceArrays, Taken};

use super::all_sources::sink_of;
use super::checks::{check_numbers, check_sink};
use super::devices::Devices;
use super::lists::{Division, GivenBodies, GivenLists, GivenSources, largest_softening2};
use super::sources::replace_all;
use super::staging::{KeptSinks, SourcesAt};
use super::{SinkPlace, Stage, System};
use body::{Body, source_at};
use list_checks::CHECKS;
pub(super) use list_checks::{ListChecks, Listed};

impl System {
    /// Whether the first device reads and writes arrays of callers in its memory. With several devices and
    /// no tree such arrays go through the host, which divides all work among the devices.
    pub fn takes_arrays(&self) -> bool {
        self.first_has_all()
    }

    /// Returns the work of the system's device on arrays of a caller, after all that the caller
    /// began in its stream. A system without such arrays, or on other devices, is an error.
    fn arrays_at(&mut self, place: &DevicePlace) -> Result<&mut dyn DeviceArrays> {
        self.arrays_of_call(place, &mut Vec::new())
    }

    /// Returns what [`System::arrays_at`] does, for a call that has waited for these streams already.
    fn arrays_of_call(&mut self, place: &DevicePlace, waited: &mut Vec<u64>) -> Result<&mut dyn DeviceArrays> {
        let setup = self.setup();
        let refused = |allowed: String| Error::BadOption {
            name: format!("{}.memory", place.name),
            value: format!("1 (KYOHO_MEMORY_CUDA), device {}", place.device),
            allowed,
        };
        let (backend, devices) = (setup.backend, setup.devices.clone());
        if backend != Backend::Cuda {
            return Err(refused(format!("0 (KYOHO_MEMORY_HOST) in a system of backend '{}'", backend.name())));
        }
        // Those that go through the host may be on any of the system's devices.
        let of_system = if self.takes_arrays() { &devices[..1] } else { &devices[..] };
        let Some(number) = of_system.iter().position(|device| i32::try_from(*device) == Ok(place.device)) else {
            return Err(refused(match (devices.len(), of_system) {
                (1, [device]) => format!("device {device}, on which the system is"),
                (_, [device]) => format!("device {device}, the first of the system"),
                _ => format!("a device of the system, {devices:?}"),
            }));
        };
        if self.has_softenings() {
            return Err(refused("0 (KYOHO_MEMORY_HOST) in a system whose sources have softenings".into()));
        }
        let none = || refused("0 (KYOHO_MEMORY_HOST) on this device".into());
        let arrays = self.devices.arrays(number).ok_or_else(none)?;
        if !waited.contains(&place.stream) {
            arrays.wait_for_caller(place)?;
            memory::push(waited, place.stream, CHECKS)?;
        }
        Ok(arrays)
    }

    /// Copies the bytes of this many rows of an array on the device, from the lowest to the highest, and
    /// returns the place of the first row among them.
    pub fn copy_from_device(
        &mut self,
        place: &DevicePlace,
        array: &DeviceArray,
        rows: usize,
        copy: &mut Vec<u8>,
    ) -> Result<usize> {
        let arrays = self.arrays_at(place)?;
        arrays.check(array, rows)?;
        let (lowest, bytes) = array.extent(rows);
        let bytes = if rows == 0 { 0 } else { bytes };
        memory::lengthen(copy, bytes, "copies of arrays", || 0)?;
        copy.truncate(bytes);
        arrays.read(&DeviceArray { address: lowest, ..*array }, 0, copy)?;
        Ok((array.address - lowest) as usize)
    }

    /// Returns the memory of the copies that a call made last, for others.
    pub fn take_copies(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.copies)
    }

    /// Keeps the memory of copies for a later call.
    pub fn keep_copies(&mut self, copies: Vec<Vec<u8>>) {
        self.copies = copies;
    }

    /// Begins the forces on `count` sinks on the device as [`System::start`] does; those that have
    /// no softening of their own have this. The device takes a copy of them.
    pub fn start_on_device(
        &mut self,
        nj: usize,
        skip_own_index: bool,
        (sinks, count): (&DeviceBodies, usize),
        softening2: f64,
    ) -> Result<()> {
        self.require_no_block("start")?;
        let interaction = self.interaction.clone();
        // The neighbour lists of the last block may still need its sinks, which the device keeps.
        let is_needed = self.stage == Stage::Done && self.block.sinks_on_device && self.lists_wanted;
        if is_needed {
            self.fetch_sinks()?;
        }
        let is_each = sinks.columns.softening2.is_some();
        if !is_each && count > 0 && !(0.0..=largest_softening2(&interaction)).contains(&softening2) {
            check_sink(&interaction, ("sink", 0), &Sink { softening2, ..Sink::NOTHING })?;
        }
        let pairs = (count as u64).saturating_mul(nj as u64);
        let tree = self.tree_of_pairs(pairs);
        let end = nj.min(self.journal.sources().on_device());
        self.candidates.make_room(count, &interaction)?;
        let arrays = self.arrays_at(&sinks.place)?;
        sinks.given().try_for_each(|array| arrays.check(&array, count))?;
        let are_sources = tree.is_some()
            && !is_each
            && count > 0
            && count == end
            && arrays.sinks_are_sources(sinks, count, skip_own_index)?;
        if let Some(accuracy) = tree.filter(|_| are_sources && sinks.are_positions()) {
            // The device needs no copy of them.
            self.kept_sinks = KeptSinks::Sources(softening2);
            let tree = TreeBlock { accuracy, softening2, are_sources: Some(true) };
            let place = SinkPlace::Device(Some(tree));
            return self.start_candidates(nj, skip_own_index, self.scan_of_all(softening2), place);
        }
        self.kept_sinks = KeptSinks::Nowhere;
        let arrays = arrays_of(&mut self.devices)?;
        let scan = if count == 0 {
            SinkScan::NOTHING
        } else {
            let (scan, bad) = arrays.take_sinks(sinks, count, softening2)?;
            if let Some(number) = bad {
                let body = Body::read(arrays, sinks, number)?;
                let sink = body.sink(if is_each { None } else { Some(softening2) });
                return check_sink(&interaction, ("sink", number), &sink).and_then(|()| Err(unknown(number)));
            }
            scan
        };
        let place = match tree {
            None => SinkPlace::Device(None),
            Some(_) if is_each || count == 0 => SinkPlace::Host,
            Some(accuracy) if end > 0 || count != nj.min(self.journal.count()) => {
                SinkPlace::Device(Some(TreeBlock { accuracy, softening2, are_sources: Some(are_sources) }))
            }
            // The host, which has the sources, compares sinks with them.
            Some(_) => SinkPlace::Host,
        };
        if place == SinkPlace::Host && count > 0 {
            arrays_of(&mut self.devices)?.fetch_sinks(self.candidates.numbers_mut())?;
        }
        self.start_candidates(nj, skip_own_index, scan, place)
    }

    /// Computes the forces that `start` begins, and leaves them in arrays of the caller on the device
    /// as [`System::wait_on_device`] does. The sums of lists on the device go there straight away.
    pub fn leave_in(&mut self, forces: &DeviceForces, start: impl FnOnce(&mut System) -> Result<()>) -> Result<()> {
        self.require_no_block("start")?;
        self.receiving = Some(*forces);
        let begun = start(self);
        self.receiving = None;
        begun?;
        // After an error the device writes to the caller's arrays no more.
        self.wait_on_device(forces).inspect_err(|_| self.abandon())
    }

    /// Lets the candidate lists, whose groups are on the device, leave their forces in the arrays that
    /// the call names, unless these have bytes in common with the arrays that are read.
    pub(super) fn receive_forces(
        &mut self,
        sinks: &GivenBodies,
        given: &GivenLists,
        checks: &mut ListChecks,
    ) -> Result<()> {
        self.candidate_lists.forces = None;
        let (Some(forces), Division::Device(groups)) = (self.receiving, &given.division) else { return Ok(()) };
        let count = sinks.count;
        let arrays = self.arrays_of_call(&forces.place, &mut checks.waited)?;
        forces.given().try_for_each(|array| arrays.check(&array, count))?;
        let of_sinks = sinks.on_device.iter().flat_map(DeviceBodies::given).map(|array| (array, count));
        let all_sources = self.candidate_lists.sources_of(&(0..groups.count)).len();
        let of_sources: Vec<DeviceArray> = match &given.sources {
            GivenSources::Own(own) => own.on_device.iter().flat_map(DeviceBodies::given).collect(),
            GivenSources::AddressesOnDevice(addresses) => vec![*addresses],
            _ => Vec::new(),
        };
        let of_sources = of_sources.into_iter().map(|array| (array, all_sources));
        let mut read = groups.given().chain(of_sinks).chain(of_sources);
        let overlaps = |(array, rows): (DeviceArray, usize)| {
            let (first, bytes) = array.extent(rows);
            forces.given().any(|written| {
                let (other, of_other) = written.extent(count);
                first < other + of_other as u64 && other < first + bytes as u64
            })
        };
        if !read.any(overlaps) {
            self.candidate_lists.forces = Some(forces);
        }
        Ok(())
    }

    /// Waits for the forces and writes them to arrays of the caller on the device. If a sum is not
    /// finite, some may have been written.
    pub fn wait_on_device(&mut self, forces: &DeviceForces) -> Result<()> {
        if self.stage != Stage::Started {
            return Err(Error::CallOrder { call: "wait", when: "without start" });
        }
        let count = self.block.count();
        let arrays = self.arrays_at(&forces.place)?;
        forces.given().try_for_each(|array| arrays.check(&array, count))?;
        if self.leave_forces(forces)? {
            return Ok(());
        }
        // The host has the forces, or a sum is not finite.
        self.wait_each(|_, _| ())?;
        let sums = std::mem::take(&mut self.sums);
        let written = self.arrays_at(&forces.place).and_then(|arrays| arrays.write_forces_of_host(&sums, forces));
        self.sums = sums;
        written
    }

    /// Waits for the forces and lets the device write them to arrays there. Returns false if the host
    /// has them, or a sum is not finite; the block is still to be waited for then.
    pub(super) fn leave_forces(&mut self, forces: &DeviceForces) -> Result<bool> {
        let are_there =
            self.takes_arrays() && !self.devices.on_host() && self.devices.first_sums_all(self.block.count());
        if !are_there || !arrays_of(&mut self.devices)?.write_forces(forces)? {
            return Ok(false);
        }
        self.devices.end_block_of_first()?;
        self.stage = Stage::Done;
        self.has_sums = false;
        self.count_block();
        Ok(true)
    }

    /// Takes sources on the device in the place of all others, at addresses from 0 on. Where they
    /// are fewer than there were, a block is under way, or arrays go through the host, it returns false
    /// and takes none.
    pub fn set_sources_on_device(&mut self, sources: &DeviceBodies, count: usize) -> Result<bool> {
        if self.stage == Stage::Started || count < self.end || !self.takes_arrays() {
            return Ok(false);
        }
        let interaction = self.interaction.clone();
        let arrays = self.arrays_at(&sources.place)?;
        sources.given().try_for_each(|array| arrays.check(&array, count))?;
        if self.last_block_is_needed() {
            self.make_lists(None)?;
        }
        let Some(bad) = self.take_sources((sources, count), true)? else { return Ok(true) };
        let source = Body::read(arrays_of(&mut self.devices)?, sources, bad)?.source(bad);
        check_numbers(&interaction, &source, |what| format!("{what} of the source at address {bad}"))?;
        Err(unknown(bad))
    }

    /// Lets the device take sources in the place of all others. If `checks` and one is wrong, it
    /// takes none and returns its number.
    pub(super) fn take_sources(
        &mut self,
        (sources, count): (&DeviceBodies, usize),
        checks: bool,
    ) -> Result<Option<usize>> {
        self.journal.flush_to_host()?;
        self.journal.write_back_sent()?;
        match arrays_of(&mut self.devices)?.take_sources(sources, count, checks) {
            Ok(Taken::None(number)) => Ok(Some(number)),
            Ok(Taken::All(census)) => {
                self.journal.leave_to_device(count, census);
                self.staged_sources.is_current = false;
                self.end = count;
                self.statistics.writes += count as u64;
                Ok(None)
            }
            Err(error) => {
                // The device has lost its own, and fetches those of the host again, if there are
                // any.
                self.journal.all_is_written();
                match self.sources_at() {
                    SourcesAt::Host => (),
                    SourcesAt::DeviceAndCopies(_) => self.fetch_sources()?,
                    SourcesAt::Device(_) => {
                        self.journal.leave_to_device(0, Census::default());
                        self.end = 0;
                    }
                }
                Err(error)
            }
        }
    }

    /// Brings sources that are on the device alone to the host's copy.
    pub(super) fn fetch_sources(&mut self) -> Result<()> {
        let count = match self.sources_at() {
            SourcesAt::Host => return Ok(()),
            SourcesAt::DeviceAndCopies(count) => {
                let (staged, threads) = (self.staged_sources.bodies(), &self.threads);
                self.journal.take_from_device(|sources| {
                    replace_all(sources, count, &|address| staged.source(address), threads)
                })?;
                self.staged_sources.is_current = false;
                return Ok(());
            }
            SourcesAt::Device(count) => count,
        };
        let n_coefficients = self.interaction.n_coefficients;
        let arrays = arrays_of(&mut self.devices)?;
        self.journal.take_from_device(|sources| {
            arrays.fetch_sources(count, &mut |number, octets, indices| {
                let places = (count - number * CHUNK).min(CHUNK);
                (0..places).try_for_each(|place| {
                    let source = source_at(place, octets, indices, n_coefficients);
                    sources.write(number * CHUNK + place, &source)
                })
            })
        })
    }

    /// Brings the sinks of the last block, if they are on the device alone, to the host.
    pub(super) fn fetch_sinks(&mut self) -> Result<()> {
        if !self.block.sinks_on_device {
            return Ok(());
        }
        let numbers = 0..self.block.sinks.len();
        match self.kept_sinks {
            KeptSinks::Nowhere => arrays_of(&mut self.devices)?.fetch_sinks(self.block.sinks.numbers_mut())?,
            KeptSinks::Own => {
                let own = self.staged_sinks.bodies();
                self.block.sinks.collect(numbers.map(|number| own.sink(number)), &self.interaction)?;
            }
            KeptSinks::Sources(softening2) => {
                self.fetch_sources()?;
                let (sources, interaction) = (self.journal.sources(), &self.interaction);
                let source = |address| sources.read(address).unwrap_or_default();
                let sinks = numbers.map(|address| sink_of(&source(address), interaction, 0.0, softening2));
                self.block.sinks.collect(sinks, interaction)?;
            }
        }
        self.block.sinks_on_device = false;
        Ok(())
    }

    /// Brings what only the device has of the last block to the host, so that others may compute
    /// it.
    pub(super) fn fetch_block(&mut self) -> Result<()> {
        if self.block.lists.as_ref().is_some_and(|lists| lists.is_on_device()) {
            return Err(Error::Unsupported {
                backend: self.setup().backend.name(),
                forces: "lists in the memory of another device".into(),
                allowed: "lists of the host".into(),
            });
        }
        self.fetch_sinks()?;
        self.fetch_sources()
    }
}

/// Returns the work on arrays of the one device that had some.
pub(super) fn arrays_of(devices: &mut Devices) -> Result<&mut dyn DeviceArrays> {
    devices.arrays(0).ok_or_else(lost)
}

/// The error that the one device, which had arrays, is there no more.
fn lost() -> Error {
    Error::Internal { what: "the device with arrays of the caller is lost".into() }
}

fn unknown(number: usize) -> Error {
    Error::Internal { what: format!("body {number} was found wrong by a device alone") }
}
