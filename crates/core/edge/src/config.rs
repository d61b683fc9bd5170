//! Configuration of the proxy's decisions. The scenario's `[pep]` and the daemon's file have every value
//! under the same name, with the same unit and default.

use crate::{ShownWindow, UnsentBound};
use rapid::{AllocatorConfig, Mode, Part};
use serde::{Deserialize, Serialize};
use units::{Bytes, Duration};

/// Configuration of an [`crate::Edge`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EdgeConfig {
    /// The allocator of each cell. Its `report-max-age` is the intake's limit of age too, and the silence from
    /// which on a cell's windows decay.
    pub allocator: AllocatorConfig,
    /// Without a report for this long, a cell's flows are relayed and nothing more; no less than
    /// `report-max-age`.
    pub plain_after: Duration,
    /// A flow comes under control this long after its server has answered: very short ones are not worth
    /// what that costs.
    pub adopt_after: Duration,
    /// Receive window shown to the server before a flow is adopted or found not to be: what has been
    /// shown cannot be taken back.
    pub young_window: Bytes,
    /// Between looks at the silence of cells and UEs.
    pub check_interval: Duration,
    /// What the server is shown between decisions.
    #[serde(flatten)]
    pub shown: ShownWindow,
    /// What the socket towards the UE may hold unsent.
    #[serde(flatten)]
    pub unsent: UnsentBound,
    /// A pace is set anew if it differs by more than this share from the last, 0 to 1.
    pub pacing_step: f64,
}

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Of the allocator.
    #[error(transparent)]
    Allocator(#[from] rapid::ConfigError),
    /// Outside its range.
    #[error("{field} is {value}, expected {expected}")]
    Range {
        /// The key's name.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        expected: String,
    },
}

impl EdgeConfig {
    /// The defaults, with the allocator's of a mode.
    pub fn new(mode: Mode) -> Self {
        Self {
            allocator: AllocatorConfig::new(mode),
            plain_after: Duration::from_secs(2),
            adopt_after: Duration::ZERO,
            young_window: Bytes::new(14_600),
            check_interval: Duration::from_millis(50),
            shown: ShownWindow::default(),
            unsent: UnsentBound::default(),
            pacing_step: 0.05,
        }
    }

