//! Paths of bodies in a step, and those that come near each other.
//!
//! A path is the polynomial of fifth degree that has the positions, velocities and accelerations of
//! both ends. It lies within the hull of its control points, so that a few of these bound it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use kyoho_core::{Result, memory};

use super::body::{Body, Vector, length, vector};

/// The control points of the path of a body, or of the difference of two.
#[derive(Debug, Clone, Copy)]
pub struct Path([Vector; 6]);

/// A part of a step that is shorter than this counts as straight.
const SHORTEST: f64 = 1e-12;

/// A part of a path counts as straight where it is within this part of the distance that is looked for.
const STRAIGHT: f64 = 1e-9;

impl Path {
    /// Returns the path of a body from a place to another one, in a step.
    pub fn of(start: &Body, end: &Body, step: f64) -> Path {
        let points = |body: &Body, step: f64| -> [Vector; 3] {
            let Body { position, velocity, derivatives: [acceleration, ..], .. } = body;
            let along =
                |a: f64, b: f64| vector(|k| position[k] + step * (a * velocity[k] + b * step * acceleration[k]));
            [*position, along(0.2, 0.0), along(0.4, 0.05)]
        };
        let ([a, b, c], [f, e, d]) = (points(start, step), points(end, -step));
        Path([a, b, c, d, e, f])
    }

    /// Returns the path beside it at a distance.
    pub fn beside(&self, offset: &Vector) -> Path {
        Path(self.0.map(|point| vector(|k| point[k] + offset[k])))
    }

    /// Returns how the body is placed against another one on its path in the same time.
    pub fn against(&self, other: &Path) -> Path {
        Path(std::array::from_fn(|point| vector(|k| self.0[point][k] - other.0[point][k])))
    }

    /// Returns a sphere round the path of a body with this radius.
    pub fn sphere(&self, radius: f64) -> Sphere {
        let [first, .., last] = &self.0;
        let centre = vector(|k| 0.5 * (first[k] + last[k]));
        let from_centre = |point: &Vector| length(&vector(|k| point[k] - centre[k]));
        Sphere { centre, radius: self.0.iter().map(from_centre).fold(0.0, f64::max) + radius }
    }

    /// Returns the least distance from the origin, and the part of the step after which it is there; if
    /// it is below a limit.
    pub fn nearest(&self, limit: f64) -> Option<(f64, f64)> {
        let mut best = (limit, None);
        self.look(limit * STRAIGHT, (0.0, 1.0), &mut best);
        best.1.map(|part| (best.0, part))
    }

    /// Looks in a part of the step for what is nearer than the best so far.
    fn look(&self, straight: f64, (from, to): (f64, f64), best: &mut (f64, Option<f64>)) {
        let (distance, place, bend) = self.chord();
        // Not so where a distance is no number.
        let may_be_nearer = distance - bend < best.0;
        if !may_be_nearer {
            return;
        }
        if bend <= straight || to - from < SHORTEST {
            if distance < best.0 {
                *best = (distance, Some(from + place * (to - from)));
            }
            return;
        }
        let middle = 0.5 * (from + to);
        let (first, second) = self.halves();
        // A place on the path near the least one leaves little to look at.
        let there = length(&second.0[0]);
        if there < best.0 {
            *best = (there, Some(middle));
        }
        first.look(straight, (from, middle), best);
        second.look(straight, (middle, to), best);
    }

    /// Returns the distance of the straight line between the ends from the origin, the part of the line
    /// after which it is there, and how far the path may be from the line.
    fn chord(&self) -> (f64, f64, f64) {
        let [first, .., last] = &self.0;
        let along = vector(|k| last[k] - first[k]);
        let (towards, square): (f64, f64) =
            (0..3).fold((0.0, 0.0), |(t, s), k| (t - first[k] * along[k], s + along[k] * along[k]));
        let place = if square > 0.0 { (towards / square).clamp(0.0, 1.0) } else { 0.0 };
        let bend = (1..5).fold(0.0f64, |most, point| {
            let on_line = f64::from(point as u8) / 5.0;
            most.max(length(&vector(|k| self.0[point][k] - first[k] - on_line * along[k])))
        });
        (length(&vector(|k| first[k] + place * along[k])), place, bend)
    }

