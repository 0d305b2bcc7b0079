//! The text of a model, and the bodies that are made of it.
//!
//! A text has words with spaces between them: a profile, such as `king,w0=7`, and where they are
//! wanted `kroupa,least=0.1,most=50` and `binaries,fraction=0.3,least=1AU,most=100AU`.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};
use kyoho_engine::Setup;
use kyoho_integrators::energy::Energies;
use kyoho_integrators::unit_systems::{Kind, UnitSystem};

use crate::Star;
use crate::binaries::Binaries;
use crate::hernquist::HERNQUIST;
use crate::isolated::Isolated;
use crate::king::Standard;
use crate::kroupa::Kroupa;
use crate::plummer::PLUMMER;
use crate::random::Random;
use crate::text::Word;
use crate::uniform_sphere::{COLD_COLLAPSE, UNIFORM_SPHERE};

const WHAT: &str = "the bodies of the model";

/// The numbers of bodies that a model may have.
pub const BODIES: std::ops::RangeInclusive<usize> = 2..=1 << 30;

/// The models that the text of one may begin with.
pub const PROFILES: [&str; 5] = ["plummer", "hernquist", "king", "uniform_sphere", "cold_collapse"];

/// The bodies of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Their masses.
    pub masses: Vec<f64>,
    /// Their motions: the two stars of each binary one after the other, then the single stars.
    pub stars: Vec<Star>,
}

impl Model {
    /// Fails if its mass, radius or binaries make numbers that are too large or too small.
    fn checked(self) -> Result<Model> {
        let numbers = self.stars.iter().flat_map(|star| star.position.into_iter().chain(star.velocity));
        let wrong = [
            ("a mass", self.masses.iter().copied().find(|mass| !(*mass > 0.0 && mass.is_finite()))),
            ("a position or velocity", numbers.into_iter().find(|number| !number.is_finite())),
        ];
        match wrong.into_iter().find_map(|(what, number)| Some((what, number?))) {
            None => Ok(self),
            Some((what, number)) => Err(Error::BadOption {
                name: format!("{what} of the model"),
                value: shown(number),
                allowed: "a mass, radius and binaries that make finite numbers, and masses above 0".into(),
            }),
        }
    }
}

/// Where bodies are, and how fast.
enum Profile {
    Fixed(&'static Isolated<'static>),
    King(Standard),
}

/// What a text says of a model.
pub struct Recipe {
    profile: Profile,
    kroupa: Option<Kroupa>,
    binaries: Option<Binaries>,
    mass: Option<f64>,
    radius: f64,
    units: Option<UnitSystem>,
}

impl Recipe {
    /// Reads a text. With `units` lengths, masses and velocities are in these units; without them the
    /// gravitational constant is 1.
    pub fn parse(text: &str, units: Option<&str>) -> Result<Recipe> {
        let units = units.map(UnitSystem::parse).transpose()?;
        let mut words = text.split_whitespace();
        let word = Word::new("the model", words.next().unwrap_or_default());
        let (profile, mass, radius) = profile(&word, units.as_ref())?;
        let (mut kroupa, mut binaries) = (None, None);
        for part in words {
            let part = Word::new("the part", part);
            let is_new = match part.name {
                "kroupa" => kroupa.replace(Kroupa::parse(&part)?).is_none(),
                "binaries" => binaries.replace(Binaries::parse(&part, units.as_ref())?).is_none(),
                _ => false,
            };
            if !is_new {
                let name = format!("a part of the model '{}'", word.name);
                return Err(Error::BadOption {
                    name,
                    value: part.name.into(),
                    allowed: "kroupa, binaries, once".into(),
                });
            }
        }
        for (name, number) in [("mass", mass), ("radius", radius)] {
            if let Some(number) = number.filter(|number| *number <= 0.0) {
                return Err(word.wrong(name, shown(number), "numbers above 0".into()));
            }
        }
        if let (Some(_), Some(mass), Some(_)) = (units, mass, &kroupa) {
            let allowed = "none with kroupa in units, where it is the sum of the stars' masses".into();
            return Err(word.wrong("mass", shown(mass), allowed));
        }
        if units.is_some() {
            word.given("radius", radius, "with units, the virial radius")?;
            if kroupa.is_none() {
                word.given("mass", mass, "with units, the mass of all bodies")?;
            }
        }
        Ok(Recipe { profile, kroupa, binaries, mass, radius: radius.unwrap_or(1.0), units })
    }

