//! Standard output and error: who reads them, and how they are written.

use crate::failure::Failure;
use report::TextStyle;
use std::io::{IsTerminal, Write, stderr, stdout};

/// Writes to stdout.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Failure::stdout)
}

/// Standard output that may be closed before the end, as by `head`; what is written then goes
/// nowhere, and is no failure.
#[derive(Debug, Default)]
pub(crate) struct Stdout {
    closed: bool,
}

impl Stdout {
    /// Writes.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        match print(text) {
            Err(Failure::Closed) => {
                self.closed = true;
                Ok(())
            }
            done => done,
        }
    }
    /// True if nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Writes a line to stderr. That it cannot be read must not end a run.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// The width of a terminal that does not say it.
const USUAL_WIDTH: u16 = 80;

/// The width by the variable `COLUMNS`.
fn columns() -> Option<u16> {
    std::env::var("COLUMNS")
        .ok()?
        .parse()
        .ok()
        .filter(|w| *w > 0)
}

/// The style that suits stdout: lines, colour and its width on a terminal; plain text in a pipe.
pub(crate) fn text_style() -> TextStyle {
    if !stdout().is_terminal() {
        return TextStyle::default();
    }
    let size = terminal_size::terminal_size_of(stdout()).map(|(width, _)| width.0);
    let width = size
        .filter(|w| *w > 0)
        .or_else(columns)
        .or(Some(USUAL_WIDTH));
    TextStyle {
        width,
        borders: true,
        colour: colour_wanted(|name| std::env::var_os(name)),
    }
}

/// <https://no-color.org>: a variable `NO_COLOR` that is not empty forbids colour.
fn colour_wanted(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let forbidden = variable("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = variable("TERM").is_some_and(|v| v == "dumb");
    !forbidden && !dumb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_get_none() {
        let with = |set: &'static str, value: &'static str| {
            colour_wanted(move |name| (name == set).then(|| value.into()))
        };
        assert!(with("TERM", "xterm-256color"));
        assert!(with("NO_COLOR", ""));
        assert!(!with("NO_COLOR", "1"));
        assert!(!with("TERM", "dumb"));
    }
}
