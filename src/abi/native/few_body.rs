//! Systems of few bodies, with hard binaries and close encounters: one call moves many.

use std::ffi::c_char;

use kyoho_core::{Error, Result, ResultCode, memory};
use kyoho_few_body::{End, Options, Outcome, System, Terms, evolve_all};

use super::rows::{Rows, put};
use super::structures::{
    bad_field, kyoho_const_integers, kyoho_const_reals, kyoho_integers, kyoho_reals, read, require_unused,
};
use super::{call, kyoho_backend, kyoho_few_body_end, options};
use crate::abi::{arrays, boundary, diagnostics};
use crate::config::{DeviceChoice, Settings};

/// Why a system of few bodies ended.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FewBodyEnd {
    /// Its time has passed.
    Time = 0,
    /// A part has left, and there is no new binary.
    Escape = 1,
    /// A part has left, and there is a binary of other bodies than at the start.
    Exchange = 2,
    /// Two bodies touch.
    Collision = 3,
    /// The steps that are allowed were made.
    Steps = 4,
    /// Two bodies came so near that no step could be made.
    NoStep = 5,
    /// Two bodies are at the innermost stable orbit, where relativistic terms lose their meaning.
    Merger = 6,
}

/// How systems of few bodies evolve, and what ends them. Begin with KYOHO_FEW_BODY_OPTIONS_INIT,
/// and set what you decide.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_few_body_options {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of threads. 0: from the environment.
    pub threads: i32,
    /// How long the systems evolve, 0 or more.
    pub time: f64,
    /// The gravitational constant in the units of the bodies. 0: 1.
    pub gravity: f64,
    /// The largest relative error of a step, 1e-14 to 1e-3. 0: 1e-14.
    pub tolerance: f64,
    /// The most steps of a system. 0: 100000000.
    pub max_steps: i64,
    /// The speed of light in the units of the bodies, which gives pairs relativistic terms, and ends
    /// systems by mergers. 0: none.
    pub speed_of_light: f64,
    /// The sum of the relativistic terms: 1 for the first, 2 for the second, 4 for that of order
    /// 2.5, 8 for that of order 3.5. 0: 7.
    pub terms: i32,
    /// 1: a system ends where two bodies are nearer than the sum of their radii, and do not move
    /// apart from the start on. 0: it goes on.
    pub stops_at_collision: i32,
    /// A system ends where a part is unbound, moves away, and is farther from the rest than this
    /// many times the extent of both, or where all parts fly apart and are farther from one another
    /// than this many times G (m1 + m2) / v^2. 0: it goes on.
    pub escape_distance: f64,
    /// The backend's devices to use, as in `kyoho_options`: systems of 2 to 16 bodies are evolved on
    /// GPUs, with the bits of CPUs. NULL: what the environment says, else the first.
    pub devices: *const c_char,
    /// The backend. 0: what KYOHO_BACKEND says, else the first that has a device where 16384 systems
    /// or more have one number of bodies, and the CPU goes on if a device fails.
    pub backend: kyoho_backend,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
}

/// Systems of few bodies. Begin with KYOHO_FEW_BODY_SYSTEMS_INIT.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_few_body_systems {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// The number of systems, 0 or more.
    pub system_count: i32,
    /// The first body of each system and, behind the last system, the number of bodies:
    /// `system_count + 1` numbers that begin with 0 and do not decrease. A system has at most 100
    /// bodies.
    pub offsets: kyoho_const_integers,
    /// The masses of the bodies, 0 or more.
    pub masses: kyoho_const_reals,
    /// The positions, in rows: read at the start, and written at the end.
    pub positions: kyoho_reals,
    /// The velocities, in rows: read at the start, and written at the end.
    pub velocities: kyoho_reals,
    /// The radii, 0 or more. NULL: all are 0.
    pub radii: kyoho_const_reals,
}

