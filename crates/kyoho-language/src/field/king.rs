//! King's model (King 1966, AJ 71, 64), and the text of its field.
//!
//! Lengths are in King's radius, and `w` is the depth of the potential below that of the edge in
//! squares of the velocity dispersion. Poisson's equation is `w'' + 2 w' / x = -9 rho(w) / rho(w0)`,
//! which begins at the centre with `w0` and ends at the edge, where `w` is zero.

use std::fmt::Write as _;

use kyoho_core::error::shown;
use kyoho_core::{Error, Result, memory};

const WHAT: &str = "King's model";

/// The central depths that models may have.
const ALLOWED: std::ops::RangeInclusive<f64> = 0.1..=12.0;

/// The step of the integration in `t`, of which the distance from the centre is the hyperbolic sine.
const STEP: f64 = 1.0 / 2048.0;

/// The number of Chebyshev's polynomials.
const TERMS: usize = 60;

/// A place in a model: the depth there and its slope.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    t: f64,
    depth: f64,
    slope: f64,
}

/// A model.
#[derive(Debug, Clone, PartialEq)]
pub struct King {
    /// Where the density ends.
    pub edge: f64,
    /// The mass, in squares of the dispersion times King's radius over the gravitational constant.
    pub mass: f64,
    /// Chebyshev's coefficients of the depth in `y`, which goes from -1 to 1 as `log(1 + x^2)` goes
    /// from the centre to the edge.
    depth: Vec<f64>,
    /// Those of `-w' (1 + x^2) / x`.
    pull: Vec<f64>,
}

/// Returns the density at a depth, up to a factor: `e^w erf(sqrt(w)) - sqrt(4 w / pi) (1 + 2 w / 3)`,
/// by the series that is left of it.
pub fn density(depth: f64) -> f64 {
    if depth <= 0.0 {
        return 0.0;
    }
    let mut term = std::f64::consts::FRAC_2_SQRT_PI * depth * depth * depth.sqrt() * 4.0 / 15.0;
    let (mut sum, mut odd) = (0.0, 7.0);
    while sum + term != sum {
        sum += term;
        term *= 2.0 * depth / odd;
        odd += 2.0;
    }
    sum
}

impl King {
    /// Returns the model of a central depth.
    pub fn new(w0: f64) -> Result<King> {
        if !ALLOWED.contains(&w0) {
            return Err(Error::BadOption {
                name: "w0 of King's model".into(),
                value: shown(w0),
                allowed: format!("{} to {}", ALLOWED.start(), ALLOWED.end()),
            });
        }
        let central = density(w0);
        let centre = Place { t: 0.0, depth: w0, slope: 0.0 };
        let mut last = centre;
        loop {
            let next = last.after(STEP, central);
            if next.depth <= 0.0 {
                break;
            }
            last = next;
        }
        // By Newton's method to where the depth is zero.
        let mut edge = last;
        for _ in 0..8 {
            edge = edge.after(-edge.depth / (edge.slope * libm::cosh(edge.t)), central);
        }
        let radius = libm::sinh(edge.t);
        let length = libm::log1p(radius * radius);
        // The roots of Chebyshev's polynomial, from the centre to the edge.
        let mut place = centre;
        let mut values = memory::room(TERMS, WHAT)?;
        for node in 0..TERMS {
            let y = -libm::cos(angle(node, 1));
            let x = libm::expm1(0.5 * (1.0 + y) * length).sqrt();
            place = place.moved_to(libm::asinh(x), central);
            values.push([place.depth, -place.slope * (1.0 + x * x) / x]);
        }
        let series = |number: usize| {
            let coefficient = |k: usize| {
                let terms = values.iter().enumerate().map(|(node, value)| {
                    let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
                    sign * value[number] * libm::cos(angle(node, k))
                });
                terms.sum::<f64>() * if k == 0 { 1.0 } else { 2.0 } / TERMS as f64
            };
            memory::collected((0..TERMS).map(coefficient), WHAT)
        };
        Ok(King { edge: radius, mass: -edge.slope * radius * radius, depth: series(0)?, pull: series(1)? })
    }

    /// Returns the depth at a distance from the centre, up to the edge.
    pub fn depth(&self, x: f64) -> f64 {
        self.sum(&self.depth, x)
    }

