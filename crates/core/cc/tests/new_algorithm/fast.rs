//! FAST: a window that keeps a fixed number of segments in the queue of the path.
//!
//! Source: Wei, Jin, Low and Hegde, "FAST TCP: Motivation, Architecture, Algorithms, Performance",
//! IEEE/ACM Transactions on Networking 14(6), 2006. Windows are in bytes.
//!
//! | the paper | here |
//! | --- | --- |
//! | w becomes min(2 w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha)), once a round trip | `next_window` |
//! | a loss halves the window | `Fast::on_loss` |
//!
//! *Deviations*
//! - The connection's least RTT is baseRTT, and the smoothed one RTT.
//! - There is no slow start: the window at most doubles in a round trip anyway.

use cc::{AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, Sent};
use units::{BitRate, Bytes, Duration};

/// alpha: so many segments of each flow wait in the queue of the path.
pub const ALPHA_SEGMENTS: u64 = 20;
/// gamma: how far each round trip goes towards where the window belongs.
pub const GAMMA: f64 = 0.5;

/// The window of the next round trip (the update of the table above); rounds to the nearest byte.
pub fn next_window(cwnd: Bytes, base_rtt: Duration, rtt: Duration, alpha: Bytes) -> Bytes {
    let share = base_rtt.as_nanos() as f64 / rtt.as_nanos().max(1) as f64;
    let aim = cwnd.mul_f64(share.min(1.0)) + alpha;
    let next = cwnd.mul_f64(1.0 - GAMMA) + aim.mul_f64(GAMMA);
    next.min(cwnd * 2)
}

/// FAST.
#[derive(Clone, Debug)]
pub struct Fast {
    mss: Bytes,
    /// At least two segments.
    cwnd: Bytes,
}

impl Fast {
    /// A controller at the start of a connection.
    pub fn new(config: BuildConfig) -> Self {
        let mss = config.mss.max(Bytes::new(1));
        Self {
            mss,
            cwnd: config.initial_window.max(mss * 2),
        }
    }
}

impl CongestionControl for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        PacketStamp {
            sent_at: cx.now,
            ..PacketStamp::default()
        }
    }

    fn on_ack(&mut self, _cx: &mut Ctx<'_>, ack: &AckSample) {
        if ack.is_round_start && ack.is_cwnd_limited && !ack.is_recovering {
            let alpha = self.mss * ALPHA_SEGMENTS;
            self.cwnd = next_window(self.cwnd, ack.min_rtt, ack.srtt, alpha);
        }
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let kept = match loss.kind {
            LossKind::Timeout => self.mss * 2,
            _ => self.cwnd / 2,
        };
        self.cwnd = kept.max(self.mss * 2);
        cx.trace.event(cx.now, "reduced", self.cwnd.get());
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}
