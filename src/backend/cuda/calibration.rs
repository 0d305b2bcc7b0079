//! The constants of a device, measured once in a process for each order and precision.
//!
//! They choose launch shapes and so change how fast a block is, never what it gives: see `gpu::cut`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::backend::gpu::model::Costs;
use crate::backend::gpu::pack;
use crate::backend::gpu::shapes::SHAPES;
use crate::backend::gpu::step::{Moment, Step};
use crate::catalogue::{Descriptor, Order, Precision};
use crate::error::Result;
use crate::system::slices::{CHUNK, SLICES};

use super::driver::{Context, Event, Memory, Pinned, Stream};
use super::kernels::{Addresses, Kernels};

/// What was measured in this process: bus, order, precision, constants.
static MEASURED: Mutex<Vec<(String, Order, Precision, Costs)>> = Mutex::new(Vec::new());

/// Chunks of a slice of the sources that are measured with.
const CHUNKS_OF_SLICE: usize = 2;
/// Turns of a multiprocessor that is full.
const TURNS: usize = 3;
/// Launches of which the median counts.
const LAUNCHES: usize = 9;

/// The constants of a device; near ones of its kind where they cannot be measured.
pub fn costs(context: &Arc<Context>, kernels: &Kernels, descriptor: &'static Descriptor) -> Costs {
    let bus = &context.properties().bus;
    // Held while one is measured: what else runs on the device would be measured with it.
    let mut measured = MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |(at, order, precision, _): &&(String, Order, Precision, Costs)| {
        (at, *order, *precision) == (bus, descriptor.order, descriptor.precision)
    };
    if let Some((.., costs)) = measured.iter().find(is_known) {
        return *costs;
    }
    let began = Instant::now();
    match Bench::new(context, kernels, descriptor).and_then(Bench::measure) {
        Ok(costs) => {
            log::debug!("device {bus}: measured in {:.1} ms: {costs:?}", began.elapsed().as_secs_f64() * 1e3);
            measured.push((bus.clone(), descriptor.order, descriptor.precision, costs));
            costs
        }
        Err(error) => {
            log::debug!("device {bus}: not measured: {error}");
            let multiprocessors = context.properties().multiprocessors.max(1);
            Costs { multiprocessors, ..Costs::nominal(descriptor) }
        }
    }
}

/// Sources and sinks that stand in one place, and room for what is made of them.
struct Bench<'a> {
    kernels: &'a Kernels,
    descriptor: &'static Descriptor,
    costs: Costs,
    stream: Stream,
    events: [Event; 2],
    memory: Addresses,
    flag: Pinned,
    _held: Vec<Memory>,
}

