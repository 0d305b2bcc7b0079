//! Pair interactions that users write: compiling, giving arrays, running, reading results.

use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::ptr;

use crate::abi::boundary::{self, required};
use crate::abi::diagnostics;
use crate::abi::handles::Handles;
use crate::config::{DeviceChoice, Settings};
use kyoho_core::{Error, Order, Result, ResultCode, memory};
use kyoho_language::syntax::{Parameter, ResultField};
use kyoho_language::types::Type;
use kyoho_language::{Options, PairProgram, gravity};
use kyoho_pairs::{MAX_BODIES, PairKernel, PairLists, Rows};

use super::pair_rows::{CallersRows, device_rows, number_of_type};
use super::pair_runs::Runner;
use super::structures::{self, bad_field, kyoho_cuda, kyoho_lists, kyoho_pair_options, kyoho_pair_variable};
use super::system::kyoho_last_error;
use super::{call, kyoho_backend, kyoho_number_type, options};

/// A pair interaction that was compiled from a text, with its arrays and results. As with systems,
/// a pointer to it is a handle that the library looks up, and it points to nothing.
///
/// Several threads may use several of them at once; calls on one wait for one another.
#[allow(non_camel_case_types)]
pub struct kyoho_pair;

/// The object behind a handle.
struct Held {
    runner: Runner,
    /// The names of the fields of sinks and of sources, of parameters and of results.
    names: [Vec<CString>; 4],
}

static PAIRS: Handles<Held> = Handles::new("the pair interaction");

/// Runs an entry point on a pair interaction. The text of its error stays with it.
fn call_on(pair: *mut kyoho_pair, body: impl FnOnce(&mut PairKernel) -> Result<()>) -> ResultCode {
    call_on_held(pair, |held| body(held.runner.kernel()?))
}

fn call_on_held(pair: *mut kyoho_pair, body: impl FnOnce(&mut Held) -> Result<()>) -> ResultCode {
    call(|| PAIRS.with(pair.addr(), body).map_err(of_pair))
}

/// Returns the error of a handle that is no pair interaction.
fn of_pair(error: Error) -> Error {
    match error {
        Error::BadHandle { handle } => Error::BadPairHandle { handle },
        other => other,
    }
}

/// The name that a caller gives.
///
/// # Safety
/// The pointer is null or points to a text.
unsafe fn name(argument: &'static str, name: *const c_char) -> Result<String> {
    // SAFETY: the caller's promise.
    unsafe { boundary::text(name) }.ok_or(Error::NullArgument { argument })
}

/// Returns the names of the variables of each section.
fn names_of(list: &PairProgram) -> Result<[Vec<CString>; 4]> {
    fn all<T>(of: &[T], name: impl Fn(&T) -> &String) -> Result<Vec<CString>> {
        let names = of.iter().map(|item| CString::new(name(item).as_bytes()).unwrap_or_default());
        memory::collected(names, "the names of a pair interaction")
    }
    let [sinks, sources] = &list.fields;
    Ok([
        all(sinks, |field| &field.name)?,
        all(sources, |field| &field.name)?,
        all(&list.parameters, |parameter| &parameter.name)?,
        all(&list.results, |result| &result.name)?,
    ])
}

