//! The server's log, on standard error: lines for people, or an object of JSON on each line for programs that collect logs.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing_subscriber::EnvFilter;

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Lines for people
    #[default]
    Text,
    /// An object on each line
    Json,
}

/// What is logged, and how.
pub struct Choice {
    /// one of the five levels, or directives `target=level` with commas between
    pub level: String,
    pub form: Form,
}

/// Whether all that is told on standard error is JSON.
static JSON: AtomicBool = AtomicBool::new(false);

impl Form {
    /// What the program tells on standard error has this form from now on.
    pub fn choose(self) {
        JSON.store(self == Form::Json, Ordering::Relaxed);
    }
}

impl Choice {
    /// The log goes to standard error from now on. Errors: a level that there is not.
    pub fn begin(&self) -> anyhow::Result<()> {
        let log = tracing_subscriber::fmt().with_env_filter(filter(&self.level)?).with_writer(std::io::stderr);
        match self.form {
            Form::Text => log.with_ansi(std::io::stderr().is_terminal()).init(),
            Form::Json => {
                self.form.choose();
                log.with_ansi(false).json().flatten_event(true).with_current_span(false).with_span_list(false).init();
                // a defect is told in the same form
                std::panic::set_hook(Box::new(|panic| {
                    let place = panic.location().map_or(String::new(), |place| place.to_string());
                    let backtrace = std::backtrace::Backtrace::force_capture().to_string();
                    tracing::error!(target: "pgsqlite::panic", place, backtrace, "{}", what_panicked(panic));
                }));
            }
        }
        Ok(())
    }
}

fn what_panicked<'p>(panic: &'p std::panic::PanicHookInfo<'_>) -> &'p str {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

/// (The filter itself takes any word for a target.)
fn filter(level: &str) -> anyhow::Result<EnvFilter> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    for part in level.split(',') {
        let name = part.rsplit('=').next().unwrap_or_default();
        if !LEVELS.iter().any(|l| l.eq_ignore_ascii_case(name)) {
            anyhow::bail!("log level \"{level}\": it must be one of error, warn, info, debug and trace");
        }
    }
    EnvFilter::try_new(level).map_err(|e| anyhow::anyhow!("log level \"{level}\": {e}"))
}

/// Tells whoever started the program something, whatever the level of the log is.
pub fn tell(text: &str) {
    line("INFO", text, "pgsqlite: ");
}

/// Warns whoever started the program.
pub fn warn(text: &str) {
    line("WARN", text, "pgsqlite: warning: ");
}

/// Tells why the program ends.
pub fn fail(text: &str) {
    line("ERROR", text, "pgsqlite: ");
}

/// A line outside of the log's levels, in its form.
fn line(level: &str, text: &str, before: &str) {
    if JSON.load(Ordering::Relaxed) {
        let at = jiff::Timestamp::now();
        eprintln!(
            "{}",
            serde_json::json!({ "timestamp": at.to_string(), "level": level, "message": text, "target": "pgsqlite" })
        );
    } else {
        eprintln!("{before}{text}");
    }
}
