//! What the device of the engine needs of a driver: memory, queues of work, and the kernels of an order and a
//! precision.

use std::ops::Range;

use bytemuck::Pod;

use crate::data::{Line, Records, Result};
use crate::hal::DeviceDescription;

use super::inbox::Inbox;
use super::step::Step;

/// What addresses of [`Staging`] are multiples of: OpenCL promises no more.
const ALIGNMENT: usize = 128;

/// Memory of the host that copies begin or end in.
///
/// # Safety
/// From its address on, which stays the same and is a multiple of 128, there are as many bytes as it says, which all have a
/// value.
pub unsafe trait Staging: Send {
    /// How much it is.
    fn bytes(&self) -> usize;

    /// Its address.
    fn as_ptr(&self) -> *const u8;

    /// Its address, to write to.
    fn as_mut_ptr(&mut self) -> *mut u8;

    /// As many values as it holds. No work that writes to it may be under way while the slice is used.
    fn as_slice<T: Pod>(&self) -> &[T] {
        // SAFETY: the trait's promise; any bytes are a `T`.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), count::<T>(self.bytes())) }
    }

    /// As many values as it holds. No work that uses it may be under way while the slice is used.
    fn as_mut_slice<T: Pod>(&mut self) -> &mut [T] {
        // SAFETY: as in `as_slice`, and it is borrowed for this slice alone.
        unsafe { std::slice::from_raw_parts_mut(self.as_mut_ptr().cast(), count::<T>(self.bytes())) }
    }
}

/// How many values some bytes of [`Staging`] hold.
fn count<T>(bytes: usize) -> usize {
    const { assert!(align_of::<T>() <= ALIGNMENT) };
    bytes.checked_div(size_of::<T>()).unwrap_or(0)
}

/// Memory of the device.
pub trait Memory: Send {
    /// What kernels are told of it.
    type Address: Copy;

    /// How much it is.
    fn bytes(&self) -> usize;

    /// What kernels are told of it.
    fn address(&self) -> Self::Address;
}

/// What kernels are told of memory.
pub type Address<G> = <<G as Gpu>::Memory as Memory>::Address;

/// Memory that the kernels of a block read and write.
pub struct Addresses<A> {
    /// The sources: octets, indices, ranges of indices, slots, predicted.
    pub store: [A; 5],
    /// Rows of sinks, behind these their indices, and behind these the records that the force kernel puts in their
    /// places.
    pub sinks: A,
    /// Parts of sums, their nearest distances, and the strands of these.
    pub parts: [A; 3],
    /// A counter of groups that have ended.
    pub ticket: A,
    /// Sums, nearest distances and nearest indices.
    pub results: A,
    /// Where the last group of threads writes the sequence number of the step.
    pub flag: A,
}

/// Where the results of a block come to.
pub trait Outbox<G: Gpu>: Send + Sized {
    /// Without room.
    fn new(gpu: &G) -> Result<Self>;

    /// Makes room for so many bytes of results, of so many pieces of a block.
    fn make_room(&mut self, gpu: &G, bytes: usize, pieces: usize) -> Result<()>;

    /// Where kernels write results, and the flag of a piece.
    fn addresses(&self, piece: usize) -> [Address<G>; 2];

    /// Lets the results of a piece, which lie in this range of bytes, come after the kernels that were begun.
    ///
    /// # Safety
    /// The outbox is neither dropped nor given more room until the piece was waited for.
    unsafe fn send(&mut self, gpu: &G, queue: &G::Queue, piece: usize, results: Range<usize>) -> Result<()>;

    /// Waits for the results of a piece of this sequence number.
    fn wait(&self, gpu: &G, queue: &G::Queue, piece: usize, sequence: u32) -> Result<()>;

    /// The results of a piece that was waited for.
    fn results(&self, results: Range<usize>) -> &[u8];

    /// Bytes of host memory.
    fn bytes(&self) -> usize;
}

/// A GPU, or what is programmed like one, with the kernels of one order and precision.
///
/// Where a function is unsafe its caller promises that every address is of memory as long as the step says, and that
/// memory is neither freed nor touched by the host until the queue has done the work.
pub trait Gpu: Send + Sized {
    /// Memory of the device.
    type Memory: Memory;
    /// Memory of the host for copies.
    type Staging: Staging;
    /// Work that is done in the order in which it was begun.
    type Queue: Send;
    /// A place in a queue.
    type Mark: Send;
    /// Where results come to.
    type Outbox: Outbox<Self>;
    /// What is as it was before when this is dropped.
    type Caller: Send;

