//! SCReAMv2, self-clocked rate adaptation for media, with L4S.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2-01, sections by number below; names of variables and constants are the
//! draft's. Units: bytes, seconds and bit/s, as `f64` inside.
//!
//! ```text
//!   feedback -> queue delay (4.2.1.4) ----\
//!          \--> lost, marked (4.2.1.1-3) ---> reference window (4.2.2) -> send window (4.3.1), pacing (4.3.2)
//!                                                    \-> media rate (4.4) <- frames: size, time in the pacer
//! ```
//!
//! *Deviations.*
//! - The window is updated at each feedback. The draft states once for each round-trip time, but its increment is
//!   proportional to what is newly acknowledged, so the growth is the same.
//! - 4.2.1.1: the reordering window begins with a quarter of s_rtt (RFC 8985 6.2; the draft gives no first value), and is
//!   s_rtt at most.
//! - Start: with the first round-trip time, ref_wnd becomes what gives the configured first rate, so that it can be
//!   chosen; before, target_bitrate is that rate and the window is of 100 ms.
//! - When the window is closed, a packet may leave each 192 ms all the same, 1,200 bytes at RATE_PACE_MIN: section 8
//!   mentions "the minimum send rate" without feedback and no section defines it.
//! - Of the optional parts only 4.5.3 (undershoot) is here. REDUCE_JITTER is off, as is its default, so that
//!   ref_wnd_delay_scale is 1 and ref_wnd_overhead REF_WND_OVERHEAD_MAX. Clock drift (4.5.1), policers (4.5.2) and
//!   competing flows (4.5.4) are not.
//! - Limiting ref_wnd by a history of max_bytes_in_flight at TARGET_BITRATE_MAX (end of 4.2.2.2) is left to the
//!   implementation that the draft refers to; here only the increase stops there.
//! - The target is of UDP payloads, RTP's header included, as all sizes of this crate are: PACKET_OVERHEAD is left out.

mod delay;
mod marks;
mod rate;
mod window;

use crate::history::History;
use crate::{EncodedFrame, Feedback, MediaController, RateLimits, SentPacket};
use delay::QueueDelay;
use marks::Marks;
use rate::{MediaRate, pacing_rate};
use units::{BitRate, Bytes, Duration, Ecn, Instant};
use window::{Congestion, Increase, ReferenceWindow};

/// REF_WND_OVERHEAD_MAX (4.3.1): ref_wnd_overhead with a ref_wnd_delay_scale of 1.
const REF_WND_OVERHEAD: f64 = 3.0;
/// VIRTUAL_RTT (4.2.2), s.
const VIRTUAL_RTT: f64 = 0.025;
/// RATE_PACE_MIN (4.3.2).
const RATE_PACE_MIN: BitRate = BitRate::from_bps(50_000);
/// The window before the first feedback, s of the first rate.
const FIRST_WINDOW: f64 = 0.1;
/// Packets are forgotten after this time.
const HISTORY: Duration = Duration::from_secs(10);

/// What congestion control makes of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// Packets are not ECN-capable.
    #[default]
    Off,
    /// ECT(0): a mark is one congestion event of a fixed factor (4.2.1.2).
    Classic,
    /// ECT(1): the share of marked packets counts (4.2.1.3).
    L4s,
}

/// How SCReAM is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreamConfig {
    /// Between what the target is: TARGET_BITRATE_MIN and TARGET_BITRATE_MAX, and where it begins.
    pub limits: RateLimits,
    /// What marks mean.
    pub ecn: EcnMode,
    /// MSS: the largest packet's UDP payload.
    pub mss: Bytes,
    /// frame_period.
    pub frame_period: Duration,
}

/// SCReAMv2.
#[derive(Clone, Debug)]
pub struct Scream {
    config: ScreamConfig,
    history: History,
    /// s_rtt, s.
    s_rtt: Option<f64>,
    /// Largest reordering seen, s.
    reordering: f64,
    delay: QueueDelay,
    marks: Marks,
    window: ReferenceWindow,
    rate: MediaRate,
    acked: AckedBitrate,
    /// Sent up to the packet of the highest number that came, bytes.
    acked_bytes: Bytes,
    /// Number after that.
    next_unacked: u64,
    /// This round trip's and the one's before, bytes.
    max_bytes_in_flight: f64,
    max_bytes_in_flight_prev: f64,
    round_began: Instant,
    last_sent: Instant,
    last_size: Bytes,
}