/// Compiles a pair interaction from a text of the language of pairs, which ends with a zero.
/// `options` may be NULL, which leaves everything open.
///
/// `pair` receives the handle, NULL on an error. Give it back with `kyoho_pair_free`.
///
/// Errors: KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT (`kyoho_last_error` says line and column, what was
/// found and what is allowed), KYOHO_BAD_OPTION (also for more numbers of a source, or more
/// parameters, than a GPU takes), KYOHO_NO_BACKEND, KYOHO_UNSUPPORTED (`dd` or `ff` on a device
/// whose products are not exact), KYOHO_DEVICE_FAILED, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_compile(
    text: *const c_char,
    options: *const kyoho_pair_options,
    pair: *mut *mut kyoho_pair,
) -> ResultCode {
    call(|| {
        let pair = required("pair", pair)?;
        // SAFETY: room for a pointer.
        unsafe { boundary::write(pair, ptr::null_mut()) };
        // SAFETY: null or a text.
        let text = unsafe { boundary::long_text(text, "the text of a pair interaction") }?;
        let text = text.ok_or(Error::NullArgument { argument: "text" })?;
        let given = if options.is_null() {
            structures::empty()
        } else {
            // SAFETY: not null, hence a structure.
            unsafe { structures::read("options", options) }?
        };
        let mut settings = Settings::from_environment()?;
        diagnostics::start_log(&settings)?;
        settings.threads = options::threads_of("kyoho_pair_options.threads", given.threads, settings.threads)?;
        if given.backend != 0 {
            let backend = options::backend_of("kyoho_pair_options.backend", given.backend, "0 (automatic), ")?;
            settings.backend = Some(backend);
        }
        // SAFETY: null or a text.
        if let Some(devices) = unsafe { boundary::text(given.devices) } {
            settings.devices = DeviceChoice::parse("kyoho_pair_options.devices", &devices)?;
        }
        let in_double_double = match given.f64_as_dd {
            0 => false,
            1 => true,
            other => return Err(bad_field("kyoho_pair_options.f64_as_dd", other, "0, 1")),
        };
        let options = Options { in_double_double, plain: false };
        let kernel = PairKernel::new(&text, options, &settings.pair_machine()?)?;
        let names = names_of(kernel.list())?;
        let handle = PAIRS.insert(Held { runner: Runner::new(kernel)?, names })?;
        // SAFETY: room for a pointer. The handle is a number that no one follows as a pointer.
        unsafe { boundary::write(pair, ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// The text of the built-in law of an order, 2, 4, 6 or 8, for `kyoho_pair_compile`; NULL for any
/// other number. With `f64_as_dd` its forces have about 30 digits.
///
/// Its fields of i and j are pos, from order 4 on vel, from order 6 on acc, in order 8 jerk, and id;
/// j has mass too. The parameter is eps2, the squared softening. The results are pot, acc, jerk,
/// snap and crackle as far as the order has them, and from order 4 on nearest, the id of the nearest
/// source (-1 if there is none), and distance2. A source with the id of the sink exerts no force on
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_pair_gravity(order: i32) -> *const c_char {
    Order::from_number(order).map_or(ptr::null(), |order| gravity(order).as_ptr())
}

/// Gives the array of a field, such as "j.pos": `count` rows of as many numbers as the field has
/// components, of a type that need not be the field's. They are copied, and rounded to the type
/// of the field; integers have to be exact. Results of an earlier run are dropped.
///
/// `stride` is the number of bytes from one row to the next; 0: they follow one another. A number
/// of two limbs is the higher limb and then the lower one.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
/// declare, a type or a stride that is not allowed, a number that is no integer of the field's
/// type), KYOHO_BAD_COUNT, KYOHO_OUT_OF_RANGE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_set(
    pair: *mut kyoho_pair,
    field: *const c_char,
    number_type: kyoho_number_type,
    data: *const c_void,
    stride: i64,
    count: i64,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: null or a text.
        let field = unsafe { name("field", field) }?;
        let of = kernel.field(&field)?.2.of;
        // SAFETY: the caller's array has these rows.
        let rows = unsafe { CallersRows::new(&field, number_type, data, stride, count, of) }?;
        kernel.set(&field, &rows)
    })
}

/// Gives the array of a field as `kyoho_pair_set` does, in memory of the CUDA device that computes
/// the pair interaction, its only one; `cuda` says which, and your stream. The array is not copied:
/// each run reads it, after what you began in your stream before. Its numbers have to be of the type
/// of the field (KYOHO_NUMBER_TYPE_DD for `f64` that is read as `dd`), and their rows aligned to
/// them. No table may be indexed by them.
///
/// Where fields of sinks are given so, results stay on the device until they are asked for, by
/// `kyoho_pair_result_on_device` or `kyoho_pair_result`.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
/// declare, another type, a stride or memory that is not allowed), KYOHO_BAD_COUNT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_set_on_device(
    pair: *mut kyoho_pair,
    field: *const c_char,
    number_type: kyoho_number_type,
    data: *const c_void,
    stride: i64,
    count: i64,
    cuda: *const kyoho_cuda,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: null or a text.
        let field = unsafe { name("field", field) }?;
        let of = kernel.field(&field)?.2.of;
        // SAFETY: null or a structure.
        let (scalar, rows) = unsafe { device_rows(&field, (number_type, of), (data, stride, count), cuda) }?;
        kernel.set_on_device(&field, scalar, rows)
    })
}

