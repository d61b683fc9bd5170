//! Lines on stderr.

use std::io::{self, Write};

/// Prints a line on stderr. One that cannot be written (a full disk, a reader that has gone) is lost: it ends no
/// run.
pub(crate) fn note(line: core::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "lab: {line}");
}
