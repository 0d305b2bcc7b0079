//! The square that a picture shows.

use kyoho_core::error::shown;
use kyoho_integrators::body::{Body, Vector, sum, vector};

/// The part of the mass, and of the bodies, that a square holds where its width is not given.
const HELD: f64 = 0.95;
/// How much wider the square is than that, and than all bodies.
const MARGINS: [f64; 2] = [1.3, 1.02];

/// A square, through which lines of sight go along the third axis.
pub struct Region {
    /// The centre.
    pub centre: Vector,
    /// The side.
    pub width: f64,
    /// The axes to the right and upward.
    pub axes: [usize; 2],
    /// Pixels a side.
    pub pixels: usize,
}

impl Region {
    /// Makes a square. Where nothing else is said, it is round the centre of mass and holds most of
    /// the mass with a margin, but is not larger than all bodies need.
    pub fn new(bodies: &[Body], centre: Option<Vector>, width: Option<f64>, axes: [usize; 2], pixels: usize) -> Region {
        let centre = centre.unwrap_or_else(|| usual_centre(bodies));
        let mut region = Region { centre, width: 1.0, axes, pixels };
        region.width = width.unwrap_or_else(|| {
            // By number too: beside a star with all of the mass, planets count.
            let by_number = within(bodies, HELD, |_| 1.0, |body| region.distance(body));
            let held = within(bodies, HELD, weight(bodies), |body| region.distance(body)).max(by_number);
            let width = (2.0 * MARGINS[0] * held).min(region.width_of_all(bodies));
            if width > 0.0 { rounded_up(width) } else { 1.0 }
        });
        region
    }

    /// Returns how far a body lies from the centre along the axis on which it is farther.
    fn distance(&self, body: &Body) -> f64 {
        self.axes.map(|k| (body.position[k] - self.centre[k]).abs()).into_iter().fold(0.0, f64::max)
    }

    /// Returns the width of a square that holds all bodies.
    pub fn width_of_all(&self, bodies: &[Body]) -> f64 {
        rounded_up(2.0 * MARGINS[1] * bodies.iter().map(|body| self.distance(body)).fold(0.0, f64::max))
    }

    /// Returns the number of the pixel in which a place lies, by rows from the top.
    pub fn pixel(&self, position: &Vector) -> Option<usize> {
        let [right, up] = self.axes.map(|k| (position[k] - self.centre[k]) / self.width + 0.5);
        let is_inside = [right, up].iter().all(|part| (0.0..=1.0).contains(part));
        // The last pixel has its outer border too.
        let number = |part: f64| ((part * self.pixels as f64) as usize).min(self.pixels - 1);
        is_inside.then(|| (self.pixels - 1 - number(up)) * self.pixels + number(right))
    }

    pub fn words(&self) -> String {
        // A centre of mass in the origin comes out with a rounding error.
        let is_zero = |number: f64| number.abs() < 1e-12 * self.width;
        let [x, y, z] = self.centre.map(|number| if is_zero(number) { "0".into() } else { shown(number) });
        format!("{} round {x},{y},{z}", shown(self.width))
    }
}

/// Returns the next number with three digits.
fn rounded_up(number: f64) -> f64 {
    let unit = 10f64.powf(number.log10().floor() - 2.0);
    let rounded = (number / unit * (1.0 - 1e-12)).ceil() * unit;
    format!("{rounded:.2e}").parse().ok().filter(|rounded: &f64| rounded.is_finite()).unwrap_or(number)
}

/// Returns the weight of a body in means: its mass or, if all have none, one.
fn weight(bodies: &[Body]) -> impl Fn(&Body) -> f64 {
    let has_mass = bodies.iter().any(|body| body.mass > 0.0);
    move |body| if has_mass { body.mass } else { 1.0 }
}

