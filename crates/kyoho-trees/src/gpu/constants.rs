//! The numbers that the library and `kernels/tree/` share: written here, and generated for the
//! kernels as `kernels/generated/tree.h`.

use bytemuck::{Pod, Zeroable};

use crate::cube::{LEVELS, SIDE_EXPONENT};

/// Threads that have a sink, or a cell of sources, together.
pub const LANES: usize = 32;
/// Threads of a block that looks for the box of all bodies.
pub const BOX_THREADS: usize = 256;
/// The most such blocks.
pub const MOST_BOXES: usize = 1024;
/// Threads of a block that makes keys or orders bodies.
pub const KEY_THREADS: usize = 256;
/// Threads of a block that sorts, as many as there are digits.
pub const SORT_THREADS: usize = 256;
/// Keys that a thread sorts: where there are few, and where there are many.
pub const SORT_TURNS: [usize; 2] = [4, 12];
/// Bits that the sort takes at a time.
pub const DIGIT_BITS: usize = 8;
/// Threads of a block that adds up a row, and numbers that each takes at a time.
pub const SCAN_THREADS: usize = 256;
/// Numbers of a row that a thread takes at a time.
pub const SCANNED: usize = 4;
/// Threads of a block that makes cells.
pub const CELL_THREADS: usize = 256;
/// Bodies of such a block.
pub const CELL_TILE: usize = 1024;
/// Threads of a block that completes cells.
pub const LINK_THREADS: usize = 256;
/// Generations of cells that there may be.
pub const GENERATIONS: usize = LEVELS as usize + 1;
/// Threads of a block that sums leaves.
pub const LEAF_THREADS: usize = 128;
/// Threads of a block that sums inner cells, and those that share a cell.
pub const INNER_THREADS: usize = 64;
/// Threads that share an inner cell, one for each child.
pub const CHILDREN: usize = 8;
/// Bodies of a cell up to which its moments are summed from the bodies.
pub const DIRECT_MOMENTS: usize = 256;
/// Cells of a thread block that sums moments from the bodies of inner cells.
pub const CELLS_OF_BLOCK: usize = 8;
/// The most pairs of bodies of a group and a cell that are summed directly though the cell could be
/// opened, and is so far that its children might be accepted.
pub const MOST_PAIRS: usize = 1024;
/// The most bodies of a cell that walks know of.
pub const MOST_COUNTED: usize = u16::MAX as usize;
/// Bodies by which it is found where most are, fewer than [`BOX_THREADS`].
pub const SAMPLES: usize = 64;
/// How many powers of two the box of all bodies may be as large as that of most of them, so that the
/// cube is around all.
pub const ESCAPED: i32 = 30;
/// How many powers of two the cube around most bodies is larger than these.
pub const BESIDE_BULK: i32 = 10;
/// How many powers of two smaller than the box of all bodies the cube is at most, so that squared
/// distances are numbers of 32 bits.
pub const MOST_ESCAPED: i32 = 50 - SIDE_EXPONENT;
/// How many powers of two the box of all bodies may be as large as that of most of them; beyond 32
/// bits do not hold both.
pub const WIDEST: i32 = 68;
/// Bodies that may agree in all bits that the sort compares.
pub const MOST_ALIKE: usize = 512;
/// Bodies beside one that make the search for its place slow, if they agree in these bits.
pub const CROWD: usize = 32;
/// Threads of a block that looks for sinks among cells.
pub const SELECT_THREADS: usize = 256;
/// Threads of a block that shifts local expansions.
pub const SHIFT_THREADS: usize = 64;
/// Threads of a block that finds forces by local expansions.
pub const VALUE_THREADS: usize = 128;
/// Levels of cells of sinks, of which the last is divided further into groups.
pub const LEVELS_OF_SINKS: usize = 3;
/// The most sinks of a cell of each level.
pub const SINKS: [usize; LEVELS_OF_SINKS] = [4096, 512, crate::GROUP];
/// Cells on the stack of a walk. With fewer a large sink, which opens many, would test fewer than 32
/// at a time; with more a multiprocessor could not hold 32 thread blocks.
pub const WALK_STACK: usize = 960;
/// Of these, as many as cells are below one that is opened at a time.
pub const WALK_RESERVE: usize = 8 * LEVELS as usize;
/// Entries of a list that wait to be written.
pub const WALK_BUFFER: usize = 256;
/// The most near cells of a group that 32 threads sum; longer lists are summed in parts.
pub const MOST_OF_PART: usize = 128;
/// Words for a sink's sums over a part: potential, acceleration, and whether it was itself there.
pub const PART_SUMS: usize = 5;
/// Threads of a block that looks for neighbours.
pub const NEIGHBOUR_THREADS: usize = 128;
/// The most words of all lists. They are counted by 32 bits, beyond this no further.
pub const MOST_WORDS: usize = 3 << 30;
/// The square of the largest sum of two radii over the distance in the first pass.
pub const FIELD_CUT2: f64 = 0.81;
/// The largest radius, in the units of the tree, of a cell whose expansions are used.
pub const MOST_RADIUS: f64 = 1048576.0;

