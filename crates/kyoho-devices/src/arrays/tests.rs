//! The kernels on the first OpenCL device of this machine. The arrays of the caller lie in one
//! buffer, whose first byte has address 0 for the kernels.

use std::cell::Cell;
use std::sync::Arc;

use kyoho_core::units::Census;
use kyoho_core::{
    BodyColumns, CHUNK, DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DevicePlace, DeviceSources, Interaction,
    MAX_COEFFICIENTS, MAX_DERIVATIVES, Sink, SinkGroup, Sinks, Source, Sources, Units,
};
use kyoho_hal::gpu::{Gpu, Place};
use kyoho_hal::opencl::hooks;
use kyoho_hal::opencl::{Memory, OpenCl};
use kyoho_hal::threads::Threads;
use kyoho_laws::catalogue::with_kernels;
use kyoho_lists::gpu::groups::{Groups, GroupsOnDevice};
use kyoho_lists::gpu::plan::Counts;
use kyoho_methods::device_arrays::{Check, GroupBodies, ListedAddresses, Taken};
use kyoho_methods::gpu::columns::{On, PieceResults};
use kyoho_methods::gpu::store::Store;
use kyoho_methods::gpu::{pack, tuning};

use super::work::ArrayWork;

/// The number of bodies: some chunks, and a part of one.
const COUNT: usize = 3 * CHUNK + 40;
/// The doubles of a body: mass, time, softening, radius, step, index, vectors.
const WIDTH: usize = 6 + 3 * MAX_COEFFICIENTS;
const PLACE: DevicePlace = DevicePlace { name: "a test", device: 0, stream: 0 };

/// The numbers of a body in its row.
fn row(number: usize) -> [f64; WIDTH] {
    let mut row = std::array::from_fn(|place| ((number * WIDTH + place) as f64 * 0.7).sin());
    (row[2], row[3]) = (row[2] * row[2], if number.is_multiple_of(3) { 0.0 } else { row[3].abs() });
    row[5] = f64::from_bits((number as i32 * 5 - 300).cast_unsigned().into());
    row
}

fn vector(row: &[f64; WIDTH], k: usize) -> [f64; 3] {
    std::array::from_fn(|component| row[6 + 3 * k + component])
}

fn source(row: &[f64; WIDTH]) -> Source {
    Source::from_derivatives::<MAX_COEFFICIENTS>(
        row[5].to_bits() as i32,
        row[0],
        row[1],
        std::array::from_fn(|k| vector(row, k)),
    )
}

fn sink(row: &[f64; WIDTH]) -> Sink {
    Sink {
        index: row[5].to_bits() as i32,
        softening2: row[2],
        radius2: row[3],
        step: row[4],
        derivatives: std::array::from_fn(|k| vector(row, k)),
    }
}

/// An array of rows that begin at this number of a body's row.
fn array(at: usize, width: usize) -> Option<DeviceArray> {
    Some(DeviceArray { name: "an array", address: 8 * at as u64, stride: 8 * WIDTH as i64, width })
}

fn sources(interaction: &Interaction) -> DeviceBodies {
    let columns = BodyColumns {
        masses: array(0, 8),
        times: array(1, 8),
        indices: array(5, 4),
        derivatives: std::array::from_fn(|k| if k < interaction.n_coefficients { array(6 + 3 * k, 24) } else { None }),
        ..BodyColumns::NONE
    };
    DeviceBodies { place: PLACE, columns }
}

fn sinks(interaction: &Interaction) -> DeviceBodies {
    let columns = BodyColumns {
        softening2: array(2, 8),
        radii2: array(3, 8),
        steps: if interaction.is_regular() { array(4, 8) } else { None },
        indices: array(5, 4),
        derivatives: std::array::from_fn(|k| if k < interaction.n_derivatives { array(6 + 3 * k, 24) } else { None }),
        ..BodyColumns::NONE
    };
    DeviceBodies { place: PLACE, columns }
}

/// A device and the memory of a caller on it.
struct Caller {
    gpu: OpenCl,
    queue: <OpenCl as Gpu>::Queue,
    memory: Memory,
}

