//! The token that others show. Only its SHA-256 is kept.

use crate::DashError;
use ring::digest::{SHA256, digest};
use std::io::Read;
use std::path::Path;

pub(super) type Hash = [u8; 32];

/// Fewest characters: shorter ones can be guessed.
const MIN_CHARACTERS: usize = 16;
/// Maximum number of characters.
const MAX_CHARACTERS: usize = 1_024;

/// A token.
#[derive(Clone)]
pub struct Token {
    hash: Hash,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// A token of 16 to 1024 visible ASCII characters; `origin` names where it is from.
    ///
    /// # Errors
    /// [`DashError::Token`] if it is none.
    pub fn new(text: &str, origin: &str) -> Result<Self, DashError> {
        let wrong = |problem: String| DashError::Token {
            origin: origin.to_owned(),
            problem,
        };
        if !(MIN_CHARACTERS..=MAX_CHARACTERS).contains(&text.len()) {
            return Err(wrong(format!(
                "a token has {MIN_CHARACTERS} to {MAX_CHARACTERS} characters, this has {}",
                text.len()
            )));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let text = "a token is made of visible ASCII characters, without spaces";
            return Err(wrong(text.to_owned()));
        }
        Ok(Self {
            hash: sha256(text.as_bytes()),
        })
    }

    /// The token in a file, whose last line may end. Only its owner may read it.
    ///
    /// # Errors
    /// [`DashError::Token`] if it cannot be read, others can read it, or it is none.
    pub fn read(path: &Path) -> Result<Self, DashError> {
        let origin = path.display().to_string();
        let wrong = |problem: String| DashError::Token {
            origin: origin.clone(),
            problem,
        };
        let unreadable = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
        let file = std::fs::File::open(path).map_err(unreadable)?;
        daemon::config::check_secret(path).map_err(|error| wrong(error.to_string()))?;
        let mut bytes = Vec::new();
        // one more than is allowed shows that it is too long
        let max = MAX_CHARACTERS as u64 + 2;
        file.take(max).read_to_end(&mut bytes).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes);
        Self::new(text.trim_end(), &origin)
    }

    pub(super) fn hash(&self) -> Hash {
        self.hash
    }
}

/// SHA-256.
pub(super) fn sha256(bytes: &[u8]) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Whether two hashes are the same, in a time that does not depend on where they differ.
pub(super) fn equal(a: &Hash, b: &Hash) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn short_open_and_missing_tokens_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let problem = |path: &Path| Token::read(path).expect_err("refused").to_string();
        assert!(problem(&path).contains("cannot be read"));
        fs::write(&path, "0123456789abcdef\n").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        assert!(problem(&path).contains("all users can access"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        let token = Token::read(&path).expect("a token");
        assert!(equal(&token.hash(), &sha256(b"0123456789abcdef")));
        assert!(!format!("{token:?}").contains("0123"));
        for bad in ["short", "with spaces in the middle", "täglich-und-länger"] {
            fs::write(&path, bad).expect("written");
            assert!(Token::read(&path).is_err(), "{bad}");
        }
    }
}
