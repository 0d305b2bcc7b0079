//! Forces and neighbours, whole arrays a call.

pub(super) mod over_ranks;

use crate::abi::arrays;
use crate::abi::boundary::{self, required};
use kyoho_core::{
    DeviceForces, DevicePlace, Error, Forces, Interaction, MAX_DERIVATIVES, NeighbourCriterion, Result, ResultCode,
    Sink, Sinks,
};
use kyoho_engine::{QuadForce, QuadSink, System};
use kyoho_laws::double_double::DoubleDouble;

use super::call_on_ranks;
use super::host_copies::HostCopies;
use super::lists::ListedBodies;
use super::rows::{
    BodyRows, Lane, Real, Rows, bodies_on_device, element, filled, on_device, put, read_as, require_null_unless, vector,
};
use super::structures::{
    Exclusion, Memory, bad_field, is_in_limbs, kyoho_forces, kyoho_integers, kyoho_sinks, place_of, read, require_type,
};
use super::system::kyoho_system;

/// Computes the forces of the sources at addresses below `nj`, predicted to the system's time, on
/// some sinks.
///
/// Sources and a sink at no distance and without softening exert no force on one another. Addresses
/// below `nj` that were never written have no source. On an error in what you gave no array is
/// written; where a sum overflows or a device fails, the forces on some sinks may have been.
///
/// In a system of regular forces the neighbours of a sink exert no force on it;
/// `kyoho_system_neighbours` lists them.
///
/// In a system over ranks all ranks call this, each with its own sinks, any number, and `nj` of its
/// own addresses; the sources of all ranks act. An error on one rank, whose number the text names,
/// is that of all. The time, the exclusion and the neighbour criterion have to be the same on all.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (no indices and
/// no KYOHO_EXCLUDE_NOTHING, a stride that lets rows overlap, an array that the system has nothing
/// for, or another field that is not allowed), KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE (also where a
/// sum overflows), KYOHO_CALL_ORDER (a block is under way), KYOHO_DEVICE_FAILED,
/// KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_force(
    system: *mut kyoho_system,
    nj: i32,
    sinks: *const kyoho_sinks,
    forces: *const kyoho_forces,
) -> ResultCode {
    call_on_ranks(system, |system| {
        // SAFETY: null or a structure.
        let rows = unsafe { AnyForceRows::of(system.own(), forces) };
        if system.is_over_ranks() {
            // SAFETY: null or structures whose arrays have as many elements as they say.
            return unsafe {
                over_ranks::force(system, rows, |system, into| over_ranks::copy(system, into, nj, sinks))
            };
        }
        let (rows, system) = (rows?, system.own());
        // SAFETY: null or a structure.
        let sinks = unsafe { read("sinks", sinks) }?;
        // SAFETY: the arrays have `count` elements, by the caller's promise.
        unsafe { start(system, nj, &sinks) }?;
        // SAFETY: the arrays have an element for each sink, by the caller's promise.
        unsafe { rows.wait(system) }
    })
}

/// Begins what `kyoho_system_force` does, and returns while devices may be at work. The sinks are
/// copied. Sources that are written before `kyoho_system_wait` do not change this block.
///
/// Errors: as `kyoho_system_force`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_start(
    system: *mut kyoho_system,
    nj: i32,
    sinks: *const kyoho_sinks,
) -> ResultCode {
    call_on_ranks(system, |system| {
        if system.is_over_ranks() {
            // SAFETY: null or a structure whose arrays have `count` elements.
            return system.start(|system, into| unsafe { over_ranks::copy(system, into, nj, sinks) });
        }
        // SAFETY: null or a structure.
        let sinks = unsafe { read("sinks", sinks) }?;
        // SAFETY: the arrays have `count` elements, by the caller's promise.
        unsafe { start(system.own(), nj, &sinks) }
    })
}