impl Caller {
    fn new(gpu: OpenCl, numbers: &[f64]) -> Caller {
        let (queue, bytes) = (gpu.queue().unwrap(), size_of_val(numbers));
        let caller = Caller { memory: gpu.allocate(bytes, "a test").unwrap(), queue, gpu };
        caller.put(numbers);
        caller
    }

    fn on(&self) -> On<'_, OpenCl> {
        (&self.gpu, &self.queue, self.memory.address())
    }

    fn put(&self, numbers: &[f64]) {
        let from = Place::Host(numbers.as_ptr().cast_mut().cast());
        // SAFETY: the memory is that long, and the copy is waited for.
        unsafe { self.gpu.copy(&self.queue, from, Place::Device(&self.memory, 0), size_of_val(numbers)).unwrap() };
        self.gpu.synchronize(&self.queue).unwrap();
    }

    fn get(&self, memory: &Memory, count: usize) -> Vec<f64> {
        let mut numbers = vec![0.0f64; count];
        let to = Place::Host(numbers.as_mut_ptr().cast());
        // SAFETY: as above.
        unsafe { self.gpu.copy(&self.queue, Place::Device(memory, 0), to, 8 * count).unwrap() };
        self.gpu.synchronize(&self.queue).unwrap();
        numbers
    }
}

/// Returns what a check finds.
///
/// # Safety
/// The arrays have as many elements.
unsafe fn find_bad(
    (work, groups): (&mut ArrayWork<OpenCl>, &mut Groups<OpenCl>),
    caller: &Caller,
    interaction: &Interaction,
    check: Check,
) -> Option<usize> {
    // SAFETY: the caller's promise.
    unsafe {
        work.begin_check(caller.on(), interaction, groups, &check).unwrap();
        let found = work.finish_checks((&caller.gpu, &caller.queue), groups).unwrap();
        assert_eq!(found.len(), 1);
        found[0].1
    }
}

