//! The ranks of a system, by the functions that the caller gives for them.

use std::os::raw::c_void;

use kyoho_core::{Error, Result, memory};
use kyoho_ranks::Communicator;

use super::structures::{bad_field, kyoho_communicator, kyoho_options, read, require_unused};

/// The caller's functions, and memory for the counts and offsets that they take.
pub struct CallersCommunicator {
    given: kyoho_communicator,
    counts: [Vec<i32>; 2],
    offsets: [Vec<i32>; 2],
}

// SAFETY: the context is the caller's, who may call the library from any thread and gets it back
// there. Nothing else here belongs to a thread.
unsafe impl Send for CallersCommunicator {}

/// Returns the communicator of the caller's options, if they have one.
///
/// # Safety
/// The options are null or a structure, whose communicator is null or a structure.
pub unsafe fn of_options(options: *const kyoho_options) -> Result<Option<CallersCommunicator>> {
    if options.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, hence a structure.
    let communicator = unsafe { read("options", options) }?.communicator;
    // SAFETY: null or a structure.
    if communicator.is_null() { Ok(None) } else { unsafe { CallersCommunicator::new(communicator) }.map(Some) }
}

impl CallersCommunicator {
    /// Takes the functions of a structure.
    ///
    /// # Safety
    /// The communicator is a structure.
    pub unsafe fn new(communicator: *const kyoho_communicator) -> Result<CallersCommunicator> {
        // SAFETY: the caller's promise.
        let given = unsafe { read("kyoho_options.communicator", communicator) }?;
        if given.size < 1 {
            return Err(bad_field("kyoho_communicator.size", given.size, "1 or more"));
        }
        if !(0..given.size).contains(&given.rank) {
            return Err(bad_field("kyoho_communicator.rank", given.rank, format!("0 to {}", given.size - 1)));
        }
        require_unused("kyoho_communicator", given.reserved)?;
        let missing = |argument| Error::NullArgument { argument };
        given.all_gather.ok_or_else(|| missing("kyoho_communicator.all_gather"))?;
        given.all_to_all.ok_or_else(|| missing("kyoho_communicator.all_to_all"))?;
        let numbers = || memory::filled(given.size as usize, 0, "counts of ranks");
        Ok(CallersCommunicator { given, counts: [numbers()?, numbers()?], offsets: [numbers()?, numbers()?] })
    }
}

/// Fails if the options have a communicator, which a call takes none of.
///
/// # Safety
/// As for [`of_options`].
pub unsafe fn require_none(options: *const kyoho_options, call: &str) -> Result<()> {
    // SAFETY: the caller's promise.
    match unsafe { of_options(options) }? {
        None => Ok(()),
        Some(_) => Err(bad_field("kyoho_options.communicator", "a communicator", format!("NULL in {call}"))),
    }
}

/// Puts counts of bytes and their offsets in the numbers that callers take. No sum of counts is
/// above [`Communicator::most_bytes`].
fn put(counts: &[usize], to: (&mut [i32], &mut [i32])) {
    let mut begin = 0;
    for ((count, offset), given) in to.0.iter_mut().zip(to.1).zip(counts) {
        (*count, *offset) = (*given as i32, begin as i32);
        begin += given;
    }
}

/// Returns where bytes begin. That of a slice without any is an address that no caller has, and may be the
/// one by which an MPI means something else, such as `MPI_IN_PLACE`.
fn begin(bytes: &[u8]) -> *const c_void {
    static NOTHING: u8 = 0;
    if bytes.is_empty() { std::ptr::from_ref(&NOTHING).cast() } else { bytes.as_ptr().cast() }
}

/// Returns where bytes are to be written, as [`begin`] does.
fn begin_mut(bytes: &mut [u8]) -> *mut c_void {
    if bytes.is_empty() { begin(bytes).cast_mut() } else { bytes.as_mut_ptr().cast() }
}

fn outcome(function: &'static str, result: i32) -> Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(Error::CommunicatorFailed { function, result, allowed: "The system can only be freed" }),
    }
}

impl Communicator for CallersCommunicator {
    fn rank(&self) -> usize {
        self.given.rank as usize
    }

    fn size(&self) -> usize {
        self.given.size as usize
    }

    fn all_gather(&mut self, sent: &[u8], received: &mut [u8], counts: &[usize]) -> Result<()> {
        let CallersCommunicator { given, counts: [to, _], offsets: [offsets, _] } = self;
        put(counts, (to, offsets));
        let Some(function) = given.all_gather else { return outcome("all_gather", -1) };
        let (sent, count, received) = (begin(sent), sent.len() as i32, begin_mut(received));
        // SAFETY: the buffers have as many bytes as the counts say, and the function is the caller's.
        let result = unsafe { function(given.context, sent, count, received, to.as_ptr(), offsets.as_ptr()) };
        outcome("all_gather", result)
    }

    fn all_to_all(
        &mut self,
        sent: &[u8],
        sent_counts: &[usize],
        received: &mut [u8],
        received_counts: &[usize],
    ) -> Result<()> {
        let CallersCommunicator { given, counts: [out, back], offsets: [out_offsets, back_offsets] } = self;
        put(sent_counts, (out, out_offsets));
        put(received_counts, (back, back_offsets));
        let Some(function) = given.all_to_all else { return outcome("all_to_all", -1) };
        // SAFETY: the buffers have as many bytes as the counts say, and the function is the caller's.
        let result = unsafe {
            function(
                given.context,
                begin(sent),
                out.as_ptr(),
                out_offsets.as_ptr(),
                begin_mut(received),
                back.as_ptr(),
                back_offsets.as_ptr(),
            )
        };
        outcome("all_to_all", result)
    }

    fn abort(&self) {
        if let Some(abort) = self.given.abort {
            // SAFETY: the caller's own function.
            unsafe { abort(self.given.context) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an address is one of the first, of which an MPI may have one for `MPI_IN_PLACE`.
    fn is_low(address: *const c_void) -> i32 {
        i32::from((address as usize) < 4096)
    }

    unsafe extern "C" fn all_gather(
        _: *mut c_void,
        sent: *const c_void,
        _: i32,
        received: *mut c_void,
        _: *const i32,
        _: *const i32,
    ) -> i32 {
        is_low(sent) + is_low(received)
    }

    unsafe extern "C" fn all_to_all(
        _: *mut c_void,
        sent: *const c_void,
        _: *const i32,
        _: *const i32,
        received: *mut c_void,
        _: *const i32,
        _: *const i32,
    ) -> i32 {
        is_low(sent) + is_low(received)
    }

    #[test]
    fn exchanges_without_bytes_have_addresses_all_the_same() {
        let given = kyoho_communicator {
            structure_size: size_of::<kyoho_communicator>() as i32,
            rank: 0,
            size: 1,
            reserved: 0,
            context: std::ptr::null_mut(),
            all_gather: Some(all_gather),
            all_to_all: Some(all_to_all),
            abort: None,
        };
        // SAFETY: a structure.
        let mut ranks = unsafe { CallersCommunicator::new(&given) }.unwrap();
        ranks.all_gather(&[], &mut [], &[0]).unwrap();
        ranks.all_to_all(&[], &[0], &mut [], &[0]).unwrap();
    }
}
