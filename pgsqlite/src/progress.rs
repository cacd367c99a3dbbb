//! A line on the terminal that shows how far a long work is. Where standard error is no terminal nothing is shown.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// So often the line is written anew.
const PERIOD: Duration = Duration::from_millis(100);
const WIDTH: usize = 30;

/// The line, erased when dropped.
pub struct Progress {
    what: &'static str,
    began: Instant,
    shown: Option<Instant>,
    visible: bool,
}

impl Progress {
    pub fn new(what: &'static str) -> Progress {
        Progress { what, began: Instant::now(), shown: None, visible: std::io::stderr().is_terminal() }
    }

    /// Shows that `done` of `total` is done (None: nobody knows how much there is), and `note`.
    pub fn show(&mut self, done: u64, total: Option<u64>, note: &str) {
        if !self.visible || self.shown.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.shown = Some(Instant::now());
        eprint!("\r\x1b[K{}", self.line(done, total, note));
        let _ = std::io::stderr().flush();
    }

    fn line(&self, done: u64, total: Option<u64>, note: &str) -> String {
        let note: String = note.chars().take(40).collect();
        let seconds = self.began.elapsed().as_secs();
        match total.filter(|total| *total > 0) {
            Some(total) => {
                let part = (done.min(total) as f64) / (total as f64);
                let full = (part * WIDTH as f64) as usize;
                let bar = format!("{}{}", "#".repeat(full), ".".repeat(WIDTH - full));
                format!("{} [{bar}] {:3.0} % {seconds} s {note}", self.what, part * 100.0)
            }
            None => format!("{} {:.1} MB {seconds} s {note}", self.what, done as f64 / 1e6),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_part_that_is_done() {
        let progress = Progress::new("importing");
        let line = progress.line(50, Some(100), "table");
        assert!(line.starts_with("importing [###############...............]  50 % 0 s table"), "{line}");
        assert!(progress.line(2_000_000, None, "").starts_with("importing 2.0 MB"));
        assert!(progress.line(200, Some(100), "").contains("100 %"));
    }
}
