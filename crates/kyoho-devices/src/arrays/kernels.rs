//! The kernels that read and write arrays of callers, and how they are launched.

use bytemuck::bytes_of;

use kyoho_core::{CHUNK, DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DeviceSources, Result};
use kyoho_hal::gpu::{Address, Argument, Gpu, Launch};
use kyoho_lists::gpu::plan::{LISTED_ADDRESSES, LISTED_OWN, LISTED_RANGES};
use kyoho_lists::gpu::units::UnitChooser;
use kyoho_methods::gpu::code;
use kyoho_methods::gpu::columns::{On, PieceResults, column, columns, columns_of_forces};
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::{BodyBounds, GroupOffsets};

use kyoho_methods::device_arrays::{ListedAddresses, Motion, MovingPlaces};

/// The threads of a thread block.
pub const ARRAY_THREADS: usize = 256;
/// The number of addresses that a thread block checks at a time.
pub const ADDRESS_RUN: usize = 1024;
/// The most thread blocks of a search.
pub const MOST_BLOCKS: usize = 512;

/// The names of the kernels.
pub const NAMES: [&str; 10] = [
    "check_bodies",
    "check_addresses",
    "pack_sinks",
    "compare_sinks",
    "pack_sources",
    "count_sizes",
    "write_forces",
    "move_bodies",
    "groups_of_offsets",
    "choose_units",
];

/// The kernels.
pub struct Kernels<G: Gpu> {
    check_bodies: G::Kernel,
    check_addresses: G::Kernel,
    pack_sinks: G::Kernel,
    compare_sinks: G::Kernel,
    pack_sources: G::Kernel,
    count_sizes: G::Kernel,
    write_forces: G::Kernel,
    move_bodies: G::Kernel,
    groups_of_offsets: G::Kernel,
    /// Chooses the units of groups.
    pub chooser: UnitChooser<G>,
}

/// Returns the thread blocks that go through this many items.
fn blocks(items: usize, of_block: usize) -> usize {
    items.div_ceil(of_block).clamp(1, MOST_BLOCKS)
}

impl<G: Gpu> Kernels<G> {
    /// Loads the kernels.
    pub fn new(gpu: &G) -> Result<Kernels<G>> {
        let mut kernels = code::load_arrays(gpu, &NAMES)?.into_iter();
        let mut next = || kernels.next().expect("a kernel for each name");
        Ok(Kernels {
            check_bodies: next(),
            check_addresses: next(),
            pack_sinks: next(),
            compare_sinks: next(),
            pack_sources: next(),
            count_sizes: next(),
            write_forces: next(),
            move_bodies: next(),
            groups_of_offsets: next(),
            chooser: UnitChooser::of(next()),
        })
    }