#[test]
fn bodies_on_a_device_are_checked_and_packed_as_those_of_the_host() {
    let Some(context) = hooks::hooked_context() else { return };
    let rows: Vec<[f64; WIDTH]> = (0..COUNT).map(row).collect();
    let caller = Caller::new(OpenCl::on(context.clone()), rows.as_flattened());
    let mut work = ArrayWork::new(&caller.gpu).unwrap();
    let mut made = Groups::new(&caller.gpu).unwrap();
    for interaction in with_kernels().filter(|interaction| interaction.order as i32 != 6) {
        caller.put(rows.as_flattened());
        let (sources, sinks) = (sources(interaction), sinks(interaction));
        // SAFETY: the arrays have a row for each body. So have those below.
        let found = unsafe { find_bad((&mut work, &mut made), &caller, interaction, Check::Bodies(sources, COUNT)) };
        assert_eq!(found, None);
        let expected = Sinks::of(interaction, rows.iter().map(sink)).unwrap();
        let mut packed = caller.gpu.allocate(0, "sinks").unwrap();
        // SAFETY: as above.
        let (scan, bad) =
            unsafe { work.take_sinks(caller.on(), interaction, (&sinks, COUNT, 0.0), &mut packed).unwrap() };
        let packed = caller.get(&packed, expected.all().numbers().len());
        assert!(
            bytemuck::cast_slice::<f64, u64>(&packed) == bytemuck::cast_slice::<f64, u64>(expected.all().numbers())
        );
        let scanned = Sinks::default().collect(rows.iter().map(sink), interaction).unwrap();
        assert_eq!((bad, scan.radius, scan.largest), (None, scanned.radius, scanned.largest));

        let mut on_host = Sources::new(interaction.n_coefficients);
        rows.iter().enumerate().for_each(|(address, row)| on_host.write(address, &source(row)).unwrap());
        let mut store = Store::<OpenCl>::new(&caller.gpu, Arc::clone(interaction), 2).unwrap();
        store.take_dense(&caller.gpu, &caller.queue, COUNT).unwrap();
        let (kept, given) = (store.addresses(), (&sources, COUNT, true));
        // SAFETY: as above, and the store has room.
        let taken = unsafe { work.take_sources(caller.on(), interaction, given, &kept).unwrap() };
        let Taken::All(census) = taken else { panic!("a good source is found wrong") };
        let units =
            |census: &Census| census.units(&[0.0; MAX_DERIVATIVES], &interaction.bounds, interaction.n_derivatives);
        assert_eq!(units(&census), on_host.units(&[0.0; MAX_DERIVATIVES], interaction));
        let chunks = Cell::new(0);
        let mut check = |number: usize, octets: &[f64], indices: &[i32]| {
            let (mut numbers, mut names) = (vec![0.0; octets.len()], [0; CHUNK]);
            pack::chunk(interaction, on_host.chunk(number).unwrap(), &mut numbers, &mut names);
            assert!(numbers == octets && names == indices, "chunk {number}");
            chunks.set(chunks.get() + 1);
            Ok(())
        };
        store.fetch(&caller.gpu, &caller.queue, COUNT, &mut check).unwrap();
        assert_eq!(chunks.get(), COUNT.div_ceil(CHUNK));

        let are_sources = |work: &mut ArrayWork<OpenCl>| {
            [false, true].map(|with_indices| {
                let compared = (&sinks, COUNT, with_indices);
                // SAFETY: as above; the store has as many sources.
                unsafe { work.sinks_are_sources(caller.on(), interaction, compared, &kept).unwrap() }
            })
        };
        assert_eq!(are_sources(&mut work), [true, true], "{}", interaction.name());
        let mut others = rows.clone();
        for (number, at, value, expected) in [(COUNT - 1, 5, 0.5, [true, false]), (300, 8, 7.0, [false, false])] {
            others[number][at] = value;
            caller.put(others.as_flattened());
            assert_eq!(are_sources(&mut work), expected, "{}", interaction.name());
        }

        for (number, at, value) in
            [(700, 8, f64::NAN), (41, 6, 1e300), (807, 5 + 3 * interaction.n_derivatives, -f64::INFINITY)]
        {
            let mut wrong = rows.clone();
            wrong[number][at] = value;
            wrong[(number + 1).min(COUNT - 1)][at] = value;
            caller.put(wrong.as_flattened());
            // SAFETY: as above.
            let (found, (scan, of_sinks), taken) = unsafe {
                let found = find_bad((&mut work, &mut made), &caller, interaction, Check::Bodies(sources, COUNT));
                let mut packed = caller.gpu.allocate(0, "sinks").unwrap();
                let of_sinks = work.take_sinks(caller.on(), interaction, (&sinks, COUNT, 0.0), &mut packed).unwrap();
                (found, of_sinks, work.take_sources(caller.on(), interaction, given, &kept).unwrap())
            };
            let is_wrong = interaction.bounds.position < 1e300 || at != 6;
            let expected = if is_wrong { Some(number) } else { None };
            assert_eq!((found, of_sinks, scan.good), (expected, expected, !is_wrong), "{value}");
            match taken {
                Taken::None(number) => assert_eq!(Some(number), expected),
                Taken::All(_) => assert!(!is_wrong),
            }
            if is_wrong {
                // Those that it had are still there.
                chunks.set(0);
                store.fetch(&caller.gpu, &caller.queue, COUNT, &mut check).unwrap();
                assert_eq!(chunks.get(), COUNT.div_ceil(CHUNK));
            } else {
                caller.put(rows.as_flattened());
                // SAFETY: as above.
                unsafe { work.take_sources(caller.on(), interaction, given, &kept).unwrap() };
            }
        }
    }
}

/// Groups of these many sinks and sources, as arrays of a caller: the first sinks, the first
/// addresses and the counts of ranges, and the first places.
struct GivenGroups {
    sinks: Vec<i32>,
    first: Vec<i32>,
    counts: Vec<i32>,
    places: Vec<i64>,
}

