//! What ranks tell one another before they work together: that each can, and what has to be the same
//! on all.

use kyoho_core::{Error, Result, ResultCode, memory};
use kyoho_engine::System;

use crate::{Communicator, Ranks};

/// The numbers that a rank tells in a call.
pub type Told = [u64; 5];

/// The bytes of an error's text that other ranks get.
const TEXT: usize = 480;

/// The calls of all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Call {
    /// It has failed, wherever others are.
    Failed = 0,
    /// A system is made.
    Create = 1,
    /// A block begins.
    Start = 2,
    /// A block ends.
    Wait = 3,
    /// There is memory for what follows.
    Room = 4,
    /// Neighbour lists were made.
    Lists = 5,
    /// Work that all ranks do alike begins, or a part of it.
    Begin = 6,
    /// Such work ends.
    End = 7,
    /// The forces on sinks that all know are there.
    Forces = 8,
    /// A rank asks whether all go on.
    Ask = 9,
    /// A rank gives others bytes.
    Share = 10,
    /// The forces of a block are summed by a tree.
    Tree = 11,
    /// All ranks tell numbers.
    Tell = 12,
    /// The forces of interaction lists begin.
    StartLists = 13,
}

impl Call {
    /// What a rank does that calls this, by its number.
    fn words(number: u64) -> &'static str {
        match number {
            1 => "makes a system",
            2 => "starts a block",
            3 => "waits for a block",
            4 => "makes room",
            5 => "makes neighbour lists",
            6 => "begins",
            7 => "ends",
            8 => "has forces",
            9 => "asks whether to go on",
            10 => "shares bytes",
            11 => "sums by a tree",
            12 => "tells numbers",
            13 => "starts interaction lists",
            _ => "does what this version does not know",
        }
    }
}

/// What a rank tells: its call, the code of its error and the bytes of the text, and its numbers.
type Record = [u64; 8];

/// The code and the text of an error.
pub type Complaint = (ResultCode, String);

/// Returns the code and the text of an error.
pub fn complaint(error: &Error) -> Complaint {
    (error.code(), error.to_string())
}

/// Returns a number that hardly any other words have.
pub fn digest(words: impl IntoIterator<Item = u64>) -> u64 {
    words
        .into_iter()
        .fold(0x9e37_79b9_7f4a_7c15, |so_far, word| (so_far.rotate_left(23) ^ word).wrapping_mul(0x2545_f491_4f6c_dd1d))
}

/// The records of all ranks.
pub struct Agreement {
    records: Vec<Record>,
    counts: Vec<usize>,
    text: [u8; TEXT],
}

impl Agreement {
    /// Makes room for the records of all ranks.
    pub fn new(size: usize) -> Result<Agreement> {
        let records = memory::filled(size, Record::default(), "records of ranks")?;
        Ok(Agreement { records, counts: memory::filled(size, 0, "counts of ranks")?, text: [0; TEXT] })
    }

    /// Returns the numbers that each rank told.
    pub fn told(&self) -> impl ExactSizeIterator<Item = &[u64]> + Clone {
        self.records.iter().map(|record| &record[3..])
    }

    /// Tells all ranks, hears what they tell, and returns the error of the first that has one.
    pub fn exchange(
        &mut self,
        communicator: &mut dyn Communicator,
        call: Call,
        own: std::result::Result<Told, Complaint>,
    ) -> Result<()> {
        let mut record = Record::default();
        record[0] = call as u64;
        let mut text = "";
        let whole;
        match own {
            Ok(told) => record[3..].copy_from_slice(&told),
            Err((code, failed)) => {
                whole = failed;
                let end = (0..=TEXT.min(whole.len())).rev().find(|end| whole.is_char_boundary(*end));
                text = &whole[..end.unwrap_or(0)];
                (record[1], record[2]) = (code as u64, text.len() as u64);
                record[3] = digest(text.bytes().map(u64::from));
            }
        }
        self.counts.fill(size_of::<Record>());
        let received = bytemuck::cast_slice_mut(&mut self.records);
        communicator.all_gather(bytemuck::cast_slice(&record), received, &self.counts)?;
        self.require_one_call()?;
        let failed = self.records.iter().position(|record| record[1] != 0);
        failed.map_or(Ok(()), |rank| Err(self.error_of(rank, text, communicator)?))
    }

