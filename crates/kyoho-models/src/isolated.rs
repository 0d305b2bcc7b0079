//! Models of isolated systems in standard N-body units (Heggie & Mathieu 1986, Lecture Notes in
//! Physics 267, 233).

use crate::Star;
use crate::random::Random;
use kyoho_core::Result;
use kyoho_core::memory::{self, room};
use kyoho_integrators::body::{Body, Vector, length, sum, vector};
use kyoho_integrators::energy::{Energies, Energy};

/// A model of bodies whose directions are drawn independently of their radii, and masses of both.
pub struct Isolated<'a> {
    /// The name in a file's first line.
    pub title: &'static str,
    /// The name in the text of a model.
    pub name: &'static str,
    /// The name of the bodies in errors about memory.
    pub bodies: &'static str,
    /// A sentence about the equilibrium.
    pub state: &'static str,
    /// Draws a body. The mean energies are about those of the standard model.
    pub draw: &'a (dyn Fn(&mut Random) -> Star + Sync),
    /// The energies of the standard model, of which the sum is -1/4.
    pub energy: Energy,
}

/// The energies of a model in virial equilibrium.
pub const VIRIAL: Energy = Energy { kinetic: 0.25, potential: -0.5, field: 0.0 };

/// The largest number of bodies for which the potential energy of a standard model is the sum over
/// all pairs. With more bodies it is that of shells.
pub const PAIRS: usize = 1 << 16;

/// The number of bodies that are drawn between two calls of a function that shows progress.
pub const PART: usize = 1 << 16;

impl Isolated<'_> {
    /// Returns a model of bodies of equal masses in standard N-body units, see [`Isolated::scale`].
    pub fn standard(&self, n: usize, seed: u64, energies: &mut Energies) -> Result<Vec<Star>> {
        let mut stars = self.stars(n, &mut Random(seed), &mut |_| ())?;
        self.scale(&mut stars, &[], energies)?;
        Ok(stars)
    }

    /// Moves and scales drawn bodies to standard N-body units, with total mass 1 and centre of mass at
    /// rest in the origin. `weights` are the masses over their mean; none: all are 1.
    ///
    /// Without softening, the energies are those of [`Isolated::energy`] up to rounding, not only on
    /// average. With more than [`PAIRS`] bodies the potential energy is that of shells, exact to about one
    /// part in the number of bodies.
    pub fn scale(&self, stars: &mut [Star], weights: &[f64], energies: &mut Energies) -> Result<()> {
        let n = stars.len();
        let energy = if n <= PAIRS {
            centre(stars, weights);
            let bodies = stars.iter().enumerate().map(|(place, star)| body(star, weight(weights, place), n));
            energies.of(&memory::collected(bodies, self.bodies)?)?
        } else {
            let potential = of_shells(stars, weights)?;
            centre(stars, weights);
            let squares = stars.iter().enumerate();
            let squares =
                squares.map(|(place, star)| weight(weights, place) / n as f64 * length(&star.velocity).powi(2));
            Energy { kinetic: 0.5 * sum(squares), potential, field: 0.0 }
        };
        let wider = energy.potential / self.energy.potential;
        let is_at_rest = self.energy.kinetic == 0.0;
        let faster = if is_at_rest { 1.0 } else { (self.energy.kinetic / energy.kinetic).sqrt() };
        for star in stars {
            star.position.iter_mut().for_each(|component| *component *= wider);
            star.velocity.iter_mut().for_each(|component| *component *= faster);
        }
        Ok(())
    }

    /// Draws the bodies of a model. Their centre of mass is in the origin only on average. `progress` is
    /// told how many more were drawn.
    pub fn stars(&self, n: usize, random: &mut Random, progress: &mut dyn FnMut(usize)) -> Result<Vec<Star>> {
        let mut stars = room(n, self.bodies)?;
        while stars.len() < n {
            let part = PART.min(n - stars.len());
            stars.extend((0..part).map(|_| (self.draw)(random)));
            progress(part);
        }
        Ok(stars)
    }
}

/// Returns the mass of a body over the mean one.
fn weight(weights: &[f64], place: usize) -> f64 {
    if weights.is_empty() { 1.0 } else { weights[place] }
}

/// Returns a body of a model of `n`, whose total mass is 1.
pub fn body(star: &Star, weight: f64, n: usize) -> Body {
    Body::new(weight / n as f64, star.position, star.velocity)
}

/// Returns the potential energy as if the mass of each body were a shell round the centre.
/// Directions are drawn independently of radii, so this is the mean over all directions. One model
/// differs from it by about one part in `n`.
fn of_shells(stars: &[Star], weights: &[f64]) -> Result<f64> {
    let shell = |(place, star): (usize, &Star)| (length(&star.position), weight(weights, place));
    let mut shells = memory::collected(stars.iter().enumerate().map(shell), "the radii of the model")?;
    shells.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let mut inside = 0.0;
    let energies = shells.iter().map(|(radius, weight)| {
        let energy = weight * inside / radius;
        inside += weight;
        energy
    });
    Ok(-sum(energies) / (stars.len() as f64).powi(2))
}

