//! Where LTX files are, and what becomes of them there: `URL/ltx/LEVEL/FIRST-LAST.ltx`, as Litestream has them (on S3 `URL/LEVEL/FIRST-LAST.ltx`, the level
//! with four hexadecimal digits).
//!
//! Level 0 has the files as they were written, levels 1 to 8 what was put together from those of the level below, level 9 whole databases.
//!
//! A file is made in two steps. [`Archive::make_file`] writes it to a file of this machine, and [`Archive::publish`] gives it its name in the archive. The second step
//! may be done again: a bucket whose answer is lost may have the file or not.

pub use crate::entry::{Appended, Entry, Made, Published, SNAPSHOTS};

use crate::bucket::LEASE;
use crate::entry::transactions;
use crate::ltx::{Header, Reader, Writer, FIRST_LSN};
use crate::place::Place;
use crate::{Error, Result};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::{BufReader, BufWriter, Read};
use std::path::PathBuf;
use std::time::Duration;

/// So long a command asks a bucket again that does not answer as it should.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many files are read at the same time, if each has no more than so many bytes.
const TOGETHER: usize = 16;
const SMALL: u64 = 256 << 10;

/// Reads a file of an archive.
pub type FileReader = Reader<BufReader<Box<dyn Read + Send>>>;

/// Gives each page of a file to `page`, and compares the checksum. Returns its header.
pub fn pages_of(
    reader: &mut FileReader,
    entry: &Entry,
    page: &mut impl FnMut(&Header, u32, &[u8]) -> Result<()>,
) -> Result<Header> {
    let header = reader.header().clone();
    while let Some((number, content)) = reader.page().map_err(|e| e.of(&entry.path))? {
        page(&header, number, content)?;
    }
    Ok(header)
}

/// A place with the LTX files of one database.
#[derive(Debug, Clone)]
pub struct Archive {
    place: Place,
    /// nobody else writes to it
    owned: bool,
}

impl Archive {
    /// The archive that a URL names (see [`Place::parse`]). Errors: other schemes, a place that is not there or has no archive.
    pub fn open(url: &str) -> Result<Archive> {
        let archive = Archive { place: Place::parse(url, PATIENCE)?, owned: false };
        match &archive.place {
            Place::Folder(folder) if folder.join("ltx").is_dir() => Ok(archive),
            Place::Folder(folder) => {
                Err(Error::new(format!("\"{}\" has no archive: no folder \"ltx\" is in it", folder.display())))
            }
            Place::Bucket(bucket) => match bucket.entries(false)?.is_empty() {
                false => Ok(archive),
                true => Err(Error::new(format!("\"{bucket}\" has no archive of a database"))),
            },
        }
    }

    /// The archive at this place, for reading. It need not be there yet.
    pub fn reader(place: Place) -> Archive {
        Archive { place, owned: false }
    }

