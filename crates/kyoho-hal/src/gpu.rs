//! A GPU, or a device that is programmed like one: memory, queues, programs, launches and their
//! timing.
//!
//! A method is written once against [`Gpu`]. The arguments of a launch are data ([`Argument`]), so
//! that a method of another kind needs no further function here.

use std::ops::Range;

use bytemuck::Pod;

use kyoho_core::{Error, Result};

use super::DeviceDescription;

/// The alignment of [`HostMemory`] in bytes. OpenCL does not promise more.
const ALIGNMENT: usize = 128;

/// Host memory that kernels may be able to reach.
pub trait Mapped: Send {
    /// The argument by which kernels get the memory.
    type Address: Copy;

    /// Returns the address by which kernels reach the byte at this offset, if they can reach memory
    /// of the host.
    fn device_address(&self, offset: usize) -> Option<Self::Address>;
}

/// Page-locked host memory in which copies begin or end.
///
/// # Safety
/// `bytes` bytes from its address on are initialised. The address stays the same and is a multiple
/// of 128.
pub unsafe trait HostMemory: Mapped {
    /// Returns its size in bytes.
    fn bytes(&self) -> usize;

    /// Returns its address.
    fn as_ptr(&self) -> *const u8;

    /// Returns its address, to write to.
    fn as_mut_ptr(&mut self) -> *mut u8;

    /// Returns these values of it.
    ///
    /// # Safety
    /// No work that writes to them is under way while the slice is used. Work may write to others.
    unsafe fn part<T: Pod>(&self, values: Range<usize>) -> &[T] {
        assert!(values.start <= values.end && values.end <= count::<T>(self.bytes()));
        let first = self.as_ptr().cast::<T>().wrapping_add(values.start);
        // SAFETY: the trait's and the caller's promise; any bytes are a `T`.
        unsafe { std::slice::from_raw_parts(first, values.len()) }
    }

    /// Returns these values of it for writing.
    ///
    /// # Safety
    /// No work that uses them is under way while the slice is used. Work may use others.
    unsafe fn part_mut<T: Pod>(&mut self, values: Range<usize>) -> &mut [T] {
        assert!(values.start <= values.end && values.end <= count::<T>(self.bytes()));
        let first = self.as_mut_ptr().cast::<T>().wrapping_add(values.start);
        // SAFETY: as in `part`, and it is borrowed for this slice alone.
        unsafe { std::slice::from_raw_parts_mut(first, values.len()) }
    }
}

/// Returns how many values fit into this many bytes of [`HostMemory`].
fn count<T>(bytes: usize) -> usize {
    const { assert!(align_of::<T>() <= ALIGNMENT) };
    bytes.checked_div(size_of::<T>()).unwrap_or(0)
}

/// Device memory.
pub trait DeviceMemory: Send + Sync {
    /// The argument by which kernels get the memory.
    type Address: Copy + PartialEq + Send + Sync;

    /// Returns its size in bytes.
    fn bytes(&self) -> usize;

    /// Returns the argument by which kernels get it.
    fn address(&self) -> Self::Address;
}

/// A place in a queue.
pub trait Event: Send {
    /// Waits on the host for all work before it, and fails if some of that work failed.
    fn wait(&self) -> Result<()>;
}

/// The argument by which kernels of a device get memory.
pub type Address<G> = <<G as Gpu>::Memory as DeviceMemory>::Address;

/// Code for NVIDIA's GPUs.
#[derive(Debug, Clone, Copy)]
pub enum Images<'a> {
    /// Images for kinds of them.
    Packed {
        /// Packs that `kernels/generate` made, one of which has the images.
        packs: &'a [&'a [u8]],
        /// The name of the unit that they were made of.
        unit: &'a str,
    },
    /// A text in PTX, which the driver compiles.
    Ptx(&'a str),
}