/// Moves the centre of mass to the origin and puts it to rest. `weights` are the masses over their
/// mean; none: all are 1.
pub fn centre(stars: &mut [Star], weights: &[f64]) {
    let n = stars.len() as f64;
    let mean = |of: fn(&Star) -> &Vector| {
        vector(|k| sum(stars.iter().enumerate().map(|(place, star)| weight(weights, place) * of(star)[k])) / n)
    };
    let (centre, drift) = (mean(|star| &star.position), mean(|star| &star.velocity));
    for star in stars {
        star.position = vector(|k| star.position[k] - centre[k]);
        star.velocity = vector(|k| star.velocity[k] - drift[k]);
    }
}

#[cfg(test)]
mod tests {
    use kyoho_core::{Order, Precision};
    use kyoho_engine::Setup;

    use super::*;
    use crate::hernquist::HERNQUIST;
    use crate::plummer::PLUMMER;
    use crate::uniform_sphere::{COLD_COLLAPSE, UNIFORM_SPHERE};

    const ALL: [&Isolated; 4] = [&PLUMMER, &HERNQUIST, &UNIFORM_SPHERE, &COLD_COLLAPSE];

    fn energies() -> Energies {
        Energies::new(&Setup::on_cpu(Order::Second, Precision::Double), 1.0, 0.0).unwrap()
    }

    fn bodies(stars: &[Star]) -> Vec<Body> {
        stars.iter().map(|star| body(star, 1.0, stars.len())).collect()
    }

    #[test]
    fn a_standard_model_has_its_energies_and_rests_in_the_origin() {
        let mut energies = energies();
        for model in ALL {
            let bodies = bodies(&model.standard(1000, 3, &mut energies).unwrap());
            let energy = energies.of(&bodies).unwrap();
            assert!((energy.kinetic - model.energy.kinetic).abs() < 1e-14, "{}: {energy:?}", model.name);
            assert!((energy.potential - model.energy.potential).abs() < 1e-14, "{}: {energy:?}", model.name);
            assert_eq!(model.energy.total(), -0.25);
            for k in 0..3 {
                assert!(sum(bodies.iter().map(|body| body.mass * body.position[k])).abs() < 1e-15);
                assert!(sum(bodies.iter().map(|body| body.mass * body.velocity[k])).abs() < 1e-15);
            }
        }
    }

    /// So the correction to the standard energies is small.
    #[test]
    fn a_model_has_the_standard_energies_on_average() {
        for model in ALL {
            let stars = model.stars(20_000, &mut Random(7), &mut |_| ()).unwrap();
            let kinetic = 0.5 * sum(stars.iter().map(|star| length(&star.velocity).powi(2))) / stars.len() as f64;
            let potential = of_shells(&stars, &[]).unwrap();
            assert!((kinetic - model.energy.kinetic).abs() < 0.01, "{}: {kinetic}", model.name);
            assert!((potential / model.energy.potential - 1.0).abs() < 0.03, "{}: {potential}", model.name);
        }
    }

    #[test]
    fn a_seed_names_a_model() {
        for model in ALL {
            let model = |seed| model.stars(10, &mut Random(seed), &mut |_| ()).unwrap();
            assert_eq!(model(1), model(1));
            assert_ne!(model(1), model(2));
        }
    }

    #[test]
    fn shells_have_the_potential_energy_of_the_pairs_to_one_part_in_their_number() {
        let mut energies = energies();
        for seed in 1..10 {
            let n = 4096;
            let mut stars = PLUMMER.stars(n, &mut Random(seed), &mut |_| ()).unwrap();
            let shells = of_shells(&stars, &[]).unwrap();
            centre(&mut stars, &[]);
            let pairs = energies.of(&bodies(&stars)).unwrap().potential;
            assert!((shells / pairs - 1.0).abs() < 5.0 / n as f64, "{seed}: {shells} {pairs}");
        }
    }

    #[test]
    fn a_large_model_has_the_energies_too() {
        let n = PAIRS + 1;
        let stars = PLUMMER.standard(n, 2, &mut energies()).unwrap();
        let kinetic = 0.5 * sum(stars.iter().map(|star| length(&star.velocity).powi(2))) / n as f64;
        assert!((kinetic - 0.25).abs() < 1e-14, "{kinetic}");
        // The centre of mass was moved to the origin. It is that of the shells except for one part
        // in the number of bodies.
        assert!((of_shells(&stars, &[]).unwrap() + 0.5).abs() < 1e-3);
        assert!(length(&vector(|k| sum(stars.iter().map(|star| star.position[k])) / n as f64)) < 1e-15);
    }
}
