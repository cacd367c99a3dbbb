//! The write-ahead log, as who looks after a database sees it.

use crate::engine::Engine;

/// What the log is like now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogState {
    /// of the database's main file
    pub file_bytes: u64,
    /// of the log that holds commits
    pub log_bytes: u64,
    /// pages in the log
    pub frames: u32,
    /// those of them that are in the main file already
    pub written_back: u32,
    pub page_bytes: u64,
    /// how often the log has begun anew since the database was opened
    pub restarts: u64,
    /// whose transaction has read for longest, and by how many bytes the log has grown since; 0: no session's
    pub oldest_reader: Option<(i32, u64)>,
}

impl Engine {
    /// What the write-ahead log is like now.
    pub fn log_state(&self) -> LogState {
        const FRAME_HEADER: u64 = 24;
        let (_, frames, frame_bytes) = self.room.log_state().unwrap_or_default();
        let progress = self.writer.progress();
        let pid = |session| self.activity_of(session).map_or(0, |activity| activity.pid);
        LogState {
            file_bytes: self.room.bytes().unwrap_or(0),
            log_bytes: u64::from(frames) * frame_bytes,
            frames,
            written_back: self.room.frames_written_back().unwrap_or(0).min(frames),
            page_bytes: frame_bytes.saturating_sub(FRAME_HEADER),
            restarts: progress.beginnings(),
            oldest_reader: progress.oldest_reader().map(|reader| (pid(reader.session), reader.grown)),
        }
    }

    /// The bytes of the database's main file; 0 where they cannot be told.
    pub fn file_bytes(&self) -> u64 {
        self.room.bytes().unwrap_or(0)
    }
}
