//! Models whose forces trees find hard or easy.

use std::f64::consts::PI;

/// The bodies of a model.
#[derive(Clone)]
pub struct Bodies {
    /// The positions.
    pub positions: Vec<[f64; 3]>,
    /// The masses.
    pub masses: Vec<f64>,
}

/// A model with a name, made of a number of bodies, and softenings to be tried.
pub struct Model {
    /// The name.
    pub name: &'static str,
    /// Makes it.
    pub make: fn(usize) -> Bodies,
    /// The softenings.
    pub softenings: &'static [f64],
}

/// All models.
pub const MODELS: [Model; 14] = [
    Model { name: "Plummer", make: plummer, softenings: &[0.0, 0.01] },
    Model { name: "Hernquist", make: hernquist, softenings: &[0.0, 0.01] },
    Model { name: "clumps", make: clumps, softenings: &[0.0, 0.01] },
    Model { name: "cosmological sphere", make: cosmological, softenings: &[0.0, 0.025] },
    Model { name: "disc, h/R = 1e-2", make: |count| disc(count, 1e-2), softenings: &[0.0, 0.01] },
    Model { name: "disc, h/R = 1e-4", make: |count| disc(count, 1e-4), softenings: &[0.0, 1e-3, 0.01] },
    Model { name: "cusp of r^-2.9", make: cusp, softenings: &[0.0, 1e-3, 0.01] },
    Model { name: "line", make: line, softenings: &[0.0, 1e-3, 0.01] },
    Model { name: "even line", make: even_line, softenings: &[0.0, 0.01] },
    Model { name: "both signs, Plummer", make: both_signs, softenings: &[0.0, 0.01] },
    Model { name: "both signs, cube", make: salt, softenings: &[0.0, 0.01] },
    Model { name: "uniform", make: uniform, softenings: &[0.0, 0.01] },
    Model { name: "ball in a thin halo", make: ball_in_halo, softenings: &[0.0] },
    Model { name: "lone bodies far outside", make: far_outside, softenings: &[0.003] },
];

/// Random numbers, always the same.
pub struct Random(pub u64);

impl Random {
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn direction(&mut self) -> [f64; 3] {
        let z = 2.0 * self.uniform() - 1.0;
        let (sine, cosine) = (2.0 * PI * self.uniform()).sin_cos();
        let rho = (1.0 - z * z).sqrt();
        [rho * cosine, rho * sine, z]
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (2.0 * PI * self.uniform()).cos()
    }
}

fn of_equal_masses(positions: Vec<[f64; 3]>) -> Bodies {
    let masses = vec![1.0 / positions.len() as f64; positions.len()];
    Bodies { positions, masses }
}

/// A sphere in which a part of the mass is within a radius.
fn sphere(count: usize, radius: impl Fn(f64) -> f64) -> Bodies {
    let mut random = Random(count as u64);
    let position = |_| {
        let radius = radius(random.uniform());
        random.direction().map(|component| component * radius)
    };
    of_equal_masses((0..count).map(position).collect())
}

/// Plummer's model.
pub fn plummer(count: usize) -> Bodies {
    sphere(count, |mass| 1.0 / ((mass * 0.999).powf(-2.0 / 3.0) - 1.0).sqrt())
}

/// A uniform sphere.
pub fn uniform(count: usize) -> Bodies {
    sphere(count, f64::cbrt)
}

/// A uniform sphere of which two thirds are in a ball of a radius of 1e-5, beside which the distances in
/// the rest are large.
fn ball_in_halo(count: usize) -> Bodies {
    let mut bodies = uniform(count);
    let inner = bodies.positions.iter_mut().enumerate().filter(|(body, _)| !body.is_multiple_of(3));
    inner.for_each(|(_, position)| *position = position.map(|coordinate| 1e-5 * coordinate));
    bodies
}

/// A uniform sphere of which each hundredth body is 1000 times as far away.
fn far_outside(count: usize) -> Bodies {
    let mut bodies = uniform(count);
    bodies.positions.iter_mut().step_by(100).for_each(|position| *position = position.map(|x| 1000.0 * x));
    bodies
}

