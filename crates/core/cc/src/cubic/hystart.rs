//! HyStart: leaves slow start before the buffer overflows.
//!
//! Source: Ha and Rhee, "Taming the Elephants: New TCP Slow Start" (2008), with the constants and
//! rules of Linux `tcp_cubic.c` (`hystart_update`, `hystart_ack_delay`, `cubictcp_acked`).
//!
//! Two signs show that the window is large enough, each looked for from a window of 16 segments on:
//! - *ack train*: acknowledgements not more than 2 ms apart have lasted for half of the minimum
//!   delay since the round began: the packets sent back to back fill the forward path. If the
//!   sender paces, they lie half a round trip apart anyway, and the whole delay counts.
//! - *delay*: the smallest of at least eight round-trip samples of this round exceeds the minimum by
//!   an eighth, at least 4 ms and at most 16 ms.
//!
//! *Deviations*
//! - Linux's clock ticks in microseconds; here nanoseconds are compared.
//! - The acknowledgement delay allowed for segmentation offload needs Linux's pacing rate in slow
//!   start, 2 cwnd / srtt, also where nothing is paced; it is computed here from cwnd and srtt.

use units::{Bytes, Duration, Instant};

/// Least cwnd in segments at which HyStart looks (`hystart_low_window`).
const LOW_WINDOW_SEGMENTS: u64 = 16;
/// Largest gap between acknowledgements of one train (`hystart_ack_delta_us`).
const ACK_DELTA: Duration = Duration::from_millis(2);
/// Bounds of the delay increase that counts (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_MIN: Duration = Duration::from_millis(4);
const DELAY_MAX: Duration = Duration::from_millis(16);
/// Samples before the delay of a round is judged (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Largest segmentation-offload packet (`GSO_MAX_SIZE`), for the delay it causes.
const GSO_MAX_SIZE: u64 = 65_536;
/// Largest delay allowed for segmentation offload.
const MAX_ACK_DELAY: Duration = Duration::from_millis(1);

/// One acknowledgement as HyStart sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub now: Instant,
    pub rtt: Duration,
    pub srtt: Duration,
    pub cwnd: Bytes,
    pub mss: Bytes,
    pub is_paced: bool,
    pub in_slow_start: bool,
}

/// What HyStart found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    AckTrain,
    Delay,
}

/// HyStart's memory of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStart {
    /// It has ended slow start once, and rests until a timeout.
    has_found: bool,
    /// Least delay since the start or the last timeout.
    min_delay: Option<Duration>,
    /// When this round began.
    round_start: Instant,
    /// Last acknowledgement of the train.
    last_ack: Instant,
    /// Least delay of this round.
    round_delay: Option<Duration>,
    /// Samples of this round, counted to [`MIN_SAMPLES`].
    samples: u32,
}

/// `hystart_ack_delay`: the time of four offloaded packets at rate 2 cwnd / srtt, at most 1 ms;
/// rounds down.
fn ack_delay(cwnd: Bytes, srtt: Duration) -> Duration {
    let ns = srtt.as_nanos().saturating_mul(4 * GSO_MAX_SIZE) / cwnd.get().saturating_mul(2).max(1);
    Duration::from_nanos(ns).min(MAX_ACK_DELAY)
}

/// How long a train must last.
fn train_threshold(min_delay: Duration, ack_delay: Duration, is_paced: bool) -> Duration {
    let whole = min_delay + ack_delay;
    if is_paced { whole } else { whole / 2 }
}

/// The delay above which a round shows a queue: an eighth more, within the bounds.
fn delay_threshold(min_delay: Duration) -> Duration {
    min_delay + (min_delay / 8).clamp(DELAY_MIN, DELAY_MAX)
}

impl HyStart {
    /// Forgets all, as Linux does at a timeout.
    pub(super) fn reset(&mut self, now: Instant) {
        *self = Self {
            round_start: now,
            last_ack: now,
            ..Self::default()
        };
    }

    /// A round trip of slow start begins.
    pub(super) fn start_round(&mut self, now: Instant) {
        self.round_start = now;
        self.last_ack = now;
        self.round_delay = None;
        self.samples = 0;
    }

    /// Looks at an acknowledgement that came with a round-trip sample; states whether slow start ends.
    pub(super) fn on_ack(&mut self, seen: &Observation) -> Option<Found> {
        let min_delay = self.min_delay.map_or(seen.rtt, |min| min.min(seen.rtt));
        self.min_delay = Some(min_delay);
        if self.has_found || !seen.in_slow_start {
            return None;
        }
        if seen.cwnd < seen.mss * LOW_WINDOW_SEGMENTS {
            return None;
        }
        let found = if self.is_train_long(seen, min_delay) {
            Some(Found::AckTrain)
        } else if self.has_delay_grown(seen.rtt, min_delay) {
            Some(Found::Delay)
        } else {
            None
        };
        self.has_found = found.is_some();
        found
    }

