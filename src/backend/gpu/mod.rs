//! What the GPU backends share: launch shapes, how a block is cut, what that costs, and how numbers travel.

pub mod chunks;
pub mod cut;
pub mod model;
pub mod pack;
pub mod shapes;
pub mod step;
