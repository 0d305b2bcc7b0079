//! What the kernel of few bodies is told, byte for byte: `kernels/generated/few_body.h` has the same.

use kyoho_methods::shared_structure;

use crate::options::Options;
use crate::post_newtonian::Terms;

/// The threads of a thread block.
pub const THREADS: usize = 64;
/// Numbers of a system before its masses, radii and state: the time and what rounding took off it, the
/// next step, the last one in time, steps, and leapfrog steps.
pub const HEAD_NUMBERS: usize = 6;
/// Words of a system before the bodies at its places and the parents of its links: how it stands, its
/// clock, and the column at which its next step is meant to end.
pub const HEAD_WORDS: usize = 3;

/// How a system stands.
pub const IS_UNDER_WAY: i32 = 0;
/// See [`IS_UNDER_WAY`].
pub const ENDED_BY_TIME: i32 = 1;
/// See [`IS_UNDER_WAY`].
pub const ENDED_BY_STEPS: i32 = 2;
/// See [`IS_UNDER_WAY`].
pub const ENDED_WITHOUT_STEP: i32 = 3;
/// See [`IS_UNDER_WAY`].
pub const ENDED_BY_ESCAPE: i32 = 4;
/// Bodies may touch in the next step, which the host makes.
pub const MAY_TOUCH: i32 = 5;

/// The numbers above by their names in kernels.
pub const NUMBERS: [(&str, i64); 10] = [
    ("MOST", LARGEST as i64),
    ("FEW_BODY_THREADS", THREADS as i64),
    ("HEAD_NUMBERS", HEAD_NUMBERS as i64),
    ("HEAD_WORDS", HEAD_WORDS as i64),
    ("IS_UNDER_WAY", IS_UNDER_WAY as i64),
    ("ENDED_BY_TIME", ENDED_BY_TIME as i64),
    ("ENDED_BY_STEPS", ENDED_BY_STEPS as i64),
    ("ENDED_WITHOUT_STEP", ENDED_WITHOUT_STEP as i64),
    ("ENDED_BY_ESCAPE", ENDED_BY_ESCAPE as i64),
    ("MAY_TOUCH", MAY_TOUCH as i64),
];

/// The most bodies of systems on devices. More would need more memory for each thread, and would fill a
/// processor of the host for long enough.
pub const LARGEST: usize = 16;
/// The unit of the kernel.
pub const UNIT: &str = "few_body";

shared_structure! {
    /// How systems are advanced.
    FewBodyRules, RULES_FIELDS {
        /// How long the systems evolve.
        time: f64,
        /// The largest error of a step.
        tolerance: f64,
        /// The most steps of a system.
        max_steps: f64,
        /// The speed of light, if there are relativistic terms.
        speed_of_light: f64,
        /// Its inverse.
        inverse_of_light: f64,
        /// The square of its inverse.
        inverse_square_of_light: f64,
        /// The distance of escapes, 0 where they end nothing.
        escape_distance: f64,
        /// Which relativistic terms there are, by their bits; 0 where there is no speed of light.
        terms: i32,
        /// Whether a system ends where two bodies touch.
        stops_at_collision: i32,
        /// Whether bodies may come so near that something ends the system.
        has_contacts: i32,
        /// The bodies of each system.
        bodies: i32,
        /// The systems.
        systems: i32,
        /// The systems for which there is room: a number and the next of a system are so far apart.
        slots: i32,
        /// The most attempts at a step of each system.
        attempts: i32,
        /// No meaning.
        reserved: i32,
    }
}

/// The bit of a speed of light without terms.
const HAS_LIGHT: i32 = 16;

impl FewBodyRules {
    /// Returns the rules of these options.
    pub fn of(options: &Options) -> FewBodyRules {
        let terms = |terms: Terms| {
            let Terms { first, second, decay, decay_correction } = terms;
            let bits = [first, second, decay, decay_correction].into_iter().enumerate();
            bits.fold(HAS_LIGHT, |bits, (bit, is_there)| bits | i32::from(is_there) << bit)
        };
        let speed = options.speed_of_light.map_or(0.0, |(speed, _)| speed);
        let inverse = 1.0 / speed;
        FewBodyRules {
            time: options.time,
            tolerance: options.tolerance,
            max_steps: options.max_steps as f64,
            speed_of_light: speed,
            inverse_of_light: inverse,
            inverse_square_of_light: inverse * inverse,
            escape_distance: options.stop_at_escape.unwrap_or(0.0),
            terms: options.speed_of_light.map_or(0, |(_, of)| terms(of)),
            stops_at_collision: i32::from(options.stop_at_collision),
            has_contacts: i32::from(options.stop_at_collision || options.speed_of_light.is_some()),
            ..FewBodyRules::default()
        }
    }
}