impl GivenGroups {
    fn of(sizes: &[(usize, usize)]) -> GivenGroups {
        let sum = |count: &dyn Fn(&(usize, usize)) -> usize| -> Vec<usize> {
            let mut before = vec![0];
            sizes.iter().for_each(|group| before.push(before[before.len() - 1] + count(group)));
            before
        };
        GivenGroups {
            sinks: sum(&|group| group.0).into_iter().map(|sink| sink as i32).collect(),
            first: (0..sizes.len()).map(|group| (group % 90) as i32).collect(),
            counts: sizes.iter().map(|group| group.1 as i32).collect(),
            places: sum(&|group| group.1).into_iter().map(|place| place as i64).collect(),
        }
    }

    /// Puts bodies and behind them the arrays in the memory of a caller, and returns groups of a form:
    /// ranges, lists of addresses, sources of the call, and sinks that are the sources.
    fn put(&self, caller: &Caller, bodies: &[f64], form: usize) -> DeviceGroups {
        let mut numbers: Vec<i64> = bytemuck::cast_slice(bodies).to_vec();
        let places = DeviceArray { name: "places", address: 8 * numbers.len() as u64, stride: 8, width: 8 };
        numbers.extend(&self.places);
        let mut array = |name: &'static str, array: &[i32]| {
            let address = 8 * numbers.len() as u64;
            numbers.extend(array.iter().map(|number| i64::from(*number) | 0x7777 << 32));
            DeviceArray { name, address, stride: 8, width: 4 }
        };
        let arrays = [array("sinks", &self.sinks), array("first", &self.first), array("counts", &self.counts)];
        let numbers: Vec<f64> = numbers.into_iter().map(|number| f64::from_bits(number.cast_unsigned())).collect();
        caller.put(&numbers);
        let sources = match form {
            0 => DeviceSources::Ranges(arrays[1], arrays[2]),
            1 => DeviceSources::Addresses(places),
            2 => DeviceSources::Own(places, *self.places.last().unwrap() as usize),
            _ => DeviceSources::Sinks,
        };
        let (count, sink_count) = (self.counts.len(), *self.sinks.last().unwrap() as usize);
        DeviceGroups { place: PLACE, count, sinks: arrays[0], sink_count, sources }
    }

    /// Returns the groups of a form as the library has them.
    fn groups(&self, form: usize) -> Vec<SinkGroup> {
        let group = |number: usize| {
            let (first_sink, sinks) = (self.sinks[number], self.sinks[number + 1] - self.sinks[number]);
            let (first, sources) = match form {
                0 => (self.first[number].into(), self.counts[number]),
                1 | 2 => (self.places[number], self.counts[number]),
                _ => (first_sink.into(), sinks),
            };
            let [sources, sinks, first_sink] = [sources, sinks, first_sink].map(i32::cast_unsigned);
            SinkGroup { first_source: first.cast_unsigned(), sources, sinks, first_sink, reserved: 0 }
        };
        (0..self.counts.len()).map(group).collect()
    }
}

#[test]
fn groups_are_made_and_counted_as_by_the_host() {
    let Some(context) = hooks::hooked_context() else { return };
    let caller = Caller::new(OpenCl::on(context.clone()), &vec![0.0; 600_000]);
    let mut work = ArrayWork::new(&caller.gpu).unwrap();
    let mut made = Groups::new(&caller.gpu).unwrap();
    let few = [(300, 5000), (1, 2500), (7, 0), (0, 90), (64, 1024), (64, 1025)];
    let many: Vec<(usize, usize)> = (0..140_000).map(|group| (group % 70, group * 37 % 5000)).collect();
    let threads = Threads::alone();
    for (number, (sizes, interaction)) in
        [&few[..], &[(1, 1)], &many].into_iter().flat_map(|sizes| [0, 5].map(|number| (sizes, number))).enumerate()
    {
        let interaction = with_kernels().nth(interaction).unwrap();
        let given = GivenGroups::of(sizes);
        for form in (0..4).filter(|form| sizes.len() < 1000 || form % 2 == number % 2) {
            let check = Check::Groups(given.put(&caller, &[], form), 5090);
            // SAFETY: the arrays have as many elements.
            assert_eq!(unsafe { find_bad((&mut work, &mut made), &caller, interaction, check) }, None);
            let groups = given.groups(form);
            let GroupsOnDevice { groups: table, counted, .. } = made.on_device(None);
            let made = made.made;
            assert_eq!(made.pairs, groups.iter().map(SinkGroup::pairs).sum::<u64>());
            assert_eq!(made.sources, groups.iter().map(|group| group.sources as usize).sum::<usize>());
            let sinks_of_thread = tuning::of(interaction).list(interaction).sinks;
            for (divides, counted) in [false, true].into_iter().zip(counted) {
                let expected = Counts::of_all(&groups, sinks_of_thread, divides, &threads).unwrap();
                assert_eq!(*counted, expected, "form {form} of {}", interaction.name());
            }
            let bits = caller.get(table, groups.len() * size_of::<SinkGroup>() / 8);
            assert!(bytemuck::cast_slice::<f64, SinkGroup>(&bits) == groups);
        }
    }
}

