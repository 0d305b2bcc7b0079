//! The sort of bodies by their keys.

use bytemuck::bytes_of;

use super::{ALL_PASSES, FEW_KEYS, Given, Tree};
use crate::gpu::constants::{
    BOX_THREADS, BodyLayout, DIGIT_BITS, FOUND, KEY_THREADS, MOST_BOXES, SORT_THREADS, SORT_TURNS,
};
use crate::gpu::kernels::{Kernels, launch, launch_after_copies, scan};
use crate::gpu::transfers::send;
use kyoho_core::Result;
use kyoho_hal::gpu::{Address, Argument, Gpu};
use kyoho_hal::grow_buffer::GrowBuffer;

impl<G: Gpu> Tree<G> {
    /// Begins the search for the cube, unless it was given.
    pub(super) unsafe fn find_cube(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>) -> Result<()> {
        if let Some(cube) = self.given_cube {
            // SAFETY: there is room for what is found.
            unsafe { on.0.zero(on.1, &self.found.0, 4 * FOUND)? };
            return send(on, &self.cube.0, 0, &cube);
        }
        // SAFETY: the caller's promise; there is room for all boxes.
        unsafe {
            let blocks = self.find_boxes(on, (given.memory, &given.layout), given.places)?;
            let (count, number) = (given.places as u32, blocks as i32);
            let (layout, memory) = (Argument::Bytes(bytes_of(&given.layout)), Argument::Memory(given.memory));
            let softening2 = Argument::Bytes(bytes_of(&given.softening2));
            let (places, number) = (Argument::Bytes(bytes_of(&count)), Argument::Bytes(bytes_of(&number)));
            let boxes = self.boxes.at();
            let arguments = [layout, memory, boxes, self.cube.at(), self.found.at(), places, number, softening2];
            launch(on, &mut self.kernels.choose_cube, (1, BOX_THREADS), &arguments)
        }
    }

    /// Begins to find boxes that together hold the bodies at so many places, and returns how many.
    unsafe fn find_boxes(
        &mut self,
        on: (&G, &G::Queue),
        (memory, layout): (Address<G>, &BodyLayout),
        places: usize,
    ) -> Result<usize> {
        let blocks = places.div_ceil(4 * BOX_THREADS).min(MOST_BOXES);
        let count = places as u32;
        let (layout, count) = (Argument::Bytes(bytes_of(layout)), Argument::Bytes(bytes_of(&count)));
        let arguments = [layout, Argument::Memory(memory), self.boxes.at(), count];
        // SAFETY: the caller's promise.
        unsafe { launch_after_copies(on, &mut self.kernels.find_box, (blocks, BOX_THREADS), &arguments)? };
        Ok(blocks)
    }

    /// Returns the lowest and the highest coordinates of the bodies at so many places, which are one at
    /// least.
    ///
    /// # Safety
    /// As for [`Tree::build`].
    pub unsafe fn corners(
        &mut self,
        on: (&G, &G::Queue),
        of: (Address<G>, &BodyLayout),
        places: usize,
    ) -> Result<[[f64; 3]; 2]> {
        self.boxes.ensure_capacity(on.0, MOST_BOXES * size_of::<[f64; 6]>())?;
        // SAFETY: the caller's promise.
        let blocks = unsafe { self.find_boxes(on, of, places)? };
        let boxes = self.copied::<[f64; 6]>(on, &self.boxes, blocks)?;
        let least = boxes.iter().fold([f64::INFINITY; 6], |least, one| std::array::from_fn(|k| least[k].min(one[k])));
        Ok([std::array::from_fn(|k| least[k]), std::array::from_fn(|k| -least[3 + k])])
    }

