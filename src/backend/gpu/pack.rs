//! Numbers on their way to kernels and back: rows of sinks, chunks of sources.

use bytemuck::{Pod, Zeroable};

use crate::catalogue::{Descriptor, Precision};
use crate::system::slices::CHUNK;
use crate::system::{Chunk, MAX_VECTORS, OCTET, Sink, TAYLOR};

/// Bytes of a row of a body.
pub const ROW: usize = 16;

/// A row of a body: four numbers of 32 bits or two of 64.
#[repr(C, align(16))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
pub struct Vector(pub [u64; 2]);

impl Vector {
    #[inline(always)]
    fn of_32(numbers: [f32; 4]) -> Vector {
        Vector(bytemuck::cast(numbers))
    }

    #[inline(always)]
    fn of_64(numbers: [f64; 2]) -> Vector {
        Vector(bytemuck::cast(numbers))
    }
}

/// The rows of a body: `ROWS` in `kernels/body.h`.
pub fn rows(descriptor: &Descriptor) -> usize {
    match descriptor.precision {
        Precision::Double => 2 * descriptor.vectors,
        Precision::Mixed => 1 + descriptor.vectors,
        _ => descriptor.vectors,
    }
}

/// Writes sinks as rows, `stride` sinks apart, and their indices.
pub fn sinks(descriptor: &Descriptor, sinks: &[Sink], stride: usize, to: &mut [Vector], indices: &mut [i32]) {
    match descriptor.precision {
        Precision::Double => fill::<4>(2 * descriptor.vectors, sinks, stride, to, indices, |sink| {
            let [x, v] = sink.derivatives;
            [[x[0], x[1]], [x[2], sink.softening2], [v[0], v[1]], [v[2], 0.0]].map(Vector::of_64)
        }),
        Precision::Mixed => fill::<3>(1 + descriptor.vectors, sinks, stride, to, indices, |sink| {
            let [x, v] = sink.derivatives;
            let high = x.map(|component| component as f32);
            let low: [f32; 3] = std::array::from_fn(|k| (x[k] - f64::from(high[k])) as f32);
            [row_32(high, sink.softening2 as f32), row_32(low, 0.0), row_32(v.map(|component| component as f32), 0.0)]
        }),
        _ => fill::<MAX_VECTORS>(descriptor.vectors, sinks, stride, to, indices, |sink| {
            let [x, v] = sink.derivatives.map(|vector| vector.map(|component| component as f32));
            [row_32(x, sink.softening2 as f32), row_32(v, 0.0)]
        }),
    }
}

#[inline(always)]
fn row_32([x, y, z]: [f32; 3], w: f32) -> Vector {
    Vector::of_32([x, y, z, w])
}

#[inline(always)]
fn fill<const MOST: usize>(
    rows: usize,
    sinks: &[Sink],
    stride: usize,
    to: &mut [Vector],
    indices: &mut [i32],
    rows_of: impl Fn(&Sink) -> [Vector; MOST],
) {
    let mut lines: [&mut [Vector]; MOST] = std::array::from_fn(|_| Default::default());
    for (line, row) in lines.iter_mut().zip(to.chunks_mut(stride)).take(rows) {
        *line = &mut row[..sinks.len()];
    }
    let indices = &mut indices[..sinks.len()];
    for (place, sink) in sinks.iter().enumerate() {
        let made = rows_of(sink);
        for row in 0..MOST {
            if row < rows {
                lines[row][place] = made[row];
            }
        }
        indices[place] = sink.index;
    }
}

/// Where a place of a chunk is that no source was written to: `FAR_AWAY` in `kernels/body.h`.
fn far_away(precision: Precision) -> f64 {
    match precision {
        Precision::Double => 4e150,
        _ => 4e18,
    }
}

/// Numbers of 64 bits of a chunk on a device.
pub fn chunk_numbers(descriptor: &Descriptor) -> usize {
    CHUNK * (TAYLOR + 3 * descriptor.taylor)
}

/// Writes a chunk as kernels read it: the octets of the host's copy, places that were never written far away.
pub fn chunk(descriptor: &Descriptor, chunk: &Chunk, to: &mut [f64], indices: &mut [i32]) {
    let rows = TAYLOR + 3 * descriptor.taylor;
    for (octet, to) in chunk.octets().zip(to.chunks_exact_mut(rows * OCTET)) {
        to.copy_from_slice(bytemuck::cast_slice(octet));
    }
    if !chunk.all_set(CHUNK) {
        for place in (0..CHUNK).filter(|place| !chunk.is_set(*place)) {
            let octet = &mut to[place / OCTET * rows * OCTET..][..rows * OCTET];
            for component in 0..3 {
                octet[(TAYLOR + component) * OCTET + place % OCTET] = far_away(descriptor.precision);
            }
        }
    }
    indices.copy_from_slice(chunk.indices());
}
