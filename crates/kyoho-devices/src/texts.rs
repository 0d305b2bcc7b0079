//! Direct sums in numbers of two doubles, and those of sources that have softenings. The laws are
//! texts of the language of pairs, so that they are summed as pairs that users write; this device
//! gives them the sources and sinks of a system. Trees of such sources are the CPU's.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use kyoho_core::{
    Assignment, Block, CHUNK, Error, Interaction, Level, MAX_DERIVATIVES, Nearest, PartialSums, Precision, Result,
    Sink, Source, Sources, Supplement, TreeBlock, TreeProfile, Updates, Written, memory,
};
use kyoho_hal::threads::Threads;
use kyoho_hal::{Backend, DeviceDescription};
use kyoho_language::Options;
use kyoho_language::blocks::Bits;
use kyoho_language::gravity::gravity_of_system;
use kyoho_language::number::Number;
use kyoho_language::syntax::Side;
use kyoho_laws::double_double::DoubleDouble;
use kyoho_laws::simd::kernel::{self, Kernel};
use kyoho_laws::simd::predict;
use kyoho_methods::device_trees::DeviceTrees;
use kyoho_methods::{Device, DeviceOptions};
use kyoho_pairs::{PairKernel, PairMachine, take_gravity};

use super::cpu::{self, TreeForces};
use super::gpu;

/// Below this many pairs a CPU is faster than a GPU.
const CROSSOVER: u64 = 1 << 12;
/// The name in the error where there is no memory for the rows that were written.
const ROWS: &str = "the rows of sources that were written";

/// The sources that a kernel has.
struct Sent {
    /// The numbers of their chunks, one after another, and their stamps.
    chunks: Vec<(usize, u64)>,
    /// The stamp of all.
    stamp: u64,
}

/// A device that sums by a text.
pub struct TextDevice {
    description: DeviceDescription,
    options: DeviceOptions,
    kernel: PairKernel,
    threads: Threads,
    sent: Option<Sent>,
    /// The sums of the sinks of the last block's assignment.
    sums: Vec<f64>,
    nearest: Vec<Nearest>,
    assignment: Assignment,
    /// Forces by a tree, once some were asked for.
    tree: Option<Box<SoftenedTree>>,
    /// Whether the last block's are.
    by_tree: bool,
}

fn bits(high: f64, low: f64) -> Bits {
    [high.to_bits(), low.to_bits()]
}

/// Half of a squared softening: a pair has the sum of the halves of both bodies.
fn half([high, low]: [f64; 2]) -> Bits {
    bits(0.5 * high, 0.5 * low)
}

fn bits_of_integer(value: i32) -> Bits {
    [u64::from(value.cast_unsigned()), 0]
}

fn number(high: f64, low: f64) -> DoubleDouble {
    DoubleDouble { high, low }
}

impl TextDevice {
    /// Opens a device of a backend; `place` is its place in the backend's list.
    pub fn open(backend: Backend, place: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        let description = backend.devices()?.into_iter().nth(place);
        let no_device = || Error::Internal { what: format!("device {place} of {} is gone", backend.name()) };
        let machine = PairMachine {
            backend,
            devices: vec![place],
            threads: options.threads,
            level: options.level,
            falls_back: false,
        };
        let text = gravity_of_system(&options.interaction, options.softenings)?;
        let numbers = Options { in_double_double: options.interaction.has_low_limbs(), plain: false };
        let device = TextDevice {
            description: description.ok_or_else(no_device)?,
            kernel: PairKernel::new(&text, numbers, &machine)?,
            threads: Threads::new(options.threads),
            options,
            sent: None,
            sums: Vec::new(),
            nearest: Vec::new(),
            assignment: Assignment::whole(0),
            tree: None,
            by_tree: false,
        };
        Ok(kyoho_hal::boxed(device, "a device")?)
    }

