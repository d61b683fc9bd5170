//! Where results go. `scenario::ResultFolder` sees to it that a folder is whole or not there; here
//! are its default name, the folders above it, and single files of the same kind.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use scenario::{OutputError, ResultFolder};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A result folder that is being filled. Dropped without [`Results::finish`], it leaves nothing,
/// nor do the folders that were made above it.
pub(crate) struct Results {
    folder: Option<ResultFolder>,
    path: PathBuf,
    made: Vec<PathBuf>,
}

impl Results {
    /// Begins, before anything runs: a place that cannot be written shows at once.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let missing = |a: &&Path| !a.as_os_str().is_empty() && !a.exists();
        let above: Vec<PathBuf> = parent(path)
            .ancestors()
            .take_while(missing)
            .map(Path::to_owned)
            .collect();
        let mut results = Self {
            folder: None,
            path: path.to_owned(),
            made: above,
        };
        results.folder = Some(ResultFolder::create(path).map_err(Failure::run)?);
        Ok(results)
    }

    /// Lets `write` add files.
    pub(crate) fn add(
        &self,
        write: impl FnOnce(&ResultFolder) -> Result<(), OutputError>,
    ) -> Result<(), Failure> {
        self.folder
            .as_ref()
            .map_or(Ok(()), write)
            .map_err(Failure::run)
    }

    /// Gives the folder its name; says where it is.
    pub(crate) fn finish(mut self) -> Result<PathBuf, Failure> {
        if let Some(folder) = self.folder.take() {
            folder.finish().map_err(Failure::run)?;
        }
        self.made.clear();
        Ok(core::mem::take(&mut self.path))
    }
}

impl Drop for Results {
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

/// Writes a single file whole or not at all. What is no regular file, as a pipe or a device, is
/// written into instead of being replaced; of a link, what it leads to is replaced.
///
/// # Errors
/// If it cannot be written; what had its name before is then still there.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let work = || -> anyhow::Result<()> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(anyhow!("is a folder")),
            Ok(found) if !found.is_file() => Ok(OpenOptions::new()
                .write(true)
                .open(path)?
                .write_all(content)?),
            Ok(_) => write_beside(&path.canonicalize()?, content),
            Err(_) => write_beside(path, content),
        }
    };
    work().with_context(|| format!("{}: cannot be written", path.display()))
}

/// Writes a file under a hidden name beside its place, and names it when it is whole.
fn write_beside(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".brimful-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The default folder of a scenario's results.
pub(crate) fn default_path(scenario: &str) -> PathBuf {
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
        let results = Results::create(&path).expect("can be written");
        results
            .add(|folder| folder.write("x", b"x"))
            .expect("written");
        assert_eq!(entries(scratch.path()), 1);
        drop(results);
        assert_eq!(entries(scratch.path()), 0);
        let results = Results::create(&path).expect("can be written");
        results
            .add(|folder| folder.write("x", b"x"))
            .expect("written");
        assert_eq!(results.finish().expect("named"), path);
        assert_eq!(fs::read(path.join("x")).expect("there"), b"x");
    }

    #[test]
    fn a_file_is_replaced_at_once() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let path = scratch.path().join("t");
        replace_file(&path, b"1").expect("written");
        replace_file(&path, b"2").expect("replaced");
        assert_eq!(fs::read(&path).expect("there"), b"2");
        assert_eq!(entries(scratch.path()), 1);
        assert!(replace_file(scratch.path(), b"3").is_err());
        assert!(replace_file(&path.join("below"), b"3").is_err());
    }

    #[test]
    fn links_and_devices_stay_what_they_are() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (file, link) = (scratch.path().join("t"), scratch.path().join("l"));
        fs::write(&file, b"1").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        replace_file(&link, b"2").expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"2");

        // a socket stands for all that is neither file nor folder: it cannot be opened, and stays
        let socket = scratch.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).expect("bound");
        assert!(replace_file(&socket, b"3").is_err());
        let kind = fs::symlink_metadata(&socket).expect("there").file_type();
        assert!(std::os::unix::fs::FileTypeExt::is_socket(&kind));
        assert_eq!(entries(scratch.path()), 3);
    }

    #[test]
    fn names_of_files_are_tame() {
        assert_eq!(file_name("fast-embb-los"), "fast-embb-los");
        assert_eq!(file_name("rtt=1 ms, pep=none"), "rtt=1-ms-pep=none");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("..."), "scenario");
    }
}
