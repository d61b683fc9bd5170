//! The Reno that other controllers build on: slow start, additive increase, one reduction an event.
//!
//! Source: RFC 5681 3.1, RFC 3465; [`crate::newreno`] has the sections and deviations. Vegas,
//! Westwood+, YeAH and Veno change one or two of its rules each and keep the rest.

use crate::window::Window;
use crate::{AckSample, BuildConfig, Ctx, LossKind, LossSample, RecoveryEnd};
use units::Bytes;

/// L of RFC 3465 2.3 in segments: how much one acknowledgement may open the window in slow start.
pub const ABC_LIMIT: u64 = 2;
/// L in the slow start that follows a timeout (RFC 3465 2.3).
pub const ABC_LIMIT_AFTER_TIMEOUT: u64 = 1;

/// How a connection of NewReno, Vegas, Westwood+, YeAH or Veno is set up.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    window: BuildConfig,
    is_paced: bool,
    /// Marks in congestion avoidance reduce NewReno's window by RFC 8511.
    pub(crate) is_abe: bool,
}

impl Config {
    /// Not paced, as TCP on Linux without the `fq` qdisc.
    pub fn new(window: BuildConfig) -> Self {
        Self {
            window: window.bounded(),
            is_paced: false,
            is_abe: false,
        }
    }
    /// With alternative backoff on ECN marks (RFC 8511), for [`crate::newreno::NewReno`]: in congestion avoidance
    /// a mark reduces the window to 0.8 of it instead of a half.
    #[must_use]
    pub fn abe(self) -> Self {
        Self {
            is_abe: true,
            ..self
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
pub(crate) fn halved(cwnd: Bytes) -> Bytes {
    cwnd / 2
}

/// RFC 3465 2.1: counts acknowledged bytes until they make a window.
#[derive(Clone, Copy, Debug, Default)]
struct ByteCounter {
    /// Bytes acknowledged since the last increase; at most what an increase takes.
    bytes_acked: Bytes,
}

impl ByteCounter {
    /// The growth in congestion avoidance: one segment for each `per` bytes, at most one at a time.
    fn increase(&mut self, acked: Bytes, per: Bytes, mss: Bytes) -> Bytes {
        self.bytes_acked += acked;
        if self.bytes_acked < per {
            return Bytes::ZERO;
        }
        self.bytes_acked = self.bytes_acked.saturating_sub(per).min(per);
        mss
    }
}

/// The window of a Reno-like controller and the congestion event it may be recovering from.
#[derive(Clone, Debug)]
pub(crate) struct Reno {
    pub(crate) window: Window,
    counter: ByteCounter,
    /// cwnd and ssthresh before the losses now being recovered from.
    before_loss: Option<(Bytes, Bytes)>,
}

impl Reno {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            window: Window::new(config.window, config.is_paced),
            counter: ByteCounter::default(),
            before_loss: None,
        }
    }

    /// True if this acknowledgement may open the window: cwnd limits the sender, and no fast
    /// recovery holds it.
    pub(crate) fn may_grow(&self, ack: &AckSample) -> bool {
        ack.is_cwnd_limited && !self.window.is_held(ack)
    }

    /// RFC 5681 3.1: slow start below ssthresh, from there on a segment for each window.
    pub(crate) fn open_window(&mut self, acked: Bytes) {
        let left = self.slow_start(acked);
        self.add_segment_per(self.window.cwnd(), left);
    }

    /// Opens the window as long as it is in slow start. Returns the bytes that are left for
    /// congestion avoidance.
    pub(crate) fn slow_start(&mut self, acked: Bytes) -> Bytes {
        if !self.window.in_slow_start() {
            return acked;
        }
        let limit = if self.window.is_after_timeout() {
            ABC_LIMIT_AFTER_TIMEOUT
        } else {
            ABC_LIMIT
        };
        self.window
            .slow_start(abc_increase(acked, self.window.mss(), limit))
    }

    /// Congestion avoidance: one segment for each `per` acknowledged bytes.
    pub(crate) fn add_segment_per(&mut self, per: Bytes, acked: Bytes) {
        if !acked.is_zero() {
            let growth = self.counter.increase(acked, per, self.window.mss());
            self.window.grow(growth);
        }
    }

    /// A congestion event. `reduce` changes the window as the algorithm needs, unless this is a
    /// timeout within an episode: that is the same congestion, and ssthresh stays (RFC 5681 3.1).
    /// Returns whether it was called.
    pub(crate) fn on_loss(
        &mut self,
        cx: &mut Ctx<'_>,
        loss: &LossSample,
        reduce: impl FnOnce(&mut Window),
    ) -> bool {
        let is_new = loss.kind != LossKind::Timeout || self.before_loss.is_none();
        if is_new {
            let before = (self.window.cwnd(), self.window.ssthresh());
            // after a mark nothing has to be recovered, so a later timeout is a new event
            self.before_loss = (loss.kind != LossKind::Ecn).then_some(before);
            reduce(&mut self.window);
        }
        if loss.kind == LossKind::Timeout {
            self.window.collapse();
        }
        self.counter = ByteCounter::default();
        cx.trace.event(cx.now, "loss", self.window.cwnd().get());
        is_new
    }

    pub(crate) fn on_recovery_end(&mut self, end: RecoveryEnd) {
        self.window.end_recovery();
        if let Some((cwnd, ssthresh)) = self.before_loss.take()
            && end.is_spurious
        {
            self.window.restore(cwnd, ssthresh);
        }
    }
}