    /// Calls a function with the profile.
    pub fn with_profile<T>(&self, function: impl FnOnce(&Isolated) -> T) -> T {
        match &self.profile {
            Profile::Fixed(isolated) => function(isolated),
            Profile::King(standard) => function(&Standard::isolated(&|random: &mut Random| standard.draw(random))),
        }
    }

    /// Returns the gravitational constant.
    pub fn gravity(&self) -> f64 {
        self.units.map_or(1.0, |units| units.gravitational_constant())
    }

    /// Returns whether the model has the total mass 1 and the virial radius 1, with `G = 1`.
    pub fn is_standard(&self) -> bool {
        self.units.is_none() && self.mass.unwrap_or(1.0) == 1.0 && self.radius == 1.0
    }

    /// Returns how many of so many bodies are in binaries, in pairs.
    pub fn binaries(&self, count: usize) -> usize {
        self.binaries.map_or(0, |binaries| binaries.count(count))
    }

    /// Makes the model of `count` bodies, both stars of a binary counted. `progress` is told how many
    /// more were drawn.
    ///
    /// The centres of mass of binaries and the single stars are a model in standard units, see
    /// [`Isolated::scale`], that is then scaled to the units that are wanted.
    pub fn make(&self, count: usize, seed: u64, setup: &Setup, progress: &mut dyn FnMut(usize)) -> Result<Model> {
        let wrong = |allowed: String| {
            Err(Error::BadOption { name: "the number of bodies".into(), value: count.to_string(), allowed })
        };
        if !BODIES.contains(&count) {
            return wrong(format!("{} to {}", BODIES.start(), BODIES.end()));
        }
        let pairs = self.binaries(count);
        if count - pairs < 2 {
            return wrong("3 or more, so that there are two binaries or single stars".into());
        }
        let mut random = Random(seed);
        let mut stars = self.with_profile(|profile| profile.stars(count - pairs, &mut random, progress))?;
        let mut masses = memory::filled(count, 1.0, WHAT)?;
        if let Some(kroupa) = &self.kroupa {
            masses.iter_mut().for_each(|mass| *mass = kroupa.draw(&mut random));
        }
        let weights = self.weights(&masses, pairs)?;
        let mut energies = Energies::new(setup, 1.0, 0.0)?;
        self.with_profile(|profile| profile.scale(&mut stars, &weights, &mut energies))?;
        let mass = self.give_masses(&mut masses);
        let speed = (self.gravity() * mass / self.radius).sqrt();
        for star in &mut stars {
            star.position.iter_mut().for_each(|component| *component *= self.radius);
            star.velocity.iter_mut().for_each(|component| *component *= speed);
        }
        let Some(binaries) = self.binaries.filter(|_| pairs > 0) else { return Model { masses, stars }.checked() };
        let mut all = memory::room(count, WHAT)?;
        for (centre, masses) in stars[..pairs].iter().zip(masses.as_chunks().0) {
            let masses: [f64; 2] = *masses;
            all.extend(binaries.draw(masses.map(|mass| self.gravity() * mass), centre, &mut random));
        }
        all.extend_from_slice(&stars[pairs..]);
        Model { masses, stars: all }.checked()
    }

    /// Returns the masses of binaries and single stars over their mean; none if all are equal.
    fn weights(&self, masses: &[f64], pairs: usize) -> Result<Vec<f64>> {
        if pairs == 0 && self.kroupa.is_none() {
            return Ok(Vec::new());
        }
        let (of_pairs, single) = masses.split_at(2 * pairs);
        let mut weights = memory::room(masses.len() - pairs, WHAT)?;
        weights.extend(of_pairs.chunks(2).map(|pair| pair[0] + pair[1]));
        weights.extend_from_slice(single);
        let mean = masses.iter().sum::<f64>() / weights.len() as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
        Ok(weights)
    }

    /// Gives drawn masses the unit that is wanted, and returns their sum.
    fn give_masses(&self, masses: &mut [f64]) -> f64 {
        let sum: f64 = masses.iter().sum();
        let solar = self.units.filter(|_| self.kroupa.is_some()).and_then(|units| units.number("Msun", Kind::Mass));
        if let Some(solar) = solar {
            masses.iter_mut().for_each(|mass| *mass *= solar);
            return sum * solar;
        }
        let all = self.mass.unwrap_or(1.0);
        masses.iter_mut().for_each(|mass| *mass *= all / sum);
        all
    }
}

