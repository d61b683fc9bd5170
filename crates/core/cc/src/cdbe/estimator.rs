//! The client's bandwidth estimate: short sample windows inside a long window.
//!
//! Source: CDBE section III, equations 1 to 5. Times in microseconds, amounts in bytes, rates in bytes
//! a second; divisions round down.
//!
//! | equation | here |
//! | --- | --- |
//! | 2, sBW | `sample_rate` |
//! | 3, time_i | `paper_time` |
//! | 4, rBW | `smooth` |
//! | 5, beta | `beta` |
//!
//! *Readings*
//! - P_n is a segment's payload: pacing (equation 6) counts payload too.
//! - W_l is the round-trip time at the beginning of the long window, but not below five times t_min:
//!   below, a sample window would be shorter than the smallest time in equation 3.
//! - The sender's ticks are 1 ms (section III-A-1). Timestamps that run backwards (a segment sent
//!   again) count as no difference.
//!
//! *Mode `default`*: n segments that arrive in n - 1 intervals are counted over those intervals and the
//! one before, not over n - 1 (at 5 Mbit/s and 80 ms equation 2 measures a sixth too much). The report is
//! the bytes of the last five sample windows over their time, anew with each of them: a window in which a
//! retransmission held everything up and the one in which it all arrives weigh as much as they lasted (a
//! pause of the sender, which its timestamps show, is left out unless segments come as far apart all the
//! time), and the report is as old as a sample window, where equation 4 needs five long windows to discard
//! 99 % of the past.

use super::{INITIAL_REPORT, Mode};
use crate::{Arrival, RateReport, RateReporter, Reporter};

/// t_min of equation 3, us.
pub const MIN_TIME: u64 = 2_000;
/// Sample windows of a long window (section III-A-1).
pub const SAMPLES: u64 = 5;
/// Round-trip time before there is a measured one, us.
pub const NOMINAL_RTT: u64 = 100_000;
/// Longest long window, us: an absurd round-trip time must not stop the reports.
pub const MAX_WINDOW: u64 = 10_000_000;
/// Mode `default`: the same. A round trip of seconds is a queue, and what is seen after it is news.
pub const OUR_MAX_WINDOW: u64 = 300_000;
/// The constant 0.4 of equation 5, us if the gap is in us.
pub const BETA_GAP: u64 = 400_000;
/// Longest gap that equation 5 reckons with, us.
pub const MAX_GAP: u64 = 60_000_000;
/// Mode `default`: segments may be a round trip and this apart, us, and are one stream (the server's least
/// rate has them a quarter of RTT and 100 ms apart).
pub const MAX_SPACING: u64 = 50_000;
/// Mode `default`: a gap so many times the usual one is none of the stream.
pub const IRREGULAR: u64 = 4;
/// The sender's tick, us.
pub const TICK: u64 = 1_000;

/// How a client estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whose equations.
    pub mode: Mode,
    /// The report before the first long window has ended.
    pub initial_report: RateReport,
}

impl Config {
    /// The constants of the paper.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            initial_report: RateReport::new(INITIAL_REPORT),
        }
    }
}

/// A segment as the estimator counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// When it arrived, us.
    pub at: u64,
    /// Its payload, bytes.
    pub bytes: u64,
    /// The sender's timestamp, ticks; 0 for all where there are none.
    pub stamp: u32,
    /// The round-trip time, us; 0 if it is unknown.
    pub rtt: u64,
}

/// The state of the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// False before the first segment.
    pub is_running: bool,
    /// W_l, us; fixed as the long window begins.
    pub window: u64,
    /// When the long window began, us.
    pub long_at: u64,
    /// Sample windows that have ended in it.
    pub samples: u64,
    /// Mode `paper`: the sum of their rates, bytes a second.
    pub rates: u64,
    /// Mode `default`: bytes of the last sample windows, the newest first.
    pub past_bytes: [u64; SAMPLES as usize],
    /// Mode `default`: their times, us.
    pub past_time: [u64; SAMPLES as usize],
    /// When the sample window's head arrived, us.
    pub head_at: u64,
    /// The head's timestamp.
    pub head_stamp: u32,
    /// Bytes of the sample window.
    pub bytes: u64,
    /// Mode `default`: since when these bytes have been arriving, us.
    pub since: u64,
    /// When the last segment arrived, us.
    pub last_at: u64,
    /// Its timestamp.
    pub last_stamp: u32,
    /// Mode `default`: the usual gap between segments, us: the largest of late, halved with each segment.
    pub spacing: u64,
    /// When the last segment of the long window before arrived, us.
    pub before_at: u64,
    /// False in the first long window.
    pub has_before: bool,
    /// The report, bytes a second.
    pub rate: u64,
}