/// Gives the numbers of a parameter: one, those of a vector, or those of a table, whose last index
/// runs fastest. Results of an earlier run are dropped.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
/// declare, a type that is not allowed), KYOHO_BAD_COUNT (it has another number of numbers),
/// KYOHO_NOT_FINITE, KYOHO_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_set_parameter(
    pair: *mut kyoho_pair,
    parameter: *const c_char,
    number_type: kyoho_number_type,
    data: *const c_void,
    count: i64,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: null or a text.
        let parameter = unsafe { name("parameter", parameter) }?;
        let declared = kernel.parameter(&parameter)?.1;
        let (scalar, wanted) = (declared.of.scalar, declared.count());
        if usize::try_from(count) != Ok(wanted) {
            let what = format!("the count of numbers of {parameter}");
            return Err(Error::BadList { what, value: count, allowed: wanted.to_string() });
        }
        // SAFETY: the caller's array has these numbers.
        let rows = unsafe { CallersRows::new(&parameter, number_type, data, 0, count, Type::one(scalar)) }?;
        let numbers = memory::collected((0..rows.count()).map(|row| rows.number(row, 0)), "the numbers of a table")?;
        kernel.set_parameter(&parameter, &numbers)
    })
}

/// Computes the results of all sinks from all sources. Their numbers are the lengths of the arrays,
/// for which -1 stands; a side without fields needs its number.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (an array or a parameter was not set), KYOHO_BAD_COUNT
/// (lengths that differ, or an index beyond its table), KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_pair_run(pair: *mut kyoho_pair, n_sinks: i64, n_sources: i64) -> ResultCode {
    call_on(pair, |kernel| kernel.run(number_of("n_sinks", n_sinks)?, number_of("n_sources", n_sources)?))
}

/// Begins what `kyoho_pair_run` does, in a thread of the library. Until `kyoho_pair_wait` nothing
/// else can be done with the pair interaction but to free it, which waits too.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_BAD_COUNT, KYOHO_CALL_ORDER (a run is under way). Those of the
/// run come from `kyoho_pair_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_pair_start(pair: *mut kyoho_pair, n_sinks: i64, n_sources: i64) -> ResultCode {
    call_on_held(pair, |held| {
        let (sinks, sources) = (number_of("n_sinks", n_sinks)?, number_of("n_sources", n_sources)?);
        held.runner.start(move |kernel| kernel.run(sinks, sources))
    })
}

/// Waits for the end of a run that `kyoho_pair_start` or `kyoho_pair_start_lists` began.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_CALL_ORDER (no run is under way), and those of `kyoho_pair_run`
/// and `kyoho_pair_run_lists`.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_pair_wait(pair: *mut kyoho_pair) -> ResultCode {
    call_on_held(pair, |held| held.runner.wait())
}

/// Returns a number of sinks or sources, or none for that of the arrays.
fn number_of(what: &'static str, number: i64) -> Result<Option<usize>> {
    match number {
        -1 => Ok(None),
        0..=0x7fff_ffff => Ok(Some(number as usize)),
        value => Err(Error::BadCount { what, value, allowed: format!("-1 (that of the arrays), 0 to {MAX_BODIES}") }),
    }
}

/// Computes the results of groups of sinks, on each of which the sources of its own list act alone.
/// `lists` is as for `kyoho_system_force_lists`: ranges or lists of addresses, which count the rows
/// of the sources' arrays, in memory of the host. `n_sources` is as for `kyoho_pair_run`; the number
/// of sinks is that of the groups.
///
/// The sources of a list are added in its order, in blocks of 256. On GPUs a thread computes a sink.
///
/// Errors: as `kyoho_pair_run`, and KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (arrays of more than one
/// form, sources that come with the call, another memory), KYOHO_BAD_COUNT (also offsets that
/// decrease, do not begin with 0 or end with another number than that of the sinks, and addresses
/// that are negative or beyond the sources).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_run_lists(
    pair: *mut kyoho_pair,
    lists: *const kyoho_lists,
    n_sources: i64,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: the caller's promise.
        let lists = unsafe { lists_of(lists) }?;
        kernel.run_lists(&lists, number_of("n_sources", n_sources)?)
    })
}

