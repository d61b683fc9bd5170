//! The log: one event a line on stderr. A line that cannot be written is lost, and nothing else.

use crate::config::{Log, LogFormat};
use std::io::{self, Write};

/// Begins to log. Later calls have no effect: a reload cannot change the log.
pub(crate) fn begin(log: Log) {
    // what the subscriber reports of a line that it cannot write goes to stderr too, and panics there
    let builder = tracing_subscriber::fmt()
        .with_writer(|| Lossy)
        .log_internal_errors(false)
        .with_ansi(false)
        .with_target(false)
        .with_max_level(log.level);
    let result = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    // a program that has a log of its own keeps it
    drop(result);
}

/// Stderr, for which a line that cannot be written (a full disk, a reader that has gone) is lost.
#[derive(Debug)]
struct Lossy;

impl Write for Lossy {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().write_all(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
