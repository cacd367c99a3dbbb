//! How an archive stays small: files are put together to higher levels, whole databases are written, and what is too old is removed.

use crate::archive::{Archive, Entry, SNAPSHOTS};
use crate::restore::{plan, Until};
use crate::Result;
use std::time::Duration;

/// How files of a level become one of the next: so many at least, and so long they are kept beside it, so that a time in between can be restored.
struct Step {
    files: usize,
    kept: Duration,
}

/// So many files are put together at most: all of them are open at the same time, and what is done is not done again by a server that comes to it after this one.
const MOST: usize = 200;

const MINUTE: Duration = Duration::from_secs(60);

/// From level 0 to 1, from 1 to 2, and from 2 to 3.
const STEPS: [Step; 3] = [
    Step { files: 30, kept: Duration::from_secs(5 * 60) },
    Step { files: 10, kept: Duration::from_secs(60 * 60) },
    Step { files: 12, kept: Duration::from_secs(24 * 60 * 60) },
];

/// What is due in an archive.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// a whole database is written when the last one is older than this
    pub snapshots: Duration,
    /// states of this time are kept
    pub retention: Duration,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { snapshots: 24 * 60 * MINUTE, retention: 7 * 24 * 60 * MINUTE }
    }
}

fn before(now: i64, time: Duration) -> i64 {
    now.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// When the last transaction of each of these files was committed.
fn times<'e>(archive: &Archive, entries: impl Iterator<Item = &'e Entry>) -> Result<Vec<(Entry, i64)>> {
    let entries: Vec<Entry> = entries.cloned().collect();
    let headers = archive.headers(&entries)?;
    Ok(entries.into_iter().zip(headers.into_iter().map(|header| header.time)).collect())
}

/// Files of a level that follow each other from a number on, and lead to the newest one. Where several begin there, as after a lost answer, the one that leads
/// furthest. None: one is missing.
fn chain(entries: &[Entry], level: u32, done: u64) -> Option<Vec<Entry>> {
    let (mut chain, mut at): (Vec<Entry>, u64) = (Vec::new(), done);
    let of_level = || entries.iter().filter(|e| e.level == level);
    while let Some(next) = of_level().filter(|e| e.first == at + 1).max_by_key(|e| e.last) {
        at = next.last;
        chain.push(next.clone());
    }
    (of_level().map(|e| e.last).max() <= Some(at)).then_some(chain)
}

/// The number up to which a level has everything.
fn covered(entries: &[Entry], level: u32) -> u64 {
    entries.iter().filter(|e| e.level == level).map(|e| e.last).max().unwrap_or(0)
}

/// Does what is due at a time (milliseconds since 1970). `removes`: files that others stand for may be removed. Only one may be at work in an archive. Errors: the archive is as good as before.
pub fn tidy(archive: &Archive, policy: &Policy, now: i64, removes: bool) -> Result<()> {
    for (level, step) in (0..).zip(&STEPS) {
        let entries = archive.entries()?;
        let done = covered(&entries, level + 1);
        if let Some(due) = chain(&entries, level, done).filter(|due| due.len() >= step.files) {
            for some in due.chunks(MOST) {
                archive.merge(level + 1, some)?;
            }
        }
    }
    let entries = archive.entries()?;
    let snapshots: Vec<&Entry> = entries.iter().filter(|e| e.level == SNAPSHOTS).collect();
    let newest = entries.iter().map(|e| e.last).max().unwrap_or(0);
    let last = snapshots.iter().max_by_key(|e| e.last);
    let due = match last {
        None => {
            let first = times(archive, entries.iter().filter(|e| e.first == 1))?;
            newest > 0 && first.iter().map(|(_, t)| *t).min().is_some_and(|t| t <= before(now, policy.snapshots))
        }
        Some(last) => {
            let time = times(archive, std::iter::once(*last))?;
            last.last < newest && time.iter().all(|(_, t)| *t <= before(now, policy.snapshots))
        }
    };
    if due {
        archive.merge(SNAPSHOTS, &plan(archive, &entries, Until::Now)?)?;
    }
    match removes {
        true => remove_old(archive, policy, now),
        false => Ok(()),
    }
}