    /// Fails unless all ranks that have not failed make the same call.
    fn require_one_call(&self) -> Result<()> {
        let mut calls = self.records.iter().map(|record| record[0]).enumerate();
        let mut calls = calls.by_ref().filter(|(_, call)| *call != Call::Failed as u64);
        let Some((rank_of_first, first)) = calls.next() else { return Ok(()) };
        calls.find(|(_, call)| *call != first).map_or(Ok(()), |(rank, other)| {
            let [other, first] = [other, first].map(Call::words);
            let text = format!("it {other} where rank {rank_of_first} {first}; allowed: the same calls on all ranks");
            Err(Error::OfRank { rank, code: ResultCode::CallOrder, text })
        })
    }

    /// Whether all ranks told the same error.
    pub fn is_error_of_all(&self) -> bool {
        self.records.iter().all(|record| record[1] != 0 && record[1..4] == self.records[0][1..4])
    }

    /// Returns the error of the first rank that has one, whose text all ranks get.
    fn error_of(&mut self, rank: usize, own: &str, communicator: &mut dyn Communicator) -> Result<Error> {
        let [_, code, bytes, ..] = self.records[rank];
        self.counts.fill(0);
        self.counts[rank] = (bytes as usize).min(TEXT);
        let sent = if communicator.rank() == rank { own.as_bytes() } else { &[] };
        let received = &mut self.text[..self.counts[rank]];
        communicator.all_gather(sent, received, &self.counts)?;
        let code = i32::try_from(code).ok().and_then(ResultCode::from_number).unwrap_or(ResultCode::Internal);
        Ok(Error::OfRank { rank, code, text: String::from_utf8_lossy(received).into_owned() })
    }

    /// Fails for the first rank with another number at this place of its record than rank 0, with
    /// the code and the text that `error` makes of both.
    fn require_equal(&self, place: usize, error: impl Fn([u64; 2]) -> (ResultCode, String)) -> Result<()> {
        let first = self.records[0][place];
        let other = self.records.iter().position(|record| record[place] != first);
        other.map_or(Ok(()), |rank| {
            let (code, text) = error([self.records[rank][place], first]);
            Err(Error::OfRank { rank, code, text })
        })
    }

    /// Fails unless all ranks told the same number at a place. `name` says what it is, and `shown`
    /// how it is shown.
    pub fn require_same(&self, place: usize, name: &str, shown: impl Fn(u64) -> String) -> Result<()> {
        self.require_equal(3 + place, |values| {
            let [other, first] = values.map(&shown);
            (ResultCode::BadOption, format!("{name} is '{other}'; allowed: '{first}', as on rank 0"))
        })
    }

    /// Fails unless the systems that were made agree, and each rank has a number of its own.
    pub fn require_equal_systems(&self) -> Result<()> {
        let number = |value: u64| value.to_string();
        self.require_same(0, "the version of the library", |value| {
            format!("{}.{}.{}", value / 1_000_000, value / 1000 % 1000, value % 1000)
        })?;
        self.require_same(1, "the order of the system", number)?;
        self.require_same(2, "the precision and scope of the system", |value| {
            format!("precision {}, scope {}", value >> 32, value & 0xffff_ffff)
        })?;
        self.require_same(3, "the number of ranks of the communicator", number)?;
        let wrong = self.told().enumerate().find(|(rank, told)| told[4] != *rank as u64);
        wrong.map_or(Ok(()), |(rank, told)| {
            let text = format!("its communicator says that it is rank {}; allowed: {rank}, by what it sent", told[4]);
            Err(Error::OfRank { rank, code: ResultCode::BadOption, text })
        })
    }
}

/// Returns what a rank tells of its system.
pub fn of_system(system: &System, communicator: &dyn Communicator) -> Told {
    let number = |text: &str| text.parse().unwrap_or(0);
    let version = number(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 1000
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    let interaction = system.interaction();
    let kind = (interaction.precision as u64) << 32 | interaction.scope as u64;
    [version, interaction.order as u64, kind, communicator.size() as u64, communicator.rank() as u64]
}

impl Ranks {
    /// Tells all ranks that this one can go on, or why not, and returns on all the error of the first
    /// that cannot.
    pub fn agree(&mut self, call: Call, own: Result<Told>) -> Result<()> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let outcome = self.agreement.exchange(&mut *self.communicator, call, own.map_err(|error| complaint(&error)));
        self.note(outcome)
    }

    /// Notes the failure of a communicator.
    pub fn note<T>(&mut self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            if matches!(error, Error::CommunicatorFailed { .. }) {
                (self.lost, self.block) = (Some(error.clone()), None);
            }
        })
    }
}
