//! Why a trace could not be read.

use super::Format;

/// Most characters of the file's own text that a message repeats.
const QUOTED: usize = 40;
/// Characters of a list of what a file has.
const LISTED: usize = 1_000;

/// Why a trace could not be read. Every message names the file and, where there is one, the line
/// and the column (both counted from 1), states what was found and what was expected, and ends with
/// what to do where that is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is nothing in the file, or a header and no row.
    #[error("{file}: the trace is empty: expected {expected}{help}")]
    Empty {
        /// The file.
        file: Box<str>,
        /// What should have been there.
        expected: Box<str>,
        /// What to do, or nothing.
        help: Box<str>,
    },
    /// More bytes, rows or time than any trace of use has.
    #[error("{file}: {what} is {found}, at most {limit} are read: cut the file into parts")]
    TooLarge {
        /// The file.
        file: Box<str>,
        /// What is too large.
        what: &'static str,
        /// How large.
        found: Box<str>,
        /// The limit.
        limit: Box<str>,
    },
    /// Not UTF-8.
    #[error(
        "{file}:{line}:{column}: found the byte 0x{byte:02x}, expected text in UTF-8: is this \
         file compressed, or no trace at all?"
    )]
    NotText {
        /// The file.
        file: Box<str>,
        /// Line.
        line: usize,
        /// Column, in bytes.
        column: usize,
        /// The first byte that is no text.
        byte: u8,
    },
    /// No known format.
    #[error(
        "{file}:{line}:1: found {found:?}, which begins no known trace format{reason}: give \
         --format with one of {known}"
    )]
    Unrecognised {
        /// The file.
        file: Box<str>,
        /// The line at fault.
        line: usize,
        /// Its text, shortened.
        found: Box<str>,
        /// Why the likely formats were ruled out, or nothing.
        reason: Box<str>,
        /// The names of the formats.
        known: Box<str>,
    },
    /// Two formats would read the file, and read different things.
    #[error(
        "{file}: can be read as {one} and as {other}, and means different things: choose one by \
         --format {one} or --format {other}"
    )]
    Ambiguous {
        /// The file.
        file: Box<str>,
        /// A format.
        one: Format,
        /// Another.
        other: Format,
    },
    /// A field that is not what it has to be.
    #[error("{file}:{line}:{column}: {field}: found {found:?}, expected {expected}{help}")]
    Field {
        /// The file.
        file: Box<str>,
        /// Line.
        line: usize,
        /// Column of the field's first character, in bytes.
        column: usize,
        /// The field's name.
        field: Box<str>,
        /// Its text, shortened.
        found: Box<str>,
        /// What was expected.
        expected: Box<str>,
        /// What to do, or nothing.
        help: Box<str>,
    },
    /// The header lacks a column.
    #[error("{file}:{line}:1: no column {field}: found {found:?}, expected {expected}{help}")]
    NoColumn {
        /// The file.
        file: Box<str>,
        /// Line of the header.
        line: usize,
        /// The column that is missing.
        field: Box<str>,
        /// The header, shortened.
        found: Box<str>,
        /// What was expected.
        expected: Box<str>,
        /// What to do, or nothing.
        help: Box<str>,
    },
    /// A row has more or fewer fields than the header.
    #[error("{file}:{line}:1: found {found} fields, expected the {expected} of the header{help}")]
    RowLength {
        /// The file.
        file: Box<str>,
        /// Line.
        line: usize,
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
        /// What to do, or nothing.
        help: Box<str>,
    },
    /// Time runs backwards.
    #[error(
        "{file}:{line}:{column}: {field}: found {found:?} after {previous:?}, expected times that \
         do not decrease{help}"
    )]
    TimeDecreases {
        /// The file.
        file: Box<str>,
        /// Line.
        line: usize,
        /// Column.
        column: usize,
        /// The field's name.
        field: Box<str>,
        /// The earlier time, as written.
        found: Box<str>,
        /// The later time before it, as written.
        previous: Box<str>,
        /// What to do, or nothing.
        help: Box<str>,
    },
    /// The series requested is not in the file.
    #[error("{file}: no series {series:?}: expected {available}")]
    NoSuchSeries {
        /// The file.
        file: Box<str>,
        /// What was requested.
        series: Box<str>,
        /// What there is.
        available: Box<str>,
    },
    /// The rows are well formed, but none states anything.
    #[error("{file}: {what}: expected {expected}{help}")]
    NothingUsable {
        /// The file.
        file: Box<str>,
        /// What is wrong with all of them.
        what: Box<str>,
        /// What was expected.
        expected: Box<str>,
        /// What to do, or nothing.
        help: Box<str>,
    },
}

impl TraceError {
    /// The line that is wrong, counted from 1, where it is one line.
    pub const fn line(&self) -> Option<usize> {
        match self {
            Self::NotText { line, .. }
            | Self::Unrecognised { line, .. }
            | Self::Field { line, .. }
            | Self::NoColumn { line, .. }
            | Self::RowLength { line, .. }
            | Self::TimeDecreases { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// The column that is wrong, counted from 1 in bytes, where it is one field.
    pub const fn column(&self) -> Option<usize> {
        match self {
            Self::NotText { column, .. }
            | Self::Field { column, .. }
            | Self::TimeDecreases { column, .. } => Some(*column),
            _ => None,
        }
    }

    /// Adds advice where the error has room for it and none yet.
    pub(super) fn with_help(mut self, advice: &str) -> Self {
        match &mut self {
            Self::Empty { help, .. }
            | Self::Field { help, .. }
            | Self::NoColumn { help, .. }
            | Self::RowLength { help, .. }
            | Self::TimeDecreases { help, .. }
            | Self::NothingUsable { help, .. }
                if help.is_empty() =>
            {
                *help = format!("; {advice}").into();
            }
            _ => {}
        }
        self
    }
}

/// The beginning of `text`, so that a message stays one line.
pub(super) fn shortened(text: &str) -> String {
    beginning(text.trim(), QUOTED)
}

/// A list of what a file has, in a message: without control characters, and no longer than a terminal shows.
pub(super) fn listed(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    beginning(text, LISTED).chars().map(shown).collect()
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_a_message_has_an_end_and_no_control_characters() {
        assert_eq!(listed("run, time_s"), "run, time_s");
        assert_eq!(listed("a\u{1b}[2J\n"), "a\u{fffd}[2J\u{fffd}");
        let long = listed(&"ä".repeat(5_000));
        assert_eq!(long.chars().count(), LISTED + 3);
        assert!(long.ends_with("..."));
    }
}