/// Returns the profile of a word, with its mass and its virial radius.
fn profile(word: &Word, units: Option<&UnitSystem>) -> Result<(Profile, Option<f64>, Option<f64>)> {
    let (mass, radius) = (("mass", Some(Kind::Mass)), ("radius", Some(Kind::Length)));
    let fixed = match word.name {
        "plummer" => &PLUMMER,
        "hernquist" => &HERNQUIST,
        "uniform_sphere" | "uniform-sphere" => &UNIFORM_SPHERE,
        "cold_collapse" | "cold-collapse" => &COLD_COLLAPSE,
        "king" => {
            let [w0, mass, radius] = word.numbers([("w0", None), mass, radius], units)?;
            return Ok((Profile::King(Standard::new(w0.unwrap_or(W0))?), mass, radius));
        }
        other => {
            let (name, value) = ("the model".into(), other.into());
            return Err(Error::BadOption { name, value, allowed: PROFILES.join(", ") });
        }
    };
    let [mass, radius] = word.numbers([mass, radius], units)?;
    Ok((Profile::Fixed(fixed), mass, radius))
}

/// The central potential of King's model where nothing else is said.
pub const W0: f64 = 6.0;

#[cfg(test)]
mod tests {
    use kyoho_core::{Order, Precision};
    use kyoho_engine::System;
    use kyoho_integrators::body::{Body, length, sum};
    use kyoho_integrators::cluster::{Change, Choices, Cluster};
    use kyoho_integrators::energy::Energy;

    use super::*;

    fn setup() -> Setup {
        Setup::on_cpu(Order::Second, Precision::Double)
    }

    fn made(text: &str, units: Option<&str>, count: usize, seed: u64) -> Model {
        Recipe::parse(text, units).unwrap().make(count, seed, &setup(), &mut |_| ()).unwrap()
    }

    /// The centres of mass of binaries, which are the first bodies, and the others.
    fn centres(model: &Model, pairs: usize) -> Vec<Body> {
        let star = |place: usize| (model.masses[place], model.stars[place]);
        let pair = |place: usize| {
            let [(m, one), (n, other)] = [star(2 * place), star(2 * place + 1)];
            let mean = |a: [f64; 3], b: [f64; 3]| std::array::from_fn(|k| (m * a[k] + n * b[k]) / (m + n));
            Body::new(m + n, mean(one.position, other.position), mean(one.velocity, other.velocity))
        };
        let single = |place: usize| Body::new(star(place).0, star(place).1.position, star(place).1.velocity);
        (0..pairs).map(pair).chain((2 * pairs..model.stars.len()).map(single)).collect()
    }

    fn energy(model: &Model, pairs: usize, gravity: f64) -> Energy {
        Energies::new(&setup(), gravity, 0.0).unwrap().of(&centres(model, pairs)).unwrap()
    }

