//! HyStart++: leaves slow start by way of conservative slow start (CSS).
//!
//! Source: RFC 9406 section 4. Times and windows as there.
//!
//! *Deviations*
//! - none known. Rounds are the transport's ([`crate::AckSample::is_round_start`]), which are those
//!   of 4.2: they end when what was in flight at their beginning has been acknowledged.

use units::{Bytes, Duration};

/// Bounds of the delay increase that counts (4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Share of the round-trip time that counts as an increase (4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples before a round is judged (4.3).
const N_RTT_SAMPLE: u32 = 8;
/// How much slower the window grows in CSS (4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// How many rounds CSS lasts (4.3).
const CSS_ROUNDS: u32 = 5;
/// L in segments, for a sender that does not pace (4.3); one that paces has no limit.
const L: u64 = 8;

/// 4.2: RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH)).
fn rtt_thresh(last_round_min_rtt: Duration) -> Duration {
    (last_round_min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// What changed with an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    EnterCss,
    ResumeSlowStart,
    /// The CSS rounds are over: congestion avoidance begins.
    EndSlowStart,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// cssBaselineMinRtt: below it the delay increase was not a queue.
    baseline_min_rtt: Duration,
    /// Rounds begun in CSS, the one in which it was entered counted.
    rounds: u32,
}

/// HyStart++'s memory of the initial slow start.
#[derive(Clone, Debug, Default)]
pub(super) struct HyStartPlusPlus {
    last_round_min_rtt: Option<Duration>,
    current_round_min_rtt: Option<Duration>,
    rtt_sample_count: u32,
    css: Option<Css>,
}

impl HyStartPlusPlus {
    /// 4.2: the window's growth for `acked` bytes in slow start or CSS, rounded down.
    pub(super) fn increase(&self, acked: Bytes, mss: Bytes, is_paced: bool) -> Bytes {
        let counted = if is_paced { acked } else { acked.min(mss * L) };
        if self.css.is_some() {
            counted / CSS_GROWTH_DIVISOR
        } else {
            counted
        }
    }

    /// Counts an acknowledgement of the initial slow start.
    pub(super) fn on_ack(&mut self, rtt: Option<Duration>, is_round_start: bool) -> Change {
        if is_round_start && self.start_round() {
            return Change::EndSlowStart;
        }
        if let Some(rtt) = rtt {
            let min = self.current_round_min_rtt.map_or(rtt, |min| min.min(rtt));
            self.current_round_min_rtt = Some(min);
            self.rtt_sample_count = self.rtt_sample_count.saturating_add(1);
        }
        self.judge()
    }

    /// True if the round that ended was the last of CSS.
    fn start_round(&mut self) -> bool {
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        let Some(css) = &mut self.css else {
            return false;
        };
        css.rounds += 1;
        css.rounds > CSS_ROUNDS
    }

    fn judge(&mut self) -> Change {
        let Some(current) = self.current_round_min_rtt else {
            return Change::None;
        };
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return Change::None;
        }
        match (self.css, self.last_round_min_rtt) {
            (Some(css), _) if current < css.baseline_min_rtt => {
                self.css = None;
                Change::ResumeSlowStart
            }
            (None, Some(last)) if current >= last + rtt_thresh(last) => {
                self.css = Some(Css {
                    baseline_min_rtt: current,
                    rounds: 1,
                });
                Change::EnterCss
            }
            _ => Change::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// One round of nine acknowledgements with the same round-trip time; the last change in it.
    fn round(hystart: &mut HyStartPlusPlus, rtt: Duration) -> Change {
        (0..9)
            .map(|i| hystart.on_ack(Some(rtt), i == 0))
            .filter(|&change| change != Change::None)
            .last()
            .unwrap_or(Change::None)
    }

    #[test]
    fn section_4_2_rtt_thresh() {
        assert_eq!(rtt_thresh(ms(8)), ms(4));
        assert_eq!(rtt_thresh(ms(80)), ms(10));
        assert_eq!(rtt_thresh(ms(400)), ms(16));
    }

    #[test]
    fn section_4_2_css_is_entered_at_the_threshold_with_eight_samples() {
        let mut hystart = HyStartPlusPlus::default();
        assert_eq!(round(&mut hystart, ms(80)), Change::None);
        assert_eq!(
            round(&mut hystart, Duration::from_micros(89_999)),
            Change::None
        );
        // now the last round had 89.999 ms: threshold 11.249875 ms
        hystart.on_ack(Some(ms(102)), true);
        for _ in 0..6 {
            assert_eq!(hystart.on_ack(Some(ms(102)), false), Change::None);
        }
        assert_eq!(hystart.on_ack(Some(ms(102)), false), Change::EnterCss);
    }

    #[test]
    fn section_4_2_css_grows_a_quarter_and_ends_after_five_rounds() {
        let mss = Bytes::new(1_000);
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, ms(80));
        assert_eq!(hystart.increase(mss * 2, mss, false), mss * 2);
        assert_eq!(hystart.increase(mss * 20, mss, false), mss * 8);
        assert_eq!(hystart.increase(mss * 20, mss, true), mss * 20);
        assert_eq!(round(&mut hystart, ms(100)), Change::EnterCss);
        assert_eq!(hystart.increase(mss * 2, mss, false), Bytes::new(500));
        // the round of entry is the first; four more follow, then slow start is over
        for _ in 0..4 {
            assert_eq!(round(&mut hystart, ms(100)), Change::None);
        }
        assert_eq!(hystart.on_ack(Some(ms(100)), true), Change::EndSlowStart);
    }

    #[test]
    fn section_4_2_css_is_left_when_the_delay_falls_below_its_baseline() {
        let mut hystart = HyStartPlusPlus::default();
        round(&mut hystart, ms(80));
        assert_eq!(round(&mut hystart, ms(100)), Change::EnterCss);
        assert_eq!(round(&mut hystart, ms(100)), Change::None);
        assert_eq!(round(&mut hystart, ms(99)), Change::ResumeSlowStart);
        let mss = Bytes::new(1_000);
        assert_eq!(hystart.increase(mss, mss, false), mss);
    }
}
