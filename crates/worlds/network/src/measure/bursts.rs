//! Datagrams lost in a row.

use scenario::LossBursts;
use std::collections::BTreeMap;

/// Finds runs of datagrams that are missing between others, by their numbers. What is missing after the
/// last that came may be on its way, and does not count.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    /// The number after the highest that came.
    next: u64,
    /// Missing below that: first number, and the number after the last.
    gaps: BTreeMap<u64, u64>,
}

impl Bursts {
    /// Datagram `number` came.
    pub(super) fn on_datagram(&mut self, number: u64) {
        if number >= self.next {
            if number > self.next {
                self.gaps.insert(self.next, number);
            }
            self.next = number + 1;
            return;
        }
        // one that others have overtaken, or a second copy
        let Some((&start, &end)) = self.gaps.range(..=number).next_back() else {
            return;
        };
        if number >= end {
            return;
        }
        self.gaps.remove(&start);
        for (from, to) in [(start, number), (number + 1, end)] {
            if from < to {
                self.gaps.insert(from, to);
            }
        }
    }

    /// What was found; nothing if no datagram came.
    pub(super) fn finish(&self) -> Option<LossBursts> {
        let mut bursts = LossBursts {
            packets: self.next,
            ..LossBursts::default()
        };
        for (start, end) in &self.gaps {
            bursts.add(end - start);
        }
        (self.next > 0).then_some(bursts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(numbers: &[u64]) -> Option<LossBursts> {
        let mut bursts = Bursts::default();
        for &number in numbers {
            bursts.on_datagram(number);
        }
        bursts.finish()
    }

    #[test]
    fn lost_in_a_row() {
        // 0 . 2 3 . . . 7 . 9
        let bursts = found(&[0, 2, 3, 7, 9]).unwrap();
        assert_eq!(bursts.packets, 10);
        assert_eq!(bursts.by_length[..3], [2, 0, 1]);
        assert_eq!((bursts.bursts(), bursts.lost), (3, 5));
    }

    #[test]
    fn one_that_was_overtaken_is_not_lost() {
        // 4 comes after 9: what was missing in 2 to 6 is 2, 3 and 5, 6
        let bursts = found(&[0, 1, 7, 4, 4, 1]).unwrap();
        assert_eq!(bursts.by_length[..2], [0, 2]);
        assert_eq!((bursts.lost, bursts.packets), (4, 8));
        assert_eq!(found(&[2, 1, 0]).unwrap().lost, 0);
    }

    #[test]
    fn nothing_came() {
        assert_eq!(found(&[]), None);
        // the first two are missing, what follows the last is not known
        assert_eq!(found(&[2]).unwrap().lost, 2);
    }
}
