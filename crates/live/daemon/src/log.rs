//! The log: one event a line on stderr. A line that cannot be written is lost, and nothing else.

use crate::config::{ConfigError, Section};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use tracing::Level;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, fmt, reload};

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Log {
    /// One JSON object an event rather than a line of text.
    pub json: bool,
    /// The least level that is written.
    pub level: Level,
    /// An event's fields stand beside its level, and no module is named; else JSON has them below `fields`.
    pub is_flat: bool,
}

impl Default for Log {
    /// Text, level `info`.
    fn default() -> Self {
        Self {
            json: false,
            level: Level::INFO,
            is_flat: false,
        }
    }
}

impl Log {
    /// Level `debug`, if so.
    #[must_use]
    pub fn at_debug(self, is_debug: bool) -> Self {
        match is_debug {
            true => Self {
                level: Level::DEBUG,
                ..self
            },
            false => self,
        }
    }

    /// Reads the table `[log]` with `format` (`text`, `json`) and `level`, one of these.
    ///
    /// # Errors
    /// Names the place, what was wrong, and what is allowed.
    pub fn read(
        top: &mut Section<'_, '_>,
        levels: &[(&'static str, Level)],
    ) -> Result<Self, ConfigError> {
        let usual = Self::default();
        let mut table = top.table_or_empty("log", "[log]")?;
        let formats = [("text", false), ("json", true)];
        let log = Self {
            json: table.word("format", &formats)?.unwrap_or(usual.json),
            level: table.word("level", levels)?.unwrap_or(usual.level),
            ..usual
        };
        table.finish()?;
        Ok(log)
    }
}

/// Lines of the log that could not be written.
static LOST_LINES: AtomicU64 = AtomicU64::new(0);

/// Lines of the log that could not be written since the start: the disk under stderr is full, or its
/// reader is gone.
pub fn lost_log_lines() -> u64 {
    LOST_LINES.load(Ordering::Relaxed)
}

/// Stderr, of which a failure ends neither the daemon nor a task: the line is lost, and counted.
#[derive(Debug)]
struct LogFile;

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if io::stderr().write_all(line).is_err() {
            LOST_LINES.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The level of the log that [`start_log`] has begun.
static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Begins the log on stderr. A log that the program has already stays.
pub fn start_log(log: Log) {
    let (filter, level) = reload::Layer::new(LevelFilter::from_level(log.level));
    // what the subscriber reports of a line that it cannot write goes to stderr too, and panics there
    let lines = fmt::layer()
        .with_ansi(false)
        .with_target(!log.is_flat)
        .log_internal_errors(false)
        .with_writer(Mutex::new(LogFile));
    let registry = tracing_subscriber::registry().with(filter);
    let begun = match log.json {
        true => registry
            .with(lines.json().flatten_event(log.is_flat))
            .try_init(),
        false => registry.with(lines).try_init(),
    };
    if begun.is_ok() {
        let _ = LEVEL.set(level);
    }
}

/// Goes on with another level, where [`start_log`] has begun the log.
pub fn set_log_level(level: Level) {
    if let Some(handle) = LEVEL.get()
        && let Err(error) = handle.reload(LevelFilter::from_level(level))
    {
        tracing::warn!(%error, "the level of the log stays");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn the_table_has_a_form_and_a_level() {
        let levels = [("info", Level::INFO), ("debug", Level::DEBUG)];
        let read = |text| parse("f", text, |top| Log::read(top, &levels));
        assert_eq!(read(""), Ok(Log::default()));
        let debug = read("[log]\nformat = 'json'\nlevel = 'debug'").expect("valid");
        assert_eq!((debug.json, debug.level), (true, Level::DEBUG));
        assert_eq!(Log::default().at_debug(true).level, Level::DEBUG);
        assert_eq!(debug.at_debug(false), debug);
        let error = read("[log]\nlevel = 'error'").expect_err("not here");
        let text = "f:2:10: [log]: level = \"error\"; expected info, debug";
        assert_eq!(error.to_string(), text);
    }
}
