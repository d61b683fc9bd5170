//! The media rate and the pacing rate (sections 4.4 and 4.3.2).

use crate::{EncodedFrame, RateLimits};
use units::{Bytes, Duration};

/// RATE_ADJUST_GAIN.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
/// FRAME_SIZE_DEV_ALPHA.
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// PACKET_PACING_HEADROOM.
const PACKET_PACING_HEADROOM: f64 = 1.5;
/// MAX_RELAXED_PACING_FACTOR.
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
/// RELAXED_PACING_LIMIT_LOW.
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;

/// pace_bitrate (4.3.2), bit/s.
pub(super) fn pacing_rate(target: f64, target_max: f64, rate_pace_min: f64) -> f64 {
    let pace = rate_pace_min.max(target) * PACKET_PACING_HEADROOM;
    let nominal = target / target_max;
    let scale = (nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW);
    let scale = (1.0 - scale.min(1.0)).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
    pace / scale
}

/// target_bitrate.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaRate {
    limits: RateLimits,
    mss: f64,
    frame_period: f64,
    /// bit/s.
    target: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
}

impl MediaRate {
    /// The first rate.
    pub(super) fn new(limits: RateLimits, mss: Bytes, frame_period: Duration) -> Self {
        Self {
            limits,
            mss: mss.get() as f64,
            frame_period: frame_period.as_secs_f64().max(1e-3),
            target: limits.start().as_bps() as f64,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
        }
    }

    /// target_bitrate, bit/s.
    pub(super) fn target(&self) -> f64 {
        self.target
    }

    /// Whether it is TARGET_BITRATE_MAX.
    pub(super) fn is_max(&self) -> bool {
        self.target >= self.limits.max().as_bps() as f64
    }

    /// A frame goes into the pacer.
    pub(super) fn on_frame(&mut self, frame: EncodedFrame) {
        let media_qdelay = frame.queue_delay.as_secs_f64();
        let error = (media_qdelay - self.frame_period / 4.0) / self.frame_period;
        let factor = self.rate_adjust_factor + error * RATE_ADJUST_GAIN;
        self.rate_adjust_factor = factor.clamp(0.0, 0.5);
        let nominal = self.target * self.frame_period / 8.0;
        let deviation = ((frame.bytes.get() as f64 - nominal) / nominal).max(0.0);
        let averaged =
            (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = averaged.min(0.2);
    }

    /// What the target is of 8 ref_wnd / s_rtt.
    fn share(&self, ref_wnd: f64) -> f64 {
        let ref_wnd_ratio = (self.mss / ref_wnd).min(1.0);
        let small_window = 1.0 - (ref_wnd_ratio - 0.1).clamp(0.0, 0.2);
        small_window / (1.2 + self.rate_adjust_factor + self.frame_size_dev)
    }

    /// The target for a window.
    pub(super) fn update(&mut self, ref_wnd: f64, s_rtt: f64) {
        let target = self.share(ref_wnd) * 8.0 * ref_wnd / s_rtt;
        self.target = self.limits.clamp(target);
    }

    /// About the window that gives a target.
    pub(super) fn window_for(&self, target: f64, s_rtt: f64) -> f64 {
        let ref_wnd = target * s_rtt / 8.0;
        ref_wnd / self.share(ref_wnd.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    fn rate() -> MediaRate {
        let bps = BitRate::from_bps;
        let limits = RateLimits::new(bps(150_000), bps(1_000_000), bps(8_000_000)).unwrap();
        MediaRate::new(limits, Bytes::new(1000), Duration::from_millis(40))
    }

    /// 8 x 15,000 / 0.05 = 2.4 Mbit/s; / 1.2 = 2. With 5,000 bytes the ratio is 0.2: 0.9 x 0.8 / 1.2 = 0.6.
    #[test]
    fn section_4_4_target_by_hand() {
        let mut rate = rate();
        rate.update(15_000.0, 0.05);
        assert!((rate.target() - 2e6).abs() < 1e-6, "{}", rate.target());
        rate.update(5_000.0, 0.05);
        assert!((rate.target() - 6e5).abs() < 1e-6, "{}", rate.target());
        rate.update(1e9, 0.05);
        assert!(rate.is_max());
        rate.update(1.0, 0.05);
        assert_eq!(rate.target(), 150_000.0);
        assert!((rate.window_for(2e6, 0.05) - 15_000.0).abs() < 1e-6);
    }

    /// (50 - 10) / 40 / 16 = 0.0625; a frame of twice 5,000 bytes: 1/64.
    #[test]
    fn section_4_4_frames_by_hand() {
        let mut rate = rate();
        rate.on_frame(EncodedFrame {
            bytes: Bytes::new(10_000),
            queue_delay: Duration::from_millis(50),
        });
        assert!((rate.rate_adjust_factor - 0.0625).abs() < 1e-12);
        assert!((rate.frame_size_dev - 1.0 / 64.0).abs() < 1e-12);
        for _ in 0..1000 {
            rate.on_frame(EncodedFrame {
                bytes: Bytes::new(100_000),
                queue_delay: Duration::from_secs(9),
            });
        }
        assert_eq!((rate.rate_adjust_factor, rate.frame_size_dev), (0.5, 0.2));
    }

    /// 1.5 x; from 0.8 of the maximum on faster, 4 times as fast at most: 0.9 is half way.
    #[test]
    fn section_4_3_2_pacing_by_hand() {
        let pace = |target| pacing_rate(target, 8e6, 50e3);
        assert_eq!(pace(1e6), 1.5e6);
        assert_eq!(pace(10e3), 75e3);
        assert!((pace(7.2e6) - 1.5 * 7.2e6 / 0.5).abs() < 1.0);
        assert!((pace(8e6) - 48e6).abs() < 1.0);
    }
}
