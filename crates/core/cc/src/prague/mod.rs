//! Prague: the scalable controller of L4S. The window falls in proportion to the share of marked data, and grows by the
//! same whatever a short round-trip time.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control, as `tcp_prague.c` of the L4S team implements it (version 0.7),
//! and RFC 9331 section 4.3. Windows are in bytes, alpha and the share of marked data are ratios from 0 to 1.
//!
//! | rule | here |
//! | --- | --- |
//! | alpha += (F - alpha) / 16, F the share of marked data, once a round trip and 25 ms | `marks::Observation`, `marks::smoothed` |
//! | a mark: W -= W alpha / 2, once a round trip and 25 ms | `marks::reduced`, `on_mark` |
//! | the first mark of a connection: W halves, slow start ends, alpha begins at 0 | `on_mark` |
//! | growth: W += unmarked a / W segments, a = 1 from 25 ms on, (RTT / 25 ms)^2 below | `growth` |
//! | a is 1 until four round trips after slow start | `round_trips` |
//! | a loss: W -= W / 2, once a recovery; no growth while it lasts | `on_loss` |
//! | pacing at W / srtt, twice that below half of ssthresh, at least 100 kbit/s | `pacing` |
//!
//! The steady state is some two marks in 25 ms: r = (1/p - 1) segments in 25 ms for all round trips below.
//!
//! The transport's feedback has to show of each packet whether it was marked ([`AckSample::newly_marked`]: AccECN, the echo
//! of RFC 8257 or QUIC's counts), and its packets are ECT(1). Without marks it is NewReno but for its growth.
//!
//! *Deviations*
//! - Round trips are the transport's, which reports a mark once in each: within 25 ms later ones change nothing.
//! - alpha and windows are f64, computed by `+ - * /` only, not fixed point.
//! - Slow start is Reno's with L = 2 (RFC 3465). Below two segments the window stays two: neither smaller packets nor
//!   pacing below that.
//! - The pace does not alternate by 3 % within a round trip.

use crate::marks::{Observation, reduced, smoothed};
use crate::reno::{Config as RenoConfig, Reno, halved};
use crate::window::time_stamp;
use crate::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent, ValidatedWindow,
};
use units::{BitRate, Bytes, Duration, Instant};

/// The round-trip time to which shorter ones are made equal.
pub const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// The least pace.
const MIN_PACE: BitRate = BitRate::from_bps(100_000);
/// Round trips after slow start from which on growth is independent of the round-trip time.
const TRANSITION: u32 = 4;

/// a: what growth is multiplied by.
fn independence(srtt: Duration) -> f64 {
    let ratio = srtt.ratio(VIRTUAL_RTT).min(1.0);
    ratio * ratio
}

/// `unmarked a / W` segments, bytes.
fn growth(unmarked: Bytes, mss: Bytes, cwnd: Bytes, a: f64) -> f64 {
    unmarked.get() as f64 * mss.get() as f64 * a / cwnd.get().max(1) as f64
}

/// Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    reno: Reno,
    observation: Observation,
    /// The smoothed share of marked data; none before the first mark.
    alpha: Option<f64>,
    /// When alpha was last updated, and the window last reduced for a mark.
    updated_at: Instant,
    reduced_at: Option<Instant>,
    /// Growth that is less than a byte.
    fraction: f64,
    /// Round trips since slow start ended.
    round_trips: u32,
    /// A loss is being recovered from.
    is_in_loss: bool,
    pacing: Option<BitRate>,
}

impl Prague {
    /// A controller at the start of a connection.
    pub fn new(config: BuildConfig) -> Self {
        Self {
            reno: Reno::new(RenoConfig::new(config)),
            observation: Observation::default(),
            alpha: None,
            updated_at: Instant::ZERO,
            reduced_at: None,
            fraction: 0.0,
            round_trips: 0,
            is_in_loss: false,
            pacing: None,
        }
    }

    /// The smoothed share of marked data, 0 to 1; 0 before the first mark.
    pub fn alpha(&self) -> f64 {
        self.alpha.unwrap_or(0.0)
    }

    /// The end of a round trip: alpha is updated if 25 ms have passed too.
    fn on_round(&mut self, cx: &mut Ctx<'_>) {
        self.round_trips = match self.reno.window.in_slow_start() {
            true => 0,
            false => self.round_trips.saturating_add(1),
        };
        if cx.now.saturating_since(self.updated_at) < VIRTUAL_RTT {
            return;
        }
        self.updated_at = cx.now;
        let seen = core::mem::take(&mut self.observation).share();
        if let (Some(alpha), Some(share)) = (&mut self.alpha, seen) {
            *alpha = smoothed(*alpha, share);
            let per_mille = (*alpha * 1000.0) as u64;
            cx.trace.event(cx.now, "alpha_per_mille", per_mille);
        }
    }

    fn grow(&mut self, ack: &AckSample) {
        let unmarked = ack.newly_acked.saturating_sub(ack.newly_marked);
        let left = self.reno.slow_start(unmarked);
        let window = &mut self.reno.window;
        let a = match self.round_trips < TRANSITION {
            true => 1.0,
            false => independence(ack.srtt),
        };
        self.fraction += growth(left, window.mss(), window.cwnd(), a);
        let whole = self.fraction.floor();
        self.fraction -= whole;
        window.grow(Bytes::new(whole as u64));
    }

    /// The window after a mark; none within 25 ms of the last reduction.
    fn on_mark(&mut self, now: Instant) -> Option<Bytes> {
        let cwnd = self.reno.window.cwnd();
        let since = self.reduced_at.map(|at| now.saturating_since(at));
        if since.is_some_and(|since| since < VIRTUAL_RTT) {
            return None;
        }
        self.reduced_at = Some(now);
        let Some(alpha) = self.alpha else {
            self.alpha = Some(0.0);
            return Some(halved(cwnd));
        };
        Some(reduced(cwnd, alpha))
    }
}

impl CongestionControl for Prague {
    fn name(&self) -> &'static str {
        "prague"
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        self.observation.add(ack);
        if ack.is_round_start {
            self.on_round(cx);
        }
        let is_held = self.is_in_loss && self.reno.window.is_held(ack);
        if ack.is_cwnd_limited && !is_held {
            self.grow(ack);
        }
        if !ack.srtt.is_zero() {
            let window = &self.reno.window;
            let times = match window.cwnd() < window.ssthresh() / 2 {
                true => 2,
                false => 1,
            };
            let pace = BitRate::from_bytes_per(window.cwnd() * times, ack.srtt);
            self.pacing = Some(pace.max(MIN_PACE));
        }
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        let target = match loss.kind {
            LossKind::Ecn => self.on_mark(cx.now),
            LossKind::Fast | LossKind::Timeout => {
                self.is_in_loss = true;
                Some(halved(self.reno.window.cwnd()))
            }
        };
        self.reno.on_loss(cx, loss, |window| {
            if let Some(cwnd) = target {
                window.reduce_to(cwnd);
            }
        });
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.is_in_loss = false;
        self.reno.on_recovery_end(end);
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.reno.window.restart_after_idle();
    }

    fn on_window_validation(&mut self, _cx: &mut Ctx<'_>, window: ValidatedWindow) {
        self.reno.window.validate(window);
    }

    fn cwnd(&self) -> Bytes {
        self.reno.window.cwnd()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.reno.window.ssthresh())
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing
    }
}

#[cfg(test)]
mod tests;
