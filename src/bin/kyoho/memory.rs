//! Memory that may not be there.

use kyoho::Error;

use crate::failure::Result;

/// An empty vector with room for so many elements; `what` names them where there is none.
pub fn room<T>(count: usize, what: &'static str) -> Result<Vec<T>> {
    let mut vector = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    vector.try_reserve_exact(count).map_err(|_| Error::OutOfMemory { what, bytes })?;
    Ok(vector)
}

/// A vector of so many equal elements.
pub fn filled<T: Clone>(count: usize, element: T, what: &'static str) -> Result<Vec<T>> {
    let mut vector = room(count, what)?;
    vector.resize(count, element);
    Ok(vector)
}
