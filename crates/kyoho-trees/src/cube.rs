//! The cube around the bodies of a tree, and the keys of positions in it.
//!
//! Every machine computes these in doubles, by the same operations, so that all sort bodies alike.

/// The number of levels of octants below the cube.
pub const LEVELS: u32 = 42;
/// The number of levels that a word of a key has.
pub const LEVELS_OF_WORD: u32 = LEVELS / 2;
/// The lowest binary exponent of a cube's side, so that the factor of keys is a normal number.
pub const LOWEST_EXPONENT: i32 = -900;
/// The binary exponent of the side of the cube in the units of a tree on a GPU. Cells of the deepest
/// levels are as far below 1 as the cube is above.
pub const SIDE_EXPONENT: i32 = 10;
/// The highest binary exponent of the softening in these units.
pub const SOFTENING_EXPONENT: i32 = 12;
/// The highest binary exponent of the factor of lengths, so that its square is a number.
pub const MOST_UNITS: i32 = 400;

/// A cube that holds all bodies of a tree. Its side is a power of two, so that scaling changes no
/// digit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cube {
    /// The corner with the lowest coordinates.
    pub low: [f64; 3],
    /// The binary exponent of the side.
    pub exponent: i32,
}

/// The place of a body on the curve through all octants of all levels (Morton order): three bits a
/// level, of which that of x is the highest. The largest octants are in the highest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Key {
    /// The first 21 levels.
    pub high: u64,
    /// The next 21 levels. Where no 21st octant has more bodies than a leaf may have, trees leave
    /// them zero.
    pub low: u64,
}

impl Cube {
    /// Returns the cube of bodies whose coordinates lie between these.
    pub fn new(low: [f64; 3], high: [f64; 3]) -> Cube {
        let longest = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        // The smallest power of two above the longest side and a little more.
        let exponent = exponent_of(longest * (1.0 + 1.0 / f64::from(1 << 20))) + 1;
        Cube { low, exponent: exponent.max(LOWEST_EXPONENT) }
    }

    /// Returns the cube of some positions; without any it is at the origin.
    pub fn around(positions: impl IntoIterator<Item = [f64; 3]>) -> Cube {
        let start = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let (low, high) = positions.into_iter().fold(start, |(low, high), position| {
            let least = std::array::from_fn(|k| if position[k] < low[k] { position[k] } else { low[k] });
            (least, std::array::from_fn(|k| if position[k] > high[k] { position[k] } else { high[k] }))
        });
        if low[0] > high[0] { Cube::new([0.0; 3], [0.0; 3]) } else { Cube::new(low, high) }
    }

    /// Returns the factor that brings a distance from the low corner to whole numbers of the
    /// deepest octants.
    pub fn key_factor(&self) -> f64 {
        power_of_two(LEVELS as i32 - self.exponent)
    }

    /// Returns the factor of lengths that brings them to the units of a tree on a GPU, where pairs have
    /// this squared softening: that of `choose_cube` in `kernels/tree/keys.h`.
    pub fn gpu_factor(&self, softening2: f64) -> f64 {
        let of_side = SIDE_EXPONENT - self.exponent;
        let of_softening = if softening2 > 0.0 { exponent_of(softening2) / 2 } else { -MOST_UNITS };
        power_of_two(of_side.min(SOFTENING_EXPONENT - of_softening).min(MOST_UNITS))
    }

    /// Returns the key of a position in the cube.
    #[inline]
    pub fn key(&self, position: [f64; 3]) -> Key {
        let octant = self.octant(position);
        Key { high: word_of(octant, LEVELS_OF_WORD), low: word_of(octant, 0) }
    }

    /// Returns the upper word of the key of a position, which takes half of the time.
    #[inline]
    pub fn high_word(&self, position: [f64; 3]) -> u64 {
        word_of(self.octant(position), LEVELS_OF_WORD)
    }

    /// Returns the numbers of the deepest octant that a position is in, along each axis.
    #[inline]
    fn octant(&self, position: [f64; 3]) -> [u64; 3] {
        let factor = self.key_factor();
        std::array::from_fn(|k| ((position[k] - self.low[k]) * factor) as u64)
    }

    /// Returns the largest distance of a border from the origin, along an axis.
    pub fn farthest(&self) -> f64 {
        let side = self.side(0);
        self.low.iter().fold(0.0_f64, |most, low| most.max(low.abs()).max((low + side).abs()))
    }

    /// Returns the side of an octant that is this many levels deep.
    pub fn side(&self, depth: u32) -> f64 {
        power_of_two(self.exponent - depth as i32)
    }

    /// Returns the middle of the octant, this many levels deep, that a key is in.
    pub fn middle(&self, key: Key, depth: u32) -> [f64; 3] {
        let side = self.side(depth);
        std::array::from_fn(|k| {
            let shift = 2 - k as u32;
            let number = gather(key.high >> shift) << LEVELS_OF_WORD | gather(key.low >> shift);
            let octant = number.checked_shr(LEVELS - depth).unwrap_or(0);
            self.low[k] + (octant as f64 + 0.5) * side
        })
    }
}

