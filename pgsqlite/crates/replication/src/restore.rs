//! A database, made again from an archive.

use crate::archive::{pages_of, Archive, Entry, SNAPSHOTS};
use crate::ltx::{Header, Reader};
use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Which state is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// The newest one.
    Now,
    /// The last one that was committed by then: milliseconds since 1970.
    Time(i64),
    /// The one after this transaction.
    Transaction(u64),
    /// The last one that has nothing behind this place in the log.
    Lsn(u64),
}

/// The state that a restored file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// the number of the last transaction
    pub transaction: u64,
    /// when it was committed: milliseconds since 1970
    pub time: i64,
    /// where its changes end in the log; zero: it is not known
    pub lsn: u64,
    /// how many pages the database has
    pub pages: u32,
    /// the bytes of each
    pub page_size: u32,
    /// how many files of the archive were read
    pub files: usize,
}

/// The files that lead to a state, in the order in which they are applied. Errors: if the archive has no such state, or if files are missing.
pub fn plan(archive: &Archive, entries: &[Entry], until: Until) -> Result<Vec<Entry>> {
    let headers = match until {
        Until::Time(_) | Until::Lsn(_) => archive.headers(entries)?,
        Until::Now | Until::Transaction(_) => Vec::new(),
    };
    if let Until::Lsn(wanted) = until {
        let newest = headers.iter().map(|header| header.lsn.1).max().unwrap_or(0);
        // (files of a time when it was not known are older than all others)
        if newest == 0 {
            return Err(Error::new(
                "the archive does not know places in the log: Litestream has written it, or an earlier version",
            ));
        }
        if newest < wanted {
            return Err(Error::new(format!("the archive ends at {}, before that place", lsn_text(newest))));
        }
    }
    let wanted = |(i, entry): &(usize, &Entry)| match until {
        Until::Now => true,
        Until::Transaction(last) => entry.last <= last,
        Until::Time(time) => headers[*i].time <= time,
        Until::Lsn(lsn) => headers[*i].lsn.1 <= lsn,
    };
    let usable: Vec<&Entry> = entries.iter().enumerate().filter(wanted).map(|(_, entry)| entry).collect();
    let mut plan: Vec<Entry> = Vec::new();
    // the newest whole database first: everything before it need not be read
    plan.extend(
        usable.iter().filter(|e| e.level == SNAPSHOTS && e.first == 1).max_by_key(|e| e.last).map(|e| (*e).clone()),
    );
    let mut at = plan.first().map_or(0, |e| e.last);
    // of the files that go on from there, the one that leads furthest
    while let Some(next) = usable.iter().filter(|e| e.first <= at + 1 && e.last > at).max_by_key(|e| e.last) {
        at = next.last;
        plan.push((*next).clone());
    }
    let Some(last) = usable.iter().map(|e| e.last).max() else {
        return Err(Error::new(match until {
            Until::Now => "the archive is empty",
            Until::Time(_) => "the archive has no state of that time or before",
            Until::Transaction(_) => "the archive has no state of that transaction or before",
            Until::Lsn(_) => "the archive has no state of that place in the log or before",
        }));
    };
    let missing = |from: u64, to: u64| {
        Err(Error::new(format!("the archive is not complete: changes {from:x} to {to:x} are missing")))
    };
    match (until, usable.iter().filter(|e| e.first > at + 1).map(|e| e.first).min()) {
        // (the first file has all pages)
        _ if at == 0 => missing(1, usable.iter().map(|e| e.first).min().unwrap_or(last) - 1),
        (_, Some(next)) => missing(at + 1, next - 1),
        (Until::Transaction(wanted), None) if wanted != at => Err(Error::new(format!(
            "the archive has no state of transaction {wanted:x}: the nearest one before is {at:x}"
        ))),
        _ => Ok(plan),
    }
}

/// A place in the log, as PostgreSQL writes it.
pub fn lsn_text(lsn: u64) -> String {
    format!("{:X}/{:X}", lsn >> 32, lsn & 0xffff_ffff)
}

/// A path with something behind it.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    name.into()
}

/// A file that a database is being restored to.
struct Making<'p> {
    to: &'p Path,
    path: PathBuf,
    file: File,
    state: Option<Header>,
}

