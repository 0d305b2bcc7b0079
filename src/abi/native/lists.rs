//! Forces on groups of sinks, each with its own sources, and on many small systems at once.

use crate::abi::arrays;
use kyoho_core::{DeviceGroups, DevicePlace, DeviceSources, Error, Result, ResultCode};
use kyoho_engine::System;
use kyoho_engine::lists::{Division, GivenBodies, GivenLists, GivenSources, SourceDivision};
use kyoho_pairs::{ListedPairs, PairLists};

use super::block::{AnyForceRows, ForceRows, SinkRows, criterion, over_ranks};
use super::host_copies::HostCopies;
use super::rows::{BodyRows, Rows, bodies_on_device, copy_into, element};
use super::sources::SourceRows;
use super::structures::{
    bad_field, kyoho_batch, kyoho_forces, kyoho_lists, kyoho_sinks, kyoho_sources, place_of, read, require_unused,
};
use super::system::kyoho_system;
use super::{call_on_one, call_on_ranks};

/// Computes the forces on groups of sinks, on each of which act the sources of its own list alone,
/// predicted to the system's time. No bit of the forces on a group depends on the other groups of
/// the call, unless a crossover was set: see `kyoho_system_set_crossover`.
///
/// Sinks, exclusion by index and forces are as in `kyoho_system_force`, but there are no neighbour
/// lists, and `radii2` stay NULL. Addresses in the lists that were never written have no source;
/// those beyond the highest that was written are an error. After an error in what you gave the last
/// block is still there, and no array is written; where a sum overflows or a device fails, the
/// forces on some sinks may have been.
///
/// In a system over ranks all ranks call this, each with its own lists and sinks, any number, in
/// memory of the host and without `sources`. Addresses are those of all sources: the first rank's,
/// up to the highest that was written, then the second's and so on. An error on one rank is that of
/// all.
///
/// Errors: as `kyoho_system_force`, and KYOHO_BAD_COUNT (offsets that decrease, do not begin with 0
/// or end with another number than that of the sinks or sources; a negative count),
/// KYOHO_BAD_ADDRESS (an address that is negative or beyond the sources), KYOHO_BAD_OPTION (arrays
/// of more than one form, or of none), KYOHO_UNSUPPORTED (a system of regular forces).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_force_lists(
    system: *mut kyoho_system,
    lists: *const kyoho_lists,
    sinks: *const kyoho_sinks,
    forces: *const kyoho_forces,
) -> ResultCode {
    call_on_ranks(system, |system| {
        if system.is_over_ranks() {
            // SAFETY: null or a structure.
            let rows = unsafe { AnyForceRows::of(system.own(), forces) };
            // SAFETY: null or structures whose arrays have as many elements as they should.
            return unsafe { over_ranks::force_lists(system, rows, lists, sinks) };
        }
        let system = system.own();
        // SAFETY: null or a structure.
        let rows = ForceRows::aligned(system, &unsafe { read("forces", forces) }?)?;
        // SAFETY: null or structures.
        let (lists, sinks) = unsafe { (read("lists", lists)?, read("sinks", sinks)?) };
        // SAFETY: the arrays have as many elements as they should, those of forces one for each sink, by
        // the caller's promise.
        unsafe { rows.receive(system, |system| give_lists(system, &lists, &sinks, start)) }
    })
}

/// Begins what `kyoho_system_force_lists` does, and returns while devices may be at work;
/// `kyoho_system_wait` waits for the forces. Lists and sinks are copied, and the sources of the
/// call, but for arrays in KYOHO_MEMORY_CUDA, which are read until then. Sources of the system that
/// are written before `kyoho_system_wait` do not change these forces.
///
/// Errors: as `kyoho_system_force_lists`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_start_lists(
    system: *mut kyoho_system,
    lists: *const kyoho_lists,
    sinks: *const kyoho_sinks,
) -> ResultCode {
    call_on_ranks(system, |system| {
        if system.is_over_ranks() {
            // SAFETY: null or structures whose arrays have as many elements as they should.
            return unsafe { over_ranks::start_lists(system, Ok(()), lists, sinks) };
        }
        // SAFETY: null or structures.
        let (lists, sinks) = unsafe { (read("lists", lists)?, read("sinks", sinks)?) };
        // SAFETY: the arrays have as many elements as they should, by the caller's promise.
        unsafe { give_lists(system.own(), &lists, &sinks, start) }
    })
}

