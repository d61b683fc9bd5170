//! Congestion window validation: what becomes of a cwnd that a sender does not use.
//!
//! A window shows how much the path carried when it was last filled. A sender that is idle, or that the application limits,
//! learns nothing new, and may later send a burst for which there is no room any more.
//!
//! | [`Validation`] | idle for longer than a timeout | application-limited | a loss |
//! | --- | --- | --- | --- |
//! | [`Off`](Validation::Off) | RFC 5681 4.1: the restart window | kept | of cwnd |
//! | [`Rfc2861`](Validation::Rfc2861) | halved for each timeout | each timeout half way to what was used | of cwnd |
//! | [`Rfc7661`](Validation::Rfc7661) | kept five minutes, then halved | the same | of what was used |
//!
//! [`WindowValidation`] is handed what the transport has done, and answers with a [`ValidatedWindow`] for the controller's
//! [`on_window_validation`](cc::CongestionControl::on_window_validation). Its answers never raise cwnd, nor lower
//! ssthresh but at the end of an episode. Controllers whose rate does not follow from cwnd (BBR) ignore them, as Linux
//! exempts those with `cong_control`. That a window grows only while it is used is [`crate::usage`]'s, in each mode.

mod rfc2861;
mod rfc7661;
#[cfg(test)]
mod tests;

pub use rfc7661::NON_VALIDATED_PERIOD;

use cc::ValidatedWindow;
use core::fmt;
use core::str::FromStr;
use rfc2861::Rfc2861;
use rfc7661::Rfc7661;
use units::{Bytes, Duration, Instant};

/// Which rules validate a congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// RFC 5681 4.1 alone: a sender that was idle for longer than a timeout restarts.
    #[default]
    Off,
    /// RFC 2861 as in Linux (`tcp_cwnd_restart`, `tcp_cwnd_application_limited`).
    Rfc2861,
    /// RFC 7661.
    Rfc7661,
}

impl Validation {
    /// All of them, in the order of [`Self::NAMES`].
    pub const ALL: [Self; 3] = [Self::Off, Self::Rfc2861, Self::Rfc7661];
    /// The names that scenario files and configurations use.
    pub const NAMES: &'static [&'static str] = &["off", "rfc2861", "rfc7661"];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is none of [`Validation::NAMES`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no window validation; known are {known}", known = Validation::NAMES.join(", "))]
pub struct UnknownValidation(pub String);

impl FromStr for Validation {
    type Err = UnknownValidation;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| UnknownValidation(name.to_owned()))
    }
}

/// How windows are validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidationConfig {
    /// By which rules.
    pub validation: Validation,
    /// What remains of an unused window at least: that of a new connection (RFC 5681 4.1, RW).
    pub restart_window: Bytes,
    /// With [`Validation::Off`]: an idle sender restarts after [`NON_VALIDATED_PERIOD`] instead of a timeout.
    pub keeps_idle_window: bool,
}

/// The controller's window as the transport calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowState {
    /// cwnd.
    pub cwnd: Bytes,
    /// Slow-start threshold; none if the controller has none.
    pub ssthresh: Option<Bytes>,
}

impl WindowState {
    /// What a controller has.
    pub fn of(cc: &dyn cc::CongestionControl) -> Self {
        Self {
            cwnd: cc.cwnd(),
            ssthresh: cc.ssthresh(),
        }
    }

    fn ssthresh(&self) -> Bytes {
        self.ssthresh.unwrap_or(Bytes::MAX)
    }

    /// RFC 2861 3 and RFC 7661 4.4.3: ssthresh = max(ssthresh, 3/4 cwnd), so that the sender comes back faster than by
    /// congestion avoidance.
    fn kept_ssthresh(&self) -> Bytes {
        self.ssthresh().max(self.cwnd * 3 / 4)
    }

    /// This window, if it differs from that which there is.
    fn changed(self, before: &Self) -> Option<ValidatedWindow> {
        let [limited, present] = [self, *before].map(|window| ValidatedWindow {
            cwnd: window.cwnd,
            ssthresh: window.ssthresh(),
        });
        (limited != present).then_some(limited)
    }
}

