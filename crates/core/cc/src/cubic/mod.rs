//! Cubic.
//!
//! Source: RFC 9438; what differs in Linux `tcp_cubic.c` is an option. Windows are kept in bytes,
//! the curve is computed in segments and seconds (`curve.rs`).
//!
//! | section | here |
//! | --- | --- |
//! | 4.2 W_cubic, K, target; figures 1 and 2 | `curve.rs` |
//! | 4.3 Reno-friendly region, W_est | `Epoch::growth` |
//! | 4.4, 4.5 concave and convex region | `Epoch::growth` |
//! | 4.6 multiplicative decrease | `on_loss` |
//! | 4.7 fast convergence | `on_loss` |
//! | 4.8 timeout: W_max discarded, next epoch has K = 0 | `on_loss` |
//! | 4.9 spurious events: state of before restored | `on_recovery_end` |
//! | 4.10 slow start, HyStart++ | `hystart.rs`, `hystart_pp.rs` |
//! | 5.8 periods in which the window did not limit the sender are left out of t | `Epoch::shift` |
//!
//! Rounding: growth is exact in f64; the whole bytes go into cwnd, the fraction is carried.
//!
//! *Deviations*
//! - Where W_est is above W_cubic(t), 4.3 sets cwnd to W_est. Here, as in Linux, the larger of both
//!   growths is taken, so that the window never falls on an acknowledgement, and either is limited
//!   to half a segment for each acknowledged one (1.5 cwnd each round trip).
//! - 4.6 reduces the flight size; here cwnd, as in Linux (`window.rs`).
//! - 4.6 lets the window fall to one segment after a mark; here to two, as in Linux.
//! - Linux counts in whole segments and adds its minimum round-trip time where 4.2 adds the smoothed
//!   one; here the RFC is followed.
//! - Linux lets an epoch without W_max (after HyStart, or a timeout) grow by at least 5 % a round
//!   trip, which the RFC has not; `Config::linux` does so, `Config::rfc9438` does not.

mod curve;
mod hystart;
mod hystart_pp;

use crate::window::{Window, shows_window, time_stamp};
use crate::{
    AckSample, BuildConfig, CongestionControl, Ctx, LossKind, LossSample, PacketStamp, RecoveryEnd,
    Sent,
};
use hystart::{Found, HyStart, Observation};
use hystart_pp::{Change, HyStartPlusPlus};
use units::{Bytes, Duration, Instant};

/// Growth for each acknowledged segment while W_max is unknown: 5 % a round trip (Linux).
const UNKNOWN_W_MAX_GROWTH: f64 = 0.05;
/// Largest growth for each acknowledged segment (Linux; target of 4.2).
const MAX_GROWTH: f64 = curve::MAX_TARGET - 1.0;
/// beta_ecn of Cubic (RFC 8511 4.1: 0.85).
const ABE_BETA: f64 = 0.85;
/// Delay samples are not used for so long after a reduction (Linux `cubictcp_acked`).
const DISCARD_DELAY: Duration = Duration::from_secs(1);

/// How slow start ends other than by a loss.
#[derive(Clone, Debug)]
enum SlowStart {
    Plain,
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
}

/// How a Cubic connection is set up.
#[derive(Clone, Debug)]
pub struct Config {
    name: &'static str,
    window: BuildConfig,
    is_paced: bool,
    slow_start: SlowStart,
    has_growth_floor: bool,
    /// To what part a mark in congestion avoidance reduces the window, 0 to 1.
    ecn_beta: f64,
}