/// Code for a device: kernels compiled for NVIDIA's GPUs, and their source for OpenCL's compilers.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// The name, for people.
    pub name: &'a str,
    /// The code for NVIDIA's GPUs.
    pub images: Images<'a>,
    /// The source, in OpenCL C.
    pub source: &'a str,
    /// Definitions for OpenCL's compiler.
    pub defines: &'a [(String, i64)],
}

/// One end of a copy.
#[derive(Clone, Copy)]
pub enum Place<'a, M> {
    /// Host memory from this address on.
    Host(*mut u8),
    /// Device memory from this byte on.
    Device(&'a M, usize),
    /// Memory of the device that belongs to the caller, from this address on.
    Caller(u64),
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a, A> {
    /// The address of memory.
    Memory(A),
    /// The bytes of a number or a structure.
    Bytes(&'a [u8]),
}

/// A kernel with its arguments and the number of threads that run it.
pub struct Launch<'a, G: Gpu> {
    /// The kernel.
    pub kernel: &'a mut G::Kernel,
    /// The number of thread blocks.
    pub blocks: usize,
    /// The number of threads of a block.
    pub threads: usize,
    /// Whether it may start before the kernel ahead of it in the queue has ended. This has an
    /// effect only on kernels that can wait for that one themselves (`AFTER_EARLIER_KERNELS`).
    pub overlaps: bool,
    /// One argument for each parameter of the kernel, in their order.
    pub arguments: &'a [Argument<'a, Address<G>>],
}

/// The properties of a device that methods need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// A description for people.
    pub description: DeviceDescription,
    /// The name among the devices of its backend.
    pub identity: String,
    /// The number of multiprocessors.
    pub multiprocessors: usize,
    /// The most threads of a block.
    pub most_threads: usize,
    /// Whether a thread block sees what other blocks wrote before they ended (`CAN_END` in the
    /// preludes).
    pub has_fences: bool,
    /// Whether a kernel sees what the host writes while it runs (`CAN_WAIT` in the preludes).
    pub can_wait: bool,
}

/// A GPU, or a device that is programmed like one.
///
/// The caller of an unsafe function promises that every address is of memory at least as long as
/// the work needs, and that this memory is neither freed nor touched by the host until the queue
/// has done the work.
pub trait Gpu: Send + Sync + Sized {
    /// Device memory.
    type Memory: DeviceMemory;
    /// Host memory for copies.
    type HostMemory: HostMemory<Address = Address<Self>>;
    /// Memory of another owner that is page-locked as long as this is held.
    type Registration: Mapped<Address = Address<Self>> + Send + Sync + 'static;
    /// Work that is done in the order in which it was begun.
    type Queue: Send;
    /// A place in a queue.
    type Event: Event + Send + Sync;
    /// A kernel.
    type Kernel: Send;
    /// The caller's use of the driver. When this is dropped, the driver's state is as before.
    type Caller: Send;

    /// Returns the properties of the device.
    fn properties(&self) -> &Properties;

    /// Opens the device of this number, of the same backend. Afterwards the driver's state is as
    /// before.
    fn open_other(&self, number: usize) -> Result<Self>;

    /// Lets this thread call the driver until the result is dropped.
    fn enter(&self) -> Result<Self::Caller>;

    /// Allocates memory of the device for `what`, with undefined contents.
    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Self::Memory>;