/// Equation 3: the time that a sample window's bytes took, us. `arrival` and `sent` are dt_i and dTS_i.
pub fn paper_time(window: u64, arrival: u64, sent: u64) -> u64 {
    if sent >= 2 * arrival.max(MIN_TIME) {
        window
    } else if arrival == 0 {
        MIN_TIME
    } else {
        arrival
    }
}

/// Equation 2: bytes a second.
pub fn sample_rate(bytes: u64, time: u64) -> u64 {
    bytes * 1_000_000 / time.max(1)
}

/// The paper's beta (equation 5): numerator and denominator. `gap` lies between two long windows, us.
pub fn beta(gap: u64, sample_window: u64) -> (u64, u64) {
    if gap > sample_window {
        (BETA_GAP, BETA_GAP + gap.min(MAX_GAP))
    } else {
        (2, 5)
    }
}

/// Equation 4: the report, bytes a second.
pub fn smooth(before: u64, mean: u64, (numerator, denominator): (u64, u64)) -> u64 {
    let (before, mean) = (
        before.min(u64::from(u32::MAX)),
        mean.min(u64::from(u32::MAX)),
    );
    (numerator * before + (denominator - numerator) * mean) / denominator
}

/// dTS_i, us: how far the sender's clock went from one segment to another.
pub fn sent_interval(head: u32, last: u32) -> u64 {
    let ticks = last.wrapping_sub(head).cast_signed();
    u64::from(ticks.max(0).cast_unsigned()) * TICK
}

impl State {
    /// The state before the first segment.
    pub fn new(config: &Config) -> Self {
        Self {
            rate: u64::from(config.initial_report.bytes_per_second()),
            ..Self::default()
        }
    }

    /// A segment arrived. True if a long window has ended.
    pub fn on_segment(&mut self, config: &Config, segment: &Segment) -> bool {
        if !self.is_running {
            self.is_running = true;
            self.begin_long(config, segment);
            self.begin_sample(config, segment);
            return false;
        }
        if segment.at < self.head_at + self.window / SAMPLES {
            self.bytes += segment.bytes;
            self.pass(segment);
            return false;
        }
        self.end_sample(config);
        let has_ended = segment.at >= self.long_at + self.window;
        if has_ended {
            self.end_long(config);
            self.begin_long(config, segment);
        }
        self.begin_sample(config, segment);
        has_ended
    }

    fn begin_long(&mut self, config: &Config, segment: &Segment) {
        let rtt = if segment.rtt == 0 {
            NOMINAL_RTT
        } else {
            segment.rtt
        };
        let longest = match config.mode {
            Mode::Paper => MAX_WINDOW,
            Mode::Default => OUR_MAX_WINDOW,
        };
        self.window = rtt.clamp(SAMPLES * MIN_TIME, longest);
        self.long_at = segment.at;
        self.samples = 0;
        self.rates = 0;
    }

    /// The segment is the head of a sample window. In mode `default` what arrived before it, if that
    /// was not long ago, is where its interval begins; else it only begins the next, and what was before the
    /// pause is discarded.
    fn begin_sample(&mut self, config: &Config, segment: &Segment) {
        let is_near = self.last_at > 0 && self.is_near(segment);
        if config.mode == Mode::Default {
            self.since = if is_near { self.last_at } else { segment.at };
            self.bytes = if is_near { segment.bytes } else { 0 };
            if !is_near {
                self.past_bytes = [0; SAMPLES as usize];
                self.past_time = [0; SAMPLES as usize];
            }
        } else {
            self.bytes = segment.bytes;
        }
        self.head_at = segment.at;
        self.head_stamp = segment.stamp;
        self.pass(segment);
    }

    /// The segment is the last one.
    fn pass(&mut self, segment: &Segment) {
        if self.last_at > 0 {
            self.spacing = (segment.at - self.last_at).max(self.spacing / 2);
        }
        self.last_at = segment.at;
        self.last_stamp = segment.stamp;
    }

