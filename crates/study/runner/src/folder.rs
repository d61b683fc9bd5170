//! Where results go. `scenario::ResultFolder` writes a folder whole or not at all; here are its
//! default name and the folders above it.

use crate::Error;
use scenario::{OutputError, ResultFolder};
use std::fs;
use std::path::{Path, PathBuf};

/// A result folder that is being filled. Dropped without [`OutputFolder::finish`], it leaves nothing,
/// nor do the folders that were made above it.
#[derive(Debug)]
pub struct OutputFolder {
    folder: Option<ResultFolder>,
    path: PathBuf,
    made: Vec<PathBuf>,
}

impl OutputFolder {
    /// Begins, before anything runs: a place that cannot be written is an error here.
    ///
    /// # Errors
    /// [`Error::Run`] if it cannot.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let missing = |a: &&Path| !a.as_os_str().is_empty() && !a.exists();
        let above: Vec<PathBuf> = parent(path)
            .ancestors()
            .take_while(missing)
            .map(Path::to_owned)
            .collect();
        let mut output = Self {
            folder: None,
            path: path.to_owned(),
            made: above,
        };
        output.folder = Some(ResultFolder::create(path).map_err(|error| failed(&error))?);
        Ok(output)
    }

    /// Lets `write` add files.
    ///
    /// # Errors
    /// [`Error::Run`] if that fails; the folder is then not to be finished.
    pub fn add(
        &self,
        write: impl FnOnce(&ResultFolder) -> Result<(), OutputError>,
    ) -> Result<(), Error> {
        self.folder
            .as_ref()
            .map_or(Ok(()), write)
            .map_err(|error| failed(&error))
    }

    /// Gives the folder its name, and returns its path.
    ///
    /// # Errors
    /// [`Error::Run`] if it cannot be named.
    pub fn finish(mut self) -> Result<PathBuf, Error> {
        if let Some(folder) = self.folder.take() {
            folder.finish().map_err(|error| failed(&error))?;
        }
        self.made.clear();
        Ok(core::mem::take(&mut self.path))
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        drop(self.folder.take());
        for folder in &self.made {
            // what others have put something into meanwhile stays
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folder above, `.` for a bare name.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// An error of writing, as a failed run.
fn failed(error: &OutputError) -> Error {
    Error::run(error)
}

/// The default folder of a scenario's results.
pub fn default_path(scenario: &str) -> PathBuf {
    Path::new("results").join(file_name(scenario))
}

/// A name for files made of any text: letters, digits and `.=_-` stay, all else becomes `-`.
fn file_name(text: &str) -> String {
    let mut name = String::new();
    for c in text.chars() {
        let safe = c.is_ascii_alphanumeric() || matches!(c, '=' | '_' | '-' | '.');
        match (safe, name.ends_with('-')) {
            (true, _) => name.push(c),
            (false, false) => name.push('-'),
            (false, true) => {}
        }
    }
    let name: String = name.trim_matches(['-', '.']).chars().take(100).collect();
    if name.is_empty() {
        "scenario".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(path: &Path) -> usize {
        fs::read_dir(path).expect("a folder").count()
    }

    #[test]
    fn an_unfinished_folder_leaves_nothing_above_it_either() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join("a/b/c");
        let results = OutputFolder::create(&path).expect("can be written");
        results
            .add(|folder| folder.write("x", b"x"))
            .expect("written");
        assert_eq!(entries(scratch.path()), 1);
        drop(results);
        assert_eq!(entries(scratch.path()), 0);
        let results = OutputFolder::create(&path).expect("can be written");
        results
            .add(|folder| folder.write("x", b"x"))
            .expect("written");
        assert_eq!(results.finish().expect("named"), path);
        assert_eq!(fs::read(path.join("x")).expect("there"), b"x");
    }

    #[test]
    fn names_of_files_have_safe_characters_only() {
        assert_eq!(file_name("fast-embb-los"), "fast-embb-los");
        assert_eq!(file_name("rtt=1 ms, pep=none"), "rtt=1-ms-pep=none");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("..."), "scenario");
    }
}