#[test]
fn a_wrong_number_of_groups_is_found() {
    let Some(context) = hooks::hooked_context() else { return };
    let caller = Caller::new(OpenCl::on(context.clone()), &[0.0; 50]);
    let mut work = ArrayWork::new(&caller.gpu).unwrap();
    let mut made = Groups::new(&caller.gpu).unwrap();
    let interaction = with_kernels().next().unwrap();
    let good = || GivenGroups::of(&[(2, 5), (0, 3), (4, 0), (1, 7)]);
    type Change = fn(&mut GivenGroups);
    let changes: [(usize, Option<usize>, Change); 16] = [
        (0, None, |given| given.first[2] = -7),
        (0, None, |given| given.first[3] = 93),
        (0, Some(3), |given| given.first[3] = 94),
        (0, Some(0), |given| given.first[0] = -1),
        (0, Some(1), |given| given.counts[1] = -1),
        (0, Some(0), |given| (given.first[0], given.counts[0]) = (i32::MAX, i32::MAX)),
        (1, Some(0), |given| given.places[0] = 1),
        (1, Some(1), |given| given.places[2] = 4),
        (1, Some(3), |given| given.places[4] = i64::MAX),
        (2, None, |given| given.places[3] = 10),
        (2, Some(1), |given| given.places[2] = 16),
        (3, Some(0), |given| given.sinks[0] = 1),
        (3, Some(1), |given| given.sinks[2] = 1),
        (3, Some(2), |given| given.sinks[3] = 8),
        (1, Some(2), |given| given.sinks[3] = 8),
        (1, Some(0), |given| given.sinks[1] = -1),
    ];
    for (number, (form, expected, change)) in changes.into_iter().enumerate() {
        let mut given = good();
        change(&mut given);
        let check = Check::Groups(given.put(&caller, &[], form), 100);
        assert_eq!(
            // SAFETY: the arrays have as many elements.
            unsafe { find_bad((&mut work, &mut made), &caller, interaction, check) },
            expected,
            "change {number}"
        );
    }
    // One that is not the number of sinks, or of sources of the call.
    let groups = good().put(&caller, &[], 2);
    let DeviceSources::Own(places, sources) = groups.sources else { panic!("another form") };
    let wrong_sources = DeviceGroups { sources: DeviceSources::Own(places, sources + 1), ..groups };
    for wrong in [DeviceGroups { sink_count: 8, ..groups }, DeviceGroups { sink_count: 6, ..groups }, wrong_sources] {
        assert_eq!(
            // SAFETY: as above.
            unsafe { find_bad((&mut work, &mut made), &caller, interaction, Check::Groups(wrong, 100)) },
            Some(3)
        );
    }
}

