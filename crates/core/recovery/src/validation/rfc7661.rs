//! RFC 7661: a window is kept while it is not used, but it counts for less.
//!
//! | section | here |
//! | --- | --- |
//! | 4.1: pipeACK is undefined at first | [`PipeAck::value`] |
//! | 4.2: pipeACK is the most that was acknowledged in a round trip of the last max(3 RTT, 1 s) | [`PipeAck`] |
//! | 4.3: non-validated while pipeACK < cwnd / 2 | [`is_validated`] |
//! | 4.4.1: a loss: cwnd from max(pipeACK, LossFlightSize), at the end less what was sent again | [`loss_window`], [`window_after_recovery`] |
//! | 4.4.3: after five minutes ssthresh = max(ssthresh, 3/4 cwnd), cwnd = max(cwnd / 2, IW) | [`Rfc7661::expire`] |
//!
//! *Deviations*
//! - Round trips are those of packets (all that was in flight at its beginning is acknowledged), and what is acknowledged
//!   selectively counts: DCCP acknowledges nothing cumulatively.
//! - 4.4.1 halves; here the controller reduces by its factor what 4.4.1 halves. The end of the recovery takes off the same
//!   part as there.
//! - An episode that proves spurious gives back what the controller reduced, not what 4.4.1 took.
//! - Each further five minutes halve once more, also those of one idle time. An idle time counts from what was sent last even
//!   if pipeACK is undefined.
//! - 4.4.2 (bursts in the non-validated phase) is left to pacing: a controller that does not pace sends the burst that its
//!   window allows.
//! - 4.4 permits a validated sender that does not fill its window to let it grow; here it must fill it.

use super::{Acked, EpisodeEnd, WindowState};
use cc::ValidatedWindow;
use units::{Bytes, Duration, Instant};

/// 4.4.3: how long a window may be kept that is not validated.
pub const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// 4.2: the pipeACK Sampling Period is three round trips, at least a second.
const PERIOD_ROUNDS: u64 = 3;
const MIN_PERIOD: Duration = Duration::from_secs(1);
/// Parts of that period of which the maximum is kept each.
const PARTS: usize = 4;
/// Halvings after which nothing is left of any window.
const MAX_HALVINGS: u64 = 64;

/// The most that was acknowledged in a round trip, lately.
#[derive(Clone, Copy, Debug, Default)]
struct PipeAck {
    /// The beginnings of the parts with the maximum of each, the latest first; none before the first sample.
    parts: [Option<(Instant, Bytes)>; PARTS],
    /// Acknowledged in the present round trip; none until one has begun.
    round: Option<Bytes>,
    srtt: Duration,
}

impl PipeAck {
    fn period(&self) -> Duration {
        (self.srtt * PERIOD_ROUNDS).max(MIN_PERIOD)
    }

    fn on_ack(&mut self, now: Instant, acked: &Acked) {
        self.srtt = acked.srtt;
        if let Some(round) = &mut self.round {
            *round += acked.bytes;
        }
        if acked.is_round_start
            && let Some(sample) = self.round.replace(Bytes::ZERO)
        {
            self.push(now, sample);
        }
    }

    fn push(&mut self, now: Instant, sample: Bytes) {
        let length = self.period() / PARTS as u64;
        if let Some((began, max)) = &mut self.parts[0]
            && now.saturating_since(*began) < length
        {
            *max = sample.max(*max);
        } else {
            self.parts.rotate_right(1);
            self.parts[0] = Some((now, sample));
        }
    }

    /// None while it is undefined; zero after a period without a sample.
    fn value(&self, now: Instant) -> Option<Bytes> {
        self.parts[0]?;
        let period = self.period();
        let fresh = self.parts.iter().flatten();
        let fresh = fresh.filter(|(began, _)| now.saturating_since(*began) < period);
        Some(fresh.map(|&(_, max)| max).max().unwrap_or(Bytes::ZERO))
    }
}

/// 4.3.
fn is_validated(pipe_ack: Option<Bytes>, cwnd: Bytes) -> bool {
    pipe_ack.is_none_or(|pipe_ack| pipe_ack * 2 >= cwnd)
}

/// 4.4.1: what a loss in the non-validated phase is reduced from.
fn loss_window(pipe_ack: Option<Bytes>, flight: Bytes) -> Bytes {
    pipe_ack.unwrap_or(Bytes::ZERO).max(flight)
}

/// 4.4.1: (basis - R) / 2 of a window that was basis / 2 as the recovery began.
fn window_after_recovery(cwnd: Bytes, basis: Bytes, retransmitted: Bytes) -> Bytes {
    let left = basis.saturating_sub(retransmitted).get();
    let part = u128::from(cwnd.get()) * u128::from(left) / u128::from(basis.get().max(1));
    Bytes::new(u64::try_from(part).unwrap_or(u64::MAX))
}

