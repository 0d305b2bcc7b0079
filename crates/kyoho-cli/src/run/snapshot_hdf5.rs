//! Snapshots in HDF5.
//!
//! The attributes of the root are the settings of the text format, and its datasets have a row for
//! each body. Subsystems have datasets of their own. The first 512 bytes (a user block, which readers of HDF5 skip) are a line with a
//! checksum of all that follows.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

use hdf5_pure::{AttrValue, Error, FileBuilder};

use crate::failure::{Failure, Result};
use crate::run::snapshot::{Snapshot, Value, check, checksum, vectors};
use crate::run::snapshot_header::Header;
use crate::run::softenings;
use crate::run::subsystems::{Subsystems, subsystem};
use kyoho_core::Order;
use kyoho_files::hdf5::Hdf5;
use kyoho_integrators::body::{Body, DERIVATIVES, Vector};
use kyoho_integrators::subsystems::Subsystem;

/// The number of bytes before those of HDF5. It is the smallest that the format allows.
const USER_BLOCK: usize = 512;

/// The beginning of the file.
const SIGNATURE: &str = "kyoho snapshot 2 in HDF5, ";

/// The datasets of vectors, as in [`Body::motion`].
const VECTORS: [&str; 2 + DERIVATIVES] = [
    "positions",
    "velocities",
    "accelerations",
    "jerks",
    "snaps",
    "crackles",
    "acceleration_derivatives_4",
    "acceleration_derivatives_5",
];

/// The number of rows that have a checksum of their own, which readers of HDF5 know. The library
/// HDF5 2.0 opens no chunks whose size has more bytes in the file than it needs; the sizes written
/// here have 1, 2 or 4, so that one of 3 would be refused.
const CHUNK: usize = 1 << 15;

/// Whether these bytes begin like an HDF5 file or one of these snapshots.
pub fn is_hdf5(content: &[u8]) -> bool {
    content.starts_with(SIGNATURE.as_bytes()) || hdf5_pure::is_hdf5_bytes(content)
}

/// Returns the user block of a file whose other bytes are these.
fn user_block(rest: &[u8]) -> Vec<u8> {
    let length = USER_BLOCK + rest.len();
    let mut block =
        format!("{SIGNATURE}{length} bytes, sha256 of those after the first {USER_BLOCK} {}\n", checksum(rest))
            .into_bytes();
    block.resize(USER_BLOCK, 0);
    block
}

/// Returns a snapshot as the bytes of a file.
pub fn bytes(snapshot: &Snapshot) -> std::result::Result<Vec<u8>, Error> {
    let mut file = FileBuilder::new();
    file.with_userblock(USER_BLOCK as u64);
    for (name, value) in snapshot.settings(snapshot.counts()) {
        let value = match value {
            Value::Count(count) => AttrValue::U64(count),
            Value::Number(number) => AttrValue::F64(number),
            Value::Name(name) => AttrValue::AsciiString(name.into()),
            Value::Text(text) => AttrValue::String(text),
        };
        file.set_attr(&name, value);
    }
    columns_of(&mut file, "", snapshot, snapshot.bodies.iter());
    if let Some(softenings) = &snapshot.softenings {
        column(&mut file, softenings::NAME, softenings.iter().map(|softening| [*softening]));
    }
    if let Some(subsystems) = snapshot.subsystems.as_ref().filter(|subsystems| !subsystems.all.is_empty()) {
        add_subsystems(&mut file, snapshot, subsystems);
    }
    let mut content = file.finish()?;
    let block = user_block(&content[USER_BLOCK..]);
    content[..USER_BLOCK].copy_from_slice(&block);
    Ok(content)
}

/// Adds the datasets of bodies, with a word before their names.
fn columns_of<'a>(
    file: &mut FileBuilder,
    prefix: &str,
    snapshot: &Snapshot,
    bodies: impl Iterator<Item = &'a Body> + Clone,
) {
    column(file, &format!("{prefix}masses"), bodies.clone().map(|body| [body.mass]));
    column(file, &format!("{prefix}steps"), bodies.clone().map(|body| [snapshot.step(body)]));
    for (place, name) in VECTORS.iter().enumerate().take(vectors(snapshot.plan.order)) {
        column(file, &format!("{prefix}{name}"), bodies.clone().map(|body| body.motion()[place]));
    }
}

