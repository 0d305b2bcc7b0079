//! Arrays of callers in the memory of the system's first device: sources, sinks and forces.

use kyoho_core::sinks::SinkScan;
use kyoho_core::units::Census;
use kyoho_core::{
    CHUNK, DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DevicePlace, DeviceSources, Error, MASS,
    MAX_COEFFICIENTS, OCTET, Result, Sink, Source, TAYLOR, TIME, TreeBlock, memory,
};
use kyoho_hal::Backend;
use kyoho_methods::device_arrays::{Check, DeviceArrays, GroupBodies, ListedAddresses, Taken};

use super::all_sources::sink_of;
use super::checks::{check_listed_sink, check_listed_source, check_numbers, check_sink};
use super::devices::Devices;
use super::lists::{
    Division, GivenBodies, GivenLists, GivenSources, SourceDivision, bad_address_of_group, largest_softening2,
    make_groups,
};
use super::sources::replace_all;
use super::staging::KeptSinks;
use super::{SinkPlace, Stage, System};

/// The arrays of a call that a check is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    Groups,
    Sinks,
    Sources,
    Addresses,
}

/// The checks of the arrays of a call.
#[derive(Default)]
pub(super) struct ListChecks {
    begun: Vec<(Listed, Check)>,
    /// The streams of the caller that the call has waited for.
    waited: Vec<u64>,
}

impl ListChecks {
    /// Begins a check.
    fn begin(&mut self, arrays: &mut dyn DeviceArrays, listed: Listed, check: Check) -> Result<()> {
        memory::reserve(&mut self.begun, 1, CHECKS)?;
        arrays.begin_check(&check)?;
        self.begun.push((listed, check));
        Ok(())
    }
}

/// The name of checks in errors about memory.
const CHECKS: &str = "checks of arrays";

