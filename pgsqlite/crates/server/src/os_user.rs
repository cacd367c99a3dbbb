//! The users of the operating system.

use nix::unistd::{Uid, User};

/// The name of the user that the process runs as; None: it has none.
pub fn own() -> Option<String> {
    named(Uid::effective().as_raw())
}

/// The name of a user; None: there is no such user, or nobody can say.
pub fn named(uid: u32) -> Option<String> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten().map(|user| user.name)
}
