//! What a context keeps for whoever comes next on its device. To make or to free memory or a
//! stream, the driver waits for kernels that others run, so that many small systems of one process
//! would wait for one another.
//!
//! Locks are held for a push, a pop, or a call of the driver that makes memory, never for longer.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPool_attribute, CUmemPoolProps,
};

use kyoho_core::{Result, memory};

use super::table::Table;
use super::{Context, Driver, Handle, stream};

/// The bytes that the pool of a device may hold, those in use among them, without giving back what
/// is free: memory of the small systems of all threads of a host. Beyond that, free memory goes
/// back to the device at the next wait for its work, since other programs may need it.
pub const KEPT_ON_DEVICE: u64 = 64 << 20;

/// Flags of `cuMemHostAlloc` and `cuMemHostRegister`: for every context (1), and in the device's
/// addresses (2).
pub const PORTABLE_AND_MAPPED: u32 = 1 | 2;
/// The least bytes of a piece of host memory: a page.
const SMALLEST: usize = memory::PAGE;
/// The most bytes of a piece that is made together with others. Those stay page-locked until the
/// context goes, which is kept for the process.
const MOST_TOGETHER: usize = 64 << 10;
/// The number of pieces that are made together.
const TOGETHER: usize = 16;
/// The most bytes of a piece that is kept. Larger memory is rare, and would waste more where its
/// size is rounded up to a power of two.
const LARGEST: usize = 4 << 20;
/// The sizes of pieces, which are powers of two.
const SIZES: usize = (LARGEST / SMALLEST).ilog2() as usize + 1;
/// The most bytes that are kept in free pieces which were made alone. More goes back to the host.
const KEPT_ON_HOST: usize = 32 << 20;

/// The number of streams of a priority that are kept. A system has less than 20, and a host some
/// ten threads that have systems.
const KEPT_STREAMS: usize = 512;

/// What is kept. It goes with its context.
pub struct Pools {
    /// The driver's pool of device memory, if the device has pools.
    pool: Handle,
    /// The stream in which memory of the pool is made, and nothing else happens.
    making: Handle,
    /// The numbers of other devices, as bits, that reach memory of the pool.
    readers: AtomicU64,
    /// The host memory of each size.
    pieces: [Mutex<Pieces>; SIZES],
    /// The bytes of free pieces that were made alone.
    kept: AtomicUsize,
    /// Streams without work: the usual ones and the urgent ones.
    streams: [Mutex<Vec<Handle>>; 2],
}

impl Default for Pools {
    fn default() -> Pools {
        Pools {
            pool: Handle::NONE,
            making: Handle::NONE,
            readers: AtomicU64::new(0),
            pieces: Default::default(),
            kept: AtomicUsize::new(0),
            streams: Default::default(),
        }
    }
}

/// Host memory of one size.
#[derive(Default)]
struct Pieces {
    free: Vec<Piece>,
    /// Where pieces that were made together begin.
    together: Vec<Handle>,
}

/// Page-locked host memory.
#[derive(Clone, Copy)]
pub struct Piece {
    /// Where it is.
    pub pointer: Handle,
    /// Where it is for the device.
    pub address: u64,
    room: usize,
}

impl Context {
    /// Makes the pool, if the device has pools. The context must be current. What was made before
    /// an error goes with the context.
    pub(super) fn make_pool(&mut self) -> Result<()> {
        if !self.properties().has_pools {
            return Ok(());
        }
        let table = &self.driver.table;
        let properties = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: on_device(self.number),
            win32SecurityAttributes: std::ptr::null_mut(),
            maxSize: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let mut pool = Handle::NONE;
        // SAFETY: the pointers are to local variables.
        let code = unsafe { (table.cuMemPoolCreate)(&mut pool.0, &properties) };
        self.check(code, "cuMemPoolCreate")?;
        self.pools.pool = pool;
        let (which, mut kept) = (CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as i32, KEPT_ON_DEVICE);
        // SAFETY: the pool exists; the driver reads 64 bits for this attribute.
        let code = unsafe { (table.cuMemPoolSetAttribute)(pool.0, which, (&raw mut kept).cast()) };
        self.check(code, "cuMemPoolSetAttribute")?;
        self.pools.making = stream::create(self, stream::USUAL)?;
        Ok(())
    }