/// Copies the lists of a caller.
///
/// # Safety
/// The pointer is null or points to a structure, whose arrays have as many elements as their
/// documentation says.
unsafe fn lists_of(lists: *const kyoho_lists) -> Result<PairLists> {
    // SAFETY: the caller's promise.
    unsafe { super::lists::of_pairs(&structures::read("lists", lists)?) }
}

/// Begins what `kyoho_pair_run_lists` does, as `kyoho_pair_start` does. The lists are copied.
///
/// Errors: as `kyoho_pair_run_lists`, and KYOHO_CALL_ORDER (a run is under way). Those of the run
/// come from `kyoho_pair_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_start_lists(
    pair: *mut kyoho_pair,
    lists: *const kyoho_lists,
    n_sources: i64,
) -> ResultCode {
    call_on_held(pair, |held| {
        // SAFETY: the caller's promise.
        let lists = unsafe { lists_of(lists) }?;
        let sources = number_of("n_sources", n_sources)?;
        held.runner.start(move |kernel| kernel.run_lists(&lists, sources))
    })
}

/// Copies a result of the last run into `count` rows, one for each sink. Numbers are rounded to
/// `number_type`; a sum in `dd` is handed over in full as KYOHO_NUMBER_TYPE_DD. `stride` is as in
/// `kyoho_pair_set`.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION (a name that the text does not
/// declare, a type or a stride that is not allowed), KYOHO_CALL_ORDER (there was no run since the
/// last change), KYOHO_BAD_COUNT (there are not so many sinks).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_result(
    pair: *mut kyoho_pair,
    result: *const c_char,
    number_type: kyoho_number_type,
    data: *mut c_void,
    stride: i64,
    count: i64,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: null or a text.
        let result = unsafe { name("result", result) }?;
        kernel.fetch_results()?;
        let found = kernel.result(&result)?;
        // SAFETY: the caller's array has these rows.
        let rows = unsafe { CallersRows::new(&result, number_type, data, stride, count, found.of()) }?;
        if rows.count() != found.count() {
            let what = format!("the length of {result}");
            return Err(Error::BadList { what, value: count, allowed: found.count().to_string() });
        }
        for sink in 0..found.count() {
            for component in 0..found.of().width {
                // SAFETY: the caller's array can be written.
                unsafe { rows.write(sink, component, found.number(sink, component)) };
            }
        }
        Ok(())
    })
}

/// Writes a result of the last run as `kyoho_pair_result` does, to an array in memory of the CUDA
/// device that computed it, after what you began in your stream before; it is there when the call
/// returns. The numbers are of the type that the result is added in.
///
/// Errors: as `kyoho_pair_result`, and KYOHO_BAD_OPTION (another type, or memory that is not
/// allowed), KYOHO_DEVICE_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_result_on_device(
    pair: *mut kyoho_pair,
    result: *const c_char,
    number_type: kyoho_number_type,
    data: *mut c_void,
    stride: i64,
    count: i64,
    cuda: *const kyoho_cuda,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: null or a text.
        let result = unsafe { name("result", result) }?;
        let of = kernel.result_type(&result)?;
        // SAFETY: null or a structure.
        let (scalar, rows) = unsafe { device_rows(&result, (number_type, of), (data, stride, count), cuda) }?;
        kernel.result_on_device(&result, scalar, rows)
    })
}

/// Writes the compiled list of operations with its costs as a text with a zero at its end. `needed`,
/// which may be NULL, receives its length with the zero; `text` may be NULL if `room` is 0.
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_OUT_OF_MEMORY,
/// KYOHO_BUFFER_TOO_SMALL (the text was cut).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_explain(
    pair: *mut kyoho_pair,
    text: *mut c_char,
    room: i64,
    needed: *mut i64,
) -> ResultCode {
    call_on(pair, |kernel| {
        // SAFETY: the caller's promise.
        unsafe { copy_text("the list of operations", &kernel.explain()?, text, room, needed) }
    })
}

