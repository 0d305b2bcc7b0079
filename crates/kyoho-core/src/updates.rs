//! The updates of the sources that a device needs before a block.

use super::records::Records;
use super::sources::Sources;

/// The updates of the sources that a device needs before a block, in the order of its fields.
#[derive(Clone, Copy)]
pub struct Updates<'a> {
    /// The host's copy, which lists what was written there since the last block.
    pub sources: &'a Sources,
    /// Whether more may have been written there, as the device had no part in the last blocks.
    pub everything: bool,
    /// The records that were sent to other devices for the last blocks, no address twice.
    pub missed: Records<'a>,
    /// The records that come after all that, no address twice.
    pub fresh: Records<'a>,
}

impl Updates<'_> {
    /// Returns the updates of what was written in the host's copy, and nothing else.
    pub fn of(sources: &Sources) -> Updates<'_> {
        Updates { sources, everything: false, missed: Records::NONE, fresh: Records::NONE }
    }
}
