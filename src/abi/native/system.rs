//! Making, describing and freeing systems.

use std::ffi::CStr;
use std::os::raw::c_char;
use std::ptr;

use crate::abi::boundary::{self, protect, required};
use crate::abi::{arrays, opening};
use kyoho_core::{Error, Result, ResultCode};
use kyoho_engine::{Statistics, System};
use kyoho_ranks::{Communicator, RankedSystem};

use super::interactions::interaction_of;
use super::structures::{self, kyoho_interaction, kyoho_options, kyoho_statistics};
use super::{LAST_ERROR, SYSTEMS, call, call_on, call_on_ranks, communicators, kyoho_backend, options};

/// A system of sources and the devices that sum their forces. A pointer to it is a handle that the
/// library looks up: it points to nothing, and one that was freed or never was a system is an
/// error, not a danger.
///
/// Several threads may use several systems at once; calls on one system wait for one another.
#[allow(non_camel_case_types)]
pub struct kyoho_system;

/// The library's version, such as "0.2.0".
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero byte"),
    };
    VERSION.as_ptr()
}

/// The library's version as one number, which grows: 200 for 0.2.0, 10203 for 1.2.3. A program may
/// compare it with KYOHO_VERSION_NUMBER, that of the header it was compiled with.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_library_version() -> i32 {
    const fn number(text: &str) -> i32 {
        match i32::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => panic!("a version is made of numbers"),
        }
    }
    const NUMBER: i32 = 10_000 * number(env!("CARGO_PKG_VERSION_MAJOR"))
        + 100 * number(env!("CARGO_PKG_VERSION_MINOR"))
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    NUMBER
}

/// The meaning of a result in a few words, whatever the number. `kyoho_last_error` says more.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_result_text(result: i32) -> *const c_char {
    let text = match ResultCode::from_number(result) {
        None => c"no result of kyoho",
        Some(ResultCode::Ok) => c"success",
        Some(ResultCode::NullArgument) => c"an argument that must point somewhere is null",
        Some(ResultCode::BadHandle) => c"the handle is not a system",
        Some(ResultCode::BadCount) => c"a count is negative or too large",
        Some(ResultCode::BadAddress) => c"an address is negative or too large",
        Some(ResultCode::NotFinite) => c"a number is NaN or infinite",
        Some(ResultCode::OutOfRange) => c"a number is too large for the precision",
        Some(ResultCode::CallOrder) => c"calls came in an order that has no meaning",
        Some(ResultCode::BadOption) => c"an option or an environment variable has a value that is not allowed",
        Some(ResultCode::BufferTooSmall) => c"the buffer is too small",
        Some(ResultCode::BadText) => c"the text of a pair interaction is wrong",
        Some(ResultCode::NoBackend) => c"the backend is not there",
        Some(ResultCode::Unsupported) => c"the backend does not compute this order in this precision and scope",
        Some(ResultCode::OutOfMemory) => c"memory could not be had",
        Some(ResultCode::DeviceFailed) => c"a device failed",
        Some(ResultCode::CommunicatorFailed) => c"the communicator of a system over ranks failed",
        Some(ResultCode::Internal) => c"a defect of kyoho",
        Some(ResultCode::Poisoned) => c"a defect of kyoho ended an earlier call",
    };
    text.as_ptr()
}

/// Whether a backend can be used here: KYOHO_OK if it can, KYOHO_NO_BACKEND if not, and
/// `kyoho_last_error` says why.
///
/// `devices`, which may be NULL, receives the number of its devices, 0 where it cannot be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_backend_available(backend: kyoho_backend, devices: *mut i32) -> ResultCode {
    call(|| {
        // SAFETY: null or room for a number.
        let put = |count: usize| unsafe { boundary::write(devices, count as i32) };
        put(0);
        let backend = options::backend_of("backend", backend, "")?;
        put(backend.devices()?.len());
        Ok(())
    })
}