    #[test]
    fn masses_and_binaries_leave_a_standard_model() {
        let text = "king,w0=5 kroupa binaries,fraction=0.5,least=1e-4,most=1e-3";
        let model = made(text, None, 300, 4);
        assert!((sum(model.masses.iter().copied()) - 1.0).abs() < 1e-14);
        let energy = energy(&model, 100, 1.0);
        assert!((energy.kinetic - 0.25).abs() < 1e-12 && (energy.potential + 0.5).abs() < 1e-12, "{energy:?}");
        for place in 0..100 {
            let [one, other] = [model.stars[2 * place], model.stars[2 * place + 1]];
            let distance = length(&std::array::from_fn(|k| one.position[k] - other.position[k]));
            assert!(distance < 2e-3, "{distance}");
        }
        // Stars of binaries are paired at random: their masses have no correlation.
        let model = made("plummer kroupa binaries,fraction=1,least=1,most=1", None, 20_000, 5);
        let logs: Vec<f64> = model.masses.iter().map(|mass| mass.ln()).collect();
        let mean = logs.iter().sum::<f64>() / 20_000.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 20_000.0;
        let product = logs.chunks(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / 10_000.0;
        assert!((product / variance).abs() < 0.04, "{product} {variance}");
    }

    #[test]
    fn equal_masses_alone_are_those_of_the_profile() {
        let plain = made("hernquist", None, 200, 7);
        let mut energies = Energies::new(&setup(), 1.0, 0.0).unwrap();
        assert_eq!(plain.stars, HERNQUIST.standard(200, 7, &mut energies).unwrap());
        assert!(plain.masses.iter().all(|mass| *mass == 1.0 / 200.0));
        assert_eq!(made("hernquist,mass=1,radius=1", None, 200, 7), plain);
        assert_ne!(made("hernquist", None, 200, 8), plain);
    }

    #[test]
    fn units_scale_a_model_by_its_mass_and_its_virial_radius() {
        let units = "pc Msun Myr";
        let gravity = UnitSystem::parse(units).unwrap().gravitational_constant();
        assert!((gravity / 4.498_502_15e-3 - 1.0).abs() < 1e-8);
        for (text, mass) in
            [("plummer,mass=500,radius=2", Some(500.0)), ("king,radius=2pc kroupa,least=0.1,most=20", None)]
        {
            let model = made(text, Some(units), 400, 3);
            let all = sum(model.masses.iter().copied());
            assert!(mass.is_none_or(|mass| (all / mass - 1.0).abs() < 1e-14), "{all}");
            let energy = energy(&model, 0, gravity);
            let virial = -0.5 * gravity * all * all / energy.potential;
            assert!((virial / 2.0 - 1.0).abs() < 1e-12 && (energy.kinetic / energy.potential + 0.5).abs() < 1e-12);
        }
        // Masses of stars are those in solar masses, whatever the unit.
        let solar = made("plummer,radius=1 kroupa,least=0.1,most=20", Some(units), 50, 3);
        assert!(solar.masses.iter().all(|mass| (0.1..=20.0).contains(mass)));
        let grams = made("plummer,radius=1pc kroupa,least=0.1,most=20", Some("cm g s"), 50, 3);
        for (solar, gram) in solar.masses.iter().zip(grams.masses) {
            assert!((gram / solar / 1.98841e33 - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_model_of_many_masses_is_scaled_by_shells() {
        let n = (1 << 16) + 1;
        let model = made("plummer kroupa,least=0.5,most=5", None, n, 2);
        let kinetic =
            0.5 * sum(model.masses.iter().zip(&model.stars).map(|(m, star)| m * length(&star.velocity).powi(2)));
        assert!((kinetic - 0.25).abs() < 1e-12, "{kinetic}");
        let some = energy(&Model { masses: vec![1.0 / 4096.0; 4096], stars: model.stars[..4096].to_vec() }, 0, 1.0);
        assert!((some.potential + 0.5).abs() < 0.03, "{some:?}");
    }

    #[test]
    fn sizes_whose_numbers_are_too_large_or_too_small_are_refused() {
        for (text, said) in [
            ("plummer,mass=1e308,radius=1e-300", "a position or velocity of the model is 'inf'"),
            ("plummer,radius=1.7e308", "a position or velocity of the model is '"),
            ("plummer,mass=5e-324", "a mass of the model is '0'"),
            ("plummer binaries,fraction=1,least=5e-324,most=5e-324", "a position or velocity of the model is '"),
        ] {
            let error = Recipe::parse(text, None).unwrap().make(10, 1, &setup(), &mut |_| ()).unwrap_err().to_string();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }

    #[test]
    fn texts_that_are_wrong_are_refused_with_what_is_allowed() {
        for (text, units, said) in [
            ("", None, "the model is ''; allowed: plummer, hernquist, king, uniform_sphere, cold_collapse"),
            ("emperor", None, "the model is 'emperor'; allowed: plummer,"),
            ("plummer,w0=3", None, "a parameter of the model 'plummer' is 'w0'; allowed: mass, radius"),
            ("king,w0=3,w0=4", None, "a parameter of the model 'king' is 'w0'; allowed: each parameter once"),
            ("king,w0=20", None, "the parameter 'w0' of the model 'king' is '20'; allowed: 0.1 to 12"),
            ("king,w0", None, "the parameter 'w0' of the model 'king' is ''; allowed: a number"),
            ("plummer,mass=-1", None, "the parameter 'mass' of the model 'plummer' is '-1'; allowed: numbers above 0"),
            (
                "plummer,radius=nan",
                None,
                "'radius' of the model 'plummer' is 'nan'; allowed: a number; with units also",
            ),
            ("plummer,radius=1AU", None, "is '1AU'; allowed: a number; with units also one with its unit"),
            ("plummer,radius=1Msun,mass=1", Some("pc Msun Myr"), "is '1Msun'; allowed: a number, or one with its unit"),
            (
                "plummer,radius=1",
                Some("pc Msun Myr"),
                "'mass' of the model 'plummer' is 'not given'; allowed: with units",
            ),
            ("plummer,mass=1", Some("pc Msun Myr"), "'radius' of the model 'plummer' is 'not given'"),
            ("plummer,mass=1,radius=1 kroupa", Some("pc Msun Myr"), "is '1'; allowed: none with kroupa in units"),
            ("plummer,mass=1,radius=1", Some("furlong"), "units is 'furlong'; allowed: SI, or a length"),
            ("plummer salpeter", None, "a part of the model 'plummer' is 'salpeter'; allowed: kroupa, binaries, once"),
            (
                "plummer kroupa kroupa",
                None,
                "a part of the model 'plummer' is 'kroupa'; allowed: kroupa, binaries, once",
            ),
            (
                "plummer kroupa,least=0.001",
                None,
                "'least' of the part 'kroupa' is '0.001'; allowed: 0.01 to 1000 solar",
            ),
            (
                "plummer kroupa,most=0.05",
                None,
                "'most' of the part 'kroupa' is '0.05'; allowed: above least, which is 0.08",
            ),
            ("plummer binaries", None, "'fraction' of the part 'binaries' is 'not given'; allowed: 0 to 1"),
            ("plummer binaries,fraction=2,least=1,most=2", None, "'fraction' of the part 'binaries' is '2'"),
            ("plummer binaries,fraction=1,most=2", None, "'least' of the part 'binaries' is 'not given'"),
            (
                "plummer binaries,fraction=1,least=0,most=2",
                None,
                "'least' of the part 'binaries' is '0'; allowed: lengths",
            ),
            (
                "plummer binaries,fraction=1,least=2,most=1",
                None,
                "'most' of the part 'binaries' is '1'; allowed: lengths",
            ),
        ] {
            let error = Recipe::parse(text, units).err().unwrap().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let recipe = Recipe::parse("plummer binaries,fraction=1,least=1,most=2", None).unwrap();
        for (count, allowed) in [(1, "2 to 1073741824"), (2, "3 or more"), ((1 << 30) + 1, "2 to 1073741824")] {
            let error = recipe.make(count, 1, &setup(), &mut |_| ()).unwrap_err().to_string();
            assert!(error.contains(&format!("bodies is '{count}'; allowed: {allowed}")), "{error}");
        }
    }

    /// Returns the radii that hold a quarter, a half and three quarters of some bodies.
    fn radii(positions: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
        let mut all: Vec<f64> = positions.map(|position| length(&position)).collect();
        all.sort_by(f64::total_cmp);
        [1, 2, 3].map(|quarter| all[all.len() * quarter / 4])
    }

    /// Models in equilibrium keep their radii for two crossing times of 2 sqrt(2), except for noise of few
    /// bodies. Of binaries the centres of mass move.
    #[test]
    fn radii_stay_for_two_crossing_times() {
        for text in [
            "plummer",
            "king,w0=4",
            "hernquist",
            "plummer kroupa,least=0.5,most=5",
            "king,w0=4 kroupa,least=0.5,most=5 binaries,fraction=0.3,least=0.001,most=0.002",
        ] {
            let recipe = Recipe::parse(text, None).unwrap();
            let model = recipe.make(1000, 11, &setup(), &mut |_| ()).unwrap();
            let centres = centres(&model, recipe.binaries(1000));
            let choices = Choices { dt_max: 1.0 / 32.0, softening: 0.03, ..Choices::default() };
            let mut cluster = Cluster::new(System::new(&setup()).unwrap(), choices).unwrap();
            let change = |body: &Body| {
                let (position, velocity) = (Some(body.position), Some(body.velocity));
                Change { mass: Some(body.mass), position, velocity, ..Change::default() }
            };
            let bodies: Vec<(i64, Change)> = (0..).zip(centres.iter().map(change)).collect();
            cluster.add(&bodies).unwrap();
            cluster.evolve(4.0 * 2f64.sqrt(), None, &mut |_, _| true).unwrap();
            let before = radii(centres.iter().map(|body| body.position));
            let after = radii(cluster.bodies().iter().map(|body| body.position));
            for (before, after) in before.iter().zip(after) {
                assert!((after / before - 1.0).abs() < 0.12, "{text}: {before} {after}");
            }
        }
    }
}