/// Computes the forces on the bodies of many systems, predicted to the system's time. On each body
/// act the others of its own system alone; those with its index are left out. `bodies` are not kept
/// among the sources; they are given as those of `kyoho_lists`. Each array of `forces` has an
/// element, or a row, for every body.
///
/// After an error in what you gave the last block is still there, and no array is written; where a
/// sum overflows or a device fails, the forces on some bodies may have been.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (offsets that decrease, do not
/// begin with 0 or end with another number than that of the bodies; a negative count),
/// KYOHO_BAD_OPTION, KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE (also where a sum overflows),
/// KYOHO_CALL_ORDER (a block is under way), KYOHO_UNSUPPORTED (a system of regular forces),
/// KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_force_batch(
    system: *mut kyoho_system,
    batch: *const kyoho_batch,
    bodies: *const kyoho_sources,
    forces: *const kyoho_forces,
) -> ResultCode {
    call_on_one(system, "batches", |system| {
        // SAFETY: null or a structure.
        let rows = ForceRows::aligned(system, &unsafe { read("forces", forces) }?)?;
        // SAFETY: null or structures.
        let (batch, bodies) = unsafe { (read("batch", batch)?, read("bodies", bodies)?) };
        // SAFETY: the arrays have as many elements as they should, those of forces one for each body, by
        // the caller's promise.
        unsafe { rows.receive(system, |system| start_batch(system, &batch, &bodies)) }
    })
}

/// Begins what `kyoho_system_force_batch` does, and returns while devices may be at work;
/// `kyoho_system_wait` waits for the forces. The bodies are copied, but for arrays in
/// KYOHO_MEMORY_CUDA, which are read until then.
///
/// Errors: as `kyoho_system_force_batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_start_batch(
    system: *mut kyoho_system,
    batch: *const kyoho_batch,
    bodies: *const kyoho_sources,
) -> ResultCode {
    call_on_one(system, "batches", |system| {
        // SAFETY: null or structures.
        let (batch, bodies) = unsafe { (read("batch", batch)?, read("bodies", bodies)?) };
        // SAFETY: the arrays have as many elements as they should, by the caller's promise.
        unsafe { start_batch(system, &batch, &bodies) }
    })
}

/// Begins the forces of interaction lists that leave out sources with a sink's index, or not.
fn start(system: &mut System, skips_own_index: bool, sinks: &GivenBodies, lists: &GivenLists) -> Result<()> {
    system.start_lists(skips_own_index, sinks, lists)
}

/// Hands interaction lists over, and whether they leave out sources with a sink's index.
///
/// # Safety
/// Every array is null or has as many elements as its documentation says.
pub(super) unsafe fn give_lists(
    system: &mut System,
    lists: &kyoho_lists,
    sinks: &kyoho_sinks,
    take: impl FnOnce(&mut System, bool, &GivenBodies, &GivenLists) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    HostCopies::lend(system, |system, copies| unsafe { give_with(system, copies, (lists, sinks), take) })
}

