//! A machine of GPUs whose work is late: they are PoCL's, with the kernels of all methods, and count
//! as those of CUDA. Callers have memory on them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kyoho::System;
use kyoho_core::{
    BodyColumns, DeviceArray, DeviceBodies, DeviceForces, DeviceGroups, DevicePlace, DeviceSources, Interaction,
    MAX_COEFFICIENTS, MAX_DERIVATIVES, Result, Sink, Source,
};
use kyoho_devices::GpuDevice;
use kyoho_engine::lists::{Division, GivenBodies, GivenLists, GivenSources};
use kyoho_hal::Backend;
use kyoho_hal::late::{Late, MemoryOfCallers, Schedule};
use kyoho_hal::opencl::OpenCl;
use kyoho_methods::{Device, DeviceOptions, Machine};
use kyoho_verify::{PlainLists, PlainSources};

/// The most bodies in an array of callers.
pub const MOST: usize = 9000;
/// The numbers of a body: mass, time, softening, radius, step, index, vectors.
const WIDTH: usize = 6 + 3 * MAX_COEFFICIENTS;
/// The numbers of the forces on a sink: potential, distance and index of the nearest, vectors.
const WIDTH_OF_FORCES: usize = 3 + 3 * MAX_DERIVATIVES;
/// The addresses of lists: of addresses, from the start on, and of the offsets of sinks, the ranges,
/// and the offsets of lists.
const SINK_OFFSETS: u64 = 8192;
const RANGES: u64 = SINK_OFFSETS + 1024;
const SOURCE_OFFSETS: u64 = RANGES + 1024;
/// The addresses of sources, sinks and forces.
const SOURCES: u64 = SOURCE_OFFSETS + 1024;
const SINKS: u64 = SOURCES + (8 * WIDTH * MOST) as u64;
const FORCES: u64 = SINKS + (8 * WIDTH * MOST) as u64;
/// That of sources that come with lists, which are read until the forces are there.
const OWN: u64 = FORCES + (8 * WIDTH_OF_FORCES * MOST) as u64;
/// The most such sources.
const MOST_OWN: usize = 1000;

/// The device and the stream of all arrays.
const PLACE: DevicePlace = DevicePlace { name: "arrays of a test", device: 0, stream: 0 };

/// Such a machine, and the memory of callers on it.
#[derive(Clone)]
pub struct LateMachine {
    schedule: Schedule,
    callers: Arc<MemoryOfCallers<OpenCl>>,
    devices: usize,
}

