//! Keys in files that only their owner may read: private keys of X25519, and secrets that both ends have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{PrivateKey, PublicKey};
use std::fmt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::str::FromStr;

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
    /// What it holds is no private key.
    #[error(
        "the key file {path} holds no private key: expected one line of base64, 32 bytes decoded, as `brimful tunnel \
         key` writes it"
    )]
    PrivateContent {
        /// Its path.
        path: String,
    },
    /// A public key with which no secret can be agreed on.
    #[error("the public key of {of} is no key: nothing secret can be agreed on with it")]
    Public {
        /// Whose it is.
        of: String,
    },
}

impl Key {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Reads a key: one line of base64.
    ///
    /// # Errors
    /// [`KeyError`]; what the file holds is in no message.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let bytes = read(path, "brimful tunnel key --shared")?;
        let bytes = bytes.filter(|bytes| ALLOWED.contains(&bytes.len()));
        bytes.map(Self).ok_or_else(|| KeyError::Content {
            path: path.display().to_string(),
        })
    }

    /// Makes a new key and writes it to a new file that only its owner may read. A file that cannot be written
    /// whole is removed.
    ///
    /// # Errors
    /// The file is there already, or cannot be written.
    pub fn write_new(path: &Path) -> Result<(), KeyError> {
        write(path, &draw(path)?)
    }
}

/// The private key of an end, by X25519. It is never printed but on request.
#[derive(Clone, Debug)]
pub struct StaticKey(PrivateKey);

impl StaticKey {
    /// Makes a new one.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new() -> Result<Self, KeyError> {
        Ok(Self(PrivateKey::from_bytes(draw(Path::new("a new key"))?)))
    }

    /// Reads one: one line of base64.
    ///
    /// # Errors
    /// [`KeyError`]; what the file holds is in no message.
    pub fn load(path: &Path) -> Result<Self, KeyError> {
        let bytes = read(path, "brimful tunnel key")?;
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| KeyError::PrivateContent {
            path: path.display().to_string(),
        })?;
        Ok(Self(PrivateKey::from_bytes(bytes)))
    }

    /// Writes it to a new file that only its owner may read. A file that cannot be written whole is removed.
    ///
    /// # Errors
    /// The file is there already, or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KeyError> {
        write(path, &*self.0.bytes())
    }

    /// The private key.
    pub fn private(&self) -> &PrivateKey {
        &self.0
    }

    /// The private key, as a file has it.
    pub fn secret_text(&self) -> String {
        STANDARD.encode(*self.0.bytes())
    }

    /// The public key, as configurations have it.
    pub fn public_text(&self) -> String {
        STANDARD.encode(self.0.public().bytes())
    }
}

/// A public key, as configurations have it: base64 of 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKeyText(PublicKey);

impl PublicKeyText {
    /// The key.
    pub const fn key(self) -> PublicKey {
        self.0
    }
}

impl FromStr for PublicKeyText {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD.decode(text).ok();
        let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
        let error =
            "expected a public key, which `brimful tunnel key` prints: 44 characters of base64";
        let bytes = bytes.ok_or_else(|| error.to_owned())?;
        Ok(Self(PublicKey::from_bytes(bytes)))
    }
}

fn draw(path: &Path) -> Result<[u8; BYTES], KeyError> {
    let mut bytes = [0; BYTES];
    crate::random::fill(&mut bytes).map_err(|error| KeyError::File {
        path: path.display().to_string(),
        error,
    })?;
    Ok(bytes)
}

/// What a key file holds; none if that is no base64.
fn read(path: &Path, maker: &str) -> Result<Option<Vec<u8>>, KeyError> {
    let shown = || path.display().to_string();
    let file = |error: std::io::Error| KeyError::File {
        path: shown(),
        error: match error.kind() {
            std::io::ErrorKind::NotFound => {
                std::io::Error::other(format!("{error}; `{maker} {}` makes one", shown()))
            }
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
    Ok(STANDARD.decode(text.trim_ascii()).ok())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), KeyError> {
    use std::io::Write;
    let file = |error| KeyError::File {
        path: path.display().to_string(),
        error,
    };
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

    #[test]
    fn a_private_key_is_written_read_and_has_a_public_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let key = StaticKey::new().expect("a key");
        key.write(&path).expect("written");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = StaticKey::load(&path).expect("a key");
        assert_eq!(again.public_text(), key.public_text());
        assert!(!format!("{key:?}").contains(&key.secret_text()));
        let public: PublicKeyText = key.public_text().parse().expect("a public key");
        assert_eq!(public.0, key.0.public());
        assert!("c2hvcnQ=".parse::<PublicKeyText>().is_err());
        std::fs::write(&path, "MDEyMzQ1Njc4OWFiY2RlZg==").expect("written");
        let error = StaticKey::load(&path).expect_err("16 bytes").to_string();
        assert!(error.contains("no private key"), "{error}");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).expect("set");
        let error = StaticKey::load(&path).expect_err("open").to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