#[test]
fn units_of_groups_are_chosen_as_by_the_host_and_a_wrong_source_is_found() {
    let Some(context) = hooks::hooked_context() else { return };
    const FIRST_SINK: usize = 300;
    // Of few bodies, one of so many that all threads have it after those, and of none.
    let few = [(3, 3), (1, 1), (0, 2), (5, 0), (300, 350), (2, 70)];
    let given = GivenGroups::of(&[&few[..], &[(1, 2); 80]].concat());
    let mut rows: Vec<[f64; WIDTH]> = (0..COUNT).map(row).collect();
    for (number, row) in rows.iter_mut().enumerate() {
        // Each group has sizes of its own, and some have no velocities.
        let group = given.places.partition_point(|place| *place <= number as i64);
        row[0] *= 1e-3 * 40f64.powi(group as i32 % 7);
        (6..9).for_each(|place| row[place] *= 1e-4 * 100f64.powi(group as i32 % 7));
        (9..12).for_each(|place| row[place] *= if group % 2 == 0 { 0.0 } else { 1e3 });
    }
    let caller = Caller::new(OpenCl::on(context.clone()), &vec![0.0; COUNT * WIDTH + 400]);
    let mut work = ArrayWork::new(&caller.gpu).unwrap();
    let mut made = Groups::new(&caller.gpu).unwrap();
    for interaction in with_kernels().filter(|interaction| !interaction.is_regular()) {
        let of_sinks = |array: DeviceArray| DeviceArray { address: array.row(FIRST_SINK), ..array };
        let mut sinks = sinks(interaction);
        sinks.columns.derivatives = sinks.columns.derivatives.map(|array| array.map(of_sinks));
        for form in [2, 3] {
            let mut find = |rows: &[[f64; WIDTH]]| {
                let on_device = given.put(&caller, rows.as_flattened(), form);
                let groups = Check::Groups(on_device, 0);
                let count = if form == 2 { *given.places.last().unwrap() as usize } else { on_device.sink_count };
                let sinks = (form == 2).then_some((sinks, on_device.sink_count));
                let of_groups = GroupBodies { groups: on_device.count, sources: (sources(interaction), count), sinks };
                // SAFETY: the arrays have as many elements.
                unsafe {
                    work.begin_check(caller.on(), interaction, &mut made, &groups).unwrap();
                    work.begin_check(caller.on(), interaction, &mut made, &Check::Sources(of_groups)).unwrap();
                    let found = work.finish_checks((&caller.gpu, &caller.queue), &mut made).unwrap();
                    assert_eq!(found[0].1, None);
                    found[1].1
                }
            };
            let mut wrong = rows.clone();
            // The last one is looked at first, by the thread that looks at the first one.
            (wrong[207][7], wrong[300][7], wrong[433][7]) = (f64::NAN, f64::INFINITY, f64::NAN);
            assert_eq!(find(&wrong), Some(207));
            assert_eq!(find(&rows), None);
            let units = made.on_device(None).units.expect("they are chosen");
            let groups = given.groups(form);
            let found = caller.get(units, (3 * groups.len()).div_ceil(2));
            for (group, found) in groups.iter().zip(bytemuck::cast_slice::<f64, i32>(&found).chunks(3)) {
                let largest = |bodies: std::ops::Range<usize>, places: std::ops::Range<usize>| {
                    rows[bodies].iter().flat_map(|row| &row[places.clone()]).fold(0.0, |all: f64, x| all.max(x.abs()))
                };
                let of = |bodies: std::ops::Range<usize>| -> [f64; MAX_DERIVATIVES] {
                    std::array::from_fn(|k| {
                        if k < interaction.n_derivatives { largest(bodies.clone(), 6 + 3 * k..9 + 3 * k) } else { 0.0 }
                    })
                };
                let (sinks, sources) = (group.sink_range(), group.source_range());
                let sinks = if form == 2 { sinks.start + FIRST_SINK..sinks.end + FIRST_SINK } else { sources.clone() };
                let (mass, bounds) = (largest(sources.clone(), 0..1), &interaction.bounds);
                let expected = Units::of_group(mass, &of(sources), &of(sinks), bounds, interaction.n_derivatives);
                assert_eq!([expected.mass, expected.length, expected.speed], found, "{group:?} {}", interaction.name());
            }
        }
    }
}

