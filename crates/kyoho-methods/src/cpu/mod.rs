//! What methods share on the processors of the host.

pub mod lanes;
pub mod tiles;
