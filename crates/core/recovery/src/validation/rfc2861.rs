//! RFC 2861 as Linux 6 has it: a window decays while it is not used.
//!
//! | Linux | here |
//! | --- | --- |
//! | `tcp_cwnd_restart`: after an idle time cwnd is halved for each timeout of it, down to the restart window | [`idle_window`] |
//! | `tcp_cwnd_application_limited`: after a timeout without a full window cwnd = (cwnd + used) / 2 | [`application_limited_window`] |
//! | `tcp_cwnd_validate`: what was used, and since when | [`Rfc2861::on_sent`] |
//! | `tcp_current_ssthresh`: max(ssthresh, 3/4 cwnd) | [`WindowState::kept_ssthresh`] |
//!
//! *Deviations*
//! - Windows are in bytes and not in segments: a halving is not rounded to a segment.
//! - Linux's state Disorder (an acknowledgement has holes, nothing is lost yet) counts as open here.

use super::{SentState, WindowState};
use cc::ValidatedWindow;
use units::{Bytes, Duration, Instant};

/// Halvings after which nothing is left of any window.
const MAX_HALVINGS: u64 = 64;

/// How much of the window was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rfc2861 {
    /// The most outstanding since `since` (Linux `snd_cwnd_used`).
    used: Bytes,
    /// When cwnd was last full, or last changed by these rules (`snd_cwnd_stamp`); none before anything was sent.
    since: Option<Instant>,
}

/// RFC 2861 3.1: cwnd halved for each timeout of an idle time, the last of them not over, but not below the restart window.
fn idle_window(cwnd: Bytes, idle: Duration, rto: Duration, restart_window: Bytes) -> Bytes {
    let rto = rto.as_nanos().max(1);
    // k rto < idle
    let halvings = (idle.as_nanos().saturating_sub(1) / rto).min(MAX_HALVINGS);
    let min = restart_window.min(cwnd);
    (0..halvings)
        .fold(cwnd, |cwnd, _| if cwnd > min { cwnd / 2 } else { cwnd })
        .max(min)
}

/// RFC 2861 3.2: half way from cwnd to what was used of it; that counts for the restart window at least.
fn application_limited_window(cwnd: Bytes, used: Bytes, restart_window: Bytes) -> Bytes {
    let used = used.max(restart_window);
    if used < cwnd { (cwnd + used) / 2 } else { cwnd }
}

