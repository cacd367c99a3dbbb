//! Reading a database's pages past SQLite, for copies of its changes.

use super::log_index::Header;
use super::Room;
use std::os::unix::fs::FileExt;

impl Room {
    /// What is committed now. None: somebody writes the log's index all the time, or it cannot be looked at.
    pub(crate) fn state(&self) -> Option<Header> {
        self.index.get()?.header()
    }

    /// What the log's beginning is called, how many frames it has, and the bytes of each.
    pub fn log_state(&self) -> Option<([u8; 8], u32, u64)> {
        let header = self.state()?;
        Some((header.salt, header.frames, header.frame_bytes()))
    }

    /// How many frames of the log have been written back into the main file. None: the log's index cannot be looked at.
    pub fn frames_written_back(&self) -> Option<u32> {
        self.index.get().map(|index| index.written_back())
    }

    /// Reads from the main file, as it is without its log.
    pub(crate) fn read_main(&self, at: u64, to: &mut [u8]) -> std::io::Result<()> {
        self.file.lock().read_exact_at(to, at)
    }
}