/// What the names of the datasets of subsystems begin with. Those of bodies have rows for centres of mass.
const OF_SUBSYSTEMS: &str = "subsystem_";
/// The number of bodies of each, and whether others are close.
const SIZES: &str = "subsystem_sizes";
const ARE_CLOSE: &str = "subsystem_are_close";
/// Rows for the bodies of the first subsystem, those of the second, and so on: their numbers from 1, and
/// positions and velocities around the centre of mass.
const MEMBERS: &str = "subsystem_members";
const MOTIONS: [&str; 2] = ["subsystem_member_positions", "subsystem_member_velocities"];

/// Adds the datasets of subsystems.
fn add_subsystems(file: &mut FileBuilder, snapshot: &Snapshot, subsystems: &Subsystems) {
    let all = || subsystems.all.iter();
    columns_of(file, OF_SUBSYSTEMS, snapshot, all().map(|subsystem| &subsystem.centre));
    column(file, SIZES, all().map(|subsystem| [subsystem.members.len() as f64]));
    column(file, ARE_CLOSE, all().map(|subsystem| [f64::from(u8::from(subsystem.is_close))]));
    column(file, MEMBERS, all().flat_map(|subsystem| &subsystem.members).map(|member| [(member + 1) as f64]));
    column(file, MOTIONS[0], all().flat_map(|subsystem| &subsystem.inner.positions).copied());
    column(file, MOTIONS[1], all().flat_map(|subsystem| &subsystem.inner.velocities).copied());
}

/// Adds a dataset with a row for each body.
fn column<const N: usize>(file: &mut FileBuilder, name: &str, rows: impl Iterator<Item = [f64; N]>) {
    let numbers: Vec<f64> = rows.flatten().collect();
    let count = numbers.len() / N;
    let [shape, chunks] = [count, count.clamp(1, CHUNK)].map(|rows| [rows as u64, N as u64]);
    let dimensions = if N == 1 { 1 } else { 2 };
    let dataset = file.create_dataset(name).with_f64_data(&numbers);
    dataset.with_shape(&shape[..dimensions]).with_chunks(&chunks[..dimensions]).with_fletcher32();
}

/// Returns the bodies of a model, with a description and its units as attributes of the root, as the bytes
/// of a file that a run reads. Of each body there are the mass, the position and the velocity.
pub fn model(
    (description, units): (&str, Option<&str>),
    motions: impl Iterator<Item = (f64, Vector, Vector)> + Clone,
) -> std::result::Result<Vec<u8>, Error> {
    let mut file = FileBuilder::new();
    file.set_attr("description", AttrValue::String(description.into()));
    if let Some(units) = units {
        file.set_attr("units", AttrValue::String(units.into()));
    }
    column(&mut file, "masses", motions.clone().map(|(mass, ..)| [mass]));
    column(&mut file, VECTORS[0], motions.clone().map(|(_, position, _)| position));
    column(&mut file, VECTORS[1], motions.map(|(.., velocity)| velocity));
    file.finish()
}

/// Reads a snapshot from bytes, all of which are checked.
pub fn parse(content: Vec<u8>, path: &Path) -> Result<Snapshot<'static>> {
    check_bytes(&content).map_err(|reason| Failure::file(path, reason))?;
    let content = Content::of(content, path)?;
    let attributes = content.file.attributes("").map_err(|error| Failure::in_file(path, error))?;
    let words: HashMap<_, _> =
        attributes.iter().filter_map(|(name, value)| Some((name.clone(), (None, word(value)?)))).collect();
    let header = Header { words, path, missing: |name| format!("the attribute '{name}' is missing") };
    let (mut snapshot, count) = header.snapshot()?;
    let order = snapshot.plan.order;
    let bodies = content.bodies("", order, count)?;
    for (place, body) in bodies.iter().enumerate() {
        check(&snapshot.plan, body).map_err(|reason| Failure::file(path, format!("body {}: {reason}", place + 1)))?;
    }
    if let Some(softenings) = &mut snapshot.softenings {
        *softenings = content.numbers(softenings::NAME, 1, Some(count))?;
        let mut checked =
            softenings.iter().enumerate().map(|(place, softening)| (place, softenings::check(*softening)));
        checked.try_for_each(|(place, checked)| {
            checked.map_err(|reason| Failure::file(path, format!("body {}: {reason}", place + 1)))
        })?;
    }
    if let Some(subsystems) = &mut snapshot.subsystems {
        subsystems.all = content.subsystems(order, Subsystems::count(&header)?, count)?;
    }
    snapshot.with_bodies(bodies, path)
}