    /// Makes memory of the device, of the pool if there is one, that all streams may use. The
    /// context must be current.
    pub(super) fn take_memory(&self, bytes: usize, what: &'static str) -> Result<u64> {
        let (table, Pools { pool, making, .. }) = (&self.driver.table, &self.pools);
        let mut address = 0;
        if pool.0.is_null() {
            // SAFETY: the pointer is to a local variable.
            let code = unsafe { (table.cuMemAlloc_v2)(&mut address, bytes) };
            return self.driver.check_memory(self.number, code, "cuMemAlloc", what, bytes).map(|()| address);
        }
        // SAFETY: the pointer is to a local variable; pool and stream exist.
        let code = unsafe { (table.cuMemAllocFromPoolAsync)(&mut address, bytes, pool.0, making.0) };
        self.driver.check_memory(self.number, code, "cuMemAllocFromPoolAsync", what, bytes)?;
        // Until that was waited for, the memory is there in this stream alone.
        // SAFETY: the stream exists.
        let code = unsafe { (table.cuStreamSynchronize)(making.0) };
        self.check(code, "cuStreamSynchronize").map(|()| address).inspect_err(|_| {
            // SAFETY: the driver has just given it out, and nothing uses it.
            unsafe { (table.cuMemFree_v2)(address) };
        })
    }

    /// Takes page-locked host memory with any contents. The context must be current.
    pub(super) fn take_piece(&self, bytes: usize, what: &'static str) -> Result<Piece> {
        if bytes > LARGEST {
            return self.lock_pages(bytes, (what, bytes));
        }
        let room = bytes.next_power_of_two().max(SMALLEST);
        let mut pieces = self.pools.pieces_of(room);
        if let Some(piece) = pieces.free.pop() {
            if room > MOST_TOGETHER {
                self.pools.kept.fetch_sub(room, Ordering::Relaxed);
            }
            return Ok(piece);
        }
        if room > MOST_TOGETHER {
            drop(pieces);
            return self.lock_pages(room, (what, bytes));
        }
        // The lock stays: other threads would not get memory sooner, but each make some.
        memory::reserve(&mut pieces.together, 1, "host memory for devices")?;
        memory::reserve(&mut pieces.free, TOGETHER, "host memory for devices")?;
        let first = self.lock_pages(TOGETHER * room, (what, bytes))?;
        pieces.together.push(first.pointer);
        let piece = |place: usize| Piece {
            pointer: Handle(first.pointer.0.wrapping_byte_add(place * room)),
            address: first.address + (place * room) as u64,
            room,
        };
        pieces.free.extend((1..TOGETHER).map(piece));
        Ok(piece(0))
    }

    /// Takes back a piece, which no work uses. The context must be current.
    pub(super) fn keep_piece(&self, piece: Piece) {
        let room = piece.room;
        if room <= MOST_TOGETHER {
            // Where there is no memory for a note, the piece is lost until the context goes.
            let _ = memory::push(&mut self.pools.pieces_of(room).free, piece, "host memory for devices");
            return;
        }
        if room <= LARGEST {
            let kept = self.pools.kept.fetch_add(room, Ordering::Relaxed) + room;
            let is_kept = kept <= KEPT_ON_HOST
                && memory::push(&mut self.pools.pieces_of(room).free, piece, "host memory for devices").is_ok();
            if is_kept {
                return;
            }
            self.pools.kept.fetch_sub(room, Ordering::Relaxed);
        }
        // SAFETY: it was made alone by cuMemHostAlloc. A failure means that it was lost before.
        unsafe { (self.driver.table.cuMemFreeHost)(piece.pointer.0) };
    }