/// Does as [`give_lists`] does, with memory for copies of arrays.
///
/// # Safety
/// As for [`give_lists`].
unsafe fn give_with(
    system: &mut System,
    copies: &mut HostCopies,
    (lists, sinks): (&kyoho_lists, &kyoho_sinks),
    take: impl FnOnce(&mut System, bool, &GivenBodies, &GivenLists) -> Result<()>,
) -> Result<()> {
    let place = place_of("kyoho_lists", lists.memory, &lists.cuda)?;
    require_unused("kyoho_lists", lists.reserved)?;
    let groups = arrays::count("kyoho_lists.group_count", lists.group_count)?;
    let form = Form::of(lists, FORMS)?;
    let rows = SinkRows::<f64>::new(system.interaction(), sinks)?;
    criterion(system.interaction(), sinks.neighbour_criterion)?;
    if !sinks.radii2.data.is_null() {
        return Err(bad_field(
            "kyoho_sinks.radii2",
            "an array",
            "NULL with interaction lists, which have no neighbour lists",
        ));
    }
    let sink_offsets = Rows::<i32, 1>::required("kyoho_lists.sink_offsets", lists.sink_offsets, groups)?;
    // SAFETY: a structure or null.
    let mut sources = unsafe { ListedRows::of(system, lists, (form, groups))? };
    let (mut bodies, takes_arrays) = (rows.bodies(), system.takes_arrays());
    if !takes_arrays {
        bodies = bodies.on_host(system, copies)?;
        // SAFETY: there is one more offset than there are groups.
        sources = unsafe { sources.on_host(system, (place, groups), copies)? };
    }
    let start = |system: &mut System, division: Division, sources: GivenSources| {
        let given = GivenLists { groups, division, sources };
        // SAFETY: the arrays of the sinks have `count` elements.
        unsafe { bodies.give(|sinks| take(system, rows.skips_own_index, sinks, &given))? }
    };
    if takes_arrays
        && let (Some(place), Some(of_sinks), 1..) = (place, sink_offsets, groups)
        && let Some(of_groups) = sources.on_device()?
    {
        let (sinks, sink_count) = (of_sinks.on_device()?, bodies.count);
        let division = Division::Device(DeviceGroups { place, count: groups, sinks, sink_count, sources: of_groups });
        return match &sources {
            ListedRows::Ranges(..) | ListedRows::Addresses(_, None) => start(system, division, GivenSources::Ranges),
            ListedRows::Addresses(_, Some(addresses)) => {
                start(system, division, GivenSources::AddressesOnDevice(addresses.on_device()?))
            }
            // SAFETY: the arrays have `count` elements.
            ListedRows::Own(_, own) => unsafe { own.give(|own| start(system, division, GivenSources::Own(*own)))? },
        };
    }
    let sink_offsets = copies.optional(system, place, sink_offsets, groups + 1)?;
    let of_sources = place.filter(|_| takes_arrays);
    // SAFETY: there is one more offset than there are groups.
    let sinks = |number| unsafe { i64::from(element(sink_offsets, number, 0)) };
    let offsets = match sources {
        ListedRows::Ranges(first, counts) => {
            // SAFETY: these arrays have an element for each group.
            let ranges = |group| unsafe { [element(first, group, 0), element(counts, group, 0)] };
            let division = Division::Host { sinks: &sinks, sources: SourceDivision::Ranges(&ranges) };
            return start(system, division, GivenSources::Ranges);
        }
        ListedRows::Addresses(offsets, _) | ListedRows::Own(offsets, _) => {
            copies.optional(system, of_sources, offsets, groups + 1)?
        }
    };
    // SAFETY: there is one more offset than there are groups.
    let offsets = |number| unsafe { element(offsets, number, 0) };
    let division = Division::Host { sinks: &sinks, sources: SourceDivision::Offsets(&offsets) };
    let addresses = match &sources {
        // SAFETY: the arrays have `count` elements.
        ListedRows::Own(_, own) => unsafe {
            return own.give(|own| start(system, division, GivenSources::Own(*own)))?;
        },
        ListedRows::Addresses(_, addresses) => *addresses,
        ListedRows::Ranges(..) => None,
    };
    if addresses.is_none() && (0..=groups).any(|group| offsets(group) != 0) {
        return Err(bad_form(lists, FORMS));
    }
    // SAFETY: the array has as many elements as the last offset says.
    let copy = |first: usize, to: &mut [i32]| unsafe { copy_into(addresses, first, to) };
    start(system, division, GivenSources::Addresses(&copy))
}

