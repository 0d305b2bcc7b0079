//! Making, describing and freeing systems.

use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::ptr;

use crate::abi::boundary::{self, required};
use crate::abi::{arrays, diagnostics, opening};
use crate::config::{DeviceChoice, MAX_THREADS, Settings};
use crate::data::{Error, Order, Precision, Result, ResultCode};
use crate::engine::{Setup, Statistics};
use crate::hal::Backend;

use super::{Held, LAST_ERROR, SYSTEMS, call, call_on};

/// A system of sources and the devices that sum their forces. A pointer to it is a handle that the library looks up:
/// it points to nothing, and one that was freed or never was a system is an error, not a danger.
///
/// Several threads may use several systems at once; calls on one system wait for one another.
#[allow(non_camel_case_types)]
pub struct kyoho_system;

/// The library's version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero byte"),
    };
    VERSION.as_ptr()
}

/// What a result means, in a few words and whatever the number. `kyoho_last_error` says more.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_result_text(result: i32) -> *const c_char {
    let text = match ResultCode::from_number(result) {
        None => c"no result of kyoho",
        Some(ResultCode::Ok) => c"success",
        Some(ResultCode::NullArgument) => c"an argument that must point somewhere is null",
        Some(ResultCode::BadHandle) => c"the handle is no system",
        Some(ResultCode::BadCount) => c"a count is negative or too large",
        Some(ResultCode::BadAddress) => c"an address is negative or too large",
        Some(ResultCode::NotFinite) => c"a number is NaN or infinite",
        Some(ResultCode::OutOfRange) => c"a number is too large for the precision",
        Some(ResultCode::CallOrder) => c"calls came in an order that has no meaning",
        Some(ResultCode::BadOption) => c"an option or an environment variable has a value that is not allowed",
        Some(ResultCode::BufferTooSmall) => c"the buffer is too small",
        Some(ResultCode::NoBackend) => c"the backend is not there",
        Some(ResultCode::Unsupported) => c"the backend does not compute this order in this precision",
        Some(ResultCode::OutOfMemory) => c"memory could not be had",
        Some(ResultCode::DeviceFailed) => c"a device failed",
        Some(ResultCode::Internal) => c"a defect of kyoho",
    };
    text.as_ptr()
}

/// Whether a backend can be used here: KYOHO_OK if it can, KYOHO_NO_BACKEND if not, and `kyoho_last_error(NULL)`
/// says why.
///
/// `backend` is a `kyoho_backend` other than 0. `devices`, which may be NULL, receives the number of its devices, 0
/// where it cannot be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_backend_available(backend: i32, devices: *mut i32) -> ResultCode {
    call(|| {
        // SAFETY: null or room for a number.
        let put = |count: usize| unsafe { boundary::write(devices, count as i32) };
        put(0);
        let backend = backend_of(backend, "")?;
        put(backend.devices()?.len());
        Ok(())
    })
}