/// Computes the forces of the sources at addresses below `nj` on one another, predicted to the
/// system's time: the sinks are these sources, in the order of their addresses, each of which
/// leaves out those with its index. All have the square `softening2` of the softening length, which
/// is 0 where sources have softenings of their own. The arrays of `forces` have a row for each of
/// the `nj` sources. On an error in what you gave no array is written; where a sum overflows or a
/// device fails, some forces may have been.
///
/// Forces have the bits that `kyoho_system_force` gives for such sinks. Of many sources by a tree
/// it takes less time, as no sinks are copied and compared with the sources.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (a negative `nj`, or an address
/// below it to which no source was written), KYOHO_NOT_FINITE and KYOHO_OUT_OF_RANGE (`softening2`,
/// or a sum overflows), KYOHO_BAD_OPTION (an array of `forces` that the system has nothing for),
/// KYOHO_CALL_ORDER (a block is under way), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_force_all(
    system: *mut kyoho_system,
    nj: i32,
    softening2: f64,
    forces: *const kyoho_forces,
) -> ResultCode {
    call_on_ranks(system, |system| {
        // SAFETY: null or a structure.
        let rows = unsafe { AnyForceRows::of(system.own(), forces) };
        if system.is_over_ranks() {
            let copy = |system: &mut System, into: &mut Sinks| over_ranks::copy_all(system, into, nj, softening2);
            // SAFETY: the arrays have an element for each source, by the caller's promise.
            return unsafe { over_ranks::force(system, rows, copy) };
        }
        let (rows, system) = (rows?, system.own());
        system.start_all(arrays::count("nj", nj)?, softening2)?;
        // SAFETY: the arrays have an element for each source, by the caller's promise.
        unsafe { rows.wait(system) }
    })
}

/// Begins what `kyoho_system_force_all` does, and returns while devices may be at work. Sources
/// that are written before `kyoho_system_wait` do not change this block.
///
/// Errors: as `kyoho_system_force_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_start_all(system: *mut kyoho_system, nj: i32, softening2: f64) -> ResultCode {
    call_on_ranks(system, |system| {
        if system.is_over_ranks() {
            return system.start(|system, into| over_ranks::copy_all(system, into, nj, softening2));
        }
        system.own().start_all(arrays::count("nj", nj)?, softening2)
    })
}

/// Waits for the block that `kyoho_system_start` or `kyoho_system_start_all` began, or for what
/// `kyoho_system_start_lists` or `kyoho_system_start_batch` began, and writes the forces.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (no block is under way), KYOHO_OUT_OF_RANGE (a sum
/// overflows), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY; and KYOHO_NULL_ARGUMENT or
/// KYOHO_BAD_OPTION, after which the block is still under way, but not of a system over ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_wait(system: *mut kyoho_system, forces: *const kyoho_forces) -> ResultCode {
    call_on_ranks(system, |system| {
        // SAFETY: null or a structure.
        let rows = unsafe { AnyForceRows::of(system.own(), forces) };
        // SAFETY: the arrays have an element for each sink of the block, by the caller's promise.
        unsafe { if system.is_over_ranks() { over_ranks::wait(system, rows) } else { rows?.wait(system.own()) } }
    })
}

/// Whether a force leaves out the sources with its sink's index.
fn skips_own_index(sinks: &kyoho_sinks, count: usize) -> Result<bool> {
    const BY_INDEX: i32 = Exclusion::ByIndex as i32;
    const NOTHING: i32 = Exclusion::Nothing as i32;
    let bad = |value: &str, allowed: &str| Err(bad_field("kyoho_sinks.exclusion", value, allowed));
    match sinks.exclusion {
        BY_INDEX if sinks.indices.data.is_null() && count > 0 => bad(
            "0 (KYOHO_EXCLUDE_BY_INDEX) without kyoho_sinks.indices",
            "an index for each sink, so that it does not feel itself; or 1 (KYOHO_EXCLUDE_NOTHING), with which every \
             source counts",
        ),
        BY_INDEX => Ok(true),
        NOTHING => Ok(false),
        other => bad(&other.to_string(), "0 (KYOHO_EXCLUDE_BY_INDEX), 1 (KYOHO_EXCLUDE_NOTHING)"),
    }
}

