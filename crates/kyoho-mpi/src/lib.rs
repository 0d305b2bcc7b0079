//! The command `kyoho-mpi` as far as it knows no MPI. `main.c`, which the compiler of an MPI makes into a
//! program with this, hands the ranks in.

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;

use kyoho::abi::native::communicators::CallersCommunicator;
use kyoho::abi::native::structures::kyoho_communicator;

/// Does what the words of the command line ask of these ranks, all of which call this. Returns the exit
/// status.
///
/// # Safety
/// `words` has as many texts as `count` says, and the communicator is a structure that lives as long as
/// the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kyoho_command_of_ranks(
    count: c_int,
    words: *const *const c_char,
    communicator: *const kyoho_communicator,
) -> c_int {
    let word = |number: usize| -> OsString {
        // SAFETY: a text, as the number is below the count.
        let text = unsafe { CStr::from_ptr(*words.add(number)) };
        OsStr::from_bytes(text.to_bytes()).to_owned()
    };
    // SAFETY: a structure.
    match unsafe { CallersCommunicator::new(communicator) } {
        Ok(ranks) => kyoho_cli::main_of_ranks((0..count.max(0) as usize).map(word), Box::new(ranks)).into(),
        Err(error) => {
            eprintln!("kyoho: {error}");
            1
        }
    }
}