    /// Makes page-locked host memory, of which so many bytes were asked for.
    fn lock_pages(&self, room: usize, (what, bytes): (&'static str, usize)) -> Result<Piece> {
        let (driver, mut pointer) = (self.driver, Handle::NONE);
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (driver.table.cuMemHostAlloc)(&mut pointer.0, room, PORTABLE_AND_MAPPED) };
        driver.check_memory(self.number, code, "cuMemHostAlloc", what, bytes)?;
        let address = self.device_address(pointer).inspect_err(|_| {
            // SAFETY: the driver has just given it out, and nothing uses it.
            unsafe { (driver.table.cuMemFreeHost)(pointer.0) };
        })?;
        Ok(Piece { pointer, address, room })
    }

    /// Returns the device's address of page-locked memory.
    pub(super) fn device_address(&self, pointer: Handle) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the first pointer is to a local variable, the other to page-locked memory.
        let code = unsafe { (self.driver.table.cuMemHostGetDevicePointer_v2)(&mut address, pointer.0, 0) };
        self.check(code, "cuMemHostGetDevicePointer")?;
        Ok(address)
    }
}

impl Pools {
    /// Lets another device reach memory of the pool, which `cuCtxEnablePeerAccess` does not.
    pub(super) fn open_to(&self, driver: &Driver, reader: i32) {
        let bit = 1u64.checked_shl(reader as u32).unwrap_or(0);
        if self.pool.0.is_null() || self.readers.load(Ordering::Acquire) & bit != 0 {
            return;
        }
        let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        let access = CUmemAccessDesc { location: on_device(reader), flags };
        // SAFETY: the pool exists, and there is one description. The driver refuses it where the
        // devices cannot reach each other.
        unsafe { (driver.table.cuMemPoolSetAccess)(self.pool.0, &access, 1) };
        // Who sees the bit finds the pool open.
        self.readers.fetch_or(bit, Ordering::Release);
    }

    fn pieces_of(&self, room: usize) -> MutexGuard<'_, Pieces> {
        lock(&self.pieces[(room / SMALLEST).ilog2() as usize])
    }

    /// Takes a stream without work, if one is kept.
    pub(super) fn take_stream(&self, is_urgent: bool) -> Option<Handle> {
        lock(&self.streams[usize::from(is_urgent)]).pop()
    }

    /// Keeps a stream without work, and returns whether there was room for it.
    pub(super) fn keep_stream(&self, is_urgent: bool, stream: Handle) -> bool {
        let mut streams = lock(&self.streams[usize::from(is_urgent)]);
        streams.len() < KEPT_STREAMS && memory::push(&mut streams, stream, "streams").is_ok()
    }

    /// Gives everything back to the driver. The context must be current. Nothing on it is used any
    /// more, and a failure means that something was lost before.
    pub(super) fn give_back(&mut self, table: &Table) {
        // SAFETY: all of it was made by the calls that belong to these, and is in nobody's hands.
        unsafe {
            for stream in self.streams.iter_mut().flat_map(|streams| owned(streams).drain(..)) {
                (table.cuStreamDestroy_v2)(stream.0);
            }
            for pieces in self.pieces.iter_mut().map(owned) {
                let alone = pieces.free.drain(..).filter(|piece| piece.room > MOST_TOGETHER).map(|piece| piece.pointer);
                for pointer in alone.chain(pieces.together.drain(..)) {
                    (table.cuMemFreeHost)(pointer.0);
                }
            }
            if !self.making.0.is_null() {
                (table.cuStreamDestroy_v2)(self.making.0);
            }
            if !self.pool.0.is_null() {
                (table.cuMemPoolDestroy)(self.pool.0);
            }
        }
    }
}

/// The place of a device's memory.
fn on_device(number: i32) -> CUmemLocation {
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: number }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owned<T>(kept: &mut Mutex<T>) -> &mut T {
    kept.get_mut().unwrap_or_else(PoisonError::into_inner)
}