/// Makes a system without sources, at time 0.
///
/// - `order`: what is computed: 2 for potentials and accelerations, 4 for jerks and nearest neighbours too, 6 for snaps
///   too, 8 for crackles too.
/// - `precision`: a `kyoho_precision`; 0 for what KYOHO_PRECISION says, else KYOHO_PRECISION_DOUBLE. Orders 2 and 4 are
///   computed in single, mixed and double, order 6 in mixed and double, order 8 in double.
/// - `backend`: a `kyoho_backend`; 0 for what KYOHO_BACKEND says, else the first that has a device. If nobody chose one
///   and a device fails, then or later, the next backend goes on; the log says so.
/// - `devices`: the backend's devices to use: "all", a count such as "2", or a list such as "0,2" (of one: "3,"); one that
///   is named twice takes twice the share. NULL for what the environment says (KYOHO_DEVICES, sapporo2.config, GPU_LIST,
///   the launcher's local rank), else the first.
/// - `threads`: threads of the CPU backend, of which up to eight copy the sinks of large blocks for any backend, the
///   caller's own included; 0 for what the environment says (KYOHO_THREADS, OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, the
///   affinity mask).
/// - `system`: receives the handle, NULL on an error. Give it back with `kyoho_system_free`.
///
/// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (an argument or an environment variable has a value that is not
/// allowed, or the process can open no more files), KYOHO_BAD_COUNT (too many devices), KYOHO_NO_BACKEND,
/// KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY; `kyoho_last_error(NULL)` has the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_create(
    order: i32,
    precision: i32,
    backend: i32,
    devices: *const c_char,
    threads: i32,
    system: *mut *mut kyoho_system,
) -> ResultCode {
    call(|| {
        let system = required("system", system)?;
        // SAFETY: room for a pointer.
        unsafe { boundary::write(system, ptr::null_mut()) };
        // SAFETY: null or a text.
        let devices = unsafe { boundary::text(devices) };
        let (setup, because) = setup(order, precision, backend, devices.as_deref(), threads)?;
        let made = opening::system("kyoho_system_create", &setup, &because)?;
        let handle = SYSTEMS.insert(Held { system: made, last_error: CString::default() })?;
        // SAFETY: room for a pointer. The handle is a number that no one follows as a pointer.
        unsafe { boundary::write(system, ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

fn bad(name: &str, value: i32, allowed: String) -> Error {
    Error::BadOption { name: name.into(), value: value.to_string(), allowed }
}

fn order_of(number: i32) -> Result<Order> {
    let allowed = || Order::ALL.map(|order| (order as i32).to_string()).join(", ");
    Order::from_number(number).ok_or_else(|| bad("order", number, allowed()))
}

fn precision_of(number: i32) -> Result<Precision> {
    let all = || Precision::ALL.map(|precision| format!("{} ({})", precision as i32, precision.name())).join(", ");
    let allowed = || format!("0 (KYOHO_PRECISION, else double), {}", all());
    Precision::from_number(number).ok_or_else(|| bad("precision", number, allowed()))
}

fn backend_of(number: i32, others: &str) -> Result<Backend> {
    let all = || Backend::ALL.map(|backend| format!("{} ({})", backend as i32, backend.name())).join(", ");
    Backend::from_number(number).ok_or_else(|| bad("backend", number, others.to_string() + &all()))
}

fn setup(order: i32, precision: i32, backend: i32, devices: Option<&str>, threads: i32) -> Result<(Setup, String)> {
    let mut settings = Settings::from_environment()?;
    diagnostics::start_log(&settings)?;
    let order = order_of(order)?;
    let precision = match precision {
        0 => settings.precision_for(order)?.unwrap_or(Precision::Double),
        number => precision_of(number)?,
    };
    if backend != 0 {
        settings.backend = Some(backend_of(backend, "0 (automatic), ")?);
    }
    match usize::try_from(threads) {
        Ok(0) => (),
        Ok(count) if count <= MAX_THREADS => settings.threads = count,
        _ => return Err(bad("threads", threads, format!("0 (from the environment), 1 to {MAX_THREADS}"))),
    }
    if let Some(devices) = devices {
        settings.devices = DeviceChoice::parse("devices", devices)?;
    }
    opening::setup_of(&settings, order, precision)
}

/// Goes on with other devices, or with the same ones opened anew, as after KYOHO_DEVICE_FAILED. Sources, time and counts
/// are kept; the last block is forgotten. The bits of forces are those of the new devices.
///
/// `backend`, `devices` and `threads` are as in `kyoho_system_create`; the system's order and precision stay. If the
/// devices cannot be had, the system keeps those that it had.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (a block is under way), KYOHO_BAD_OPTION, KYOHO_BAD_COUNT (too many devices),
/// KYOHO_NO_BACKEND, KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_move(
    system: *mut kyoho_system,
    backend: i32,
    devices: *const c_char,
    threads: i32,
) -> ResultCode {
    call_on(system, |system| {
        // SAFETY: null or a text.
        let devices = unsafe { boundary::text(devices) };
        let (order, precision) = (system.interaction().order as i32, system.interaction().precision as i32);
        let (wanted, because) = setup(order, precision, backend, devices.as_deref(), threads)?;
        system.move_to(&Setup { crossover: system.setup().crossover, ..wanted })?;
        opening::opened("kyoho_system_move", system, &because);
        Ok(())
    })
}

/// Sets below how many pairs (sinks times `nj`) the CPU computes a block though the system's backend is another, as small
/// blocks are faster there; 0 for never. Until then it is what KYOHO_CROSSOVER says, else a constant of the device's model.
///
/// The bits of a force are those of the device that computed it, so they change where blocks change sides. `pairs` has no
/// effect on a system whose backend is the CPU.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (a negative number).
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_set_crossover(system: *mut kyoho_system, pairs: i64) -> ResultCode {
    call_on(system, |system| {
        let pairs = u64::try_from(pairs).map_err(|_| Error::BadCount {
            what: "pairs",
            value: pairs,
            allowed: format!("0 to {}", i64::MAX),
        })?;
        system.set_crossover(pairs);
        Ok(())
    })
}

/// Frees a system; its handle is no system from then on. A call that is under way on it is waited for.
///
/// Errors: KYOHO_BAD_HANDLE, also for NULL and for a system that was freed before.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_free(system: *mut kyoho_system) -> ResultCode {
    call(|| SYSTEMS.remove(system.addr()).map(|held| opening::closed("kyoho_system_free", &held.system)))
}

/// What was wrong in the last failing call on a system: whose value, which value, what is allowed. The text is empty
/// if no call failed, and it stays until the next failing call on the system, or until the system is freed.
///
/// With NULL, or with a handle that is no system: of the last failing call of the calling thread, whatever it was on;
/// that text stays until the thread's next failing call.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_last_error(system: *mut kyoho_system) -> *const c_char {
    SYSTEMS
        .with(system.addr(), |held| held.last_error.as_ptr())
        .or_else(|_| LAST_ERROR.try_with(|last| last.borrow().as_ptr()))
        .unwrap_or(c"".as_ptr())
}

/// What a system computes: its order, `kyoho_precision` and `kyoho_backend`. The backend is the one in use now, 0 where
/// devices were lost and no others could be had. Each of the three may be NULL.
///
/// Errors: KYOHO_BAD_HANDLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_describe(
    system: *mut kyoho_system,
    order: *mut i32,
    precision: *mut i32,
    backend: *mut i32,
) -> ResultCode {
    call_on(system, |system| {
        let chosen = system.devices().first().map_or(0, |device| device.backend as i32);
        // SAFETY: each null or room for a number.
        unsafe {
            boundary::write(order, system.interaction().order as i32);
            boundary::write(precision, system.interaction().precision as i32);
            boundary::write(backend, chosen);
        }
        Ok(())
    })
}

/// The number of devices that a system computes on.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_device_count(system: *mut kyoho_system, count: *mut i32) -> ResultCode {
    call_on(system, |system| {
        let count = required("count", count)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(count, system.devices().len() as i32) };
        Ok(())
    })
}