    /// Looks for bodies that are not good. `found` has a place for each check, by its number.
    ///
    /// # Safety
    /// Every array has as many rows as the counts say, and every address is of memory that is long
    /// enough; none is freed or touched by the host until the queue has done the work. This holds
    /// for the other launches too.
    pub unsafe fn check_bodies(
        &mut self,
        (gpu, queue, origin): On<G>,
        (bodies, count): (&DeviceBodies, usize),
        bounds: &BodyBounds,
        (check, found): (usize, Address<G>),
    ) -> Result<()> {
        let (columns, number, check) = (columns(&bodies.columns), count as i32, check as i32);
        let arguments = [
            Argument::Bytes(bytes_of(&columns)),
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&number)),
            Argument::Bytes(bytes_of(bounds)),
            Argument::Bytes(bytes_of(&check)),
            Argument::Memory(found),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.check_bodies, blocks(count, ARRAY_THREADS), &arguments) }
    }

    /// Looks for addresses that are not below `end`. Their number is the last place of the groups; if
    /// it is larger than `room`, none is read.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn check_addresses(
        &mut self,
        (gpu, queue, origin): On<G>,
        listed: &ListedAddresses,
        (check, found): (usize, Address<G>),
    ) -> Result<()> {
        let [addresses, places] = [listed.addresses, listed.places].map(|array| column(Some(array)));
        let [groups, end, check] =
            [listed.groups, listed.end, check].map(|number| number.min(i32::MAX as usize) as i32);
        let room = listed.room as i64;
        let arguments = [
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&addresses)),
            Argument::Bytes(bytes_of(&places)),
            Argument::Bytes(bytes_of(&groups)),
            Argument::Bytes(bytes_of(&room)),
            Argument::Bytes(bytes_of(&end)),
            Argument::Bytes(bytes_of(&check)),
            Argument::Memory(found),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.check_addresses, blocks(listed.room, ADDRESS_RUN), &arguments) }
    }

    /// Puts sinks where a block has them, with this many numbers each, and finds wrong ones. It
    /// returns the number of thread blocks, each of which writes its largest components.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn pack_sinks(
        &mut self,
        (gpu, queue, origin): On<G>,
        (sinks, count, softening2): (&DeviceBodies, usize, f64),
        (vectors, width, bounds): (usize, usize, &BodyBounds),
        [to, found, largest]: [Address<G>; 3],
    ) -> Result<usize> {
        let (columns, radii2, steps) =
            (columns(&sinks.columns), column(sinks.columns.radii2), column(sinks.columns.steps));
        let (number, vectors, width) = (count as i32, vectors as i32, width as i32);
        let arguments = [
            Argument::Bytes(bytes_of(&columns)),
            Argument::Bytes(bytes_of(&radii2)),
            Argument::Bytes(bytes_of(&steps)),
            Argument::Bytes(bytes_of(&softening2)),
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&number)),
            Argument::Bytes(bytes_of(&vectors)),
            Argument::Bytes(bytes_of(&width)),
            Argument::Bytes(bytes_of(bounds)),
            Argument::Memory(to),
            Argument::Memory(found),
            Argument::Memory(largest),
        ];
        let blocks = blocks(count, ARRAY_THREADS);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.pack_sinks, blocks, &arguments) }?;
        Ok(blocks)
    }

    /// Looks for a sink that is not the source at its number.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn compare_sinks(
        &mut self,
        (gpu, queue, origin): On<G>,
        (sinks, count): (&DeviceBodies, usize),
        (store, n_coefficients, with_indices): (&StoreAddresses<Address<G>>, usize, bool),
        found: Address<G>,
    ) -> Result<()> {
        let (columns, number, n_coefficients) = (columns(&sinks.columns), count as i32, n_coefficients as i32);
        let with_indices = i32::from(with_indices);
        let arguments = [
            Argument::Bytes(bytes_of(&columns)),
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&number)),
            Argument::Memory(store.octets),
            Argument::Memory(store.indices),
            Argument::Bytes(bytes_of(&n_coefficients)),
            Argument::Bytes(bytes_of(&with_indices)),
            Argument::Memory(found),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.compare_sinks, blocks(count, ARRAY_THREADS), &arguments) }
    }

    /// Puts sources where the device keeps them, if a check before has found all good.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn pack_sources(
        &mut self,
        (gpu, queue, origin): On<G>,
        (sources, count): (&DeviceBodies, usize),
        n_coefficients: usize,
        found: Address<G>,
        store: &StoreAddresses<Address<G>>,
    ) -> Result<()> {
        let (columns, number, n_coefficients) = (columns(&sources.columns), count as i32, n_coefficients as i32);
        let arguments = [
            Argument::Bytes(bytes_of(&columns)),
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&number)),
            Argument::Bytes(bytes_of(&n_coefficients)),
            Argument::Memory(found),
            Argument::Memory(store.octets),
            Argument::Memory(store.indices),
            Argument::Memory(store.ranges),
        ];
        let kernel = &mut self.pack_sources;
        let blocks = count.div_ceil(CHUNK);
        let launch = Launch { kernel, blocks, threads: CHUNK, overlaps: false, arguments: &arguments };
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { gpu.launch(queue, launch) }
    }

    /// Counts the sizes of sources.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn count_sizes(
        &mut self,
        (gpu, queue, origin): On<G>,
        (sources, count): (&DeviceBodies, usize),
        n_coefficients: usize,
        counts: Address<G>,
    ) -> Result<()> {
        let (columns, number, n_coefficients) = (columns(&sources.columns), count as i32, n_coefficients as i32);
        let arguments = [
            Argument::Bytes(bytes_of(&columns)),
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&number)),
            Argument::Bytes(bytes_of(&n_coefficients)),
            Argument::Memory(counts),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.count_sizes, blocks(count, ARRAY_THREADS), &arguments) }
    }

    /// Writes the forces of a piece to arrays of the caller, and looks for sums that are not finite.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn write_forces(
        &mut self,
        (gpu, queue, origin): On<G>,
        piece: PieceResults<Address<G>>,
        n_outputs: usize,
        forces: &DeviceForces,
        found: Address<G>,
    ) -> Result<()> {
        let (count, stride) = (piece.sinks as i32, piece.stride as i32);
        let (n_outputs, first, columns) = (n_outputs as i32, piece.first_sink as i32, columns_of_forces(forces));
        let from = piece.from as i64;
        let arguments = [
            Argument::Memory(piece.results),
            Argument::Bytes(bytes_of(&from)),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&stride)),
            Argument::Bytes(bytes_of(&n_outputs)),
            Argument::Bytes(bytes_of(&first)),
            Argument::Bytes(bytes_of(&columns)),
            Argument::Memory(origin),
            Argument::Memory(found),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.write_forces, blocks(piece.sinks, ARRAY_THREADS), &arguments) }
    }

    /// Makes groups, for kernels whose threads have this many sinks, and counts what there is of
    /// them: `found` receives the numbers, where it is zero. It returns the number of thread blocks,
    /// each of which writes its sums.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn groups_of_offsets(
        &mut self,
        (gpu, queue, origin): On<G>,
        (given, end, sinks_of_thread): (&DeviceGroups, usize, usize),
        groups: Address<G>,
        (check, found): (usize, Address<G>),
    ) -> Result<usize> {
        let (offsets, sinks_of_thread, check) = (offsets(given, end), sinks_of_thread as i32, check as i32);
        let arguments = [
            Argument::Bytes(bytes_of(&offsets)),
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&sinks_of_thread)),
            Argument::Memory(groups),
            Argument::Bytes(bytes_of(&check)),
            Argument::Memory(found),
        ];
        let blocks = blocks(given.count, ARRAY_THREADS);
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.groups_of_offsets, blocks, &arguments) }?;
        Ok(blocks)
    }

    /// Kicks bodies for two times and lets them drift for a third. Memory has this many components of
    /// each of their quantities.
    ///
    /// # Safety
    /// See [`Kernels::check_bodies`].
    pub unsafe fn move_bodies(
        &mut self,
        (gpu, queue, origin): On<G>,
        (places, components): (MovingPlaces, usize),
        motion: &Motion,
    ) -> Result<()> {
        let MovingPlaces { positions, velocities, accelerations, lost } = places;
        let vectors = [positions, velocities, accelerations, lost[0], lost[1]].map(|place| place as i64);
        let (count, begins) = (components as i64, i32::from(motion.begins));
        let Motion { kicks: [first, second], drift, .. } = motion;
        let arguments = [
            Argument::Memory(origin),
            Argument::Bytes(bytes_of(&vectors[0])),
            Argument::Bytes(bytes_of(&vectors[1])),
            Argument::Bytes(bytes_of(&vectors[2])),
            Argument::Bytes(bytes_of(&vectors[3])),
            Argument::Bytes(bytes_of(&vectors[4])),
            Argument::Bytes(bytes_of(&count)),
            Argument::Bytes(bytes_of(&begins)),
            Argument::Bytes(bytes_of(first)),
            Argument::Bytes(bytes_of(second)),
            Argument::Bytes(bytes_of(drift)),
        ];
        // SAFETY: the caller's promise; the arguments are those of the kernel.
        unsafe { launch((gpu, queue), &mut self.move_bodies, blocks(components, ARRAY_THREADS), &arguments) }
    }
}

