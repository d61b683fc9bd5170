//! The table `[dashboard]` of a daemon's configuration.

use crate::DashError;
use crate::access::{Access, Token};
use daemon::config::{ConfigError, Section};
use std::path::PathBuf;

/// What a daemon's configuration sets of its dashboard.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// There is one.
    pub is_on: bool,
    /// Samples a second while there is a viewer, [`Settings::MIN_RATE`] to
    /// [`Settings::MAX_RATE`].
    pub rate: f64,
    /// The token for all but this machine; without, only this machine sees anything.
    pub token_file: Option<PathBuf>,
    /// Names by which browsers reach this machine, beside `localhost` and addresses.
    pub hosts: Vec<String>,
}

impl Settings {
    /// Fewest samples a second.
    pub const MIN_RATE: f64 = 0.1;
    /// Maximum samples a second: so many frames are sent.
    pub const MAX_RATE: f64 = 50.0;

    /// Reads the table from the daemon's file; `has_server`: metrics are served, and so the dashboard
    /// can be.
    ///
    /// # Errors
    /// A key that is not known or cannot be used, and a dashboard that no listener would serve.
    pub fn read(top: &mut Section<'_, '_>, has_server: bool) -> Result<Self, ConfigError> {
        let usual = Self::default();
        let Some(mut table) = top.table("dashboard", "[dashboard]")? else {
            return Ok(usual);
        };
        let rates = Self::MIN_RATE..=Self::MAX_RATE;
        let settings = Self {
            is_on: table.truth("enabled")?.unwrap_or(usual.is_on),
            rate: table.number("rate", rates)?.unwrap_or(usual.rate),
            token_file: table.parsed("token-file")?,
            hosts: table.parsed_list("hosts")?,
        };
        if settings.is_on && !has_server {
            return Err(table.fault("it is served where [metrics] listens: give that \"listen\""));
        }
        table.finish()?;
        Ok(settings)
    }

    /// The rules of access to it; none where it is switched off.
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
    fn a_token_that_cannot_be_read_is_an_error_unless_there_is_no_dashboard() {
        let missing = Settings {
            token_file: Some("/nowhere/token".into()),
            ..Settings::default()
        };
        let error = missing.access().expect_err("no file").to_string();
        assert!(error.starts_with("/nowhere/token: "), "{error}");
        let off = Settings {
            is_on: false,
            ..missing
        };
        assert!(off.access().expect("not looked at").is_none());
        let by_default = Settings::default().access().expect("no file");
        assert!(by_default.is_some());
    }

    fn read(text: &str, has_server: bool) -> Result<Settings, ConfigError> {
        daemon::config::parse("a.toml", text, |top| Settings::read(top, has_server))
    }

    #[test]
    fn it_is_there_where_metrics_are_unless_it_is_switched_off() {
        assert_eq!(read("", false).expect("nothing"), Settings::default());
        let text =
            "[dashboard]\nenabled = false\nrate = 0.5\ntoken-file = \"/t\"\nhosts = [\"a\"]\n";
        let settings = read(text, true).expect("valid");
        assert_eq!((settings.is_on, settings.rate), (false, 0.5));
        assert_eq!(settings.token_file, Some("/t".into()));
        assert_eq!(settings.hosts, ["a"]);
        assert!(read("[dashboard]\nenabled = false\n", false).is_ok());
        for (bad, expected) in [
            ("rate = 51", "0.1 to 50"),
            ("tokenfile = \"t\"", "did you mean \"token-file\""),
            ("enabled = 1", "enabled"),
        ] {
            let error = read(&format!("[dashboard]\n{bad}\n"), true).expect_err(bad);
            let error = error.to_string();
            assert!(
                error.starts_with("a.toml:") && error.contains(expected),
                "{error}"
            );
        }
        let alone = read("[dashboard]\nrate = 5\n", false).expect_err("no server");
        assert!(alone.to_string().contains("[metrics]"), "{alone}");
    }
}