    /// Returns the part of the mass within a distance from the centre, up to the edge.
    pub fn within(&self, x: f64) -> f64 {
        x * x * x * self.sum(&self.pull, x) / ((1.0 + x * x) * self.mass)
    }

    /// Adds up Chebyshev's polynomials, by Clenshaw's recurrence.
    fn sum(&self, coefficients: &[f64], x: f64) -> f64 {
        let y = 2.0 * libm::log1p(x * x) / libm::log1p(self.edge * self.edge) - 1.0;
        let (mut next, mut after) = (0.0, 0.0);
        for value in coefficients[1..].iter().rev() {
            (next, after) = (2.0 * y * next - after + value, next);
        }
        y * next - after + coefficients[0]
    }

    /// Returns the text of the field.
    fn text(&self) -> Result<String> {
        let lines = [
            ("edge2", number(self.edge * self.edge)),
            ("total", number(self.mass)),
            ("depth", sum("depth", &self.depth)),
            ("pull", sum("pull", &self.pull)),
        ];
        let mut text = memory::Text::new(WHAT);
        for line in include_str!("king.pair").lines() {
            let found = lines.iter().find(|(name, _)| line.strip_prefix("  ").is_some_and(|rest| is_set(rest, name)));
            match found {
                Some((name, value)) if value.contains('\n') => text.push(&format!("{value}  {name} = {name}0\n")),
                Some((name, value)) => text.push(&format!("  {name} = {value}\n")),
                None => text.push(&format!("{line}\n")),
            }
        }
        text.take()
    }
}

/// Returns `k (node + 1/2) pi / TERMS`.
fn angle(node: usize, k: usize) -> f64 {
    (k * (2 * node + 1)) as f64 * std::f64::consts::PI / (2 * TERMS) as f64
}

fn is_set(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" = f64("))
}

fn number(value: f64) -> String {
    format!("f64({value:e})")
}

/// Returns the lines that add up Chebyshev's polynomials in `y` by Clenshaw's recurrence, to `name0`.
fn sum(name: &str, coefficients: &[f64]) -> String {
    let largest = coefficients.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let count = 1 + coefficients.iter().rposition(|value| value.abs() > f64::EPSILON * largest).unwrap_or(0);
    let mut lines = format!("  {name}{count} = f64(0)\n  {name}{} = f64(0)\n", count + 1);
    for (k, value) in coefficients[..count].iter().enumerate().rev() {
        let factor = if k == 0 { "y" } else { "2 * y" };
        // A string takes everything.
        let _ = writeln!(lines, "  {name}{k} = {factor} * {name}{} - {name}{} + ({value:e})", k + 1, k + 2);
    }
    lines
}

impl Place {
    /// Returns the slopes of the depth and of its slope by `t`.
    fn slopes(&self, central: f64) -> [f64; 2] {
        let (x, stretch) = (libm::sinh(self.t), libm::cosh(self.t));
        let pull = -9.0 * density(self.depth) / central;
        // At the centre 2 w' / x is twice w''.
        let curvature = if x == 0.0 { pull / 3.0 } else { pull - 2.0 * self.slope / x };
        [stretch * self.slope, stretch * curvature]
    }

    /// Returns the place after a step, by Runge and Kutta's method of order 4.
    fn after(&self, step: f64, central: f64) -> Place {
        let moved = |by: f64, [depth, slope]: [f64; 2]| Place {
            t: self.t + by,
            depth: self.depth + by * depth,
            slope: self.slope + by * slope,
        };
        let first = self.slopes(central);
        let second = moved(0.5 * step, first).slopes(central);
        let third = moved(0.5 * step, second).slopes(central);
        let fourth = moved(step, third).slopes(central);
        let mean = [0, 1].map(|k| (first[k] + 2.0 * (second[k] + third[k]) + fourth[k]) / 6.0);
        moved(step, mean)
    }

    fn moved_to(&self, t: f64, central: f64) -> Place {
        let steps = ((t - self.t) / STEP).ceil().max(1.0);
        let step = (t - self.t) / steps;
        let mut place = *self;
        for _ in 0..steps as u64 {
            place = place.after(step, central);
        }
        Place { t, ..place }
    }
}

/// Returns the text of the field from the numbers of its parameters, of which the first is `w0`.
pub fn text(numbers: &[f64]) -> Result<String> {
    King::new(numbers[0])?.text()
}