impl LateMachine {
    /// Returns a machine with this many GPUs, of which each does its work in another order.
    pub fn new(devices: usize) -> Result<LateMachine> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let bytes = OWN as usize + 8 * WIDTH * MOST_OWN;
        let callers = Arc::new(MemoryOfCallers::new(OpenCl::open(0)?, bytes)?);
        let schedule = Schedule::late(NUMBER.fetch_add(1, Ordering::Relaxed));
        Ok(LateMachine { schedule, callers, devices })
    }

    /// Returns what was done to memory while work used it.
    pub fn faults(&self) -> Vec<String> {
        self.schedule.take_faults()
    }

    /// Leaves out the wait of a number.
    pub fn leave_out(&self, wait: u64) {
        self.schedule.leave_out(wait);
    }

    /// Returns the number of waits until now for bytes that were still to come to the host.
    pub fn waits(&self) -> u64 {
        self.schedule.waits()
    }

    fn put<T: Copy>(&self, address: u64, numbers: &[T]) -> Result<()> {
        // SAFETY: they are numbers, all of whose bytes can be read.
        let bytes = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) };
        if numbers.is_empty() { Ok(()) } else { self.callers.put(address, bytes) }
    }

    /// Puts sources into the memory of the caller.
    pub fn put_sources(&self, derived: &[(Source, Vectors)], interaction: &Interaction) -> Result<DeviceBodies> {
        self.put_sources_at(SOURCES, derived, interaction)
    }

    fn put_sources_at(
        &self,
        first: u64,
        derived: &[(Source, Vectors)],
        interaction: &Interaction,
    ) -> Result<DeviceBodies> {
        let row = |(source, vectors): &(Source, Vectors)| {
            row([source.mass, source.time, 0.0, 0.0, 0.0], source.index, vectors.as_flattened())
        };
        self.put(first, &derived.iter().map(row).collect::<Vec<_>>())?;
        let at = |place, width| column(first, place, (WIDTH, width));
        let vector = |k| if k < interaction.n_coefficients { at(6 + 3 * k, 24) } else { None };
        let columns = BodyColumns {
            masses: at(0, 8),
            times: at(1, 8),
            indices: at(5, 4),
            derivatives: std::array::from_fn(vector),
            ..BodyColumns::NONE
        };
        Ok(DeviceBodies { place: PLACE, columns })
    }

    /// Puts sinks there, each with its softening if `is_each`.
    pub fn put_sinks(&self, sinks: &[Sink], is_each: bool, interaction: &Interaction) -> Result<DeviceBodies> {
        let of_sink = |sink: &Sink| {
            row([0.0, 0.0, sink.softening2, sink.radius2, sink.step], sink.index, sink.derivatives.as_flattened())
        };
        self.put(SINKS, &sinks.iter().map(of_sink).collect::<Vec<_>>())?;
        let at = |place, width| column(SINKS, place, (WIDTH, width));
        let vector = |k| if k < interaction.n_derivatives { at(6 + 3 * k, 24) } else { None };
        let columns = BodyColumns {
            softening2: if is_each { at(2, 8) } else { None },
            radii2: at(3, 8),
            steps: if interaction.is_regular() { at(4, 8) } else { None },
            indices: at(5, 4),
            derivatives: std::array::from_fn(vector),
            ..BodyColumns::NONE
        };
        Ok(DeviceBodies { place: PLACE, columns })
    }

    /// Puts lists there, with their sinks, and the sources that come with the call.
    pub fn put_lists(&self, lists: &PlainLists, sinks: &[Sink], interaction: &Interaction) -> Result<ListsInArrays> {
        let array = |address, width| DeviceArray { name: "an array", address, stride: width as i64, width };
        self.put(SINK_OFFSETS, &lists.sink_offsets.iter().map(|offset| *offset as i32).collect::<Vec<_>>())?;
        self.put(SOURCE_OFFSETS, &lists.source_offsets)?;
        let (mut own, mut addresses) = (None, None);
        let sources = match &lists.sources {
            PlainSources::Ranges(ranges) => {
                self.put(RANGES, ranges)?;
                let [first, counts] = [RANGES, RANGES + 4].map(|at| DeviceArray { stride: 8, ..array(at, 4) });
                DeviceSources::Ranges(first, counts)
            }
            PlainSources::Addresses(all) => {
                self.put(0, all)?;
                addresses = Some(array(0, 4));
                DeviceSources::Addresses(array(SOURCE_OFFSETS, 8))
            }
            PlainSources::Own(all) => {
                let derived: Vec<_> = all.iter().map(|source| (*source, vectors_of(source))).collect();
                own = Some((self.put_sources_at(OWN, &derived, interaction)?, all.len()));
                DeviceSources::Own(array(SOURCE_OFFSETS, 8), all.len())
            }
        };
        let (place, count, sink_count) = (PLACE, lists.groups(), lists.sinks());
        let groups = DeviceGroups { place, count, sinks: array(SINK_OFFSETS, 4), sink_count, sources };
        let mut sinks = self.put_sinks(sinks, true, interaction)?;
        (sinks.columns.radii2, sinks.columns.steps) = (None, None);
        Ok(ListsInArrays { groups, sinks, own, addresses })
    }

    /// Returns arrays of the caller for forces.
    pub fn forces(&self, interaction: &Interaction) -> DeviceForces {
        let at = |place, width| column(FORCES, place, (WIDTH_OF_FORCES, width));
        let nearest = |place, width| if interaction.nearest { at(place, width) } else { None };
        DeviceForces {
            place: PLACE,
            potentials: at(0, 8),
            derivatives: std::array::from_fn(|k| if k < interaction.n_derivatives { at(3 + 3 * k, 24) } else { None }),
            nearest: nearest(2, 4),
            nearest_distance2: nearest(1, 8),
        }
    }

    /// Returns the forces on some sinks: potential, vectors, and distance and index of the nearest.
    /// Vectors that the interaction does not have are zero.
    pub fn read_forces(&self, count: usize, interaction: &Interaction) -> Result<Vec<LeftForce>> {
        let mut bytes = vec![0u8; 8 * WIDTH_OF_FORCES * count];
        if count > 0 {
            self.callers.get(FORCES, &mut bytes)?;
        }
        let number = |row: usize, place: usize| {
            let from = 8 * (row * WIDTH_OF_FORCES + place);
            f64::from_ne_bytes(bytes[from..from + 8].try_into().expect("eight bytes"))
        };
        let given = 3 * interaction.n_derivatives;
        let component = |row: usize, place: usize| if place < given { number(row, 3 + place) } else { 0.0 };
        let nearest_of =
            |row: usize| interaction.nearest.then(|| (number(row, 1), number(row, 2).to_bits() as u32 as i32));
        let force = |row: usize| LeftForce {
            potential: number(row, 0),
            vectors: (0..3 * MAX_DERIVATIVES).map(|place| component(row, place)).collect(),
            nearest: nearest_of(row).filter(|(_, index)| *index != -1),
        };
        Ok((0..count).map(force).collect())
    }
}

