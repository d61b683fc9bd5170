//! Files that hold secrets.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Refuses a file that all users of this machine can read or write.
///
/// # Errors
/// Its metadata cannot be read, or it is open to all.
pub fn check_secret(path: &Path) -> io::Result<()> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    if mode & 0o007 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "all users can access this secret (mode {:04o}): chmod o= it",
            mode & 0o7777
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};

    #[test]
    fn what_all_users_can_access_is_no_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, "secret").expect("written");
        for (mode, is_secret) in [(0o600, true), (0o640, true), (0o644, false), (0o602, false)] {
            set_permissions(&path, Permissions::from_mode(mode)).expect("set");
            assert_eq!(check_secret(&path).is_ok(), is_secret, "{mode:o}");
        }
        let error = check_secret(&path).expect_err("open").to_string();
        assert!(
            error.contains("mode 0602") && error.contains("chmod o="),
            "{error}"
        );
        assert!(check_secret(&folder.path().join("none")).is_err());
    }
}
