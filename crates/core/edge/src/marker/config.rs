//! How packets that are not split are marked.

use crate::ConfigError;
use units::Duration;

/// Configuration of the marker. Times are delays that the base station's queue is predicted to cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkerConfig {
    /// The virtual queue drains at this part of the share, above 0.5 to 1.
    pub rate_fraction: f64,
    /// What the virtual queue may exceed the reported one by where nothing else requests the radio, up to 1 s: what is
    /// learnt of a share that is not reached.
    pub slack: Duration,
    /// The same beside flows of the proxy that request all that they can have: the share holds up to there, whatever the
    /// reported queue.
    pub contested_slack: Duration,
    /// L4S on a steady radio: nothing is marked below.
    pub ramp_from: Duration,
    /// And all from here on; above `ramp_from`.
    pub ramp_to: Duration,
    /// The same on a radio whose rate spreads by a quarter and more.
    pub wide_ramp_from: Duration,
    /// And all from here on; above `wide_ramp_from`.
    pub wide_ramp_to: Duration,
    /// The delay that the controller of the classic law aims at, 1 ms to 1 s.
    pub target: Duration,
    /// A report older than this counts no more, and all is forwarded.
    pub max_age: Duration,
    /// From the marker into the base station's queue, up to 50 ms.
    pub transit: Duration,
}

impl Default for MarkerConfig {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            rate_fraction: 1.0,
            slack: ms(5),
            contested_slack: ms(100),
            ramp_from: ms(8),
            ramp_to: ms(16),
            wide_ramp_from: ms(8),
            wide_ramp_to: ms(24),
            target: ms(18),
            max_age: ms(100),
            transit: ms(1),
        }
    }
}

impl MarkerConfig {
    /// Its times by their keys, with what they may be.
    pub fn times(&mut self) -> [(&'static str, &mut Duration); 9] {
        [
            ("unsplit-slack", &mut self.slack),
            ("unsplit-contested-slack", &mut self.contested_slack),
            ("unsplit-ramp-from", &mut self.ramp_from),
            ("unsplit-ramp-to", &mut self.ramp_to),
            ("unsplit-wide-ramp-from", &mut self.wide_ramp_from),
            ("unsplit-wide-ramp-to", &mut self.wide_ramp_to),
            ("unsplit-target", &mut self.target),
            ("unsplit-max-age", &mut self.max_age),
            ("unsplit-transit", &mut self.transit),
        ]
    }

    /// Checks ranges.
    ///
    /// # Errors
    /// Names the first field out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let range = |field, ok: bool, value: String, expected: String| {
            ok.then_some(()).ok_or(ConfigError::Range {
                field,
                value,
                expected,
            })
        };
        let fraction = self.rate_fraction;
        range(
            "unsplit-rate-fraction",
            fraction > 0.5 && fraction <= 1.0,
            fraction.to_string(),
            "above 0.5, at most 1".into(),
        )?;
        let second = Duration::from_secs(1);
        let hour = Duration::from_secs(3600);
        let limits = [
            ("unsplit-slack", self.slack, Duration::ZERO, second),
            (
                "unsplit-contested-slack",
                self.contested_slack,
                Duration::ZERO,
                second,
            ),
            ("unsplit-ramp-to", self.ramp_to, Duration::ZERO, second),
            (
                "unsplit-wide-ramp-to",
                self.wide_ramp_to,
                Duration::ZERO,
                second,
            ),
            (
                "unsplit-target",
                self.target,
                Duration::from_millis(1),
                second,
            ),
            (
                "unsplit-max-age",
                self.max_age,
                Duration::from_micros(100),
                hour,
            ),
            (
                "unsplit-transit",
                self.transit,
                Duration::ZERO,
                Duration::from_millis(50),
            ),
        ];
        for (field, time, least, most) in limits {
            let expected = format!("{least} to {most}");
            range(
                field,
                (least..=most).contains(&time),
                time.to_string(),
                expected,
            )?;
        }
        for (field, from, to) in [
            ("unsplit-ramp-from", self.ramp_from, self.ramp_to),
            (
                "unsplit-wide-ramp-from",
                self.wide_ramp_from,
                self.wide_ramp_to,
            ),
        ] {
            let expected = format!("less than its ramp's end ({to})");
            range(field, from < to, from.to_string(), expected)?;
        }
        Ok(())
    }
}