/// The arrays that say which sources each group has.
#[expect(clippy::large_enum_variant, reason = "a call has one")]
enum ListedRows {
    /// The first address of each group, and the number of its addresses.
    Ranges(Option<Rows<i32, 1>>, Option<Rows<i32, 1>>),
    /// The offsets of lists, and the addresses.
    Addresses(Option<Rows<i64, 1>>, Option<Rows<i32, 1>>),
    /// The offsets of lists, and the sources that come with the call.
    Own(Option<Rows<i64, 1>>, ListedBodies),
}

impl ListedRows {
    /// Takes the arrays of a form.
    ///
    /// # Safety
    /// The sources are null or a structure.
    unsafe fn of(system: &System, lists: &kyoho_lists, (form, groups): (Form, usize)) -> Result<ListedRows> {
        let offsets = || Rows::required("kyoho_lists.source_offsets", lists.source_offsets, groups);
        Ok(match form {
            Form::Ranges => ListedRows::Ranges(
                Rows::required("kyoho_lists.first_addresses", lists.first_addresses, groups)?,
                Rows::required("kyoho_lists.source_counts", lists.source_counts, groups)?,
            ),
            Form::Addresses => {
                ListedRows::Addresses(offsets()?, Rows::optional("kyoho_lists.addresses", lists.addresses)?)
            }
            // SAFETY: the caller's promise.
            Form::Own => ListedRows::Own(offsets()?, own_bodies(system, &unsafe { read("sources", lists.sources) }?)?),
        })
    }

    /// Returns the arrays, those of so many groups, as those of the host.
    ///
    /// # Safety
    /// Offsets are null or have an element for each group and one more.
    unsafe fn on_host(
        self,
        system: &mut System,
        (place, groups): (Option<DevicePlace>, usize),
        copies: &mut HostCopies,
    ) -> Result<ListedRows> {
        Ok(match self {
            ListedRows::Ranges(first, counts) => ListedRows::Ranges(
                copies.optional(system, place, first, groups)?,
                copies.optional(system, place, counts, groups)?,
            ),
            ListedRows::Addresses(offsets, addresses) => {
                let offsets = copies.optional(system, place, offsets, groups + 1)?;
                // SAFETY: the caller's promise.
                let count = unsafe { element(offsets, groups, 0) };
                let count = usize::try_from(count).unwrap_or(0);
                ListedRows::Addresses(offsets, copies.optional(system, place, addresses, count)?)
            }
            ListedRows::Own(offsets, own) => {
                ListedRows::Own(copies.optional(system, place, offsets, groups + 1)?, own.on_host(system, copies)?)
            }
        })
    }

    /// Returns the arrays as those of a device, if they are all given.
    fn on_device(&self) -> Result<Option<DeviceSources>> {
        Ok(match self {
            ListedRows::Ranges(Some(first), Some(counts)) => {
                Some(DeviceSources::Ranges(first.on_device()?, counts.on_device()?))
            }
            ListedRows::Addresses(Some(offsets), Some(_)) => Some(DeviceSources::Addresses(offsets.on_device()?)),
            ListedRows::Own(Some(offsets), own) => Some(DeviceSources::Own(offsets.on_device()?, own.count)),
            _ => None,
        })
    }
}