/// Returns the neighbour criterion of a block.
pub(super) fn criterion(interaction: &Interaction, number: i32) -> Result<NeighbourCriterion> {
    const BY_MASS: i32 = NeighbourCriterion::ByMass as i32;
    const PLAIN: i32 = NeighbourCriterion::Plain as i32;
    let bad = |allowed| Err(bad_field("kyoho_sinks.neighbour_criterion", number, allowed));
    match number {
        0 => Ok(NeighbourCriterion::ByMass),
        _ if !interaction.is_regular() => bad("0 in a system of full forces, where neighbours are within a radius"),
        BY_MASS => Ok(NeighbourCriterion::ByMass),
        PLAIN => Ok(NeighbourCriterion::Plain),
        _ => bad("0 (by mass), 1 (by mass), 2 (plain)"),
    }
}

/// Begins a block.
///
/// # Safety
/// Every array of the sinks is null or has `count` elements.
unsafe fn start(system: &mut System, nj: i32, sinks: &kyoho_sinks) -> Result<()> {
    let nj = arrays::count("nj", nj)?;
    if is_in_limbs("kyoho_sinks", sinks.number_type, 0, system.interaction())? {
        let rows = SinkRows::<DoubleDouble>::new(system.interaction(), sinks)?;
        criterion(system.interaction(), sinks.neighbour_criterion)?;
        if rows.place.is_some() {
            return Err(bad_field("kyoho_sinks.memory", Memory::Cuda as i32, "0 (KYOHO_MEMORY_HOST) for two doubles"));
        }
        // SAFETY: every row is below `count`.
        return system.start_quad(nj, rows.skips_own_index, (0..rows.count).map(|row| unsafe { rows.read_quad(row) }));
    }
    let rows = SinkRows::<f64>::new(system.interaction(), sinks)?;
    let criterion = criterion(system.interaction(), sinks.neighbour_criterion)?;
    system.set_neighbour_criterion(criterion);
    let bodies = bodies_on_device(rows.place, &rows.columns)?;
    if let Some(bodies) = bodies.filter(|_| system.takes_arrays()) {
        return system.start_on_device(nj, rows.skips_own_index, (&bodies, rows.count), rows.softening2);
    }
    HostCopies::lend(system, |system, copies| {
        let rows = rows.on_host(system, copies)?;
        // SAFETY: every row is below `count`, and the caller leaves the arrays alone while its call
        // lasts.
        system.start_from_fn(nj, rows.skips_own_index, rows.count, |row| unsafe { rows.read(row) })
    })
}

/// The arrays of `kyoho_sinks`, each with `count` rows, of doubles or of two doubles each.
pub(super) struct SinkRows<T = f64> {
    place: Option<DevicePlace>,
    /// The number of sinks.
    pub count: usize,
    /// Whether a sink leaves out the sources with its index.
    pub skips_own_index: bool,
    /// What the sinks have.
    pub columns: BodyRows<T>,
    /// The squared softening of sinks that are not given one each.
    pub softening2: f64,
}

impl<T: Real> SinkRows<T> {
    /// Takes the arrays that an interaction needs. The structure says that their numbers are of this
    /// type.
    pub fn new(interaction: &Interaction, sinks: &kyoho_sinks) -> Result<SinkRows<T>> {
        require_type::<T>("kyoho_sinks", sinks.number_type, 0, interaction)?;
        let place = place_of("kyoho_sinks", sinks.memory, &sinks.cuda)?;
        let count = arrays::count("kyoho_sinks.count", sinks.count)?;
        let skips_own_index = skips_own_index(sinks, count)?;
        let given = [
            ("kyoho_sinks.positions", sinks.positions),
            ("kyoho_sinks.velocities", sinks.velocities),
            ("kyoho_sinks.accelerations", sinks.accelerations),
            ("kyoho_sinks.jerks", sinks.jerks),
        ];
        let mut columns = BodyRows::<T>::NONE;
        for (rows, (name, array)) in columns.derivatives.iter_mut().zip(given).take(interaction.n_derivatives) {
            *rows = Rows::required(name, read_as(array), count)?;
        }
        if skips_own_index {
            columns.indices = Rows::optional("kyoho_sinks.indices", sinks.indices)?;
        }
        columns.softening2 = Rows::optional("kyoho_sinks.softening2_each", read_as(sinks.softening2_each))?;
        columns.radii2 = Rows::optional("kyoho_sinks.radii2", read_as(sinks.radii2))?;
        if interaction.is_regular() {
            columns.steps = Rows::optional("kyoho_sinks.steps", read_as(sinks.steps))?;
        }
        Ok(SinkRows { place, count, skips_own_index, columns, softening2: sinks.softening2 })
    }
}