/// acked_bitrate (4.5.3).
#[derive(Clone, Copy, Debug, Default)]
struct AckedBitrate {
    bytes: f64,
    since: Option<Instant>,
    bps: f64,
}

impl AckedBitrate {
    /// So many bytes were newly acknowledged; the average is over one round trip, or two frames if they are longer.
    fn on_acked(&mut self, now: Instant, bytes: f64, over: f64) {
        let since = *self.since.get_or_insert(now);
        self.bytes += bytes;
        let time = now.saturating_since(since).as_secs_f64();
        if time > 0.0 && time >= over {
            self.bps = self.bytes * 8.0 / time;
            *self = Self {
                bytes: 0.0,
                since: Some(now),
                ..*self
            };
        }
    }
}

/// What one feedback message was about.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    delivered: u64,
    marked: u64,
    /// bytes_newly_acked and bytes_newly_acked_ce.
    newly_acked: f64,
    newly_acked_ce: f64,
    /// The packet of the highest number: when it left and came, and how long that was before the message.
    highest: Option<(Instant, Instant, Duration)>,
}

impl Scream {
    /// One that begins as configured.
    pub fn new(config: ScreamConfig) -> Self {
        let start = config.limits.start().as_bps() as f64;
        Self {
            config,
            history: History::default(),
            s_rtt: None,
            reordering: 0.0,
            delay: QueueDelay::default(),
            marks: Marks::default(),
            window: ReferenceWindow::new(config.mss, start * FIRST_WINDOW / 8.0),
            rate: MediaRate::new(config.limits, config.mss, config.frame_period),
            acked: AckedBitrate::default(),
            acked_bytes: Bytes::ZERO,
            next_unacked: 0,
            max_bytes_in_flight: 0.0,
            max_bytes_in_flight_prev: 0.0,
            round_began: Instant::ZERO,
            last_sent: Instant::ZERO,
            last_size: config.mss,
        }
    }

    /// 4.1.1: what was sent after the packet of the highest number that came.
    fn bytes_in_flight(&self) -> f64 {
        let sent = self.history.sent_bytes();
        sent.saturating_sub(self.acked_bytes).get() as f64
    }

    /// 4.1.1: the maxima of this round trip and the one before.
    fn count_in_flight(&mut self, now: Instant) {
        let round = Duration::from_secs_f64(self.s_rtt.unwrap_or(VIRTUAL_RTT));
        if now.saturating_since(self.round_began) >= round {
            self.round_began = now;
            self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
            self.max_bytes_in_flight = 0.0;
        }
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(self.bytes_in_flight());
    }

    /// 4.1.2: what is new in a message.
    fn read(&mut self, now: Instant, feedback: &Feedback) -> Reported {
        let mut reported = Reported::default();
        for report in &feedback.packets {
            let Some(received) = report.received else {
                continue; // judged by the highest that came
            };
            let Some(acked) = self.history.on_received(now, report.seq) else {
                continue;
            };
            if let Some(missing) = acked.was_missing {
                // 4.2.1.1: the window follows the reordering
                self.reordering = self.reordering.max(missing.as_secs_f64());
            }
            let is_marked = received.ecn == Ecn::Ce && self.config.ecn != EcnMode::Off;
            reported.delivered += 1;
            reported.marked += u64::from(is_marked);
            if is_marked {
                reported.newly_acked_ce += acked.record.bytes.get() as f64;
            }
            if report.seq >= self.next_unacked {
                self.next_unacked = report.seq.saturating_add(1);
                let sent = acked.record.sent_bytes;
                reported.newly_acked += sent.saturating_sub(self.acked_bytes).get() as f64;
                self.acked_bytes = self.acked_bytes.max(sent);
                let waited = feedback.made_at.saturating_since(received.at);
                reported.highest = Some((acked.record.sent_at, received.at, waited));
            }
        }
        reported
    }