    /// Gives the kernel the sources that were written since the last block.
    fn send_sources(&mut self, sources: &Sources, nj: usize) -> Result<()> {
        let present = (0..sources.chunks_below(nj)).filter_map(|chunk| Some((chunk, sources.chunk(chunk)?.stamp())));
        let present = memory::collected(present, "the table of chunks")?;
        // Whatever fails, the rows are not those of these chunks then.
        let before = self.sent.take().filter(|before| {
            let mut chunks = before.chunks.iter().zip(&present);
            before.chunks.len() == present.len() && chunks.all(|(one, other)| one.0 == other.0)
        });
        let listed = before.as_ref().and_then(|before| match sources.written_since(before.stamp) {
            Written::Addresses(addresses) => Some(addresses),
            Written::Many => None,
        });
        let mut rows: Vec<u32> = Vec::new();
        if let Some(addresses) = listed {
            memory::reserve(&mut rows, addresses.len(), ROWS)?;
            let place_of = |chunk: usize| present.binary_search_by_key(&chunk, |present| present.0).ok();
            rows.extend(addresses.iter().filter_map(|address| {
                let address = *address as usize;
                Some((place_of(address / CHUNK)? * CHUNK + address % CHUNK) as u32)
            }));
            rows.sort_unstable();
            rows.dedup();
        } else {
            let is_known =
                |place: &usize| before.as_ref().is_some_and(|before| before.chunks[*place] == present[*place]);
            for place in (0..present.len()).filter(|place| !is_known(place)) {
                memory::reserve(&mut rows, CHUNK, ROWS)?;
                rows.extend((place * CHUNK..(place + 1) * CHUNK).map(|row| row as u32));
            }
        }
        let (count, softenings) = (present.len() * CHUNK, self.options.softenings);
        let n_coefficients = self.options.interaction.n_coefficients;
        let fields = self.kernel.list().fields[Side::J as usize].len();
        (0..fields).try_for_each(|field| self.kernel.field_mut(Side::J, field, count).map(|_| ()))?;
        for rows in rows.chunks(CHUNK) {
            let address_of = |row: usize| present[row / CHUNK].0 * CHUNK + row % CHUNK;
            let bodies = rows.iter().map(|row| Body::at(sources, address_of(*row as usize)));
            let bodies = memory::collected(bodies, "sources")?;
            let mut write = |field: usize, width: usize, of: &dyn Fn(&Body, usize) -> Bits| -> Result<()> {
                let columns = self.kernel.field_mut(Side::J, field, count)?;
                for (row, body) in rows.iter().zip(&bodies) {
                    (0..width).for_each(|component| columns.set(*row as usize, component, of(body, component)));
                }
                Ok(())
            };
            for k in 0..n_coefficients {
                write(k, 3, &|Body { source, supplement: Supplement { low, .. }, .. }, component| {
                    bits(source.coefficients[k][component], low.coefficients[k][component])
                })?;
            }
            write(n_coefficients, 1, &|body, _| bits(body.source.mass, body.supplement.low.mass))?;
            write(n_coefficients + 1, 1, &|body, _| bits_of_integer(body.source.index))?;
            write(n_coefficients + 2, 1, &|body, _| bits(body.source.time, body.supplement.low.time))?;
            write(n_coefficients + 3, 1, &|body, _| bits_of_integer(body.address))?;
            if softenings {
                write(n_coefficients + 4, 1, &|body, _| half(body.supplement.softening2))?;
            }
        }
        match before {
            None => self.kernel.note_changes(Side::J, None),
            Some(_) if rows.is_empty() => (),
            Some(_) => self.kernel.note_changes(Side::J, Some(rows)),
        }
        self.sent = Some(Sent { chunks: present, stamp: sources.stamp() });
        Ok(())
    }

    /// Gives the kernel the sinks of an assignment.
    fn send_sinks(&mut self, block: &Block, assignment: &Assignment) -> Result<()> {
        let (sinks, count) = (assignment.sinks.clone(), assignment.sinks.len());
        let softenings = self.options.softenings;
        let n_derivatives = self.options.interaction.n_derivatives;
        let mut write = |field: usize, width: usize, of: &dyn Fn(&Sink, &Sink, usize) -> Bits| -> Result<()> {
            let columns = self.kernel.field_mut(Side::I, field, count)?;
            for (row, sink) in sinks.clone().enumerate() {
                let (high, low) = sink_of(block, sink);
                (0..width).for_each(|component| columns.set(row, component, of(&high, &low, component)));
            }
            Ok(())
        };
        for k in 0..n_derivatives {
            write(k, 3, &|high, low, component| bits(high.derivatives[k][component], low.derivatives[k][component]))?;
        }
        write(n_derivatives, 1, &|high, _, _| bits_of_integer(high.index))?;
        write(n_derivatives + 1, 1, &|high, low, _| match softenings {
            true => half([high.softening2, low.softening2]),
            false => bits(high.softening2, low.softening2),
        })?;
        self.kernel.note_changes(Side::I, None);
        Ok(())
    }

