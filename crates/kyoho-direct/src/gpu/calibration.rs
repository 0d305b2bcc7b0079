//! The constants of a device, measured once in a process for each entry of the catalogue.
//!
//! They choose launch shapes and so change how fast a block is, never its results: see
//! [`super::reduction`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kyoho_core::{CHUNK, Interaction, Result, SLICES, sinks};
use kyoho_hal::DeviceKind;
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, HostMemory, Place};

use super::launches::{BlockAddresses, Kernels};
use super::model::Costs;
use super::pieces::STRIDE;
use kyoho_methods::gpu::outbox::Outbox;
use kyoho_methods::gpu::pack;
use kyoho_methods::gpu::shapes::SHAPES;
use kyoho_methods::gpu::sources::StoreAddresses;
use kyoho_methods::gpu::step::{PredictionTarget, Step};

/// The measurements of this process: device, interaction, constants.
static MEASURED: Mutex<Vec<(String, Arc<Interaction>, Costs)>> = Mutex::new(Vec::new());

/// The number of chunks of a slice in a measurement.
const CHUNKS_OF_SLICE: usize = 2;
/// How many times the thread blocks of a measurement fill each multiprocessor.
const TURNS: usize = 3;
/// The number of launches, of which the median counts.
const LAUNCHES: usize = 9;

/// Returns the constants of a device, or nominal ones where they cannot be measured.
pub fn costs<G: Gpu>(gpu: &G, kernels: &mut Kernels<G>, interaction: &Arc<Interaction>) -> Costs {
    let properties = gpu.properties();
    if properties.description.kind == DeviceKind::Cpu {
        // It is there for tests, and not worth a measurement.
        return Costs::of_few_shapes(interaction);
    }
    let device = &properties.identity;
    // Held while one is measured: what else runs on the device would be measured with it.
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |(at, of, _): &&(String, Arc<Interaction>, Costs)| at == device && of == interaction;
    if let Some((.., costs)) = measured.iter().find(is_known) {
        return *costs;
    }
    let began = Instant::now();
    let multiprocessors = properties.multiprocessors.max(1);
    match Bench::new(gpu, kernels, interaction).and_then(Bench::measure) {
        Ok(costs) => {
            log::debug!("device {device}: measured in {:.1} ms: {costs:?}", began.elapsed().as_secs_f64() * 1e3);
            measured.push((device.clone(), interaction.clone(), costs));
            costs
        }
        Err(error) => {
            log::debug!("device {device}: not measured: {error}");
            Costs { multiprocessors, ..Costs::nominal(interaction) }
        }
    }
}

/// The scene of a measurement: sources in one place, sinks in another, and memory for their sums.
struct Bench<'a, G: Gpu> {
    gpu: &'a G,
    kernels: &'a mut Kernels<G>,
    interaction: &'a Interaction,
    costs: Costs,
    queue: G::Queue,
    memory: BlockAddresses<Address<G>>,
    outbox: Outbox<G>,
    _held: Vec<G::Memory>,
}

