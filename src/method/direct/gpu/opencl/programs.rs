//! The programs of this process: devices that are opened for the same order and precision share one.

use std::sync::{Arc, Mutex, PoisonError};

use crate::data::{Descriptor, Result};
use crate::hal::opencl::{Context, Program};
use crate::method::direct::gpu::kept::Context as _;

use super::kernels::Kernels;
use super::text;

/// A program, or the room for one that somebody builds.
type Place = Arc<Mutex<Option<Arc<Program>>>>;

/// Context, options, program.
static PROGRAMS: Mutex<Vec<(Arc<Context>, String, Place)>> = Mutex::new(Vec::new());

/// The program of an entry of the catalogue on a device.
pub fn program(context: &Arc<Context>, descriptor: &Descriptor) -> Result<Arc<Program>> {
    let options = text::options(descriptor, context.properties().is_nvidia);
    let place = place(context, &options);
    // Who comes second waits for the first one to have built it; other programs are built meanwhile.
    let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = &*place {
        return Ok(program.clone());
    }
    let (name, text) = (descriptor.name(), text::text()?);
    let mut program = Program::new(context, &name, &text, &options)?;
    // What was kept may load and yet lack a kernel.
    if program.is_loaded() && Kernels::new(&program, descriptor).is_err() {
        program.distrust();
        program = Program::new(context, &name, &text, &options)?;
    }
    let program = Arc::new(program);
    *place = Some(program.clone());
    Ok(program)
}

/// Gives back the programs of devices that failed, which hold their contexts.
pub fn give_back_failed() {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(context, ..)| !context.has_failed());
}

fn place(context: &Arc<Context>, options: &str) -> Place {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = programs.iter().find(|(of, with, _)| Arc::ptr_eq(of, context) && with == options);
    if let Some((.., place)) = known {
        return place.clone();
    }
    let place = Place::default();
    programs.push((context.clone(), options.into(), place.clone()));
    place
}