    /// Whether the time since the last segment belongs to the segment: a short one does, and one of up to
    /// [`MAX_SPACING`] above a round trip if that is how segments come, or if the sender did not pause
    /// half as long (the data was held up on its way).
    fn is_near(&self, segment: &Segment) -> bool {
        let gap = segment.at - self.last_at;
        let is_held =
            self.last_stamp != 0 && 2 * sent_interval(self.last_stamp, segment.stamp) < gap;
        let is_usual = gap <= IRREGULAR * self.spacing;
        gap <= self.window / SAMPLES || (gap <= self.window + MAX_SPACING && (is_held || is_usual))
    }

    fn end_sample(&mut self, config: &Config) {
        if config.mode == Mode::Default {
            self.past_bytes.rotate_right(1);
            self.past_time.rotate_right(1);
            self.past_bytes[0] = self.bytes;
            self.past_time[0] = self.last_at - self.since;
            self.renew();
        } else {
            let sent = sent_interval(self.head_stamp, self.last_stamp);
            let arrival = self.last_at - self.head_at;
            let time = paper_time(self.window / SAMPLES, arrival, sent);
            self.rates += sample_rate(self.bytes, time);
        }
        self.samples += 1;
    }

    /// Mode `default`: the report out of the last sample windows, unless too little of them was filled to
    /// report.
    fn renew(&mut self) {
        let time = self.past_time.iter().sum::<u64>();
        if time >= self.window / SAMPLES {
            let bytes = self.past_bytes.iter().sum();
            self.rate = sample_rate(bytes, time).min(u64::from(u32::MAX));
        }
    }

    fn end_long(&mut self, config: &Config) {
        let gap = self.long_at.saturating_sub(self.before_at);
        let weight = if self.has_before {
            beta(gap, self.window / SAMPLES)
        } else {
            beta(0, self.window / SAMPLES)
        };
        if config.mode == Mode::Paper {
            let mean = self.rates / self.samples.max(1);
            self.rate = smooth(self.rate, mean, weight);
        }
        self.before_at = self.last_at;
        self.has_before = true;
    }
}

/// The client of CDBE.
#[derive(Clone, Copy, Debug)]
pub struct Estimator {
    config: Config,
    state: State,
}

impl Estimator {
    /// An estimator that has seen nothing.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            state: State::new(&config),
        }
    }

    /// Its state, to be compared with the kernel's.
    pub fn state(&self) -> &State {
        &self.state
    }
}

