//! Frames of a video as an encoder makes them of a target rate.
//!
//! Ours: an encoder without look-ahead or content. A frame is as large as the target allows for one frame's time,
//! times a normally distributed factor; the target acts from the next frame on. Key frames, if there are any, are larger
//! by a factor, and the frames between them smaller so that the mean is the target.

use crate::ConfigError;
use units::{BitRate, Bytes, Duration, Instant, Rng};

/// The smallest frame: RTP's header and some payload.
const MIN_FRAME: Bytes = Bytes::new(60);

/// The least and most that the factor of a frame's size is.
const FACTOR: (f64, f64) = (0.2, 3.0);

/// How frames come about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Frames per second.
    pub frame_rate: u32,
    /// Standard deviation of a frame's size, of its mean.
    pub deviation: f64,
    /// From one key frame to the next, if there are any after the first frame.
    pub key_frame_interval: Option<Duration>,
    /// Size of a key frame, of the mean of all frames.
    pub key_frame_size: f64,
}

impl EncoderConfig {
    /// The time of one frame.
    pub fn frame_period(&self) -> Duration {
        Duration::from_secs(1) / u64::from(self.frame_rate.max(1))
    }

    /// Checks all fields.
    ///
    /// # Errors
    /// The first that is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(1..=1000).contains(&self.frame_rate) {
            return Err(ConfigError::FrameRate(self.frame_rate));
        }
        if !(0.0..=1.0).contains(&self.deviation) {
            return Err(ConfigError::Deviation(self.deviation.to_string()));
        }
        if !(1.0..=20.0).contains(&self.key_frame_size) {
            return Err(ConfigError::KeyFrameSize(self.key_frame_size.to_string()));
        }
        let least = self.frame_period() * 2;
        match self.key_frame_interval {
            Some(interval) if interval < least => Err(ConfigError::KeyFrames(interval)),
            _ => Ok(()),
        }
    }

    /// Frames from one key frame to the next.
    fn group(&self) -> Option<u64> {
        let interval = self.key_frame_interval?;
        Some((interval / self.frame_period()).max(2))
    }

    /// The size of frame `number`, of the mean.
    fn share(&self, number: u64) -> f64 {
        let Some(group) = self.group() else {
            return 1.0;
        };
        let key = self.key_frame_size.min(group as f64);
        if number.is_multiple_of(group) {
            return key;
        }
        (group as f64 - key) / (group as f64 - 1.0)
    }
}

/// A frame of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number among those that were encoded, from 0.
    pub number: u64,
    /// When it was captured and encoded.
    pub captured_at: Instant,
    /// The payload of its packets.
    pub bytes: Bytes,
}

/// An encoder.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    start: Instant,
    rng: Rng,
    /// Captures so far.
    captured: u64,
    /// Frames encoded, fewer by those that were skipped.
    encoded: u64,
}

impl Encoder {
    /// An encoder whose first frame is captured at `start`.
    ///
    /// # Errors
    /// The first field of the configuration that is out of range.
    pub fn new(config: EncoderConfig, start: Instant, rng: Rng) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            start,
            rng,
            captured: 0,
            encoded: 0,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// Frames encoded so far.
    pub fn encoded(&self) -> u64 {
        self.encoded
    }

    /// When the next frame is captured. Frame n is captured n / frame rate after the start, so that rounding does not
    /// add up.
    pub fn next_capture(&self) -> Instant {
        let ns = u128::from(self.captured) * 1_000_000_000 / u128::from(self.config.frame_rate);
        self.start + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The next capture is not encoded.
    pub fn skip(&mut self) {
        self.captured += 1;
    }

    /// Encodes the next capture at a target rate.
    pub fn encode(&mut self, target: BitRate) -> Frame {
        let captured_at = self.next_capture();
        let mean = target.as_bps() as f64 / 8.0 / f64::from(self.config.frame_rate);
        let factor = 1.0 + self.config.deviation * self.rng.normal();
        let factor = factor.clamp(FACTOR.0, FACTOR.1) * self.config.share(self.encoded);
        let number = self.encoded;
        self.captured += 1;
        self.encoded += 1;
        Frame {
            number,
            captured_at,
            bytes: Bytes::new((mean * factor).round() as u64).max(MIN_FRAME),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    fn encoder(deviation: f64, key_frame_interval: Option<Duration>) -> Encoder {
        let config = EncoderConfig {
            frame_rate: 30,
            deviation,
            key_frame_interval,
            key_frame_size: 4.0,
        };
        Encoder::new(config, Instant::ZERO, Streams::new(3).stream("encoder")).unwrap()
    }

    #[test]
    fn frames_have_the_rate_of_the_target() {
        let mut plain = encoder(0.0, None);
        let target = BitRate::from_bps(2_400_000);
        assert_eq!(plain.encode(target).bytes, Bytes::new(10_000));
        assert_eq!(plain.next_capture(), Instant::from_nanos(33_333_333));
        for _ in 0..2 {
            plain.skip();
        }
        assert_eq!(plain.next_capture(), Instant::from_nanos(100_000_000));
        assert_eq!(plain.encode(target).number, 1, "what is skipped has none");
        let mut noisy = encoder(0.2, Some(Duration::from_secs(1)));
        let sizes: Vec<u64> = (0..3000)
            .map(|_| noisy.encode(target).bytes.get())
            .collect();
        let mean = sizes.iter().sum::<u64>() as f64 / 3000.0;
        assert!((mean - 10_000.0).abs() < 200.0, "{mean}");
        let key = sizes.iter().step_by(30).sum::<u64>() as f64 / 100.0;
        assert!((key - 40_000.0).abs() < 2_000.0, "{key}");
    }

    #[test]
    fn nonsense_is_rejected_with_its_value() {
        let config = *encoder(0.0, None).config();
        let of = |config: EncoderConfig| config.check().unwrap_err().to_string();
        let deviation = EncoderConfig {
            deviation: f64::NAN,
            ..config
        };
        assert!(of(deviation).contains("NaN of their mean"));
        let frame_rate = EncoderConfig {
            frame_rate: 0,
            ..config
        };
        assert!(of(frame_rate).starts_with("0 frames per second"));
        let key_frames = EncoderConfig {
            key_frame_interval: Some(Duration::from_millis(40)),
            ..config
        };
        assert!(of(key_frames).starts_with("a key frame every 40 ms"));
        let key_frame_size = EncoderConfig {
            key_frame_size: 0.5,
            ..config
        };
        assert!(of(key_frame_size).starts_with("key frames of 0.5"));
    }
}
