//! What a device must do for the engine, and the backends that do it.

pub mod cpu;
pub mod cuda;
pub mod gpu;

use crate::catalogue::Descriptor;
use crate::error::{Error, Result};
use crate::system::{Block, Parts, Record, Sources};

/// The kinds of machine that compute forces.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// SIMD and threads.
    Cpu = 1,
    /// NVIDIA GPUs.
    Cuda = 2,
    /// OpenCL devices.
    OpenCl = 3,
}

impl Backend {
    /// Every backend, in the order in which an automatic choice tries them.
    pub const ALL: [Backend; 3] = [Backend::Cuda, Backend::OpenCl, Backend::Cpu];

    /// The name, the same in every interface.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Cpu => "cpu",
            Backend::Cuda => "cuda",
            Backend::OpenCl => "opencl",
        }
    }

    /// The backend of this name.
    pub fn from_name(name: &str) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| backend.name() == name)
    }

    /// The backend with this number.
    pub fn from_number(number: i32) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| *backend as i32 == number)
    }

    /// The backend's devices, or why there are none.
    pub fn devices(self) -> Result<Vec<DeviceDescription>> {
        match self {
            Backend::Cpu => Ok(vec![cpu::describe()]),
            Backend::Cuda => cuda::describe(),
            Backend::OpenCl => Err(no_backend(self)),
        }
    }
}

/// What one device is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceDescription {
    /// The backend that drives it.
    pub backend: Backend,
    /// Its name.
    pub name: String,
    /// What it has, in words, such as its memory.
    pub details: String,
}

/// How a device is opened.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// What it will compute.
    pub descriptor: &'static Descriptor,
    /// The slices of sources that it sums, ascending.
    pub slices: Vec<usize>,
    /// CPU threads.
    pub threads: usize,
    /// The CPU's instruction set.
    pub level: cpu::Level,
    /// The launch shape that a GPU takes wherever it fits a block; else its model chooses.
    pub shape: Option<usize>,
}

/// One device, opened for one order and precision and for some of the slices.
///
/// For each block the engine calls `start` on every device, then `wait` on every device, then `neighbours` as often as
/// lists are asked for. As long as it may call them for a block, it changes no source but by putting `fresh` where it
/// belongs, so that a device, or another in its place, may compute the block again. A device that failed may be started
/// again; then all sources count as written.
pub trait Device: Send {
    /// What it is.
    fn describe(&self) -> DeviceDescription;

    /// Whether `start` takes the latest sources as records, before they are in the host's copy.
    fn takes_records(&self) -> bool {
        false
    }

    /// Memory from which records will be sent until the device is dropped; it may be made fast to read.
    fn register(&mut self, _records: &[Record]) -> Result<()> {
        Ok(())
    }

    /// Fetches what was written of its slices, predicts them to the block's time and begins the sums.
    ///
    /// `fresh` has no address twice and comes after what `sources` holds; it is empty unless the device takes records.
    /// It names only addresses of chunks that `sources` has. Until `wait`, the device may read it.
    fn start(&mut self, sources: &Sources, fresh: &[Record], block: &Block) -> Result<()>;

    /// Waits for the sums and hands them in: [`Parts::whole`] if it holds every slice, else [`Parts::slice`] for each.
    fn wait(&mut self, parts: &mut Parts) -> Result<()>;

    /// Waits for the sums of more sinks, where those of the first `done` were handed in, and says how many there are now.
    /// For devices that hold every slice; a large block can be handed in piece by piece.
    fn wait_more(&mut self, parts: &mut Parts, _done: usize) -> Result<usize> {
        self.wait(parts)?;
        Ok(parts.sinks())
    }

    /// Appends to `found` the indices of all sources of its slices that are neighbours of each sink in `sinks`, in any
    /// order: `|r|^2 < radius2`, without softening and, where the block says so, without the sink's own index.
    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: std::ops::Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()>;

    /// The seconds that a block of `ni` sinks and `nj` sources takes by the device's model, where it has one.
    fn estimate(&self, _ni: usize, _nj: usize) -> Option<f64> {
        None
    }

    /// Blocks of fewer pairs than this are better computed by the CPU: a constant of the device's model, not a measurement.
    fn crossover(&self) -> u64 {
        0
    }

    /// Bytes of host memory in use beyond the engine's copy of the sources.
    fn bytes(&self) -> usize;
}

/// Where the devices of a system come from: this machine, or what stands for it in a test.
pub trait Machine: Send {
    /// How many devices a backend has, or why none.
    fn devices(&self, backend: Backend) -> Result<usize>;

    /// Opens a device; `number` is its place in the backend's list of devices.
    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>>;

    /// How many records are gathered at most before a block.
    fn records(&self) -> usize {
        1 << 15
    }
}

/// The machine that the library runs on.
#[derive(Debug, Clone, Copy)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn devices(&self, backend: Backend) -> Result<usize> {
        Ok(backend.devices()?.len())
    }

    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
        open(backend, number, options)
    }
}

/// Opens a device; `number` is its place in the backend's list of devices.
pub fn open(backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>> {
    let devices = backend.devices()?.len();
    if number >= devices {
        return Err(Error::BadCount {
            what: "the number of the device",
            value: number as i64,
            allowed: format!("0 to {}", devices as i64 - 1),
        });
    }
    match backend {
        Backend::Cpu => cpu::open(options),
        Backend::Cuda => cuda::open(number, options),
        Backend::OpenCl => Err(no_backend(backend)),
    }
}

fn no_backend(backend: Backend) -> Error {
    Error::NoBackend { backend: backend.name(), reason: "it is not built into this library".into() }
}
