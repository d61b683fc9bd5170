//! Skipped tests.

use std::env;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;

/// The file that skips are recorded in, one `test<TAB>reason` a line, where this variable names one.
const RECORD: &str = "BRIMFUL_SKIPPED";

/// What a test needs and this machine lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing<'a> {
    /// The process is not root.
    Root,
    /// A program that `make setup` installs, by its name.
    Program(&'a str),
    /// A program that `make setup` does not install, by its name.
    Optional(&'a str),
    /// A feature of the kernel, by its name.
    Kernel(&'a str),
    /// Files that the repository does not contain, by what names them.
    Data(&'a str),
}

impl Missing<'_> {
    /// Whether a CI machine has to provide it: root and what `make setup` installs. A kernel and recorded
    /// data that are not in the repository may be missing there too.
    const fn is_required_in_ci(self) -> bool {
        matches!(self, Self::Root | Self::Program(_))
    }
}

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("needs root"),
            Self::Program(name) => write!(f, "needs the program {name} (make setup installs it)"),
            Self::Optional(name) => write!(f, "needs the program {name} (optional)"),
            Self::Kernel(feature) => write!(f, "needs a kernel with {feature}"),
            Self::Data(name) => write!(f, "needs {name}"),
        }
    }
}

/// Records that `test` does not run here. The caller returns from the test.
///
/// # Panics
/// With `CI=true` in the environment where a CI machine has to provide what is missing: a skip of a
/// test that could have run is a failure.
pub fn skip(test: &str, missing: Missing<'_>) {
    let is_ci = env::var_os("CI").is_some_and(|value| value == "true");
    assert!(
        !(is_ci && missing.is_required_in_ci()),
        "{test} {missing}, and CI=true does not allow that skip"
    );
    eprintln!("skipped: {test} {missing}");
    if let Some(path) = env::var_os(RECORD) {
        let file = OpenOptions::new().create(true).append(true).open(path);
        // one write a line: tests of several processes append to the same file
        let written = file.and_then(|mut f| f.write_all(format!("{test}\t{missing}\n").as_bytes()));
        if let Err(error) = written {
            eprintln!("the skip was not recorded: {error}");
        }
    }
}

/// Whether the process is root. If not, records that `test` is skipped.
#[must_use]
pub fn has_root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(test, Missing::Root);
    }
    is_root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_has_to_provide_root_and_programs() {
        assert!(Missing::Root.is_required_in_ci());
        assert!(Missing::Program("tshark").is_required_in_ci());
        assert!(!Missing::Optional("helm").is_required_in_ci());
        assert!(!Missing::Kernel("struct_ops").is_required_in_ci());
        assert!(!Missing::Data("BRIMFUL_TRACES").is_required_in_ci());
    }

    #[test]
    fn reasons_are_sentences() {
        assert_eq!(Missing::Root.to_string(), "needs root");
        assert_eq!(
            Missing::Program("tshark").to_string(),
            "needs the program tshark (make setup installs it)"
        );
    }
}
