//! NewReno.
//!
//! Source: RFC 5681 section 3 (slow start, congestion avoidance, reduction), RFC 6582 (NewReno),
//! RFC 3465 (appropriate byte counting). Windows are in bytes.
//!
//! | section | here |
//! | --- | --- |
//! | RFC 5681 3.1 equation (2), RFC 3465 2.2: cwnd += min(acked, L SMSS) | `abc_increase` |
//! | RFC 3465 2.3: L = 2, after a timeout L = 1 | [`ABC_LIMIT`] |
//! | RFC 3465 2.1: one SMSS for each cwnd of acknowledged bytes | `ByteCounter` |
//! | RFC 5681 equation (4): ssthresh = max(flight / 2, 2 SMSS) | `reduced` |
//! | RFC 5681 3.1: ssthresh is held when a timeout repeats | `on_loss` |
//! | RFC 5681 4.1: restart window | `on_restart_after_idle` |
//! | RFC 6582 3.2 step 3: cwnd = ssthresh when recovery ends | `on_loss` (the transport's PRR leads there) |
//!
//! *Deviations*
//! - RFC 6582's window inflation (3.2 steps 2 and 3) is not here: the transport has SACK and PRR
//!   (RFC 6937), which replaces it.
//! - cwnd is reduced rather than FlightSize (`window.rs`).
//! - Linux counts every segment of a stretched acknowledgement in slow start; L = 2 is the RFC's
//!   limit and the same while the receiver acknowledges every second segment.

use crate::window::{Window, time_stamp};
use crate::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent,
};
use units::{BitRate, Bytes};

/// L of RFC 3465 2.3 in segments: how much one acknowledgement may open the window in slow start.
pub const ABC_LIMIT: u64 = 2;
/// L in the slow start that follows a timeout (RFC 3465 2.3).
pub const ABC_LIMIT_AFTER_TIMEOUT: u64 = 1;

/// How a NewReno connection is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    window: BuildConfig,
    is_paced: bool,
}

impl Config {
    /// Not paced, as TCP on Linux without the `fq` qdisc.
    pub fn new(window: BuildConfig) -> Self {
        Self {
            window: window.bounded(),
            is_paced: false,
        }
    }
    /// With packets paced at 200 % (slow start) or 120 % of cwnd / srtt, as Linux with `fq`.
    #[must_use]
    pub fn paced(self) -> Self {
        Self {
            is_paced: true,
            ..self
        }
    }
}

/// RFC 3465 2.2: the growth in slow start for `acked` bytes, at most L segments.
fn abc_increase(acked: Bytes, mss: Bytes, limit: u64) -> Bytes {
    acked.min(mss * limit)
}

/// RFC 5681 equation (4) without its minimum, which [`Window`] keeps; rounds down.
fn reduced(cwnd: Bytes) -> Bytes {
    cwnd / 2
}

/// RFC 3465 2.1: counts acknowledged bytes until they make a window.
#[derive(Clone, Copy, Debug, Default)]
struct ByteCounter {
    /// Bytes acknowledged since the last increase; at most cwnd.
    bytes_acked: Bytes,
}

impl ByteCounter {
    /// The growth in congestion avoidance: one segment for each window, at most one at a time.
    fn increase(&mut self, acked: Bytes, cwnd: Bytes, mss: Bytes) -> Bytes {
        self.bytes_acked += acked;
        if self.bytes_acked < cwnd {
            return Bytes::ZERO;
        }
        self.bytes_acked = self.bytes_acked.saturating_sub(cwnd).min(cwnd);
        mss
    }
}

/// NewReno: additive increase of one segment a round trip, halving at each congestion event.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: Window,
    counter: ByteCounter,
    /// cwnd and ssthresh before the losses now being recovered from.
    before_loss: Option<(Bytes, Bytes)>,
}

impl NewReno {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            window: Window::new(config.window, config.is_paced),
            counter: ByteCounter::default(),
            before_loss: None,
        }
    }

    fn open_window(&mut self, acked: Bytes) {
        let mss = self.window.mss();
        let mut acked = acked;
        if self.window.in_slow_start() {
            let limit = if self.window.is_after_timeout() {
                ABC_LIMIT_AFTER_TIMEOUT
            } else {
                ABC_LIMIT
            };
            acked = self.window.slow_start(abc_increase(acked, mss, limit));
        }
        if !acked.is_zero() {
            let growth = self.counter.increase(acked, self.window.cwnd(), mss);
            self.window.grow(growth);
        }
    }
}

impl CongestionControl for NewReno {
    fn name(&self) -> &'static str {
        "newreno"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckSample) {
        if ack.is_cwnd_limited && !self.window.is_held(ack) {
            self.open_window(ack.newly_acked);
        }
        self.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        // A timeout within an episode is the same congestion: ssthresh stays (RFC 5681 3.1).
        let is_same_event = loss.kind == LossKind::Timeout && self.before_loss.is_some();
        if !is_same_event {
            self.window.reduce_to(reduced(cwnd));
            // after a mark nothing has to be recovered, so a later timeout is a new event
            self.before_loss = (loss.kind != LossKind::Ecn).then_some((cwnd, ssthresh));
        }
        if loss.kind == LossKind::Timeout {
            self.window.collapse();
        }
        self.counter = ByteCounter::default();
        cx.trace.event(cx.now, "loss", self.window.cwnd().get());
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.window.end_recovery();
        if let Some((cwnd, ssthresh)) = self.before_loss.take()
            && end.is_spurious
        {
            self.window.restore(cwnd, ssthresh);
        }
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.window.restart_after_idle();
    }

    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }
    fn pacing_rate(&self) -> Option<BitRate> {
        self.window.pacing_rate()
    }
}