/// Removes files that others stand for. The newest one of level 0 stays: in a bucket it says how far the archive has come.
fn remove_old(archive: &Archive, policy: &Policy, now: i64) -> Result<()> {
    let entries = archive.entries()?;
    let newest = covered(&entries, 0);
    let removable = |e: &Entry| e.level != 0 || e.last != newest;
    for (level, step) in (0..).zip(&STEPS) {
        let done = covered(&entries, level + 1);
        let stood_for = entries.iter().filter(|e| e.level == level && e.last <= done && removable(e));
        let timed = times(archive, stood_for)?.into_iter();
        let old: Vec<Entry> =
            timed.filter(|(_, time)| *time <= before(now, step.kept)).map(|(entry, _)| entry).collect();
        archive.remove_all(&old)?;
    }
    // the newest whole database that is old enough: nothing before it is needed
    let entries = archive.entries()?;
    let snapshots = times(archive, entries.iter().filter(|e| e.level == SNAPSHOTS))?;
    let old = snapshots.iter().filter(|(_, time)| *time <= before(now, policy.retention));
    let Some(base) = old.map(|(snapshot, _)| snapshot.last).max() else { return Ok(()) };
    let is_old = |e: &&Entry| (e.last < base || e.last == base && e.level != SNAPSHOTS) && removable(e);
    archive.remove_all(&entries.iter().filter(is_old).cloned().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ltx::Header;
    use crate::place::Place;
    use crate::restore::{restore, verify};

    const SECOND: i64 = 1000;

    fn page(seed: u64, page: u32) -> Vec<u8> {
        let mut content = vec![(seed % 251) as u8; 512];
        content[0..4].copy_from_slice(&page.to_be_bytes());
        if page == 1 {
            content[..16].copy_from_slice(b"SQLite format 3\0");
            content[16..18].copy_from_slice(&512u16.to_be_bytes());
            content[24..28].fill(0);
            content[92..96].fill(1);
        }
        content
    }

    /// A database of which each second one page is written, tidied up all the time: every state that a plan leads to is the one that was.
    #[test]
    fn states_stay_what_they_were() {
        // (memory, if there is some: each file is synced)
        let base = Some(std::path::PathBuf::from("/dev/shm")).filter(|p| p.is_dir()).unwrap_or_else(std::env::temp_dir);
        let folder = base.join(format!("pgsqlite-levels-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let archive = Archive::make(Place::Folder(folder.join("a"))).unwrap();
        let policy = Policy { snapshots: 20 * MINUTE, retention: 40 * MINUTE };
        let (pages, last) = (40, 4000u64);
        let mut state: Vec<Vec<u8>> = (1..=pages).map(|n| page(1, n)).collect();
        let mut states = std::collections::HashMap::new();
        for number in 1..=last {
            let header = Header::new(512, pages, number, number, number as i64 * SECOND);
            let changed = 1 + (number * 7 % u64::from(pages)) as u32;
            state[changed as usize - 1] = page(number, changed);
            let written: Vec<u32> = if number == 1 { (1..=pages).collect() } else { vec![changed] };
            archive
                .write(0, &header, |to| written.iter().try_for_each(|n| to.page(*n, &state[*n as usize - 1])))
                .unwrap();
            if number % 30 == 0 || number == last {
                states.insert(number, state.concat());
                tidy(&archive, &policy, number as i64 * SECOND, true).unwrap();
            }
        }
        let entries = archive.entries().unwrap();
        assert!(entries.len() < 700, "{} files", entries.len());
        assert!([0, 1, 2, 3, SNAPSHOTS].iter().all(|level| entries.iter().any(|e| e.level == *level)));
        let found = verify(&archive).unwrap();
        assert_eq!((found.problems, found.newest), (vec![], Some(last)));
        let mut restored = 0;
        for (number, state) in &states {
            let to = folder.join(format!("{number}.db"));
            if restore(&archive, &to, Until::Transaction(*number)).is_ok() {
                assert_eq!(&std::fs::read(&to).unwrap(), state, "{number}");
                restored += 1;
            }
            // by time there is a state of then or before, unless it is too old
            let to = folder.join(format!("{number}-time.db"));
            match restore(&archive, &to, Until::Time(*number as i64 * SECOND)) {
                Ok(found) => assert!(found.transaction <= *number),
                Err(_) => assert!((*number as i64) < last as i64 - 40 * 60, "{number}"),
            }
        }
        assert!(restored > 5 && states.len() > 100, "{restored}");
        let newest = folder.join("newest.db");
        restore(&archive, &newest, Until::Now).unwrap();
        assert_eq!(&std::fs::read(&newest).unwrap(), &states[&last]);
        // a file that is missing is named, and nothing is restored
        let victim = entries.iter().find(|e| e.level == 0 && e.first == last - 5).unwrap();
        archive.remove(victim).unwrap();
        let after = folder.join("after.db");
        let error = restore(&archive, &after, Until::Now).unwrap_err().to_string();
        assert!(error.contains("are missing") && !after.exists(), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