    /// Begins to write a word of the keys of all places, in some order or in their own, and packs
    /// the bodies if there is memory for that.
    unsafe fn make_keys(
        &mut self,
        on: (&G, &G::Queue),
        given: &Given<Address<G>>,
        word: i32,
        (keys, order): (Argument<Address<G>>, Option<Argument<Address<G>>>),
        count: usize,
    ) -> Result<()> {
        let (number, is_ordered, packs) =
            (count as u32, i32::from(order.is_some()), i32::from(given.to_pack.is_some()));
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            self.cube.at(),
            keys,
            order.unwrap_or(self.numbers[0].at()),
            Argument::Memory(given.to_pack.unwrap_or(given.memory)),
            Argument::Bytes(bytes_of(&number)),
            Argument::Bytes(bytes_of(&word)),
            Argument::Bytes(bytes_of(&is_ordered)),
            Argument::Bytes(bytes_of(&packs)),
        ];
        // SAFETY: the caller's promise.
        unsafe { launch(on, &mut self.kernels.write_keys, (count.div_ceil(KEY_THREADS), KEY_THREADS), &arguments) }
    }

    /// Begins to sort the keys, which are in `self.keys[self.sorted]`, by their highest bits.
    unsafe fn sort_keys(&mut self, on: (&G, &G::Queue), places: usize, passes: usize, has_numbers: bool) -> Result<()> {
        let rooms =
            SortRooms { keys: &self.keys, numbers: &self.numbers, counts: &mut self.counts, totals: &mut self.totals };
        let from = (self.sorted, has_numbers);
        // SAFETY: the caller's promise.
        self.sorted = unsafe { sort_keys(on, &mut self.kernels, rooms, (places, passes), from)? };
        Ok(())
    }

    /// Begins to sort by the first word, of which the highest bits are compared first.
    pub(super) unsafe fn sort(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>, passes: usize) -> Result<()> {
        (self.sorted, self.words) = (0, 1);
        // SAFETY: the caller's promise.
        unsafe {
            self.make_keys(on, given, 0, (self.keys[0].at(), None), given.places)?;
            self.sort_keys(on, given.places, passes, false)?;
            self.order(on, &given.packed(), 64 - DIGIT_BITS * passes)
        }
    }

    /// Begins to sort by both words: first by the second.
    pub(super) unsafe fn sort_deep(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>) -> Result<()> {
        (self.sorted, self.words) = (0, 2);
        // The sort by the first word has packed them.
        let given = &given.packed();
        // SAFETY: the caller's promise.
        unsafe {
            self.make_keys(on, given, 1, (self.keys[0].at(), None), given.places)?;
            self.sort_keys(on, given.places, ALL_PASSES, false)?;
            let order = self.numbers[self.sorted].at();
            self.make_keys(on, given, 0, (self.keys[self.sorted].at(), Some(order)), given.places)?;
            self.sort_keys(on, given.places, ALL_PASSES, true)?;
            self.order(on, given, 0)?;
            let order = self.numbers[self.sorted].at();
            self.make_keys(on, given, 1, (self.lows.at(), Some(order)), given.bodies)
        }
    }

    /// Begins to put the bodies in the order of their keys, which are sorted by the bits above
    /// `shift`.
    unsafe fn order(&mut self, on: (&G, &G::Queue), given: &Given<Address<G>>, shift: usize) -> Result<()> {
        let (from, to) = (self.sorted, 1 - self.sorted);
        let (number, shift) = (given.bodies as u32, shift as i32);
        let arguments = [
            Argument::Bytes(bytes_of(&given.layout)),
            Argument::Memory(given.memory),
            given.frame.map_or(self.cube.at(), Argument::Memory),
            self.keys[from].at(),
            self.numbers[from].at(),
            self.keys[to].at(),
            self.numbers[to].at(),
            self.high.at(),
            self.low.at(),
            self.found.at(),
            Argument::Bytes(bytes_of(&number)),
            Argument::Bytes(bytes_of(&shift)),
            Argument::Bytes(bytes_of(&given.mass_factor)),
        ];
        self.sorted = to;
        let shape = (given.bodies.div_ceil(KEY_THREADS), KEY_THREADS);
        // SAFETY: the caller's promise.
        unsafe { launch(on, &mut self.kernels.order_bodies, shape, &arguments) }
    }
}

/// Memory for a sort: keys and their numbers, between which it goes to and fro, and counts of digits.
pub(in crate::gpu) struct SortRooms<'a, G: Gpu> {
    pub keys: &'a [GrowBuffer<G>; 2],
    pub numbers: &'a [GrowBuffer<G>; 2],
    pub counts: &'a mut GrowBuffer<G>,
    pub totals: &'a mut GrowBuffer<G>,
}

/// Begins to sort keys by their highest bits. They are in one of the two memories, with their numbers
/// unless these are their places. Returns in which one they come.
///
/// # Safety
/// As for [`Gpu::launch`]; there is room for so many keys and numbers.
pub(in crate::gpu) unsafe fn sort_keys<G: Gpu>(
    on: (&G, &G::Queue),
    kernels: &mut Kernels<G>,
    rooms: SortRooms<G>,
    (places, passes): (usize, usize),
    (mut sorted, mut has_numbers): (usize, bool),
) -> Result<usize> {
    let is_large = places >= FEW_KEYS;
    let tiles = places.div_ceil(SORT_THREADS * SORT_TURNS[usize::from(is_large)]);
    rooms.counts.ensure_capacity(on.0, 4 * (1 << DIGIT_BITS) * tiles)?;
    rooms.totals.ensure_capacity(on.0, 4 << DIGIT_BITS)?;
    let (counts, totals) = (rooms.counts.at(), rooms.totals.at());
    let (count, place) = if is_large {
        (&mut kernels.count_digits_large, &mut kernels.place_keys_large)
    } else {
        (&mut kernels.count_digits_small, &mut kernels.place_keys_small)
    };
    let number = places as u32;
    for pass in ALL_PASSES - passes..ALL_PASSES {
        let shift = (DIGIT_BITS * pass) as i32;
        let (number, shift) = (Argument::Bytes(bytes_of(&number)), Argument::Bytes(bytes_of(&shift)));
        let (from, to) = (sorted, 1 - sorted);
        // SAFETY: the caller's promise.
        unsafe {
            launch(on, count, (tiles, SORT_THREADS), &[rooms.keys[from].at(), counts, number, shift])?;
            scan(on, &mut kernels.scan_rows, (counts, totals), 1 << DIGIT_BITS, tiles)?;
            let has = i32::from(has_numbers);
            let arguments = [
                rooms.keys[from].at(),
                rooms.numbers[from].at(),
                rooms.keys[to].at(),
                rooms.numbers[to].at(),
                counts,
                totals,
                number,
                shift,
                Argument::Bytes(bytes_of(&has)),
            ];
            launch(on, place, (tiles, SORT_THREADS), &arguments)?;
        }
        (sorted, has_numbers) = (to, true);
    }
    Ok(sorted)
}
