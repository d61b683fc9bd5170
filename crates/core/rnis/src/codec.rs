//! Radio reports as bytes.
//!
//! ```text
//!   RadioReport --encode_json--> {"cell":{...},"ues":[...]}   one line, no line end of its own
//!   RadioReport --encode_binary-> 03 ...                      about 45 bytes and 25 for each UE
//!   bytes --decode--> RadioReport | DecodeError               distinguished by the first byte
//! ```
//!
//! JSON is the form of the Unix socket and of recordings (one report a line); numbers are in the
//! units of the fields' types (nanoseconds, Hz, bytes). The binary form is for brokers at one
//! report a slot. Both decoders take any bytes without a panic, refuse what is longer than
//! [`MAX_ENCODED_BYTES`], and hand out only reports that pass [`RadioReport::check`].
//!
//! Numbers that JSON cannot write (NaN, infinity) are written as `null` and refused on reading.

mod binary;

use crate::{RadioReport, ReportError};

pub use binary::{BINARY_VERSION, decode_binary, encode_binary};

/// Longest encoded report that is read, in bytes: more than 2,000 UEs in JSON.
pub const MAX_ENCODED_BYTES: usize = 1 << 20;

/// Why bytes are not a radio report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Nothing to read.
    #[error("an empty message is no radio report")]
    Empty,
    /// Longer than any report.
    #[error("a radio report of {length} bytes: at most {MAX_ENCODED_BYTES} are read")]
    TooLong {
        /// Its length.
        length: usize,
    },
    /// No JSON, or not the fields of a report.
    #[error("no radio report in JSON, column {column}: {problem}")]
    Json {
        /// Where reading stopped, from 1 (0: at the end).
        column: usize,
        /// What was wrong there.
        problem: String,
    },
    /// A binary form that this version does not read.
    #[error("binary radio report of version {version}: only 2 and {BINARY_VERSION} are known")]
    Version {
        /// The version byte.
        version: u8,
    },
    /// A binary report that ends early, goes on after its end, or has an impossible value.
    #[error("no binary radio report: {field} at byte {at} {problem}")]
    Binary {
        /// What was being read.
        field: &'static str,
        /// Where, from 0.
        at: usize,
        /// What was wrong.
        problem: &'static str,
    },
    /// The form is right, the content cannot be true.
    #[error("radio report refused: {0}")]
    Report(#[from] ReportError),
}

/// A report as one line of JSON, without the line end.
pub fn encode_json(report: &RadioReport) -> Vec<u8> {
    // Only maps with other keys than text and failing writers can fail; a report has neither.
    serde_json::to_vec(report).unwrap_or_default()
}

/// A report from JSON; white space around it (a line end) is allowed.
///
/// # Errors
/// What is not a report, and a report whose values cannot be true.
pub fn decode_json(bytes: &[u8]) -> Result<RadioReport, DecodeError> {
    limit(bytes)?;
    let report: RadioReport = serde_json::from_slice(bytes).map_err(|error| DecodeError::Json {
        column: error.column(),
        problem: shorten(&error.to_string()),
    })?;
    report.check()?;
    Ok(report)
}

/// A report from either form: JSON begins with `{`, the binary form with its version.
///
/// # Errors
/// Those of [`decode_json`] and [`decode_binary`].
pub fn decode(bytes: &[u8]) -> Result<RadioReport, DecodeError> {
    match bytes.iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{') => decode_json(bytes),
        _ => decode_binary(bytes),
    }
}

fn limit(bytes: &[u8]) -> Result<(), DecodeError> {
    match bytes.len() {
        0 => Err(DecodeError::Empty),
        length if length > MAX_ENCODED_BYTES => Err(DecodeError::TooLong { length }),
        _ => Ok(()),
    }
}

/// A parser's message without what came from outside in full length.
pub(crate) fn shorten(message: &str) -> String {
    const MAX_CHARACTERS: usize = 200;
    match message.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{} ...", &message[..end]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