    /// Lets this thread call the driver until what it gives is dropped.
    fn enter(&self) -> Result<Self::Caller>;

    /// What the device is.
    fn describe(&self) -> DeviceDescription;

    /// What tells it from other devices of its backend.
    fn identity(&self) -> String;

    /// Whether it is worth a measurement of the constants that launch shapes are chosen by.
    fn is_measured(&self) -> bool;

    /// Multiprocessors.
    fn multiprocessors(&self) -> usize;

    /// Groups of threads of a shape that are on a multiprocessor at a time, where the driver knows.
    fn resident(&self, shape: usize) -> Result<Option<usize>>;

    /// Whether groups of threads see what others wrote before they ended: `CAN_END` in the preludes.
    fn can_end(&self) -> bool;

    /// Memory of the device for `what`; what it holds at first is not defined.
    fn memory(&self, bytes: usize, what: &'static str) -> Result<Self::Memory>;

    /// Memory of the host for `what`; zeros at first.
    fn staging(&self, bytes: usize, what: &'static str) -> Result<Self::Staging>;

    /// Memory from which records will be sent until the device is dropped.
    ///
    /// # Safety
    /// It is so.
    unsafe fn register(&mut self, memory: &[Line]) -> Result<()>;

    /// An empty queue.
    fn queue(&self) -> Result<Self::Queue>;

    /// Waits for all work of a queue.
    fn synchronize(&self, queue: &Self::Queue) -> Result<()>;

    /// Something to mark places in queues with.
    fn mark(&self) -> Result<Self::Mark>;

    /// Marks the end of all that was begun in a queue.
    fn record(&self, queue: &Self::Queue, mark: &mut Self::Mark) -> Result<()>;

    /// Lets the further work of a queue begin after what was marked in another.
    fn wait_for(&self, queue: &Self::Queue, mark: &Self::Mark) -> Result<()>;

    /// Begins a copy from the host to a byte of the device's memory.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn write(
        &self,
        queue: &Self::Queue,
        from: *const u8,
        to: (&Self::Memory, usize),
        bytes: usize,
    ) -> Result<()>;

    /// Begins a copy to the host.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn read(&self, queue: &Self::Queue, from: &Self::Memory, to: *mut u8, bytes: usize) -> Result<()>;

    /// Begins a copy from one memory of the device to another.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn copy(&self, queue: &Self::Queue, from: &Self::Memory, to: &Self::Memory, bytes: usize) -> Result<()>;

    /// Begins to write zeros.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn zero(&self, queue: &Self::Queue, memory: &Self::Memory, bytes: usize) -> Result<()>;

    /// Puts records in their places and brings sinks, which were packed into the range of the inbox, to the device: the
    /// kernel `fetch`, or copies.
    ///
    /// # Safety
    /// See [`Gpu`]; of the host's memory that are the inbox and the records.
    unsafe fn bring(
        &mut self,
        queue: &Self::Queue,
        store: &[Address<Self>; 5],
        is_dense: bool,
        inbox: &mut Inbox<Self>,
        sinks: Range<usize>,
        records: Records,
    ) -> Result<()>;

    /// Begins to predict the sources of the step's slices. Where it `overlaps`, it may start before the kernel ahead
    /// has ended.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn predict(
        &mut self,
        queue: &Self::Queue,
        step: &Step,
        store: &[Address<Self>; 5],
        overlaps: bool,
    ) -> Result<()>;

    /// Begins the sums of the step's slices in a shape.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn force(
        &mut self,
        queue: &Self::Queue,
        shape: usize,
        step: &Step,
        memory: &Addresses<Address<Self>>,
        overlaps: bool,
    ) -> Result<()>;

    /// Begins to add the parts of a block.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn end(
        &mut self,
        queue: &Self::Queue,
        step: &Step,
        memory: &Addresses<Address<Self>>,
        overlaps: bool,
    ) -> Result<()>;

    /// Begins to find the neighbours of a window of sinks: counts them, and lists as many as there is room for.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn neighbours(
        &mut self,
        queue: &Self::Queue,
        step: &Step,
        store: &[Address<Self>; 5],
        sinks: Address<Self>,
        lists: (Address<Self>, Address<Self>, i32),
    ) -> Result<()>;

    /// The seconds that the kernel of a shape takes for a step.
    ///
    /// # Safety
    /// See [`Gpu`].
    unsafe fn seconds_of_force(
        &mut self,
        queue: &Self::Queue,
        shape: usize,
        step: &Step,
        memory: &Addresses<Address<Self>>,
    ) -> Result<f64>;
}