    /// Takes the results of the kernel.
    fn take_results(&mut self, count: usize) -> Result<()> {
        let interaction = &*self.options.interaction;
        let n_sums = count * interaction.n_sums();
        self.sums.clear();
        memory::reserve(&mut self.sums, n_sums, "sums")?;
        self.sums.resize(n_sums, 0.0);
        let found = if interaction.nearest { count } else { 0 };
        self.nearest.clear();
        memory::reserve(&mut self.nearest, found, "sums")?;
        self.nearest.resize(found, Nearest::NONE);
        take_gravity(&self.kernel, interaction, (&mut self.sums, &mut self.nearest))
    }

    /// Sums forces by a tree.
    fn sum_tree(&mut self, sources: &Sources, block: &Block, asked: TreeBlock) -> Result<()> {
        let DeviceOptions { interaction, level, .. } = &self.options;
        let tree = match &mut self.tree {
            Some(tree) => tree,
            none => none.insert(SoftenedTree::new(interaction.precision, *level)?),
        };
        let (on, of) = ((&self.threads, *level), (sources, block));
        match &tree.near {
            NearPairs::Short(kernel) => tree.forces.sum((&**kernel, interaction), on, of, asked),
            NearPairs::Long(kernel) => tree.forces.sum((&**kernel, interaction), on, of, asked),
        }
    }

    fn begin(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        self.send_sources(updates.sources, block.nj)?;
        self.send_sinks(block, assignment)?;
        let nj = i32::try_from(block.nj).unwrap_or(i32::MAX);
        self.kernel.set_parameter("now", &[Number::Dd(number(block.time, block.low_time))])?;
        for (name, value) in [("nj", nj), ("predicts", block.predicts.into()), ("skips", block.skip_own_index.into())] {
            self.kernel.set_parameter(name, &[Number::I32(value)])?;
        }
        self.kernel.run(None, None)?;
        self.take_results(assignment.sinks.len())
    }
}

/// A source with what it has beside its record.
struct Body {
    source: Source,
    supplement: Supplement,
    /// The address; above all others where there is no source.
    address: i32,
}

impl Body {
    fn at(sources: &Sources, address: usize) -> Body {
        match sources.read(address) {
            Some(source) => Body { source, supplement: sources.supplement(address), address: address as i32 },
            None => Body { source: Source::default(), supplement: Supplement::default(), address: i32::MAX },
        }
    }

    /// Returns the position, the velocity, ... at the time of a block.
    fn predicted(&self, block: &Block, interaction: &Interaction) -> [[DoubleDouble; 3]; MAX_DERIVATIVES] {
        let now = number(block.time, block.low_time);
        let dt =
            if block.predicts { now - number(self.source.time, self.supplement.low.time) } else { DoubleDouble::ZERO };
        predict::derivatives_in_limbs(&self.source, &self.supplement.low, interaction, dt)
    }
}

/// Returns a sink of a block, and the low limbs of its numbers.
fn sink_of(block: &Block, sink: usize) -> (Sink, Sink) {
    let low = if block.low_sinks.is_empty() { Sink::NOTHING } else { block.low_sinks.all().get(sink) };
    (block.sinks.all().get(sink), low)
}

impl Device for TextDevice {
    fn describe(&self) -> DeviceDescription {
        self.description.clone()
    }

    /// Computes the sums, so that there is nothing to wait for.
    fn start(&mut self, updates: &Updates, block: &Block, assignment: &Assignment) -> Result<()> {
        self.assignment = Assignment::whole(0);
        if assignment.sinks.is_empty() {
            return Ok(());
        }
        self.by_tree = block.tree.is_some();
        match block.tree {
            Some(asked) => self.sum_tree(updates.sources, block, asked)?,
            None => self.begin(updates, block, assignment)?,
        }
        self.assignment = assignment.clone();
        Ok(())
    }

