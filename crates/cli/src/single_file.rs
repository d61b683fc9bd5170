//! Single files that are whole or not there.

use anyhow::{Context, anyhow};
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(path: &Path) -> usize {
        fs::read_dir(path).expect("a folder").count()
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
}