/// Copies interaction lists for pairs that users write.
///
/// # Safety
/// Every array is null or has as many elements as its documentation says.
pub(super) unsafe fn of_pairs(lists: &kyoho_lists) -> Result<PairLists> {
    if place_of("kyoho_lists", lists.memory, &lists.cuda)?.is_some() {
        return Err(bad_field("kyoho_lists.memory", lists.memory, "KYOHO_MEMORY_HOST for pair interactions"));
    }
    let groups = arrays::count("kyoho_lists.group_count", lists.group_count)?;
    let required = |name, array| Rows::<i32, 1>::required(name, array, if groups > 0 { groups } else { 1 });
    let sink_offsets = required("kyoho_lists.sink_offsets", lists.sink_offsets)?;
    // SAFETY: there is one more offset than there are groups.
    let sink_offsets = |number| unsafe { i64::from(element(sink_offsets, number, 0)) };
    match Form::of(lists, FORMS_OF_PAIRS)? {
        Form::Ranges => {
            let first = required("kyoho_lists.first_addresses", lists.first_addresses)?;
            let counts = required("kyoho_lists.source_counts", lists.source_counts)?;
            // SAFETY: these arrays have an element for each group.
            let ranges = |group| unsafe { [element(first, group, 0), element(counts, group, 0)] };
            PairLists::new(groups, &sink_offsets, &ListedPairs::Ranges(&ranges))
        }
        Form::Addresses => {
            let offsets = Rows::<i64, 1>::optional("kyoho_lists.source_offsets", lists.source_offsets)?;
            // SAFETY: there is one more offset than there are groups.
            let offsets = |number| unsafe { element(offsets, number, 0) };
            let addresses = Rows::<i32, 1>::optional("kyoho_lists.addresses", lists.addresses)?;
            if addresses.is_none() && (0..=groups).any(|group| offsets(group) != 0) {
                return Err(bad_form(lists, FORMS_OF_PAIRS));
            }
            // SAFETY: the array has as many elements as the last offset says.
            let address = |place| unsafe { element(addresses, place, 0) };
            PairLists::new(groups, &sink_offsets, &ListedPairs::Addresses(&offsets, &address))
        }
        Form::Own => {
            Err(bad_field("kyoho_lists.sources", "given", "NULL for pair interactions, whose sources are set"))
        }
    }
}

/// The arrays of the forms in which the sources of groups are given, and of those that pairs know.
const FORMS: &str = "first_addresses and source_counts, source_offsets and addresses, or source_offsets and sources";
const FORMS_OF_PAIRS: &str = "first_addresses and source_counts, or source_offsets and addresses";

/// The forms in which the sources of groups are given.
enum Form {
    Ranges,
    Addresses,
    Own,
}

impl Form {
    /// Returns the form whose arrays are there; those of the others have to be null. Lists without
    /// sources need no addresses.
    fn of(lists: &kyoho_lists, forms: &str) -> Result<Form> {
        match given_arrays(lists).map(|(_, is_given)| is_given) {
            [true, _, false, false, false] | [_, true, false, false, false] => Ok(Form::Ranges),
            [false, false, true, _, false] | [false, false, _, true, false] => Ok(Form::Addresses),
            [false, false, _, false, true] => Ok(Form::Own),
            [false, false, false, false, false] if lists.group_count == 0 => Ok(Form::Addresses),
            _ => Err(bad_form(lists, forms)),
        }
    }
}