/// Places of the cube's numbers: the low corner, and factors that bring lengths to whole numbers of
/// keys and to the units of the tree.
pub const CUBE: [(&str, usize); 3] = [("CUBE_LOW", 0), ("CUBE_TO_KEYS", 3), ("CUBE_TO_UNITS", 4)];
/// The count of the cube's numbers.
pub const CUBE_NUMBERS: usize = 5;

/// Whether bodies agreed in all bits that were compared, more than are put in order afterwards.
pub const FOUND_UNSORTED: usize = 0;
/// Whether more bodies than a leaf may have agree in the first word of their keys.
pub const FOUND_DEEP: usize = 1;
/// The bodies that are crowded, and those that would be if eight bits fewer were compared.
pub const FOUND_CROWDED: usize = 2;
/// Whether some mass is negative.
pub const FOUND_NEGATIVE: usize = 4;
/// The end of the cells that have more bodies than [`DIRECT_MOMENTS`].
pub const FOUND_LARGE: usize = 5;
/// How many powers of two the box of all bodies is as large as that of most, where these are more
/// than [`WIDEST`].
pub const FOUND_WIDE: usize = 6;
/// The first cell of each generation, and the number of all.
pub const FOUND_STARTS: usize = 7;
/// The count of the numbers that are found.
pub const FOUND: usize = FOUND_STARTS + GENERATIONS + 1;

/// Sinks leave out no source.
pub const OWN_NONE: i32 = 0;
/// Sinks are the sources, and leave out themselves.
pub const OWN_ITSELF: i32 = 1;
/// Each sink leaves out the source that is named for it.
pub const OWN_LISTED: i32 = 2;
/// Each sink leaves out all sources with the index of the one that is named for it.
pub const OWN_REPEATED: i32 = 3;

/// The bytes of a position and a mass side by side.
pub const PACKED_BYTES: usize = 4 * 8;

/// Where positions and masses of bodies lie, in bytes: those of body `i` are at `first + i / 8 *
/// octet + i % 8 * body`, and the components of a position `component` apart.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct BodyLayout {
    /// The first position.
    pub position: i64,
    /// From one octet to the next.
    pub position_octet: i64,
    /// From one body of an octet to the next.
    pub position_body: i64,
    /// From one component to the next.
    pub position_component: i64,
    /// The first mass.
    pub mass: i64,
    /// From one octet to the next.
    pub mass_octet: i64,
    /// From one body of an octet to the next.
    pub mass_body: i64,
}

impl BodyLayout {
    /// Positions and masses side by side.
    pub const PACKED: BodyLayout = BodyLayout {
        position: 0,
        position_octet: 8 * PACKED_BYTES as i64,
        position_body: PACKED_BYTES as i64,
        position_component: 8,
        mass: 24,
        mass_octet: 8 * PACKED_BYTES as i64,
        mass_body: PACKED_BYTES as i64,
    };

    /// Returns the layout of vectors that stand one after another from some byte on, and of masses
    /// from another.
    pub fn columns(position: i64, mass: i64) -> BodyLayout {
        BodyLayout {
            position,
            position_octet: 8 * 24,
            position_body: 24,
            position_component: 8,
            mass,
            mass_octet: 8 * 8,
            mass_body: 8,
        }
    }
}

/// Returns the number of terms of a cell's moments: those of degree 1 are left out.
pub const fn terms(order: usize) -> usize {
    kyoho_laws::indices::components(order) - 3
}

