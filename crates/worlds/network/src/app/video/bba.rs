//! BBA-0: the bitrate by the buffer's level.
//!
//! Source: T.-Y. Huang, R. Johari, N. McKeown, M. Trunnell, M. Watson, "A Buffer-Based Approach to Rate Adaptation: Evidence from a
//! Large Video Streaming Service", ACM SIGCOMM 2014, algorithm 1 and section 4. Up to the reservoir r the lowest bitrate is
//! taken, from r + cu (cu: the cushion) the highest, and between them the rate map f, a straight line from the lowest to
//! the highest: the bitrate stays what it is until f reaches the next higher or the next lower.
//!
//! *Deviations.* The paper's player buffers 240 s, with r = 90 s and r + cu = 216 s; here the same shares of the buffer, three
//! eighths and nine tenths. Bitrates are the mean ones, as in BBA-0 (BBA-1 looks at segments' own sizes).

use units::{BitRate, Duration};

/// r as a share of the buffer: 90 s of 240 s.
const RESERVOIR: f64 = 90.0 / 240.0;
/// r + cu as a share of the buffer: 216 s of 240 s.
const UPPER: f64 = 216.0 / 240.0;

/// The rule, of a ladder and a buffer.
#[derive(Clone, Debug)]
pub(super) struct Bba {
    ladder: Vec<BitRate>,
    reservoir: Duration,
    /// r + cu.
    upper: Duration,
}

impl Bba {
    /// Of a ladder that rises, for a buffer of so much.
    pub(super) fn new(ladder: &[BitRate], buffer: Duration) -> Self {
        Self {
            ladder: ladder.to_vec(),
            reservoir: buffer.mul_f64(RESERVOIR),
            upper: buffer.mul_f64(UPPER),
        }
    }

    /// f: bit/s, of a level between the two bounds.
    fn rate_map(&self, buffered: Duration) -> f64 {
        let bps = |rate: Option<&BitRate>| rate.map_or(0.0, |rate| rate.as_bps() as f64);
        let (low, high) = (bps(self.ladder.first()), bps(self.ladder.last()));
        let above = buffered.saturating_sub(self.reservoir);
        low + (high - low) * above.ratio(self.upper.saturating_sub(self.reservoir))
    }

    /// Algorithm 1: the place in the ladder of the next segment, after one of place `before`.
    pub(super) fn choose(&self, before: usize, buffered: Duration) -> usize {
        let top = self.ladder.len().saturating_sub(1);
        if buffered <= self.reservoir {
            return 0;
        }
        if buffered >= self.upper {
            return top;
        }
        let f = self.rate_map(buffered);
        let bps = |rung: usize| self.ladder[rung].as_bps() as f64;
        let (above, below) = ((before + 1).min(top), before.saturating_sub(1));
        if f >= bps(above) {
            // the greatest below f
            (0..=top).rev().find(|&rung| bps(rung) < f).unwrap_or(0)
        } else if f <= bps(below) {
            // the least above f
            (0..=top).find(|&rung| bps(rung) > f).unwrap_or(top)
        } else {
            before
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// The paper's buffer: 240 s, with 1, 2, 3 and 4 Mbit/s. f rises by 1 Mbit/s in 42 s: 2 at 132 s, 3 at 174 s.
    fn rule() -> Bba {
        Bba::new(&[1, 2, 3, 4].map(BitRate::from_mbps), s(240.0))
    }

    #[test]
    fn section_4_the_map_is_a_line_between_reservoir_and_cushion() {
        let bba = rule();
        assert_eq!((bba.reservoir, bba.upper), (s(90.0), s(216.0)));
        for (level, mbps) in [(90.0, 1.0), (132.0, 2.0), (153.0, 2.5), (216.0, 4.0)] {
            assert!((bba.rate_map(s(level)) - mbps * 1e6).abs() < 1.0, "{level}");
        }
    }

    #[test]
    fn algorithm_1_a_bitrate_stays_until_the_next_is_reached() {
        let bba = rule();
        for (before, level, next) in [
            (3, 90.0, 0),  // Buf_now <= r
            (0, 216.0, 3), // Buf_now >= r + cu
            (0, 131.9, 0), // f below Rate+ = 2
            (0, 132.1, 1), // f >= Rate+: the greatest below f
            (0, 180.0, 2), // over one that is passed
            (2, 153.0, 2), // f = 2.5 between Rate- = 2 and Rate+ = 4
            (2, 131.9, 1), // f <= Rate-: the least above f
            (3, 100.0, 1), // down by two
            (3, 215.9, 3),
        ] {
            assert_eq!(
                bba.choose(before, s(level)),
                next,
                "from {before} at {level} s"
            );
        }
    }

    #[test]
    fn a_ladder_of_one_has_no_choice() {
        let bba = Bba::new(&[BitRate::from_mbps(3)], s(30.0));
        assert!(
            [0.0, 15.0, 30.0]
                .iter()
                .all(|&level| bba.choose(0, s(level)) == 0)
        );
    }
}
