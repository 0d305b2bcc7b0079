//! The arrays of a program on the device that computes.

use crate::bench::arrays::Bodies;
use crate::failure::Result;
use kyoho_core::{BodyColumns, DeviceArray, DeviceBodies, DeviceForces, DevicePlace, Interaction, memory};
use kyoho_hal::cuda::{Cuda, Memory};

/// Memory of a device for arrays, which is freed with this.
pub struct DeviceMemory {
    gpu: Cuda,
    number: usize,
    kept: Vec<Memory>,
}

impl DeviceMemory {
    /// Opens the device of this number.
    pub fn new(number: usize) -> Result<DeviceMemory> {
        Ok(DeviceMemory { gpu: Cuda::open(number)?, number, kept: Vec::new() })
    }

    /// Returns where arrays lie, for a structure of this name.
    pub fn place(&self, name: &'static str) -> DevicePlace {
        DevicePlace { name, device: self.number as i32, stream: 0 }
    }

    /// Copies an array of rows of this many numbers.
    pub fn array<T: bytemuck::NoUninit>(
        &mut self,
        name: &'static str,
        numbers: &[T],
        of_row: usize,
    ) -> Result<DeviceArray> {
        let copy = self.gpu.copy_of(bytemuck::cast_slice(numbers))?;
        let (address, width) = (copy.address(), of_row * size_of::<T>());
        memory::push(&mut self.kept, copy, "arrays on the device")?;
        Ok(DeviceArray { name, address, stride: width as i64, width })
    }

    /// Copies bodies, as sources or, without masses, as sinks.
    pub fn bodies(&mut self, bodies: &Bodies, are_sources: bool, with_indices: bool) -> Result<DeviceBodies> {
        let mut copied = BodyColumns::NONE;
        if are_sources {
            copied.masses = Some(self.array("masses", &bodies.masses, 1)?);
        }
        if with_indices {
            copied.indices = Some(self.array("indices", &bodies.indices, 1)?);
        }
        for (array, column) in copied.derivatives.iter_mut().zip(&bodies.derivatives) {
            if !column.is_empty() {
                *array = Some(self.array("vectors", column, 3)?);
            }
        }
        Ok(DeviceBodies { place: self.place("bodies"), columns: copied })
    }

    /// Makes arrays for the forces on this many sinks.
    pub fn forces(&mut self, sinks: usize, interaction: &Interaction) -> Result<DeviceForces> {
        let zeros = memory::filled(3 * sinks, 0.0f64, "forces")?;
        let mut derivatives = [None; 4];
        for array in derivatives.iter_mut().take((interaction.n_outputs - 1) / 3) {
            *array = Some(self.array("forces", &zeros, 3)?);
        }
        let potentials = Some(self.array("potentials", &zeros[..sinks], 1)?);
        Ok(DeviceForces {
            place: self.place("forces"),
            potentials,
            derivatives,
            nearest: None,
            nearest_distance2: None,
        })
    }
}
