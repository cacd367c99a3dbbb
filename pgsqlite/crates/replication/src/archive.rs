//! Where LTX files are, and what becomes of them there: `URL/ltx/LEVEL/FIRST-LAST.ltx`, as Litestream has them.
//!
//! Level 0 has the files as they were written, levels 1 to 8 what was put together from those of the level below, level 9 whole databases.

use crate::ltx::{Header, Reader, Writer};
use crate::{Error, Result};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// The level of whole databases.
pub const SNAPSHOTS: u32 = 9;

/// A place with the LTX files of one database.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: PathBuf,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// its level
    pub level: u32,
    /// the number of its first transaction
    pub first: u64,
    /// the number of its last
    pub last: u64,
    /// where it is
    pub path: PathBuf,
}

impl Archive {
    /// The archive that a URL names: `file:PATH`. Errors: other schemes, a folder that is not there or has no archive.
    pub fn open(url: &str) -> Result<Archive> {
        let folder = folder_of(url)?;
        match folder.join("ltx").is_dir() {
            true => Ok(Archive { folder }),
            false => Err(Error::new(format!("\"{}\" has no archive: no folder \"ltx\" is in it", folder.display()))),
        }
    }

    /// The archive in this folder, which is made if it is not there.
    pub fn make(folder: PathBuf) -> Result<Archive> {
        let first = folder.join("ltx").join("0");
        std::fs::create_dir_all(&first).map_err(|e| Error::file(&first, &e))?;
        Ok(Archive { folder })
    }

    /// The folder that the archive is in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file, for good: it has its name only when it is complete and on disk.
    pub fn write<R>(
        &self,
        level: u32,
        header: &Header,
        pages: impl FnOnce(&mut Writer<BufWriter<File>>) -> Result<R>,
    ) -> Result<R> {
        let folder = self.folder.join("ltx").join(level.to_string());
        std::fs::create_dir_all(&folder).map_err(|e| Error::file(&folder, &e))?;
        let path = folder.join(format!("{:016x}-{:016x}.ltx", header.first, header.last));
        let making = folder.join(format!(".{:016x}.new", header.first));
        let failed = |e: std::io::Error| Error::file(&making, &e);
        let file = File::create(&making).map_err(failed)?;
        let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, file), header.clone())?;
        let result = pages(&mut writer)?;
        let file = writer.finish()?.into_inner().map_err(|e| failed(e.into_error()))?;
        file.sync_all().map_err(failed)?;
        // (Litestream takes this for the time of the file's last transaction)
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(header.time.max(0) as u64);
        file.set_modified(time).map_err(failed)?;
        std::fs::rename(&making, &path).map_err(|e| Error::file(&path, &e))?;
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(|e| Error::file(&folder, &e))?;
        Ok(result)
    }

    /// Puts files that follow each other together, as one of this level: of each page the newest content.
    pub fn merge(&self, level: u32, entries: &[Entry]) -> Result<()> {
        let mut readers = entries.iter().map(Entry::read).collect::<Result<Vec<_>>>()?;
        let (Some(first), Some(last)) = (readers.first(), readers.last()) else { return Ok(()) };
        let (first, last) = (first.header().clone(), last.header().clone());
        let header = Header::new(last.page_size, last.pages, first.first, last.last, last.time);
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

    /// Takes the archive for who writes to it, as long as the result lives. Errors: if somebody else has it.
    pub fn lock(&self) -> Result<File> {
        let path = self.folder.join("lock");
        let file = File::create(&path).map_err(|e| Error::file(&path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(Error::new(format!("another server writes to the archive \"{}\"", self.folder.display())))
            }
            Err(std::fs::TryLockError::Error(e)) => Err(Error::file(&path, &e)),
        }
    }

    /// Writes how far the archive has come, for whoever writes to it. It may lag behind the files after a crash.
    pub fn write_position(&self, text: &str) -> Result<()> {
        let (path, making) = (self.folder.join("position"), self.folder.join(".position.new"));
        let write = || std::fs::write(&making, text).and_then(|()| std::fs::rename(&making, &path));
        write().map_err(|e| Error::file(&path, &e))
    }

    /// What [`Archive::write_position`] wrote last; nothing, if it cannot be read.
    pub fn read_position(&self) -> String {
        std::fs::read_to_string(self.folder.join("position")).unwrap_or_default()
    }

    /// Removes a file that others stand for.
    pub fn remove(&self, entry: &Entry) -> Result<()> {
        std::fs::remove_file(&entry.path).map_err(|e| Error::file(&entry.path, &e))
    }

    /// Its files, by level, then by their transactions.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        for level in 0..=SNAPSHOTS {
            let folder = self.folder.join("ltx").join(level.to_string());
            let listed = match std::fs::read_dir(&folder) {
                Ok(listed) => listed,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::file(&folder, &e)),
            };
            for file in listed {
                let path = file.map_err(|e| Error::file(&folder, &e))?.path();
                // (others are still being written)
                if let Some((first, last)) = path.file_name().and_then(|name| transactions(name.to_str()?)) {
                    found.push(Entry { level, first, last, path });
                }
            }
        }
        found.sort_by_key(|entry| (entry.level, entry.first, entry.last));
        Ok(found)
    }
}

/// The folder that a URL names.
pub fn folder_of(url: &str) -> Result<PathBuf> {
    match url.split_once(':') {
        Some(("file", path)) => Ok(PathBuf::from(path.strip_prefix("//").unwrap_or(path))),
        Some((scheme, _)) => Err(Error::new(format!("archives at {scheme}:… are not supported: only file:PATH is"))),
        None => Err(Error::new(format!("\"{url}\" is no URL of an archive: write file:{url}"))),
    }
}

/// What a file's name says: `FIRST-LAST.ltx`, sixteen hexadecimal digits each.
fn transactions(name: &str) -> Option<(u64, u64)> {
    let (first, last) = name.strip_suffix(".ltx")?.split_once('-')?;
    let number = |text: &str| match text.len() {
        16 => u64::from_str_radix(text, 16).ok(),
        _ => None,
    };
    Some((number(first)?, number(last)?))
}

impl Entry {
    /// Begins to read it. Errors: also for a file that says of itself something else than its name.
    pub fn read(&self) -> Result<Reader<BufReader<File>>> {
        let file = File::open(&self.path).map_err(|e| Error::file(&self.path, &e))?;
        let reader = Reader::new(BufReader::with_capacity(1 << 16, file)).map_err(|e| e.of(&self.path))?;
        let Header { first, last, .. } = *reader.header();
        match (first, last) == (self.first, self.last) {
            true => Ok(reader),
            false => Err(Error::new(format!("the file has the transactions {first:x} to {last:x}")).of(&self.path)),
        }
    }

    /// Gives each of its pages to `page`, and compares the checksum. Returns its header.
    pub fn each_page(&self, mut page: impl FnMut(&Header, u32, &[u8]) -> Result<()>) -> Result<Header> {
        let mut reader = self.read()?;
        let header = reader.header().clone();
        while let Some((number, content)) = reader.page().map_err(|e| e.of(&self.path))? {
            page(&header, number, content)?;
        }
        Ok(header)
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
