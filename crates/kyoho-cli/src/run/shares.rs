//! Runs in which each rank has a share of the bodies: those of a range of numbers, which are the places
//! of bodies in the input. The first rank reads and writes; bodies go to it and from it in pieces.

use std::io::{self, Write};
use std::ops::Range;

use kyoho_core::memory;
use kyoho_integrators::body::Body;
use kyoho_ranks::Team;
use sha2::{Digest, Sha256};

use crate::failure::{Failure, Result};
use crate::file;
use crate::run::output::Output;
use crate::run::snapshot::{Format, Snapshot, body, last_line, vectors};
use crate::run::watch::stride;

/// The shares of ranks.
pub struct Shares<'a> {
    team: &'a Team,
    /// The number of the bodies of all ranks.
    all: usize,
    /// How many different softenings these have, if they have some of their own.
    softenings: Option<usize>,
}

/// The most bodies that go from one rank to another at a time.
const PIECE: usize = 1 << 15;

/// Calls a function for each piece of some bodies.
fn each_piece(bodies: Range<usize>, piece: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
    let end = bodies.end;
    bodies.step_by(PIECE).map(|begin| begin..(begin + PIECE).min(end)).try_for_each(piece)
}

/// Returns the count of numbers in the row of a body of a snapshot, without its softening.
fn width(snapshot: &Snapshot) -> usize {
    2 + 3 * vectors(snapshot.plan.order)
}

/// Packs bodies of a snapshot at some places.
fn packed(snapshot: &Snapshot, bodies: &[Body], places: Range<usize>) -> Result<Vec<u8>> {
    let row = |place: usize| {
        let softening = snapshot.softenings.as_ref().map(|softenings| softenings[place]);
        snapshot.numbers(&bodies[place]).chain(softening).flat_map(f64::to_ne_bytes)
    };
    let bytes = places.len() * (width(snapshot) + 1) * size_of::<f64>();
    let mut packed = memory::room(bytes, "bodies for another rank")?;
    places.for_each(|place| packed.extend(row(place)));
    Ok(packed)
}

/// Appends packed bodies to those of a snapshot, and their softenings.
fn unpack(bytes: &[u8], snapshot: &Snapshot, bodies: &mut Vec<Body>, softenings: &mut Vec<f64>) -> Result<()> {
    let width = width(snapshot);
    let numbers = bytes.as_chunks().0.iter().map(|number| f64::from_ne_bytes(*number));
    let numbers = memory::collected(numbers, "bodies of another rank")?;
    for row in numbers.chunks_exact(width + usize::from(snapshot.softenings.is_some())) {
        memory::push(bodies, body(&row[..width]), "bodies")?;
        row[width..].iter().try_for_each(|softening| memory::push(softenings, *softening, "softenings"))?;
    }
    Ok(())
}

