//! Groups that a device has made from arrays of the caller.

use kyoho_core::Result;
use kyoho_hal::gpu::{Address, Gpu};

use kyoho_methods::device_arrays::MadeGroups;

use super::kernels::Receiver;
use super::plan::{Counts, LIST_COUNTS, LIST_PART};

/// The numbers that each thread block which makes groups sums.
pub const SUMS_OF_GROUPS: usize = 4;

/// Groups that the device has made.
pub struct GroupsOnDevice<'a, G: Gpu> {
    /// Where they are.
    pub groups: &'a G::Memory,
    /// What there is of them where long lists are not divided into segments, and where they are.
    pub counted: &'a [Counts; 2],
    /// Their units, if they were chosen.
    pub units: Option<&'a G::Memory>,
    /// What receives their forces, in place of the results.
    pub receiver: Option<Receiver<Address<G>>>,
}

/// Memory for them, and what there is of them.
pub struct Groups<G: Gpu> {
    /// The groups.
    pub table: G::Memory,
    /// Their units.
    pub units: G::Memory,
    /// Whether the units are those of these groups.
    pub has_units: bool,
    /// The thread blocks that make them.
    pub blocks: usize,
    /// How many pairs and sources they have.
    pub made: MadeGroups,
    /// What there is of them, where long lists are not divided into segments, and where they are.
    counted: [Counts; 2],
}

impl<G: Gpu> Groups<G> {
    /// Makes room for none.
    pub fn new(gpu: &G) -> Result<Groups<G>> {
        let memory = || gpu.allocate(0, "interaction lists");
        Ok(Groups {
            table: memory()?,
            units: memory()?,
            has_units: false,
            blocks: 0,
            made: MadeGroups::default(),
            counted: [Counts::default(); 2],
        })
    }

    /// Takes what kernels have counted: the counts, and the sums of each thread block.
    pub fn count(&mut self, counts: &[i32], sums: &[i64]) {
        let mut all = [0; SUMS_OF_GROUPS];
        for of_block in sums.as_chunks::<SUMS_OF_GROUPS>().0 {
            all = std::array::from_fn(|k| all[k] + of_block[k]);
        }
        let [pairs, sources, items, rows] = all;
        self.made = MadeGroups { pairs: pairs.cast_unsigned(), sources: sources as usize };
        let of = |counts: &[i32]| Counts {
            items: std::array::from_fn(|size| counts[size] as usize),
            parts: counts[LIST_PART] as usize,
            rows: 0,
            sources: sources.cast_unsigned(),
        };
        let (whole, divided) = counts.split_at(LIST_COUNTS);
        self.counted = [of(whole), Counts { rows: rows as usize, ..of(divided) }];
        if items > i64::from(i32::MAX) {
            // The counts have run over.
            self.counted[1].items = std::array::from_fn(|size| if size == 0 { items as usize } else { 0 });
        }
    }

    /// Returns them, with what receives their forces.
    pub fn on_device(&self, receiver: Option<Receiver<Address<G>>>) -> GroupsOnDevice<'_, G> {
        let Groups { table, units, has_units, counted, .. } = self;
        GroupsOnDevice { groups: table, counted, units: has_units.then_some(units), receiver }
    }
}