/// The places where the ends of systems are written to. Begin with KYOHO_FEW_BODY_OUTCOMES_INIT, and
/// set what you want.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct kyoho_few_body_outcomes {
    /// The size of this structure in bytes.
    pub structure_size: i32,
    /// 0; there is no meaning in it yet.
    pub reserved: i32,
    /// Why each system ended, of `kyoho_few_body_end`.
    pub ends: kyoho_integers,
    /// The time that passed in each system.
    pub times: kyoho_reals,
    /// The first of the two bodies of each system that touch, from 0 in its system; -1: none.
    pub first_touching: kyoho_integers,
    /// The second of the two bodies of each system that touch; -1: none.
    pub second_touching: kyoho_integers,
    /// For each body the one that it is in a binary with, from 0 in its system; -1: none.
    pub companions: kyoho_integers,
    /// For each body the semi-major axis of its binary; 0: none.
    pub semi_major_axes: kyoho_reals,
    /// For each body the eccentricity of its binary; 0: none.
    pub eccentricities: kyoho_reals,
}

/// Moves systems of few bodies by algorithmic regularisation, without softening: hard binaries and
/// close encounters of any eccentricity. Two bodies alone, without radii that end them, move as
/// Kepler's problem says. `outcomes` may be NULL.
///
/// A system that ends early has the state of that moment, and does not end the others. The results
/// depend neither on the number of threads nor on the devices.
///
/// Errors, after which no body has moved: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT (offsets that
/// decrease or do not begin with 0), KYOHO_BAD_OPTION (a field whose value is not allowed, more than
/// 100 bodies in a system, a mass or a radius below 0, numbers above 1e75, two bodies in one place),
/// KYOHO_NOT_FINITE, KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED (of a backend that was chosen),
/// KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_few_body_evolve(
    options: *const kyoho_few_body_options,
    systems: *const kyoho_few_body_systems,
    outcomes: *const kyoho_few_body_outcomes,
) -> ResultCode {
    call(|| {
        // SAFETY: null or structures.
        let (given, bodies) = unsafe { (read("options", options)?, read("systems", systems)?) };
        let places = if outcomes.is_null() {
            None
        } else {
            // SAFETY: not null, hence a structure.
            let outcomes = unsafe { read("outcomes", outcomes) }?;
            require_unused("kyoho_few_body_outcomes", outcomes.reserved)?;
            Some(OutcomeRows::of(&outcomes)?)
        };
        require_unused("kyoho_few_body_options", given.reserved)?;
        let mut settings = Settings::from_environment()?;
        diagnostics::start_log(&settings)?;
        settings.threads = options::threads_of("kyoho_few_body_options.threads", given.threads, settings.threads)?;
        if given.backend != 0 {
            let field = "kyoho_few_body_options.backend";
            settings.backend = Some(options::backend_of(field, given.backend, "0 (automatic), ")?);
        }
        // SAFETY: null or a text.
        if let Some(devices) = unsafe { boundary::text(given.devices) } {
            settings.devices = DeviceChoice::parse("kyoho_few_body_options.devices", &devices)?;
        }
        let chosen = options_of(&given)?;
        let rows = BodyRows::of(&bodies)?;
        // SAFETY: the arrays have as many rows as the offsets say, by the caller's promise.
        let mut systems = unsafe { rows.systems() }?;
        let machine = settings.ensemble_machine(systems.len())?;
        let ends = evolve_all(&mut systems, &chosen, &machine)?;
        // SAFETY: as above.
        unsafe { rows.write(&systems) };
        if let Some(places) = places {
            // SAFETY: the arrays have a row for each system or body, by the caller's promise.
            unsafe { places.write(&systems, &ends) };
        }
        Ok(())
    })
}

