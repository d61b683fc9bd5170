//! What is measured of a call.

use super::Samples;
use media::{ArrivedFrame, MediaPacket};
use scenario::CallResult;
use std::collections::VecDeque;
use units::{BitRate, Bytes, Duration, Instant};

/// Gaps between frames whose mean a gap is compared with: those of a second.
const GAPS: usize = 30;
/// Before so many, none is a freeze.
const MIN_GAPS: usize = 5;
/// A freeze is more than so many times the mean gap ...
const TIMES_MEAN: f64 = 3.0;
/// ... and more than this above it.
const ABOVE_MEAN: Duration = Duration::from_millis(150);

/// Freezes: gaps between two frames, each shown as it comes, of more than max(3 x mean, mean + 150 ms), the mean being
/// that of up to 30 gaps before. These are the numbers of WebRTC's `freezeCount`; a freeze lasts the whole gap, as in
/// `totalFreezesDuration`.
#[derive(Debug, Default)]
struct Freezes {
    shown_at: Option<Instant>,
    gaps: VecDeque<Duration>,
    sum: Duration,
    count: u64,
    frozen: Duration,
}

impl Freezes {
    /// A frame is shown.
    fn on_shown(&mut self, now: Instant) {
        self.judge(now);
        if let Some(before) = self.shown_at.replace(now) {
            let gap = now.saturating_since(before);
            self.gaps.push_back(gap);
            self.sum += gap;
            if self.gaps.len() > GAPS {
                let oldest = self.gaps.pop_front().unwrap_or_default();
                self.sum = self.sum.saturating_sub(oldest);
            }
        }
    }

    /// The gap that lasts until now.
    fn judge(&mut self, now: Instant) {
        let Some(before) = self.shown_at.filter(|_| self.gaps.len() >= MIN_GAPS) else {
            return;
        };
        let gap = now.saturating_since(before);
        let mean = self.sum / self.gaps.len() as u64;
        if gap > mean.mul_f64(TIMES_MEAN).max(mean + ABOVE_MEAN) {
            self.count += 1;
            self.frozen += gap;
        }
    }
}

/// Records a call.
#[derive(Debug)]
pub struct CallMeter {
    start: Instant,
    late_after: Duration,
    delay: Samples,
    late: u64,
    bytes: Bytes,
    packets: u64,
    /// Number after the last packet that came.
    next_seq: u64,
    /// Number of the last frame that was shown.
    shown: Option<u64>,
    freezes: Freezes,
}

impl CallMeter {
    /// A call that begins at `start`.
    pub fn new(start: Instant, late_after: Duration) -> Self {
        Self {
            start,
            late_after,
            delay: Samples::default(),
            late: 0,
            bytes: Bytes::ZERO,
            packets: 0,
            next_seq: 0,
            shown: None,
            freezes: Freezes::default(),
        }
    }

    /// A packet came.
    pub fn on_packet(&mut self, packet: &MediaPacket) {
        self.bytes += packet.bytes;
        self.packets += 1;
        self.next_seq = self.next_seq.max(packet.seq + 1);
    }

    /// A frame came whole.
    pub fn on_frame(&mut self, now: Instant, frame: ArrivedFrame) {
        let delay = now.saturating_since(frame.captured_at);
        self.delay.record(delay);
        self.late += u64::from(delay > self.late_after);
        // one that another has overtaken is not shown
        if self.shown.is_none_or(|shown| frame.number > shown) {
            self.shown = Some(frame.number);
            self.freezes.on_shown(now);
        }
    }

    /// The result of a run that ended at `end`, in which so many frames were sent at this mean target. A picture that
    /// stands still at the end is a freeze too.
    pub fn finish(&mut self, end: Instant, frames_sent: u64, target: BitRate) -> CallResult {
        self.freezes.judge(end);
        let active = end.saturating_since(self.start);
        let frame_delay = self.delay.distribution();
        CallResult {
            frames_sent,
            frames_received: frame_delay.count,
            frame_delay,
            frames_late: self.late,
            freezes: self.freezes.count,
            frozen: self.freezes.frozen,
            bitrate: match active {
                Duration::ZERO => BitRate::ZERO,
                _ => BitRate::from_bytes_per(self.bytes, active),
            },
            target,
            packets_lost: self.next_seq.saturating_sub(self.packets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn meter() -> CallMeter {
        CallMeter::new(Instant::ZERO, Duration::from_millis(400))
    }

    fn frame(meter: &mut CallMeter, ms: u64, number: u64, delay: u64) {
        let arrived = ArrivedFrame {
            number,
            captured_at: at(ms - delay),
            bytes: Bytes::new(1000),
        };
        meter.on_frame(at(ms), arrived);
    }

    #[test]
    fn a_gap_above_150_ms_more_than_the_mean_is_a_freeze_of_its_length() {
        let freezes_after = |gap: u64| {
            let mut meter = meter();
            for i in 1..=30 {
                frame(&mut meter, 40 * i, i, 20);
            }
            frame(&mut meter, 1200 + gap, 31, 20);
            let result = meter.finish(at(1200 + gap), 31, BitRate::ZERO);
            (result.freezes, result.frozen)
        };
        assert_eq!(freezes_after(190), (0, Duration::ZERO));
        assert_eq!(freezes_after(191), (1, Duration::from_millis(191)));
    }

    #[test]
    fn at_low_frame_rates_it_is_three_times_the_mean() {
        let mut meter = meter();
        for i in 1..=10 {
            frame(&mut meter, 200 * i, i, 20);
        }
        frame(&mut meter, 2600, 11, 20);
        // 600 ms are three times 200; the end is 10 s later
        let result = meter.finish(at(12_600), 11, BitRate::ZERO);
        assert_eq!(
            (result.freezes, result.frozen),
            (1, Duration::from_secs(10))
        );
    }

    #[test]
    fn late_frames_are_shown_and_overtaken_ones_are_not() {
        let mut meter = meter();
        for i in 1..=10 {
            frame(&mut meter, 500 + 40 * i, i, 401);
        }
        frame(&mut meter, 901, 3, 361);
        let result = meter.finish(at(1000), 12, BitRate::from_mbps(1));
        assert_eq!((result.frames_sent, result.frames_received), (12, 11));
        assert_eq!((result.frames_late, result.freezes), (10, 0));
        assert!((result.frame_delay.max - 401.0).abs() < 1e-9);
    }

    #[test]
    fn packets_lost_are_those_missing_before_the_last() {
        let mut meter = meter();
        for seq in [0, 1, 4] {
            meter.on_packet(&MediaPacket {
                seq,
                frame: 0,
                captured_at: at(0),
                of_frame: 5,
                is_last: false,
                bytes: Bytes::new(1000),
            });
        }
        let result = meter.finish(at(1000), 1, BitRate::ZERO);
        assert_eq!(result.packets_lost, 2);
        assert_eq!(result.bitrate, BitRate::from_bps(24_000));
    }
}
