//! Keys that both ends have, in files that only their owner may read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Bytes of a new key.
const BYTES: usize = 32;
/// Minimum and maximum bytes of a key.
const ALLOWED: std::ops::RangeInclusive<usize> = 16..=64;

/// A key. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(not shown)")
    }
}

/// The reason why a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("the key file {path}: {error}")]
    File {
        /// Its path.
        path: String,
        /// The system's answer.
        error: std::io::Error,
    },
    /// Others may read it.
    #[error("the key file {path} can be used by others (mode {mode:04o}): chmod 600 {path}")]
    Open {
        /// Its path.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// What it holds is no key.
    #[error(
        "the key file {path} holds no key: expected one line of base64, 16 to 64 bytes decoded"
    )]
    Content {
        /// Its path.
        path: String,
    },
}

impl Key {
    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads a key: one line of base64.
    ///
    /// # Errors
    /// [`KeyError`]; what the file holds is in no message.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let shown = || path.display().to_string();
        let file = |error: std::io::Error| KeyError::File {
            path: shown(),
            error: match error.kind() {
                std::io::ErrorKind::NotFound => std::io::Error::other(format!(
                    "{error}; `brimful tunnel key {}` makes one, for both ends",
                    shown()
                )),
                _ => error,
            },
        };
        let mode = std::fs::metadata(path).map_err(file)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyError::Open {
                path: shown(),
                mode,
            });
        }
        let text = std::fs::read(path).map_err(file)?;
        STANDARD
            .decode(text.trim_ascii())
            .ok()
            .filter(|bytes| ALLOWED.contains(&bytes.len()))
            .map(Self)
            .ok_or_else(|| KeyError::Content { path: shown() })
    }

    /// Makes a new key and writes it to a new file that only its owner may read. A file that cannot be written
    /// whole is removed.
    ///
    /// # Errors
    /// The file is there already, or cannot be written.
    pub fn write_new(path: &Path) -> Result<(), KeyError> {
        use std::io::Write;
        let file = |error| KeyError::File {
            path: path.display().to_string(),
            error,
        };
        let mut bytes = [0; BYTES];
        crate::random::fill(&mut bytes).map_err(file)?;
        let mut to = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(file)?;
        let written = to
            .write_all(format!("{}\n", STANDARD.encode(bytes)).as_bytes())
            .and_then(|()| to.sync_all());
        if written.is_err() {
            let _ = std::fs::remove_file(path);
        }
        written.map_err(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_read_back_and_stays_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        Key::write_new(&path).expect("written");
        let key = Key::load(&path).expect("a key");
        assert_eq!(key.bytes().len(), BYTES);
        assert_eq!(format!("{key:?}"), "Key(not shown)");
        let again = Key::write_new(&path).expect_err("it is there");
        assert!(again.to_string().contains("File exists"), "{again}");
    }

    #[test]
    fn what_others_can_read_or_is_no_key_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, "c2VjcmV0IHNlY3JldCBzZWNyZXQ=\n").expect("written");
        let set = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode));
        set(0o640).expect("set");
        let error = Key::load(&path).expect_err("refused").to_string();
        assert!(
            error.contains("0640") && error.contains("chmod 600"),
            "{error}"
        );
        set(0o600).expect("set");
        assert!(Key::load(&path).is_ok());
        std::fs::write(&path, "c2hvcnQ=").expect("written");
        let error = Key::load(&path).expect_err("refused").to_string();
        assert!(
            error.contains("no key") && !error.contains("c2hvcnQ"),
            "{error}"
        );
    }
}