/// Returns what the caller asks for.
fn options_of(given: &kyoho_few_body_options) -> Result<Options> {
    let usual = Options::default();
    let or = |value: f64, usual: f64| if value == 0.0 { usual } else { value };
    let terms = match given.terms {
        0 => Terms::USUAL,
        bits @ 1..=15 => {
            let has = |bit: i32| bits & bit != 0;
            Terms { first: has(1), second: has(2), decay: has(4), decay_correction: has(8) }
        }
        other => return Err(bad_field("kyoho_few_body_options.terms", other, "0 (7), sums of 1, 2, 4, 8")),
    };
    let stop_at_collision = match given.stops_at_collision {
        0 => false,
        1 => true,
        other => return Err(bad_field("kyoho_few_body_options.stops_at_collision", other, "0, 1")),
    };
    let max_steps = match u64::try_from(given.max_steps) {
        Ok(0) => usual.max_steps,
        Ok(steps) => steps,
        Err(_) => {
            return Err(bad_field("kyoho_few_body_options.max_steps", given.max_steps, "0 (100000000) and above"));
        }
    };
    let chosen = Options {
        gravity: or(given.gravity, usual.gravity),
        time: given.time,
        tolerance: or(given.tolerance, usual.tolerance),
        max_steps,
        speed_of_light: (given.speed_of_light != 0.0).then_some((given.speed_of_light, terms)),
        stop_at_collision,
        stop_at_escape: (given.escape_distance != 0.0).then_some(given.escape_distance),
    };
    chosen.check()?;
    Ok(chosen)
}

/// The caller's bodies.
struct BodyRows {
    offsets: Vec<usize>,
    masses: Option<Rows<f64, 1>>,
    positions: Option<Rows<f64, 3>>,
    velocities: Option<Rows<f64, 3>>,
    radii: Option<Rows<f64, 1>>,
}

impl BodyRows {
    fn of(given: &kyoho_few_body_systems) -> Result<BodyRows> {
        let count = arrays::count("kyoho_few_body_systems.system_count", given.system_count)?;
        let wanted = if count > 0 { count + 1 } else { 0 };
        let rows: Option<Rows<i32, 1>> = Rows::required("kyoho_few_body_systems.offsets", given.offsets, wanted)?;
        let mut offsets = memory::room(count + 1, "the offsets of systems")?;
        for place in 0..wanted {
            // SAFETY: the array has one number more than there are systems, by the caller's promise.
            let value = rows.map_or(0, |rows| unsafe { rows.read(place) }[0]);
            let least = offsets.last().map_or(0, |&last: &usize| last);
            match usize::try_from(value) {
                Ok(offset) if offset >= least && (place > 0 || offset == 0) => offsets.push(offset),
                _ => {
                    let allowed = if place == 0 { "0".into() } else { format!("{least} and above") };
                    let what = format!("kyoho_few_body_systems.offsets[{place}]");
                    return Err(Error::BadList { what, value: value.into(), allowed });
                }
            }
        }
        let bodies = offsets.last().copied().unwrap_or(0);
        Ok(BodyRows {
            offsets,
            masses: Rows::required("kyoho_few_body_systems.masses", given.masses, bodies)?,
            positions: Rows::required("kyoho_few_body_systems.positions", given.positions, bodies)?,
            velocities: Rows::required("kyoho_few_body_systems.velocities", given.velocities, bodies)?,
            radii: Rows::optional("kyoho_few_body_systems.radii", given.radii)?,
        })
    }

    /// # Safety
    /// The arrays have as many rows as the offsets say, and no other thread writes them.
    unsafe fn systems(&self) -> Result<Vec<System>> {
        let mut systems = memory::room(self.offsets.len(), "systems")?;
        for ends in self.offsets.windows(2) {
            let rows = ends[0]..ends[1];
            // SAFETY: the caller's promise.
            let (masses, positions, velocities, radii) = unsafe {
                let number = |array: Option<Rows<f64, 1>>| {
                    move |row| array.map_or(0.0, |array: Rows<f64, 1>| array.read(row)[0])
                };
                let vector = |array: Option<Rows<f64, 3>>| {
                    move |row| array.map_or([0.0; 3], |array: Rows<f64, 3>| array.read(row))
                };
                (
                    memory::collected(rows.clone().map(number(self.masses)), "masses")?,
                    memory::collected(rows.clone().map(vector(self.positions)), "positions")?,
                    memory::collected(rows.clone().map(vector(self.velocities)), "velocities")?,
                    memory::collected(rows.map(number(self.radii)), "radii")?,
                )
            };
            systems.push(System { masses, positions, velocities, radii });
        }
        Ok(systems)
    }

