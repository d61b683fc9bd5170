//! The reference window (section 4.2.2).

use super::VIRTUAL_RTT;
use units::{Bytes, Instant};

/// QDELAY_TARGET_LO, s. (QDELAY_TARGET_HI is of section 4.5.4.)
const QDELAY_TARGET: f64 = 0.06;
/// MIN_REF_WND, bytes.
const MIN_REF_WND: f64 = 3000.0;
/// BYTES_IN_FLIGHT_HEAD_ROOM.
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
/// BETA_LOSS.
const BETA_LOSS: f64 = 0.7;
/// BETA_ECN.
const BETA_ECN: f64 = 0.8;
/// POST_CONGESTION_DELAY_RTTS.
const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
/// MUL_INCREASE_FACTOR.
const MUL_INCREASE_FACTOR: f64 = 0.02;
/// Round trips without congestion after which ref_wnd may be far above what is in flight (4.2.2.1).
const LONG_UNCONGESTED_RTTS: f64 = 100.0;
/// ACKED_BITRATE_MARGIN (4.5.3).
const ACKED_BITRATE_MARGIN: f64 = 0.8;
/// BACKOFF_SCALE_LOW_TARGET_RATE (4.5.3).
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;

/// What a reduction depends on. Times in s, rates in bit/s, sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    pub(super) now: Instant,
    pub(super) s_rtt: f64,
    /// IS_L4S.
    pub(super) is_l4s: bool,
    pub(super) l4s_alpha: f64,
    pub(super) qdelay: f64,
    pub(super) qdelay_avg: f64,
    pub(super) max_bytes_in_flight_prev: f64,
    pub(super) target_bitrate: f64,
    pub(super) acked_bitrate: f64,
}

/// What an increase depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Increase {
    pub(super) now: Instant,
    pub(super) s_rtt: f64,
    pub(super) bytes_newly_acked: f64,
    pub(super) bytes_newly_acked_ce: f64,
    /// The larger of this round trip's and the one's before.
    pub(super) max_bytes_in_flight: f64,
    /// Whether target_bitrate is TARGET_BITRATE_MAX.
    pub(super) is_target_max: bool,
}

/// ref_wnd with its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferenceWindow {
    mss: f64,
    /// Bytes, at least MIN_REF_WND.
    ref_wnd: f64,
    /// Inflection point, bytes.
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    last_congestion_detected: Instant,
    last_reaction: Instant,
    /// Since the last reaction.
    loss_detected: bool,
    data_units_marked: bool,
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Loss,
    Ce,
    /// l4s_alpha_v.
    VirtualCe(f64),
}

impl ReferenceWindow {
    /// A window of so many bytes, MIN_REF_WND at least.
    pub(super) fn new(mss: Bytes, ref_wnd: f64) -> Self {
        Self {
            mss: mss.get() as f64,
            ref_wnd: ref_wnd.max(MIN_REF_WND),
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            last_congestion_detected: Instant::ZERO,
            last_reaction: Instant::ZERO,
            loss_detected: false,
            data_units_marked: false,
        }
    }

    /// ref_wnd, bytes.
    pub(super) fn ref_wnd(&self) -> f64 {
        self.ref_wnd
    }

    /// The window of the start, once the round-trip time is known.
    pub(super) fn begin(&mut self, ref_wnd: f64) {
        self.ref_wnd = ref_wnd.max(MIN_REF_WND);
    }

    /// What feedback shows of packets.
    pub(super) fn on_signals(&mut self, loss_detected: bool, data_units_marked: bool) {
        self.loss_detected |= loss_detected;
        self.data_units_marked |= data_units_marked;
    }

    /// scl_t: how far from the last known maximum, 0.1 to 1.
    fn distance(&self) -> f64 {
        let scl = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (scl * scl).clamp(0.1, 1.0)
    }

    /// What has been detected, the gravest first; nothing more often than each min(VIRTUAL_RTT, s_rtt).
    fn event(&self, cx: &Congestion) -> Option<Event> {
        let since = cx.now.saturating_since(self.last_reaction).as_secs_f64();
        if since < VIRTUAL_RTT.min(cx.s_rtt) {
            return None;
        }
        let half = QDELAY_TARGET / 2.0;
        if self.loss_detected {
            Some(Event::Loss)
        } else if self.data_units_marked {
            Some(Event::Ce)
        } else if cx.qdelay_avg > half {
            Some(Event::VirtualCe(((cx.qdelay_avg - half) / half).min(1.0)))
        } else {
            None
        }
    }

