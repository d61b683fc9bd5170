//! A reduction of the window and what has come of it.
//!
//! Source: RFC 4341 section 5 ("at most once per window of data"), RFC 9002 7.3.2 (what was sent
//! before a reduction causes no other), RFC 4015 (a reduction for packets that arrive after all is
//! taken back), RFC 3168 6.1.2 (marks).

use cc::LossKind;

/// A recovery, or the reduction after a mark, under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Episode {
    kind: LossKind,
    /// It ends as this number or a greater one arrives: the next to be sent as it began.
    end: u64,
    /// The lowest number found lost in it; [`u64::MAX`] for none.
    first_lost: u64,
    /// Data packets found lost in it.
    lost: u64,
    /// Those of them that have arrived after all.
    late: u64,
}

impl Episode {
    pub(super) fn new(kind: LossKind, end: u64) -> Self {
        Self {
            kind,
            end,
            first_lost: u64::MAX,
            lost: 0,
            late: 0,
        }
    }

    /// Something was lost; not only marked.
    pub(super) fn is_repair(&self) -> bool {
        self.kind != LossKind::Ecn
    }

    /// Losses were found by acknowledgements of what followed.
    pub(super) fn is_fast(&self) -> bool {
        self.kind == LossKind::Fast
    }

    /// More packets of it were found lost, the lowest of them with this number.
    pub(super) fn on_lost(&mut self, first: u64, packets: u64) {
        self.first_lost = self.first_lost.min(first);
        self.lost += packets;
    }

    /// A packet found lost, in this episode or before, has arrived.
    pub(super) fn on_late_arrival(&mut self, number: u64) {
        self.late += u64::from(number >= self.first_lost);
    }

    /// Nothing was lost after all.
    pub(super) fn is_spurious(&self) -> bool {
        self.is_repair() && self.lost > 0 && self.late >= self.lost
    }

    /// Something sent after its beginning has arrived.
    pub(super) fn is_over(&self, latest_arrived: Option<u64>) -> bool {
        latest_arrived.is_some_and(|latest| latest >= self.end)
    }

    /// A loss was found in what had been marked only.
    pub(super) fn becomes_fast(&mut self, end: u64) {
        self.kind = LossKind::Fast;
        self.end = end;
    }

    /// The retransmission timer ran out in it.
    pub(super) fn becomes_timeout(&mut self, end: u64) {
        self.kind = LossKind::Timeout;
        self.end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_4015_only_if_all_that_was_lost_arrives_was_it_for_nothing() {
        let mut episode = Episode::new(LossKind::Fast, 20);
        episode.on_lost(10, 2);
        episode.on_late_arrival(9);
        episode.on_late_arrival(10);
        assert!(!episode.is_spurious(), "9 was lost before, 11 is missing");
        episode.on_late_arrival(11);
        assert!(episode.is_spurious());
        episode.on_lost(12, 1);
        assert!(!episode.is_spurious());
    }

    #[test]
    fn rfc_9002_7_3_2_it_ends_with_what_was_sent_in_it() {
        let episode = Episode::new(LossKind::Ecn, 20);
        assert!(!episode.is_over(None) && !episode.is_over(Some(19)));
        assert!(episode.is_over(Some(20)) && !episode.is_repair() && !episode.is_spurious());
    }
}