impl Config {
    /// As Linux: HyStart, 5 % growth while W_max is unknown, not paced (as without `fq`).
    pub fn linux(window: BuildConfig) -> Self {
        Self {
            name: "cubic",
            window: window.bounded(),
            is_paced: false,
            slow_start: SlowStart::HyStart(HyStart::default()),
            has_growth_floor: true,
            ecn_beta: curve::BETA,
        }
    }
    /// As Linux, with alternative backoff on ECN marks (RFC 8511): in congestion avoidance a mark reduces the
    /// window to 0.85 of it instead of 0.7. A loss, and a mark in slow start, reduce it as ever.
    pub fn abe(window: BuildConfig) -> Self {
        Self {
            name: "cubic-abe",
            ecn_beta: ABE_BETA,
            ..Self::linux(window)
        }
    }
    /// As Linux with `hystart=0`: slow start ends by a loss only.
    pub fn linux_without_hystart(window: BuildConfig) -> Self {
        Self {
            name: "cubic-plain",
            slow_start: SlowStart::Plain,
            ..Self::linux(window)
        }
    }
    /// RFC 9438 with HyStart++ (RFC 9406), without Linux's growth floor, not paced.
    pub fn rfc9438(window: BuildConfig) -> Self {
        Self {
            name: "cubic-hystart++",
            slow_start: SlowStart::HyStartPlusPlus(HyStartPlusPlus::default()),
            has_growth_floor: false,
            ..Self::linux(window)
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

/// One stage of congestion avoidance; windows in segments.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// t_epoch, later by the periods left out of t.
    start: Instant,
    /// K in seconds; >= 0.
    k: f64,
    /// W_max, the plateau of the curve.
    w_max: f64,
    /// W_est, the window that Reno would have.
    w_est: f64,
    /// Window before the reduction that began the epoch.
    cwnd_prior: f64,
    /// W_max is only the window at which the epoch began.
    is_w_max_unknown: bool,
}

impl Epoch {
    /// 4.2; without W_max (4.8, 4.10) K = 0 and the curve begins at its plateau.
    fn new(start: Instant, cwnd: f64, w_max: Option<f64>, cwnd_prior: Option<f64>) -> Self {
        let plateau = w_max.unwrap_or(cwnd).max(cwnd);
        Self {
            start,
            k: curve::k(plateau, cwnd),
            w_max: plateau,
            w_est: cwnd,
            cwnd_prior: cwnd_prior.unwrap_or(cwnd),
            is_w_max_unknown: w_max.is_none(),
        }
    }

    /// 5.8: leaves a period out of t.
    fn shift(&mut self, by: Duration) {
        self.start += by;
    }

    /// 4.3 to 4.5: the growth, in segments, for `acked` segments at time `now`.
    fn growth(&mut self, now: Instant, srtt: Duration, cwnd: f64, acked: f64) -> f64 {
        self.w_est += curve::w_est_increase(self.w_est, self.cwnd_prior, cwnd, acked);
        let t = now.saturating_since(self.start).as_secs_f64();
        let rtt = srtt.as_secs_f64();
        let target = curve::target(curve::w_cubic(t + rtt, self.k, self.w_max), cwnd);
        let cubic = curve::cubic_increase(target, cwnd, acked);
        let is_reno_friendly = curve::w_cubic(t, self.k, self.w_max) < self.w_est;
        let reno = if is_reno_friendly {
            self.w_est - cwnd
        } else {
            0.0
        };
        cubic.max(reno)
    }
}

/// The state that 4.9 restores.
#[derive(Clone, Copy, Debug)]
struct BeforeLoss {
    cwnd: Bytes,
    ssthresh: Bytes,
    w_max: Option<f64>,
    cwnd_prior: Option<f64>,
    epoch: Option<Epoch>,
}

/// Cubic: the window follows a cubic curve whose plateau is the window of the last loss.
#[derive(Clone, Debug)]
pub struct Cubic {
    name: &'static str,
    window: Window,
    slow_start: SlowStart,
    has_growth_floor: bool,
    /// To what part a mark in congestion avoidance reduces the window.
    ecn_beta: f64,
    /// Segment size as the curve takes it; > 0.
    mss: f64,
    /// Growth not yet in cwnd, in bytes; 0 to 1.
    carry: f64,
    /// W_max in segments, after fast convergence; none before a loss and after a timeout.
    w_max: Option<f64>,
    /// cwnd in segments before the last reduction.
    cwnd_prior: Option<f64>,
    /// The present stage of congestion avoidance.
    epoch: Option<Epoch>,
    /// Since when cwnd has not been what limits the sender.
    unlimited_since: Option<Instant>,
    /// State before the losses now being recovered from.
    before_loss: Option<BeforeLoss>,
}

impl Cubic {
    /// A controller at the start of a connection.
    pub fn new(config: Config) -> Self {
        Self {
            name: config.name,
            window: Window::new(config.window, config.is_paced),
            slow_start: config.slow_start,
            has_growth_floor: config.has_growth_floor,
            ecn_beta: config.ecn_beta,
            mss: config.window.mss.get() as f64,
            carry: 0.0,
            w_max: None,
            cwnd_prior: None,
            epoch: None,
            unlimited_since: None,
            before_loss: None,
        }
    }

    fn segments(&self, bytes: Bytes) -> f64 {
        bytes.get() as f64 / self.mss
    }

    /// Lets HyStart or HyStart++ look at an acknowledgement; may end slow start.
    fn check_slow_start(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        let leaves = match &mut self.slow_start {
            SlowStart::Plain => None,
            SlowStart::HyStart(hystart) => {
                if ack.is_round_start {
                    hystart.start_round(cx.now);
                }
                let is_fresh = |e: &Epoch| cx.now.saturating_since(e.start) < DISCARD_DELAY;
                if self.epoch.as_ref().is_some_and(is_fresh) {
                    return;
                }
                let Some(rtt) = ack.rtt else { return };
                let found = hystart.on_ack(&Observation {
                    now: cx.now,
                    rtt,
                    srtt: ack.srtt,
                    cwnd: self.window.cwnd(),
                    mss: self.window.mss(),
                    is_paced: self.window.is_paced(),
                    in_slow_start: self.window.in_slow_start(),
                });
                found.map(|found| match found {
                    Found::AckTrain => "hystart_ack_train",
                    Found::Delay => "hystart_delay",
                })
            }
            SlowStart::HyStartPlusPlus(hystart) if self.window.is_initial_slow_start() => {
                match hystart.on_ack(ack.rtt, ack.is_round_start) {
                    Change::None => None,
                    Change::EndSlowStart => Some("css_end"),
                    Change::EnterCss => {
                        cx.trace.event(cx.now, "css", self.window.cwnd().get());
                        None
                    }
                    Change::ResumeSlowStart => {
                        cx.trace
                            .event(cx.now, "slow_start", self.window.cwnd().get());
                        None
                    }
                }
            }
            SlowStart::HyStartPlusPlus(_) => None,
        };
        if let Some(reason) = leaves {
            self.window.leave_slow_start();
            cx.trace.event(cx.now, reason, self.window.cwnd().get());
        }
    }

    /// Opens the window in slow start; returns the bytes left for congestion avoidance.
    fn grow_in_slow_start(&mut self, acked: Bytes) -> Bytes {
        let counted = match &self.slow_start {
            SlowStart::HyStartPlusPlus(hystart) if self.window.is_initial_slow_start() => {
                hystart.increase(acked, self.window.mss(), self.window.is_paced())
            }
            _ => acked,
        };
        self.window.slow_start(counted)
    }

    /// 4.3 to 4.5.
    fn grow_in_congestion_avoidance(&mut self, now: Instant, srtt: Duration, acked: Bytes) {
        let cwnd = self.segments(self.window.cwnd());
        let acked = self.segments(acked);
        let (w_max, cwnd_prior) = (self.w_max, self.cwnd_prior);
        let epoch = self
            .epoch
            .get_or_insert_with(|| Epoch::new(now, cwnd, w_max, cwnd_prior));
        let mut growth = epoch.growth(now, srtt, cwnd, acked);
        if self.has_growth_floor && epoch.is_w_max_unknown {
            growth = growth.max(acked * UNKNOWN_W_MAX_GROWTH);
        }
        self.carry += growth.min(acked * MAX_GROWTH) * self.mss;
        let whole = self.carry as u64; // rounds down, saturates
        self.carry -= whole as f64;
        self.window.grow(Bytes::new(whole));
    }

    /// 4.6, 4.7: the new W_max and window; RFC 8511 3.1 for marks.
    fn reduce(&mut self, kind: LossKind) {
        let beta = if kind == LossKind::Ecn && !self.window.in_slow_start() {
            self.ecn_beta
        } else {
            curve::BETA
        };
        let cwnd = self.segments(self.window.cwnd());
        self.w_max = Some(match self.w_max {
            Some(old) => curve::fast_convergence(cwnd, old),
            None => cwnd,
        });
        self.cwnd_prior = Some(cwnd);
        self.window.reduce_to(self.window.cwnd().mul_f64(beta));
    }

    fn state(&self) -> BeforeLoss {
        BeforeLoss {
            cwnd: self.window.cwnd(),
            ssthresh: self.window.ssthresh(),
            w_max: self.w_max,
            cwnd_prior: self.cwnd_prior,
            epoch: self.epoch,
        }
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        self.name
    }

    fn on_sent(&mut self, cx: &mut Ctx<'_>, _packet: &Sent) -> PacketStamp {
        time_stamp(cx.now)
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckSample) {
        self.check_slow_start(cx, ack);
        if self.window.is_held(ack) {
            // the epoch begins after recovery
        } else if !ack.is_cwnd_limited {
            self.unlimited_since.get_or_insert(cx.now);
        } else {
            if let (Some(since), Some(epoch)) = (self.unlimited_since.take(), &mut self.epoch) {
                epoch.shift(cx.now.saturating_since(since));
            }
            let mut acked = ack.newly_acked;
            if self.window.in_slow_start() {
                acked = self.grow_in_slow_start(acked);
            }
            if !self.window.in_slow_start() && !acked.is_zero() {
                self.grow_in_congestion_avoidance(cx.now, ack.srtt, acked);
            }
        }
        self.window.update_pacing_rate(ack.srtt);
    }

    fn on_loss(&mut self, cx: &mut Ctx<'_>, loss: &LossSample) {
        // A timeout within an episode is the same congestion: ssthresh stays (RFC 5681 3.1).
        let is_same_event = loss.kind == LossKind::Timeout && self.before_loss.is_some();
        if !is_same_event {
            let before = self.state();
            // after a mark nothing has to be recovered, so a later timeout is a new event
            self.before_loss = (loss.kind != LossKind::Ecn).then_some(before);
            self.reduce(loss.kind);
        }
        if loss.kind == LossKind::Timeout {
            self.window.collapse();
            // 4.8: the curve begins anew at the window that slow start reaches
            self.w_max = None;
            self.cwnd_prior = None;
            if let SlowStart::HyStart(hystart) = &mut self.slow_start {
                hystart.reset(cx.now);
            }
        }
        self.epoch = None;
        self.carry = 0.0;
        self.unlimited_since = None;
        cx.trace.event(cx.now, "loss", self.window.cwnd().get());
    }

    fn on_recovery_end(&mut self, _cx: &mut Ctx<'_>, end: RecoveryEnd) {
        self.window.end_recovery();
        if let Some(before) = self.before_loss.take()
            && end.is_spurious
        {
            self.window.restore(before.cwnd, before.ssthresh);
            self.w_max = before.w_max;
            self.cwnd_prior = before.cwnd_prior;
            self.epoch = before.epoch;
        }
    }

    fn on_app_limited(&mut self, cx: &mut Ctx<'_>, _bytes_in_flight: Bytes) {
        self.unlimited_since.get_or_insert(cx.now);
    }

    fn on_restart_after_idle(&mut self, _cx: &mut Ctx<'_>) {
        self.window.restart_after_idle();
    }
    shows_window!(window);
}
