//! The caller's options of a system, and the environment's where the caller leaves them open.

use crate::abi::{boundary, diagnostics, opening};
use crate::config::{DeviceChoice, MAX_THREADS, Settings};
use kyoho_core::{Error, Order, Precision, Result, Scope, TreeAccuracy};
use kyoho_engine::Setup;
use kyoho_hal::Backend;

use super::structures::{bad_field, empty, kyoho_options, read};

/// The crossover with which the CPU computes no block: KYOHO_CROSSOVER_OFF.
pub const CROSSOVER_OFF: i64 = -1;

/// The numbers of choices with their names, as errors list them.
fn numbered<T: Copy>(all: &[T], number: impl Fn(T) -> i32, name: impl Fn(T) -> &'static str) -> String {
    all.iter().map(|choice| format!("{} ({})", number(*choice), name(*choice))).collect::<Vec<_>>().join(", ")
}

fn order_of(number: i32) -> Result<Order> {
    let allowed = || Order::ALL.map(|order| (order as i32).to_string()).join(", ");
    Order::from_number(number).ok_or_else(|| bad_field("kyoho_options.order", number, allowed()))
}

fn precision_of(number: i32) -> Result<Precision> {
    let all = || numbered(&Precision::ALL, |precision| precision as i32, Precision::name);
    let allowed = || format!("0 (KYOHO_PRECISION, else double), {}", all());
    Precision::from_number(number).ok_or_else(|| bad_field("kyoho_options.precision", number, allowed()))
}

fn scope_of(number: i32) -> Result<Scope> {
    Scope::from_number(number)
        .ok_or_else(|| bad_field("kyoho_options.scope", number, "0 (full), 1 (full), 2 (regular)"))
}

/// Returns the backend with a number. `others` are the numbers that have another meaning for the
/// caller.
pub fn backend_of(field: &str, number: i32, others: &str) -> Result<Backend> {
    let all = || numbered(&Backend::ALL, |backend| backend as i32, Backend::name);
    Backend::from_number(number).ok_or_else(|| bad_field(field, number, others.to_string() + &all()))
}

/// Returns the crossover for a number. If it is 0, the environment decides.
pub fn crossover_of(pairs: i64) -> Result<Option<u64>> {
    match pairs {
        CROSSOVER_OFF => Ok(Some(0)),
        0 => Ok(Settings::from_environment()?.crossover),
        _ => u64::try_from(pairs).map(Some).map_err(|_| Error::BadCount {
            what: "the crossover",
            value: pairs,
            allowed: format!(
                "{CROSSOVER_OFF} (KYOHO_CROSSOVER_OFF), 0 (KYOHO_CROSSOVER, else by the device), 1 to {} pairs",
                i64::MAX
            ),
        }),
    }
}

/// Returns the accuracy of forces by a tree that options ask for.
///
/// # Safety
/// The options are null or a structure.
pub unsafe fn tree(options: *const kyoho_options) -> Result<Option<TreeAccuracy>> {
    if options.is_null() {
        return Ok(None);
    }
    // SAFETY: a structure.
    let options = unsafe { read("options", options) }?;
    TreeAccuracy::of(("kyoho_options.accuracy", options.accuracy), ("kyoho_options.theta", options.theta))
}

/// Returns the setup of a system and the reason for its devices. A system that is `moved` keeps its
/// order, precision, scope and crossover if the options leave them open.
///
/// # Safety
/// The options are null or a structure whose strings end with a zero.
pub unsafe fn setup(options: *const kyoho_options, moved: Option<&Setup>) -> Result<(Setup, String)> {
    // SAFETY: not null, hence a structure.
    let options = if options.is_null() { empty() } else { unsafe { read("options", options) }? };
    let mut settings = Settings::from_environment()?;
    diagnostics::start_log(&settings)?;
    let order = match (options.order, moved) {
        (0, Some(moved)) => moved.order,
        (0, None) => Order::Fourth,
        (number, _) => order_of(number)?,
    };
    let precision = match (options.precision, moved) {
        (0, Some(moved)) => moved.precision,
        (0, None) => settings.precision_for(order)?.unwrap_or(Precision::Double),
        (number, _) => precision_of(number)?,
    };
    let scope = match (options.scope, moved) {
        (0, Some(moved)) => moved.scope,
        (0, None) => Scope::Full,
        (number, _) => scope_of(number)?,
    };
    if options.backend != 0 {
        settings.backend = Some(backend_of("kyoho_options.backend", options.backend, "0 (automatic), ")?);
    }
    settings.threads = threads_of("kyoho_options.threads", options.threads, settings.threads)?;
    // SAFETY: null or a text.
    if let Some(devices) = unsafe { boundary::text(options.devices) } {
        settings.devices = DeviceChoice::parse("kyoho_options.devices", &devices)?;
    }
    match (options.crossover, moved) {
        (0, Some(moved)) => settings.crossover = moved.crossover,
        (0, None) => (),
        (pairs, _) => settings.crossover = crossover_of(pairs)?,
    }
    let (setup, because) = opening::setup_of(&settings, order, precision)?;
    Ok((Setup { scope, ..setup }, because))
}

/// Returns a number of threads that the caller chose, or that of the environment for 0.
pub fn threads_of(field: &str, threads: i32, of_environment: usize) -> Result<usize> {
    match usize::try_from(threads) {
        Ok(0) => Ok(of_environment),
        Ok(count) if count <= MAX_THREADS => Ok(count),
        _ => Err(bad_field(field, threads, format!("0 (from the environment), 1 to {MAX_THREADS}"))),
    }
}
