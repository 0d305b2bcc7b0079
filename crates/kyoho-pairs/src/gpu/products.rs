//! The products of a device: numbers of two limbs are made of products whose rounding errors are
//! known exactly, which a device that contracts or rounds otherwise does not give.

use std::sync::{Mutex, PoisonError};

use crate::{Packed, PairKernel, PairSums};
use kyoho_core::{Error, Result};
use kyoho_hal::Backend;
use kyoho_language::number::Number;
use kyoho_language::types::Scalar;
use kyoho_language::{Fault, Options, PairProgram, compile};
use kyoho_laws::double_double::{Double, two_prod};

/// The factors, with which no product is exact in one limb.
const FACTORS: usize = 64;

/// Returns the types of two limbs that an interaction has, with each device.
pub fn needed(pairs: &PairProgram, devices: &[usize]) -> impl Iterator<Item = (Scalar, usize)> {
    let has = |scalar: &Scalar| pairs.nodes.iter().any(|node| node.scalar == *scalar);
    let scalars = [Scalar::Ff, Scalar::Dd].into_iter().filter(has);
    scalars.flat_map(move |scalar| devices.iter().map(move |number| (scalar, *number)))
}

/// Checks the products of a type on a device of a backend as [`check`] does, once in a process.
pub fn check_once(
    scalar: Scalar,
    device: (Backend, usize),
    open: impl FnOnce(&PairProgram) -> Result<Box<dyn PairSums>>,
) -> Result<()> {
    static EXACT: Mutex<Vec<(Scalar, (Backend, usize))>> = Mutex::new(Vec::new());
    let exact = || EXACT.lock().unwrap_or_else(PoisonError::into_inner);
    if !exact().contains(&(scalar, device)) {
        check(scalar, device, open)?;
        exact().push((scalar, device));
    }
    Ok(())
}

/// Fails if a device, which `open` opens for an interaction, gives wrong products of a type of two
/// limbs.
pub fn check(
    scalar: Scalar,
    (backend, number): (Backend, usize),
    open: impl FnOnce(&PairProgram) -> Result<Box<dyn PairSums>>,
) -> Result<()> {
    let two = scalar.name();
    let one = scalar.limb().unwrap_or(scalar).name();
    let text = format!("pair products\ni a: {one}\nj b: {one}\nresult p: {two} sum\nbody\np += {two}(i.a) * j.b\n");
    let pairs = compile(&text, Options::default()).map_err(Fault::into_error)?;
    let sums = open(&pairs)?;
    let mut kernel = PairKernel::of(pairs, (sums, None))?;
    let (a, b): (Vec<f64>, f64) = ((0..FACTORS).map(|k| 1.0 / (k as f64 + 3.1)).collect(), 1.0 / 7.0);
    kernel.set("i.a", &Packed { numbers: &a, width: 1 })?;
    kernel.set("j.b", &Packed { numbers: &[b], width: 1 })?;
    kernel.run(None, None)?;
    let found = kernel.result("p")?;
    for (sink, a) in a.into_iter().enumerate() {
        let (found, exact) = match found.number(sink, 0) {
            Number::Ff(found) => (doubles(found), doubles(two_prod(a as f32, b as f32))),
            other => (other.widened(), two_prod(a, b)),
        };
        if found != exact {
            return Err(Error::Unsupported {
                backend: backend.name(),
                forces: format!(
                    "{two} on device {number}, where {a:e} times {b:e} is {:e} + {:e} in place of {:e} + {:e}",
                    found.high, found.low, exact.high, exact.low
                ),
                allowed: "f32, f64 and integers".into(),
            });
        }
    }
    Ok(())
}

fn doubles(number: Double<f32>) -> Double<f64> {
    Double { high: number.high.into(), low: number.low.into() }
}