    /// Returns the paths in both halves of the step (de Casteljau).
    fn halves(&self) -> (Path, Path) {
        let (mut points, mut first, mut second) = (self.0, self.0, self.0);
        for level in 1..6 {
            for point in 0..6 - level {
                points[point] = vector(|k| 0.5 * (points[point][k] + points[point + 1][k]));
            }
            (first[level], second[5 - level]) = (points[0], points[5 - level]);
        }
        (Path(first), Path(second))
    }
}

/// A sphere.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sphere {
    /// The centre.
    pub centre: Vector,
    /// The radius.
    pub radius: f64,
}

impl Sphere {
    /// Returns how far it reaches out of another one.
    pub fn beyond(&self, other: &Sphere) -> f64 {
        self.apart(other) + self.radius - other.radius
    }

    /// Returns the distance of two centres.
    pub fn apart(&self, other: &Sphere) -> f64 {
        length(&vector(|k| self.centre[k] - other.centre[k]))
    }
}

/// A cell of a grid, for spheres of a kind and of sizes between those of its level and the level below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Cell {
    kind: Kind,
    at: [i64; 3],
}

/// The level of a cell, whose size is that power of two, and whether its bodies have a radius.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Kind {
    has_radius: bool,
    level: i32,
}

impl Kind {
    fn size(self) -> f64 {
        f64::from(self.level).exp2()
    }

    fn cell(self, place: f64) -> f64 {
        (place / self.size()).floor()
    }
}

/// Returns the level of spheres of a radius. A cell is at least as large as its spheres, also after
/// rounding.
fn level(radius: f64) -> i32 {
    let level = ((2.0 * (1.0 + STRAIGHT) * radius).log2() / LEVELS).ceil() * LEVELS;
    level.clamp(LIMITS[0], LIMITS[1]) as i32
}

/// Sizes of neighbouring levels differ by this power of two.
const LEVELS: f64 = 2.0;

/// The lowest and the highest level.
const LIMITS: [f64; 2] = [-960.0, 960.0];

/// Marks that no body follows in a cell.
const NOBODY: u32 = u32::MAX;

/// Spheres round the paths of bodies, by the places and sizes of these.
///
/// The bodies of a cell are a chain, so that one is put and taken without a look at others.
#[derive(Debug, Default)]
pub struct Spheres {
    bodies: Vec<Placed>,
    /// The first body of each cell.
    first: HashMap<Cell, u32, BuildHasherDefault<Mixer>>,
    /// The number of bodies of each kind, and the largest radius that was among them.
    kinds: Vec<(Kind, usize, f64)>,
    /// The level of most bodies, in which all smaller ones are too, so that a look at them does not
    /// need many cells.
    lowest: i32,
}

#[derive(Debug, Clone, Copy)]
struct Placed {
    sphere: Sphere,
    cell: Cell,
    before: u32,
    next: u32,
}

const WHAT: &str = "the paths of bodies";

impl Spheres {
    /// Begins anew with these spheres of bodies, each of which may have a radius.
    pub fn begin(&mut self, spheres: impl ExactSizeIterator<Item = (Sphere, bool)>) -> Result<()> {
        self.bodies.clear();
        self.first.clear();
        self.kinds.clear();
        memory::reserve(&mut self.bodies, spheres.len(), WHAT)?;
        for (sphere, has_radius) in spheres {
            let cell = Cell { kind: Kind { has_radius, level: 0 }, at: [0; 3] };
            self.bodies.push(Placed { sphere, cell, before: NOBODY, next: NOBODY });
        }
        self.lowest = level(self.usual_size()?);
        for number in 0..self.bodies.len() {
            let Placed { sphere, cell, .. } = self.bodies[number];
            self.put(number, sphere, cell.kind.has_radius)?;
        }
        Ok(())
    }