impl System {
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
        if !self.first_has_all() {
            let count = devices.len();
            return Err(refused(format!("0 (KYOHO_MEMORY_HOST) in a system of {count} devices without a tree")));
        }
        if i32::try_from(devices[0]) != Ok(place.device) {
            let which = if devices.len() == 1 { "on which the system is" } else { "the first of the system" };
            return Err(refused(format!("device {}, {which}", devices[0])));
        }
        let none = || refused("0 (KYOHO_MEMORY_HOST) on this device".into());
        let arrays = self.devices.arrays().ok_or_else(none)?;
        if !waited.contains(&place.stream) {
            arrays.wait_for_caller(place)?;
            memory::push(waited, place.stream, CHECKS)?;
        }
        Ok(arrays)
    }

    /// Copies the bytes of this many rows of an array on the device, from the lowest to the
    /// highest, and returns them with the place of the first row among them.
    pub fn copy_from_device(
        &mut self,
        place: &DevicePlace,
        array: &DeviceArray,
        rows: usize,
    ) -> Result<(Vec<u8>, usize)> {
        let arrays = self.arrays_at(place)?;
        arrays.check(array, rows)?;
        let (lowest, bytes) = array.extent(rows);
        let mut copied = memory::filled(if rows == 0 { 0 } else { bytes }, 0u8, "copies of arrays")?;
        arrays.read(&DeviceArray { address: lowest, ..*array }, 0, &mut copied)?;
        Ok((copied, (array.address - lowest) as usize))
    }

    /// Begins to check some bodies on the device, if there are any.
    fn begin_check_of_bodies(
        &mut self,
        listed: Listed,
        (bodies, count): (&DeviceBodies, usize),
        checks: &mut ListChecks,
    ) -> Result<()> {
        let arrays = self.arrays_of_call(&bodies.place, &mut checks.waited)?;
        bodies.given().try_for_each(|array| arrays.check(&array, count))?;
        if count == 0 || bodies.given().next().is_none() {
            return Ok(());
        }
        checks.begin(arrays, listed, Check::Bodies(*bodies, count))
    }

    /// Begins to make the groups of lists that lie on the device, and to check their sinks and
    /// sources.
    pub(super) fn begin_checks_of_lists(
        &mut self,
        (sinks, is_batch): (&GivenBodies, bool),
        given: &GivenLists,
        checks: &mut ListChecks,
    ) -> Result<()> {
        let end = self.end;
        if let Division::Device(groups) = &given.division {
            let arrays = self.arrays_of_call(&groups.place, &mut checks.waited)?;
            groups.given().try_for_each(|(array, rows)| arrays.check(&array, rows))?;
            checks.begin(arrays, Listed::Groups, Check::Groups(*groups, end))?;
            if let Some(listed) = listed_addresses(given, end) {
                check_packed(&listed.addresses)?;
                let is_there = arrays.check(&listed.addresses, 1).is_ok();
                let room = if is_there { arrays.room(&listed.addresses)? } else { 0 };
                checks.begin(arrays, Listed::Addresses, Check::Addresses(ListedAddresses { room, ..listed }))?;
            }
        }
        if let Some(bodies) = &sinks.on_device {
            self.begin_check_of_bodies(Listed::Sinks, (bodies, sinks.count), checks)?;
        }
        let GivenSources::Own(sources) = &given.sources else { return Ok(()) };
        let Some(bodies) = &sources.on_device else { return Ok(()) };
        let all = (*bodies, sources.count);
        let of_sinks = sinks.on_device.map(|bodies| (bodies, sinks.count));
        match &given.division {
            // The units of groups can be chosen with the check where the device has all of them.
            Division::Device(groups) if all.1 > 0 && (is_batch || of_sinks.is_some()) => {
                let arrays = self.arrays_of_call(&bodies.place, &mut checks.waited)?;
                bodies.given().try_for_each(|array| arrays.check(&array, all.1))?;
                let sinks = of_sinks.filter(|_| !is_batch);
                let bodies = GroupBodies { groups: groups.count, sources: all, sinks };
                checks.begin(arrays, Listed::Sources, Check::Sources(bodies))
            }
            _ => self.begin_check_of_bodies(Listed::Sources, (bodies, sources.count), checks),
        }
    }

    /// Fails unless the addresses of lists on a device are memory of it, and checks them if they are
    /// more than the driver knows to be there.
    pub(super) fn check_all_addresses(&mut self, checks: &mut ListChecks) -> Result<Option<(Listed, Check, usize)>> {
        let addresses = checks.begun.iter().find_map(|(_, check)| match check {
            Check::Addresses(listed) => Some(*listed),
            _ => None,
        });
        let Some(listed) = addresses else { return Ok(None) };
        let count = self.candidate_lists.sources_of(&(0..listed.groups)).len();
        let arrays = arrays_of(&mut self.devices)?;
        arrays.check(&listed.addresses, count)?;
        if count <= listed.room {
            return Ok(None);
        }
        checks.begun.clear();
        checks.begin(arrays, Listed::Addresses, Check::Addresses(ListedAddresses { room: count, ..listed }))?;
        self.finish_checks(checks)
    }

    /// Takes the groups that the device has made, of which there are this many, as those of the
    /// candidate lists.
    pub(super) fn take_groups(&mut self, count: usize) -> Result<()> {
        let made = arrays_of(&mut self.devices)?.made_groups();
        let table = &mut self.candidate_lists.groups;
        (table.count, table.pairs, table.on_device) = (count, made.pairs, Some(made.sources));
        Ok(())
    }

    /// Returns the error of groups that the device has found wrong. The host looks for it.
    pub(super) fn wrong_groups(&mut self, groups: &DeviceGroups, given: &GivenLists, is_batch: bool) -> Result<()> {
        let mut copied = memory::room(3, CHECKS)?;
        for (array, rows) in groups.given() {
            let (bytes, first) = self.copy_from_device(&groups.place, &array, rows)?;
            copied.push(move |row: usize| {
                let place = (first as i64 + array.stride * row as i64) as usize;
                let bytes = &bytes[place..place + array.width];
                match bytes.try_into() {
                    Ok(long) => i64::from_ne_bytes(long),
                    Err(_) => bytes.try_into().map_or(0, i32::from_ne_bytes).into(),
                }
            });
        }
        let at = |array: usize, row: usize| copied[array](row);
        let (sinks, first_of_sources) = (|row| at(0, row), |row| at(1, row));
        // They are of 32 bits.
        let ranges = |row| [at(1, row) as i32, at(2, row) as i32];
        let sources = match groups.sources {
            DeviceSources::Ranges(..) => SourceDivision::Ranges(&ranges),
            DeviceSources::Addresses(_) | DeviceSources::Own(..) => SourceDivision::Offsets(&first_of_sources),
            DeviceSources::Sinks => SourceDivision::Offsets(&sinks),
        };
        let division = Division::Host { sinks: &sinks, sources };
        let of_host = GivenLists { groups: groups.count, division, sources: given.sources };
        make_groups(&mut self.candidate_lists, &of_host, (groups.sink_count, is_batch), self.end, &self.threads)?;
        Err(Error::Internal { what: "groups were found wrong by a device alone".into() })
    }

    /// Waits for checks that were begun, and returns the first that has found something wrong, and
    /// its number.
    pub(super) fn finish_checks(&mut self, checks: &ListChecks) -> Result<Option<(Listed, Check, usize)>> {
        if checks.begun.is_empty() {
            return Ok(None);
        }
        let found = arrays_of(&mut self.devices)?.finish_checks()?;
        Ok(checks.begun.iter().zip(found).find_map(|(&(listed, check), found)| Some((listed, check, found?))))
    }

    /// Fails unless what lies on the device of the candidate lists is as it should be, by what was
    /// found there.
    pub(super) fn check_lists_on_device(
        &mut self,
        is_batch: bool,
        found: Option<(Listed, Check, usize)>,
    ) -> Result<()> {
        let interaction = self.interaction.clone();
        let lists = &self.candidate_lists;
        let softening2 = lists.sinks.softening2;
        let is_each = lists.sinks.on_device.is_some_and(|sinks| sinks.softening2.is_some());
        if lists.sinks.on_device.is_some()
            && !is_each
            && !(0.0..=largest_softening2(&interaction)).contains(&softening2)
        {
            check_listed_sink(&interaction, (is_batch, 0), &Sink { softening2, ..Sink::NOTHING })?;
        }
        let Some((listed, check, number)) = found else { return Ok(()) };
        let arrays = arrays_of(&mut self.devices)?;
        match check {
            Check::Bodies(bodies, _) | Check::Sources(GroupBodies { sources: (bodies, _), .. })
                if listed == Listed::Sources =>
            {
                let source = Body::read(arrays, &bodies, number)?.source(number);
                check_listed_source(&interaction, (is_batch, number), &source)?;
            }
            Check::Bodies(bodies, _) => {
                let sink = Body::read(arrays, &bodies, number)?.sink(if is_each { None } else { Some(softening2) });
                check_listed_sink(&interaction, (is_batch, number), &sink)?;
            }
            Check::Addresses(listed) => {
                let mut address = [0i32];
                arrays.read(&listed.addresses, number, bytemuck::cast_slice_mut(&mut address))?;
                let place = place_in_group(arrays, &listed, number)?;
                return Err(bad_address_of_group(place, address[0], listed.end));
            }
            Check::Groups(..) | Check::Sources(_) => (),
        }
        Err(unknown(number))
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
        let is_each = sinks.softening2.is_some();
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
        let written = match self.devices.arrays() {
            Some(arrays) => arrays.write_forces_of_host(&sums, forces),
            None => Err(lost()),
        };
        self.sums = sums;
        written
    }

    /// Waits for the forces and lets the device write them to arrays there. Returns false if the host
    /// has them, or a sum is not finite; the block is still to be waited for then.
    pub(super) fn leave_forces(&mut self, forces: &DeviceForces) -> Result<bool> {
        if self.devices.on_host() || !arrays_of(&mut self.devices)?.write_forces(forces)? {
            return Ok(false);
        }
        self.devices.end_block_of_first()?;
        self.stage = Stage::Done;
        self.has_sums = false;
        self.count_block();
        Ok(true)
    }

    /// Takes sources on the device in the place of all others, at addresses from 0 on. Where they
    /// are fewer than there were, or a block is under way, it returns false and takes none.
    pub fn set_sources_on_device(&mut self, sources: &DeviceBodies, count: usize) -> Result<bool> {
        if self.stage == Stage::Started || count < self.end {
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
                if self.staged_sources.is_current {
                    self.fetch_sources()?;
                } else if self.journal.sources().on_device() > 0 {
                    self.journal.leave_to_device(0, Census::default());
                    self.end = 0;
                }
                Err(error)
            }
        }
    }

    /// Brings sources that are on the device alone to the host's copy.
    pub(super) fn fetch_sources(&mut self) -> Result<()> {
        let count = self.journal.sources().on_device();
        if count == 0 {
            return Ok(());
        }
        let n_coefficients = self.interaction.n_coefficients;
        if self.staged_sources.is_current {
            let (staged, threads) = (self.staged_sources.bodies(), &self.threads);
            self.journal
                .take_from_device(|sources| replace_all(sources, count, &|address| staged.source(address), threads))?;
            self.staged_sources.is_current = false;
            return Ok(());
        }
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

/// The numbers of one source or sink.
struct Body {
    mass: f64,
    time: f64,
    index: Option<i32>,
    softening2: f64,
    radius2: f64,
    step: f64,
    derivatives: [[f64; 3]; MAX_COEFFICIENTS],
}

impl Body {
    /// Copies a body from arrays on a device.
    fn read(arrays: &mut dyn DeviceArrays, bodies: &DeviceBodies, number: usize) -> Result<Body> {
        let mut real = |array: Option<DeviceArray>| -> Result<f64> {
            let mut value = [0.0f64];
            if let Some(array) = array {
                arrays.read(&array, number, bytemuck::cast_slice_mut(&mut value))?;
            }
            Ok(value[0])
        };
        let (mass, time) = (real(bodies.masses)?, real(bodies.times)?);
        let (softening2, radius2, step) = (real(bodies.softening2)?, real(bodies.radii2)?, real(bodies.steps)?);
        let mut index = [0i32];
        if let Some(array) = bodies.indices {
            arrays.read(&array, number, bytemuck::cast_slice_mut(&mut index))?;
        }
        let mut derivatives = [[0.0f64; 3]; MAX_COEFFICIENTS];
        for (vector, array) in derivatives.iter_mut().zip(bodies.derivatives) {
            if let Some(array) = array {
                arrays.read(&array, number, bytemuck::cast_slice_mut(vector))?;
            }
        }
        let index = bodies.indices.map(|_| index[0]);
        Ok(Body { mass, time, index, softening2, radius2, step, derivatives })
    }

    /// Returns it as a source, whose index is its number if it has none.
    fn source(&self, number: usize) -> Source {
        let index = self.index.unwrap_or(number as i32);
        Source::from_derivatives(index, self.mass, self.time, self.derivatives)
    }

    /// Returns it as a sink, with another squared softening if one is given.
    fn sink(&self, softening2: Option<f64>) -> Sink {
        let derivatives = std::array::from_fn(|k| self.derivatives[k]);
        let Body { radius2, step, .. } = *self;
        let softening2 = softening2.unwrap_or(self.softening2);
        Sink { index: self.index.unwrap_or(0), softening2, radius2, step, derivatives }
    }
}

/// Returns the source at a place of a chunk as devices have it.
fn source_at(place: usize, octets: &[f64], indices: &[i32], n_coefficients: usize) -> Source {
    let rows = TAYLOR + 3 * n_coefficients;
    let at = |row: usize| octets[(place / OCTET * rows + row) * OCTET + place % OCTET];
    let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
    for (k, vector) in coefficients[..n_coefficients].iter_mut().enumerate() {
        *vector = std::array::from_fn(|component| at(TAYLOR + 3 * k + component));
    }
    Source { index: indices[place], time: at(TIME), mass: at(MASS), coefficients }
}

/// Fails unless the rows of an array follow one another.
fn check_packed(array: &DeviceArray) -> Result<()> {
    if array.is_packed() {
        return Ok(());
    }
    Err(Error::BadOption {
        name: format!("{}.stride", array.name),
        value: array.stride.to_string(),
        allowed: format!("0 or {}: in device memory they follow one another", array.width),
    })
}

/// Returns the addresses of lists on a device, if they have such.
fn listed_addresses(given: &GivenLists, end: usize) -> Option<ListedAddresses> {
    let Division::Device(DeviceGroups { count: groups, sources: DeviceSources::Addresses(places), .. }) =
        given.division
    else {
        return None;
    };
    let GivenSources::AddressesOnDevice(addresses) = given.sources else { return None };
    Some(ListedAddresses { addresses, room: 0, places, groups, end })
}

/// Returns the group of an address in lists on a device, and its number there.
fn place_in_group(arrays: &mut dyn DeviceArrays, listed: &ListedAddresses, place: usize) -> Result<(usize, usize)> {
    let mut first = |group: usize| -> Result<usize> {
        let mut offset = [0i64];
        arrays.read(&listed.places, group, bytemuck::cast_slice_mut(&mut offset))?;
        Ok(offset[0] as usize)
    };
    // The group is the last of those that begin at the address or before it.
    let (mut lowest, mut end) = (0, listed.groups);
    while end - lowest > 1 {
        let middle = lowest.midpoint(end);
        if first(middle)? <= place { lowest = middle } else { end = middle }
    }
    Ok((lowest, place - first(lowest)?))
}

/// Returns the work on arrays of the one device that had some.
pub(super) fn arrays_of(devices: &mut Devices) -> Result<&mut dyn DeviceArrays> {
    devices.arrays().ok_or_else(lost)
}

/// The error that the one device, which had arrays, is there no more.
fn lost() -> Error {
    Error::Internal { what: "the device with arrays of the caller is lost".into() }
}

fn unknown(number: usize) -> Error {
    Error::Internal { what: format!("body {number} was found wrong by a device alone") }
}