    /// The age from which on a report is refused and a cell's windows decay; none where the allocator's part
    /// `staleness` is left out: then the last report holds for ever.
    pub(crate) fn max_age(&self) -> Option<Duration> {
        let AllocatorConfig { mode, without, .. } = &self.allocator;
        // the parts are those of mode `default`
        let is_left_out = *mode == Mode::Default && without.contains(&Part::Staleness);
        (!is_left_out).then_some(self.allocator.report_max_age)
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the first field out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.allocator.check()?;
        let range = |field, ok: bool, value: String, expected: String| {
            ok.then_some(()).ok_or(ConfigError::Range {
                field,
                value,
                expected,
            })
        };
        let max_age = self.allocator.report_max_age;
        range(
            "plain-after",
            self.plain_after >= max_age,
            self.plain_after.to_string(),
            format!("no less than report-max-age ({max_age}), after which windows decay"),
        )?;
        for (field, time) in [
            ("check-interval", self.check_interval),
            ("max-closed", self.shown.max_closed),
        ] {
            let expected = "more than 0 s".to_owned();
            range(field, !time.is_zero(), time.to_string(), expected)?;
        }
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        for (field, share) in [
            ("window-step", self.shown.window_step),
            ("pacing-step", self.pacing_step),
            ("unsent-share", self.unsent.unsent_share),
        ] {
            range(field, is_share(share), share.to_string(), "0 to 1".into())?;
        }
        range(
            "min-window",
            self.shown.min_window <= 64,
            self.shown.min_window.to_string(),
            "0 to 64 segments".into(),
        )?;
        for (field, factor) in [
            ("reopen-factor", self.shown.reopen_factor),
            ("unsent-step", self.unsent.unsent_step),
        ] {
            range(
                field,
                (1..=64).contains(&factor),
                factor.to_string(),
                "1 to 64".into(),
            )?;
        }
        let UnsentBound {
            unsent_min,
            unsent_max,
            ..
        } = self.unsent;
        for (field, size) in [
            ("young-window", self.young_window),
            ("unsent-min", unsent_min),
        ] {
            range(
                field,
                !size.is_zero(),
                size.to_string(),
                "1 B or more".into(),
            )?;
        }
        range(
            "unsent-max",
            unsent_min <= unsent_max,
            unsent_max.to_string(),
            format!("no less than unsent-min ({unsent_min})"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_survive_json() {
        for mode in [Mode::Paper, Mode::Default] {
            let config = EdgeConfig::new(mode);
            assert_eq!(config.check(), Ok(()));
            let text = serde_json::to_string(&config).expect("JSON");
            assert_eq!(
                serde_json::from_str::<EdgeConfig>(&text).expect("as written"),
                config
            );
        }
    }

    /// Every value that is written has a key, and every key has one value.
    #[test]
    fn every_value_has_a_key() {
        let mut config = EdgeConfig::new(Mode::Default);
        let json = serde_json::to_value(&config).expect("JSON");
        let flat = |of: &serde_json::Value| of.as_object().expect("a table").clone();
        let (top, allocator) = (flat(&json), flat(&json["allocator"]));
        let written = top.keys().chain(allocator.keys());
        let mut written: Vec<&str> = written.map(String::as_str).collect();
        written.retain(|key| !["allocator", "mode"].contains(key));
        written.sort_unstable();
        let mut keys = config.settings().map(|(key, _)| key);
        keys.sort_unstable();
        let written: Vec<String> = written.iter().map(|key| key.replace('_', "-")).collect();
        assert_eq!(written, keys);
    }

    #[test]
    fn parts_left_out_are_those_of_the_default_mode() {
        for (mode, max_age) in [(Mode::Default, None), (Mode::Paper, Some(100))] {
            let mut config = EdgeConfig::new(mode);
            config.allocator.without = vec![Part::Staleness];
            assert_eq!(config.max_age(), max_age.map(Duration::from_millis));
        }
    }

    #[test]
    fn each_value_out_of_range_is_named() {
        let refused = |change: fn(&mut EdgeConfig)| {
            let mut config = EdgeConfig::new(Mode::Default);
            change(&mut config);
            config.check().expect_err("out of range").to_string()
        };
        for (key, message) in [
            (
                "plain-after is",
                refused(|c| c.plain_after = Duration::from_millis(99)),
            ),
            (
                "check-interval is",
                refused(|c| c.check_interval = Duration::ZERO),
            ),
            ("window-step is", refused(|c| c.shown.window_step = 1.5)),
            ("pacing-step is", refused(|c| c.pacing_step = f64::NAN)),
            ("unsent-share is", refused(|c| c.unsent.unsent_share = -0.1)),
            ("min-window is", refused(|c| c.shown.min_window = 65)),
            ("reopen-factor is", refused(|c| c.shown.reopen_factor = 0)),
            (
                "max-closed is",
                refused(|c| c.shown.max_closed = Duration::ZERO),
            ),
            ("unsent-step is", refused(|c| c.unsent.unsent_step = 65)),
            ("young-window is", refused(|c| c.young_window = Bytes::ZERO)),
            (
                "unsent-min is",
                refused(|c| c.unsent.unsent_min = Bytes::ZERO),
            ),
            (
                "unsent-max is",
                refused(|c| c.unsent.unsent_max = Bytes::new(1)),
            ),
            (
                "slow-threshold is",
                refused(|c| c.allocator.slow_threshold = 2.0),
            ),
        ] {
            assert!(message.starts_with(key), "{message}");
        }
    }
}
