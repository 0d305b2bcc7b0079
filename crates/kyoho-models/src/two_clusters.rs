//! Two sets of bodies on an orbit round their centre of mass, as that of two points.

use kyoho_core::error::shown;
use kyoho_core::{Error, Result};
use kyoho_integrators::body::{Vector, sum, vector};
use kyoho_integrators::unit_systems::{Kind, UnitSystem};

use crate::Star;
use crate::binaries::apart;
use crate::text::{NOT_GIVEN, Word};

/// How two clusters meet. The plane of the orbit is that of x and y.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orbit {
    /// The distance at the start.
    pub separation: f64,
    /// The motion at the start.
    pub motion: Motion,
}

/// The motion of the second cluster relative to the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Motion {
    /// A speed along minus x, on a line that passes the first cluster at the distance `impact`.
    Straight {
        /// The speed.
        speed: f64,
        /// The distance of the line, along y.
        impact: f64,
    },
    /// A conic section, on the way to its pericentre.
    Conic {
        /// The eccentricity: 1 is a parabola.
        eccentricity: f64,
        /// The smallest distance.
        pericentre: f64,
    },
}

impl Orbit {
    /// Returns the orbit of a text: `separation=NUMBER`, and `speed=NUMBER` with `impact=NUMBER` (0) or
    /// `eccentricity=NUMBER` with `pericentre=NUMBER`.
    pub fn parse(text: &str, units: Option<&UnitSystem>) -> Result<Orbit> {
        let word = Word { what: "the orbit", name: "", parameters: text };
        let length = Some(Kind::Length);
        let all = [
            ("separation", length),
            ("impact", length),
            ("speed", Some(Kind::Speed)),
            ("eccentricity", None),
            ("pericentre", length),
        ];
        let [separation, impact, speed, eccentricity, pericentre] = word.numbers(all, units)?;
        let separation = word.given("separation", separation, "the distance at the start")?;
        if separation <= 0.0 {
            return Err(word.wrong("separation", shown(separation), "lengths above 0".into()));
        }
        let alone = |name: &str, number: Option<f64>, with: &str| match number {
            Some(number) => Err(word.wrong(name, shown(number), format!("with {with} alone"))),
            None => Ok(()),
        };
        let motion = match (speed, eccentricity) {
            (Some(speed), None) => {
                alone("pericentre", pericentre, "eccentricity")?;
                let impact = impact.unwrap_or(0.0);
                if speed < 0.0 {
                    return Err(word.wrong("speed", shown(speed), "0 or more".into()));
                }
                if !(0.0..=separation).contains(&impact) {
                    let allowed = format!("0 to the separation, which is {}", shown(separation));
                    return Err(word.wrong("impact", shown(impact), allowed));
                }
                Motion::Straight { speed, impact }
            }
            (None, Some(eccentricity)) => {
                alone("impact", impact, "speed")?;
                let pericentre = word.given("pericentre", pericentre, "the smallest distance")?;
                if eccentricity < 0.0 {
                    return Err(word.wrong("eccentricity", shown(eccentricity), "0 or more".into()));
                }
                // The largest distance of an ellipse.
                let most = if eccentricity < 1.0 {
                    pericentre * (1.0 + eccentricity) / (1.0 - eccentricity)
                } else {
                    f64::INFINITY
                };
                if !(pericentre > 0.0 && pericentre <= separation) {
                    let allowed = format!("above 0, to the separation, which is {}", shown(separation));
                    return Err(word.wrong("pericentre", shown(pericentre), allowed));
                }
                if separation > most {
                    let allowed = format!("up to the largest distance of the ellipse, which is {}", shown(most));
                    return Err(word.wrong("separation", shown(separation), allowed));
                }
                Motion::Conic { eccentricity, pericentre }
            }
            (Some(speed), Some(_)) => {
                return Err(word.wrong("speed", shown(speed), "with separation and impact; or eccentricity".into()));
            }
            (None, None) => return Err(word.wrong("speed", NOT_GIVEN.into(), "a speed, or eccentricity".into())),
        };
        Ok(Orbit { separation, motion })
    }