/// Checks that these are the bytes that were written.
fn check_bytes(content: &[u8]) -> std::result::Result<(), String> {
    let Some(told) = content.strip_prefix(SIGNATURE.as_bytes()) else {
        return Err(format!("it is not a snapshot: it does not begin with '{}'", SIGNATURE.trim_end()));
    };
    let digits = told.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let length = str::from_utf8(&told[..digits]).ok().and_then(|digits| digits.parse::<usize>().ok());
    match length {
        Some(length) if length != content.len() => {
            Err(format!("it has {} bytes, of {length} by its first line: it was truncated or extended", content.len()))
        }
        Some(_) if content.len() > USER_BLOCK && content[..USER_BLOCK] == user_block(&content[USER_BLOCK..]) => Ok(()),
        _ => Err(format!(
            "its bytes are not those that were written: the checksum in its first line is not that of what follows, \
             sha256 {}",
            checksum(content.get(USER_BLOCK..).unwrap_or_default())
        )),
    }
}

/// Returns the word that stands for an attribute's value in the text format.
fn word(value: &AttrValue) -> Option<String> {
    match value {
        AttrValue::U64(count) => Some(count.to_string()),
        AttrValue::I64(count) => Some(count.to_string()),
        AttrValue::F64(number) => Some(number.to_string()),
        AttrValue::AsciiString(name) | AttrValue::String(name) => Some(name.clone()),
        _ => None,
    }
}

/// Reads a dataset of numbers for each name, with as many components in a row as stand
/// beside it, from any file in HDF5. The numbers of a row follow one another.
pub fn columns<'a>(
    content: Vec<u8>,
    path: &Path,
    names: impl Iterator<Item = (&'a str, usize)>,
) -> Result<Vec<Vec<f64>>> {
    let content = Content::of(content, path)?;
    let numbers = |(name, width)| content.file.any_numbers(name, width, None);
    names.map(|named| numbers(named).map_err(|error| Failure::in_file(path, error))).collect()
}

/// A file whose structure was read.
struct Content<'a> {
    file: Hdf5,
    path: &'a Path,
}

impl<'a> Content<'a> {
    /// Reads the structure of a file.
    fn of(content: Vec<u8>, path: &'a Path) -> Result<Content<'a>> {
        let file = Hdf5::of(content).map_err(|error| Failure::in_file(path, error))?;
        Ok(Content { file, path })
    }

    /// Returns the bodies of the datasets with a word before their names.
    fn bodies(&self, prefix: &str, order: Order, count: usize) -> Result<Vec<Body>> {
        let masses = self.rows::<1>(&format!("{prefix}masses"), Some(count))?;
        let steps = self.rows::<1>(&format!("{prefix}steps"), Some(count))?;
        let names = VECTORS[..vectors(order)].iter();
        let vectors: Vec<Vec<Vector>> =
            names.map(|name| self.rows(&format!("{prefix}{name}"), Some(count))).collect::<Result<_>>()?;
        let body = |(place, ([mass], [step])): (usize, ([f64; 1], [f64; 1]))| {
            let mut body = Body { step, ..Body::new(mass, vectors[0][place], vectors[1][place]) };
            for (derivative, vectors) in body.derivatives.iter_mut().zip(&vectors[2..]) {
                *derivative = vectors[place];
            }
            body
        };
        Ok(masses.into_iter().zip(steps).enumerate().map(body).collect())
    }

    /// Returns this many subsystems of as many bodies, still without masses.
    fn subsystems(&self, order: Order, count: usize, bodies: usize) -> Result<Vec<Subsystem>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let centres = self.bodies(OF_SUBSYSTEMS, order, count)?;
        let sizes = self.whole_numbers(SIZES, count, 2..=bodies)?;
        let are_close = self.whole_numbers(ARE_CLOSE, count, 0..=1)?;
        let total = sizes.iter().sum();
        let members = self.whole_numbers(MEMBERS, total, 1..=bodies)?;
        let [positions, velocities] = MOTIONS.map(|name| self.rows::<3>(name, Some(total)));
        let mut rows = members.into_iter().zip(positions?.into_iter().zip(velocities?));
        let parts = centres.into_iter().zip(sizes.into_iter().zip(are_close));
        let subsystem = |(centre, (size, is_close))| {
            let rows: Vec<_> = rows.by_ref().take(size).collect();
            let members = rows.iter().map(|(number, _)| number - 1).collect();
            let motions = rows.iter().map(|(_, (position, velocity))| [*position, *velocity]);
            subsystem(members, centre, is_close == 1, motions)
        };
        Ok(parts.map(subsystem).collect())
    }

