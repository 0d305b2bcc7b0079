//! Tests of `built_in`: each field against its formulas, written out here.

use crate::field::tests::{assert_same_by_blocks, assert_series, derivatives};
use crate::field::{Constants, FieldProgram, MOST};
use kyoho_core::Level;

use super::*;

const G: f64 = 1.7;
const PLACE: [f64; 3] = [0.9, -1.3, 0.6];
const VELOCITY: [f64; 3] = [0.3, 0.5, -0.2];

fn program(name: &str) -> FieldProgram {
    let field = BuiltIn::from_name(name).unwrap();
    FieldProgram::new(field.text, MOST, Level::best()).unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

fn potential(field: &FieldProgram, parameters: &[f64], place: [f64; 3]) -> f64 {
    let mut work = field.work().unwrap();
    field.begin(&mut work, &Constants { parameters, gravity: G, time: 0.0 });
    field.potential(&mut work, &[place, VELOCITY])
}

/// Asserts the acceleration and the potential at a place, up to relative errors of 1e-13, and that
/// further derivatives are differences.
fn assert_is(name: &str, parameters: &[f64], place: [f64; 3], acceleration: [f64; 3], phi: f64) {
    let field = program(name);
    let found = derivatives(&field, parameters, G, [place, VELOCITY])[0];
    let size = acceleration.iter().fold(0.0f64, |size, component| size.max(component.abs()));
    for (found, expected) in found.iter().zip(acceleration) {
        assert!((found - expected).abs() < 1e-13 * size, "{name}: {found:e} in place of {expected:e}");
    }
    let found = potential(&field, parameters, place);
    assert!((found - phi).abs() < 1e-13 * phi.abs(), "{name}: potential {found:e} in place of {phi:e}");
}

fn assert_all(name: &str, parameters: &[f64], acceleration: [f64; 3], phi: f64) {
    assert_is(name, parameters, PLACE, acceleration, phi);
    let field = program(name);
    assert_series(&field, parameters, G, [PLACE, VELOCITY]);
    assert_same_by_blocks(&field, parameters, G);
}

fn times(factor: f64, vector: [f64; 3]) -> [f64; 3] {
    vector.map(|component| factor * component)
}

fn norm2() -> f64 {
    PLACE.iter().map(|component| component * component).sum()
}

#[test]
fn spheres_have_their_formulas() {
    let (mass, a, r2) = (3.0, 0.8, norm2());
    let r = r2.sqrt();
    assert_all("point_mass", &[mass], times(-G * mass / (r * r2), PLACE), -G * mass / r);
    let s2 = r2 + a * a;
    assert_all("plummer", &[mass, a], times(-G * mass / s2.powf(1.5), PLACE), -G * mass / s2.sqrt());
    let pull = -G * mass / (r * (r + a).powi(2));
    assert_all("hernquist", &[mass, a], times(pull, PLACE), -G * mass / (r + a));
    let within = (1.0 + r / a).ln() - r / (r + a);
    let phi = -G * mass * (1.0 + r / a).ln() / r;
    assert_all("nfw", &[mass, a], times(-G * mass * within / (r * r2), PLACE), phi);
}

#[test]
fn the_centre_of_a_halo_loses_no_digits() {
    // m(x) / x^2 = 1/2 - 2 x / 3 + 3 x^2 / 4 - ...
    for r in [1e-9f64, 1e-5, 1e-3] {
        let within = 0.5 - 2.0 * r / 3.0 + 0.75 * r * r - 0.8 * r.powi(3) + 5.0 / 6.0 * r.powi(4);
        assert_is("nfw", &[2.0, 1.0], [0.0, r, 0.0], [0.0, -G * 2.0 * within, 0.0], -G * 2.0 * r.ln_1p() / r);
    }
    // On both sides of the change of formulas.
    for r in [0.0624f64, 0.0626] {
        let within = (r.ln_1p() - r / (1.0 + r)) / (r * r);
        assert_is("nfw", &[2.0, 1.0], [0.0, r, 0.0], [0.0, -G * 2.0 * within, 0.0], -G * 2.0 * r.ln_1p() / r);
    }
}

#[test]
fn disks_halos_and_tides_have_their_formulas() {
    let [x, y, z] = PLACE;
    let (mass, a, b) = (3.0, 0.8, 0.3);
    let high = (z * z + b * b).sqrt();
    let d2 = x * x + y * y + (a + high).powi(2);
    let pull = -G * mass / d2.powf(1.5);
    let acceleration = [pull * x, pull * y, pull * z * (a + high) / high];
    assert_all("miyamoto_nagai", &[mass, a, b], acceleration, -G * mass / d2.sqrt());

    let (speed, core, q) = (2.0, 0.4, 0.7);
    let s2 = x * x + y * y + z * z / (q * q) + core * core;
    let pull = -speed * speed / s2;
    let acceleration = [pull * x, pull * y, pull * z / (q * q)];
    assert_all("logarithmic_halo", &[speed, core, q], acceleration, 0.5 * speed * speed * s2.ln());

    let t = [0.3, -0.2, -0.1, 0.05, 0.02, -0.07];
    let pull = [t[0] * x + t[3] * y + t[4] * z, t[3] * x + t[1] * y + t[5] * z, t[4] * x + t[5] * y + t[2] * z];
    assert_all("tidal_tensor", &t, pull, -0.5 * (pull[0] * x + pull[1] * y + pull[2] * z));

    // Around a point, A = 3/4 and B = -1/4 of the angular velocity: the equations of Hill.
    let turn = 0.6;
    let [vx, vy, _] = VELOCITY;
    let acceleration = [3.0 * turn * turn * x + 2.0 * turn * vy, -2.0 * turn * vx, -turn * turn * z];
    let phi = 0.5 * turn * turn * (z * z - 3.0 * x * x);
    assert_all("solar_tide", &[0.75 * turn, -0.25 * turn, 0.0], acceleration, phi);
    let density = 0.1;
    let more = [0.0, 0.0, -4.0 * std::f64::consts::PI * G * density * z];
    let acceleration = [0, 1, 2].map(|k| acceleration[k] + more[k]);
    let phi = phi - 0.5 * more[2] * z;
    assert_all("solar_tide", &[0.75 * turn, -0.25 * turn, density], acceleration, phi);
}

/// Returns the integral of a function by Gauss and Legendre's rule of five points on each of many
/// parts.
fn integral(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    const PARTS: usize = 4000;
    let root = |sign: f64| (5.0 + sign * 2.0 * (10.0f64 / 7.0).sqrt()).sqrt() / 3.0;
    let weight = |sign: f64| (322.0 + sign * 13.0 * 70.0f64.sqrt()) / 900.0;
    let points = [
        (0.0, 128.0 / 225.0),
        (root(-1.0), weight(1.0)),
        (-root(-1.0), weight(1.0)),
        (root(1.0), weight(-1.0)),
        (-root(1.0), weight(-1.0)),
    ];
    let half = 0.5 * (to - from) / PARTS as f64;
    (0..PARTS)
        .map(|part| {
            let middle = from + (2 * part + 1) as f64 * half;
            points.iter().map(|(point, weight)| weight * half * function(middle + half * point)).sum::<f64>()
        })
        .sum()
}

/// The mass within a radius, that of all, and the potential of the shells beyond, of the density
/// r^-exponent exp(-r^2), up to the same factor.
fn shells(exponent: f64, r: f64) -> [f64; 3] {
    // With r = u^5 nothing is singular at the centre.
    let mass = |u: f64| 5.0 * u.powf(5.0 * (3.0 - exponent) - 1.0) * (-u.powi(10)).exp();
    let pull = |u: f64| 5.0 * u.powf(5.0 * (2.0 - exponent) - 1.0) * (-u.powi(10)).exp();
    let end = 45.0f64.powf(0.1);
    let u = r.powf(0.2);
    [integral(0.0, u, mass), integral(0.0, end, mass), if u < end { integral(u, end, pull) } else { 0.0 }]
}

#[test]
fn a_power_law_with_a_cutoff_is_the_integral_of_its_density() {
    let (mass, radius) = (3.0, 0.7);
    for exponent in [1.8, 0.5, 1.0, 0.0] {
        for r in [0.05, 0.6, 1.7, 1.72, 2.5, 6.0] {
            let [within, all, beyond] = shells(exponent, r / radius);
            let pull = -G * mass * within / all / (r * r);
            let phi = -G * mass * (within / all / r + beyond / all / radius);
            let direction = [0.6, 0.0, 0.8];
            let parameters = [mass, exponent, radius];
            assert_is("power_law_cutoff", &parameters, times(r, direction), times(pull, direction), phi);
        }
    }
    let field = program("power_law_cutoff");
    // On both sides of the change of formulas, which is at r = 1.71.
    for place in [PLACE, [1.0, -1.6, 0.8]] {
        assert_series(&field, &[mass, 1.8, radius], G, [place, VELOCITY]);
    }
    assert_same_by_blocks(&field, &[mass, 1.8, radius], G);
    for exponent in [-1.0, 2.0, 2.9, f64::INFINITY] {
        let error = power_law_cutoff::text(&[mass, exponent, radius]).unwrap_err().to_string();
        assert!(
            error.contains("the exponent of power_law_cutoff is ") && error.contains("from 0 to below 2"),
            "{error}"
        );
    }
}

/// The error function by its integral.
fn erf(x: f64) -> f64 {
    integral(0.0, x, |t| (-t * t).exp()) * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn friction_is_that_of_chandrasekhar() {
    let (mass, logarithm, speed, core) = (0.3, 5.0, 2.0, 0.4);
    let parameters = [mass, logarithm, speed, core];
    let field = program("chandrasekhar_friction");
    let s2 = norm2() + core * core;
    // The density of the halo, by Poisson's equation from its potential.
    let density = speed * speed / (4.0 * std::f64::consts::PI * G) * (norm2() + 3.0 * core * core) / (s2 * s2);
    // Below and above the velocity of the halo.
    for size in [0.5, 1.9, 2.1, 8.0] {
        let velocity = times(size / 0.38f64.sqrt(), VELOCITY);
        let x = size / speed;
        let slower = erf(x) - std::f64::consts::FRAC_2_SQRT_PI * x * (-x * x).exp();
        let pull = -4.0 * std::f64::consts::PI * G * G * mass * density * logarithm * slower / size.powi(3);
        let found = derivatives(&field, &parameters, G, [PLACE, velocity])[0];
        for (found, expected) in found.iter().zip(times(pull, velocity)) {
            assert!((found / expected - 1.0).abs() < 1e-12, "{size}: {found:e} in place of {expected:e}");
        }
        assert_series(&field, &parameters, G, [PLACE, velocity]);
    }
    // At small velocities the bracket is 4 X^3 / (3 sqrt(pi)).
    let slope = -4.0 * std::f64::consts::PI * G * G * mass * density * logarithm * 2.0 / 3.0
        * std::f64::consts::FRAC_2_SQRT_PI
        / speed.powi(3);
    for velocity in [[0.0; 3], [1e-9, 0.0, 0.0]] {
        let found = derivatives(&field, &parameters, G, [PLACE, velocity])[0];
        assert!((found[0] - slope * velocity[0]).abs() <= 1e-13 * (slope * velocity[0]).abs(), "{found:?}");
    }
    assert_same_by_blocks(&field, &parameters, G);
}

#[test]
fn kings_model_has_its_density_and_its_edge() {
    use std::f64::consts::PI;
    // The concentrations are those of King's article and of Binney & Tremaine 2008, figure 4.9.
    for (w0, concentration) in [(1.0, 0.296), (3.0, 0.672), (6.0, 1.255), (9.0, 2.120), (12.0, 2.739)] {
        let model = king::King::new(w0).unwrap();
        assert!((model.edge.log10() - concentration).abs() < 0.005, "{w0}: {}", model.edge.log10());
        let (mass, radius) = (3.0, 0.7);
        let parameters = [w0, mass, radius];
        let text = (BuiltIn::from_name("king").unwrap().made.unwrap())(&parameters).unwrap();
        let field = FieldProgram::new(&text, MOST, Level::best()).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        let pull = |r: f64| {
            let found = derivatives(&field, &parameters, G, [[0.6 * r, 0.0, 0.8 * r], VELOCITY])[0];
            assert!((found[0] / found[2] - 0.75).abs() < 1e-14 && found[1] == 0.0, "{found:?}");
            -found[2] / 0.8
        };
        let phi = |r: f64| potential(&field, &parameters, [0.0, r, 0.0]);
        // Outside it is a point, and nothing jumps at the edge.
        let edge = model.edge * radius;
        for r in [edge * (1.0 - 1e-9), edge * (1.0 + 1e-9), 3.0 * edge] {
            assert!((pull(r) * r * r / (G * mass) - 1.0).abs() < 1e-8 && (phi(r) * r / (G * mass) + 1.0).abs() < 1e-8);
        }
        // Inside the force is the slope of the potential, and the density is King's.
        let density =
            |depth: f64| depth.exp() * erf(depth.sqrt()) - (4.0 * depth / PI).sqrt() * (1.0 + 2.0 * depth / 3.0);
        let scale = G * mass / (model.mass * radius);
        assert!((phi(0.0) / (-scale * w0 - G * mass / edge) - 1.0).abs() < 1e-11, "{w0}");
        for part in [0.01, 0.1, 0.4, 0.8] {
            let (r, h) = (part * edge, 1e-4 * part * edge);
            let slope = (phi(r + h) - phi(r - h)) / (2.0 * h);
            assert!((pull(r) / slope - 1.0).abs() < 1e-7, "{w0} at {part}: {} {slope}", pull(r));
            let depth = -(phi(r) + G * mass / edge) / scale;
            let expected = 9.0 * density(depth) / density(w0) * scale / (radius * radius);
            let [before, after] = [r - h, r + h].map(|r| pull(r) * r * r);
            let found = (after - before) / (2.0 * h * r * r);
            assert!((found / expected - 1.0).abs() < 1e-5, "{w0} at {part}: {found} {expected}");
            assert!((king::density(depth) / density(depth) - 1.0).abs() < 1e-7);
        }
        assert_series(&field, &[w0, 0.1, 1.0], G, [[0.3, 0.2, -0.1], VELOCITY]);
        assert_same_by_blocks(&field, &parameters, G);
        let centre = derivatives(&field, &parameters, G, [[0.0; 3], VELOCITY]);
        assert!(centre.as_flattened().iter().all(|number| number.is_finite()), "{centre:?}");
    }
    for w0 in [0.05, 13.0, f64::NAN] {
        let error = king::King::new(w0).unwrap_err().to_string();
        assert!(error.contains("w0 of King's model is") && error.contains("allowed: 0.1 to 12"), "{error}");
    }
}

#[test]
fn the_milky_way_is_the_sum_of_its_parts() {
    // The Sun is at a radius of 8, and the circular velocity is 220 there.
    let (sun, speed) = (8.0f64, 220.0f64);
    let pull = speed * speed / sun;
    let [within_sun, all, _] = shells(1.8, sun / 1.9);
    let bulge = 0.05 * pull * sun * sun * all / within_sun;
    let disk = 0.6 * pull * (sun * sun + 3.28f64.powi(2)).powf(1.5) / sun;
    let halo = 0.35 * pull * sun * sun / ((1.0f64 + 0.5).ln() - 0.5 / 1.5);
    for place in [PLACE, [8.0, 0.0, 0.0], [-3.0, 12.0, 7.0]] {
        let at = |name: &str, parameters: &[f64]| {
            let field = program(name);
            let mut work = field.work().unwrap();
            field.begin(&mut work, &Constants { parameters, gravity: 1.0, time: 0.0 });
            let acceleration = field.one(&mut work, 0, &[place, VELOCITY]);
            (acceleration, field.potential(&mut work, &[place, VELOCITY]))
        };
        let parts = [
            at("power_law_cutoff", &[bulge, 1.8, 1.9]),
            at("miyamoto_nagai", &[disk, 3.0, 0.28]),
            at("nfw", &[halo, 16.0]),
        ];
        let acceleration = [0, 1, 2].map(|k| parts.iter().map(|part| part.0[k]).sum());
        let phi = parts.iter().map(|part| part.1).sum();
        assert_is("milky_way_2014", &[sun, speed], place, acceleration, phi);
    }
    let field = program("milky_way_2014");
    let at_sun = derivatives(&field, &[sun, speed], G, [[sun, 0.0, 0.0], VELOCITY])[0];
    assert!((at_sun[0] / pull + 1.0).abs() < 1e-14 && at_sun[1] == 0.0 && at_sun[2] == 0.0, "{at_sun:?}");
    assert_series(&field, &[1.0, 1.0], G, [PLACE, VELOCITY]);
    assert_same_by_blocks(&field, &[1.0, 1.0], G);
}
