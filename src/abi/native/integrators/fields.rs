//! Fields, which act on all bodies beside their own gravity.

use std::os::raw::{c_char, c_void};
use std::ptr;

use crate::abi::arrays::{self, Input};
use crate::abi::boundary;
use kyoho_core::{Error, Result, ResultCode, memory};
use kyoho_integrators::cluster::Cluster;
use kyoho_integrators::fields::{Centre, FieldQuestion};

use super::super::structures::kyoho_field_function;
use super::{call_on, kyoho_integrator};

/// Adds a field, which acts on all bodies beside their own gravity from now on; several add up.
/// `field` is a built-in name (docs/fields.md has them) or a text of the language of pairs without
/// sources, which ends with a zero. `names` has the names of its parameters with spaces between
/// them, and `numbers` the `count` numbers of all of these, one after another: three of a vector.
/// Both may be NULL for a field without parameters. The next evolution begins with new forces of
/// all bodies. A GPU that makes the block steps adds fields there (docs/fields.md).
///
/// Errors, after which no field was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_TEXT,
/// KYOHO_BAD_OPTION (an unknown name, a parameter that is missing or that the field has not, a
/// number that is not finite), KYOHO_BAD_COUNT, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_field(
    integrator: *mut kyoho_integrator,
    field: *const c_char,
    names: *const c_char,
    count: i32,
    numbers: *const f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        // SAFETY: the caller's promise.
        unsafe { add_field(cluster, (field, names), (count, numbers), None) }
    })
}

/// Adds a field.
///
/// # Safety
/// The texts are null or end with a zero, and there are so many numbers.
unsafe fn add_field(
    cluster: &mut Cluster,
    (field, names): (*const c_char, *const c_char),
    (count, numbers): (i32, *const f64),
    centre: Option<Centre>,
) -> Result<()> {
    // SAFETY: null or a text.
    let field = unsafe { boundary::long_text(field, "the text of a field") }?;
    let field = field.ok_or(Error::NullArgument { argument: "field" })?;
    // SAFETY: null or a text.
    let names = unsafe { boundary::long_text(names, "the names of a field") }?.unwrap_or_default();
    let count = arrays::count("count", count)?;
    // SAFETY: an array of so many.
    let given = unsafe { Input::new("numbers", numbers, count) }?;
    let numbers = memory::collected(given.items(), "the numbers of a field")?;
    cluster.add_listed_field(&field, &names, &numbers, centre)
}

/// Adds a field as `kyoho_integrator_add_field` does, whose centre moves: the field acts on
/// positions and velocities relative to it. `times` has the rising times of `nodes` nodes, two or
/// more, and `positions` a row of three numbers for each. Between them the centre moves on a cubic
/// spline: with the velocities at the nodes that `velocities` has in rows, or, if that is NULL, a
/// natural one, whose acceleration is continuous and zero at both ends.
///
/// An evolution that begins before the first time or goes on beyond the last one is
/// KYOHO_BAD_OPTION.
///
/// Errors, after which no field was added: as `kyoho_integrator_add_field`, and KYOHO_BAD_OPTION
/// also for fewer than two nodes and for times that do not rise, KYOHO_NOT_FINITE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_moving_field(
    integrator: *mut kyoho_integrator,
    field: *const c_char,
    names: *const c_char,
    count: i32,
    numbers: *const f64,
    nodes: i32,
    times: *const f64,
    positions: *const f64,
    velocities: *const f64,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let nodes = arrays::count("nodes", nodes)?;
        // SAFETY: arrays of so many rows.
        let centre = unsafe {
            let times = memory::collected(Input::new("times", times, nodes)?.items(), NODES)?;
            let positions = vectors("positions", positions, nodes)?;
            let velocities = if velocities.is_null() { None } else { Some(vectors("velocities", velocities, nodes)?) };
            Centre::new(&times, &positions, velocities.as_deref())?
        };
        // SAFETY: the caller's promise.
        unsafe { add_field(cluster, (field, names), (count, numbers), Some(centre)) }
    })
}

const NODES: &str = "the nodes of a field's centre";

/// Reads rows of three numbers.
///
/// # Safety
/// The array has so many rows.
unsafe fn vectors(name: &'static str, rows: *const f64, count: usize) -> Result<Vec<[f64; 3]>> {
    // SAFETY: the caller's promise.
    let given = unsafe { Input::new(name, rows.cast::<[f64; 3]>(), count) }?;
    memory::collected(given.items(), NODES)
}

/// Adds a field that a function of the caller gives, from now on: beside others, on all bodies. The
/// library calls it in evolutions, once for all bodies of a block step, with `context`, and where
/// it computes energies if `has_potential` is not 0; from the thread that called the library, but
/// in `kyoho_integrators_evolve` from threads of the library, those of several integrators at the
/// same time. It must return, so that it may neither throw an exception nor jump, and it must not
/// call functions on this integrator.
///
/// Order 2 asks for accelerations, order 4 for jerks too: the derivative by time of the
/// acceleration that the field gives a body, along its way, which may depend on its acceleration by
/// all forces. Orders 6 and 8 need derivatives that no function gives. `kyoho_integrator_state`
/// cannot write such a field.
///
/// Errors, after which no field was added: KYOHO_BAD_HANDLE, KYOHO_NULL_ARGUMENT, KYOHO_BAD_OPTION
/// (order 6 or 8), KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_integrator_add_field_function(
    integrator: *mut kyoho_integrator,
    function: kyoho_field_function,
    context: *mut c_void,
    has_potential: i32,
) -> ResultCode {
    call_on(integrator, |cluster| {
        let function = function.ok_or(Error::NullArgument { argument: "function" })?;
        let context = Context(context);
        let called = move |question: &FieldQuestion, values: &mut [f64]| {
            let Context(context) = { &context };
            let FieldQuestion { value, time, positions, velocities, accelerations } = *question;
            let count = positions.len() as i32;
            let accelerations = if accelerations.is_empty() { ptr::null() } else { accelerations.as_ptr() };
            let rows = [positions.as_ptr(), velocities.as_ptr(), accelerations].map(<*const [f64; 3]>::cast::<f64>);
            // SAFETY: a function of the caller for these arguments, by its promise.
            unsafe { function(*context, value as i32, time, count, rows[0], rows[1], rows[2], values.as_mut_ptr()) }
        };
        cluster.add_field_function(kyoho_hal::boxed(called, "the function of a field")?, has_potential != 0)
    })
}

/// What a function of the caller gets.
struct Context(*mut c_void);

// SAFETY: the library does not follow the pointer, and calls on an integrator wait for one another.
unsafe impl Send for Context {}