    /// Returns this many whole numbers of a range.
    fn whole_numbers(&self, name: &str, count: usize, range: RangeInclusive<usize>) -> Result<Vec<usize>> {
        let numbers = self.numbers(name, 1, Some(count))?;
        let is_wrong = |number: &f64| number.fract() != 0.0 || !range.contains(&(*number as usize)) || *number < 0.0;
        if let Some(row) = numbers.iter().position(is_wrong) {
            let (number, [least, most]) = (numbers[row], [range.start(), range.end()]);
            let allowed = format!("{number} in row {}; allowed: whole numbers from {least} to {most}", row + 1);
            return Err(Failure::file(self.path, format!("the dataset '{name}': {allowed}")));
        }
        Ok(numbers.into_iter().map(|number| number as usize).collect())
    }

    /// Returns the rows of a dataset, as [`Hdf5::rows`] does.
    fn rows<const N: usize>(&self, name: &str, count: Option<usize>) -> Result<Vec<[f64; N]>> {
        self.file.rows(name, count).map_err(|error| Failure::in_file(self.path, error))
    }

    /// Returns the numbers of a dataset, as [`Hdf5::numbers`] does.
    fn numbers(&self, name: &str, width: usize, count: Option<usize>) -> Result<Vec<f64>> {
        self.file.numbers(name, width, count).map_err(|error| Failure::in_file(self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use hdf5_pure::File;

    use crate::run::input::from_bytes;
    use crate::run::snapshot::tests::{in_fields, snapshot, with_softenings};

    use super::*;

    #[test]
    fn a_snapshot_comes_back_with_the_same_bits() {
        for order in Order::ALL {
            for snapshot in [in_fields(order), with_softenings(order)] {
                let content = bytes(&snapshot).unwrap();
                assert!(is_hdf5(&content) && hdf5_pure::is_hdf5_bytes(&content));
                assert_eq!(parse(content.clone(), Path::new("")).unwrap(), snapshot);
                let input = from_bytes(content, Path::new("")).unwrap();
                let expected: Vec<Body> = snapshot.bodies.iter().map(Body::without_forces).collect();
                assert_eq!((input.bodies, input.softenings), (expected, snapshot.softenings));
            }
        }
    }

    #[test]
    fn wrong_softenings_are_refused() {
        let error = |softenings: &[f64]| {
            let snapshot = Snapshot { softenings: Some(softenings.into()), ..snapshot(Order::Fourth) };
            let content = bytes(&snapshot).unwrap();
            let of_input = from_bytes(content.clone(), Path::new("snap")).err().unwrap().to_string();
            [parse(content, Path::new("snap")).unwrap_err().to_string(), of_input]
        };
        let [of_snapshot, of_input] = error(&[0.5, -0.5]);
        assert_eq!(of_snapshot, "snap: body 2: the softening is -0.5; allowed: zero and above");
        assert_eq!(of_input, "snap: the softening of body 2 is -0.5; allowed: zero and above");
        for error in error(&[0.5]) {
            assert_eq!(error, "snap: the dataset 'eps': its shape is [1]; allowed: [2]");
        }
    }

    #[test]
    fn many_bodies_are_in_several_chunks() {
        let few = snapshot(Order::Fourth);
        let bodies = (0..CHUNK + 10).map(|number| Body { mass: number as f64, ..few.bodies[number % 2] });
        let many = Snapshot { bodies: bodies.collect::<Vec<_>>().into(), ..few.clone() };
        assert!(parse(bytes(&many).unwrap(), Path::new("")).unwrap() == many);
    }

    #[test]
    fn a_model_comes_back_with_its_description() {
        let motions: Vec<_> = (0..3).map(|k| (k as f64, [0.1 + k as f64; 3], [1e-300 * k as f64; 3])).collect();
        let description = "line\n".repeat(1000);
        let content = model((&description, Some("pc Msun Myr")), motions.iter().copied()).unwrap();
        let file = File::from_bytes(content.clone()).unwrap();
        assert!(
            matches!(&file.root().attrs().unwrap()["description"], AttrValue::String(text) if *text == description)
        );
        assert!(matches!(&file.root().attrs().unwrap()["units"], AttrValue::String(text) if text == "pc Msun Myr"));
        let expected: Vec<Body> = motions.iter().map(|(mass, x, v)| Body::new(*mass, *x, *v)).collect();
        assert_eq!(from_bytes(content, Path::new("")).unwrap().bodies, expected);
    }

    #[test]
    fn whatever_is_cut_or_flipped_is_refused() {
        let content = bytes(&snapshot(Order::Fourth)).unwrap();
        let refused = |content: Vec<u8>| parse(content, Path::new("snap")).unwrap_err().to_string();
        for length in (0..content.len()).step_by(7).chain(content.len() - 20..content.len()) {
            refused(content[..length].to_vec());
        }
        for bit in (0..8 * content.len()).step_by(41) {
            let mut content = content.clone();
            content[bit / 8] ^= 1 << (bit % 8);
            refused(content);
        }
        let length = content.len();
        let cut = refused(content[..length - 1].to_vec());
        assert!(cut.contains(&format!("it has {} bytes, of {length}", length - 1)), "{cut}");
        let mut flipped = content.clone();
        flipped[length / 2] ^= 4;
        assert!(refused(flipped).contains("its bytes are not those that were written"));
        assert!(refused(content[USER_BLOCK..].to_vec()).contains("it is not a snapshot"));
    }

    #[test]
    fn datasets_that_cannot_be_bodies_are_refused() {
        let error = |masses: &[f64], positions: &[f64], shape: &[u64]| {
            let mut file = FileBuilder::new();
            file.create_dataset("masses").with_f64_data(masses);
            file.create_dataset("positions").with_f64_data(positions).with_shape(shape);
            file.create_dataset("velocities").with_f64_data(&[0.0; 6]).with_shape(&[2, 3]);
            from_bytes(file.finish().unwrap(), Path::new("model")).err().unwrap().to_string()
        };
        let shape = "model: the dataset 'positions': its shape is [3, 2]; allowed: [2, 3]";
        assert_eq!(error(&[1.0; 2], &[0.0; 6], &[3, 2]), shape);
        assert!(error(&[1.0; 3], &[0.0; 6], &[2, 3]).contains("allowed: [3, 3]"));
        let nan = "model: the dataset 'positions': NaN in row 2; allowed: finite numbers";
        assert_eq!(error(&[1.0; 2], &[0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0], &[2, 3]), nan);
        assert!(error(&[1.0, -1.0], &[0.0; 6], &[2, 3]).contains("the mass of body 2 is -1"));
        let none = from_bytes(FileBuilder::new().finish().unwrap(), Path::new("model")).err().unwrap().to_string();
        assert!(none.starts_with("model: it is HDF5 with no groups and no datasets; allowed: HDF5 with"), "{none}");
    }
}