    /// Returns a size that is larger than the radii of most spheres, and larger than half of what most
    /// bodies are apart.
    fn usual_size(&self) -> Result<f64> {
        let n = self.bodies.len();
        let mut numbers = memory::room(n, WHAT)?;
        let mut nth = |nth: usize, number: &dyn Fn(&Placed) -> f64| {
            numbers.clear();
            numbers.extend(self.bodies.iter().map(number));
            if n == 0 { 0.0 } else { *numbers.select_nth_unstable_by(nth, f64::total_cmp).1 }
        };
        let large = nth(n / 4 * 3, &|body| body.sphere.radius);
        let middle: Vector = std::array::from_fn(|k| nth(n / 2, &|body| body.sphere.centre[k]));
        let middle = Sphere { centre: middle, radius: 0.0 };
        let extent = nth(n / 2, &|body| body.sphere.apart(&middle));
        Ok(large.max(extent / (n as f64).cbrt().max(1.0)))
    }

    /// Returns the sphere of a body.
    pub fn of(&self, number: usize) -> &Sphere {
        &self.bodies[number].sphere
    }

    /// Gives a body another sphere.
    pub fn change(&mut self, number: usize, sphere: Sphere) -> Result<()> {
        let Placed { cell, before, next, .. } = self.bodies[number];
        if next != NOBODY {
            self.bodies[next as usize].before = before;
        }
        match (before, next) {
            (NOBODY, NOBODY) => drop(self.first.remove(&cell)),
            (NOBODY, next) => drop(self.first.insert(cell, next)),
            (before, next) => self.bodies[before as usize].next = next,
        }
        if let Some(place) = self.kinds.iter().position(|(kind, ..)| *kind == cell.kind) {
            self.kinds[place].1 -= 1;
            if self.kinds[place].1 == 0 {
                self.kinds.swap_remove(place);
            }
        }
        self.put(number, sphere, cell.kind.has_radius)
    }

    fn put(&mut self, number: usize, sphere: Sphere, has_radius: bool) -> Result<()> {
        let kind = Kind { has_radius, level: level(sphere.radius).max(self.lowest) };
        let cell = Cell { kind, at: sphere.centre.map(|place| kind.cell(place) as i64) };
        self.first.try_reserve(1).map_err(|_| memory::none::<(Cell, u32)>(self.first.len() + 1, WHAT))?;
        let next = self.first.insert(cell, number as u32).unwrap_or(NOBODY);
        if next != NOBODY {
            self.bodies[next as usize].before = number as u32;
        }
        self.bodies[number] = Placed { sphere, cell, before: NOBODY, next };
        match self.kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, count, largest)) => (*count, *largest) = (*count + 1, largest.max(sphere.radius)),
            None => memory::push(&mut self.kinds, (kind, 1, sphere.radius), WHAT)?,
        }
        Ok(())
    }

    /// Calls a function for each body whose sphere meets this one; for bodies without a radius only if
    /// so wished.
    pub fn each_near(&self, sphere: &Sphere, with_all: bool, mut near: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let mut look = |number: usize| {
            let other = &self.bodies[number];
            let is_wanted = with_all || other.cell.kind.has_radius;
            let meets = is_wanted && sphere.apart(&other.sphere) <= sphere.radius + other.sphere.radius;
            if meets { near(number) } else { Ok(()) }
        };
        let kinds = || self.kinds.iter().filter(|(kind, ..)| with_all || kind.has_radius);
        let range = |(kind, _, largest): &(Kind, usize, f64), k: usize| {
            let reach = (1.0 + STRAIGHT) * (sphere.radius + largest);
            [-reach, reach].map(|reach| kind.cell(sphere.centre[k] + reach))
        };
        let cells = |of: &(Kind, usize, f64)| -> f64 {
            (0..3).map(|k| range(of, k)).map(|[low, high]| high - low + 1.0).product()
        };
        // Of a sphere without end the number is none.
        let are_few = kinds().map(cells).sum::<f64>() < self.bodies.len() as f64;
        if !are_few {
            return (0..self.bodies.len()).try_for_each(look);
        }
        for of in kinds() {
            let (kind, ..) = of;
            let [x, y, z] = [0, 1, 2].map(|k| range(of, k).map(|cell| cell as i64));
            let all = (x[0]..=x[1]).flat_map(|x| (y[0]..=y[1]).map(move |y| (x, y)));
            for at in all.flat_map(|(x, y)| (z[0]..=z[1]).map(move |z| [x, y, z])) {
                let mut number = self.first.get(&Cell { kind: *kind, at }).copied().unwrap_or(NOBODY);
                while number != NOBODY {
                    look(number as usize)?;
                    number = self.bodies[number as usize].next;
                }
            }
        }
        Ok(())
    }
}