/// Writes the text of the kernels that a backend gets, as `kyoho_pair_explain` writes the list: PTX
/// for KYOHO_BACKEND_CUDA, OpenCL C for KYOHO_BACKEND_OPENCL. No device is needed.
///
/// Errors: as `kyoho_pair_explain`, and KYOHO_BAD_OPTION (another backend, or an interaction that
/// GPUs cannot compute).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_source(
    pair: *mut kyoho_pair,
    backend: kyoho_backend,
    text: *mut c_char,
    room: i64,
    needed: *mut i64,
) -> ResultCode {
    call_on(pair, |kernel| {
        let source = kernel.source(options::backend_of("backend", backend, "")?)?;
        // SAFETY: the caller's promise.
        unsafe { copy_text("the text of the kernels", &source, text, room, needed) }
    })
}

/// Copies a text to a caller, with a zero at its end, as far as there is room.
///
/// # Safety
/// `text` is null or has so much room, `needed` is null or has room for a number.
unsafe fn copy_text(what: &'static str, from: &str, text: *mut c_char, room: i64, needed: *mut i64) -> Result<()> {
    // SAFETY: null or room for a number.
    unsafe { boundary::write(needed, from.len() as i64 + 1) };
    let bad = |_| Error::BadCount { what: "room", value: room, allowed: "0 or more".into() };
    let room = usize::try_from(room).map_err(bad)?;
    if room > 0 {
        let text = required("text", text)?.cast::<u8>();
        let length = from.len().min(room - 1);
        // SAFETY: the caller's room.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), text, length);
            text.add(length).write(0);
        }
    }
    if room <= from.len() {
        return Err(Error::BufferTooSmall { what, needed: from.len() + 1, room });
    }
    Ok(())
}

/// Describes what a text declares: the variable with a number, counted from 0, in a section (1: of
/// the sinks, 2: of the sources, 3: parameters, 4: results).
///
/// Errors: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (there are fewer),
/// KYOHO_BAD_OPTION (another section, or a `structure_size` that is not allowed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_pair_describe(
    pair: *mut kyoho_pair,
    section: i32,
    number: i32,
    variable: *mut kyoho_pair_variable,
) -> ResultCode {
    call_on_held(pair, |Held { runner, names }| {
        fn collected(all: impl Iterator<Item = (Type, usize)>) -> Result<Vec<(Type, usize)>> {
            memory::collected(all, "the variables of a pair interaction")
        }
        let list = runner.kernel()?.list();
        let all: Vec<(Type, usize)> = match section {
            1 | 2 => collected(list.fields[section as usize - 1].iter().map(|field| (field.of, 0)))?,
            3 => {
                let size = |given: &Parameter| if given.extents.is_empty() { 0 } else { given.count() };
                collected(list.parameters.iter().map(|given| (given.of, size(given))))?
            }
            4 => {
                let of = |result: &ResultField| Type { scalar: result.accumulated, width: result.of.width };
                collected(list.results.iter().map(|result| (of(result), 0)))?
            }
            other => return Err(bad_field("section", other, "1 (i), 2 (j), 3 (param), 4 (result)")),
        };
        let place = usize::try_from(number).ok().filter(|place| *place < all.len()).ok_or_else(|| {
            let allowed = format!("0 to {}, as many as the text declares", all.len() as i64 - 1);
            Error::BadCount { what: "the number of the variable", value: number.into(), allowed }
        })?;
        let (of, table_size) = all[place];
        let mut described: kyoho_pair_variable = structures::empty();
        described.number_type = number_of_type(of.scalar);
        (described.width, described.table_size) = (of.width as i32, table_size as i32);
        described.name = names[section as usize - 1][place].as_ptr();
        // SAFETY: null or a structure.
        unsafe { structures::write("variable", variable, described) }
    })
}

/// The text of the last failing call on a pair interaction, as `kyoho_system_last_error` has it for
/// systems.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_pair_last_error(pair: *mut kyoho_pair) -> *const c_char {
    PAIRS.last_error(pair.addr()).unwrap_or_else(|_| kyoho_last_error())
}

/// Frees a pair interaction; its handle is none from then on.
///
/// Errors: KYOHO_BAD_HANDLE, also for NULL and for one that was freed before.
#[unsafe(no_mangle)]
pub extern "C" fn kyoho_pair_free(pair: *mut kyoho_pair) -> ResultCode {
    call(|| PAIRS.remove(pair.addr()).map(drop).map_err(of_pair))
}
