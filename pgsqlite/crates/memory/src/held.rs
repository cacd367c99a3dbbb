//! Memory that code allocates which nobody counts: a C library's.

use crate::count::{self, Exceeded};

/// Bytes that count as allocated until this is dropped.
#[derive(Debug)]
pub struct Held(isize);

/// Counts so many bytes as allocated, beforehand. Fails as [`crate::reserve`].
pub fn hold(bytes: usize) -> Result<Held, Exceeded> {
    count::reserve(bytes)?;
    let bytes = isize::try_from(bytes).unwrap_or(isize::MAX / 4);
    count::note(bytes);
    Ok(Held(bytes))
}

impl Drop for Held {
    fn drop(&mut self) {
        count::note(-self.0);
    }
}