impl SinkRows<DoubleDouble> {
    /// Returns the sink of a row.
    ///
    /// # Safety
    /// Every array is null or has more than `row` elements.
    unsafe fn read_quad(&self, row: usize) -> QuadSink {
        let softening2 = DoubleDouble::from_limb(self.softening2);
        // SAFETY: the caller's promise.
        unsafe {
            QuadSink {
                index: element(self.columns.indices, row, 0),
                softening2: element(self.columns.softening2, row, softening2),
                radius2: element(self.columns.radii2, row, DoubleDouble::ZERO),
                derivatives: std::array::from_fn(|k| vector(self.columns.derivatives[k], row)),
            }
        }
    }
}

impl SinkRows {
    /// Returns the sinks in arrays of the host.
    fn on_host(self, system: &mut System, copies: &mut HostCopies) -> Result<SinkRows> {
        let Some(place) = self.place else { return Ok(self) };
        let columns = copies.bodies(system, &place, &self.columns, self.count)?;
        Ok(SinkRows { place: None, columns, ..self })
    }

    /// Returns the sink of a row.
    ///
    /// # Safety
    /// Every array is null or has more than `row` elements.
    #[inline(always)]
    pub unsafe fn read(&self, row: usize) -> Sink {
        // SAFETY: the caller's promise.
        unsafe {
            Sink {
                index: element(self.columns.indices, row, 0),
                softening2: element(self.columns.softening2, row, self.softening2),
                radius2: element(self.columns.radii2, row, 0.0),
                step: element(self.columns.steps, row, 0.0),
                derivatives: std::array::from_fn(|k| vector(self.columns.derivatives[k], row)),
            }
        }
    }
}

impl SinkRows {
    /// Returns what sinks of interaction lists have.
    pub fn bodies(&self) -> ListedBodies {
        let columns = BodyRows { radii2: None, steps: None, ..self.columns };
        ListedBodies { place: self.place, count: self.count, columns, softening2: self.softening2 }
    }
}

/// The arrays of `kyoho_forces`, of doubles or of two doubles for each number.
pub(super) enum AnyForceRows {
    Doubles(ForceRows),
    Quad(ForceRows<DoubleDouble>),
}

impl AnyForceRows {
    /// Takes the arrays, which the system must have results for.
    ///
    /// # Safety
    /// The pointer is null or points to a structure.
    pub unsafe fn of(system: &System, forces: *const kyoho_forces) -> Result<AnyForceRows> {
        // SAFETY: the caller's promise.
        let to = &unsafe { read("forces", forces) }?;
        if is_in_limbs("kyoho_forces", to.number_type, to.reserved, system.interaction())? {
            let rows = ForceRows::new(system, to)?;
            if rows.place.is_some() {
                let allowed = "0 (KYOHO_MEMORY_HOST) for two doubles";
                return Err(bad_field("kyoho_forces.memory", Memory::Cuda as i32, allowed));
            }
            return Ok(AnyForceRows::Quad(rows));
        }
        ForceRows::aligned(system, to).map(AnyForceRows::Doubles)
    }

    /// Waits for the forces and writes them.
    ///
    /// # Safety
    /// Every array has a row for each sink.
    unsafe fn wait(&self, system: &mut System) -> Result<()> {
        match self {
            // SAFETY: the caller's promise.
            AnyForceRows::Doubles(rows) => unsafe { rows.wait(system) },
            // SAFETY: as above.
            AnyForceRows::Quad(rows) => system.wait_each(|first, forces| unsafe { rows.write(first, &forces) }),
        }
    }
}

