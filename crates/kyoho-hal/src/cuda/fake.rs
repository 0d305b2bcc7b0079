//! A small driver for tests. Its memory is the host's, it does its work at once, and its calls fail
//! when a test says so.
//!
//! Its state belongs to the thread, so that tests do not disturb each other. Further threads of a
//! test get it by [`share`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{
    CUdevice_attribute_enum as Attribute, CUlaunchAttributeID, CUlaunchConfig, CUmemAccessDesc, CUmemPoolProps,
};

use kyoho_core::Result;

use super::{Driver, SUCCESS};
use crate::loader::Symbol;

const INVALID_VALUE: i32 = 1;
const INVALID_DEVICE: i32 = 101;
const NOT_FOUND: i32 = 500;
const ALREADY_REGISTERED: i32 = 712;

/// The state of a thread's driver and a record of its calls.
pub struct State {
    /// The version of its interface.
    pub version: i32,
    /// The number of devices that it shows. The first has compute capability 9.0, the others 8.0.
    pub devices: i32,
    /// Whether its devices have pools of memory.
    pub has_pools: bool,
    /// The free bytes that pools keep.
    pub kept_in_pools: u64,
    /// Pools that another device may reach, and its number.
    pub readers: Vec<(usize, i32)>,
    /// A symbol that its library lacks.
    pub without: Option<&'static str>,
    /// The message of the compiler of modules about a failure.
    pub log: &'static str,
    /// The codes that calls return instead of doing anything, and for how many calls; a negative
    /// count means for ever.
    failures: BTreeMap<&'static str, (i32, i32)>,
    /// The places in `calls` of calls that fail, whatever they are, and the code that they return.
    pub failing: Option<(Range<usize>, i32)>,
    /// The names of the functions that were asked for. Their handles are their places, counted from
    /// 1.
    functions: Vec<String>,
    /// The work of a kernel, given its name and its parameters.
    pub kernel: Option<fn(&str, *mut *mut c_void)>,
    /// Every call, in order.
    pub calls: Vec<&'static str>,
    /// Handles that were given out and not given back; memory with its contents.
    pub live: BTreeMap<usize, Box<[u128]>>,
    /// The number of times that primary contexts are held.
    pub contexts: i32,
    /// The context of this thread.
    pub current: usize,
    /// The flags of the last call that has some.
    pub flags: u32,
}

thread_local! {
    static STATE: RefCell<Shared> = RefCell::new(Arc::new(Mutex::new(State {
        version: 12040,
        devices: 2,
        has_pools: true,
        kept_in_pools: 0,
        readers: Vec::new(),
        without: None,
        log: "",
        failures: BTreeMap::new(),
        failing: None,
        functions: Vec::new(),
        kernel: None,
        calls: Vec::new(),
        live: BTreeMap::new(),
        contexts: 0,
        current: 0,
        flags: 0,
    })));
}

/// The state of a driver for several threads.
pub type Shared = Arc<Mutex<State>>;

/// Returns the state of this thread's driver.
pub fn shared() -> Shared {
    STATE.with_borrow(Clone::clone)
}

/// Gives this thread the driver of another one.
pub fn share(state: Shared) {
    STATE.set(state);
}

/// Reads or changes the state of this thread's driver.
pub fn state<T>(use_it: impl FnOnce(&mut State) -> T) -> T {
    use_it(&mut shared().lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes the next call of this name return a code.
pub fn fail_once(call: &'static str, code: i32) {
    state(|state| state.failures.insert(call, (code, 1)));
}

/// Makes every call of this name return a code. With success it works again.
pub fn fail(call: &'static str, code: i32) {
    state(|state| match code {
        SUCCESS => state.failures.remove(call),
        code => state.failures.insert(call, (code, -1)),
    });
}

/// Returns a driver with this thread's functions, as the library would find it.
pub fn initialised() -> Result<Driver> {
    Driver::initialised(symbol)
}

/// Returns such a driver for the lifetime of the process.
pub fn driver() -> &'static Driver {
    Box::leak(Box::new(initialised().unwrap()))
}

/// Records a call and returns the code of its failure if it has to fail.
fn begin(call: &'static str) -> Option<i32> {
    state(|state| {
        state.calls.push(call);
        if let Some((places, code)) = &state.failing
            && places.contains(&(state.calls.len() - 1))
        {
            return Some(*code);
        }
        let (code, left) = state.failures.get_mut(call)?;
        *left -= 1;
        let code = *code;
        if state.failures[call].1 == 0 {
            state.failures.remove(call);
        }
        Some(code)
    })
}

/// Returns a new handle with room for this many bytes.
fn give(bytes: usize) -> usize {
    let room = vec![u128::from_ne_bytes([0xA5; 16]); bytes.div_ceil(16).max(1)].into_boxed_slice();
    let address = room.as_ptr() as usize;
    state(|state| state.live.insert(address, room));
    address
}

/// Whether this many bytes from an address on were given out.
pub fn has(address: u64, bytes: usize) -> bool {
    let address = address as usize;
    state(|state| {
        let (first, room) = state.live.range(..=address).next_back()?;
        Some(address + bytes <= first + size_of_val(&**room))
    })
    .unwrap_or(false)
}

/// Runs the work that the test set for a kernel.
fn run(function: *mut c_void, parameters: *mut *mut c_void) {
    let found = state(|state| Some((state.kernel?, state.functions.get((function as usize).checked_sub(1)?)?.clone())));
    if let Some((kernel, name)) = found {
        kernel(&name, parameters);
    }
}

/// Takes back a handle.
fn take(address: usize) -> i32 {
    match state(|state| state.live.remove(&address)) {
        Some(_) => SUCCESS,
        None => INVALID_VALUE,
    }
}

/// Writes a string and its terminating zero.
fn write(text: &str, to: *mut c_char, room: i32) -> i32 {
    if text.len() >= room as usize {
        return INVALID_VALUE;
    }
    // SAFETY: the caller has the room that it says.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), text.len());
        *to.add(text.len()) = 0;
    }
    SUCCESS
}