impl<'a, G: Gpu> Bench<'a, G> {
    fn new(gpu: &'a G, kernels: &'a mut Kernels<G>, interaction: &'a Interaction) -> Result<Bench<'a, G>> {
        let mut costs = Costs::nominal(interaction);
        costs.multiprocessors = gpu.properties().multiprocessors.max(1);
        for (shape, resident) in costs.resident.iter_mut().enumerate() {
            *resident = kernels.resident_blocks(gpu, shape)?.unwrap_or(*resident).max(1);
        }
        let most = (0..SHAPES.len()).map(|shape| sinks(&costs, interaction, shape)).max().unwrap_or(1);
        let stride = most.next_multiple_of(STRIDE);
        let chunks = SLICES * CHUNKS_OF_SLICE;
        let (rows, sink_bytes) = (pack::rows(interaction), 8 * sinks::width(interaction));
        let queue = gpu.queue()?;
        let mut held = Vec::new();
        let mut zeros = |bytes: usize| -> Result<Address<G>> {
            let memory = gpu.allocate(bytes, "a measurement")?;
            // SAFETY: the memory is that long, and is held until the queue has ended.
            unsafe { gpu.zero(&queue, &memory, bytes)? };
            held.push(memory);
            Ok(held[held.len() - 1].address())
        };
        let octets = zeros(chunks * pack::chunk_numbers(interaction) * 8)?;
        let indices = zeros(chunks * CHUNK * 4)?;
        let predicted = zeros(chunks * CHUNK * rows * pack::ROW)?;
        let terms = SLICES * stride;
        let partial_sums = [zeros(terms * interaction.n_outputs * 8)?, zeros(terms * 8)?, zeros(terms * 4)?];
        let ticket = zeros(4)?;
        let body = zeros(stride * sink_bytes)?;
        // Some number between 0 and 1 in every precision: sinks that are softened, and not where
        // the sources are.
        let mut bodies = gpu.allocate_host(stride * sink_bytes, "a measurement")?;
        // SAFETY: both have that length, nothing uses the new memory yet, and the copy is waited
        // for before one of them is dropped.
        unsafe {
            bodies.part_mut::<u8>(0..stride * sink_bytes).fill(0x3f);
            let to = Place::Device(&held[held.len() - 1], 0);
            gpu.copy(&queue, Place::Host(bodies.as_mut_ptr()), to, bodies.bytes())?;
        }
        gpu.synchronize(&queue)?;
        let mut outbox = Outbox::new(gpu)?;
        outbox.make_room(gpu, stride * (interaction.n_outputs + 2) * 8, 1)?;
        let [results, flag] = outbox.addresses(0);
        let store = StoreAddresses { octets, indices, ranges: indices, slots: indices, predicted };
        let memory = BlockAddresses { store, sinks: body, partial_sums, ticket, results, flag };
        Ok(Bench { gpu, kernels, interaction, costs, queue, memory, outbox, _held: held })
    }

    fn step(&self, shape: usize, ni: usize) -> Step {
        Step {
            target: PredictionTarget {
                time: 1.0,
                mass_factor: 1.0,
                position_factor: 1.0,
                velocity_factor: 1.0,
                acceleration_factor: 1.0,
                jerk_factor: 1.0,
                nj: i32::MAX,
                predicts: 1,
            },
            distance2_factor: 1.0,
            by_mass_factor: 1.0,
            time_factor: 1.0,
            ni: ni as i32,
            stride: ni.next_multiple_of(STRIDE) as i32,
            chunks: (SLICES * CHUNKS_OF_SLICE) as i32,
            slice_step: 1,
            slices: SLICES as i32,
            segments: 1,
            blocks: ni.div_ceil(SHAPES[shape].block_sinks(self.interaction)) as i32,
            is_dense: 1,
            is_predicted: i32::from(!SHAPES[shape].fused),
            accumulators: SHAPES[shape].accumulators(self.interaction) as i32,
            ..Step::default()
        }
    }

    fn measure(mut self) -> Result<Costs> {
        let nominal = self.costs;
        for shape in (0..SHAPES.len()).filter(|shape| !SHAPES[*shape].ends) {
            let ni = sinks(&self.costs, self.interaction, shape);
            let step = self.step(shape, ni);
            // The first launch brings the code to the device.
            for timed in [false, true] {
                // SAFETY: the memory has room for the most sinks that any shape is measured with.
                let seconds =
                    unsafe { self.kernels.seconds_of_force((self.gpu, &self.queue), shape, &step, &self.memory)? };
                let pairs = (ni * SLICES * CHUNKS_OF_SLICE * CHUNK) as f64;
                if timed && seconds > 0.0 {
                    self.costs.pairs[shape] = pairs / seconds / self.costs.multiprocessors as f64;
                }
            }
        }
        // A shape that ends blocks does so for few sinks alone, so its pairs are taken from the
        // next shape.
        for shape in (0..SHAPES.len() - 1).filter(|shape| SHAPES[*shape].ends) {
            self.costs.pairs[shape] *= self.costs.pairs[shape + 1] / nominal.pairs[shape + 1];
        }
        self.costs.launch = self.round_trip()?;
        Ok(self.costs)
    }

    /// Returns the seconds from the launch of a block of one sink to the host's seeing its flag,
    /// less those that the model counts for it.
    fn round_trip(&mut self) -> Result<f64> {
        let mut times = Vec::with_capacity(LAUNCHES);
        let Some(shape) = SHAPES.iter().position(|shape| shape.ends) else { return Ok(self.costs.launch) };
        for launch in 1..=LAUNCHES as u32 {
            let step = Step { sequence: launch, ..self.step(shape, 1) };
            let results = 0..step.stride as usize * (self.interaction.n_outputs + 2) * 8;
            let began = Instant::now();
            // SAFETY: as in `measure`; the results are waited for.
            unsafe {
                let on = (self.gpu, &self.queue);
                self.kernels.force(on, shape, &step, &self.memory, false)?;
                if !self.gpu.properties().has_fences {
                    self.kernels.end(on, &step, &self.memory, false)?;
                }
                self.outbox.send(self.gpu, &self.queue, 0, results)?;
            }
            self.outbox.wait(self.gpu, &self.queue, 0, launch)?;
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let counted = self.costs.group + self.costs.sinks_ended + CHUNKS_OF_SLICE as f64 * self.costs.chunk;
        Ok((times[LAUNCHES / 2] - counted).max(0.5 * times[LAUNCHES / 2]))
    }
}

/// Returns the number of sinks with which a shape fills the device a few times.
fn sinks(costs: &Costs, interaction: &Interaction, shape: usize) -> usize {
    let blocks = (TURNS * costs.multiprocessors * costs.resident[shape]).div_ceil(SLICES);
    blocks * SHAPES[shape].block_sinks(interaction)
}
