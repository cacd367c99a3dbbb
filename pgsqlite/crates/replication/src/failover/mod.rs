//! Which of several nodes writes to the log in a bucket: the one that has the lease.
//!
//! The log is numbered entries, each an object that is created once. The lease is one object that is replaced only by who knows what it was. [`node`] has the rules, without any input or
//! output: it is told what the bucket has answered and what time it is, and says what to ask next. They are:
//!
//! 1. *One entry at a time.* The next one is put after the last one is in the log.
//! 2. *Create only.* An entry is put on the condition that its number is free. A number that another node has taken ends the holder's time.
//! 3. *The look.* After an entry is in the log, and before anybody is told so, its writer looks at the lease by a clock that never goes back. One that has expired says nothing of what others have done.
//! 4. *The fence.* The lease is taken and renewed by compare-and-set. Who finds another node's lease is no holder any more, whatever its own clock says.
//! 5. *Retention.* A number gets free again, when an entry is removed that others stand for, long after all leases that were there when it was written have expired.
//! 6. *Whole looks.* Who has not read the end of the log lately, or misses an entry, reads what stands for removed entries first: a request that was late may have put an old number again.
//!
//! The second and the third rule protect the log from each other's weaknesses: the look from requests that come when a number is free again, and the condition from clocks that differ. The model
//! (`model`, a test) runs random schedules, and finds a loss with any of the rules left out.

mod bucket;
#[cfg(test)]
mod model;
pub mod node;

pub use crate::bucket::Tag;
pub use bucket::LeaseObject;
