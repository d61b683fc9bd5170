//! The hidden folder in which results are made, beside their place: `.NAME.unfinished-` and six letters or digits.
//!
//! It is locked as long as it is in use. The system gives the lock back however a process ends, so that one
//! that can be locked was left by a process that was killed: the next one that makes results in the same place
//! removes it. On file systems without locks it stays.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use tempfile::TempDir;

/// Before the letters at the end.
const MARK: &str = ".unfinished-";
/// How many there are.
const LETTERS: usize = 6;

/// A folder that is being filled. Dropped, it is gone.
#[derive(Debug)]
pub(super) struct Unfinished {
    folder: TempDir,
    /// None where a folder cannot be locked.
    _lock: Option<File>,
}

impl Unfinished {
    /// Makes one for results of this name, and removes what dead processes have left in `parent`.
    pub(super) fn create(parent: &Path, name: &OsStr) -> io::Result<Self> {
        remove_dead(parent);
        let mut prefix = OsStr::new(".").to_owned();
        prefix.push(name);
        prefix.push(MARK);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(LETTERS);
        readable_by_others(&mut builder);
        loop {
            let folder = builder.tempdir_in(parent)?;
            let Ok(lock) = File::open(folder.path()) else {
                return Ok(Self {
                    folder,
                    _lock: None,
                });
            };
            let lock = match lock.try_lock() {
                // another process may have removed it as a dead one's before it was locked
                Ok(()) if folder.path().exists() => Some(lock),
                Ok(()) | Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(_)) => None,
            };
            return Ok(Self {
                folder,
                _lock: lock,
            });
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives it another name, under which it stays.
    pub(super) fn rename(self, target: &Path) -> io::Result<()> {
        fs::rename(self.folder.path(), target)?;
        // there is nothing left to remove
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Removes the folders that nothing has locked. What cannot be removed stays.
fn remove_dead(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    for entry in entries.filter(|entry| is_unfinished(&entry.file_name()) && is_folder(entry)) {
        let Ok(lock) = File::open(entry.path()) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a folder has such a name.
fn is_unfinished(name: &OsStr) -> bool {
    let parts = name.to_str().and_then(|name| name.rsplit_once(MARK));
    parts.is_some_and(|(before, letters)| {
        let is_random =
            letters.len() == LETTERS && letters.bytes().all(|b| b.is_ascii_alphanumeric());
        before.starts_with('.') && is_random
    })
}

/// Results are for others too; what the user masks stays masked.
#[cfg(unix)]
fn readable_by_others(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o777));
}

#[cfg(not(unix))]
fn readable_by_others(_: &mut tempfile::Builder<'_, '_>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dead_processes_have_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().join(name);
        let others = [
            ".a.unfinished-12345",
            ".a.unfinished-1234567",
            ".a.backup",
            "a.unfinished-123456",
            ".a.unfinished-12345_",
        ];
        let dead = [".a.unfinished-123456", ".b.c.unfinished-AbCdEf"];
        for name in others.iter().chain(&dead) {
            fs::create_dir_all(at(name).join("below")).expect("made");
        }
        fs::write(at(".a.unfinished-abcdef"), "a file").expect("written");
        let alive = Unfinished::create(place.path(), OsStr::new("alive")).expect("made");
        for name in dead {
            assert!(!at(name).exists(), "{name} is left");
        }
        let next = Unfinished::create(place.path(), OsStr::new("alive")).expect("made");
        assert!(alive.path().exists() && next.path().exists());
        assert_ne!(alive.path(), next.path());
        for name in others.iter().chain(&[".a.unfinished-abcdef"]) {
            assert!(at(name).exists(), "{name} is gone");
        }
        let (target, before) = (at("target"), alive.path().to_owned());
        alive.rename(&target).expect("renamed");
        assert!(target.exists() && !before.exists());
    }
}
