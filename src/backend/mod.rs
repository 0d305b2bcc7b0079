//! What a device must do for the engine, and the backends that do it.

pub mod cpu;
pub mod cuda;
pub mod gpu;
pub mod opencl;

use crate::catalogue::Descriptor;
use crate::error::{Error, Result};
use crate::system::slices::{Deal, Share};
use crate::system::{Block, Line, Parts, Records, Sources};

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
            // Drivers of OpenCL are those of CUDA in another dress.
            Backend::OpenCl if cuda::driver::is_inherited() => {
                let reason = "this process was forked from one that uses CUDA".into();
                Err(Error::NoBackend { backend: self.name(), reason })
            }
            Backend::OpenCl => opencl::describe(),
        }
    }

    /// Devices that the backend sees and cannot use, with the reason of each.
    pub fn unusable(self) -> Vec<(String, String)> {
        match self {
            Backend::Cpu | Backend::Cuda => Vec::new(),
            Backend::OpenCl => opencl::unusable(),
        }
    }

    /// How many devices the backend has, or why none.
    pub fn visible(self) -> Result<Visible> {
        let devices = self.devices()?;
        Ok(Visible { all: devices.len(), alike: alike(&devices) })
    }

    /// Whether a choice that nobody made may come to the backend. The CPU is the CPU backend's, which is faster there:
    /// devices of OpenCL that are CPUs have to be asked for.
    pub fn serves_unasked(self) -> bool {
        match self {
            Backend::Cpu => true,
            Backend::Cuda => self.devices().is_ok_and(|devices| !devices.is_empty()),
            // A fork of a process that uses CUDA asks no driver anything.
            Backend::OpenCl => !cuda::driver::is_inherited() && opencl::has_card(),
        }
    }
}

/// How many of the first devices are of one kind and one platform: those of others give other bits, and one piece of
/// hardware may be a device of several platforms.
pub fn alike(devices: &[DeviceDescription]) -> usize {
    let of_first =
        |device: &&DeviceDescription| (device.kind, &device.platform) == (devices[0].kind, &devices[0].platform);
    devices.iter().take_while(of_first).count()
}

/// How many devices a backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visible {
    /// All of them, from 0 on.
    pub all: usize,
    /// Those that are taken where none is named: the first ones, which are of one kind and one platform.
    pub alike: usize,
}

impl Visible {
    /// So many of one kind.
    pub fn alike(count: usize) -> Visible {
        Visible { all: count, alike: count }
    }
}

/// What a device is built as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceKind {
    /// A graphics card, or what is left of one that only computes.
    Gpu,
    /// Another card.
    Accelerator,
    /// The processors of the host.
    Cpu,
}

/// What devices compute that lack nothing.
pub(crate) const ALL_OF_THE_CATALOGUE: &str = "every order and precision";

/// What one device is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceDescription {
    /// The backend that drives it.
    pub backend: Backend,
    /// What it is built as.
    pub kind: DeviceKind,
    /// Whose driver it is, where a backend has several; else empty.
    pub platform: String,
    /// Its name.
    pub name: String,
    /// What it has, in words, such as its memory.
    pub details: String,
    /// What it computes and how, in words.
    pub abilities: String,
}

/// How a device is opened.
#[derive(Debug, Clone)]
pub struct DeviceOptions {
    /// What it will compute.
    pub descriptor: &'static Descriptor,
    /// CPU threads.
    pub threads: usize,
    /// The CPU's instruction set.
    pub level: cpu::Level,
    /// The launch shape that a GPU takes wherever it fits a block; else its model chooses.
    pub shape: Option<usize>,
}

/// What a device has to learn of the sources before a block, in this order.
#[derive(Clone, Copy)]
pub struct Updates<'a> {
    /// The host's copy, and what was written there since the last block.
    pub sources: &'a Sources,
    /// Whether more may have been written there: the device had no part in the last blocks.
    pub everything: bool,
    /// What was sent to others for the last blocks, no address twice.
    pub missed: Records<'a>,
    /// What comes after all that, no address twice.
    pub fresh: Records<'a>,
}

impl Updates<'_> {
    /// What was written in the host's copy, and nothing else.
    pub fn of(sources: &Sources) -> Updates<'_> {
        Updates { sources, everything: false, missed: Records::NONE, fresh: Records::NONE }
    }
}

/// One device, opened for one order and precision.
///
/// For each block that a device has a part in the engine calls `start`, then `wait_more` until it has handed in all of
/// its sinks, at least once; then, perhaps, `neighbours`. As long as it may call them for a block, it changes no source
/// but by putting records where they belong, so that a device, or another in its place, may compute the block again. A
/// device that failed may be started again; then all sources count as written.
pub trait Device: Send {
    /// What it is.
    fn describe(&self) -> DeviceDescription;

    /// Whether `start` takes the latest sources as records, before they are in the host's copy.
    fn takes_records(&self) -> bool {
        false
    }

    /// Memory from which records will be sent until the device is dropped; it may be made fast to read.
    fn register(&mut self, _memory: &[Line]) -> Result<()> {
        Ok(())
    }

    /// Fetches what was written, predicts the sources of its share to the block's time and begins the sums.
    ///
    /// Records are given only to a device that takes them, and name only addresses of chunks that the host's copy has.
    /// Until all was handed in, the device may read them.
    fn start(&mut self, updates: &Updates, block: &Block, share: &Share) -> Result<()>;

    /// Waits for the sums of more sinks of its share, where those of the first `done` were handed in, hands them in,
    /// and says how many there are now. When it says that all are there, or fails, nothing is at work any more.
    fn wait_more(&mut self, parts: &mut Parts, done: usize) -> Result<usize>;

    /// Appends to `found` the indices of all sources that are neighbours of each sink in `sinks`, in any
    /// order: `|r|^2 < radius2`, without softening and, where the block says so, without the sink's own index. In the
    /// regular scope they are exactly those that the sums leave out.
    fn neighbours(
        &mut self,
        sources: &Sources,
        block: &Block,
        sinks: std::ops::Range<usize>,
        found: &mut [Vec<i32>],
    ) -> Result<()>;

    /// The seconds that a block of `ni` sinks and `nj` sources takes by the device's model, where it has one, when it
    /// is dealt so among `devices` like this one.
    fn estimate(&self, _ni: usize, _nj: usize, _deal: Deal, _devices: usize) -> Option<f64> {
        None
    }

    /// Blocks of fewer pairs than this are better computed by the CPU: a constant of the device's model, not a
    /// measurement.
    fn crossover(&self) -> u64 {
        0
    }

    /// Bytes of host memory in use beyond the engine's copy of the sources.
    fn bytes(&self) -> usize;
}

/// Where the devices of a system come from: this machine, or what stands for it in a test.
pub trait Machine: Send + Sync {
    /// How many devices a backend has that may take over from another's, or why none.
    fn devices(&self, backend: Backend) -> Result<usize>;

    /// Opens a device; `number` is its place in the backend's list of devices.
    fn open(&self, backend: Backend, number: usize, options: DeviceOptions) -> Result<Box<dyn Device>>;

    /// How many threads open so many devices, and begin blocks on them, at a time.
    fn threads(&self, devices: usize) -> usize {
        devices
    }

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
        // Behind OpenCL are the GPUs that failed, and their driver.
        let is_the_same = backend == Backend::OpenCl && Backend::Cuda.serves_unasked();
        match backend.serves_unasked() && !is_the_same {
            true => Ok(backend.visible()?.alike),
            false => Ok(0),
        }
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
        Backend::OpenCl => opencl::open(number, options),
    }
}
