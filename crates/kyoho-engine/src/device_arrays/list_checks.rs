//! Checks of interaction lists that lie on the device.

use kyoho_core::{DeviceArray, DeviceBodies, DeviceGroups, DeviceSources, Error, Result, Sink, memory};
use kyoho_methods::device_arrays::{Check, DeviceArrays, GroupBodies, ListedAddresses};

use super::body::Body;
use super::{arrays_of, unknown};
use crate::System;
use crate::checks::{check_listed_sink, check_listed_source};
use crate::lists::{
    Division, GivenBodies, GivenLists, GivenSources, SourceDivision, bad_address_of_group, largest_softening2,
    make_groups,
};

/// The name of checks in errors about memory.
pub(super) const CHECKS: &str = "checks of arrays";

/// The arrays of a call that a check is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Groups,
    Sinks,
    Sources,
    Addresses,
}

/// The checks of the arrays of a call.
#[derive(Default)]
pub(crate) struct ListChecks {
    begun: Vec<(Listed, Check)>,
    /// The streams of the caller that the call has waited for.
    pub(super) waited: Vec<u64>,
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

impl System {
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
    pub(crate) fn begin_checks_of_lists(
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
    pub(crate) fn check_all_addresses(&mut self, checks: &mut ListChecks) -> Result<Option<(Listed, Check, usize)>> {
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
    pub(crate) fn take_groups(&mut self, count: usize) -> Result<()> {
        let made = arrays_of(&mut self.devices)?.made_groups();
        let table = &mut self.candidate_lists.groups;
        (table.count, table.pairs, table.on_device) = (count, made.pairs, Some(made.sources));
        Ok(())
    }

    /// Returns the error of groups that the device has found wrong. The host looks for it.
    pub(crate) fn wrong_groups(&mut self, groups: &DeviceGroups, given: &GivenLists, is_batch: bool) -> Result<()> {
        let mut copied = memory::room(3, CHECKS)?;
        for (array, rows) in groups.given() {
            let mut bytes = Vec::new();
            let first = self.copy_from_device(&groups.place, &array, rows, &mut bytes)?;
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
    pub(crate) fn finish_checks(&mut self, checks: &ListChecks) -> Result<Option<(Listed, Check, usize)>> {
        if checks.begun.is_empty() {
            return Ok(None);
        }
        let found = arrays_of(&mut self.devices)?.finish_checks()?;
        Ok(checks.begun.iter().zip(found).find_map(|(&(listed, check), found)| Some((listed, check, found?))))
    }

    /// Fails unless what lies on the device of the candidate lists is as it should be, by what was
    /// found there.
    pub(crate) fn check_lists_on_device(
        &mut self,
        is_batch: bool,
        found: Option<(Listed, Check, usize)>,
    ) -> Result<()> {
        let interaction = self.interaction.clone();
        let lists = &self.candidate_lists;
        let softening2 = lists.sinks.softening2;
        let is_each = lists.sinks.on_device.is_some_and(|sinks| sinks.columns.softening2.is_some());
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