/// A hash of whole numbers, which no one chooses to harm.
#[derive(Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.chunks(8).for_each(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        });
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_i32(&mut self, number: i32) {
        self.write_u64(i64::from(number).cast_unsigned());
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random;

    #[test]
    fn the_nearest_place_of_a_path_is_that_of_its_polynomial() {
        let mut random = random();
        for _ in 0..200 {
            let mut body = || {
                let mut body = Body::new(1.0, [0.0; 3].map(|_| random() - 0.5), [0.0; 3].map(|_| random() - 0.5));
                body.derivatives[0] = [0.0; 3].map(|_| 9.0 * (random() - 0.5));
                body
            };
            let (start, end) = (body(), body());
            let path = Path::of(&start, &end, 2.0);
            // The polynomial of fifth degree, by repeated halving of its control points.
            let mut parts = vec![path];
            for _ in 0..10 {
                parts = parts.iter().flat_map(|part| <[Path; 2]>::from(part.halves())).collect();
            }
            let least = parts.iter().map(|part| length(&part.0[0])).fold(length(&end.position), f64::min);
            let (found, place) = path.nearest(10.0).unwrap();
            assert!(found <= least && found > least - 1e-3, "{found} {least}");
            let there = length(&parts[((1024.0 * place) as usize).min(1023)].0[0]);
            assert!((there - found).abs() < 2e-2, "{there} {found}");
            assert_eq!(path.nearest(0.999 * found), None);
            assert!(path.nearest(1.001 * found).is_some());
        }
    }

    #[test]
    fn a_path_has_the_motion_of_its_ends() {
        // x = t^3 in a step of 2, whose acceleration is 6 t.
        let at = |t: f64| {
            let mut body = Body::new(1.0, [t.powi(3), 0.0, 0.0], [3.0 * t * t, 0.0, 0.0]);
            body.derivatives[0] = [6.0 * t, 0.0, 0.0];
            body
        };
        let (first, second) = Path::of(&at(1.0), &at(3.0), 2.0).halves();
        assert!((second.0[0][0] - 8.0).abs() < 1e-14 && (first.halves().1.0[0][0] - 3.375).abs() < 1e-14);
    }

    #[test]
    fn spheres_that_meet_are_found_wherever_they_go() {
        let mut random = random();
        let mut sphere = || Sphere { centre: [0.0; 3].map(|_| 4.0 * random() - 2.0), radius: 0.3 * random().powi(12) };
        const N: usize = 500;
        let mut all: Vec<Sphere> = (0..N).map(|_| sphere()).collect();
        let has_radius = |number: usize| !number.is_multiple_of(3);
        let mut spheres = Spheres::default();
        spheres.begin(all.iter().enumerate().map(|(number, sphere)| (*sphere, has_radius(number)))).unwrap();
        for round in 0..300 {
            let (number, with_all) = (7 * round % N, round % 2 == 0);
            all[number] = sphere();
            spheres.change(number, all[number]).unwrap();
            let asked = Sphere { radius: 0.3 * all[(3 * number) % N].radius, ..sphere() };
            let mut found = Vec::new();
            let see = |number: usize| {
                found.push(number);
                Ok(())
            };
            spheres.each_near(&asked, with_all, see).unwrap();
            found.sort_unstable();
            let meets = |number: &usize| {
                let other = &all[*number];
                (with_all || has_radius(*number)) && asked.apart(other) <= asked.radius + other.radius
            };
            let expected: Vec<usize> = (0..N).filter(meets).collect();
            assert_eq!(found, expected, "{round}");
        }
        // Bodies that have gone out of range meet none.
        for (place, radius) in [(f64::INFINITY, 0.1), (f64::NAN, 0.1), (0.0, f64::NAN), (1e300, 1e290)] {
            let lost = Sphere { centre: [place, 0.0, 0.0], radius };
            spheres.each_near(&lost, true, |number| panic!("{number}")).unwrap();
        }
    }
}
