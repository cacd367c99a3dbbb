//! Some transactions as an LTX file, in memory or in a file without a name.

use super::{failed, now};
use bytes::Bytes;
use pgsqlite_replication::ltx::{Header, Writer};
use pgsqlite_storage::stream::{Batch, Position};
use pgsqlite_types::Result;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Changes of more bytes than that are kept in a file, not in memory.
const LARGE: u64 = 8 << 20;
/// Some transactions, as an LTX file.
pub struct Changes {
    /// the places between which they are
    pub from: u64,
    pub to: u64,
    /// the same as positions
    pub before: Position,
    pub after: Position,
    content: Content,
    pub length: u64,
}

enum Content {
    Memory(Bytes),
    /// (it has no name)
    File(File),
}

impl Changes {
    /// Whether reading them waits for no disk.
    pub fn is_in_memory(&self) -> bool {
        matches!(self.content, Content::Memory(_))
    }

    /// Reads bytes of the file from an offset on; fewer than there is room for: they are the last. Errors: 58030.
    pub fn read(&self, offset: u64, to: &mut Vec<u8>, most: usize) -> Result<()> {
        let length = self.length.saturating_sub(offset).min(most as u64) as usize;
        to.resize(length, 0);
        match &self.content {
            Content::Memory(bytes) => {
                to.copy_from_slice(&bytes[offset as usize..offset as usize + length]);
                Ok(())
            }
            Content::File(file) => {
                file.read_exact_at(to, offset).map_err(|e| failed(&format!("could not read kept changes: {e}")))
            }
        }
    }
}

/// Writes a batch as an LTX file. Returns what it was written to.
fn write_to<W: Write>(to: W, batch: &Batch, from: u64, until: u64) -> Result<W> {
    let header = Header::new(batch.page_size, batch.pages, from + 1, until, now()).at((from, until));
    let error = |e: pgsqlite_replication::Error| failed(&e.to_string());
    let mut writer = Writer::new(to, header).map_err(error)?;
    let mut content = vec![0; batch.page_size as usize];
    for page in batch.numbers() {
        batch.page(page, &mut content)?;
        writer.page(page, &content).map_err(error)?;
    }
    writer.finish().map_err(error)
}

impl Changes {
    pub fn of(batch: &Batch, (from, to): (u64, u64), before: Position, folder: &Path) -> Result<Changes> {
        let bytes = batch.numbers().count() as u64 * u64::from(batch.page_size);
        let (content, length) = match bytes > LARGE {
            false => {
                let bytes = Bytes::from(write_to(Vec::new(), batch, from, to)?);
                let length = bytes.len() as u64;
                (Content::Memory(bytes), length)
            }
            true => {
                let io = |e: std::io::Error| failed(&format!("could not keep changes for standbys: {e}"));
                let file = nameless(folder).map_err(io)?;
                let file = write_to(BufWriter::with_capacity(1 << 16, file), batch, from, to)?;
                let file = file.into_inner().map_err(|e| io(e.into_error()))?;
                let length = file.metadata().map_err(io)?.len();
                (Content::File(file), length)
            }
        };
        Ok(Changes { from, to, before, after: batch.position, content, length })
    }
}

/// A new file without a name in a folder.
pub fn nameless(folder: &Path) -> std::io::Result<File> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".pgsqlite-feed.{}.{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
