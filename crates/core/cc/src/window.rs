//! The window that loss-based controllers share: slow start, reductions, restart after idle.
//!
//! Source: RFC 5681 3.1 (slow start, timeout), 4.1 (idle), and for the pacing rate Linux
//! `tcp_update_pacing_rate`. Windows are in bytes.
//!
//! *Deviations*
//! - RFC 5681 equation (4) halves FlightSize, Linux and this crate reduce cwnd. As cwnd grows only
//!   while it limits the sender, the two differ only for a sender that other causes have limited
//!   since; RFC 9438 4.6 describes the choice.
//! - Linux halves cwnd once for each retransmission timeout of an idle period; here the restart
//!   window is set at once, as RFC 5681 4.1 states. ssthresh keeps three quarters of cwnd, as in Linux
//!   (RFC 2861).

use crate::{AckSample, BuildConfig, PacketStamp, ValidatedWindow};
use units::{BitRate, Bytes, Duration, Instant};

/// Least ssthresh in segments (RFC 5681 equation 4).
const MIN_SSTHRESH_SEGMENTS: u64 = 2;

/// Pacing rate as a multiple of cwnd / srtt in slow start and outside (Linux
/// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`), in percent.
const PACING_PERCENT: (u64, u64) = (200, 120);

/// cwnd and ssthresh, with what RFC 5681 does to them.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Most payload of a segment; > 0.
    mss: Bytes,
    /// Window of a new connection; >= mss.
    initial_window: Bytes,
    /// Most payload in flight; >= mss.
    cwnd: Bytes,
    /// Above it slow start ends; >= 2 mss, [`Bytes::MAX`] before the first congestion event.
    ssthresh: Bytes,
    /// A timeout's recovery is under way: unlike in fast recovery, cwnd grows.
    is_after_timeout: bool,
    /// If packets are to be paced, the rate, known from the first acknowledgement on.
    pacing: Option<Option<BitRate>>,
}

impl Window {
    pub(crate) fn new(config: BuildConfig, is_paced: bool) -> Self {
        let config = config.bounded();
        Self {
            mss: config.mss,
            initial_window: config.initial_window,
            cwnd: config.initial_window,
            ssthresh: Bytes::MAX,
            is_after_timeout: false,
            pacing: is_paced.then_some(None),
        }
    }

    pub(crate) fn mss(&self) -> Bytes {
        self.mss
    }
    pub(crate) fn cwnd(&self) -> Bytes {
        self.cwnd
    }
    pub(crate) fn ssthresh(&self) -> Bytes {
        self.ssthresh
    }
    pub(crate) fn is_paced(&self) -> bool {
        self.pacing.is_some()
    }
    pub(crate) fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing.flatten()
    }
    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// True before the first congestion event and the first exit from slow start.
    pub(crate) fn is_initial_slow_start(&self) -> bool {
        self.ssthresh == Bytes::MAX
    }
    pub(crate) fn is_after_timeout(&self) -> bool {
        self.is_after_timeout
    }
    /// True if this acknowledgement finds the window in fast recovery, where it stays as it is.
    pub(crate) fn is_held(&self, ack: &AckSample) -> bool {
        ack.is_recovering && !self.is_after_timeout
    }

    /// Opens the window; RFC 5681 equation (2) with the caller's count of `acked` bytes. Returns
    /// what was not used because ssthresh was reached.
    pub(crate) fn slow_start(&mut self, acked: Bytes) -> Bytes {
        let growth = acked.min(self.ssthresh.saturating_sub(self.cwnd));
        self.cwnd += growth;
        acked.saturating_sub(growth)
    }

    pub(crate) fn grow(&mut self, by: Bytes) {
        self.cwnd += by;
    }

    /// Ends slow start at the present window.
    pub(crate) fn leave_slow_start(&mut self) {
        self.ssthresh = self.cwnd.max(self.mss * MIN_SSTHRESH_SEGMENTS);
    }

    /// RFC 5681 equation (4) and RFC 6582 3.2 step 3: after a loss found by acknowledgements or a
    /// congestion mark, cwnd goes to ssthresh. How fast is the transport's matter (PRR).
    pub(crate) fn reduce_to(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.max(self.mss * MIN_SSTHRESH_SEGMENTS);
        self.cwnd = self.ssthresh;
        self.is_after_timeout = false;
    }

    /// Takes a new ssthresh, to which cwnd falls if it is above; below it slow start goes on.
    pub(crate) fn limit_to(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.max(self.mss * MIN_SSTHRESH_SEGMENTS);
        self.cwnd = self.cwnd.min(self.ssthresh);
        self.is_after_timeout = false;
    }

    /// Closes the window without a loss, because a queue was measured, and ends slow start. At
    /// least two segments stay.
    pub(crate) fn close_to(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.max(self.mss * MIN_SSTHRESH_SEGMENTS);
        self.leave_slow_start();
    }

    /// RFC 5681 3.1: after a timeout cwnd is one segment, the loss window.
    pub(crate) fn collapse(&mut self) {
        self.cwnd = self.mss;
        self.is_after_timeout = true;
    }

    pub(crate) fn end_recovery(&mut self) {
        self.is_after_timeout = false;
    }

    /// Takes back a reduction that proved unnecessary.
    pub(crate) fn restore(&mut self, cwnd: Bytes, ssthresh: Bytes) {
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = ssthresh;
    }

    /// RFC 5681 4.1: restart with at most the initial window.
    pub(crate) fn restart_after_idle(&mut self) {
        let kept = Bytes::new(self.cwnd.get() / 4 * 3);
        self.ssthresh = self.ssthresh.max(kept);
        self.cwnd = self.cwnd.min(self.initial_window);
    }

    /// RFC 2861, RFC 7661: takes what is left of a window that was not used.
    pub(crate) fn validate(&mut self, window: ValidatedWindow) {
        self.cwnd = self.cwnd.min(window.cwnd).max(self.mss);
        self.ssthresh = window.ssthresh.max(self.mss * MIN_SSTHRESH_SEGMENTS);
    }

    /// Linux `tcp_update_pacing_rate`: twice cwnd / srtt below half of ssthresh, else 1.2 times.
    pub(crate) fn update_pacing_rate(&mut self, srtt: Duration) {
        if let Some(rate) = &mut self.pacing
            && !srtt.is_zero()
        {
            let (slow_start, otherwise) = PACING_PERCENT;
            let percent = if self.cwnd < self.ssthresh / 2 {
                slow_start
            } else {
                otherwise
            };
            *rate = Some(BitRate::from_bytes_per(self.cwnd * percent / 100, srtt));
        }
    }
}