impl<'a> Bench<'a> {
    fn new(context: &Arc<Context>, kernels: &'a Kernels, descriptor: &'static Descriptor) -> Result<Bench<'a>> {
        let mut costs = Costs::nominal(descriptor);
        costs.multiprocessors = context.properties().multiprocessors.max(1);
        for (shape, resident) in costs.resident.iter_mut().enumerate() {
            *resident = kernels.resident(shape)?.max(1);
        }
        let sinks = (0..SHAPES.len()).map(|shape| sinks(&costs, descriptor, shape)).max().unwrap_or(1);
        let (chunks, rows) = (SLICES * CHUNKS_OF_SLICE, pack::rows(descriptor));
        let stream = Stream::new(context)?;
        let mut held = Vec::new();
        let mut zeros = |bytes: usize| -> Result<u64> {
            let memory = Memory::new(context, bytes, "a measurement")?;
            // SAFETY: the memory is that long, and is held until the stream has ended.
            unsafe { stream.zero(memory.address(), bytes)? };
            held.push(memory);
            Ok(held[held.len() - 1].address())
        };
        let octets = zeros(chunks * pack::chunk_numbers(descriptor) * 8)?;
        let indices = zeros(chunks * CHUNK * 4)?;
        let predicted = zeros(chunks * CHUNK * rows * pack::ROW)?;
        let body = zeros(sinks * (rows * pack::ROW + 4))?;
        let parts = SLICES * sinks;
        let flag = Pinned::new(context, 64, "a flag")?;
        // Some number between 0 and 1 in every precision: sinks that are softened, and not where the sources are.
        let mut bodies = Pinned::new(context, sinks * rows * pack::ROW, "a measurement")?;
        bodies.as_mut_slice::<u8>().fill(0x3f);
        let results = zeros(sinks * (descriptor.outputs + 2) * 8)?;
        let memory = Addresses {
            store: [octets, indices, indices, indices, predicted],
            sinks: body,
            sink_indices: body + (sinks * rows * pack::ROW) as u64,
            records: octets,
            parts: [zeros(parts * descriptor.outputs * 8)?, zeros(parts * 8)?, zeros(parts * 4)?],
            ticket: zeros(4)?,
            results: [results; 3],
            flag: flag.device_address(),
        };
        // SAFETY: both have that length; the copy is waited for before one of them is dropped.
        unsafe { stream.to_device(bodies.as_ptr(), body, bodies.bytes())? };
        stream.synchronize()?;
        let events = [Event::new(context, true)?, Event::new(context, true)?];
        Ok(Bench { kernels, descriptor, costs, stream, events, memory, flag, _held: held })
    }

    fn step(&self, shape: usize, ni: usize) -> Step {
        Step {
            moment: Moment { time: 1.0, mass_factor: 1.0, nj: i32::MAX, unused: 0 },
            ni: ni as i32,
            stride: ni.next_multiple_of(8) as i32,
            chunks: (SLICES * CHUNKS_OF_SLICE) as i32,
            slice_step: 1,
            slices: SLICES as i32,
            parts: 1,
            groups: ni.div_ceil(SHAPES[shape].group_sinks(self.descriptor)) as i32,
            is_dense: 1,
            is_predicted: i32::from(!SHAPES[shape].fused),
            strands: SHAPES[shape].strands(self.descriptor) as i32,
            ..Step::default()
        }
    }

    fn measure(mut self) -> Result<Costs> {
        let nominal = self.costs;
        for shape in (0..SHAPES.len()).filter(|shape| !SHAPES[*shape].ends) {
            let ni = sinks(&self.costs, self.descriptor, shape);
            let step = self.step(shape, ni);
            // The first launch brings the code to the device.
            for timed in [false, true] {
                self.events[0].record(&self.stream)?;
                // SAFETY: the memory has room for the most sinks that any shape is measured with.
                unsafe { self.kernels.force(&self.stream, shape, &step, &self.memory, false)? };
                self.events[1].record(&self.stream)?;
                self.events[1].synchronize()?;
                let seconds = f64::from(self.events[1].milliseconds_since(&self.events[0])?) * 1e-3;
                let pairs = (ni * SLICES * CHUNKS_OF_SLICE * CHUNK) as f64;
                if timed && seconds > 0.0 {
                    self.costs.pairs[shape] = pairs / seconds / self.costs.multiprocessors as f64;
                }
            }
        }
        // A shape that ends blocks does so for few sinks alone; its pairs are those of the next shape.
        for shape in (0..SHAPES.len() - 1).filter(|shape| SHAPES[*shape].ends) {
            self.costs.pairs[shape] *= self.costs.pairs[shape + 1] / nominal.pairs[shape + 1];
        }
        self.costs.launch = self.round_trip()?;
        Ok(self.costs)
    }

    /// Seconds from the launch of a block of one sink to the host's seeing its flag, less what the model counts for it.
    fn round_trip(&mut self) -> Result<f64> {
        let mut times = Vec::with_capacity(LAUNCHES);
        let Some(shape) = SHAPES.iter().position(|shape| shape.ends) else { return Ok(self.costs.launch) };
        for launch in 1..=LAUNCHES as u32 {
            let step = Step { sequence: launch, ..self.step(shape, 1) };
            let began = Instant::now();
            // SAFETY: as in `measure`.
            unsafe { self.kernels.force(&self.stream, shape, &step, &self.memory, false)? };
            // SAFETY: the flag is pinned memory of this value; the device writes it while it is read.
            while unsafe { self.flag.as_ptr().cast::<u32>().read_volatile() } != launch {
                if self.stream.is_done()? {
                    break;
                }
            }
            times.push(began.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let counted = self.costs.group + self.costs.sinks_ended + CHUNKS_OF_SLICE as f64 * self.costs.chunk;
        Ok((times[LAUNCHES / 2] - counted).max(0.5 * times[LAUNCHES / 2]))
    }
}

/// Sinks with which a shape fills the device a few times.
fn sinks(costs: &Costs, descriptor: &Descriptor, shape: usize) -> usize {
    let groups = (TURNS * costs.multiprocessors * costs.resident[shape]).div_ceil(SLICES);
    groups * SHAPES[shape].group_sinks(descriptor)
}
