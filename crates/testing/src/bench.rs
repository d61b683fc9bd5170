//! How a bench that needs root begins and ends, and where its table goes.

use crate::Machine;
use std::path::PathBuf;
use std::process::ExitCode;

/// A place in a page of results, between two lines of it.
#[derive(Clone, Debug)]
pub struct Page {
    /// The page.
    pub path: PathBuf,
    /// What the lines have in common: `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
    pub name: &'static str,
}

impl Page {
    /// Puts a text there, in place of what stands there.
    ///
    /// # Errors
    /// The page cannot be read or written, or lacks one of the lines.
    pub fn put(&self, text: &str) -> Result<(), String> {
        let error = |problem: &dyn std::fmt::Display| format!("{}: {problem}", self.path.display());
        let before = std::fs::read_to_string(&self.path).map_err(|problem| error(&problem))?;
        let after = self.replaced(&before, text);
        let missing = format!("no lines <!-- {}: begin --> and end", self.name);
        let after = after.ok_or_else(|| error(&missing))?;
        std::fs::write(&self.path, after).map_err(|problem| error(&problem))
    }

    fn replaced(&self, page: &str, text: &str) -> Option<String> {
        let [begin, end] = ["begin", "end"].map(|it| format!("<!-- {}: {it} -->", self.name));
        let (head, rest) = page.split_once(&begin)?;
        let (_, tail) = rest.split_once(&end)?;
        Some(format!("{head}{begin}\n{text}{end}{tail}"))
    }
}

/// Runs a bench as root: `request` is what its command line states, or what is wrong with it; `page` has the place in which the
/// table is to be recorded, if it is. The table of `measure` is printed, with the machine below it.
///
/// Exit codes: 0 done, or skipped without root, 1 something failed, 2 bad usage.
pub fn bench<R>(
    name: &str,
    request: Result<R, String>,
    page: impl FnOnce(&R) -> Option<Page>,
    measure: impl FnOnce(&R) -> Result<String, String>,
) -> ExitCode {
    let request = match request {
        Ok(request) => request,
        Err(problem) => {
            eprintln!("{name}: {problem}");
            return ExitCode::from(2);
        }
    };
    if !rustix::process::geteuid().is_root() {
        eprintln!("{name}: skipped: it needs root");
        return ExitCode::SUCCESS;
    }
    let page = page(&request);
    let done = Machine::for_bench(page.is_some()).and_then(|machine| {
        let text = format!("{}\n{machine}.\n", measure(&request)?);
        print!("{text}");
        page.map_or(Ok(()), |page| page.put(&text))
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{name}: {problem}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_replaces_what_stands_between_its_lines() {
        let page = Page {
            path: PathBuf::new(),
            name: "table",
        };
        let before = "a\n<!-- table: begin -->\nold\n<!-- table: end -->\nb\n";
        let after = "a\n<!-- table: begin -->\nnew\n<!-- table: end -->\nb\n";
        assert_eq!(page.replaced(before, "new\n").as_deref(), Some(after));
        assert_eq!(page.replaced(after, "new\n").as_deref(), Some(after));
        assert_eq!(page.replaced("a\n<!-- table: begin -->\n", "new\n"), None);
    }
}
