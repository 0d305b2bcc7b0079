//! The programs of this process. Devices that are opened for the same code share one.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::contexts::Context as _;
use crate::gpu::Code;
use kyoho_core::Result;

use super::cache::Key;
use super::{Context, Kernel, Program};

/// The options of every OpenCL compiler: the language of all vendors, flushing of denormal numbers
/// as in CUDA, and no warnings, because some compilers print them.
const OPTIONS: &str = "-cl-std=CL1.2 -cl-denorms-are-zero -w";

/// A program, or the room for one that a thread builds.
type Place = Arc<Mutex<Option<Arc<Program>>>>;

/// The context, the key of source and options, and the program.
static PROGRAMS: Mutex<Vec<(Arc<Context>, Key, Place)>> = Mutex::new(Vec::new());

/// Returns the compiler's options for some code. NVIDIA's compiler accepts the instructions of its
/// GPUs.
pub(super) fn options(code: &Code, is_nvidia: bool) -> String {
    let mut options = OPTIONS.to_owned();
    for (name, value) in code.defines {
        // Writing to a string does not fail.
        let _ = write!(options, " -D{name}={value}");
    }
    if is_nvidia {
        options.push_str(" -DNVIDIA");
    }
    options
}

/// Returns the kernels of some code on a device.
pub(super) fn kernels(context: &Arc<Context>, code: &Code, names: &[&str]) -> Result<Vec<Kernel>> {
    let options = options(code, context.properties().is_nvidia);
    let place = place(context, Key::of(&[code.source, &options]));
    // A second thread waits until the first one has built it. Other programs are built meanwhile.
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |program: &Program| names.iter().map(|name| program.kernel(name)).collect();
    if let Some(program) = &*place {
        return of(program);
    }
    let mut program = Program::new(context, code.name, code.source, &options)?;
    let mut kernels: Result<Vec<Kernel>> = of(&program);
    // A kept program may load and yet lack a kernel.
    if program.is_loaded() && kernels.is_err() {
        program.distrust();
        program = Program::new(context, code.name, code.source, &options)?;
        kernels = of(&program);
    }
    *place = Some(Arc::new(program));
    kernels
}

/// Gives back the programs of devices that failed, which hold their contexts.
pub(super) fn give_back_failed() {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(context, ..)| !context.has_failed());
}

fn place(context: &Arc<Context>, key: Key) -> Place {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = programs.iter().find(|(of, with, _)| Arc::ptr_eq(of, context) && *with == key);
    if let Some((.., place)) = known {
        return place.clone();
    }
    let place = Place::default();
    programs.push((context.clone(), key, place.clone()));
    place
}

/// Gives back the programs of a context.
#[cfg(any(test, feature = "testing"))]
pub fn forget(context: &Arc<Context>) {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, ..)| !Arc::ptr_eq(of, context));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Images;
    use crate::opencl::hooks;

    const CODE: Code =
        Code { name: "nothing", images: Images::Ptx(""), source: "__kernel void nothing() {}", defines: &[] };

    #[test]
    fn programs_of_a_context_that_failed_do_not_hold_it_when_the_next_one_is_made() {
        let Some(_alone) = hooks::hooked_context() else { return };
        let context = Context::new(0).unwrap();
        drop(kernels(&context, &CODE, &["nothing"]).unwrap());
        context.check(-36, "clSomething").unwrap_err();
        let failed = Arc::downgrade(&context);
        drop(context);
        assert!(failed.upgrade().is_some());
        give_back_failed();
        Context::new(0).unwrap();
        assert!(failed.upgrade().is_none());
    }
}