    /// 4.2.2.1: the window is reduced if there is congestion.
    pub(super) fn reduce(&mut self, cx: &Congestion) {
        let scl = self.distance();
        if self.loss_detected || self.data_units_marked {
            self.last_congestion_detected = cx.now;
        }
        let Some(event) = self.event(cx) else {
            return;
        };
        if self.ref_wnd_i_update_allowed {
            self.ref_wnd_i = self.ref_wnd;
            self.ref_wnd_i_update_allowed = false;
        }
        // "when RTT is high, to avoid overreaction": a reaction is possible each VIRTUAL_RTT
        let per_reaction = (cx.s_rtt / VIRTUAL_RTT).max(1.0);
        match event {
            Event::Loss => self.ref_wnd *= BETA_LOSS,
            Event::Ce if !cx.is_l4s => self.ref_wnd *= BETA_ECN,
            Event::Ce => {
                let mut backoff = cx.l4s_alpha / 2.0 / per_reaction;
                if cx.qdelay < QDELAY_TARGET * 0.25 {
                    backoff *= scl.max(0.25);
                }
                let since = cx.now.saturating_since(self.last_reaction).as_secs_f64();
                if since > LONG_UNCONGESTED_RTTS * VIRTUAL_RTT.max(cx.s_rtt) {
                    self.ref_wnd = self.ref_wnd.min(cx.max_bytes_in_flight_prev);
                }
                self.ref_wnd *= 1.0 - backoff * undershoot(cx);
            }
            Event::VirtualCe(alpha) => {
                let backoff = alpha / 2.0 / per_reaction;
                self.ref_wnd *= 1.0 - backoff * undershoot(cx);
            }
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.last_reaction = cx.now;
        self.loss_detected = false;
        self.data_units_marked = false;
    }

    /// 4.2.2.2: the window grows by what was acknowledged without marks.
    pub(super) fn increase(&mut self, cx: &Increase) {
        let scl = self.distance();
        let congested = cx
            .now
            .saturating_since(self.last_congestion_detected)
            .as_secs_f64();
        let post_congestion = POST_CONGESTION_DELAY_RTTS * VIRTUAL_RTT.max(cx.s_rtt);
        let post_congestion_scale = (congested / post_congestion).clamp(0.0, 1.0);
        let ref_wnd_ratio = (self.mss / self.ref_wnd).min(1.0);
        let unmarked = (cx.bytes_newly_acked - cx.bytes_newly_acked_ce).max(0.0);
        let mut increment = unmarked * ref_wnd_ratio;
        increment *= (cx.s_rtt / VIRTUAL_RTT).min(1.0);
        increment *= scl.max(0.25);
        // ref_wnd_scale_factor, 1 + (MUL_INCREASE_FACTOR * ref_wnd) / MSS, above 1
        let multiplicative = MUL_INCREASE_FACTOR * self.ref_wnd / self.mss;
        increment *= 1.0 + multiplicative * post_congestion_scale * scl;
        let max_allowed = self.mss + cx.max_bytes_in_flight * BYTES_IN_FLIGHT_HEAD_ROOM;
        let increased = self.ref_wnd + increment;
        if increased > self.ref_wnd && increased <= max_allowed && !cx.is_target_max {
            self.ref_wnd = increased;
            self.ref_wnd_i_update_allowed = true;
        }
    }
}

/// 4.5.3: the scale of a reduction whose target is far below what is acknowledged already.
fn undershoot(cx: &Congestion) -> f64 {
    if cx.target_bitrate < cx.acked_bitrate * ACKED_BITRATE_MARGIN {
        BACKOFF_SCALE_LOW_TARGET_RATE
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn window() -> ReferenceWindow {
        ReferenceWindow::new(Bytes::new(1000), 20_000.0)
    }

    fn congestion(ms: u64) -> Congestion {
        Congestion {
            now: at(ms),
            s_rtt: 0.05,
            is_l4s: true,
            l4s_alpha: 0.4,
            qdelay: 0.02,
            qdelay_avg: 0.02,
            max_bytes_in_flight_prev: 15_000.0,
            target_bitrate: 1e6,
            acked_bitrate: 1e6,
        }
    }

    fn close(window: &ReferenceWindow, expected: f64) {
        let got = window.ref_wnd();
        assert!((got - expected).abs() < 1e-6, "{got} instead of {expected}");
    }

    #[test]
    fn section_4_2_2_1_loss_and_classic_ecn() {
        let mut window = window();
        window.on_signals(true, true);
        window.reduce(&congestion(1000));
        close(&window, 14_000.0);
        window.on_signals(false, true);
        let classic = Congestion {
            is_l4s: false,
            ..congestion(1010)
        };
        window.reduce(&classic);
        close(&window, 14_000.0); // 25 ms have not passed
        window.reduce(&Congestion {
            now: at(1025),
            ..classic
        });
        close(&window, 11_200.0);
        for i in 0..20 {
            window.on_signals(true, false);
            window.reduce(&congestion(1100 + 50 * i));
        }
        close(&window, 3000.0);
    }

    /// 0.4 / 2, halved as s_rtt is twice the virtual one: 0.1. With little queue delay and far from the maximum 0.1
    /// too; close to it 0.025.
    #[test]
    fn section_4_2_2_1_l4s() {
        let mut window = window();
        window.on_signals(false, true);
        window.reduce(&congestion(1000));
        close(&window, 18_000.0);
        let mut window = self::window();
        let short = Congestion {
            qdelay: 0.01,
            ..congestion(1000)
        };
        window.on_signals(false, true);
        window.reduce(&short);
        close(&window, 18_000.0); // the inflection point was 1 byte
        // now it is 20,000: (8 x 0.1)^2 = 0.64
        window.on_signals(false, true);
        window.reduce(&Congestion {
            now: at(1050),
            ..short
        });
        close(&window, 18_000.0 * (1.0 - 0.1 * 0.64));
    }

    #[test]
    fn section_4_2_2_1_after_a_long_time_the_window_is_what_was_in_flight() {
        let mut window = window();
        window.on_signals(false, true);
        window.reduce(&congestion(5001));
        close(&window, 15_000.0 * 0.9);
    }

    /// (45 - 30) / 30 = 0.5: 0.25, halved: 0.125.
    #[test]
    fn section_4_2_2_1_virtual_marks_by_delay() {
        let mut window = window();
        window.reduce(&congestion(1000));
        close(&window, 20_000.0);
        let delayed = Congestion {
            qdelay_avg: 0.045,
            ..congestion(1000)
        };
        window.reduce(&delayed);
        close(&window, 17_500.0);
        // 4.5.3: a quarter if the target is below 0.8 of what is acknowledged
        let mut window = self::window();
        window.reduce(&Congestion {
            target_bitrate: 0.79e6,
            ..delayed
        });
        close(&window, 20_000.0 * (1.0 - 0.125 / 4.0));
    }

    fn increase() -> Increase {
        Increase {
            now: at(10_000),
            s_rtt: 0.05,
            bytes_newly_acked: 20_000.0,
            bytes_newly_acked_ce: 0.0,
            max_bytes_in_flight: 20_000.0,
            is_target_max: false,
        }
    }

    /// A window acknowledged is an MSS; 5 s after congestion, times 1 + 0.02 x 20.
    #[test]
    fn section_4_2_2_2_increase() {
        let mut window = window();
        window.increase(&increase());
        close(&window, 20_000.0 + 1000.0 * 1.4);
        // half of it marked, right after congestion and at the maximum: a quarter of 500, no factor but 1 + 0
        let mut window = self::window();
        window.ref_wnd_i = 20_000.0;
        window.last_congestion_detected = at(10_000);
        window.increase(&Increase {
            bytes_newly_acked_ce: 10_000.0,
            ..increase()
        });
        close(&window, 20_125.0);
    }

    #[test]
    fn section_4_2_2_2_limits() {
        let mut window = window();
        window.increase(&Increase {
            max_bytes_in_flight: 13_000.0, // 1000 + 19,500
            ..increase()
        });
        close(&window, 20_000.0);
        window.increase(&Increase {
            is_target_max: true,
            ..increase()
        });
        close(&window, 20_000.0);
        // an RTT of half the virtual one: half of it
        let mut window = self::window();
        window.increase(&Increase {
            s_rtt: 0.0125,
            ..increase()
        });
        close(&window, 20_000.0 + 500.0 * 1.4);
    }
}