    /// Returns where the second cluster is relative to the first, and how fast. `mass` is that of both
    /// times the gravitational constant.
    fn relative(&self, mass: f64) -> Star {
        let separation = self.separation;
        match self.motion {
            Motion::Straight { speed, impact } => {
                let ahead = ((separation - impact) * (separation + impact)).sqrt();
                Star { position: [ahead, impact, 0.0], velocity: [-speed, 0.0, 0.0] }
            }
            Motion::Conic { eccentricity, pericentre } => {
                let parameter = pericentre * (1.0 + eccentricity);
                let speed = (mass / parameter).sqrt();
                // The eccentricity times the cosine and the sine of the angle from the pericentre. Their
                // squares differ from that of the eccentricity by a product without cancellation.
                let cosine = parameter / separation - 1.0;
                let sine = ((eccentricity - cosine) * (eccentricity + cosine)).max(0.0).sqrt();
                let velocity = [-speed * sine, speed * parameter / separation, 0.0];
                Star { position: [separation, 0.0, 0.0], velocity }
            }
        }
    }

    /// Moves bodies, of which the first ones are one cluster and the others another, so that the clusters
    /// are on the orbit and the centre of mass of all rests in the origin.
    pub fn place(&self, gravity: f64, masses: &[f64], stars: &mut [Star], first: usize) -> Result<()> {
        let parts = [0..first, first..stars.len()];
        let mut of_parts = [0.0; 2];
        for ((part, which), mass) in parts.clone().into_iter().zip(["first", "second"]).zip(&mut of_parts) {
            let positive = |mass: &f64| *mass >= 0.0 && mass.is_finite();
            if let Some(bad) = masses[part.clone()].iter().copied().find(|mass| !positive(mass)) {
                let name = format!("a mass of the {which} cluster");
                return Err(Error::BadOption { name, value: shown(bad), allowed: "0 or more".into() });
            }
            let numbers = stars[part.clone()].iter().flat_map(|star| star.position.into_iter().chain(star.velocity));
            if let Some(value) = numbers.into_iter().find(|number| !number.is_finite()) {
                return Err(Error::NotFinite { what: format!("the motion of a body of the {which} cluster"), value });
            }
            *mass = sum(masses[part.clone()].iter().copied());
            if *mass <= 0.0 {
                let name = format!("the mass of the {which} cluster");
                return Err(Error::BadOption { name, value: shown(*mass), allowed: "numbers above 0".into() });
            }
            let stars = &mut stars[part.clone()];
            let mean = |of: fn(&Star) -> &Vector| {
                vector(|k| sum(masses[part.clone()].iter().zip(&*stars).map(|(m, star)| m * of(star)[k])) / *mass)
            };
            let back = Star {
                position: mean(|star| &star.position).map(|component| -component),
                velocity: mean(|star| &star.velocity).map(|component| -component),
            };
            stars.iter_mut().for_each(|star| star.shift(&back));
        }
        let relative = self.relative(gravity * (of_parts[0] + of_parts[1]));
        let origin = Star { position: [0.0; 3], velocity: [0.0; 3] };
        for (part, centre) in parts.into_iter().zip(apart(of_parts, &origin, &relative)) {
            stars[part].iter_mut().for_each(|star| star.shift(&centre));
        }
        let mut numbers = stars.iter().flat_map(|star| star.position.into_iter().chain(star.velocity));
        match numbers.find(|number| !number.is_finite()) {
            None => Ok(()),
            Some(value) => Err(Error::NotFinite { what: "the motion of a body of the two clusters".into(), value }),
        }
    }
}

#[cfg(test)]
mod tests {
    use kyoho_integrators::body::length;

    use super::*;

    /// Two points on an orbit, with masses 3 and 1 and the gravitational constant 2.
    fn relative(text: &str) -> Star {
        let mut stars = [Star { position: [5.0, 1.0, 2.0], velocity: [0.3, 0.0, 1.0] }; 2];
        Orbit::parse(text, None).unwrap().place(2.0, &[3.0, 1.0], &mut stars, 1).unwrap();
        for k in 0..3 {
            assert!((3.0 * stars[0].position[k] + stars[1].position[k]).abs() < 1e-15);
            assert!((3.0 * stars[0].velocity[k] + stars[1].velocity[k]).abs() < 1e-15);
        }
        Star {
            position: vector(|k| stars[1].position[k] - stars[0].position[k]),
            velocity: vector(|k| stars[1].velocity[k] - stars[0].velocity[k]),
        }
    }

