//! Arrays of the caller that lie in the memory of a device.

use super::{BodyColumns, MAX_DERIVATIVES};

/// An array of the caller in the memory of a device: rows of numbers, each aligned to its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceArray {
    /// The caller's name for it.
    pub name: &'static str,
    /// The address of the first row on the device.
    pub address: u64,
    /// The bytes from one row to the next, not 0.
    pub stride: i64,
    /// The bytes of a row.
    pub width: usize,
}

impl DeviceArray {
    /// Returns the lowest address and the number of bytes of this many rows.
    pub fn extent(&self, rows: usize) -> (u64, usize) {
        let reach = self.stride.saturating_mul(rows.saturating_sub(1) as i64);
        let lowest = self.address.saturating_add_signed(reach.min(0));
        (lowest, (reach.unsigned_abs() as usize).saturating_add(self.width))
    }

    /// Whether the rows follow one another.
    pub fn is_packed(&self) -> bool {
        self.stride == self.width as i64
    }

    /// Returns the address of a row.
    pub fn row(&self, row: usize) -> u64 {
        self.address.wrapping_add_signed(self.stride.wrapping_mul(row as i64))
    }
}

/// The device that arrays of a call lie on, and the caller's stream of work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DevicePlace {
    /// The name of the structure that has the arrays.
    pub name: &'static str,
    /// The number of the device.
    pub device: i32,
    /// The driver's number of the stream; 0 is the default stream.
    pub stream: u64,
}

impl DevicePlace {
    /// The device's staging area: addresses of arrays there are counted from its start, and no
    /// stream of the caller's is involved.
    pub const STAGING: DevicePlace = DevicePlace { name: "the staging area", device: -1, stream: 0 };
}

/// Sources or sinks of a call on a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceBodies {
    /// Where the arrays lie.
    pub place: DevicePlace,
    /// The arrays.
    pub columns: BodyColumns<DeviceArray>,
}

impl DeviceBodies {
    /// Whether they have positions alone, and indices or none.
    pub fn are_positions(&self) -> bool {
        let [positions, ..] = self.columns.derivatives;
        positions.is_some() && self.given().count() == 1 + usize::from(self.columns.indices.is_some())
    }

    /// Returns the arrays that are there.
    pub fn given(&self) -> impl Iterator<Item = DeviceArray> {
        self.columns.given()
    }
}

/// The places on a device that forces are written to, as far as they are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceForces {
    /// Where the arrays lie.
    pub place: DevicePlace,
    /// The potentials.
    pub potentials: Option<DeviceArray>,
    /// The accelerations, jerks, snaps and crackles.
    pub derivatives: [Option<DeviceArray>; MAX_DERIVATIVES],
    /// The indices of the nearest sources; -1 where there is none.
    pub nearest: Option<DeviceArray>,
    /// The squared distances of the nearest sources.
    pub nearest_distance2: Option<DeviceArray>,
}

impl DeviceForces {
    /// Returns the arrays that are there.
    pub fn given(&self) -> impl Iterator<Item = DeviceArray> {
        [self.potentials, self.nearest, self.nearest_distance2].into_iter().chain(self.derivatives).flatten()
    }
}

/// Groups of interaction lists whose offsets or ranges lie in arrays of the caller.
#[derive(Debug, Clone, Copy)]
pub struct DeviceGroups {
    /// Where the arrays lie.
    pub place: DevicePlace,
    /// The number of groups, 1 or more.
    pub count: usize,
    /// The first sink of each group, and behind them the number of sinks, in 32 bits.
    pub sinks: DeviceArray,
    /// The number of sinks.
    pub sink_count: usize,
    /// The sources of each group.
    pub sources: DeviceSources,
}

/// The sources of groups that are on a device.
#[derive(Debug, Clone, Copy)]
pub enum DeviceSources {
    /// The first address of each group, and the number of its addresses, in 32 bits.
    Ranges(DeviceArray, DeviceArray),
    /// The first place of each group in a list of addresses, and behind them the number of all, in
    /// 64 bits.
    Addresses(DeviceArray),
    /// As [`DeviceSources::Addresses`], in a list of this many sources.
    Own(DeviceArray, usize),
    /// The sinks.
    Sinks,
}

impl DeviceGroups {
    /// Returns the arrays that are there, with the rows of each.
    pub fn given(&self) -> impl Iterator<Item = (DeviceArray, usize)> {
        let (groups, offsets) = (self.count, self.count + 1);
        let of_sources = match self.sources {
            DeviceSources::Ranges(first, counts) => [Some((first, groups)), Some((counts, groups))],
            DeviceSources::Addresses(array) | DeviceSources::Own(array, _) => [Some((array, offsets)), None],
            DeviceSources::Sinks => [None, None],
        };
        std::iter::once((self.sinks, offsets)).chain(of_sources.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extent_of_an_array_is_from_its_lowest_to_its_highest_byte() {
        let array = |address, stride| DeviceArray { name: "x", address, stride, width: 24 };
        assert_eq!(array(4096, 24).extent(10), (4096, 240));
        assert_eq!(array(4096, 80).extent(10), (4096, 9 * 80 + 24));
        assert_eq!(array(4096, -80).extent(10), (4096 - 720, 720 + 24));
        assert_eq!(array(4096, 80).extent(1), (4096, 24));
        assert_eq!(array(4096, -80).row(2), 4096 - 160);
    }
}
