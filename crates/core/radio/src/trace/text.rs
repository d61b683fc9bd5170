//! Lines and fields of a trace file, with their places for messages.
//!
//! Comma-separated fields as in RFC 4180 with two deviations: a field does not go over several
//! lines (no trace needs it), and doubled quotes inside a quoted field stay doubled.

use super::TraceError;
use super::error::shortened;

/// A line and its number, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub number: usize,
    pub text: &'a str,
}

/// The lines that hold anything, without their ends and without a byte order mark.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.strip_prefix('\u{feff}')
        .unwrap_or(text)
        .split('\n')
        .enumerate()
        .map(|(i, line)| Line {
            number: i + 1,
            text: line.strip_suffix('\r').unwrap_or(line),
        })
        .filter(|line| !line.text.trim().is_empty())
}

/// A field: its text without surrounding blanks and quotes, and its column, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub column: usize,
    pub text: &'a str,
}

/// Splits a line into its fields at commas.
pub(super) fn split<'a>(line: &'a str, fields: &mut Vec<Field<'a>>) {
    split_at(line, b',', fields);
}

/// Splits a line into its fields at an ASCII character.
fn split_at<'a>(line: &'a str, separator: u8, fields: &mut Vec<Field<'a>>) {
    fields.clear();
    let mut start = 0;
    let mut quoted = false;
    for (i, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            byte if byte == separator && !quoted => {
                fields.push(field(line, start, i));
                start = i + 1;
            }
            _ => {}
        }
    }
    fields.push(field(line, start, line.len()));
}

fn field(line: &str, start: usize, end: usize) -> Field<'_> {
    let raw = &line[start..end];
    let text = raw.trim();
    let column = start + (raw.len() - raw.trim_start().len()) + 1;
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    Field {
        column,
        text: inner.unwrap_or(text),
    }
}

/// Where a field is, for a message about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub file: &'a str,
    pub line: usize,
    pub column: usize,
    pub field: &'a str,
}

impl Place<'_> {
    /// The error for a field that is not `expected`.
    pub fn not(&self, found: &str, expected: impl Into<Box<str>>) -> TraceError {
        TraceError::Field {
            file: self.file.into(),
            line: self.line,
            column: self.column,
            field: self.field.into(),
            found: shortened(found).into(),
            expected: expected.into(),
            help: "".into(),
        }
    }

    /// A whole number from 0 to `max`.
    pub fn whole(&self, text: &str, max: u64) -> Result<u64, TraceError> {
        match text.parse::<u64>() {
            Ok(n) if n <= max => Ok(n),
            _ => Err(self.not(text, format!("a whole number from 0 to {max}"))),
        }
    }

    /// A decimal number from `min` to `max`.
    pub fn decimal(&self, text: &str, min: f64, max: f64) -> Result<f64, TraceError> {
        match text.parse::<f64>() {
            Ok(x) if (min..=max).contains(&x) => Ok(x),
            _ => Err(self.not(text, format!("a number from {min} to {max}"))),
        }
    }

    /// The error for a time that is before the one of the row above.
    pub fn decreases(&self, found: &str, previous: &str) -> TraceError {
        TraceError::TimeDecreases {
            file: self.file.into(),
            line: self.line,
            column: self.column,
            field: self.field.into(),
            found: shortened(found).into(),
            previous: shortened(previous).into(),
            help: "".into(),
        }
    }
}

/// A table with a header: rows of as many fields as the header has.
#[derive(Debug)]
pub(super) struct Table<'a, I> {
    pub file: &'a str,
    pub header_line: Line<'a>,
    pub header: Vec<Field<'a>>,
    rows: I,
    fields: Vec<Field<'a>>,
    separator: u8,
}

