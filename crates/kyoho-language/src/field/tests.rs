//! Tests of `field`.

use super::*;
use crate::blocks::LANES;

const PLUMMER: &str = "pair plummer
i pos: vec3<f64>
param mass: f64, radius: f64
result potential: f64 sum
body
  potential -= mass * rsqrt(norm2(i.pos) + radius^2)
";
const POSITION: [f64; 3] = [0.4, -0.7, 1.1];
const VELOCITY: [f64; 3] = [0.3, 0.5, -0.2];

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn assert_near(found: [f64; 3], expected: [f64; 3], error: f64) {
    for k in 0..3 {
        assert!((found[k] - expected[k]).abs() <= error, "{found:?} in place of {expected:?}");
    }
}

fn program(text: &str) -> FieldProgram {
    FieldProgram::new(text, MOST, Level::best()).unwrap_or_else(|fault| panic!("{fault}"))
}

fn derivatives_at(field: &FieldProgram, constants: &Constants, motion: [[f64; 3]; 2]) -> Vec<[f64; 3]> {
    let mut work = field.work().unwrap();
    field.begin(&mut work, constants);
    let mut motion = motion.to_vec();
    for number in 0..MOST {
        let next = field.one(&mut work, number, &motion);
        motion.push(next);
    }
    motion[2..].to_vec()
}

/// Returns the derivatives of the velocity of a body that no other force acts on.
pub fn derivatives(field: &FieldProgram, parameters: &[f64], gravity: f64, motion: [[f64; 3]; 2]) -> Vec<[f64; 3]> {
    derivatives_at(field, &Constants { parameters, gravity, time: 0.0 }, motion)
}

#[test]
fn a_potential_gives_the_acceleration_and_the_jerk_of_the_textbook() {
    let field = program(PLUMMER);
    let (mass, radius) = (3.0, 0.5);
    let found = derivatives(&field, &[mass, radius], 1.0, [POSITION, VELOCITY]);
    let s2 = dot(POSITION, POSITION) + radius * radius;
    let f = mass * s2.powf(-1.5);
    assert_near(found[0], POSITION.map(|x| -f * x), 1e-15);
    let slope = 3.0 * dot(POSITION, VELOCITY) / s2;
    assert_near(found[1], [0, 1, 2].map(|k| -f * (VELOCITY[k] - slope * POSITION[k])), 1e-14);
    let mut work = field.work().unwrap();
    field.begin(&mut work, &Constants { parameters: &[mass, radius], gravity: 1.0, time: 0.0 });
    let potential = field.potential(&mut work, &[POSITION]);
    assert!((potential + mass / s2.sqrt()).abs() < 1e-15);
    // The centre has no force, and every derivative is finite there.
    let centre = derivatives(&field, &[mass, radius], 1.0, [[0.0; 3], VELOCITY]);
    assert_near(centre[0], [0.0; 3], 0.0);
    assert_near(centre[1], VELOCITY.map(|v| -mass / radius.powi(3) * v), 1e-13);
}

/// Asserts that each derivative is the difference of the one before along the motion.
pub fn assert_series(field: &FieldProgram, parameters: &[f64], gravity: f64, motion: [[f64; 3]; 2]) {
    let (start, step) = (0.3, 1e-3);
    let at = |time: f64, motion| derivatives_at(field, &Constants { parameters, gravity, time }, motion);
    let here = at(start, motion);
    let [place, velocity] = motion;
    let along = |h: f64| {
        let [a, j, s, c] = [here[0], here[1], here[2], here[3]];
        let moved =
            |k: usize| h * (velocity[k] + h / 2.0 * (a[k] + h / 3.0 * (j[k] + h / 4.0 * (s[k] + h / 5.0 * c[k]))));
        let by = |k: usize| h * (a[k] + h / 2.0 * (j[k] + h / 3.0 * (s[k] + h / 4.0 * c[k])));
        let [moved, faster] = [[0, 1, 2].map(|k| place[k] + moved(k)), [0, 1, 2].map(|k| velocity[k] + by(k))];
        at(start + h, [moved, faster])
    };
    let (before, after) = (along(-step), along(step));
    for n in 0..MOST - 1 {
        let difference = [0, 1, 2].map(|k| (after[n][k] - before[n][k]) / (2.0 * step));
        let size = here[n + 1].iter().fold(1.0f64, |size, component| size.max(component.abs()));
        assert_near(here[n + 1], difference, 1e-4 * size);
    }
}

