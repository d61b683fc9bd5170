//! What the readers of traces return, and what they refuse.

mod any;
mod brimful;
mod mahimahi;
mod nrscope;
mod packets;
mod rate;
mod ucc;

use super::*;

fn read_as(format: Format, text: &str) -> Result<Trace, TraceError> {
    read(
        "f",
        text.as_bytes(),
        &ReadOptions {
            format: Some(format),
            series: None,
        },
    )
}

fn read_series(text: &str, series: &str) -> Result<Trace, TraceError> {
    read(
        "f",
        text.as_bytes(),
        &ReadOptions {
            format: None,
            series: Some(series.to_owned()),
        },
    )
}

fn read_any(text: &str) -> Result<Trace, TraceError> {
    read("f", text.as_bytes(), &ReadOptions::default())
}

/// The message of a file that must be refused, which names a place where it can.
fn refused(text: &str) -> (String, Option<usize>, Option<usize>) {
    let error = read_any(text).unwrap_err();
    (error.to_string(), error.line(), error.column())
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
