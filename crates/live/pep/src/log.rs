//! The log: one event a line on stderr.

use crate::config::{Log, LogFormat};

/// Begins to log. Later calls have no effect: a reload cannot change the log.
pub(crate) fn begin(log: Log) {
    let builder = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
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