    fn wait_more(&mut self, partial_sums: &mut PartialSums, _: usize) -> Result<usize> {
        let Assignment { sinks, set, .. } = self.assignment.clone();
        let (into, width) = (partial_sums.set(set), self.options.interaction.n_sums());
        if sinks.is_empty() {
            return Ok(0);
        }
        let sums = match &self.tree {
            Some(tree) if self.by_tree => &tree.forces.sums.values[..],
            _ => &self.sums[..],
        };
        into.values[sinks.start * width..sinks.end * width].copy_from_slice(sums);
        if self.options.interaction.nearest {
            into.nearest[sinks.clone()].copy_from_slice(&self.nearest);
        }
        Ok(sinks.len())
    }

    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()> {
        let interaction = &*self.options.interaction;
        let mut bodies = Vec::new();
        for chunk in (0..sources.chunks_below(block.nj)).filter(|chunk| sources.chunk(*chunk).is_some()) {
            let addresses = chunk * CHUNK..block.nj.min((chunk + 1) * CHUNK);
            memory::reserve(&mut bodies, addresses.len(), "predicted sources")?;
            let present = addresses.map(|address| Body::at(sources, address)).filter(|body| body.address < i32::MAX);
            bodies.extend(present.map(|body| (body.source.index, body.predicted(block, interaction)[0])));
        }
        let outcomes = Mutex::new(Ok(()));
        self.threads.each(sinks.zip(found), |(sink, list)| {
            if let Err(error) = append_neighbours(sink_of(block, sink), block.skip_own_index, &bodies, list) {
                *outcomes.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
            }
        });
        outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn trees(&mut self) -> Option<&mut dyn DeviceTrees> {
        Some(self)
    }

    fn tree_crossover(&self) -> u64 {
        if self.description.backend == Backend::Cpu { cpu::TREE_CROSSOVER } else { gpu::TREE_CROSSOVER }
    }

    fn crossover(&self) -> u64 {
        if self.description.backend == Backend::Cpu { 0 } else { CROSSOVER }
    }

    fn bytes(&self) -> usize {
        let of_tree = self.tree.as_ref().map_or(0, |tree| tree.forces.bytes());
        self.kernel.bytes() + self.sums.capacity() * size_of::<f64>() + of_tree
    }
}

impl DeviceTrees for TextDevice {
    fn profile(&mut self, _wanted: bool) -> TreeProfile {
        self.tree.as_ref().map_or_else(TreeProfile::default, |tree| tree.forces.profile)
    }
}

/// The loops over near pairs of trees whose sources have softenings.
enum NearPairs {
    /// In single precision, with coordinates of two limbs.
    Short(Box<dyn Kernel<f32>>),
    /// In double precision.
    Long(Box<dyn Kernel<f64>>),
}

/// Trees of sources that have softenings, and the forces by the last one.
struct SoftenedTree {
    near: NearPairs,
    forces: TreeForces,
}

impl SoftenedTree {
    fn new(precision: Precision, level: Level) -> Result<Box<SoftenedTree>> {
        let near = match precision {
            Precision::Double | Precision::Quad => NearPairs::Long(kernel::softened_64(level)),
            Precision::Single | Precision::Mixed => NearPairs::Short(kernel::softened_32(level)),
        };
        kyoho_hal::boxed(SoftenedTree { near, forces: TreeForces::default() }, "a tree")
    }
}

/// Appends the indices of the sources within the radius of a sink, whose numbers come with their
/// low limbs. Sources are given by index and position.
fn append_neighbours(
    (high, low): (Sink, Sink),
    skip_own_index: bool,
    bodies: &[(i32, [DoubleDouble; 3])],
    list: &mut Vec<i32>,
) -> Result<()> {
    if high.radius2 <= 0.0 {
        return Ok(());
    }
    let radius2 = number(high.radius2, low.radius2);
    let at: [DoubleDouble; 3] = std::array::from_fn(|k| number(high.derivatives[0][k], low.derivatives[0][k]));
    for (index, position) in bodies.iter().filter(|(index, _)| !(skip_own_index && *index == high.index)) {
        let [x, y, z] = std::array::from_fn(|k| {
            let difference = position[k] - at[k];
            difference * difference
        });
        if x + y + z < radius2 {
            memory::push(list, *index, "a neighbour list")?;
        }
    }
    Ok(())
}
