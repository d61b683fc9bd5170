//! Encryption and its keys.

use super::Encryption;
use crate::config::{Config, ConfigError};
use daemon::config::Section;
use keys::PublicKeyText;
use std::path::PathBuf;
use units::Duration;

/// How long keys may be used.
const REKEY: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3_600);

/// What both ends have.
pub(super) struct Keys {
    pub(super) encryption: Encryption,
    private_key_file: Option<PathBuf>,
    rekey_after: Option<Duration>,
}

pub(super) fn read(top: &mut Section<'_, '_>) -> Result<Keys, ConfigError> {
    let encryption = top.word("encryption", &Encryption::NAMES)?;
    let encryption = encryption.unwrap_or_default();
    let private_key_file = top.text("private-key-file")?;
    let rekey_after = top.parsed_at::<Duration>("rekey-after")?;
    match (encryption, &private_key_file) {
        (Encryption::On, None) => {
            return Err(top.fault(
                "no key \"private-key-file\": packets are encrypted unless encryption = \"none\", which both ends must \
                 have; `brimful tunnel key FILE` makes a private key and prints its public key for the other end. A \
                 key-file of before is mixed in if it is there at both ends",
            ));
        }
        (Encryption::None, Some((_, at))) => {
            let text = "private-key-file is of no use with encryption = \"none\"";
            return Err(top.fault_at(*at, text));
        }
        _ => {}
    }
    let rekey_after = match rekey_after {
        Some((time, at)) if !REKEY.contains(&time) => {
            let text = format!("rekey-after = {time}; expected \"1 s\" to \"3600 s\"");
            return Err(top.fault_at(at, text));
        }
        given => given.map(|(time, _)| time),
    };
    Ok(Keys {
        encryption,
        private_key_file: private_key_file.map(|(text, _)| text.into()),
        rekey_after,
    })
}

impl Keys {
    pub(super) fn apply(self, config: &mut Config) {
        config.encryption = self.encryption;
        config.private_key_file = self.private_key_file;
        if let Some(time) = self.rekey_after {
            config.rekey_after = time;
        }
    }
}

/// The other end's public key, under that name, and the secret that both have.
pub(super) fn peer(
    table: &mut Section<'_, '_>,
    name: &'static str,
    encryption: Encryption,
) -> Result<(Option<PublicKeyText>, Option<PathBuf>), ConfigError> {
    let public = table.parsed_at::<PublicKeyText>(name)?;
    let shared = table.text("key-file")?;
    match (encryption, &public, &shared) {
        (Encryption::On, None, _) => {
            let example =
                "\"...\", the public key that `brimful tunnel key` prints at the other end";
            return Err(table.missing(name, example));
        }
        (Encryption::None, Some((_, at)), _) => {
            let text = format!("{name} is of no use with encryption = \"none\"");
            return Err(table.fault_at(*at, text));
        }
        (Encryption::None, _, None) => {
            return Err(table.missing("key-file", "\"/etc/brimful/tunnel.key\""));
        }
        _ => {}
    }
    Ok((
        public.map(|(key, _)| key),
        shared.map(|(text, _)| text.into()),
    ))
}