/// Makes a system without sources, at time 0. `options` may be NULL, which leaves everything open.
///
/// `system` receives the handle, NULL on an error. Give it back with `kyoho_system_free`.
///
/// With a communicator of several ranks all call this, and the error of one is that of all; its text
/// names the rank. Order, precision, scope, `accuracy`, `theta` and the library's version have to be
/// the same on all. From then on `kyoho_system_force`, `kyoho_system_force_all`,
/// `kyoho_system_force_lists`, `kyoho_system_start`, `kyoho_system_start_all`,
/// `kyoho_system_start_lists` and `kyoho_system_wait` are calls of all ranks, and all others of one.
/// Such systems have no batches, KYOHO_PRECISION_QUAD, softenings of sources, nor sinks and forces
/// in KYOHO_MEMORY_CUDA. A communicator of one rank is as none.
///
/// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a field or an environment variable has a value
/// that is not allowed, or the process can open no more files), KYOHO_BAD_COUNT (too many devices,
/// or a negative crossover), KYOHO_NO_BACKEND, KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED,
/// KYOHO_OUT_OF_MEMORY, KYOHO_COMMUNICATOR_FAILED; `kyoho_last_error` has the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_create(
    options: *const kyoho_options,
    system: *mut *mut kyoho_system,
) -> ResultCode {
    call(|| {
        // SAFETY: null or room for a pointer.
        unsafe { boundary::write(system, ptr::null_mut()) };
        // SAFETY: null or a structure.
        let communicator = unsafe { communicators::of_options(options) }?;
        // Whatever is wrong here, even a panic, the other ranks are told of it.
        let made = protect(|| {
            required("system", system)?;
            // SAFETY: null or a structure.
            unsafe { open(options) }
        });
        let made = match communicator {
            Some(communicator) if communicator.size() > 1 => RankedSystem::over(Box::new(communicator), made)?,
            _ => made?.into(),
        };
        let handle = SYSTEMS.insert(made)?;
        // SAFETY: room for a pointer. The handle is a number that no one follows as a pointer.
        unsafe { boundary::write(system, ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// Makes a system of this process, or this rank's part of one.
///
/// # Safety
/// The options are null or a structure.
unsafe fn open(options: *const kyoho_options) -> Result<System> {
    // SAFETY: the caller's promise.
    let (setup, because) = unsafe { options::setup(options, None) }?;
    // SAFETY: as above.
    let tree = unsafe { options::tree(options) }?;
    let mut made = opening::system("kyoho_system_create", &setup, &because)?;
    made.set_tree(tree)?;
    Ok(made)
}

/// Goes on with other devices, or with the same ones opened anew, as after KYOHO_DEVICE_FAILED.
/// Sources, time and counts are kept; the last block is forgotten. The bits of forces are those of
/// the new devices.
///
/// `options` are as in `kyoho_system_create`, but the system's order, precision and scope stay, so
/// that they may be 0 or must be what they are; a crossover of 0 leaves it as it is. If the devices
/// cannot be had, the system keeps those that it had. A system over ranks stays one, whose other
/// ranks are not asked: the options have no communicator.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (a block is under way), KYOHO_BAD_OPTION,
/// KYOHO_BAD_COUNT (too many devices, or a negative crossover), KYOHO_NO_BACKEND,
/// KYOHO_UNSUPPORTED, KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_move(system: *mut kyoho_system, options: *const kyoho_options) -> ResultCode {
    call_on_ranks(system, |system| {
        // SAFETY: null or a structure.
        unsafe { communicators::require_none(options, "kyoho_system_move") }?;
        // SAFETY: as above.
        let tree = unsafe { options::tree(options) }?;
        // SAFETY: as above.
        let (wanted, because) = unsafe { options::setup(options, Some(system.own().setup())) }?;
        system.own().move_to(&wanted)?;
        if tree.is_some() {
            system.set_tree(tree)?;
        }
        opening::opened("kyoho_system_move", system.own(), &because);
        Ok(())
    })
}

/// Sets the crossover: the number of pairs (sinks times `nj`) below which the CPU computes a block
/// though the system's backend is another, as small blocks are faster there. KYOHO_CROSSOVER_OFF:
/// it computes none. 0: what KYOHO_CROSSOVER says, else a constant of the device's model.
///
/// For lists and batches, whose pairs are the sinks times the sources of each group, summed, the
/// CPU takes over only below a crossover that was set, here or by KYOHO_CROSSOVER: otherwise the
/// bits of a group would follow from the number of groups.
///
/// The bits of a force are those of the device that computed it, so they change where blocks change
/// sides. The crossover has no effect on a system whose backend is the CPU.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT (another negative number).
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_set_crossover(system: *mut kyoho_system, pairs: i64) -> ResultCode {
    call_on(system, |system| {
        system.set_crossover(options::crossover_of(pairs)?);
        Ok(())
    })
}

/// Frees a system; its handle is not a system from then on. A call that is under way on it is
/// waited for. Of a system over ranks each rank frees its own part.
///
/// Errors: KYOHO_BAD_HANDLE, also for NULL and for a system that was freed before.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_free(system: *mut kyoho_system) -> ResultCode {
    call(|| {
        let (system, is_poisoned) = SYSTEMS.remove(system.addr())?;
        if !is_poisoned {
            opening::closed("kyoho_system_free", &system.into_own());
        }
        Ok(())
    })
}

/// The text of the last failing call on a system, which says what was wrong: whose value, which
/// value, what is allowed. The text is empty if no call failed, and it stays until the next failing
/// call on the system, or until the system is freed.
///
/// With NULL, or with a handle that is not a system, it is that of `kyoho_last_error`.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_system_last_error(system: *mut kyoho_system) -> *const c_char {
    SYSTEMS.last_error(system.addr()).unwrap_or_else(|_| kyoho_last_error())
}

/// The text of the last failing call of the calling thread, whatever it was on. It is empty if no
/// call failed, and it stays until the thread's next failing call.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Describes what a system computes, and the backend that does: the one in use now, 0 where devices
/// were lost and no others could be had. Both may be NULL.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_OPTION (a `structure_size` that is not allowed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_describe(
    system: *mut kyoho_system,
    interaction: *mut kyoho_interaction,
    backend: *mut kyoho_backend,
) -> ResultCode {
    call_on(system, |system| {
        if !interaction.is_null() {
            let found = interaction_of(system.interaction())?;
            // SAFETY: a structure.
            unsafe { structures::write("interaction", interaction, found) }?;
        }
        let chosen = system.devices().first().map_or(0, |device| device.backend as i32);
        // SAFETY: null or room for a number.
        unsafe { boundary::write(backend, chosen) };
        Ok(())
    })
}

/// The number of devices that a system computes on.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_device_count(system: *mut kyoho_system, count: *mut i32) -> ResultCode {
    call_on(system, |system| {
        let count = required("count", count)?;
        // SAFETY: room for a number.
        unsafe { boundary::write(count, system.devices().len() as i32) };
        Ok(())
    })
}

/// The name of one of the devices of a system, for people.
///
/// `device` counts from 0. `buffer` has room for `size` bytes and receives the name, ended by a
/// zero byte; a name that is too long is cut.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (no such device, or a negative
/// size), KYOHO_BUFFER_TOO_SMALL (the name was cut).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_device_name(
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
        if name.len() >= room {
            return Err(Error::BufferTooSmall { what: "the name of the device", needed: name.len() + 1, room });
        }
        Ok(())
    })
}

/// Counts what a system has done since it was made.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a `structure_size` that is not
/// allowed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_system_statistics(
    system: *mut kyoho_system,
    statistics: *mut kyoho_statistics,
) -> ResultCode {
    call_on(system, |system| {
        let Statistics { sources, writes, blocks, sinks, interactions, bytes } = system.statistics();
        let counts = kyoho_statistics { sources, writes, blocks, sinks, interactions, bytes, ..structures::empty() };
        // SAFETY: null or a structure.
        unsafe { structures::write("statistics", statistics, counts) }
    })
}