/// Returns the names of the arrays of sources, and whether the caller gives them.
fn given_arrays(lists: &kyoho_lists) -> [(&'static str, bool); 5] {
    [
        ("first_addresses", !lists.first_addresses.data.is_null()),
        ("source_counts", !lists.source_counts.data.is_null()),
        ("source_offsets", !lists.source_offsets.data.is_null()),
        ("addresses", !lists.addresses.data.is_null()),
        ("sources", !lists.sources.is_null()),
    ]
}

fn bad_form(lists: &kyoho_lists, forms: &str) -> Error {
    let arrays = given_arrays(lists).into_iter();
    let names: Vec<&str> = arrays.filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
    let value = if names.is_empty() { "no sources".into() } else { names.join(", ") };
    bad_field("kyoho_lists", value, forms)
}

/// Begins the forces of a batch.
///
/// # Safety
/// Every array is null or has as many elements as its documentation says.
unsafe fn start_batch(system: &mut System, batch: &kyoho_batch, bodies: &kyoho_sources) -> Result<()> {
    let place = place_of("kyoho_batch", batch.memory, &batch.cuda)?;
    require_unused("kyoho_batch", batch.reserved)?;
    let systems = arrays::count("kyoho_batch.system_count", batch.system_count)?;
    let offsets = Rows::<i32, 1>::required("kyoho_batch.offsets", batch.offsets, systems)?;
    let softening2_each = Rows::optional("kyoho_batch.softening2_each", batch.softening2_each)?;
    let mut bodies = ListedBodies { softening2: batch.softening2, ..own_bodies(system, bodies)? };
    bodies.columns.softening2 = softening2_each;
    if softening2_each.is_some() && bodies.place.is_some() != place.is_some() {
        let (value, allowed) = ("an array in other memory than the bodies", "NULL, or the memory of the bodies");
        return Err(bad_field("kyoho_batch.softening2_each", value, allowed));
    }
    let takes_arrays = system.takes_arrays();
    if takes_arrays && let (Some(place), Some(offsets), 1..) = (place, offsets, systems) {
        let (sinks, sink_count) = (offsets.on_device()?, bodies.count);
        let groups = DeviceGroups { place, count: systems, sinks, sink_count, sources: DeviceSources::Sinks };
        // SAFETY: the arrays have `count` elements.
        return unsafe { bodies.give(|bodies| system.start_batch(systems, Division::Device(groups), bodies))? };
    }
    HostCopies::lend(system, |system, copies| {
        if !takes_arrays {
            bodies = bodies.on_host(system, copies)?;
        }
        let offsets = copies.optional(system, place, offsets, systems + 1)?;
        // SAFETY: there is one more offset than there are systems.
        let offsets = |number| unsafe { i64::from(element(offsets, number, 0)) };
        let division = Division::Host { sinks: &offsets, sources: SourceDivision::Offsets(&offsets) };
        // SAFETY: as above.
        unsafe { bodies.give(|bodies| system.start_batch(systems, division, bodies))? }
    })
}

/// Takes the arrays of sources that the system does not keep.
fn own_bodies(system: &System, sources: &kyoho_sources) -> Result<ListedBodies> {
    const KEPT: &str = "where the system does not keep the sources";
    if !sources.addresses.data.is_null() {
        return Err(bad_field("kyoho_sources.addresses", "an array", format!("NULL {KEPT}")));
    }
    if sources.first_address != 0 {
        return Err(bad_field("kyoho_sources.first_address", sources.first_address, format!("0 {KEPT}")));
    }
    if !sources.softening2_each.data.is_null() {
        return Err(bad_field("kyoho_sources.softening2_each", "an array", format!("NULL {KEPT}")));
    }
    let SourceRows { place, count, columns, .. } = SourceRows::<f64>::new(system, sources)?;
    Ok(ListedBodies { place, count, columns, softening2: 0.0 })
}

/// The sinks or sources that come with a call, each of whose arrays has `count` rows.
pub(super) struct ListedBodies {
    pub place: Option<DevicePlace>,
    pub count: usize,
    pub columns: BodyRows,
    pub softening2: f64,
}

impl ListedBodies {
    /// Returns them in arrays of the host.
    fn on_host(self, system: &mut System, copies: &mut HostCopies) -> Result<ListedBodies> {
        let Some(place) = self.place else { return Ok(self) };
        let columns = copies.bodies(system, &place, &self.columns, self.count)?;
        Ok(ListedBodies { place: None, columns, ..self })
    }

    /// Hands over the bodies.
    ///
    /// # Safety
    /// Every array is null or has `count` elements.
    unsafe fn give<R>(&self, take: impl FnOnce(&GivenBodies) -> R) -> Result<R> {
        let ListedBodies { count, softening2, .. } = *self;
        let on_device = bodies_on_device(self.place, &self.columns)?;
        if on_device.is_some() {
            return Ok(take(&GivenBodies { count, softening2, on_device, ..GivenBodies::default() }));
        }
        // SAFETY: the library asks for elements below `count`.
        let columns = unsafe { self.columns.map(|rows| rows.copier(), |rows| rows.copier(), |rows| rows.copier()) };
        let columns = columns.as_ref().map(|copy| copy as _, |copy| copy as _, |copy| copy as _);
        Ok(take(&GivenBodies { count, columns, softening2, on_device: None }))
    }
}