/// The stamp of a controller that samples no delivery rate.
pub(crate) fn time_stamp(now: Instant) -> PacketStamp {
    PacketStamp {
        sent_at: now,
        ..PacketStamp::default()
    }
}

/// What a controller shows whose [`Window`] is at this place: the rest of its `impl CongestionControl`.
macro_rules! shows_window {
    ($($place:ident).+) => {
        fn on_window_validation(
            &mut self,
            _cx: &mut crate::Ctx<'_>,
            window: crate::ValidatedWindow,
        ) {
            self.$($place).+.validate(window);
        }
        fn cwnd(&self) -> units::Bytes {
            self.$($place).+.cwnd()
        }
        fn ssthresh(&self) -> Option<units::Bytes> {
            Some(self.$($place).+.ssthresh())
        }
        fn pacing_rate(&self) -> Option<units::BitRate> {
            self.$($place).+.pacing_rate()
        }
    };
}
pub(crate) use shows_window;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(is_paced: bool) -> Window {
        let config = BuildConfig {
            mss: Bytes::new(1_000),
            initial_window: Bytes::new(10_000),
        };
        Window::new(config, is_paced)
    }

    #[test]
    fn slow_start_stops_at_ssthresh_and_hands_back_the_rest() {
        let mut w = window(false);
        w.reduce_to(Bytes::new(5_000));
        w.collapse();
        assert_eq!(w.slow_start(Bytes::new(3_000)), Bytes::ZERO);
        assert_eq!(w.slow_start(Bytes::new(3_000)), Bytes::new(2_000));
        assert_eq!(w.cwnd(), Bytes::new(5_000));
        assert!(!w.in_slow_start());
    }

    #[test]
    fn restart_keeps_three_quarters_as_ssthresh() {
        let mut w = window(false);
        w.reduce_to(Bytes::new(40_000));
        w.restart_after_idle();
        assert_eq!(
            (w.cwnd(), w.ssthresh()),
            (Bytes::new(10_000), Bytes::new(40_000))
        );
        w.grow(Bytes::new(90_000));
        w.restart_after_idle();
        assert_eq!(
            (w.cwnd(), w.ssthresh()),
            (Bytes::new(10_000), Bytes::new(75_000))
        );
    }

    #[test]
    fn validation_lowers_the_window_and_sets_ssthresh() {
        let mut w = window(false);
        w.grow(Bytes::new(90_000));
        let mut validate = |cwnd, ssthresh| {
            w.validate(ValidatedWindow {
                cwnd: Bytes::new(cwnd),
                ssthresh: Bytes::new(ssthresh),
            });
            (w.cwnd().get(), w.ssthresh().get())
        };
        assert_eq!(validate(60_000, 75_000), (60_000, 75_000));
        assert_eq!(validate(61_000, u64::MAX), (60_000, u64::MAX), "no growth");
        assert_eq!(validate(0, 0), (1_000, 2_000));
    }

    #[test]
    fn pacing_is_twice_the_window_per_rtt_then_a_fifth_above() {
        // 10 kB in 10 ms are 8 Mbit/s
        let mut w = window(true);
        assert_eq!(w.pacing_rate(), None);
        w.update_pacing_rate(Duration::from_millis(10));
        assert_eq!(w.pacing_rate(), Some(BitRate::from_mbps(16)));
        w.reduce_to(Bytes::new(10_000));
        w.update_pacing_rate(Duration::from_millis(10));
        assert_eq!(w.pacing_rate(), Some(BitRate::from_bps(9_600_000)));
        let mut unpaced = window(false);
        unpaced.update_pacing_rate(Duration::from_millis(10));
        assert_eq!(unpaced.pacing_rate(), None);
    }
}
