//! What a device has to learn of the sources before a block.

use super::records::Records;
use super::sources::Sources;

/// What a device has to learn of the sources before a block, in this order.
#[derive(Clone, Copy)]
pub struct Updates<'a> {
    /// The host's copy, and what was written there since the last block.
    pub sources: &'a Sources,
    /// Whether more may have been written there: the device had no part in the last blocks.
    pub everything: bool,
    /// What was sent to others for the last blocks, no address twice.
    pub missed: Records<'a>,
    /// What comes after all that, no address twice.
    pub fresh: Records<'a>,
}

impl Updates<'_> {
    /// What was written in the host's copy, and nothing else.
    pub fn of(sources: &Sources) -> Updates<'_> {
        Updates { sources, everything: false, missed: Records::NONE, fresh: Records::NONE }
    }
}
