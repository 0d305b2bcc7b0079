//! Copies of arrays on a device in memory of the host, for calls that read them there.

use std::cell::RefCell;

use kyoho_core::{DevicePlace, Result, memory};
use kyoho_engine::System;

use super::rows::{BodyRows, Rows};

/// Copies that a call has made. They have to be there as long as rows of them are read.
pub struct HostCopies {
    all: Vec<Vec<u8>>,
    /// How many of them this call has made; the memory of others is free.
    made: usize,
}

impl HostCopies {
    /// Lets a call make copies in the memory that the system has from earlier ones.
    pub fn lend<R>(system: &mut System, call: impl FnOnce(&mut System, &mut HostCopies) -> R) -> R {
        let mut copies = HostCopies { all: system.take_copies(), made: 0 };
        let returned = call(system, &mut copies);
        system.keep_copies(copies.all);
        returned
    }

    /// Returns an array of so many rows on a device of the system as one of the host.
    pub fn array<T: Copy, const N: usize>(
        &mut self,
        system: &mut System,
        place: &DevicePlace,
        array: Rows<T, N>,
        rows: usize,
    ) -> Result<Rows<T, N>> {
        if self.made == self.all.len() {
            memory::push(&mut self.all, Vec::new(), "copies of arrays")?;
        }
        let copy = &mut self.all[self.made];
        let first = system.copy_from_device(place, &array.on_device()?, rows, copy)?;
        self.made += 1;
        Ok(array.copied(copy, first))
    }

    /// Returns an array that may be null, and may lie on a device, as one of the host.
    pub fn optional<T: Copy, const N: usize>(
        &mut self,
        system: &mut System,
        place: Option<DevicePlace>,
        array: Option<Rows<T, N>>,
        rows: usize,
    ) -> Result<Option<Rows<T, N>>> {
        match (place, array) {
            (Some(place), Some(array)) => self.array(system, &place, array, rows).map(Some),
            _ => Ok(array),
        }
    }

    /// Returns the arrays of so many bodies on a device of the system as those of the host.
    pub fn bodies(
        &mut self,
        system: &mut System,
        place: &DevicePlace,
        columns: &BodyRows,
        rows: usize,
    ) -> Result<BodyRows> {
        let to = RefCell::new((self, system));
        fn copied<T: Copy, const N: usize>(
            to: &RefCell<(&mut HostCopies, &mut System)>,
            (place, rows): (&DevicePlace, usize),
            array: Rows<T, N>,
        ) -> Result<Rows<T, N>> {
            let (copies, system) = &mut *to.borrow_mut();
            copies.array(system, place, array, rows)
        }
        let of = (place, rows);
        columns.try_map(|array| copied(&to, of, array), |array| copied(&to, of, array), |array| copied(&to, of, array))
    }
}