impl<'a, I: Iterator<Item = Line<'a>>> Table<'a, I> {
    /// The table whose header is the next of `lines`.
    pub fn new(file: &'a str, lines: I) -> Result<Self, TraceError> {
        Self::divided(file, lines, b',')
    }

    /// The same with another character than a comma between fields.
    pub fn divided(file: &'a str, mut lines: I, separator: u8) -> Result<Self, TraceError> {
        let Some(header_line) = lines.next() else {
            return Err(empty(file, "a header line and rows under it"));
        };
        let mut header = Vec::new();
        split_at(header_line.text, separator, &mut header);
        Ok(Self {
            separator,
            file,
            header_line,
            header,
            rows: lines,
            fields: Vec::new(),
        })
    }

    /// The index of the column of this name, whatever its case.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.header
            .iter()
            .position(|field| field.text.eq_ignore_ascii_case(name))
    }

    /// The index of a column that must be there.
    pub fn column(&self, name: &str) -> Result<usize, TraceError> {
        self.find(name)
            .ok_or_else(|| self.no_column(name, format!("a column named {name}")))
    }

    /// The error for a header that lacks a column.
    pub fn no_column(&self, field: &str, expected: impl Into<Box<str>>) -> TraceError {
        TraceError::NoColumn {
            file: self.file.into(),
            line: self.header_line.number,
            field: field.into(),
            found: shortened(self.header_line.text).into(),
            expected: expected.into(),
            help: "".into(),
        }
    }

    /// The next row; a header that is repeated between the rows is passed over.
    pub fn next_row(&mut self) -> Result<Option<Row<'_, 'a>>, TraceError> {
        let header = self.header_line.text.trim_end();
        let Some(line) = self
            .rows
            .by_ref()
            .find(|line| line.text.trim_end() != header)
        else {
            return Ok(None);
        };
        split_at(line.text, self.separator, &mut self.fields);
        if self.fields.len() != self.header.len() {
            return Err(TraceError::RowLength {
                file: self.file.into(),
                line: line.number,
                found: self.fields.len(),
                expected: self.header.len(),
                help: "".into(),
            });
        }
        Ok(Some(Row {
            file: self.file,
            line: line.number,
            header: &self.header,
            fields: &self.fields,
        }))
    }
}

/// A row of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'r, 'a> {
    pub file: &'a str,
    pub line: usize,
    header: &'r [Field<'a>],
    fields: &'r [Field<'a>],
}

impl<'r, 'a> Row<'r, 'a> {
    /// The text of a column.
    pub fn text(&self, column: usize) -> &'a str {
        self.fields[column].text
    }

    /// Where that column of this row is.
    pub fn place(&self, column: usize) -> Place<'r> {
        Place {
            file: self.file,
            line: self.line,
            column: self.fields[column].column,
            field: self.header[column].text,
        }
    }

    /// A column's whole number from 0 to `most`.
    pub fn whole(&self, column: usize, most: u64) -> Result<u64, TraceError> {
        self.place(column).whole(self.text(column), most)
    }

    /// A column's decimal number.
    pub fn decimal(&self, column: usize, least: f64, most: f64) -> Result<f64, TraceError> {
        self.place(column).decimal(self.text(column), least, most)
    }
}

/// The error for a file without anything to read.
pub(super) fn empty(file: &str, expected: &str) -> TraceError {
    TraceError::Empty {
        file: file.into(),
        expected: expected.into(),
        help: "".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<(usize, &str)> {
        let mut fields = Vec::new();
        split(line, &mut fields);
        fields.iter().map(|f| (f.column, f.text)).collect()
    }

    #[test]
    fn fields_have_their_columns() {
        assert_eq!(
            texts("a,, b ,\"c,d\""),
            [(1, "a"), (3, ""), (5, "b"), (8, "c,d")]
        );
        assert_eq!(texts(""), [(1, "")]);
        assert_eq!(texts("\"open,x"), [(1, "\"open,x")]);
    }

    #[test]
    fn lines_count_from_one_and_skip_blanks() {
        let found: Vec<_> = lines("\u{feff}a\r\n\n  \nb")
            .map(|l| (l.number, l.text))
            .collect();
        assert_eq!(found, [(1, "a"), (4, "b")]);
    }
}
