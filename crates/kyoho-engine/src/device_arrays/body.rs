//! Single bodies of arrays on the device, for errors, and of chunks.

use kyoho_core::{DeviceArray, DeviceBodies, MASS, MAX_COEFFICIENTS, OCTET, Result, Sink, Source, TAYLOR, TIME};
use kyoho_methods::device_arrays::DeviceArrays;

/// The numbers of one source or sink.
pub(super) struct Body {
    mass: f64,
    time: f64,
    index: Option<i32>,
    softening2: f64,
    radius2: f64,
    step: f64,
    pub derivatives: [[f64; 3]; MAX_COEFFICIENTS],
}

impl Body {
    /// Copies a body from arrays on a device.
    pub fn read(arrays: &mut dyn DeviceArrays, bodies: &DeviceBodies, number: usize) -> Result<Body> {
        let columns = &bodies.columns;
        let mut real = |array: Option<DeviceArray>| -> Result<f64> {
            let mut value = [0.0f64];
            if let Some(array) = array {
                arrays.read(&array, number, bytemuck::cast_slice_mut(&mut value))?;
            }
            Ok(value[0])
        };
        let (mass, time) = (real(columns.masses)?, real(columns.times)?);
        let (softening2, radius2, step) = (real(columns.softening2)?, real(columns.radii2)?, real(columns.steps)?);
        let mut index = [0i32];
        if let Some(array) = columns.indices {
            arrays.read(&array, number, bytemuck::cast_slice_mut(&mut index))?;
        }
        let mut derivatives = [[0.0f64; 3]; MAX_COEFFICIENTS];
        for (vector, array) in derivatives.iter_mut().zip(columns.derivatives) {
            if let Some(array) = array {
                arrays.read(&array, number, bytemuck::cast_slice_mut(vector))?;
            }
        }
        let index = columns.indices.map(|_| index[0]);
        Ok(Body { mass, time, index, softening2, radius2, step, derivatives })
    }

    /// Returns it as a source, whose index is its number if it has none.
    pub fn source(&self, number: usize) -> Source {
        let index = self.index.unwrap_or(number as i32);
        Source::from_derivatives(index, self.mass, self.time, self.derivatives)
    }

    /// Returns it as a sink, with another squared softening if one is given.
    pub fn sink(&self, softening2: Option<f64>) -> Sink {
        let derivatives = std::array::from_fn(|k| self.derivatives[k]);
        let Body { radius2, step, .. } = *self;
        let softening2 = softening2.unwrap_or(self.softening2);
        Sink { index: self.index.unwrap_or(0), softening2, radius2, step, derivatives }
    }
}

/// Returns the source at a place of a chunk as devices have it.
pub(super) fn source_at(place: usize, octets: &[f64], indices: &[i32], n_coefficients: usize) -> Source {
    let rows = TAYLOR + 3 * n_coefficients;
    let at = |row: usize| octets[(place / OCTET * rows + row) * OCTET + place % OCTET];
    let mut coefficients = [[0.0; 3]; MAX_COEFFICIENTS];
    for (k, vector) in coefficients[..n_coefficients].iter_mut().enumerate() {
        *vector = std::array::from_fn(|component| at(TAYLOR + 3 * k + component));
    }
    Source { index: indices[place], time: at(TIME), mass: at(MASS), coefficients }
}
