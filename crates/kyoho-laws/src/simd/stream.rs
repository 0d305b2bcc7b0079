//! Copies to memory that a device reads next, past the caches.

use bytemuck::Pod;

/// Copies items to memory that the processor itself does not read soon. The stores go past the
/// caches, which need not fetch what is overwritten. Call [`finish`] before others are told.
///
/// # Panics
/// If the numbers of items differ.
pub fn copy<T: Pod>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len(), "copies are as long as what is copied");
    let (to, from): (&mut [u8], &[u8]) = (bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from));
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        const WIDTH: usize = size_of::<__m128i>();
        let (head, to) = to.split_at_mut(to.as_ptr().align_offset(WIDTH).min(to.len()));
        let (first, from) = from.split_at(head.len());
        let ((to, tail), (from, last)) = (to.as_chunks_mut::<WIDTH>(), from.as_chunks::<WIDTH>());
        head.copy_from_slice(first);
        tail.copy_from_slice(last);
        for (to, from) in to.iter_mut().zip(from) {
            // SAFETY: both have the width of a vector, and the first is aligned to it. Every
            // processor of this kind has these instructions.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Waits until other threads and devices find what this thread has copied.
pub fn finish() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this kind has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
