//! What the command prints and keeps: standard output and error, tables, result folders.

use crate::failure::Failure;
use crate::settings::Setting;
use report::TextStyle;
use runner::{Finished, Origin, OutputFolder};
use serde::Serialize;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;

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
    /// The last sample could not be written.
    loses: bool,
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
    /// Writes what a service samples. What cannot be written, as on a full disk, is lost and ends no service;
    /// that is printed once on stderr until something can be written again.
    pub(crate) fn sample(&mut self, text: &str) {
        match self.print(text) {
            Ok(()) => self.loses = false,
            Err(_) if self.loses => {}
            Err(failure) => {
                self.loses = true;
                failure.report();
            }
        }
    }
    /// True once the reader has closed it.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// Writes a line to stderr. That it cannot be read must not end a run.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// The width of a terminal that does not report it.
const DEFAULT_WIDTH: u16 = 80;

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
        .or(Some(DEFAULT_WIDTH));
    TextStyle {
        width,
        borders: true,
        colour: is_colour_allowed(|name| std::env::var_os(name)),
    }
}

/// <https://no-color.org>: a variable `NO_COLOR` that is not empty forbids colour.
fn is_colour_allowed(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let forbidden = variable("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = variable("TERM").is_some_and(|v| v == "dumb");
    !forbidden && !dumb
}

/// The tables of these results, for stdout: those of a first look, or `wide` all.
pub(crate) fn tables(finished: &[Finished], wide: bool) -> String {
    let tables = match wide {
        true => report::report_tables,
        false => report::headline_tables,
    };
    let report = runner::report(finished, &[]);
    report.map_or(String::new(), |r| report::text(&tables(&r), text_style()))
}

/// Where results are, and where all tables are if not above.
pub(crate) fn complain_of_results(path: &Path, wide: bool) {
    complain(&format!("results are in {}", path.display()));
    if !wide {
        complain("all tables: report.html there, or --wide");
    }
}

/// This program as a shell finds it again: by the path by which it was called, where that was one.
pub(crate) fn called() -> String {
    let first = std::env::args_os().next().unwrap_or_default();
    match first.to_string_lossy() {
        path if path.contains('/') => path.into_owned(),
        _ => "brimful".to_owned(),
    }
}

/// Writes everything into the folder; `file` is the scenario, `settings` what the command line set.
pub(crate) fn write_results(
    folder: &OutputFolder,
    finished: &[Finished],
    summary: &impl Serialize,
    file: &Path,
    settings: &[Setting],
) -> Result<(), Failure> {
    let command: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let origin = Origin {
        file,
        settings,
        command: &command,
    };
    Ok(runner::write(folder, finished, summary, &origin)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_and_dumb_terminals_get_none() {
        let with = |set: &'static str, value: &'static str| {
            is_colour_allowed(move |name| (name == set).then(|| value.into()))
        };
        assert!(with("TERM", "xterm-256color"));
        assert!(with("NO_COLOR", ""));
        assert!(!with("NO_COLOR", "1"));
        assert!(!with("TERM", "dumb"));
    }
}