/// The arrays of `kyoho_forces`, each with a row for every sink of the block.
pub(super) struct ForceRows<T = f64> {
    place: Option<DevicePlace>,
    potentials: Option<Rows<T, 1>>,
    /// Accelerations, jerks, snaps, crackles.
    derivatives: [Option<Rows<T, 3>>; MAX_DERIVATIVES],
    nearest: Option<Rows<i32, 1>>,
    nearest_distance2: Option<Rows<T, 1>>,
}

impl<T: Real> ForceRows<T> {
    /// Takes the arrays, which the system must have results for. The structure says that their
    /// numbers are of this type.
    pub fn new(system: &System, to: &kyoho_forces) -> Result<ForceRows<T>> {
        require_type::<T>("kyoho_forces", to.number_type, to.reserved, system.interaction())?;
        let place = place_of("kyoho_forces", to.memory, &to.cuda)?;
        let interaction = system.interaction();
        let derivatives = [
            ("kyoho_forces.accelerations", to.accelerations),
            ("kyoho_forces.jerks", to.jerks),
            ("kyoho_forces.snaps", to.snaps),
            ("kyoho_forces.crackles", to.crackles),
        ];
        require_null_unless(interaction.nearest, interaction, "kyoho_forces.nearest", to.nearest)?;
        require_null_unless(interaction.nearest, interaction, "kyoho_forces.nearest_distance2", to.nearest_distance2)?;
        Ok(ForceRows {
            place,
            potentials: Rows::optional("kyoho_forces.potentials", read_as(to.potentials))?,
            derivatives: filled(interaction, derivatives)?,
            nearest: Rows::optional("kyoho_forces.nearest", to.nearest)?,
            nearest_distance2: Rows::optional("kyoho_forces.nearest_distance2", read_as(to.nearest_distance2))?,
        })
    }
}

impl ForceRows<DoubleDouble> {
    /// Writes the forces on the sinks from `first` on.
    ///
    /// # Safety
    /// Every array has a row for each of these sinks.
    unsafe fn write(&self, first: usize, forces: &Forces) {
        for number in 0..forces.len() {
            let (sink, force) = (first + number, QuadForce::of(forces, number));
            let infinite = DoubleDouble::from_limb(f64::INFINITY);
            // SAFETY: the caller's promise.
            unsafe {
                put(self.potentials, sink, [force.potential]);
                let vectors = self.derivatives.into_iter().zip(force.derivatives);
                vectors.for_each(|(array, vector)| put(array, sink, vector));
                put(self.nearest, sink, [force.nearest.map_or(-1, |(_, index)| index)]);
                put(self.nearest_distance2, sink, [force.nearest.map_or(infinite, |(distance2, _)| distance2)]);
            }
        }
    }
}

impl ForceRows {
    /// Takes the arrays as [`ForceRows::new`] does. Those on a device that are not aligned are found
    /// before a block is begun.
    pub fn aligned(system: &System, to: &kyoho_forces) -> Result<ForceRows> {
        let rows = ForceRows::new(system, to)?;
        rows.on_device().map(|_| rows)
    }

    /// Returns the arrays if they lie on a device.
    fn on_device(&self) -> Result<Option<DeviceForces>> {
        let Some(place) = self.place else { return Ok(None) };
        let mut derivatives = [None; MAX_DERIVATIVES];
        for (array, rows) in derivatives.iter_mut().zip(self.derivatives) {
            *array = on_device(rows)?;
        }
        Ok(Some(DeviceForces {
            place,
            potentials: on_device(self.potentials)?,
            derivatives,
            nearest: on_device(self.nearest)?,
            nearest_distance2: on_device(self.nearest_distance2)?,
        }))
    }

