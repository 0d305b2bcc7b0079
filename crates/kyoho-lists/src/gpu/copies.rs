//! What lists have on the host, copied to the device: bodies and addresses.

use std::ops::Range;

use kyoho_core::{Bodies, Error, InteractionLists, ListedSources, Result};
use kyoho_hal::gpu::{Address, DeviceMemory, Gpu, Place};
use kyoho_methods::gpu::columns::columns as columns_of_arrays;
use kyoho_methods::gpu::step::Columns;

/// Memory of the device for sinks, addresses and sources that came with a call.
pub struct Copies<G: Gpu> {
    sinks: G::Memory,
    addresses: G::Memory,
    own: G::Memory,
}

impl<G: Gpu> Copies<G> {
    /// Makes copies without room.
    pub fn new(gpu: &G) -> Result<Copies<G>> {
        let memory = || gpu.allocate(0, "interaction lists");
        Ok(Copies { sinks: memory()?, addresses: memory()?, own: memory()? })
    }

    /// Makes room for all that lists have on the host. No work uses the copies.
    pub fn make_room(&mut self, gpu: &G, lists: &InteractionLists) -> Result<()> {
        if lists.sinks.on_device().is_none() {
            grow(gpu, &mut self.sinks, lists.sinks.memory().len())?;
        }
        match &lists.sources {
            ListedSources::Addresses(table) if table.on_device().is_none() => {
                grow(gpu, &mut self.addresses, size_of_val(table.addresses()))
            }
            ListedSources::Own(own) if own.on_device().is_none() => grow(gpu, &mut self.own, own.memory().len()),
            _ => Ok(()),
        }
    }

    /// Begins to copy what some groups and their sinks need, to the same places.
    ///
    /// # Safety
    /// There is room for the lists, which stay as they are until the queue has done this.
    pub unsafe fn bring(
        &self,
        on: (&G, &G::Queue),
        lists: &InteractionLists,
        (groups, sinks): (&Range<usize>, &Range<usize>),
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe {
            bring_bodies(on, &lists.sinks, sinks, &self.sinks)?;
            match &lists.sources {
                ListedSources::Ranges => Ok(()),
                ListedSources::Addresses(table) if table.on_device().is_some() => Ok(()),
                ListedSources::Addresses(table) => {
                    let places = lists.sources_of(groups);
                    let bytes = bytemuck::cast_slice(table.addresses());
                    bring(on, bytes, 4 * places.start..4 * places.end, &self.addresses)
                }
                ListedSources::Own(own) => bring_bodies(on, own, &lists.sources_of(groups), &self.own),
            }
        }
    }

    /// Returns where kernels find the addresses, the sources that came with the call, and the
    /// sinks: among the copies, or in arrays of the caller.
    pub fn places(&self, gpu: &G, lists: &InteractionLists) -> Result<[Address<G>; 3]> {
        let of_caller = |address: u64| {
            let none = || Error::Internal { what: "lists have arrays on a device where callers have none".into() };
            gpu.address_of_caller(address).ok_or_else(none)
        };
        let of_bodies = |bodies: &Bodies, copied: &G::Memory| match bodies.on_device() {
            // Their places are counted from address 0.
            Some(_) => of_caller(0),
            None => Ok(copied.address()),
        };
        let (mut addresses, mut own) = (self.addresses.address(), self.own.address());
        match &lists.sources {
            ListedSources::Ranges => (),
            ListedSources::Addresses(table) => {
                if let Some(array) = table.on_device() {
                    addresses = of_caller(array.address)?;
                }
            }
            ListedSources::Own(bodies) => own = of_bodies(bodies, &self.own)?,
        }
        Ok([addresses, own, of_bodies(&lists.sinks, &self.sinks)?])
    }
}

/// Allocates other memory where there is less than this. Its contents are lost.
pub fn grow<M: DeviceMemory, G: Gpu<Memory = M>>(gpu: &G, memory: &mut M, bytes: usize) -> Result<()> {
    if memory.bytes() < bytes {
        *memory = gpu.allocate(bytes + bytes / 4, "interaction lists")?;
    }
    Ok(())
}

/// Begins the copy of some bytes to the same places on the device.
///
/// # Safety
/// The memory is long enough, and the bytes stay as they are until the queue has done this.
unsafe fn bring<G: Gpu>((gpu, queue): (&G, &G::Queue), from: &[u8], bytes: Range<usize>, to: &G::Memory) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let place = Place::Host(from[bytes.clone()].as_ptr().cast_mut());
    // SAFETY: the caller's promise.
    unsafe { gpu.copy(queue, place, Place::Device(to, bytes.start), bytes.len()) }
}

/// Begins the copy of a table to the device.
///
/// # Safety
/// As for [`bring`].
pub unsafe fn bring_all<G: Gpu, T: bytemuck::NoUninit>(on: (&G, &G::Queue), table: &[T], to: &G::Memory) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { bring(on, bytemuck::cast_slice(table), 0..size_of_val(table), to) }
}

/// Begins the copy of some bodies to the same places on the device.
///
/// # Safety
/// As for [`bring`].
unsafe fn bring_bodies<G: Gpu>(
    on: (&G, &G::Queue),
    bodies: &Bodies,
    some: &Range<usize>,
    to: &G::Memory,
) -> Result<()> {
    bodies.columns().with_widths().given().try_for_each(|(column, width)| {
        let bytes = column + width * some.start..column + width * some.end;
        // SAFETY: the caller's promise.
        unsafe { bring(on, bodies.memory(), bytes, to) }
    })
}

/// Returns the places of the quantities of bodies, as kernels have them.
pub fn columns(bodies: &Bodies) -> Columns {
    columns_of_arrays(&bodies.on_device().map_or_else(|| bodies.arrays("a copy"), |arrays| arrays.columns))
}
