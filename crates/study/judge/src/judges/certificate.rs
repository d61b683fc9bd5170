//! The certificate of a judge's server, which a browser accepts by its key.

use crate::judge::Problem;
use crate::run::file;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::PublicKeyData;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A certificate for `server`, its key, and the hash of the latter.
#[derive(Debug)]
pub(super) struct Certificate {
    /// The file of the certificate (PEM).
    pub(super) chain: PathBuf,
    /// The file of its key (PEM), which only its owner can read.
    pub(super) key: PathBuf,
    /// SHA-256 of the public key (SPKI), in base64.
    pub(super) key_hash: String,
}

impl Certificate {
    /// Makes one and writes it into a folder.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn write(folder: &Path) -> Result<Self, Problem> {
        let [chain, key] = ["certificate.pem", "key.pem"].map(|name| folder.join(name));
        let made = rcgen::generate_simple_self_signed(["server".to_owned()])
            .map_err(|error| file(&chain)(io::Error::other(error)))?;
        fs::write(&chain, made.cert.pem()).map_err(file(&chain))?;
        let mut private = fs::OpenOptions::new();
        private.write(true).create_new(true).mode(0o600);
        let written = private
            .open(&key)
            .and_then(|mut file| file.write_all(made.signing_key.serialize_pem().as_bytes()));
        written.map_err(file(&key))?;
        let info = made.signing_key.subject_public_key_info();
        let hash = ring::digest::digest(&ring::digest::SHA256, &info);
        Ok(Self {
            chain,
            key,
            key_hash: STANDARD.encode(hash),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_is_its_owners_and_its_hash_has_32_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = Certificate::write(folder.path()).expect("a certificate");
        let mode = fs::metadata(&made.key)
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let chain = fs::read_to_string(&made.chain).expect("a file");
        assert!(chain.starts_with("-----BEGIN CERTIFICATE-----"), "{chain}");
        assert_eq!(
            STANDARD.decode(&made.key_hash).map(|hash| hash.len()),
            Ok(32)
        );
    }
}