/// What a sender does that has new data with nothing outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// It goes on with the window that it has.
    Keep,
    /// It restarts ([`on_restart_after_idle`](cc::CongestionControl::on_restart_after_idle)).
    Restart,
    /// Its window is limited.
    Limit(ValidatedWindow),
}

/// What an acknowledgement showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Payload newly acknowledged, cumulatively or selectively.
    pub bytes: Bytes,
    /// It began a new round trip.
    pub is_round_start: bool,
    /// An episode is under way.
    pub is_recovering: bool,
    /// Smoothed round-trip time.
    pub srtt: Duration,
}

/// What has been sent once all that may leave has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentState {
    /// Outstanding.
    pub used: Bytes,
    /// cwnd limits the sender ([`crate::WindowUsage::is_cwnd_limited`]).
    pub is_cwnd_limited: bool,
    /// Nothing is being repaired, and the application is not held up by a send buffer that is full.
    pub is_open: bool,
    /// The retransmission timeout.
    pub rto: Duration,
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpisodeEnd {
    /// Payload sent again in it.
    pub retransmitted: Bytes,
    /// It was a fast recovery.
    pub is_fast: bool,
    /// Nothing had been lost.
    pub is_spurious: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Off,
    Rfc2861(Rfc2861),
    Rfc7661(Rfc7661),
}

/// Validates one sender's window. Times must not decrease.
#[derive(Clone, Copy, Debug)]
pub struct WindowValidation {
    restart_window: Bytes,
    keeps_idle_window: bool,
    state: State,
}

impl WindowValidation {
    /// Of a sender that begins.
    pub fn new(config: ValidationConfig) -> Self {
        Self {
            restart_window: config.restart_window,
            keeps_idle_window: config.keeps_idle_window,
            state: match config.validation {
                Validation::Off => State::Off,
                Validation::Rfc2861 => State::Rfc2861(Rfc2861::default()),
                Validation::Rfc7661 => State::Rfc7661(Rfc7661::default()),
            },
        }
    }

    /// The sender, which has sent before, is about to send new data with nothing outstanding; it sent last `idle` ago.
    pub fn on_resume(
        &mut self,
        now: Instant,
        idle: Duration,
        rto: Duration,
        window: &WindowState,
    ) -> Resume {
        let limited = match &mut self.state {
            State::Off => {
                let max = if self.keeps_idle_window {
                    NON_VALIDATED_PERIOD
                } else {
                    rto
                };
                return if idle > max {
                    Resume::Restart
                } else {
                    Resume::Keep
                };
            }
            State::Rfc2861(state) => state.on_resume(now, idle, rto, self.restart_window, window),
            State::Rfc7661(state) => state.on_resume(now, idle, self.restart_window, window),
        };
        limited.map_or(Resume::Keep, Resume::Limit)
    }

    /// All that may leave now has left, and something has, or cwnd leaves no room.
    pub fn on_sent(
        &mut self,
        now: Instant,
        sent: &SentState,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        match &mut self.state {
            State::Off => None,
            State::Rfc2861(state) => state.on_sent(now, sent, self.restart_window, window),
            State::Rfc7661(state) => state.on_sent(now, self.restart_window, window),
        }
    }

    /// An acknowledgement arrived; after the controller received it.
    pub fn on_ack(
        &mut self,
        now: Instant,
        acked: &Acked,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        match &mut self.state {
            State::Off | State::Rfc2861(_) => None,
            State::Rfc7661(state) => state.on_ack(now, acked, self.restart_window, window),
        }
    }

    /// An episode begins, before the controller reduces its window; `flight` is what was outstanding as the loss or mark
    /// was found, the lost included.
    pub fn on_congestion(
        &mut self,
        now: Instant,
        flight: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        match &mut self.state {
            State::Off | State::Rfc2861(_) => None,
            State::Rfc7661(state) => state.on_congestion(now, flight, window),
        }
    }

    /// An episode ended, after the controller was informed.
    pub fn on_recovery_end(
        &mut self,
        now: Instant,
        end: &EpisodeEnd,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        match &mut self.state {
            State::Off => None,
            State::Rfc2861(state) => {
                state.on_recovery_end(now);
                None
            }
            State::Rfc7661(state) => state.on_recovery_end(now, end, window),
        }
    }
}
