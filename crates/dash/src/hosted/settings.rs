//! The table `[dashboard]` of a daemon's configuration.

use crate::DashError;
use crate::access::{Access, Token};
use std::path::PathBuf;

/// What a daemon is told of its dashboard.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// There is one.
    pub is_on: bool,
    /// Samples a second while somebody watches, [`Settings::LEAST_RATE`] to
    /// [`Settings::MOST_RATE`].
    pub rate: f64,
    /// The token for all but this machine; without, only this machine sees anything.
    pub token_file: Option<PathBuf>,
    /// Names by which browsers reach this machine, beside `localhost` and addresses.
    pub hosts: Vec<String>,
}

impl Settings {
    /// The keys of the table.
    pub const KEYS: [&str; 4] = ["enabled", "rate", "token-file", "hosts"];
    /// Fewest samples a second.
    pub const LEAST_RATE: f64 = 0.1;
    /// Most samples a second: so many frames are sent.
    pub const MOST_RATE: f64 = 50.0;

    /// Who may see it; none where it is switched off.
    ///
    /// # Errors
    /// [`DashError::Token`]: the token's file cannot be used.
    pub fn access(&self) -> Result<Option<Access>, DashError> {
        if !self.is_on {
            return Ok(None);
        }
        let token = self.token_file.as_deref().map(Token::read).transpose()?;
        Ok(Some(Access::new(token, self.hosts.clone())))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            is_on: true,
            rate: 20.0,
            token_file: None,
            hosts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_cannot_be_read_is_told_unless_there_is_no_dashboard() {
        let missing = Settings {
            token_file: Some("/nowhere/token".into()),
            ..Settings::default()
        };
        let said = missing.access().expect_err("no file").to_string();
        assert!(said.starts_with("/nowhere/token: "), "{said}");
        let off = Settings {
            is_on: false,
            ..missing
        };
        assert!(off.access().expect("not looked at").is_none());
        let by_default = Settings::default().access().expect("no file");
        assert!(by_default.is_some());
    }
}