impl Key {
    /// Returns how many levels deep the smallest octant is that two keys are both in.
    #[inline]
    pub fn common_depth(self, other: Key) -> u32 {
        // The highest bit of a word has no level.
        let in_word = |bits: u64| (bits.leading_zeros() - 1) / 3;
        match (self.high ^ other.high, self.low ^ other.low) {
            (0, 0) => LEVELS,
            (0, low) => LEVELS_OF_WORD + in_word(low),
            (high, _) => in_word(high),
        }
    }

    /// Returns the first key of the octant, this many levels deep, that it is in.
    pub fn octant_begin(self, depth: u32) -> Key {
        // A word has as many levels; the rest of its bits is zero.
        let begin = |word: u64, levels: u32| {
            let below = 3 * (LEVELS_OF_WORD - levels.min(LEVELS_OF_WORD));
            word >> below << below
        };
        Key { high: begin(self.high, depth), low: begin(self.low, depth.saturating_sub(LEVELS_OF_WORD)) }
    }

    /// Returns the number, 0 to 7, of the octant that it is in among those of the octant which is
    /// this many levels deep.
    #[inline]
    pub fn octant(self, depth: u32) -> u64 {
        let (word, below) = if depth < LEVELS_OF_WORD {
            (self.high, LEVELS_OF_WORD - 1 - depth)
        } else {
            (self.low, LEVELS - 1 - depth)
        };
        word >> (3 * below) & 7
    }
}

/// Returns the word of a key that has the bits of an octant's numbers from one on.
#[inline]
fn word_of([x, y, z]: [u64; 3], shift: u32) -> u64 {
    spread(x >> shift) << 2 | spread(y >> shift) << 1 | spread(z >> shift)
}

/// Spreads the lowest 21 bits of a number, so that two zeros stand between each two.
#[inline]
fn spread(number: u64) -> u64 {
    let bits = number & 0x1f_ffff;
    let bits = (bits | bits << 32) & 0x001f_0000_0000_ffff;
    let bits = (bits | bits << 16) & 0x001f_0000_ff00_00ff;
    let bits = (bits | bits << 8) & 0x100f_00f0_0f00_f00f;
    let bits = (bits | bits << 4) & 0x10c3_0c30_c30c_30c3;
    (bits | bits << 2) & 0x1249_2492_4924_9249
}

/// Gathers each third bit of a number: the inverse of [`spread`].
fn gather(bits: u64) -> u64 {
    let bits = bits & 0x1249_2492_4924_9249;
    let bits = (bits | bits >> 2) & 0x10c3_0c30_c30c_30c3;
    let bits = (bits | bits >> 4) & 0x100f_00f0_0f00_f00f;
    let bits = (bits | bits >> 8) & 0x001f_0000_ff00_00ff;
    let bits = (bits | bits >> 16) & 0x001f_0000_0000_ffff;
    (bits | bits >> 32) & 0x1f_ffff
}

/// Returns the binary exponent of a number; that of zero is below that of every normal number.
pub fn exponent_of(number: f64) -> i32 {
    ((number.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// Returns a power of two; exponents beyond the normal numbers are clamped.
pub fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent.clamp(-1022, 1023) + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_side_is_the_smallest_power_of_two_above_the_box() {
        assert_eq!(Cube::new([-1.0, 0.0, 3.0], [-0.5, 1.5, 3.5]), Cube { low: [-1.0, 0.0, 3.0], exponent: 1 });
        assert_eq!(Cube::new([0.0; 3], [1.0; 3]).exponent, 1);
        assert_eq!(Cube::around([[7.0, 8.0, 9.0]]), Cube { low: [7.0, 8.0, 9.0], exponent: LOWEST_EXPONENT });
        assert_eq!(Cube::around([]).key([0.0; 3]), Key::default());
    }

    #[test]
    fn a_key_names_an_octant_of_each_level_with_x_highest() {
        let cube = Cube { low: [0.0; 3], exponent: 0 };
        let key = cube.key([0.5, 0.25, 0.75]);
        assert_eq!([key.octant(0), key.octant(1), key.octant(2)], [0b101, 0b011, 0]);
        let deep = cube.key([power_of_two(-22), 0.0, power_of_two(-42)]);
        assert_eq!((deep.high, deep.octant(21), deep.octant(41)), (0, 0b100, 0b001));
        assert_eq!(cube.middle(key, 2), [0.625, 0.375, 0.875]);
        assert_eq!(cube.middle(key, 0), [0.5; 3]);
    }

    #[test]
    fn two_keys_share_octants_down_to_the_level_where_they_part() {
        let cube = Cube { low: [0.0; 3], exponent: 0 };
        for depth in 0..LEVELS {
            let other = cube.key([0.0, power_of_two(-(depth as i32) - 1), 0.0]);
            assert_eq!(Key::default().common_depth(other), depth);
            assert_eq!(other.octant(depth), 0b010);
        }
        assert_eq!(Key::default().common_depth(Key::default()), LEVELS);
    }

    #[test]
    fn an_octant_begins_with_the_levels_that_it_has() {
        let key = Key { high: 0x5555_5555_5555_5555 >> 1, low: 0x7777 };
        assert_eq!(key.octant_begin(0), Key::default());
        assert_eq!((key.octant_begin(42), key.octant_begin(43)), (key, key));
        for depth in 1..LEVELS {
            let begin = key.octant_begin(depth);
            assert!(begin <= key && begin.common_depth(key) >= depth, "{depth}");
            assert!((depth..LEVELS).all(|level| begin.octant(level) == 0), "{depth}");
        }
    }
}