#[test]
fn the_first_address_beyond_the_sources_is_found() {
    let Some(context) = hooks::hooked_context() else { return };
    let mut addresses: Vec<i32> = (0..9000).map(|place| place % 77).collect();
    let caller = Caller::new(OpenCl::on(context.clone()), &[0.0; 4502]);
    let mut work = ArrayWork::new(&caller.gpu).unwrap();
    let mut made = Groups::new(&caller.gpu).unwrap();
    let places = DeviceArray { name: "places", address: 0, stride: 8, width: 8 };
    let array = DeviceArray { name: "addresses", address: 16, stride: 4, width: 4 };
    let interaction = with_kernels().next().unwrap();
    let mut find = |addresses: &[i32], room: usize, end: usize| {
        let offsets = [0, addresses.len() as i64];
        caller.put(bytemuck::cast_slice(&[bytemuck::cast_slice::<i64, i32>(&offsets), addresses].concat()));
        let listed = ListedAddresses { addresses: array, room, places, groups: 1, end };
        // SAFETY: the arrays have as many elements.
        unsafe { find_bad((&mut work, &mut made), &caller, interaction, Check::Addresses(listed)) }
    };
    assert_eq!(find(&addresses, 9000, 77), None);
    assert_eq!(find(&addresses, 9000, 76), Some(0));
    (addresses[5000], addresses[8999]) = (-1, 77);
    assert_eq!(find(&addresses, 1 << 40, 77), Some(5000 / super::kernels::ADDRESS_RUN));
    assert_eq!(find(&addresses, 8999, 77), None, "none is looked at where there may not be so many");
}

#[test]
fn forces_are_written_to_rows_of_the_caller_and_one_that_is_not_finite_is_found() {
    let Some(context) = hooks::hooked_context() else { return };
    // Two pieces of sinks with ten sums each, and nearest sources; then the rows of the caller.
    const SUMS: usize = 10;
    const ROW: usize = 14;
    let interaction = with_kernels().find(|interaction| interaction.n_outputs == SUMS && interaction.nearest).unwrap();
    let pieces = [(0, 0, 300, 304), (304 * (SUMS + 2), 300, 41, 48)];
    let results = 352 * (SUMS + 2);
    let mut numbers: Vec<f64> = (0..results + 341 * ROW).map(|place| place as f64).collect();
    for (from, _, sinks, stride) in pieces {
        for sink in 0..sinks {
            let nearest = from + stride * SUMS + 2 * sink;
            numbers[nearest] = if sink == 7 { f64::INFINITY } else { sink as f64 };
            numbers[nearest + 1] = f64::from_bits(sink as u64 + 5);
        }
    }
    let caller = Caller::new(OpenCl::on(context.clone()), &numbers);
    let mut work = ArrayWork::new(&caller.gpu).unwrap();
    let array = |at: usize, width: usize| {
        Some(DeviceArray { name: "forces", address: 8 * (results + at) as u64, stride: 8 * ROW as i64, width })
    };
    let forces = DeviceForces {
        place: PLACE,
        potentials: array(13, 8),
        derivatives: [array(0, 24), array(3, 24), array(6, 24), None],
        nearest: array(10, 4),
        nearest_distance2: array(11, 8),
    };
    let of_pieces = pieces.map(|(from, first_sink, sinks, stride)| PieceResults {
        results: caller.memory.address(),
        from,
        first_sink,
        sinks,
        stride,
    });
    // SAFETY: the memory has as many results and rows.
    assert!(unsafe { work.write_forces(caller.on(), interaction, &of_pieces, &forces).unwrap() });
    let written = caller.get(&caller.memory, numbers.len());
    for (from, first_sink, sinks, stride) in pieces {
        for sink in 0..sinks {
            let (sums, row) =
                (&numbers[from + sink * SUMS..][..SUMS], &written[results + (first_sink + sink) * ROW..][..ROW]);
            assert_eq!((row[13], &row[..9]), (sums[0], &sums[1..]));
            let distance2 = numbers[from + stride * SUMS + 2 * sink];
            let index = if distance2.is_finite() { sink as i32 + 5 } else { -1 };
            assert_eq!((row[10].to_bits() as i32, row[11]), (index, distance2));
            assert_eq!(row[12], numbers[results + (first_sink + sink) * ROW + 12], "what was not asked for");
        }
    }
    numbers[304 * (SUMS + 2) + 40 * SUMS + 9] = f64::NAN;
    caller.put(&numbers);
    // SAFETY: as above.
    assert!(!unsafe { work.write_forces(caller.on(), interaction, &of_pieces, &forces).unwrap() });
}
