//! What goes from thread to thread although the compiler cannot see that it may.

/// What refers to a connection that a session has leased, and goes from thread to thread with it: one thread at a time uses it.
pub(in crate::session) struct Unshared<T>(T);

impl<T> Unshared<T> {
    /// # Safety
    /// Whatever the value refers to and other values refer to as well must be used by the same thread at any time.
    pub unsafe fn new(value: T) -> Unshared<T> {
        Unshared(value)
    }

    pub fn get(&self) -> &T {
        &self.0
    }

    pub fn into_inner(self) -> T {
        self.0
    }
}

// SAFETY: who made it has promised that.
unsafe impl<T> Send for Unshared<T> {}