    fn is_train_long(&mut self, seen: &Observation, min_delay: Duration) -> bool {
        if seen.now.saturating_since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = seen.now;
        let threshold = train_threshold(min_delay, ack_delay(seen.cwnd, seen.srtt), seen.is_paced);
        seen.now.saturating_since(self.round_start) > threshold
    }

    fn has_delay_grown(&mut self, rtt: Duration, min_delay: Duration) -> bool {
        let round_delay = self.round_delay.map_or(rtt, |min| min.min(rtt));
        self.round_delay = Some(round_delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        round_delay > delay_threshold(min_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1_500);

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn seen(at: Duration, rtt: Duration) -> Observation {
        Observation {
            now: Instant::ZERO + at,
            rtt,
            srtt: rtt,
            cwnd: MSS * 16,
            mss: MSS,
            is_paced: false,
            in_slow_start: true,
        }
    }

    #[test]
    fn linux_thresholds() {
        // an eighth of 8 ms is below the floor, of 80 ms between, of 400 ms above the ceiling
        assert_eq!(delay_threshold(ms(8)), ms(12));
        assert_eq!(delay_threshold(ms(80)), ms(90));
        assert_eq!(delay_threshold(ms(400)), ms(416));
        // 262144 B at 2 * 131072 B / 1 ms take 1 ms; four times the window, a quarter
        assert_eq!(ack_delay(Bytes::new(131_072), ms(1)), ms(1));
        assert_eq!(
            ack_delay(Bytes::new(524_288), ms(1)),
            Duration::from_micros(250)
        );
        assert_eq!(ack_delay(Bytes::new(15_000), ms(100)), ms(1));
        assert_eq!(train_threshold(ms(99), ms(1), false), ms(50));
        assert_eq!(train_threshold(ms(99), ms(1), true), ms(100));
    }

    /// Acknowledgements `gap` apart from the start of a round; states after which time HyStart fires.
    fn fires_after(gap: Duration, change: impl Fn(&mut Observation)) -> Option<Duration> {
        let mut hystart = HyStart::default();
        hystart.start_round(Instant::ZERO);
        (0..200).map(|i| gap * i).find(|&at| {
            let mut ack = seen(at, ms(99));
            change(&mut ack);
            hystart.on_ack(&ack) == Some(Found::AckTrain)
        })
    }

    #[test]
    fn a_train_of_half_the_delay_ends_slow_start() {
        // min delay 99 ms + 1 ms: more than 50 ms without pacing, more than 100 ms with it
        assert_eq!(fires_after(ms(2), |_| ()), Some(ms(52)));
        assert_eq!(fires_after(ms(2), |ack| ack.is_paced = true), Some(ms(102)));
        // the chain breaks where acknowledgements are more than 2 ms apart
        assert_eq!(fires_after(Duration::from_micros(2_001), |_| ()), None);
        // below 16 segments nothing is looked for
        assert_eq!(
            fires_after(ms(2), |ack| ack.cwnd = MSS * 16 - Bytes::new(1)),
            None
        );
    }

    #[test]
    fn the_ninth_sample_of_a_delayed_round_ends_slow_start() {
        let mut hystart = HyStart::default();
        hystart.on_ack(&seen(ms(0), ms(80)));
        // samples 3 ms apart make no train; 90 ms is the threshold and not above it
        for round in [ms(90), Duration::from_micros(90_001)] {
            hystart.start_round(Instant::ZERO + round * 10);
            let results: Vec<_> = (1..10)
                .map(|i| hystart.on_ack(&seen(round * 10 + ms(3) * i, round)))
                .collect();
            assert!(results[..8].iter().all(Option::is_none));
            assert_eq!(results[8], (round > ms(90)).then_some(Found::Delay));
        }
    }

    #[test]
    fn it_rests_after_its_first_find_until_a_timeout() {
        let mut hystart = HyStart::default();
        let train = |hystart: &mut HyStart| {
            hystart.start_round(Instant::ZERO);
            (0..100).any(|i| hystart.on_ack(&seen(ms(2) * i, ms(99))).is_some())
        };
        assert!(train(&mut hystart));
        assert!(!train(&mut hystart));
        hystart.reset(Instant::ZERO);
        assert!(train(&mut hystart));
    }
}
