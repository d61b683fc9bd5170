//! Packets lost in a row.

use crate::result::LossBursts;
use serde::Serialize;

/// Packets lost in a row, over all repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BurstSummary {
    /// Share of packets lost, 0 to 1.
    pub loss_rate: f64,
    /// Bursts of a repeat.
    pub bursts: f64,
    /// Packets of a burst; zero without any.
    pub mean_length: f64,
    /// By length, up to the longest that there was.
    pub by_length: Vec<BurstsOfLength>,
}

/// Bursts of one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BurstsOfLength {
    /// Packets lost in a row; of the last length that is distinguished, or more.
    pub length: usize,
    /// Such bursts of a repeat.
    pub bursts: f64,
    /// The share of all bursts, 0 to 1.
    pub share: f64,
}

impl BurstSummary {
    /// Of all repeats that measured it; none if none did.
    pub(super) fn of<'a>(repeats: impl Iterator<Item = &'a LossBursts>) -> Option<Self> {
        let (mut all, mut measured) = (LossBursts::default(), 0u32);
        for repeat in repeats {
            measured += 1;
            all.packets += repeat.packets;
            all.lost += repeat.lost;
            for (sum, count) in all.by_length.iter_mut().zip(repeat.by_length) {
                *sum += count;
            }
        }
        let bursts = all.bursts();
        let ratio = |of: u64, to: u64| if to == 0 { 0.0 } else { of as f64 / to as f64 };
        let longest = all.by_length.iter().rposition(|&count| count > 0);
        let listed = longest.map_or(0, |index| index + 1);
        let by_length = all.by_length.iter().zip(1..).take(listed);
        (measured > 0).then(|| Self {
            loss_rate: ratio(all.lost, all.packets),
            bursts: bursts as f64 / f64::from(measured),
            mean_length: ratio(all.lost, bursts),
            by_length: by_length
                .map(|(&count, length)| BurstsOfLength {
                    length,
                    bursts: count as f64 / f64::from(measured),
                    share: ratio(count, bursts),
                })
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts of two repeats: 1, 1, 3 of 100 packets; 12 of 100.
    #[test]
    fn bursts_of_repeats_are_counted_together() {
        let of = |lengths: &[u64]| {
            let mut bursts = LossBursts {
                packets: 100,
                ..LossBursts::default()
            };
            lengths.iter().for_each(|length| bursts.add(*length));
            bursts
        };
        let repeats = [of(&[1, 1, 3]), of(&[12])];
        let summary = BurstSummary::of(repeats.iter()).unwrap();
        assert!((summary.loss_rate - 17.0 / 200.0).abs() < 1e-12);
        assert!((summary.mean_length - 17.0 / 4.0).abs() < 1e-12);
        let lengths: Vec<_> = summary
            .by_length
            .iter()
            .map(|b| (b.length, b.share))
            .collect();
        assert_eq!(lengths.len(), LossBursts::MAX_LENGTH);
        assert_eq!(lengths[..3], [(1, 0.5), (2, 0.0), (3, 0.25)]);
        // 12 in a row are among those of the greatest length
        assert_eq!(lengths[9], (10, 0.25));
        assert!(BurstSummary::of([].iter()).is_none());
        assert!(
            BurstSummary::of([of(&[])].iter())
                .unwrap()
                .by_length
                .is_empty()
        );
    }
}
