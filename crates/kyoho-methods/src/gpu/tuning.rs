//! Tuning of the force kernels: one row for each order and precision, one column for each launch
//! shape.

use kyoho_core::{Interaction, Order, Precision};

use super::pack::rows;
use super::shapes::SHAPES;

/// The threads of a thread block that sums interaction lists.
pub const LIST_THREADS: usize = 32;

/// Whether there is a kernel that waits for blocks of an interaction: those that the old calls
/// compute unless they are told otherwise. One for each would make the library a tenth larger.
pub fn has_waiting_kernel(interaction: &Interaction) -> bool {
    let is_usual = matches!(
        (interaction.order, interaction.precision),
        (Order::Second, Precision::Single) | (Order::Fourth, Precision::Mixed)
    );
    is_usual && !interaction.is_regular()
}

/// The tuning of an order and a precision. Arrays have an element for each of [`SHAPES`].
///
/// Reduction plans follow from these numbers, which are those of an NVIDIA H200: a change of
/// `pairs`, `sinks` or `resident` may change the order of addition, and so the bits of results.
#[derive(Debug, Clone, Copy)]
pub struct Tuning {
    order: Order,
    precision: Precision,
    /// Pairs per second of a multiprocessor that is full, in the fastest shape.
    pub pairs: f64,
    /// The number of sinks of a thread.
    pub sinks: [usize; SHAPES.len()],
    /// The number of thread blocks on a multiprocessor, which bounds the registers of a thread.
    pub resident: [usize; SHAPES.len()],
    /// The number of steps of the loop over sources that are unrolled.
    pub unrolled: [usize; SHAPES.len()],
    /// Whether the next sources are loaded while pairs of the last ones are summed.
    pub loads_ahead: [bool; SHAPES.len()],
    /// The number of thread blocks on a multiprocessor of the kernel that ends a block.
    pub end_resident: usize,
}

/// The tuning of the kernel of interaction lists.
#[derive(Debug, Clone, Copy)]
pub struct ListTuning {
    /// The number of sinks of a thread.
    pub sinks: usize,
    /// The number of thread blocks on a multiprocessor.
    pub resident: usize,
    /// The number of sources of a tile.
    pub tile: usize,
    /// The number of steps of the loop over a strand that are unrolled.
    pub unrolled: usize,
}

impl Tuning {
    /// Returns the tuning of interaction lists, which follows from that of the direct sums over
    /// many sinks. The tiles of more than one row are smaller, so that all thread blocks have
    /// theirs, and those of many doubles leave a cache for the sources of lists of addresses. Pairs
    /// in doubles leave registers for one sink of a thread where many threads are at work.
    pub fn list(&self, interaction: &Interaction) -> ListTuning {
        let last = SHAPES.len() - 1;
        let (sinks, resident, tile) = match (interaction.precision, interaction.order) {
            (Precision::Double, Order::Second) => (1, 18, 128),
            (Precision::Double, Order::Fourth) => (1, 20, 64),
            (Precision::Double, _) => (1, 12, 64),
            _ => (self.sinks[last], 4 * self.resident[last], if rows(interaction) == 1 { 256 } else { 128 }),
        };
        ListTuning { sinks, resident, tile, unrolled: 4 }
    }
}

const fn row(order: Order, precision: Precision, pairs: f64) -> Tuning {
    Tuning {
        order,
        precision,
        pairs,
        sinks: [1, 2, 1, 2, 2, 1, 2, 2],
        resident: [2, 3, 4, 4, 4, 5, 4, 4],
        unrolled: [4, 2, 4, 4, 4, 4, 4, 4],
        loads_ahead: [true, false, false, false, false, false, false, false],
        end_resident: 3,
    }
}

/// Returns a row with more derivatives. Bodies are larger there, so fewer thread blocks are on a
/// multiprocessor, and nothing is loaded ahead.
const fn large(order: Order, precision: Precision, pairs: f64) -> Tuning {
    Tuning { loads_ahead: [false; SHAPES.len()], end_resident: 2, ..row(order, precision, pairs) }
}

const TUNING: &[Tuning] = &[
    Tuning { sinks: [1, 2, 1, 4, 4, 1, 4, 4], ..row(Order::Second, Precision::Single, 13.5e9) },
    Tuning { sinks: [1, 2, 1, 4, 4, 1, 4, 4], ..row(Order::Second, Precision::Mixed, 9.0e9) },
    row(Order::Second, Precision::Double, 7.0e9),
    Tuning {
        sinks: [1, 2, 1, 4, 4, 1, 2, 2],
        unrolled: [4, 2, 4, 4, 4, 4, 8, 8],
        ..row(Order::Fourth, Precision::Single, 6.5e9)
    },
    Tuning {
        sinks: [1, 2, 1, 4, 4, 1, 2, 2],
        unrolled: [4, 2, 4, 4, 4, 4, 8, 8],
        ..row(Order::Fourth, Precision::Mixed, 5.7e9)
    },
    row(Order::Fourth, Precision::Double, 3.0e9),
    Tuning {
        resident: [2, 2, 4, 4, 4, 5, 3, 3],
        unrolled: [4, 2, 4, 4, 4, 4, 8, 8],
        ..large(Order::Sixth, Precision::Mixed, 3.2e9)
    },
    Tuning {
        resident: [2, 2, 3, 2, 2, 4, 2, 2],
        unrolled: [2, 2, 4, 4, 4, 4, 2, 2],
        ..large(Order::Sixth, Precision::Double, 1.82e9)
    },
    Tuning {
        sinks: [1, 2, 1, 1, 1, 1, 1, 1],
        resident: [2, 2, 3, 3, 3, 4, 3, 3],
        unrolled: [2, 1, 4, 4, 4, 4, 2, 2],
        ..large(Order::Eighth, Precision::Double, 1.2e9)
    },
];

/// Returns the tuning of an interaction, or that of the nearest row before where it has none of its
/// own.
pub fn of(interaction: &Interaction) -> &'static Tuning {
    let key = (interaction.order, interaction.precision);
    let before = TUNING.iter().take_while(|row| (row.order, row.precision) <= key);
    before.last().unwrap_or(&TUNING[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use kyoho_laws::catalogue::with_kernels;

    #[test]
    fn each_order_and_precision_of_the_catalogue_has_one_row() {
        assert!(TUNING.is_sorted_by_key(|row| (row.order, row.precision)));
        for entry in with_kernels() {
            let row = of(entry);
            assert_eq!((row.order, row.precision), (entry.order, entry.precision));
        }
    }
}