impl<'a> Shares<'a> {
    /// Divides the bodies that the first rank has at the start of a run, each of which goes to one rank.
    /// What others have goes.
    pub fn deal(team: &'a Team, start: &mut Snapshot<'static>, softenings: Option<usize>) -> Result<Shares<'a>> {
        let all = team.numbers([start.bodies.len() as u64])?[0][0] as usize;
        let shares = Shares { team, all, softenings };
        let (mut own, mut own_softenings) = (Vec::new(), Vec::new());
        memory::reserve(&mut own, shares.of(team.rank()).len(), "bodies")?;
        for rank in 1..team.size() {
            each_piece(shares.of(rank), |piece| {
                let bytes = if shares.is_first() { packed(start, &start.bodies, piece)? } else { Vec::new() };
                let came = team.send((0, rank), &bytes)?;
                unpack(&came, start, &mut own, &mut own_softenings)
            })?;
        }
        if shares.is_first() {
            // Bodies of others leave the memory.
            own.extend_from_slice(&start.bodies[shares.of(0)]);
            own_softenings.extend(start.softenings.iter().flat_map(|all| &all[shares.of(0)]));
        }
        start.softenings = start.softenings.is_some().then_some(own_softenings);
        start.bodies = own.into();
        Ok(shares)
    }

    fn is_first(&self) -> bool {
        self.team.rank() == 0
    }

    /// Returns how many bodies all ranks have.
    pub fn all(&self) -> usize {
        self.all
    }

    /// Returns the numbers of the bodies of a rank.
    fn of(&self, rank: usize) -> Range<usize> {
        let begin = |rank: usize| (self.all as u128 * rank as u128 / self.team.size() as u128) as usize;
        begin(rank)..begin(rank + 1)
    }

    /// Gives the first rank what `packed` makes of each piece of the bodies, on the rank that has them, from
    /// places among its own. There `take` gets it, in the order of numbers.
    fn gather(
        &self,
        packed: impl Fn(Range<usize>) -> Result<Vec<u8>>,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for rank in 0..self.team.size() {
            each_piece(0..self.of(rank).len(), |piece| {
                let bytes = if self.team.rank() == rank { packed(piece)? } else { Vec::new() };
                let came = if rank == 0 { bytes } else { self.team.send((rank, 0), &bytes)? };
                if self.is_first() { take(&came) } else { Ok(()) }
            })?;
        }
        Ok(())
    }

    /// Writes a snapshot of the bodies of all ranks, of which this one has some.
    pub fn write(&self, output: &mut Output, format: Format, meeting: &Snapshot, bodies: &[Body]) -> Result<()> {
        match format {
            Format::Text if self.is_first() => {
                output.write_by(meeting.number, |path| write_whole(path, |file| self.write_text(file, meeting, bodies)))
            }
            Format::Text => self.write_text(&mut io::sink(), meeting, bodies),
            Format::Hdf5 => {
                let (mut all, mut softenings) = (Vec::new(), Vec::new());
                self.gather(
                    |piece| packed(meeting, bodies, piece),
                    |came| unpack(came, meeting, &mut all, &mut softenings),
                )?;
                let softenings = meeting.softenings.is_some().then_some(softenings);
                let whole = Snapshot { bodies: all.into(), softenings, ..meeting.clone() };
                output.write_by(meeting.number, |path| whole.write(path, format))
            }
        }
    }

    /// Writes the text of a snapshot, on the first rank, from lines that each rank makes of its bodies.
    fn write_text(&self, to: &mut dyn Write, meeting: &Snapshot, bodies: &[Body]) -> Result<()> {
        let head = meeting.head((self.all, self.softenings));
        let mut digest = Sha256::new();
        let mut put = |bytes: &[u8]| -> Result<()> {
            digest.update(bytes);
            Ok(to.write_all(bytes)?)
        };
        put(head.as_bytes())?;
        let lines = |piece: Range<usize>| {
            let mut lines = String::new();
            piece.for_each(|place| meeting.row(&mut lines, place, &bodies[place]));
            Ok(lines.into_bytes())
        };
        self.gather(lines, &mut put)?;
        Ok(to.write_all(last_line(self.all, &digest.finalize()).as_bytes())?)
    }

    /// Returns on the first rank those of the bodies of all ranks that are shown.
    pub fn shown(&self, meeting: &Snapshot, bodies: &[Body]) -> Result<Vec<Body>> {
        let own = self.of(self.team.rank());
        let first = own.start.next_multiple_of(stride(self.all)) - own.start;
        let some = bodies.iter().skip(first).step_by(stride(self.all)).copied();
        let some = memory::collected(some, "bodies that are shown")?;
        let without = Snapshot { softenings: None, ..meeting.clone() };
        let own = packed(&without, &some, 0..some.len())?;
        let mut all = Vec::new();
        for rank in 0..self.team.size() {
            unpack(&self.team.send((rank, 0), &own)?, &without, &mut all, &mut Vec::new())?;
        }
        Ok(all)
    }
}

/// Writes a file that is there whole or not at all. Errors of other kinds than those of files stay what
/// they are.
fn write_whole(path: &std::path::Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut failure = None;
    let written = file::replace_by(path, |file| {
        let mut buffered = io::BufWriter::with_capacity(1 << 20, file);
        match content(&mut buffered) {
            Ok(()) => buffered.flush(),
            Err(Failure::Output(error)) => Err(error),
            Err(other) => {
                failure = Some(other);
                Err(io::ErrorKind::Other.into())
            }
        }
    });
    failure.map_or(written.map_err(|error| Failure::file(path, error)), Err)
}