/// Returns the number of terms of a record that have 32 bits; the others have the upper 16 of them,
/// which changed the errors of forces by less than a per cent.
pub const fn plain_terms(order: usize) -> usize {
    match order {
        ..=4 => 1,
        5 => 7,
        _ => 17,
    }
}

/// Returns the number of 32-bit words of the record of a cell's moments: its centre and the terms,
/// in an odd number of pieces of 16 bytes, which spread over the banks of a cache.
pub const fn record(order: usize) -> usize {
    let plain = plain_terms(order);
    let pieces = (3 + plain + (terms(order) - plain).div_ceil(2)).div_ceil(4);
    4 * if pieces.is_multiple_of(2) { pieces + 1 } else { pieces }
}

/// Returns the name of the translation unit of an order of expansions.
pub fn unit_of_order(order: usize) -> String {
    format!("tree_order{order}")
}

/// Returns the definitions that make the kernels of expansions those of an order.
pub fn defines_of_order(order: usize) -> Vec<(String, i64)> {
    vec![("ORDER".into(), order as i64)]
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::LEAF;
    use crate::criterion::{FAR_SUM4, FLOOR, LEAST_S2, LEAST_S2_OF_ORDERS, MOST_PARTS, MOST_S2_OF_ORDERS};
    use crate::cube::{LEVELS_OF_WORD, LOWEST_EXPONENT, MOST_UNITS, SOFTENING_EXPONENT};
    use crate::gpu::expansions;
    use kyoho_laws::expansion::{HIGHEST_ORDER, LOWEST_ORDER};

    /// Returns the text of `kernels/generated/tree.h`.
    fn header() -> String {
        let mut text =
            "// Made from crates/kyoho-trees/src/gpu/constants.rs, which says what each number is.\n\n".to_owned();
        let numbers = [
            ("LEVELS", LEVELS as i64),
            ("LEVELS_OF_WORD", LEVELS_OF_WORD.into()),
            ("LOWEST_EXPONENT", LOWEST_EXPONENT.into()),
            ("LEAF", LEAF as i64),
            ("BOX_THREADS", BOX_THREADS as i64),
            ("KEY_THREADS", KEY_THREADS as i64),
            ("SORT_THREADS", SORT_THREADS as i64),
            ("SMALL_TURNS", SORT_TURNS[0] as i64),
            ("LARGE_TURNS", SORT_TURNS[1] as i64),
            ("DIGIT_BITS", DIGIT_BITS as i64),
            ("SCAN_THREADS", SCAN_THREADS as i64),
            ("SCANNED", SCANNED as i64),
            ("CELL_THREADS", CELL_THREADS as i64),
            ("CELL_TILE", CELL_TILE as i64),
            ("LINK_THREADS", LINK_THREADS as i64),
            ("GENERATIONS", GENERATIONS as i64),
            ("LEAF_THREADS", LEAF_THREADS as i64),
            ("INNER_THREADS", INNER_THREADS as i64),
            ("CHILDREN", CHILDREN as i64),
            ("DIRECT_MOMENTS", DIRECT_MOMENTS as i64),
            ("CELLS_OF_BLOCK", CELLS_OF_BLOCK as i64),
            ("MOST_PAIRS", MOST_PAIRS as i64),
            ("MOST_COUNTED", MOST_COUNTED as i64),
            ("SAMPLES", SAMPLES as i64),
            ("ESCAPED", ESCAPED.into()),
            ("BESIDE_BULK", BESIDE_BULK.into()),
            ("MOST_ESCAPED", MOST_ESCAPED.into()),
            ("WIDEST", WIDEST.into()),
            ("MOST_ALIKE", MOST_ALIKE as i64),
            ("CROWD", CROWD as i64),
            ("SELECT_THREADS", SELECT_THREADS as i64),
            ("SHIFT_THREADS", SHIFT_THREADS as i64),
            ("VALUE_THREADS", VALUE_THREADS as i64),
            ("LEVELS_OF_SINKS", LEVELS_OF_SINKS as i64),
            ("SINKS_0", SINKS[0] as i64),
            ("SINKS_1", SINKS[1] as i64),
            ("SINKS_2", SINKS[2] as i64),
            ("WALK_STACK", WALK_STACK as i64),
            ("WALK_RESERVE", WALK_RESERVE as i64),
            ("WALK_BUFFER", WALK_BUFFER as i64),
            ("MOST_OF_PART", MOST_OF_PART as i64),
            ("PART_SUMS", PART_SUMS as i64),
            ("NEIGHBOUR_THREADS", NEIGHBOUR_THREADS as i64),
            ("MOST_WORDS", MOST_WORDS as i64),
            ("SIDE_EXPONENT", SIDE_EXPONENT.into()),
            ("SOFTENING_EXPONENT", SOFTENING_EXPONENT.into()),
            ("MOST_UNITS", MOST_UNITS.into()),
            ("FOUND_UNSORTED", FOUND_UNSORTED as i64),
            ("FOUND_DEEP", FOUND_DEEP as i64),
            ("FOUND_CROWDED", FOUND_CROWDED as i64),
            ("FOUND_NEGATIVE", FOUND_NEGATIVE as i64),
            ("FOUND_LARGE", FOUND_LARGE as i64),
            ("FOUND_WIDE", FOUND_WIDE as i64),
            ("FOUND_STARTS", FOUND_STARTS as i64),
            ("FOUND", FOUND as i64),
            ("OWN_NONE", OWN_NONE.into()),
            ("OWN_ITSELF", OWN_ITSELF.into()),
            ("OWN_LISTED", OWN_LISTED.into()),
            ("OWN_REPEATED", OWN_REPEATED.into()),
        ];
        let cube = CUBE.map(|(name, place)| (name, place as i64));
        for (name, number) in numbers.into_iter().chain(cube) {
            let number = if number < 0 { format!("({number})") } else { number.to_string() };
            writeln!(text, "#define {name} {number}").unwrap();
        }
        let [order4, order5, order6] = LEAST_S2_OF_ORDERS;
        let reals = [
            ("FIELD_CUT2", FIELD_CUT2),
            ("FLOOR", FLOOR),
            ("MOST_PARTS", MOST_PARTS),
            ("LEAST_S2", LEAST_S2),
            ("MOST_RADIUS", MOST_RADIUS),
            ("LEAST_S2_OF_ORDER_4", order4),
            ("LEAST_S2_OF_ORDER_5", order5),
            ("LEAST_S2_OF_ORDER_6", order6),
            ("MOST_S2_OF_ORDER_2", MOST_S2_OF_ORDERS[0]),
            ("MOST_S2_OF_ORDER_3", MOST_S2_OF_ORDERS[1]),
            ("MOST_S2_OF_ORDER_4", MOST_S2_OF_ORDERS[2]),
            ("MOST_S2_OF_ORDER_5", MOST_S2_OF_ORDERS[3]),
            ("MOST_S2_OF_ORDER_6", MOST_S2_OF_ORDERS[4]),
            ("FAR_SUM4", FAR_SUM4),
        ];
        for (name, number) in reals {
            writeln!(text, "#define {name} {:?}f", number as f32).unwrap();
        }
        text + STRUCTURES
    }

    const STRUCTURES: &str = "
typedef struct {
    long position, position_octet, position_body, position_component;
    long mass, mass_octet, mass_body;
} BodyLayout;

typedef struct {
    uint first_body, bodies, first_child;
    unsigned short children, depth;
} Cell;

// The centre, as what 32 bits hold of it and what they round off, with the radius and the sum of
// |m|.
typedef struct {
    float4 high, low;
} CellPlace;

// The sum of |m| |x|^2, `rho` of the criterion, the children, and the bodies, as far as 16 bits go.
typedef struct {
    float second, rho;
    uint first_child;
    unsigned short children, bodies;
} CellReach;

// A cell of sinks, or one body of it, the cell around it of the level before, and its bodies.
typedef struct {
    uint cell, around, first_body, bodies;
} Sink;
";

    #[test]
    fn the_generated_text_is_this() {
        let orders = LOWEST_ORDER..=HIGHEST_ORDER;
        for (file, text) in [("tree.h", header()), ("expansions.h", expansions::header(orders))] {
            let path = format!("{}/../../kernels/generated/{file}", env!("CARGO_MANIFEST_DIR"));
            if std::env::var_os("KYOHO_BLESS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == text, "{path}: run this test with KYOHO_BLESS=1, and look at what changed");
        }
    }
}