    #[test]
    fn conic_sections_have_their_energy_and_angular_momentum() {
        let mass = 8.0;
        for (eccentricity, pericentre, separation) in
            [(0.0f64, 10.0, 10.0), (0.5, 2.0, 5.0), (0.5, 2.0, 6.0), (1.0, 0.5, 30.0), (1.7, 1.0, 12.0)]
        {
            let star =
                relative(&format!("separation={separation},eccentricity={eccentricity},pericentre={pericentre}"));
            assert!((length(&star.position) / separation - 1.0).abs() < 1e-14);
            let energy = 0.5 * length(&star.velocity).powi(2) - mass / separation;
            assert!(
                (energy + 0.5 * mass * (1.0 - eccentricity) / pericentre).abs() < 1e-13,
                "{eccentricity}: {energy}"
            );
            let momentum = star.position[0] * star.velocity[1] - star.position[1] * star.velocity[0];
            assert!((momentum.powi(2) / (mass * pericentre * (1.0 + eccentricity)) - 1.0).abs() < 1e-13);
            assert!(star.velocity[0] <= 0.0);
        }
    }

    #[test]
    fn a_straight_line_has_its_impact_parameter() {
        let star = relative("separation=5,speed=0.7,impact=3");
        for (found, expected) in [(star.position, [4.0, 3.0, 0.0]), (star.velocity, [-0.7, 0.0, 0.0])]
            .iter()
            .flat_map(|(a, b)| a.iter().zip(b))
        {
            assert!((found - expected).abs() < 1e-14, "{star:?}");
        }
    }

    #[test]
    fn orbits_that_are_wrong_are_refused_with_what_is_allowed() {
        for (text, said) in [
            ("speed=1", "the parameter 'separation' of the orbit is 'not given'"),
            ("separation=0,speed=1", "'separation' of the orbit is '0'; allowed: lengths above 0"),
            ("separation=1", "'speed' of the orbit is 'not given'; allowed: a speed, or eccentricity"),
            ("separation=1,speed=-1", "'speed' of the orbit is '-1'; allowed: 0 or more"),
            ("separation=1,speed=1,impact=2", "'impact' of the orbit is '2'; allowed: 0 to the separation, which is 1"),
            ("separation=1,speed=1,eccentricity=1", "'speed' of the orbit is '1'"),
            ("separation=1,speed=1,pericentre=1", "'pericentre' of the orbit is '1'; allowed: with eccentricity alone"),
            ("separation=1,eccentricity=1", "'pericentre' of the orbit is 'not given'"),
            ("separation=1,eccentricity=-1,pericentre=1", "'eccentricity' of the orbit is '-1'; allowed: 0 or more"),
            ("separation=1,eccentricity=1,pericentre=2", "'pericentre' of the orbit is '2'; allowed: above 0, to the"),
            (
                "separation=9,eccentricity=0.5,pericentre=2",
                "'separation' of the orbit is '9'; allowed: up to the largest",
            ),
            ("separation=1,angle=2", "a parameter of the orbit is 'angle'; allowed: separation, impact, speed,"),
            ("separation=1pc,speed=1", "'1pc'; allowed: a number; with units also one with its unit"),
        ] {
            let error = Orbit::parse(text, None).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let orbit = Orbit::parse("separation=1,speed=1", None).unwrap();
        let mut stars = [Star { position: [0.0; 3], velocity: [0.0; 3] }; 2];
        let error = orbit.place(1.0, &[1.0, 0.0], &mut stars, 1).unwrap_err().to_string();
        assert_eq!(error, "the mass of the second cluster is '0'; allowed: numbers above 0");
        for masses in [[1e308, 1e308], [5e-324, 1.0]] {
            let mut stars = [Star { position: [1.7e308, 0.0, 0.0], velocity: [0.0; 3] }; 2];
            let placed = orbit.place(1.0, &masses, &mut stars, 1);
            let finite = |star: &Star| star.position.iter().chain(&star.velocity).all(|number| number.is_finite());
            assert_eq!(placed.is_ok(), stars.iter().all(finite), "{placed:?}");
            assert!(placed.is_ok() || placed.unwrap_err().to_string().contains("allowed: finite"));
        }
        let error = orbit.place(1.0, &[f64::NAN, 0.0], &mut stars, 1).unwrap_err().to_string();
        assert_eq!(error, "a mass of the first cluster is 'NaN'; allowed: 0 or more");
    }
}
