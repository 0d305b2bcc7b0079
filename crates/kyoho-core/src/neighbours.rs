//! The sources within a radius of sinks.

/// For each sink the addresses of the sources within its radius, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NeighbourTable {
    /// Where the addresses of each sink begin, and behind the last sink the number of all.
    pub offsets: Vec<i64>,
    /// The addresses, those of a sink next to each other.
    pub addresses: Vec<i32>,
}

impl NeighbourTable {
    /// Returns the addresses of the sources within the radius of a sink.
    pub fn of(&self, sink: usize) -> &[i32] {
        &self.addresses[self.offsets[sink] as usize..self.offsets[sink + 1] as usize]
    }
}

/// Points, each with the squared radius within which sources are looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Neighbourhoods<'a> {
    /// The positions.
    pub positions: &'a [[f64; 3]],
    /// The squared radii.
    pub radii2: &'a [f64],
}

/// The sources within the radii of some points as a device finds them: in any order.
#[derive(Debug, Default)]
pub struct FoundNeighbours {
    /// Where those of each point begin, and behind the last point the number of all.
    pub starts: Vec<u64>,
    /// The addresses.
    pub addresses: Vec<u32>,
}