/// Returns where groups begin as kernels have it, counted from address 0.
fn offsets(groups: &DeviceGroups, end: usize) -> GroupOffsets {
    let column = |array: DeviceArray| column(Some(array));
    let of_sinks = GroupOffsets {
        sinks: column(groups.sinks),
        sink_count: groups.sink_count as i64,
        end: end as i64,
        count: groups.count as i32,
        ..GroupOffsets::default()
    };
    match groups.sources {
        DeviceSources::Ranges(first, counts) => GroupOffsets {
            first_addresses: column(first),
            source_counts: column(counts),
            form: LISTED_RANGES,
            ..of_sinks
        },
        DeviceSources::Addresses(offsets) => {
            GroupOffsets { sources: column(offsets), form: LISTED_ADDRESSES, ..of_sinks }
        }
        DeviceSources::Own(offsets, count) => {
            GroupOffsets { sources: column(offsets), source_count: count as i64, form: LISTED_OWN, ..of_sinks }
        }
        DeviceSources::Sinks => GroupOffsets { is_batch: 1, form: LISTED_OWN, ..of_sinks },
    }
}

/// Launches a kernel in this many thread blocks.
///
/// # Safety
/// As for [`Gpu::launch`].
unsafe fn launch<G: Gpu>(
    (gpu, queue): (&G, &G::Queue),
    kernel: &mut G::Kernel,
    blocks: usize,
    arguments: &[Argument<Address<G>>],
) -> Result<()> {
    let launch = Launch { kernel, blocks, threads: ARRAY_THREADS, overlaps: false, arguments };
    // SAFETY: the caller's promise.
    unsafe { gpu.launch(queue, launch) }
}