    /// # Safety
    /// As for [`BodyRows::systems`], and no other thread reads them.
    unsafe fn write(&self, systems: &[System]) {
        for (system, &first) in systems.iter().zip(&self.offsets) {
            for body in 0..system.masses.len() {
                // SAFETY: the caller's promise.
                unsafe {
                    put(self.positions, first + body, system.positions[body]);
                    put(self.velocities, first + body, system.velocities[body]);
                }
            }
        }
    }
}

/// The caller's places for the ends of systems.
struct OutcomeRows {
    ends: Option<Rows<kyoho_few_body_end, 1>>,
    times: Option<Rows<f64, 1>>,
    touching: [Option<Rows<i32, 1>>; 2],
    companions: Option<Rows<i32, 1>>,
    semi_major_axes: Option<Rows<f64, 1>>,
    eccentricities: Option<Rows<f64, 1>>,
}

impl OutcomeRows {
    fn of(given: &kyoho_few_body_outcomes) -> Result<OutcomeRows> {
        Ok(OutcomeRows {
            ends: Rows::optional("kyoho_few_body_outcomes.ends", given.ends)?,
            times: Rows::optional("kyoho_few_body_outcomes.times", given.times)?,
            touching: [
                Rows::optional("kyoho_few_body_outcomes.first_touching", given.first_touching)?,
                Rows::optional("kyoho_few_body_outcomes.second_touching", given.second_touching)?,
            ],
            companions: Rows::optional("kyoho_few_body_outcomes.companions", given.companions)?,
            semi_major_axes: Rows::optional("kyoho_few_body_outcomes.semi_major_axes", given.semi_major_axes)?,
            eccentricities: Rows::optional("kyoho_few_body_outcomes.eccentricities", given.eccentricities)?,
        })
    }

    /// # Safety
    /// The arrays have a row for each system or body, and no other thread reads or writes them.
    unsafe fn write(&self, systems: &[System], outcomes: &[Outcome]) {
        let mut first = 0;
        for (place, (system, outcome)) in systems.iter().zip(outcomes).enumerate() {
            let (end, touching) = match outcome.end {
                End::Time => (FewBodyEnd::Time, [-1; 2]),
                End::Escape => (FewBodyEnd::Escape, [-1; 2]),
                End::Exchange => (FewBodyEnd::Exchange, [-1; 2]),
                End::Collision(bodies) => (FewBodyEnd::Collision, bodies.map(|body| body as i32)),
                End::Steps => (FewBodyEnd::Steps, [-1; 2]),
                End::NoStep => (FewBodyEnd::NoStep, [-1; 2]),
                End::Merger(bodies) => (FewBodyEnd::Merger, bodies.map(|body| body as i32)),
            };
            // SAFETY: the caller's promise.
            unsafe {
                put(self.ends, place, [end as i32]);
                put(self.times, place, [outcome.time]);
                for (rows, body) in self.touching.into_iter().zip(touching) {
                    put(rows, place, [body]);
                }
                for body in 0..system.masses.len() {
                    self.write_binary(first + body, -1, 0.0, 0.0);
                }
                for binary in &outcome.binaries {
                    let [&[one], &[other]] = binary.members.each_ref().map(Vec::as_slice) else { continue };
                    let orbit = &binary.orbit;
                    for (body, companion) in [(one, other), (other, one)] {
                        let row = first + body;
                        self.write_binary(row, companion as i32, orbit.semi_major_axis, orbit.eccentricity);
                    }
                }
            }
            first += system.masses.len();
        }
    }

    /// # Safety
    /// As for [`OutcomeRows::write`].
    unsafe fn write_binary(&self, row: usize, companion: i32, semi_major_axis: f64, eccentricity: f64) {
        // SAFETY: the caller's promise.
        unsafe {
            put(self.companions, row, [companion]);
            put(self.semi_major_axes, row, [semi_major_axis]);
            put(self.eccentricities, row, [eccentricity]);
        }
    }
}