/// Returns the least number such that bodies of at least this part of all weight have at most that.
fn within(bodies: &[Body], part: f64, weight: impl Fn(&Body) -> f64, number: impl Fn(&Body) -> f64) -> f64 {
    let mut all: Vec<(f64, f64)> = bodies.iter().map(|body| (number(body), weight(body))).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wanted = part * sum(all.iter().map(|(_, weight)| *weight));
    let mut before = 0.0;
    let found = all.iter().find(|(_, weight)| {
        before += weight;
        before >= wanted
    });
    found.or(all.last()).map_or(0.0, |(number, _)| *number)
}

/// Returns the centre of mass, or the median of the mass in each coordinate if the centre of mass is
/// farther from that than three quarters of the mass: then few bodies far away have pulled it there.
fn usual_centre(bodies: &[Body]) -> Vector {
    let weight = weight(bodies);
    let mass = sum(bodies.iter().map(&weight));
    let mean = vector(|k| sum(bodies.iter().map(|body| weight(body) / mass * body.position[k])));
    let median = vector(|k| within(bodies, 0.5, &weight, |body| body.position[k]));
    let from_median = |place: &Vector| (0..3).map(|k| (place[k] - median[k]).powi(2)).sum::<f64>().sqrt();
    let most = within(bodies, 0.75, &weight, |body| from_median(&body.position));
    if from_median(&mean) <= most { mean } else { median }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(mass: f64, x: f64) -> Body {
        Body::new(mass, [x, 0.5 * x, 0.0], [0.0; 3])
    }

    /// Two hundred bodies from -1 to 1.
    fn cluster() -> Vec<Body> {
        (0..200).map(|number| body(1.0, (f64::from(number) - 99.5) / 99.5)).collect()
    }

    fn square(bodies: &[Body]) -> (Vector, f64) {
        let Region { centre, width, .. } = Region::new(bodies, None, None, [0, 1], 7);
        (centre, width)
    }

    #[test]
    fn the_square_holds_all_bodies_that_are_near_one_another_round_their_centre_of_mass() {
        let (centre, width) = square(&cluster());
        assert!(centre.iter().all(|x| x.abs() < 1e-14) && width == 2.04, "{centre:?} {width}");
        let (centre, width) = square(&[body(1.0, 0.0), body(1.0, 4.0)]);
        assert_eq!(centre, [2.0, 1.0, 0.0]);
        assert_eq!(width, 4.08);
        assert_eq!(square(&[body(2.0, 3.0)]), ([3.0, 1.5, 0.0], 1.0));
        assert_eq!(square(&[body(0.0, 3.0), body(0.0, 5.0)]).0, [4.0, 2.0, 0.0]);
    }

    #[test]
    fn widths_have_three_digits() {
        let rounded = [6.124055, 33.45, 2.04, 1e-9, 9.999, 1234567.0, 0.0, 1e-310].map(rounded_up);
        assert_eq!(rounded[..7], [6.13, 33.5, 2.04, 1e-9, 10.0, 1.24e6, 0.0]);
        assert!(rounded[7] >= 1e-310);
    }

    #[test]
    fn the_square_holds_planets_beside_a_star_with_all_of_the_mass() {
        let (centre, width) = square(&[body(1.0, 0.0), body(1e-6, 1.0), body(1e-3, 5.2)]);
        assert!(centre.iter().all(|x| x.abs() < 0.01) && (width - 2.04 * 5.2).abs() < 0.11, "{centre:?} {width}");
    }

    #[test]
    fn escapers_neither_move_nor_widen_the_square() {
        for escapers in [&[1e2][..], &[1e6], &[1e300], &[-1e4, 1e5, 1e5]] {
            let bodies: Vec<Body> = cluster().into_iter().chain(escapers.iter().map(|x| body(1.0, *x))).collect();
            let (centre, width) = square(&bodies);
            assert!(centre.iter().all(|x| x.abs() < 0.6), "{escapers:?}: {centre:?}");
            assert!((2.0..4.5).contains(&width), "{escapers:?}: {width}");
            let all = Region::new(&bodies, None, None, [0, 1], 7).width_of_all(&bodies);
            assert!(all > 1.9 * escapers.iter().fold(0.0, |most: f64, x| most.max(x.abs())), "{escapers:?}: {all}");
        }
    }
}
