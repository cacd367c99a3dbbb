//! What leads on from a state: for a copy of a database that follows its archive.

use crate::archive::Archive;
use crate::entry::{Entry, SNAPSHOTS};
use crate::{Error, Result};

/// The files that lead from the state after this transaction to the newest one, in the order in which they are applied. Each of them leads to a state that the
/// database had. None: the archive has nothing newer. Errors: if files are missing, or the archive ends before the state.
pub fn next(entries: &[Entry], transaction: u64) -> Result<Vec<Entry>> {
    let (mut found, mut at) = (Vec::new(), transaction);
    let leads_on = |e: &&Entry, at: u64| e.first <= at + 1 && e.last > at;
    loop {
        let newer = || entries.iter().filter(|e| leads_on(e, at));
        // (a whole database is only read where there is no other way)
        let changes = newer().filter(|e| e.level != SNAPSHOTS).max_by_key(|e| e.last);
        let Some(next) = changes.or_else(|| newer().max_by_key(|e| e.last)) else { break };
        at = next.last;
        found.push(next.clone());
    }
    let last = entries.iter().map(|e| e.last).max();
    match last {
        Some(last) if last > at => Err(Error::new(format!("the archive is not complete: changes {:x} and later", at + 1))),
        Some(last) if last < transaction => Err(Error::new(format!(
            "the archive ends with transaction {last:x}, before that of this copy, {transaction:x}: it is another one, or an older state of it"
        ))),
        _ => Ok(found),
    }
}

/// As [`next`]. Asks first, and cheaply, for files that were written just now. `looks`: for all others, too, if there are none. `lately`: the end of the archive was read lately, so that what
/// follows is not so old that others stand for it, and has been removed.
pub fn newer(archive: &Archive, transaction: u64, looks: bool, lately: bool) -> Result<Vec<Entry>> {
    if !lately {
        return next(&archive.entries()?, transaction);
    }
    let written = archive.written_after(transaction)?;
    if written.is_empty() && !looks {
        return Ok(written);
    }
    match next(&written, transaction) {
        Ok(found) if !found.is_empty() => Ok(found),
        // (others stand for them, or there are none)
        _ => next(&archive.entries()?, transaction),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(level: u32, first: u64, last: u64) -> Entry {
        Entry { level, first, last, path: format!("{level}/{first}-{last}").into(), size: 0 }
    }

    fn plan(entries: &[Entry], at: u64) -> std::result::Result<Vec<(u32, u64, u64)>, String> {
        let found = next(entries, at).map_err(|e| e.to_string())?;
        Ok(found.iter().map(|e| (e.level, e.first, e.last)).collect())
    }

    #[test]
    fn the_files_that_lead_on_are_chosen() {
        let entries = [entry(0, 4, 4), entry(0, 5, 5), entry(0, 6, 6), entry(1, 1, 3), entry(1, 4, 5), entry(9, 1, 5)];
        assert_eq!(plan(&entries, 6), Ok(vec![]));
        assert_eq!(plan(&entries, 5), Ok(vec![(0, 6, 6)]));
        assert_eq!(plan(&entries, 3), Ok(vec![(1, 4, 5), (0, 6, 6)]));
        // a file that others stand for by now leads on from within them
        assert_eq!(plan(&entries, 4), Ok(vec![(1, 4, 5), (0, 6, 6)]));
        // changes that were removed: the whole database
        assert_eq!(plan(&[entry(0, 9, 9), entry(9, 1, 8)], 3), Ok(vec![(9, 1, 8), (0, 9, 9)]));
        assert!(plan(&[entry(0, 9, 9)], 3).is_err_and(|e| e.contains("not complete: changes 4")));
        assert!(plan(&[entry(0, 1, 2)], 3).is_err_and(|e| e.contains("before that of this copy")));
        assert_eq!(plan(&[], 3), Ok(vec![]));
    }
}
