//! All values of a configuration by their keys: the scenario's `[pep]`, the daemon's file and the lab's, which is
//! a daemon's, are read and written by this list.

use crate::{EdgeConfig, ShownWindow, UnsentBound};
use rapid::{AllocatorConfig, Part, Reading};
use units::{Bytes, Duration};

/// A value with a key of its own.
#[derive(Debug)]
pub enum Setting<'a> {
    /// A plain number.
    Number(&'a mut f64),
    /// A time.
    Duration(&'a mut Duration),
    /// A size.
    Bytes(&'a mut Bytes),
    /// A whole number.
    Count(&'a mut u64),
    /// A data radio bearer, 0 to [`rnis::MAX_BEARER`].
    Bearer(&'a mut u8),
    /// Yes or no.
    Flag(&'a mut bool),
    /// Parts of mode `default` to leave out.
    Parts(&'a mut Vec<Part>),
    /// Readings of mode `paper` to take.
    Readings(&'a mut Vec<Reading>),
}

impl EdgeConfig {
    /// Every value but the mode, by its key. `report-max-age` comes before `plain-after`, whose least it is.
    pub fn settings(&mut self) -> [(&'static str, Setting<'_>); 24] {
        use Setting as S;
        // a field that is added has to be listed
        let Self {
            allocator,
            plain_after,
            adopt_after,
            young_window,
            check_interval,
            shown,
            unsent,
            pacing_step,
        } = self;
        let AllocatorConfig {
            mode: _,
            slow_threshold,
            arrival_alpha,
            initial_ran_window,
            report_max_age,
            target_queue,
            utilisation_goal,
            delay_goal,
            bearer,
            without,
            readings,
        } = allocator;
        let ShownWindow {
            min_window,
            closed_windows,
            reopen_factor,
            max_closed,
            window_step,
        } = shown;
        let UnsentBound {
            unsent_share,
            unsent_min,
            unsent_max,
            unsent_step,
        } = unsent;
        [
            ("slow-threshold", S::Number(slow_threshold)),
            ("arrival-alpha", S::Number(arrival_alpha)),
            ("initial-ran-window", S::Bytes(initial_ran_window)),
            ("report-max-age", S::Duration(report_max_age)),
            ("plain-after", S::Duration(plain_after)),
            ("adopt-after", S::Duration(adopt_after)),
            ("young-window", S::Bytes(young_window)),
            ("min-window", S::Count(min_window)),
            ("closed-windows", S::Flag(closed_windows)),
            ("reopen-factor", S::Count(reopen_factor)),
            ("max-closed", S::Duration(max_closed)),
            ("window-step", S::Number(window_step)),
            ("unsent-share", S::Number(unsent_share)),
            ("unsent-min", S::Bytes(unsent_min)),
            ("unsent-max", S::Bytes(unsent_max)),
            ("unsent-step", S::Count(unsent_step)),
            ("pacing-step", S::Number(pacing_step)),
            ("check-interval", S::Duration(check_interval)),
            ("target-queue", S::Duration(target_queue)),
            ("utilisation-goal", S::Number(utilisation_goal)),
            ("delay-goal", S::Duration(delay_goal)),
            ("bearer", S::Bearer(bearer)),
            ("without", S::Parts(without)),
            ("readings", S::Readings(readings)),
        ]
    }
}

impl Setting<'_> {
    /// Changes the value to another that is allowed where all others have their defaults: for tests of what reads and
    /// writes settings.
    #[doc(hidden)]
    pub fn alter(&mut self, key: &str) {
        match self {
            // a part of 1 throughout
            Self::Number(value) => **value = **value * 0.5 + 0.01,
            Self::Duration(value) => **value = value.mul_f64(1.25) + Duration::from_micros(10),
            Self::Bytes(value) => **value += Bytes::new(if key == "unsent-max" { 10 } else { 1 }),
            Self::Count(value) => **value += 1,
            Self::Bearer(value) => **value += 1,
            Self::Flag(value) => **value = !**value,
            Self::Parts(parts) => parts.extend([Part::Turns, Part::Variation]),
            Self::Readings(readings) => readings.push(Reading::AllRates),
        }
    }

    /// As a daemon's file has it (TOML), exact.
    pub fn toml(&self) -> String {
        let list = |names: Vec<&str>| format!("{names:?}");
        match self {
            Self::Number(value) => format!("{value:?}"),
            Self::Duration(value) => format!("\"{} ns\"", value.as_nanos()),
            Self::Bytes(value) => format!("\"{} B\"", value.get()),
            Self::Count(value) => value.to_string(),
            Self::Bearer(value) => value.to_string(),
            Self::Flag(value) => value.to_string(),
            Self::Parts(parts) => list(parts.iter().map(|part| part.name()).collect()),
            Self::Readings(readings) => list(readings.iter().map(|of| of.name()).collect()),
        }
    }
}