/// Asserts that blocks of bodies on every instruction set get the bits of one body after another.
pub fn assert_same_by_blocks(field: &FieldProgram, parameters: &[f64], gravity: f64) {
    let constants = Constants { parameters, gravity, time: 0.7 };
    let mut work = field.work().unwrap();
    field.begin(&mut work, &constants);
    let motions: Vec<[[f64; 3]; 2]> = (0..LANES - 3)
        .map(|body| {
            let at = |k: usize| (body as f64 * 0.37 + k as f64).sin() * (0.02 * body as f64 + 0.1);
            [[at(0), at(1), at(2)], [at(3), at(4), at(5)]]
        })
        .collect();
    for level in Level::available() {
        let blocks = FieldProgram {
            columns: Columns::new(&field.nodes, &field.levels, &field.derivatives, level).unwrap(),
            ..field.clone()
        };
        let mut work_of_blocks = blocks.work().unwrap();
        blocks.begin(&mut work_of_blocks, &constants);
        let mut all: Vec<Vec<[f64; 3]>> = motions.iter().map(|motion| motion.to_vec()).collect();
        for number in 0..2 {
            let vectors: Vec<[f64; 3]> = motions.iter().map(|motion| motion[number]).collect();
            blocks.put(&mut work_of_blocks, number, &vectors, &[0.0; 3]);
        }
        for number in 0..MOST {
            let mut next = Vec::new();
            blocks.many(&mut work_of_blocks, number, motions.len(), |_, vector| next.push(vector));
            blocks.put(&mut work_of_blocks, 2 + number, &next, &[0.0; 3]);
            all.iter_mut().zip(next).for_each(|(motion, next)| motion.push(next));
        }
        for motion in all {
            for number in 0..MOST {
                let one = field.one(&mut work, number, &motion[..2 + number]);
                assert_eq!(one.map(f64::to_bits), motion[2 + number].map(f64::to_bits), "{one:?} {motion:?}");
            }
        }
    }
}

#[test]
fn derivatives_are_differences_along_the_motion() {
    assert_series(&program(PLUMMER), &[3.0, 0.5], 1.0, [POSITION, VELOCITY]);
    let friction = "pair friction
i vel: vec3<f64>, pos: vec3<f64>
param rate: f64, time: f64
result acceleration: vec3<f64> sum
body
  acceleration -= rate * exp(-time) * sqrt(norm2(i.vel)) * i.vel
  acceleration -= i.pos * sin(time) * norm2(i.pos)
";
    assert_series(&program(friction), &[0.8], 1.0, [POSITION, VELOCITY]);
    assert_same_by_blocks(&program(friction), &[0.8], 1.0);
}

#[test]
fn a_text_that_is_no_field_is_refused_with_what_is_allowed() {
    let refused = |text: &str| FieldProgram::new(text, 2, Level::Portable).unwrap_err().to_string();
    let source = PLUMMER.replace("param", "j charge: f64\nparam");
    assert!(refused(&source).contains("'charge' is a value of the source; allowed: no section j"));
    assert!(refused(&PLUMMER.replace("i pos", "i pos: vec3<f64>, spin")).contains("'spin: vec3<f64>'"));
    assert!(refused(&PLUMMER.replace("radius^2", "scale^2")).contains("scale"));
    assert!(refused(&PLUMMER.replace("mass: f64", "mass: i32")).contains("f64"));
    assert!(refused(&PLUMMER.replace("mass", "centre")).contains("'centre'"));
    assert!(refused(&PLUMMER.replace("potential", "energy")).contains("potential: f64 sum"));
}
