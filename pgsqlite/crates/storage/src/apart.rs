//! Work that takes long, apart from the tasks of other sessions.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs what waits or computes for long without the present session: other sessions' tasks go on elsewhere.
pub fn apart<R>(run: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|h| h.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(run),
        _ => run(),
    }
}