impl RateReporter for Estimator {
    fn name(&self) -> &'static str {
        Reporter::Cdbe.name()
    }

    fn on_data(&mut self, arrival: &Arrival) {
        let segment = Segment {
            at: arrival.now.as_nanos() / 1_000,
            bytes: arrival.bytes.get(),
            stamp: arrival.timestamp.unwrap_or(0),
            rtt: arrival.rtt.map_or(0, |rtt| rtt.as_micros()),
        };
        self.state.on_segment(&self.config, &segment);
    }

    fn rate(&self) -> RateReport {
        RateReport::saturating(self.state.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 1000 B every `interval` us from `from` to `until`; the sender's clock shows `sent` us
    /// for each.
    fn feed(state: &mut State, config: &Config, from: u64, until: u64, interval: u64, sent: u64) {
        let mut at = from;
        let mut stamp = 0u64;
        while at < until {
            let segment = Segment {
                at,
                bytes: 1_000,
                stamp: (stamp / TICK) as u32,
                rtt: 80_000,
            };
            state.on_segment(config, &segment);
            at += interval;
            stamp += sent;
        }
    }

    fn rate_after(mode: Mode, interval: u64) -> u64 {
        let config = Config::new(mode);
        let mut state = State::new(&config);
        feed(&mut state, &config, 1_000, 2_000_000, interval, interval);
        state.rate
    }

    #[test]
    fn equation_2_bytes_over_time() {
        assert_eq!(sample_rate(16_000, 16_000), 1_000_000);
        assert_eq!(sample_rate(1, 0), 1_000_000);
    }

    #[test]
    fn equation_3_which_time() {
        // dTS >= 2 max(dt, t_min): the whole window
        assert_eq!(paper_time(16_000, 1_000, 4_000), 16_000);
        assert_eq!(paper_time(16_000, 5_000, 10_000), 16_000);
        assert_eq!(paper_time(16_000, 0, 3_999), 2_000);
        assert_eq!(paper_time(16_000, 5_000, 9_999), 5_000);
    }

    #[test]
    fn equation_4_and_5_the_weight_of_the_past() {
        assert_eq!(smooth(1_000, 2_000, beta(0, 16_000)), 1_600);
        assert_eq!(beta(16_000, 16_000), (2, 5));
        // 0.4 / (0.4 + 0.4 s) = one half
        assert_eq!(smooth(1_000, 2_000, beta(400_000, 16_000)), 1_500);
        assert_eq!(
            smooth(u64::MAX, u64::MAX, beta(u64::MAX, 0)),
            u64::from(u32::MAX)
        );
    }

    #[test]
    fn a_steady_stream_is_measured() {
        // 1 MB/s: 16 segments a sample window are seen in 15 intervals
        let paper = rate_after(Mode::Paper, 1_000);
        assert!((1_060_000..1_075_000).contains(&paper), "{paper}");
        let ours = rate_after(Mode::Default, 1_000);
        assert!((999_000..=1_001_000).contains(&ours), "{ours}");
        // 5 segments a window: the paper's fencepost is a quarter
        let paper = rate_after(Mode::Paper, 3_500);
        assert!((340_000..400_000).contains(&paper), "{paper}");
        let ours = rate_after(Mode::Default, 3_500);
        assert!((284_000..287_500).contains(&ours), "{ours}");
    }

    #[test]
    fn a_step_is_followed_within_two_long_windows() {
        let config = Config::new(Mode::Default);
        let mut state = State::new(&config);
        feed(&mut state, &config, 1_000, 1_000_000, 200, 200);
        feed(
            &mut state,
            &config,
            1_000_000,
            1_160_000 + 16_000,
            3_200,
            200,
        );
        assert!((300_000..326_000).contains(&state.rate), "{}", state.rate);
    }

    #[test]
    fn a_gap_is_no_slowness() {
        let config = Config::new(Mode::Default);
        let mut state = State::new(&config);
        feed(&mut state, &config, 1_000, 1_000_000, 1_000, 1_000);
        feed(&mut state, &config, 5_000_000, 6_000_000, 1_000, 1_000);
        assert!(
            (990_000..=1_010_000).contains(&state.rate),
            "{}",
            state.rate
        );
    }

    #[test]
    fn a_slow_stream_is_measured_too() {
        let config = Config::new(Mode::Default);
        let mut state = State::new(&config);
        // 1000 B each 40 ms, half a round trip apart: many sample windows are empty
        feed(&mut state, &config, 1_000, 3_000_000, 40_000, 40_000);
        assert_eq!(state.rate, 25_000);
        // and so is what follows
        feed(&mut state, &config, 3_000_000, 4_000_000, 1_000, 1_000);
        assert!(
            (990_000..=1_010_000).contains(&state.rate),
            "{}",
            state.rate
        );
    }

    #[test]
    fn what_the_clock_shows_at_the_beginning_does_not_matter() {
        let rates = [1_000, 40_000_000_000].map(|from| {
            let config = Config::new(Mode::Default);
            let mut state = State::new(&config);
            // a first flight of ten, and the next one after a round trip
            for flight in 0..4 {
                let at = from + flight * 80_000;
                feed(&mut state, &config, at, at + 10_000, 1_000, 1_000);
            }
            state.rate
        });
        assert_eq!(rates[0], rates[1]);
    }

    #[test]
    fn a_burst_after_a_retransmission_is_averaged_out() {
        // every 80 ms nothing for 16 ms, then what was held up at once
        let config = Config::new(Mode::Default);
        let mut state = State::new(&config);
        for k in 0..2_000u64 {
            let due = k * 1_000;
            let at = if due % 80_000 < 16_000 {
                due - due % 80_000 + 16_000
            } else {
                due
            };
            let segment = Segment {
                at: at + 1_000,
                bytes: 1_000,
                stamp: 1 + k as u32,
                rtt: 80_000,
            };
            state.on_segment(&config, &segment);
        }
        assert!(
            (900_000..=1_100_000).contains(&state.rate),
            "{}",
            state.rate
        );
    }

    #[test]
    fn absurd_round_trips_do_not_stop_the_windows() {
        for rtt in [1, u64::from(u32::MAX) * 1_000] {
            let config = Config::new(Mode::Paper);
            let mut state = State::new(&config);
            for k in 0..40_000u64 {
                let segment = Segment {
                    at: 1_000 + k * 1_000,
                    bytes: 1_000,
                    stamp: 0,
                    rtt,
                };
                state.on_segment(&config, &segment);
            }
            assert!(state.has_before, "no long window ended at rtt {rtt}");
        }
    }
}