    /// The archive at this place, for the one who writes to it. A folder is made if it is not there; a bucket is not asked anything yet.
    pub fn make(place: Place) -> Result<Archive> {
        if let Place::Folder(folder) = &place {
            let first = folder.join("ltx").join("0");
            std::fs::create_dir_all(&first).map_err(|e| Error::file(&first, &e))?;
        }
        Ok(Archive { place, owned: true })
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The last number of a file that begins with this one, right after a start of the one who writes. In a bucket it is a few thousand more, by chance: a file that
    /// an earlier process has sent may still come to be, and its name must never have been given to another content.
    pub fn first_last(&self, first: u64) -> u64 {
        match self.place {
            Place::Folder(_) => first,
            Place::Bucket(_) => {
                let chance = std::collections::hash_map::RandomState::new().build_hasher().finish();
                first + 1 + chance % 0xffff
            }
        }
    }

    /// Makes a file, without its name.
    pub fn make_file<R>(
        &self,
        level: u32,
        header: &Header,
        pages: impl FnOnce(&mut Writer<BufWriter<File>>) -> Result<R>,
    ) -> Result<(Made, R)> {
        let (file, making) = match &self.place {
            Place::Folder(folder) => {
                let folder = folder.join("ltx").join(level.to_string());
                std::fs::create_dir_all(&folder).map_err(|e| Error::file(&folder, &e))?;
                let making = folder.join(format!(".{:016x}.new", header.first));
                (File::create(&making).map_err(|e| Error::file(&making, &e))?, making)
            }
            Place::Bucket(bucket) => (bucket.new_file()?, PathBuf::from("a file for the archive")),
        };
        let failed = |e: std::io::Error| Error::file(&making, &e);
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, file), header.clone())?;
        let result = pages(&mut writer)?;
        let file = writer.finish()?.into_inner().map_err(|e| failed(e.into_error()))?;
        if let Place::Folder(_) = self.place {
            file.sync_all().map_err(failed)?;
            // (Litestream takes this for the time of the file's last transaction)
            let time = std::time::UNIX_EPOCH + Duration::from_millis(header.time.max(0) as u64);
            file.set_modified(time).map_err(failed)?;
        }
        Ok((Made { level, header: header.clone(), file, making }, result))
    }

    /// Gives a file its name, for good, and keeps how far the archive has come with it ([`Archive::position`]), if that is not empty. After an error it may be done again, and has
    /// to be: whether the archive has the file is not known.
    pub fn publish(&self, made: &Made, position: &str) -> Result<Published> {
        let folder = match &self.place {
            Place::Folder(folder) => folder,
            Place::Bucket(bucket) => return bucket.put(made, position),
        };
        let level = folder.join("ltx").join(made.level.to_string());
        let path = level.join(format!("{:016x}-{:016x}.ltx", made.header.first, made.header.last));
        match std::fs::rename(&made.making, &path) {
            Ok(()) => {}
            // (it was done before, and what follows was not)
            Err(e) if e.kind() == std::io::ErrorKind::NotFound && path.exists() => {}
            Err(e) => return Err(Error::file(&path, &e)),
        }
        File::open(&level).and_then(|level| level.sync_all()).map_err(|e| Error::file(&level, &e))?;
        if !position.is_empty() {
            let (path, making) = (folder.join("position"), folder.join(".position.new"));
            let write = || std::fs::write(&making, position).and_then(|()| std::fs::rename(&making, &path));
            write().map_err(|e| Error::file(&path, &e))?;
        }
        Ok(Published::Done)
    }

    /// Puts the next entry of a log that several nodes write, with how far it has come, if nobody has put one with its number. Errors: it may be in the log, or get there yet.
    pub fn append(&self, made: &Made, position: &str) -> Result<Appended> {
        match &self.place {
            Place::Folder(_) => Err(Error::new("only a bucket has a log that several nodes write")),
            Place::Bucket(bucket) => bucket.append(made, position),
        }
    }

    /// Whether several nodes write to it, one at a time.
    pub fn has_lease(&self) -> Result<bool> {
        match &self.place {
            Place::Folder(_) => Ok(false),
            Place::Bucket(bucket) => Ok(bucket.look(LEASE)?.is_some()),
        }
    }

    /// Whether it has anything.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(match &self.place {
            Place::Folder(_) => self.entries()?.is_empty(),
            Place::Bucket(bucket) => bucket.entries(false)?.is_empty(),
        })
    }

    /// Makes a file, and gives it its name.
    pub fn write<R>(
        &self,
        level: u32,
        header: &Header,
        pages: impl FnOnce(&mut Writer<BufWriter<File>>) -> Result<R>,
    ) -> Result<R> {
        let (made, result) = self.make_file(level, header, pages)?;
        match self.publish(&made, "")? {
            Published::Done => Ok(result),
            Published::Taken => Err(self.taken()),
        }
    }

    /// The error after [`Published::Taken`].
    pub fn taken(&self) -> Error {
        Error::new(format!("another server writes to the archive \"{}\"", self.place))
    }

    /// Puts files that follow each other together, as one of this level: of each page the newest content.
    pub fn merge(&self, level: u32, entries: &[Entry]) -> Result<()> {
        let mut readers = Vec::new();
        while readers.len() < entries.len() {
            readers.extend(self.read_first(&entries[readers.len()..])?);
        }
        let (Some(first), Some(last)) = (readers.first(), readers.last()) else { return Ok(()) };
        let (first, last) = (first.header().clone(), last.header().clone());
        // (the first ones may be of a time when it was not known)
        let lsn = if last.lsn.1 > 0 { (first.lsn.0.max(FIRST_LSN), last.lsn.1) } else { (0, 0) };
        let header = Header::new(last.page_size, last.pages, first.first, last.last, last.time).at(lsn);
        let size = header.page_size as usize;
        if readers.iter().any(|r| r.header().page_size != header.page_size) {
            return Err(Error::new("the size of the pages changes in the archive"));
        }
        self.write(level, &header, |to| {
            // what each file has next
            let mut next: Vec<(u32, Vec<u8>)> = vec![(0, vec![0; size]); readers.len()];
            let mut advance = |i: usize, next: &mut (u32, Vec<u8>)| -> Result<()> {
                next.0 = match readers[i].page().map_err(|e| e.of(&entries[i].path))? {
                    Some((number, content)) => {
                        next.1.copy_from_slice(content);
                        number
                    }
                    None => u32::MAX,
                };
                Ok(())
            };
            for (i, next) in next.iter_mut().enumerate() {
                advance(i, next)?;
            }
            let empty = vec![0; size];
            // (a page that was never written is one that SQLite does not use; a whole database has it, too)
            let fill = |to: &mut Writer<BufWriter<File>>, until: u32| -> Result<()> {
                while header.is_whole() && to.next() < until {
                    to.page(to.next(), &empty)?;
                }
                Ok(())
            };
            while let Some(number) = next.iter().map(|(n, _)| *n).min().filter(|n| *n != u32::MAX) {
                // of the files that have it, the last one
                if let Some((_, content)) = next.iter().rev().find(|(n, _)| *n == number) {
                    if number <= header.pages {
                        fill(to, number)?;
                        to.page(number, content)?;
                    }
                }
                for (i, next) in next.iter_mut().enumerate() {
                    if next.0 == number {
                        advance(i, next)?;
                    }
                }
            }
            fill(to, header.pages + 1)
        })
    }

    /// Takes the archive for who writes to it, as long as the result lives. Errors: if somebody else has it. In a bucket nobody is asked: see [`Archive::claim`].
    pub fn lock(&self) -> Result<Option<File>> {
        let Place::Folder(folder) = &self.place else { return Ok(None) };
        let path = folder.join("lock");
        let file = File::create(&path).map_err(|e| Error::file(&path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(std::fs::TryLockError::WouldBlock) => Err(self.taken()),
            Err(std::fs::TryLockError::Error(e)) => Err(Error::file(&path, &e)),
        }
    }

    /// Becomes the one who writes to a bucket. Who did before is told so at the next file ([`Published::Taken`]).
    pub fn claim(&self) -> Result<()> {
        match &self.place {
            Place::Folder(_) => Ok(()),
            Place::Bucket(bucket) => bucket.claim(),
        }
    }

    /// Whether nobody else has begun to write to a bucket.
    pub fn is_claimed(&self) -> Result<bool> {
        match &self.place {
            Place::Folder(_) => Ok(true),
            Place::Bucket(bucket) => bucket.is_claimed(),
        }
    }

    /// Looks again which files there are, when it is asked for them next.
    pub fn forget(&self) {
        if let Place::Bucket(bucket) = &self.place {
            bucket.forget();
        }
    }

    /// What was given to [`Archive::publish`] with this file, which is the newest; nothing, if it cannot be read. In a folder it may lag behind the file after a crash.
    pub fn position(&self, newest: &Entry) -> Result<String> {
        match &self.place {
            Place::Folder(folder) => Ok(std::fs::read_to_string(folder.join("position")).unwrap_or_default()),
            Place::Bucket(bucket) => bucket.note(newest),
        }
    }

    /// Removes a file that others stand for.
    pub fn remove(&self, entry: &Entry) -> Result<()> {
        match &self.place {
            Place::Folder(_) => std::fs::remove_file(&entry.path).map_err(|e| Error::file(&entry.path, &e)),
            Place::Bucket(bucket) => bucket.remove(entry),
        }
    }

    /// Removes files that others stand for: several at the same time, because each is waited for.
    pub fn remove_all(&self, entries: &[Entry]) -> Result<()> {
        for some in entries.chunks(TOGETHER) {
            std::thread::scope(|scope| {
                let threads: Vec<_> = some.iter().map(|entry| scope.spawn(|| self.remove(entry))).collect();
                let panicked = || Err(Error::new("a thread that removed a file of the archive has panicked"));
                threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| panicked()))
            })?;
        }
        Ok(())
    }

    /// Begins to read a file. Errors: also for one that says of itself something else than its name.
    pub fn read(&self, entry: &Entry) -> Result<FileReader> {
        let from: Box<dyn Read + Send> = match &self.place {
            Place::Folder(_) => Box::new(File::open(&entry.path).map_err(|e| Error::file(&entry.path, &e))?),
            Place::Bucket(bucket) => Box::new(bucket.read(entry)?),
        };
        let reader = Reader::new(BufReader::with_capacity(1 << 16, from)).map_err(|e| e.of(&entry.path))?;
        entry.check(reader.header())?;
        Ok(reader)
    }

    /// Begins to read the first of these files, together with those behind it: of a bucket several small ones at the same time, because each is waited for.
    pub fn read_first(&self, entries: &[Entry]) -> Result<Vec<FileReader>> {
        let Place::Bucket(bucket) = &self.place else {
            return entries.iter().take(1).map(|entry| self.read(entry)).collect();
        };
        let small = entries.iter().take(TOGETHER).take_while(|entry| (1..=SMALL).contains(&entry.size)).count();
        if small < 2 {
            return entries.iter().take(1).map(|entry| self.read(entry)).collect();
        }
        let read = |entry: &Entry| -> Result<FileReader> {
            let mut content = Vec::new();
            bucket.read(entry)?.read_to_end(&mut content)?;
            let from: Box<dyn Read + Send> = Box::new(std::io::Cursor::new(content));
            let reader = Reader::new(BufReader::new(from)).map_err(|e| e.of(&entry.path))?;
            entry.check(reader.header())?;
            Ok(reader)
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = entries[..small].iter().map(|entry| scope.spawn(move || read(entry))).collect();
            let panicked = || Err(Error::new("a thread that read from the archive has panicked"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
        })
    }

    /// What these files say of themselves.
    pub fn headers(&self, entries: &[Entry]) -> Result<Vec<Header>> {
        let headers = match &self.place {
            Place::Folder(_) => {
                let header = |entry| self.read(entry).map(|reader| reader.header().clone());
                entries.iter().map(header).collect::<Result<Vec<_>>>()?
            }
            Place::Bucket(bucket) => bucket.headers(entries)?,
        };
        entries.iter().zip(&headers).try_for_each(|(entry, header)| entry.check(header))?;
        Ok(headers)
    }

    /// Gives each page of a file to `page`, and compares the checksum. Returns its header.
    pub fn each_page(&self, entry: &Entry, mut page: impl FnMut(&Header, u32, &[u8]) -> Result<()>) -> Result<Header> {
        pages_of(&mut self.read(entry)?, entry, &mut page)
    }

    /// Its files that begin after this transaction, as they were written: what others stand for by now may be missing. In a bucket, that is one cheap request.
    pub fn written_after(&self, transaction: u64) -> Result<Vec<Entry>> {
        match &self.place {
            Place::Folder(_) => {
                Ok(self.entries()?.into_iter().filter(|e| e.level == 0 && e.first > transaction).collect())
            }
            Place::Bucket(bucket) => bucket.written_after(transaction),
        }
    }

    /// Its files, by level, then by their transactions.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let folder = match &self.place {
            Place::Folder(folder) => folder,
            Place::Bucket(bucket) => return bucket.entries(self.owned),
        };
        let mut found = Vec::new();
        for level in 0..=SNAPSHOTS {
            let folder = folder.join("ltx").join(level.to_string());
            let listed = match std::fs::read_dir(&folder) {
                Ok(listed) => listed,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::file(&folder, &e)),
            };
            for file in listed {
                let path = file.map_err(|e| Error::file(&folder, &e))?.path();
                // (others are still being written)
                if let Some((first, last)) = path.file_name().and_then(|name| transactions(name.to_str()?)) {
                    found.push(Entry { level, first, last, path, size: 0 });
                }
            }
        }
        found.sort_by_key(|entry| (entry.level, entry.first, entry.last));
        Ok(found)
    }
}