/// Lists in arrays on the device.
pub struct ListsInArrays {
    groups: DeviceGroups,
    sinks: DeviceBodies,
    own: Option<(DeviceBodies, usize)>,
    addresses: Option<DeviceArray>,
}

impl ListsInArrays {
    /// Begins the forces.
    pub fn start(&self, system: &mut System, skip_own_index: bool) -> Result<()> {
        let bodies = |on_device, count| GivenBodies { count, on_device: Some(on_device), ..GivenBodies::default() };
        let sources = match (self.own, self.addresses) {
            (Some((own, count)), _) => GivenSources::Own(bodies(own, count)),
            (None, Some(addresses)) => GivenSources::AddressesOnDevice(addresses),
            (None, None) => GivenSources::Ranges,
        };
        let lists = GivenLists { groups: self.groups.count, division: Division::Device(self.groups), sources };
        system.start_lists(skip_own_index, &bodies(self.sinks, self.groups.sink_count), &lists)
    }
}

/// Returns the position and its derivatives of a source.
fn vectors_of(source: &Source) -> Vectors {
    let mut factorial = 1.0;
    std::array::from_fn(|k| {
        factorial *= k.max(1) as f64;
        source.coefficients[k].map(|component| component * factorial)
    })
}

/// The position and its derivatives, not divided.
pub type Vectors = [[f64; 3]; MAX_COEFFICIENTS];

/// The force on a sink as it was left in arrays.
pub struct LeftForce {
    pub potential: f64,
    pub vectors: Vec<f64>,
    pub nearest: Option<(f64, i32)>,
}

fn row(numbers: [f64; 5], index: i32, vectors: &[f64]) -> [f64; WIDTH] {
    let mut row = [0.0; WIDTH];
    row[..5].copy_from_slice(&numbers);
    row[5] = f64::from_bits(index.cast_unsigned().into());
    row[6..6 + vectors.len()].copy_from_slice(vectors);
    row
}

fn column(first: u64, place: usize, (numbers, width): (usize, usize)) -> Option<DeviceArray> {
    Some(DeviceArray { name: "an array", address: first + 8 * place as u64, stride: 8 * numbers as i64, width })
}

impl Machine for LateMachine {
    fn devices(&self, backend: Backend) -> Result<usize> {
        Ok(if backend == Backend::Cuda { self.devices } else { 0 })
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        if backend != Backend::Cuda {
            return kyoho_devices::open(backend, number, options);
        }
        let gpu = Late::new(OpenCl::open(0)?, &self.schedule).with_callers(&self.callers);
        Ok(Box::new(GpuDevice::open(gpu, options)?))
    }
}