    /// Computes the forces that `start` begins, and writes them.
    ///
    /// # Safety
    /// Every array has a row for each sink.
    pub unsafe fn receive(&self, system: &mut System, start: impl FnOnce(&mut System) -> Result<()>) -> Result<()> {
        if let Some(forces) = self.on_device()? {
            return system.leave_in(&forces, start);
        }
        start(system)?;
        // SAFETY: the caller's promise.
        unsafe { self.wait(system) }
    }

    /// Waits for the forces and writes them.
    ///
    /// # Safety
    /// Every array has a row for each sink.
    pub unsafe fn wait(&self, system: &mut System) -> Result<()> {
        if let Some(forces) = self.on_device()? {
            return system.wait_on_device(&forces);
        }
        // SAFETY: the caller's promise.
        let write = |first: usize, forces: Forces| unsafe { self.write(first, &forces) };
        if self.are_apart(system.sinks()) { system.wait_each_on_threads(write) } else { system.wait_each(write) }
    }

    /// Whether no two arrays share bytes, so that several threads may write them.
    fn are_apart(&self, sinks: usize) -> bool {
        let vectors = self.derivatives.iter().flatten().map(Rows::lane);
        let reals = [&self.potentials, &self.nearest_distance2].into_iter().flatten().map(Rows::lane);
        let all: Vec<Lane> = vectors.chain(reals).chain(self.nearest.iter().map(Rows::lane)).collect();
        all.iter().enumerate().all(|(number, lane)| all[..number].iter().all(|other| lane.is_apart_from(other, sinks)))
    }

    /// Writes the forces on the sinks from `first` on.
    ///
    /// # Safety
    /// Every array has a row for each of these sinks.
    unsafe fn write(&self, first: usize, forces: &Forces) {
        for number in 0..forces.len() {
            let (sink, nearest) = (first + number, forces.nearest(number));
            let derivatives =
                [forces.acceleration(number), forces.jerk(number), forces.snap(number), forces.crackle(number)];
            // SAFETY: the caller's promise.
            unsafe {
                put(self.potentials, sink, [forces.potential(number)]);
                self.derivatives.into_iter().zip(derivatives).for_each(|(array, vector)| put(array, sink, vector));
                put(self.nearest, sink, [nearest.map_or(-1, |nearest| nearest.index)]);
                put(self.nearest_distance2, sink, [nearest.map_or(f64::INFINITY, |nearest| nearest.distance2)]);
            }
        }
    }
}

/// The neighbours of one sink of the last block: the indices of the sources with `|r|^2 <
/// radii2[sink]`, softening not included, ascending, each once. In a system of regular forces they
/// are the sources that the force leaves out by the neighbour criterion. Sources that were written
/// since do not matter. In a system over ranks they are those among the sources of all ranks; no
/// other rank has to call this.
///
/// `sink` counts from 0. `list` has room for `capacity` indices and may be NULL where that is 0.
/// `count` receives the number of neighbours, also where it is more than `capacity`; then the first
/// `capacity` of them are in the list.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such sink, a negative
/// capacity), KYOHO_BUFFER_TOO_SMALL, KYOHO_CALL_ORDER (no block was waited for, the last forces
/// were of interaction lists or of a batch, or the system is of order 2), KYOHO_DEVICE_FAILED,
/// KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_neighbours(
    system: *mut kyoho_system,
    sink: i32,
    capacity: i32,
    list: *mut i32,
    count: *mut i32,
) -> ResultCode {
    call_on_ranks(system, |system| {
        let count = required("count", count)?;
        let room = arrays::count("capacity", capacity)?;
        let rows = Rows::<i32, 1>::required("list", kyoho_integers { data: list, stride: 0 }, room)?;
        let sink = arrays::count("sink", sink)?;
        let found = system.neighbours(sink)?;
        for (row, index) in found.iter().take(room).enumerate() {
            // SAFETY: the list has room for `capacity` indices.
            unsafe { put(rows, row, [*index]) };
        }
        // SAFETY: room for a number.
        unsafe { boundary::write(count, found.len() as i32) };
        if found.len() > room {
            return Err(Error::BufferTooSmall { what: "the neighbour list", needed: found.len(), room });
        }
        Ok(())
    })
}