/// What is known of the use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rfc7661 {
    pipe_ack: PipeAck,
    /// When the window was last found validated, or adjusted since.
    validated_at: Instant,
    /// max(pipeACK, LossFlightSize) of an episode that began in the non-validated phase.
    basis: Option<Bytes>,
}

impl Rfc7661 {
    pub(super) fn on_resume(
        &mut self,
        now: Instant,
        idle: Duration,
        restart_window: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        if self.pipe_ack.value(now).is_none() {
            self.validated_at = self.validated_at.max(now - idle);
            return self.expire(now, restart_window, window);
        }
        self.on_sent(now, restart_window, window)
    }

    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        restart_window: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        if is_validated(self.pipe_ack.value(now), window.cwnd) {
            self.validated_at = now;
            return None;
        }
        self.expire(now, restart_window, window)
    }

    /// 4.4.3: once for each period that the window has not been validated.
    fn expire(
        &mut self,
        now: Instant,
        restart_window: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        let elapsed = now.saturating_since(self.validated_at);
        let periods = elapsed.as_nanos() / NON_VALIDATED_PERIOD.as_nanos();
        if periods == 0 {
            return None;
        }
        self.validated_at += NON_VALIDATED_PERIOD * periods;
        let min = restart_window.min(window.cwnd);
        let mut limited = *window;
        for _ in 0..periods.min(MAX_HALVINGS) {
            limited.ssthresh = Some(limited.kept_ssthresh());
            limited.cwnd = (limited.cwnd / 2).max(min);
        }
        limited.changed(window)
    }

    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        acked: &Acked,
        restart_window: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        if acked.is_recovering {
            // 4.2: no samples are taken in a recovery
            self.pipe_ack.round = None;
            self.validated_at = now;
            return None;
        }
        self.pipe_ack.on_ack(now, acked);
        self.on_sent(now, restart_window, window)
    }

    pub(super) fn on_congestion(
        &mut self,
        now: Instant,
        flight: Bytes,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        let pipe_ack = self.pipe_ack.value(now);
        self.basis = None;
        if is_validated(pipe_ack, window.cwnd) {
            return None;
        }
        let basis = loss_window(pipe_ack, flight);
        let limited = WindowState {
            cwnd: basis.min(window.cwnd),
            ..*window
        };
        let limited = limited.changed(window);
        self.basis = limited.map(|_| basis);
        limited
    }

    pub(super) fn on_recovery_end(
        &mut self,
        now: Instant,
        end: &EpisodeEnd,
        window: &WindowState,
    ) -> Option<ValidatedWindow> {
        self.pipe_ack = PipeAck::default();
        self.validated_at = now;
        let basis = self.basis.take()?;
        if end.is_spurious || !end.is_fast {
            return None;
        }
        let cwnd = window_after_recovery(window.cwnd, basis, end.retransmitted);
        let limited = WindowState {
            cwnd,
            ssthresh: Some(cwnd),
        };
        limited.changed(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESTART: Bytes = Bytes::new(10_000);
    const RTT: Duration = Duration::from_millis(100);

    fn kb(n: u64) -> Bytes {
        Bytes::new(n * 1_000)
    }
    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }
    fn round(bytes: Bytes) -> Acked {
        Acked {
            bytes,
            is_round_start: true,
            is_recovering: false,
            srtt: RTT,
        }
    }
    fn window(cwnd: u64) -> WindowState {
        WindowState {
            cwnd: kb(cwnd),
            ssthresh: Some(kb(40)),
        }
    }
    /// One that acknowledged so much in each of some round trips.
    fn used(kilobytes: u64) -> (Rfc7661, u64) {
        let mut state = Rfc7661::default();
        let mut ms = 0;
        for _ in 0..20 {
            ms += 100;
            let limit = state.on_ack(at(ms), &round(kb(kilobytes)), RESTART, &window(100));
            assert_eq!(limit, None);
        }
        (state, ms)
    }

    #[test]
    fn rfc_7661_4_1_and_4_2_undefined_at_first_then_the_most_of_the_period_then_nothing() {
        let mut pipe = PipeAck::default();
        pipe.on_ack(at(0), &round(kb(99)));
        assert_eq!(pipe.value(at(0)), None, "no round trip had begun");
        for (ms, kilobytes) in [(100, 50), (200, 5), (300, 7)] {
            let half = Acked {
                is_round_start: false,
                ..round(kb(kilobytes / 2))
            };
            pipe.on_ack(at(ms - 1), &half);
            pipe.on_ack(at(ms), &round(kb(kilobytes) - half.bytes));
        }
        assert_eq!(pipe.value(at(300)), Some(kb(50)));
        pipe.on_ack(at(400), &round(kb(6)));
        // a quarter of a second has its maximum from its beginning on
        assert_eq!(pipe.value(at(1_099)), Some(kb(50)));
        assert_eq!(pipe.value(at(1_100)), Some(kb(6)));
        assert_eq!(pipe.value(at(1_400)), Some(Bytes::ZERO));
        let slow = Acked {
            srtt: Duration::from_secs(2),
            ..round(kb(1))
        };
        pipe.on_ack(at(1_500), &slow);
        assert_eq!(pipe.value(at(6_000)), Some(kb(50)), "three round trips");
    }

    #[test]
    fn rfc_7661_4_3_validated_from_half_of_the_window_on() {
        assert!(is_validated(None, kb(100)));
        assert!(is_validated(Some(kb(50)), kb(100)));
        assert!(!is_validated(Some(Bytes::new(49_999)), kb(100)));
    }

    /// Each five minutes: ssthresh = max(40, 75), cwnd = 50; then max(75, 37.5) and 25, then 12.5, of which the 10 in use are
    /// more than half.
    #[test]
    fn rfc_7661_4_4_3_after_five_minutes_the_window_is_halved() {
        let (mut state, ms) = used(20);
        let mut now = window(100);
        let mut limits = Vec::new();
        for second in 1..=1_250 {
            let time = at(ms + second * 1_000);
            state.pipe_ack.push(time, kb(10));
            if let Some(limit) = state.on_sent(time, RESTART, &now) {
                limits.push((limit.cwnd.get(), limit.ssthresh.get()));
                now.cwnd = limit.cwnd;
                now.ssthresh = Some(limit.ssthresh);
            }
        }
        assert_eq!(
            limits,
            [(50_000, 75_000), (25_000, 75_000), (12_500, 75_000)]
        );
    }

    #[test]
    fn rfc_7661_an_idle_window_is_kept_for_five_minutes() {
        let (state, ms) = used(60);
        let idle = |mut state: Rfc7661, seconds: u64| {
            let time = Duration::from_secs(seconds);
            state.on_resume(at(ms) + time, time, RESTART, &window(100))
        };
        assert_eq!(idle(state, 299), None);
        let limit = idle(state, 300).expect("a limit");
        assert_eq!((limit.cwnd, limit.ssthresh), (kb(50), kb(75)));
        let hour = idle(state, 3_600).expect("a limit");
        assert_eq!((hour.cwnd, hour.ssthresh), (RESTART, kb(75)));
        // pipeACK is undefined right after a recovery
        let end = EpisodeEnd {
            retransmitted: Bytes::ZERO,
            is_fast: true,
            is_spurious: false,
        };
        let mut state = Rfc7661::default();
        state.on_recovery_end(at(ms), &end, &window(100));
        assert_eq!(idle(state, 299), None);
        assert_eq!(idle(state, 300).map(|limit| limit.cwnd), Some(kb(50)));
    }

    /// pipeACK = 20, FlightSize = 30 of 100: cwnd = max(20, 30) / 2 = 15, at the end (30 - 4) / 2 = 13.
    #[test]
    fn rfc_7661_4_4_1_a_loss_is_answered_by_what_was_used() {
        let (mut state, ms) = used(20);
        let limit = state.on_congestion(at(ms), kb(30), &window(100));
        let expected = ValidatedWindow {
            cwnd: kb(30),
            ssthresh: kb(40),
        };
        assert_eq!(limit, Some(expected));
        let halved = WindowState {
            cwnd: kb(15),
            ssthresh: Some(kb(15)),
        };
        let end = EpisodeEnd {
            retransmitted: kb(4),
            is_fast: true,
            is_spurious: false,
        };
        let before = state;
        let limit = state.on_recovery_end(at(ms + 100), &end, &halved);
        let expected = ValidatedWindow {
            cwnd: kb(13),
            ssthresh: kb(13),
        };
        assert_eq!(limit, Some(expected));
        assert_eq!(state.pipe_ack.value(at(ms + 100)), None, "undefined again");
        for other_end in [
            EpisodeEnd {
                is_spurious: true,
                ..end
            },
            EpisodeEnd {
                is_fast: false,
                ..end
            },
        ] {
            let mut other = before;
            let limit = other.on_recovery_end(at(ms + 100), &other_end, &halved);
            assert_eq!(limit, None);
        }
    }

    #[test]
    fn rfc_7661_4_4_1_a_loss_in_the_validated_phase_is_the_controllers() {
        let (mut state, ms) = used(60);
        assert_eq!(state.on_congestion(at(ms), kb(30), &window(100)), None);
        let (mut state, ms) = used(20);
        assert_eq!(
            state.on_congestion(at(ms), kb(100), &window(100)),
            None,
            "all of it was in flight"
        );
    }

    #[test]
    fn rfc_7661_4_2_a_recovery_gives_no_samples() {
        let (mut state, ms) = used(20);
        let recovering = Acked {
            is_recovering: true,
            ..round(kb(90))
        };
        let _ = state.on_ack(at(ms + 100), &recovering, RESTART, &window(100));
        assert_eq!(state.pipe_ack.value(at(ms + 100)), Some(kb(20)));
    }
}