impl Rfc2861 {
    pub(super) fn on_resume(
        &mut self,
        now: Instant,
        idle: Duration,
        rto: Duration,
        restart_window: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        if idle <= rto {
            return None;
        }
        (self.used, self.since) = (Bytes::ZERO, Some(now));
        let limited = WindowState {
            cwnd: idle_window(window.cwnd, idle, rto, restart_window),
            ssthresh: Some(window.kept_ssthresh()),
        };
        limited.changed(window)
    }

    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        sent: &SentState,
        restart_window: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        if sent.is_cwnd_limited {
            (self.used, self.since) = (Bytes::ZERO, Some(now));
            return None;
        }
        self.used = self.used.max(sent.used);
        let since = *self.since.get_or_insert(now);
        if now.saturating_since(since) < sent.rto {
            return None;
        }
        self.since = Some(now);
        if !sent.is_open {
            return None;
        }
        let used = core::mem::take(&mut self.used);
        let cwnd = application_limited_window(window.cwnd, used, restart_window);
        (cwnd < window.cwnd).then(|| ValidatedWindow {
            cwnd,
            ssthresh: window.kept_ssthresh(),
        })
    }

    pub(super) fn on_recovery_end(&mut self, now: Instant) {
        self.since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESTART: Bytes = Bytes::new(10_000);

    fn kb(n: u64) -> Bytes {
        Bytes::new(n * 1_000)
    }
    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }
    fn at(n: u64) -> Instant {
        Instant::ZERO + ms(n)
    }
    fn window(cwnd: u64, ssthresh: u64) -> WindowState {
        WindowState {
            cwnd: kb(cwnd),
            ssthresh: Some(kb(ssthresh)),
        }
    }
    fn sent(used: u64) -> SentState {
        SentState {
            used: kb(used),
            is_cwnd_limited: false,
            is_open: true,
            rto: ms(200),
        }
    }

    /// A timeout of 200 ms, a window of 100 segments: the halvings of `tcp_cwnd_restart` by hand, which takes a timeout off
    /// the idle time as long as something remains.
    #[test]
    fn rfc_2861_3_1_the_window_is_halved_for_each_timeout_of_an_idle_time() {
        let of = |idle| idle_window(kb(100), ms(idle), ms(200), RESTART).get();
        assert_eq!(of(200), 100_000);
        assert_eq!(of(201), 50_000);
        assert_eq!(of(400), 50_000);
        assert_eq!(of(401), 25_000);
        assert_eq!(of(800), 12_500);
        assert_eq!(of(801), 10_000, "the restart window");
        assert_eq!(of(3_600_000), 10_000);
        assert_eq!(idle_window(kb(4), ms(900), ms(200), RESTART), kb(4));
    }

    #[test]
    fn rfc_2861_3_ssthresh_keeps_three_quarters_of_the_window() {
        let mut state = Rfc2861::default();
        let limit = |state: &mut Rfc2861, ssthresh| {
            let window = window(100, ssthresh);
            state.on_resume(at(500), ms(300), ms(200), RESTART, &window)
        };
        assert_eq!(limit(&mut state, 40).map(|l| l.ssthresh), Some(kb(75)));
        assert_eq!(limit(&mut state, 90).map(|l| l.ssthresh), Some(kb(90)));
        let none = state.on_resume(at(900), ms(200), ms(200), RESTART, &window(100, 40));
        assert_eq!(none, None, "no longer than a timeout");
    }

    /// cwnd = (cwnd + used) / 2 each timeout: 100, 60, 40, 30 segments with 20 in use.
    #[test]
    fn rfc_2861_3_2_a_window_that_is_not_filled_decays_to_what_is_used() {
        let mut state = Rfc2861::default();
        let mut now = window(100, 50);
        let mut windows = Vec::new();
        for time in (0..=600).step_by(50) {
            if let Some(limit) = state.on_sent(at(time), &sent(20), RESTART, &now) {
                windows.push((time, limit.cwnd.get(), limit.ssthresh.get()));
                now = window(limit.cwnd.get() / 1_000, limit.ssthresh.get() / 1_000);
            }
        }
        assert_eq!(
            windows,
            [
                (200, 60_000, 75_000),
                (400, 40_000, 75_000),
                (600, 30_000, 75_000)
            ]
        );
        assert_eq!(
            application_limited_window(kb(14), kb(2), RESTART),
            kb(12),
            "the restart window counts as used"
        );
    }

    #[test]
    fn linux_a_full_window_begins_the_time_anew_and_a_repair_lets_it_pass() {
        let mut state = Rfc2861::default();
        let full = SentState {
            is_cwnd_limited: true,
            ..sent(100)
        };
        let window = window(100, 50);
        assert_eq!(state.on_sent(at(0), &sent(20), RESTART, &window), None);
        assert_eq!(state.on_sent(at(150), &full, RESTART, &window), None);
        assert_eq!(state.on_sent(at(300), &sent(20), RESTART, &window), None);
        let repairing = SentState {
            is_open: false,
            ..sent(20)
        };
        assert_eq!(state.on_sent(at(350), &repairing, RESTART, &window), None);
        assert_eq!(state.on_sent(at(500), &sent(20), RESTART, &window), None);
        state.on_recovery_end(at(520));
        assert_eq!(state.on_sent(at(700), &sent(20), RESTART, &window), None);
        let limit = state.on_sent(at(720), &sent(20), RESTART, &window);
        assert_eq!(limit.map(|limit| limit.cwnd), Some(kb(60)));
    }
}
