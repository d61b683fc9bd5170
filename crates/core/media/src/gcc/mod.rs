//! GCC, the congestion control of browsers' calls.
//!
//! Sources: draft-ietf-rmcat-gcc-02 (sections by number below); Carlucci et al., *Analysis and design of the Google
//! congestion control for WebRTC*, MMSys 2016 (the adaptive threshold); and, where stated, libwebrtc
//! (`modules/congestion_controller/goog_cc`). Both controllers run at the sender (section 3, first version), with
//! transport-wide feedback. Units: ms for delays and bit/s for rates, as `f64` inside.
//!
//! ```text
//!   feedback -> groups (5.2) -> trend (5.3) -> over-use (5.4) -> rate by delay (5.5) --\
//!           \-> received rate (5.5) ---------------------------/                        min -> target
//!            \-> lost packets ------------------------------------> rate by loss (6) --/
//! ```
//!
//! ECN is ignored: neither draft nor libwebrtc has an answer to marks.
//!
//! *Deviations.*
//! - 5.3: the draft "is using" a Kalman filter and allows any adaptive filter; ours is the trendline estimator that
//!   replaced it in libwebrtc, with its gains of the threshold (`trendline.rs`).
//! - 5.5: an over-use never raises the estimate (the draft sets 0.85 R whatever the estimate was), and 1.5 R bounds
//!   the increase, it lowers nothing. Both as libwebrtc.
//! - 6: losses are counted over at least 20 packets (libwebrtc), as a message about five of which one is lost is no
//!   loss of 20 %; a decrease begins from the smaller of both estimates, so that it has an effect.
//! - No probing: the draft has none, libwebrtc sends bursts of padding to find the rate at the start and after it was
//!   limited by the application. So the rate rises by 8 % in a second at most.
//! - No timeout: the draft has none for feedback that stays away.

mod groups;
mod loss;
mod rate;
mod received;
mod trendline;

use crate::history::History;
use crate::{Feedback, MediaController, RateLimits, SentPacket};
use groups::Groups;
use loss::LossBased;
use rate::DelayBased;
use received::ReceivedRate;
use trendline::Trendline;
use units::{BitRate, Duration, Instant};

/// The pacer's rate, of the target (libwebrtc, `PacingController::kDefaultPaceMultiplier`).
const PACING_FACTOR: f64 = 2.5;

/// Packets are forgotten after this time.
const HISTORY: Duration = Duration::from_secs(10);

/// What the detector of section 5.4 signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Normal,
    Overuse,
    Underuse,
}

/// GCC.
#[derive(Clone, Debug)]
pub struct Gcc {
    limits: RateLimits,
    history: History,
    groups: Groups,
    trendline: Trendline,
    received: ReceivedRate,
    by_delay: DelayBased,
    by_loss: LossBased,
    rtt: Option<Duration>,
}

impl Gcc {
    /// One whose rate begins and stays as these limits state.
    pub fn new(limits: RateLimits) -> Self {
        Self {
            limits,
            history: History::default(),
            groups: Groups::default(),
            trendline: Trendline::default(),
            received: ReceivedRate::default(),
            by_delay: DelayBased::new(limits),
            by_loss: LossBased::new(limits),
            rtt: None,
        }
    }

    /// The smaller of both estimates (section 6), bit/s.
    fn target(&self) -> f64 {
        let both = self.by_delay.estimate().min(self.by_loss.estimate());
        self.limits.clamp(both)
    }
}

impl MediaController for Gcc {
    fn name(&self) -> &'static str {
        "gcc"
    }

    fn on_packet_sent(&mut self, now: Instant, packet: SentPacket) {
        self.history.on_sent(now, packet);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
        let (mut lost, mut reported) = (0, 0);
        for report in &feedback.packets {
            let Some(received) = report.received else {
                if self.history.on_missing(now, report.seq) {
                    reported += 1;
                    lost += 1;
                }
                continue;
            };
            let Some(acked) = self.history.on_received(now, report.seq) else {
                continue;
            };
            // what had counted as lost was counted then
            reported += u64::from(acked.was_missing.is_none());
            let sent_at = acked.record.sent_at;
            let waited = feedback.made_at.saturating_since(received.at);
            self.rtt = Some(now.saturating_since(sent_at).saturating_sub(waited));
            self.received.on_packet(received.at, acked.record.bytes);
            if let Some(delta) = self.groups.on_packet(sent_at, received.at) {
                self.trendline.update(delta);
            }
        }
        self.history.forget(now - HISTORY);
        if reported == 0 {
            return;
        }
        let rtt = self.rtt.unwrap_or_default();
        let received = self.received.rate();
        self.by_delay
            .update(now, self.trendline.signal(), received, rtt);
        self.by_loss
            .update(lost, reported, self.by_delay.estimate());
    }

    fn target_bitrate(&self) -> BitRate {
        BitRate::from_bps(self.target().round() as u64)
    }

    fn pacing_rate(&self) -> BitRate {
        BitRate::from_bps((self.target() * PACING_FACTOR).round() as u64)
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt
    }
}
