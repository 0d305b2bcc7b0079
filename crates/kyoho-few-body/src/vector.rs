//! Vectors of three components, as arrays.

pub type Vector = [f64; 3];

pub const ZERO: Vector = [0.0; 3];

pub fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub fn norm(a: Vector) -> f64 {
    dot(a, a).sqrt()
}

pub fn scaled(factor: f64, a: Vector) -> Vector {
    [factor * a[0], factor * a[1], factor * a[2]]
}

pub fn sum(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub fn difference(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Adds `factor` times `b` to `a`.
pub fn add_scaled(a: &mut Vector, factor: f64, b: Vector) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}