/// Hernquist's model.
pub fn hernquist(count: usize) -> Bodies {
    let radius = |mass: f64| {
        let root = (0.99 * mass).sqrt();
        root / (1.0 - root)
    };
    sphere(count, radius)
}

/// The mass within a radius is as its tenth root, from 1e-6 on.
fn cusp(count: usize) -> Bodies {
    let least = 1e-6_f64.powf(0.1);
    sphere(count, |mass| (least + (1.0 - least) * mass).powi(10))
}

/// A sphere with substructure that has collapsed: clumps within clumps around a dense middle.
pub fn clumps(count: usize) -> Bodies {
    let mut random = Random(7);
    let centers: Vec<([f64; 3], f64)> = (0..60)
        .map(|_| {
            let r = (0.05 * random.uniform().powf(-0.8)).min(20.0);
            (random.direction().map(|component| component * r), 0.03 * r * (0.2 + random.uniform()))
        })
        .collect();
    let position = |k: usize| {
        if k.is_multiple_of(3) {
            let (center, size) = centers[(random.uniform() * 60.0) as usize % 60];
            let r = size / (random.uniform().powf(-2.0 / 3.0) - 0.99).sqrt();
            let x = random.direction();
            std::array::from_fn(|k| center[k] + r * x[k])
        } else {
            let q = (0.98 * random.uniform()).sqrt();
            random.direction().map(|component| component * 0.05 * q / (1.0 - q))
        }
    };
    of_equal_masses((0..count).map(position).collect())
}

/// Galaxies and voids: the cosmological sphere at redshift 0, in Mpc, to 2 kpc. It is that of
/// `kyoho model cosmological-sphere --grid 28`, which `kyoho run` took there in 896 steps.
pub fn cosmological(_: usize) -> Bodies {
    let numbers: Vec<f64> = include_bytes!("cosmological_sphere.bin")
        .chunks_exact(2)
        .map(|bytes| f64::from(i16::from_le_bytes([bytes[0], bytes[1]])) * 2e-3)
        .collect();
    of_equal_masses(numbers.chunks_exact(3).map(|position| [position[0], position[1], position[2]]).collect())
}

/// Pairs, this far apart, whose middles are spread like normal numbers.
pub fn pairs(count: usize, separation: f64) -> Bodies {
    let mut random = Random(count as u64);
    let pair = |_| {
        let at: [f64; 3] = std::array::from_fn(|_| random.normal());
        let to = random.direction();
        [at, std::array::from_fn(|k| at[k] + separation * to[k])]
    };
    of_equal_masses((0..count / 2).flat_map(pair).collect())
}

/// A disc whose density falls as the exponential of the radius.
fn disc(count: usize, height: f64) -> Bodies {
    let mut random = Random(count as u64);
    let position = |_| {
        let radius = -((1.0 - random.uniform()) * (1.0 - random.uniform())).ln();
        let (sine, cosine) = (2.0 * PI * random.uniform()).sin_cos();
        [radius * cosine, radius * sine, height * random.normal()]
    };
    of_equal_masses((0..count).map(position).collect())
}

/// Bodies at random places of a line.
fn line(count: usize) -> Bodies {
    let mut random = Random(count as u64);
    of_equal_masses((0..count).map(|_| [random.uniform(), 0.0, 0.0]).collect())
}

/// Bodies at equal distances on a line, where the pulls of both sides cancel.
fn even_line(count: usize) -> Bodies {
    of_equal_masses((0..count).map(|k| [k as f64 / count as f64, 0.0, 0.0]).collect())
}

/// A Plummer model, every second body of which has a negative mass.
fn both_signs(count: usize) -> Bodies {
    let mut bodies = plummer(count);
    bodies.masses.iter_mut().step_by(2).for_each(|mass| *mass = -*mass);
    bodies
}

/// A cube of bodies whose masses have both signs by chance.
fn salt(count: usize) -> Bodies {
    let mut random = Random(count as u64);
    let positions: Vec<[f64; 3]> = (0..count).map(|_| [random.uniform(), random.uniform(), random.uniform()]).collect();
    let mut bodies = of_equal_masses(positions);
    bodies.masses.iter_mut().for_each(|mass| *mass *= if random.uniform() < 0.5 { -1.0 } else { 1.0 });
    bodies
}
