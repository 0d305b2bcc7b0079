//! Models of star clusters, in the caller's arrays.

use std::os::raw::c_char;

use kyoho_core::{Error, Order, Precision, Result, ResultCode, memory};
use kyoho_integrators::unit_systems::UnitSystem;
use kyoho_models::two_clusters::Orbit;
use kyoho_models::{Recipe, Star};

use super::call;
use crate::abi::arrays::{self, Input, Output};
use crate::abi::boundary;
use crate::config::Settings;

const WHAT: &str = "the bodies of two clusters";

/// Makes a model of a star cluster. `model` is a text of words with spaces between them, first a
/// profile: "plummer", "hernquist", "king,w0=6", "uniform_sphere" or "cold_collapse", with the mass
/// of all bodies and the virial radius where they are not 1, as in "king,w0=7,mass=500,radius=2".
/// Behind it may stand "kroupa,least=0.08,most=100", the masses of stars with limits in solar
/// masses, and "binaries,fraction=0.3,least=1e-4,most=1e-2", the share of binaries among binaries
/// and single stars and the limits of their semi-major axes.
///
/// `units` are those of the model, as for `kyoho_gravitational_constant`; NULL: those in which the
/// gravitational constant is 1. With units the mass and the radius have to be given, and may have
/// units, as in "radius=2pc"; with "kroupa" the mass is the sum of the stars' masses.
///
/// `count` is the number of bodies, 2 to 1073741824, both stars of a binary counted: these come
/// first, one after the other. A seed means the same bodies on the same kind of device, as in
/// `kyoho model` and in Python. `masses` has room for `count` numbers, `positions` and `velocities`
/// for 3 times as many, the vectors one after the other.
///
/// Errors, after which nothing was written: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION
/// (a text or a number that is not allowed), KYOHO_NO_BACKEND, KYOHO_DEVICE_FAILED,
/// KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_model_make(
    model: *const c_char,
    units: *const c_char,
    count: i32,
    seed: u64,
    masses: *mut f64,
    positions: *mut f64,
    velocities: *mut f64,
) -> ResultCode {
    call(|| {
        // SAFETY: null or texts.
        let (model, units) =
            unsafe { (boundary::long_text(model, "the text of a model")?, boundary::long_text(units, UNITS)?) };
        let model = model.ok_or(Error::NullArgument { argument: "model" })?;
        let count = arrays::count("count", count)?;
        // SAFETY: arrays with room for as many numbers.
        let masses = unsafe { Output::new("masses", masses, count) };
        // SAFETY: as above.
        let places = unsafe { Places::new(positions, velocities, count) }?;
        masses.require()?;
        let recipe = Recipe::parse(&model, units.as_deref())?;
        let setup = Settings::from_environment()?.setup(Order::Second, Precision::Double)?;
        let made = recipe.make(count, seed, &setup, &mut |_| ())?;
        masses.set_from(0, made.masses.iter().copied());
        places.write(&made.stars);
        Ok(())
    })
}

/// Puts two clusters on an orbit round each other, as that of two points with their masses, whose
/// plane is that of x and y. The first `first_count` bodies are one cluster, and `second_count` that
/// follow the other one. Their centre of mass comes to rest in the origin.
///
/// `orbit` is a text: "separation=10,speed=0.5,impact=2", the distance at the start, the relative
/// speed, and the distance at which the straight line of the second cluster passes the first (0); or
/// "separation=10,eccentricity=1,pericentre=0.5", a parabola, an ellipse or a hyperbola on the way
/// to its smallest distance. `units` are those of the bodies and the orbit, as in
/// `kyoho_model_make`.
///
/// Errors, after which no body has moved: KYOHO_NULL_ARGUMENT, KYOHO_BAD_COUNT, KYOHO_BAD_OPTION (a
/// text, a number or a mass that is not allowed), KYOHO_NOT_FINITE, KYOHO_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_model_two_clusters(
    orbit: *const c_char,
    units: *const c_char,
    first_count: i32,
    second_count: i32,
    masses: *const f64,
    positions: *mut f64,
    velocities: *mut f64,
) -> ResultCode {
    call(|| {
        // SAFETY: null or texts.
        let (orbit, units) =
            unsafe { (boundary::long_text(orbit, "the text of an orbit")?, boundary::long_text(units, UNITS)?) };
        let orbit = orbit.ok_or(Error::NullArgument { argument: "orbit" })?;
        let units = units.as_deref().map(UnitSystem::parse).transpose()?;
        let orbit = Orbit::parse(&orbit, units.as_ref())?;
        let first = arrays::count("first_count", first_count)?;
        let count = first + arrays::count("second_count", second_count)?;
        // SAFETY: arrays of as many numbers.
        let masses = memory::collected(unsafe { Input::new("masses", masses, count) }?.items(), WHAT)?;
        // SAFETY: as above.
        let places = unsafe { Places::new(positions, velocities, count) }?;
        // SAFETY: as above.
        let mut stars = unsafe { places.read(count) }?;
        orbit.place(units.map_or(1.0, |units| units.gravitational_constant()), &masses, &mut stars, first)?;
        places.write(&stars);
        Ok(())
    })
}

const UNITS: &str = "the names of units";

/// The caller's positions and velocities.
struct Places {
    positions: Output<[f64; 3]>,
    velocities: Output<[f64; 3]>,
    first: [*const [f64; 3]; 2],
}

impl Places {
    /// # Safety
    /// The arrays have as many vectors.
    unsafe fn new(positions: *mut f64, velocities: *mut f64, count: usize) -> Result<Places> {
        let [first, second] = [positions, velocities].map(|array| array.cast::<[f64; 3]>());
        // SAFETY: the caller's promise.
        let (positions, velocities) =
            unsafe { (Output::new("positions", first, count), Output::new("velocities", second, count)) };
        positions.require()?;
        velocities.require()?;
        Ok(Places { positions, velocities, first: [first, second].map(<*mut [f64; 3]>::cast_const) })
    }

    /// # Safety
    /// The arrays can be read.
    unsafe fn read(&self, count: usize) -> Result<Vec<Star>> {
        // SAFETY: the caller's promise.
        let (positions, velocities) = unsafe {
            (Input::new("positions", self.first[0], count)?, Input::new("velocities", self.first[1], count)?)
        };
        let stars = positions.items().zip(velocities.items());
        memory::collected(stars.map(|(position, velocity)| Star { position, velocity }), WHAT)
    }

    fn write(&self, stars: &[Star]) {
        self.positions.set_from(0, stars.iter().map(|star| star.position));
        self.velocities.set_from(0, stars.iter().map(|star| star.velocity));
    }
}