    /// RFC 6298: a smoothed round-trip time, without the time that the receiver held the report.
    fn on_rtt(&mut self, rtt: f64) {
        if let Some(s_rtt) = &mut self.s_rtt {
            *s_rtt += (rtt - *s_rtt) / 8.0;
        } else {
            self.s_rtt = Some(rtt);
            let start = self.config.limits.start().as_bps() as f64;
            self.window.begin(self.rate.window_for(start, rtt));
        }
    }
}

impl MediaController for Scream {
    fn name(&self) -> &'static str {
        "scream"
    }

    fn on_packet_sent(&mut self, now: Instant, packet: SentPacket) {
        self.history.on_sent(now, packet);
        self.last_sent = now;
        self.last_size = packet.bytes;
        self.count_in_flight(now);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {
        let reported = self.read(now, feedback);
        if let Some((sent_at, at, waited)) = reported.highest {
            let rtt = now.saturating_since(sent_at).saturating_sub(waited);
            self.on_rtt(rtt.as_secs_f64().max(1e-3));
            self.delay.on_packet(now, sent_at, at);
        }
        let Some(s_rtt) = self.s_rtt else {
            return;
        };
        self.delay.update(now, VIRTUAL_RTT.min(s_rtt));
        self.marks
            .on_feedback(now, reported.delivered, reported.marked, s_rtt);
        self.history.miss_before(now, self.next_unacked);
        let reordering = self.reordering.max(s_rtt / 4.0).min(s_rtt);
        let reordering = Duration::from_secs_f64(reordering);
        let lost = self.history.take_lost(now, reordering);
        self.history.forget(now - HISTORY);
        let two_frames = 2.0 * self.config.frame_period.as_secs_f64();
        self.acked
            .on_acked(now, reported.newly_acked, s_rtt.max(two_frames));
        self.count_in_flight(now);
        self.window.on_signals(lost > 0, reported.marked > 0);
        self.window.reduce(&Congestion {
            now,
            s_rtt,
            is_l4s: self.config.ecn == EcnMode::L4s,
            l4s_alpha: self.marks.l4s_alpha(),
            qdelay: self.delay.qdelay(),
            qdelay_avg: self.delay.qdelay_avg(),
            max_bytes_in_flight_prev: self.max_bytes_in_flight_prev,
            target_bitrate: self.rate.target(),
            acked_bitrate: self.acked.bps,
        });
        self.window.increase(&Increase {
            now,
            s_rtt,
            bytes_newly_acked: reported.newly_acked,
            bytes_newly_acked_ce: reported.newly_acked_ce,
            max_bytes_in_flight: self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev),
            is_target_max: self.rate.is_max(),
        });
        self.rate.update(self.window.ref_wnd(), s_rtt);
    }

    fn on_frame(&mut self, frame: EncodedFrame) {
        self.rate.on_frame(frame);
    }

    fn target_bitrate(&self) -> BitRate {
        BitRate::from_bps(self.rate.target().round() as u64)
    }

    fn pacing_rate(&self) -> BitRate {
        let max = self.config.limits.max().as_bps() as f64;
        let bps = pacing_rate(self.rate.target(), max, RATE_PACE_MIN.as_bps() as f64);
        BitRate::from_bps(bps.round() as u64)
    }

    fn window_opens_at(&self, bytes: Bytes) -> Instant {
        // 4.3.1: send_wnd = ref_wnd * ref_wnd_overhead - bytes_in_flight
        let send_wnd = self.window.ref_wnd() * REF_WND_OVERHEAD - self.bytes_in_flight();
        if send_wnd >= bytes.get() as f64 {
            return Instant::ZERO;
        }
        self.last_sent + self.last_size / RATE_PACE_MIN
    }

    fn rtt(&self) -> Option<Duration> {
        self.s_rtt.map(Duration::from_secs_f64)
    }
}

#[cfg(test)]
mod tests;
