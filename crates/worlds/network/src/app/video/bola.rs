//! BOLA-BASIC: the bitrate by the buffer's level.
//!
//! Source: K. Spiteri, R. Urgaonkar, R. K. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos", IEEE INFOCOM
//! 2016 (arXiv:1601.06748). With segments of p seconds, sizes S_m, utilities v_m = ln(S_m / S_min) and Q segments in the
//! buffer, the next segment is that which maximises
//!
//! ```text
//!   (V (v_m + gamma p) - Q) / S_m                                (the drift-plus-penalty of section III)
//!   V = (Q_max - 1) / (v_max + gamma p)                          (the greatest V whose buffer Q_max holds, theorem 1)
//! ```
//!
//! and if no value is above zero, none is downloaded until the buffer has fallen so far. gamma p = 5 (section V).
//!
//! *Deviations.* S_m are the mean sizes of the bitrates, so that the choice does not know the segment's own size. Q_max is
//! never shortened at the beginning and the end of a video: that is BOLA-FINITE.

use units::{BitRate, Duration};

/// gamma p, as in the paper's evaluation.
const GAMMA_P: f64 = 5.0;

/// The rule, of a ladder and a buffer.
#[derive(Clone, Debug)]
pub(super) struct Bola {
    /// For each bitrate, rising: its utility and its size relative to the smallest.
    rungs: Vec<(f64, f64)>,
    /// V, segments.
    v: f64,
    segment: Duration,
}

impl Bola {
    /// Of a ladder that rises, for a buffer of so much.
    pub(super) fn new(ladder: &[BitRate], segment: Duration, buffer: Duration) -> Self {
        let smallest = ladder.first().map_or(1.0, |rate| rate.as_mbps_f64());
        let rung = |rate: &BitRate| {
            let size = rate.as_mbps_f64() / smallest;
            (size.ln(), size)
        };
        let rungs: Vec<(f64, f64)> = ladder.iter().map(rung).collect();
        let greatest = rungs.last().map_or(0.0, |(utility, _)| *utility);
        let q_max = buffer.ratio(segment);
        Self {
            rungs,
            v: (q_max - 1.0) / (greatest + GAMMA_P),
            segment,
        }
    }

    /// The place in the ladder of the next segment with so much in the buffer; none while it is too full for any.
    pub(super) fn choose(&self, buffered: Duration) -> Option<usize> {
        let q = buffered.ratio(self.segment);
        let score = |(utility, size): &(f64, f64)| (self.v * (utility + GAMMA_P) - q) / size;
        let scores = self.rungs.iter().map(score).enumerate();
        // of equal ones the greater bitrate
        let best = scores.max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.filter(|(_, score)| *score > 0.0).map(|(rung, _)| rung)
    }

    /// The buffer's level below which a segment is chosen again: V (v_max + gamma p) segments.
    pub(super) fn resumes_below(&self) -> Duration {
        let greatest = self.rungs.last().map_or(0.0, |(utility, _)| *utility);
        self.segment.mul_f64(self.v * (greatest + GAMMA_P))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// Bitrates 1, 2, 4 Mbit/s, segments of 2 s, a buffer of 20 s: Q_max = 10, v = 0, ln 2, ln 4, V = 9 / 6.386 = 1.4093.
    fn rule() -> Bola {
        Bola::new(&[1, 2, 4].map(BitRate::from_mbps), s(2.0), s(20.0))
    }

    #[test]
    fn theorem_1_v_fills_the_buffer_and_no_more() {
        let bola = rule();
        assert!((bola.v - 9.0 / (4.0f64.ln() + 5.0)).abs() < 1e-12);
        // V (v_max + 5) = Q_max - 1: a segment fits once it is requested
        assert!((bola.resumes_below().as_secs_f64() - 18.0).abs() < 1e-6);
        assert_eq!(bola.choose(s(17.99)), Some(2));
        assert_eq!(bola.choose(s(18.01)), None);
    }

    /// Two bitrates are equal where (V (v_a + 5) - Q) / S_a = (V (v_b + 5) - Q) / S_b, so
    /// Q = V ((v_a + 5) S_b - (v_b + 5) S_a) / (S_b - S_a).
    #[test]
    fn section_iii_a_bitrate_is_chosen_between_its_thresholds() {
        let bola = rule();
        let threshold = |(va, sa): (f64, f64), (vb, sb): (f64, f64)| {
            let q = bola.v * ((va + 5.0) * sb - (vb + 5.0) * sa) / (sb - sa);
            q * 2.0
        };
        let (low, middle, high) = ((0.0, 1.0), (2.0f64.ln(), 2.0), (4.0f64.ln(), 4.0));
        let (first, second) = (threshold(low, middle), threshold(middle, high));
        assert!((first - 12.139).abs() < 1e-3 && (second - 14.093).abs() < 1e-3);
        for (level, rung) in [
            (0.0, 0),
            (first - 0.01, 0),
            (first + 0.01, 1),
            (second - 0.01, 1),
            (second + 0.01, 2),
        ] {
            assert_eq!(bola.choose(s(level)), Some(rung), "{level} s");
        }
    }
}
