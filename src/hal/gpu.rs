//! A GPU, or a device that is programmed like one: memory, queues, programs, launches and their timing.
//!
//! A method is written once against [`Gpu`]. The arguments of a launch are data ([`Argument`]), so a method of another
//! kind needs no other function here.

use bytemuck::Pod;

use crate::data::Result;

use super::DeviceDescription;

/// The alignment of [`HostMemory`] in bytes; OpenCL promises no more.
const ALIGNMENT: usize = 128;

/// Memory of the host that kernels may reach.
pub trait Mapped: Send {
    /// How kernels are told of memory.
    type Address: Copy;

    /// Returns the address by which kernels reach the byte at this offset, if they can reach memory of the host.
    fn device_address(&self, offset: usize) -> Option<Self::Address>;
}

/// Page-locked memory of the host in which copies begin or end.
///
/// # Safety
/// `bytes` bytes from its address on are initialised. The address stays the same and is a multiple of 128.
pub unsafe trait HostMemory: Mapped {
    /// Returns its size in bytes.
    fn bytes(&self) -> usize;

    /// Returns its address.
    fn as_ptr(&self) -> *const u8;

    /// Returns its address, to write to.
    fn as_mut_ptr(&mut self) -> *mut u8;

    /// Returns its values. No work that writes to it may be under way while the slice is used.
    fn as_slice<T: Pod>(&self) -> &[T] {
        // SAFETY: the trait's promise; any bytes are a `T`.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), count::<T>(self.bytes())) }
    }

    /// Returns its values, to be changed. No work that uses it may be under way while the slice is used.
    fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`, and it is borrowed for this slice alone.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), count::<T>(self.bytes())) }
    }
}

/// How many values some bytes of [`HostMemory`] hold.
fn count<T>(bytes: usize) -> usize {
    const { assert!(align_of::<T>() <= ALIGNMENT) };
    bytes.checked_div(size_of::<T>()).unwrap_or(0)
}

/// Memory of the device.
pub trait DeviceMemory: Send {
    /// How kernels are told of it.
    type Address: Copy;

    /// Returns its size in bytes.
    fn bytes(&self) -> usize;

    /// Returns the argument by which kernels are told of it.
    fn address(&self) -> Self::Address;
}

/// A place in a queue.
pub trait Event: Send {
    /// Waits on the host for all work before it, and fails if some of that work failed.
    fn wait(&self) -> Result<()>;
}

/// The argument by which kernels of a device are told of memory.
pub type Address<G> = <<G as Gpu>::Memory as DeviceMemory>::Address;

/// Code for a device: kernels compiled for NVIDIA's GPUs, and their source for OpenCL's compilers.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// Its name, for people.
    pub name: &'a str,
    /// Images for kinds of NVIDIA's GPUs, as `kernels/generate` packs them.
    pub pack: &'a [u8],
    /// The source, in OpenCL C.
    pub source: &'a str,
    /// Definitions that OpenCL's compiler is given.
    pub defines: &'a [(String, i64)],
}

/// One end of a copy.
#[derive(Clone, Copy)]
pub enum Place<'a, M> {
    /// From this address of the host on.
    Host(*mut u8),
    /// From this byte of the device's memory on.
    Device(&'a M, usize),
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a, A> {
    /// Memory.
    Memory(A),
    /// A number or a structure.
    Bytes(&'a [u8]),
}

/// A kernel with its arguments, and how many threads run it.
pub struct Launch<'a, G: Gpu> {
    /// The kernel.
    pub kernel: &'a mut G::Kernel,
    /// Thread blocks.
    pub blocks: usize,
    /// Threads of a block.
    pub threads: usize,
    /// Whether it may start before the kernel ahead of it in the queue has ended. Kernels that can wait for that one
    /// themselves (`AFTER_EARLIER_KERNELS`); for others this changes nothing.
    pub overlaps: bool,
    /// One argument for each parameter of the kernel, in their order.
    pub arguments: &'a [Argument<'a, Address<G>>],
}

/// What a device is, for methods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Properties {
    /// For people.
    pub description: DeviceDescription,
    /// Its name among the devices of its backend.
    pub identity: String,
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// The most threads of a block.
    pub most_threads: usize,
    /// Whether thread blocks see what others wrote before these ended (`CAN_END` in the preludes).
    pub has_fences: bool,
}

/// A GPU, or a device that is programmed like one.
///
/// Where a function is unsafe its caller promises that every address is of memory as long as the work says, and that
/// memory is neither freed nor touched by the host until the queue has done the work.
pub trait Gpu: Send + Sized {
    /// Memory of the device.
    type Memory: DeviceMemory;
    /// Memory of the host for copies.
    type HostMemory: HostMemory<Address = Address<Self>>;
    /// Memory of others that is page-locked as long as this is held.
    type Registration: Mapped<Address = Address<Self>>;
    /// Work that is done in the order in which it was begun.
    type Queue: Send;
    /// A place in a queue.
    type Event: Event;
    /// A kernel.
    type Kernel: Send;
    /// The caller's use of the driver, which is as it was before when this is dropped.
    type Caller: Send;

    /// Returns what the device is.
    fn properties(&self) -> &Properties;

    /// Lets this thread call the driver until the result is dropped.
    fn enter(&self) -> Result<Self::Caller>;

    /// Allocates memory of the device for `what`, with undefined contents.
    fn allocate(&self, bytes: usize, what: &'static str) -> Result<Self::Memory>;

    /// Allocates memory of the host for `what`, filled with zeros.
    fn allocate_host(&self, bytes: usize, what: &'static str) -> Result<Self::HostMemory>;

    /// Page-locks memory of others.
    ///
    /// # Safety
    /// The memory stays where it is until the registration is dropped.
    unsafe fn register(&self, memory: &[u8]) -> Result<Self::Registration>;

    /// Makes an empty queue.
    fn queue(&self) -> Result<Self::Queue>;

    /// Loads or compiles code, and returns its kernels of these names.
    fn load(&self, code: &Code, kernels: &[&str]) -> Result<Vec<Self::Kernel>>;

    /// Returns how many blocks of a kernel with so many threads a multiprocessor holds, where the driver knows.
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