/// The driver's name and description of the codes that it knows.
fn words(code: i32) -> Option<(&'static CStr, &'static CStr)> {
    match code {
        1 => Some((c"CUDA_ERROR_INVALID_VALUE", c"invalid argument")),
        2 => Some((c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory")),
        34 => Some((c"CUDA_ERROR_STUB_LIBRARY", c"CUDA driver is a stub library")),
        101 => Some((c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal")),
        218 => Some((c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed")),
        500 => Some((c"CUDA_ERROR_NOT_FOUND", c"named symbol not found")),
        700 => Some((c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered")),
        _ => None,
    }
}

macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) $body:block)*) => {
        $(
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name($($argument: $kind),*) -> i32 {
                if let Some(code) = begin(stringify!($name)) {
                    return code;
                }
                // SAFETY: callers pass arguments as the driver documents them.
                #[allow(unused_unsafe)]
                unsafe { $body }
            }
        )*

        /// Returns the function of this name, unless the library has to lack it.
        fn symbol(name: &CStr) -> Option<Symbol> {
            let name = name.to_str().unwrap();
            if state(|state| state.without == Some(name)) {
                return None;
            }
            match name {
                $(
                    // SAFETY: the receiver gives it its signature again.
                    stringify!($name) => Some(unsafe {
                        std::mem::transmute::<unsafe extern "C" fn($($kind),*) -> i32, Symbol>($name)
                    }),
                )*
                _ => panic!("the fake has no {name}"),
            }
        }
    };
}

functions! {
    fn cuDriverGetVersion(version: *mut i32) {
        *version = state(|state| state.version);
        SUCCESS
    }
    fn cuInit(_flags: u32) { SUCCESS }
    fn cuGetErrorName(code: i32, text: *mut *const c_char) {
        *text = words(code).map_or(std::ptr::null(), |(name, _)| name.as_ptr());
        if (*text).is_null() { INVALID_VALUE } else { SUCCESS }
    }
    fn cuGetErrorString(code: i32, text: *mut *const c_char) {
        *text = words(code).map_or(std::ptr::null(), |(_, text)| text.as_ptr());
        if (*text).is_null() { INVALID_VALUE } else { SUCCESS }
    }
    fn cuDeviceGetCount(count: *mut i32) {
        *count = state(|state| state.devices);
        SUCCESS
    }
    fn cuDeviceGet(device: *mut i32, number: i32) {
        // A driver's handles need not be the device numbers.
        *device = number + 10;
        if (0..state(|state| state.devices)).contains(&number) { SUCCESS } else { INVALID_DEVICE }
    }
    fn cuDeviceGetName(name: *mut c_char, room: i32, device: i32) {
        write(&format!("Fake {}", device - 10), name, room)
    }
    fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) {
        *value = match attribute {
            a if a == Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as i32 => if device == 10 { 9 } else { 8 },
            a if a == Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as i32 => 0,
            a if a == Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as i32 => 132,
            a if a == Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE as i32 => 1_980_000,
            a if a == Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE as i32 => 60 << 20,
            a if a == Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED as i32 => i32::from(state(|state| state.has_pools)),
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
    fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, other: i32) {
        *can = i32::from(device != other);
        SUCCESS
    }
    fn cuDeviceGetPCIBusId(bus: *mut c_char, room: i32, device: i32) {
        write(&format!("0000:{device:02X}:00.0"), bus, room)
    }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: i32) {
        *bytes = 139 << 30;
        SUCCESS
    }
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) {
        *context = (1000 + device as usize) as *mut c_void;
        state(|state| state.contexts += 1);
        SUCCESS
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: i32) {
        state(|state| state.contexts -= 1);
        SUCCESS
    }
    fn cuCtxGetCurrent(context: *mut *mut c_void) {
        *context = state(|state| state.current) as *mut c_void;
        SUCCESS
    }
    fn cuCtxSetCurrent(context: *mut c_void) {
        state(|state| state.current = context as usize);
        SUCCESS
    }
    fn cuCtxEnablePeerAccess(other: *mut c_void, flags: u32) {
        // It cannot be done again.
        if other as usize == state(|state| state.current) || flags != 0 { INVALID_VALUE } else { 704 }
    }
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        *address = give(bytes) as u64;
        SUCCESS
    }
    fn cuMemFree_v2(address: u64) { take(address as usize) }
    fn cuMemPoolCreate(pool: *mut *mut c_void, properties: *const CUmemPoolProps) {
        let CUmemPoolProps { allocType, handleTypes, location, maxSize, usage, .. } = *properties;
        // Page-locked, without handles, on a device, of any size, for any use.
        let asked = (allocType as i32, handleTypes.0, location.type_ as i32, maxSize, usage);
        if asked != (1, 0, 1, 0, 0) || !state(|state| state.has_pools && (0..state.devices).contains(&location.id)) {
            return INVALID_VALUE;
        }
        *pool = give(0) as *mut c_void;
        SUCCESS
    }
    fn cuMemPoolDestroy(pool: *mut c_void) { take(pool as usize) }
    fn cuMemPoolSetAttribute(pool: *mut c_void, attribute: i32, value: *mut c_void) {
        if attribute != 4 || !has(pool as u64, 1) {
            return INVALID_VALUE;
        }
        let bytes = *value.cast::<u64>();
        state(|state| state.kept_in_pools = bytes);
        SUCCESS
    }
    fn cuMemPoolSetAccess(pool: *mut c_void, access: *const CUmemAccessDesc, count: usize) {
        let CUmemAccessDesc { location, flags } = *access;
        // On a device, to read and to write.
        if (location.type_ as i32, flags as i32, count) != (1, 3, 1) || !has(pool as u64, 1) {
            return INVALID_VALUE;
        }
        state(|state| state.readers.push((pool as usize, location.id)));
        SUCCESS
    }
    fn cuMemAllocFromPoolAsync(address: *mut u64, bytes: usize, pool: *mut c_void, stream: *mut c_void) {
        if bytes == 0 || !has(pool as u64, 1) || !has(stream as u64, 1) {
            return INVALID_VALUE;
        }
        *address = give(bytes) as u64;
        SUCCESS
    }
    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: u32) {
        *pointer = give(bytes) as *mut c_void;
        state(|state| state.flags = flags);
        SUCCESS
    }
    fn cuMemFreeHost(pointer: *mut c_void) { take(pointer as usize) }
    fn cuMemHostRegister_v2(pointer: *mut c_void, _bytes: usize, flags: u32) {
        // The memory belongs to the caller, so only its address is recorded.
        let known = state(|state| {
            state.flags = flags;
            state.live.insert(pointer as usize, Box::new([])).is_some()
        });
        if known { ALREADY_REGISTERED } else { SUCCESS }
    }
    fn cuMemHostUnregister(pointer: *mut c_void) { take(pointer as usize) }
    fn cuMemHostGetDevicePointer_v2(address: *mut u64, pointer: *mut c_void, _flags: u32) {
        *address = pointer as u64;
        SUCCESS
    }
    fn cuPointerGetAttribute(value: *mut c_void, attribute: i32, address: u64) {
        if !has(address, 1) {
            return INVALID_VALUE;
        }
        // Memory of device 0 that the driver does not move; where it begins, and how long it is.
        let range = state(|state| state.live.range(..=address as usize).next_back().map(|(first, room)| (*first, room.len())));
        match (attribute, range) {
            (11, Some((first, _))) => *value.cast::<u64>() = first as u64,
            (12, Some((_, bytes))) => *value.cast::<u64>() = bytes as u64,
            _ => *value.cast::<i32>() = if attribute == 2 { 2 } else { 0 },
        }
        SUCCESS
    }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, _stream: *mut c_void) {
        if !has(to, bytes) {
            return INVALID_VALUE;
        }
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), to as *mut u8, bytes);
        SUCCESS
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, _stream: *mut c_void) {
        if !has(from, bytes) {
            return INVALID_VALUE;
        }
        std::ptr::copy_nonoverlapping(from as *const u8, to.cast::<u8>(), bytes);
        SUCCESS
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, _stream: *mut c_void) {
        if !has(to, bytes) || !has(from, bytes) {
            return INVALID_VALUE;
        }
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
        SUCCESS
    }
    fn cuMemcpyPeerAsync(
        to: u64, to_context: *mut c_void, from: u64, from_context: *mut c_void, bytes: usize, _stream: *mut c_void
    ) {
        if !has(to, bytes) || !has(from, bytes) || to_context.is_null() || from_context.is_null() {
            return INVALID_VALUE;
        }
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
        SUCCESS
    }
    fn cuMemsetD8Async(address: u64, value: u8, bytes: usize, _stream: *mut c_void) {
        if !has(address, bytes) {
            return INVALID_VALUE;
        }
        std::ptr::write_bytes(address as *mut u8, value, bytes);
        SUCCESS
    }
    fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: u32, _priority: i32) {
        *stream = give(0) as *mut c_void;
        state(|state| state.flags = flags);
        SUCCESS
    }
    fn cuStreamDestroy_v2(stream: *mut c_void) { take(stream as usize) }
    fn cuStreamSynchronize(stream: *mut c_void) { if has(stream as u64, 1) { SUCCESS } else { INVALID_VALUE } }
    fn cuCtxSynchronize() { SUCCESS }
    fn cuStreamQuery(stream: *mut c_void) { if has(stream as u64, 1) { SUCCESS } else { INVALID_VALUE } }
    fn cuStreamWaitEvent(_stream: *mut c_void, _event: *mut c_void, _flags: u32) { SUCCESS }
    fn cuEventCreate(event: *mut *mut c_void, flags: u32) {
        *event = give(0) as *mut c_void;
        state(|state| state.flags = flags);
        SUCCESS
    }
    fn cuEventDestroy_v2(event: *mut c_void) { take(event as usize) }
    fn cuEventRecord(_event: *mut c_void, _stream: *mut c_void) { SUCCESS }
    fn cuEventSynchronize(_event: *mut c_void) { SUCCESS }
    fn cuEventElapsedTime(milliseconds: *mut f32, earlier: *mut c_void, later: *mut c_void) {
        *milliseconds = if earlier == later { 0.0 } else { 1.5 };
        SUCCESS
    }
    fn cuModuleLoadDataEx(
        module: *mut *mut c_void, image: *const c_void, count: u32, options: *mut i32, values: *mut *mut c_void
    ) {
        // The error log and its size.
        assert_eq!((count, *options, *options.add(1)), (2, 5, 6));
        write(state(|state| state.log), (*values).cast(), *values.add(1) as i32);
        *module = give(0) as *mut c_void;
        let image = *image.cast::<[u8; 4]>();
        if image == *b"\x7fELF" || image == *b".ver" { SUCCESS } else { take(*module as usize) + 218 }
    }
    fn cuModuleUnload(module: *mut c_void) { take(module as usize) }
    fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) {
        let name = CStr::from_ptr(name).to_str().unwrap().to_owned();
        if module.is_null() || name == "other" {
            return NOT_FOUND;
        }
        *function = state(|state| {
            state.functions.push(name);
            state.functions.len() as *mut c_void
        });
        SUCCESS
    }
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, _function: *mut c_void, threads: i32, _shared: usize) {
        *blocks = 2048 / threads;
        SUCCESS
    }
    fn cuLaunchKernel(
        function: *mut c_void, _x: u32, _y: u32, z: u32, _threads: u32, block_y: u32, block_z: u32, _shared: u32,
        _stream: *mut c_void, parameters: *mut *mut c_void, extra: *mut *mut c_void
    ) {
        run(function, parameters);
        if (z, block_y, block_z) == (1, 1, 1) && extra.is_null() { SUCCESS } else { INVALID_VALUE }
    }
    fn cuLaunchCooperativeKernel(
        function: *mut c_void, _x: u32, y: u32, z: u32, _threads: u32, block_y: u32, block_z: u32, shared: u32,
        _stream: *mut c_void, parameters: *mut *mut c_void
    ) {
        run(function, parameters);
        if (y, z, block_y, block_z, shared) == (1, 1, 1, 1, 0) { SUCCESS } else { INVALID_VALUE }
    }
    fn cuLaunchKernelEx(
        configuration: *const CUlaunchConfig, function: *mut c_void, parameters: *mut *mut c_void,
        extra: *mut *mut c_void
    ) {
        run(function, parameters);
        let configuration = &*configuration;
        let overlaps = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        let attribute = &*configuration.attrs;
        let right = configuration.numAttrs == 1
            && attribute.id == overlaps
            && attribute.value.programmaticStreamSerializationAllowed == 1
            && extra.is_null();
        if right { SUCCESS } else { INVALID_VALUE }
    }
}
