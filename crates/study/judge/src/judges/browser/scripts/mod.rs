//! What drives the browsers: Python, written into a judge's folder.

use crate::judge::Problem;
use crate::need::Need;
use crate::stage::Stage;
use std::process::Command;

pub(super) const CHROMIUM: Need = Need::Program("chromium");
pub(super) const PLAYWRIGHT: Need = Need::Module("playwright");

const FILES: [(&str, &str); 7] = [
    ("chromium.py", include_str!("chromium.py")),
    ("camera.py", include_str!("camera.py")),
    ("download.py", include_str!("download.py")),
    ("page.py", include_str!("page.py")),
    ("call.py", include_str!("call.py")),
    ("call.html", include_str!("call.html")),
    ("call.js", include_str!("call.js")),
];

/// A command of one of the scripts, which are then in the judge's folder.
///
/// # Errors
/// A file that cannot be written.
pub(super) fn command(stage: &Stage<'_, '_>, script: &str) -> Result<Command, Problem> {
    for (name, text) in FILES {
        stage.write(name, text)?;
    }
    let browser = stage.command(CHROMIUM);
    let mut command = stage.command(PLAYWRIGHT);
    // Playwright's own browsers are not used
    command.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    command.arg("-B").arg(stage.scratch().join(script));
    command.arg("--chromium").arg(browser.get_program());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_scripts_are_written() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/judges/browser/scripts");
        let entries = std::fs::read_dir(folder).expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().into_string().expect("a name"));
        let there: BTreeSet<String> = names.filter(|name| !name.ends_with(".rs")).collect();
        let written: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(written, there);
    }
}