    /// Allocates memory of the host for `what`, filled with zeros.
    fn allocate_host(&self, bytes: usize, what: &'static str) -> Result<Self::HostMemory>;

    /// Page-locks memory of another owner.
    ///
    /// # Safety
    /// The memory keeps its place until the registration is dropped, which waits for the device.
    /// Devices may be using it.
    unsafe fn register(&self, memory: *const [u8]) -> Result<Self::Registration>;

    /// Makes an empty queue.
    fn queue(&self) -> Result<Self::Queue>;

    /// Makes an empty queue whose thread blocks begin before those of other queues that wait for a
    /// place on the device, if it knows such queues.
    fn urgent_queue(&self) -> Result<Self::Queue> {
        self.queue()
    }

    /// Loads or compiles code, and returns its kernels of these names.
    fn load(&self, code: &Code, kernels: &[&str]) -> Result<Vec<Self::Kernel>>;

    /// Returns how many blocks of a kernel with this many threads a multiprocessor holds, if the
    /// driver knows.
    fn resident_blocks(&self, kernel: &Self::Kernel, threads: usize) -> Result<Option<usize>>;

    /// Begins a copy of which at least one end is on the device.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn copy(
        &self,
        queue: &Self::Queue,
        from: Place<Self::Memory>,
        to: Place<Self::Memory>,
        bytes: usize,
    ) -> Result<()>;

    /// Whether copies from another device come directly, and do not go by the host.
    fn reaches(&self, other: &Self) -> bool;

    /// Begins a copy to the start of memory of this device from the start of another's, whose work on
    /// it has ended.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn copy_from_other(
        &self,
        queue: &Self::Queue,
        other: (&Self, &Self::Memory),
        to: &Self::Memory,
        bytes: usize,
    ) -> Result<()>;

    /// Returns the argument by which kernels get memory of the device at an address that the caller
    /// knows, where callers can have such memory.
    fn address_of_caller(&self, _address: u64) -> Option<Address<Self>> {
        None
    }

    /// Fails unless some bytes from an address on are memory of this device. `name` is the caller's
    /// name for them.
    fn check_memory_of_caller(&self, _name: &str, _address: u64, _bytes: usize) -> Result<()> {
        Err(no_memory_of_callers())
    }

    /// Returns the number of bytes from an address on that the driver knows as one memory.
    fn room_of_caller(&self, _address: u64) -> usize {
        0
    }

    /// Lets the further work of a queue begin after all that the caller began in a stream of its
    /// own, by the driver's number for it; 0 is the default one.
    fn wait_for_caller(&self, _queue: &Self::Queue, _stream: u64) -> Result<()> {
        Err(no_memory_of_callers())
    }

    /// Begins to write zeros from the start of memory of the device.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn zero(&self, queue: &Self::Queue, memory: &Self::Memory, bytes: usize) -> Result<()>;

    /// Begins a kernel.
    ///
    /// # Safety
    /// See [`Gpu`]; the arguments are of the kinds of the kernel's parameters.
    unsafe fn launch(&self, queue: &Self::Queue, launch: Launch<Self>) -> Result<()>;

    /// Begins a kernel whose thread blocks may wait for one another: all are on the device at once,
    /// at most as many as it holds.
    ///
    /// # Safety
    /// As for [`Gpu::launch`].
    unsafe fn launch_together(&self, _queue: &Self::Queue, _launch: Launch<Self>) -> Result<()> {
        Err(Error::Internal { what: "thread blocks do not wait for one another on this device".into() })
    }

    /// Runs a kernel alone and returns the seconds that it took.
    ///
    /// # Safety
    /// As for [`Gpu::launch`].
    unsafe fn seconds(&self, queue: &Self::Queue, launch: Launch<Self>) -> Result<f64>;

    /// Marks the end of all that was begun in a queue, and lets the device begin it.
    fn record(&self, queue: &Self::Queue) -> Result<Self::Event>;

    /// Lets the further work of a queue begin after a place in another.
    fn wait_for(&self, queue: &Self::Queue, event: &Self::Event) -> Result<()>;

    /// Returns whether all work of a queue is done, and fails if some of it failed.
    fn is_done(&self, queue: &Self::Queue) -> Result<bool>;

    /// Waits on the host for all work of a queue.
    fn synchronize(&self, queue: &Self::Queue) -> Result<()>;
}

/// The error that a device was asked for memory of callers, which it does not offer.
fn no_memory_of_callers() -> Error {
    Error::Internal { what: "callers have no memory on such a device".into() }
}