impl<'p> Making<'p> {
    fn failed(&self) -> impl Fn(std::io::Error) -> Error + '_ {
        |e| Error::file(&self.path, &e)
    }

    /// Errors: for a file that is there, also for a log beside it, which SQLite would take for the new file's.
    fn begin(to: &'p Path) -> Result<Making<'p>> {
        for path in [to.to_path_buf(), beside(to, "-wal"), beside(to, "-journal")] {
            if path.symlink_metadata().is_ok() {
                return Err(Error::new(format!("\"{}\" exists: a database is restored to a new file", path.display())));
            }
        }
        let path = beside(to, ".restoring");
        let file = File::options().read(true).write(true).create_new(true).open(&path);
        let file = file.map_err(|e| Error::file(&path, &e))?;
        Ok(Making { to, path, file, state: None })
    }

    fn page(&self, header: &Header, number: u32, content: &[u8]) -> Result<()> {
        let at = u64::from(number - 1) * u64::from(header.page_size);
        self.file.write_all_at(content, at).map_err(self.failed())
    }

    /// All pages of an LTX file are written.
    fn applied(&mut self, header: Header) -> Result<()> {
        if self.state.as_ref().is_some_and(|before| before.page_size != header.page_size) {
            return Err(Error::new("the size of the pages changes in the archive"));
        }
        let length = u64::from(header.pages) * u64::from(header.page_size);
        self.file.set_len(length).map_err(self.failed())?;
        self.state = Some(header);
        Ok(())
    }

    /// Gives the file its name, for good.
    fn finish(mut self, files: usize) -> Result<State> {
        let header = self.state.take().ok_or_else(|| Error::new("the archive is empty"))?;
        check_header(&self.file, &header).map_err(|e| e.of(&self.path))?;
        self.file.sync_all().map_err(self.failed())?;
        // (a hard link does not take the place of a file that has come meanwhile; not every file system has them)
        match std::fs::hard_link(&self.path, self.to) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Err(Error::file(self.to, &e)),
            Err(_) => std::fs::rename(&self.path, self.to).map_err(|e| Error::file(self.to, &e))?,
        }
        let folder = self.to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| Error::file(folder, &e))?;
        let Header { last, time, pages, page_size, lsn, .. } = header;
        Ok(State { transaction: last, time, lsn: lsn.1, pages, page_size, files })
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        // (it has another name by now, or the error that is reported is another one)
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a state of an archive to a file that does not exist yet, for good. It has its name only when it is complete. Errors: also for a log beside
/// it, which SQLite would take for the new file's.
pub fn restore(archive: &Archive, to: &Path, until: Until) -> Result<State> {
    let mut making = Making::begin(to)?;
    let plan = plan(archive, &archive.entries()?, until)?;
    let mut left = &plan[..];
    while !left.is_empty() {
        let readers = archive.read_first(left)?;
        let (these, others) = left.split_at(readers.len());
        for (mut reader, entry) in readers.into_iter().zip(these) {
            let mut page = |header: &Header, number, content: &[u8]| making.page(header, number, content);
            let header = pages_of(&mut reader, entry, &mut page)?;
            making.applied(header).map_err(|e| e.of(entry.path()))?;
        }
        left = others;
    }
    making.finish(plan.len())
}

/// Writes the whole database that an LTX file has to a file that does not exist yet, as [`restore`] does.
pub fn receive<R: Read>(from: &mut Reader<R>, to: &Path) -> Result<State> {
    let mut making = Making::begin(to)?;
    let header = from.header().clone();
    if !header.is_whole() {
        return Err(Error::new("the LTX file has not all pages of the database"));
    }
    while let Some((number, content)) = from.page()? {
        making.page(&header, number, content)?;
    }
    making.applied(header)?;
    making.finish(1)
}

/// Compares what the database's first page says of its size with what was restored.
fn check_header(file: &File, header: &Header) -> Result<()> {
    let mut first = [0u8; 100];
    if header.pages == 0 {
        return Ok(());
    }
    file.read_exact_at(&mut first, 0)?;
    let number = |at: usize| first[at..at + 4].iter().fold(0u32, |n, b| n << 8 | u32::from(*b));
    let page_size = match u32::from(first[16]) << 8 | u32::from(first[17]) {
        1 => 65_536,
        n => n,
    };
    // (the number of pages is valid where its counter is that of the last change)
    let pages = if number(24) == number(92) { number(28) } else { header.pages };
    match &first[..16] == b"SQLite format 3\0" && page_size == header.page_size && pages == header.pages {
        true => Ok(()),
        false => Err(Error::new("what was restored is no SQLite database of the size that the archive says")),
    }
}

/// What [`verify`] has found.
#[derive(Debug, Default)]
pub struct Verified {
    /// how many files were read
    pub files: usize,
    /// how many pages they have
    pub pages: u64,
    /// what is wrong
    pub problems: Vec<String>,
    /// the newest state, if a way leads to it
    pub newest: Option<u64>,
}

/// Reads all files of an archive, and looks whether they lead to its newest state. Errors: if it cannot be listed.
pub fn verify(archive: &Archive) -> Result<Verified> {
    let entries = archive.entries()?;
    let mut found = Verified::default();
    for entry in &entries {
        found.files += 1;
        let pages = &mut found.pages;
        let read = archive.each_page(entry, |_, _, _| {
            *pages += 1;
            Ok(())
        });
        if let Err(e) = read {
            found.problems.push(e.to_string());
        }
    }
    match plan(archive, &entries, Until::Now) {
        Ok(plan) => found.newest = plan.last().map(|e| e.last),
        Err(e) => found.problems.push(e.to_string()),
    }
    Ok(found)
}