/// The name of one of the devices of a system, for people.
///
/// `device` counts from 0. `buffer` has room for `size` bytes and receives the name, ended by a zero byte; a name that
/// is too long is cut.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such device, or a negative size),
/// KYOHO_BUFFER_TOO_SMALL (the name was cut).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_device_name(
    system: *mut kyoho_system,
    device: i32,
    buffer: *mut c_char,
    size: i32,
) -> ResultCode {
    call_on(system, |system| {
        let devices = system.devices();
        let named = usize::try_from(device).ok().and_then(|device| devices.get(device));
        let name = &named
            .ok_or_else(|| Error::BadCount {
                what: "the number of the device",
                value: device.into(),
                allowed: format!("0 to {}", devices.len() as i64 - 1),
            })?
            .name;
        let room = arrays::count("size", size)?;
        let buffer = required("buffer", buffer)?.cast::<u8>();
        let fitting = name.len().min(room.saturating_sub(1));
        if room > 0 {
            // SAFETY: the buffer has room for `room` bytes, more than `fitting`.
            unsafe {
                ptr::copy_nonoverlapping(name.as_ptr(), buffer, fitting);
                buffer.add(fitting).write(0);
            }
        }
        match name.len() < room {
            true => Ok(()),
            false => Err(Error::BufferTooSmall { what: "the name of the device", needed: name.len() + 1, room }),
        }
    })
}

/// Counts since a system was made.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_statistics(system: *mut kyoho_system, statistics: *mut Statistics) -> ResultCode {
    call_on(system, |system| {
        let statistics = required("statistics", statistics)?;
        // SAFETY: room for statistics.
        unsafe { boundary::write(statistics, system.statistics()) };
        Ok(())
    })
}
